//! Jitter: a random delay, which keeps the order of packets unless reordering is asked for.
//!
//! Each packet is to be delayed by a time uniform on [0, most]. A packet that would overtake the one before arrives together
//! with it, unless reordering is asked for. So a packet far behind the last one is delayed by `most`/2 on average, packets that
//! are close together by more, and none by more than `most`.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | RED 1993: a host takes a random time to prepare each packet that TCP sends; ns-2's `overhead_` delays all that a window lets out | that is `send_jitter` of the simulator's endpoints; this is on the access link, in both directions, for every kind of source | a loaded host or a radio link delays what it receives, too |
//! | a host prepares one packet at a time | packets are delayed side by side, in order | a delay that grows with the number of packets would be a queue |

use sluicegate_base::{Span, Stream, Time};

/// The jitter of one direction of a link.
#[derive(Clone, Debug)]
pub struct Jitter {
    most: Span,
    reordering: bool,
    rng: Stream,
    /// When the last packet arrives.
    last: Time,
}

impl Jitter {
    /// Jitter of up to `most` that keeps the order of packets, from its own random stream; none at all when that is zero.
    #[must_use]
    pub fn new(most: Span, rng: impl FnOnce() -> Stream) -> Option<Jitter> {
        (most > Span::ZERO).then(|| Jitter { most, reordering: false, rng: rng(), last: Time::ZERO })
    }

    /// The same, by which packets may overtake each other if there is `reordering`.
    #[must_use]
    pub fn with_reordering(self, reordering: bool) -> Jitter {
        Jitter { reordering, ..self }
    }

    /// When a packet arrives that would arrive at `time` without jitter. Calls must be in the order of the packets.
    pub fn delay(&mut self, time: Time) -> Time {
        let time = time + Span(self.rng.below(self.most.0.saturating_add(1)));
        if self.reordering {
            return time;
        }
        self.last = self.last.max(time);
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const MOST: u64 = 5_000_000;

    fn jitter() -> Jitter {
        Jitter::new(Span(MOST), || Stream::new(1, "link/any/jitter")).unwrap()
    }

    #[test]
    fn packets_far_apart_are_delayed_uniformly() {
        let (mut jitter, n) = (jitter(), 100_000);
        let delays: Vec<u64> = (0..n).map(|k| jitter.delay(Time(k * MOST)).0 - k * MOST).collect();
        for tenth in 1..10 {
            let p = tenth as f64 / 10.0;
            let share = delays.iter().filter(|delay| **delay < MOST / 10 * tenth).count() as f64 / n as f64;
            // Four standard errors; at this distance no packet has to wait for the one before.
            assert!((share - p).abs() < 4.0 * libm::sqrt(p * (1.0 - p) / n as f64), "{share} below {p}");
        }
    }

    #[test]
    fn packets_close_together_keep_their_order_and_the_bound() {
        let (mut jitter, mut last, mut sum, n) = (jitter(), Time::ZERO, 0, 100_000);
        for k in 0..n {
            let due = Time(k * MOST / 20);
            let arrival = jitter.delay(due);
            assert!(arrival >= last && arrival >= due && arrival.since(due) <= Span(MOST));
            sum += arrival.since(due).0;
            last = arrival;
        }
        // With 20 packets in the time of the jitter they wait for those before: far more than half of it on average.
        assert!(sum / n > MOST * 7 / 10, "{}", sum / n);
    }

    #[test]
    fn no_jitter_draws_nothing() {
        assert!(Jitter::new(Span::ZERO, || unreachable!("no stream is made")).is_none());
    }
}
