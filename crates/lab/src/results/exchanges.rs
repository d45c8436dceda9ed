//! The tables of users and connections that come and go: response times and single exchanges.

use super::{Named, ResultTable, f64s, strs, u64s};

pub(super) fn response_times(named: Named<'_>) -> ResultTable {
    let groups = || named.outcome.groups.iter();
    let rows = || groups().flat_map(|row| row.totals.grid.iter().map(|cell| (row.group, cell)));
    let names = groups().flat_map(|row| row.totals.grid.iter().map(|_| named.group(row.group, row.kind)));
    let columns = vec![
        u64s("group", "", "number of its [[flows]] entry, from 0", rows().map(|(group, _)| u64::from(group))),
        strs("name", "name of the group", names),
        u64s(
            "response_bytes_max",
            "bytes",
            "upper end of the bin of response sizes, inclusive. Up to 10 bytes each size has its own bin; then the ends \
             are 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, and so on in each power of ten",
            rows().map(|(_, (size, ..))| size),
        ),
        f64s(
            "response_time_max_ns",
            "ns",
            "upper end of the bin of response times, at most 1/64 above any time in it",
            rows().map(|(_, (_, time, _))| time as f64),
        ),
        u64s(
            "exchanges",
            "exchanges",
            "exchanges in this size bin and this time bin",
            rows().map(|(_, (.., cell))| cell.exchanges),
        ),
        u64s("response_bytes", "bytes", "bytes of their responses", rows().map(|(_, (.., cell))| cell.bytes)),
    ];
    ResultTable {
        name: "response_times",
        summary: "The joint distribution of response sizes and times: one row for each group, size bin and time \
                  bin with exchanges completed in the measured window.",
        columns,
    }
}

pub(super) fn exchanges(named: Named<'_>) -> ResultTable {
    let rows = || named.outcome.exchanges.iter();
    let kind = |group| named.outcome.groups.iter().find(|row| row.group == group).map_or("", |row| row.kind);
    let columns = vec![
        f64s("time_s", "s", "when the request was made", rows().map(|row| row.time.as_secs())),
        u64s("group", "", "number of its [[flows]] entry, from 0", rows().map(|row| u64::from(row.group))),
        strs("name", "name of the group", rows().map(|row| named.group(row.group, kind(row.group)))),
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
