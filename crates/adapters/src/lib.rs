//! Other people's transports as ends of flows in the simulator. Each is an example of an [`Endpoint`](sluicegate_netsim::Endpoint);
//! nothing that Sluicegate ships depends on them.
//!
//! | module | what it holds |
//! |---|---|
//! | [`quic`] | quinn's QUIC, of `quinn-proto` |
//! | [`small_tcp`] | smoltcp's TCP |
//! | [`sockets`] | the same ends on sockets, by the clock |
//! | [`beside`] | a download over one of them beside Linux's CUBIC |

pub mod beside;
pub mod quic;
pub mod small_tcp;
pub mod sockets;

use quic::{Control, Received};
use sluicegate_netsim::EndpointPair;

/// A download without end over the transport of this name, as `sluicegate evaluate` takes it.
#[must_use]
pub fn named(name: &str) -> Option<EndpointPair> {
    let received = Received::default();
    Some(match name {
        "quinn:bbr" => quic::download(Control::Bbr, u64::MAX, &received),
        "quinn:cubic" => quic::download(Control::Cubic, u64::MAX, &received),
        "quinn:newreno" => quic::download(Control::NewReno, u64::MAX, &received),
        "smoltcp:cubic" => small_tcp::download(u64::MAX, &received),
        _ => return None,
    })
}
