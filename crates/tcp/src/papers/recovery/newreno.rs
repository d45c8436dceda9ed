//! # NewReno
//!
//! Reno that stays in fast recovery until everything sent before it is acknowledged: an acknowledgement of a part of that
//! sends the next lost segment at once (Hoe 1996; RFC 6582).
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | RFC 6582: on a partial acknowledgement deflate by what it covers, add one segment | the same, taken from the inflation first | ns-2, `partial_window_deflation_` |
//! | RFC 6582: the timer is restarted by the first partial acknowledgement (impatient) | so | ns-2, `newreno_changes1_` |
//! | RFC 6582: at the end cwnd = min(ssthresh, max(flight, 1) + 1), or ssthresh | cwnd as the deflations left it | ns-2 with `exit_recovery_fix_` off; below ssthresh slow start makes up for it |
//! | RFC 6582: the window limits what is sent in recovery | and no acknowledgement there lets out more than two segments beside a retransmission | ns-2, `send_much(0, 0, 2)` |

use super::{Recovery, exit, forget_dup_acks, on_dup_ack};
use crate::cc::CongestionControl;
use crate::papers::send_core::{CongestionState, Core, SendQuota};
use crate::segment::Plain;
use sluicegate_base::Time;

/// Segments that one acknowledgement lets out during recovery.
const BURST: u8 = 2;

/// The state of NewReno's fast recovery.
#[derive(Clone, Copy, Debug, Default)]
pub struct NewReno {
    /// Whether a partial acknowledgement has come in this recovery.
    partial: bool,
}

/// RFC 6582, Section 3.2, step 3: the window shrinks by what has left it, less the segment that is sent again.
fn deflate(core: &mut Core, acked: u64) {
    let segments = acked.div_ceil(u64::from(core.mss)).max(1);
    let inflation = u64::from(core.inflation);
    if inflation > segments {
        core.inflation -= (segments - 1) as u32;
    } else {
        core.cc.set_cwnd(core.cc.cwnd() - (segments - inflation) as f64);
        core.inflation = 1;
    }
}

impl Recovery for NewReno {
    #[inline]
    fn on_new_ack(&mut self, core: &mut Core, segment: &Plain, now: Time) {
        // An acknowledgement that brings a mark from beyond the recovery has ended it.
        let partial = core.state == CongestionState::Recovery && segment.ack + 1 < core.recover;
        if core.inflation > 0 && partial {
            deflate(core, segment.ack - core.una);
            core.advance(segment.ack);
            if !self.partial {
                self.partial = true;
                core.restart_timer_only(now);
            }
            core.forget_sample(segment.ack);
            core.resend = true;
            core.quota = SendQuota::Burst(BURST);
            return;
        }
        self.partial = false;
        exit(core, segment, now);
        core.quota = SendQuota::Window;
    }

    #[inline]
    fn on_dup_ack(&mut self, core: &mut Core, _segment: &Plain, now: Time) {
        on_dup_ack(core, now);
        core.quota = match SendQuota::after_dup(core) {
            SendQuota::Window => SendQuota::Burst(BURST),
            other => other,
        };
        core.close_full_window();
    }

    fn on_timeout(&mut self, core: &mut Core, _now: Time) {
        forget_dup_acks(core);
        self.partial = false;
    }
}
