//! # Reno as Linux has it
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | RFC 5681, eq. 4: half of what is under way | half of the window, at least 2 | Linux, `tcp_reno_ssthresh`; the window is validated before it grows |
//! | RFC 5681: slow start and congestion avoidance count acknowledgements or bytes | packets acknowledged, also by one that covers many (RFC 3465 without its limit L) | Linux, `tcp_reno_cong_avoid`: appropriate byte counting in packets |
//! | RFC 3465, Sec. 2.1: congestion avoidance counts a window of bytes | a window of packets, including acknowledged packets that slow start leaves over | Linux, `tcp_cong_avoid_ai` |

use super::{Controller, Window};

/// Reno keeps nothing beside the window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reno;

impl Controller for Reno {
    fn ssthresh(&mut self, window: &Window) -> u32 {
        (window.cwnd / 2).max(2)
    }

    fn grow(&mut self, window: &mut Window, acked: u32) {
        grow(window, acked);
    }
}

/// Reno's growth, which others share (tcp_reno_cong_avoid).
pub(super) fn grow(window: &mut Window, mut acked: u32) {
    if !window.is_limited() {
        return;
    }
    if window.in_slow_start() {
        acked = window.slow_start(acked);
        if acked == 0 {
            return;
        }
    }
    window.additive_increase(window.cwnd, acked);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(cwnd: u32, ssthresh: u32) -> Window {
        Window { cwnd_limited: true, ..Window::new(cwnd, ssthresh, 1448) }
    }

    /// RFC 5681 with RFC 3465 by hand: an acknowledgement of many packets counts each.
    #[test]
    fn counts_packets_and_not_acknowledgements() {
        let mut window = window(10, 14);
        Reno.grow(&mut window, 2);
        assert_eq!((window.cwnd, window.count), (12, 0), "slow start");
        Reno.grow(&mut window, 5);
        assert_eq!((window.cwnd, window.count), (14, 3), "what is over counts for congestion avoidance");
        Reno.grow(&mut window, 11);
        assert_eq!((window.cwnd, window.count), (15, 0));
        assert_eq!(Reno.ssthresh(&window), 7);
        window.prior_cwnd = 30;
        assert_eq!(Reno.undo(&window), 30);
    }

    #[test]
    fn does_not_grow_a_window_that_is_not_used() {
        let mut window = Window { cwnd_limited: false, max_packets_out: 4, ..window(10, 20) };
        Reno.grow(&mut window, 3);
        assert_eq!(window.cwnd, 10);
        window.max_packets_out = 6;
        Reno.grow(&mut window, 3);
        assert_eq!(window.cwnd, 13, "in slow start half of it is enough");
    }
}
