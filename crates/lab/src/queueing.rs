//! The discipline of a queue, and those of its classes: read from `[queue]`, checked, built for each link.
//!
//! An entry of `[[queue.classes]]` has the keys of a `[queue]`, and those of its class: which packets it takes, and how
//! much it may send.

mod read;

pub use read::Unused;
pub(crate) use read::queue;

use crate::document::{Item, Node, ScenarioError};
use crate::foreign::{Build, Foreign};
use crate::link::{Held, LinkSpec, QUEUE, REVERSE, REVERSE_QUEUE};
use crate::section::{Found, Given, Section, beyond, json, values_at};
use serde_json::{Map, Value as Json};
use sluicegate_aqm::drop_tail::{DropTail, DropTailParams};
use sluicegate_aqm::{Class, ClassFilter, ClassParams, Discipline, Packet, Proportional, all, build, contain};
use sluicegate_base::params::{DefaultValue, Table, Values, given};
use sluicegate_base::{Field, Link, Params, Size, Value};
use sluicegate_port::TokenBucket;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The key of what a queue holds.
pub(crate) const LIMIT: &str = "limit";
/// The key of the classes of a container.
const CLASSES: &str = "classes";

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

    /// What the line says that this link holds while this is its queue.
    pub(crate) fn buffer_of(&self, link: &LinkSpec) -> Option<Size> {
        if let Queueing::Ours(table, ..) = self { buffer_of(table, link) } else { None }
    }

    /// Whether its values hold at this link too; the error is the rule that they break there.
    pub(crate) fn check(&self, link: &LinkSpec) -> Result<(), String> {
        let Queueing::Ours(table, found, classes) = self else { return Ok(()) };
        let values = told(table, found, &link.facts(), Some(link));
        if let Some(at) = beyond(table, found, &values) {
            return Err(format!("{} is {}", table.fields[at].name, table.fields[at].range.text("packets")));
        }
        let resolved = (table.resolve)(&mut given(&values), &link.facts());
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
        let mut given = given(&values);
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

/// What the line says that this link holds while its queue is Drop Tail.
fn buffer_of(table: &Table, link: &LinkSpec) -> Option<Size> {
    link.buffer.filter(|_| table.about.name == Table::of::<DropTail<()>>().about.name)
}

/// The values of parameters at a link: as given, or what a discipline that shapes by itself is told where a shaper stands.
fn told(table: &Table, found: &Found, facts: &Link, link: Option<&LinkSpec>) -> Values {
    let mut values = values_at(table, found, facts);
    if let Some(buffer) = link.and_then(|link| buffer_of(table, link)) {
        values[table.position(LIMIT).expect("declared")] = Some(Value::Size(buffer));
    }
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
        } else if let Some(link) =
            managed.filter(|link| queues.forward.buffer_of(link).is_some() || queues.forward.has_times())
        {
            // What a time, or the link's own buffer, comes to there, so that the resolved scenario says all of it.
            let mut map = Map::new();
            queue(&root.table(QUEUE)?, &link.facts(), &mut map)?;
            if let Some(buffer) = queues.forward.buffer_of(link) {
                map[QUEUE][LIMIT] = json(&Value::Size(buffer));
            }
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
