//! # Prague
//!
//! DCTCP made fit for the Internet: each mark counts by itself, once in a round trip the window falls by half of the share of
//! packets that were marked, and what is sent is paced and marked ECT(1) (draft-briscoe-iccrg-prague-congestion-control;
//! RFC 9330, RFC 9331, RFC 9768).
//!
//! ```text
//! virtual RTT = max(SRTT, 25 ms)
//! once in a virtual RTT:  alpha = (15 alpha + marked / delivered) / 16
//! a mark:                 cwnd = cwnd (1 − alpha/2), once in a virtual RTT;  slow start ends
//! not marked:             cwnd = cwnd + 1/cwnd · (SRTT / virtual RTT)² for each packet acknowledged without a mark
//! a loss:                 cwnd / 2
//! ```
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | the draft, Sec. 2.4.2: alpha is 1 at the first mark | the same | a first mark ends slow start with half of the window |
//! | Sec. 2.4.4: less dependence on the round trip after 500 rounds | from the start | the draft leaves it open |
//! | Sec. 2.4.5; RFC 9331, Sec. 4.3, item 3: in uncontrolled environments a classic AQM must be detected and answered as Reno would | it is not | the environment here is controlled: which discipline marks is known |
//! | RFC 9331, Sec. 4.3: answers losses as Reno does | the same, by PRR | |

use super::{Controller, INFINITE, Sample, State, Window};
use sluicegate_base::{Rate, Span, Time};

/// The least round trip that the window follows.
const VIRTUAL: Span = Span::from_millis(25);
/// The share of a new estimate.
const GAIN: f64 = 1.0 / 16.0;
/// How long a burst takes at the pacing rate.
const BURST: Span = Span(250_000);

/// The state of one connection.
#[derive(Clone, Debug, Default)]
pub struct Prague {
    /// The part of the window that is no whole packet.
    fraction: f64,
    /// The share of packets that are marked; `None` before the first mark.
    alpha: Option<f64>,
    /// When the present virtual round trip began, and what was delivered and marked then.
    begun: Time,
    delivered: u64,
    delivered_ce: u64,
    /// What was marked at the last acknowledgement, and until when no mark is answered.
    marked: u64,
    answered_until: Time,
    /// The packets that the acknowledgement being worked on reports as marked.
    newly_marked: u32,
}

impl Prague {
    fn virtual_rtt(window: &Window) -> Span {
        window.srtt.max(VIRTUAL)
    }

    /// A new window, with its fraction; two packets at the least.
    fn set(&mut self, window: &mut Window, cwnd: f64) {
        let cwnd = cwnd.clamp(2.0, f64::from(INFINITE));
        window.cwnd = cwnd as u32;
        self.fraction = cwnd - f64::from(window.cwnd);
    }

    fn cwnd(&self, window: &Window) -> f64 {
        f64::from(window.cwnd) + self.fraction
    }

    /// The window in a round trip, twice in slow start.
    fn pace(&self, window: &mut Window) {
        if window.srtt > Span::ZERO {
            let gain = if window.in_slow_start() { 2.0 } else { 1.0 };
            let bits = self.cwnd(window) * f64::from(window.mss) * 8.0;
            window.pacing_rate = Rate((gain * bits / window.srtt.as_secs()).max(1.0) as u64);
        }
    }

    /// The share of marks, once in a virtual round trip.
    fn update_alpha(&mut self, window: &Window) {
        if window.now < self.begun + Prague::virtual_rtt(window) {
            return;
        }
        let delivered = window.delivered.saturating_sub(self.delivered);
        let marked = window.delivered_ce.saturating_sub(self.delivered_ce).min(delivered);
        if let (Some(alpha), true) = (&mut self.alpha, delivered > 0) {
            *alpha += GAIN * (marked as f64 / delivered as f64 - *alpha);
        }
        (self.begun, self.delivered, self.delivered_ce) = (window.now, window.delivered, window.delivered_ce);
    }
}

impl Controller for Prague {
    fn ssthresh(&mut self, window: &Window) -> u32 {
        self.fraction = 0.0;
        (window.cwnd / 2).max(2)
    }

    fn grow(&mut self, window: &mut Window, acked: u32) {
        if window.is_limited() {
            let unmarked = acked.saturating_sub(self.newly_marked);
            if window.in_slow_start() {
                window.slow_start(unmarked);
            } else {
                let scale = window.srtt.as_secs() / Prague::virtual_rtt(window).as_secs();
                let cwnd = self.cwnd(window);
                self.set(window, cwnd + f64::from(unmarked) / cwnd * scale * scale);
            }
        }
        self.pace(window);
    }

    fn on_ack(&mut self, window: &mut Window, ece: bool) {
        let newly = window.delivered_ce.saturating_sub(self.marked);
        self.marked = window.delivered_ce;
        self.newly_marked = newly.min(u64::from(u32::MAX)) as u32;
        if ece && newly > 0 && self.alpha.is_none() {
            self.alpha = Some(1.0);
        }
        self.update_alpha(window);
        let reducing = matches!(window.state, State::Recovery | State::Loss);
        if newly > 0 && window.now >= self.answered_until && !reducing {
            let cwnd = self.cwnd(window);
            self.set(window, cwnd * (1.0 - self.alpha.unwrap_or(1.0) / 2.0));
            window.ssthresh = window.cwnd;
            self.answered_until = window.now + Prague::virtual_rtt(window);
            self.pace(window);
        }
    }

    fn on_state(&mut self, _window: &mut Window, state: State) {
        if state > State::Cwr {
            self.fraction = 0.0;
        }
    }

    fn first_rate(&mut self, window: &mut Window) {
        self.pace(window);
    }

    fn paces(&self) -> bool {
        true
    }

    fn burst(&self, window: &Window) -> Option<u32> {
        let bits = u128::from(window.pacing_rate.0) * u128::from(BURST.0) / 1_000_000_000;
        Some((bits / 8 / u128::from(window.mss.max(1))).clamp(1, 64) as u32)
    }

    fn answers_marks(&self) -> bool {
        true
    }

    fn govern(&mut self, _window: &mut Window, _sample: &Sample) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn window() -> Window {
        Window { srtt: Span::from_millis(50), cwnd_limited: true, ..Window::new(100, 1 << 30, 1000) }
    }

    /// The draft by hand: the first mark halves and ends slow start; then alpha follows the share, 1/16 of the way a round trip.
    #[test]
    fn falls_by_half_of_the_share_once_in_a_round_trip() {
        let (mut prague, mut window, ms) = (Prague::default(), window(), Span::from_millis);
        prague.grow(&mut window, 10);
        assert_eq!((window.cwnd, window.pacing_rate), (110, Rate(2 * 110 * 8000 * 20)));
        (window.now, window.delivered, window.delivered_ce) = (Time::ZERO + ms(10), 100, 1);
        prague.on_ack(&mut window, true);
        assert_eq!((window.cwnd, window.ssthresh, prague.alpha), (55, 55, Some(1.0)));
        (window.now, window.delivered_ce) = (Time::ZERO + ms(20), 2);
        prague.on_ack(&mut window, true);
        assert_eq!(window.cwnd, 55, "once in a round trip");
        (window.now, window.delivered, window.delivered_ce) = (Time::ZERO + ms(60), 200, 52);
        prague.on_ack(&mut window, true);
        let alpha = 1.0 + (52.0 / 200.0 - 1.0) / 16.0;
        assert_eq!(prague.alpha, Some(alpha));
        assert_eq!(prague.cwnd(&window), 55.0 * (1.0 - alpha / 2.0));
        // The next acknowledgement reports no mark.
        prague.on_ack(&mut window, false);
        let before = prague.cwnd(&window);
        prague.grow(&mut window, 1);
        assert!((prague.cwnd(&window) - before - 1.0 / before).abs() < 1e-12);
        window.srtt = ms(5);
        let before = prague.cwnd(&window);
        prague.grow(&mut window, 1);
        assert!((prague.cwnd(&window) - before - 0.04 / before).abs() < 1e-12, "slower below 25 ms");
    }

    /// The draft, Sec. 2.4.3: of ten packets acknowledged three carry a mark, and seven open the window.
    #[test]
    fn grows_only_for_packets_that_were_not_marked() {
        let (mut prague, mut window) = (Prague::default(), Window { ssthresh: 50, ..window() });
        // A mark of this round trip has been answered.
        (prague.alpha, prague.answered_until) = (Some(0.5), Time(u64::MAX));
        (window.delivered, window.delivered_ce) = (10, 3);
        prague.on_ack(&mut window, true);
        prague.grow(&mut window, 10);
        assert_eq!(prague.cwnd(&window), 100.0 + 7.0 / 100.0);
        window.delivered += 10;
        prague.on_ack(&mut window, false);
        let before = prague.cwnd(&window);
        prague.grow(&mut window, 10);
        assert_eq!(prague.cwnd(&window), before + 10.0 / before);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]
        #[test]
        fn stays_within_its_bounds(
            steps in proptest::collection::vec((0u8..4, 0u32..5000, 0u64..1 << 40, 0u64..5000), 0..200),
        ) {
            let (mut prague, mut window) = (Prague::default(), window());
            for (what, acked, wait, marked) in steps {
                window.now += Span(wait);
                window.delivered += u64::from(acked);
                window.delivered_ce += marked;
                match what {
                    0 => prague.on_ack(&mut window, marked > 0),
                    1 => {
                        window.ssthresh = prague.ssthresh(&window);
                        window.cwnd = window.ssthresh;
                    }
                    2 => window.srtt = Span(wait.max(1)),
                    _ => prague.grow(&mut window, acked),
                }
                prop_assert!((2..=INFINITE).contains(&window.cwnd) && window.ssthresh >= 2);
                prop_assert!(prague.alpha.is_none_or(|alpha| (0.0..=1.0).contains(&alpha)));
                prop_assert!(prague.burst(&window) >= Some(1));
            }
        }
    }
}
