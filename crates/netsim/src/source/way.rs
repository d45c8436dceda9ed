//! How connections that come and go reach the links that all share: over an access link of its own for each connection and
//! direction, at the sending end.

use super::RoundTrip;
use sluicegate_base::{Rate, Span};

/// The ways of a group's connections.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// The rate of each, if it has one.
    pub rate: Option<Rate>,
    /// The base round trips, shared links and all.
    pub round_trip: RoundTrip,
    /// What the shared links take of them.
    pub shared: Span,
}

impl Way {
    /// Ways of one base round trip, without a rate and without shared links that take time.
    #[must_use]
    pub fn fixed(round_trip: Span) -> Way {
        Way { rate: None, round_trip: RoundTrip::Uniform(round_trip, round_trip), shared: Span::ZERO }
    }
}
