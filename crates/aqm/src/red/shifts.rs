//! RED's arithmetic in whole numbers, as Sec. XI and Fig. 17 suggest: shifts for the weights, a table for the idle decay.
//!
//! Here are avg and p_b only; what Fig. 17 does with count and R is law = figure17 in `rule.rs`.

use alloc::vec::Vec;
use sluicegate_base::Span;

/// Numbers have this many binary places.
const PLACES: u32 = 32;
const ONE: f64 = (1u64 << PLACES) as f64;
/// Queues are cut at this many packets, so that they fit.
const LONGEST: u64 = 1 << 30;

/// The average and p_b, in units of 2⁻³².
#[derive(Clone, Debug)]
pub(super) struct Shifts {
    /// w_q is 2 to the power of minus this.
    w_q_shift: u32,
    /// C1, the slope of p_b, is 2 to the power of minus this.
    c_1_shift: u32,
    min_th: i64,
    avg: i64,
    decay: Decay,
}

/// The nearest power of two to 1/x, as its exponent.
fn exponent(x: f64) -> u32 {
    libm::round(-libm::log2(x)).clamp(0.0, 63.0) as u32
}

fn scaled(x: f64) -> i64 {
    (libm::fmin(x, LONGEST as f64) * ONE) as i64
}

impl Shifts {
    /// With the average at zero.
    pub(super) fn new(w_q: f64, c_1: f64, min_th: f64, s: Span) -> Shifts {
        let w_q_shift = exponent(w_q);
        let decay = Decay::new(libm::exp2(-f64::from(w_q_shift)), s);
        Shifts { w_q_shift, c_1_shift: exponent(c_1), min_th: scaled(min_th), avg: 0, decay }
    }

    /// The same with this average, in packets.
    pub(super) fn at(self, avg: f64) -> Shifts {
        Shifts { avg: scaled(avg), ..self }
    }

    /// The average, in packets, after one more look at a queue of `q` packets.
    #[inline]
    pub(super) fn average(&mut self, q: u64) -> f64 {
        self.avg += (((q.min(LONGEST) << PLACES) as i64) - self.avg) >> self.w_q_shift;
        self.avg as f64 / ONE
    }

    /// The average, in packets, after an idle time.
    pub(super) fn decay(&mut self, idle: Span) -> f64 {
        self.avg = self.decay.of(self.avg, idle);
        self.avg as f64 / ONE
    }

    /// C1·avg − C2.
    #[inline]
    pub(super) fn p_b(&self) -> f64 {
        ((self.avg - self.min_th) >> self.c_1_shift) as f64 / ONE
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
    use sluicegate_base::Stream;

    /// 4 ms is the time of 500 bytes at 1 Mbit/s.
    fn shifts(w_q: f64, max_p: f64, [min, max]: [u64; 2]) -> Shifts {
        Shifts::new(w_q, max_p / (max - min) as f64, min as f64, Span::from_millis(4))
    }

    #[test]
    fn weights_are_the_nearest_powers_of_two() {
        // 0.002 is nearest to 1/512; C1 = 0.02/10 too. 0.003 is nearer to 1/256 than to 1/512, by their ratio.
        let red = shifts(0.002, 0.02, [5, 15]);
        assert_eq!((red.w_q_shift, red.c_1_shift), (9, 9));
        assert_eq!(shifts(0.003, 1.0, [5, 6]).w_q_shift, 8);
        assert_eq!(shifts(1.0, 1.0, [5, 6]).w_q_shift, 0);
        assert_eq!(shifts(1.0, 1.0, [5, 6]).c_1_shift, 0);
    }

    /// The average agrees with the exact one to a millionth of a packet, over any queue.
    #[test]
    fn the_average_is_exact_to_a_millionth() {
        let (mut red, mut exact, mut rng) = (shifts(1.0 / 512.0, 0.02, [5, 15]), 0.0, Stream::new(2, "queue"));
        for _ in 0..100_000 {
            let q = rng.below(100);
            exact += (q as f64 - exact) / 512.0;
            assert!((red.average(q) - exact).abs() < 1e-6);
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
                let computed = decay.of(scaled(30.0), idle) as f64 / ONE;
                assert!(
                    (computed - exact).abs() <= 3.5e-4 * exact + 30.0 / 65_536.0,
                    "w {w}, m {m}: {computed} {exact}"
                );
            }
        }
        let none = Decay::new(1.0, Span(1000));
        assert_eq!((none.of(scaled(30.0), Span::ZERO), none.of(scaled(30.0), Span(1))), (scaled(30.0), 0));
    }
}
