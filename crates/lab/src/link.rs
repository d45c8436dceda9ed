//! A link as a scenario describes it: what the network, the shaper and the queue each read of it.

use sluicegate_base::{ETHERNET, Link, Rate, Size, Span, Value};
use sluicegate_netsim::WirePlan;
use sluicegate_port::{Cells, Framing};
use std::iter::Sum;

/// The table of a queue, of the scenario or of the opposite direction alone.
pub(crate) const QUEUE: &str = "queue";
/// Where the latter stands.
pub(crate) const REVERSE_QUEUE: &str = "network.reverse.queue";
/// The name of a two-way dumbbell's second link, the bottleneck in the opposite direction, and of the table that says how it
/// differs.
pub(crate) const REVERSE: &str = "reverse";

/// A link as the scenario describes it.
#[derive(Clone, Debug)]
pub(crate) struct LinkSpec {
    pub name: String,
    pub ends: Option<(String, String)>,
    /// Whether it is of the opposite direction of a dumbbell, which may have a queue of its own.
    pub reverse: bool,
    /// Which of `[[network.links]]` it is, if that has a queue of its own.
    pub own: Option<usize>,
    pub rate: Rate,
    pub delay: Span,
    pub framing: Framing,
    pub tx_ring: Option<Size>,
    /// What it holds while its queue is Drop Tail, if the link says so.
    pub buffer: Option<Size>,
    /// The limit of a plain queue; none for a link that the discipline under study manages.
    pub plain: Option<Size>,
    /// Whether it is measured: a link of that discipline, or the line beside its shaper.
    pub monitored: bool,
    /// Whether the other one of these two counts its packets as arrivals.
    pub counted: bool,
    /// What it is as a shaper, if it is one.
    pub shaper: Option<ShaperSpec>,
    pub wire: WirePlan,
    /// The length of its typical packet, which defaults of the discipline follow; known when the flows are.
    pub packet: u64,
    /// The most that its queue holds, known when the queue is.
    pub held: Held,
}

impl LinkSpec {
    /// A link that the discipline under study manages, before the flows and the queue are known.
    pub fn new(name: String, rate: Rate, delay: Span, framing: Framing, wire: WirePlan) -> LinkSpec {
        LinkSpec {
            name,
            ends: None,
            reverse: false,
            own: None,
            rate,
            delay,
            framing,
            tx_ring: None,
            buffer: None,
            plain: None,
            monitored: true,
            counted: false,
            shaper: None,
            wire,
            packet: ETHERNET,
            held: Held::UNKNOWN,
        }
    }

    /// What the discipline is told of it.
    pub fn facts(&self) -> Link {
        Link { rate: self.rate, packet: self.packet }
    }

    /// The fastest that it is.
    pub fn fastest(&self) -> Rate {
        let rates = self.wire.rates.iter().flat_map(|rates| rates.steps.iter().map(|(_, rate)| *rate));
        rates.max().unwrap_or(self.rate)
    }
}

/// What a link is as a shaper.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShaperSpec {
    /// Bytes that its token bucket holds.
    pub burst: u64,
    /// Packets have crossed the line already.
    pub behind: bool,
    /// The rate of its interface.
    pub interface: Rate,
}

impl ShaperSpec {
    /// What a discipline that shapes by itself, as CAKE does, is told of the shaper: the value of its parameter of this name.
    pub fn tells(&self, name: &str, link: &LinkSpec) -> Option<Value> {
        let Framing { bytes, least, cells } = link.framing;
        Some(match name {
            "bandwidth" => Value::Rate(link.rate),
            "overhead" => Value::Number(bytes.into()),
            "mpu" => Value::Integer(least.into()),
            "atm" => Value::Choice(match cells {
                Cells::None => "noatm",
                Cells::Atm => "atm",
                Cells::Ptm => "ptm",
            }),
            "ingress" => Value::Switch(self.behind),
            _ => return None,
        })
    }
}

/// The most that a queue holds: packets, and bytes, which both bound it; infinite where nobody says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    packets: f64,
    pub bytes: f64,
}

impl Held {
    pub const UNKNOWN: Held = Held { packets: f64::INFINITY, bytes: f64::INFINITY };

    pub fn of(limit: Size, link: &Link) -> Held {
        match limit {
            Size::Packets(packets) => Held { packets: packets as f64, bytes: packets as f64 * link.packet as f64 },
            Size::Bytes(bytes) => Held { bytes: bytes as f64, ..Held::UNKNOWN },
        }
    }

    pub fn least(self, other: Held) -> Held {
        Held { packets: self.packets.min(other.packets), bytes: self.bytes.min(other.bytes) }
    }

    /// How many packets of this length in bytes.
    pub fn packets(self, length: f64) -> f64 {
        self.packets.min(self.bytes / length)
    }
}

impl Sum for Held {
    fn sum<I: Iterator<Item = Held>>(all: I) -> Held {
        all.fold(Held { packets: 0.0, bytes: 0.0 }, |sum, next| Held {
            packets: sum.packets + next.packets,
            bytes: sum.bytes + next.bytes,
        })
    }
}
