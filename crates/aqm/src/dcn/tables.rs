//! DCN's two tables: SB, the scoreboard of recent packets, and HB, the flows that count as high-bandwidth.

use super::DcnParams;
use crate::discipline::FlowKey;
use crate::flow_hasher::FlowHasher;
use crate::flow_table::FlowTable;
use alloc::vec;
use alloc::vec::Vec;
use sluicegate_base::{Span, Stream, Time};

/// An entry of SB. Its bucket is empty while `count` is 0.
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
    /// HB: each flow with its pktcount. Its hash gives the buckets in SB too.
    pub hb: FlowTable<f64>,
    /// How many flows have entered HB so far.
    pub entries: u64,
    sb_entries: usize,
    threshold: u64,
    clearing: Span,
    /// When the last packet came.
    now: Time,
    /// The largest pktcount of this T_dec, and of the one before.
    largest: [f64; 2],
}

impl Tables {
    /// Empty tables of these sizes.
    pub fn new(params: &DcnParams) -> Tables {
        Tables {
            sb: Vec::new(),
            hb: FlowTable::new(params.hb_flows as usize),
            entries: 0,
            sb_entries: params.sb_entries as usize,
            threshold: params.threshold,
            clearing: params.clearing,
            now: Time::ZERO,
            largest: [0.0; 2],
        }
    }

    /// These values of what is not a size hold from now on.
    pub fn configure(&mut self, params: &DcnParams) {
        (self.threshold, self.clearing) = (params.threshold, params.clearing);
    }

    /// A packet of this flow arrives: where it stands in HB. If it is not there it is counted in SB, and moves to HB with
    /// the next packet above the threshold.
    #[inline]
    pub fn classify(&mut self, flow: FlowKey, now: Time, rng: &mut Stream) -> Option<usize> {
        self.now = now;
        let hash = self.hb.hash(flow, rng);
        let found = self.hb.find_hashed(flow, hash);
        if found.is_some() {
            return found;
        }
        if self.sb.is_empty() {
            self.sb = vec![Score { flow, last: now, count: 0 }; self.sb_entries];
        }
        let score = &mut self.sb[FlowHasher::bucket_of(hash, self.sb_entries)];
        if score.flow != flow || now.since(score.last) > self.clearing {
            score.count = 0;
        }
        *score = Score { flow, last: now, count: score.count.saturating_add(1) };
        if u64::from(score.count) > self.threshold {
            // A flow that waits for room in HB counts on; these packets are not of the last interval.
            let pktcount = (self.threshold + 1) as f64;
            if self.hb.find_or_insert(flow, rng, || pktcount).is_some() {
                score.count = 0;
                self.entries += 1;
                self.largest[0] = self.largest[0].max(pktcount);
            }
        }
        None
    }

    /// How many flows SB has heard of within a clearing interval.
    pub fn sb_flows(&self) -> u64 {
        let heard = |score: &&Score| score.count > 0 && self.now.since(score.last) <= self.clearing;
        self.sb.iter().filter(heard).count() as u64
    }

    /// The flows of SB that were heard of within a clearing interval, with their counts; the first `max_scores` of them.
    pub fn for_each_score(&self, max_scores: usize, visit: &mut dyn FnMut(FlowKey, u32)) {
        let heard = |score: &&Score| score.count > 0 && self.now.since(score.last) <= self.clearing;
        self.sb.iter().filter(heard).take(max_scores).for_each(|score| visit(score.flow, score.count));
    }

    /// One packet more of the flow that stands there in HB.
    #[inline]
    pub fn count(&mut self, at: usize) {
        self.hb[at] += 1.0;
        self.largest[0] = self.largest[0].max(self.hb[at]);
    }

    /// The largest pktcount that a flow has had in this T_dec or the one before; none when HB was empty.
    pub fn largest(&self) -> Option<f64> {
        let largest = self.largest[0].max(self.largest[1]);
        (largest > 0.0).then_some(largest)
    }

    /// The end of T_dec: every count is lowered by p_ref, and flows at 0 or below leave HB.
    pub fn lower(&mut self, p_ref: f64) {
        self.largest = [0.0, self.largest[0]];
        self.hb.retain(|pktcount| {
            *pktcount -= p_ref;
            self.largest[0] = self.largest[0].max(*pktcount);
            *pktcount > 0.0
        });
    }

    /// How many entries SB has, for tests.
    #[cfg(test)]
    pub fn sb_len(&self) -> usize {
        self.sb.len()
    }
}
