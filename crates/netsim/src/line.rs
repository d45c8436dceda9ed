//! A line: a transmitter with an unlimited first-in-first-out buffer, and a wire with a constant delay and perhaps jitter.
//!
//! Such a buffer loses nothing and keeps the order, so the time at which a packet arrives is known as soon as it enters:
//! a line needs no events of its own. Packets must enter in the order of their times. Access links are lines, and so are
//! ways back that nobody studies. Who watches a line sees each packet as it enters, with the time when its last bit will be
//! out: watching changes nothing.

use crate::jitter::Jitter;
use crate::link::Observer;
use crate::packet::SimPacket;
use crate::plan::LinePlan;
use sluicegate_base::{Span, Stream, Time, Transmitter};

/// A line as it runs.
pub struct Line {
    transmitter: Transmitter,
    /// When the transmitter has sent all that has entered.
    free: Time,
    delay: Span,
    jitter: Option<Box<Jitter>>,
    /// Who looks at what it sends; boxed once more, because few lines have one and all are to be small.
    observer: Option<Box<Observer>>,
}

impl Line {
    /// The line of this plan, idle.
    #[must_use]
    pub fn new(plan: &LinePlan, seed: u64) -> Line {
        let jitter = Jitter::new(plan.jitter, || Stream::new(seed, &format!("link/{}/jitter", plan.name)));
        let transmitter = Transmitter::new(plan.rate);
        Line { transmitter, free: Time::ZERO, delay: plan.delay, jitter: jitter.map(Box::new), observer: None }
    }

    /// Lets `observer` see what it sends.
    pub fn observe(&mut self, observer: Observer) {
        self.observer = Some(Box::new(observer));
    }

    /// A packet enters at `time`: when it arrives at the far end.
    #[inline]
    pub fn cross(&mut self, packet: &SimPacket, time: Time) -> Time {
        if self.free < time {
            self.free = time;
            self.transmitter.rest();
        }
        self.free += self.transmitter.send(u64::from(packet.bytes));
        if let Some(observer) = &mut self.observer {
            observer(self.free, packet);
        }
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
    use std::sync::mpsc::channel;

    fn packet(bytes: u32) -> SimPacket {
        SimPacket { bytes, ..SimPacket::default() }
    }

    #[test]
    fn packets_wait_for_those_before_and_then_travel() {
        let (rate, delay, jitter) = (Rate(8_000_000), Span::from_millis(5), Span::ZERO);
        let mut line = Line::new(&LinePlan { name: "line".into(), rate, delay, jitter }, 1);
        let ms = |time: f64| Time((time * 1e6) as u64);
        let (seen, sees) = channel();
        line.observe(Box::new(move |time, packet| seen.send((time, packet.bytes)).unwrap()));
        // A packet of 1000 bytes takes 1 ms.
        assert_eq!(line.cross(&packet(1000), ms(0.0)), ms(6.0));
        assert_eq!(line.cross(&packet(1000), ms(0.25)), ms(7.0), "it waits for the first");
        assert_eq!(line.cross(&packet(500), ms(2.0)), ms(7.5), "the transmitter has just fallen free");
        assert_eq!(line.cross(&packet(1000), ms(10.0)), ms(16.0), "an idle line");
        let sent: Vec<(Time, u32)> = sees.try_iter().collect();
        assert_eq!(sent, [(ms(1.0), 1000), (ms(2.0), 1000), (ms(2.5), 500), (ms(11.0), 1000)], "its last bits");
    }
}
