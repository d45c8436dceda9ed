//! A packet on its way, and the pool of all of them.

use prefetch_index::prefetch_index;
use sluicegate_aqm::{Ack, FlowKey, Packet};
use sluicegate_base::{Ecn, Time};
use sluicegate_port::PortPacket;
use sluicegate_tcp::segment::Options;
use sluicegate_tcp::{Flags, Plain, Segment};
use std::mem::{replace, take};
use std::ops::Deref;

/// The ends of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum End {
    /// Where the data comes from.
    #[default]
    Sender = 0,
    /// Where it goes.
    Receiver = 1,
}

impl End {
    /// The end to which this one sends.
    #[must_use]
    #[inline]
    pub fn other(self) -> End {
        match self {
            End::Sender => End::Receiver,
            End::Receiver => End::Sender,
        }
    }
}

/// No slot.
pub(crate) const NONE: u32 = u32::MAX;

/// From here on the number of a slot is that of a pair of ends; below it is a connection's.
pub(crate) const PAIRS: u32 = 1 << 31;

/// The numbers of connections are below this: with the end, they are so in 31 bits.
pub(crate) const CONNECTIONS: u32 = 1 << 30;

/// Beside a number of 31 bits: the packet has waited on its own line for the one before it. A line with jitter does not say so:
/// there packets of one flow can arrive at one time, and would change places.
pub(crate) const WAITED: u32 = 1 << 31;

/// A packet of the simulator, from when it is sent until it is delivered or dropped. It stays in its place in the
/// [pool](PacketPool); what moves is the number of that place. It lies in one cache line; what few have beside is elsewhere.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub struct SimPacket {
    /// Whose it is, and where it goes.
    pub header: Header,
    /// Its length in bytes, IP header included.
    pub bytes: u32,
    /// The link or line that it reaches next, with [`WAITED`] if it waited on the line before; of a place that is free, the next
    /// one that is.
    pub(crate) next: u32,
    /// When its source sent it.
    pub sent: Time,
    /// What it carries, for TCP: the whole of a segment that has more is among [`Segments`]. Of a datagram `ack`, which has no
    /// other use there, is how many its sender had sent before.
    pub segment: Plain,
}

const _: () = assert!(size_of::<SimPacket>() == 64, "one cache line");

/// What all packets that one end of a flow sends begin with.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Header {
    /// The index of its flow: where results count it.
    pub flow: u32,
    /// What tells its connection from all others: the index of its flow, or the number of one of many that its flow has one
    /// after another.
    pub connection: u32,
    /// The slot of its connection while that lasts; `u32::MAX` for a source without connections.
    pub(crate) slot: u32,
    /// What queues have written on it.
    pub label: u32,
    /// The end that it travels to.
    pub to: End,
    /// Its ECN field.
    pub ecn: Ecn,
    /// The class of its flow.
    pub class: u8,
    /// How much it may be spared.
    pub priority: u8,
    /// The next leg of its path.
    pub(crate) leg: u32,
}

impl Deref for SimPacket {
    type Target = Header;

    #[inline(always)]
    fn deref(&self) -> &Header {
        &self.header
    }
}

impl QueuedPacket {
    /// What tells it from all other packets that are on their way.
    #[must_use]
    pub fn place(&self) -> u32 {
        self.place
    }
}

impl SimPacket {
    /// What queues know its connection and direction by.
    #[must_use]
    #[inline]
    pub fn key(&self) -> FlowKey {
        FlowKey(owner(self.connection, self.to))
    }

    /// The same in 31 bits, and whether it has waited: what decides at equal times.
    #[must_use]
    #[inline]
    pub(crate) fn turn(&self) -> u32 {
        owner(self.connection, self.to) as u32 | self.next & WAITED
    }

    /// Whether it opens a connection, and goes to the receiver.
    #[inline]
    pub(crate) fn opens(&self) -> bool {
        self.segment.flags.has(Flags::SYN) && self.to == End::Receiver
    }

    /// The link or line that it reaches next.
    #[must_use]
    #[inline]
    pub(crate) fn next(&self) -> u32 {
        self.next & !WAITED
    }

    /// The connection, and the end that its packets travel to, of this key.
    #[must_use]
    pub fn of_key(key: FlowKey) -> Option<(u32, End)> {
        let to = if key.0 & 1 == End::Receiver as u64 { End::Receiver } else { End::Sender };
        u32::try_from(key.0 >> 1).ok().map(|flow| (flow, to))
    }
}

/// The number of one end of a connection, and of what travels to it. The two directions of a connection are two flows to a
/// queue, as two 5-tuples are.
#[must_use]
#[inline]
pub fn owner(connection: u32, end: End) -> u64 {
    u64::from(connection) << 1 | end as u64
}

/// The hosts that a connection's packets come from and go to: the sender's has the number that its flow was given, or is the
/// connection's own, as the receiver's is.
#[must_use]
#[inline]
pub fn hosts(connection: u32, given: Option<u32>, to: End) -> (u64, u64) {
    let own = |end: End| (1 + end as u64) << 32 | u64::from(connection);
    let (sender, receiver) = (given.map_or(own(End::Sender), u64::from), own(End::Receiver));
    match to {
        End::Receiver => (sender, receiver),
        End::Sender => (receiver, sender),
    }
}

/// The host of a sender that has no number: it is its connection's alone.
pub(crate) const OWN_HOST: u32 = u32::MAX;

/// What a queue holds of a packet, and may change. It begins as its [`Header`] does, so that entering a queue copies that.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct QueuedPacket {
    /// The index of its flow: where results count it.
    pub flow: u32,
    connection: u32,
    /// The slot of its connection.
    pub(crate) slot: u32,
    /// What queues have written on it.
    pub label: u32,
    /// The end that it travels to.
    pub to: End,
    /// Its ECN field.
    pub ecn: Ecn,
    class: u8,
    priority: u8,
    /// The host of its flow's sender.
    host: u32,
    /// When it entered the queue.
    pub queued: Time,
    /// Where the packet itself is.
    pub(crate) place: u32,
    /// Its length in bytes, IP header included.
    pub bytes: u32,
    /// The lower half of what it acknowledges.
    ack: u32,
    /// The flags of its segment, whether it carries data, and the kinds of its options.
    flags: Flags,
    data: bool,
    kinds: u8,
    /// Whether this queue has marked it.
    pub marked: bool,
}

impl QueuedPacket {
    /// The packet in this place as it enters a queue, from a host with this number.
    #[inline]
    pub(crate) fn new(place: u32, packet: &SimPacket, host: u32, queued: Time) -> QueuedPacket {
        let segment = &packet.segment;
        QueuedPacket {
            flow: packet.flow,
            connection: packet.connection,
            slot: packet.slot,
            label: packet.label,
            to: packet.to,
            ecn: packet.ecn,
            class: packet.class,
            priority: packet.priority,
            host,
            queued,
            place,
            bytes: packet.bytes,
            ack: segment.ack as u32,
            flags: segment.flags,
            data: segment.len > 0,
            kinds: segment.kinds,
            marked: false,
        }
    }

    /// What tells its connection from all others: the index of its flow, or the number of a pooled connection.
    #[must_use]
    pub fn connection(&self) -> u32 {
        self.connection
    }

    /// See [`SimPacket::opens`].
    #[inline]
    pub(crate) fn opens(&self) -> bool {
        self.flags.has(Flags::SYN) && self.to == End::Receiver
    }
}

impl Packet for QueuedPacket {
    #[inline]
    fn flow(&self) -> FlowKey {
        FlowKey(owner(self.connection, self.to))
    }

    #[inline]
    fn bytes(&self) -> u64 {
        u64::from(self.bytes)
    }

    #[inline]
    fn ecn(&self) -> Ecn {
        self.ecn
    }

    #[inline]
    fn mark(&mut self) -> bool {
        self.marked = self.ecn.mark();
        self.marked
    }

    #[inline]
    fn class(&self) -> u8 {
        self.class
    }

    #[inline]
    fn set_class(&mut self, class: u8) {
        self.class = class;
    }

    fn hosts(&self) -> (u64, u64) {
        hosts(self.connection, (self.host != OWN_HOST).then_some(self.host), self.to)
    }

    fn ack(&self) -> Option<Ack> {
        let said = Flags::SYN.with(Flags::FIN).with(Flags::BETWEEN);
        self.flags.has(Flags::ACK).then(|| Ack {
            number: self.ack,
            bare: !self.data && !self.flags.has_any(said) && self.kinds & Options::CE_BYTES == 0,
            sacks: self.kinds & (Options::SACKS | Options::DUPLICATE) != 0,
            echo: self.flags.echo(),
        })
    }

    #[inline]
    fn priority(&self) -> u8 {
        self.priority
    }

    #[inline]
    fn label(&self) -> u32 {
        self.label
    }

    #[inline]
    fn set_label(&mut self, label: u32) {
        self.label = label;
    }
}

impl PortPacket for QueuedPacket {
    #[inline]
    fn arrived(&self) -> Time {
        self.queued
    }

    #[inline]
    fn marked(&self) -> bool {
        self.marked
    }
}

/// How many packets are moved in no time when memory for more is needed, 256 KiB of them, and the most that memory is
/// reserved for then, 1 GiB. What they are moved from leaves a hole, which may stay.
const SMALL: usize = 1 << 12;
const MAX_RESERVED: usize = 1 << 24;

/// A place for each packet.
#[derive(Debug, Default)]
struct Places<T> {
    all: Vec<T>,
    /// How many there may be.
    capacity: usize,
}

impl<T: Clone + Default> Places<T> {
    #[cold]
    fn grow_to(&mut self, place: usize) {
        if self.all.len() <= SMALL && place >= SMALL {
            // Reserved, it costs nothing until it is used. Where the system refuses, packets move as they become more.
            let _ = self.all.try_reserve(self.capacity.saturating_sub(self.all.len()));
        }
        self.all.resize(place + 1, T::default());
    }
}

/// The whole segments of packets that have more than a [`Plain`] one, by the packets' places.
#[derive(Debug, Default)]
pub struct Segments(Places<Segment>);

impl Segments {
    /// That of the packet in this place, to be written.
    #[inline(always)]
    pub fn write(&mut self, place: u32) -> &mut Segment {
        if place as usize >= self.0.all.len() {
            self.0.grow_to(place as usize);
        }
        &mut self.0.all[place as usize]
    }

    /// That of the packet in this place, which has this plain one.
    #[inline(always)]
    pub fn read(&mut self, place: u32, plain: &Plain) -> &Segment {
        if plain.kinds == Options::NONE {
            *self.write(place) = (*plain).into();
        }
        &self.0.all[place as usize]
    }

    /// The same to keep.
    #[must_use]
    pub fn copy(&self, place: u32, plain: &Plain) -> Segment {
        if plain.kinds == Options::NONE { (*plain).into() } else { self.0.all[place as usize] }
    }
}

/// Packets on their way, each in a numbered place that is used again.
#[derive(Debug)]
pub struct PacketPool {
    packets: Places<SimPacket>,
    segments: Segments,
    /// What datagrams carry, by their places; nothing where no end sends any.
    payloads: Vec<Vec<u8>>,
    /// The place that was given up last, and so on; `u32::MAX` when none is free.
    free: u32,
}

impl PacketPool {
    /// No packets, of which there may be so many at once.
    #[must_use]
    pub fn with_capacity(packets: usize) -> PacketPool {
        let capacity = packets.min(MAX_RESERVED);
        PacketPool {
            packets: Places { all: Vec::new(), capacity },
            segments: Segments(Places { all: Vec::new(), capacity }),
            payloads: Vec::new(),
            free: NONE,
        }
    }

    /// Takes a place for a packet: its number. There is what was last in it.
    #[inline(always)]
    pub fn take(&mut self) -> u32 {
        let place = self.free;
        match self.packets.all.get(place as usize) {
            Some(packet) => self.free = packet.next,
            None => return self.grow(),
        }
        // With many flows the next one that is free may have been given up long ago.
        self.prefetch(self.free);
        place
    }

    /// Adds a packet; its number.
    #[inline]
    pub fn add(&mut self, packet: SimPacket) -> u32 {
        let place = self.take();
        *self.get(place) = packet;
        place
    }

    #[cold]
    fn grow(&mut self) -> u32 {
        let place = self.packets.all.len();
        self.packets.grow_to(place);
        place as u32
    }

    /// Fetches the packet with this number.
    #[inline(always)]
    pub fn prefetch(&self, place: u32) {
        prefetch_index(&self.packets.all, place as usize);
    }

    /// The packet with this number.
    #[inline(always)]
    pub fn get(&mut self, place: u32) -> &mut SimPacket {
        &mut self.packets.all[place as usize]
    }

    /// The same, and the segments of all.
    #[inline(always)]
    pub fn parts(&mut self, place: u32) -> (&mut SimPacket, &mut Segments) {
        (&mut self.packets.all[place as usize], &mut self.segments)
    }

    /// A packet leaves a queue: what the queue has written on it counts from now on.
    #[inline(always)]
    pub fn leaves_queue(&mut self, packet: &QueuedPacket) -> &mut SimPacket {
        let place = self.get(packet.place);
        (place.header.ecn, place.header.label, place.header.class) = (packet.ecn, packet.label, packet.class);
        place
    }

    /// Gives a place up: what is in it but where the packet was to go stays there until the place is taken.
    #[inline(always)]
    pub fn release(&mut self, place: u32) {
        let next = replace(&mut self.free, place);
        self.get(place).next = next;
    }

    /// The same of a packet that does not reach its end.
    #[inline(always)]
    pub fn discard(&mut self, place: u32) {
        if !self.payloads.is_empty() {
            self.unload(place);
        }
        self.release(place);
    }

    /// The packet in this place carries this.
    pub fn load(&mut self, place: u32, payload: Vec<u8>) {
        if payload.is_empty() {
            return;
        }
        let places = self.payloads.len().max(place as usize + 1);
        self.payloads.resize_with(places, Vec::new);
        self.payloads[place as usize] = payload;
    }

    /// Takes what the packet in this place carries.
    #[inline(never)]
    pub fn unload(&mut self, place: u32) -> Vec<u8> {
        self.payloads.get_mut(place as usize).map(take).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Queues move what they hold: three quarters of a cache line.
    #[test]
    fn a_queued_packet_is_small() {
        assert_eq!(std::mem::size_of::<QueuedPacket>(), 48);
    }

    /// Linux's filter keeps a DSACK as it keeps SACK, and what has an option that it does not know.
    #[test]
    fn an_acknowledgement_tells_its_options() {
        let told = |kinds| {
            let segment = Plain { flags: Flags::ACK, kinds, ..Plain::default() };
            let packet = SimPacket { segment, ..SimPacket::default() };
            let ack = QueuedPacket::new(0, &packet, OWN_HOST, Time::ZERO).ack().unwrap();
            (ack.bare, ack.sacks)
        };
        assert_eq!([Options::NONE, Options::STAMPED].map(told), [(true, false); 2]);
        assert_eq!([Options::SACKS, Options::DUPLICATE].map(told), [(true, true); 2]);
        // ACE never comes without its option or SACK.
        assert_eq!(told(Options::STAMPED | Options::ACE | Options::CE_BYTES), (false, false));
    }

    #[test]
    fn what_a_packet_carries_goes_with_it() {
        let mut pool = PacketPool::with_capacity(2);
        let [a, b] = [0; 2].map(|_| pool.add(SimPacket::default()));
        pool.load(a, vec![1]);
        pool.load(b, vec![2, 3]);
        assert_eq!(pool.unload(b), [2, 3]);
        pool.discard(a);
        assert!(pool.payloads.iter().all(Vec::is_empty), "what is dropped is kept nowhere");
        assert_eq!(pool.unload(99), [0; 0], "most packets carry nothing");
    }
}
