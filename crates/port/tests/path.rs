//! A path of links and delays: a trace by hand, and what holds whatever comes.

use proptest::prelude::*;
use sluicegate_aqm::drop_tail::{DropTail, DropTailParams};
use sluicegate_aqm::harness::TestPacket;
use sluicegate_aqm::{Discipline, DropReason, FlowKey, Packet, all, build};
use sluicegate_base::{ETHERNET, Ecn, Link, Rate, Size, Span, Time, Value};
use sluicegate_port::{
    Cells, Event, Fates, Framing, LinkConfig, Loss, Path, PortConfig, Rates, Reason, Transit, What, WirePlan,
};

const MS: u64 = 1_000_000;

fn datagram(serial: u64) -> TestPacket {
    TestPacket { serial, bytes: 1000, flow: 1, ecn: Ecn::Capable0, ..TestPacket::default() }
}

fn queue(name: &str, limit: u64, rate: Rate) -> Box<dyn Discipline<Transit<TestPacket>>> {
    let entry = all().iter().find(|entry| entry.table.about.name == name).expect("a known name");
    let mut given = |at: usize| (entry.table.fields[at].name == "limit").then_some(Value::Size(Size::Packets(limit)));
    build(name, &mut given, &Link { rate, packet: ETHERNET }).expect("a known name").expect("good values")
}

fn link(rate: u64, delay: u64, limit: u64) -> LinkConfig<TestPacket> {
    LinkConfig {
        port: PortConfig::new(Rate(rate)),
        queue: queue("drop_tail", limit, Rate(rate)),
        delay: Span::from_millis(delay),
        wire: WirePlan::default(),
    }
}

fn fates(all: &[(&str, &str)]) -> Fates {
    let mut fates = Fates::default();
    all.iter().for_each(|(key, value)| fates.add(key, value).unwrap());
    fates
}

/// Numbers, times and ends, in the order in which they are told.
fn ended(path: &mut Path<TestPacket>, until: Time) -> Vec<(u64, u64, What)> {
    path.advance(until).map(|event| (event.packet.serial, event.time.0, event.what)).collect()
}

/// 1000 bytes take 1 ms at 8 Mbit/s and 2 ms at 4 Mbit/s. Five packets at once: one is in transmission, two wait, two are
/// dropped. The second link is slower, and holds what the first has sent.
#[test]
fn a_trace_by_hand() {
    let mut path = Path::new(1).link(link(8_000_000, 10, 2)).unwrap().link(link(4_000_000, 5, 100)).unwrap();
    (1..=5).for_each(|number| path.send(datagram(number), Time::ZERO));
    assert_eq!(path.next_deadline(), Some(Time::ZERO), "drops have not been told");
    let tail = What::Dropped { hop: 0, reason: Reason::Queue(DropReason::Tail) };
    assert_eq!(ended(&mut path, Time::ZERO), [(4, 0, tail), (5, 0, tail)]);
    assert_eq!((path.inside(), path.next_deadline()), (3, Some(Time(MS))));
    // Departures at 1, 2 and 3 ms; arrivals 10 ms later; departures there at 13, 15 and 17 ms.
    let ends = ended(&mut path, Time(21 * MS));
    assert_eq!(ends, [(1, 18 * MS, What::Delivered), (2, 20 * MS, What::Delivered)]);
    assert_eq!(path.next_deadline(), Some(Time(22 * MS)));
    assert_eq!(ended(&mut path, Time(22 * MS)), [(3, 22 * MS, What::Delivered)]);
    assert_eq!((path.inside(), path.next_deadline()), (0, None));
    let counted: Vec<[u64; 2]> =
        path.links().map(|link| [link.port.counters.arrivals, link.port.counters.departures]).collect();
    assert_eq!(counted, [[5, 3], [3, 3]]);
}

/// 8 Mbit/s, nothing from 2 ms to 4 ms, and so on every 10 ms.
#[test]
fn a_trace_of_rates_by_hand() {
    let steps = [(Time::ZERO, Rate(8_000_000)), (Time(2 * MS), Rate(0)), (Time(4 * MS), Rate(8_000_000))].into();
    let mut config = link(1, 0, 100);
    config.wire.rates = Some(Rates { steps, period: Some(Span::from_millis(10)) });
    let mut path = Path::new(1).link(config).unwrap();
    (1..=10).for_each(|number| path.send(datagram(number), Time::ZERO));
    let times: Vec<u64> = ended(&mut path, Time(100 * MS)).iter().map(|(_, time, _)| time / MS).collect();
    assert_eq!(times, [1, 2, 5, 6, 7, 8, 9, 10, 11, 12]);
}

#[test]
fn single_packets_meet_their_fate() {
    let fates = fates(&[("drop", "3"), ("mark", "4-5"), ("late", "6:10 ms"), ("behind", "7:2")]);
    let wire = WirePlan { fates, ..WirePlan::default() };
    let mut path = Path::new(1).delay(Span::from_millis(5), &wire).unwrap();
    for number in 1..=9 {
        let ecn = if number == 5 { Ecn::NotCapable } else { Ecn::Capable0 };
        path.send(TestPacket { ecn, ..datagram(number) }, Time(number * MS));
    }
    let events: Vec<Event<TestPacket>> = path.advance(Time(100 * MS)).collect();
    let seen: Vec<(u64, u64)> = events.iter().map(|event| (event.packet.serial, event.time.0 / MS)).collect();
    assert_eq!(seen, [(3, 3), (1, 6), (2, 7), (4, 9), (5, 10), (8, 13), (9, 14), (7, 14), (6, 21)]);
    let gone = events.iter().filter(|event| event.what != What::Delivered).map(|event| event.what);
    assert_eq!(gone.collect::<Vec<What>>(), [What::Dropped { hop: 0, reason: Reason::Wire }]);
    let marked = events.iter().filter(|event| event.marked).map(|event| (event.packet.serial, event.packet.ecn));
    assert_eq!(marked.collect::<Vec<_>>(), [(4, Ecn::CongestionExperienced)], "what is not capable stays so");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let wire = |loss: f64| WirePlan { loss: Some(Loss { good: loss, ..Loss::default() }), ..WirePlan::default() };
    for loss in [-0.1, 1.1, f64::NAN] {
        assert!(Path::<TestPacket>::new(1).delay(Span::ZERO, &wire(loss)).is_err());
    }
    let rates = Some(Rates { steps: [].into(), period: None });
    let mut config = link(8_000_000, 0, 1);
    config.wire.rates = rates.clone();
    assert!(Path::new(1).link(config).is_err());
    let steps = [(Time::ZERO, Rate(1))].into();
    let wire = WirePlan { rates: Some(Rates { steps, period: None }), ..WirePlan::default() };
    assert!(Path::<TestPacket>::new(1).delay(Span::ZERO, &wire).is_err(), "a delay has no rate");
}

#[test]
fn a_path_of_nothing_delivers_at_once_and_time_never_runs_backwards() {
    let mut path = Path::new(1);
    path.send(datagram(1), Time(5));
    assert_eq!(ended(&mut path, Time(3)), [(1, 5, What::Delivered)]);
    path.send(datagram(2), Time(1));
    assert_eq!(ended(&mut path, Time(u64::MAX)), [(2, 5, What::Delivered)]);
}

/// A link or a delay of a random path.
#[derive(Clone, Debug)]
struct Part {
    is_link: bool,
    which: usize,
    rate: u64,
    delay: u64,
    jitter: u64,
    reordering: bool,
    loss: [f64; 4],
    limit: u64,
    steps: Vec<(u64, u64)>,
    cells: bool,
}

fn part() -> impl Strategy<Value = Part> {
    let rate = prop_oneof![1_000u64..100_000_000, Just(0), Just(1), Just(u64::MAX)];
    let span = prop_oneof![4 => 0..30 * MS, 1 => Just(0)];
    let steps = prop::collection::vec((1u64..20 * MS, 0u64..20_000_000), 0..4);
    let wire = (span.clone(), span, any::<bool>(), prop::array::uniform4(0.0..=1.0f64));
    (any::<bool>(), 0..all().len(), rate, wire, 1u64..60, steps, any::<bool>()).prop_map(
        |(is_link, which, rate, (delay, jitter, reordering, loss), limit, steps, cells)| {
            let loss = loss.map(|p| p * p * p);
            Part { is_link, which, rate, delay, jitter, reordering, loss, limit, steps, cells }
        },
    )
}

fn lay(parts: &[Part], fates: &Fates, seed: u64) -> Path<TestPacket> {
    parts.iter().fold(Path::new(seed), |path, part| {
        let [good, bad, to_bad, to_good] = part.loss;
        let wire = WirePlan {
            loss: Some(Loss { good, bad, to_bad, to_good }),
            jitter: Span(part.jitter),
            reordering: part.reordering,
            rates: None,
            fates: fates.clone(),
        };
        if !part.is_link {
            return path.delay(Span(part.delay), &wire).unwrap();
        }
        let mut steps: Vec<(Time, Rate)> = vec![(Time::ZERO, Rate(part.rate))];
        for (gap, rate) in &part.steps {
            steps.push((steps[steps.len() - 1].0 + Span(*gap), Rate(*rate)));
        }
        let rates = (!part.steps.is_empty()).then(|| Rates { steps: steps.into(), period: None });
        // Parameters that are derived need a rate.
        let rate = Rate(part.rate.clamp(1_000, 100_000_000));
        let cells = if part.cells { Cells::Atm } else { Cells::None };
        let framing = Framing { bytes: 20, least: 64, cells };
        let config = LinkConfig {
            port: PortConfig {
                framing,
                tx_ring: part.cells.then_some(Size::Packets(3)),
                ..PortConfig::new(Rate(part.rate))
            },
            queue: queue(all()[part.which].table.about.name, part.limit, rate),
            delay: Span(part.delay),
            wire: WirePlan { rates, ..wire },
        };
        path.link(config).unwrap()
    })
}

/// Sends these packets, each so long after the one before; all events, and the packets that are left at the end.
fn run(mut path: Path<TestPacket>, packets: &[(u64, u64, u64, u8)], often: bool) -> (Vec<Event<TestPacket>>, u64) {
    let (mut now, mut events) = (Time::ZERO, Vec::new());
    for (number, (gap, bytes, flow, ecn)) in packets.iter().enumerate() {
        let next = now + Span(*gap);
        while let Some(deadline) = path.next_deadline().filter(|deadline| often && *deadline <= next) {
            assert!(deadline >= now, "deadlines do not run backwards");
            now = deadline;
            events.extend(path.advance(now));
            assert!(path.next_deadline().is_none_or(|next| next > now), "what is due has been done");
        }
        now = next;
        let ecn = [Ecn::NotCapable, Ecn::Capable0, Ecn::Capable1, Ecn::CongestionExperienced][usize::from(ecn % 4)];
        path.send(TestPacket { bytes: *bytes, flow: *flow, ecn, ..datagram(number as u64) }, now);
    }
    events.extend(path.advance(now + Span::from_secs(5)));
    (events, path.inside())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Whatever the path and whatever is sent: packets are conserved, each ends once, in the order of time, and neither how often
    /// it is asked nor anything but its seed decides what happens.
    #[test]
    fn packets_are_conserved_and_runs_are_repeated(
        parts in prop::collection::vec(part(), 0..4),
        packets in prop::collection::vec((0..5 * MS, prop_oneof![9 => 40u64..1500, 1 => any::<u64>()], 0u64..4, any::<u8>()), 1..120),
        seed in any::<u64>(),
    ) {
        let fates = fates(&[("drop", "5-9"), ("behind", "12:3,20:100"), ("late", "30:5 ms"), ("mark", "1-40")]);
        let (events, inside) = run(lay(&parts, &fates, seed), &packets, true);
        prop_assert_eq!(events.len() as u64 + inside, packets.len() as u64);
        prop_assert!(events.iter().map(|event| event.time).is_sorted());
        let mut numbers: Vec<u64> = events.iter().map(|event| event.packet.serial).collect();
        numbers.sort_unstable();
        numbers.dedup();
        prop_assert_eq!(numbers.len(), events.len());
        prop_assert_eq!(&(events, inside), &run(lay(&parts, &fates, seed), &packets, false));
    }
}

/// A packet with nothing but what the trait demands.
#[derive(Debug)]
struct Number(u64);

impl Packet for Number {
    fn flow(&self) -> FlowKey {
        FlowKey(0)
    }
    fn bytes(&self) -> u64 {
        1000
    }
}

/// The trait is all that a path asks for.
#[test]
fn anything_that_is_a_packet_is_carried() {
    let queue = Box::new(DropTail::new(DropTailParams { limit: Size::Packets(1) }));
    let (delay, wire) = (Span(7), WirePlan::default());
    let mut path =
        Path::new(1).link(LinkConfig { port: PortConfig::new(Rate(8_000_000)), queue, delay, wire }).unwrap();
    path.send(Number(3), Time(1));
    let event = path.advance(Time(MS + 8)).next().unwrap();
    assert_eq!((event.packet.0, event.time, event.marked), (3, Time(MS + 8), false));
}
