//! # DualPI2
//!
//! Two queues with one controller. Packets of scalable senders (ECT(1), L4S) wait in a queue of their own, which is served
//! first and marks from a wait of about a millisecond on; all others wait in the classic queue, which PI2 holds at
//! `target`. The two are coupled: the controller's probability p' is squared for the classic queue and multiplied by k for
//! the other, so that a flow gets about the same rate in either.
//!
//! ```text
//! for each arrival:  both queues together have no room for it?  drop it                 (RFC 9332, App. A.1, Fig. 3)
//!     ECT(1) or CE:  to the end of the L queue;     else:  to the end of the C queue
//! the link can send, and the scheduler takes a packet from              (App. A.1, Figs. 4 and 5; App. A.2, Fig. 7)
//!     C:  with p_C:  overload, or it is not capable?  drop it, and take another;  else mark it
//!     L:  overload:  with p_C drop it, and take another
//!         with p_L = max(p'_L, p_CL):  mark it
//!             p'_L ← 0 while no more than Th_len packets are left in L;
//!                    else from 0 to 1 as its wait goes from minTh to minTh + range
//!         ECT(0), with ect = any_ect:  with (p_L/k)², and under overload with p_C alone               (Sec. 2.5.1.1)
//!     with p:        the queue's count ← count + p;  count > 1?  count ← count − 1, and do it       (Fig. 4, recur)
//!     overload:      p_CL = 1, and `overload` = drop_on_overload
//!     short queue:   p_C and p_CL count as 0 if the packet and all that wait have less than 2·max_packet bytes (App. A.1)
//! every Tupdate:                                                                      (App. A.1, Fig. 6; App. A.2, Fig. 8)
//!     curq ← how long the head of C or that of L has waited, whichever is longer; 0 if both are empty
//!     p' ← p' + alpha·(curq − target) + beta·(curq − prevq), kept within 0 and 1;   prevq ← curq
//!     p_C ← p'²;   p_CL ← k·p', at most 1;   `overload` = overflow: p' ≤ 1/k
//! the scheduler:                                                          (Linux, net/sched/sch_dualpi2.c)
//!     both hold packets:  L if credit ≤ 0, and then credit + w_C·length;  else C, and then credit − w_L·length
//!     one does:  that one;     neither:  credit ← max_packet·(w_C − w_L)
//! ```
//!
//! With `law` = linux the decisions are the kernel's:
//!
//! ```text
//! at departure, or with `drop_at` = enqueue at arrival, unless less than 2·max_packet bytes wait beside it:
//!     C:  two draws below p':  if it is capable and k·p' ≤ 1, mark it;  else drop it
//!     L:  k·p' ≤ 1:  a draw below k·p':  mark it
//!         k·p' > 1:  two draws below p', and `overload` = drop_on_overload:  drop it;  else mark it
//! L, at departure:  wait > step_thresh, and it found min_qlen_step packets or more in L:  mark it
//! ```
//!
//! `state` shows `p` (p'), `p_c`, `p_cl`, and the lengths of the two queues in packets.
//!
#![doc = include_str!("dualpi2.md")]

mod probability;
mod queues;

use crate::l4s::{Ect, OnOverload};
use crate::periodic_timer::PeriodicTimer;
use crate::prelude::*;
use probability::BaseProbability;
use queues::{Queue, Queues, Scheduled, Tag};
use sluicegate_base::Ecn;

choices! {
    /// Whose DualPI2 it is: rules and arithmetic.
    pub enum DualPi2Version {
        /// The RFC's: likelihoods are counted, and the L queue has a ramp.
        Rfc9332 = "rfc9332",
        /// The kernel's: likelihoods are drawn, and the L queue has a step.
        Linux = "linux",
    }
}

choices! {
    /// When the controller's probability is applied.
    pub enum DropAt {
        /// When a packet leaves.
        Dequeue = "dequeue",
        /// When a packet comes.
        Enqueue = "enqueue",
    }
}

discipline! {
    DualPi2: "dualpi2", "DualPI2",
    source("De Schepper, Briscoe & White 2023, RFC 9332; Linux, net/sched/sch_dualpi2.c"),
    tc("tc qdisc add dev DEV root dualpi2 limit LIMIT_PACKETS target TARGET tupdate TUPDATE alpha ALPHA beta BETA \
        step_thresh STEP_THRESH min_qlen_step MIN_QLEN_STEP coupling_factor COUPLING_FACTOR \
        classic_protection PERCENT [drop_on_overload|overflow] [drop_dequeue|drop_enqueue] [l4s_ect|any_ect]"),
    drops(Tail, Early),
    // The queues have probabilities of their own.
    proportional(),
    remembers(None, "two queues"),
    marks(always),
    overload(Drops, "from k·p' = 1 on, with p'², unless `overload` = overflow"),

    /// Parameters of [`DualPi2`].
    pub struct DualPi2Params {
        /// Largest total length of both queues, without the packet in transmission.
        limit: Size = default(Size::Packets(10_000)), unit("packets"), range(Range::from(1.0)),
            source("Linux, net/sched/sch_dualpi2.c"), tc("limit");
        /// The delay that the controller aims at.
        target: Span = default(Span::from_millis(15)), range(Range::above(0.0).to(3600.0)),
            source("RFC 9332, App. A.1, Fig. 2: 15 ms"), tc("target");
        /// Longest expected round-trip time, from which tupdate, alpha and beta follow.
        rtt_max: Span = default(Span::from_millis(100)), range(Range::from(1e-4).to(3600.0)),
            source("RFC 9332, App. A.1, Fig. 2: RTT_max, 100 ms"), tc("max_rtt");
        /// Time from one update of p' to the next.
        tupdate: Option<Span> = optional("min(target, rtt_max/3)"), range(Range::from(1e-6).to(3600.0)),
            source("RFC 9332, App. A.1, Fig. 2; Linux: 16 ms"), tc("tupdate");
        /// Gain of the delay's distance from the target, per second.
        alpha: Option<f64> = optional("0.1·tupdate/rtt_max²"), unit("Hz"), range(Range::from(0.0).to(8_388_607.0)),
            source("RFC 9332, App. A.1, Fig. 2; Linux: 41/256"), tc("alpha");
        /// Gain of the delay's change, per second.
        beta: Option<f64> = optional("0.3/rtt_max"), unit("Hz"), range(Range::from(0.0).to(8_388_607.0)),
            source("RFC 9332, App. A.1, Fig. 2; Linux: 819/256"), tc("beta");
        /// Packets of the L queue are marked if they wait at least this long.
        step_thresh: Span = default(Span(800_000)), range(Range::from(0.0).to(3600.0)),
            source("RFC 9332, App. A.1, Fig. 2: minTh, 800 µs; Linux: 1 ms"), tc("step_thresh");
        /// Above `step_thresh`, the probability of these marks rises to 1 over this delay; not with law = linux.
        ramp: Span = default(Span(400_000)), range(Range::from(0.0).to(3600.0)),
            source("RFC 9332, App. A.1, Fig. 2: range, 400 µs");
        /// If given, a packet of the L queue is marked if it leaves more than this many packets behind there, whatever its
        /// delay.
        step_thresh_packets: Option<u64> = optional("the packet's delay decides"), unit("packets"), range(Range::from(0.0)),
            source("Linux, net/sched/sch_dualpi2.c"), tc("step_thresh");
        /// A packet gets these marks only if it leaves more packets behind than this; with law = linux, only if it
        /// finds at least this many on arrival.
        min_qlen_step: u64 = default(1), unit("packets"), range(Range::from(0.0)),
            source("RFC 9332, App. A.1, Fig. 2: Th_len, 1; Linux: 0"), tc("min_qlen_step");
        /// k: the L queue is marked with k times p'.
        coupling_factor: f64 = default(2.0), unit("1"), range(Range::from(1.0).to(255.0)),
            source("RFC 9332, Sec. 2.5.1 and App. A.1, Fig. 2: 2"), tc("coupling_factor");
        /// The percentage of the link that the scheduler gives the classic queue while both queues hold packets.
        classic_protection: u64 = default(10), unit("%"), range(Range::from(0.0).to(100.0)),
            source("Linux, net/sched/sch_dualpi2.c"), tc("classic_protection");
        /// What happens when marks alone do not hold the queue.
        overload: OnOverload = default(OnOverload::Drop), source("RFC 9332, Sec. 2.5.1.1 and App. A.2; Linux"),
            tc("drop_on_overload, overflow");
        /// When the controller's probability is applied.
        drop_at: DropAt = default(DropAt::Dequeue), source("RFC 9332, App. A.1, Fig. 4; Linux"),
            tc("drop_dequeue, drop_enqueue");
        /// Which packets wait in the L queue.
        ect: Ect = default(Ect::L4s), source("RFC 9332, App. A.1, Fig. 3; Linux"), tc("l4s_ect, any_ect");
        /// The longest packet of the link. Two of them are always acceptable, and the scheduler's credit begins with
        /// this length.
        max_packet: Size = derived("the link's typical packet", |link| Size::Bytes(link.packet.max(1))),
            unit("B"), range(Range::from(1.0)), source("Linux: the MTU");
        /// The RFC's decisions and arithmetic, or the kernel's.
        law: DualPi2Version = default(DualPi2Version::Rfc9332),
            source("RFC 9332, App. A; Linux, net/sched/sch_dualpi2.c"), fixed(true);
    }
    rules {
        "max_packet is in bytes" [max_packet] |p| matches!(p.max_packet, Size::Bytes(_));
        "drop_at = enqueue needs law = linux" [drop_at, law]
            |p| p.drop_at == DropAt::Dequeue || p.law == DualPi2Version::Linux;
        "with law = linux coupling_factor is whole" [coupling_factor, law]
            |p| p.law == DualPi2Version::Rfc9332 || libm::floor(p.coupling_factor) == p.coupling_factor;
    }
}

impl DualPi2Params {
    fn tupdate(&self) -> Span {
        self.tupdate.unwrap_or_else(|| self.target.min(Span(self.rtt_max.0 / 3)).max(Span(1000)))
    }

    fn period(&self) -> Span {
        match self.law {
            DualPi2Version::Rfc9332 => self.tupdate(),
            DualPi2Version::Linux => kernels(self.tupdate()),
        }
    }

    /// 0.1·Tupdate/RTT_max², from nanoseconds.
    fn alpha(&self) -> f64 {
        let rtt_max = self.rtt_max.0 as f64;
        self.alpha.unwrap_or_else(|| 1e8 * self.tupdate().0 as f64 / rtt_max / rtt_max)
    }

    /// 0.3/RTT_max.
    fn beta(&self) -> f64 {
        self.beta.unwrap_or_else(|| 3e8 / self.rtt_max.0 as f64)
    }
}

/// The kernel keeps this time in whole microseconds from tc, as nanoseconds in 32 bits.
fn kernels(span: Span) -> Span {
    Span((span.0 / 1000 * 1000).min(u64::from(u32::MAX)))
}

/// Whether it is so, with this likelihood: RFC 9332, App. A.1, Fig. 4.
fn recur(count: &mut f64, likelihood: f64) -> bool {
    *count += likelihood;
    let so = *count > 1.0;
    if so {
        *count -= 1.0;
    }
    so
}

/// Whether a draw of 32 bits is at most this, as the kernel draws.
fn draw(rng: &mut Stream, p: u64) -> bool {
    rng.bits() >> 32 <= p
}

/// What is to be done with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signal {
    None,
    Mark,
    Drop,
}

impl Signal {
    /// The packet, unless it is dropped.
    fn carry_out<P: Packet>(self, mut packet: P, ctx: &mut Ctx<'_, P>) -> Option<P> {
        match self {
            Signal::Drop => {
                ctx.drop(packet, DropReason::Early);
                return None;
            }
            Signal::Mark => _ = packet.mark(),
            Signal::None => {}
        }
        Some(packet)
    }
}

/// Two coupled queues.
#[derive(Clone, Debug)]
pub struct DualPi2<P> {
    params: DualPi2Params,
    queues: Queues<P>,
    cq_count: f64,
    lq_count: f64,
    base: BaseProbability,
    updates: PeriodicTimer,
}

impl<P: Packet> DualPi2<P> {
    /// Empty queues.
    #[must_use]
    pub fn new(params: DualPi2Params) -> Self {
        DualPi2 {
            queues: Queues::new(&params),
            cq_count: 0.0,
            lq_count: 0.0,
            base: BaseProbability::default(),
            updates: PeriodicTimer::new(params.period()),
            params,
        }
    }

    /// The native AQM of the L queue: p'_L.
    fn laqm(&self, wait: Span) -> f64 {
        let DualPi2Params { step_thresh, ramp, step_thresh_packets, min_qlen_step, .. } = self.params;
        let behind = self.queues.len(Queue::L4s);
        if behind <= min_qlen_step {
            return 0.0;
        }
        match step_thresh_packets {
            Some(most) => f64::from(u8::from(behind > most)),
            None if wait >= step_thresh + ramp => 1.0,
            None if wait > step_thresh => (wait - step_thresh).0 as f64 / ramp.0 as f64,
            None => 0.0,
        }
    }

    /// Whether so little is queued, with so many bytes of a packet in question, that p' signals on none.
    fn short(&self, counted: u64) -> bool {
        self.queues.bytes() + counted < self.params.max_packet.amount().saturating_mul(2)
    }

    /// The RFC's decision on a packet of so many bytes that was taken from this queue.
    fn decide(&mut self, queue: Queue, bytes: u64, ecn: Ecn, wait: Span) -> Signal {
        let [p_c, p_cl] = if self.short(bytes) { [0.0; 2] } else { [self.base.p_c(), self.base.p_cl(&self.params)] };
        let overload = self.params.overload == OnOverload::Drop && p_cl >= 1.0;
        match queue {
            Queue::Classic if !recur(&mut self.cq_count, p_c) => Signal::None,
            Queue::Classic if overload || ecn == Ecn::NotCapable => Signal::Drop,
            Queue::Classic => Signal::Mark,
            Queue::L4s if overload && recur(&mut self.lq_count, p_c) => Signal::Drop,
            // Its sender answers a mark as a loss, and under overload the drops are its signal.
            Queue::L4s if overload && ecn == Ecn::Capable0 => Signal::None,
            Queue::L4s => {
                let p_l = libm::fmax(self.laqm(wait), p_cl);
                let classic = p_l / self.params.coupling_factor;
                let p = if ecn == Ecn::Capable0 { classic * classic } else { p_l };
                if recur(&mut self.lq_count, p) { Signal::Mark } else { Signal::None }
            }
        }
    }

    /// The kernel's decision by p' on a packet beside those that are queued.
    fn decide_as_linux(&self, queue: Queue, ecn: Ecn, rng: &mut Stream) -> Signal {
        if self.short(0) {
            return Signal::None;
        }
        let p = u64::from(self.base.parts());
        let coupled = p * self.params.coupling_factor as u64;
        let overload = coupled > u64::from(u32::MAX);
        match queue {
            Queue::Classic if !(draw(rng, p) && draw(rng, p)) => Signal::None,
            Queue::Classic if overload || ecn == Ecn::NotCapable => Signal::Drop,
            Queue::Classic => Signal::Mark,
            Queue::L4s if overload => {
                let drops = self.params.overload == OnOverload::Drop && draw(rng, p) && draw(rng, p);
                if drops { Signal::Drop } else { Signal::Mark }
            }
            Queue::L4s if draw(rng, coupled) => Signal::Mark,
            Queue::L4s => Signal::None,
        }
    }

    /// Whether a packet that leaves the L queue after this wait is above the kernel's step.
    fn above_step(&self, wait: Span) -> bool {
        match self.params.step_thresh_packets {
            Some(most) => self.queues.len(Queue::L4s) > most,
            None => wait > kernels(self.params.step_thresh),
        }
    }
}

impl<P: Packet> Discipline<P> for DualPi2<P> {
    fn enqueue(&mut self, packet: P, ctx: &mut Ctx<'_, P>) {
        // Updates that passed unasked changed nothing.
        self.updates.skip_missed(ctx.now);
        if !Limit::of(self.params.limit).has_room(self.queues.packets(), self.queues.bytes(), packet.bytes()) {
            return ctx.drop(packet, DropReason::Tail);
        }
        let queue = if self.params.ect.takes(packet.ecn()) { Queue::L4s } else { Queue::Classic };
        let signal = match self.params.drop_at {
            DropAt::Enqueue => self.decide_as_linux(queue, packet.ecn(), ctx.rng),
            DropAt::Dequeue => Signal::None,
        };
        if let Some(packet) = signal.carry_out(packet, ctx) {
            let step = queue == Queue::L4s && self.queues.len(Queue::L4s) >= self.params.min_qlen_step;
            self.queues.push(queue, packet, Tag { came: ctx.now, step });
        }
    }

    fn dequeue(&mut self, ctx: &mut Ctx<'_, P>) -> Option<P> {
        loop {
            let Scheduled { queue, packet, tag, change } = self.queues.schedule(&self.params)?;
            let (bytes, ecn, wait) = (packet.bytes(), packet.ecn(), ctx.now.since(tag.came));
            let signal = match self.params.law {
                DualPi2Version::Rfc9332 => self.decide(queue, bytes, ecn, wait),
                DualPi2Version::Linux => {
                    let signal = match self.params.drop_at {
                        DropAt::Dequeue => self.decide_as_linux(queue, ecn, ctx.rng),
                        DropAt::Enqueue => Signal::None,
                    };
                    let marks = signal == Signal::None && tag.step && self.above_step(wait);
                    if marks { Signal::Mark } else { signal }
                }
            };
            if let Some(packet) = signal.carry_out(packet, ctx) {
                self.queues.move_credit(change);
                return Some(packet);
            }
        }
    }

    /// None while updates would change nothing.
    fn next_wakeup(&self) -> Option<Time> {
        let quiet = self.queues.packets() == 0 && self.base.rests(&self.params);
        (!quiet).then(|| self.updates.due())
    }

    fn wake(&mut self, ctx: &mut Ctx<'_, P>) {
        while self.updates.tick(ctx.now) {
            self.base.update(self.queues.longest_wait(ctx.now), &self.params);
        }
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        &self.queues
    }

    fn state(&self, visit: &mut dyn FnMut(Option<FlowKey>, &'static str, f64)) {
        visit(None, "p", self.base.p);
        visit(None, "p_c", self.base.p_c());
        visit(None, "p_cl", self.base.p_cl(&self.params));
        visit(None, "classic_packets", self.queues.len(Queue::Classic) as f64);
        visit(None, "l4s_packets", self.queues.len(Queue::L4s) as f64);
    }
}

impl<P: Packet> Configure<P> for DualPi2<P> {
    fn configure(&mut self, params: DualPi2Params, ctx: &mut Ctx<'_, P>) {
        self.updates.skip_missed(ctx.now);
        self.updates.set_period(ctx.now, params.period());
        self.queues.configure(&self.params, &params, ctx);
        self.params = params;
    }
}

#[cfg(test)]
mod tests;
