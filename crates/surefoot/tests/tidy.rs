//! The house's own rules, as tests: import direction, function length, no leftovers; what documents say is `tidy/documents.rs`.

#[path = "tidy/documents.rs"]
mod documents;

#[path = "tidy/kinds.rs"]
mod kinds;

#[path = "tidy/circles.rs"]
mod circles;

#[path = "tidy/packages.rs"]
mod packages;

#[path = "tidy/claims.rs"]
mod claims;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Which of our crates each crate may import: the direction of ARCHITECTURE.md.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("settings", &[]),
    ("random", &[]),
    ("study", &["settings", "random"]),
    ("stats", &["random"]),
    ("observe", &[]),
    ("storage", &["settings", "random", "observe"]),
    ("guest", &[]),
    ("powercut", &["random", "observe"]),
    ("wire", &[]),
    ("pdf", &[]),
    ("http", &[]),
    ("fuzz", &["random"]),
    ("goals", &["stats"]),
    ("services", &["settings", "observe", "wire"]),
    ("sandbox", &["settings", "services"]),
    ("load", &["settings", "random", "observe", "wire", "http", "sqllog"]),
    ("sites", &["load", "random", "settings", "observe", "wire", "http"]),
    ("script", &["random"]),
    ("sqllog", &["script"]),
    ("sqlbench", &["load", "random", "settings", "observe", "wire"]),
    ("workloads", &["load", "script", "sqllog", "sites", "sqlbench", "random", "settings", "observe", "wire", "http"]),
    ("agent", &["load", "workloads", "observe", "settings"]),
    (
        "crash",
        &[
            "random",
            "study",
            "guest",
            "powercut",
            "storage",
            "services",
            "sandbox",
            "load",
            "workloads",
            "observe",
            "settings",
        ],
    ),
    ("ledger", &["observe"]),
    ("analysis", &["ledger", "observe", "stats", "settings"]),
    ("report", &["analysis", "ledger", "observe", "stats", "settings"]),
    (
        "lab",
        &[
            "agent",
            "study",
            "sandbox",
            "crash",
            "guest",
            "powercut",
            "storage",
            "services",
            "load",
            "workloads",
            "observe",
            "ledger",
            "analysis",
            "stats",
            "settings",
        ],
    ),
    (
        "surefoot",
        &[
            "agent",
            "lab",
            "crash",
            "sandbox",
            "guest",
            "powercut",
            "study",
            "storage",
            "services",
            "load",
            "workloads",
            "observe",
            "ledger",
            "stats",
            "report",
            "settings",
            "http",
            "sqllog",
            "wire",
        ],
    ),
];

/// What benchmarks and tests may import beside that: what keeps a benchmark's goals, and what makes hostile inputs.
const MAY_IMPORT_IN_TESTS: &[&str] = &["goals", "fuzz", "random"];

/// A foreign language is spoken in one crate only.
const ONLY_IN: &[(&str, &[&str])] = &[
    ("clap", &["surefoot"]),
    ("toml", &["study"]),
    ("anyhow", &["surefoot"]),
    ("rusqlite", &["ledger", "load", "sites", "sqlbench", "workloads"]),
    ("statrs", &["stats"]),
    ("typst", &["pdf"]),
];

const FUNCTION_LINES_MAX: usize = 70;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace is there")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// `[dependencies]` of each crate, or its `[dev-dependencies]`.
fn dependencies(table: &str) -> BTreeMap<String, Vec<String>> {
    let mut all = BTreeMap::new();
    for entry in root().join("crates").read_dir().expect("crates/ is there") {
        let folder = entry.expect("an entry").path();
        let manifest = read(&folder.join("Cargo.toml"));
        let section = manifest.split(&format!("\n[{table}]\n")).nth(1).unwrap_or_default();
        let section = section.split("\n[").next().unwrap_or_default();
        let names = section.lines().filter_map(|line| line.split(['.', ' ', '=']).next()).map(str::trim);
        let names = names.filter(|name| !name.is_empty() && !name.starts_with('#')).map(str::to_string).collect();
        all.insert(folder.file_name().expect("a name").to_string_lossy().into_owned(), names);
    }
    all
}

fn sources() -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in folder.read_dir().expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&root().join("crates"), &mut found);
    found
}

#[test]
fn imports_point_one_way() {
    let (dependencies, in_tests) = (dependencies("dependencies"), dependencies("dev-dependencies"));
    assert_eq!(dependencies.len(), MAY_IMPORT.len(), "every crate has its row in MAY_IMPORT");
    assert!(in_tests["http"].contains(&"goals".into()), "{in_tests:?}");
    let is_ours = |name: &&String| dependencies.contains_key(*name);
    for (name, allowed) in MAY_IMPORT {
        for dependency in dependencies[*name].iter().filter(is_ours) {
            assert!(allowed.contains(&dependency.as_str()), "{name} imports {dependency}");
        }
        for dependency in in_tests[*name].iter().filter(is_ours) {
            let may = allowed.contains(&dependency.as_str()) || MAY_IMPORT_IN_TESTS.contains(&dependency.as_str());
            assert!(may, "tests of {name} import {dependency}");
        }
    }
}

#[test]
fn foreign_languages_stay_in_their_rooms() {
    for (name, dependencies) in dependencies("dependencies") {
        for (language, rooms) in ONLY_IN {
            assert!(!dependencies.iter().any(|d| d == language) || rooms.contains(&&*name), "{name} speaks {language}");
        }
    }
}

#[test]
fn functions_are_short() {
    let mut long = Vec::new();
    for path in sources() {
        let text = read(&path);
        let mut open: Option<(usize, String)> = None;
        for (number, line) in text.lines().enumerate() {
            let indent: String = line.chars().take_while(|c| *c == ' ').collect();
            let starts = [
                "fn ",
                "pub fn ",
                "pub(crate) fn ",
                "pub(super) fn ",
                "unsafe fn ",
                "pub const fn ",
                "extern \"C\" fn ",
            ];
            if open.is_none() && starts.iter().any(|start| line.trim_start().starts_with(start)) {
                open = Some((number, indent));
            } else if let Some((start, indent)) = &open
                && line == format!("{indent}}}")
            {
                if number - start > FUNCTION_LINES_MAX + 1 {
                    long.push(format!("{}:{}: {} lines", path.display(), start + 1, number - start + 1));
                }
                open = None;
            }
            if open.as_ref().is_some_and(|(start, _)| *start == number) && (line.ends_with(';') || line.ends_with('}'))
            {
                open = None;
            }
        }
    }
    assert!(long.is_empty(), "functions over {FUNCTION_LINES_MAX} lines:\n{}", long.join("\n"));
}

#[test]
fn architecture_has_every_crate() {
    let text = read(&root().join("ARCHITECTURE.md"));
    for name in dependencies("dependencies").keys() {
        assert!(text.contains(&format!("\n| `crates/{name}` |")), "ARCHITECTURE.md has no row for crates/{name}");
    }
}

#[test]
fn every_file_says_what_it_is() {
    for path in sources() {
        assert!(read(&path).starts_with("//! "), "{} does not begin with //!", path.display());
    }
}

#[test]
fn no_file_is_dead() {
    // Cargo finds a build script beside the manifest by itself.
    for path in sources() {
        let relative = path.strip_prefix(root()).expect("inside the workspace").to_string_lossy().into_owned();
        let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
        if ["lib", "main", "tidy", "mod"].contains(&&*stem)
            || relative.contains("/benches/")
            || relative.contains("/bin/")
            || path.with_file_name("Cargo.toml").is_file()
        {
            continue;
        }
        let folder = path.parent().expect("a folder");
        let mut parents =
            vec![folder.join("lib.rs"), folder.join("main.rs"), folder.join("mod.rs"), folder.with_extension("rs")];
        parents.retain(|parent| parent.is_file());
        let declared = parents.iter().any(|parent| {
            read(parent).lines().any(|line| {
                let line = line.trim();
                [format!("mod {stem};"), format!("pub mod {stem};"), format!("pub(crate) mod {stem};")]
                    .contains(&line.to_string())
            })
        });
        // What stands in for a file on another system is named by its path.
        let file = path.file_name().expect("a name").to_string_lossy();
        let named = parents.iter().any(|parent| {
            let text = read(parent);
            text.contains(&format!("/{file}\")]")) || text.contains(&format!("\"{file}\")]"))
        });
        let is_test_root = folder.ends_with("tests");
        assert!(declared || named || is_test_root, "{relative} is declared nowhere");
    }
}

#[test]
fn nothing_is_left_for_later() {
    let words = [
        ["TO", "DO"].concat(),
        ["FIX", "ME"].concat(),
        ["todo", "!("].concat(),
        ["unimplemented", "!("].concat(),
        ["#[ig", "nore"].concat(),
    ];
    for path in sources() {
        let text = read(&path);
        for word in &words {
            assert!(!text.contains(word.as_str()), "{} contains {word}", path.display());
        }
    }
}
