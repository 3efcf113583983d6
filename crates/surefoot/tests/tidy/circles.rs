//! Within a crate files may import each other by two at most: of a longer circle none can be read, or moved, without all others.

use crate::{read, root, sources};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;

/// A file's path of modules.
type Module = Vec<String>;

#[test]
fn no_circle_of_imports_is_longer_than_two() {
    let mut found = String::new();
    for entry in root().join("crates").read_dir().expect("crates/ is there") {
        let folder = entry.expect("an entry").path();
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        for circle in circles(&imports(&folder.join("src"))) {
            found.push_str(&format!("\n{name}: {}", circle.join(" → ")));
        }
    }
    assert_eq!(found, "");
}

#[test]
fn imports_are_read_as_rust_reads_them() {
    let text = "use crate::{a::B, c::{self, d::E}};\n// crate::x\nuse super::f;\nlet g = crate::g::h();\n#[cfg(test)]\nmod tests { use crate::t; }";
    let paths: Vec<String> = paths(text).iter().map(|path| path.join("::")).collect();
    assert_eq!(paths, ["crate::a::B", "crate::c::self", "crate::c::d::E", "super::f", "crate::g::h"]);
    let arrow =
        |from: &str, to: &[&str]| (vec![from.to_string()], to.iter().map(|to| vec![(*to).to_string()]).collect());
    let pair: BTreeMap<Module, BTreeSet<Module>> = [arrow("a", &["b"]), arrow("b", &["a"])].into();
    assert!(circles(&pair).is_empty());
    let three = [arrow("a", &["b"]), arrow("b", &["c", "a"]), arrow("c", &["a"])].into();
    assert_eq!(circles(&three), [["a", "b", "c", "a"]]);
}

/// Which files import which, in a crate.
fn imports(folder: &Path) -> BTreeMap<Module, BTreeSet<Module>> {
    let module = |path: &Path| -> Option<Module> {
        let inside = path.strip_prefix(folder).ok()?.with_extension("");
        let names: Module = inside.iter().map(|name| name.to_string_lossy().into_owned()).collect();
        Some(if names == ["lib"] || names == ["main"] { Module::new() } else { names })
    };
    let files: BTreeMap<Module, String> =
        sources().iter().filter_map(|path| Some((module(path)?, read(path)))).collect();
    let of_file = |(module, text): (&Module, &String)| {
        let found = paths(text).into_iter().filter_map(|path| resolved(&path, module, &files));
        (module.clone(), found.filter(|other| other != module).collect())
    };
    files.iter().map(of_file).collect()
}

/// The file that a path leads to.
fn resolved(path: &[String], from: &Module, files: &BTreeMap<Module, String>) -> Option<Module> {
    let mut module = from.clone();
    for name in path {
        match name.as_str() {
            "crate" => module.clear(),
            "super" => drop(module.pop()),
            "self" => {}
            name => module.push(name.into()),
        }
    }
    while !files.contains_key(&module) {
        module.pop()?;
    }
    Some(module)
}

/// All paths that begin in the own crate, outside of comments and of tests at the file's end.
fn paths(text: &str) -> Vec<Vec<String>> {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code: String =
        text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n");
    let mut found = Vec::new();
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start) {
            let is_inside = |c: char| c.is_alphanumeric() || "_:$".contains(c);
            if !code[..at].ends_with(is_inside) {
                found.push((at, start));
            }
        }
    }
    found.sort_unstable();
    let mut all = Vec::new();
    found.into_iter().for_each(|(at, _)| spread(&code[at..], &[], &mut all));
    all
}

/// A path, or each of those in its braces.
fn spread(text: &str, before: &[String], all: &mut Vec<Vec<String>>) {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let path: Vec<String> = before.iter().cloned().chain((!name.is_empty()).then(|| name.to_string())).collect();
    match rest.strip_prefix("::").or(if name.is_empty() { Some(rest) } else { None }) {
        Some(inner) if inner.starts_with('{') => items(inner).iter().for_each(|item| spread(item, &path, all)),
        Some(inner) if !name.is_empty() => spread(inner, &path, all),
        _ => all.push(path),
    }
}

/// What stands between these braces, comma by comma.
fn items(text: &str) -> Vec<&str> {
    let (mut depth, mut begin, mut found) = (0, 1, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => {
                found.push(&text[begin..at]);
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 1 => {
                found.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    found.retain(|item| !item.trim().is_empty());
    found
}

/// Circles of more than two files; of those that share files not every one.
fn circles(imports: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<Vec<String>> {
    let mut seen: BTreeSet<&Module> = BTreeSet::new();
    let mut found = Vec::new();
    for (from, others) in imports {
        for to in others.iter().filter(|to| !seen.contains(from) && !seen.contains(to)).collect::<Vec<_>>() {
            if let Some(way) = way_back(imports, to, from) {
                seen.extend(&way);
                let all = std::iter::once(from).chain(way);
                found.push(all.map(|module| if module.is_empty() { "lib".into() } else { module.join("/") }).collect());
            }
        }
    }
    found
}

/// From one file to another that imports it, other than at once.
fn way_back<'a>(
    imports: &'a BTreeMap<Module, BTreeSet<Module>>,
    from: &'a Module,
    to: &'a Module,
) -> Option<Vec<&'a Module>> {
    let mut ways = VecDeque::from([vec![from]]);
    let mut met = BTreeSet::from([from]);
    while let Some(way) = ways.pop_front() {
        for next in imports.get(*way.last()?).into_iter().flatten() {
            if next == to && way.len() > 1 {
                return Some(way.into_iter().chain([next]).collect());
            }
            if next != to && met.insert(next) {
                ways.push_back(way.iter().copied().chain([next]).collect());
            }
        }
    }
    None
}
