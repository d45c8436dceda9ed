//! Which queued acknowledgement a later one of its connection makes redundant.

use crate::discipline::Packet;
use crate::fifo::Fifo;
use sluicegate_base::choices;

choices! {
    /// What happens to queued acknowledgements that a later one makes redundant.
    pub enum AckFilter {
        /// They are sent.
        Disabled = "disabled",
        /// The first of two or more is dropped: one stays beside the latest.
        Enabled = "enabled",
        /// One alone is dropped too, when it is right before the latest.
        Aggressive = "aggressive",
    }
}

/// Whether sequence number `a` is after `b`, modulo 2³².
fn is_after(a: u32, b: u32) -> bool {
    (b.wrapping_sub(a) as i32) < 0
}

/// The place of the acknowledgement that the packet at the tail makes redundant, if there is one.
///
/// One is eligible when it is bare, of the same flow, not after the latest, and tells nothing that the latest does not.
/// Of those found the first goes, unless the flags of ECN change behind it: then it said something.
pub(super) fn redundant<P: Packet, Tag>(queue: &Fifo<P, Tag>, aggressive: bool) -> Option<usize> {
    let mut before = queue.iter();
    let latest = before.next_back()?;
    let (flow, trigger, last) = (latest.flow(), latest.ack()?, before.len());
    let (mut eligible, mut found) = (None, 0);
    for (at, packet) in before.enumerate().filter(|(_, packet)| packet.flow() == flow) {
        let Some(ack) = packet.ack() else { continue };
        if eligible.is_some_and(|(_, echo)| echo != ack.echo) {
            eligible = None;
            found -= 1;
        }
        let told = !ack.sacks && (ack.number != trigger.number || trigger.sacks);
        if !ack.bare || is_after(ack.number, trigger.number) || !told {
            continue;
        }
        let (first, _) = *eligible.get_or_insert((at, ack.echo));
        found += 1;
        if found > 1 {
            return Some(first);
        }
    }
    eligible.filter(|(at, echo)| aggressive && at + 1 == last && *echo == trigger.echo).map(|(at, _)| at)
}
