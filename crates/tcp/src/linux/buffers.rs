//! How the data that an application writes lies in buffers until it is sent (net/ipv4/tcp.c, `tcp_sendmsg_locked`): each
//! buffer has as many full segments as a device can segment, but no more than half of the other end's window. Each time
//! that half a window has been written, and at the end of a write, a buffer ends with PSH.
//!
//! | what Linux does | what we do | why |
//! |---|---|---|
//! | the application writes as the buffers drain | the first 4 MiB of a write (tcp_wmem) at once, and then half a window of it at a time | a socket's buffer begins smaller and grows; buffers here only tell where PSH is, and which burst is complete |
//! | the greatest window of the other end is looked at for each buffer | for what is written at once; then after each half of a window | it changes the length of a few buffers |
//! | what is written while earlier data waits first fills up the last buffer, which then no longer has PSH; half windows are counted anew from there | the count goes on | PSH moves by less than half a window |

use super::pacing::LARGEST;

/// What a socket holds that is not acknowledged yet (tcp_wmem's maximum).
const AT_ONCE: u64 = 4 << 20;

/// The buffers of what was written last and is not all sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffers {
    /// The most segments of a buffer, and the bytes of one.
    segments: u64,
    mss: u64,
    /// The buffer that was asked for last: where it begins and ends, and whether it says PSH.
    known: (u64, u64, bool),
    /// Where the write begins; where the buffers begin that the first sending leaves, once that is known; how long each is.
    start: u64,
    base: Option<u64>,
    goal: u64,
    /// Half of the other end's window then.
    half: u64,
    /// Which buffers say PSH: the first that does, the second, and then one in so many.
    first: u64,
    second: u64,
    every: u64,
    /// Where buffers begin that are written as those before drain.
    drains: u64,
    /// Where a write ended that filled its last buffer while data waited.
    full: Option<u64>,
}

impl Buffers {
    /// The application writes from `start` on; the other end's window was `window` bytes at most, and a buffer has so many
    /// segments at most.
    pub fn written(start: u64, window: u32, mss: u32, segments: u32) -> Buffers {
        let mut buffers = Buffers {
            segments: segments.into(),
            mss: mss.into(),
            known: (0, 0, false),
            start,
            base: None,
            goal: 1,
            half: 0,
            first: 1,
            second: 1,
            every: 1,
            drains: u64::MAX,
            full: None,
        };
        buffers.follow(window);
        buffers
    }

    /// The application writes more from `start` on while earlier data waits: into the buffers that there are.
    pub fn written_behind(&mut self, start: u64) {
        self.known = (0, 0, false);
        let bytes = start.saturating_sub(self.base.unwrap_or(self.start));
        self.full = (bytes % self.goal == 0).then_some(start).or(self.full);
    }

    /// A buffer holds half of the other end's window at most (tcp_xmit_size_goal, tcp_bound_to_half_wnd).
    fn follow(&mut self, window: u32) {
        self.half = u64::from(window) / 2;
        self.goal = (LARGEST.min(self.half) / self.mss).clamp(1, self.segments) * self.mss;
    }

    /// What could go out at once has, up to `next`: what is left was filled up while the application still wrote. Later ones
    /// are written as these drain, and follow the other end's window.
    #[inline]
    pub fn settle(&mut self, next: u64, window: u32) {
        if self.base.is_none() || next >= self.drains {
            self.known = (0, 0, false);
            self.go_on(next, window);
        }
    }

    #[inline(never)]
    fn go_on(&mut self, next: u64, window: u32) {
        if self.base.is_none() {
            return self.begin(next);
        }
        while next >= self.drains {
            self.follow(window);
            self.base = Some(self.drains);
            self.every = self.half / self.goal + 1;
            (self.first, self.second) = (self.every, 2 * self.every);
            self.drains += self.every * self.goal;
        }
    }

    fn begin(&mut self, next: u64) {
        let sent = next.saturating_sub(self.start);
        let beyond = |bytes: u64| bytes.saturating_sub(sent) / self.goal + 1;
        // forced_push: more than half a window since the last PSH.
        self.first = beyond(self.half);
        self.second = beyond(2 * self.half).max(self.first + 1);
        self.every = self.half / self.goal + 1;
        self.base = Some(next);
        // The buffer that says PSH after what was written at once.
        let pushes = (beyond(AT_ONCE).saturating_sub(self.second)).div_ceil(self.every);
        self.drains = next.saturating_add((self.second + pushes * self.every) * self.goal);
    }

    /// The end of the buffer that holds this byte, and whether it says PSH for half a window's sake.
    #[inline(always)]
    pub fn end(&mut self, byte: u64) -> (u64, bool) {
        if byte < self.known.0 || byte >= self.known.1 {
            self.known = self.find(byte);
        }
        (self.known.1, self.known.2)
    }

    #[inline(never)]
    fn find(&self, byte: u64) -> (u64, u64, bool) {
        let base = self.base.unwrap_or(self.start);
        let number = byte.saturating_sub(base) / self.goal + 1;
        let push = number == self.first || (number >= self.second && (number - self.second) % self.every == 0);
        let end = base + number.saturating_mul(self.goal);
        let begin = byte - byte.saturating_sub(base) % self.goal;
        (begin, end, (push && self.base.is_some()) || self.full == Some(end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn pushed(gso: bool) -> Vec<u64> {
        let mss = 1448;
        let mut buffers = Buffers::written(0, 65_160, mss, if gso { u32::MAX } else { 1 });
        buffers.settle(10 * 1448, 65_160);
        let ends = (10..200).map(|segment| (segment + 1, buffers.end(segment * 1448)));
        ends.filter(|(next, (end, push))| *push && *end == next * 1448).map(|(next, _)| next).collect()
    }

    /// A write without end: what is not in the socket's buffer at once is cut by half of the window that there is by then.
    #[test]
    fn buffers_written_later_follow_the_window() {
        let mss = 1448;
        let mut buffers = Buffers::written(0, 65_160, mss, u32::MAX);
        buffers.settle(14_480, 65_160);
        let pushes = |buffers: &mut Buffers, from: u64| {
            let ends = (from / 1448..from / 1448 + 600).map(|segment| buffers.end(segment * 1448));
            let mut ends = ends.filter(|(_, push)| *push).map(|(end, _)| end).collect::<Vec<_>>();
            ends.dedup();
            ends.windows(2).map(|pair| (pair[1] - pair[0]) / 1448).collect::<Vec<_>>()
        };
        buffers.settle(2_000_000, 2_000_000);
        assert!(
            pushes(&mut buffers, 2_000_000).iter().all(|&segments| segments == 44),
            "written with the first window"
        );
        buffers.settle(5_000_000, 2_000_000);
        // A million bytes are 690.6 segments: 16 buffers of 45.
        let ends = pushes(&mut buffers, 5_000_000 / 1448 * 1448 + 1448);
        assert!(ends.iter().all(|&segments| segments == 720), "{ends:?}");
        assert_eq!(buffers.goal, 45 * 1448);
    }

    /// tcp_sendmsg_locked: data that is written behind other fills its last buffer up, and takes PSH from it; a buffer that is
    /// full keeps it. The buffers of what was written first stay.
    #[test]
    fn a_write_behind_another_goes_into_its_buffers() {
        let at = |bytes| {
            let mut buffers = Buffers::written(0, 65_160, 1448, u32::MAX);
            buffers.settle(14_480, 65_160);
            let before = [20_000, 60_000, 90_000].map(|byte| buffers.end(byte));
            buffers.written_behind(bytes);
            assert_eq!(before[..2], [20_000, 60_000].map(|byte| buffers.end(byte)));
            buffers.end(bytes - 1)
        };
        let full = 14_480 + 3 * 22 * 1448;
        assert_eq!(at(full), (full, true));
        assert_eq!(at(full - 1448), (full, false));
    }

    /// tcp_sendmsg_locked by hand, with a window of 65,160 bytes, of which half is 22.5 segments, and 10 segments sent at
    /// once. Buffers are of 22 segments: the first is filled up to 24 when 2 are sent, which passes half of the window, and to
    /// 32 when 10 are; of the next ones each second passes it. Without segmentation buffers are of one.
    #[test]
    fn half_a_window_is_pushed() {
        assert_eq!(pushed(true), [32, 54, 98, 142, 186]);
        assert_eq!(pushed(false), [23, 46, 69, 92, 115, 138, 161, 184]);
    }
}
