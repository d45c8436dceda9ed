//! The links of a network, and which of them the packets of a flow cross.

use crate::document::{Item, Node, Place, ScenarioError};
use crate::link::{LinkSpec, QUEUE, REVERSE};
use crate::network::{LinkParams, Network, NetworkLink, NetworkParams, Reverse, ReverseParams};
use crate::section::{Section, fields, json};
use crate::shaper::{self, SHAPER};
use crate::wire::{self, LinkWire, WireOf};
use serde_json::{Map, Value as Json};
use sluicegate_base::params::{Raw, Table, did_you_mean};
use sluicegate_base::{Rate, Value, quantity};
use sluicegate_netsim::source::{Direction, FlowParams};
use sluicegate_port::fates::KEYS;
use std::collections::BTreeSet;

/// Reads `[network]`: its links and, unless they are spelled out, the dumbbell.
pub(crate) fn read(
    root: &Section<'_>,
    section: &Section<'_>,
    resolved: &mut Map<String, Json>,
) -> Result<(Vec<LinkSpec>, Option<NetworkParams>), ScenarioError> {
    let Some(item) = section.get("links") else { return dumbbell(root, section, resolved) };
    let mut fields_of_dumbbell = Table::of::<Network>().fields.iter().chain(Table::of::<WireOf>().fields);
    if let Some(field) = fields_of_dumbbell.find(|field| section.get(field.name).is_some()) {
        let rule = "a network has either the keys of a dumbbell, such as rate, or [[network.links]]";
        // At whichever of the two was added by hand to a file that has the other.
        let key = if item.place == Place::Set { "links" } else { field.name };
        return Err(section.error(key, rule));
    }
    section.refuse_unknown(&[], &["links"])?;
    let Node::Array(items) = &item.node else {
        return Err(section.error("links", "must be tables: at least one [[network.links]]"));
    };
    let (mut specs, mut maps): (Vec<LinkSpec>, Vec<Json>) = (Vec::new(), Vec::new());
    let mut names = BTreeSet::new();
    for (at, item) in items.iter().enumerate() {
        let Node::Table(entries) = &item.node else { unreachable!("an array of tables") };
        let path = format!("network.links.{at}");
        let section = Section { document: section.document, path: &path, place: item.place, entries };
        section.refuse_unknown(&[Table::of::<NetworkLink>(), Table::of::<WireOf>()], &[QUEUE])?;
        let (mut map, mut wire_map) = (Map::new(), Map::new());
        let LinkWire { framing, wire, mean, .. } = wire::read(&section, Rate(1_000_000), &mut wire_map)?;
        let LinkParams { name, from, to, rate, delay, tx_ring, managed, limit } =
            fields::<NetworkLink>(&section, rate_said(&section, mean), &mut map)?;
        map.extend(wire_map);
        let rate = rate_of(&section, rate, mean, &mut map)?;
        if !names.insert(name.clone()) {
            return Err(section.error("name", &format!("two links are called {name:?}: names must differ")));
        }
        maps.push(Json::Object(map));
        let own = section.get(QUEUE).map(|_| at);
        if own.is_some() && !managed {
            return Err(section.error(QUEUE, "managed is false: leave one of them out"));
        }
        let plain = (!managed).then_some(limit);
        let link = LinkSpec::new(name, rate, delay, framing, wire);
        specs.push(LinkSpec { ends: Some((from, to)), own, tx_ring, plain, monitored: plain.is_none(), ..link });
    }
    let mut map = Map::new();
    map.insert("links".to_owned(), Json::Array(maps));
    resolved.insert("network".to_owned(), Json::Object(map));
    Ok((specs, None))
}

/// Reads a dumbbell.
fn dumbbell(
    root: &Section<'_>,
    section: &Section<'_>,
    resolved: &mut Map<String, Json>,
) -> Result<(Vec<LinkSpec>, Option<NetworkParams>), ScenarioError> {
    section.refuse_unknown(&[Table::of::<Network>(), Table::of::<WireOf>()], &["links", REVERSE, SHAPER])?;
    let (mut map, mut wire_map) = (Map::new(), Map::new());
    let LinkWire { framing, wire, mean } = wire::read(section, Rate(1_000_000), &mut wire_map)?;
    let mut params: NetworkParams = fields::<Network>(section, rate_said(section, mean), &mut map)?;
    map.extend(wire_map);
    let rate = rate_of(section, params.rate, mean, &mut map)?;
    let there = LinkSpec::new("bottleneck".to_owned(), rate, params.delay, framing, wire);
    let mut links = vec![LinkSpec { tx_ring: params.tx_ring, ..there }];
    let given = section.get(REVERSE);
    let two_way = params.two_way.unwrap_or_else(|| given.is_some() || any_reverse(root));
    let mut shaper_back = None;
    if two_way {
        let (mut reverse, own) = (Map::new(), of_reverse(section, given)?);
        links.push(opposite(section, &own, &links[0], &mut reverse)?);
        shaper_back = shaper::read(&own, &mut links[1], true, &mut reverse)?;
        map.insert(REVERSE.to_owned(), reverse.into());
    } else if given.is_some() {
        return Err(section.error(REVERSE, "two_way is false: leave one of them out"));
    }
    let shaper = shaper::read(section, &mut links[0], two_way, &mut map)?;
    let fastest = links.iter().map(LinkSpec::fastest).max().expect("a link");
    let access = params.access_rate.unwrap_or(Rate(fastest.0.saturating_mul(10)));
    params.access_rate = Some(access);
    map.insert("access_rate".to_owned(), json(&Value::Rate(access)));
    links.extend(shaper.into_iter().chain(shaper_back));
    resolved.insert("network".to_owned(), Json::Object(map));
    Ok((links, Some(params)))
}

/// What each of these keys of `[network.reverse]` replaces of the forward direction besides itself: a rate and a trace each
/// other, a framing what another one's name has brought.
const REPLACED: [(&str, &[&str]); 3] = [("rate", TRACE), ("trace", TRACE), ("framing", &["frame_min", "cells"])];
/// What a rate, or a trace, of its own replaces.
const TRACE: &[&str] = &["rate", "trace", "trace_period", "trace_mean"];

/// The table `[network.reverse]`; an absent one is empty.
fn of_reverse<'a>(section: &Section<'a>, given: Option<&'a Item>) -> Result<Section<'a>, ScenarioError> {
    let (place, entries) = match given {
        None => (section.place, &[][..]),
        Some(Item { place, node: Node::Table(entries) }) => (*place, &entries[..]),
        Some(_) => return Err(section.error(REVERSE, "must be a table: [network.reverse]")),
    };
    Ok(Section { document: section.document, path: "network.reverse", place, entries })
}

/// The opposite direction: as forward but for what its own table says.
fn opposite(
    section: &Section<'_>,
    of_its_own: &Section<'_>,
    forward: &LinkSpec,
    map: &mut Map<String, Json>,
) -> Result<LinkSpec, ScenarioError> {
    let known = [Table::of::<Reverse>(), Table::of::<WireOf>()];
    of_its_own.refuse_unknown(&known, &[QUEUE, SHAPER])?;
    let own = of_its_own.entries;
    let is_given = |key: &str| own.iter().any(|(name, _)| name == key);
    // The number of a packet is one of its direction.
    let replaced = |key: &str| {
        is_given(key) || KEYS.contains(&key) || REPLACED.iter().any(|(by, keys)| is_given(by) && keys.contains(&key))
    };
    let is_known = |key: &str| known.iter().any(|table| table.position(key).is_some());
    let inherited = section.entries.iter().filter(|(key, _)| is_known(key) && !replaced(key));
    let entries: Vec<(String, Item)> = own.iter().chain(inherited).cloned().collect();
    let section = Section { entries: &entries, ..*of_its_own };
    let LinkWire { framing, wire, mean } = wire::read(&section, Rate(1_000_000), map)?;
    let params: ReverseParams = fields::<Reverse>(&section, rate_said(&section, mean), map)?;
    // An override may give the direction a queue of its own, but not take the buffer out of the file.
    let own_queue = own.iter().find(|(name, _)| name == QUEUE).map(|(_, item)| item.place);
    if params.buffer.is_some() && own_queue.is_some_and(|place| place != Place::Set) {
        return Err(section.error("buffer", "the direction's own queue says its limit: leave one of them out"));
    }
    map.remove("buffer"); // it is told where it holds: in the queue, or in the shaper
    let rate = rate_of(&section, params.rate, mean, map)?;
    let delay = params.delay.unwrap_or(forward.delay);
    map.insert("delay".to_owned(), json(&Value::Time(delay)));
    let buffer = params.buffer.filter(|_| own_queue.is_none());
    Ok(LinkSpec { name: REVERSE.to_owned(), reverse: true, rate, delay, framing, wire, buffer, ..forward.clone() })
}

/// The rate of a link whose other keys have not been read yet, for buffers that are given as times; any where it has none.
fn rate_said(section: &Section<'_>, mean: Option<Rate>) -> Rate {
    let given = match section.given("rate") {
        Some(Raw::Text(text)) => quantity::rate(text).ok(),
        _ => None,
    };
    given.or(mean).unwrap_or(Rate(1_000_000))
}

/// The rate that is given for a link, or the mean one of its trace.
fn rate_of(
    section: &Section<'_>,
    given: Option<Rate>,
    mean: Option<Rate>,
    map: &mut Map<String, Json>,
) -> Result<Rate, ScenarioError> {
    let rate = given.or(mean).ok_or_else(|| section.error("rate", "must be given"))?;
    map.insert("rate".to_owned(), json(&Value::Rate(rate)));
    Ok(rate)
}

/// Whether any flow says that it goes in reverse; what else it says is read later.
fn any_reverse(root: &Section<'_>) -> bool {
    let Some(Node::Array(flows)) = root.get("flows").map(|item| &item.node) else { return false };
    let reverse = Direction::Reverse.word();
    flows.iter().any(|flow| {
        let Node::Table(entries) = &flow.node else { return false };
        entries.iter().any(|(key, item)| {
            key == "direction" && matches!(&item.node, Node::Leaf(Raw::Text(text)) if text == reverse)
        })
    })
}

/// The links that a flow's data crosses, and those that its acknowledgements do; none of the latter when they take the
/// same way back over lines that nobody studies.
pub(crate) fn ways(
    section: &Section<'_>,
    common: &FlowParams,
    links: &[LinkSpec],
    dumbbell: bool,
) -> Result<(Vec<u32>, Vec<u32>), ScenarioError> {
    if dumbbell {
        for (key, given) in [("path", &common.path), ("return_path", &common.return_path)] {
            if given.is_some() {
                return Err(section.error(key, "only a network of [[network.links]] has paths"));
            }
        }
        let [forward, reverse] =
            [false, true].map(|reverse| across(links, reverse).into_iter().map(|at| at as u32).collect::<Vec<u32>>());
        return match common.direction {
            Direction::Forward => Ok((forward, reverse)),
            Direction::Reverse if reverse.is_empty() => {
                Err(section.error("direction", "network.two_way is false: leave it out"))
            }
            Direction::Reverse => Ok((reverse, forward)),
        };
    }
    if common.direction == Direction::Reverse {
        let rule = "only a dumbbell has directions: in a network of [[network.links]] path and return_path say the way";
        return Err(section.error("direction", rule));
    }
    let Some(path) = &common.path else {
        return Err(section.error("path", "must be given in a network of [[network.links]]"));
    };
    let path = route(section, "path", path, links)?;
    let return_path = common.return_path.as_ref().map(|names| route(section, "return_path", names, links));
    Ok((path, return_path.transpose()?.unwrap_or_default()))
}

/// The links of a direction of a dumbbell, in the order in which packets cross them: the line, and its shaper before or behind it.
pub(crate) fn across(links: &[LinkSpec], reverse: bool) -> Vec<usize> {
    let mut path: Vec<usize> = (0..links.len()).filter(|at| links[*at].reverse == reverse).collect();
    if path.iter().any(|at| links[*at].shaper.is_some_and(|shaper| !shaper.behind)) {
        path.reverse();
    }
    path
}

/// The links that a path names, which must follow one another.
fn route(section: &Section<'_>, key: &str, names: &[String], links: &[LinkSpec]) -> Result<Vec<u32>, ScenarioError> {
    if names.is_empty() || names.len() > 200 {
        return Err(section.error(key, "must name from 1 to 200 links"));
    }
    let known: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
    let mut path: Vec<u32> = Vec::new();
    for name in names {
        let Some(at) = known.iter().position(|link| link == name) else {
            return Err(section.error(key, &format!("no such link: {name:?}{}", did_you_mean(name, &known))));
        };
        if let Some(&last) = path.last() {
            let (last, next) = (&links[last as usize], &links[at]);
            let reached = last.ends.as_ref().map(|(_, to)| to);
            let left = next.ends.as_ref().map(|(from, _)| from);
            if reached != left {
                let (to, from) = (reached.map_or("", |to| to), left.map_or("", |from| from));
                let rule = format!("{:?} ends at {to:?}, but {name:?} begins at {from:?}", last.name);
                return Err(section.error(key, &rule));
            }
        }
        path.push(at as u32);
    }
    Ok(path)
}
