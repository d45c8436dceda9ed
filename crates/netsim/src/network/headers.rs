//! What the headers of arriving packets say, for disciplines outside the package. Those of the package do not look at headers,
//! and queues hold packets without them.

use crate::network::packet::QueuedPacket;
use sluicegate_tcp::{Flags, Segment};
use std::sync::{Arc, Mutex, PoisonError};

/// Tells what the packet's header says that is about to enter a queue under study.
///
/// A discipline keeps a clone, and the run is told by [`Sim::show_headers`](crate::Sim::show_headers):
///
/// ```
/// # use sluicegate_aqm::{Ctx, Discipline, DropReason, fifo::{Buffer, Fifo}};
/// # use sluicegate_netsim::{Headers, QueuedPacket};
/// /// Drops the first copy of the data that begins at this byte of each connection.
/// struct LoseOne {
///     headers: Headers,
///     first_byte: u64,
///     queue: Fifo<QueuedPacket>,
///     lost: bool,
/// }
///
/// impl Discipline<QueuedPacket> for LoseOne {
///     fn enqueue(&mut self, packet: QueuedPacket, ctx: &mut Ctx<'_, QueuedPacket>) {
///         let is_it = |segment: sluicegate_tcp::Segment| segment.len > 0 && segment.seq == self.first_byte;
///         if !self.lost && self.headers.of(&packet).is_some_and(is_it) {
///             self.lost = true;
///             return ctx.drop(packet, DropReason::Forced);
///         }
///         self.queue.push(packet);
///     }
/// #   fn dequeue(&mut self, _ctx: &mut Ctx<'_, QueuedPacket>) -> Option<QueuedPacket> {
/// #       self.queue.pop()
/// #   }
/// #   fn buffer(&self) -> &dyn Buffer<QueuedPacket> {
/// #       &self.queue
/// #   }
/// }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Headers(Arc<Mutex<Option<(u32, Segment)>>>);

impl Headers {
    /// The segment of TCP that this packet carries, while `enqueue` is called with it; none for any other packet, and after that.
    #[must_use]
    pub fn of(&self, packet: &QueuedPacket) -> Option<Segment> {
        let shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        shown.filter(|(place, _)| *place == packet.place()).map(|(_, segment)| segment)
    }

    /// The packet in this place arrives.
    pub(crate) fn show(&self, place: u32, segment: Segment) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = is_tcp(segment.flags).then_some((place, segment));
    }
}

/// Whether these are the flags of a segment of TCP: each opens a connection or acknowledges.
pub(crate) fn is_tcp(flags: Flags) -> bool {
    flags.has_any(Flags::SYN.with(Flags::ACK))
}
