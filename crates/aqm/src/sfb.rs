//! # SFB
//!
//! Stochastic Fair BLUE keeps a probability for each bin of a Bloom filter. A flow has one bin in each level and is dropped
//! or marked with the least of their probabilities. So only a flow that fills all of its bins is found unresponsive: its
//! probability reaches 1, and it is held to a small rate.
//!
//! ```text
//! for each arrival:                                                 (Feng, Kandlur, Saha & Shin; net/sched/sch_sfb.c)
//!     `limit` packets are queued?  drop                                                                       (tail)
//!     for each of its bins, one in each level:
//!         empty?  p ← p − decrement;   bin_size packets or more?  p ← p + increment
//!     p_min, q_min:  the least p and the least number of packets of its bins
//!     q_min ≥ bin_max?  drop                                                                                (forced)
//!     p_min = 1?  in the warm-up, change its bins in the other filter, too;  no token left?  drop            (policed)
//!     else with probability p_min:  mark it, if p_min is not far above 1/2 and it can be marked, else drop     (early)
//!     queue it, and count it in its bins until it leaves
//! every `rehash`:  the other filter takes over, with a new hash; in the last `warmup` before, unresponsive flows are
//!     counted in it too
//! ```
//!
//! Memory is fixed: two filters of `levels` times `bins`, and the packets with two hashes each.
//! `crates/aqm/tests/sfb_linux.rs` compares it packet for packet with a model of the kernel's code.
//!
#![doc = include_str!("sfb.md")]

use crate::flow_hasher::FlowHasher;
use crate::prelude::*;
use crate::red::Action;
use alloc::vec;
use alloc::vec::Vec;

choices! {
    /// How unresponsive flows get tokens.
    pub enum Tokens {
        /// At penalty_rate, up to penalty_burst.
        Bucket = "bucket",
        /// As the kernel counts them.
        Linux = "linux",
    }
}

discipline! {
    Sfb: "sfb", "SFB",
    source("Feng, Kandlur, Saha & Shin 1999 and 2001; Linux, net/sched/sch_sfb.c"),
    tc("tc qdisc add dev DEV root sfb limit LIMIT_PACKETS max BIN_MAX target BIN_SIZE increment INCREMENT \
        decrement DECREMENT penalty_rate PACKETS_PER_SECOND penalty_burst PACKETS rehash MILLISECONDS db MILLISECONDS"),
    drops(Tail, Early, Forced, Policed),
    // Each flow is judged by its bins.
    proportional(),
    remembers(Table, "2 tables of 8 × 16 bins"),
    overload(Drops, "above p = 1/2, with probability 2p − 1; at p = 1, all packets beyond `penalty_rate`"),

    /// Parameters of [`Sfb`].
    pub struct SfbParams {
        /// Drop packets; or mark ECN-capable packets and drop the others.
        action: Action = default(Action::Mark), source("Linux, net/sched/sch_sfb.c");
        /// How unresponsive flows get tokens.
        tokens: Tokens = default(Tokens::Linux), source("Linux, net/sched/sch_sfb.c; bucket: tc-sfb(8), packets per second");
        /// Levels of the filter.
        levels: u64 = default(8), unit("levels"), range(Range::from(1.0).to(8.0)),
            source("Linux, net/sched/sch_sfb.c"), fixed(true);
        /// Bins in each level.
        bins: u64 = default(16), unit("bins"), range(Range::from(2.0).to(256.0)),
            source("Linux, net/sched/sch_sfb.c"), fixed(true);
        /// Packets in a bin at which its probability rises.
        bin_size: u64 = default(20), unit("packets"), range(Range::from(1.0)),
            source("Linux, net/sched/sch_sfb.c"), tc("target");
        /// If all bins of a flow have this many packets, its arrivals are dropped.
        bin_max: u64 = default(25), unit("packets"), range(Range::from(1.0)),
            source("Linux, net/sched/sch_sfb.c"), tc("max");
        /// The increment of a bin's probability.
        increment: f64 = default(0.001), unit("1"), range(Range::above(0.0).to(1.0)),
            source("Linux, net/sched/sch_sfb.c"), tc("increment");
        /// The decrement of a bin's probability.
        decrement: f64 = default(1.0 / 6000.0), unit("1"), range(Range::above(0.0).to(1.0)),
            source("Linux, net/sched/sch_sfb.c"), tc("decrement");
        /// Largest length of the queue, without the packet in transmission.
        limit: Size = default(Size::Packets(1000)), unit("packets"), range(Range::from(1.0)),
            source("Linux, net/sched/sch_sfb.c: the device's txqueuelen"), tc("limit");
        /// Time from one hash function to the next; 0 s: it never changes.
        rehash: Span = default(Span::from_secs(600)), range(Range::from(0.0)),
            source("Linux, net/sched/sch_sfb.c"), tc("rehash");
        /// For this long before each change of the hash function, unresponsive flows are also counted under the new one.
        warmup: Span = default(Span::from_secs(60)), range(Range::from(0.0)),
            source("Linux, net/sched/sch_sfb.c"), tc("db");
        /// What all unresponsive flows together may send per second; 0: nothing.
        penalty_rate: u64 = default(10), unit("packets"), range(Range::from(0.0).to(1e9)),
            source("Linux, net/sched/sch_sfb.c"), tc("penalty_rate");
        /// What unresponsive flows may send at once.
        penalty_burst: u64 = default(20), unit("packets"), range(Range::from(0.0).to(1e9)),
            source("Linux, net/sched/sch_sfb.c"), tc("penalty_burst");
    }
}

/// The probability 1.
const MAX_PROB: u32 = 0xffff;

/// A probability as the bins have it.
fn scaled(p: f64) -> u32 {
    libm::floor(p * f64::from(MAX_PROB) + 0.5) as u32
}

/// A bin.
#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    qlen: u64,
    p_mark: u32,
}

/// One of the two filters.
#[derive(Clone, Debug)]
struct Filter {
    key: FlowHasher,
    bins: Vec<Bin>,
}

/// A first-in-first-out queue under SFB.
#[derive(Clone, Debug)]
pub struct Sfb<P> {
    params: SfbParams,
    increment: u32,
    decrement: u32,
    filters: [Filter; 2],
    /// The filter in use.
    slot: usize,
    /// When it took over; none before the first packet.
    rehash_time: Option<Time>,
    tokens_avail: f64,
    token_time: Time,
    /// Packets with the hashes that they are counted under in each filter.
    fifo: Fifo<P, [Option<u64>; 2]>,
}

impl<P: Packet> Sfb<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(params: SfbParams) -> Self {
        let filter =
            Filter { key: FlowHasher::default(), bins: vec![Bin::default(); (params.levels * params.bins) as usize] };
        Sfb {
            increment: scaled(params.increment),
            decrement: scaled(params.decrement),
            filters: [filter.clone(), filter],
            slot: 0,
            rehash_time: None,
            tokens_avail: params.penalty_burst as f64,
            token_time: Time::ZERO,
            fifo: Fifo::new(params.limit),
            params,
        }
    }

    /// The least probability of a flow's bins, for probes and tests; none before the first packet.
    #[must_use]
    pub fn probability(&self, flow: crate::FlowKey) -> Option<f64> {
        let filter = &self.filters[self.slot];
        let least = self.bins_of(filter.key.hash(flow)).map(|at| filter.bins[at].p_mark).min();
        self.rehash_time.and(least).map(|p| f64::from(p) / f64::from(MAX_PROB))
    }

    /// The bins that a hash is counted in, one in each level, where its next digit says.
    #[inline]
    fn bins_of(&self, hash: u64) -> impl Iterator<Item = usize> + use<P> {
        let bins = self.params.bins;
        (0..self.params.levels).scan(hash, move |rest, level| {
            let product = u128::from(*rest) * u128::from(bins);
            *rest = product as u64;
            Some((level * bins + (product >> 64) as u64) as usize)
        })
    }

    /// An arrival finds its bins: their probabilities change. Gives the least probability and number of packets.
    fn update(&mut self, slot: usize, hash: u64) -> (u32, u64) {
        let (mut p_min, mut q_min) = (u32::MAX, u64::MAX);
        for at in self.bins_of(hash) {
            let bin = &mut self.filters[slot].bins[at];
            if bin.qlen == 0 {
                bin.p_mark = bin.p_mark.saturating_sub(self.decrement);
            } else if bin.qlen >= self.params.bin_size {
                bin.p_mark = (bin.p_mark + self.increment).min(MAX_PROB);
            }
            p_min = p_min.min(bin.p_mark);
            q_min = q_min.min(bin.qlen);
        }
        (p_min, q_min)
    }

    /// Takes a token for a packet of an unresponsive flow; false when there is none.
    fn take_token(&mut self, now: Time) -> bool {
        let (rate, burst) = (self.params.penalty_rate, self.params.penalty_burst as f64);
        if rate == 0 || burst == 0.0 {
            return false;
        }
        match self.params.tokens {
            Tokens::Bucket => {
                let came = now.since(self.token_time).as_secs() * rate as f64;
                self.tokens_avail = (self.tokens_avail + came).min(burst);
                self.token_time = now;
            }
            Tokens::Linux if self.tokens_avail < 1.0 => {
                let age = now.since(self.token_time).0.min(10_000_000_000);
                let came = u128::from(age) * u128::from(rate) / 1_000_000_000;
                self.tokens_avail = (came as f64).min(burst);
                self.token_time = now;
            }
            Tokens::Linux => {}
        }
        let any = self.tokens_avail >= 1.0;
        self.tokens_avail -= f64::from(u8::from(any));
        any
    }

    /// Changes the hash when its time has come. Gives whether the other filter is being warmed up.
    fn rehash(&mut self, ctx: &mut Ctx<'_, P>) -> bool {
        let Some(start) = self.rehash_time else {
            self.filters.iter_mut().for_each(|filter| filter.key = FlowHasher::new(ctx.rng));
            self.rehash_time = Some(ctx.now);
            self.token_time = ctx.now;
            return false;
        };
        let (age, rehash, warmup) = (ctx.now.since(start), self.params.rehash, self.params.warmup);
        if rehash > Span::ZERO && age > rehash {
            self.filters[self.slot].key = FlowHasher::new(ctx.rng);
            self.slot ^= 1;
            self.rehash_time = Some(ctx.now);
            return false;
        }
        rehash > Span::ZERO && warmup > Span::ZERO && age > rehash - warmup
    }

    fn count(&mut self, hashes: [Option<u64>; 2], change: impl Fn(u64) -> u64) {
        for (slot, hash) in hashes.into_iter().enumerate() {
            let Some(hash) = hash else { continue };
            for at in self.bins_of(hash) {
                let qlen = &mut self.filters[slot].bins[at].qlen;
                *qlen = change(*qlen);
            }
        }
    }
}

impl<P: Packet> Discipline<P> for Sfb<P> {
    fn enqueue(&mut self, mut packet: P, ctx: &mut Ctx<'_, P>) {
        if !self.fifo.has_room(&packet) {
            return ctx.drop(packet, DropReason::Tail);
        }
        let warming = self.rehash(ctx);
        let (slot, other) = (self.slot, self.slot ^ 1);
        let mut hashes = [None; 2];
        let hash = self.filters[slot].key.hash(packet.flow());
        hashes[slot] = Some(hash);
        let (p_min, q_min) = self.update(slot, hash);
        if q_min >= self.params.bin_max {
            return ctx.drop(packet, DropReason::Forced);
        }
        if p_min >= MAX_PROB {
            if warming {
                let hash = self.filters[other].key.hash(packet.flow());
                hashes[other] = Some(hash);
                self.update(other, hash);
            }
            if !self.take_token(ctx.now) {
                return ctx.drop(packet, DropReason::Policed);
            }
        } else {
            let r = (ctx.rng.bits() >> 48) as u32;
            let half = MAX_PROB / 2;
            let far = p_min > half && r < (p_min - half) * 2;
            if r < p_min && (far || self.params.action == Action::Drop || !packet.mark()) {
                return ctx.drop(packet, DropReason::Early);
            }
        }
        self.count(hashes, |qlen| qlen + 1);
        self.fifo.push_with(packet, hashes);
    }

    fn dequeue(&mut self, _ctx: &mut Ctx<'_, P>) -> Option<P> {
        let (packet, hashes) = self.fifo.pop_with()?;
        self.count(hashes, |qlen| qlen - 1);
        Some(packet)
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        &self.fifo
    }
}

impl<P: Packet> Configure<P> for Sfb<P> {
    fn configure(&mut self, params: SfbParams, ctx: &mut Ctx<'_, P>) {
        (self.increment, self.decrement) = (scaled(params.increment), scaled(params.decrement));
        self.tokens_avail = self.tokens_avail.min(params.penalty_burst as f64);
        self.fifo.set_limit(params.limit);
        while let Some((packet, hashes)) = self.fifo.pop_excess() {
            self.count(hashes, |qlen| qlen - 1);
            ctx.drop(packet, DropReason::Reconfigured);
        }
        self.params = params;
    }
}

#[cfg(test)]
mod tests;
