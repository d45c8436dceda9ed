//! Timers of connections, of which most move before they expire: what an end hears puts them off.
//!
//! So none is an event by itself. Time is cut into turns, and as one begins, the ends are looked at whose timers might expire in
//! it; what still does becomes an event, and the others wait for a later turn. That costs a third of an event that finds nothing
//! to do.

use crate::network::packet::End;
use std::array;

/// A turn takes 2^22 ns, about four milliseconds.
const SHIFT: u32 = 22;

/// How many turns are told apart; what expires later is looked at in the last of them.
const TURNS: u64 = 256;

/// For how many ends each turn keeps memory when it is over.
const KEPT: usize = 64;

/// A turn that does not come.
const NEVER: u64 = u64::MAX;

/// Ends of connections, by their slots, which wait for their turns.
#[derive(Debug)]
pub struct Timers {
    ends: [Vec<(u32, End)>; TURNS as usize],
    /// The first turn for which any waits.
    first: u64,
}

impl Timers {
    /// None.
    pub fn new() -> Timers {
        Timers { ends: array::from_fn(|_| Vec::new()), first: NEVER }
    }

    /// An end whose timer expires at `time` waits for its turn: when that begins, and whether no other end has an earlier one.
    /// None if it has begun by `now`.
    #[inline]
    pub fn add(&mut self, slot: u32, end: End, time: u64, now: u64) -> Option<(u64, bool)> {
        let present = now >> SHIFT;
        let turn = (time >> SHIFT).min(present + TURNS - 1);
        if turn <= present {
            return None;
        }
        self.ends[(turn % TURNS) as usize].push((slot, end));
        let first = turn < self.first;
        self.first = self.first.min(turn);
        Some((turn << SHIFT, first))
    }

    /// An end whose turn begins `now`; `None` when all have been given.
    pub fn take(&mut self, now: u64) -> Option<(u32, End)> {
        self.ends[((now >> SHIFT) % TURNS) as usize].pop()
    }

    /// When the first turn begins after the one that began `now`, if any end waits; none if that has been told.
    pub fn next(&mut self, now: u64) -> Option<u64> {
        let present = now >> SHIFT;
        if self.first != present {
            return None;
        }
        self.ends[(present % TURNS) as usize].shrink_to(KEPT);
        let waits = |turn: &u64| !self.ends[(turn % TURNS) as usize].is_empty();
        let next = (present + 1..present + TURNS).find(waits);
        self.first = next.unwrap_or(NEVER);
        next.map(|turn| turn << SHIFT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluicegate_base::Stream;
    use std::collections::BTreeSet;

    #[test]
    fn an_end_is_given_in_the_turn_of_its_timer_or_the_last_one_before() {
        let (mut timers, mut rng, mut begins) = (Timers::new(), Stream::new(1, "timers"), BTreeSet::new());
        let (mut now, mut added, mut given) = (0, Vec::new(), 0);
        for _ in 0..10_000 {
            now += rng.below(1 << SHIFT);
            while let Some(begin) = begins.first().copied().filter(|begin| *begin <= now) {
                begins.remove(&begin);
                while let Some((slot, _)) = timers.take(begin) {
                    let (since, expires): (u64, u64) = added[slot as usize];
                    let turns = (begin >> SHIFT) - (since >> SHIFT);
                    assert!(begin <= expires && (expires - begin < 1 << SHIFT || turns == TURNS - 1));
                    given += 1;
                }
                begins.extend(timers.next(begin));
            }
            let expires = now + rng.below(400 << SHIFT);
            if let Some((turn, first)) = timers.add(added.len() as u32, End::Sender, expires, now) {
                added.push((now, expires));
                begins.extend(first.then_some(turn));
            }
        }
        assert!(given > 9_000 && added.len() - given <= 2 * TURNS as usize, "{given} of {}", added.len());
    }
}
