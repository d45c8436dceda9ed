//! # When a Linux host acknowledges
//!
//! The first packets of a connection are acknowledged one by one, then every second; the rest waits up to 40 ms
//! (net/ipv4/tcp_input.c: `__tcp_ack_snd_check`, `tcp_event_data_recv`; tcp_output.c: `tcp_send_delayed_ack`).
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | RFC 5681, Sec. 4.2: an acknowledgement for every second full segment | one by one for the first packets of a connection, after a long pause, and after what came twice, up to 16 | Linux's quick acknowledgements |
//! | Sec. 4.2: at most 500 ms of wait | 40 ms, and up to 200 ms where packets come slowly | Linux's ATO |
//! | Sec. 4.2: every one out of order at once | the first three; later ones wait for 1/20 of a round trip, at most 1 ms | Linux, tcp_comp_sack_delay_ns, tcp_comp_sack_nr |
//! | RFC 2883 | what came twice is reported with the acknowledgement that it brings | the same |
//! | RFC 7323, Sec. 5.3: a segment with a timestamp before the one to echo is dropped and answered | before it by more than 1 ms, unless it repeats the last acknowledgement within 1.2 timeouts; one without data is not answered | Linux, `tcp_paws_discard`, `tcp_disordered_ack`; Linux answers those once in 500 ms |
//! | an application reads | at once, as soon as data is in order; what ends a write is acknowledged then | Linux, tcp_cleanup_rbuf; hosts here do |

use super::ecn::Echo;
use super::sender::stamp;
use super::window::ReceiveWindow;
use crate::host::Host;
use crate::receive::Reassembly;
use crate::segment::{Flags, Options, SACK_BLOCKS, Segment};
use sluicegate_base::{Span, Time};

/// The most quick acknowledgements (TCP_MAX_QUICKACKS).
const MAX_QUICK: u32 = 16;
/// What the wait is at most (TCP_DELACK_MAX).
const DELAY_MAX: Span = Span::from_millis(200);
/// Acknowledgements out of order that are not held back, and the most that are, and how long (tcp_comp_sack_…).
const UNCOMPRESSED: u32 = 3;
const COMPRESSED: u32 = 44;
const COMPRESS_MAX: Span = Span::from_millis(1);

/// The receiving half.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    data: Reassembly,
    /// Where the stream ends, once that is known.
    fin: u64,
    window: ReceiveWindow,
    echo: Echo,
    /// What is expected next as the last acknowledgement said (rcv_wup).
    acked: u64,
    /// Acknowledgements still to go without a wait, and how long one waits; zero before the first data (icsk_ack).
    quick: u32,
    ato: Span,
    delay: Span,
    tick: Span,
    /// The length of full segments as seen, and when data last came.
    mss: u32,
    last_data: Time,
    /// Whether the data that waits ended a write.
    pushed: bool,
    /// When a delayed acknowledgement must go, and when held back ones must.
    deadline: Time,
    compressed: (Time, u32),
    /// What was expected when acknowledgements out of order began to count, and how many there were.
    out_of_order: (u64, u32),
    /// Acknowledgements to send now: one for what came before a change of marks, with its echo, and one for all.
    before: Option<(u64, bool)>,
    owed: bool,
    /// What came twice, to be reported once.
    duplicate: Option<(u64, u64)>,
    /// The timestamp to echo, and the last one echoed to us.
    recent_stamp: u32,
    last_echo: u32,
    srtt: Span,
}

impl Receiver {
    /// A receiver that has nothing yet.
    pub fn new(host: &Host) -> Receiver {
        Receiver {
            data: Reassembly::new(true),
            fin: u64::MAX,
            window: ReceiveWindow::new(host.mss, host.window),
            echo: Echo::new(host),
            acked: 0,
            quick: 0,
            ato: Span::ZERO,
            delay: host.delayed_ack,
            tick: host.rto.tick,
            mss: 536.min(host.mss),
            last_data: Time::ZERO,
            pushed: false,
            deadline: Time::NEVER,
            compressed: (Time::NEVER, 0),
            out_of_order: (0, 0),
            before: None,
            owed: false,
            duplicate: None,
            recent_stamp: 0,
            last_echo: 0,
            srtt: Span::ZERO,
        }
    }

    /// The next byte that it expects.
    pub fn next(&self) -> u64 {
        self.data.next()
    }

    /// Bytes of the stream received in order.
    pub fn received(&self) -> u64 {
        self.next() - u64::from(self.finished())
    }

    /// Whether the whole stream and its end have come.
    pub fn finished(&self) -> bool {
        self.next() >= self.fin
    }

    /// The window to announce in the opening.
    pub fn first_window(&mut self) -> u32 {
        self.window.select(0)
    }

    /// The connection is open.
    pub fn begin(&mut self, now: Time) {
        self.window.begin(now);
    }

    /// The round trip as the sending half knows it.
    pub fn set_srtt(&mut self, srtt: Span) {
        self.srtt = srtt;
    }

    /// How far the timestamp of a segment lies before the one to echo, in milliseconds.
    pub fn age(&self, segment: &Segment) -> u32 {
        let age = self.recent_stamp.wrapping_sub(segment.options.stamp);
        if segment.options.has(Options::STAMPED) && age <= i32::MAX as u32 { age } else { 0 }
    }

    /// Data is dropped for the age of its timestamp: an acknowledgement says what is known (tcp_send_dupack).
    pub fn drop_old(&mut self, segment: &Segment) {
        if segment.seq < self.next() {
            self.repeated((segment.seq, segment.end().min(self.next())));
            self.enter_quick(MAX_QUICK);
        }
        self.send_now();
    }

    /// A segment comes, with data or without: its timestamp is the one to echo unless something before it is missing, or the
    /// timestamp is older (RFC 7323, Sec. 4.3).
    pub fn on_stamp(&mut self, segment: &Segment, now: Time) {
        if !segment.options.has(Options::STAMPED) {
            return;
        }
        if segment.seq <= self.acked && self.age(segment) == 0 {
            self.recent_stamp = segment.options.stamp;
        }
        let echo = segment.options.echo;
        if segment.len >= self.mss && echo != 0 && echo != self.last_echo {
            self.last_echo = echo;
            let ms = stamp(now).wrapping_sub(echo).max(1);
            self.window.note_rtt(Span::from_millis(ms.min(60_000).into()));
        }
    }

    /// A segment with data, or with the end of the stream, arrives; `ce`: its packet was marked.
    pub fn on_data(&mut self, segment: &Segment, ce: bool, now: Time) {
        let prior = self.next();
        if segment.flags.has(Flags::FIN) && self.fin == u64::MAX && segment.end() >= self.next() {
            self.fin = segment.end();
        }
        let (start, end) = (segment.seq, segment.end().min(self.fin));
        if end <= self.next() {
            // All of it came before.
            self.repeated((start, end));
            self.enter_quick(MAX_QUICK);
            return self.send_now();
        }
        let in_order = start <= self.next();
        if start < self.next() {
            self.repeated((start, self.next()));
            self.enter_quick(MAX_QUICK);
        } else if let Some(known) = self.data.known(start, end) {
            self.repeated(known);
        }
        let gaps = self.data.has_gaps();
        self.data.insert(start, end);
        let urgency = self.echo_of(segment, ce, prior);
        self.on_arrival(segment, now);
        let filled = gaps && !self.data.has_gaps();
        let at_once = urgency || filled || self.finished();
        if self.window.grow(segment.len) {
            self.quick |= 1;
        }
        if let Some(last) = self.data.last() {
            self.window.hold(last - self.next());
        }
        let ends_write = segment.options.has(Options::PUSH) || segment.len < self.mss;
        self.pushed |= in_order && ends_write;
        self.check(at_once, !in_order || gaps, now);
        if in_order {
            // The application reads: tcp_cleanup_rbuf.
            self.window.adjust(self.next(), now);
            let waits = self.deadline != Time::NEVER;
            if waits && (self.pushed || self.next() - self.acked > self.mss.into()) {
                self.send_now();
            }
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
            self.before = Some((prior, was));
        }
        urgency.now
    }

    /// How fast data comes (tcp_event_data_recv).
    fn on_arrival(&mut self, segment: &Segment, now: Time) {
        self.mss = self.mss.max(segment.len);
        let gap = now.since(self.last_data);
        let least = self.delay;
        if self.ato == Span::ZERO {
            self.add_quick(MAX_QUICK);
            self.ato = least.max(Span(1));
        } else if gap.0 <= least.0 / 2 {
            self.ato = Span(self.ato.0 / 2 + least.0 / 2);
        } else if gap < self.ato {
            self.ato = Span(self.ato.0 / 2 + gap.0).min(DELAY_MAX);
        } else if gap > Span::from_millis(200) + self.srtt {
            self.add_quick(MAX_QUICK);
        }
        self.last_data = now;
    }

    fn add_quick(&mut self, most: u32) {
        self.quick = self.quick.max(self.window.quick(self.mss).min(most));
    }

    fn enter_quick(&mut self, most: u32) {
        self.add_quick(most);
        self.ato = self.delay.max(Span(1));
    }

    /// Something came twice.
    fn repeated(&mut self, range: (u64, u64)) {
        if self.duplicate.is_none() {
            self.duplicate = Some(range);
        }
    }

    /// Whether an acknowledgement goes now, waits, or is held back (__tcp_ack_snd_check).
    fn check(&mut self, at_once: bool, out_of_order: bool, now: Time) {
        let many = self.next() - self.acked > self.mss.into() && self.window.would_not_shrink(self.next());
        if many || self.quick > 0 || at_once || self.delay == Span::ZERO {
            return self.send_now();
        }
        if !(out_of_order && self.data.has_gaps()) {
            return self.delay_from(now);
        }
        if self.out_of_order.0 != self.next() {
            self.out_of_order = (self.next(), 0);
        }
        if self.out_of_order.1 < UNCOMPRESSED || self.compressed.1 >= COMPRESSED {
            self.out_of_order.1 = (self.out_of_order.1 + 1).min(UNCOMPRESSED);
            return self.send_now();
        }
        self.compressed.1 += 1;
        if self.compressed.0 == Time::NEVER {
            let mut rtt = self.window.rtt();
            if self.srtt > Span::ZERO && self.srtt < rtt {
                rtt = self.srtt;
            }
            self.compressed.0 = now + Span(rtt.0 / 20).min(COMPRESS_MAX);
        }
    }

    /// The acknowledgement waits for more (tcp_send_delayed_ack).
    fn delay_from(&mut self, now: Time) {
        let mut wait = self.ato;
        if wait > self.delay {
            let most = if self.pushed { DELAY_MAX } else { Span::from_millis(500) };
            let rtt = if self.srtt > Span::ZERO { self.srtt.max(self.delay) } else { most };
            wait = wait.min(rtt.min(most));
        }
        wait = wait.min(DELAY_MAX);
        if self.deadline != Time::NEVER && self.deadline <= now + Span(wait.0 / 4) {
            return self.send_now();
        }
        let tick = self.tick.0.max(1);
        let at = Time(((now + wait).0 / tick + 1) * tick);
        self.deadline = self.deadline.min(at);
    }

    fn send_now(&mut self) {
        self.owed = true;
        self.deadline = Time::NEVER;
    }

    /// A wait may be over.
    pub fn on_timer(&mut self, now: Time) {
        if now >= self.deadline {
            // tcp_delack_timer_handler: the next one waits longer.
            self.ato = Span(self.ato.0 * 2).min(DELAY_MAX);
            self.send_now();
        }
        if now >= self.compressed.0 {
            self.send_now();
        }
    }

    /// When it next wants [`on_timer`](Receiver::on_timer).
    pub fn deadline(&self) -> Time {
        self.deadline.min(self.compressed.0)
    }

    /// Whether any acknowledgement is owed.
    pub fn owes(&self) -> bool {
        self.owed || self.before.is_some()
    }

    /// One acknowledgement is owed although no data has come.
    pub fn owe(&mut self) {
        self.owed = true;
    }

    /// Writes one acknowledgement that is owed over `segment`, if there is any.
    pub fn poll_into(&mut self, now: Time, segment: &mut Segment) -> bool {
        if let Some((ack, echo)) = self.before.take() {
            segment.set(0, 0, Flags::ACK.with_if(echo, Flags::ECE));
            segment.options.kinds = Options::STAMPED;
            (segment.options.stamp, segment.options.echo) = (stamp(now), self.recent_stamp);
            (segment.ack, segment.options.window) = (ack, self.window.select(ack));
            return true;
        }
        if !self.owed {
            return false;
        }
        segment.set(0, 0, Flags::default());
        segment.options.kinds = Options::STAMPED;
        segment.options.stamp = stamp(now);
        self.fill(segment);
        true
    }

    /// Puts the acknowledgement onto a segment, after which nothing is owed any more (tcp_event_ack_sent).
    pub fn fill(&mut self, segment: &mut Segment) {
        segment.ack = self.next();
        segment.flags = segment.flags.with(Flags::ACK).with_if(self.echo.is_set(), Flags::ECE);
        segment.options.kinds |= Options::STAMPED;
        segment.options.echo = self.recent_stamp;
        segment.options.window = self.window.select(self.next());
        let mut blocks = SACK_BLOCKS;
        if let Some(range) = self.duplicate.take() {
            segment.options.report(segment.ack, range);
            blocks -= 1;
        }
        self.data.report(segment, blocks);
        self.echo.fill(segment);
        self.acked = self.next();
        (self.owed, self.pushed, self.deadline) = (false, false, Time::NEVER);
        self.compressed = (Time::NEVER, 0);
        if self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.ato = self.delay.max(Span(1));
            }
        }
    }
}
