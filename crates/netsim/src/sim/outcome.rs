//! The end of a run: what it has measured.

use super::{FlowState, Sim};
use crate::events::End;
use crate::plan::Hop;
use crate::probe::{FlowRow, LinkRow, Outcome, RecentShare};
use sluicegate_tcp::send::SendCounters;

impl Sim {
    /// Ends the run and gives what it has measured.
    #[must_use]
    pub fn finish(mut self) -> Outcome {
        let (now, start) = (self.now, self.window_start());
        for link in self.links.iter_mut() {
            let (flows, totals, watched) = (&mut self.flows, &mut link.totals, link.watched);
            link.queue.for_each(&mut |packet| {
                totals.left(packet.queued, now);
                if watched && packet.to == End::Receiver {
                    let flow = &mut flows[packet.flow as usize].totals;
                    flow.queued = flow.queued + now.since(packet.queued.max(start));
                }
            });
        }
        let watched = |hop: &Hop| match *hop {
            Hop::Link(at) if self.links[at as usize].watched => Some(at),
            _ => None,
        };
        let crossed: Vec<Option<u32>> = self.flows.iter().map(|flow| flow.plan.path.iter().find_map(watched)).collect();
        let recent = self.recent_shares();
        let senders: Vec<SendCounters> = (self.flows.iter().enumerate())
            .map(|(at, flow)| self.population.counters(at as u32).unwrap_or_else(|| flow.ends.counters()))
            .collect();
        let rows = self.flows.into_iter().zip(crossed).zip(recent).zip(senders);
        let flows = rows.map(|(((flow, link), recent), senders)| flow.row(link, recent, senders)).collect();
        let (groups, exchanges) = self.population.finish();
        let links = self.links.into_iter().zip(self.averages).enumerate().filter(|(_, (link, _))| link.watched);
        Outcome {
            window: now.since(start),
            flows,
            links: links
                .map(|(at, (link, average))| LinkRow {
                    index: at as u32,
                    name: link.name,
                    rate: link.rate,
                    discipline: link.discipline,
                    totals: link.totals,
                    average,
                })
                .collect(),
            queue: self.queue,
            occupancy: self.occupancy,
            state: self.state,
            flow_series: self.flow_series,
            groups,
            exchanges,
            packets: self.log.rows,
            positions: self.positions,
            events: self.count,
        }
    }
}

impl FlowState {
    fn row(self, link: Option<u32>, recent: Option<RecentShare>, senders: SendCounters) -> FlowRow {
        let now = senders;
        FlowRow {
            group: self.plan.group,
            kind: self.plan.source.kind(),
            algorithm: self.plan.source.algorithm(),
            link,
            start: self.plan.start,
            base_rtt: self.base_rtt,
            completion: self.completed.map(|time| time.since(self.plan.start)),
            retransmissions: now.retransmissions - self.before.retransmissions,
            timeouts: now.timeouts - self.before.timeouts,
            fast_retransmits: now.fast_retransmits - self.before.fast_retransmits,
            mark_responses: now.mark_responses - self.before.mark_responses,
            quench_responses: now.quench_responses - self.before.quench_responses,
            recent,
            totals: self.totals,
        }
    }
}
