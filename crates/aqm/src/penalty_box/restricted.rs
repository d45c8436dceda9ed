//! The box: which flows are in it, why, and what they send.

use super::history::ratio;
use crate::discipline::FlowKey;
use alloc::vec::Vec;
use sluicegate_base::Time;

/// Which test a flow has failed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reason {
    /// It sends more than a TCP would.
    Unfriendly,
    /// It did not slow down when drops grew; it then sent so many bytes per second.
    Unresponsive(f64),
    /// It uses much more than others.
    High,
}

/// A restricted flow.
#[derive(Clone, Copy, Debug)]
struct Inmate {
    flow: FlowKey,
    reason: Reason,
    /// What has arrived since the last look.
    bytes: u64,
}

/// The restricted flows.
#[derive(Clone, Debug, Default)]
pub struct Restricted {
    /// Ordered by flow.
    inmates: Vec<Inmate>,
    packets: u64,
    dropped: u64,
    since: Time,
}

impl Restricted {
    /// The restricted flows.
    #[cfg(test)]
    pub fn flows(&self) -> Vec<u64> {
        self.inmates.iter().map(|inmate| inmate.flow.0).collect()
    }

    /// Whether no flow is restricted.
    pub fn is_empty(&self) -> bool {
        self.inmates.is_empty()
    }

    /// Counts anew.
    pub fn begin(&mut self, now: Time) {
        (self.packets, self.dropped, self.since) = (0, 0, now);
    }

    /// Restricts a flow.
    pub fn restrict(&mut self, flow: FlowKey, reason: Reason) {
        if let Err(at) = self.inmates.binary_search_by_key(&flow, |inmate| inmate.flow) {
            self.inmates.insert(at, Inmate { flow, reason, bytes: 0 });
        }
    }

    /// A packet arrives: says whether its flow is restricted, and counts it if so.
    #[inline]
    pub fn arrival(&mut self, flow: FlowKey, bytes: u64) -> bool {
        let found = self.inmates.binary_search_by_key(&flow, |inmate| inmate.flow);
        found.is_ok_and(|at| {
            self.inmates[at].bytes += bytes;
            self.packets += 1;
            true
        })
    }

    /// A packet of a restricted flow is lost or marked.
    #[inline]
    pub fn signal(&mut self) {
        self.dropped += 1;
    }

    /// Looks at what has arrived since the last look: keeps the flows of which `stays` says so, by reason, rate x in bytes
    /// per second and the part p of the box's packets that were lost. Counts anew.
    pub fn look(&mut self, now: Time, stays: impl Fn(Reason, f64, f64) -> bool) {
        let (seconds, p) = (now.since(self.since).as_secs(), ratio(self.dropped, self.packets));
        self.begin(now);
        self.inmates.retain_mut(|inmate| {
            let x = core::mem::take(&mut inmate.bytes) as f64 / seconds;
            stays(inmate.reason, x, p)
        });
    }
}
