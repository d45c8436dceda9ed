//! The maximum over a sliding window, by Kathleen Nichols's estimate (lib/win_minmax.c).

/// The greatest of a window, by its three best estimates (struct minmax).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MaxFilter([(u64, u64); 3]);

impl MaxFilter {
    /// The greatest.
    pub fn get(&self) -> u64 {
        self.0[0].1
    }

    /// At this time a value comes; those older than `window` are forgotten.
    pub fn update(&mut self, window: u64, now: u64, value: u64) {
        let best = &mut self.0;
        let sample = (now, value);
        if value >= best[0].1 || now.saturating_sub(best[2].0) > window {
            *best = [sample; 3];
            return;
        }
        if value >= best[1].1 {
            (best[1], best[2]) = (sample, sample);
        } else if value >= best[2].1 {
            best[2] = sample;
        }
        let age = now - best[0].0;
        if age > window {
            *best = [best[1], best[2], sample];
            if now - best[0].0 > window {
                *best = [best[1], best[2], sample];
            }
        } else if best[1].0 == best[0].0 && age > window / 4 {
            (best[1], best[2]) = (sample, sample);
        } else if best[2].0 == best[1].0 && age > window / 2 {
            best[2] = sample;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_keeps_the_greatest_of_its_window() {
        let mut filter = MaxFilter::default();
        for (now, value, greatest) in
            [(1, 10, 10), (2, 5, 10), (6, 7, 10), (9, 4, 10), (12, 3, 7), (17, 2, 4), (30, 1, 1)]
        {
            filter.update(10, now, value);
            assert_eq!(filter.get(), greatest, "{now}");
        }
    }
}
