//! The tables of users and connections that come and go: groups, their response times, single exchanges.

use super::{ResultTable, f64s, strs, u64s};
use sluicegate_netsim::Outcome;

pub(super) fn groups(outcome: &Outcome) -> ResultTable {
    let rows = || outcome.groups.iter();
    let time = |quantile: f64| {
        rows().map(move |row| {
            let times = row.totals.response_times.as_ref();
            times.map_or(f64::NAN, |times| times.quantile(quantile))
        })
    };
    let columns = vec![
        u64s("group", "", "number of its [[flows]] entry, from 0", rows().map(|row| u64::from(row.group))),
        strs("kind", "kind of source", rows().map(|row| row.kind)),
        f64s(
            "users",
            "users",
            "its users; missing for connections that come by themselves",
            rows().map(|row| row.users.map_or(f64::NAN, f64::from)),
        ),
        u64s("opened_connections", "connections", "connections opened", rows().map(|row| row.totals.opened)),
        u64s(
            "closed_connections",
            "connections",
            "connections closed at both ends",
            rows().map(|row| row.totals.closed),
        ),
        u64s("open_connections", "connections", "connections open at the end", rows().map(|row| u64::from(row.open))),
        u64s(
            "open_connections_max",
            "connections",
            "the most of them at once",
            rows().map(|row| u64::from(row.most_open)),
        ),
        u64s("requests", "requests", "requests made", rows().map(|row| row.totals.asked)),
        u64s(
            "exchanges",
            "exchanges",
            "responses that came whole, their request be it from before the window",
            rows().map(|row| row.totals.completed),
        ),
        u64s("request_bytes", "bytes", "bytes of these requests", rows().map(|row| row.totals.bytes[0])),
        u64s("response_bytes", "bytes", "bytes of these responses", rows().map(|row| row.totals.bytes[1])),
        f64s(
            "response_time_mean_ns",
            "ns",
            "mean time from a request, and the opening of its connection if it is the first there, until the last byte \
             of the response",
            rows().map(|row| row.totals.response_time_sum as f64 / row.totals.completed as f64),
        ),
        f64s("response_time_p50_ns", "ns", "its median, to two digits", time(0.5)),
        f64s("response_time_p90_ns", "ns", "its 90th percentile, to two digits", time(0.9)),
        f64s("response_time_p99_ns", "ns", "its 99th percentile, to two digits", time(0.99)),
    ];
    let summary = "One row for each group whose connections come and go, over the measured window.";
    ResultTable { name: "groups", summary, columns }
}

pub(super) fn response_times(outcome: &Outcome) -> ResultTable {
    let rows = || outcome.groups.iter().flat_map(|row| row.totals.grid.iter().map(|cell| (row.group, cell)));
    let columns = vec![
        u64s("group", "", "number of its [[flows]] entry, from 0", rows().map(|(group, _)| u64::from(group))),
        u64s(
            "response_bytes_max",
            "bytes",
            "upper end of the class of response sizes, which it includes: 12, 15, 20, 25, 30, 40, 50, 60, 80, 100 in each \
             power of ten, single bytes to 10",
            rows().map(|(_, (size, ..))| size),
        ),
        f64s(
            "response_time_max_ns",
            "ns",
            "upper end of the class of response times, at most 1/64 above any in it",
            rows().map(|(_, (_, time, _))| time as f64),
        ),
        u64s("exchanges", "exchanges", "exchanges of both classes", rows().map(|(_, (.., cell))| cell.exchanges)),
        u64s("response_bytes", "bytes", "bytes of their responses", rows().map(|(_, (.., cell))| cell.bytes)),
    ];
    ResultTable {
        name: "response_times",
        summary: "One row for each class of response sizes and times in which a group has completed exchanges in the \
                  measured window: their distributions, in little memory.",
        columns,
    }
}

pub(super) fn exchanges(outcome: &Outcome) -> ResultTable {
    let rows = || outcome.exchanges.iter();
    let columns = vec![
        f64s("time_s", "s", "when the request was made", rows().map(|row| row.time.as_secs())),
        u64s("group", "", "number of its [[flows]] entry, from 0", rows().map(|row| u64::from(row.group))),
        u64s("response_bytes", "bytes", "bytes of the response", rows().map(|row| u64::from(row.response))),
        f64s(
            "response_time_ns",
            "ns",
            "from the request until the last byte of the response",
            rows().map(|row| row.response_time.0 as f64),
        ),
    ];
    ResultTable {
        name: "exchanges",
        summary: "One row for each request whose response came in the measured window, in the order of responses; \
                  empty unless run.exchanges is true.",
        columns,
    }
}
