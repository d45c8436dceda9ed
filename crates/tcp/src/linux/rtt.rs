//! The round trip and the retransmission timeout as Linux estimates them (tcp_rtt_estimator, tcp_set_rto), and the least round
//! trip of the last 300 s (win_minmax.c).
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | RFC 6298, eq. 2.3: the timeout is SRTT + max(G, 4·RTTVAR), at least 1 s | SRTT + 4 times the largest mean deviation of the last windows; this product is at least 200 ms | Linux: the minimum holds for the product and not for the sum, so that a timeout comes a round trip later |
//! | RFC 6298, eq. 2.3: the deviation moves by a quarter | by an eighth of a quarter where the round trip falls | Linux: a fall of the round trip is no reason to wait longer |
//! | RFC 6298, Sec. 4: some granularity | timers expire with the tick after their time, and those far ahead with every eighth, 64th, … tick | Linux, kernel/time/timer.c: the wheel |

use super::cc::Window;
use super::clock::Clock;
use crate::host::RtoConfig;
use alloc::boxed::Box;
use alloc::sync::Arc;
use sluicegate_base::{Span, Time};

/// For how long a least round trip is the least (net.ipv4.tcp_min_rtt_wlen, 300 s).
const MIN_RTT_WINDOW: Span = Span::from_millis(300_000);

/// One microsecond; Linux's unit of round trips. Those that take longer than this many count as long.
const US: u64 = 1_000;
const LONGEST: u64 = 1 << 28;

/// A round trip as the estimate has it.
pub(super) fn whole_us(rtt: Span) -> Span {
    Span(rtt.0 / US * US)
}

/// Twice this timeout, if it may be that long.
pub(super) fn doubled(timeout: Span, max: Span) -> Span {
    Span(timeout.0.saturating_mul(2)).min(max)
}

/// The state of one connection.
#[derive(Clone, Debug)]
pub(super) struct Rtt {
    pub clock: Clock,
    config: Arc<RtoConfig>,
    /// Eight round trips, four mean deviations, the largest of them in this window of data, what the timeout adds; µs.
    srtt8: u32,
    mdev4: u32,
    mdev_max: u32,
    rttvar: u32,
    /// The byte that ends this window of data.
    window_end: u64,
    /// The timeout as it stands.
    rto: Span,
    /// When the least of the window was measured, and the second and third of its parts once they are others (struct minmax).
    least_at: Time,
    later: Option<Box<[(Time, Span); 2]>>,
}

impl Rtt {
    pub fn new(config: &Arc<RtoConfig>, phase: Span) -> Rtt {
        Rtt {
            clock: Clock::new(config.tick, phase),
            config: Arc::clone(config),
            srtt8: 0,
            mdev4: 0,
            mdev_max: 0,
            rttvar: 0,
            window_end: 0,
            rto: config.initial,
            least_at: Time::ZERO,
            later: None,
        }
    }

    /// A round trip was measured; `una` and `nxt` say where the stream is.
    #[inline(always)]
    pub fn sample(&mut self, rtt: Span, una: u64, nxt: u64) {
        let measured = (rtt.0 / US).min(LONGEST) as u32;
        if self.srtt8 == 0 {
            self.srtt8 = (measured << 3).max(1);
            self.mdev4 = measured << 1;
            self.rttvar = self.mdev4.max(self.floor_us());
            self.mdev_max = self.rttvar;
            self.window_end = nxt;
        } else {
            let mut error = measured as i32 - (self.srtt8 >> 3) as i32;
            self.srtt8 = self.srtt8.wrapping_add_signed(error).max(1);
            let falls = error < 0;
            error = error.abs() - (self.mdev4 >> 2) as i32;
            if falls && error > 0 {
                error >>= 3;
            }
            self.mdev4 = self.mdev4.wrapping_add_signed(error);
            self.mdev_max = self.mdev_max.max(self.mdev4);
            self.rttvar = self.rttvar.max(self.mdev_max);
            if una > self.window_end {
                if self.mdev_max < self.rttvar {
                    self.rttvar -= (self.rttvar - self.mdev_max) >> 2;
                }
                self.window_end = nxt;
                self.mdev_max = self.floor_us();
            }
        }
        self.rto = self.estimate();
    }

    /// The timeout without doubling, in whole ticks.
    fn estimate(&self) -> Span {
        let ticks = self.clock.whole(Span((u64::from(self.srtt8 >> 3) + u64::from(self.rttvar)) * US));
        self.clock.span(ticks).min(self.config.max)
    }

    /// The smoothed round trip; zero before the first measurement.
    pub fn srtt(&self) -> Span {
        Span(u64::from(self.srtt_us()) * US)
    }

    /// The same in microseconds.
    pub fn srtt_us(&self) -> u32 {
        self.srtt8 >> 3
    }

    /// The retransmission timeout (icsk_rto).
    pub fn rto(&self) -> Span {
        self.rto
    }

    /// The least deviation that a timeout adds (tcp_rto_min).
    pub fn floor(&self) -> Span {
        Span(u64::from(self.floor_us()) * US)
    }

    fn floor_us(&self) -> u32 {
        u32::try_from(self.config.min.0 / US).unwrap_or(u32::MAX)
    }

    /// The timer has expired: the next timeout is twice as long.
    pub fn back_off(&mut self) {
        self.rto = doubled(self.rto, self.config.max);
    }

    /// A round trip comes for the least of the window (minmax_running_min).
    #[inline(always)]
    pub fn note_least(&mut self, rtt: Span, window: &mut Window) {
        let sample = (window.now, rtt.max(Span(US)));
        if sample.1 <= window.least_rtt {
            (self.least_at, window.least_rtt, self.later) = (sample.0, sample.1, None);
        } else if self.later.is_some() || window.now.since(self.least_at).0 > MIN_RTT_WINDOW.0 / 4 {
            (self.least_at, window.least_rtt) = self.note_later((self.least_at, window.least_rtt), sample);
        }
    }

    /// One that is longer comes late in the window. The least, with its time.
    #[cold]
    fn note_later(&mut self, mut least: (Time, Span), sample: (Time, Span)) -> (Time, Span) {
        let (window, now) = (MIN_RTT_WINDOW.0, sample.0);
        let [second, third] = &mut **self.later.get_or_insert_with(|| Box::new([least; 2]));
        if now.since(third.0).0 > window {
            self.later = None;
            return sample;
        }
        if sample.1 <= second.1 {
            (*second, *third) = (sample, sample);
        } else if sample.1 <= third.1 {
            *third = sample;
        }
        let age = now.since(least.0).0;
        if age > window {
            (least, *second, *third) = (*second, *third, sample);
            if now.since(least.0).0 > window {
                (least, *second, *third) = (*second, *third, sample);
            }
        } else if second.0 == least.0 && age > window / 4 {
            (*second, *third) = (sample, sample);
        } else if third.0 == second.0 && age > window / 2 {
            *third = sample;
        }
        least
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rtt() -> Rtt {
        let ms = Span::from_millis;
        let config =
            RtoConfig { tick: ms(4), phase: None, min: ms(200), max: ms(120_000), initial: ms(1000), syn_linear: 4 };
        Rtt::new(&Arc::new(config), Span::ZERO)
    }

    /// tcp_rtt_estimator by hand: 40 ms, then 48 ms.
    #[test]
    fn adds_the_least_deviation_to_the_round_trip() {
        let mut rtt = rtt();
        assert_eq!(rtt.rto(), Span::from_millis(1000));
        rtt.sample(Span::from_millis(40), 0, 1448);
        assert_eq!((rtt.srtt(), rtt.rto()), (Span::from_millis(40), Span::from_millis(240)));
        rtt.sample(Span::from_millis(48), 1448, 2896);
        assert_eq!((rtt.srtt(), rtt.mdev4), (Span::from_millis(41), 80_000 + 8_000 - 20_000));
        assert_eq!(rtt.rto(), Span::from_millis(244), "241 ms in ticks of 4 ms");
        rtt.back_off();
        assert_eq!(rtt.rto(), Span::from_millis(488));
        rtt.sample(Span::from_millis(41), 1448, 2896);
        assert_eq!(rtt.rto(), Span::from_millis(244));
    }
}
