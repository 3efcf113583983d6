//! Kernel modules inside the guest, by their files: there is no modprobe configuration for its kernel.

use std::io;
use std::path::Path;

/// The name by which the kernel knows a module's file: `kernel/drivers/md/dm-mod.ko` is `dm_mod`.
pub fn name_of(file: &str) -> String {
    let name = file.rsplit('/').next().unwrap_or_default();
    name.split(".ko").next().unwrap_or_default().replace('-', "_")
}

/// The files to load for a module, those that it needs first; none when it is not a module.
///
/// `modules_dep` has lines `FILE: NEEDED NEEDED …`, each with all that a file needs, the last of them first (depmod(8)).
pub fn load_order(modules_dep: &str, module: &str) -> Vec<String> {
    let found = modules_dep.lines().filter_map(|line| line.split_once(':')).find(|(file, _)| name_of(file) == module);
    found.map_or_else(Vec::new, |(file, needed)| {
        let needed = needed.split_whitespace().rev().map(str::to_string);
        needed.chain([file.to_string()]).collect()
    })
}

/// Loads modules with what they need; what is built in or loaded already is well. A kernel that has all built in may have no list of modules.
///
/// # Errors
/// When the kernel refuses a file; the path is in the message.
pub fn load(folder: &Path, modules: &[String]) -> io::Result<()> {
    let modules_dep = match std::fs::read_to_string(folder.join("modules.dep")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        list => list?,
    };
    for file in modules.iter().flat_map(|module| load_order(&modules_dep, module)) {
        let path = folder.join(file);
        load_file(&path).map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn load_file(path: &Path) -> io::Result<()> {
    use std::os::fd::AsRawFd as _;
    let file = std::fs::File::open(path)?;
    // SAFETY: an open file, an empty string of parameters and no flags; the kernel reads the file itself.
    let result = unsafe { libc::syscall(libc::SYS_finit_module, file.as_raw_fd(), c"".as_ptr(), 0) };
    let error = io::Error::last_os_error();
    if result == 0 || error.raw_os_error() == Some(libc::EEXIST) { Ok(()) } else { Err(error) }
}

#[cfg(not(target_os = "linux"))]
fn load_file(_path: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_module_needs_comes_first() {
        let text = "kernel/fs/f2fs/f2fs.ko: kernel/crypto/lz4.ko kernel/lib/lz4/lz4_compress.ko\n\
                    kernel/drivers/md/dm-mod.ko:\nkernel/drivers/md/dm-delay.ko: kernel/drivers/md/dm-mod.ko\n";
        assert_eq!(
            load_order(text, "f2fs"),
            ["kernel/lib/lz4/lz4_compress.ko", "kernel/crypto/lz4.ko", "kernel/fs/f2fs/f2fs.ko"]
        );
        assert_eq!(load_order(text, "dm_delay"), ["kernel/drivers/md/dm-mod.ko", "kernel/drivers/md/dm-delay.ko"]);
        assert!(load_order(text, "jfs").is_empty());
    }

    /// Of a kernel without modules `make modules_install` makes the folder, with what is built in alone.
    #[test]
    fn a_kernel_that_has_all_built_in_needs_no_list_of_modules() {
        let folder = tempfile::tempdir().expect("a folder");
        load(folder.path(), &["ext4".to_string()]).expect("nothing is to be loaded");
    }
}
