//! What a port counts.

use sluicegate_aqm::DropReason;
use sluicegate_base::{Span, Time};

/// What a port has counted since the measured window began (before that, since the start).
#[derive(Clone, Debug)]
pub struct Counters {
    /// Packets that reached the queue.
    pub arrivals: u64,
    /// The sum over them of the packets that each found in the queue.
    pub found: u64,
    /// Packets sent.
    pub departures: u64,
    /// Their bytes.
    pub departed_bytes: u64,
    /// Of these arrivals the packets that the queue has marked and given to the transmitter.
    pub marked: u64,
    /// Of these arrivals the packets dropped, at arrival or later, by reason.
    pub drops: [u64; DropReason::COUNT],
    /// The most packets queued at once.
    pub max_packets: u64,
    /// Time that packets spent in the queue, in the window, whatever became of them.
    pub queueing: Span,
    /// The queueing delays of packets that went to the transmitter, summed in nanoseconds.
    pub delay_sum: u64,
    /// Where the window begins.
    window: Time,
}

impl Default for Counters {
    fn default() -> Self {
        Counters {
            arrivals: 0,
            found: 0,
            departures: 0,
            departed_bytes: 0,
            marked: 0,
            drops: [0; DropReason::COUNT],
            max_packets: 0,
            queueing: Span::ZERO,
            delay_sum: 0,
            window: Time::ZERO,
        }
    }
}

impl Counters {
    /// The measured window begins: everything is counted anew. Marks and drops of packets that arrived before it do not
    /// count, and of their time in the queue only what lies in it.
    pub fn begin_window(&mut self, now: Time) {
        *self = Counters { window: now, ..Counters::default() };
    }

    /// Where the window begins.
    #[must_use]
    pub fn window(&self) -> Time {
        self.window
    }

    /// All packets dropped, whatever the reason.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.drops.iter().sum()
    }

    /// A packet finds so many in the queue.
    #[inline]
    pub(crate) fn arrive(&mut self, found: u64) {
        self.arrivals += 1;
        self.found += found;
    }

    /// So many packets are queued.
    #[inline]
    pub(crate) fn hold(&mut self, packets: u64) {
        self.max_packets = self.max_packets.max(packets);
    }

    /// A packet that arrived at `arrived` goes to the transmitter.
    #[inline]
    pub(crate) fn start(&mut self, arrived: Time, marked: bool, now: Time) {
        let delay = now.since(arrived);
        self.delay_sum = self.delay_sum.saturating_add(delay.0);
        if arrived < self.window {
            self.leave(arrived, now);
        } else {
            self.queueing = self.queueing + delay;
        }
        if marked {
            self.marked += u64::from(arrived >= self.window);
        }
    }

    /// The last bit of a packet is out.
    #[inline]
    pub(crate) fn depart(&mut self, bytes: u64) {
        self.departures += 1;
        self.departed_bytes += bytes;
    }

    /// A packet that arrived at `arrived` is dropped.
    pub(crate) fn drop(&mut self, arrived: Time, reason: DropReason, now: Time) {
        self.drops[reason as usize] += u64::from(arrived >= self.window);
        self.leave(arrived, now);
    }

    /// A packet that arrived at `arrived` leaves the queue, or is still in it when a run ends.
    #[inline]
    pub(crate) fn leave(&mut self, arrived: Time, now: Time) {
        self.queueing = self.queueing + now.since(arrived.max(self.window));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_packets_from_before_the_window_only_the_time_in_it_counts() {
        let mut counters = Counters::default();
        counters.arrive(3);
        counters.begin_window(Time(5));
        for arrived in [Time(4), Time(5), Time(6)] {
            counters.start(arrived, true, Time(10));
            counters.drop(arrived, DropReason::Match, Time(10));
        }
        assert_eq!((counters.marked, counters.dropped(), counters.arrivals), (2, 2, 0));
        assert_eq!((counters.queueing, counters.delay_sum), (Span(28), 15));
    }
}
