//! Who has a large share of the most recent marks and losses.

use super::{FlowState, Sim};
use crate::plan::Hop;
use crate::probe::RecentShare;
use sluicegate_aqm::FlowKey;
use sluicegate_aqm::recent::chance_of_share;

impl Sim {
    /// For each flow that has sent to a link under study its part of that link's most recent marks and losses, and what it
    /// would be if all that have sent there had equal parts of the bandwidth. Where a queue has classes, both are of the
    /// class. Of several queues and classes that a flow crosses, the one with the least p-value of so large a part, and of
    /// equal ones the largest part.
    pub(super) fn recent_shares(&self) -> Vec<Option<RecentShare>> {
        let mut chosen: Vec<Option<RecentShare>> = vec![None; self.flows.len()];
        for (at, link) in self.links.iter().enumerate().filter(|(_, link)| link.watched) {
            let here = Hop::Link(at as u32);
            let crosses = |flow: &FlowState| flow.totals.arrivals > 0 && flow.plan.path.contains(&here);
            for (group, recent) in link.recent.iter().enumerate().filter(|(_, recent)| !recent.is_empty()) {
                let sends = |flow: usize| match link.recent.len() {
                    1 => crosses(&self.flows[flow]),
                    _ => link.senders[group].get(flow).is_some_and(|sends| *sends),
                };
                let senders: Vec<usize> = (0..self.flows.len()).filter(|flow| sends(*flow)).collect();
                let expected = 1.0 / senders.len() as f64;
                let packets = recent.len();
                let mut shares = vec![0.0; self.flows.len()];
                recent.shares().iter().for_each(|&(FlowKey(flow), share)| shares[flow as usize] = share);
                for flow in senders {
                    let share = shares[flow];
                    let p_value = chance_of_share(packets, share, expected);
                    let (now, before) = (RecentShare { share, expected, packets, p_value }, &mut chosen[flow]);
                    if before.is_none_or(|b| p_value < b.p_value || (p_value == b.p_value && share > b.share)) {
                        *before = Some(now);
                    }
                }
            }
        }
        chosen
    }
}
