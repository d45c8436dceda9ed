//! Sockets of the two namespaces, with what a scenario says of their hosts.

use crate::namespace::Namespace;
use nix::sys::socket::{getsockopt, setsockopt, sockopt as sockopt_of};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, listen, socket_with, sockopt};
use sluicegate_base::Ecn;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;

/// Options of TCP, by the macro that `nix` has for those it lacks.
mod options {
    use libc::{IPPROTO_TCP, TCP_INFO, TCP_MAXSEG, TCP_WINDOW_CLAMP, tcp_info};
    use nix::sys::socket::sockopt::{GetStruct, SetStruct};
    use nix::{getsockopt_impl, setsockopt_impl, sockopt_impl};
    sockopt_impl!(Segment, SetOnly, IPPROTO_TCP, TCP_MAXSEG, u32, SetStruct<u32>);
    sockopt_impl!(Window, SetOnly, IPPROTO_TCP, TCP_WINDOW_CLAMP, u32, SetStruct<u32>);
    sockopt_impl!(Info, GetOnly, IPPROTO_TCP, TCP_INFO, tcp_info, GetStruct<tcp_info>);
}

/// What a scenario says of the hosts of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The kernel's name of their congestion control.
    pub algorithm: String,
    /// The longest segment: bytes of data and options of TCP.
    pub segment: u32,
    /// The receiver's window in bytes.
    pub window: u32,
    /// Whether both ends use explicit congestion notification.
    pub ecn: bool,
    /// Whether small writes go at once.
    pub prompt: bool,
}

/// Windows above this are left to the kernel, which lets them grow to some megabytes.
const TUNED: u32 = 1 << 20;

fn open(kind: SocketType) -> Result<OwnedFd, Errno> {
    socket_with(AddressFamily::INET, kind, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, None)
}

fn tcp(settings: &Settings, address: SocketAddrV4) -> Result<OwnedFd, String> {
    let socket = open(SocketType::STREAM).map_err(told("socket"))?;
    sockopt::set_socket_reuseaddr(&socket, true).map_err(told("SO_REUSEADDR"))?;
    sockopt::set_tcp_congestion(&socket, &settings.algorithm).map_err(|error| no_algorithm(settings, error))?;
    setsockopt(&socket, options::Segment, &settings.segment).map_err(|error| format!("TCP_MAXSEG: {error}"))?;
    set_window(&socket, settings.window).map_err(|error| format!("TCP_WINDOW_CLAMP: {error}"))?;
    if settings.window <= TUNED {
        // A buffer that somebody has chosen is not tuned, and the window with it. Twice that is taken, in either way.
        if setsockopt(&socket, sockopt_of::RcvBufForce, &(2 * settings.window as usize)).is_err() {
            sockopt::set_socket_recv_buffer_size(&socket, 2 * settings.window as usize).map_err(told("SO_RCVBUF"))?;
        }
    }
    if settings.prompt {
        sockopt::set_tcp_nodelay(&socket, true).map_err(told("TCP_NODELAY"))?;
    }
    bind(&socket, &address).map_err(told("bind"))?;
    Ok(socket)
}

fn told(what: &'static str) -> impl Fn(Errno) -> String {
    move |error| format!("{what}: {error}")
}

fn no_algorithm(settings: &Settings, error: Errno) -> String {
    let file = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let known = std::fs::read_to_string(file).unwrap_or_default();
    let algorithm = &settings.algorithm;
    format!("this kernel does not let a socket use {algorithm:?} ({error}); it has: {}", known.trim())
}

/// A socket that connections of a group come to.
pub fn listener(namespace: &Namespace, settings: &Settings, port: u16) -> Result<OwnedFd, String> {
    let settings = settings.clone();
    namespace.run(move || {
        let socket = tcp(&settings, SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port))?;
        listen(&socket, 65_535).map_err(told("listen"))?;
        Ok(socket)
    })
}

/// A socket that begins to connect from this port to that address; none if the port is in use.
pub fn connecting(
    namespace: &Namespace,
    settings: &Settings,
    port: u16,
    to: SocketAddrV4,
) -> Result<Option<OwnedFd>, String> {
    let settings = settings.clone();
    namespace.run(move || {
        let socket = tcp(&settings, SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port))?;
        match connect(&socket, &to) {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(Some(socket)),
            Err(Errno::ADDRNOTAVAIL | Errno::ADDRINUSE) => Ok(None),
            Err(error) => Err(format!("connect: {error}")),
        }
    })
}

/// A datagram socket at this port, connected if `to` says to what, with this ECN field in what it sends.
pub fn datagrams(namespace: &Namespace, port: u16, to: Option<SocketAddrV4>, ecn: Ecn) -> Result<OwnedFd, String> {
    namespace.run(move || {
        let socket = open(SocketType::DGRAM).map_err(told("socket"))?;
        sockopt::set_ip_tos(&socket, ecn as u8).map_err(told("IP_TOS"))?;
        bind(&socket, &SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port)).map_err(told("bind"))?;
        if let Some(to) = to {
            connect(&socket, &to).map_err(told("connect"))?;
        }
        // As much as the system lets anybody have.
        let _ = sockopt::set_socket_recv_buffer_size(&socket, 8 << 20);
        Ok(socket)
    })
}

/// The most bytes that a socket advertises as its window. The kernel forgets it when it learns how much memory a segment
/// takes, which is with the first ones: it is said again then.
pub fn set_window(socket: &OwnedFd, bytes: u32) -> Result<(), nix::errno::Errno> {
    setsockopt(socket, options::Window, &bytes)
}

/// What the kernel knows of a connection of TCP; none where it does not say.
#[must_use]
pub fn tcp_info(socket: &OwnedFd) -> Option<libc::tcp_info> {
    getsockopt(socket, options::Info).ok()
}
