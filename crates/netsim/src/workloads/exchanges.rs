//! Requests and their responses, as they are counted.

use sluicegate_base::{Span, Time};
use sluicegate_port::DelayHistogram;
use std::collections::BTreeMap;

/// A request with its response, once that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExchangeRow {
    /// When the request was made.
    pub time: Time,
    /// From then until the last byte of the response.
    pub response_time: Span,
    /// Bytes of the response.
    pub response: u32,
    /// The index of its group's entry in the scenario.
    pub group: u32,
}

/// How many rows one piece of the list holds: it grows by pieces and is never moved.
const PIECE: usize = 1 << 16;

/// A long list of exchanges.
#[derive(Clone, Debug, Default)]
pub struct Exchanges(Vec<Vec<ExchangeRow>>);

impl Exchanges {
    /// Adds one.
    pub fn push(&mut self, row: ExchangeRow) {
        match self.0.last_mut() {
            Some(piece) if piece.len() < PIECE => piece.push(row),
            _ => {
                let mut piece = Vec::with_capacity(PIECE);
                piece.push(row);
                self.0.push(piece);
            }
        }
    }

    /// All of them, in the order in which they were completed.
    pub fn iter(&self) -> impl Iterator<Item = &ExchangeRow> + '_ {
        self.0.iter().flatten()
    }
}

/// The upper ends of classes of sizes, in each power of ten.
const SIZES: [u64; 10] = [12, 15, 20, 25, 30, 40, 50, 60, 80, 100];

/// Classes of times for each doubling, as a power of two.
const TIMES: u32 = 6;

/// How many exchanges there are of each class of sizes and times: small, however many they are.
#[derive(Clone, Debug, Default)]
pub struct Grid(BTreeMap<(u64, u64), Cell>);

/// The exchanges of one class, and the bytes of their responses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Cell {
    pub exchanges: u64,
    pub bytes: u64,
}

impl Grid {
    fn add(&mut self, response: u64, response_time: Span) {
        let cell = self.0.entry((size_class(response), time_class(response_time.0))).or_default();
        cell.exchanges += 1;
        cell.bytes += response;
    }

    /// The classes that are not empty, in order: the most bytes and the most nanoseconds of each.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64, Cell)> + '_ {
        self.0.iter().map(|(&(size, time), &cell)| (size, time, cell))
    }
}

/// The upper end of the class of a size: 1 to 10, then 12, 15, 20 and so on to 100, and again in each power of ten.
fn size_class(bytes: u64) -> u64 {
    let mut unit = 1;
    while bytes > 100 * unit {
        unit *= 10;
    }
    if bytes <= 10 { bytes } else { unit * SIZES.iter().find(|end| bytes <= *end * unit).expect("not above the last") }
}

/// The upper end of the class of a time: at most 1/64 above what it holds.
fn time_class(nanoseconds: u64) -> u64 {
    let shift = (64 - nanoseconds.leading_zeros()).saturating_sub(TIMES + 1);
    nanoseconds | ((1 << shift) - 1)
}

/// What a group of connections that come and go has counted since the measured window began (before that, since the
/// start).
#[derive(Clone, Debug, Default)]
pub struct GroupTotals {
    /// Connections opened.
    pub opened: u64,
    /// Connections closed at both ends.
    pub closed: u64,
    /// Requests made.
    pub asked: u64,
    /// Requests whose response has come.
    pub completed: u64,
    /// Bytes of those requests and responses.
    pub bytes: [u64; 2],
    /// Response times, from the first on.
    pub response_times: Option<Box<DelayHistogram>>,
    /// Their sum in nanoseconds.
    pub response_time_sum: u128,
    /// How sizes and times are distributed together.
    pub grid: Grid,
}

impl GroupTotals {
    /// A request of so many bytes has had its response.
    pub fn complete(&mut self, request: u64, response: u64, response_time: Span) {
        self.completed += 1;
        self.bytes[0] += request;
        self.bytes[1] += response;
        self.response_time_sum += u128::from(response_time.0);
        self.grid.add(response, response_time);
        self.response_times.get_or_insert_default().record(response_time.0);
    }

    /// Counts what another group has counted as well.
    pub fn add(&mut self, other: &GroupTotals) {
        self.opened += other.opened;
        self.closed += other.closed;
        self.asked += other.asked;
        self.completed += other.completed;
        (0..2).for_each(|way| self.bytes[way] += other.bytes[way]);
        if let Some(times) = &other.response_times {
            self.response_times.get_or_insert_default().merge(times);
        }
        self.response_time_sum += other.response_time_sum;
        for (classes, cell) in &other.grid.0 {
            let sum = self.grid.0.entry(*classes).or_default();
            sum.exchanges += cell.exchanges;
            sum.bytes += cell.bytes;
        }
    }
}

/// A group of connections that come and go, over the measured window.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct GroupRow {
    /// The index of its entry in the scenario.
    pub group: u32,
    pub kind: &'static str,
    /// Users, or none for connections that come by themselves.
    pub users: Option<u32>,
    /// Connections open at the end, and the most at once since the window began.
    pub open: u32,
    pub most_open: u32,
    pub totals: GroupTotals,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_end_at_or_above_what_they_hold() {
        let sizes =
            [(1, 1), (10, 10), (11, 12), (100, 100), (101, 120), (3000, 3000), (3001, 4000), (100_000, 100_000)];
        for (bytes, end) in sizes {
            assert_eq!(size_class(bytes), end);
        }
        assert_eq!(size_class(u64::from(u32::MAX)), 5_000_000_000);
        for time in [0, 1, 127, 128, 129, 1_000_000, 2_000_000_007, u64::MAX / 3] {
            let end = time_class(time);
            assert!(end >= time && end - time <= time / 64, "{time}: {end}");
            assert_eq!(time_class(end), end);
            assert!(time_class(end + 1) > end);
        }
    }

    #[test]
    fn a_grid_loses_nothing_and_a_long_list_keeps_its_order() {
        let (mut grid, mut list) = (Grid::default(), Exchanges::default());
        let row = |at: u64| ExchangeRow { time: Time(at), response_time: Span(at * at), response: at as u32, group: 0 };
        for at in 0..150_000 {
            grid.add(at, Span(at * at));
            list.push(row(at));
        }
        assert_eq!(grid.iter().map(|(.., cell)| cell.exchanges).sum::<u64>(), 150_000);
        assert_eq!(grid.iter().map(|(.., cell)| cell.bytes).sum::<u64>(), (0..150_000).sum::<u64>());
        let below = grid.iter().filter(|(size, ..)| *size <= 10_000).map(|(.., cell)| cell.exchanges).sum::<u64>();
        assert_eq!(below, 10_001, "classes end at powers of ten");
        assert!(list.iter().copied().eq((0..150_000).map(row)));
    }
}
