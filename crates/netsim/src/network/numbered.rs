//! The wire of a link that numbers packets as they reach it: a packet's number tells what is to happen to it.

use sluicegate_base::Time;
use sluicegate_port::WirePlan;
use sluicegate_port::fates::Fate;
use sluicegate_port::wire::Wire;
use std::collections::VecDeque;

/// A wire, and the numbers of the packets that are before it and have a fate.
pub struct NumberedWire {
    /// The wire.
    pub wire: Wire,
    /// How many packets have reached the link.
    arrivals: u64,
    /// The places and numbers of those with a fate, in the order of their arrival.
    named: VecDeque<(u32, u64)>,
    /// Those that have waited on the wire for others, with the time when they arrive.
    pub released: Vec<(u32, Time)>,
}

impl NumberedWire {
    /// The wire of this plan; none where it does nothing to packets.
    pub fn new(plan: &WirePlan, link: &str, seed: u64) -> Option<NumberedWire> {
        let wire = Wire::new(plan, link, seed)?;
        Some(NumberedWire { wire, arrivals: 0, named: VecDeque::new(), released: Vec::new() })
    }

    /// The packet in this place has reached the link.
    pub fn note_arrival(&mut self, place: u32) {
        self.arrivals += 1;
        if self.wire.fates().of(self.arrivals) != Fate::default() {
            self.named.push_back((place, self.arrivals));
        }
    }

    /// The number of the packet in this place, which has left the queue; zero if it has no fate.
    pub fn number(&mut self, place: u32) -> u64 {
        let at = self.named.iter().position(|(named, _)| *named == place);
        at.and_then(|at| self.named.remove(at)).map_or(0, |(_, number)| number)
    }
}
