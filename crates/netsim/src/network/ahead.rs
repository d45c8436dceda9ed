//! Lookahead: packets whose place at a shared line is already known are evaluated there ahead of their time.
//!
//! A shared line serves packets in the order of their times. Suppose that all packets that cross it answer packets from one
//! link. Then no further answer can reach the line before the answer to the link's next packet. This packet departs when the
//! link has sent it; if the link is idle, no earlier than at the next event plus the time that the shortest packet takes to
//! send. Its answer reaches the line no earlier than this departure plus the time from the link to the line. An answer that
//! reaches the line earlier is evaluated as soon as it is known, together with its arrival at its sender, and costs no event.
//! The exception is an end that may send by itself until then, by a timer or at a delivery that is an event
//! ([`Engine::hold`]).
//!
//! A short packet takes less time than a long one from the link to its receiver. Where transfers have no end, only the packets
//! that open connections are short. The time of a long packet counts if no short one is on its way to the receiver, and if
//! the answer to a short one that is sent later cannot reach the line before the answer that is to be evaluated.

use crate::engine::Engine;
use crate::network::link::Link;
use crate::network::paths::Paths;
use crate::plan::{FlowPlan, Hop, Plan};
use crate::source::SourcePlan;
use sluicegate_base::{Span, Time};

/// What is known of all shared lines of a plan.
#[derive(Clone, Copy, Debug)]
pub struct Ahead {
    /// The link whose packets are answered there.
    link: u32,
    /// The length of the shortest packet.
    bytes: u32,
    /// The least time from a sender to the link, from a departure there to an answer's arrival at a line, and how much longer
    /// that is for packets which do not open connections.
    sent: Span,
    least: Span,
    longer: Span,
    /// When the run is looked at or changed: nothing from then on is known.
    pub until: Time,
}

impl Ahead {
    /// For this plan; none where anything else reaches a shared line than answers, over lines of their own, to packets that
    /// came over lines of their own from one link of a constant rate.
    #[must_use]
    pub fn new(plan: &Plan, paths: &Paths) -> Option<Ahead> {
        let (mut link, mut bytes) = (None, u32::MAX);
        let [mut sent, mut least, mut open] = [Span(u64::MAX); 3];
        for flow in &plan.flows {
            let [there, back] =
                [&flow.path, &flow.return_path].map(|path| path.iter().any(|hop| paths.is_shared(*hop)));
            if there || back {
                let (from, times) = answered(flow, plan, paths).filter(|_| !there)?;
                if *link.get_or_insert(from) != from {
                    return None;
                }
                bytes = bytes.min(shortest(flow));
                [sent, least, open] = [sent.min(times[0]), least.min(times[1]), open.min(times[2])];
            }
        }
        link.map(|link| Ahead { link, bytes, sent, least, longer: open - least, until: Time::ZERO })
    }

    /// Whether nothing that is not known yet can reach a shared line at `time` or before.
    #[inline(always)]
    #[must_use]
    pub fn knows(&self, time: Time, links: &[Link], engine: &Engine) -> bool {
        if !engine.is_free() {
            return false;
        }
        let port = &links[self.link as usize].port;
        let departs = match port.next_departure() {
            Time::NEVER => engine.next() + port.rate().time_of(self.bytes.into()),
            departs => departs,
        };
        let known = departs + self.least;
        time < self.until && (time < known || (time < known + self.longer && self.is_open(time, engine)))
    }

    /// Whether no packet that opens a connection can be answered there by this time.
    #[inline(never)]
    fn is_open(&self, time: Time, engine: &Engine) -> bool {
        !engine.is_opening() && time < engine.now() + self.sent + self.least
    }
}

/// The length of a flow's shortest packet.
fn shortest(flow: &FlowPlan) -> u32 {
    flow.source.host().map_or(0, |host| host.header)
}

/// The length of the shortest packet to its receiver that does not open its connection: a full one, where its data has no end and
/// the end of the stream is not sent. Linux's hosts also acknowledge what answers them.
fn shortest_open(flow: &FlowPlan) -> u32 {
    match &*flow.source {
        SourcePlan::Tcp(host) if flow.size.is_none() && !host.closing && !host.is_linux() => host.header + host.mss,
        _ => shortest(flow),
    }
}

/// The last link that a flow's packets cross, and the least times from its sender to there and from there to the first line
/// that its answers share, for its shortest packet and for the shortest that does not open its connection.
fn answered(flow: &FlowPlan, plan: &Plan, paths: &Paths) -> Option<(u32, [Span; 3])> {
    let own = |hop: &Hop, bytes: u32| match *hop {
        Hop::Line(at) if !paths.is_shared(*hop) => {
            let line = &plan.lines[at as usize];
            Some(line.delay + line.rate.time_of(bytes.into()))
        }
        _ => None,
    };
    let over =
        |hops: &[Hop], bytes| hops.iter().filter_map(|hop| own(hop, bytes)).fold(Span::ZERO, |sum, time| sum + time);
    let last = flow.path.iter().rposition(|hop| own(hop, 0).is_none())?;
    let first = flow.return_path.iter().position(|hop| own(hop, 0).is_none())?;
    // What a link on the way back sends is not bounded by this one's departures.
    let waits = flow.return_path.iter().any(|hop| matches!(hop, Hop::Link(_)));
    match (flow.path[last], flow.return_path[first]) {
        (Hop::Link(at), Hop::Line(_)) if !waits && flow.source.way().is_none() && flow.source.host().is_some() => {
            let (link, back) = (&plan.links[at as usize], over(&flow.return_path[..first], shortest(flow)));
            let sent = over(&flow.path[..last], shortest(flow));
            let way = |bytes| link.delay + over(&flow.path[last..], bytes) + back;
            let times = [sent, way(shortest(flow)), way(shortest_open(flow))];
            link.wire.rates.is_none().then_some((at, times))
        }
        _ => None,
    }
}
