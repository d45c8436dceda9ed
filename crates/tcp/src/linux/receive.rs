//! # When a Linux host acknowledges
//!
//! The first packets of a connection are acknowledged one by one, then every second; the rest waits up to 40 ms, or for an
//! answer (net/ipv4/tcp_input.c: `__tcp_ack_snd_check`, `tcp_event_data_recv`; tcp_output.c: `tcp_send_delayed_ack`).
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | RFC 5681, Sec. 4.2: an acknowledgement for every second full segment | one by one, up to 16, at the start of a connection, after a long pause, and after a segment that came twice | Linux's quick acknowledgements |
//! | Sec. 4.2: at most 500 ms of wait | 40 ms, and up to 200 ms where packets come slowly | Linux's ATO |
//! | Sec. 4.2: every segment out of order is acknowledged at once | the first three are; later ones wait for 1/20 of a round trip, at most 1 ms | Linux, tcp_comp_sack_delay_ns, tcp_comp_sack_nr |
//! | RFC 2883: data that came twice is reported in the acknowledgement that it causes | the same | |
//! | RFC 7323, Sec. 5.3: a segment with a timestamp before the one to echo is dropped and answered | if its timestamp is older by more than 1 ms; not if the segment only repeats the last acknowledgement and is older by at most 1.2 timeouts. A dropped segment without data is not answered | Linux, `tcp_paws_discard`, `tcp_disordered_ack`; Linux answers segments without data once in 500 ms |
//! | Linux, tcp_measure_rcv_mss: two segments of the same smaller length set the length of full ones (last_seg_size) | they do not | a stream here has full segments, and a rest at the end of a write |
//! | Linux: each packet that waited out of order counts in the buffer with its own memory | the same while it waits; once the data before it has come, it is counted as full segments, their number rounded up | all packets are full segments, except the last of a write |
//! | an application reads | at once, as soon as data is in order. The end of a write is then acknowledged at once, except where answers carry acknowledgements | Linux, tcp_cleanup_rbuf; applications here read at once |

mod gaps;

use super::clock::Clock;
use super::ecn::Echo;
use super::lazy::{Initial, Lazy};
use super::window::ReceiveWindow;
use crate::host::Host;
use crate::segment::{Flags, Options, SACK_BLOCKS, Segment};
use alloc::boxed::Box;
use gaps::Gaps;
use sluicegate_base::{Span, Time};

/// The most quick acknowledgements (TCP_MAX_QUICKACKS).
const MAX_QUICK: u8 = 16;
/// What the wait is at most (TCP_DELACK_MAX).
const DELAY_MAX: Span = Span::from_millis(200);

/// What is rarely known of a connection's data: what the acknowledgement before a change of marks says, with its echo, and what
/// came twice, to be reported once.
#[derive(Clone, Debug)]
struct Rare {
    before: (u64, bool),
    duplicate: Option<(u64, u64)>,
}

impl Initial for Rare {
    const INITIAL: &'static Rare = &Rare { before: (0, false), duplicate: None };
}

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
    quick: u8,
    ato: u32,
    delay: u32,
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
    /// Whether an acknowledgement is to be sent now, and before it one for what came before a change of marks.
    owed: bool,
    owed_before: bool,
    /// Whether the last acknowledgement said all there is to say.
    told: bool,
    #[cfg(test)]
    forgets: bool,
    /// Whether the application reads after the acknowledgement, and how far before the next byte expected the first packet ends
    /// that it reads then.
    reads: bool,
    behind: u32,
    rare: Lazy<Rare>,
    /// The timestamp to echo, and the last one echoed to us.
    recent_stamp: u32,
    last_echo: u32,
    /// The round trip and the retransmission timeout as the sending half knows them; µs.
    srtt: u32,
    rto: u32,
}

impl Receiver {
    /// A receiver that has nothing yet.
    pub fn new(host: &Host, phase: Span) -> Receiver {
        let (clock, options) = (Clock::new(host.rto.tick, phase), host.algorithm.data_options());
        let delay = u32::try_from(clock.whole(host.delayed_ack)).unwrap_or(u32::MAX / 4);
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
            delay,
            clock,
            mss: 536.min(host.mss),
            last_data: 0,
            pushed: 0,
            interactive: false,
            deadline: Time::NEVER,
            owed: false,
            owed_before: false,
            told: false,
            #[cfg(test)]
            forgets: false,
            reads: false,
            behind: 0,
            rare: Lazy::default(),
            recent_stamp: 0,
            last_echo: 0,
            srtt: 0,
            rto: u32::MAX,
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

    /// The round trip, in whole microseconds, and the retransmission timeout as the sending half knows them.
    pub fn set_round_trip(&mut self, srtt: u32, rto: Span) {
        (self.srtt, self.rto) = (srtt, u32::try_from(rto.0 / 1000).unwrap_or(u32::MAX));
    }

    fn srtt(&self) -> Span {
        Span(u64::from(self.srtt) * 1000)
    }

    /// How long an acknowledgement waits at the most, in ticks (TCP_DELACK_MAX).
    fn longest(&self) -> u64 {
        self.clock.whole(DELAY_MAX)
    }

    /// The timeout in ticks.
    fn timeout(&self) -> u64 {
        self.clock.whole(Span(u64::from(self.rto) * 1000))
    }

    /// How far the timestamp of a segment that has one lies before the one to echo, in milliseconds.
    #[inline(always)]
    pub fn age(&self, segment: &Segment) -> u32 {
        let age = self.recent_stamp.wrapping_sub(segment.options.stamp);
        if age <= i32::MAX as u32 { age } else { 0 }
    }

    /// A segment with a timestamp comes, with data or without: that is the one to echo unless something before it is missing,
    /// or it is older (RFC 7323, Sec. 4.3).
    #[inline]
    pub fn on_stamp(&mut self, segment: &Segment, age: u32) {
        if segment.seq <= self.acked && age == 0 {
            self.recent_stamp = segment.options.stamp;
        }
    }

    /// A segment with a timestamp comes on an open connection: what it echoes measures a round trip (tcp_rcv_rtt_measure_ts).
    #[inline]
    pub fn on_echo(&mut self, segment: &Segment, now: Time) {
        let echo = segment.options.echo;
        if echo == self.last_echo {
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
        let (prior, ends) = (self.next, segment.flags.has(Flags::FIN) || self.fin != u64::MAX);
        self.told = false;
        if segment.seq != prior || self.gaps.is_some() || ends {
            return self.on_other_data(segment, ce, now);
        }
        // As predicted: the next, with nothing missing.
        self.next = segment.end();
        let urgency = self.echo_of(segment, ce, prior);
        self.window.unread = self.window.memory_of(segment.len);
        self.on_arrival(segment, now);
        self.check(urgency, now);
        self.hand_over(self.next, now);
    }

    /// Data up to `end` is for the application. An acknowledgement that goes at once goes before that reads.
    #[inline(always)]
    fn hand_over(&mut self, end: u64, now: Time) {
        if self.owed {
            (self.reads, self.behind) = (true, (self.next - end) as u32);
        } else {
            self.read(end, now);
        }
    }

    /// The application reads all there is, of which the first packet ends at `end` (tcp_recvmsg, tcp_cleanup_rbuf).
    #[inline(always)]
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
    #[inline(always)]
    fn echo_of(&mut self, segment: &Segment, ce: bool, prior: u64) -> bool {
        self.echo.is_on() && self.urgency_of(segment, ce, prior)
    }

    #[inline(never)]
    fn urgency_of(&mut self, segment: &Segment, ce: bool, prior: u64) -> bool {
        let was = self.echo.is_set();
        let urgency = self.echo.on_data(segment, ce);
        if urgency.quick > 0 {
            self.enter_quick(urgency.quick);
        }
        if urgency.before && self.deadline != Time::NEVER {
            (self.owed_before, self.rare.before) = (true, (prior, was));
        }
        urgency.now
    }

    /// Data in order comes, and how fast (tcp_event_data_recv).
    #[inline(always)]
    fn on_arrival(&mut self, segment: &Segment, now: Time) {
        self.measure(segment);
        self.window.note_window(self.next, now);
        let ticks = self.clock.ticks(now);
        let gap = ticks - self.last_data;
        if self.ato == 0 {
            self.add_quick(MAX_QUICK);
            self.ato = self.delay.max(1);
        } else if gap <= (self.delay / 2).into() {
            self.ato = self.ato / 2 + self.delay / 2;
        } else if gap < self.ato.into() {
            self.ato = (self.ato / 2 + gap as u32).min(self.timeout() as u32);
        } else if gap > self.timeout() {
            self.add_quick(MAX_QUICK);
        }
        self.last_data = ticks;
        self.grow(segment.len);
    }

    /// How long segments are, and whether a write ends (tcp_measure_rcv_mss).
    #[inline(always)]
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

    #[inline(always)]
    fn grow(&mut self, len: u32) {
        if self.window.grow(len) {
            self.quick |= 1;
        }
    }

    fn add_quick(&mut self, most: u8) {
        self.quick = self.quick.max(self.window.quick(self.mss).min(most.into()) as u8);
    }

    fn enter_quick(&mut self, most: u8) {
        self.add_quick(most);
        (self.ato, self.interactive) = (self.delay.max(1), false);
    }

    /// Whether an acknowledgement goes now, waits, or is held back (__tcp_ack_snd_check).
    #[inline(always)]
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
        if self.gaps.is_some() {
            self.hold_back(now);
        } else {
            self.delay_more();
        }
    }

    /// The acknowledgement of what has just come waits for more (tcp_send_delayed_ack).
    #[inline(always)]
    fn delay_more(&mut self) {
        let longest = self.longest();
        let mut wait = u64::from(self.ato).min(longest);
        if self.ato > self.delay {
            let most = if self.pushed > 0 || self.interactive { longest } else { self.clock.hz() / 2 };
            let rtt = if self.srtt > 0 { self.clock.whole(self.srtt()).max(self.delay.into()) } else { most };
            wait = wait.min(rtt.min(most));
        }
        let expiry = |ticks| self.clock.expiry(self.last_data, ticks);
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
            let longer = (2 * u64::from(self.ato)).min(self.timeout()) as u32;
            self.ato = if core::mem::take(&mut self.interactive) { self.delay.max(1) } else { longer };
            self.send_now();
        }
        if self.gaps.as_ref().is_some_and(|gaps| now >= gaps.deadline) {
            self.send_now();
        }
    }

    /// When it next wants [`on_timer`](Receiver::on_timer).
    #[inline(always)]
    pub fn deadline(&self) -> Time {
        self.gaps.as_ref().map_or(self.deadline, |gaps| self.deadline.min(gaps.deadline))
    }

    /// Whether any acknowledgement is owed.
    #[inline(always)]
    pub fn owes(&self) -> bool {
        self.owed || self.owed_before
    }

    /// One acknowledgement is owed although no data has come.
    pub fn owe(&mut self) {
        (self.owed, self.told) = (true, false);
    }

    /// Writes one acknowledgement that is owed over `segment`, if there is any.
    #[inline(always)]
    pub fn poll_into(&mut self, now: Time, segment: &mut Segment) -> bool {
        if self.owed_before {
            self.poll_before(now, segment);
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

    #[cold]
    fn poll_before(&mut self, now: Time, segment: &mut Segment) {
        self.owed_before = false;
        let (ack, echo) = self.rare.before;
        segment.set(0, 0, Flags::ACK.with_if(echo, Flags::ECE));
        segment.options.kinds = Options::STAMPED;
        (segment.options.stamp, segment.options.echo) = (self.clock.stamp(now), self.recent_stamp);
        (segment.ack, segment.options.window) = (ack, self.window.select(ack));
    }

    /// Puts the acknowledgement onto a segment, after which nothing is owed any more (tcp_event_ack_sent).
    #[inline(always)]
    pub fn fill(&mut self, now: Time, segment: &mut Segment) {
        segment.ack = self.next;
        segment.flags = segment.flags.with(Flags::ACK).with_if(self.echo.is_set(), Flags::ECE);
        segment.options.kinds |= Options::STAMPED;
        segment.options.echo = self.recent_stamp;
        segment.options.window = self.window.first();
        if !self.told {
            self.tell(segment);
        }
        self.echo.fill(segment);
        if segment.len > 0 && self.ato > 0 && !self.interactive {
            self.interactive = self.clock.ticks(now) - self.last_data < self.ato.into();
        }
        if core::mem::take(&mut self.reads) {
            self.read(self.next - u64::from(self.behind), now);
        }
    }

    /// The window, and what has come out of order or twice. What was not due is none of the quick ones (tcp_dec_quickack_mode).
    #[inline(never)]
    fn tell(&mut self, segment: &mut Segment) {
        if self.window.crowded() {
            self.quick = 0;
        } else if self.quick > 0 && self.due() {
            self.quick -= 1;
            if self.quick == 0 {
                self.ato = self.delay.max(1);
            }
        }
        segment.options.window = self.window.select(self.next);
        let mut blocks = SACK_BLOCKS;
        if let Some(range) = self.rare.duplicate {
            segment.report_duplicate(range);
            self.rare.duplicate = None;
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

    /// Whether it is not so.
    #[cfg(test)]
    pub fn predicts(&self) -> bool {
        !self.forgets
    }
}
