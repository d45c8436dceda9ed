//! What lies around an IP packet: link layers below it, tunnels in it. Linux's flow dissector (net/core/flow_dissector.c) is
//! the model: `fq_codel`, `cake` and the others tell flows apart by its hash.
//!
//! | what Linux does | what we do | why |
//! |---|---|---|
//! | VLAN tags, PPPoE sessions, GRE (version 0 without routing, version 1 with PPP), IP in IP, MPLS in IP: goes on inside | the same | |
//! | reads at most 15 headers of a packet, and none after them | the same | so that a packet of many headers cannot keep it busy |
//! | MPLS: flows are told apart by an entropy label alone | IP follows the last label if the first half-byte says 4 or 6 | what routers guess for balancing (RFC 4928, Sec. 2 and 3); with this guess, flows can be told apart in a capture from inside an MPLS network. A pseudowire, which begins with 0, stays opaque |
//! | IPv6: stops at a flow label, which then stands for the ports; in ESP and AH the SPI stands for them | ports, where there are any | a flow is a 5-tuple in all tables |
//! | batman-adv, TIPC, PTP and others, known by their ether types: goes on inside, or stops there and takes the flow from this header | stays opaque: one flow; a warning names the most frequent ether type | rare in captures of bottleneck links |
//! | LLC with SNAP (a length in the place of the ether type), PPP Multilink (RFC 1990): not looked into | the same | the first is of old Ethernets and of Wi-Fi, the second holds fragments |
//! | VXLAN, Geneve and other tunnels over UDP: not looked into; the flow is that of the tunnel, whose source port tells inner flows apart (RFC 7348, Sec. 5) | the same | |
//! | PPP as a link type: the kernel strips it | read, in every form that captures have: RFC 1662 with or without address and control, Cisco's HDLC, PPPoE | captures of modems and of routers |
//! | marks the IP header that `skb_protocol` names after any VLAN tags, so nothing inside PPPoE or MPLS; CAKE sees no DSCP there | marks the outermost IP header, and CAKE reads and clears the DSCP there | the queue stands in for that of the router that adds PPPoE or MPLS; on Linux this router's queue holds plain IP packets. In a tunnel's packet the outer header is marked, as in Linux; the end of the tunnel copies the mark to the inner one (RFC 6040) |

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// 802.1Q, 802.1ad (QinQ), and the numbers that were in use for it before.
const VLAN: [u16; 4] = [0x8100, 0x88a8, 0x9100, 0x9200];
const MPLS: [u16; 2] = [0x8847, 0x8848];
const PPPOE_SESSION: u16 = 0x8864;
/// PPP in GRE (RFC 2637), and Ethernet in it.
const PPP: u16 = 0x880b;
const BRIDGED: u16 = 0x6558;

/// The most headers that are looked at, as in Linux (MAX_FLOW_DISSECT_HDRS).
const MOST_HEADERS: usize = 15;

/// Where what lies around IP leaves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Below {
    /// Where IP begins.
    pub ip: usize,
    /// Where the header of the innermost PPPoE does.
    pub pppoe: Option<usize>,
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

/// What hides IP, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A kind of link, by the numbers of pcap.
    Link(u16),
    /// A length in the place of an ether type.
    Llc,
    /// An ether type.
    Type(u16),
    /// A protocol of PPP.
    Ppp(u16),
}

/// What there is instead of IP.
#[derive(Clone, Copy, Debug)]
pub struct Hidden {
    /// Where it begins.
    pub at: usize,
    /// Why IP cannot be seen.
    pub why: Other,
    /// What it is.
    pub kind: Option<Kind>,
}

impl Hidden {
    /// What no number tells.
    #[must_use]
    pub fn new(at: usize, why: Other) -> Hidden {
        Hidden { at, why, kind: None }
    }

    fn kind(at: usize, why: Other, kind: Kind) -> Hidden {
        Hidden { at, why, kind: Some(kind) }
    }
}

/// The header that comes next.
#[derive(Clone, Copy)]
enum Next {
    Ethernet,
    /// What an ether type says.
    Typed(u16),
    Pppoe,
    Ppp,
    Mpls,
    Ip,
}

/// Where IP begins in a frame from this kind of link, by the numbers of pcap; or what there is instead.
pub fn in_frame(link_type: u16, data: &[u8]) -> Result<Below, Hidden> {
    let word = |at: usize| word(data, at).ok_or(Hidden::new(at.min(data.len()), Other::Truncated));
    let (next, at) = match link_type {
        1 => (Next::Ethernet, 0),
        // PPP; with the direction in the place of the address (pppd), or before it.
        9 => (Next::Ppp, 0),
        166 | 204 => (Next::Ppp, if link_type == 166 && data.get(1) == Some(&3) { 2 } else { 1 }),
        // HDLC: PPP's, or Cisco's with an ether type.
        50 | 104 => match data.first() {
            Some(0x0f | 0x8f) => (Next::Typed(word(2)?), 4),
            _ => (Next::Ppp, 0),
        },
        51 => (Next::Pppoe, 0),
        12 | 14 | 101 | 228 | 229 => (Next::Ip, 0),
        // The address family has other numbers on other systems; the IP header itself says which version it is.
        0 | 108 => (Next::Ip, 4),
        113 => (Next::Typed(word(14)?), 16),
        219 => (Next::Mpls, 0),
        276 => (Next::Typed(word(0)?), 20),
        _ => return Err(Hidden::kind(0, Other::Link, Kind::Link(link_type))),
    };
    follow(next, data, at)
}

/// Where IP begins in what an IP packet with this protocol carries; none if it carries none that can be seen.
pub fn in_packet(protocol: u8, data: &[u8]) -> Option<usize> {
    let (next, at) = match protocol {
        4 | 41 => (Next::Ip, 0),
        47 => gre(data)?,
        137 => (Next::Mpls, 0),
        _ => return None,
    };
    follow(next, data, at).ok().map(|below| below.ip)
}

/// What GRE carries, and where (RFC 2784, 2890, 2637).
fn gre(data: &[u8]) -> Option<(Next, usize)> {
    let (flags, kind) = (word(data, 0)?, word(data, 2)?);
    let (checksum, routing, key) = (flags & 0x8000 != 0, flags & 0x4000 != 0, flags & 0x2000 != 0);
    let (number, answer) = (flags & 0x1000 != 0, flags & 0x80 != 0);
    let has = |parts: &[bool]| 4 + 4 * parts.iter().filter(|part| **part).count();
    match (flags & 7, kind) {
        (0, _) if routing => None,
        (0, BRIDGED) => Some((Next::Ethernet, has(&[checksum, key, number]))),
        (0, kind) => Some((Next::Typed(kind), has(&[checksum, key, number]))),
        (1, PPP) if key => Some((Next::Ppp, has(&[key, number, answer]))),
        _ => None,
    }
}

fn follow(mut next: Next, data: &[u8], mut at: usize) -> Result<Below, Hidden> {
    let cut = |at: usize| Hidden::new(at.min(data.len()), Other::Truncated);
    let mut pppoe = None;
    for _ in 0..MOST_HEADERS {
        let two = |from: usize| word(data, from).ok_or(cut(at));
        (next, at) = match next {
            Next::Ip => return Ok(Below { ip: at, pppoe }),
            Next::Ethernet => (Next::Typed(two(at + 12)?), at + 14),
            Next::Typed(IPV4 | IPV6) => (Next::Ip, at),
            Next::Typed(tag) if VLAN.contains(&tag) => (Next::Typed(two(at + 2)?), at + 4),
            Next::Typed(label) if MPLS.contains(&label) => (Next::Mpls, at),
            Next::Typed(PPPOE_SESSION) => (Next::Pppoe, at),
            Next::Typed(0..0x600) => return Err(Hidden::kind(at, Other::NotIp, Kind::Llc)),
            Next::Typed(kind) => return Err(Hidden::kind(at, Other::NotIp, Kind::Type(kind))),
            // Version 1, type 1, code 0: a session's data (RFC 2516).
            Next::Pppoe if two(at)? == 0x1100 => {
                pppoe = Some(at);
                (Next::Ppp, at + 6)
            }
            Next::Pppoe => return Err(Hidden::new(at, Other::NotIp)),
            Next::Ppp => {
                let at = if two(at)? == 0xff03 { at + 2 } else { at };
                // A protocol of one byte is odd (RFC 1661, Sec. 6.5).
                let (protocol, at) = match data.get(at) {
                    Some(short) if short & 1 == 1 => (u16::from(*short), at + 1),
                    _ => (two(at)?, at + 2),
                };
                match protocol {
                    0x0021 | 0x0057 => (Next::Ip, at),
                    0x0281 | 0x0283 => (Next::Mpls, at),
                    _ => return Err(Hidden::kind(at, Other::NotIp, Kind::Ppp(protocol))),
                }
            }
            Next::Mpls => {
                let last = data.get(at + 2).ok_or(cut(at))? & 1 == 1;
                match (last, data.get(at + 4).map(|byte| byte >> 4)) {
                    (false, _) => (Next::Mpls, at + 4),
                    (true, Some(4 | 6)) => (Next::Ip, at + 4),
                    (true, Some(_)) => return Err(Hidden::new(at + 4, Other::NotIp)),
                    (true, None) => return Err(cut(at + 4)),
                }
            }
        };
    }
    match next {
        Next::Ip => Ok(Below { ip: at, pppoe }),
        _ => Err(Hidden::new(at.min(data.len()), Other::NotIp)),
    }
}

fn word(data: &[u8], at: usize) -> Option<u16> {
    data.get(at..at + 2).map(|two| u16::from_be_bytes([two[0], two[1]]))
}
