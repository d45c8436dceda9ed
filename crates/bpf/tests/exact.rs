//! The BPF programs beside the Rust disciplines: the same arrivals, clock and random numbers, and so the same packets dropped, for
//! the same reasons, the same packets sent, and as many random numbers drawn.
//!
//! The program, compiled for this machine, replays what the Rust discipline did (`bpf/host_main.h`). Parameters are random, and
//! change while the queue is in use; loads are phases of overload, of balance and of silence, of a minute too; queues are made anew
//! in between, some behind a link that the program shapes by itself, as the `Port` of the simulator does, and whose rate changes; some
//! behind one whose timers are late, as a kernel's are. `SLUICEGATE_BPF_ARRIVALS` says how many arrivals each discipline sees,
//! `SLUICEGATE_BPF_SEED` where seeds begin.

#![cfg(unix)] // a C compiler of GCC's kind

use sluicegate_aqm::afd::{Afd, AfdParams};
use sluicegate_aqm::blue::{Blue, BlueParams};
use sluicegate_aqm::choke::{Choke, ChokeParams, Draw};
use sluicegate_aqm::configure::Configure;
use sluicegate_aqm::dcn::{ControlLaw, Count, Dcn, DcnParams};
use sluicegate_aqm::fifo::Buffer;
use sluicegate_aqm::flow_hasher::FlowHasher;
use sluicegate_aqm::pi::{Pi, PiParams};
use sluicegate_aqm::red::{GapLaw, Red, RedBlock, RedParams};
use sluicegate_aqm::rem::{Rem, RemParams};
use sluicegate_aqm::sred::{Sred, SredParams};
use sluicegate_aqm::{Ctx, Discipline, DropReason, FlowKey, Packet};
use sluicegate_base::{Link, Params, Rate, Size, Span, Stream, Time, Transmitter};
use sluicegate_bpf::{Portable, Wire};
use sluicegate_port::{Cells, Framing, Outcome, Port, PortConfig, PortPacket};

use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};

const LINK: Link = Link { rate: Rate(10_000_000), packet: 1000 };

/// Links that the program shapes to.
const WIRES: [Wire; 4] = [
    Wire { rate: Some(RATES[0]), framing: Framing { bytes: 0, least: 0, cells: Cells::None } },
    Wire { rate: Some(RATES[1]), framing: Framing { bytes: 38, least: 84, cells: Cells::None } },
    Wire { rate: Some(RATES[2]), framing: Framing { bytes: 40, least: 0, cells: Cells::Atm } },
    Wire { rate: Some(RATES[2]), framing: Framing { bytes: 22, least: 0, cells: Cells::Ptm } },
];
const RATES: [Rate; 4] = [Rate(10_000_000), Rate(7_654_321), Rate(9_999_991), Rate(31_415_926)];

#[derive(Clone, Copy)]
struct Numbered {
    serial: u64,
    flow: u64,
    bytes: u64,
    arrived: Time,
}

impl Packet for Numbered {
    fn flow(&self) -> FlowKey {
        FlowKey(self.flow)
    }
    fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl PortPacket for Numbered {
    fn arrived(&self) -> Time {
        self.arrived
    }
    fn marked(&self) -> bool {
        false
    }
}

/// Where traces go: the program, which compares.
type Program = Arc<Mutex<BufWriter<ChildStdin>>>;

const START: u8 = 0;
const CHANGE: u8 = 1;
const ARRIVE: u8 = 2;
const DEPART: u8 = 3;
const WAIT: u8 = 4;

/// How late the program's timer may be without loss of what the link could have sent.
const LATE: Span = Span::from_millis(20);

/// `enum reason` of the programs.
fn number(reason: DropReason) -> u8 {
    match reason {
        DropReason::Tail => 1,
        DropReason::Early => 2,
        DropReason::Forced => 3,
        DropReason::Match => 4,
        DropReason::Reconfigured => 5,
        DropReason::Policed => unreachable!("no discipline here polices"),
    }
}

/// A discipline whose calls are written down, as `struct event` of `bpf/host.h`.
struct Recorder<D: Configure<Numbered>> {
    discipline: D,
    params: D::Params,
    kind: Kind<D>,
    wire: Wire,
    /// Whether timers are late.
    late: bool,
    changes: Stream,
    /// Once the key is drawn.
    hasher: Option<FlowHasher>,
    keyed: bool,
    generation: u64,
    program: Program,
}

/// What is particular to a discipline here.
struct Kind<D: Configure<Numbered>> {
    new: fn(D::Params) -> D,
    /// Random parameters, or others than these while the queue is in use.
    random: fn(&mut Stream, Option<&D::Params>) -> D::Params,
    hash: Hash,
}

/// Where a discipline draws the key of its flow table's hash. The program draws its key in `init`, and hashes addresses with it.
#[derive(Clone, Copy, PartialEq)]
enum Hash {
    /// Nowhere.
    None,
    /// With the first packet, whose bucket the hash gives.
    AtFirst,
    /// With the first packet that is put into its table, after other draws.
    AtInsertion,
}

impl<D: Configure<Numbered>> Clone for Kind<D> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<D: Configure<Numbered>> Copy for Kind<D> {}

impl<D: Configure<Numbered, Params: Portable>> Recorder<D> {
    fn new(kind: Kind<D>, wire: Wire, late: bool, mut changes: Stream, program: Program) -> Self {
        let params = (kind.random)(&mut changes, None);
        let recorder = Recorder {
            discipline: (kind.new)(params.clone()),
            params,
            kind,
            wire,
            late,
            changes,
            hasher: None,
            keyed: false,
            generation: 1,
            program,
        };
        recorder.write(Time::ZERO, START, 0, None, &[], &[], &recorder.blob());
        recorder
    }

    fn blob(&self) -> Vec<u8> {
        self.params.lay_out(&self.wire, self.generation).expect("parameters that the program has").bytes
    }

    /// Parameters of which half are others', as whoever writes them may leave them for a time: with a generation of 0.
    fn half_written(&mut self) -> Vec<u8> {
        let others = (self.kind.random)(&mut self.changes, Some(&self.params));
        let others = others.lay_out(&self.wire, 0).expect("parameters that the program has").bytes;
        let half = others.len() / 2;
        [&self.blob()[..half], &others[half..]].concat()
    }

    #[expect(clippy::too_many_arguments, reason = "an event's fields")]
    fn write(
        &self,
        now: Time,
        kind: u8,
        result: u8,
        packet: Option<Numbered>,
        bits: &[u64],
        dropped: &[u64],
        rest: &[u8],
    ) {
        let Numbered { serial, flow, bytes, .. } =
            packet.unwrap_or(Numbered { serial: 0, flow: 0, bytes: 0, arrived: now });
        let flow = self.hasher.map_or(flow, |hasher| hasher.hash(FlowKey(flow)));
        let mut event = Vec::with_capacity(64);
        [now.0, flow, serial].iter().for_each(|n| event.extend(n.to_le_bytes()));
        [bytes as u32, bits.len() as u32, dropped.len() as u32].iter().for_each(|n| event.extend(n.to_le_bytes()));
        event.extend([kind, result, self.late.into(), 0]);
        bits.iter().chain(dropped).for_each(|n| event.extend(n.to_le_bytes()));
        event.extend(rest);
        // A program that has found a difference has ended; what it said is shown at the end.
        let _ = self.program.lock().expect("one thread").write_all(&event);
    }
}

/// The random numbers drawn between two states of a stream.
fn drawn(mut before: Stream, after: &Stream) -> Vec<u64> {
    let next = after.clone().bits();
    let mut bits = Vec::new();
    while before.clone().bits() != next {
        bits.push(before.bits());
    }
    bits
}

impl<D: Configure<Numbered, Params: Portable>> Discipline<Numbered> for Recorder<D> {
    fn enqueue(&mut self, packet: Numbered, ctx: &mut Ctx<'_, Numbered>) {
        let (before, mut key, mut dropped) = (ctx.rng.clone(), ctx.rng.clone(), Vec::new());
        let mut inner = Ctx::new(ctx.now, ctx.rng, &mut dropped);
        match self.changes.below(20_000) {
            0 => {
                self.params = (self.kind.random)(&mut self.changes, Some(&self.params));
                self.generation += 1;
                self.discipline.configure(self.params.clone(), &mut inner);
                self.write(inner.now, CHANGE, 0, None, &[], &[], &self.blob());
            }
            1 => {
                let halves = self.half_written();
                self.write(inner.now, CHANGE, 0, None, &[], &[], &halves);
            }
            _ => {}
        }
        self.discipline.enqueue(packet, &mut inner);
        let mut bits = drawn(before, ctx.rng);
        match self.kind.hash {
            Hash::AtFirst if self.hasher.is_none() => {
                bits.drain(..2);
                self.hasher = Some(FlowHasher::new(&mut key));
            }
            // A flow that is not in the table is drawn for once: whether it is to be.
            Hash::AtInsertion if !self.keyed && bits.len() > 1 => {
                bits.truncate(1);
                self.keyed = true;
            }
            _ => {}
        }
        let drops: Vec<u64> =
            dropped.iter().map(|(packet, reason)| packet.serial << 3 | u64::from(number(*reason))).collect();
        self.write(ctx.now, ARRIVE, 0, Some(packet), &bits, &drops, &[]);
        dropped.into_iter().for_each(|(packet, reason)| ctx.drop(packet, reason));
    }

    fn dequeue(&mut self, ctx: &mut Ctx<'_, Numbered>) -> Option<Numbered> {
        let packet = self.discipline.dequeue(ctx);
        self.write(ctx.now, DEPART, packet.is_some().into(), packet, &[], &[], &[]);
        packet
    }

    /// The program takes over the link's rate and framing; the discipline's parameters stay.
    fn link_changed(&mut self, link: &Link, ctx: &mut Ctx<'_, Numbered>) {
        self.wire.rate = Some(link.rate);
        self.generation += 1;
        self.write(ctx.now, CHANGE, 0, None, &[], &[], &self.blob());
    }

    fn next_wakeup(&self) -> Option<Time> {
        self.discipline.next_wakeup()
    }

    fn wake(&mut self, ctx: &mut Ctx<'_, Numbered>) {
        self.discipline.wake(ctx);
    }

    fn buffer(&self) -> &dyn Buffer<Numbered> {
        self.discipline.buffer()
    }
}

/// When packets come, and whose they are.
struct Load {
    stream: Stream,
    flows: u64,
    mean_gap: u64,
    now: Time,
    serial: u64,
}

impl Load {
    fn next(&mut self) -> Numbered {
        if self.serial % 10_000 == 0 {
            // At 10 Mbit/s a packet of 847 bytes, the mean, takes 677 µs.
            self.mean_gap = [150_000, 400_000, 680_000, 1_000_000][self.stream.below(4) as usize];
        }
        let gap = match self.stream.below(20_000) {
            0 => self.stream.below(3_000_000_000),
            1 => 60_000_000_000 + self.stream.below(10_000_000_000),
            _ => self.stream.below(2 * self.mean_gap),
        };
        self.now += Span(gap);
        // Half of all packets are the first flow's.
        let flow = if self.stream.below(2) == 0 { 0 } else { self.stream.below(self.flows) };
        let bytes = [40, 1000, 1500][self.stream.below(3) as usize];
        let packet = Numbered { serial: self.serial, flow, bytes, arrived: self.now };
        self.serial += 1;
        packet
    }
}

/// Wakes a queue as often as it asks, up to this time.
fn wake<D: Configure<Numbered, Params: Portable>>(
    queue: &mut Recorder<D>,
    until: Time,
    rng: &mut Stream,
    dropped: &mut Vec<(Numbered, DropReason)>,
) {
    while let Some(due) = queue.next_wakeup().filter(|due| *due <= until) {
        queue.wake(&mut Ctx::new(due, rng, dropped));
    }
}

/// A queue whose packets are asked for at random times.
fn unshaped<D: Configure<Numbered, Params: Portable>>(
    mut queue: Recorder<D>,
    load: &mut Load,
    arrivals: u64,
    mut rng: Stream,
) {
    let (mut now, mut dropped) = (Time::ZERO, Vec::new());
    for _ in 0..arrivals {
        let packet = load.next();
        let gap = packet.arrived.since(now);
        // No device stands still for seconds with packets before it; of that the program makes up for 4096 steps of a clock at a time.
        let times = load.stream.below(4) + if gap > Span::from_secs(1) { 1 + queue.buffer().packets() } else { 0 };
        let mut departures: Vec<Time> = (0..times).map(|_| now + Span(load.stream.below(gap.0 + 1))).collect();
        departures.sort_unstable();
        let arrival = (packet.arrived, Some(packet));
        for (at, packet) in departures.into_iter().map(|at| (at, None)).chain([arrival]) {
            wake(&mut queue, at, &mut rng, &mut dropped);
            now = at;
            let ctx = &mut Ctx::new(now, &mut rng, &mut dropped);
            match packet {
                Some(packet) => queue.enqueue(packet, ctx),
                None => drop(queue.dequeue(ctx)),
            }
        }
        dropped.clear();
    }
}

/// A queue behind the link that the program shapes to.
fn shaped<D: Configure<Numbered, Params: Portable> + 'static>(
    queue: Recorder<D>,
    load: &mut Load,
    arrivals: u64,
    rng: Stream,
) {
    let config = PortConfig { framing: queue.wire.framing, ..PortConfig::new(queue.wire.rate.expect("a link")) };
    let mut port: Port<Numbered> = Port::new(config, Box::new(queue), rng);
    let mut out = |_: Outcome<'_, Numbered>| {};
    for _ in 0..arrivals {
        let packet = load.next();
        while port.next_deadline() <= packet.arrived {
            port.advance(port.next_deadline(), &mut out);
        }
        if load.stream.below(5_000) == 0 {
            port.set_rate(one_of(&mut load.stream, &RATES), true, packet.arrived, &mut out);
        }
        port.arrive(packet, packet.arrived, &mut out);
    }
}

/// A queue behind a link whose timers are late, in the kernel's order: what the link could have sent meanwhile goes at once.
fn late<D: Configure<Numbered, Params: Portable>>(
    mut queue: Recorder<D>,
    load: &mut Load,
    arrivals: u64,
    mut rng: Stream,
) {
    let mut link = Transmitter::new(queue.wire.rate.expect("a link"));
    let (mut now, mut free_at, mut dropped) = (Time::ZERO, Time::ZERO, Vec::new());
    for _ in 0..arrivals {
        let packet = load.next();
        while queue.buffer().packets() > 0 {
            let most = [0, 0, 50_000, 50_000, 2_000_000, 40_000_000][load.stream.below(6) as usize];
            let at = now.max(free_at) + Span(load.stream.below(most + 1));
            if at > packet.arrived {
                break;
            }
            if now < free_at {
                let early = Time(now.0 + load.stream.below(free_at.since(now).0));
                let timer = Numbered { serial: free_at.0, flow: 0, bytes: 0, arrived: early };
                queue.write(early, WAIT, 0, Some(timer), &[], &[], &[]);
            }
            wake(&mut queue, at, &mut rng, &mut dropped);
            now = at;
            let sent = queue.dequeue(&mut Ctx::new(now, &mut rng, &mut dropped)).expect("it waits");
            free_at =
                free_at.max(Time(now.0.saturating_sub(LATE.0))) + link.send(queue.wire.framing.on_wire(sent.bytes));
        }
        if queue.buffer().packets() == 0 && free_at <= packet.arrived {
            // Idle since it was free, though the last packet may have left later.
            wake(&mut queue, free_at, &mut rng, &mut dropped);
            queue.discipline.dequeue(&mut Ctx::new(free_at, &mut rng, &mut dropped));
            link.rest();
            free_at = packet.arrived;
        }
        now = packet.arrived;
        wake(&mut queue, now, &mut rng, &mut dropped);
        let ctx = &mut Ctx::new(now, &mut rng, &mut dropped);
        if load.stream.below(5_000) == 0 {
            let wire = one_of(&mut load.stream, &WIRES);
            let rate = one_of(&mut load.stream, &RATES);
            free_at = free_at.min(now) + link.change_rate(rate, free_at.since(now));
            queue.wire = wire;
            queue.link_changed(&Link { rate, ..LINK }, ctx);
        }
        queue.enqueue(packet, ctx);
        dropped.clear();
    }
}

/// Compiles the program of this name, and starts it.
fn start(name: &str) -> Child {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bpf");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let compiled = Command::new(&compiler)
        .args(["-O2", "-DSG_HOST", "-x", "c"])
        .arg(sources.join(format!("{name}.bpf.c")))
        .arg("-o")
        .arg(&program)
        .status();
    assert!(compiled.expect("a C compiler").success(), "{compiler} {name}.bpf.c");
    let started = Command::new(&program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program");
    std::fs::remove_file(&program).expect("written just now");
    started
}

fn compare<D: Configure<Numbered, Params: Portable> + 'static>(kind: Kind<D>) {
    let name = D::Params::NAME;
    let said = |name: &str, default| std::env::var(name).map_or(default, |text| text.parse().expect("a number"));
    let (arrivals, seed) = (said("SLUICEGATE_BPF_ARRIVALS", 200_000), said("SLUICEGATE_BPF_SEED", 0));
    let mut child = start(name);
    let program = Arc::new(Mutex::new(BufWriter::new(child.stdin.take().expect("piped"))));
    let mut serial = 0;
    for run in seed.. {
        let left = arrivals - serial;
        if left == 0 {
            break;
        }
        let mut pick = Stream::new(run, name);
        let is_late = pick.below(3) == 0;
        let wire = if is_late || pick.below(3) > 0 { one_of(&mut pick, &WIRES) } else { Wire::default() };
        let flows = [20, 200, 2000][pick.below(3) as usize];
        let mut load = Load { stream: Stream::new(run, "load"), flows, mean_gap: 1, now: Time::ZERO, serial };
        let recorder = Recorder::new(kind, wire, is_late, pick, Arc::clone(&program));
        let (some, rng) = (left.min(40_000), Stream::new(run, "queue"));
        match wire.rate {
            None => unshaped(recorder, &mut load, some, rng),
            Some(_) if is_late => late(recorder, &mut load, some, rng),
            Some(_) => shaped(recorder, &mut load, some, rng),
        }
        serial = load.serial;
    }
    drop(program);
    let done = child.wait_with_output().expect("the program");
    let said = String::from_utf8_lossy(&done.stdout);
    println!("{name}: {said}");
    assert!(done.status.success(), "{name}: {said}");
    assert!(said.starts_with(&format!("equal: {arrivals} arrivals")), "{said}");
}

fn one_of<T: Copy>(stream: &mut Stream, values: &[T]) -> T {
    values[stream.below(values.len() as u64) as usize]
}

/// No ratio of whole numbers: with one, a share can meet a count exactly, and the last binary place says what follows.
fn random_gain(stream: &mut Stream) -> f64 {
    0.1 + 0.5 * stream.uniform()
}

/// A multiple of 1/64. Where gains are given, steps around the target can add up to 0: with such gains both add up exactly.
fn exact_gain(stream: &mut Stream) -> f64 {
    (8 + stream.below(120)) as f64 / 64.0
}

fn random_limit(stream: &mut Stream) -> Size {
    one_of(stream, &[Size::Packets(20), Size::Packets(150), Size::Packets(420), Size::Bytes(60_000)])
}

fn random_red(stream: &mut Stream, red: RedBlock) -> RedBlock {
    let min_th = 1 + stream.below(40);
    RedBlock {
        min_th: Size::Packets(min_th),
        max_th: Size::Packets(min_th + 1 + stream.below(100)),
        limit: random_limit(stream),
        w_q: one_of(stream, &[0.000_05, 0.002, 0.02, 0.3, 1.0]),
        max_p: one_of(stream, &[0.02, 0.1, 1.0]),
        ..red
    }
}

#[test]
fn red() {
    compare(Kind {
        new: Red::new,
        hash: Hash::None,
        random: |stream, _| {
            let params = RedParams::defaults(&LINK).unwrap();
            let red = random_red(stream, params.red.clone());
            let (law, method) = one_of(stream, &[(GapLaw::Section7, 2), (GapLaw::Figure2, 2), (GapLaw::Section7, 1)]);
            RedParams { red, law, method, ..params }
        },
    });
}

#[test]
fn choke() {
    compare(Kind {
        new: Choke::new,
        hash: Hash::None,
        random: |stream, _| {
            let params = ChokeParams::defaults(&LINK).unwrap();
            let red = random_red(stream, params.red.clone());
            let draw = one_of(stream, &[Draw::Random, Draw::Random, Draw::Front, Draw::Back]);
            ChokeParams { red, draw, candidates: 1 + stream.below(8), ..params }
        },
    });
}

#[test]
fn dcn() {
    compare(Kind {
        new: Dcn::new,
        hash: Hash::AtFirst,
        random: |stream, old| {
            let params = old.cloned().unwrap_or_else(|| DcnParams {
                sb_entries: one_of(stream, &[50, 16_384]),
                hb_flows: one_of(stream, &[10, 8192]),
                ..DcnParams::defaults(&LINK).unwrap()
            });
            let given = exact_gain(stream);
            let (a, b) =
                one_of(stream, &[(None, None), (None, None), (None, Some(given)), (Some(given / 2.0), Some(given))]);
            DcnParams {
                q_ref: Size::Packets(stream.below(60)),
                limit: random_limit(stream),
                threshold: stream.below(20),
                t_dec: one_of(stream, &[Span::from_millis(800), Span::from_millis(100), Span::from_millis(50)]),
                t_update: one_of(stream, &[Span(6_250_000), Span(9_999_999)]),
                law: one_of(stream, &[ControlLaw::Corrected, ControlLaw::Corrected, ControlLaw::Printed]),
                count: one_of(stream, &[Count::Forwarded, Count::Arrived]),
                p_ref_min: 0.1 + 0.1 * stream.uniform(),
                p_ref_max: one_of(stream, &[None, None, Some(1000.0)]).map(|most| most + stream.uniform()),
                gain: if b.is_some() { 0.25 } else { random_gain(stream) },
                a,
                b,
                ..params
            }
        },
    });
}

#[test]
fn afd() {
    compare(Kind {
        new: Afd::new,
        hash: Hash::AtInsertion,
        random: |stream, old| {
            let b = one_of(stream, &[20, 500, 5000]);
            let params = old.cloned().unwrap_or_else(|| AfdParams { b, ..AfdParams::defaults(&LINK).unwrap() });
            let given = exact_gain(stream);
            let (alpha, beta) =
                one_of(stream, &[(None, None), (None, None), (None, Some(given)), (Some(given / 2.0), Some(given))]);
            AfdParams {
                q_ref: Size::Packets(stream.below(100)),
                limit: random_limit(stream),
                s: one_of(stream, &[1.0, 5.0, 12.5]),
                w: one_of(stream, &[160.0, 33.3]),
                gain: if beta.is_some() { 0.25 } else { random_gain(stream) },
                alpha,
                beta,
                ..params
            }
        },
    });
}

#[test]
fn pi() {
    compare(Kind {
        new: Pi::new,
        hash: Hash::None,
        random: |stream, old| {
            let p_0 = one_of(stream, &[0.0, 0.1, 1.0]);
            let params = old.cloned().unwrap_or_else(|| PiParams { p_0, ..PiParams::defaults(&LINK).unwrap() });
            let (a, b) = one_of(stream, &[(1.822e-5, 1.816e-5), (2e-3, 1.9e-3), (0.3, 0.29)]);
            PiParams {
                q_ref: Size::Packets(stream.below(100)),
                limit: random_limit(stream),
                a,
                b,
                w: one_of(stream, &[170.0, 33.3]),
                ..params
            }
        },
    });
}

#[test]
fn blue() {
    compare(Kind {
        new: Blue::new,
        hash: Hash::None,
        random: |stream, _| BlueParams {
            limit: random_limit(stream),
            d1: one_of(stream, &[0.02, 0.002, 1.0]),
            d2: one_of(stream, &[0.002, 0.0002, 0.1]),
            freeze_time: one_of(stream, &[Span::from_millis(100), Span(9_999_999), Span(1)]),
            level: one_of(stream, &[None, Some(Size::Packets(15)), Some(Size::Bytes(9000))]),
            ..BlueParams::defaults(&LINK).unwrap()
        },
    });
}

#[test]
fn sred() {
    compare(Kind {
        new: Sred::new,
        hash: Hash::None,
        random: |stream, old| {
            let zombies = one_of(stream, &[1, 50, 1000, 16_384]);
            let params = old.cloned().unwrap_or_else(|| SredParams { zombies, ..SredParams::defaults(&LINK).unwrap() });
            SredParams {
                limit: random_limit(stream),
                overwrite: one_of(stream, &[0.25, 1.0]),
                alpha: one_of(stream, &[None, None, Some(0.1)]),
                max_p: one_of(stream, &[0.15, 1.0]),
                hits: one_of(stream, &[true, false]),
                ..params
            }
        },
    });
}

#[test]
fn rem() {
    compare(Kind {
        new: Rem::new,
        hash: Hash::None,
        random: |stream, _| RemParams {
            limit: random_limit(stream),
            b_ref: Size::Packets(stream.below(60)),
            gamma: one_of(stream, &[0.001, 0.05]),
            phi: one_of(stream, &[1.001, 1.1, 4.0]),
            alpha: one_of(stream, &[0.0, 0.1, 2.0]),
            inw: one_of(stream, &[1.0, 0.3]),
            t_update: one_of(stream, &[Span::from_millis(2), Span(20_000_001)]),
            ..RemParams::defaults(&LINK).unwrap()
        },
    });
}
