//! Where packets come in and go out.

use crate::interface::Interface;
use std::io;
use tun_rs::{SyncDevice, VIRTIO_NET_HDR_LEN};

/// One side of a network of real packets.
pub trait Gate: Send {
    /// The kind of link, by the numbers of pcap.
    fn link_type(&self) -> u16;
    /// Hands up to `most` packets that are there to `each`; how many there were. Never waits.
    fn receive(&mut self, most: usize, each: &mut dyn FnMut(&[u8])) -> io::Result<usize>;
    /// Sends a packet; at the latest with the next [`flush`](Gate::flush).
    fn send(&mut self, packet: &[u8]);
    /// Sends what has not been sent yet.
    fn flush(&mut self) {}
    /// Packets that it was given and that could not be sent.
    fn refused(&mut self) -> u64;
    /// Packets that came too fast, or too long, to be received.
    fn missed(&mut self) -> u64 {
        0
    }
    /// What becomes ready when packets are there.
    fn ready(&self) -> rustix::fd::BorrowedFd<'_>;
}

/// The most segments that the kernel may hand over as one: [`Place`](crate::place::Place) tells it.
pub const SEGMENTS: usize = 64;

/// The driver's end of a TUN. The kernel hands segments of a connection over as one, which saves most of its work; they are
/// split here, and each is a packet of its own.
pub struct Tun {
    device: SyncDevice,
    read: Vec<u8>,
    split: Vec<Vec<u8>>,
    sizes: Vec<usize>,
    written: Vec<u8>,
    refused: u64,
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
            written: vec![0; VIRTIO_NET_HDR_LEN],
            refused: 0,
        }
    }
}

impl Gate for Tun {
    fn link_type(&self) -> u16 {
        101 // raw IP
    }

    fn receive(&mut self, most: usize, each: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        let mut count = 0;
        while count < most {
            match self.device.recv_multiple(&mut self.read, &mut self.split, &mut self.sizes, 0) {
                Ok(packets) => {
                    self.split.iter().zip(&self.sizes).take(packets).for_each(|(data, size)| each(&data[..*size]));
                    count += packets;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.raw_os_error().is_some() && error.kind() != io::ErrorKind::Interrupted => {
                    return Err(error);
                }
                // What cannot be split is no packet that anybody could receive.
                Err(_) => self.refused += 1,
            }
        }
        Ok(count)
    }

    fn send(&mut self, packet: &[u8]) {
        self.written.truncate(VIRTIO_NET_HDR_LEN);
        self.written.extend_from_slice(packet);
        // The kernel refuses what is no IP packet.
        if self.device.send(&self.written).is_err() {
            self.refused += 1;
        }
    }

    fn refused(&mut self) -> u64 {
        self.refused
    }

    fn ready(&self) -> rustix::fd::BorrowedFd<'_> {
        rustix::fd::AsFd::as_fd(&self.device)
    }
}

impl Gate for Interface {
    fn link_type(&self) -> u16 {
        1 // Ethernet
    }

    fn receive(&mut self, most: usize, each: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        // Whoever runs a bridge starts it again when the interface is there again.
        let name = self.name().to_owned();
        let told = |error: io::Error| io::Error::new(error.kind(), format!("interface {name}: {error}"));
        Interface::receive(self, most, each).map_err(told)
    }

    fn send(&mut self, packet: &[u8]) {
        Interface::send(self, packet);
    }

    fn flush(&mut self) {
        // What could not be sent is counted; an interface that is down may come up again.
        let _ = Interface::flush(self);
    }

    fn refused(&mut self) -> u64 {
        self.losses().sent
    }

    fn missed(&mut self) -> u64 {
        let losses = self.losses();
        losses.received + losses.too_long + losses.device
    }

    fn ready(&self) -> rustix::fd::BorrowedFd<'_> {
        rustix::fd::AsFd::as_fd(self)
    }
}
