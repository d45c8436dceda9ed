//! The price by hand: gamma = 1/4, alpha = 1/2, b_ref = 2, phi = 2, updates every 16 ms, in which the link sends two packets.

use super::*;
use crate::harness::{Harness, TestPacket};
use crate::red::Action;
use sluicegate_base::{Ecn, Link, Params};

fn params() -> RemParams {
    let defaults = RemParams::defaults(&Link { rate: Rate(1_000_000), packet: 1000 }).unwrap();
    RemParams {
        gamma: 0.25,
        alpha: 0.5,
        b_ref: Size::Packets(2),
        phi: 2.0,
        t_update: Span::from_millis(16),
        ..defaults
    }
}

fn update(harness: &mut Harness<Rem<TestPacket>>) -> (f64, f64) {
    harness.wait(Span::from_millis(16));
    (harness.state("price").unwrap(), harness.state("p").unwrap())
}

#[test]
fn replays_the_papers_rule() {
    let mut harness = Harness::new(Rem::new(params()), 1);
    let mut draws = harness.rng.clone();
    assert_eq!(harness.discipline.next_wakeup(), None);
    (0..6).for_each(|_| {
        harness.arrive(1, 1000);
        draws.uniform();
    });
    // price = (6 + (6 − 2)/2 − 2)/4 = 1.5, p = 1 − 2^−1.5.
    let (price, p) = update(&mut harness);
    assert_eq!(price, 1.5);
    assert!((p - 0.646_446_609_406_726_2).abs() < 1e-15);
    (0..2).for_each(|_| {
        let before = harness.dropped.len();
        harness.arrive(1, 1000);
        assert_eq!(harness.dropped.len() - before, usize::from(draws.uniform() < p));
    });
    (0..4).for_each(|_| assert!(harness.depart().is_some()));
    // Two came, lost or not; q is what is left: price = 1.5 + (2 + (q − 2)/2 − 2)/4.
    let q = harness.discipline.packets() as f64;
    assert_eq!(update(&mut harness).0, 1.5 + (2.0 + (q - 2.0) / 2.0 - 2.0) / 4.0);
    // Empty: price falls by (0 + (0 − 2)/2 − 2)/4 = −0.75 each time, then all is at rest.
    while harness.depart().is_some() {}
    let before = harness.state("price").unwrap();
    assert_eq!(update(&mut harness).0, before - 0.75);
    (0..2).for_each(|_| assert!(update(&mut harness).0 >= 0.0));
    assert_eq!(
        (harness.state("price"), harness.state("p"), harness.discipline.next_wakeup()),
        (Some(0.0), Some(0.0), None)
    );
    harness.assert_conserved();
}

/// inw = 1/2: the average of arrivals halves with each update, those that nobody asked for too.
#[test]
fn arrivals_are_averaged() {
    let smooth = RemParams { inw: 0.5, gamma: 0.001, b_ref: Size::Packets(100), ..params() };
    let mut harness = Harness::new(Rem::new(smooth), 1);
    (0..4).for_each(|_| harness.arrive(1, 1000));
    while harness.depart().is_some() {}
    update(&mut harness);
    assert_eq!((harness.discipline.in_avg, harness.discipline.next_wakeup()), (2.0, None));
    harness.wait(Span::from_millis(40));
    harness.arrive(1, 1000);
    assert_eq!(harness.discipline.in_avg, 0.5, "two updates passed over");
    assert_eq!(harness.discipline.next_wakeup(), Some(Time(64_000_000)));
}

/// In bytes: six packets of 500 are three of 1000, and half as likely to be dropped.
#[test]
fn byte_mode_counts_bytes() {
    let byte = RemParams { mode: Mode::Byte, b_ref: Size::Bytes(2000), ..params() };
    let mut harness = Harness::new(Rem::new(byte), 1);
    (0..6).for_each(|_| harness.arrive(1, 500));
    // (3 + (3 − 2)/2 − 2)/4.
    assert_eq!(update(&mut harness).0, 0.375);
    (harness.discipline.p, harness.dropped) = (0.5, alloc::vec::Vec::new());
    (0..10_000).for_each(|_| {
        harness.depart();
        harness.arrive(1, 500);
    });
    // Four standard errors of 2500 are 173.
    assert!((2327..2673).contains(&harness.dropped.len()), "{}", harness.dropped.len());
}

#[test]
fn a_marker_marks_what_it_can() {
    let mut harness =
        Harness::new(Rem::new(RemParams { marking: Marking { action: Action::Mark, mark_th: 1.0 }, ..params() }), 1);
    harness.discipline.p = 1.0;
    [Ecn::Capable0, Ecn::NotCapable].into_iter().for_each(|ecn| harness.offer(1, 1000, ecn));
    assert_eq!(harness.dropped_flows(), [(1, DropReason::Early)]);
    assert_eq!(harness.depart().unwrap().ecn, Ecn::CongestionExperienced);
}
