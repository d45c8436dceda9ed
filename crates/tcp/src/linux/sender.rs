//! The sending half of a Linux host: its state, what its application and its clock do to it, and what an acknowledgement
//! does (net/ipv4/tcp_input.c, `tcp_ack`).

use super::buffers::Buffers;
use super::cc::{Controller, Event, INFINITE, Sample, State, Window};
use super::ecn::Feedback;
use super::pacing::Pacing;
use super::prr::Prr;
use super::queue::{Packet, Queue, sent_after};
use super::rack::Rack;
use super::rate::Rate;
use super::rtt::Rtt;
use super::undo::Undo;
use crate::connection::{Congestion, SendCounters};
use crate::host::Host;
use crate::segment::{Options, Segment};
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

/// What an acknowledgement is and does (FLAG_… in tcp_input.c).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    pub data: bool,
    pub window: bool,
    pub acked: bool,
    pub resent_acked: bool,
    pub sacked: bool,
    pub ece: bool,
    pub advanced: bool,
    pub duplicate: bool,
    pub duplicate_of_probe: bool,
    pub original_acked: bool,
    pub set_timer: bool,
    pub lost_repair: bool,
    pub maybe_delayed: bool,
    pub duplicates: u32,
    /// The byte from which the lowest packet begins that came after later ones.
    pub reordered: Option<u64>,
    /// When the first and the last packet were sent that SACK reports for the first time.
    pub first_sack: Option<Time>,
    pub last_sack: Option<Time>,
    /// Of the packets that have come, the one sent last: when, and its end; and how many the connection had delivered then.
    pub newest: (Time, u64),
    pub prior_delivered: Option<u64>,
}

impl Seen {
    /// FLAG_NOT_DUP.
    pub fn not_duplicate(&self) -> bool {
        self.data || self.window || self.acked
    }
}

/// What is to be sent after an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rexmit {
    None,
    Lost,
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
    /// If the controller asks for samples.
    pub(super) rate: Option<Box<Rate>>,
    pub(super) pacing: Pacing,
    pub(super) feedback: Feedback,
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

impl Sender {
    /// A sender with nothing written. `phase` shifts its clock within a tick.
    #[must_use]
    pub fn new(host: &Host, phase: Span) -> Sender {
        let most = (host.window / u64::from(host.mss)).min(u64::from(INFINITE)) as u32;
        let initial = (host.initial_window as u32).max(1);
        // The default is no threshold at all.
        let ssthresh = if host.initial_ssthresh < f64::from(most) { host.initial_ssthresh as u32 } else { INFINITE };
        let cc = host.linux_controller(phase);
        let paces = cc.paces();
        Sender {
            feedback: Feedback::of_sender(host, &*cc),
            rate: cc.wants_rate_samples().then(Box::default),
            cc,
            // The congestion window has no bound of its own (tcp_clamp_window); the receiver's is looked at in packets.
            window: Window { paced: paces, ..Window::new(initial, ssthresh, INFINITE.max(most), host.mss) },
            queue: Queue::new(host.mss),
            rtt: Rtt::new(host.rto, phase),
            rack: Rack::default(),
            prr: Prr::default(),
            undo: Undo::default(),
            pacing: Pacing::new(paces, host.gso),
            written: 0,
            closed: false,
            wnd: host.window,
            wnd_most: host.window,
            buffers: Buffers::new(host.gso),
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
        }
    }

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
    fn push(&mut self) {
        if self.phase == Phase::Idle {
            self.phase = Phase::New;
        }
    }

    /// The other end has answered the opening: it took this long, if that is known, was sent so often, and its window holds
    /// so many bytes (tcp_rcv_synsent_state_process, tcp_init_transfer).
    pub fn opened(&mut self, rtt: Option<Span>, tries: u32, wnd: u64, now: Time) {
        self.window.now = now;
        (self.wnd, self.wnd_most) = (wnd, wnd);
        self.buffers.written(0, wnd, self.window.mss);
        if let Some(rtt) = rtt {
            self.measured(rtt, rtt);
        }
        self.rtt.backoff = 0;
        // RFC 6928, Sec. 2: the window stays after one repetition of the SYN or SYN-ACK; more close it.
        if tries > 2 {
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

    /// A round trip by sequence numbers or timestamps, and that of the packet sent last of those acknowledged.
    fn measured(&mut self, rtt: Span, latest: Span) {
        self.rtt.note_least(latest, self.window.now);
        self.rtt.sample(rtt, self.window.una, self.window.nxt);
        self.rtt.show(&mut self.window);
    }

    /// A packet has come for the first time, of those that an acknowledgement covers or reports.
    #[inline]
    pub(super) fn deliver(&mut self, index: usize, packet: &Packet, seen: &mut Seen) {
        let sent = (packet.sent, packet.end);
        if packet.sampled || (seen.prior_delivered.is_some() && !sent_after(sent, seen.newest)) {
            return;
        }
        let since = (self.window.delivered as u32).wrapping_sub(packet.delivered);
        let prior = self.window.delivered - u64::from(since);
        (seen.newest, seen.prior_delivered) = (sent, Some(prior));
        if let Some(rate) = &mut self.rate {
            rate.on_delivered(index, packet, prior);
        }
    }

    /// A segment with an acknowledgement arrives (tcp_ack, and tcp_data_snd_check after it).
    pub fn on_ack(&mut self, segment: &Segment, now: Time) {
        self.window.now = now;
        let (ack, prior_una) = (segment.ack, self.window.una);
        if ack > self.window.nxt {
            return;
        }
        self.echo = if segment.options.has(Options::STAMPED) { segment.options.echo } else { 0 };
        let mut seen = Seen { data: segment.occupies(), ..Seen::default() };
        if let Some(rate) = &mut self.rate {
            rate.begin(self.queue.in_flight());
        }
        let (delivered, lost) = (self.window.delivered, self.window.lost);
        let reports = !segment.sacks.is_empty() || segment.options.has(Options::DUPLICATE);
        if ack < prior_una {
            if reports {
                self.on_old_ack(segment, &mut seen, prior_una);
            }
            return self.push();
        }
        if ack > prior_una {
            seen.advanced = true;
            self.retransmits = 0;
        }
        let prior_highest = self.queue.highest(prior_una);
        let prior_packets = self.queue.len();
        self.update_window(segment, &mut seen);
        self.window.una = ack;
        seen.ece = self.feedback.on_ack(segment, self.window.mss);
        if reports {
            self.on_sacks(segment, prior_una, &mut seen);
        }
        if prior_packets == 0 {
            if seen.duplicate {
                self.alert(prior_una, &mut seen);
            }
            if self.probe.is_some() {
                self.on_probe_acked(ack, &seen);
            }
            return self.push();
        }
        self.clean_queue(prior_highest, prior_una, &mut seen);
        let newly = (self.window.delivered - delivered) as u32;
        let marked = self.feedback.count(newly);
        self.window.delivered_ce += u64::from(marked);
        self.cc.on_ack(&mut self.window, seen.ece);
        if let Some(prior) = seen.prior_delivered {
            self.rack.update_window(prior, self.window.delivered);
        }
        if self.probe.is_some() {
            self.on_probe_acked(ack, &seen);
        }
        let mut rexmit = Rexmit::None;
        let dubious =
            !seen.not_duplicate() || seen.sacked || seen.ece || seen.duplicate || self.window.state != State::Open;
        if dubious {
            seen.duplicates = u32::from(!seen.advanced && !seen.not_duplicate() && !seen.duplicate);
            rexmit = self.alert(prior_una, &mut seen);
        }
        if seen.set_timer {
            self.set_timer();
        }
        self.refresh();
        let newly_lost = (self.window.lost - lost) as u32;
        if let Some(rate) = &mut self.rate {
            rate.sample.newly_ce = marked;
            rate.sample.is_ack_delayed = seen.maybe_delayed;
            rate.sample.is_ece = seen.ece;
            rate.finish(&mut self.window, newly, newly_lost);
        }
        self.control(newly, newly_lost, &seen);
        self.phase = match rexmit {
            Rexmit::None => Phase::New,
            Rexmit::Lost => Phase::Lost { push: true },
            Rexmit::New => Phase::NewFirst,
        };
        (self.sent_now, self.head_resent) = (0, false);
    }

    /// One that acknowledges less than another did may report more (old_ack).
    fn on_old_ack(&mut self, segment: &Segment, seen: &mut Seen, prior_una: u64) {
        self.on_sacks(segment, prior_una, seen);
        if self.alert(prior_una, seen) != Rexmit::None {
            self.phase = Phase::Lost { push: true };
        }
    }

    /// The other end's window (tcp_ack_update_window).
    fn update_window(&mut self, segment: &Segment, seen: &mut Seen) {
        if !segment.options.has(Options::STAMPED) {
            return;
        }
        let wnd = u64::from(segment.options.window);
        if segment.ack > self.window.una || wnd > self.wnd {
            seen.window = true;
            self.wnd = wnd;
            self.wnd_most = self.wnd_most.max(wnd);
        }
    }

    /// Takes off the queue what is acknowledged (tcp_clean_rtx_queue).
    fn clean_queue(&mut self, prior_highest: u64, prior_una: u64, seen: &mut Seen) {
        let (mut first, mut last, mut reordered) = (None, None, u64::MAX);
        let mut acked = 0;
        let prior_sacked = self.queue.sacked_out;
        while let Some(packet) = self.queue.pop(self.window.una) {
            if packet.ever_resent {
                seen.resent_acked = true;
            } else if !packet.sacked {
                first = first.or(Some(packet.sent));
                last = Some(packet.sent);
                reordered = reordered.min(packet.start);
                seen.original_acked |= packet.end <= self.high;
            }
            if !packet.sacked {
                self.window.delivered += 1;
                if !self.spurious(&packet) {
                    self.rack.advance(&packet, self.window.now, self.rtt.least());
                }
            }
            self.deliver(0, &packet, seen);
            if let Some(rate) = &mut self.rate {
                rate.pop();
            }
            seen.acked = true;
            acked += 1;
        }
        let partial = self.queue.front().is_some_and(|packet| packet.start < self.window.una);
        if partial {
            self.queue.trim(self.window.una);
            seen.acked = true;
        }
        if self.window.una > prior_una {
            self.probe_of_window_answered();
        }
        let since = |sent: Time| self.window.now.since(sent);
        let (mut by_sequence, mut latest) = (None, None);
        if let (Some(first), Some(last), false) = (first, last, seen.resent_acked) {
            (by_sequence, latest) = (Some(since(first)), Some(since(last)));
            let little = self.window.una - prior_una < u64::from(self.window.mss);
            seen.maybe_delayed = acked == 1 && !partial && prior_sacked == 0 && little
                || acked == 1 && first == last && prior_sacked == 0;
        }
        let by_sack = seen.first_sack.map(since);
        if let Some(last) = seen.last_sack {
            latest = Some(since(last));
        }
        let (measured, latest) = self.update_rtt(by_sequence.or(by_sack), latest, seen);
        if seen.acked {
            seen.set_timer = true;
            if reordered < prior_highest {
                self.note_reordering(reordered);
            }
        } else if let (true, Some(by_sack), Some(head)) = (measured, by_sack, self.queue.front()) {
            // What was sent since the head went out has come: only then may the timer move.
            seen.set_timer |= by_sack > self.window.now.since(head.sent);
        }
        self.refresh();
        self.cc.on_acked(&mut self.window, acked, latest);
    }

    /// A round trip for the estimate: by the packets, by SACK, or by the echoed timestamp (tcp_ack_update_rtt).
    /// Whether there is one, and that of the packet sent last.
    fn update_rtt(
        &mut self,
        mut measured: Option<Span>,
        mut latest: Option<Span>,
        seen: &Seen,
    ) -> (bool, Option<Span>) {
        if measured.is_none() && self.echo != 0 && seen.acked {
            let ms = self.rtt.clock.stamp(self.window.now).wrapping_sub(self.echo).max(1);
            measured = Some(Span::from_millis(ms.into())).filter(|_| ms < 1 << 24);
            latest = measured;
        }
        if let Some(rate) = &mut self.rate {
            rate.sample.rtt = latest;
        }
        if let Some(rtt) = measured {
            self.measured(rtt, latest.unwrap_or(rtt));
        }
        (measured.is_some(), latest)
    }

    /// The window grows, or falls as PRR says, or is the controller's own (tcp_cong_control).
    fn control(&mut self, delivered: u32, lost: u32, seen: &Seen) {
        if self.cc.governs() {
            let sample = self.rate.as_ref().map_or_else(Sample::default, |rate| rate.sample);
            return self.cc.govern(&mut self.window, &sample);
        }
        let may_grow = seen.acked || (self.rack.reordering > DUP_THRESH && seen.sacked);
        if self.in_reduction() {
            self.reduce(delivered, lost, seen.advanced);
        } else if may_grow {
            self.cc.grow(&mut self.window, delivered);
            self.cwnd_stamp = self.window.now;
        }
        self.pacing.update(&mut self.window);
    }

    /// Whether the window falls to the threshold now (tcp_in_cwnd_reduction).
    pub(super) fn in_reduction(&self) -> bool {
        matches!(self.window.state, State::Cwr | State::Recovery)
    }

    /// The time that [`deadline`](Sender::deadline) named has come.
    pub fn on_timer(&mut self, now: Time) {
        self.window.now = now;
        if self.pacing.release(now) {
            self.resume();
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
    fn set_timer(&mut self) {
        if !self.schedule_probe(true) {
            self.rearm();
        }
    }

    /// When it next wants [`on_timer`](Sender::on_timer).
    #[must_use]
    pub fn deadline(&self) -> Time {
        self.expiry().min(self.pacing.release)
    }

    /// The same if it is before `time`; most are far away.
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
        self.rtt.expiry(self.timer_set, self.timer_span)
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

    /// The other end's window as its opening says.
    pub fn set_window(&mut self, wnd: u64) {
        self.wnd = wnd;
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

    /// Whether the application has anything for the other end.
    #[must_use]
    pub fn wants(&self) -> bool {
        self.written > 0 || self.closed
    }
}

/// Duplicates that show a loss, and the reordering expected at first (net.ipv4.tcp_reordering).
pub(super) const DUP_THRESH: u32 = 3;

/// How long a timer waits that is set by what goes out next.
pub(super) const NEVER: Span = Span(u64::MAX);
