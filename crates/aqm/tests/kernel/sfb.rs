//! A slow and obvious model of Linux's SFB, as an oracle for `sfb`.
//!
//! Written from the algorithm of the kernel's `net/sched/sch_sfb.c` (Linux 6), sharing no code with `sfb`: counts of 16 bits
//! and probabilities of 16 bits, the tokens as the kernel counts them. Random numbers and hashes are lent by the test: the
//! kernel's hash of a flow and a key is 8 digits of 4 bits; here it is whatever bins the test says. A jiffy is 1 ns.

use sluicegate_aqm::harness::TestPacket;
use sluicegate_base::{Ecn, Stream};

/// What `tc qdisc add … sfb` is given, in the kernel's numbers; times in jiffies.
#[derive(Clone, Copy, Debug)]
pub struct Tc {
    pub limit: usize,
    pub max: u32,
    pub bin_size: u32,
    pub increment: u32,
    pub decrement: u32,
    pub penalty_rate: u64,
    pub penalty_burst: u64,
    pub rehash_interval: u64,
    pub warmup_time: u64,
}

const LEVELS: usize = 8;
const BINS: usize = 16;
const MAX_PROB: u32 = 0xffff;
pub const HZ: u64 = 1_000_000_000;

/// The kernel's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub earlydrop: u64,
    pub penaltydrop: u64,
    pub bucketdrop: u64,
    pub queuedrop: u64,
    pub marked: u64,
    pub swaps: u64,
    pub doubled: u64,
}

/// What became of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Queued,
    Early,
    Penalty,
    Bucket,
    Limit,
}

#[derive(Clone, Copy, Default)]
struct Bucket {
    qlen: u16,
    p_mark: u16,
}

type Places = [usize; LEVELS];

/// The queue. `hash` gives the places of a flow under the key with a number; keys are numbered in the order of drawing.
pub struct Sfb {
    tc: Tc,
    bins: [[[Bucket; BINS]; LEVELS]; 2],
    keys: [usize; 2],
    drawn: usize,
    slot: usize,
    double_buffering: bool,
    rehash_time: u64,
    tokens_avail: u64,
    token_time: u64,
    queue: Vec<(TestPacket, [Option<Places>; 2])>,
    pub counts: Counts,
}

impl Sfb {
    /// Two keys have been drawn, and time starts.
    pub fn new(tc: Tc, now: u64) -> Sfb {
        Sfb {
            tc,
            bins: [[[Bucket::default(); BINS]; LEVELS]; 2],
            keys: [0, 1],
            drawn: 2,
            slot: 0,
            double_buffering: false,
            rehash_time: now,
            tokens_avail: tc.penalty_burst,
            token_time: now,
            queue: Vec::new(),
            counts: Counts::default(),
        }
    }

    pub fn queued(&self) -> Vec<TestPacket> {
        self.queue.iter().map(|(packet, _)| *packet).collect()
    }

    /// The least probability at these places.
    pub fn p_min(&self, places: &Places) -> u32 {
        places.iter().zip(&self.bins[self.slot]).map(|(at, level)| u32::from(level[*at].p_mark)).min().unwrap()
    }

    /// The key in use.
    pub fn key(&self) -> usize {
        self.keys[self.slot]
    }

    fn step(&mut self, slot: usize, places: &Places) -> (u32, u32) {
        let (mut p_min, mut minqlen) = (u32::MAX, u32::MAX);
        for (at, level) in places.iter().zip(&mut self.bins[slot]) {
            let bucket = &mut level[*at];
            let p = u32::from(bucket.p_mark);
            if bucket.qlen == 0 {
                bucket.p_mark = if p > self.tc.decrement { (p - self.tc.decrement) as u16 } else { 0 };
            } else if u32::from(bucket.qlen) >= self.tc.bin_size {
                bucket.p_mark = MAX_PROB.min(p + self.tc.increment) as u16;
            }
            minqlen = minqlen.min(u32::from(bucket.qlen));
            p_min = p_min.min(u32::from(bucket.p_mark));
        }
        (p_min, minqlen)
    }

    fn rate_limit(&mut self, now: u64) -> bool {
        if self.tc.penalty_rate == 0 || self.tc.penalty_burst == 0 {
            return true;
        }
        if self.tokens_avail < 1 {
            let age = (10 * HZ).min(now - self.token_time);
            self.tokens_avail = (u128::from(age) * u128::from(self.tc.penalty_rate) / u128::from(HZ)) as u64;
            self.tokens_avail = self.tokens_avail.min(self.tc.penalty_burst);
            self.token_time = now;
            if self.tokens_avail < 1 {
                return true;
            }
        }
        self.tokens_avail -= 1;
        false
    }

    /// An arrival; `random` has drawn the first two keys already. `hash` may draw no numbers.
    pub fn enqueue(
        &mut self,
        mut packet: TestPacket,
        now: u64,
        random: &mut Stream,
        hash: &mut dyn FnMut(usize, u64, &mut Stream) -> Places,
    ) -> Fate {
        if self.queue.len() >= self.tc.limit {
            self.counts.queuedrop += 1;
            return Fate::Limit;
        }
        if self.tc.rehash_interval > 0 {
            let limit = self.rehash_time + self.tc.rehash_interval;
            if now > limit {
                self.keys[self.slot] = self.drawn;
                self.drawn += 1;
                self.slot ^= 1;
                self.double_buffering = false;
                self.rehash_time = now;
                self.counts.swaps += 1;
            } else if !self.double_buffering
                && self.tc.warmup_time > 0
                && now > limit.saturating_sub(self.tc.warmup_time)
            {
                self.double_buffering = true;
            }
        }
        // All keys drawn so far are made before the number below is.
        for key in 0..self.drawn {
            let _ = hash(key, packet.flow, random);
        }
        let mut hashes = [None; 2];
        let places = hash(self.keys[self.slot], packet.flow, random);
        hashes[self.slot] = Some(places);
        let (p_min, minqlen) = self.step(self.slot, &places);
        if minqlen >= self.tc.max {
            self.counts.bucketdrop += 1;
            return Fate::Bucket;
        }
        if p_min >= MAX_PROB {
            if self.double_buffering {
                let other = self.slot ^ 1;
                let places = hash(self.keys[other], packet.flow, random);
                hashes[other] = Some(places);
                self.step(other, &places);
                self.counts.doubled += 1;
            }
            if self.rate_limit(now) {
                self.counts.penaltydrop += 1;
                return Fate::Penalty;
            }
        } else {
            let r = (random.bits() >> 48) as u32;
            if r < p_min {
                if p_min > MAX_PROB / 2 && r < (p_min - MAX_PROB / 2) * 2 {
                    self.counts.earlydrop += 1;
                    return Fate::Early;
                }
                if packet.ecn == Ecn::NotCapable {
                    self.counts.earlydrop += 1;
                    return Fate::Early;
                }
                packet.ecn = Ecn::CongestionExperienced;
                self.counts.marked += 1;
            }
        }
        self.each(&hashes, |qlen| qlen.saturating_add(1));
        self.queue.push((packet, hashes));
        Fate::Queued
    }

    fn each(&mut self, hashes: &[Option<Places>; 2], change: impl Fn(u16) -> u16) {
        for (table, places) in self.bins.iter_mut().zip(hashes) {
            let Some(places) = places else { continue };
            for (at, level) in places.iter().zip(table) {
                level[*at].qlen = change(level[*at].qlen);
            }
        }
    }

    pub fn dequeue(&mut self) -> Option<TestPacket> {
        if self.queue.is_empty() {
            return None;
        }
        let (packet, hashes) = self.queue.remove(0);
        self.each(&hashes, |qlen| qlen.saturating_sub(1));
        Some(packet)
    }
}
