//! What happens to each packet at the links under study, for those who want to see every one.

use crate::link::Link;
use crate::packet::SimPacket;
use crate::probe::{PacketEvent, PacketRow};
use sluicegate_base::Time;

/// The first events of a run, up to a number; that number may be none.
pub(super) struct Log {
    most: usize,
    pub rows: Vec<PacketRow>,
}

impl Log {
    pub fn new(most: u64) -> Log {
        Log { most: usize::try_from(most).unwrap_or(usize::MAX), rows: Vec::new() }
    }

    /// Notes an event at a link, which has just acted. `found`: the queue that an arrival found; others tell what is left.
    #[inline]
    pub fn note(&mut self, link: &Link, now: Time, packet: &SimPacket, event: PacketEvent, found: Option<u64>) {
        if self.rows.len() < self.most && link.watched {
            self.rows.push(PacketRow {
                time: now,
                link: link.index(),
                flow: packet.flow,
                to: packet.to,
                event,
                bytes: packet.bytes,
                first: packet.segment.seq,
                data: packet.segment.len,
                packets: found.unwrap_or_else(|| link.queue.packets()),
                average: link.queue.average().unwrap_or(f64::NAN),
            });
        }
    }
}
