//! The congestion window: how it grows with acknowledgements and shrinks with losses and marks.
//!
//! One file holds one algorithm. When a loss is noticed, and what is then sent again, is [`crate::recovery`]'s business.

mod decbit;
mod feedback;
mod fixed;
mod reno;
mod ut_lt;
mod vegas;
mod vegas_ns2;

pub use decbit::DecBit;
pub use feedback::{Decision, FeedbackRule, FeedbackWindow};
pub use fixed::Fixed;
pub use reno::Reno;
pub use ut_lt::UtLt;
pub use vegas::{Vegas, VegasParams, VegasRules};
pub use vegas_ns2::VegasNs2;

use alloc::boxed::Box;
use sluicegate_base::{Rate, Span, Time};

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
    /// How fast data was delivered, if the controller [asks](CongestionControl::wants_rate_samples) for it.
    pub rate: Option<RateSample>,
}

/// How fast the network delivered data while one segment was under way (draft-cheng-iccrg-delivery-rate-estimation-02,
/// Sec. 3.1.2). The segment is the one delivered now that was sent last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSample {
    /// Bytes delivered from when the segment was sent until now.
    pub delivered: u64,
    /// The time that took: the longer of the time in which those bytes were sent and that in which they were acknowledged.
    pub interval: Span,
    /// Whether the application had less to send than the window allowed, so that the path may be faster.
    pub is_app_limited: bool,
    /// The round trip of the segment, unless it was sent more than once or a duplicate acknowledgement does not say which one it
    /// was.
    pub rtt: Option<Span>,
    /// Bytes delivered on this connection until the segment was sent, and until now: where one is at least what the other
    /// was, a round trip has passed.
    pub prior_delivered: u64,
    /// Bytes delivered on this connection until now.
    pub total_delivered: u64,
    /// Bytes delivered by this acknowledgement alone.
    pub newly_delivered: u64,
}

impl RateSample {
    /// Bytes of the stream delivered, over time.
    #[must_use]
    pub fn rate(&self) -> Rate {
        Rate((self.delivered as f64 * 8.0 / self.interval.as_secs()) as u64)
    }
}

/// A segment that has just been sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// When.
    pub now: Time,
    /// Bytes of the stream that it carries.
    pub bytes: u32,
    /// Bytes sent and not acknowledged, these included; after a timeout those that were sent again.
    pub in_flight: u64,
    /// Whether it was sent before.
    pub retransmission: bool,
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

    /// A segment with data or the end of the stream was sent. This and what follows is for controllers that
    /// [observe](CongestionController::Observer).
    fn on_sent(&mut self, _sent: &Sent) {}

    /// An acknowledgement gave a rate sample but lets no window grow: it was a duplicate, came in recovery or with a mark.
    fn on_delivery(&mut self, _ack: &Ack) {}

    /// Whether acknowledgements are to bring rate samples. Asked once, when the connection begins.
    fn wants_rate_samples(&self) -> bool {
        false
    }

    /// The rate at which the sender is to space what it sends, retransmissions included, in bits of the stream per second;
    /// `None` for as the window allows. Asked after each segment.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
}

/// A congestion control as a sender holds it: the usual one by its type, so that reading its window is no call, any other
/// behind a pointer.
pub enum CongestionController {
    /// Reno's, which Tahoe, NewReno and SACK share.
    Reno(Reno),
    /// Any other.
    Other(Box<dyn CongestionControl>),
    /// One that is also shown what is sent, may pace it, and may ask for rate samples.
    Observer(Box<dyn CongestionControl>),
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
            CongestionController::Other($controller) | CongestionController::Observer($controller) => $what,
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

    fn on_sent(&mut self, sent: &Sent) {
        of_each!(self, controller => controller.on_sent(sent));
    }

    fn on_delivery(&mut self, ack: &Ack) {
        of_each!(self, controller => controller.on_delivery(ack));
    }

    fn wants_rate_samples(&self) -> bool {
        of_each!(self, controller => controller.wants_rate_samples())
    }

    fn pacing_rate(&self) -> Option<Rate> {
        of_each!(self, controller => controller.pacing_rate())
    }
}

/// The whole part; windows are far below 2⁵³.
pub(crate) fn whole(x: f64) -> f64 {
    x as u64 as f64
}
