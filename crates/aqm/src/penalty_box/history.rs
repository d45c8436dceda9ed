//! What the router remembers: which flows RED's signals fell on, and what of earlier reports the test of
//! responsiveness needs.

use crate::discipline::FlowKey;
use crate::flow_table::FlowTable;
use alloc::collections::VecDeque;
use core::cmp::Reverse;
use sluicegate_base::{Stream, Time};

/// RED's drop history of one report: signals by flow, and all that arrived meanwhile.
#[derive(Clone, Debug)]
pub struct History {
    /// The bytes of their signals.
    flows: FlowTable<u64>,
    signals: u64,
    signal_bytes: u64,
    packets: u64,
    bytes: u64,
    since: Time,
}

/// What a report says of the traffic that is not restricted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// How many flows had signals.
    pub n: f64,
    /// The part of the packets that got a signal.
    pub p: f64,
    /// Arrivals in bytes per second.
    pub lambda: f64,
    /// The flow with the largest part of the signals, and its arrivals by that part, in bytes per second.
    pub top: Option<(FlowKey, f64)>,
}

impl History {
    /// An empty history that names at most so many flows.
    pub fn new(max_flows: u64) -> History {
        let flows = FlowTable::new(max_flows as usize);
        History { flows, signals: 0, signal_bytes: 0, packets: 0, bytes: 0, since: Time::ZERO }
    }

    /// A packet of an unrestricted flow arrives.
    #[inline]
    pub fn arrival(&mut self, bytes: u64) {
        self.packets += 1;
        self.bytes += bytes;
    }

    /// Whether nothing has happened since the last report.
    pub fn is_empty(&self) -> bool {
        self.packets == 0 && self.signals == 0
    }

    /// RED drops or marks a packet of this flow. The key of the hash comes from a copy of RED's stream: its draws are those
    /// that it makes without a history.
    pub fn signal(&mut self, flow: FlowKey, bytes: u64, rng: &Stream) {
        self.signals += 1;
        self.signal_bytes += bytes;
        if let Some(at) = self.flows.find_or_insert(flow, &mut rng.clone(), || 0) {
            self.flows[at] += bytes;
        }
    }

    /// The report of what happened since the last one. `None` when no time has passed, so that there are no rates.
    pub fn report(&self, now: Time) -> Option<Report> {
        let seconds = now.since(self.since).as_secs();
        if seconds <= 0.0 {
            return None;
        }
        let lambda = self.bytes as f64 / seconds;
        let part = |bytes| bytes as f64 / self.signal_bytes.max(1) as f64;
        // Of equals the lowest, whatever the order in which they came.
        let top = self.flows.iter().max_by_key(|&(flow, bytes)| (bytes, Reverse(flow)));
        Some(Report {
            n: self.flows.len() as f64,
            p: ratio(self.signals, self.packets),
            lambda,
            top: top.map(|(flow, bytes)| (flow, part(*bytes) * lambda)),
        })
    }

    /// Begins the next report.
    pub fn begin(&mut self, now: Time) {
        self.flows.clear();
        (self.signals, self.signal_bytes, self.packets, self.bytes, self.since) = (0, 0, 0, 0, now);
    }
}

/// The part of the packets that were dropped or marked; 0 when there are none.
pub fn ratio(signals: u64, packets: u64) -> f64 {
    if packets == 0 { 0.0 } else { (signals as f64 / packets as f64).min(1.0) }
}

/// How many reports are remembered for the test of responsiveness: ns-2, `Hist_max_`.
const REMEMBERED: usize = 10;
/// A flow is suspect when p has grown by more than this and its rate is still above that part of what it was: ns-2,
/// `Unresp_droprate_factor_` and `Unresp_flowbw_factor_`.
pub const DROPRATE_FACTOR: f64 = 2.0;
pub const FLOWBW_FACTOR: f64 = 0.8;
/// A suspect flow is convicted when neither p nor its rate is below this part of what they were: ns-2, `PUFrac_`.
const AGAIN: f64 = 0.98;

/// The top flow of a report: the part p of packets that got a signal, and its rate x.
#[derive(Clone, Copy, Debug)]
struct TopFlow {
    flow: FlowKey,
    p: f64,
    x: f64,
}

/// The top flows of the last reports, and those of them that did not respond.
#[derive(Clone, Debug)]
pub struct Responses {
    entries: VecDeque<TopFlow>,
    suspects: VecDeque<TopFlow>,
}

impl Responses {
    /// No reports yet.
    pub fn new() -> Responses {
        Responses { entries: VecDeque::with_capacity(REMEMBERED), suspects: VecDeque::with_capacity(REMEMBERED) }
    }

    /// The top flow of a report: says whether it has failed to respond for the second time.
    pub fn unresponsive(&mut self, flow: FlowKey, p: f64, x: f64) -> bool {
        if let Some(first) = self.suspects.iter().find(|suspect| suspect.flow == flow) {
            return x >= AGAIN * first.x && p >= AGAIN * first.p;
        }
        let own = self.entries.iter().filter(|entry| entry.flow == flow);
        let least = own.min_by(|a, b| a.p.total_cmp(&b.p)).copied();
        let entry = TopFlow { flow, p, x };
        remember(&mut self.entries, entry);
        if least.is_some_and(|least| p > DROPRATE_FACTOR * least.p && x > FLOWBW_FACTOR * least.x) {
            remember(&mut self.suspects, entry);
        }
        false
    }

    /// Forgets a flow that has been dealt with.
    pub fn forget(&mut self, flow: FlowKey) {
        self.entries.retain(|entry| entry.flow != flow);
        self.suspects.retain(|entry| entry.flow != flow);
    }
}

/// Appends an entry; the oldest gives way.
fn remember(entries: &mut VecDeque<TopFlow>, entry: TopFlow) {
    if entries.len() == REMEMBERED {
        entries.pop_front();
    }
    entries.push_back(entry);
}
