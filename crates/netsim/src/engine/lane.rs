//! Packets that all wait about equally long: entries in the order in which they come, in blocks that all lanes share.

use crate::network::packet::WAITED;
use prefetch_index::prefetch_index;
use std::array;
use std::mem::replace;

/// A packet that will be somewhere. With thousands of flows there are many, so that they lie close.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, packed(4))]
pub struct Entry {
    pub time: u64,
    /// The number of its flow and direction, with a bit for having waited, from which is [`drawn`] what decides at equal times.
    pub owner: u32,
    pub packet: u32,
    /// How many events had been added before, as far as 32 bits tell, which decides between packets of one owner.
    pub added: u32,
}

/// What decides between packets of several owners at one time, as if drawn by lot: hosts on access links as fast as the bottleneck
/// meet at its queue at the same nanosecond again and again, where in the order of their numbers the first would have most of it.
/// The highest bit, which says that a packet has waited, stays: such a packet comes after others, as in ns-2. The other 31 bits
/// are mixed by steps that can each be undone, so that no two owners draw the same.
#[inline]
pub fn drawn(owner: u32, time: u64) -> u32 {
    let lot = (time.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) as u32;
    let times = |number: u32, odd: u32| number.wrapping_mul(odd) & !WAITED;
    let mixed = times((owner & !WAITED) ^ lot, 0x2C1B_3C6D);
    times(mixed ^ mixed >> 15, 0x297A_2D39) | owner & WAITED
}

const _: () = assert!(size_of::<Entry>() == 20, "each packet on its way has one");

impl Entry {
    /// None: it would come after all others.
    const NONE: Entry = Entry { time: u64::MAX, owner: u32::MAX, packet: u32::MAX, added: 0 };

    fn turn(&self) -> u32 {
        drawn(self.owner, self.time)
    }

    #[inline(always)]
    fn before(&self, other: &Entry) -> bool {
        self.time < other.time || (self.time == other.time && self.turn() < other.turn())
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
        self.turn() < other.turn() || (self.owner == other.owner && self.is_older(other.added))
    }
}

/// How many places a block has, of which the first is never used.
const BLOCK: usize = 128;

/// No block.
const NONE: u32 = u32::MAX;

/// The entries of all lanes, but the first one of each. A lane takes a block more when its last one is full, and gives the first one up
/// when it has been read: memory follows how many packets wait at once, and what was used last is used next.
#[derive(Debug, Default)]
pub struct Blocks {
    entries: Vec<Entry>,
    /// Of each block the one before and the one behind it in its lane.
    links: Vec<[u32; 2]>,
    free: Vec<u32>,
}

impl Blocks {
    /// A block, behind this one of the same lane: its first place.
    fn take(&mut self, before: u32) -> usize {
        let block = self.free.pop().unwrap_or_else(|| {
            self.entries.resize(self.entries.len() + BLOCK, Entry::default());
            self.links.push([NONE; 2]);
            self.links.len() as u32 - 1
        });
        self.links[block as usize] = [before, NONE];
        if let Some([_, behind]) = self.links.get_mut(before as usize) {
            *behind = block;
        }
        block as usize * BLOCK
    }

    /// Gives a block up: the first place of the one behind it, which there is.
    fn leave(&mut self, block: usize) -> usize {
        self.free.push(block as u32);
        self.links[block][1] as usize * BLOCK
    }
}

/// How many entries a new one may come before and still find its place; one that would come before more has none.
const STEPS: usize = 8;

/// Entries in order. The first is at hand, and the others are in blocks.
#[derive(Debug)]
struct Lane {
    /// The first entry; [`Entry::NONE`] when there is none.
    head: Entry,
    /// Time and owner of the last entry; when there is none, of one that none follows.
    last: (u64, u32),
    /// The place before the second entry, and the place of the last one: the same when there is no second one.
    first: usize,
    end: usize,
}

const NONE_FOLLOWS: (u64, u32) = (u64::MAX, u32::MAX);

impl Lane {
    /// An empty one, in the block that begins there.
    fn new(place: usize) -> Lane {
        Lane { head: Entry::NONE, last: NONE_FOLLOWS, first: place, end: place }
    }

    /// Whether a packet would come before the last.
    #[inline(always)]
    fn is_out_of_order(&self, entry: &Entry) -> bool {
        let (time, owner) = self.last;
        entry.time <= time && (entry.time < time || entry.turn() < drawn(owner, time))
    }

    /// Whether a packet would come last.
    #[inline(always)]
    fn takes(&self, entry: &Entry) -> bool {
        self.head.time == u64::MAX || !self.is_out_of_order(entry)
    }

    /// Adds a packet, behind all of its owner at the same time; false when its place is too far from the end, and it has not
    /// been added.
    fn push(&mut self, entry: Entry, blocks: &mut Blocks) -> bool {
        if self.head.time == u64::MAX {
            (self.head, self.last) = (entry, (entry.time, entry.owner));
            return true;
        }
        if !self.is_out_of_order(&entry) {
            self.append(entry, blocks);
            return true;
        }
        self.insert(entry, blocks)
    }

    #[inline(always)]
    fn append(&mut self, entry: Entry, blocks: &mut Blocks) {
        self.last = (entry.time, entry.owner);
        self.extend(blocks);
        blocks.entries[self.end] = entry;
    }

    /// Goes on to the place behind the last one.
    #[inline(always)]
    fn extend(&mut self, blocks: &mut Blocks) {
        self.end += 1;
        if self.end % BLOCK == 0 {
            self.extend_to_block(blocks);
        }
    }

    #[cold]
    fn extend_to_block(&mut self, blocks: &mut Blocks) {
        let full = self.end - BLOCK;
        if self.first == self.end - 1 {
            // All of it has been read.
            (self.first, self.end) = (full, full);
        } else {
            self.end = blocks.take((full / BLOCK) as u32);
        }
        self.end += 1;
    }

    /// The place before this one, which has an entry.
    fn before(&self, place: usize, blocks: &Blocks) -> usize {
        if place % BLOCK > 1 || place - 1 == self.first {
            return place - 1;
        }
        blocks.links[place / BLOCK][0] as usize * BLOCK + BLOCK - 1
    }

    /// The entry that has `STEPS` - 1 behind it, if there is one beside the first of all.
    fn far(&self, blocks: &Blocks) -> Option<usize> {
        let (block, place) = (self.end / BLOCK, self.end % BLOCK);
        let far = match place {
            STEPS.. => self.end + 1 - STEPS,
            _ if self.first / BLOCK == block => return None,
            _ => blocks.links[block][0] as usize * BLOCK + BLOCK + place - STEPS,
        };
        (far > self.first || far / BLOCK != self.first / BLOCK).then_some(far)
    }

    /// Adds one that comes before the last, if that is near enough.
    #[cold]
    fn insert(&mut self, entry: Entry, blocks: &mut Blocks) -> bool {
        if self.far(blocks).is_some_and(|far| entry.before(&blocks.entries[far])) {
            return false;
        }
        self.extend(blocks);
        let mut place = self.end;
        loop {
            let before = self.before(place, blocks);
            if before == self.first || !entry.before(&blocks.entries[before]) {
                break;
            }
            blocks.entries[place] = blocks.entries[before];
            place = before;
        }
        blocks.entries[place] = if entry.before(&self.head) { replace(&mut self.head, entry) } else { entry };
        true
    }

    /// The place of the entry that has so many others, fewer than a block, between the first and itself, if there is one.
    #[inline(always)]
    fn ahead(&self, places: usize, blocks: &Blocks) -> Option<usize> {
        let (block, mut place) = (self.first / BLOCK, self.first + 1 + places);
        if place / BLOCK != block {
            let [_, behind] = blocks.links[block];
            if behind == NONE {
                return None;
            }
            place = behind as usize * BLOCK + place % BLOCK + 1;
        }
        let follows = place / BLOCK != self.end / BLOCK || place <= self.end;
        follows.then_some(place)
    }

    /// Takes the first packet, which there must be.
    #[inline(always)]
    fn pop(&mut self, blocks: &mut Blocks) -> u32 {
        let packet = self.head.packet;
        if self.first == self.end {
            (self.head, self.last) = (Entry::NONE, NONE_FOLLOWS);
        } else {
            self.first += 1;
            if self.first % BLOCK == 0 {
                self.leave_block(blocks);
            }
            self.head = blocks.entries[self.first];
        }
        packet
    }

    #[cold]
    fn leave_block(&mut self, blocks: &mut Blocks) {
        self.first = blocks.leave(self.first / BLOCK - 1) + 1;
    }
}

/// How many lanes there are for one kind of event with many flows, a power of two, and with few.
const LANES: usize = 64;
const FEW: usize = 3;

/// Packets of one kind of event in some lanes, as in patience sorting: each goes to the first lane where it comes last, so that
/// those of later lanes end earlier. One is enough for packets that are known in the order in which they come. What is sent back
/// to back by one of many hosts, what is known a way sooner as it goes in the other direction, and what is sent by timers is in others.
#[derive(Debug)]
pub struct Lanes {
    lanes: [Lane; LANES],
    /// Which lane has the first packet.
    first: usize,
    /// Whether no lane but the first has any, which is so mostly.
    alone: bool,
    /// What there is with many flows.
    many: Option<Box<Tree>>,
}

/// Finds the lane with the first packet among many.
#[derive(Debug)]
struct Tree {
    /// How many lanes have packets, which are the first ones, and how many have ever had any.
    used: usize,
    made: usize,
    /// Of each pair of lanes, pair of pairs, and so on the time of the first packet and its lane: node n is above nodes 2 n and
    /// 2 n + 1, lane n is node `LANES` + n. As one number it is compared without a branch, which could not be foreseen.
    nodes: [u128; 2 * LANES],
}

impl Tree {
    /// The node above all lanes with packets.
    fn top(&self) -> usize {
        LANES / self.used.next_power_of_two()
    }
}

impl Lanes {
    /// None, for the packets of few flows or of `many`.
    pub fn new(many: bool, blocks: &mut Blocks) -> Lanes {
        let lanes = array::from_fn(|at| Lane::new(if at < FEW { blocks.take(NONE) } else { 0 }));
        let tree = || Box::new(Tree { used: 1, made: FEW, nodes: [u128::MAX; 2 * LANES] });
        Lanes { lanes, first: 0, alone: false, many: many.then(tree) }
    }

    /// Adds a packet that comes last in the first lane, and not first of all. False, and nothing is done, if it does not.
    #[inline(always)]
    pub fn append(&mut self, entry: Entry, blocks: &mut Blocks) -> bool {
        let follows = !self.lanes[0].is_out_of_order(&entry);
        if follows {
            self.lanes[0].append(entry, blocks);
        }
        follows
    }

    /// Adds the first packet of all.
    #[inline(always)]
    pub fn start(&mut self, entry: Entry) {
        let lane = &mut self.lanes[0];
        (lane.head, lane.last) = (entry, (entry.time, entry.owner));
        (self.first, self.alone) = (0, true);
    }

    /// As [`Lane::push`], of one that is not the first of all.
    pub fn push(&mut self, entry: Entry, blocks: &mut Blocks) -> bool {
        if self.many.is_some() {
            return self.push_to_many(entry, blocks);
        }
        let at = self.lanes[..FEW].iter().position(|lane| lane.takes(&entry)).unwrap_or(FEW - 1);
        let pushed = self.lanes[at].push(entry, blocks);
        if pushed {
            self.find_first();
        }
        pushed
    }

    #[inline(never)]
    fn push_to_many(&mut self, entry: Entry, blocks: &mut Blocks) -> bool {
        let Some(tree) = &mut self.many else { return false };
        let at = self.lanes[..tree.used].partition_point(|lane| !lane.takes(&entry));
        if at < tree.used {
            self.lanes[at].append(entry, blocks);
            return true;
        }
        if at == LANES {
            let pushed = self.lanes[LANES - 1].push(entry, blocks);
            self.climb(LANES - 1);
            return pushed;
        }
        if at == tree.made {
            self.lanes[at] = Lane::new(blocks.take(NONE));
            tree.made += 1;
        }
        tree.used += 1;
        self.lanes[at].push(entry, blocks);
        if self.alone {
            self.alone = false;
            self.climb(0);
        }
        self.climb(at);
        true
    }

    /// Finds the first packet, which may be another one in this lane.
    #[inline(always)]
    fn climb(&mut self, lane: usize) {
        let Some(tree) = &mut self.many else { return };
        let (mut node, mut first) = (LANES + lane, u128::from(self.lanes[lane].head.time) << 64 | lane as u128);
        let top = tree.top();
        tree.nodes[node] = first;
        while node != top {
            let other = tree.nodes[node ^ 1];
            let tie = (first ^ other) >> 64 == 0;
            if tie && self.lanes[other as usize % LANES].head.precedes(&self.lanes[first as usize % LANES].head) {
                first = other;
            } else if !tie {
                first = first.min(other);
            }
            node /= 2;
            tree.nodes[node] = first;
        }
        self.first = first as usize % LANES;
    }

    #[inline(always)]
    fn find_first(&mut self) {
        if self.many.is_some() {
            return self.find_among_many();
        }
        self.alone = self.lanes[1..FEW].iter().all(|lane| lane.head.time == u64::MAX);
        self.first = 0;
        for at in 1..FEW {
            if self.lanes[at].head.precedes(&self.lanes[self.first].head) {
                self.first = at;
            }
        }
    }

    /// A packet has left the first lane.
    #[inline(never)]
    fn find_among_many(&mut self) {
        let left = self.first;
        self.climb(left);
        if let (Some(tree), u64::MAX) = (&mut self.many, self.lanes[left].head.time) {
            // Later lanes ended earlier.
            tree.used = left;
            self.alone = left == 1;
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

    /// What decides at equal times, of the first packet, if there is one.
    pub fn turn(&self) -> u64 {
        self.lane().head.turn().into()
    }

    /// Whether the first packet was added before an event that had so many before it; within 2^31 events of each other.
    pub fn is_older(&self, added: u64) -> bool {
        self.lane().head.is_older(added as u32)
    }

    /// The packet that has so many others, fewer than a block, between the first and itself in its lane, if there is one.
    #[inline(always)]
    pub fn get(&self, places: usize, blocks: &Blocks) -> Option<u32> {
        self.lane().ahead(places, blocks).map(|place| blocks.entries[place].packet)
    }

    /// Fetches the entry of that packet.
    #[inline(always)]
    pub fn prefetch(&self, places: usize, blocks: &Blocks) {
        if let Some(place) = self.lane().ahead(places, blocks) {
            prefetch_index(&blocks.entries, place);
        }
    }

    /// Takes the first packet, which there must be; beside it, the time of the next one; `u64::MAX` when there is none.
    #[inline(always)]
    pub fn pop(&mut self, blocks: &mut Blocks) -> (u32, u64) {
        if self.alone {
            return (self.lanes[0].pop(blocks), self.lanes[0].head.time);
        }
        let packet = self.lanes[self.first].pop(blocks);
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
        let mut blocks = Blocks::default();
        let (mut lane, mut expected, mut rng) = (Lane::new(blocks.take(NONE)), Vec::new(), Stream::new(1, "lane"));
        let (mut refused, mut inserted) = (0, 0);
        for number in 0..100_000u32 {
            // It grows for a while, and then shrinks.
            if rng.below(100) < if number % 20_000 < 10_000 { 60 } else { 40 } {
                let (time, owner) = (u64::from(number) + rng.below(30), rng.below(4) as u32);
                let turn = drawn(owner, time);
                let place = expected.partition_point(|&(t, o, _)| (t, o) <= (time, turn));
                let added = lane.push(Entry { time, owner, packet: number, added: number }, &mut blocks);
                assert!(added || expected.len() - place >= STEPS, "at most {STEPS} come behind it");
                if added {
                    inserted += usize::from(place < expected.len());
                    expected.insert(place, (time, turn, number));
                } else {
                    refused += 1;
                }
            } else if !expected.is_empty() {
                let (_, turn, packet) = expected.remove(0);
                assert_eq!((lane.head.turn(), lane.pop(&mut blocks)), (turn, packet));
            }
            assert_eq!({ lane.head.time }, expected.first().map_or(u64::MAX, |entry| entry.0));
        }
        assert!(refused > 50 && inserted > 1000, "{refused}, {inserted}");
    }

    /// Many hosts send bursts, each a packet after another, so that there are more of them at a time than lanes.
    #[test]
    fn lanes_give_what_they_take_in_order() {
        // The second and third differ in whether the lanes are enough.
        for (many, burst) in [(false, 20), (true, 20), (true, 500)] {
            let mut blocks = Blocks::default();
            let (mut lanes, mut rng) = (Lanes::new(many, &mut blocks), Stream::new(1, "lanes"));
            let (mut expected, mut refused) = (std::collections::BTreeSet::new(), 0);
            for host in 0..5000u32 {
                for step in 0..rng.below(burst) {
                    let (time, packet) = (20 * u64::from(host) + 160 * step, 500 * host + step as u32);
                    let entry = Entry { time, owner: host % 7, packet, added: packet };
                    let taken = if expected.is_empty() {
                        lanes.start(entry);
                        true
                    } else {
                        lanes.append(entry, &mut blocks) || lanes.push(entry, &mut blocks)
                    };
                    if taken {
                        expected.insert((time, drawn(host % 7, time), packet));
                    }
                    refused += u64::from(!taken);
                }
                while expected.first().is_some_and(|first| first.0 < 20 * u64::from(host)) {
                    let first = expected.pop_first().unwrap();
                    assert_eq!((lanes.head(), lanes.turn()), (first.0, first.1.into()));
                    let next = expected.first().map_or(u64::MAX, |next| next.0);
                    assert_eq!(lanes.pop(&mut blocks), (first.2, next));
                }
            }
            assert_eq!(refused > 0, !many || burst > 64, "{refused}");
        }
    }
}
