//! `choke_linux` against a model of the kernel's CHOKe, packet for packet.
//!
//! Both meet the same arrivals, departures and idle times, and draw from copies of one stream. After each step all that can
//! be seen must agree: what was dropped and why, what left and with which mark, the queue's contents and the average
//! to the last bit; at the end, how many random numbers were drawn.
//!
//! They differ on purpose in one case: an arrival that is to be queued while the kernel's table has a single free slot. The
//! kernel's tail then meets its head, and it takes the table for empty; `choke_linux` closes the gaps. The comparison
//! ends at that arrival and begins anew with two empty queues. Links so slow that `tc` shifts bits out of an `int` (a
//! Scell_log above 23) are left out too: C does not say what happens there.

#[path = "kernel/mod.rs"]
mod kernel;
#[path = "kernel/red.rs"]
pub mod red;

use kernel::{Counts, Fate, Tc};
use proptest::prelude::*;
use red::Reciprocal;
use sluicegate_aqm::choke_linux::{ChokeLinux, ChokeLinuxParams};
use sluicegate_aqm::harness::{Harness, TestPacket, any_ecn};
use sluicegate_aqm::{Discipline, DropReason};
use sluicegate_base::{Ecn, Link, Params, Rate, Size, Span, Stream, Value};

const PLAIN: Tc =
    Tc { limit: 300, min: 30, max: 60, burst: 40, avpkt: 1000, bandwidth: 1_000_000, probability: 0.02, ecn: false };

/// The same values as a person gives them to `choke_linux`.
fn params(tc: &Tc) -> Option<ChokeLinuxParams> {
    let mut given = |at: usize| {
        let packets = |n: u32| Some(Value::Size(Size::Packets(u64::from(n))));
        match ChokeLinuxParams::FIELDS[at].name {
            "limit" => packets(tc.limit),
            "min_th" => packets(tc.min),
            "max_th" => packets(tc.max),
            "burst" => Some(Value::Integer(u64::from(tc.burst))),
            "avpkt" => Some(Value::Size(Size::Bytes(u64::from(tc.avpkt)))),
            "bandwidth" => Some(Value::Rate(Rate(tc.bandwidth))),
            "max_p" => Some(Value::Number(tc.probability)),
            "ecn" => Some(Value::Switch(tc.ecn)),
            name => panic!("{name} is not in the model"),
        }
    };
    ChokeLinuxParams::build(&mut given, &Link { rate: Rate(tc.bandwidth), packet: 1000 }).ok()
}

/// Both queues side by side.
struct Pair {
    ours: Harness<ChokeLinux<TestPacket>>,
    kernels: kernel::Choke,
    /// The model's copy of the random numbers.
    random: Stream,
    overruns: u64,
}

impl Pair {
    fn new(tc: Tc, seed: u64) -> Option<Pair> {
        let ours = Harness::new(ChokeLinux::new(params(&tc)?), seed);
        let random = ours.rng.clone();
        Some(Pair { ours, kernels: kernel::Choke::new(tc)?, random, overruns: 0 })
    }

    /// A packet arrives at both; false where the kernel's table overruns.
    fn arrive(&mut self, flow: u64, bytes: u64, ecn: Ecn) -> bool {
        let packet = TestPacket { flow, bytes, serial: self.ours.arrived, ecn, ..TestPacket::default() };
        let fate = self.kernels.enqueue(packet, self.ours.now.0, &mut self.random);
        self.ours.offer(flow, bytes, ecn);
        let dropped: Vec<(TestPacket, DropReason)> = match fate {
            Fate::Overrun => return false,
            Fate::Queued => Vec::new(),
            Fate::Lost(packet, reason) => vec![(packet, reason)],
            Fate::Met(other) => vec![(other, DropReason::Match), (packet, DropReason::Match)],
        };
        assert_eq!(self.ours.new_drops(), dropped, "packet {} of flow {flow}", packet.serial);
        self.agree();
        true
    }

    /// The link asks both for a packet.
    fn depart(&mut self) -> Option<TestPacket> {
        let theirs = self.kernels.dequeue(self.ours.now.0);
        let ours = self.ours.depart();
        assert_eq!(ours, theirs);
        self.agree();
        ours
    }

    fn agree(&self) {
        assert_eq!(self.ours.discipline.average(), Some(self.kernels.average()));
        assert_eq!(self.ours.queued(), self.kernels.queued());
    }

    /// So many random steps: spells of arrivals from few or many flows, faster or slower than the link, with pauses in which
    /// the queue runs empty. The queue begins anew after an overrun.
    fn play(mut self, tc: Tc, steps: u64, seed: u64) -> (Counts, u64) {
        let mut trace = Stream::new(seed, "trace");
        let (mut counts, mut spell, mut load, mut flows, mut heavy) = (Counts::default(), 0, 0.5, 1, 0.0);
        for _ in 0..steps {
            if spell == 0 {
                spell = 1 + trace.below(400);
                (load, flows, heavy) = (0.2 + 0.75 * trace.uniform(), 1 + trace.below(40), trace.uniform());
                if trace.chance(0.3) {
                    while self.depart().is_some() {}
                    // From microseconds to minutes.
                    self.ours.wait(Span(libm::pow(10.0, 3.0 + 8.0 * trace.uniform()) as u64));
                }
            }
            spell -= 1;
            self.ours.wait(Span(trace.below(2_000_000)));
            if !trace.chance(load) {
                self.depart();
                continue;
            }
            let flow = if trace.chance(heavy) { 0 } else { trace.below(flows) };
            let ecn = any_ecn(&mut trace);
            if !self.arrive(flow, 40 + trace.below(1461), ecn) {
                let (seed, overruns) = (trace.bits(), self.overruns + 1);
                add(&mut counts, self.kernels.counts);
                self = Pair { overruns, ..Pair::new(tc, seed).expect("as before") };
            }
        }
        assert_eq!(self.ours.rng.bits(), self.random.bits(), "as many random numbers were drawn");
        add(&mut counts, self.kernels.counts);
        (counts, self.overruns)
    }
}

fn add(sum: &mut Counts, more: Counts) {
    sum.prob_drop += more.prob_drop;
    sum.prob_mark += more.prob_mark;
    sum.forced_drop += more.forced_drop;
    sum.forced_mark += more.forced_mark;
    sum.pdrop += more.pdrop;
    sum.matched += more.matched;
    sum.gave_up += more.gave_up;
    sum.shifted += more.shifted;
    sum.linear += more.linear;
}

/// The model's own arithmetic, against messages of iproute2 6.1.0 to the kernel: Wlog, Scell_log and the sum of Stab for
/// (min, max, burst, avpkt, bandwidth).
#[test]
fn the_model_has_tcs_numbers() {
    let recorded = [
        ((30, 60, 40, 1000, 1_000_000), (4, 17, 2097)),
        ((25, 75, 41, 1000, 10_000_000), (5, 15, 2593)),
        ((83, 250, 200, 1500, 100_000_000), (8, 15, 2121)),
        ((30, 60, 40, 1000, 64_000), (4, 21, 2149)),
        ((5, 15, 5, 500, 10_000_000_000), (1, 0, 31)),
    ];
    for ((min, max, burst, avpkt, bandwidth), numbers) in recorded {
        let sent = Tc { min, max, burst, avpkt, bandwidth, ..PLAIN }.sent().expect("tc accepted it");
        let sum = sent.stab.iter().map(|&cell| u32::from(cell)).sum::<u32>();
        assert_eq!((sent.wlog, sent.scell_log, sum), numbers);
    }
}

/// Parameters as one gives them to `tc`, a hundred thousand steps each; and every branch of the kernel's code is taken.
#[test]
fn long_traces_agree() {
    let sets = [
        PLAIN,
        Tc { ecn: true, ..PLAIN },
        Tc { min: 25, max: 75, burst: 41, bandwidth: 10_000_000, ..PLAIN },
        Tc { limit: 1000, min: 83, max: 250, burst: 200, avpkt: 1500, bandwidth: 100_000_000, ecn: true, ..PLAIN },
        Tc { min: 5, max: 15, burst: 5, avpkt: 500, bandwidth: 10_000_000_000, ..PLAIN },
        Tc { bandwidth: 64_000, probability: 0.5, ..PLAIN },
        // A limit below what the average lets in, with room for holes in the table, and with none.
        Tc { limit: 40, min: 10, max: 30, burst: 20, ..PLAIN },
        Tc { limit: 63, min: 10, max: 30, burst: 20, ecn: true, ..PLAIN },
        Tc { limit: 17, min: 2, max: 4, burst: 2, probability: 0.9, ecn: true, ..PLAIN },
        // Average up to the limit: it tail-drops before it reaches max.
        Tc { limit: 40, min: 35, max: 200, burst: 60, probability: 1e-6, ..PLAIN },
    ];
    let (mut counts, mut overruns) = (Counts::default(), 0);
    for (seed, tc) in (1..).zip(sets) {
        let pair = Pair::new(tc, seed).expect("tc accepts these");
        let (more, overrun) = pair.play(tc, 100_000, seed);
        add(&mut counts, more);
        overruns += overrun;
    }
    let Counts { prob_drop, prob_mark, forced_drop, forced_mark, pdrop, matched, gave_up, shifted, linear } = counts;
    let met = [prob_drop, prob_mark, forced_drop, forced_mark, pdrop, matched, gave_up, shifted, linear, overruns];
    assert!(met.iter().all(|&times| times >= 100), "each case many times: {counts:?}, {overruns} overruns");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any parameters: `choke_linux` refuses what `tc` or the kernel refuses, and else does what the kernel does.
    #[test]
    fn any_parameters_agree(
        (limit, min, width, burst) in (1u32..200, 1u32..40, 1u32..60, 1u32..120),
        (avpkt, rate) in (40u32..9000, 4.0f64..10.0),
        (probability, ecn, seed) in (0.0001f64..0.9999, any::<bool>(), any::<u64>()),
    ) {
        let bandwidth = libm::pow(10.0, rate) as u64;
        let tc = Tc { limit, min, max: min + width, burst, avpkt, bandwidth, probability, ecn };
        match (Pair::new(tc, seed), tc.sent()) {
            (Some(pair), Some(sent)) if sent.defined() => drop(pair.play(tc, 2000, seed)),
            (Some(_), Some(_)) | (None, None) => {}
            (ours, sent) => prop_assert!(false, "{tc:?}: ours {}, tc {}", ours.is_some(), sent.is_some()),
        }
    }

    /// The kernel divides by a multiplication; it is exact for every divisor and dividend of 32 bits.
    #[test]
    fn a_reciprocal_divides(a: u32, d in 1u32.., small in 1u32..100) {
        prop_assert_eq!(Reciprocal::of(d).divide(a), a / d);
        prop_assert_eq!(Reciprocal::of(small).divide(a), a / small);
        prop_assert_eq!(Reciprocal::of(small).divide(u32::MAX - small), (u32::MAX - small) / small);
    }
}

/// The case that is left out, by hand: limit 3 is a table of four slots. A hole and three packets fill it.
#[test]
fn an_overrun_is_a_table_with_one_free_slot() {
    let tc = Tc { limit: 3, min: 1, max: 3, burst: 1, probability: 1e-6, ..PLAIN };
    let mut pair = Pair::new(tc, 1).expect("Wlog = 1");
    // Flows 1, 2 and 3 fill the queue; more arrivals raise the average until one meets its like behind the head.
    (1..4).for_each(|flow| assert!(pair.arrive(flow, 100, Ecn::NotCapable)));
    while pair.kernels.queued().len() == 3 {
        pair.arrive(2, 100, Ecn::NotCapable);
    }
    let queued = |pair: &Pair| pair.kernels.queued().iter().map(|packet| packet.flow).collect::<Vec<_>>();
    assert_eq!((queued(&pair), pair.kernels.span()), (vec![1, 3], 3), "two packets and a hole in three slots");
    // The next that is queued would put the tail on the head. New flows, and an average that comes down to be let in.
    let mut flow = 10;
    while pair.arrive(flow, 100, Ecn::NotCapable) {
        flow += 1;
    }
    assert_eq!(pair.ours.queued_flows(), [1, 3, flow], "choke_linux has closed the gap and queued it");
    pair.ours.assert_conserved();
}
