//! The clock of a host: its ticks (jiffies), and the wheel of its timers (kernel/time/timer.c).

use sluicegate_base::{Span, Time};

/// A clock, shifted by a phase: each host's own, or one of all hosts of a machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    tick: u32,
    phase: u32,
}

impl Clock {
    /// A clock of this tick, which is `phase` ahead of the simulation's; both are seconds at most.
    pub fn new(tick: Span, phase: Span) -> Clock {
        let ns = |span: Span| u32::try_from(span.0).unwrap_or(u32::MAX);
        Clock { tick: ns(tick).max(1), phase: ns(phase) }
    }

    /// How far it is ahead of the simulation's.
    pub fn phase(self) -> Span {
        Span(self.phase.into())
    }

    /// Ticks in a second (HZ).
    pub fn hz(self) -> u64 {
        u64::from(1_000_000_000 / self.tick).max(1)
    }

    /// Ticks until then (jiffies).
    pub fn ticks(self, now: Time) -> u64 {
        now.0.saturating_add(self.phase.into()) / u64::from(self.tick)
    }

    /// The timestamp of a moment: milliseconds, never zero (tcp_clock_ms). The same clock moves the ticks.
    pub fn stamp(self, now: Time) -> u32 {
        (now.0.saturating_add(self.phase.into()) / 1_000_000) as u32 + 1
    }

    /// How many ticks a time is, rounded up (usecs_to_jiffies).
    pub fn whole(self, span: Span) -> u64 {
        span.0.div_ceil(self.tick.into())
    }

    /// So many ticks as a time.
    pub fn span(self, ticks: u64) -> Span {
        Span(ticks.saturating_mul(self.tick.into()))
    }

    /// When a timer set now for so long expires.
    pub fn timer(self, now: Time, span: Span) -> Time {
        self.expiry(self.ticks(now), self.whole(span).max(1))
    }

    /// When a timer set at this tick for so many expires: at a tick of the wheel after that, as coarse as it is far away.
    pub fn expiry(self, now: u64, ticks: u64) -> Time {
        // Eight times coarser from 63 ticks on, and again at every factor of eight.
        let (mut shift, mut reach) = (0, 63);
        while ticks >= reach && shift < 24 {
            shift += 3;
            reach = 63 << shift;
        }
        let at = (((now + ticks) >> shift) + 1) << shift;
        Time(self.span(at).0.saturating_sub(self.phase.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// kernel/time/timer.c, calc_index: never early, and coarser further ahead.
    #[test]
    fn timers_expire_with_the_wheel() {
        let (clock, ms) = (Clock::new(Span::from_millis(4), Span::ZERO), Span::from_millis);
        let at = |now, span| clock.timer(Time::ZERO + ms(now), ms(span)).since(Time::ZERO);
        assert_eq!((at(0, 40), at(1, 40), at(3, 40)), (ms(44), ms(44), ms(44)));
        assert_eq!(at(0, 248), ms(252), "62 ticks");
        assert_eq!(at(0, 1000), ms(1024), "250 ticks: every eighth");
        assert_eq!(at(10, 3000), ms(3072), "750 ticks: every 64th");
    }

    #[test]
    fn each_host_has_a_phase() {
        let ms = Span::from_millis;
        let clock = Clock::new(ms(4), ms(3));
        assert_eq!(clock.timer(Time::ZERO, ms(40)), Time::ZERO + ms(41));
        assert_eq!((clock.ticks(Time::ZERO), clock.ticks(Time::ZERO + ms(1))), (0, 1));
    }
}
