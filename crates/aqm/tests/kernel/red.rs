//! A slow and obvious model of RED's arithmetic in Linux, for the models of CHOKe and GRED: what `tc` makes of a person's values
//! (iproute2's `tc/tc_red.c`), and what the kernel does with it (`include/net/red.h`), with the widths that C gives the integers.
//! Random numbers come from a stream that the test lends to both sides.

use sluicegate_aqm::harness::TestPacket;
use sluicegate_base::{Ecn, Stream};

/// What `tc` sends to the kernel, but for thresholds and limits.
#[derive(Clone, Debug)]
pub struct Sent {
    pub wlog: u32,
    pub scell_log: u32,
    pub stab: [u8; 256],
}

impl Sent {
    /// Whether C says what tc's numbers are: it shifts an `int` of up to 254 by `Scell_log`. More overflows.
    pub fn defined(&self) -> bool {
        self.scell_log <= 23
    }
}

/// The numbers for thresholds of `min` packets (of `avpkt` bytes, where they are in bytes) and `max`; none where `tc` or the
/// kernel refuses.
pub fn sent(min: f64, max: u32, burst: u32, avpkt: u32, bandwidth: u64) -> Option<Sent> {
    let burst = f64::from(burst);
    let needed = burst + 1.0 - min;
    if needed < 1.0 {
        return None;
    }
    let passes = |wlog: &u32| {
        let w = libm::pow(0.5, f64::from(*wlog));
        needed <= (1.0 - libm::pow(1.0 - w, burst)) / w
    };
    let wlog = (1..32).find(passes)?;
    // The kernel wants the scaled thresholds below 2^31.
    if u64::from(max) << wlog >= 1 << 31 {
        return None;
    }
    // The time for a packet in µs, then in the ticks of tc's clock, 64 ns each; both are whole numbers.
    let micros = (1e6 * f64::from(avpkt) / ((bandwidth / 8) as f64)) as u32;
    let ticks = (f64::from(micros) * 15.625) as u32;
    let mut stab = [0u8; 256];
    stab[255] = 31;
    let mut scell_log = 0;
    if ticks > 0 {
        let l_w = -libm::log(1.0 - libm::pow(0.5, f64::from(wlog))) / f64::from(ticks);
        while 31.0 / l_w / libm::pow(2.0, f64::from(scell_log)) >= 512.0 {
            scell_log += 1;
        }
        for i in 1..255u32 {
            let shifts = (f64::from(i) * libm::pow(2.0, f64::from(scell_log)) * l_w) as u32;
            stab[i as usize] = shifts.min(31) as u8;
        }
    }
    Some(Sent { wlog, scell_log, stab })
}

/// How an average decayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decay {
    Shifted,
    Linear,
    /// Nothing to decay, or no time.
    None,
}

/// The average after an idle time in ns.
pub fn decayed(sent: &Sent, qavg: u64, idle: u64) -> (u64, Decay) {
    let longest = 255u64 << sent.scell_log;
    let us_idle = (idle / 1000).min(longest);
    let shift = sent.stab[(us_idle >> sent.scell_log) as usize & 255];
    if shift > 0 {
        return (qavg >> shift, Decay::Shifted);
    }
    let how = if qavg > 0 && us_idle > 0 { Decay::Linear } else { Decay::None };
    let less = (qavg * us_idle) >> sent.scell_log;
    (if less < qavg >> 1 { qavg - less } else { qavg >> 1 }, how)
}

/// The average while the link is busy.
pub fn moved(sent: &Sent, qavg: u64, backlog: u32) -> u64 {
    qavg.wrapping_add(u64::from(backlog).wrapping_sub(qavg >> sent.wlog))
}

/// Division by a constant, by a multiplication and two shifts: the kernel's `reciprocal_div.h`.
#[derive(Clone, Copy, Debug)]
pub struct Reciprocal {
    m: u32,
    first: u32,
    second: u32,
}

impl Reciprocal {
    pub fn of(d: u32) -> Reciprocal {
        let bits = 32 - (d - 1).leading_zeros();
        let m = ((1u64 << 32) * ((1u64 << bits) - u64::from(d)) / u64::from(d) + 1) as u32;
        Reciprocal { m, first: bits.min(1), second: bits.saturating_sub(1) }
    }

    pub fn divide(self, a: u32) -> u32 {
        let t = ((u64::from(a) * u64::from(self.m)) >> 32) as u32;
        (t + ((a - t) >> self.first)) >> self.second
    }
}

/// What the kernel divides random numbers by: the probability over the width of the band.
pub fn max_p_reciprocal(probability: f64, width: u32) -> Reciprocal {
    let max_p = (probability * libm::pow(2.0, 32.0)) as u32;
    Reciprocal::of((max_p / width).max(1))
}

/// `red_random`: a random number for the gap to the next signal.
pub fn red_random(reciprocal: Reciprocal, random: &mut Stream) -> u32 {
    reciprocal.divide((random.bits() >> 32) as u32)
}

/// `INET_ECN_set_ce`: true when the packet carries the mark, whoever set it.
pub fn mark(packet: &mut TestPacket) -> bool {
    match packet.ecn {
        Ecn::NotCapable => false,
        Ecn::Capable0 | Ecn::Capable1 | Ecn::CongestionExperienced => {
            packet.ecn = Ecn::CongestionExperienced;
            true
        }
    }
}
