//! The congestion windows of the papers' hosts, a file each.

mod decbit;
mod feedback;
mod fixed;
mod reno;
mod ut_lt;
mod vegas;
mod vegas_ns2;

pub use decbit::DecBit;
pub use fixed::Fixed;
pub use reno::Reno;
pub use ut_lt::UtLt;
pub use vegas::{Vegas, VegasParams, VegasRules};
pub use vegas_ns2::VegasNs2;

use crate::cc::{Ack, CongestionControl, CongestionSignal, TimedAck};
use crate::host::Host;
use crate::params::Algorithm;
use alloc::boxed::Box;
use sluicegate_base::Span;

/// A congestion control as a sender holds it: the usual one by its type, so that reading its window is no call, any other
/// behind a pointer. The tag is a byte, narrower than that of an [`End`](super::end::End).
#[repr(u8)]
pub enum CongestionController {
    /// Reno's, which Tahoe, NewReno and SACK share.
    Reno(Reno),
    /// Any other.
    Other(Box<dyn CongestionControl>),
}

impl CongestionController {
    /// A new one for a connection of this host.
    #[must_use]
    pub fn new(host: &Host) -> CongestionController {
        if let Some(own) = &host.controller {
            return CongestionController::Other(own.make(host));
        }
        let (initial, ssthresh) = (host.initial_window, host.initial_ssthresh);
        let most = host.window as f64 / f64::from(host.mss);
        CongestionController::Other(match host.algorithm {
            Algorithm::DecBit => Box::new(DecBit::new(initial, most)),
            Algorithm::UtLt => Box::new(UtLt::new(initial, most)),
            Algorithm::Fixed => Box::new(Fixed::new(most)),
            Algorithm::Vegas if host.vegas_of_ns2() => {
                let opening = if host.handshake { 1.0 } else { initial };
                Box::new(VegasNs2::new(opening, ssthresh, host.vegas))
            }
            Algorithm::Vegas => Box::new(Vegas::new(initial, ssthresh, host.vegas)),
            _ => return CongestionController::Reno(Reno::new(initial, ssthresh)),
        })
    }
}

macro_rules! of_each {
    ($self:ident, $controller:ident => $what:expr) => {
        match $self {
            CongestionController::Reno($controller) => $what,
            CongestionController::Other($controller) => $what,
        }
    };
}

impl CongestionControl for CongestionController {
    #[inline]
    fn cwnd(&self) -> f64 {
        of_each!(self, controller => controller.cwnd())
    }

    fn ssthresh(&self) -> f64 {
        of_each!(self, controller => controller.ssthresh())
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        of_each!(self, controller => controller.on_ack(ack));
    }

    fn on_timed_ack(&mut self, ack: &TimedAck) {
        of_each!(self, controller => controller.on_timed_ack(ack));
    }

    fn on_pause(&mut self, pause: Span) {
        of_each!(self, controller => controller.on_pause(pause));
    }

    fn on_signal(&mut self, signal: CongestionSignal) -> bool {
        of_each!(self, controller => controller.on_signal(signal))
    }

    fn on_congestion(&mut self, window: f64, least: f64) {
        of_each!(self, controller => controller.on_congestion(window, least));
    }

    fn on_timeout(&mut self, window: f64, cut: bool) {
        of_each!(self, controller => controller.on_timeout(window, cut));
    }

    fn set_cwnd(&mut self, cwnd: f64) {
        of_each!(self, controller => controller.set_cwnd(cwnd));
    }
}

/// The whole part; windows are far below 2⁵³.
pub(crate) fn whole(x: f64) -> f64 {
    x as u64 as f64
}
