//! A wheel of buckets: entries sorted by their keys.
//!
//! Time is cut into buckets, about as long as a packet takes to send. Entries of the present bucket are sorted. Later ones are
//! in lists, one for each bucket of a wheel; those beyond the wheel's reach are in a list for each turn of the wheel. All lists
//! share one array of places. With a few entries in each bucket the cost of an entry does not grow with their number; with all
//! of them in one bucket it is that of sorting.

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
    /// Its entries, the first at the end: the time and the place of each; and those that were added when there were more than a few.
    present: Vec<(u64, u32)>,
    added: BinaryHeap<Entry>,
    /// The buckets, 64 by 64.
    wheel: Box<[Buckets]>,
    /// The lists of entries beyond the wheel's reach, by the turn of the wheel that they belong to.
    later: BTreeMap<u64, u32>,
    /// The bucket with which the first of those turns begins.
    later_bucket: u64,
    /// Where those of all lists and of the present bucket are.
    places: Places,
}

/// Entries, each in a numbered place that is used again.
#[derive(Debug)]
struct Places {
    all: Vec<Entry>,
    /// The list of those that are free.
    free: u32,
}

impl Places {
    /// A place for an entry.
    #[inline(always)]
    fn keep(&mut self, entry: Entry) -> u32 {
        let place = self.free;
        match self.all.get_mut(place as usize) {
            Some(vacant) => {
                self.free = vacant.next;
                *vacant = entry;
            }
            None => return self.add(entry),
        }
        place
    }

    #[cold]
    fn add(&mut self, entry: Entry) -> u32 {
        self.all.push(entry);
        self.all.len() as u32 - 1
    }

    fn at(&self, place: u32) -> &Entry {
        &self.all[place as usize]
    }

    /// Takes an entry out of its place.
    #[inline(always)]
    fn take(&mut self, place: u32) -> Entry {
        let entry = &mut self.all[place as usize];
        let taken = *entry;
        entry.next = replace(&mut self.free, place);
        taken
    }
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
            places: Places { all: Vec::new(), free: NONE },
        }
    }

    /// No entry comes before this time.
    #[inline(always)]
    pub fn bound(&self) -> u64 {
        self.bound
    }

    /// Adds an entry.
    #[inline(always)]
    pub fn put(&mut self, entry: Entry) {
        let bucket = entry.time >> self.shift;
        // Not for the present bucket, nor for the past, whose distance is enormous.
        if bucket.wrapping_sub(self.bucket).wrapping_sub(1) >= self.mask {
            return self.put_aside(entry);
        }
        self.bound = self.bound.min(bucket << self.shift);
        let buckets = &mut self.wheel[((bucket & self.mask) / 64) as usize];
        buckets.filled |= 1 << (bucket % 64);
        let first = &mut buckets.first[(bucket % 64) as usize];
        *first = self.places.keep(Entry { next: *first, ..entry });
    }

    /// The first place of a bucket's list.
    fn first(&mut self, bucket: u64) -> &mut u32 {
        &mut self.wheel[((bucket & self.mask) / 64) as usize].first[(bucket % 64) as usize]
    }

    /// Keeps an entry that has no place on the wheel.
    #[inline(never)]
    fn put_aside(&mut self, entry: Entry) {
        let bucket = entry.time >> self.shift;
        if bucket <= self.bucket {
            self.bound = self.bound.min(entry.time);
            if self.present.len() < FEW && self.added.is_empty() {
                let at = self.present.partition_point(|(_, later)| *self.places.at(*later) < entry);
                let place = self.places.keep(entry);
                self.present.insert(at, (entry.time, place));
            } else {
                self.added.push(entry);
            }
        } else {
            let turn = bucket >> self.mask.count_ones();
            self.later_bucket = self.later_bucket.min(turn << self.mask.count_ones());
            self.bound = self.bound.min(self.later_bucket << self.shift);
            let next = self.later.get(&turn).copied().unwrap_or(NONE);
            let place = self.places.keep(Entry { next, ..entry });
            self.later.insert(turn, place);
        }
    }

    /// Whether there is an entry no later than `until`; then [`bound`](Wheel::bound) is the first one's time.
    #[inline(always)]
    pub fn reaches(&mut self, until: u64) -> bool {
        if self.present.is_empty() {
            self.open_until(until);
        }
        self.bound <= until
    }

    /// The first entry, whose bucket is open.
    pub fn head(&self) -> Option<&Entry> {
        self.present.last().map(|(_, place)| self.places.at(*place)).max(self.added.peek())
    }

    /// Opens the first bucket with entries, if there is one up to then and the present one has none.
    #[inline(never)]
    fn open_until(&mut self, until: u64) {
        while self.bound <= until && self.bound < u64::MAX && self.present.is_empty() && self.added.is_empty() {
            self.open(self.bound >> self.shift);
            self.find_bound();
        }
    }

    /// Takes the first entry, which [`reaches`](Wheel::reaches) has found.
    #[inline(always)]
    pub fn pop(&mut self) -> Event {
        if !self.added.is_empty() {
            return self.pop_either();
        }
        let (_, place) = self.present.pop().expect("an entry was there");
        self.bound = self.present.last().map_or_else(|| self.next_start(), |(time, _)| *time);
        self.places.take(place).event
    }

    /// The same where entries were added to the present bucket.
    #[cold]
    fn pop_either(&mut self) -> Event {
        let present = self.present.last().map(|(_, place)| self.places.at(*place));
        let entry = match self.added.peek() > present {
            true => self.added.pop(),
            false => self.present.pop().map(|(_, place)| self.places.take(place)),
        };
        self.find_bound();
        entry.expect("an entry was there").event
    }

    /// Finds out what comes first.
    fn find_bound(&mut self) {
        self.bound = self.head().map_or_else(|| self.next_start(), |entry| entry.time);
    }

    /// The start of the first bucket, from the one after the present on, that is to be opened.
    #[inline(never)]
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
        while list != NONE {
            let entry = self.places.at(list);
            self.present.push((entry.time, list));
            list = entry.next;
        }
        if self.present.len() > 1 {
            let places = &self.places;
            self.present.sort_unstable_by(|(time, place), (other_time, other)| {
                let ties = || places.at(*place).cmp(places.at(*other));
                other_time.cmp(time).then_with(ties)
            });
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
        while list != NONE {
            let entry = self.places.take(list);
            list = entry.next;
            self.put(entry);
        }
    }

    /// The first bucket from `start` on, the one after the present, whose list is not empty.
    fn next_filled(&self, start: u64) -> u64 {
        // The number of bit 0 of the word, and its bits; the last word is the first again, for the bits before the start.
        let (mut first, mut skip) = (start - start % 64, start % 64);
        for _ in 0..self.wheel.len() + 1 {
            let bits = self.wheel[((first & self.mask) / 64) as usize].filled >> skip << skip;
            if bits != 0 {
                return first + u64::from(bits.trailing_zeros());
            }
            (first, skip) = (first + 64, 0);
        }
        NEVER
    }
}
