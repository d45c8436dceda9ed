//! The way of pooled connections to the links that all share: a link of its own for each connection and direction, at
//! the sending end.

use super::RoundTrip;
use sluicegate_base::{Rate, Span, Time, Transmitter};

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

/// One direction of one connection's way.
#[derive(Clone, Debug)]
pub(crate) struct Mile {
    transmitter: Option<Transmitter>,
    free: Time,
    pub(crate) delay: Span,
}

impl Mile {
    /// The way of a connection with this base round trip, idle: half of what the shared links leave.
    pub(crate) fn new(way: &Way, round_trip: Span) -> Mile {
        let delay = Span((round_trip - way.shared).0 / 2);
        Mile { transmitter: way.rate.map(Transmitter::new), free: Time::ZERO, delay }
    }

    /// A packet enters at `time`: when it reaches the first shared link. Packets keep their order.
    pub(crate) fn cross(&mut self, bytes: u32, time: Time) -> Time {
        let Some(transmitter) = &mut self.transmitter else { return time + self.delay };
        if self.free < time {
            self.free = time;
            transmitter.rest();
        }
        self.free += transmitter.send(u64::from(bytes));
        self.free + self.delay
    }
}
