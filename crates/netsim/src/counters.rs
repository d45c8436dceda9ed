//! Counters and samples: what a run leaves behind.

use crate::network::packet::End;
use crate::workloads::exchanges::{Exchanges, GroupRow};
use sluicegate_aqm::DropReason;
use sluicegate_base::{Ecn, Rate, Span, Time};
use sluicegate_port::{Counters, DelayHistogram};
use sluicegate_tcp::Segment;
use sluicegate_tcp::connection::Congestion;
use std::borrow::Cow;
use std::sync::Arc;

/// What a flow has counted. What most packets change comes first, so that it lies together.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
pub struct FlowTotals {
    /// Packets and bytes that its sender has sent.
    pub sent: [u64; 2],
    /// Packets and IP bytes that its receiver has got.
    pub delivered: [u64; 2],
    /// Packets of its data that reached monitored queues.
    pub arrivals: u64,
    /// Of these the packets marked there and sent.
    pub marked: u64,
    /// Time that packets of its data spent at monitored queues.
    pub queueing: Span,
    /// The sum of the one-way delays of what was delivered in nanoseconds, and how they are distributed.
    pub delay_sum: u64,
    #[allow(missing_docs)]
    pub delays: DelayHistogram,
    /// Of these arrivals the packets dropped there, by reason.
    pub drops: [u64; DropReason::COUNT],
    /// Packets dropped, marked and lost there that had arrived before the measured window: for series alone.
    pub earlier: [u64; 3],
    /// Of these arrivals the packets lost on the wires behind the queues.
    pub lost: u64,
    /// Packets of its data dropped or lost at links that are not monitored, or lost on connections' own ways.
    pub drops_elsewhere: u64,
    /// Source quenches that have reached its sender.
    pub quenches: u64,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(std::mem::offset_of!(FlowTotals, delays) == 64, "what most packets change fills one cache line");

impl FlowTotals {
    /// A packet of so many bytes has reached its receiver after this time.
    #[inline(always)]
    pub fn deliver(&mut self, bytes: u32, delay: Span) {
        self.delivered[0] += 1;
        self.delivered[1] += u64::from(bytes);
        self.delay_sum += delay.0;
        self.delays.record(delay.0);
    }

    /// A packet of its data that reached a monitored queue at `queued` goes to the transmitter; the window began at `window`.
    #[inline(always)]
    pub fn start(&mut self, queued: Time, marked: bool, now: Time, window: Time) {
        self.leave(queued, now, window);
        if marked {
            *(if queued >= window { &mut self.marked } else { &mut self.earlier[1] }) += 1;
        }
    }

    /// Or it is dropped.
    pub fn drop(&mut self, queued: Time, reason: DropReason, now: Time, window: Time) {
        self.leave(queued, now, window);
        *(if queued >= window { &mut self.drops[reason as usize] } else { &mut self.earlier[0] }) += 1;
    }

    /// Or it leaves the queue in another way, or is in it still when a run ends.
    #[inline(always)]
    pub fn leave(&mut self, queued: Time, now: Time, window: Time) {
        self.queueing = self.queueing + now.since(queued.max(window));
    }

    /// It has been lost on the wire behind the queue.
    pub fn lose(&mut self, queued: Time, window: Time) {
        *(if queued >= window { &mut self.lost } else { &mut self.earlier[2] }) += 1;
    }

    /// What samples look at: bytes delivered; packets that reached links under study, were dropped there, marked there, lost
    /// on their wires; how often its sender cut its window.
    #[must_use]
    pub fn counted(&self, cuts: u64) -> [u64; 6] {
        let [drops, marked, lost] = self.earlier;
        let drops = drops + self.drops.iter().sum::<u64>();
        [self.delivered[1], self.arrivals, drops, marked + self.marked, lost + self.lost, cuts]
    }

    /// What it had counted when the measured window began, and its receiver had handed on so many bytes.
    #[must_use]
    pub fn past(&self, received: u64) -> Past {
        let [_, arrivals, drops, _, lost, _] = self.counted(0);
        Past { delivered: self.delivered, arrivals: [arrivals, drops + lost], received }
    }

    /// Counts what another flow has counted as well.
    pub fn add(&mut self, other: &FlowTotals) {
        let pairs =
            |ours: &mut [u64], theirs: &[u64]| ours.iter_mut().zip(theirs).for_each(|(our, their)| *our += their);
        pairs(&mut self.sent, &other.sent);
        pairs(&mut self.delivered, &other.delivered);
        pairs(&mut self.drops, &other.drops);
        pairs(&mut self.earlier, &other.earlier);
        self.arrivals += other.arrivals;
        self.marked += other.marked;
        self.queueing = self.queueing + other.queueing;
        self.delays.merge(&other.delays);
        self.delay_sum += other.delay_sum;
        self.lost += other.lost;
        self.drops_elsewhere += other.drops_elsewhere;
        self.quenches += other.quenches;
    }
}

/// What a flow has counted before the measured window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Past {
    /// Packets and IP bytes that its receiver had got.
    pub delivered: [u64; 2],
    /// Packets of its data that had reached monitored queues, and those dropped there or lost behind them.
    pub arrivals: [u64; 2],
    /// Bytes of data that its receiver had handed to the application.
    pub received: u64,
}

impl Past {
    /// Counts what another flow has counted as well.
    pub fn add(&mut self, other: &Past) {
        let pair = |ours: [u64; 2], theirs: [u64; 2]| [ours[0] + theirs[0], ours[1] + theirs[1]];
        self.delivered = pair(self.delivered, other.delivered);
        self.arrivals = pair(self.arrivals, other.arrivals);
        self.received += other.received;
    }
}

/// The mean and extremes of samples.
#[derive(Clone, Copy, Debug, Default)]
pub struct SummaryStats {
    n: u64,
    sum: f64,
    low: f64,
    high: f64,
}

impl SummaryStats {
    /// Another sample.
    pub fn add(&mut self, x: f64) {
        (self.low, self.high) = if self.n == 0 { (x, x) } else { (self.low.min(x), self.high.max(x)) };
        self.n += 1;
        self.sum += x;
    }

    /// Mean, least and greatest; NaN when there was no sample.
    #[must_use]
    pub fn summary(&self) -> [f64; 3] {
        if self.n == 0 { [f64::NAN; 3] } else { [self.sum / self.n as f64, self.low, self.high] }
    }
}

/// One sample of a queue.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct QueueSample {
    pub time: Time,
    pub link: u32,
    pub packets: u64,
    pub bytes: u64,
    /// The discipline's own average; NaN when it keeps none.
    pub average: f64,
    /// The mean over the arrivals since the last sample of the packets that each found; NaN when there were none.
    pub found: f64,
    /// The mean rate of the link since the last sample.
    pub rate: Rate,
}

/// How many packets of one flow a queue held at one sample.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Occupancy {
    pub time: Time,
    pub link: u32,
    pub flow: u32,
    pub packets: u64,
}

/// One value that a discipline showed of itself at one sample.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct StateSample {
    pub time: Time,
    pub link: u32,
    /// The flow that it is of; none if it is of the whole queue.
    pub flow: Option<u32>,
    pub name: &'static str,
    pub value: f64,
}

/// Who stood where in queues: at each sample of each monitored link the flows of its packets, from the head to the tail.
#[derive(Clone, Debug, Default)]
pub struct Positions {
    /// Time, link and how many packets the queue held, sample by sample.
    pub samples: Vec<(Time, u32, u32)>,
    /// The flows of all these packets, one sample after the other.
    pub flows: Vec<u32>,
}

impl Positions {
    /// Each packet of each sample: time, link, packets behind it, flow; from the tail of a queue to its head.
    pub fn rows(&self) -> impl Iterator<Item = (Time, u32, u32, u32)> {
        let mut left = self.flows.as_slice();
        self.samples.iter().flat_map(move |&(time, link, packets)| {
            let (sample, rest) = left.split_at(packets as usize);
            left = rest;
            sample.iter().rev().zip(0..).map(move |(flow, behind)| (time, link, behind, *flow))
        })
    }
}

/// What one flow did in one sampling interval.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct FlowSample {
    pub time: Time,
    pub flow: u32,
    pub throughput_bps: f64,
    /// The state of its sender; none for a source without one, or many.
    pub congestion: Option<Congestion>,
    /// Packets of its data that reached monitored queues.
    pub arrivals: u32,
    /// Packets of its data dropped there.
    pub drops: u32,
    /// Packets of its data marked there, counted when they leave.
    pub marked: u32,
    /// Packets of its data lost on the wires behind them.
    pub lost: u32,
    /// How often its sender cut its window.
    pub cuts: u32,
}

/// What may happen to a packet at a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum PacketFate {
    Arrival,
    /// Its last bit is out.
    Departure,
    Drop(DropReason),
    /// It is lost on the wire.
    Lost,
    /// The last arrival has been compared with it, and it stays: for those who watch alone.
    Compared,
}

impl PacketFate {
    /// As results name it: a drop by its reason.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            PacketFate::Arrival => "arrival",
            PacketFate::Departure => "departure",
            PacketFate::Drop(reason) => reason.word(),
            PacketFate::Lost => "lost",
            PacketFate::Compared => "compared",
        }
    }
}

/// One event of one packet at a monitored link.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct PacketRow {
    pub time: Time,
    pub link: u32,
    pub flow: u32,
    pub to: End,
    pub event: PacketFate,
    /// What tells it from all other packets that are on their way, for those who watch. It depends on how the run is
    /// driven, and is zero in rows that are kept.
    pub place: u32,
    pub bytes: u32,
    /// The first byte of its flow's stream that it carries, and how many; zero for a source without a stream.
    pub first: u64,
    pub data: u32,
    /// The queue: what an arrival found, what any other event left.
    pub packets: u64,
    /// The discipline's own average after the event; NaN when it keeps none.
    pub average: f64,
}

/// One segment of TCP at one place.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct SegmentRow {
    /// When it reached the queue of a link; when the last bit is out, for a line.
    pub time: Time,
    /// The name of the link or line.
    pub place: Arc<str>,
    pub flow: u32,
    pub to: End,
    pub ecn: Ecn,
    pub segment: Segment,
    /// What became of it there; none while it waits.
    pub fate: Option<PacketFate>,
}

/// A monitored link over the measured window.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct LinkRow {
    pub index: u32,
    pub name: String,
    /// The mean over the measured window.
    pub rate: Rate,
    pub discipline: Cow<'static, str>,
    pub counters: Counters,
    /// Queueing delays of packets that were sent.
    pub delays: DelayHistogram,
    pub average: SummaryStats,
    /// Packets that its wire has lost after they were sent.
    pub lost: u64,
}

/// A flow's part of the most recent marks and drops of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecentShare {
    /// Its part.
    pub share: f64,
    /// What is expected of it if all flows that send to the link have equal parts of the bandwidth.
    pub expected: f64,
    /// How many marks and drops are looked at.
    pub packets: u64,
    /// The bound on the chance of such a share with what is expected.
    pub p_value: f64,
}

/// A flow over the measured window.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct FlowRow {
    pub group: u32,
    pub kind: &'static str,
    pub algorithm: &'static str,
    /// The first monitored link that its data crosses.
    pub link: Option<u32>,
    /// When it was to start.
    pub start: Time,
    /// The propagation delays of its path, there and back; there twice for a source that hears nothing; none where each
    /// connection has its own.
    pub base_rtt: Option<Span>,
    /// From its start until its receiver had all its data; none without an end, or when the end did not come.
    pub completion: Option<Span>,
    pub totals: FlowTotals,
    pub retransmissions: u64,
    pub timeouts: u64,
    pub fast_retransmits: u64,
    pub mark_responses: u64,
    /// Its part of the most recent marks and losses; none where there were none.
    pub recent: Option<RecentShare>,
    pub quench_responses: u64,
    /// Bytes of data that its receiver has handed to the application in the whole run; none where connections come and go.
    pub received: Option<u64>,
    /// What it had counted when the measured window began.
    pub past: Past,
}

/// Everything that a run leaves.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Outcome {
    pub window: Span,
    /// From the start of the run.
    pub whole: Span,
    pub flows: Vec<FlowRow>,
    pub links: Vec<LinkRow>,
    pub queue: Vec<QueueSample>,
    pub occupancy: Vec<Occupancy>,
    pub state: Vec<StateSample>,
    pub flow_series: Vec<FlowSample>,
    pub groups: Vec<GroupRow>,
    pub exchanges: Exchanges,
    pub packets: Vec<PacketRow>,
    pub segments: Vec<SegmentRow>,
    pub positions: Positions,
    pub events: u64,
}

impl Outcome {
    /// The name of the monitored link with this index.
    #[must_use]
    pub fn link_name(&self, index: u32) -> &str {
        self.links.iter().find(|link| link.index == index).map_or("", |link| &link.name)
    }
}
