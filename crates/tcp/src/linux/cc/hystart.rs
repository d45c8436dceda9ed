//! # HyStart and HyStart++: slow start that ends before a loss
//!
//! HyStart (Ha & Rhee 2011) as Linux's CUBIC has it, and HyStart++ (RFC 9406).
//!
//! ```text
//! HyStart, in each round with a window of 16 and more:
//!     a train of acknowledgements, at most 2 ms apart, is as long as half the least round trip, or
//!     the least of the first 8 round trips exceeds the least of all by an eighth of that (4 to 16 ms):
//!         ssthresh = cwnd
//! HyStart++, in each round after 8 samples:
//!     the least of this round exceeds that of the round before by an eighth of that (4 to 16 ms):
//!         conservative slow start: a quarter as fast; after 5 rounds ssthresh = cwnd
//!     in conservative slow start the round trip falls below what began it: slow start again
//! ```
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | Ha & Rhee: trains within the whole least round trip | half of it, plus up to 1 ms for buffers; all of it where the sender paces | Linux, `hystart_update` |
//! | RFC 9406, Sec. 4.3: L = 8 segments an acknowledgement where the sender does not pace | not limited | Linux's own slow start is not; bursts end in the link's queue |

use super::{INFINITE, Window};
use crate::params::SlowStartExit;
use sluicegate_base::{Rate, Span, Time};

const LOW_WINDOW: u32 = 16;
const SAMPLES: u32 = 8;
const TRAIN_GAP: Span = Span::from_millis(2);
const CSS_DIVISOR: u32 = 4;
const CSS_ROUNDS: u32 = 5;

/// The state of one connection.
#[derive(Clone, Debug)]
pub(super) struct HyStart {
    exit: SlowStartExit,
    /// Whether slow start has been ended (found).
    found: bool,
    /// When the round began, and when the last acknowledgement of its train came; the byte that ends it.
    begun: Time,
    last: Time,
    end: u64,
    /// The least round trip of the round, of the one before, and how many were measured.
    least: Span,
    before: Span,
    samples: u32,
    /// Conservative slow start: the round trip that began it, rounds of it, and acknowledgements towards a packet.
    css: Option<(Span, u32)>,
    left: u32,
}

impl HyStart {
    pub fn new(exit: SlowStartExit) -> HyStart {
        HyStart {
            exit,
            found: false,
            begun: Time::ZERO,
            last: Time::ZERO,
            end: 0,
            least: Span(u64::MAX),
            before: Span(u64::MAX),
            samples: 0,
            css: None,
            left: 0,
        }
    }

    /// Slow start begins again after a timeout; HyStart++ looks at the first one only.
    pub fn restarted(&self, window: &Window) -> HyStart {
        let mut new = HyStart::new(self.exit);
        new.found = self.exit == SlowStartExit::HyStartPlusPlus;
        new.begin_round(window);
        new
    }

    fn begin_round(&mut self, window: &Window) {
        (self.begun, self.last, self.end) = (window.now, window.now, window.nxt);
        self.before = self.least;
        (self.least, self.samples) = (Span(u64::MAX), 0);
    }

    /// Of so many packets acknowledged, how many open the window.
    pub fn pass(&mut self, acked: u32) -> u32 {
        if self.css.is_none() {
            return acked;
        }
        let all = self.left.saturating_add(acked);
        self.left = all % CSS_DIVISOR;
        all / CSS_DIVISOR
    }

    /// A round trip is measured; `least`: of all.
    pub fn on_acked(&mut self, window: &mut Window, rtt: Span, least: Span) {
        if self.found || !window.in_slow_start() || self.exit == SlowStartExit::None {
            return;
        }
        match self.exit {
            SlowStartExit::HyStart => self.classic(window, rtt, least),
            SlowStartExit::HyStartPlusPlus => self.plus_plus(window, rtt),
            _ => {}
        }
        if self.found {
            window.ssthresh = window.cwnd.min(INFINITE);
        }
    }

    /// hystart_update.
    fn classic(&mut self, window: &Window, rtt: Span, least: Span) {
        if window.una > self.end {
            self.begin_round(window);
        }
        // Rounds are tracked from the first packet on (Linux 6.13); they are looked at where the window is not small.
        if window.cwnd < LOW_WINDOW {
            return;
        }
        if window.now.since(self.last) <= TRAIN_GAP {
            self.last = window.now;
            let train = (least.0 + buffers(window.pacing_rate).0) / if window.paced { 1 } else { 2 };
            self.found |= window.now.since(self.begun).0 > train;
        }
        self.least = self.least.min(rtt);
        if self.samples < SAMPLES {
            self.samples += 1;
        } else {
            self.found |= self.least.0 > least.0 + threshold(least).0;
        }
    }

    /// RFC 9406, Sec. 4.2.
    fn plus_plus(&mut self, window: &Window, rtt: Span) {
        if window.una > self.end {
            self.begin_round(window);
            if let Some((_, rounds)) = &mut self.css {
                *rounds += 1;
                self.found = *rounds >= CSS_ROUNDS;
            }
        }
        self.least = self.least.min(rtt);
        self.samples += 1;
        if self.samples < SAMPLES {
            return;
        }
        match self.css {
            None if self.before != Span(u64::MAX) && self.least.0 >= self.before.0 + threshold(self.before).0 => {
                self.css = Some((self.least, 0));
            }
            Some((base, _)) if self.least < base => self.css = None,
            _ => {}
        }
    }
}

/// An eighth of the round trip, from 4 to 16 ms.
fn threshold(rtt: Span) -> Span {
    Span((rtt.0 / 8).clamp(4_000_000, 16_000_000))
}

/// What four large buffers take at this rate, at most 1 ms (hystart_ack_delay).
fn buffers(rate: Rate) -> Span {
    (4 * 65_536 * 8 * 1_000_000_000u64).checked_div(rate.0).map_or(Span::ZERO, |time| Span(time.min(1_000_000)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window() -> Window {
        Window { nxt: 100, ..Window::new(20, INFINITE, 1448) }
    }

    /// A train of acknowledgements 1 ms apart: found when it is longer than half of 40 ms.
    #[test]
    fn a_train_of_half_a_round_trip_ends_slow_start() {
        let (mut hystart, mut window, rtt) = (HyStart::new(SlowStartExit::HyStart), window(), Span::from_millis(40));
        window.una = 1;
        for ms in 0..22 {
            window.now = Time(ms * 1_000_000);
            hystart.on_acked(&mut window, rtt, rtt);
            assert_eq!(hystart.found, ms > 20, "{ms}");
        }
        assert_eq!(window.ssthresh, 20);
    }

    /// Rounds are tracked below the least window, too (Linux 6.13): the first acknowledgement at 16 is in a round that began
    /// with an earlier one, and not the first of a round that begins there.
    #[test]
    fn a_round_that_began_with_a_small_window_counts() {
        let (mut hystart, rtt) = (HyStart::new(SlowStartExit::HyStart), Span::from_millis(40));
        let mut window = Window { una: 1, cwnd: 10, ..window() };
        for ms in 0..30 {
            window.now = Time(ms * 1_000_000);
            window.cwnd = if ms < 15 { 10 } else { 16 };
            hystart.on_acked(&mut window, rtt, rtt);
        }
        assert_eq!((hystart.begun, hystart.end), (Time::ZERO, 100));
        assert!(!hystart.found, "no train: the last acknowledgement of one was at 0 ms");
    }

    /// RFC 9406 by hand: 40 ms, then 46 ms is conservative; a quarter of what is acknowledged counts; 5 rounds later it is over.
    #[test]
    fn a_longer_round_trip_is_looked_at_for_five_rounds() {
        let (mut hystart, mut window) = (HyStart::new(SlowStartExit::HyStartPlusPlus), window());
        let round = |hystart: &mut HyStart, window: &mut Window, ms| {
            window.una = window.nxt + 1;
            window.nxt += 100;
            (0..9).for_each(|_| hystart.on_acked(window, Span::from_millis(ms), Span::from_millis(40)));
        };
        round(&mut hystart, &mut window, 40);
        round(&mut hystart, &mut window, 46);
        assert!(hystart.css.is_some());
        assert_eq!((hystart.pass(6), hystart.pass(2)), (1, 1));
        round(&mut hystart, &mut window, 41);
        assert!(hystart.css.is_none(), "it was a jitter");
        (0..6).for_each(|more| round(&mut hystart, &mut window, 46 + 6 * u64::from(more == 0)));
        assert!(!hystart.found);
        round(&mut hystart, &mut window, 60);
        (0..5).for_each(|_| round(&mut hystart, &mut window, 60));
        assert!(hystart.found);
    }
}
