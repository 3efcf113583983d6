//! Time lost waiting for CPU, memory or disk: pressure stall information, `/proc/pressure` (kernel: accounting/psi).

/// What there may be too little of, as the kernel names it.
pub const RESOURCES: [&str; 3] = ["cpu", "io", "memory"];

/// Microseconds since boot in which tasks stalled for one resource.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pressure {
    /// At least one task stalled.
    pub some: u64,
    /// All tasks stalled at once. For the CPU of a whole machine the kernel defines none and writes 0.
    pub full: Option<u64>,
}

impl Pressure {
    /// Reads a text in the form of `/proc/pressure/io`; `None` when it is none.
    pub fn parse(text: &str) -> Option<Pressure> {
        let total = |kind: &str| {
            let line = text.lines().find(|line| line.split_ascii_whitespace().next() == Some(kind))?;
            line.split_ascii_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()
        };
        Some(Pressure { some: total("some")?, full: total("full") })
    }

    /// The kernel's figure for a resource now; `None` where the kernel keeps none (`psi=0`, before 4.20).
    pub fn read(resource: &str) -> Option<Pressure> {
        let pressure = Pressure::parse(&std::fs::read_to_string(format!("/proc/pressure/{resource}")).ok()?)?;
        Some(if resource == "cpu" { Pressure { full: None, ..pressure } } else { pressure })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_real_text_is_read() {
        let text = "some avg10=0.00 avg60=0.30 avg300=3.16 total=45180914\nfull avg10=0.00 avg60=0.26 avg300=2.11 total=31714182\n";
        assert_eq!(Pressure::parse(text), Some(Pressure { some: 45_180_914, full: Some(31_714_182) }));
        assert_eq!(Pressure::parse("some avg10=0.00 total=12\n"), Some(Pressure { some: 12, full: None }));
        assert_eq!(Pressure::parse(""), None);
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_parser(text in "(some|full)?[ a-z0-9=.]{0,60}(total=[0-9]{0,25})?\n?\\PC{0,20}") {
            let _ = Pressure::parse(&text);
        }
    }
}
