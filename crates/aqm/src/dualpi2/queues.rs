//! The two queues, and the scheduler between them.

use super::DualPi2Params;
use crate::prelude::*;

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Queue {
    Classic,
    L4s,
}

/// What is noted of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tag {
    pub came: Time,
    /// Whether the kernel's step may mark it.
    pub step: bool,
}

/// A packet whose turn it is.
pub(super) struct Scheduled<P> {
    pub queue: Queue,
    pub packet: P,
    pub tag: Tag,
    /// By how much the credit moves if it leaves.
    pub change: i64,
}

/// Both queues.
#[derive(Clone, Debug)]
pub(super) struct Queues<P> {
    lq: Fifo<P, Tag>,
    cq: Fifo<P, Tag>,
    /// Above 0, it is the classic queue's turn.
    credit: i64,
}

impl DualPi2Params {
    /// Parts of the link, in percent: the classic queue's, and the other's.
    fn weights(&self) -> [i64; 2] {
        let w_c = self.classic_protection as i64;
        [w_c, 100 - w_c]
    }

    fn first_credit(&self) -> i64 {
        let [w_c, w_l] = self.weights();
        credits(self.max_packet.amount(), w_c - w_l)
    }
}

fn credits(bytes: u64, weight: i64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX).saturating_mul(weight)
}

impl<P: Packet> Queues<P> {
    pub(super) fn new(params: &DualPi2Params) -> Self {
        // The limit is one on both queues together.
        let queue = || Fifo::new(Size::Packets(u64::MAX));
        Queues { lq: queue(), cq: queue(), credit: params.first_credit() }
    }

    /// How many packets are in this one.
    pub(super) fn len(&self, queue: Queue) -> u64 {
        match queue {
            Queue::Classic => self.cq.packets(),
            Queue::L4s => self.lq.packets(),
        }
    }

    /// How long the head has waited that has waited longer.
    pub(super) fn longest_wait(&self, now: Time) -> Span {
        let came = [&self.lq, &self.cq].into_iter().filter_map(|fifo| fifo.head_tag().map(|tag| tag.came)).min();
        came.map_or(Span::ZERO, |came| now.since(came))
    }

    pub(super) fn push(&mut self, queue: Queue, packet: P, tag: Tag) {
        match queue {
            Queue::Classic => self.cq.push_with(packet, tag),
            Queue::L4s => self.lq.push_with(packet, tag),
        }
    }

    /// Takes a packet from the queue whose turn it is.
    pub(super) fn schedule(&mut self, params: &DualPi2Params) -> Option<Scheduled<P>> {
        let (l, c) = (self.lq.packets() > 0, self.cq.packets() > 0);
        let [w_c, w_l] = params.weights();
        let (queue, fifo, weight) = if l && (!c || self.credit <= 0) {
            (Queue::L4s, &mut self.lq, w_c)
        } else {
            (Queue::Classic, &mut self.cq, -w_l)
        };
        let Some((packet, tag)) = fifo.pop_with() else {
            self.credit = params.first_credit();
            return None;
        };
        let change = if l && c { credits(packet.bytes(), weight) } else { 0 };
        Some(Scheduled { queue, packet, tag, change })
    }

    /// A packet has left.
    pub(super) fn move_credit(&mut self, change: i64) {
        self.credit = self.credit.saturating_add(change);
    }

    /// Parameters have changed from `old`; what the limit has no room for is dropped, the last of the classic queue first.
    pub(super) fn configure(&mut self, old: &DualPi2Params, params: &DualPi2Params, ctx: &mut Ctx<'_, P>) {
        while Limit::of(params.limit).is_exceeded(self.packets(), self.bytes()) {
            let Some((packet, _)) = self.cq.pop_tail_with().or_else(|| self.lq.pop_tail_with()) else { break };
            ctx.drop(packet, DropReason::Reconfigured);
        }
        if params.classic_protection != old.classic_protection {
            self.credit = params.first_credit();
        }
    }
}

impl<P: Packet> Buffer<P> for Queues<P> {
    fn packets(&self) -> u64 {
        self.lq.packets() + self.cq.packets()
    }

    fn bytes(&self) -> u64 {
        self.lq.bytes() + self.cq.bytes()
    }

    fn for_each(&self, visit: &mut dyn FnMut(&P)) {
        self.lq.for_each(visit);
        self.cq.for_each(visit);
    }
}
