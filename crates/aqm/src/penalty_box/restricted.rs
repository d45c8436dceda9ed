//! The box: which flows are in it, why, and what they send.

use super::history::ratio;
use crate::discipline::FlowKey;
use alloc::collections::BTreeMap;
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
pub struct Flow {
    reason: Reason,
    /// What has arrived since the last look.
    bytes: u64,
}

/// The restricted flows.
#[derive(Clone, Debug, Default)]
pub struct Restricted {
    /// What is known of each.
    pub flows: BTreeMap<FlowKey, Flow>,
    packets: u64,
    signals: u64,
    since: Time,
}

impl Restricted {
    /// Whether no flow is restricted.
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// Counts anew.
    pub fn begin(&mut self, now: Time) {
        (self.packets, self.signals, self.since) = (0, 0, now);
    }

    /// Restricts a flow.
    pub fn restrict(&mut self, flow: FlowKey, reason: Reason) {
        self.flows.entry(flow).or_insert(Flow { reason, bytes: 0 });
    }

    /// A packet arrives: says whether its flow is restricted, and counts it if so.
    #[inline]
    pub fn arrival(&mut self, flow: FlowKey, bytes: u64) -> bool {
        let Some(flow) = self.flows.get_mut(&flow) else { return false };
        flow.bytes += bytes;
        self.packets += 1;
        true
    }

    /// A packet of a restricted flow is dropped or marked.
    #[inline]
    pub fn signal(&mut self) {
        self.signals += 1;
    }

    /// Looks at what has arrived since the last look: keeps the flows of which `stays` says so, by reason, rate x in bytes
    /// per second and the part p of the box's packets that were dropped or marked. Counts anew.
    pub fn look(&mut self, now: Time, stays: impl Fn(Reason, f64, f64) -> bool) {
        let (seconds, p) = (now.since(self.since).as_secs(), ratio(self.signals, self.packets));
        self.begin(now);
        self.flows.retain(|_, flow| {
            let x = core::mem::take(&mut flow.bytes) as f64 / seconds;
            stays(flow.reason, x, p)
        });
    }
}
