//! A whole scenario: read, checked, resolved, turned into a plan.

use crate::changes::{Change, Effect, NewQueue, ScenarioState, TABLES, changes};
use crate::document::{Document, Place, ScenarioError};
use crate::flows::{Group, flows};
use crate::foreign::{Build, Foreign};
use crate::link::LinkSpec;
use crate::memory::refuse_too_large;
use crate::network::{NetworkParams, Run, RunParams};
use crate::population;
use crate::queueing::{Queues, Unused};
use crate::section::{Section, json, typed};
use crate::topology;
use serde_json::{Map, Value as Json};
use sluicegate_aqm::drop_tail::{DropTail, DropTailParams};
use sluicegate_aqm::{Discipline, Packet, Proportional};
use sluicegate_base::params::Table;
use sluicegate_base::{Rate, Span, Stream, Time, Value};
use sluicegate_netsim::source::SourcePlan;
use sluicegate_netsim::{AccessName, FlowPlan, Hop, Hops, LineName, LinePlan, LinkPlan, Plan};
use sluicegate_port::Framing;
use std::sync::Arc;

/// A scenario that has passed every check.
pub struct Scenario {
    /// The file's name.
    pub name: String,
    /// Everything with its defaults filled in.
    pub resolved: Json,
    /// What `[queue]` holds that does nothing.
    pub unused: Vec<Unused>,
    /// The most bytes that a run takes, as far as they grow with its values: what refuses a scenario, for tests to compare with
    /// what runs take.
    #[doc(hidden)]
    pub memory: u64,
    /// Its state at the start, and the changes that come while it runs.
    pub(crate) state: ScenarioState,
    pub(crate) changes: Vec<Change>,
    queues: Queues,
    /// The disciplines that changes bring.
    later: Vec<NewQueue>,
}

/// Reads the groups of flows: see [`flows`].
type ReadFlows =
    fn(&Section<'_>, &[LinkSpec], Option<&NetworkParams>, &mut Map<String, Json>) -> Result<Vec<Group>, ScenarioError>;

impl Scenario {
    /// Reads a scenario with overrides on top.
    pub fn read(text: &str, name: &str, sets: &[(String, String)]) -> Result<Scenario, ScenarioError> {
        Scenario::of(document(text, name, sets)?, name, flows, None)
    }

    /// Reads the network and the queue of a scenario, as [`read`](Scenario::read) does, for traffic that comes from elsewhere:
    /// its flows and changes, and how long it runs, do not matter and may be missing. Its packets have up to `mtu` bytes, which
    /// defaults of the queue follow.
    pub fn read_network(
        text: &str,
        name: &str,
        sets: &[(String, String)],
        mtu: u32,
    ) -> Result<Scenario, ScenarioError> {
        let mut document = Document::parse(text, name)?;
        document.root.retain(|(table, _)| table != "flows" && table != "changes");
        for (key, value) in sets {
            document.set(key, value)?;
        }
        document.set("run.duration", "1e7 s")?;
        Scenario::of(document, name, |_, _, _, _| Ok(Vec::new()), Some(mtu.into()))
    }

    /// `packet`: the length of a typical packet; of those that the flows send if there is none.
    fn of(
        mut document: Document,
        name: &str,
        flows: ReadFlows,
        packet: Option<u64>,
    ) -> Result<Scenario, ScenarioError> {
        let root = Section { document: &document, path: "", place: Place::Line(1), entries: &document.root };
        root.refuse_unknown(&[], TABLES)?;
        let mut resolved = Map::new();
        let (mut links, dumbbell) = topology::read(&root, &root.table("network")?, &mut resolved)?;
        resolved.insert("queue".to_owned(), Json::Null); // in this place; its defaults follow from what the flows send
        let mut groups = flows(&root, &links, dumbbell.as_ref(), &mut resolved)?;
        let packet = packet.unwrap_or_else(|| SourcePlan::typical_packet(groups.iter().map(|group| &group.source)));
        links.iter_mut().for_each(|link| link.packet = packet);
        let (queues, unused) = Queues::read(&root, &links, &mut resolved)?;
        for link in links.iter().filter(|link| link.plain.is_none()) {
            let broken = |rule| root.error("queue", &format!("breaks the rule {rule} at link {:?}", link.name));
            queues.at(link).check(link).map_err(broken)?;
        }
        links.iter_mut().for_each(|link| link.held = queues.at(link).held(link));
        let run_section = root.table("run")?;
        run_section.refuse_unknown(&[Table::of::<Run>()], &[])?;
        let run: RunParams = typed::<Run>(&run_section, links[0].rate, "run", &mut resolved)?;
        resolved["run"]["sample"] = json(&Value::Time(run.interval()));
        groups.iter_mut().for_each(|group| population::set_keep(&mut group.source, run.exchanges));
        let mut memory = refuse_too_large(&root, &groups, &links, dumbbell.as_ref(), &run)?;
        let mut changes = changes(&root)?;
        document.root.retain(|(name, _)| name != "changes"); // what changes apply to is copied for each
        let state = ScenarioState { document, links, dumbbell, groups, run };
        let later = check_changes(&state, &mut changes, &mut memory)?;
        if !changes.is_empty() {
            resolved.insert("changes".to_owned(), changes.iter().map(Change::resolved).collect());
        }
        let name = name.to_owned();
        Ok(Scenario { name, resolved: Json::Object(resolved), unused, memory, state, changes, queues, later })
    }

    /// The seed of the run.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.state.run.seed
    }

    /// The names of the entries of `[[flows]]`, in order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.state.groups.iter().map(|group| group.common.name.clone().unwrap_or_default()).collect()
    }

    /// The length of the run.
    #[must_use]
    pub fn duration(&self) -> Span {
        self.state.run.duration
    }

    /// Whether something of it changes while it runs.
    #[must_use]
    pub fn has_changes(&self) -> bool {
        !self.changes.is_empty()
    }

    /// Of a dumbbell the links, by index, that packets cross forward and in the opposite direction, in this order; none in the
    /// latter where it is not under study.
    #[must_use]
    pub fn directions(&self) -> Option<[Vec<usize>; 2]> {
        self.state.dumbbell.as_ref()?;
        Some([false, true].map(|reverse| topology::across(&self.state.links, reverse)))
    }

    /// Whether something of it is written elsewhere, so that only `plan_with` gives a plan.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        self.own_flows().next().is_some() || self.has_own_queue()
    }

    /// Whether a discipline of it is written elsewhere.
    #[must_use]
    pub fn has_own_queue(&self) -> bool {
        self.queues.is_foreign() || self.later.iter().any(|new| new.queue.is_foreign())
    }

    /// The flows whose ends or congestion control are written elsewhere, by their index in the plan, and what makes these. In a
    /// plan of [`plan_with`](Scenario::plan_with) the source of each is still to be made.
    pub fn own_flows(&self) -> impl Iterator<Item = (usize, &Foreign)> {
        let groups = self.state.groups.iter();
        let members = groups.flat_map(|group| std::iter::repeat_n(group.own.as_ref(), group.members() as usize));
        members.enumerate().filter_map(|(flow, own)| Some((flow, own?)))
    }

    /// A plan of this scenario, ready to run. An error when something of it is written elsewhere: see
    /// [`plan_with`](Scenario::plan_with).
    pub fn plan(&self) -> Result<Plan, ScenarioError> {
        if let Some((_, own)) = self.own_flows().next() {
            return Err(own.error("is written elsewhere, and nothing here makes it"));
        }
        self.plan_with(&mut |foreign, _, _| Err(foreign.error("is written elsewhere, and nothing here builds it")))
    }

    /// Builds the disciplines for every link that they manage, and gives them up: do they take their values?
    pub fn try_foreign<E>(&self, build: &mut Build<'_, E>) -> Result<(), E> {
        for link in self.state.links.iter().filter(|link| link.plain.is_none()) {
            self.queues.at(link).build_at(link, build)?;
        }
        self.later.iter().try_for_each(|new| self.state.build(new, build).map(drop))
    }

    /// A plan of this scenario, ready to run; `build` builds a discipline that is written elsewhere.
    pub fn plan_with<E>(&self, build: &mut Build<'_, E>) -> Result<Plan, E> {
        self.plan_for(build)
    }

    /// The same with links for other packets than the simulator's.
    pub fn plan_for<E, P: Packet + 'static>(&self, build: &mut Build<'_, E, P>) -> Result<Plan<P>, E> {
        let ScenarioState { links: specs, dumbbell, groups, run, .. } = &self.state;
        let far_access = dumbbell.as_ref().map(|params| (params.access_rate.expect("resolved"), params.access_delay));
        let links = specs.iter().map(|spec| self.link(spec, build)).collect::<Result<Vec<LinkPlan<P>>, E>>()?;
        // Each link's way back, with a buffer that does not fill.
        let back = |spec: &LinkSpec| LinePlan {
            name: format!("{}/back", spec.name).into(),
            rate: spec.rate,
            delay: spec.delay,
            jitter: Span::ZERO,
        };
        let mut lines: Vec<LinePlan> = specs.iter().map(back).collect();
        let mut flows = Vec::new();
        for (at, group) in groups.iter().enumerate() {
            let there: Hops = group.path.iter().map(|link| Hop::Link(*link)).collect();
            let back: Hops = match group.source.answers() {
                false => Hops::new(),
                _ if group.return_path.is_empty() => {
                    // A shaper is of one direction.
                    let wires = group.path.iter().rev().filter(|link| specs[**link as usize].shaper.is_none());
                    wires.map(|link| Hop::Line(*link)).collect()
                }
                _ => group.return_path.iter().map(|link| Hop::Link(*link)).collect(),
            };
            let source = Arc::new(group.source.clone());
            for member in 0..group.members() {
                let id = flows.len();
                let mut start = Stream::new(run.seed, &format!("flow/{id}/start"));
                let one = group.source.way().is_none();
                let spread = if one { group.common.spread.0.saturating_add(1) } else { 1 };
                let (mut path, mut return_path) = (there.clone(), back.clone());
                let mut attach = |far: bool, rate: Rate, delay: Span, jitter: Span| {
                    let mut line = |path: &mut Hops, back| {
                        let name = LineName::Access(AccessName::new(id as u32, far, back));
                        lines.push(LinePlan { name, rate, delay, jitter });
                        path.insert(if far == back { 0 } else { path.len() }, Hop::Line(lines.len() as u32 - 1));
                    };
                    line(&mut path, false);
                    if !back.is_empty() {
                        line(&mut return_path, true);
                    }
                };
                if let Some(access) = group.access.as_ref().filter(|_| one) {
                    let delay = access.delay_of(run.seed, id, member);
                    attach(false, access.rate, delay, access.jitter);
                }
                if let Some((rate, delay)) = far_access.filter(|_| one) {
                    attach(true, rate, delay, Span::ZERO);
                }
                flows.push(FlowPlan {
                    group: at as u32,
                    source: source.clone(),
                    size: group.size,
                    class: group.common.class as u8,
                    priority: group.common.priority as u8,
                    host: group.common.host.map(|host| host as u32),
                    path,
                    return_path,
                    start: Time(group.common.start.0 + start.below(spread)),
                    stop: group.common.stop.map_or(Time::NEVER, |stop| Time(stop.0)),
                });
            }
        }
        Ok(Plan {
            links,
            lines,
            flows,
            seed: run.seed,
            duration: run.duration,
            warmup: run.warmup,
            sample: run.interval(),
            series: run.series,
            recent: run.recent,
            packets: run.packets,
            segments: run.segments,
            positions: run.positions,
        })
    }

    fn link<E, P: Packet + 'static>(
        &self,
        spec: &LinkSpec,
        build_foreign: &mut Build<'_, E, P>,
    ) -> Result<LinkPlan<P>, E> {
        let LinkSpec { name, rate, packet, delay, framing, tx_ring, plain, monitored, counted, wire, .. } =
            spec.clone();
        // What a shaper counts around packets is not on its interface.
        let (interface, framing) =
            spec.shaper.map_or((None, framing), |shaper| (Some(shaper.interface), Framing::default()));
        let (discipline, queue, proportional): (_, Box<dyn Discipline<_>>, _) = if let Some(limit) = plain {
            ("drop_tail".into(), Box::new(DropTail::new(DropTailParams { limit })), Proportional::default())
        } else {
            let queueing = self.queues.at(spec);
            let (discipline, queue) = queueing.build_at(spec, build_foreign)?;
            (discipline, queue, queueing.proportional())
        };
        Ok(LinkPlan {
            name,
            rate,
            interface,
            packet,
            delay,
            framing,
            discipline,
            queue,
            monitored,
            counted,
            tx_ring,
            proportional,
            wire,
        })
    }
}

/// A scenario's text with overrides on top.
fn document(text: &str, name: &str, sets: &[(String, String)]) -> Result<Document, ScenarioError> {
    let mut document = Document::parse(text, name)?;
    sets.iter().try_for_each(|(key, value)| document.set(key, value))?;
    Ok(document)
}

/// Tries the changes one after another; gives the disciplines that they bring.
fn check_changes(
    start: &ScenarioState,
    changes: &mut [Change],
    memory: &mut u64,
) -> Result<Vec<NewQueue>, ScenarioError> {
    let mut later = Vec::new();
    let mut state = None;
    for change in changes {
        let changed = state.as_ref().unwrap_or(start).changed(&change.key, change.item.clone())?;
        *memory = changed.memory.max(*memory);
        if let Effect::Discipline(new) = changed.effect {
            later.push(new);
        }
        change.resolved = Some(changed.resolved);
        state = Some(changed.state);
    }
    Ok(later)
}
