//! `gred` in bytes against a model of the kernel's GRED, packet for packet.
//!
//! Both meet the same arrivals, departures and rests, and draw from copies of one stream. After each step all that can be seen
//! must agree: what was dropped and why, what left and with which mark, the contents, and the averages to the last bit; at the end,
//! how many random numbers were drawn. `limit`, which the kernel does not have for all queues together, is out of reach. Links so
//! slow that `tc` shifts bits out of an `int` are left out.

#[path = "kernel/gred.rs"]
mod kernel;

use crate::choke_linux::red;
use kernel::{Counts, Dp, Tc};
use proptest::prelude::*;
use sluicegate_aqm::gred::{Averaging, Gred, GredParams};
use sluicegate_aqm::harness::{Harness, TestPacket, any_ecn};
use sluicegate_base::{Link, Params, Rate, Size, Span, Stream, Value};

/// As a person declares it: the first and the last queue.
#[derive(Clone, Copy, Debug)]
struct Set {
    queues: u32,
    default: u32,
    average: Averaging,
    min: [u32; 2],
    max: [u32; 2],
    probability: [f64; 2],
    limit: u32,
    burst: u32,
    avpkt: u32,
    bandwidth: u64,
    ecn: bool,
    harddrop: bool,
}

/// iproute2's example for assured forwarding.
const PLAIN: Set = Set {
    queues: 3,
    default: 2,
    average: Averaging::Grio,
    min: [15_000; 2],
    max: [45_000; 2],
    probability: [0.02, 0.06],
    limit: 60_000,
    burst: 20,
    avpkt: 1000,
    bandwidth: 10_000_000,
    ecn: false,
    harddrop: false,
};

impl Set {
    fn tc(&self) -> Tc {
        let steps = i64::from(self.queues.max(2) - 1);
        let dp = |k: u32| {
            let between = |[first, last]: [u32; 2]| {
                let way = (i64::from(last) - i64::from(first)) * i64::from(k);
                (i64::from(first) + way.div_euclid(steps)) as u32
            };
            let [first, last] = self.probability;
            let probability = first + (last - first) / steps as f64 * f64::from(k);
            let prio = if self.average == Averaging::Wred { 4 } else { 2 + k as u8 };
            Dp { limit: self.limit, min: between(self.min), max: between(self.max), probability, prio }
        };
        Tc {
            dps: (0..self.queues).map(dp).collect(),
            default: self.default as usize,
            grio: self.average != Averaging::Own,
            ecn: self.ecn,
            harddrop: self.harddrop,
            burst: self.burst,
            avpkt: self.avpkt,
            bandwidth: self.bandwidth,
        }
    }

    fn params(&self) -> Option<GredParams> {
        let bytes = |n: u32| Some(Value::Size(Size::Bytes(u64::from(n))));
        let word = |on, word, other| Some(Value::Choice(if on { word } else { other }));
        let mut given = |at: usize| match GredParams::FIELDS[at].name {
            "queues" => Some(Value::Integer(u64::from(self.queues))),
            "default_queue" => Some(Value::Integer(u64::from(self.default))),
            "average" => Some(Value::Choice(self.average.word())),
            "min_th" => bytes(self.min[0]),
            "last_min_th" => bytes(self.min[1]),
            "max_th" => bytes(self.max[0]),
            "last_max_th" => bytes(self.max[1]),
            "max_p" => Some(Value::Number(self.probability[0])),
            "last_max_p" => Some(Value::Number(self.probability[1])),
            "queue_limit" => bytes(self.limit),
            "limit" => bytes(u32::MAX),
            "burst" => Some(Value::Integer(u64::from(self.burst))),
            "avpkt" => bytes(self.avpkt),
            "bandwidth" => Some(Value::Rate(Rate(self.bandwidth))),
            "action" => word(self.ecn, "mark", "drop"),
            "above_max_th" => word(self.harddrop, "drop", "mark"),
            name => panic!("{name} is not in the model"),
        };
        GredParams::build(&mut given, &Link { rate: Rate(self.bandwidth), packet: 1000 }).ok()
    }
}

fn compare(set: Set, steps: u64, seed: u64) -> Option<Counts> {
    let (mut ours, theirs) = (Harness::new(Gred::new(set.params()?), seed), kernel::Gred::new(set.tc()));
    let mut theirs = theirs.expect("what is valid here is valid there");
    let (mut random, mut trace) = (ours.rng.clone(), Stream::new(seed, "trace"));
    let (mut spell, mut load, mut heavy) = (0, 0.5, 0.0);
    for _ in 0..steps {
        if spell == 0 {
            spell = 1 + trace.below(600);
            (load, heavy) = (0.3 + 0.45 * trace.uniform(), trace.uniform());
            if trace.chance(0.4) {
                // From microseconds to minutes, with the queue empty or not.
                ours.wait(Span(libm::pow(10.0, 3.0 + 8.0 * trace.uniform()) as u64));
            }
        }
        spell -= 1;
        ours.wait(Span(trace.below(2_000_000)));
        if trace.chance(load) {
            let class = if trace.chance(heavy) { 0 } else { trace.below(u64::from(set.queues + 2).min(16)) as u8 };
            let (bytes, ecn) = (40 + trace.below(1461), any_ecn(&mut trace));
            let packet = TestPacket { bytes, ecn, class, serial: ours.arrived, ..TestPacket::default() };
            ours.submit(packet);
            let dropped = theirs.enqueue(packet, usize::from(class), ours.now.0, &mut random);
            assert_eq!(ours.new_drops(), dropped.into_iter().collect::<Vec<_>>());
        } else {
            assert_eq!(ours.depart(), theirs.dequeue(ours.now.0));
        }
        for at in 0..set.queues as usize {
            assert_eq!(ours.state(&format!("avg_{at}")), Some(theirs.average(at)), "queue {at}");
        }
        assert_eq!(ours.queued(), theirs.queued());
    }
    assert_eq!(ours.rng.bits(), random.bits(), "as many random numbers were drawn");
    ours.assert_conserved();
    Some(theirs.counts)
}

#[test]
fn long_traces_agree() {
    let sets = [
        PLAIN,
        Set { ecn: true, ..PLAIN },
        Set { average: Averaging::Own, ..PLAIN },
        Set { average: Averaging::Wred, ecn: true, harddrop: true, ..PLAIN },
        Set {
            average: Averaging::Wred,
            min: [30_000, 10_000],
            max: [60_000, 20_000],
            limit: 100_000,
            burst: 50,
            ..PLAIN
        },
        Set {
            queues: 16,
            default: 3,
            min: [40_000, 5000],
            max: [80_000, 20_000],
            limit: 90_000,
            burst: 60,
            ecn: true,
            ..PLAIN
        },
        Set { queues: 2, default: 1, min: [4000; 2], max: [9000; 2], limit: 8000, burst: 12, avpkt: 500, ..PLAIN },
        Set { queues: 1, default: 0, bandwidth: 1_000_000_000, probability: [0.5; 2], ..PLAIN },
    ];
    let mut sum = [0; 8];
    for (seed, set) in (1..).zip(sets) {
        let counts = compare(set, 30_000, seed).expect("tc accepts these");
        let Counts { prob_drop, prob_mark, forced_drop, forced_mark, pdrop, coupled, shifted, linear } = counts;
        let counts = [prob_drop, prob_mark, forced_drop, forced_mark, pdrop, coupled, shifted, linear];
        sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    assert!(sum.iter().all(|&times| times >= 50), "each case many times: {sum:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_parameters_agree(
        (queues, default) in (1u32..17).prop_flat_map(|queues| (Just(queues), 0..queues)),
        average in prop::sample::select(Averaging::ALL), min in any_of(1000, 20_000), width in any_of(1, 40_000),
        probability in (0.001f64..0.9, 0.001f64..0.9), (limit, burst) in (1000u32..100_000, 1u32..60),
        (avpkt, rate) in (100u32..3000, 5.0f64..10.0), (ecn, harddrop, seed) in any::<(bool, bool, u64)>(),
    ) {
        let set = Set {
            queues, default, average, min, max: [min[0] + width[0], min[1] + width[1]],
            probability: probability.into(), limit, burst, avpkt, bandwidth: libm::pow(10.0, rate) as u64, ecn, harddrop,
        };
        let sent = set.tc().sent();
        prop_assert_eq!(set.params().is_some(), sent.is_some(), "refused by both");
        if sent.is_some_and(|sent| sent.defined()) {
            compare(set, 1500, seed);
        }
    }
}

fn any_of(low: u32, high: u32) -> impl Strategy<Value = [u32; 2]> {
    prop::array::uniform2(low..high)
}
