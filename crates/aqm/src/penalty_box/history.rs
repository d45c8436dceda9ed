//! What the router remembers: which flows RED's signals fell on, and which flows are in the box.

use crate::discipline::FlowKey;
use alloc::vec::Vec;
use sluicegate_base::{Span, Time};

/// RED's drop history of one report: signals by flow, and all that arrived meanwhile.
#[derive(Clone, Debug)]
pub struct History {
    /// Flows with their signals, ordered by flow.
    flows: Vec<(FlowKey, u64)>,
    signals: u64,
    packets: u64,
    bytes: u64,
    since: Time,
}

/// What a report says of the traffic as a whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traffic {
    /// How many flows had signals.
    pub n: f64,
    /// The part of the packets that got a signal.
    pub p: f64,
    /// Arrivals in bytes per second.
    pub rate: f64,
}

impl History {
    /// An empty history with room for the flows of `signals` signals.
    pub fn new(signals: u64) -> History {
        let flows = Vec::with_capacity(signals as usize);
        History { flows, signals: 0, packets: 0, bytes: 0, since: Time::ZERO }
    }

    /// How many signals it holds.
    pub fn signals(&self) -> u64 {
        self.signals
    }

    /// A packet of an unrestricted flow arrives.
    #[inline]
    pub fn arrival(&mut self, bytes: u64) {
        self.packets += 1;
        self.bytes += bytes;
    }

    /// RED drops or marks a packet of this flow.
    pub fn signal(&mut self, flow: FlowKey) {
        self.signals += 1;
        match self.flows.binary_search_by_key(&flow, |entry| entry.0) {
            Ok(at) => self.flows[at].1 += 1,
            Err(at) => self.flows.insert(at, (flow, 1)),
        }
    }

    /// The traffic since the last report; `None` when no time has passed, so that there are no rates.
    pub fn traffic(&self, now: Time) -> Option<Traffic> {
        let seconds = now.since(self.since).as_secs();
        (seconds > 0.0 && self.packets > 0).then(|| Traffic {
            n: self.flows.len() as f64,
            p: (self.signals as f64 / self.packets as f64).min(1.0),
            rate: self.bytes as f64 / seconds,
        })
    }

    /// Each flow with its share of the signals.
    pub fn shares(&self) -> impl Iterator<Item = (FlowKey, f64)> {
        self.flows.iter().map(|&(flow, signals)| (flow, signals as f64 / self.signals as f64))
    }

    /// Begins the next report.
    pub fn begin(&mut self, now: Time) {
        self.flows.clear();
        (self.signals, self.packets, self.bytes, self.since) = (0, 0, 0, now);
    }
}

/// A restricted flow.
#[derive(Clone, Copy, Debug)]
struct Inmate {
    flow: FlowKey,
    /// Its arrival rate must fall below this, in bytes per second.
    bound: f64,
    /// What has arrived since the last look, and since when.
    bytes: u64,
    since: Time,
}

/// The restricted flows.
#[derive(Clone, Debug)]
pub struct Restricted {
    /// Ordered by flow.
    inmates: Vec<Inmate>,
}

impl Restricted {
    /// An empty box.
    pub fn new() -> Restricted {
        Restricted { inmates: Vec::new() }
    }

    /// Whether no flow is restricted.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.inmates.is_empty()
    }

    /// Restricts a flow until its arrival rate falls below `bound` bytes per second.
    pub fn restrict(&mut self, flow: FlowKey, bound: f64, now: Time) {
        if let Err(at) = self.inmates.binary_search_by_key(&flow, |inmate| inmate.flow) {
            self.inmates.insert(at, Inmate { flow, bound, bytes: 0, since: now });
        }
    }

    /// A packet arrives: says whether its flow is restricted, and counts it if so.
    #[inline]
    pub fn arrival(&mut self, flow: FlowKey, bytes: u64) -> bool {
        let found = self.inmates.binary_search_by_key(&flow, |inmate| inmate.flow);
        found.is_ok_and(|at| {
            self.inmates[at].bytes += bytes;
            true
        })
    }

    /// Looks at the arrival rates: frees the flows that have fallen below their bounds, and counts anew for the rest.
    /// A flow that has been watched for less than `interval` stays.
    pub fn look(&mut self, interval: Span, now: Time) {
        self.inmates.retain_mut(|inmate| {
            let watched = now.since(inmate.since);
            if watched < interval {
                return true;
            }
            let rate = inmate.bytes as f64 / watched.as_secs();
            (inmate.bytes, inmate.since) = (0, now);
            rate >= inmate.bound
        });
    }

    /// When the first flow will have been watched for `interval`.
    pub fn next_look(&self, interval: Span) -> Option<Time> {
        self.inmates.iter().map(|inmate| inmate.since + interval).min()
    }
}
