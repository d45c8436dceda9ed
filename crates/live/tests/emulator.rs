//! The network that real packets cross, in virtual time.
#![cfg(target_os = "linux")]

use proptest::prelude::*;
use sluicegate_aqm::all;
use sluicegate_base::{Rate, Span, Time};
use sluicegate_lab::Scenario;
use sluicegate_lab::replay::Packet;
use sluicegate_live::driven::Traffic;
use sluicegate_live::emulator::{Emulator, Frame};
use sluicegate_live::ledger::Ledger;
use sluicegate_live::tuples::Tuples;
use sluicegate_netsim::{Hop, Plan};

const MS: u64 = 1_000_000;

fn plan(sets: &[(&str, &str)]) -> Plan<Packet> {
    let sets: Vec<(String, String)> = sets.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    let scenario = Scenario::read_network("", "test", &sets, 1500).unwrap();
    scenario.plan_for(&mut |foreign, _, _| Err(foreign.error("none here"))).unwrap()
}

/// A link and whoever sends over it.
struct Bed {
    emulator: Emulator,
    tuples: Tuples,
    out: Vec<(Time, Vec<u8>)>,
}

impl Bed {
    fn new(sets: &[(&str, &str)]) -> Bed {
        let links = plan(sets).links;
        let mut emulator = Emulator::new(links, &[], 1, Ledger::new(Span::from_millis(100), false));
        assert_eq!(emulator.add_way(&[Hop::Link(0)]), 0);
        let tuples = Tuples::new(["there".to_owned(), "back".to_owned()], 1, 100);
        Bed { emulator, tuples, out: Vec::new() }
    }

    fn advance(&mut self, now: Time) {
        let out = &mut self.out;
        self.emulator.advance(now, &mut |frame: &mut Frame, due| out.push((due, frame.data.clone())));
    }

    fn send(&mut self, data: &[u8], now: Time) {
        self.advance(now);
        let entry = self.tuples.enter(0, 101, data, now, &mut self.emulator.ledger).unwrap();
        self.emulator.enter(data, entry, now);
    }
}

/// A datagram of so many bytes in all, with this ECN field and number.
fn datagram(bytes: u16, ecn: u8, number: u16) -> Vec<u8> {
    let mut data = vec![0; usize::from(bytes)];
    data[..20].copy_from_slice(&[0x45, ecn, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    data[2..4].copy_from_slice(&bytes.to_be_bytes());
    data[4..6].copy_from_slice(&number.to_be_bytes());
    let sum = checksum(&data[..20]);
    data[10..12].copy_from_slice(&sum.to_be_bytes());
    data
}

fn checksum(header: &[u8]) -> u16 {
    let sum: u32 = header.chunks(2).map(|two| u32::from(u16::from_be_bytes([two[0], two[1]]))).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    !((sum & 0xffff) + (sum >> 16)) as u16
}

fn numbers(out: &[(Time, Vec<u8>)]) -> Vec<u16> {
    out.iter().map(|(_, data)| u16::from_be_bytes([data[4], data[5]])).collect()
}

/// 1000 bytes at 8 Mbit/s take a millisecond: each packet is due that much after the one before it, however late it is asked
/// for.
#[test]
fn departures_follow_from_the_last_one_and_not_from_the_clock() {
    let mut bed = Bed::new(&[("network.rate", "8 Mbit/s"), ("network.delay", "20 ms")]);
    for number in 0..50 {
        bed.send(&datagram(1000, 0, number), Time(number.into()));
    }
    bed.advance(Time(1000 * MS));
    let due: Vec<u64> = bed.out.iter().map(|(due, _)| due.0).collect();
    assert_eq!(due, (1..=50).map(|number| (20 + number) * MS).collect::<Vec<_>>());
    let row = &bed.emulator.outcome(Time(1000 * MS)).flows[0];
    assert_eq!((row.totals.sent, row.totals.delivered), ([50, 50_000], [50, 50_000]));
}

/// A mark of the first link and a DSCP that the second clears both reach the frame.
#[test]
fn every_queue_on_the_way_writes_on_the_frame() {
    let links = |sets: &[(&str, &str)]| plan(&[&[("network.rate", "8 Mbit/s")], sets].concat()).links;
    let mut both = links(&[("network.mark", "1")]);
    both.extend(links(&[("queue.discipline", "cake"), ("queue.wash", "true")]));
    let mut bed = Bed {
        emulator: Emulator::new(both, &[], 1, Ledger::new(Span::from_millis(100), false)),
        tuples: Tuples::new(["there".to_owned(), "back".to_owned()], 1, 100),
        out: Vec::new(),
    };
    bed.emulator.add_way(&[Hop::Link(0), Hop::Link(1)]);
    bed.send(&datagram(200, 46 << 2 | 2, 1), Time::ZERO);
    bed.advance(Time(1000 * MS));
    assert_eq!((bed.out[0].1[1], checksum(&bed.out[0].1[..20])), (3, 0));
}

/// CAKE serves voice before the rest by the DSCP of each packet, and washes it out; marks stay.
#[test]
fn a_dscp_chooses_the_tin_and_is_washed_out() {
    let cake = [("network.rate", "8 Mbit/s"), ("queue.discipline", "cake"), ("queue.wash", "true")];
    let mut bed = Bed::new(&[&cake[..], &[("queue.bandwidth", "1 Mbit/s")]].concat());
    for number in 0..6 {
        bed.send(&datagram(200, if number == 5 { 46 << 2 | 3 } else { 2 }, number), Time::ZERO);
    }
    bed.advance(Time(1000 * MS));
    assert_eq!(numbers(&bed.out), [0, 5, 1, 2, 3, 4]);
    assert_eq!(bed.out.iter().map(|(_, data)| data[1]).collect::<Vec<_>>(), [2, 3, 2, 2, 2, 2]);
    assert!(bed.out.iter().all(|(_, data)| checksum(&data[..20]) == 0));
}

#[test]
fn fates_meet_the_packets_that_they_name() {
    let fates =
        [("network.drop", "3"), ("network.late", "5:10 ms"), ("network.behind", "7:2"), ("network.mark", "9-10")];
    let mut bed = Bed::new(&[&[("network.rate", "8 Mbit/s")], &fates[..]].concat());
    for number in 1..=12 {
        let ecn = if number == 10 { 0 } else { 2 };
        bed.send(&datagram(1000, ecn, number), Time::ZERO);
    }
    bed.advance(Time(1000 * MS));
    assert_eq!(numbers(&bed.out), [1, 2, 4, 6, 8, 9, 7, 10, 11, 12, 5]);
    let ecn = |number: u16| bed.out.iter().find(|(_, data)| data[5] == number as u8).unwrap().1[1] & 3;
    assert_eq!([8, 9, 10].map(ecn), [2, 3, 0], "what is not capable stays so");
    assert!(bed.out.iter().all(|(_, data)| checksum(&data[..20]) == 0), "checksums are right, of what was marked, too");
    assert_eq!(bed.out.last().unwrap().0, Time((5 + 1 + 10) * MS));
    assert_eq!(bed.emulator.outcome(Time(1000 * MS)).links[0].lost, 1);
}

#[test]
fn a_measured_window_counts_what_arrives_in_it() {
    let mut bed = Bed::new(&[("network.rate", "8 Mbit/s"), ("queue.limit", "4")]);
    for number in 0..10 {
        bed.send(&datagram(1000, 0, number), Time::ZERO);
    }
    bed.advance(Time(2 * MS));
    bed.emulator.begin_window(Time(2 * MS));
    for number in 10..20 {
        bed.send(&datagram(1000, 0, number), Time(2 * MS));
    }
    bed.advance(Time(100 * MS));
    let outcome = bed.emulator.outcome(Time(100 * MS));
    let (link, flow) = (&outcome.links[0].counters, &outcome.flows[0]);
    // Five of the first ten were dropped before; of the second ten, two found a place.
    assert_eq!((link.arrivals, link.departures, link.dropped()), (10, 5, 8));
    assert_eq!((flow.totals.arrivals, flow.past.arrivals), (10, [10, 5]));
    assert_eq!(outcome.window, Span(98 * MS));
}

#[test]
fn the_rate_may_change_with_time() {
    let mut plan = plan(&[("network.rate", "8 Mbit/s")]);
    let steps = [(Time::ZERO, Rate(8_000_000)), (Time(10 * MS), Rate(4_000_000))].into();
    plan.links[0].wire.rates = Some(sluicegate_netsim::Rates { steps, period: None });
    let mut bed = Bed::new(&[("network.rate", "8 Mbit/s")]);
    bed.emulator = Emulator::new(plan.links, &[], 1, Ledger::new(Span::from_millis(100), false));
    bed.emulator.add_way(&[Hop::Link(0)]);
    for number in 0..20 {
        bed.send(&datagram(1000, 0, number), Time::ZERO);
    }
    bed.advance(Time(100 * MS));
    let due: Vec<u64> = bed.out.iter().map(|(due, _)| due.0 / MS - 1).collect();
    assert_eq!(due, (1..=10).chain((12..=30).step_by(2)).collect::<Vec<u64>>());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever comes, in whatever pieces of time, every packet is delivered, dropped, lost or still there; and nothing panics.
    #[test]
    fn packets_are_conserved_under_every_discipline(
        which in 0..all().len(),
        packets in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..120), 0u64..3 * MS, any::<bool>()), 1..200),
        loss in 0.0..0.5f64,
    ) {
        let (name, loss) = (all()[which].table.about.name, loss.to_string());
        let fates = [("network.drop", "5-9"), ("network.behind", "12:3,20:100"), ("network.late", "30:5 ms")];
        let sets = [("network.rate", "1 Mbit/s"), ("network.loss", loss.as_str()), ("queue.discipline", name)];
        let mut bed = Bed::new(&[&sets[..], &fates].concat());
        let mut now = Time::ZERO;
        for (number, (data, gap, real)) in packets.iter().enumerate() {
            now += Span(*gap);
            let data = if *real { datagram(60 + data.len() as u16, data.len() as u8 & 3, number as u16) } else { data.clone() };
            bed.send(&data, now);
        }
        for end in [now, now + Span::from_secs(100)] {
            bed.advance(end);
            let outcome = bed.emulator.outcome(end);
            let link = &outcome.links[0];
            let gone = bed.out.len() as u64 + link.counters.dropped() + link.lost;
            prop_assert_eq!(packets.len() as u64, gone + bed.emulator.under_way());
            let flows: u64 = outcome.flows.iter().map(|flow| flow.totals.delivered[0]).sum();
            prop_assert_eq!(flows, bed.out.len() as u64);
        }
        prop_assert!(bed.out.iter().map(|(due, _)| due).is_sorted());
    }
}
