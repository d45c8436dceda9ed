//! Buckets of flows in tables, by a keyed hash: nobody who does not know the key can choose flows that share a bucket.
//!
//! The hash is SipHash-1-3, made for this purpose (Aumasson & Bernstein 2012), and its key is drawn from the discipline's own
//! random stream, so that equal seeds give equal tables.

use crate::discipline::FlowKey;
use core::hash::{BuildHasher, Hasher};
use siphasher::sip::SipHasher13;
use sluicegate_base::Stream;

/// A keyed hash of flows, with a key of 128 bits.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowHasher(u64, u64);

impl FlowHasher {
    /// A hash with a key of its own: two random numbers.
    #[must_use]
    pub fn new(rng: &mut Stream) -> FlowHasher {
        FlowHasher(rng.bits(), rng.bits())
    }

    /// The hash of a flow.
    #[inline]
    #[must_use]
    pub fn hash(&self, flow: FlowKey) -> u64 {
        let mut hasher = self.build_hasher();
        hasher.write_u64(flow.0);
        hasher.finish()
    }

    /// The bucket of a flow in a table of `n` buckets; `n` must not be zero.
    #[inline]
    #[must_use]
    pub fn bucket(&self, flow: FlowKey, n: usize) -> usize {
        FlowHasher::bucket_of(self.hash(flow), n)
    }

    /// The same for a flow whose hash is known.
    #[inline]
    #[must_use]
    pub fn bucket_of(hash: u64, n: usize) -> usize {
        // The upper half of a product instead of a remainder: as even, and without a division.
        ((u128::from(hash) * n as u128) >> 64) as usize
    }
}

impl BuildHasher for FlowHasher {
    type Hasher = SipHasher13;
    #[inline]
    fn build_hasher(&self) -> SipHasher13 {
        SipHasher13::new_with_keys(self.0, self.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    /// A million flows whose numbers are all multiples of the table's size fall on its buckets like random ones.
    #[test]
    fn chosen_flows_do_not_share_a_bucket() {
        let keyed = FlowHasher::new(&mut Stream::new(1, "keyed"));
        let n = 1000;
        let mut counts = vec![0.0f64; n];
        (0..1_000_000).for_each(|k| counts[keyed.bucket(FlowKey(k * 4096 * 1000), n)] += 1.0);
        let chi2: f64 = counts.iter().map(|c| (c - 1000.0) * (c - 1000.0) / 1000.0).sum();
        // 999 degrees of freedom: mean 999, standard deviation 44.7; four of them.
        assert!((chi2 - 999.0).abs() < 179.0, "chi-square {chi2}");
    }

    #[test]
    fn the_key_makes_the_difference() {
        let hash = |seed| FlowHasher::new(&mut Stream::new(seed, "keyed")).hash(FlowKey(7));
        assert_ne!(hash(1), hash(2));
        assert_eq!(hash(1), hash(1));
    }
}
