//! Flows hashed into a fixed number of queues served by deficit round robin; a queue that was empty goes first: what
//! `fq_codel` and `fq_pie` have in common (RFC 8290, Sec. 4).

use crate::discipline::{FlowKey, Packet};
use crate::fifo::{Buffer, Fifo};
use crate::flow_hasher::FlowHasher;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use sluicegate_base::{Size, Stream, Time};

/// One of the queues.
#[derive(Clone, Debug)]
pub(crate) struct HashedQueue<P, Aqm> {
    /// Packets, and when each came.
    pub(crate) fifo: Fifo<P, Time>,
    /// What the rule for this queue keeps of it.
    pub(crate) aqm: Aqm,
    credits: i64,
    /// Whether it is in one of the lists.
    listed: bool,
}

/// Queues by hash, in two lists: those that were empty when their packet came, and the others.
#[derive(Clone, Debug)]
pub(crate) struct HashedQueues<P, Aqm> {
    hash: Option<FlowHasher>,
    pub(crate) queues: Vec<HashedQueue<P, Aqm>>,
    new_queues: VecDeque<u32>,
    old_queues: VecDeque<u32>,
    packets: u64,
    bytes: u64,
    /// Whether a new queue that is empty leaves at once if there are no old ones.
    leaves_at_once: bool,
}

impl<P: Packet, Aqm> HashedQueues<P, Aqm> {
    /// So many empty queues, which all begin like this. `leaves_at_once`: in Linux's order, not in that of the RFC.
    pub(crate) fn new(n: u64, aqm: &Aqm, leaves_at_once: bool) -> Self
    where
        Aqm: Clone,
    {
        // The limit is one on all queues together.
        let queue =
            |_| HashedQueue { fifo: Fifo::new(Size::Packets(u64::MAX)), aqm: aqm.clone(), credits: 0, listed: false };
        HashedQueues {
            hash: None,
            queues: (0..n).map(queue).collect(),
            new_queues: VecDeque::new(),
            old_queues: VecDeque::new(),
            packets: 0,
            bytes: 0,
            leaves_at_once,
        }
    }

    /// The queue of a flow.
    #[inline]
    pub(crate) fn find(&mut self, flow: FlowKey, rng: &mut Stream) -> u32 {
        let hash = *self.hash.get_or_insert_with(|| FlowHasher::new(rng));
        hash.bucket(flow, self.queues.len()) as u32
    }

    /// Appends a packet to a queue, which is new if it is in no list.
    #[inline]
    pub(crate) fn push(&mut self, at: u32, packet: P, quantum: Size, now: Time) {
        self.packets += 1;
        self.bytes += packet.bytes();
        let queue = &mut self.queues[at as usize];
        queue.fifo.push_with(packet, now);
        if !queue.listed {
            queue.listed = true;
            queue.credits = credits(quantum);
            self.new_queues.push_back(at);
        }
    }

    /// Takes the packet at the head of a queue, out of turn.
    pub(crate) fn pop(&mut self, at: u32) -> Option<P> {
        let (packet, _) = self.queues[at as usize].fifo.pop_with()?;
        self.packets -= 1;
        self.bytes -= packet.bytes();
        Some(packet)
    }

    /// The queues that have packets, and those that had, in the order of their turns.
    pub(crate) fn listed(&self) -> impl Iterator<Item = u32> {
        self.new_queues.iter().chain(&self.old_queues).copied()
    }

    /// The packet that is sent next, as `serve` takes it from a queue: it gets the queue with its number, and how many bytes the
    /// others hold.
    #[inline]
    pub(crate) fn dequeue(
        &mut self,
        quantum: Size,
        mut serve: impl FnMut(u32, &mut HashedQueue<P, Aqm>, u64) -> Option<P>,
    ) -> Option<P> {
        loop {
            let new = !self.new_queues.is_empty();
            let at = *self.new_queues.front().or(self.old_queues.front())?;
            let queue = &mut self.queues[at as usize];
            let leaves = if queue.credits <= 0 {
                queue.credits += credits(quantum);
                false
            } else {
                let (packets, bytes) = (queue.fifo.packets(), queue.fifo.bytes());
                let packet = serve(at, queue, self.bytes - bytes);
                self.packets -= packets - queue.fifo.packets();
                self.bytes -= bytes - queue.fifo.bytes();
                if let Some(packet) = packet {
                    queue.credits -= packet.bytes() as i64;
                    return Some(packet);
                }
                // A new queue passes through the old ones once, so that new ones cannot starve them.
                !new || (self.leaves_at_once && self.old_queues.is_empty())
            };
            let list = if new { &mut self.new_queues } else { &mut self.old_queues };
            list.pop_front();
            if leaves {
                queue.listed = false;
                queue.fifo.shrink();
            } else {
                self.old_queues.push_back(at);
            }
        }
    }
}

fn credits(quantum: Size) -> i64 {
    i64::try_from(quantum.amount()).unwrap_or(i64::MAX / 2)
}

impl<P: Packet, Aqm> Buffer<P> for HashedQueues<P, Aqm> {
    fn packets(&self) -> u64 {
        self.packets
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn for_each(&self, visit: &mut dyn FnMut(&P)) {
        self.listed().for_each(|at| self.queues[at as usize].fifo.for_each(visit));
    }
}
