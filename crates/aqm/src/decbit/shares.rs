//! Who uses more than a fair share: the counters behind selective feedback.

use crate::discipline::FlowKey;
use crate::flow_table::FlowTable;
use alloc::vec::Vec;
use sluicegate_base::Stream;

/// Bytes that have arrived of each flow in the last cycle and in the current one, and the fair share of them.
#[derive(Clone, Debug)]
pub(super) struct Shares {
    /// The part of the arriving bytes that is shared out.
    pub(super) factor: f64,
    flows: FlowTable<[u64; 2]>,
    /// Of all flows together.
    bytes: u64,
    /// The fair share in bytes, out of so many of all flows, and the arrivals since it was computed.
    share: f64,
    shared: u64,
    arrivals: usize,
    /// What the flows have sent, sorted; kept to save allocations.
    demands: Vec<u64>,
}

impl Shares {
    pub(super) fn new(factor: f64, max_flows: usize) -> Shares {
        let flows = FlowTable::new(max_flows);
        Shares { factor, flows, bytes: 0, share: 0.0, shared: 0, arrivals: 0, demands: Vec::new() }
    }

    /// The current cycle becomes the last one.
    pub(super) fn begin(&mut self) {
        self.flows.retain(|bytes| {
            self.bytes -= bytes[0];
            *bytes = [bytes[1], 0];
            bytes[0] > 0
        });
        self.compute();
    }

    /// Counts an arrival: has its flow sent more than its fair share? Always, when the table has no room to count it.
    pub(super) fn arrival(&mut self, flow: FlowKey, bytes: u64, rng: &mut Stream) -> bool {
        let Some(at) = self.flows.find_or_insert(flow, rng, || [0, 0]) else { return true };
        let own = &mut self.flows[at];
        own[1] += bytes;
        let own = own[0] + own[1];
        self.bytes += bytes;
        self.arrivals += 1;
        // A long cycle does not wait for its end. An eighth of the flows pays for all, so that a packet's part does not depend
        // on their number; up to eight flows, each packet is judged by what all have sent until then.
        if 8 * self.arrivals >= self.flows.len() {
            self.compute();
        }
        // Both sides have grown since: it is their parts of all bytes that are compared.
        own as f64 * self.shared as f64 > self.share * self.bytes as f64
    }

    /// The max-min share of what there is to share: flows that have sent less than an equal part leave the rest to the
    /// others.
    fn compute(&mut self) {
        (self.shared, self.arrivals) = (self.bytes, 0);
        self.demands.clear();
        self.demands.extend(self.flows.iter().map(|(_, [last, current])| last + current));
        self.demands.sort_unstable();
        let (mut left, mut flows) = (self.factor * self.bytes as f64, self.demands.len() as f64);
        for demand in &self.demands {
            let demand = *demand as f64;
            if demand * flows >= left {
                break;
            }
            (left, flows) = (left - demand, flows - 1.0);
        }
        self.share = left / flows.max(1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    impl Shares {
        fn over(&mut self, flow: u64, bytes: u64) -> bool {
            self.arrival(FlowKey(flow), bytes, &mut Stream::new(1, "shares"))
        }
    }

    /// 100, 300 and 600 bytes, of which 900 are shared out: 100, 300 and 500. Only the last flow has more.
    #[test]
    fn shares_are_max_min_fair() {
        let mut shares = Shares::new(0.9, 10);
        [(1, 99), (2, 299), (3, 599)].iter().for_each(|&(flow, bytes)| {
            shares.over(flow, bytes);
        });
        assert_eq!([1, 2, 3].map(|flow| shares.over(flow, 1)), [false, false, true]);
        assert!(!Shares::new(0.9, 10).over(1, 0), "nobody has sent a byte");
        // Two flows with as much: 450 each of 500, and both have more.
        let mut equal = Shares::new(0.9, 10);
        equal.over(1, 500);
        assert!(equal.over(2, 500) && equal.over(1, 0));
    }

    #[test]
    fn two_cycles_count_and_no_more() {
        let mut shares = Shares::new(0.9, 2);
        shares.over(1, 1000);
        shares.begin();
        assert!(!shares.over(2, 10) && shares.over(1, 10));
        assert!(shares.over(3, 1), "there is no room for a third");
        shares.begin();
        assert!(shares.over(2, 100), "110 to 10 bytes");
        shares.begin();
        assert_eq!(shares.flows.len(), 1, "flow 1 has sent nothing for two cycles");
    }

    /// Between two computations the share is a part of all bytes: beside a search over all flows at each arrival, few
    /// packets are judged otherwise, in a cycle that never ends, too.
    #[test]
    fn the_share_of_a_while_ago_will_do() {
        let (mut shares, mut rng) = (Shares::new(0.9, 1000), Stream::new(1, "flows"));
        let (mut bytes, mut both, mut otherwise) = (vec![0u64; 200], 0, 0);
        for k in 0..50_000 {
            // The flow with number n sends in proportion to n.
            let flow = rng.below(200).max(rng.below(200)) as usize;
            bytes[flow] += 1000;
            let all: u64 = bytes.iter().sum();
            let cut: u64 = bytes.iter().map(|each| *each.min(&bytes[flow])).sum();
            let (over, exact) = (shares.over(flow as u64, 1000), cut as f64 > 0.9 * all as f64);
            both += u64::from(over && exact);
            otherwise += u64::from(over != exact && k > 1000);
        }
        assert!(both > 10_000 && otherwise < 100, "{both} over their share, {otherwise} judged otherwise");
    }
}
