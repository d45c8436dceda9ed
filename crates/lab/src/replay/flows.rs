//! The flows of a capture, and what happened to the packets of each, in bounded memory.
//!
//! A queue knows a flow by a keyed hash of its 5-tuple (SipHash-1-3, 63 bits, the key drawn from the run's seed): it needs
//! no memory, two flows of one capture share a hash with a chance of 5·10⁻⁸ for a million flows, and nobody who wrote the
//! capture could choose addresses that collide. The table only serves the report: the first flows to appear, up to its
//! bound, have a row each; those that appear later are told apart by the queue as ever, but share one row.

use super::delays::Delays;
use super::layers::Kind;
use super::layers::Other;
use super::packet::{Datagram, Decoded, Tuple, Whose};
use siphasher::sip::SipHasher13;
use sluicegate_aqm::DropReason;
use sluicegate_base::{Span, Stream, Time};
use std::collections::BTreeMap;
use std::hash::Hasher;
use std::net::IpAddr;

/// The row of packets that are not told apart.
pub const OTHER: u32 = 0;
/// The row of flows that appeared when the table was full.
pub const FURTHER: u32 = 1;

/// How many datagrams in fragments are remembered at once.
const DATAGRAMS: usize = 4096;
/// For how long: what RFC 791 advises reassembly to wait, and twice as long for order.
const REMEMBERED: Span = Span::from_secs(30);

/// What one flow, or one group of packets, has met.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// The flow; none for a group.
    pub tuple: Option<Tuple>,
    /// Its hash.
    pub key: u64,
    /// When its first and its last packet arrived.
    pub seen: (Time, Time),
    /// Packets and bytes that arrived.
    pub arrived: [u64; 2],
    /// Packets and bytes that were sent on.
    pub delivered: [u64; 2],
    /// Packets that the queue marked and that were sent on.
    pub marked: u64,
    /// Packets dropped, by reason.
    pub drops: [u64; DropReason::COUNT],
    /// Bytes dropped.
    pub drops_bytes: u64,
    /// How long those that were sent on had waited.
    pub delays: Delays,
}

impl Row {
    /// Packets dropped for any reason.
    #[must_use]
    pub fn drops_packets(&self) -> u64 {
        self.drops.iter().sum()
    }
}

/// The flows of a capture.
pub struct Flows {
    keys: (u64, u64),
    rows: Vec<Row>,
    index: BTreeMap<u64, u32>,
    most: usize,
    /// Of datagrams in fragments: their hash, the flow's hash and row, and when the first fragment came. A place for
    /// each hash; a later datagram takes the place of an earlier one.
    datagrams: Vec<Option<(u64, u64, u32, Time)>>,
    /// Packets that are not told apart, by why not.
    pub others: [u64; Other::COUNT],
    /// Of those, what hides IP, where a number says it.
    pub kinds: BTreeMap<Kind, u64>,
}

impl Flows {
    /// An empty table with rows for up to `most` flows.
    #[must_use]
    pub fn new(seed: u64, most: usize) -> Flows {
        let mut stream = Stream::new(seed, "replay/flows");
        Flows {
            keys: (stream.bits(), stream.bits()),
            rows: vec![Row::default(); 2],
            index: BTreeMap::new(),
            most,
            datagrams: Vec::new(),
            others: [0; Other::COUNT],
            kinds: BTreeMap::new(),
        }
    }

    /// The hash and the row of the flow of a packet that arrives.
    pub fn find(&mut self, packet: &Decoded, now: Time) -> (u64, u32) {
        if let Some(kind) = packet.hidden {
            *self.kinds.entry(kind).or_default() += 1;
        }
        match packet.whose {
            Whose::Flow(tuple) => self.row_of(tuple),
            Whose::First(tuple, datagram) => {
                let (key, row) = self.row_of(tuple);
                let hash = self.hash_of_datagram(&datagram);
                if self.datagrams.is_empty() {
                    self.datagrams.resize(DATAGRAMS, None);
                }
                self.datagrams[hash as usize % DATAGRAMS] = Some((hash, key, row, now));
                (key, row)
            }
            Whose::Later(datagram) => {
                let hash = self.hash_of_datagram(&datagram);
                match self.datagrams.get(hash as usize % DATAGRAMS) {
                    Some(&Some((found, key, row, since))) if found == hash && now.since(since) <= REMEMBERED => {
                        (key, row)
                    }
                    _ => self.other(Other::Fragment),
                }
            }
            Whose::Other(why) => self.other(why),
        }
    }

    fn other(&mut self, why: Other) -> (u64, u32) {
        self.others[why as usize] += 1;
        (self.hash(b"other"), OTHER)
    }

    /// The hash of a flow.
    #[must_use]
    pub fn key(&self, tuple: &Tuple) -> u64 {
        let mut bytes = [0u8; 38];
        let (source, destination) = bytes[..32].split_at_mut(16);
        address(source, tuple.source);
        address(destination, tuple.destination);
        let (from, to) = tuple.ports.unwrap_or((0, 0));
        bytes[32..34].copy_from_slice(&from.to_be_bytes());
        bytes[34..36].copy_from_slice(&to.to_be_bytes());
        (bytes[36], bytes[37]) = (tuple.protocol, u8::from(tuple.source.is_ipv6()));
        self.hash(&bytes)
    }

    fn row_of(&mut self, tuple: Tuple) -> (u64, u32) {
        let key = self.key(&tuple);
        if let Some(&row) = self.index.get(&key) {
            return (key, row);
        }
        if self.index.len() >= self.most {
            return (key, FURTHER);
        }
        let row = self.rows.len() as u32;
        self.rows.push(Row { tuple: Some(tuple), key, ..Row::default() });
        self.index.insert(key, row);
        (key, row)
    }

    fn hash_of_datagram(&self, datagram: &Datagram) -> u64 {
        let mut bytes = [0u8; 37];
        let (source, destination) = bytes[..32].split_at_mut(16);
        address(source, datagram.source);
        address(destination, datagram.destination);
        bytes[32..36].copy_from_slice(&datagram.id.to_be_bytes());
        bytes[36] = datagram.protocol;
        self.hash(&bytes)
    }

    /// A keyed hash of 63 bits.
    #[must_use]
    pub fn hash(&self, bytes: &[u8]) -> u64 {
        let mut hasher = SipHasher13::new_with_keys(self.keys.0, self.keys.1);
        hasher.write(bytes);
        hasher.finish() >> 1 // so that it is a positive number in every language
    }

    /// A row, to count in.
    pub fn row(&mut self, row: u32) -> &mut Row {
        &mut self.rows[row as usize]
    }

    /// Takes the rows: the flows in the order of their appearance, then the two groups if there is something in them.
    pub fn take_rows(&mut self) -> impl Iterator<Item = (&'static str, Row)> + use<> {
        let mut rows = std::mem::take(&mut self.rows).into_iter();
        let groups = [("other", rows.next()), ("further", rows.next())];
        let groups = groups.into_iter().filter_map(|(kind, row)| Some((kind, row?)));
        rows.map(|row| ("flow", row)).chain(groups.filter(|(_, row)| row.arrived[0] > 0))
    }
}

fn address(into: &mut [u8], address: IpAddr) {
    match address {
        IpAddr::V4(address) => into[..4].copy_from_slice(&address.octets()),
        IpAddr::V6(address) => into.copy_from_slice(&address.octets()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluicegate_base::Ecn;
    use std::net::Ipv4Addr;

    fn tuple(port: u16) -> Tuple {
        let host = |last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
        Tuple { source: host(1), destination: host(2), protocol: 17, ports: Some((port, 53)) }
    }

    fn datagram(id: u32) -> Datagram {
        let Tuple { source, destination, protocol, .. } = tuple(1);
        Datagram { source, destination, protocol, id }
    }

    fn packet(whose: Whose) -> Decoded<'static> {
        Decoded { whose, bytes: 100, ecn: Ecn::NotCapable, dscp: 0, ip: None, pppoe: None, hidden: None, carried: None }
    }

    #[test]
    fn flows_beyond_the_bound_share_a_row_and_keep_their_hashes() {
        let mut flows = Flows::new(1, 2);
        let found: Vec<(u64, u32)> =
            (1..=4).map(|port| flows.find(&packet(Whose::Flow(tuple(port))), Time::ZERO)).collect();
        assert_eq!(found.iter().map(|found| found.1).collect::<Vec<_>>(), [2, 3, FURTHER, FURTHER]);
        assert_ne!(found[2].0, found[3].0);
        assert_eq!(flows.find(&packet(Whose::Flow(tuple(1))), Time::ZERO), found[0]);
    }

    #[test]
    fn the_seed_keys_the_hash() {
        let key = |seed| Flows::new(seed, 9).find(&packet(Whose::Flow(tuple(1))), Time::ZERO).0;
        assert_eq!(key(1), key(1));
        assert_ne!(key(1), key(2));
    }

    #[test]
    fn later_fragments_belong_to_the_first_for_half_a_minute() {
        let mut flows = Flows::new(1, 9);
        let late = |flows: &mut Flows, id, at| flows.find(&packet(Whose::Later(datagram(id))), Time(at)).1;
        assert_eq!(late(&mut flows, 7, 0), OTHER);
        let (_, row) = flows.find(&packet(Whose::First(tuple(1), datagram(7))), Time::ZERO);
        assert_eq!(late(&mut flows, 7, 1), row);
        assert_eq!(late(&mut flows, 8, 1), OTHER);
        assert_eq!(late(&mut flows, 7, 31_000_000_000), OTHER);
        assert_eq!(flows.others[Other::Fragment as usize], 3);
    }

    #[test]
    fn many_datagrams_take_no_more_room() {
        let mut flows = Flows::new(1, 9);
        for id in 0..100_000 {
            flows.find(&packet(Whose::First(tuple(1), datagram(id))), Time::ZERO);
        }
        assert_eq!(flows.datagrams.len(), DATAGRAMS);
        assert_eq!(flows.find(&packet(Whose::Later(datagram(99_999))), Time::ZERO).1, 2);
    }
}
