use super::*;
use crate::harness::{Harness, TestPacket};
use alloc::collections::BTreeMap;
use sluicegate_base::{Link, Params, Rate};

fn params() -> SfqParams {
    let defaults = SfqParams::defaults(&Link { rate: Rate(1_000_000), packet: 1000 }).unwrap();
    assert_eq!(defaults.quantum, Size::Bytes(1514), "the MTU, whatever the packets");
    SfqParams { quantum: Size::Bytes(1000), ..defaults }
}

fn departures(harness: &mut Harness<Sfq<TestPacket>>, n: usize) -> Vec<u64> {
    (0..n).map_while(|_| harness.depart().map(|packet| packet.flow)).collect()
}

/// By hand: quantum 1000; flows that the hash keeps apart.
#[test]
fn replays_the_turns() {
    let mut harness = Harness::new(Sfq::new(params()), 1);
    for _ in 0..3 {
        [(1, 600), (2, 1500), (3, 300)].iter().for_each(|(flow, bytes)| harness.arrive(*flow, *bytes));
    }
    // Queue 1: 1000 → 400 → −200. Queue 2: 1000 → −500. Queue 3: 1000 → 700 → 400, and its last.
    // Queue 1: 800, its last. Queue 2: 500 → −1000; 0, and once more round; 1000, its last.
    assert_eq!(departures(&mut harness, 20), [1, 1, 2, 3, 3, 3, 1, 2, 2]);
    assert_eq!((harness.discipline.free.len(), harness.discipline.round.len()), (128, 0));
    assert!(harness.discipline.ht.iter().all(|x| *x == EMPTY_SLOT));
    harness.assert_conserved();
}

#[test]
fn the_longest_queue_loses_its_last_or_first() {
    for (headdrop, serial) in [(false, 3), (true, 0)] {
        let mut harness = Harness::new(Sfq::new(SfqParams { limit: Size::Packets(4), headdrop, ..params() }), 1);
        [1, 1, 2, 1, 3].iter().for_each(|flow| harness.arrive(*flow, 100));
        assert_eq!((harness.dropped_flows(), harness.dropped[0].0.serial), ([(1, DropReason::Tail)].into(), serial));
        // 1 and 2 have two packets; 2 came to its second last, and loses it or its first.
        harness.arrive(2, 100);
        assert_eq!((harness.dropped_flows()[1], harness.queued_flows()), ((2, DropReason::Tail), [1, 1, 2, 3].into()));
        harness.assert_conserved();
    }
}

#[test]
fn of_single_packets_the_next_to_leave_is_lost() {
    let mut harness = Harness::new(Sfq::new(SfqParams { limit: Size::Packets(3), ..params() }), 1);
    [1, 2, 3, 4].iter().for_each(|flow| harness.arrive(*flow, 100));
    assert_eq!((harness.dropped_flows(), harness.queued_flows()), ([(1, DropReason::Tail)].into(), [2, 3, 4].into()));
}

#[test]
fn depth_and_flows_are_bounds() {
    let mut harness = Harness::new(Sfq::new(SfqParams { depth: 2, flows: 2, ..params() }), 1);
    [1, 1, 1, 2, 3].iter().for_each(|flow| harness.arrive(*flow, 100));
    assert_eq!(harness.dropped_flows(), [(1, DropReason::Tail), (3, DropReason::Tail)]);
    assert_eq!(harness.dropped[0].0.serial, 2);
    let mut harness = Harness::new(Sfq::new(SfqParams { depth: 2, headdrop: true, ..params() }), 1);
    [1, 1, 1].iter().for_each(|flow| harness.arrive(*flow, 100));
    assert_eq!((harness.dropped[0].0.serial, harness.discipline.buffer().packets()), (0, 2));
    harness.assert_conserved();
}

/// A perturbation parts most of the flows that shared a queue, and reorders no flow.
#[test]
fn a_perturbation_parts_flows_and_keeps_their_order() {
    let shares = SfqParams { divisor: 8, limit: Size::Packets(1000), depth: 1000, ..params() };
    let mut harness = Harness::new(Sfq::new(shares), 3);
    (0..40).for_each(|k| harness.arrive(k % 8, 100));
    let together = |harness: &Harness<Sfq<TestPacket>>| {
        let hash = harness.discipline.perturbation.unwrap();
        let place: Vec<usize> = (0..8).map(|flow| hash.bucket(crate::FlowKey(flow), 8)).collect();
        (0..8).flat_map(|a| (0..a).map(move |b| (b, a))).filter(|(b, a)| place[*a] == place[*b]).collect::<Vec<_>>()
    };
    let before = together(&harness);
    assert!(before.len() > 1, "eight flows in eight queues collide: {before:?}");
    harness.wait(Span::from_secs(10));
    let after = together(&harness);
    assert!(before.iter().filter(|pair| after.contains(pair)).count() * 2 <= before.len(), "{before:?} {after:?}");
    harness.assert_conserved();
    let mut last = BTreeMap::new();
    while let Some(packet) = harness.depart() {
        assert!(last.insert(packet.flow, packet.serial).is_none_or(|before| before < packet.serial));
    }
    assert_eq!((last.len(), harness.dropped.len(), harness.departed), (8, 0, 40));
    // Never, when perturb is 0.
    let mut harness = Harness::new(Sfq::<TestPacket>::new(SfqParams { perturb: Span::ZERO, ..params() }), 3);
    harness.arrive(1, 100);
    assert_eq!(harness.discipline.next_wakeup(), None);
}

/// A million ids that a plain modulus would put into one queue.
#[test]
fn a_million_flows_cost_what_the_buffer_holds() {
    let mut harness = Harness::new(Sfq::new(params()), 1);
    let mut most = 0;
    for k in 0..1_000_000u64 {
        harness.arrive(k << 44, 100);
        most = most.max(harness.discipline.round.len());
        if k % 3 == 0 {
            harness.depart();
        }
        if k % 1000 == 0 {
            harness.wait(Span::from_secs(1));
        }
    }
    assert!((100..=127).contains(&most), "{most} queues at once");
    assert!(harness.discipline.slots.iter().all(|slot| slot.queue.capacity() <= KEPT));
    harness.assert_conserved();
}
