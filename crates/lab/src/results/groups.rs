//! The tables of groups: totals and delays of all flows with one name.

use super::totals::{Counted, counted};
use super::{Column, Named, ResultTable, f64s, strs, u64s};
use sluicegate_netsim::counters::{FlowTotals, Past};
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
    past: Past,
    received: Option<u64>,
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
                past: Past::default(),
                received: Some(0),
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
        group.past.add(&row.past);
        group.received = group.received.zip(row.received).map(|(all, one)| all + one);
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

/// The tables `groups` and `delays`.
pub(super) fn groups(named: Named<'_>) -> [ResultTable; 2] {
    let groups = pooled(named);
    [totals(named, &groups), delays(&groups)]
}

fn totals(named: Named<'_>, groups: &[Group<'_>]) -> ResultTable {
    let rows = || groups.iter();
    let counts: Vec<Counted<'_>> =
        rows().map(|row| Counted { totals: &row.totals, past: row.past, received: row.received }).collect();
    let (kinds, algorithms): (Vec<String>, Vec<String>) =
        rows().map(|row| (row.kinds.join(" "), row.algorithms.join(" "))).unzip();
    let completion = |quantile: f64| rows().map(move |row| row.completions.quantile(quantile));
    let mut columns = vec![
        strs("name", "its name", rows().map(|row| row.name)),
        u64s("group", "", "number of its first [[flows]] entry, from 0", rows().map(|row| u64::from(row.entry))),
        strs("kind", "kind of source; several are separated by spaces", kinds.iter().map(String::as_str)),
        strs(
            "algorithm",
            "congestion control; several are separated by spaces; empty for a source without one",
            algorithms.iter().map(String::as_str),
        ),
        u64s("flows", "flows", "its flows; all connections of an entry count as one", rows().map(|row| row.flows)),
    ];
    columns.extend(counted(&counts, named.outcome));
    columns.extend([
        u64s("completed_flows", "flows", "its transfers that ended", rows().map(|row| row.completed)),
        f64s(
            "completion_time_p50_ns",
            "ns",
            "the median of their times from start to end, even if they ended before the measured window, to two digits",
            completion(0.5),
        ),
        f64s("completion_time_p95_ns", "ns", "the 95th percentile of it, to two digits", completion(0.95)),
    ]);
    columns.extend(connections(groups));
    let summary = "One row for each group of flows with the same name, over the measured window.";
    ResultTable { name: "groups", summary, columns }
}

fn delays(groups: &[Group<'_>]) -> ResultTable {
    let rows = || groups.iter().flat_map(|group| group.totals.delays.counts().map(|bin| (group.name, bin)));
    let columns = vec![
        strs("name", "name of the group", rows().map(|(name, _)| name)),
        f64s(
            "delay_max_ns",
            "ns",
            "upper end of the bin of one-way delays, at most 1/128 above any delay in it",
            rows().map(|(_, (end, _))| end as f64),
        ),
        u64s("packets", "packets", "packets in this bin that were delivered", rows().map(|(_, (_, count))| count)),
    ];
    let summary = "The distribution of one-way delays: one row for each group and bin of delays, over the packets \
                   delivered in the measured window.";
    ResultTable { name: "delays", summary, columns }
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
            "its users; missing for groups without users",
            rows().map(|row| row.users.map_or(f64::NAN, |users| users as f64)),
        ),
        u64s("opened_connections", "connections", "connections opened", counted(|totals| totals.opened)),
        u64s("closed_connections", "connections", "connections closed at both ends", counted(|totals| totals.closed)),
        u64s("open_connections", "connections", "connections open at the end", rows().map(|row| row.open)),
        u64s(
            "open_connections_max",
            "connections",
            "the largest number at once; for several entries the sum",
            rows().map(|row| row.most_open),
        ),
        u64s("requests", "requests", "requests made", counted(|totals| totals.asked)),
        u64s(
            "exchanges",
            "exchanges",
            "responses that arrived completely, even if requested before the window",
            counted(|totals| totals.completed),
        ),
        u64s("request_bytes", "bytes", "bytes of their requests", counted(|totals| totals.bytes[0])),
        u64s("response_bytes", "bytes", "bytes of the responses", counted(|totals| totals.bytes[1])),
        f64s(
            "response_time_mean_ns",
            "ns",
            "mean time from a request until the last byte of the response; for the first request of a connection it \
             includes the opening",
            rows().map(|row| row.connections.response_time_sum as f64 / row.connections.completed as f64),
        ),
        f64s("response_time_p50_ns", "ns", "its median, to two digits", time(0.5)),
        f64s("response_time_p90_ns", "ns", "its 90th percentile, to two digits", time(0.9)),
        f64s("response_time_p99_ns", "ns", "its 99th percentile, to two digits", time(0.99)),
    ];
    columns.into_iter()
}
