//! The congestion window: how it grows with acknowledgements and shrinks with losses and marks.
//!
//! One file holds one algorithm. When a loss is noticed, and what is then sent again, is [`crate::recovery`]'s business.

mod cubic;
mod decbit;
mod feedback;
mod fixed;
mod reno;
mod ut_lt;
mod vegas;
mod vegas_ns2;

pub use cubic::Cubic;
pub use decbit::DecBit;
pub use feedback::{Decision, FeedbackRule, FeedbackWindow};
pub use fixed::Fixed;
pub use reno::Reno;
pub use ut_lt::UtLt;
pub use vegas::{Vegas, VegasParams, VegasRules};
pub use vegas_ns2::VegasNs2;

use alloc::boxed::Box;
use sluicegate_base::{Span, Time};

/// One round trip, measured by a segment that was sent once: from when it was sent until it was acknowledged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundTrip {
    /// How long it took, by a clock without ticks.
    pub rtt: Span,
    /// Segments sent meanwhile, the one that was timed included.
    pub sent: f64,
    /// Segments under way just before its acknowledgement came.
    pub flight: f64,
}

/// What an acknowledgement of new data brings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ack {
    /// Segments that it acknowledges, a part of one as a fraction.
    pub segments: f64,
    /// When it came.
    pub now: Time,
    /// The smoothed round trip; zero before the first measurement.
    pub srtt: Span,
    /// The round trip that it ends, if it is of the segment that was being timed.
    pub round: Option<RoundTrip>,
    /// Whether the window was what limited the sender; if not it may shrink, but is not to grow.
    pub limited: bool,
}

/// A round trip of which every segment was timed by itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimedRound {
    /// The mean over those that were sent once; above zero.
    pub rtt: Span,
    /// BaseRTT; above zero.
    pub base: Span,
    /// Segments sent meanwhile.
    pub sent: f64,
}

/// What an acknowledgement of new data brings where every segment is timed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimedAck {
    /// Segments under way, and the one that it acknowledges.
    pub flight: f64,
    /// The round that it ends.
    pub round: Option<TimedRound>,
    /// Whether it ends a recovery that had inflated the window.
    pub recovered: bool,
}

/// How the queues on a packet's path stood, as reported by its own acknowledgement (DECbit, UT/LT).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CongestionSignal {
    /// All were below their thresholds.
    Light,
    /// One was between the thresholds of UT/LT, and none above.
    Between,
    /// One was above its threshold: the packet was marked, or has the label that says so.
    Congested,
}

impl CongestionSignal {
    /// What the label of a packet means that has crossed queues under UT/LT (0, 1 or 2), and whether it was marked.
    #[must_use]
    pub fn new(label: u32, marked: bool) -> CongestionSignal {
        match label {
            _ if marked => CongestionSignal::Congested,
            0 => CongestionSignal::Light,
            1 => CongestionSignal::Between,
            _ => CongestionSignal::Congested,
        }
    }
}

/// A congestion control algorithm. Windows are in segments.
pub trait CongestionControl: Send {
    /// The congestion window.
    fn cwnd(&self) -> f64;

    /// The slow-start threshold.
    fn ssthresh(&self) -> f64;

    /// New data has been acknowledged outside recovery: the window may grow if it was the limit.
    fn on_ack(&mut self, ack: &Ack);

    /// The same where the recovery times every segment (ns-2's Vegas).
    fn on_timed_ack(&mut self, _ack: &TimedAck) {}

    /// For so long the window was not to grow, because something else limited the sender.
    fn on_pause(&mut self, _pause: Span) {}

    /// An acknowledgement carries the signal of its packet (DECbit, UT/LT). Whether the window shrinks.
    fn on_signal(&mut self, _signal: CongestionSignal) -> bool {
        false
    }

    /// A loss or a mark has been noticed while `window` segments could be under way, inflation included. The window does
    /// not fall below `least`; one below a segment lets nothing out until the retransmission timer has expired.
    fn on_congestion(&mut self, window: f64, least: f64);

    /// The retransmission timer has expired: the window closes to one segment, and `cut` says whether the threshold
    /// is to follow `window`. A source quench closes it too, and leaves the threshold.
    fn on_timeout(&mut self, window: f64, cut: bool);

    /// Sets the window without a loss: the start, a restart after idling, a partial deflation.
    fn set_cwnd(&mut self, cwnd: f64);
}

/// A congestion control as a sender holds it: the usual one by its type, so that reading its window is no call, any other
/// behind a pointer.
pub enum CongestionController {
    /// Reno's, which Tahoe, NewReno and SACK share.
    Reno(Reno),
    /// Any other.
    Other(Box<dyn CongestionControl>),
}

impl CongestionController {
    /// Any congestion control but Reno's.
    #[must_use]
    pub fn other(controller: impl CongestionControl + 'static) -> CongestionController {
        CongestionController::Other(Box::new(controller))
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
