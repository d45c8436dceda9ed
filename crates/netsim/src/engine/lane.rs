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

    /// Whether it had been added before an event that had so many before it.
    #[inline(always)]
    fn is_older(&self, added: u32) -> bool {
        (self.added.wrapping_sub(added) as i32) < 0
    }

    /// Whether it comes before another one of any lane.
    #[inline(always)]
    fn precedes(&self, other: &Entry) -> bool {
        if self.time != other.time {
            return self.time < other.time;
        }
        self.owner < other.owner || (self.owner == other.owner && self.is_older(other.added))
    }
}

/// How many entries a new one may come before and still find its place; one that would come before more has none.
const STEPS: usize = 8;

/// Entries in order. The first is at hand, and the others are in a ring. The standard library's queue does as much for more
/// instructions: its length need not be a power of two.
#[derive(Debug)]
struct Lane {
    /// The first entry; [`Entry::NONE`] when there is none.
    head: Entry,
    /// Time and owner of the last entry; when there is none, of one that none follows.
    last: (u64, u64),
    /// As many places as a power of two.
    ring: Vec<Entry>,
    /// The place of the second entry, counted on and on, and of the one behind the last.
    first: usize,
    end: usize,
}

const NONE_FOLLOWS: (u64, u64) = (u64::MAX, u64::MAX);

impl Default for Lane {
    fn default() -> Lane {
        Lane { head: Entry::NONE, last: NONE_FOLLOWS, ring: vec![Entry::default()], first: 0, end: 0 }
    }
}

impl Lane {
    #[inline(always)]
    fn at(&mut self, place: usize) -> &mut Entry {
        let mask = self.ring.len() - 1;
        &mut self.ring[place & mask]
    }

    /// Whether a packet would come before the last.
    #[inline(always)]
    fn is_out_of_order(&self, entry: &Entry) -> bool {
        entry.time <= self.last.0 && (entry.time, entry.owner) < self.last
    }

    /// Adds a packet, behind all of its owner at the same time; false when its place is too far from the end, and it has not
    /// been added.
    fn push(&mut self, entry: Entry) -> bool {
        if self.head.time == u64::MAX {
            (self.head, self.last) = (entry, (entry.time, entry.owner));
            return true;
        }
        if !self.is_out_of_order(&entry) {
            self.append(entry);
            return true;
        }
        let near = self.is_near_end(&entry);
        if near {
            self.insert(entry);
        }
        near
    }

    /// Whether a packet would come before few others.
    #[inline(always)]
    fn is_near_end(&mut self, entry: &Entry) -> bool {
        let count = self.end.wrapping_sub(self.first);
        count < STEPS || !entry.before(self.at(self.end.wrapping_sub(STEPS)))
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
    fn insert(&mut self, entry: Entry) {
        if entry.before(&self.head) {
            if self.first == self.end {
                self.append(self.head);
            } else {
                self.make_room();
                self.first = self.first.wrapping_sub(1);
                *self.at(self.first) = self.head;
            }
            self.head = entry;
            return;
        }
        let last = *self.at(self.end.wrapping_sub(1));
        self.append(last);
        let mut place = self.end.wrapping_sub(1);
        while place != self.first && entry.before(self.at(place.wrapping_sub(1))) {
            *self.at(place) = *self.at(place.wrapping_sub(1));
            place = place.wrapping_sub(1);
        }
        *self.at(place) = entry;
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

    /// The packet that has so many others between the first and itself, if there is one.
    #[inline(always)]
    fn get(&self, place: usize) -> Option<u32> {
        let (count, mask) = (self.end.wrapping_sub(self.first), self.ring.len() - 1);
        (place < count).then(|| self.ring[self.first.wrapping_add(place) & mask].packet)
    }

    /// Takes the first packet, which there must be.
    #[inline(always)]
    fn pop(&mut self) -> u32 {
        let packet = self.head.packet;
        if self.first == self.end {
            (self.head, self.last) = (Entry::NONE, NONE_FOLLOWS);
        } else {
            self.head = *self.at(self.first);
            self.first = self.first.wrapping_add(1);
        }
        packet
    }
}

/// How many lanes there are for one kind of event.
const LANES: usize = 3;

/// Packets of one kind of event in some lanes, as in patience sorting: each goes to the first lane where it comes last. One is
/// enough for packets that are known in the order in which they come. What is sent back to back by one of many hosts, what is
/// known a way sooner as it goes in the other direction, and what is sent by timers is in others.
#[derive(Debug, Default)]
pub struct Lanes {
    lanes: [Lane; LANES],
    /// Which lane has the first packet.
    first: usize,
    /// Whether no lane but the first has any, which is so mostly.
    alone: bool,
}

impl Lanes {
    /// Adds a packet that comes last in the first lane, and not first of all. False, and nothing is done, if it does not.
    #[inline(always)]
    pub fn append(&mut self, time: u64, packet: u32, owner: u64, added: u64) -> bool {
        let entry = Entry { time, owner, packet, added: added as u32 };
        let follows = !self.lanes[0].is_out_of_order(&entry);
        if follows {
            self.lanes[0].append(entry);
        }
        follows
    }

    /// Adds the first packet of all.
    #[inline(always)]
    pub fn start(&mut self, time: u64, packet: u32, owner: u64, added: u64) {
        let lane = &mut self.lanes[0];
        (lane.head, lane.last) = (Entry { time, owner, packet, added: added as u32 }, (time, owner));
        (self.first, self.alone) = (0, true);
    }

    /// As [`Lane::push`].
    pub fn push(&mut self, time: u64, packet: u32, owner: u64, added: u64) -> bool {
        let entry = Entry { time, owner, packet, added: added as u32 };
        let takes = |lane: &Lane| lane.head.time == u64::MAX || !lane.is_out_of_order(&entry);
        let at = self.lanes.iter().position(takes).unwrap_or(LANES - 1);
        if !self.lanes[at].push(entry) {
            return false;
        }
        self.find_first();
        true
    }

    #[inline(always)]
    fn find_first(&mut self) {
        self.first = 0;
        self.alone = self.lanes[1..].iter().all(|lane| lane.head.time == u64::MAX);
        for at in 1..LANES {
            if self.lanes[at].head.precedes(&self.lanes[self.first].head) {
                self.first = at;
            }
        }
    }

    #[inline(always)]
    fn lane(&self) -> &Lane {
        &self.lanes[self.first]
    }

    /// The time of the first packet; `u64::MAX` when there is none.
    #[inline(always)]
    pub fn head(&self) -> u64 {
        self.lane().head.time
    }

    /// The owner of the first packet, if there is one.
    pub fn owner(&self) -> u64 {
        self.lane().head.owner
    }

    /// Whether the first packet was added before an event that had so many before it; within 2^31 events of each other.
    pub fn is_older(&self, added: u64) -> bool {
        self.lane().head.is_older(added as u32)
    }

    /// The packet that has so many others between the first and itself in its lane, if there is one.
    #[inline(always)]
    pub fn get(&self, place: usize) -> Option<u32> {
        self.lane().get(place)
    }

    /// Takes the first packet, which there must be; beside it, the time of the next one; `u64::MAX` when there is none.
    #[inline(always)]
    pub fn pop(&mut self) -> (u32, u64) {
        if self.alone {
            return (self.lanes[0].pop(), self.lanes[0].head.time);
        }
        let packet = self.lanes[self.first].pop();
        self.find_first();
        (packet, self.head())
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
                let added = lane.push(Entry { time, owner, packet: number, added: number });
                assert!(added || expected.len() - place >= STEPS, "at most {STEPS} come behind it");
                if added {
                    inserted += usize::from(place < expected.len());
                    expected.insert(place, (time, owner, number));
                } else {
                    refused += 1;
                }
            } else if !expected.is_empty() {
                assert_eq!(lane.head.owner, expected[0].1);
                assert_eq!(lane.pop(), expected.remove(0).2);
            }
            assert_eq!(lane.head.time, expected.first().map_or(u64::MAX, |entry| entry.0));
        }
        assert!(refused > 50 && inserted > 1000, "{refused}, {inserted}");
    }
}
