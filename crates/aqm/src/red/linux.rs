//! RED as the kernel has it, without a queue: whole numbers throughout (`include/net/red.h`), with the constants that `tc` makes of
//! what it is given (iproute2, `tc/tc_red.c`). `choke_linux` and `gred` build on it.

use sluicegate_base::{Rate, Span, Stream, Time};

/// The exponent of the weight W = 2^−Wlog that lets a burst pass, if there is one: `tc_red_eval_ewma`. `min` is in packets.
pub(crate) fn wlog(min: f64, burst: u64) -> Option<u32> {
    let a = burst as f64 + 1.0 - min;
    let passes = |wlog: &u32| {
        let w = 1.0 / (1u64 << wlog) as f64;
        a <= (1.0 - libm::pow(1.0 - w, burst as f64)) / w
    };
    (1..32).find(passes).filter(|_| a >= 1.0)
}

/// Whether the kernel's scaled thresholds have room for this one: `red_check_params`.
pub(crate) fn has_room(th: u64, wlog: u32) -> bool {
    th < 1 << (31 - wlog)
}

/// The average queue, times 2^Wlog, and since when the queue is idle.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Average {
    pub(crate) qavg: u64,
    pub(crate) qidlestart: Option<Time>,
}

/// How an average moves, and how it decays while the queue is idle.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    pub(crate) wlog: u32,
    pub(crate) stab: [u8; 256],
    pub(crate) scell_log: u32,
}

impl Filter {
    /// With the table of `tc_red_eval_idle_damping`, for typical packets of so many bytes on a link of this rate.
    pub(crate) fn new(wlog: u32, avpkt: u64, bandwidth: Rate) -> Filter {
        // The time to send avpkt in whole µs, then in whole ticks of 64 ns; tc knows the rate in bytes per second.
        let bytes_per_second = (bandwidth.0 / 8).max(1) as f64;
        let micros = libm::trunc(1e6 * avpkt as f64 / bytes_per_second);
        let xmit_time = libm::trunc(micros * 15.625);
        let l_w = -libm::log(1.0 - 1.0 / (1u64 << wlog) as f64) / xmit_time;
        let maxtime = 31.0 / l_w;
        let scell_log = (0..31).find(|&clog| maxtime / ((1u64 << clog) as f64) < 512.0).unwrap_or(31);
        let mut stab = [0; 256];
        // On links so fast that a packet takes no whole µs, C's conversion of infinity leaves zeros.
        if xmit_time > 0.0 {
            for (i, cell) in (0u64..).zip(&mut stab) {
                *cell = ((i << scell_log) as f64 * l_w).min(31.0) as u8;
            }
        }
        stab[255] = 31;
        Filter { wlog, stab, scell_log }
    }

    /// Brings an average up to date, when a packet comes and finds `backlog` in the queue: `red_calc_qavg`.
    pub(crate) fn update(&self, average: &mut Average, backlog: u64, now: Time) {
        average.qavg = match average.qidlestart.take() {
            None => average.qavg.saturating_add(backlog) - (average.qavg >> self.wlog),
            Some(start) => self.decay(average.qavg, now.since(start)),
        };
    }

    /// An average after an idle time: `red_calc_qavg_from_idle_time`.
    pub(crate) fn decay(&self, qavg: u64, idle: Span) -> u64 {
        let us = (idle.0 / 1000).min(255 << self.scell_log);
        let shift = self.stab[(us >> self.scell_log) as usize & 255];
        if shift > 0 {
            return qavg >> shift;
        }
        let (linear, half) = ((u128::from(qavg) * u128::from(us)) >> self.scell_log, qavg >> 1);
        if linear < u128::from(half) { qavg - linear as u64 } else { half }
    }

    /// The average as a number of what the thresholds count.
    pub(crate) fn value(&self, average: &Average) -> f64 {
        average.qavg as f64 / (1u64 << self.wlog) as f64
    }

    /// The average of another filter, in the scale of this one.
    pub(crate) fn rescaled(&self, average: Average, from: &Filter) -> Average {
        let qavg = (u128::from(average.qavg) << self.wlog) >> from.wlog;
        Average { qavg: u64::try_from(qavg).unwrap_or(u64::MAX), ..average }
    }
}

/// The thresholds and the law of gaps between them.
#[derive(Clone, Debug)]
pub(crate) struct Band {
    wlog: u32,
    /// Thresholds, scaled like `qavg`.
    pub(crate) qth_min: u64,
    pub(crate) qth_max: u64,
    /// max_P/(max_th − min_th), of 2³².
    pub(crate) max_p_delta: u64,
    /// Packets since the last random number; −1 outside the band.
    pub(crate) qcount: i64,
    /// The random number.
    pub(crate) q_r: u64,
}

impl Band {
    /// Thresholds for which there [is room](has_room), and the probability at the upper one.
    pub(crate) fn new(min: u64, max: u64, max_p: f64, wlog: u32) -> Band {
        let max_p = (max_p * (1u64 << 32) as f64) as u64;
        let max_p_delta = (max_p / max.saturating_sub(min).max(1)).max(1);
        Band { wlog, qth_min: min << wlog, qth_max: max << wlog, max_p_delta, qcount: -1, q_r: 0 }
    }

    /// The average is outside the band.
    pub(crate) fn leave(&mut self) {
        self.qcount = -1;
    }

    /// The average is in the band: whether this packet is to be signalled on.
    pub(crate) fn signals(&mut self, qavg: u64, rng: &mut Stream) -> bool {
        self.qcount += 1;
        let height = (qavg - self.qth_min) >> self.wlog;
        let signal = self.qcount > 0 && height.saturating_mul(self.qcount as u64) >= self.q_r;
        if signal {
            self.qcount = 0;
        }
        if self.qcount == 0 {
            self.q_r = (rng.bits() >> 32) / self.max_p_delta;
        }
        signal
    }
}
