//! The sending half of a Linux host: its state, and what its application and its clock do to it.

use super::buffers::Buffers;
use super::cc::{Controller, Event, INFINITE, State, Window};
use super::ecn::Feedback;
use super::lazy::{Initial, Lazy};
use super::near::Near;
use super::pacing::Pacing;
use super::prr::Prr;
use super::queue::Queue;
use super::rack::Rack;
use super::rate::Rate;
use super::rtt::Rtt;
use super::undo::Undo;
use crate::connection::{Congestion, Counters, SendCounters};
use crate::host::Host;
use alloc::boxed::Box;
use core::fmt;
use core::num::NonZeroU64;
use sluicegate_base::{Span, Time};

/// What the one timer of a sender waits for (icsk_pending).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    /// A retransmission timeout.
    Retransmission,
    /// The end of what reordering is allowed for.
    Reordering,
    /// A tail loss probe.
    Probe,
    /// The other end's window is closed: a probe of it.
    Window,
}

/// What goes out next, in this order until nothing more may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing.
    Idle,
    /// The first packet of the queue for a timeout, which repairs it, or the last for a probe, whatever the window.
    Forced { repair: bool },
    /// New data for a probe, one packet whatever the window.
    Probe,
    /// New data for F-RTO, and what is lost if there is none.
    NewFirst,
    /// What is lost; then new data, if `push`.
    Lost { push: bool },
    /// New data.
    New,
}

/// The sending half. Names in brackets are those of struct tcp_sock.
pub struct Sender {
    pub(super) cc: Box<dyn Controller>,
    pub(super) window: Window,
    pub(super) queue: Queue,
    pub(super) rtt: Rtt,
    pub(super) rack: Rack,
    pub(super) episode: Lazy<Episode>,
    /// If the controller governs or asks for samples.
    pub(super) rate: Option<Box<Rate>>,
    pub(super) pacing: Pacing,
    pub(super) feedback: Feedback,
    /// Whether plain acknowledgements take the fast path.
    pub(super) predicts: bool,
    pub(super) written: u64,
    pub(super) closed: bool,
    /// The bytes that the other end's window holds beyond `una` (snd_wnd), and the most that it ever held (max_window).
    pub(super) wnd: u32,
    pub(super) wnd_most: u32,
    /// How what the application wrote last lies in buffers, until it is all sent.
    pub(super) buffers: Option<Box<Buffers>>,
    /// Where the burst begins that was begun last, the lower half, where it ends if it is of new data, and whether that says PSH; the end of
    /// the last packet sent that was not full (snd_sml).
    pub(super) burst_start: u32,
    pub(super) burst_end: Near,
    pub(super) burst_pushed: bool,
    pub(super) small_end: u64,
    /// Until when a tail loss probe is under way, and whether it was sent before (tlp_high_seq, tlp_retrans).
    pub(super) probe: Option<NonZeroU64>,
    pub(super) probe_resent: bool,
    /// Whether a timeout may have been spurious (frto).
    pub(super) frto: bool,
    /// Whether the retransmission timer has expired since something was acknowledged (icsk_retransmits).
    pub(super) timed_out: bool,
    /// What the timer waits for, when it was set, and for how long.
    pub(super) timer: Option<Timer>,
    timer_set: Time,
    pub(super) timer_span: Span,
    /// Whether it is to be set anew once new data has gone out as far as it may, unless that sets it.
    pub(super) timer_due: bool,
    pub(super) phase: Phase,
    /// Whether the head of the queue was sent again in this phase.
    pub(super) head_resent: bool,
    /// Whether new data was sent in this phase, and whether the window ended it.
    pub(super) sent_now: bool,
    pub(super) stopped_by_window: bool,
    pub(super) last_sent: Time,
    /// When the window was last full or changed, and the most of it used since (snd_cwnd_stamp, snd_cwnd_used).
    pub(super) cwnd_stamp: Time,
    pub(super) cwnd_used: u32,
    /// The byte that ends the window of data whose use of the window is known (cwnd_usage_seq).
    pub(super) usage_end: Near,
    /// How many segments have gone out.
    pub(super) segments: u64,
}

/// What is known of a recovery or a reduction: from the first one on.
#[derive(Clone, Debug)]
pub(super) struct Episode {
    pub prr: Prr,
    pub undo: Undo,
    /// What must be acknowledged for it to be over (high_seq).
    pub high: u64,
    /// When RACK's window was last widened (rack.last_delivered).
    pub widened: Time,
    pub counters: Counters,
}

impl Initial for Episode {
    const INITIAL: &'static Episode = &Episode {
        prr: Prr { delivered: 0, out: 0 },
        undo: Undo { marker: None, resent: 0, stamp: 0, prior_ssthresh: 0 },
        high: 0,
        widened: Time::ZERO,
        counters: Counters::NONE,
    };
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender")
            .field("una", &self.window.una)
            .field("nxt", &self.window.nxt)
            .field("state", &self.window.state)
            .finish()
    }
}

/// How an opening went.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opened {
    /// When the other end had answered, how long that took, if it is known, and how often the opening was sent.
    pub now: Time,
    pub rtt: Option<Span>,
    pub tries: u32,
    /// How many bytes the other end's window holds.
    pub wnd: u32,
}

/// How often a SYN or its answer may have gone out for the window to stay (RFC 6928, Sec. 2).
const MOST_TRIES: u32 = 2;

/// What the senders of a host begin with.
impl Host {
    /// Their window, and their threshold: the default is none at all.
    fn first_window(&self) -> (u32, u32) {
        let most = (self.window / u64::from(self.mss)).min(INFINITE.into()) as u32;
        let unset = self.initial_ssthresh >= f64::from(most);
        let ssthresh = if unset { INFINITE } else { self.initial_ssthresh as u32 };
        ((self.initial_window as u32).max(1), ssthresh)
    }

    /// The other end's window, before that says it.
    fn assumed_window(&self) -> u32 {
        u32::try_from(self.window).unwrap_or(u32::MAX)
    }

    /// The window and the timeout of one that has not written, whose clock is shifted by `phase`, after this opening.
    pub(super) fn unwritten_window_and_timeout(&self, phase: Span, opened: Option<&Opened>) -> (u32, Span) {
        let mut rtt = Rtt::new(&self.rto, phase);
        if let Some(measured) = opened.and_then(|opened| opened.rtt) {
            rtt.sample(measured, 0, 0);
        }
        (opened.map_or(self.assumed_window(), |opened| opened.wnd), rtt.rto())
    }

    /// What those see of one that has not written who debug congestion control.
    pub(super) fn unwritten(&self, opened: Option<&Opened>) -> Congestion {
        let ((initial, ssthresh), closed) =
            (self.first_window(), opened.is_some_and(|opened| opened.tries > MOST_TRIES));
        Congestion {
            cwnd: if closed { 1.0 } else { initial.into() },
            ssthresh: ssthresh.into(),
            srtt: opened.and_then(|opened| opened.rtt).map_or(Span::ZERO, super::rtt::whole_us),
            in_flight: 0,
        }
    }
}

impl Sender {
    /// A sender of a host with nothing written; `phase` shifts its clock within a tick.
    pub fn new(host: &Host, phase: Span) -> Sender {
        let (cc, (initial, ssthresh)) = (host.linux_controller(phase), host.first_window());
        let (paces, samples) = (cc.paces(), cc.governs() || cc.wants_rate_samples());
        let feedback = Feedback::of_sender(host);
        Sender {
            predicts: feedback.is_flagged() && !samples,
            feedback,
            rate: samples.then(|| Box::new(Rate::new(cc.wants_rate_samples()))),
            cc,
            // The congestion window has no bound (tcp_clamp_window); the receiver's is looked at in packets.
            window: Window { paced: paces, ..Window::new(initial, ssthresh, host.mss) },
            queue: Queue::new(),
            rtt: Rtt::new(&host.rto, phase),
            pacing: Pacing::new(paces, host.gso),
            wnd: host.assumed_window(),
            wnd_most: host.assumed_window(),
            buffers: None,
            rack: Rack::default(),
            episode: Lazy::default(),
            written: 0,
            closed: false,
            burst_start: 0,
            burst_end: Near::default(),
            burst_pushed: false,
            small_end: 0,
            probe: None,
            probe_resent: false,
            frto: false,
            timed_out: false,
            timer: None,
            timer_set: Time::ZERO,
            timer_span: Span::ZERO,
            timer_due: false,
            phase: Phase::Idle,
            head_resent: false,
            sent_now: false,
            stopped_by_window: false,
            last_sent: Time::ZERO,
            cwnd_stamp: Time::ZERO,
            cwnd_used: 0,
            usage_end: Near::default(),
            segments: 0,
        }
    }

    /// The application writes `bytes` more; `u64::MAX` writes without end.
    pub fn write(&mut self, bytes: u64) {
        if !self.closed {
            match &mut self.buffers {
                Some(buffers) if self.window.nxt < self.written => buffers.written_behind(self.written),
                _ => self.fill_buffers(self.written, self.wnd_most),
            }
            self.written = self.written.saturating_add(bytes).min(u64::MAX / 4);
        }
        self.push();
    }

    /// The application writes from `start` on while nothing earlier waits.
    fn fill_buffers(&mut self, start: u64, window: u32) {
        let buffers = Buffers::written(start, window, self.window.mss, self.pacing.most());
        self.buffers = Some(Box::new(buffers));
    }

    /// The application writes no more: what was never sent is forgotten.
    pub fn stop(&mut self) {
        self.written = self.written.min(self.window.nxt);
    }

    /// The application writes no more and the stream ends after what it has written.
    pub fn close(&mut self) {
        self.closed = true;
        self.push();
    }

    /// New data may go out.
    pub(super) fn push(&mut self) {
        if self.phase == Phase::Idle {
            self.phase = Phase::New;
        }
    }

    /// The other end has answered the opening (tcp_rcv_synsent_state_process, tcp_init_transfer).
    pub(super) fn opened(&mut self, Opened { now, rtt, tries, wnd }: Opened) {
        self.window.now = now;
        (self.wnd, self.wnd_most) = (wnd, wnd);
        if self.buffers.is_some() {
            self.fill_buffers(0, wnd);
        }
        if let Some(rtt) = rtt {
            self.measured(rtt, rtt);
        }
        if tries > MOST_TRIES {
            self.window.cwnd = 1;
        }
        self.window.delivered += 1;
        self.window.delivered_time = now;
        self.cwnd_stamp = now;
        self.refresh();
        self.cc.first_rate(&mut self.window);
        self.pacing.update(&mut self.window);
        self.push();
    }

    /// Shows the controller what is under way; the rest of its window is always as things stand.
    #[inline]
    pub(super) fn refresh(&mut self) {
        self.window.packets_out = self.queue.len();
        self.window.in_flight = self.queue.in_flight();
    }

    /// The sender's state becomes this.
    pub(super) fn set_state(&mut self, state: State) {
        self.refresh();
        self.cc.on_state(&mut self.window, state);
        self.window.state = state;
    }

    /// Whether the window falls to the threshold now (tcp_in_cwnd_reduction).
    pub(super) fn in_reduction(&self) -> bool {
        matches!(self.window.state, State::Cwr | State::Recovery)
    }

    /// The time that [`deadline_before`](Sender::deadline_before) named has come.
    #[inline(always)]
    pub fn on_timer(&mut self, now: Time) {
        self.window.now = now;
        if self.pacing.release(now) {
            self.resume();
        }
        // No timer expires early.
        if self.timer_set + self.timer_span > now {
            return;
        }
        let Some(timer) = self.timer.filter(|_| self.expiry() <= now) else { return };
        self.refresh();
        match timer {
            Timer::Reordering => self.on_reordering_timeout(),
            Timer::Probe => self.on_probe_timeout(),
            Timer::Retransmission => self.on_timeout(),
            Timer::Window => self.on_window_probe(),
        }
    }

    /// What the pace held back goes on.
    fn resume(&mut self) {
        if self.phase == Phase::Idle {
            // tcp_tsq_write: what is lost first, then new data.
            let lost = self.queue.lost_out > self.queue.resent_out;
            self.phase = if lost { Phase::Lost { push: true } } else { Phase::New };
            (self.sent_now, self.head_resent) = (false, false);
        }
    }

    /// The retransmission timer has expired (tcp_retransmit_timer).
    fn on_timeout(&mut self) {
        self.timer = None;
        if self.queue.is_empty() {
            return;
        }
        self.episode.counters.timeouts += 1;
        self.enter_loss();
        self.timed_out = true;
        self.rtt.back_off();
        self.phase = Phase::Forced { repair: true };
        self.arm(Timer::Retransmission, self.rtt.rto());
    }

    /// The one timer is set for so long from now (inet_csk_reset_xmit_timer).
    pub(super) fn arm(&mut self, timer: Timer, span: Span) {
        (self.timer, self.timer_set, self.timer_span) = (Some(timer), self.window.now, span);
    }

    /// The retransmission timer is set anew: from when the head of the queue was sent where another timer ran, else from now
    /// (tcp_rearm_rto).
    pub(super) fn rearm(&mut self) {
        if self.queue.is_empty() {
            self.timer = None;
            return;
        }
        let mut span = self.rtt.rto();
        if matches!(self.timer, Some(Timer::Reordering | Timer::Probe)) {
            span = self.until_timeout().max(Span(1));
        }
        self.arm(Timer::Retransmission, span);
    }

    /// How far the timeout of the queue's head is away (tcp_rto_delta_us); zero if it is over.
    pub(super) fn until_timeout(&self) -> Span {
        let head = self.queue.front().map_or(self.window.now, |packet| packet.sent);
        let at = head + self.rtt.rto();
        if at > self.window.now { at.since(self.window.now) } else { Span::ZERO }
    }

    /// A probe or a timeout, whichever fits (tcp_set_xmit_timer).
    pub(super) fn set_timer(&mut self) {
        if !self.schedule_probe(true) {
            self.rearm();
        }
    }

    /// When it next wants [`on_timer`](Sender::on_timer), if that is before `time`; most are far away.
    #[inline(always)]
    pub fn deadline_before(&self, time: Time) -> Option<Time> {
        let mut next = self.pacing.release;
        // No timer expires early.
        if self.timer.is_some() && self.timer_set + self.timer_span < next.min(time) {
            next = next.min(self.expiry());
        }
        (next < time).then_some(next)
    }

    /// When the one timer expires.
    #[inline(never)]
    fn expiry(&self) -> Time {
        if self.timer.is_none() || self.timer_span == NEVER {
            return Time::NEVER;
        }
        self.rtt.clock.timer(self.timer_set, self.timer_span)
    }

    /// Whether [`poll_into`](Sender::poll_into) may give a segment.
    #[inline(always)]
    #[must_use]
    pub fn may_send(&self) -> bool {
        !matches!(self.phase, Phase::Idle)
    }

    /// The window begins anew after a pause longer than a timeout (tcp_slow_start_after_idle_check, tcp_cwnd_restart).
    pub(super) fn restart_after_idling(&mut self) {
        let pause = self.window.now.since(self.last_sent);
        if !self.queue.is_empty() || self.cc.governs() || self.window.nxt == 0 || pause <= self.rtt.rto() {
            return;
        }
        self.refresh();
        self.cc.on_event(&mut self.window, Event::IdleRestart);
        self.window.ssthresh = self.current_ssthresh();
        let least = self.window.initial.min(self.window.cwnd);
        let mut cwnd = self.window.cwnd;
        let (mut left, rto) = (pause.0, self.rtt.rto().0.max(1));
        while left > rto && cwnd > least {
            left -= rto;
            cwnd >>= 1;
        }
        self.window.cwnd = cwnd.max(least);
        (self.cwnd_stamp, self.cwnd_used) = (self.window.now, 0);
    }

    /// The congestion window in packets.
    #[must_use]
    pub fn cwnd(&self) -> f64 {
        self.window.cwnd.into()
    }

    /// What those look at who debug congestion control.
    #[must_use]
    pub fn congestion(&self) -> Congestion {
        Congestion {
            cwnd: self.cwnd(),
            ssthresh: self.window.ssthresh.into(),
            srtt: self.rtt.srtt(),
            in_flight: u64::from(self.queue.in_flight()) * u64::from(self.window.mss),
        }
    }

    /// What it has counted.
    #[must_use]
    pub fn counters(&self) -> SendCounters {
        self.episode.counters.with_segments(self.segments)
    }

    /// The end of what the other end's window lets out (tcp_wnd_end).
    pub(super) fn wnd_end(&self) -> u64 {
        self.window.una + u64::from(self.wnd)
    }

    /// Whether everything written has been acknowledged, the end of the stream included if it was closed.
    #[must_use]
    pub fn done(&self) -> bool {
        self.window.una >= self.written + u64::from(self.closed)
    }

    /// Whether everything written has been sent at least once.
    #[must_use]
    pub fn all_sent(&self) -> bool {
        self.window.nxt >= self.written
    }

    /// Whether the stream is closed and its end acknowledged.
    #[must_use]
    pub fn finished(&self) -> bool {
        self.closed && self.done()
    }
}

/// How long a timer waits that is set by what goes out next.
pub(super) const NEVER: Span = Span(u64::MAX);
