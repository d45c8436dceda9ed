//! # Linux's hosts
//!
//! The end host of Linux 6.18: all that decides what it sends and when, as net/ipv4/tcp_input.c, tcp_output.c,
//! tcp_timer.c and tcp_recovery.c have it, in packets of one segment. The profile `linux`, the default, chooses it.
//!
//! | module | what it holds | RFC |
//! |---|---|---|
//! | `end` | an end: opening, timers, both halves | 9293, 6298 |
//! | `sender` | its state, the one timer | |
//! | `ack` | what an acknowledgement does | |
//! | `prediction` | the fast path of plain acknowledgements | |
//! | `queue` | what is under way, in order of the stream and of sending | |
//! | `lazy` | state that most connections never need | |
//! | `near` | the lower half of a byte's number in the stream | |
//! | `ring` | a queue of packets, by number | |
//! | `recovery` | the states Open, Disorder, Cwr, Recovery, Loss | |
//! | `sack` | SACK and DSACK | 2018, 2883 |
//! | `rack` `losses` | what is lost: the rule, and how the sender applies it | 8985 |
//! | `tlp` | tail loss probes | 8985, Sec. 7 |
//! | `frto` | spurious timeouts | 5682 |
//! | `prr` `reduction` | how much goes out while the window falls: the rule, and how the sender applies it | 6937bis |
//! | `undo` `restore` | needless reductions, found by DSACK and by timestamps (Eifel): what is remembered, and how they are taken back | 3522, 3708, 4015 |
//! | `rtt` | round trip and timeout | 6298, 7323 |
//! | `clock` | ticks, the wheel of timers | |
//! | `rate` | samples of the delivery rate | draft-ietf-ccwg-bbr |
//! | `buffers` | what is written and not sent; PSH | 9293 |
//! | `pacing` | pace, and the size of bursts | |
//! | `transmit` | what goes out now | |
//! | `receive` | when an acknowledgement goes | 5681, 2883, 7323 |
//! | `window` | the receiver's window, tuned to the data that comes in a round trip | |
//! | `ecn` | marks: RFC 3168's, DCTCP's and accurate ones | 3168, 8257, 9768 |
//! | `cc` | Reno, CUBIC with HyStart, BBR, BBRv3, DCTCP, Prague, LEDBAT, and users' own controllers | |
//!
//! | what Linux does | what we do | why |
//! |---|---|---|
//! | buffers of several segments | packets of one, which know their burst | what is sent, and when, is the same but for what is said in `pacing` and `buffers` |
//! | small packets are joined when they are sent again | boundaries stay | transfers here write at once |
//! | sockets, memory limits, MTU probing, TCP Fast Open, thin streams, keep-alive, user timeouts | none of them | off by default, or nothing here reaches them |
//! | a closed window is probed with a segment without data (tcp_xmit_probe_skb) | with the next segment | receivers here read at once, and close no window for long |
//! | a connection is given up after 15 timeouts | never | a run ends before |
//! | metrics of earlier connections | each connection knows nothing | tcp_no_metrics_save = 1 |

mod ack;
mod buffers;
pub(crate) mod cc;
pub(crate) mod clock;
mod ecn;
mod end;
mod frto;
mod lazy;
mod losses;
mod near;
mod pacing;
mod prediction;
mod prr;
mod queue;
mod rack;
mod rate;
mod receive;
mod recovery;
mod reduction;
mod restore;
mod ring;
mod rtt;
mod sack;
mod sender;
mod tlp;
mod transmit;
mod undo;
mod window;

pub use end::End;
pub use window::scale as window_scale;
