//! The rule by hand, with w_q = 1 and max_th = 2: a queue of two drops every arrival, so that the test sets the history.

use super::*;
use crate::discipline::FlowKey;
use crate::harness::{Harness, TestPacket};
use crate::red::Action;
use alloc::vec;
use alloc::vec::Vec;
use sluicegate_base::{Ecn, Link, Params};

fn params() -> PenaltyBoxParams {
    let defaults = PenaltyBoxParams::defaults(&Link { rate: Rate(1_000_000), packet: 1000 }).unwrap();
    PenaltyBoxParams {
        red: RedBlock {
            w_q: 1.0,
            min_th: Size::Packets(1),
            max_th: Size::Packets(2),
            max_p: 1e-12,
            ..defaults.red.clone()
        },
        ..defaults
    }
}

/// A harness whose queue holds two packets of flow 100: what arrives now is dropped.
fn full(params: PenaltyBoxParams) -> Harness<PenaltyBox<TestPacket>> {
    let mut harness = Harness::new(PenaltyBox::new(params), 1);
    harness.arrive(100, 1000);
    harness.arrive(100, 1000);
    assert_eq!(harness.discipline.packets(), 2);
    harness
}

/// A report's time, in which these flows send so many packets each, first all of the first.
fn send(harness: &mut Harness<PenaltyBox<TestPacket>>, sent: &[(u64, u64)]) {
    let end = harness.now + Span::from_secs(5);
    for &(flow, packets) in sent {
        (0..packets).for_each(|_| harness.arrive(flow, 1000));
    }
    harness.wait(end.since(harness.now));
}

/// Flow 1 has 60 of 80 drops, flows 2 … 5 have five each.
const MOSTLY_ONE: [(u64, u64); 5] = [(1, 60), (2, 5), (3, 5), (4, 5), (5, 5)];

fn boxed(harness: &Harness<PenaltyBox<TestPacket>>) -> Vec<u64> {
    harness.discipline.restricted.flows.keys().map(|flow| flow.0).collect()
}

/// A capture may leave out a century. The reports stay at multiples of their interval.
#[test]
fn nothing_is_asked_for_while_nothing_happens() {
    let mut harness = Harness::new(PenaltyBox::new(params()), 1);
    assert_eq!(harness.discipline.next_wakeup(), None);
    harness.arrive(1, 1000);
    assert_eq!(harness.discipline.next_wakeup(), Some(Time::ZERO + Span::from_secs(5)));
    harness.wait(Span::from_secs(7));
    assert_eq!(harness.discipline.next_wakeup(), None);
    harness.wait(Span::from_secs(3_155_760_006));
    harness.arrive(1, 1000);
    assert_eq!(harness.discipline.next_wakeup(), Some(Time::ZERO + Span::from_secs(3_155_760_015)));
    harness.wait(Span::from_secs(1));
    let report = harness.discipline.history.report(harness.now).unwrap();
    assert_eq!(report.lambda, 250.0, "1000 bytes since 3 155 760 010 s");
}

/// n = 5; p = 80/82; λ = 82,000/5 = 16,400 bytes/s; x = 0.75·16,400 = 12,300. ln(15)/5·16,400 = 8,882.6 is less, and
/// 12,300·√(80/82) = 12,149 is more than 12,000.
#[test]
fn a_disproportionate_flow_goes_into_the_box() {
    let mut harness = full(params());
    assert_eq!(harness.discipline.next_wakeup(), Some(Time::ZERO + Span::from_secs(5)));
    MOSTLY_ONE.iter().for_each(|&(flow, packets)| (0..packets).for_each(|_| harness.arrive(flow, 1000)));
    let report = harness.discipline.history.report(Time::ZERO + Span::from_secs(5)).unwrap();
    assert_eq!(report, Report { n: 5.0, p: 80.0 / 82.0, lambda: 16_400.0, top: Some((FlowKey(1), 12_300.0)) });
    assert!(boxed(&harness).is_empty());
    harness.wait(Span::from_secs(5));
    assert_eq!(boxed(&harness), [1]);
    // Flow 1 now has the bucket's ten packets, which RED drops; then it is policed. Flow 2 is RED's alone.
    let before = harness.dropped.len();
    (0..12).for_each(|_| harness.arrive(1, 1000));
    harness.arrive(2, 1000);
    let reasons: Vec<DropReason> = harness.dropped[before..].iter().map(|(_, reason)| *reason).collect();
    assert_eq!(reasons[..10], [DropReason::Forced; 10]);
    assert_eq!(reasons[10..], [DropReason::Policed, DropReason::Policed, DropReason::Forced]);
    let report = harness.discipline.history.report(harness.now + Span::from_secs(5)).unwrap();
    assert_eq!((report.n, report.lambda), (1.0, 200.0), "flow 2's; restricted flows do not count");
    harness.assert_conserved();
}

#[test]
fn both_parts_of_the_test_must_hold() {
    // 12,149 is less than 12,200.
    let mut harness = full(PenaltyBoxParams { c: Rate(8 * 12_200), ..params() });
    send(&mut harness, &MOSTLY_ONE);
    assert!(boxed(&harness).is_empty());
    // Two flows: ln(6)/2 = 0.896 of the arrivals is the least for which one is restricted; 89 % is not and 90 % is.
    for (large, convicted) in [(89, false), (90, true)] {
        let mut harness = full(PenaltyBoxParams { c: Rate(0), ..params() });
        send(&mut harness, &[(1, large), (2, 100 - large)]);
        assert_eq!(!boxed(&harness).is_empty(), convicted, "{large} of 100");
    }
}

/// ln(3)/1 is above 1.
#[test]
fn a_flow_that_is_alone_is_never_disproportionate() {
    let mut harness = full(PenaltyBoxParams { c: Rate(0), ..params() });
    (0..20).for_each(|_| send(&mut harness, &[(1, 500)]));
    assert!(boxed(&harness).is_empty());
}

/// The estimate goes by bytes: 20 drops of 1500 bytes weigh more than 60 of 40.
#[test]
fn the_largest_part_of_the_drops_is_counted_in_bytes() {
    let mut harness = full(params());
    (0..60).for_each(|_| harness.arrive(1, 40));
    (0..20).for_each(|_| harness.arrive(2, 1500));
    let report = harness.discipline.history.report(Time::ZERO + Span::from_secs(5)).unwrap();
    // 34,400 bytes arrived, 32,400 of them dropped, 30,000 of flow 2.
    assert_eq!(report.top, Some((FlowKey(2), 30_000.0 / 32_400.0 * 6_880.0)));
}

/// B/R = 20,000 bytes/s at 50 ms: 1.2·1.22·20,000/√(80/82) = 29,644 bytes/s. At 120 ms it is 12,351, at 121 ms 12,249, and
/// flow 1 has 12,300.
#[test]
fn a_flow_above_tcps_rate_fails_the_friendly_test() {
    for (rtt, convicted) in [(50, false), (120, false), (121, true)] {
        let params = PenaltyBoxParams { test: Test::TcpFriendly, rtt: Span::from_millis(rtt), ..params() };
        let mut harness = full(params);
        send(&mut harness, &MOSTLY_ONE);
        assert_eq!(!boxed(&harness).is_empty(), convicted, "{rtt} ms");
    }
    // What is TCP-friendly may still be disproportionate.
    let mut harness = full(PenaltyBoxParams { test: Test::Any, ..params() });
    send(&mut harness, &MOSTLY_ONE);
    assert_eq!(boxed(&harness), [1]);
}

/// A report names one flow, the one with most of the drops; the next names the next.
#[test]
fn one_flow_goes_into_the_box_at_a_time() {
    let mut harness = full(PenaltyBoxParams { test: Test::TcpFriendly, rtt: Span::from_secs(1), ..params() });
    let equals = [(9, 200), (8, 201), (7, 200)];
    for expected in [vec![8], vec![7, 8], vec![7, 8, 9]] {
        send(&mut harness, &equals);
        assert_eq!(boxed(&harness), expected, "of equals the first by its key");
    }
}

/// Of so many packets of flow 1 the queue takes the first and drops the others.
fn offer(harness: &mut Harness<PenaltyBox<TestPacket>>, taken: u64, dropped: u64) {
    for _ in 0..taken {
        harness.depart().unwrap();
        harness.arrive(1, 1000);
    }
    send(harness, &[(1, dropped)]);
}

/// The first report: 22 packets with the two of the start, p = 5/22 = 0.227, x = 4,400 bytes/s. The second must have
/// p > 0.4545 and x > 3,520 to make the flow suspect; the third p ≥ 0.98·p and x ≥ 0.98·x of the second to convict it.
#[test]
fn a_flow_that_does_not_respond_twice_goes_into_the_box() {
    let cases = [
        ((10, 10), (10, 10), true),  // p = 0.5, x = 4,000, twice
        ((11, 9), (10, 10), false),  // p = 0.45 is not twice as much
        ((9, 8), (10, 10), false),   // p = 0.47, but x = 3,400
        ((10, 10), (11, 10), false), // p = 0.476 is below 0.49
        ((10, 10), (9, 10), false),  // x = 3,800 is below 3,920
    ];
    for (second, third, convicted) in cases {
        let mut harness = full(PenaltyBoxParams { test: Test::Unresponsive, ..params() });
        for (taken, dropped) in [(15, 5), second, third] {
            assert!(boxed(&harness).is_empty());
            offer(&mut harness, taken, dropped);
        }
        assert_eq!(!boxed(&harness).is_empty(), convicted, "{second:?}, then {third:?}");
    }
}

/// It sent 4,000 bytes/s when it was put in; 3,200 are 0.8 of that.
#[test]
fn an_unresponsive_flow_is_free_when_it_responds() {
    for (packets, free) in [(16, true), (17, false)] {
        let mut harness = full(PenaltyBoxParams { test: Test::Unresponsive, ..params() });
        [(15, 5), (10, 10), (10, 10)].iter().for_each(|&(taken, dropped)| offer(&mut harness, taken, dropped));
        assert_eq!(boxed(&harness), [1]);
        send(&mut harness, &[(1, packets)]);
        assert_eq!(boxed(&harness).is_empty(), free, "{packets} packets in 5 s");
    }
}

/// All that flow 1 sends is dropped, p_B = 1: with x·√p_B it must come down to 12,000 bytes/s, or to ln(3)/1 = 1.0986 of what
/// the only other flow sends.
#[test]
fn a_disproportionate_flow_is_free_when_it_sends_less() {
    for (own, other, free) in [(60, 5, true), (61, 5, false), (61, 55, false), (61, 56, true), (61, 0, true)] {
        let mut harness = full(params());
        send(&mut harness, &MOSTLY_ONE);
        assert_eq!(boxed(&harness), [1]);
        send(&mut harness, &[(1, own), (2, other)]);
        assert_eq!(boxed(&harness).is_empty(), free, "{own} and {other} packets in 5 s");
    }
}

/// At R = 121 ms a TCP all of whose packets are dropped has 1.2·1.22·1000/0.121 = 12,099 bytes/s.
#[test]
fn an_unfriendly_flow_is_free_when_it_is_friendly() {
    for (packets, free) in [(60, true), (61, false), (0, true)] {
        let params = PenaltyBoxParams { test: Test::TcpFriendly, rtt: Span::from_millis(121), ..params() };
        let mut harness = full(params);
        send(&mut harness, &MOSTLY_ONE);
        send(&mut harness, &[(1, packets)]);
        assert_eq!(boxed(&harness).is_empty(), free, "{packets} packets in 5 s");
    }
}

/// At R = 120 ms a TCP with p = 80/82 has 12,351 bytes/s, so that flow 1 is high, not unfriendly. With p_B = 1 it is
/// 12,200: 12,400 is too much by that, though not disproportionate beside 1.0986·12,000.
#[test]
fn with_any_a_disproportionate_flow_must_be_friendly_too() {
    for (test, packets, free) in [(Test::Any, 62, false), (Test::Any, 61, true), (Test::Disproportionate, 62, true)] {
        let mut harness = full(PenaltyBoxParams { test, rtt: Span::from_millis(120), ..params() });
        send(&mut harness, &MOSTLY_ONE);
        assert_eq!(boxed(&harness), [1]);
        send(&mut harness, &[(1, packets), (2, 60)]);
        assert_eq!(boxed(&harness).is_empty(), free, "{packets} packets in 5 s");
    }
}

/// Ten reports are remembered: the first of flow 1 makes it suspect after nine of others, and not after ten.
#[test]
fn ten_reports_are_remembered() {
    for (others, convicted) in [(9, true), (10, false)] {
        let mut responses = Responses::new();
        assert!(!responses.unresponsive(FlowKey(1), 0.1, 1000.0));
        (0..others).for_each(|k| assert!(!responses.unresponsive(FlowKey(100 + k), 0.1, 1000.0)));
        assert!(!responses.unresponsive(FlowKey(1), 0.3, 1000.0), "suspect at most");
        assert_eq!(responses.unresponsive(FlowKey(1), 0.3, 1000.0), convicted);
        // Dealt with, it begins anew.
        responses.forget(FlowKey(1));
        assert!(!responses.unresponsive(FlowKey(1), 0.9, 1000.0));
    }
}

#[test]
fn the_box_has_its_share_of_the_link() {
    // 5 % of 1 Mbit/s are 6250 bytes/s: in 100 s, 625,000 bytes and the depth of 10,000. Flow 2 keeps flow 1 in the box.
    let mut harness = full(params());
    send(&mut harness, &MOSTLY_ONE);
    let before = harness.dropped.len();
    for _ in 0..10_000 {
        harness.arrive(1, 1000);
        harness.arrive(2, 40);
        harness.wait(Span::from_millis(10));
    }
    let policed = harness.dropped[before..].iter().filter(|(_, reason)| *reason == DropReason::Policed).count();
    assert!((10_000 - policed).abs_diff(635) <= 1, "{} passed", 10_000 - policed);
    let mut harness = full(PenaltyBoxParams { share: 0.0, ..params() });
    send(&mut harness, &MOSTLY_ONE);
    harness.arrive(1, 1000);
    assert_eq!(harness.dropped_flows().last(), Some(&(1, DropReason::Policed)), "share = 0 drops all");
}

#[test]
fn marks_enter_the_history_too() {
    let marker =
        PenaltyBoxParams { signal: RedSignal { action: Action::Mark, above_max_th: Action::Mark }, ..params() };
    let mut harness = full(marker);
    (0..15).for_each(|_| harness.offer(1, 1000, Ecn::Capable0));
    let report = harness.discipline.history.report(Time(1)).unwrap();
    assert_eq!((harness.dropped.len(), report.p), (0, 15.0 / 17.0));
}

/// A million flows with a drop each, then one with many: the history stays small, and the flow is found in the next report.
#[test]
fn many_flows_do_not_fill_the_memory() {
    let mut harness = full(params());
    // Ids that a plain modulus would put into one bucket, each before all that are known.
    (1..=1_000_000u64).rev().for_each(|k| harness.arrive(k << 44, 1000));
    let report = harness.discipline.history.report(Time(1)).unwrap();
    assert_eq!((report.n, report.p), (1000.0, 1_000_000.0 / 1_000_002.0));
    send(&mut harness, &[]);
    assert!(boxed(&harness).is_empty());
    send(&mut harness, &[(1, 61), (2, 5), (3, 5), (4, 5)]);
    assert_eq!(boxed(&harness), [1]);
}
