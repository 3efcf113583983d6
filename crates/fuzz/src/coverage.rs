//! Which branches an input reached, where the compiler was told to count them: `make fuzz`.
//!
//! LLVM's SanitizerCoverage, "Inline 8bit-counters": a counter a branch, and a call to
//! `__sanitizer_cov_8bit_counters_init` for those of each object file before `main`. Stable Rust passes it on by
//! `-C passes=sancov-module`; no other program is needed.

/// Whether counters are there.
pub(crate) const IS_COUNTED: bool = cfg!(fuzz_coverage);

/// Whether the last input reached something that none before it did; counts anew.
pub(crate) fn is_new() -> bool {
    counters::is_new()
}

/// How many branches were reached by all inputs together; 0 where nobody counts.
pub(crate) fn reached() -> u64 {
    counters::reached()
}

#[cfg(not(fuzz_coverage))]
mod counters {
    pub(super) fn is_new() -> bool {
        false
    }

    pub(super) fn reached() -> u64 {
        0
    }
}

#[cfg(fuzz_coverage)]
mod counters {
    use std::sync::Mutex;

    /// Counters of an object file, and what was reached of them: a bit for each power of two of a count.
    struct Region {
        start: usize,
        reached: Vec<u8>,
    }

    static REGIONS: Mutex<Vec<Region>> = Mutex::new(Vec::new());

    #[unsafe(no_mangle)]
    extern "C" fn __sanitizer_cov_8bit_counters_init(start: *mut u8, end: *mut u8) {
        let mut regions = REGIONS.lock().expect("nobody panics here");
        if start < end && regions.iter().all(|region| region.start != start as usize) {
            let reached = vec![0; end as usize - start as usize];
            regions.push(Region { start: start as usize, reached });
        }
    }

    #[unsafe(no_mangle)]
    extern "C" fn __sanitizer_cov_pcs_init(_start: *const usize, _end: *const usize) {}

    pub(super) fn is_new() -> bool {
        let mut is_new = false;
        for region in REGIONS.lock().expect("nobody panics here").iter_mut() {
            // SAFETY: the linker's own bounds of the counters, which live as long as the program; they are bytes, and this is the
            // only thread that reads what is tested.
            let counters = unsafe { std::slice::from_raw_parts_mut(region.start as *mut u8, region.reached.len()) };
            for (counter, reached) in counters.iter_mut().zip(&mut region.reached) {
                if *counter > 0 {
                    let power = 1_u8 << counter.ilog2();
                    is_new |= *reached & power == 0;
                    *reached |= power;
                    *counter = 0;
                }
            }
        }
        is_new
    }

    pub(super) fn reached() -> u64 {
        let regions = REGIONS.lock().expect("nobody panics here");
        regions.iter().map(|region| region.reached.iter().filter(|bits| **bits > 0).count() as u64).sum()
    }
}
