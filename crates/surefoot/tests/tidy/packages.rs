//! What `make package` packs is there, and its description names every study; the packing itself is `make package-check`.

use crate::{read, root};

#[test]
fn packages_name_what_is_there() {
    let rules = read(&root().join("packaging/package.mk"));
    let listed = |name: &str| {
        let line = rules.lines().find_map(|line| line.strip_prefix(&format!("{name} = ")));
        line.unwrap_or_else(|| panic!("no list {name}")).split_whitespace().map(str::to_string).collect::<Vec<_>>()
    };
    let mut paths: Vec<String> = ["DOCUMENTS", "LICENCES", "EXAMPLES"].iter().flat_map(|name| listed(name)).collect();
    let words = rules.split(|c: char| c.is_whitespace() || c == '"');
    paths.extend(words.filter(|word| word.starts_with("packaging/") && !word.contains('$')).map(str::to_string));
    paths.extend(["surefoot", "surefoot-pdf"].map(|name| format!("packaging/{name}.control")));
    assert!(paths.len() > 8, "{paths:?}");
    for path in paths {
        assert!(root().join(&path).exists(), "packaging/package.mk names {path}, which is not there");
    }
}

#[test]
fn the_package_says_what_each_study_needs() {
    let control = read(&root().join("packaging/surefoot.control"));
    for entry in root().join("studies").read_dir().expect("the studies").map(|entry| entry.expect("an entry").path()) {
        let name = entry.file_stem().expect("a name").to_string_lossy().into_owned();
        let is_said = control.split(|c: char| c.is_whitespace() || ",:;".contains(c)).any(|word| word == name);
        assert!(entry.is_dir() || name == "self-test" || is_said, "surefoot.control does not name the study {name}");
    }
}

#[test]
fn the_log_of_changes_has_this_version() {
    let heading = format!("\n## {} - 20", env!("CARGO_PKG_VERSION"));
    assert!(read(&root().join("CHANGELOG.md")).contains(&heading), "no `{}` in CHANGELOG.md", heading.trim());
}
