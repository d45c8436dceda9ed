//! Source quenches: from the queue that asks for them to the sender they are meant for.
//!
//! They are control messages that wait nowhere: a quench takes the delays of the packet's way from its sender to the
//! link, and no bandwidth: 56 bytes for one packet among many. At the sender it is counted; what else happens is the
//! host's part.

use super::Sim;
use crate::ends::Ends;
use crate::events::{End, Event};
use crate::plan::Hop;
use sluicegate_aqm::FlowKey;
use sluicegate_base::Span;

impl Sim {
    /// Sends the source quenches that the queue of link `at` has asked for.
    #[cold]
    pub(super) fn send_quenches(&mut self, at: u32) {
        while let Some(FlowKey(key)) = self.links[at as usize].quenched.pop() {
            let flow = (key >> 1) as u32;
            let plan = &self.flows[flow as usize].plan;
            let (path, sender) =
                if key & 1 == 1 { (&plan.path, End::Sender) } else { (&plan.return_path, End::Receiver) };
            let before = path.iter().take_while(|hop| **hop != Hop::Link(at));
            let delay = before.fold(Span::ZERO, |sum, hop| {
                sum + match *hop {
                    Hop::Link(at) => self.links[at as usize].delay,
                    Hop::Line(at) => self.line_delays[at as usize],
                }
            });
            self.events.push(self.now + delay, Event::Quench(flow, sender));
        }
    }

    /// A source quench reaches one end of a flow.
    pub(super) fn quench(&mut self, flow: u32, end: End) {
        let state = &mut self.flows[flow as usize];
        state.totals.quenches += u64::from(end == End::Sender);
        if let Ends::Tcp(tcp) = &mut state.ends {
            tcp.ends[end as usize].on_quench();
            self.pump(flow, end);
        }
    }
}
