//! The pseudocode of RFC 8289 by hand.

use super::*;
use crate::harness::{Harness, TestPacket};
use alloc::vec::Vec;
use sluicegate_base::{Ecn, Link, Params, Rate};

fn params() -> CodelParams {
    CodelParams::defaults(&Link { rate: Rate(1_000_000), packet: 1000 }).unwrap()
}

/// A queue of `n` packets of 1000 bytes that arrived at 0, each its own flow 0, 1, ….
fn full(params: CodelParams, n: u64, ecn: Ecn) -> Harness<Codel<TestPacket>> {
    let mut harness = Harness::new(Codel::new(params), 1);
    (0..n).for_each(|flow| harness.offer(flow, 1000, ecn));
    harness
}

/// The flow that leaves at this time, in ms.
fn at(harness: &mut Harness<Codel<TestPacket>>, ms: f64) -> Option<u64> {
    harness.now = Time((ms * 1e6) as u64);
    let packet = harness.depart();
    harness.assert_conserved();
    packet.map(|packet| packet.flow)
}

fn lost(harness: &Harness<Codel<TestPacket>>) -> Vec<u64> {
    harness.dropped.iter().map(|(packet, _)| packet.flow).collect()
}

#[test]
fn replays_the_pseudocode() {
    let mut harness = full(params(), 60, Ecn::NotCapable);
    // The wait is below the target of 5 ms, then at it: first_above_time = 5 + 100.
    assert_eq!((at(&mut harness, 4.999), at(&mut harness, 5.0)), (Some(0), Some(1)));
    assert_eq!(at(&mut harness, 104.999), Some(2), "not for an interval yet");
    // 105: the first drop. count = 1, drop_next = 205.
    assert_eq!((at(&mut harness, 105.0), lost(&harness)), (Some(4), [3].into()));
    assert_eq!((harness.discipline.state.count, harness.discipline.state.drop_next), (1, 205_000_000));
    assert_eq!(at(&mut harness, 204.999), Some(5));
    // 205: count = 2, drop_next = 205 + 100/√2 = 275.710 678 1….
    assert_eq!((at(&mut harness, 205.0), lost(&harness)), (Some(7), [3, 6].into()));
    assert_eq!(harness.discipline.state.drop_next, 275_710_678);
    // 400: drops due at 275.71, then 100/√3 = 57.735 later at 333.446, then 100/√4 later at 383.446: three, in one call.
    // The next is due at 383.446 + 100/√5 = 428.167.
    assert_eq!((at(&mut harness, 400.0), lost(&harness)), (Some(11), [3, 6, 8, 9, 10].into()));
    assert_eq!((harness.discipline.state.count, harness.discipline.state.drop_next / 1000), (5, 428_167));
    // No more than max_packet bytes are left behind the head: the dropping state ends.
    for flow in 12..59 {
        assert_eq!(at(&mut harness, 401.0), Some(flow));
    }
    assert!(!harness.discipline.state.dropping, "flow 58 left one packet behind");
    assert_eq!((at(&mut harness, 401.0), at(&mut harness, 401.0)), (Some(59), None));
    // Again above target, from 500 on: 10 packets that arrived at 490.
    harness.now = Time(490_000_000);
    (100..140).for_each(|flow| harness.arrive(flow, 1000));
    assert_eq!((at(&mut harness, 500.0), at(&mut harness, 599.0)), (Some(100), Some(101)));
    // 600: the last drop_next was 428.167, less than 16 intervals ago; count starts at 5 − 1 = 4: the next at 650.
    assert_eq!((at(&mut harness, 600.0), lost(&harness)[5..].to_vec()), (Some(103), [102].into()));
    assert_eq!((harness.discipline.state.count, harness.discipline.state.lastcount), (4, 4));
    assert_eq!(harness.discipline.state.drop_next, 650_000_000);
}

#[test]
fn a_long_rest_starts_the_count_anew() {
    let mut harness = full(params(), 40, Ecn::NotCapable);
    for ms in [5.0, 105.0, 205.0, 300.0] {
        at(&mut harness, ms);
    }
    assert_eq!((harness.discipline.state.count, harness.discipline.state.lastcount), (3, 1));
    while at(&mut harness, 301.0).is_some() {}
    harness.now = Time(3_000_000_000);
    (0..40).for_each(|flow| harness.arrive(flow, 1000));
    for ms in [3010.0, 3110.0] {
        at(&mut harness, ms);
    }
    assert_eq!((harness.discipline.state.count, harness.discipline.state.drop_next), (1, 3_210_000_000));
}

#[test]
fn a_queue_of_one_packet_is_left_alone() {
    let mut harness = full(params(), 2, Ecn::NotCapable);
    assert_eq!((at(&mut harness, 5000.0), at(&mut harness, 9000.0)), (Some(0), Some(1)));
    assert!(harness.dropped.is_empty());
}

#[test]
fn marks_in_place_of_drops() {
    let mut harness = full(CodelParams { ecn: true, ..params() }, 60, Ecn::Capable0);
    let mut marked = Vec::new();
    for ms in [5.0, 105.0, 205.0, 400.0, 400.5, 401.0, 401.5] {
        harness.now = Time((ms * 1e6) as u64);
        marked.push(harness.depart().unwrap().ecn == Ecn::CongestionExperienced);
    }
    // As above, but what was due in one call is marked packet by packet.
    assert_eq!(marked, [false, true, true, true, true, true, false]);
    assert!(harness.dropped.is_empty());
}

/// Above the threshold every packet that can be is marked, though CoDel itself would drop; what CoDel drops is dropped.
#[test]
fn an_immediate_threshold_marks_whatever_codel_says() {
    let params = CodelParams { ce_threshold: Some(Span::from_millis(10)), ..params() };
    for (ecn, marks) in [(Ecn::Capable0, [false, true, true]), (Ecn::NotCapable, [false; 3])] {
        let mut harness = full(params.clone(), 60, ecn);
        let left = [10.0, 10.001, 115.0].map(|ms| {
            harness.now = Time((ms * 1e6) as u64);
            harness.depart().unwrap()
        });
        assert_eq!(left.map(|packet| packet.ecn == Ecn::CongestionExperienced), marks);
        // At 10 ms the wait was above the target; CoDel's first drop is an interval later, at the head.
        assert_eq!((left.map(|packet| packet.flow), lost(&harness)), ([0, 1, 3], [2].into()));
    }
}

#[test]
fn the_limit_is_kept() {
    let harness = full(CodelParams { limit: Size::Bytes(2500), ..params() }, 3, Ecn::Capable0);
    assert_eq!(harness.dropped_flows(), [(2, DropReason::Tail)]);
}

/// One Newton step for each drop, from 1 = 65535/65536 on: 1/√2 = 0.7071, 1/√3 = 0.5774, 1/√4.
#[test]
fn linux_finds_the_root_step_by_step() {
    let rule = CodelRule::new(CodelVersion::Linux, Span::from_millis(5), Span::from_millis(100), 1000, false);
    let mut state = CodelState { count: 1, rec_inv_sqrt: u16::MAX, ..CodelState::default() };
    let mut roots = Vec::new();
    for count in 2..=40 {
        state.count = count;
        rule.newton_step(&mut state);
        roots.push(f64::from(state.rec_inv_sqrt) / 65536.0);
    }
    // By hand: ½·(3 − 2) = 0.5; then 0.25·(3 − 3·0.25) = 0.5625; then 0.28125·(3 − 4·0.3164) = 0.4878.
    for (root, expected) in roots.iter().zip([0.5, 0.5625, 0.4878]) {
        assert!((root - expected).abs() < 1e-4, "{roots:?}");
    }
    assert!((roots[38] - 1.0 / libm::sqrt(40.0)).abs() < 1e-3, "{roots:?}");
}
