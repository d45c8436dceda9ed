//! What a queue looks at in a captured packet: its flow, its length, its ECN field.
//!
//! The link layers are unwrapped here; IP headers and their extensions are read by the crate `etherparse`.

use etherparse::{
    IpAuthHeaderSlice, IpNumber, Ipv6ExtensionsSlice, Ipv6FragmentHeaderSlice, Ipv6RawExtHeaderSlice, LaxIpSlice,
};
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

/// Why a packet is not told apart from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Other {
    /// It is no IP packet, or its IP header makes no sense.
    NotIp,
    /// Too little of it was captured.
    Truncated,
    /// A later fragment, and the first one was not seen, or too long ago.
    Fragment,
    /// It comes from a kind of link that is not known here.
    Link,
}

impl Other {
    /// How many there are.
    pub const COUNT: usize = 4;
    /// The names in summaries, in their order.
    pub const NAMES: [&'static str; Other::COUNT] =
        ["not_ip_packets", "truncated_packets", "orphan_fragment_packets", "unknown_link_type_packets"];
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

/// A packet, as far as a queue looks at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// Its flow.
    pub whose: Whose,
    /// Its length without the link layer: that of the IP packet, by its own header.
    pub bytes: u32,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Where the IP header begins in what was captured.
    pub ip: Option<usize>,
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// 802.1Q, 802.1ad (QinQ), and the number that was in use for it before.
const VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];

/// What lies below IP: how many bytes, and whether IP follows; `Err` when it cannot be told.
fn link_layer(link_type: u16, data: &[u8]) -> Result<usize, (usize, Other)> {
    let word = |at: usize| data.get(at..at + 2).map(|two| u16::from_be_bytes([two[0], two[1]]));
    // An ether type, and tags after it, of which there may be several.
    let typed = |at: usize, mut next: usize| {
        let mut kind = word(at);
        while kind.is_some_and(|kind| VLAN.contains(&kind)) {
            kind = word(next + 2);
            next += 4;
        }
        match kind {
            Some(IPV4 | IPV6) => Ok(next),
            Some(_) => Err((next, Other::NotIp)),
            None => Err((next, Other::Truncated)),
        }
    };
    match link_type {
        1 => typed(12, 14),
        12 | 14 | 101 | 228 | 229 => Ok(0),
        // The address family has other numbers on other systems; the IP header itself says which version it is.
        0 | 108 => Ok(4),
        113 => typed(14, 16),
        276 => typed(0, 20),
        _ => Err((0, Other::Link)),
    }
}

/// Looks at a packet of `original` bytes, of which `data` was captured on a link of this type. Never fails.
#[must_use]
pub fn decode(link_type: u16, data: &[u8], original: u32) -> Decoded {
    let other = |below: usize, why: Other| {
        let bytes = original.saturating_sub(below as u32).max(1);
        Decoded { whose: Whose::Other(why), bytes, ecn: Ecn::NotCapable, ip: None }
    };
    let at = match link_layer(link_type, data) {
        Ok(at) if at < data.len() => at,
        Ok(at) => return other(at, Other::Truncated),
        Err((below, why)) => return other(below, why),
    };
    let rest = original.saturating_sub(at as u32);
    // A length of zero is left to the network card by a sender that segments there, or belongs to a jumbogram.
    let long = |header: u32| if header == 0 || header > rest { rest } else { header };
    let (slice, stopped) = match LaxIpSlice::from_slice(&data[at..]) {
        Ok(found) => found,
        Err(etherparse::err::ip::LaxHeaderSliceError::Len(_)) => return other(at, Other::Truncated),
        Err(etherparse::err::ip::LaxHeaderSliceError::Content(_)) => return other(at, Other::NotIp),
    };
    let (bytes, ecn, fragment) = match &slice {
        LaxIpSlice::Ipv4(ip) => {
            let header = ip.header();
            let place = header.is_fragmenting_payload().then(|| {
                let (id, first) = (u32::from(header.identification()), header.fragments_offset().value() == 0);
                (header.protocol().0, id, first)
            });
            (long(u32::from(header.total_len())), header.ecn().value(), place)
        }
        LaxIpSlice::Ipv6(ip) => {
            let header = ip.header();
            let place = fragmenting(ip.extensions())
                .map(|fragment| (0, fragment.identification(), fragment.fragment_offset().value() == 0));
            let payload = u32::from(header.payload_length());
            let length = if payload == 0 && slice.payload_ip_number() != IpNumber::IPV6_NO_NEXT_HEADER {
                0
            } else {
                payload + 40
            };
            (long(length), header.ecn().value(), place)
        }
    };
    let ecn = [Ecn::NotCapable, Ecn::Capable1, Ecn::Capable0, Ecn::CongestionExperienced][usize::from(ecn & 3)];
    let (source, destination) = (slice.source_addr(), slice.destination_addr());
    let datagram = |(protocol, id, _)| Datagram { source, destination, protocol, id };
    let whose = match fragment {
        Some((_, _, false)) => Whose::Later(datagram(fragment.expect("just seen"))),
        _ if stopped.is_some() => Whose::Other(Other::Truncated),
        _ => match ports(slice.payload_ip_number().0, slice.payload().payload) {
            Err(()) => Whose::Other(Other::Truncated),
            Ok(ports) => {
                let tuple = Tuple { source, destination, protocol: slice.payload_ip_number().0, ports };
                fragment.map_or(Whose::Flow(tuple), |fragment| Whose::First(tuple, datagram(fragment)))
            }
        },
    };
    Decoded { whose, bytes: bytes.max(1), ecn, ip: Some(at) }
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

/// Writes `ecn` into the IP header that begins at `at`, and corrects an IPv4 header checksum by as much (RFC 1624), so
/// that one that was wrong stays wrong.
pub fn set_ecn(data: &mut [u8], at: usize, ecn: Ecn) {
    let Some(header) = data.get_mut(at..).filter(|header| header.len() >= 2) else { return };
    let before = u16::from_be_bytes([header[0], header[1]]);
    let bits = ecn as u16;
    match header[0] >> 4 {
        4 => {
            let after = before & !3 | bits;
            header[1] = after as u8;
            if let Some(sum) = header.get_mut(10..12) {
                let old = u32::from(u16::from_be_bytes([sum[0], sum[1]]));
                let mut new = (!old & 0xffff) + (!u32::from(before) & 0xffff) + u32::from(after);
                new = (new & 0xffff) + (new >> 16);
                new = (new & 0xffff) + (new >> 16);
                sum.copy_from_slice(&(!new as u16).to_be_bytes());
            }
        }
        6 => header[1] = (before & !0x30 | bits << 4) as u8,
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
