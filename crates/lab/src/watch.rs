//! What a network looks like at a moment, for people who watch. The JSON has one form for simulations and real packets.
//!
//! | key | what it holds |
//! |---|---|
//! | `time_s` | the time |
//! | `links` | for each link under study, what [`link`] says. On demand, three keys are added: `waiting` lists the queued packets from the head to the tail (packet, flow, time in the queue in µs); `state` and `flow_state` hold what the discipline remembers. Simulations then also add `events`, those since the last frame |
//! | `groups` | of a simulation, for each group of flows: throughput, delays, drops and marks since the last frame |
//! | `flows` | of real packets, the heaviest flows |

use crate::Simulation;
use serde_json::{Map, Value as Json, json};
use sluicegate_aqm::{DropReason, FlowKey};
use sluicegate_base::{Rate, Span, Time};
use sluicegate_netsim::counters::{FlowTotals, PacketRow};
use sluicegate_netsim::{End, SimPacket};
use sluicegate_port::{Counters, DelayHistogram};

/// A link as it is now, and what it has done since it was last looked at.
pub struct LinkView<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its discipline's.
    pub discipline: &'a str,
    /// Its rate.
    pub rate: Rate,
    /// What waits: packets and bytes.
    pub queued: [u64; 2],
    /// The discipline's average of it, in packets.
    pub average: Option<f64>,
    /// What is counted since the measured window began.
    pub counters: &'a Counters,
    /// Packets that its wire has lost since then.
    pub lost: u64,
    /// Bytes that it has sent since it was last looked at, and the delays in its queue.
    pub bytes: u64,
    /// Those delays.
    pub delays: &'a DelayHistogram,
}

/// What is to be said of a link: rates in bit/s, the queue in packets and bytes, delays of the last interval in ms, drops by
/// reason since the window began. The interval is `seconds` long.
#[must_use]
pub fn link(view: &LinkView<'_>, seconds: f64) -> Map<String, Json> {
    let counters = view.counters;
    let drops: Map<String, Json> = DropReason::ALL
        .iter()
        .filter(|reason| counters.drops[**reason as usize] > 0)
        .map(|reason| (reason.word().to_owned(), counters.drops[*reason as usize].into()))
        .collect();
    let Json::Object(said) = json!({
        "name": view.name,
        "discipline": view.discipline,
        "rate_bps": view.rate.0,
        "throughput_bps": view.bytes as f64 * 8.0 / seconds,
        "queue_packets": view.queued[0],
        "queue_bytes": view.queued[1],
        "average_packets": view.average,
        "delay_p50_ms": quantile_ms(view.delays, 0.5),
        "delay_p99_ms": quantile_ms(view.delays, 0.99),
        "arrivals": counters.arrivals,
        "drops": drops,
        "marked": counters.marked,
        "lost": view.lost,
    }) else {
        unreachable!("an object")
    };
    said
}

/// Who waits in a queue.
#[derive(Default)]
pub struct Waiting(Vec<Json>);

/// The most packets of a queue that are shown.
const WAITING: usize = 2000;

impl Waiting {
    /// The next packet, from the head on: what tells it from all others, the number of its flow, and how long it has waited.
    pub fn push(&mut self, packet: u32, flow: i64, waited: Span) {
        if self.0.len() < 3 * WAITING {
            self.0.extend([packet.into(), flow.into(), Json::from(waited.0 / 1000)]);
        }
    }

    /// They, and what the discipline shows of itself; `known` gives the number of a flow that it tells apart.
    #[must_use]
    pub fn said(
        self,
        state: impl FnOnce(&mut dyn FnMut(Option<FlowKey>, &'static str, f64)),
        known: impl Fn(FlowKey) -> Option<i64>,
    ) -> [(String, Json); 3] {
        let (mut whole, mut of_flows) = (Map::new(), Vec::new());
        state(&mut |flow, name, value| match flow.map(&known) {
            None => drop(whole.insert(name.to_owned(), value.into())),
            Some(Some(flow)) => of_flows.push(json!([flow, name, value])),
            Some(None) => {}
        });
        let named = [("waiting", self.0.into()), ("state", whole.into()), ("flow_state", of_flows.into())];
        named.map(|(name, value): (&str, Json)| (name.to_owned(), value))
    }
}

/// What a counter that may have begun anew has counted since it was `before`, which is brought up to date.
#[must_use]
pub fn increase(before: &mut u64, now: u64) -> u64 {
    let more = if now < *before { now } else { now - *before };
    *before = now;
    more
}

fn quantile_ms(delays: &DelayHistogram, q: f64) -> Option<f64> {
    Some(delays.quantile(q) / 1e6).filter(|ms| ms.is_finite())
}

/// What the last frame said of a group: bytes delivered, packets sent, dropped and marked; and its delays.
#[derive(Clone, Default)]
struct Group {
    counted: [u64; 4],
    delays: DelayHistogram,
}

/// Looks at a simulation frame by frame.
#[derive(Default)]
pub struct Watch {
    time: Time,
    links: Vec<(u64, DelayHistogram)>,
    groups: Vec<Group>,
}

impl Watch {
    /// The present frame. Of what happens to single packets from now on, up to `packets` events are in the next one; without
    /// that no packet is looked at.
    pub fn frame(&mut self, simulation: &mut Simulation, packets: Option<usize>) -> Json {
        let (names, flows_groups) = (simulation.names(), simulation.groups_of_flows());
        let sim = simulation.sim();
        let seen = packets.map(|most| sim.watch(most));
        let now = sim.now();
        let seconds = now.since(std::mem::replace(&mut self.time, now)).as_secs().max(1e-9);
        self.links.resize_with(sim.links().len(), Default::default);
        let mut links = Vec::new();
        for ((at, link), (sent, delays)) in (0u32..).zip(sim.links()).zip(&mut self.links) {
            if !link.monitor.monitored {
                continue;
            }
            let port = &link.port;
            let since = link.monitor.delays.since(delays);
            delays.clone_from(&link.monitor.delays);
            let view = LinkView {
                name: &link.name,
                discipline: &link.discipline,
                rate: port.rate(),
                queued: [port.len(), port.queue().bytes()],
                average: port.average(),
                counters: &port.counters,
                lost: link.monitor.lost(),
                bytes: increase(sent, port.counters.departed_bytes),
                delays: &since,
            };
            let mut said = self::link(&view, seconds);
            let Some(seen) = &seen else {
                links.push(Json::Object(said));
                continue;
            };
            let mut waiting = Waiting::default();
            port.for_each(&mut |packet| {
                let flow = shown_flow(packet.flow, packet.to == End::Receiver);
                waiting.push(packet.place(), flow, now.since(packet.queued));
            });
            let known = |key| SimPacket::of_key(key).map(|(flow, to)| shown_flow(flow, to == End::Receiver));
            said.extend(waiting.said(|visit| port.state(visit), known));
            let own = seen.iter().filter(|row| row.link == at);
            said.insert("events".to_owned(), own.map(event).collect());
            links.push(Json::Object(said));
        }
        let groups = self.groups(&sim.network().flows, &flows_groups, &names, seconds);
        json!({ "time_s": now.as_secs(), "links": links, "groups": groups })
    }

    fn groups(&mut self, flows: &[FlowTotals], of: &[usize], names: &[String], seconds: f64) -> Vec<Json> {
        let mut now = vec![Group::default(); names.len()];
        for (totals, group) in flows.iter().zip(of) {
            let group = &mut now[*group];
            let drops = totals.drops.iter().sum::<u64>() + totals.earlier[0];
            let counted = [totals.delivered[1], totals.sent[0], drops, totals.marked + totals.earlier[1]];
            group.counted.iter_mut().zip(counted).for_each(|(sum, more)| *sum += more);
            group.delays.merge(&totals.delays);
        }
        self.groups.resize_with(names.len(), Group::default);
        let mut said = Vec::new();
        for ((before, now), name) in self.groups.iter_mut().zip(now).zip(names) {
            let delays = now.delays.since(&before.delays);
            let [bytes, sent, drops, marked] =
                std::array::from_fn(|at| increase(&mut before.counted[at], now.counted[at]));
            before.delays = now.delays;
            said.push(json!({
                "name": name,
                "throughput_bps": bytes as f64 * 8.0 / seconds,
                "sent_packets": sent,
                "drops": drops,
                "marked": marked,
                "delay_p50_ms": quantile_ms(&delays, 0.5),
                "delay_p99_ms": quantile_ms(&delays, 0.99),
            }));
        }
        said
    }
}

/// The number that a flow's packets are shown with, of the flow with this index; what comes back to its sender, which is not
/// `data`, has a negative one.
#[must_use]
pub fn shown_flow(flow: u32, data: bool) -> i64 {
    let number = i64::from(flow) + 1;
    if data { number } else { -number }
}

/// Time in µs, what happened, packet, flow, bytes, and the queue in packets as the `packets` table has it.
fn event(row: &PacketRow) -> Json {
    let flow = shown_flow(row.flow, row.to == End::Receiver);
    json!([row.time.0 / 1000, row.event.name(), row.place, flow, row.bytes, row.packets])
}
