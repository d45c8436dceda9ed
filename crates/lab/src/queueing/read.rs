//! Reads the description of a queue: which discipline it has, the shared keys, the tables of single disciplines, the classes.

use super::{CLASSES, Queueing};
use crate::document::{Item, Node, Place, ScenarioError};
use crate::foreign::{self, Foreign};
use crate::link::QUEUE;
use crate::section::{Section, fields, object};
use serde_json::{Map, Value as Json};
use sluicegate_aqm::{ClassEntry, ClassParams, all, is_container};
use sluicegate_base::Link;
use sluicegate_base::params::{Raw, Table, did_you_mean};

/// Most classes of one container, and how deep containers may stand in each other.
const MOST: usize = 256;
const DEEPEST: usize = 4;

/// A key of a queue that its discipline does not have, though several others do: it does nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unused {
    /// Where it was written, and the key: what a message begins with.
    pub place: String,
    /// The discipline that does not have it.
    pub discipline: &'static str,
    /// The nearest key that it has, as a question; empty if none is near.
    pub hint: String,
}

/// Reads a table of a queue, such as `[queue]`; also gives what of it does nothing.
pub(crate) fn queue(
    section: &Section<'_>,
    link: &Link,
    resolved: &mut Map<String, Json>,
) -> Result<(Queueing, Vec<Unused>), ScenarioError> {
    let (mut map, mut unused) = (Map::new(), Vec::new());
    let queue = read(section, link, &[], 0, &mut map, &mut unused)?;
    resolved.insert(QUEUE.to_owned(), Json::Object(map));
    Ok((queue, unused))
}

/// Reads the description of one queue; `beside` names keys that have been read already.
fn read(
    section: &Section<'_>,
    link: &Link,
    beside: &[&str],
    depth: usize,
    map: &mut Map<String, Json>,
    unused: &mut Vec<Unused>,
) -> Result<Queueing, ScenarioError> {
    let names: Vec<&str> = all().iter().map(|entry| entry.table.about.name).collect();
    let tables: Vec<Table> = all().iter().map(|entry| entry.table).collect();
    let fixed = ["discipline", foreign::TABLE, CLASSES];
    let known: Vec<&str> = names.iter().chain(&fixed).chain(beside).copied().collect();
    section.refuse_unknown(&tables, &known)?;
    foreign::given(section)?;
    let shared_classes = classes(section, link, depth, unused)?;
    let mut result = None;
    let chosen = match section.get("discipline").map(|item| (&item.node, item)) {
        None => tables[0].about.name, // Drop Tail: what a link does when nobody says otherwise
        Some((Node::Leaf(Raw::Text(name)), item)) if Foreign::is_name(name) => {
            let foreign = Foreign::read(section, item, name)?;
            *map = foreign.resolved();
            result = Some(Queueing::Foreign(foreign));
            foreign::TABLE
        }
        Some((Node::Leaf(Raw::Text(name)), _)) => {
            let near = || format!("no such discipline: {name:?}{}", did_you_mean(name, &names));
            names.iter().find(|known| *known == name).ok_or_else(|| section.error("discipline", &near()))?
        }
        Some(_) => return Err(section.error("discipline", &format!("must be one of {}", names.join(", ")))),
    };
    if result.is_none() {
        judge_idle(section, &tables, chosen, unused)?;
    }
    let mut shared_classes = Some(shared_classes);
    for table in &tables {
        let name = table.about.name;
        // Disciplines may mean different things by one symbol: what the chosen one means counts.
        let meant_elsewhere = |key: &str, raw: &Raw| {
            let fits = |other: &Table| other.position(key).is_some_and(|at| other.fields[at].read(raw).is_ok());
            name != chosen && tables.iter().any(fits)
        };
        let mut found = section.read_unless(table, meant_elsewhere)?;
        let path = section.key(name);
        let own = match section.get(name) {
            None => None,
            Some(Item { place, node: Node::Table(entries) }) => {
                Some(Section { document: section.document, path: &path, place: *place, entries })
            }
            Some(_) => return Err(section.error(name, &format!("must be a table: [{path}]"))),
        };
        let mut own_classes = None;
        if let Some(own) = &own {
            let more: &[&str] = if is_container(name) { &[CLASSES] } else { &[] };
            own.refuse_unknown(std::slice::from_ref(table), more)?;
            for (shared, own) in found.iter_mut().zip(own.read(table)?) {
                if own.is_some() {
                    *shared = own;
                }
            }
            own_classes = own.get(CLASSES).map(|_| classes(own, link, depth, unused)).transpose()?;
        }
        // A table that is not used is checked too; shared keys alone are checked for the discipline that runs.
        if own.is_some() || name == chosen {
            let section = own.as_ref().unwrap_or(section);
            let values = section.resolve(table, &found, link)?;
            if name == chosen {
                map.insert("discipline".to_owned(), Json::from(name));
                object(table, &values, map);
                let (classes, maps) = match own_classes.or_else(|| shared_classes.take()) {
                    Some(read) if is_container(name) => read,
                    _ => Default::default(),
                };
                if !maps.is_empty() {
                    if let Some(bands) = table.position("bands").and_then(|at| found[at].as_ref()) {
                        let rule = "is for a queue whose classes are not described";
                        return Err(section.document.error(bands.place, &bands.key, rule));
                    }
                    map.insert(CLASSES.to_owned(), Json::Array(maps));
                }
                result = Some(Queueing::Ours(*table, found, classes));
            }
        }
    }
    Ok(result.expect("the chosen discipline is foreign, or among all"))
}

/// The classes of a queue with what they have been resolved to.
type Classes = (Vec<(ClassParams, Queueing)>, Vec<Json>);

/// Reads `[[queue.classes]]`, which holds whether or not the discipline is a container.
fn classes(
    section: &Section<'_>,
    link: &Link,
    depth: usize,
    unused: &mut Vec<Unused>,
) -> Result<Classes, ScenarioError> {
    let path = section.key(CLASSES);
    let items = match section.get(CLASSES).map(|item| &item.node) {
        None => return Ok(Classes::default()),
        Some(Node::Array(items)) => items,
        Some(_) => return Err(section.error(CLASSES, &format!("must be tables: at least one [[{path}]]"))),
    };
    if items.len() > MOST {
        return Err(section.error(CLASSES, &format!("{} classes; {MOST} is the most", items.len())));
    }
    if depth >= DEEPEST {
        return Err(section.error(CLASSES, &format!("classes may stand in classes {DEEPEST} deep")));
    }
    let table = Table::of::<ClassEntry>();
    let own: Vec<&str> = table.fields.iter().map(|field| field.name).collect();
    let (mut list, mut maps) = (Vec::new(), Vec::new());
    for (at, item) in items.iter().enumerate() {
        let Node::Table(entries) = &item.node else { unreachable!("an array of tables") };
        // What the class takes, and its queue, whose keys may have the same names one table further down.
        let (takes, queue): (Vec<_>, Vec<_>) =
            entries.iter().cloned().partition(|(key, _)| own.contains(&key.as_str()));
        let path = format!("{path}.{at}");
        let part = |entries| Section { document: section.document, path: &path, place: item.place, entries };
        let mut map = Map::new();
        let params: ClassParams = fields::<ClassEntry>(&part(&takes), link.rate, &mut map)?;
        let mut inside = Map::new();
        list.push((params, read(&part(&queue), link, &own, depth + 1, &mut inside, unused)?));
        let discipline = inside["discipline"].as_str().unwrap_or_default().to_owned();
        let (same, others): (Map<_, _>, Map<_, _>) =
            inside.into_iter().partition(|(key, _)| own.contains(&key.as_str()));
        map.extend(others);
        if !same.is_empty() {
            map.insert(discipline, Json::Object(same));
        }
        maps.push(Json::Object(map));
    }
    Ok((list, maps))
}

/// Refuses a key in [queue] that only another discipline than the chosen one has: it would do nothing.
///
/// Keys that several disciplines share may stand there whichever is chosen, so that one file serves them all: a file's key
/// that does nothing under a discipline that an override has chosen is as it should be, any other is noted as unused.
fn judge_idle(
    section: &Section<'_>,
    tables: &[Table],
    chosen: &str,
    unused: &mut Vec<Unused>,
) -> Result<(), ScenarioError> {
    let chosen = tables.iter().find(|table| table.about.name == chosen).expect("a known discipline");
    let name = chosen.about.name;
    let overridden = section.get("discipline").is_some_and(|item| item.place == Place::Set);
    for (key, item) in section.entries {
        let owners: Vec<&str> =
            tables.iter().filter(|table| table.position(key).is_some()).map(|table| table.about.name).collect();
        if owners.is_empty() || owners.contains(&name) {
            continue;
        }
        if let [owner] = owners[..] {
            let instead = section.key(owner);
            return Err(section.error(key, &format!("only {owner} has it, not {name}: write it as {instead}.{key}")));
        }
        if item.place == Place::Set || !overridden {
            let known: Vec<&str> = chosen.fields.iter().map(|field| field.name).collect();
            let place = section.document.error(item.place, &section.key(key), "").0;
            unused.push(Unused { place, discipline: name, hint: did_you_mean(key, &known) });
        }
    }
    Ok(())
}
