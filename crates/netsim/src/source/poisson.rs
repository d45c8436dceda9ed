//! # Poisson arrivals over UDP
//!
//! Sends packets with exponential gaps and does not react to congestion.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | textbooks: exponential lengths are real numbers | to the nearest whole byte, at least one | a packet has whole bytes; the mean length is exact to a thousandth of a byte at the default of 1000 B |
//! | ns-2 has no such source: an exponential on-off source whose bursts have no length stands in | a source of its own | its rate is then the mean rate |

use super::{EcnField, Pace, Source};
use sluicegate_base::params::Raw;
use sluicegate_base::{About, Declared, Params, Range, Rate, Size, Span, Stream, choices, params};

choices! {
    /// How long the packets of a Poisson source are.
    pub enum Sizes {
        /// All alike.
        Fixed = "fixed",
        /// Exponentially distributed, in whole bytes and at least one.
        Exponential = "exponential",
    }
}

params! {
    /// Parameters of a Poisson source over UDP.
    pub struct PoissonParams {
        ..ecn: EcnField;
        /// Mean rate at which it sends, in bits of IP packets.
        rate: Rate = required, range(Range::POSITIVE), source("Sluicegate");
        /// Mean length of a packet, headers included.
        packet_size: Size = default(Size::Bytes(1000)), unit("B"), range(Range::from(1.0).to(65535.0)),
            source("CHOKe 1999, Sec. 4");
        /// How lengths are distributed.
        sizes: Sizes = default(Sizes::Fixed), source("M/D/1 and M/M/1 queues");
    }
    rules {
        "codepoint = ect1 needs ecn = true" [codepoint, ecn] |p| p.ecn.is_said();
        "packet_size is in bytes" [packet_size] |p| matches!(p.packet_size, Size::Bytes(_));
    }
}

/// The Poisson source.
pub struct Poisson;

impl Declared for Poisson {
    type Params = PoissonParams;
    const ABOUT: About = About {
        name: "poisson",
        class: "Poisson",
        title: "Poisson arrivals over UDP",
        source: "queueing theory: M/D/1, M/M/1/K",
        tc: "",
        module: include_str!("poisson.rs"),
    };
}

/// When a Poisson source sends.
pub(crate) struct Clock {
    params: PoissonParams,
    pace: Pace,
    rng: Stream,
}

impl Clock {
    pub(super) fn new(params: &PoissonParams, rng: Stream) -> Clock {
        Clock { params: params.clone(), pace: Pace::new(params.rate, params.packet_size), rng }
    }
}

impl Source for Clock {
    fn next(&mut self) -> (u32, Span) {
        let gap = self.pace.random_gap(self.rng.exponential());
        let bytes = match self.params.sizes {
            Sizes::Fixed => self.pace.bytes,
            Sizes::Exponential => ((self.pace.bytes as f64 * self.rng.exponential() + 0.5) as u64).max(1),
        };
        (bytes.min(1 << 24) as u32, gap)
    }

    fn set(&mut self, name: &str, value: &Raw) -> Result<(), String> {
        (_, self.params) = self.params.changed(name, value)?;
        self.pace.change(self.params.rate, self.params.packet_size);
        Ok(())
    }
}
