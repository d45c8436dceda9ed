//! The kernel's rules by hand, with packets of 1514 bytes: two are a quantum, ten an initial quantum.

use super::*;
use crate::harness::{Harness, TestPacket};
use alloc::vec;
use alloc::vec::Vec;
use sluicegate_base::{Ecn, Link, Params};

type Gate = Harness<FqLinux<TestPacket>>;

fn params() -> FqLinuxParams {
    FqLinuxParams::defaults(&Link { rate: Rate(1_000_000), packet: 1000 }).unwrap()
}

/// A maxrate of 1 MB/s, so that no packet takes the fast path; a quantum takes 3028 µs.
fn paced() -> FqLinuxParams {
    FqLinuxParams { maxrate: Some(Rate(8_000_000)), ..params() }
}

fn harness(params: FqLinuxParams) -> Gate {
    Harness::new(FqLinux::new(params), 1)
}

fn arrive(harness: &mut Gate, flows: &[u64]) {
    flows.iter().for_each(|flow| harness.arrive(*flow, 1514));
}

fn arrive_as(harness: &mut Gate, flow: u64, class: u8, n: usize) {
    (0..n).for_each(|_| harness.submit(TestPacket { flow, class, bytes: 1514, ..TestPacket::default() }));
}

fn departures(harness: &mut Gate, n: usize) -> Vec<u64> {
    (0..n).map_while(|_| harness.depart().map(|packet| packet.flow)).collect()
}

fn configure(harness: &mut Gate, params: FqLinuxParams) {
    harness.discipline.configure(params, &mut Ctx::new(harness.now, &mut harness.rng, &mut harness.dropped));
}

fn micros(us: u64) -> Option<Time> {
    Some(Time(us * 1000))
}

#[test]
fn defaults_are_linuxs() {
    let quanta = |packet| {
        let params = FqLinuxParams::defaults(&Link { rate: Rate(1), packet }).unwrap();
        (params.quantum.amount(), params.initial_quantum.amount())
    };
    assert_eq!([1000, 9000, 1 << 40].map(quanta), [(3028, 15_140), (18_000, 90_000), (1 << 20, 1 << 20)]);
}

/// While no flow has packets, up to eight wait in the order of arrival; then each has a queue.
#[test]
fn a_short_queue_is_first_in_first_out() {
    let mut harness = harness(params());
    arrive(&mut harness, &[1, 1, 1, 1, 2, 1, 1, 1]);
    assert_eq!(harness.state("flows"), Some(0.0));
    (0..12).for_each(|_| arrive(&mut harness, &[1]));
    arrive(&mut harness, &[2, 2]);
    assert_eq!(harness.state("flows"), Some(2.0));
    assert_eq!(departures(&mut harness, 8), [1, 1, 1, 1, 2, 1, 1, 1]);
    // A packet is still queued for flows: the next ones do not overtake. Flow 1 has ten before flow 2, then two in a round.
    arrive(&mut harness, &[2]);
    let expected: Vec<u64> = [&[1; 10][..], &[2, 2, 2], &[1, 1]].concat();
    assert_eq!(departures(&mut harness, 20), expected);
    arrive(&mut harness, &[9]);
    assert_eq!(harness.state("flows"), Some(2.0), "the fast path again");
    harness.assert_conserved();
}

/// initial_quantum, then a quantum in each round; new flows first.
#[test]
fn flows_take_turns() {
    let mut harness = harness(FqLinuxParams { initial_quantum: Size::Bytes(3028), ..params() });
    arrive(&mut harness, &[0; 8]);
    arrive(&mut harness, &[1, 1, 1, 1, 1, 2, 2, 2, 2]);
    departures(&mut harness, 8);
    assert_eq!(departures(&mut harness, 5), [1, 1, 2, 2, 1]);
    // Flow 3 is new: before what flow 1 has left of its turn.
    arrive(&mut harness, &[3]);
    assert_eq!(departures(&mut harness, 9), [3, 1, 2, 2, 1]);
    harness.assert_conserved();
}

/// A flow that was served is in a list until its turn comes up without packets: two other flows see to that.
fn detach_all_but_two(harness: &mut Gate) {
    for flow in [98, 99, 98] {
        arrive(harness, &[flow]);
        assert_eq!(departures(harness, 1), [flow]);
    }
}

/// A flow that has been away keeps what it had left, and has a quantum after refill_delay.
#[test]
fn credit_is_refilled_after_a_while() {
    for (away, expected) in [(40_000, [1, 4, 1, 1]), (40_001, [1, 1, 4, 1])] {
        // No flow has to wait at this rate.
        let mut harness = harness(FqLinuxParams { maxrate: Some(Rate(u64::MAX)), ..params() });
        // 15,140 − 9·1514 − 1000 = 514 bytes are left.
        arrive(&mut harness, &[1; 9]);
        harness.arrive(1, 1000);
        departures(&mut harness, 10);
        detach_all_but_two(&mut harness);
        harness.wait(Span(away * 1000));
        arrive(&mut harness, &[1, 1, 1, 4]);
        assert_eq!(departures(&mut harness, 4), expected, "{away} µs");
    }
}

/// After ten packets, and then after every two, a flow waits for 3028 µs.
#[test]
fn a_flow_is_paced_by_its_quantum() {
    let mut harness = harness(paced());
    arrive(&mut harness, &[1; 20]);
    assert_eq!((departures(&mut harness, 20).len(), harness.discipline.next_wakeup()), (10, micros(3028)));
    assert_eq!((harness.state("throttled_flows"), harness.discipline.buffer().packets()), (Some(1.0), 10));
    harness.wait(Span(3_027_999));
    assert_eq!(harness.depart(), None);
    harness.wait(Span(1));
    assert_eq!(harness.discipline.next_wakeup(), None, "it may send");
    assert_eq!((departures(&mut harness, 20).len(), harness.discipline.next_wakeup()), (2, micros(6056)));
    // 1 ms late: the next turn is so much earlier. Then 10 ms late: no more than half of the time is caught up.
    harness.wait(Span::from_millis(4));
    assert_eq!((departures(&mut harness, 20).len(), harness.now), (2, Time(7_028_000)));
    assert_eq!(harness.discipline.next_wakeup(), micros(7028 + 3028 - 972));
    harness.wait(Span::from_millis(12));
    assert_eq!(departures(&mut harness, 20).len(), 2);
    assert_eq!(harness.discipline.next_wakeup(), micros(19_028 + 1514));
    harness.assert_conserved();
}

/// Another flow sends meanwhile, and a flow that is released goes behind those that wait.
#[test]
fn throttled_flows_do_not_hold_up_others() {
    let mut harness = harness(paced());
    arrive(&mut harness, &[1; 12]);
    assert_eq!(departures(&mut harness, 11), [1; 10]);
    arrive(&mut harness, &[2; 12]);
    assert_eq!(departures(&mut harness, 9), [2; 9]);
    harness.wait(Span::from_millis(4));
    assert_eq!(harness.discipline.next_wakeup(), None);
    assert_eq!(departures(&mut harness, 5), [2, 1, 1], "flow 2 waits now");
    assert_eq!(harness.discipline.next_wakeup(), micros(4000 + 3028));
}

/// Up to low_rate_threshold every packet is paced by its own length; no wait is longer than a second.
#[test]
fn slow_flows_are_paced_packet_by_packet() {
    for (rate, gap) in [(500_000, 24_224), (550_000, 22_021), (1000, 1_000_000)] {
        let mut harness = harness(FqLinuxParams { maxrate: Some(Rate(rate)), ..params() });
        arrive(&mut harness, &[1; 3]);
        assert_eq!(departures(&mut harness, 3).len(), 1);
        let next = harness.discipline.next_wakeup().unwrap();
        assert_eq!(next.0 / 1000, gap, "{rate} bit/s");
    }
    let mut above = harness(FqLinuxParams { maxrate: Some(Rate(550_001)), ..params() });
    arrive(&mut above, &[1; 20]);
    assert_eq!(departures(&mut above, 20).len(), 10);
}

/// Three flows with much to send share the link 9 : 3 : 1, by their classes.
#[test]
fn bands_share_by_their_weights() {
    let mut harness = harness(FqLinuxParams { flow_limit: 10_000, ..params() });
    (0..3).for_each(|class| arrive_as(&mut harness, u64::from(class), class, 3000));
    departures(&mut harness, 8 + 520);
    let sent = departures(&mut harness, 4 * 563);
    let counts = [0, 1, 2].map(|flow| sent.iter().filter(|each| **each == flow).count());
    assert!(counts.iter().zip([1559, 520, 173]).all(|(ours, part)| ours.abs_diff(part) < 15), "{counts:?}");
}

/// A packet of several weights puts its band in debt for several rounds; the link gets the next one all the same.
#[test]
fn a_band_may_owe_several_rounds() {
    let owing = FqLinuxParams { weight_0: 16_384, maxrate: Some(Rate(u64::MAX)), ..params() };
    let mut harness = harness(owing);
    (0..5).for_each(|_| harness.arrive(1, 65_000));
    assert_eq!(departures(&mut harness, 9), [1; 5]);
}

/// A flow that was never seen begins among the new flows of band 0, whatever its class; later it is in its own band.
#[test]
fn a_new_flow_begins_in_band_0() {
    let mut harness = harness(FqLinuxParams { initial_quantum: Size::Bytes(3028), ..params() });
    arrive_as(&mut harness, 9, 0, 8);
    arrive_as(&mut harness, 1, 1, 3);
    departures(&mut harness, 8);
    arrive_as(&mut harness, 2, 2, 3);
    assert_eq!(departures(&mut harness, 6), [1, 1, 2, 2, 1, 2], "band 0 gave each its first quantum");
}

#[test]
fn late_packets_are_marked() {
    let mut harness = harness(FqLinuxParams { ce_threshold: Some(Span::from_millis(5)), ..paced() });
    (0..11).for_each(|_| harness.offer(1, 1514, Ecn::Capable0));
    // Nine leave at once, the tenth after 5 ms and the last after 8.028 and 5 ms more: since it might have been sent.
    assert_eq!(departures(&mut harness, 9).len(), 9);
    let mut depart_after = |us: u64| {
        harness.wait(Span(us * 1000));
        harness.depart().map(|packet| packet.ecn == Ecn::CongestionExperienced)
    };
    assert_eq!(depart_after(5000), Some(false));
    assert_eq!(depart_after(0), None);
    assert_eq!(depart_after(3028 + 5000), Some(false));
    (0..2).for_each(|_| harness.offer(2, 1514, Ecn::Capable0));
    harness.wait(Span(5_000_001));
    assert_eq!(harness.depart().map(|packet| packet.ecn), Some(Ecn::CongestionExperienced));
}

#[test]
fn a_flow_has_a_limit_and_all_have_one() {
    let mut harness = harness(FqLinuxParams { flow_limit: 3, limit: Size::Packets(5), ..paced() });
    arrive(&mut harness, &[1, 1, 1, 1, 2, 2, 2]);
    assert_eq!(harness.dropped_flows(), [(1, DropReason::Tail), (2, DropReason::Tail)]);
    assert_eq!(harness.queued_flows(), [1, 1, 1, 2, 2]);
}

/// Flows without packets are forgotten after three seconds; a flow that comes back later is new.
#[test]
fn flows_are_forgotten() {
    for (ns, known, sent) in [(3_000_000_000, 3.0, 2), (3_000_000_001, 2.0, 10)] {
        let mut harness = harness(paced());
        arrive(&mut harness, &[1; 10]);
        departures(&mut harness, 10);
        harness.wait(Span::from_millis(5));
        detach_all_but_two(&mut harness);
        assert_eq!(harness.state("flows"), Some(3.0));
        harness.wait(Span(ns));
        arrive(&mut harness, &[98]);
        assert_eq!((harness.state("flows"), departures(&mut harness, 1)), (Some(known), [98].into()));
        arrive(&mut harness, &[1; 12]);
        assert_eq!(departures(&mut harness, 20), vec![1; sent], "a quantum, or an initial quantum again");
        harness.assert_conserved();
    }
}

/// A million flows of one packet each, all within three seconds, and none of them looked at again: what is remembered of them is
/// bounded.
#[test]
fn a_million_flows_cost_what_is_remembered() {
    let mut harness = harness(FqLinuxParams { limit: Size::Packets(1000), ..paced() });
    for k in 0..1_000_000 {
        harness.arrive(k << 44, 100);
        harness.depart();
    }
    let places = harness.discipline.flows.places.len();
    assert!((DETACHED..2 * DETACHED + 3).contains(&places), "{places}");
    harness.assert_conserved();
}

/// A smaller limit holds at once, though all flows are throttled; they go on, empty or not.
#[test]
fn the_limit_may_change_while_flows_are_throttled() {
    let mut harness = harness(paced());
    arrive(&mut harness, &[1; 12]);
    arrive(&mut harness, &[2; 12]);
    assert_eq!(departures(&mut harness, 40).len(), 20);
    configure(&mut harness, FqLinuxParams { limit: Size::Packets(1), ..paced() });
    assert_eq!(harness.dropped.len(), 3);
    harness.assert_conserved();
    // Flow 2, which has lost all, is throttled anew when a packet of it comes before its time.
    assert_eq!(harness.state("throttled_flows"), Some(1.0));
    arrive(&mut harness, &[2]);
    assert_eq!((harness.dropped.len(), harness.discipline.eligible), (4, 0), "there is no room for it");
    configure(&mut harness, FqLinuxParams { limit: Size::Packets(2), ..paced() });
    arrive(&mut harness, &[2]);
    assert_eq!((departures(&mut harness, 9).len(), harness.state("throttled_flows")), (0, Some(2.0)));
    harness.wait(Span::from_millis(4));
    assert_eq!((departures(&mut harness, 9), harness.discipline.eligible), ([1, 2].into(), 0));
    // Without a maxrate packets take the fast path at once.
    configure(&mut harness, params());
    arrive(&mut harness, &[2, 1]);
    assert_eq!((harness.discipline.fast_path.len(), departures(&mut harness, 9)), (2, [2, 1].into()));
}
