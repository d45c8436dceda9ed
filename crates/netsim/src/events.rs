//! What happens next. Ties break by class, then by the number that the event took.
//!
//! Time is cut into buckets, about as long as a packet takes to send. Events of the present bucket are sorted, later ones
//! in the lists of a wheel of buckets, those beyond the wheel's reach in a list for each of its turns. With a few events in
//! each bucket the cost of one does not grow with their number; with all of them in one bucket it is that of sorting.

use sluicegate_base::{Span, Time};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};

/// What can happen. Numbers are indices of links, flows and packets on their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A link has sent a packet's last bit.
    Departure(u32),
    /// A packet reaches the next link of its path.
    Arrival(u32),
    /// A packet reaches a line that several paths share.
    Crossing(u32),
    /// A packet reaches its end.
    Delivery(u32),
    /// A discipline acts between packets.
    Wake(u32),
    /// A flow's source starts, or sends.
    Source(u32),
    /// The timer of one end of a connection may have expired.
    Timer(u32, End),
    /// A source quench reaches one end of a flow.
    Quench(u32, End),
    /// A user of a group has thought, or a connection that waits for its time opens.
    User(u32),
    /// The timer of one end of a pooled connection may have expired.
    PoolTimer(u32, End),
    /// What one end of a pooled connection does by itself is due.
    Act(u32, End),
    /// One end of a connection goes on with what it sends at one time.
    Burst(u32, End),
    /// One end of a pooled connection goes on with what it sends at one time.
    PoolBurst(u32, End),
    /// The probes look.
    Sample,
}

/// The ends of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum End {
    /// Where the data comes from.
    #[default]
    Sender = 0,
    /// Where it goes.
    Receiver = 1,
}

impl Event {
    /// The packet that it is about, if it is about one.
    #[inline]
    #[must_use]
    pub fn packet(self) -> Option<u32> {
        match self {
            Event::Arrival(place) | Event::Crossing(place) | Event::Delivery(place) => Some(place),
            _ => None,
        }
    }

    /// At equal times departures precede all else, and probes look last; the rest goes by insertion.
    #[inline]
    fn class(self) -> u64 {
        match self {
            Event::Departure(_) => 0,
            Event::Sample => 2,
            _ => 1,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    time: Time,
    /// Class in the top two bits, tie number below.
    order: u64,
    event: Event,
}

impl Ord for Entry {
    /// The earliest entry is the greatest, because the heap gives the greatest.
    fn cmp(&self, other: &Entry) -> Ordering {
        (other.time, other.order).cmp(&(self.time, self.order))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

/// Bounds of the number of buckets of the wheel, which is a power of two.
const BUCKETS: [u64; 2] = [1 << 13, 1 << 14];

/// From how many entries in the present bucket on it pays to look ahead.
const MANY: usize = 4;

/// How many entries the present bucket may have for another one to be put among them in order.
const FEW: usize = 16;

/// The number of a bucket that does not come.
const NEVER: u64 = u64::MAX;

/// The end of a bucket's list.
const NONE: u32 = u32::MAX;

/// An entry in a bucket's list, or a free place.
#[derive(Clone, Copy, Debug)]
struct Node {
    entry: Entry,
    next: u32,
}

/// A run of buckets that begins with a multiple of 64.
#[derive(Clone, Debug)]
struct Buckets {
    /// A bit for each list that is not empty.
    filled: u64,
    /// The first node of each bucket's list.
    first: [u32; 64],
}

/// The events to come.
#[derive(Debug)]
pub struct Events {
    /// A bucket holds 2^shift nanoseconds.
    shift: u32,
    /// One less than the number of buckets.
    mask: u64,
    /// The number of the present bucket, counted from time zero.
    bucket: u64,
    /// Its entries, the first at the end, and those that were added when there were more than a few.
    present: Vec<Entry>,
    added: BinaryHeap<Entry>,
    /// The buckets, 64 by 64.
    wheel: Box<[Buckets]>,
    nodes: Vec<Node>,
    free: u32,
    /// Entries beyond the wheel's reach, by the turn of the wheel that they belong to. Lists are not used again: those of the far
    /// future hold few entries, and would keep the memory of full ones.
    later: BTreeMap<u64, Vec<Entry>>,
    /// The bucket with which the first of those turns begins.
    later_bucket: u64,
    ties: u64,
}

impl Events {
    /// No events. Buckets are of about this length; what lies no further ahead than `reach` should find its place on the
    /// wheel, for which buckets are made longer if need be.
    #[must_use]
    pub fn new(bucket: Span, reach: Span) -> Events {
        let [least, most] = BUCKETS;
        let length = bucket.0.max(reach.0 / (most / 2)).max(1);
        let shift = length.ilog2();
        let buckets =
            (reach.0 >> shift).saturating_add(1).checked_next_power_of_two().unwrap_or(most).clamp(least, most);
        Events {
            shift,
            mask: buckets - 1,
            bucket: 0,
            present: Vec::new(),
            added: BinaryHeap::new(),
            wheel: vec![Buckets { filled: 0, first: [NONE; 64] }; (buckets / 64) as usize].into(),
            nodes: Vec::new(),
            free: NONE,
            later: BTreeMap::new(),
            later_bucket: NEVER,
            ties: 0,
        }
    }

    /// Adds an event. Among equals it comes after those that were added before.
    #[inline(always)]
    pub fn push(&mut self, time: Time, event: Event) {
        self.ties += 1;
        self.place(Entry { time, order: event.class() << 62 | self.ties, event });
    }

    #[inline(always)]
    fn place(&mut self, entry: Entry) {
        let bucket = entry.time.0 >> self.shift;
        // Not for the present bucket, nor for the past, whose distance is enormous.
        if bucket.wrapping_sub(self.bucket).wrapping_sub(1) >= self.mask {
            return self.put_aside(entry);
        }
        let place = self.free;
        let buckets = &mut self.wheel[((bucket & self.mask) / 64) as usize];
        buckets.filled |= 1 << (bucket % 64);
        let next = std::mem::replace(&mut buckets.first[(bucket % 64) as usize], place);
        match self.nodes.get_mut(place as usize) {
            Some(vacant) => {
                self.free = vacant.next;
                *vacant = Node { entry, next };
            }
            None => self.grow(bucket, Node { entry, next }),
        }
    }

    /// The same when no place for a node is free.
    #[cold]
    fn grow(&mut self, bucket: u64, node: Node) {
        *self.first(bucket) = self.nodes.len() as u32;
        self.nodes.push(node);
    }

    /// The first node of a bucket's list.
    fn first(&mut self, bucket: u64) -> &mut u32 {
        &mut self.wheel[((bucket & self.mask) / 64) as usize].first[(bucket % 64) as usize]
    }

    /// Keeps an entry that has no place on the wheel.
    fn put_aside(&mut self, entry: Entry) {
        let bucket = entry.time.0 >> self.shift;
        if bucket <= self.bucket {
            if self.present.len() < FEW && self.added.is_empty() {
                let at = self.present.partition_point(|later| *later < entry);
                self.present.insert(at, entry);
            } else {
                self.added.push(entry);
            }
        } else {
            let turn = bucket >> self.mask.count_ones();
            self.later_bucket = self.later_bucket.min(turn << self.mask.count_ones());
            self.later.entry(turn).or_default().push(entry);
        }
    }

    /// Takes the next event, if it is no later than `until`.
    #[inline]
    pub fn pop(&mut self, until: Time) -> Option<(Time, Event)> {
        if !self.added.is_empty() {
            return self.pop_added(until);
        }
        if self.present.is_empty() {
            let start = self.bucket + 1;
            let buckets = &mut self.wheel[((start & self.mask) / 64) as usize];
            let bits = buckets.filled >> (start % 64);
            let bucket = start + u64::from(bits.trailing_zeros());
            if bits == 0 || bucket >= self.later_bucket {
                self.open_next(start)?;
                return self.pop(until);
            }
            // Most buckets hold one event.
            let place = buckets.first[(bucket % 64) as usize];
            let node = &mut self.nodes[place as usize];
            if node.next != NONE || node.entry.time > until {
                self.open(bucket);
                return self.pop(until);
            }
            buckets.first[(bucket % 64) as usize] = NONE;
            buckets.filled &= !(1 << (bucket % 64));
            node.next = std::mem::replace(&mut self.free, place);
            self.bucket = bucket;
            return Some((node.entry.time, node.entry.event));
        }
        if self.present.last()?.time > until {
            return None;
        }
        self.present.pop().map(|entry| (entry.time, entry.event))
    }

    /// Whether the present bucket has many events left.
    #[inline]
    pub fn many(&self) -> bool {
        self.present.len() >= MANY
    }

    /// The events of the present bucket that are left, the last one first.
    pub fn present(&self) -> impl Iterator<Item = Event> {
        self.present.iter().map(|entry| entry.event)
    }

    /// The number of the present bucket.
    #[inline]
    pub fn bucket(&self) -> u64 {
        self.bucket
    }

    /// The same when something was added to the present bucket.
    #[cold]
    fn pop_added(&mut self, until: Time) -> Option<(Time, Event)> {
        let added = self.added.peek()?;
        let first = self.present.last().is_none_or(|entry| added > entry);
        let entry = if first { added } else { self.present.last()? };
        let (time, event) = (entry.time, entry.event);
        if time > until {
            return None;
        }
        if first {
            self.added.pop();
        } else {
            self.present.pop();
        }
        Some((time, event))
    }

    /// Makes the first bucket from `start` on that is not empty the present one; none when there is none.
    #[cold]
    fn open_next(&mut self, start: u64) -> Option<()> {
        let bucket = self.next_filled(start).min(self.later_bucket);
        (bucket != NEVER).then(|| self.open(bucket))
    }

    /// Makes a bucket the present one, its entries sorted.
    fn open(&mut self, bucket: u64) {
        let mut list = std::mem::replace(self.first(bucket), NONE);
        self.wheel[((bucket & self.mask) / 64) as usize].filled &= !(1 << (bucket % 64));
        while list != NONE {
            let node = &mut self.nodes[list as usize];
            self.present.push(node.entry);
            let next = std::mem::replace(&mut node.next, self.free);
            self.free = std::mem::replace(&mut list, next);
        }
        if self.present.len() > 1 {
            self.present.sort_unstable();
        }
        self.turn_to(bucket);
    }

    /// Makes a bucket, whose list is empty by now, the present one: with the first of a turn, what belongs to
    /// that turn moves to the wheel.
    fn turn_to(&mut self, bucket: u64) {
        self.bucket = bucket;
        if self.later_bucket <= bucket {
            self.move_later();
        }
    }

    #[cold]
    fn move_later(&mut self) {
        let Some((_, entries)) = self.later.pop_first() else { return };
        let next = self.later.first_key_value();
        self.later_bucket = next.map_or(NEVER, |(turn, _)| turn << self.mask.count_ones());
        for entry in entries {
            self.place(entry);
        }
    }

    /// The first bucket from `start` on, the one after the present, whose list is not empty.
    fn next_filled(&self, start: u64) -> u64 {
        // The number of bit 0 of the word, and its bits; the last word is the first again, for the bits before the start.
        let (mut first, mut skip) = (start - start % 64, start % 64);
        for _ in 0..=self.wheel.len() {
            let bits = self.wheel[((first & self.mask) / 64) as usize].filled >> skip << skip;
            if bits != 0 {
                return first + u64::from(bits.trailing_zeros());
            }
            (first, skip) = (first + 64, 0);
        }
        NEVER
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluicegate_base::Stream;

    #[test]
    fn ties_break_by_class_and_then_by_number() {
        for (bucket, reach) in [(1, 0), (4, 1 << 40), (1 << 20, 1)] {
            let mut events = Events::new(Span(bucket), Span(reach));
            events.push(Time(5), Event::Sample);
            events.push(Time(5), Event::Source(1));
            events.push(Time(5), Event::Arrival(2));
            events.push(Time(5), Event::Departure(3));
            events.push(Time(4), Event::Sample);
            events.push(Time(9), Event::Sample);
            let order: Vec<Event> = std::iter::from_fn(|| events.pop(Time(5)).map(|(_, event)| event)).collect();
            let expected = [Event::Sample, Event::Departure(3), Event::Source(1), Event::Arrival(2), Event::Sample];
            assert_eq!(order, expected);
            assert_eq!(events.pop(Time(9)), Some((Time(9), Event::Sample)));
        }
    }

    /// Against a sorted list, with events of the present, the next buckets and far beyond the wheel's turn.
    #[test]
    fn gives_the_same_order_as_sorting() {
        for (bucket, reach, seed) in [(1, 1, 1), (64, 1 << 20, 2), (4096, u64::MAX, 3), (1 << 40, 0, 4)] {
            let (mut events, mut rng, mut now) =
                (Events::new(Span(bucket), Span(reach)), Stream::new(seed, "events"), Time::ZERO);
            let mut expected: Vec<(u64, u32)> = Vec::new();
            for id in 0..20_000u32 {
                let reach = [1, 100, 10_000, 100_000_000, 10_000_000_000][rng.below(5) as usize];
                let time = now.0 + rng.below(reach);
                events.push(Time(time), Event::Source(id));
                expected.push((time, id));
                if rng.below(3) == 0 {
                    let (at, &first) = expected.iter().enumerate().min_by_key(|(_, entry)| **entry).unwrap();
                    expected.swap_remove(at);
                    now = Time(first.0);
                    assert_eq!(events.pop(Time::NEVER), Some((now, Event::Source(first.1))));
                }
                if expected.len() > 200 {
                    expected.sort_unstable();
                    for first in expected.drain(..150) {
                        now = Time(first.0);
                        assert_eq!(events.pop(Time::NEVER), Some((now, Event::Source(first.1))));
                    }
                }
            }
        }
    }
}
