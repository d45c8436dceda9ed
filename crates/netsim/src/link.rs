//! A link: a queue under some discipline, a transmitter, and a wire with a constant delay, to which jitter may add.

use crate::events::{End, Event, Events};
use crate::jitter::Jitter;
use crate::packet::SimPacket;
use crate::plan::LinkPlan;
use crate::probe::LinkTotals;
use sluicegate_aqm::{Cause, Ctx, Discipline};
use sluicegate_base::{Rate, Span, Stream, Time};
use std::borrow::Cow;
use std::collections::VecDeque;

/// What its flow counts of a packet that leaves a queue for the wire.
#[derive(Clone, Copy, Debug)]
pub struct Leaving {
    /// Its flow.
    pub flow: u32,
    /// The end that it travels to.
    pub to: End,
    /// When it was queued.
    pub queued: Time,
    /// Whether the queue has marked it.
    pub marked: bool,
}

/// Sees each packet that a link has sent, when its last bit is out.
pub type Observer = Box<dyn FnMut(Time, &SimPacket) + Send>;

/// A link as it runs.
pub struct Link {
    /// Its name, rate and discipline, for results.
    pub name: String,
    /// The discipline's name.
    pub discipline: Cow<'static, str>,
    /// Whether it is under study.
    pub watched: bool,
    /// Its rate.
    pub rate: Rate,
    /// Its queue.
    pub queue: Box<dyn Discipline<SimPacket>>,
    /// What it has counted since the start.
    pub totals: LinkTotals,
    /// The packet that has gone to the transmitter since this was last taken.
    pub leaving: Option<Leaving>,
    /// Who looks at what it sends.
    pub observer: Option<Observer>,
    index: u32,
    delay: Span,
    jitter: Option<Jitter>,
    rng: Stream,
    /// What whole nanoseconds have left over of past transmissions.
    remainder: u64,
    sending: Option<SimPacket>,
    /// Packets under way: when each arrives, and the tie number that it took.
    wire: VecDeque<(Time, u64, SimPacket)>,
    /// When the discipline will be woken; none when it has not asked.
    waking: Option<Time>,
}

impl Link {
    /// The link of this plan, idle.
    #[must_use]
    pub fn new(index: u32, plan: LinkPlan, seed: u64) -> Link {
        let jitter = Jitter::new(plan.jitter, || Stream::new(seed, &format!("link/{}/jitter", plan.name)));
        Link {
            rng: Stream::new(seed, &format!("link/{}/discipline", plan.name)),
            name: plan.name,
            discipline: plan.discipline,
            watched: plan.watched,
            rate: plan.rate,
            queue: plan.queue,
            totals: LinkTotals::default(),
            leaving: None,
            observer: None,
            index,
            delay: plan.delay,
            jitter,
            remainder: 0,
            sending: None,
            wire: VecDeque::new(),
            waking: None,
        }
    }

    /// A packet reaches the queue. What is lost goes to `lost`.
    pub fn accept(
        &mut self,
        mut packet: SimPacket,
        now: Time,
        events: &mut Events,
        lost: &mut Vec<(SimPacket, Cause)>,
    ) {
        (packet.queued, packet.marked) = (now, false);
        self.totals.arrivals += 1;
        self.queue.enqueue(packet, &mut Ctx::new(now, &mut self.rng, lost));
        if self.sending.is_none() {
            self.transmit(now, events, lost);
        }
        self.totals.see(self.queue.packets());
        self.arm(events);
    }

    /// The transmitter has finished: its packet goes onto the wire, the next one to the transmitter.
    pub fn departure(&mut self, now: Time, events: &mut Events, lost: &mut Vec<(SimPacket, Cause)>) {
        let packet = self.sending.take().expect("a packet in transmission");
        let (tie, mut arrival) = (events.tie(), now + self.delay);
        if let Some(jitter) = &mut self.jitter {
            arrival = jitter.delay(arrival);
        }
        if let Some(observer) = &mut self.observer {
            observer(now, &packet);
        }
        self.totals.departures += 1;
        self.totals.departed_bytes += u64::from(packet.bytes);
        if self.wire.is_empty() {
            events.push_with(arrival, tie, Event::Arrival(self.index));
        }
        self.wire.push_back((arrival, tie, packet));
        self.transmit(now, events, lost);
        self.arm(events);
    }

    /// The first packet on the wire has arrived.
    pub fn arrival(&mut self, events: &mut Events) -> SimPacket {
        let (_, _, packet) = self.wire.pop_front().expect("a packet on the wire");
        if let Some(&(time, tie, _)) = self.wire.front() {
            events.push_with(time, tie, Event::Arrival(self.index));
        }
        packet
    }

    /// The discipline acts on its own.
    pub fn wake(&mut self, now: Time, events: &mut Events, lost: &mut Vec<(SimPacket, Cause)>) {
        // It may have put the time off since it was armed.
        let due = self.queue.next_wakeup().is_some_and(|at| at <= now);
        if self.waking.take_if(|at| *at <= now).is_some() && due {
            self.queue.wake(&mut Ctx::new(now, &mut self.rng, lost));
        }
        self.arm(events);
    }

    fn transmit(&mut self, now: Time, events: &mut Events, lost: &mut Vec<(SimPacket, Cause)>) {
        let Some(packet) = self.queue.dequeue(&mut Ctx::new(now, &mut self.rng, lost)) else {
            self.remainder = 0;
            return;
        };
        self.totals.waited(packet.queued, now, self.watched);
        self.totals.marked += u64::from(packet.marked);
        let SimPacket { flow, to, queued, marked, .. } = packet;
        self.leaving = Some(Leaving { flow, to, queued, marked });
        let time = self.rate.time_to_send(u64::from(packet.bytes), &mut self.remainder);
        events.push(now + time, Event::Departure(self.index));
        self.sending = Some(packet);
    }

    fn arm(&mut self, events: &mut Events) {
        if let Some(at) = self.queue.next_wakeup() {
            if self.waking.is_none_or(|waking| at < waking) {
                self.waking = Some(at);
                events.push(at, Event::Wake(self.index));
            }
        }
    }

    /// Packets that the link holds: queued, in transmission, on the wire.
    #[must_use]
    pub fn holds(&self) -> [u64; 3] {
        [self.queue.packets(), u64::from(self.sending.is_some()), self.wire.len() as u64]
    }
}
