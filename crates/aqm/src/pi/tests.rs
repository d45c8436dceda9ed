//! The controller by hand, with a = 1/32 and b = 1/64, sampled every second.

use super::*;
use crate::harness::{Harness, TestPacket};
use crate::red::Action;
use sluicegate_base::{Ecn, Link, Params, Rate};

fn params() -> PiParams {
    let defaults = PiParams::defaults(&Link { rate: Rate(1_000_000), packet: 1000 }).unwrap();
    PiParams { q_ref: Size::Packets(2), a: 1.0 / 32.0, b: 1.0 / 64.0, w: 1.0, ..defaults }
}

fn after(harness: &mut Harness<Pi<TestPacket>>, seconds: u64) -> f64 {
    harness.wait(Span::from_secs(seconds));
    harness.state("p").unwrap()
}

/// The paper's rule: four packets, then six, then none.
#[test]
fn replays_the_papers_rule() {
    let mut harness = Harness::new(Pi::new(params()), 2);
    let mut draws = harness.rng.clone();
    let mut arrive = |harness: &mut Harness<Pi<TestPacket>>, n, p: f64| {
        for _ in 0..n {
            let before = harness.dropped.len();
            harness.arrive(1, 1000);
            assert_eq!(harness.dropped.len() - before, usize::from(draws.uniform() < p));
        }
    };
    arrive(&mut harness, 4, 0.0);
    // p = (4 − 2)/32 − (0 − 2)/64 = 3/32.
    assert_eq!(after(&mut harness, 1), 3.0 / 32.0);
    arrive(&mut harness, 40, 3.0 / 32.0);
    let q = harness.discipline.packets() as f64;
    assert!(q < 44.0, "some of forty were dropped");
    // p = 3/32 + (q − 2)/32 − (4 − 2)/64.
    let p = 3.0 / 32.0 + (q - 2.0) / 32.0 - 2.0 / 64.0;
    assert_eq!((after(&mut harness, 1), p > 1.0), (1.0, true), "cut at 1");
    arrive(&mut harness, 5, 1.0);
    assert_eq!(harness.discipline.packets() as f64, q);
    while harness.depart().is_some() {}
    // p = 1 + (0 − 2)/32 − (q − 2)/64.
    let p = 1.0 - 2.0 / 32.0 - (q - 2.0) / 64.0;
    assert_eq!(after(&mut harness, 1), p);
    harness.assert_conserved();
}

/// Each second lowers p by (1/32 − 1/64)·2 = 1/32 while the link is idle, without a wake-up.
#[test]
fn an_idle_link_is_quiet() {
    let mut harness = Harness::new(Pi::new(PiParams { p_0: 0.5, ..params() }), 1);
    assert_eq!(harness.discipline.next_wakeup(), None);
    harness.wait(Span::from_millis(3500));
    harness.arrive(1, 1000);
    assert_eq!(harness.state("p"), Some(0.5 - 3.0 / 32.0));
    while harness.depart().is_some() {}
    harness.wait(Span::from_secs(3_155_760_000));
    harness.arrive(1, 1000);
    assert_eq!((harness.state("p"), harness.discipline.packets()), (Some(0.0), 1));
    assert_eq!(harness.discipline.next_wakeup(), Some(Time::ZERO + Span::from_secs(3_155_760_004)));
}

/// 3000 bytes are 1.5 packets of 2000: p = (1.5 − 1)/32 + 1/64 = 1/32, for a packet of 2000 bytes.
#[test]
fn byte_mode_measures_bytes_and_spares_short_packets() {
    let byte = PiParams {
        mode: Mode::Byte,
        max_packet: Size::Bytes(2000),
        q_ref: Size::Bytes(2000),
        limit: Size::Packets(1_000_000),
        ..params()
    };
    let mut harness = Harness::new(Pi::new(byte.clone()), 1);
    (0..3).for_each(|_| harness.arrive(1, 1000));
    assert_eq!(after(&mut harness, 1), 0.5 / 32.0 + 1.0 / 64.0);
    let mut harness = Harness::new(Pi::new(PiParams { p_0: 0.4, ..byte }), 1);
    for (bytes, p) in [(2000, 0.4), (500, 0.1), (1, 0.0002), (6000, 1.0)] {
        let before = harness.dropped.len();
        (0..100_000).for_each(|_| harness.arrive(1, bytes));
        // Four standard errors are at most 0.0064.
        let part = (harness.dropped.len() - before) as f64 / 1e5;
        assert!((part - p).abs() < 4.0 * libm::sqrt(p * (1.0 - p) / 1e5) + 1e-9, "{bytes} bytes: {part}");
    }
}

#[test]
fn a_marker_marks_what_it_can() {
    let mut harness = Harness::new(
        Pi::new(PiParams { p_0: 1.0, marking: Marking { action: Action::Mark, mark_th: 1.0 }, ..params() }),
        1,
    );
    [Ecn::Capable0, Ecn::NotCapable, Ecn::Capable1].into_iter().for_each(|ecn| harness.offer(1, 1000, ecn));
    assert_eq!(harness.dropped_flows(), [(1, DropReason::Early)]);
    assert_eq!([harness.depart().unwrap().ecn, harness.depart().unwrap().ecn], [Ecn::CongestionExperienced; 2]);
}

/// The constants that the paper prints for its link, and that the gains make the queue return to its target: the closed loop of
/// the paper's own linear model, N, R and C as given, stepped with the controller, settles at q_ref.
#[test]
fn gains_are_the_published_ones() {
    let gains = Gains::of(60.0, 0.246, 3750.0, 170.0);
    assert!((gains.a / 1.822e-5 - 1.0).abs() < 0.02 && (gains.b / 1.816e-5 - 1.0).abs() < 0.02, "{gains:?}");
    assert!((gains.a / 1.853e-5 - 1.0).abs() < 1e-3 && (gains.b / 1.847e-5 - 1.0).abs() < 1e-3, "{gains:?}");
}

/// Fluid model (Misra, Gong & Towsley 2000): W' = 1/R − W·W(t−R)/(2R)·p(t−R), q' = N·W/R − C, where R is the propagation delay and
/// q/C, under the gains for three links.
#[test]
fn gains_stabilise_the_links_that_they_are_for() {
    for (n, r, c) in [(60.0, 0.246, 3750.0), (32.0, 0.1, 125.0 * 10.0), (200.0, 0.08, 12_500.0)] {
        let gains = Gains::of(n, r, c, 170.0);
        let (dt, q_ref) = (1.0 / 170.0 / 8.0, 50.0);
        let lag = libm::round(r / dt) as usize;
        let (mut window, mut drop) = (alloc::vec![1.0f64; lag], alloc::vec![0.0f64; lag]);
        let (mut w, mut q, mut q_old, mut p) = (1.0f64, 0.0f64, 0.0f64, 0.0f64);
        let mut worst = 0.0f64;
        let steps = (400.0 / dt) as usize;
        for k in 0..steps {
            if k % 8 == 0 {
                p = (p + gains.a * (q - q_ref) - gains.b * (q_old - q_ref)).clamp(0.0, 1.0);
                q_old = q;
            }
            let (w_lag, p_lag) = (window[k % lag], drop[k % lag]);
            (window[k % lag], drop[k % lag]) = (w, p);
            let rtt = r + (q - q_ref) / c;
            w = (w + dt * (1.0 / rtt - w * w_lag / (2.0 * rtt) * p_lag)).max(0.5);
            q = (q + dt * (n * w / rtt - c)).max(0.0);
            if k > steps / 2 {
                worst = worst.max((q - q_ref).abs());
            }
        }
        assert!(worst < 5.0, "N = {n}, R = {r}, C = {c}: off by {worst} packets");
    }
}
