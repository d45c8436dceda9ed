//! Flows between two ends that a user wrote, as they run. Whatever reaches an end is an event at its time, because the end
//! may do anything then.

use super::Endpoints;
use super::sending::BURST;
use crate::engine::Event;
use crate::network::packet::{End, Header, PAIRS, SimPacket, owner};
use crate::source::endpoint::{Datagram, Endpoint};
use sluicegate_base::Time;
use sluicegate_tcp::Plain;

/// The two ends of a flow.
pub struct Pair {
    /// Its flow.
    flow: u32,
    ends: [Box<dyn Endpoint>; 2],
    /// How many datagrams each end has sent.
    sent: [u64; 2],
    /// When each end will be woken; never, when it has not asked.
    armed: [Time; 2],
}

impl Pair {
    /// The ends of this flow, which has not begun.
    #[must_use]
    pub fn new(flow: u32, ends: [Box<dyn Endpoint>; 2]) -> Pair {
        Pair { flow, ends, sent: [0; 2], armed: [Time::NEVER; 2] }
    }
}

impl Endpoints {
    /// Adds a pair of ends, whose packets begin with these headers.
    pub(super) fn add_pair(pairs: &mut Vec<Pair>, pair: Pair, headers: &mut [Header; 2]) -> u32 {
        let at = PAIRS + pairs.len() as u32;
        headers.iter_mut().for_each(|header| header.slot = at);
        pairs.push(pair);
        at
    }

    fn pair(&mut self, at: u32) -> &mut Pair {
        &mut self.pairs[(at - PAIRS) as usize]
    }

    /// A flow between two ends begins.
    pub(super) fn begin_pair(&mut self, at: u32) {
        for end in [End::Sender, End::Receiver] {
            let now = self.now();
            self.pair(at).ends[end as usize].wake(now);
            self.transmit(at, end);
        }
    }

    /// A datagram will be at its end at `time`.
    #[cold]
    pub(super) fn will_reach_end(&mut self, place: u32, time: Time) {
        self.network.push_delivery(place, time);
    }

    /// A packet that is given up has come to its end.
    #[cold]
    pub(super) fn hear_datagram(&mut self, place: u32) {
        let (now, payload) = (self.now(), self.network.packets.unload(place));
        let SimPacket { header, bytes, .. } = *self.network.packets.get(place);
        if self.is_over(header.flow) {
            return;
        }
        let (at, to) = (header.slot, header.to);
        self.pair(at).ends[to as usize].receive(Datagram { bytes, ecn: header.ecn, payload }, now);
        self.transmit(at, to);
    }

    /// Whether the ends of a flow are not heard any more.
    fn is_over(&self, flow: u32) -> bool {
        self.now() >= self.plans[flow as usize].stop
    }

    /// The deadline of one end may have come. An event for a later time than the one armed is stale, and the end may have put
    /// its deadline off.
    pub fn wake(&mut self, at: u32, end: End) {
        let (now, flow) = (self.now(), self.pair(at).flow);
        if self.pair(at).armed[end as usize] != now || self.is_over(flow) {
            return self.network.engine.passed_over();
        }
        let pair = self.pair(at);
        pair.armed[end as usize] = Time::NEVER;
        if pair.ends[end as usize].deadline().is_none_or(|deadline| deadline > now) {
            self.network.engine.passed_over();
            return self.arm_end(at, end);
        }
        pair.ends[end as usize].wake(now);
        self.transmit(at, end);
    }

    /// Sends what one end has to send now.
    pub fn transmit(&mut self, at: u32, end: End) {
        let now = self.now();
        let Endpoints { network, flows, pairs, .. } = self;
        let pair = &mut pairs[(at - PAIRS) as usize];
        let (flow, to) = (pair.flow as usize, end.other());
        for sent in 0..BURST {
            let Some(Datagram { bytes, ecn, payload }) = pair.ends[end as usize].poll_transmit(now) else {
                network.engine.work(sent.into());
                return self.arm_end(at, end);
            };
            let (header, bytes) = (Header { ecn, ..flows[flow].headers()[to as usize] }, bytes.max(1));
            if to == End::Receiver {
                let sent = &mut network.flows[flow].sent;
                sent[0] += 1;
                sent[1] += u64::from(bytes);
            }
            let segment = Plain { ack: pair.sent[end as usize], ..Plain::default() };
            pair.sent[end as usize] += 1;
            let packet = SimPacket { header, bytes, next: 0, sent: now, segment };
            let place = network.packets.add(packet);
            network.packets.load(place, payload);
            if let Some(time) = network.launch(place, now) {
                network.push_delivery(place, time);
            }
        }
        network.engine.work(BURST.into());
        network.engine.push(now, Event::Transmit(at, end), owner(flow as u32, end));
    }

    /// Sets the timer of one end, if it asks for an earlier time than it has been set to.
    fn arm_end(&mut self, at: u32, end: End) {
        let next = Time(self.now().0 + 1);
        let pair = self.pair(at);
        let Some(deadline) = pair.ends[end as usize].deadline() else { return };
        let (deadline, flow) = (deadline.max(next), pair.flow);
        if deadline < pair.armed[end as usize] {
            pair.armed[end as usize] = deadline;
            self.network.engine.push(deadline, Event::Wake(at, end), owner(flow, end));
        }
    }
}
