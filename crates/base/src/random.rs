//! Random numbers keyed by a stable name.
//!
//! A stream is named by the run's seed and a purpose (`"flow/3/start"`), so that adding a flow or changing the discipline
//! does not disturb the numbers that anything else draws: two disciplines meet the same traffic. The generator is
//! xoshiro256++ (Blackman & Vigna), its state filled from SipHash-1-3 of the name. The mappings from bits to a
//! distribution are written out here, because a library may change its own between versions and results may not.

use core::hash::Hasher;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use siphasher::sip::SipHasher13;

/// One independent stream of random numbers.
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The stream of this name in the run with this seed.
    #[must_use]
    pub fn new(seed: u64, name: &str) -> Stream {
        let mut state = [0u8; 32];
        for (k, word) in state.chunks_exact_mut(8).enumerate() {
            let mut hasher = SipHasher13::new_with_keys(seed, k as u64);
            hasher.write(name.as_bytes());
            word.copy_from_slice(&hasher.finish().to_le_bytes());
        }
        Stream(Xoshiro256PlusPlus::from_seed(state))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform on [0, 1), a multiple of 2⁻⁵³.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True with probability `p`: never for `p` ≤ 0, always for `p` ≥ 1.
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        self.uniform() < p
    }

    /// Uniform on 0, 1, …, `n` − 1, without bias (Lemire's multiplication with rejection). `n` must not be zero.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        let product = u128::from(self.bits()) * u128::from(n);
        if (product as u64) < n { self.below_from(product, n) } else { (product >> 64) as u64 }
    }

    /// The rest of it, when the first product may be one of those that are too many.
    #[cold]
    fn below_from(&mut self, mut product: u128, n: u64) -> u64 {
        let threshold = n.wrapping_neg() % n;
        while (product as u64) < threshold {
            product = u128::from(self.bits()) * u128::from(n);
        }
        (product >> 64) as u64
    }

    /// Exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.uniform())
    }

    /// Pareto with mean 1: x is exceeded with probability (m/x)^shape, where m = (shape − 1)/shape is the least value.
    /// The shape must be above 1, or there is no mean.
    pub fn pareto(&mut self, shape: f64) -> f64 {
        (shape - 1.0) / shape * libm::pow(1.0 - self.uniform(), -1.0 / shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_gives_the_same_numbers_for_ever() {
        let mut stream = Stream::new(7, "link/bottleneck");
        let first: [u64; 3] = core::array::from_fn(|_| stream.bits());
        // Recorded once; a change here changes every result that anybody has published.
        assert_eq!(first, [7_840_085_027_636_294_623, 113_635_921_813_586_353, 9_268_934_360_564_585_127]);
    }

    #[test]
    fn names_and_seeds_give_different_streams() {
        let draw = |seed, name| Stream::new(seed, name).bits();
        assert_ne!(draw(1, "a"), draw(1, "b"));
        assert_ne!(draw(1, "a"), draw(2, "a"));
        assert_eq!(draw(1, "a"), draw(1, "a"));
    }

    #[test]
    fn uniform_integers_are_uniform() {
        // Chi-square with 9 degrees of freedom: 27.88 is exceeded once in a thousand.
        let mut stream = Stream::new(1, "chi-square");
        let mut counts = [0u32; 10];
        for _ in 0..100_000 {
            counts[stream.below(10) as usize] += 1;
        }
        let chi2: f64 = counts.iter().map(|&c| (f64::from(c) - 1e4) * (f64::from(c) - 1e4) / 1e4).sum();
        assert!(chi2 < 27.88, "chi-square {chi2}");
    }

    #[test]
    fn exponential_has_mean_and_variance_one() {
        let mut stream = Stream::new(1, "exponential");
        let n = 200_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..n {
            let x = stream.exponential();
            sum += x;
            squares += x * x;
        }
        let mean = sum / f64::from(n);
        let variance = squares / f64::from(n) - mean * mean;
        // Four standard errors: 4/sqrt(n) = 0.009 for the mean, 4·sqrt(8/n) = 0.025 for the variance.
        assert!((mean - 1.0).abs() < 0.009 && (variance - 1.0).abs() < 0.026, "mean {mean}, variance {variance}");
    }

    #[test]
    fn pareto_has_its_mean_its_least_value_and_its_tail() {
        let n = 200_000;
        // With shape 3 the variance is 3/4: four standard errors of the mean are 0.0078.
        let mut stream = Stream::new(1, "pareto");
        let mean = (0..n).map(|_| stream.pareto(3.0)).sum::<f64>() / f64::from(n);
        assert!((mean - 1.0).abs() < 0.0078, "mean {mean}");
        // The logarithm of a value over the least one is exponential with mean 1/shape, whatever the shape: the
        // estimator of the tail index (Hill's, over the whole sample) has a standard error of shape/√n.
        for shape in [1.1, 1.5, 2.5] {
            let least = (shape - 1.0) / shape;
            let mut sum = 0.0;
            for _ in 0..n {
                let x = stream.pareto(shape);
                assert!(x >= least);
                sum += libm::log(x / least);
            }
            let index = f64::from(n) / sum;
            assert!((index - shape).abs() < 4.0 * shape / libm::sqrt(f64::from(n)), "shape {shape}: {index}");
        }
    }

    #[test]
    fn chance_is_certain_at_its_ends() {
        let mut stream = Stream::new(1, "ends");
        assert!((0..1000).all(|_| !stream.chance(0.0) && stream.chance(1.0)));
    }
}
