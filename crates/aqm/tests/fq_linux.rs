//! `fq_linux` against a model of the kernel's fq, packet for packet.
//!
//! Both meet the same arrivals, departures and rests. After each step all that can be seen must agree: what was dropped, what left
//! and with which mark, what is queued, how many flows are known, and until when flows are throttled.
//!
//! They differ on purpose in three ways. `limit` is one for all packets here, and one for each band in the kernel, where the fast
//! path is not counted: it binds in those traces alone that have one band and, by a maxrate, no fast path. A throttled flow
//! returns to the band that it has at its time here, and to the one that it has when the link next asks in the kernel: flows keep
//! their class. And the kernel counts in ticks of a clock, and sets the lowest bit of some: the clock has ticks of 1 ns or of
//! 1 ms, and all happens at odd ones.

#[path = "kernel/fq.rs"]
mod kernel;

use kernel::{Counts, Tc};
use proptest::prelude::*;
use sluicegate_aqm::fq_linux::{FqLinux, FqLinuxParams};
use sluicegate_aqm::harness::{Harness, TestPacket, any_ecn};
use sluicegate_aqm::{Discipline, DropReason};
use sluicegate_base::{Rate, Size, Span, Stream, Time};

/// The kernel's defaults.
const PLAIN: Tc = Tc {
    limit: 10_000,
    flow_limit: 100,
    quantum: 3028,
    initial_quantum: 15_140,
    maxrate: None,
    refill_delay: 40_000_000,
    low_rate_threshold: 550_000 / 8,
    ce_threshold: None,
    weights: [9 << 16, 3 << 16, 1 << 16],
    jiffy: 1,
};

fn compare(tc: Tc, classes: u64, steps: u64, seed: u64) -> Counts {
    let bytes = |n: u32| Size::Bytes(u64::from(n));
    let params = FqLinuxParams {
        limit: Size::Packets(tc.limit as u64),
        flow_limit: tc.flow_limit as u64,
        quantum: bytes(tc.quantum),
        initial_quantum: bytes(tc.initial_quantum),
        maxrate: tc.maxrate.map(|rate| Rate(8 * rate)),
        refill_delay: Span(tc.refill_delay),
        low_rate_threshold: Rate(8 * tc.low_rate_threshold),
        ce_threshold: tc.ce_threshold.map(Span),
        weight_0: tc.weights[0] as u64,
        weight_1: tc.weights[1] as u64,
        weight_2: tc.weights[2] as u64,
    };
    let (mut ours, mut theirs) = (Harness::new(FqLinux::new(params), seed), kernel::Fq::new(tc));
    let mut trace = Stream::new(seed, "trace");
    let (mut spell, mut load, mut flows, mut heavy, mut gap) = (0, 0.5, 1, 0.0, 1);
    ours.wait(Span(tc.jiffy));
    for step in 0..steps {
        if spell == 0 {
            spell = 1 + trace.below(600);
            (load, flows, heavy) = (0.35 + 0.4 * trace.uniform(), 1 + trace.below(40), trace.uniform());
            gap = [10_000, 1_000_000, 4_000_000, 40_000_000, 400_000_000][trace.below(5) as usize];
        }
        spell -= 1;
        ours.wait(Span(trace.below(gap / tc.jiffy / 2 + 1) * 2 * tc.jiffy));
        if trace.chance(load) {
            let flow = if trace.chance(heavy) { trace.below(3) } else { trace.below(flows) };
            let (bytes, ecn) = (40 + trace.below(1475), any_ecn(&mut trace));
            let class = (flow % classes) as u8;
            let packet = TestPacket { flow, bytes, ecn, class, serial: ours.arrived, ..TestPacket::default() };
            ours.submit(packet);
            let dropped = !theirs.enqueue(packet, usize::from(class).min(2), ours.now.0);
            let dropped: Vec<_> = dropped.then_some((packet, DropReason::Tail)).into_iter().collect();
            assert_eq!(ours.new_drops(), dropped);
        } else {
            assert_eq!(ours.depart(), theirs.dequeue(ours.now.0));
            // The kernel looks at its throttled flows when it is asked for a packet of a flow.
            let due = |time: &Time| *time > ours.now;
            let next = theirs.time_next_delayed_flow().map(Time).filter(due);
            assert_eq!(ours.discipline.next_wakeup(), next);
        }
        // Whole queues take long to compare: what differs in one stays until it is dropped, or departs.
        if step % 16 == 0 {
            let mut contents = ours.queued();
            contents.sort_by_key(|packet| packet.serial);
            assert_eq!(contents, theirs.queued());
        }
        assert_eq!(ours.state("flows"), Some(theirs.flows() as f64));
    }
    ours.assert_conserved();
    theirs.counts
}

#[test]
fn long_traces_agree() {
    let paced = Tc { maxrate: Some(250_000), ..PLAIN };
    let slow = Tc { maxrate: Some(40_000), ..PLAIN };
    let sets = [
        (PLAIN, 4),
        (Tc { ce_threshold: Some(5_000_000), flow_limit: 10, ..PLAIN }, 3),
        (Tc { quantum: 300, initial_quantum: 0, weights: [16_384, 50_000, 20_000], ..PLAIN }, 3),
        (Tc { jiffy: 1_000_000, initial_quantum: 2000, ..PLAIN }, 2),
        (Tc { jiffy: 1_000_000, maxrate: Some(10_000_000_000_000), limit: 40, ..PLAIN }, 1),
        (paced, 4),
        (Tc { limit: 30, ce_threshold: Some(5_000_000), flow_limit: 20, ..paced }, 1),
        (Tc { quantum: 600, initial_quantum: 3000, weights: [16_384; 3], ..paced }, 3),
        (slow, 2),
        (Tc { maxrate: Some(1000), limit: 50, ..PLAIN }, 1),
    ];
    let mut sum = [0; 10];
    for (seed, (tc, classes)) in (1..).zip(sets) {
        let counts = compare(tc, classes, 30_000, seed);
        let Counts { band_drops, flows_plimit, throttled, too_long, late, .. } = counts;
        let Counts { ce_mark, fastpath, refilled, gc, turns, .. } = counts;
        let counts = [band_drops, flows_plimit, throttled, too_long, late, ce_mark, fastpath, refilled, gc, turns];
        sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    assert!(sum.iter().all(|&times| times >= 100), "each case many times: {sum:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_parameters_agree(
        (limit, flow_limit) in (1usize..200, 1usize..60), quantum in 256u32..6000, initial_quantum in 0u32..20_000,
        (paced, rate) in (any::<bool>(), 3.0f64..9.0), refill_delay in 0u64..100_000_000,
        low_rate_threshold in 0u64..200_000, ce in prop::option::of(0u64..50_000_000),
        weights in prop::array::uniform3(16_384i32..600_000), seed: u64,
    ) {
        let maxrate = paced.then(|| libm::pow(10.0, rate) as u64);
        // See above.
        let (limit, classes) = if paced && seed % 2 == 0 { (limit, 1) } else { (1 << 20, 4) };
        let tc = Tc {
            limit, flow_limit, quantum, initial_quantum, maxrate, refill_delay, low_rate_threshold, ce_threshold: ce, weights,
            jiffy: 1,
        };
        compare(tc, classes, 2000, seed);
    }
}
