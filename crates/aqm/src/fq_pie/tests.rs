use super::*;
use crate::flow_hasher::FlowHasher;
use crate::harness::{Harness, TestPacket};
use crate::pie::{Pie, PieParams, PieVersion};
use crate::red::Action;
use sluicegate_base::{Ecn, Link, Params};

const LINK: Link = Link { rate: Rate(1_000_000), packet: 1000 };

fn params() -> FqPieParams {
    FqPieParams { quantum: Size::Bytes(1000), ..FqPieParams::defaults(&LINK).unwrap() }
}

fn harness(params: FqPieParams) -> Harness<FqPie<TestPacket>> {
    Harness::new(FqPie::new(params), 1)
}

fn departures(harness: &mut Harness<FqPie<TestPacket>>, n: usize) -> Vec<u64> {
    (0..n).map_while(|_| harness.depart().map(|packet| packet.flow)).collect()
}

/// By hand: quantum 1000, packets of 600 bytes; flows that the hash keeps apart.
#[test]
fn replays_the_lists() {
    let mut harness = harness(params());
    for flow in [1, 1, 1, 1, 2, 2, 2] {
        harness.arrive(flow, 600);
    }
    // Both new: 1000 → 400 → −200, then 800 and to the old ones.
    assert_eq!(departures(&mut harness, 4), [1, 1, 2, 2]);
    // A third flow is new and goes first; when it is empty it passes through the old ones once: behind 1 and 2.
    harness.arrive(3, 600);
    assert_eq!(departures(&mut harness, 2), [3, 1]);
    harness.arrive(3, 600);
    assert_eq!(departures(&mut harness, 9), [1, 2, 3]);
    assert_eq!((harness.discipline.queues.listed().count(), harness.discipline.packets()), (0, 0));
    harness.assert_conserved();
}

/// An emptied new queue goes to the end of the old ones, also if there are none (RFC 8290, Sec. 4.2); in Linux it then leaves.
#[test]
fn an_emptied_new_queue_passes_through_the_old_ones() {
    for (law, order) in [(PieVersion::Rfc8033, [1, 2, 2, 3, 1]), (PieVersion::Linux, [1, 2, 2, 1, 3])] {
        let defaults = FqPieParams::defaults(&LINK).unwrap();
        let mut harness = harness(FqPieParams { pie: PieBlock { law, ..defaults.pie.clone() }, ..defaults });
        [1, 2, 2].iter().for_each(|flow| harness.arrive(*flow, 500));
        let mut left = departures(&mut harness, 2);
        [1, 3].iter().for_each(|flow| harness.arrive(*flow, 500));
        left.extend(departures(&mut harness, 3));
        assert_eq!(left, order, "{law:?}");
    }
}

/// With a single flow it is PIE, drop for drop and mark for mark, under both laws.
#[test]
fn one_flow_is_pie() {
    for (law, action) in [
        (PieVersion::Rfc8033, Action::Drop),
        (PieVersion::Rfc8033, Action::Mark),
        (PieVersion::Linux, Action::Drop),
        (PieVersion::Linux, Action::Mark),
    ] {
        let pie = PieBlock { law, action, long_delay: Some(Span::from_millis(250)), ..params().pie };
        let mut fq = harness(FqPieParams { pie: pie.clone(), limit: Size::Packets(60), ..params() });
        let defaults = PieParams::defaults(&LINK).unwrap();
        let mut one = Harness::new(Pie::new(PieParams { pie, limit: Size::Packets(60), ..defaults }), 1);
        // The key of the hash.
        let _key = FlowHasher::new(&mut one.rng);
        let mut trace = Stream::new(3, "trace");
        for k in 0..40_000 {
            let wait = Span(trace.below(if k / 5000 % 2 == 0 { 8_000_000 } else { 20_000_000 }));
            fq.wait(wait);
            one.wait(wait);
            if trace.chance(0.55) {
                fq.offer(1, 1000, Ecn::Capable0);
                one.offer(1, 1000, Ecn::Capable0);
            } else {
                assert_eq!(fq.depart(), one.depart());
            }
            assert_eq!(fq.dropped.len(), one.dropped.len());
            assert_eq!(fq.state("p"), one.state("p"));
        }
        assert_eq!(fq.dropped, one.dropped);
        assert!(fq.dropped.len() > 1000, "{}", fq.dropped.len());
    }
}

/// Each queue has a p of its own: the flow that sends too much is dropped from, the other is not.
#[test]
fn each_queue_has_its_own_pie() {
    let mut harness = harness(params());
    for k in 0..4000 {
        (0..2).for_each(|_| harness.arrive(1, 1000));
        if k % 4 == 0 {
            harness.arrive(2, 1000);
        }
        harness.depart();
        harness.wait(Span::from_millis(8));
    }
    let drops = harness.dropped_flows();
    assert!(drops.len() > 1000 && drops.iter().all(|drop| *drop == (1, DropReason::Early)), "{}", drops.len());
    assert!(harness.state("p").unwrap() > 0.3);
}

/// A full buffer drops the arrival, whoever has filled it, where FQ-CoDel takes from the fattest queue.
#[test]
fn a_full_buffer_drops_the_arrival() {
    let mut harness = harness(FqPieParams { limit: Size::Packets(20), ..params() });
    (0..22).for_each(|_| harness.arrive(1, 1000));
    harness.arrive(2, 40);
    assert_eq!(harness.dropped_flows(), [(1, DropReason::Tail), (1, DropReason::Tail), (2, DropReason::Tail)]);
    harness.depart();
    harness.arrive(2, 40);
    assert_eq!((harness.dropped.len(), harness.discipline.packets()), (3, 20));
    harness.assert_conserved();
}

/// Queues in which updates change nothing are not updated; when all are so, no update is asked for.
#[test]
fn only_restless_queues_are_updated() {
    let mut harness = harness(params());
    assert_eq!(harness.discipline.next_wakeup(), None);
    (0..300).for_each(|k| harness.arrive(k % 100, 100));
    let roused = harness.discipline.restless.len();
    assert!((80..=100).contains(&roused), "{roused} queues of 100 flows");
    assert_eq!(harness.discipline.next_wakeup(), Some(Time::ZERO + Span::from_millis(15)));
    while harness.depart().is_some() {}
    // Some left the allowance of 150 ms untouched: by then their p, and all of it, is as before.
    harness.wait(Span::from_millis(15));
    assert!(harness.discipline.restless.is_empty(), "{:?}", harness.discipline.restless);
    harness.wait(Span::from_secs(3_155_760_000));
    assert_eq!(harness.discipline.next_wakeup(), None, "a century");
    harness.arrive(1, 1000);
    let due = harness.discipline.next_wakeup().unwrap();
    assert!(due > harness.now && due <= harness.now + Span::from_millis(15));
}

/// A smaller limit costs the packets whose turn is next, and another allowance is taken up by every queue.
#[test]
fn parameters_may_change() {
    let mut harness = harness(params());
    [1, 1, 1, 2].iter().for_each(|flow| harness.arrive(*flow, 1000));
    harness.discipline.configure(
        FqPieParams { limit: Size::Packets(2), ..params() },
        &mut Ctx::new(harness.now, &mut harness.rng, &mut harness.dropped),
    );
    assert_eq!(harness.dropped_flows(), [(1, DropReason::Reconfigured), (2, DropReason::Reconfigured)]);
    while harness.depart().is_some() {}
}

/// An idle queue needs no update for another allowance: an arrival brings it. In Linux an update does.
#[test]
fn another_allowance_reaches_every_queue() {
    for (law, updated) in [(PieVersion::Rfc8033, 0), (PieVersion::Linux, 1024)] {
        let with = |ms| {
            let pie = PieBlock { law, max_burst: Span::from_millis(ms), ..params().pie };
            FqPieParams { pie, ..params() }
        };
        let mut harness = harness(with(150));
        let ctx = &mut Ctx::new(harness.now, &mut harness.rng, &mut harness.dropped);
        harness.discipline.configure(with(300), ctx);
        assert_eq!(harness.discipline.restless.len(), updated);
        harness.wait(Span::from_millis(15));
        assert!(harness.discipline.restless.is_empty());
        harness.arrive(1, 1000);
        let at = harness.discipline.restless[0] as usize;
        assert_eq!(harness.discipline.queues.queues[at].aqm.pie.controller().shown().2, Span::from_millis(300));
    }
}
