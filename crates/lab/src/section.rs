//! One table of a document read against its declarations.

use crate::document::{Document, Item, Node, Place, ScenarioError, shown};
use serde_json::{Map, Value as Json};
use sluicegate_base::params::{DefaultValue, Problem, Raw, Rule, Table, Values, did_you_mean, given};
use sluicegate_base::{Declared, ETHERNET, Link, Params, Rate, Size, Span, Value};
use sluicegate_tcp::params::profile_of;
use sluicegate_tcp::profiles::{PROFILES, Profile};

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

/// A value that was given for a field.
#[derive(Clone, Debug)]
pub struct Given {
    /// The value.
    pub value: Value,
    /// Where it was written.
    pub place: Place,
    /// The key it was written at: `queue.min_th`.
    pub key: String,
}

/// The values given for the fields of one declaration, in its order.
pub type Found = Vec<Option<Given>>;

/// The values found at a link: a buffer that is given as a time holds what the link sends in it. That is in bytes, unless the
/// bounds of the field or the rules of the table ask for packets.
#[must_use]
pub fn values_at(table: &Table, found: &Found, link: &Link) -> Values {
    let of = |size: &dyn Fn(Span) -> Size| -> Values {
        let values = table.fields.iter().zip(found).map(|(field, given)| match given.as_ref()?.value {
            Value::Time(time) if field.is_buffer() => Some(Value::Size(size(time))),
            ref value => Some(value.clone()),
        });
        values.collect()
    };
    let bytes = of(&|time| Size::Bytes(link.bytes_in(time)));
    let fits = beyond(table, found, &bytes).is_none() && (table.resolve)(&mut |at| bytes[at].clone(), link).is_ok();
    if fits { bytes } else { of(&|time| Size::Packets(link.packets_in(time).max(1))) }
}

/// The first buffer given as a time that is beyond its bounds with these values; none if all are within.
#[must_use]
pub fn beyond(table: &Table, found: &Found, values: &Values) -> Option<usize> {
    (0..values.len()).find(|&at| match (&found[at], &values[at]) {
        (Some(Given { value: Value::Time(_), .. }), Some(Value::Size(size))) => {
            !table.fields[at].range.holds(size.amount() as f64)
        }
        _ => false,
    })
}

/// The value found for the field with this index.
pub fn value(found: &Found, at: usize) -> Option<Value> {
    found[at].as_ref().map(|given| given.value.clone())
}

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

    /// The value at a key, as it is written.
    #[must_use]
    pub fn given(&self, key: &str) -> Option<&'a Raw> {
        match &self.get(key)?.node {
            Node::Leaf(raw) => Some(raw),
            _ => None,
        }
    }

    /// The table at a key of the root; an absent one is empty.
    pub fn table(&self, key: &'static str) -> Result<Section<'a>, ScenarioError> {
        let (place, entries): (Place, &'a [(String, Item)]) = match self.get(key) {
            None => (Place::Line(1), &[]),
            Some(Item { place, node: Node::Table(entries) }) => (*place, entries),
            Some(_) => return Err(self.error(key, &format!("must be a table: [{key}]"))),
        };
        Ok(Section { document: self.document, path: key, place, entries })
    }

    /// An error at a key of this section, or at its beginning when the key is not there.
    #[must_use]
    pub fn error(&self, key: &str, rule: &str) -> ScenarioError {
        let place = self.get(key).map_or(self.place, |item| item.place);
        self.document.error(place, &self.key(key), rule)
    }

    /// Refuses keys that are neither `known` nor declared in `tables`.
    pub fn refuse_unknown(&self, tables: &[Table], known: &[&str]) -> Result<(), ScenarioError> {
        self.refuse_unknown_for("", tables, known)
    }

    /// The same, saying `whose` keys these are: ` for kind tcp`.
    pub fn refuse_unknown_for(&self, whose: &str, tables: &[Table], known: &[&str]) -> Result<(), ScenarioError> {
        let declared = tables.iter().flat_map(|table| table.fields.iter().map(|field| field.name));
        let names: Vec<&str> = declared.chain(known.iter().copied()).collect();
        match self.entries.iter().find(|(key, _)| !names.contains(&key.as_str())) {
            Some((key, _)) => Err(self.error(key, &format!("no such key{whose}{}", did_you_mean(key, &names)))),
            None => Ok(()),
        }
    }

    /// Reads the fields of one declaration.
    pub fn read(&self, table: &Table) -> Result<Found, ScenarioError> {
        self.read_unless(table, |_, _| false)
    }

    /// The same, where what a field cannot be is left to another table if `others` says that it is meant there.
    pub fn read_unless(&self, table: &Table, others: impl Fn(&str, &Raw) -> bool) -> Result<Found, ScenarioError> {
        let read = |field: &sluicegate_base::Field| {
            let Some(item) = self.get(field.name) else { return Ok(None) };
            let Node::Leaf(raw) = &item.node else {
                return Err(self.error(field.name, &format!("must be {}", field.expected())));
            };
            let key = self.key(field.name);
            let read = field.buffer_time(raw).map_or_else(|| field.read(raw), |time| Ok(Value::Time(time)));
            match read {
                Ok(value) => Ok(Some(Given { value, place: item.place, key })),
                Err(_) if others(field.name, raw) => Ok(None),
                Err(rule) => Err(self.document.error(item.place, &format!("{key} = {}", shown(raw)), &rule)),
            }
        };
        table.fields.iter().map(read).collect()
    }

    /// Fills in defaults and tests the rules.
    pub fn resolve(&self, table: &Table, found: &Found, link: &Link) -> Result<Values, ScenarioError> {
        let values = values_at(table, found, link);
        if let Some(at) = beyond(table, found, &values) {
            let Given { value, place, key } = found[at].as_ref().expect("a value that was given");
            let (held, range) = (values[at].as_ref().expect("its size"), table.fields[at].range.text(""));
            let rule = format!("{held} at {}, must be {range} packets", link.rate);
            return Err(self.document.error(*place, &format!("{key} = {value}"), &rule));
        }
        (table.resolve)(&mut given(&values), link).map_err(|problem| match problem {
            Problem::Missing(field) => self.document.error(self.place, &self.key(field), "must be given"),
            Problem::Broken(rule) => self.broken(&rule, table, found, link),
        })
    }

    /// The error for a rule between fields, at the first of them that was given.
    fn broken(&self, rule: &Rule, table: &Table, found: &Found, link: &Link) -> ScenarioError {
        let named = || rule.fields.iter().filter_map(|name| table.position(name));
        let in_force = named().filter_map(|at| {
            let default = || table.fields[at].default_for(link);
            let value =
                value(found, at).or_else(default).or_else(|| profile_value(table, found, table.fields[at].name))?;
            Some(format!("{} is {value}", table.fields[at].name))
        });
        let why = format!("breaks the rule {} ({})", rule.text, in_force.collect::<Vec<_>>().join(", "));
        match named().find_map(|at| found[at].as_ref()) {
            Some(Given { value, place, key }) => self.document.error(*place, &format!("{key} = {value}"), &why),
            None => self.document.error(self.place, self.path, &why),
        }
    }
}

/// Reads one declared thing into its typed parameters and its resolved form.
pub(crate) fn typed<T: Declared>(
    section: &Section<'_>,
    rate: Rate,
    name: &str,
    resolved: &mut Map<String, Json>,
) -> Result<T::Params, ScenarioError> {
    let mut map = Map::new();
    let params = fields::<T>(section, rate, &mut map)?;
    resolved.insert(name.to_owned(), Json::Object(map));
    Ok(params)
}

/// The same, where the resolved values go into a map that holds others too.
pub(crate) fn fields<T: Declared>(
    section: &Section<'_>,
    rate: Rate,
    map: &mut Map<String, Json>,
) -> Result<T::Params, ScenarioError> {
    let table = Table::of::<T>();
    let link = Link { rate, packet: ETHERNET };
    let found = section.read(&table)?;
    let values = section.resolve(&table, &found, &link)?;
    object(&table, &values, map);
    fill_from_profile(&table, &found, map);
    let built = T::Params::build(&mut given(&values), &link);
    Ok(built.unwrap_or_else(|problem| unreachable!("resolved values build: {problem:?}")))
}

/// The host profile that these values choose; `None` for a declaration without profiles.
#[must_use]
pub fn profile(table: &Table, found: &Found) -> Option<&'static Profile> {
    table.position("profile")?;
    Some(&PROFILES[profile_of(&|name| value(found, table.position(name)?)) as usize])
}

/// What the profile says of a field.
fn profile_value(table: &Table, found: &Found, field: &str) -> Option<Value> {
    profile(table, found)?.values.iter().find(|value| value.field == field).map(|value| (value.value)())
}

/// A value as JSON: numbers and switches as they are, the rest as a scenario writes them.
#[must_use]
pub fn json(value: &Value) -> Json {
    match value {
        Value::Number(x) => Json::from(*x),
        Value::Integer(n) => Json::from(*n),
        Value::Switch(on) => Json::from(*on),
        Value::Texts(list) => Json::from(list.clone()),
        Value::Times(list) => list.iter().map(ToString::to_string).collect(),
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

/// Adds what the host profile supplies for fields that have no value yet.
pub fn fill_from_profile(table: &Table, found: &Found, into: &mut Map<String, Json>) {
    let Some(profile) = profile(table, found) else { return };
    into.insert("profile".to_owned(), profile.name.into());
    for value in profile.values {
        into.entry(value.field).or_insert_with(|| json(&(value.value)()));
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
