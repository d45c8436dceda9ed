//! # CoDel
//!
//! Controlled Delay looks at how long packets have waited when they leave. When the wait has stayed above `target` for
//! an `interval`, it drops at the head, and continues at intervals that shrink with the square root of the number of
//! drops, until the wait is below `target` again. It has no other parameters, and needs no average.
//!
//! ```text
//! dodequeue:  take the head; sojourn_time ← now − its arrival                                     (RFC 8289, Sec. 5.6)
//!     sojourn_time < target, or no more than max_packet bytes wait for the link, or none was queued:  first_above_time ← 0
//!     else if first_above_time = 0:  first_above_time ← now + interval
//!     else:  ok_to_drop ← now ≥ first_above_time
//! the link can send:  dodequeue                                                                   (RFC 8289, Sec. 5.5)
//!     dropping:      not ok_to_drop?  dropping ← false
//!                    while dropping and now ≥ drop_next:  drop, count ← count + 1, dodequeue;
//!                        ok_to_drop?  drop_next ← drop_next + interval/√count;   else dropping ← false
//!     else if ok_to_drop:  drop, dodequeue, dropping ← true, delta ← count − lastcount
//!                    count ← delta if delta > 1 and now − drop_next < 16·interval, else 1
//!                    drop_next ← now + interval/√count, lastcount ← count
//! ecn:  a packet that can be marked is marked and sent instead of dropped
//! ce_threshold:  a packet that leaves with a longer sojourn_time is marked, if it can be   (Linux, include/net/codel_impl.h)
//! ```
//!
//! `crates/aqm/tests/codel_linux.rs` compares `law` = linux packet for packet with a model of the kernel's code.
//!
#![doc = include_str!("codel.md")]

mod rule;

use crate::l4s::Ect;
use crate::prelude::*;
pub use rule::{CodelRule, CodelState};

choices! {
    /// Whose CoDel it is: rules and arithmetic.
    pub enum CodelVersion {
        /// The RFC's, with a real root.
        Rfc8289 = "rfc8289",
        /// The kernel's, in whole numbers.
        Linux = "linux",
    }
}

discipline! {
    Codel: "codel", "CoDel",
    source("Nichols, Jacobson, McGregor & Iyengar 2018, RFC 8289; Linux, net/sched/sch_codel.c"),
    tc("tc qdisc add dev DEV root codel limit LIMIT_PACKETS target TARGET interval INTERVAL [ecn] \
        [ce_threshold CE_THRESHOLD]"),
    drops(Tail, Early),
    remembers(None, "a time in each packet"),
    overload(Marks, "RFC 8289 has no rule, nor has Linux"),

    /// Parameters of [`Codel`].
    pub struct CodelParams {
        /// Acceptable delay of a standing queue.
        target: Span = default(Span::from_millis(5)), range(Range::above(0.0).to(3600.0)),
            source("RFC 8289, Sec. 4.3: 5 ms"), tc("target");
        /// How long the delay must be above target before the first signal; of the order of the longest round-trip
        /// time.
        interval: Span = default(Span::from_millis(100)), range(Range::above(0.0).to(3600.0)),
            source("RFC 8289, Sec. 4.2: 100 ms"), tc("interval");
        /// Largest length of the queue, without the packet in transmission.
        limit: Size = default(Size::Packets(1000)), unit("packets"), range(Range::from(1.0)),
            source("Linux, net/sched/sch_codel.c"), tc("limit");
        /// Mark ECN-capable packets, and drop the others.
        ecn: bool = default(false), source("Linux, net/sched/sch_codel.c"), tc("ecn");
        /// A packet that has waited longer is marked when it leaves, if it is ECN-capable, even if `ecn` is off.
        ce_threshold: Option<Span> = optional("none"), range(Range::from(0.0).to(3600.0)),
            source("Linux, net/sched/sch_codel.c"), tc("ce_threshold");
        /// The longest packet of the link. Nothing is dropped or marked while at most this many bytes wait.
        max_packet: Size = derived("the link's typical packet", |link| Size::Bytes(link.packet.max(1))), unit("B"),
            range(Range::from(0.0)), source("RFC 8289, Sec. 5.3: maxpacket; Linux: the MTU");
        /// The RFC's arithmetic, or the kernel's.
        law: CodelVersion = default(CodelVersion::Rfc8289),
            source("RFC 8289, Sec. 5; Linux, include/net/codel_impl.h"), fixed(true);
    }
    rules {
        "max_packet is in bytes" [max_packet] |p| matches!(p.max_packet, Size::Bytes(_));
    }
}

impl CodelParams {
    fn rule(&self) -> CodelRule {
        CodelRule::new(self.law, self.target, self.interval, self.max_packet.amount(), self.ecn)
            .with_ce_threshold(self.ce_threshold, Ect::Any)
    }
}

/// A first-in-first-out queue under CoDel.
#[derive(Clone, Debug)]
pub struct Codel<P> {
    rule: CodelRule,
    state: CodelState,
    /// Packets, and when each came.
    fifo: Fifo<P, Time>,
}

impl<P: Packet> Codel<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(params: CodelParams) -> Self {
        Codel { rule: params.rule(), state: CodelState::default(), fifo: Fifo::new(params.limit) }
    }
}

impl<P: Packet> Discipline<P> for Codel<P> {
    fn enqueue(&mut self, packet: P, ctx: &mut Ctx<'_, P>) {
        self.fifo.admit_with(packet, ctx.now, ctx);
    }

    fn dequeue(&mut self, ctx: &mut Ctx<'_, P>) -> Option<P> {
        self.dequeue_in_class(0, ctx)
    }

    fn dequeue_in_class(&mut self, elsewhere: u64, ctx: &mut Ctx<'_, P>) -> Option<P> {
        self.rule.dequeue(&mut self.state, &mut self.fifo, 0, elsewhere, ctx)
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        &self.fifo
    }

    fn wakes(&self) -> bool {
        false
    }
}

impl<P: Packet> Configure<P> for Codel<P> {
    fn configure(&mut self, params: CodelParams, ctx: &mut Ctx<'_, P>) {
        self.rule = params.rule();
        self.fifo.resize(params.limit, ctx);
    }
}

#[cfg(test)]
mod tests;
