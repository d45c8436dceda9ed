//! DCN's two tables: SB, the scoreboard of recent packets, and HB, the flows that count as high-bandwidth.

use super::DcnParams;
use crate::discipline::FlowKey;
use crate::keyed::Keyed;
use alloc::vec;
use alloc::vec::Vec;
use sluicegate_base::{Span, Stream, Time};

/// An entry of SB. Its place is empty while `count` is 0.
#[derive(Clone, Copy, Debug)]
struct Score {
    flow: FlowKey,
    last: Time,
    count: u32,
}

/// Both tables. They take no memory until the first packet comes.
#[derive(Clone, Debug)]
pub struct Tables {
    /// SB, direct-mapped.
    sb: Vec<Score>,
    /// HB, chained.
    pub hb: Hb,
    /// The key is drawn with the first packet.
    keyed: Option<Keyed>,
    sb_entries: usize,
    threshold: u64,
    clearing: Span,
    /// When the last packet came.
    now: Time,
}

impl Tables {
    /// Empty tables of these sizes.
    pub fn new(params: &DcnParams) -> Tables {
        Tables {
            sb: Vec::new(),
            hb: Hb::new(params.hb_buckets as usize, params.hb_flows as usize),
            keyed: None,
            sb_entries: params.sb_entries as usize,
            threshold: params.threshold,
            clearing: params.clearing,
            now: Time::ZERO,
        }
    }

    /// A packet of this flow arrives: where it stands in HB. If it is not there it is counted in SB, and moves to HB with
    /// the next packet above the threshold.
    #[inline]
    pub fn classify(&mut self, flow: FlowKey, now: Time, rng: &mut Stream) -> Option<u32> {
        self.now = now;
        let keyed = *self.keyed.get_or_insert_with(|| Keyed::new(rng));
        let hash = keyed.hash(flow);
        let found = self.hb.find(flow, hash);
        if found.is_some() {
            return found;
        }
        if self.sb.is_empty() {
            self.sb = vec![Score { flow, last: now, count: 0 }; self.sb_entries];
        }
        let score = &mut self.sb[keyed.place(flow, self.sb_entries)];
        if score.flow != flow || now.since(score.last) > self.clearing {
            score.count = 0;
        }
        *score = Score { flow, last: now, count: score.count.saturating_add(1) };
        if u64::from(score.count) > self.threshold && self.hb.insert(flow, hash, f64::from(score.count)) {
            score.count = 0;
        }
        None
    }

    /// How many flows SB has heard of within a clearing interval.
    pub fn sb_flows(&self) -> u64 {
        let heard = |score: &&Score| score.count > 0 && self.now.since(score.last) <= self.clearing;
        self.sb.iter().filter(heard).count() as u64
    }
}

/// The end of a chain.
const NONE: u32 = u32::MAX;

/// A flow in HB, or a free place; `next` is the next of its bucket, or the next free place.
#[derive(Clone, Copy, Debug)]
struct Node {
    flow: FlowKey,
    pktcount: f64,
    next: u32,
}

/// HB: buckets of chained flows, in one block of memory.
#[derive(Clone, Debug)]
pub struct Hb {
    heads: Vec<u32>,
    nodes: Vec<Node>,
    free: u32,
    len: u64,
    entries: u64,
    buckets: usize,
    most: usize,
}

impl Hb {
    fn new(buckets: usize, most: usize) -> Hb {
        Hb { heads: Vec::new(), nodes: Vec::new(), free: NONE, len: 0, entries: 0, buckets, most }
    }

    #[inline]
    fn bucket(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.buckets as u128) >> 64) as usize
    }

    #[inline]
    fn find(&self, flow: FlowKey, hash: u64) -> Option<u32> {
        let mut at = *self.heads.get(self.bucket(hash))?;
        while at != NONE {
            let node = &self.nodes[at as usize];
            if node.flow == flow {
                return Some(at);
            }
            at = node.next;
        }
        None
    }

    /// Takes a flow in that is not there; false when it is full.
    fn insert(&mut self, flow: FlowKey, hash: u64, pktcount: f64) -> bool {
        if self.heads.is_empty() {
            self.heads = vec![NONE; self.buckets];
            self.nodes.reserve_exact(self.most);
        }
        let bucket = self.bucket(hash);
        let node = Node { flow, pktcount, next: self.heads[bucket] };
        let at = if self.free != NONE {
            let at = self.free;
            self.free = self.nodes[at as usize].next;
            self.nodes[at as usize] = node;
            at
        } else if self.nodes.len() < self.most {
            self.nodes.push(node);
            self.nodes.len() as u32 - 1
        } else {
            return false;
        };
        self.heads[bucket] = at;
        self.len += 1;
        self.entries += 1;
        true
    }

    /// Lowers every count by p_ref; flows at 0 or below leave.
    pub fn lower(&mut self, p_ref: f64) {
        if self.len == 0 {
            return;
        }
        for head in &mut self.heads {
            let (mut at, mut before) = (*head, NONE);
            while at != NONE {
                let node = &mut self.nodes[at as usize];
                node.pktcount -= p_ref;
                let next = node.next;
                if node.pktcount > 0.0 {
                    before = at;
                } else {
                    node.next = self.free;
                    (self.free, self.len) = (at, self.len - 1);
                    match before {
                        NONE => *head = next,
                        _ => self.nodes[before as usize].next = next,
                    }
                }
                at = next;
            }
        }
    }

    /// One more packet of the flow at this place.
    #[inline]
    pub fn count(&mut self, at: u32) {
        self.nodes[at as usize].pktcount += 1.0;
    }

    /// The count of the flow at this place.
    #[inline]
    pub fn pktcount(&self, at: u32) -> f64 {
        self.nodes[at as usize].pktcount
    }

    /// How many flows there are.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many have entered so far.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Every flow with its count, in the order of the buckets.
    pub fn for_each(&self, visit: &mut dyn FnMut(FlowKey, f64)) {
        for head in &self.heads {
            let mut at = *head;
            while at != NONE {
                let node = &self.nodes[at as usize];
                visit(node.flow, node.pktcount);
                at = node.next;
            }
        }
    }

    /// The longest chain, and the bytes that the table takes.
    #[cfg(test)]
    pub fn shape(&self) -> (usize, usize) {
        let node = |at: u32| (at != NONE).then(|| &self.nodes[at as usize]);
        let chain = |head: &u32| core::iter::successors(node(*head), |before| node(before.next)).count();
        let bytes = self.heads.capacity() * size_of::<u32>() + self.nodes.capacity() * size_of::<Node>();
        (self.heads.iter().map(chain).max().unwrap_or(0), bytes)
    }
}

#[cfg(test)]
impl Tables {
    /// The bytes that both tables take.
    pub fn bytes(&self) -> usize {
        self.sb.capacity() * size_of::<Score>() + self.hb.shape().1
    }
}
