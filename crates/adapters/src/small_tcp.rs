//! smoltcp's TCP as the two ends of a flow: a server that sends to a client. Its datagrams are whole IP packets.

use sluicegate_base::{Ecn, Stream, Time};
use sluicegate_netsim::{Datagram, Endpoint, EndpointPair};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr, Ipv4Address};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a client has received.
pub type Received = Arc<AtomicU64>;

const SERVER: Ipv4Address = Ipv4Address::new(10, 0, 0, 1);
const CLIENT: Ipv4Address = Ipv4Address::new(10, 0, 0, 2);
const PORT: u16 = 80;

/// What each end buffers: above the largest bandwidth-delay product of the examples.
const BUFFER: usize = 512 << 10;

/// A download of so many bytes under smoltcp's CUBIC. What the client has received is counted there, from zero in each run.
#[must_use]
pub fn download(bytes: u64, received: &Received) -> EndpointPair {
    let received = received.clone();
    EndpointPair::new("smoltcp_cubic", move |[server, client]| {
        received.store(0, Ordering::Relaxed);
        let client = End::new(CLIENT, client, Role::Client { connected: false, received: received.clone() });
        (End::new(SERVER, server, Role::Server { left: bytes }), client)
    })
}

enum Role {
    Server { left: u64 },
    Client { connected: bool, received: Received },
}

/// One end.
pub struct End {
    interface: Interface,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
    wire: Wire,
    role: Role,
}

/// What has come, and what is to be sent.
#[derive(Default)]
struct Wire {
    come: VecDeque<Vec<u8>>,
    ready: VecDeque<Vec<u8>>,
}

impl End {
    fn new(own: Ipv4Address, mut rng: Stream, role: Role) -> End {
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = rng.bits();
        let mut wire = Wire::default();
        let mut interface = Interface::new(config, &mut wire, Instant::ZERO);
        interface.update_ip_addrs(|addresses| {
            addresses.push(IpCidr::new(IpAddress::Ipv4(own), 24)).expect("there is room for one");
        });
        let buffer = || SocketBuffer::new(vec![0; BUFFER]);
        let mut socket = Socket::new(buffer(), buffer());
        socket.set_congestion_control(CongestionControl::Cubic);
        if let Role::Server { .. } = role {
            socket.listen(PORT).expect("a port that is free");
        }
        let mut sockets = SocketSet::new(Vec::new());
        let socket = sockets.add(socket);
        End { interface, sockets, socket, wire, role }
    }

    fn poll(&mut self, now: Time) {
        let End { interface, sockets, wire, .. } = self;
        interface.poll(at(now), wire, sockets);
        let socket = self.sockets.get_mut::<Socket<'_>>(self.socket);
        match &mut self.role {
            Role::Client { connected, received } => {
                if !*connected {
                    *connected = true;
                    let context = self.interface.context();
                    socket.connect(context, (SERVER, PORT), 49_152).expect("a socket that is not connected");
                }
                while let Ok(bytes @ 1..) = socket.recv(|bytes| (bytes.len(), bytes.len())) {
                    received.fetch_add(bytes as u64, Ordering::Relaxed);
                }
            }
            Role::Server { left } => {
                while *left > 0 && socket.can_send() {
                    let most = (*left).min(1 << 16) as usize;
                    match socket.send_slice(&vec![0; most]) {
                        Ok(sent) => *left -= sent as u64,
                        Err(_) => break,
                    }
                }
                if *left == 0 {
                    socket.close();
                }
            }
        }
        let End { interface, sockets, wire, .. } = self;
        interface.poll(at(now), wire, sockets);
    }
}

/// smoltcp counts microseconds.
fn at(now: Time) -> Instant {
    Instant::from_micros((now.0 / 1000) as i64)
}

impl Endpoint for End {
    fn receive(&mut self, datagram: Datagram, now: Time) {
        self.wire.come.push_back(datagram.payload);
        self.poll(now);
    }

    fn poll_transmit(&mut self, _now: Time) -> Option<Datagram> {
        let payload = self.wire.ready.pop_front()?;
        Some(Datagram { bytes: payload.len() as u32, ecn: Ecn::NotCapable, payload })
    }

    fn deadline(&mut self) -> Option<Time> {
        // What is due at once has been polled: the argument only says what "now" is called.
        let time = self.interface.poll_at(Instant::ZERO, &self.sockets)?;
        Some(Time(time.total_micros() as u64 * 1000))
    }

    fn wake(&mut self, now: Time) {
        self.poll(now);
    }
}

impl Device for Wire {
    type RxToken<'a> = Come;
    type TxToken<'a> = Ready<'a>;

    fn receive(&mut self, _timestamp: Instant) -> Option<(Come, Ready<'_>)> {
        let packet = self.come.pop_front()?;
        Some((Come(packet), Ready(&mut self.ready)))
    }

    fn transmit(&mut self, _timestamp: Instant) -> Option<Ready<'_>> {
        Some(Ready(&mut self.ready))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        (capabilities.medium, capabilities.max_transmission_unit) = (Medium::Ip, 1500);
        capabilities
    }
}

/// A packet that has come.
pub struct Come(Vec<u8>);

impl RxToken for Come {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

/// A place for a packet to be sent.
pub struct Ready<'a>(&'a mut VecDeque<Vec<u8>>);

impl TxToken for Ready<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut packet = vec![0; len];
        let done = f(&mut packet);
        self.0.push_back(packet);
        done
    }
}
