//! # The receiver's window, tuned to what comes
//!
//! The buffer grows so that the window holds twice what came in the last round trip and more (net/ipv4/tcp_input.c,
//! `tcp_rcv_space_adjust`, `tcp_rcvbuf_grow`, `tcp_grow_window`; dynamic right-sizing, Fisk & Feng 2001). A buffer counts
//! memory; the share of it that is window follows from the packets that come (scaling_ratio).
//!
//! | what Linux does | what we do | why |
//! |---|---|---|
//! | the memory of a packet depends on the device that received it | a buffer from the allocator with 64 bytes of headroom, and whole pages for packets beyond one | what Linux's TUN device takes, and drivers that copy |
//! | the buffer is bounded by tcp_rmem's maximum | by twice `window`; the window itself never passes `window` | `window` is a bound for every host here. Where headers and control blocks take more than half of the memory, as with segments below 1152 bytes, the window stays below it, as Linux's does |
//! | a segment lets the window grow by less where it is much smaller than its memory (`__tcp_grow_window`) | each of at least 128 bytes by two segments | full segments do not differ |
//! | the application may leave data in the buffer | it reads at once | hosts here do |

use super::near::Near;
use sluicegate_base::{Span, Time};

/// tcp_rmem's default: the buffer of a new connection; and the most that any window becomes (RFC 7323, Sec. 2.3).
const BUFFER: u32 = 131_072;
pub(super) const MOST: u64 = 1 << 30;
/// The share of a buffer that is window is counted in 1/256; half before any packet has come (TCP_DEFAULT_SCALING_RATIO).
const RATIO_SHIFT: u32 = 8;
const FIRST_RATIO: u16 = 128;
/// The control block of a packet, what lies behind its data, the room before it, and a page (struct sk_buff, struct
/// skb_shared_info, NET_SKB_PAD).
const CONTROL: u32 = 256;
const SHARED: u32 = 320;
const HEADROOM: u32 = 64;
const PAGE: u32 = 4096;
/// The least buffer of a packet (SKB_SMALL_HEAD_CACHE_SIZE).
const SMALL: u32 = 576;

/// The memory of a packet of so many bytes, headers counted (skb->truesize).
fn truesize(packet: u32) -> u32 {
    let all = packet + HEADROOM;
    if all < PAGE {
        let need = all.next_multiple_of(64) + SHARED;
        return CONTROL + if need <= SMALL { SMALL } else { need.next_power_of_two() };
    }
    // A page for the beginning, and pages for the rest.
    CONTROL + PAGE + (all + SHARED).saturating_sub(PAGE).next_multiple_of(PAGE)
}

/// By how many bits a window that may become `most` bytes is scaled: its buffer is twice that (tcp_select_initial_window).
#[must_use]
pub fn scale(most: u64) -> u8 {
    most.saturating_mul(2).max(1).ilog2().saturating_sub(15).min(14) as u8
}

/// The state of one connection.
#[derive(Clone, Debug)]
pub(super) struct ReceiveWindow {
    mss: u32,
    header: u32,
    /// The buffer (sk_rcvbuf); it may become twice `most` (tcp_rmem).
    buffer: u32,
    /// How much of it is window (scaling_ratio), and what it holds so (window_clamp), never more than `most`.
    ratio: u16,
    clamp: u32,
    most: u32,
    /// Windows are announced in multiples of two to this power (rcv_wscale).
    scale: u8,
    /// What the buffer offers with nothing in it, and the memory of a segment of this length, the last one asked for.
    whole: u32,
    known: (u32, u32),
    /// The window to announce (rcv_ssthresh), as it was announced (rcv_wnd), and its right edge, which never moves back.
    target: u32,
    announced: u32,
    edge: Near,
    /// The memory of what is in the buffer out of order, and of what is in order and not yet read.
    pub held: u32,
    pub unread: u32,
    /// The round trip as the receiver knows it; zero before it does.
    rtt: Span,
    /// When the byte was expected, and which, that ends a window of data (rcv_rtt_est); never before the first data.
    round_since: Time,
    round_end: Near,
    /// Since when bytes are counted, from which byte, and how many came in the round trip before (rcvq_space).
    since: Time,
    from: u64,
    space: u32,
}

impl ReceiveWindow {
    /// A window of a new connection, which may become `most` bytes; packets have so many bytes of header.
    pub fn new(mss: u32, header: u32, most: u64) -> ReceiveWindow {
        let (mss, scale, most) = (mss.max(1), scale(most), most.min(MOST) as u32);
        let buffer = BUFFER.min(2 * most);
        let first = buffer / 2;
        let announced = (first / mss * mss).max(first.min(mss));
        // One segment is kept back (tcp_init_buffer_space).
        let clamp = first.saturating_sub(mss).max(first.min(2 * mss));
        let mut window = ReceiveWindow {
            mss,
            header,
            buffer,
            ratio: FIRST_RATIO,
            clamp,
            most,
            scale,
            whole: 0,
            known: (u32::MAX, 0),
            target: announced,
            announced,
            edge: Near::new(announced.into()),
            held: 0,
            unread: 0,
            rtt: Span::ZERO,
            round_since: Time::NEVER,
            round_end: Near::default(),
            since: Time::ZERO,
            from: 0,
            space: (10 * mss).min(announced),
        };
        window.whole = window.space_beside(0);
        window
    }

    /// A length in whole units.
    fn whole_units(&self, bytes: u32) -> u32 {
        bytes >> self.scale << self.scale
    }

    /// The same, rounded up.
    fn round_up(&self, bytes: u32) -> u32 {
        self.whole_units(bytes + (1 << self.scale) - 1)
    }

    /// The memory of a segment with so many bytes of the stream.
    pub fn memory(&self, len: u32) -> u32 {
        truesize(len + self.header)
    }

    /// The same, of which the last answer is known.
    #[inline]
    pub fn memory_of(&mut self, len: u32) -> u32 {
        if self.known.0 != len {
            self.known = (len, self.memory(len));
        }
        self.known.1
    }

    /// What the buffer offers beside so much memory of it (tcp_win_from_space).
    fn space_beside(&self, memory: u32) -> u32 {
        let space = u64::from(self.buffer.saturating_sub(memory)) * u64::from(self.ratio);
        (space >> RATIO_SHIFT).min(self.most.into()) as u32
    }

    /// What it offers now (tcp_space).
    #[inline(always)]
    fn space(&self) -> u32 {
        let memory = self.held + self.unread;
        if memory == 0 { self.whole } else { self.space_beside(memory) }
    }

    /// Whether half of the buffer is taken: acknowledgements are not quick then.
    #[inline(always)]
    pub fn crowded(&self) -> bool {
        self.space() < self.clamp / 2
    }

    /// The window that could be announced now (__tcp_select_window).
    #[inline(always)]
    fn offer(&self) -> u32 {
        let mut space = self.space();
        if space < self.clamp / 2 {
            space = self.whole_units(space);
            if space < self.whole / 16 || space < self.mss {
                return 0;
            }
        }
        self.round_up(space.min(self.target)).min(self.most)
    }

    /// The window to announce with `next` as the next byte expected (tcp_select_window).
    pub fn select(&mut self, next: u64) -> u32 {
        let (left, offer) = (self.left(next), self.offer());
        self.announced = if offer < left { self.round_up(left).min(self.most.max(left)) } else { offer };
        self.edge = Near::new(next + u64::from(self.announced));
        self.announced
    }

    /// What is left of the window that was announced last (tcp_receive_window).
    fn left(&self, next: u64) -> u32 {
        (-self.edge.to(next)).max(0) as u32
    }

    /// The window that the opening announces.
    pub fn first(&self) -> u32 {
        self.announced
    }

    /// Whether the window would be no smaller than the one announced.
    #[inline(always)]
    pub fn would_not_shrink(&self) -> bool {
        self.offer() >= self.announced
    }

    /// Whether what has been read doubles a window that is small (tcp_cleanup_rbuf).
    pub fn reopens(&self, next: u64) -> bool {
        let left = self.left(next);
        2 * left <= self.clamp && self.offer() >= (2 * left).max(1)
    }

    /// Half of the window in segments: how many acknowledgements may be quick (tcp_incr_quickack).
    pub fn quick(&self, rcv_mss: u32) -> u32 {
        let quick = self.announced / (2 * rcv_mss.max(1));
        if quick == 0 { 2 } else { quick }
    }

    /// Segments as long as never before have come: how much of the buffer is window (tcp_measure_rcv_mss).
    pub fn on_longer(&mut self, len: u32) {
        let ratio = ((len << RATIO_SHIFT) / self.memory(len)).max(1) as u16;
        if ratio == self.ratio {
            return;
        }
        self.ratio = ratio;
        let old = self.clamp;
        self.whole = self.space_beside(0);
        self.clamp = self.whole;
        self.target = if self.clamp < old {
            self.target.min(self.clamp)
        } else {
            self.target.max(self.announced.min(self.clamp))
        };
        self.space = self.space.min(self.clamp);
    }

    /// Data came: the window grows by two segments for each. Whether it did (tcp_grow_window).
    pub fn grow(&mut self, len: u32) -> bool {
        if len < 128 || self.target >= self.clamp {
            return false;
        }
        let room = self.clamp.min(self.space());
        if self.target >= room {
            return false;
        }
        self.target = (self.target + 2 * self.mss.max(len)).min(room);
        true
    }

    /// A round trip by an echoed timestamp, or at most that: one that is shorter is believed at once (tcp_rcv_rtt_update).
    fn note(&mut self, rtt: Span, at_most: bool) {
        if self.rtt == Span::ZERO || rtt < self.rtt {
            self.rtt = rtt;
        } else if !at_most {
            self.rtt = Span(self.rtt.0 - self.rtt.0 / 8 + rtt.0 / 8);
        }
    }

    /// A round trip by an echoed timestamp (tcp_rcv_rtt_measure_ts).
    pub fn note_rtt(&mut self, rtt: Span) {
        self.note(rtt, false);
    }

    /// Data in order came up to `next`: a whole window of it takes a round trip at least (tcp_rcv_rtt_measure).
    #[inline]
    pub fn note_window(&mut self, next: u64, now: Time) {
        if self.round_end.to(next) < 0 {
            return;
        }
        if self.round_since != Time::NEVER {
            self.note(now.since(self.round_since).max(Span(1000)), true);
        }
        (self.round_since, self.round_end) = (now, Near::new(next + u64::from(self.announced)));
    }

    /// The application has read a packet up to `read`, of what has come in order up to `next`: once in a round trip the buffer
    /// follows what came (tcp_rcv_space_adjust). `beyond`: how far what has come out of order reaches.
    #[inline]
    pub fn adjust(&mut self, read: u64, next: u64, beyond: u64, now: Time) {
        if self.rtt == Span::ZERO || now.since(self.since) < self.rtt {
            return;
        }
        let copied = (read - self.from).saturating_sub(next - read).min(2 * MOST) as u32;
        if copied > self.space {
            self.follow(copied, beyond);
        }
        (self.since, self.from) = (now, read);
    }

    /// The buffer follows what came in a round trip (tcp_rcvbuf_grow): twice as much, and twice as much more as that is more
    /// than before.
    fn follow(&mut self, came: u32, beside: u64) {
        let before = u64::from(self.space.max(1));
        self.space = came;
        let twice = 2 * u64::from(came);
        let more = twice * u64::from(came).saturating_sub(before) / before;
        self.widen((twice + more).saturating_add(more).saturating_add(beside));
    }

    /// So many bytes have come from the next one expected on, with gaps: they need room beside.
    pub fn hold(&mut self, bytes: u64) {
        self.widen((2 * u64::from(self.space)).saturating_add(bytes));
    }

    /// The buffer holds a window of so many bytes, if it may.
    fn widen(&mut self, wanted: u64) {
        let (memory, most) = (wanted.min(u64::MAX >> RATIO_SHIFT) << RATIO_SHIFT, 2 * u64::from(self.most));
        if u64::from(self.buffer) < most && memory >= (u64::from(self.buffer) + 1) * u64::from(self.ratio) {
            self.buffer = (memory / u64::from(self.ratio)).min(most) as u32;
            self.whole = self.space_beside(0);
            self.clamp = self.whole;
        }
    }

    /// The connection is open: bytes count from now on.
    pub fn begin(&mut self, now: Time) {
        self.since = now;
        self.target = self.target.min(self.clamp);
    }

    /// The round trip as the receiver knows it.
    pub fn rtt(&self) -> Span {
        self.rtt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// tcp_rcv_space_adjust and tcp_rcvbuf_grow by hand: twice what came, and twice as much more as that was more than before.
    /// The numbers are those of a kernel that got 11 and then 20 packets in a round trip of 41 ms: it announces 68,608 bytes
    /// for the first, 80,896 when its buffer of 128 KiB is all window, and at last 151,552.
    #[test]
    fn doubles_what_came_in_a_round_trip() {
        let mut window = ReceiveWindow::new(1448, 52, 16 << 20);
        assert_eq!((window.first(), window.space), (65_160, 14_480));
        window.begin(ms(60));
        window.on_longer(1448);
        window.unread = window.memory(1448);
        assert!(window.grow(1448));
        assert_eq!(window.select(1448), 68_608);
        while window.grow(1448) {}
        assert_eq!(window.select(2896), 80_896);
        window.note_rtt(Span::from_millis(41));
        window.adjust(11 * 1448, 11 * 1448, 0, ms(103));
        assert_eq!((window.buffer, window.space), (131_072, 11 * 1448));
        window.adjust(31 * 1448, 31 * 1448, 0, ms(145));
        assert_eq!((window.clamp, window.space), (152_697, 28_960));
        while window.grow(1448) {}
        assert_eq!(window.select(31 * 1448), 151_552);
        window.adjust(90_000, 90_000, 0, ms(160));
        assert_eq!(window.space, 28_960, "once in a round trip");
    }

    /// tcp_measure_rcv_mss: 256 times the bytes of a packet over its memory, with buffers of 2 KiB (160 and 111 as a kernel's
    /// windows show), 1 KiB, 576 bytes and pages.
    #[test]
    fn the_share_that_is_window_follows_from_the_packets() {
        let ratio = |len| {
            let mut window = ReceiveWindow::new(9000, 52, 16 << 20);
            window.on_longer(len);
            window.ratio
        };
        assert_eq!([1448, 1000, 560, 8948].map(ratio), [160, 111, 112, 182]);
        assert_eq!([100, 1500, 9000].map(truesize), [832, 2304, 12_544]);
    }

    /// tcp_rcv_rtt_update: a shorter round trip is believed at once, a longer one by an eighth, and one that only says how long
    /// it is at most not at all.
    #[test]
    fn a_shorter_round_trip_is_believed_at_once() {
        let (mut window, span) = (ReceiveWindow::new(1448, 52, 16 << 20), Span::from_millis);
        window.note_rtt(span(80));
        window.note_rtt(span(40));
        assert_eq!(window.rtt(), span(40));
        window.note_rtt(span(80));
        assert_eq!(window.rtt(), span(45));
        window.note_window(0, ms(0));
        window.note_window(65_160, ms(60));
        assert_eq!(window.rtt(), span(45));
        window.note_window(2 * 65_160, ms(90));
        assert_eq!(window.rtt(), span(30));
    }

    /// A packet that waits to be read, or for one before it, takes room of its memory, not of its bytes alone.
    #[test]
    fn what_waits_in_the_buffer_takes_its_memory() {
        let mut window = ReceiveWindow::new(1448, 52, 16 << 20);
        window.on_longer(1448);
        assert_eq!(window.space(), 81_920);
        window.held = 10 * window.memory(1448);
        assert_eq!(window.space(), (131_072 - 23_040) * 160 / 256);
        assert!(!window.crowded());
        window.held = 30 * window.memory(1448);
        assert!(window.crowded() && !window.would_not_shrink());
    }

    #[test]
    fn never_goes_beyond_its_cap_nor_back() {
        let mut window = ReceiveWindow::new(1448, 52, 100_000);
        window.on_longer(1448);
        window.note_rtt(Span::from_millis(1));
        let mut edge = 0;
        for n in 1..500 {
            let next = n * n * 1448;
            window.grow(1448);
            window.adjust(next, next, 0, ms(n));
            let reached = next + u64::from(window.select(next));
            assert!(reached >= edge && reached <= next + 100_000);
            edge = reached;
        }
        assert_eq!(window.target, 100_000);
    }
}
