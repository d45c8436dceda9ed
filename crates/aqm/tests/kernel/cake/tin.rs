//! A tin as the kernel has it: flows, hosts, lists, rate.

use super::cobalt::{Cobalt, CobaltParams};
use super::{Counts, DST_IP, FLOWS, Queued, SRC_IP, Tc};
use sluicegate_base::Stream;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Set {
    None,
    Sparse,
    SparseWait,
    Bulk,
    Decaying,
}

#[derive(Clone)]
pub(super) struct Flow {
    pub packets: Vec<Queued>,
    pub deficit: i32,
    pub cobalt: Cobalt,
    pub set: Set,
    pub host: [usize; 2],
    pub backlog: u32,
    pub tag: u32,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Host {
    pub tag: u32,
    pub bulk: u16,
}

pub(super) struct Tin {
    pub flows: Vec<Flow>,
    pub hosts: [Vec<Host>; 2],
    /// New, old and decaying flows.
    pub lists: [Vec<usize>; 3],
    pub sparse: u16,
    pub bulk: u16,
    pub params: CobaltParams,
    pub flow_quantum: u32,
    pub rate_ns: u64,
    pub rate_shft: u32,
    pub time_next_packet: i64,
    pub tin_quantum: u16,
    pub tin_deficit: i32,
    pub backlog: u32,
}

impl Tin {
    pub fn new(tc: &Tc, rate: u64, tin_quantum: u16) -> Tin {
        let (mut rate_ns, mut rate_shft, mut flow_quantum) = (0u64, 0, 1514);
        if rate > 0 {
            flow_quantum = (rate >> 12).clamp(300, 1514);
            rate_shft = 34;
            rate_ns = (1_000_000_000u64 << 34) / rate.max(64);
            while rate_ns >> 34 != 0 {
                rate_ns >>= 1;
                rate_shft -= 1;
            }
        }
        let mtu_time = (u64::from(tc.mtu) * rate_ns) >> rate_shft;
        let (target_ns, rtt_ns) = (u64::from(tc.target) * 1000, u64::from(tc.interval) * 1000);
        let target = (mtu_time * 3 / 2).max(target_ns);
        let interval = (rtt_ns + target - target_ns).max(target * 2);
        let flow = Flow {
            packets: vec![],
            deficit: 0,
            cobalt: Cobalt::default(),
            set: Set::None,
            host: [0; 2],
            backlog: 0,
            tag: 0,
        };
        Tin {
            flows: vec![flow; 1024],
            hosts: [vec![Host::default(); 1024], vec![Host::default(); 1024]],
            lists: Default::default(),
            sparse: 0,
            bulk: 0,
            params: CobaltParams { interval, target, mtu_time },
            flow_quantum: flow_quantum as u32,
            rate_ns,
            rate_shft,
            time_next_packet: 0,
            tin_quantum,
            tin_deficit: 0,
            backlog: 0,
        }
    }

    pub fn count_bulk(&mut self, flow: usize, mode: u8, by: i32) {
        for end in ends(mode) {
            let count = &mut self.hosts[end][self.flows[flow].host[end]].bulk;
            let changed = i32::from(*count) + by;
            if (0..=1024).contains(&changed) {
                *count = changed as u16;
            }
        }
    }

    /// The place of a host, by its hash.
    pub fn host(&mut self, end: usize, hash: u32) -> usize {
        let start = hash as usize % 1024;
        let set = start / 8 * 8;
        let hosts = &mut self.hosts[end];
        for i in 0..8 {
            let at = set + (start + i) % 8;
            if hosts[at].tag == hash {
                return at;
            }
        }
        let mut at = start;
        for _ in 0..8 {
            if hosts[at].bulk == 0 {
                break;
            }
            at = set + (at + 1) % 8;
        }
        hosts[at].tag = hash;
        at
    }

    pub fn quantum(&self, flow: usize, mode: u8, random: &mut Stream, counts: &mut Counts) -> i32 {
        let mut load = 1;
        for end in ends(mode) {
            load = load.max(u32::from(self.hosts[end][self.flows[flow].host[end]].bulk));
        }
        counts.shared_host += u64::from(load > 1);
        ((self.flow_quantum * (65535 / load) + (random.bits() >> 48) as u32) >> 16) as i32
    }
}

/// The ends whose hosts are isolated: their bit and that of flows are both set.
pub(super) fn ends(mode: u8) -> Vec<usize> {
    let isolated = |end: usize| mode & FLOWS != 0 && mode & [SRC_IP, DST_IP][end] != 0;
    (0..2).filter(|end| isolated(*end)).collect()
}
