//! The pseudocode by hand, on a link of 1 Mbit/s with packets of 1000 bytes.

use super::*;
use crate::harness::{Harness, TestPacket};
use Ecn::{Capable0, Capable1, CongestionExperienced, NotCapable};
use alloc::vec::Vec;
use sluicegate_base::params::Raw;
use sluicegate_base::{Link, Params};

const LINK: Link = Link { rate: Rate(1_000_000), packet: 1000 };

fn params() -> DualPi2Params {
    DualPi2Params::defaults(&LINK).unwrap()
}

fn empty(params: DualPi2Params) -> Harness<DualPi2<TestPacket>> {
    Harness::new(DualPi2::new(params), 1)
}

/// So many packets of each kind came at 0, flows 1, 2, …, and p' is as given.
fn full(params: DualPi2Params, p: f64, packets: &[(u64, Ecn)]) -> Harness<DualPi2<TestPacket>> {
    let mut harness = empty(params);
    for &(n, ecn) in packets {
        (1..=n).for_each(|flow| harness.offer(flow, 1000, ecn));
    }
    harness.discipline.base.p = p;
    harness
}

/// All that leaves now, without the clock, by flow, and which of them carry a mark.
fn drain(harness: &mut Harness<DualPi2<TestPacket>>) -> (Vec<u64>, Vec<u64>) {
    let left: Vec<TestPacket> = core::iter::from_fn(|| harness.depart()).collect();
    harness.assert_conserved();
    let marked = left.iter().filter(|packet| packet.ecn == CongestionExperienced).map(|packet| packet.flow).collect();
    (left.iter().map(|packet| packet.flow).collect(), marked)
}

fn dropped(harness: &Harness<DualPi2<TestPacket>>) -> Vec<u64> {
    assert!(harness.dropped.iter().all(|(_, reason)| *reason == DropReason::Early));
    harness.dropped.iter().map(|(packet, _)| packet.flow).collect()
}

/// RFC 9332, App. A.1, Fig. 6, with the longer wait of App. A.2.
#[test]
fn replays_the_update() {
    let mut harness = empty(params());
    let until = |harness: &mut Harness<DualPi2<TestPacket>>, ms: u64| {
        harness.wait(Time(ms * 1_000_000).since(harness.now));
    };
    let (mut p, mut prevq) = (0.0, 0.0);
    let mut update = |harness: &mut Harness<DualPi2<TestPacket>>, curq: f64| {
        p = libm::fmax(p + 0.15 * (curq - 0.015) + 3.0 * (curq - prevq), 0.0);
        prevq = curq;
        for (name, expected) in [("p", p), ("p_c", p * p), ("p_cl", 2.0 * p)] {
            let shown = harness.state(name).unwrap();
            assert!((shown - expected).abs() < 1e-12, "{name}: {shown} for {expected}");
        }
        p
    };
    harness.arrive(1, 1000);
    until(&mut harness, 5);
    harness.offer(2, 1000, Capable1);
    assert_eq!(["classic_packets", "l4s_packets"].map(|name| harness.state(name)), [Some(1.0); 2]);
    until(&mut harness, 15);
    assert_eq!(update(&mut harness, 0.015), 0.045, "3·0.015");
    until(&mut harness, 30);
    update(&mut harness, 0.030);
    // Both have gone; others come to C at 35 ms and to L at 40.
    assert_eq!([harness.depart(), harness.depart()].map(|packet| packet.unwrap().flow), [2, 1]);
    until(&mut harness, 35);
    harness.arrive(3, 1000);
    until(&mut harness, 40);
    harness.offer(4, 1000, Capable1);
    until(&mut harness, 45);
    update(&mut harness, 0.010);
    assert_eq!([harness.depart(), harness.depart()].map(|packet| packet.unwrap().flow), [4, 3]);
    until(&mut harness, 60);
    assert_eq!(update(&mut harness, 0.0), 0.0, "empty, and p' is kept from falling below 0");
    // L's head may be the one that waits longer.
    harness.offer(5, 1000, Capable1);
    until(&mut harness, 70);
    harness.arrive(6, 1000);
    until(&mut harness, 75);
    update(&mut harness, 0.015);
    until(&mut harness, 90);
    // 1 at most.
    harness.discipline.base.p = 0.999;
    until(&mut harness, 105);
    assert_eq!(harness.state("p"), Some(1.0));
}

/// p' = 0.5: 1/4 is added for each packet, and the first sum above 1 is that of the fifth.
#[test]
fn classic_packets_are_signalled_with_the_square() {
    let mut harness = full(params(), 0.5, &[(15, NotCapable)]);
    // k·p' = 1 is overload for L and for ECN, not for those that are dropped anyway.
    let (left, _) = drain(&mut harness);
    assert_eq!((dropped(&harness), left.len()), ([5, 9, 13].into(), 12));
    let mut harness = full(DualPi2Params { coupling_factor: 1.0, ..params() }, 0.5, &[(15, Capable0)]);
    assert_eq!(drain(&mut harness), ((1..=15).collect(), [5, 9, 13].into()));
    assert!(harness.dropped.is_empty());
}

/// RFC 9332, App. A.1: neither p_C nor p_CL while the queue is below two MTU before the packet is taken. With p' = 1 all others go
/// but the first, whose sum is 1.
#[test]
fn point_6_two_packets_are_counted_before_one_is_taken() {
    let mut harness = full(params(), 1.0, &[(4, NotCapable)]);
    assert_eq!(drain(&mut harness).0, [1, 4]);
    // p_CL = 0.98: the last would bring the sum from 0.94 to 1.92.
    let mut harness = full(params(), 0.49, &[(4, Capable1)]);
    assert_eq!(drain(&mut harness).1, [2, 3]);
    assert!((harness.discipline.lq_count - 0.94).abs() < 1e-12);
    // What p'_L says holds for short queues too.
    let own = DualPi2Params { min_qlen_step: 0, ramp: Span::ZERO, max_packet: Size::Bytes(9000), ..params() };
    let mut harness = full(own, 1.0, &[(4, Capable1)]);
    harness.now = Time(800_000);
    assert_eq!(
        drain(&mut harness),
        ([1, 2, 3, 4].into(), [2, 3].into()),
        "the first sum is 1, the last leaves none behind"
    );
}

/// RFC 9332, Sec. 2.5.1.1: ECT(0) in L has Classic marks: by equation (1), (p_L/k)².
#[test]
fn point_6_ect_0_in_the_l4s_queue_has_classic_marks() {
    let any = || DualPi2Params { ect: Ect::Any, ..params() };
    let mut harness = full(any(), 0.49, &[(10, Capable0)]);
    assert_eq!(harness.state("l4s_packets"), Some(10.0));
    assert_eq!(drain(&mut harness).1, [5, 9], "0.49² for each");
    // p'_L = 1 at 1.2 ms, for all but the last two.
    let mut harness = full(any(), 0.0, &[(10, Capable0)]);
    harness.now = Time(1_200_000);
    assert_eq!(drain(&mut harness).1, [5], "1/k² for each");
    // In overload p_C drops them, and what is left carries no mark, as in C.
    let [l, c] = [any(), params()].map(|params| {
        let mut harness = full(params, 0.75, &[(10, Capable0)]);
        (drain(&mut harness), dropped(&harness))
    });
    assert_eq!(l, c);
}

/// RFC 9332, App. A.1, Fig. 2, lines 12 to 14.
#[test]
fn point_6_the_gains_follow_target_and_rtt_max() {
    let of = |params: DualPi2Params| (params.period(), params.alpha(), params.beta());
    assert_eq!(of(params()), (Span::from_millis(15), 0.15, 3.0), "the RFC's values");
    assert_eq!(of(DualPi2Params { target: Span::from_millis(5), ..params() }), (Span::from_millis(5), 0.05, 3.0));
    let far = DualPi2Params { target: Span::from_millis(90), rtt_max: Span::from_millis(240), ..params() };
    assert_eq!(of(far.clone()), (Span::from_millis(80), 0.1 * 0.08 / 0.24 / 0.24, 1.25));
    let given = DualPi2Params { tupdate: Some(Span::from_millis(10)), beta: Some(7.0), ..far };
    assert_eq!(of(given), (Span::from_millis(10), 0.1 * 0.01 / 0.24 / 0.24, 7.0));
}

/// k·p' = 0.5 for packets that have not waited.
#[test]
fn l4s_packets_are_marked_by_the_coupling() {
    let mut harness = full(params(), 0.25, &[(10, Capable1)]);
    assert_eq!(harness.state("l4s_packets"), Some(10.0));
    assert_eq!(drain(&mut harness), ((1..=10).collect(), [3, 5, 7, 9].into()));
}

/// From 0 at 800 µs to 1 at 1.2 ms, while more than one packet is left behind: not for the last two of ten.
#[test]
fn l4s_packets_are_marked_by_their_wait() {
    let marked = |params: DualPi2Params, p: f64, micros: u64| {
        let mut harness = full(params, p, &[(10, Capable1)]);
        harness.now = Time(micros * 1000);
        drain(&mut harness).1
    };
    assert_eq!(marked(params(), 0.0, 800), []);
    assert_eq!(marked(params(), 0.0, 1000), [3, 5, 7], "p'_L = 0.5");
    assert_eq!(marked(params(), 0.0, 1200), [2, 3, 4, 5, 6, 7, 8], "the first sum is 1, and not above it");
    assert_eq!(marked(params(), 0.25, 1000), [3, 5, 7, 9], "the greater of p'_L = 0.5 and k·p' = 0.5");
    let step = DualPi2Params { ramp: Span::ZERO, min_qlen_step: 0, ..params() };
    assert_eq!(marked(step.clone(), 0.0, 799), []);
    assert_eq!(marked(step.clone(), 0.0, 800), [2, 3, 4, 5, 6, 7, 8, 9], "a step; the last leaves nothing behind");
    // 9 to 5 packets are behind the first five.
    assert_eq!(marked(DualPi2Params { step_thresh_packets: Some(4), ..step }, 0.0, 0), [2, 3, 4, 5]);
}

/// w_C = 10, w_L = 90: from a credit of −80 packets nine of L are served, and then one of C.
#[test]
fn the_scheduler_keeps_a_share_for_classic_packets() {
    let mut harness = full(params(), 0.0, &[(25, Capable1), (9, NotCapable)]);
    let mut order = |n: usize| -> Vec<bool> { (0..n).map(|_| harness.depart().unwrap().ecn == NotCapable).collect() };
    let nine_and_one = [vec_of(false, 9), vec_of(true, 1)].concat();
    assert_eq!(order(20), [nine_and_one.clone(), nine_and_one].concat());
    // Seven of L are left: the credit stands at −80 + 70 when they have gone, and while C is alone.
    assert_eq!(order(10), [vec_of(false, 7), vec_of(true, 3)].concat());
    (0..5).for_each(|_| harness.offer(1, 1000, Capable1));
    let order: Vec<bool> = (0..4).map(|_| harness.depart().unwrap().ecn == NotCapable).collect();
    assert_eq!(order, [false, false, true, false]);
    // Both run empty, and it is as at the start.
    drain(&mut harness);
    let again = full(params(), 0.0, &[(25, Capable1), (9, NotCapable)]);
    for ecn in [vec_of(Capable1, 25), vec_of(NotCapable, 9)].concat() {
        harness.offer(0, 1000, ecn);
    }
    let orders = [harness, again].map(|mut harness| {
        core::iter::from_fn(move || harness.depart()).map(|packet| packet.ecn == NotCapable).collect::<Vec<bool>>()
    });
    assert_eq!(orders[0], orders[1]);
}

fn vec_of<T: Clone>(value: T, n: usize) -> Vec<T> {
    alloc::vec![value; n]
}

#[test]
fn either_queue_may_always_be_first() {
    for (classic_protection, first) in [(0, Capable1), (100, NotCapable)] {
        let mut harness =
            full(DualPi2Params { classic_protection, ..params() }, 0.0, &[(30, NotCapable), (30, Capable1)]);
        assert!((0..30).all(|_| harness.depart().unwrap().ecn == first), "{classic_protection} %");
    }
}

/// p' = 0.5: the credit is that of nine packets of L when one of C is dropped, and the next of C goes in its place.
#[test]
fn a_dropped_packet_moves_no_credit() {
    let mut harness = full(params(), 0.5, &[(30, Capable1), (4, NotCapable)]);
    (harness.discipline.lq_count, harness.discipline.cq_count) = (-100.0, 1.0);
    let order: Vec<bool> = (0..11).map(|_| harness.depart().unwrap().ecn == NotCapable).collect();
    assert_eq!(order, [vec_of(false, 9), vec_of(true, 1), vec_of(false, 1)].concat());
    assert_eq!(dropped(&harness), [1]);
}

/// p' = 0.75, k = 2: p_C = 0.5625 drops whatever the ECN field says, p_CL = 1 marks the others of L.
#[test]
fn overload_drops_in_both_queues() {
    let mut harness = full(params(), 0.75, &[(10, Capable0)]);
    assert_eq!(drain(&mut harness), ([1, 3, 5, 7, 10].into(), [].into()));
    assert_eq!(
        dropped(&harness),
        [2, 4, 6, 8, 9],
        "sums of 0.5625, 1.125; 0.6875, 1.25; 0.8125, 1.375; 0.9375, 1.5; 1.0625"
    );
    let mut harness = full(params(), 0.75, &[(8, Capable1)]);
    // One count for both: 0.5625, and 1 more: marked; 1.125: dropped; 0.6875, and 1 more: marked; …
    // The last is below two MTU, and p_CL does not mark it.
    assert_eq!(drain(&mut harness), ([1, 3, 5, 7, 8].into(), [1, 3, 5, 7].into()));
    assert_eq!(dropped(&harness), [2, 4, 6]);
}

#[test]
fn overflow_marks_alone() {
    let overflow = DualPi2Params { overload: OnOverload::Overflow, limit: Size::Packets(20), ..params() };
    let mut harness = full(overflow, 0.75, &[(10, Capable1), (10, Capable0)]);
    harness.wait(Span::from_millis(30));
    assert_eq!(harness.state("p"), Some(0.5), "1/k");
    harness.offer(99, 1000, Capable1);
    assert_eq!(harness.dropped_flows(), [(99, DropReason::Tail)], "until the buffer is full");
    let (left, marked) = drain(&mut harness);
    // All of L but the first, whose sum is 1; of C the fifth and the ninth, with 1/4 for each of the first nine.
    assert_eq!((left.len(), marked.len(), harness.dropped.len()), (20, 9 + 2, 1));
}

#[test]
fn both_queues_share_the_limit() {
    let mut harness =
        full(DualPi2Params { limit: Size::Bytes(4500), ..params() }, 0.0, &[(3, Capable1), (3, Capable0)]);
    assert_eq!(harness.dropped_flows(), [(2, DropReason::Tail), (3, DropReason::Tail)]);
    assert_eq!(harness.queued_flows(), [1, 2, 3, 1]);
    // A smaller limit takes from the tail of C, then of L.
    let smaller = DualPi2Params { limit: Size::Packets(2), ..params() };
    let ctx = &mut Ctx::new(harness.now, &mut harness.rng, &mut harness.dropped);
    harness.discipline.configure(smaller, ctx);
    assert_eq!(harness.dropped_flows()[2..], [(1, DropReason::Reconfigured), (3, DropReason::Reconfigured)]);
    harness.assert_conserved();
}

/// With law = linux and p' = 1 everything is signalled, but nothing while less than two of the longest packets are queued
/// beside the packet; with drop_at = enqueue it does not come in.
#[test]
fn linux_spares_short_queues() {
    for (drop_at, left) in [(DropAt::Dequeue, [9, 10]), (DropAt::Enqueue, [1, 2])] {
        let mut harness = empty(DualPi2Params { law: DualPi2Version::Linux, drop_at, ..params() });
        harness.discipline.base.p = f64::from(u32::MAX) / 4_294_967_296.0;
        (1..=10).for_each(|flow| harness.arrive(flow, 1000));
        assert_eq!(drain(&mut harness).0, left, "{drop_at:?}");
        assert_eq!(dropped(&harness).len(), 8);
    }
}

/// The kernel asks whether 32 random bits are at most p': so also for the number itself.
#[test]
fn linux_draws_up_to_p() {
    for (below, marked) in [(0, [1].to_vec()), (1, [].into())] {
        let linux = DualPi2Params { law: DualPi2Version::Linux, coupling_factor: 1.0, ..params() };
        let mut harness = full(linux, 0.0, &[(3, Capable1)]);
        let drawn = harness.rng.clone().bits() >> 32;
        harness.discipline.base.p = (drawn - below) as f64 / 4_294_967_296.0;
        assert_eq!(drain(&mut harness).1, marked);
    }
}

/// Once p' is 0 no update is asked for; a century of rest is not updated through.
#[test]
fn an_idle_link_is_quiet() {
    for law in [DualPi2Version::Rfc9332, DualPi2Version::Linux] {
        let mut harness = empty(DualPi2Params { law, ..params() });
        assert_eq!(harness.discipline.next_wakeup(), None);
        harness.arrive(1, 1000);
        assert_eq!(harness.discipline.next_wakeup(), Some(Time(15_000_000)));
        harness.wait(Span::from_millis(20));
        harness.discipline.base.p = 0.0225;
        harness.depart();
        let mut updates = 0;
        while let Some(at) = harness.discipline.next_wakeup() {
            harness.wait(at.since(harness.now));
            updates += 1;
        }
        assert_eq!((updates, harness.state("p")), (1, Some(0.0)), "{law:?}: 3·0.015 and more was taken off");
        harness.discipline.base.p = 0.0224;
        while let Some(at) = harness.discipline.next_wakeup() {
            harness.wait(at.since(harness.now));
            updates += 1;
        }
        // Steps of 0.15·0.015 = 0.00225; the kernel's gain is 40 parts of 2³² for 64 ns, which makes steps of 0.00218.
        assert_eq!(updates, if law == DualPi2Version::Linux { 1 + 11 } else { 1 + 10 });
        harness.wait(Span::from_secs(3_155_760_000));
        harness.arrive(1, 1000);
        let next = harness.discipline.next_wakeup().unwrap();
        assert!(next.since(harness.now) <= Span::from_millis(15) && next.0 % 15_000_000 == 0, "{law:?}");
    }
}

#[test]
fn what_linux_alone_has_needs_its_law() {
    let mut harness = Harness::boxed(crate::build::<TestPacket>("dualpi2", &mut |_| None, &LINK).unwrap().unwrap(), 1);
    let refused = harness.set("drop_at", &Raw::Text("enqueue".into())).unwrap_err();
    assert_eq!(refused, "drop_at = enqueue needs law = linux");
    assert_eq!(harness.set("coupling_factor", &Raw::Number(1.5)), Ok(()));
}
