//! What the kernel says of an interface, and whether a bridge can use it.

use netlink_bindings::rt_link::{Ifinfomsg, Request, RtnlLinkStats64};
use netlink_socket2::NetlinkSocket;
use nix::sys::socket::SockaddrStorage;
use sluicegate_base::params::did_you_mean;
use std::io;

/// An interface, by rtnetlink.
pub struct Device {
    pub index: u32,
    pub mtu: u32,
    /// Frames that the device has lost.
    pub lost: u64,
    kind: u16,
    up: bool,
    running: bool,
    master: Option<u32>,
}

/// Looks `name` up, and checks that a bridge can use it.
pub fn find(netlink: &mut NetlinkSocket, name: &str) -> Result<Device, String> {
    let mut devices = list(netlink).map_err(|error| format!("cannot list the interfaces: {error}"))?;
    let Some(at) = devices.iter().position(|(other, _)| other == name) else {
        let names: Vec<_> = devices.iter().map(|(other, _)| other.as_str()).collect();
        return Err(format!("no such interface: {name:?}{}", did_you_mean(name, &names)));
    };
    let device = devices.swap_remove(at).1;
    if device.kind != libc::ARPHRD_ETHER {
        return Err(format!("{name} is not an Ethernet interface"));
    }
    if let Some(master) = device.master {
        let master =
            devices.iter().find(|(_, other)| other.index == master).map_or("another interface", |(name, _)| name);
        return Err(format!("{name} belongs to {master}; ip link set dev {name} nomaster"));
    }
    if !device.up {
        return Err(format!("{name} is down; ip link set dev {name} up"));
    }
    Ok(device)
}

fn list(netlink: &mut NetlinkSocket) -> io::Result<Vec<(String, Device)>> {
    let request = Request::new().op_getlink_dump(&Ifinfomsg::new());
    let mut reply = netlink.request(&request)?;
    let mut devices = Vec::new();
    while let Some((header, attributes)) = reply.recv().transpose()? {
        let flag = |flag: i32| header.ifi_flags & flag as u32 != 0;
        let device = Device {
            index: header.ifi_index as u32,
            mtu: attributes.get_mtu().map_err(io::Error::other)?,
            lost: attributes.get_stats64().map_or(0, sum),
            kind: header.ifi_type,
            up: flag(libc::IFF_UP),
            running: flag(libc::IFF_RUNNING),
            master: attributes.get_master().ok(),
        };
        let name = attributes.get_ifname().map_err(io::Error::other)?;
        devices.push((name.to_string_lossy().into_owned(), device));
    }
    Ok(devices)
}

/// Frames that the device has lost so far.
pub fn lost(netlink: &mut NetlinkSocket, index: u32) -> io::Result<u64> {
    let request = Request::new().op_getlink_do(&Ifinfomsg { ifi_index: index as i32, ..Default::default() });
    let mut reply = netlink.request(&request)?;
    let (_, attributes) = reply.recv_one()?;
    attributes.get_stats64().map(sum).map_err(io::Error::other)
}

/// Leaves out `rx_dropped`: it also counts frames that this host has no protocol for, which did reach the socket.
fn sum(statistics: RtnlLinkStats64) -> u64 {
    statistics.rx_missed_errors + statistics.rx_fifo_errors
}

impl Device {
    /// What contradicts a transparent bridge.
    pub fn warnings(&self, name: &str, addresses: &[SockaddrStorage]) -> Vec<String> {
        let mut warnings = Vec::new();
        if !self.running {
            warnings.push(format!("{name}: no carrier"));
        }
        let ip = addresses.iter().filter_map(|address| match (address.as_sockaddr_in(), address.as_sockaddr_in6()) {
            (Some(v4), _) => Some(v4.ip().to_string()),
            // Every interface has a link-local one, which carries no traffic of other hosts.
            (_, Some(v6)) => (!v6.ip().is_unicast_link_local()).then(|| v6.ip().to_string()),
            _ => None,
        });
        let ip: Vec<_> = ip.collect();
        if ip.is_empty() {
            return warnings;
        }
        let ip = ip.join(", ");
        let fix = format!("ip address flush dev {name}");
        warnings.push(format!(
            "{name} has an IP address ({ip}): this host answers frames that also cross the bridge; {fix}"
        ));
        let forwarding = |version| std::fs::read_to_string(format!("/proc/sys/net/{version}/conf/{name}/forwarding"));
        if ["ipv4", "ipv6"].iter().any(|version| forwarding(version).is_ok_and(|on| on.trim() != "0")) {
            warnings.push(format!("{name}: IP forwarding is on: packets that this host routes also cross the bridge"));
        }
        warnings
    }
}
