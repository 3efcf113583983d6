//! A tree to a study that cannot be wrong; every problem at once.

mod limits;
mod rules;
mod scenarios;

use crate::Catalogue;
use crate::change::{self, Override};
use crate::document::{self, Content, Entry, Node};
use crate::factor::{self, Factor};
use crate::limit::Limit;
use crate::matrix::Rule;
use crate::own_settings::{
    CPUS, DESIGN, Design, FREE_TABLES, GUEST, Mode, Parity, SERVER_SETTING, TOP, TUNE_ROUNDS_MIN, VOLUMES,
};
use crate::problem::{Problem, Span};
use crate::safety::{self, SAFETY, Safety};
use crate::table::{self, TABLE, Table};
use rules::{RuleKind, unknown_factor};
use serde_json::{Map, Value};
use settings::{Setting, defaults};
use std::collections::{BTreeMap, BTreeSet};

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
    /// How it is measured what a power cut takes; none: it is not.
    pub safety: Option<Safety>,
    /// What differing durability does.
    pub parity: Parity,
    /// Whether the study itself says where trials run.
    pub bench_is_said: bool,
    /// Tables that the report is asked for.
    pub tables: Vec<Table>,
    /// Limits that figures are held against.
    pub limits: Vec<Limit>,
    /// Paths of the settings that the text or a change names; the others are at their defaults.
    pub named: Vec<String>,
    /// Names of the settings of `[design]` that the text or a change names.
    pub design_named: Vec<String>,
    /// Whether a change was made to factors or workloads: of the scenarios that are left the one most like the baseline stands in for it.
    pub(crate) is_changed: bool,
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
    /// `[storage.NAME]`.
    pub volumes: BTreeMap<String, Map<String, Value>>,
    /// `[service.NAME]`.
    pub services: BTreeMap<String, Map<String, Value>>,
    /// `[workload.NAME]`, in the order of the text.
    pub workloads: Vec<(String, Map<String, Value>)>,
    /// `memory`, `bench`.
    pub top: Map<String, Value>,
    /// `[cpus]`.
    pub cpus: Map<String, Value>,
    /// `[guest]`.
    pub guest: Map<String, Value>,
}

impl Base {
    /// Sets the value at a checked path.
    pub fn set(&mut self, path: &str, value: Value) {
        let words: Vec<&str> = path.split('.').collect();
        let (table, name) = match words[..] {
            ["storage", name] => (&mut self.storage, name),
            ["storage", volume, name] => (self.volumes.entry(volume.into()).or_default(), name),
            ["service", service, free, ..] if FREE_TABLES.contains(&free) && words.len() > 3 => {
                let name = words[3..].join(".");
                let table = self.services.entry(service.into()).or_default();
                if let Some(Value::Object(free)) = table.get_mut(free) {
                    free.insert(name, value);
                }
                return;
            }
            ["service", service, name] => (self.services.entry(service.into()).or_default(), name),
            ["cpus", name] => (&mut self.cpus, name),
            ["guest", name] => (&mut self.guest, name),
            ["workload", workload, name] => match self.workloads.iter_mut().find(|known| known.0 == workload) {
                Some((_, table)) => (table, name),
                None => return,
            },
            _ => (&mut self.top, path),
        };
        table.insert(name.to_string(), value);
    }
}

/// Reads a study file. The study is there only when nothing is wrong; problems come in the order of the text.
pub fn read(text: &str, overrides: &[Override], catalogue: &dyn Catalogue) -> (Option<Study>, Vec<Problem>) {
    let (mut root, mut problems) = document::parse(text);
    if !problems.is_empty() {
        return (None, problems);
    }
    let measured = |root: &Node| ["factors", "workload"].map(|table| root.get(table).cloned());
    let before = measured(&root);
    for change in overrides {
        change::apply(&mut root, change, catalogue, &mut problems);
    }
    let is_changed = measured(&root) != before;
    let study = Checker { root: &root, catalogue, is_changed, problems: &mut problems }.study();
    problems.sort_by_key(|problem| problem.span.as_ref().map_or(usize::MAX, |span| span.start));
    (study.filter(|_| problems.is_empty()), problems)
}

/// What a study's name may be.
pub const NAME: &str = "up to 200 letters, digits, `-`, `_` and `.`: it names files";

/// Whether a study may have this name.
pub fn is_name(name: &str) -> bool {
    let are_allowed = name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    (1..=200).contains(&name.len()) && are_allowed && !name.starts_with(['.', '-'])
}

/// Keys of the top of a study file that are tables.
pub const TABLES: &[&str] = &[
    "factors", "include", "exclude", "baseline", "storage", "service", "workload", "design", "safety", "cpus", "guest",
    "table", "limit",
];

struct Checker<'a> {
    root: &'a Node,
    catalogue: &'a dyn Catalogue,
    is_changed: bool,
    problems: &'a mut Vec<Problem>,
}

impl<'a> Checker<'a> {
    fn wrong(&mut self, message: impl Into<String>, span: Span, label: impl Into<String>) {
        self.problems.push(Problem::new(message, span, label));
    }

    /// The tables of a list `[[name]]`; what is no list is a problem, and has none.
    fn list(&mut self, name: &str) -> &'a [Node] {
        let Some(node) = self.root.get(name) else { return &[] };
        let Content::List(nodes) = &node.content else {
            let (message, label) = (format!("`{name}` is not a list"), format!("a list of tables: [[{name}]]"));
            self.wrong(message, node.span.clone(), label);
            return &[];
        };
        nodes
    }

    fn study(&mut self) -> Option<Study> {
        let known: Vec<&str> = TOP.iter().map(|setting| setting.name).chain(TABLES.iter().copied()).collect();
        let unknown = self.root.entries().iter().filter(|entry| !known.contains(&entry.key.as_str()));
        let problem = |entry: &Entry| Problem::unknown_key(&entry.key, "a study", &known, entry.span.clone());
        self.problems.extend(unknown.map(problem));
        let top = self.top();
        let (storage, volumes) = self.storage();
        let mut base = Base {
            storage,
            volumes,
            services: self.services(),
            workloads: self.workloads(),
            cpus: self.table("cpus", self.root.get("cpus"), CPUS),
            guest: self.table("guest", self.root.get("guest"), GUEST),
            top,
        };
        let (design, safety) = (self.design(), self.safety());
        let mut factors = self.factors(&base);
        let exclude = self.rules(RuleKind::Exclude, &base, &mut factors);
        let include = self.rules(RuleKind::Include, &base, &mut factors);
        let baseline =
            self.root.get("baseline").and_then(|node| self.rule(RuleKind::Baseline, node, &base, &mut factors));
        self.fill_in(&mut base, &factors, &include);
        let (tables, limits) = (self.tables(&base, &factors), self.limits(&base));
        let text = |name: &str| base.top[name].as_str().unwrap_or_default().to_string();
        let parity = if text("parity") == "require" { Parity::Require } else { Parity::Mark };
        let (name, question) = (text("name"), text("question"));
        self.name(&name);
        let is_bench = |factor: &Factor| factor.paths().any(|path| path == "bench");
        let bench_is_said = self.root.get("bench").is_some() || factors.iter().any(is_bench);
        let named = self.named(&factors, &include);
        let of_design = self.root.get("design").map_or(&[][..], Node::entries);
        let design_named = of_design.iter().map(|entry| entry.key.clone()).collect();
        let design = design?;
        let study = Study {
            name,
            question,
            factors,
            design,
            safety,
            parity,
            bench_is_said,
            tables,
            limits,
            named,
            design_named,
            is_changed: self.is_changed,
            base,
            exclude,
            include,
            baseline,
        };
        self.scenarios(&study);
        self.screen(&study);
        Some(study)
    }

    /// Paths of settings that stand in the text, its factors or its includes.
    fn named(&self, factors: &[Factor], include: &[Rule]) -> Vec<String> {
        let of_rules = include.iter().flat_map(|rule| &rule.settings).map(|(path, _)| path.clone());
        let of_factors = factors.iter().flat_map(Factor::paths).map(str::to_string);
        let of_tables =
            factor::flatten(self.root).into_iter().map(|(path, ..)| path).filter(|path| factor::is_path(path));
        of_tables.chain(of_factors).chain(of_rules).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// `[[table]]`: each names a workload and two factors that vary it.
    fn tables(&mut self, base: &Base, factors: &[Factor]) -> Vec<Table> {
        self.list("table").iter().filter_map(|node| self.one_table(node, base, factors)).collect()
    }

    /// That a table of such a list is about a workload of this study.
    fn workload_of(&mut self, list: &str, workload: &str, span: Span, base: &Base) {
        let workloads: Vec<&str> = base.workloads.iter().map(|known| known.0.as_str()).collect();
        if !workloads.contains(&workload) {
            let label = format!("workloads of this study: {}", workloads.join(", "));
            let message = format!("a {list}'s `workload` can't be \"{workload}\"");
            self.wrong(message, span, label);
        }
    }

    fn one_table(&mut self, node: &Node, base: &Base, factors: &[Factor]) -> Option<Table> {
        let before = self.problems.len();
        let map = self.table("table", Some(&node.only(|entry| entry.key != "published")), TABLE);
        let text = |name: &str| map[name].as_str().unwrap_or_default().to_string();
        let span = |name: &str| node.get(name).map_or(node.span.clone(), |node| node.span.clone());
        let factor = |name: &str| document::plain_path(&text(name));
        let (workload, rows, columns) = (text("workload"), factor("rows"), factor("columns"));
        self.workload_of("table", &workload, span("workload"), base);
        let varying: Vec<&str> =
            factors.iter().filter(|factor| factor.concerns(&workload)).map(|factor| factor.name.as_str()).collect();
        for (key, factor) in [("rows", &rows), ("columns", &columns)] {
            if !varying.contains(&factor.as_str()) {
                let label = format!("factors that vary it: {}", varying.join(", "));
                let message = format!("a table's `{key}` can't be \"{factor}\"");
                self.wrong(message, span(key), label);
            }
        }
        if rows == columns && !rows.is_empty() {
            let message = "a table's `rows` and `columns` are the same factor";
            self.wrong(message, span("columns"), "two factors");
        }
        if text("metric").is_empty() {
            self.wrong("a table without a `metric`", node.span.clone(), "a metric of its workload");
        }
        let only = self.only(node, &map, factors);
        let published = node.get("published").and_then(|node| table::published(node, self.problems));
        let (title, metric) = (text("title"), text("metric"));
        (self.problems.len() == before).then_some(Table { title, workload, metric, rows, columns, only, published })
    }

    /// `where` of a table: factors and levels that there are.
    fn only(&mut self, node: &Node, map: &Map<String, Value>, factors: &[Factor]) -> Vec<(String, String)> {
        let mut only = Vec::new();
        for (name, wanted) in map["where"].as_object().into_iter().flatten() {
            let span = node.get("where").and_then(|node| node.span.clone());
            let name = document::plain_path(name);
            let Some(factor) = factors.iter().find(|factor| factor.name == name) else {
                self.problems.push(unknown_factor("where", &name, span, factors));
                continue;
            };
            let wanted = wanted.as_str().map_or_else(|| wanted.to_string(), str::to_string);
            let labels: Vec<&str> = factor.levels.iter().map(|level| level.label.as_str()).collect();
            if labels.contains(&wanted.as_str()) {
                only.push((name, wanted));
            } else {
                let message = format!("`{wanted}` in `where` is not a level of `{name}`");
                self.wrong(message, span, format!("its levels: {}", labels.join(", ")));
            }
        }
        only
    }

    /// The data volume, and further ones: a table in `[storage]` that has a volume's name.
    fn storage(&mut self) -> (Map<String, Value>, BTreeMap<String, Map<String, Value>>) {
        let (known, mut volumes) = (self.catalogue.storage(), BTreeMap::new());
        let Some(node) = self.root.get("storage").filter(|node| node.is_table()) else {
            return (self.table("storage", self.root.get("storage"), known), volumes);
        };
        let is_volume = |entry: &&Entry| entry.node.is_table() && VOLUMES.contains(&entry.key.as_str());
        for entry in node.entries().iter().filter(is_volume) {
            let table = self.table(&format!("storage.{}", entry.key), Some(&entry.node), known);
            volumes.insert(entry.key.clone(), table);
        }
        (self.table("storage", Some(&node.only(|entry| !is_volume(&entry))), known), volumes)
    }

    /// The tables of services or workloads, each by its name.
    fn named_tables(
        &mut self,
        of: &str,
        known: &[&str],
        settings_of: &dyn Fn(&str) -> Option<&'static [Setting]>,
    ) -> Vec<(String, Map<String, Value>)> {
        let mut tables = Vec::new();
        let node = self.root.get(of);
        if let Some(node) = node.filter(|node| !node.is_table()) {
            self.wrong(format!("`{of}` is not a table"), node.span.clone(), format!("a table [{of}.NAME] for each"));
        }
        for entry in node.map(Node::entries).unwrap_or_default() {
            if let Some(settings) = settings_of(&entry.key) {
                let table = self.table(&format!("{of}.{}", entry.key), Some(&entry.node), settings);
                tables.push((entry.key.clone(), table));
            } else {
                self.problems.push(Problem::unknown_key(&entry.key, &format!("`{of}`"), known, entry.span.clone()));
            }
        }
        tables
    }

    fn services(&mut self) -> BTreeMap<String, Map<String, Value>> {
        let catalogue = self.catalogue;
        self.named_tables("service", &catalogue.services(), &|name| catalogue.service(name)).into_iter().collect()
    }

    /// Volumes and services that only factors and includes speak of begin at their defaults.
    fn fill_in(&self, base: &mut Base, factors: &[Factor], include: &[Rule]) {
        let of_rules = include.iter().flat_map(|rule| &rule.settings).map(|(path, _)| path.as_str());
        for path in factors.iter().flat_map(Factor::paths).chain(of_rules) {
            let words: Vec<&str> = path.split('.').collect();
            match words[..] {
                ["storage", volume, _] => {
                    base.volumes.entry(volume.into()).or_insert_with(|| defaults(self.catalogue.storage()));
                }
                ["service", service, ..] => {
                    let settings = self.catalogue.service(service).unwrap_or_default();
                    base.services.entry(service.into()).or_insert_with(|| defaults(settings));
                }
                _ => {}
            }
        }
    }

    fn top(&mut self) -> Map<String, Value> {
        let written = self.root.only(|entry| TOP.iter().any(|setting| setting.name == entry.key));
        self.table("", Some(&written), TOP)
    }

    fn name(&mut self, name: &str) {
        let written = self.root.get("name");
        // That it can't be anything else than a text is said already.
        if written.is_some_and(|node| !node.json().is_string()) {
            return;
        }
        if name.is_empty() {
            self.wrong("the study has no name", None, "name = \"…\" at the top of the file");
        } else if !is_name(name) {
            let span = written.and_then(|node| node.span.clone());
            self.wrong(format!("{name:?} can't be a study's name"), span, NAME);
        }
    }

    /// A table of settings: unknown keys and wrong values are problems, the rest is filled up with defaults.
    fn table(&mut self, of: &str, node: Option<&Node>, settings: &'static [Setting]) -> Map<String, Value> {
        let mut checked = defaults(settings);
        let Some(node) = node else { return checked };
        if !node.is_table() {
            self.wrong(format!("`{of}` is not a table"), node.span.clone(), format!("[{of}] and its settings"));
            return checked;
        }
        let path = |key: &str| if of.is_empty() { key.to_string() } else { format!("{of}.{key}") };
        for entry in node.entries() {
            let Some(setting) = settings.iter().find(|setting| setting.name == entry.key) else {
                let known: Vec<&str> = settings.iter().map(|setting| setting.name).collect();
                let problem = Problem::unknown_key(&entry.key, &format!("`{of}`"), &known, entry.span.clone());
                let is_top = TOP.iter().any(|setting| setting.name == entry.key);
                let above = is_top.then(|| format!("`{}` stands above all tables, at the top of the file", entry.key));
                let hint = above.or_else(|| problem.hint.clone());
                self.problems.push(problem.hint(hint));
                continue;
            };
            let of = path(&entry.key);
            if FREE_TABLES.contains(&entry.key.as_str()) && entry.node.is_table() {
                let free = entry.node.dotted();
                let free = free.entries().iter().filter_map(|Entry { key, node, .. }| {
                    let value = factor::checked(&format!("{of}.{key}"), &SERVER_SETTING, node, self.problems)?;
                    Some((key.clone(), value))
                });
                checked.insert(entry.key.clone(), Value::Object(free.collect()));
                continue;
            }
            let value = factor::checked(&of, setting, &entry.node, self.problems);
            checked.extend(value.map(|value| (entry.key.clone(), value)));
        }
        checked
    }

    fn workloads(&mut self) -> Vec<(String, Map<String, Value>)> {
        let catalogue = self.catalogue;
        let known = catalogue.workloads();
        if self.root.get("workload").is_none_or(|node| node.is_table() && node.entries().is_empty()) {
            let label = format!("a table [workload.NAME]; workloads: {}", known.join(", "));
            self.wrong("the study has no workload", None, label);
        }
        self.named_tables("workload", &known, &|name| catalogue.workload(name))
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
            let message =
                format!("`design.rounds_max` ({rounds_max}) is below `design.rounds_min` ({})", design.rounds_min);
            self.wrong(message, span, "at least rounds_min");
        }
        if design.mode == Mode::Tune && rounds_max < TUNE_ROUNDS_MIN {
            let span = node.and_then(|node| node.get("mode")).and_then(|node| node.span.clone());
            let message =
                format!("`design.mode` is \"tune\", and `design.rounds_max` ({rounds_max}) leaves nothing to save");
            let label =
                format!("scenarios are dropped after round 4 at the earliest: at least {TUNE_ROUNDS_MIN} rounds");
            self.wrong(message, span, label);
        }
        (self.problems.len() == before).then_some(Design { rounds_max, ..design })
    }

    fn safety(&mut self) -> Option<Safety> {
        let node = self.root.get("safety")?;
        let before = self.problems.len();
        let table = self.table("safety", Some(node), SAFETY);
        for (name, message, label) in safety::problems(&table) {
            let span = node.get(name).and_then(|node| node.span.clone());
            self.wrong(message, span, label);
        }
        (self.problems.len() == before).then(|| Safety::from_map(&table))
    }

    fn factors(&mut self, base: &Base) -> Vec<Factor> {
        let Some(node) = self.root.get("factors") else { return Vec::new() };
        if !node.is_table() {
            self.wrong("`factors` is not a table", node.span.clone(), "[factors] and a line for each");
        }
        let mut factors: Vec<Factor> = Vec::new();
        for written in factor::flatten(node) {
            let Some(factor) = factor::check(written, self.catalogue, self.problems) else { continue };
            self.factor_beside(&factor, &factors, base);
            factors.push(factor);
        }
        factors
    }

    /// Problems of a factor with the factors before it and with the workloads.
    fn factor_beside(&mut self, factor: &Factor, earlier: &[Factor], base: &Base) {
        let name = &factor.name;
        let shared = |known: &Factor| factor.paths().find(|path| known.paths().any(|other| other == *path));
        if earlier.iter().any(|known| known.name == *name) {
            self.wrong(format!("the factor `{name}` stands twice"), factor.span.clone(), "each factor once");
        } else if let Some((known, path)) = earlier.iter().find_map(|known| Some((known, shared(known)?))) {
            let message = format!("the factors `{}` and `{name}` both set `{path}`", known.name);
            self.wrong(message, factor.span.clone(), "one of them would have no effect");
        }
        let workloads = factor.paths().filter_map(|path| path.strip_prefix("workload.")?.split('.').next());
        if let Some(absent) =
            workloads.into_iter().find(|workload| !base.workloads.iter().any(|known| known.0 == *workload))
        {
            let message = format!("the factor `{name}` varies the workload `{absent}`, which this study does not have");
            self.wrong(message, factor.span.clone(), format!("add [workload.{absent}]"));
        }
    }
}
