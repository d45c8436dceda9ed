//! Where packets come in and go out.

use crate::interface::Interface;
use std::io;
use tun_rs::{SyncDevice, VIRTIO_NET_HDR_LEN};

/// One side of a network of real packets.
pub trait Gate: Send {
    /// The kind of link, by the numbers of pcap.
    fn link_type(&self) -> u16;
    /// Reads packets that are there, as many as come at once, for [`received`](Gate::received); whether more may be there.
    /// Never waits. An error means that no more will come.
    fn receive(&mut self) -> io::Result<bool>;
    /// Hands over what the last [`receive`](Gate::receive) has read, in order, and once.
    fn received(&mut self, each: &mut dyn FnMut(&[u8]));
    /// Sends a packet; at the latest with the next [`flush`](Gate::flush).
    fn send(&mut self, packet: &[u8]);
    /// Sends what has not been sent yet.
    fn flush(&mut self) {}
    /// What it has lost.
    fn lost(&mut self) -> Lost;
    /// What becomes ready when packets are there.
    fn ready(&self) -> rustix::fd::BorrowedFd<'_>;
}

/// Packets that a gate has lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// They came, or were to go, faster than the device could take them.
    pub missed: u64,
    /// They came without any bytes, or as one that cannot be split.
    pub unreadable: u64,
    /// What they were sent to would not have them: no IP packets, or longer than it allows.
    pub refused: u64,
}

impl Lost {
    /// All of them.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.missed + self.unreadable + self.refused
    }
}

/// The most segments that the kernel may hand over as one: [`Namespace`](crate::namespace::Namespace) tells it.
pub const SEGMENTS: usize = 64;

/// The driver's end of a TUN. The kernel hands segments of a connection over as one, which saves most of its work; they are
/// split here, and each is a packet of its own.
pub struct Tun {
    device: SyncDevice,
    read: Vec<u8>,
    split: Vec<Vec<u8>>,
    sizes: Vec<usize>,
    /// How many packets were read and not handed over yet.
    packets: usize,
    written: Vec<u8>,
    lost: Lost,
}

impl Tun {
    /// The gate of this device, which does not block and has packets up to `mtu` bytes.
    #[must_use]
    pub fn new(device: SyncDevice, mtu: u16) -> Tun {
        Tun {
            device,
            read: vec![0; VIRTIO_NET_HDR_LEN + 65_536],
            split: vec![vec![0; usize::from(mtu)]; SEGMENTS],
            sizes: vec![0; SEGMENTS],
            packets: 0,
            written: vec![0; VIRTIO_NET_HDR_LEN],
            lost: Lost::default(),
        }
    }
}

impl Gate for Tun {
    fn link_type(&self) -> u16 {
        101 // raw IP
    }

    fn receive(&mut self) -> io::Result<bool> {
        self.packets = 0;
        match self.device.recv_multiple(&mut self.read, &mut self.split, &mut self.sizes, 0) {
            Ok(packets) => self.packets = packets,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.raw_os_error().is_some() => {
                return Err(io::Error::new(error.kind(), format!("the TUN device is gone: {error}")));
            }
            Err(_) => self.lost.unreadable += 1,
        }
        Ok(true)
    }

    fn received(&mut self, each: &mut dyn FnMut(&[u8])) {
        let packets = std::mem::take(&mut self.packets);
        self.split.iter().zip(&self.sizes).take(packets).for_each(|(data, size)| each(&data[..*size]));
    }

    fn send(&mut self, packet: &[u8]) {
        self.written.truncate(VIRTIO_NET_HDR_LEN);
        self.written.extend_from_slice(packet);
        // The kernel refuses what is no IP packet.
        if self.device.send(&self.written).is_err() {
            self.lost.refused += 1;
        }
    }

    fn lost(&mut self) -> Lost {
        self.lost
    }

    fn ready(&self) -> rustix::fd::BorrowedFd<'_> {
        rustix::fd::AsFd::as_fd(&self.device)
    }
}

impl Gate for Interface {
    fn link_type(&self) -> u16 {
        1 // Ethernet
    }

    fn receive(&mut self) -> io::Result<bool> {
        // Whoever runs a bridge starts it again when the interface is there again.
        Interface::receive(self)
            .map_err(|error| io::Error::new(error.kind(), format!("interface {}: {error}", self.name())))
    }

    fn received(&mut self, each: &mut dyn FnMut(&[u8])) {
        Interface::received(self, each);
    }

    fn send(&mut self, packet: &[u8]) {
        Interface::send(self, packet);
    }

    fn flush(&mut self) {
        // What could not be sent is counted; an interface that is down may come up again.
        let _ = Interface::flush(self);
    }

    fn lost(&mut self) -> Lost {
        let losses = self.losses();
        let missed = losses.received + losses.device + losses.sent;
        Lost { missed, unreadable: losses.merged, refused: losses.too_long }
    }

    fn ready(&self) -> rustix::fd::BorrowedFd<'_> {
        rustix::fd::AsFd::as_fd(self)
    }
}
