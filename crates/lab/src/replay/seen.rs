//! A real packet, as a queue sees it, and what queues write back onto it.

use super::packet::{Decoded, Whose, set_dscp, set_ecn};
use sluicegate_aqm::{Ack, FlowKey};
use sluicegate_base::Ecn;
use sluicegate_port::Transit;
use std::net::IpAddr;

/// A real packet on its way.
pub type Packet = Transit<Seen>;

/// What queues see of a real packet.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// The hash of its flow.
    pub key: u64,
    /// The hashes of the addresses that it comes from and goes to.
    pub hosts: (u64, u64),
    /// Its length in bytes, as the link counts it.
    pub bytes: u32,
    /// Its ECN field.
    pub ecn: Ecn,
    /// What it acknowledges.
    pub ack: Option<Ack>,
    /// Its class of traffic: its DSCP, unless its flow says.
    pub class: u8,
    /// Whether a queue has set the class.
    pub classed: bool,
    /// How much it may be spared.
    pub priority: u8,
    /// What a queue has written on it, for the queues after it.
    pub label: u32,
    /// The row that counts its flow.
    pub row: u32,
    /// Where its bytes are kept, if they are.
    pub frame: u32,
}

impl Seen {
    /// A packet of the flow with this hash and row.
    #[must_use]
    pub fn of(decoded: &Decoded<'_>, key: u64, row: u32) -> Seen {
        let hosts = match decoded.whose {
            Whose::Flow(tuple) | Whose::First(tuple, _) => (host(tuple.source), host(tuple.destination)),
            Whose::Later(datagram) => (host(datagram.source), host(datagram.destination)),
            Whose::Other(_) => (key, key),
        };
        let &Decoded { bytes, ecn, dscp: class, .. } = decoded;
        let ack = decoded.ack();
        Seen { key, hosts, bytes, ecn, ack, class, classed: false, priority: 0, label: 0, row, frame: 0 }
    }

    /// Writes into the IP header that begins at `at` what queues have changed: the ECN field if one has `marked` it, and the
    /// DSCP.
    pub fn write_back(&self, marked: bool, data: &mut [u8], at: usize) {
        if marked {
            set_ecn(data, at, self.ecn);
        }
        if self.classed {
            set_dscp(data, at, self.class);
        }
    }
}

/// A number of an address: of IPv6 the two halves, folded.
fn host(address: IpAddr) -> u64 {
    match address {
        IpAddr::V4(address) => u32::from(address).into(),
        IpAddr::V6(address) => {
            let bits = u128::from(address);
            (bits >> 64) as u64 ^ bits as u64
        }
    }
}

impl sluicegate_aqm::Packet for Seen {
    #[inline]
    fn flow(&self) -> FlowKey {
        FlowKey(self.key)
    }
    #[inline]
    fn bytes(&self) -> u64 {
        u64::from(self.bytes)
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn mark(&mut self) -> bool {
        self.ecn.mark()
    }
    fn class(&self) -> u8 {
        self.class
    }
    fn set_class(&mut self, class: u8) {
        (self.class, self.classed) = (class, true);
    }
    fn hosts(&self) -> (u64, u64) {
        self.hosts
    }
    fn ack(&self) -> Option<Ack> {
        self.ack
    }
    fn priority(&self) -> u8 {
        self.priority
    }
    fn label(&self) -> u32 {
        self.label
    }
    fn set_label(&mut self, label: u32) {
        self.label = label;
    }
}
