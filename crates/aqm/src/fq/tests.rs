use super::*;
use crate::harness::{Harness, TestPacket};
use alloc::vec;
use alloc::vec::Vec;
use sluicegate_base::Stream;

fn harness(quantum: u64, limit: Size, drop: End) -> Harness<Fq<TestPacket>> {
    Harness::new(Fq::new(FqParams { quantum: Size::Bytes(quantum), limit, drop }), 1)
}

fn departures(harness: &mut Harness<Fq<TestPacket>>, n: usize) -> Vec<u64> {
    (0..n).map_while(|_| harness.depart().map(|packet| packet.flow)).collect()
}

/// By hand: quantum 500; flow 1 has packets of 200, flow 2 of 750, flow 3 of 500 bytes (as in the example of the paper of
/// 1995, with other numbers).
#[test]
fn replays_the_rounds() {
    let mut harness = harness(500, Size::Packets(100), End::Tail);
    for _ in 0..4 {
        [(1, 200), (2, 750), (3, 500)].iter().for_each(|(flow, bytes)| harness.arrive(*flow, *bytes));
    }
    // Round 1: flow 1 has 500, sends two, keeps 100; flow 2 has 500, keeps it; flow 3 sends one.
    // Round 2: flow 1 has 600, sends its last two and leaves; flow 2 has 1000, sends one, keeps 250; flow 3 sends one.
    // Round 3: flow 2 has 750, sends one; flow 3 one. Round 4: flow 2 has 500; flow 3 its last.
    // Round 5: flow 2 has 1000, sends one; round 6: 750, its last.
    assert_eq!(departures(&mut harness, 20), [1, 1, 3, 1, 1, 2, 3, 2, 3, 3, 2, 2]);
    assert_eq!((harness.discipline.flows(), harness.discipline.buffer().packets()), (0, 0));
    // Flow 1 is new again: no deficit is left of before.
    harness.arrive(1, 501);
    harness.arrive(2, 100);
    assert_eq!(departures(&mut harness, 2), [2, 1]);
    harness.assert_conserved();
}

#[test]
fn the_longest_queue_loses() {
    for (drop, serial) in [(End::Tail, 4), (End::Head, 0)] {
        let mut harness = harness(1000, Size::Packets(5), drop);
        for (flow, bytes) in [(1, 400), (1, 400), (2, 900), (3, 40), (1, 400)] {
            harness.arrive(flow, bytes);
        }
        // Flow 1 has 1200 bytes, flow 2 900, flow 3 40: a sixth packet, of flow 3, costs flow 1 one.
        harness.arrive(3, 40);
        assert_eq!(harness.dropped_flows(), [(1, DropReason::Tail)]);
        assert_eq!(harness.dropped[0].0.serial, serial);
        // Now flow 2 has the most bytes, and a packet of its own costs it one: the arrival, or its first.
        harness.arrive(2, 40);
        assert_eq!(harness.dropped_flows()[1..], [(2, DropReason::Tail)]);
        assert_eq!(harness.dropped[1].0.serial, if drop == End::Tail { 6 } else { 2 });
        harness.assert_conserved();
    }
}

#[test]
fn a_limit_in_bytes_drops_until_there_is_room() {
    let mut harness = harness(1000, Size::Bytes(1000), End::Tail);
    (0..10).for_each(|_| harness.arrive(1, 100));
    harness.arrive(2, 450);
    assert_eq!(harness.dropped_flows(), [(1, DropReason::Tail); 5]);
    harness.arrive(2, 1001);
    assert_eq!(harness.dropped_flows()[5..], [(2, DropReason::Tail)], "too long for any queue");
    assert_eq!((harness.discipline.buffer().packets(), harness.discipline.buffer().bytes()), (6, 950));
    harness.assert_conserved();
}

/// Shares of the bytes sent, to within two packets and two quanta, and nothing taken from a flow that sends less than its share.
#[test]
fn shares_are_equal_whatever_the_lengths() {
    let mut harness = harness(1500, Size::Packets(60), End::Tail);
    let (mut order, mut sent) = (Stream::new(3, "order"), [0; 4]);
    let lengths = [1500, 40, 700, 250];
    for _ in 0..200_000 {
        // Eleven bytes of each leave for an arrival. Flow 3 offers one, the others 28 and more.
        let flow = [0, 2, 2, 1, 1, 1, 1, 1, 1, 1][order.below(10) as usize];
        let flow = if order.chance(0.004) { 3 } else { flow };
        harness.arrive(flow, lengths[flow as usize]);
        if order.chance(0.3) {
            let packet = harness.depart().unwrap();
            sent[packet.flow as usize] += packet.bytes;
        }
    }
    let lost = |flow| harness.dropped.iter().filter(|(packet, _)| packet.flow == flow).count();
    assert!(sent[0] > 1_000_000);
    assert!((1..3).all(|flow| sent[flow].abs_diff(sent[0]) <= 2 * 1500 + 2 * 1500), "{sent:?}");
    assert!(lost(3) == 0 && lost(1) > 1000, "{} and {} lost", lost(3), lost(1));
}

/// A million ids that a plain modulus would put into one place, and none comes twice: memory is that of the limit.
#[test]
fn a_million_flows_cost_what_the_buffer_holds() {
    let mut harness = harness(1000, Size::Packets(300), End::Tail);
    for k in 0..1_000_000u64 {
        harness.arrive(k << 44, 100);
        if k % 3 == 0 {
            harness.depart();
        }
    }
    let fq = &harness.discipline;
    assert_eq!((fq.flows(), fq.flows.len()), (299, 302), "after a departure");
    assert!(fq.flows.iter().all(|flow| flow.queue.capacity() == 1));
    assert!(fq.index.allocated() <= 2 * 300 + 512, "{}", fq.index.allocated());
    harness.assert_conserved();
}

#[test]
fn flows_that_leave_give_memory_back() {
    let mut harness = harness(1000, Size::Packets(1000), End::Tail);
    (0..1000).for_each(|k| harness.arrive(k % 10, 1000));
    assert!(harness.discipline.flows[1..].iter().all(|flow| flow.queue.capacity() >= 100));
    while harness.depart().is_some() {}
    assert!(harness.discipline.flows[1..].iter().all(|flow| flow.queue.capacity() == KEPT));
}

#[test]
fn an_unresponsive_flow_takes_its_share_and_no_more() {
    let mut harness = harness(1000, Size::Packets(40), End::Tail);
    let mut sent = vec![0; 10];
    for _ in 0..5000 {
        // Nine flows keep two packets each queued; flow 9 sends three for each that leaves.
        for flow in 0..9 {
            while harness.queued_flows().iter().filter(|queued| **queued == flow).count() < 2 {
                harness.arrive(flow, 1000);
            }
        }
        (0..3).for_each(|_| harness.arrive(9, 1000));
        sent[harness.depart().unwrap().flow as usize] += 1;
    }
    assert!(sent.iter().all(|n| (499..=501).contains(n)), "{sent:?}");
    assert!(harness.dropped_flows().iter().all(|(flow, _)| *flow == 9));
}
