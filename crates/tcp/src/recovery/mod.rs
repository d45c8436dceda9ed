//! Loss recovery: what three duplicate acknowledgements mean, and what is then sent.
//!
//! One file holds one scheme. A scheme drives the [`Core`] that it is lent: it says what is acknowledged, when the window
//! is cut, which byte is sent next. The windows themselves are [`crate::cc`]'s business.

mod newreno;
mod reno;
mod sack;
mod tahoe;

pub use newreno::NewReno;
pub use reno::Reno;
pub use sack::{Pipe, Sack};
pub use tahoe::Tahoe;

use crate::segment::Segment;
use crate::send::Core;
use sluicegate_base::Time;

/// Duplicate acknowledgements that show a loss (RFC 5681, Section 3.2).
pub const DUP_THRESH: u32 = 3;

/// A scheme of loss recovery.
pub trait Recovery: Send {
    /// Segments that may be under way beyond the congestion window (fast recovery's inflation).
    fn inflation(&self) -> u64 {
        0
    }

    /// An acknowledgement of new data.
    fn on_new_ack(&mut self, core: &mut Core, segment: &Segment, now: Time);

    /// An acknowledgement that repeats the last one while data is under way.
    fn on_dup_ack(&mut self, core: &mut Core, segment: &Segment, now: Time);

    /// The retransmission timer has expired; the core has gone back to the first unacknowledged byte.
    fn on_timeout(&mut self, core: &mut Core);

    /// The byte to send next; `None` when nothing may be sent now.
    fn next(&mut self, core: &mut Core) -> Option<u64> {
        core.next_in_window(self.inflation())
    }
}
