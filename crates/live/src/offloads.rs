//! Offloads: which packets of a flow the kernel merges into one before a discipline has seen them.

use netlink_bindings::ethtool::{HeaderFlags, Request};
use netlink_socket2::NetlinkSocket;
use std::io;

/// All that merge packets, by the kernel's names. Those of the sending side stay on: they act on this host's packets.
pub const MERGING: [&str; 5] = ["rx-gro", "rx-lro", "rx-gro-hw", "rx-gro-list", "rx-udp-gro-forwarding"];

/// What lets a sender hand datagrams over as one. Of what finds the queue of a device full the kernel counts such a piece as one
/// packet; a connection of TCP, which waits for acknowledgements, does not get there.
pub const DATAGRAMS: [&str; 1] = ["tx-udp-segmentation"];

/// `ETHTOOL_MSG_FEATURES_GET` and `_SET`. The crate, as of 0.3.5, also counts notifications and so has other numbers.
const GET: u8 = 11;
const SET: u8 = 12;

/// Which of `names` are switched on at an interface.
pub fn active(netlink: &mut NetlinkSocket, index: u32, names: &[&'static str]) -> io::Result<Vec<&'static str>> {
    let mut request = Request::new().op_features_get_do();
    request.header_mut().cmd = GET;
    request.encode().nested_header().push_dev_index(index).end_nested();
    let mut reply = netlink.request(&request)?;
    let features = reply.recv_one()?;
    let bits = features.get_active().and_then(|active| active.get_bits()).map_err(io::Error::other)?;
    let on: Vec<_> = bits.get_bit().filter_map(|bit| bit.get_name().ok()).collect();
    Ok(names.iter().copied().filter(|name| on.iter().any(|other| other.to_bytes() == name.as_bytes())).collect())
}

/// Switches `names` on or off.
pub fn set(netlink: &mut NetlinkSocket, index: u32, names: &[&str], on: bool) -> io::Result<()> {
    let mut request = Request::new().op_features_set_do();
    request.header_mut().cmd = SET;
    let header = request.encode().nested_header().push_dev_index(index);
    let mut bits = header.push_flags(HeaderFlags::OmitReply as u32).end_nested().nested_wanted().nested_bits();
    for name in names {
        let bit = bits.nested_bit().push_name_bytes(name.as_bytes());
        bits = if on { bit.push_value(()) } else { bit }.end_nested();
    }
    drop(bits);
    netlink.request(&request)?.recv_ack()?;
    Ok(())
}
