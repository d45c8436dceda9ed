//! # A fixed window
//!
//! No congestion control: the sender uses the whole of the receiver's window, always, as TCP did before 1988. It stands for
//! hosts that do not follow the congestion control of their time, the misbehaving users of Zhang 1989 (after RED 1993,
//! Secs. II-A and X).
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | RFC 793 has no congestion window | the congestion window is the receiver's | nothing but the receiver limits the sender |
//! | RED 1993: "misbehaving users", without saying how they misbehave | losses are noticed by three duplicates and each sent again, as NewReno does it; the window does not close | if everything from the lost packet on were sent again, as Tahoe does, the window would fill with what has arrived already, which harms its own sender most |

use crate::cc::{Ack, CongestionControl};

/// A window that nothing changes.
#[derive(Clone, Debug)]
pub struct Fixed {
    cwnd: f64,
}

impl Fixed {
    /// The receiver's window, in segments.
    #[must_use]
    pub fn new(window: f64) -> Fixed {
        Fixed { cwnd: window }
    }
}

impl CongestionControl for Fixed {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.cwnd
    }

    fn on_ack(&mut self, _ack: &Ack) {}

    fn on_congestion(&mut self, _window: f64, _least: f64) {}

    fn on_timeout(&mut self, _window: f64, _cut: bool) {}

    fn set_cwnd(&mut self, _cwnd: f64) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::CongestionSignal;

    #[test]
    fn nothing_changes_it() {
        let mut window = Fixed::new(12.0);
        window.on_congestion(12.0, 2.0);
        window.on_timeout(12.0, true);
        window.set_cwnd(1.0);
        assert_eq!(
            (window.cwnd(), window.ssthresh(), window.on_signal(CongestionSignal::Congested)),
            (12.0, 12.0, false)
        );
    }
}
