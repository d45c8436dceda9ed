//! What is counted of real packets. It is kept in the rows of the simulator's results, so that the same tables and pages
//! can show it.
//!
//! Counters, samples and windows are the simulator's own (`netsim::counters`, `netsim::meter`). Two things hold for real
//! packets alone: flows appear by themselves, and samples are thinned out whenever there are too many, because a
//! run may have no set end.

use sluicegate_base::{Span, Time};
use sluicegate_lab::replay::flows::Row;
use sluicegate_netsim::counters::{FlowRow, FlowSample, QueueSample};
use sluicegate_netsim::meter::{LastRead, LinkMeter};
use sluicegate_port::DelayHistogram;
use sluicegate_tcp::connection::Congestion;
use std::borrow::Cow;

/// What is kept of a link beside its port's counters.
pub(crate) struct Metered {
    pub name: String,
    pub discipline: Cow<'static, str>,
    /// Whether it is under study.
    pub monitored: bool,
    /// Whether another link has counted what arrives.
    pub counted: bool,
    /// Queueing delays of packets that were sent, and those of the status's interval.
    pub delays: [DelayHistogram; 2],
    /// Packets lost on its wire.
    pub lost: u64,
    pub meter: LinkMeter,
}

impl Metered {
    pub fn new(name: String, discipline: Cow<'static, str>, monitored: bool, counted: bool) -> Metered {
        let (delays, meter) = Default::default();
        Metered { name, discipline, monitored, counted, delays, lost: 0, meter }
    }
}

/// A flow: what it is, and what it has counted.
#[derive(Default)]
pub struct Flow {
    /// Its row in the results: what it is, and its counters since the measured window began. Of what its receiver has got,
    /// that is bytes in the whole run.
    pub row: FlowRow,
    pub(crate) sampled: LastRead<6>,
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
