//! What a queue looks at in a captured packet: its flow, its length, its ECN field and DSCP, and what it acknowledges.
//!
//! What lies around IP packets is looked into by [`layers`]; IP headers and their extensions are read by the
//! crate `etherparse`. A packet in a tunnel belongs to the inner flow; length, ECN field and DSCP are those of the outermost
//! IP header.

use super::layers::{self, Below, Hidden, Kind, Other};
use super::tcp::Tcp;
use etherparse::{
    IpAuthHeaderSlice, IpNumber, Ipv6ExtensionsSlice, Ipv6FragmentHeaderSlice, Ipv6RawExtHeaderSlice, LaxIpSlice,
};
use sluicegate_aqm::Ack;
use sluicegate_base::Ecn;
use std::fmt;
use std::net::IpAddr;

/// A flow of real packets. The two directions of a connection are two flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuple {
    /// Where its packets come from.
    pub source: IpAddr,
    /// Where they go.
    pub destination: IpAddr,
    /// The protocol above IP.
    pub protocol: u8,
    /// Source and destination port, for protocols that have them.
    pub ports: Option<(u16, u16)>,
}

/// Which fragments belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Where it comes from.
    pub source: IpAddr,
    /// Where it goes.
    pub destination: IpAddr,
    /// The protocol above IP; IPv6 does not say in every fragment, so zero there.
    pub protocol: u8,
    /// The identification that all its fragments bear.
    pub id: u32,
}

/// Whose packet it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// This flow's.
    Flow(Tuple),
    /// This flow's, and the first fragment of a datagram.
    First(Tuple, Datagram),
    /// That of the datagram's first fragment.
    Later(Datagram),
    /// Nobody knows.
    Other(Other),
}

/// What an IP packet carries, if that can be seen: none for a later fragment, and where headers were not captured in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried<'a> {
    /// The protocol above IP.
    pub protocol: u8,
    /// How many bytes there are, by the IP header.
    pub bytes: u32,
    /// Those captured.
    pub data: &'a [u8],
}

/// A packet, as far as a queue looks at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded<'a> {
    /// Its flow.
    pub whose: Whose,
    /// Its length without the link layer: that of the IP packet, by its own header.
    pub bytes: u32,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Its DSCP; of ARP CS7, as in Linux's CAKE.
    pub dscp: u8,
    /// Where the IP header begins in what was captured.
    pub ip: Option<usize>,
    /// Where the header of the innermost PPPoE around it begins.
    pub pppoe: Option<usize>,
    /// What hides IP, where a number says it.
    pub hidden: Option<Kind>,
    /// What the innermost IP packet carries.
    pub carried: Option<Carried<'a>>,
}

impl Decoded<'_> {
    /// What it acknowledges, if that can be seen.
    #[must_use]
    pub fn ack(&self) -> Option<Ack> {
        let carried = self.carried.filter(|carried| carried.protocol == TCP)?;
        Tcp::acknowledged(carried.data, carried.bytes)
    }
}

/// The most tunnels within each other that are looked into.
const MOST_TUNNELS: usize = 8;

/// The number of TCP above IP.
const TCP: u8 = 6;

/// The ether type of ARP.
const ARP: u16 = 0x0806;

/// Looks at a packet of `original` bytes, of which `data` was captured on a link of this type. Never fails.
#[must_use]
pub fn decode(link_type: u16, data: &[u8], original: u32) -> Decoded<'_> {
    let other = |Hidden { at, why, kind }| {
        let bytes = original.saturating_sub(at as u32).max(1);
        let whose = Whose::Other(why);
        let dscp = if kind == Some(Kind::Type(ARP)) { 56 } else { 0 };
        Decoded { whose, bytes, ecn: Ecn::NotCapable, dscp, ip: None, pppoe: None, hidden: kind, carried: None }
    };
    let Below { ip: at, pppoe } = match layers::in_frame(link_type, data) {
        Ok(below) if below.ip < data.len() => below,
        Ok(below) => return other(Hidden::new(below.ip, Other::Truncated)),
        Err(hidden) => return other(hidden),
    };
    let ip = match Ip::read(&data[at..]) {
        Ok(ip) => ip,
        Err(why) => return other(Hidden::new(at, why)),
    };
    let rest = original.saturating_sub(at as u32);
    // A length of zero is left to the network card by a sender that segments there, or belongs to a jumbogram.
    let bytes = if ip.length == 0 || ip.length > rest { rest } else { ip.length };
    let ecn = [Ecn::NotCapable, Ecn::Capable1, Ecn::Capable0, Ecn::CongestionExperienced][usize::from(ip.tos & 3)];
    let (whose, carried) = ip.whose(MOST_TUNNELS);
    Decoded { whose, bytes: bytes.max(1), ecn, dscp: ip.tos >> 2, ip: Some(at), pppoe, hidden: None, carried }
}

/// An IP header with its extensions, and what follows.
struct Ip<'a> {
    source: IpAddr,
    destination: IpAddr,
    /// The length of the packet by its header; zero where that does not say.
    length: u32,
    /// How much of it comes before what it carries.
    header: u32,
    /// DSCP and ECN field: the type of service of IPv4, the traffic class of IPv6.
    tos: u8,
    /// Of a fragment: the datagram, and whether it is the first one.
    fragment: Option<(Datagram, bool)>,
    /// Whether extensions were not captured in full.
    cut: bool,
    protocol: u8,
    payload: &'a [u8],
}

impl<'a> Ip<'a> {
    fn read(data: &'a [u8]) -> Result<Ip<'a>, Other> {
        use etherparse::err::ip::LaxHeaderSliceError;
        let (slice, stopped) = LaxIpSlice::from_slice(data).map_err(|error| match error {
            LaxHeaderSliceError::Len(_) => Other::Truncated,
            LaxHeaderSliceError::Content(_) => Other::NotIp,
        })?;
        let (length, tos, fragment) = match &slice {
            LaxIpSlice::Ipv4(ip) => {
                let header = ip.header();
                let place = header.is_fragmenting_payload().then(|| {
                    let (id, first) = (u32::from(header.identification()), header.fragments_offset().value() == 0);
                    (header.protocol().0, id, first)
                });
                (u32::from(header.total_len()), header.slice()[1], place)
            }
            LaxIpSlice::Ipv6(ip) => {
                let header = ip.header();
                let place = fragmenting(ip.extensions())
                    .map(|fragment| (0, fragment.identification(), fragment.fragment_offset().value() == 0));
                let payload = u32::from(header.payload_length());
                let nothing = slice.payload_ip_number() == IpNumber::IPV6_NO_NEXT_HEADER;
                (if payload == 0 && !nothing { 0 } else { payload + 40 }, header.traffic_class(), place)
            }
        };
        let (source, destination) = (slice.source_addr(), slice.destination_addr());
        let payload = slice.payload().payload;
        // Both are parts of one slice of memory.
        let header = (payload.as_ptr() as usize).saturating_sub(data.as_ptr() as usize) as u32;
        Ok(Ip {
            header,
            source,
            destination,
            length,
            tos,
            fragment: fragment.map(|(protocol, id, first)| (Datagram { source, destination, protocol, id }, first)),
            cut: stopped.is_some(),
            protocol: slice.payload_ip_number().0,
            payload,
        })
    }

    /// Whose it is, and what it carries: what is in a tunnel counts, where it can be seen.
    fn whose(&self, tunnels: usize) -> (Whose, Option<Carried<'a>>) {
        let first = match self.fragment {
            Some((datagram, false)) => return (Whose::Later(datagram), None),
            Some((datagram, true)) => Some(datagram),
            None => None,
        };
        if self.cut {
            return (Whose::Other(Other::Truncated), None);
        }
        let Ip { source, destination, protocol, payload, .. } = *self;
        let bytes = self.length.saturating_sub(self.header);
        let mut carried = Some(Carried { protocol, bytes, data: payload });
        let fragment = |tuple| first.map_or(Whose::Flow(tuple), |datagram| Whose::First(tuple, datagram));
        let inside = layers::in_packet(protocol, payload).filter(|_| tunnels > 0);
        if let Some(inner) = inside.and_then(|at| Ip::read(&payload[at..]).ok()) {
            let (whose, inside) = inner.whose(tunnels - 1);
            if first.is_none() {
                carried = inside;
            }
            match whose {
                Whose::Flow(tuple) => return (fragment(tuple), carried),
                Whose::First(tuple, inner) => return (Whose::First(tuple, first.unwrap_or(inner)), carried),
                Whose::Later(_) => return (whose, carried),
                Whose::Other(_) => {}
            }
        }
        let whose = match ports(protocol, payload) {
            Err(()) => Whose::Other(Other::Truncated),
            Ok(ports) => fragment(Tuple { source, destination, protocol, ports }),
        };
        (whose, carried)
    }
}

/// The header of a fragment among IPv6 extensions. They are walked here, with every length checked: the iterator of the
/// library (0.21) reads beyond them where reading had to stop early.
fn fragmenting<'a>(extensions: &Ipv6ExtensionsSlice<'a>) -> Option<Ipv6FragmentHeaderSlice<'a>> {
    let (mut next, mut rest) = (extensions.first_header()?, extensions.slice());
    loop {
        let (length, following) = match next {
            IpNumber::IPV6_HEADER_HOP_BY_HOP | IpNumber::IPV6_ROUTE_HEADER | IpNumber::IPV6_DESTINATION_OPTIONS => {
                let header = Ipv6RawExtHeaderSlice::from_slice(rest).ok()?;
                (header.slice().len(), header.next_header())
            }
            IpNumber::AUTHENTICATION_HEADER => {
                let header = IpAuthHeaderSlice::from_slice(rest).ok()?;
                (header.slice().len(), header.next_header())
            }
            IpNumber::IPV6_FRAGMENTATION_HEADER => {
                let header = Ipv6FragmentHeaderSlice::from_slice(rest).ok()?;
                if header.is_fragmenting_payload() {
                    return Some(header);
                }
                (header.slice().len(), header.next_header())
            }
            _ => return None,
        };
        (next, rest) = (following, &rest[length..]);
    }
}

/// The ports of a protocol that has them; an error when they were not captured.
fn ports(protocol: u8, payload: &[u8]) -> Result<Option<(u16, u16)>, ()> {
    match protocol {
        // TCP, UDP, DCCP, SCTP, UDP-Lite: all begin with the two ports.
        6 | 17 | 33 | 132 | 136 => match payload {
            [a, b, c, d, ..] => Ok(Some((u16::from_be_bytes([*a, *b]), u16::from_be_bytes([*c, *d])))),
            _ => Err(()),
        },
        _ => Ok(None),
    }
}

/// Writes `ecn` into the IP header that begins at `at`.
pub fn set_ecn(data: &mut [u8], at: usize, ecn: Ecn) {
    set_tos(data, at, 3, ecn as u8);
}

/// Writes the DSCP likewise.
pub fn set_dscp(data: &mut [u8], at: usize, dscp: u8) {
    set_tos(data, at, 0xfc, dscp << 2);
}

/// Writes these bits beside the ECN field or the DSCP, and corrects an IPv4 header checksum by as much (RFC 1624), so that one
/// that was wrong stays wrong.
fn set_tos(data: &mut [u8], at: usize, mask: u8, bits: u8) {
    let Some(header) = data.get_mut(at..).filter(|header| header.len() >= 2) else { return };
    let before = u16::from_be_bytes([header[0], header[1]]);
    let (mask, bits) = (u16::from(mask), u16::from(bits));
    match header[0] >> 4 {
        4 => {
            let after = before & !mask | bits;
            header[1] = after as u8;
            if let Some(sum) = header.get_mut(10..12) {
                let old = u32::from(u16::from_be_bytes([sum[0], sum[1]]));
                let mut new = (!old & 0xffff) + (!u32::from(before) & 0xffff) + u32::from(after);
                new = (new & 0xffff) + (new >> 16);
                new = (new & 0xffff) + (new >> 16);
                sum.copy_from_slice(&(!new as u16).to_be_bytes());
            }
        }
        6 => header[..2].copy_from_slice(&(before & !(mask << 4) | bits << 4).to_be_bytes()),
        _ => {}
    }
}

/// The name of a protocol above IP.
#[must_use]
pub fn protocol_name(protocol: u8) -> Option<&'static str> {
    Some(match protocol {
        1 => "icmp",
        2 => "igmp",
        4 => "ipip",
        6 => "tcp",
        17 => "udp",
        33 => "dccp",
        41 => "ipv6",
        47 => "gre",
        50 => "esp",
        51 => "ah",
        58 => "icmp6",
        89 => "ospf",
        103 => "pim",
        112 => "vrrp",
        132 => "sctp",
        136 => "udplite",
        _ => return None,
    })
}

impl Tuple {
    /// The name of its protocol, or its number.
    #[must_use]
    pub fn protocol_text(&self) -> String {
        protocol_name(self.protocol).map_or_else(|| format!("ip-{}", self.protocol), str::to_owned)
    }
}

impl fmt::Display for Tuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = |address: IpAddr, port: Option<u16>| match (address, port) {
            (address, None) => address.to_string(),
            (IpAddr::V4(address), Some(port)) => format!("{address}:{port}"),
            (IpAddr::V6(address), Some(port)) => format!("[{address}]:{port}"),
        };
        let source = end(self.source, self.ports.map(|ports| ports.0));
        let destination = end(self.destination, self.ports.map(|ports| ports.1));
        write!(f, "{source} > {destination} {}", self.protocol_text())
    }
}
