//! A path: links and delays in a row, without clock, sockets or simulator.
//!
//! It carries whatever can tell its length and flow, and may have an ECN field: [`Packet`]. A link is a queue under any
//! discipline with a transmitter, a propagation delay and a wire; a delay is a wire alone. Wires lose packets, by chance, in
//! bursts or by their number, delay them by chance, and let them overtake each other: [`WirePlan`]. The same seed gives the same
//! run, to the nanosecond.
//!
//! 100 packets of 1250 bytes, twice as fast as a link of 10 Mbit/s sends them, cross CoDel and 10 ms:
//!
//! ```
//! use sluicegate_aqm::codel::{Codel, CodelParams};
//! use sluicegate_aqm::{FlowKey, Packet};
//! use sluicegate_base::{Ecn, Link, Params, Rate, Span, Time};
//! use sluicegate_port::{LinkConfig, Path, PortConfig, What, WirePlan};
//!
//! /// What a transport sends: here a number will do.
//! struct Datagram {
//!     number: u64,
//!     ecn: Ecn,
//! }
//!
//! impl Packet for Datagram {
//!     fn flow(&self) -> FlowKey {
//!         FlowKey(1)
//!     }
//!     fn bytes(&self) -> u64 {
//!         1250
//!     }
//!     fn ecn(&self) -> Ecn {
//!         self.ecn
//!     }
//!     fn mark(&mut self) -> bool {
//!         self.ecn.mark()
//!     }
//! }
//!
//! let rate = Rate(10_000_000);
//! let defaults = CodelParams::build(&mut |_| None, &Link { rate, packet: 1250 }).unwrap();
//! let codel = CodelParams { ecn: true, interval: Span::from_millis(20), ..defaults };
//! let mut path = Path::<Datagram>::new(1).link(LinkConfig {
//!     port: PortConfig::new(rate),
//!     queue: Box::new(Codel::new(codel)),
//!     delay: Span::from_millis(10),
//!     wire: WirePlan::default(),
//! })?;
//!
//! let (mut sent, mut delivered, mut marked) = (0, Vec::new(), 0);
//! loop {
//!     // What happens next: the sender's turn, every 0.5 ms, or something on the path.
//!     let turn = (sent < 100).then_some(Time(sent * 500_000));
//!     let Some(now) = turn.into_iter().chain(path.next_deadline()).min() else { break };
//!     for event in path.advance(now) {
//!         assert_eq!(event.what, What::Delivered, "CoDel marks what is capable");
//!         delivered.push((event.packet.number, event.time));
//!         marked += u64::from(event.marked);
//!     }
//!     if turn == Some(now) {
//!         path.send(Datagram { number: sent, ecn: Ecn::Capable0 }, now);
//!         sent += 1;
//!     }
//! }
//! assert_eq!(delivered.len(), 100);
//! assert_eq!(delivered[0], (0, Time(11_000_000)), "1 ms to send, 10 ms on the wire");
//! assert_eq!(delivered[99], (99, Time(110_000_000)), "the link has never been idle");
//! assert!(marked > 0, "for 20 ms packets have waited longer than CoDel's target");
//! # Ok::<(), String>(())
//! ```

use crate::paths::{Hop, LinkConfig, Paths, Transit, Watch};
use crate::wire::{Wire, WirePlan};
use alloc::borrow::ToOwned;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use sluicegate_aqm::{DropReason, Packet};
use sluicegate_base::{Span, Time};

/// What has become of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<P> {
    /// When.
    pub time: Time,
    /// The packet.
    pub packet: P,
    /// Whether anything on its way has marked it.
    pub marked: bool,
    /// What happened to it.
    pub what: What,
}

/// How a packet ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// It is at the end of the path.
    Delivered,
    /// It is gone.
    Dropped {
        /// The number of the link or delay, from 0 in the order of the path.
        hop: usize,
        /// Why.
        reason: Reason,
    },
}

/// Why a packet is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The discipline dropped it.
    Queue(DropReason),
    /// The wire lost it, by chance or because of its number.
    Wire,
}

impl Reason {
    /// The reason in a word: that of the columns of results.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Reason::Queue(reason) => reason.word(),
            Reason::Wire => "lost",
        }
    }
}

/// Links and delays in a row.
pub struct Path<P> {
    paths: Paths<P>,
    events: Events<P>,
    now: Time,
}

/// What has happened and has not been told.
struct Events<P> {
    queue: VecDeque<Event<P>>,
    /// The hops of the path.
    hops: Vec<Hop>,
    /// The packets that are on it.
    inside: u64,
}

impl<P> Events<P> {
    fn end(&mut self, Transit { packet, ever_marked, .. }: Transit<P>, what: What, time: Time) {
        self.inside -= 1;
        self.queue.push_back(Event { time, packet, marked: ever_marked, what });
    }

    fn drop(&mut self, packet: Transit<P>, at: Hop, reason: Reason, time: Time) {
        let hop = self.hops.iter().position(|hop| *hop == at).unwrap_or_default();
        self.end(packet, What::Dropped { hop, reason }, time);
    }
}

impl<P> Watch<P> for Events<P> {
    fn lost(&mut self, at: Hop, packet: Transit<P>, now: Time) {
        self.drop(packet, at, Reason::Wire, now);
    }

    fn dropped(&mut self, link: u32, packet: Transit<P>, reason: DropReason, now: Time) {
        self.drop(packet, Hop::Link(link), Reason::Queue(reason), now);
    }

    fn delivered(&mut self, packet: Transit<P>, now: Time) {
        self.end(packet, What::Delivered, now);
    }
}

/// The only way over the links and delays of a path.
const WAY: u32 = 0;

/// Times beyond this count as this: 146 years.
const LAST: Time = Time(1 << 62);

impl<P: Packet> Path<P> {
    /// A path without links and delays, which delivers at once. The seed is that of every random stream.
    #[must_use]
    pub fn new(seed: u64) -> Path<P> {
        let mut paths = Paths::new(seed);
        paths.add_way(&[]);
        let events = Events { queue: VecDeque::new(), hops: Vec::new(), inside: 0 };
        Path { paths, events, now: Time::ZERO }
    }

    /// Adds a link at the end. The error is the rule that its wire breaks.
    pub fn link(self, config: LinkConfig<P>) -> Result<Path<P>, String> {
        let name = format!("{}", self.events.hops.len());
        self.named_link(&name, config)
    }

    /// The same with a name, which keys its random streams; without one its number does.
    pub fn named_link(mut self, name: &str, config: LinkConfig<P>) -> Result<Path<P>, String> {
        config.wire.check()?;
        let hop = self.paths.add_link(name, config);
        self.lengthen(hop);
        Ok(self)
    }

    /// Adds a delay at the end: of all packets, and what a wire does to some. The error is the rule that the wire breaks.
    pub fn delay(mut self, delay: Span, wire: &WirePlan) -> Result<Path<P>, String> {
        wire.check()?;
        if wire.rates.is_some() {
            return Err("a delay has no rate: add a link".to_owned());
        }
        let (name, seed) = (format!("{}", self.events.hops.len()), self.paths.seed());
        let hop = self.paths.add_line(None, delay, Wire::new(wire, &name, seed));
        self.lengthen(hop);
        Ok(self)
    }

    fn lengthen(&mut self, hop: Hop) {
        self.events.hops.push(hop);
        self.paths.lengthen(WAY, hop);
    }

    /// A packet enters now. A time before that of the last call counts as that.
    pub fn send(&mut self, packet: P, now: Time) {
        self.go_on(now);
        self.events.inside += 1;
        self.paths.enter(packet, WAY, [Span::ZERO; 2], self.now, &mut self.events);
    }

    /// When [`advance`](Path::advance) is to be called next; none, if nothing is to come. Disciplines that act by the clock have
    /// a deadline also when [no packet](Path::inside) is on the path.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Time> {
        let told = self.events.queue.front().map_or(Time::NEVER, |event| event.time);
        Some(told.min(self.paths.next_deadline())).filter(|next| *next <= LAST)
    }

    /// Does all that is due until now, each at its own time, and gives what has become of packets, in the order of time. A
    /// time before that of the last call counts as that. Events that are not taken from the iterator are lost:
    /// [`poll`](Path::poll) keeps them.
    pub fn advance(&mut self, now: Time) -> impl Iterator<Item = Event<P>> + '_ {
        self.go_on(now);
        self.events.queue.drain(..)
    }

    /// The same, event by event: the next one; none when there is nothing more to tell.
    pub fn poll(&mut self, now: Time) -> Option<Event<P>> {
        self.go_on(now);
        self.events.queue.pop_front()
    }

    fn go_on(&mut self, now: Time) {
        self.now = self.now.max(now).min(LAST);
        self.paths.advance(self.now, &mut self.events);
    }

    /// How many packets are on the path: neither delivered nor dropped. One that a fate puts behind others is there until they
    /// have come.
    #[must_use]
    pub fn inside(&self) -> u64 {
        self.events.inside
    }

    /// Its links, with their ports and what they have counted, in the order of the path.
    pub fn links(&self) -> impl Iterator<Item = &crate::paths::Link<P>> {
        self.paths.links.iter()
    }
}
