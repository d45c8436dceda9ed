//! What a Linux host sends and when: tcp_write_xmit, tcp_xmit_retransmit_queue (net/ipv4/tcp_output.c).

use super::cc::{Event, State};
use super::near::Near;
use super::queue::Packet;
use super::sender::{Phase, Sender, Timer};
use crate::segment::{Flags, Options, Segment};
use sluicegate_base::{Span, Time};

impl Sender {
    /// Writes the next segment to send now over `segment`, if there is any. Call it after each event until there is none.
    #[inline]
    pub fn poll_into(&mut self, now: Time, segment: &mut Segment) -> bool {
        self.window.now = now;
        if !matches!(self.phase, Phase::New) && self.poll_others(segment) {
            return true;
        }
        matches!(self.phase, Phase::New) && self.poll_new(segment)
    }

    /// The next segment of new data, and the end of it if no other follows.
    #[inline(always)]
    fn poll_new(&mut self, segment: &mut Segment) -> bool {
        let sends = self.may_send_new();
        if sends {
            self.emit_new(segment);
            self.sent_now = true;
        }
        if !sends || !self.goes_on() {
            self.end_new();
            self.phase = Phase::Idle;
        }
        sends
    }

    /// Whether only the pace holds back what is there to send: it will be asked again in time, and until then nothing goes out.
    pub(super) fn waits_for_pace(&self) -> bool {
        let (left, mss) = (self.written.saturating_sub(self.window.nxt), u64::from(self.window.mss));
        self.pacing.is_waiting(self.window.now) && left >= mss && self.queue.in_flight() < self.window.cwnd
    }

    /// What goes out before new data.
    #[inline(never)]
    fn poll_others(&mut self, segment: &mut Segment) -> bool {
        loop {
            match self.phase {
                Phase::Idle | Phase::New => return false,
                Phase::Forced { repair } => {
                    self.phase = Phase::Idle;
                    if let Some(last) = (self.queue.len() as usize).checked_sub(1) {
                        self.send_again(if repair { 0 } else { last }, repair, segment);
                        if !repair {
                            self.probe_sent(true);
                        }
                        return true;
                    }
                }
                Phase::Probe => {
                    self.phase = Phase::Idle;
                    self.begins_probe();
                    if self.sendable(self.window.nxt) {
                        self.send_new(segment);
                        self.validate(false);
                        self.probe_sent(false);
                        return true;
                    }
                    self.rearm();
                }
                Phase::NewFirst => {
                    if self.may_send_new() {
                        self.send_new(segment);
                        self.sent_now = true;
                        return true;
                    }
                    let sent = self.window.nxt > self.episode.high;
                    self.end_new();
                    if sent {
                        self.phase = Phase::Idle;
                    } else {
                        self.frto = false;
                        self.phase = Phase::Lost { push: true };
                    }
                }
                Phase::Lost { push } => {
                    let sent = self.send_lost(segment);
                    // After one, pace or window mostly let nothing out.
                    if sent && !(push && self.sendable(self.window.nxt) && !self.goes_on()) {
                        return true;
                    }
                    if core::mem::take(&mut self.head_resent) {
                        self.arm(Timer::Retransmission, self.rtt.rto());
                    }
                    self.sent_now = false;
                    self.phase = if push { Phase::New } else { Phase::Idle };
                    if sent {
                        self.end_new();
                        self.phase = Phase::Idle;
                        return true;
                    }
                }
            }
        }
    }

    /// The next packet that is lost goes out again, if window and pace allow.
    fn send_lost(&mut self, segment: &mut Segment) -> bool {
        let room = self.window.cwnd.saturating_sub(self.queue.in_flight());
        if room == 0 || !self.pacing.may_send(self.window.now) {
            return false;
        }
        let Some(index) = self.queue.next_lost() else { return false };
        if !self.pacing.in_burst(self.window.now) {
            // What left in one buffer goes again in one.
            let most = room.min(self.pacing.burst(&*self.cc, &self.window));
            let first = self.queue.at(index);
            self.burst_start = first.start as u32;
            let len = first.len.into();
            self.pacing.begin(&self.window, self.queue.lost_together(index).min(most), len, self.window.now);
        }
        if index == 0 && !matches!(self.timer, Some(Timer::Reordering)) {
            self.head_resent = true;
        }
        self.send_again(index, true, segment);
        if self.in_reduction() {
            self.episode.prr.out += 1;
        }
        true
    }

    /// Whether new data may go out: window, the other end's window, pace, and the wait for a larger burst.
    #[inline(always)]
    fn may_send_new(&mut self) -> bool {
        self.stopped_by_window = false;
        if !self.sendable(self.window.nxt) {
            return false;
        }
        if !self.pacing.may_send(self.window.now) {
            return false;
        }
        if self.queue.is_empty() {
            self.restart_after_idling();
        }
        let in_flight = self.queue.in_flight();
        if in_flight >= self.window.cwnd {
            self.stopped_by_window = true;
            return false;
        }
        if self.pacing.in_burst(self.window.now) {
            return true;
        }
        let end = self.window.nxt + u64::from(self.length_at(self.window.nxt));
        if end > self.wnd_end() {
            if self.queue.is_empty() && self.timer.is_none() {
                self.arm(Timer::Window, self.rtt.rto());
            }
            return false;
        }
        self.begins_burst(in_flight)
    }

    /// Whether to ask after a segment for the next one: not if there is none, or pace or window say so.
    #[inline(always)]
    fn goes_on(&mut self) -> bool {
        let paced = self.sendable(self.window.nxt) && self.pacing.may_send(self.window.now);
        self.stopped_by_window = paced && self.queue.in_flight() >= self.window.cwnd;
        paced && !self.stopped_by_window
    }

    /// Begins a burst of new data as large as it may be, unless it waits for more (tcp_write_xmit).
    #[inline(always)]
    fn begins_burst(&mut self, in_flight: u32) -> bool {
        let (left, mss) = (self.written.saturating_sub(self.window.nxt), u64::from(self.window.mss));
        let most = self.pacing.burst(&*self.cc, &self.window);
        // Two bursts at least are under way (tcp_cwnd_test).
        let quota = (self.window.cwnd - in_flight).min(self.window.cwnd / 2).clamp(1, most);
        let offered = self.wnd_end().saturating_sub(self.window.nxt);
        let buffer = self.buffer();
        if left > mss && self.waits_for_more(in_flight, most, quota, offered, buffer.0) {
            return false;
        }
        // The other end's window may cut the last packet, if no other is under way that was not full (tcp_mss_split_point).
        let mut bytes = (u64::from(quota) * mss).min(left);
        if bytes > offered {
            bytes = if self.small_end > self.window.una { offered / mss * mss } else { offered };
        }
        self.begin_burst(bytes, buffer);
        true
    }

    /// A probe is a burst of one packet, whatever window and pace say (tcp_write_xmit with `push_one` = 2).
    fn begins_probe(&mut self) {
        let buffer = self.buffer();
        self.begin_burst(self.length_at(self.window.nxt).into(), buffer);
    }

    /// The end of the buffer with what goes out next, and whether it says PSH.
    #[inline(always)]
    fn buffer(&mut self) -> (u64, bool) {
        let next = self.window.nxt;
        self.buffers.as_mut().map_or((next, false), |buffers| buffers.end(next))
    }

    /// A burst of so many bytes of new data begins. Half a window, and the end of a write, say PSH (tcp_push), at the end of a
    /// buffer: of this one, if that says so.
    #[inline(always)]
    fn begin_burst(&mut self, bytes: u64, (buffer_end, pushed): (u64, bool)) {
        let end = self.window.nxt + bytes;
        (self.burst_start, self.burst_end) = (self.window.nxt as u32, Near::new(end));
        self.burst_pushed = end == self.written || (pushed && buffer_end <= end);
        let first = self.length_at(self.window.nxt);
        let packets = if bytes > first.into() { bytes.div_ceil(self.window.mss.into()) as u32 } else { 1 };
        self.pacing.begin(&self.window, packets, first, self.window.now);
    }

    /// Whether a burst that is small waits for the acknowledgement that makes it larger (tcp_tso_should_defer). There is
    /// always an earlier packet under way then, whose acknowledgement comes.
    #[inline(always)]
    fn waits_for_more(&mut self, in_flight: u32, most: u32, quota: u32, offered: u64, buffer_end: u64) -> bool {
        if self.window.state >= State::Recovery || self.pacing.since_last(self.window.now) > Span::from_millis(1) {
            return false;
        }
        let (left, mss) = (self.written - self.window.nxt, u64::from(self.window.mss));
        let room = u64::from(self.window.cwnd - in_flight) * mss;
        let limit = room.min(offered);
        // What is in the buffer, filled up from the next one (tcp_grow_skb); only the last gets more.
        let buffer = (buffer_end - self.window.nxt).max(u64::from(quota) * mss).min(left);
        let whole = u64::from(self.wnd).min(u64::from(self.window.cwnd) * mss);
        if limit >= u64::from(most) * mss || (buffer < left && limit >= buffer) || limit >= whole / 3 {
            return false;
        }
        let Some(head) = self.queue.front() else { return false };
        let srtt = self.rtt.srtt();
        let soon = Span(srtt.0 / 2).min(Span::from_millis(1));
        if head.sent + srtt > self.window.now + soon {
            return false;
        }
        if limit > buffer {
            return !self.closed;
        }
        self.stopped_by_window = room < offered;
        true
    }

    /// New data has gone out as far as it may (the end of tcp_write_xmit).
    #[inline(always)]
    fn end_new(&mut self) {
        let limited = self.stopped_by_window || self.queue.in_flight() >= self.window.cwnd;
        if self.sent_now || limited {
            self.validate(limited);
        }
        let due = core::mem::take(&mut self.timer_due);
        if core::mem::take(&mut self.sent_now) {
            self.schedule_probe(false);
        } else if due {
            self.set_timer();
        }
        match &mut self.buffers {
            Some(buffers) if self.window.nxt < self.written => buffers.settle(self.window.nxt, self.wnd_most),
            _ => self.buffers = None,
        }
        self.check_app_limited();
    }

    /// How far the window is used (tcp_cwnd_validate).
    #[inline(always)]
    fn validate(&mut self, limited: bool) {
        let (window, out) = (&mut self.window, self.queue.len());
        if self.usage_end.to(window.una) >= 0 || limited || (!window.cwnd_limited && out > window.max_packets_out) {
            (window.cwnd_limited, window.max_packets_out) = (limited, out);
            self.usage_end = Near::new(window.nxt);
        }
        if window.is_limited() {
            (self.cwnd_used, self.cwnd_stamp) = (0, self.window.now);
            return;
        }
        self.cwnd_used = self.cwnd_used.max(out);
        if self.window.now.since(self.cwnd_stamp) >= self.rtt.rto() && !self.cc.governs() {
            self.shrink_unused();
        }
    }

    /// The application has used less of the window for a timeout (tcp_cwnd_application_limited).
    fn shrink_unused(&mut self) {
        if self.window.state == State::Open {
            let used = self.cwnd_used.max(self.window.initial);
            if used < self.window.cwnd {
                self.window.ssthresh = self.current_ssthresh();
                self.window.cwnd = (self.window.cwnd + used) >> 1;
            }
            self.cwnd_used = 0;
        }
        self.cwnd_stamp = self.window.now;
    }

    /// The application has nothing more to send though the window has room: samples say so (tcp_rate_check_app_limited).
    #[inline(always)]
    fn check_app_limited(&mut self) {
        let idle = self.rate.is_some() && self.written.saturating_sub(self.window.nxt) < u64::from(self.window.mss);
        let in_flight = self.queue.in_flight();
        if idle && in_flight < self.window.cwnd && self.queue.lost_out <= self.queue.resent_out {
            self.window.app_limited = (self.window.delivered + u64::from(in_flight)).max(1);
        }
    }

    /// Whether there is anything to send at this byte: data, or the end of the stream.
    pub(super) fn sendable(&self, at: u64) -> bool {
        at < self.written || (self.closed && at == self.written)
    }

    /// A full segment, or what is left of the stream.
    fn length_at(&self, at: u64) -> u32 {
        u64::from(self.window.mss).min(self.written.saturating_sub(at)) as u32
    }

    /// The next new segment, which there must be, goes out.
    #[inline(never)]
    fn send_new(&mut self, segment: &mut Segment) {
        self.emit_new(segment);
    }

    #[inline(always)]
    fn emit_new(&mut self, segment: &mut Segment) {
        // It is one of a burst, whose end may cut it.
        let start = self.window.nxt;
        let mut most = u64::from(self.window.mss).min(self.written - start);
        let left = -self.burst_end.to(start);
        if left > 0 {
            most = most.min(left as u64);
        }
        let (len, stop) = (most as u32, start + most);
        if len > 0 && len < self.window.mss {
            self.small_end = stop;
        }
        let fin = self.closed && stop == self.written;
        let end = stop + u64::from(fin);
        let nothing_out = self.queue.is_empty();
        let push = len > 0 && self.burst_pushed && self.burst_end == Near::new(stop);
        let record = self.record(len, self.queue.len() as usize, nothing_out);
        let tags = if push { Packet::PUSH } else { 0 };
        let packet = Packet { start, len: (end - start) as u16, tags, ..record };
        self.queue.push(packet);
        self.window.nxt = end;
        if self.in_reduction() {
            self.episode.prr.out += 1;
        }
        // After new data a probe is scheduled anew, where one may be (end_new).
        let probes = matches!(self.phase, Phase::New) && self.may_probe();
        if !probes && (nothing_out || matches!(self.timer, Some(Timer::Probe))) {
            self.rearm();
        }
        let mut flags = Flags::default().with_if(fin, Flags::FIN);
        flags = self.feedback.label(flags, len > 0);
        segment.set(start, len, flags);
        // So does a burst of several, once, so that what merges packets on the way ends with it (__tcp_transmit_skb).
        self.fill(segment, push || (len > 0 && self.pacing.ends_burst()));
    }

    /// A packet goes out again.
    fn send_again(&mut self, index: usize, repair: bool, segment: &mut Segment) {
        let old = *self.queue.at(index);
        let fin = self.closed && old.end() == self.written + 1;
        let len = u32::from(old.len) - u32::from(fin);
        let packet = self.record(len, index, false);
        self.queue.send_again(index, packet, repair);
        if repair {
            self.episode.undo.on_resent(self.rtt.clock.stamp(self.window.now));
        }
        self.episode.counters.retransmissions += 1;
        let flags = self.feedback.label(Flags::default().with_if(fin, Flags::FIN), false);
        segment.set(old.start, len, flags);
        self.fill(segment, old.has(Packet::PUSH) || self.pacing.ends_burst());
    }

    /// A packet of so many bytes goes out now, at this place of the queue.
    #[inline(always)]
    fn record(&mut self, len: u32, index: usize, nothing_out: bool) -> Packet {
        let in_flight = self.queue.in_flight();
        if in_flight == 0 {
            self.refresh();
            let pause = self.window.now.since(self.last_sent);
            self.cc.on_event(&mut self.window, Event::Restart(pause));
        }
        self.last_sent = self.window.now;
        self.segments += 1;
        self.pacing.on_sent(&self.window, len, self.window.now);
        if let Some(rate) = &mut self.rate {
            rate.on_sent(index, &mut self.window, in_flight, nothing_out);
        }
        Packet { burst: self.burst_start, sent: self.window.now, ..Packet::default() }
    }

    /// What every segment of the sender says.
    fn fill(&self, segment: &mut Segment, push: bool) {
        segment.options.kinds = Options::STAMPED | if push { Options::PUSH } else { 0 };
        segment.options.stamp = self.rtt.clock.stamp(self.window.now);
    }

    /// The window of the other end has opened, or answers.
    pub(super) fn probe_of_window_answered(&mut self) {
        if matches!(self.timer, Some(Timer::Window)) {
            self.timer = None;
        }
    }

    /// The other end's window is still closed: a packet beyond it asks (tcp_send_probe0).
    pub(super) fn on_window_probe(&mut self) {
        self.timer = None;
        if self.queue.is_empty() && self.sendable(self.window.nxt) {
            self.phase = Phase::Probe;
        }
    }
}
