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
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | Ramakrishnan et al. 2019, the paper on the kernel's version | what its authors' draft (draft-tahiliani-tsvwg-fq-pie-02) and tc-fq_pie(8) say, and `net/sched/sch_fq_pie.c` | the paper could not be had; the draft leaves PIE to RFC 8033 and the lists to RFC 8290 |
//! | RFC 8033's PIE for each queue (draft, Sec. 4) | so; `law` = linux: the kernel's PIE, as for `pie` | with `law` = linux and Linux's values (`long_delay` = 250 ms, `max_packet` and `quantum` 1514 bytes) it agrees packet for packet with a model of the kernel's rules (`tests/fq_pie_linux.rs`) |
//! | an arrival that finds no room is dropped, and no fat flow loses half of its packets, as in FQ-CoDel (draft, Sec. 4.1) | so | Linux too. One flow that fills the buffer before its p has risen shuts out the others meanwhile |
//! | the delay should be that of the packet that left the queue last, not by Little's law (draft, Sec. 4.1) | so; no `dq_rate_estimator`, and no `delay` = length as `pie` has | a queue's rate is not the link's, and the draft calls estimates of it unreliable |
//! | a queue with negative credits gets another quantum (tc-fq_pie(8)) | credits ≤ 0 | so in Linux's code, and in `fq_codel` |
//! | an emptied new queue goes to the end of the old ones (RFC 8290, Sec. 4.2) | so; `law` = linux: if there are no old ones, it leaves at once | so in Linux |
//! | the hash is of the 5-tuple | SipHash of the flow, its key drawn from the queue's own stream at the first packet | repeatable, and closed to chosen ids |
//! | p is updated for every queue | for every queue in which that changes anything: not where nothing is queued and p and both delays are 0 | equal, and an idle link needs no clock |
//! | Linux updates 2048 queues at a time, the next after a tick of the kernel's clock | all at once | equal up to 2048 queues |
//! | Linux begins half a second after the queue is set up | at multiples of t_update from the start of the run | as `pie` |
//! | `memory_limit` | not built | Linux counts what exceeds it, and queues it all the same |
//! | `ecn_prob`, a whole number of percent | `mark_th`, of 1; with `law` = linux rounded to whole percents | one name for it in both disciplines |
//! | nothing on a limit in bytes | `limit` may be in bytes | as `fq_codel` |
//! | a smaller limit drops the packets whose turn is next | so | Linux, fq_pie_change |
//! | 1024 queues, 10240 packets, a quantum of the MTU with its link header (1514 bytes on Ethernet), ECN off | so; the quantum is the link's typical packet where that is longer | Linux's defaults |

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
        /// Into how many queues flows are hashed.
        flows: u64 = default(1024), unit("queues"), range(Range::from(1.0).to(65_536.0)),
            source("Linux, net/sched/sch_fq_pie.c"), tc("flows"), fixed(true);
        /// How much a queue may send in a round.
        quantum: Size = derived("1514 B, or the link's typical packet if that is longer",
            |link| Size::Bytes(link.packet.max(1514))),
            unit("packets"), range(Range::from(64.0)), source("Linux, net/sched/sch_fq_pie.c: the MTU, 1514 bytes"), tc("quantum");
        /// Most that all queues together hold, not counting the packet in transmission.
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
