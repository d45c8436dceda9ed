//! Timers of connections, of which most move before they expire: what an end receives postpones them.
//!
//! So a timer is not an event from the start. Time is cut into turns. As a turn begins, the engine looks at the ends whose
//! timers might expire in it: a timer that is still due in that turn becomes an event, and the others wait for a
//! later turn. A look costs a third of an event that finds nothing to do.

use crate::network::packet::End;
use std::array;

/// A turn takes 2^22 ns, about four milliseconds.
const SHIFT: u32 = 22;

/// How many turns are told apart; what expires later is looked at in the last of them.
const TURNS: u64 = 256;

/// For how many ends each turn keeps memory when it is over.
const KEPT: usize = 64;

/// When a turn begins that does not come.
const NEVER: u64 = u64::MAX;

/// Ends of connections, by their slots, which wait for their turns.
#[derive(Debug)]
pub struct Timers {
    ends: [Vec<(u32, End)>; TURNS as usize],
    /// When the first turn begins for which any waits.
    begins: u64,
}

impl Timers {
    /// None.
    pub fn new() -> Timers {
        Timers { ends: array::from_fn(|_| Vec::new()), begins: NEVER }
    }

    /// When the first turn begins for which any end waits; later than any run if none does.
    #[inline(always)]
    pub fn begins(&self) -> u64 {
        self.begins
    }

    /// An end whose timer expires at `time` waits for its turn: when that begins. None if it has begun by `now`.
    #[inline]
    pub fn add(&mut self, slot: u32, end: End, time: u64, now: u64) -> Option<u64> {
        let present = now >> SHIFT;
        let turn = (time >> SHIFT).min(present + TURNS - 1);
        if turn <= present {
            return None;
        }
        self.ends[(turn % TURNS) as usize].push((slot, end));
        self.begins = self.begins.min(turn << SHIFT);
        Some(turn << SHIFT)
    }

    /// An end of the first turn, which has begun; `None` when all have been given, and the next one with ends is the first.
    pub fn take(&mut self) -> Option<(u32, End)> {
        let present = self.begins >> SHIFT;
        let taken = self.ends[(present % TURNS) as usize].pop();
        if taken.is_none() {
            self.find_next(present);
        }
        taken
    }

    /// An end that [`take`](Timers::take) gives after so many others of the first turn, if there is one.
    pub fn following(&self, others: usize) -> Option<(u32, End)> {
        self.ends[(self.begins >> SHIFT) as usize % TURNS as usize].iter().nth_back(others).copied()
    }

    fn find_next(&mut self, present: u64) {
        self.ends[(present % TURNS) as usize].shrink_to(KEPT);
        let waits = |turn: &u64| !self.ends[(turn % TURNS) as usize].is_empty();
        self.begins = (present + 1..present + TURNS).find(waits).map_or(NEVER, |turn| turn << SHIFT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluicegate_base::Stream;

    #[test]
    fn an_end_is_given_in_the_turn_of_its_timer_or_the_last_one_before() {
        let (mut timers, mut rng, mut now) = (Timers::new(), Stream::new(1, "timers"), 0);
        let (mut added, mut given) = (Vec::new(), 0);
        for _ in 0..10_000 {
            now += rng.below(1 << SHIFT);
            while timers.begins() <= now {
                let begin = timers.begins();
                while let Some((slot, _)) = timers.take() {
                    let (since, expires): (u64, u64) = added[slot as usize];
                    let turns = (begin >> SHIFT) - (since >> SHIFT);
                    assert!(begin <= expires && (expires - begin < 1 << SHIFT || turns == TURNS - 1));
                    given += 1;
                }
            }
            let expires = now + rng.below(400 << SHIFT);
            if timers.add(added.len() as u32, End::Sender, expires, now).is_some() {
                added.push((now, expires));
            }
        }
        assert!(given > 9_000 && added.len() - given <= 2 * TURNS as usize, "{given} of {}", added.len());
    }
}
