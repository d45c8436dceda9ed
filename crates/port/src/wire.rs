//! The wire behind a link's transmitter: what it loses, by how much it delays packets beyond the propagation delay, what is to
//! happen to single packets, and the rate that it carries over time.
//!
//! | what others do | what we do | why |
//! |---|---|---|
//! | Gilbert 1960 and Elliott 1963: a chain of two states, each with a probability of error for each symbol | the same for packets: the state in which a packet finds the wire decides whether it is lost, then the state changes | so does Linux's netem (`loss gemodel`), so that its parameters mean the same here |
//! | netem: a delay with jitter reorders packets | with `reordering`; without it a packet never overtakes the one before | most links keep the order, or restore it |
//! | Mahimahi: a line of a trace is an opportunity to deliver 1504 bytes (IP packet and TUN header) at that millisecond, in full or not at all | the rate of the millisecond that ends there, 1500 bytes of IP for each line | the same bytes; a packet leaves up to a millisecond earlier or later, and what a half-used opportunity has left serves the next packet |

use crate::fates::{Fate, Fates, Late};
use crate::jitter::Jitter;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use sluicegate_base::{Rate, Span, Stream, Time};

/// Loss by a chain of two states, `good` and `bad`: equal probabilities in both are independent losses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
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

impl Rates {
    /// Whether they are what they must be. The error is the rule that they break.
    pub fn check(&self) -> Result<(), &'static str> {
        match (self.steps.first(), self.steps.last()) {
            (Some((Time::ZERO, _)), Some((last, _))) if self.steps.windows(2).all(|two| two[0].0 < two[1].0) => {
                match self.period {
                    Some(period) if period.0 < last.0 => Err("rates begin anew after the last of them has begun"),
                    _ => Ok(()),
                }
            }
            _ => Err("rates are in the order of time, the first at zero"),
        }
    }
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
    /// What is to happen to single packets.
    pub fates: Fates,
}

impl WirePlan {
    /// Whether it is what it must be. The error is the rule that it breaks.
    pub fn check(&self) -> Result<(), &'static str> {
        let Loss { good, bad, to_bad, to_good } = self.loss.unwrap_or_default();
        if ![good, bad, to_bad, to_good].iter().all(|p| (0.0..=1.0).contains(p)) {
            return Err("probabilities are from 0 to 1");
        }
        self.rates.as_ref().map_or(Ok(()), Rates::check)
    }

    /// Whether packets may overtake each other on it.
    #[must_use]
    pub fn reorders(&self) -> bool {
        self.reordering || self.fates.reorder()
    }
}

/// What becomes of a packet on a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passing {
    /// It is lost.
    Lost,
    /// It is to be marked, if its transport is capable; it goes on.
    Marked,
    /// It arrives at this time.
    Arrives(Time),
}

/// A wire as it runs.
#[derive(Clone, Debug)]
pub struct Wire {
    loss: Option<(Loss, Stream, bool)>,
    jitter: Option<Jitter>,
    fates: Fates,
    /// Packets that wait for later ones to pass: how many more, and which.
    held: Vec<(u32, u32)>,
    /// How many packets it has lost since the measured window began.
    pub lost: u64,
}

impl From<Jitter> for Wire {
    fn from(jitter: Jitter) -> Wire {
        Wire { loss: None, jitter: Some(jitter), fates: Fates::default(), held: Vec::new(), lost: 0 }
    }
}

impl Wire {
    /// That of this plan, for the link of this name; none where it does nothing to packets.
    #[must_use]
    pub fn new(plan: &WirePlan, link: &str, seed: u64) -> Option<Wire> {
        let stream = |what: &str| Stream::new(seed, &format!("link/{link}/{what}"));
        let loss = plan.loss.map(|loss| (loss, stream("loss"), false));
        let jitter = Jitter::new(plan.jitter, || stream("delay"));
        let jitter = jitter.map(|jitter| jitter.with_reordering(plan.reordering));
        let fates = plan.fates.clone();
        let idle = loss.is_none() && jitter.is_none() && fates.is_empty();
        (!idle).then_some(Wire { loss, jitter, fates, held: Vec::new(), lost: 0 })
    }

    /// What is to happen to single packets.
    #[must_use]
    pub fn fates(&self) -> &Fates {
        &self.fates
    }

    /// A packet, by whatever number its owner knows it, has been sent, and would arrive at `time`; it is the `number`th that
    /// has reached the link. What becomes of it, and of those that have waited for it, goes to `out`.
    pub fn pass(&mut self, packet: u32, number: u64, time: Time, out: &mut impl FnMut(u32, Passing)) {
        if self.loses() {
            self.lost += 1;
            return out(packet, Passing::Lost);
        }
        let time = self.jitter.as_mut().map_or(time, |jitter| jitter.delay(time));
        if self.fates.is_empty() {
            return out(packet, Passing::Arrives(time));
        }
        self.meet(packet, number, time, out);
    }

    /// A packet that would arrive at `time` meets its fate.
    #[cold]
    fn meet(&mut self, packet: u32, number: u64, mut time: Time, out: &mut impl FnMut(u32, Passing)) {
        let Fate { lost, marked, late } = self.fates.of(number);
        if lost {
            self.lost += 1;
            return out(packet, Passing::Lost);
        }
        if marked {
            out(packet, Passing::Marked);
        }
        match late {
            Some(Late::Behind(packets)) => return self.held.push((packets, packet)),
            Some(Late::By(span)) => time += span,
            None => {}
        }
        out(packet, Passing::Arrives(time));
        self.held.retain_mut(|(left, held)| {
            *left -= 1;
            if *left == 0 {
                out(*held, Passing::Arrives(time));
            }
            *left > 0
        });
    }

    fn loses(&mut self) -> bool {
        let Some((loss, rng, bad)) = &mut self.loss else { return false };
        let (p, change) = if *bad { (loss.bad, loss.to_good) } else { (loss.good, loss.to_bad) };
        *bad ^= rng.chance(change);
        rng.chance(p)
    }
}

/// The rates of a link as time goes on.
#[derive(Clone, Debug)]
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
    use alloc::vec;

    /// When a packet that has no fate arrives; none if it is lost.
    fn pass(wire: &mut Wire, time: Time) -> Option<Time> {
        let mut arrival = None;
        wire.pass(0, 1, time, &mut |_, passing| match passing {
            Passing::Arrives(time) => arrival = Some(time),
            other => assert_eq!(other, Passing::Lost),
        });
        arrival
    }

    fn wire(plan: &WirePlan) -> Wire {
        Wire::new(plan, "any", 1).unwrap()
    }

    fn losses(loss: Loss, packets: usize) -> Vec<bool> {
        let mut wire = wire(&WirePlan { loss: Some(loss), ..WirePlan::default() });
        (0..packets).map(|_| pass(&mut wire, Time::ZERO).is_none()).collect()
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
            (0..1000u64).map(|k| pass(&mut wire, Time(k * 1_000_000)).unwrap().0).collect::<Vec<u64>>()
        };
        let (kept, free) = (times(false), times(true));
        assert!(kept.is_sorted());
        assert!(!free.is_sorted());
        for times in [kept, free] {
            assert!(times.iter().zip(0..).all(|(time, k)| (0..=10_000_000).contains(&(time - k * 1_000_000))));
        }
    }

    #[test]
    fn fates_meet_the_packets_that_they_name() {
        let mut fates = Fates::default();
        for (key, value) in [("drop", "2,6"), ("mark", "3"), ("late", "4:10 ns"), ("behind", "5:2,7:1")] {
            fates.add(key, value).unwrap();
        }
        let mut wire = wire(&WirePlan { fates, ..WirePlan::default() });
        let mut seen = vec![];
        for number in 1..=9 {
            wire.pass(number as u32, number, Time(number), &mut |packet, passing| seen.push((packet, passing)));
        }
        let arrives = |packet, time| (packet, Passing::Arrives(Time(time)));
        let lost = |packet| (packet, Passing::Lost);
        let expected = [
            arrives(1, 1),
            lost(2),
            (3, Passing::Marked),
            arrives(3, 3),
            arrives(4, 14),
            lost(6),
            // 7 waits for 8; 5 for two that arrive, which are 8 and 9.
            arrives(8, 8),
            arrives(7, 8),
            arrives(9, 9),
            arrives(5, 9),
        ];
        assert_eq!(seen, expected);
        assert_eq!(wire.lost, 2);
    }

    #[test]
    fn rates_are_checked() {
        let rates = |times: &[u64], period| {
            let steps = times.iter().map(|time| (Time(*time), Rate(1))).collect();
            Rates { steps, period }.check()
        };
        assert_eq!((rates(&[0], None), rates(&[0, 5], Some(Span(6)))), (Ok(()), Ok(())));
        for (times, period) in [(&[][..], None), (&[1], None), (&[0, 5, 5], None), (&[0, 5], Some(Span(4)))] {
            assert!(rates(times, period).is_err(), "{times:?} {period:?}");
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
