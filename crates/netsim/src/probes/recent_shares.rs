//! Who has a large share of the most recent marks and drops.

use crate::counters::{FlowTotals, RecentShare};
use crate::network::Network;
use crate::plan::{FlowPlan, Hop};
use sluicegate_aqm::FlowKey;
use sluicegate_aqm::recent::chance_of_share;

/// For each flow that has sent to a link under study its part of that link's most recent marks and drops, and what it would
/// be if all that have sent there had equal parts of the bandwidth. Where a queue has classes, both are of the class. Of
/// several queues and classes that a flow crosses, the one with the least p-value of so large a part, and of equal ones the
/// largest part.
pub fn recent_shares(network: &Network, totals: &[FlowTotals], plans: &[FlowPlan]) -> Vec<Option<RecentShare>> {
    let mut chosen: Vec<Option<RecentShare>> = vec![None; plans.len()];
    for (at, link) in network.links.iter().enumerate().filter(|(_, link)| link.monitor.monitored) {
        let here = Hop::Link(at as u32);
        let crosses = |flow: usize| totals[flow].arrivals > 0 && plans[flow].path.contains(&here);
        let groups = &link.monitor.recent;
        for (group, recent) in groups.iter().enumerate().filter(|(_, recent)| !recent.is_empty()) {
            let sends = |flow: usize| match groups.len() {
                1 => crosses(flow),
                _ => link.monitor.senders[group].get(flow).is_some_and(|sends| *sends),
            };
            let senders: Vec<usize> = (0..plans.len()).filter(|flow| sends(*flow)).collect();
            let expected = 1.0 / senders.len() as f64;
            let packets = recent.len();
            let mut shares = vec![0.0; plans.len()];
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
