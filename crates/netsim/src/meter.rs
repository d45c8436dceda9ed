//! What samples and windows need, the same for simulated links and for real ones: [`probes`](crate::probes) drive it here,
//! `sluicegate-live` where packets are real.

use crate::counters::{FlowSample, QueueSample, SummaryStats};
use sluicegate_base::{Rate, Time};
use sluicegate_port::wire::Course;
use sluicegate_port::{Port, PortPacket};
use sluicegate_tcp::connection::Congestion;

/// Counters as the last sample read them.
#[derive(Clone, Copy, Debug)]
pub struct LastRead<const N: usize>([u64; N]);

impl<const N: usize> Default for LastRead<N> {
    fn default() -> Self {
        LastRead([0; N])
    }
}

impl<const N: usize> LastRead<N> {
    /// A sample: how much each counter has changed since the last one.
    pub fn changes(&mut self, now: [u64; N]) -> [u64; N] {
        difference(now, std::mem::replace(&mut self.0, now))
    }

    /// The counters, which read `before`, have started anew and read `now`: the next sample counts on across that.
    pub fn restart(&mut self, before: [u64; N], now: [u64; N]) {
        self.0 = difference(now, difference(before, self.0));
    }
}

/// Counters that have started anew may be less than before.
fn difference<const N: usize>(now: [u64; N], before: [u64; N]) -> [u64; N] {
    std::array::from_fn(|at| now[at].wrapping_sub(before[at]))
}

/// What is kept of a link from sample to sample.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkMeter {
    /// The discipline's own average, as samples have found it.
    pub average: SummaryStats,
    /// Packets that arrivals have found in the queue, summed, and the arrivals.
    found: LastRead<2>,
    /// When the last sample was, and the bits times 10⁹ that the link could have carried until then.
    carried: (Time, u128),
}

impl LinkMeter {
    /// A sample of the link with this number, whose rate may change by itself.
    pub fn sample<P: PortPacket>(
        &mut self,
        link: u32,
        port: &Port<P>,
        course: Option<&Course>,
        time: Time,
    ) -> QueueSample {
        let average = port.average();
        if let Some(average) = average {
            self.average.add(average);
        }
        let [found, arrivals] = self.found.changes(found(port));
        let constant = || u128::from(port.rate().0) * u128::from(time.0);
        let carried = course.map_or_else(constant, |course| course.carried(time));
        let (since, before) = std::mem::replace(&mut self.carried, (time, carried));
        let rate = (carried - before).checked_div(u128::from(time.since(since).0));
        QueueSample {
            time,
            link,
            packets: port.len(),
            bytes: port.queue().bytes(),
            average: average.unwrap_or(f64::NAN),
            found: found as f64 / arrivals as f64,
            rate: rate.map_or(port.rate(), |rate| Rate(rate as u64)),
        }
    }

    /// The measured window is about to begin: the counters of the port will start anew.
    pub fn begin_window<P: PortPacket>(&mut self, port: &Port<P>) {
        self.average = SummaryStats::default();
        self.found.restart(found(port), [0; 2]);
    }
}

fn found<P: PortPacket>(port: &Port<P>) -> [u64; 2] {
    [port.counters.found, port.counters.arrivals]
}

/// The mean rate of a link since the measured window began.
pub fn mean_rate<P: PortPacket>(port: &Port<P>, course: Option<&Course>, now: Time) -> Rate {
    course.map_or(port.rate(), |course| course.mean(now))
}

impl FlowSample {
    /// A sample of the flow with this number: what it has [counted](crate::counters::FlowTotals::counted) in so many seconds.
    #[must_use]
    pub fn new(time: Time, flow: u32, seconds: f64, congestion: Option<Congestion>, counted: [u64; 6]) -> FlowSample {
        let [bytes, packets @ ..] = counted;
        let [arrivals, drops, marked, lost, cuts] = packets.map(|packets| packets as u32);
        FlowSample {
            time,
            flow,
            throughput_bps: bytes as f64 * 8.0 / seconds,
            congestion,
            arrivals,
            drops,
            marked,
            lost,
            cuts,
        }
    }
}
