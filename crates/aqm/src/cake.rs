//! # CAKE
//!
//! Common Applications Kept Enhanced: a shaper without a burst, tins by DSCP, in each a queue for every flow found by a
//! hash that hardly collides, shares between hosts before those between flows, COBALT in each queue, and a filter of
//! acknowledgements.
//!
//! ```text
//! for each arrival:  to the tin of its DSCP, there to its flow's queue, of 1024 in sets of 8  (cake_enqueue, cake_hash)
//!     was none queued, and time_next < now?  time_next, failsafe_next ← now;   the tin's time_next likewise
//!     adjusted_len ← max(length + overhead, mpu), in ATM's cells or PTM's coding
//!     ack_filter:  an acknowledgement that this one makes redundant is dropped
//!     the flow was idle or decays?  to the end of new, deficit ← its quantum
//!     more is queued than memlimit?  the first packet of the longest queue is dropped, and COBALT hears of it
//! the link can send:  time_next > now and failsafe_next > now?  not yet                       (cake_dequeue)
//!     the tin:   shaped: the highest within its rate, or else the one that will be first
//!                unlimited: deficit round robin
//!     the flow:  the first of decaying, once; of new; of old
//!         deficit ≤ 0?  it is bulk if it has packets, deficit ← deficit + quantum, to the end of old, and on
//!         it is empty?  to the end of decaying until its COBALT is at rest, and on
//!         COBALT drops its first packet, and it is not the last?  the next one (ingress: the drop is charged, and on)
//!     time_next ← time_next + adjusted_len/bandwidth;   deficit ← deficit − adjusted_len
//! quantum:   bandwidth of the tin/4096, 300 to 1514 bytes, over the bulk flows of the flow's busier host
//! COBALT:    sojourn > target and > 4 mtu/bandwidth (ingress: and > 2 mtu/bandwidth for each bulk flow)?  late
//!     becomes late:  drop_next ← now + interval/√count
//!     count > 0 and now ≥ drop_next, late:  mark or drop, count ← count + 1, drop_next ← drop_next + interval/√count
//!                              not late:  count ← count − 1, drop_next likewise, until it lies ahead
//!     with probability p_drop:  drop
//!     p_drop, once in a target:  + 1/256 at a drop for want of room, − 1/4096 when the queue is found empty
//! ```
//!
//! Memory is fixed: 1024 queues for each tin, beside that of the packets. Keyed hashes choose the places of a flow, its
//! source and its destination, each with a key of its own. The reference is the kernel (`net/sched/sch_cake.c`, Linux
//! 6.18): this discipline agrees packet for packet with a model of the kernel's rules
//! (`crates/aqm/tests/cake_linux.rs`). Of the paper (arXiv 1804.07617) only a part of the text could be had.
//!
#![doc = include_str!("cake.md")]

use crate::longest::{LazyLongest, Tie};
use crate::prelude::*;
use alloc::vec::Vec;

mod ack_filter;
mod cobalt;
mod diffserv;
mod framing;
mod hosts;
mod set_association;
mod shaper;
mod tin;

pub use ack_filter::AckFilter;
pub use diffserv::Diffserv;
pub use framing::Atm;
use framing::Framing;
pub use hosts::FlowMode;
use hosts::Keys;
use set_association::QUEUES;
use shaper::{ByteTime, Shaper};
use tin::{Tag, Tin};

discipline! {
    Cake: "cake", "CAKE",
    source("Hoeiland-Joergensen, Taht & Morton 2018, Piece of CAKE; Linux, net/sched/sch_cake.c"),
    tc("tc qdisc add dev DEV root cake [bandwidth RATE|unlimited] rtt TIME \
        [besteffort|precedence|diffserv8|diffserv4|diffserv3] \
        [flowblind|srchost|dsthost|hosts|flows|dual-srchost|dual-dsthost|triple-isolate] [nat|nonat] [wash|nowash] \
        [no-ack-filter|ack-filter|ack-filter-aggressive] memlimit BYTES [noatm|atm|ptm] overhead BYTES mpu BYTES \
        [ingress|egress]"),
    drops(Tail, Early, Match),
    // Each flow has a queue of its own.
    proportional(),
    remembers(Queued, "1024 queues for each tin"),
    marks(always),
    overload(Drops, "by BLUE, once the buffer was full"),

    /// Parameters of [`Cake`].
    pub struct CakeParams {
        /// The rate of the shaper: somewhat less than that of the slowest link behind it.
        bandwidth: Option<Rate> = optional("unlimited: it does not shape"), range(Range::from(8.0)),
            source("tc-cake(8)"), tc("bandwidth");
        /// How traffic is divided into tins by its DSCP. In simulations and testbeds this is the class of its flow.
        diffserv: Diffserv = default(Diffserv::Diffserv3), source("tc-cake(8)"),
            tc("besteffort, precedence, diffserv8, diffserv4, diffserv3");
        /// Among whom the link is shared.
        flowmode: FlowMode = default(FlowMode::TripleIsolate), source("tc-cake(8)"),
            tc("flowblind, srchost, dsthost, hosts, flows, dual-srchost, dual-dsthost, triple-isolate");
        /// A round trip that few flows exceed. A queue signals at the latest when its delay has exceeded target, and the
        /// bounds stated under `target`, for this long.
        rtt: Span = default(Span::from_millis(100)), range(Range::from(1e-6).to(3600.0)),
            source("tc-cake(8)"), tc("rtt");
        /// Acceptable delay of a standing queue. With bandwidth it is at least one and a half times the transmission
        /// time of the longest packet at the tin's rate; if this raises target, it lengthens rtt too. A signal also
        /// needs a delay above four times that transmission time (with ingress: also above twice that time for each
        /// bulk flow).
        target: Option<Span> = optional("rtt/20, 1 us at least"), range(Range::from(1e-6).to(3600.0)),
            source("iproute2, tc/q_cake.c");
        /// What happens to queued acknowledgements of TCP that a later one makes redundant.
        ack_filter: AckFilter = default(AckFilter::Disabled), source("tc-cake(8)"),
            tc("no-ack-filter, ack-filter, ack-filter-aggressive");
        /// Whole bytes that the link adds to each packet (or removes, if negative), for the shaper and for shares.
        overhead: f64 = default(0.0), unit("bytes"), range(Range::from(-64.0).to(256.0)),
            source("tc-cake(8)"), tc("overhead");
        /// The shortest length that counts for a packet, overhead included.
        mpu: u64 = default(0), unit("bytes"), range(Range::from(0.0).to(256.0)), source("tc-cake(8)"), tc("mpu");
        /// How the link frames packets with their overhead.
        atm: Atm = default(Atm::Noatm), source("tc-cake(8)"), tc("noatm, atm, ptm");
        /// Also count dropped packets, for a shaper behind the slow link: whatever arrives has already used that link.
        ingress: bool = default(false), source("tc-cake(8)"), tc("ingress, egress");
        /// Distinguish hosts by their addresses before this host translates them. Without it all that a home sends
        /// (with ingress: all that it receives) counts as one host.
        nat: Option<bool> = optional("true; in a tc line, only where this host translates addresses (`sluicegate tc --wan`)"),
            source("tc-cake(8)"), tc("nat, nonat");
        /// Clear the class of packets, of real ones the DSCP, after choosing their tin.
        wash: bool = default(false), source("tc-cake(8)"), tc("wash, nowash");
        /// Largest total number of bytes in all queues, without the packet in transmission.
        memlimit: Option<Size> = optional("4 bandwidth·rtt, at least 4 MiB and at most 10,240 mtu; if unlimited, 10,240 mtu"),
            unit("B"), range(Range::from(1.0)), source("Linux, net/sched/sch_cake.c"), tc("memlimit");
        /// Largest total length of all queues, without the packet in transmission; memlimit holds as well.
        limit: Option<Size> = optional("none"), unit("packets"), range(Range::from(1.0)),
            source("Sluicegate");
        /// The longest packet of the link. Linux counts the link's header too: 1514 B for Ethernet.
        mtu: Size = derived("1514 B, or the link's typical packet if that is longer",
            |link| Size::Bytes(link.packet.clamp(1514, 65_536))),
            unit("B"), range(Range::from(64.0).to(65_536.0)), source("Linux: the device's MTU and link header");
    }
    rules {
        "memlimit and mtu are in bytes" [memlimit, mtu]
            |p| ![p.memlimit, Some(p.mtu)].iter().any(|size| matches!(size, Some(Size::Packets(_))));
        "overhead is a whole number" [overhead] |p| p.overhead == libm::trunc(p.overhead);
    }
}

impl CakeParams {
    /// The shaper's rate in bytes per second; 0 without one.
    fn rate(&self) -> u64 {
        self.bandwidth.map_or(0, |bandwidth| bandwidth.0 / 8)
    }

    /// The end, source (0) or destination (1), whose hosts all have the address of this one.
    fn translated(&self) -> Option<usize> {
        (self.nat == Some(false)).then_some(usize::from(self.ingress))
    }

    /// The target and the round trip, which tc gives in whole microseconds.
    fn target_and_rtt(&self) -> (Span, Span) {
        let rtt = self.rtt.0 / 1000;
        let target = self.target.map_or(rtt / 20, |target| target.0 / 1000);
        (Span(target.max(1) * 1000), Span(rtt.max(1) * 1000))
    }

    /// The most that may be queued.
    fn limits(&self) -> [Limit; 2] {
        let (_, rtt) = self.target_and_rtt();
        let most = 10_240 * u128::from(self.mtu.amount());
        let bytes = match (self.memlimit, self.rate()) {
            (Some(given), _) => given.amount(),
            (None, 0) => most as u64,
            (None, rate) => (u128::from(rate) * u128::from(rtt.0) / 250_000_000).max(4 << 20).min(most) as u64,
        };
        [Limit::of(Size::Bytes(bytes)), Limit::of(self.limit.unwrap_or(Size::Packets(u64::MAX)))]
    }
}

/// Tins of flows behind a shaper.
#[derive(Clone, Debug)]
pub struct Cake<P> {
    params: CakeParams,
    limits: [Limit; 2],
    framing: Framing,
    shaper: Shaper,
    tins: Vec<Tin<P>>,
    /// The tin served last.
    cur_tin: usize,
    /// None before the first packet.
    keys: Option<Keys>,
    packets: u64,
    bytes: u64,
    /// The queues of all tins, for drops for want of room.
    longest: LazyLongest,
    /// When the shaper, which has refused a packet, will let it go.
    watchdog: Option<Time>,
}

impl<P: Packet> Cake<P> {
    /// Empty queues.
    #[must_use]
    pub fn new(params: CakeParams) -> Self {
        let mut cake = Cake {
            limits: params.limits(),
            framing: Framing { overhead: 0, mpu: 0, atm: Atm::Noatm },
            shaper: Shaper::default(),
            tins: Vec::new(),
            cur_tin: 0,
            keys: None,
            packets: 0,
            bytes: 0,
            longest: LazyLongest::new(Tie::First),
            watchdog: None,
            params,
        };
        cake.tune();
        cake
    }

    /// Follows the parameters; tins that are new are empty.
    fn tune(&mut self) {
        let CakeParams { overhead, mpu, atm, mtu, diffserv, .. } = self.params;
        let (target, rtt) = self.params.target_and_rtt();
        let shares = diffserv.shares(self.params.rate());
        self.limits = self.params.limits();
        self.framing = Framing { overhead: overhead as i64, mpu, atm };
        self.shaper.byte_time = ByteTime::at(self.params.rate());
        // Where there are fewer than eight, the kernel clears the others, and the last of them is followed by the first.
        self.cur_tin = if shares.len() == 8 { self.cur_tin } else { 0 };
        self.tins.resize_with(shares.len(), Tin::new);
        self.tins.iter_mut().zip(shares).for_each(|(tin, share)| tin.tune(share, mtu.amount(), target, rtt));
    }

    /// Takes the packet of a queue that so many are before.
    fn take(&mut self, tin: usize, at: usize, place: usize) -> Option<(P, Tag)> {
        let (packet, tag) = self.tins[tin].take(at, place)?;
        self.packets -= 1;
        self.bytes -= packet.bytes();
        self.longest.set(number(tin, at), self.tins[tin].weight(at));
        Some((packet, tag))
    }

    /// Counts a packet, sent or dropped, against the rates of the whole and of its tin.
    fn advance_shaper(&mut self, tin: usize, tag: Tag, now: Time, dropped: bool) {
        if !self.shaper.byte_time.is_zero() {
            self.tins[tin].advance(tag.adjusted_len, now);
            self.shaper.advance(tag.adjusted_len, dropped);
        }
    }

    /// Counts a packet that has left a flow's queue towards the link.
    fn charge(&mut self, tin: usize, at: usize, tag: Tag, now: Time, dropped: bool) {
        self.advance_shaper(tin, tag, now, dropped);
        let len = i64::try_from(tag.adjusted_len).unwrap_or(i64::MAX);
        let tin = &mut self.tins[tin];
        tin.flows[at].deficit = tin.flows[at].deficit.saturating_sub(len);
        if self.shaper.byte_time.is_zero() {
            tin.tin_deficit = tin.tin_deficit.saturating_sub(len);
        }
    }

    /// Drops the first packet of the longest queue while more is queued than may be.
    fn drop_excess(&mut self, reason: DropReason, ctx: &mut Ctx<'_, P>) {
        while self.limits.iter().any(|limit| limit.is_exceeded(self.packets, self.bytes)) {
            let tins = self.tins.iter().enumerate();
            let weights = tins.flat_map(|(t, tin)| (0..QUEUES).map(move |at| (number(t, at), tin.weight(at))));
            let longest = self.longest.get(weights).expect("more is queued than the limit") as usize;
            let (t, at) = (longest / QUEUES, longest % QUEUES);
            let (packet, tag) = self.take(t, at, 0).expect("the longest queue has packets");
            if reason == DropReason::Tail {
                let tin = &mut self.tins[t];
                tin.flows[at].cobalt.queue_full(&tin.cobalt, ctx.now);
                if self.params.ingress {
                    self.advance_shaper(t, tag, ctx.now, true);
                }
            }
            ctx.drop(packet, reason);
        }
    }

    /// The tin to serve; there are packets.
    fn choose_tin(&mut self, now: Time) -> usize {
        if self.shaper.byte_time.is_zero() {
            loop {
                let tin = &mut self.tins[self.cur_tin];
                if tin.tin_deficit >= 0 && tin.is_active() {
                    return self.cur_tin;
                }
                if tin.tin_deficit <= 0 {
                    tin.tin_deficit += tin.tin_quantum;
                }
                self.cur_tin = (self.cur_tin + 1) % self.tins.len();
            }
        }
        // The last that is within its rate, or else the last of those that will be so first.
        let wait = |tin: &Tin<P>| tin.time_next_packet.since(now);
        let active = self.tins.iter().enumerate().filter(|(_, tin)| tin.is_active());
        let (best, _) = active.rev().min_by_key(|(_, tin)| wait(tin)).expect("a tin with packets is active");
        self.cur_tin = best;
        best
    }

    /// Serves a tin until it gives a packet; none when a queue was found empty, so that a tin is chosen anew.
    fn serve(&mut self, t: usize, first_look: &mut bool, ctx: &mut Ctx<'_, P>) -> Option<P> {
        let CakeParams { flowmode: mode, ingress, .. } = self.params;
        loop {
            let (list, at) = self.tins[t].head(core::mem::take(first_look))?;
            if self.tins[t].flows[at].deficit <= 0 {
                self.tins[t].next_round((list, at), mode, ctx.rng);
                continue;
            }
            loop {
                let Some((mut packet, tag)) = self.take(t, at, 0) else {
                    self.tins[t].found_empty((list, at), mode, ctx.now);
                    return None;
                };
                let tin = &mut self.tins[t];
                let (bulk, flow) = (if ingress { tin.bulk_flow_count } else { 0 }, &mut tin.flows[at]);
                let times = (tag.arrived, ctx.now);
                let drops = flow.cobalt.should_drop(&tin.cobalt, times, bulk, || packet.mark(), ctx.rng);
                // The last packet of a queue may be marked, and is sent.
                if !drops || flow.queue.packets() == 0 {
                    self.charge(t, at, tag, ctx.now, false);
                    return Some(packet);
                }
                ctx.drop(packet, DropReason::Early);
                if ingress {
                    self.charge(t, at, tag, ctx.now, true);
                    break;
                }
            }
        }
    }
}

/// The number of a queue among those of all tins.
fn number(tin: usize, at: usize) -> u32 {
    (tin * QUEUES + at) as u32
}

impl<P: Packet> Discipline<P> for Cake<P> {
    fn enqueue(&mut self, mut packet: P, ctx: &mut Ctx<'_, P>) {
        let keys = *self.keys.get_or_insert_with(|| Keys::new(ctx.rng));
        let t = self.params.diffserv.tin(packet.class());
        if self.params.wash {
            packet.set_class(0);
        }
        let (mode, tin) = (self.params.flowmode, &mut self.tins[t]);
        let translated = self.params.translated();
        let at = tin.find(keys.hash_flow(&packet, mode, translated), || keys.hash_hosts(&packet, translated), mode);
        if tin.backlog == 0 {
            tin.time_next_packet = tin.time_next_packet.max(ctx.now);
            if self.packets == 0 {
                self.shaper.restart(ctx.now);
            }
        }
        self.packets += 1;
        self.bytes += packet.bytes();
        let tag = Tag { arrived: ctx.now, adjusted_len: self.framing.adjusted_len(packet.bytes()) };
        tin.push(at, packet, tag);
        self.longest.set(number(t, at), tin.weight(at));
        if self.params.ack_filter != AckFilter::Disabled {
            let aggressive = self.params.ack_filter == AckFilter::Aggressive;
            let place = ack_filter::redundant(&tin.flows[at].queue, aggressive);
            if let Some((ack, tag)) = place.and_then(|place| self.take(t, at, place)) {
                if self.params.ingress {
                    self.advance_shaper(t, tag, ctx.now, true);
                }
                ctx.drop(ack, DropReason::Match);
            }
        }
        self.tins[t].arrived(at, mode, ctx.rng);
        self.drop_excess(DropReason::Tail, ctx);
    }

    fn dequeue(&mut self, ctx: &mut Ctx<'_, P>) -> Option<P> {
        let mut first_look = true;
        while self.packets > 0 {
            if let Some(next) = self.shaper.holds(ctx.now) {
                self.watchdog = Some(next);
                return None;
            }
            let tin = self.choose_tin(ctx.now);
            if let Some(packet) = self.serve(tin, &mut first_look, ctx) {
                return Some(packet);
            }
        }
        self.longest.rest();
        None
    }

    fn next_wakeup(&self) -> Option<Time> {
        self.watchdog
    }

    fn wake(&mut self, _ctx: &mut Ctx<'_, P>) {
        self.watchdog = None;
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        self
    }

    fn state(&self, visit: &mut dyn FnMut(Option<FlowKey>, &'static str, f64)) {
        let sum = |count: fn(&Tin<P>) -> u32| self.tins.iter().map(|tin| f64::from(count(tin))).sum();
        visit(None, "sparse_flows", sum(|tin| tin.sparse_flow_count));
        visit(None, "bulk_flows", sum(|tin| tin.bulk_flow_count));
    }
}

impl<P: Packet> Buffer<P> for Cake<P> {
    fn packets(&self) -> u64 {
        self.packets
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn for_each(&self, visit: &mut dyn FnMut(&P)) {
        for tin in &self.tins {
            tin.lists.iter().flatten().for_each(|at| tin.flows[usize::from(*at)].queue.for_each(visit));
        }
    }
}

impl<P: Packet> Configure<P> for Cake<P> {
    fn configure(&mut self, params: CakeParams, ctx: &mut Ctx<'_, P>) {
        for t in params.diffserv.shares(0).len()..self.tins.len() {
            for at in 0..QUEUES {
                while let Some((packet, _)) = self.take(t, at, 0) {
                    ctx.drop(packet, DropReason::Reconfigured);
                }
            }
        }
        self.params = params;
        self.tune();
        self.drop_excess(DropReason::Reconfigured, ctx);
    }
}

#[cfg(test)]
mod tests;
