//! The flow: image, device, mkfs, mount, read back, fill, age; and the way back.
//!
//! Whatever step fails, what the earlier ones made goes with their guards: mounts detach, mapped and loop devices clear
//! themselves, a trial's folder is removed.

use crate::command;
use crate::device::Device;
use crate::device_mapper::{self, MappedDevice};
use crate::durability;
use crate::error::Error;
use crate::filesystem::Facts;
use crate::fill;
use crate::guard::{self, Cleared};
use crate::image;
use crate::layer::Layer;
use crate::loop_device::{self, LoopDevice, NO_VOLATILE_CACHE};
use crate::mkfs;
use crate::mount::{self, Mounting};
use crate::program;
use crate::readback;
use crate::settings::{DiskCache, StorageSettings};
use crate::settle;
use crate::trial_folder::{DATA_FOLDER, TrialFolder};
use crate::virtual_disk::{self, Attached};
use observe::durability::Durability;
use observe::mountinfo;
use observe::sampler::Place;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Storage, ready for a load.
#[derive(Debug)]
pub struct Mounted {
    /// An empty folder for the workload.
    pub data_folder: PathBuf,
    /// What was read back: `filesystem`, `mount_options`, `features`, …
    pub facts: BTreeMap<String, String>,
    /// What was asked and did not take effect, with the reason.
    pub ineffective: Vec<String>,
    /// The shell commands that do the same by hand.
    pub commands: Vec<String>,
    /// The device under the filesystem, by its name in `/sys/class/block`: `loop3`.
    pub device_name: Option<String>,
    /// The device under the filesystem's external log, likewise, where both are image files: that of a block device lies on another disk.
    pub log_device_name: Option<String>,
    /// What a power cut may take, the filesystem below the image file included.
    pub durability: Durability,
    settings: StorageSettings,
    mounting: Option<Mounting>,
    /// Images to be detached, with their sizes; the block device to be emptied again.
    images: Vec<(PathBuf, u64)>,
    devices: Devices,
    trial_folder: Option<TrialFolder>,
}

/// Makes the storage of a trial. `step` hears each step's name and seconds.
///
/// # Errors
/// When a step fails; nothing is left mounted or attached then.
pub fn provision(
    settings: &StorageSettings,
    images: &Path,
    mount_point: &Path,
    seed: u64,
    step: &mut dyn FnMut(&str, f64),
) -> Result<Mounted, Error> {
    provision_by(settings, &Places { images, mount_point }, seed, &mut Steps(step))
}

impl Mounted {
    /// Where the data lie, for whoever asks what they take.
    pub fn place(&self) -> Place<'_> {
        let place = if self.trial_folder.is_some() { Place::Folder } else { Place::Filesystem };
        place(&self.data_folder)
    }
}

struct Places<'a> {
    images: &'a Path,
    mount_point: &'a Path,
}

/// Who hears of each step.
struct Steps<'a>(&'a mut dyn FnMut(&str, f64));

impl Steps<'_> {
    fn run<T>(&mut self, name: &str, act: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        let started = Instant::now();
        let made = act()?;
        (self.0)(name, started.elapsed().as_secs_f64());
        Ok(made)
    }
}

fn provision_by(settings: &StorageSettings, places: &Places, seed: u64, steps: &mut Steps) -> Result<Mounted, Error> {
    if settings.device == Device::Dir {
        return in_directory(settings, steps);
    }
    let mut devices = devices(settings, places, steps)?;
    if let Some(device) = &mut devices.device {
        devices.to_leave = (settings.device == Device::Block).then(|| places.images.into());
        steps.run("mkfs", || mkfs::make(settings, device, devices.log.as_ref()))?;
        steps.run("write zeroed blocks", || write_zeroed(settings, &devices))?;
    }
    let path = |cleared: &Cleared| cleared.path().to_string_lossy().into_owned();
    let source = devices.device.as_ref().map_or_else(|| settings.mount_type().name.into(), path);
    let log = devices.log.as_ref().map(path);
    let options = mount::options(settings, log.as_deref());
    let mounting =
        steps.run("mount", || Mounting::new(&source, settings.mount_type().name, &options, places.mount_point))?;
    let mut mounted = Mounted {
        data_folder: places.mount_point.join(DATA_FOLDER),
        facts: devices.facts.clone(),
        ineffective: Vec::new(),
        commands: command::made(settings, &source, log.as_deref(), &places.mount_point.to_string_lossy()),
        device_name: devices.device.as_ref().and_then(name_of),
        log_device_name: devices.log.as_ref().filter(|_| settings.device != Device::Block).and_then(name_of),
        durability: durability::durability(settings),
        settings: settings.clone(),
        mounting: Some(mounting),
        images: image::images(settings).into_iter().map(|(name, bytes)| (places.images.join(name), bytes)).collect(),
        devices,
        trial_folder: None,
    };
    // The log of a block device is an image, too. A guest kernel's images lie on the host, whose filesystem only the conductor sees.
    let is_on_images = settings.device != Device::Virtual && !mounted.devices.attached.is_empty();
    // From here on the mount alone holds the loop devices, and they go with it; a virtual disk's is told of its cache as long as we hold it.
    if is_on_images {
        mounted.devices.attached.clear();
    }
    steps.run("read back", || mounted.read_back(places.mount_point))?;
    if is_on_images {
        mounted.durability = mounted.durability.and(durability::under_images(places.images));
    }
    mounted.prepare(places.mount_point, seed, steps)?;
    Ok(mounted)
}

/// The devices that were cleared.
#[derive(Debug, Default)]
struct Devices {
    device: Option<Cleared>,
    log: Option<Cleared>,
    /// Layers over the images, each after those below it.
    mapped: Vec<Mapped>,
    /// Loop devices and their images.
    attached: Vec<(LoopDevice, PathBuf)>,
    facts: Facts,
    /// Of a block device that was written to: where it is noted what is left on it.
    to_leave: Option<PathBuf>,
}

impl Devices {
    /// Takes our marks off a block device, which is not mounted any more.
    fn leave(&mut self) -> Result<(), Error> {
        let (Some(images), Some(device)) = (self.to_leave.take(), &self.device) else { return Ok(()) };
        guard::leave(device, &images)
    }
}

impl Drop for Devices {
    /// A trial that failed on the way gives the device back all the same, so that the next one is not refused.
    fn drop(&mut self) {
        let _ = self.leave();
    }
}

/// A device of the device mapper, with what was asked of it.
#[derive(Debug)]
struct Mapped {
    device: MappedDevice,
    layer: Layer,
    /// What it is laid over: `device-1`.
    what: String,
}

fn devices(settings: &StorageSettings, places: &Places, steps: &mut Steps) -> Result<Devices, Error> {
    let mut making = Making { settings, places, steps, devices: Devices::default() };
    if settings.device != Device::Tmpfs {
        making.make()?;
    }
    Ok(making.devices)
}

/// Devices that are being made.
struct Making<'a, 'b> {
    settings: &'a StorageSettings,
    places: &'a Places<'a>,
    steps: &'a mut Steps<'b>,
    devices: Devices,
}

impl Making<'_, '_> {
    fn make(&mut self) -> Result<(), Error> {
        let (settings, places) = (self.settings, self.places);
        self.steps.run("image", || image::prepare_images(settings, places.images, &image::NEVER))?;
        let path = settings.path.clone().unwrap_or_default();
        if settings.device == Device::Block {
            self.devices.device = Some(self.steps.run("guard", || guard::clear_block(settings, places.images))?);
            self.note("device", path.to_string_lossy());
            // Writes past the cache need no flush, so that a device that got none may keep all the same: whoever judges must know.
            let name = observe::disk::device_name(&path.to_string_lossy());
            let fua = name.and_then(|name| observe::disk::attribute(&name, "queue/fua"));
            fua.into_iter().for_each(|fua| self.note("device_fua", fua));
        } else {
            self.devices.device = Some(self.volume()?);
        }
        let log = settings.external_log_bytes();
        if log > 0 {
            self.devices.log = Some(self.disk("log", log)?);
        }
        self.note("discard", if settings.discard { "passed down" } else { "not passed down" });
        Ok(())
    }

    fn note(&mut self, fact: &str, value: impl Into<String>) {
        self.devices.facts.insert(fact.into(), value.into());
    }

    /// What the filesystem stands on: one disk, or a stripe over several.
    fn volume(&mut self) -> Result<Cleared, Error> {
        let disks = self.settings.disks().into_iter().map(|(what, bytes)| self.disk(&what, bytes));
        let mut disks = disks.collect::<Result<Vec<_>, _>>()?;
        let Some(stripe) = Layer::stripe(self.settings) else { return Ok(disks.pop().expect("a volume has a disk")) };
        self.lay(stripe, "device", disks)
    }

    /// An image as a disk, as slow as it is asked to be.
    fn disk(&mut self, what: &str, bytes: u64) -> Result<Cleared, Error> {
        let image = self.attach(what, bytes)?;
        let Some(delay) = Layer::delay(self.settings) else { return Ok(image) };
        self.lay(delay, what, vec![image])
    }

    /// Lays a layer over what was made so far.
    fn lay(&mut self, layer: Layer, what: &str, parts: Vec<Cleared>) -> Result<Cleared, Error> {
        let step = format!("{} {what}", layer.target());
        let (device, cleared) = self.steps.run(&step, || guard::clear_mapped(&layer, parts))?;
        self.devices.mapped.push(Mapped { device, layer, what: what.into() });
        Ok(cleared)
    }

    fn attach_virtual(&mut self) -> Result<Cleared, Error> {
        let (settings, file) = (self.settings, virtual_disk::recording_disk(self.places.images));
        let (device, cleared) = self.steps.run("attach device", || guard::clear_virtual(&file, settings))?;
        virtual_disk::describe_cache(device.path(), settings.cache)?;
        self.note("device", virtual_disk::describe(settings));
        if let Attached::Loop(device) = device {
            device.sector_bytes().into_iter().for_each(|bytes| self.note("device_sector_bytes", bytes.to_string()));
            self.devices.attached.push((device, file));
        }
        Ok(cleared)
    }

    fn attach(&mut self, what: &str, bytes: u64) -> Result<Cleared, Error> {
        if self.settings.device == Device::Virtual {
            return self.attach_virtual();
        }
        let images = self.places.images;
        let image = image::path(images, what, bytes);
        let (device, cleared) = self.steps.run(&format!("attach {what}"), || guard::clear_image(&image, bytes))?;
        let Some(device) = device else {
            self.note(what, format!("disk of the guest kernel on an image of {bytes} bytes"));
            return Ok(cleared);
        };
        let direct = if device.direct_io() { "on" } else { "refused by the kernel" };
        self.note(what, format!("loop device on an image of {bytes} bytes, direct I/O {direct}"));
        if let Some(host) = mountinfo::mount_under(images) {
            let options = host.options.iter().chain(&host.super_options).cloned().collect::<Vec<_>>().join(",");
            self.note(&format!("{what}_image_on"), format!("{} ({options})", host.filesystem));
        }
        self.devices.attached.push((device, image));
        Ok(cleared)
    }
}

/// A study about discards wants the image as they leave it.
fn write_zeroed(settings: &StorageSettings, devices: &Devices) -> Result<(), Error> {
    let is_kept = settings.discard || settings.device == Device::Virtual;
    for (device, image) in devices.attached.iter().filter(|_| !is_kept) {
        image::write_zeroed(image, &device.path)?;
    }
    Ok(())
}

fn name_of(device: &Cleared) -> Option<String> {
    device.path().file_name().map(|name| name.to_string_lossy().into_owned())
}

impl Mounted {
    fn read_back(&mut self, mount_point: &Path) -> Result<(), Error> {
        let mount = readback::mount_at(mount_point)?;
        self.durability = durability::of_mounted(&self.settings, &mount);
        self.facts.extend(readback::mount_facts(&mount));
        if self.settings.makes_filesystem() {
            self.facts.extend(readback::module_facts(self.settings.row().modules));
        }
        self.ineffective = readback::ineffective_mount(&self.settings, &mount);
        self.ineffective.extend(self.ineffective_device());
        self.read_back_layers()?;
        if let Some(device) = &self.devices.device {
            let made = readback::superblock(&self.settings, device.path(), mount_point)?;
            self.ineffective.extend(readback::ineffective_mkfs(&self.settings, &made));
            self.facts.extend(made);
        }
        Ok(())
    }

    /// What was asked of the device below, and the kernel does not do.
    fn ineffective_device(&self) -> Option<String> {
        let name = self.device_name.as_deref()?;
        let of_queue = |attribute: &str| observe::disk::attribute(name, &format!("queue/{attribute}"));
        let cache = of_queue("write_cache").filter(|_| self.settings.device == Device::Virtual);
        if self.settings.cache == DiskCache::WriteThrough && cache.is_some_and(|words| words != NO_VOLATILE_CACHE) {
            return Some("cache = \"write-through\" did not take effect: the kernel sends the disk flushes".into());
        }
        let takes_none = of_queue("discard_max_bytes").is_some_and(|bytes| bytes == "0");
        (self.settings.discard && takes_none)
            .then(|| "discard = true did not take effect: the device takes no discards".into())
    }

    /// Of each layer, the table that the kernel works by.
    fn read_back_layers(&mut self) -> Result<(), Error> {
        for Mapped { device, layer, what } in &self.devices.mapped {
            let table = device.table()?;
            let found = Layer::parse(&table.target, &table.arguments);
            let name = match layer {
                Layer::Stripe { .. } => "stripe",
                Layer::Delay { .. } if what == "log" => "log_delay",
                Layer::Delay { .. } => "delay",
            };
            let shown =
                found.map_or_else(|| format!("{} {}", table.target, table.arguments), |found| found.to_string());
            self.facts.insert(name.into(), shown);
            self.ineffective.extend(layer.ineffective(what, found));
        }
        if let Some(delay) = Layer::delay(&self.settings) {
            let tick = device_mapper::tick_milliseconds();
            self.facts.insert("delay_tick".into(), format!("{tick} ms, by up to which a delay is longer"));
            self.ineffective.extend(delay.off_tick(tick));
        }
        Ok(())
    }

    fn prepare(&self, mount_point: &Path, seed: u64, steps: &mut Steps) -> Result<(), Error> {
        if self.settings.fill > 0.0 {
            steps.run("fill", || fill::fill(&mount_point.join("fill"), self.settings.fill, seed))?;
        }
        if self.settings.age > 0 {
            steps.run("age", || fill::age(&mount_point.join("age"), self.settings.age, seed))?;
        }
        let data = &self.data_folder;
        steps.run("data folder", || std::fs::create_dir(data).map_err(Error::file("create", data)))
    }

    /// Waits until nothing works in the background: all is written out, and the filesystem's own device is at rest.
    ///
    /// # Errors
    /// When writing out fails, or the device does not come to rest.
    pub fn settle(&self) -> Result<(), Error> {
        // Others' device may never rest.
        settle::settle(&self.data_folder, self.own_device())
    }

    /// The device under the filesystem, where nobody else uses it: that of an existing directory is others', too.
    pub fn own_device(&self) -> Option<&str> {
        self.device_name.as_deref().filter(|_| self.trial_folder.is_none())
    }

    /// Writes out the filesystem.
    ///
    /// # Errors
    /// When that fails.
    pub fn flush(&self) -> Result<(), Error> {
        crate::fill::flush(&self.data_folder)
    }

    /// Unmounts, checks when the settings say so, and detaches. Gives what the checker said.
    ///
    /// # Errors
    /// When something in use keeps the mount, the checker found damage, or a device stays attached.
    pub fn tear_down(mut self) -> Result<Option<String>, Error> {
        if let Some(folder) = self.trial_folder.take() {
            return folder.remove().map(|()| None);
        }
        // Held until the check is done, or the loop devices would go with the mount.
        let paths = [&self.devices.device, &self.devices.log].into_iter().flatten().map(Cleared::path);
        let loops = paths.filter(|_| self.settings.check);
        let held: Result<Vec<File>, Error> =
            loops.map(|path| File::open(path).map_err(Error::file("open", path))).collect();
        let held = held?;
        if let Some(mounting) = self.mounting.take() {
            mounting.unmount()?;
        }
        let said = if self.settings.check { self.check()? } else { None };
        drop(held);
        self.devices.attached.clear();
        self.devices.leave()?;
        for mapped in std::mem::take(&mut self.devices.mapped).into_iter().rev() {
            mapped.device.remove()?;
        }
        for (image, bytes) in &self.images {
            // What was cut short meanwhile was not what was measured.
            image::verify_size(image, *bytes)?;
            if let Some(holder) = loop_device::lasting_holder(image) {
                let busy = std::io::Error::from_raw_os_error(libc::EBUSY);
                return Err(Error::file("detach an image from", Path::new("/dev").join(holder))(busy));
            }
        }
        Ok(said)
    }

    /// The read-only check of the unmounted filesystem.
    fn check(&self) -> Result<Option<String>, Error> {
        let row = self.settings.row();
        let (Some(check), Some(device)) = (&row.check, &self.devices.device) else { return Ok(None) };
        let mut words: Vec<String> = check.flags.iter().map(|word| (*word).to_string()).collect();
        if let Some((log, asked)) = self.devices.log.as_ref().zip(row.external_log.as_ref()) {
            words.extend([asked.check_option.into(), log.path().to_string_lossy().into()]);
        }
        words.push(device.path().to_string_lossy().into());
        program::run(check.program, &words, row.package)?.success().map(Some)
    }
}

fn in_directory(settings: &StorageSettings, steps: &mut Steps) -> Result<Mounted, Error> {
    let parent = settings.path.clone().unwrap_or_default();
    let folder = steps.run("data folder", || TrialFolder::new(&parent))?;
    let (facts, device_name) = steps.run("read back", || {
        let real = folder.path.canonicalize().map_err(Error::file("look at", &folder.path))?;
        let mounts = mountinfo::read();
        let mount = mountinfo::mount_of(&mounts, &real).ok_or(Error::NotMounted(real))?;
        Ok((readback::mount_facts(mount), durability::block_device(mount)))
    })?;
    Ok(Mounted {
        data_folder: folder.path.clone(),
        facts,
        ineffective: Vec::new(),
        commands: command::commands(settings),
        device_name,
        log_device_name: None,
        durability: durability::durability(settings),
        settings: settings.clone(),
        mounting: None,
        images: Vec::new(),
        devices: Devices::default(),
        trial_folder: Some(folder),
    })
}
