//! The storage of a trial: the filesystem under test, and further volumes that a server spreads its files over.

use crash::plan::TrialSpec;
use observe::durability::Durability;
use sandbox::work::Work;
use std::collections::BTreeMap;
use std::path::Path;
use storage::{Device, Error, Mounted};

/// All that a trial has mounted.
pub struct Volumes {
    /// The filesystem under test.
    pub data: Mounted,
    /// By name: `wal`.
    pub further: BTreeMap<String, Mounted>,
}

impl Volumes {
    /// Makes and mounts them all. `step` hears each step's name and seconds.
    ///
    /// # Errors
    /// When a step fails; nothing is left mounted then.
    pub fn provision(spec: &TrialSpec, work: &Work, step: &mut dyn FnMut(&str, f64)) -> Result<Volumes, Error> {
        let settings = &spec.storage;
        let images = if settings.device == Device::Virtual { work.disk() } else { work.images() };
        let data = storage::provision(settings, &images, &work.mount_point(), spec.seed, step)?;
        let mut volumes = Volumes { data, further: BTreeMap::new() };
        for (name, settings) in &spec.volumes {
            let is_virtual = settings.device == Device::Virtual;
            let images = if is_virtual { work.volume_disk(name) } else { work.volume_images(name) };
            let mount_point = work.volume_mount_point(name);
            let step = &mut |what: &str, seconds: f64| step(&format!("{name}: {what}"), seconds);
            volumes.further.insert(name.clone(), storage::provision(settings, &images, &mount_point, spec.seed, step)?);
        }
        Ok(volumes)
    }

    /// The log's own volume.
    pub fn log_folder(&self) -> Option<&Path> {
        self.further.get("wal").map(|mounted| mounted.data_folder.as_path())
    }

    /// The device under the log's own volume, else that under the external log of the filesystem under test: what commits cost is spread over both.
    pub fn log_device(&self) -> Option<&str> {
        let of_volume = self.further.get("wal").map(|mounted| &mounted.device_name);
        of_volume.unwrap_or(&self.data.log_device_name).as_deref()
    }

    /// The devices that nobody but this trial uses.
    pub fn own_devices(&self) -> impl Iterator<Item = &str> {
        let logs = self.all().filter_map(|mounted| mounted.log_device_name.as_deref());
        self.all().filter_map(Mounted::own_device).chain(logs)
    }

    /// The shell commands that make them by hand: the data volume on `$MOUNT`, a further one on its own name, with images and devices of its own.
    pub fn commands(spec: &TrialSpec) -> Vec<String> {
        let mut lines = storage::commands(&spec.storage);
        for (name, settings) in &spec.volumes {
            let upper = name.to_ascii_uppercase();
            let of_volume = storage::commands(settings).into_iter();
            lines.extend(of_volume.map(|line| {
                line.replace("LOG", &format!("{upper}_LOG"))
                    .replace("MOUNT=/mnt", &format!("{upper}=/mnt-{name} && mkdir -p ${upper}"))
                    .replace("$MOUNT", &format!("${upper}"))
                    .replace("DEVICE", &format!("{upper}_DEVICE"))
                    .replace("device-", &format!("{name}-"))
                    .replace(" log-", &format!(" {name}-log-"))
                    .replace("surefoot-", &format!("surefoot-{name}-"))
            }));
        }
        lines
    }

    /// What was read back, of further volumes with their names before it.
    pub fn facts(&self) -> BTreeMap<String, String> {
        let mut facts = self.data.facts.clone();
        for (name, mounted) in &self.further {
            facts.extend(mounted.facts.iter().map(|(fact, value)| (format!("{name}.{fact}"), value.clone())));
        }
        facts
    }

    /// What was asked and did not take effect.
    pub fn ineffective(&self) -> Vec<String> {
        self.all().flat_map(|mounted| mounted.ineffective.iter().cloned()).collect()
    }

    /// The worst of them.
    pub fn durability(&self) -> Durability {
        self.all().map(|mounted| mounted.durability.clone()).fold(Durability::full(), Durability::and)
    }

    /// Waits until nothing works in the background on any of them.
    ///
    /// # Errors
    /// When writing out fails, or a device does not come to rest.
    pub fn settle(&self) -> Result<(), Error> {
        self.all().try_for_each(Mounted::settle)
    }

    /// Writes out all of them.
    ///
    /// # Errors
    /// When that fails.
    pub fn flush(&self) -> Result<(), Error> {
        self.all().try_for_each(Mounted::flush)
    }

    /// Takes them all away again.
    ///
    /// # Errors
    /// The first that failed; the others are tried all the same.
    pub fn tear_down(self) -> Result<(), Error> {
        let torn: Vec<Result<_, Error>> =
            self.further.into_values().chain([self.data]).map(Mounted::tear_down).collect();
        torn.into_iter().try_for_each(|one| one.map(drop))
    }

    fn all(&self) -> impl Iterator<Item = &Mounted> {
        std::iter::once(&self.data).chain(self.further.values())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use storage::StorageSettings;

    /// The second volume's journal was made over the first one's.
    #[test]
    fn volumes_by_hand_share_no_device() {
        let storage = StorageSettings {
            filesystem: "xfs".into(),
            preset: Some("external-log".into()),
            delay_flush: 0.02,
            ..StorageSettings::default()
        };
        let mut spec = TrialSpec::single("s", "a", "oltp", study::Bench::Guest, 1, storage.clone());
        spec.volumes.insert("wal".into(), storage);
        let lines = Volumes::commands(&spec);
        let (data, wal) = lines.split_at(lines.len() / 2);
        assert!(data.iter().all(|line| !wal.contains(line)), "{lines:#?}");
        for wanted in [
            // Nobody has such a folder, unlike the data's.
            "WAL=/mnt-wal && mkdir -p $WAL",
            "WAL_LOG=$(losetup --find --show --direct-io=on wal-log-134217728.img)",
            "WAL_LOG=/dev/mapper/surefoot-wal-delay-log",
            "mkfs.xfs -q -f -K -l logdev=$WAL_LOG $WAL_DEVICE",
            "mount -t xfs -o nosuid,nodev,logdev=$WAL_LOG $WAL_DEVICE $WAL",
        ] {
            assert!(wal.iter().any(|line| line == wanted), "{wanted}: {wal:#?}");
        }
        assert!(wal.iter().any(|line| line.starts_with("dmsetup create surefoot-wal-delay-log ")), "{wal:#?}");
    }
}
