//! What a machine must have: programs, kernel support, rights. Looks, and touches nothing.

use crate::device::Device;
use crate::error::Missing;
use crate::filesystem::Filesystem;
use crate::program;
use crate::settings::StorageSettings;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// What this machine lacks for a scenario's storage.
pub fn missing(settings: &StorageSettings) -> Vec<Missing> {
    let mut all = Vec::new();
    if settings.device != Device::Dir && !cfg!(target_os = "linux") {
        return vec![Missing::new("filesystems are made on Linux only", "use device = \"dir\"")];
    }
    if settings.device != Device::Dir && !nix::unistd::geteuid().is_root() {
        all.push(Missing::new("only root may mount", "run as root, or use bench = \"guest\", or device = \"dir\""));
    }
    if settings.makes_filesystem() {
        all.extend(missing_for(settings.row()));
    }
    all.extend(of_device_mapper(settings));
    let is_virtual = settings.device == Device::Virtual;
    if is_virtual && !Path::new("/dev/fuse").exists() {
        all.push(Missing::new("there is no /dev/fuse", "load the kernel module: modprobe fuse"));
    }
    let needs_loop = is_virtual || settings.device == Device::Loop || settings.external_log_bytes() > 0;
    if needs_loop && !Path::new("/dev/loop-control").exists() {
        let remedy = "load the kernel module: modprobe loop; of a container, start it with --privileged";
        all.push(Missing::new("there are no loop devices", remedy));
    }
    match (settings.device, &settings.path) {
        (Device::Block, Some(path)) if !is_block_device(path) => {
            all.push(Missing::new(format!("{} is not a block device", path.display()), "`lsblk` lists them"));
        }
        (Device::Dir, Some(path)) if !path.is_dir() => {
            all.push(Missing::new(format!("there is no directory {}", path.display()), "make it, or name another"));
        }
        (Device::Dir, Some(path)) if nix::unistd::access(path, nix::unistd::AccessFlags::W_OK).is_err() => {
            all.push(Missing::new(format!("{} may not be written", path.display()), "name a directory of your own"));
        }
        _ => {}
    }
    all
}

/// The kernel modules that a scenario's storage needs, where they are not built in, each after those that it needs itself.
///
/// ```
/// use storage::{StorageSettings, kernel_modules};
/// let slow = StorageSettings { filesystem: "f2fs".into(), delay_flush: 0.02, ..StorageSettings::default() };
/// assert_eq!(kernel_modules(&slow), ["dm_mod", "dm_delay", "crc32_generic", "f2fs"]);
/// ```
pub fn kernel_modules(settings: &StorageSettings) -> Vec<&'static str> {
    let mut all = Vec::new();
    if uses_device_mapper(settings) {
        all.push("dm_mod");
    }
    if settings.is_delayed() {
        all.push("dm_delay");
    }
    if settings.makes_filesystem() {
        all.extend(settings.row().modules);
    }
    all
}

/// What is missing for a scenario's storage in a guest kernel; `has` says whether that has a module, built in or not.
pub fn missing_in_guest(settings: &StorageSettings, has: &dyn Fn(&str) -> bool) -> Vec<Missing> {
    match settings.device {
        Device::Block | Device::Dir => {
            vec![Missing::new("a guest kernel has disks and directories of its own only", "use device = \"loop\"")]
        }
        Device::Virtual => {
            let what = "a guest kernel has no virtual disk: the clock by which that is slow is the host's";
            let remedy = "use bench = \"host\", or device = \"loop\" with delay_read, delay_write and delay_flush";
            vec![Missing::new(what, remedy)]
        }
        Device::Tmpfs => Vec::new(),
        Device::Loop => {
            let mut all = of_programs(settings.row());
            // What a filesystem needs beside its own module comes with it: since Linux 6.14 F2FS needs no `crc32_generic`, and later kernels
            // have none.
            let beside = settings.row().modules.split_last().map_or(&[][..], |(_, beside)| beside);
            let modules = kernel_modules(settings).into_iter();
            let modules = modules.filter(|module| !has(module) && !beside.contains(module));
            all.extend(modules.map(|module| Missing::new(format!("the guest kernel has no {module}"), OTHER_KERNEL)));
            all
        }
    }
}

const OTHER_KERNEL: &str = "name another with guest.kernel";

fn uses_device_mapper(settings: &StorageSettings) -> bool {
    settings.stripe > 1 || settings.is_delayed()
}

/// The host's mapper is one for all namespaces: a kill between two calls would leave a device there.
fn of_device_mapper(settings: &StorageSettings) -> Option<Missing> {
    let what = "device-mapper set-ups are made in the guest kernel only: on the host they could outlive a killed trial";
    uses_device_mapper(settings).then(|| Missing::new(what, "use bench = \"guest\""))
}

/// What this machine lacks to make a filesystem and mount it on any device: kernel support, programs.
pub fn missing_for(row: &Filesystem) -> Vec<Missing> {
    let mut all = of_programs(row);
    let name = row.mount.name;
    if !kernel_has(name) {
        let remedy = format!("use bench = \"guest\", a kernel with {name}, or load its module: modprobe {name}");
        all.insert(0, Missing::new(format!("this kernel has no {name}"), remedy));
    }
    all
}

fn of_programs(row: &Filesystem) -> Vec<Missing> {
    let programs = [row.mkfs].into_iter().chain(row.superblock.as_ref().map(|superblock| superblock.program));
    let missing = programs.filter(|program| program::find(program).is_none());
    missing.map(|program| Missing::package(program, row.package)).collect()
}

/// Whether the kernel has the filesystem, built in, loaded, or as a module that a mount would load.
fn kernel_has(filesystem: &str) -> bool {
    let known = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    if lists(&known, filesystem) {
        return true;
    }
    let Ok(release) = std::fs::read_to_string("/proc/sys/kernel/osrelease") else { return false };
    let list =
        |name: &str| std::fs::read_to_string(format!("/lib/modules/{}/{name}", release.trim())).unwrap_or_default();
    is_loadable(&list("modules.dep"), &list("modules.alias"), filesystem)
}

/// Whether a module is a filesystem's by its file, or is what a mount loads for it by another name (`alias fs-ext3 ext4`).
fn is_loadable(modules: &str, aliases: &str, filesystem: &str) -> bool {
    let alias =
        |line: &str| line.split_whitespace().nth(1).and_then(|alias| alias.strip_prefix("fs-")) == Some(filesystem);
    modules.lines().filter_map(|line| line.split(':').next()).any(|path| is_module(path, filesystem))
        || aliases.lines().any(alias)
}

/// Whether the text of `/proc/filesystems` has a filesystem.
fn lists(known: &str, filesystem: &str) -> bool {
    known.lines().any(|line| line.split_whitespace().next_back() == Some(filesystem))
}

/// Whether a module's path is a filesystem's module: `kernel/fs/xfs/xfs.ko.zst`.
fn is_module(path: &str, filesystem: &str) -> bool {
    path.rsplit('/').next().and_then(|file| file.split_once(".ko")).is_some_and(|(name, _)| name == filesystem)
}

fn is_block_device(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.file_type().is_block_device())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filesystems_are_found_by_whole_names() {
        let known = "nodev\ttmpfs\n\text3\n\txfs\n";
        assert!(lists(known, "xfs") && lists(known, "tmpfs"));
        assert!(!lists(known, "fs") && !lists(known, "ext4"));
        assert!(is_module("kernel/fs/jfs/jfs.ko.zst", "jfs") && !is_module("kernel/fs/jfs/jfs.ko", "fs"));
    }

    /// Where nothing is mounted by it, ext4's module is not loaded, and there is no other one for ext3.
    #[test]
    fn a_filesystem_that_another_ones_module_serves_is_there() {
        let modules = "kernel/fs/ext4/ext4.ko.xz: kernel/fs/jbd2/jbd2.ko.xz\nkernel/fs/xfs/xfs.ko.xz:\n";
        let aliases =
            "# Aliases extracted from modules themselves.\nalias fs-ext4 ext4\nalias fs-ext3 ext4\nalias ext3 ext4\n";
        let found = ["ext4", "ext3", "xfs", "ext2", "ext"].map(|name| is_loadable(modules, aliases, name));
        assert_eq!(found, [true, true, true, false, false]);
    }

    #[test]
    fn a_missing_path_is_named() {
        let block =
            StorageSettings { device: Device::Block, path: Some("/dev/null".into()), ..StorageSettings::default() };
        assert!(missing(&block).iter().any(|missing| missing.what == "/dev/null is not a block device"));
        let dir = StorageSettings { device: Device::Dir, path: Some("/no/such".into()), ..StorageSettings::default() };
        assert_eq!(missing(&dir)[0].what, "there is no directory /no/such");
    }

    #[test]
    fn stripes_and_delays_are_the_guests() {
        assert_eq!(of_device_mapper(&StorageSettings::default()), None);
        for asked in [
            StorageSettings { stripe: 2, ..StorageSettings::default() },
            StorageSettings { delay_read: 0.01, ..StorageSettings::default() },
        ] {
            assert!(missing(&asked).iter().any(|missing| missing.remedy == "use bench = \"guest\""));
        }
    }

    #[test]
    fn a_virtual_disk_is_the_hosts() {
        let asked = StorageSettings { device: Device::Virtual, ..StorageSettings::default() };
        let missing = missing_in_guest(&asked, &|_| true);
        assert!(missing.len() == 1 && missing[0].remedy.starts_with("use bench = \"host\""), "{missing:?}");
    }

    #[test]
    fn modules_are_the_filesystems_and_the_layers() {
        let modules = |filesystem: &str, stripe| {
            kernel_modules(&StorageSettings { filesystem: filesystem.into(), stripe, ..StorageSettings::default() })
        };
        assert_eq!(modules("nilfs2", 1), ["nilfs2"]);
        assert_eq!(modules("ext3", 4), ["dm_mod", "ext4"]);
        let tmpfs = StorageSettings { device: Device::Tmpfs, ..StorageSettings::default() };
        assert!(kernel_modules(&tmpfs).is_empty());
        let slow = StorageSettings { delay_read: 0.01, ..StorageSettings::default() };
        let missing: Vec<String> = missing_in_guest(&slow, &|module| module != "dm_delay")
            .into_iter()
            .map(|missing| missing.what)
            .filter(|what| what.contains("kernel"))
            .collect();
        assert_eq!(missing, ["the guest kernel has no dm_delay"]);
    }

    /// F2FS was refused in newer guest kernels: it makes its checksums without a module there.
    #[test]
    fn what_a_filesystem_may_need_beside_its_module_is_not_asked_for() {
        let f2fs = StorageSettings { filesystem: "f2fs".into(), ..StorageSettings::default() };
        let of_kernel = |has: &dyn Fn(&str) -> bool| -> Vec<String> {
            let missing = missing_in_guest(&f2fs, has).into_iter().map(|missing| missing.what);
            missing.filter(|what| what.contains("kernel")).collect()
        };
        assert_eq!(of_kernel(&|module| module == "f2fs"), [""; 0]);
        assert_eq!(of_kernel(&|module| module == "crc32_generic"), ["the guest kernel has no f2fs"]);
    }
}
