//! What acknowledgements report beyond themselves: SACK and DSACK (net/ipv4/tcp_input.c, `tcp_sacktag_write_queue`).
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | RFC 2883: a duplicate is the first block, below the acknowledgement or within the second | the end that sends the block says that it is a duplicate | Linux finds it as RFC 2883, Sec. 4 says; the meaning is the same |
//! | RFC 2018: blocks may cut packets | a packet counts once it is reported whole | Linux splits it; receivers here report whole packets |

use super::ack::Seen;
use super::cc::State;
use super::queue::Packet;
use super::sender::Sender;
use crate::segment::Segment;
use core::num::NonZeroU64;

impl Sender {
    /// What a segment reports, which acknowledges `una` after `prior_una`.
    #[inline(always)]
    pub(super) fn on_sacks(&mut self, segment: &Segment, prior_una: u64, seen: &mut Seen) {
        let duplicate = segment.duplicate();
        if let Some((start, end)) = duplicate {
            self.on_duplicate(start, end, prior_una, seen);
        }
        for (start, end) in self.queue.news(segment.ranges()) {
            if end > self.window.nxt || start >= end {
                continue;
            }
            for index in self.queue.covered(start, end) {
                self.on_reported(index, seen);
            }
        }
        if self.window.state != State::Loss || self.episode.undo.marker.is_some() {
            if let Some(start) = seen.reordered {
                self.note_reordering(start);
            }
        }
    }

    /// A range came more than once (tcp_check_dsack, tcp_dsack_seen; and tcp_sacktag_one).
    #[cold]
    fn on_duplicate(&mut self, start: u64, end: u64, prior_una: u64, seen: &mut Seen) {
        if end > self.window.nxt || start >= end {
            return;
        }
        seen.duplicate = true;
        seen.duplicate_of_probe = self.probe == NonZeroU64::new(end);
        if self.rack.seen_reordering && !seen.duplicate_of_probe {
            self.rack.duplicate_seen = true;
        }
        let packets = (end - start).div_ceil(self.window.mss.into()) as i32;
        if end <= prior_una {
            self.episode.undo.on_duplicates(end, packets);
            return;
        }
        for index in self.queue.covered(start, end) {
            let packet = *self.queue.at(index);
            if packet.has(Packet::EVER_RESENT) {
                self.episode.undo.on_duplicates(packet.end(), 1);
                if packet.has(Packet::SACKED) {
                    seen.reordered = Some(seen.reordered.map_or(packet.start, |at| at.min(packet.start)));
                }
            }
            if packet.end() <= self.window.una {
                continue;
            }
            if !packet.has(Packet::SACKED) {
                self.on_reported(index, seen);
            }
            self.queue.end_repair(index);
        }
    }

    /// A packet is reported (tcp_sacktag_one).
    #[inline(always)]
    fn on_reported(&mut self, index: usize, seen: &mut Seen) {
        let packet = self.queue.at(index);
        if packet.has(Packet::SACKED) || packet.end() <= self.window.una {
            return;
        }
        let packet = *packet;
        self.rack.advance(&packet, self.window.now, self.window.min_rtt());
        if !packet.has(Packet::EVER_RESENT) {
            if packet.start < self.queue.highest(self.window.una) {
                seen.reordered = Some(seen.reordered.map_or(packet.start, |at| at.min(packet.start)));
            }
            seen.original_acked |= packet.end() <= self.episode.high;
            seen.first_sack = seen.first_sack.or(Some(packet.sent));
            seen.last_sack = Some(packet.sent);
        }
        self.deliver(index, &packet, seen);
        self.queue.report(index);
        seen.sacked = true;
        self.window.delivered += 1;
    }
}
