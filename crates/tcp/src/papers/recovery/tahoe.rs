//! # Tahoe
//!
//! Slow start, congestion avoidance and fast retransmit (Jacobson 1988; 4.3BSD-Tahoe): three duplicate acknowledgements
//! close the window to one segment, and everything from the lost one on is sent again.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | 4.3-Tahoe resends one segment, then goes on where it was; a second loss in the window waits for the timer | the next to send goes back to the first unacknowledged byte, so slow start sends every lost segment again | ns-2, `Agent/TCP`, which grew from RED 1993's simulator; the same for one loss in a window, as the receiver keeps what is out of order |
//! | nothing on several losses in a window | no second fast retransmit until an acknowledgement passes the highest byte sent at the first | ns-2, `bugFix_` |
//! | 4.3BSD forgets duplicates at a timeout | they count on until new data is acknowledged | ns-2; duplicates of what was sent before the timeout then let nothing out |
//! | no limited transmit | as the host says | RFC 3042 came later; ns-2's default has it |

use super::Recovery;
use crate::cc::CongestionControl;
use crate::papers::send_core::{CongestionState, Core, DUP_THRESH, SendQuota};
use crate::segment::Plain;
use sluicegate_base::Time;

/// Tahoe keeps nothing beyond the core.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tahoe;

impl Recovery for Tahoe {
    #[inline]
    fn on_new_ack(&mut self, core: &mut Core, segment: &Plain, now: Time) {
        let acked = core.acknowledge(segment.ack, now);
        core.grow(segment, acked, now);
        core.quota = SendQuota::Window;
    }

    fn on_dup_ack(&mut self, core: &mut Core, _segment: &Plain, now: Time) {
        core.dupacks += 1;
        if core.dupacks == DUP_THRESH {
            if core.recovered() {
                core.recover = core.max + 1;
                core.state = CongestionState::Recovery;
                core.cc.on_timeout(core.window(0), true);
                core.announce_cut();
                core.counters.fast_retransmits += 1;
                core.restart_timer(now);
                core.nxt = core.una;
            } else if core.state == CongestionState::Cwr {
                core.state = CongestionState::Recovery;
                core.cc.on_timeout(core.window(0), false);
                core.announce_cut();
                core.restart_timer(now);
                core.nxt = core.una;
            }
        }
        let one = core.dupacks < DUP_THRESH && core.limited_transmit;
        core.quota = if one { SendQuota::One } else { SendQuota::Window };
    }

    fn on_timeout(&mut self, _core: &mut Core, _now: Time) {}
}
