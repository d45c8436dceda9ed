//! The congestion window: how it grows with acknowledgements and shrinks with losses and marks.
//!
//! One file holds one law. When a loss is noticed, and what is then sent again, is [`crate::recovery`]'s business.

mod cubic;
mod decbit;
mod fixed;
mod reno;

pub use cubic::Cubic;
pub use decbit::DecBit;
pub use fixed::Fixed;
pub use reno::Reno;

use sluicegate_base::{Span, Time};

/// What an acknowledgement of new data brings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ack {
    /// Segments that it acknowledges, a part of one as a fraction.
    pub segments: f64,
    /// When it came.
    pub now: Time,
    /// The smoothed round trip; zero before the first measurement.
    pub srtt: Span,
}

/// A law of the congestion window. Windows are in segments.
pub trait CongestionControl: Send {
    /// The congestion window.
    fn cwnd(&self) -> f64;

    /// The slow-start threshold.
    fn ssthresh(&self) -> f64;

    /// New data has been acknowledged outside recovery.
    fn on_ack(&mut self, ack: &Ack);

    /// An acknowledgement copies the congestion bit of the packet that it answers (DECbit). Whether the window shrinks.
    fn on_bit(&mut self, _set: bool) -> bool {
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

/// The whole part; windows are far below 2⁵³.
pub(crate) fn whole(x: f64) -> f64 {
    x as u64 as f64
}
