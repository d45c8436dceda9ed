//! The tables of results. A column is declared once, with its unit and meaning, beside the code that fills it.

mod columns;
mod exchanges;
mod flows;
mod groups;
mod links;
mod packets;
mod segments;
mod totals;

use crate::{Scenario, VERSION};
pub use columns::{Cells, Column, ResultTable, Texts};
pub(crate) use columns::{drops_by_reason, f64s, ratio, strs, u64s};
use exchanges::{exchanges, response_times};
use flows::{flow_series, flows};
use groups::groups;
use links::{links, occupancy, queue, state};
use packets::{packets, positions};
use segments::segments;
use serde_json::{Value as Json, json};
use sluicegate_netsim::Outcome;
use sluicegate_netsim::counters::LinkRow;

/// What a run has left, and the names of its groups.
#[derive(Clone, Copy)]
struct Named<'a> {
    outcome: &'a Outcome,
    /// By the number of a `[[flows]]` entry; where there is none, the kind of the flow is its name.
    names: &'a [String],
}

impl<'a> Named<'a> {
    /// The name of an entry of `[[flows]]` whose flows are of this kind.
    fn group(self, group: u32, kind: &'static str) -> &'a str {
        self.names.get(group as usize).map_or(kind, String::as_str)
    }

    /// The name of the group of a flow.
    fn of(self, flow: u32) -> &'a str {
        let row = &self.outcome.flows[flow as usize];
        self.group(row.group, row.kind)
    }

    /// The name of the group of each of these flows, as a column.
    fn column(self, flows: impl Iterator<Item = u32>) -> Column {
        strs("name", "name of the flow's group", flows.map(|flow| self.of(flow)))
    }
}

/// Every table of a run. `names`: those of the entries of `[[flows]]`, in order.
#[must_use]
pub fn tables(outcome: &Outcome, names: &[String]) -> Vec<ResultTable> {
    let named = Named { outcome, names };
    let [groups, delays] = groups(named);
    vec![
        flows(named),
        links(outcome),
        flow_series(named),
        queue(outcome),
        occupancy(named),
        groups,
        delays,
        response_times(named),
        exchanges(named),
        positions(named),
        state(outcome),
        packets(named),
        segments(named),
    ]
}

/// The summary of a run: version, scenario, seed, totals.
#[must_use]
pub fn summary(scenario: &Scenario, outcome: &Outcome) -> Json {
    let sum = |measure: fn(&LinkRow) -> u64| outcome.links.iter().map(measure).sum::<u64>();
    let delivered: u64 = outcome.flows.iter().map(|row| row.totals.delivered[1]).sum();
    json!({
        "version": VERSION,
        "scenario_file": scenario.name,
        "scenario": scenario.resolved,
        "seed": scenario.seed(),
        "totals": {
            "measured_s": outcome.window.as_secs(),
            "throughput_bps": delivered as f64 * 8.0 / outcome.window.as_secs(),
            "arrivals_packets": sum(|row| row.counters.arrivals),
            "departures_packets": sum(|row| row.counters.departures),
            "drops_packets": sum(|row| row.counters.drops.iter().sum()),
            "lost_packets": sum(|row| row.lost),
        },
        "events": outcome.events,
    })
}
