//! # Bursts and silences over UDP
//!
//! Sends at one rate while it is on and nothing while it is off, and heeds nothing. The lengths of both are drawn anew each
//! time, from an exponential or a Pareto law. In the long run it sends `rate` · `on_mean` / (`on_mean` + `off_mean`); many
//! such sources with Pareto lengths of a shape below 2 make traffic that is bursty on every time scale.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | ns-2: a burst has a whole number of packets, its drawn length rounded, and one at least | the gap between packets elapses only while the source is on: what is left of it when a burst ends elapses in the next burst | the mean rate is exact for bursts of any length; ns-2's mean burst is 0.1 % longer at its own defaults, 10 % longer when meant to hold two packets |
//! | ns-2: the first packet of a burst leaves one gap after the silence | as soon as the rest of the gap has passed | follows from the above |
//! | ns-2: a source begins with a silence | the same | sources that start together do not send together |
//! | ns-2: a Pareto silence is never shorter than (shape − 1)/shape of its mean | the same, and the same for bursts | it is Pareto's law with this mean |
//! | ns-2: 210 bytes, 64 kbit/s | 1000 bytes, and the rate must be given | as the other sources; the means of 500 ms and the shape of 1.5 are ns-2's |

use super::{EcnField, Pace, Source};
use sluicegate_base::params::Raw;
use sluicegate_base::{About, Declared, Params, Range, Rate, Size, Span, Stream, choices, params};

choices! {
    /// How the lengths of bursts and silences are distributed.
    pub enum Periods {
        /// Exponentially.
        Exponential = "exponential",
        /// By Pareto's law, with a shape.
        Pareto = "pareto",
    }
}

params! {
    /// Parameters of an on-off source over UDP.
    pub struct OnOffParams {
        ..ecn: EcnField;
        /// Rate at which it sends while it is on, in bits of IP packets.
        rate: Rate = required, range(Range::POSITIVE), source("ns-2, rate_");
        /// Mean length of a burst.
        on_mean: Span = default(Span::from_millis(500)), range(Range::POSITIVE), source("ns-2, burst_time_");
        /// Mean length of a silence.
        off_mean: Span = default(Span::from_millis(500)), source("ns-2, idle_time_");
        /// How the lengths of both are distributed.
        distribution: Periods = default(Periods::Exponential),
            source("ns-2, Application/Traffic/Exponential and Application/Traffic/Pareto");
        /// Shape of Pareto's law: the smaller, the longer the longest; below 2 the variance is infinite.
        shape: f64 = default(1.5), unit("1"), range(Range::from(1.01).to(100.0)), source("ns-2, shape_");
        /// Length of a packet, headers included.
        packet_size: Size = default(Size::Bytes(1000)), unit("B"), range(Range::from(1.0).to(65535.0)),
            source("CHOKe 1999, Sec. 4");
    }
    rules {
        "codepoint = ect1 needs ecn = true" [codepoint, ecn] |p| p.ecn.is_said();
        "packet_size is in bytes" [packet_size] |p| matches!(p.packet_size, Size::Bytes(_));
        "packet_size / rate <= on_mean" [packet_size, rate, on_mean] |p| {
            p.rate.time_of(p.packet_size.amount()) <= p.on_mean
        };
    }
}

/// The on-off source.
pub struct OnOff;

impl Declared for OnOff {
    type Params = OnOffParams;
    const ABOUT: About = About {
        name: "on_off",
        class: "OnOff",
        title: "Bursts and silences over UDP",
        source: "ns-2, Application/Traffic/Exponential and Application/Traffic/Pareto",
        tc: "",
        module: include_str!("on_off.rs"),
    };
}

/// When an on-off source sends.
pub(crate) struct Clock {
    params: OnOffParams,
    pace: Pace,
    /// What is left of the present burst.
    left: Span,
    rng: Stream,
}

impl Clock {
    pub(super) fn new(params: &OnOffParams, rng: Stream) -> Clock {
        Clock { params: params.clone(), pace: Pace::new(params.rate, params.packet_size), left: Span::ZERO, rng }
    }

    /// The length of a burst or a silence, to the nearest nanosecond.
    fn length(&mut self, mean: Span) -> Span {
        let x = match self.params.distribution {
            Periods::Exponential => self.rng.exponential(),
            Periods::Pareto => self.rng.pareto(self.params.shape),
        };
        mean.scaled(x)
    }
}

impl Source for Clock {
    /// A silence, and the first burst begins.
    fn first(&mut self) -> Span {
        let off = self.length(self.params.off_mean);
        self.left = self.length(self.params.on_mean);
        off
    }

    fn next(&mut self) -> (u32, Span) {
        let mut on = self.pace.gap();
        let mut gap = Span::ZERO;
        // A mean burst holds a gap at least (a rule of the declaration), so this ends after a few rounds.
        while on > self.left {
            gap = gap + self.left + self.length(self.params.off_mean);
            on = on - self.left;
            self.left = self.length(self.params.on_mean);
        }
        self.left = self.left - on;
        (self.pace.bytes as u32, gap + on)
    }

    fn set(&mut self, name: &str, value: &Raw) -> Result<(), String> {
        (_, self.params) = self.params.changed(name, value)?;
        self.pace.change(self.params.rate, self.params.packet_size);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 ms between packets in a burst, 20 ms of burst and 60 ms of silence on average.
    fn clock(law: Periods, shape: f64, seed: u64) -> Clock {
        let params = OnOffParams {
            ecn: EcnField::default(),
            rate: Rate(8_000_000),
            on_mean: Span::from_millis(20),
            off_mean: Span::from_millis(60),
            distribution: law,
            shape,
            packet_size: Size::Bytes(1000),
        };
        Clock::new(&params, Stream::new(seed, "flow/0/packets"))
    }

    const GAP: f64 = 1e6;

    /// The silences: what gaps have beyond the 1 ms of on time. Some hold two silences, when a burst was short.
    fn silences(law: Periods, shape: f64, packets: usize) -> Vec<f64> {
        let mut clock = clock(law, shape, 1);
        clock.first();
        (0..packets).map(|_| clock.next().1.0 as f64 - GAP).filter(|silence| *silence > 0.0).collect()
    }

    #[test]
    fn in_a_burst_packets_keep_their_gap_and_bursts_have_their_mean() {
        let n = 400_000;
        let silences = silences(Periods::Exponential, 1.5, n).len() as f64;
        // Bursts end as a Poisson process in on time, one for 20 gaps; a gap sees one or more ends with this probability.
        let seen = 1.0 - libm::exp(-1.0 / 20.0);
        let (expected, error) = (n as f64 * seen, 4.0 * libm::sqrt(n as f64 * seen * (1.0 - seen)));
        assert!((silences - expected).abs() < error, "{silences}, {expected} ± {error}");
    }

    #[test]
    fn the_mean_rate_is_the_peak_rate_times_the_share_of_on_time() {
        // Short bursts too: the gap is 1 ms, so the second setting has one or two packets in a burst.
        for (on, off) in [(20, 60), (1, 3), (2, 1)] {
            for (law, shape) in [(Periods::Exponential, 1.5), (Periods::Pareto, 3.0)] {
                let rates: Vec<f64> = (1..=8)
                    .map(|seed| {
                        let mut clock = clock(law, shape, seed);
                        (clock.params.on_mean, clock.params.off_mean) = (Span::from_millis(on), Span::from_millis(off));
                        let n = 100_000;
                        let time = (0..n).fold(clock.first().0, |time, _| time + clock.next().1.0);
                        f64::from(n) * GAP / time as f64
                    })
                    .collect();
                let mean = rates.iter().sum::<f64>() / 8.0;
                let variance = rates.iter().map(|rate| (rate - mean) * (rate - mean)).sum::<f64>() / 7.0;
                // Student's t with 7 degrees of freedom: 5.4 standard errors hold 99.9 %.
                let error = 5.4 * libm::sqrt(variance / 8.0);
                let share = on as f64 / (on + off) as f64;
                assert!((mean - share).abs() < error && error < 0.05 * share, "{law:?} {on}/{off}: {mean} ± {error}");
            }
        }
    }

    #[test]
    fn silences_are_exponential() {
        let mut clock = clock(Periods::Exponential, 1.5, 1);
        let n = 100_000;
        // The quantiles of 60 ms · Exp(1), each within four standard errors of a share.
        let silences: Vec<f64> = (0..n).map(|_| clock.first().0 as f64 / 60e6).collect();
        for x in [0.1, 0.5, 1.0, 2.0, 4.0] {
            let expected = libm::exp(-x);
            let above = silences.iter().filter(|silence| **silence > x).count() as f64 / n as f64;
            let error = 4.0 * libm::sqrt(expected * (1.0 - expected) / n as f64);
            assert!((above - expected).abs() < error, "P(> {x}) = {above}, {expected} ± {error}");
        }
    }

    #[test]
    fn the_tail_of_pareto_silences_has_their_shape() {
        for shape in [1.2, 1.5, 1.9] {
            let mut silences = silences(Periods::Pareto, shape, 2_000_000);
            silences.sort_by(f64::total_cmp);
            // Hill's estimator over the longest 2000, long enough to be one silence and not two; four standard errors.
            let tail = &silences[silences.len() - 2000..];
            let index = 2000.0 / tail.iter().map(|x| libm::log(x / tail[0])).sum::<f64>();
            assert!((index - shape).abs() < 4.0 * shape / libm::sqrt(2000.0), "shape {shape}: {index}");
            let least = (shape - 1.0) / shape * 60e6;
            assert!(silences[0] >= least - 1.0 && silences[0] < 1.01 * least, "{} and {least}", silences[0]);
        }
    }

    #[test]
    fn no_silence_is_a_constant_rate() {
        let mut clock = clock(Periods::Exponential, 1.5, 3);
        clock.params.off_mean = Span::ZERO;
        assert_eq!(clock.first(), Span::ZERO);
        assert!((0..10_000).all(|_| clock.next() == (1000, Span::from_millis(1))));
    }
}
