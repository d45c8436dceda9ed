//! # DCN
//!
//! Differential Congestion Notification tells large, fast flows of congestion and leaves all others alone. A scoreboard counts
//! the recent packets of each flow; a flow with more than `threshold` of them within a clearing interval counts as
//! high-bandwidth, and only its packets can be dropped: in proportion to what it sends above the fair share `p_ref`, which a
//! proportional-integral controller moves so that the queue stays near `q_ref`.
//!
//! ```text
//! for each arrival of flow i:                                              (Le, Aikat, Jeffay & Smith 2004, Fig. 3)
//!     if i is in HB:
//!         with probability p = max(0, 1 − p_ref/pktcount_i), unless the queue is empty:
//!             (action = mark) mark it, if p ≤ mark_th and its transport is capable;  else drop it
//!         else:  queue it;  if it is forwarded:  pktcount_i ← pktcount_i + 1
//!     else:
//!         queue it
//!         if i's place in SB belongs to another flow, or i was silent for a clearing interval:  count_i ← 0
//!         count_i ← count_i + 1
//!         if count_i > threshold:  move i to HB, with pktcount_i = threshold + 1
//! every T_update:  q > q_ref for 100 ms?  p_ref ← min(p_ref, the largest pktcount of this T_dec and the last)
//!                  p_ref ← p_ref + a·(q_old − q_ref) − b·(q − q_ref),  kept within bounds;   q_old ← q
//!                  (unless given:  b = gain·T_dec/(N·T_update) for the N flows in HB,  a = b·(1 − gain/4))
//! every T_dec:     for each flow in HB:  pktcount ← pktcount − p_ref;  a flow at 0 or below leaves HB
//! ```
//!
//! SB is direct-mapped: a collision overwrites. HB finds its flows by the same hash, which has a secret key, so that nobody can
//! choose flows that collide. Memory is bounded: 24 bytes for each entry of SB, taken when the first packet comes, and some 50 for
//! each flow that HB has held at once, `hb_flows` at most. The work for each packet is constant on average: each visit of
//! the sweep at the end of T_dec takes p_ref from a flow's pktcount, to which its packets have added (at most 1/p_ref_min visits
//! for each packet).
//!
//! `state` shows `p_ref` (once it has a value), the flows in both tables (`sb_flows` heard of within a clearing interval, `hb_flows`), how many
//! arrivals were judged so far (`hb_arrivals`) and how many flows entered and left HB (`hb_entries`, `hb_exits`); and the
//! `pktcount` of each flow in HB and the `sb_count` of the flows in SB that were heard of within a clearing interval: at most
//! 1024 of them, the first ones in the order of the table.
//!
#![doc = include_str!("dcn.md")]

mod tables;

use crate::fair_share::Gains;
use crate::marking::Marking;
use crate::periodic_timer::PeriodicTimer;
use crate::prelude::*;
use crate::red::Action;
use tables::Tables;

choices! {
    /// The controller of p_ref.
    pub enum ControlLaw {
        /// With the signs that hold the queue at q_ref.
        Corrected = "corrected",
        /// As the paper prints it.
        Printed = "printed",
    }
}

choices! {
    /// What pktcount counts.
    pub enum Count {
        /// Packets that were forwarded.
        Forwarded = "forwarded",
        /// Packets that have arrived.
        Arrived = "arrived",
    }
}

discipline! {
    Dcn: "dcn", "DCN",
    source("Le, Aikat, Jeffay & Smith 2004"),
    drops(Tail, Early),
    // Only flows in HB are judged, each by its own count.
    proportional(),
    remembers(Table, "16384 + 8192 entries"),
    overload(Drops, "packets of flows above `mark_th`"),

    /// Parameters of [`Dcn`].
    pub struct DcnParams {
        ..marking: Marking [
            action: Action::Drop, "not in DCN 2004";
            mark_th: 0.5, "a flow at twice its share; the value is that of SFB, Linux, net/sched/sch_sfb.c", tc("")
        ];
        /// Target length of the queue.
        q_ref: Size = derived("24 packets, or what the link sends in 2.88 ms if that is more",
            |link| link.at_least(24, Span(2_880_000))), unit("packets"), range(Range::from(0.0)),
            source("DCN 2004, Sec. 5: 24 packets on 100 Mbit/s");
        /// Largest length of the queue, without the packet in transmission.
        limit: Size = derived("1000 packets, or what the link sends in 120 ms if that is more",
            |link| link.at_least(1000, Span::from_millis(120))), unit("packets"), range(Range::from(1.0)),
            source("chosen here: large enough for no tail drops, as DCN 2004, Sec. 5, asks");
        /// The controller as corrected, or as printed.
        law: ControlLaw = default(ControlLaw::Corrected), source("DCN 2004, Sec. 3.2; corrected here, after AFD (2003)");
        /// What pktcount counts: packets forwarded, or arrived.
        count: Count = default(Count::Forwarded), source("DCN 2004, Sec. 3.1: forwarded; Sec. 3.2: arrived");
        /// Gain of the queue one interval ago.
        a: Option<f64> = optional("b·(1 − gain/4)"), unit("1"), range(Range::POSITIVE), source("derived here. DCN 2004: a < b");
        /// Gain of the queue now.
        b: Option<f64> = optional("gain·t_dec/(t_update·N), N flows in HB"), unit("1"), range(Range::POSITIVE),
            source("derived here");
        /// Fraction of a sudden queue error that is gone one update later, if a or b is not given.
        gain: f64 = default(2.0 / 9.0), unit("1"), range(Range::above(0.0).to(1.0)),
            source("derived here: a/b is then AFD's 1.7/1.8 (2003)");
        /// Time from one update of p_ref to the next.
        t_update: Span = default(Span(6_250_000)), range(Range::POSITIVE), source("chosen here: AFD's 160 Hz (2003)");
        /// Time in which a flow sends p_ref packets at its fair share; at its end counts are lowered by p_ref.
        t_dec: Span = default(Span::from_millis(800)), range(Range::POSITIVE), source("DCN 2004, Sec. 3.2");
        /// Packets in SB above which a flow counts as high-bandwidth.
        threshold: u64 = default(10), unit("packets"), range(Range::from(0.0).to(4e9)), source("chosen here");
        /// Silence after which a flow's count in SB restarts.
        clearing: Span = default(Span::from_millis(500)), range(Range::POSITIVE), source("chosen here");
        /// Smallest value of p_ref.
        p_ref_min: f64 = default(0.1), unit("packets"), range(Range::POSITIVE), source("chosen here");
        /// Largest value of p_ref, and its initial value.
        p_ref_max: Option<f64> = optional("the largest recent pktcount, while the queue is above q_ref"), unit("packets"),
            range(Range::POSITIVE), source("not in DCN 2004");
        /// Entries of SB, the scoreboard.
        sb_entries: u64 = default(16_384), unit("flows"), range(Range::from(1.0).to(65_536.0)), source("chosen here"), fixed(true);
        /// Largest number of flows in HB, the table of high-bandwidth flows.
        hb_flows: u64 = default(8192), unit("flows"), range(Range::from(1.0).to(65_536.0)),
            source("chosen here: four times what DCN 2004 saw"), fixed(true);
    }
    rules {
        "q_ref counts packets" [q_ref] |p| matches!(p.q_ref, Size::Packets(_));
        "a needs b" [a, b] |p| p.a.is_none() || p.b.is_some();
        "a < b" [a, b] |p| p.a.zip(p.b).is_none_or(|(a, b)| a < b);
        "p_ref_min <= p_ref_max" [p_ref_min, p_ref_max] |p| p.p_ref_min <= p.p_ref_max();
    }
}

impl DcnParams {
    /// The gains with so many flows in HB.
    fn gains(&self, hb_flows: usize) -> Gains {
        let updates = self.t_dec.0 as f64 / self.t_update.0 as f64;
        let derived = Gains::of(self.gain, hb_flows.max(1) as f64 / updates);
        let b = self.b.unwrap_or(derived.b);
        Gains { a: self.a.unwrap_or(b * Gains::ratio(self.gain)), b }
    }

    /// Most that p_ref can be: any number, unless it is given.
    fn p_ref_max(&self) -> f64 {
        self.p_ref_max.unwrap_or(f64::INFINITY)
    }

    /// The target length in packets.
    fn q_ref(&self) -> f64 {
        self.q_ref.amount() as f64
    }
}

/// A queue that is above q_ref for so long is no burst: RFC 8289's interval, in the order of the longest round trips.
const STANDING: Span = Span::from_millis(100);

/// Most flows of SB that `state` shows.
const SB_SHOWN: usize = 1024;

/// A first-in-first-out queue with Differential Congestion Notification.
#[derive(Clone, Debug)]
pub struct Dcn<P> {
    params: DcnParams,
    fifo: Fifo<P>,
    tables: Tables,
    p_ref: f64,
    q_old: u64,
    /// When the queue was found above q_ref; none once it has been found at q_ref or below.
    above_since: Option<Time>,
    updates: PeriodicTimer,
    sweeps: PeriodicTimer,
    hb_arrivals: u64,
}

impl<P: Packet> Dcn<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(params: DcnParams) -> Self {
        Dcn {
            fifo: Fifo::new(params.limit),
            tables: Tables::new(&params),
            p_ref: params.p_ref_max(),
            q_old: 0,
            above_since: None,
            updates: PeriodicTimer::new(params.t_update),
            sweeps: PeriodicTimer::new(params.t_dec),
            hb_arrivals: 0,
            params,
        }
    }

    fn gains(&self) -> Gains {
        self.params.gains(self.tables.hb.len())
    }

    #[inline]
    fn move_p_ref(&mut self, by: f64) {
        self.p_ref = (self.p_ref + by).clamp(self.params.p_ref_min, self.params.p_ref_max());
    }

    /// Updates that passed unasked were of an empty queue, and sweeps of an empty HB.
    fn make_up(&mut self, now: Time) {
        let missed = self.updates.skip_missed(now);
        if missed > 0 {
            let q_ref = self.params.q_ref();
            self.move_p_ref(missed as f64 * self.gains().step(-q_ref, -q_ref));
        }
        self.sweeps.skip_missed(now);
    }

    /// The control law, at one of its instants.
    fn update(&mut self, at: Time) {
        let q = self.fifo.packets();
        let q_ref = self.params.q_ref();
        let (now, before) = (q as f64 - q_ref, self.q_old as f64 - q_ref);
        self.above_since = self.above_since.filter(|_| now > 0.0).or((now > 0.0).then_some(at));
        if self.above_since.is_some_and(|since| at.since(since) >= STANDING) {
            self.p_ref = self.p_ref.min(self.tables.largest().unwrap_or(f64::INFINITY));
        }
        self.move_p_ref(match self.params.law {
            ControlLaw::Corrected => self.gains().step(before, now),
            ControlLaw::Printed => self.gains().step(now, before),
        });
        self.q_old = q;
    }

    /// Judges a packet of a flow in HB, and counts it if it is forwarded.
    fn judge(&mut self, at: usize, mut packet: P, ctx: &mut Ctx<'_, P>) {
        self.hb_arrivals += 1;
        if self.params.count == Count::Arrived {
            self.tables.count(at);
        }
        let p = 1.0 - self.p_ref / self.tables.hb[at];
        if self.fifo.packets() > 0 && ctx.rng.chance(p) && self.params.marking.drops(p, &mut packet) {
            return ctx.drop(packet, DropReason::Early);
        }
        if !self.fifo.has_room(&packet) {
            return ctx.drop(packet, DropReason::Tail);
        }
        if self.params.count == Count::Forwarded {
            self.tables.count(at);
        }
        self.fifo.push(packet);
    }
}

impl<P: Packet> Discipline<P> for Dcn<P> {
    fn enqueue(&mut self, packet: P, ctx: &mut Ctx<'_, P>) {
        self.make_up(ctx.now);
        let flow = packet.flow();
        if let Some(at) = self.tables.classify(flow, ctx.now, ctx.rng) {
            self.judge(at, packet, ctx);
        } else {
            self.fifo.admit(packet, ctx);
        }
    }

    fn dequeue(&mut self, _ctx: &mut Ctx<'_, P>) -> Option<P> {
        self.fifo.pop()
    }

    /// None while all that the clocks would do is to raise p_ref by the same amount each time.
    fn next_wakeup(&self) -> Option<Time> {
        let quiet = self.fifo.packets() == 0 && self.q_old == 0 && self.tables.hb.is_empty();
        (!quiet).then(|| self.updates.due().min(self.sweeps.due()))
    }

    fn wake(&mut self, ctx: &mut Ctx<'_, P>) {
        // At the same instant p_ref is brought up to date before it is used.
        while self.updates.tick(ctx.now) {
            self.update(ctx.now);
        }
        while self.sweeps.tick(ctx.now) {
            self.tables.lower(self.p_ref);
        }
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        &self.fifo
    }

    fn state(&self, visit: &mut dyn FnMut(Option<FlowKey>, &'static str, f64)) {
        if self.p_ref.is_finite() {
            visit(None, "p_ref", self.p_ref);
        }
        visit(None, "sb_flows", self.tables.sb_flows() as f64);
        visit(None, "hb_flows", self.tables.hb.len() as f64);
        visit(None, "hb_arrivals", self.hb_arrivals as f64);
        visit(None, "hb_entries", self.tables.entries as f64);
        visit(None, "hb_exits", (self.tables.entries - self.tables.hb.len() as u64) as f64);
        self.tables.for_each_score(SB_SHOWN, &mut |flow, count| visit(Some(flow), "sb_count", f64::from(count)));
        self.tables.hb.iter().for_each(|(flow, pktcount)| visit(Some(flow), "pktcount", *pktcount));
    }
}

impl<P: Packet> Configure<P> for Dcn<P> {
    fn configure(&mut self, params: DcnParams, ctx: &mut Ctx<'_, P>) {
        self.make_up(ctx.now);
        self.updates.set_period(ctx.now, params.t_update);
        self.sweeps.set_period(ctx.now, params.t_dec);
        self.tables.configure(&params);
        self.fifo.resize(params.limit, ctx);
        self.params = params;
        self.move_p_ref(0.0);
    }
}

#[cfg(test)]
mod tests;
