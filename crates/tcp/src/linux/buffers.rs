//! How what an application writes lies in buffers until it is sent (net/ipv4/tcp.c, `tcp_sendmsg_locked`): each has so many
//! full segments as a device can segment, and no more than half of the other end's window. Each time that half a window has
//! been written, and at the end of a write, one ends with PSH.
//!
//! | what Linux does | what we do | why |
//! |---|---|---|
//! | the application writes as the buffers drain | all at once, when it has it | hosts here have the memory; buffers only tell where PSH is, and which burst is complete |

/// The most bytes of a buffer (gso_max_size).
const LARGEST: u64 = 65_536;

/// The buffers of what was written last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffers {
    /// The most segments of a buffer.
    segments: u64,
    /// Where the write begins; where the buffers begin that the first sending leaves, once that is known; how long each is.
    start: u64,
    base: Option<u64>,
    goal: u64,
    /// Half of the other end's window then.
    half: u64,
    /// Which buffers say PSH: the first that does, the second, and then each so manieth.
    first: u64,
    second: u64,
    every: u64,
}

impl Buffers {
    /// Nothing written; whether the device segments.
    pub fn new(gso: bool) -> Buffers {
        let segments = if gso { u64::MAX } else { 1 };
        Buffers { segments, start: 0, base: None, goal: 1, half: 0, first: 1, second: 1, every: 1 }
    }

    /// The application writes from `start` on; the other end's window was `window` bytes at most (tcp_xmit_size_goal).
    pub fn written(&mut self, start: u64, window: u64, mss: u32) {
        let (half, mss) = (window / 2, u64::from(mss));
        let goal = (LARGEST.min(half) / mss).clamp(1, self.segments) * mss;
        *self = Buffers { start, base: None, goal, half, ..*self };
    }

    /// What could go out at once has, up to `next`: what is left was filled up while the application still wrote.
    pub fn settle(&mut self, next: u64) {
        if self.base.is_some() {
            return;
        }
        let sent = next.saturating_sub(self.start);
        let beyond = |bytes: u64| bytes.saturating_sub(sent) / self.goal + 1;
        // forced_push: more than half a window since the last PSH.
        self.first = beyond(self.half);
        self.second = beyond(2 * self.half).max(self.first + 1);
        self.every = self.half / self.goal + 1;
        self.base = Some(next);
    }

    /// The end of the buffer that holds this byte, and whether it says PSH for half a window's sake.
    pub fn end(&self, byte: u64) -> (u64, bool) {
        let base = self.base.unwrap_or(self.start);
        let number = byte.saturating_sub(base) / self.goal + 1;
        let push = number == self.first || (number >= self.second && (number - self.second) % self.every == 0);
        (base + number.saturating_mul(self.goal), push && self.base.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn pushed(gso: bool) -> Vec<u64> {
        let mss = 1448;
        let mut buffers = Buffers::new(gso);
        buffers.written(0, 65_160, mss);
        buffers.settle(10 * 1448);
        let ends = (10..200).map(|segment| (segment + 1, buffers.end(segment * 1448)));
        ends.filter(|(next, (end, push))| *push && *end == next * 1448).map(|(next, _)| next).collect()
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
