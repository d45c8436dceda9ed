//! What was sent and is not acknowledged: Linux's retransmission queue, a packet for each full segment or less.

mod order;

use super::lazy::{Initial, Lazy};
use super::ring::Ring;
use crate::segment::SACK_BLOCKS;
use core::ops::Range;
use sluicegate_base::Time;

/// A packet that was sent; its boundaries stay when it is sent again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Packet {
    pub start: u64,
    /// When it was last sent.
    pub sent: Time,
    /// How many bytes of the stream it has, the end of that counted: an IP packet is no longer than that.
    pub len: u16,
    /// What is so of it, each by one of the bits below.
    pub tags: u8,
    /// Where the burst began that it was last sent in, the lower half: what is under way is less than 4 GiB.
    pub burst: u32,
    /// Those sent before and after it, by their numbers (tcp_tsorted_anchor), while it is in the order of sending.
    pub earlier: u32,
    pub later: u32,
}

const _: () = assert!(size_of::<Packet>() == 32, "a window has many");

/// Packets that left an untouched queue: when the first was sent; when the last was, and its end; and how many they are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Popped {
    pub first: Time,
    pub last: (Time, u64),
    pub acked: u32,
}

/// Whether the first was sent after the second; of two sent at one time, the one further on in the stream.
pub(super) fn sent_after(first: (Time, u64), second: (Time, u64)) -> bool {
    first > second
}

/// The number of no packet.
const NOBODY: u32 = u32::MAX;

/// The packets in the order of the stream, and in that of sending.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    packets: Ring<Packet>,
    /// How many packets were ever sent again. While none was, the order of sending is that of the stream.
    repeated: u32,
    /// How many are lost, and sent again (lost_out, retrans_out).
    pub lost_out: u32,
    pub resent_out: u32,
    /// How many are not in the network: those reported or lost, less those sent again; less than zero where these are more.
    absent: u32,
    /// From when anything was reported, lost or sent again on.
    marks: Lazy<Marks>,
}

/// What is known of packets that were reported, lost or sent again.
#[derive(Clone, Debug)]
struct Marks {
    /// The ranges that the last acknowledgement with any reported.
    reported: [(u64, u64); SACK_BLOCKS],
    /// The end of the highest packet reported; zero: none is.
    highest: u64,
    /// No packet before the one with this number is lost and waits to be sent again (retransmit_skb_hint).
    hint: u32,
    /// While a packet was ever sent again, those sent first and last of the packets in the order of sending (tsorted_sent_queue):
    /// all that are not reported, but for what was lost and the first in it.
    first_sent: u32,
    last_sent: u32,
}

impl Initial for Marks {
    const INITIAL: &'static Marks =
        &Marks { reported: [(0, 0); SACK_BLOCKS], highest: 0, hint: NOBODY, first_sent: NOBODY, last_sent: NOBODY };
}

impl Queue {
    pub fn new() -> Queue {
        Queue { packets: Ring::default(), repeated: 0, lost_out: 0, resent_out: 0, absent: 0, marks: Lazy::default() }
    }

    /// How many there are (packets_out).
    pub fn len(&self) -> u32 {
        self.packets.len() as u32
    }

    pub fn is_empty(&self) -> bool {
        self.packets.len() == 0
    }

    /// Whether no packet is reported, lost, or was ever sent again.
    #[inline]
    pub fn is_untouched(&self) -> bool {
        // Where none was sent again, those not in the network are all that are reported or lost.
        self.absent | self.repeated == 0
    }

    /// How many the other end has reported (sacked_out).
    pub fn sacked_out(&self) -> u32 {
        self.absent.wrapping_add(self.resent_out).wrapping_sub(self.lost_out)
    }

    /// Those believed to be in the network (tcp_packets_in_flight).
    #[inline(always)]
    pub fn in_flight(&self) -> u32 {
        self.len().wrapping_sub(self.absent)
    }

    /// What repaired a packet, or repeated it, is no longer under way, if anything was.
    #[inline(always)]
    fn forget_repair(&mut self, packet: Packet) {
        let repaired = u32::from(packet.has(Packet::RESENT));
        self.resent_out -= repaired;
        self.absent = self.absent.wrapping_add(repaired);
    }

    pub fn front(&self) -> Option<&Packet> {
        self.packets.get(0)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Packet> {
        self.packets.range(0)
    }

    pub fn at(&self, index: usize) -> &Packet {
        &self.packets[index]
    }

    /// How many packets begin before this byte. Most are as long as others: where that says is looked first.
    #[inline(always)]
    fn position(&self, byte: u64) -> usize {
        let Some(front) = self.front() else { return 0 };
        let (mut low, mut high) = (0, self.packets.len());
        let end = self.packets[high - 1].end();
        if end <= byte {
            return high;
        }
        let guess = (byte.saturating_sub(front.start) * high as u64 / (end - front.start)) as usize;
        if self.packets.get(guess).is_some_and(|packet| packet.start == byte) {
            return guess;
        }
        while low < high {
            let middle = (low + high) / 2;
            if self.packets[middle].start < byte {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// What is between `start` and `end`, in whole packets.
    #[inline(always)]
    pub fn covered(&self, start: u64, end: u64) -> Range<usize> {
        let first = self.position(start);
        let mut last = first;
        // One that begins before `end` may go on beyond it.
        while self.packets.get(last).is_some_and(|packet| packet.end() <= end) {
            last += 1;
        }
        first..last
    }

    /// A new packet goes out.
    #[inline]
    pub fn push(&mut self, packet: Packet) {
        self.packets.push(Packet { tags: packet.tags | Packet::ORDERED, ..packet });
        if self.repeated > 0 {
            self.order_last(self.packets.len() - 1);
        }
    }

    /// A packet goes out again; its record is that of this moment. With `repair` it stands for one that is lost.
    #[inline(always)]
    pub fn send_again(&mut self, index: usize, record: Packet, repair: bool) {
        if self.repeated == 0 {
            self.order_all();
        }
        self.repeated += u32::from(!self.packets[index].has(Packet::EVER_RESENT));
        self.leave_order(index);
        let packet = &mut self.packets[index];
        let Packet { start, len, mut tags, .. } = *packet;
        let repairs = u32::from(repair && tags & Packet::RESENT == 0);
        self.resent_out += repairs;
        self.absent = self.absent.wrapping_sub(repairs);
        tags &= Packet::PUSH | Packet::SACKED | Packet::LOST | Packet::RESENT;
        tags |= Packet::EVER_RESENT | if repair { Packet::RESENT } else { 0 };
        *packet = Packet { start, len, tags, ..record };
        if tags & Packet::SACKED == 0 {
            self.order_last(index);
        }
    }

    /// Takes the first packet off if it is acknowledged, up to `una`.
    #[inline]
    pub fn pop(&mut self, una: u64) -> Option<Packet> {
        let packet = *self.front().filter(|packet| packet.end() <= una)?;
        if self.repeated > 0 {
            self.leave_order(0);
        }
        self.packets.pop();
        if packet.has(Packet::SACKED | Packet::LOST | Packet::EVER_RESENT) {
            let lost = u32::from(packet.has(Packet::LOST));
            self.lost_out -= lost;
            self.absent = self.absent.wrapping_sub(lost + u32::from(packet.has(Packet::SACKED)));
            self.forget_repair(packet);
            self.repeated -= u32::from(packet.has(Packet::EVER_RESENT));
        }
        if self.marks.highest > 0 && self.marks.highest <= packet.end() {
            self.marks.highest = 0;
        }
        Some(packet)
    }

    /// Takes off all that is acknowledged up to `una` of an untouched queue, if anything is.
    #[inline(always)]
    pub fn pop_untouched(&mut self, una: u64) -> Option<Popped> {
        let mut popped: Option<Popped> = None;
        while let Some(packet) = self.front().filter(|packet| packet.end() <= una) {
            let last = (packet.sent, packet.end());
            let (first, acked) = popped.map_or((last.0, 0), |popped| (popped.first, popped.acked));
            popped = Some(Popped { first, last, acked: acked + 1 });
            self.packets.pop();
        }
        popped
    }

    /// A packet is acknowledged in part: what is left of it starts there.
    #[inline]
    pub fn trim(&mut self, una: u64) {
        if self.front().is_none_or(|packet| packet.start >= una) {
            return;
        }
        let packet = &mut self.packets[0];
        (packet.start, packet.len) = (una, (packet.end() - una) as u16);
        if !packet.has(Packet::SACKED) {
            self.leave_order(0);
            self.order_first();
        }
    }

    /// The other end reports a packet. Whether it was taken for lost, and was repaired, both of which end.
    #[inline(always)]
    pub fn report(&mut self, index: usize) {
        self.leave_order(index);
        let packet = &mut self.packets[index];
        let before = *packet;
        packet.tags |= Packet::SACKED | Packet::SAMPLED;
        if before.has(Packet::LOST) {
            // It counts as reported instead.
            packet.tags &= !(Packet::LOST | Packet::RESENT);
            self.lost_out -= 1;
            self.forget_repair(before);
        } else {
            self.absent = self.absent.wrapping_add(1);
        }
        self.marks.highest = self.marks.highest.max(before.end());
    }

    /// What repaired a packet, or repeated it, is no longer under way.
    pub fn end_repair(&mut self, index: usize) {
        self.forget_repair(self.packets[index]);
        self.packets[index].tags &= !Packet::RESENT;
    }

    /// Takes a packet for lost, or what repaired it. Whether that is news (tcp_mark_skb_lost).
    pub fn lose(&mut self, index: usize) -> bool {
        let packet = self.packets[index];
        if packet.has(Packet::SACKED) {
            return false;
        }
        let news = packet.may_be_lost();
        if packet.has(Packet::LOST) {
            self.end_repair(index);
        } else {
            self.packets[index].tags |= Packet::LOST;
            self.lost_out += 1;
            self.absent = self.absent.wrapping_add(1);
        }
        let first = self.hint().map_or(index, |hint| hint.min(index));
        self.marks.hint = self.packets.number(first);
        news
    }

    /// Takes nothing for lost any more.
    pub fn find_all(&mut self) {
        (0..self.packets.len()).for_each(|index| self.packets[index].tags &= !Packet::LOST);
        self.absent = self.absent.wrapping_sub(core::mem::take(&mut self.lost_out));
    }

    /// The next packet that is lost and not yet repaired (tcp_xmit_retransmit_queue).
    #[inline(always)]
    pub fn next_lost(&mut self) -> Option<usize> {
        if self.resent_out >= self.lost_out {
            return None;
        }
        let first = self.hint()?;
        let found = (first..self.packets.len()).find(|&index| self.packets[index].waits());
        self.marks.hint = found.map_or(NOBODY, |index| self.packets.number(index));
        found
    }

    /// Where to begin to look for it: at the first, where that packet has left.
    fn hint(&self) -> Option<usize> {
        self.index(self.marks.hint).map(|index| if index < self.packets.len() { index } else { 0 })
    }

    /// How many packets from this one on are lost, not yet repaired, and left in one burst.
    pub fn lost_together(&self, index: usize) -> u32 {
        let burst = self.packets[index].burst;
        let lost = |packet: &&Packet| packet.burst == burst && packet.waits();
        self.packets.range(index).take_while(lost).count() as u32
    }

    /// Whether anything was sent again and is under way, or ever was (tcp_any_retrans_done).
    pub fn any_resent(&self) -> bool {
        self.resent_out > 0 || self.front().is_some_and(|packet| packet.has(Packet::EVER_RESENT))
    }

    /// The end of the highest packet reported, or the first byte not acknowledged (tcp_highest_sack_seq).
    pub fn highest(&self, una: u64) -> u64 {
        self.marks.highest.max(una)
    }

    /// The ranges that an acknowledgement reports, but for what the last one did: packets are reported once.
    #[inline(always)]
    pub fn news(&mut self, ranges: impl Iterator<Item = (u64, u64)>) -> [(u64, u64); SACK_BLOCKS] {
        let known = &mut self.marks.reported;
        let before = core::mem::take(known);
        let mut news = [(0, 0); SACK_BLOCKS];
        for (at, range) in ranges.take(SACK_BLOCKS).enumerate() {
            known[at] = range;
            // Most stay where they were, or one place on.
            if range == before[at] || (at > 0 && range == before[at - 1]) {
                continue;
            }
            let new = &mut news[at];
            *new = range;
            for (start, end) in before {
                if start <= new.0 && new.0 < end {
                    new.0 = end;
                }
                if start < new.1 && new.1 <= end {
                    new.1 = start;
                }
            }
        }
        news
    }
}

impl Packet {
    /// It ends with PSH also when it is sent again.
    pub const PUSH: u8 = 1;
    /// The other end reported it (SACKED_ACKED), it is taken for lost (LOST), what repairs that is under way (SACKED_RETRANS),
    /// it was ever sent again (EVER_RETRANS).
    pub const SACKED: u8 = 2;
    pub const LOST: u8 = 4;
    pub const RESENT: u8 = 8;
    pub const EVER_RESENT: u8 = 16;
    /// Its delivery was counted in a rate sample.
    pub const SAMPLED: u8 = 32;
    /// It is in the order of sending.
    const ORDERED: u8 = 64;

    /// The byte after its last, the end of the stream counted.
    #[inline(always)]
    pub fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }

    /// Whether any of these is so.
    #[inline(always)]
    pub fn has(&self, tags: u8) -> bool {
        self.tags & tags != 0
    }

    /// Whether it may be lost: it is not reported, and if it was lost it is repaired.
    pub fn may_be_lost(&self) -> bool {
        const REPAIRED: u8 = Packet::LOST | Packet::RESENT;
        matches!(self.tags & (Packet::SACKED | REPAIRED), 0 | Packet::RESENT | REPAIRED)
    }

    /// Whether it is lost and waits to be sent again.
    fn waits(&self) -> bool {
        self.tags & (Packet::SACKED | Packet::LOST | Packet::RESENT) == Packet::LOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    #[derive(Clone, Copy, Debug)]
    enum Change {
        Push,
        Again(usize, bool),
        Report(usize),
        Lose(usize),
        Pop(u64),
    }

    fn change() -> impl Strategy<Value = Change> {
        prop_oneof![
            4 => Just(Change::Push),
            2 => (0usize..40, any::<bool>()).prop_map(|(at, repair)| Change::Again(at, repair)),
            1 => (0usize..40).prop_map(Change::Report),
            2 => (0usize..40).prop_map(Change::Lose),
            1 => (0u64..4).prop_map(Change::Pop),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// What may be lost comes in the order of sending, as a plain list of times gives it.
        #[test]
        fn the_order_of_sending_is_that_of_a_list(changes in prop::collection::vec(change(), 1..200)) {
            let mut queue = Queue::new();
            // When each packet was last sent, and where it starts; whether it is reported, lost, repaired.
            let mut list: Vec<(Time, u64, [bool; 3])> = Vec::new();
            let mut nxt = 0;
            for (now, change) in changes.into_iter().enumerate() {
                let sent = Time(now as u64);
                let record = Packet { sent, ..Packet::default() };
                match change {
                    Change::Push => {
                        queue.push(Packet { start: nxt, len: 1, ..record });
                        list.push((sent, nxt, [false; 3]));
                        nxt += 1;
                    }
                    // What repairs is lost and not yet repaired; a probe may be any that is not reported.
                    Change::Again(at, repair) if at < list.len() && !list[at].2[0] => {
                        let repair = repair && list[at].2 == [false, true, false];
                        queue.send_again(at, record, repair);
                        list[at].0 = sent;
                        list[at].2[2] |= repair;
                    }
                    Change::Report(at) if at < list.len() && !list[at].2[0] => {
                        queue.report(at);
                        list[at].2 = [true, false, false];
                    }
                    Change::Lose(at) if at < list.len() && !list[at].2[0] => {
                        queue.lose(at);
                        list[at].2 = [false, true, false];
                    }
                    Change::Pop(packets) => {
                        let una = (nxt - list.len() as u64 + packets).min(nxt);
                        while queue.pop(una).is_some() {}
                        list.retain(|packet| packet.1 >= una);
                    }
                    _ => {}
                }
                let count = |what: usize| list.iter().filter(|packet| packet.2[what]).count() as u32;
                prop_assert_eq!([queue.sacked_out(), queue.lost_out, queue.resent_out], [0, 1, 2].map(count));
                prop_assert_eq!(queue.in_flight() + count(0) + count(1), queue.len() + count(2));
                let mut expected = list.clone();
                expected.retain(|&(_, _, [reported, lost, repaired])| !reported && (!lost || repaired));
                expected.sort_unstable();
                let mut found = Vec::new();
                let mut next = queue.first_sent();
                while let Some(index) = next {
                    let packet = queue.at(index);
                    if packet.may_be_lost() {
                        found.push((packet.sent, packet.start));
                    }
                    next = queue.sent_after(index);
                }
                prop_assert_eq!(found, expected.iter().map(|packet| (packet.0, packet.1)).collect::<Vec<_>>());
            }
        }
    }
}
