//! Source quenches: from the queue that asks for them to the sender they are meant for.
//!
//! They are control messages that wait nowhere: a quench takes the delays of the packet's way from its sender to the
//! link, and no bandwidth: 56 bytes for one packet among many. At the sender it is counted; what else happens is the
//! host's part.

use super::Sim;
use crate::ends::Ends;
use crate::events::{End, Event};
use crate::packet::owner;
use crate::plan::Hop;
use sluicegate_aqm::FlowKey;
use sluicegate_base::Span;

impl Sim {
    /// Sends the source quenches that the queue of link `at` has asked for.
    #[cold]
    pub(super) fn send_quenches(&mut self, at: u32) {
        while let Some(FlowKey(key)) = self.links[at as usize].quenched.pop() {
            let connection = (key >> 1) as u32;
            let to = if key & 1 == 1 { End::Receiver } else { End::Sender };
            let (flow, own) = match self.flows.get(connection as usize) {
                Some(_) => (connection, Span::ZERO),
                // One that is over hears nothing any more.
                None => match self.population.pool.find(connection) {
                    Some(place) => {
                        let slot = self.population.pool.get(place);
                        (slot.flow, slot.delay(to))
                    }
                    None => continue,
                },
            };
            let plan = &self.flows[flow as usize].plan;
            let (path, sender) =
                if to == End::Receiver { (&plan.path, End::Sender) } else { (&plan.return_path, End::Receiver) };
            let before = path.iter().take_while(|hop| **hop != Hop::Link(at));
            let delay = before.fold(own, |sum, hop| {
                sum + match *hop {
                    Hop::Link(at) => self.links[at as usize].delay,
                    Hop::Line(at) => self.paths.delay(at),
                }
            });
            self.events.push(self.now + delay, Event::Quench(connection, sender), owner(connection, sender));
        }
    }

    /// A source quench reaches one end of a flow.
    pub(super) fn quench(&mut self, flow: u32, end: End) {
        let Some(state) = self.flows.get_mut(flow as usize) else { return self.quench_pooled(flow, end) };
        state.totals.quenches += u64::from(end == End::Sender);
        if let Ends::Tcp(tcp) = &mut state.ends {
            tcp.ends[end as usize].on_quench();
            self.pump(flow, end);
        }
    }
    #[cold]
    fn quench_pooled(&mut self, connection: u32, end: End) {
        let Some(place) = self.population.pool.find(connection) else { return };
        let slot = self.population.pool.get(place);
        self.flows[slot.flow as usize].totals.quenches += u64::from(end == End::Sender);
        slot.ends[end as usize].on_quench();
        self.pump_pooled(place, end);
    }
}
