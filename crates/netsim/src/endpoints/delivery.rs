//! Packets that reach their ends: as events, or evaluated before their time where nothing can come between.

use super::sending::{BURST, address, send_all, send_in, send_more};
use super::slot::Hears;
use super::timers::arm;
use super::{Endpoints, Heard};
use crate::engine::{Engine, PacketEvent};
use crate::network::ahead::Ahead;
use crate::network::packet::{End, NONE, PAIRS, Segments, SimPacket};
use crate::network::{Network, Shared, go_on};
use sluicegate_base::{Ecn, Time};
use sluicegate_tcp::{Connection, Flags};

impl Endpoints {
    /// A packet will be at its end at `time`. What an end does that only acknowledges, or only hears acknowledgements, depends
    /// on nothing else that may happen until then but its timers: it is evaluated now. Otherwise it is an event.
    #[inline(always)]
    pub(super) fn will_arrive(&mut self, place: u32, time: Time) {
        let packet = self.network.packets.get(place);
        if packet.slot >= PAIRS {
            return match packet.slot {
                NONE => self.will_be_counted(place, time),
                _ => self.will_reach_end(place, time),
            };
        }
        if packet.to == End::Sender {
            return self.will_be_heard(place, time);
        }
        self.will_be_received(place, time);
    }

    /// The same of a packet of a source without connections.
    #[inline(always)]
    pub(super) fn will_be_counted(&mut self, place: u32, time: Time) {
        if time > self.horizon {
            return self.network.push_delivery(place, time);
        }
        let Shared { engine, packets, flows, .. } = &mut self.network.shared;
        engine.evaluated();
        let packet = packets.get(place);
        flows[packet.flow as usize].deliver(packet.bytes, time.since(packet.sent));
        packets.release(place);
    }

    /// The same of one that comes to a sender.
    #[inline(always)]
    fn will_be_heard(&mut self, place: u32, time: Time) {
        let hears = self.hears_next(place, End::Sender, time);
        self.hear(hears, place, time);
    }

    /// It hears of it so.
    #[inline(always)]
    fn hear(&mut self, hears: Hears, place: u32, time: Time) {
        match hears {
            Hears::Next => self.acknowledge(place, time),
            Hears::AfterTimers(first) if self.expire(place, End::Sender, first, time) => self.acknowledge(place, time),
            _ => self.network.push_delivery(place, time),
        }
    }

    /// Whether the end that a packet comes to at `time` hears of it next; if not, the packet is expected there.
    #[inline(always)]
    fn hears_next(&mut self, place: u32, end: End, time: Time) -> Hears {
        let packet = self.network.shared.packets.get(place);
        self.slots.get(packet.slot).hears_next(end, &packet.segment, time, self.horizon)
    }

    /// Lets the timers of the end that a packet comes to at `time` expire that do so until then, from the `first` on: their events
    /// will find nothing to do. False when what it then sends takes an event: the packet is expected. They are armed as before: what the end
    /// hears then may put them off.
    #[inline(never)]
    fn expire(&mut self, place: u32, end: End, first: Time, time: Time) -> bool {
        let at = self.network.packets.get(place).slot;
        let slot = self.slots.get(at);
        let mut next = Some(first);
        while let Some(expiry) = next {
            self.network.engine.evaluated();
            slot.ends[end as usize].on_timer(expiry);
            if !send_all(&mut self.network, &mut self.flows, slot, (at, end), (expiry, true), 0) {
                slot.expected[end as usize] += 1;
                return false;
            }
            next = slot.ends[end as usize].timer_until(time);
        }
        true
    }

    /// The same of one that comes to a receiver.
    #[inline(always)]
    fn will_be_received(&mut self, place: u32, time: Time) {
        match self.hears_next(place, End::Receiver, time) {
            Hears::Next => self.receive(place, time),
            Hears::AfterTimers(first) => self.receive_after_timers(place, first, time),
            Hears::Later => self.network.push_delivery(place, time),
        }
    }

    #[inline(never)]
    fn receive_after_timers(&mut self, place: u32, first: Time, time: Time) {
        if self.expire(place, End::Receiver, first, time) {
            return self.receive(place, time);
        }
        self.network.push_delivery(place, time);
    }

    /// A packet comes at `time`, from now on, to a receiver that hears nothing else. The acknowledgement takes its place.
    #[inline(always)]
    fn receive(&mut self, place: u32, time: Time) {
        let Network { shared: Shared { engine, packets, flows, .. }, links, paths, ahead, .. } = &mut self.network;
        let (packet, segments) = packets.parts(place);
        let at = packet.slot;
        let slot = self.slots.get(at);
        engine.evaluated();
        flows[packet.flow as usize].deliver(packet.bytes, time.since(packet.sent));
        let (answers, goes_on) = answer(engine, &mut slot.ends[1], packet, (segments, place), time);
        if slot.awaited != u64::MAX && slot.ends[1].received() >= slot.awaited {
            slot.awaited = u64::MAX;
            self.flows[slot.flow as usize].completed = time;
        }
        if !answers {
            // Its acknowledgement waits.
            packets.release(place);
            return arm(engine, slot, at, End::Receiver);
        }
        address(packet, slot, End::Sender, time);
        let (mut event, mut heard) = paths.travel(packet, (segments, place), time);
        let knows = |ahead: &Ahead| ahead.knows(heard, links, engine);
        if event == PacketEvent::Crossing && !engine.waits(event) && ahead.as_ref().is_some_and(knows) {
            engine.evaluated();
            (event, heard) = paths.cross(packet, (segments, place), heard);
        }
        if event != PacketEvent::Delivery {
            go_on(engine, place, packet, event, heard);
        } else {
            let hears = slot.hears_next(End::Sender, &packet.segment, heard, self.horizon);
            self.hear(hears, place, heard);
        }
        if goes_on {
            self.acknowledge_again(at, time);
        }
        let engine = &self.network.engine;
        if engine.waits(PacketEvent::Crossing) && engine.is_free() {
            self.catch_up();
        }
    }

    /// Evaluates what waits for shared lines, as far as it is known what comes before.
    #[inline(never)]
    fn catch_up(&mut self) {
        for _ in 0..BURST {
            let Some((place, time)) = self.network.next_known() else { return };
            if let Some(time) = self.network.cross(place, time) {
                self.will_be_heard(place, time);
            }
        }
    }

    /// An acknowledgement comes at `time`, from now on, to a sender that hears nothing else.
    #[inline(never)]
    fn acknowledge(&mut self, place: u32, time: Time) {
        let Shared { engine, packets, .. } = &mut self.network.shared;
        engine.evaluated();
        let (packet, segments) = packets.parts(place);
        let at = packet.slot;
        let ce = packet.ecn == Ecn::CongestionExperienced;
        let SimPacket { segment, header, .. } = packet;
        let slot = self.slots.get(at);
        let sender = &mut slot.ends[0];
        sender.on_plain(segment, || segments.read(place, segment), ce, header.label, time);
        if !sender.may_send() {
            packets.release(place);
        } else if send_in(place, &mut self.network, &mut self.flows, slot, End::Sender, (time, false)) {
            // What it lets out first has taken its place.
            if !slot.ends[0].may_send() {
                self.network.engine.work(1);
            } else if !send_more(&mut self.network, &mut self.flows, slot, at, time) {
                return;
            }
        }
        arm(&mut self.network.engine, slot, at, End::Sender);
    }

    /// Sends what else a receiver has to say at `time`.
    #[cold]
    fn acknowledge_again(&mut self, at: u32, time: Time) {
        self.pump_at(at, End::Receiver, time);
    }

    /// A packet has reached the end of its path; the connection whose application is to look at it, if it has one that comes
    /// and goes.
    #[inline(always)]
    pub fn deliver(&mut self, place: u32) -> Option<Heard> {
        let Shared { engine, packets, flows, .. } = &mut self.network.shared;
        let now = engine.now();
        packets.release(place);
        let (packet, segments) = packets.parts(place);
        let (to, at) = (packet.to, packet.slot);
        if to == End::Receiver {
            flows[packet.flow as usize].deliver(packet.bytes, now.since(packet.sent));
        }
        if at >= PAIRS {
            if at != NONE {
                self.hear_datagram(place);
            }
            return None;
        }
        let slot = self.slots.get(at);
        if slot.id != packet.connection {
            return None;
        }
        let ce = packet.ecn == Ecn::CongestionExperienced;
        let SimPacket { segment, header, .. } = packet;
        slot.ends[to as usize].on_plain(segment, || segments.read(place, segment), ce, header.label, now);
        if slot.transient.is_some() {
            return Some(Heard { slot: at, end: to, opens: packet.segment.flags.has(Flags::SYN) });
        }
        slot.expected[to as usize] -= u32::from(slot.early[to as usize]);
        if to == End::Receiver && slot.ends[1].received() >= slot.awaited {
            slot.awaited = u64::MAX;
            self.flows[slot.flow as usize].completed = now;
        }
        self.pump(at, to);
        None
    }
}

/// A packet comes to a receiver at `time`, and what that says at once takes its place: whether it says anything, and whether
/// there is more.
#[inline(always)]
fn answer(
    engine: &mut Engine,
    receiver: &mut Connection,
    packet: &mut SimPacket,
    (segments, place): (&mut Segments, u32),
    time: Time,
) -> (bool, bool) {
    let ce = packet.ecn == Ecn::CongestionExperienced;
    if !ce && receiver.answer_predicted(&mut packet.segment) {
        return (true, false);
    }
    if packet.opens() {
        engine.end_opening();
    }
    receiver.on_plain(&packet.segment, || segments.read(place, &packet.segment), ce, packet.label, time);
    let answers = receiver.may_send() && receiver.poll_plain(time, &mut packet.segment, || segments.write(place));
    // What filled a gap may have brought the end of the stream, and it closes too.
    (answers, answers && (receiver.may_send() || !receiver.only_receives()))
}
