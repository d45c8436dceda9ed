//! What was sent and is not acknowledged: Linux's retransmission queue, a packet for each full segment or less.

use alloc::collections::VecDeque;
use core::ops::Range;
use sluicegate_base::Time;

/// A packet that was sent; its boundaries stay when it is sent again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Packet {
    pub start: u64,
    /// The byte after its last, the end of the stream counted.
    pub end: u64,
    /// Where the burst began that it was last sent in, and whether that says PSH also when it is sent again.
    pub burst: u64,
    pub push: bool,
    /// When it was last sent, and its timestamp then.
    pub sent: Time,
    pub stamp: u32,
    /// Whether the other end reported it (SACKED_ACKED), it is taken for lost (LOST), what repairs that is under way
    /// (SACKED_RETRANS), it was ever sent again (EVER_RETRANS).
    pub sacked: bool,
    pub lost: bool,
    pub resent: bool,
    pub ever_resent: bool,
    /// What the connection had delivered and lost when it was last sent (tx.delivered and so on).
    pub first_sent: Time,
    pub delivered_time: Time,
    pub delivered: u64,
    pub delivered_ce: u64,
    pub lost_before: u64,
    pub in_flight: u32,
    pub app_limited: bool,
    /// Whether its delivery was counted in a rate sample.
    pub sampled: bool,
}

/// Whether the first was sent after the second; of two sent at one time, the one further on in the stream.
pub(super) fn sent_after(first: (Time, u64), second: (Time, u64)) -> bool {
    first > second
}

/// The packets in the order of the stream, and in that of sending.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    packets: VecDeque<Packet>,
    /// When packets were sent and where they start, the earliest first (tsorted_sent_queue). An entry whose packet was sent
    /// again, acknowledged, reported or given up is stale.
    by_time: VecDeque<(Time, u64)>,
    /// How many are reported, lost, and sent again (sacked_out, lost_out, retrans_out).
    pub sacked_out: u32,
    pub lost_out: u32,
    pub resent_out: u32,
    /// The end of the highest one reported.
    highest: Option<u64>,
    /// No packet before this byte is lost and waits to be sent again (retransmit_skb_hint).
    hint: u64,
}

impl Queue {
    /// How many there are (packets_out).
    pub fn len(&self) -> u32 {
        self.packets.len() as u32
    }

    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Those believed to be in the network (tcp_packets_in_flight).
    pub fn in_flight(&self) -> u32 {
        (self.len() + self.resent_out).saturating_sub(self.sacked_out + self.lost_out)
    }

    pub fn front(&self) -> Option<&Packet> {
        self.packets.front()
    }

    pub fn back(&self) -> Option<&Packet> {
        self.packets.back()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Packet> {
        self.packets.iter()
    }

    pub fn at(&self, index: usize) -> &Packet {
        &self.packets[index]
    }

    /// What is between `start` and `end`, in whole packets.
    pub fn covered(&self, start: u64, end: u64) -> Range<usize> {
        let first = self.packets.partition_point(|packet| packet.start < start);
        let last = self.packets.partition_point(|packet| packet.end <= end);
        first..last.max(first)
    }

    /// The packet that starts at this byte.
    pub fn index_of(&self, start: u64) -> Option<usize> {
        let index = self.packets.partition_point(|packet| packet.start < start);
        self.packets.get(index).filter(|packet| packet.start == start).map(|_| index)
    }

    /// A new packet goes out.
    pub fn push(&mut self, packet: Packet) {
        self.by_time.push_back((packet.sent, packet.start));
        self.packets.push_back(packet);
    }

    /// A packet goes out again; its record is that of this moment. With `repair` it stands for one that is lost.
    pub fn send_again(&mut self, index: usize, record: Packet, repair: bool) {
        let packet = &mut self.packets[index];
        let Packet { start, end, push, sacked, lost, resent, .. } = *packet;
        self.resent_out += u32::from(repair && !resent);
        *packet = Packet { start, end, push, sacked, lost, resent: resent || repair, ever_resent: true, ..record };
        self.by_time.push_back((packet.sent, start));
    }

    /// Takes the first packet off, acknowledged.
    pub fn pop(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.sacked_out -= u32::from(packet.sacked);
        self.lost_out -= u32::from(packet.lost);
        self.resent_out -= u32::from(packet.resent);
        self.hint = self.hint.max(packet.end);
        if self.packets.is_empty() {
            self.by_time.clear();
        }
        if self.highest.is_some_and(|highest| highest <= packet.end) {
            self.highest = None;
        }
        Some(packet)
    }

    /// A packet is acknowledged in part: what is left of it starts there.
    pub fn trim(&mut self, una: u64) {
        if let Some(packet) = self.packets.front_mut().filter(|packet| packet.start < una) {
            packet.start = una;
            let entry = (packet.sent, una);
            self.by_time.push_front(entry);
        }
    }

    /// The other end reports a packet. Whether it was taken for lost, and was repaired, both of which end.
    pub fn report(&mut self, index: usize) {
        let packet = &mut self.packets[index];
        if packet.lost {
            self.resent_out -= u32::from(packet.resent);
            self.lost_out -= 1;
            packet.resent = false;
        }
        packet.lost = false;
        packet.sacked = true;
        self.sacked_out += 1;
        self.highest = self.highest.max(Some(packet.end));
    }

    /// What repaired a packet, or repeated it, is no longer under way.
    pub fn end_repair(&mut self, index: usize) {
        let packet = &mut self.packets[index];
        self.resent_out -= u32::from(packet.resent);
        packet.resent = false;
    }

    /// A delivery is counted in a rate sample.
    pub fn set_sampled(&mut self, index: usize) {
        self.packets[index].sampled = true;
    }

    /// Takes a packet for lost, or what repaired it. Whether that is news (tcp_mark_skb_lost).
    pub fn lose(&mut self, index: usize) -> bool {
        let packet = &mut self.packets[index];
        if packet.sacked {
            return false;
        }
        let news = !packet.lost || packet.resent;
        if packet.lost {
            self.resent_out -= u32::from(packet.resent);
            packet.resent = false;
        } else {
            packet.lost = true;
            self.lost_out += 1;
        }
        self.hint = self.hint.min(packet.start);
        news
    }

    /// Takes nothing for lost any more.
    pub fn find_all(&mut self) {
        self.packets.iter_mut().for_each(|packet| packet.lost = false);
        self.lost_out = 0;
    }

    /// The next packet that is lost and not yet repaired (tcp_xmit_retransmit_queue).
    pub fn next_lost(&mut self) -> Option<usize> {
        if self.resent_out >= self.lost_out {
            return None;
        }
        let first = self.packets.partition_point(|packet| packet.start < self.hint);
        let found = (first..self.packets.len()).find(|&index| {
            let packet = &self.packets[index];
            packet.lost && !packet.sacked && !packet.resent
        });
        self.hint = found.map_or(u64::MAX, |index| self.packets[index].start);
        found
    }

    /// How many packets from this one on are lost, not yet repaired, and left in one burst.
    pub fn lost_together(&self, index: usize) -> u32 {
        let burst = self.packets[index].burst;
        let lost = |packet: &&Packet| packet.burst == burst && packet.lost && !packet.sacked && !packet.resent;
        self.packets.range(index..).take_while(lost).count() as u32
    }

    /// Whether anything was sent again and is under way, or ever was (tcp_any_retrans_done).
    pub fn any_resent(&self) -> bool {
        self.resent_out > 0 || self.front().is_some_and(|packet| packet.ever_resent)
    }

    /// The end of the highest packet reported, or the first byte not acknowledged (tcp_highest_sack_seq).
    pub fn highest(&self, una: u64) -> u64 {
        self.highest.unwrap_or(una).max(una)
    }

    /// Packets that may be lost, the earliest sent first, as indices; what is stale at the front is dropped.
    pub fn in_order_of_sending(&mut self) -> impl Iterator<Item = usize> + '_ {
        while let Some(&(sent, start)) = self.by_time.front() {
            if self.waits(sent, start).is_some() {
                break;
            }
            self.by_time.pop_front();
        }
        self.by_time.iter().filter_map(|&(sent, start)| self.waits(sent, start))
    }

    /// The packet of an entry, if it was last sent then, and is neither reported nor lost.
    fn waits(&self, sent: Time, start: u64) -> Option<usize> {
        let index = self.index_of(start)?;
        let packet = &self.packets[index];
        (packet.sent == sent && !packet.sacked && (!packet.lost || packet.resent)).then_some(index)
    }
}
