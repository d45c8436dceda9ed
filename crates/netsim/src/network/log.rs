//! What happens to each packet at the links under study, for those who want to see every one.

use crate::counters::{PacketFate, PacketRow};
use crate::network::packet::{QueuedPacket, SimPacket};
use crate::network::segments::SegmentLog;
use sluicegate_base::Time;
use sluicegate_port::Port;

/// The events of a run: the first ones up to a number, which may be none; and what happens meanwhile, for those who watch.
pub struct Log {
    pub(crate) kept: Rows,
    watched: Rows,
    /// The segments that are kept.
    pub(crate) segments: SegmentLog,
    /// Whether any of them takes more, and whether any has rows that are not complete: asked at each packet.
    open: bool,
    incomplete: bool,
}

/// Events up to a number.
pub(crate) struct Rows {
    pub rows: Vec<PacketRow>,
    capacity: usize,
    /// How many rows are complete.
    complete: usize,
}

impl Rows {
    fn new(capacity: usize) -> Rows {
        Rows { rows: Vec::new(), capacity, complete: 0 }
    }

    fn is_open(&self) -> bool {
        self.rows.len() < self.capacity
    }

    fn note(&mut self, row: PacketRow) {
        if self.is_open() {
            self.rows.push(row);
        }
    }

    /// The rows that do not say yet what the port has left.
    fn incomplete(&mut self) -> &mut [PacketRow] {
        let from = std::mem::replace(&mut self.complete, self.rows.len());
        &mut self.rows[from..]
    }
}

impl Log {
    /// A log that keeps so many events, and so many segments, at most.
    #[must_use]
    pub fn new(capacity: u64, segments: u64) -> Log {
        let kept = Rows::new(usize::try_from(capacity).unwrap_or(usize::MAX));
        let segments = SegmentLog::new(segments);
        Log { open: kept.is_open() || segments.is_open(), kept, watched: Rows::new(0), segments, incomplete: false }
    }

    /// From now on up to `most` events are noted for those who watch, until they take them: what comes beyond is not. Gives
    /// those noted since the last call.
    pub fn watch(&mut self, most: usize) -> Vec<PacketRow> {
        let watched = std::mem::replace(&mut self.watched, Rows::new(most));
        self.update();
        watched.rows
    }

    fn update(&mut self) {
        self.open = self.kept.is_open() || self.watched.is_open() || self.segments.is_open();
    }

    /// Whether it takes any more.
    #[inline(always)]
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Notes an event at a link, if it takes any more. `found` is the queue that an arrival found.
    #[cold]
    pub fn note(&mut self, link: u32, time: Time, (place, packet): (u32, &SimPacket), event: PacketFate, found: u64) {
        if !self.open {
            return;
        }
        let row = PacketRow {
            time,
            link,
            flow: packet.flow,
            to: packet.to,
            event,
            place,
            bytes: packet.bytes,
            first: packet.segment.seq,
            data: packet.segment.len,
            packets: found,
            average: f64::NAN,
        };
        if event != PacketFate::Arrival {
            self.segments.goes(place, event);
        }
        self.kept.note(PacketRow { place: 0, ..row });
        self.watched.note(row);
        self.incomplete = true;
        self.update();
    }

    /// Whether there are rows that do not say yet what the port has left.
    #[inline(always)]
    pub fn is_incomplete(&self) -> bool {
        self.incomplete
    }

    /// The port has done what it had to: the events since the last one tell what it has left.
    #[cold]
    pub fn complete(&mut self, port: &Port<QueuedPacket>) {
        let (average, left) = (port.average().unwrap_or(f64::NAN), port.len());
        let arrival = self.watched.rows[self.watched.complete..].iter().find(|row| row.event == PacketFate::Arrival);
        if let Some(arrival) = arrival.copied() {
            port.queue().compared(&mut |packet| {
                let QueuedPacket { flow, to, bytes, place, .. } = *packet;
                self.watched.note(PacketRow { event: PacketFate::Compared, flow, to, bytes, place, ..arrival });
            });
        }
        for row in self.kept.incomplete().iter_mut().chain(self.watched.incomplete()) {
            row.average = average;
            if row.event != PacketFate::Arrival {
                row.packets = left;
            }
        }
        self.incomplete = false;
        self.update();
    }
}
