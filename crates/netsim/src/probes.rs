//! Probes: observers of a run. They see everything and change nothing.

mod outcome;
mod recent_shares;

use crate::counters::{FlowSample, FlowTotals, Occupancy, Past, Positions, QueueSample, StateSample};
use crate::endpoints::Endpoints;
use crate::endpoints::flow::Before;
use crate::meter::{LastRead, LinkMeter};
use crate::network::packet::SimPacket;
use crate::plan::Plan;
use crate::workloads::Workloads;
use sluicegate_base::{Span, Time};
use sluicegate_tcp::connection::SendCounters;

/// What the probes have seen.
pub struct Probes {
    /// How often they take a sample.
    pub interval: Span,
    /// Whether samples are kept as series.
    pub series: bool,
    /// What is kept of each link.
    meters: Vec<LinkMeter>,
    /// What `counted` gave at the last sample, by flow; none without series.
    counted: Vec<LastRead<6>>,
    queue: Vec<QueueSample>,
    occupancy: Vec<Occupancy>,
    state: Vec<StateSample>,
    flow_series: Vec<FlowSample>,
    /// Which flow holds each position of a queue, of so many packets at most.
    positions: Positions,
    positions_left: u64,
    /// For counting the flows in a queue at a sample.
    census: Vec<u64>,
}

impl Probes {
    /// Probes of this plan that have seen nothing.
    #[must_use]
    pub fn new(plan: &Plan) -> Probes {
        let flows = if plan.series { plan.flows.len() } else { 0 };
        Probes {
            interval: plan.sample,
            series: plan.series,
            meters: vec![LinkMeter::default(); plan.links.len()],
            counted: vec![LastRead::default(); flows],
            queue: Vec::new(),
            occupancy: Vec::new(),
            state: Vec::new(),
            flow_series: Vec::new(),
            positions: Positions::default(),
            positions_left: plan.positions,
            census: vec![0; flows],
        }
    }

    /// The measured window begins at `start`: all counters start anew, and samples count on across that.
    pub fn begin_window(&mut self, workloads: &mut Workloads, start: Time) {
        let flows = 0..workloads.ends.flows.len() as u32;
        let of_flow = |at| Before { senders: workloads.counters(at), past: past(&workloads.ends, at) };
        let counters: Vec<Before> = flows.map(of_flow).collect();
        let sampled = self.counted.len();
        let network = &workloads.ends.network;
        self.meters.iter_mut().zip(&network.links).for_each(|(meter, link)| meter.begin_window(&link.port));
        let counted = |network: &crate::network::Network| {
            let flows = network.flows.iter().zip(&counters).take(sampled);
            flows.map(|(flow, before)| counted(flow, &before.senders)).collect::<Vec<_>>()
        };
        let flows_before = counted(network);
        workloads.begin_window();
        workloads.ends.network.begin_window(start);
        let network = &workloads.ends.network;
        for (last, (now, before)) in self.counted.iter_mut().zip(counted(network).into_iter().zip(flows_before)) {
            last.restart(before, now);
        }
        if start > Time::ZERO {
            workloads.ends.before = counters;
        }
    }

    /// Takes a sample of every link under study and of every flow; how many things it has looked at.
    pub fn sample(&mut self, workloads: &Workloads) -> u64 {
        let network = &workloads.ends.network;
        let mut work = network.links.len() as u64;
        for at in (0..network.links.len()).filter(|at| network.links[*at].monitor.monitored) {
            work += self.sample_link(workloads, at);
        }
        if self.series {
            work += self.counted.len() as u64;
            self.sample_flows(workloads);
        }
        work
    }

    fn sample_link(&mut self, workloads: &Workloads, at: usize) -> u64 {
        let (link, time) = (&workloads.ends.network.links[at], workloads.ends.now());
        let port = &link.port;
        let sample = self.meters[at].sample(at as u32, port, link.course.as_deref(), time);
        let (mut work, link_at, held) = (0, at as u32, port.len());
        let from = self.positions.flows.len();
        if held > 0 && self.positions_left >= held {
            port.queue().for_each(&mut |packet| self.positions.flows.push(packet.flow));
            self.positions.samples.push((time, link_at, held as u32));
            self.positions_left -= held;
            work += held;
        }
        if !self.series {
            return work;
        }
        self.queue.push(sample);
        work += held + self.census.len() as u64;
        let (before, state, flows) = (self.state.len(), &mut self.state, self.census.len());
        port.state(&mut |flow, name, value| {
            let flow = flow.and_then(SimPacket::of_key).map(|(flow, _)| flow);
            // Connections that come and go have no number there, and may be thousands.
            if flow.is_none_or(|flow| (flow as usize) < flows) {
                state.push(StateSample { time, link: link_at, flow, name, value });
            }
        });
        work += (self.state.len() - before) as u64;
        let census = &mut self.census;
        // Who stands where has just been seen, if it is kept: once is enough.
        match &self.positions.flows[from..] {
            [] => port.queue().for_each(&mut |packet| census[packet.flow as usize] += 1),
            flows => flows.iter().for_each(|flow| census[*flow as usize] += 1),
        }
        for (flow, packets) in census.iter_mut().enumerate().filter(|(_, packets)| **packets > 0) {
            self.occupancy.push(Occupancy { time, link: link_at, flow: flow as u32, packets: *packets });
            *packets = 0;
        }
        work
    }

    fn sample_flows(&mut self, workloads: &Workloads) {
        let (ends, time) = (&workloads.ends, workloads.ends.now());
        let seconds = self.interval.as_secs();
        for (last, at) in self.counted.iter_mut().zip(0..) {
            let changes = last.changes(counted(&ends.network.flows[at as usize], &workloads.counters(at)));
            self.flow_series.push(FlowSample::new(time, at, seconds, ends.congestion(at), changes));
        }
    }
}

/// What a flow has counted until now.
fn past(ends: &Endpoints, flow: u32) -> Past {
    let totals = &ends.network.flows[flow as usize];
    totals.past(ends.received(flow, totals).unwrap_or(0))
}

/// What samples look at, windows cut by these counters of its sender or senders.
fn counted(totals: &FlowTotals, senders: &SendCounters) -> [u64; 6] {
    let &SendCounters { timeouts, fast_retransmits, mark_responses, quench_responses, .. } = senders;
    let cuts = timeouts + fast_retransmits + mark_responses + quench_responses;
    totals.counted(cuts)
}
