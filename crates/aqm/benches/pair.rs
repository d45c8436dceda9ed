//! One enqueue and one dequeue of a discipline through the trait object, many times: `pair NAME COUNT` prints the nanoseconds
//! of CPU time that each of so many took; without arguments, the names. A name may have words for some of the discipline's keys
//! behind it, `red:law=figure17`, and a number of flows, `fq@1000` or `fq!65537`. `loop` is the loop alone, which moves the
//! clock, makes and moves the packets and provides the context, without the calls: a pair's cost less this is the
//! discipline's own.
//!
//! The queue holds 40 packets of 33 flows in turn, each flow with a packet in 264 ms.
//!
//! With N flows, `@N`, it holds a packet of each, 40 at least, as far as the discipline lets it, and no flow sends more seldom:
//! the link's rate and the time between packets go with N. Averages stay between their thresholds, which are 3/4 and 3/2 of what
//! is queued; tables are as large as their ranges allow, up to 100,000. Before anything is measured, runs with N assert that the
//! state has been filled.
//!
//! Overload, `!N`, is the same with a limit of N packets and a link that sends only one packet for two arrivals: every other
//! arrival finds the buffer full, unless the discipline drops enough before. What is measured is one arrival, with half a
//! departure.

use rustix::time::{ClockId, clock_gettime};
use sluicegate_aqm::harness::TestPacket;
use sluicegate_aqm::{Ctx, Discipline, DropReason, all, build};
use sluicegate_base::params::Kind;
use sluicegate_base::{Ecn, Link, Rate, Size, Span, Stream, Time, Value};
use std::collections::BTreeSet;
use std::hint::black_box;

/// Forms of a discipline that are measured beside the one with its defaults.
const FORMS: [&str; 4] = ["red:law=figure2", "red:law=figure17", "red:law=figure17:arithmetic=shifts", SELECTIVE];
const SELECTIVE: &str = "decbit:feedback=selective";

/// Numbers of active flows, and that of the overload: more than the largest tables of queues have, and odd, so that it is not
/// always the same flows that find room.
const FLOWS: [u64; 3] = [1, 1000, 100_000];
const THIN_FLOWS: u64 = 65_537;

/// What parameters count that are sizes of tables; none is made larger than this.
const TABLES: [&str; 3] = ["flows", "queues", "buckets"];
const TABLE_MAX: u64 = 100_000;

/// Time between the packets of a flow, where 33 flows or more share the link.
const TURN: u64 = 264_000_000;

fn list() {
    let names = || all().iter().map(|entry| entry.table.about.name);
    ["loop"].into_iter().chain(names()).chain(FORMS).for_each(|name| println!("{name}"));
    for name in names().chain([SELECTIVE]) {
        FLOWS.iter().for_each(|flows| println!("{name}@{flows}"));
    }
    ["loop"].into_iter().chain(names()).chain([SELECTIVE]).for_each(|name| println!("{name}!{THIN_FLOWS}"));
}

/// What is known of the flows, and the least that it must be with so many of them after the warm-up.
fn populated(name: &str, flows: u64, discipline: &dyn Discipline<TestPacket>) -> Option<(u64, u64)> {
    let mut states = Vec::new();
    discipline.state(&mut |flow, name, value| {
        if flow.is_none() {
            states.push((name, value as u64));
        }
    });
    let state = |wanted| states.iter().find(|(name, _)| *name == wanted).expect("a state").1;
    let queued = || {
        let mut seen = BTreeSet::new();
        discipline.for_each(&mut |packet| {
            seen.insert(packet.flow);
        });
        seen.len() as u64
    };
    Some(match name {
        // SB has 65,536 buckets, of which 100,000 flows in turn leave a fifth to one flow alone.
        "dcn" => (state("hb_flows"), if flows > 65_536 { 10_000 } else { flows / 2 }),
        "csfq" => (state("flows"), flows),
        "rio_ps" => (state("flows"), flows.min(65_536)),
        "afd" => (state("flows"), flows.min(300)),
        "red_pd" => (state("flows"), flows.min(20)),
        "fred" | "fq" => (queued(), flows * 9 / 10),
        // Its first ten packets bring a flow before those that wait.
        "fq_linux" => (state("flows"), flows * 9 / 10),
        // Flows with the same hash share a queue, and its packets are dropped when it is the longest.
        "sfq" => (queued(), (flows * 9 / 10).min(40_000)),
        // A queue may hold several flows.
        "fq_codel" | "fq_pie" => (queued(), flows.min(500)),
        _ => return None,
    })
}

/// The CPU time of this process, in nanoseconds.
fn cpu_time() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Packets that are made at a time: none is handed on while it is still on its way from the registers to the cache.
const BATCH: usize = 64;

/// What goes on around a discipline: the time, the flows in turn, and what a discipline is provided with.
struct World {
    now: Time,
    step: Span,
    /// The link sends when more packets than this are queued, or, in overload, after every other arrival.
    held: u64,
    overload: bool,
    flow: u64,
    last: u64,
    rng: Stream,
    dropped: Vec<(TestPacket, DropReason)>,
    queued: u64,
}

impl World {
    fn new(flows: u64, step: Span, held: u64, overload: bool) -> World {
        let (rng, dropped) = (Stream::new(1, "bench"), Vec::new());
        World { now: Time::ZERO, step, held, overload, flow: 0, last: flows - 1, rng, dropped, queued: 0 }
    }

    /// The loop: hands so many packets to `offer`, one after another.
    fn run(&mut self, packets: u64, mut offer: impl FnMut(&mut World, TestPacket)) {
        let mut batch = [TestPacket::default(); BATCH];
        for serial in (0..packets).step_by(BATCH) {
            let batch = &mut batch[..BATCH.min((packets - serial) as usize)];
            for (serial, packet) in (serial..).zip(&mut *batch) {
                self.flow = if self.flow >= self.last { 0 } else { self.flow + 1 };
                let ecn = Ecn::NotCapable;
                *packet = TestPacket { flow: self.flow, bytes: 1000, serial, ecn, ..TestPacket::default() };
            }
            for packet in batch {
                self.now += self.step;
                offer(self, *packet);
            }
        }
    }

    /// The same, measured: nanoseconds for each packet.
    fn time(&mut self, packets: u64, offer: impl FnMut(&mut World, TestPacket)) -> f64 {
        let start = cpu_time();
        self.run(packets, offer);
        (cpu_time() - start) as f64 / packets as f64
    }

    fn provide(&mut self) -> Ctx<'_, TestPacket> {
        Ctx::new(self.now, &mut self.rng, &mut self.dropped)
    }

    /// Whether the link sends a packet, after one that came and what was dropped meanwhile.
    fn sends(&mut self, serial: u64) -> bool {
        self.queued = self.queued + 1 - self.dropped.len() as u64;
        self.dropped.clear();
        if self.overload { serial % 2 == 1 && self.queued > 0 } else { self.queued > self.held }
    }
}

/// One pair: a packet comes, and one leaves if the link sends.
fn offer(discipline: &mut dyn Discipline<TestPacket>, world: &mut World, packet: TestPacket) {
    if discipline.next_wakeup().is_some_and(|at| at <= world.now) {
        discipline.wake(&mut world.provide());
    }
    discipline.enqueue(packet, &mut world.provide());
    if world.sends(packet.serial) {
        world.queued -= u64::from(black_box(discipline.dequeue(&mut world.provide())).is_some());
    }
}

/// The same without the calls.
fn offer_nobody(world: &mut World, packet: TestPacket) {
    black_box((packet, world.provide()));
    if world.sends(packet.serial) {
        black_box(world.provide());
        world.queued -= 1;
    }
}

fn main() {
    // Cargo adds `--bench`.
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let (Some(name), Some(count)) = (arguments.next(), arguments.next()) else {
        return list();
    };
    let overload = name.contains('!');
    let (name, flows) = name
        .split_once(['@', '!'])
        .map_or((name.as_str(), None), |(name, flows)| (name, Some(flows.parse::<u64>().expect("a number of flows"))));
    let mut parts = name.split(':');
    let name = parts.next().expect("a name");
    let words: Vec<(&str, &str)> = parts.map(|part| part.split_once('=').expect("KEY=WORD")).collect();
    let count: u64 = count.parse().expect("a whole number");
    let step = Span((TURN / flows.unwrap_or(33).max(33)).max(1));
    // The kernel's average has no room for thresholds above some 10,000 packets.
    let held = if ["choke_linux", "gred"].contains(&name) { 40 } else { flows.unwrap_or(0).max(40) };
    let mut world = World::new(flows.unwrap_or(33), step, held, overload);
    if name == "loop" {
        return println!("{}", world.time(count, offer_nobody));
    }
    let link = Link { rate: Rate(8_000_000_000_000 / step.0 / if overload { 2 } else { 1 }), packet: 1000 };
    let packets = |n: u64| Some(Value::Size(Size::Packets(n)));
    let fields = all().iter().find(|entry| entry.table.about.name == name).expect("a known name").table.fields;
    let mut given = |at: usize| match (fields[at].name, name) {
        ("min_th", _) => packets(held * 3 / 4),
        ("max_th", _) => packets(held * 3 / 2),
        ("in_min_th" | "out_min_th", _) if flows.is_some() => packets(held * 3 / 4),
        ("in_max_th" | "out_max_th", _) if flows.is_some() => packets(held * 3 / 2),
        ("limit", _) if overload => packets(held),
        // Thresholds are parts of it: 0.15 to 0.35 and 0.5.
        ("limit", "rio_ps") => flows.and_then(|_| packets(4 * held)),
        ("limit", _) => flows.and_then(|_| packets(2 * held)),
        ("q_ref", "afd") => flows.and_then(|_| packets(held)),
        // From no bound it would take half a minute to fall to where flows stay in HB.
        ("p_ref_max", "dcn") => flows.map(|_| Value::Number(10.0)),
        (key, _) => match fields[at].kind {
            Kind::Integer if flows.is_some() && (TABLES.contains(&fields[at].unit) || key == "divisor") => {
                (1..=TABLE_MAX).rev().find(|n| fields[at].range.holds(*n as f64)).map(Value::Integer)
            }
            Kind::Choice(known) => {
                let (_, given) = words.iter().find(|(name, _)| *name == key)?;
                Some(Value::Choice(known.iter().find(|word| *word == given).expect("a known word")))
            }
            _ => None,
        },
    };
    let mut discipline = build::<TestPacket>(name, &mut given, &link).expect("a known name").expect("valid parameters");
    // Four seconds, in which each of 33 flows or more sends 15 packets, and time for the averages.
    if let Some(flows) = flows {
        world.run((4_000_000_000 / step.0).max(10_000), |world, packet| offer(&mut *discipline, world, packet));
        if let Some((known, least)) = populated(name, flows, &*discipline).filter(|_| !overload) {
            assert!(
                known >= least,
                "{name}@{flows}: {known} flows are known after the warm-up, at least {least} should be"
            );
        }
    }
    println!("{}", world.time(count, |world, packet| offer(&mut *discipline, world, packet)));
}
