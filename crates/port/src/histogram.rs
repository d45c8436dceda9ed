//! How spans are distributed.

use alloc::boxed::Box;
use alloc::vec;

/// A histogram of spans, and the longest span exactly.
///
/// Each power of two has 2^`BINS` bins, and none is shorter than 2^`UNIT` ns: with 7 bits a quantile is at most 1/128 too
/// high, which is two significant digits; with 4 bits 1/16, one digit.
///
/// Bins and quantiles are those of the crate `hdrhistogram`, with which the tests compare. It keeps every bin from zero on
/// and takes several times as long to count a span; here each packet may have two of them and each flow a histogram, and the
/// bins that one needs are few: those from its least to its greatest span. Most of them have few spans, so that a byte counts
/// them.
#[derive(Clone, Debug, Default)]
pub struct DelayHistogram<const BINS: u32 = 7, const UNIT: u32 = 6> {
    /// The number of the first bin that is kept, how many spans each has modulo 256, and how many times 256 if any has as many.
    first: usize,
    counts: Box<[u8]>,
    carries: Box<[u32]>,
    longest: u64,
}

/// Bins are kept from and up to multiples of this.
const CHUNK: usize = 16;

impl<const BINS: u32, const UNIT: u32> DelayHistogram<BINS, UNIT> {
    /// Adds a span.
    #[inline]
    pub fn record(&mut self, nanoseconds: u64) {
        self.longest = self.longest.max(nanoseconds);
        let bin = Self::bin(nanoseconds);
        match self.counts.get_mut(bin.wrapping_sub(self.first)) {
            Some(count) => {
                *count = count.wrapping_add(1);
                if *count == 0 {
                    self.add(bin, 256);
                }
            }
            None => self.add(bin, 1),
        }
    }

    /// Where a span like this one is counted in memory, if any has been: what is fetched ahead depends on it, nothing else.
    #[inline]
    #[must_use]
    pub fn place(&self, nanoseconds: u64) -> Option<&u8> {
        self.counts.get(Self::bin(nanoseconds).wrapping_sub(self.first))
    }

    /// Adds so many spans in a bin, be it kept or not.
    #[cold]
    fn add(&mut self, bin: usize, spans: u64) {
        if bin.wrapping_sub(self.first) >= self.counts.len() {
            self.grow(bin);
        }
        self.set(bin, self.count(bin) + spans);
    }

    fn set(&mut self, bin: usize, spans: u64) {
        let (at, bins) = (bin - self.first, self.counts.len());
        self.counts[at] = spans as u8;
        if spans > u8::MAX.into() && self.carries.is_empty() {
            self.carries = vec![0; bins].into();
        }
        if let Some(carry) = self.carries.get_mut(at) {
            *carry = (spans >> 8).try_into().unwrap_or(u32::MAX);
        }
    }

    /// How many spans a bin has.
    fn count(&self, bin: usize) -> u64 {
        let at = bin.wrapping_sub(self.first);
        let carry = self.carries.get(at).copied().unwrap_or(0);
        self.counts.get(at).map_or(0, |count| u64::from(carry) << 8 | u64::from(*count))
    }

    /// The bins that have spans, in order, and how many each has.
    fn kept(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let bins = self.first..self.first + self.counts.len();
        bins.map(|bin| (bin, self.count(bin))).filter(|(_, count)| *count > 0)
    }

    /// Adds all spans of another.
    pub fn merge(&mut self, other: &Self) {
        self.longest = self.longest.max(other.longest);
        other.kept().for_each(|(bin, count)| self.add(bin, count));
    }

    /// The spans that have been added since it was as `before`; all of them where it has begun anew since then. Its longest
    /// span is that of all.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let mut since = self.clone();
        for (bin, count) in before.kept() {
            match self.count(bin).checked_sub(count) {
                Some(left) => since.set(bin, left),
                None => return self.clone(),
            }
        }
        since
    }

    /// The longest span; zero when there are none.
    #[must_use]
    pub fn longest(&self) -> u64 {
        self.longest
    }

    /// How many bytes its bins take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.counts) + size_of_val(&*self.carries)
    }

    /// The bins that have spans, in order: the upper end of each, but never more than the longest span, and how many it has.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.kept().map(|(bin, count)| (Self::greatest(bin).min(self.longest), count))
    }

    /// Keeps a bin, and those between.
    fn grow(&mut self, bin: usize) {
        let (from, to) = (bin / CHUNK * CHUNK, (bin / CHUNK + 1) * CHUNK);
        let kept = self.first..self.first + self.counts.len();
        let range = if kept.is_empty() { from..to } else { from.min(kept.start)..to.max(kept.end) };
        let before = kept.start.saturating_sub(range.start);
        self.counts = moved(&self.counts, before, range.len());
        if !self.carries.is_empty() {
            self.carries = moved(&self.carries, before, range.len());
        }
        self.first = range.start;
    }

    /// The span in nanoseconds that the fraction `q` does not exceed: the upper end of its bin, but never more than the
    /// longest span; the upper end of the shortest span's bin for zero. NaN when there are no spans.
    #[must_use]
    pub fn quantile(&self, q: f64) -> f64 {
        let spans: u64 = self.kept().map(|(_, count)| count).sum();
        let mut left = (libm::ceil(q * spans as f64) as u64).max(1);
        for (bin, count) in self.kept() {
            if count >= left {
                return Self::greatest(bin).min(self.longest) as f64;
            }
            left -= count;
        }
        f64::NAN
    }

    /// The bin of a span: the shortest ones up to the power of two that has 2^`BINS` of them, twice as wide for each above.
    #[inline]
    fn bin(nanoseconds: u64) -> usize {
        let top = (nanoseconds | 1 << (BINS + UNIT)).ilog2();
        (((top - (BINS + UNIT)) as usize) << BINS) + (nanoseconds >> (top - BINS)) as usize
    }

    /// How often the width of this bin is twice that of the shortest.
    fn octave(bin: usize) -> u32 {
        ((bin >> BINS) as u32).saturating_sub(1)
    }

    /// The shortest span of a bin.
    fn least(bin: usize) -> u64 {
        let octave = Self::octave(bin);
        ((bin - ((octave as usize) << BINS)) as u64) << (octave + UNIT)
    }

    /// The longest span of a bin.
    fn greatest(bin: usize) -> u64 {
        Self::least(bin) + (1 << (Self::octave(bin) + UNIT)) - 1
    }
}

/// These, behind so many of none, in all so many.
fn moved<T: Copy + Default>(counts: &[T], before: usize, len: usize) -> Box<[T]> {
    let mut all = vec![T::default(); len];
    all[before..][..counts.len()].copy_from_slice(counts);
    all.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use hdrhistogram::Histogram;
    use sluicegate_base::Stream;

    #[test]
    fn no_quantile_exceeds_the_longest_span() {
        let mut delays = DelayHistogram::<7, 6>::default();
        assert!(delays.quantile(0.5).is_nan());
        for span in [9_000_001, 10_000_001] {
            delays.record(span);
        }
        assert_eq!(delays.quantile(0.99), 10_000_001.0, "its bin ends at 10 027 007");
        let median = delays.quantile(0.5);
        assert!((9_000_001.0..9_000_001.0 * 1.01).contains(&median), "{median}");
    }

    #[test]
    fn merged_is_as_if_all_had_been_recorded_in_one() {
        let mut rng = Stream::new(1, "delays");
        let (mut one, mut other, mut all) = <(DelayHistogram, DelayHistogram, DelayHistogram)>::default();
        for at in 0..5000 {
            let span = rng.bits() >> (2 + rng.below(62));
            if at % 3 == 0 {
                one.record(span)
            } else {
                other.record(span)
            }
            all.record(span);
        }
        one.merge(&other);
        one.merge(&DelayHistogram::default());
        assert_eq!(one.longest(), all.longest());
        for q in [0.0, 0.1, 0.5, 0.95, 0.99, 1.0] {
            assert_eq!(one.quantile(q), all.quantile(q), "{q}");
        }
        assert!(one.counts().eq(all.counts()));
        assert_eq!(all.counts().map(|(_, spans)| spans).sum::<u64>(), 5000);
        let median = all.counts().scan(0, |sum, (end, spans)| {
            *sum += spans;
            Some((*sum, end))
        });
        assert_eq!(median.into_iter().find(|(sum, _)| *sum >= 2500).unwrap().1 as f64, all.quantile(0.5));
    }

    #[test]
    fn what_came_since_is_what_was_added() {
        let (mut delays, mut later) = <(DelayHistogram, DelayHistogram)>::default();
        [5, 900, 70_000].into_iter().for_each(|span| delays.record(span));
        let before = delays.clone();
        for span in [900, 3_000_000] {
            delays.record(span);
            later.record(span);
        }
        assert!(delays.since(&before).counts().eq(later.counts()));
        assert!(later.since(&before).counts().eq(later.counts()), "begun anew");
        assert!(delays.since(&delays).quantile(0.5).is_nan());
    }

    /// Spans of all lengths, in any order.
    fn compare<const BINS: u32, const UNIT: u32>(mut expected: Histogram<u32>) {
        let mut rng = Stream::new(1, "delays");
        let mut delays = DelayHistogram::<BINS, UNIT>::default();
        expected.auto(true);
        let mut spans: Vec<u64> = (0..62).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1]).collect();
        spans.extend((0..20_000).map(|_| rng.bits() >> (2 + rng.below(62))));
        for (k, span) in spans.into_iter().enumerate() {
            let bin = DelayHistogram::<BINS, UNIT>::bin(span);
            assert_eq!(expected.lowest_equivalent(span), DelayHistogram::<BINS, UNIT>::least(bin), "{span}");
            delays.record(span);
            expected.record(span).unwrap();
            if k % 500 == 0 {
                for q in [0.001, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0] {
                    let value = expected.value_at_quantile(q).min(delays.longest());
                    assert_eq!(delays.quantile(q), value as f64, "{q} of {k}");
                }
            }
        }
    }

    #[test]
    fn bins_and_quantiles_are_those_of_hdrhistogram() {
        compare::<7, 6>(Histogram::new_with_bounds(64, 128, 2).unwrap());
        compare::<7, 0>(Histogram::new(2).unwrap());
        compare::<4, 0>(Histogram::new(1).unwrap());
    }
}
