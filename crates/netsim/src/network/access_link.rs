//! The access link of a connection that comes and goes: its own way to the links that all share, in one direction.

use crate::network::delay_line::{DelayLine, Kind};
use crate::source::Way;
use sluicegate_base::{Span, Time};

/// One direction of one connection's way.
pub struct AccessLink {
    /// With a rate.
    line: Option<(DelayLine, Kind)>,
    /// Its propagation delay.
    pub delay: Span,
}

impl AccessLink {
    /// The way of a connection with this base round trip, idle: half of what the shared links leave.
    pub fn new(way: &Way, round_trip: Span) -> AccessLink {
        let delay = Span((round_trip - way.shared).0 / 2);
        AccessLink { line: way.rate.map(|rate| (DelayLine::default(), Kind::new(rate, delay))), delay }
    }

    /// A packet enters at `time`: when it reaches the first shared link, and whether it has waited. Packets keep their order.
    pub fn cross(&mut self, bytes: u32, time: Time) -> (Time, bool) {
        let Some((line, kind)) = &mut self.line else { return (time + self.delay, false) };
        let waits = line.is_busy(time);
        (line.cross(kind, bytes, time), waits)
    }
}
