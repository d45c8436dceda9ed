//! Congestion control: how many segments may be under way, and what to do when acknowledgements stop.
//!
//! The sender ([`crate::send`]) keeps sequence numbers, counts duplicate acknowledgements and runs the timer; an algorithm
//! keeps its window and answers three events. One file holds one algorithm.

mod reno;

pub use reno::Reno;

/// What the sender knows when an event happens. Sequence numbers are bytes, windows are segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// The first byte not yet acknowledged, after the event.
    pub una: u64,
    /// The byte after the highest ever sent.
    pub max: u64,
    /// Duplicate acknowledgements in a row, this one included.
    pub dupacks: u32,
    /// The receiver's window.
    pub wnd: f64,
}

/// What the algorithm wants of the sender at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// Nothing but what the window allows.
    Nothing,
    /// Send the first unacknowledged segment again.
    Retransmit,
}

/// A congestion control algorithm.
pub trait CongestionControl: Send {
    /// The congestion window in segments.
    fn cwnd(&self) -> f64;

    /// The slow-start threshold in segments.
    fn ssthresh(&self) -> f64;

    /// Whole segments by which recovery inflates the window.
    fn inflation(&self) -> u64 {
        0
    }

    /// New data has been acknowledged.
    fn on_ack(&mut self, event: &Event) -> Reaction;

    /// A duplicate acknowledgement has come.
    fn on_dup_ack(&mut self, event: &Event) -> Reaction;

    /// The retransmission timer has expired; the sender goes back to the first unacknowledged segment.
    fn on_timeout(&mut self, event: &Event);
}

/// Duplicate acknowledgements that show a loss (RFC 5681, Section 3.2).
pub const DUP_THRESH: u32 = 3;
