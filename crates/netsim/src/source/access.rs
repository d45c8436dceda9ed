//! What every flow can say of its own way to the network: rate, delay or round trip, jitter.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | RED 1993: each connection has a delay of its own | `rtts` lists round trips, taken in turn by the flows of a group | a figure's delays are written down as they are |
//! | DCN 2004: a least delay for each flow, uniform on the whole milliseconds from 10 to 150 | `rtt` and `rtt_max`, to the nanosecond | steps of a millisecond were dummynet's; if the delays are meant for one direction, write twice the numbers |
//! | ns-2, tmix: a delay box gives each connection a delay | the flow's access link adds the part of the round trip that the links of its path do not make up, half of it each way | whatever else the path has, the round trip is what was asked for |

use sluicegate_base::{About, Declared, Range, Rate, Span, Stream, params};

params! {
    /// What every entry of `[[flows]]` can say of its own way to the network.
    pub struct AccessParams {
        /// Rate of each flow's own access link on the sender's side.
        access_rate: Option<Rate> = optional("from [network]; none in a topology"), range(Range::POSITIVE),
            source("Sluicegate");
        /// Propagation delay of each flow's access link on the sender's side.
        access_delay: Option<Span> = optional("from [network]; none in a topology"), source("Sluicegate");
        /// The access link delays each packet by an extra time, uniform between zero and this; packets keep their
        /// order.
        access_jitter: Span = default(Span::ZERO), source("Sluicegate");
        /// Base round trip: the propagation delays of all links, there and back. Give it instead of access_delay, which
        /// then follows.
        rtt: Option<Span> = optional("follows from the delays of the links"), range(Range::POSITIVE),
            source("Sluicegate");
        /// Each flow's base round trip is drawn uniformly between rtt and this.
        rtt_max: Option<Span> = optional("all have rtt"), range(Range::POSITIVE), source("DCN 2004, Sec. 4");
        /// Each flow's base round trip is drawn: rtt plus an exponential time; this is the mean of the sum.
        rtt_mean: Option<Span> = optional("all have rtt"), range(Range::POSITIVE), source("Sluicegate");
        /// Base round trips that the flows of the group take in turn, instead of rtt.
        rtts: Option<Vec<Span>> = optional("all have rtt"), range(Range::POSITIVE), source("RED 1993");
    }
    rules {
        "rtt_max and rtt_mean need rtt" [rtt_max, rtt_mean] |p| {
            p.rtt.is_some() || (p.rtt_max.is_none() && p.rtt_mean.is_none())
        };
        "rtt_max or rtt_mean, not both" [rtt_max, rtt_mean] |p| p.rtt_max.is_none() || p.rtt_mean.is_none();
        "rtt <= rtt_max" [rtt_max, rtt] |p| p.rtt_max.is_none_or(|most| p.rtt <= Some(most));
        "rtt <= rtt_mean" [rtt_mean, rtt] |p| p.rtt_mean.is_none_or(|mean| p.rtt <= Some(mean));
        "rtt or rtts, not both" [rtts, rtt] |p| p.rtts.is_none() || p.rtt.is_none();
        "rtts names at least one" [rtts] |p| p.rtts.as_ref().is_none_or(|rtts| !rtts.is_empty());
        "access_delay or a round trip, not both" [access_delay, rtt, rtts] |p| {
            p.access_delay.is_none() || (p.rtt.is_none() && p.rtts.is_none())
        };
    }
}

/// The way of any flow to the network, as a declared thing.
pub struct Access;

impl Declared for Access {
    type Params = AccessParams;
    const ABOUT: About = About {
        name: "access",
        class: "Access",
        title: "The way of any flow to the network",
        source: "Sluicegate",
        tc: "",
        module: include_str!("access.rs"),
    };
}

/// The base round trips of a group of flows.
#[derive(Clone, Debug, PartialEq)]
pub enum RoundTrip {
    /// Uniform between these, both included; equal for a fixed one.
    Uniform(Span, Span),
    /// The first, and an exponential time with the mean of the second.
    Exponential(Span, Span),
    /// These in turn.
    Each(Vec<Span>),
}

impl AccessParams {
    /// The base round trips, when any are given.
    #[must_use]
    pub fn round_trip(&self) -> Option<RoundTrip> {
        if let Some(rtts) = &self.rtts {
            return Some(RoundTrip::Each(rtts.clone()));
        }
        let rtt = self.rtt?;
        Some(match self.rtt_mean {
            Some(mean) => RoundTrip::Exponential(rtt, mean - rtt),
            None => RoundTrip::Uniform(rtt, self.rtt_max.unwrap_or(rtt)),
        })
    }
}

impl RoundTrip {
    /// The round trip of the group's flow number `at`, from 0.
    #[must_use]
    pub fn draw(&self, at: u64, rng: &mut Stream) -> Span {
        match self {
            RoundTrip::Uniform(least, most) => *least + Span(rng.below((*most - *least).0 + 1)),
            RoundTrip::Exponential(least, mean) => *least + mean.scaled(rng.exponential()),
            RoundTrip::Each(rtts) => rtts[(at % rtts.len() as u64) as usize],
        }
    }

    /// The shortest that can come.
    #[must_use]
    pub fn least(&self) -> Span {
        match self {
            RoundTrip::Uniform(least, _) | RoundTrip::Exponential(least, _) => *least,
            RoundTrip::Each(rtts) => rtts.iter().copied().min().unwrap_or_default(),
        }
    }

    /// The longest that can come; for an exponential distribution, what only one in a thousand exceeds.
    #[must_use]
    pub fn most(&self) -> Span {
        match self {
            RoundTrip::Uniform(_, most) => *most,
            RoundTrip::Exponential(least, mean) => *least + Span(mean.0.saturating_mul(7)),
            RoundTrip::Each(rtts) => rtts.iter().copied().max().unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::tests::assert_law;

    const MS: u64 = 1_000_000;

    fn drawn(law: &RoundTrip) -> Vec<f64> {
        let flow = |at| law.draw(at, &mut Stream::new(1, &format!("flow/{at}/rtt"))).0 as f64 / MS as f64;
        (0..20_000).map(flow).collect()
    }

    #[test]
    fn round_trips_between_two_bounds_are_uniform() {
        let values = drawn(&RoundTrip::Uniform(Span(10 * MS), Span(150 * MS)));
        assert_law(&values, &[(10.0, 1.0), (45.0, 0.75), (80.0, 0.5), (115.0, 0.25), (150.0, 0.0)]);
        let fixed = RoundTrip::Uniform(Span(7), Span(7));
        assert_eq!(fixed.draw(3, &mut Stream::new(1, "flow/3/rtt")), Span(7));
    }

    #[test]
    fn round_trips_with_a_mean_are_exponential_beyond_the_least() {
        let values = drawn(&RoundTrip::Exponential(Span(10 * MS), Span(40 * MS)));
        let above = |x: f64| (x, libm::exp(-(x - 10.0) / 40.0));
        assert_law(&values, &[above(10.0), above(20.0), above(50.0), above(100.0), above(200.0)]);
    }

    #[test]
    fn listed_round_trips_come_in_turn() {
        let law = RoundTrip::Each(vec![Span(5), Span(3), Span(9)]);
        let mut rng = Stream::new(1, "any");
        assert_eq!((0..5).map(|at| law.draw(at, &mut rng).0).collect::<Vec<_>>(), [5, 3, 9, 5, 3]);
        assert_eq!(law.least(), Span(3));
    }
}
