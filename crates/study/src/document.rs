//! Text to a tree that remembers where everything stood. The only file that speaks TOML.

use crate::problem::{Problem, Span};
use serde_json::Value;
use toml::de::{DeTable, DeValue};

/// Tables and lists within one another; a study needs four. The parser's own limit counts each dotted key and each bracket
/// anew, so that a hostile file could still nest thousands deep and run out of stack.
const DEPTH_MAX: usize = 32;

/// A value and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Place of the value; none when the command line gave it.
    pub span: Span,
    /// The value.
    pub content: Content,
}

/// What a node holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// A table, in the order of the text.
    Table(Vec<Entry>),
    /// An array.
    List(Vec<Node>),
    /// Anything else.
    Scalar(Value),
}

/// A key of a table, its place and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Its place.
    pub span: Span,
    /// What it is set to.
    pub node: Node,
}

impl Node {
    /// An empty table.
    pub fn table() -> Node {
        Node { span: None, content: Content::Table(Vec::new()) }
    }

    /// Whether it is a table.
    pub fn is_table(&self) -> bool {
        matches!(self.content, Content::Table(_))
    }

    /// Whether all of it stands in the file: what a change says has no place.
    pub fn is_of_file(&self) -> bool {
        self.span.is_some() && self.entries().iter().all(|entry| entry.node.is_of_file())
    }

    /// The entries of a table; nothing for anything else.
    pub fn entries(&self) -> &[Entry] {
        match &self.content {
            Content::Table(entries) => entries,
            _ => &[],
        }
    }

    /// The same without tables in it: TOML makes some of a name with dots, and servers' settings have such names.
    pub fn dotted(&self) -> Node {
        let Content::Table(entries) = &self.content else { return self.clone() };
        let flat = entries.iter().flat_map(|entry| match entry.node.dotted() {
            Node { content: Content::Table(inner), .. } if !inner.is_empty() => {
                let under = |inner: Entry| Entry { key: format!("{}.{}", entry.key, inner.key), ..inner };
                inner.into_iter().map(under).collect::<Vec<Entry>>()
            }
            node => vec![Entry { node, ..entry.clone() }],
        });
        Node { span: self.span.clone(), content: Content::Table(flat.collect()) }
    }

    /// A table with these of its entries only.
    pub fn only(&self, is_kept: impl Fn(&Entry) -> bool) -> Node {
        let kept = self.entries().iter().filter(|entry| is_kept(entry)).cloned().collect();
        Node { span: self.span.clone(), content: Content::Table(kept) }
    }

    /// The value under a key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    /// The whole value without places.
    pub fn json(&self) -> Value {
        match &self.content {
            Content::Table(entries) => entries.iter().map(|entry| (entry.key.clone(), entry.node.json())).collect(),
            Content::List(nodes) => nodes.iter().map(Node::json).collect(),
            Content::Scalar(value) => value.clone(),
        }
    }

    /// Sets the value at a dotted path, making tables on the way.
    pub fn set(&mut self, path: &[&str], value: Node) {
        let Some((first, rest)) = path.split_first() else {
            *self = value;
            return;
        };
        if !self.is_table() {
            self.content = Content::Table(Vec::new());
        }
        let Content::Table(entries) = &mut self.content else { unreachable!("made a table above") };
        let index = entries.iter().position(|entry| entry.key == *first).unwrap_or_else(|| {
            entries.push(Entry { key: (*first).to_string(), span: None, node: Node::table() });
            entries.len() - 1
        });
        entries[index].node.set(rest, value);
    }
}

/// Parses a whole file; every syntax error at once.
pub fn parse(text: &str) -> (Node, Vec<Problem>) {
    let (table, errors) = DeTable::parse_recoverable(text);
    // Renderers cut the text at these places.
    let boundary =
        |offset: usize| (0..=offset.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let problem = |error: &toml::de::Error| {
        let span = error.span().map(|span| boundary(span.start)..boundary(span.end));
        Problem::new(format!("this is not TOML: {}", error.message()), span, "here")
    };
    let mut reader = Reader { depth: 0, problems: errors.iter().map(problem).collect() };
    let content = reader.table(table.get_ref());
    let mut root = Node { span: Some(table.span()), content };
    merge_data_volume(&mut root, &mut reader.problems);
    (root, reader.problems)
}

/// `[storage.data]` is another way to write `[storage]`, beside `[storage.wal]`; in factors and rules as well.
fn merge_data_volume(node: &mut Node, problems: &mut Vec<Problem>) {
    let entries = match &mut node.content {
        Content::Table(entries) => entries,
        Content::List(nodes) => return nodes.iter_mut().for_each(|node| merge_data_volume(node, problems)),
        Content::Scalar(_) => return,
    };
    for entry in entries {
        entry.key = plain_path(&entry.key);
        merge_data_volume(&mut entry.node, problems);
        let Content::Table(inner) = &mut entry.node.content else { continue };
        let data = inner.iter().position(|inner| inner.key == "data" && inner.node.is_table());
        let Some(data) = data.filter(|_| entry.key == "storage").map(|index| inner.remove(index)) else { continue };
        for of_data in data.node.entries() {
            if inner.iter().any(|known| known.key == of_data.key) {
                let message = format!("`storage` and `storage.data` both set `{}`", of_data.key);
                problems.push(Problem::new(message, of_data.span.clone(), "one of them: they are the same volume"));
            } else {
                inner.push(of_data.clone());
            }
        }
    }
}

/// A path without the name of the volume that `[storage]` itself is.
pub fn plain_path(path: &str) -> String {
    path.strip_prefix("storage.data.").map_or_else(|| path.to_string(), |rest| format!("storage.{rest}"))
}

/// A value from the command line: TOML where it is TOML, plain text where not.
pub fn parse_value(text: &str) -> Node {
    let parsed = DeValue::parse(text).ok().and_then(|value| {
        let mut reader = Reader { depth: 0, problems: Vec::new() };
        let content = reader.content(value.get_ref(), None);
        reader.problems.is_empty().then_some(content)
    });
    let mut node = Node { span: None, content: parsed.unwrap_or_else(|| Content::Scalar(Value::from(text))) };
    forget_places(&mut node);
    node
}

fn forget_places(node: &mut Node) {
    node.span = None;
    match &mut node.content {
        Content::Table(entries) => entries.iter_mut().for_each(|entry| {
            entry.span = None;
            forget_places(&mut entry.node);
        }),
        Content::List(nodes) => nodes.iter_mut().for_each(forget_places),
        Content::Scalar(_) => {}
    }
}

/// Turns the parser's tree into ours.
struct Reader {
    depth: usize,
    problems: Vec<Problem>,
}

impl Reader {
    fn table(&mut self, table: &DeTable) -> Content {
        let entry = |(key, value): (&toml::Spanned<_>, &toml::Spanned<DeValue>)| {
            let key_text: &toml::de::DeString = key.get_ref();
            Entry { key: key_text.to_string(), span: Some(key.span()), node: self.node(value) }
        };
        let mut entries: Vec<Entry> = table.iter().map(entry).collect();
        // The parser sorts by name; a study's factors come in the order of its text.
        entries.sort_by_key(|entry| entry.span.as_ref().map(|span| span.start));
        Content::Table(entries)
    }

    fn node(&mut self, value: &toml::Spanned<DeValue>) -> Node {
        Node { span: Some(value.span()), content: self.content(value.get_ref(), Some(value.span())) }
    }

    fn content(&mut self, value: &DeValue, span: Span) -> Content {
        if self.depth == DEPTH_MAX {
            self.problems.push(Problem::new("nested too deep", span, "a study needs four levels"));
            return Content::Scalar(Value::Null);
        }
        self.depth += 1;
        let content = match value {
            DeValue::Table(table) => self.table(table),
            DeValue::Array(items) => Content::List(items.iter().map(|item| self.node(item)).collect()),
            scalar => Content::Scalar(self.scalar(scalar, span)),
        };
        self.depth -= 1;
        content
    }

    fn scalar(&mut self, value: &DeValue, span: Span) -> Value {
        match value {
            DeValue::Boolean(value) => Value::from(*value),
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).map_or_else(
                |_| {
                    let message = format!("{} is too large", number.as_str());
                    self.problems.push(Problem::new(message, span, "whole numbers have 64 bits"));
                    Value::Null
                },
                Value::from,
            ),
            // JSON has no `nan` and `inf`: they stay texts, which no number's setting takes.
            DeValue::Float(number) => match number.as_str().parse::<f64>() {
                Ok(finite) if finite.is_finite() => Value::from(finite),
                _ => Value::from(number.as_str()),
            },
            DeValue::String(text) => Value::from(text.to_string()),
            DeValue::Datetime(moment) => Value::from(moment.to_string()),
            DeValue::Table(_) | DeValue::Array(_) => Value::Null,
        }
    }
}
