//! RED in whole numbers, as Sec. XI and Fig. 17 suggest: shifts for the weights, a table for the idle decay, and one random
//! number for each signal.

use super::rule::{RedRule, Verdict};
use alloc::vec::Vec;
use sluicegate_base::{Span, Stream, Time};

/// Numbers have this many binary places.
const PLACES: u32 = 32;
/// Queues are cut at this many packets, so that they fit.
const LONGEST: u64 = 1 << 30;

/// Fig. 17's variables, in units of 2⁻³².
#[derive(Clone, Debug)]
pub(super) struct Shifts {
    /// w_q is 2 to the power of minus this.
    w_q: u32,
    /// C1, the slope of p_b, is 2 to the power of minus this.
    c_1: u32,
    min_th: i64,
    max_th: i64,
    pub(super) avg: i64,
    /// Packets in the band since the one that R was drawn at; −1 outside the band and after a forced signal.
    pub(super) count: i64,
    /// R, from 2⁻³² to 1.
    pub(super) r: u64,
    q_time: Option<Time>,
    decay: Decay,
}

/// The nearest power of two to 1/x, as its exponent.
fn exponent(x: f64) -> u32 {
    libm::round(-libm::log2(x)).clamp(0.0, 63.0) as u32
}

impl Shifts {
    /// At rest, with the values of this rule.
    pub(super) fn new(rule: &RedRule) -> Shifts {
        let scaled = |x: f64| (libm::fmin(x, LONGEST as f64) as i64) << PLACES;
        let w_q = exponent(rule.w_q);
        Shifts {
            w_q,
            c_1: exponent(rule.slope),
            min_th: scaled(rule.min_th),
            max_th: scaled(rule.max_th),
            avg: 0,
            count: -1,
            r: 0,
            q_time: Some(Time::ZERO),
            decay: Decay::new(libm::exp2(-f64::from(w_q)), rule.s),
        }
    }

    /// The average in packets.
    pub(super) fn avg(&self) -> f64 {
        self.avg as f64 / (1u64 << PLACES) as f64
    }

    /// Whether the average stands below max_th.
    pub(super) fn below_max_th(&self) -> bool {
        self.avg < self.max_th
    }

    /// A packet arrives to a queue of so many packets: brings the average up to date.
    #[inline]
    pub(super) fn arrival(&mut self, packets: u64, now: Time) {
        match self.q_time.take() {
            None => self.avg += (((packets.min(LONGEST) << PLACES) as i64) - self.avg) >> self.w_q,
            Some(q_time) => self.avg = self.decay.of(self.avg, now.since(q_time)),
        }
    }

    /// The link asked for a packet and found none.
    pub(super) fn idle(&mut self, now: Time) {
        self.q_time.get_or_insert(now);
    }

    /// Judges an arrival by the average.
    #[inline]
    pub(super) fn judge(&mut self, rng: &mut Stream) -> Verdict {
        if self.avg < self.min_th {
            self.count = -1;
            return Verdict::Pass;
        }
        if self.avg >= self.max_th {
            self.count = -1;
            return Verdict::Forced;
        }
        self.count += 1;
        let signal = self.count > 0 && (self.count as u64).saturating_mul(self.p_b()) >= self.r;
        if signal {
            self.count = 0;
        }
        if self.count == 0 {
            self.r = (1 << PLACES) - (rng.bits() >> (64 - PLACES));
        }
        if signal { Verdict::Early } else { Verdict::Pass }
    }

    /// C1·avg − C2.
    pub(super) fn p_b(&self) -> u64 {
        ((self.avg - self.min_th) >> self.c_1) as u64
    }
}

/// How many binary digits each of the two tables takes of the idle time.
const DIGITS: u32 = 8;
const ENTRIES: u64 = 1 << DIGITS;
/// The tables reach to where the average has halved so many times; beyond, it is zero.
const HALVINGS: f64 = 16.0;

/// (1 − w_q)^m by two tables of 256, for the higher and the lower digits of the idle time.
#[derive(Clone, Debug)]
struct Decay {
    /// The idle time is counted in cells of 2 to the power of this nanoseconds.
    cell: u32,
    /// For so many cells.
    low: Vec<u64>,
    /// For so many times 256 cells.
    high: Vec<u64>,
}

impl Decay {
    fn new(w_q: f64, s: Span) -> Decay {
        // The decay of one nanosecond, as a logarithm to the base of 2; infinite where w_q = 1.
        let rate = -libm::log2(1.0 - w_q) / s.0 as f64;
        let cells = (ENTRIES * ENTRIES) as f64;
        let cell = (0..47).find(|&cell| libm::exp2(f64::from(cell)) * cells * rate >= HALVINGS).unwrap_or(47);
        let table = |step: f64| {
            let factor = |k: u64| if k == 0 { 1.0 } else { libm::exp2(-rate * step * k as f64) };
            (0..ENTRIES).map(|k| libm::round(factor(k) * (1u64 << PLACES) as f64) as u64).collect()
        };
        let width = libm::exp2(f64::from(cell));
        Decay { cell, low: table(width), high: table(width * ENTRIES as f64) }
    }

    /// What an idle time leaves of an average.
    fn of(&self, avg: i64, idle: Span) -> i64 {
        let cells = idle.0 >> self.cell;
        let Some(high) = self.high.get((cells >> DIGITS) as usize) else { return 0 };
        let low = self.low[(cells % ENTRIES) as usize];
        let scale = |x: u128, factor: u64| (x * u128::from(factor)) >> PLACES;
        scale(scale(avg as u128, *high), low) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::red::{GapLaw, RedParams};
    use sluicegate_base::{Link, Params, Rate, Size};

    fn shifts(w_q: f64, max_p: f64, [min, max]: [u64; 2]) -> Shifts {
        let defaults = RedParams::defaults(&Link { rate: Rate(1_000_000), packet: 1000 }).unwrap();
        let (min_th, max_th) = (Size::Packets(min), Size::Packets(max));
        Shifts::new(&RedRule::new(&RedParams { w_q, max_p, min_th, max_th, law: GapLaw::Figure17, ..defaults }))
    }

    const ONE: i64 = 1 << PLACES;

    /// Fig. 17 by hand: w_q = 1/2, min_th = 1, max_th = 3, max_p = 1/2, so that C1 = 1/4 and C2 = 1/4.
    #[test]
    fn replays_figure_17() {
        use Verdict::{Early, Forced, Pass};
        let mut red = shifts(0.5, 0.5, [1, 3]);
        let mut rng = Stream::new(5, "figure 17");
        let mut step = |red: &mut Shifts, q, expected, avg: f64, count| {
            red.arrival(q, Time::ZERO);
            assert_eq!((red.judge(&mut rng), red.avg(), red.count), (expected, avg, count));
        };
        // The link is idle, then q = 1: avg = 0 and 1/2, below the band.
        step(&mut red, 0, Pass, 0.0, -1);
        step(&mut red, 1, Pass, 0.5, -1);
        // q = 3: avg = 7/4, p_b = 3/16. The first packet of the band is never marked; R is drawn.
        step(&mut red, 3, Pass, 1.75, 0);
        assert_eq!(red.p_b(), (3 * ONE / 16) as u64);
        red.r = (ONE / 2) as u64;
        // q = 2: avg = 15/8, p_b = 7/32. R/p_b = 16/7: neither the first nor the second, but the third.
        step(&mut red, 2, Pass, 1.875, 1);
        step(&mut red, 2, Pass, 1.9375, 2);
        step(&mut red, 2, Early, 1.96875, 0);
        // R has been drawn anew; the very next packet can be marked: p_b = 0.24609, above R.
        red.r = (ONE / 5) as u64;
        step(&mut red, 2, Early, 1.984375, 0);
        // q = 5: avg = 3.49 is above max_th: marked, count = −1. Then q = 0 and back in the band: spared.
        step(&mut red, 5, Forced, 3.4921875, -1);
        step(&mut red, 0, Pass, 1.74609375, 0);
    }

    #[test]
    fn weights_are_the_nearest_powers_of_two() {
        // 0.002 is nearest to 1/512; C1 = 0.02/10 too. 0.003 is nearer to 1/256 than to 1/512, by their ratio.
        let red = shifts(0.002, 0.02, [5, 15]);
        assert_eq!((red.w_q, red.c_1), (9, 9));
        assert_eq!(shifts(0.003, 1.0, [5, 6]).w_q, 8);
        assert_eq!(shifts(1.0, 1.0, [5, 6]).w_q, 0);
        assert_eq!(shifts(1.0, 1.0, [5, 6]).c_1, 0);
    }

    /// The average agrees with the exact one to a millionth of a packet, over any queue.
    #[test]
    fn the_average_is_exact_to_a_millionth() {
        let (mut red, mut exact, mut rng) = (shifts(1.0 / 512.0, 0.02, [5, 15]), 0.0, Stream::new(2, "queue"));
        red.q_time = None;
        for _ in 0..100_000 {
            let q = rng.below(100);
            red.arrival(q, Time::ZERO);
            exact += (q as f64 - exact) / 512.0;
            assert!((red.avg() - exact).abs() < 1e-6);
        }
    }

    #[test]
    fn the_tables_give_the_decay() {
        for (w, s) in [(9, 4_000_000), (4, 1), (12, 80_000), (16, 4_000_000_000_000), (1, 1000)] {
            let w_q = libm::exp2(-f64::from(w));
            let decay = Decay::new(w_q, Span(s));
            for m in [0.0, 0.3, 1.0, 7.0, 100.0, 1000.0, 5000.0, 1e5] {
                let idle = Span((m * s as f64) as u64);
                let exact = 30.0 * libm::pow(1.0 - w_q, idle.0 as f64 / s as f64);
                let ours = decay.of(30 * ONE, idle) as f64 / ONE as f64;
                assert!((ours - exact).abs() <= 3.5e-4 * exact + 30.0 / 65_536.0, "w {w}, m {m}: {ours} {exact}");
            }
        }
        let none = Decay::new(1.0, Span(1000));
        assert_eq!((none.of(30 * ONE, Span::ZERO), none.of(30 * ONE, Span(1))), (30 * ONE, 0));
    }

    /// p_b = 1/8 held still: gaps after a signal are uniform on 1 … 8; the first of the band is spared, so that the first
    /// gap is uniform on 2 … 9, and so it is after a forced signal.
    #[test]
    fn gaps_follow_figure_17() {
        let mut rng = Stream::new(12, "gaps");
        let mut gap = |red: &mut Shifts| {
            let mut gap = 1;
            while red.judge(&mut rng) == Verdict::Pass {
                gap += 1;
            }
            gap
        };
        let (mut later, mut first) = ([0.0f64; 10], [0.0f64; 10]);
        for _ in 0..8000 {
            let mut red = shifts(0.5, 0.25, [10, 30]);
            red.avg = 10 * ONE + (1 << (29 + red.c_1));
            assert_eq!(red.p_b(), (ONE / 8) as u64);
            first[gap(&mut red)] += 1.0;
            (0..4).for_each(|_| later[gap(&mut red)] += 1.0);
            let band = core::mem::replace(&mut red.avg, 40 * ONE);
            assert_eq!(red.judge(&mut Stream::new(1, "it draws nothing")), Verdict::Forced);
            red.avg = band;
            first[gap(&mut red)] += 1.0;
        }
        let chi2 =
            |counts: &[f64], n: f64| counts.iter().map(|c| (c - n / 8.0) * (c - n / 8.0) / (n / 8.0)).sum::<f64>();
        let (after, before) = (chi2(&later[1..9], 32_000.0), chi2(&first[2..10], 16_000.0));
        assert!(after < 24.32 && before < 24.32, "chi-square with 7 degrees of freedom: {after}, {before}");
    }
}
