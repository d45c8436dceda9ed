//! The end of a run: what it has measured.

use super::{FlowState, Sim};
use crate::events::End;
use crate::plan::Hop;
use crate::probe::{FlowRow, FlowTotals, LinkRow, LinkTotals, Outcome, RecentShare};
use sluicegate_base::Span;
use sluicegate_tcp::send::SendCounters;
use std::mem::take;

/// What a flow's row says beside its own counters.
pub(super) struct AboutFlow {
    link: Option<u32>,
    recent: Option<RecentShare>,
    senders: SendCounters,
    /// Time in the measured window that those of its packets have spent which are queued at present.
    queued: Span,
}

impl Sim {
    /// Ends the run and gives what it has measured.
    #[must_use]
    pub fn finish(mut self) -> Outcome {
        let about = self.about_flows();
        let mut totals: Vec<LinkTotals> = self.links.iter_mut().map(|link| take(&mut link.totals)).collect();
        let links = self.link_rows(|at| take(&mut totals[at]));
        let flows = self.flows.iter_mut().zip(about).map(|(flow, about)| {
            let totals = take(&mut flow.totals);
            flow.row(totals, about)
        });
        Outcome {
            flows: flows.collect(),
            window: self.now.since(self.window_start()),
            links,
            queue: self.queue,
            occupancy: self.occupancy,
            state: self.state,
            flow_series: self.flow_series,
            groups: self.population.rows(),
            exchanges: self.population.kept,
            packets: self.log.rows,
            positions: self.positions,
            events: self.count,
        }
    }

    /// What is known of each flow elsewhere than at the flow.
    pub(super) fn about_flows(&self) -> Vec<AboutFlow> {
        let (now, start) = (self.now, self.window_start());
        let watched = |hop: &Hop| match *hop {
            Hop::Link(at) if self.links[at as usize].watched => Some(at),
            _ => None,
        };
        let flows = self.flows.iter().zip(self.recent_shares()).enumerate();
        let about = flows.map(|(at, (flow, recent))| AboutFlow {
            link: flow.plan.path.iter().find_map(watched),
            recent,
            senders: self.population.counters(at as u32).unwrap_or_else(|| flow.ends.counters()),
            queued: Span::ZERO,
        });
        let mut about: Vec<AboutFlow> = about.collect();
        for link in self.links.iter().filter(|link| link.watched) {
            link.queue.for_each(&mut |packet| {
                if packet.to == End::Receiver {
                    let queued = &mut about[packet.flow as usize].queued;
                    *queued = *queued + now.since(packet.queued.max(start));
                }
            });
        }
        about
    }

    /// A row for each watched link, whose counters `totals` gives.
    pub(super) fn link_rows(&self, mut totals: impl FnMut(usize) -> LinkTotals) -> Vec<LinkRow> {
        let links = self.links.iter().zip(&self.averages).enumerate().filter(|(_, (link, _))| link.watched);
        links
            .map(|(at, (link, average))| {
                let mut totals = totals(at);
                link.queue.for_each(&mut |packet| totals.left(packet.queued, self.now));
                LinkRow {
                    index: at as u32,
                    name: link.name.clone(),
                    rate: link.rate,
                    discipline: link.discipline.clone(),
                    totals,
                    average: *average,
                }
            })
            .collect()
    }
}

impl FlowState {
    pub(super) fn row(&self, totals: FlowTotals, about: AboutFlow) -> FlowRow {
        let AboutFlow { link, recent, senders: now, queued } = about;
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
            totals: FlowTotals { queued: totals.queued + queued, ..totals },
        }
    }
}
