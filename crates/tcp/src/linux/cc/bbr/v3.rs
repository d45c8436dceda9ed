//! # BBR, version 3
//!
//! BBR with bounds from losses: how much may be under way is probed for every few seconds, and given up once more than 2 % are
//! lost (draft-ietf-ccwg-bbr).
//!
//! ```text
//! Startup   pace 2.77 · bw until bw stays for three rounds, or 2 % and 6 packets are lost in one
//! Drain     pace 0.5 · bw until bw · min_rtt is under way
//! Down      pace 0.9 · bw until no more than that, and 0.85 of inflight_longterm, is under way
//! Cruise    pace bw, for 2 to 3 s, or as many rounds as Reno's window has packets (63 at the most)
//! Refill    pace bw for a round, without the short-term bounds
//! Up        pace 1.25 · bw until bw stays, or 2 % are lost: then inflight_longterm = what was under way, and Down
//! ProbeRtt  half of bw · min_rtt for 200 ms and a round, every 5 s
//! bw = min(greatest of two cycles, bw_shortterm);  the short-term bounds fall to 0.7 for each round with a loss
//! ```
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | the draft counts bytes | packets | as Linux's BBR does |
//! | BBRIsInflightTooHigh looks at each packet as it is lost | at each acknowledgement, with the packet delivered last | the sample has that one; losses are found by acknowledgements |
//! | BBRUpdateACKAggregation | left out: no room for aggregated acknowledgements | acknowledgements are not aggregated on links here |
//! | ECN is no part of the draft's core | marks are not answered | Prague and DCTCP are there |

mod min_rtt;
mod model;

use super::{LEAST_CWND, RecoveryWindow, UNIT, bdp, burst_goal, first_pace, least_burst, paced};
use crate::linux::cc::{Controller, Event, INFINITE, Sample, State, Window};
use sluicegate_base::{Rate, Span, Stream, Time};

const STARTUP_PACING: u64 = UNIT * 277 / 100;
const LOSS_THRESH: f64 = 0.02;
const FULL_LOSSES: u32 = 6;
const HEADROOM: f64 = 0.15;
/// No bound.
const NONE: u32 = u32::MAX;

/// What it is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

/// What acknowledgements are of (BBR.ack_phase).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// The state of one connection. Names are the draft's.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    rng: Stream,
    mode: Mode,
    ack_phase: AckPhase,
    /// The greatest rates of this cycle and the one before.
    max_bw: [u64; 2],
    bw_shortterm: u64,
    inflight_shortterm: u32,
    inflight_longterm: u32,
    bw_latest: u64,
    inflight_latest: u32,
    loss_in_round: bool,
    loss_round_delivered: u64,
    loss_round_start: bool,
    losses_in_round: u32,
    round_lost: u64,
    round_delivered_before: u64,
    next_round: u64,
    round_start: bool,
    full_bw: u64,
    full_bw_count: u32,
    full_bw_now: bool,
    full_bw_reached: bool,
    rounds_since_probe: u32,
    probe_wait: Span,
    cycle_stamp: Time,
    probe_up_rounds: u32,
    probe_up_acks: u32,
    probe_up_count: u32,
    probe_samples: bool,
    min_rtt: Option<Span>,
    min_rtt_stamp: Time,
    probe_rtt_min: Option<Span>,
    probe_rtt_stamp: Time,
    probe_rtt_done: Option<Time>,
    probe_rtt_round: bool,
    idle_restart: bool,
    recovery: RecoveryWindow,
}

impl Bbr3 {
    /// Nothing sent yet; what it draws the time between probes from.
    #[must_use]
    pub fn new(rng: Stream) -> Bbr3 {
        Bbr3 {
            rng,
            mode: Mode::Startup,
            ack_phase: AckPhase::Init,
            max_bw: [0; 2],
            bw_shortterm: u64::MAX,
            inflight_shortterm: NONE,
            inflight_longterm: NONE,
            bw_latest: 0,
            inflight_latest: 0,
            loss_in_round: false,
            loss_round_delivered: 0,
            loss_round_start: false,
            losses_in_round: 0,
            round_lost: 0,
            round_delivered_before: 0,
            next_round: 0,
            round_start: false,
            full_bw: 0,
            full_bw_count: 0,
            full_bw_now: false,
            full_bw_reached: false,
            rounds_since_probe: 0,
            probe_wait: Span::from_millis(2_000),
            cycle_stamp: Time::ZERO,
            probe_up_rounds: 0,
            probe_up_acks: 0,
            probe_up_count: NONE,
            probe_samples: false,
            min_rtt: None,
            min_rtt_stamp: Time::ZERO,
            probe_rtt_min: None,
            probe_rtt_stamp: Time::ZERO,
            probe_rtt_done: None,
            probe_rtt_round: false,
            idle_restart: false,
            recovery: RecoveryWindow::default(),
        }
    }

    fn max_bw(&self) -> u64 {
        self.max_bw[0].max(self.max_bw[1])
    }

    fn bw(&self) -> u64 {
        self.max_bw().min(self.bw_shortterm)
    }

    fn in_probe_bw(&self) -> bool {
        matches!(self.mode, Mode::Down | Mode::Cruise | Mode::Refill | Mode::Up)
    }

    /// Whether losses are expected, because more is sent than is known to fit.
    fn probing(&self) -> bool {
        matches!(self.mode, Mode::Startup | Mode::Refill | Mode::Up)
    }

    /// Pacing gain and window gain.
    fn gains(&self) -> (u64, u64) {
        match self.mode {
            Mode::Startup => (STARTUP_PACING, 2 * UNIT),
            Mode::Drain => (UNIT / 2, 2 * UNIT),
            Mode::Down => (UNIT * 9 / 10, 2 * UNIT),
            Mode::Cruise | Mode::Refill => (UNIT, 2 * UNIT),
            Mode::Up => (UNIT * 5 / 4, UNIT * 9 / 4),
            Mode::ProbeRtt => (UNIT, UNIT / 2),
        }
    }

    /// Rate times least round trip with a gain (BBRBDPMultiple), with room for bursts (BBRInflight, BBRQuantizationBudget).
    fn inflight(&self, window: &Window, bw: u64, gain: u64) -> u32 {
        let budget = bdp(window, self.min_rtt, bw, gain).max(3 * burst_goal(window)).max(LEAST_CWND);
        budget.saturating_add(if self.mode == Mode::Up { 2 } else { 0 })
    }

    /// What is known to fit, less what others are left (BBRInflightWithHeadroom).
    fn with_headroom(&self) -> u32 {
        if self.inflight_longterm == NONE {
            return NONE;
        }
        let headroom = ((f64::from(self.inflight_longterm) * HEADROOM) as u32).max(1);
        self.inflight_longterm.saturating_sub(headroom).max(LEAST_CWND)
    }

    fn start_round(&mut self, window: &Window) {
        self.next_round = window.delivered;
    }

    fn reset_full_bw(&mut self) {
        (self.full_bw, self.full_bw_count, self.full_bw_now) = (0, 0, false);
    }

    fn reset_congestion_signals(&mut self) {
        (self.loss_in_round, self.bw_latest, self.inflight_latest) = (false, 0, 0);
    }

    fn reset_shortterm(&mut self) {
        (self.bw_shortterm, self.inflight_shortterm) = (u64::MAX, NONE);
    }

    /// Startup, Drain and the cycle.
    fn update_mode(&mut self, window: &mut Window, sample: &Sample) {
        if self.mode == Mode::Startup && self.full_bw_reached {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && window.in_flight <= self.inflight(window, self.max_bw(), UNIT) {
            self.start_down(window);
        }
        if !self.full_bw_reached {
            return;
        }
        self.adapt_longterm(window, sample);
        match self.mode {
            Mode::Down => {
                if self.time_to_probe(window) {
                    return;
                }
                let target = self.with_headroom().min(self.inflight(window, self.max_bw(), UNIT));
                if window.in_flight <= target {
                    self.mode = Mode::Cruise;
                }
            }
            Mode::Cruise => {
                self.time_to_probe(window);
            }
            Mode::Refill if self.round_start => {
                self.probe_samples = true;
                self.start_up(window);
            }
            Mode::Up => {
                if window.is_limited() && window.cwnd >= self.inflight_longterm {
                    self.reset_full_bw();
                    self.full_bw = self.bw_latest;
                } else if self.full_bw_now {
                    self.start_down(window);
                }
            }
            _ => {}
        }
    }

    fn start_down(&mut self, window: &Window) {
        self.reset_congestion_signals();
        self.probe_up_count = NONE;
        self.rounds_since_probe = self.rng.below(2) as u32;
        self.probe_wait = Span::from_millis(2_000 + self.rng.below(1_000));
        self.cycle_stamp = window.now;
        self.ack_phase = AckPhase::ProbeStopping;
        self.start_round(window);
        self.mode = Mode::Down;
    }

    /// Whether the time of a probe has come: then a round without the short-term bounds begins.
    fn time_to_probe(&mut self, window: &Window) -> bool {
        let reno = bdp(window, self.min_rtt, self.bw(), UNIT).min(63);
        let due = window.now > self.cycle_stamp + self.probe_wait || self.rounds_since_probe >= reno;
        if due {
            self.reset_shortterm();
            (self.probe_up_rounds, self.probe_up_acks) = (0, 0);
            self.ack_phase = AckPhase::Refilling;
            self.start_round(window);
            self.mode = Mode::Refill;
        }
        due
    }

    fn start_up(&mut self, window: &Window) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.start_round(window);
        self.reset_full_bw();
        self.full_bw = self.bw_latest;
        self.cycle_stamp = window.now;
        self.mode = Mode::Up;
        self.raise_slope(window);
    }

    fn set_pace(&mut self, window: &mut Window) {
        let rate = paced(self.bw(), self.gains().0, window.mss);
        if self.full_bw_reached || rate > window.pacing_rate {
            window.pacing_rate = rate.max(Rate(1));
        }
    }

    /// The window (BBRSetCwnd), in a recovery no more than what is delivered for its first round.
    fn set_cwnd(&mut self, window: &mut Window, sample: &Sample) {
        let acked = sample.acked_sacked;
        let mut cwnd = self.recovery.cwnd(window, sample, &mut self.next_round);
        if !self.recovery.conserve {
            let most = self.inflight(window, self.bw(), self.gains().1);
            if self.full_bw_reached {
                cwnd = cwnd.saturating_add(acked).min(most);
            } else if cwnd < most || window.delivered < window.initial.into() {
                cwnd = cwnd.saturating_add(acked);
            }
            cwnd = cwnd.max(LEAST_CWND);
        }
        if self.mode == Mode::ProbeRtt {
            cwnd = cwnd.min(self.probe_rtt_cwnd(window));
        }
        let mut bound = match self.mode {
            Mode::Down | Mode::Refill | Mode::Up => self.inflight_longterm,
            Mode::Cruise | Mode::ProbeRtt => self.with_headroom(),
            Mode::Startup | Mode::Drain => NONE,
        };
        bound = bound.min(self.inflight_shortterm).max(LEAST_CWND);
        window.cwnd = cwnd.min(bound).clamp(1, INFINITE);
    }
}

impl Controller for Bbr3 {
    /// A loss alone does not lower the window; its share does.
    fn ssthresh(&mut self, window: &Window) -> u32 {
        self.recovery.save(window, self.mode == Mode::ProbeRtt);
        window.ssthresh
    }

    fn grow(&mut self, _window: &mut Window, _acked: u32) {}

    fn undo(&mut self, window: &Window) -> u32 {
        self.reset_full_bw();
        self.reset_shortterm();
        window.cwnd.max(self.recovery.prior_cwnd)
    }

    fn on_event(&mut self, window: &mut Window, event: Event) {
        if matches!(event, Event::Restart(_)) && window.app_limited > 0 {
            self.idle_restart = true;
            if self.in_probe_bw() {
                window.pacing_rate = paced(self.bw(), UNIT, window.mss).max(Rate(1));
            }
        }
    }

    fn on_state(&mut self, _window: &mut Window, state: State) {
        if state == State::Loss {
            self.recovery.previous = State::Loss;
            self.reset_full_bw();
        }
    }

    fn governs(&self) -> bool {
        true
    }

    fn govern(&mut self, window: &mut Window, sample: &Sample) {
        if window.pacing_rate == Rate(0) {
            self.first_rate(window);
        }
        self.update_model(window, sample);
        self.update_mode(window, sample);
        self.update_min_rtt(window, sample);
        self.set_pace(window);
        self.set_cwnd(window, sample);
        if self.loss_round_start {
            (self.bw_latest, self.inflight_latest) = (0, 0);
        }
    }

    fn paces(&self) -> bool {
        true
    }

    fn first_rate(&mut self, window: &mut Window) {
        self.min_rtt = window.min_rtt();
        self.probe_rtt_min = window.min_rtt();
        (self.min_rtt_stamp, self.probe_rtt_stamp) = (window.now, window.now);
        window.pacing_rate = first_pace(window, STARTUP_PACING);
    }

    fn burst(&self, window: &Window) -> Option<u32> {
        Some(least_burst(window))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::cc::bbr::BW_SHIFT;
    use crate::linux::cc::bbr::tests::{round, window};
    use alloc::vec;

    fn bbr() -> Bbr3 {
        Bbr3::new(Stream::new(1, "test"))
    }

    /// The draft by hand: the rate stays for three rounds, the queue drains, the cycle goes through all its phases; a probe
    /// that loses more than 2 % sets what fits.
    #[test]
    fn the_cycle_goes_through_its_phases_and_losses_bound_it() {
        let (mut bbr, mut window) = (bbr(), window());
        bbr.first_rate(&mut window);
        for packets in [10, 20, 40, 40, 40] {
            round(&mut bbr, &mut window, packets, 0);
            assert_eq!(bbr.mode, Mode::Startup);
        }
        window.in_flight = 60;
        round(&mut bbr, &mut window, 40, 0);
        assert_eq!((bbr.mode, bbr.full_bw_reached), (Mode::Drain, true));
        window.in_flight = 30;
        let mut modes = vec![bbr.mode];
        for _ in 0..90 {
            round(&mut bbr, &mut window, 40, 0);
            if modes.last() != Some(&bbr.mode) {
                modes.push(bbr.mode);
            }
        }
        assert_eq!(modes[..5], [Mode::Drain, Mode::Cruise, Mode::Refill, Mode::Up, Mode::Down]);
        for _ in 0..200 {
            if bbr.mode != Mode::Up {
                window.in_flight = window.cwnd.min(30);
                round(&mut bbr, &mut window, 40, 0);
            }
        }
        assert_eq!(bbr.mode, Mode::Up);
        round(&mut bbr, &mut window, 44, 3);
        assert_eq!((bbr.inflight_longterm, bbr.mode), (44, Mode::Cruise), "the queue is gone at once");
        assert_eq!(bbr.with_headroom(), 38);
    }

    #[test]
    fn a_round_with_a_loss_lowers_the_short_term_bounds_by_three_tenths_at_most() {
        let (mut bbr, mut window) = (bbr(), window());
        bbr.first_rate(&mut window);
        (bbr.mode, bbr.full_bw_reached) = (Mode::Cruise, true);
        bbr.max_bw = [100 << BW_SHIFT, 0];
        window.cwnd = 100;
        round(&mut bbr, &mut window, 40, 1);
        assert_eq!((bbr.bw_shortterm >> BW_SHIFT, bbr.inflight_shortterm), (70, 70));
    }

    #[test]
    fn the_least_round_trip_is_looked_for_every_five_seconds() {
        let (mut bbr, mut window) = (bbr(), window());
        bbr.first_rate(&mut window);
        bbr.probe_rtt_min = Some(Span::from_millis(30));
        let mut seen = 0;
        for _ in 0..260 {
            window.in_flight = window.cwnd.min(18);
            round(&mut bbr, &mut window, 40, 0);
            seen += u32::from(bbr.mode == Mode::ProbeRtt && window.cwnd <= 20);
        }
        assert!((5..16).contains(&seen), "{seen}: 200 ms and a round, once or twice");
    }
}
