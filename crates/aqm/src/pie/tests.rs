//! The controller by hand, on a link of 1 Mbit/s where a packet of 1000 bytes takes 8 ms.

use super::rfc8033::Rfc8033;
use super::*;
use crate::harness::{Harness, TestPacket};
use crate::red::Action;
use sluicegate_base::{Ecn, Link, Params};

fn params() -> PieParams {
    PieParams::defaults(&Link { rate: Rate(1_000_000), packet: 1000 }).unwrap()
}

/// The same, but for what PIE has everywhere.
fn with(pie: impl FnOnce(&mut PieBlock)) -> PieParams {
    let mut params = params();
    pie(&mut params.pie);
    params
}

fn state(harness: &Harness<Pie<TestPacket>>, name: &str) -> f64 {
    harness.state(name).unwrap()
}

fn rule(harness: &mut Harness<Pie<TestPacket>>) -> &mut Rfc8033 {
    match &mut harness.discipline.state {
        PieState::Rfc8033(rule) => rule,
        PieState::Linux(_) => panic!("the RFC's law is the default"),
    }
}

/// RFC 8033's calculate_drop_prob, delay by length: 3 packets are 24 ms, 2 are 16 ms, none is 0.
#[test]
fn replays_the_update_of_the_rfc() {
    let mut harness = Harness::new(Pie::new(PieParams { delay: Delay::Length, ..params() }), 1);
    (0..3).for_each(|_| harness.arrive(1, 1000));
    let mut p = 0.0f64;
    let mut old = 0.0;
    for (k, (packets, scale)) in [(3, 2048.0), (3, 128.0), (2, 128.0), (0, 2048.0), (0, 2048.0)].into_iter().enumerate()
    {
        while harness.discipline.packets() > packets {
            harness.depart();
        }
        harness.wait(Span::from_millis(15));
        let delay = 0.008 * packets as f64;
        let change = (0.125 * (delay - 0.015) + 1.25 * (delay - old)) / scale;
        p = (p + change).max(0.0) * if delay + old == 0.0 { 0.98 } else { 1.0 };
        old = delay;
        let shown = state(&harness, "p");
        assert!((shown - p).abs() < 1e-15, "update {k}: {shown} for {p}");
        // The last update finds all at rest, and is not made.
        assert_eq!(rule(&mut harness).burst_allowance, Span::from_millis(150 - 15 * (k as u64 + 1).min(4)));
    }
    assert_eq!((p, harness.discipline.next_wakeup()), (0.0, None), "at rest");
}

/// RFC 8033, Sec. 4.4 and App. A: the burst allowance shrinks at updates, and returns when a packet arrives while p = 0 and the
/// present delay and that of the last update are below half the target.
#[test]
fn the_burst_allowance_returns_on_arrival() {
    for (depart_ms, delay, allowance) in
        [(7, Delay::Timestamp, 150), (8, Delay::Timestamp, 135), (7, Delay::Length, 135)]
    {
        let mut harness = Harness::new(Pie::new(PieParams { delay, ..params() }), 1);
        (0..2).for_each(|_| harness.arrive(1, 1000));
        harness.wait(Span::from_millis(depart_ms));
        harness.depart();
        harness.wait(Span::from_millis(15 - depart_ms));
        assert_eq!(rule(&mut harness).burst_allowance, Span::from_millis(135), "an update shrinks it");
        rule(&mut harness).p = 0.0;
        // By timestamps the delay is how long the last one had waited; by length it is that of the packet left, 8 ms.
        harness.arrive(1, 1000);
        assert_eq!(rule(&mut harness).burst_allowance, Span::from_millis(allowance), "{depart_ms} ms, {delay:?}");
    }
}

/// Each band of p has its divisor; from 0.1 on a step up is at most 0.02. A long delay adds nothing more in the RFC; with
/// Linux's `long_delay` = 250 ms it adds 0.02.
#[test]
fn point_8_steps_are_scaled_by_the_probability_and_linux_adds_to_them() {
    let step = |long_delay, p: f64, packets: u64| {
        let params = PieParams { delay: Delay::Length, ..with(|pie| pie.long_delay = long_delay) };
        let mut harness = Harness::new(Pie::new(params), 1);
        (0..packets).for_each(|_| harness.arrive(1, 1000));
        let qdelay = harness.discipline.qdelay_by_length().unwrap();
        (rule(&mut harness).p, rule(&mut harness).qdelay_old) = (p, qdelay);
        harness.wait(Span::from_millis(15));
        state(&harness, "p") - p
    };
    let after = |p, packets| step(None, p, packets);
    let linux = |p, packets| step(Some(Span::from_millis(250)), p, packets);
    // 25 packets are 200 ms: 0.125·0.185 = 0.023125.
    for (p, divisor) in [(0.0, 2048.0), (5e-6, 512.0), (5e-5, 128.0), (5e-4, 32.0), (5e-3, 8.0), (0.05, 2.0)] {
        assert!((after(p, 25) - 0.023125 / divisor).abs() < 1e-12, "p = {p}");
    }
    assert!((after(0.5, 25) - 0.02).abs() < 1e-12);
    // 32 packets are 256 ms: 0.125·0.241/2, and 0.02 in Linux; 31 are 248 ms.
    assert!((after(0.05, 32) - 0.0150625).abs() < 1e-12);
    assert!((linux(0.05, 32) - (0.0150625 + 0.02)).abs() < 1e-12);
    assert_eq!(linux(0.05, 31), after(0.05, 31));
    assert!((linux(0.5, 32) - 0.04).abs() < 1e-12);
    assert_eq!(linux(0.99, 32) + 0.99, 1.0);
}

#[test]
fn the_delay_is_that_of_the_packet_that_left_last() {
    let mut harness = Harness::new(Pie::new(params()), 1);
    (0..3).for_each(|_| harness.arrive(1, 1000));
    harness.wait(Span::from_millis(7));
    harness.depart();
    assert_eq!(state(&harness, "qdelay_s"), 0.007);
    harness.wait(Span::from_millis(7));
    harness.depart();
    assert_eq!(state(&harness, "qdelay_s"), 0.014);
    harness.depart();
    assert_eq!(state(&harness, "qdelay_s"), 0.0, "it left the queue empty");
}

/// p = 0.1, without updates: with derandomisation a gap is 9 packets at least, and 85 at most (86, as 85 times 0.1 in binary is
/// just below 8.5).
#[test]
fn signals_are_spaced_out() {
    for (derandomise, least, most) in [(true, 9, 86), (false, 1, 200)] {
        let params = with(|pie| {
            (pie.max_burst, pie.t_update) = (Span::ZERO, Span::from_secs(1_000_000_000));
            pie.derandomise = derandomise;
        });
        let mut harness = Harness::new(Pie::new(PieParams { limit: Size::Packets(1 << 40), ..params }), 1);
        (0..2).for_each(|_| harness.arrive(1, 1000));
        (rule(&mut harness).p, rule(&mut harness).qdelay_old) = (0.1, Span::from_secs(1));
        let (mut gap, mut gaps) = (0, alloc::vec::Vec::new());
        for _ in 0..200_000 {
            let before = harness.dropped.len();
            harness.arrive(1, 1000);
            gap += 1;
            if harness.dropped.len() > before {
                gaps.push(gap);
                gap = 0;
            }
        }
        let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
        // 8 packets for nothing and then 10 on average, but for the bound of 85: 10·(1 − 0.9⁷⁷) + 8 = 18.0; else 10.
        let expected = if derandomise { 18.0 } else { 10.0 };
        assert!((mean - expected).abs() < 0.4, "{mean}");
        assert!(gaps.iter().all(|gap| (least..=most).contains(gap)), "{:?}", gaps.iter().max());
    }
}

/// For the first 150 ms everything passes, whatever p is; a short queue always does.
#[test]
fn bursts_and_short_queues_are_spared() {
    let mut harness = Harness::new(Pie::new(with(|pie| pie.derandomise = false)), 1);
    harness.arrive(1, 1000);
    rule(&mut harness).p = 1.0;
    (0..100).for_each(|_| harness.arrive(1, 1000));
    assert_eq!(harness.dropped.len(), 0);
    for _ in 0..10 {
        harness.wait(Span::from_millis(15));
        rule(&mut harness).p = 1.0;
    }
    (0..100).for_each(|_| harness.arrive(1, 1000));
    assert_eq!(harness.dropped.len(), 100);
    while harness.discipline.bytes() >= 2000 {
        harness.depart();
    }
    harness.arrive(1, 1000);
    assert_eq!((harness.dropped.len(), harness.discipline.packets()), (100, 2));
    harness.assert_conserved();
}

#[test]
fn a_marker_drops_from_its_threshold_on() {
    // RFC 8033, Sec. 5.1 and App. B: marked if p < mark_ecnth.
    for (p, marked) in [(0.099, true), (0.1, false)] {
        let params = with(|pie| (pie.action, pie.max_burst) = (Action::Mark, Span::ZERO));
        let mut harness = Harness::new(Pie::new(params), 1);
        (0..2).for_each(|_| harness.offer(1, 1000, Ecn::Capable0));
        (rule(&mut harness).p, rule(&mut harness).qdelay_old) = (p, Span::from_secs(1));
        (0..100).for_each(|_| harness.offer(1, 1000, Ecn::Capable0));
        let lost = harness.dropped.len();
        let marks =
            core::iter::from_fn(|| harness.depart()).filter(|packet| packet.ecn == Ecn::CongestionExperienced).count();
        assert!(
            if marked { lost == 0 && marks > 2 } else { lost > 2 && marks == 0 },
            "{p}: {lost} lost, {marks} marked"
        );
    }
}

/// Updates come at multiples of t_update from the start, whenever the first packet does.
#[test]
fn point_8_the_first_update_comes_within_t_update() {
    for (ms, update) in [(0, 15), (14, 15), (15, 30), (16, 30)] {
        let mut harness = Harness::new(Pie::new(params()), 1);
        harness.wait(Span::from_millis(ms));
        harness.arrive(1, 1000);
        assert_eq!(harness.discipline.next_wakeup(), Some(Time::ZERO + Span::from_millis(update)), "{ms} ms");
    }
}

/// A century of rest is not updated through.
#[test]
fn an_idle_link_is_quiet() {
    let mut harness = Harness::new(Pie::new(params()), 1);
    assert_eq!(harness.discipline.next_wakeup(), None);
    harness.wait(Span::from_secs(3_155_760_000));
    harness.arrive(1, 1000);
    assert_eq!(
        harness.discipline.next_wakeup(),
        Some(Time::ZERO + Span::from_secs(3_155_760_000) + Span::from_millis(15))
    );
}
