//! `--set path=value`: changes of a study's text, before anything of it is checked.
//!
//! A list gives a setting levels, one value fixes it; both replace what the file says. Rules about levels that are gone go
//! with them; a baseline forgets the level only; another device takes away what the file says of the old one alone. The result is
//! checked like a file.

use crate::Catalogue;
use crate::document::{self, Content, Entry, Node};
use crate::factor::{self, flatten, setting_at};
use crate::own_settings::TOP;
use crate::problem::Problem;
use serde_json::Value;
use settings::Kind;

/// A change from the command line: `--set path=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// Dotted path of a setting, or a factor's name.
    pub path: String,
    /// TOML, or plain text.
    pub value: String,
}

/// Makes a change.
pub fn apply(root: &mut Node, change: &Override, catalogue: &dyn Catalogue, problems: &mut Vec<Problem>) {
    if let Some(problem) = half_a_list(root, change, catalogue) {
        problems.push(problem);
        return;
    }
    let path = document::plain_path(&change.path);
    let path = path.as_str();
    let value = document::parse_value(&change.value);
    let factor = factors(root).into_iter().find(|known| known.key == path);
    if path == "workload" {
        keep_workloads(root, values(value), problems);
    } else if let Some(factor) = factor {
        match &factor.node.content {
            Content::Table(entries) => {
                // As it is written first: as a number, 6.10 is 6.1.
                let written = Value::from(change.value.as_str());
                let is_level = entries.iter().any(|entry| entry.key == change.value);
                let value = if is_level { Node { span: None, content: Content::Scalar(written) } } else { value };
                let kept = chosen(path, entries, values(value), problems);
                // A wrong name alone should not also say that nothing is left.
                if !kept.is_empty() {
                    set_factor(root, path, Content::Table(kept));
                }
            }
            _ => set_factor(root, path, Content::List(levels(path, value, catalogue))),
        }
    } else if ["design.", "safety."].iter().any(|table| path.starts_with(table))
        || TOP.iter().any(|setting| setting.name == path && !factor::is_path(path))
    {
        root.set(&path.split('.').collect::<Vec<_>>(), value);
    } else {
        set(root, path, value, catalogue, problems);
    }
}

/// The problem of a list whose brackets or quotes are forgotten: it would be one text, or refused with the name of one of its parts.
fn half_a_list(root: &Node, Override { path, value: text }: &Override, catalogue: &dyn Catalogue) -> Option<Problem> {
    // What is TOML is what it says.
    if document::parse_value(text).content != Content::Scalar(Value::from(text.as_str())) {
        return None;
    }
    let path = document::plain_path(path);
    let names = if path == "workload" {
        root.get("workload").map(level_keys)
    } else {
        factors(root).iter().find(|factor| factor.key == path && factor.node.is_table()).map(|it| level_keys(&it.node))
    };
    let found = setting_at(&path, None, catalogue, &mut Vec::new());
    let takes = |value: &Value| match &names {
        Some(names) => names.contains(value),
        None => found.is_some_and(|setting| setting.check(value).is_ok()),
    };
    let is_item = |value: &Value| takes(value) || takes(&Value::from(vec![value.clone()]));
    let item = |part: &&str| {
        let (plain, quoted) = (document::parse_value(part).json(), Value::from(*part));
        let is_whole = !part.is_empty() && !part.contains(['"', '\'', '[', ']', '{', '}']);
        [plain, quoted].iter().filter(|_| is_whole).find(|value| is_item(value)).map(Value::to_string)
    };
    let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let parts: Vec<&str> = inner.unwrap_or(text).split(',').map(str::trim).collect();
    let items: Option<Vec<String>> = parts.iter().map(item).collect();
    // Where any text will do, commas are its own, but between sizes.
    let is_one = takes(&Value::from(text.as_str())) && !parts.iter().all(|part| is_quantity(part));
    if inner.is_none() && (parts.len() < 2 || items.is_none() || is_one) {
        return None;
    }
    let label =
        "a list has brackets, and its texts have quotes; one text with brackets or commas has quotes of its own";
    let hint = items.map(|items| format!("for a list, --set '{path}=[{}]'", items.join(", ")));
    Some(Problem::new(format!("`{path}`: `{text}` is no list"), None, label).hint(hint))
}

/// "128MB", "0.5", "20 %".
fn is_quantity(text: &str) -> bool {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%').trim_end();
    number.parse::<f64>().is_ok()
}

/// Sets a setting that is no factor yet.
fn set(root: &mut Node, path: &str, value: Node, catalogue: &dyn Catalogue, problems: &mut Vec<Problem>) {
    if !path.contains('.') && !factor::is_path(path) {
        let factors = factors(root);
        let known: Vec<&str> =
            factors.iter().map(|entry| entry.key.as_str()).chain(TOP.iter().map(|setting| setting.name)).collect();
        let mut problem = Problem::unknown_key(path, "this study", &known, None);
        if let Some(whole) = factor::whole_path(path, catalogue) {
            problem.hint = Some(format!("did you mean `{whole}`?"));
        }
        problems.push(problem);
        return;
    }
    let Some(setting) = setting_at(path, None, catalogue, problems) else { return };
    // A server's own setting may have dots in its name.
    let most = if path.starts_with("service.") { 4 } else { usize::MAX };
    let words: Vec<&str> = path.splitn(most, '.').collect();
    if let ["workload", name, _] = words[..]
        && root.get("workload").is_none_or(|workloads| workloads.get(name).is_none())
    {
        let known: Vec<&str> =
            root.get("workload").map(Node::entries).unwrap_or_default().iter().map(|w| w.key.as_str()).collect();
        let label = format!("its workloads: {}", known.join(", "));
        problems.push(Problem::new(format!("`{path}`: this study has no workload `{name}`"), None, label));
    } else if let Some(factor) = factors(root).iter().find(|factor| always_sets(factor, path)) {
        let label = format!("--set {}=LEVEL chooses a level", factor.key);
        let message = format!("`{path}` would have no effect: each level of the factor `{}` sets it", factor.key);
        problems.push(Problem::new(message, None, label));
    } else if matches!(value.content, Content::List(_)) && !is_one_value(&value, setting.kind) {
        set_factor(root, path, Content::List(levels(path, value, catalogue)));
    } else {
        displace(root, &words, &value, catalogue);
        root.set(&words, value);
    }
}

/// Takes out what the file says of settings that have no effect beside this value. What a change says of them stays, and is refused.
fn displace(root: &mut Node, words: &[&str], value: &Node, catalogue: &dyn Catalogue) {
    let (["storage", volume @ .., setting], Content::Scalar(value)) = (words, &value.content) else { return };
    let displaced = catalogue.storage_displaced(setting, value);
    let mut table = root;
    for word in std::iter::once(&"storage").chain(volume) {
        let Content::Table(entries) = &mut table.content else { return };
        let Some(entry) = entries.iter_mut().find(|entry| entry.key == *word) else { return };
        table = &mut entry.node;
    }
    if let Content::Table(entries) = &mut table.content {
        // Only what stands in the file has a place.
        entries.retain(|entry| entry.node.span.is_none() || !displaced.contains(&entry.key.as_str()));
    }
}

fn factors(root: &Node) -> Vec<Entry> {
    let flat = root.get("factors").map(flatten).unwrap_or_default();
    flat.into_iter().map(|(key, span, node)| Entry { key, span, node }).collect()
}

/// Writes the factors back with this one's levels.
fn set_factor(root: &mut Node, name: &str, levels: Content) {
    let mut all = factors(root);
    let node = Node { span: None, content: levels };
    match all.iter_mut().find(|factor| factor.key == name) {
        Some(factor) => {
            let (before, left) = (level_keys(&factor.node), level_keys(&node));
            factor.node = node;
            forget_rules(root, name, &before, &left);
        }
        None => all.push(Entry { key: name.to_string(), span: None, node }),
    }
    root.set(&["factors"], Node { span: None, content: Content::Table(all) });
}

/// What rules call the levels of a factor.
fn level_keys(levels: &Node) -> Vec<Value> {
    match &levels.content {
        Content::Table(entries) => entries.iter().map(|entry| Value::from(entry.key.as_str())).collect(),
        Content::List(nodes) => nodes.iter().map(Node::json).collect(),
        Content::Scalar(_) => Vec::new(),
    }
}

/// Takes out the rules about levels that are not left, the tables of such levels only, and limits of such workloads; a baseline keeps its other
/// levels. An include may name a level that was not there before either; elsewhere that is a mistake, and stays to be found.
fn forget_rules(root: &mut Node, factor: &str, before: &[Value], left: &[Value]) {
    // A table's `where` has labels, rules about a path have its values.
    let named = |level: &Value, kind: &str| match kind {
        "where" if factor::is_path(factor) => Value::from(factor::label(factor, level)),
        _ => factor::level_name(level),
    };
    let gone = |level: &Value, kind: &str| {
        let is_among = |levels: &[Value]| levels.iter().any(|known| named(known, kind) == factor::level_name(level));
        !is_among(left) && (kind == "include" || is_among(before))
    };
    let about = |rule: &Node, kind: &str| {
        flatten(rule).iter().any(|(name, _, level)| name == factor && gone(&level.json(), kind))
    };
    let Content::Table(entries) = &mut root.content else { return };
    for entry in entries.iter_mut().filter(|entry| ["exclude", "include"].contains(&entry.key.as_str())) {
        if let Content::List(rules) = &mut entry.node.content {
            rules.retain(|rule| !about(rule, &entry.key));
        }
    }
    for tables in entries.iter_mut().filter(|entry| ["limit", "table"].contains(&entry.key.as_str())) {
        if let Content::List(tables) = &mut tables.node.content {
            tables.retain(|table| {
                let of_gone = table.get("workload").filter(|_| factor == "workload");
                let is_gone = of_gone.is_some_and(|name| gone(&name.json(), "where"));
                !is_gone && !table.get("where").is_some_and(|rule| about(rule, "where"))
            });
        }
    }
    if factor == "workload" {
        entries.retain(|entry| entry.key != "baseline" || !about(&entry.node, &entry.key));
    }
    let baseline = entries.iter_mut().find(|entry| entry.key == "baseline" && entry.node.is_table());
    if let Some(baseline) = baseline.filter(|entry| about(&entry.node, &entry.key)) {
        // What it says of the other factors stays: the scenario most like it is taken.
        let left = flatten(&baseline.node).into_iter().filter(|(name, ..)| name != factor);
        baseline.node.content = Content::Table(left.map(|(key, span, node)| Entry { key, span, node }).collect());
    }
}

fn always_sets(factor: &Entry, path: &str) -> bool {
    let levels = factor.node.entries();
    !levels.is_empty() && levels.iter().all(|level| flatten(&level.node).iter().any(|known| known.0 == path))
}

/// A list is many values, except of a setting that is itself a list: there only a list of lists is many.
fn levels(path: &str, value: Node, catalogue: &dyn Catalogue) -> Vec<Node> {
    let kind = setting_at(path, None, catalogue, &mut Vec::new()).map(|setting| setting.kind);
    if kind.is_some_and(|kind| is_one_value(&value, kind)) { vec![value] } else { values(value) }
}

fn is_one_value(value: &Node, kind: Kind) -> bool {
    let Content::List(items) = &value.content else { return true };
    let lists = !items.is_empty() && items.iter().all(|item| matches!(item.content, Content::List(_)));
    matches!(kind, Kind::TextList | Kind::IntegerList) && !lists
}

fn values(value: Node) -> Vec<Node> {
    match value.content {
        Content::List(nodes) => nodes,
        _ => vec![value],
    }
}

/// The entries of the wanted names, in their order.
fn chosen(of: &str, entries: &[Entry], wanted: Vec<Node>, problems: &mut Vec<Problem>) -> Vec<Entry> {
    let mut found = Vec::new();
    for name in wanted {
        let name = factor::level_name(&name.json());
        match entries.iter().find(|entry| Some(entry.key.as_str()) == name.as_str()) {
            Some(entry) => found.push(entry.clone()),
            None => {
                let known: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
                problems.push(Problem::unknown_level(of, &name, &known, None));
            }
        }
    }
    found
}

fn keep_workloads(root: &mut Node, wanted: Vec<Node>, problems: &mut Vec<Problem>) {
    let Some(Node { content: Content::Table(entries), .. }) = root.get("workload") else { return };
    let kept = chosen("workload", entries, wanted, problems);
    if kept.is_empty() {
        return;
    }
    let names = |entries: &[Entry]| entries.iter().map(|entry| Value::from(entry.key.as_str())).collect::<Vec<_>>();
    let (before, left) = (names(entries), names(&kept));
    root.set(&["workload"], Node { span: None, content: Content::Table(kept) });
    forget_rules(root, "workload", &before, &left);
    let workload = |path: &str| path.strip_prefix("workload.").and_then(|rest| rest.split('.').next()).map(Value::from);
    let gone = |path: &str| workload(path).is_some_and(|name| before.contains(&name) && !left.contains(&name));
    let (taken, mut factors): (Vec<Entry>, Vec<Entry>) = factors(root).into_iter().partition(|factor| {
        let mut paths = factor.node.entries().iter().flat_map(|level| flatten(&level.node)).peekable();
        gone(&factor.key) || paths.peek().is_some() && paths.all(|(path, ..)| gone(&path))
    });
    for factor in taken {
        forget_rules(root, &factor.key, &level_keys(&factor.node), &[]);
    }
    // Levels may set something of several workloads.
    let levels = factors.iter_mut().filter_map(|factor| match &mut factor.node.content {
        Content::Table(levels) => Some(levels),
        _ => None,
    });
    for level in levels.flatten().filter(|level| level.node.is_table()) {
        let kept = flatten(&level.node).into_iter().filter(|(path, ..)| !gone(path));
        level.node.content = Content::Table(kept.map(|(key, span, node)| Entry { key, span, node }).collect());
    }
    if root.get("factors").is_some_and(Node::is_table) {
        root.set(&["factors"], Node { span: None, content: Content::Table(factors) });
    }
}
