//! A harness to drive one discipline by hand: in unit tests, property tests and benches.

use crate::discipline::{Ack, Ctx, Discipline, DropReason, FlowKey, Packet};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use sluicegate_base::params::Raw;
use sluicegate_base::{Ecn, Link, Span, Stream, Time};

/// A packet with nothing but what disciplines look at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestPacket {
    /// Its flow.
    pub flow: u64,
    /// Its length in bytes.
    pub bytes: u64,
    /// Its position in the order of arrival, from 0.
    pub serial: u64,
    /// Its ECN field.
    pub ecn: Ecn,
    /// The class of its flow.
    pub class: u8,
    /// Its drop preference.
    pub priority: u8,
    /// What queues have written on it.
    pub label: u32,
    /// The hosts that it comes from and goes to; none where its flow has its own.
    pub hosts: Option<(u16, u16)>,
    /// What it acknowledges.
    pub ack: Option<Ack>,
}

impl Packet for TestPacket {
    fn flow(&self) -> FlowKey {
        FlowKey(self.flow)
    }
    fn bytes(&self) -> u64 {
        self.bytes
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn mark(&mut self) -> bool {
        self.ecn.mark()
    }
    fn class(&self) -> u8 {
        self.class
    }
    fn priority(&self) -> u8 {
        self.priority
    }
    fn label(&self) -> u32 {
        self.label
    }
    fn set_label(&mut self, label: u32) {
        self.label = label;
    }
    fn set_class(&mut self, class: u8) {
        self.class = class;
    }
    fn hosts(&self) -> (u64, u64) {
        self.hosts.map_or((self.flow, self.flow), |(from, to)| (from.into(), to.into()))
    }
    fn ack(&self) -> Option<Ack> {
        self.ack
    }
}

/// Any of the four ECN fields.
pub fn any_ecn(trace: &mut Stream) -> Ecn {
    [Ecn::NotCapable, Ecn::Capable0, Ecn::Capable1, Ecn::CongestionExperienced][trace.below(4) as usize]
}

/// A discipline on the bench, with a clock that the test turns.
pub struct Harness<D: ?Sized> {
    /// The discipline.
    pub discipline: Box<D>,
    /// The clock.
    pub now: Time,
    /// What it dropped, in order.
    pub dropped: Vec<(TestPacket, DropReason)>,
    /// The stream that it draws from.
    pub rng: Stream,
    /// How many packets have arrived and departed.
    pub arrived: u64,
    /// How many have departed.
    pub departed: u64,
    /// The flows that it asked a source quench for.
    pub quenched: Vec<FlowKey>,
    /// How many of the drops `new_drops` has given.
    seen: usize,
}

impl<D: Discipline<TestPacket>> Harness<D> {
    /// Puts a discipline on the bench.
    pub fn new(discipline: D, seed: u64) -> Self {
        Harness::boxed(Box::new(discipline), seed)
    }
}

impl<D: Discipline<TestPacket> + ?Sized> Harness<D> {
    /// The same for one that the registry has built.
    pub fn boxed(discipline: Box<D>, seed: u64) -> Self {
        let rng = Stream::new(seed, "queue");
        let (dropped, quenched) = (Vec::new(), Vec::new());
        Harness { discipline, now: Time::ZERO, dropped, rng, arrived: 0, departed: 0, quenched, seen: 0 }
    }

    /// Lets time pass, waking the discipline whenever it asks.
    pub fn wait(&mut self, span: Span) {
        let end = self.now + span;
        while let Some(at) = self.discipline.next_wakeup().filter(|at| *at <= end) {
            self.now = at;
            self.call(|discipline, ctx| discipline.wake(ctx));
        }
        self.now = end;
    }

    /// A packet arrives whose transport knows nothing of ECN.
    pub fn arrive(&mut self, flow: u64, bytes: u64) {
        self.offer(flow, bytes, Ecn::NotCapable);
    }

    /// A packet arrives.
    pub fn offer(&mut self, flow: u64, bytes: u64, ecn: Ecn) {
        self.submit(TestPacket { flow, bytes, ecn, ..TestPacket::default() });
    }

    /// This packet arrives; it gets its position in the order.
    pub fn submit(&mut self, packet: TestPacket) {
        let packet = TestPacket { serial: self.arrived, ..packet };
        self.arrived += 1;
        self.call(|discipline, ctx| discipline.enqueue(packet, ctx));
    }

    /// The link asks for a packet.
    pub fn depart(&mut self) -> Option<TestPacket> {
        let packet = self.call(|discipline, ctx| discipline.dequeue(ctx));
        self.departed += u64::from(packet.is_some());
        packet
    }

    /// Panics when the call leaves a wake-up that is due.
    fn call<T>(&mut self, work: impl FnOnce(&mut D, &mut Ctx<'_, TestPacket>) -> T) -> T {
        let ctx = Ctx::new(self.now, &mut self.rng, &mut self.dropped);
        let given = work(&mut self.discipline, &mut ctx.with_quenches(&mut self.quenched));
        let due = self.discipline.next_wakeup().filter(|at| *at <= self.now);
        assert_eq!(due, None, "due after a call at {} ns", self.now.0);
        given
    }

    /// Changes a parameter while the queue is in use.
    pub fn set(&mut self, name: &str, value: &Raw) -> Result<(), String> {
        self.call(|discipline, ctx| discipline.set(name, value, ctx))
    }

    /// The link is another from now on.
    pub fn link_changed(&mut self, link: &Link) {
        self.call(|discipline, ctx| discipline.link_changed(link, ctx));
    }

    /// The flow and reason of each drop so far.
    pub fn dropped_flows(&self) -> Vec<(u64, DropReason)> {
        self.dropped.iter().map(|(packet, reason)| (packet.flow, *reason)).collect()
    }

    /// The drops since this was asked before.
    pub fn new_drops(&mut self) -> &[(TestPacket, DropReason)] {
        let before = core::mem::replace(&mut self.seen, self.dropped.len());
        &self.dropped[before..]
    }

    /// The queued packets, from the head to the tail.
    pub fn queued(&self) -> Vec<TestPacket> {
        let mut packets = Vec::new();
        self.discipline.for_each(&mut |packet| packets.push(*packet));
        packets
    }

    /// The flow of each queued packet, from the head to the tail.
    pub fn queued_flows(&self) -> Vec<u64> {
        self.queued().iter().map(|packet| packet.flow).collect()
    }

    /// The value of this name that the discipline shows of itself, if it shows one.
    pub fn state(&self, wanted: &str) -> Option<f64> {
        let mut found = None;
        self.discipline.state(&mut |flow, name, value| {
            if flow.is_none() && name == wanted {
                found = Some(value);
            }
        });
        found
    }

    /// Panics unless arrivals = departures + drops + queued, in packets, and the discipline's counters agree with
    /// what it holds.
    pub fn assert_conserved(&self) {
        let (mut packets, mut bytes) = (0, 0);
        self.discipline.for_each(&mut |packet| {
            packets += 1;
            bytes += packet.bytes;
        });
        assert_eq!((packets, bytes), (self.discipline.packets(), self.discipline.bytes()), "counters and contents");
        assert_eq!(self.arrived, self.departed + self.dropped.len() as u64 + packets, "conservation of packets");
    }
}
