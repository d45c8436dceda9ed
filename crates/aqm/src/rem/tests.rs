//! The price by hand: gamma = 1/4, alpha = 1/2, b_ref = 2, phi = 2, updates every 16 ms, in which the link sends two packets.

use super::*;
use crate::rig::{Rig, TestPacket};
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

fn update(rig: &mut Rig<Rem<TestPacket>>) -> (f64, f64) {
    rig.wait(Span::from_millis(16));
    (rig.state("price").unwrap(), rig.state("p").unwrap())
}

#[test]
fn replays_the_papers_rule() {
    let mut rig = Rig::new(Rem::new(params()), 1);
    let mut draws = rig.rng.clone();
    assert_eq!(rig.discipline.next_wakeup(), None);
    (0..6).for_each(|_| {
        rig.arrive(1, 1000);
        draws.uniform();
    });
    // price = (6 + (6 − 2)/2 − 2)/4 = 1.5, p = 1 − 2^−1.5.
    let (price, p) = update(&mut rig);
    assert_eq!(price, 1.5);
    assert!((p - 0.646_446_609_406_726_2).abs() < 1e-15);
    (0..2).for_each(|_| {
        let before = rig.lost.len();
        rig.arrive(1, 1000);
        assert_eq!(rig.lost.len() - before, usize::from(draws.uniform() < p));
    });
    (0..4).for_each(|_| assert!(rig.depart().is_some()));
    // Two came, lost or not; q is what is left: price = 1.5 + (2 + (q − 2)/2 − 2)/4.
    let q = rig.discipline.packets() as f64;
    assert_eq!(update(&mut rig).0, 1.5 + (2.0 + (q - 2.0) / 2.0 - 2.0) / 4.0);
    // Empty: price falls by (0 + (0 − 2)/2 − 2)/4 = −0.75 each time, then all is at rest.
    while rig.depart().is_some() {}
    let before = rig.state("price").unwrap();
    assert_eq!(update(&mut rig).0, before - 0.75);
    (0..2).for_each(|_| assert!(update(&mut rig).0 >= 0.0));
    assert_eq!((rig.state("price"), rig.state("p"), rig.discipline.next_wakeup()), (Some(0.0), Some(0.0), None));
    rig.assert_conserved();
}

/// inw = 1/2: the average of arrivals halves with each update, those that nobody asked for too.
#[test]
fn arrivals_are_averaged() {
    let smooth = RemParams { inw: 0.5, gamma: 0.001, b_ref: Size::Packets(100), ..params() };
    let mut rig = Rig::new(Rem::new(smooth), 1);
    (0..4).for_each(|_| rig.arrive(1, 1000));
    while rig.depart().is_some() {}
    update(&mut rig);
    assert_eq!((rig.discipline.in_avg, rig.discipline.next_wakeup()), (2.0, None));
    rig.wait(Span::from_millis(40));
    rig.arrive(1, 1000);
    assert_eq!(rig.discipline.in_avg, 0.5, "two updates passed over");
    assert_eq!(rig.discipline.next_wakeup(), Some(Time(64_000_000)));
}

/// In bytes: six packets of 500 are three of 1000, and half as likely to be dropped.
#[test]
fn byte_mode_counts_bytes() {
    let byte = RemParams { mode: Mode::Byte, b_ref: Size::Bytes(2000), ..params() };
    let mut rig = Rig::new(Rem::new(byte), 1);
    (0..6).for_each(|_| rig.arrive(1, 500));
    // (3 + (3 − 2)/2 − 2)/4.
    assert_eq!(update(&mut rig).0, 0.375);
    (rig.discipline.p, rig.lost) = (Some(0.5), alloc::vec::Vec::new());
    (0..10_000).for_each(|_| {
        rig.depart();
        rig.arrive(1, 500);
    });
    // Four standard errors of 2500 are 173.
    assert!((2327..2673).contains(&rig.lost.len()), "{}", rig.lost.len());
}

#[test]
fn a_marker_marks_what_it_can() {
    let mut rig = Rig::new(Rem::new(RemParams { action: Action::Mark, ..params() }), 1);
    rig.discipline.p = Some(1.0);
    [Ecn::Capable0, Ecn::NotCapable].into_iter().for_each(|ecn| rig.offer(1, 1000, ecn));
    assert_eq!(rig.lost_flows(), [(1, Cause::Early)]);
    assert_eq!(rig.depart().unwrap().ecn, Ecn::CongestionExperienced);
}
