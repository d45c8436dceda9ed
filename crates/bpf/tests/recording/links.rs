//! When packets come, and the links that they leave by.

use super::{Numbered, Recorder, WAIT, one_of};
use sluicegate_aqm::configure::Configure;
use sluicegate_aqm::{Ctx, Discipline, DropReason};
use sluicegate_base::{Link, Rate, Span, Stream, Time, Transmitter};
use sluicegate_bpf::{Portable, Wire};
use sluicegate_port::{Cells, Framing, Outcome, Port, PortConfig};

/// Links that the program shapes to.
pub const WIRES: [Wire; 4] = [
    Wire { rate: Some(RATES[0]), framing: Framing { bytes: 0, least: 0, cells: Cells::None } },
    Wire { rate: Some(RATES[1]), framing: Framing { bytes: 38, least: 84, cells: Cells::None } },
    Wire { rate: Some(RATES[2]), framing: Framing { bytes: 40, least: 0, cells: Cells::Atm } },
    Wire { rate: Some(RATES[2]), framing: Framing { bytes: 22, least: 0, cells: Cells::Ptm } },
];
/// What rates change to.
const RATES: [Rate; 4] = [Rate(10_000_000), Rate(7_654_321), Rate(9_999_991), Rate(31_415_926)];

/// When packets come, and whose they are.
pub struct Load {
    pub stream: Stream,
    pub flows: u64,
    pub mean_gap: u64,
    pub now: Time,
    pub serial: u64,
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
pub fn unshaped<D: Configure<Numbered, Params: Portable>>(
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
pub fn shaped<D: Configure<Numbered, Params: Portable> + 'static>(
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

/// How late the program's timer may be without loss of what the link could have sent.
const LATE: Span = Span::from_millis(20);

/// A queue behind a link whose timers are late, in the kernel's order: what the link could have sent meanwhile goes at once.
pub fn late<D: Configure<Numbered, Params: Portable>>(
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
            queue.link_changed(&Link { rate, packet: 1000 }, ctx);
        }
        queue.enqueue(packet, ctx);
        dropped.clear();
    }
}
