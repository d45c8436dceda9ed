//! # FQ-PIE
//!
//! Flows are hashed into a fixed number of queues, each under PIE, served by deficit round robin; a queue that was empty goes
//! before the others for its first quantum. FQ-CoDel's queues with PIE in place of CoDel: drops and marks fall on arrivals.
//!
//! ```text
//! for each arrival, of queue i:                     (draft-tahiliani-tsvwg-fq-pie, Sec. 4.1; Linux, net/sched/sch_fq_pie.c)
//!     all queues together leave no room for it?  accu_p_i ← 0, drop it
//!     PIE of queue i, by the bytes in it, signals?  mark it, if p_i < mark_th and its transport is capable;  else drop it
//!     to the end of queue i;  in neither list?  i to the end of new_queues, credits_i ← quantum
//! the link can send, and i is the head of new_queues, or else of old_queues:                             (RFC 8290, Sec. 4.2)
//!     credits_i ≤ 0?  credits_i ← credits_i + quantum, i to the end of old_queues, and on
//!     has queue i a packet?  qdelay_i ← how long it waited, 0 if it was the last;  credits_i ← credits_i − its length, send it
//!     else:  i from new_queues to the end of old_queues; from old_queues it leaves
//! every t_update:  PIE's update of every p_i, by qdelay_i
//! ```
//!
//! PIE's own rules, `drop_early` and the update, are those of `pie`. `state` shows `p`, the highest of all queues. The queues are
//! fixed in number, and so is their memory, beside that of the packets; an idle queue keeps room for a few.
//!
#![doc = include_str!("fq_pie.md")]

use crate::hashed_queues::HashedQueues;
use crate::periodic_timer::PeriodicTimer;
use crate::pie::{PieBlock, PieState, PieVersion};
use crate::prelude::*;
use alloc::vec::Vec;

discipline! {
    FqPie: "fq_pie", "FQ-PIE",
    source("Ramakrishnan et al. 2019; draft-tahiliani-tsvwg-fq-pie; Linux, net/sched/sch_fq_pie.c"),
    tc("tc qdisc add dev DEV root fq_pie limit LIMIT_PACKETS flows FLOWS target TARGET tupdate T_UPDATE \
        alpha ALPHA_16THS beta BETA_16THS quantum QUANTUM_BYTES ecn_prob PERCENT [ecn|noecn] [bytemode|nobytemode]"),
    drops(Tail, Early),
    // Each flow has a queue of its own.
    proportional(),
    remembers(Queued, "1024 queues"),
    overload(Drops, "from `mark_th` on"),

    /// Parameters of [`FqPie`].
    pub struct FqPieParams {
        ..pie: PieBlock [mark_th: 0.1, "RFC 8033, Sec. 5.1: mark_ecnth; Linux, net/sched/sch_fq_pie.c: 10 %", tc("ecn_prob")];
        /// Number of queues for hashed flows.
        flows: u64 = default(1024), unit("queues"), range(Range::from(1.0).to(65_536.0)),
            source("Linux, net/sched/sch_fq_pie.c"), tc("flows"), fixed(true);
        /// How much a queue may send in a round.
        quantum: Size = derived("1514 B, or the link's typical packet if that is longer",
            |link| Size::Bytes(link.packet.max(1514))),
            unit("B"), range(Range::from(64.0)), source("Linux, net/sched/sch_fq_pie.c: the MTU, 1514 bytes"), tc("quantum");
        /// Largest total length of all queues, without the packet in transmission.
        limit: Size = default(Size::Packets(10_240)), unit("packets"), range(Range::from(1.0).to(16_777_216.0)),
            source("Linux, net/sched/sch_fq_pie.c"), tc("limit");
    }
    rules {
        "quantum is in bytes" [quantum] |p| matches!(p.quantum, Size::Bytes(_));
    }
}

/// What is kept of each queue.
#[derive(Clone, Debug)]
struct Aqm {
    pie: PieState,
    /// Whether it is among those that are updated.
    restless: bool,
}

/// Hashed queues under PIE and deficit round robin.
#[derive(Clone, Debug)]
pub struct FqPie<P> {
    params: FqPieParams,
    queues: HashedQueues<P, Aqm>,
    updates: PeriodicTimer,
    /// The queues in which an update changes something.
    restless: Vec<u32>,
}

impl<P: Packet> FqPie<P> {
    /// Empty queues.
    #[must_use]
    pub fn new(params: FqPieParams) -> Self {
        FqPie {
            queues: HashedQueues::new(
                params.flows,
                &Aqm { pie: PieState::new(&params.pie), restless: false },
                params.pie.law == PieVersion::Linux,
            ),
            updates: PeriodicTimer::new(params.pie.t_update),
            restless: Vec::new(),
            params,
        }
    }

    fn rouse(&mut self, at: u32) {
        let aqm = &mut self.queues.queues[at as usize].aqm;
        if !aqm.restless {
            aqm.restless = true;
            self.restless.push(at);
        }
    }
}

impl<P: Packet> Discipline<P> for FqPie<P> {
    fn enqueue(&mut self, mut packet: P, ctx: &mut Ctx<'_, P>) {
        // Updates that passed unasked changed nothing.
        self.updates.skip_missed(ctx.now);
        let at = self.queues.find(packet.flow(), ctx.rng);
        let (packets, bytes) = (self.queues.packets(), self.queues.bytes());
        let queue = &mut self.queues.queues[at as usize];
        if !Limit::of(self.params.limit).has_room(packets, bytes, packet.bytes()) {
            queue.aqm.pie.controller_mut().dropped();
            return ctx.drop(packet, DropReason::Tail);
        }
        if !queue.aqm.pie.admits(&mut packet, queue.fifo.bytes(), &self.params.pie, ctx.rng) {
            return ctx.drop(packet, DropReason::Early);
        }
        self.queues.push(at, packet, self.params.quantum, ctx.now);
        self.rouse(at);
    }

    fn dequeue(&mut self, ctx: &mut Ctx<'_, P>) -> Option<P> {
        self.queues.dequeue(self.params.quantum, |_, queue, _| {
            let (packet, came) = queue.fifo.pop_with()?;
            queue.aqm.pie.controller_mut().departed(came, ctx.now, queue.fifo.packets() == 0);
            Some(packet)
        })
    }

    /// None while updates would change nothing.
    fn next_wakeup(&self) -> Option<Time> {
        (!self.restless.is_empty()).then(|| self.updates.due())
    }

    fn wake(&mut self, ctx: &mut Ctx<'_, P>) {
        let (queues, pie) = (&mut self.queues.queues, &self.params.pie);
        while self.updates.tick(ctx.now) {
            self.restless.retain(|at| {
                let queue = &mut queues[*at as usize];
                let empty = queue.fifo.packets() == 0;
                queue.aqm.pie.controller_mut().update(pie, empty);
                queue.aqm.restless = !(empty && queue.aqm.pie.controller().at_rest(pie));
                queue.aqm.restless
            });
        }
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        &self.queues
    }

    fn state(&self, visit: &mut dyn FnMut(Option<FlowKey>, &'static str, f64)) {
        let p = self.restless.iter().map(|at| self.queues.queues[*at as usize].aqm.pie.controller().shown().0);
        visit(None, "p", p.fold(0.0, libm::fmax));
    }
}

impl<P: Packet> Configure<P> for FqPie<P> {
    fn configure(&mut self, params: FqPieParams, ctx: &mut Ctx<'_, P>) {
        self.updates.skip_missed(ctx.now);
        self.updates.set_period(ctx.now, params.pie.t_update);
        self.params = params;
        while Limit::of(self.params.limit).is_exceeded(self.queues.packets(), self.queues.bytes()) {
            let Some(packet) = self.dequeue(ctx) else { break };
            ctx.drop(packet, DropReason::Reconfigured);
        }
        for at in 0..self.queues.queues.len() {
            let queue = &mut self.queues.queues[at];
            let empty = queue.fifo.packets() == 0;
            queue.aqm.pie.controller_mut().adapt(&self.params.pie, empty);
            if !(empty && queue.aqm.pie.controller().at_rest(&self.params.pie)) {
                self.rouse(at as u32);
            }
        }
    }
}

#[cfg(test)]
mod tests;
