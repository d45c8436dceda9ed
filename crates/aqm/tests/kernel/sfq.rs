//! A slow and obvious model of Linux's SFQ, as an oracle for `sfq`.
//!
//! Written from the algorithm of the kernel's `net/sched/sch_sfq.c` (Linux 4 to 6, without its RED), sharing no code with
//! `sfq`: a list of slots for each length, the one that came last first; turns counted in units of 8 bytes; the round as a
//! list. The hash is lent by the test: the kernel's own is not modelled.

use sluicegate_aqm::harness::TestPacket;

/// What `tc qdisc add … sfq` is given.
#[derive(Clone, Copy, Debug)]
pub struct Tc {
    pub limit: usize,
    pub flows: usize,
    pub depth: usize,
    pub divisor: usize,
    pub quantum: u64,
    pub headdrop: bool,
}

/// How often each thing happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub no_slot: u64,
    pub depth: u64,
    pub longest: u64,
    pub all_of_one: u64,
    pub turns: u64,
    pub rehash_dropped: u64,
}

#[derive(Clone, Debug, Default)]
struct Slot {
    packets: Vec<TestPacket>,
    hash: usize,
    allot: i64,
}

/// The queue.
pub struct Sfq {
    tc: Tc,
    slots: Vec<Slot>,
    /// The slots with each number of packets; 0: those in no use.
    dep: Vec<Vec<usize>>,
    ht: Vec<Option<usize>>,
    /// Slots in the order of their turns.
    round: Vec<usize>,
    pub counts: Counts,
}

fn units(bytes: u64) -> i64 {
    bytes.div_ceil(8) as i64
}

impl Sfq {
    pub fn new(tc: Tc) -> Sfq {
        let mut dep = vec![Vec::new(); tc.depth + 2];
        (0..tc.flows).for_each(|slot| dep[0].insert(0, slot));
        Sfq {
            tc,
            slots: vec![Slot::default(); tc.flows],
            dep,
            ht: vec![None; tc.divisor],
            round: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// The packets, slot by slot in the order of their turns.
    pub fn queued(&self) -> Vec<TestPacket> {
        self.round.iter().flat_map(|slot| self.slots[*slot].packets.clone()).collect()
    }

    fn qlen(&self) -> usize {
        self.slots.iter().map(|slot| slot.packets.len()).sum()
    }

    /// A slot had `before` packets.
    fn relink(&mut self, slot: usize, before: usize) {
        self.dep[before].retain(|other| *other != slot);
        let now = self.slots[slot].packets.len();
        self.dep[now].insert(0, slot);
    }

    fn add(&mut self, slot: usize, packet: TestPacket) {
        let before = self.slots[slot].packets.len();
        self.slots[slot].packets.push(packet);
        self.relink(slot, before);
        if before == 0 {
            self.round.push(slot);
            self.slots[slot].allot = units(self.tc.quantum);
        }
    }

    fn remove(&mut self, slot: usize, first: bool) -> TestPacket {
        let before = self.slots[slot].packets.len();
        let packet = self.slots[slot].packets.remove(if first { 0 } else { before - 1 });
        self.relink(slot, before);
        packet
    }

    fn empty(&mut self, slot: usize) {
        self.ht[self.slots[slot].hash] = None;
        self.round.retain(|other| *other != slot);
    }

    /// The slot of a hash; none if none is free.
    fn find(&mut self, hash: usize) -> Option<usize> {
        if let Some(slot) = self.ht[hash] {
            return Some(slot);
        }
        let slot = *self.dep[0].first()?;
        self.ht[hash] = Some(slot);
        self.slots[slot].hash = hash;
        Some(slot)
    }

    /// An arrival with this hash: the packet that is dropped, if one is.
    pub fn enqueue(&mut self, packet: TestPacket, hash: usize) -> Option<TestPacket> {
        let Some(slot) = self.find(hash) else {
            self.counts.no_slot += 1;
            return Some(packet);
        };
        if self.slots[slot].packets.len() >= self.tc.depth {
            self.counts.depth += 1;
            if !self.tc.headdrop {
                return Some(packet);
            }
            // The slot keeps its length, and its place among those of that length.
            let first = self.slots[slot].packets.remove(0);
            self.slots[slot].packets.push(packet);
            return Some(first);
        }
        self.add(slot, packet);
        if self.qlen() <= self.tc.limit {
            return None;
        }
        let longest = self.dep.iter().rposition(|slots| !slots.is_empty()).expect("there are slots");
        if longest > 1 {
            self.counts.longest += 1;
            let slot = self.dep[longest][0];
            return Some(self.remove(slot, self.tc.headdrop));
        }
        self.counts.all_of_one += 1;
        let slot = self.round[0];
        self.empty(slot);
        Some(self.remove(slot, true))
    }

    /// The link asks for a packet.
    pub fn dequeue(&mut self) -> Option<TestPacket> {
        loop {
            let slot = *self.round.first()?;
            if self.slots[slot].allot <= 0 {
                self.counts.turns += 1;
                self.slots[slot].allot += units(self.tc.quantum);
                self.round.rotate_left(1);
                continue;
            }
            let packet = self.remove(slot, true);
            if self.slots[slot].packets.is_empty() {
                self.empty(slot);
            } else {
                self.slots[slot].allot -= units(packet.bytes);
            }
            return Some(packet);
        }
    }

    /// A new perturbation, and the hash of each packet under it: those that are dropped.
    pub fn perturb(&mut self, hash: impl Fn(u64) -> usize) -> Vec<TestPacket> {
        let mut moving = Vec::new();
        for slot in 0..self.slots.len() {
            if !self.slots[slot].packets.is_empty() {
                while !self.slots[slot].packets.is_empty() {
                    moving.push(self.remove(slot, true));
                }
                self.empty(slot);
            }
        }
        let mut dropped = Vec::new();
        for packet in moving {
            match self.find(hash(packet.flow)) {
                Some(slot) if self.slots[slot].packets.len() < self.tc.depth => self.add(slot, packet),
                _ => dropped.push(packet),
            }
        }
        self.counts.rehash_dropped += dropped.len() as u64;
        dropped
    }
}
