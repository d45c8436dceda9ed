//! # DCTCP
//!
//! The window falls by half of the share of packets that were marked, once for each window of data (RFC 8257; Linux,
//! net/ipv4/tcp_dctcp.c).
//!
//! ```text
//! once all is acknowledged that was out when the last window of data began:
//!     alpha = (1 − 1/16) alpha + 1/16 · marked / delivered
//! a mark:  ssthresh = cwnd (1 − alpha/2)         a loss:  cwnd / 2
//! ```
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | RFC 8257, Sec. 3.3: shares of bytes | of packets, in 1/1024 | Linux |
//! | Sec. 3.3, step 4: a window of data has ended once a byte beyond it is acknowledged | once all of it is | Linux, `dctcp_update_alpha`: `!before` |
//! | Sec. 3.3, step 6: alpha falls by 1/16 of itself without marks | below 16/1024 to zero at once | Linux, `min_not_zero` |
//! | Sec. 3.5: a loss halves the window, once for each window of data | as a recovery or a timeout begins; one in the middle of a mark's reduction halves what that has left | Linux, `dctcp_react_to_loss` |

use super::{Controller, Event, State, Window, reno};

/// Alpha of 1, and the share of a new estimate, as a power of two.
const ONE: u32 = 1024;
const SHIFT: u32 = 4;

/// The state of one connection.
#[derive(Clone, Debug)]
pub struct Dctcp {
    /// The share of packets that are marked, in 1/1024.
    alpha: u32,
    /// The byte that ends this window of data, and what was delivered and marked when it began.
    end: u64,
    delivered: u64,
    delivered_ce: u64,
    /// The window before the last loss.
    loss_cwnd: u32,
}

impl Default for Dctcp {
    fn default() -> Dctcp {
        Dctcp { alpha: ONE, end: 0, delivered: 0, delivered_ce: 0, loss_cwnd: 0 }
    }
}

impl Dctcp {
    /// A loss halves the window, whatever alpha is (dctcp_react_to_loss).
    fn on_loss(&mut self, window: &mut Window) {
        self.loss_cwnd = window.cwnd;
        window.ssthresh = (window.cwnd / 2).max(2);
    }
}

impl Controller for Dctcp {
    fn ssthresh(&mut self, window: &Window) -> u32 {
        let cut = (u64::from(window.cwnd) * u64::from(self.alpha)) >> 11;
        window.cwnd.saturating_sub(cut as u32).max(2)
    }

    fn grow(&mut self, window: &mut Window, acked: u32) {
        reno::grow(window, acked);
    }

    fn undo(&mut self, window: &Window) -> u32 {
        window.cwnd.max(self.loss_cwnd)
    }

    fn on_ack(&mut self, window: &mut Window, _ece: bool) {
        if window.una < self.end {
            return;
        }
        let delivered = window.delivered.saturating_sub(self.delivered);
        let marked = window.delivered_ce.saturating_sub(self.delivered_ce).min(delivered);
        // A share too small for the integers goes to zero (min_not_zero).
        self.alpha = if self.alpha >> SHIFT == 0 { 0 } else { self.alpha - (self.alpha >> SHIFT) };
        if marked > 0 {
            let share = (marked << (10 - SHIFT)) / delivered.max(1);
            self.alpha = (self.alpha + share as u32).min(ONE);
        }
        (self.end, self.delivered, self.delivered_ce) = (window.nxt, window.delivered, window.delivered_ce);
    }

    fn on_state(&mut self, window: &mut Window, state: State) {
        if state == State::Recovery && state != window.state {
            self.on_loss(window);
        }
    }

    fn on_event(&mut self, window: &mut Window, event: Event) {
        if event == Event::Timeout {
            self.on_loss(window);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 8257, Sec. 3.3 by hand: with alpha 1 a mark halves; windows without marks let it fall by 1/16 each.
    #[test]
    fn the_cut_follows_the_share_of_marks() {
        let (mut dctcp, mut window) = (Dctcp::default(), Window::new(100, 50, 1448));
        assert_eq!(dctcp.ssthresh(&window), 50);
        (window.una, window.nxt, window.delivered) = (1, 100, 10);
        dctcp.on_ack(&mut window, false);
        assert_eq!(dctcp.alpha, 960);
        (window.una, window.delivered) = (99, 20);
        dctcp.on_ack(&mut window, false);
        assert_eq!(dctcp.alpha, 960, "once in a window of data");
        (window.una, window.nxt, window.delivered, window.delivered_ce) = (100, 200, 110, 50);
        dctcp.on_ack(&mut window, true);
        assert_eq!(dctcp.alpha, 900 + 32);
        assert_eq!(dctcp.ssthresh(&window), 100 - 45);
        dctcp.on_state(&mut window, State::Recovery);
        assert_eq!((window.ssthresh, dctcp.undo(&window)), (50, 100));
    }

    /// Linux, `min_not_zero`: 16 falls to 15, and 15/16 is no whole number, so that 15 falls to 0.
    #[test]
    fn a_small_share_goes_to_zero_at_once() {
        let (mut dctcp, mut window) = (Dctcp { alpha: 16, ..Dctcp::default() }, Window::new(100, 50, 1448));
        for expected in [15, 0, 0] {
            window.una += 1;
            window.nxt = window.una;
            dctcp.on_ack(&mut window, false);
            assert_eq!(dctcp.alpha, expected);
        }
    }

    /// A timeout halves the window of its own moment, also after a recovery or an earlier timeout; the state says nothing.
    #[test]
    fn a_timeout_halves_the_window_of_its_moment() {
        let (mut dctcp, mut window) = (Dctcp { alpha: 0, ..Dctcp::default() }, Window::new(100, 80, 1448));
        window.prior_cwnd = 400;
        for (cwnd, before) in [(100, State::Cwr), (50, State::Recovery), (20, State::Loss)] {
            (window.cwnd, window.state) = (cwnd, before);
            window.ssthresh = dctcp.ssthresh(&window);
            dctcp.on_event(&mut window, Event::Timeout);
            dctcp.on_state(&mut window, State::Loss);
            assert_eq!((window.ssthresh, dctcp.undo(&window)), (cwnd / 2, cwnd));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]
        #[test]
        fn alpha_is_a_share(steps in proptest::collection::vec((0u64..2000, 0u64..3000, 1u32..100_000), 0..200)) {
            let (mut dctcp, mut window) = (Dctcp::default(), Window::new(10, 50, 1448));
            for (delivered, marked, cwnd) in steps {
                window.delivered += delivered;
                window.delivered_ce += marked;
                (window.una, window.nxt, window.cwnd) = (window.nxt + 1, window.nxt + delivered, cwnd);
                dctcp.on_ack(&mut window, marked > 0);
                prop_assert!(dctcp.alpha <= ONE);
                prop_assert!((2..=cwnd.max(2)).contains(&dctcp.ssthresh(&window)));
            }
        }
    }
}
