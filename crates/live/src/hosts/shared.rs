//! What the thread of the hosts tells the thread of the link: which flow a port belongs to, and how each flow fares.

use sluicegate_base::{Span, Time};
use sluicegate_tcp::connection::Congestion;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The two sides: hosts that send, and hosts that receive.
pub const SIDES: usize = 2;

/// Ports below this are listened at; others belong to whoever opened a connection.
pub const FIRST_PORT: u16 = 10_000;

/// How a flow fares at its ends.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faring {
    /// Bytes that its receiver has got.
    pub received: u64,
    /// When that was all.
    pub completed: Option<Time>,
    /// Segments that it has sent again.
    pub retransmissions: u64,
    /// The state of its sender.
    pub congestion: Option<Congestion>,
}

/// What both threads see.
pub struct Shared {
    /// For each side and port that opened a connection: the flow and a delay of its own, packed; zero for none.
    ports: [Vec<AtomicU64>; SIDES],
    farings: Mutex<Vec<Faring>>,
}

impl Shared {
    /// Nothing known yet of so many flows.
    #[must_use]
    pub fn new(flows: usize) -> Shared {
        let ports = || (0..=u16::MAX).map(|_| AtomicU64::new(0)).collect();
        Shared { ports: [ports(), ports()], farings: Mutex::new(vec![Faring::default(); flows]) }
    }

    /// A port of a side belongs to this flow, whose packets have this delay of their own on either way.
    pub fn own(&self, side: usize, port: u16, flow: u32, delay: Span) {
        let micros = (delay.0 / 1000).min(u64::from(u32::MAX));
        self.ports[side][usize::from(port)].store((u64::from(flow) + 1) << 32 | micros, Ordering::Release);
    }

    /// Whose a port is, and the delay.
    #[must_use]
    pub fn whose(&self, side: usize, port: u16) -> Option<(u32, Span)> {
        let packed = self.ports[side][usize::from(port)].load(Ordering::Acquire);
        let flow = ((packed >> 32) as u32).checked_sub(1)?;
        Some((flow, Span((packed & u64::from(u32::MAX)) * 1000)))
    }

    /// Tells how a flow fares.
    pub fn tell(&self, flow: u32, work: impl FnOnce(&mut Faring)) {
        work(&mut self.farings.lock().unwrap_or_else(PoisonError::into_inner)[flow as usize]);
    }

    /// How the flows fare.
    #[must_use]
    pub fn farings(&self) -> Vec<Faring> {
        self.farings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_belongs_to_a_flow_with_its_delay() {
        let shared = Shared::new(1);
        assert_eq!(shared.whose(0, 12_345), None);
        shared.own(0, 12_345, 7, Span::from_millis(30));
        assert_eq!(shared.whose(0, 12_345), Some((7, Span::from_millis(30))));
        assert_eq!(shared.whose(1, 12_345), None);
    }
}
