//! One table of a document read against its declarations.

use crate::document::{Document, Item, Node, Place, ScenarioError, shown};
use serde_json::{Map, Value as Json};
use sluicegate_base::params::{DefaultValue, Problem, Table, Values, did_you_mean};
use sluicegate_base::{Link, Value};

/// A table of the document, and what it is called in messages.
#[derive(Clone, Copy)]
pub struct Section<'a> {
    /// The document.
    pub document: &'a Document,
    /// Its path: `queue.red`.
    pub path: &'a str,
    /// Where it begins.
    pub place: Place,
    /// What it holds.
    pub entries: &'a [(String, Item)],
}

/// The values given for the fields of one declaration, with their places.
pub type Found = Vec<Option<(Value, Place)>>;

impl<'a> Section<'a> {
    /// The path of a key in it.
    #[must_use]
    pub fn key(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// The item at a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&'a Item> {
        self.entries.iter().find(|(name, _)| name == key).map(|(_, item)| item)
    }

    /// An error at a key of this section, or at its beginning when the key is not there.
    #[must_use]
    pub fn error(&self, key: &str, rule: &str) -> ScenarioError {
        let place = self.get(key).map_or(self.place, |item| item.place);
        self.document.error(place, &self.key(key), rule)
    }

    /// Refuses keys that are neither `known` nor declared in `tables`.
    pub fn refuse_unknown(&self, tables: &[Table], known: &[&str]) -> Result<(), ScenarioError> {
        let declared = tables.iter().flat_map(|table| table.fields.iter().map(|field| field.name));
        let names: Vec<&str> = declared.chain(known.iter().copied()).collect();
        match self.entries.iter().find(|(key, _)| !names.contains(&key.as_str())) {
            Some((key, _)) => Err(self.error(key, &format!("no such key{}", did_you_mean(key, &names)))),
            None => Ok(()),
        }
    }

    /// Reads the fields of one declaration.
    pub fn read(&self, table: &Table) -> Result<Found, ScenarioError> {
        let read = |field: &sluicegate_base::Field| {
            let Some(item) = self.get(field.name) else { return Ok(None) };
            let Node::Leaf(raw) = &item.node else {
                return Err(self.error(field.name, &format!("must be {}", field.expected())));
            };
            let fail = |rule: String| {
                self.document.error(item.place, &format!("{} = {}", self.key(field.name), shown(raw)), &rule)
            };
            field.read(raw).map(|value| Some((value, item.place))).map_err(fail)
        };
        table.fields.iter().map(read).collect()
    }

    /// Fills in defaults and tests the rules.
    pub fn resolve(&self, table: &Table, found: &Found, link: &Link) -> Result<Values, ScenarioError> {
        (table.resolve)(&mut |at| found[at].as_ref().map(|(value, _)| value.clone()), link).map_err(|problem| {
            match problem {
                Problem::Missing(field) => self.document.error(self.place, &self.key(field), "must be given"),
                Problem::Broken(rule) => {
                    let given = rule.fields.iter().rev().filter_map(|name| {
                        let at = table.position(name)?;
                        found[at].as_ref().map(|(value, place)| (*name, value, *place))
                    });
                    let all: Vec<String> = rule
                        .fields
                        .iter()
                        .filter_map(|name| {
                            let at = table.position(name)?;
                            let value = found[at].as_ref().map(|(value, _)| value.clone());
                            let value = value.or_else(|| table.fields[at].default_for(link))?;
                            Some(format!("{name} is {value}"))
                        })
                        .collect();
                    let why = format!("breaks the rule {} ({})", rule.text, all.join(", "));
                    match given.last() {
                        Some((name, value, place)) => {
                            self.document.error(place, &format!("{} = {value}", self.key(name)), &why)
                        }
                        None => self.document.error(self.place, self.path, &why),
                    }
                }
            }
        })
    }
}

/// A value as JSON: numbers and switches as they are, the rest as a scenario writes them.
#[must_use]
pub fn json(value: &Value) -> Json {
    match value {
        Value::Number(x) => Json::from(*x),
        Value::Integer(n) => Json::from(*n),
        Value::Switch(on) => Json::from(*on),
        Value::Texts(list) => Json::from(list.clone()),
        Value::Size(sluicegate_base::Size::Packets(n)) => Json::from(*n),
        other => Json::from(other.to_string()),
    }
}

/// Resolved values by name; absent ones are left out.
pub fn object(table: &Table, values: &Values, into: &mut Map<String, Json>) {
    for (field, value) in table.fields.iter().zip(values) {
        if let Some(value) = value {
            into.insert(field.name.to_owned(), json(value));
        }
    }
}

/// A field's default as JSON, when it is the same everywhere.
#[must_use]
pub fn default_json(default: &DefaultValue) -> Json {
    match default {
        DefaultValue::Fixed(value) => value().as_ref().map_or(Json::Null, json),
        _ => Json::Null,
    }
}
