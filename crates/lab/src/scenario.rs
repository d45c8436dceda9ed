//! A whole scenario: read, checked, resolved, turned into a plan.

use crate::access::Access;
use crate::document::{Document, Item, Node, Place, ScenarioError};
use crate::foreign::Build;
use crate::memory::{Memory, Path};
use crate::network::{NetworkParams, Run, RunParams};
use crate::population;
use crate::queueing::{Queueing, Unused, queue};
use crate::section::{Section, fields, json, typed};
use crate::topology::{self, LinkSpec};
use serde_json::{Map, Value as Json};
use sluicegate_aqm::Proportional;
use sluicegate_aqm::drop_tail::{DropTail, DropTailParams};
use sluicegate_base::params::{Table, did_you_mean};
use sluicegate_base::{Rate, Span, Stream, Time, Value};
use sluicegate_netsim::source::{
    self, Connections, Flow, FlowParams, Ftp, Http, OnOff, Poisson, SourcePlan, Telnet, Udp, Way,
};
use sluicegate_netsim::{FlowPlan, Hop, LinePlan, LinkPlan, Plan};
use sluicegate_tcp::{Host, Tcp};

/// The sources of traffic, in the order in which they are listed to people: each with its keys, in one table or more.
pub const SOURCES: &[&[Table]] = &[
    &[Table::of::<Tcp>(), Table::of::<Ftp>()],
    &[Table::of::<Telnet>(), Table::of::<Tcp>()],
    &[Table::of::<Http>(), Table::of::<Tcp>()],
    &[Table::of::<Connections>(), Table::of::<Tcp>()],
    &[Table::of::<Udp>()],
    &[Table::of::<Poisson>()],
    &[Table::of::<OnOff>()],
];

/// What every flow can say, whatever its source.
pub const COMMON: &[Table] = &[Table::of::<Flow>(), Table::of::<source::Access>()];

/// Most flows and links that one scenario may have.
const MOST: usize = 1_000_000;

/// A group of flows as the scenario describes it.
#[derive(Clone, Debug)]
struct Group {
    common: FlowParams,
    source: SourcePlan,
    size: Option<u64>,
    path: Vec<u32>,
    return_path: Vec<u32>,
    access: Option<Access>,
}

impl Group {
    /// How many flows it is.
    fn members(&self) -> u64 {
        if self.source.way().is_some() { 1 } else { self.common.count }
    }
}

/// A scenario that has passed every check.
pub struct Scenario {
    /// The file's name.
    pub name: String,
    /// Everything with its defaults filled in.
    pub resolved: Json,
    /// What `[queue]` holds that does nothing.
    pub unused: Vec<Unused>,
    run: RunParams,
    queue: Queueing,
    links: Vec<LinkSpec>,
    groups: Vec<Group>,
    far_access: Option<(Rate, Span)>,
}

impl Scenario {
    /// Reads a scenario with overrides on top.
    pub fn read(text: &str, name: &str, sets: &[(String, String)]) -> Result<Scenario, ScenarioError> {
        let mut document = Document::parse(text, name)?;
        for (key, value) in sets {
            document.set(key, value)?;
        }
        let root = Section { document: &document, path: "", place: Place::Line(1), entries: &document.root };
        root.refuse_unknown(&[], &["network", "queue", "flows", "run"])?;
        let mut resolved = Map::new();
        let (links, dumbbell) = topology::read(&root, &root.table("network")?, &mut resolved)?;
        let (queue, unused) = queue(&root.table("queue")?, links[0].rate, &mut resolved)?;
        let mut groups = flows(&root, &links, dumbbell.as_ref(), &mut resolved)?;
        let run_section = root.table("run")?;
        run_section.refuse_unknown(&[Table::of::<Run>()], &[])?;
        let run: RunParams = typed::<Run>(&run_section, links[0].rate, "run", &mut resolved)?;
        resolved["run"]["sample"] = json(&Value::Time(run.interval()));
        groups.iter_mut().for_each(|group| population::set_keep(&mut group.source, run.exchanges));
        let far_access = dumbbell.map(|params| (params.access_rate, params.access_delay));
        let far_delay = far_access.map_or(Span::ZERO, |(_, delay)| delay);
        refuse_too_large(&root, &groups, &links, far_delay, &run)?;
        let name = name.to_owned();
        Ok(Scenario { name, resolved: Json::Object(resolved), unused, run, queue, links, groups, far_access })
    }

    /// The seed of the run.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.run.seed
    }

    /// The length of the run.
    #[must_use]
    pub fn duration(&self) -> Span {
        self.run.duration
    }

    /// Whether its discipline is written elsewhere, so that only `plan_with` gives a plan.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        self.queue.is_foreign()
    }

    /// A plan of this scenario, ready to run. An error when its discipline is written elsewhere: see
    /// [`plan_with`](Scenario::plan_with).
    pub fn plan(&self) -> Result<Plan, ScenarioError> {
        self.plan_with(&mut |foreign, _, _| Err(foreign.error("is written elsewhere, and nothing here builds it")))
    }

    /// Builds the discipline for every link that it manages, and gives it up: does it take its values?
    pub fn try_foreign<E>(&self, build: &mut Build<'_, E>) -> Result<(), E> {
        self.links.iter().filter(|spec| spec.plain.is_none()).try_for_each(|spec| self.link(spec, build).map(drop))
    }

    /// A plan of this scenario, ready to run; `build` builds a discipline that is written elsewhere.
    pub fn plan_with<E>(&self, build: &mut Build<'_, E>) -> Result<Plan, E> {
        let links = self.links.iter().map(|spec| self.link(spec, build)).collect::<Result<Vec<LinkPlan>, E>>()?;
        // Each link's way back, with a buffer that does not fill.
        let back = |spec: &LinkSpec| LinePlan {
            name: format!("{}/back", spec.name),
            rate: spec.rate,
            delay: spec.delay,
            jitter: Span::ZERO,
        };
        let mut lines: Vec<LinePlan> = self.links.iter().map(back).collect();
        let mut flows = Vec::new();
        for (at, group) in self.groups.iter().enumerate() {
            for member in 0..group.members() {
                let id = flows.len();
                let mut start = Stream::new(self.run.seed, &format!("flow/{id}/start"));
                let one = group.source.way().is_none();
                let spread = if one { group.common.spread.0.saturating_add(1) } else { 1 };
                let mut path: Vec<Hop> = group.path.iter().map(|link| Hop::Link(*link)).collect();
                let mut back: Vec<Hop> = group.return_path.iter().map(|link| Hop::Link(*link)).collect();
                if group.source.host().is_none() {
                    back.clear();
                } else if back.is_empty() {
                    back = group.path.iter().rev().map(|link| Hop::Line(*link)).collect();
                }
                let mut attach = |name: &str, rate: Rate, delay: Span, jitter: Span, near: bool| {
                    let mut line = |name: String| {
                        lines.push(LinePlan { name, rate, delay, jitter });
                        Hop::Line(lines.len() as u32 - 1)
                    };
                    path.insert(if near { 0 } else { path.len() }, line(format!("flow/{id}/{name}")));
                    if !back.is_empty() {
                        let at = if near { back.len() } else { 0 };
                        back.insert(at, line(format!("flow/{id}/{name}/back")));
                    }
                };
                if let Some(access) = group.access.as_ref().filter(|_| one) {
                    let delay = access.delay_of(self.run.seed, id, member);
                    attach("access", access.rate, delay, access.jitter, true);
                }
                if let Some((rate, delay)) = self.far_access.filter(|_| one) {
                    attach("far access", rate, delay, Span::ZERO, false);
                }
                flows.push(FlowPlan {
                    group: at as u32,
                    source: group.source.clone(),
                    size: group.size,
                    class: group.common.class as u8,
                    priority: group.common.priority as u8,
                    path,
                    return_path: back,
                    start: Time(group.common.start.0 + start.below(spread)),
                    stop: group.common.stop.map_or(Time::NEVER, |stop| Time(stop.0)),
                });
            }
        }
        Ok(Plan {
            links,
            lines,
            flows,
            seed: self.run.seed,
            duration: self.run.duration,
            warmup: self.run.warmup,
            sample: self.run.interval(),
            series: self.run.series,
            recent: self.run.recent,
            packets: self.run.packets,
            positions: self.run.positions,
        })
    }

    fn link<E>(&self, spec: &LinkSpec, build_foreign: &mut Build<'_, E>) -> Result<LinkPlan, E> {
        let LinkSpec { name, rate, delay, framing, .. } = spec.clone();
        if let Some(limit) = spec.plain {
            let queue = Box::new(DropTail::new(DropTailParams { limit }));
            let (discipline, proportional) = ("drop_tail".into(), Proportional::default());
            return Ok(LinkPlan { name, rate, delay, framing, discipline, queue, watched: false, proportional });
        }
        let (discipline, queue) = self.queue.build(&spec.name, spec.rate, build_foreign)?;
        let proportional = self.queue.proportional();
        Ok(LinkPlan { name, rate, delay, framing, discipline, queue, watched: true, proportional })
    }
}

fn flows(
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
    let (mut groups, mut maps, mut total): (Vec<Group>, Vec<Json>, u64) = (Vec::new(), Vec::new(), 0);
    for (at, item) in items.iter().enumerate() {
        let Node::Table(entries) = &item.node else { unreachable!("an array of tables") };
        let path = format!("flows.{at}");
        let section = Section { document: root.document, path: &path, place: item.place, entries };
        let mut map = Map::new();
        let group = group(&section, links, dumbbell, &mut map)?;
        total += group.common.count;
        if total > MOST as u64 {
            return Err(section.error("count", &format!("more than {MOST} flows in all")));
        }
        groups.push(group);
        maps.push(Json::Object(map));
    }
    resolved.insert("flows".to_owned(), Json::Array(maps));
    Ok(groups)
}

/// Refuses what would not fit into memory, at the group of flows that makes it too large.
fn refuse_too_large(
    root: &Section<'_>,
    groups: &[Group],
    links: &[LinkSpec],
    far_delay: Span,
    run: &RunParams,
) -> Result<(), ScenarioError> {
    let Some(Item { node: Node::Array(items), .. }) = root.get("flows") else { return Ok(()) };
    let mut memory = Memory::default();
    for (at, (item, group)) in items.iter().zip(groups).enumerate() {
        let Node::Table(entries) = &item.node else { unreachable!("an array of tables") };
        let path = format!("flows.{at}");
        let section = Section { document: root.document, path: &path, place: item.place, entries };
        let path = group.path.iter().map(|link| &links[*link as usize]);
        let delay = path.clone().fold(far_delay, |sum, link| sum + link.delay);
        let path = Path { delay, rate: path.map(|link| link.rate).min().unwrap_or(Rate(0)) };
        memory.add(&section, &group.common, &group.source, group.access.as_ref(), path, run)?;
    }
    Ok(())
}

fn group(
    section: &Section<'_>,
    links: &[LinkSpec],
    dumbbell: Option<&NetworkParams>,
    map: &mut Map<String, Json>,
) -> Result<Group, ScenarioError> {
    let kinds: Vec<&str> = SOURCES.iter().map(|tables| tables[0].about.name).collect();
    let kind = match section.get("kind").map(|item| &item.node) {
        Some(Node::Leaf(sluicegate_base::params::Raw::Text(kind))) => kind.as_str(),
        None => return Err(section.error("kind", &format!("must be given: one of {}", kinds.join(", ")))),
        Some(_) => return Err(section.error("kind", &format!("must be one of {}", kinds.join(", ")))),
    };
    let Some(tables) = SOURCES.iter().find(|tables| tables[0].about.name == kind) else {
        let near = did_you_mean(kind, &kinds);
        return Err(section.error("kind", &format!("no such source: {kind:?}; one of {}{near}", kinds.join(", "))));
    };
    section.refuse_unknown_for(&format!(" for kind {kind}"), &[tables, COMMON].concat(), &["kind"])?;
    map.insert("kind".to_owned(), Json::from(kind));
    let rate = links[0].rate;
    let common: FlowParams = fields::<Flow>(section, rate, map)?;
    let mut size = None;
    let mut source = match kind {
        "tcp" => {
            let host = Host::new(&fields::<Tcp>(section, rate, map)?);
            size = fields::<Ftp>(section, rate, map)?.bytes(host.mss);
            SourcePlan::Tcp(host)
        }
        "telnet" => {
            let params = fields::<Telnet>(section, rate, map)?;
            size = params.bytes();
            SourcePlan::Telnet(Host::new(&fields::<Tcp>(section, rate, map)?), params)
        }
        "http" => population::http(section, &common, rate, map)?,
        "connections" => population::connections(section, &common, rate, map)?,
        "udp" => SourcePlan::Udp(fields::<Udp>(section, rate, map)?),
        "on_off" => SourcePlan::OnOff(fields::<OnOff>(section, rate, map)?),
        _ => SourcePlan::Poisson(fields::<Poisson>(section, rate, map)?),
    };
    let (path, return_path) = topology::ways(section, &common, links, dumbbell.is_some())?;
    let there = path.iter().fold(Span::ZERO, |sum, link| sum + links[*link as usize].delay);
    let back = return_path.iter().fold(Span::ZERO, |sum, link| sum + links[*link as usize].delay);
    let both = there + if return_path.is_empty() || source.host().is_none() { there } else { back };
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
    Ok(Group { common, source, size, path, return_path, access })
}
