//! The random time that a host takes over each packet before it sends it.
//!
//! Where senders answer the bottleneck's clock exactly, packets arrive in step with it, and a full queue always meets the
//! same connections (Floyd & Jacobson 1992, traffic phase effects). RED 1993 avoids that: "the source node takes a random
//! time drawn from the uniform distribution on [0, t] seconds to prepare an FTP packet for transmission, where t is the
//! bottleneck service time". A host prepares one packet at a time, so it still keeps up: it needs t/2 on average.

use sluicegate_base::{Span, Stream, Time};

/// One host's preparation of packets.
pub struct Preparation {
    most: Span,
    rng: Stream,
    /// When the last packet was ready.
    ready: Time,
}

impl Preparation {
    /// Takes up to `most` over a packet, from its own random stream; none at all when that is zero.
    #[must_use]
    pub fn new(most: Span, rng: impl FnOnce() -> Stream) -> Option<Box<Preparation>> {
        (most > Span::ZERO).then(|| Box::new(Preparation { most, rng: rng(), ready: Time::ZERO }))
    }

    /// When a packet that is handed over now can leave: one of data is prepared after those before it, any other only
    /// waits for them, so that they keep their order.
    pub fn ready(&mut self, data: bool, now: Time) -> Time {
        self.ready = self.ready.max(now);
        if data {
            self.ready += Span(self.rng.below(self.most.0.saturating_add(1)));
        }
        self.ready
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: u64 = 170_000;

    fn jitter() -> Box<Preparation> {
        Preparation::new(Span(MOST), || Stream::new(1, "flow/0/preparation")).unwrap()
    }

    #[test]
    fn a_packet_takes_a_time_uniform_up_to_the_most() {
        let (mut jitter, n) = (jitter(), 100_000);
        let times: Vec<u64> = (0..n).map(|k| jitter.ready(true, Time(k * 2 * MOST)).0 - k * 2 * MOST).collect();
        for tenth in 1..10 {
            let p = tenth as f64 / 10.0;
            let share = times.iter().filter(|time| **time < MOST / 10 * tenth).count() as f64 / n as f64;
            // Four standard errors.
            assert!((share - p).abs() < 4.0 * libm::sqrt(p * (1.0 - p) / n as f64), "{share} below {p}");
        }
        assert!(times.iter().all(|time| *time <= MOST));
    }

    #[test]
    fn packets_of_one_window_are_prepared_one_after_another() {
        let (mut jitter, n) = (jitter(), 10_000);
        let mut last = Time::ZERO;
        for _ in 0..n {
            let ready = jitter.ready(true, Time::ZERO);
            assert!(ready >= last && ready.since(last) <= Span(MOST));
            last = ready;
        }
        // n/2 of the most, within four standard errors of a sum of uniform times.
        let (mean, error) = ((n * MOST / 2) as f64, 4.0 * MOST as f64 * libm::sqrt(n as f64 / 12.0));
        assert!((last.0 as f64 - mean).abs() < error, "{last:?}");
        assert_eq!(jitter.ready(false, Time::ZERO), last, "what is no data waits, and takes no time");
    }
}
