//! The tables of flows: over the measured window, and over time.

use super::totals::{Counted, counted};
use super::{Named, ResultTable, f64s, strs, u64s};
use sluicegate_netsim::counters::RecentShare;
use sluicegate_tcp::connection::Congestion;

pub(super) fn flows(named: Named<'_>) -> ResultTable {
    let outcome = named.outcome;
    let rows = || outcome.flows.iter();
    let counts: Vec<Counted<'_>> =
        rows().map(|row| Counted { totals: &row.totals, past: row.past, received: row.received }).collect();
    let recent = |value: fn(RecentShare) -> f64| rows().map(move |row| row.recent.map_or(f64::NAN, value));
    let mut columns = vec![
        u64s("flow", "", "number of the flow, from 1 in the order of the scenario", 1..=outcome.flows.len() as u64),
        u64s("group", "", "number of its [[flows]] entry, from 0", rows().map(|row| u64::from(row.group))),
        strs("name", "name of its group", rows().map(|row| named.group(row.group, row.kind))),
        strs("kind", "kind of source", rows().map(|row| row.kind)),
        strs("algorithm", "congestion control; empty for a source without one", rows().map(|row| row.algorithm)),
        strs(
            "link",
            "the first link under study that its data crosses; empty if there is none",
            rows().map(|row| row.link.map_or("", |link| outcome.link_name(link))),
        ),
        f64s("start_s", "s", "its scheduled start", rows().map(|row| row.start.as_secs())),
        f64s(
            "base_rtt_ns",
            "ns",
            "propagation delays of its path, there and back; for a source without a return path, twice the way there; \
             missing for a group whose connections each have their own",
            rows().map(|row| row.base_rtt.map_or(f64::NAN, |span| span.0 as f64)),
        ),
        f64s(
            "completion_time_ns",
            "ns",
            "from its start until its receiver had all its data, even if before the measured window; missing if the \
             flow has no end or did not reach it",
            rows().map(|row| row.completion.map_or(f64::NAN, |time| time.0 as f64)),
        ),
    ];
    columns.extend(counted(&counts, outcome));
    columns.extend([
        u64s("retransmissions", "packets", "segments retransmitted", rows().map(|row| row.retransmissions)),
        u64s("fast_retransmits", "events", "fast retransmits", rows().map(|row| row.fast_retransmits)),
        u64s("timeouts", "events", "expiries of the retransmission timer", rows().map(|row| row.timeouts)),
        u64s("mark_responses", "events", "windows cut for marks", rows().map(|row| row.mark_responses)),
        u64s(
            "quench_responses",
            "events",
            "windows closed for source quenches",
            rows().map(|row| row.quench_responses),
        ),
        u64s("quenches", "events", "source quenches that reached its sender", rows().map(|row| row.totals.quenches)),
        f64s(
            "recent_share",
            "1",
            "its share of the last data packets that a queue under study marked or dropped. It counts only marks and \
             drops that hit flows in proportion to what they send: marks (not DECbit's or UT/LT's), early and forced \
             drops (not those of drop preference), and packets that Random Drop draws. In a queue with classes only \
             those of the flow's class count. If the flow crosses several queues, this is its share at the queue where \
             so large a share is least likely; missing if there were no such packets, or if it sent nothing",
            recent(|recent| recent.share),
        ),
        f64s(
            "recent_expected",
            "1",
            "its expected share if all flows that sent to that queue, or class, sent equally much",
            recent(|recent| recent.expected),
        ),
        f64s(
            "recent_packets",
            "packets",
            "how many such packets count: the last of the measured window, at most run.recent",
            recent(|recent| recent.packets as f64),
        ),
        f64s(
            "recent_p_value",
            "1",
            "upper bound on the p-value: the probability of so large a share if the expected share is the true one and \
             packets are chosen independently (Hoeffding; RED 1993, Sec. X and eq. 4)",
            recent(|recent| recent.p_value),
        ),
    ]);
    ResultTable {
        name: "flows",
        summary: "One row for each flow, over the measured window. The connections of an `http` group are one flow here.",
        columns,
    }
}

pub(super) fn flow_series(named: Named<'_>) -> ResultTable {
    let outcome = named.outcome;
    let rows = || outcome.flow_series.iter();
    let congestion = |value: fn(Congestion) -> f64| rows().map(move |row| row.congestion.map_or(f64::NAN, value));
    let columns = vec![
        f64s("time_s", "s", "time of the sample", rows().map(|row| row.time.as_secs())),
        u64s("flow", "", "number of the flow, from 1", rows().map(|row| u64::from(row.flow) + 1)),
        named.column(rows().map(|row| row.flow)),
        f64s(
            "throughput_bps",
            "bit/s",
            "IP bits delivered per second in the interval that ends here",
            rows().map(|row| row.throughput_bps),
        ),
        f64s(
            "cwnd_segments",
            "segments",
            "congestion window; missing for a source without one",
            congestion(|state| state.cwnd),
        ),
        f64s(
            "ssthresh_segments",
            "segments",
            "slow-start threshold; missing for a source without one",
            congestion(|state| state.ssthresh),
        ),
        f64s(
            "srtt_ns",
            "ns",
            "smoothed round-trip time of its sender; missing before the first measurement, and for a source without \
             one",
            congestion(|state| if state.srtt.0 == 0 { f64::NAN } else { state.srtt.0 as f64 }),
        ),
        f64s(
            "in_flight_bytes",
            "bytes",
            "bytes of data sent and not acknowledged; missing for a source without acknowledgements",
            congestion(|state| state.in_flight as f64),
        ),
        u64s(
            "arrivals_packets",
            "packets",
            "packets of its data that reached queues under study in the interval",
            rows().map(|row| u64::from(row.arrivals)),
        ),
        u64s(
            "drops_packets",
            "packets",
            "packets of its data dropped there in the interval",
            rows().map(|row| u64::from(row.drops)),
        ),
        u64s(
            "marked_packets",
            "packets",
            "packets of its data marked there and sent in the interval",
            rows().map(|row| u64::from(row.marked)),
        ),
        u64s(
            "lost_packets",
            "packets",
            "packets of its data lost on their wires in the interval",
            rows().map(|row| u64::from(row.lost)),
        ),
        u64s(
            "window_cuts",
            "events",
            "how often its sender cut its window in the interval: timeouts, fast retransmits, and reactions to marks \
             and quenches",
            rows().map(|row| u64::from(row.cuts)),
        ),
    ];
    ResultTable { name: "flow_series", summary: "One row for each flow at each sample, over the whole run.", columns }
}
