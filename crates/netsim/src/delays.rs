//! How spans are distributed.

use prefetch_index::prefetch_index;

/// The bins of spans below 2^14 ns, and of each power of two above.
const LEAST_BINS: usize = 256;
const BINS: usize = LEAST_BINS / 2;

/// A histogram to two significant digits and 64 ns, and the longest span exactly.
///
/// Bins and quantiles are those of the crate `hdrhistogram`, with which the tests compare. It keeps every bin from zero on
/// and takes several times as long to count a span; here each packet has two of them and each flow a histogram, and the
/// bins that one needs are few: those from its least to its greatest power of two.
#[derive(Clone, Debug, Default)]
pub struct Delays {
    /// The number of the first bin that is kept, and how many spans each has.
    first: usize,
    counts: Vec<u32>,
    longest: u64,
}

impl Delays {
    /// Adds a span.
    #[inline]
    pub(crate) fn record(&mut self, nanoseconds: u64) {
        self.longest = self.longest.max(nanoseconds);
        let bin = bin(nanoseconds);
        match self.counts.get_mut(bin.wrapping_sub(self.first)) {
            Some(count) => *count = count.saturating_add(1),
            None => self.grow(bin),
        }
    }

    /// Fetches where a span will be added.
    #[inline]
    pub(crate) fn fetch(&self, nanoseconds: u64) {
        prefetch_index(&self.counts, bin(nanoseconds).wrapping_sub(self.first));
    }

    /// Adds a span in a bin that is not kept yet.
    #[cold]
    fn grow(&mut self, bin: usize) {
        let (from, to) = (bin / BINS * BINS, (bin / BINS + 1) * BINS);
        let kept = self.first..self.first + self.counts.len();
        let range = if kept.is_empty() { from..to } else { from.min(kept.start)..to.max(kept.end) };
        let mut counts = vec![0; range.len()];
        counts[kept.start.saturating_sub(range.start)..][..kept.len()].copy_from_slice(&self.counts);
        counts[bin - range.start] = 1;
        (self.first, self.counts) = (range.start, counts);
    }

    /// The span in nanoseconds that the fraction `q` does not exceed: the upper end of its bin, but never more than the
    /// longest span; the upper end of the shortest span's bin for zero. NaN when there are no spans.
    #[must_use]
    pub fn quantile(&self, q: f64) -> f64 {
        let spans: u64 = self.counts.iter().map(|count| u64::from(*count)).sum();
        let mut left = (libm::ceil(q * spans as f64) as u64).max(1);
        for (bin, &count) in (self.first..).zip(&self.counts) {
            if u64::from(count) >= left {
                return (least(bin + 1) - 1).min(self.longest) as f64;
            }
            left -= u64::from(count);
        }
        f64::NAN
    }
}

/// The bin of a span: as wide as 64 ns below 2^14 ns, twice as wide for each power of two above.
#[inline]
fn bin(nanoseconds: u64) -> usize {
    let octave = 50 - (nanoseconds | 0x2000).leading_zeros() as usize;
    (octave * BINS) + (nanoseconds >> (octave + 6)) as usize
}

/// The shortest span of a bin.
fn least(bin: usize) -> u64 {
    let octave = (bin / BINS).saturating_sub(1);
    ((bin - octave * BINS) as u64) << (octave + 6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;
    use sluicegate_base::Stream;

    #[test]
    fn no_quantile_exceeds_the_longest_span() {
        let mut delays = Delays::default();
        assert!(delays.quantile(0.5).is_nan());
        for span in [9_000_001, 10_000_001] {
            delays.record(span);
        }
        assert_eq!(delays.quantile(0.99), 10_000_001.0, "its bin ends at 10 027 007");
        let median = delays.quantile(0.5);
        assert!((9_000_001.0..9_000_001.0 * 1.01).contains(&median), "{median}");
    }

    /// Spans of all lengths, in any order.
    #[test]
    fn bins_and_quantiles_are_those_of_hdrhistogram() {
        let mut rng = Stream::new(1, "delays");
        let (mut delays, mut expected) = (Delays::default(), Histogram::<u32>::new_with_bounds(64, 128, 2).unwrap());
        expected.auto(true);
        let mut spans: Vec<u64> = (0..62).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1]).collect();
        spans.extend((0..20_000).map(|_| rng.bits() >> (2 + rng.below(62))));
        for (k, span) in spans.into_iter().enumerate() {
            assert_eq!(expected.lowest_equivalent(span), least(bin(span)), "{span}");
            delays.record(span);
            expected.record(span).unwrap();
            if k % 500 == 0 {
                for q in [0.001, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0] {
                    let value = expected.value_at_quantile(q).min(delays.longest);
                    assert_eq!(delays.quantile(q), value as f64, "{q} of {k}");
                }
            }
        }
    }
}
