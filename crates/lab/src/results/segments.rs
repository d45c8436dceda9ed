//! The table of single segments of TCP: what their headers said, and what became of them.

use super::{Cells, Column, Named, ResultTable, Texts, f64s, strs, u64s};
use sluicegate_netsim::End;
use sluicegate_netsim::counters::SegmentRow;
use sluicegate_tcp::Flags;
use sluicegate_tcp::segment::Options;

pub(super) fn segments(named: Named<'_>) -> ResultTable {
    let rows = || named.outcome.segments.iter();
    let columns = vec![
        f64s(
            "time_s",
            "s",
            "when it reached the queue of a link under study; on a way back without one, when its last bit was out",
            rows().map(|row| row.time.as_secs()),
        ),
        strs("link", "name of the link, or of the way back, such as bottleneck/back", rows().map(|row| &*row.place)),
        u64s("flow", "", "number of its flow, from 1", rows().map(|row| u64::from(row.flow) + 1)),
        named.column(rows().map(|row| row.flow)),
        strs(
            "to",
            "the end that it travels to: receiver or sender",
            rows().map(|row| if row.to == End::Receiver { "receiver" } else { "sender" }),
        ),
        u64s(
            "first_byte",
            "bytes",
            "its sequence number: where in the stream its data begin, or would begin; from 0, and it does not wrap",
            rows().map(|row| row.segment.seq),
        ),
        u64s(
            "data_bytes",
            "bytes",
            "how many bytes of the stream it carries",
            rows().map(|row| row.segment.len.into()),
        ),
        f64s(
            "ack_byte",
            "bytes",
            "its acknowledgement number: the next byte that its sender expects; missing without the flag ACK",
            rows().map(|row| if row.segment.flags.has(Flags::ACK) { row.segment.ack as f64 } else { f64::NAN }),
        ),
        texts(
            "sack",
            "the ranges that it reports beyond that (SACK), such as 14480-15928, a duplicate (D-SACK) first; empty for none",
            rows().map(ranges),
        ),
        f64s(
            "window_bytes",
            "bytes",
            "the window that it offers; missing where hosts do not change theirs",
            rows().map(|row| {
                let options = row.segment.options;
                if options.has(Options::STAMPED) { f64::from(options.window) } else { f64::NAN }
            }),
        ),
        texts("flags", "its flags, such as SYN ACK", rows().map(flags)),
        u64s(
            "ecn",
            "",
            "its ECN field on arrival: 0 not capable, 1 or 2 capable, 3 marked",
            rows().map(|row| row.ecn as u64),
        ),
        strs(
            "fate",
            "departure; lost, on the wire behind the queue; for a drop, its reason; queued, if the run ended before",
            rows().map(|row| row.fate.map_or("queued", |fate| fate.name())),
        ),
    ];
    ResultTable {
        name: "segments",
        summary: "One row for each segment of TCP at a link under study or on a way back, from the start of the run, run.segments of them at most.",
        columns,
    }
}

/// A column of texts that are written for it.
fn texts(name: &'static str, doc: &'static str, cells: impl Iterator<Item = String>) -> Column {
    let cells: Vec<String> = cells.collect();
    let cells: Texts = cells.iter().map(String::as_str).collect();
    Column { name: name.into(), unit: "", doc: doc.into(), cells: Cells::Str(cells) }
}

fn ranges(row: &SegmentRow) -> String {
    let all = row.segment.duplicate().into_iter().chain(row.segment.ranges());
    all.map(|(start, end)| format!("{start}-{end}")).collect::<Vec<_>>().join(" ")
}

fn flags(SegmentRow { segment, .. }: &SegmentRow) -> String {
    segment.names().collect::<Vec<_>>().join(" ")
}
