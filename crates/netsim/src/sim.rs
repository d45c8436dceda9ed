//! The run: events in order until the end, packets from link to link and end to end.

mod ahead;
mod control;
mod log;
mod look;
mod outcome;
mod paths;
mod pool;
mod population;
mod quench;
mod recent;
mod transport;

use self::log::Log;
use self::paths::Paths;
use crate::ends::Ends;
use crate::events::{End, Event, Events};
use crate::link::{Link, Observer};
use crate::packet::{QueuedPacket, Travelling};
use crate::plan::{FlowPlan, Plan};
use crate::probe::{FlowSample, FlowTotals, Occupancy, PacketEvent, Positions, QueueSample, Spread, StateSample};
use crate::source::SourcePlan;
use population::Population;
use sluicegate_aqm::DropReason;
use sluicegate_base::{Rate, Span, Time};
use sluicegate_tcp::send::SendCounters;

/// A flow as it runs. What each packet touches comes first, so that it lies together.
#[repr(C)]
struct FlowState {
    totals: FlowTotals,
    ends: Ends,
    /// The first legs of its paths, by the end that they lead to: back, and there.
    first: [u32; 2],
    /// Bytes delivered since the start.
    delivered: u64,
    /// How much data its receiver waits for, until it has come.
    awaited: Option<u64>,
    class: u8,
    priority: u8,
    /// When its receiver had all its data.
    completed: Option<Time>,
    /// The propagation delays of its path, there and back, if all of it has the same.
    base_rtt: Option<Span>,
    /// The connection's counters when the measured window began.
    before: SendCounters,
    /// What `counted` gave at the last sample.
    sampled: [u64; 5],
    plan: Box<FlowPlan>,
}

/// A run in progress.
pub struct Sim {
    links: Vec<Link>,
    paths: Paths,
    flows: Vec<FlowState>,
    /// The groups whose connections come and go.
    population: Population,
    travelling: Travelling,
    events: Events,
    lost: Vec<(QueuedPacket, DropReason)>,
    now: Time,
    end: Time,
    warmup: Time,
    /// When the measured window is to begin; never, once it has.
    window_due: Time,
    sample: Span,
    series: bool,
    averages: Vec<Spread>,
    /// What `Link::found` gave at the last sample, for each link.
    found: Vec<[u64; 2]>,
    queue: Vec<QueueSample>,
    occupancy: Vec<Occupancy>,
    state: Vec<StateSample>,
    flow_series: Vec<FlowSample>,
    log: Log,
    /// Which flow holds each place of a queue, of so many packets at most.
    positions: Positions,
    places: u64,
    /// For counting the flows in a queue at a sample.
    census: Vec<u64>,
    count: u64,
    /// Whether there are so many flows that it pays to fetch what events to come are about, and the bucket of the wheel of
    /// whose events that has been fetched.
    many: bool,
    fetched: u64,
    /// What has been done besides events: segments that a window let out at once, flows and packets that a probe saw.
    work: u64,
}

impl Sim {
    /// Sets the plan up; nothing has happened yet.
    #[must_use]
    pub fn new(plan: Plan) -> Sim {
        let seed = plan.seed;
        let mut events = Events::new(bucket(&plan), reach(&plan));
        let population = Population::new(&plan.flows, seed);
        let travelling = Travelling::with_room(in_flight(&plan));
        let mut paths = Paths::new(&plan);
        let flows: Vec<FlowState> = plan
            .flows
            .iter()
            .enumerate()
            .map(|(at, flow)| {
                let mut ends = Ends::new(&flow.source, seed, at);
                events.push(flow.start + ends.first(), Event::Source(at as u32), at as u64);
                FlowState {
                    ends,
                    first: [End::Sender, End::Receiver].map(|to| paths.lay(flow, to, &plan)),
                    base_rtt: plan.base_rtt(flow),
                    awaited: flow.size,
                    class: flow.class,
                    priority: flow.priority,
                    completed: None,
                    plan: Box::new(flow.clone()),
                    totals: FlowTotals::default(),
                    before: SendCounters::default(),
                    delivered: 0,
                    sampled: [0; 5],
                }
            })
            .collect();
        let mut links: Vec<Link> = plan
            .links
            .into_iter()
            .enumerate()
            .map(|(at, link)| Link::new(at as u32, link, plan.recent, seed))
            .collect();
        links.iter_mut().for_each(|link| link.arm(Time::ZERO, &mut events));
        events.push(Time::ZERO + plan.sample, Event::Sample, 0);
        Sim {
            averages: vec![Spread::default(); links.len()],
            found: vec![[0; 2]; links.len()],
            census: vec![0; flows.len()],
            many: flows.len() >= ahead::MANY,
            links,
            paths,
            flows,
            population,
            travelling,
            events,
            lost: Vec::new(),
            now: Time::ZERO,
            end: Time::ZERO + plan.duration,
            warmup: Time::ZERO + plan.warmup,
            window_due: Time::ZERO + plan.warmup,
            sample: plan.sample,
            series: plan.series,
            queue: Vec::new(),
            occupancy: Vec::new(),
            state: Vec::new(),
            flow_series: Vec::new(),
            log: Log::new(plan.packets),
            positions: Positions::default(),
            places: plan.positions,
            count: 0,
            fetched: 0,
            work: 0,
        }
    }

    /// Runs about `budget` events, or fewer when they are large; false when the run is over.
    ///
    /// Each segment that one event sends, and each flow and packet that a probe looks at, counts as an event too, so
    /// that a call takes about equally long whatever the events are.
    pub fn advance(&mut self, budget: u64) -> bool {
        self.advance_until(self.end, budget)
    }

    /// Lets `observer` see what the link or line of this name sends, in order, each packet with the time when its last
    /// bit is out; false when nothing has the name. It changes nothing of the run.
    pub fn observe(&mut self, name: &str, mut observer: Observer) -> bool {
        if let Some(link) = self.links.iter_mut().find(|link| link.name == name) {
            link.observer = Some(observer);
            return true;
        }
        let Some(at) = self.paths.named(name) else { return false };
        let end = self.end;
        let crossed = self
            .flows
            .iter()
            .flat_map(|flow| [&flow.plan.return_path, &flow.plan.path].into_iter().map(Vec::as_slice).zip(flow.first));
        if let Some(line) = self.paths.line(at, crossed) {
            // A line knows beforehand what it will have sent; what it sends after the end is not sent.
            line.observe(Box::new(move |time, packet| {
                if time <= end {
                    observer(time, packet);
                }
            }));
        }
        true
    }

    /// The simulated time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Events so far.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.count
    }

    #[inline]
    fn begin_window_if_due(&mut self) {
        if self.now >= self.window_due {
            self.begin_window();
        }
    }

    #[cold]
    fn begin_window(&mut self) {
        self.window_due = Time::NEVER;
        self.averages.fill(Spread::default());
        for (link, found) in self.links.iter_mut().zip(&mut self.found) {
            *found = changes(*found, link.found());
            link.totals.begin(self.warmup);
            link.forget();
        }
        for (at, flow) in self.flows.iter_mut().enumerate() {
            let now = self.population.counters(at as u32).unwrap_or_else(|| flow.ends.counters());
            let before = flow.counted(&now);
            flow.totals = FlowTotals::default();
            // The samples count on across the new start of the totals.
            flow.sampled = changes(flow.counted(&now), changes(before, flow.sampled));
            flow.before = now;
        }
        self.population.begin_window();
    }

    #[inline(always)]
    fn handle(&mut self, event: Event) {
        match event {
            Event::Departure(at) => self.depart(at),
            Event::Arrival(place) => {
                let at = self.travelling.get(place).next;
                self.enter(place, at);
            }
            Event::Crossing(place) => {
                let packet = self.travelling.get(place);
                let (time, event) = self.paths.cross(place, packet, self.now);
                self.events.push(time, event, packet.key().0);
            }
            Event::Delivery(place) => self.deliver(place),
            Event::Wake(link) => {
                self.links[link as usize].wake(self.now, &mut self.events, &mut self.lost);
                self.settle(link);
            }
            Event::Source(flow) => self.source(flow),
            Event::Timer(flow, end) => self.timer(flow, end),
            Event::Quench(flow, end) => self.quench(flow, end),
            Event::User(user) => self.browse(user),
            Event::PoolTimer(place, end) => self.pool_timer(place, end),
            Event::Act(place, end) => self.act_in_time(place, end),
            Event::Burst(flow, end) => self.pump(flow, end),
            Event::PoolBurst(place, end) => self.pump_pooled(place, end),
            Event::Sample => self.look(),
        }
    }

    /// A link has sent a packet's last bit.
    #[inline(always)]
    fn depart(&mut self, at: u32) {
        let link = &mut self.links[at as usize];
        let (queued, arrival) = link.departure(self.now, &mut self.events, &mut self.lost);
        let packet = self.travelling.leaves_queue(&queued);
        if let Some(observer) = &mut link.observer {
            observer(self.now, packet);
        }
        self.log.note(link, self.now, packet, PacketEvent::Departure, None);
        self.settle(at);
        let packet = self.travelling.get(queued.place);
        let (time, event) = self.paths.travel(queued.place, packet, arrival);
        self.events.push(time, event, packet.key().0);
    }

    /// A packet reaches the queue of a link.
    #[inline(always)]
    fn enter(&mut self, place: u32, at: u32) {
        let packet = self.travelling.get(place);
        let link = &mut self.links[at as usize];
        let queued = QueuedPacket::new(place, packet, self.now);
        if link.watched && queued.to == End::Receiver {
            self.flows[queued.flow as usize].totals.arrivals += 1;
            if link.recent.len() > 1 {
                link.note_sender(&queued);
            }
        }
        let found = link.accept(queued, self.now, &mut self.events, &mut self.lost);
        self.log.note(link, self.now, packet, PacketEvent::Arrival, Some(found));
        self.settle(at);
    }

    /// Counts what has left the queue of `link` since the last call.
    #[inline(always)]
    fn settle(&mut self, at: u32) {
        let start = self.window_start();
        let link = &mut self.links[at as usize];
        let watched = link.watched;
        let many = self.many;
        if let Some(packet) = link.begun().filter(|packet| watched && packet.to == End::Receiver) {
            if many {
                self.travelling.fetch(packet.place);
                self.paths.fetch(packet.leg);
            }
            let totals = &mut self.flows[packet.flow as usize].totals;
            totals.queued = totals.queued + self.now.since(packet.queued.max(start));
            if packet.queued >= start {
                totals.marked += u64::from(packet.marked);
            } else {
                totals.earlier[1] += u64::from(packet.marked);
            }
        }
        if !self.lost.is_empty() || !link.quenched.is_empty() {
            self.settle_losses(at);
        }
    }

    /// Counts what the queue of `link` has lost, and sends the quenches that it asks for.
    #[cold]
    fn settle_losses(&mut self, at: u32) {
        let start = self.window_start();
        let link = &mut self.links[at as usize];
        while let Some((packet, cause)) = self.lost.pop() {
            link.lose(&packet, cause, self.now);
            let place = self.travelling.leaves_queue(&packet);
            self.log.note(link, self.now, place, PacketEvent::Loss(cause), None);
            self.travelling.release(packet.place);
            if packet.to == End::Receiver {
                let totals = &mut self.flows[packet.flow as usize].totals;
                if !link.watched {
                    totals.drops_elsewhere += 1;
                    continue;
                }
                if packet.queued >= start {
                    totals.drops[cause as usize] += 1;
                } else {
                    totals.earlier[0] += 1;
                }
                link.remember(&packet, Some(cause));
                totals.queued = totals.queued + self.now.since(packet.queued.max(start));
            }
        }
        if !link.quenched.is_empty() {
            self.send_quenches(at);
        }
    }

    /// Whether the measured window has begun.
    fn measuring(&self) -> bool {
        self.window_due == Time::NEVER
    }

    fn window_start(&self) -> Time {
        if self.measuring() { self.warmup } else { Time::ZERO }
    }

    /// The places that connections have which come and go: those in use, and all. There are never more of them than were
    /// in use at once.
    #[must_use]
    pub fn places(&self) -> [usize; 2] {
        self.population.places()
    }

    /// The links, for tests of conservation.
    #[must_use]
    pub fn links(&self) -> &[Link] {
        &self.links
    }
}

/// The length of the event queue's buckets: a sixteenth of the time in which the fastest link sends 1000 bytes.
fn bucket(plan: &Plan) -> Span {
    let fastest = plan.links.iter().map(|link| link.rate).max().unwrap_or(Rate(1_000_000));
    Span(fastest.time_of(1000).0 / 16)
}

/// How many packets of transfers may be on their way: as many as the receivers' windows let out.
fn in_flight(plan: &Plan) -> usize {
    let windows = plan.flows.iter().map(|flow| match &flow.source {
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

/// How much each of some counters, which may have started anew, has changed.
fn changes<const N: usize>(now: [u64; N], before: [u64; N]) -> [u64; N] {
    core::array::from_fn(|at| now[at].wrapping_sub(before[at]))
}
