//! What is counted of real packets: in the rows of the simulator's results, so that the same tables and pages hold them.

use crate::packet::{Entry, Packet};
use sluicegate_aqm::DropReason;
use sluicegate_base::{Span, Time};
use sluicegate_lab::replay::flows::Row;
use sluicegate_netsim::counters::{FlowSample, FlowTotals, Past, QueueSample, SummaryStats};
use sluicegate_port::DelayHistogram;
use sluicegate_tcp::connection::Congestion;
use std::borrow::Cow;

/// What a link keeps beside its port's counters.
pub(crate) struct LinkMeter {
    pub name: String,
    pub discipline: Cow<'static, str>,
    /// Whether it is under study.
    pub monitored: bool,
    /// Whether another link has counted what arrives.
    counted: bool,
    /// Queueing delays of packets that were sent, and those of the status's interval.
    pub delays: [DelayHistogram; 2],
    /// Packets lost on its wire.
    pub lost: u64,
    pub average: SummaryStats,
    /// What arrivals have found, at the last sample; the bits times 10⁹ that it could have carried until then.
    pub(crate) found: [u64; 2],
    pub(crate) carried: u128,
}

impl LinkMeter {
    pub fn new(name: String, discipline: Cow<'static, str>, monitored: bool, counted: bool) -> LinkMeter {
        let (delays, average) = Default::default();
        LinkMeter { name, discipline, monitored, counted, delays, lost: 0, average, found: [0; 2], carried: 0 }
    }
}

/// What a flow is, for results.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// The number of its group.
    pub group: u32,
    /// Its kind.
    pub kind: &'static str,
    /// Its congestion control.
    pub algorithm: &'static str,
    /// The first link under study that it crosses.
    pub link: Option<u32>,
    /// When it was to start.
    pub start: Time,
    /// What its path delays it there and back.
    pub base_rtt: Option<Span>,
}

/// A flow: what it is, and what it has counted.
#[derive(Default)]
pub struct Flow {
    /// What it is.
    pub about: About,
    /// What it has counted since the measured window began.
    pub totals: FlowTotals,
    pub(crate) past: Past,
    /// What its last sample counted: bytes, arrivals, drops, marks, losses.
    pub(crate) sampled: [u64; 5],
    /// Bytes that its receiver has got in the whole run, where that is known.
    pub received: Option<u64>,
    /// From its start until its receiver had all.
    pub completion: Option<Span>,
    /// Segments sent again in the whole run, and when the window began.
    pub retransmissions: [u64; 2],
    /// The state of its sender.
    pub congestion: Option<Congestion>,
}

/// At this many samples of a link, every second one is dropped and the interval doubles.
pub(crate) const SAMPLES: usize = 4000;

/// Of how many flows that appear by themselves the throughput is kept over time: the first ones.
pub(crate) const SERIES: usize = 64;

/// What is counted.
pub struct Ledger {
    /// The flows.
    pub flows: Vec<Flow>,
    /// When the measured window began.
    pub(crate) window: Time,
    /// How often samples are taken, and when the next one is due.
    pub(crate) interval: Span,
    pub(crate) due: Time,
    /// Whether flows without packets in an interval have a sample.
    pub(crate) idle: bool,
    pub(crate) queue: Vec<QueueSample>,
    pub(crate) flow_series: Vec<FlowSample>,
    pub(crate) samples: usize,
    pub(crate) last: Time,
}

impl Ledger {
    /// Nothing counted yet. Samples come at this interval; flows that did nothing in it have one only if `idle`.
    #[must_use]
    pub fn new(interval: Span, idle: bool) -> Ledger {
        Ledger {
            flows: Vec::new(),
            window: Time::ZERO,
            interval,
            due: Time::ZERO + interval,
            idle,
            queue: Vec::new(),
            flow_series: Vec::new(),
            samples: 0,
            last: Time::ZERO,
        }
    }

    pub(crate) fn enter(&mut self, entry: &Entry) {
        if entry.data {
            let totals = &mut self.flows[entry.flow as usize].totals;
            totals.sent[0] += 1;
            totals.sent[1] += u64::from(entry.packet.bytes);
        }
    }

    pub(crate) fn reach(&mut self, entry: &Entry, link: u32, meter: &LinkMeter) {
        if entry.data && meter.monitored && !meter.counted {
            let flow = &mut self.flows[entry.flow as usize];
            flow.totals.arrivals += 1;
            flow.about.link.get_or_insert(link);
        }
    }

    pub(crate) fn start(&mut self, entry: &Entry, packet: &Packet, meter: &mut LinkMeter, now: Time) {
        let waited = now.since(packet.arrived).0;
        meter.delays.iter_mut().for_each(|delays| delays.record(waited));
        if entry.data && meter.monitored {
            let totals = &mut self.flows[entry.flow as usize].totals;
            totals.queueing = totals.queueing + now.since(packet.arrived.max(self.window));
            if packet.marked {
                *(if packet.arrived >= self.window { &mut totals.marked } else { &mut totals.earlier[1] }) += 1;
            }
        }
    }

    pub(crate) fn drop(&mut self, entry: &Entry, packet: &Packet, reason: DropReason, now: Time) {
        if entry.data {
            let totals = &mut self.flows[entry.flow as usize].totals;
            totals.queueing = totals.queueing + now.since(packet.arrived.max(self.window));
            let early = packet.arrived < self.window;
            *(if early { &mut totals.earlier[0] } else { &mut totals.drops[reason as usize] }) += 1;
        }
    }

    pub(crate) fn lose(&mut self, entry: &Entry, packet: &Packet, meter: &mut LinkMeter) {
        meter.lost += 1;
        if entry.data {
            let totals = &mut self.flows[entry.flow as usize].totals;
            let early = packet.arrived < self.window;
            *(if early { &mut totals.earlier[2] } else { &mut totals.lost }) += 1;
        }
    }

    pub(crate) fn deliver(&mut self, entry: &Entry, delay: Span) {
        if entry.data {
            self.flows[entry.flow as usize].totals.deliver(entry.packet.bytes, delay);
        }
    }
}

impl Flow {
    /// A flow that has counted nothing.
    #[must_use]
    pub fn new(about: About) -> Flow {
        Flow { about, ..Flow::default() }
    }

    pub(crate) fn counted(&self) -> [u64; 5] {
        let FlowTotals { delivered, arrivals, drops, earlier, marked, lost, .. } = &self.totals;
        [
            delivered[1] + self.past.delivered[1],
            arrivals + self.past.arrivals[0],
            // Those of before the window are in `past` once it has begun.
            drops.iter().sum::<u64>() + earlier[0] + lost + earlier[2] + self.past.arrivals[1],
            marked + earlier[1],
            lost + earlier[2],
        ]
    }
}

impl Ledger {
    /// Keeps the mean of every two samples in the place of both.
    pub(crate) fn thin_out(&mut self) {
        self.interval = Span(self.interval.0 * 2);
        self.samples /= 2;
        let even = |time: Time, interval: Span| (time.0 / (interval.0 / 2)) % 2 == 0;
        let interval = self.interval;
        // Of a queue every second look; of flows, which count what happened since, the sum of two.
        self.queue.retain(|row| even(row.time, interval));
        let mut sums: std::collections::BTreeMap<(u64, u32), FlowSample> = std::collections::BTreeMap::new();
        for row in self.flow_series.drain(..) {
            let time = Time(row.time.0.div_ceil(interval.0) * interval.0);
            let half = FlowSample { time, throughput_bps: row.throughput_bps / 2.0, ..row };
            let sum = sums.entry((time.0, row.flow)).and_modify(|sum| {
                sum.throughput_bps += half.throughput_bps;
                sum.arrivals += half.arrivals;
                sum.drops += half.drops;
                sum.marked += half.marked;
                sum.lost += half.lost;
            });
            sum.or_insert(half);
        }
        self.flow_series = sums.into_values().collect();
    }
}

/// The name of a flow of real packets, or of the packets that share a row.
#[must_use]
pub fn name_of(row: u32, found: &Row) -> String {
    use sluicegate_lab::replay::flows::OTHER;
    match found.tuple {
        Some(tuple) => tuple.to_string(),
        None if row == OTHER => "other packets".to_owned(),
        None => "further flows".to_owned(),
    }
}
