//! The machine's facts on Unixes that have no `/proc`: what uname(2) and sysctl(8) say.

use std::collections::BTreeMap;
use std::process::Command;

/// The fact that each name of sysctl is: BSDs' and macOS's.
const SYSCTL: &[(&str, &str)] = &[
    ("cpu_model", "machdep.cpu.brand_string"),
    ("cpu_model", "hw.model"),
    ("memory_bytes", "hw.memsize"),
    ("memory_bytes", "hw.physmem"),
];

/// Those that are known.
pub(crate) fn facts() -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    if let Ok(name) = nix::sys::utsname::uname() {
        let words = |word: &std::ffi::OsStr| word.to_string_lossy().into_owned();
        facts.insert("kernel".into(), words(name.release()));
        facts.insert("kernel_version".into(), words(name.version()));
        facts.insert("kernel_name".into(), words(name.sysname()));
        facts.insert("operating_system".into(), format!("{} {}", words(name.sysname()), words(name.release())));
    }
    if let Ok(count) = std::thread::available_parallelism() {
        facts.insert("cpus".into(), count.to_string());
    }
    for (fact, name) in SYSCTL {
        let output = Command::new("sysctl").args(["-n", name]).output().ok().filter(|output| output.status.success());
        let value = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_string());
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            facts.entry((*fact).into()).or_insert(value);
        }
    }
    facts
}
