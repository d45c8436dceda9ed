//! # Vegas's recovery as ns-2 has it
//!
//! Every segment is timed by itself. A first duplicate acknowledgement, and the first two acknowledgements after a
//! retransmission, send a segment again that has been under way for longer than a fine-grained timeout (Brakmo & Peterson
//! 1995, Sec. III-A); else three duplicates do. After `tcp-vegas.cc` of ns-2.35:
//!
//! | what the paper says | what ns-2 does, and we with it |
//! |---|---|
//! | the fine-grained timeout is checked for a first or second duplicate | for each one |
//! | the window is cut if the segment was sent after the last cut | by `vegas_cut`, rounded up; by half for a segment sent again; to two from three or fewer |
//! | Reno's inflation and deflation | a recovery of less than four duplicates leaves the inflation in the window |
//! | nothing on the timer | each retransmission backs it off |
//! | duplicates of what a timeout sends again are no loss | the same; but from the fourth on they inflate the window, and the next acknowledgement closes the window to nothing, until the timer expires |
//! | send times are kept until acknowledged | in a ring of a window's slots; an acknowledgement of segments on both sides of the ring's end leaves their send times in it |
//! | the check after a retransmission is of the oldest segment under way | where none is, the next new one goes out twice |
//! | nothing on limited transmit | none, whatever the host says |
//! | nothing on the opening | a first segment of data instead of a SYN, acknowledged at once; it is not a measurement |
//! | nothing on idling | the timer goes on, expires and backs off |
//!
//! In one point we differ from ns-2: past the end of a transfer we send nothing.

use super::Recovery;
use crate::cc::{CongestionControl, TimedAck, TimedRound};
use crate::papers::cc::whole;
use crate::papers::send_core::{CongestionState, Core, DUP_THRESH, SendQuota};
use crate::segment::Plain;
use alloc::{vec, vec::Vec};
use sluicegate_base::{Span, Time};

/// When a segment was last sent, counted from the opening, and how often.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Slot {
    sent: Option<Span>,
    times: u32,
}

/// The state of ns-2's Vegas beyond its window. Times are counted from the opening.
#[derive(Clone, Debug)]
pub struct VegasNs2 {
    /// The share of the window that a retransmission takes.
    cut: f64,
    /// The window from the second acknowledgement on.
    initial_window: f64,
    /// When the first segment was last sent by the window.
    origin: Time,
    /// One slot for each segment that the receiver's window holds.
    ring: Vec<Slot>,
    /// The fine-grained timeout, eight times its mean and four times its deviation, in seconds; none before the first
    /// acknowledgement.
    timeout: Option<f64>,
    mean: f64,
    deviation: f64,
    /// BaseRTT.
    base: Span,
    /// The sum of the round's measurements, and their number.
    sum: Span,
    count: u64,
    /// The round ends with the acknowledgement of this byte, and began then.
    tag: u64,
    began: Span,
    /// When the window was last cut.
    changed: Span,
    /// The window that the last cut left.
    kept: f64,
    /// Acknowledgements that have yet to check for an expired segment.
    checks_left: u64,
}

impl VegasNs2 {
    /// A sender that has sent nothing, to a receiver with a window of so many segments.
    #[must_use]
    pub fn new(window: u64, initial_window: f64, cut: f64) -> VegasNs2 {
        VegasNs2 {
            cut,
            initial_window,
            origin: Time::ZERO,
            ring: vec![Slot::default(); window.max(1) as usize],
            timeout: None,
            mean: 0.0,
            deviation: 0.0,
            base: Span::ZERO,
            sum: Span::ZERO,
            count: 0,
            tag: 0,
            began: Span::ZERO,
            changed: Span::ZERO,
            kept: 0.0,
            checks_left: 0,
        }
    }

    fn slot(&self, core: &Core, at: u64) -> usize {
        (at / u64::from(core.mss) % self.ring.len() as u64) as usize
    }

    /// The segment at this byte leaves, sent again by a loss or let out by the window.
    pub(crate) fn on_send(&mut self, core: &Core, at: u64, again: bool, now: Time) {
        if at == 0 {
            if !again {
                self.origin = now;
            }
            self.ring.fill(Slot::default());
        }
        let at = self.slot(core, at);
        let slot = &mut self.ring[at];
        *slot = Slot { sent: Some(now.since(self.origin)), times: slot.times + 1 };
    }

    /// The time since the opening; the first acknowledgement makes it the first measurement.
    fn since_opening(&mut self, now: Time) -> Span {
        let now = now.since(self.origin);
        if self.timeout.is_none() {
            self.base = now;
            (self.mean, self.deviation) = (8.0 * now.as_secs(), now.as_secs());
            self.timeout = Some((self.mean / 4.0 + self.deviation) / 2.0);
        }
        now
    }

    /// Whether the first segment not acknowledged has been under way for longer than the fine-grained timeout. One that was
    /// never sent left a second before the opening, to ns-2.
    fn expired(&self, core: &Core, now: Span) -> bool {
        let elapsed = match self.ring[self.slot(core, core.una)].sent {
            Some(sent) => now - sent,
            None => now + Span::from_secs(1),
        };
        self.timeout.is_some_and(|timeout| elapsed.as_secs() >= timeout)
    }

    fn resend(core: &mut Core) {
        if core.sendable(core.una) {
            core.resend = true;
        }
    }

    /// A round trip of a segment that was sent once.
    fn sample(&mut self, rtt: Span) {
        self.sum = self.sum + rtt;
        self.count += 1;
        if rtt > Span::ZERO {
            self.base = self.base.min(rtt);
            let off = rtt.as_secs() - self.mean / 8.0;
            self.mean += off;
            self.deviation += off.abs() - self.deviation / 4.0;
            let timeout = (self.mean / 4.0 + self.deviation) / 2.0;
            self.timeout = Some(timeout + timeout / 16.0);
        }
    }

    /// The round that an acknowledgement ends, if it does: its mean, and the segments sent since it began.
    fn round(&mut self, core: &Core, now: Span) -> Option<TimedRound> {
        if core.una <= self.tag {
            return None;
        }
        let rtt = self.sum.0.checked_div(self.count).map_or(now - self.began, Span);
        (self.sum, self.count) = (Span::ZERO, 0);
        let sent = segments(core, core.nxt - self.tag);
        (self.tag, self.began) = (core.nxt, now);
        if rtt == Span::ZERO {
            return None;
        }
        if rtt < self.base || sent <= 1.0 {
            self.base = rtt;
        }
        Some(TimedRound { rtt, base: self.base, sent })
    }
}

fn segments(core: &Core, bytes: u64) -> f64 {
    bytes.div_ceil(u64::from(core.mss)) as f64
}

impl Recovery for VegasNs2 {
    fn on_new_ack(&mut self, core: &mut Core, segment: &Plain, now: Time) {
        let elapsed = self.since_opening(now);
        let first = core.una;
        // Whatever the opening began with.
        if first == u64::from(core.mss) {
            core.cc.set_cwnd(self.initial_window);
        }
        let recovered = core.dupacks > DUP_THRESH && core.cc.cwnd() > self.kept;
        if recovered {
            core.cc.set_cwnd(self.kept);
        }
        core.acknowledge(segment.ack, now);

        let round = self.round(core, elapsed);
        let flight = segments(core, core.nxt - core.una) + 1.0;
        core.cc.on_timed_ack(&TimedAck { flight, round, recovered });

        let (from, to) = (self.slot(core, first), self.slot(core, core.una - 1));
        let slot = self.ring[to];
        if from <= to {
            self.ring[from..=to].fill(Slot::default());
        }
        if let Some(sent) = slot.sent.filter(|&sent| slot.times == 1 && sent > Span::ZERO) {
            self.sample(elapsed - sent);
        }
        if self.checks_left > 0 {
            self.checks_left -= 1;
            if self.expired(core, elapsed) {
                core.dupacks = DUP_THRESH;
                VegasNs2::resend(core);
            } else {
                self.checks_left = 0;
            }
        }
        core.quota = SendQuota::Window;
    }

    fn on_dup_ack(&mut self, core: &mut Core, _segment: &Plain, now: Time) {
        let elapsed = self.since_opening(now);
        core.dupacks += 1;
        if self.expired(core, elapsed) || core.dupacks == DUP_THRESH {
            if core.state != CongestionState::Loss || core.una >= core.recover {
                let Slot { sent, times } = self.ring[self.slot(core, core.una)];
                let window = whole(core.window(0));
                core.recover = core.max + 1;
                core.state = CongestionState::Recovery;
                self.checks_left = ((core.nxt - core.una) / u64::from(core.mss) + 1).min(2);
                self.timeout = self.timeout.map(|t| if times > 1 { 2.0 * t } else { t + t / 8.0 });
                if sent.is_some_and(|sent| self.changed < sent) {
                    self.kept = match window {
                        ..=3.0 => 2.0,
                        _ if times > 1 => whole(window / 2.0),
                        _ => window - whole(window * self.cut),
                    };
                    core.cc.set_cwnd(self.kept + f64::from(core.dupacks));
                    self.changed = elapsed;
                }
                core.announce_cut();
                core.counters.fast_retransmits += 1;
                core.back_off();
                core.restart_timer(now);
                VegasNs2::resend(core);
                if times == 1 {
                    core.dupacks = DUP_THRESH;
                }
            }
        } else if core.dupacks > DUP_THRESH {
            core.cc.set_cwnd(core.cc.cwnd() + 1.0);
        }
        core.quota = if core.dupacks < DUP_THRESH { SendQuota::Nothing } else { SendQuota::Window };
    }

    fn on_timeout(&mut self, core: &mut Core, now: Time) {
        core.dupacks = 0;
        self.kept = 0.0;
        self.changed = now.since(self.origin);
    }
}
