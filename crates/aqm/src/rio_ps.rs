//! # RIO-PS
//!
//! RED with In and Out, with Preferential treatment to Short flows: a meter marks the first L_t packets of each flow In and
//! the rest Out, and RIO drops Out packets first. Short flows thus have fewer drops than long ones.
//!
//! ```text
//! at the edge, for each arrival of flow i:                                (Guo & Matta 2001, as DCN 2004 describes it)
//!     if i was silent for `expiry`:  it is a new flow
//!     its first L_t packets are In, the others Out
//! every `interval`:  L_t ← L_t ± 1, towards short:long = `ratio`
//! in the core:  RIO, with thresholds that are parts of the buffer B
//! ```
//!
//! The meter sits inside this discipline: one link is edge and core at once. It may also be the edge for later links: the meter
//! writes In or Out into the packet's label, and `rio` at a later link reads it. Memory: some 60 bytes for each flow that is
//! remembered, `flows` at most; they are found by a hash with a secret key. `state` shows `l_t`, `flows`, and what `rio` shows.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | edge and core are different routers | both in one discipline; packets are labelled for a `rio` at a later link | one bottleneck needs no second router; whoever has several links may put `rio_ps` on the first and `rio` on the others |
//! | per-flow state for all flows | at most `flows` of them; the packets of those that find no room are Out | memory stays bounded. Were they In, whoever fills the table would gain |
//! | flow state expires after 1 s, L_t is adapted every 10 s to a short:long ratio of 3 | the same, when the next packet comes: L_t matters only then | from memory; the paper of 2001 was not at hand |
//! | what the ratio compares | `balance` = load (default): bytes of In and of Out packets; = flows: flows up to L_t and beyond | DCN 2004 does not say; the second is how the paper of 2001 is remembered |
//! | how L_t moves | by one packet each time, from `l_t`, between 1 and `l_t_max` | chosen here. With long flows alone L_t rises to `l_t_max`; the `l_t_max` In packets of each flow are then few beside all that it sends |
//! | In: 0.15 B, 0.35 B, 1/20; Out: 0.15 B, 0.5 B, 1/10; w = 1/512 | the same, as parts of `limit` | DCN 2004, Sec. 5, used what the inventors recommend, without printing it; the values are from memory |
//! | the buffer B | `limit` = 240 packets | DCN 2004 has 240 for Drop Tail, and none for RIO-PS |
//! | DCN 2004 ran it with ECN | `action` and `above_max_th`, as `rio` here | by the rules of RED |

mod meter;

use crate::prelude::*;
use crate::red::{Action, RedSignal};
use crate::rio::{IN, OUT, Rio, RioParams};
pub use meter::Balance;
use meter::Meter;

discipline! {
    RioPs: "rio_ps", "RIO-PS",
    source("Guo & Matta 2001, after DCN 2004"),
    drops(Tail, Early, Forced),
    // In and Out are not dropped alike.
    proportional(),
    remembers(Seen, "at the edge"),
    overload(Drops, "at the `max_th` of the packet's kind and above, unless `above_max_th` = mark"),

    /// Parameters of [`RioPs`].
    pub struct RioPsParams {
        ..signal: RedSignal [action: Action::Drop, "DCN 2004, Sec. 5"];
        /// Largest length of the queue, without the packet in transmission: B, to which the thresholds refer.
        limit: Size = default(Size::Packets(240)), unit("packets"), range(Range::from(1.0)),
            source("DCN 2004, Table 1, for Drop Tail");
        /// Initial value of L_t: the number of packets at the start of a flow that are In.
        l_t: u64 = default(10), unit("packets"), range(Range::from(1.0).to(1e9)), source("chosen here"), fixed(true);
        /// Largest value of L_t.
        l_t_max: u64 = default(100), unit("packets"), range(Range::from(1.0).to(1e9)), source("chosen here");
        /// Silence after which a flow is a new one.
        expiry: Span = default(Span::from_secs(1)), range(Range::POSITIVE), source("RIO-PS 2001, from memory");
        /// Time from one adaptation of L_t to the next.
        interval: Span = default(Span::from_secs(10)), range(Range::POSITIVE), source("RIO-PS 2001, from memory");
        /// Desired ratio short:long; with 0, L_t does not change.
        ratio: f64 = default(3.0), unit("1"), range(Range::from(0.0)), source("RIO-PS 2001, from memory");
        /// Which quantity of short and of long flows is compared.
        balance: Balance = default(Balance::Load), source("chosen here");
        /// Largest number of flows that the meter remembers.
        flows: u64 = default(16_384), unit("flows"), range(Range::from(1.0).to(65_536.0)), source("chosen here"), fixed(true);
        /// Queue weight of both averages: the weight of the present queue.
        w_q: f64 = default(1.0 / 512.0), unit("1"), range(Range::above(0.0).to(1.0)), source("RIO-PS 2001, from memory");
        /// Average of In packets below which no In packet is dropped or marked, as a share of limit.
        in_min: f64 = default(0.15), unit("1"), range(Range::above(0.0).to(1.0)), source("RIO-PS 2001, from memory");
        /// Average of In packets from which every In packet is dropped or marked, as a share of limit.
        in_max: f64 = default(0.35), unit("1"), range(Range::above(0.0).to(1.0)), source("RIO-PS 2001, from memory");
        /// The probability for In packets as their average reaches in_max.
        in_max_p: f64 = default(0.05), unit("1"), range(Range::above(0.0).to(1.0)), source("RIO-PS 2001, from memory");
        /// Average of all packets below which no Out packet is dropped or marked, as a share of limit.
        out_min: f64 = default(0.15), unit("1"), range(Range::above(0.0).to(1.0)), source("RIO-PS 2001, from memory");
        /// Average of all packets from which every Out packet is dropped or marked, as a share of limit.
        out_max: f64 = default(0.5), unit("1"), range(Range::above(0.0).to(1.0)), source("RIO-PS 2001, from memory");
        /// The probability for Out packets as the average reaches out_max.
        out_max_p: f64 = default(0.1), unit("1"), range(Range::above(0.0).to(1.0)), source("RIO-PS 2001, from memory");
        /// Typical time to send a small packet, the unit of the idle decay.
        s: Span = derived("500 bytes at the link rate", |link| Span(link.rate.time_of(500).0.max(1))),
            range(Range::POSITIVE), source("RED 1993, Fig. 17; the length is ns-2's mean_pktsize");
    }
    rules {
        "limit counts packets" [limit] |p| matches!(p.limit, Size::Packets(_));
        "in_min < in_max" [in_min, in_max] |p| p.in_min < p.in_max;
        "out_min < out_max" [out_min, out_max] |p| p.out_min < p.out_max;
        "l_t <= l_t_max" [l_t, l_t_max] |p| p.l_t <= p.l_t_max;
    }
}

impl RioPsParams {
    /// RIO's parameters.
    fn rio(&self) -> RioParams {
        let limit = self.limit.amount() as f64;
        // Whole packets, and the upper threshold above the lower one even in the smallest buffers.
        let part = |part: f64| libm::round(part * limit) as u64;
        let band = |low: f64, high: f64| (part(low).max(1), part(high).max(part(low).max(1) + 1));
        let ((in_min, in_max), (out_min, out_max)) = (band(self.in_min, self.in_max), band(self.out_min, self.out_max));
        RioParams {
            w_q: self.w_q,
            in_min_th: Size::Packets(in_min),
            in_max_th: Size::Packets(in_max),
            in_max_p: self.in_max_p,
            out_min_th: Size::Packets(out_min),
            out_max_th: Size::Packets(out_max),
            out_max_p: self.out_max_p,
            limit: self.limit,
            s: self.s,
            signal: self.signal.clone(),
        }
    }
}

/// A first-in-first-out queue under RIO that prefers the beginnings of flows.
#[derive(Clone, Debug)]
pub struct RioPs<P> {
    meter: Meter,
    rio: Rio<P>,
}

impl<P: Packet> RioPs<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(params: RioPsParams) -> Self {
        RioPs { rio: Rio::new(params.rio()), meter: Meter::new(params) }
    }
}

impl<P: Packet> Discipline<P> for RioPs<P> {
    fn enqueue(&mut self, mut packet: P, ctx: &mut Ctx<'_, P>) {
        let is_in = self.meter.is_in(packet.flow(), packet.bytes(), ctx.now, ctx.rng);
        packet.set_label(if is_in { IN } else { OUT });
        self.rio.enqueue_as(packet, is_in, ctx);
    }

    fn dequeue(&mut self, ctx: &mut Ctx<'_, P>) -> Option<P> {
        self.rio.dequeue(ctx)
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        self.rio.buffer()
    }

    fn average(&self) -> Option<f64> {
        self.rio.average()
    }

    fn state(&self, visit: &mut dyn FnMut(Option<FlowKey>, &'static str, f64)) {
        visit(None, "l_t", self.meter.l_t as f64);
        visit(None, "flows", self.meter.flows.len() as f64);
        self.rio.state(visit);
    }
}

impl<P: Packet> Configure<P> for RioPs<P> {
    fn configure(&mut self, params: RioPsParams, ctx: &mut Ctx<'_, P>) {
        self.rio.configure(params.rio(), ctx);
        self.meter.configure(params, ctx.now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline::DropReason;
    use crate::harness::{Harness, TestPacket};
    use alloc::vec::Vec;
    use sluicegate_base::{Link, Params, Rate};

    fn params() -> RioPsParams {
        RioPsParams::defaults(&Link { rate: Rate(1_000_000), packet: 1000 }).unwrap()
    }

    /// L_t = 3: packets 1 to 3 of flow 1 are In, 4 and 5 Out; a `rio` at the next link sees the same.
    #[test]
    fn replays_the_rule_and_labels_packets() {
        let mut edge = Harness::new(RioPs::new(RioPsParams { l_t: 3, ..params() }), 1);
        [1, 1, 2, 1, 1, 1].iter().for_each(|flow| edge.arrive(*flow, 1000));
        assert_eq!(
            (edge.state("in_packets"), edge.state("flows"), edge.state("l_t")),
            (Some(4.0), Some(2.0), Some(3.0))
        );
        let rio = RioParams::defaults(&Link { rate: Rate(1_000_000), packet: 1000 }).unwrap();
        let mut core = Harness::new(Rio::new(rio), 1);
        let sent: Vec<TestPacket> = core::iter::from_fn(|| edge.depart()).collect();
        assert_eq!(sent.iter().map(|packet| packet.label).collect::<Vec<_>>(), [IN, IN, IN, IN, OUT, OUT]);
        sent.into_iter().for_each(|packet| core.submit(packet));
        assert_eq!(core.state("in_packets"), Some(4.0));
        edge.assert_conserved();
    }

    /// A million chosen ids through the discipline with its defaults: the memory is that of the module comment, what finds no
    /// room is Out, and a flow that was known before stays so.
    #[test]
    fn a_million_flows_take_no_more_memory() {
        let mut harness = Harness::new(RioPs::new(params()), 1);
        harness.arrive(7, 1000);
        for k in 1..=1_000_000u64 {
            harness.arrive(k << 44, 40);
            harness.depart();
        }
        let meter = &harness.discipline.meter;
        assert!(meter.flows.len() == 16_384 && meter.flows.allocated() < 2 * 16_384, "{}", meter.flows.allocated());
        while harness.depart().is_some() {}
        [7, 3 << 60].iter().for_each(|flow| harness.arrive(*flow, 1000));
        let labels: Vec<u32> = core::iter::from_fn(|| harness.depart()).map(|packet| packet.label).collect();
        assert_eq!(labels, [IN, OUT], "7 is known, the other found no room");
        harness.assert_conserved();
    }

    /// One flow at the link's rate and many of five packets at half of it: about half of the long one's packets are dropped, of
    /// the short ones' no more than in_max_p, 5 % of 30,000.
    #[test]
    fn short_flows_have_fewer_drops_than_long_ones() {
        let mut harness = Harness::new(RioPs::new(RioPsParams { ratio: 0.0, ..params() }), 1);
        for k in 0..60_000u64 {
            harness.arrive(0, 1000);
            harness.wait(Span::from_millis(4));
            if k % 2 == 0 {
                harness.arrive(1 + k / 10, 1000);
            }
            harness.wait(Span::from_millis(4));
            harness.depart();
        }
        let long = harness.dropped.iter().filter(|(packet, _)| packet.flow == 0).count();
        let short = harness.dropped.len() - long;
        assert!(long > 28_000 && short < 1500, "{long} and {short}");
    }

    #[test]
    fn thresholds_are_parts_of_the_buffer() {
        for (limit, forced) in [(100, 50), (1, 2)] {
            let params = RioPsParams { limit: Size::Packets(limit), w_q: 1.0, out_max_p: 1e-12, ..params() };
            let mut harness = Harness::new(RioPs::new(RioPsParams { l_t: 1, ratio: 0.0, ..params }), 1);
            (0..=forced).for_each(|_| harness.arrive(1, 1000));
            let reason = if limit > 50 { DropReason::Forced } else { DropReason::Tail };
            assert_eq!(harness.dropped_flows().first(), Some(&(1, reason)));
            assert_eq!(harness.discipline.packets(), forced.min(limit));
        }
    }
}
