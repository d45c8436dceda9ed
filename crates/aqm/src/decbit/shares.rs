//! Who uses more than a fair share: the counters behind selective feedback.

use crate::discipline::FlowKey;
use alloc::collections::BTreeMap;

/// Bytes that have arrived of each flow in the last cycle and in the current one.
#[derive(Clone, Debug)]
pub(super) struct Shares {
    factor: f64,
    most: usize,
    flows: BTreeMap<FlowKey, [u64; 2]>,
}

impl Shares {
    pub(super) fn new(factor: f64, most: usize) -> Shares {
        Shares { factor, most, flows: BTreeMap::new() }
    }

    /// Another part of the arriving bytes is shared out.
    pub(super) fn set_factor(&mut self, factor: f64) {
        self.factor = factor;
    }

    /// The current cycle becomes the last one.
    pub(super) fn begin(&mut self) {
        self.flows.retain(|_, bytes| {
            *bytes = [bytes[1], 0];
            bytes[0] > 0
        });
    }

    /// Counts an arrival: has its flow sent more than its fair share? Always, when there is no place to count it.
    ///
    /// A flow with d bytes is above the max-min share of a capacity C if the flows, each cut down to d, have more than C
    /// together: the share is where they have just that.
    pub(super) fn arrival(&mut self, flow: FlowKey, bytes: u64) -> bool {
        if self.flows.len() >= self.most && !self.flows.contains_key(&flow) {
            return true;
        }
        let sum = |[last, current]: [u64; 2]| last + current;
        let own = self.flows.entry(flow).or_default();
        own[1] += bytes;
        let own = sum(*own);
        let (mut all, mut cut) = (0, 0);
        for bytes in self.flows.values() {
            all += sum(*bytes);
            cut += sum(*bytes).min(own);
        }
        cut as f64 > self.factor * all as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100, 300 and 600 bytes, of which 900 are shared out: 100, 300 and 500. Only the last flow has more.
    #[test]
    fn shares_are_max_min_fair() {
        let mut shares = Shares::new(0.9, 10);
        [(1, 99), (2, 299), (3, 599)].iter().for_each(|&(flow, bytes)| {
            shares.arrival(FlowKey(flow), bytes);
        });
        assert_eq!([1, 2, 3].map(|flow| shares.arrival(FlowKey(flow), 1)), [false, false, true]);
        // Two flows with as much: 450 each of 500, and both have more.
        let mut equal = Shares::new(0.9, 10);
        equal.arrival(FlowKey(1), 500);
        assert!(equal.arrival(FlowKey(2), 500) && equal.arrival(FlowKey(1), 0));
    }

    #[test]
    fn two_cycles_count_and_no_more() {
        let mut shares = Shares::new(0.9, 2);
        shares.arrival(FlowKey(1), 1000);
        shares.begin();
        assert!(!shares.arrival(FlowKey(2), 10) && shares.arrival(FlowKey(1), 10));
        assert!(shares.arrival(FlowKey(3), 1), "there is no place for a third");
        shares.begin();
        assert!(shares.arrival(FlowKey(2), 100), "110 to 10 bytes");
        shares.begin();
        assert_eq!(shares.flows.len(), 1, "flow 1 has sent nothing for two cycles");
    }
}
