//! A delay line: a transmitter with an unlimited first-in-first-out buffer, and a wire with a constant delay and perhaps jitter.
//!
//! Such a buffer loses nothing and keeps the order, so the time at which a packet arrives is known as soon as it enters:
//! a line needs no events of its own. Packets must enter in the order of their times. Access links are lines, and so are
//! ways back that nobody studies. Who observes a line sees each packet as it enters, with the time when its last bit will be
//! out: observing changes nothing.

use crate::network::Observer;
use crate::network::packet::{Segments, SimPacket};
use crate::plan::LinePlan;
use sluicegate_base::units::SendTime;
use sluicegate_base::{Rate, Span, Stream, Time};
use sluicegate_port::jitter::Jitter;

/// A line as it runs. With many flows there are many lines, each used once in a while: what is one line's own is small.
#[derive(Default)]
pub struct DelayLine {
    /// When the transmitter has sent all that has entered, and what whole nanoseconds have left over of that.
    free: Time,
    remainder: u64,
}

/// What few lines have: they delay packets by chance, or are observed.
#[derive(Default)]
pub struct Extras {
    jitter: Option<Jitter>,
    /// Who look at what it sends.
    observers: Vec<Observer>,
}

/// What lines of one rate and delay have in common.
pub struct Kind {
    sending: SendTime,
    delay: Span,
}

impl Kind {
    /// That of lines of this rate and propagation delay.
    #[must_use]
    pub fn new(rate: Rate, delay: Span) -> Kind {
        Kind { sending: SendTime::new(rate), delay }
    }

    /// The propagation delay.
    #[must_use]
    pub fn delay(&self) -> Span {
        self.delay
    }
}

impl DelayLine {
    /// When it has sent all that has entered.
    #[must_use]
    pub fn free(&self) -> Time {
        self.free
    }

    /// Whether a packet that enters at `time` has to wait.
    #[inline(always)]
    #[must_use]
    pub fn is_busy(&self, time: Time) -> bool {
        self.free > time || (self.free == time && self.remainder > 0)
    }

    /// A packet of so many bytes enters at `time`: when it arrives at the far end of this line, which is of that kind.
    #[inline(always)]
    pub fn cross(&mut self, kind: &mut Kind, bytes: u32, time: Time) -> Time {
        let (start, left) = if self.free < time { (time, 0) } else { (self.free, self.remainder) };
        let (time, left) = kind.sending.after(left, bytes.into());
        self.remainder = left;
        self.free = start + time;
        self.free + kind.delay
    }
}

impl Extras {
    /// Those of the line of this plan, if it has any.
    #[must_use]
    pub fn new(plan: &LinePlan, seed: u64) -> Option<Extras> {
        let jitter = Jitter::new(plan.jitter, || Stream::new(seed, &format!("link/{:#}/jitter", plan.name)));
        jitter.map(|jitter| Extras { jitter: Some(jitter), observers: Vec::new() })
    }

    /// Whether it delays packets by chance.
    #[must_use]
    pub fn has_jitter(&self) -> bool {
        self.jitter.is_some()
    }

    /// Lets `observer` see what the line sends.
    pub fn observe(&mut self, observer: Observer) {
        self.observers.push(observer);
    }

    /// A packet, whose segment is in that place, has been sent at `sent` and would arrive at `arrival`: when it does.
    #[cold]
    pub fn pass(&mut self, packet: &SimPacket, segment: (&Segments, u32), sent: Time, arrival: Time) -> Time {
        let (segments, place) = segment;
        for observer in &mut self.observers {
            observer(sent, packet, &segments.copy(place, &packet.segment));
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
        let plan = LinePlan { name: "line".to_owned().into(), rate, delay, jitter };
        let (mut line, mut kind) = (DelayLine::default(), Kind::new(plan.rate, plan.delay));
        let ms = |time: f64| Time((time * 1e6) as u64);
        let (seen, sees) = channel();
        let mut extras = Extras::default();
        extras.observe(Box::new(move |time, packet, _| seen.send((time, packet.bytes)).unwrap()));
        let none = Segments::default();
        let mut cross = |bytes, time| {
            let arrival = line.cross(&mut kind, bytes, ms(time));
            extras.pass(&packet(bytes), (&none, 0), line.free(), arrival)
        };
        // A packet of 1000 bytes takes 1 ms.
        assert_eq!(cross(1000, 0.0), ms(6.0));
        assert_eq!(cross(1000, 0.25), ms(7.0), "it waits for the first");
        assert_eq!(cross(500, 2.0), ms(7.5), "the transmitter has just fallen free");
        assert_eq!(cross(1000, 10.0), ms(16.0), "an idle line");
        let sent: Vec<(Time, u32)> = sees.try_iter().collect();
        assert_eq!(sent, [(ms(1.0), 1000), (ms(2.0), 1000), (ms(2.5), 500), (ms(11.0), 1000)], "its last bits");
    }

    /// 1000 B at 3 Gbit/s take 2666 2/3 ns.
    #[test]
    fn what_whole_nanoseconds_leave_over_goes_to_the_next_packet() {
        let (rate, delay, jitter) = (Rate(3_000_000_000), Span::ZERO, Span::ZERO);
        let plan = LinePlan { name: "line".to_owned().into(), rate, delay, jitter };
        let (mut line, mut kind) = (DelayLine::default(), Kind::new(plan.rate, plan.delay));
        let times: Vec<u64> = (0..7).map(|_| line.cross(&mut kind, 1000, Time::ZERO).0).collect();
        assert_eq!(times, [2666, 5333, 8000, 10_666, 13_333, 16_000, 18_666]);
        assert_eq!(line.cross(&mut kind, 1000, Time(20_000)).0, 22_666, "an idle line begins anew");
    }
}
