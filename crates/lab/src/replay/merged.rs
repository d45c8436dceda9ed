//! Packets that a host has merged, split again as its network card would: captures on a host see segments of TCP before its
//! card splits them (TSO), or after it or the kernel has merged them (LRO, GRO), and no link carries such packets.
//!
//! | what a card does | what we do | why |
//! |---|---|---|
//! | splits at the size that the kernel names | at the MTU | a capture does not hold that size; with a smaller MSS, pieces are fewer and longer than they were |
//! | repeats headers: lengths, identification, sequence number, checksums; FIN and PSH at the end, CWR at the beginning | the same; a checksum of TCP only where all of the payload was captured | it cannot be known otherwise |
//! | pieces follow each other at the speed of the wire | all arrive at the time of the whole | nothing better is known; `shell` and `testbed` do the same |
//! | splits datagrams of UDP as the application asks | they stay whole, and are counted | a long datagram looks the same as several merged ones |
//! | splits within tunnels | packets of tunnels stay whole, and are counted | |
//! | BIG TCP over IPv6: takes the jumbo option out and splits | they stay whole, and are counted | the option lies within the headers that would be repeated, and Linux merges up to this length only where `gso_max_size` or `gro_max_size` was raised |

use super::packet::Decoded;
use etherparse::{Ipv4HeaderSlice, Ipv6HeaderSlice, LaxIpSlice, TcpHeaderSlice};

/// The most bytes that a host merges (GSO_MAX_SIZE of Linux is half of it); what is longer is damage.
const MOST: u32 = 1 << 20;

/// The fewest bytes of payload that a piece has: longer headers are none of TCP's over a link.
const LEAST: usize = 64;

/// A packet to be split.
#[derive(Clone, Copy, Debug)]
pub struct Merged {
    /// Where its IP header begins, its TCP header, and its payload.
    ip: usize,
    tcp: usize,
    head: usize,
    /// Bytes of payload, and in each piece.
    payload: usize,
    each: usize,
    /// Where a header of PPPoE begins, which has a length too.
    pppoe: Option<usize>,
}

impl Merged {
    /// How a packet longer than `mtu` is to be split; none where that cannot be told.
    #[must_use]
    pub fn find(seen: &Decoded, data: &[u8], mtu: u32) -> Option<Merged> {
        let ip = seen.ip.filter(|_| seen.bytes > mtu && seen.bytes <= MOST)?;
        let (slice, stopped) = LaxIpSlice::from_slice(&data[ip..]).ok()?;
        if slice.payload_ip_number().0 != 6 || slice.is_fragmenting_payload() || stopped.is_some() {
            return None;
        }
        let below = match &slice {
            LaxIpSlice::Ipv4(ip) if ip.extensions().is_empty() => ip.header().slice().len(),
            // A jumbogram: its length is in an option (RFC 2675).
            LaxIpSlice::Ipv6(ip) if ip.header().payload_length() == 0 && !ip.extensions().slice().is_empty() => {
                return None;
            }
            LaxIpSlice::Ipv6(ip) => 40 + ip.extensions().slice().len(),
            LaxIpSlice::Ipv4(_) => return None,
        };
        let tcp = ip + below;
        let head = tcp + TcpHeaderSlice::from_slice(data.get(tcp..)?).ok()?.slice().len();
        let payload = (seen.bytes as usize).checked_sub(head - ip)?;
        let each = (mtu as usize).checked_sub(head - ip).filter(|each| *each >= LEAST)?;
        Some(Merged { ip, tcp, head, payload, each, pppoe: seen.pppoe })
    }

    /// How many pieces it has.
    #[must_use]
    pub fn pieces(&self) -> usize {
        self.payload.div_ceil(self.each)
    }

    /// Writes what was captured of a piece over `into`, from the link layer on; how long the piece is.
    pub fn piece(&self, data: &[u8], number: usize, into: &mut Vec<u8>) -> u32 {
        let Merged { ip, tcp, head, payload, each, pppoe } = *self;
        let from = number * each;
        let length = each.min(payload - from);
        let captured = data.get(head + from..).map_or(&[][..], |rest| &rest[..length.min(rest.len())]);
        into.clear();
        into.extend_from_slice(&data[..head]);
        into.extend_from_slice(captured);
        let (long, after) = ((head - ip + length) as u16, (head - tcp + length) as u32);
        let put = |into: &mut Vec<u8>, at: usize, value: u16| into[at..at + 2].copy_from_slice(&value.to_be_bytes());
        let got = |into: &[u8], at: usize| u16::from_be_bytes([into[at], into[at + 1]]);
        if let Some(at) = pppoe {
            put(into, at + 4, long.wrapping_add((ip - at - 6) as u16)); // all that follows its header
        }
        let first = u32::from_be_bytes([into[tcp + 4], into[tcp + 5], into[tcp + 6], into[tcp + 7]]);
        into[tcp + 4..tcp + 8].copy_from_slice(&first.wrapping_add(from as u32).to_be_bytes());
        if from + length < payload {
            into[tcp + 13] &= !0x09; // FIN, PSH
        }
        if number > 0 {
            into[tcp + 13] &= !0x80; // CWR
        }
        let four = into[ip] >> 4 == 4;
        if four {
            put(into, ip + 2, long);
            let identification = got(into, ip + 4).wrapping_add(number as u16);
            put(into, ip + 4, identification);
        } else {
            put(into, ip + 4, long - 40);
        }
        self.checksums(into, four, captured.len() == length && after <= 0xffff);
        (head + length) as u32
    }

    /// Computes the checksums of a piece, that of TCP if it is `whole`.
    fn checksums(&self, piece: &mut [u8], four: bool, whole: bool) -> Option<()> {
        let Merged { ip, tcp, head, .. } = *self;
        let of_tcp = |sum: Option<u16>| if whole { sum } else { None };
        let header = TcpHeaderSlice::from_slice(&piece[tcp..]).ok()?;
        let sum = if four {
            let own = Ipv4HeaderSlice::from_slice(&piece[ip..]).ok()?;
            let sum = of_tcp(header.calc_checksum_ipv4(&own, &piece[head..]).ok());
            let of_ip = own.to_header().calc_header_checksum();
            piece[ip + 10..ip + 12].copy_from_slice(&of_ip.to_be_bytes());
            sum
        } else {
            let own = Ipv6HeaderSlice::from_slice(&piece[ip..]).ok()?;
            of_tcp(header.calc_checksum_ipv6(&own, &piece[head..]).ok())
        };
        piece[tcp + 16..tcp + 18].copy_from_slice(&sum?.to_be_bytes());
        Some(())
    }
}
