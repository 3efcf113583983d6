//! A tree to a study that cannot be wrong; every problem at once.

use crate::document::{self, Content, Node};
use crate::factor::{self, Factor, setting_at};
use crate::own_settings::{CPUS, DESIGN, Design, Parity, TOP};
use crate::problem::Problem;
use crate::Catalogue;
use serde_json::{Map, Value};
use settings::{Setting, defaults};
use std::collections::BTreeMap;
use std::ops::Range;

/// A change from the command line: `--set path=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// Dotted path of a setting, or a factor's name.
    pub path: String,
    /// TOML, or plain text.
    pub value: String,
}

/// A study file, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Study {
    /// Its name.
    pub name: String,
    /// Its question.
    pub question: String,
    /// What is varied.
    pub factors: Vec<Factor>,
    /// How it is run.
    pub design: Design,
    /// What differing durability does.
    pub parity: Parity,
    pub(crate) base: Base,
    pub(crate) exclude: Vec<Rule>,
    pub(crate) include: Vec<Rule>,
    pub(crate) baseline: Option<Rule>,
}

/// Settings before any factor, in plain form.
#[derive(Debug, Clone, PartialEq)]
pub struct Base {
    /// `[storage]`.
    pub storage: Map<String, Value>,
    /// `[workload.NAME]`, in the order of the text.
    pub workloads: Vec<(String, Map<String, Value>)>,
    /// `memory`, `bench`.
    pub top: Map<String, Value>,
    /// `[cpus]`.
    pub cpus: Map<String, Value>,
}

impl Base {
    /// Sets the value at a checked path.
    pub fn set(&mut self, path: &str, value: Value) {
        let words: Vec<&str> = path.split('.').collect();
        let (table, name) = match words[..] {
            ["storage", name] => (&mut self.storage, name),
            ["cpus", name] => (&mut self.cpus, name),
            ["workload", workload, name] => match self.workloads.iter_mut().find(|known| known.0 == workload) {
                Some((_, table)) => (table, name),
                None => return,
            },
            _ => (&mut self.top, path),
        };
        table.insert(name.to_string(), value);
    }
}

/// Some factors at some levels: of `exclude`, `include` and `baseline`.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// Factor → level label.
    pub levels: BTreeMap<String, String>,
    /// Where it stands.
    pub span: Option<Range<usize>>,
}

/// Reads a study file. The study is there only when nothing is wrong.
#[must_use]
pub fn read(text: &str, overrides: &[Override], catalogue: &dyn Catalogue) -> (Option<Study>, Vec<Problem>) {
    let (mut root, mut problems) = document::parse(text);
    if !problems.is_empty() {
        return (None, problems);
    }
    for change in overrides {
        apply(&mut root, change, catalogue, &mut problems);
    }
    let study = Checker { root: &root, catalogue, problems: &mut problems }.study();
    (study.filter(|_| problems.is_empty()), problems)
}

/// A change of a factor replaces its levels; of a setting, its value.
fn apply(root: &mut Node, change: &Override, catalogue: &dyn Catalogue, problems: &mut Vec<Problem>) {
    let value = document::parse_value(&change.value);
    let factors = root.get("factors").map(factor::flatten).unwrap_or_default();
    let Some((_, _, node)) = factors.iter().find(|known| known.0 == change.path) else {
        let own = ["name", "question"].contains(&change.path.as_str()) || change.path.starts_with("design.");
        let top = TOP.iter().any(|setting| setting.name == change.path);
        if own || top || setting_at(&change.path, None, catalogue, problems).is_some() {
            root.set(&change.path.split('.').collect::<Vec<_>>(), value);
        }
        return;
    };
    let wanted = match value.content {
        Content::List(nodes) => nodes,
        _ => vec![value],
    };
    let levels = match &node.content {
        Content::Table(entries) => {
            let chosen = |wanted: &Node| {
                let name = wanted.json();
                let found = entries.iter().find(|entry| Some(entry.key.as_str()) == name.as_str()).cloned();
                if found.is_none() {
                    let known: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
                    problems.push(unknown_level(&change.path, &name.to_string(), &known, None));
                }
                found
            };
            Content::Table(wanted.iter().filter_map(chosen).collect())
        }
        _ => Content::List(wanted),
    };
    replace_factor(root, &change.path, Node { span: None, content: levels });
}

fn replace_factor(root: &mut Node, name: &str, levels: Node) {
    let Content::Table(entries) = &mut root.content else { return };
    let Some(factors) = entries.iter_mut().find(|entry| entry.key == "factors") else { return };
    let Content::Table(list) = &mut factors.node.content else { return };
    match list.iter_mut().find(|entry| entry.key == name) {
        Some(entry) => entry.node = levels,
        // Written as a dotted key: the tables are the path.
        None => factors.node.set(&name.split('.').collect::<Vec<_>>(), levels),
    }
}

fn unknown_level(factor: &str, level: &str, known: &[&str], span: Option<Range<usize>>) -> Problem {
    let hint = settings::nearest_name(level.trim_matches('"'), known.iter().copied());
    Problem::new(format!("{level} is not a level of `{factor}`"), span, format!("its levels: {}", known.join(", ")))
        .hint(hint.map(|name| format!("did you mean `{name}`?")))
}

/// Keys of the top of a study file that are tables.
pub const TABLES: &[&str] = &["factors", "include", "exclude", "baseline", "storage", "workload", "design", "cpus"];

struct Checker<'a> {
    root: &'a Node,
    catalogue: &'a dyn Catalogue,
    problems: &'a mut Vec<Problem>,
}

impl Checker<'_> {
    fn study(&mut self) -> Option<Study> {
        let known: Vec<&str> = TOP.iter().map(|setting| setting.name).chain(TABLES.iter().copied()).collect();
        for entry in self.root.entries() {
            if !known.contains(&entry.key.as_str()) {
                self.problems.push(Problem::unknown_key(&entry.key, "a study", &known, entry.span.clone()));
            }
        }
        let top = self.top();
        let base = Base {
            storage: self.table("storage", self.root.get("storage"), self.catalogue.storage()),
            workloads: self.workloads(),
            cpus: self.table("cpus", self.root.get("cpus"), CPUS),
            top,
        };
        let design = self.design();
        let factors = self.factors(&base);
        let exclude = self.rules("exclude", &factors);
        let include = self.rules("include", &factors);
        let baseline = self.root.get("baseline").and_then(|node| self.rule("baseline", node, &factors));
        let text = |name: &str| base.top[name].as_str().unwrap_or_default().to_string();
        let parity = if text("parity") == "require" { Parity::Require } else { Parity::Mark };
        let (name, question) = (text("name"), text("question"));
        self.name(&name);
        let study = Study { name, question, factors, design: design?, parity, base, exclude, include, baseline };
        self.scenarios(&study);
        Some(study)
    }

    fn top(&mut self) -> Map<String, Value> {
        let written = Node {
            span: None,
            content: Content::Table(
                self.root.entries().iter().filter(|entry| TOP.iter().any(|s| s.name == entry.key)).cloned().collect(),
            ),
        };
        self.table("", Some(&written), TOP)
    }

    fn name(&mut self, name: &str) {
        if name.is_empty() {
            self.problems.push(Problem::new("the study has no name", None, "name = \"…\" at the top of the file"));
        } else if !name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) || name.starts_with(['.', '-']) {
            let span = self.root.get("name").and_then(|node| node.span.clone());
            let label = "letters, digits, `-`, `_` and `.`: it names files";
            self.problems.push(Problem::new(format!("{name:?} can't be a study's name"), span, label));
        }
    }

    /// A table of settings: unknown keys and wrong values are problems, the rest is filled up with defaults.
    fn table(&mut self, of: &str, node: Option<&Node>, settings: &'static [Setting]) -> Map<String, Value> {
        let mut checked = defaults(settings);
        let Some(node) = node else { return checked };
        if !matches!(node.content, Content::Table(_)) {
            self.problems.push(Problem::new(format!("`{of}` is not a table"), node.span.clone(), format!("[{of}] and its settings")));
            return checked;
        }
        let path = |key: &str| if of.is_empty() { key.to_string() } else { format!("{of}.{key}") };
        for entry in node.entries() {
            let Some(setting) = settings.iter().find(|setting| setting.name == entry.key) else {
                let known: Vec<&str> = settings.iter().map(|setting| setting.name).collect();
                self.problems.push(Problem::unknown_key(&entry.key, &format!("`{of}`"), &known, entry.span.clone()));
                continue;
            };
            match setting.check(&entry.node.json()) {
                Ok(value) => {
                    checked.insert(entry.key.clone(), value);
                }
                Err(wrong) => self.problems.push(Problem::wrong_value(&path(&entry.key), &wrong, entry.node.span.clone())),
            }
        }
        checked
    }

    fn workloads(&mut self) -> Vec<(String, Map<String, Value>)> {
        let known = self.catalogue.workloads();
        let entries = self.root.get("workload").map(Node::entries).unwrap_or_default();
        if entries.is_empty() {
            let label = format!("a table [workload.NAME]; workloads: {}", known.join(", "));
            self.problems.push(Problem::new("the study has no workload", None, label));
        }
        let mut workloads = Vec::new();
        for entry in entries {
            match self.catalogue.workload(&entry.key) {
                Some(settings) => {
                    let table = self.table(&format!("workload.{}", entry.key), Some(&entry.node), settings);
                    workloads.push((entry.key.clone(), table));
                }
                None => self.problems.push(Problem::unknown_key(&entry.key, "`workload`", &known, entry.span.clone())),
            }
        }
        workloads
    }

    fn design(&mut self) -> Option<Design> {
        let node = self.root.get("design");
        let before = self.problems.len();
        let table = self.table("design", node, DESIGN);
        let design = Design::from_map(&table);
        // A larger minimum alone moves the maximum that nobody wrote.
        let max_written = node.and_then(|node| node.get("rounds_max")).is_some();
        let rounds_max = if max_written { design.rounds_max } else { design.rounds_max.max(design.rounds_min) };
        if rounds_max < design.rounds_min {
            let span = node.and_then(|node| node.get("rounds_max")).and_then(|node| node.span.clone());
            let message = format!("design.rounds_max ({rounds_max}) is below design.rounds_min ({})", design.rounds_min);
            self.problems.push(Problem::new(message, span, "at least rounds_min"));
        }
        (self.problems.len() == before).then_some(Design { rounds_max, ..design })
    }

    fn factors(&mut self, base: &Base) -> Vec<Factor> {
        let Some(node) = self.root.get("factors") else { return Vec::new() };
        let mut factors: Vec<Factor> = Vec::new();
        for (name, span, levels) in factor::flatten(node) {
            if factors.iter().any(|known| known.name == name) {
                self.problems.push(Problem::new(format!("the factor `{name}` stands twice"), span.clone(), "each factor once"));
            }
            let Some(factor) = factor::check(&name, span, &levels, self.catalogue, self.problems) else { continue };
            let paths = factor.levels.iter().flat_map(|level| &level.settings).map(|setting| setting.0.as_str());
            let absent = paths.filter_map(|path| path.strip_prefix("workload.")?.split('.').next()).find(|workload| {
                !base.workloads.iter().any(|known| known.0 == *workload)
            });
            if let Some(workload) = absent {
                let message = format!("the factor `{name}` varies the workload `{workload}`, which this study does not have");
                let label = format!("add [workload.{workload}]");
                self.problems.push(Problem::new(message, factor.span.clone(), label));
            }
            factors.push(factor);
        }
        factors
    }

    fn rules(&mut self, kind: &str, factors: &[Factor]) -> Vec<Rule> {
        let Some(node) = self.root.get(kind) else { return Vec::new() };
        match &node.content {
            Content::List(nodes) => nodes.iter().filter_map(|node| self.rule(kind, node, factors)).collect(),
            _ => {
                let label = format!("a list of tables: [[{kind}]]");
                self.problems.push(Problem::new(format!("`{kind}` is not a list"), node.span.clone(), label));
                Vec::new()
            }
        }
    }

    /// A table of factors and levels. The factor `workload` is always there.
    fn rule(&mut self, kind: &str, node: &Node, factors: &[Factor]) -> Option<Rule> {
        let before = self.problems.len();
        let mut levels = BTreeMap::new();
        for (name, span, value) in factor::flatten(node) {
            if name == "workload" && value.json().is_string() {
                levels.insert(name, value.json().as_str().unwrap_or_default().to_string());
                continue;
            }
            let Some(factor) = factors.iter().find(|factor| factor.name == name) else {
                let known: Vec<&str> = factors.iter().map(|factor| factor.name.as_str()).collect();
                let hint = settings::nearest_name(&name, known.iter().copied()).map(|name| format!("did you mean `{name}`?"));
                let label = format!("factors of this study: {}", known.join(", "));
                self.problems.push(Problem::new(format!("`{name}` in `{kind}` is not a factor"), span, label).hint(hint));
                continue;
            };
            let written = value.json();
            let label = if factor.named { written.as_str().unwrap_or_default().to_string() } else { factor::label(&name, &written) };
            let known: Vec<&str> = factor.levels.iter().map(|level| level.label.as_str()).collect();
            if known.contains(&label.as_str()) {
                levels.insert(name, label);
            } else {
                self.problems.push(unknown_level(&name, &written.to_string(), &known, value.span));
            }
        }
        if levels.is_empty() && self.problems.len() == before {
            self.problems.push(Problem::new(format!("`{kind}` names no factor"), node.span.clone(), "factors and their levels"));
        }
        (self.problems.len() == before).then(|| Rule { levels, span: node.span.clone() })
    }

    /// Problems that only show when a scenario's settings are seen together: each once, naming the first scenario.
    fn scenarios(&mut self, study: &Study) {
        if !self.problems.is_empty() {
            return;
        }
        let combined = match crate::plan::combine(study) {
            Ok(combined) => combined,
            Err(problem) => {
                self.problems.push(problem);
                return;
            }
        };
        let mut said = Vec::new();
        for combination in combined {
            let base = combination.settings(study);
            for message in scenario_problems(self.catalogue, &base, &combination.workload) {
                if !said.contains(&message) {
                    let label = format!("in the scenario `{}`", combination.label(study));
                    let span = self.root.get("storage").and_then(|node| node.span.clone()).filter(|_| message.starts_with("storage."));
                    self.problems.push(Problem::new(message.clone(), span, label));
                    said.push(message);
                }
            }
        }
    }
}

fn scenario_problems(catalogue: &dyn Catalogue, base: &Base, workload: &str) -> Vec<String> {
    let storage = catalogue.storage_problems(&base.storage).into_iter().map(|(name, problem)| format!("storage.{name}: {problem}"));
    let parameters = base.workloads.iter().find(|known| known.0 == workload).map(|known| &known.1);
    let of_workload = parameters.map(|parameters| catalogue.workload_problems(workload, parameters)).unwrap_or_default();
    storage.chain(of_workload.into_iter().map(|problem| format!("workload.{workload}: {problem}"))).collect()
}
