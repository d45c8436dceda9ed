//! A slow and obvious model of Linux's CHOKe, as an oracle for `choke_linux`.
//!
//! Written from the algorithm of the kernel's `net/sched/sch_choke.c` (Linux 6), on the model of `include/net/red.h` and of `tc`
//! beside this one, and sharing no code with `choke_linux`: the table of slots with its head and tail, the integers with the
//! widths that C gives them, all as the kernel has them. Nothing here saves work.
//!
//! Two things are not modelled. Random numbers come from a stream that the test lends to both sides (the kernel has one
//! of its own; both draw a slot uniformly, and 32 bits for qR). And when the tail runs into the head, the kernel
//! takes a full table for an empty one; the model stops there with [`Fate::Overrun`].

use super::red::{self, Decay, Reciprocal, Sent};
use sluicegate_aqm::DropReason;
use sluicegate_aqm::harness::TestPacket;
use sluicegate_base::Stream;

/// What `tc qdisc add … choke` is given.
#[derive(Clone, Copy, Debug)]
pub struct Tc {
    pub limit: u32,
    pub min: u32,
    pub max: u32,
    pub burst: u32,
    pub avpkt: u32,
    /// In bit/s.
    pub bandwidth: u64,
    pub probability: f64,
    pub ecn: bool,
}

impl Tc {
    /// The numbers that go to the kernel, or none where `tc` or the kernel refuses.
    pub fn sent(&self) -> Option<Sent> {
        red::sent(f64::from(self.min), self.max, self.burst, self.avpkt, self.bandwidth)
    }
}

/// What became of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Queued, marked or not.
    Queued,
    /// Lost alone; perhaps with a mark that it got before the queue was found full.
    Lost(TestPacket, DropReason),
    /// Lost with the packet that it met.
    Met(TestPacket),
    /// The kernel would lose sight of its queue.
    Overrun,
}

/// The kernel's counters, and how often something rare was met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub prob_drop: u64,
    pub prob_mark: u64,
    pub forced_drop: u64,
    pub forced_mark: u64,
    pub pdrop: u64,
    pub matched: u64,
    /// Draws that found three holes and took the head.
    pub gave_up: u64,
    /// Averages that decayed by shifts, and by the linear start of the curve.
    pub shifted: u64,
    pub linear: u64,
}

/// The queue.
pub struct Choke {
    tc: Tc,
    sent: Sent,
    reciprocal: Reciprocal,
    tab: Vec<Option<TestPacket>>,
    head: usize,
    tail: usize,
    qlen: u32,
    /// The kernel's `unsigned long` on 64-bit machines.
    pub qavg: u64,
    pub qcount: i32,
    q_r: u32,
    /// In ns.
    qidlestart: Option<u64>,
    pub counts: Counts,
}

impl Choke {
    pub fn new(tc: Tc) -> Option<Choke> {
        let sent = tc.sent()?;
        let reciprocal = red::max_p_reciprocal(tc.probability, tc.max - tc.min);
        let tab = vec![None; (tc.limit + 1).next_power_of_two() as usize];
        Some(Choke {
            tc,
            sent,
            reciprocal,
            tab,
            head: 0,
            tail: 0,
            qlen: 0,
            qavg: 0,
            qcount: -1,
            q_r: 0,
            qidlestart: None,
            counts: Counts::default(),
        })
    }

    pub fn average(&self) -> f64 {
        self.qavg as f64 / libm::pow(2.0, f64::from(self.sent.wlog))
    }

    /// The queue from head to tail, without holes.
    pub fn queued(&self) -> Vec<TestPacket> {
        let slots = (0..self.span()).map(|k| self.tab[self.after(self.head, k)]);
        slots.flatten().collect()
    }

    /// The slots between head and tail, holes included.
    pub fn span(&self) -> usize {
        (self.tail + self.tab.len() - self.head) % self.tab.len()
    }

    fn after(&self, slot: usize, k: usize) -> usize {
        (slot + k) % self.tab.len()
    }

    /// Steps the head on, past holes, at most to the tail.
    fn advance_head(&mut self) {
        self.head = self.after(self.head, 1);
        while self.head != self.tail && self.tab[self.head].is_none() {
            self.head = self.after(self.head, 1);
        }
    }

    /// red.h: the average while the link is busy, or after an idle time.
    fn average_of(&mut self, now: u64) -> u64 {
        let Some(start) = self.qidlestart else {
            return red::moved(&self.sent, self.qavg, self.qlen);
        };
        let (qavg, how) = red::decayed(&self.sent, self.qavg, now - start);
        self.counts.shifted += u64::from(how == Decay::Shifted);
        self.counts.linear += u64::from(how == Decay::Linear);
        qavg
    }

    /// A slot with a packet, to compare an arrival with.
    fn draw(&mut self, random: &mut Stream) -> usize {
        for _ in 0..3 {
            let slot = self.after(self.head, random.below(self.span() as u64) as usize);
            if self.tab[slot].is_some() {
                return slot;
            }
        }
        self.counts.gave_up += 1;
        self.head
    }

    /// An arrival.
    pub fn enqueue(&mut self, mut packet: TestPacket, now: u64, random: &mut Stream) -> Fate {
        self.qavg = self.average_of(now);
        self.qidlestart = None;
        let (wlog, min) = (self.sent.wlog, u64::from(self.tc.min) << self.sent.wlog);
        let max = u64::from(self.tc.max) << wlog;
        if self.qavg <= min {
            self.qcount = -1;
        } else {
            if self.head != self.tail {
                let slot = self.draw(random);
                let other = self.tab[slot].expect("the head has a packet while there is one");
                if other.flow == packet.flow {
                    self.tab[slot] = None;
                    if slot == self.head {
                        self.advance_head();
                    }
                    self.qlen -= 1;
                    self.counts.matched += 1;
                    return Fate::Met(other);
                }
            }
            if self.qavg > max {
                self.qcount = -1;
                if !(self.tc.ecn && red::mark(&mut packet)) {
                    self.counts.forced_drop += 1;
                    return Fate::Lost(packet, DropReason::Forced);
                }
                self.counts.forced_mark += 1;
            } else {
                self.qcount += 1;
                if self.qcount == 0 {
                    self.q_r = red::red_random(self.reciprocal, random);
                } else if ((self.qavg - min) >> wlog).wrapping_mul(self.qcount as u64) >= u64::from(self.q_r) {
                    self.qcount = 0;
                    self.q_r = red::red_random(self.reciprocal, random);
                    if !(self.tc.ecn && red::mark(&mut packet)) {
                        self.counts.prob_drop += 1;
                        return Fate::Lost(packet, DropReason::Early);
                    }
                    self.counts.prob_mark += 1;
                }
            }
        }
        if self.qlen >= self.tc.limit {
            self.counts.pdrop += 1;
            return Fate::Lost(packet, DropReason::Tail);
        }
        if self.after(self.tail, 1) == self.head {
            return Fate::Overrun;
        }
        self.tab[self.tail] = Some(packet);
        self.tail = self.after(self.tail, 1);
        self.qlen += 1;
        Fate::Queued
    }

    /// The link asks for a packet.
    pub fn dequeue(&mut self, now: u64) -> Option<TestPacket> {
        if self.head == self.tail {
            self.qidlestart = self.qidlestart.or(Some(now));
            return None;
        }
        let packet = self.tab[self.head].take();
        self.advance_head();
        self.qlen -= 1;
        packet
    }
}
