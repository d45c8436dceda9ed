//! The kernel's filter of acknowledgements.

use super::Queued;

/// The acknowledgement that the packet at the tail makes redundant.
pub(super) fn filter(packets: &[Queued], aggressive: bool) -> Option<usize> {
    let (last, before) = packets.split_last()?;
    let trigger = last.packet.ack?;
    let (mut eligible, mut flags, mut num_found) = (None, 0, 0);
    for (at, queued) in before.iter().enumerate() {
        let Some(check) = queued.packet.ack.filter(|_| queued.packet.flow == last.packet.flow) else { continue };
        if eligible.is_some() && check.echo != flags {
            eligible = None;
            num_found -= 1;
        }
        let later = (trigger.number.wrapping_sub(check.number) as i32) < 0;
        if !check.bare || later {
            continue;
        }
        let sack_compare = match (check.sacks, trigger.sacks) {
            (true, _) => -1,
            (false, true) => 1,
            (false, false) => 0,
        };
        if sack_compare < 0 || (sack_compare == 0 && check.number == trigger.number) {
            continue;
        }
        if eligible.is_none() {
            (eligible, flags) = (Some(at), check.echo);
        }
        if num_found > 0 {
            return eligible;
        }
        num_found += 1;
    }
    eligible.filter(|at| aggressive && at + 1 == before.len() && flags == trigger.echo)
}
