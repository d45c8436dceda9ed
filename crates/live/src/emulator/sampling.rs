//! Samples of links and flows, and results, in the same rows as the simulator's.

use super::Emulator;
use crate::ledger::{Flow, SAMPLES, SERIES};
use sluicegate_base::Time;
use sluicegate_netsim::Outcome;
use sluicegate_netsim::counters::{FlowRow, FlowSample, LinkRow, QueueSample};
use sluicegate_netsim::meter::mean_rate;

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
        let links = paths.links.iter().zip(meters).zip(0..);
        for ((link, metered), at) in links.filter(|((_, metered), _)| metered.monitored) {
            let sample = metered.meter.sample(at, &link.port, link.course.as_ref(), now);
            ledger.queue.push(QueueSample { time, ..sample });
        }
        let seconds = now.since(ledger.last).as_secs().max(1e-9);
        for (at, flow) in ledger.flows.iter_mut().enumerate() {
            let changes = flow.sampled.changes(flow.row.totals.counted(0));
            if ledger.idle || (at < SERIES && changes != [0; 6]) {
                ledger.flow_series.push(FlowSample::new(time, at as u32, seconds, flow.congestion, changes));
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
        for (link, metered) in self.paths.links.iter_mut().zip(&mut self.meters) {
            metered.meter.begin_window(&link.port);
            link.port.counters.begin_window(now);
            (metered.delays[0], metered.lost) = Default::default();
            if let Some(course) = &mut link.course {
                course.begin_window(now);
            }
        }
        for Flow { row, sampled, retransmissions, .. } in &mut self.ledger.flows {
            let totals = std::mem::take(&mut row.totals);
            row.past = totals.past(row.received.unwrap_or(0));
            sampled.restart(totals.counted(0), [0; 6]);
            retransmissions[1] = retransmissions[0];
        }
    }

    /// Everything counted until now, in the rows of the simulator's results.
    #[must_use]
    pub fn outcome(&self, now: Time) -> Outcome {
        let Emulator { paths, meters, ledger, .. } = self;
        let of_flow = |flow: &Flow| FlowRow {
            retransmissions: flow.retransmissions[0] - flow.retransmissions[1],
            ..flow.row.clone()
        };
        let mut flows: Vec<FlowRow> = ledger.flows.iter().map(of_flow).collect();
        let mut links = Vec::new();
        for ((link, metered), at) in paths.links.iter().zip(meters).zip(0..).filter(|((_, of), _)| of.monitored) {
            link.port.for_each(&mut |packet| {
                let entry = self.entry(packet.frame);
                if entry.data {
                    flows[packet.row as usize].totals.leave(packet.arrived, now, ledger.window);
                }
            });
            links.push(LinkRow {
                index: at,
                name: metered.name.clone(),
                rate: mean_rate(&link.port, link.course.as_ref(), now),
                discipline: metered.discipline.clone(),
                counters: link.port.counters_until(now),
                delays: metered.delays[0].clone(),
                average: metered.meter.average,
                lost: metered.lost,
            });
        }
        Outcome {
            window: now.since(ledger.window),
            whole: now.since(Time::ZERO),
            flows,
            links,
            queue: ledger.queue.clone(),
            flow_series: ledger.flow_series.clone(),
            ..Outcome::default()
        }
    }
}
