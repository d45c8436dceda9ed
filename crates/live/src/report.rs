//! The results of real packets: the tables of a simulated run, without the columns that only a simulator can fill. The
//! summary also says how late packets were handed over, and what devices and sockets have lost.

use crate::driven::{Driven, Punctuality, Traffic};
use crate::namespace::Losses;
use serde_json::{Value as Json, json};
use sluicegate_lab::Scenario;
use sluicegate_lab::results::{Cells, Column, ResultTable, summary, tables};
use sluicegate_netsim::Outcome;
use std::borrow::Cow;

/// Columns that only a simulator fills, for its senders and queues are its own.
const UNKNOWN: [&str; 12] = [
    "fast_retransmits",
    "timeouts",
    "mark_responses",
    "quench_responses",
    "quenches",
    "recent_share",
    "recent_expected",
    "recent_packets",
    "recent_p_value",
    "window_cuts",
    "ssthresh_segments",
    "in_flight_bytes",
];

/// So many late packets say nothing of how a link was kept, however short the run.
const FEW: u64 = 20;

/// What real packets were, beside what was counted.
pub struct Ends<'a> {
    /// What each end has lost, by its name.
    pub losses: Vec<(&'a str, Losses)>,
    /// Columns of single flows: name, meaning, and a text for each.
    pub texts: Vec<(&'static str, &'static str, Vec<String>)>,
    /// Columns of flows that are not known here.
    pub unknown: &'a [&'static str],
    /// More of the summary.
    pub about: Json,
}

/// Summary and tables.
#[must_use]
pub fn report<T: Traffic>(
    scenario: &Scenario,
    driven: &mut Driven<T>,
    outcome: &Outcome,
    ends: Ends<'_>,
) -> (Json, Vec<ResultTable>) {
    let mut told = summary(scenario, outcome);
    // How long a network for traffic from elsewhere is driven is known in the end alone.
    told["scenario"]["run"]["duration"] = outcome.whole.to_string().into();
    told["live"] = live(driven, outcome, &ends);
    let mut all = tables(outcome, &driven.traffic.names());
    for table in &mut all {
        table.columns.retain(|column| !UNKNOWN.contains(&&*column.name) && !(ends.unknown.contains(&&*column.name)));
    }
    let flows = all.iter_mut().find(|table| table.name == "flows").expect("every run has it");
    for (name, doc, cells) in ends.texts {
        let cells = Cells::Str(cells.iter().map(String::as_str).collect());
        flows.columns.push(Column { name: Cow::Borrowed(name), unit: "", doc: Cow::Borrowed(doc), cells });
    }
    (told, all)
}

/// How well the clock was kept, what was lost where no queue of ours decided it, and whether the result can be trusted.
fn live<T: Traffic>(driven: &mut Driven<T>, outcome: &Outcome, ends: &Ends<'_>) -> Json {
    let Punctuality { lateness, packets: [packets, late], longest_turn } = &driven.punctuality;
    let quantile = |q: f64| Some(lateness.quantile(q)).filter(|ns| ns.is_finite());
    let losses: Vec<Json> = ends
        .losses
        .iter()
        .zip(&mut driven.gates)
        .map(|((name, losses), gate)| {
            let lost = gate.lost();
            json!({
                "end": name,
                "device_packets": losses.device + lost.missed,
                "unreadable_packets": lost.unreadable,
                "datagrams": losses.datagrams,
                "segments": losses.segments,
                "refused_packets": lost.refused,
            })
        })
        .collect();
    // A packet that the driver handed over late was late for its receiver; one that a device lost was in no queue of ours.
    let lost: u64 = losses.iter().filter_map(|end| end["device_packets"].as_u64()).sum();
    let trusted = lost == 0 && (late * 100 <= *packets || *late <= FEW);
    let mut told = json!({
        "kernel": std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim(),
        "duration_s": outcome.whole.as_secs(),
        "lateness_p50_ns": quantile(0.5),
        "lateness_p99_ns": quantile(0.99),
        "lateness_max_ns": lateness.longest(),
        "late_packets": late,
        "packets": packets,
        "longest_turn_ns": longest_turn.0,
        "under_way_packets": driven.emulator.under_way(),
        "losses": losses,
        "kept_up": trusted,
        "fault": driven.fault,
    });
    if let (Json::Object(told), Json::Object(more)) = (&mut told, &ends.about) {
        told.extend(more.clone());
    }
    told
}
