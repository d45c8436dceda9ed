//! # The receiver's window, tuned to what comes
//!
//! The buffer grows so that the window holds twice what came in the last round trip and more (net/ipv4/tcp_input.c,
//! `tcp_rcv_space_adjust`, `tcp_grow_window`; dynamic right-sizing, Fisk & Feng 2001).
//!
//! | what Linux does | what we do | why |
//! |---|---|---|
//! | counts the memory of a packet, which depends on the device | counts bytes; the buffer at first holds 158/256 of tcp_rmem's default of 128 KiB, as for packets of 1500 bytes in buffers of 2 KiB | measured; it ends with `window` |
//! | the application may leave data in the buffer | it reads at once | hosts here do |

use sluicegate_base::{Span, Time};

/// The window of a new connection in bytes, half of tcp_rmem's default of 128 KiB; and what that buffer is found to hold once
/// packets have come.
const FIRST: u64 = 65_536;
const BUFFER: u64 = 131_072 * 158 / 256;
/// What an option of timestamps takes of a segment.
const STAMPS: u64 = 12;

/// The state of one connection.
#[derive(Clone, Debug)]
pub(super) struct ReceiveWindow {
    mss: u64,
    /// The most that the buffer holds now (window_clamp), and ever.
    buffer: u64,
    most: u64,
    /// The window that is announced (rcv_ssthresh), and its right edge, which never moves back.
    announced: u64,
    edge: u64,
    /// The round trip as the receiver knows it; zero before it does.
    rtt: Span,
    /// Since when bytes are counted, from which byte, and how many came in the round trip before (rcvq_space).
    since: Time,
    from: u64,
    space: u64,
}

impl ReceiveWindow {
    /// A window of a new connection, which may become `most` bytes.
    pub fn new(mss: u32, most: u64) -> ReceiveWindow {
        let mss = u64::from(mss.max(1));
        let first = FIRST.min(most);
        ReceiveWindow {
            mss,
            buffer: BUFFER.min(most),
            most,
            announced: (first / mss * mss).max(first.min(mss)),
            edge: 0,
            rtt: Span::ZERO,
            since: Time::ZERO,
            from: 0,
            space: (10 * (mss + STAMPS)).min(first),
        }
    }

    /// The window to announce with `next` as the next byte expected (tcp_select_window).
    pub fn select(&mut self, next: u64) -> u32 {
        self.edge = self.edge.max(next + self.announced);
        u32::try_from(self.edge - next).unwrap_or(u32::MAX)
    }

    /// The window as it would be announced now, and as it was announced.
    pub fn would_not_shrink(&self, next: u64) -> bool {
        self.announced >= self.edge.saturating_sub(next)
    }

    /// Half of the window in segments: how many acknowledgements may be quick (tcp_incr_quickack).
    pub fn quick(&self, rcv_mss: u32) -> u32 {
        let quick = self.announced / (2 * u64::from(rcv_mss.max(1)));
        if quick == 0 { 2 } else { quick.min(u32::MAX.into()) as u32 }
    }

    /// Data in order came: the announced window grows by two segments for each. Whether it did (tcp_grow_window).
    pub fn grow(&mut self, len: u32) -> bool {
        if len < 128 || self.announced >= self.buffer {
            return false;
        }
        let step = (2 * self.mss).max(2 * u64::from(len));
        self.announced = (self.announced + step).min(self.buffer);
        true
    }

    /// A round trip by an echoed timestamp (tcp_rcv_rtt_measure_ts).
    pub fn note_rtt(&mut self, rtt: Span) {
        self.rtt = if self.rtt == Span::ZERO { rtt } else { Span(self.rtt.0 - self.rtt.0 / 8 + rtt.0 / 8) };
    }

    /// The application has read up to `next`: once in a round trip the buffer follows what came (tcp_rcv_space_adjust).
    pub fn adjust(&mut self, next: u64, now: Time) {
        if self.rtt == Span::ZERO || now.since(self.since) < self.rtt {
            return;
        }
        let copied = next - self.from;
        if copied > self.space {
            let wanted = 2 * copied;
            let more = (u128::from(wanted) * u128::from(copied - self.space) / u128::from(self.space.max(1))) as u64;
            self.make_room(wanted.saturating_add(more.saturating_mul(2)));
            self.space = copied;
        }
        (self.since, self.from) = (now, next);
    }

    /// So many bytes have come from the next one expected on, with gaps: they need room beside (tcp_rcvbuf_grow).
    pub fn hold(&mut self, bytes: u64) {
        self.make_room(2 * self.space + bytes);
    }

    fn make_room(&mut self, bytes: u64) {
        self.buffer = self.buffer.max(bytes.min(self.most));
    }

    /// The connection is open: bytes count from now on.
    pub fn begin(&mut self, now: Time) {
        self.since = now;
    }

    /// The round trip as the receiver knows it.
    pub fn rtt(&self) -> Span {
        self.rtt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// tcp_rcv_space_adjust by hand: twice what came, and twice as much more as that was more than before. The numbers are those
    /// of a kernel that got 11 and then 20 packets in a round trip of 41 ms: it announces 148 KiB.
    #[test]
    fn doubles_what_came_in_a_round_trip() {
        let (mut window, ms) = (ReceiveWindow::new(1448, 6_291_456), |ms| Time::ZERO + Span::from_millis(ms));
        window.begin(ms(60));
        assert_eq!((window.select(0), window.space), (65_160, 14_600));
        window.note_rtt(Span::from_millis(41));
        window.adjust(11 * 1448, ms(103));
        assert_eq!((window.buffer, window.space), (80_896, 11 * 1448));
        window.adjust(31 * 1448, ms(145));
        assert_eq!(window.buffer / 1024, 149);
        assert!(window.grow(1448));
        assert_eq!(window.select(28_960), 65_160 + 2896);
        window.adjust(90_000, ms(160));
        assert_eq!(window.space, 28_960, "once in a round trip");
    }

    #[test]
    fn never_goes_beyond_its_cap_nor_back() {
        let mut window = ReceiveWindow::new(1448, 100_000);
        window.note_rtt(Span::from_millis(1));
        let mut edge = 0;
        for n in 1..500 {
            let next = n * n * 1448;
            window.grow(1448);
            window.adjust(next, Time::ZERO + Span::from_millis(n));
            let reached = next + u64::from(window.select(next));
            assert!(reached >= edge && reached <= next + 100_000);
            edge = reached;
        }
        assert_eq!(window.announced, 100_000);
    }
}
