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
use sluicegate_base::{Rate, Span, Stream, Time};

/// A line as it runs. With many flows there are many lines, each used once in a while: what is one line's own is small.
#[derive(Default)]
pub struct Line {
    /// When the transmitter has sent all that has entered, and what whole nanoseconds have left over of that.
    free: Time,
    remainder: u64,
    more: Option<Box<More>>,
}

/// What few lines have.
#[derive(Default)]
struct More {
    jitter: Option<Jitter>,
    /// Who looks at what it sends.
    observer: Option<Observer>,
}

/// What lines of one rate and delay have in common.
pub struct Kind {
    rate: Rate,
    delay: Span,
}

impl Kind {
    /// That of the line of this plan.
    #[must_use]
    pub fn new(plan: &LinePlan) -> Kind {
        Kind { rate: plan.rate, delay: plan.delay }
    }
}

impl Line {
    /// The line of this plan, idle.
    #[must_use]
    pub fn new(plan: &LinePlan, seed: u64) -> Line {
        let jitter = Jitter::new(plan.jitter, || Stream::new(seed, &format!("link/{}/jitter", plan.name)));
        let more = jitter.map(|jitter| Box::new(More { jitter: Some(jitter), observer: None }));
        Line { more, ..Line::default() }
    }

    /// Lets `observer` see what it sends.
    pub fn observe(&mut self, observer: Observer) {
        self.more.get_or_insert_default().observer = Some(observer);
    }

    /// A packet enters at `time`: when it arrives at the far end of this line, which is of that kind.
    #[inline]
    pub fn cross(&mut self, kind: &Kind, packet: &SimPacket, time: Time) -> Time {
        if self.free < time {
            (self.free, self.remainder) = (time, 0);
        }
        self.free += kind.rate.time_to_send(u64::from(packet.bytes), &mut self.remainder);
        let arrival = self.free + kind.delay;
        match &mut self.more {
            None => arrival,
            Some(more) => more.see(packet, self.free, arrival),
        }
    }
}

impl More {
    /// A packet has been sent at `sent` and would arrive at `arrival`: when it does.
    fn see(&mut self, packet: &SimPacket, sent: Time, arrival: Time) -> Time {
        if let Some(observer) = &mut self.observer {
            observer(sent, packet);
        }
        self.jitter.as_mut().map_or(arrival, |jitter| jitter.delay(arrival))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    fn packet(bytes: u32) -> SimPacket {
        SimPacket { bytes, ..SimPacket::default() }
    }

    #[test]
    fn packets_wait_for_those_before_and_then_travel() {
        let (rate, delay, jitter) = (Rate(8_000_000), Span::from_millis(5), Span::ZERO);
        let plan = LinePlan { name: "line".into(), rate, delay, jitter };
        let (mut line, kind) = (Line::new(&plan, 1), Kind::new(&plan));
        let ms = |time: f64| Time((time * 1e6) as u64);
        let (seen, sees) = channel();
        line.observe(Box::new(move |time, packet| seen.send((time, packet.bytes)).unwrap()));
        // A packet of 1000 bytes takes 1 ms.
        assert_eq!(line.cross(&kind, &packet(1000), ms(0.0)), ms(6.0));
        assert_eq!(line.cross(&kind, &packet(1000), ms(0.25)), ms(7.0), "it waits for the first");
        assert_eq!(line.cross(&kind, &packet(500), ms(2.0)), ms(7.5), "the transmitter has just fallen free");
        assert_eq!(line.cross(&kind, &packet(1000), ms(10.0)), ms(16.0), "an idle line");
        let sent: Vec<(Time, u32)> = sees.try_iter().collect();
        assert_eq!(sent, [(ms(1.0), 1000), (ms(2.0), 1000), (ms(2.5), 500), (ms(11.0), 1000)], "its last bits");
    }
}
