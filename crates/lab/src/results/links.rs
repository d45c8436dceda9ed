//! The tables of links: over the measured window, and of queues and disciplines over time.

use super::{Named, ResultTable, drops_by_reason, f64s, ratio, strs, u64s};
use sluicegate_aqm::DropReason;
use sluicegate_netsim::Outcome;
use sluicegate_netsim::counters::LinkRow;

pub(super) fn links(outcome: &Outcome) -> ResultTable {
    let rows = || outcome.links.iter();
    let window = outcome.window.as_secs();
    let drops: Vec<[u64; DropReason::COUNT]> = rows().map(|row| row.counters.drops).collect();
    let average = |which: usize| rows().map(move |row: &LinkRow| row.average.summary()[which]);
    let mut columns = vec![
        strs("link", "name of the link", rows().map(|row| row.name.as_str())),
        strs("discipline", "its queue discipline", rows().map(|row| &*row.discipline)),
        f64s(
            "rate_bps",
            "bit/s",
            "its rate; if it changes, the mean over the measured window",
            rows().map(|row| row.rate.0 as f64),
        ),
        u64s(
            "arrivals_packets",
            "packets",
            "packets that reached its queue in the measured window",
            rows().map(|row| row.counters.arrivals),
        ),
        u64s(
            "departures_packets",
            "packets",
            "packets that it sent in the measured window, some of which may have arrived before",
            rows().map(|row| row.counters.departures),
        ),
        u64s(
            "drops_packets",
            "packets",
            "those of arrivals_packets that its queue dropped, on arrival or later",
            drops.iter().map(|drops| drops.iter().sum()),
        ),
    ];
    columns.extend(drops_by_reason(&drops));
    columns.extend([
        u64s(
            "marked_packets",
            "packets",
            "those of arrivals_packets that its queue marked and sent",
            rows().map(|row| row.counters.marked),
        ),
        u64s(
            "lost_packets",
            "packets",
            "packets that its wire lost after they were sent, in the measured window",
            rows().map(|row| row.lost),
        ),
        f64s(
            "utilisation",
            "1",
            "bits sent per second, over the rate; may exceed 1 by up to a packet, because one in transmission when the window begins counts whole",
            rows().map(|row| row.counters.departed_bytes as f64 * 8.0 / window / row.rate.0 as f64),
        ),
        f64s(
            "queue_packets_mean",
            "packets",
            "time average of the queue, without the packet in transmission",
            rows().map(|row| row.counters.queueing.as_secs() / window),
        ),
        f64s(
            "queue_found_packets_mean",
            "packets",
            "mean queue length that arriving packets found, without the packet in transmission",
            rows().map(|row| ratio(row.counters.found, row.counters.arrivals)),
        ),
        u64s("queue_packets_max", "packets", "the longest queue", rows().map(|row| row.counters.max_packets)),
        f64s(
            "average_packets_mean",
            "packets",
            "mean over the samples of the discipline's own average; missing if it keeps none",
            average(0),
        ),
        f64s("average_packets_min", "packets", "the smallest of these samples", average(1)),
        f64s("average_packets_max", "packets", "the largest of these samples", average(2)),
        f64s(
            "queueing_delay_mean_ns",
            "ns",
            "mean waiting time of packets that were sent",
            rows().map(|row| row.counters.delay_sum as f64 / row.counters.departures as f64),
        ),
        f64s(
            "queueing_delay_p99_ns",
            "ns",
            "99th percentile of it, to two digits",
            rows().map(|row| row.delays.quantile(0.99)),
        ),
    ]);
    ResultTable { name: "links", summary: "One row for each link under study, over the measured window.", columns }
}

pub(super) fn queue(outcome: &Outcome) -> ResultTable {
    let rows = || outcome.queue.iter();
    let columns = vec![
        f64s("time_s", "s", "time of the sample", rows().map(|row| row.time.as_secs())),
        strs("link", "name of the link", rows().map(|row| outcome.link_name(row.link))),
        u64s(
            "queue_packets",
            "packets",
            "packets queued, without the one in transmission",
            rows().map(|row| row.packets),
        ),
        u64s("queue_bytes", "bytes", "their bytes", rows().map(|row| row.bytes)),
        f64s(
            "average_packets",
            "packets",
            "the discipline's own average; missing if it keeps none",
            rows().map(|row| row.average),
        ),
        f64s(
            "queue_found_packets_mean",
            "packets",
            "mean queue length that packets arriving in the interval found; missing if none arrived",
            rows().map(|row| row.found),
        ),
        f64s(
            "rate_bps",
            "bit/s",
            "mean rate of the link in the interval that ends here",
            rows().map(|row| row.rate.0 as f64),
        ),
    ];
    ResultTable {
        name: "queue",
        summary: "One row for each link under study at each sample, over the whole run.",
        columns,
    }
}

pub(super) fn occupancy(named: Named<'_>) -> ResultTable {
    let outcome = named.outcome;
    let rows = || outcome.occupancy.iter();
    let columns = vec![
        f64s("time_s", "s", "time of the sample", rows().map(|row| row.time.as_secs())),
        strs("link", "name of the link", rows().map(|row| outcome.link_name(row.link))),
        u64s("flow", "", "number of the flow, from 1", rows().map(|row| u64::from(row.flow) + 1)),
        named.column(rows().map(|row| row.flow)),
        u64s("queue_packets", "packets", "its packets in the queue", rows().map(|row| row.packets)),
    ];
    ResultTable { name: "occupancy", summary: "One row for each flow with packets queued at each sample.", columns }
}

pub(super) fn state(outcome: &Outcome) -> ResultTable {
    let rows = || outcome.state.iter();
    let columns = vec![
        f64s("time_s", "s", "time of the sample", rows().map(|row| row.time.as_secs())),
        strs("link", "name of the link", rows().map(|row| outcome.link_name(row.link))),
        u64s(
            "flow",
            "",
            "number of the flow that the value is of, from 1; 0 when it is of the whole queue",
            rows().map(|row| row.flow.map_or(0, |flow| u64::from(flow) + 1)),
        ),
        strs("name", "what it is, as the discipline's page names it", rows().map(|row| row.name)),
        f64s("value", "", "the value, in the unit of that name", rows().map(|row| row.value)),
    ];
    ResultTable {
        name: "state",
        summary: "One row for each value that a discipline shows of itself at each sample; none for \
                  single connections of a group whose connections come and go.",
        columns,
    }
}
