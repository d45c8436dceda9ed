//! What a run has measured so far.

use super::Probes;
use crate::counters::{FlowRow, FlowTotals, LinkRow, Outcome};
use crate::meter::mean_rate;
use crate::network::packet::PacketPool;
use crate::plan::Hop;
use crate::workloads::Workloads;
use sluicegate_base::Time;
use sluicegate_tcp::connection::SendCounters;
use std::mem::take;

impl Probes {
    /// What the run has measured up to now; it goes on as if nothing had been asked.
    #[must_use]
    pub fn snapshot(&self, workloads: &Workloads) -> Outcome {
        let mut outcome = self.rows(workloads, workloads.ends.network.flows.clone());
        outcome.queue.clone_from(&self.queue);
        outcome.occupancy.clone_from(&self.occupancy);
        outcome.state.clone_from(&self.state);
        outcome.flow_series.clone_from(&self.flow_series);
        outcome.positions.clone_from(&self.positions);
        outcome.packets.clone_from(&workloads.ends.network.log.kept.rows);
        outcome
    }

    /// The same at the end of the run.
    #[must_use]
    pub fn finish(self, mut workloads: Workloads) -> Outcome {
        let network = &mut workloads.ends.network.shared;
        let (packets, totals) = (take(&mut network.log.kept.rows), take(&mut network.flows));
        // Memory that nobody looks at any more is free for the rows.
        network.packets = PacketPool::with_capacity(0);
        let outcome = self.rows(&workloads, totals);
        let Probes { queue, occupancy, state, flow_series, positions, .. } = self;
        Outcome { queue, occupancy, state, flow_series, positions, packets, ..outcome }
    }

    /// Everything but series, with what each flow has counted.
    fn rows(&self, workloads: &Workloads, mut totals: Vec<FlowTotals>) -> Outcome {
        let ends = &workloads.ends;
        let (network, now) = (&ends.network, ends.now());
        let start = network.window;
        let mut links = Vec::new();
        for (at, link) in network.links.iter().enumerate().filter(|(_, link)| link.monitor.monitored) {
            link.port.for_each(&mut |packet| {
                if packet.to == crate::network::packet::End::Receiver {
                    totals[packet.flow as usize].leave(packet.queued, now, start);
                }
            });
            links.push(LinkRow {
                index: at as u32,
                name: link.name.clone(),
                rate: mean_rate(&link.port, link.course.as_deref(), now),
                discipline: link.discipline.clone(),
                counters: link.port.counters_until(now),
                delays: link.monitor.delays.clone(),
                average: self.meters[at].average,
                lost: link.monitor.lost(),
            });
        }
        let monitored = |hop: &Hop| match *hop {
            Hop::Link(at) if network.links[at as usize].monitor.monitored => Some(at),
            _ => None,
        };
        let recent = super::recent_shares::recent_shares(network, &totals, &ends.plans);
        let flows = recent.into_iter().zip(totals).enumerate().map(|(at, (recent, totals))| {
            let before = ends.before(at as u32);
            let (flow, plan, senders) = (&ends.flows[at], &ends.plans[at], workloads.counters(at as u32));
            let since = |count: fn(&SendCounters) -> u64| count(&senders) - count(&before.senders);
            let received = ends.received(at as u32, &totals);
            FlowRow {
                group: plan.group,
                kind: plan.source.kind(),
                algorithm: plan.source.algorithm(),
                link: plan.path.iter().find_map(monitored),
                start: plan.start,
                base_rtt: flow.base_rtt,
                completion: (flow.completed != Time::NEVER).then(|| flow.completed.since(plan.start)),
                totals,
                retransmissions: since(|counters| counters.retransmissions),
                timeouts: since(|counters| counters.timeouts),
                fast_retransmits: since(|counters| counters.fast_retransmits),
                mark_responses: since(|counters| counters.mark_responses),
                quench_responses: since(|counters| counters.quench_responses),
                recent,
                received,
                past: before.past,
            }
        });
        let flows = flows.collect();
        let (groups, exchanges) = workloads.rows();
        Outcome {
            segments: network.log.segments.rows(now),
            window: now.since(start),
            whole: now.since(Time::ZERO),
            flows,
            links,
            groups,
            exchanges,
            events: network.engine.count(),
            ..Outcome::default()
        }
    }
}
