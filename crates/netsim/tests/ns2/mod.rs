//! One transfer here and in ns-2 over the same losses and marks, acknowledgement by acknowledgement.
//!
//! 1 Mbit/s and 50.137 ms each way, packets of 1000 bytes; the lists count every packet that reaches a link, the SYN and its
//! answer as 0.

use sluicegate_aqm::fifo::Buffer;
use sluicegate_aqm::{Ctx, Discipline, DropReason, build};
use sluicegate_base::{Link, Rate, Size, Span, Stream, Time, Value};
use sluicegate_netsim::End;
use sluicegate_netsim::{NetworkBuilder, QueuedPacket, Sim, SimPacket};
use sluicegate_tcp::{Algorithm, Host, ProfileName, Segment, TcpParams};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};

const LINK: Link = Link { rate: Rate(1_000_000), packet: 1000 };

/// Time in seconds and packets acknowledged, for each acknowledgement that leaves the receiver's link.
pub type Acks = Vec<(f64, u64)>;

/// The number of each packet of data that is sent, and whether it goes in the instant in which an acknowledgement arrives.
pub type Sends = Vec<(u64, bool)>;

/// What is to be compared.
#[derive(Clone, Debug)]
pub struct Case {
    pub algorithm: Algorithm,
    /// In packets.
    pub window: u64,
    /// Packets of data lost.
    pub losses: Vec<u64>,
    /// Packets marked, if both ends use ECN; counted among those that are not lost.
    pub marks: Option<Vec<u64>>,
    /// Acknowledgements lost.
    pub ack_losses: Vec<u64>,
    /// Whether acknowledgements wait 100 ms for a second one.
    pub delayed: bool,
    pub send_jitter: Span,
    pub min_rto: Span,
    pub seconds: u64,
}

impl Case {
    pub fn new(algorithm: Algorithm, window: u64, losses: &[u64]) -> Case {
        let losses = losses.to_vec();
        let (send_jitter, min_rto, ack_losses) = (Span::ZERO, Span::from_millis(200), Vec::new());
        Case { algorithm, window, losses, marks: None, ack_losses, delayed: false, send_jitter, min_rto, seconds: 8 }
    }

    pub fn host(&self) -> Host {
        let params = TcpParams { window: Some(Size::Packets(self.window)), ..TcpParams::of(ProfileName::Ns2) };
        let delayed_ack = if self.delayed { Span::from_millis(100) } else { Span::ZERO };
        let (algorithm, send_jitter, ecn) = (self.algorithm, self.send_jitter, self.marks.is_some());
        let mut host = Host { algorithm, delayed_ack, ecn, send_jitter, ..Host::new(&params) };
        Arc::make_mut(&mut host.rto).min = self.min_rto;
        host
    }
}

/// A queue that loses and marks the packets of its lists.
struct Tapped {
    inner: Box<dyn Discipline<QueuedPacket>>,
    losses: Vec<u64>,
    marks: Vec<u64>,
    seen: u64,
    passed: u64,
    header: u32,
}

impl Discipline<QueuedPacket> for Tapped {
    fn enqueue(&mut self, mut packet: QueuedPacket, ctx: &mut Ctx<'_, QueuedPacket>) {
        let number = self.seen;
        self.seen += 1;
        if self.losses.contains(&number) {
            return ctx.drop(packet, DropReason::Tail);
        }
        if self.marks.contains(&self.passed) {
            sluicegate_aqm::Packet::mark(&mut packet);
        }
        self.passed += 1;
        // ns-2 counts 8 bytes for each range of a SACK option and none for its head and padding.
        if packet.to == End::Sender {
            packet.bytes -= (packet.bytes - self.header) % 8;
        }
        self.inner.enqueue(packet, ctx);
    }
    fn dequeue(&mut self, ctx: &mut Ctx<'_, QueuedPacket>) -> Option<QueuedPacket> {
        self.inner.dequeue(ctx)
    }
    fn buffer(&self) -> &dyn Buffer<QueuedPacket> {
        self.inner.buffer()
    }
}

pub struct Outcome {
    pub acks: Acks,
    pub sends: Sends,
    pub timeouts: u64,
    pub retransmissions: u64,
}

/// The transfer here.
pub fn ours(case: &Case) -> Outcome {
    let host = &case.host();
    let acks = Arc::new(Mutex::new(Vec::new()));
    let (sent, heard) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
    let mut network = NetworkBuilder::new();
    // Take no time; show what passes.
    let [acknowledged, tap, ear] =
        ["acknowledged", "sent", "heard"].map(|name| network.line(name, Rate(1_000_000_000_000_000), Span::ZERO).id());
    let mut link = |name: &str, losses: &[u64], marks: &[u64]| {
        let mut given = |_| Some(Value::Size(Size::Packets(1000)));
        let inner = build("drop_tail", &mut given, &LINK).unwrap().unwrap();
        let (losses, marks) = (losses.to_vec(), marks.to_vec());
        let queue = Tapped { inner, losses, marks, seen: 0, passed: 0, header: host.header };
        network.link(name, LINK.rate, Span(50_137_000)).queue("drop_tail", Box::new(queue)).id()
    };
    let out = link("out", &case.losses, case.marks.as_deref().unwrap_or_default());
    let back = link("back", &case.ack_losses, &[]);
    network.flow(host.clone()).path([tap, out]).return_path([acknowledged, back, ear]);
    let network =
        network.duration(Span::from_secs(case.seconds)).seed(clock(case.algorithm)).sample(Span::from_secs(1));
    let mut sim = Sim::new(network.build().unwrap());
    let (noted, mss) = (acks.clone(), u64::from(host.mss));
    let note = move |time: Time, packet: &SimPacket, _: &Segment| {
        noted.lock().unwrap().push((time.0 as f64 / 1e9, packet.segment.ack / mss));
    };
    assert!(sim.observe("acknowledged", Box::new(note)));
    let noted = heard.clone();
    assert!(sim.observe("heard", Box::new(move |time, _, _| noted.lock().unwrap().push(time))));
    let noted = sent.clone();
    let note = move |time, packet: &SimPacket, _: &Segment| {
        noted.lock().unwrap().extend((packet.segment.len > 0).then_some((packet.segment.seq / mss + 1, time)));
    };
    assert!(sim.observe("sent", Box::new(note)));
    while sim.advance(1 << 16) {}
    let flow = &sim.finish().flows[0];
    let acks = acks.lock().unwrap().clone();
    let heard = heard.lock().unwrap();
    let at_once = |time: Time| {
        let before = heard.partition_point(|&heard| heard <= time);
        // The taps take a nanosecond at most.
        before > 0 && time.since(heard[before - 1]) < Span(10)
    };
    let sends = sent.lock().unwrap().iter().map(|&(packet, time)| (packet, at_once(time))).collect();
    Outcome { acks, sends, timeouts: flow.timeouts, retransmissions: flow.retransmissions }
}

/// The seed with which our clock's phase comes nearest to ns-2's: a timeout can come, or not, by that. ns-2 draws the
/// phase, in nanoseconds here, at each reset of an agent, of which [`transfer`] makes two, and for Vegas three. These are its
/// second and third number from the seed that it sets.
fn clock(algorithm: Algorithm) -> u64 {
    static SEEDS: [OnceLock<u64>; 2] = [OnceLock::new(), OnceLock::new()];
    let vegas = usize::from(algorithm == Algorithm::Vegas);
    let theirs: u64 = [8_911_492, 994_063][vegas];
    let away = |seed: &u64| Stream::new(*seed, "flow/0/clock").below(10_000_000).abs_diff(theirs);
    *SEEDS[vegas].get_or_init(|| (1..200_000).min_by_key(away).unwrap())
}

/// How many transfers one run of ns-2 makes, side by side: starting it takes as long as some of them.
const AT_ONCE: usize = 12;

/// The transfers in ns-2, or none where it is not installed.
pub fn ns2(cases: &[Case]) -> Option<Vec<(Acks, Sends)>> {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    if !INSTALLED.get_or_init(|| Command::new("ns").arg("/dev/null").output().is_ok()) {
        return None;
    }
    Some(cases.chunks(AT_ONCE).flat_map(side_by_side).collect())
}

/// Transfers that share nothing: each has nodes and links of its own, and begins with the same random numbers.
fn side_by_side(cases: &[Case]) -> Vec<(Acks, Sends)> {
    let transfers: String = cases.iter().enumerate().map(|(at, case)| transfer(at, case)).collect();
    let end = cases.iter().map(|case| case.seconds).max().expect("a case");
    let script = format!(
        r#"
fconfigure stdout -buffering full
set ns [new Simulator]
proc errors {{from to mark list}} {{
  global ns
  set errors [new ErrorModel/List]
  $errors droplist $list
  $errors set markecn_ $mark
  $ns lossmodel $errors $from $to
}}
{transfers}
$ns at {end} "exit 0"
$ns run
"#
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
    let mut found = vec![(Acks::new(), Sends::new()); cases.len()];
    let mut heard = vec![""; cases.len()];
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let (time, node): (f64, usize) = (words[1].parse().unwrap(), words[2].parse().unwrap());
        // The nodes of the first are 0 and 1.
        let at = node / 2;
        if time > cases[at].seconds as f64 {
            continue;
        }
        let (acks, sends) = &mut found[at];
        let opening = opening(cases[at].algorithm);
        match (words[0], words[4], words[10].parse::<i64>()) {
            // An acknowledgement there names the last packet that it covers; the SYN is packet 0.
            ("+", "ack", Ok(last)) if last + 1 >= opening => acks.push((time, (last + 1 - opening) as u64)),
            ("r", "ack", _) => heard[at] = words[1],
            ("+", "tcp", Ok(packet)) if packet >= opening => {
                sends.push(((packet + 1 - opening) as u64, words[1] == heard[at]));
            }
            _ => {}
        }
    }
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(found.iter().all(|(acks, _)| !acks.is_empty()), "ns-2 said: {said}");
    found
}

/// The number of the first packet of data in ns-2. Vegas has an output of its own, which opens with data.
fn opening(algorithm: Algorithm) -> i64 {
    i64::from(algorithm != Algorithm::Vegas)
}

/// The lines that make a transfer, the one with this number.
fn transfer(at: usize, case: &Case) -> String {
    let list = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
    let (agent, sack) = match case.algorithm {
        Algorithm::Tahoe => ("TCP", ""),
        Algorithm::Reno => ("TCP/Reno", ""),
        Algorithm::NewReno => ("TCP/Newreno", ""),
        Algorithm::Vegas => ("TCP/Vegas", ""),
        _ => ("TCP/Sack1", "/Sack1"),
    };
    // Vegas's output adds no header to the packet.
    let vegas = case.algorithm == Algorithm::Vegas;
    let bytes = if vegas { 1000 } else { 960 };
    format!(
        r#"
set a [$ns node]
set b [$ns node]
$ns simplex-link $a $b 1Mb 50.137ms DropTail
$ns simplex-link $b $a 1Mb 50.137ms DropTail
$ns queue-limit $a $b 1000
$ns queue-limit $b $a 1000
errors $a $b 1 {{{marks}}}
errors $a $b 0 {{{losses}}}
errors $b $a 0 {{{ack_losses}}}
set tcp [new Agent/{agent}]
$tcp set window_ {window}
$tcp set packetSize_ {bytes}
$tcp set ecn_ {ecn}
$tcp set overhead_ {send_jitter}
$tcp set minrto_ {min_rto}
set sink [new Agent/TCPSink{sack}{delayed}]
$ns attach-agent $a $tcp
$ns attach-agent $b $sink
$ns connect $tcp $sink
set ftp{at} [new Application/FTP]
$ftp{at} attach-agent $tcp
$ns trace-queue $b $a stdout
$ns trace-queue $a $b stdout
$ns at 0.0 "$defaultRNG seed 7; {resets} $ftp{at} start"
"#,
        marks = list(case.marks.as_deref().unwrap_or_default()),
        losses = list(&case.losses),
        ack_losses = list(&case.ack_losses),
        window = case.window,
        ecn = case.marks.is_some(),
        send_jitter = case.send_jitter.as_secs(),
        min_rto = case.min_rto.as_secs(),
        delayed = if case.delayed { "/DelAck" } else { "" },
        resets = "$tcp reset; ".repeat(if vegas { 3 } else { 2 }),
    )
}

/// The first acknowledgement that is not the same in both, or that comes more than `tolerance` seconds later or earlier.
pub fn difference(mine: &Acks, theirs: &Acks, tolerance: f64) -> Option<String> {
    // An acknowledgement just before the end may fall on either side of it.
    let both = mine.len().min(theirs.len());
    let at = (0..both).find(|&at| mine[at].1 != theirs[at].1 || (mine[at].0 - theirs[at].0).abs() > tolerance);
    let at = at.or((mine.len().abs_diff(theirs.len()) > 1).then_some(both))?;
    let around = |acks: &Acks| acks[at.saturating_sub(2).min(acks.len())..(at + 4).min(acks.len())].to_vec();
    Some(format!("acknowledgement {at}: {:?} here, {:?} there", around(mine), around(theirs)))
}
