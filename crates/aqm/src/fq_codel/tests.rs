use super::*;
use crate::harness::{Harness, TestPacket};
use alloc::vec::Vec;
use sluicegate_base::{Ecn, Link, Params, Rate};

const LINK: Link = Link { rate: Rate(1_000_000), packet: 1000 };

fn params() -> FqCodelParams {
    FqCodelParams { quantum: Size::Bytes(1000), ..FqCodelParams::defaults(&LINK).unwrap() }
}

fn departures(harness: &mut Harness<FqCodel<TestPacket>>, n: usize) -> Vec<u64> {
    (0..n).map_while(|_| harness.depart().map(|packet| packet.flow)).collect()
}

/// By hand: quantum 1000, packets of 600 bytes; four flows that the hash keeps apart.
#[test]
fn replays_the_lists() {
    let mut harness = Harness::new(FqCodel::new(params()), 1);
    for flow in [1, 1, 1, 1, 2, 2, 2] {
        harness.arrive(flow, 600);
    }
    // Both new. Queue 1: 1000 → 400 → −200, then 800 and to the old ones; queue 2 likewise.
    assert_eq!(departures(&mut harness, 4), [1, 1, 2, 2]);
    // A third flow is new and goes first; then the old ones: queue 1 at 800 → 200 → −400, empty; queue 2 at 800 → 200.
    harness.arrive(3, 600);
    assert_eq!(departures(&mut harness, 2), [3, 1]);
    // Queue 3 was empty with 400 left when the link came back to it, and moved to the end of the old ones: 1, 2, 3. With
    // a packet again it is not new: it waits for 1 and 2.
    harness.arrive(3, 600);
    assert_eq!(departures(&mut harness, 9), [1, 2, 3]);
    assert_eq!((harness.discipline.queues.listed().count(), harness.discipline.packets()), (0, 0));
    harness.assert_conserved();
}

/// RFC 8290, Sec. 5.2.4. A quantum of exactly a packet ends the credits with it, so that a new flow has one packet before all
/// others; with the default it has two of 1000 bytes.
#[test]
fn a_new_flow_sends_two_packets_of_its_first_quantum() {
    let quantum = |packet| FqCodelParams::defaults(&Link { packet, ..LINK }).unwrap().quantum;
    assert_eq!([1000, 1514, 9000].map(quantum), [1514, 1514, 9000].map(Size::Bytes));
    let between = |params| {
        let mut harness = Harness::new(FqCodel::new(params), 1);
        (0..10).for_each(|flow| (0..20).for_each(|_| harness.arrive(flow, 1000)));
        departures(&mut harness, 45);
        (0..2).for_each(|_| harness.arrive(99, 1000));
        let order = departures(&mut harness, 40);
        let mut turns = (0..order.len()).filter(|at| order[*at] == 99);
        (turns.next().unwrap(), turns.next().unwrap())
    };
    let (first, second) = between(params());
    assert!(first == 0 && second > 5, "{first} {second}");
    assert_eq!(between(FqCodelParams::defaults(&LINK).unwrap()), (0, 1));
}

/// Above `ce_threshold` what can be is marked, or ECT(1) alone.
#[test]
fn an_immediate_threshold_marks_what_it_is_for() {
    for (ect, marks) in [(Ect::Any, [true, true, false]), (Ect::L4s, [true, false, false])] {
        let ce_threshold = Some(Span::from_millis(1));
        let mut harness =
            Harness::new(FqCodel::new(FqCodelParams { ce_threshold, ce_threshold_ect: ect, ..params() }), 1);
        for late in [0, 1] {
            for ecn in [Ecn::Capable1, Ecn::Capable0, Ecn::NotCapable] {
                harness.offer(1, 100, ecn);
            }
            harness.wait(Span(1_000_000 + late));
            let left: Vec<bool> = core::iter::from_fn(|| harness.depart())
                .map(|packet: TestPacket| packet.ecn == Ecn::CongestionExperienced)
                .collect();
            assert_eq!(left, if late == 1 { marks } else { [false; 3] }, "{ect:?}");
        }
    }
}

/// RFC 8289, Sec. 4.4: the occupancy is that of all queues that share the link. Twenty fat flows and one of a packet at a time,
/// which waits too long: it is dropped from as in the kernel, though its own queue never holds more than that packet.
#[test]
fn codel_looks_at_all_queues_of_the_link() {
    let mut counts = Vec::new();
    for law in [CodelVersion::Rfc8289, CodelVersion::Linux] {
        let defaults = FqCodelParams::defaults(&LINK).unwrap();
        let mut harness = Harness::new(FqCodel::new(FqCodelParams { law, ..defaults }), 1);
        (0..20).for_each(|flow| (0..200).for_each(|_| harness.arrive(flow, 1000)));
        harness.arrive(99, 1000);
        for _ in 0..1000 {
            harness.wait(Span::from_millis(8));
            harness.depart();
            // The next packet comes before the link finds the queue empty.
            if !harness.queued_flows().contains(&99) {
                harness.arrive(99, 1000);
            }
        }
        let lost = harness.dropped_flows();
        counts.push(lost.iter().filter(|drop| **drop == (99, DropReason::Early)).count());
    }
    assert_eq!(counts, [10, 10]);
}

/// RFC 8290, Sec. 4.2: an emptied new queue goes to the end of the old ones, also if there are none; in Linux it then leaves, and
/// its next packet is that of a new queue.
#[test]
fn an_emptied_new_queue_passes_through_the_old_ones() {
    for (law, order) in [(CodelVersion::Rfc8289, [1, 2, 2, 3, 1]), (CodelVersion::Linux, [1, 2, 2, 1, 3])] {
        let params = FqCodelParams { law, ..FqCodelParams::defaults(&LINK).unwrap() };
        let mut harness = Harness::new(FqCodel::new(params), 1);
        [1, 2, 2].iter().for_each(|flow| harness.arrive(*flow, 500));
        let mut left = departures(&mut harness, 2);
        [1, 3].iter().for_each(|flow| harness.arrive(*flow, 500));
        left.extend(departures(&mut harness, 3));
        assert_eq!(left, order, "{law:?}");
    }
}

/// Half of the bytes of the fattest queue go, at its head. CoDel does not count them (RFC 8289, Sec. 5.4); Linux's does.
#[test]
fn a_full_buffer_costs_the_fattest_queue_half() {
    for (law, counted) in [(CodelVersion::Rfc8289, 0), (CodelVersion::Linux, 15)] {
        let mut harness = Harness::new(FqCodel::new(FqCodelParams { limit: Size::Packets(40), law, ..params() }), 1);
        (0..10).for_each(|_| harness.arrive(1, 1000));
        (0..30).for_each(|_| harness.arrive(2, 500));
        // 15,000 bytes of flow 2 are half 7500: 15 packets; the arrival is of flow 3.
        harness.arrive(3, 40);
        assert_eq!(harness.dropped_flows(), [(2, DropReason::Tail); 15]);
        assert_eq!(harness.dropped[0].0.serial, 10, "the oldest of flow 2");
        let count: u32 = harness.discipline.queues.queues.iter().map(|queue| queue.aqm.count).sum();
        assert_eq!(count, counted, "{law:?}");
    }
    // No more than a batch at once: with 4, two arrivals too many cost two batches.
    let mut harness =
        Harness::new(FqCodel::new(FqCodelParams { limit: Size::Packets(40), drop_batch: 4, ..params() }), 1);
    (0..46).for_each(|_| harness.arrive(2, 500));
    assert_eq!(harness.dropped.len(), 8);
    harness.assert_conserved();
}

#[test]
fn each_queue_has_its_own_codel() {
    let mut harness = Harness::new(FqCodel::new(params()), 1);
    // Flow 1 stands at 60 packets; flow 2 has one packet at a time that never waits long.
    (0..60).for_each(|_| harness.arrive(1, 1000));
    for _ in 0..40 {
        harness.arrive(2, 100);
        while harness.depart().unwrap().flow != 2 {}
        harness.depart();
        harness.wait(Span::from_millis(8));
        harness.arrive(1, 1000);
    }
    let lost = harness.dropped_flows();
    assert!(lost.len() >= 3 && lost.iter().all(|loss| *loss == (1, DropReason::Early)), "{lost:?}");
}

#[test]
fn a_new_flow_does_not_wait_for_old_ones() {
    let mut harness = Harness::new(FqCodel::new(params()), 2);
    (0..20).for_each(|flow| (0..20).for_each(|_| harness.arrive(flow, 1000)));
    departures(&mut harness, 100);
    harness.arrive(999, 200);
    assert_eq!(departures(&mut harness, 1), [999]);
}

/// A million ids that a plain modulus would put into one place.
#[test]
fn a_million_flows_cost_what_the_buffer_holds() {
    let mut harness = Harness::new(FqCodel::new(FqCodelParams { limit: Size::Packets(1000), ..params() }), 1);
    let mut used = 0;
    for k in 0..1_000_000u64 {
        harness.arrive(k << 44, 100);
        if k % 3 == 0 {
            harness.depart();
        }
        if k % 1000 == 0 {
            let queues = &harness.discipline.queues.queues;
            used = used.max(queues.iter().filter(|queue| queue.fifo.packets() > 0).count());
        }
    }
    let queues = &harness.discipline.queues;
    assert!(used > 500, "{used} queues at once");
    assert!(queues.queues.len() == 1024 && queues.listed().count() <= 1024);
    harness.assert_conserved();
}

/// Packets may have no bytes: something goes all the same when the limit is passed.
#[test]
fn point_9_packets_without_bytes_are_dropped_too() {
    let mut harness = Harness::new(FqCodel::new(FqCodelParams { limit: Size::Packets(3), ..params() }), 1);
    (0..9).for_each(|flow| harness.arrive(flow, 0));
    assert_eq!((harness.discipline.buffer().packets(), harness.dropped.len()), (3, 6));
    harness.assert_conserved();
}

/// The tree is followed only from a drop until all queues are empty, and agrees with a search over all queues meanwhile.
#[test]
fn the_tree_finds_what_a_search_finds() {
    let mut harness = Harness::new(FqCodel::new(FqCodelParams { limit: Size::Packets(60), flows: 40, ..params() }), 4);
    let (mut followed, mut epochs) = (0, 0);
    for k in 0..20_000u64 {
        let before = harness.discipline.fattest.followed().is_some();
        let arrives = if (k / 500) % 2 == 0 { 7 } else { 3 };
        if harness.rng.below(10) < arrives {
            let (flow, bytes) = (harness.rng.below(100), harness.rng.below(4) * 100);
            harness.arrive(flow, bytes);
        } else {
            harness.depart();
        }
        let FqCodel { queues, fattest, .. } = &*harness.discipline;
        if let Some(found) = fattest.followed() {
            let most = queues.queues.iter().map(weight).max().unwrap();
            let first = queues.queues.iter().position(|queue| weight(queue) == most).unwrap();
            assert_eq!(found, (most > 0).then_some(first as u32));
            followed += 1;
            epochs += u64::from(!before);
        }
    }
    assert!(epochs > 5 && followed > 3000 && followed < 17_000, "{epochs} times, {followed} steps");
    harness.assert_conserved();
}
