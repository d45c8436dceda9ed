//! A scenario as it runs: driven to any time, looked at, changed, and repeated from what was recorded.

use crate::changes::{Change, Changed, Effect, ScenarioState};
use crate::document::{Item, ScenarioError, override_value};
use crate::flows::Group;
use crate::foreign::Build;
use crate::results::{ResultTable, summary, tables};
use crate::scenario::Scenario;
use serde_json::Value as Json;
use sluicegate_base::{Span, Time};
use sluicegate_netsim::{Outcome, Plan, Sim};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Why a change was not made: nothing has changed.
#[derive(Debug)]
pub enum Refusal<E> {
    /// It breaks a rule.
    Scenario(ScenarioError),
    /// A discipline that is written elsewhere could not be built.
    Build(E),
}

impl<E> From<ScenarioError> for Refusal<E> {
    fn from(error: ScenarioError) -> Self {
        Refusal::Scenario(error)
    }
}

/// A run of a scenario in progress.
pub struct Simulation {
    scenario: Arc<Scenario>,
    state: ScenarioState,
    /// Changes that the scenario has for later.
    planned: VecDeque<Change>,
    /// Changes that have been applied.
    applied: Vec<Change>,
    sim: Sim,
}

impl Simulation {
    /// A run of this plan of a scenario; nothing has happened yet.
    #[must_use]
    pub fn new(scenario: impl Into<Arc<Scenario>>, plan: Plan) -> Simulation {
        let scenario = scenario.into();
        let (state, planned) = (scenario.state.clone(), scenario.changes.clone().into());
        Simulation { scenario, state, planned, applied: Vec::new(), sim: Sim::new(plan) }
    }

    /// Runs about `budget` events, up to and including the time `until`, with the changes that the scenario has for then;
    /// false when that is reached. `build` builds a discipline that is written elsewhere.
    pub fn advance<E>(&mut self, until: Time, budget: u64, build: &mut Build<'_, E>) -> Result<bool, Refusal<E>> {
        let until = until.min(self.sim.end());
        let due = self.planned.front().map(|change| change.time).filter(|due| *due <= until && *due < self.sim.end());
        if self.sim.advance_until(due.unwrap_or(until), budget) {
            return Ok(true);
        }
        if due.is_none() {
            return Ok(false);
        }
        let Change { key, item, .. } = self.planned.front().expect("one is due").clone();
        self.apply(key, item, build)?;
        self.planned.pop_front();
        Ok(true)
    }

    /// Makes a change at the present time, after everything else that happens then: `key` and `value` as an override has
    /// them. If it is refused, nothing has changed.
    pub fn set<E>(&mut self, key: &str, value: &str, build: &mut Build<'_, E>) -> Result<(), Refusal<E>> {
        self.set_item(key, value, build).map_err(|refusal| match refusal {
            // It is no override of a file.
            Refusal::Scenario(ScenarioError(text)) => {
                Refusal::Scenario(ScenarioError(text.strip_prefix("sets: ").unwrap_or(&text).to_owned()))
            }
            other => other,
        })
    }

    fn set_item<E>(&mut self, key: &str, value: &str, build: &mut Build<'_, E>) -> Result<(), Refusal<E>> {
        if self.is_done() {
            return Err(ScenarioError(format!("{key}: cannot change: the run is over")).into());
        }
        self.apply(key.to_owned(), override_value(key, value)?, build)
    }

    fn apply<E>(&mut self, key: String, item: Item, build: &mut Build<'_, E>) -> Result<(), Refusal<E>> {
        let Changed { state: next, effect, resolved, .. } = self.state.changed(&key, item.clone())?;
        let refuse = |rule: String| next.document.error(item.place, &key, &rule);
        match effect {
            Effect::Discipline(new) => {
                for (link, (name, built)) in next.build(&new, build).map_err(Refusal::Build)? {
                    self.sim.replace_queue(&link, built, name, new.queue.proportional()).map_err(refuse)?;
                }
            }
            Effect::Queue { links, name, value } => {
                for link in links {
                    self.sim.set_queue(&next.links[link].name, &name, &value).map_err(refuse)?;
                }
            }
            Effect::Rate(link, rate) => self.sim.set_rate(&link, rate).map_err(refuse)?,
            Effect::Source { group, name, value } => {
                for flow in members(&next.groups, group) {
                    self.sim.set_source(flow, &name, &value).map_err(refuse)?;
                }
            }
            Effect::Count { group, senders } => {
                for (at, flow) in members(&next.groups, group).enumerate() {
                    self.sim.rest(flow, at as u64 >= senders).map_err(&refuse)?;
                }
            }
        }
        self.state = next;
        self.applied.push(Change { time: self.sim.now(), key, item, resolved: Some(resolved) });
        Ok(())
    }

    /// What has been changed, and what the scenario has for later: each with time, key and value as they were given. As
    /// `[[changes]]` of the same scenario they repeat this run; the results have them in the form of the resolved scenario.
    #[must_use]
    pub fn changes(&self) -> Json {
        self.applied.iter().chain(&self.planned).map(Change::given).collect()
    }

    fn resolved(&self) -> Vec<Json> {
        self.applied.iter().chain(&self.planned).map(Change::resolved).collect()
    }

    /// The simulated time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.sim.now()
    }

    /// How long the run is.
    #[must_use]
    pub fn duration(&self) -> Span {
        self.scenario.duration()
    }

    /// Whether the run is over.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.sim.now() >= self.sim.end()
    }

    /// Events so far.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.sim.events()
    }

    /// The names of the groups of flows.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.scenario.names()
    }

    /// The number of the group of each flow.
    #[must_use]
    pub fn groups_of_flows(&self) -> Vec<usize> {
        let members = |(at, group): (usize, &Group)| std::iter::repeat_n(at, group.members() as usize);
        self.state.groups.iter().enumerate().flat_map(members).collect()
    }

    /// The scenario as it is written, with overrides and changes so far.
    #[must_use]
    pub fn given(&self) -> Json {
        self.state.document.json()
    }

    /// The scenario with every default filled in, as changes so far have made it.
    #[must_use]
    pub fn resolved_scenario(&self) -> Json {
        let mut now = self.scenario.resolved.clone();
        for (key, value) in self.applied.iter().filter_map(|change| change.resolved.as_ref()) {
            let place = key.split('.').fold(&mut now, |table, part| match part.parse::<usize>() {
                Ok(at) if table.is_array() => &mut table[at],
                _ => &mut table[part],
            });
            place.clone_from(value);
        }
        now
    }

    /// The simulator, for observers of its links.
    pub fn sim(&mut self) -> &mut Sim {
        &mut self.sim
    }

    /// Summary and tables of what was measured so far; the run goes on unchanged.
    #[must_use]
    pub fn results(&self) -> (Json, Vec<ResultTable>) {
        report(&self.scenario, self.resolved(), &self.sim.snapshot())
    }

    /// Ends the run where it is: summary and tables.
    #[must_use]
    pub fn finish(self) -> (Json, Vec<ResultTable>) {
        let changes = self.resolved();
        report(&self.scenario, changes, &self.sim.finish())
    }
}

/// The indices of a group's flows.
fn members(groups: &[Group], at: usize) -> Range<usize> {
    let before: u64 = groups[..at].iter().map(Group::members).sum();
    before as usize..(before + groups[at].members()) as usize
}

fn report(scenario: &Scenario, changes: Vec<Json>, outcome: &Outcome) -> (Json, Vec<ResultTable>) {
    let mut summary = summary(scenario, outcome);
    if !changes.is_empty() {
        summary["scenario"]["changes"] = changes.into();
    }
    (summary, tables(outcome, &scenario.names()))
}
