//! # LEDBAT
//!
//! For transfers that give way to all others: the sender keeps its queueing delay at a target, and backs off as soon as others
//! fill the queue beyond it (RFC 6817, Sec. 2.4.2). The kernel has no LEDBAT; on its hosts it gets a round trip with each
//! acknowledgement, and loss recovery by SACK.
//!
//! ```text
//! for each acknowledgement:   queuing_delay = FILTER(current_delays) − MIN(base_delays)
//!                             off_target = (TARGET − queuing_delay)/TARGET
//!                             cwnd ← cwnd + GAIN·off_target·segments acknowledged/cwnd
//!                             cwnd ← min(cwnd, flight + ALLOWED_INCREASE),  then max(cwnd, MIN_CWND)
//! a loss or a mark:           cwnd ← min(cwnd, max(cwnd/2, MIN_CWND)), once for each round trip
//! a timeout:                  cwnd ← 1 segment
//! ```
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | Sec. 2.3: one-way delays, which the receiver measures and sends back | round trips | TCP has no such field, and its timestamps count milliseconds, too coarse for a target of 5 ms (RFC 7928, Sec. 5.4). Without a queue on the way back the two differ by a constant, which the base takes away; with one, LEDBAT gives way to that too |
//! | Sec. 2.4.2: FILTER may be anything that stays sensitive to congestion | the least of the last CURRENT_FILTER = 4, none older than a round trip | the RFC names it against delayed acknowledgements; Sec. 2.5: at least 4 samples in a round trip |
//! | Sec. 2.4.2: the base delay of BASE_HISTORY = 10 minutes of the clock | minutes begin with the first delay | the same history |
//! | Sec. 2.5: TARGET must be 100 ms or less, GAIN 1 or less | `ledbat_target` = 100 ms, `ledbat_gain` = 1; more is warned of | RFC 7928, Sec. 5.4, recommends a gain of 10 for tests of disciplines |
//! | Sec. 2.5: a GAIN for decrease may be higher | it is the same | |
//! | Sec. 2.4.2: cwnd ≤ flight + ALLOWED_INCREASE = 1 at each acknowledgement | ≤ the most in flight in the last window of data + 1; no bound where that window was full | Linux holds back small bursts, so that a full window is not always in flight |
//! | Sec. 2.2: slow start may be used | it is not | a sender that gives way has no hurry |
//! | Sec. 2.5: INIT_CWND should be 2 and must not exceed RFC 5681's (2 to 4) | `initial_window`, 2 unless given | |
//! | Sec. 2.4.2: after a timeout cwnd = 1 | 1 more than what RACK still takes to be in flight | Linux, `tcp_enter_loss` |

use super::{Controller, INFINITE, State, Window};
use sluicegate_base::{Span, Time};

/// The least window that delay, losses and marks leave, in packets.
const MIN_CWND: u32 = 2;
/// Packets that the window may exceed what is in flight by.
const ALLOWED_INCREASE: u32 = 1;
/// Delays of which the least is the present one.
const CURRENT_FILTER: usize = 4;
/// Minutes over which the base delay is sought.
const BASE_HISTORY: usize = 10;
const MINUTE: Span = Span::from_secs(60);
/// No delay is known: the RFC's +INFINITY.
const UNKNOWN: Span = Span(u64::MAX);

/// The state of one connection.
#[derive(Clone, Debug)]
pub struct Ledbat {
    target: Span,
    gain: f64,
    /// The part of the window that is no whole packet.
    fraction: f64,
    /// The last delays and when they were measured, the latest first.
    current_delays: [(Time, Span); CURRENT_FILTER],
    /// The least delay of each of the last minutes, the present one first.
    base_delays: [Span; BASE_HISTORY],
    /// When the present minute began; none before the first delay.
    minute: Option<Time>,
}

impl Ledbat {
    /// The queueing delay to keep, above zero, and how fast the window follows it.
    #[must_use]
    pub fn new(target: Span, gain: f64) -> Ledbat {
        Ledbat {
            target,
            gain,
            fraction: 0.0,
            current_delays: [(Time::ZERO, UNKNOWN); CURRENT_FILTER],
            base_delays: [UNKNOWN; BASE_HISTORY],
            minute: None,
        }
    }

    fn update_current_delay(&mut self, delay: Span, now: Time) {
        self.current_delays.rotate_right(1);
        self.current_delays[0] = (now, delay);
    }

    fn update_base_delay(&mut self, delay: Span, now: Time) {
        let begun = *self.minute.get_or_insert(now);
        let minutes = now.since(begun).0 / MINUTE.0;
        if minutes > 0 {
            let forgotten = (minutes as usize).min(BASE_HISTORY);
            self.base_delays.rotate_right(forgotten);
            self.base_delays[..forgotten].fill(UNKNOWN);
            self.minute = Some(begun + Span(minutes * MINUTE.0));
        }
        self.base_delays[0] = self.base_delays[0].min(delay);
    }

    /// How far the queueing delay is below the target, as a part of it; 0 if no delay of the last round trip is known.
    fn off_target(&self, window: &Window) -> f64 {
        let recent = self.current_delays.iter().filter(|(at, _)| window.now.since(*at) <= window.srtt);
        let current = recent.map(|&(_, delay)| delay).min().unwrap_or(UNKNOWN);
        let base = self.base_delays.iter().min().copied().unwrap_or(UNKNOWN);
        if current == UNKNOWN {
            return 0.0;
        }
        1.0 - current.0.saturating_sub(base.0) as f64 / self.target.0 as f64
    }
}

impl Controller for Ledbat {
    fn ssthresh(&mut self, window: &Window) -> u32 {
        self.fraction = 0.0;
        window.cwnd.min((window.cwnd / 2).max(MIN_CWND))
    }

    fn grow(&mut self, window: &mut Window, acked: u32) {
        let cwnd = f64::from(window.cwnd) + self.fraction;
        let mut cwnd = cwnd + self.gain * self.off_target(window) * f64::from(acked) / cwnd;
        if !window.cwnd_limited {
            let flight = window.max_packets_out.max(window.in_flight + acked);
            cwnd = cwnd.min((flight + ALLOWED_INCREASE).into());
        }
        cwnd = cwnd.clamp(MIN_CWND.into(), INFINITE.into());
        window.cwnd = cwnd as u32;
        self.fraction = cwnd - f64::from(window.cwnd);
    }

    fn on_acked(&mut self, window: &mut Window, _packets: u32, rtt: Option<Span>) {
        if let Some(delay) = rtt {
            self.update_base_delay(delay, window.now);
            self.update_current_delay(delay, window.now);
        }
    }

    fn on_state(&mut self, _window: &mut Window, state: State) {
        if state >= State::Cwr {
            self.fraction = 0.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TARGET: Span = Span::from_millis(100);

    fn window(cwnd: u32) -> Window {
        Window { cwnd_limited: true, srtt: Span::from_millis(50), ..Window::new(cwnd, 1 << 30, 1448) }
    }

    fn cwnd(ledbat: &Ledbat, window: &Window) -> f64 {
        f64::from(window.cwnd) + ledbat.fraction
    }

    /// One packet is acknowledged after so long.
    fn ack(ledbat: &mut Ledbat, window: &mut Window, ms: u64) {
        ledbat.on_acked(window, 1, Some(Span::from_millis(ms)));
        ledbat.grow(window, 1);
    }

    /// RFC 6817, Sec. 2.4.2, with a base of 50 ms. 50 ms: off_target 1, cwnd 4 + 1/4. Four times 100 ms, which is half of the
    /// target; before, the least of four is still 50 ms. 250 ms: −1.
    #[test]
    fn follows_the_rule_by_hand() {
        let (mut ledbat, mut window) = (Ledbat::new(TARGET, 1.0), window(4));
        ledbat.grow(&mut window, 1);
        assert_eq!(cwnd(&ledbat, &window), 4.0, "nothing is known of the path");
        let mut expected = 4.0;
        for (ms, off_target) in
            [(50, 1.0), (100, 1.0), (100, 1.0), (100, 1.0), (100, 0.5), (250, 0.5), (250, 0.5), (250, 0.5), (250, -1.0)]
        {
            ack(&mut ledbat, &mut window, ms);
            expected += off_target / expected;
            assert!((cwnd(&ledbat, &window) - expected).abs() < 1e-12, "{ms}");
        }
        ledbat.grow(&mut window, 2);
        assert!((cwnd(&ledbat, &window) - (expected - 2.0 / expected)).abs() < 1e-12, "each packet counts");
        window.now += Span::from_millis(51);
        let before = cwnd(&ledbat, &window);
        ledbat.grow(&mut window, 1);
        assert_eq!(cwnd(&ledbat, &window), before, "delays older than a round trip do not count");
    }

    /// Sec. 2.5: GAIN is how fast the window follows.
    #[test]
    fn the_gain_multiplies_each_step() {
        let (mut ledbat, mut window) = (Ledbat::new(TARGET, 10.0), window(4));
        ack(&mut ledbat, &mut window, 50);
        assert_eq!(cwnd(&ledbat, &window), 4.0 + 10.0 / 4.0);
    }

    /// Sec. 2.4.2: cwnd = min(cwnd, max(cwnd/2, MIN_CWND)).
    #[test]
    fn a_loss_halves_the_window_and_never_raises_it() {
        for (before, after) in [(9, 4), (4, 2), (3, 2), (2, 2), (1, 1)] {
            assert_eq!(Ledbat::new(TARGET, 1.0).ssthresh(&window(before)), after);
        }
    }

    /// Sec. 2.4.2: an application that sends less than the window has it clamped down to a little more than that.
    #[test]
    fn a_window_that_is_not_used_is_clamped_to_what_is_in_flight() {
        let mut ledbat = Ledbat::new(TARGET, 1.0);
        let mut window = Window { cwnd_limited: false, max_packets_out: 4, in_flight: 3, ..window(50) };
        ack(&mut ledbat, &mut window, 50);
        assert_eq!(cwnd(&ledbat, &window), 5.0);
        (window.max_packets_out, window.in_flight) = (0, 0);
        ack(&mut ledbat, &mut window, 50);
        assert_eq!(cwnd(&ledbat, &window), 2.0);
    }

    /// The 50 ms of the first minute count until ten more have passed.
    #[test]
    fn the_base_is_forgotten_after_ten_minutes() {
        let (mut ledbat, mut window) = (Ledbat::new(TARGET, 1.0), window(4));
        for (second, ms, off_target) in
            [(0, 50, 1.0), (59, 150, 0.0), (300, 150, 0.0), (599, 150, 0.0), (601, 150, 1.0), (100_000, 400, 1.0)]
        {
            window.now = Time::ZERO + Span::from_secs(second);
            ledbat.on_acked(&mut window, 1, Some(Span::from_millis(ms)));
            assert_eq!(ledbat.off_target(&window), off_target, "at {second} s");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        /// Alone on a path it ends with TARGET in the queue, give or take a packet. The widest window here settles in half of these
        /// rounds.
        #[test]
        fn keeps_the_target_in_the_queue(pipe in 5.0f64..50.0, base_ms in 20u64..200, start in 2u32..150) {
            let (mut ledbat, mut window) = (Ledbat::new(TARGET, 1.0), window(start));
            let base = base_ms as f64;
            ledbat.update_base_delay(Span::from_millis(base_ms), Time::ZERO);
            for round in 0..2000u64 {
                let rtt = Span((base * (cwnd(&ledbat, &window) / pipe).max(1.0) * 1e6) as u64);
                window.now = Time::ZERO + Span::from_secs(round / 8);
                for _ in 0..window.cwnd {
                    ledbat.on_acked(&mut window, 1, Some(rtt));
                    ledbat.grow(&mut window, 1);
                }
            }
            let queued_ms = base * (cwnd(&ledbat, &window) / pipe - 1.0);
            prop_assert!((queued_ms - 100.0).abs() < 1.5 * base / pipe + 1.0, "{queued_ms}");
        }

        #[test]
        fn stays_within_its_bounds(
            gain in 0.1f64..100.0,
            steps in proptest::collection::vec((0u8..5, 0u32..5000, 1u64..10_000_000_000), 0..200),
        ) {
            let (mut ledbat, mut window) = (Ledbat::new(Span(1), gain), window(2));
            for (what, n, wait) in steps {
                window.now += Span(wait);
                match what {
                    0 => window.cwnd = ledbat.ssthresh(&window),
                    1 => ledbat.on_state(&mut window, State::Loss),
                    2 => (window.cwnd_limited, window.max_packets_out) = (n % 2 == 0, n),
                    3 => ledbat.on_acked(&mut window, n, Some(Span(wait))),
                    _ => ledbat.grow(&mut window, n),
                }
                prop_assert!((2..=INFINITE).contains(&window.cwnd), "{ledbat:?}");
                prop_assert!((0.0..1.0).contains(&ledbat.fraction), "{ledbat:?}");
            }
        }
    }
}
