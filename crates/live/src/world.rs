//! The way from the emulated path to the world: what COMMAND sends leaves through the outer TUN, and the kernel routes
//! it on with the address of an uplink.
//!
//! Everything here acts on the network namespace of the calling thread. Nothing outlives the process, even if it is
//! killed: the kernel removes the table for NAT with its socket, and a watchdog restores the uplinks' forwarding.

pub mod dns;
pub mod forwarding;
pub mod nat;

use std::net::Ipv4Addr;

use forwarding::Forwarding;
use nat::Nat;

/// Packets from the outer TUN reach the world, and replies come back, as long as this exists.
pub struct World {
    _forwarding: Forwarding,
    _nat: Nat,
}

impl World {
    /// Forwards between the outer TUN `device` and the devices of the default routes; packets from `inner` get the
    /// address of the device they leave by. The caller needs `CAP_NET_ADMIN` in its network namespace.
    pub fn nat(device: &str, inner: Ipv4Addr) -> Result<World, String> {
        let uplinks = forwarding::uplinks()?;
        let nat = Nat::new(inner)?;
        forwarding::enable(device)?;
        Ok(World { _forwarding: Forwarding::new(&uplinks)?, _nat: nat })
    }
}

#[cfg(test)]
mod tests {
    use rustix::thread::{self, UnshareFlags};

    use super::*;

    /// Runs a test in a thread with network and mount namespaces of its own, or says why not.
    #[expect(deprecated, reason = "the thread ends with the test and shares nothing that it changes")]
    pub fn isolated(test: impl FnOnce() + Send + 'static) {
        let thread = std::thread::spawn(|| match thread::unshare(UnshareFlags::NEWNET | UnshareFlags::NEWNS) {
            Ok(()) => test(),
            Err(error) => println!("skipped: needs root to make namespaces ({error})"),
        });
        thread.join().unwrap();
    }

    #[test]
    fn without_default_route_nothing_is_changed() {
        isolated(|| {
            let error = World::nat("lo", Ipv4Addr::new(100, 64, 0, 1)).err().unwrap();
            assert!(error.contains("no default route"), "{error}");
            assert!(!forwarding::enabled("lo").unwrap());
        });
    }
}
