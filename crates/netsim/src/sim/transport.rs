//! The ends of flows at work: what arrives, what is sent in answer, sources and timers.

use super::{FlowState, Sim};
use crate::ends::Ends;
use crate::events::{End, Event};
use crate::packet::{SimPacket, owner};
use sluicegate_base::{Ecn, Time};
use sluicegate_tcp::{Flags, Segment};

/// The segments, or turns of a script, after which one event ends; the rest of a longer burst follows at the same time in
/// an event of its own, so that no event takes long (an interrupt is heard between events).
pub(super) const BURST: u32 = 4096;

impl Sim {
    /// A packet has reached the end of its path.
    #[inline(always)]
    pub(super) fn deliver(&mut self, place: u32) {
        let now = self.now;
        let packet = self.travelling.get(place);
        let (id, to) = (packet.flow, packet.to);
        let flow = &mut self.flows[id as usize];
        if to == End::Receiver {
            flow.delivered += u64::from(packet.bytes);
            flow.totals.deliver(packet.bytes, now.since(packet.sent));
        }
        if let Some(pooled) = packet.pooled {
            return self.deliver_pooled(place, pooled);
        }
        if let Ends::Tcp(tcp) = &mut flow.ends {
            let end = &mut tcp.ends[to as usize];
            let ce = packet.ecn == Ecn::CongestionExperienced;
            end.on_labelled(&packet.segment, ce, packet.label, now);
            if to == End::Receiver && flow.awaited.is_some_and(|size| end.received() >= size) {
                (flow.awaited, flow.completed) = (None, Some(now));
            }
        }
        self.travelling.release(place);
        self.pump(id, to);
    }

    /// Sends what one end of a connection has to send, and sets its timer.
    pub(super) fn pump(&mut self, id: u32, end: End) {
        let to = if end == End::Sender { End::Receiver } else { End::Sender };
        for _ in 0..BURST {
            let flow = &mut self.flows[id as usize];
            let Ends::Tcp(tcp) = &mut flow.ends else { return };
            let connection = &mut tcp.ends[end as usize];
            let now = self.now;
            let written =
                |packet: &mut SimPacket| connection.may_send() && connection.poll_into(now, &mut packet.segment);
            let Some((place, packet)) = self.travelling.put(written) else {
                if let Some(at) = connection.next_timer() {
                    let armed = &mut tcp.armed[end as usize];
                    if armed.is_none_or(|time| at < time) {
                        *armed = Some(at);
                        self.events.push(at, Event::Timer(id, end), owner(id, end));
                    }
                }
                return;
            };
            packet.bytes = tcp.header + packet.segment.option_bytes() + packet.segment.len;
            flow.address(packet, id, to, now);
            self.work += 1;
            let sent = packet.sent;
            self.launch(place, sent);
        }
        self.events.push(self.now, Event::Burst(id, end), owner(id, end));
    }

    /// A packet leaves its host at `sent`, now or later.
    #[inline(always)]
    pub(super) fn launch(&mut self, place: u32, sent: Time) {
        let packet = self.travelling.get(place);
        // It may start at a queue.
        if let Some(link) = self.paths.link_at(packet.leg).filter(|_| sent == self.now) {
            packet.leg += 1;
            self.enter(place, link);
        } else {
            let (time, event) = self.paths.travel(place, packet, sent);
            self.events.push(time, event, packet.key().0);
        }
    }

    /// A flow's source starts, or sends.
    pub(super) fn source(&mut self, flow: u32) {
        let state = &mut self.flows[flow as usize];
        match &mut state.ends {
            Ends::Tcp(tcp) => {
                let sender = &mut tcp.ends[0];
                if self.now >= state.plan.stop {
                    sender.stop();
                    sender.close();
                    return self.pump(flow, End::Sender);
                }
                if self.now == state.plan.start && state.plan.stop < self.end {
                    self.events.push(state.plan.stop, Event::Source(flow), flow.into());
                }
                let (bytes, gap) = match &mut tcp.typing {
                    Some(typing) => typing.next(),
                    None => (state.plan.size.unwrap_or(u64::MAX), None),
                };
                sender.write(bytes);
                match gap {
                    Some(gap) => self.events.push(self.now + gap, Event::Source(flow), flow.into()),
                    None if state.plan.size.is_some() => sender.close(),
                    None => {}
                }
                self.pump(flow, End::Sender);
            }
            Ends::Clocked(source) => {
                if self.now >= state.plan.stop {
                    return;
                }
                let (bytes, gap) = source.next();
                self.events.push(self.now + gap, Event::Source(flow), flow.into());
                let written = |packet: &mut SimPacket| {
                    (packet.bytes, packet.segment) = (bytes, Segment::default());
                    true
                };
                if let Some((place, packet)) = self.travelling.put(written) {
                    state.address(packet, flow, End::Receiver, self.now);
                    let sent = packet.sent;
                    self.launch(place, sent);
                }
            }
            Ends::Many => self.begin_group(flow),
        }
    }

    /// The timer of one end of a connection may have expired.
    pub(super) fn timer(&mut self, flow: u32, end: End) {
        let Ends::Tcp(tcp) = &mut self.flows[flow as usize].ends else { return };
        // An entry for a later time than the one armed is stale; the timer is lazy and may have moved on.
        if tcp.armed[end as usize].take_if(|at| *at <= self.now).is_some() {
            tcp.ends[end as usize].on_timer(self.now);
            self.pump(flow, end);
        }
    }
}

impl FlowState {
    /// A packet whose segment and length are written sets out from one end of the flow with this number.
    #[inline(always)]
    fn address(&mut self, packet: &mut SimPacket, id: u32, to: End, now: Time) {
        if to == End::Receiver {
            self.totals.sent[0] += 1;
            self.totals.sent[1] += u64::from(packet.bytes);
        }
        (packet.flow, packet.pooled, packet.to, packet.leg) = (id, None, to, self.first[to as usize]);
        (packet.class, packet.priority, packet.label) = (self.class, self.priority, 0);
        packet.ecn = if packet.segment.flags.has(Flags::ECT) { Ecn::Capable0 } else { Ecn::NotCapable };
        packet.sent = self.ends.leaves(to, packet.segment.len > 0, now);
    }
}
