//! Ends of one's own: what they send arrives when it should, as they sent it, and is counted as any flow's.

use sluicegate_base::{Ecn, Rate, Span, Stream, Time};
use sluicegate_netsim::source::{EcnField, UdpParams};
use sluicegate_netsim::{Datagram, Endpoint, EndpointPair, HopId, NetworkBuilder, Outcome, Sim};
use sluicegate_tcp::{Host, ProfileName, TcpParams};
use std::sync::{Arc, Mutex};

const MS: u64 = 1_000_000;
const DELAY: Span = Span::from_millis(5);

/// What the ends of a test have noted: who, when, what.
type Notes = Arc<Mutex<Vec<(&'static str, u64, Vec<u8>, Ecn)>>>;

/// Sends `burst` datagrams of so many bytes every `gap`, numbered in the payload.
struct Ticker {
    notes: Notes,
    bytes: u32,
    ecn: Ecn,
    burst: u32,
    gap: Span,
    sent: u32,
    due: u32,
    next: Time,
    rng: Stream,
}

impl Endpoint for Ticker {
    fn receive(&mut self, datagram: Datagram, now: Time) {
        self.notes.lock().unwrap().push(("answer", now.0, datagram.payload, datagram.ecn));
    }

    fn poll_transmit(&mut self, _now: Time) -> Option<Datagram> {
        self.due = self.due.checked_sub(1)?;
        self.sent += 1;
        Some(Datagram { bytes: self.bytes, ecn: self.ecn, payload: self.sent.to_be_bytes().to_vec() })
    }

    fn deadline(&mut self) -> Option<Time> {
        Some(self.next)
    }

    fn wake(&mut self, now: Time) {
        self.due = self.burst;
        self.next = now + self.gap + Span(self.rng.below(2));
        self.notes.lock().unwrap().push(("wake", now.0, Vec::new(), Ecn::NotCapable));
    }
}

/// Sends back what it gets, in 100 bytes.
struct Echo {
    notes: Notes,
    back: Option<Datagram>,
}

impl Endpoint for Echo {
    fn receive(&mut self, datagram: Datagram, now: Time) {
        let Datagram { payload, ecn, .. } = datagram;
        self.notes.lock().unwrap().push(("echo", now.0, payload.clone(), ecn));
        self.back = Some(Datagram { bytes: 100, ecn: Ecn::NotCapable, payload });
    }

    fn poll_transmit(&mut self, _now: Time) -> Option<Datagram> {
        self.back.take()
    }

    fn deadline(&mut self) -> Option<Time> {
        None
    }

    fn wake(&mut self, _now: Time) {}
}

/// A pair of the two; datagrams of 1000 bytes that may be marked.
fn pair(notes: &Notes, burst: u32, gap: Span) -> EndpointPair {
    let notes = notes.clone();
    EndpointPair::new("ticker", move |[rng, _]| {
        let (bytes, ecn, next) = (1000, Ecn::Capable0, Time::NEVER);
        let sender = Ticker { notes: notes.clone(), bytes, ecn, burst, gap, sent: 0, due: 0, next, rng };
        (sender, Echo { notes: notes.clone(), back: None })
    })
}

/// A link of this rate and 5 ms, and a line back of 10 Mbit/s and 5 ms.
fn network(rate: u64, discipline: &str) -> (NetworkBuilder, HopId, HopId) {
    let mut network = NetworkBuilder::new();
    let link = network.link("out", Rate(rate), DELAY).discipline(discipline, &[]).id();
    let back = network.line("back", Rate(10_000_000), DELAY).id();
    (network, link, back)
}

/// Runs to the end in steps of about so many nanoseconds and events.
fn finished(network: NetworkBuilder, step: u64) -> Outcome {
    let mut sim = Sim::new(network.series(true).packets(400).build().unwrap());
    let mut until = Time(step);
    while sim.advance_until(until, 50 + step % 1000) || sim.now() < sim.end() {
        if sim.now() >= until {
            until = Time(until.0 + step);
        }
    }
    sim.finish()
}

#[test]
fn datagrams_arrive_as_they_were_sent_and_when_they_should() {
    let notes = Notes::default();
    let (mut network, link, back) = network(8_000_000, "drop_tail");
    network.flow(pair(&notes, 2, Span::from_secs(9))).path([link]).return_path([back]).start(Span(7));
    let outcome = finished(network.duration(Span::from_secs(1)), 400 * MS);
    // 1000 bytes take 1 ms and 100 bytes 80 µs on the way back; both ways have 5 ms.
    let number = |n: u32| n.to_be_bytes().to_vec();
    let expected = [
        ("wake", 7, Vec::new(), Ecn::NotCapable),
        ("echo", 7 + 6 * MS, number(1), Ecn::Capable0),
        ("echo", 7 + 7 * MS, number(2), Ecn::Capable0),
        ("answer", 7 + 11 * MS + 80_000, number(1), Ecn::NotCapable),
        ("answer", 7 + 12 * MS + 80_000, number(2), Ecn::NotCapable),
    ];
    assert_eq!(*notes.lock().unwrap(), expected);
    let flow = &outcome.flows[0];
    assert_eq!((flow.kind, flow.totals.sent, flow.totals.delivered), ("ticker", [2, 2000], [2, 2000]));
    assert_eq!((flow.base_rtt, flow.totals.delay_sum), (Some(DELAY + DELAY), 13 * MS));
    assert_eq!(flow.received, Some(2000 - 56), "without the headers of IP and UDP");
}

/// A bottleneck that the pair shares with a transfer, users of the clock and a second pair, all with one line back.
fn crowd(notes: &Notes, seed: u64) -> NetworkBuilder {
    let (mut network, link, back) = network(4_000_000, "red");
    let host = Host::new(&TcpParams::of(ProfileName::Linux));
    let rate = Rate(400_000);
    let udp = UdpParams { ecn: EcnField::default(), rate, packet_size: sluicegate_base::Size::Bytes(500), jitter: 0.5 };
    network.flow(pair(notes, 3, Span::from_millis(10))).path([link]).return_path([back]);
    network.flow(host).path([link]).return_path([back]).start(Span::from_millis(100));
    network.flow(udp).path([link]);
    network.flow(pair(notes, 1, Span::from_millis(3))).path([link]).return_path([back]).stop(Span::from_secs(2));
    network.duration(Span::from_secs(4)).warmup(Span::from_secs(1)).seed(seed)
}

#[test]
fn a_pair_shares_a_bottleneck_and_loses_and_is_marked_as_others() {
    let notes = Notes::default();
    let outcome = finished(crowd(&notes, 1), 10_000 * MS);
    let [pair, tcp, _, stopped] = &*outcome.flows else { panic!("four flows") };
    assert!(pair.totals.drops.iter().sum::<u64>() > 10, "RED drops of it: {:?}", pair.totals.drops);
    assert!(tcp.totals.delivered[1] > 100_000, "TCP goes on beside it");
    // Three kilobytes every 10 ms and a nanosecond or two, and no more: what is not delivered was dropped or is under way.
    let (sent, delivered) = (pair.totals.sent[0], pair.totals.delivered[0]);
    assert!((899..=900).contains(&sent), "{sent}");
    assert!(pair.totals.arrivals == sent && delivered < sent);
    assert!((333..=334).contains(&stopped.totals.sent[0]), "it stops: {:?}", stopped.totals.sent);
    let notes = notes.lock().unwrap();
    assert!(notes.iter().any(|(who, _, _, ecn)| *who == "echo" && *ecn == Ecn::Capable0));
}

#[test]
fn a_run_is_the_same_wherever_it_stops_and_another_for_another_seed() {
    let run = |seed, step| {
        let notes = Notes::default();
        let outcome = finished(crowd(&notes, seed), step);
        let notes = notes.lock().unwrap().clone();
        (format!("{outcome:?}"), notes)
    };
    let whole = run(1, 10_000 * MS);
    assert_eq!(whole, run(1, 10_000 * MS));
    assert_eq!(whole, run(1, 7 * MS + 1), "driven in steps");
    assert_ne!(whole, run(2, 10_000 * MS));
}

#[test]
fn marks_reach_the_other_end() {
    let notes = Notes::default();
    let mut network = NetworkBuilder::new();
    // 100 packets at once into a queue that marks from the first one that waits for 1 ms on.
    let parameters: &[(&str, &dyn std::fmt::Display)] = &[("ce_threshold", &"1 ms")];
    let link = network.link("out", Rate(8_000_000), DELAY).discipline("codel", parameters).id();
    let back = network.line("back", Rate(10_000_000), DELAY).id();
    network.flow(pair(&notes, 20, Span::from_secs(9))).path([link]).return_path([back]);
    let outcome = finished(network.duration(Span::from_secs(1)), 1000 * MS);
    let notes = notes.lock().unwrap();
    let marked = notes.iter().filter(|(who, _, _, ecn)| *who == "echo" && *ecn == Ecn::CongestionExperienced).count();
    assert_eq!((marked as u64, marked > 10), (outcome.flows[0].totals.marked, true));
}

/// An end that never stops at one time: sends without end, or is due again at once.
struct Endless(bool, u64);

impl Endpoint for Endless {
    fn receive(&mut self, _datagram: Datagram, _now: Time) {}

    fn poll_transmit(&mut self, _now: Time) -> Option<Datagram> {
        self.0.then(|| Datagram { bytes: 100, ..Datagram::default() })
    }

    fn deadline(&mut self) -> Option<Time> {
        Some(Time(5))
    }

    fn wake(&mut self, now: Time) {
        assert_eq!(now.0, self.1, "a deadline that is past is the next nanosecond");
        self.1 = if self.1 == 0 { 5 } else { self.1 + 1 };
    }
}

#[test]
fn an_end_without_end_can_be_stopped() {
    for sends in [true, false] {
        let (mut network, link, back) = network(8_000_000, "drop_tail");
        let pair = EndpointPair::new("endless", move |_| (Endless(sends, 0), Endless(false, 0)));
        network.flow(pair).path([link]).return_path([back]);
        let mut sim = Sim::new(network.duration(Span::from_secs(1)).build().unwrap());
        for _ in 0..20 {
            assert!(sim.advance(10_000));
        }
        assert_eq!(sim.now() == Time::ZERO, sends, "{}", sim.now());
    }
}

#[test]
fn a_pair_needs_a_way_back() {
    let (mut network, link, _) = network(8_000_000, "drop_tail");
    network.flow(pair(&Notes::default(), 1, DELAY)).path([link]);
    let error = network.duration(Span::from_secs(1)).build().err().unwrap();
    assert_eq!(
        error.to_string(),
        "flow 0 (ticker): its receiver's datagrams have no return path: say return_path([…])"
    );
}
