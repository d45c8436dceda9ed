//! Marks in place of early drops, as disciplines that signal with a probability share them.
//!
//! A flow that ignores marks keeps all its packets in a queue that only marks, and fills it. So routers are to drop
//! ECN-capable packets too when the marking rate would be high (RFC 3168, Sec. 7; RFC 7567, Sec. 4.2.1).
//!
//! Here p = `mark_th` still marks. `pie` and `fq_pie` drop at p = `mark_th`, as RFC 8033's pseudocode does.

use crate::discipline::Packet;
use crate::red::Action;
use sluicegate_base::{Range, params};

params! {
    /// How a discipline with a probability signals congestion.
    pub struct Marking {
        /// Drop packets; or mark ECN-capable packets and drop the others.
        action: Action = default(Action::Drop), source("RFC 3168, Sec. 5");
        /// With action mark: above this probability ECN-capable packets are dropped, too; with 1 they are always
        /// marked.
        mark_th: f64 = default(0.1), unit("1"), range(Range::from(0.0).to(1.0)),
            source("RFC 3168, Sec. 7; the value is PIE's, RFC 8033, Sec. 5.1");
    }
}

impl Marking {
    /// Whether a packet that is signalled, with probability `p`, is to be dropped. If not, it now carries a mark.
    #[inline]
    pub fn drops<P: Packet>(&self, p: f64, packet: &mut P) -> bool {
        !(self.action == Action::Mark && p <= self.mark_th && packet.mark())
    }
}
