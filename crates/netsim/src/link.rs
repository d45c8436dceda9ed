//! A link: a queue under some discipline, a transmitter, and a wire with a constant delay.

use crate::events::{End, Event, Events};
use crate::packet::{QueuedPacket, SimPacket};
use crate::plan::LinkPlan;
use crate::probe::LinkTotals;
use sluicegate_aqm::{Ctx, Discipline, DropReason, FlowKey, Proportional, Recent};
use sluicegate_base::{Rate, Span, Stream, Time, Transmitter};
use std::borrow::Cow;

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
    pub queue: Box<dyn Discipline<QueuedPacket>>,
    /// What it has counted since the start.
    pub totals: LinkTotals,
    /// The flows that its queue wants to be sent a source quench, since this was last taken.
    pub quenched: Vec<FlowKey>,
    /// Which of its marks and drops show who sends most.
    pub proportional: Proportional,
    /// For each group of packets that the queue chooses among, the flows of the packets of data that it has marked or lost
    /// most recently in proportion to what flows send; kept for links under study only.
    pub recent: Vec<Recent>,
    /// Of more groups than one, the flows that have sent to each.
    pub senders: Vec<Vec<bool>>,
    /// Its propagation delay.
    pub delay: Span,
    /// Who looks at what it sends.
    pub observer: Option<Observer>,
    index: u32,
    rng: Stream,
    transmitter: Transmitter,
    framing: u32,
    sending: Option<QueuedPacket>,
    /// Whether that packet has gone to the transmitter since this was last asked.
    begun: bool,
    /// How many packets the queue holds, by what it has been given and has given back.
    held: u64,
    /// When the discipline will be woken; none when it has not asked.
    waking: Option<Time>,
}

impl Link {
    /// The link of this plan, idle, that remembers so many marks and losses.
    #[must_use]
    pub fn new(index: u32, plan: LinkPlan, recent: u64, seed: u64) -> Link {
        Link {
            rng: Stream::new(seed, &format!("link/{}/discipline", plan.name)),
            name: plan.name,
            discipline: plan.discipline,
            watched: plan.watched,
            rate: plan.rate,
            recent: vec![Recent::new(recent as usize); plan.proportional.groups()],
            senders: vec![Vec::new(); plan.proportional.groups()],
            proportional: plan.proportional,
            queue: plan.queue,
            totals: LinkTotals::default(),
            quenched: Vec::new(),
            observer: None,
            index,
            delay: plan.delay,
            transmitter: Transmitter::new(plan.rate),
            framing: plan.framing,
            sending: None,
            begun: false,
            held: 0,
            waking: None,
        }
    }

    /// A packet reaches the queue. What is lost goes to `lost`. Gives how many packets it finds there.
    #[inline(always)]
    pub fn accept(
        &mut self,
        packet: QueuedPacket,
        now: Time,
        events: &mut Events,
        lost: &mut Vec<(QueuedPacket, DropReason)>,
    ) -> u64 {
        let found = self.held;
        self.totals.arrivals += 1;
        self.totals.found += found;
        self.held += 1;
        let ctx = Ctx::new(now, &mut self.rng, lost);
        self.queue.enqueue(packet, &mut ctx.with_quenches(&mut self.quenched));
        if self.sending.is_none() {
            self.transmit(now, events, lost);
        }
        self.totals.see(self.held - lost.len() as u64);
        self.arm(now, events);
        found
    }

    /// The transmitter has finished: the next packet goes to it. Gives the one that is sent, and when it arrives.
    #[inline(always)]
    pub fn departure(
        &mut self,
        now: Time,
        events: &mut Events,
        lost: &mut Vec<(QueuedPacket, DropReason)>,
    ) -> (QueuedPacket, Time) {
        let packet = self.sending.take().expect("a packet in transmission");
        self.totals.departures += 1;
        self.totals.departed_bytes += u64::from(packet.bytes);
        self.transmit(now, events, lost);
        self.arm(now, events);
        (packet, now + self.delay)
    }

    /// The discipline acts on its own.
    pub fn wake(&mut self, now: Time, events: &mut Events, lost: &mut Vec<(QueuedPacket, DropReason)>) {
        // It may have put the time off since it was armed.
        let due = self.queue.next_wakeup().is_some_and(|at| at <= now);
        if self.waking.take_if(|at| *at <= now).is_some() && due {
            let ctx = Ctx::new(now, &mut self.rng, lost);
            self.queue.wake(&mut ctx.with_quenches(&mut self.quenched));
            // A shaper may have packets, and let the next one go.
            if self.sending.is_none() && self.queue.packets() > 0 {
                self.transmit(now, events, lost);
            }
        }
        self.arm(now, events);
    }

    /// Lets `work` change the queue or put another in its place; the transmitter then takes what may go.
    pub fn change<T>(
        &mut self,
        now: Time,
        events: &mut Events,
        lost: &mut Vec<(QueuedPacket, DropReason)>,
        work: impl FnOnce(&mut Box<dyn Discipline<QueuedPacket>>, &mut Ctx<'_, QueuedPacket>) -> T,
    ) -> T {
        let ctx = Ctx::new(now, &mut self.rng, lost);
        let done = work(&mut self.queue, &mut ctx.with_quenches(&mut self.quenched));
        if self.sending.is_none() && self.queue.packets() > 0 {
            self.transmit(now, events, lost);
        }
        self.arm(now, events);
        done
    }

    #[inline(always)]
    fn transmit(&mut self, now: Time, events: &mut Events, lost: &mut Vec<(QueuedPacket, DropReason)>) {
        let ctx = Ctx::new(now, &mut self.rng, lost);
        let Some(packet) = self.queue.dequeue(&mut ctx.with_quenches(&mut self.quenched)) else {
            self.transmitter.rest();
            return;
        };
        self.held -= 1;
        self.totals.waited(packet.queued, now, self.watched);
        if packet.marked {
            self.totals.mark(packet.queued);
            self.remember(&packet, None);
        }
        let time = self.transmitter.send(u64::from(packet.bytes + self.framing));
        events.push(now + time, Event::Departure(self.index), u64::from(self.index) << 1 | 1);
        self.sending = Some(packet);
        self.begun = true;
    }

    /// The packet in transmission, if it has gone to the transmitter since this was last asked.
    #[inline]
    pub fn begun(&mut self) -> Option<&QueuedPacket> {
        self.sending.as_ref().filter(|_| std::mem::take(&mut self.begun))
    }

    /// A packet that it held is lost for this cause.
    pub fn lose(&mut self, packet: &QueuedPacket, cause: DropReason, now: Time) {
        self.held -= 1;
        self.totals.lose(packet.queued, cause);
        self.totals.left(packet.queued, now);
    }

    /// A packet has been marked, or lost for this cause: whether its flow shows who sends most is the discipline's to say.
    pub fn remember(&mut self, packet: &QueuedPacket, cause: Option<DropReason>) {
        if self.watched && packet.to == End::Receiver && self.proportional.shows(packet, cause) {
            self.recent[self.proportional.group(packet)].record(FlowKey(u64::from(packet.flow)));
        }
    }

    /// A packet of data reaches the queue: its flow sends to its group.
    pub fn note_sender(&mut self, packet: &QueuedPacket) {
        let (senders, flow) = (&mut self.senders[self.proportional.group(packet)], packet.flow as usize);
        senders.resize(senders.len().max(flow + 1), false);
        senders[flow] = true;
    }

    /// Forgets whom it has marked, and who has sent.
    pub fn forget(&mut self) {
        self.recent.iter_mut().for_each(Recent::clear);
        self.senders.iter_mut().for_each(Vec::clear);
    }

    /// Sees to it that the discipline is woken when it asks. Panics when that should have been already: time would stand
    /// still, or run backwards.
    #[inline(always)]
    pub fn arm(&mut self, now: Time, events: &mut Events) {
        if let Some(at) = self.queue.next_wakeup() {
            assert!(at > now, "{} has a wake-up due after a call: see the trait Discipline", self.discipline);
            if self.waking.is_none_or(|waking| at < waking) {
                self.waking = Some(at);
                events.push(at, Event::Wake(self.index), u64::from(self.index) << 1);
            }
        }
    }

    /// Its place among the links of the plan.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.index
    }

    /// The packets that arrivals have found in the queue, summed, and the arrivals.
    #[must_use]
    pub fn found(&self) -> [u64; 2] {
        [self.totals.found, self.totals.arrivals]
    }

    /// Its propagation delay.
    #[must_use]
    pub fn delay(&self) -> Span {
        self.delay
    }

    /// Packets that the link holds: queued, in transmission.
    #[must_use]
    pub fn holds(&self) -> [u64; 2] {
        [self.queue.packets(), u64::from(self.sending.is_some())]
    }
}
