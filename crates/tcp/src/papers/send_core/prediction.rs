//! Header prediction (Jacobson 1990): a fast path for what makes up nearly all of a transfer, namely an acknowledgement of new
//! data outside recovery and, after it, the next full segment. It does what Tahoe's, Reno's and NewReno's
//! [`Recovery`](crate::papers::recovery::Recovery) and [`Core::emit`] do then; a test beside [`Connection`](crate::Connection) compares them.

use super::{Core, NONE, SendQuota};
use crate::papers::cc::CongestionController;
use crate::segment::Plain;
use sluicegate_base::Time;

impl Core {
    /// An acknowledgement of new data without ECE, if it is as predicted: no recovery, a window like Reno's. False, and
    /// nothing is done, if it is not.
    #[inline(always)]
    pub(crate) fn on_predicted_ack(&mut self, ack: u64, now: Time) -> bool {
        if !self.predictable || self.inflation > 0 || ack <= self.una || ack > self.max {
            return false;
        }
        self.straight = false;
        self.una = ack;
        self.nxt = self.nxt.max(ack);
        self.dupacks = 0;
        self.marked_at_one = false;
        if ack >= self.timed_end {
            self.end_measurement(now);
        }
        self.set_timer(now);
        if let CongestionController::Reno(reno) = &mut self.cc {
            reno.grow();
            self.edge = ack + (u64::from(reno.segments()) * u64::from(self.mss)).min(self.wnd);
        }
        self.quota = SendQuota::Window;
        // With data under way the timer runs, and the next to send is new unless a timeout has gone back.
        if ack < self.max && self.nxt == self.max && !self.resend && !self.announce_cut {
            self.predict_segment();
        }
        true
    }

    /// Whether the next segment is a full one, not the last, that the window holds.
    #[inline(always)]
    fn predict_segment(&mut self) {
        let end = self.nxt + u64::from(self.mss);
        let full = end < self.written;
        self.straight = full && end <= self.edge;
        if full && end > self.edge {
            self.quota = SendQuota::Nothing;
        }
    }

    /// Writes the predicted segment.
    #[inline(always)]
    pub(crate) fn emit_predicted(&mut self, now: Time, segment: &mut Plain) {
        let (seq, end) = (self.nxt, self.nxt + u64::from(self.mss));
        (self.nxt, self.max) = (end, end);
        if self.timed_end == NONE {
            (self.timed_end, self.timed_sent) = (end, now);
        }
        self.segments += 1;
        segment.set(seq, self.mss, self.ect);
        self.predict_segment();
    }
}
