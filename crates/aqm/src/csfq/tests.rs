use super::*;
use crate::harness::{Harness, TestPacket};
use alloc::vec;
use alloc::vec::Vec;
use sluicegate_base::{Link, Params};

fn params() -> CsfqParams {
    CsfqParams::defaults(&Link { rate: Rate(1_000_000), packet: 1000 }).unwrap()
}

fn label(packet: &TestPacket) -> f64 {
    f64::from(f32::from_bits(packet.label))
}

fn close(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 1e-6
}

/// By hand: packets of 8000 bits at 0 and 50 ms, K = 100 ms: 80 kbit/s, then (1 − e^−½)·160 + e^−½·80 kbit/s.
#[test]
fn replays_the_estimates_and_the_windows() {
    let mut harness = Harness::new(Csfq::new(params()), 1);
    harness.arrive(1, 1000);
    assert!(close(label(&harness.depart().unwrap()), 80_000.0));
    harness.wait(Span::from_millis(50));
    harness.arrive(1, 1000);
    let e = libm::exp(-0.5);
    let r = (1.0 - e) * 160_000.0 + e * 80_000.0;
    assert!(close(label(&harness.depart().unwrap()), r));
    // The link: 40 kbit/s, then with K_α = 200 ms, of what came 50 ms ago.
    let a = libm::exp(-0.25);
    assert!(close(harness.discipline.arrivals.rate, (1.0 - a) * 160_000.0 + a * 40_000.0));
    assert_eq!((harness.discipline.alpha, harness.discipline.congested), (1e6, false));
    // At the first packet more than 200 ms after 0, α is the largest label so far, here its own.
    harness.wait(Span::from_millis(151));
    harness.arrive(1, 1000);
    let e = libm::exp(-1.51);
    let last = (1.0 - e) * (8000.0 / 0.151) + e * r;
    assert!(close(label(&harness.depart().unwrap()), last));
    assert!(close(harness.discipline.alpha, r), "{} for {r}", harness.discipline.alpha);
    // A hundred at once: A = 4 Mbit/s. The link is congested from the 25th or so on, and F follows what is let through.
    (0..100).for_each(|_| harness.arrive(2, 1000));
    assert!(harness.discipline.congested && harness.discipline.arrivals.rate > 4e6);
    let drops = harness.dropped.len();
    assert!(drops > 40, "labels far above α: {drops}");
    // The window over, and A still above C: α ← α·C/F.
    harness.wait(Span::from_millis(201));
    harness.discipline.arrivals.rate = 8e6;
    let (before, mut accepted) = (harness.discipline.alpha, harness.discipline.accepted);
    harness.arrive(3, 1);
    accepted.packet(1, harness.now, Span::from_millis(200));
    assert!(close(harness.discipline.alpha, before * 1e6 / accepted.rate) && harness.dropped.len() == drops);
    harness.assert_conserved();
}

/// Ten flows of 50 kbit/s and two of 500 kbit/s and 2 Mbit/s on 1 Mbit/s: fair is 250 kbit/s each for the two.
#[test]
fn what_exceeds_the_fair_rate_is_dropped() {
    let mut harness = Harness::new(Csfq::new(params()), 1);
    let mut order = Stream::new(2, "order");
    let (mut sent, mut next) = (vec![0u64; 12], vec![0u64; 12]);
    let gap = |flow: usize| [160_000_000, 16_000_000, 4_000_000][flow.saturating_sub(9)];
    // In steps of 1 ms; the link sends a packet in 8 ms.
    for ms in 0..100_000u64 {
        harness.wait(Span::from_millis(1));
        for (flow, next) in next.iter_mut().enumerate() {
            while *next <= ms * 1_000_000 {
                harness.arrive(flow as u64, 1000);
                *next += gap(flow) * (500 + order.below(1000)) / 1000;
            }
        }
        if ms % 8 == 0 {
            if let Some(packet) = harness.depart().filter(|_| ms > 10_000) {
                sent[packet.flow as usize] += 1;
            }
        }
    }
    // 90 s at 250 kbit/s are 2812 packets, at 50 kbit/s 562.
    assert!(sent[..10].iter().all(|n| (480..640).contains(n)), "{sent:?}");
    assert!(sent[10..].iter().all(|n| (2300..3300).contains(n)), "{sent:?}");
    assert!((150e3..350e3).contains(&harness.discipline.alpha), "{}", harness.discipline.alpha);
    harness.assert_conserved();
}

/// A core behind an edge reads its labels, which the edge has cut to its α; without labels it drops nothing early.
#[test]
fn a_core_reads_labels() {
    let mut core =
        Harness::new(Csfq::new(CsfqParams { role: Role::Core, limit: Size::Packets(10_000), ..params() }), 1);
    let submit = |core: &mut Harness<Csfq<TestPacket>>, rate: f32| {
        core.submit(TestPacket { flow: 1, bytes: 1000, label: rate.to_bits(), ..TestPacket::default() });
    };
    (0..50).for_each(|_| submit(&mut core, 100e3));
    assert!(core.discipline.congested);
    core.discipline.alpha = 50e3;
    for _ in 0..1000 {
        submit(&mut core, 0.0);
    }
    assert!(core.dropped.is_empty());
    (0..1000).for_each(|_| submit(&mut core, 200e3));
    // Three quarters of 1000: four standard errors are 55.
    assert!((695..805).contains(&core.dropped.len()), "{}", core.dropped.len());
    let mut labels = Vec::new();
    core.discipline.for_each(&mut |packet| labels.push(label(packet)));
    assert!(labels[labels.len() - 150..].iter().all(|label| close(*label, 50e3)), "cut to α");
}

/// Fig. 3: α is estimated first, then the label is written. Here the packet ends a window, and α falls to half.
#[test]
fn the_label_is_the_alpha_that_the_packet_leaves() {
    let mut core = Harness::new(Csfq::new(CsfqParams { role: Role::Core, ..params() }), 1);
    let packet = |rate: f32| TestPacket { flow: 1, bytes: 1000, label: rate.to_bits(), ..TestPacket::default() };
    (0..50).for_each(|_| core.submit(packet(100e3)));
    assert!(core.discipline.congested);
    core.wait(Span::from_millis(201));
    (core.discipline.arrivals.rate, core.discipline.accepted.rate) = (8e6, 8e6);
    core.discipline.alpha = 0.999e6;
    core.submit(packet(1e6));
    let after = core.discipline.alpha;
    assert!(core.dropped.is_empty() && after < 0.5e6, "{after}");
    let mut last = 0.0;
    core.discipline.for_each(&mut |packet| last = label(packet));
    assert!(close(last, after), "{last} for {after}");
}

#[test]
fn a_full_buffer_lowers_alpha_by_a_quarter_at_most() {
    let mut harness = Harness::new(Csfq::new(CsfqParams { limit: Size::Packets(1), ..params() }), 1);
    (0..3).for_each(|_| harness.arrive(1, 10));
    assert!(close(harness.discipline.alpha, 1e6 * 0.99 * 0.99));
    (0..200).for_each(|flow| harness.arrive(flow, 10));
    assert!(close(harness.discipline.alpha, 0.75e6));
}

/// A million ids that a plain modulus would put into one bucket: no more than `flows` are remembered, and silence frees
/// them.
#[test]
fn a_million_flows_cost_what_is_declared() {
    let mut harness = Harness::new(Csfq::new(CsfqParams { flows: 5000, ..params() }), 1);
    for k in 0..1_000_000u64 {
        harness.arrive(k << 44, 100);
        harness.wait(Span(1000));
        harness.depart();
    }
    let edge = harness.discipline.edge.as_ref().unwrap();
    assert_eq!((edge.flows(), edge.rates.len()), (5000, 5000));
    assert!(edge.rates.allocated() < 2 * 5000 && edge.silent.capacity() < 2 * 5000);
    harness.wait(Span::from_secs(2));
    harness.arrive(1, 100);
    assert_eq!(harness.state("flows"), Some(1.0));
}

/// Room for three: the flow that was silent longest goes, whatever the order in which they came.
#[test]
fn the_flow_that_was_silent_longest_makes_room() {
    let mut harness = Harness::new(Csfq::new(CsfqParams { flows: 3, ..params() }), 1);
    let mut known = Vec::new();
    let mut order = Stream::new(3, "order");
    for _ in 0..10_000 {
        let flow = order.below(6);
        known.retain(|other| *other != flow);
        known.push(flow);
        if known.len() > 3 {
            known.remove(0);
        }
        harness.wait(Span(1));
        harness.arrive(flow, 100);
        harness.depart();
        let edge = harness.discipline.edge.as_ref().unwrap();
        let mut flows: Vec<_> = edge.rates.iter().map(|(flow, average)| (average.last, flow.0)).collect();
        flows.sort_unstable();
        assert!(flows.iter().map(|(_, flow)| flow).eq(&known));
    }
}
