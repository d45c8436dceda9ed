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
//! | rates and gains are real numbers | packets per µs · 2²⁴, gains in 1/256 | Linux: windows are its |
//! | windows of rate and round trip | three estimates for the rate (Kathleen Nichols's filter), one for the round trip | Linux, win_minmax.c |
//! | nothing on losses | a round of packet conservation when a recovery begins; the window comes back after it | Linux |
//! | nothing on policers | two intervals with a fifth lost at one rate set it for 48 rounds | Linux, `bbr_lt_bw_sampling` |
//! | nothing on aggregated acknowledgements | the window is larger by what came beyond the rate in ten rounds | Linux, `bbr_ack_aggregation_cwnd` |
//! | the pace is the rate | 1 % less | Linux, bbr_pacing_margin_percent |
//! | what waits for its time of departure counts as under way | what waits here was not sent | packets are handed over when they leave |

use super::{Controller, Event, Sample, State, Window};
use sluicegate_base::{Rate, Span, Stream, Time};

/// A gain of 1, and a rate of one packet in a microsecond, as powers of two.
const UNIT: u64 = 256;
const BW_SHIFT: u32 = 24;
const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
const CWND_GAIN: u64 = 2 * UNIT;
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
const BW_ROUNDS: u64 = CYCLE.len() as u64 + 2;
const MIN_RTT_AGE: Span = Span::from_millis(10_000);
const PROBE_RTT_TIME: Span = Span::from_millis(200);
const LEAST_CWND: u32 = 4;
/// The pipe is full when the rate has not grown by a quarter in so many rounds.
const FULL_ROUNDS: u32 = 3;
/// Policers: rounds in an interval, the share that is lost in 1/256, and how long the rate is held.
const LT_ROUNDS: u32 = 4;
const LT_LOSS: u64 = 50;
const LT_MOST_ROUNDS: u32 = 48;
/// What came beyond the rate: rounds of a window, its bound in time, and when counting starts anew.
const EXTRA_ROUNDS: u32 = 5;
const EXTRA_TIME_US: u64 = 100_000;
const EXTRA_RESET: u64 = 1 << 20;
/// Below this rate a burst is one packet.
const ONE_PACKET_RATE: u64 = 1_200_000;

/// What it is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// The greatest of a window, by its three best estimates (struct minmax).
#[derive(Clone, Copy, Debug, Default)]
struct MaxFilter([(u64, u64); 3]);

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

/// Whether a policer holds the rate (lt_…).
#[derive(Clone, Copy, Debug, Default)]
struct LongTerm {
    sampling: bool,
    in_use: bool,
    rate: u64,
    rounds: u32,
    since: Time,
    delivered: u64,
    lost: u64,
}

/// What comes beyond the rate (extra_acked).
#[derive(Clone, Copy, Debug, Default)]
struct Extra {
    most: [u64; 2],
    at: usize,
    rounds: u32,
    epoch: Time,
    acked: u64,
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
    conserve: bool,
    previous: State,
    prior_cwnd: u32,
    full_rate: u64,
    full_rounds: u32,
    full: bool,
    pacing_gain: u64,
    cwnd_gain: u64,
    cycle: usize,
    cycle_at: Time,
    seen_rtt: bool,
    long_term: LongTerm,
    extra: Extra,
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
            conserve: false,
            previous: State::Open,
            prior_cwnd: 0,
            full_rate: 0,
            full_rounds: 0,
            full: false,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            cycle: 0,
            cycle_at: Time::ZERO,
            seen_rtt: false,
            long_term: LongTerm::default(),
            extra: Extra::default(),
        }
    }

    /// The rate that is paced by.
    fn rate(&self) -> u64 {
        if self.long_term.in_use { self.long_term.rate } else { self.rate.get() }
    }

    /// A rate with a gain, as the sender paces (bbr_bw_to_pacing_rate).
    pub(super) fn paced(rate: u64, gain: u64, mss: u32) -> Rate {
        let scaled = u128::from(rate) * u128::from(u64::from(mss) * gain) / u128::from(UNIT);
        Rate(u64::try_from(((scaled * (1_000_000 / 100 * 99)) >> BW_SHIFT) * 8).unwrap_or(u64::MAX))
    }

    fn first_pace(&mut self, window: &mut Window) {
        let rtt = if window.srtt > Span::ZERO { micros(window.srtt).max(1) } else { 1000 };
        self.seen_rtt |= window.srtt > Span::ZERO;
        window.pacing_rate = Bbr::paced((u64::from(window.cwnd) << BW_SHIFT) / rtt, HIGH_GAIN, window.mss);
    }

    fn set_pace(&mut self, window: &mut Window, gain: u64) {
        let rate = Bbr::paced(self.rate(), gain, window.mss);
        if !self.seen_rtt && window.srtt > Span::ZERO {
            self.first_pace(window);
        }
        if self.full || rate > window.pacing_rate {
            window.pacing_rate = rate;
        }
    }

    /// The packets of a burst (bbr_tso_segs_goal).
    pub(super) fn burst_goal(window: &Window) -> u32 {
        let packets = ((window.pacing_rate.0 / 8) >> 10).min(64_000) / u64::from(window.mss.max(1));
        (packets as u32).max(least_burst(window)).min(127)
    }

    /// Rate times least round trip, with a gain (bbr_bdp).
    fn bdp(&self, window: &Window, rate: u64, gain: u64) -> u32 {
        let Some(rtt) = self.min_rtt else { return window.initial };
        let scaled = u128::from(rate) * u128::from(micros(rtt) * gain) / u128::from(UNIT);
        u32::try_from(scaled.div_ceil(1 << BW_SHIFT)).unwrap_or(u32::MAX / 4)
    }

    /// Room for bursts at both ends (bbr_quantization_budget).
    fn with_room(&self, window: &Window, cwnd: u32) -> u32 {
        let cwnd = cwnd.saturating_add(3 * Bbr::burst_goal(window));
        let even = cwnd.saturating_add(1) & !1;
        even + if self.mode == Mode::ProbeBw && self.cycle == 0 { 2 } else { 0 }
    }

    fn save_cwnd(&mut self, window: &Window) {
        let good = self.previous < State::Recovery && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if good { window.cwnd } else { self.prior_cwnd.max(window.cwnd) };
    }

    /// Rounds and rate (bbr_update_bw).
    fn update_rate(&mut self, window: &Window, sample: &Sample) {
        self.round_start = false;
        let Some(prior) = sample.prior_delivered.filter(|_| sample.interval.0 > 0) else { return };
        if prior >= self.next_round {
            self.next_round = window.delivered;
            self.rounds += 1;
            self.round_start = true;
            self.conserve = false;
        }
        self.sample_long_term(window, sample);
        let rate = (sample.delivered << BW_SHIFT) / micros(sample.interval).max(1);
        if !sample.is_app_limited || rate >= self.rate.get() {
            self.rate.update(BW_ROUNDS, self.rounds, rate);
        }
    }

    fn restart_long_term_interval(&mut self, window: &Window) {
        let long_term = &mut self.long_term;
        long_term.since = window.delivered_time;
        (long_term.delivered, long_term.lost, long_term.rounds) = (window.delivered, window.lost, 0);
    }

    fn reset_long_term(&mut self, window: &Window) {
        self.long_term = LongTerm::default();
        self.restart_long_term_interval(window);
    }

    /// Two intervals that end with losses, with a fifth lost, at nearly one rate: a policer.
    fn sample_long_term(&mut self, window: &Window, sample: &Sample) {
        if self.long_term.in_use {
            if self.mode == Mode::ProbeBw && self.round_start {
                self.long_term.rounds += 1;
                if self.long_term.rounds >= LT_MOST_ROUNDS {
                    self.reset_long_term(window);
                    self.begin_probe_bw(window);
                }
            }
            return;
        }
        if !self.long_term.sampling {
            if sample.losses == 0 {
                return;
            }
            self.restart_long_term_interval(window);
            self.long_term.sampling = true;
        }
        if sample.is_app_limited {
            return self.reset_long_term(window);
        }
        self.long_term.rounds += u32::from(self.round_start);
        if self.long_term.rounds < LT_ROUNDS {
            return;
        }
        if self.long_term.rounds > 4 * LT_ROUNDS {
            return self.reset_long_term(window);
        }
        if sample.losses == 0 {
            return;
        }
        let lost = window.lost.saturating_sub(self.long_term.lost);
        let delivered = window.delivered.saturating_sub(self.long_term.delivered);
        if delivered == 0 || (lost << 8) < LT_LOSS * delivered {
            return;
        }
        let ms = window.delivered_time.since(self.long_term.since).0 / 1_000_000;
        if ms < 1 {
            return;
        }
        if ms >= u64::from(u32::MAX) / 1000 {
            return self.reset_long_term(window);
        }
        self.end_long_term_interval(window, (delivered << BW_SHIFT) / (ms * 1000));
    }

    fn end_long_term_interval(&mut self, window: &Window, rate: u64) {
        let before = self.long_term.rate;
        if before > 0 {
            let apart = rate.abs_diff(before);
            let bytes = Bbr::paced(apart, UNIT, window.mss).0 / 8;
            if apart.saturating_mul(UNIT) <= before.saturating_mul(32) || bytes <= 500 {
                self.long_term.rate = (rate + before) / 2;
                (self.long_term.in_use, self.long_term.rounds) = (true, 0);
                self.pacing_gain = UNIT;
                return;
            }
        }
        self.long_term.rate = rate;
        self.restart_long_term_interval(window);
    }

    /// What came beyond the rate (bbr_update_ack_aggregation).
    fn update_extra(&mut self, window: &Window, sample: &Sample) {
        if sample.acked_sacked == 0 || sample.prior_delivered.is_none() || sample.interval.0 == 0 {
            return;
        }
        if self.round_start {
            self.extra.rounds = (self.extra.rounds + 1).min(31);
            if self.extra.rounds >= EXTRA_ROUNDS {
                self.extra.rounds = 0;
                self.extra.at = 1 - self.extra.at;
                self.extra.most[self.extra.at] = 0;
            }
        }
        let time = micros(window.delivered_time.since(self.extra.epoch));
        let mut expected = ((u128::from(self.rate()) * u128::from(time)) >> BW_SHIFT) as u64;
        if self.extra.acked <= expected || self.extra.acked + u64::from(sample.acked_sacked) >= EXTRA_RESET {
            self.extra.acked = 0;
            self.extra.epoch = window.delivered_time;
            expected = 0;
        }
        self.extra.acked = (self.extra.acked + u64::from(sample.acked_sacked)).min(0xf_ffff);
        let beyond = self.extra.acked.saturating_sub(expected).min(window.cwnd.into());
        let most = &mut self.extra.most[self.extra.at];
        *most = beyond.max(*most);
    }

    fn extra_cwnd(&self) -> u32 {
        if !self.full {
            return 0;
        }
        let bound = (u128::from(self.rate()) * u128::from(EXTRA_TIME_US)) >> BW_SHIFT;
        u128::from(self.extra.most[0].max(self.extra.most[1])).min(bound) as u32
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
                let in_flight = sample.prior_in_flight + Bbr::burst_goal(window);
                let target = self.with_room(window, self.bdp(window, rate, gain));
                long && (sample.losses > 0 || in_flight >= target)
            }
            _ => long || sample.prior_in_flight <= self.with_room(window, self.bdp(window, rate, UNIT)),
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
            window.ssthresh = self.with_room(window, self.bdp(window, self.rate.get(), UNIT)).max(2);
        }
        let target = |bbr: &Bbr, window: &Window| bbr.with_room(window, bbr.bdp(window, bbr.rate.get(), UNIT));
        if self.mode == Mode::Drain && window.in_flight <= target(self, window) {
            self.begin_probe_bw(window);
        }
    }

    fn check_probe_rtt_done(&mut self, window: &mut Window) {
        if self.probe_rtt_done.is_some_and(|done| window.now > done) {
            self.min_rtt_at = window.now;
            window.cwnd = window.cwnd.max(self.prior_cwnd);
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
            self.save_cwnd(window);
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
            Mode::ProbeBw if self.long_term.in_use => (UNIT, CWND_GAIN),
            Mode::ProbeBw => (CYCLE[self.cycle], CWND_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }

    /// The window in and after a recovery; whether it is all there is to say (bbr_set_cwnd_to_recover_or_restore).
    fn recover(&mut self, window: &Window, sample: &Sample) -> (u32, bool) {
        let (before, state) = (self.previous, window.state);
        let under_way = window.in_flight.saturating_add(sample.acked_sacked);
        let mut cwnd = window.cwnd.saturating_sub(sample.losses).max(1);
        if state == State::Recovery && before != State::Recovery {
            self.conserve = true;
            self.next_round = window.delivered;
            cwnd = under_way;
        } else if before >= State::Recovery && state < State::Recovery {
            cwnd = cwnd.max(self.prior_cwnd);
            self.conserve = false;
        }
        self.previous = state;
        if self.conserve { (cwnd.max(under_way), true) } else { (cwnd, false) }
    }

    fn set_cwnd(&mut self, window: &mut Window, sample: &Sample) {
        let acked = sample.acked_sacked;
        let mut cwnd = window.cwnd;
        if acked > 0 {
            let (recovered, done) = self.recover(window, sample);
            cwnd = recovered;
            if !done {
                let target = self.bdp(window, self.rate(), self.cwnd_gain).saturating_add(self.extra_cwnd());
                let target = self.with_room(window, target);
                if self.full {
                    cwnd = cwnd.saturating_add(acked).min(target);
                } else if cwnd < target || window.delivered < window.initial.into() {
                    cwnd = cwnd.saturating_add(acked);
                }
                cwnd = cwnd.max(LEAST_CWND);
            }
        }
        window.cwnd = cwnd.clamp(1, window.clamp);
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(LEAST_CWND);
        }
    }
}

impl Controller for Bbr {
    /// A loss is no sign of congestion by itself: the window is kept for later.
    fn ssthresh(&mut self, window: &Window) -> u32 {
        self.save_cwnd(window);
        window.ssthresh
    }

    fn grow(&mut self, _window: &mut Window, _acked: u32) {}

    fn undo(&mut self, window: &Window) -> u32 {
        (self.full_rate, self.full_rounds) = (0, 0);
        self.reset_long_term(window);
        window.cwnd
    }

    fn on_event(&mut self, window: &mut Window, event: Event) {
        if !matches!(event, Event::Restart(_)) || window.app_limited == 0 {
            return;
        }
        self.idle_restart = true;
        (self.extra.epoch, self.extra.acked) = (window.now, 0);
        match self.mode {
            Mode::ProbeBw => self.set_pace(window, UNIT),
            Mode::ProbeRtt => self.check_probe_rtt_done(window),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn on_state(&mut self, window: &mut Window, state: State) {
        if state == State::Loss {
            self.previous = State::Loss;
            self.full_rate = 0;
            self.round_start = true;
            let lost = Sample { losses: 1, ..Sample::default() };
            self.sample_long_term(window, &lost);
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
        self.update_extra(window, sample);
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
        self.min_rtt = window.min_rtt;
        self.min_rtt_at = window.now;
        self.first_pace(window);
    }

    fn burst(&self, window: &Window) -> Option<u32> {
        Some(least_burst(window))
    }
}

/// Two packets, or one where they take 10 ms each (bbr_min_tso_segs).
pub(super) fn least_burst(window: &Window) -> u32 {
    if window.pacing_rate.0 < ONE_PACKET_RATE { 1 } else { 2 }
}

fn micros(span: Span) -> u64 {
    span.0 / 1000
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bbr() -> Bbr {
        Bbr::new(Stream::new(1, "test"))
    }

    fn window() -> Window {
        Window {
            srtt: Span::from_millis(40),
            min_rtt: Some(Span::from_millis(40)),
            ..Window::new(10, 1 << 20, 1 << 20, 1448)
        }
    }

    /// One round: so many packets in 40 ms.
    fn round(bbr: &mut Bbr, window: &mut Window, packets: u64) {
        let prior = window.delivered;
        window.delivered += packets;
        window.now += Span::from_millis(40);
        window.delivered_time = window.now;
        let sample = Sample {
            delivered: packets,
            interval: Span::from_millis(40),
            prior_delivered: Some(prior),
            rtt: Some(Span::from_millis(40)),
            acked_sacked: packets as u32,
            prior_in_flight: window.in_flight,
            ..Sample::default()
        };
        bbr.govern(window, &sample);
    }

    /// Cardwell et al. by hand: the rate doubles, then stays for three rounds: full; the queue drains; the cycle begins.
    #[test]
    fn startup_ends_when_the_rate_stays_and_the_queue_drains() {
        let (mut bbr, mut window) = (bbr(), window());
        bbr.first_rate(&mut window);
        assert_eq!(window.pacing_rate.0 / 1_000_000, 10 * 1448 * 8 * 2885 * 99 / 100 / 40_000 / 1000);
        for packets in [10, 20, 40] {
            round(&mut bbr, &mut window, packets);
        }
        assert_eq!((bbr.mode, bbr.full), (Mode::Startup, false));
        window.in_flight = 80;
        for _ in 0..3 {
            round(&mut bbr, &mut window, 40);
        }
        assert_eq!((bbr.mode, bbr.full, bbr.pacing_gain), (Mode::Drain, true, DRAIN_GAIN));
        window.in_flight = 30;
        round(&mut bbr, &mut window, 40);
        assert_eq!(bbr.mode, Mode::ProbeBw);
        assert!(bbr.cycle != 1, "the cycle does not begin with the drain");
        assert_eq!(bbr.bdp(&window, bbr.rate(), UNIT), 40);
        for _ in 0..250 {
            round(&mut bbr, &mut window, 40);
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
            round(&mut bbr, &mut window, 40);
            seen += u32::from(bbr.mode == Mode::ProbeRtt && window.cwnd == LEAST_CWND);
        }
        assert!((5..9).contains(&seen), "{seen}: 200 ms and a round");
        assert_eq!(bbr.min_rtt, Some(Span::from_millis(40)));
    }

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

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]
        #[test]
        fn no_sample_breaks_it(
            steps in proptest::collection::vec((0u64..1 << 40, 0u64..1 << 50, 0u32..10_000, 0u32..5000, 0u8..5), 0..150),
        ) {
            let (mut bbr, mut window) = (bbr(), window());
            for (delivered, interval, in_flight, losses, state) in steps {
                let prior = window.delivered;
                window.delivered += delivered;
                window.lost += u64::from(losses);
                window.now += Span(interval);
                (window.delivered_time, window.in_flight) = (window.now, in_flight);
                let state = [State::Open, State::Disorder, State::Cwr, State::Recovery, State::Loss][usize::from(state)];
                bbr.on_state(&mut window, state);
                window.state = state;
                let sample = Sample {
                    delivered, interval: Span(interval), prior_delivered: Some(prior), rtt: Some(Span(interval)),
                    acked_sacked: delivered.min(1 << 20) as u32, losses, prior_in_flight: in_flight, ..Sample::default()
                };
                bbr.govern(&mut window, &sample);
                bbr.on_event(&mut window, Event::Restart(Span(interval)));
                prop_assert!((1..=window.clamp).contains(&window.cwnd) && window.pacing_rate.0 > 0);
            }
        }
    }
}
