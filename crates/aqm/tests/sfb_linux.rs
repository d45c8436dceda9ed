//! `sfb` with `tokens` = linux against a model of the kernel's SFB, packet for packet.
//!
//! Both meet the same arrivals, departures and rests, draw from copies of one stream and use the same hash. After each step
//! all that can be seen must agree: what was dropped and why, what left and with which mark, the queue's contents and the
//! arrival's probability; at the end, how many random numbers were drawn.

#[path = "kernel/sfb.rs"]
mod kernel;

use kernel::{Counts, Fate, HZ, Tc};
use proptest::prelude::*;
use sluicegate_aqm::flow_hasher::FlowHasher;
use sluicegate_aqm::harness::{Harness, TestPacket, any_ecn};
use sluicegate_aqm::red::Action;
use sluicegate_aqm::sfb::{Sfb, SfbParams, Tokens};
use sluicegate_aqm::{DropReason, FlowKey};
use sluicegate_base::{Size, Span, Stream};

const PLAIN: Tc = Tc {
    limit: 1000,
    max: 25,
    bin_size: 20,
    increment: 66,
    decrement: 11,
    penalty_rate: 10,
    penalty_burst: 20,
    rehash_interval: 600 * HZ,
    warmup_time: 60 * HZ,
};

fn params(tc: &Tc) -> SfbParams {
    SfbParams {
        levels: 8,
        bins: 16,
        bin_size: u64::from(tc.bin_size),
        bin_max: u64::from(tc.max),
        increment: f64::from(tc.increment) / 65535.0,
        decrement: f64::from(tc.decrement) / 65535.0,
        limit: Size::Packets(tc.limit as u64),
        rehash: Span(tc.rehash_interval),
        warmup: Span(tc.warmup_time),
        penalty_rate: tc.penalty_rate,
        penalty_burst: tc.penalty_burst,
        tokens: Tokens::Linux,
        action: Action::Mark,
    }
}

/// The digits to the base 16 of a flow's hash, under the key with this number.
fn places(keys: &mut Vec<FlowHasher>, key: usize, flow: u64, random: &mut Stream) -> [usize; 8] {
    while keys.len() <= key {
        keys.push(FlowHasher::new(random));
    }
    let hash = keys[key].hash(FlowKey(flow));
    std::array::from_fn(|level| (hash >> (60 - 4 * level)) as usize & 15)
}

fn compare(tc: Tc, steps: u64, seed: u64) -> Counts {
    let mut ours = Harness::new(Sfb::new(params(&tc)), seed);
    let (mut random, mut keys) = (ours.rng.clone(), Vec::new());
    let mut theirs = kernel::Sfb::new(tc, 0);
    let mut trace = Stream::new(seed, "trace");
    let (mut spell, mut load, mut flows, mut heavy, mut gap) = (0, 0.5, 1, 0.0, 1);
    for _ in 0..steps {
        if spell == 0 {
            spell = 1 + trace.below(2000);
            (load, flows, heavy) = (0.3 + 0.5 * trace.uniform(), 1 + trace.below(40), trace.uniform());
            gap = 1 + trace.below(8_000_000);
            if ours.arrived > 0 && trace.chance(0.2) {
                while ours.depart().is_some() {
                    theirs.dequeue();
                }
                ours.wait(Span(libm::pow(10.0, 6.0 + 5.0 * trace.uniform()) as u64));
            }
        }
        spell -= 1;
        // The model's clock starts with the first packet, as the kernel's with the qdisc.
        ours.wait(Span(if ours.arrived == 0 { 0 } else { trace.below(gap) }));
        if ours.arrived > 0 && !trace.chance(load) {
            assert_eq!(ours.depart(), theirs.dequeue());
            continue;
        }
        let flow = if trace.chance(heavy) { 0 } else { trace.below(flows) };
        let ecn = any_ecn(&mut trace);
        let packet = TestPacket { flow, bytes: 100, ecn, serial: ours.arrived, ..TestPacket::default() };
        let fate = theirs
            .enqueue(packet, ours.now.0, &mut random, &mut |key, flow, random| places(&mut keys, key, flow, random));
        ours.submit(packet);
        let reason = match fate {
            Fate::Queued => None,
            Fate::Early => Some(DropReason::Early),
            Fate::Penalty => Some(DropReason::Policed),
            Fate::Bucket => Some(DropReason::Forced),
            Fate::Limit => Some(DropReason::Tail),
        };
        let dropped = ours.new_drops().iter().map(|(packet, reason)| (packet.serial, *reason));
        assert!(dropped.eq(reason.map(|reason| (packet.serial, reason))));
        let mine = ours.discipline.probability(FlowKey(flow)).expect("packets have come");
        let here = places(&mut keys, theirs.key(), flow, &mut random);
        assert_eq!((mine * 65535.0).round() as u32, theirs.p_min(&here));
    }
    assert_eq!(ours.queued(), theirs.queued());
    assert_eq!(ours.rng.bits(), random.bits(), "as many random numbers were drawn");
    theirs.counts
}

#[test]
fn long_traces_agree() {
    let quick = Tc { increment: 2000, decrement: 300, ..PLAIN };
    let sets = [
        PLAIN,
        quick,
        Tc { rehash_interval: 20 * HZ, warmup_time: 5 * HZ, ..quick },
        Tc { max: 60, bin_size: 10, limit: 100, ..quick },
        Tc { penalty_rate: 1000, penalty_burst: 3, ..quick },
        Tc { rehash_interval: 0, penalty_rate: 0, ..quick },
    ];
    let mut sum = [0; 7];
    for (seed, tc) in (1..).zip(sets) {
        let Counts { earlydrop, penaltydrop, bucketdrop, queuedrop, marked, swaps, doubled } =
            compare(tc, 150_000, seed);
        let counts = [earlydrop, penaltydrop, bucketdrop, queuedrop, marked, swaps, doubled];
        sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    assert!(sum.iter().all(|&times| times >= 10), "each case many times: {sum:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_parameters_agree(
        (limit, max, bin_size) in (1usize..200, 1u32..60, 1u32..60),
        (increment, decrement) in (1u32..65_535, 1u32..65_535),
        (rate, burst) in (0u64..200, 0u64..50), (rehash, warmup) in (0u64..30, 0u64..40), seed: u64,
    ) {
        let tc = Tc {
            limit, max, bin_size, increment, decrement, penalty_rate: rate, penalty_burst: burst,
            rehash_interval: rehash * HZ, warmup_time: warmup * HZ,
        };
        compare(tc, 3000, seed);
    }
}
