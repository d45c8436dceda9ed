//! The tables of a replay, every column declared, and its summary.

use super::flows::Row;
use super::layers::Other;
use super::run::Replayed;
use super::scenario::ReplayScenario;
use crate::VERSION;
use crate::results::{Cells, Column, ResultTable, Texts, drops_by_reason, f64s, ratio, strs, u64s};
use serde_json::{Map, Value as Json, json};
use sluicegate_aqm::DropReason;
use sluicegate_base::{Rate, Time};

/// What the tables are made from.
pub struct Report {
    rows: Vec<(&'static str, Row)>,
    names: Vec<[String; 4]>,
    outcome: Replayed,
    discipline: String,
    rate: Rate,
}

impl Report {
    /// The report of a replay at this rate under the discipline of this name.
    #[must_use]
    pub fn new(mut outcome: Replayed, discipline: String, rate: Rate) -> Report {
        let rows: Vec<(&'static str, Row)> = outcome.flows.take_rows().collect();
        let names = rows.iter().map(|(kind, row)| names(kind, row)).collect();
        Report { rows, names, outcome, discipline, rate }
    }

    fn sum(&self, measure: impl Fn(&Row) -> u64) -> u64 {
        self.rows.iter().map(|(_, row)| measure(row)).sum()
    }

    /// From the first arrival to the last arrival or departure, in seconds.
    fn window(&self) -> f64 {
        let (arrival, departure) = (self.outcome.totals.arrival, self.outcome.crossed.last);
        arrival.max(departure).since(Time::ZERO).as_secs()
    }

    /// Every table.
    #[must_use]
    pub fn tables(&self) -> Vec<ResultTable> {
        vec![self.flows(), self.links(), self.queue(), self.delays()]
    }

    fn flows(&self) -> ResultTable {
        let rows = || self.rows.iter().map(|(_, row)| row);
        let text = |at: usize| self.names.iter().map(move |names| names[at].as_str());
        let window = self.window();
        let port = |which: fn((u16, u16)) -> u16| {
            rows().map(move |row| row.tuple.and_then(|tuple| tuple.ports).map_or(f64::NAN, |p| f64::from(which(p))))
        };
        let drops: Vec<[u64; DropReason::COUNT]> = rows().map(|row| row.drops).collect();
        let numbers =
            self.rows.iter().enumerate().map(|(at, (kind, _))| if *kind == "flow" { at as u64 + 1 } else { 0 });
        let delay = |q: f64| rows().map(move |row| row.delays.quantile(q));
        let mut columns = vec![
            u64s(
                "flow",
                "",
                "number of the flow, from 1 in the order of appearance; 0 for a group (see kind)",
                numbers,
            ),
            strs("name", "addresses, ports and protocol in one text", text(0)),
            strs(
                "kind",
                "flow, or one of two groups: other, packets that could not be assigned to a flow; further, all flows beyond the \
                 bound of the table",
                self.rows.iter().map(|(kind, _)| *kind),
            ),
            strs("source", "address that its packets come from; empty for a group", text(1)),
            f64s("source_port", "", "port that they come from; missing without ports", port(|ports| ports.0)),
            strs("destination", "address that its packets go to; empty for a group", text(2)),
            f64s("destination_port", "", "port that they go to; missing without ports", port(|ports| ports.1)),
            strs("protocol", "protocol above IP; empty for a group", text(3)),
            u64s("key", "", "hash of the flow, by which the queue knows it; 0 for a group", rows().map(|row| row.key)),
            f64s("first_s", "s", "arrival of its first packet", rows().map(|row| row.seen.0.as_secs())),
            f64s("last_s", "s", "arrival of its last packet", rows().map(|row| row.seen.1.as_secs())),
            u64s("arrivals_packets", "packets", "packets that arrived", rows().map(|row| row.arrived[0])),
            u64s("arrivals_bytes", "bytes", "their bytes", rows().map(|row| row.arrived[1])),
            u64s("delivered_packets", "packets", "packets that were sent on", rows().map(|row| row.delivered[0])),
            u64s("delivered_bytes", "bytes", "their bytes", rows().map(|row| row.delivered[1])),
            u64s("drops_packets", "packets", "packets that the queue dropped", rows().map(Row::drops_packets)),
        ];
        columns.extend(drops_by_reason(&drops));
        columns.extend([
            u64s("drops_bytes", "bytes", "bytes of all packets dropped", rows().map(|row| row.drops_bytes)),
            f64s(
                "loss_ratio",
                "1",
                "drops_packets / arrivals_packets",
                rows().map(|row| ratio(row.drops_packets(), row.arrived[0])),
            ),
            u64s(
                "marked_packets",
                "packets",
                "packets that the queue marked and sent on",
                rows().map(|row| row.marked),
            ),
            f64s(
                "throughput_bps",
                "bit/s",
                "bits sent on, per second of the whole replay",
                rows().map(|row| row.delivered[1] as f64 * 8.0 / window),
            ),
            f64s(
                "queueing_delay_mean_ns",
                "ns",
                "mean waiting time of packets that were sent on; missing without any",
                rows().map(|row| row.delays.mean()),
            ),
            f64s(
                "queueing_delay_p50_ns",
                "ns",
                "median of it: exact up to 16 packets, else at most 1/16 too high",
                delay(0.5),
            ),
            f64s("queueing_delay_p95_ns", "ns", "95th percentile of it, likewise", delay(0.95)),
            f64s("queueing_delay_p99_ns", "ns", "99th percentile of it, likewise", delay(0.99)),
            f64s("queueing_delay_max_ns", "ns", "the longest, exactly", rows().map(|row| row.delays.longest())),
        ]);
        ResultTable {
            name: "flows",
            summary: "One row for each flow of the capture, over the whole replay; times count from the first packet.",
            columns,
        }
    }

    fn links(&self) -> ResultTable {
        let crossed = &self.outcome.crossed;
        let window = self.window();
        let mut drops = [0; DropReason::COUNT];
        for (_, row) in &self.rows {
            drops.iter_mut().zip(row.drops).for_each(|(sum, count)| *sum += count);
        }
        let one = |name, unit, doc, value: u64| u64s(name, unit, doc, std::iter::once(value));
        let real = |name, unit, doc, value: f64| f64s(name, unit, doc, std::iter::once(value));
        let delivered = self.sum(|row| row.delivered[1]);
        let discipline = &*self.discipline;
        let mut columns: Vec<Column> = vec![
            strs("link", "name of the link: replay", std::iter::once("replay")),
            strs("discipline", "its queue discipline", std::iter::once(discipline)),
            real("rate_bps", "bit/s", "its rate", self.rate.0 as f64),
            real("duration_s", "s", "from the first arrival to the last arrival or departure", window),
            one("arrivals_packets", "packets", "packets that arrived", self.sum(|row| row.arrived[0])),
            one("arrivals_bytes", "bytes", "their bytes", self.sum(|row| row.arrived[1])),
            one("departures_packets", "packets", "packets that were sent on", self.sum(|row| row.delivered[0])),
            one("departures_bytes", "bytes", "their bytes", delivered),
            one("drops_packets", "packets", "packets that the queue dropped", self.sum(Row::drops_packets)),
        ];
        columns.extend(drops_by_reason(&[drops]));
        columns.extend([
            one("left_packets", "packets", "packets that the queue never gave out", crossed.left),
            one("marked_packets", "packets", "packets that the queue marked and sent on", self.sum(|row| row.marked)),
            one(
                "opaque_packets",
                "packets",
                "packets that arrived and could not be assigned to a flow: to the queue they are one flow; those without a \
                 readable IP header cannot be marked",
                self.outcome.flows.others.iter().sum(),
            ),
            one(
                "merged_packets",
                "packets",
                "packets of the capture that a host had merged, and that arrived in pieces",
                crossed.merged[0],
            ),
            one(
                "oversize_packets",
                "packets",
                "packets of the capture that are longer than mtu and were not split",
                crossed.oversize,
            ),
            one(
                "jumps",
                "",
                "how often times leapt, back by more than half a second or ahead by more than a day; a single leap flags all results",
                self.outcome.totals.jumps,
            ),
            one(
                "times_kept",
                "",
                "1 if all but a few packets arrived at their recorded times; 0 flags all results",
                u64::from(self.outcome.totals.kept()),
            ),
            one(
                "moved_packets",
                "packets",
                "packets of the capture that arrived more than 1 ms after their time, or were left out because times leapt",
                self.outcome.totals.moved + self.outcome.totals.skipped,
            ),
            real(
                "utilisation",
                "1",
                "bits sent on per second, over the rate",
                delivered as f64 * 8.0 / window / self.rate.0 as f64,
            ),
            real(
                "queue_packets_mean",
                "packets",
                "time average of the queue, without the packet in transmission",
                crossed.queued.as_secs() / window,
            ),
            one("queue_packets_max", "packets", "the longest queue", crossed.most),
            real(
                "queueing_delay_mean_ns",
                "ns",
                "mean waiting time of packets that were sent on; missing without any",
                crossed.delays.mean(),
            ),
            real("queueing_delay_p50_ns", "ns", "median of it, at most 1/128 too high", crossed.delays.quantile(0.5)),
            real("queueing_delay_p95_ns", "ns", "95th percentile of it, likewise", crossed.delays.quantile(0.95)),
            real("queueing_delay_p99_ns", "ns", "99th percentile of it, likewise", crossed.delays.quantile(0.99)),
            real("queueing_delay_max_ns", "ns", "the longest, exactly", crossed.delays.longest()),
        ]);
        ResultTable { name: "links", summary: "One row: the link, over the whole replay.", columns }
    }

    fn queue(&self) -> ResultTable {
        let rows = || self.outcome.crossed.series.rows();
        let columns = vec![
            f64s("time_s", "s", "end of the interval, from the first packet", rows().map(|(time, ..)| time.as_secs())),
            f64s("queue_packets_mean", "packets", "time average of the queue in it", rows().map(|(_, mean, _)| mean)),
            u64s("queue_packets_max", "packets", "the longest queue in it", rows().map(|(.., most)| most)),
        ];
        let summary = "The queue over time: one row for each of at most 2048 intervals of equal length, 1 ms or more.";
        ResultTable { name: "queue", summary, columns }
    }

    fn delays(&self) -> ResultTable {
        let rows = || self.outcome.crossed.delays.counts();
        let columns = vec![
            f64s(
                "queueing_delay_max_ns",
                "ns",
                "upper end of the bin of waiting times, at most 1/128 above any in it",
                rows().map(|(end, _)| end as f64),
            ),
            u64s("packets", "packets", "packets in this bin that were sent on", rows().map(|(_, count)| count)),
        ];
        let summary = "The distribution of waiting times of packets that were sent on: one row for each bin of times.";
        ResultTable { name: "delays", summary, columns }
    }

    /// The summary: version, capture, setting, totals, and what was odd about the capture.
    #[must_use]
    pub fn summary(&self, scenario: &ReplayScenario, file: &str) -> Json {
        let (totals, outcome) = (&self.outcome.totals, &self.outcome);
        let others: Map<String, Json> = Other::NAMES
            .iter()
            .zip(outcome.flows.others)
            .map(|(name, n)| ((*name).to_owned(), Json::from(n)))
            .collect();
        let damage = outcome.damage.as_ref().map(|damage| json!({"offset_bytes": damage.offset, "what": damage.what}));
        json!({
            "version": VERSION,
            "capture": {
                "file": file,
                "format": outcome.format,
                "read_bytes": outcome.read,
                "packets": totals.packets,
                "first_packet_ns": totals.base,
                "damage": damage,
                "out_of_order_packets": totals.out_of_order.0,
                "out_of_order_ns_max": totals.out_of_order.1.0,
                "untimed_packets": totals.untimed,
                "cut_packets": totals.cut,
                "jumps": totals.jumps,
                "skipped_packets": totals.skipped,
                "moved_packets": totals.moved,
                "times_kept": totals.kept(),
                "longest_silence_ns": totals.silence.0.0,
                "mostly_silent": totals.mostly_silent(),
                "merged_packets": outcome.crossed.merged[0],
                "merged_pieces": outcome.crossed.merged[1],
                "oversize_packets": outcome.crossed.oversize,
                "other": others,
                "warnings": super::warnings::of(outcome, scenario.setting().mtu),
            },
            "replay": scenario.resolved,
            "seed": scenario.seed(),
            "totals": {
                "duration_s": self.window(),
                "flows": self.rows.iter().filter(|(kind, _)| *kind == "flow").count(),
                "arrivals_packets": self.sum(|row| row.arrived[0]),
                "departures_packets": self.sum(|row| row.delivered[0]),
                "drops_packets": self.sum(Row::drops_packets),
                "left_packets": outcome.crossed.left,
                "marked_packets": self.sum(|row| row.marked),
            },
            "note": NOTE,
        })
    }
}

/// What whoever reads the results must know.
pub const NOTE: &str =
    "A recorded sender does not react: it sent what it sent, whatever this queue dropped, marked or delayed.";

/// The name of a row, and source, destination and protocol of a flow.
fn names(kind: &str, row: &Row) -> [String; 4] {
    match row.tuple {
        Some(tuple) => {
            [tuple.to_string(), tuple.source.to_string(), tuple.destination.to_string(), tuple.protocol_text()]
        }
        None => {
            let name = if kind == "other" { "other packets" } else { "further flows" };
            [name.to_owned(), String::new(), String::new(), String::new()]
        }
    }
}

/// The tables without a row, for their columns.
#[must_use]
pub fn declared() -> Vec<ResultTable> {
    let outcome = Replayed::empty();
    let mut tables = Report::new(outcome, String::new(), Rate(1)).tables();
    for column in tables.iter_mut().flat_map(|table| &mut table.columns) {
        match &mut column.cells {
            Cells::F64(cells) => cells.clear(),
            Cells::I64(cells) => cells.clear(),
            Cells::Str(cells) => *cells = Texts::default(),
        }
    }
    tables
}
