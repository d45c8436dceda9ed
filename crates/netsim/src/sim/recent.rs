//! Who has a large share of the most recent marks and losses.

use super::{FlowState, Sim};
use crate::plan::Hop;
use crate::probe::RecentShare;
use sluicegate_aqm::FlowKey;
use sluicegate_aqm::recent::chance_of_share;

impl Sim {
    /// For each flow that has sent to a link under study its part of that link's most recent marks and losses, the largest
    /// of those that it crosses, and what it would be if all that have sent there had equal parts of the bandwidth.
    pub(super) fn recent_shares(&self) -> Vec<Option<RecentShare>> {
        let mut largest: Vec<Option<RecentShare>> = vec![None; self.flows.len()];
        for (at, link) in self.links.iter().enumerate().filter(|(_, link)| link.watched && !link.recent.is_empty()) {
            let here = Hop::Link(at as u32);
            let sends = |flow: &&FlowState| flow.totals.arrivals > 0 && flow.plan.path.contains(&here);
            let expected = 1.0 / self.flows.iter().filter(sends).count() as f64;
            let packets = link.recent.len();
            let mut shares = vec![0.0; self.flows.len()];
            link.recent.shares().iter().for_each(|&(FlowKey(flow), share)| shares[flow as usize] = share);
            for ((flow, share), largest) in self.flows.iter().zip(shares).zip(&mut largest) {
                if sends(&flow) && largest.is_none_or(|before| share > before.share) {
                    let chance = chance_of_share(packets, share, expected);
                    *largest = Some(RecentShare { share, expected, packets, chance });
                }
            }
        }
        largest
    }
}
