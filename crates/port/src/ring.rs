//! The transmit ring of a driver.
//!
//! | what drivers do | what we do | why |
//! |---|---|---|
//! | a ring of descriptors (ALTQ's interface queue) counts packets, Linux' byte queue limits count bytes | packets or bytes, as the limit is written | both exist |
//! | both count the packet in transmission until it is sent | the limit is on those that wait for the transmitter | a limit of zero is then a link without a ring |
//! | byte queue limits take one packet more while the count is not above the limit | while the bytes are below the limit, and that packet whole | the length of a packet is known only when the discipline has given it up |
//! | the limit adapts (`dql`) | it is constant | what adapts belongs to a driver, and is measured with a real one |

use alloc::collections::VecDeque;
use sluicegate_aqm::Packet;
use sluicegate_aqm::fifo::Limit;
use sluicegate_base::Size;

/// Packets that the discipline has given up and that wait, first in, first out, for the transmitter.
#[derive(Clone, Debug)]
pub(crate) struct Ring<P> {
    packets: VecDeque<P>,
    bytes: u64,
    limit: Limit,
}

impl<P: Packet> Ring<P> {
    pub fn new(limit: Size) -> Ring<P> {
        Ring { packets: VecDeque::new(), bytes: 0, limit: Limit::of(limit) }
    }

    /// Whether it takes another packet, of whatever length.
    pub fn has_room(&self) -> bool {
        self.limit.has_room(self.len(), self.bytes, 1)
    }

    pub fn len(&self) -> u64 {
        self.packets.len() as u64
    }

    pub fn push(&mut self, packet: P) {
        self.bytes += packet.bytes();
        self.packets.push_back(packet);
    }

    pub fn pop(&mut self) -> Option<P> {
        let packet = self.packets.pop_front()?;
        self.bytes -= packet.bytes();
        Some(packet)
    }
}
