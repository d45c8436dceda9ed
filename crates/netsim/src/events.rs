//! What happens next. Ties break by class, then by the number that the event took.

use sluicegate_base::Time;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// What can happen. Numbers are indices of links and flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A link has sent a packet's last bit.
    Departure(u32),
    /// A packet reaches the far end of a link.
    Arrival(u32),
    /// A discipline acts between packets.
    Wake(u32),
    /// A flow's source starts, or sends.
    Source(u32),
    /// The timer of one end of a connection may have expired.
    Timer(u32, End),
    /// The probes look.
    Sample,
}

/// The ends of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum End {
    /// Where the data comes from.
    Sender = 0,
    /// Where it goes.
    Receiver = 1,
}

impl Event {
    /// At equal times departures precede all else, and probes look last; the rest goes by insertion.
    fn class(self) -> u64 {
        match self {
            Event::Departure(_) => 0,
            Event::Arrival(_) | Event::Wake(_) | Event::Source(_) | Event::Timer(..) => 1,
            Event::Sample => 2,
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

/// The events to come.
#[derive(Debug, Default)]
pub struct Events {
    heap: BinaryHeap<Entry>,
    ties: u64,
}

impl Events {
    /// A number for breaking ties: later calls give greater numbers.
    pub fn tie(&mut self) -> u64 {
        self.ties += 1;
        self.ties
    }

    /// Adds an event that takes its tie number now.
    pub fn push(&mut self, time: Time, event: Event) {
        let tie = self.tie();
        self.push_with(time, tie, event);
    }

    /// Adds an event that took its tie number earlier.
    pub fn push_with(&mut self, time: Time, tie: u64, event: Event) {
        self.heap.push(Entry { time, order: event.class() << 62 | tie, event });
    }

    /// Takes the next event, if it is no later than `until`.
    pub fn pop(&mut self, until: Time) -> Option<(Time, Event)> {
        let next = self.heap.peek()?;
        if next.time > until {
            return None;
        }
        self.heap.pop().map(|entry| (entry.time, entry.event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_break_by_class_and_then_by_number() {
        let mut events = Events::default();
        let early = events.tie();
        events.push(Time(5), Event::Sample);
        events.push(Time(5), Event::Source(1));
        events.push(Time(5), Event::Arrival(2));
        events.push(Time(5), Event::Departure(3));
        events.push_with(Time(5), early, Event::Arrival(4));
        events.push(Time(4), Event::Sample);
        events.push(Time(9), Event::Sample);
        let order: Vec<Event> = std::iter::from_fn(|| events.pop(Time(5)).map(|(_, event)| event)).collect();
        let expected =
            [Event::Sample, Event::Departure(3), Event::Arrival(4), Event::Source(1), Event::Arrival(2), Event::Sample];
        assert_eq!(order, expected);
    }
}
