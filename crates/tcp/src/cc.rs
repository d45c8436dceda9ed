//! The trait that your own congestion controllers and those of the papers' hosts implement: how the window grows with
//! acknowledgements and shrinks with losses and marks. When a loss is noticed, and what is then sent again, is the host's
//! business.
//!
//! | what there is | Linux's hosts | the papers' hosts |
//! |---|---|---|
//! | windows of whole segments | yes | with fractions |
//! | [rate samples](RateSample) and a [pace](CongestionControl::pacing_rate) | where the controller asks for them | none: [`Host::with_controller`](crate::Host::with_controller) refuses one that does |
//! | [`Ack::limited`] | as Linux's tcp_is_cwnd_limited says | always |
//! | acknowledgements that [let no window grow](CongestionControl::on_delivery) | shown | not shown |
//! | [signals](CongestionControl::on_signal) of single packets | none | of `decbit` and `ut_lt` |

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

    /// An acknowledgement lets no window grow, because it came in a recovery or while the window falls for a mark (Linux's hosts).
    fn on_delivery(&mut self, _ack: &Ack) {}

    /// Whether acknowledgements are to bring rate samples (Linux's hosts).
    fn wants_rate_samples(&self) -> bool {
        false
    }

    /// The rate at which the sender is to space what it sends, retransmissions included, in bits of the stream per second;
    /// `None` to leave it as it is, at first as the window allows (Linux's hosts). Asked after each acknowledgement.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
}
