//! The wire behind a link's transmitter: what it loses, by how much it delays packets beyond the propagation delay, and the
//! rate that it carries over time.
//!
//! | what others do | what we do | why |
//! |---|---|---|
//! | Gilbert 1960 and Elliott 1963: a chain of two states, each with a probability of error for each symbol | the same for packets: the state in which a packet finds the wire decides whether it is lost, then the state changes | so does Linux's netem (`loss gemodel`), so that its parameters mean the same here |
//! | netem: a delay with jitter reorders packets | with `reordering`; without it a packet never overtakes the one before | most links keep the order, or restore it |
//! | Mahimahi: a line of a trace is an opportunity to deliver 1504 bytes (IP packet and TUN header) at that millisecond, in full or not at all | the rate of the millisecond that ends there, 1500 bytes of IP for each line | the same bytes; a packet leaves up to a millisecond earlier or later, and what a half-used opportunity has left serves the next packet |

use sluicegate_base::{Rate, Span, Stream, Time};
use std::sync::Arc;

/// Loss by a chain of two states, `good` and `bad`: equal probabilities in both are independent losses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// The probability that a packet is lost in the good state (netem: 1 − k), and in the bad one (1 − h).
    pub good: f64,
    /// See `good`.
    pub bad: f64,
    /// The probability, after each packet, of a change from good to bad (netem: p), and back (r).
    pub to_bad: f64,
    /// See `to_bad`.
    pub to_good: f64,
}

/// The rate of a link over time.
#[derive(Clone, Debug, Default)]
pub struct Rates {
    /// When a rate begins, and which; in the order of time, the first at zero.
    pub steps: Arc<[(Time, Rate)]>,
    /// After which it begins anew; none when the last rate lasts.
    pub period: Option<Span>,
}

/// What a wire does.
#[derive(Clone, Debug, Default)]
pub struct WirePlan {
    /// What it loses.
    pub loss: Option<Loss>,
    /// The most that it delays a packet beyond the propagation delay: uniform between zero and this.
    pub jitter: Span,
    /// Whether packets may overtake each other.
    pub reordering: bool,
    /// The rates of its link over time.
    pub rates: Option<Rates>,
}

/// A wire as it runs.
pub struct Wire {
    loss: Option<(Loss, Stream, bool)>,
    jitter: Span,
    reordering: bool,
    delays: Stream,
    /// When the last packet arrives.
    last: Time,
    /// How many packets it has lost since the measured window began.
    pub lost: u64,
}

impl Wire {
    /// That of this plan, for the link of this name; none where it does nothing to packets.
    #[must_use]
    pub fn new(plan: &WirePlan, link: &str, seed: u64) -> Option<Wire> {
        let loss = plan.loss.map(|loss| (loss, Stream::new(seed, &format!("link/{link}/loss")), false));
        (loss.is_some() || plan.jitter > Span::ZERO).then(|| Wire {
            loss,
            jitter: plan.jitter,
            reordering: plan.reordering,
            delays: Stream::new(seed, &format!("link/{link}/delay")),
            last: Time::ZERO,
            lost: 0,
        })
    }

    /// A packet has been sent, and would arrive at `time`: when it does; none if it is lost.
    pub fn pass(&mut self, time: Time) -> Option<Time> {
        if self.loses() {
            self.lost += 1;
            return None;
        }
        if self.jitter == Span::ZERO {
            return Some(time);
        }
        let time = time + Span(self.delays.below(self.jitter.0.saturating_add(1)));
        if self.reordering {
            return Some(time);
        }
        self.last = self.last.max(time);
        Some(self.last)
    }

    fn loses(&mut self) -> bool {
        let Some((loss, rng, bad)) = &mut self.loss else { return false };
        let (p, change) = if *bad { (loss.bad, loss.to_good) } else { (loss.good, loss.to_bad) };
        *bad ^= rng.chance(change);
        rng.chance(p)
    }
}

/// The rates of a link as time goes on.
pub struct Course {
    rates: Rates,
    at: usize,
    round: u64,
    /// The bits times 10⁹ that the link could have carried from the start until `since`.
    carried: u128,
    since: Time,
    /// When the measured window began, and what had been carried then.
    window: (Time, u128),
}

impl Course {
    /// These rates from time zero on.
    #[must_use]
    pub fn new(rates: Rates) -> Course {
        Course { rates, at: 0, round: 0, carried: 0, since: Time::ZERO, window: (Time::ZERO, 0) }
    }

    /// One that has lasted since the start of the run, whose measured window began at `window`.
    #[must_use]
    pub fn lasting(rate: Rate, window: Time) -> Course {
        let mut course = Course::new(Rates { steps: [(Time::ZERO, rate)].into(), period: None });
        course.begin_window(window);
        course
    }

    /// Another rate from now on.
    pub fn set(&mut self, rate: Rate, now: Time) {
        self.count(now);
        self.rates = Rates { steps: [(Time::ZERO, rate)].into(), period: None };
        self.at = 0;
    }

    /// The present rate.
    #[must_use]
    pub fn rate(&self) -> Rate {
        self.rates.steps[self.at].1
    }

    /// When it changes; none if it lasts.
    #[must_use]
    pub fn next(&self) -> Option<Time> {
        let (at, round) = self.after()?;
        Some(self.begin(round) + Span(self.rates.steps[at].0.0))
    }

    /// It changes now: the new rate.
    pub fn step(&mut self, now: Time) -> Rate {
        self.count(now);
        (self.at, self.round) = self.after().expect("it changes");
        self.rate()
    }

    /// The measured window begins.
    pub fn begin_window(&mut self, now: Time) {
        self.window = (now, self.carried(now));
    }

    /// The mean rate since the measured window began, or the present one if it has just begun.
    #[must_use]
    pub fn mean(&self, now: Time) -> Rate {
        let (window, before) = self.window;
        let mean = (self.carried(now) - before).checked_div(u128::from(now.since(window).0));
        mean.map_or(self.rate(), |mean| Rate(mean as u64))
    }

    /// The bits times 10⁹ that the link could have carried from the start until now.
    #[must_use]
    pub fn carried(&self, now: Time) -> u128 {
        self.carried + u128::from(self.rate().0) * u128::from(now.since(self.since).0)
    }

    fn count(&mut self, now: Time) {
        (self.carried, self.since) = (self.carried(now), now);
    }

    fn after(&self) -> Option<(usize, u64)> {
        if self.at + 1 < self.rates.steps.len() {
            return Some((self.at + 1, self.round));
        }
        self.rates.period.filter(|_| self.at > 0).map(|_| (0, self.round + 1))
    }

    fn begin(&self, round: u64) -> Time {
        Time(self.rates.period.map_or(0, |period| period.0.saturating_mul(round)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(plan: &WirePlan) -> Wire {
        Wire::new(plan, "any", 1).unwrap()
    }

    fn losses(loss: Loss, packets: usize) -> Vec<bool> {
        let mut wire = wire(&WirePlan { loss: Some(loss), ..WirePlan::default() });
        (0..packets).map(|_| wire.pass(Time::ZERO).is_none()).collect()
    }

    #[test]
    fn equal_states_lose_independently() {
        let n = 200_000;
        let lost = losses(Loss { good: 0.03, bad: 0.0, to_bad: 0.0, to_good: 1.0 }, n);
        let share = lost.iter().filter(|lost| **lost).count() as f64 / n as f64;
        assert!((share - 0.03).abs() < 4.0 * (0.03f64 * 0.97 / n as f64).sqrt(), "{share}");
        let pairs = lost.windows(2).filter(|pair| pair[0] && pair[1]).count() as f64 / n as f64;
        assert!((pairs - 0.0009).abs() < 4.0 * (0.0009f64 / n as f64).sqrt(), "{pairs}");
    }

    /// Gilbert's chain: the bad state has the share p/(p + r) of packets, and lasts 1/r of them.
    #[test]
    fn bursts_have_gilberts_length_and_share() {
        let (p, r, n) = (0.01, 0.25, 400_000);
        let lost = losses(Loss { good: 0.0, bad: 1.0, to_bad: p, to_good: r }, n);
        let count = lost.iter().filter(|lost| **lost).count() as f64;
        let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        assert!((count / n as f64 - p / (p + r)).abs() < 0.003, "{}", count / n as f64);
        assert!((count / bursts - 1.0 / r).abs() < 0.1, "{}", count / bursts);
        let half = losses(Loss { good: 0.0, bad: 0.5, to_bad: p, to_good: r }, n);
        let share = half.iter().filter(|lost| **lost).count() as f64 / n as f64;
        assert!((share - 0.5 * p / (p + r)).abs() < 0.002, "{share}");
    }

    #[test]
    fn delays_keep_the_order_unless_they_may_not() {
        let times = |reordering| {
            let jitter = Span::from_millis(10);
            let mut wire = wire(&WirePlan { jitter, reordering, ..WirePlan::default() });
            (0..1000u64).map(|k| wire.pass(Time(k * 1_000_000)).unwrap().0).collect::<Vec<u64>>()
        };
        let (kept, free) = (times(false), times(true));
        assert!(kept.is_sorted());
        assert!(!free.is_sorted());
        for times in [kept, free] {
            assert!(times.iter().zip(0..).all(|(time, k)| (0..=10_000_000).contains(&(time - k * 1_000_000))));
        }
    }

    #[test]
    fn a_course_goes_round_and_its_mean_is_by_time() {
        let steps = [(Time(0), Rate(8)), (Time(10), Rate(0)), (Time(30), Rate(4))].into();
        let mut course = Course::new(Rates { steps, period: Some(Span(40)) });
        let mut seen = Vec::new();
        while let Some(next) = course.next().filter(|next| next.0 < 100) {
            seen.push((next.0, course.step(next).0));
        }
        assert_eq!(seen, [(10, 0), (30, 4), (40, 8), (50, 0), (70, 4), (80, 8), (90, 0)]);
        // Of each period 10 ns at 8 and 10 ns at 4.
        assert_eq!(course.mean(Time(120)), Rate((8 * 30 + 4 * 20) / 120));
        let steps = [(Time(0), Rate(8)), (Time(10), Rate(2))].into();
        let mut course = Course::new(Rates { steps, period: None });
        course.step(course.next().unwrap());
        assert_eq!((course.next(), course.rate()), (None, Rate(2)));
        course.begin_window(Time(20));
        assert_eq!(course.mean(Time(20)), Rate(2));
        course.set(Rate(6), Time(30));
        assert_eq!(course.mean(Time(40)), Rate(4));
    }
}
