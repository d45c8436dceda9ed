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
