//! A sampling clock: the instants at multiples of a period, at which a discipline acts on its own.
//!
//! A discipline asks for no more wake-ups ([`Discipline::next_wakeup`] is then `None`) while its state does not change, or
//! changes by the same amount at each instant. At the next packet [`skip_missed`](PeriodicTimer::skip_missed) skips the instants that it
//! missed, in one step however many they are. While it asks for wake-ups it misses none: it is woken at each
//! instant, before any other call at that time (see [`Discipline`](crate::Discipline), the order of calls).
//!
//! [`Discipline::next_wakeup`]: crate::Discipline::next_wakeup

use sluicegate_base::{Span, Time};

/// A sampling clock.
#[derive(Clone, Debug)]
pub struct PeriodicTimer {
    period: Span,
    due: Time,
}

impl PeriodicTimer {
    /// A clock with this period, of one nanosecond at least; the first instant is a period after the start.
    #[must_use]
    pub fn new(period: Span) -> PeriodicTimer {
        let period = Span(period.0.max(1));
        PeriodicTimer { period, due: Time::ZERO + period }
    }

    /// The next instant.
    #[must_use]
    pub fn due(&self) -> Time {
        self.due
    }

    /// The time from one instant to the next.
    #[must_use]
    pub fn period(&self) -> Span {
        self.period
    }

    /// Another period: the next instant is so long from now. The same period changes nothing.
    pub fn set_period(&mut self, now: Time, period: Span) {
        if Span(period.0.max(1)) != self.period {
            self.restart(now, period);
        }
    }

    /// From now on this is the period, of one nanosecond at least.
    pub fn restart(&mut self, now: Time, period: Span) {
        self.period = Span(period.0.max(1));
        self.due = now + self.period;
    }

    /// Whether an instant has come; the one after it is then the next.
    #[inline]
    pub fn tick(&mut self, now: Time) -> bool {
        let come = now >= self.due;
        if come {
            self.due += self.period;
        }
        come
    }

    /// Skips the instants that have come; returns how many.
    #[inline]
    pub fn skip_missed(&mut self, now: Time) -> u64 {
        if now < self.due {
            return 0;
        }
        let passed = now.since(self.due).0 / self.period.0 + 1;
        self.due += Span(passed.saturating_mul(self.period.0));
        passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_multiples_of_the_period() {
        let mut ticks = PeriodicTimer::new(Span(10));
        assert!(!ticks.tick(Time(9)) && ticks.tick(Time(10)) && !ticks.tick(Time(19)));
        assert_eq!((ticks.skip_missed(Time(19)), ticks.skip_missed(Time(20)), ticks.due()), (0, 1, Time(30)));
        assert_eq!((ticks.skip_missed(Time(59)), ticks.due()), (3, Time(60)));
        assert!(ticks.tick(Time(75)) && ticks.tick(Time(75)) && !ticks.tick(Time(75)), "late, and one after the other");
    }
}
