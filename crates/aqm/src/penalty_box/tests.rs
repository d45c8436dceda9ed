//! The rule by hand, with w_q = 1 and max_th = 2: a queue of two loses every arrival, so that the test sets the history.

use super::*;
use crate::rig::{Rig, TestPacket};
use alloc::vec::Vec;
use sluicegate_base::{Ecn, Link, Params};

fn params() -> PenaltyBoxParams {
    let defaults = PenaltyBoxParams::defaults(&Link { rate: Rate(1_000_000), packet: 1000 }).unwrap();
    PenaltyBoxParams {
        w_q: 1.0,
        min_th: Size::Packets(1),
        max_th: Size::Packets(2),
        max_p: 1e-12,
        drops: 16,
        ..defaults
    }
}

/// A rig whose queue holds two packets of flow 100: what arrives now is lost.
fn full(params: PenaltyBoxParams) -> Rig<PenaltyBox<TestPacket>> {
    let mut rig = Rig::new(PenaltyBox::new(params), 1);
    rig.arrive(100, 1000);
    rig.arrive(100, 1000);
    assert_eq!(rig.discipline.packets(), 2);
    rig
}

/// Flow 1 gets 12 of 16 drops, flows 2 … 5 one each, in one second.
fn one_second(rig: &mut Rig<PenaltyBox<TestPacket>>) {
    for flow in [1, 1, 1, 2, 1, 1, 1, 3, 1, 1, 1, 4, 1, 1, 1, 5] {
        rig.wait(Span(62_500_000));
        rig.arrive(flow, 1000);
    }
}

#[test]
fn a_disproportionate_flow_goes_into_the_box() {
    let mut rig = full(params());
    one_second(&mut rig);
    assert!(rig.lost_flows().iter().all(|(_, cause)| *cause == Cause::Forced));
    // n = 5: ln(15)/5 = 0.5416 of λ = 18,000 bytes/s; 12/16 = 0.75 is more. p = 16/18: c/√p = 12,728 bytes/s, and flow 1
    // has 0.75·18,000 = 13,500 bytes/s, which is more too. The others have 1,125.
    let bounds = rig.discipline.bounds(Traffic { n: 5.0, p: 16.0 / 18.0, rate: 18_000.0 });
    let into = bounds[0].unwrap().into;
    assert!((into - 12_000.0 / libm::sqrt(16.0 / 18.0)).abs() < 1e-9 && bounds[1].is_none(), "{into}");
    // Flow 1 now has the bucket's ten packets, which RED loses; then it is policed. Flow 2 is RED's alone.
    let before = rig.lost.len();
    (0..12).for_each(|_| rig.arrive(1, 1000));
    rig.arrive(2, 1000);
    let causes: Vec<Cause> = rig.lost[before..].iter().map(|(_, cause)| *cause).collect();
    assert_eq!(causes[..10], [Cause::Forced; 10]);
    assert_eq!(causes[10..], [Cause::Policed, Cause::Policed, Cause::Forced]);
    assert_eq!(rig.discipline.history.signals(), 1, "flow 2's; those of restricted flows do not count");
    rig.assert_conserved();
}

#[test]
fn both_parts_of_the_test_must_hold() {
    // c/√p above flow 1's rate: 13,500 < 12,800·√(18/16) = 13,576.
    let mut rig = full(PenaltyBoxParams { c: Rate(8 * 12_800), ..params() });
    one_second(&mut rig);
    assert!(rig.discipline.restricted.is_empty() && rig.discipline.next_wakeup().is_none());
    // Two flows: ln(6)/2 = 0.896 of the drops is the least for which one is restricted, and 14 of 16 is 0.875.
    for (large, restricted) in [(14, false), (15, true)] {
        let mut rig = full(PenaltyBoxParams { c: Rate(0), ..params() });
        for k in 0..16 {
            rig.wait(Span(62_500_000));
            rig.arrive(if k < large { 1 } else { 2 }, 1000);
        }
        assert_eq!(rig.discipline.restricted.is_empty(), !restricted, "{large} of 16");
    }
}

#[test]
fn a_flow_above_tcps_rate_fails_the_other_test() {
    // B/R = 20,000 bytes/s at 50 ms; p = 16/18: 1.45·B/(R·√p) = 30,759 bytes/s. At 20 ms it would be 76,898; at 120 ms
    // it is 12,816 < 13,500.
    for (rtt, restricted) in [(50, false), (120, true)] {
        let params = PenaltyBoxParams { test: Test::TcpFriendly, rtt: Span::from_millis(rtt), ..params() };
        let mut rig = full(params);
        one_second(&mut rig);
        assert_eq!(rig.discipline.restricted.is_empty(), !restricted, "{rtt} ms");
    }
    let either = PenaltyBox::<TestPacket>::new(PenaltyBoxParams { test: Test::Either, ..params() });
    assert!(either.bounds(Traffic { n: 5.0, p: 0.1, rate: 1e5 }).iter().all(Option::is_some));
}

/// 5 s later the box looks: what arrived is compared with the 12,728 bytes/s of the test.
#[test]
fn a_flow_is_free_when_it_sends_less() {
    for (each_second, free) in [(12, true), (13, false)] {
        let mut rig = full(params());
        one_second(&mut rig);
        let convicted = rig.now;
        assert_eq!(rig.discipline.next_wakeup(), Some(convicted + Span::from_secs(5)));
        for _ in 0..5 {
            (0..each_second).for_each(|_| rig.arrive(1, 1000));
            rig.wait(Span::from_secs(1));
        }
        assert_eq!(rig.discipline.restricted.is_empty(), free, "{each_second} packets a second");
        let next = (!free).then_some(convicted + Span::from_secs(10));
        assert_eq!(rig.discipline.next_wakeup(), next);
    }
}

#[test]
fn the_box_has_its_share_of_the_link() {
    // 5 % of 1 Mbit/s are 6250 bytes/s: in 100 s, 625,000 bytes and the depth of 10,000.
    let mut rig = full(params());
    one_second(&mut rig);
    let before = rig.lost.len();
    for _ in 0..10_000 {
        rig.arrive(1, 1000);
        rig.wait(Span::from_millis(10));
    }
    let policed = rig.lost[before..].iter().filter(|(_, cause)| *cause == Cause::Policed).count();
    assert!((10_000 - policed).abs_diff(635) <= 1, "{} passed", 10_000 - policed);
    let mut rig = full(PenaltyBoxParams { share: 0.0, ..params() });
    one_second(&mut rig);
    rig.arrive(1, 1000);
    assert_eq!(rig.lost_flows().last(), Some(&(1, Cause::Policed)), "share = 0 drops all");
}

#[test]
fn marks_enter_the_history_too() {
    let marker = PenaltyBoxParams { action: Action::Mark, above_max_th: Action::Mark, ..params() };
    let mut rig = full(marker);
    (0..15).for_each(|_| rig.offer(1, 1000, Ecn::Capable0));
    assert_eq!((rig.lost.len(), rig.discipline.history.signals()), (0, 15));
}

#[test]
fn a_history_without_time_convicts_nobody() {
    let mut rig = full(PenaltyBoxParams { c: Rate(0), ..params() });
    (0..200).for_each(|_| rig.arrive(1, 1000));
    assert!(rig.discipline.restricted.is_empty());
}
