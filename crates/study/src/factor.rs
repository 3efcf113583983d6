//! What is varied: factors, their levels, and the settings each level makes.

use crate::Catalogue;
use crate::document::{Content, Entry, Node};
use crate::own_settings::{CPUS, FREE_TABLES, GUEST, SERVER_SETTING, TOP, VOLUMES};
use crate::problem::{Problem, Span};
use serde_json::Value;
use settings::{Kind, Setting};

/// The first words of paths that may be factors, and how many words a path has.
const ROOTS: &[(&str, usize)] =
    &[("storage", 2), ("service", 3), ("workload", 3), ("memory", 1), ("cpus", 2), ("bench", 1), ("guest", 2)];

/// Longer labels of levels are cut: a scenario's label is a line of a table.
const LABEL_CHARACTERS_MAX: usize = 48;

/// A factor.
#[derive(Debug, Clone, PartialEq)]
pub struct Factor {
    /// A setting's path, or a name of the user's own.
    pub name: String,
    /// Its levels, at least one.
    pub levels: Vec<Level>,
    /// Where its name stands.
    pub span: Span,
    /// Whether its levels are named groups of settings.
    pub named: bool,
}

/// A level.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// What rules know it by: its name, or its checked value.
    pub key: Value,
    /// What it is called in scenarios' labels.
    pub label: String,
    /// The settings it makes: path and checked value.
    pub settings: Vec<(String, Value)>,
    /// Whether only an include names it: it is not combined with all others.
    pub included: bool,
}

impl Factor {
    /// Whether it varies anything for this workload.
    pub fn concerns(&self, workload: &str) -> bool {
        let mut paths = self.paths().peekable();
        paths.peek().is_none()
            || paths
                .any(|path| path.strip_prefix("workload.").is_none_or(|rest| rest.split('.').next() == Some(workload)))
    }

    /// Indices of the levels that are combined with all others.
    pub fn multiplied(&self) -> impl Iterator<Item = usize> {
        self.levels.iter().enumerate().filter(|(_, level)| !level.included).map(|(index, _)| index)
    }

    /// The settings that its levels make.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.levels.iter().flat_map(|level| &level.settings).map(|(path, _)| path.as_str())
    }

    /// Names of its levels, for messages.
    pub fn level_names(&self) -> Vec<&str> {
        self.levels.iter().map(|level| level.label.as_str()).collect()
    }

    /// A level as a part of a scenario's label: where two factors use the same word, it carries its factor's name.
    pub fn said(&self, level: usize, all: &[Factor]) -> String {
        let label = &self.levels[level].label;
        let clash =
            all.iter().any(|other| other.name != self.name && other.levels.iter().any(|level| level.label == *label));
        if clash { with_factor(&self.name, label) } else { label.clone() }
    }

    /// Adds a level that only an include names.
    pub fn include(&mut self, level: Level) -> usize {
        self.levels.push(Level { included: true, ..level });
        settle_labels(&mut self.levels);
        self.levels.len() - 1
    }
}

/// A factor as it is written: its name, where that stands, and what it is set to.
pub type Written = (String, Span, Node);

/// `[factors]` or a rule with dotted keys, nested or quoted, made flat, in the order of the text.
pub fn flatten(table: &Node) -> Vec<Written> {
    let mut flat = Vec::new();
    table.entries().iter().for_each(|entry| flatten_path(&entry.key, entry, &mut flat));
    flat
}

fn flatten_path(path: &str, entry: &Entry, flat: &mut Vec<Written>) {
    match &entry.node.content {
        Content::Table(entries) if path.split('.').count() < words_of_paths_like(path).unwrap_or(0) => {
            entries.iter().for_each(|inner| flatten_path(&format!("{path}.{}", inner.key), inner, flat));
        }
        _ => flat.push((path.to_string(), entry.span.clone(), entry.node.clone())),
    }
}

/// How many words a path has that begins like this; none: it is no path.
fn words_of_paths_like(path: &str) -> Option<usize> {
    let words: Vec<&str> = path.split('.').collect();
    match words[..] {
        ["storage", volume, ..] if VOLUMES.contains(&volume) => Some(3),
        // A server's own setting may have dots in its name.
        ["service", _, table, ..] if FREE_TABLES.contains(&table) => Some(usize::MAX),
        _ => ROOTS.iter().find(|(root, _)| *root == words[0]).map(|(_, words)| *words),
    }
}

/// Whether it begins like a setting's path and not like a name of the user's own.
pub fn is_path(name: &str) -> bool {
    words_of_paths_like(name).is_some()
}

/// Checks one factor; every problem at once.
pub fn check(written: Written, catalogue: &dyn Catalogue, problems: &mut Vec<Problem>) -> Option<Factor> {
    let (name, span, node) = written;
    // It stands in scenarios' labels, on terminals as well.
    if name.contains(char::is_control) {
        let label = "a name in one line, without control characters";
        problems.push(Problem::new(format!("{name:?} can't be a factor's name"), span, label));
        return None;
    }
    let before = problems.len();
    let named = !is_path(&name);
    let mut levels = match (&node.content, named) {
        (Content::List(nodes), false) => path_levels(&name, nodes, span.clone(), catalogue, problems),
        (Content::Table(entries), true) if entries.is_empty() || entries.iter().any(|entry| entry.node.is_table()) => {
            entries.iter().map(|entry| named_level(entry, catalogue, problems)).collect()
        }
        _ => {
            problems.push(shapeless(&name, span, &node, catalogue));
            return None;
        }
    };
    if levels.is_empty() && problems.len() == before {
        let message = format!("the factor `{name}` has no levels");
        problems.push(Problem::new(message, node.span.clone(), "at least one level"));
    }
    settle_labels(&mut levels);
    (problems.len() == before).then_some(Factor { name, levels, span, named })
}

/// The problem of a factor that is neither a path with a list nor a name with a table.
fn shapeless(name: &str, span: Span, node: &Node, catalogue: &dyn Catalogue) -> Problem {
    if name == "workload" {
        let label = "write a table [workload.NAME] for each: every scenario is made for every workload";
        return Problem::new("`workload` is always a factor and has no levels of its own", span, label);
    }
    if is_path(name) {
        let label = format!("a list of levels, like {name:?} = [\"a\", \"b\"]");
        return Problem::new(format!("the factor `{name}` has no list of levels"), node.span.clone(), label);
    }
    let roots: Vec<&str> = ROOTS.iter().map(|root| root.0).collect();
    let near = || settings::nearest_name(name, roots.iter().copied()).map(str::to_string);
    let label = format!("a path begins with {}; named levels are tables of settings", roots.join(", "));
    Problem::new(format!("`{name}` is neither a setting's path nor a factor with named levels"), span, label)
        .hint(whole_path(name, catalogue).or_else(near).map(|path| format!("did you mean `{path}`?")))
}

fn path_levels(
    path: &str,
    nodes: &[Node],
    span: Span,
    catalogue: &dyn Catalogue,
    problems: &mut Vec<Problem>,
) -> Vec<Level> {
    if path == "workload" {
        problems.push(shapeless(path, span, &Node::table(), catalogue));
        return Vec::new();
    }
    let Some(setting) = setting_at(path, span, catalogue, problems) else { return Vec::new() };
    let mut levels: Vec<Level> = Vec::new();
    for node in nodes {
        let Some(level) = path_level(path, setting, node, problems) else {
            let lists = matches!(setting.kind, Kind::TextList | Kind::IntegerList);
            if let Some(problem) = problems.last_mut().filter(|_| lists && !node.json().is_array()) {
                problem.hint = Some("each level is itself a list: [[\"noatime\"], []]".into());
            }
            continue;
        };
        match levels.iter().find(|earlier| earlier.key == level.key) {
            Some(Level { label: earlier, .. }) => {
                let what = match &level.label {
                    label if label == earlier => format!("the level `{label}` twice"),
                    label => format!("one level twice: `{label}` is `{earlier}`"),
                };
                let message = format!("the factor `{path}` has {what}");
                problems.push(Problem::new(message, node.span.clone(), "each level once"));
            }
            None => levels.push(level),
        }
    }
    levels
}

/// One level of a path; none, with a problem, when its setting does not take the value.
pub fn path_level(path: &str, setting: &Setting, node: &Node, problems: &mut Vec<Problem>) -> Option<Level> {
    let key = checked(path, setting, node, problems)?;
    let settings = vec![(path.to_string(), key.clone())];
    Some(Level { key, label: label(path, &node.json()), settings, included: false })
}

/// What is written, as the setting has it; none where it can't have it, and that is said.
pub fn checked(path: &str, setting: &Setting, node: &Node, problems: &mut Vec<Problem>) -> Option<Value> {
    let found = setting.check(&node.json());
    found.map_err(|wrong| problems.push(Problem::wrong_value(path, &wrong, node.span.clone()))).ok()
}

fn named_level(entry: &Entry, catalogue: &dyn Catalogue, problems: &mut Vec<Problem>) -> Level {
    let key = Value::from(entry.key.as_str());
    let mut level = Level { key, label: entry.key.clone(), settings: Vec::new(), included: false };
    if !entry.node.is_table() {
        let message = format!("the level `{}` is not a table of settings", entry.key);
        let label = "like { \"storage.filesystem\" = \"ext4\" }";
        problems.push(Problem::new(message, entry.node.span.clone(), label));
        return level;
    }
    for (path, span, node) in flatten(&entry.node) {
        let Some(setting) = setting_at(&path, span.clone(), catalogue, problems) else { continue };
        if level.settings.iter().any(|known| known.0 == path) {
            let message = format!("the level `{}` sets `{path}` twice", entry.key);
            problems.push(Problem::new(message, span, "each setting once"));
        }
        let value = checked(&path, setting, &node, problems);
        level.settings.extend(value.map(|value| (path, value)));
    }
    level
}

/// The setting at a path, or a problem that names the nearest.
pub fn setting_at(
    path: &str,
    span: Span,
    catalogue: &dyn Catalogue,
    problems: &mut Vec<Problem>,
) -> Option<&'static Setting> {
    let words: Vec<&str> = path.split('.').collect();
    let (of, name, settings): (String, &str, Vec<&'static Setting>) = match words[..] {
        ["storage", name] => ("`storage`".into(), name, catalogue.storage().iter().collect()),
        ["storage", volume, name] if VOLUMES.contains(&volume) => {
            (format!("`storage.{volume}`"), name, catalogue.storage().iter().collect())
        }
        ["service", service, ..] if catalogue.service(service).is_none() => {
            problems.push(Problem::unknown_key(service, "`service`", &catalogue.services(), span));
            return None;
        }
        ["service", service, table, _, ..] if FREE_TABLES.contains(&table) => {
            let known = catalogue.service(service).unwrap_or_default();
            if known.iter().any(|setting| setting.name == table) {
                return Some(&SERVER_SETTING);
            }
            (format!("`service.{service}`"), table, known.iter().collect())
        }
        ["service", service, name] => {
            (format!("`service.{service}`"), name, catalogue.service(service).unwrap_or_default().iter().collect())
        }
        ["cpus", name] => ("`cpus`".into(), name, CPUS.iter().collect()),
        ["guest", name] => ("`guest`".into(), name, GUEST.iter().collect()),
        ["workload", workload, name] => match catalogue.workload(workload) {
            Some(settings) => (format!("`workload.{workload}`"), name, settings.iter().collect()),
            None => {
                problems.push(Problem::unknown_key(workload, "`workload`", &catalogue.workloads(), span));
                return None;
            }
        },
        [name] if !["storage", "service", "workload", "cpus", "guest"].contains(&name) => {
            ("a study that can be varied".into(), name, TOP.iter().filter(|s| is_path(s.name)).collect())
        }
        _ => {
            let label = "a path is like storage.filesystem, workload.oltp.threads, service.postgres.settings.fsync, memory or cpus.client";
            problems.push(Problem::new(format!("`{path}` is not a setting's path"), span, label));
            return None;
        }
    };
    let found = settings.iter().find(|setting| setting.name == name).copied();
    if found.is_none() {
        let known: Vec<&str> = settings.iter().map(|setting| setting.name).collect();
        let mut problem = Problem::unknown_key(name, &of, &known, span);
        if let Some(whole) = whole_path(path, catalogue) {
            problem.hint = Some(format!("did you mean `{whole}`?"));
        }
        problems.push(problem);
    }
    found
}

/// The path that ends with this word: people write `filesystem` for `storage.filesystem`.
pub fn whole_path(word: &str, catalogue: &dyn Catalogue) -> Option<String> {
    all_paths(catalogue).find(|path| path.rsplit_once('.').is_some_and(|(_, last)| last == word))
}

/// Every path that can be varied.
pub fn all_paths(catalogue: &dyn Catalogue) -> impl Iterator<Item = String> {
    let under = |table: String, settings: &'static [Setting]| {
        settings.iter().map(move |setting| format!("{table}.{}", setting.name))
    };
    let top = TOP.iter().filter(|setting| is_path(setting.name)).map(|setting| setting.name.to_string());
    let workloads = catalogue.workloads().into_iter();
    let workloads = workloads.filter_map(|name| Some((format!("workload.{name}"), catalogue.workload(name)?)));
    let services =
        catalogue.services().into_iter().filter_map(|name| Some((format!("service.{name}"), catalogue.service(name)?)));
    let volumes = VOLUMES.iter().map(|name| (format!("storage.{name}"), catalogue.storage()));
    under("storage".into(), catalogue.storage())
        .chain(volumes.chain(services).flat_map(move |(table, settings)| under(table, settings)))
        .chain(workloads.flat_map(move |(table, settings)| under(table, settings)))
        .chain(under("cpus".into(), CPUS))
        .chain(under("guest".into(), GUEST))
        .chain(top)
}

/// What a named level is called where somebody chooses it or rules about it: it may look like a number, and keys are texts.
/// One with a point is none: of 6.10 and 6.1 nobody knows which was written.
pub fn level_name(written: &Value) -> Value {
    match written {
        Value::Number(_) | Value::Bool(_) if !written.is_f64() => Value::from(written.to_string()),
        other => other.clone(),
    }
}

/// A level's label: words stand for themselves, numbers and sizes carry their setting's name.
pub fn label(path: &str, value: &Value) -> String {
    let name = path.rsplit('.').next().unwrap_or(path);
    match value {
        // A server's settings are mostly `on` or `off`, which says nothing alone.
        Value::String(text) if path.starts_with("service.") => format!("{name}={text}"),
        Value::String(text) if text.is_empty() => format!("{name}=none"),
        Value::String(text) if text.starts_with(|c: char| c.is_ascii_digit()) => format!("{name}={text}"),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => format!("{name}=none"),
        Value::Array(items) if items.iter().any(Value::is_number) => format!("{name}={}", words(items)),
        Value::Array(items) => words(items),
        other => format!("{name}={other}"),
    }
}

/// A level's label behind its factor's whole name, which has its setting's in it: "workload.oltp.threads=4" of "threads=4".
pub(crate) fn with_factor(factor: &str, label: &str) -> String {
    let last = factor.rsplit('.').next().unwrap_or_default();
    let value = label.strip_prefix(last).and_then(|rest| rest.strip_prefix('=')).unwrap_or(label);
    format!("{factor}={value}")
}

fn words(items: &[Value]) -> String {
    let word = |item: &Value| item.as_str().map_or_else(|| item.to_string(), str::to_string);
    items.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// Labels are one line, short, and each stands for one level only.
fn settle_labels(levels: &mut [Level]) {
    for index in 0..levels.len() {
        let mut label: String = levels[index].label.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        if label.chars().count() > LABEL_CHARACTERS_MAX {
            label = label.chars().take(LABEL_CHARACTERS_MAX - 1).chain(['…']).collect();
        }
        while levels[..index].iter().any(|earlier| earlier.label == label) {
            label = format!("{label} #{}", index + 1);
        }
        levels[index].label = label;
    }
}
