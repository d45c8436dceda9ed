//! The ends of flows: connections, and sources that send by the clock. They drive the network below them. What applications do
//! with the connections that come and go is the workloads' affair.

mod delivery;
pub mod flow;
mod pairs;
mod prefetch;
pub mod preparation;
mod sending;
pub mod slot;
mod timers;

use crate::counters::FlowTotals;
use crate::engine::{Event, PacketEvent};
use crate::network::headers::Headers;
use crate::network::packet::{End, Header, NONE, PAIRS, SimPacket, owner};
use crate::network::{MANY, Network, Observer};
use crate::plan::{FlowPlan, LineName, Plan};
use crate::source::SourcePlan;
use crate::source::endpoint::UDP_HEADERS;
use flow::{Before, FlowState};
use pairs::Pair;
use preparation::Preparation;
use sending::send_all;
use slot::{Opening, Slot, Slots};
use sluicegate_base::{Span, Stream, Time};
use sluicegate_tcp::connection::{Congestion, SendCounters};
use sluicegate_tcp::{Connection, Host, Plain, Segment};
use std::collections::BTreeSet;
use std::sync::Arc;
use timers::arm;

/// The ends of all flows as they run.
pub struct Endpoints {
    /// The network between them.
    pub network: Network,
    /// The flows, in the order of the plan.
    pub flows: Vec<FlowState>,
    /// What each had counted when the measured window began; empty while there was nothing to count.
    pub before: Vec<Before>,
    /// Their connections.
    pub slots: Slots,
    /// The ends of those between ends of one's own.
    pairs: Vec<Pair>,
    /// The flows as they were planned.
    pub plans: Arc<[FlowPlan]>,
    /// The flows that send nothing for now.
    resting: BTreeSet<u32>,
    /// Up to when a delivery may be evaluated before its time: no sample looks at the ends, and no window begins, before that.
    pub horizon: Time,
    /// When the run ends.
    pub end: Time,
    /// Whether there are so many flows that it pays to fetch what events to come are about.
    many: bool,
}

/// A connection whose application is to look at what has come.
#[derive(Clone, Copy, Debug)]
pub struct Heard {
    /// Its slot.
    pub slot: u32,
    /// The end to which something has come.
    pub end: End,
    /// Whether that opens the connection.
    pub opens: bool,
}

impl Endpoints {
    /// The ends of this plan's flows, which it takes, as its links; nothing has happened yet.
    #[must_use]
    pub fn new(plan: &mut Plan) -> Endpoints {
        let mut network = Network::new(plan);
        let mut slots = Slots::new(plan.flows.len());
        let delays = network.link_delays();
        let (mut flows, mut pairs) = (Vec::with_capacity(plan.flows.len()), Vec::new());
        for (at, flow) in plan.flows.iter().enumerate() {
            let header = |to| Header {
                flow: at as u32,
                connection: at as u32,
                slot: NONE,
                leg: network.paths.lay(flow, to, plan),
                label: 0,
                to,
                ecn: flow.source.ecn(),
                class: flow.class,
                priority: flow.priority,
            };
            let mut headers = [End::Sender, End::Receiver].map(header);
            let mut slot = NONE;
            if let SourcePlan::Endpoints(pair) = &*flow.source {
                let stream = |end| Stream::new(plan.seed, &format!("flow/{at}/{end}"));
                let ends = (pair.make)(["sender", "receiver"].map(stream));
                slot = Endpoints::add_pair(&mut pairs, Pair::new(at as u32, ends), &mut headers);
            }
            let base_rtt = plan.base_rtt(flow, &delays);
            let mut state = FlowState::new(&flow.source, (slot, headers), base_rtt, plan.seed, at);
            if let SourcePlan::Tcp(host) | SourcePlan::Telnet(host, _) = &*flow.source {
                state.slot = slots.add(lasting(host, flow, headers, plan.seed, at));
            }
            let first = state.source().map_or(Span::ZERO, |source| source.first());
            network.engine.push(flow.start + first, Event::Source(at as u32), at as u64);
            flows.push(state);
        }
        let (end, many) = (Time::ZERO + plan.duration, plan.flows.len() >= MANY);
        let plans = std::mem::take(&mut plan.flows).into();
        let (resting, horizon) = (BTreeSet::new(), Time::ZERO);
        let before = Vec::new();
        let mut ends = Endpoints { network, flows, before, slots, pairs, plans, resting, horizon, end, many };
        ends.keep_segments(plan);
        ends
    }

    /// The present.
    #[inline(always)]
    #[must_use]
    pub fn now(&self) -> Time {
        self.network.now()
    }

    /// What a flow had counted when the measured window began.
    #[must_use]
    pub fn before(&self, flow: u32) -> Before {
        self.before.get(flow as usize).copied().unwrap_or_default()
    }

    /// What the senders of a flow's connections have counted, those of its past not included.
    #[must_use]
    pub fn counters(&self, flow: u32) -> SendCounters {
        match self.slots.of(self.flows[flow as usize].slot) {
            Some(slot) => slot.ends[0].counters(),
            None => SendCounters::default(),
        }
    }

    /// The congestion state of a flow's sender; none where it has none, or many.
    #[must_use]
    pub fn congestion(&self, flow: u32) -> Option<Congestion> {
        self.slots.of(self.flows[flow as usize].slot).map(|slot| slot.ends[0].congestion())
    }

    /// Bytes of data that the receiver of a flow with these totals has handed to its application so far; none where connections
    /// come and go.
    #[must_use]
    pub fn received(&self, flow: u32, totals: &FlowTotals) -> Option<u64> {
        let state = &self.flows[flow as usize];
        match self.slots.of(state.slot) {
            Some(slot) => Some(slot.ends[1].received()),
            None if self.plans[flow as usize].source.way().is_some() => None,
            None => {
                let [packets, bytes] = totals.delivered;
                let [before, bytes_before] = self.before(flow).past.delivered;
                Some((bytes + bytes_before).saturating_sub(UDP_HEADERS * (packets + before)))
            }
        }
    }

    /// Lets `observer` see what the link or line of this name sends; false when nothing has the name.
    pub fn observe(&mut self, name: &str, mut observer: Observer) -> bool {
        if let Some(link) = self.network.links.iter_mut().find(|link| link.name == name) {
            link.monitor.observe(observer);
            return true;
        }
        let Some(at) = self.network.paths.named(name) else { return false };
        let end = self.end;
        // A line knows beforehand what it will have sent; what it sends after the end is not sent.
        let observer = Box::new(move |time, packet: &SimPacket, segment: &Segment| {
            if time <= end {
                observer(time, packet, segment);
            }
        });
        self.network.paths.observe(at, observer);
        true
    }

    /// Lets `headers` tell of what reaches the queues under study.
    pub fn show_headers(&mut self, headers: &Headers) {
        let links = self.network.links.iter_mut().filter(|link| link.monitor.monitored);
        links.for_each(|link| link.monitor.show_headers(headers.clone()));
    }

    /// Keeps segments of lines, too, where segments are kept: of those that have a name, not of access lines.
    fn keep_segments(&mut self, plan: &Plan) {
        let named = plan.lines.iter().filter(|line| matches!(line.name, LineName::Given(_)));
        for name in named.map(|line| line.name.to_string()) {
            if let Some(observer) = self.network.shared.log.segments.of_line(&name) {
                self.observe(&name, observer);
            }
        }
    }

    /// Lets `observer` see what reaches the queue of the link under study of this name; false when there is none.
    pub fn observe_arrivals(&mut self, name: &str, observer: Observer) -> bool {
        let link = self.network.links.iter_mut().find(|link| link.name == name && link.monitor.monitored);
        link.map(|link| link.monitor.observe_arrivals(observer)).is_some()
    }

    /// The deadline of the port has come whose turn it is.
    #[inline(always)]
    pub fn port(&mut self) {
        let at = self.network.engine.port();
        let sent = self.network.advance_port();
        self.prefetch_sending(at, sent.map(|(_, time)| time));
        if let Some((place, time)) = sent {
            self.will_arrive(place, time);
        }
    }

    /// The packet whose turn it is has reached the next link of its path.
    #[inline(always)]
    pub fn arrive(&mut self) {
        let packet = self.network.engine.take(PacketEvent::Arrival);
        self.prefetch(PacketEvent::Arrival);
        self.network.arrive(packet);
    }

    /// The packet whose turn it is has reached a line that several paths share.
    #[inline(always)]
    pub fn cross(&mut self) {
        let packet = self.network.engine.take(PacketEvent::Crossing);
        self.prefetch(PacketEvent::Crossing);
        self.cross_packet(packet);
    }

    /// A packet has reached a line that several paths share.
    #[inline(always)]
    pub fn cross_packet(&mut self, place: u32) {
        if let Some(time) = self.network.cross(place, self.now()) {
            self.will_arrive(place, time);
        }
    }

    /// Sends what one end of a connection has to send, and sets its timer; false when there is more, which an event will send.
    #[inline(never)]
    pub fn pump(&mut self, at: u32, end: End) -> bool {
        self.pump_at(at, end, self.network.now())
    }

    /// The same at `now`, which may be to come.
    #[inline(always)]
    fn pump_at(&mut self, at: u32, end: End, now: Time) -> bool {
        let slot = self.slots.get(at);
        let all = send_all(&mut self.network, &mut self.flows, slot, (at, end), (now, false), 0);
        if all {
            arm(&mut self.network.engine, slot, at, end);
        }
        all
    }

    /// One end of a connection goes on with what it sends at one time.
    pub fn go_on(&mut self, at: u32, end: End) {
        let expected = &mut self.slots.get(at).expected[end as usize];
        // Another connection may have taken the slot.
        *expected = expected.saturating_sub(1);
    }

    /// A source that sends by the clock, or the application of a flow's one connection, starts, goes on or stops; false when
    /// the flow has neither.
    pub fn source(&mut self, flow: u32) -> bool {
        let now = self.now();
        let (state, plan) = (&mut self.flows[flow as usize], &self.plans[flow as usize]);
        if let Some(source) = state.source() {
            if now >= plan.stop {
                return true;
            }
            let (bytes, gap) = source.next();
            self.network.engine.push(now + gap, Event::Source(flow), flow.into());
            if self.resting.contains(&flow) {
                return true;
            }
            let sent = &mut self.network.flows[flow as usize].sent;
            sent[0] += 1;
            sent[1] += u64::from(bytes);
            let (header, number) = state.datagram();
            let segment = Plain { ack: number, ..Plain::default() };
            let packet = SimPacket { header, bytes, next: 0, sent: now, segment };
            let place = self.network.packets.add(packet);
            if let Some(time) = self.network.launch(place, now) {
                self.will_be_counted(place, time);
            }
            return true;
        }
        let (at, size) = (state.slot, plan.size);
        if at == NONE {
            return false;
        }
        if at >= PAIRS {
            self.begin_pair(at);
            return true;
        }
        let sender = &mut self.slots.get(at).ends[0];
        if now >= plan.stop {
            sender.stop();
            sender.close();
            self.pump(at, End::Sender);
            return true;
        }
        if now == plan.start && plan.stop < self.end {
            self.network.engine.push(plan.stop, Event::Source(flow), flow.into());
        }
        let (bytes, gap) = match state.typing() {
            Some(typing) => typing.message(),
            None => (size.unwrap_or(u64::MAX), None),
        };
        if !self.resting.contains(&flow) {
            sender.write(bytes);
        }
        match gap {
            Some(gap) => self.network.engine.push(now + gap, Event::Source(flow), flow.into()),
            None if size.is_some() => sender.close(),
            None => {}
        }
        self.pump(at, End::Sender);
        true
    }

    /// A flow rests, sending nothing new, or goes on: one with a source that sends by the clock, or with one connection whose
    /// data has no end. That of a transfer lasts meanwhile, and what is on its way still arrives.
    pub fn rest(&mut self, flow: u32, rests: bool) -> Result<(), &'static str> {
        let now = self.now();
        let (state, plan) = (&mut self.flows[flow as usize], &self.plans[flow as usize]);
        let clocked = state.source().is_some();
        if !clocked && (state.slot >= PAIRS || plan.size.is_some()) {
            let pair = matches!(*plan.source, SourcePlan::Endpoints(_));
            return Err(if pair { "its ends say when they send" } else { "its transfers end by themselves" });
        }
        let changes = if rests { self.resting.insert(flow) } else { self.resting.remove(&flow) };
        let transfers = !clocked && state.typing().is_none();
        if changes && transfers && (plan.start..plan.stop).contains(&now) {
            let at = state.slot;
            let sender = &mut self.slots.get(at).ends[0];
            if rests {
                sender.stop();
            } else {
                sender.write(u64::MAX);
            }
            self.pump(at, End::Sender);
        }
        Ok(())
    }

    /// A link asks for a source quench. It is a control message that waits nowhere: it takes the delays of the packet's way
    /// from its sender to the link, and no bandwidth: 56 bytes for one packet among many.
    pub fn send_quench(&mut self, link: u32, connection: u32, to: End) {
        let (flow, access) = match self.find(connection) {
            Some(at) => (self.slots.get(at).flow, self.slots.get(at).access_delay(to)),
            None if (connection as usize) < self.flows.len() => (connection, Span::ZERO),
            // One that is over hears nothing any more.
            None => return,
        };
        let plan = &self.plans[flow as usize];
        let path = if to == End::Receiver { &plan.path } else { &plan.return_path };
        let time = self.now() + access + self.network.delay_before(path, link);
        self.network.engine.push(time, Event::Quench(connection, to.other()), owner(connection, to.other()));
    }

    /// The slot of the connection with this number.
    fn find(&self, connection: u32) -> Option<u32> {
        match self.flows.get(connection as usize) {
            Some(flow) => Some(flow.slot).filter(|slot| *slot < PAIRS),
            None => self.slots.find(connection),
        }
    }

    /// A source quench reaches one end of a connection: it is counted there, and what else happens is the host's part. The slot
    /// of the connection that has heard it.
    pub fn quench(&mut self, connection: u32, end: End) -> Option<u32> {
        let at = self.find(connection);
        let flow = at.map_or(connection, |at| self.slots.get(at).flow);
        if let Some(totals) = self.network.flows.get_mut(flow as usize) {
            totals.quenches += u64::from(end == End::Sender);
        }
        if let Some(at) = at {
            self.slots.get(at).ends[end as usize].on_quench();
        }
        at
    }

    /// Opens a connection that comes and goes; its slot.
    pub fn open(&mut self, opening: &Opening<'_>) -> u32 {
        let flow = &self.flows[opening.flow as usize];
        self.slots.open(opening, flow.headers())
    }
}

/// The one connection of a flow.
fn lasting(host: &Arc<Host>, flow: &FlowPlan, headers: [Header; 2], seed: u64, at: usize) -> Slot {
    let stream = |purpose| Stream::new(seed, &format!("flow/{at}/{purpose}"));
    let mut rng = stream("clock");
    let mut phase = || host.rto.phase(|tick| Span(rng.below(tick.0)));
    let mut ends = [Connection::opener(host, phase()), Connection::receiver(host, phase())];
    let typed = matches!(*flow.source, SourcePlan::Telnet(..));
    let mut jitter = None;
    match host.send_jitter {
        Span::ZERO => {}
        most if host.ns2_rules => ends[0].set_send_jitter(most, stream("preparation")),
        most => jitter = Preparation::new(most, || stream("preparation")),
    }
    Slot {
        headers,
        id: at as u32,
        flow: at as u32,
        header_bytes: host.header,
        expected: [0; 2],
        // A source quench, or what is typed, would come between; so would the timer of delayed acknowledgements, but those of
        // Linux's ends are evaluated early, too.
        early: [!host.source_quench && !typed, host.delayed_ack == Span::ZERO || host.is_linux()],
        armed: [Time::NEVER; 2],
        stop: flow.stop,
        awaited: flow.size.unwrap_or(u64::MAX),
        ends,
        jitter,
        transient: None,
    }
}
