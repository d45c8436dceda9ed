//! The run: events in order until the end.

mod control;

use crate::counters::Outcome;
use crate::engine::{Engine, Event, Next, PacketEvent};
use crate::network::headers::Headers;
use crate::network::link::Link;
use crate::network::{Network, Observer};
use crate::plan::Plan;
use crate::probes::Probes;
use crate::workloads::Workloads;
use sluicegate_base::Time;

/// A run in progress.
///
/// Each part owns the one that it stands on, and knows nothing of those above:
/// run → workloads → endpoints → network → engine. Probes look at all of them.
pub struct Sim {
    workloads: Workloads,
    probes: Probes,
    warmup: Time,
    /// When the next sample is due.
    sample_due: Time,
}

impl Sim {
    /// Sets the plan up; nothing has happened yet.
    #[must_use]
    pub fn new(mut plan: Plan) -> Sim {
        let (probes, warmup) = (Probes::new(&plan), Time::ZERO + plan.warmup);
        let workloads = Workloads::new(&mut plan);
        let mut sim = Sim { workloads, probes, warmup, sample_due: Time::ZERO };
        sim.workloads.ends.network.engine.push(warmup, Event::Window, 0);
        sim.schedule_sample();
        sim
    }

    /// Runs about `budget` events, or fewer when they are large; false when the run is over.
    ///
    /// Each segment that one event sends beyond the first, and each flow and packet that a probe looks at, counts as an event
    /// too, so that a call takes about equally long whatever the events are.
    pub fn advance(&mut self, budget: u64) -> bool {
        self.advance_until(self.end(), budget)
    }

    /// The same up to and including the time `until`, which is the present then; false when that or the end of the run is
    /// reached.
    pub fn advance_until(&mut self, until: Time, budget: u64) -> bool {
        let until = until.min(self.end());
        self.set_horizon(until);
        let last = self.engine().spent().saturating_add(budget);
        while self.engine().spent() < last {
            let workloads = &mut self.workloads;
            match workloads.ends.network.engine.pop(until) {
                Some(Next::Port) => workloads.ends.port(),
                Some(Next::Packet(PacketEvent::Delivery)) => workloads.deliver(),
                Some(Next::Packet(PacketEvent::Arrival)) => workloads.ends.arrive(),
                Some(Next::Packet(PacketEvent::Crossing)) => workloads.ends.cross(),
                Some(Next::Event(event)) => self.handle(event, until),
                None => {
                    workloads.ends.network.engine.advance_to(until);
                    return false;
                }
            }
        }
        true
    }

    /// When the run ends.
    #[must_use]
    pub fn end(&self) -> Time {
        self.workloads.ends.end
    }

    #[inline(always)]
    fn engine(&self) -> &Engine {
        &self.workloads.ends.network.engine
    }

    /// Up to when deliveries may be counted before their time: whatever looks at the counters comes later.
    fn set_horizon(&mut self, until: Time) {
        let sample = if self.probes.series { self.sample_due } else { Time::NEVER };
        let window = if self.workloads.measured { Time::NEVER } else { Time(self.warmup.0.saturating_sub(1)) };
        self.workloads.ends.horizon = until.min(sample).min(window);
        if let Some(ahead) = &mut self.workloads.ends.network.ahead {
            ahead.until = until;
        }
    }

    #[inline(never)]
    fn handle(&mut self, event: Event, until: Time) {
        let workloads = &mut self.workloads;
        match event {
            Event::Window => self.begin_window(until),
            Event::Packet(PacketEvent::Delivery, packet) => workloads.deliver_packet(packet),
            Event::Packet(PacketEvent::Arrival, packet) => workloads.ends.network.arrive(packet),
            Event::Packet(PacketEvent::Crossing, packet) => workloads.ends.cross_packet(packet),
            Event::QuenchSent(link, connection, to) => workloads.ends.send_quench(link, connection, to),
            Event::Quench(connection, end) => workloads.quench(connection, end),
            Event::Timer(slot, end) => workloads.timer(slot, end),
            Event::Timers => workloads.ends.look_at_timers(),
            Event::Burst(slot, end) => workloads.go_on(slot, end),
            Event::Wake(pair, end) => workloads.ends.wake(pair, end),
            Event::Transmit(pair, end) => workloads.ends.transmit(pair, end),
            Event::Act(slot, end) => workloads.act(slot, end),
            Event::Source(flow) => workloads.source(flow),
            Event::User(user) => workloads.browse(user),
            Event::Rate(link) => workloads.ends.network.change_rate(link),
            Event::Released(link) => workloads.ends.network.release_held(link),
            Event::Sample => self.sample(until),
        }
    }

    #[cold]
    fn sample(&mut self, until: Time) {
        let work = self.probes.sample(&self.workloads);
        self.workloads.ends.network.engine.work(work);
        self.schedule_sample();
        self.set_horizon(until);
    }

    fn schedule_sample(&mut self) {
        self.sample_due = self.now() + self.probes.interval;
        self.workloads.ends.network.engine.push(self.sample_due, Event::Sample, 0);
    }

    #[cold]
    fn begin_window(&mut self, until: Time) {
        self.workloads.measured = true;
        self.probes.begin_window(&mut self.workloads, self.warmup);
        self.set_horizon(until);
    }

    /// Lets `observer` see what the link or line of this name sends, in order, each packet with the time when its last
    /// bit is out; false when nothing has the name. It changes nothing of the run.
    pub fn observe(&mut self, name: &str, observer: Observer) -> bool {
        self.workloads.ends.observe(name, observer)
    }

    /// Lets `observer` see what reaches the queue of the link under study of this name, whatever becomes of it there; false
    /// when there is none. It changes nothing of the run.
    pub fn observe_arrivals(&mut self, name: &str, observer: Observer) -> bool {
        self.workloads.ends.observe_arrivals(name, observer)
    }

    /// Lets `headers` tell disciplines of one's own what the headers of the packets say that reach links under study. It changes
    /// nothing of the run.
    pub fn show_headers(&mut self, headers: &Headers) {
        self.workloads.ends.show_headers(headers);
    }

    /// The simulated time.
    #[must_use]
    #[inline(always)]
    pub fn now(&self) -> Time {
        self.workloads.ends.now()
    }

    /// Events so far.
    #[must_use]
    #[inline(always)]
    pub fn events(&self) -> u64 {
        self.workloads.ends.network.engine.count()
    }

    /// The slots of connections which come and go: those in use, and all. There are never more of them than were in use at
    /// once.
    #[must_use]
    pub fn slots(&self) -> [usize; 2] {
        self.workloads.ends.slots.size()
    }

    /// The links, in the order of the plan.
    #[must_use]
    pub fn links(&self) -> &[Link] {
        &self.network().links
    }

    /// The network.
    #[must_use]
    pub fn network(&self) -> &Network {
        &self.workloads.ends.network
    }

    /// What the run has measured up to now; it goes on as if nothing had been asked. Exact where
    /// [`advance_until`](Sim::advance_until) has reached its time; where a budget ended a call, some of what follows from
    /// packets that are on their way, of up to a round trip, is counted already.
    #[must_use]
    pub fn snapshot(&self) -> Outcome {
        self.probes.snapshot(&self.workloads)
    }

    /// Ends the run and gives what it has measured.
    #[must_use]
    pub fn finish(self) -> Outcome {
        self.probes.finish(self.workloads)
    }
}
