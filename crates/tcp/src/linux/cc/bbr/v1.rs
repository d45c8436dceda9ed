//! # BBR, version 1
//!
//! The path is a rate and a round trip: the greatest delivery rate of ten rounds, the least round trip of ten seconds. What is
//! sent is paced by the one and bounded by twice their product (Cardwell, Cheng, Gunn, Yeganeh & Jacobson 2016; Linux,
//! net/ipv4/tcp_bbr.c).
//!
//! ```text
//! Startup:   pace 2.89 · rate, until the rate has not grown by a quarter in three rounds
//! Drain:     pace 0.35 · rate, until no more than rate · least round trip is under way
//! ProbeBw:   pace 1.25, 0.75, 1, 1, 1, 1, 1, 1 · rate, a least round trip each;  cwnd = 2 · rate · least round trip
//! ProbeRtt:  4 packets for 200 ms and a round, when the least round trip is ten seconds old
//! ```
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | rates and gains are real numbers | packets per µs · 2²⁴, gains in 1/256 | as in Linux, so that the windows are the same |
//! | windows of rate and round trip | three estimates for the rate (Kathleen Nichols's filter), one for the round trip | Linux, win_minmax.c |
//! | nothing on losses | a round of packet conservation when a recovery begins; the window comes back after it | Linux |
//! | nothing on policers | two intervals with a fifth lost at one rate set it for 48 rounds | Linux, `bbr_lt_bw_sampling` |
//! | nothing on aggregated acknowledgements | the window is larger by what came beyond the rate in ten rounds | Linux, `bbr_ack_aggregation_cwnd` |
//! | the pace is the rate | 1 % less | Linux, bbr_pacing_margin_percent |
//! | what waits for its time of departure counts as under way | what waits here was not sent | packets are handed over when they leave |

use super::aggregation::Aggregation;
use super::max_filter::MaxFilter;
use super::policer::{Policer, Verdict};
use super::{
    BW_SHIFT, LEAST_CWND, MIN_RTT_AGE, PROBE_RTT_TIME, RecoveryWindow, UNIT, bdp, burst_goal, first_pace, least_burst,
    micros, paced,
};
use crate::linux::cc::{Controller, Event, INFINITE, Sample, State, Window};
use sluicegate_base::{Rate, Span, Stream, Time};

const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
const CWND_GAIN: u64 = 2 * UNIT;
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
const BW_ROUNDS: u64 = CYCLE.len() as u64 + 2;
/// The pipe is full when the rate has not grown by a quarter in so many rounds.
const FULL_ROUNDS: u32 = 3;
/// What it is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// The state of one connection; names in brackets are those of struct bbr.
#[derive(Clone, Debug)]
pub struct Bbr {
    rng: Stream,
    mode: Mode,
    /// The greatest delivery rates of ten rounds.
    rate: MaxFilter,
    min_rtt: Option<Span>,
    min_rtt_at: Time,
    probe_rtt_done: Option<Time>,
    probe_rtt_round: bool,
    rounds: u64,
    next_round: u64,
    round_start: bool,
    idle_restart: bool,
    recovery: RecoveryWindow,
    full_rate: u64,
    full_rounds: u32,
    full: bool,
    pacing_gain: u64,
    cwnd_gain: u64,
    cycle: usize,
    cycle_at: Time,
    seen_rtt: bool,
    policer: Policer,
    aggregation: Aggregation,
}

impl Bbr {
    /// Nothing sent yet; what it draws where its cycle begins from.
    #[must_use]
    pub fn new(rng: Stream) -> Bbr {
        Bbr {
            rng,
            mode: Mode::Startup,
            rate: MaxFilter::default(),
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            probe_rtt_done: None,
            probe_rtt_round: false,
            rounds: 0,
            next_round: 0,
            round_start: false,
            idle_restart: false,
            recovery: RecoveryWindow::default(),
            full_rate: 0,
            full_rounds: 0,
            full: false,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            cycle: 0,
            cycle_at: Time::ZERO,
            seen_rtt: false,
            policer: Policer::default(),
            aggregation: Aggregation::default(),
        }
    }

    /// The rate that is paced by.
    fn rate(&self) -> u64 {
        self.policer.rate().unwrap_or_else(|| self.rate.get())
    }

    fn first_pace(&mut self, window: &mut Window) {
        self.seen_rtt |= window.srtt > Span::ZERO;
        window.pacing_rate = first_pace(window, HIGH_GAIN);
    }

    fn set_pace(&mut self, window: &mut Window, gain: u64) {
        let rate = paced(self.rate(), gain, window.mss);
        if !self.seen_rtt && window.srtt > Span::ZERO {
            self.first_pace(window);
        }
        if self.full || rate > window.pacing_rate {
            window.pacing_rate = rate;
        }
    }

    /// Room for bursts at both ends (bbr_quantization_budget).
    fn with_room(&self, window: &Window, cwnd: u32) -> u32 {
        let cwnd = cwnd.saturating_add(3 * burst_goal(window));
        let even = cwnd.saturating_add(1) & !1;
        even + if self.mode == Mode::ProbeBw && self.cycle == 0 { 2 } else { 0 }
    }

    /// Rounds and rate (bbr_update_bw).
    fn update_rate(&mut self, window: &Window, sample: &Sample) {
        self.round_start = false;
        let Some(prior) = sample.prior_delivered.filter(|_| sample.interval.0 > 0) else { return };
        if prior >= self.next_round {
            self.next_round = window.delivered;
            self.rounds += 1;
            self.round_start = true;
            self.recovery.conserve = false;
        }
        self.sample_policer(window, sample);
        let rate = (sample.delivered << BW_SHIFT) / micros(sample.interval).max(1);
        if !sample.is_app_limited || rate >= self.rate.get() {
            self.rate.update(BW_ROUNDS, self.rounds, rate);
        }
    }

    /// Whether a policer is found, or not looked at any more.
    fn sample_policer(&mut self, window: &Window, sample: &Sample) {
        match self.policer.sample(window, sample, self.round_start, self.mode == Mode::ProbeBw) {
            Verdict::Found => self.pacing_gain = UNIT,
            Verdict::Over => self.begin_probe_bw(window),
            Verdict::Same => {}
        }
    }

    /// Gains follow one another (bbr_update_cycle_phase).
    fn update_cycle(&mut self, window: &Window, sample: &Sample) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let long = self.min_rtt.is_some_and(|least| window.delivered_time.since(self.cycle_at) > least);
        let rate = self.rate.get();
        let next = match self.pacing_gain {
            UNIT => long,
            gain if gain > UNIT => {
                let in_flight = sample.prior_in_flight + burst_goal(window);
                let target = self.with_room(window, bdp(window, self.min_rtt, rate, gain));
                long && (sample.losses > 0 || in_flight >= target)
            }
            _ => long || sample.prior_in_flight <= self.with_room(window, bdp(window, self.min_rtt, rate, UNIT)),
        };
        if next {
            self.advance_cycle(window);
        }
    }

    fn advance_cycle(&mut self, window: &Window) {
        self.cycle = (self.cycle + 1) % CYCLE.len();
        self.cycle_at = window.delivered_time;
    }

    /// The cycle begins anywhere but where it drains.
    fn begin_probe_bw(&mut self, window: &Window) {
        self.mode = Mode::ProbeBw;
        self.cycle = CYCLE.len() - 1 - self.rng.below(CYCLE.len() as u64 - 1) as usize;
        self.advance_cycle(window);
    }

    fn check_full(&mut self, sample: &Sample) {
        if self.full || !self.round_start || sample.is_app_limited {
            return;
        }
        if self.rate.get() >= self.full_rate.saturating_mul(5) / 4 {
            (self.full_rate, self.full_rounds) = (self.rate.get(), 0);
            return;
        }
        self.full_rounds += 1;
        self.full = self.full_rounds >= FULL_ROUNDS;
    }

    fn check_drain(&mut self, window: &mut Window) {
        if self.mode == Mode::Startup && self.full {
            self.mode = Mode::Drain;
            window.ssthresh = self.with_room(window, bdp(window, self.min_rtt, self.rate.get(), UNIT)).max(2);
        }
        let target = |bbr: &Bbr, window: &Window| bbr.with_room(window, bdp(window, bbr.min_rtt, bbr.rate.get(), UNIT));
        if self.mode == Mode::Drain && window.in_flight <= target(self, window) {
            self.begin_probe_bw(window);
        }
    }

    fn check_probe_rtt_done(&mut self, window: &mut Window) {
        if self.probe_rtt_done.is_some_and(|done| window.now > done) {
            self.min_rtt_at = window.now;
            window.cwnd = window.cwnd.max(self.recovery.prior_cwnd);
            if self.full {
                self.begin_probe_bw(window);
            } else {
                self.mode = Mode::Startup;
            }
        }
    }

    /// The least round trip, and going to look for it (bbr_update_min_rtt).
    fn update_min_rtt(&mut self, window: &mut Window, sample: &Sample) {
        let expired = window.now > self.min_rtt_at + MIN_RTT_AGE;
        if let Some(rtt) = sample.rtt {
            let lower = self.min_rtt.is_none_or(|least| rtt < least);
            if lower || (expired && !sample.is_ack_delayed) {
                (self.min_rtt, self.min_rtt_at) = (Some(rtt), window.now);
            }
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.recovery.save(window, true);
            self.probe_rtt_done = None;
        }
        if self.mode == Mode::ProbeRtt {
            window.app_limited = (window.delivered + u64::from(window.in_flight)).max(1);
            if self.probe_rtt_done.is_none() && window.in_flight <= LEAST_CWND {
                self.probe_rtt_done = Some(window.now + PROBE_RTT_TIME);
                self.probe_rtt_round = false;
                self.next_round = window.delivered;
            } else if self.probe_rtt_done.is_some() {
                self.probe_rtt_round |= self.round_start;
                if self.probe_rtt_round {
                    self.check_probe_rtt_done(window);
                }
            }
        }
        if sample.delivered > 0 {
            self.idle_restart = false;
        }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.policer.rate().is_some() => (UNIT, CWND_GAIN),
            Mode::ProbeBw => (CYCLE[self.cycle], CWND_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }

    fn set_cwnd(&mut self, window: &mut Window, sample: &Sample) {
        let acked = sample.acked_sacked;
        let mut cwnd = window.cwnd;
        if acked > 0 {
            cwnd = self.recovery.cwnd(window, sample, &mut self.next_round);
            if !self.recovery.conserve {
                let extra = if self.full { self.aggregation.cwnd(self.rate()) } else { 0 };
                let target = bdp(window, self.min_rtt, self.rate(), self.cwnd_gain).saturating_add(extra);
                let target = self.with_room(window, target);
                if self.full {
                    cwnd = cwnd.saturating_add(acked).min(target);
                } else if cwnd < target || window.delivered < window.initial.into() {
                    cwnd = cwnd.saturating_add(acked);
                }
                cwnd = cwnd.max(LEAST_CWND);
            }
        }
        window.cwnd = cwnd.clamp(1, INFINITE);
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(LEAST_CWND);
        }
    }
}

impl Controller for Bbr {
    /// A loss is no sign of congestion by itself: the window is kept for later.
    fn ssthresh(&mut self, window: &Window) -> u32 {
        self.recovery.save(window, self.mode == Mode::ProbeRtt);
        window.ssthresh
    }

    fn grow(&mut self, _window: &mut Window, _acked: u32) {}

    fn undo(&mut self, window: &Window) -> u32 {
        (self.full_rate, self.full_rounds) = (0, 0);
        self.policer.reset(window);
        window.cwnd
    }

    fn on_event(&mut self, window: &mut Window, event: Event) {
        if !matches!(event, Event::Restart(_)) || window.app_limited == 0 {
            return;
        }
        self.idle_restart = true;
        self.aggregation.begin(window.now);
        match self.mode {
            Mode::ProbeBw => self.set_pace(window, UNIT),
            Mode::ProbeRtt => self.check_probe_rtt_done(window),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn on_state(&mut self, window: &mut Window, state: State) {
        if state == State::Loss {
            self.recovery.previous = State::Loss;
            self.full_rate = 0;
            self.round_start = true;
            let lost = Sample { losses: 1, ..Sample::default() };
            self.sample_policer(window, &lost);
        }
    }

    fn governs(&self) -> bool {
        true
    }

    fn govern(&mut self, window: &mut Window, sample: &Sample) {
        if window.pacing_rate == Rate(0) {
            self.first_pace(window);
        }
        self.update_rate(window, sample);
        self.aggregation.update(window, sample, self.rate(), self.round_start);
        self.update_cycle(window, sample);
        self.check_full(sample);
        self.check_drain(window);
        self.update_min_rtt(window, sample);
        self.update_gains();
        self.set_pace(window, self.pacing_gain);
        self.set_cwnd(window, sample);
    }

    fn paces(&self) -> bool {
        true
    }

    fn first_rate(&mut self, window: &mut Window) {
        self.min_rtt = window.min_rtt();
        self.min_rtt_at = window.now;
        self.first_pace(window);
    }

    fn burst(&self, window: &Window) -> Option<u32> {
        Some(least_burst(window))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::cc::bbr::tests::{round, window};

    fn bbr() -> Bbr {
        Bbr::new(Stream::new(1, "test"))
    }

    /// Cardwell et al. by hand: the rate doubles, then stays for three rounds: full; the queue drains; the cycle begins.
    #[test]
    fn startup_ends_when_the_rate_stays_and_the_queue_drains() {
        let (mut bbr, mut window) = (bbr(), window());
        bbr.first_rate(&mut window);
        assert_eq!(window.pacing_rate.0 / 1_000_000, 10 * 1448 * 8 * 2885 * 99 / 100 / 40_000 / 1000);
        for packets in [10, 20, 40] {
            round(&mut bbr, &mut window, packets, 0);
        }
        assert_eq!((bbr.mode, bbr.full), (Mode::Startup, false));
        window.in_flight = 80;
        for _ in 0..3 {
            round(&mut bbr, &mut window, 40, 0);
        }
        assert_eq!((bbr.mode, bbr.full, bbr.pacing_gain), (Mode::Drain, true, DRAIN_GAIN));
        window.in_flight = 30;
        round(&mut bbr, &mut window, 40, 0);
        assert_eq!(bbr.mode, Mode::ProbeBw);
        assert!(bbr.cycle != 1, "the cycle does not begin with the drain");
        assert_eq!(bdp(&window, bbr.min_rtt, bbr.rate(), UNIT), 40);
        for _ in 0..250 {
            round(&mut bbr, &mut window, 40, 0);
        }
        assert!(bbr.rounds > 250);
    }

    #[test]
    fn the_least_round_trip_is_looked_for_after_ten_seconds() {
        let (mut bbr, mut window) = (bbr(), window());
        bbr.first_rate(&mut window);
        bbr.min_rtt = Some(Span::from_millis(30));
        let mut seen = 0;
        for _ in 0..300 {
            window.in_flight = window.cwnd.min(40);
            round(&mut bbr, &mut window, 40, 0);
            seen += u32::from(bbr.mode == Mode::ProbeRtt && window.cwnd == LEAST_CWND);
        }
        assert!((5..9).contains(&seen), "{seen}: 200 ms and a round");
        assert_eq!(bbr.min_rtt, Some(Span::from_millis(40)));
    }
}
