//! The same losses here and in ns-2: the times of every cumulative acknowledgement agree.
//!
//! One transfer over 1 Mbit/s and 50 ms each way, packets of 1000 bytes; the list of lost packets counts every packet that
//! reaches the link, the SYN as 0. Where ns-2 is not installed the tests say so and compare with nothing; the textbook's
//! differences between the schemes are tested everywhere.

use sluicegate_aqm::{Cause, Ctx, Discipline, build};
use sluicegate_base::{Link, Params, Rate, Size, Span, Time, Value};
use sluicegate_netsim::source::SourcePlan;
use sluicegate_netsim::{FlowPlan, Hop, LinkPlan, Plan, Sim, SimPacket};
use sluicegate_tcp::{Algorithm, Flags, Host, TcpParams};
use std::process::Command;
use std::sync::{Arc, Mutex};

const LINK: Link = Link { rate: Rate(1_000_000), packet: 1000 };
const SECONDS: u64 = 8;

/// ns-2 writes times to 10 µs or so. A SACK option takes 4 bytes more here than there, 32 µs on this link, and the sender
/// waits for one such acknowledgement at the least for each loss that it recovers, for three at a first one.
fn tolerance(losses: usize) -> f64 {
    50e-6 + 32e-6 * losses.max(3) as f64
}

/// Time in seconds and packets acknowledged, for each acknowledgement that leaves the receiver.
type Acks = Vec<(f64, u64)>;

/// A queue that loses the packets of a list and writes down the acknowledgements that pass.
struct Tapped {
    inner: Box<dyn Discipline<SimPacket>>,
    losses: Vec<u64>,
    seen: u64,
    acks: Arc<Mutex<Acks>>,
    mss: u64,
}

impl Discipline<SimPacket> for Tapped {
    fn enqueue(&mut self, packet: SimPacket, ctx: &mut Ctx<'_, SimPacket>) {
        let number = self.seen;
        self.seen += 1;
        if packet.segment.flags.has(Flags::ACK) && !packet.segment.occupies() && !packet.segment.flags.has(Flags::SYN) {
            self.acks.lock().unwrap().push((ctx.now.0 as f64 / 1e9, packet.segment.ack / self.mss));
        }
        if self.losses.contains(&number) {
            ctx.lost(packet, Cause::Tail);
        } else {
            self.inner.enqueue(packet, ctx);
        }
    }
    fn dequeue(&mut self, ctx: &mut Ctx<'_, SimPacket>) -> Option<SimPacket> {
        self.inner.dequeue(ctx)
    }
    fn packets(&self) -> u64 {
        self.inner.packets()
    }
    fn bytes(&self) -> u64 {
        self.inner.bytes()
    }
    fn for_each(&self, visit: &mut dyn FnMut(&SimPacket)) {
        self.inner.for_each(visit);
    }
}

struct Outcome {
    acks: Acks,
    timeouts: u64,
    retransmissions: u64,
}

fn ours(host: &Host, losses: &[u64], seed: u64) -> Outcome {
    let acks = Arc::new(Mutex::new(Vec::new()));
    let link = |name: &str, losses: &[u64]| {
        let mut given = |_| Some(Value::Size(Size::Packets(1000)));
        let inner = build("drop_tail", &mut given, &LINK).unwrap().unwrap();
        let mss = u64::from(host.mss);
        let queue = Box::new(Tapped { inner, losses: losses.to_vec(), seen: 0, acks: acks.clone(), mss });
        let delay = Span::from_millis(50);
        LinkPlan { name: name.into(), rate: LINK.rate, delay, discipline: "drop_tail".into(), queue, watched: true }
    };
    let mut sim = Sim::new(Plan {
        links: vec![link("out", losses), link("back", &[])],
        lines: vec![],
        flows: vec![FlowPlan {
            group: 0,
            source: SourcePlan::Tcp(host.clone()),
            path: vec![Hop::Link(0)],
            return_path: vec![Hop::Link(1)],
            start: Time::ZERO,
            stop: Time::NEVER,
            size: None,
        }],
        seed,
        duration: Span::from_secs(SECONDS),
        warmup: Span::ZERO,
        sample: Span::from_secs(1),
        series: false,
    });
    while sim.advance(1 << 16) {}
    let flow = &sim.finish().flows[0];
    let acks = acks.lock().unwrap().clone();
    Outcome { acks, timeouts: flow.timeouts, retransmissions: flow.retransmissions }
}

fn host(algorithm: Algorithm, window: u64) -> Host {
    let params = TcpParams { window: Some(Size::Packets(window)), ..TcpParams::defaults(&LINK).unwrap() };
    Host { algorithm, ..Host::new(&params) }
}

/// ns-2's times for the same, or none where it is not installed.
fn ns2(agent: &str, sink: &str, window: u64, losses: &[u64]) -> Option<Acks> {
    Command::new("ns").arg("/dev/null").output().ok()?;
    let list: Vec<String> = losses.iter().map(u64::to_string).collect();
    let script = format!(
        r#"
set ns [new Simulator]
set a [$ns node]
set b [$ns node]
$ns simplex-link $a $b 1Mb 50ms DropTail
$ns simplex-link $b $a 1Mb 50ms DropTail
$ns queue-limit $a $b 1000
set losses [new ErrorModel/List]
$losses droplist {{{list}}}
$ns lossmodel $losses $a $b
set tcp [new Agent/{agent}]
$tcp set window_ {window}
$tcp set packetSize_ 960
set sink [new Agent/{sink}]
$ns attach-agent $a $tcp
$ns attach-agent $b $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$ns trace-queue $b $a stdout
$ns at 0.0 "$ftp start"
$ns at {SECONDS} "exit 0"
$ns run
"#,
        list = list.join(" ")
    );
    static RUN: Mutex<u32> = Mutex::new(0);
    let number = {
        let mut run = RUN.lock().unwrap();
        *run += 1;
        *run
    };
    let path = std::env::temp_dir().join(format!("sluicegate-ns2-{}-{number}.tcl", std::process::id()));
    std::fs::write(&path, script).unwrap();
    let output = Command::new("ns").arg(&path).output().unwrap();
    std::fs::remove_file(&path).unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let acks = text.lines().filter(|line| line.starts_with("+ ") && line.contains(" ack ")).filter_map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        // The SYN is packet 0 there: an acknowledgement of packet n covers n packets of data.
        Some((words[1].parse().ok()?, words[10].parse().ok()?))
    });
    let acks: Acks = acks.skip(1).collect();
    assert!(acks.len() > 100, "ns-2 said: {text} {}", String::from_utf8_lossy(&output.stderr));
    Some(acks)
}

/// When each number of packets was first acknowledged as a whole.
fn firsts(acks: &Acks) -> Vec<(u64, f64)> {
    let mut firsts: Vec<(u64, f64)> = Vec::new();
    for &(time, ack) in acks {
        if firsts.last().is_none_or(|&(last, _)| ack > last) {
            firsts.push((ack, time));
        }
    }
    firsts
}

const SCHEMES: [(Algorithm, &str, &str); 4] = [
    (Algorithm::Tahoe, "TCP", "TCPSink"),
    (Algorithm::Reno, "TCP/Reno", "TCPSink"),
    (Algorithm::NewReno, "TCP/Newreno", "TCPSink"),
    (Algorithm::Sack, "TCP/Sack1", "TCPSink/Sack1"),
];

/// Losses in one window of 14 to 28 packets, first for 1 to 4 packets side by side and apart, then of retransmissions too.
const LOSSES: [&[u64]; 14] = [
    &[14],
    &[14, 15],
    &[14, 18],
    &[14, 15, 16],
    &[14, 17, 20],
    &[14, 15, 16, 17],
    &[14, 16, 18, 20],
    &[28, 29, 30, 31],
    &[26],
    &[14, 26],
    &[1],
    &[2, 5],
    // A second loss right after the recovery of the first, and losses all along.
    &[30, 50, 51, 52],
    &[22, 80, 81, 110, 116, 131, 145, 146, 147, 149, 185, 196],
];

/// Where two traces differ most: seconds, and what each says there. Another order of acknowledgements is far off.
fn difference(mine: &[(u64, f64)], theirs: &[(u64, f64)]) -> (f64, String) {
    let mut worst = (0.0, String::new());
    // A trace that stops early agrees with nothing: the last acknowledgement before the end may fall on either side of it.
    if mine.len().abs_diff(theirs.len()) > 1 {
        return (f64::INFINITY, format!("{} acknowledgements here, {} there", mine.len(), theirs.len()));
    }
    for (a, b) in mine.iter().zip(theirs) {
        let error = if a.0 == b.0 { (a.1 - b.1).abs() } else { f64::INFINITY };
        if error > worst.0 {
            worst = (error, format!("{a:?} here, {b:?} there"));
        }
    }
    worst
}

#[test]
fn acknowledgements_come_when_ns2_has_them() {
    let mut failed = Vec::new();
    for window in [20, 100] {
        for (algorithm, agent, sink) in SCHEMES {
            for losses in LOSSES {
                let Some(theirs) = ns2(agent, sink, window, losses) else {
                    println!("ns-2 is not installed: nothing compared");
                    return;
                };
                // The retransmission clock has a random phase there, so that a timeout can come, or not, by its luck: the
                // traces agree when ours has some phase with which they do, to the bytes of a SACK option.
                let theirs = firsts(&theirs);
                let host = host(algorithm, window);
                let against = |seed| difference(&firsts(&ours(&host, losses, seed).acks), &theirs);
                let (error, where_) = (1..=40).map(against).min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
                if error > tolerance(losses.len()) {
                    failed.push(format!("{agent}, window {window}, lost {losses:?}: {where_}"));
                }
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// A host with a window of 20 packets whose timer does not cut recoveries short.
fn patient(algorithm: Algorithm) -> Host {
    let mut host = host(algorithm, 20);
    host.rto.min = Span::from_secs(1);
    host
}

/// Timeouts and packets sent again, for 1 to 4 losses in one window of 20 packets at steady state; packets 40, 42, … of
/// the transfer. Fall & Floyd 1996 tell the same story in their Figures 2 to 5.
fn after_losses(algorithm: Algorithm, count: usize) -> (u64, u64) {
    let losses: Vec<u64> = [40, 42, 44, 46][..count].to_vec();
    let outcome = ours(&patient(algorithm), &losses, 1);
    (outcome.timeouts, outcome.retransmissions)
}

#[test]
fn one_to_four_losses_tell_the_schemes_apart() {
    for losses in 1..=4 {
        let n = losses as u64;
        let told = |algorithm| after_losses(algorithm, losses);
        // Tahoe needs no timer, but slow-starts from the first loss and sends again what had arrived beyond it.
        let (timeouts, again) = told(Algorithm::Tahoe);
        assert!(timeouts == 0 && if n == 1 { again == 1 } else { again > n }, "Tahoe, {n}: {timeouts} {again}");
        // Reno recovers one loss; the first new acknowledgement ends its recovery, so with more it waits for the timer.
        assert_eq!(told(Algorithm::Reno).0, u64::from(n > 1), "Reno, {n}");
        // NewReno and SACK need no timer, and send again exactly what was lost.
        for algorithm in [Algorithm::NewReno, Algorithm::Sack, Algorithm::Cubic] {
            assert_eq!(told(algorithm), (0, n), "{algorithm:?}, {n}");
        }
    }
}

#[test]
fn newreno_takes_a_round_trip_for_each_loss_and_sack_takes_one() {
    let recovery = |algorithm, count: usize| {
        let outcome = ours(&patient(algorithm), &[40, 42, 44, 46][..count], 1);
        let time = |packet| firsts(&outcome.acks).iter().find(|(ack, _)| *ack >= packet).unwrap().1;
        time(46) - time(39)
    };
    // The queue is empty by then: a round trip is 2 × 50 ms and a packet's 320 µs of acknowledgement.
    let growth = |algorithm, count| recovery(algorithm, count) - recovery(algorithm, 1);
    for count in 2..=4 {
        let expected = (count - 1) as f64 * 0.10032;
        assert!((growth(Algorithm::NewReno, count) - expected).abs() < 1e-3, "{count}");
        assert!(growth(Algorithm::Sack, count) < 0.10032, "{count}");
        assert!(growth(Algorithm::Cubic, count) < growth(Algorithm::Sack, count), "its window is cut to 0.7, not half");
    }
}
