//! # Reno
//!
//! Fast recovery (Jacobson 1990; RFC 2581): three duplicate acknowledgements halve the window and send the lost segment
//! again; each further one lets another segment out, until new data is acknowledged.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | RFC 2581: cwnd = ssthresh + 3 on entry, deflated to ssthresh on exit | cwnd is the half, the inflation is counted apart and dropped at the first new acknowledgement | the same window; ns-2's `dupwnd_` |
//! | nothing on several losses in a window | no second halving until an acknowledgement passes the highest byte sent at the last one | ns-2, `bugFix_`; RFC 6582's "recover" |

use super::{Recovery, exit, forget_dup_acks, on_dup_ack};
use crate::papers::send_core::{Core, SendQuota};
use crate::segment::Plain;
use sluicegate_base::Time;

/// Reno keeps nothing beyond the core.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reno;

impl Recovery for Reno {
    #[inline]
    fn on_new_ack(&mut self, core: &mut Core, segment: &Plain, now: Time) {
        exit(core, segment, now);
        core.quota = SendQuota::Window;
    }

    #[inline]
    fn on_dup_ack(&mut self, core: &mut Core, _segment: &Plain, now: Time) {
        on_dup_ack(core, now);
        core.quota = SendQuota::after_dup(core);
        core.close_full_window();
    }

    fn on_timeout(&mut self, core: &mut Core, _now: Time) {
        forget_dup_acks(core);
    }
}
