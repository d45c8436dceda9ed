//! # When a Linux host acknowledges
//!
//! The first packets of a connection are acknowledged one by one, then every second; the rest waits up to 40 ms, or for an
//! answer (net/ipv4/tcp_input.c: `__tcp_ack_snd_check`, `tcp_event_data_recv`; tcp_output.c: `tcp_send_delayed_ack`).
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | RFC 5681, Sec. 4.2: an acknowledgement for every second full segment | one by one for the first packets of a connection, after a long pause, and after what came twice, up to 16 | Linux's quick acknowledgements |
//! | Sec. 4.2: at most 500 ms of wait | 40 ms, and up to 200 ms where packets come slowly | Linux's ATO |
//! | Sec. 4.2: every one out of order at once | the first three; later ones wait for 1/20 of a round trip, at most 1 ms | Linux, tcp_comp_sack_delay_ns, tcp_comp_sack_nr |
//! | RFC 2883 | what came twice is reported with the acknowledgement that it brings | the same |
//! | RFC 7323, Sec. 5.3: a segment with a timestamp before the one to echo is dropped and answered | before it by more than 1 ms, unless it repeats the last acknowledgement within 1.2 timeouts; one without data is not answered | Linux, `tcp_paws_discard`, `tcp_disordered_ack`; Linux answers those once in 500 ms |
//! | Linux, tcp_measure_rcv_mss: two segments of the same smaller length set the length of full ones (last_seg_size) | they do not | a stream here has full segments, and a rest at the end of a write |
//! | Linux: each packet that waited out of order counts with its own memory | when data joins it, as full segments, rounded up | all are, but the last of a write |
//! | an application reads | at once, as soon as data is in order; what ends a write is acknowledged then, but by the answer where answers carry acknowledgements | Linux, tcp_cleanup_rbuf; hosts here do |

use super::clock::Clock;
use super::ecn::Echo;
use super::gaps::Gaps;
use super::window::ReceiveWindow;
use crate::host::Host;
use crate::segment::{Flags, Options, SACK_BLOCKS, Segment};
use alloc::boxed::Box;
use sluicegate_base::{Span, Time};

/// The most quick acknowledgements (TCP_MAX_QUICKACKS).
const MAX_QUICK: u32 = 16;
/// What the wait is at most (TCP_DELACK_MAX).
const DELAY_MAX: Span = Span::from_millis(200);

/// The receiving half.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    /// The next byte that it expects, and what has come beyond it.
    next: u64,
    gaps: Option<Box<Gaps>>,
    /// Where the stream ends, once that is known.
    fin: u64,
    window: ReceiveWindow,
    echo: Echo,
    /// What is expected next as the last acknowledgement said (rcv_wup).
    acked: u64,
    /// Acknowledgements still to go without a wait; how long one waits, zero before the first data, and how long at the least
    /// (icsk_ack), in ticks.
    quick: u32,
    ato: u64,
    delay: u64,
    pub clock: Clock,
    /// The length of full segments as seen, and when data last came.
    mss: u32,
    last_data: u64,
    /// How many ends of writes wait, up to two (ICSK_ACK_PUSHED2).
    pushed: u8,
    /// Whether answers carry acknowledgements: one went out soon after data came (tcp_event_data_sent; pingpong mode).
    interactive: bool,
    /// When a delayed acknowledgement must go.
    deadline: Time,
    /// Acknowledgements to send now: one for what came before a change of marks, with its echo, and one for all.
    before: Option<Box<(u64, bool)>>,
    owed: bool,
    /// Whether the last acknowledgement said all there is to say.
    told: bool,
    #[cfg(test)]
    forgets: bool,
    /// Where the first packet ends that the application reads after the acknowledgement; zero: it has read all.
    reading: u64,
    /// What came twice, to be reported once.
    duplicate: Option<Box<(u64, u64)>>,
    /// The timestamp to echo, and the last one echoed to us.
    recent_stamp: u32,
    last_echo: u32,
    srtt: Span,
}

impl Receiver {
    /// A receiver that has nothing yet.
    pub fn new(host: &Host, phase: Span) -> Receiver {
        let (clock, options) = (Clock::new(host.rto.tick, phase), host.algorithm.data_options());
        Receiver {
            next: 0,
            gaps: None,
            fin: u64::MAX,
            // What the other end sends is as long with options as without (tcp_select_initial_window).
            window: ReceiveWindow::new(host.mss + options, host.header + options, host.window),
            echo: Echo::new(host),
            acked: 0,
            quick: 0,
            ato: 0,
            delay: clock.whole(host.delayed_ack),
            clock,
            mss: 536.min(host.mss),
            last_data: 0,
            pushed: 0,
            interactive: false,
            deadline: Time::NEVER,
            before: None,
            owed: false,
            told: false,
            #[cfg(test)]
            forgets: false,
            reading: 0,
            duplicate: None,
            recent_stamp: 0,
            last_echo: 0,
            srtt: Span::ZERO,
        }
    }

    /// Bytes of the stream received in order.
    pub fn received(&self) -> u64 {
        self.next - u64::from(self.finished())
    }

    /// Whether the whole stream and its end have come.
    pub fn finished(&self) -> bool {
        self.next >= self.fin
    }

    /// The window to announce in the opening.
    pub fn first_window(&self) -> u32 {
        self.window.first()
    }

    /// The connection is open.
    pub fn begin(&mut self, now: Time) {
        self.window.begin(now);
        self.told = false;
        self.last_data = self.clock.ticks(now);
    }

    /// The round trip as the sending half knows it.
    pub fn set_srtt(&mut self, srtt: Span) {
        self.srtt = srtt;
    }

    /// How far the timestamp of a segment lies before the one to echo, in milliseconds.
    #[inline]
    pub fn age(&self, segment: &Segment) -> u32 {
        let age = self.recent_stamp.wrapping_sub(segment.options.stamp);
        if segment.options.has(Options::STAMPED) && age <= i32::MAX as u32 { age } else { 0 }
    }

    /// Data is dropped for the age of its timestamp: an acknowledgement says what is known (tcp_send_dupack).
    pub fn drop_old(&mut self, segment: &Segment) {
        if segment.seq < self.next {
            self.repeated((segment.seq, segment.end().min(self.next)));
            self.enter_quick(MAX_QUICK);
        }
        self.answer_old();
    }

    /// What comes too late is answered; if no acknowledgement was due that is none of the quick ones (tcp_send_dupack).
    fn answer_old(&mut self) {
        self.quick += u32::from(self.quick > 0 && !self.due());
        self.send_now();
    }

    /// Whether an acknowledgement is due, now or later (inet_csk_ack_scheduled).
    fn due(&self) -> bool {
        self.owed || self.deadline != Time::NEVER || self.compressed() > 0
    }

    /// A segment comes, with data or without: its timestamp is the one to echo unless something before it is missing, or the
    /// timestamp is older (RFC 7323, Sec. 4.3).
    #[inline]
    pub fn on_stamp(&mut self, segment: &Segment, age: u32) {
        if segment.seq <= self.acked && age == 0 && segment.options.has(Options::STAMPED) {
            self.recent_stamp = segment.options.stamp;
        }
    }

    /// A segment comes on an open connection: what it echoes measures a round trip (tcp_rcv_rtt_measure_ts).
    #[inline]
    pub fn on_echo(&mut self, segment: &Segment, now: Time) {
        let echo = segment.options.echo;
        if !segment.options.has(Options::STAMPED) || echo == self.last_echo {
            return;
        }
        self.last_echo = echo;
        if segment.len >= self.mss && echo != 0 {
            let ms = self.clock.stamp(now).wrapping_sub(echo);
            if ms > 0 {
                self.window.note_rtt(Span::from_millis(ms.min(60_000).into()));
            }
        }
    }

    /// A segment with data, or with the end of the stream, arrives; `ce`: its packet was marked.
    #[inline(always)]
    pub fn on_data(&mut self, segment: &Segment, ce: bool, now: Time) {
        let prior = self.next;
        self.told = false;
        if segment.flags.has(Flags::FIN) && self.fin == u64::MAX && segment.end() >= self.next {
            self.fin = segment.end();
        }
        let (start, end) = (segment.seq, segment.end().min(self.fin));
        if end <= self.next {
            // All of it came before.
            self.repeated((start, end));
            self.enter_quick(MAX_QUICK);
            return if end < self.acked { self.answer_old() } else { self.send_now() };
        }
        let in_order = start <= self.next;
        if start < self.next {
            self.repeated((start, self.next));
            self.enter_quick(MAX_QUICK);
        }
        let gaps = self.gaps.is_some();
        let known = self.gaps.as_ref().filter(|_| !in_order).and_then(|gaps| gaps.data.known(start, end));
        if let Some(known) = known {
            self.repeated(known);
        }
        if in_order && !gaps {
            self.next = end;
        } else {
            self.insert(start, end);
        }
        let urgency = self.echo_of(segment, ce, prior);
        if in_order {
            self.window.unread = self.window.memory_of(segment.len);
            self.on_arrival(segment, now);
            if gaps {
                self.join(end);
            }
        } else {
            self.measure(segment);
            if known != Some((start, end)) {
                self.grow(segment.len);
                self.window.held += self.window.memory(segment.len);
            }
            self.window.hold(self.beyond().unwrap_or(0));
        }
        // After the end of the stream an answer is likely to carry the acknowledgement (tcp_fin).
        self.interactive |= self.finished();
        let filled = gaps && self.gaps.is_none();
        self.check(urgency || filled, now);
        match in_order {
            // An acknowledgement that goes at once goes before the application reads.
            true if self.owed => self.reading = end,
            true => self.read(end, now),
            false => {}
        }
    }

    /// Data comes out of order, or joins what did.
    fn insert(&mut self, start: u64, end: u64) {
        let next = self.next;
        let gaps = self.gaps.get_or_insert_with(|| Box::new(Gaps::new(next)));
        gaps.data.insert(start, end);
        self.next = gaps.data.next();
        if !gaps.data.has_gaps() {
            self.gaps = None;
        }
    }

    /// How far what has come reaches beyond what is expected.
    fn beyond(&self) -> Option<u64> {
        self.gaps.as_ref().and_then(|gaps| gaps.data.last()).map(|last| last - self.next)
    }

    /// How many acknowledgements are held back.
    fn compressed(&self) -> u32 {
        self.gaps.as_ref().map_or(0, |gaps| gaps.compressed)
    }

    /// What a packet up to `end` has joined leaves the queue of what is out of order, and waits to be read.
    fn join(&mut self, end: u64) {
        let joined = if self.gaps.is_some() {
            let packets = (self.next - end).div_ceil(self.mss.into());
            (packets * self.window.memory(self.mss)).min(self.window.held)
        } else {
            self.window.held
        };
        self.window.held -= joined;
        self.window.unread += joined;
    }

    /// The application reads all there is, of which the first packet ends at `end` (tcp_recvmsg, tcp_cleanup_rbuf).
    fn read(&mut self, end: u64, now: Time) {
        (self.window.unread, self.told) = (0, false);
        self.window.adjust(end, self.next, self.beyond().unwrap_or(0), now);
        let drained = self.pushed > u8::from(self.interactive) && self.gaps.is_none() && !self.finished();
        let many = self.next - self.acked > self.mss.into();
        if drained || many || (!self.finished() && self.window.reopens(self.next)) {
            self.send_now();
        }
    }

    /// The marks of a packet: whether its acknowledgement must not wait.
    fn echo_of(&mut self, segment: &Segment, ce: bool, prior: u64) -> bool {
        let was = self.echo.is_set();
        let urgency = self.echo.on_data(segment, ce);
        if urgency.quick > 0 {
            self.enter_quick(urgency.quick);
        }
        if urgency.before && self.deadline != Time::NEVER {
            self.before = Some(Box::new((prior, was)));
        }
        urgency.now
    }

    /// Data in order comes, and how fast (tcp_event_data_recv).
    fn on_arrival(&mut self, segment: &Segment, now: Time) {
        self.measure(segment);
        self.window.note_window(self.next, now);
        let ticks = self.clock.ticks(now);
        let gap = ticks - self.last_data;
        if self.ato == 0 {
            self.add_quick(MAX_QUICK);
            self.ato = self.delay.max(1);
        } else if gap <= self.delay / 2 {
            self.ato = self.ato / 2 + self.delay / 2;
        } else if gap < self.ato {
            self.ato = (self.ato / 2 + gap).min(self.clock.whole(DELAY_MAX));
        } else if gap > self.clock.whole(Span::from_millis(200) + self.srtt) {
            self.add_quick(MAX_QUICK);
        }
        self.last_data = ticks;
        self.grow(segment.len);
    }

    /// How long segments are, and whether a write ends (tcp_measure_rcv_mss).
    fn measure(&mut self, segment: &Segment) {
        if segment.len > self.mss {
            self.mss = segment.len;
            self.window.on_longer(segment.len);
        }
        let short = segment.len < self.mss;
        if short || segment.options.has(Options::PUSH) {
            self.pushed = self.pushed.max(1 + u8::from(short && self.pushed > 0));
        }
    }

    fn grow(&mut self, len: u32) {
        if self.window.grow(len) {
            self.quick |= 1;
        }
    }

    fn add_quick(&mut self, most: u32) {
        self.quick = self.quick.max(self.window.quick(self.mss).min(most));
    }

    fn enter_quick(&mut self, most: u32) {
        self.add_quick(most);
        (self.ato, self.interactive) = (self.delay.max(1), false);
    }

    /// Something came twice.
    fn repeated(&mut self, range: (u64, u64)) {
        self.told = false;
        if self.duplicate.is_none() {
            self.duplicate = Some(Box::new(range));
        }
    }

    /// Whether an acknowledgement goes now, waits, or is held back (__tcp_ack_snd_check).
    fn check(&mut self, at_once: bool, now: Time) {
        let mut many = self.next - self.acked > self.mss.into();
        if many {
            if self.window.crowded() {
                self.quick = 0;
            }
            many = self.window.would_not_shrink();
        }
        if many || (self.quick > 0 && !self.interactive) || at_once || self.delay == 0 {
            return self.send_now();
        }
        let rtt = self.window.rtt();
        let rtt = if self.srtt > Span::ZERO { rtt.min(self.srtt) } else { rtt };
        let Some(gaps) = &mut self.gaps else { return self.delay_from(now) };
        if !gaps.holds_back(self.next, rtt, now) {
            self.send_now();
        }
    }

    /// The acknowledgement waits for more (tcp_send_delayed_ack).
    fn delay_from(&mut self, now: Time) {
        let (mut wait, longest) = (self.ato, self.clock.whole(DELAY_MAX));
        if wait > self.delay {
            let most = if self.pushed > 0 || self.interactive { longest } else { self.clock.hz() / 2 };
            let rtt = if self.srtt > Span::ZERO { self.clock.whole(self.srtt).max(self.delay) } else { most };
            wait = wait.min(rtt.min(most));
        }
        let expiry = |ticks| self.clock.expiry(now, ticks);
        wait = wait.min(longest);
        if self.deadline != Time::NEVER && self.deadline <= expiry(wait / 4) {
            return self.send_now();
        }
        self.deadline = self.deadline.min(expiry(wait));
    }

    fn send_now(&mut self) {
        (self.owed, self.told) = (true, false);
        self.deadline = Time::NEVER;
    }

    /// A wait may be over.
    pub fn on_timer(&mut self, now: Time) {
        if now >= self.deadline {
            // tcp_delack_timer_handler: the next one waits longer, or there was no answer to carry it.
            let longer = (self.ato * 2).min(self.clock.whole(DELAY_MAX));
            self.ato = if core::mem::take(&mut self.interactive) { self.delay.max(1) } else { longer };
            self.send_now();
        }
        if self.gaps.as_ref().is_some_and(|gaps| now >= gaps.deadline) {
            self.send_now();
        }
    }

    /// When it next wants [`on_timer`](Receiver::on_timer).
    pub fn deadline(&self) -> Time {
        self.gaps.as_ref().map_or(self.deadline, |gaps| self.deadline.min(gaps.deadline))
    }

    /// Whether any acknowledgement is owed.
    pub fn owes(&self) -> bool {
        self.owed || self.before.is_some()
    }

    /// One acknowledgement is owed although no data has come.
    pub fn owe(&mut self) {
        (self.owed, self.told) = (true, false);
    }

    /// Writes one acknowledgement that is owed over `segment`, if there is any.
    #[inline(always)]
    pub fn poll_into(&mut self, now: Time, segment: &mut Segment) -> bool {
        if let Some(before) = self.before.take() {
            let (ack, echo) = *before;
            segment.set(0, 0, Flags::ACK.with_if(echo, Flags::ECE));
            segment.options.kinds = Options::STAMPED;
            (segment.options.stamp, segment.options.echo) = (self.clock.stamp(now), self.recent_stamp);
            (segment.ack, segment.options.window) = (ack, self.window.select(ack));
            return true;
        }
        if !self.owed {
            return false;
        }
        segment.set(0, 0, Flags::default());
        segment.options.kinds = Options::STAMPED;
        segment.options.stamp = self.clock.stamp(now);
        self.fill(now, segment);
        true
    }

    /// Puts the acknowledgement onto a segment, after which nothing is owed any more (tcp_event_ack_sent; what was not due is
    /// none of the quick ones, tcp_dec_quickack_mode).
    #[inline]
    pub fn fill(&mut self, now: Time, segment: &mut Segment) {
        let due = self.due();
        segment.ack = self.next;
        segment.flags = segment.flags.with(Flags::ACK).with_if(self.echo.is_set(), Flags::ECE);
        segment.options.kinds |= Options::STAMPED;
        segment.options.echo = self.recent_stamp;
        segment.options.window = self.window.first();
        if !self.told {
            self.tell(segment);
        }
        self.echo.fill(segment);
        if due && self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.ato = self.delay.max(1);
            }
        }
        if segment.len > 0 && !self.interactive && self.ato > 0 {
            self.interactive = self.clock.ticks(now) - self.last_data < self.ato;
        }
        if self.reading > 0 {
            let end = core::mem::take(&mut self.reading);
            self.read(end, now);
        }
    }

    /// The window, and what has come out of order or twice.
    #[inline(never)]
    fn tell(&mut self, segment: &mut Segment) {
        if self.window.crowded() {
            self.quick = 0;
        }
        segment.options.window = self.window.select(self.next);
        let mut blocks = SACK_BLOCKS;
        if let Some(range) = self.duplicate.take() {
            segment.options.report(segment.ack, *range);
            blocks -= 1;
        }
        if let Some(gaps) = &mut self.gaps {
            gaps.data.report(segment, blocks);
            (gaps.deadline, gaps.compressed) = (Time::NEVER, 0);
        }
        self.acked = self.next;
        (self.owed, self.pushed, self.deadline, self.told) = (false, 0, Time::NEVER, self.gaps.is_none());
        #[cfg(test)]
        (self.told &= !self.forgets);
    }

    /// From now on each acknowledgement is told as if it were the first.
    #[cfg(test)]
    pub fn predict_nothing(&mut self) {
        self.forgets = true;
    }
}
