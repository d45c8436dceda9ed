//! A line: a transmitter with an unlimited first-in-first-out buffer, and a wire with a constant delay and perhaps jitter.
//!
//! Such a buffer loses nothing and keeps the order, so the time at which a packet arrives is known as soon as it enters:
//! a line needs no events of its own. Packets must enter in the order of their times. Access links are lines, and so are
//! ways back that nobody studies.

use crate::jitter::Jitter;
use crate::plan::LinePlan;
use sluicegate_base::{Span, Stream, Time, Transmitter};

/// A line as it runs.
pub struct Line {
    transmitter: Transmitter,
    /// When the transmitter has sent all that has entered.
    free: Time,
    delay: Span,
    jitter: Option<Box<Jitter>>,
}

impl Line {
    /// The line of this plan, idle.
    #[must_use]
    pub fn new(plan: &LinePlan, seed: u64) -> Line {
        let jitter = Jitter::new(plan.jitter, || Stream::new(seed, &format!("link/{}/jitter", plan.name)));
        let transmitter = Transmitter::new(plan.rate);
        Line { transmitter, free: Time::ZERO, delay: plan.delay, jitter: jitter.map(Box::new) }
    }

    /// Its propagation delay, without jitter.
    #[must_use]
    pub fn delay(&self) -> Span {
        self.delay
    }

    /// A packet of so many bytes enters at `time`: when it arrives at the far end.
    #[inline]
    pub fn cross(&mut self, bytes: u32, time: Time) -> Time {
        if self.free < time {
            self.free = time;
            self.transmitter.rest();
        }
        self.free += self.transmitter.send(u64::from(bytes));
        let arrival = self.free + self.delay;
        match &mut self.jitter {
            None => arrival,
            Some(jitter) => jitter.delay(arrival),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluicegate_base::Rate;

    #[test]
    fn packets_wait_for_those_before_and_then_travel() {
        let (rate, delay, jitter) = (Rate(8_000_000), Span::from_millis(5), Span::ZERO);
        let mut line = Line::new(&LinePlan { name: "line".into(), rate, delay, jitter }, 1);
        let ms = |time: f64| Time((time * 1e6) as u64);
        // A packet of 1000 bytes takes 1 ms.
        assert_eq!(line.cross(1000, ms(0.0)), ms(6.0));
        assert_eq!(line.cross(1000, ms(0.25)), ms(7.0), "it waits for the first");
        assert_eq!(line.cross(500, ms(2.0)), ms(7.5), "the transmitter has just fallen free");
        assert_eq!(line.cross(1000, ms(10.0)), ms(16.0), "an idle line");
    }
}
