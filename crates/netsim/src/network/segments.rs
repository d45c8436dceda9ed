//! The segments of TCP that a run keeps on request: which links they reached, and what became of them there.

use crate::counters::{PacketFate, SegmentRow};
use crate::network::Observer;
use crate::network::headers::is_tcp;
use crate::network::packet::{Segments, SimPacket};
use sluicegate_base::Time;
use sluicegate_tcp::Segment;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Those that reached links under study, up to a number.
#[derive(Default)]
pub(crate) struct SegmentLog {
    rows: Vec<SegmentRow>,
    capacity: usize,
    /// The rows of those that are still there, by their packets' places.
    waiting: BTreeMap<u32, usize>,
    /// The packet that departed last, and its row: its wire may lose it.
    departed: Option<(u32, usize)>,
    /// Those that lines have sent, in the order of the lines.
    lines: Vec<Arc<Mutex<Vec<SegmentRow>>>>,
}

impl SegmentLog {
    /// A log that keeps so many.
    pub fn new(capacity: u64) -> SegmentLog {
        SegmentLog { capacity: usize::try_from(capacity).unwrap_or(usize::MAX), ..SegmentLog::default() }
    }

    /// Whether it wants to hear of more.
    pub fn is_open(&self) -> bool {
        self.rows.len() < self.capacity || !self.waiting.is_empty()
    }

    /// A packet has reached the queue of a link.
    pub fn arrives(&mut self, link: &str, time: Time, (place, packet, segments): (u32, &SimPacket, &Segments)) {
        self.waiting.remove(&place);
        if self.rows.len() < self.capacity && is_tcp(packet.segment.flags) {
            self.waiting.insert(place, self.rows.len());
            let segment = segments.copy(place, &packet.segment);
            self.rows.push(row(link, time, packet, segment, None));
        }
    }

    /// Something else has happened to it there.
    pub fn goes(&mut self, place: u32, fate: PacketFate) {
        let row = match (self.waiting.remove(&place), self.departed.take()) {
            (Some(row), _) => row,
            (None, Some((departed, row))) if departed == place && fate == PacketFate::Lost => row,
            _ => return,
        };
        self.rows[row].fate = Some(fate);
        self.departed = (fate == PacketFate::Departure).then_some((place, row));
    }

    /// Who notes what this line sends, if anything is noted.
    pub fn of_line(&mut self, line: &str) -> Option<Observer> {
        if self.capacity == 0 {
            return None;
        }
        let (rows, line, capacity) = (Arc::<Mutex<Vec<SegmentRow>>>::default(), line.to_owned(), self.capacity);
        self.lines.push(rows.clone());
        Some(Box::new(move |time, packet: &SimPacket, segment: &Segment| {
            let mut rows = rows.lock().unwrap_or_else(PoisonError::into_inner);
            if rows.len() < capacity && is_tcp(segment.flags) {
                rows.push(row(&line, time, packet, *segment, Some(PacketFate::Departure)));
            }
        }))
    }

    /// The first of all up to `now`, in the order of time; of one time, links come before lines. A line has those to come, too.
    pub fn rows(&self, now: Time) -> Vec<SegmentRow> {
        let mut all = self.rows.clone();
        for line in &self.lines {
            all.extend(
                line.lock().unwrap_or_else(PoisonError::into_inner).iter().filter(|row| row.time <= now).cloned(),
            );
        }
        all.sort_by_key(|row| row.time);
        all.truncate(self.capacity);
        all
    }
}

fn row(place: &str, time: Time, packet: &SimPacket, segment: Segment, fate: Option<PacketFate>) -> SegmentRow {
    SegmentRow { time, place: place.into(), flow: packet.flow, to: packet.to, ecn: packet.ecn, segment, fate }
}
