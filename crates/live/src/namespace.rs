//! A network namespace with one device, kept by a thread: what runs there sees nothing else of the machine's networks.
//!
//! The namespace lives as long as the thread, its sockets and the processes that were started in it, and needs no name and
//! no cleaning up. The device is a TUN; its other end is read and written by the thread that drives the link.

use crate::gate::SEGMENTS;
use crate::offloads;
use netlink_bindings::rt_link::{self, Ifinfomsg};
use netlink_bindings::rt_route::{self, Rtmsg};
use netlink_socket2::NetlinkSocket;
use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use tun_rs::{DeviceBuilder, Layer, SyncDevice};

/// How a namespace is made.
#[derive(Clone, Debug)]
pub struct NamespaceSpec {
    /// The name of its device; a `%d` stands for a number.
    pub device: String,
    /// The address of the device, and how many bits of it are its network's.
    pub address: (Ipv4Addr, u8),
    /// The longest packet.
    pub mtu: u16,
    /// Whether everything goes out by the device.
    pub default_route: bool,
    /// Whether it has a namespace of its own, or the device is in that of the caller.
    pub own: bool,
    /// Settings of its kernel, such as `net.ipv4.tcp_ecn`, and their values.
    pub sysctls: Vec<(String, String)>,
}

/// How many packets the device may hold for the driver: so many that none is lost while it is held up.
const QUEUE: u32 = 10_000;

type Job = Box<dyn FnOnce() + Send>;

/// A network namespace with one device.
pub struct Namespace {
    jobs: Sender<Job>,
    /// Its socket to the kernel, which belongs to the namespace whoever uses it.
    netlink: NetlinkSocket,
    /// The name of its device.
    pub device: String,
    index: u32,
    /// The keeper's thread, as `/proc` names it.
    thread: String,
    /// What its kernel had lost before the device was there: the caller's counts from the start of the machine.
    before: Losses,
}

/// What a namespace has lost, since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Packets that found the device's queue full.
    pub device: u64,
    /// Datagrams that found the buffer of their socket full.
    pub datagrams: u64,
    /// Segments that found the backlog or the buffer of their socket full.
    pub segments: u64,
}

impl Losses {
    /// Whether nothing was lost.
    #[must_use]
    pub fn none(&self) -> bool {
        *self == Losses::default()
    }
}

impl Namespace {
    /// Makes a namespace, and gives the driver's end of its device. The error is for people.
    pub fn new(spec: NamespaceSpec) -> Result<(Namespace, SyncDevice), String> {
        let (jobs, work) = channel::<Job>();
        let (sender, made) = channel();
        thread::Builder::new()
            .name("namespace".to_owned())
            .spawn(move || {
                let _ = sender.send(make(&spec));
                work.into_iter().for_each(|job| job());
            })
            .map_err(|error| error.to_string())?;
        let Made { tun, netlink, thread, device, index } = made.recv().map_err(|error| error.to_string())??;
        let mut namespace = Namespace { jobs, netlink, device, index, thread, before: Losses::default() };
        namespace.before = namespace.losses();
        Ok((namespace, tun))
    }

    /// Does some work in the namespace, and waits for it.
    pub fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let (sender, done) = channel();
        let job = move || drop(sender.send(work()));
        self.jobs.send(Box::new(job)).expect("the keeper lives as long as its namespace");
        done.recv().expect("the keeper does its work")
    }

    /// The namespace as a file.
    #[must_use]
    pub fn path(&self) -> String {
        format!("{}/ns/net", self.thread)
    }

    /// What it has lost.
    pub fn losses(&mut self) -> Losses {
        let count = |file: &str, rows: &[(&str, &str)]| {
            let text = fs::read_to_string(format!("{}/net/{file}", self.thread)).unwrap_or_default();
            rows.iter().map(|(row, column)| counter(&text, row, column)).sum::<u64>()
        };
        let datagrams = count("snmp", &[("Udp", "RcvbufErrors")]).saturating_sub(self.before.datagrams);
        let segments = count("netstat", &[("TcpExt", "TCPBacklogDrop"), ("TcpExt", "TCPRcvQDrop")]);
        let segments = segments.saturating_sub(self.before.segments);
        Losses { device: self.device_losses(), datagrams, segments }
    }

    fn device_losses(&mut self) -> u64 {
        let header = Ifinfomsg { ifi_index: self.index as i32, ..Ifinfomsg::default() };
        let request = rt_link::Request::new().op_getlink_do(&header);
        let Ok(mut answer) = self.netlink.request(&request) else { return 0 };
        answer.recv_one().ok().and_then(|(_, link)| link.get_stats64().ok()).map_or(0, |stats| stats.tx_dropped)
    }
}

/// A count in a file such as `/proc/net/snmp`: a line of names, and a line of numbers.
fn counter(text: &str, row: &str, column: &str) -> u64 {
    let mut lines = text.lines().filter(|line| line.split(':').next() == Some(row));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return 0 };
    let at = names.split_whitespace().position(|name| name == column);
    at.and_then(|at| values.split_whitespace().nth(at)).and_then(|value| value.parse().ok()).unwrap_or(0)
}

/// What the keeper has made.
struct Made {
    tun: SyncDevice,
    netlink: NetlinkSocket,
    thread: String,
    device: String,
    index: u32,
}

fn make(spec: &NamespaceSpec) -> Result<Made, String> {
    if spec.own {
        own_namespace().map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => "a network namespace needs root, or user namespaces for all".to_owned(),
            _ => format!("no network namespace can be made: {error}"),
        })?;
    }
    for (key, value) in &spec.sysctls {
        let file = format!("/proc/sys/{}", key.replace('.', "/"));
        fs::write(&file, value).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => format!("{key}: the kernel has no such setting of a network (sysctl)"),
            io::ErrorKind::InvalidInput => format!("{key} = {value}: the kernel refuses this value"),
            _ => format!("{key} = {value}: {error}"),
        })?;
    }
    let (address, bits) = spec.address;
    let device = DeviceBuilder::new()
        .name(&spec.device)
        .layer(Layer::L3)
        .mtu(spec.mtu)
        .offload(true)
        .ipv4(address, bits, None)
        .enable(false)
        .build_sync()
        .map_err(|error| device_error(&error))?;
    device.set_nonblocking(true).map_err(|error| error.to_string())?;
    let mut netlink = NetlinkSocket::new();
    if spec.own {
        up(&mut netlink, 1)?;
    }
    let index = device.if_index().map_err(|error| error.to_string())?;
    let name = device.name().map_err(|error| error.to_string())?;
    // An idle device would send by itself; where the kernel has no IPv6, there is nothing to switch off.
    let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6"), "1");
    set_queue(&mut netlink, index)?;
    up(&mut netlink, index)?;
    // Kernels before 6.2 do not know this one, and have nothing to switch off.
    let _ = offloads::set(&mut netlink, index, &offloads::DATAGRAMS, false);
    if spec.default_route {
        default_route(&mut netlink, index)?;
    }
    // The socket opens with its first request, in this namespace, and stays there.
    let header = Ifinfomsg { ifi_index: index as i32, ..Ifinfomsg::default() };
    let request = rt_link::Request::new().op_getlink_do(&header);
    netlink.request(&request).map_err(|error| error.to_string())?.recv_one().map_err(|error| error.to_string())?;
    let thread = fs::read_link("/proc/thread-self").map_err(|error| error.to_string())?;
    Ok(Made { tun: device, netlink, thread: format!("/proc/{}", thread.display()), device: name, index })
}

fn own_namespace() -> io::Result<()> {
    nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET | nix::sched::CloneFlags::CLONE_NEWNS)
        .map_err(io::Error::from)
}

fn device_error(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "/dev/net/tun is missing: `modprobe tun` as root loads it".to_owned(),
        io::ErrorKind::PermissionDenied => {
            "/dev/net/tun may not be opened: run as root, or let root say `chmod 666 /dev/net/tun`".to_owned()
        }
        _ => format!("no TUN device can be made: {error}"),
    }
}

fn up(netlink: &mut NetlinkSocket, index: u32) -> Result<(), String> {
    let header = Ifinfomsg { ifi_index: index as i32, ifi_flags: 1, ifi_change: 1, ..Ifinfomsg::default() };
    let request = rt_link::Request::new().op_setlink_do(&header);
    netlink.request(&request).map_err(|error| error.to_string())?.recv_ack().map_err(|error| error.to_string())
}

/// How much the device holds, and how much of it as one. By netlink, for the older way is not for those who are root in a
/// namespace alone.
fn set_queue(netlink: &mut NetlinkSocket, index: u32) -> Result<(), String> {
    let header = Ifinfomsg { ifi_index: index as i32, ..Ifinfomsg::default() };
    let mut request = rt_link::Request::new().op_setlink_do(&header);
    request.encode().push_txqlen(QUEUE).push_gso_max_segs(SEGMENTS as u32);
    let answer = netlink.request(&request).map_err(|error| error.to_string())?.recv_ack();
    answer.map_err(|error| format!("the device's queue: {error}"))
}

fn default_route(netlink: &mut NetlinkSocket, device: u32) -> Result<(), String> {
    // Table main, protocol static, scope link, unicast: linux/rtnetlink.h.
    let header =
        Rtmsg { rtm_family: 2, rtm_table: 254, rtm_protocol: 4, rtm_scope: 253, rtm_type: 1, ..Rtmsg::default() };
    let mut request = rt_route::Request::new().set_create().set_excl().op_newroute_do(&header);
    request.encode().push_oif(device);
    netlink.request(&request).map_err(|error| error.to_string())?.recv_ack().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_row_and_column() {
        let text = "Ip: A B\nIp: 1 2\nUdp: In RcvbufErrors\nUdp: 7 9\n";
        assert_eq!(counter(text, "Udp", "RcvbufErrors"), 9);
        assert_eq!(counter(text, "Udp", "None"), 0);
        assert_eq!(counter(text, "Tcp", "In"), 0);
    }
}
