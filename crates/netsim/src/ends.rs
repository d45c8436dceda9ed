//! What sends and receives at the ends of a flow.

use crate::events::End;
use crate::preparation::Preparation;
use crate::source::telnet::Typing;
use crate::source::{Clocked, SourcePlan};
use prefetch_index::prefetch_index;
use sluicegate_base::params::{FIXED, Raw};
use sluicegate_base::{Span, Stream, Time};
use sluicegate_tcp::send::SendCounters;
use sluicegate_tcp::{Connection, Host};
use std::mem::{offset_of, size_of};
use std::slice;

/// Both ends of a connection, and what the sender's host does beside it.
#[repr(C)]
pub(crate) struct Tcp {
    /// Bytes of IP and TCP header.
    pub header: u32,
    /// The sender, and the receiver.
    pub ends: [Connection; 2],
    /// When each end will be woken.
    pub armed: [Option<Time>; 2],
    /// What is typed, for a TELNET session; a transfer writes all at once.
    pub typing: Option<Typing>,
    /// The time that the sender takes over each packet, if any.
    pub preparation: Option<Box<Preparation>>,
}

/// What sends and receives at the ends of a flow.
pub(crate) enum Ends {
    Tcp(Box<Tcp>),
    Clocked(Box<Clocked>),
    /// Those of many connections, which the population has.
    Many,
}

impl Tcp {
    /// Fetches one end, of which mostly one half is used.
    #[inline]
    pub fn fetch(&self, end: End) {
        const { assert!(offset_of!(Tcp, header) == 0) };
        let first = slice::from_ref(&self.header);
        let start = offset_of!(Tcp, ends) + end as usize * size_of::<Connection>();
        let half = match end {
            End::Sender => start + Connection::SENDING..start + size_of::<Connection>(),
            End::Receiver => start + 64..start + Connection::SENDING,
        };
        for at in [0, start].into_iter().chain(half.step_by(64)) {
            prefetch_index(first, at / size_of::<u32>());
        }
    }
}

impl Ends {
    /// The ends of the flow with this number; their random streams are keyed by it.
    pub fn new(source: &SourcePlan, seed: u64, flow: usize) -> Ends {
        let stream = |purpose| Stream::new(seed, &format!("flow/{flow}/{purpose}"));
        let tcp = |host: &Host, typing| {
            let mut rng = stream("clock");
            let mut phase = || Span(rng.below(host.rto.tick.0));
            let mut ends = [Connection::opener(host, phase()), Connection::listener(host, phase())];
            let mut preparation = None;
            match host.send_jitter {
                Span::ZERO => {}
                most if host.ns2_rules => ends[0].set_send_jitter(most, stream("preparation")),
                most => preparation = Preparation::new(most, || stream("preparation")),
            }
            Ends::Tcp(Box::new(Tcp { ends, header: host.header, armed: [None; 2], typing, preparation }))
        };
        match source {
            SourcePlan::Tcp(host) => tcp(host, None),
            SourcePlan::Telnet(host, params) => tcp(host, Some(Typing::new(params, stream("typing")))),
            SourcePlan::Http(_) | SourcePlan::Connections(_) => Ends::Many,
            SourcePlan::Udp(params) => Ends::Clocked(Box::new(Clocked::udp(params, stream("packets")))),
            SourcePlan::Poisson(params) => Ends::Clocked(Box::new(Clocked::poisson(params, stream("packets")))),
            SourcePlan::OnOff(params) => Ends::Clocked(Box::new(Clocked::on_off(params, stream("packets")))),
        }
    }

    /// How long after the flow's start its source first acts.
    pub fn first(&mut self) -> Span {
        match self {
            Ends::Tcp(_) | Ends::Many => Span::ZERO,
            Ends::Clocked(source) => source.first(),
        }
    }

    /// When a packet that its source sends now leaves the host.
    #[inline]
    pub fn leaves(&mut self, to: End, data: bool, now: Time) -> Time {
        match self {
            Ends::Tcp(tcp) if to == End::Receiver => tcp.preparation.as_mut().map_or(now, |p| p.ready(data, now)),
            _ => now,
        }
    }

    /// Changes a parameter of a source that sends by the clock; the error says why it cannot.
    pub fn set(&mut self, name: &str, value: &Raw) -> Result<(), String> {
        match self {
            Ends::Clocked(source) => source.set(name, value),
            Ends::Tcp(_) | Ends::Many => Err(FIXED.to_owned()),
        }
    }

    pub fn counters(&self) -> SendCounters {
        match self {
            Ends::Tcp(tcp) => tcp.ends[0].counters(),
            Ends::Clocked(_) | Ends::Many => SendCounters::default(),
        }
    }

    pub fn cwnd(&self) -> f64 {
        match self {
            Ends::Tcp(tcp) => tcp.ends[0].cwnd(),
            Ends::Clocked(_) | Ends::Many => f64::NAN,
        }
    }
}
