//! What flows send, and the declarations that all sources share.

use sluicegate_base::{About, Declared, Range, Rate, Size, Span, Stream, choices, params};
use sluicegate_tcp::Host;

params! {
    /// What every entry of `[[flows]]` can say, whatever its kind.
    pub struct FlowParams {
        /// How many such flows there are.
        count: u64 = default(1), unit("flows"), range(Range::from(1.0).to(1e6)), positional(true), source("Sluicegate");
        /// When the first of them may start.
        start: Span = default(Span::ZERO), source("Sluicegate");
        /// Each starts at a time drawn uniformly between start and start + spread.
        spread: Span = default(Span::from_secs(1)), source("Sluicegate: random starts avoid traffic phase effects");
        /// When they stop sending.
        stop: Option<Span> = optional("at the end of the run"), source("Sluicegate");
        /// Rate of each flow's own access links.
        access_rate: Option<Rate> = optional("as [network] says; none in a topology"), range(Range::POSITIVE),
            source("Sluicegate");
        /// Propagation delay of each flow's access link on the sender's side.
        access_delay: Option<Span> = optional("as [network] says; none in a topology"), source("Sluicegate");
        /// The links that the data crosses, in a network of `[[network.links]]`.
        path: Option<Vec<String>> = optional("the dumbbell's bottleneck"), source("Sluicegate");
        /// The links that acknowledgements cross.
        return_path: Option<Vec<String>> = optional("the reverse of path, over the same links"), source("Sluicegate");
    }
    rules {
        "start < stop" [start, stop] |p| p.stop.is_none_or(|stop| p.start < stop);
    }
}

/// The fields that all flows share, as a declared thing.
pub struct Flow;

impl Declared for Flow {
    type Params = FlowParams;
    const ABOUT: About =
        About { name: "flow", class: "Flow", title: "Any flow", source: "Sluicegate", tc: "", module: "//! Any flow." };
}

params! {
    /// Parameters of a constant-bit-rate source over UDP.
    pub struct UdpParams {
        /// Rate at which it sends, in bits of IP packets.
        rate: Rate = required, range(Range::POSITIVE), source("CHOKe 1999, Sec. 4");
        /// Length of a packet, headers included.
        packet_size: Size = default(Size::Bytes(1000)), unit("B"), range(Range::from(1.0).to(65535.0)),
            source("CHOKe 1999, Sec. 4");
        /// Spread of the gaps: each is the mean times a number uniform on 1 ± jitter/2.
        jitter: f64 = default(0.0), unit("1"), range(Range::from(0.0).to(1.0)), source("ns-2, CBR random_ is jitter 1");
    }
    rules {
        "packet_size is in bytes" [packet_size] |p| matches!(p.packet_size, Size::Bytes(_));
    }
}

/// The constant-bit-rate source.
pub struct Udp;

impl Declared for Udp {
    type Params = UdpParams;
    const ABOUT: About = About {
        name: "udp",
        class: "Udp",
        title: "Constant bit rate over UDP",
        source: "CHOKe 1999, Sec. 4",
        tc: "",
        module: "//! # Constant bit rate over UDP\n//!\n//! Sends packets of one size at one rate and heeds nothing.\n",
    };
}

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
        /// Mean rate at which it sends, in bits of IP packets.
        rate: Rate = required, range(Range::POSITIVE), source("Sluicegate");
        /// Mean length of a packet, headers included.
        packet_size: Size = default(Size::Bytes(1000)), unit("B"), range(Range::from(1.0).to(65535.0)),
            source("CHOKe 1999, Sec. 4");
        /// How lengths are distributed.
        sizes: Sizes = default(Sizes::Fixed), source("M/D/1 and M/M/1 queues");
    }
    rules {
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
        module: "//! # Poisson arrivals over UDP\n//!\n//! Sends packets with exponential gaps and heeds nothing.\n",
    };
}

/// What one flow sends.
#[derive(Clone, Debug)]
pub enum SourcePlan {
    /// A TCP transfer without end.
    Tcp(Host),
    /// Constant bit rate.
    Udp(UdpParams),
    /// Poisson arrivals.
    Poisson(PoissonParams),
}

impl SourcePlan {
    /// The kind in scenarios and results.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            SourcePlan::Tcp(_) => "tcp",
            SourcePlan::Udp(_) => "udp",
            SourcePlan::Poisson(_) => "poisson",
        }
    }

    /// The congestion control; empty for a source that has none.
    #[must_use]
    pub fn algorithm(&self) -> &'static str {
        match self {
            SourcePlan::Tcp(host) => host.algorithm.word(),
            _ => "",
        }
    }
}

fn bytes(size: Size) -> u64 {
    match size {
        Size::Bytes(n) | Size::Packets(n) => n,
    }
}

/// A source that sends by the clock: the length of its next packet, and the gap after it.
pub(crate) struct Clocked {
    rate: Rate,
    mean: u64,
    law: Law,
    rng: Stream,
    remainder: u64,
}

enum Law {
    Constant { jitter: f64 },
    Poisson { sizes: Sizes },
}

impl Clocked {
    pub(crate) fn udp(params: &UdpParams, rng: Stream) -> Clocked {
        let law = Law::Constant { jitter: params.jitter };
        Clocked { rate: params.rate, mean: bytes(params.packet_size), law, rng, remainder: 0 }
    }

    pub(crate) fn poisson(params: &PoissonParams, rng: Stream) -> Clocked {
        let law = Law::Poisson { sizes: params.sizes };
        Clocked { rate: params.rate, mean: bytes(params.packet_size), law, rng, remainder: 0 }
    }

    pub(crate) fn next(&mut self) -> (u32, Span) {
        let mut remainder = self.remainder;
        let mean_gap = self.rate.time_to_send(self.mean, &mut remainder);
        match self.law {
            Law::Constant { jitter: 0.0 } => {
                self.remainder = remainder;
                (self.mean as u32, mean_gap)
            }
            Law::Constant { jitter } => {
                let factor = 1.0 + jitter * (self.rng.uniform() - 0.5);
                (self.mean as u32, Span((mean_gap.0 as f64 * factor) as u64))
            }
            Law::Poisson { sizes } => {
                let gap = Span((mean_gap.0 as f64 * self.rng.exponential()) as u64);
                let bytes = match sizes {
                    Sizes::Fixed => self.mean,
                    Sizes::Exponential => ((self.mean as f64 * self.rng.exponential()) as u64).max(1),
                };
                (bytes.min(1 << 24) as u32, gap)
            }
        }
    }
}
