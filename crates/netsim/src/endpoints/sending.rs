//! What an end of a connection sends: its segments, as packets on their way.

use super::flow::FlowState;
use super::slot::Slot;
use crate::engine::{Event, PacketEvent};
use crate::network::packet::{End, SimPacket, WAITED, owner};
use crate::network::{Network, Shared, go_on};
use sluicegate_base::{Ecn, Time};
use sluicegate_tcp::Flags;

/// The segments after which one event ends; the rest of a longer burst follows at the same time in an event of its own, so
/// that no event takes long (an interrupt is heard between events).
pub(super) const BURST: u32 = 4096;

/// Sends what one end of the connection in slot `at` has to send at a time, when so many segments have been sent; false when there
/// is more, which an event will send. With the time is said whether others have been evaluated that send later.
#[inline(always)]
pub(super) fn send_all(
    network: &mut Network,
    states: &mut [FlowState],
    slot: &mut Slot,
    (at, end): (u32, End),
    (now, late): (Time, bool),
    sent: u32,
) -> bool {
    for sent in sent..BURST {
        if !send_one(network, states, slot, end, (now, late)) {
            network.engine.work(sent.into());
            return true;
        }
    }
    network.engine.work(BURST.into());
    slot.expected[end as usize] += 1;
    network.engine.push(now, Event::Burst(at, end), owner(slot.id, end));
    false
}

/// As [`send_all`] of a sender that has sent one segment and has another.
#[inline(never)]
pub(super) fn send_more(network: &mut Network, states: &mut [FlowState], slot: &mut Slot, at: u32, now: Time) -> bool {
    send_all(network, states, slot, (at, End::Sender), (now, false), 1)
}

/// Sends one segment of a connection's end, if it has one to send at `now`.
#[inline(always)]
fn send_one(
    network: &mut Network,
    states: &mut [FlowState],
    slot: &mut Slot,
    end: End,
    (now, late): (Time, bool),
) -> bool {
    if !slot.ends[end as usize].may_send() {
        return false;
    }
    let place = network.packets.take();
    send_in(place, network, states, slot, end, (now, late))
}

/// The same of an end that may have one, in a packet's place, which is given up if it has none.
#[inline(always)]
pub(super) fn send_in(
    place: u32,
    network: &mut Network,
    states: &mut [FlowState],
    slot: &mut Slot,
    end: End,
    (now, late): (Time, bool),
) -> bool {
    let connection = &mut slot.ends[end as usize];
    let Network { shared: Shared { engine, packets, flows, .. }, paths, .. } = network;
    let (packet, segments) = packets.parts(place);
    if !connection.poll_plain(now, &mut packet.segment, || segments.write(place)) {
        packets.release(place);
        return false;
    }
    let (to, flow) = (end.other(), slot.flow as usize);
    let opens = address(packet, slot, to, now);
    if to == End::Receiver {
        let sent = &mut flows[flow].sent;
        sent[0] += 1;
        sent[1] += u64::from(packet.bytes);
        if let Some(jitter) = &mut slot.jitter {
            packet.sent = jitter.ready(packet.segment.len > 0, now);
        }
    }
    let (mut sent, mut waited) = (packet.sent, 0);
    if let Some(transient) = &mut slot.transient {
        let (time, waits) = transient.access[to as usize].cross(packet.bytes, now);
        (sent, waited) = (time, if waits { WAITED } else { 0 });
        if states[flow].loses(transient.losses[to as usize]) {
            flows[flow].drops_elsewhere += u64::from(to == End::Receiver);
            packets.release(place);
            return true;
        }
    }
    if opens && to == End::Receiver {
        engine.begin_opening();
    }
    let (event, time) = paths.travel(packet, (segments, place), sent);
    packet.next |= waited;
    if late && event != PacketEvent::Delivery {
        engine.push_packet_between(time, event, place, packet.turn());
    } else if let Some(time) = go_on(engine, place, packet, event, time) {
        // An event, lest both ends of paths without a queue go on for ever.
        slot.expected[to as usize] += u32::from(slot.early[to as usize]);
        network.push_delivery(place, time);
    }
    true
}

/// The packet whose segment is written leaves one end of a connection, for the other, at `sent`; whether it has SYN.
#[inline(always)]
pub(super) fn address(packet: &mut SimPacket, slot: &Slot, to: End, sent: Time) -> bool {
    packet.header = slot.headers[to as usize];
    packet.bytes = slot.header_bytes + u32::from(packet.segment.option_bytes) + packet.segment.len;
    packet.sent = sent;
    let flags = packet.segment.flags;
    // Most have none of them.
    if !flags.has_any(Flags::ECT.with(Flags::SYN)) {
        return false;
    }
    if flags.has(Flags::ECT) {
        packet.header.ecn = if flags.has(Flags::ECT1) { Ecn::Capable1 } else { Ecn::Capable0 };
    }
    flags.has(Flags::SYN)
}
