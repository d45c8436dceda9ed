//! The ends of flows at work: what arrives, what is sent in answer, sources and timers.

use super::{Leg, Sim, Then};
use crate::ends::Ends;
use crate::events::{End, Event};
use sluicegate_base::{Ecn, Time};
use sluicegate_tcp::{Flags, Segment};

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
            let packet = *packet;
            self.travelling.release(place);
            return self.deliver_pooled(&packet, pooled);
        }
        if let Ends::Tcp(tcp) = &mut flow.ends {
            let end = &mut tcp.ends[to as usize];
            let ce = packet.ecn == Ecn::CongestionExperienced;
            end.on_labelled(&packet.segment, ce, packet.label, now);
            if to == End::Receiver
                && flow.completed.is_none()
                && flow.plan.size.is_some_and(|size| end.received() >= size)
            {
                flow.completed = Some(now);
            }
        }
        self.travelling.release(place);
        self.pump(id, to);
    }

    /// Sends what one end of a connection has to send, and sets its timer.
    pub(super) fn pump(&mut self, id: u32, end: End) {
        let to = if end == End::Sender { End::Receiver } else { End::Sender };
        loop {
            let flow = &mut self.flows[id as usize];
            let Ends::Tcp(tcp) = &mut flow.ends else { return };
            let connection = &mut tcp.ends[end as usize];
            let (place, packet) = self.travelling.vacant();
            if !connection.poll_into(self.now, &mut packet.segment) {
                if let Some(at) = connection.next_timer() {
                    let armed = &mut tcp.armed[end as usize];
                    if armed.is_none_or(|time| at < time) {
                        *armed = Some(at);
                        self.events.push(at, Event::Timer(id, end));
                    }
                }
                return;
            }
            packet.pooled = None;
            packet.bytes = tcp.header + packet.segment.option_bytes() + packet.segment.len;
            self.work += 1;
            self.send(id, to, place);
        }
    }

    /// Sends the packet in a vacant place, whose segment, length and connection are written.
    #[inline(always)]
    fn send(&mut self, flow: u32, to: End, place: u32) {
        let state = &mut self.flows[flow as usize];
        let packet = self.travelling.get(place);
        if to == End::Receiver {
            state.totals.sent[0] += 1;
            state.totals.sent[1] += u64::from(packet.bytes);
        }
        let sent = state.ends.leaves(to, packet.segment.len > 0, self.now);
        (packet.flow, packet.to, packet.leg) = (flow, to, state.first[to as usize]);
        (packet.class, packet.priority, packet.label) = (state.plan.class, state.plan.priority, 0);
        packet.ecn = if packet.segment.flags.has(Flags::ECT) { Ecn::Capable0 } else { Ecn::NotCapable };
        packet.sent = sent;
        self.launch(place, sent);
    }

    /// The packet in a vacant place leaves its host at `sent`, now or later.
    #[inline(always)]
    pub(super) fn launch(&mut self, place: u32, sent: Time) {
        self.travelling.occupy();
        let leg = self.travelling.get(place).leg;
        match self.legs[leg as usize] {
            // It starts at a queue.
            Leg { line: None, to: Then::Link(at) } if sent == self.now => self.enter(place, at),
            _ => self.travel(place, sent),
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
                    self.events.push(state.plan.stop, Event::Source(flow));
                }
                let (bytes, gap) = match &mut tcp.typing {
                    Some(typing) => typing.next(),
                    None => (state.plan.size.unwrap_or(u64::MAX), None),
                };
                sender.write(bytes);
                match gap {
                    Some(gap) => self.events.push(self.now + gap, Event::Source(flow)),
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
                self.events.push(self.now + gap, Event::Source(flow));
                let (place, packet) = self.travelling.vacant();
                (packet.pooled, packet.bytes, packet.segment) = (None, bytes, Segment::default());
                self.send(flow, End::Receiver, place);
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
