//! Each flow's own way to the network: the access links of one group.

use crate::document::ScenarioError;
use crate::network::NetworkParams;
use crate::section::{Section, fields, json};
use serde_json::{Map, Value as Json};
use sluicegate_base::{Rate, Span, Stream, Value};
use sluicegate_netsim::source::{self, RoundTrip, Way};

/// The access links of a group of flows, on the sender's side.
#[derive(Clone, Debug)]
pub struct Access {
    /// Their rate.
    pub rate: Rate,
    /// The most that they delay a packet beyond their delay.
    pub jitter: Span,
    delay: Delay,
}

#[derive(Clone, Debug)]
enum Delay {
    Fixed(Span),
    /// What all other links there and back leave of a round trip, half of it each way.
    Rest(RoundTrip, Span),
}

impl Access {
    /// Reads the keys of one group, whose path without access links takes `path` there and back. None when the group has
    /// no access links of its own, which only a network of links allows.
    pub fn read(
        section: &Section<'_>,
        rate: Rate,
        dumbbell: Option<&NetworkParams>,
        path: Span,
        map: &mut Map<String, Json>,
    ) -> Result<Option<Access>, ScenarioError> {
        let params = fields::<source::Access>(section, rate, map)?;
        let round_trip = params.round_trip();
        let Some(rate) = params.access_rate.or(dumbbell.and_then(|network| network.access_rate)) else {
            let asked = [
                ("access_delay", params.access_delay.is_some()),
                ("access_jitter", params.access_jitter > Span::ZERO),
                ("rtt", params.rtt.is_some()),
                ("rtts", params.rtts.is_some()),
            ];
            return match asked.iter().find(|(_, given)| *given) {
                Some((key, _)) => Err(section.error("access_rate", &format!("must be given with {key}"))),
                None => Ok(None),
            };
        };
        let far = dumbbell.map_or(Span::ZERO, |network| network.access_delay);
        let others = path + far + far;
        let delay = match round_trip {
            Some(round_trip) if round_trip.least() < others => {
                let key = if params.rtts.is_some() { "rtts" } else { "rtt" };
                let rule = format!(
                    "{} is too short: the other links of the path take {others} there and back",
                    round_trip.least()
                );
                return Err(section.error(key, &rule));
            }
            Some(round_trip) => Delay::Rest(round_trip, others),
            None => Delay::Fixed(params.access_delay.unwrap_or(far)),
        };
        map.insert("access_rate".to_owned(), json(&Value::Rate(rate)));
        if let Delay::Fixed(delay) = delay {
            map.insert("access_delay".to_owned(), json(&Value::Time(delay)));
        }
        Ok(Some(Access { rate, jitter: params.access_jitter, delay }))
    }

    /// The ways of pooled connections, when the shared links take `shared` there and back, and every host `far` besides.
    #[must_use]
    pub fn way(&self, shared: Span, far: Span) -> Way {
        let round_trip = match &self.delay {
            Delay::Fixed(delay) => {
                let all = shared + *delay + *delay + far + far;
                RoundTrip::Uniform(all, all)
            }
            Delay::Rest(round_trip, _) => round_trip.clone(),
        };
        Way { rate: Some(self.rate), round_trip, shared }
    }

    /// The longest that the link may delay a packet, as far as it is bounded.
    #[must_use]
    pub fn longest(&self) -> Span {
        self.jitter
            + match &self.delay {
                Delay::Fixed(delay) => *delay,
                Delay::Rest(round_trip, _) => round_trip.most(),
            }
    }

    /// The propagation delay of one flow's access link: that of flow `id` of the run, number `member` of its group. It
    /// depends on nothing but these and the seed.
    #[must_use]
    pub fn delay_of(&self, seed: u64, id: usize, member: u64) -> Span {
        match &self.delay {
            Delay::Fixed(delay) => *delay,
            Delay::Rest(round_trip, others) => {
                let mut rng = Stream::new(seed, &format!("flow/{id}/rtt"));
                Span((round_trip.draw(member, &mut rng) - *others).0 / 2)
            }
        }
    }
}
