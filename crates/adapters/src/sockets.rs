//! The same ends on sockets, by the clock: what runs in the simulator runs on a real path, too. ECN fields stay behind, for the
//! standard library's sockets do not tell of them.

use sluicegate_base::{Ecn, Time};
use sluicegate_netsim::{Datagram, Endpoint};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// How long to wait for a datagram at most, before `done` is asked again.
const MOST: Duration = Duration::from_millis(50);

/// Lets an end send to `peer`, or to who has sent to it last, until `done`; how long that took.
pub fn drive(
    end: &mut dyn Endpoint,
    socket: &UdpSocket,
    mut peer: Option<SocketAddr>,
    mut done: impl FnMut() -> bool,
) -> io::Result<Duration> {
    let origin = Instant::now();
    let now = || Time(origin.elapsed().as_nanos() as u64);
    let mut buffer = [0; 1 << 16];
    end.wake(now());
    while !done() {
        while let Some(datagram) = end.poll_transmit(now()) {
            if let Some(peer) = peer {
                socket.send_to(&datagram.payload, peer)?;
            }
        }
        let wait = end.deadline().map_or(MOST, |deadline| Duration::from_nanos(deadline.0.saturating_sub(now().0)));
        if wait.is_zero() {
            end.wake(now());
            continue;
        }
        socket.set_read_timeout(Some(wait.clamp(Duration::from_micros(1), MOST)))?;
        match socket.recv_from(&mut buffer) {
            Ok((length, from)) => {
                peer = Some(from);
                end.receive(Datagram::udp(Ecn::NotCapable, buffer[..length].to_vec()), now());
            }
            // Nothing has come; or nobody is there yet, which the end finds out by itself.
            Err(error) if [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind()) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
            Err(error) => return Err(error),
        }
    }
    Ok(origin.elapsed())
}
