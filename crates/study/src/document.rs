//! Text to a tree that remembers where everything stood. The only file that speaks TOML.

use crate::problem::Problem;
use serde_json::Value;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// A value and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Place of the value; none when the command line gave it.
    pub span: Option<Range<usize>>,
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
    pub span: Option<Range<usize>>,
    /// What it is set to.
    pub node: Node,
}

impl Node {
    /// An empty table.
    pub fn table() -> Node {
        Node { span: None, content: Content::Table(Vec::new()) }
    }

    /// The entries of a table; nothing for anything else.
    pub fn entries(&self) -> &[Entry] {
        match &self.content {
            Content::Table(entries) => entries,
            _ => &[],
        }
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
        if !matches!(self.content, Content::Table(_)) {
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
    let mut problems: Vec<Problem> = errors
        .iter()
        .map(|error| Problem::new(format!("this is not TOML: {}", error.message()), error.span(), "here"))
        .collect();
    let span = Some(table.span());
    let node = Node { span, content: content_of_table(table.get_ref(), &mut problems) };
    (node, problems)
}

/// A value from the command line: TOML where it is TOML, plain text where not.
pub fn parse_value(text: &str) -> Node {
    let parsed = DeValue::parse(text).ok().and_then(|value| {
        let mut problems = Vec::new();
        let content = content(value.get_ref(), None, &mut problems);
        problems.is_empty().then_some(content)
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

fn content_of_table(table: &DeTable, problems: &mut Vec<Problem>) -> Content {
    let mut entries: Vec<Entry> = table
        .iter()
        .map(|(key, value)| Entry {
            key: key.get_ref().to_string(),
            span: Some(key.span()),
            node: Node { span: Some(value.span()), content: content(value.get_ref(), Some(value.span()), problems) },
        })
        .collect();
    // The parser sorts by name; a study's factors come in the order of its text.
    entries.sort_by_key(|entry| entry.span.as_ref().map(|span| span.start));
    Content::Table(entries)
}

fn content(value: &DeValue, span: Option<Range<usize>>, problems: &mut Vec<Problem>) -> Content {
    let scalar = match value {
        DeValue::Table(table) => return content_of_table(table, problems),
        DeValue::Array(items) => {
            let node = |item: &toml::Spanned<DeValue>, problems: &mut Vec<Problem>| Node {
                span: Some(item.span()),
                content: content(item.get_ref(), Some(item.span()), problems),
            };
            return Content::List(items.iter().map(|item| node(item, problems)).collect());
        }
        DeValue::String(text) => Value::from(text.to_string()),
        DeValue::Boolean(value) => Value::from(*value),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Value::from(number),
            Err(_) => {
                problems.push(Problem::new(format!("{} is too large", number.as_str()), span, "whole numbers have 64 bits"));
                Value::Null
            }
        },
        DeValue::Float(number) => Value::from(number.as_str().parse::<f64>().unwrap_or(f64::NAN)),
        DeValue::Datetime(moment) => Value::from(moment.to_string()),
    };
    Content::Scalar(scalar)
}
