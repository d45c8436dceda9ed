//! # The papers' hosts
//!
//! End hosts as the papers' simulations and machines have them: ns-2's to the acknowledgement, those of RED 1993, 4.3BSD-Tahoe
//! and FreeBSD 4.5. Chosen by their profiles; what they do otherwise than the RFCs is in [`crate::params`].
//!
//! | module | what it holds | uses |
//! |---|---|---|
//! | `rtt` | the round-trip estimate and the retransmission timeout | |
//! | `cc` | congestion windows: Reno, Vegas, ns-2's Vegas, DECbit, UT/LT and a fixed one, a file each | |
//! | `send_core` | what loss recoveries share of a sender: sequence numbers, timer, round trip, window | `cc`, `rtt` |
//! | `recovery` | what a loss is and what is sent again: Tahoe, Reno, NewReno, SACK, ns-2's Vegas, a file each | `send_core` |
//! | `send` | the sending half | `send_core`, `recovery` |
//! | `receive` | the receiving half: acknowledgements | |
//! | `end` | an end: both halves, opening and closing | `send`, `receive` |

pub(crate) mod cc;
mod end;
mod receive;
mod recovery;
mod rtt;
mod send;
mod send_core;

pub use end::End;
pub use send::Sender;
