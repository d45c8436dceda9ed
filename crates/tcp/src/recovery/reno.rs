//! # Reno
//!
//! Fast recovery (Jacobson 1990; RFC 2581): three duplicate acknowledgements halve the window and send the lost segment
//! again; each further one lets another segment out, until new data is acknowledged.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | RFC 2581: cwnd = ssthresh + 3 on entry, deflated to ssthresh on exit | cwnd is the half, the inflation is counted apart and dropped at the first new acknowledgement | the same window; ns-2's `dupwnd_` |
//! | nothing on several losses in a window | no second halving until an acknowledgement passes the highest byte sent at the last one | ns-2, `bugFix_`; RFC 6582's "recover" |

use super::{DUP_THRESH, Recovery};
use crate::segment::Segment;
use crate::send::{Core, Cut, Permit};
use sluicegate_base::Time;

/// The state of Reno's fast recovery.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reno {
    /// Segments that duplicate acknowledgements have added.
    inflation: u64,
    /// Whether a fast retransmit is being recovered from.
    recovering: bool,
}

impl Recovery for Reno {
    fn inflation(&self) -> u64 {
        self.inflation
    }

    fn on_new_ack(&mut self, core: &mut Core, segment: &Segment, now: Time) {
        self.recovering = false;
        self.inflation = 0;
        if core.cut == Cut::Loss {
            core.cut = Cut::Nothing;
        }
        core.acknowledge(segment.ack, now);
        core.grow(segment, now);
        core.permit = Permit::Window;
    }

    fn on_dup_ack(&mut self, core: &mut Core, _segment: &Segment, now: Time) {
        core.dupacks += 1;
        if core.dupacks == DUP_THRESH {
            let halve = core.recovered();
            if halve || core.cut == Cut::Mark {
                // A window that a mark has just halved is not halved again (RFC 3168, Section 6.1.2).
                self.inflation = core.enter(halve, self.inflation, now);
                self.recovering = true;
            }
        } else if core.dupacks > DUP_THRESH && self.recovering {
            self.inflation += 1;
        }
        core.permit = Permit::after_dup(core);
    }

    fn on_timeout(&mut self, core: &mut Core) {
        core.dupacks = 0;
        *self = Reno::default();
    }
}
