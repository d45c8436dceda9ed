use super::*;
use crate::rig::{Rig, TestPacket};
use alloc::vec::Vec;
use sluicegate_base::{Link, Params, Rate};

const LINK: Link = Link { rate: Rate(1_000_000), packet: 1000 };

fn params() -> FqCodelParams {
    FqCodelParams { quantum: Size::Bytes(1000), ..FqCodelParams::defaults(&LINK).unwrap() }
}

fn departures(rig: &mut Rig<FqCodel<TestPacket>>, n: usize) -> Vec<u64> {
    (0..n).map_while(|_| rig.depart().map(|packet| packet.flow)).collect()
}

/// By hand: quantum 1000, packets of 600 bytes; four flows that the hash keeps apart.
#[test]
fn replays_the_lists() {
    let mut rig = Rig::new(FqCodel::new(params()), 1);
    for flow in [1, 1, 1, 1, 2, 2, 2] {
        rig.arrive(flow, 600);
    }
    // Both new. Queue 1: 1000 → 400 → −200, then 800 and to the old ones; queue 2 likewise.
    assert_eq!(departures(&mut rig, 4), [1, 1, 2, 2]);
    // A third flow is new and goes first; then the old ones: queue 1 at 800 → 200 → −400, empty; queue 2 at 800 → 200.
    rig.arrive(3, 600);
    assert_eq!(departures(&mut rig, 2), [3, 1]);
    // Queue 3 was empty with 400 left when the link came back to it, and moved to the end of the old ones: 1, 2, 3. With
    // a packet again it is not new: it waits for 1 and 2.
    rig.arrive(3, 600);
    assert_eq!(departures(&mut rig, 9), [1, 2, 3]);
    assert!(rig.discipline.new_queues.is_empty() && rig.discipline.old_queues.is_empty());
    assert!(rig.discipline.queues.iter().all(|queue| !queue.listed && queue.packets == 0));
    rig.assert_conserved();
}

/// RFC 8290, Sec. 5.2.4. A quantum of exactly a packet ends the credits with it, so that a new flow has one packet before all
/// others; with the default it has two of 1000 bytes.
#[test]
fn a_new_flow_sends_two_packets_of_its_first_quantum() {
    let quantum = |packet| FqCodelParams::defaults(&Link { packet, ..LINK }).unwrap().quantum;
    assert_eq!([1000, 1514, 9000].map(quantum), [1514, 1514, 9000].map(Size::Bytes));
    let between = |params| {
        let mut rig = Rig::new(FqCodel::new(params), 1);
        (0..10).for_each(|flow| (0..20).for_each(|_| rig.arrive(flow, 1000)));
        departures(&mut rig, 45);
        (0..2).for_each(|_| rig.arrive(99, 1000));
        let order = departures(&mut rig, 40);
        let mut turns = (0..order.len()).filter(|at| order[*at] == 99);
        (turns.next().unwrap(), turns.next().unwrap())
    };
    let (first, second) = between(params());
    assert!(first == 0 && second > 5, "{first} {second}");
    assert_eq!(between(FqCodelParams::defaults(&LINK).unwrap()), (0, 1));
}

/// A queue of one packet that always waits too long is not dropped from by the RFC, however much the others hold; it is in
/// the kernel.
#[test]
fn codel_looks_at_the_queue_itself_or_at_all() {
    for (law, hit) in [(Law::Rfc8289, false), (Law::Linux, true)] {
        let mut rig = Rig::new(FqCodel::new(FqCodelParams { law, ..params() }), 1);
        (0..20).for_each(|flow| (0..200).for_each(|_| rig.arrive(flow, 1000)));
        rig.arrive(99, 1000);
        for _ in 0..1000 {
            rig.wait(Span::from_millis(8));
            rig.depart();
            // The next packet comes before the link finds the queue empty.
            if !rig.queued_flows().contains(&99) {
                rig.arrive(99, 1000);
            }
        }
        assert_eq!(rig.lost_flows().contains(&(99, Cause::Early)), hit, "{law:?}");
        assert!(rig.lost.len() > 50, "the others lose packets under both");
    }
}

/// Half of the bytes of the fattest queue go, at its head, and CoDel hears of it.
#[test]
fn a_full_buffer_costs_the_fattest_queue_half() {
    let mut rig = Rig::new(FqCodel::new(FqCodelParams { limit: Size::Packets(40), ..params() }), 1);
    (0..10).for_each(|_| rig.arrive(1, 1000));
    (0..30).for_each(|_| rig.arrive(2, 500));
    // 15,000 bytes of flow 2 are half 7500: 15 packets; the arrival is of flow 3.
    rig.arrive(3, 40);
    assert_eq!(rig.lost_flows(), [(2, Cause::Tail); 15]);
    assert_eq!(rig.lost[0].0.serial, 10, "the oldest of flow 2");
    let mut counts: Vec<u32> = rig.discipline.queues.iter().map(|queue| queue.codel.count).collect();
    counts.sort_unstable();
    assert_eq!(counts[1022..], [0, 15]);
    // No more than a batch at once: with 4, two arrivals too many cost two batches.
    let mut rig = Rig::new(FqCodel::new(FqCodelParams { limit: Size::Packets(40), drop_batch: 4, ..params() }), 1);
    (0..46).for_each(|_| rig.arrive(2, 500));
    assert_eq!(rig.lost.len(), 8);
    rig.assert_conserved();
}

#[test]
fn each_queue_has_its_own_codel() {
    let mut rig = Rig::new(FqCodel::new(params()), 1);
    // Flow 1 stands at 60 packets; flow 2 has one packet at a time that never waits long.
    (0..60).for_each(|_| rig.arrive(1, 1000));
    for _ in 0..40 {
        rig.arrive(2, 100);
        while rig.depart().unwrap().flow != 2 {}
        rig.depart();
        rig.wait(Span::from_millis(8));
        rig.arrive(1, 1000);
    }
    let lost = rig.lost_flows();
    assert!(lost.len() >= 3 && lost.iter().all(|loss| *loss == (1, Cause::Early)), "{lost:?}");
}

#[test]
fn a_new_flow_does_not_wait_for_old_ones() {
    let mut rig = Rig::new(FqCodel::new(params()), 2);
    (0..20).for_each(|flow| (0..20).for_each(|_| rig.arrive(flow, 1000)));
    departures(&mut rig, 100);
    rig.arrive(999, 200);
    assert_eq!(departures(&mut rig, 1), [999]);
}

/// A million ids that a plain modulus would put into one place.
#[test]
fn a_million_flows_cost_what_the_buffer_holds() {
    let mut rig = Rig::new(FqCodel::new(FqCodelParams { limit: Size::Packets(1000), ..params() }), 1);
    let mut used = 0;
    for k in 0..1_000_000u64 {
        rig.arrive(k << 44, 100);
        if k % 3 == 0 {
            rig.depart();
        }
        if k % 1000 == 0 {
            used = used.max(rig.discipline.queues.iter().filter(|queue| queue.packets > 0).count());
        }
    }
    let fq = &rig.discipline;
    assert!(used > 500, "{used} queues at once");
    assert_eq!((fq.queues.len(), fq.store.pool.nodes()), (1024, 1001));
    assert!(fq.new_queues.len() + fq.old_queues.len() <= 1024);
    rig.assert_conserved();
}

/// Packets may have no bytes: something goes all the same when the limit is passed.
#[test]
fn point_9_packets_without_bytes_are_dropped_too() {
    let mut rig = Rig::new(FqCodel::new(FqCodelParams { limit: Size::Packets(3), ..params() }), 1);
    (0..9).for_each(|flow| rig.arrive(flow, 0));
    assert_eq!((rig.discipline.packets(), rig.lost.len()), (3, 6));
    rig.assert_conserved();
}
