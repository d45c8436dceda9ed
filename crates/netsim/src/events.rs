//! What happens next. At equal times a canonical key decides: the class of the event, then the number of the link, flow or
//! connection that it belongs to, and only among events of one of these the order in which they were added. So the order in
//! which things are evaluated, and what else happens in a run, cannot change the result.
//!
//! Most events come after a constant time: departures one after the other, packets that have crossed a line or wait for a
//! propagation delay. Those of a kind are then pushed in the order in which they come, and wait in lanes, each a queue.
//! What would come before the last one of its lanes, and timers, wait on a [wheel](wheel). Where times vary much, so that too
//! many do, the lanes are closed for a while. The order is the same in any case.

mod lane;
mod wheel;

use lane::Lane;
use prefetch_index::prefetch_index;
use sluicegate_base::{Span, Time};
use std::slice;
use wheel::{Entry, Wheel};

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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
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

    /// The order of what happens at one time. Links come first, a link's discipline before its transmitter, as
    /// [`Discipline`](sluicegate_aqm::Discipline) says; then packets on their way, the ends of connections and the sources;
    /// probes look last.
    #[inline]
    fn class(self) -> u64 {
        match self {
            Event::Wake(_) | Event::Departure(_) => 0,
            Event::Arrival(_) => 1,
            Event::Crossing(_) => 2,
            Event::Delivery(_) => 3,
            Event::Quench(..) => 4,
            Event::Timer(..) | Event::PoolTimer(..) => 5,
            Event::Burst(..) | Event::PoolBurst(..) => 6,
            Event::Act(..) => 7,
            Event::Source(_) => 8,
            Event::User(_) => 9,
            Event::Sample => 10,
        }
    }

    /// The two lanes that it may wait in, which may be one; none for what comes after times of all lengths.
    #[inline(always)]
    fn lanes(self) -> Option<[usize; 2]> {
        match self {
            Event::Departure(_) => Some([0, 0]),
            Event::Arrival(_) => Some([1, 2]),
            Event::Crossing(_) => Some([3, 3]),
            Event::Delivery(_) => Some([4, 5]),
            _ => None,
        }
    }
}

/// How many lanes there are: for some kinds a second one, with what is earlier than the first one's last.
const LANES: usize = 6;

/// After how many events at least the lanes are judged: closed when more than a third of them found no place there, and
/// opened again, for a trial, after so many times as long.
const TRIAL: u64 = 1 << 16;
const MISSED: u64 = 3;
const CLOSED: u64 = 15;

/// The events to come.
#[derive(Debug)]
pub struct Events {
    /// The first event of each lane, and those behind it.
    heads: [Entry; LANES],
    lanes: [Lane; LANES],
    /// The time and order of the last one that each had: an event before that finds no place. Never, while the lanes are closed.
    lasts: [(Time, u64); LANES],
    /// Whether events may go to the lanes, and whether there may be some.
    open: bool,
    filled: bool,
    /// With which event the lanes were last judged, and how many have found no place there since.
    judged: u64,
    missed: u64,
    /// The lane of the last event that came from one.
    taken: usize,
    wheel: Wheel,
    ties: u64,
}

impl Events {
    /// No events. The wheel's buckets are of about this length; what lies no further ahead than `reach` should find its
    /// place there, for which buckets are made longer if need be.
    #[must_use]
    pub fn new(bucket: Span, reach: Span) -> Events {
        Events {
            heads: [Entry::NONE; LANES],
            lanes: Default::default(),
            lasts: [(Time::ZERO, 0); LANES],
            open: true,
            filled: true,
            missed: 0,
            judged: 0,
            taken: 0,
            wheel: Wheel::new(bucket, reach),
            ties: 0,
        }
    }

    /// Adds an event of this link, flow, packet's flow or connection.
    #[inline(always)]
    pub fn push(&mut self, time: Time, event: Event, owner: u64) {
        self.ties += 1;
        let entry = Entry { time, order: event.class() << 60 | owner, added: self.ties, event };
        if let Some([first, second]) = event.lanes() {
            // What never comes goes to the wheel.
            let behind = |last: (Time, u64)| last <= (time, entry.order) && time < Time::NEVER;
            if behind(self.lasts[first]) {
                return self.append(first, entry);
            }
            if first != second && behind(self.lasts[second]) {
                return self.append(second, entry);
            }
            self.missed += 1;
        }
        self.wheel.put(entry);
    }

    #[inline(always)]
    fn append(&mut self, lane: usize, entry: Entry) {
        self.lasts[lane] = (entry.time, entry.order);
        if self.heads[lane].time == Time::NEVER {
            self.heads[lane] = entry;
        } else {
            self.lanes[lane].push(entry);
        }
    }

    /// Takes the next event, if it is no later than `until`.
    #[inline]
    pub fn pop(&mut self, until: Time) -> Option<(Time, Event)> {
        if !self.filled {
            return self.wheel.take(until);
        }
        let (mut lane, mut least) = (0, self.heads[0].key());
        for at in 1..LANES {
            let key = self.heads[at].key();
            if key < least {
                (lane, least) = (at, key);
            }
        }
        if !self.wheel.open_until(least) {
            return self.wheel.take_open(until);
        }
        let head = &mut self.heads[lane];
        let (time, event) = (head.time, head.event);
        if time > until || least == Entry::NONE.key() {
            return None;
        }
        *head = self.lanes[lane].pop();
        self.taken = lane;
        Some((time, event))
    }

    /// Closes the lanes where they are of little use, and opens them again for a trial, if enough events have been added
    /// since this was last considered. To be called now and then.
    pub fn judge_lanes(&mut self) {
        let added = self.ties - self.judged;
        if added < TRIAL {
            return;
        }
        if self.open && self.missed > added / MISSED {
            (self.open, self.lasts) = (false, [(Time::NEVER, 0); LANES]);
        } else if !self.open && added >= CLOSED * TRIAL {
            self.open = true;
            self.lasts = core::array::from_fn(|at| match self.heads[at].time {
                Time::NEVER => (Time::ZERO, 0),
                head => self.lanes[at].last().map_or((head, self.heads[at].order), |last| (last.time, last.order)),
            });
        } else if !self.open {
            return self.see_whether_filled();
        }
        (self.judged, self.missed) = (self.ties, 0);
        self.see_whether_filled();
    }

    fn see_whether_filled(&mut self) {
        let filled = self.open || self.heads.iter().any(|head| head.time < Time::NEVER);
        if filled && !self.filled {
            self.wheel.look();
        }
        self.filled = filled;
    }

    /// Events that follow in the lane of the last event that came from one, by how many places. Those that the first of the
    /// places comes to later are fetched.
    #[inline]
    pub fn following<const N: usize>(&self, places: [usize; N]) -> [Option<(Time, Event)>; N] {
        let lane = &self.lanes[self.taken];
        if let Some(entry) = lane.get(2 * places[0]) {
            prefetch_index(slice::from_ref(entry), 0);
        }
        places.map(|place| lane.get(place).map(|entry| (entry.time, entry.event)))
    }

    /// The events of the wheel's present bucket that are left, the last one first.
    pub fn present(&self) -> impl Iterator<Item = Event> {
        self.wheel.present()
    }

    /// The events of the wheel's next bucket, in any order.
    pub fn next_bucket(&self) -> impl Iterator<Item = Event> {
        self.wheel.next_bucket()
    }

    /// The number of the wheel's present bucket.
    #[inline]
    pub fn bucket(&self) -> u64 {
        self.wheel.bucket()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluicegate_base::Stream;

    #[test]
    fn ties_break_by_class_then_by_owner_and_then_by_number() {
        for (bucket, reach) in [(1, 0), (4, 1 << 40), (1 << 20, 1)] {
            let mut events = Events::new(Span(bucket), Span(reach));
            events.push(Time(5), Event::Sample, 0);
            events.push(Time(5), Event::Source(1), 1);
            events.push(Time(5), Event::Arrival(2), 9);
            events.push(Time(5), Event::Arrival(7), 4);
            events.push(Time(5), Event::Arrival(6), 9);
            events.push(Time(5), Event::Departure(3), 7);
            events.push(Time(5), Event::Wake(4), 8);
            events.push(Time(5), Event::Wake(3), 6);
            events.push(Time(4), Event::Sample, 0);
            events.push(Time(9), Event::Sample, 0);
            let order: Vec<Event> = std::iter::from_fn(|| events.pop(Time(5)).map(|(_, event)| event)).collect();
            let ports = [Event::Wake(3), Event::Departure(3), Event::Wake(4)];
            let others = [Event::Arrival(7), Event::Arrival(2), Event::Arrival(6), Event::Source(1), Event::Sample];
            let expected = [&ports[..], &others].concat();
            assert_eq!((order[0], &order[1..]), (Event::Sample, &expected[..]));
            assert_eq!(events.pop(Time(9)), Some((Time(9), Event::Sample)));
        }
    }

    /// Against a sorted list, with events of the present, the next buckets and far beyond the wheel's turn, of kinds that
    /// wait in lanes and of such that do not, in order and out of it.
    #[test]
    fn gives_the_same_order_as_sorting() {
        let kinds = [Event::Departure, Event::Arrival, Event::Crossing, Event::Delivery, Event::Source];
        for (bucket, reach, seed, count) in
            [(1, 1, 1, 40_000), (64, 1 << 20, 2, 1_400_000), (4096, u64::MAX, 3, 40_000), (1 << 40, 0, 4, 40_000)]
        {
            let (mut events, mut rng, mut now) =
                (Events::new(Span(bucket), Span(reach)), Stream::new(seed, "events"), Time::ZERO);
            let mut expected: Vec<(Time, u64, u64, u32, usize)> = Vec::new();
            let take = |events: &mut Events, (time, _, _, id, kind): (Time, u64, u64, u32, usize)| {
                if time > Time::ZERO {
                    assert_eq!(events.pop(Time(time.0 - 1)), None, "not before its time");
                }
                assert_eq!(events.pop(time), Some((time, kinds[kind](id))));
                time
            };
            // Of the many, the lanes are closed and opened again.
            let (mut before, mut changes) = (true, 0);
            for id in 0..count {
                events.judge_lanes();
                changes += u32::from(events.open != before);
                before = events.open;
                let irregular = if count > 1_000_000 && id < 200_000 { 9 } else { 2 };
                let kind = rng.below(5) as usize;
                // A constant time for each kind, or any.
                let after = match rng.below(10) {
                    n if n < irregular => {
                        let reach = [1, 100, 10_000, 100_000_000, 10_000_000_000][rng.below(5) as usize];
                        rng.below(reach)
                    }
                    _ => [80, 1000, 5000, 40_000, 200_000][kind],
                };
                let (time, event, owner) = (now + Span(after), kinds[kind](id), rng.below(50));
                events.push(time, event, owner);
                expected.push((time, event.class(), owner, id, kind));
                if rng.below(3) == 0 {
                    let (at, &first) = expected.iter().enumerate().min_by_key(|(_, entry)| **entry).unwrap();
                    expected.swap_remove(at);
                    now = take(&mut events, first);
                }
                if expected.len() > 200 {
                    expected.sort_unstable();
                    for first in expected.drain(..150) {
                        now = take(&mut events, first);
                    }
                }
            }
            expected.sort_unstable();
            for first in expected {
                take(&mut events, first);
            }
            assert_eq!(events.pop(Time::NEVER), None);
            assert!(count < 1_000_000 || changes > 1, "the lanes were closed, and opened again");
        }
    }

    /// Events that never come are of no account to the others, also when lanes have been closed and opened again.
    #[test]
    fn what_never_comes_hides_nothing() {
        let mut events = Events::new(Span(64), Span(1 << 20));
        let judge = |events: &mut Events, missed| {
            events.ties += 2 * CLOSED * TRIAL;
            events.missed = missed;
            events.judge_lanes();
        };
        events.push(Time(5), Event::Arrival(0), 0);
        (1..5).for_each(|packet| events.push(Time::NEVER, Event::Arrival(packet), 0));
        judge(&mut events, u64::MAX);
        assert!(!events.open);
        assert_eq!(events.pop(Time(9)), Some((Time(5), Event::Arrival(0))));
        judge(&mut events, 0);
        assert!(events.open);
        (5..9).for_each(|packet| events.push(Time(u64::from(packet)), Event::Arrival(packet), 0));
        for packet in 5..9 {
            assert_eq!(events.pop(Time(9)), Some((Time(u64::from(packet)), Event::Arrival(packet))));
        }
        assert_eq!(events.pop(Time(9)), None);
    }
}
