//! # Undoing what was for nothing
//!
//! A reduction is taken back when all that was sent again turns out to have been needless: every repetition was reported as a
//! duplicate (DSACK, RFC 2883, RFC 3708), or an acknowledgement echoes a timestamp from before the first repetition (Eifel,
//! RFC 3522, RFC 4015).
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | RFC 4015, Sec. 3.4: the window goes to what is under way plus what was acknowledged, at most the initial window | back to the window before | Linux, tcp_undo_cwnd_reduction |
//! | RFC 4015, Sec. 3.6: the timer's estimate is made more conservative | it is not | Linux |
//! | RFC 3522: the timestamp of the repetition is kept for each | that of the first repetition of an episode, in milliseconds | Linux, retrans_stamp |

use core::num::NonZeroU64;

/// The state of one connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    /// The byte after the first that was not acknowledged when the episode began; none: there is nothing to take back
    /// (undo_marker).
    pub marker: Option<NonZeroU64>,
    /// Repetitions not yet reported as duplicates; negative before there is any (undo_retrans).
    pub resent: i32,
    /// The timestamp of the episode's first repetition; zero: there is none (retrans_stamp).
    pub stamp: u32,
    /// The threshold before; zero: not to be restored (prior_ssthresh).
    pub prior_ssthresh: u32,
}

impl Undo {
    /// A packet goes out again.
    pub fn on_resent(&mut self, stamp: u32) {
        if self.stamp == 0 {
            self.stamp = stamp;
        }
        self.resent = self.resent.max(0) + 1;
    }

    /// So many packets between these bytes came twice.
    pub fn on_duplicates(&mut self, end: u64, packets: i32) {
        if self.resent > 0 && self.marker.is_some_and(|marker| end >= marker.get()) {
            self.resent = (self.resent - packets).max(0);
        }
    }
}
