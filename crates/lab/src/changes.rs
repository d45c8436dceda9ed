//! Changes while a scenario runs, of its discipline and of sources that send by the clock. Each is an override at a time:
//! like other overrides it is read and checked before it changes anything.

use crate::document::{Document, Item, Node, Place, ScenarioError};
use crate::flows::{self, Group};
use crate::foreign::{Build, Foreign};
use crate::link::{LinkSpec, QUEUE, REVERSE, REVERSE_QUEUE};
use crate::memory::refuse_too_large;
use crate::network::{Network, NetworkParams, RunParams};
use crate::queueing::{Built, LIMIT, Queueing, Queues};
use crate::section::{Section, fields, json as value_json};
use crate::topology;
use serde_json::{Map, Value as Json, json};
use sluicegate_base::params::{Raw, Table};
use sluicegate_base::{About, Declared, Field, Rate, Span, Time, params};
use sluicegate_netsim::QueuedPacket;
use sluicegate_netsim::source::{Flow, SourcePlan};

/// The tables of a scenario.
pub(crate) const TABLES: &[&str] = &["network", "queue", "flows", "run", "changes"];

params! {
    /// A change while the scenario runs.
    pub struct ChangeParams {
        /// When the value changes, after everything else that happens at that time. A change at the end of the run or later
        /// has no effect.
        time: Span = required, source("Sluicegate");
        /// What changes, as an override names it: queue.discipline, queue, or a parameter of the queue or of its classes; the
        /// same of network.reverse.queue; network.rate or the rate of a link (disciplines learn the new rate); a parameter of a
        /// udp, poisson or on_off source, such as flows.1.rate; or flows.1.count: how many flows of a group send, up to as many
        /// as it has.
        key: String = required, source("Sluicegate");
    }
}

/// An entry of `[[changes]]` as a declared thing; beside its fields it has a `value`.
pub struct ChangeEntry;

impl Declared for ChangeEntry {
    type Params = ChangeParams;
    const ABOUT: About = About {
        name: "change",
        class: "Change",
        title: "A change while the scenario runs",
        source: "Sluicegate",
        tc: "",
        module: "//! A change while the scenario runs.",
    };
}

/// A change: when, what, and its value with its place.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub time: Time,
    pub key: String,
    pub item: Item,
    /// Its resolved form: key and value that do the same to the resolved scenario.
    pub resolved: Option<(String, Json)>,
}

impl Change {
    /// As it was given.
    pub fn given(&self) -> Json {
        entry(self.time, &self.key, self.item.node.json())
    }

    /// As a scenario resolves to it.
    pub fn resolved(&self) -> Json {
        self.resolved.as_ref().map_or_else(|| self.given(), |(key, value)| entry(self.time, key, value.clone()))
    }
}

fn entry(time: Time, key: &str, value: Json) -> Json {
    json!({ "time": Span(time.0).to_string(), "key": key, "value": value })
}

/// Reads `[[changes]]`, in the order of their times.
pub(crate) fn changes(root: &Section<'_>) -> Result<Vec<Change>, ScenarioError> {
    let items = match root.get("changes").map(|item| &item.node) {
        None => &[][..],
        Some(Node::Array(items)) => items,
        Some(Node::Leaf(Raw::List(list))) if list.is_empty() => &[][..],
        Some(_) => return Err(root.error("changes", "must be tables: [[changes]]")),
    };
    let mut list = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let Node::Table(entries) = &item.node else { unreachable!("an array of tables") };
        let path = format!("changes.{at}");
        let section = Section { document: root.document, path: &path, place: item.place, entries };
        section.refuse_unknown(&[Table::of::<ChangeEntry>()], &["value"])?;
        let ChangeParams { time, key } = fields::<ChangeEntry>(&section, Rate(1), &mut Map::new())?;
        let value = section.get("value").ok_or_else(|| section.error("value", "must be given"))?;
        list.push(Change { time: Time(time.0), key, item: value.clone(), resolved: None });
    }
    list.sort_by_key(|change| change.time);
    Ok(list)
}

/// What a change does to a run.
pub(crate) enum Effect {
    /// Another discipline.
    Discipline(NewQueue),
    /// A parameter of the discipline at these links.
    Queue { links: Vec<usize>, name: String, value: Raw },
    /// A parameter of the sources of a group.
    Source { group: usize, name: String, value: Raw },
    /// How many flows of a group send: the first ones. The others rest.
    Count { group: usize, senders: u64 },
    /// The rate of a link, of which its discipline is told.
    Rate(String, Rate),
}

/// A discipline that a change brings, and the links that it manages.
pub(crate) struct NewQueue {
    pub queue: Box<Queueing>,
    links: Vec<usize>,
}

/// A change that has passed every check: the scenario after it, what it does to the run, its resolved form, and the bytes that a
/// run takes with it.
pub(crate) struct Changed {
    pub state: ScenarioState,
    pub effect: Effect,
    pub resolved: (String, Json),
    pub memory: u64,
}

/// The part of a scenario that changes apply to.
#[derive(Clone)]
pub(crate) struct ScenarioState {
    pub document: Document,
    pub links: Vec<LinkSpec>,
    pub dumbbell: Option<NetworkParams>,
    pub groups: Vec<Group>,
    pub run: RunParams,
}

impl ScenarioState {
    /// What a change makes of it.
    pub fn changed(&self, key: &str, item: Item) -> Result<Changed, ScenarioError> {
        let mut next = self.clone();
        let place = item.place;
        next.document.put(key, item)?;
        let root = Section { document: &next.document, path: "", place: Place::Set, entries: &next.document.root };
        root.refuse_unknown(&[], TABLES)?;
        let refuse = |rule: &str| Err(next.document.error(place, key, rule));
        let parts: Vec<&str> = key.split('.').collect();
        let leaf = match next.document.get(key).map(|item| &item.node) {
            Some(Node::Leaf(raw)) => Some(raw.clone()),
            _ => None,
        };
        let resolve =
            |field: &Field, value: &Raw| field.read(value).map_or_else(Json::from, |value| value_json(&value));
        // The key of a queue, and what of it is below the table.
        let (of_reverse, of_queue) = match parts.as_slice() {
            [QUEUE, below @ ..] => (false, Some(below)),
            ["network", "reverse", QUEUE, below @ ..] => (true, Some(below)),
            _ => (false, None),
        };
        if of_reverse && !self.links.iter().any(|link| link.reverse) {
            return refuse(ONE_WAY);
        }
        let table = if of_reverse { REVERSE_QUEUE } else { QUEUE };
        let (effect, resolved) = match (parts.as_slice(), leaf) {
            _ if matches!(of_queue, Some([] | ["discipline"])) => {
                let (queues, resolved) = self.queues(&root, place, key, of_reverse)?;
                let links = queues.managed(&self.links, of_reverse);
                let new = NewQueue { queue: Box::new(queues.take(of_reverse)), links };
                (Effect::Discipline(new), (table.to_owned(), resolved))
            }
            (_, Some(value)) if of_queue.is_some() => {
                let (queues, _) = self.queues(&root, place, key, of_reverse)?;
                let mut links = queues.managed(&self.links, of_reverse);
                let queue = queues.take(of_reverse);
                match queue.parameter(key) {
                    Some((_, field)) if field.fixed => return refuse(FIXED),
                    Some((_, field)) if field.buffer_time(&value).is_some() => {
                        return refuse("give packets or bytes: a time is allowed only at the start of a run");
                    }
                    Some((name, field)) => {
                        let resolved = (format!("{table}.{name}"), resolve(field, &value));
                        links.retain(|at| name != LIMIT || queue.buffer_of(&self.links[*at]).is_none());
                        (Effect::Queue { links, name, value }, resolved)
                    }
                    None => return refuse(&without_effect(&queue, table, of_queue.unwrap_or_default())),
                }
            }
            (["flows", at, "count"], Some(value)) => {
                let (at, group) = self.group(&root, at)?;
                let (senders, most) = (group.common.count, self.groups[at].common.count);
                if senders > most {
                    return refuse(&format!("must be at most {most}: a run has the flows that it began with"));
                }
                if matches!(group.source, SourcePlan::Endpoints(_)) {
                    return refuse(&format!("{FIXED}: its ends say when they send"));
                }
                if group.size.is_some() || group.source.way().is_some() {
                    return refuse(&format!("{FIXED}: its transfers end by themselves"));
                }
                (
                    Effect::Count { group: at, senders },
                    (key.to_owned(), resolve(&Table::of::<Flow>().fields[0], &value)),
                )
            }
            (["flows", at, name], Some(value)) => {
                let (at, mut group) = self.group(&root, at)?;
                group.common.count = self.groups[at].common.count; // those that rest are still there
                let table = flows::table(&group.source);
                let hears = group.source.answers();
                let Some(field) = table.position(name).filter(|_| !hears) else {
                    return refuse(&fixed_of(&table, hears));
                };
                next.groups[at] = group;
                let resolved = (key.to_owned(), resolve(&table.fields[field], &value));
                (Effect::Source { group: at, name: (*name).to_owned(), value }, resolved)
            }
            (["network", "rate"] | ["network", "reverse", "rate"] | ["network", "links", _, "rate"], Some(value)) => {
                let (links, _) = topology::read(&root, &root.table("network")?, &mut Map::new())?;
                if links.len() > self.links.len() {
                    return refuse(ONE_WAY);
                }
                let at = match parts[1..] {
                    ["links", at, _] => at.parse().expect("the document has it"),
                    ["reverse", _] => 1,
                    _ => 0,
                };
                if self.links[at].wire.rates.is_some() {
                    return refuse(&format!("{FIXED}: the trace of {:?} says it", links[at].name));
                }
                next.links[at].rate = links[at].rate;
                let link = &next.links[at];
                let (queues, _) = self.queues(&root, place, key, false)?;
                if link.plain.is_none() {
                    queues.at(link).check(link).map_err(|rule| {
                        next.document.error(place, key, &format!("breaks the rule {rule} at link {:?}", link.name))
                    })?;
                }
                let field = &Table::of::<Network>().fields[0];
                let resolved = (key.to_owned(), resolve(field, &value));
                (Effect::Rate(link.name.clone(), link.rate), resolved)
            }
            _ => return refuse(&format!("{FIXED}: {WHAT_CAN}")),
        };
        let (queues, _) = self.queues(&root, place, key, false)?;
        next.links.iter_mut().for_each(|link| link.held = queues.at(link).held(link));
        let memory = refuse_too_large(&root, &next.groups, &next.links, next.dumbbell.as_ref(), &next.run)?;
        Ok(Changed { state: next, effect, resolved, memory })
    }

    /// Builds a discipline for every link that it manages: the link's name, the name that results bear, and the queue.
    pub fn build<E>(&self, new: &NewQueue, build: &mut Build<'_, E>) -> Result<Vec<(String, Built<QueuedPacket>)>, E> {
        let links = new.links.iter().map(|at| &self.links[*at]);
        links.map(|link| Ok((link.name.clone(), new.queue.build_at(link, build)?))).collect()
    }

    /// The queues, whose values hold at every link that they manage, and the resolved form of the one that is asked for.
    fn queues(
        &self,
        root: &Section<'_>,
        place: Place,
        key: &str,
        of_reverse: bool,
    ) -> Result<(Queues, Json), ScenarioError> {
        let mut resolved = Map::new();
        resolved.insert("network".to_owned(), json!({ REVERSE: {} }));
        let (queues, _) = Queues::read(root, &self.links, &mut resolved)?;
        for link in self.links.iter().filter(|link| link.plain.is_none()) {
            queues.at(link).check(link).map_err(|rule| {
                root.document.error(place, key, &format!("breaks the rule {rule} at link {:?}", link.name))
            })?;
        }
        let table = if of_reverse { &mut resolved["network"][REVERSE][QUEUE] } else { &mut resolved[QUEUE] };
        let resolved = table.take();
        Ok((queues, resolved))
    }

    /// The group at this place, which the document has.
    fn group(&self, root: &Section<'_>, at: &str) -> Result<(usize, Group), ScenarioError> {
        let at: usize = at.parse().expect("the document has it");
        let Some(Item { node: Node::Array(items), .. }) = root.get("flows") else { unreachable!("it was read") };
        let path = flows::path(at);
        let section = flows::entry(root, &items[at], &path);
        Ok((at, flows::group(&section, &self.links, self.dumbbell.as_ref(), &mut Map::new())?))
    }
}

/// What to say of the opposite direction where there is none.
const ONE_WAY: &str = "no flow goes in reverse: say two_way = true";

/// What to say of a key that cannot change.
const FIXED: &str = "cannot change during a run";

/// What can.
const WHAT_CAN: &str = "what can are queue.discipline, parameters of the queue, rates of links, counts of flows without end, and \
    parameters of udp, poisson and on_off sources";

/// Why a key of a queue that is valid changes nothing: `parts` of it stand below the `table`.
fn without_effect(queue: &Queueing, table: &str, parts: &[&str]) -> String {
    let of_another = |discipline: &str| parts.len() > 1 && parts[0] != discipline && parts[0] != "classes";
    match queue.given_at(parts[parts.len() - 1]) {
        (discipline, Some(other)) if !of_another(discipline) => {
            format!("changes nothing: {other} is given too, and counts")
        }
        (discipline, _) if Foreign::is_name(discipline) => {
            format!(
                "{FIXED}: {discipline} got its values when it was created; set {table}.discipline to create it again"
            )
        }
        (discipline, _) => {
            format!("changes nothing while the discipline is {discipline}: switch with {table}.discipline first")
        }
    }
}

/// Why a key of a group cannot change.
fn fixed_of(table: &Table, hears: bool) -> String {
    if hears {
        return format!("{FIXED}: {WHAT_CAN}");
    }
    let names: Vec<&str> = table.fields.iter().map(|field| field.name).collect();
    format!("{FIXED}: of a {} source, {} can", table.about.name, names.join(", "))
}
