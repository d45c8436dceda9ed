use super::*;
use crate::harness::TestPacket;
use crate::red::tests::{params, thresholds};
use alloc::vec::Vec;
use sluicegate_base::Ecn;

fn at(params: &RedParams, avg: f64) -> RedRule {
    RedRule { avg, ..RedRule::of(params) }
}

#[test]
fn the_idle_period_starts_when_the_link_first_finds_nothing() {
    let mut rule = RedRule::of(&RedParams { red: RedBlock { w_q: 0.5, ..params().red.clone() }, ..params() });
    rule.update_avg(0, 0, Time::ZERO);
    rule.update_avg(8, 8000, Time::ZERO);
    rule.idle(Time(4_000_000));
    rule.idle(Time(8_000_000));
    rule.update_avg(0, 0, Time(12_000_000));
    assert_eq!(rule.avg, 4.0 * 0.25, "two small packets since 4 ms");
}

/// Gaps between signals with the average held still.
fn gaps(params: &RedParams, avg: f64, n: usize) -> Vec<u64> {
    let mut rule = at(params, avg);
    let mut rng = Stream::new(11, "gaps");
    (0..n)
        .map(|_| {
            let mut gap = 1;
            while rule.judge(1000, &mut rng) == Verdict::Pass {
                gap += 1;
            }
            gap
        })
        .collect()
}

#[test]
fn gaps_are_uniform_as_section_vii_derives() {
    // avg half-way, max_p = 0.2: p_b = 0.1, gaps uniform on 1 … 10.
    let gaps = gaps(
        &RedParams { red: RedBlock { max_p: 0.2, ..thresholds(10, 30).red.clone() }, ..thresholds(10, 30) },
        20.0,
        50_000,
    );
    let mut counts = [0.0f64; 10];
    gaps.iter().for_each(|&gap| counts[gap as usize - 1] += 1.0);
    let chi2: f64 = counts.iter().map(|c| (c - 5000.0) * (c - 5000.0) / 5000.0).sum();
    assert!(chi2 < 27.88, "chi-square with 9 degrees of freedom: {chi2}");
}

#[test]
fn gaps_are_a_packet_shorter_where_figure_2_is_taken_literally() {
    // p_b = 0.1: after a signal, 0.1/0.9 for the first packet and 1 for the ninth; uniform on 1 … 9.
    let gaps = gaps(
        &RedParams {
            red: RedBlock { max_p: 0.2, ..thresholds(10, 30).red.clone() },
            law: GapLaw::Figure2,
            ..thresholds(10, 30)
        },
        20.0,
        45_000,
    );
    let mut counts = [0.0f64; 9];
    // The first follows an empty queue, not a signal: its law is Sec. VII's.
    gaps[1..].iter().for_each(|&gap| counts[gap as usize - 1] += 1.0);
    let chi2: f64 = counts.iter().map(|c| (c - 5000.0) * (c - 5000.0) / 5000.0).sum();
    assert!(chi2 < 26.12, "chi-square with 8 degrees of freedom: {chi2}");
}

/// Fig. 17: a signal in the first packet after another has 1/p_b as probability; the first of the band is spared, also
/// after a forced signal.
#[test]
fn gaps_follow_figure_17() {
    let figure17 = RedParams {
        red: RedBlock { max_p: 0.2, ..thresholds(10, 30).red.clone() },
        law: GapLaw::Figure17,
        ..thresholds(10, 30)
    };
    let (mut rule, mut rng) = (at(&figure17, 20.0), Stream::new(13, "figure 17"));
    let mut gap = |rule: &mut RedRule| {
        let mut gap = 1;
        while rule.judge(1000, &mut rng) == Verdict::Pass {
            gap += 1;
        }
        gap
    };
    let (mut later, mut first) = ([0.0f64; 12], [0.0f64; 12]);
    for _ in 0..10_000 {
        rule.avg = 30.0;
        assert_eq!(gap(&mut rule), 1, "a forced signal");
        rule.avg = 20.0;
        first[gap(&mut rule)] += 1.0;
        (0..4).for_each(|_| later[gap(&mut rule)] += 1.0);
        rule.avg = 5.0;
        assert_eq!(rule.judge(1000, &mut Stream::new(1, "draws nothing")), Verdict::Pass);
        rule.avg = 20.0;
        first[gap(&mut rule)] += 1.0;
    }
    let chi2 = |counts: &[f64], n: f64| counts.iter().map(|c| (c - n) * (c - n) / n).sum::<f64>();
    let (after, before) = (chi2(&later[1..11], 4000.0), chi2(&first[2..12], 2000.0));
    assert!(after < 27.88 && before < 27.88, "chi-square with 9 degrees of freedom: {after}, {before}");
}

/// ns-2's red.cc by hand: max_p = 1 and avg half-way, so that p_b is 1/2 and a count of 2 makes p_a 1.
#[test]
fn ns2_spares_short_queues_and_the_first_of_the_band() {
    let mut rule = at(
        &RedParams {
            red: RedBlock { max_p: 1.0, w_q: 1e-12, ..thresholds(10, 30).red.clone() },
            law: GapLaw::Ns2,
            ..thresholds(10, 30)
        },
        20.0,
    );
    rule.q_time = None;
    let mut rng = Stream::new(3, "ns-2");
    let mut verdicts = |rule: &mut RedRule, queues: &[u64]| -> Vec<Verdict> {
        queues
            .iter()
            .map(|&queued| {
                rule.update_avg(queued, 1000 * queued, Time::ZERO);
                rule.judge(1000, &mut rng)
            })
            .collect()
    };
    use Verdict::{Early, Forced, Pass};
    // A queue of one is spared; the first of two or more starts the count at 1; the second is at 2.
    assert_eq!(verdicts(&mut rule, &[1, 2, 2]), [Pass, Pass, Early]);
    assert_eq!((rule.count, rule.in_band), (0, true));
    // A short queue between them, and the band begins anew.
    assert_eq!(verdicts(&mut rule, &[1, 5, 5, 0]), [Pass, Pass, Early, Pass]);
    // Above max_th too; then all go.
    rule.avg = 31.0;
    assert_eq!(verdicts(&mut rule, &[1, 40, 40, 40]), [Pass, Pass, Forced, Forced]);
    // A full buffer counts as a signal.
    rule.count = 7;
    rule.refused();
    assert_eq!(rule.count, 0);
}

#[test]
fn method_1_gives_geometric_gaps() {
    // p_b = 0.1: Prob[X = n] = 0.9ⁿ⁻¹·0.1. Nineteen classes of their own, the rest together.
    let gaps = gaps(
        &RedParams { red: RedBlock { max_p: 0.2, ..thresholds(10, 30).red.clone() }, method: 1, ..thresholds(10, 30) },
        20.0,
        50_000,
    );
    let (mut counts, n) = ([0.0f64; 20], gaps.len() as f64);
    gaps.iter().for_each(|&gap| counts[(gap as usize).min(20) - 1] += 1.0);
    let expected = |k: i32| n * libm::pow(0.9, f64::from(k)) * if k == 19 { 1.0 } else { 0.1 };
    let chi2: f64 =
        (0..20).map(|k| (counts[k as usize] - expected(k)) * (counts[k as usize] - expected(k)) / expected(k)).sum();
    assert!(chi2 < 43.82, "chi-square with 19 degrees of freedom: {chi2}");
}

/// Fig. 8: Method 1 at p = 0.02 and Method 2 at p = 0.01 both mark roughly 100 of 5000, Method 1 more clustered.
#[test]
fn the_two_methods_compare_as_in_figure_8() {
    let run = |method, p: f64| {
        let gaps = gaps(
            &RedParams {
                red: RedBlock { max_p: 2.0 * p, ..thresholds(10, 30).red.clone() },
                method,
                ..thresholds(10, 30)
            },
            20.0,
            20_000,
        );
        let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
        let close = gaps.iter().filter(|&&gap| gap <= 5).count() as f64 / gaps.len() as f64;
        (5000.0 / mean, close)
    };
    let (geometric, uniform) = (run(1, 0.02), run(2, 0.01));
    // Means 50 and 50.5, standard errors 0.35 and 0.2 of them: 100 and 99 marks, within 1.5.
    assert!((geometric.0 - 100.0).abs() < 3.0 && (uniform.0 - 99.0).abs() < 1.7, "{geometric:?} {uniform:?}");
    // Gaps of 5 and less: 1 − 0.98⁵ = 0.096 against 0.05.
    assert!((geometric.1 - 0.096).abs() < 0.009 && (uniform.1 - 0.05).abs() < 0.007, "{geometric:?} {uniform:?}");
}

#[test]
fn wait_moves_the_gaps_to_between_one_and_two_over_p() {
    let gaps = gaps(
        &RedParams { red: RedBlock { max_p: 0.2, ..thresholds(10, 30).red.clone() }, wait: true, ..thresholds(10, 30) },
        20.0,
        50_000,
    );
    assert_eq!((gaps.iter().min(), gaps.iter().max()), (Some(&11), Some(&20)));
    let mean = gaps.iter().sum::<u64>() as f64 / 50_000.0;
    // Uniform on 11 … 20: mean 15.5, and 4 standard errors are 4·2.87/√50000 = 0.05.
    assert!((mean - 15.5).abs() < 0.052, "mean {mean}");
}

#[test]
fn gentle_rises_to_one_at_twice_max_th() {
    let params = RedParams {
        red: RedBlock { max_p: 0.1, ..thresholds(10, 30).red.clone() },
        gentle: true,
        ..thresholds(10, 30)
    };
    assert!((at(&params, 45.0).p_b() - 0.55).abs() < 1e-12, "half-way between max_p and 1");
    assert!(!at(&params, 59.9).above_band() && at(&params, 60.0).above_band());
    assert!(at(&RedParams { gentle: false, ..params }, 30.0).above_band());
}

/// Sec. IV: in byte mode the probability is proportional to the packet's length.
#[test]
fn byte_mode_scales_the_probability_by_the_length() {
    let byte = RedParams {
        red: RedBlock { max_p: 0.2, ..thresholds(10, 30).red.clone() },
        mode: Mode::Byte,
        ..thresholds(10, 30)
    };
    let mut rule = at(&byte, 20_000.0);
    assert_eq!((rule.min_th, rule.max_th, rule.avg()), (10_000.0, 30_000.0, 20.0));
    rule.count = 0;
    assert!((rule.p_a(1000) - 0.1).abs() < 1e-15 && (rule.p_a(40) - 0.004).abs() < 1e-15);
    rule.count = 5;
    assert!((rule.p_a(500) - 0.05 / (1.0 - 5.0 * 0.05)).abs() < 1e-15, "the scaled p_b enters p_a");
    rule.avg = 0.0;
    rule.update_avg(3, 0, Time::ZERO);
    rule.update_avg(3, 1234, Time::ZERO);
    assert_eq!(rule.avg, 0.002 * 1234.0, "the queue is measured in bytes");
    // A threshold in bytes means what it says.
    let bytes = RedParams {
        red: RedBlock { min_th: Size::Bytes(5000), max_th: Size::Packets(30), ..byte.red.clone() },
        ..byte
    };
    assert_eq!(RedRule::of(&bytes).min_th, 5000.0);
}

#[test]
fn a_marker_marks_what_it_can_and_drops_the_rest() {
    let packet = |ecn| TestPacket { flow: 1, bytes: 1000, serial: 0, ecn, ..TestPacket::default() };
    let outcome = |params: &RedParams, avg, verdict, ecn| {
        let mut packet = packet(ecn);
        (at(params, avg).carry_out(verdict, &mut packet), packet.ecn)
    };
    let (none, ect, ce) = (Ecn::NotCapable, Ecn::Capable0, Ecn::CongestionExperienced);
    let dropper = thresholds(10, 30);
    assert_eq!(outcome(&dropper, 20.0, Verdict::Early, ect), (Some(DropReason::Early), ect));
    assert_eq!(outcome(&dropper, 20.0, Verdict::Pass, ect), (None, ect));
    let marker = RedParams { signal: RedSignal { action: Action::Mark, ..dropper.signal.clone() }, ..dropper };
    assert_eq!(outcome(&marker, 20.0, Verdict::Early, ect), (None, ce));
    assert_eq!(outcome(&marker, 20.0, Verdict::Early, none), (Some(DropReason::Early), none));
    assert_eq!(outcome(&marker, 30.0, Verdict::Forced, ect), (Some(DropReason::Forced), ect), "RFC 3168's way");
    let marks_all = RedParams { signal: RedSignal { above_max_th: Action::Mark, ..marker.signal.clone() }, ..marker };
    assert_eq!(outcome(&marks_all, 30.0, Verdict::Forced, ect), (None, ce), "Fig. 1's way");
    assert_eq!(outcome(&marks_all, 30.0, Verdict::Forced, none), (Some(DropReason::Forced), none));
}
/// Fig. 17 by hand: w_q = 1/2, min_th = 1, max_th = 3, max_p = 1/2, so that C1 = 1/4 and C2 = 1/4: in floating point, and
/// in shifts and whole numbers.
#[test]
fn replays_figure_17() {
    use Verdict::{Early, Forced, Pass};
    for arithmetic in [RedArithmetic::Float, RedArithmetic::Shifts] {
        let red = RedBlock { w_q: 0.5, max_p: 0.5, ..thresholds(1, 3).red };
        let mut rule = RedRule::of(&RedParams { red, law: GapLaw::Figure17, arithmetic, ..params() });
        let mut rng = Stream::new(5, "figure 17");
        let mut step = |rule: &mut RedRule, q, expected, avg: f64, count| {
            rule.update_avg(q, 0, Time::ZERO);
            assert_eq!((rule.judge(0, &mut rng), rule.avg(), rule.count), (expected, avg, count));
        };
        // The link is idle, then q = 1: avg = 0 and 1/2, below the band.
        step(&mut rule, 0, Pass, 0.0, -1);
        step(&mut rule, 1, Pass, 0.5, -1);
        // q = 3: avg = 7/4, p_b = 3/16. The first packet of the band is never marked; R is drawn.
        step(&mut rule, 3, Pass, 1.75, 0);
        assert_eq!(rule.p_b(), 3.0 / 16.0);
        rule.r = 0.5;
        // q = 2: avg = 15/8, p_b = 7/32. R/p_b = 16/7: neither the first nor the second, but the third.
        step(&mut rule, 2, Pass, 1.875, 1);
        step(&mut rule, 2, Pass, 1.9375, 2);
        step(&mut rule, 2, Early, 1.96875, 0);
        // R has been drawn anew; the very next packet can be marked: p_b = 0.24609, above R.
        rule.r = 0.2;
        step(&mut rule, 2, Early, 1.984375, 0);
        // q = 5: avg = 3.49 is above max_th: marked, count = −1. Then q = 0 and back in the band: spared.
        step(&mut rule, 5, Forced, 3.4921875, -1);
        step(&mut rule, 0, Pass, 1.74609375, 0);
    }
}
