//! A flow as it runs: one connection, one source that sends by the clock, or a group whose connections come and go.

use crate::counters::Past;
use crate::network::packet::{End, Header};
use crate::source::telnet::Typing;
use crate::source::{Source, SourcePlan};
use sluicegate_base::{Span, Stream, Time};
use sluicegate_tcp::connection::SendCounters;

/// What a flow has beside its counters and its connection.
pub struct FlowState {
    /// The slot of its connection, or the number of its pair of ends; `u32::MAX` if it has none, or many.
    pub slot: u32,
    /// The propagation delays of its path, there and back, if all of it has the same.
    pub base_rtt: Option<Span>,
    /// When its receiver had all its data; `Time::NEVER` before.
    pub completed: Time,
    /// What transfers, of which there may be very many, do without.
    more: Option<Box<More>>,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<FlowState>() == 40, "each flow has one");

/// What flows have that are more than one transfer.
struct More {
    /// What its packets begin with, by the end that they lead to: back, and there. Their legs are the first of its paths.
    headers: [Header; 2],
    /// Its source, if it sends by the clock, and how many packets that has sent.
    source: Option<Box<dyn Source>>,
    datagrams: u64,
    /// What is typed, for a TELNET session; a transfer writes all at once.
    typing: Option<Typing>,
    /// For the packets that its connections lose on their own ways.
    losses: Option<Stream>,
}

/// What a flow had counted when the measured window began: itself, and its connections.
#[derive(Clone, Copy, Debug, Default)]
pub struct Before {
    #[allow(missing_docs)]
    pub past: Past,
    #[allow(missing_docs)]
    pub senders: SendCounters,
}

impl FlowState {
    /// The flow with this number, before it starts, with its slot if it has one by now, and with what its packets begin with; its
    /// random streams are keyed by the number.
    #[must_use]
    pub fn new(
        plan: &SourcePlan,
        (slot, headers): (u32, [Header; 2]),
        base_rtt: Option<Span>,
        seed: u64,
        flow: usize,
    ) -> FlowState {
        let stream = |purpose| Stream::new(seed, &format!("flow/{flow}/{purpose}"));
        let more = || More {
            headers,
            source: plan.clock(|| stream("packets")),
            datagrams: 0,
            typing: match plan {
                SourcePlan::Telnet(_, params) => Some(Typing::new(params, stream("typing"))),
                _ => None,
            },
            losses: plan.way().map(|_| stream("losses")),
        };
        let transfer = matches!(plan, SourcePlan::Tcp(_));
        let more = (!transfer).then(|| Box::new(more()));
        FlowState { slot, base_rtt, completed: Time::NEVER, more }
    }

    /// What its packets begin with, of one that is no transfer: those of a transfer have that from their slot.
    #[must_use]
    pub fn headers(&self) -> [Header; 2] {
        self.more.as_ref().map(|more| more.headers).unwrap_or_default()
    }

    /// Its source, if it sends by the clock.
    #[inline]
    pub fn source(&mut self) -> Option<&mut Box<dyn Source>> {
        self.more.as_mut()?.source.as_mut()
    }

    /// What the next packet of its source begins with, and how many that sent before.
    pub fn datagram(&mut self) -> (Header, u64) {
        let Some(more) = &mut self.more else { return Default::default() };
        more.datagrams += 1;
        (more.headers[End::Receiver as usize], more.datagrams - 1)
    }

    /// What is typed, if it is a TELNET session.
    pub fn typing(&mut self) -> Option<&mut Typing> {
        self.more.as_mut()?.typing.as_mut()
    }

    /// Whether a packet is lost on a way that loses this share of them, in millionths.
    pub fn loses(&mut self, share: u32) -> bool {
        let mut lost = || self.more.as_mut()?.losses.as_mut().map(|rng| rng.below(1_000_000) < u64::from(share));
        share > 0 && lost().unwrap_or(false)
    }
}
