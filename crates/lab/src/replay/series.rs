//! The queue over time, in bounded memory: intervals that grow with the replay.

use sluicegate_base::{Span, Time};

/// The most intervals that are kept; even, so that two always become one.
const MOST: usize = 2048;

/// How long the first ones are.
const SHORTEST: Span = Span::from_millis(1);

/// What a queue held in intervals of equal length, which double when there are too many.
#[derive(Clone, Debug)]
pub struct Series {
    width: u64,
    bins: Vec<Bin>,
    /// Since when the queue holds `packets`.
    since: Time,
    packets: u64,
}

/// One interval.
#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    /// Packets times nanoseconds.
    area: u128,
    most: u64,
}

impl Default for Series {
    fn default() -> Self {
        Series { width: SHORTEST.0, bins: Vec::new(), since: Time::ZERO, packets: 0 }
    }
}

impl Series {
    /// From `now` on the queue holds so many packets.
    pub fn note(&mut self, now: Time, packets: u64) {
        while now.0 / self.width >= MOST as u64 {
            self.width *= 2;
            self.bins =
                self.bins.chunks(2).map(|two| two.iter().copied().reduce(both).expect("one at least")).collect();
        }
        let last = (now.0 / self.width) as usize;
        self.bins.resize(self.bins.len().max(last + 1), Bin::default());
        let (mut at, held) = (self.since.0, self.packets);
        while at < now.0 {
            let bin = at / self.width;
            let end = ((bin + 1) * self.width).min(now.0);
            let area = u128::from(held) * u128::from(end - at);
            self.bins[bin as usize] = both(self.bins[bin as usize], Bin { area, most: held });
            at = end;
        }
        self.bins[last].most = self.bins[last].most.max(packets);
        (self.since, self.packets) = (now, packets);
    }

    /// Each interval: when it ends, the time average of the queue in it, and the longest queue.
    pub fn rows(&self) -> impl Iterator<Item = (Time, f64, u64)> + '_ {
        self.bins.iter().enumerate().map(|(at, bin)| {
            let begin = at as u64 * self.width;
            let end = (begin + self.width).min(self.since.0.max(begin + 1));
            (Time(end), bin.area as f64 / (end - begin) as f64, bin.most)
        })
    }
}

fn both(one: Bin, other: Bin) -> Bin {
    Bin { area: one.area + other.area, most: one.most.max(other.most) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_and_the_longest_by_hand() {
        let mut series = Series::default();
        series.note(Time(0), 2);
        series.note(Time(1_500_000), 5);
        series.note(Time(1_600_000), 0);
        series.note(Time(3_500_000), 0);
        let rows: Vec<(u64, f64, u64)> = series.rows().map(|(time, mean, most)| (time.0, mean, most)).collect();
        let second = 0.5 * 2.0 + 0.1 * 5.0;
        assert_eq!(rows, [(1_000_000, 2.0, 2), (2_000_000, second, 5), (3_000_000, 0.0, 0), (3_500_000, 0.0, 0)]);
    }

    /// However long it lasts, the mean over all of it and the longest queue are kept, in as many intervals as fit.
    #[test]
    fn intervals_double_and_nothing_is_lost() {
        let (mut series, mut area, mut last) = (Series::default(), 0u128, 0);
        for k in 1..=50_000u64 {
            let (now, held) = (k * k * 997, k % 13);
            area += u128::from((k - 1) % 13) * u128::from(now - last);
            series.note(Time(now), held);
            last = now;
        }
        series.note(Time(last + 86_400_000_000_000), 0);
        area += u128::from(50_000u64 % 13) * 86_400_000_000_000;
        assert!(series.bins.len() <= MOST, "{}", series.bins.len());
        assert_eq!(series.bins.iter().map(|bin| bin.area).sum::<u128>(), area);
        assert_eq!(series.rows().map(|(.., most)| most).max(), Some(12));
        assert_eq!(series.rows().last().unwrap().0, Time(last + 86_400_000_000_000));
    }
}
