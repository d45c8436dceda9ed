//! The discipline of a queue, and those of its classes: read from `[queue]`, checked, built for each link.
//!
//! An entry of `[[queue.classes]]` is a `[queue]` of its own, with what the class takes beside it.

use crate::document::{Item, Node, Place, ScenarioError};
use crate::foreign::{self, Build, Foreign};
use crate::link::{Held, LinkSpec, QUEUE, REVERSE, REVERSE_QUEUE};
use crate::section::{Found, Given, Section, beyond, fields, object, values_at};
use serde_json::{Map, Value as Json};
use sluicegate_aqm::drop_tail::DropTailParams;
use sluicegate_aqm::{
    Class, ClassEntry, ClassFilter, ClassParams, Discipline, Packet, Proportional, all, build, contain, is_container,
};
use sluicegate_base::params::{DefaultValue, Raw, Table, Values, did_you_mean};
use sluicegate_base::{Field, Link, Params, Size, Value};
use sluicegate_port::TokenBucket;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The key of the classes of a container.
const CLASSES: &str = "classes";
/// Most classes of one container, and how deep containers may stand in each other.
const MOST: usize = 256;
const DEEPEST: usize = 4;

/// The name that results bear, and the queue.
pub(crate) type Built<P> = (Cow<'static, str>, Box<dyn Discipline<P>>);

/// A discipline, not yet built.
pub(crate) enum Queueing {
    /// One of the registry, with the values given for it, and its classes if it has any.
    Ours(Table, Found, Vec<(ClassParams, Queueing)>),
    /// One that is written elsewhere.
    Foreign(Foreign),
}

impl Queueing {
    /// Whether it, or one in its classes, is written elsewhere.
    pub(crate) fn is_foreign(&self) -> bool {
        match self {
            Queueing::Foreign(_) => true,
            Queueing::Ours(_, _, classes) => classes.iter().any(|(_, queue)| queue.is_foreign()),
        }
    }

    /// Whether a buffer of it is given as a time, so that it differs from link to link.
    fn has_times(&self) -> bool {
        let Queueing::Ours(table, found, classes) = self else { return false };
        let of_a_buffer = |(field, given): (&Field, &Option<Given>)| {
            field.is_buffer() && matches!(given, Some(Given { value: Value::Time(_), .. }))
        };
        table.fields.iter().zip(found).any(of_a_buffer) || classes.iter().any(|(_, queue)| queue.has_times())
    }

    /// Whether its values hold at this link too; the error is the rule that they break there.
    pub(crate) fn check(&self, link: &LinkSpec) -> Result<(), String> {
        let Queueing::Ours(table, found, classes) = self else { return Ok(()) };
        let values = told(table, found, &link.facts(), Some(link));
        if let Some(at) = beyond(table, found, &values) {
            return Err(format!("{} is {}", table.fields[at].name, table.fields[at].range.text("packets")));
        }
        let resolved = (table.resolve)(&mut |at| values[at].clone(), &link.facts());
        resolved.map_err(|problem| problem.text().to_owned())?;
        classes.iter().try_for_each(|(_, queue)| queue.check(link))
    }

    /// The most that it, or the queue of a link that is plain, holds.
    pub(crate) fn held(&self, link: &LinkSpec) -> Held {
        let facts = link.facts();
        let (table, found, classes) = match (link.plain, self) {
            (Some(limit), _) => return Held::of(limit, &facts),
            (None, Queueing::Foreign(_)) => return Held::UNKNOWN,
            (None, Queueing::Ours(table, found, classes)) => (table, found, classes),
        };
        let values = told(table, found, &facts, Some(link));
        let of = |name| {
            let given = |at: usize| values[at].clone().or_else(|| table.fields[at].default_for(&facts));
            table.position(name).and_then(given)
        };
        let size = |name| if let Some(Value::Size(size)) = of(name) { Some(size) } else { None };
        // CAKE's is by default 10,240 full packets at the most.
        let full = || size("mtu").map(|mtu| Size::Bytes(10_240 * mtu.amount()));
        let memlimit = table.position("memlimit").and_then(|_| size("memlimit").or_else(full));
        let limits = [size("limit"), memlimit].into_iter().flatten().map(|limit| Held::of(limit, &facts));
        if let Some(least) = limits.reduce(Held::least) {
            return least;
        }
        if !classes.is_empty() {
            return classes.iter().map(|(_, queue)| queue.held(link)).sum();
        }
        if table.position("bands").is_none() {
            return Held::UNKNOWN;
        }
        let bands = if let Some(Value::Integer(bands)) = of("bands") { bands } else { 3 };
        let plain = DropTailParams::defaults(&facts).expect("every parameter has a default");
        (0..bands).map(|_| Held::of(plain.limit, &facts)).sum()
    }

    /// The parameter whose value stands at `key`, such as `queue.choke.candidates`: as [`Discipline::set`] names it, and
    /// its declaration. None when no value in force stands there.
    pub(crate) fn parameter(&self, key: &str) -> Option<(String, &'static Field)> {
        let Queueing::Ours(table, found, classes) = self else { return None };
        if let Some(at) = found.iter().position(|given| given.as_ref().is_some_and(|given| given.key == key)) {
            return Some((table.fields[at].name.to_owned(), &table.fields[at]));
        }
        classes.iter().enumerate().find_map(|(at, (_, queue))| {
            let (name, field) = queue.parameter(key)?;
            Some((format!("{CLASSES}.{at}.{name}"), field))
        })
    }

    /// The name of its discipline, and the key in force of its parameter of this name, if one was given.
    pub(crate) fn given_at(&self, name: &str) -> (&str, Option<&str>) {
        match self {
            Queueing::Foreign(foreign) => (&foreign.reference, None),
            Queueing::Ours(table, found, _) => {
                let given = table.position(name).and_then(|at| found[at].as_ref());
                (table.about.name, given.map(|given| given.key.as_str()))
            }
        }
    }

    /// Which of its marks and drops show who sends most.
    pub(crate) fn proportional(&self) -> Proportional {
        let Queueing::Ours(table, found, classes) = self else { return Proportional::default() };
        if classes.is_empty() {
            let own = all().iter().find(|entry| entry.table.about.name == table.about.name);
            return Proportional::Queue(own.expect("a known name").proportional);
        }
        let class = |(place, (params, queue)): (usize, &(ClassParams, Queueing))| {
            (ClassFilter::new(place, params), queue.proportional())
        };
        Proportional::Classes {
            limited: table.position("limit").is_some_and(|at| found[at].is_some()),
            classes: classes.iter().enumerate().map(class).collect(),
        }
    }

    /// Builds it for this link, in a token bucket if that is a shaper and the discipline does not shape by itself; also gives the
    /// name that results bear.
    pub(crate) fn build_at<P: Packet + 'static, E>(
        &self,
        link: &LinkSpec,
        foreign: &mut Build<'_, E, P>,
    ) -> Result<Built<P>, E> {
        let (name, queue) = self.built(&link.name, &link.facts(), Some(link), foreign)?;
        let Some(shaper) = link.shaper.filter(|_| !self.shapes()) else { return Ok((name, queue)) };
        Ok((name, Box::new(TokenBucket::new(queue, link.rate, link.framing, shaper.burst))))
    }

    /// Refuses a rate of its own beside that of a shaper.
    fn refuse_second_rate(&self, root: &Section<'_>, link: &LinkSpec) -> Result<(), ScenarioError> {
        let Queueing::Ours(table, found, _) = self else { return Ok(()) };
        let given = table.position("bandwidth").and_then(|at| found[at].as_ref());
        match given.filter(|_| link.shaper.is_some()) {
            Some(Given { place, key, .. }) => {
                let rule = "the shaper of the network says the rate: leave one of them out";
                Err(root.document.error(*place, key, rule))
            }
            None => Ok(()),
        }
    }

    /// Whether it shapes by itself.
    fn shapes(&self) -> bool {
        matches!(self, Queueing::Ours(table, _, _) if shapes(table))
    }

    /// Builds it for the link of this name; also gives the name that results bear.
    pub(crate) fn build<P: Packet + 'static, E>(
        &self,
        name: &str,
        link: &Link,
        foreign: &mut Build<'_, E, P>,
    ) -> Result<Built<P>, E> {
        self.built(name, link, None, foreign)
    }

    fn built<P: Packet + 'static, E>(
        &self,
        name: &str,
        link: &Link,
        shaper: Option<&LinkSpec>,
        foreign: &mut Build<'_, E, P>,
    ) -> Result<Built<P>, E> {
        let (table, found, classes) = match self {
            Queueing::Foreign(written) => {
                return foreign(&written.at(link), name, link.rate).map(|(class, queue)| (class.into(), queue));
            }
            Queueing::Ours(table, found, classes) => (table, found, classes),
        };
        let values = told(table, found, link, shaper);
        let mut given = |at: usize| values[at].clone();
        let built = if classes.is_empty() {
            build(table.about.name, &mut given, link)
        } else {
            let mut inside = Vec::new();
            for (place, (params, queue)) in classes.iter().enumerate() {
                inside.push(Class::new(place, params, queue.build(name, link, foreign)?.1));
            }
            contain(table.about.name, &mut given, link, inside)
        };
        Ok((table.about.name.into(), built.expect("a known name").expect("checked when it was read")))
    }
}

/// Whether a discipline with these parameters shapes by itself: it has a rate, without which it does not. Others compute with
/// that of the link.
fn shapes(table: &Table) -> bool {
    let rate = table.position("bandwidth").map(|at| table.fields[at].default);
    matches!(rate, Some(DefaultValue::Optional(_)))
}

/// The values of parameters at a link: as given, or what a discipline that shapes by itself is told where a shaper stands.
fn told(table: &Table, found: &Found, facts: &Link, link: Option<&LinkSpec>) -> Values {
    let mut values = values_at(table, found, facts);
    if let Some((shaper, link)) = link.and_then(|link| link.shaper.zip(Some(link))).filter(|_| shapes(table)) {
        for (value, field) in values.iter_mut().zip(table.fields) {
            *value = value.take().or_else(|| shaper.tells(field.name, link));
        }
    }
    values
}

/// The queues of a scenario: that of `[queue]`, and those of the opposite direction and of single links that have one of their
/// own.
pub(crate) struct Queues {
    forward: Queueing,
    reverse: Option<Queueing>,
    /// By the number of the link.
    own: BTreeMap<usize, Queueing>,
}

impl Queues {
    /// Reads them; also gives what of them does nothing.
    pub fn read(
        root: &Section<'_>,
        links: &[LinkSpec],
        resolved: &mut Map<String, Json>,
    ) -> Result<(Queues, Vec<Unused>), ScenarioError> {
        let shaper = links.iter().find(|link| link.shaper.is_some() && !link.reverse);
        let (forward, mut unused) = queue(&root.table(QUEUE)?, &shaper.unwrap_or(&links[0]).facts(), resolved)?;
        let mut queues = Queues { forward, reverse: None, own: BTreeMap::new() };
        for (at, link) in links.iter().filter_map(|link| link.own.zip(Some(link))) {
            let path = format!("network.links.{at}.{QUEUE}");
            let Some(section) = own_of_link(root, at, &path)? else { continue };
            let mut map = Map::new();
            let (own, more) = queue(&section, &link.facts(), &mut map)?;
            if let Some(link) = resolved.get_mut("network").and_then(|network| network["links"].get_mut(at)) {
                link[QUEUE] = map[QUEUE].take();
            }
            unused.extend(more);
            queues.own.insert(at, own);
        }
        let managed = links.iter().find(|link| link.reverse && link.plain.is_none());
        if let Some((link, section)) = managed.zip(own_of_reverse(root)?) {
            let mut map = Map::new();
            let (reverse, more) = queue(&section, &link.facts(), &mut map)?;
            resolved["network"][REVERSE][QUEUE] = map[QUEUE].take();
            unused.extend(more);
            queues.reverse = Some(reverse);
        } else if let Some(link) = managed.filter(|_| queues.forward.has_times()) {
            // What a time comes to there, so that the resolved scenario says all of it.
            let mut map = Map::new();
            queue(&root.table(QUEUE)?, &link.facts(), &mut map)?;
            resolved["network"][REVERSE][QUEUE] = map[QUEUE].take();
        }
        let shared = |link: &LinkSpec| link.ends.is_some() && link.plain.is_none() && link.own.is_none();
        for (at, link) in
            links.iter().enumerate().skip(1).filter(|(_, link)| queues.forward.has_times() && shared(link))
        {
            let mut map = Map::new();
            queue(&root.table(QUEUE)?, &link.facts(), &mut map)?;
            resolved["network"]["links"][at][QUEUE] = map[QUEUE].take();
        }
        links.iter().try_for_each(|link| queues.at(link).refuse_second_rate(root, link))?;
        Ok((queues, unused))
    }

    /// The one that manages this link.
    pub fn at(&self, link: &LinkSpec) -> &Queueing {
        let own = link.own.and_then(|at| self.own.get(&at));
        own.or(self.reverse.as_ref().filter(|_| link.reverse)).unwrap_or(&self.forward)
    }

    /// The one of the opposite direction alone, or else that of `[queue]`.
    pub fn take(self, of_reverse: bool) -> Queueing {
        self.reverse.filter(|_| of_reverse).unwrap_or(self.forward)
    }

    /// The links, by index, that the queue of the opposite direction alone manages, or else that of `[queue]`.
    pub fn managed(&self, links: &[LinkSpec], of_reverse: bool) -> Vec<usize> {
        let shared = |link: &LinkSpec| link.plain.is_none() && link.own.is_none();
        let is = |link: &LinkSpec| shared(link) && (link.reverse && self.reverse.is_some()) == of_reverse;
        (0..links.len()).filter(|at| is(&links[*at])).collect()
    }

    /// Whether one of them is written elsewhere.
    pub fn is_foreign(&self) -> bool {
        let all = [&self.forward].into_iter().chain(&self.reverse).chain(self.own.values());
        all.into_iter().any(Queueing::is_foreign)
    }
}

/// The table of a link's own queue, which has this path.
fn own_of_link<'a>(root: &Section<'a>, at: usize, path: &'a str) -> Result<Option<Section<'a>>, ScenarioError> {
    let network = root.table("network")?;
    let Some(Item { node: Node::Array(links), .. }) = network.get("links") else { return Ok(None) };
    let Node::Table(entries) = &links[at].node else { return Ok(None) };
    own_queue(root, entries, path)
}

/// The table of the opposite direction's own queue.
fn own_of_reverse<'a>(root: &Section<'a>) -> Result<Option<Section<'a>>, ScenarioError> {
    let Some(Item { node: Node::Table(entries), .. }) = root.table("network")?.get(REVERSE) else { return Ok(None) };
    own_queue(root, entries, REVERSE_QUEUE)
}

/// The table of a queue among the entries of a link's, at this path.
fn own_queue<'a>(
    root: &Section<'a>,
    entries: &'a [(String, Item)],
    path: &'a str,
) -> Result<Option<Section<'a>>, ScenarioError> {
    let Some((_, Item { place, node })) = entries.iter().find(|(key, _)| key == QUEUE) else { return Ok(None) };
    let Node::Table(entries) = node else {
        return Err(root.document.error(*place, path, &format!("must be a table: [{path}]")));
    };
    let section = Section { document: root.document, path, place: *place, entries };
    match section.get("discipline") {
        Some(_) => Ok(Some(section)),
        None => Err(section.error("discipline", "must be given: nothing of [queue] is taken over here")),
    }
}

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
