//! Whether the congestion window limits the sender (Linux, `tcp_cwnd_validate`).

use crate::cc::{CongestionControl, CongestionController};

/// How far the last window of data used the congestion window, where that is asked before it grows (Linux,
/// `tcp_cwnd_validate`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CwndUsage {
    validated: bool,
    /// Whether the congestion window was full, and otherwise the most that was under way, in bytes.
    full: bool,
    most: u64,
    /// The byte that ends that window of data.
    end: u64,
}

impl CwndUsage {
    /// Nothing sent yet; whether it is asked at all.
    pub fn new(validated: bool) -> CwndUsage {
        CwndUsage { validated, ..CwndUsage::default() }
    }

    /// Whether it is asked at all.
    pub fn validated(&self) -> bool {
        self.validated
    }

    /// A segment has been sent; all before `nxt` is under way from `una` on.
    #[inline]
    pub fn note(&mut self, una: u64, nxt: u64, cwnd: f64, mss: u32) {
        if !self.validated {
            return;
        }
        let under_way = nxt - una;
        let full = under_way.div_ceil(u64::from(mss)) >= cwnd as u64;
        if full || una >= self.end || (!self.full && under_way > self.most) {
            *self = CwndUsage { full, most: under_way, end: nxt, ..*self };
        }
    }

    /// Whether the congestion window was the limit; in slow start, whether half of it was used.
    #[inline]
    pub fn limits(&self, cc: &CongestionController, mss: u32) -> bool {
        let slow_start = || cc.cwnd() < cc.ssthresh() && cc.cwnd() < 2.0 * self.most as f64 / f64::from(mss);
        !self.validated || self.full || slow_start()
    }
}
