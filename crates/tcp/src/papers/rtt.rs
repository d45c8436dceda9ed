//! The round-trip estimate and the retransmission timeout (RFC 6298), counted in clock ticks as BSD and ns-2 count.
//!
//! The smoothed round trip is kept in eighths of a tick and its variation in quarters. A sample is a whole number of ticks:
//! those that pass while the segment is under way, on a clock with its own phase.

use crate::host::RtoConfig;
use alloc::sync::Arc;
use sluicegate_base::{Span, Time};

/// Round trips of more ticks count as so many: sums of them stay within 32 bits.
const LONGEST: u64 = 1 << 28;

/// The estimate of one connection.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Rtt {
    /// The timeout that follows from what is below.
    timeout: Span,
    config: Arc<RtoConfig>,
    /// Where the connection's clock stands at time zero, within a tick.
    phase: Span,
    /// Smoothed round trip, in eighths of a tick; 0 before the first sample.
    srtt: u32,
    /// Its mean deviation, in quarters of a tick.
    rttvar: u32,
    /// The timeout that the estimate gives, before bounds and back-off.
    current: Span,
    backoff: u64,
}

impl Rtt {
    /// No sample yet. `phase` shifts the connection's clock.
    #[must_use]
    pub fn new(config: Arc<RtoConfig>, phase: Span) -> Rtt {
        let (current, timeout) = (config.initial, Span::ZERO);
        let mut rtt = Rtt { config, phase, srtt: 0, rttvar: 0, current, backoff: 1, timeout };
        rtt.update();
        rtt
    }

    /// A segment sent at `sent`, once only, has been acknowledged. The back-off stays.
    #[inline(always)]
    pub fn sample(&mut self, sent: Time, now: Time) {
        let tick = self.config.tick.0;
        let into_tick = (sent.0 + self.phase.0) % tick;
        let rtt = ((now.since(sent).0 + into_tick) / tick).clamp(1, LONGEST) as u32;
        if self.srtt == 0 {
            self.srtt = rtt << 3;
            self.rttvar = rtt << 1;
        } else {
            let delta = rtt as i32 - (self.srtt >> 3) as i32;
            self.srtt = self.srtt.saturating_add_signed(delta).max(1);
            let change = delta.abs() - (self.rttvar >> 2) as i32;
            self.rttvar = self.rttvar.saturating_add_signed(change).max(1);
        }
        self.current = Span((u64::from(self.rttvar) + u64::from(self.srtt >> 3)) * tick);
        self.update();
    }

    /// The timeout now: bounded below, backed off, bounded above, and at least two ticks.
    #[must_use]
    #[inline]
    pub fn timeout(&self) -> Span {
        self.timeout
    }

    fn update(&mut self) {
        let timeout = Span(self.current.max(self.config.min).0.saturating_mul(self.backoff));
        self.timeout = timeout.min(self.config.max).max(Span(2 * self.config.tick.0));
    }

    /// The smoothed round trip; zero before the first sample.
    #[must_use]
    #[inline]
    pub fn srtt(&self) -> Span {
        Span(u64::from(self.srtt >> 3).saturating_mul(self.config.tick.0))
    }

    /// What was sent after a timeout got through.
    pub fn end_back_off(&mut self) {
        if self.backoff > 1 {
            self.backoff = 1;
            self.update();
        }
    }

    /// The SYN or SYN-ACK had to be repeated and gave no sample: whoever began with less waits 3 s for the first data
    /// (RFC 6298, rule 5.7).
    pub fn fall_back(&mut self) {
        const FALLBACK: Span = Span::from_secs(3);
        if self.config.initial < FALLBACK {
            self.current = FALLBACK;
            self.backoff = 1;
            self.update();
        }
    }

    /// The opening was sent this many times and not answered: after the first few the next wait is longer.
    pub fn back_off_opening(&mut self, tries: u64) {
        if tries > self.config.syn_linear {
            self.back_off();
        }
    }

    /// The timer has expired: the next timeout is twice as long. Far backed off, the old estimate is given up.
    pub fn back_off(&mut self) {
        if self.backoff < 64 || self.timeout() < self.config.max {
            self.backoff <<= 1;
            self.update();
        }
        if self.backoff > 8 {
            self.rttvar += self.srtt >> 3;
            self.srtt = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: RtoConfig = RtoConfig {
        tick: Span::from_millis(10),
        phase: None,
        min: Span::from_millis(200),
        max: Span::from_secs(60),
        initial: Span::from_secs(3),
        syn_linear: 0,
    };

    fn ms(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    #[test]
    fn follows_the_arithmetic_of_bsd_by_hand() {
        let mut rtt = Rtt::new(Arc::new(CONFIG), Span::ZERO);
        assert_eq!(rtt.timeout(), Span::from_secs(3));
        // 105 ms from a tick on: 10 ticks. srtt = 10 (80/8), rttvar = 5 (20/4), timeout = (20·8 + 80)/8 = 30 ticks.
        rtt.sample(ms(0), ms(105));
        assert_eq!((rtt.srtt, rtt.rttvar, rtt.timeout()), (80, 20, Span::from_millis(300)));
        // 185 ms: 18 ticks. delta = 8: srtt = 88; |8| − 5 = 3: rttvar = 23; (23·8 + 88)/8 = 34 ticks.
        rtt.sample(ms(200), ms(385));
        assert_eq!((rtt.srtt, rtt.rttvar, rtt.timeout()), (88, 23, Span::from_millis(340)));
        // 4 ticks: delta = 4 − 11 = −7: srtt = 81; 7 − 5 = 2: rttvar = 25; (200 + 81)/8 = 35 ticks.
        rtt.sample(ms(400), ms(440));
        assert_eq!((rtt.srtt, rtt.rttvar, rtt.timeout()), (81, 25, Span::from_millis(350)));
    }

    #[test]
    fn a_short_first_timeout_becomes_three_seconds_after_a_lost_syn() {
        for (initial, after) in [(1, 3), (2, 3), (3, 6)] {
            let mut rtt = Rtt::new(Arc::new(RtoConfig { initial: Span::from_secs(initial), ..CONFIG }), Span::ZERO);
            rtt.back_off();
            rtt.fall_back();
            assert_eq!(rtt.timeout(), Span::from_secs(after), "{initial}");
        }
    }

    #[test]
    fn the_phase_of_the_clock_can_add_a_tick() {
        let sample = |phase| {
            let mut rtt = Rtt::new(Arc::new(CONFIG), Span::from_millis(phase));
            rtt.sample(ms(0), ms(105));
            rtt.srtt >> 3
        };
        assert_eq!((sample(4), sample(5)), (10, 11));
    }

    #[test]
    fn backs_off_by_doubling_to_the_maximum() {
        let mut rtt = Rtt::new(Arc::new(CONFIG), Span::ZERO);
        rtt.sample(ms(0), ms(10));
        let timeouts: [u64; 11] = core::array::from_fn(|_| {
            let timeout = rtt.timeout().0 / 1_000_000;
            rtt.back_off();
            timeout
        });
        assert_eq!(timeouts, [200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 51_200, 60_000, 60_000]);
        // The next sample starts a new estimate, because the old one was given up.
        rtt.sample(ms(0), ms(105));
        rtt.end_back_off();
        assert_eq!((rtt.srtt, rtt.timeout()), (80, Span::from_millis(300)));
    }
}
