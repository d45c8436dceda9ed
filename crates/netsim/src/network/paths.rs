//! The paths of all flows. They take a packet to the next place where something must happen in the order of time.

use crate::engine::PacketEvent;
use crate::network::Observer;
use crate::network::delay_line::{DelayLine, Extras, Kind};
use crate::network::packet::{End, NONE, Segments, SimPacket, WAITED};
use crate::plan::{AccessName, FlowPlan, Hop, LinePlan, Plan};
use prefetch_index::prefetch_index;
use sluicegate_base::{Rate, Span, Time};
use std::collections::BTreeMap;

/// One leg of a path as it runs: over a line that is this path's own, if there is one, to where something must happen in
/// the order of time.
#[repr(align(32))]
pub struct Leg {
    line: DelayLine,
    /// The number of the line's kind; [`NONE`] where there is no line, and with [`APART`] where it has more than a kind.
    kind: u32,
    /// The link, or the line that several paths share, at the end of the leg.
    next: u32,
    /// What happens there; nothing, where another line of this path's own begins.
    event: Option<PacketEvent>,
}

const _: () = assert!(size_of::<Leg>() == 32, "none lies in two cache lines");

/// A line that several paths share.
struct SharedLine {
    line: DelayLine,
    kind: Kind,
    extras: Option<Box<Extras>>,
}

/// A line with extras: others take no time for that.
const APART: u32 = 1 << 31;

/// All paths.
pub struct Paths {
    /// Leg by leg.
    legs: Vec<Leg>,
    /// What the lines of few of them have.
    extras: BTreeMap<u32, Extras>,
    /// Lines that several paths share, and where those of the plan are among them.
    shared: Vec<SharedLine>,
    places: BTreeMap<u32, u32>,
    /// The first legs of paths without lines of their own, which flows have in common.
    common: BTreeMap<Vec<Hop>, u32>,
    /// The kinds of the others, by rate, delay, the end that they lead to and the group of their flows,
    /// whose packets mostly have one length.
    kinds: Vec<Kind>,
    numbers: BTreeMap<(Rate, Span, End, u32), u32>,
    /// The names of the plan's lines.
    given: BTreeMap<u32, Box<str>>,
    access: Vec<Option<AccessName>>,
    /// The legs over those that are a path's own.
    own: Vec<u32>,
}

impl Paths {
    /// No paths, and the lines that those of this plan will share; those from number `shared` on always are.
    pub fn new(plan: &Plan, shared: usize) -> Paths {
        let mut uses = vec![0u32; plan.lines.len()];
        uses[shared..].fill(2);
        for flow in &plan.flows {
            // The connections of a group share every line of its path.
            let users = if flow.source.way().is_some() { 2 } else { 1 };
            for hop in flow.path.iter().chain(&*flow.return_path) {
                if let Hop::Line(at) = *hop {
                    uses[at as usize] += users;
                }
            }
        }
        let shared: Vec<u32> = (0..).zip(&uses).filter(|(_, uses)| **uses > 1).map(|(at, _)| at).collect();
        let line = |&at: &u32| {
            let plan_of = &plan.lines[at as usize];
            let extras = Extras::new(plan_of, plan.seed).map(Box::new);
            SharedLine { line: DelayLine::default(), kind: Kind::new(plan_of.rate, plan_of.delay), extras }
        };
        Paths {
            legs: Vec::with_capacity(plan.lines.len()),
            extras: BTreeMap::new(),
            kinds: Vec::new(),
            numbers: BTreeMap::new(),
            common: BTreeMap::new(),
            shared: shared.iter().map(line).collect(),
            places: shared.into_iter().zip(0..).collect(),
            given: (0..).zip(&plan.lines).filter_map(|(at, line)| Some((at, line.name.given()?.into()))).collect(),
            access: plan.lines.iter().map(|line| line.name.access()).collect(),
            own: vec![NONE; plan.lines.len()],
        }
    }

    /// Adds the path that leads to this end of a flow; its first leg.
    pub fn lay(&mut self, flow: &FlowPlan, to: End, plan: &Plan) -> u32 {
        let path = if to == End::Receiver { &flow.path } else { &flow.return_path };
        if let Some(first) = self.common.get(&path[..]) {
            return *first;
        }
        let first = self.legs.len() as u32;
        let mut line = None;
        for hop in path.iter() {
            let (event, next) = match (*hop, self.place(*hop)) {
                (Hop::Link(at), _) => (PacketEvent::Arrival, at),
                (_, Some(at)) => (PacketEvent::Crossing, at),
                (Hop::Line(at), None) => {
                    if line.is_some() {
                        self.push(line, None, 0, plan);
                    }
                    line = Some((at, self.kind_of(&plan.lines[at as usize], to, flow.group)));
                    continue;
                }
            };
            self.push(line.take(), Some(event), next, plan);
        }
        self.push(line, Some(PacketEvent::Delivery), 0, plan);
        if self.legs[first as usize..].iter().all(|leg| leg.kind == NONE) {
            self.common.insert(path.to_vec(), first);
        }
        first
    }

    /// The place of a line that several paths share.
    fn place(&self, hop: Hop) -> Option<u32> {
        match hop {
            Hop::Line(at) => self.places.get(&at).copied(),
            Hop::Link(_) => None,
        }
    }

    /// Adds a leg, over the line with this index and kind if there is one.
    fn push(&mut self, line: Option<(u32, u32)>, event: Option<PacketEvent>, next: u32, plan: &Plan) {
        let mut kind = NONE;
        if let Some((at, of)) = line {
            kind = of;
            self.own[at as usize] = self.legs.len() as u32;
            if let Some(extras) = Extras::new(&plan.lines[at as usize], plan.seed) {
                self.extras.insert(self.legs.len() as u32, extras);
                kind |= APART;
            }
        }
        self.legs.push(Leg { line: DelayLine::default(), kind, next, event });
    }

    /// The kind of the line of this plan.
    fn kind_of(&mut self, plan: &LinePlan, to: End, group: u32) -> u32 {
        *self.numbers.entry((plan.rate, plan.delay, to, group)).or_insert_with(|| {
            self.kinds.push(Kind::new(plan.rate, plan.delay));
            self.kinds.len() as u32 - 1
        })
    }

    /// The line of this name, by its index in the plan.
    pub fn named(&self, name: &str) -> Option<u32> {
        let is_access = |known: &Option<AccessName>| known.is_some_and(|known| known.to_string() == name);
        let given = self.given.iter().find(|(_, known)| ***known == *name).map(|(at, _)| *at);
        given.or_else(|| self.access.iter().position(is_access).map(|at| at as u32))
    }

    /// The propagation delay of the line with this index.
    pub fn delay(&self, at: u32) -> Span {
        match self.places.get(&at) {
            Some(place) => self.shared[*place as usize].kind.delay(),
            None => self.kinds[(self.legs[self.own[at as usize] as usize].kind & !APART) as usize].delay(),
        }
    }

    /// Whether this is a line that several paths share.
    pub fn is_shared(&self, hop: Hop) -> bool {
        self.place(hop).is_some()
    }

    /// Lets `observer` see what the line with this index of the plan sends.
    pub fn observe(&mut self, at: u32, observer: Observer) {
        if let Some(place) = self.place(Hop::Line(at)) {
            return self.shared[place as usize].extras.get_or_insert_default().observe(observer);
        }
        let at = self.own[at as usize];
        // No path crosses some.
        if let Some(leg) = self.legs.get_mut(at as usize) {
            leg.kind |= APART;
            self.extras.entry(at).or_default().observe(observer);
        }
    }

    /// Fetches a leg, and the line behind it.
    #[inline(always)]
    pub fn prefetch(&self, leg: u32) {
        prefetch_index(&self.legs, leg as usize);
        prefetch_index(&self.legs, leg as usize + 1);
    }

    /// A packet starts on a leg of its path at `time`, over the lines that are its own: what happens next, and when. Its segment
    /// is in that place.
    #[inline(always)]
    pub fn travel(&mut self, packet: &mut SimPacket, segment: (&Segments, u32), time: Time) -> (PacketEvent, Time) {
        match self.pass_leg(packet, segment, time) {
            (Some(event), time) => (event, time),
            (None, time) => self.travel_on(packet, segment, time),
        }
    }

    /// The same over more than one line.
    #[inline(never)]
    fn travel_on(&mut self, packet: &mut SimPacket, segment: (&Segments, u32), mut time: Time) -> (PacketEvent, Time) {
        loop {
            match self.pass_leg(packet, segment, time) {
                (Some(event), time) => return (event, time),
                (None, end) => time = end,
            }
        }
    }

    /// A packet starts on one leg at `time`: what happens at its end, and when.
    #[inline(always)]
    fn pass_leg(
        &mut self,
        packet: &mut SimPacket,
        segment: (&Segments, u32),
        time: Time,
    ) -> (Option<PacketEvent>, Time) {
        let at = packet.header.leg;
        let leg = &mut self.legs[at as usize];
        packet.header.leg += 1;
        packet.next = leg.next;
        let end = match self.kinds.get_mut(leg.kind as usize) {
            Some(kind) => {
                packet.next |= if leg.line.is_busy(time) { WAITED } else { 0 };
                leg.line.cross(kind, packet.bytes, time)
            }
            None if leg.kind == NONE => time,
            None => return self.pass_apart(at, packet, segment, time),
        };
        (leg.event, end)
    }

    /// The same of a leg whose line has extras.
    #[cold]
    fn pass_apart(
        &mut self,
        leg: u32,
        packet: &mut SimPacket,
        segment: (&Segments, u32),
        time: Time,
    ) -> (Option<PacketEvent>, Time) {
        let Leg { line, kind, event, .. } = &mut self.legs[leg as usize];
        let waits = line.is_busy(time);
        let mut end = line.cross(&mut self.kinds[(*kind & !APART) as usize], packet.bytes, time);
        if let Some(extras) = self.extras.get_mut(&leg) {
            packet.next |= if waits && !extras.has_jitter() { WAITED } else { 0 };
            end = extras.pass(packet, segment, line.free(), end);
        }
        (*event, end)
    }

    /// A packet has reached a line that several paths share: what happens beyond, and when.
    #[inline(always)]
    pub fn cross(&mut self, packet: &mut SimPacket, segment: (&Segments, u32), now: Time) -> (PacketEvent, Time) {
        let SharedLine { line, kind, extras } = &mut self.shared[packet.next() as usize];
        let mut time = line.cross(kind, packet.bytes, now);
        if let Some(extras) = extras {
            time = extras.pass(packet, segment, line.free(), time);
        }
        self.travel(packet, segment, time)
    }
}
