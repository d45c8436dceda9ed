//! A slow and obvious model of Linux's CAKE, as an oracle for `cake`.
//!
//! Written from the algorithm of the kernel's `net/sched/sch_cake.c` (Linux 6.18), sharing no code with `cake`: tables
//! of code points and roots as numbers, lengths of 32 bits, signed times and deficits, lists that are searched. The
//! hash of flows and hosts is lent by the test, and random numbers come from a stream that begins as that of `cake`
//! does.
//!
//! Not modelled: `autorate-ingress`, offload, filters, NAT, TCP options but whether there is SACK (an acknowledgement
//! with ranges is never dropped), the memory of packets beside their bytes, and the order of the heap among queues of
//! equal length: which of the longest loses a packet is what the test says, and the model asserts that it is one of
//! them.

#[path = "cake/acks.rs"]
mod acks;
#[path = "cake/cobalt.rs"]
mod cobalt;
#[path = "cake/tables.rs"]
mod tables;
#[path = "cake/tin.rs"]
mod tin;

use sluicegate_aqm::flow_hasher::FlowHasher;
use sluicegate_aqm::harness::TestPacket;
use sluicegate_aqm::{DropReason, FlowKey};
use sluicegate_base::Stream;
use tables::tin_of;
use tin::{Flow, Set, Tin, ends};

pub const SRC_IP: u8 = 1;
pub const DST_IP: u8 = 2;
pub const FLOWS: u8 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TinMode {
    Diffserv3,
    Diffserv4,
    Diffserv8,
    Besteffort,
    Precedence,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtmMode {
    None,
    Atm,
    Ptm,
}

/// What `tc qdisc add … cake` is given, and the device's MTU.
#[derive(Clone, Copy, Debug)]
pub struct Tc {
    /// In bytes per second; 0 is unlimited.
    pub rate: u64,
    pub tin_mode: TinMode,
    pub flow_mode: u8,
    /// In µs.
    pub interval: u32,
    /// In µs.
    pub target: u32,
    pub overhead: i32,
    pub mpu: u32,
    pub atm: AtmMode,
    /// 0: none, 1: on, 2: aggressive.
    pub ack_filter: u8,
    pub ingress: bool,
    pub wash: bool,
    /// In bytes; 0 is what follows from the rate.
    pub memlimit: u32,
    pub mtu: u32,
}

/// How often each thing happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub direct: u64,
    pub other_way: u64,
    pub miss: u64,
    pub collision: u64,
    pub mark: u64,
    pub codel: u64,
    pub blue: u64,
    pub spared: u64,
    pub overlimit: u64,
    pub ack: u64,
    pub held: u64,
    pub waits: u64,
    pub decays: u64,
    pub shared_host: u64,
    pub borrows: u64,
    pub tins: [u64; 8],
}

#[derive(Clone, Copy)]
struct Queued {
    packet: TestPacket,
    enqueue_time: i64,
    adjusted_len: u32,
}

/// The queue.
pub struct Cake {
    tc: Tc,
    keys: Option<[FlowHasher; 3]>,
    random: Stream,
    tins: Vec<Tin>,
    cur_tin: usize,
    time_next_packet: i64,
    failsafe_next_packet: i64,
    buffer_used: u64,
    buffer_limit: u64,
    qlen: usize,
    /// When the shaper, which has refused a packet, wants to be asked again.
    pub watchdog: Option<i64>,
    pub counts: Counts,
}

impl Cake {
    pub fn new(tc: Tc, random: Stream) -> Cake {
        let rate = tc.rate;
        let eighths = || {
            let (mut rate, mut quantum) = (rate, 256u32);
            (0..8)
                .map(|_| {
                    let one = (rate, quantum.max(1) as u16);
                    (rate, quantum) = ((rate * 7) >> 3, (quantum * 7) >> 3);
                    one
                })
                .collect()
        };
        let tins: Vec<(u64, u16)> = match tc.tin_mode {
            TinMode::Besteffort => vec![(rate, 65535)],
            TinMode::Precedence | TinMode::Diffserv8 => eighths(),
            TinMode::Diffserv4 => vec![(rate, 1024), (rate >> 4, 64), (rate >> 1, 512), (rate >> 2, 256)],
            TinMode::Diffserv3 => vec![(rate, 1024), (rate >> 4, 64), (rate >> 2, 256)],
        };
        let most = 10_240 * u64::from(tc.mtu);
        let buffer_limit = match (tc.memlimit, rate) {
            (0, 0) => most,
            (0, _) => (rate * u64::from(tc.interval) / 250_000).max(4 << 20).min(most),
            (given, _) => given.into(),
        };
        Cake {
            tins: tins.into_iter().map(|(rate, quantum)| Tin::new(&tc, rate, quantum)).collect(),
            keys: None,
            random,
            cur_tin: 0,
            time_next_packet: 0,
            failsafe_next_packet: 0,
            buffer_used: 0,
            buffer_limit,
            qlen: 0,
            watchdog: None,
            counts: Counts::default(),
            tc,
        }
    }

    /// Whether its intervals fit the 32 bits that the kernel's arithmetic has for them.
    pub fn is_defined(&self) -> bool {
        self.tins.iter().all(|tin| tin.params.interval >> 32 == 0)
    }

    /// The packets, tin by tin and there list by list.
    pub fn queued(&self) -> Vec<TestPacket> {
        let flows = self.tins.iter().flat_map(|tin| tin.lists.iter().flatten().map(|at| &tin.flows[*at]));
        flows.flat_map(|flow| flow.packets.iter().map(|queued| queued.packet)).collect()
    }

    /// The flows that count as sparse and as bulk.
    pub fn active(&self) -> [f64; 2] {
        let sum = |count: fn(&Tin) -> u16| self.tins.iter().map(|tin| f64::from(count(tin))).sum();
        [sum(|tin| tin.sparse), sum(|tin| tin.bulk)]
    }

    fn wire_len(&self, bytes: u64) -> u32 {
        let len = (bytes as u32).wrapping_add_signed(self.tc.overhead).max(self.tc.mpu);
        match self.tc.atm {
            AtmMode::None => len,
            AtmMode::Atm => len.div_ceil(48) * 53,
            AtmMode::Ptm => len + len.div_ceil(64),
        }
    }

    /// The queue of a packet in its tin.
    fn classify(&mut self, packet: &TestPacket, tin: usize) -> usize {
        let random = &mut self.random;
        let keys = *self.keys.get_or_insert_with(|| {
            let flows = FlowHasher::new(random);
            let sources = FlowHasher::new(random);
            [flows, sources, FlowHasher::new(random)]
        });
        let (from, to) = packet.hosts.map_or((packet.flow, packet.flow), |(a, b)| (a.into(), b.into()));
        let hash = |key: usize, id: u64| (keys[key].hash(FlowKey(id)) >> 32) as u32;
        let hosts = [hash(1, from), hash(2, to)];
        let (mode, tin) = (self.tc.flow_mode, &mut self.tins[tin]);
        if mode == 0 {
            return 0;
        }
        let mut flow_hash = 0;
        if mode & FLOWS != 0 {
            flow_hash = hash(0, packet.flow);
        } else {
            flow_hash ^= if mode & SRC_IP != 0 { hosts[0] } else { 0 };
            flow_hash ^= if mode & DST_IP != 0 { hosts[1] } else { 0 };
        }
        let start = flow_hash as usize % 1024;
        if tin.flows[start].tag == flow_hash && tin.flows[start].set != Set::None {
            self.counts.direct += 1;
            return start;
        }
        let way = |i: usize| start / 8 * 8 + (start + i) % 8;
        let (mut at, mut allocate, mut found) = (start, false, false);
        for i in 0..8 {
            if tin.flows[way(i)].tag == flow_hash {
                self.counts.other_way += u64::from(i > 0);
                (at, allocate, found) = (way(i), tin.flows[way(i)].set == Set::None, true);
                break;
            }
        }
        if !found {
            allocate = true;
            match (0..8).find(|i| tin.flows[way(*i)].set == Set::None) {
                Some(i) => {
                    self.counts.miss += 1;
                    at = way(i);
                }
                None => {
                    self.counts.collision += 1;
                    if tin.flows[at].set == Set::Bulk {
                        tin.count_bulk(at, mode, -1);
                    }
                }
            }
        }
        tin.flows[at].tag = flow_hash;
        if allocate {
            for end in ends(mode) {
                tin.flows[at].host[end] = tin.host(end, hosts[end]);
            }
            if tin.flows[at].set == Set::Bulk {
                tin.count_bulk(at, mode, 1);
            }
        }
        at
    }

    fn advance_shaper(&mut self, tin: usize, adjusted_len: u32, now: i64, drop: bool) {
        if self.tc.rate == 0 {
            return;
        }
        let cost = |tin: &Tin| ((u64::from(adjusted_len) * tin.rate_ns) >> tin.rate_shft) as i64;
        let global = cost(&self.tins[0]);
        let tin = &mut self.tins[tin];
        let own = cost(tin);
        if tin.time_next_packet < now {
            tin.time_next_packet += own;
        } else if tin.time_next_packet < now + own {
            tin.time_next_packet = now + own;
        }
        self.time_next_packet += global;
        if !drop {
            self.failsafe_next_packet += global + (global >> 1);
        }
    }

    /// Takes a queued packet out.
    fn take(&mut self, tin: usize, flow: usize, place: usize) -> Queued {
        let tin = &mut self.tins[tin];
        let queued = tin.flows[flow].packets.remove(place);
        let len = queued.packet.bytes as u32;
        tin.flows[flow].backlog -= len;
        tin.backlog -= len;
        self.buffer_used -= u64::from(len);
        self.qlen -= 1;
        queued
    }

    /// An arrival: what is dropped, and why. Of several longest queues, the next of `victims` is first of the one that
    /// loses.
    pub fn enqueue(
        &mut self,
        mut packet: TestPacket,
        now: u64,
        mut victims: impl Iterator<Item = TestPacket>,
    ) -> Vec<(TestPacket, DropReason)> {
        let (now, mode) = (now as i64, self.tc.flow_mode);
        let mut lost = vec![];
        let dscp = if packet.class > 63 { 0 } else { packet.class };
        let t = tin_of(self.tc.tin_mode, dscp);
        self.counts.tins[t] += 1;
        if self.tc.wash {
            packet.class = 0;
        }
        let f = self.classify(&packet, t);
        if self.tins[t].backlog == 0 {
            self.tins[t].time_next_packet = self.tins[t].time_next_packet.max(now);
            if self.qlen == 0 && self.time_next_packet < now {
                self.failsafe_next_packet = now;
                self.time_next_packet = now;
            }
        }
        let len = packet.bytes as u32;
        let queued = Queued { packet, enqueue_time: now, adjusted_len: self.wire_len(packet.bytes) };
        self.tins[t].flows[f].packets.push(queued);
        self.tins[t].flows[f].backlog += len;
        self.tins[t].backlog += len;
        self.buffer_used += u64::from(len);
        self.qlen += 1;
        if self.tc.ack_filter > 0 {
            if let Some(place) = acks::filter(&self.tins[t].flows[f].packets, self.tc.ack_filter == 2) {
                let ack = self.take(t, f, place);
                if self.tc.ingress {
                    self.advance_shaper(t, ack.adjusted_len, now, true);
                }
                self.counts.ack += 1;
                lost.push((ack.packet, DropReason::Match));
            }
        }
        let tin = &mut self.tins[t];
        match tin.flows[f].set {
            Set::None | Set::Decaying => {
                tin.lists[2].retain(|at| *at != f);
                tin.lists[0].push(f);
                tin.flows[f].set = Set::Sparse;
                tin.sparse += 1;
                tin.flows[f].deficit = tin.quantum(f, mode, &mut self.random, &mut self.counts);
            }
            Set::SparseWait => {
                tin.flows[f].set = Set::Bulk;
                tin.sparse -= 1;
                tin.bulk += 1;
                tin.count_bulk(f, mode, 1);
            }
            Set::Sparse | Set::Bulk => {}
        }
        while self.buffer_used > self.buffer_limit {
            let backlogs = self.tins.iter().flat_map(|tin| tin.flows.iter().map(|flow| flow.backlog));
            let most = backlogs.max().expect("there are queues");
            let victim = victims.next().expect("more is to be dropped").serial;
            let holds = |flow: &Flow| flow.packets.first().is_some_and(|first| first.packet.serial == victim);
            let place = |tin: &Tin| tin.flows.iter().position(|flow| holds(flow) && flow.backlog == most);
            let found = self.tins.iter().enumerate().find_map(|(t, tin)| place(tin).map(|f| (t, f)));
            let (t, f) = found.expect("the victim is the first of one of the longest queues");
            let dropped = self.take(t, f, 0);
            let tin = &mut self.tins[t];
            let params = tin.params;
            tin.flows[f].cobalt.full(&params, now);
            if self.tc.ingress {
                self.advance_shaper(t, dropped.adjusted_len, now, true);
            }
            self.counts.overlimit += 1;
            lost.push((dropped.packet, DropReason::Tail));
        }
        lost
    }

    fn choose_tin(&mut self, now: i64) {
        let active = |tin: &Tin| tin.sparse + tin.bulk > 0;
        if self.tc.rate == 0 {
            loop {
                let tin = &mut self.tins[self.cur_tin];
                if tin.tin_deficit >= 0 && active(tin) {
                    return;
                }
                if tin.tin_deficit <= 0 {
                    tin.tin_deficit += i32::from(tin.tin_quantum);
                }
                self.cur_tin += 1;
                if self.cur_tin == self.tins.len() {
                    self.cur_tin = 0;
                }
            }
        }
        let (mut best_time, mut best_tin) = (i64::MAX, 0);
        for (at, tin) in self.tins.iter().enumerate().filter(|(_, tin)| active(tin)) {
            let wait = tin.time_next_packet - now;
            if wait <= 0 || wait <= best_time {
                (best_time, best_tin) = (wait, at);
            }
        }
        self.counts.borrows += u64::from(best_time > 0);
        self.cur_tin = best_tin;
    }

    /// The link asks for a packet: the one that leaves, and those that COBALT drops.
    pub fn dequeue(&mut self, now: u64) -> (Option<TestPacket>, Vec<TestPacket>) {
        let (now, mode, mut lost, mut first_flow) = (now as i64, self.tc.flow_mode, vec![], true);
        'begin: loop {
            if self.qlen == 0 {
                return (None, lost);
            }
            let next = self.time_next_packet.min(self.failsafe_next_packet);
            if next > now {
                self.counts.held += 1;
                self.watchdog = Some(next);
                return (None, lost);
            }
            self.choose_tin(now);
            let t = self.cur_tin;
            'retry: loop {
                let tin = &mut self.tins[t];
                let order = if first_flow && !tin.lists[2].is_empty() { [2, 0, 1] } else { [0, 1, 2] };
                first_flow = false;
                let Some(list) = order.into_iter().find(|list| !tin.lists[*list].is_empty()) else { continue 'begin };
                let f = tin.lists[list][0];
                if tin.flows[f].deficit <= 0 {
                    if tin.flows[f].set == Set::Sparse {
                        if tin.flows[f].packets.is_empty() {
                            tin.flows[f].set = Set::SparseWait;
                            self.counts.waits += 1;
                        } else {
                            tin.flows[f].set = Set::Bulk;
                            tin.sparse -= 1;
                            tin.bulk += 1;
                            tin.count_bulk(f, mode, 1);
                        }
                    }
                    tin.flows[f].deficit += tin.quantum(f, mode, &mut self.random, &mut self.counts);
                    tin.lists[list].remove(0);
                    tin.lists[1].push(f);
                    continue 'retry;
                }
                loop {
                    let params = self.tins[t].params;
                    if self.tins[t].flows[f].packets.is_empty() {
                        self.leave(t, f, list, now);
                        continue 'begin;
                    }
                    let mut queued = self.take(t, f, 0);
                    let tin = &mut self.tins[t];
                    let bulk_flows = if self.tc.ingress { u32::from(tin.bulk) } else { 0 };
                    let flow = &mut tin.flows[f];
                    let [codel, blue, marked] =
                        flow.cobalt.judge(&params, now, &mut queued, bulk_flows, &mut self.random);
                    self.counts.mark += u64::from(marked);
                    let (kept, len) = (flow.packets.is_empty(), queued.adjusted_len as i32);
                    self.counts.spared += u64::from((codel || blue) && kept);
                    if !(codel || blue) || kept {
                        self.advance_shaper(t, queued.adjusted_len, now, false);
                        self.tins[t].flows[f].deficit -= len;
                        self.tins[t].tin_deficit = self.tins[t].tin_deficit.wrapping_sub(len);
                        return (Some(queued.packet), lost);
                    }
                    self.counts.codel += u64::from(codel);
                    self.counts.blue += u64::from(blue);
                    lost.push(queued.packet);
                    if self.tc.ingress {
                        self.advance_shaper(t, queued.adjusted_len, now, true);
                        self.tins[t].flows[f].deficit -= len;
                        self.tins[t].tin_deficit = self.tins[t].tin_deficit.wrapping_sub(len);
                        continue 'retry;
                    }
                }
            }
        }
    }

    /// A flow without packets leaves its list: to those that decay, or altogether.
    fn leave(&mut self, t: usize, f: usize, list: usize, now: i64) {
        let tin = &mut self.tins[t];
        let params = tin.params;
        let flow = &mut tin.flows[f];
        flow.cobalt.empty(&params, now);
        let decays = flow.cobalt.p_drop != 0 || flow.cobalt.count != 0 || now < flow.cobalt.drop_next;
        match flow.set {
            Set::Bulk => {
                tin.bulk -= 1;
                tin.count_bulk(f, self.tc.flow_mode, -1);
            }
            Set::Sparse | Set::SparseWait => tin.sparse -= 1,
            Set::Decaying | Set::None => {}
        }
        tin.lists[list].remove(0);
        if decays {
            self.counts.decays += 1;
            tin.lists[2].push(f);
            tin.flows[f].set = Set::Decaying;
        } else {
            tin.flows[f].set = Set::None;
        }
    }
}
