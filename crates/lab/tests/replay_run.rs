//! The replay itself: who leaves when, what is dropped, marked and written, for every discipline.

use crate::shared::Shared;
use etherparse::{IpEcn, PacketBuilder};
use proptest::prelude::*;
use sluicegate_aqm::fifo::{Buffer, Fifo};
use sluicegate_aqm::{Ctx, Discipline, all};
use sluicegate_base::{Size, Span, Time};
use sluicegate_lab::replay::reader::{Capture, Next};
use sluicegate_lab::replay::results::Report;
use sluicegate_lab::replay::run::Replayed;
use sluicegate_lab::replay::writer::Writer;
use sluicegate_lab::replay::{Failure, Progress, Replay, ReplayScenario};
use sluicegate_lab::results::Cells;
use sluicegate_lab::{Scenario, ScenarioError};
use sluicegate_netsim::Sim;
use std::sync::{Arc, Mutex};

/// A packet of a test: time, source port, payload, whether its transport takes marks.
type Sent = (u64, u16, usize, bool);

fn packet(&(_, port, payload, capable): &Sent) -> Vec<u8> {
    let ecn = if capable { IpEcn::TWO } else { IpEcn::ZERO };
    let mut ip = etherparse::Ipv4Header::new(0, 64, etherparse::ip_number::UDP, [10, 0, 0, 1], [10, 0, 0, 2]).unwrap();
    ip.ecn = ecn;
    let mut packet = Vec::new();
    PacketBuilder::ip(etherparse::IpHeaders::Ipv4(ip, Default::default()))
        .udp(port, 53)
        .write(&mut packet, &vec![0; payload])
        .unwrap();
    packet
}

fn capture(sent: &[Sent]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    for each in sent {
        let data = packet(each);
        writer.packet(101, each.0, data.len() as u32, &data).unwrap();
    }
    writer.finish().unwrap()
}

fn sets(texts: &[(&str, &str)]) -> Vec<(String, String)> {
    texts.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// Replays, and gives what was written as (time, data).
fn replay(file: &[u8], settings: &[(&str, &str)]) -> (Report, Replayed, Vec<(u64, Vec<u8>)>) {
    let scenario = ReplayScenario::read(&sets(settings)).unwrap();
    let run = || {
        let (_, queue) =
            scenario.discipline::<ScenarioError>(&mut |f, _, _| Err(ReplayScenario::nothing_builds(f))).unwrap();
        let out = Shared::default();
        let mut run = Replay::new(file, scenario.setting(), queue, Some(out.clone())).unwrap();
        while run.advance(7).unwrap() != Progress::Done {}
        (run.finish().unwrap(), out)
    };
    let ((outcome, out), (again, twice)) = (run(), run());
    let bytes = out.0.lock().unwrap().clone();
    assert_eq!(bytes, *twice.0.lock().unwrap(), "equal replays write equal files");
    let (mut capture, mut written) = (Capture::new(&bytes[..]), Vec::new());
    while let Next::Record(record) = capture.next().unwrap() {
        written.push((record.time.unwrap(), record.data.to_vec()));
    }
    (Report::new(outcome, "any".to_owned(), scenario.setting().rate), again, written)
}

/// A column of a table, as numbers.
fn column(report: &Report, table: usize, name: &str) -> Vec<f64> {
    let tables = report.tables();
    let column = tables[table].columns.iter().find(|column| column.name == name).unwrap_or_else(|| panic!("{name}"));
    match &column.cells {
        Cells::F64(cells) => cells.clone(),
        Cells::I64(cells) => cells.iter().map(|&n| n as f64).collect(),
        Cells::Str(_) => panic!("{name} is text"),
    }
}

#[test]
fn packets_leave_at_the_links_rate_in_order() {
    // 1000 bytes at 8 Mbit/s take a millisecond. The third finds the queue of one full.
    let ms = 1_000_000;
    let start = 1_700_000_000_000_000_000;
    let sent = [0, 100_000, 200_000, 5 * ms].map(|at| (start + at, 1, 972, false));
    let (report, outcome, written) = replay(&capture(&sent), &[("rate", "8 Mbit/s"), ("queue.limit", "1")]);
    let times: Vec<u64> = written.iter().map(|(time, _)| time - start).collect();
    assert_eq!(times, [ms, 2 * ms, 6 * ms]);
    assert_eq!(outcome.totals.base, start);
    let flow = |name| column(&report, 0, name)[0];
    assert_eq!([flow("arrivals_packets"), flow("delivered_packets"), flow("drops_tail")], [4.0, 3.0, 1.0]);
    assert_eq!([flow("queueing_delay_max_ns"), flow("queueing_delay_mean_ns")], [900_000.0, 300_000.0]);
    let link = |name| column(&report, 1, name)[0];
    assert_eq!([link("duration_s"), link("utilisation")], [0.006, 0.5]);
}

#[test]
fn times_that_go_back_are_counted_and_wait_for_the_latest() {
    let sent = [(500, 1, 100, false), (900, 2, 100, false), (400, 3, 100, false), (950, 4, 100, false)];
    let (_, outcome, written) = replay(&capture(&sent), &[("rate", "1 Gbit/s")]);
    assert_eq!((outcome.totals.out_of_order.0, outcome.totals.out_of_order.1.0), (1, 500));
    let ports: Vec<u8> = written.iter().map(|(_, data)| data[21]).collect();
    assert_eq!(ports, [1, 2, 3, 4]);
}

#[test]
fn the_length_of_the_frame_counts_when_asked() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let frame = [&[0; 12], &[8, 0][..], &packet(&(0, 1, 958, false))].concat();
    writer.packet(1, 0, frame.len() as u32, &frame).unwrap();
    let file = writer.finish().unwrap();
    for (length, bytes) in [("ip", 986.0), ("frame", 1000.0)] {
        let (report, ..) = replay(&file, &[("rate", "8 Mbit/s"), ("length", length)]);
        assert_eq!(column(&report, 0, "arrivals_bytes"), [bytes]);
        assert_eq!(column(&report, 1, "duration_s"), [bytes * 1e-6]);
    }
}

#[test]
fn a_mark_is_written_and_a_loss_is_not() {
    // A burst that RED's average follows at once: w_q = 1.
    let sent: Vec<Sent> = (0..40).map(|k| (k, (k % 2) as u16, 500, k % 2 == 0)).collect();
    let settings = [
        ("rate", "1 Mbit/s"),
        ("queue.discipline", "red"),
        ("queue.w_q", "1.0"),
        ("queue.min_th", "5"),
        ("queue.max_th", "6"),
        ("queue.red.action", "mark"),
        ("queue.red.above_max_th", "mark"),
    ];
    let (report, _, written) = replay(&capture(&sent), &settings);
    let marked = written.iter().filter(|(_, data)| data[1] & 3 == 3).count();
    assert!(marked > 5, "{marked}");
    assert_eq!(column(&report, 0, "marked_packets"), [marked as f64, 0.0]);
    assert!(column(&report, 0, "drops_packets")[1] > 5.0);
    for (_, data) in &written {
        let ip = etherparse::Ipv4HeaderSlice::from_slice(data).unwrap();
        assert_eq!(ip.to_header().calc_header_checksum(), ip.header_checksum());
        assert!(data[1] & 3 != 3 || data[21] == 0, "only those that can carry it are marked");
    }
}

/// When a queue was called, in nanoseconds, and for what.
type Calls = Arc<Mutex<Vec<(u64, &'static str)>>>;

/// A queue that keeps a record of its calls, and wakes every 8 ms while it has packets.
struct Recorder<P> {
    queue: Fifo<P>,
    next: Option<Time>,
    calls: Calls,
}

fn recorder<P: sluicegate_aqm::Packet>() -> (Calls, Box<Recorder<P>>) {
    let calls = Calls::default();
    (calls.clone(), Box::new(Recorder { queue: Fifo::new(Size::Packets(1000)), next: None, calls }))
}

impl<P: sluicegate_aqm::Packet> Discipline<P> for Recorder<P> {
    fn enqueue(&mut self, packet: P, ctx: &mut Ctx<'_, P>) {
        self.calls.lock().unwrap().push((ctx.now.0, "arrival"));
        self.next = self.next.or(Some(ctx.now + Span::from_millis(8)));
        self.queue.push(packet);
    }
    fn dequeue(&mut self, ctx: &mut Ctx<'_, P>) -> Option<P> {
        self.calls.lock().unwrap().push((ctx.now.0, "departure"));
        self.queue.pop()
    }
    fn next_wakeup(&self) -> Option<Time> {
        self.next
    }
    fn wake(&mut self, ctx: &mut Ctx<'_, P>) {
        self.calls.lock().unwrap().push((ctx.now.0, "wake-up"));
        self.next = (self.queue.packets() > 0).then_some(ctx.now + Span::from_millis(8));
    }
    fn buffer(&self) -> &dyn Buffer<P> {
        &self.queue
    }
}

/// Packets of 1000 bytes every 4 ms for 100 ms at a link that takes 8 ms for each, and a queue that wakes every 8 ms: all
/// three things happen at the same times.
#[test]
fn point_7_the_replay_and_the_simulator_order_ties_alike() {
    let sent: Vec<Sent> = (0..25).map(|at| (at * 4_000_000, 9, 1000 - 28, false)).collect();
    let setting = ReplayScenario::read(&sets(&[("rate", "1 Mbit/s")])).unwrap().setting();
    let (file, (calls, queue)) = (capture(&sent), recorder());
    let mut run = Replay::new(&file[..], setting, queue, None::<Shared>).unwrap();
    while run.advance(7).unwrap() != Progress::Done {}
    let replayed = calls.lock().unwrap().clone();

    let (calls, queue) = recorder();
    let mut plan = Scenario::read(SAME_TIMES, "test.toml", &[]).unwrap().plan().unwrap();
    plan.links.iter_mut().find(|link| link.monitored).unwrap().queue = queue;
    let mut sim = Sim::new(plan);
    while sim.advance(1 << 16) {}
    let simulated = calls.lock().unwrap().clone();

    assert_eq!(replayed, simulated);
    let at = |ms: u64| replayed.iter().filter(|call| call.0 == ms * 1_000_000).map(|call| call.1).collect::<Vec<_>>();
    assert_eq!((at(0), at(4)), (vec!["arrival", "departure"], vec!["arrival"]));
    assert_eq!((at(8), at(16)), (vec!["wake-up", "departure", "arrival"], vec!["wake-up", "departure", "arrival"]));
}

const SAME_TIMES: &str = r#"
[network]
rate = "1 Mbit/s"
access_rate = "1000000 Gbit/s"
[queue]
discipline = "drop_tail"
limit = 100
[[flows]]
kind = "udp"
rate = "2 Mbit/s"
spread = "0 s"
stop = "100 ms"
[run]
duration = "1 s"
"#;

#[test]
fn what_cannot_be_used_is_refused() {
    let refused = |file: &[u8]| {
        let scenario = ReplayScenario::read(&sets(&[("rate", "1 Mbit/s")])).unwrap();
        let queue = scenario.discipline::<ScenarioError>(&mut |_, _, _| unreachable!()).unwrap().1;
        let mut run = Replay::new(file, scenario.setting(), queue, None::<Vec<u8>>).unwrap_or_else(|_| panic!());
        match run.advance(100) {
            Err(Failure::Unusable(what)) => what,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(refused(b""), "is empty: record it again");
    assert_eq!(refused(&capture(&[])), "holds no packet");
    let file = capture(&[(1, 1, 10, false)]);
    assert!(refused(&file[..file.len() - 3]).starts_with("is damaged at byte 84, before the first packet"));
    for (settings, says) in [
        (vec![], "rate: must be given"),
        (vec![("rate", "0 bit/s")], "above 0"),
        (vec![("rate", "1 Mbit/s"), ("queue.discipline", "chok")], "did you mean \"choke\"?"),
        (vec![("rate", "1 Mbit/s"), ("length", "total")], "length"),
        (vec![("rate", "1 Mbit/s"), ("flow", "3")], "did you mean \"flows\"?"),
    ] {
        let error = ReplayScenario::read(&sets(&settings)).err().expect("refused").0;
        assert!(error.contains(says), "{error:?} should say {says:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..Default::default() })]

    /// Arrivals = departures + losses + what is left, for every flow and every discipline; what leaves is written once,
    /// in the order of its times, and never faster than the link.
    #[test]
    fn packets_are_conserved(
        gaps in prop::collection::vec((0u64..2_000_000, 1u16..6, 0usize..1400, any::<bool>()), 1..200),
        discipline in prop::sample::select(all().iter().map(|entry| entry.table.about.name).collect::<Vec<_>>()),
        flows in 1u64..8, seed in 0u64..1000,
    ) {
        let mut now = 0;
        let sent: Vec<Sent> = gaps.into_iter().map(|(gap, port, payload, capable)| {
            now += gap;
            (now, port, payload, capable)
        }).collect();
        let (seed, flows) = (seed.to_string(), flows.to_string());
        let settings = [("rate", "2 Mbit/s"), ("queue.discipline", discipline), ("flows", &flows), ("seed", &seed)];
        let (report, _, written) = replay(&capture(&sent), &settings);
        let of = |name: &str| column(&report, 0, name);
        let (arrived, delivered, lost) = (of("arrivals_packets"), of("delivered_packets"), of("drops_packets"));
        let left = column(&report, 1, "left_packets")[0];
        prop_assert_eq!(left, 0.0, "{} keeps nothing back", discipline);
        for k in 0..arrived.len() {
            prop_assert_eq!(arrived[k], delivered[k] + lost[k]);
        }
        let bytes = |name: &str| of(name).iter().sum::<f64>();
        prop_assert_eq!(bytes("arrivals_bytes"), bytes("delivered_bytes") + bytes("drops_bytes"));
        prop_assert_eq!(arrived.iter().sum::<f64>(), sent.len() as f64);
        prop_assert_eq!(written.len() as f64, delivered.iter().sum::<f64>());
        for two in written.windows(2) {
            let least = two[1].1.len() as u64 * 4000; // 8 bits at 2 Mbit/s
            prop_assert!(two[1].0 - two[0].0 >= least, "{} after {}", two[1].0, two[0].0);
        }
        prop_assert!(arrived.len() as u64 <= flows.parse::<u64>().unwrap() + 1);
    }
}

/// A shaper: it lets a packet go every 10 ms, however fast the link is.
struct Shaper<P> {
    queue: Fifo<P>,
    /// When the next packet may go.
    next: Time,
    /// Until when the packets that wait are held back.
    held: Option<Time>,
    departures: Arc<Mutex<Vec<u64>>>,
}

impl<P: sluicegate_aqm::Packet> Discipline<P> for Shaper<P> {
    fn enqueue(&mut self, packet: P, _ctx: &mut Ctx<'_, P>) {
        self.queue.push(packet);
    }
    fn dequeue(&mut self, ctx: &mut Ctx<'_, P>) -> Option<P> {
        self.held = (ctx.now < self.next && self.queue.packets() > 0).then_some(self.next);
        if self.held.is_some() {
            return None;
        }
        let packet = self.queue.pop()?;
        self.next = ctx.now + Span::from_millis(10);
        self.departures.lock().unwrap().push(ctx.now.0);
        Some(packet)
    }
    fn next_wakeup(&self) -> Option<Time> {
        self.held
    }
    fn wake(&mut self, _ctx: &mut Ctx<'_, P>) {
        self.held = None;
    }
    fn buffer(&self) -> &dyn Buffer<P> {
        &self.queue
    }
}

/// A discipline may hold packets back: the link asks again when it wakes, in the replay and in the simulator. Packets that
/// come every 4 ms leave every 10 ms, the last of them long after the last has come.
#[test]
fn a_shaper_is_asked_again_when_it_wakes() {
    fn shaper<P: sluicegate_aqm::Packet>() -> (Arc<Mutex<Vec<u64>>>, Box<Shaper<P>>) {
        let departures = Arc::new(Mutex::new(Vec::new()));
        let queue = Fifo::new(Size::Packets(1000));
        (departures.clone(), Box::new(Shaper { queue, next: Time::ZERO, held: None, departures }))
    }
    let sent: Vec<Sent> = (0..25).map(|at| (at * 4_000_000, 9, 1000 - 28, false)).collect();
    let setting = ReplayScenario::read(&sets(&[("rate", "100 Mbit/s")])).unwrap().setting();
    let (file, (replayed, queue)) = (capture(&sent), shaper());
    let mut run = Replay::new(&file[..], setting, queue, None::<Shared>).unwrap();
    while run.advance(7).unwrap() != Progress::Done {}
    let expected: Vec<u64> = (0..25).map(|at| at * 10_000_000).collect();
    assert_eq!(*replayed.lock().unwrap(), expected);

    let (simulated, queue) = shaper();
    let mut plan = Scenario::read(SAME_TIMES, "test.toml", &[]).unwrap().plan().unwrap();
    plan.links.iter_mut().find(|link| link.monitored).unwrap().queue = queue;
    let mut sim = Sim::new(plan);
    while sim.advance(1 << 16) {}
    let gaps: Vec<u64> = simulated.lock().unwrap().windows(2).map(|two| two[1] - two[0]).collect();
    assert!(gaps.len() > 5 && gaps.iter().all(|gap| *gap == 10_000_000), "{gaps:?}");
}
