//! `dualpi2` with `law` = linux against a model of the kernel's DualPI2, packet for packet.
//!
//! Both meet the same arrivals, departures, rests and changes of options, and the model draws from copies of the
//! discipline's stream. After each step all that can be seen must agree: what was dropped and why, what left and with which
//! mark, the contents, p', and where the stream stands. And `law` = rfc9332 on the same traces: where nothing is dropped
//! early, p' is the same but for the kernel's rounding.

#[path = "kernel/dualpi2.rs"]
mod kernel;

use kernel::{Counts, Tc, Threshold};
use proptest::prelude::*;
use sluicegate_aqm::dualpi2::{DropAt, DualPi2, DualPi2Params, DualPi2Version};
use sluicegate_aqm::harness::{Harness, TestPacket};
use sluicegate_aqm::l4s::{Ect, OnOverload};
use sluicegate_aqm::{Configure, Ctx, DropReason};
use sluicegate_base::{Ecn, Size, Span, Stream};

/// The kernel's defaults.
const PLAIN: Tc = Tc {
    limit: 10_000,
    target: 15_000,
    tupdate: 16_000,
    alpha: 41,
    beta: 819,
    step: Threshold::Us(1000),
    min_qlen_step: 0,
    coupling: 2,
    drop_overload: true,
    drop_early: false,
    c_protection: 10,
    ecn_mask: 1,
    mtu: 1514,
};

fn params(tc: &Tc, law: DualPi2Version) -> DualPi2Params {
    let micros = |us: u32| Span(u64::from(us) * 1000);
    let (step_thresh, step_thresh_packets) = match tc.step {
        Threshold::Us(us) => (micros(us), None),
        Threshold::Packets(packets) => (Span::ZERO, Some(u64::from(packets))),
    };
    DualPi2Params {
        limit: Size::Packets(tc.limit as u64),
        target: micros(tc.target),
        rtt_max: Span::from_millis(100),
        tupdate: Some(micros(tc.tupdate)),
        alpha: Some(f64::from(tc.alpha) / 256.0),
        beta: Some(f64::from(tc.beta) / 256.0),
        step_thresh,
        ramp: Span::from_millis(1),
        step_thresh_packets,
        min_qlen_step: u64::from(tc.min_qlen_step),
        coupling_factor: f64::from(tc.coupling),
        classic_protection: tc.c_protection as u64,
        overload: if tc.drop_overload { OnOverload::Drop } else { OnOverload::Overflow },
        drop_at: if tc.drop_early { DropAt::Enqueue } else { DropAt::Dequeue },
        ect: if tc.ecn_mask == 1 { Ect::L4s } else { Ect::Any },
        max_packet: Size::Bytes(u64::from(tc.mtu)),
        law,
    }
}

/// Both sides, and the kernel's timer.
struct Pair {
    ours: Harness<DualPi2<TestPacket>>,
    theirs: kernel::DualPi2,
    due: u64,
}

impl Pair {
    fn new(tc: &Tc, law: DualPi2Version, seed: u64) -> Pair {
        let (ours, theirs) = (Harness::new(DualPi2::new(params(tc, law)), seed), kernel::DualPi2::new(*tc));
        Pair { due: theirs.tupdate(), ours, theirs }
    }

    fn p(&self) -> f64 {
        self.ours.state("p").expect("it is shown")
    }

    fn wait(&mut self, span: u64) {
        let end = self.ours.now.0 + span;
        while self.due <= end {
            self.theirs.update(self.due);
            self.due += self.theirs.tupdate();
        }
        self.ours.wait(Span(span));
    }

    /// An arrival, or a departure: what leaves must be the same, and what is dropped.
    fn step(&mut self, arrival: Option<TestPacket>) {
        let (now, mut random, seen) = (self.ours.now.0, self.ours.rng.clone(), self.ours.dropped.len());
        let expected: Vec<(TestPacket, DropReason)> = if let Some(packet) = arrival {
            let packet = TestPacket { serial: self.ours.arrived, ..packet };
            self.ours.submit(packet);
            let refused = self.theirs.enqueue(packet, now, &mut random);
            let reason = |full| if full { DropReason::Tail } else { DropReason::Early };
            refused.map(|full| (packet, reason(full))).into_iter().collect()
        } else {
            let left = self.ours.depart();
            let (expected, dropped) = self.theirs.dequeue(now, &mut random);
            assert_eq!(left, expected);
            dropped.into_iter().map(|packet| (packet, DropReason::Early)).collect()
        };
        assert_eq!(self.ours.dropped[seen..], expected);
        let mut ours = self.ours.rng.clone();
        assert_eq!(ours.bits(), random.bits(), "as many draws");
    }

    fn compare(&self) {
        assert_eq!(self.ours.queued(), self.theirs.queued());
        assert_eq!(self.p(), self.theirs.p());
    }

    /// Other options than those that the clock depends on.
    fn change(&mut self, tc: &Tc) {
        let ctx = &mut Ctx::new(self.ours.now, &mut self.ours.rng, &mut self.ours.dropped);
        self.ours.discipline.configure(params(tc, DualPi2Version::Linux), ctx);
        self.theirs.change(*tc);
    }
}

/// Random steps: spells of arrivals faster or slower than the link, of several mixtures of ECN fields, with rests in which
/// the queue runs empty. `work` gets the time to wait and then a packet, or asks for a departure.
fn trace(steps: u64, seed: u64, mut work: impl FnMut(u64, Option<TestPacket>)) {
    let mut trace = Stream::new(seed, "trace");
    let (mut spell, mut load, mut gap, mut grain, mut l4s, mut capable) = (0, 0.5, 1, 1, 0.5, 0.5);
    for _ in 0..steps {
        let mut wait = trace.below(gap) / grain * grain;
        if spell == 0 {
            spell = 1 + trace.below(2000);
            load = 0.35 + 0.3 * trace.uniform();
            gap = 1 + trace.below(2_000_000);
            // Some have a coarse clock, so that waits are the threshold itself.
            grain = if trace.chance(0.3) { 100_000 } else { 1 };
            // Some spells have packets of one kind alone.
            [l4s, capable] = [trace.uniform(), trace.uniform()].map(|u: f64| (1.4 * u - 0.2).clamp(0.0, 1.0));
            if trace.chance(0.2) {
                (0..600).for_each(|_| work(10_000, None));
                // From microseconds to ten seconds.
                wait = libm::pow(10.0, 3.0 + 7.0 * trace.uniform()) as u64;
            }
        }
        spell -= 1;
        let ecn = match (trace.chance(l4s), trace.chance(capable)) {
            (true, _) if trace.chance(0.1) => Ecn::CongestionExperienced,
            (true, _) => Ecn::Capable1,
            (false, true) => Ecn::Capable0,
            (false, false) => Ecn::NotCapable,
        };
        let packet = TestPacket { flow: trace.below(9), bytes: 40 + trace.below(1461), ecn, ..TestPacket::default() };
        work(wait, trace.chance(load).then_some(packet));
    }
}

fn compare(tc: Tc, steps: u64, seed: u64) -> Counts {
    let mut pair = Pair::new(&tc, DualPi2Version::Linux, seed);
    trace(steps, seed, |wait, packet| {
        pair.wait(wait);
        pair.step(packet);
        pair.compare();
    });
    pair.ours.assert_conserved();
    pair.theirs.counts
}

#[test]
fn long_traces_agree() {
    let sets = [
        PLAIN,
        Tc { drop_early: true, ..PLAIN },
        Tc { drop_overload: false, limit: 300, ..PLAIN },
        Tc { ecn_mask: 3, step: Threshold::Packets(5), ..PLAIN },
        Tc { coupling: 1, c_protection: 50, min_qlen_step: 3, ..PLAIN },
        Tc { target: 2000, tupdate: 1000, alpha: 2000, beta: 20_000, drop_early: true, ..PLAIN },
        Tc { limit: 40, target: 100_000, c_protection: 0, ..PLAIN },
    ];
    let mut sum = [0; 11];
    for (seed, tc) in (1..).zip(sets) {
        let counts = compare(tc, 40_000, seed);
        let Counts { overlimit, classic_drops, classic_marks, coupled_marks, step_marks, .. } = counts;
        let Counts { overload_drops, overload_marks, c_turns, l_turns, at_most, at_least, .. } = counts;
        let counts =
            [overlimit, classic_drops, classic_marks, coupled_marks, step_marks, overload_drops, overload_marks];
        let counts = counts.into_iter().chain([c_turns, l_turns, at_most, at_least]);
        sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    assert!(sum.iter().all(|&times| times >= 30), "each case many times: {sum:?}");
}

/// Options that change while the queues are in use, the clock's period apart.
#[test]
fn changes_agree() {
    for seed in 1..=5 {
        let mut pair = Pair::new(&PLAIN, DualPi2Version::Linux, seed);
        let (mut choices, mut until) = (Stream::new(seed, "changes"), 0);
        trace(20_000, seed, |wait, packet| {
            pair.wait(wait);
            if until == 0 {
                until = 1 + choices.below(1000);
                let mut below = |n: u64| choices.below(n);
                pair.change(&Tc {
                    alpha: below(1000) as u32,
                    step: if below(2) == 0 {
                        Threshold::Packets(below(10) as u32)
                    } else {
                        Threshold::Us(below(9999) as u32)
                    },
                    min_qlen_step: below(4) as u32,
                    coupling: 1 + below(5) as u8,
                    drop_overload: below(2) == 0,
                    drop_early: below(2) == 0,
                    c_protection: 10 * below(11) as i32,
                    ecn_mask: [1, 3][below(2) as usize],
                    ..PLAIN
                });
            }
            until -= 1;
            pair.step(packet);
            pair.compare();
        });
        pair.ours.assert_conserved();
    }
}

/// With everything in one queue and no early drops both hold the same packets at all times, whatever they mark: p' differs
/// by the kernel's gains alone, which are cut to whole parts of 2³² (44 for 44.02, 879 for 879.4), by 1/2000. Between its
/// bounds p' is moved by at most 1 up and 1 down by each gain, as waits stay below a third of a second, so that it differs
/// by 0.002 at most. (The kernel's p' wraps when waits fall by more at once.)
#[test]
fn the_rfcs_p_is_the_kernels() {
    for seed in 1..=10 {
        let tc = Tc { limit: 60, drop_overload: false, ecn_mask: 3, ..PLAIN };
        let mut pair = Pair::new(&tc, DualPi2Version::Rfc9332, seed);
        let mut highest = 0.0f64;
        trace(20_000, seed, |wait, packet| {
            pair.wait(wait.min(50_000_000));
            let (now, mut random) = (pair.ours.now.0, Stream::new(seed, "kernel"));
            if let Some(packet) = packet {
                let packet = TestPacket { ecn: Ecn::Capable1, serial: pair.ours.arrived, ..packet };
                pair.ours.submit(packet);
                pair.theirs.enqueue(packet, now, &mut random);
            } else {
                let left = pair.theirs.dequeue(now, &mut random).0;
                assert_eq!(pair.ours.depart().map(|packet| packet.serial), left.map(|packet| packet.serial));
            }
            let (p, theirs) = (pair.p(), pair.theirs.p());
            assert!((p - theirs).abs() < 2e-3, "{p}, Linux {theirs}");
            highest = highest.max(p);
        });
        assert!(pair.ours.dropped.iter().all(|(_, reason)| *reason == DropReason::Tail));
        assert!(highest > 0.4, "{highest}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_parameters_agree(
        limit in 1usize..400, target in 1u32..100_000, tupdate in 500u32..100_000, alpha in 0u32..5000,
        beta in 0u32..100_000, (packets, step) in (any::<bool>(), 0u32..20_000), min_qlen_step in 0u32..10,
        coupling in 1u8..=255, (drop_overload, drop_early) in any::<(bool, bool)>(), c_protection in 0i32..=100,
        any_ect: bool, mtu in 1u32..5000, seed: u64,
    ) {
        let step = if packets { Threshold::Packets(step % 30) } else { Threshold::Us(step) };
        let ecn_mask = if any_ect { 3 } else { 1 };
        let tc = Tc {
            limit, target, tupdate, alpha, beta, step, min_qlen_step, coupling, drop_overload, drop_early, c_protection,
            ecn_mask, mtu,
        };
        compare(tc, 2000, seed);
    }

    /// Gains and times over their whole range: the kernel's products wrap, and so do ours.
    #[test]
    fn extremes_agree(
        alpha in 0u32..(1 << 31) - 1, beta in 0u32..(1 << 31) - 1, target in 1u32..3_600_000_000, waits in 1u64..1 << 40,
        drop_overload: bool, seed: u64,
    ) {
        let mut pair = Pair::new(&Tc { alpha, beta, target, tupdate: 4_000_000, drop_overload, ..PLAIN }, DualPi2Version::Linux, seed);
        let mut trace = Stream::new(seed, "trace");
        for _ in 0..40 {
            pair.wait(trace.below(waits));
            let packet = TestPacket { bytes: 1000, ecn: Ecn::Capable1, ..TestPacket::default() };
            pair.step(trace.chance(0.5).then_some(packet));
            pair.compare();
        }
    }
}
