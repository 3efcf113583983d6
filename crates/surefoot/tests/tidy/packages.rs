//! What `make package` packs is there, and its description names every study; the packing itself is `make package-check`.

use crate::{read, root};
use std::process::Command;

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

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty())
}

/// What a study's comment asks for is in the study's line, too.
#[test]
fn the_package_says_what_the_comments_of_studies_ask_for() {
    let control = read(&root().join("packaging/surefoot.control"));
    let lines = control.split("\n  * ").skip(1).flat_map(|line| line.split(';'));
    let lines: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(':')).collect();
    let mut checked = 0;
    for entry in root().join("studies").read_dir().expect("the studies").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            continue;
        }
        let (name, text) = (entry.file_stem().expect("a name").to_string_lossy().into_owned(), read(&entry));
        let comment: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix('#')).collect();
        let comment = comment.join(" ");
        let Some((_, asked)) = comment.split_once("Needs the package") else { continue };
        let asked = asked.strip_prefix('s').unwrap_or(asked).split(['.', ';']).next().unwrap_or_default();
        let asked = words(asked.split(", and a ").next().unwrap_or_default()).filter(|word| *word != "and");
        let line = lines.iter().find(|(studies, _)| words(studies).any(|study| study == name));
        let (_, named) = line.unwrap_or_else(|| panic!("surefoot.control does not name the study {name}"));
        for package in asked {
            assert!(words(named).any(|word| word == package), "surefoot.control: {name} asks for {package}, too");
            checked += 1;
        }
    }
    assert!(checked > 30, "{checked} packages");
}

/// Packages for another architecture, and surefoot-pdf, lie in the same folder.
#[test]
fn readme_installs_the_package_of_this_machine() {
    let (rules, readme) = (read(&root().join("packaging/package.mk")), read(&root().join("README.md")));
    let place = rules.lines().find_map(|line| line.strip_prefix("OUT = ")).expect("where packages lie");
    let command = readme.split('`').find(|code| code.starts_with("apt install ./")).expect("how to install");
    let folder = tempfile::tempdir().expect("a folder");
    let shell = |line: &str| {
        let output = Command::new("sh").args(["-c", line]).current_dir(folder.path()).output().expect("sh starts");
        String::from_utf8_lossy(&output.stdout).trim().to_string()
    };
    let own = shell("dpkg --print-architecture");
    std::fs::create_dir_all(folder.path().join(place)).expect("a folder");
    for (name, architecture) in [("surefoot", &*own), ("surefoot", "other"), ("surefoot-pdf", &*own)] {
        let package = format!("{name}_1.0.0_{architecture}.deb");
        std::fs::write(folder.path().join(place).join(package), "").expect("a file");
    }
    let installed = shell(&command.replacen("apt install", "echo", 1));
    assert_eq!(installed, format!("./{place}/surefoot_1.0.0_{own}.deb"));
}

#[test]
fn the_log_of_changes_has_this_version() {
    let heading = format!("\n## {} - 20", env!("CARGO_PKG_VERSION"));
    assert!(read(&root().join("CHANGELOG.md")).contains(&heading), "no `{}` in CHANGELOG.md", heading.trim());
}
