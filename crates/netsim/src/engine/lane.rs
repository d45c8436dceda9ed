//! Packets that wait for about the same time, each: a ring of entries in the order in which they come.

/// A packet that will be somewhere.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    time: u64,
    /// The number of its flow and direction, which decides at equal times.
    owner: u64,
    packet: u32,
    /// How many events had been added before, as far as 32 bits tell, which decides between packets of one owner.
    added: u32,
}

impl Entry {
    /// None: it would come after all others.
    const NONE: Entry = Entry { time: u64::MAX, owner: u64::MAX, packet: u32::MAX, added: 0 };

    #[inline(always)]
    fn before(&self, other: &Entry) -> bool {
        self.time < other.time || (self.time == other.time && self.owner < other.owner)
    }
}

/// How many entries a new one may come before and still find its place; one that would come before more has none.
const STEPS: usize = 8;

/// Entries in order. The first is at hand, and the others are in a ring. The standard library's queue does as much for more
/// instructions: its length need not be a power of two.
#[derive(Debug)]
pub struct Lane {
    /// The first entry; [`Entry::NONE`] when there is none.
    head: Entry,
    /// Time and owner of the last entry.
    last: (u64, u64),
    /// As many places as a power of two.
    ring: Vec<Entry>,
    /// The place of the second entry, counted on and on, and of the one behind the last.
    first: usize,
    end: usize,
}

impl Default for Lane {
    fn default() -> Lane {
        Lane { head: Entry::NONE, last: (0, 0), ring: vec![Entry::default()], first: 0, end: 0 }
    }
}

impl Lane {
    #[inline(always)]
    fn at(&mut self, place: usize) -> &mut Entry {
        let mask = self.ring.len() - 1;
        &mut self.ring[place & mask]
    }

    /// Adds a packet, behind all of its owner at the same time; false when its place is too far from the end, and it has not
    /// been added.
    #[inline(always)]
    pub fn push(&mut self, time: u64, packet: u32, owner: u64, added: u64) -> bool {
        let entry = Entry { time, owner, packet, added: added as u32 };
        if self.head.time == u64::MAX {
            (self.head, self.last) = (entry, (time, owner));
            return true;
        }
        if time <= self.last.0 && (time, owner) < self.last {
            return self.insert(entry);
        }
        self.append(entry);
        true
    }

    #[inline(always)]
    fn append(&mut self, entry: Entry) {
        self.make_room();
        self.last = (entry.time, entry.owner);
        *self.at(self.end) = entry;
        self.end = self.end.wrapping_add(1);
    }

    /// Adds one that comes before the last.
    #[cold]
    fn insert(&mut self, entry: Entry) -> bool {
        let count = self.end.wrapping_sub(self.first);
        if count >= STEPS && entry.before(self.at(self.end.wrapping_sub(STEPS))) {
            return false;
        }
        if entry.before(&self.head) {
            if count == 0 {
                self.append(self.head);
            } else {
                self.make_room();
                self.first = self.first.wrapping_sub(1);
                *self.at(self.first) = self.head;
            }
            self.head = entry;
            return true;
        }
        let last = *self.at(self.end.wrapping_sub(1));
        self.append(last);
        let mut place = self.end.wrapping_sub(1);
        while place != self.first && entry.before(self.at(place.wrapping_sub(1))) {
            *self.at(place) = *self.at(place.wrapping_sub(1));
            place = place.wrapping_sub(1);
        }
        *self.at(place) = entry;
        true
    }

    #[inline(always)]
    fn make_room(&mut self) {
        if self.end.wrapping_sub(self.first) == self.ring.len() {
            self.grow();
        }
    }

    #[cold]
    fn grow(&mut self) {
        let mask = self.ring.len() - 1;
        self.ring.rotate_left(self.first & mask);
        (self.first, self.end) = (0, self.ring.len());
        self.ring.resize(2 * self.ring.len(), Entry::default());
    }

    /// The time of the first packet; `u64::MAX` when there is none.
    #[inline(always)]
    pub fn head(&self) -> u64 {
        self.head.time
    }

    /// The owner of the first packet, if there is one.
    pub fn owner(&self) -> u64 {
        self.head.owner
    }

    /// Whether the first packet was added before an event that had so many before it; within 2^31 events of each other.
    pub fn is_older(&self, added: u64) -> bool {
        (self.head.added.wrapping_sub(added as u32) as i32) < 0
    }

    /// The packet that has so many others between the first and itself, if there is one.
    #[inline(always)]
    pub fn get(&self, place: usize) -> Option<u32> {
        let (count, mask) = (self.end.wrapping_sub(self.first), self.ring.len() - 1);
        (place < count).then(|| self.ring[self.first.wrapping_add(place) & mask].packet)
    }

    /// Takes the first packet, which there must be.
    #[inline(always)]
    pub fn pop(&mut self) -> u32 {
        let packet = self.head.packet;
        if self.first == self.end {
            self.head = Entry::NONE;
        } else {
            self.head = *self.at(self.first);
            self.first = self.first.wrapping_add(1);
        }
        packet
    }
}

/// Packets of one kind of event, in a lane for each direction of their flows: what a receiver answers is known a way sooner than
/// what its sender sends, and the two would come in each other's way.
#[derive(Debug, Default)]
pub struct Lanes([Lane; 2]);

impl Lanes {
    /// As [`Lane::push`]; the last bit of `owner` is the direction.
    #[inline(always)]
    pub fn push(&mut self, time: u64, packet: u32, owner: u64, added: u64) -> bool {
        self.0[(owner & 1) as usize].push(time, packet, owner, added)
    }

    /// Which of the two has the first packet.
    #[inline(always)]
    fn first(&self) -> usize {
        usize::from(self.0[1].head.before(&self.0[0].head))
    }

    /// The time of the first packet; `u64::MAX` when there is none.
    #[inline(always)]
    pub fn head(&self) -> u64 {
        self.0[0].head().min(self.0[1].head())
    }

    /// As [`Lane::owner`].
    pub fn owner(&self) -> u64 {
        self.0[self.first()].owner()
    }

    /// As [`Lane::is_older`].
    pub fn is_older(&self, added: u64) -> bool {
        self.0[self.first()].is_older(added)
    }

    /// As [`Lane::get`], in the lane that has the first packet.
    #[inline(always)]
    pub fn get(&self, place: usize) -> Option<u32> {
        self.0[self.first()].get(place)
    }

    /// As [`Lane::pop`].
    #[inline(always)]
    pub fn pop(&mut self) -> u32 {
        self.0[self.first()].pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluicegate_base::Stream;

    #[test]
    fn holds_a_sorted_list_of_what_comes_near_its_end() {
        let (mut lane, mut expected, mut rng) = (Lane::default(), Vec::new(), Stream::new(1, "lane"));
        let (mut refused, mut inserted) = (0, 0);
        for number in 0..100_000u32 {
            // It grows for a while, and then shrinks.
            if rng.below(100) < if number % 20_000 < 10_000 { 60 } else { 40 } {
                let (time, owner) = (u64::from(number) + rng.below(30), rng.below(4));
                let place = expected.partition_point(|&(t, o, _)| (t, o) <= (time, owner));
                let added = lane.push(time, number, owner, number.into());
                assert!(added || expected.len() - place >= STEPS, "at most {STEPS} come behind it");
                if added {
                    inserted += usize::from(place < expected.len());
                    expected.insert(place, (time, owner, number));
                } else {
                    refused += 1;
                }
            } else if !expected.is_empty() {
                assert_eq!(lane.owner(), expected[0].1);
                assert_eq!(lane.pop(), expected.remove(0).2);
            }
            assert_eq!(lane.head(), expected.first().map_or(u64::MAX, |entry| entry.0));
        }
        assert!(refused > 50 && inserted > 1000, "{refused}, {inserted}");
    }
}
