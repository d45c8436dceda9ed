//! The network: links, delay lines and the paths over them, with the packets on their way. It knows the engine below it, and
//! nothing of who sends.

pub mod access_link;
pub mod ahead;
pub mod delay_line;
pub mod headers;
pub mod link;
pub mod log;
pub mod numbered;
pub mod packet;
pub mod paths;
mod segments;

use crate::counters::{FlowTotals, PacketFate};
use crate::engine::{Engine, Event, PacketEvent};
use crate::plan::{Hop, LinePlan, Plan};
use crate::source::SourcePlan;
use ahead::Ahead;
use link::{Link, Sink};
use log::Log;
use packet::{End, NONE, OWN_HOST, PacketPool, QueuedPacket, SimPacket};
use paths::Paths;
use sluicegate_base::{Rate, Span, Time};
use sluicegate_port::Port;
use sluicegate_tcp::Segment;
use std::ops::{Deref, DerefMut};

/// How many flows are many: what each has is no longer in the cache when its next packet comes, and packets of others come between
/// those that one sends back to back.
pub const MANY: usize = 256;

/// Sees each packet that a link or line has sent, with the whole of its segment, when its last bit is out.
pub type Observer = Box<dyn FnMut(Time, &SimPacket, &Segment) + Send>;

/// The network as it runs.
pub struct Network {
    /// What links share.
    pub shared: Shared,
    /// The links, in the order of the plan.
    pub links: Vec<Link>,
    /// The paths of all flows.
    pub paths: Paths,
    /// The number of each flow's sender's host; empty where none was given.
    hosts: Vec<u32>,
    /// What is known ahead of its time.
    pub ahead: Option<Ahead>,
}

/// What all links of a network share.
pub struct Shared {
    /// The clock, and what happens next.
    pub engine: Engine,
    /// The packets on their way.
    pub packets: PacketPool,
    /// What each flow has counted.
    pub flows: Vec<FlowTotals>,
    /// Packet by packet, what happens at links under study.
    pub log: Log,
    /// When the measured window began; zero before that.
    pub window: Time,
}

impl Deref for Network {
    type Target = Shared;

    #[inline(always)]
    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl DerefMut for Network {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Shared {
        &mut self.shared
    }
}

impl Shared {
    /// Notes that a packet has reached the queue of a link.
    #[cold]
    fn note_arrival(&mut self, at: u32, link: &Link, queued: &QueuedPacket) {
        let (packet, segments) = self.packets.parts(queued.place);
        self.log.segments.arrives(&link.name, queued.queued, (queued.place, packet, segments));
        self.log.note(at, queued.queued, (queued.place, packet), PacketFate::Arrival, link.port.len());
    }
}

impl Network {
    /// The network of this plan, whose links it takes, without a packet.
    #[must_use]
    pub fn new(plan: &mut Plan) -> Network {
        let mut engine = Engine::new(plan.links.len(), bucket(plan), reach(plan), plan.flows.len() >= MANY);
        let shared = plan.lines.len();
        lay_wires(plan);
        let (packets, paths) = (PacketPool::with_capacity(in_flight(plan)), Paths::new(plan, shared));
        let ahead = Ahead::new(plan, &paths);
        let links = std::mem::take(&mut plan.links).into_iter().map(|link| Link::new(link, plan.recent, plan.seed));
        let links: Vec<Link> = links.collect();
        for (at, link) in links.iter().enumerate() {
            engine.set_port(at as u32, link.port.next_deadline());
        }
        let flows = vec![FlowTotals::default(); plan.flows.len()];
        let numbered = plan.flows.iter().any(|flow| flow.host.is_some());
        let hosts = plan.flows.iter().filter(|_| numbered).map(|flow| flow.host.unwrap_or(OWN_HOST)).collect();
        for (at, link) in links.iter().enumerate() {
            if let Some(next) = link.course.as_ref().and_then(|course| course.next()) {
                engine.push(next, Event::Rate(at as u32), at as u64);
            }
        }
        let shared = Shared { engine, packets, flows, log: Log::new(plan.packets, plan.segments), window: Time::ZERO };
        Network { shared, links, paths, hosts, ahead }
    }

    /// The present.
    #[inline(always)]
    #[must_use]
    pub fn now(&self) -> Time {
        self.engine.now()
    }

    /// The measured window has begun at `start`: links and flows are counted anew.
    pub fn begin_window(&mut self, start: Time) {
        self.window = start;
        self.links.iter_mut().for_each(|link| link.begin_window(start));
        self.flows.iter_mut().for_each(|flow| *flow = FlowTotals::default());
    }

    /// A packet leaves its host at `sent`, now or later; when it will be at its end, if nothing must happen before in the
    /// order of time.
    #[inline(always)]
    pub fn launch(&mut self, place: u32, sent: Time) -> Option<Time> {
        let (packet, segments) = self.shared.packets.parts(place);
        let (event, time) = self.paths.travel(packet, (segments, place), sent);
        go_on(&mut self.shared.engine, place, packet, event, time)
    }

    /// A packet has reached a line that several paths share; when it will be at its end, if it gets there.
    #[inline(always)]
    pub fn cross(&mut self, place: u32, now: Time) -> Option<Time> {
        let (packet, segments) = self.shared.packets.parts(place);
        let (event, time) = self.paths.cross(packet, (segments, place), now);
        go_on(&mut self.shared.engine, place, packet, event, time)
    }

    /// The next packet that will reach a shared line, and when, if its place there is known; it is evaluated before its time.
    #[inline(always)]
    pub fn next_known(&mut self) -> Option<(u32, Time)> {
        let engine = &mut self.shared.engine;
        if !engine.waits(PacketEvent::Crossing) {
            return None;
        }
        let time = engine.head(PacketEvent::Crossing);
        self.ahead.as_ref().filter(|ahead| ahead.knows(time, &self.links, engine))?;
        engine.evaluated();
        Some((engine.take(PacketEvent::Crossing), time))
    }

    /// A packet will be at its end at `time`: that is an event.
    #[inline(always)]
    pub fn push_delivery(&mut self, place: u32, time: Time) {
        let packet = self.shared.packets.get(place);
        if packet.to == End::Receiver {
            self.shared.engine.hold(time);
        }
        if packet.opens() {
            self.shared.engine.end_opening();
        }
        self.shared.engine.push_packet(time, PacketEvent::Delivery, place, packet.turn());
    }

    /// A packet has reached the next link of its path.
    #[inline(always)]
    pub fn arrive(&mut self, place: u32) {
        let packet = self.shared.packets.get(place);
        let host = self.hosts.get(packet.flow as usize).copied().unwrap_or(OWN_HOST);
        let (at, to, flow, now) = (packet.next(), packet.to, packet.flow, self.shared.engine.now());
        let queued = QueuedPacket::new(place, packet, host, now);
        let link = &mut self.links[at as usize];
        link.monitor.note_arrival(&mut self.shared, place);
        if link.monitor.monitored {
            if to == End::Receiver {
                self.shared.flows[flow as usize].arrivals += u64::from(link.monitor.arrivals);
                if link.monitor.recent.len() > 1 {
                    link.monitor.note_sender(&queued);
                }
            }
            if self.shared.log.is_open() {
                self.shared.note_arrival(at, link, &queued);
            }
        }
        let (shared, monitor) = (&mut self.shared, &mut link.monitor);
        let deadline = link.port.next_deadline();
        link.port.arrive(queued, now, &mut Sink { link: at, monitor, shared, sent: NONE, delay: Span::ZERO });
        if self.shared.log.is_incomplete() {
            self.shared.log.complete(&link.port);
        }
        // Most find the transmitter busy.
        if link.port.next_deadline() != deadline {
            self.shared.engine.set_port(at, link.port.next_deadline());
        }
    }

    /// The deadline of the port has come whose turn it is; the packet that it has sent, and when that will be at its end, if it
    /// gets there.
    #[inline(always)]
    pub fn advance_port(&mut self) -> Option<(u32, Time)> {
        let at = self.engine.port();
        let (sent, arrival) = self.act(at, |port, now, sink| port.advance(now, sink))?;
        let (packet, segments) = self.shared.packets.parts(sent);
        let (event, time) = self.paths.travel(packet, (segments, sent), arrival);
        go_on(&mut self.shared.engine, sent, packet, event, time).map(|time| (sent, time))
    }

    /// Lets a port do something at the present; the packet that it has sent, and when that arrives.
    #[inline(always)]
    pub fn act(
        &mut self,
        at: u32,
        work: impl FnOnce(&mut Port<QueuedPacket>, Time, &mut Sink<'_>),
    ) -> Option<(u32, Time)> {
        let link = &mut self.links[at as usize];
        let now = self.shared.engine.now();
        let (monitor, shared) = (&mut link.monitor, &mut self.shared);
        let mut sink = Sink { link: at, monitor, shared, sent: NONE, delay: link.delay };
        work(&mut link.port, now, &mut sink);
        let (sent, delay) = (sink.sent, sink.delay);
        if self.shared.log.is_incomplete() {
            self.shared.log.complete(&link.port);
        }
        self.shared.engine.set_port(at, link.port.next_deadline());
        (sent != NONE).then(|| (sent, now + delay))
    }

    /// The rate of a link changes by itself, which its discipline does not hear: nobody tells the queue of a modem.
    #[cold]
    pub fn change_rate(&mut self, at: u32) {
        let now = self.now();
        let Some(course) = &mut self.links[at as usize].course else { return };
        let rate = course.step(now);
        if let Some(next) = course.next() {
            self.shared.engine.push(next, Event::Rate(at), u64::from(at));
        }
        self.act(at, |port, now, sink| port.set_rate(rate, false, now, sink));
    }

    /// Packets that have waited on the wire of this link for others go on: over a line that all paths share.
    #[cold]
    pub fn release_held(&mut self, at: u32) {
        let link = &mut self.links[at as usize];
        for (place, time) in link.monitor.take_released() {
            let (packet, segments) = self.shared.packets.parts(place);
            let (event, time) = self.paths.travel(packet, (segments, place), time + link.delay);
            let delivered = go_on(&mut self.shared.engine, place, packet, event, time);
            debug_assert!(delivered.is_none(), "a wire that reorders has a line behind it");
        }
    }

    /// The propagation delays of the links.
    #[must_use]
    pub fn link_delays(&self) -> Vec<Span> {
        self.links.iter().map(|link| link.delay).collect()
    }

    /// The propagation delay of a path before this link.
    #[must_use]
    pub fn delay_before(&self, path: &[Hop], link: u32) -> Span {
        path.iter().take_while(|hop| **hop != Hop::Link(link)).fold(Span::ZERO, |sum, hop| {
            sum + match *hop {
                Hop::Link(at) => self.links[at as usize].delay,
                Hop::Line(at) => self.paths.delay(at),
            }
        })
    }
}

/// What happens next to a packet; when it will be at its end, if that is next.
#[inline(always)]
pub(crate) fn go_on(
    engine: &mut Engine,
    place: u32,
    packet: &SimPacket,
    event: PacketEvent,
    time: Time,
) -> Option<Time> {
    if event == PacketEvent::Delivery {
        return Some(time);
    }
    let owner = packet.turn();
    if event == PacketEvent::Arrival {
        engine.push_packet(time, PacketEvent::Arrival, place, owner);
    } else {
        engine.push_packet(time, PacketEvent::Crossing, place, owner);
    }
    None
}

/// A reordering link is followed by an extra shared line with zero delay, so that the next hop sees packets in arrival order.
fn lay_wires(plan: &mut Plan) {
    let Plan { links, lines, flows, .. } = plan;
    for (at, link) in links.iter().enumerate().filter(|(_, link)| link.wire.reorders()) {
        let line = Hop::Line(lines.len() as u32);
        let (rate, delay, jitter) = (Rate(8_000_000_000_000_000), Span::ZERO, Span::ZERO);
        lines.push(LinePlan { name: format!("{}/wire", link.name).into(), rate, delay, jitter });
        for path in flows.iter_mut().flat_map(|flow| [&mut flow.path, &mut flow.return_path]) {
            let behind = |hop: &Hop| if *hop == Hop::Link(at as u32) { vec![*hop, line] } else { vec![*hop] };
            *path = path.iter().flat_map(behind).collect();
        }
    }
}

/// The length of the wheel's buckets: the time in which the fastest link sends 4000 bytes. Entries of a few packets' time are sorted
/// at once, which costs less than opening a bucket for each.
fn bucket(plan: &Plan) -> Span {
    let fastest = plan.links.iter().map(|link| link.rate).max().unwrap_or(Rate(1_000_000));
    fastest.time_of(4000)
}

/// How many packets of transfers may be on their way: as many as the receivers' windows let out.
fn in_flight(plan: &Plan) -> usize {
    let windows = plan.flows.iter().map(|flow| match &*flow.source {
        SourcePlan::Tcp(host) => host.window / u64::from(host.mss).max(1) + 1,
        _ => 0,
    });
    windows.fold(0, u64::saturating_add).try_into().unwrap_or(usize::MAX)
}

/// How far ahead most events lie: the longest way that a packet travels without one, with some time to be sent.
fn reach(plan: &Plan) -> Span {
    let own = plan.flows.iter().filter_map(|flow| flow.source.way()).map(|way| Span(way.round_trip.most().0 / 2));
    let delays = plan.links.iter().map(|link| link.delay).chain(plan.lines.iter().map(|line| line.delay)).chain(own);
    Span(delays.max().unwrap_or_default().0.saturating_mul(3) / 2)
}
