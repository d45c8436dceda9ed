//! Ends of one's own: a transport without I/O, such as a QUIC implementation, at both ends of a flow.
//!
//! The simulator is to an end what sockets and a clock are elsewhere: it hands over datagrams, asks for those to be sent, and
//! wakes it at the deadline that it names. Nothing else tells it of time, so that equal runs give equal results.

use sluicegate_base::{About, Declared, ETHERNET, Ecn, Range, Size, Stream, Time, params};
use std::fmt;
use std::sync::Arc;

/// What an end sends, or gets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Datagram {
    /// Its length in bytes, IP header included: what links send, and results count. At least 1.
    pub bytes: u32,
    /// Its ECN field; of one that has come, as queues have left it.
    pub ecn: Ecn,
    /// What it carries to the other end. It may be empty, whatever the length, and then takes no memory.
    pub payload: Vec<u8>,
}

impl Datagram {
    /// A UDP datagram over IPv4 with this payload: 28 bytes of headers come on top.
    #[must_use]
    pub fn udp(ecn: Ecn, payload: Vec<u8>) -> Datagram {
        Datagram { bytes: UDP_HEADERS as u32 + payload.len() as u32, ecn, payload }
    }
}

/// Bytes of the IP and UDP headers of a packet.
pub(crate) const UDP_HEADERS: u64 = 28;

/// One end of a flow. Times are those of the simulation.
pub trait Endpoint: Send {
    /// A datagram has come.
    fn receive(&mut self, datagram: Datagram, now: Time);

    /// What it sends next at `now`: it is asked after each call of `receive` and `wake` until there is none. Time stands still
    /// until then, so that an end which always has another one never ends its run.
    fn poll_transmit(&mut self, now: Time) -> Option<Datagram>;

    /// When to call `wake`, unless this names another time before that: it is asked after `poll_transmit` gave none. A time that
    /// is not to come counts as the next nanosecond.
    fn deadline(&mut self) -> Option<Time>;

    /// The deadline has come. Its flow starts with this call, too, whatever the deadline.
    fn wake(&mut self, now: Time);
}

/// Makes the two ends of a flow, given a random stream for each: the sender, whose datagrams cross the flow's path and are counted
/// as its data, and the receiver, whose datagrams cross the path back.
pub type MakeEnds = dyn Fn([Stream; 2]) -> [Box<dyn Endpoint>; 2] + Send + Sync;

/// A flow between two ends of one's own.
#[derive(Clone)]
pub struct EndpointPair {
    /// What results call its kind.
    pub kind: &'static str,
    /// The length of its full packets in bytes, headers included: Ethernet's, unless it is told.
    pub packet_bytes: u64,
    /// Makes the ends, once for each flow.
    pub make: Arc<MakeEnds>,
}

impl EndpointPair {
    /// A pair of this kind: sender and receiver, made once for each flow and given a random stream each.
    pub fn new<S: Endpoint + 'static, R: Endpoint + 'static>(
        kind: &'static str,
        make: impl Fn([Stream; 2]) -> (S, R) + Send + Sync + 'static,
    ) -> EndpointPair {
        let make = move |streams| -> [Box<dyn Endpoint>; 2] {
            let (sender, receiver) = make(streams);
            [Box::new(sender), Box::new(receiver)]
        };
        EndpointPair { kind, packet_bytes: ETHERNET, make: Arc::new(make) }
    }

    /// One whose ends are written elsewhere: another takes its place before the run.
    #[must_use]
    pub fn unmade(kind: &'static str, packet_size: Size) -> EndpointPair {
        let (Size::Bytes(packet_bytes) | Size::Packets(packet_bytes)) = packet_size;
        EndpointPair { kind, packet_bytes, make: Arc::new(|_| unreachable!("a plan with ends that nobody has made")) }
    }
}

params! {
    /// Ends of one's own, as a scenario names them.
    pub struct EndpointsParams {
        /// What makes the two ends of each flow, the sender and the receiver: `path.py:function`, or in Python the function itself;
        /// `path.rs:function` in Rust, or `quinn:cubic`.
        ends: String = required, source("Sluicegate");
        /// Length of its full packets, headers included, for defaults of queues that follow from it; the ends say how long each is.
        packet_size: Size = default(Size::Bytes(ETHERNET)), unit("B"), range(Range::from(1.0).to(65535.0)),
            source("Sluicegate");
    }
    rules {
        "packet_size is in bytes" [packet_size] |p| matches!(p.packet_size, Size::Bytes(_));
    }
}

/// Ends of one's own, as a declared thing.
pub struct Endpoints;

impl Declared for Endpoints {
    type Params = EndpointsParams;
    const ABOUT: About = About {
        name: "endpoints",
        class: "Endpoints",
        title: "Two ends of your own",
        source: "Sluicegate",
        tc: "",
        module: "//! Two ends of your own, written in Python or in Rust: any transport without I/O.\n//!\n//! Each has four methods: what has come, what it \
                 sends, when it wants to be woken, and that it is woken. See [an endpoint of your own](../own-endpoint.md).",
    };
}

impl fmt::Debug for EndpointPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EndpointPair").field("kind", &self.kind).finish_non_exhaustive()
    }
}
