//! # CUBIC as Linux has it
//!
//! After a loss the window follows a cubic of the time since, whose flat part is the window before the loss; never slower than
//! Reno would be (RFC 9438; Linux, net/ipv4/tcp_cubic.c). Slow start ends by HyStart (the module `hystart`).
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | RFC 9438, Sec. 4.2: W(t) = C (t − K)³ + W_max, C = 0.4, in seconds | whole packets and 1/1024 s, C = 410/1024 · 1/10 … as Linux scales it | Linux; a window differs by at most a packet |
//! | Sec. 4.4: the window moves towards W(t + RTT) with each acknowledgement | the step is worked out again once for each tick of the clock, or every 1/32 s while the window stays | Linux, `bictcp_update` |
//! | Sec. 4.4: at most 1.5 windows in a round trip | one packet for two acknowledged; 5 % of the window for a round trip while there was no loss | Linux |
//! | Sec. 4.3: α = 3 (1 − β)/(1 + β), and 1 once W_est reaches cwnd_prior, the window before the reduction | α alone | Linux |
//! | Sec. 4.6: β = 0.7 of what is under way | 717/1024 of the window | Linux |
//! | Sec. 4.9: a needless reduction is undone, W_max too | the window alone | Linux, `tcp_reno_undo_cwnd` |

use super::hystart::HyStart;
use super::{Controller, Event, State, Window};
use crate::linux::clock::Clock;
use crate::params::SlowStartExit;
use sluicegate_base::{Span, Time};

/// β and what 2⁴⁰ must be divided by for K.
const BETA: u64 = 717;
const BETA_UNIT: u64 = 1024;
const SCALE: u64 = 410;
/// How many windows' eighths of acknowledgements Reno needs for a packet, with a decrease of β.
const RENO_SCALE: u64 = 8 * (BETA_UNIT + BETA) / 3 / (BETA_UNIT - BETA);

/// The state of one connection; names in brackets are those of struct bictcp.
#[derive(Clone, Debug)]
pub struct Cubic {
    /// Acknowledgements for one packet more (cnt).
    step: u32,
    /// The window before the last reduction (last_max_cwnd); zero: none yet.
    w_max: u32,
    /// The window and the tick when the step was last worked out (last_cwnd, last_time).
    last: (u32, u64),
    /// The window in the flat part, and how far away that is, in 1/1024 s (bic_origin_point, bic_K).
    origin: u32,
    k: u64,
    /// The least round trip (delay_min); zero before the first.
    least: Span,
    /// The tick at which this curve began (epoch_start).
    epoch: Option<u64>,
    /// Acknowledgements towards Reno's window, and that window (ack_cnt, tcp_cwnd).
    acked: u64,
    reno: u32,
    exit: HyStart,
    clock: Clock,
}

impl Cubic {
    /// Nothing sent yet; how its slow start may end, and its host's tick with its phase.
    #[must_use]
    pub fn new(exit: SlowStartExit, tick: Span, phase: Span) -> Cubic {
        Cubic {
            step: 0,
            w_max: 0,
            last: (0, 0),
            origin: 0,
            k: 0,
            least: Span::ZERO,
            epoch: None,
            acked: 0,
            reno: 0,
            exit: HyStart::new(exit),
            clock: Clock::new(tick, phase),
        }
    }

    /// The acknowledgements that one packet more takes now (bictcp_update).
    fn update(&mut self, window: &Window, acked: u32) {
        let (cwnd, now) = (window.cwnd, self.clock.ticks(window.now));
        self.acked += u64::from(acked);
        if self.last.0 == cwnd && now.saturating_sub(self.last.1) <= self.clock.hz() / 32 {
            return;
        }
        if self.epoch.is_none() || now != self.last.1 {
            self.last = (cwnd, now);
            self.follow_curve(cwnd, now, acked);
        }
        self.follow_reno(cwnd);
        self.step = self.step.max(2);
    }

    fn follow_curve(&mut self, cwnd: u32, now: u64, acked: u32) {
        let epoch = *self.epoch.get_or_insert_with(|| {
            self.acked = acked.into();
            self.reno = cwnd;
            (self.k, self.origin) = match self.w_max.checked_sub(cwnd).filter(|below| *below > 0) {
                None => (0, cwnd),
                Some(below) => (cube_root((1 << 40) / SCALE * u64::from(below)), self.w_max),
            };
            now
        });
        let ticks = now.saturating_sub(epoch) + self.clock.whole(self.least);
        let t = (ticks << 10) / self.clock.hz();
        let away = u128::from(t.abs_diff(self.k));
        let change = u32::try_from((u128::from(SCALE) * away * away * away) >> 40).unwrap_or(u32::MAX);
        let target = if t < self.k { self.origin.saturating_sub(change) } else { self.origin.saturating_add(change) };
        self.step = if target > cwnd { cwnd / (target - cwnd) } else { cwnd.saturating_mul(100) };
        if self.w_max == 0 {
            self.step = self.step.min(20);
        }
    }

    /// Where Reno with the same decrease would be faster (tcp_friendliness).
    fn follow_reno(&mut self, cwnd: u32) {
        let each = (u64::from(cwnd) * RENO_SCALE) >> 3;
        if each > 0 && self.acked > each {
            let packets = (self.acked - 1) / each;
            self.acked -= packets * each;
            self.reno = self.reno.saturating_add(packets as u32);
        }
        if self.reno > cwnd {
            self.step = self.step.min(cwnd / (self.reno - cwnd));
        }
    }
}

impl Controller for Cubic {
    fn ssthresh(&mut self, window: &Window) -> u32 {
        self.epoch = None;
        let cwnd = window.cwnd;
        // Fast convergence: a flow that meets its limit earlier than last time leaves room for others.
        self.w_max = if cwnd < self.w_max { scaled(cwnd, BETA_UNIT + BETA) / 2 } else { cwnd };
        scaled(cwnd, BETA).max(2)
    }

    fn grow(&mut self, window: &mut Window, mut acked: u32) {
        if !window.is_limited() {
            return;
        }
        if window.in_slow_start() {
            acked = self.exit.pass(acked);
            acked = window.slow_start(acked);
            if acked == 0 {
                return;
            }
        }
        self.update(window, acked);
        window.additive_increase(self.step, acked);
    }

    fn on_acked(&mut self, window: &mut Window, _packets: u32, rtt: Option<Span>) {
        let Some(rtt) = rtt else { return };
        // Right after a reduction the queue is still what it was.
        if self.epoch.is_some_and(|epoch| self.clock.ticks(window.now) < epoch + self.clock.hz()) {
            return;
        }
        let rtt = rtt.max(Span(1000));
        if self.least == Span::ZERO || rtt < self.least {
            self.least = rtt;
        }
        self.exit.on_acked(window, rtt, self.least);
    }

    fn on_event(&mut self, window: &mut Window, event: Event) {
        // A pause does not count.
        if let (Event::Restart(pause), Some(epoch)) = (event, &mut self.epoch) {
            let now = self.clock.ticks(window.now);
            let before = self.clock.ticks(Time(window.now.0.saturating_sub(pause.0)));
            *epoch = (*epoch + now - before).min(now);
        }
    }

    fn on_state(&mut self, window: &mut Window, state: State) {
        if state == State::Loss {
            *self = Cubic {
                exit: self.exit.restarted(window),
                clock: self.clock,
                ..Cubic::new(SlowStartExit::None, Span::ZERO, Span::ZERO)
            };
        }
    }
}

/// So many 1024ths of a window.
fn scaled(cwnd: u32, by: u64) -> u32 {
    (u64::from(cwnd) * by / BETA_UNIT) as u32
}

/// The whole cube root.
fn cube_root(x: u64) -> u64 {
    let mut root = libm::cbrt(x as f64) as u64;
    while (u128::from(root) + 1).pow(3) <= u128::from(x) {
        root += 1;
    }
    while u128::from(root).pow(3) > u128::from(x) {
        root -= 1;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn begun(exit: SlowStartExit) -> Cubic {
        Cubic::new(exit, Span::from_millis(4), Span::ZERO)
    }

    fn window(cwnd: u32) -> Window {
        Window { cwnd_limited: true, ssthresh: 2, ..Window::new(cwnd, 2, 1448) }
    }

    /// RFC 9438, eq. 1 and 2: from 0.7 of 1000 back to 1000 in K = ∛(300/0.4) s = 9.1 s.
    #[test]
    fn follows_the_cubic_by_hand() {
        let mut cubic = begun(SlowStartExit::None);
        let mut window = window(1000);
        window.ssthresh = cubic.ssthresh(&window);
        assert_eq!((window.ssthresh, cubic.w_max), (700, 1000));
        window.cwnd = 700;
        cubic.least = Span::from_millis(100);
        for round in 0..91u64 {
            window.now = Time(round * 100_000_000);
            let acked = window.cwnd;
            for _ in 0..acked {
                window.now += Span(100_000_000 / u64::from(acked));
                cubic.grow(&mut window, 1);
            }
            let t = (round + 1) as f64 / 10.0;
            let expected = 0.4 * (t - 9.086) * (t - 9.086) * (t - 9.086) + 1000.0;
            assert!((f64::from(window.cwnd) - expected).abs() < 12.0, "{t}: {} and {expected}", window.cwnd);
        }
        assert_eq!(cube_root(8_000_000), 200);
    }

    /// The step is worked out once for each tick of the host, whatever its length.
    #[test]
    fn works_with_the_ticks_of_its_host() {
        let steps = |tick| {
            let mut cubic = Cubic::new(SlowStartExit::None, Span::from_millis(tick), Span::ZERO);
            let mut window = window(100);
            window.ssthresh = cubic.ssthresh(&window);
            window.cwnd = 70;
            let mut times = 0;
            for ms in 0..100u64 {
                window.now = Time(1_000_000_000 + ms * 1_000_000);
                window.cwnd = 70 + (ms % 2) as u32;
                let before = cubic.last;
                cubic.update(&window, 1);
                times += u32::from(cubic.last != before);
            }
            times
        };
        assert_eq!([1, 4, 10].map(steps), [100, 25, 10]);
    }

    /// bictcp_cwnd_event_tx_start: a pause moves the curve by the ticks that it spans, wherever the host's clock stands.
    #[test]
    fn a_pause_moves_the_curve_by_its_ticks() {
        let moved = |phase| {
            let mut cubic = Cubic::new(SlowStartExit::None, Span::from_millis(4), Span::from_millis(phase));
            let mut window = window(100);
            window.now = Time::ZERO + Span::from_millis(1000);
            cubic.update(&window, 1);
            let epoch = cubic.epoch.unwrap();
            window.now += Span::from_millis(400);
            cubic.on_event(&mut window, Event::Restart(Span::from_millis(200)));
            cubic.epoch.unwrap() - epoch
        };
        assert_eq!([0, 3, 4000].map(moved), [50, 50, 50]);
    }

    #[test]
    fn a_flow_that_meets_its_limit_earlier_makes_room_and_reno_is_a_floor() {
        let mut cubic = begun(SlowStartExit::None);
        cubic.ssthresh(&window(100));
        assert_eq!(cubic.ssthresh(&window(80)), 56);
        assert_eq!(cubic.w_max, 80 * 1741 / 1024 / 2);
        let mut window = window(8);
        let mut cubic = begun(SlowStartExit::None);
        cubic.ssthresh(&window);
        for round in 0..17 {
            window.now = Time(round * 40_000_000);
            cubic.grow(&mut window, 1);
        }
        assert_eq!(window.cwnd, 9, "15/8 of a window for a packet, where the cubic is flat");
    }

    /// RFC 9406, Sec. 4.3: only the first slow start; Linux begins its HyStart anew after a timeout.
    #[test]
    fn hystart_plus_plus_looks_at_the_first_slow_start_only() {
        let found = |exit, timeout: bool| {
            let mut cubic = begun(exit);
            let mut window = Window { ssthresh: super::super::INFINITE, ..window(20) };
            if timeout {
                cubic.on_state(&mut window, State::Loss);
            }
            // Each round trip is 50 ms longer than the one before; with HyStart++ five more rounds follow.
            for round in 0..8 {
                (window.una, window.nxt) = (window.nxt + 1, window.nxt + 101);
                for _ in 0..9 {
                    window.now += Span::from_millis(5);
                    cubic.on_acked(&mut window, 1, Some(Span::from_millis(100 + 50 * round)));
                }
            }
            window.ssthresh == window.cwnd
        };
        for (exit, timeout, expected) in [
            (SlowStartExit::HyStartPlusPlus, false, true),
            (SlowStartExit::HyStartPlusPlus, true, false),
            (SlowStartExit::HyStart, false, true),
            (SlowStartExit::HyStart, true, true),
        ] {
            assert_eq!(found(exit, timeout), expected, "{exit:?}, {timeout}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]
        #[test]
        fn stays_within_its_bounds(steps in proptest::collection::vec((0u8..6, 0u32..5000, 0u64..3_000_000_000), 0..200)) {
            for exit in [SlowStartExit::None, SlowStartExit::HyStart, SlowStartExit::HyStartPlusPlus] {
                let mut cubic = begun(exit);
                let mut window = Window { ssthresh: super::super::INFINITE, ..window(10) };
                for &(what, n, wait) in &steps {
                    window.now += Span(wait);
                    match what {
                        0 => {
                            window.ssthresh = cubic.ssthresh(&window);
                            window.cwnd = window.ssthresh;
                        }
                        1 => cubic.on_state(&mut window, State::Loss),
                        2 => cubic.on_event(&mut window, Event::Restart(Span(wait))),
                        3 => {
                            window.una = window.nxt;
                            window.nxt += u64::from(n);
                            cubic.on_acked(&mut window, n, Some(Span(wait)));
                        }
                        _ => cubic.grow(&mut window, n),
                    }
                    prop_assert!(window.cwnd >= 1 && window.ssthresh >= 2);
                }
            }
        }
    }
}
