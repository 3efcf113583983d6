//! Layers between image files and filesystem: slower disks, and a volume striped over several. Their tables as text, pure.
//!
//! A table's arguments are the kernel's own (Documentation/admin-guide/device-mapper/delay.rst, striped.rst). What is
//! loaded is made here, and what the kernel shows of it is read here again; `device_mapper.rs` makes the devices.

use crate::settings::StorageSettings;
use settings::quantity::format_bytes;
use std::fmt;

/// The device mapper counts sectors of this size whatever the disk's own.
pub(crate) const SECTOR_BYTES: u64 = 512;

/// The guest's kernel counts time in ticks of this length (arch/um/Kconfig: HZ = 100), and dm-delay waits whole ticks.
pub(crate) const TICK_MILLISECONDS: u64 = 10;

/// One layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layer {
    /// Imitates a slower disk.
    Delay {
        /// Milliseconds that a read waits.
        read: u64,
        /// Milliseconds that a write waits.
        write: u64,
        /// Milliseconds that a flush waits.
        flush: u64,
    },
    /// Spreads chunks over disks in turn.
    Stripe {
        /// How many.
        disks: usize,
        /// Bytes of a chunk.
        chunk: u64,
    },
}

impl Layer {
    /// The delay that is asked of every disk.
    pub(crate) fn delay(settings: &StorageSettings) -> Option<Layer> {
        let [read, write, flush] = settings.delays().map(|(_, seconds)| milliseconds(seconds) as u64);
        (read + write + flush > 0).then_some(Layer::Delay { read, write, flush })
    }

    /// The stripe that is asked over the disks.
    pub(crate) fn stripe(settings: &StorageSettings) -> Option<Layer> {
        let disks = settings.disks().len();
        (disks > 1).then_some(Layer::Stripe { disks, chunk: settings.stripe_chunk })
    }

    /// The kernel's name of the target.
    pub(crate) fn target(&self) -> &'static str {
        match self {
            Layer::Delay { .. } => "delay",
            Layer::Stripe { .. } => "striped",
        }
    }

    /// The target's arguments over such devices.
    pub(crate) fn arguments(&self, devices: &[String]) -> String {
        match self {
            Layer::Delay { read, write, flush } => {
                let device = &devices[0];
                [read, write, flush].map(|delay| format!("{device} 0 {delay}")).join(" ")
            }
            Layer::Stripe { disks, chunk } => {
                let devices: String = devices.iter().map(|device| format!(" {device} 0")).collect();
                format!("{disks} {}{devices}", chunk / SECTOR_BYTES)
            }
        }
    }

    /// The layer of a target and its arguments, as the kernel shows them.
    pub(crate) fn parse(target: &str, arguments: &str) -> Option<Layer> {
        let words: Vec<&str> = arguments.split(' ').collect();
        let number = |word: &str| word.parse::<u64>().ok();
        match (target, &*words) {
            ("delay", [device, "0", read, below, "0", write, last, "0", flush])
                if device == below && device == last =>
            {
                Some(Layer::Delay { read: number(read)?, write: number(write)?, flush: number(flush)? })
            }
            ("striped", [disks, chunk, pairs @ ..]) => {
                let (disks, chunk) = (number(disks)? as usize, number(chunk)?.checked_mul(SECTOR_BYTES)?);
                let whole = pairs.len().is_multiple_of(2) && pairs.chunks(2).all(|pair| pair[1] == "0");
                (whole && pairs.len() / 2 == disks).then_some(Layer::Stripe { disks, chunk })
            }
            _ => None,
        }
    }

    /// What was asked of `what` and did not take effect, when the kernel shows another layer.
    pub(crate) fn ineffective(&self, what: &str, found: Option<Layer>) -> Option<String> {
        let has = found.map_or_else(|| "another table".into(), |found| found.to_string());
        (found != Some(*self))
            .then(|| format!("{} of {what} did not take effect: {self} was asked, the kernel has {has}", self.target()))
    }

    /// Delays that a kernel with such a tick can't keep.
    pub(crate) fn off_tick(&self, tick_milliseconds: u64) -> Option<String> {
        let Layer::Delay { read, write, flush } = self else { return None };
        [read, write, flush].iter().any(|delay| !delay.is_multiple_of(tick_milliseconds)).then(|| {
            format!(
                "delays ({self}) did not take effect as asked: this kernel waits in ticks of {tick_milliseconds} ms"
            )
        })
    }
}

/// As a fact of the trial says it.
impl fmt::Display for Layer {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Layer::Delay { read, write, flush } => {
                write!(formatter, "read {read} ms, write {write} ms, flush {flush} ms")
            }
            Layer::Stripe { disks, chunk } => write!(formatter, "{disks} disks, chunk {chunk} bytes"),
        }
    }
}

/// Without the noise of floating point below a microsecond: 0.07 s are 70 ms.
fn milliseconds(seconds: f64) -> f64 {
    (seconds * 1e6).round() / 1e3
}

/// All that is wrong with the layers of a scenario on image files: the setting, and the problem.
pub(crate) fn problems(settings: &StorageSettings) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    for (name, seconds) in settings.delays() {
        let asked = milliseconds(seconds);
        if asked % TICK_MILLISECONDS as f64 != 0.0 {
            let problem =
                format!("{asked} ms is no multiple of {TICK_MILLISECONDS} ms, the tick of the guest's kernel");
            found.push((name, problem));
        }
    }
    let (disks, chunk) = (settings.disks().len() as u64, settings.stripe_chunk);
    if disks == 1 && chunk != StorageSettings::default().stripe_chunk {
        found.push(("stripe_chunk", "has no effect with stripe = 1: nothing is striped".into()));
    } else if !chunk.is_power_of_two() {
        found.push(("stripe_chunk", format!("{chunk}B is no power of two, like \"64KiB\"")));
    } else if disks > 1 && !settings.size.is_multiple_of(disks * chunk) {
        let next = settings.size.next_multiple_of(disks * chunk);
        let parts = format!("{disks} disks of whole chunks of {}", format_bytes(chunk));
        found.push(("size", format!("does not divide into {parts}: the next size that does is \"{next}B\"")));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    const DELAY: Layer = Layer::Delay { read: 0, write: 10, flush: 20 };

    fn check(layer: Layer, devices: &[&str], expect: Expect) {
        let devices: Vec<String> = devices.iter().map(|device| (*device).to_string()).collect();
        let arguments = layer.arguments(&devices);
        expect.assert_eq(&format!("{} {arguments}: {layer}", layer.target()));
        assert_eq!(Layer::parse(layer.target(), &arguments), Some(layer), "the kernel shows what was loaded");
    }

    #[test]
    fn tables() {
        check(DELAY, &["98:0"], expect!["delay 98:0 0 0 98:0 0 10 98:0 0 20: read 0 ms, write 10 ms, flush 20 ms"]);
        check(
            Layer::Stripe { disks: 2, chunk: 64 << 10 },
            &["254:0", "254:1"],
            expect!["striped 2 128 254:0 0 254:1 0: 2 disks, chunk 65536 bytes"],
        );
    }

    #[test]
    fn another_table_is_said() {
        assert_eq!(DELAY.ineffective("device", Some(DELAY)), None);
        let found = Layer::parse("delay", "98:0 0 0 98:0 0 10 98:0 0 10");
        assert_eq!(
            DELAY.ineffective("log", found).as_deref(),
            Some(
                "delay of log did not take effect: read 0 ms, write 10 ms, flush 20 ms was asked, the kernel has read 0 \
                 ms, write 10 ms, flush 10 ms"
            )
        );
        for (target, arguments) in [
            ("linear", "98:0 0"),
            ("delay", "98:0 0 5"),
            ("delay", "98:0 0 0 98:16 0 10 98:0 0 20"),
            ("striped", "2 128 98:0 0"),
            ("striped", "1 128 98:0 8"),
            ("striped", ""),
        ] {
            assert_eq!(Layer::parse(target, arguments), None, "{target} {arguments}");
        }
    }

    #[test]
    fn a_slower_tick_is_said() {
        assert_eq!(DELAY.off_tick(TICK_MILLISECONDS), None);
        assert!(DELAY.off_tick(4).is_some_and(|text| text.ends_with("in ticks of 4 ms")));
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_parser(target in "delay|striped", arguments in "[0-9: ]{0,60}\\PC{0,5}") {
            let _ = Layer::parse(&target, &arguments);
        }
    }
}
