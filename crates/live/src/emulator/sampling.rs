//! Samples of links and flows, and results, in the rows of the simulator's.

use super::Emulator;
use crate::ledger::{SAMPLES, SERIES};
use sluicegate_base::{Rate, Time};
use sluicegate_netsim::Outcome;
use sluicegate_netsim::counters::{FlowRow, FlowSample, LinkRow, Past, QueueSample};

impl Emulator {
    /// When the next sample is due.
    #[must_use]
    pub fn sample_due(&self) -> Time {
        self.ledger.due
    }

    /// Takes a sample of each link under study and of the flows.
    pub fn sample(&mut self, now: Time) {
        let Emulator { paths, meters, ledger, .. } = self;
        let time = ledger.due;
        let links = paths.links.iter().zip(meters).enumerate();
        for (at, (link, meter)) in links.filter(|(_, (_, meter))| meter.monitored) {
            let port = &link.port;
            let average = port.average();
            if let Some(average) = average {
                meter.average.add(average);
            }
            let found = [port.counters.found, port.counters.arrivals];
            let [sum, arrivals] = [0, 1].map(|at| found[at].wrapping_sub(meter.found[at]));
            let carried = link.course.as_ref().map(|course| course.carried(now));
            let rate = carried.and_then(|carried| {
                let since = u128::from(now.since(ledger.last).0);
                (carried - std::mem::replace(&mut meter.carried, carried)).checked_div(since)
            });
            meter.found = found;
            ledger.queue.push(QueueSample {
                time,
                link: at as u32,
                packets: port.len(),
                bytes: port.queue().bytes(),
                average: average.unwrap_or(f64::NAN),
                found: sum as f64 / arrivals as f64,
                rate: rate.map_or(port.rate(), |rate| Rate(rate as u64)),
            });
        }
        let seconds = now.since(ledger.last).as_secs().max(1e-9);
        for (at, flow) in ledger.flows.iter_mut().enumerate() {
            let counted = flow.counted();
            let [bytes, arrivals, drops, marked, lost] =
                std::array::from_fn(|at| counted[at].wrapping_sub(flow.sampled[at]));
            flow.sampled = counted;
            if ledger.idle || (at < SERIES && bytes + arrivals + drops > 0) {
                ledger.flow_series.push(FlowSample {
                    time,
                    flow: at as u32,
                    throughput_bps: bytes as f64 * 8.0 / seconds,
                    congestion: flow.congestion,
                    arrivals: arrivals as u32,
                    drops: drops.saturating_sub(lost) as u32,
                    marked: marked as u32,
                    lost: lost as u32,
                    cuts: 0,
                });
            }
        }
        ledger.last = now;
        ledger.samples += 1;
        if ledger.samples == SAMPLES {
            ledger.thin_out();
        }
        while ledger.due <= now {
            ledger.due += ledger.interval;
        }
    }

    /// The measured window begins: everything is counted anew.
    pub fn begin_window(&mut self, now: Time) {
        self.ledger.window = now;
        for (link, meter) in self.paths.links.iter_mut().zip(&mut self.meters) {
            link.port.counters.begin_window(now);
            (meter.delays[0], meter.lost, meter.average, meter.found) = Default::default();
            if let Some(course) = &mut link.course {
                course.begin_window(now);
            }
        }
        for flow in &mut self.ledger.flows {
            let counted = flow.counted();
            let totals = std::mem::take(&mut flow.totals);
            flow.past = Past {
                delivered: totals.delivered,
                arrivals: [totals.arrivals, counted[2]],
                received: flow.received.unwrap_or(0),
            };
            // What the series count goes on from here.
            let now = flow.counted();
            flow.sampled = std::array::from_fn(|at| now[at].wrapping_sub(counted[at].wrapping_sub(flow.sampled[at])));
            flow.retransmissions[1] = flow.retransmissions[0];
        }
    }

    /// Everything counted until now, in the rows of the simulator's results.
    #[must_use]
    pub fn outcome(&self, now: Time) -> Outcome {
        let Emulator { paths, meters, ledger, .. } = self;
        let monitored = paths.links.iter().zip(meters).enumerate().filter(|(_, (_, meter))| meter.monitored);
        let links = monitored.map(|(at, (link, meter))| {
            let mut counters = link.port.counters.clone();
            link.port.for_each(&mut |packet| counters.leave(packet.arrived, now));
            LinkRow {
                index: at as u32,
                name: meter.name.clone(),
                rate: link.course.as_ref().map_or(link.port.rate(), |course| course.mean(now)),
                discipline: meter.discipline.clone(),
                counters,
                delays: meter.delays[0].clone(),
                average: meter.average,
                lost: meter.lost,
            }
        });
        let links = links.collect();
        let flows = ledger.flows.iter().map(|flow| {
            let about = &flow.about;
            FlowRow {
                group: about.group,
                kind: about.kind,
                algorithm: about.algorithm,
                link: about.link,
                start: about.start,
                base_rtt: about.base_rtt,
                completion: flow.completion,
                totals: flow.totals.clone(),
                retransmissions: flow.retransmissions[0] - flow.retransmissions[1],
                timeouts: 0,
                fast_retransmits: 0,
                mark_responses: 0,
                recent: None,
                quench_responses: 0,
                received: flow.received,
                past: flow.past,
            }
        });
        Outcome {
            window: now.since(ledger.window),
            whole: now.since(Time::ZERO),
            flows: flows.collect(),
            links,
            queue: ledger.queue.clone(),
            flow_series: ledger.flow_series.clone(),
            ..Outcome::default()
        }
    }
}
