//! # SACK
//!
//! The receiver reports what it holds beyond the acknowledgement; the sender sends only what is missing, and keeps about
//! a window's worth in the network during recovery (Fall & Floyd 1996; RFC 2018, RFC 6675).
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | RFC 6675: pipe is computed from the scoreboard | Fall & Floyd's counter: less one for each duplicate, less two for a partial acknowledgement, plus one for each segment sent | ns-2's `Agent/TCP/Sack1` counts; RFC 6675 came later |
//! | RFC 6675: recovery starts at three duplicates, or as soon as the scoreboard shows the loss | at three | ns-2 |
//! | RFC 6675, rule 4 of NextSeg: a rescue retransmission | none, though it should be sent | ns-2 |
//! | RFC 6675, Sec. 5.1: after a timeout prior reports are ignored, and those that come then should be used | both are ignored: everything is sent again | ns-2 |
//! | RFC 6675: at the end the window is the threshold | the same; the acknowledgement that ends the recovery does not make it grow | ns-2 |

use super::Recovery;
use crate::cc::CongestionControl;
use crate::papers::send_core::{CongestionState, Core, DUP_THRESH, SendQuota};
use crate::reassembly;
use crate::segment::{Options, Plain, Segment};
use alloc::vec::Vec;
use sluicegate_base::Time;

/// The state of a SACK sender.
#[derive(Clone, Debug, Default)]
pub struct Sack {
    /// What the receiver has reported, disjoint, in order, all beyond the acknowledgement.
    board: Vec<(u64, u64)>,
    /// The last segment that has reported any.
    report: Segment,
    recovering: bool,
    /// Up to here everything that is missing has been sent again (HighRxt).
    high: u64,
    /// What is thought to be under way, in segments.
    pipe: i64,
    /// Duplicates mean nothing between a timeout and the next new acknowledgement.
    timed_out: bool,
}

impl Sack {
    /// What the acknowledgement that comes next reports.
    pub fn note(&mut self, segment: &Segment) {
        self.report = *segment;
    }

    /// Enters what a segment reports; says whether anything in it is new.
    fn update(&mut self, una: u64, max: u64, segment: &Plain) -> bool {
        let mut news = false;
        self.board.retain(|&(_, end)| end > una);
        if segment.kinds & Options::SACKS == 0 {
            return false;
        }
        let report = self.report;
        for (start, end) in report.ranges() {
            let (start, end) = (start.max(una), end.min(max));
            let known = self.board.iter().any(|&(s, e)| s <= start && end <= e);
            if start >= end || known {
                continue;
            }
            news = true;
            reassembly::merge(&mut self.board, start, end);
        }
        news
    }

    /// The first missing byte from `high` on that lies below something the receiver holds.
    fn hole(&self, una: u64) -> Option<u64> {
        let from = self.high.max(una);
        let mut at = from;
        for &(start, end) in &self.board {
            if at < start {
                return Some(at);
            }
            at = at.max(end);
        }
        None
    }

    fn begin(&mut self, core: &mut Core, halve: bool, now: Time) {
        self.recovering = true;
        // The duplicates have left the network; the lost segment is sent again without counting.
        self.pipe = (core.max - core.una).div_ceil(u64::from(core.mss)) as i64 - i64::from(DUP_THRESH);
        self.high = core.end_of(core.una);
        core.enter(halve, now);
        core.quota = SendQuota::Nothing;
    }
}

impl Recovery for Sack {
    fn on_new_ack(&mut self, core: &mut Core, segment: &Plain, now: Time) {
        self.timed_out = false;
        // A mark from beyond the recovery has ended it, though it has moved `recover`; to ns-2 it goes on.
        let marked = core.state != CongestionState::Recovery && !core.ns2_rules;
        if !self.recovering {
            let acked = core.acknowledge(segment.ack, now);
            core.grow(segment, acked, now);
            self.board.clear();
        } else if marked || segment.ack + 1 >= core.recover {
            self.recovering = false;
            // What was first sent during this recovery may be lost too, and is to be recovered as quickly (RFC 6675;
            // ns-2), unless the window has just been cut for its mark.
            if !marked {
                core.state = CongestionState::Open;
                core.recover = 0;
            }
            core.acknowledge(segment.ack, now);
            self.board.clear();
        } else {
            // A partial acknowledgement: the segment that was lost and the one that replaced it have both left.
            self.pipe -= 2;
            core.advance(segment.ack);
            core.end_back_off();
            core.restart_timer_only(now);
            self.update(core.una, core.max, segment);
        }
        core.quota = SendQuota::Window;
    }

    fn on_dup_ack(&mut self, core: &mut Core, segment: &Plain, now: Time) {
        self.pipe -= 1;
        if self.timed_out {
            core.quota = SendQuota::Window;
            return;
        }
        let news = self.update(core.una, core.max, segment);
        if self.recovering {
            core.quota = SendQuota::Window;
            return;
        }
        core.quota = SendQuota::Nothing;
        if !news {
            return;
        }
        core.dupacks += 1;
        if core.dupacks == DUP_THRESH {
            let halve = core.recovered();
            if halve || core.state == CongestionState::Cwr {
                self.begin(core, halve, now);
            }
        } else if core.dupacks < DUP_THRESH && core.limited_transmit {
            core.quota = SendQuota::One;
        }
    }

    fn on_timeout(&mut self, core: &mut Core, _now: Time) {
        core.dupacks = 0;
        *self = Sack { timed_out: true, ..Sack::default() };
    }

    fn open(&self, core: &Core) -> bool {
        if self.recovering { self.pipe < core.cc.cwnd() as i64 } else { core.fits(0) }
    }

    fn next(&mut self, core: &mut Core) -> Option<u64> {
        if !self.recovering || !matches!(core.quota, SendQuota::Window | SendQuota::Delayed) {
            return core.next_in_window();
        }
        let within = |core: &Core, at: u64| at + u64::from(core.length_at(at)) <= core.una.saturating_add(core.wnd);
        let hole = self.hole(core.una).filter(|&at| within(core, at));
        let new = Some(core.nxt).filter(|&at| core.sendable(at) && within(core, at));
        let Some(at) = hole.or(new).filter(|_| self.open(core)) else {
            core.quota = SendQuota::Nothing;
            return None;
        };
        self.pipe += 1;
        let end = core.end_of(at);
        if hole == Some(at) {
            // A retransmission stops where the receiver's next range begins.
            self.high =
                self.board.iter().map(|&(start, _)| start).find(|&start| start > at).map_or(end, |s| s.min(end));
        }
        core.nxt = core.nxt.max(end);
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(ack: u64, ranges: &[(u64, u64)]) -> Segment {
        let mut segment = Segment { ack, ..Segment::default() };
        ranges.iter().for_each(|&range| segment.report(range));
        segment
    }

    fn update(sack: &mut Sack, una: u64, segment: &Segment) -> bool {
        sack.note(segment);
        sack.update(una, 1000, &segment.plain())
    }

    #[test]
    fn the_scoreboard_joins_ranges_and_knows_news() {
        let mut sack = Sack::default();
        assert!(update(&mut sack, 0, &report(0, &[(200, 300)])));
        assert!(update(&mut sack, 0, &report(0, &[(400, 500), (200, 300)])));
        assert!(!update(&mut sack, 0, &report(0, &[(400, 500)])));
        assert!(update(&mut sack, 0, &report(0, &[(300, 400)])));
        assert_eq!(sack.board, [(200, 500)]);
        assert!(!update(&mut sack, 600, &report(600, &[])));
        assert!(sack.board.is_empty());
        assert!(!update(&mut sack, 600, &report(600, &[(2000, 3000)])), "beyond what was ever sent");
    }

    #[test]
    fn holes_are_sent_once_each_in_order() {
        let mut sack = Sack::default();
        update(&mut sack, 0, &report(0, &[(100, 200), (300, 400)]));
        assert_eq!(sack.hole(0), Some(0));
        sack.high = 100;
        assert_eq!(sack.hole(0), Some(200));
        sack.high = 300;
        assert_eq!(sack.hole(0), None, "nothing is known of what lies beyond the last range");
    }
}
