//! The sending half of a Linux host: its state, and what its application and its clock do to it.

use super::buffers::Buffers;
use super::cc::{Controller, Event, INFINITE, State, Window};
use super::ecn::Feedback;
use super::pacing::Pacing;
use super::prr::Prr;
use super::queue::Queue;
use super::rack::Rack;
use super::rate::Rate;
use super::rtt::Rtt;
use super::undo::Undo;
use crate::connection::{Congestion, SendCounters};
use crate::host::{Host, RtoConfig};
use alloc::boxed::Box;
use core::fmt;
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
    /// This packet, whatever the window: a timeout's or a probe's.
    Forced { start: u64, repair: bool },
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
    pub(super) prr: Prr,
    pub(super) undo: Undo,
    /// If the controller governs or asks for samples.
    pub(super) rate: Option<Box<Rate>>,
    pub(super) pacing: Pacing,
    pub(super) feedback: Feedback,
    /// Whether plain acknowledgements take the fast path.
    pub(super) predicts: bool,
    pub(super) written: u64,
    pub(super) closed: bool,
    /// The bytes that the other end's window holds beyond `una` (snd_wnd).
    pub(super) wnd: u64,
    /// The most that it ever held (max_window).
    pub(super) wnd_most: u64,
    /// How what the application wrote last lies in buffers.
    pub(super) buffers: Buffers,
    /// Where the burst begins that was begun last, where it ends if it is of new data, and whether that says PSH; the end of
    /// the last packet sent that was not full (snd_sml).
    pub(super) burst_start: u64,
    pub(super) burst_end: u64,
    pub(super) burst_pushed: bool,
    pub(super) small_end: u64,
    /// What must be acknowledged for a recovery or a reduction to be over (high_seq).
    pub(super) high: u64,
    /// Until when a tail loss probe is under way, and whether it was sent before (tlp_high_seq, tlp_retrans).
    pub(super) probe: Option<u64>,
    pub(super) probe_resent: bool,
    /// Whether a timeout may have been spurious (frto).
    pub(super) frto: bool,
    /// How often the retransmission timer has expired since something was acknowledged (icsk_retransmits).
    pub(super) retransmits: u32,
    /// What the timer waits for, when it was set, and for how long.
    pub(super) timer: Option<Timer>,
    timer_set: Time,
    pub(super) timer_span: Span,
    pub(super) phase: Phase,
    /// Whether the head of the queue was sent again in this phase.
    pub(super) head_resent: bool,
    /// Packets of new data sent in this phase, and whether the window ended it.
    pub(super) sent_now: u32,
    pub(super) stopped_by_window: bool,
    pub(super) last_sent: Time,
    /// When the window was last full or changed, and the most of it used since (snd_cwnd_stamp, snd_cwnd_used).
    pub(super) cwnd_stamp: Time,
    pub(super) cwnd_used: u32,
    /// The byte that ends the window of data whose use of the window is known (cwnd_usage_seq).
    pub(super) usage_end: u64,
    /// The timestamp that the other end echoes, in this acknowledgement; zero: none.
    pub(super) echo: u32,
    pub(super) counters: SendCounters,
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
    pub wnd: u64,
}

/// What a sender is made from when its application first writes: many an end never does.
pub(super) struct SenderConfig {
    cc: Box<dyn Controller>,
    pub feedback: Feedback,
    rto: RtoConfig,
    phase: Span,
    mss: u32,
    initial: u32,
    ssthresh: u32,
    most: u32,
    window: u64,
    gso: bool,
    pub predicts: bool,
    pub opened: Option<Opened>,
}

impl SenderConfig {
    /// That of a host; `phase` shifts the sender's clock within a tick.
    pub fn new(host: &Host, phase: Span) -> SenderConfig {
        let most = (host.window / u64::from(host.mss)).min(u64::from(INFINITE)) as u32;
        let cc = host.linux_controller(phase);
        let feedback = Feedback::of_sender(host, &*cc);
        SenderConfig {
            predicts: feedback.is_flagged() && !cc.governs() && !cc.wants_rate_samples(),
            feedback,
            cc,
            rto: *host.rto,
            phase,
            mss: host.mss,
            initial: (host.initial_window as u32).max(1),
            // The default is no threshold at all.
            ssthresh: if host.initial_ssthresh < f64::from(most) { host.initial_ssthresh as u32 } else { INFINITE },
            most,
            window: host.window,
            gso: host.gso,
            opened: None,
        }
    }

    /// The other end's window, and the timeout, as the opening left them.
    pub fn window_and_timeout(&self) -> (u64, Span) {
        let mut rtt = Rtt::new(self.rto, self.phase);
        if let Some(measured) = self.opened.and_then(|opened| opened.rtt) {
            rtt.sample(measured, 0, 0);
        }
        (self.opened.map_or(self.window, |opened| opened.wnd), rtt.rto())
    }

    /// What its sender begins with.
    pub fn congestion(&self) -> Congestion {
        let closed = self.opened.is_some_and(|opened| opened.tries > MOST_TRIES);
        Congestion {
            cwnd: if closed { 1.0 } else { self.initial.into() },
            ssthresh: self.ssthresh.into(),
            srtt: self.opened.and_then(|opened| opened.rtt).map_or(Span::ZERO, super::rtt::whole_us),
            in_flight: 0,
        }
    }
}

impl fmt::Debug for SenderConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SenderConfig").field("opened", &self.opened).finish_non_exhaustive()
    }
}

/// How often a SYN or its answer may have gone out for the window to stay (RFC 6928, Sec. 2).
const MOST_TRIES: u32 = 2;

impl From<SenderConfig> for Sender {
    /// A sender with nothing written.
    fn from(config: SenderConfig) -> Sender {
        let SenderConfig { cc, feedback, rto, phase, mss, initial, ssthresh, most, window, gso, predicts, opened } =
            config;
        let (paces, samples) = (cc.paces(), cc.governs() || cc.wants_rate_samples());
        let mut sender = Sender {
            predicts,
            feedback,
            rate: samples.then(|| Box::new(Rate::new(cc.wants_rate_samples()))),
            cc,
            // The congestion window has no bound of its own (tcp_clamp_window); the receiver's is looked at in packets.
            window: Window { paced: paces, ..Window::new(initial, ssthresh, INFINITE.max(most), mss) },
            queue: Queue::new(mss),
            rtt: Rtt::new(rto, phase),
            pacing: Pacing::new(paces, gso),
            wnd: window,
            wnd_most: window,
            buffers: Buffers::new(gso),
            rack: Rack::default(),
            prr: Prr::default(),
            undo: Undo::default(),
            written: 0,
            closed: false,
            burst_start: 0,
            burst_end: 0,
            burst_pushed: false,
            small_end: 0,
            high: 0,
            probe: None,
            probe_resent: false,
            frto: false,
            retransmits: 0,
            timer: None,
            timer_set: Time::ZERO,
            timer_span: Span::ZERO,
            phase: Phase::Idle,
            head_resent: false,
            sent_now: 0,
            stopped_by_window: false,
            last_sent: Time::ZERO,
            cwnd_stamp: Time::ZERO,
            cwnd_used: 0,
            usage_end: 0,
            echo: 0,
            counters: SendCounters::default(),
        };
        if let Some(opened) = opened {
            sender.opened(opened);
        }
        sender
    }
}

impl Sender {
    /// The application writes `bytes` more; `u64::MAX` writes without end.
    pub fn write(&mut self, bytes: u64) {
        if !self.closed {
            if self.window.nxt < self.written {
                self.buffers.written_behind(self.written);
            } else {
                self.buffers.written(self.written, self.wnd_most, self.window.mss);
            }
            self.written = self.written.saturating_add(bytes).min(u64::MAX / 4);
        }
        self.push();
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
        self.buffers.written(0, wnd, self.window.mss);
        if let Some(rtt) = rtt {
            self.measured(rtt, rtt);
        }
        self.rtt.backoff = 0;
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
            (self.sent_now, self.head_resent) = (0, false);
        }
    }

    /// The retransmission timer has expired (tcp_retransmit_timer).
    fn on_timeout(&mut self) {
        self.timer = None;
        let Some(head) = self.queue.front().copied() else { return };
        self.counters.timeouts += 1;
        self.enter_loss();
        self.retransmits += 1;
        self.rtt.back_off();
        self.phase = Phase::Forced { start: head.start, repair: true };
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
    #[inline]
    pub fn deadline_before(&self, time: Time) -> Option<Time> {
        // No timer expires early.
        let far = self.timer.is_none() || self.timer_set + self.timer_span >= time;
        let expiry = if far { Time::NEVER } else { self.expiry() };
        Some(expiry.min(self.pacing.release)).filter(|at| *at < time)
    }

    /// When the one timer expires.
    fn expiry(&self) -> Time {
        if self.timer.is_none() || self.timer_span == NEVER {
            return Time::NEVER;
        }
        self.rtt.clock.timer(self.timer_set, self.timer_span)
    }

    /// Whether [`poll_into`](Sender::poll_into) may give a segment.
    #[must_use]
    pub fn may_send(&self) -> bool {
        self.phase != Phase::Idle
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

    /// The smoothed round trip; zero before the first measurement.
    #[must_use]
    pub fn srtt(&self) -> Span {
        self.rtt.srtt()
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
        self.counters
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

/// Duplicates that show a loss, and the reordering expected at first (net.ipv4.tcp_reordering).
pub(super) const DUP_THRESH: u32 = 3;

/// How long a timer waits that is set by what goes out next.
pub(super) const NEVER: Span = Span(u64::MAX);
