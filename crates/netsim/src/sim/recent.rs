//! Who has a large share of the most recent marks and losses.

use super::{FlowState, Sim};
use crate::plan::Hop;
use sluicegate_aqm::FlowKey;
use sluicegate_aqm::recent::chance_of_share;

impl Sim {
    /// For each flow its part of the most recent marks and losses at a link under study, the largest of those that it
    /// crosses, and the bound on the chance of that for one of the link's flows with an equal part of the bandwidth.
    pub(super) fn recent_shares(&self) -> Vec<Option<(f64, f64)>> {
        let mut largest: Vec<Option<(f64, f64)>> = vec![None; self.flows.len()];
        for (at, link) in self.links.iter().enumerate().filter(|(_, link)| link.watched && !link.recent.is_empty()) {
            let crosses = |flow: &&FlowState| flow.plan.path.contains(&Hop::Link(at as u32));
            let fair = 1.0 / self.flows.iter().filter(crosses).count() as f64;
            let mut shares = vec![0.0; self.flows.len()];
            link.recent.shares().iter().for_each(|&(FlowKey(flow), share)| shares[flow as usize] = share);
            for ((flow, share), largest) in self.flows.iter().zip(shares).zip(&mut largest) {
                if crosses(&flow) && largest.is_none_or(|(before, _)| share > before) {
                    *largest = Some((share, chance_of_share(link.recent.len(), share, fair)));
                }
            }
        }
        largest
    }
}
