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

#[test]
fn the_log_of_changes_has_this_version() {
    let heading = format!("\n## {} - 20", env!("CARGO_PKG_VERSION"));
    assert!(read(&root().join("CHANGELOG.md")).contains(&heading), "no `{}` in CHANGELOG.md", heading.trim());
}
