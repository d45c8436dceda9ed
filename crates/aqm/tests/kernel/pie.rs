//! A slow and obvious model of Linux's PIE, as an oracle for `pie`.
//!
//! Written from the algorithm of the kernel's `net/sched/sch_pie.c` (Linux 5.6 to 6, delays by timestamps), sharing no code
//! with `pie`: probabilities are whole parts of 2^56, times ticks of 64 ns, gains sixteenths. Its timer is the test's; the estimator of
//! the departure rate is not modelled. The queues of the model of FQ-PIE are made of it.

use sluicegate_aqm::harness::TestPacket;
use sluicegate_base::{Ecn, Stream};

/// What `tc qdisc add … pie` is given, and the device's MTU.
#[derive(Clone, Copy, Debug)]
pub struct Tc {
    pub limit: usize,
    /// In µs.
    pub target: u64,
    /// In sixteenths.
    pub alpha: u64,
    pub beta: u64,
    pub ecn: bool,
    /// The probability up to which it marks.
    pub mark_up_to: u64,
    pub bytemode: bool,
    pub mtu: u64,
}

/// One, as a probability.
pub const ONE: u64 = (1 << 56) - 1;
const TICKS_IN_A_SECOND: u64 = 15_625_000;
const BURST: u64 = 150_000_000 >> 6;

/// The kernel's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub dropped: u64,
    pub marked: u64,
    pub overlimit: u64,
}

/// The queue.
pub struct Pie {
    tc: Tc,
    queue: Vec<(TestPacket, u64)>,
    burst_time: u64,
    prob: u64,
    accu: u64,
    qdelay: u64,
    qdelay_old: u64,
    left: Option<u64>,
    pub counts: Counts,
}

impl Pie {
    pub fn new(tc: Tc) -> Pie {
        Pie {
            tc,
            queue: vec![],
            burst_time: BURST,
            prob: 0,
            accu: 0,
            qdelay: 0,
            qdelay_old: 0,
            left: None,
            counts: Counts::default(),
        }
    }

    pub fn p(&self) -> f64 {
        self.prob as f64 / ONE as f64
    }

    /// Whether the last two delays were 0: p decays then.
    pub fn decays(&self) -> bool {
        self.qdelay == 0 && self.qdelay_old == 0
    }

    pub fn queued(&self) -> Vec<TestPacket> {
        self.queue.iter().map(|(packet, _)| *packet).collect()
    }

    /// The bytes in the queue.
    pub fn backlog(&self) -> u64 {
        self.queue.iter().map(|(packet, _)| packet.bytes).sum()
    }

    fn target(&self) -> u64 {
        (self.tc.target * 1000) >> 6
    }

    fn early(&mut self, bytes: u64, random: &mut Stream) -> bool {
        if self.burst_time > 0
            || self.qdelay < self.target() / 2 && self.prob < ONE / 5
            || self.backlog() < 2 * self.tc.mtu
        {
            return false;
        }
        let local =
            if self.tc.bytemode && bytes <= self.tc.mtu { bytes * (self.prob / self.tc.mtu) } else { self.prob };
        self.accu = if local == 0 { 0 } else { self.accu.wrapping_add(local) };
        if self.accu < ONE / 100 * 85 {
            return false;
        }
        if self.accu >= ONE / 2 * 17 {
            return true;
        }
        let hit = random.bits() >> 8 < local;
        if hit {
            self.accu = 0;
        }
        hit
    }

    /// An arrival finds no room.
    pub fn refuse(&mut self) {
        self.counts.overlimit += 1;
        self.accu = 0;
    }

    /// An arrival: false when it is dropped.
    pub fn enqueue(&mut self, mut packet: TestPacket, now: u64, random: &mut Stream) -> bool {
        if self.queue.len() >= self.tc.limit {
            self.refuse();
            return false;
        }
        if self.early(packet.bytes, random) {
            if !(self.tc.ecn && self.prob <= self.tc.mark_up_to && packet.ecn != Ecn::NotCapable) {
                self.counts.dropped += 1;
                self.accu = 0;
                return false;
            }
            packet.ecn = Ecn::CongestionExperienced;
            self.counts.marked += 1;
        }
        self.queue.push((packet, now >> 6));
        true
    }

    /// The link asks for a packet.
    pub fn dequeue(&mut self, now: u64) -> Option<TestPacket> {
        if self.queue.is_empty() {
            return None;
        }
        let (packet, came) = self.queue.remove(0);
        let now = now >> 6;
        let since = u64::from(self.left.map_or(0, |left| (now - left) as u32));
        self.left = Some(now);
        self.qdelay = if self.queue.is_empty() { 0 } else { now - came };
        self.burst_time = self.burst_time.saturating_sub(since);
        Some(packet)
    }

    /// Every tupdate.
    pub fn update(&mut self) {
        let (qdelay, old) = (self.qdelay, self.qdelay_old);
        let mut alpha = (self.tc.alpha * (ONE / TICKS_IN_A_SECOND)) >> 4;
        let mut beta = (self.tc.beta * (ONE / TICKS_IN_A_SECOND)) >> 4;
        if self.prob < ONE / 10 {
            (alpha, beta) = (alpha >> 1, beta >> 1);
            let mut power = 100;
            while self.prob < ONE / power && power <= 1_000_000 {
                (alpha, beta) = (alpha >> 2, beta >> 2);
                power *= 10;
            }
        }
        let times = |gain: u64, after: u64, before: u64| (gain as i64).wrapping_mul(after as i64 - before as i64);
        let mut delta = times(alpha, qdelay, self.target()).wrapping_add(times(beta, qdelay, old));
        if delta > (ONE / 50) as i64 && self.prob >= ONE / 10 {
            delta = (ONE / 100 * 2) as i64;
        }
        if qdelay > 250_000_000 >> 6 {
            delta = delta.wrapping_add((ONE / 50) as i64);
        }
        let before = self.prob;
        self.prob = self.prob.wrapping_add(delta as u64);
        if delta > 0 && self.prob < before {
            self.prob = ONE;
        } else if delta <= 0 && self.prob > before {
            self.prob = 0;
        }
        if self.decays() && self.queue.is_empty() {
            self.prob -= self.prob / 64;
        }
        if qdelay < self.target() / 2 && old < self.target() / 2 && self.prob == 0 {
            self.burst_time = BURST;
            self.accu = 0;
            self.left = None;
        }
        self.qdelay_old = qdelay;
    }
}
