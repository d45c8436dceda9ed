//! The tables of single packets: where they stood, and what happened to them.

use super::{Named, ResultTable, f64s, strs, u64s};
use sluicegate_netsim::End;

pub(super) fn positions(named: Named<'_>) -> ResultTable {
    let outcome = named.outcome;
    let rows = || outcome.positions.rows();
    let columns = vec![
        f64s("time_s", "s", "time of the sample", rows().map(|(time, ..)| time.as_secs())),
        strs("link", "name of the link", rows().map(|(_, link, ..)| outcome.link_name(link))),
        u64s(
            "behind_packets",
            "packets",
            "packets behind it in the queue: 0 at the tail, all others at the head",
            rows().map(|(_, _, behind, _)| u64::from(behind)),
        ),
        u64s("flow", "", "number of the packet's flow, from 1", rows().map(|(.., flow)| u64::from(flow) + 1)),
        named.column(rows().map(|(.., flow)| flow)),
    ];
    ResultTable {
        name: "positions",
        summary: "One row for each packet queued at each sample, from tail to head, over the whole run, at most \
                  run.positions rows.",
        columns,
    }
}

pub(super) fn packets(named: Named<'_>) -> ResultTable {
    let outcome = named.outcome;
    let rows = || outcome.packets.iter();
    let columns = vec![
        f64s("time_s", "s", "when it happened", rows().map(|row| row.time.as_secs())),
        strs("link", "name of the link", rows().map(|row| outcome.link_name(row.link))),
        u64s("flow", "", "number of the packet's flow, from 1", rows().map(|row| u64::from(row.flow) + 1)),
        named.column(rows().map(|row| row.flow)),
        strs(
            "to",
            "the end that it travels to: receiver or sender",
            rows().map(|row| if row.to == End::Receiver { "receiver" } else { "sender" }),
        ),
        strs(
            "event",
            "arrival at the queue; departure, when the last bit is out; lost, on the wire behind it; or for a drop, its reason",
            rows().map(|row| row.event.name()),
        ),
        u64s("packet_bytes", "bytes", "length of the packet", rows().map(|row| u64::from(row.bytes))),
        u64s(
            "first_byte",
            "bytes",
            "where in the stream of its flow its data begin; 0 for a source without a stream",
            rows().map(|row| row.first),
        ),
        u64s("data_bytes", "bytes", "how many bytes of the stream it carries", rows().map(|row| u64::from(row.data))),
        u64s(
            "queue_packets",
            "packets",
            "packets queued, without the one in transmission: what an arrival found, what any other event left",
            rows().map(|row| row.packets),
        ),
        f64s(
            "average_packets",
            "packets",
            "the discipline's own average after the event; missing if it keeps none",
            rows().map(|row| row.average),
        ),
    ];
    ResultTable {
        name: "packets",
        summary: "One row for each event of a packet at a link under study, from the start of the run, run.packets of them at most.",
        columns,
    }
}
