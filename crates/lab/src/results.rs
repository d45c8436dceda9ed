//! The tables of results. A column is declared once, with its unit and meaning, beside the code that fills it.

mod exchanges;
mod groups;

use crate::{Scenario, VERSION};
use exchanges::{exchanges, response_times};
use groups::groups;
use serde_json::{Value as Json, json};
use sluicegate_aqm::DropReason;
use sluicegate_netsim::counters::{FlowRow, LinkRow, RecentShare};
use sluicegate_netsim::{End, Outcome};
use sluicegate_tcp::send::Congestion;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The cells of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// Real numbers; NaN is a missing value.
    F64(Vec<f64>),
    /// Counts.
    U64(Vec<u64>),
    /// Texts.
    Str(Texts),
}

/// Texts of which most are alike, such as the name of a link in each row: every one once, and for each row which.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Texts {
    /// The different texts, in order of appearance.
    pub names: Vec<String>,
    /// For each row the place of its text in `names`.
    pub codes: Vec<u32>,
}

impl<'a> FromIterator<&'a str> for Texts {
    fn from_iter<I: IntoIterator<Item = &'a str>>(cells: I) -> Self {
        let mut texts = Texts::default();
        let mut places = BTreeMap::new();
        let mut last: Option<(&str, u32)> = None;
        for cell in cells {
            // Neighbours are mostly of one text, and that text is then one place in memory.
            let code = match last {
                Some((text, code)) if std::ptr::eq(text, cell) => code,
                _ => *places.entry(cell).or_insert_with(|| {
                    texts.names.push(cell.to_owned());
                    texts.names.len() as u32 - 1
                }),
            };
            last = Some((cell, code));
            texts.codes.push(code);
        }
        texts
    }
}

impl Texts {
    /// The text of each row.
    pub fn rows(&self) -> impl Iterator<Item = &str> {
        self.codes.iter().map(|&code| self.names[code as usize].as_str())
    }
}

impl Cells {
    /// The name of the type in declarations.
    #[must_use]
    pub fn dtype(&self) -> &'static str {
        match self {
            Cells::F64(_) => "f64",
            Cells::U64(_) => "u64",
            Cells::Str(_) => "str",
        }
    }
}

/// One column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name, which ends in its unit.
    pub name: Cow<'static, str>,
    /// Its unit.
    pub unit: &'static str,
    /// What it means.
    pub doc: Cow<'static, str>,
    /// Its cells.
    pub cells: Cells,
}

/// One table.
#[derive(Clone, Debug)]
pub struct ResultTable {
    /// Its name.
    pub name: &'static str,
    /// What its rows are.
    pub summary: &'static str,
    /// Its columns.
    pub columns: Vec<Column>,
}

pub(crate) fn f64s(
    name: &'static str,
    unit: &'static str,
    doc: &'static str,
    cells: impl Iterator<Item = f64>,
) -> Column {
    Column { name: name.into(), unit, doc: doc.into(), cells: Cells::F64(cells.collect()) }
}

pub(crate) fn u64s(
    name: &'static str,
    unit: &'static str,
    doc: &'static str,
    cells: impl Iterator<Item = u64>,
) -> Column {
    Column { name: name.into(), unit, doc: doc.into(), cells: Cells::U64(cells.collect()) }
}

pub(crate) fn strs<'a>(name: &'static str, doc: &'static str, cells: impl Iterator<Item = &'a str>) -> Column {
    Column { name: name.into(), unit: "", doc: doc.into(), cells: Cells::Str(cells.collect()) }
}

pub(crate) fn drops_by_reason(drops: &[[u64; DropReason::COUNT]]) -> impl Iterator<Item = Column> + '_ {
    DropReason::ALL.iter().map(|&reason| Column {
        name: format!("drops_{}", reason.word()).into(),
        unit: "packets",
        doc: format!("those of drops_packets with the reason `{}`. {}", reason.word(), reason.doc()).into(),
        cells: Cells::U64(drops.iter().map(|drops| drops[reason as usize]).collect()),
    })
}

pub(crate) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { f64::NAN } else { part as f64 / whole as f64 }
}

/// What a run has left, and the names of its groups.
#[derive(Clone, Copy)]
struct Named<'a> {
    outcome: &'a Outcome,
    /// By the number of a `[[flows]]` entry; where there is none, the kind of the flow is its name.
    names: &'a [String],
}

impl<'a> Named<'a> {
    /// The name of an entry of `[[flows]]` whose flows are of this kind.
    fn group(self, group: u32, kind: &'static str) -> &'a str {
        self.names.get(group as usize).map_or(kind, String::as_str)
    }

    /// The name of the group of a flow.
    fn of(self, flow: u32) -> &'a str {
        let row = &self.outcome.flows[flow as usize];
        self.group(row.group, row.kind)
    }

    /// The name of the group of each of these flows, as a column.
    fn column(self, flows: impl Iterator<Item = u32>) -> Column {
        strs("name", "name of the flow's group", flows.map(|flow| self.of(flow)))
    }
}

/// Every table of a run. `names`: those of the entries of `[[flows]]`, in order.
#[must_use]
pub fn tables(outcome: &Outcome, names: &[String]) -> Vec<ResultTable> {
    let named = Named { outcome, names };
    vec![
        flows(named),
        links(outcome),
        flow_series(named),
        queue(outcome),
        occupancy(named),
        groups(named),
        response_times(named),
        exchanges(named),
        positions(named),
        state(outcome),
        packets(named),
    ]
}

fn flows(named: Named<'_>) -> ResultTable {
    let outcome = named.outcome;
    let rows = || outcome.flows.iter();
    let window = outcome.window.as_secs();
    let bps = |bytes: u64| bytes as f64 * 8.0 / window;
    let whole_bps = |bytes: u64| bytes as f64 * 8.0 / outcome.whole.as_secs();
    let drops: Vec<[u64; DropReason::COUNT]> = rows().map(|row| row.totals.drops).collect();
    let all_drops = |row: &FlowRow| row.totals.drops.iter().sum::<u64>();
    let delay = |quantile: f64| rows().map(move |row| row.totals.delays.quantile(quantile));
    let recent = |value: fn(RecentShare) -> f64| rows().map(move |row| row.recent.map_or(f64::NAN, value));
    let mut columns = vec![
        u64s("flow", "", "number of the flow, from 1 in the order of the scenario", 1..=outcome.flows.len() as u64),
        u64s("group", "", "number of its [[flows]] entry, from 0", rows().map(|row| u64::from(row.group))),
        strs("name", "name of its group", rows().map(|row| named.group(row.group, row.kind))),
        strs("kind", "kind of source", rows().map(|row| row.kind)),
        strs("algorithm", "congestion control; empty for a source without", rows().map(|row| row.algorithm)),
        strs(
            "link",
            "the first link under study that its data crosses; empty if there is none",
            rows().map(|row| row.link.map_or("", |link| outcome.link_name(link))),
        ),
        f64s("start_s", "s", "when it was to start", rows().map(|row| row.start.as_secs())),
        f64s(
            "base_rtt_ns",
            "ns",
            "propagation delays of its path, there and back; twice there for a source that hears nothing; missing for a \
             group whose connections each have their own",
            rows().map(|row| row.base_rtt.map_or(f64::NAN, |span| span.0 as f64)),
        ),
        f64s(
            "completion_time_ns",
            "ns",
            "from its start until its receiver had all its data, be it before the measured window; missing without an \
             end, or if the end did not come",
            rows().map(|row| row.completion.map_or(f64::NAN, |time| time.0 as f64)),
        ),
        f64s(
            "offered_bps",
            "bit/s",
            "IP bits sent by the source per second, retransmissions included",
            rows().map(|row| bps(row.totals.sent[1])),
        ),
        f64s(
            "throughput_bps",
            "bit/s",
            "IP bits delivered to the receiver in the measured window, per second of it",
            rows().map(|row| bps(row.totals.delivered[1])),
        ),
        f64s(
            "goodput_bps",
            "bit/s",
            "bits of data that its receiver handed to the application in the measured window, per second of it: in order, \
             without headers and repetitions; of a source without connections its packets without 28 bytes of headers; \
             missing where connections come and go",
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
            "of its packets that reached a queue under study in the whole run, the part that was dropped there",
            rows().map(|row| {
                ratio(
                    all_drops(row) + row.totals.earlier[0] + row.past.arrivals[1],
                    row.totals.arrivals + row.past.arrivals[0],
                )
            }),
        ),
        u64s("sent_packets", "packets", "packets sent by the source", rows().map(|row| row.totals.sent[0])),
        u64s(
            "delivered_packets",
            "packets",
            "packets delivered to the receiver",
            rows().map(|row| row.totals.delivered[0]),
        ),
        u64s(
            "arrivals_packets",
            "packets",
            "packets of its data that reached a queue under study in the measured window",
            rows().map(|row| row.totals.arrivals),
        ),
        u64s("drops_packets", "packets", "those of arrivals_packets that these queues dropped", rows().map(all_drops)),
    ];
    columns.extend(drops_by_reason(&drops));
    columns.extend([
        u64s(
            "drops_elsewhere_packets",
            "packets",
            "packets of its data dropped at links that are not under study, or lost on a wire, or on the own ways of connections whose vectors say so; \
             not counted in drops_packets",
            rows().map(|row| row.totals.drops_elsewhere),
        ),
        f64s(
            "loss_ratio",
            "1",
            "drops_packets / arrivals_packets; missing without arrivals",
            rows().map(|row| ratio(all_drops(row), row.totals.arrivals)),
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
            "mean one-way delay of delivered packets",
            rows().map(|row| row.totals.delay_sum as f64 / row.totals.delivered[0] as f64),
        ),
        f64s("delay_p50_ns", "ns", "median one-way delay, to two digits", delay(0.5)),
        f64s("delay_p95_ns", "ns", "95th percentile of one-way delay, to two digits", delay(0.95)),
        f64s("delay_p99_ns", "ns", "99th percentile of one-way delay, to two digits", delay(0.99)),
        u64s("retransmissions", "packets", "segments sent again", rows().map(|row| row.retransmissions)),
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
            "its part of the packets of data that a queue under study marked or dropped most recently in proportion to \
             what flows send: marks (not DECbit's or UT/LT's), early and forced drops (not those of drop preference), the \
             packets that Random Drop draws; with classes, of its class; the least likely where it crosses several; \
             missing if there were none, or if it sent nothing",
            recent(|recent| recent.share),
        ),
        f64s(
            "recent_expected",
            "1",
            "what is expected of it if the flows that sent to that queue, or class, sent equally much",
            recent(|recent| recent.expected),
        ),
        f64s(
            "recent_packets",
            "packets",
            "how many such packets are looked at: the last of the measured window, run.recent at the most",
            recent(|recent| recent.packets as f64),
        ),
        f64s(
            "recent_p_value",
            "1",
            "upper bound on the p-value: the chance of so large a part where the expected one is the true one and packets are chosen \
             independently (Hoeffding; RED 1993, Sec. X and eq. 4)",
            recent(|recent| recent.p_value),
        ),
    ]);
    ResultTable {
        name: "flows",
        summary: "One row for each flow, over the measured window. The connections of an `http` group are one flow here.",
        columns,
    }
}

fn links(outcome: &Outcome) -> ResultTable {
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
            "its rate; the mean over the measured window of one that changes",
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
            "those of arrivals_packets that its queue dropped, at once or later",
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
            "bits sent per second, over the rate",
            rows().map(|row| row.counters.departed_bytes as f64 * 8.0 / window / row.rate.0 as f64),
        ),
        f64s(
            "queue_packets_mean",
            "packets",
            "time average of the queue, the packet in transmission not counted",
            rows().map(|row| row.counters.queueing.as_secs() / window),
        ),
        f64s(
            "queue_found_packets_mean",
            "packets",
            "mean of the queue that arriving packets found, the one in transmission not counted",
            rows().map(|row| ratio(row.counters.found, row.counters.arrivals)),
        ),
        u64s("queue_packets_max", "packets", "the longest queue", rows().map(|row| row.counters.max_packets)),
        f64s(
            "average_packets_mean",
            "packets",
            "mean over the samples of the discipline's own average; missing if it keeps none",
            average(0),
        ),
        f64s("average_packets_min", "packets", "the least of these samples", average(1)),
        f64s("average_packets_max", "packets", "the greatest of these samples", average(2)),
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

fn flow_series(named: Named<'_>) -> ResultTable {
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
            "congestion window; missing for a source without",
            congestion(|state| state.cwnd),
        ),
        f64s(
            "ssthresh_segments",
            "segments",
            "slow-start threshold; missing for a source without",
            congestion(|state| state.ssthresh),
        ),
        f64s(
            "srtt_ns",
            "ns",
            "smoothed round-trip time of its sender; missing before the first measurement, and for a source without",
            congestion(|state| if state.srtt.0 == 0 { f64::NAN } else { state.srtt.0 as f64 }),
        ),
        f64s(
            "in_flight_bytes",
            "bytes",
            "bytes of data sent and not acknowledged; missing for a source without",
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
            "window_cuts",
            "events",
            "how often its sender cut its window in the interval: timeouts, fast retransmits, marks and quenches heeded",
            rows().map(|row| u64::from(row.cuts)),
        ),
    ];
    ResultTable { name: "flow_series", summary: "One row for each flow at each sample, over the whole run.", columns }
}

fn queue(outcome: &Outcome) -> ResultTable {
    let rows = || outcome.queue.iter();
    let columns = vec![
        f64s("time_s", "s", "time of the sample", rows().map(|row| row.time.as_secs())),
        strs("link", "name of the link", rows().map(|row| outcome.link_name(row.link))),
        u64s(
            "queue_packets",
            "packets",
            "packets queued, the one in transmission not counted",
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
            "mean of the queue that packets found that arrived in the interval; missing if none did",
            rows().map(|row| row.found),
        ),
    ];
    ResultTable {
        name: "queue",
        summary: "One row for each link under study at each sample, over the whole run.",
        columns,
    }
}

fn occupancy(named: Named<'_>) -> ResultTable {
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

fn positions(named: Named<'_>) -> ResultTable {
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
        summary: "One row for each packet queued at each sample, from tail to head, over the whole run, run.positions of them at most.",
        columns,
    }
}

fn packets(named: Named<'_>) -> ResultTable {
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
            "arrival at the queue; departure, when the last bit is out; or for a drop, its reason",
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
            "packets queued, the one in transmission not counted: what an arrival found, what any other event left",
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

fn state(outcome: &Outcome) -> ResultTable {
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
        summary: "One row for each value that a discipline shows of itself at each sample; of single connections of a group that come and go, nothing.",
        columns,
    }
}

/// The summary of a run: version, scenario, seed, totals.
#[must_use]
pub fn summary(scenario: &Scenario, outcome: &Outcome) -> Json {
    let sum = |measure: fn(&LinkRow) -> u64| outcome.links.iter().map(measure).sum::<u64>();
    let delivered: u64 = outcome.flows.iter().map(|row| row.totals.delivered[1]).sum();
    json!({
        "version": VERSION,
        "scenario_file": scenario.name,
        "scenario": scenario.resolved,
        "seed": scenario.seed(),
        "totals": {
            "measured_s": outcome.window.as_secs(),
            "throughput_bps": delivered as f64 * 8.0 / outcome.window.as_secs(),
            "arrivals_packets": sum(|row| row.counters.arrivals),
            "departures_packets": sum(|row| row.counters.departures),
            "drops_packets": sum(|row| row.counters.drops.iter().sum()),
        },
        "events": outcome.events,
    })
}

#[cfg(test)]
mod tests {
    use super::Texts;

    #[test]
    fn a_text_is_kept_once() {
        let other = String::from("b");
        let cells = ["a", "b", other.as_str(), "a", "", "a"];
        let texts: Texts = cells.into_iter().collect();
        assert_eq!(texts.names, ["a", "b", ""]);
        assert_eq!(texts.codes, [0, 1, 1, 0, 2, 0]);
        assert!(texts.rows().eq(cells));
    }
}
