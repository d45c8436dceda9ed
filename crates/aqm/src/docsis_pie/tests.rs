//! The pseudocode of RFC 8034, App. A, by hand, on a link of 1 Mbit/s where a packet of 982 bytes, a frame of 1000,
//! takes 8 ms.

use super::*;
use crate::harness::{Harness, TestPacket};
use sluicegate_base::{Ecn, Link, Params};

const INTERVAL: Span = Span::from_millis(16);

fn params() -> DocsisPieParams {
    let link = Link { rate: Rate(1_000_000), packet: 1000 };
    DocsisPieParams { limit: Size::Bytes(30 * 982), ..DocsisPieParams::defaults(&link).unwrap() }
}

fn harness(packets: u64) -> Harness<DocsisPie<TestPacket>> {
    let mut harness = Harness::new(DocsisPie::new(params()), 1);
    (0..packets).for_each(|_| harness.arrive(1, 982));
    harness
}

#[test]
fn replays_the_pseudocode() {
    let mut harness = harness(10);
    assert_eq!(harness.discipline.aqm_state, AqmState::Inactive, "each found less than a third of the buffer");
    harness.arrive(1, 982);
    assert_eq!(harness.discipline.aqm_state, AqmState::Quiescent);
    // 88 ms: Δ = 0.25·0.078 + 2.5·0.088 = 0.2395, and 0.0195 while the delay stands.
    let mut p = 0.0;
    for change in [0.2395 / 2048.0, 0.0195 / 32.0, 0.0195 / 32.0, 0.0195 / 8.0] {
        harness.wait(INTERVAL);
        p += change;
        assert!((harness.discipline.p - p).abs() < 1e-12, "{} for {p}", harness.discipline.p);
    }
    assert_eq!((harness.discipline.burst_allowance, harness.dropped.len()), (Span::ZERO, 0));
    // The first drop: the burst is spared from now on, 142 − 9·16 ms < 0.
    harness.discipline.accu_p = 8.5;
    harness.arrive(2, 982);
    assert_eq!(harness.dropped_flows(), [(2, DropReason::Early)]);
    assert_eq!((harness.discipline.aqm_state, harness.discipline.accu_p), (AqmState::Active, 0.0));
    for update in 0..9u64 {
        let left = Span::from_millis(142 - 16 * update);
        assert_eq!(harness.discipline.burst_allowance, left);
        harness.wait(INTERVAL);
        assert_eq!(harness.discipline.p, 0.0, "held during the burst");
    }
    assert_eq!(harness.discipline.burst_allowance, Span::ZERO);
    harness.wait(INTERVAL);
    assert!((harness.discipline.p - 0.0195 / 2048.0).abs() < 1e-12);
    // The queue drains: p is 0 after an update, quiet after two, and inactive when that has lasted for more than 1 s.
    while harness.depart().is_some() {}
    harness.wait(INTERVAL);
    assert_eq!((harness.discipline.p, harness.discipline.aqm_state), (0.0, AqmState::Active));
    harness.wait(INTERVAL);
    assert_eq!(harness.discipline.aqm_state, AqmState::Quiescent);
    (0..62).for_each(|_| harness.wait(INTERVAL));
    assert_eq!(harness.discipline.aqm_state, AqmState::Quiescent, "992 ms");
    harness.wait(INTERVAL);
    assert_eq!((harness.discipline.aqm_state, harness.discipline.next_wakeup()), (AqmState::Inactive, None));
    harness.assert_conserved();
}

/// What one update adds to this p, with so many packets queued and a delay that does not change.
fn step(p: f64, packets: u64) -> f64 {
    let mut harness = harness(packets);
    (harness.discipline.p, harness.discipline.qdelay_old) = (p, harness.discipline.qdelay());
    harness.discipline.calculate_drop_prob();
    harness.discipline.p - p
}

#[test]
fn steps_are_scaled_beyond_a_probability_of_1() {
    // 25 packets are 200 ms: 0.25·0.19 = 0.0475.
    for (p, divisor) in [(0.0, 2048.0), (5e-6, 512.0), (5e-5, 128.0), (5e-4, 32.0), (5e-3, 8.0), (0.05, 2.0)] {
        assert!((step(p, 25) - 0.0475 / divisor).abs() < 1e-12, "p = {p}");
    }
    // One packet is 8 ms: 0.25·(−0.002).
    for (p, divisor) in [(0.5, 0.5), (5.0, 0.125), (12.0, 0.03125)] {
        assert!((step(p, 1) + 0.0005 / divisor).abs() < 1e-12, "p = {p}");
    }
    assert!((step(0.5, 25) - 0.02).abs() < 1e-12, "a step up is at most 0.02");
    assert!((step(0.5, 26) - 0.04).abs() < 1e-12, "and 0.02 more above 200 ms");
    assert!((step(13.59, 25) - 0.01).abs() < 1e-12, "p is at most 0.85·1024/64");
    assert!((step(0.5, 0) - (0.495 * 0.98 - 0.5)).abs() < 1e-12, "it decays while both delays are below 5 ms");
}

/// A queue that is active, with this p.
fn active(p: f64) -> Harness<DocsisPie<TestPacket>> {
    let mut harness = harness(9);
    let queue = &mut *harness.discipline;
    (queue.aqm_state, queue.p, queue.qdelay_old) = (AqmState::Active, p, Span::from_secs(1));
    harness
}

/// Sec. 4.6: the probability goes with the length of the packet, up to 0.85; nothing is marked.
#[test]
fn long_packets_are_dropped_more_often() {
    let mut harness = active(0.5);
    for (bytes, accu_p) in [(494, 0.25), (40, 0.28125), (1006, 0.78125)] {
        harness.arrive(1, bytes);
        assert_eq!(harness.discipline.accu_p, accu_p);
    }
    let mut harness = active(2.0);
    for _ in 0..2000 {
        harness.offer(1, 1500, Ecn::Capable0);
        while harness.discipline.bytes() > 9000 {
            assert_ne!(harness.depart().unwrap().ecn, Ecn::CongestionExperienced);
        }
    }
    let dropped = harness.dropped.len();
    assert!((dropped as f64 / 2000.0 - 0.85).abs() < 0.03, "{dropped} of 2000");
}

#[test]
fn short_delays_and_short_queues_are_spared() {
    for (p, packets, qdelay_old, dropped) in
        [(0.19, 9, 4, false), (0.19, 9, 5, true), (0.2, 9, 4, true), (0.2, 2, 5, false), (0.2, 3, 5, true)]
    {
        let mut harness = harness(packets);
        let queue = &mut *harness.discipline;
        (queue.aqm_state, queue.p, queue.accu_p) = (AqmState::Active, p, 8.5);
        queue.qdelay_old = Span::from_millis(qdelay_old);
        harness.arrive(1, 982);
        assert_eq!(harness.dropped.len() == 1, dropped, "p = {p}, {packets} packets, {qdelay_old} ms");
    }
}

/// App. A.3: a full buffer drops, and the count of probabilities starts anew.
#[test]
fn a_full_buffer_drops() {
    let mut harness = active(0.01);
    harness.discipline.accu_p = 0.5;
    while harness.dropped.is_empty() {
        harness.arrive(1, 982);
    }
    assert_eq!((harness.dropped_flows()[0], harness.discipline.packets()), ((1, DropReason::Tail), 30));
    assert_eq!(harness.discipline.accu_p, 0.0);
}

#[test]
fn an_idle_link_is_quiet() {
    let mut harness = harness(0);
    assert_eq!(harness.discipline.next_wakeup(), None);
    harness.wait(Span::from_secs(3_155_760_000));
    harness.arrive(1, 982);
    let due = harness.discipline.next_wakeup().unwrap();
    assert!(due > harness.now && due <= harness.now + INTERVAL);
}
