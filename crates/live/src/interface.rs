//! A real Ethernet interface: whole frames in and out through a packet socket, in batches.
//!
//! The kernel keeps its own copy of every frame that arrives. Two interfaces are a transparent bridge only if this host
//! takes no part in the traffic: they need no IP address, and no bridge or bond may own them.
//! [`Interface::warnings`] says what of this does not hold.
//!
//! While an interface is open, it is promiscuous and does not merge received packets (GRO, LRO). The kernel ends
//! promiscuous mode with the socket. Dropping the [`Interface`] turns merging on again, if it was on. A process that is
//! killed cannot do that; `ethtool -K NAME gro on` does it by hand. If merging stays off, it costs CPU time and nothing else.
//!
//! Frames bypass the queue of the interface (`tc qdisc`): a second queue would delay and drop outside the discipline.
//! In exchange, the discipline's rate must stay below the speed of the link: what does not fit into the transmit ring
//! is lost, and counted.

mod device;
#[cfg(test)]
mod tests;
mod wire;

use netlink_socket2::NetlinkSocket;
use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{
    AddressFamily, MsgFlags, MultiHeaders, SockFlag, SockProtocol, SockType, bind, getsockopt, recvmmsg, sendmmsg,
    setsockopt, socket, sockopt,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use wire::{PREFIX, TAG};

/// Frames per system call. More is hardly faster, and the buffers would not fit into the second-level cache.
const BATCH: usize = 64;
/// An Ethernet header, and two tags that do not count towards the MTU.
const HEADER: usize = 14 + 2 * TAG;
/// Frames waiting in the socket, in bytes as the kernel counts them: about 10,000 small frames or 3,500 large ones.
const SOCKET_BUFFER: usize = 8 << 20;

/// Options of packet sockets, by the macros that `nix` has for those it lacks.
mod options {
    use libc::{SOL_PACKET, packet_mreq, tpacket_stats};
    use nix::sys::socket::sockopt::{SetBool, SetStruct};
    use nix::{getsockopt_impl, setsockopt_impl, sockopt_impl};
    sockopt_impl!(AuxData, SetOnly, SOL_PACKET, libc::PACKET_AUXDATA, bool, SetBool);
    sockopt_impl!(VirtioHeader, SetOnly, SOL_PACKET, libc::PACKET_VNET_HDR, bool, SetBool);
    sockopt_impl!(BypassQdisc, SetOnly, SOL_PACKET, libc::PACKET_QDISC_BYPASS, bool, SetBool);
    sockopt_impl!(IgnoreOutgoing, SetOnly, SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, bool, SetBool);
    sockopt_impl!(Membership, SetOnly, SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, packet_mreq, SetStruct<packet_mreq>);
    sockopt_impl!(Statistics, GetOnly, SOL_PACKET, libc::PACKET_STATISTICS, tpacket_stats);
}

/// Frames lost at an interface since it was opened, in the bridge and around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Arrived while the socket's buffer was full: the program did not keep up.
    pub received: u64,
    /// Refused by the driver or the kernel, mostly because the transmit ring was full.
    pub sent: u64,
    /// Merged from several packets by the kernel or a virtual device, or longer than a frame of the interface.
    pub merged: u64,
    /// Longer than this interface can send.
    pub too_long: u64,
    /// Missed by the device: its receive ring was full.
    pub device: u64,
}

/// A real interface: frames in and out, in batches.
pub struct Interface {
    name: String,
    index: u32,
    mtu: u32,
    socket: OwnedFd,
    netlink: NetlinkSocket,
    /// The offloads that were on before.
    offloads: Vec<&'static str>,
    warnings: Vec<String>,
    losses: Losses,
    /// What the device had lost before.
    lost_before: u64,
    slot: usize,
    slots: Vec<u8>,
    arrived: Vec<Arrived>,
    queue: Vec<u8>,
    ends: Vec<usize>,
}

/// What the kernel says of a received frame: its length with the prefix, and the VLAN tag that it removed.
struct Arrived {
    length: usize,
    whole: bool,
    tag: Option<[u8; TAG]>,
}

impl Interface {
    /// Opens the interface `name`, which must be up. Needs `CAP_NET_RAW` and `CAP_NET_ADMIN`.
    pub fn open(name: &str) -> Result<Interface, String> {
        let failed = |what: &'static str| move |error: Errno| format!("{name}: {what}: {}", error.desc());
        let mut netlink = NetlinkSocket::new();
        let device = device::find(&mut netlink, name)?;
        let addresses = getifaddrs().map_err(failed("addresses"))?.filter(|address| address.interface_name == name);
        let addresses: Vec<_> = addresses.filter_map(|address| address.address).collect();

        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let socket =
            socket(AddressFamily::Packet, SockType::Raw, flags, SockProtocol::EthAll).map_err(|error| match error {
                Errno::EPERM | Errno::EACCES => format!("{name}: needs root, or CAP_NET_RAW and CAP_NET_ADMIN"),
                error => failed("packet socket")(error),
            })?;
        setsockopt(&socket, options::IgnoreOutgoing, &true).map_err(failed("needs Linux 4.20 or later"))?;
        setsockopt(&socket, options::AuxData, &true).map_err(failed("auxiliary data"))?;
        setsockopt(&socket, options::VirtioHeader, &true).map_err(failed("virtio headers"))?;
        setsockopt(&socket, options::BypassQdisc, &true).map_err(failed("bypass of the qdisc"))?;
        let own = addresses.iter().find(|address| address.as_link_addr().is_some());
        let own = own.ok_or_else(|| format!("{name}: no link address"))?;
        bind(socket.as_raw_fd(), own).map_err(failed("bind"))?;
        let promiscuous = libc::packet_mreq {
            mr_ifindex: device.index as i32,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        setsockopt(&socket, options::Membership, &promiscuous).map_err(failed("promiscuous mode"))?;

        let slot = (PREFIX + HEADER + device.mtu as usize).next_multiple_of(64);
        let mut interface = Interface {
            name: name.into(),
            index: device.index,
            mtu: device.mtu,
            socket,
            netlink,
            offloads: Vec::new(),
            warnings: device.warnings(name, &addresses),
            losses: Losses::default(),
            lost_before: device.lost,
            slot,
            slots: vec![0; BATCH * slot],
            arrived: Vec::with_capacity(BATCH),
            queue: Vec::new(),
            ends: Vec::new(),
        };
        // Until it was bound, the socket received from every interface.
        for _ in 0..16 {
            if !interface.receive().map_err(|error| format!("{name}: {error}"))? {
                break;
            }
        }
        interface.losses();
        interface.losses = Losses::default();
        for result in [
            setsockopt(&interface.socket, sockopt::RcvBufForce, &SOCKET_BUFFER),
            setsockopt(&interface.socket, sockopt::SndBufForce, &SOCKET_BUFFER),
        ] {
            result.map_err(failed("socket buffers (needs CAP_NET_ADMIN)"))?;
        }
        interface.separate();
        Ok(interface)
    }

    /// Largest packet of the interface `name`, if a bridge can use it.
    #[must_use]
    pub fn mtu_of(name: &str) -> Option<u32> {
        device::find(&mut NetlinkSocket::new(), name).ok().map(|device| device.mtu)
    }

    /// Switches off whatever merges packets.
    fn separate(&mut self) {
        let (netlink, index) = (&mut self.netlink, self.index);
        let done = crate::offloads::active(netlink, index, &crate::offloads::MERGING).and_then(|names| {
            crate::offloads::set(netlink, index, &names, false)?;
            self.offloads = names;
            crate::offloads::active(netlink, index, &crate::offloads::MERGING)
        });
        let left = done.map_or_else(|error| error.to_string(), |left| left.join(", "));
        if !left.is_empty() {
            let fix = "merged packets are lost; try ethtool -K";
            self.warnings.push(format!("{0}: receive offloads stay on ({left}): {fix} {0} gro off lro off", self.name));
        }
    }

    /// The name of the interface.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The index of the interface.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Largest packet, without the Ethernet header.
    pub fn mtu(&self) -> u32 {
        self.mtu
    }

    /// What in the configuration of this host contradicts a transparent bridge.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Reads up to 64 frames that have arrived, without waiting, for [`received`](Self::received); whether more may be there.
    pub fn receive(&mut self) -> io::Result<bool> {
        self.arrived.clear();
        match self.receive_batch() {
            Ok(()) => Ok(self.arrived.len() == BATCH),
            Err(Errno::EAGAIN) => Ok(false),
            Err(Errno::EINTR) => Ok(true),
            // A merged packet of a kind that the virtio header cannot express.
            Err(Errno::EINVAL) => {
                self.losses.merged += 1;
                Ok(true)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn receive_batch(&mut self) -> nix::Result<()> {
        let mut slots: Vec<_> = self.slots.chunks_exact_mut(self.slot).map(|slot| [IoSliceMut::new(slot)]).collect();
        let mut headers = MultiHeaders::<()>::preallocate(BATCH, Some(nix::cmsg_space!(libc::tpacket_auxdata)));
        let messages = recvmmsg(self.socket.as_raw_fd(), &mut headers, &mut slots, MsgFlags::MSG_DONTWAIT, None)?;
        self.arrived.extend(messages.map(|message| Arrived {
            length: message.bytes,
            whole: !message.flags.contains(MsgFlags::MSG_TRUNC),
            tag: wire::tag(&message),
        }));
        Ok(())
    }

    /// Hands over the frames that were read last, once. Each is complete: from the Ethernet header on, with VLAN tags and
    /// checksums, without the frame check sequence. Those that are merged are counted, and not handed over.
    pub fn received(&mut self, each: &mut dyn FnMut(&[u8])) {
        for (arrived, slot) in self.arrived.drain(..).zip(self.slots.chunks_exact_mut(self.slot)) {
            match arrived.whole.then(|| wire::restore(&mut slot[..arrived.length], arrived.tag)).flatten() {
                Some(frame) => each(frame),
                None => self.losses.merged += 1,
            }
        }
    }

    /// Queues a frame for the next [`flush`](Self::flush).
    pub fn send(&mut self, frame: &[u8]) {
        self.queue.extend_from_slice(&[0; PREFIX]);
        self.queue.extend_from_slice(frame);
        self.ends.push(self.queue.len());
    }

    /// Sends what is queued without waiting; returns how many frames the driver took. The others are lost, and counted.
    /// An error means that the interface is down or gone.
    pub fn flush(&mut self) -> io::Result<u64> {
        let mut start = 0;
        let frames = self.ends.iter().map(|&end| [IoSlice::new(&self.queue[std::mem::replace(&mut start, end)..end])]);
        let frames: Vec<_> = frames.collect();
        let (mut rest, mut sent, mut result) = (&frames[..], 0, Ok(()));
        while !rest.is_empty() {
            let batch = rest.len().min(BATCH);
            let mut headers = MultiHeaders::<()>::preallocate(batch, None);
            let to = &[None; BATCH][..batch];
            let done = match sendmmsg(self.socket.as_raw_fd(), &mut headers, rest, to, [], MsgFlags::MSG_DONTWAIT) {
                Ok(messages) => {
                    let count = messages.count();
                    sent += count as u64;
                    count
                }
                Err(Errno::EINTR) => 0,
                Err(Errno::EMSGSIZE) => {
                    self.losses.too_long += 1;
                    1
                }
                Err(Errno::ENOBUFS | Errno::EINVAL) => {
                    self.losses.sent += 1;
                    1
                }
                // Either the socket's buffer is full, and the others would not fit either, or the interface is gone.
                Err(error) => {
                    self.losses.sent += rest.len() as u64;
                    result = if error == Errno::EAGAIN { Ok(()) } else { Err(error) };
                    rest.len()
                }
            };
            rest = &rest[done..];
        }
        drop(frames);
        self.queue.clear();
        self.ends.clear();
        result?;
        Ok(sent)
    }

    /// Frames lost since the interface was opened.
    pub fn losses(&mut self) -> Losses {
        // Reading resets the kernel's counter.
        if let Ok(statistics) = getsockopt(&self.socket, options::Statistics) {
            self.losses.received += u64::from(statistics.tp_drops);
        }
        if let Ok(lost) = device::lost(&mut self.netlink, self.index) {
            self.losses.device = lost.saturating_sub(self.lost_before);
        }
        self.losses
    }
}

impl AsFd for Interface {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Interface {
    fn drop(&mut self) {
        // Fails if the interface is gone, and then there is nothing to restore.
        let _ = crate::offloads::set(&mut self.netlink, self.index, &self.offloads, true);
    }
}
