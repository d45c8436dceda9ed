//! The order of sending (tsorted_sent_queue). While no packet was sent again it is that of the stream.

use super::{NOBODY, Packet, Queue};
use core::mem::replace;

impl Queue {
    /// The packet sent first of those that may be lost. What is lost and before it leaves the order.
    #[inline(always)]
    pub fn first_sent(&mut self) -> Option<usize> {
        let mut first = if self.repeated > 0 { self.index(self.marks.first_sent) } else { self.ordered_from(0) };
        while let Some(index) = first.filter(|&index| !self.packets[index].may_be_lost()) {
            first = self.sent_after(index);
            self.leave_order(index);
        }
        first
    }

    /// The packet that was sent next.
    pub fn sent_after(&self, index: usize) -> Option<usize> {
        if self.repeated > 0 { self.index(self.packets[index].later) } else { self.ordered_from(index + 1) }
    }

    /// The first packet from here on that is in the order of sending, by that of the stream.
    fn ordered_from(&self, index: usize) -> Option<usize> {
        (index..self.packets.len()).find(|&index| self.packets[index].has(Packet::ORDERED))
    }

    /// Where the packet with this number is.
    pub(super) fn index(&self, number: u32) -> Option<usize> {
        (number != NOBODY).then(|| self.packets.index(number))
    }

    /// A packet is in the order of sending from now on, the last.
    pub(super) fn order_last(&mut self, index: usize) {
        let (number, marks) = (self.packets.number(index), &mut *self.marks);
        let before = replace(&mut marks.last_sent, number);
        let packet = &mut self.packets[index];
        (packet.earlier, packet.later) = (before, NOBODY);
        packet.tags |= Packet::ORDERED;
        match before {
            NOBODY => marks.first_sent = number,
            _ => self.packets.of(before).later = number,
        }
    }

    /// The first packet of the stream is the first in the order.
    pub(super) fn order_first(&mut self) {
        self.packets[0].tags |= Packet::ORDERED;
        if self.repeated == 0 {
            return;
        }
        let after = self.marks.first_sent;
        (self.packets[0].earlier, self.packets[0].later) = (NOBODY, after);
        let number = self.packets.number(0);
        match self.index(after) {
            Some(after) => self.packets[after].earlier = number,
            None => self.marks.last_sent = number,
        }
        self.marks.first_sent = number;
    }

    /// A packet is about to be sent again: from now on the order is kept.
    pub(super) fn order_all(&mut self) {
        (self.marks.first_sent, self.marks.last_sent) = (NOBODY, NOBODY);
        for index in 0..self.packets.len() {
            if self.packets[index].has(Packet::ORDERED) {
                self.order_last(index);
            }
        }
    }

    /// A packet leaves the order of sending, if it is in it.
    #[inline(always)]
    pub(super) fn leave_order(&mut self, index: usize) {
        let packet = &mut self.packets[index];
        let leaves = packet.has(Packet::ORDERED);
        packet.tags &= !Packet::ORDERED;
        if leaves && self.repeated > 0 {
            self.unlink(index);
        }
    }

    #[inline(never)]
    fn unlink(&mut self, index: usize) {
        let Packet { earlier, later, .. } = self.packets[index];
        match earlier {
            NOBODY => self.marks.first_sent = later,
            _ => self.packets.of(earlier).later = later,
        }
        match later {
            NOBODY => self.marks.last_sent = earlier,
            _ => self.packets.of(later).earlier = earlier,
        }
    }
}
