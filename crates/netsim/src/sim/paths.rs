//! The paths of all flows: how a packet gets from one place where something must happen in the order of time to the next.

use crate::events::{End, Event};
use crate::line::{Kind, Line};
use crate::packet::SimPacket;
use crate::plan::{FlowPlan, Hop, LinePlan, Plan};
use prefetch_index::prefetch_index;
use sluicegate_base::{Rate, Span, Time};
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// One leg of a path as it runs: over a line that is this path's own, if there is one, to where something must happen in
/// the order of time.
pub(super) struct Leg {
    /// The line, and the number of its kind.
    line: Option<(Line, NonZeroU32)>,
    to: Then,
}

/// What is at the end of a leg.
#[derive(Clone, Copy)]
enum Then {
    Link(u32),
    /// A line that several paths share.
    Shared(u32),
    /// Another line of this path's own.
    Own,
    End,
}

/// All paths.
pub(super) struct Paths {
    /// Leg by leg.
    legs: Vec<Leg>,
    /// Lines that several paths share; none in the place of one that is a path's own.
    shared: Vec<Option<(Line, Kind)>>,
    /// The kinds of the others, from number 1 on, by rate, delay, the end that they lead to and the group of their flows,
    /// whose packets mostly have one length.
    kinds: Vec<Kind>,
    numbers: BTreeMap<(Rate, Span, End, u32), NonZeroU32>,
    /// The names and propagation delays of all lines.
    names: Vec<String>,
    delays: Vec<Span>,
}

impl Paths {
    /// No paths, and the lines that those of this plan will share.
    pub fn new(plan: &Plan) -> Paths {
        let mut uses = vec![0u32; plan.lines.len()];
        for flow in &plan.flows {
            // The connections of a group share every line of its path.
            let users = if flow.source.way().is_some() { 2 } else { 1 };
            for hop in flow.path.iter().chain(&flow.return_path) {
                if let Hop::Line(at) = *hop {
                    uses[at as usize] += users;
                }
            }
        }
        let shared = |(line, uses): (_, &u32)| (*uses > 1).then(|| (Line::new(line, plan.seed), Kind::new(line)));
        Paths {
            legs: Vec::new(),
            kinds: Vec::new(),
            numbers: BTreeMap::new(),
            shared: plan.lines.iter().zip(&uses).map(shared).collect(),
            names: plan.lines.iter().map(|line| line.name.clone()).collect(),
            delays: plan.lines.iter().map(|line| line.delay).collect(),
        }
    }

    /// Adds the path that leads to this end of a flow; its first leg.
    pub fn lay(&mut self, flow: &FlowPlan, to: End, plan: &Plan) -> u32 {
        let path = if to == End::Receiver { &flow.path } else { &flow.return_path };
        let first = self.legs.len() as u32;
        let mut line = None;
        for hop in path {
            let to = match *hop {
                Hop::Link(at) => Then::Link(at),
                Hop::Line(at) if self.shared[at as usize].is_some() => Then::Shared(at),
                Hop::Line(at) => {
                    let own = self.line_of(&plan.lines[at as usize], (to, flow.group), plan.seed);
                    if let Some(before) = line.replace(own) {
                        self.legs.push(Leg { line: Some(before), to: Then::Own });
                    }
                    continue;
                }
            };
            self.legs.push(Leg { line: line.take(), to });
        }
        self.legs.push(Leg { line, to: Then::End });
        first
    }

    /// The line of this plan, and its kind.
    fn line_of(&mut self, plan: &LinePlan, (to, group): (End, u32), seed: u64) -> (Line, NonZeroU32) {
        let kind = self.numbers.entry((plan.rate, plan.delay, to, group)).or_insert_with(|| {
            self.kinds.push(Kind::new(plan));
            NonZeroU32::MIN.saturating_add(self.kinds.len() as u32 - 1)
        });
        (Line::new(plan, seed), *kind)
    }

    /// The line of this name, by its index in the plan.
    pub fn named(&self, name: &str) -> Option<u32> {
        self.names.iter().position(|known| known == name).map(|at| at as u32)
    }

    /// The propagation delay of the line with this index.
    pub fn delay(&self, at: u32) -> Span {
        self.delays[at as usize]
    }

    /// The line with this index of the plan, given all paths with their first legs; none when no path crosses it.
    pub fn line<'a>(&mut self, at: u32, paths: impl Iterator<Item = (&'a [Hop], u32)>) -> Option<&mut Line> {
        if self.shared[at as usize].is_some() {
            return self.shared[at as usize].as_mut().map(|(line, _)| line);
        }
        for (path, first) in paths {
            let Some(place) = path.iter().position(|hop| *hop == Hop::Line(at)) else { continue };
            // Lines of its own are in the legs in the order of the path.
            let own = |hop: &&Hop| matches!(hop, Hop::Line(line) if self.shared[*line as usize].is_none());
            let before = path[..place].iter().filter(own).count();
            return self.legs[first as usize..]
                .iter_mut()
                .filter_map(|leg| leg.line.as_mut())
                .nth(before)
                .map(|(line, _)| line);
        }
        None
    }

    /// Fetches a leg.
    #[inline]
    pub fn fetch(&self, leg: u32) {
        prefetch_index(&self.legs, leg as usize);
        // It may lie in two cache lines.
        prefetch_index(&self.legs, leg as usize + 1);
    }

    /// The link with which this leg begins, if it begins with one.
    #[inline]
    pub fn link_at(&self, leg: u32) -> Option<u32> {
        match self.legs[leg as usize] {
            Leg { line: None, to: Then::Link(at) } => Some(at),
            _ => None,
        }
    }

    /// A packet starts on a leg of its path at `time`, over the lines that are its own: what happens next, and when.
    #[inline(always)]
    pub fn travel(&mut self, place: u32, packet: &mut SimPacket, mut time: Time) -> (Time, Event) {
        loop {
            let leg = &mut self.legs[packet.leg as usize];
            packet.leg += 1;
            if let Some((line, kind)) = &mut leg.line {
                time = line.cross(&self.kinds[kind.get() as usize - 1], packet, time);
            }
            match leg.to {
                Then::End => return (time, Event::Delivery(place)),
                Then::Link(at) => {
                    packet.next = at;
                    return (time, Event::Arrival(place));
                }
                Then::Shared(at) => {
                    packet.next = at;
                    return (time, Event::Crossing(place));
                }
                Then::Own => {}
            }
        }
    }

    /// A packet has reached a line that several paths share: what happens beyond, and when.
    #[inline(always)]
    pub fn cross(&mut self, place: u32, packet: &mut SimPacket, now: Time) -> (Time, Event) {
        let (line, kind) = self.shared[packet.next as usize].as_mut().expect("a shared line");
        let time = line.cross(kind, packet, now);
        self.travel(place, packet, time)
    }
}
