//! What is said of what bound a scenario, and of its share of what there was; the values are `analysis::ceilings`.

use crate::number::{figure, percent};
use crate::words::Words;
use analysis::ceilings::{By, Ceiling, Of, Share};

/// A smaller share of what a device can do speaks for nothing: then it is time that bound, the device's or that of flushes.
const SPEAKING_SHARE_MIN: f64 = 1.0 / 3.0;

impl Words for Of {
    /// "flushes per second".
    fn words(&self) -> String {
        match self {
            Of::Cpus => "CPUs busy",
            Of::Commits => "commits per second, of the device's flushes",
            Of::Flushes => "flushes per second",
            Of::BytesWritten => "bytes written per second",
            Of::BytesRead => "bytes read per second",
            Of::Writes => "write requests per second",
            Of::Reads => "read requests per second",
            Of::RoundTrips => "round trips of the network per second",
        }
        .into()
    }
}

impl Words for By {
    /// After "bound by".
    fn words(&self) -> String {
        match self {
            By::Given => "the rate given",
            By::RateMax => "the highest rate tried, `rate_max`",
            By::Generator => "the load generator",
            By::Cpu => "CPU",
            By::Flushes => "flushes",
            By::Bandwidth => "bandwidth",
            By::Io => "device I/O",
            By::OthersCpu => "CPU that others used",
            By::Network => "the network's round trip",
            By::Locks => "locks or other waiting",
        }
        .into()
    }
}

impl Words for Share {
    /// "61 %": no more than whole per cents are known of it.
    fn words(&self) -> String {
        let share = self.share();
        if share < 0.01 { percent(share) } else { percent((share * 100.0).round() / 100.0) }
    }
}

/// The shares that speak for it, and the noun of the device that each is a share of.
fn shares(by: By) -> &'static [(Of, &'static str)] {
    match by {
        By::Cpu | By::OthersCpu => &[(Of::Cpus, "the CPUs")],
        By::Flushes => &[(Of::Flushes, "the device's flushes")],
        By::Bandwidth => &[(Of::BytesWritten, "the device's writing"), (Of::BytesRead, "the device's reading")],
        By::Io => &[(Of::Writes, "the device's writes"), (Of::Reads, "the device's reads")],
        By::Network => &[(Of::RoundTrips, "what so many connections can ask over this network")],
        By::Given | By::RateMax | By::Generator | By::Locks => &[],
    }
}

/// "flushes, 61 %", "CPU, 96 %", "locks or other waiting", "not clear".
pub fn cell(ceiling: &Ceiling) -> String {
    let Some(by) = ceiling.by else { return "not clear".into() };
    largest(ceiling).map_or_else(|| by.words(), |(share, _)| format!("{}, {}", by.words(), share.words()))
}

/// "xfs was bound by flushes: 61 % of the device's flushes (3,100 of 5,080 a second)."
pub fn sentence(ceiling: &Ceiling, label: &str, more_is_better: bool) -> Option<String> {
    let by = ceiling.by?;
    let reason = largest(ceiling).map_or_else(String::new, |(share, noun)| match share.of {
        Of::Cpus => format!(": {} of {noun}", share.words()),
        Of::BytesWritten | Of::BytesRead => format!(": {} of {noun} in sequence", share.words()),
        _ => format!(": {} of {noun} ({} of {} a second)", share.words(), figure(share.used), figure(share.limit)),
    });
    let is_bound = || format!(", so that its figure is {}", bounds(more_is_better)[0]);
    let bound = if ceiling.is_lower_bound() { is_bound() } else { String::new() };
    Some(format!("{label} was bound by {}{reason}{bound}.", by.words()))
}

/// What a figure is that the load generator bound, and what several are.
pub fn bounds(more_is_better: bool) -> [&'static str; 2] {
    if more_is_better { ["a lower bound", "lower bounds"] } else { ["an upper bound", "upper bounds"] }
}

/// Why the figures of these are lower bounds, or of what less is better upper ones.
pub fn why_lower_bound<'a>(ceilings: impl Iterator<Item = &'a Ceiling>) -> &'static str {
    let by: Vec<Option<By>> = ceilings.map(|ceiling| ceiling.by).collect();
    match (by.contains(&Some(By::Generator)), by.contains(&Some(By::RateMax))) {
        (true, true) => "the load generator was full, or no higher rate was tried",
        (false, true) => "no higher rate was tried",
        (_, false) => "the load generator was full",
    }
}

/// Of the shares that speak for what bound it, the largest; none where even that is small.
fn largest(ceiling: &Ceiling) -> Option<(&Share, &'static str)> {
    let nouns = shares(ceiling.by?);
    let of = ceiling.shares.iter().filter_map(|share| Some((share, nouns.iter().find(|noun| noun.0 == share.of)?.1)));
    let speaks = |share: &Share| share.of == Of::Cpus || share.share() >= SPEAKING_SHARE_MIN;
    of.max_by(|a, b| a.0.share().total_cmp(&b.0.share())).filter(|(share, _)| speaks(share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ceiling_is_said_with_its_largest_share() {
        let of = |of, used, limit| Share { of, used, limit };
        let shares = vec![of(Of::Cpus, 0.5, 2.0), of(Of::Flushes, 610.0, 1000.0)];
        let ceiling = Ceiling { by: Some(By::Flushes), shares, rate_reached: None, missed: 0.0 };
        assert_eq!(cell(&ceiling), "flushes, 61 %");
        assert_eq!(
            sentence(&ceiling, "xfs", true).expect("it is clear"),
            "xfs was bound by flushes: 61 % of the device's flushes (610 of 1,000 a second)."
        );
        // Few flushes, which take long: of a log on another device, or one at a time.
        let by_time = Ceiling { shares: vec![of(Of::Flushes, 20.0, 1000.0)], ..ceiling };
        assert_eq!(
            (&*cell(&by_time), sentence(&by_time, "xfs", true)),
            ("flushes", Some("xfs was bound by flushes.".into()))
        );
        let unknown = Ceiling { by: None, shares: Vec::new(), rate_reached: None, missed: 0.0 };
        assert_eq!((cell(&unknown).as_str(), sentence(&unknown, "xfs", true)), ("not clear", None));
        let generator = Ceiling { by: Some(By::Generator), shares: Vec::new(), rate_reached: None, missed: 0.0 };
        assert!(generator.is_lower_bound() && cell(&generator) == "the load generator");
        let capped = Ceiling { by: Some(By::RateMax), shares: Vec::new(), rate_reached: None, missed: 0.0 };
        assert_eq!(why_lower_bound([&capped].into_iter()), "no higher rate was tried");
        assert_eq!(
            sentence(&capped, "xfs", true).expect("it is clear"),
            "xfs was bound by the highest rate tried, `rate_max`, so that its figure is a lower bound."
        );
    }
}
