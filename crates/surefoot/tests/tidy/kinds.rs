//! A kind's name stands in its own file, and nobody else compares a string with it.

use super::{read, root, sources};

/// Filesystems that are not made, but mounted.
const MOUNTED_ONLY: [&str; 4] = ["tmpfs", "ramfs", "overlay", "zfs"];

/// Who mounts one for its own use, and the device that is one.
const USERS: [&str; 3] =
    ["crates/guest/src/init.rs", "crates/sandbox/src/isolation/linux.rs", "crates/storage/src/device.rs"];

/// A list of embedded engines, until the results file says which they are.
const LISTS_ENGINES: &str = "/src/ceilings.rs";

#[test]
fn a_filesystem_is_named_in_its_own_file_only() {
    let names: Vec<&str> = storage::filesystems().iter().map(|row| row.name).chain(MOUNTED_ONLY).collect();
    let is_own = |file: &str, _: &str| file.starts_with("crates/storage/src/filesystems/") || USERS.contains(&file);
    let found = named_outside(&names, is_own);
    assert!(found.is_empty(), "names of filesystems outside their files:\n{}", found.join("\n"));
}

/// Its own files are its engine, its service, its protocol, and a store or target of commits on it.
#[test]
fn a_database_is_named_in_its_own_files_only() {
    let names: Vec<&str> = load::engines::all().iter().map(|engine| engine.name).collect();
    let found = named_outside(&names, |file, name| file.contains(name) || file.ends_with(LISTS_ENGINES));
    assert!(found.is_empty(), "names of databases outside their files:\n{}", found.join("\n"));
}

/// One that is left out there would be called bound by its own load.
#[test]
fn every_embedded_engine_is_known_as_one() {
    let text = read(&root().join("crates/analysis/src/ceilings.rs"));
    let known = text.lines().find(|line| line.starts_with("const EMBEDDED:")).expect("the list");
    for engine in load::engines::all().iter().filter(|engine| engine.is_embedded) {
        assert!(known.contains(&format!("\"{}\"", engine.name)), "{} is not in {known}", engine.name);
    }
}

/// Lines of code with one of these names in quotes, in files that are not its own. A constant may be called like one: a user, a role.
fn named_outside(names: &[&str], is_own: impl Fn(&str, &str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for path in sources() {
        let relative = path.strip_prefix(root()).expect("inside the workspace").to_string_lossy().into_owned();
        let is_test = ["tests.rs", "hostile.rs"].iter().any(|ending| relative.ends_with(ending));
        if !relative.contains("/src/") || relative.contains("/tests/") || is_test {
            continue;
        }
        let literals: Vec<String> =
            names.iter().filter(|name| !is_own(&relative, name)).map(|name| format!("\"{name}\"")).collect();
        let text = read(&path);
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let is_code = |line: &str| !line.trim_start().starts_with("//") && !line.contains(": &str = ");
        let lines = code.lines().enumerate().filter(|(_, line)| is_code(line));
        let named = lines.filter(|(_, line)| literals.iter().any(|literal| line.contains(literal)));
        found.extend(named.map(|(number, line)| format!("{relative}:{}: {}", number + 1, line.trim())));
    }
    found
}
