//! Memory, dirty pages and swap: `/proc/meminfo` (proc_meminfo(5)).

/// One reading of `/proc/meminfo`, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Memory {
    /// Usable memory.
    pub total: u64,
    /// What new programs could have without swapping.
    pub available: u64,
    /// Pages that wait to be written.
    pub dirty: u64,
    /// Pages that are being written.
    pub writeback: u64,
    /// Swap space.
    pub swap_total: u64,
    /// Swap space not in use.
    pub swap_free: u64,
}

impl Memory {
    /// Reads a text in the form of `/proc/meminfo`; `None` without the total.
    #[must_use]
    pub fn parse(text: &str) -> Option<Memory> {
        let mut memory = Memory::default();
        for line in text.lines() {
            let Some((name, value)) = line.split_once(':') else { continue };
            let slot = match name {
                "MemTotal" => &mut memory.total,
                "MemAvailable" => &mut memory.available,
                "Dirty" => &mut memory.dirty,
                "Writeback" => &mut memory.writeback,
                "SwapTotal" => &mut memory.swap_total,
                "SwapFree" => &mut memory.swap_free,
                _ => continue,
            };
            // The kernel writes "kB" and means 1024 bytes.
            let kibibytes: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
            *slot = kibibytes.checked_mul(1024)?;
        }
        (memory.total > 0).then_some(memory)
    }

    /// The kernel's figures now.
    #[must_use]
    pub fn read() -> Option<Memory> {
        Memory::parse(&std::fs::read_to_string("/proc/meminfo").ok()?)
    }

    /// Swap space in use.
    #[must_use]
    pub fn swap_used(&self) -> u64 {
        self.swap_total.saturating_sub(self.swap_free)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_real_text_is_read() {
        let text = "MemTotal:       24684092 kB\nMemFree:  1 kB\nMemAvailable:   24314032 kB\nDirty:               156 kB\n\
            Writeback:             8 kB\nWritebackTmp: 3 kB\nSwapTotal: 100 kB\nSwapFree: 60 kB\nHugePages_Total:       0\n";
        let memory = Memory::parse(text).expect("it is one");
        assert_eq!((memory.total, memory.available), (24_684_092 << 10, 24_314_032 << 10));
        assert_eq!((memory.dirty, memory.writeback, memory.swap_used()), (156 << 10, 8 << 10, 40 << 10));
    }

    #[test]
    fn this_kernel_is_understood() {
        let memory = Memory::read().expect("there is a /proc/meminfo");
        assert!(memory.available <= memory.total);
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_parser(text in "(MemTotal|Dirty|SwapFree|[A-Z]{0,3}):?[ 0-9]{0,30}(kB)?\n?\\PC{0,20}") {
            let _ = Memory::parse(&text);
        }
    }
}
