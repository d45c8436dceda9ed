//! The table of groups: what all flows of one name come to together.

use super::{Column, Named, ResultTable, drops_by_reason, f64s, ratio, strs, u64s};
use sluicegate_aqm::DropReason;
use sluicegate_netsim::counters::FlowTotals;
use sluicegate_netsim::workloads::exchanges::GroupTotals;
use sluicegate_port::DelayHistogram;
use std::collections::BTreeMap;

/// All flows of one name.
struct Group<'a> {
    name: &'a str,
    /// The number of its first entry.
    entry: u32,
    kinds: Vec<&'static str>,
    algorithms: Vec<&'static str>,
    flows: u64,
    totals: FlowTotals,
    /// Its transfers that have an end and came to it, and how long they took.
    completions: DelayHistogram,
    completed: u64,
    users: Option<u64>,
    open: u64,
    most_open: u64,
    connections: GroupTotals,
}

/// The groups, in the order of the scenario.
fn pooled(named: Named<'_>) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut places = BTreeMap::new();
    for row in &named.outcome.flows {
        let name = named.group(row.group, row.kind);
        let place = *places.entry(name).or_insert_with(|| {
            groups.push(Group {
                name,
                entry: row.group,
                kinds: Vec::new(),
                algorithms: Vec::new(),
                flows: 0,
                totals: FlowTotals::default(),
                completions: DelayHistogram::default(),
                completed: 0,
                users: None,
                open: 0,
                most_open: 0,
                connections: GroupTotals::default(),
            });
            groups.len() - 1
        });
        let group = &mut groups[place];
        for (words, word) in [(&mut group.kinds, row.kind), (&mut group.algorithms, row.algorithm)] {
            if !word.is_empty() && !words.contains(&word) {
                words.push(word);
            }
        }
        group.flows += 1;
        group.totals.add(&row.totals);
        if let Some(time) = row.completion {
            group.completions.record(time.0);
            group.completed += 1;
        }
    }
    for row in &named.outcome.groups {
        let Some(&place) = places.get(named.group(row.group, row.kind)) else { continue };
        let group = &mut groups[place];
        if let Some(users) = row.users {
            *group.users.get_or_insert(0) += u64::from(users);
        }
        group.open += u64::from(row.open);
        group.most_open += u64::from(row.most_open);
        group.connections.add(&row.totals);
    }
    groups
}

pub(super) fn groups(named: Named<'_>) -> ResultTable {
    let groups = pooled(named);
    let rows = || groups.iter();
    let bps = |bytes: u64| bytes as f64 * 8.0 / named.outcome.window.as_secs();
    let drops: Vec<[u64; DropReason::COUNT]> = rows().map(|row| row.totals.drops).collect();
    let all_drops = |row: &Group<'_>| row.totals.drops.iter().sum::<u64>();
    let (kinds, algorithms): (Vec<String>, Vec<String>) =
        rows().map(|row| (row.kinds.join(" "), row.algorithms.join(" "))).unzip();
    let delay = |quantile: f64| rows().map(move |row| row.totals.delays.quantile(quantile));
    let completion = |quantile: f64| rows().map(move |row| row.completions.quantile(quantile));
    let mut columns = vec![
        strs("name", "its name", rows().map(|row| row.name)),
        u64s("group", "", "number of its first [[flows]] entry, from 0", rows().map(|row| u64::from(row.entry))),
        strs("kind", "kind of source; several are separated by spaces", kinds.iter().map(String::as_str)),
        strs(
            "algorithm",
            "congestion control; several are separated by spaces, empty for a source without",
            algorithms.iter().map(String::as_str),
        ),
        u64s("flows", "flows", "its flows; the connections of an entry are one", rows().map(|row| row.flows)),
        f64s(
            "offered_bps",
            "bit/s",
            "IP bits sent by its sources per second, retransmissions included",
            rows().map(|row| bps(row.totals.sent[1])),
        ),
        f64s(
            "throughput_bps",
            "bit/s",
            "IP bits delivered to its receivers in the measured window, per second of it",
            rows().map(|row| bps(row.totals.delivered[1])),
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
            rows().map(|row| row.totals.queueing.as_secs() / named.outcome.window.as_secs()),
        ),
        f64s(
            "delay_mean_ns",
            "ns",
            "mean one-way delay of its delivered packets",
            rows().map(|row| row.totals.delay_sum as f64 / row.totals.delivered[0] as f64),
        ),
        f64s("delay_p50_ns", "ns", "median one-way delay of all its packets, to two digits", delay(0.5)),
        f64s("delay_p95_ns", "ns", "95th percentile of it, to two digits", delay(0.95)),
        f64s("delay_p99_ns", "ns", "99th percentile of it, to two digits", delay(0.99)),
        u64s("completed_flows", "flows", "its transfers that came to their end", rows().map(|row| row.completed)),
        f64s(
            "completion_time_p50_ns",
            "ns",
            "the median of their times from start to end, be it before the measured window, to two digits",
            completion(0.5),
        ),
        f64s("completion_time_p95_ns", "ns", "the 95th percentile of it, to two digits", completion(0.95)),
    ]);
    columns.extend(connections(&groups));
    let summary = "One row for each group of flows, which are those of one name, over the measured window.";
    ResultTable { name: "groups", summary, columns }
}

/// What only groups have whose connections come and go; zero, or missing, for others.
fn connections<'a>(groups: &'a [Group<'_>]) -> impl Iterator<Item = Column> + 'a {
    let rows = || groups.iter();
    let counted = |count: fn(&GroupTotals) -> u64| rows().map(move |row| count(&row.connections));
    let time = |quantile: f64| {
        rows().map(move |row| {
            let times = row.connections.response_times.as_ref();
            times.map_or(f64::NAN, |times| times.quantile(quantile))
        })
    };
    let columns = [
        f64s(
            "users",
            "users",
            "its users; missing where connections come by themselves, or none come and go",
            rows().map(|row| row.users.map_or(f64::NAN, |users| users as f64)),
        ),
        u64s("opened_connections", "connections", "connections opened", counted(|totals| totals.opened)),
        u64s("closed_connections", "connections", "connections closed at both ends", counted(|totals| totals.closed)),
        u64s("open_connections", "connections", "connections open at the end", rows().map(|row| row.open)),
        u64s(
            "open_connections_max",
            "connections",
            "the most of them at once; of several entries the sum",
            rows().map(|row| row.most_open),
        ),
        u64s("requests", "requests", "requests made", counted(|totals| totals.asked)),
        u64s(
            "exchanges",
            "exchanges",
            "responses that came whole, their request be it from before the window",
            counted(|totals| totals.completed),
        ),
        u64s("request_bytes", "bytes", "bytes of these requests", counted(|totals| totals.bytes[0])),
        u64s("response_bytes", "bytes", "bytes of these responses", counted(|totals| totals.bytes[1])),
        f64s(
            "response_time_mean_ns",
            "ns",
            "mean time from a request, and the opening of its connection if it is the first there, until the last byte \
             of the response",
            rows().map(|row| row.connections.response_time_sum as f64 / row.connections.completed as f64),
        ),
        f64s("response_time_p50_ns", "ns", "its median, to two digits", time(0.5)),
        f64s("response_time_p90_ns", "ns", "its 90th percentile, to two digits", time(0.9)),
        f64s("response_time_p99_ns", "ns", "its 99th percentile, to two digits", time(0.99)),
    ];
    columns.into_iter()
}
