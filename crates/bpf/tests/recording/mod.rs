//! A discipline whose calls are written down for its program, and what comes to it.

mod links;

use links::{Load, WIRES, late, shaped, unshaped};
use sluicegate_aqm::configure::Configure;
use sluicegate_aqm::fifo::Buffer;
use sluicegate_aqm::flow_hasher::FlowHasher;
use sluicegate_aqm::{Ctx, Discipline, DropReason, FlowKey, Packet};
use sluicegate_base::{Link, Stream, Time};
use sluicegate_bpf::{Portable, Wire};
use sluicegate_port::PortPacket;

use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};

#[derive(Clone, Copy)]
pub struct Numbered {
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
pub struct Recorder<D: Configure<Numbered>> {
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
pub struct Kind<D: Configure<Numbered>> {
    pub new: fn(D::Params) -> D,
    /// Random parameters, or others than these while the queue is in use.
    pub random: fn(&mut Stream, Option<&D::Params>) -> D::Params,
    pub hash: Hash,
}

/// Where a discipline draws the key of its flow table's hash. The program draws its key in `init`, and hashes addresses with it.
#[derive(Clone, Copy, PartialEq)]
pub enum Hash {
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

/// Has a discipline's program replay what the discipline did, as long as there are arrivals to come.
pub fn compare<D: Configure<Numbered, Params: Portable> + 'static>(kind: Kind<D>) {
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

/// One of these values, each as likely.
pub fn one_of<T: Copy>(stream: &mut Stream, values: &[T]) -> T {
    values[stream.below(values.len() as u64) as usize]
}
