//! A wheel of buckets: entries sorted by their keys.
//!
//! Time is cut into buckets, about as long as a packet takes to send. Entries of the present bucket are sorted, later ones
//! in the lists of a wheel of buckets, those beyond the wheel's reach in a list for each of its turns; what is in lists lies in
//! places that all lists share. With a few entries in
//! each bucket the cost of one does not grow with their number; with all of them in one bucket it is that of sorting.

use super::Event;
use sluicegate_base::Span;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};
use std::mem::replace;

/// An event that waits for its time.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// When it comes.
    pub time: u64,
    /// What decides at equal times: class and owner.
    pub order: u64,
    /// What decides between events of one owner: how many were added before.
    pub added: u64,
    /// What happens then.
    pub event: Event,
    /// The place of the next one of the same list.
    next: u32,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Entry>() == 40, "each flow has some: its timers");

impl Entry {
    /// An entry, in no list yet.
    #[inline(always)]
    pub fn new(time: u64, order: u64, added: u64, event: Event) -> Entry {
        Entry { time, order, added, event, next: NONE }
    }
}

impl Ord for Entry {
    /// The earliest entry is the greatest, because the heap gives the greatest.
    fn cmp(&self, other: &Entry) -> Ordering {
        (other.time, other.order, other.added).cmp(&(self.time, self.order, self.added))
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

/// How many entries the present bucket may have for another one to be put among them in order.
const FEW: usize = 16;

/// The number of a bucket that does not come.
const NEVER: u64 = u64::MAX;

/// The end of a list.
const NONE: u32 = u32::MAX;

/// A run of buckets that begins with a multiple of 64.
#[derive(Clone, Debug)]
struct Buckets {
    /// A bit for each list that is not empty.
    filled: u64,
    /// The first place of each bucket's list.
    first: [u32; 64],
}

/// Entries that wait for their time.
#[derive(Debug)]
pub struct Wheel {
    /// No entry comes before this: the first one's time or, while its bucket is not open, the bucket's start.
    bound: u64,
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
    /// The lists of entries beyond the wheel's reach, by the turn of the wheel that they belong to.
    later: BTreeMap<u64, u32>,
    /// The bucket with which the first of those turns begins.
    later_bucket: u64,
    /// The places of all lists, and the list of those that are free.
    places: Vec<Entry>,
    free: u32,
}

impl Wheel {
    /// No entries. Buckets are of about this length; what lies no further ahead than `reach` should find its place on the
    /// wheel, for which buckets are made longer if need be.
    #[must_use]
    pub fn new(bucket: Span, reach: Span) -> Wheel {
        let [least, most] = BUCKETS;
        let length = bucket.0.max(reach.0 / (most / 2)).max(1);
        let shift = length.ilog2();
        let buckets =
            (reach.0 >> shift).saturating_add(1).checked_next_power_of_two().unwrap_or(most).clamp(least, most);
        Wheel {
            bound: u64::MAX,
            shift,
            mask: buckets - 1,
            bucket: 0,
            present: Vec::new(),
            added: BinaryHeap::new(),
            wheel: vec![Buckets { filled: 0, first: [NONE; 64] }; (buckets / 64) as usize].into(),
            later: BTreeMap::new(),
            later_bucket: NEVER,
            places: Vec::new(),
            free: NONE,
        }
    }

    /// No entry comes before this time.
    #[inline(always)]
    pub fn bound(&self) -> u64 {
        self.bound
    }

    /// Adds an entry.
    #[inline]
    pub fn put(&mut self, entry: Entry) {
        let bucket = entry.time >> self.shift;
        // Not for the present bucket, nor for the past, whose distance is enormous.
        if bucket.wrapping_sub(self.bucket).wrapping_sub(1) >= self.mask {
            return self.put_aside(entry);
        }
        self.bound = self.bound.min(bucket << self.shift);
        let place = self.place(entry);
        let buckets = &mut self.wheel[((bucket & self.mask) / 64) as usize];
        buckets.filled |= 1 << (bucket % 64);
        self.places[place as usize].next = replace(&mut buckets.first[(bucket % 64) as usize], place);
    }

    /// A place for an entry of a list.
    #[inline(always)]
    fn place(&mut self, entry: Entry) -> u32 {
        let place = self.free;
        match self.places.get_mut(place as usize) {
            Some(vacant) => {
                self.free = vacant.next;
                *vacant = entry;
            }
            None => return self.add_place(entry),
        }
        place
    }

    #[cold]
    fn add_place(&mut self, entry: Entry) -> u32 {
        self.places.push(entry);
        self.places.len() as u32 - 1
    }

    /// The first place of a bucket's list.
    fn first(&mut self, bucket: u64) -> &mut u32 {
        &mut self.wheel[((bucket & self.mask) / 64) as usize].first[(bucket % 64) as usize]
    }

    /// Takes the first entry of a list, which is another one then; `None` at its end.
    fn take(&mut self, list: &mut u32) -> Option<Entry> {
        let place = self.places.get_mut(*list as usize)?;
        let next = replace(&mut place.next, self.free);
        self.free = replace(list, next);
        Some(*place)
    }

    /// Keeps an entry that has no place on the wheel.
    fn put_aside(&mut self, entry: Entry) {
        let bucket = entry.time >> self.shift;
        if bucket <= self.bucket {
            self.bound = self.bound.min(entry.time);
            if self.present.len() < FEW && self.added.is_empty() {
                let at = self.present.partition_point(|later| *later < entry);
                self.present.insert(at, entry);
            } else {
                self.added.push(entry);
            }
        } else {
            let turn = bucket >> self.mask.count_ones();
            self.later_bucket = self.later_bucket.min(turn << self.mask.count_ones());
            self.bound = self.bound.min(self.later_bucket << self.shift);
            let next = self.later.get(&turn).copied().unwrap_or(NONE);
            let place = self.place(Entry { next, ..entry });
            self.later.insert(turn, place);
        }
    }

    /// The first entry, if it is no later than `until`; its bucket is open then.
    #[inline(always)]
    pub fn head(&mut self, until: u64) -> Option<&Entry> {
        if self.present.is_empty() {
            self.open_until(until);
        }
        if self.bound > until {
            return None;
        }
        if self.added.is_empty() { self.present.last() } else { self.present.last().max(self.added.peek()) }
    }

    /// Opens the first bucket with entries, if there is one up to then and the present one has none.
    fn open_until(&mut self, until: u64) {
        while self.bound <= until && self.bound < u64::MAX && self.present.is_empty() && self.added.is_empty() {
            self.open(self.bound >> self.shift);
            self.find_bound();
        }
    }

    /// Takes what [`head`](Wheel::head) has given.
    #[inline(always)]
    pub fn pop(&mut self) -> Event {
        let from_added = !self.added.is_empty() && self.added.peek() > self.present.last();
        let entry = if from_added { self.added.pop() } else { self.present.pop() };
        self.find_bound();
        entry.expect("an entry was there").event
    }

    /// Finds out what comes first.
    #[inline(always)]
    fn find_bound(&mut self) {
        let first =
            if self.added.is_empty() { self.present.last() } else { self.present.last().max(self.added.peek()) };
        self.bound = first.map_or_else(|| self.next_start(), |entry| entry.time);
    }

    /// The start of the first bucket, from the one after the present on, that is to be opened.
    #[inline]
    fn next_start(&self) -> u64 {
        match self.next_filled(self.bucket + 1).min(self.later_bucket) {
            NEVER => u64::MAX,
            bucket => bucket << self.shift,
        }
    }

    /// Makes a bucket the present one, its entries sorted.
    fn open(&mut self, bucket: u64) {
        let mut list = replace(self.first(bucket), NONE);
        self.wheel[((bucket & self.mask) / 64) as usize].filled &= !(1 << (bucket % 64));
        while let Some(place) = self.places.get_mut(list as usize) {
            self.present.push(*place);
            let next = replace(&mut place.next, self.free);
            self.free = replace(&mut list, next);
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
        let Some((_, mut list)) = self.later.pop_first() else { return };
        let next = self.later.first_key_value();
        self.later_bucket = next.map_or(NEVER, |(turn, _)| turn << self.mask.count_ones());
        while let Some(entry) = self.take(&mut list) {
            self.put(entry);
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
