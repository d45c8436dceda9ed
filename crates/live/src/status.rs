//! What a network of real packets is doing, for people who watch.

use crate::driven::{Driven, Traffic};
use serde_json::{Value as Json, json};
use sluicegate_base::Time;
use sluicegate_lab::watch::{self, LinkView, Waiting, increase, shown_flow};
use sluicegate_port::DelayHistogram;

/// How many flows are shown.
const FLOWS: usize = 8;

/// Milliseconds up to which delays are counted since the beginning, for whoever asks again and again what has been added.
const BOUNDS_MS: [f64; 14] = [0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0];

/// What the last status said, for what has happened since.
#[derive(Default)]
pub struct Status {
    time: Time,
    links: Vec<u64>,
    flows: Vec<u64>,
}

impl Status {
    /// The present status: of each link its rate, throughput in bit/s, queue in packets and bytes, delays of the last interval
    /// in ms, drops by reason and how many delays were within each bound since the window began; of the heaviest flows the throughput; packets that the gates
    /// have lost. With `packets`, who waits at each link, as the page shows it.
    pub fn make<T: Traffic>(&mut self, driven: &mut Driven<T>, now: Time, packets: bool) -> Json {
        let Driven { emulator, traffic, gates, punctuality, .. } = driven;
        let seconds = now.since(self.time).as_secs().max(1e-9);
        self.time = now;
        self.links.resize(emulator.meters.len(), 0);
        let mut links = Vec::new();
        for (at, before) in self.links.iter_mut().enumerate() {
            if !emulator.meters[at].monitored {
                continue;
            }
            let recent = std::mem::take(&mut emulator.meters[at].delays[1]);
            let (port, meter) = (&emulator.paths.links[at].port, &emulator.meters[at]);
            let view = LinkView {
                name: &meter.name,
                discipline: &meter.discipline,
                rate: port.rate(),
                queued: [port.len(), port.queue().bytes()],
                average: port.average(),
                counters: &port.counters,
                lost: meter.lost,
                bytes: increase(before, port.counters.departed_bytes),
                delays: &recent,
            };
            let mut said = watch::link(&view, seconds);
            said.insert("delays".to_owned(), delays(&meter.delays[0], port.counters.delay_sum));
            if packets {
                let mut waiting = Waiting::default();
                port.for_each(&mut |packet| {
                    let entry = emulator.entry(packet.frame);
                    waiting.push(packet.frame, shown_flow(packet.row, entry.data), now.since(packet.arrived));
                });
                said.extend(waiting.said(|visit| port.state(visit), |_| None));
            }
            links.push(Json::Object(said));
        }
        let flows = &emulator.ledger.flows;
        self.flows.resize(flows.len(), 0);
        let mut heaviest: Vec<(u64, usize)> = Vec::new();
        for (at, (flow, before)) in flows.iter().zip(&mut self.flows).enumerate() {
            let delivered = flow.row.totals.delivered[1];
            let bytes = increase(before, delivered);
            if bytes > 0 {
                heaviest.push((bytes, at));
            }
        }
        heaviest.sort_unstable_by_key(|(bytes, at)| (u64::MAX - bytes, *at));
        let active = heaviest.len();
        heaviest.truncate(FLOWS);
        let flows: Vec<Json> = heaviest
            .iter()
            .map(|(bytes, at)| {
                let flow = &flows[*at];
                let link = flow.row.link.and_then(|link| emulator.meters.get(link as usize));
                json!({
                    "name": traffic.flow_name(*at),
                    "link": link.map(|link| &link.name),
                    "throughput_bps": *bytes as f64 * 8.0 / seconds,
                    "drops": flow.row.totals.drops.iter().sum::<u64>(),
                })
            })
            .collect();
        json!({
            "time_s": now.as_secs(),
            "links": links,
            "flows": flows,
            "active_flows": active,
            "lost_outside": gates.iter_mut().map(|gate| gate.lost().sum()).sum::<u64>(),
            "late_packets": punctuality.packets[1],
        })
    }
}

/// How many delays were within each bound, how many there were, and their sum. A bin of the histogram counts where its upper
/// end is, so that a delay up to 1/128 below a bound may count above it.
fn delays(recorded: &DelayHistogram, sum: u64) -> Json {
    let mut within = [0; BOUNDS_MS.len()];
    let mut count = 0;
    for (upper, spans) in recorded.counts() {
        count += spans;
        for (bound, within) in BOUNDS_MS.iter().zip(&mut within) {
            if upper as f64 <= bound * 1e6 {
                *within += spans;
            }
        }
    }
    json!({ "bounds_ms": BOUNDS_MS, "within": within, "count": count, "sum_ms": sum as f64 / 1e6 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_counted_within_each_bound() {
        let mut recorded = DelayHistogram::default();
        [0, 150_000, 900_000, 30_000_000, 9_000_000_000].into_iter().for_each(|span| recorded.record(span));
        let said = delays(&recorded, 9_031_050_000);
        assert_eq!(said["within"], json!([2, 2, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4]));
        assert_eq!((&said["count"], &said["sum_ms"]), (&json!(5), &json!(9031.05)));
    }
}
