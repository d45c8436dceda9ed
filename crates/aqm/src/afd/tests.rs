//! The rule by hand, with every arrival sampled (s = 1) into a shadow buffer of four.

use super::*;
use crate::harness::{Harness, TestPacket};
use crate::red::Action;
use sluicegate_base::{Ecn, Link, Params, Rate};

fn params() -> AfdParams {
    let defaults = AfdParams::defaults(&Link { rate: Rate(1_000_000), packet: 1000 }).unwrap();
    AfdParams { b: 4, s: 1.0, ..defaults }
}

fn counts(harness: &Harness<Afd<TestPacket>>) -> Vec<u32> {
    let counts = &harness.discipline.shadow.counts;
    (0..4).map(|flow| counts.find(FlowKey(flow)).map_or(0, |at| counts[at])).collect()
}

/// The buffer fills with flows 1, 1, 2, 1; then each arrival replaces a random one. m_fair = 1 is put in by hand.
#[test]
fn replays_the_papers_rule() {
    let mut harness = Harness::new(Afd::new(params()), 2);
    [1, 1, 2, 1].iter().for_each(|flow| harness.arrive(*flow, 1000));
    assert_eq!(
        (counts(&harness), harness.dropped.len(), harness.state("flows")),
        ([0, 3, 1, 0].to_vec(), 0, Some(2.0))
    );
    harness.discipline.m_fair = 1.0;
    // Flow 1 has m = 3: dropped with 1 − 1/3. Flow 2 has m = 1 and flow 3 m = 0: never, and no number is drawn for them.
    let mut draws = harness.rng.clone();
    let mut flows = harness.discipline.shadow.flows.clone();
    let mut lost = 0;
    for flow in [1, 1, 2, 3, 1, 1, 1, 2, 3, 1, 1, 1, 1, 0, 1] {
        let m = flows.iter().filter(|other| other.0 == flow).count() as f64;
        lost += usize::from(m > 1.0 && draws.uniform() < 1.0 - 1.0 / m);
        assert!(draws.uniform() < 1.0, "sampled for certain");
        flows[draws.below(4) as usize] = FlowKey(flow);
        harness.arrive(flow, 1000);
        assert_eq!((harness.dropped.len(), &harness.discipline.shadow.flows), (lost, &flows));
        let counted: Vec<u32> = (0..4).map(|k| flows.iter().filter(|flow| flow.0 == k).count() as u32).collect();
        assert_eq!(counts(&harness), counted);
    }
    assert!(
        lost > 2 && harness.dropped.iter().all(|(packet, reason)| packet.flow == 1 && *reason == DropReason::Early)
    );
    harness.assert_conserved();
}

/// α = 1/8, β = 1/4, q_ref = 3, b = 100. m_fair = 100 has no effect: above q_ref it starts from the 5 packets of flow 0. Queue 5:
/// 5 + (0 − 3)/8 − (5 − 3)/4 = 4.125. Queue 7: 4.125 + 2/8 − 4/4 = 3.375. Queue 0: 3.375 + 4/8 + 3/4 = 4.625. From then on 3/8 for
/// each sample, without a wake-up.
#[test]
fn the_fair_number_follows_the_queue() {
    let params =
        AfdParams { alpha: Some(0.125), beta: Some(0.25), q_ref: Size::Packets(3), b: 100, w: 1.0, ..params() };
    let mut harness = Harness::new(Afd::new(params), 1);
    for (arrivals, expected) in [([0; 5].as_slice(), 4.125), (&[1, 2], 3.375), (&[], 4.625)] {
        arrivals.iter().for_each(|flow| harness.arrive(*flow, 1000));
        while arrivals.is_empty() && harness.depart().is_some() {}
        harness.wait(Span::from_secs(1));
        assert_eq!(harness.state("m_fair"), Some(expected));
    }
    assert_eq!(harness.discipline.next_wakeup(), None);
    harness.discipline.m_fair = 10.0;
    harness.wait(Span::from_millis(4900));
    harness.arrive(1, 1000);
    assert_eq!(
        (harness.state("m_fair"), harness.discipline.next_wakeup()),
        (Some(11.5), Some(Time::ZERO + Span::from_secs(8)))
    );
}

/// Gains that are not given follow what is in the buffer and what arrives between samples: beta = gain·b/(N·n).
#[test]
fn the_gains_follow_the_flows_and_the_arrivals() {
    let params = AfdParams { gain: 0.5, b: 1000, w: 1.0, q_ref: Size::Packets(0), ..params() };
    assert_eq!(params.gains(1000, 10, 25.0), Gains { a: 1.75, b: 2.0 });
    assert_eq!(params.gains(0, 0, 0.0), params.gains(1, 1, 1.0));
    assert_eq!(AfdParams { beta: Some(1.0), ..params.clone() }.gains(1000, 10, 25.0), Gains { a: 0.875, b: 1.0 });
    // Two flows with five packets each in the first second: m_fair moves from 5 by −10/4.
    let mut harness = Harness::new(Afd::new(params.clone()), 1);
    for flow in 0..10 {
        harness.arrive(flow % 2, 1000);
    }
    harness.wait(Span::from_secs(1));
    let Gains { b, .. } = params.gains(10, 2, 10.0);
    assert_eq!((b, harness.state("m_fair")), (0.25, Some(2.5)));
}

/// Ten flows, one of which sends ten times as much as each of the others: each gets about the same, m_fair held at 25 of 500.
/// The fast flow has 10/19 of the buffer, 263: 1/10.5 of its packets pass; the others have 26 each, and 1 − 25/26 are lost.
#[test]
fn drops_make_rates_equal() {
    let mut harness = Harness::new(Afd::new(AfdParams { b: 500, s: 5.0, ..params() }), 1);
    let mut order = Stream::new(5, "order");
    let (mut sent, mut passed) = ([0.0f64; 10], [0.0f64; 10]);
    for k in 0..400_000 {
        harness.discipline.m_fair = 25.0;
        let flow = order.below(19).saturating_sub(9);
        harness.arrive(flow, 1000);
        let departed = harness.depart().is_some();
        if k > 10_000 {
            sent[flow as usize] += 1.0;
            passed[flow as usize] += f64::from(u8::from(departed));
        }
    }
    let slow = passed[1..].iter().sum::<f64>() / 9.0;
    assert!((sent[0] / sent[1] - 10.0).abs() < 0.5);
    assert!((1.0..1.25).contains(&(passed[0] / slow)), "{passed:?}");
}

#[test]
fn a_marker_marks_what_it_can() {
    let mut harness =
        Harness::new(Afd::new(AfdParams { marking: Marking { action: Action::Mark, mark_th: 1.0 }, ..params() }), 1);
    (0..4).for_each(|_| harness.offer(1, 1000, Ecn::Capable0));
    harness.discipline.m_fair = 0.0;
    (0..4).for_each(|_| harness.offer(1, 1000, Ecn::Capable0));
    harness.arrive(1, 1000);
    assert_eq!(harness.dropped_flows(), [(1, DropReason::Early)]);
    let marked = core::iter::from_fn(|| harness.depart()).filter(|packet| packet.ecn == Ecn::CongestionExperienced);
    assert_eq!(marked.count(), 4);
}

#[test]
fn a_million_chosen_flows_take_no_more_memory() {
    let mut harness = Harness::new(Afd::new(AfdParams { b: 500, ..params() }), 1);
    for k in 0..1_000_000 {
        harness.arrive(k * 4096, 40);
        harness.depart();
    }
    let shadow = &harness.discipline.shadow;
    assert!(shadow.flows.capacity() < 1000 && shadow.counts.allocated() < 1000, "{}", shadow.counts.allocated());
    assert!((495..=500).contains(&shadow.counts.len()));
}
