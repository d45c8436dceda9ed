//! A packet on its way.

use crate::events::End;
use sluicegate_aqm::{FlowKey, Packet};
use sluicegate_base::{Ecn, Time};
use sluicegate_tcp::Segment;

/// A packet of the simulator: small, copied, never allocated.
#[derive(Clone, Copy, Debug)]
pub struct SimPacket {
    /// The index of its flow: where results count it.
    pub flow: u32,
    /// Its connection, when that is one of many that its flow has one after another.
    pub pooled: Option<Pooled>,
    /// Its length in bytes, IP header included.
    pub bytes: u32,
    /// The leg of its path that it is on.
    pub leg: u32,
    /// The end that it travels to.
    pub to: End,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Whether the queue that it is in, or was last in, has marked it.
    pub marked: bool,
    /// The class of its flow.
    pub class: u8,
    /// How much it may be spared.
    pub priority: u8,
    /// What queues have written on it.
    pub label: u32,
    /// What it carries, for TCP.
    pub segment: Segment,
    /// When its source sent it.
    pub sent: Time,
    /// When it entered the queue that it is in.
    pub queued: Time,
}

/// A connection that comes and goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pooled {
    /// Its number: no other connection of the run has it, and no flow.
    pub id: u32,
    /// The place that it has while it lasts.
    pub place: u32,
}

impl SimPacket {
    /// What tells its connection from all others: the index of its flow, or the number of a pooled connection.
    #[must_use]
    pub fn connection(&self) -> u32 {
        self.pooled.map_or(self.flow, |pooled| pooled.id)
    }

    /// The connection, and the end that its packets travel to, of this key.
    #[must_use]
    pub fn of_key(key: FlowKey) -> Option<(u32, End)> {
        let to = if key.0 & 1 == End::Receiver as u64 { End::Receiver } else { End::Sender };
        u32::try_from(key.0 >> 1).ok().map(|flow| (flow, to))
    }
}

impl Packet for SimPacket {
    #[inline]
    fn flow(&self) -> FlowKey {
        // The two directions of a connection are two flows to a queue, as two 5-tuples are.
        FlowKey(u64::from(self.connection()) << 1 | self.to as u64)
    }

    #[inline]
    fn bytes(&self) -> u64 {
        u64::from(self.bytes)
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn mark(&mut self) -> bool {
        self.marked = self.ecn.mark();
        self.marked
    }

    fn class(&self) -> u8 {
        self.class
    }

    fn priority(&self) -> u8 {
        self.priority
    }

    fn label(&self) -> u32 {
        self.label
    }

    fn set_label(&mut self, label: u32) {
        self.label = label;
    }
}

/// Packets on their way between queues, each in a numbered place that is used again.
#[derive(Debug, Default)]
pub struct Travelling {
    places: Vec<SimPacket>,
    free: Vec<u32>,
}

impl Travelling {
    /// Puts a packet in; its number.
    #[inline]
    pub fn put(&mut self, packet: SimPacket) -> u32 {
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = packet;
            return place;
        }
        self.places.push(packet);
        self.places.len() as u32 - 1
    }

    /// The packet with this number.
    #[inline]
    pub fn get(&mut self, place: u32) -> &mut SimPacket {
        &mut self.places[place as usize]
    }

    /// Gives a place up.
    #[inline]
    pub fn release(&mut self, place: u32) {
        self.free.push(place);
    }
}
