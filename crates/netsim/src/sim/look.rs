//! What a run looks at, sample by sample.

use super::{FlowState, Sim, changes};
use crate::events::Event;
use crate::packet::SimPacket;
use crate::probe::{FlowSample, Occupancy, QueueSample, StateSample};
use sluicegate_tcp::send::SendCounters;

impl Sim {
    /// Takes a sample of every link under study and of every flow.
    pub(super) fn look(&mut self) {
        self.events.push(self.now + self.sample, Event::Sample, 0);
        for (at, link) in self.links.iter().enumerate().filter(|(_, link)| link.watched) {
            let average = link.queue.average();
            if let Some(average) = average {
                self.averages[at].add(average);
            }
            let (time, link_at) = (self.now, at as u32);
            let held = link.queue.packets();
            let from = self.positions.flows.len();
            if held > 0 && self.places >= held {
                let flows = &mut self.positions.flows;
                flows.resize(from + held as usize, 0);
                let mut places = flows[from..].iter_mut();
                link.queue.for_each(&mut |packet| {
                    if let Some(place) = places.next() {
                        *place = packet.flow;
                    }
                });
                self.positions.samples.push((time, link_at, held as u32));
                self.places -= held;
                self.work += held;
            }
            if !self.series {
                continue;
            }
            let (packets, bytes) = (link.queue.packets(), link.queue.bytes());
            let [found, arrivals] = changes(link.found(), self.found[at]);
            self.found[at] = link.found();
            self.queue.push(QueueSample {
                time,
                link: link_at,
                packets,
                bytes,
                average: average.unwrap_or(f64::NAN),
                found: found as f64 / arrivals as f64,
            });
            self.work += packets + self.census.len() as u64;
            let (before, state, flows) = (self.state.len(), &mut self.state, self.flows.len());
            link.queue.state(&mut |flow, name, value| {
                let flow = flow.and_then(SimPacket::of_key).map(|(flow, _)| flow);
                // Connections that come and go have no number there, and may be thousands.
                if flow.is_some_and(|flow| flow as usize >= flows) {
                    return;
                }
                state.push(StateSample { time, link: link_at, flow, name, value });
            });
            self.work += (self.state.len() - before) as u64;
            let census = &mut self.census;
            // Who stands where has just been looked at, if it is kept: once is enough.
            match &self.positions.flows[from..] {
                [] => link.queue.for_each(&mut |packet| census[packet.flow as usize] += 1),
                flows => flows.iter().for_each(|flow| census[*flow as usize] += 1),
            }
            for (flow, packets) in census.iter_mut().enumerate().filter(|(_, packets)| **packets > 0) {
                self.occupancy.push(Occupancy { time, link: link_at, flow: flow as u32, packets: *packets });
                *packets = 0;
            }
        }
        self.work += self.links.len() as u64;
        if !self.series {
            return;
        }
        self.work += self.flows.len() as u64;
        for (at, flow) in self.flows.iter_mut().enumerate() {
            let senders = self.population.counters(at as u32).unwrap_or_else(|| flow.ends.counters());
            let counted = flow.counted(&senders);
            let [bytes, arrivals, drops, marked, cuts] = changes(counted, flow.sampled);
            flow.sampled = counted;
            self.flow_series.push(FlowSample {
                time: self.now,
                flow: at as u32,
                throughput_bps: bytes as f64 * 8.0 / self.sample.as_secs(),
                cwnd: flow.ends.cwnd(),
                arrivals: arrivals as u32,
                drops: drops as u32,
                marked: marked as u32,
                cuts: cuts as u32,
            });
        }
    }
}

impl FlowState {
    /// What samples look at: bytes delivered; packets that reached watched queues, were dropped there, were marked there;
    /// windows cut, by these counters of its sender or senders.
    pub(super) fn counted(&self, senders: &SendCounters) -> [u64; 5] {
        let &SendCounters { timeouts, fast_retransmits, mark_responses, quench_responses, .. } = senders;
        let cuts = timeouts + fast_retransmits + mark_responses + quench_responses;
        let [drops, marked] = self.totals.earlier;
        let drops = drops + self.totals.drops.iter().sum::<u64>();
        [self.delivered, self.totals.arrivals, drops, marked + self.totals.marked, cuts]
    }
}
