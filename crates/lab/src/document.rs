//! A TOML document in which every value knows its place: the line of the file, or the override that gave it.

use serde_json::Value as Json;
use sluicegate_base::params::Raw;
use std::fmt;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A scenario that cannot be run: where, what, which rule, and the nearest name where that helps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError(pub String);

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ScenarioError {}

/// Where a value was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// This line of the file, counted from 1.
    Line(usize),
    /// An override: an entry of `sets` in Python, `--set` on the command line.
    Set,
}

/// A value with its place.
#[derive(Clone, Debug)]
pub struct Item {
    /// Where it was written.
    pub place: Place,
    /// What was written.
    pub node: Node,
}

impl Item {
    /// The same, written by an override, with all that it holds.
    fn into_set(self) -> Item {
        let node = match self.node {
            Node::Leaf(raw) => Node::Leaf(raw),
            Node::Table(entries) => {
                Node::Table(entries.into_iter().map(|(name, item)| (name, item.into_set())).collect())
            }
            Node::Array(items) => Node::Array(items.into_iter().map(Item::into_set).collect()),
        };
        Item { place: Place::Set, node }
    }
}

/// What a document can hold.
#[derive(Clone, Debug)]
pub enum Node {
    /// A value for a field.
    Leaf(Raw),
    /// A table, in the order of the file.
    Table(Vec<(String, Item)>),
    /// An array of tables.
    Array(Vec<Item>),
}

impl Node {
    /// As it is written, as JSON.
    #[must_use]
    pub fn json(&self) -> Json {
        match self {
            Node::Leaf(raw) => json(raw),
            Node::Table(entries) => entries.iter().map(|(key, item)| (key.clone(), item.node.json())).collect(),
            Node::Array(items) => items.iter().map(|item| item.node.json()).collect(),
        }
    }
}

/// The most parts of a dotted key: as deep as TOML itself may nest here. What is much deeper cannot be given up again on a
/// thread's stack.
const DEEPEST: usize = 80;

/// A document and the name that its messages bear.
#[derive(Clone, Debug)]
pub struct Document {
    /// The file's name.
    pub name: String,
    /// The root table.
    pub root: Vec<(String, Item)>,
}

impl Document {
    /// As it is written, as JSON.
    #[must_use]
    pub fn json(&self) -> Json {
        self.root.iter().map(|(key, item)| (key.clone(), item.node.json())).collect()
    }

    /// Reads a document. The error names file and line.
    pub fn parse(text: &str, name: &str) -> Result<Document, ScenarioError> {
        let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
        let line = |at: usize| 1 + ends.partition_point(|&end| end < at);
        let table = DeTable::parse(text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            let what = error.message().lines().collect::<Vec<_>>().join(": ");
            let text = text.get(span.clone()).map_or("", str::trim);
            let near = if text.is_empty() { String::new() } else { format!(" at {text:?}") };
            ScenarioError(format!("{}: not valid TOML: {what}{near}", at_line(name, line(span.start))))
        })?;
        Ok(Document { name: name.to_owned(), root: entries(table.get_ref(), &Source { text, line: &line }) })
    }

    /// Puts `value` at a dotted key such as `flows.1.rate`, reading it as TOML if it is, else as a text.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ScenarioError> {
        self.put(key, override_value(key, value)?)
    }

    /// Puts an item at a dotted key, with the place that it has.
    pub fn put(&mut self, key: &str, item: Item) -> Result<(), ScenarioError> {
        let Document { name, root } = self;
        let fail = |rule: &str| Err(error_at(name, item.place, key, rule));
        let parts: Vec<&str> = key.split('.').collect();
        if parts.iter().any(|part| part.is_empty()) {
            return fail("must be a dotted key, such as queue.discipline");
        }
        if parts.len() > DEEPEST {
            let short: String = key.chars().take(40).collect();
            let rule = format!("must have at most {DEEPEST} parts, not {}", parts.len());
            return Err(error_at(name, item.place, &format!("{short}…"), &rule));
        }
        let (last, way) = parts.split_last().expect("split gives one part at least");
        let mut table = root;
        let mut way = way.iter();
        while let Some(part) = way.next() {
            let at = table.iter().position(|(name, _)| name == part).unwrap_or_else(|| {
                table.push(((*part).to_owned(), Item { place: item.place, node: Node::Table(Vec::new()) }));
                table.len() - 1
            });
            table = match &mut table[at].1.node {
                Node::Table(inner) => inner,
                Node::Array(items) => {
                    let count = items.len();
                    let index = way.next().and_then(|index| index.parse::<usize>().ok());
                    match index.and_then(|index| items.get_mut(index)).map(|item| &mut item.node) {
                        Some(Node::Table(inner)) => inner,
                        _ => {
                            let most = count.saturating_sub(1);
                            return fail(&format!("{part} must be followed by the number of an entry, 0 to {most}"));
                        }
                    }
                }
                Node::Leaf(_) => return fail(&format!("{part} is a value, not a table")),
            };
        }
        table.retain(|(name, _)| name != last);
        table.push(((*last).to_owned(), item));
        Ok(())
    }

    /// The item at a dotted key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Item> {
        let mut parts = key.split('.');
        let first = parts.next()?;
        let find = |table: &'_ [(String, Item)], part: &str| table.iter().position(|(name, _)| name == part);
        let item = &self.root[find(&self.root, first)?].1;
        parts.try_fold(item, |item, part| match &item.node {
            Node::Table(table) => Some(&table[find(table, part)?].1),
            Node::Array(items) => items.get(part.parse::<usize>().ok()?),
            Node::Leaf(_) => None,
        })
    }

    /// An error at a place: `file:line: path: rule`.
    #[must_use]
    pub fn error(&self, place: Place, path: &str, rule: &str) -> ScenarioError {
        error_at(&self.name, place, path, rule)
    }
}

/// The value that an override gives to `key`: TOML if it is, else a text.
pub fn override_value(key: &str, value: &str) -> Result<Item, ScenarioError> {
    match Document::parse(&format!("value = {value}"), "").map(|parsed| parsed.root) {
        Ok(mut root) if root.len() == 1 => Ok(root.remove(0).1.into_set()),
        Ok(_) => Err(error_at("", Place::Set, key, "must be one value")),
        Err(_) => Ok(Item { place: Place::Set, node: Node::Leaf(Raw::Text(value.to_owned())) }),
    }
}

fn error_at(name: &str, place: Place, path: &str, rule: &str) -> ScenarioError {
    ScenarioError(match place {
        Place::Line(line) => format!("{}: {path}: {rule}", at_line(name, line)),
        Place::Set => format!("sets: {path}: {rule}"),
    })
}

/// The text of a document, and the line of each place in it.
struct Source<'a> {
    text: &'a str,
    line: &'a dyn Fn(usize) -> usize,
}

fn entries(table: &DeTable<'_>, source: &Source<'_>) -> Vec<(String, Item)> {
    let mut entries: Vec<(usize, String, Item)> = table
        .iter()
        .map(|(key, value)| {
            let at = key.span().start;
            let item = Item { place: Place::Line((source.line)(at)), node: node(value, source) };
            (at, key.get_ref().to_string(), item)
        })
        .collect();
    entries.sort_by_key(|(at, ..)| *at);
    entries.into_iter().map(|(_, key, item)| (key, item)).collect()
}

fn node(value: &Spanned<DeValue<'_>>, source: &Source<'_>) -> Node {
    let other = || {
        let written = source.text.get(value.span()).unwrap_or("such a value");
        let words = written.split_whitespace().collect::<Vec<_>>().join(" ");
        let short: String = words.chars().take(40).collect();
        Raw::Other(if short.len() < words.len() { short + "…" } else { short })
    };
    let leaf = match value.get_ref() {
        DeValue::Table(table) => return Node::Table(entries(table, source)),
        DeValue::Array(items) if !items.is_empty() && items.iter().all(|item| item.get_ref().is_table()) => {
            let place = |item: &Spanned<DeValue<'_>>| Place::Line((source.line)(item.span().start));
            return Node::Array(
                items.iter().map(|item| Item { place: place(item), node: node(item, source) }).collect(),
            );
        }
        DeValue::Array(items) => items
            .iter()
            .map(|item| item.get_ref().as_str().map(str::to_owned))
            .collect::<Option<Vec<_>>>()
            .map_or_else(other, Raw::List),
        DeValue::String(text) => Raw::Text(text.to_string()),
        DeValue::Boolean(on) => Raw::Switch(*on),
        DeValue::Integer(n) => i64::from_str_radix(n.as_str(), n.radix()).map_or_else(|_| other(), Raw::Integer),
        DeValue::Float(x) => x.as_str().parse().map_or_else(|_| other(), Raw::Number),
        DeValue::Datetime(_) => other(),
    };
    Node::Leaf(leaf)
}

/// A file and a line of it; no line for a text that nobody sees, whose name is in angle brackets.
fn at_line(name: &str, line: usize) -> String {
    if name.starts_with('<') { name.to_owned() } else { format!("{name}:{line}") }
}

/// A value as it is written, as JSON.
pub(crate) fn json(raw: &Raw) -> Json {
    match raw {
        Raw::Switch(on) => Json::from(*on),
        Raw::Integer(n) => Json::from(*n),
        Raw::Number(x) => Json::from(*x),
        Raw::Text(text) => Json::from(text.clone()),
        Raw::List(list) => Json::from(list.clone()),
        Raw::Other(_) => Json::from(shown(raw)),
    }
}

/// A value as messages show it.
#[must_use]
pub fn shown(raw: &Raw) -> String {
    match raw {
        Raw::Switch(on) => on.to_string(),
        Raw::Integer(n) => n.to_string(),
        Raw::Number(x) => format!("{x:?}"), // with its point: 30.0 is not 30
        Raw::Text(text) => format!("{text:?}"),
        Raw::List(list) => format!("{list:?}"),
        Raw::Other(text) => text.clone(),
    }
}
