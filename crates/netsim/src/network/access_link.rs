//! The access link of a connection that comes and goes: its own way to the links that all share, in one direction.

use crate::source::Way;
use sluicegate_base::{Span, Time, Transmitter};

/// One direction of one connection's way.
#[derive(Clone, Debug)]
pub struct AccessLink {
    transmitter: Option<Transmitter>,
    free: Time,
    /// Its propagation delay.
    pub delay: Span,
}

impl AccessLink {
    /// The way of a connection with this base round trip, idle: half of what the shared links leave.
    pub fn new(way: &Way, round_trip: Span) -> AccessLink {
        let delay = Span((round_trip - way.shared).0 / 2);
        AccessLink { transmitter: way.rate.map(Transmitter::new), free: Time::ZERO, delay }
    }

    /// Whether a packet that enters at `time` has to wait.
    pub fn is_busy(&self, time: Time) -> bool {
        self.free > time
    }

    /// A packet enters at `time`: when it reaches the first shared link. Packets keep their order.
    pub fn cross(&mut self, bytes: u32, time: Time) -> Time {
        let Some(transmitter) = &mut self.transmitter else { return time + self.delay };
        if self.free < time {
            self.free = time;
            transmitter.rest();
        }
        self.free += transmitter.send(u64::from(bytes));
        self.free + self.delay
    }
}
