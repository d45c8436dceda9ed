//! How long packets waited, in little memory.

use sluicegate_port::DelayHistogram;

/// So many waiting times are kept as they are; a flow with more gets a histogram.
const EXACT: usize = 16;

/// The waiting times of one flow: mean and longest exactly; percentiles exactly for up to 16 packets, else to one
/// significant digit (never too low, and at most 1/16 too high).
#[derive(Clone, Debug, Default)]
pub struct Delays {
    count: u64,
    sum: u128,
    longest: u64,
    kept: Kept,
}

#[derive(Clone, Debug)]
enum Kept {
    Exact(Vec<u64>),
    /// To one significant digit.
    Coarse(Box<DelayHistogram<4, 0>>),
    /// To two.
    Fine(Box<DelayHistogram<7, 0>>),
}

impl Default for Kept {
    fn default() -> Self {
        Kept::Exact(Vec::new())
    }
}

impl Delays {
    /// Those of a whole link: to two significant digits (at most 1/128 too high).
    #[must_use]
    pub fn finer() -> Delays {
        Delays { kept: Kept::Fine(Box::default()), ..Delays::default() }
    }

    /// Adds a waiting time in nanoseconds.
    pub fn record(&mut self, nanoseconds: u64) {
        self.count += 1;
        self.sum += u128::from(nanoseconds);
        self.longest = self.longest.max(nanoseconds);
        match &mut self.kept {
            Kept::Exact(all) if all.len() < EXACT => all.push(nanoseconds),
            Kept::Exact(all) => {
                let mut histogram = Box::<DelayHistogram<4, 0>>::default();
                all.iter().for_each(|&each| histogram.record(each));
                histogram.record(nanoseconds);
                self.kept = Kept::Coarse(histogram);
            }
            Kept::Coarse(histogram) => histogram.record(nanoseconds),
            Kept::Fine(histogram) => histogram.record(nanoseconds),
        }
    }

    /// Their mean in nanoseconds; NaN when there are none.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.count as f64
    }

    /// The longest in nanoseconds; NaN when there are none.
    #[must_use]
    pub fn longest(&self) -> f64 {
        if self.count == 0 { f64::NAN } else { self.longest as f64 }
    }

    /// What the fraction `q` of them does not exceed, in nanoseconds; NaN when there are none.
    #[must_use]
    pub fn quantile(&self, q: f64) -> f64 {
        if self.count == 0 {
            return f64::NAN;
        }
        match &self.kept {
            Kept::Exact(all) => {
                let mut all = all.clone();
                all.sort_unstable();
                let place = libm::ceil(q * all.len() as f64) as usize;
                all[place.clamp(1, all.len()) - 1] as f64
            }
            Kept::Coarse(histogram) => histogram.quantile(q),
            Kept::Fine(histogram) => histogram.quantile(q),
        }
    }

    /// Classes of waiting times in order: the upper end of each, and how many are in it. For a whole link alone.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let histogram = match &self.kept {
            Kept::Fine(histogram) => Some(histogram),
            Kept::Exact(_) | Kept::Coarse(_) => None,
        };
        histogram.into_iter().flat_map(|histogram| histogram.counts())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_are_exact() {
        let mut delays = Delays::default();
        assert!(delays.mean().is_nan() && delays.quantile(0.5).is_nan() && delays.longest().is_nan());
        (1..=16).rev().for_each(|k| delays.record(k * 1_000_003));
        let at = |q| delays.quantile(q);
        assert_eq!([at(0.0), at(0.5), at(0.95), at(1.0)], [1_000_003.0, 8_000_024.0, 16_000_048.0, 16_000_048.0]);
        assert_eq!(delays.mean(), 8.5 * 1_000_003.0);
    }

    #[test]
    fn many_are_within_a_sixteenth_and_take_two_kilobytes() {
        let (mut flow, mut link) = (Delays::default(), Delays::finer());
        for k in 1..=100_000u64 {
            flow.record(k * 9_973);
            link.record(k * 9_973);
        }
        for q in [0.01, 0.5, 0.95, 0.99, 1.0] {
            let exact = libm::ceil(q * 1e5) * 9_973.0;
            assert!((1.0..=1.0 + 1.0 / 16.0).contains(&(flow.quantile(q) / exact)), "{q}");
            assert!((1.0..=1.0 + 1.0 / 128.0).contains(&(link.quantile(q) / exact)), "{q}");
        }
        assert_eq!(flow.longest(), 997_300_000.0);
        let Kept::Coarse(histogram) = &flow.kept else { panic!("many") };
        let bytes = histogram.bytes();
        assert!(bytes <= 2048, "{bytes} bytes for waiting times up to a second");
    }
}
