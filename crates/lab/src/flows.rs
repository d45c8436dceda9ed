//! The groups of flows of a scenario: read, checked, and kept small enough for memory.

use crate::access::Access;
use crate::document::{Item, Node, ScenarioError};
use crate::foreign::{Foreign, TABLE};
use crate::link::LinkSpec;
use crate::network::NetworkParams;
use crate::population;
use crate::section::{Section, fields};
use crate::topology;
use serde_json::{Map, Value as Json};
use sluicegate_base::Span;
use sluicegate_base::params::{Raw, Table, did_you_mean};
use sluicegate_netsim::source::{
    self, Connections, EndpointPair, Endpoints, Flow, FlowParams, Ftp, Http, OnOff, Poisson, SourcePlan, Telnet, Udp,
    Way,
};
use sluicegate_tcp::{Host, Tcp};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The sources of traffic, in the order in which they are listed to people: each with its keys, in one table or more.
pub const SOURCES: &[&[Table]] = &[
    &[Table::of::<Tcp>(), Table::of::<Ftp>()],
    &[Table::of::<Telnet>(), Table::of::<Tcp>()],
    &[Table::of::<Http>(), Table::of::<Tcp>()],
    &[Table::of::<Connections>(), Table::of::<Tcp>()],
    &[Table::of::<Udp>()],
    &[Table::of::<Poisson>()],
    &[Table::of::<OnOff>()],
    &[Table::of::<Endpoints>()],
];

/// What every flow can say, whatever its source.
pub const COMMON: &[Table] = &[Table::of::<Flow>(), Table::of::<source::Access>()];

/// Most flows and links that one scenario may have.
const MOST: usize = 1_000_000;

/// A group of flows as the scenario describes it.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub common: FlowParams,
    pub source: SourcePlan,
    /// What makes the ends, or their congestion control, where they are one's own.
    pub own: Option<Foreign>,
    pub size: Option<u64>,
    pub path: Vec<u32>,
    pub return_path: Vec<u32>,
    pub access: Option<Access>,
}

impl Group {
    /// How many flows it is.
    pub fn members(&self) -> u64 {
        if self.source.way().is_some() { 1 } else { self.common.count }
    }
}

/// Reads `[[flows]]`.
pub(crate) fn flows(
    root: &Section<'_>,
    links: &[LinkSpec],
    dumbbell: Option<&NetworkParams>,
    resolved: &mut Map<String, Json>,
) -> Result<Vec<Group>, ScenarioError> {
    let items = match root.get("flows").map(|item| &item.node) {
        Some(Node::Array(items)) => items,
        None => return Err(root.error("flows", "must be given: at least one [[flows]]")),
        Some(_) => return Err(root.error("flows", "must be tables: at least one [[flows]]")),
    };
    let (mut groups, mut maps, mut total): (Vec<Group>, Vec<Map<String, Json>>, u64) = (Vec::new(), Vec::new(), 0);
    for (at, item) in items.iter().enumerate() {
        let path = path(at);
        let section = entry(root, item, &path);
        let mut map = Map::new();
        let group = group(&section, links, dumbbell, &mut map)?;
        total += group.common.count;
        if total > MOST as u64 {
            return Err(section.error("count", &format!("more than {MOST} flows in all")));
        }
        groups.push(group);
        maps.push(map);
    }
    name(&mut groups, &mut maps);
    resolved.insert("flows".to_owned(), maps.into_iter().map(Json::Object).collect());
    Ok(groups)
}

/// Gives the groups without a name one that no other has: the kind; with the algorithm where groups of the kind have several;
/// with a number where that is not enough.
fn name(groups: &mut [Group], maps: &mut [Map<String, Json>]) {
    let given: BTreeSet<String> = groups.iter().filter_map(|group| group.common.name.clone()).collect();
    let mut algorithms: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for group in groups.iter() {
        algorithms.entry(group.source.kind()).or_default().insert(group.source.algorithm());
    }
    let plain = |source: &SourcePlan| match (source.kind(), source.algorithm()) {
        (kind, algorithm) if algorithms[kind].len() > 1 => format!("{kind}_{algorithm}"),
        (kind, _) => kind.to_owned(),
    };
    let plain: Vec<String> = groups.iter().map(|group| plain(&group.source)).collect();
    let mut wanted: BTreeMap<&str, u64> = BTreeMap::new();
    for (_, plain) in groups.iter().zip(&plain).filter(|(group, _)| group.common.name.is_none()) {
        *wanted.entry(plain).or_default() += 1;
    }
    let mut last: BTreeMap<&str, u64> = BTreeMap::new();
    for ((group, map), plain) in groups.iter_mut().zip(maps).zip(&plain) {
        let name = group.common.name.get_or_insert_with(|| {
            if wanted[plain.as_str()] == 1 && !given.contains(plain) {
                return plain.clone();
            }
            let number = last.entry(plain).or_default();
            loop {
                *number += 1;
                let name = format!("{plain}_{number}");
                if !given.contains(&name) {
                    return name;
                }
            }
        });
        map.insert("name".to_owned(), Json::from(name.as_str()));
    }
}

/// The declaration of a source.
pub(crate) fn table(source: &SourcePlan) -> Table {
    let found = SOURCES.iter().find(|tables| tables[0].about.name == source.kind());
    found.expect("every source is declared")[0]
}

/// The path of an entry of `[[flows]]`.
pub(crate) fn path(at: usize) -> String {
    format!("flows.{at}")
}

/// An entry of `[[flows]]`, as the document has it.
pub(crate) fn entry<'a>(root: &Section<'a>, item: &'a Item, path: &'a str) -> Section<'a> {
    let Node::Table(entries) = &item.node else { unreachable!("an array of tables") };
    Section { document: root.document, path, place: item.place, entries }
}

/// Reads an entry of `[[flows]]`.
pub(crate) fn group(
    section: &Section<'_>,
    links: &[LinkSpec],
    dumbbell: Option<&NetworkParams>,
    map: &mut Map<String, Json>,
) -> Result<Group, ScenarioError> {
    let kinds: Vec<&str> = SOURCES.iter().map(|tables| tables[0].about.name).collect();
    let kind = match section.get("kind").map(|item| &item.node) {
        Some(Node::Leaf(Raw::Text(kind))) => kind.as_str(),
        None => return Err(section.error("kind", &format!("must be given: one of {}", kinds.join(", ")))),
        Some(_) => return Err(section.error("kind", &format!("must be one of {}", kinds.join(", ")))),
    };
    let Some(tables) = SOURCES.iter().find(|tables| tables[0].about.name == kind) else {
        let near = did_you_mean(kind, &kinds);
        return Err(section.error("kind", &format!("no such source: {kind:?}; one of {}{near}", kinds.join(", "))));
    };
    let known: &[&str] = if kind == "endpoints" { &["kind", TABLE] } else { &["kind"] };
    section.refuse_unknown_for(&format!(" for kind {kind}"), &[tables, COMMON].concat(), known)?;
    map.insert("kind".to_owned(), Json::from(kind));
    map.insert("name".to_owned(), Json::Null); // in this place; known when all groups are
    let rate = links[0].rate;
    let common: FlowParams = fields::<Flow>(section, rate, map)?;
    let (mut size, mut own) = (None, Foreign::controller(section)?);
    let mut source = match kind {
        "tcp" => {
            let host = Host::new(&fields::<Tcp>(section, rate, map)?);
            size = fields::<Ftp>(section, rate, map)?.bytes(host.mss);
            SourcePlan::Tcp(Arc::new(host))
        }
        "telnet" => {
            let params = fields::<Telnet>(section, rate, map)?;
            size = params.bytes();
            SourcePlan::Telnet(Arc::new(Host::new(&fields::<Tcp>(section, rate, map)?)), params)
        }
        "http" => population::http(section, &common, rate, map)?,
        "connections" => population::connections(section, &common, rate, map)?,
        "udp" => SourcePlan::Udp(fields::<Udp>(section, rate, map)?),
        "on_off" => SourcePlan::OnOff(fields::<OnOff>(section, rate, map)?),
        "endpoints" => {
            let params = fields::<Endpoints>(section, rate, map)?;
            let (foreign, given) = Foreign::ends(section, &params.ends)?;
            map.insert(TABLE.to_owned(), given);
            own = Some(foreign);
            SourcePlan::Endpoints(EndpointPair::unmade("endpoints", params.packet_size))
        }
        _ => SourcePlan::Poisson(fields::<Poisson>(section, rate, map)?),
    };
    let (path, return_path) = topology::ways(section, &common, links, dumbbell.is_some())?;
    let there = path.iter().fold(Span::ZERO, |sum, link| sum + links[*link as usize].delay);
    let back = return_path.iter().fold(Span::ZERO, |sum, link| sum + links[*link as usize].delay);
    let both = there + if return_path.is_empty() || !source.answers() { there } else { back };
    let access = Access::read(section, rate, dumbbell, both, map)?;
    if source.way().is_some() {
        let far = dumbbell.map_or(Span::ZERO, |network| network.access_delay);
        let way = access.as_ref().map(|access| access.way(both, far));
        let plain = || Way { shared: both, ..Way::fixed(both) };
        population::set_way(&mut source, way.unwrap_or_else(plain));
        if access.as_ref().is_some_and(|access| access.jitter > Span::ZERO) {
            return Err(section.error("access_jitter", "connections that come and go have none"));
        }
    }
    Ok(Group { common, source, own, size, path, return_path, access })
}
