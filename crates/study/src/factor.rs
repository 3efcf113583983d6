//! What is varied: factors, their levels, and the settings each level makes.

use crate::document::{Content, Entry, Node};
use crate::own_settings::{CPUS, TOP};
use crate::problem::Problem;
use crate::Catalogue;
use serde_json::Value;
use settings::Setting;
use std::ops::Range;

/// The first words of paths that may be factors.
const ROOTS: &[&str] = &["storage", "workload", "memory", "cpus", "bench"];

/// A factor.
#[derive(Debug, Clone, PartialEq)]
pub struct Factor {
    /// A setting's path, or a name of the user's own.
    pub name: String,
    /// Its levels, at least one.
    pub levels: Vec<Level>,
    /// Where its name stands.
    pub span: Option<Range<usize>>,
    /// Whether its levels are named groups of settings.
    pub named: bool,
}

/// A level.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// What it is called in labels.
    pub label: String,
    /// The settings it makes: path and checked value.
    pub settings: Vec<(String, Value)>,
}

impl Factor {
    /// Whether it varies anything for this workload.
    pub fn concerns(&self, workload: &str) -> bool {
        let mut settings = self.levels.iter().flat_map(|level| &level.settings).peekable();
        settings.peek().is_none()
            || settings.any(|(path, _)| {
                path.strip_prefix("workload.").is_none_or(|rest| rest.split('.').next() == Some(workload))
            })
    }
}

/// `[factors]` with dotted keys, nested or quoted, made flat: (name, where, levels), in the order of the text.
pub fn flatten(factors: &Node) -> Vec<(String, Option<Range<usize>>, Node)> {
    let mut flat = Vec::new();
    for entry in factors.entries() {
        let root = entry.key.split('.').next().unwrap_or_default();
        if ROOTS.contains(&root) {
            flatten_path(&entry.key, entry, &mut flat);
        } else {
            flat.push((entry.key.clone(), entry.span.clone(), entry.node.clone()));
        }
    }
    flat
}

fn flatten_path(path: &str, entry: &Entry, flat: &mut Vec<(String, Option<Range<usize>>, Node)>) {
    match &entry.node.content {
        Content::Table(entries) => {
            for inner in entries {
                flatten_path(&format!("{path}.{}", inner.key), inner, flat);
            }
        }
        _ => flat.push((path.to_string(), entry.span.clone(), entry.node.clone())),
    }
}

/// Checks one factor; every problem at once.
pub fn check(
    name: &str,
    span: Option<Range<usize>>,
    node: &Node,
    catalogue: &dyn Catalogue,
    problems: &mut Vec<Problem>,
) -> Option<Factor> {
    let before = problems.len();
    let named = !ROOTS.contains(&name.split('.').next().unwrap_or_default());
    let levels = match (&node.content, named) {
        (Content::List(nodes), false) => path_levels(name, nodes, span.clone(), catalogue, problems),
        (Content::Table(entries), true) => {
            entries.iter().map(|entry| named_level(entry, catalogue, problems)).collect()
        }
        (_, false) => {
            let label = format!("a list of levels, like {name:?} = [\"a\", \"b\"]");
            problems.push(Problem::new(format!("the factor `{name}` has no list of levels"), node.span.clone(), label));
            return None;
        }
        (_, true) => {
            let message = format!("`{name}` is neither a setting's path nor a factor with named levels");
            let hint = ROOTS.contains(&name).then(|| "write the whole path".to_string());
            let label = "a path begins with storage, workload, memory, cpus or bench; named levels are tables of settings";
            problems.push(Problem::new(message, span, label).hint(hint));
            return None;
        }
    };
    if levels.is_empty() && problems.len() == before {
        problems.push(Problem::new(format!("the factor `{name}` has no levels"), node.span.clone(), "at least one level"));
    }
    for (index, level) in levels.iter().enumerate() {
        if levels[..index].iter().any(|earlier| earlier.label == level.label) {
            let message = format!("the factor `{name}` has the level `{}` twice", level.label);
            problems.push(Problem::new(message, node.span.clone(), "each level once"));
        }
    }
    (problems.len() == before).then(|| Factor { name: name.to_string(), levels, span, named })
}

fn path_levels(
    path: &str,
    nodes: &[Node],
    span: Option<Range<usize>>,
    catalogue: &dyn Catalogue,
    problems: &mut Vec<Problem>,
) -> Vec<Level> {
    let Some(setting) = setting_at(path, span, catalogue, problems) else { return Vec::new() };
    let mut levels = Vec::new();
    for node in nodes {
        let written = node.json();
        match setting.check(&written) {
            Ok(value) => levels.push(Level { label: label(path, &written), settings: vec![(path.to_string(), value)] }),
            Err(wrong) => problems.push(Problem::wrong_value(path, &wrong, node.span.clone())),
        }
    }
    levels
}

fn named_level(entry: &Entry, catalogue: &dyn Catalogue, problems: &mut Vec<Problem>) -> Level {
    let mut level = Level { label: entry.key.clone(), settings: Vec::new() };
    if !matches!(entry.node.content, Content::Table(_)) {
        let message = format!("the level `{}` is not a table of settings", entry.key);
        let label = "like { \"storage.filesystem\" = \"ext4\" }";
        problems.push(Problem::new(message, entry.node.span.clone(), label));
        return level;
    }
    let mut flat = Vec::new();
    for inner in entry.node.entries() {
        flatten_path(&inner.key, inner, &mut flat);
    }
    for (path, span, node) in flat {
        let Some(setting) = setting_at(&path, span, catalogue, problems) else { continue };
        match setting.check(&node.json()) {
            Ok(value) => level.settings.push((path, value)),
            Err(wrong) => problems.push(Problem::wrong_value(&path, &wrong, node.span)),
        }
    }
    level
}

/// The setting at a path, or a problem that names the nearest.
pub fn setting_at(
    path: &str,
    span: Option<Range<usize>>,
    catalogue: &dyn Catalogue,
    problems: &mut Vec<Problem>,
) -> Option<&'static Setting> {
    let words: Vec<&str> = path.split('.').collect();
    let (of, name, settings): (String, &str, Vec<&'static Setting>) = match words[..] {
        ["storage", name] => ("`storage`".into(), name, catalogue.storage().iter().collect()),
        ["cpus", name] => ("`cpus`".into(), name, CPUS.iter().collect()),
        ["workload", workload, name] => match catalogue.workload(workload) {
            Some(settings) => (format!("`workload.{workload}`"), name, settings.iter().collect()),
            None => {
                problems.push(Problem::unknown_key(workload, "`workload`", &catalogue.workloads(), span));
                return None;
            }
        },
        [name] => ("a study that can be varied".into(), name, TOP.iter().filter(|s| ROOTS.contains(&s.name)).collect()),
        _ => {
            let label = "a path is like storage.filesystem, workload.oltp.threads, memory or cpus.client";
            problems.push(Problem::new(format!("`{path}` is not a setting's path"), span, label));
            return None;
        }
    };
    let found = settings.iter().find(|setting| setting.name == name).copied();
    if found.is_none() {
        let known: Vec<&str> = settings.iter().map(|setting| setting.name).collect();
        problems.push(Problem::unknown_key(name, &of, &known, span));
    }
    found
}

/// A level's label: words stand for themselves, numbers and sizes carry their setting's name.
pub fn label(path: &str, value: &Value) -> String {
    let name = path.rsplit('.').next().unwrap_or(path);
    match value {
        Value::String(text) if text.is_empty() => format!("{name}=none"),
        Value::String(text) if text.starts_with(|c: char| c.is_ascii_digit()) => format!("{name}={text}"),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => format!("{name}=none"),
        Value::Array(items) => items.iter().map(word).collect::<Vec<_>>().join(" "),
        other => format!("{name}={}", word(other)),
    }
}

fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}
