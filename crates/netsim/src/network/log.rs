//! What happens to each packet at the links under study, for those who want to see every one.

use crate::counters::{PacketFate, PacketRow};
use crate::network::packet::{QueuedPacket, SimPacket};
use sluicegate_base::Time;
use sluicegate_port::Port;

/// The first events of a run, up to a number; that number may be none.
pub struct Log {
    capacity: usize,
    pub(crate) rows: Vec<PacketRow>,
    /// How many rows are complete.
    complete: usize,
}

impl Log {
    /// A log of so many events at most.
    #[must_use]
    pub fn new(capacity: u64) -> Log {
        Log { capacity: usize::try_from(capacity).unwrap_or(usize::MAX), rows: Vec::new(), complete: 0 }
    }

    /// Whether it takes any more.
    #[inline(always)]
    pub fn is_open(&self) -> bool {
        self.rows.len() < self.capacity
    }

    /// Notes an event at a link. `found` is the queue that an arrival found.
    #[cold]
    pub fn note(&mut self, link: u32, time: Time, packet: &SimPacket, event: PacketFate, found: u64) {
        if self.is_open() {
            self.rows.push(PacketRow {
                time,
                link,
                flow: packet.flow,
                to: packet.to,
                event,
                bytes: packet.bytes,
                first: packet.segment.seq,
                data: packet.segment.len,
                packets: found,
                average: f64::NAN,
            });
        }
    }

    /// Whether there are rows that do not say yet what the port has left.
    #[inline(always)]
    pub fn is_incomplete(&self) -> bool {
        self.complete < self.rows.len()
    }

    /// The port has done what it had to: the events since the last one tell what it has left.
    #[cold]
    pub fn complete(&mut self, port: &Port<QueuedPacket>) {
        let average = port.average().unwrap_or(f64::NAN);
        for row in &mut self.rows[self.complete..] {
            row.average = average;
            if row.event != PacketFate::Arrival {
                row.packets = port.len();
            }
        }
        self.complete = self.rows.len();
    }
}
