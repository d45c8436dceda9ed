//! RED's rule without a queue: the average, the law of gaps, and whether to mark or to drop. CHOKe and others build on it.

use super::{Action, GapLaw, Mode, RedParams};
use crate::discipline::{DropReason, Packet};
use sluicegate_base::{Size, Span, Stream, Time};

/// What RED's rule says of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Queue it.
    Pass,
    /// Signal congestion on it, by chance.
    Early,
    /// Signal congestion on it, for certain.
    Forced,
}

/// Which form of the rule is followed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Form {
    law: GapLaw,
    wait: bool,
    gentle: bool,
    geometric: bool,
    /// In byte mode, the paper's MaximumPacketSize in bytes.
    max_packet: Option<f64>,
}

/// The paper's: Sec. VII's law of gaps, method 2, a queue measured in packets.
pub(super) const PAPER: Form =
    Form { law: GapLaw::Section7, wait: false, gentle: false, geometric: false, max_packet: None };

/// RED's average, its law of gaps and its action.
#[derive(Clone, Debug)]
pub struct RedRule {
    pub(super) w_q: f64,
    pub(super) min_th: f64,
    pub(super) max_th: f64,
    max_p: f64,
    /// max_p over the distance of the thresholds.
    pub(super) slope: f64,
    /// 1 − w_q. Not beside w_q: the two would be multiplied as a pair, which takes longer.
    rest: f64,
    pub(super) s: Span,
    form: Form,
    /// Whether the form is the paper's.
    pub(super) paper: bool,
    marks_below_max_th: bool,
    marks_above_max_th: bool,
    /// In packets, in byte mode in bytes.
    pub(super) avg: f64,
    /// What the law of gaps counts, up to and with the last packet in the band; −1 before the first.
    pub(super) count: i64,
    /// With law = figure17, R: drawn once for each signal, above 0 and up to 1.
    r: f64,
    /// Packets that the last arrival found in the queue.
    queued: u64,
    /// Whether the last arrival was in the band, as ns-2 counts it.
    in_band: bool,
    /// When the link last found the queue empty; none while it is busy.
    pub(super) q_time: Option<Time>,
}

impl RedRule {
    /// The rule at rest: average zero, link idle since the start.
    #[must_use]
    pub fn new(params: &RedParams) -> Self {
        let threshold = |size| params.threshold(size).unwrap_or(u64::MAX) as f64;
        let marks = params.action == Action::Mark;
        let form = Form {
            law: params.law,
            wait: params.wait,
            gentle: params.gentle,
            geometric: params.method == 1,
            max_packet: match (params.mode, params.max_packet) {
                (Mode::Byte, Size::Bytes(n)) => Some(n as f64),
                _ => None,
            },
        };
        RedRule {
            w_q: params.w_q,
            rest: 1.0 - params.w_q,
            min_th: threshold(params.min_th),
            max_th: threshold(params.max_th),
            max_p: params.max_p,
            slope: params.max_p / (threshold(params.max_th) - threshold(params.min_th)),
            s: params.s,
            form,
            paper: form == PAPER,
            marks_below_max_th: marks,
            marks_above_max_th: marks && params.above_max_th == Action::Mark,
            avg: 0.0,
            count: -1,
            r: 0.0,
            queued: 0,
            in_band: false,
            q_time: Some(Time::ZERO),
        }
    }

    /// Changes max_p: ARED adapts it to the traffic.
    pub fn set_max_p(&mut self, max_p: f64) {
        (self.max_p, self.slope) = (max_p, max_p / (self.max_th - self.min_th));
    }

    /// The average queue in packets; in byte mode, in packets of `max_packet` bytes.
    #[must_use]
    pub fn avg(&self) -> f64 {
        self.form.max_packet.map_or(self.avg, |max_packet| self.avg / max_packet)
    }

    /// Whether the average has reached `min_th`.
    #[inline]
    #[must_use]
    pub fn above_min_th(&self) -> bool {
        self.avg >= self.min_th
    }

    /// Whether every arrival is to be dropped.
    #[inline]
    #[must_use]
    pub fn above_max_th(&self) -> bool {
        self.saturates(self.form)
    }

    #[inline]
    pub(super) fn saturates(&self, form: Form) -> bool {
        self.avg >= if form.gentle { 2.0 * self.max_th } else { self.max_th }
    }

    /// How far the average stands between the thresholds: 0 at min_th, 1 at max_th.
    #[inline]
    #[must_use]
    pub fn height(&self) -> f64 {
        (self.avg - self.min_th) / (self.max_th - self.min_th)
    }

    /// A packet arrives to a queue of so many packets and bytes: brings the average up to date.
    #[inline]
    pub fn arrival(&mut self, packets: u64, bytes: u64, now: Time) {
        self.queued = packets;
        self.avg = match self.q_time {
            None => self.averaged(if self.form.max_packet.is_some() { bytes } else { packets }),
            Some(q_time) => self.decayed(now.since(q_time)),
        };
    }

    /// The average after one more look at the queue, while the link is busy.
    #[inline]
    pub(super) fn averaged(&self, q: u64) -> f64 {
        // No queue has 2⁶³ packets or bytes, and a number with a sign is converted in one instruction.
        self.rest * self.avg + self.w_q * q as i64 as f64
    }

    /// The idle period is over: the average after it.
    #[inline(never)]
    fn decayed(&mut self, idle: Span) -> f64 {
        self.q_time = None;
        self.avg * libm::pow(self.rest, idle.0 as f64 / self.s.0 as f64)
    }

    /// The link asked for a packet and found none.
    #[inline]
    pub fn idle(&mut self, now: Time) {
        self.q_time.get_or_insert(now);
    }

    /// Judges an arrival of so many bytes by the average.
    #[inline]
    pub fn judge(&mut self, bytes: u64, rng: &mut Stream) -> Verdict {
        if self.paper { self.judge_as(PAPER, bytes, rng) } else { self.judge_by_form(bytes, rng) }
    }

    #[inline(never)]
    fn judge_by_form(&mut self, bytes: u64, rng: &mut Stream) -> Verdict {
        let law = self.form.law;
        if !self.above_min_th() || (law == GapLaw::Ns2 && self.queued < 2) {
            (self.count, self.in_band) = (-1, false);
            return Verdict::Pass;
        }
        if law == GapLaw::Ns2 && !self.in_band {
            (self.count, self.in_band) = (1, true);
            return Verdict::Pass;
        }
        if law == GapLaw::Figure17 {
            return self.judge_by_figure_17(rng);
        }
        self.judge_as(self.form, bytes, rng)
    }

    /// The rule in this form: written once, compiled for the paper's and for any.
    #[inline(always)]
    pub(super) fn judge_as(&mut self, form: Form, bytes: u64, rng: &mut Stream) -> Verdict {
        if !self.above_min_th() {
            self.count = -1;
            return Verdict::Pass;
        }
        let count = self.count + 1;
        if self.saturates(form) {
            self.count = signalled(form);
            return Verdict::Forced;
        }
        let (p, q) = self.p_a(form, count, bytes);
        // A number below p/q, without the division.
        let pass = rng.uniform() * q >= p;
        self.count = if pass { count } else { signalled(form) };
        if pass { Verdict::Pass } else { Verdict::Early }
    }

    /// Judges an arrival from min_th on as Fig. 17 prints it: by one random number for each signal.
    fn judge_by_figure_17(&mut self, rng: &mut Stream) -> Verdict {
        if self.above_max_th() {
            self.count = -1;
            return Verdict::Forced;
        }
        self.count += 1;
        let signal = self.count > 0 && self.count as f64 * self.p_b() >= self.r;
        if signal {
            self.count = 0;
        }
        if self.count == 0 {
            self.r = 1.0 - rng.uniform();
        }
        if signal { Verdict::Early } else { Verdict::Pass }
    }

    /// The queue had no room for an arrival that the rule let pass.
    #[inline]
    pub fn refused(&mut self) {
        if self.form.law == GapLaw::Ns2 {
            self.count = signalled(self.form);
        }
    }

    /// Carries a verdict out: marks the packet if that is the action and it takes the mark. Otherwise gives the reason
    /// for which it is to be lost.
    #[inline]
    pub fn carry_out<P: Packet>(&self, verdict: Verdict, packet: &mut P) -> Option<DropReason> {
        self.carry_out_at(verdict, self.avg < self.max_th, packet)
    }

    /// The same for an average that is kept elsewhere.
    #[inline]
    pub(super) fn carry_out_at<P: Packet>(&self, verdict: Verdict, below: bool, packet: &mut P) -> Option<DropReason> {
        let reason = match verdict {
            Verdict::Pass => return None,
            Verdict::Early => DropReason::Early,
            Verdict::Forced => DropReason::Forced,
        };
        let marks = if below { self.marks_below_max_th } else { self.marks_above_max_th };
        (!(marks && packet.mark())).then_some(reason)
    }

    /// The probability for a packet of so many bytes, between the thresholds, as numerator and denominator. A denominator
    /// of 0 or less, where packets have been counted for long enough, stands for certainty: any number times it is below p_b.
    #[inline]
    fn p_a(&self, form: Form, count: i64, bytes: u64) -> (f64, f64) {
        let mut p_b = self.p_b_of(form);
        if let Some(max_packet) = form.max_packet {
            p_b *= bytes as f64 / max_packet;
        }
        if form.geometric {
            return (p_b, 1.0);
        }
        let x = count as f64 * p_b;
        match form.wait {
            false => (p_b, 1.0 - x),
            true if x < 1.0 => (0.0, 1.0),
            true => (p_b, 2.0 - x),
        }
    }

    /// The probability before the corrections for the packet's length and for `count`.
    #[inline]
    pub(super) fn p_b(&self) -> f64 {
        self.p_b_of(self.form)
    }

    /// The same, asked for only while the average is not saturated.
    #[inline]
    fn p_b_of(&self, form: Form) -> f64 {
        if form.gentle && self.avg >= self.max_th {
            self.max_p + (1.0 - self.max_p) * (self.avg - self.max_th) / self.max_th
        } else {
            self.slope * (self.avg - self.min_th)
        }
    }
}

/// Where counting starts anew: at one unmarked packet in Fig. 2 taken literally, at none in Sec. VII.
#[inline]
fn signalled(form: Form) -> i64 {
    if form.law == GapLaw::Section7 { -1 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::TestPacket;
    use alloc::vec::Vec;
    use sluicegate_base::{Ecn, Link, Params, Rate};

    fn params() -> RedParams {
        RedParams::defaults(&Link { rate: Rate(1_000_000), packet: 1000 }).unwrap()
    }

    fn thresholds(min_th: u64, max_th: u64) -> RedParams {
        RedParams { min_th: Size::Packets(min_th), max_th: Size::Packets(max_th), ..params() }
    }

    fn at(params: &RedParams, avg: f64) -> RedRule {
        RedRule { avg, ..RedRule::new(params) }
    }

    #[test]
    fn the_idle_period_starts_when_the_link_first_finds_nothing() {
        let mut rule = RedRule::new(&RedParams { w_q: 0.5, ..params() });
        rule.arrival(0, 0, Time::ZERO);
        rule.arrival(8, 8000, Time::ZERO);
        rule.idle(Time(4_000_000));
        rule.idle(Time(8_000_000));
        rule.arrival(0, 0, Time(12_000_000));
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
        let gaps = gaps(&RedParams { max_p: 0.2, ..thresholds(10, 30) }, 20.0, 50_000);
        let mut counts = [0.0f64; 10];
        gaps.iter().for_each(|&gap| counts[gap as usize - 1] += 1.0);
        let chi2: f64 = counts.iter().map(|c| (c - 5000.0) * (c - 5000.0) / 5000.0).sum();
        assert!(chi2 < 27.88, "chi-square with 9 degrees of freedom: {chi2}");
    }

    #[test]
    fn gaps_are_a_packet_shorter_where_figure_2_is_taken_literally() {
        // p_b = 0.1: after a signal, 0.1/0.9 for the first packet and 1 for the ninth; uniform on 1 … 9.
        let gaps = gaps(&RedParams { max_p: 0.2, law: GapLaw::Figure2, ..thresholds(10, 30) }, 20.0, 45_000);
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
        let figure17 = RedParams { max_p: 0.2, law: GapLaw::Figure17, ..thresholds(10, 30) };
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
        let mut rule = at(&RedParams { max_p: 1.0, w_q: 1e-12, law: GapLaw::Ns2, ..thresholds(10, 30) }, 20.0);
        rule.q_time = None;
        let mut rng = Stream::new(3, "ns-2");
        let mut verdicts = |rule: &mut RedRule, queues: &[u64]| -> Vec<Verdict> {
            queues
                .iter()
                .map(|&queued| {
                    rule.arrival(queued, 1000 * queued, Time::ZERO);
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
        let gaps = gaps(&RedParams { max_p: 0.2, method: 1, ..thresholds(10, 30) }, 20.0, 50_000);
        let (mut counts, n) = ([0.0f64; 20], gaps.len() as f64);
        gaps.iter().for_each(|&gap| counts[(gap as usize).min(20) - 1] += 1.0);
        let expected = |k: i32| n * libm::pow(0.9, f64::from(k)) * if k == 19 { 1.0 } else { 0.1 };
        let chi2: f64 = (0..20)
            .map(|k| (counts[k as usize] - expected(k)) * (counts[k as usize] - expected(k)) / expected(k))
            .sum();
        assert!(chi2 < 43.82, "chi-square with 19 degrees of freedom: {chi2}");
    }

    /// Fig. 8: Method 1 at p = 0.02 and Method 2 at p = 0.01 both mark roughly 100 of 5000, Method 1 more clustered.
    #[test]
    fn the_two_methods_compare_as_in_figure_8() {
        let run = |method, p: f64| {
            let gaps = gaps(&RedParams { max_p: 2.0 * p, method, ..thresholds(10, 30) }, 20.0, 20_000);
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
        let gaps = gaps(&RedParams { max_p: 0.2, wait: true, ..thresholds(10, 30) }, 20.0, 50_000);
        assert_eq!((gaps.iter().min(), gaps.iter().max()), (Some(&11), Some(&20)));
        let mean = gaps.iter().sum::<u64>() as f64 / 50_000.0;
        // Uniform on 11 … 20: mean 15.5, and 4 standard errors are 4·2.87/√50000 = 0.05.
        assert!((mean - 15.5).abs() < 0.052, "mean {mean}");
    }

    #[test]
    fn gentle_rises_to_one_at_twice_max_th() {
        let params = RedParams { gentle: true, max_p: 0.1, ..thresholds(10, 30) };
        assert!((at(&params, 45.0).p_b() - 0.55).abs() < 1e-12, "half-way between max_p and 1");
        assert!(!at(&params, 59.9).above_max_th() && at(&params, 60.0).above_max_th());
        assert!(at(&RedParams { gentle: false, ..params }, 30.0).above_max_th());
    }

    /// Sec. IV: in byte mode the probability is proportional to the packet's length.
    #[test]
    fn byte_mode_scales_the_probability_by_the_length() {
        let byte = RedParams { mode: Mode::Byte, max_p: 0.2, ..thresholds(10, 30) };
        let mut rule = at(&byte, 20_000.0);
        assert_eq!((rule.min_th, rule.max_th, rule.avg()), (10_000.0, 30_000.0, 20.0));
        rule.count = 0;
        let p_a = |rule: &RedRule, bytes| {
            let (p, q) = rule.p_a(rule.form, rule.count, bytes);
            p / q
        };
        assert!((p_a(&rule, 1000) - 0.1).abs() < 1e-15 && (p_a(&rule, 40) - 0.004).abs() < 1e-15);
        rule.count = 5;
        assert!((p_a(&rule, 500) - 0.05 / (1.0 - 5.0 * 0.05)).abs() < 1e-15, "the scaled p_b enters p_a");
        rule.avg = 0.0;
        rule.arrival(3, 0, Time::ZERO);
        rule.arrival(3, 1234, Time::ZERO);
        assert_eq!(rule.avg, 0.002 * 1234.0, "the queue is measured in bytes");
        // A threshold in bytes means what it says.
        let bytes = RedParams { min_th: Size::Bytes(5000), max_th: Size::Packets(30), ..byte };
        assert_eq!(RedRule::new(&bytes).min_th, 5000.0);
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
        let marker = RedParams { action: Action::Mark, ..dropper };
        assert_eq!(outcome(&marker, 20.0, Verdict::Early, ect), (None, ce));
        assert_eq!(outcome(&marker, 20.0, Verdict::Early, none), (Some(DropReason::Early), none));
        assert_eq!(outcome(&marker, 30.0, Verdict::Forced, ect), (Some(DropReason::Forced), ect), "RFC 3168's way");
        let marks_all = RedParams { above_max_th: Action::Mark, ..marker };
        assert_eq!(outcome(&marks_all, 30.0, Verdict::Forced, ect), (None, ce), "Fig. 1's way");
        assert_eq!(outcome(&marks_all, 30.0, Verdict::Forced, none), (Some(DropReason::Forced), none));
    }
}
