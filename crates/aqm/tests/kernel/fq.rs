//! A slow and obvious model of Linux's fq, as an oracle for `fq_linux`.
//!
//! Written from the algorithm of the kernel's `net/sched/sch_fq.c` (Linux 6.18), sharing no code with `fq_linux`: flows by number
//! in a map, lists of numbers, throttled flows in a list by time, times in nanoseconds and in ticks of the kernel's clock, rates in
//! bytes per second, integers as wide as in C. Packets have no time of departure, sockets no rate. Which flows the search for
//! another one passes, and so frees, is a matter of trees: here it is all of them.

use sluicegate_aqm::harness::TestPacket;
use sluicegate_base::Ecn;
use std::collections::BTreeMap;

/// What `tc qdisc add … fq` is given, and the kernel's clock.
#[derive(Clone, Copy, Debug)]
pub struct Tc {
    /// For each band.
    pub limit: usize,
    pub flow_limit: usize,
    pub quantum: u32,
    pub initial_quantum: u32,
    /// In bytes per second.
    pub maxrate: Option<u64>,
    /// In ns.
    pub refill_delay: u64,
    /// In bytes per second.
    pub low_rate_threshold: u64,
    /// In ns.
    pub ce_threshold: Option<u64>,
    pub weights: [i32; 3],
    /// Nanoseconds in a tick.
    pub jiffy: u64,
}

/// How often each thing happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub band_drops: u64,
    pub flows_plimit: u64,
    pub throttled: u64,
    pub too_long: u64,
    pub late: u64,
    pub ce_mark: u64,
    pub fastpath: u64,
    pub refilled: u64,
    pub gc: u64,
    pub turns: u64,
}

const SECOND: u64 = 1_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// With the tick when it was detached.
    Detached(u64),
    Listed,
    Throttled,
}

struct Flow {
    packets: Vec<(TestPacket, u64)>,
    credit: i32,
    band: usize,
    time_next_packet: u64,
    state: State,
}

#[derive(Default)]
struct Pband {
    new_flows: Vec<u64>,
    old_flows: Vec<u64>,
    credit: i32,
    pkt_count: usize,
}

/// The queue.
pub struct Fq {
    tc: Tc,
    internal: Vec<TestPacket>,
    flows: BTreeMap<u64, Flow>,
    bands: [Pband; 3],
    band_nr: usize,
    /// Throttled flows, the first to send first.
    delayed: Vec<u64>,
    /// The bands that packets were counted in.
    counted: BTreeMap<u64, usize>,
    pub counts: Counts,
}

impl Fq {
    pub fn new(tc: Tc) -> Fq {
        Fq {
            tc,
            internal: vec![],
            flows: BTreeMap::new(),
            bands: Default::default(),
            band_nr: 0,
            delayed: vec![],
            counted: BTreeMap::new(),
            counts: Counts::default(),
        }
    }

    /// All packets, by their serial numbers.
    pub fn queued(&self) -> Vec<TestPacket> {
        let of_flows = self.flows.values().flat_map(|flow| flow.packets.iter().map(|(packet, _)| *packet));
        let mut all: Vec<TestPacket> = self.internal.iter().copied().chain(of_flows).collect();
        all.sort_by_key(|packet| packet.serial);
        all
    }

    fn qlen(&self) -> usize {
        self.internal.len() + self.flows.values().map(|flow| flow.packets.len()).sum::<usize>()
    }

    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// Until when the first throttled flow is, in ns.
    pub fn time_next_delayed_flow(&self) -> Option<u64> {
        self.delayed.first().map(|flow| self.flows[flow].time_next_packet)
    }

    fn jiffies(&self, now: u64) -> u64 {
        now / self.tc.jiffy
    }

    /// An arrival, in a band: false when it is dropped.
    pub fn enqueue(&mut self, packet: TestPacket, band: usize, now: u64) -> bool {
        if self.bands[band].pkt_count >= self.tc.limit {
            self.counts.band_drops += 1;
            return false;
        }
        let qlen = self.qlen();
        let inactive = self.flows.values().filter(|flow| flow.packets.is_empty()).count();
        let only_throttled = self.flows.len() == inactive + self.delayed.len();
        let none_due = self.time_next_delayed_flow().is_none_or(|time| time > now);
        if (qlen == 0 || (only_throttled && self.internal.len() < 8 && none_due)) && self.tc.maxrate.is_none() {
            self.counts.fastpath += 1;
            self.internal.push(packet);
            return true;
        }
        let jiffies = self.jiffies(now);
        let gc_age = 3 * SECOND / self.tc.jiffy;
        let before = self.flows.len();
        self.flows.retain(|_, flow| !matches!(flow.state, State::Detached(age) if jiffies > age + gc_age));
        self.counts.gc += (before - self.flows.len()) as u64;
        let flow = self.flows.entry(packet.flow).or_insert(Flow {
            packets: vec![],
            credit: self.tc.initial_quantum as i32,
            band: 0,
            time_next_packet: 0,
            state: State::Detached(jiffies | 1),
        });
        if flow.packets.len() >= self.tc.flow_limit {
            self.counts.flows_plimit += 1;
            return false;
        }
        if let State::Detached(age) = flow.state {
            flow.state = State::Listed;
            self.bands[flow.band].new_flows.push(packet.flow);
            if jiffies > age + self.tc.refill_delay / self.tc.jiffy {
                self.counts.refilled += u64::from((flow.credit as u32) < self.tc.quantum);
                flow.credit = (flow.credit as u32).max(self.tc.quantum) as i32;
            }
        }
        flow.band = band;
        self.bands[band].pkt_count += 1;
        self.counted.insert(packet.serial, band);
        flow.packets.push((packet, now));
        true
    }

    fn check_throttled(&mut self, now: u64) {
        while let Some(first) = self.delayed.first().copied() {
            let flow = self.flows.get_mut(&first).expect("a throttled flow is known");
            if flow.time_next_packet > now {
                break;
            }
            self.delayed.remove(0);
            flow.state = State::Listed;
            self.bands[flow.band].old_flows.push(first);
        }
    }

    fn set_throttled(&mut self, number: u64) {
        self.counts.throttled += 1;
        let time = self.flows[&number].time_next_packet;
        let after = self.delayed.iter().position(|other| self.flows[other].time_next_packet > time);
        self.delayed.insert(after.unwrap_or(self.delayed.len()), number);
    }

    /// The link asks for a packet.
    pub fn dequeue(&mut self, now: u64) -> Option<TestPacket> {
        if self.qlen() == 0 {
            return None;
        }
        if !self.internal.is_empty() {
            return Some(self.internal.remove(0));
        }
        self.check_throttled(now);
        let mut retry = 0;
        loop {
            let pband = &mut self.bands[self.band_nr];
            let new = !pband.new_flows.is_empty();
            let list = if new { &mut pband.new_flows } else { &mut pband.old_flows };
            if pband.credit <= 0 || list.is_empty() {
                // Other bands, until three in a row that may send have nothing.
                loop {
                    retry += 1;
                    if retry > 3 {
                        return None;
                    }
                    self.band_nr = (self.band_nr + 1) % 3;
                    let (pband, weight) = (&mut self.bands[self.band_nr], self.tc.weights[self.band_nr]);
                    pband.credit = (pband.credit + weight).min(weight);
                    if pband.credit > 0 {
                        break;
                    }
                    retry = 0;
                }
                continue;
            }
            retry = 0;
            let number = list[0];
            let flow = self.flows.get_mut(&number).expect("a listed flow is known");
            if flow.credit <= 0 {
                self.counts.turns += 1;
                flow.credit += self.tc.quantum as i32;
                list.remove(0);
                self.bands[flow.band].old_flows.push(number);
                continue;
            }
            let Some(&(mut packet, time_to_send)) = flow.packets.first() else {
                list.remove(0);
                if new {
                    self.bands[flow.band].old_flows.push(number);
                } else {
                    flow.state = State::Detached((now / self.tc.jiffy) | 1);
                }
                continue;
            };
            let time_next_packet = time_to_send.max(flow.time_next_packet);
            if now < time_next_packet {
                list.remove(0);
                flow.time_next_packet = time_next_packet;
                flow.state = State::Throttled;
                self.set_throttled(number);
                continue;
            }
            flow.packets.remove(0);
            if self.tc.ce_threshold.is_some_and(|threshold| now - time_next_packet > threshold)
                && packet.ecn != Ecn::NotCapable
            {
                packet.ecn = Ecn::CongestionExperienced;
                self.counts.ce_mark += 1;
            }
            let plen = packet.bytes as u32;
            flow.credit -= plen as i32;
            pband.credit -= plen as i32;
            let counted = self.counted.remove(&packet.serial).expect("it was counted");
            self.bands[counted].pkt_count -= 1;
            self.pace(number, plen, now);
            return Some(packet);
        }
    }

    fn pace(&mut self, number: u64, mut plen: u32, now: u64) {
        let flow = self.flows.get_mut(&number).expect("it has sent");
        let rate = self.tc.maxrate.unwrap_or(u64::MAX);
        if rate <= self.tc.low_rate_threshold {
            flow.credit = 0;
        } else {
            plen = plen.max(self.tc.quantum);
            if flow.credit > 0 {
                return;
            }
        }
        if rate == u64::MAX {
            return;
        }
        let mut len = u64::from(plen) * SECOND / rate;
        if len > SECOND {
            self.counts.too_long += 1;
            len = SECOND;
        }
        if flow.time_next_packet > 0 && now > flow.time_next_packet {
            let drift = now - flow.time_next_packet;
            self.counts.late += u64::from(drift < len / 2);
            len -= drift.min(len / 2);
        }
        flow.time_next_packet = now + len;
    }
}
