//! Requests and their responses, as they are counted.

use crate::probe::Delays;
use sluicegate_base::{Span, Time};

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
    pub(crate) fn push(&mut self, row: ExchangeRow) {
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
    pub response_times: Option<Box<Delays>>,
    /// Their sum in nanoseconds.
    pub response_time_sum: u128,
}

impl GroupTotals {
    pub(crate) fn complete(&mut self, request: u64, response: u64, response_time: Span) {
        self.completed += 1;
        self.bytes[0] += request;
        self.bytes[1] += response;
        self.response_time_sum += u128::from(response_time.0);
        self.response_times.get_or_insert_default().record(response_time.0);
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
