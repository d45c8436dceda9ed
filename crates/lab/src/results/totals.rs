//! Columns that the tables `flows` and `groups` share.

use super::{Column, drops_by_reason, f64s, ratio, u64s};
use sluicegate_aqm::DropReason;
use sluicegate_netsim::Outcome;
use sluicegate_netsim::counters::{FlowTotals, Past};

/// What a row's flow has counted, or its flows together.
pub(super) struct Counted<'a> {
    pub totals: &'a FlowTotals,
    /// What was counted when the measured window began.
    pub past: Past,
    /// Bytes of data that its receivers have handed to the application in the whole run, where they are known.
    pub received: Option<u64>,
}

impl Counted<'_> {
    fn drops(&self) -> u64 {
        self.totals.drops.iter().sum()
    }

    /// Of its packets that reached a queue under study, the part that got no further than the wire behind it.
    fn loss_ratio(&self) -> f64 {
        ratio(self.drops() + self.totals.lost, self.totals.arrivals)
    }

    fn whole_loss_ratio(&self) -> f64 {
        let [drops, _, lost] = self.totals.earlier;
        let earlier = self.past.arrivals;
        ratio(self.drops() + drops + self.totals.lost + lost + earlier[1], self.totals.arrivals + earlier[0])
    }
}

/// The columns of these rows.
pub(super) fn counted(all: &[Counted<'_>], outcome: &Outcome) -> Vec<Column> {
    let rows = || all.iter();
    let window = outcome.window.as_secs();
    let bps = |bytes: u64| bytes as f64 * 8.0 / window;
    let whole_bps = |bytes: u64| bytes as f64 * 8.0 / outcome.whole.as_secs();
    let drops: Vec<[u64; DropReason::COUNT]> = rows().map(|row| row.totals.drops).collect();
    let delay = |quantile: f64| rows().map(move |row| row.totals.delays.quantile(quantile));
    let mut columns = vec![
        f64s(
            "offered_bps",
            "bit/s",
            "IP bits sent by its source per second, retransmissions included",
            rows().map(|row| bps(row.totals.sent[1])),
        ),
        f64s(
            "throughput_bps",
            "bit/s",
            "IP bits delivered to its receiver in the measured window, per second of it",
            rows().map(|row| bps(row.totals.delivered[1])),
        ),
        f64s(
            "goodput_bps",
            "bit/s",
            "bits of data that its receiver handed to the application in the measured window, per second of it: in \
             order, without headers and repetitions; for a source without connections, its packets without 28 bytes of \
             headers; missing if connections come and go",
            rows().map(|row| row.received.map_or(f64::NAN, |bytes| bps(bytes - row.past.received))),
        ),
        f64s(
            "whole_throughput_bps",
            "bit/s",
            "IP bits delivered in the whole run, per second of it",
            rows().map(|row| whole_bps(row.totals.delivered[1] + row.past.delivered[1])),
        ),
        f64s(
            "whole_goodput_bps",
            "bit/s",
            "goodput of the whole run, per second of it",
            rows().map(|row| row.received.map_or(f64::NAN, whole_bps)),
        ),
        f64s(
            "whole_loss_ratio",
            "1",
            "the share of its packets that were dropped at a queue under study, or lost on the wire behind it, among \
             those that reached it in the whole run",
            rows().map(Counted::whole_loss_ratio),
        ),
        u64s("sent_packets", "packets", "packets sent by its source", rows().map(|row| row.totals.sent[0])),
        u64s(
            "delivered_packets",
            "packets",
            "packets delivered to its receiver",
            rows().map(|row| row.totals.delivered[0]),
        ),
        u64s(
            "arrivals_packets",
            "packets",
            "packets of its data that reached a queue under study in the measured window",
            rows().map(|row| row.totals.arrivals),
        ),
        u64s(
            "drops_packets",
            "packets",
            "those of arrivals_packets that these queues dropped",
            rows().map(Counted::drops),
        ),
    ];
    columns.extend(drops_by_reason(&drops));
    columns.extend([
        u64s(
            "lost_packets",
            "packets",
            "those of arrivals_packets that were sent, and lost on the wire",
            rows().map(|row| row.totals.lost),
        ),
        u64s(
            "drops_elsewhere_packets",
            "packets",
            "packets of its data dropped or lost at links that are not under study, or lost on connections' own paths \
             because their connection vectors say so; not counted in drops_packets and lost_packets",
            rows().map(|row| row.totals.drops_elsewhere),
        ),
        f64s(
            "loss_ratio",
            "1",
            "(drops_packets + lost_packets) / arrivals_packets; missing without arrivals",
            rows().map(Counted::loss_ratio),
        ),
        u64s(
            "marked_packets",
            "packets",
            "those of arrivals_packets that these queues marked and sent",
            rows().map(|row| row.totals.marked),
        ),
        f64s(
            "queued_packets_mean",
            "packets",
            "time average of its packets in the queues under study",
            rows().map(|row| row.totals.queueing.as_secs() / window),
        ),
        f64s(
            "delay_mean_ns",
            "ns",
            "mean one-way delay of its delivered packets",
            rows().map(|row| row.totals.delay_sum as f64 / row.totals.delivered[0] as f64),
        ),
        f64s("delay_p50_ns", "ns", "median one-way delay of its packets, to two digits", delay(0.5)),
        f64s("delay_p95_ns", "ns", "95th percentile of it, to two digits", delay(0.95)),
        f64s("delay_p99_ns", "ns", "99th percentile of it, to two digits", delay(0.99)),
    ]);
    columns
}
