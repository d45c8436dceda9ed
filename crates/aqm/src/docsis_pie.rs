//! # DOCSIS-PIE
//!
//! The variant of PIE that DOCSIS 3.1 requires of cable modems for their upstream. It predicts the queueing delay from the length
//! of the queue and the rate of the service flow, scales the drop probability by the length of the packet, and has a third state
//! in which a single packet is dropped early in a burst before the rest of it is spared.
//!
//! ```text
//! for each arrival:                                                                                       (RFC 8034, App. A.3)
//!     the buffer is full?  accu_p ← 0, drop it
//!     burst_allowance > 0?  queue it
//!     if p = 0:  accu_p ← 0
//!     inactive:  less than a third of the buffer is full? queue it;  else quiescent
//!     p1 ← min(p·length/1024, 0.85);  accu_p ← accu_p + p1
//!     (qdelay_old < target/2 and p < 0.2), or q ≤ 2·1024 bytes, or accu_p < 0.85?  queue it
//!     with probability p1, or for certain if accu_p ≥ 8.5:  accu_p ← 0, drop it
//!         quiescent:  active, burst_allowance ← max_burst
//! every t_update:  qdelay ← q/rate                                                                        (RFC 8034, App. A.2)
//!     burst_allowance > 0?  p ← 0, burst_allowance ← max(0, burst_allowance − t_update)
//!     else:  Δ ← alpha·(qdelay − target) + beta·(qdelay − qdelay_old), scaled by p as in PIE, and by 2, 8 and 32
//!                if p ≥ 0.1, p ≥ 1 and p ≥ 10;     if p ≥ 0.1:  Δ ← min(Δ, 0.02)
//!            p ← p + Δ;   qdelay < 5 ms and qdelay_old < 5 ms?  p ← 0.98·p;   else qdelay > 200 ms?  p ← p + 0.02
//!            p within 0 and 0.85·1024/64
//!     quiet:  p = 0, burst_allowance = 0 and both delays below target/2
//!         active and quiet?  quiescent;     quiescent and quiet for more than 1 s?  inactive
//!     qdelay_old ← qdelay
//! ```
//!
//! `state` shows `p`, which may exceed 1, `qdelay_s`, `burst_allowance_s`, and `aqm_state`: 0 inactive, 1 quiescent, 2 active.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | DOCSIS-PIE is a form of PIE | a discipline of its own beside `pie` | its constants are other defaults, it has no ECN, and most options of `pie` have no place in it |
//! | qdelay from the queue and the tokens of the maximum sustained and the peak rate (App. A.2) | the queue over the link's rate | a link has one rate; without a traffic burst there are no tokens |
//! | lengths are of whole MAC PDUs, without DOCSIS overhead (App. A.1.4) | each packet counts with 18 bytes of Ethernet, 64 at the least; `limit` is in bytes of IP | so the prediction is exact on a link with `framing = "docsis"`, which is what the discipline is for; on other links it is 1.2 % too long for 1500 bytes |
//! | packets may wait for grants, 4 to 8 ms (Sec. 4.2) | not part of the prediction, nor of the RFC's | the link's `jitter` delays them after the queue |
//! | BUFFER_SIZE is configured; the RFC has no value | `limit`: 250 ms at the link's rate, ten packets at least | so that LATENCY_HIGH can be exceeded. Early drops begin with a third of it: 83 ms |
//! | packet lengths may be rounded to one of nine (App. A.3) | they are not | the RFC says "can" |
//! | INTERVAL, A, B, MAX_BURST are constants | parameters | a laboratory may try others |
//! | the update runs every INTERVAL | at multiples of `t_update` from the start of the run; not while it would change nothing (no packet, p = 0, inactive) | as `pie` |
//! | a queue for each service flow | one queue; `priority` or `drr` over several | these two disciplines have the classes |
//! | nothing on Linux | no `tc` line | neither Linux nor FreeBSD has it; near it: `pie` with `target 10ms tupdate 16ms bytemode` |

use crate::periodic_timer::PeriodicTimer;
use crate::pie::{ACCUMULATED, SCALES, STEP};
use crate::prelude::*;

discipline! {
    DocsisPie: "docsis_pie", "DOCSIS-PIE",
    source("RFC 8034 (White & Pan 2017)"),
    drops(Tail, Early),
    remembers(None),

    /// Parameters of [`DocsisPie`].
    pub struct DocsisPieParams {
        /// Desired queueing delay.
        target: Span = default(Span::from_millis(10)), range(Range::POSITIVE), source("RFC 8034, Sec. 4.1: LATENCY_TARGET");
        /// Time from one update of p to the next.
        t_update: Span = default(Span::from_millis(16)), range(Range::POSITIVE), source("RFC 8034, App. A.1.2: INTERVAL");
        /// Gain of the delay's distance from the target, per second.
        alpha: f64 = default(0.25), unit("Hz"), range(Range::from(0.0)), source("RFC 8034, App. A.1.2: A");
        /// Gain of the delay's change, per second.
        beta: f64 = default(2.5), unit("Hz"), range(Range::from(0.0)), source("RFC 8034, App. A.1.2: B");
        /// Length of a burst that has no further drops after the first one.
        max_burst: Span = default(Span::from_millis(142)), range(Range::from(0.0)),
            source("RFC 8034, App. A.1.2: MAX_BURST");
        /// Largest length of the queue, without the packet in transmission. Early drops begin when the queue reaches a
        /// third of it. They end after more than a second with p = 0 and delays below half the target, until the queue
        /// reaches a third again.
        limit: Size = derived("250 ms at the link's rate, at least ten of its typical packets",
            |link| Size::Bytes((link.rate.0 / 32).max(10 * link.packet.max(1)))),
            unit("packets"), range(Range::from(1.0)), source("Sluicegate; RFC 8034, App. A.1.1: BUFFER_SIZE");
        /// The rate at which the queue is served.
        bandwidth: Rate = derived("the link's rate", |link| link.rate), range(Range::POSITIVE),
            source("RFC 8034, App. A.1.1: MSR");
    }
}

const MEAN_PKTSIZE: u64 = 1024;
const MIN_PKTSIZE: u64 = 64;
const LATENCY_LOW: Span = Span::from_millis(5);
const LATENCY_HIGH: Span = Span::from_millis(200);
const BURST_RESET_TIMEOUT: Span = Span::from_millis(1000);
const PROB_LOW: f64 = ACCUMULATED[0];
const PROB_HIGH: f64 = ACCUMULATED[1];

/// The bytes of a packet's MAC PDU: an Ethernet frame.
fn mac_pdu(packet: &impl Packet) -> u64 {
    (packet.bytes() + 18).max(MIN_PKTSIZE)
}

/// Whether early drops are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AqmState {
    /// The queue has stayed below a third of the buffer: there are none.
    Inactive,
    /// The first drop begins a spell of burst protection.
    Quiescent,
    /// As PIE.
    Active,
}

/// A first-in-first-out queue under DOCSIS-PIE.
#[derive(Clone, Debug)]
pub struct DocsisPie<P> {
    params: DocsisPieParams,
    fifo: Fifo<P>,
    /// The MAC PDUs in the queue.
    byte_length: u64,
    updates: PeriodicTimer,
    p: f64,
    accu_p: f64,
    qdelay_old: Span,
    burst_allowance: Span,
    /// For how long it has been quiet.
    burst_reset: Span,
    aqm_state: AqmState,
}

impl<P: Packet> DocsisPie<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(params: DocsisPieParams) -> Self {
        DocsisPie {
            fifo: Fifo::new(params.limit),
            byte_length: 0,
            updates: PeriodicTimer::new(params.t_update),
            p: 0.0,
            accu_p: 0.0,
            qdelay_old: Span::ZERO,
            burst_allowance: Span::ZERO,
            burst_reset: Span::ZERO,
            aqm_state: AqmState::Inactive,
            params,
        }
    }

    fn qdelay(&self) -> Span {
        self.params.bandwidth.time_of(self.byte_length)
    }

    /// Whether a delay is below half the target.
    fn is_short(&self, delay: Span) -> bool {
        delay < Span(self.params.target.0 / 2)
    }

    fn drop_early(&mut self, packet: &P, rng: &mut Stream) -> bool {
        if self.burst_allowance.0 > 0 {
            return false;
        }
        if self.p == 0.0 {
            self.accu_p = 0.0;
        }
        if self.aqm_state == AqmState::Inactive {
            if self.fifo.length_in(self.params.limit).saturating_mul(3) < self.params.limit.amount() {
                return false;
            }
            self.aqm_state = AqmState::Quiescent;
        }
        let p1 = libm::fmin(self.p * mac_pdu(packet) as f64 / MEAN_PKTSIZE as f64, PROB_LOW);
        self.accu_p += p1;
        if (self.is_short(self.qdelay_old) && self.p < 0.2)
            || self.byte_length <= 2 * MEAN_PKTSIZE
            || self.accu_p < PROB_LOW
            || (self.accu_p < PROB_HIGH && !rng.chance(p1))
        {
            return false;
        }
        self.accu_p = 0.0;
        if self.aqm_state == AqmState::Quiescent {
            self.aqm_state = AqmState::Active;
            self.burst_allowance = self.params.max_burst;
        }
        true
    }

    fn calculate_drop_prob(&mut self) {
        let (qdelay, old) = (self.qdelay(), self.qdelay_old);
        if self.burst_allowance.0 > 0 {
            self.p = 0.0;
            self.burst_allowance = self.burst_allowance - self.params.t_update;
        } else {
            let (alpha, beta, target) = (self.params.alpha, self.params.beta, self.params.target.as_secs());
            let change = alpha * (qdelay.as_secs() - target) + beta * (qdelay.as_secs() - old.as_secs());
            let scales = SCALES.iter().chain(&[(1.0, 0.5), (10.0, 0.125)]);
            let divisor = scales.copied().find(|(below, _)| self.p < *below).map_or(0.03125, |(_, divisor)| divisor);
            let change = change / divisor;
            self.p += if self.p >= 0.1 { libm::fmin(change, STEP) } else { change };
            if qdelay < LATENCY_LOW && old < LATENCY_LOW {
                self.p *= 0.98;
            } else if qdelay > LATENCY_HIGH {
                self.p += STEP;
            }
            self.p = self.p.clamp(0.0, PROB_LOW * MEAN_PKTSIZE as f64 / MIN_PKTSIZE as f64);
        }
        let quiet = self.is_short(qdelay) && self.is_short(old) && self.p == 0.0 && self.burst_allowance.0 == 0;
        match self.aqm_state {
            AqmState::Active if quiet => {
                self.aqm_state = AqmState::Quiescent;
                self.burst_reset = Span::ZERO;
            }
            AqmState::Quiescent if quiet => {
                self.burst_reset = self.burst_reset + self.params.t_update;
                if self.burst_reset > BURST_RESET_TIMEOUT {
                    self.burst_reset = Span::ZERO;
                    self.aqm_state = AqmState::Inactive;
                }
            }
            AqmState::Quiescent => self.burst_reset = Span::ZERO,
            _ => {}
        }
        self.qdelay_old = qdelay;
    }
}

impl<P: Packet> Discipline<P> for DocsisPie<P> {
    fn enqueue(&mut self, packet: P, ctx: &mut Ctx<'_, P>) {
        // Updates that passed unasked changed nothing.
        self.updates.skip_missed(ctx.now);
        if !self.fifo.has_room(&packet) {
            self.accu_p = 0.0;
            ctx.drop(packet, DropReason::Tail);
        } else if self.drop_early(&packet, ctx.rng) {
            ctx.drop(packet, DropReason::Early);
        } else {
            self.byte_length += mac_pdu(&packet);
            self.fifo.push(packet);
        }
    }

    fn dequeue(&mut self, _ctx: &mut Ctx<'_, P>) -> Option<P> {
        let (packet, ()) = self.fifo.pop_with()?;
        self.byte_length -= mac_pdu(&packet);
        Some(packet)
    }

    /// None while updates would change nothing.
    fn next_wakeup(&self) -> Option<Time> {
        let at_rest = self.fifo.packets() == 0
            && self.p == 0.0
            && self.qdelay_old.0 == 0
            && self.burst_allowance.0 == 0
            && self.aqm_state == AqmState::Inactive;
        (!at_rest).then(|| self.updates.due())
    }

    fn wake(&mut self, ctx: &mut Ctx<'_, P>) {
        while self.updates.tick(ctx.now) {
            self.calculate_drop_prob();
        }
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        &self.fifo
    }

    fn state(&self, visit: &mut dyn FnMut(Option<FlowKey>, &'static str, f64)) {
        visit(None, "p", self.p);
        visit(None, "qdelay_s", self.qdelay().as_secs());
        visit(None, "burst_allowance_s", self.burst_allowance.as_secs());
        visit(None, "aqm_state", f64::from(self.aqm_state as u8));
    }
}

impl<P: Packet> Configure<P> for DocsisPie<P> {
    fn configure(&mut self, params: DocsisPieParams, ctx: &mut Ctx<'_, P>) {
        self.updates.skip_missed(ctx.now);
        self.updates.set_period(ctx.now, params.t_update);
        self.fifo.resize(params.limit, ctx);
        self.byte_length = self.fifo.iter().map(mac_pdu).sum();
        self.burst_allowance = self.burst_allowance.min(params.max_burst);
        self.params = params;
    }
}

#[cfg(test)]
mod tests;
