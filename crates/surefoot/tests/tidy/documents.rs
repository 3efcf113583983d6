//! What the documents name is there: files, verbs and their options, settings, targets of make, benchmarks; and their studies can be planned.

use crate::{read, root};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// All that is written for users and for those who change the code, but the log of changes, which names what is gone.
pub fn documents() -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"].map(|name| root().join(name)).into();
    all.retain(|path| path.exists());
    for folder in ["docs", "docs/results"] {
        let entries = root().join(folder).read_dir().expect("a folder").map(|entry| entry.expect("an entry").path());
        all.extend(entries.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    }
    assert!(all.len() > 10, "{all:?}");
    all
}

/// Code of a document: where it stands, its language, and its text.
struct Code {
    place: String,
    /// Of a block; none where it stands in a line.
    language: Option<String>,
    text: String,
}

fn code(document: &Path) -> Vec<Code> {
    let name = document.strip_prefix(root()).expect("a document of ours").display().to_string();
    let text = read(document);
    let mut found = Vec::new();
    let mut block: Option<Code> = None;
    let mut prose = String::new();
    for (number, line) in text.lines().enumerate() {
        let place = format!("{name}:{}", number + 1);
        match (line.strip_prefix("```"), block.take()) {
            (Some(_), Some(open)) => found.push(open),
            (Some(language), None) => {
                block = Some(Code { place, language: Some(language.trim().into()), text: String::new() });
            }
            (None, Some(mut open)) => {
                open.text.push_str(line);
                open.text.push('\n');
                block = Some(open);
            }
            (None, None) => {
                prose.push_str(line);
                prose.push('\n');
            }
        }
    }
    assert!(block.is_none(), "{name}: a block has no end");
    // A span may go on in the next line.
    let spans = prose.split('`').skip(1).step_by(2);
    found.extend(spans.map(|span| Code { place: name.clone(), language: None, text: span.replace('\n', " ") }));
    found
}

/// Lines of blocks that are no study, and code within lines.
fn lines() -> Vec<(String, String)> {
    let all = documents().into_iter().flat_map(|document| code(&document));
    let all = all.filter(|code| code.language.as_deref() != Some("toml"));
    all.flat_map(|code| code.text.lines().map(|line| (code.place.clone(), line.trim().to_string())).collect::<Vec<_>>())
        .collect()
}

fn surefoot(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_surefoot")).args(arguments).current_dir(folder).output().expect("surefoot starts")
}

#[test]
fn files_are_there() {
    let mut checked = 0;
    for document in documents() {
        let text = read(&document);
        let folder = document.parent().expect("a folder");
        for word in text.split(|c: char| c.is_whitespace() || "`()[],;→|".contains(c)) {
            let word = word.trim_end_matches(['.', ':']);
            let word = word.split(['#', ':']).next().unwrap_or_default();
            if ["crates/", "studies/", "docs/"].iter().any(|start| word.starts_with(start)) {
                checked += 1;
                assert!(root().join(word).exists(), "{} names {word}, which is not there", document.display());
            }
        }
        for link in text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()) {
            let is_ours = !link.is_empty() && !link.contains("://");
            assert!(!is_ours || folder.join(link).exists(), "{} leads to {link}", document.display());
        }
    }
    assert!(checked > 100, "{checked} paths");
}

/// The options of each verb, by its help.
#[derive(Default)]
struct Verbs(BTreeMap<String, Option<BTreeSet<String>>>);

impl Verbs {
    fn options(&mut self, verb: &str) -> Option<&BTreeSet<String>> {
        let ask = || {
            // One verb has verbs of its own.
            let words: Vec<&str> = verb.split(' ').chain(["--help"]).collect();
            let said = surefoot(&words, Path::new("/"));
            said.status.success().then(|| options_in(&String::from_utf8_lossy(&said.stdout)))
        };
        self.0.entry(verb.to_string()).or_insert_with(ask).as_ref()
    }
}

fn options_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_lowercase() && c != '-');
    words.filter(|word| word.starts_with("--") && word.len() > 2).map(str::to_string).collect()
}

/// The verbs that a help lists.
fn listed(words: &[&str]) -> Vec<String> {
    let help = surefoot(words, Path::new("/"));
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    let listed = help.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1);
    // What is indented further goes on with the line before.
    let listed = listed.filter(|line| !line.starts_with("   "));
    listed
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_string)
        .collect()
}

#[test]
fn verbs_and_options_exist() {
    let listed = listed(&["--help"]);
    assert!(listed.contains(&"run".to_string()), "{listed:?}");
    let of_fleet = self::listed(&["fleet", "--help"]).into_iter().map(|verb| format!("fleet {verb}"));
    let (mut verbs, mut checked) = (Verbs::default(), 0);
    let mut all: BTreeSet<String> = options_in("--help --version");
    for verb in listed.iter().cloned().chain(of_fleet) {
        all.extend(verbs.options(&verb).expect("a verb that is listed").iter().cloned());
    }
    for (place, line) in lines() {
        let (verb, known) = match line.strip_prefix("surefoot ").or_else(|| line.strip_prefix("$ surefoot ")) {
            None if line.starts_with("--") => ("", Some(&all)),
            None => continue,
            Some(rest) if rest.starts_with('-') => ("", Some(&all)),
            Some(rest) => {
                let mut words = rest.split_whitespace();
                let first = words.next().unwrap_or_default().trim_end_matches(':');
                let own = words.next().filter(|word| first == "fleet" && word.chars().all(|c| c.is_ascii_lowercase()));
                let whole = own.map(|own| format!("{first} {own}"));
                (first, verbs.options(whole.as_deref().unwrap_or(first)))
            }
        };
        let known = known.unwrap_or_else(|| panic!("{place}: `{line}`: surefoot has no verb {verb:?}"));
        // Behind a bar stands another program.
        for option in options_in(line.split(" | ").next().unwrap_or_default()) {
            checked += 1;
            assert!(known.contains(&option), "{place}: `{line}`: `surefoot {verb}` has no {option}");
        }
    }
    assert!(checked > 30, "{checked} options");
}

#[test]
fn settings_exist() {
    let schema = surefoot(&["schema"], Path::new("/"));
    let schema: Value = serde_json::from_slice(&schema.stdout).expect("a schema is JSON");
    let mut known = BTreeSet::new();
    paths(&schema, "", &mut known);
    let is_known = |path: &str| {
        let free = |free: &&String| path.starts_with(&format!("{free}.")) && free.ends_with(".settings");
        known.contains(path)
            || known.iter().any(|one| one.starts_with(&format!("{path}.")))
            || known.iter().find(free).is_some()
    };
    assert!(is_known("storage.filesystem") && is_known("workload.oltp") && !is_known("storage.filesytem"), "{known:?}");
    let mut checked = 0;
    for (place, line) in lines() {
        for path in settings_in(&line) {
            checked += 1;
            assert!(is_known(&path), "{place}: `{line}`: {path} is not a setting");
        }
    }
    assert!(checked > 40, "{checked} settings");
}

/// Every table and setting of a schema, by its dotted path.
fn paths(schema: &Value, before: &str, found: &mut BTreeSet<String>) {
    let inside = if schema["items"].is_object() { &schema["items"] } else { schema };
    for (name, inner) in inside["properties"].as_object().into_iter().flatten() {
        // The paths of factors are those of the settings themselves.
        if before.is_empty() && name == "factors" {
            found.insert(name.clone());
            continue;
        }
        let path = if before.is_empty() { name.clone() } else { format!("{before}.{name}") };
        paths(inner, &path, found);
        found.insert(path);
    }
}

/// Paths in a line of code: `storage.fill`, `--set storage.size=1GiB`, `[design] probe = "2s"`.
fn settings_in(line: &str) -> Vec<String> {
    let roots = ["storage.", "workload.", "service.", "design.", "safety.", "guest."];
    let words = line.split(|c: char| c.is_whitespace() || "=\"',".contains(c));
    let named = words.filter(|word| roots.iter().any(|root| word.starts_with(root)) && !word.ends_with(['.', ':']));
    let mut found: Vec<String> = named.filter(|word| !word.contains(['/', '(', ':'])).map(str::to_string).collect();
    if let Some((table, rest)) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let table = table.trim_matches('[').to_string();
        if !table.starts_with("table") && table.chars().all(|c| c.is_ascii_lowercase() || "-._".contains(c)) {
            if let Some((key, _)) = rest.split_once('=') {
                found.push(format!("{table}.{}", key.trim()));
            }
            found.push(table);
        }
    }
    found
}

/// The studies that documents show are taken as they stand, with what they leave out put in.
#[test]
fn studies_can_be_planned() {
    let folder = tempfile::tempdir().expect("a folder");
    // Files that they name.
    for script in ["order.sql", "history.sql"] {
        std::fs::copy(root().join("studies/shop").join(script), folder.path().join(script)).expect("a script");
    }
    std::fs::write(folder.path().join("shop.dump"), "PGDMP").expect("a file");
    let visit = "127.0.0.1 - - [24/Nov/2026:10:00:00 +0000] \"GET / HTTP/1.1\" 200 512\n";
    std::fs::write(folder.path().join("access.log"), visit).expect("a file");
    let line = "2026-11-24 10:00:00.001 UTC [11] LOG:  statement: SELECT 1\n";
    std::fs::write(folder.path().join("postgresql-15-main.log"), line).expect("a file");
    let mut checked = 0;
    for code in documents().iter().flat_map(|document| code(document)) {
        if code.language.as_deref() != Some("toml") {
            continue;
        }
        let has = |text: &str| code.text.contains(text);
        let name = if has("name = ") { "" } else { "name = \"shown\"\n" };
        let workload = if has("[workload.") { "" } else { "[workload.oltp]\n" };
        std::fs::write(folder.path().join("shown.toml"), format!("{name}{}{workload}", code.text)).expect("a file");
        let said = surefoot(&["plan", "shown.toml"], folder.path());
        // 5: something is missing on this machine.
        assert!(
            matches!(said.status.code(), Some(0 | 5)),
            "{}: {}{}",
            code.place,
            code.text,
            String::from_utf8_lossy(&said.stderr)
        );
        checked += 1;
    }
    assert!(checked >= 6, "{checked} studies");
}

/// The studies of `studies`, as `surefoot run` takes them, with their texts.
fn studies() -> Vec<(String, String)> {
    let entries = root().join("studies").read_dir().expect("the studies").map(|entry| entry.expect("an entry").path());
    let named = entries.map(|path| {
        let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() {
            (format!("studies/{stem}/study.toml"), read(&path.join("study.toml")))
        } else {
            (stem, read(&path))
        }
    });
    named.collect()
}

/// What the comments of a study say of how else it may be run: lines that begin so, and commands and changes in backticks.
fn ways(study: &str, text: &str) -> Vec<String> {
    let comments: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix('#')).map(str::trim).collect();
    // A line that ends with a backslash goes on in the next.
    let lines = comments.join("\n").replace("\\\n", "");
    let commands = lines.lines().filter(|line| line.starts_with("surefoot run ")).map(str::to_string);
    let prose = comments.join(" ");
    let spans = prose.split('`').skip(1).step_by(2);
    let spans = spans.filter_map(|span| match span {
        span if span.starts_with("surefoot run ") => Some(span.to_string()),
        span if span.starts_with("--") && span.contains("--set ") => Some(format!("surefoot run {study} {span}")),
        _ => None,
    });
    commands.chain(spans).collect()
}

/// Each as it stands, with data that its filesystem holds. What this machine lacks is not asked for.
#[test]
fn what_studies_say_of_themselves_can_be_planned() {
    let folder = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::symlink(root().join("studies"), folder.path().join("studies")).expect("a link");
    std::fs::write(folder.path().join("source.tar.xz"), "").expect("an archive");
    let entries = || folder.path().read_dir().expect("the folder").count();
    let (before, mut checked) = (entries(), 0);
    for (study, text) in studies() {
        for way in std::iter::once(format!("surefoot run {study}")).chain(ways(&study, &text)) {
            let plan =
                way.replacen("surefoot run ", "plan ", 1).replace(" --skip-missing", "").replace("/path/to/", "");
            // Their quotes are a shell's.
            let line = format!("{} {plan}", env!("CARGO_BIN_EXE_surefoot"));
            let said = Command::new("sh").args(["-c", &line]).current_dir(folder.path()).output().expect("sh starts");
            let (plan, errors) = (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
            assert!(said.status.success(), "{study}: `{way}`: {errors}");
            let scenarios =
                plan.split_once("scenarios (").and_then(|(_, rest)| rest.split(')').next()?.parse::<u32>().ok());
            assert!(scenarios.is_some_and(|scenarios| scenarios > 0), "{study}: `{way}`: {plan}");
            assert!(!plan.contains("does not hold"), "{study}: `{way}`: {plan}");
            checked += 1;
        }
    }
    assert!(checked > 45, "{checked} commands");
    assert_eq!(entries(), before, "plan touches nothing");
}

#[test]
fn targets_and_benchmarks_exist() {
    let makefile = read(&root().join("Makefile"));
    let benchmarks: BTreeSet<String> = crate::sources()
        .iter()
        .filter(|path| path.parent().is_some_and(|folder| folder.ends_with("benches")))
        .filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned()))
        .collect();
    let mut checked = 0;
    for (place, line) in lines() {
        if let Some(rest) = line.strip_prefix("make ") {
            let targets = rest.split('#').next().unwrap_or_default();
            for target in targets.split_whitespace().filter(|word| !word.contains('=')) {
                checked += 1;
                assert!(makefile.contains(&format!("\n{target}:")), "{place}: `{line}`: no target {target}");
            }
        }
        for benchmark in line.split("--bench ").skip(1).filter_map(|rest| rest.split_whitespace().next()) {
            checked += 1;
            assert!(benchmarks.contains(benchmark), "{place}: `{line}`: no benchmark {benchmark}");
        }
    }
    assert!(checked > 10, "{checked} targets and benchmarks");
}

/// Each runs in `make test`, with small inputs.
#[test]
fn every_benchmark_is_a_test_too() {
    for path in crate::sources().iter().filter(|path| path.parent().is_some_and(|folder| folder.ends_with("benches"))) {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let manifest = read(&path.ancestors().nth(2).expect("a crate").join("Cargo.toml"));
        let mut tables = manifest.split("[[bench]]").skip(1);
        let table = tables.find(|table| table.contains(&format!("name = \"{name}\"\n")));
        let table = table.unwrap_or_else(|| panic!("{} is in no manifest", path.display()));
        assert!(table.contains("\ntest = true"), "`cargo test` does not run {}", path.display());
    }
}
