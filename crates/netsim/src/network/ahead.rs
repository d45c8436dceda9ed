//! Lookahead: from when a packet's place at a shared line is known, so that what happens there need not wait for its time.
//!
//! A shared line serves packets in the order of their times. Where all that cross it answer what one link has sent, no answer
//! that is yet to come is there before the link's next packet could have been answered: that packet's departure (while there is none, the
//! next event and the time that the shortest packet takes), and the way from there to the line. What comes earlier is evaluated when it is known, with the arrival at its sender, and costs no event;
//! unless an end may send by itself until then, by a timer or at a delivery that is an event ([`Engine::hold`]).

use crate::engine::Engine;
use crate::network::link::Link;
use crate::network::paths::Paths;
use crate::plan::{FlowPlan, Hop, Plan};
use sluicegate_base::{Span, Time};

/// What is known of all shared lines of a plan.
#[derive(Clone, Copy, Debug)]
pub struct Ahead {
    /// The link whose packets are answered there.
    link: u32,
    /// The length of the shortest packet, and the least time from a departure there to an answer's arrival at a line.
    bytes: u32,
    least: Span,
    /// When the run is looked at or changed: nothing from then on is known.
    pub until: Time,
}

impl Ahead {
    /// For this plan; none where anything else reaches a shared line than answers, over lines of their own, to packets that
    /// came over lines of their own from one link of a constant rate.
    #[must_use]
    pub fn new(plan: &Plan, paths: &Paths) -> Option<Ahead> {
        let (mut link, mut bytes, mut least) = (None, u32::MAX, Span(u64::MAX));
        for flow in &plan.flows {
            let [there, back] =
                [&flow.path, &flow.return_path].map(|path| path.iter().any(|hop| paths.is_shared(*hop)));
            if there || back {
                let (from, delay) = answered(flow, plan, paths).filter(|_| !there)?;
                if *link.get_or_insert(from) != from {
                    return None;
                }
                bytes = bytes.min(shortest(flow));
                least = least.min(delay);
            }
        }
        link.map(|link| Ahead { link, bytes, least, until: Time::ZERO })
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
        time < self.until.min(departs + self.least)
    }
}

/// The length of a flow's shortest packet.
fn shortest(flow: &FlowPlan) -> u32 {
    flow.source.host().map_or(0, |host| host.header)
}

/// The last link that a flow's packets cross, and the least time from there to the first line that its answers share.
fn answered(flow: &FlowPlan, plan: &Plan, paths: &Paths) -> Option<(u32, Span)> {
    let mut least = Span::ZERO;
    let mut own = |hop: &&Hop| match **hop {
        Hop::Line(at) if !paths.is_shared(**hop) => {
            let line = &plan.lines[at as usize];
            least = least + line.delay + line.rate.time_of(shortest(flow).into());
            true
        }
        _ => false,
    };
    let link = flow.path.iter().rev().find(|hop| !own(hop));
    let first = flow.return_path.iter().find(|hop| !own(hop));
    // What a link on the way back sends is not bounded by this one's departures.
    let waits = flow.return_path.iter().any(|hop| matches!(hop, Hop::Link(_)));
    match (link, first) {
        (Some(Hop::Link(at)), Some(Hop::Line(_)))
            if !waits && flow.source.way().is_none() && flow.source.host().is_some() =>
        {
            let link = &plan.links[*at as usize];
            link.wire.rates.is_none().then_some((*at, link.delay + least))
        }
        _ => None,
    }
}
