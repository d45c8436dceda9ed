//! Probes: observers of a run. They see everything and change nothing.

mod outcome;
mod recent_shares;

use crate::counters::{FlowSample, FlowTotals, Occupancy, Past, Positions, QueueSample, StateSample, SummaryStats};
use crate::endpoints::Endpoints;
use crate::endpoints::flow::Before;
use crate::network::packet::SimPacket;
use crate::plan::Plan;
use crate::workloads::Workloads;
use sluicegate_base::{Rate, Span, Time};
use sluicegate_tcp::connection::SendCounters;

/// What the probes have seen.
pub struct Probes {
    /// How often they take a sample.
    pub interval: Span,
    /// Whether samples are kept as series.
    pub series: bool,
    /// The disciplines' averages, by link.
    averages: Vec<SummaryStats>,
    /// What `Link::found` gave at the last sample, by link.
    found: Vec<[u64; 2]>,
    /// When the last sample was, and what `Link::carried` gave then, by link.
    carried: Vec<(Time, u128)>,
    /// What `counted` gave at the last sample, by flow; none without series.
    counted: Vec<[u64; 6]>,
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
            averages: vec![SummaryStats::default(); plan.links.len()],
            found: vec![[0; 2]; plan.links.len()],
            carried: vec![(Time::ZERO, 0); plan.links.len()],
            counted: vec![[0; 6]; flows],
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
        let before: Vec<[u64; 2]> = network.links.iter().map(|link| link.found()).collect();
        let counted = |network: &crate::network::Network| {
            let flows = network.flows.iter().zip(&counters).take(sampled);
            flows.map(|(flow, before)| counted(flow, &before.senders)).collect::<Vec<_>>()
        };
        let flows_before = counted(network);
        workloads.begin_window();
        workloads.ends.network.begin_window(start);
        let network = &workloads.ends.network;
        self.averages.fill(SummaryStats::default());
        for (found, (link, before)) in self.found.iter_mut().zip(network.links.iter().zip(before)) {
            *found = changes(link.found(), changes(before, *found));
        }
        for (sampled, (now, before)) in self.counted.iter_mut().zip(counted(network).into_iter().zip(flows_before)) {
            *sampled = changes(now, changes(before, *sampled));
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
        let average = port.average();
        if let Some(average) = average {
            self.averages[at].add(average);
        }
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
        let [found, arrivals] = changes(link.found(), self.found[at]);
        self.found[at] = link.found();
        let carried = (time, link.carried(time));
        let (since, before) = std::mem::replace(&mut self.carried[at], carried);
        let rate = (carried.1 - before).checked_div(u128::from(time.since(since).0));
        self.queue.push(QueueSample {
            time,
            link: link_at,
            packets: held,
            bytes: port.queue().bytes(),
            average: average.unwrap_or(f64::NAN),
            found: found as f64 / arrivals as f64,
            rate: rate.map_or(port.rate(), |rate| Rate(rate as u64)),
        });
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
        for (at, sampled) in self.counted.iter_mut().enumerate() {
            let counted = counted(&ends.network.flows[at], &workloads.counters(at as u32));
            let [bytes, arrivals, drops, marked, lost, cuts] = changes(counted, *sampled);
            *sampled = counted;
            self.flow_series.push(FlowSample {
                time,
                flow: at as u32,
                throughput_bps: bytes as f64 * 8.0 / self.interval.as_secs(),
                congestion: ends.congestion(at as u32),
                arrivals: arrivals as u32,
                drops: drops as u32,
                marked: marked as u32,
                lost: lost as u32,
                cuts: cuts as u32,
            });
        }
    }
}

/// What a flow has counted until now.
fn past(ends: &Endpoints, flow: u32) -> Past {
    let totals = &ends.network.flows[flow as usize];
    let [drops, _, lost] = totals.earlier;
    let drops = drops + lost + totals.lost + totals.drops.iter().sum::<u64>();
    let received = ends.received(flow, totals).unwrap_or(0);
    Past { delivered: totals.delivered, arrivals: [totals.arrivals, drops], received }
}

/// What samples look at: bytes delivered; packets that reached links under study, were dropped there, marked there, lost on
/// their wires; windows cut, by these counters of its sender or senders.
fn counted(totals: &FlowTotals, senders: &SendCounters) -> [u64; 6] {
    let &SendCounters { timeouts, fast_retransmits, mark_responses, quench_responses, .. } = senders;
    let cuts = timeouts + fast_retransmits + mark_responses + quench_responses;
    let [drops, marked, lost] = totals.earlier;
    let drops = drops + totals.drops.iter().sum::<u64>();
    [totals.delivered[1], totals.arrivals, drops, marked + totals.marked, lost + totals.lost, cuts]
}

/// How much each of some counters, which may have started anew, has changed.
fn changes<const N: usize>(now: [u64; N], before: [u64; N]) -> [u64; N] {
    core::array::from_fn(|at| now[at].wrapping_sub(before[at]))
}
