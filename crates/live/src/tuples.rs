//! Flows as they appear, told apart by addresses, protocol and ports, as a real queue does.

use crate::driven::Traffic;
use crate::entry::Entry;
use crate::ledger::{Flow, Ledger, name_of};
use sluicegate_base::{Span, Time};
use sluicegate_lab::replay::flows::Flows;
use sluicegate_lab::replay::layers::Other;
use sluicegate_lab::replay::packet::decode;
use sluicegate_lab::replay::seen::Seen;
use sluicegate_lab::replay::warnings;
use sluicegate_netsim::counters::FlowRow;

/// The traffic of whoever sends, each direction over a way of its own.
pub struct Tuples {
    flows: Flows,
    /// The name of each direction, which is that of its link.
    directions: [String; 2],
    /// For each row, and each gate by which its packets came, the number of their flow.
    known: Vec<[Option<u32>; 2]>,
    /// For each flow a name for people.
    names: Vec<String>,
    /// Packets that have come in.
    packets: u64,
}

impl Tuples {
    /// No flow yet, and rows for up to `most`; what comes in by each gate is of the group with that name.
    #[must_use]
    pub fn new(directions: [String; 2], seed: u64, most: usize) -> Tuples {
        Tuples { flows: Flows::new(seed, most), directions, known: Vec::new(), names: Vec::new(), packets: 0 }
    }

    /// The name of each flow, and packets that were not told apart, by why not.
    #[must_use]
    pub fn rows(&self) -> (&[String], &[u64; Other::COUNT]) {
        (&self.names, &self.flows.others)
    }

    /// What is to be said of packets that were not told apart, if there are any.
    #[must_use]
    pub fn opaque(&self) -> Option<String> {
        warnings::opaque(&self.flows, self.packets)
    }

    /// A flow that has not been seen before.
    fn begin(&mut self, row: u32, gate: usize, now: Time, ledger: &mut Ledger) -> u32 {
        let found = self.flows.row(row);
        self.names.push(name_of(row, found));
        let kind = match found.tuple.map(|tuple| tuple.protocol) {
            Some(6) => "tcp",
            Some(17) => "udp",
            Some(1 | 58) => "icmp",
            Some(_) => "ip",
            None => "other",
        };
        let row = FlowRow { group: gate as u32, kind, start: now, ..FlowRow::default() };
        ledger.flows.push(Flow { row, ..Flow::default() });
        ledger.flows.len() as u32 - 1
    }
}

impl Traffic for Tuples {
    fn enter(&mut self, gate: usize, link_type: u16, data: &[u8], now: Time, ledger: &mut Ledger) -> Option<Entry> {
        let seen = decode(link_type, data, data.len() as u32);
        self.packets += 1;
        let (key, row) = self.flows.find(&seen, now);
        if self.known.len() <= row as usize {
            self.known.resize(row as usize + 1, [None; 2]);
        }
        let flow = match self.known[row as usize][gate] {
            Some(flow) => flow,
            None => {
                let flow = self.begin(row, gate, now, ledger);
                self.known[row as usize][gate] = Some(flow);
                flow
            }
        };
        let packet = Seen::of(&seen, key, flow);
        Some(Entry { data: true, way: gate as u32, own: [Span::ZERO; 2], packet, ip: seen.ip })
    }

    fn names(&self) -> Vec<String> {
        self.directions.to_vec()
    }

    fn flow_name(&self, row: usize) -> String {
        self.names.get(row).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All of PPPoE was one flow, and could not be marked.
    #[test]
    fn flows_inside_pppoe_are_told_apart_and_can_be_marked() {
        let mut tuples = Tuples::new(["up".to_owned(), "down".to_owned()], 1, 100);
        let mut ledger = Ledger::new(Span::from_millis(100), false);
        let frame = |port: u8| {
            let session = [0x88, 0x64, 0x11, 0, 0, 9, 0, 30, 0, 0x21];
            let ip = [0x45, 1, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
            [&[0; 12], &session[..], &ip, &[0, port, 0, 53, 0, 8, 0, 0]].concat()
        };
        let mut enter = |data: &[u8]| tuples.enter(0, 1, data, Time::ZERO, &mut ledger).unwrap();
        let [first, second] = [1, 2].map(|port| enter(&frame(port)));
        assert_ne!((first.packet.key, first.packet.row), (second.packet.key, second.packet.row));
        assert_eq!((first.ip, first.packet.ecn), (Some(22), sluicegate_base::Ecn::Capable1));
        assert_eq!(tuples.opaque(), None);
        tuples.enter(0, 1, &[&[0; 12], &[8, 6][..], &[0; 28]].concat(), Time::ZERO, &mut ledger);
        let said = tuples.opaque().unwrap();
        assert!(said.starts_with("1 of 3 packets (33 %) is one flow to the queue"), "{said}");
    }
}
