//! # TCP
//!
//! A greedy transfer (FTP): the sender always has a full segment to send. The host profile says what the operating system
//! or simulator that it stands for would use; every value of a profile can be overridden.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | CHOKe 1999: packets of 1 kB, window 100 | `packet_size` counts the IP packet, headers included; the window counts full segments | throughput is then in IP bytes on every link; ns-2 adds 40 bytes to its `packetSize_`, so there 960 is the same |
//! | nothing on opening a connection | the connection starts established, at its start time | a long transfer does not notice; ns-2 sends a 40-byte SYN as packet 0 |
//! | nothing on acknowledgements | one for each data packet, 40 bytes | as ns-2's `TCPSink` |

use crate::cc::{CongestionControl, Reno};
use crate::rtt::RtoConfig;
use alloc::boxed::Box;
use sluicegate_base::params::Parameter;
use sluicegate_base::{About, Declared, Range, Size, Span, Value, choices, params};

choices! {
    /// The congestion control of a sender.
    pub enum Algorithm {
        /// Fast retransmit and fast recovery, as ns-2's `Agent/TCP/Reno`.
        Reno = "reno",
    }
}

choices! {
    /// Whose defaults a host has.
    pub enum ProfileName {
        /// ns-2 version 2.35.
        Ns2 = "ns2",
    }
}

params! {
    /// Parameters of a TCP transfer.
    pub struct TcpParams {
        /// The sender's congestion control.
        algorithm: Algorithm = default(Algorithm::Reno), positional(true), source("CHOKe 1999 does not say; ns-2");
        /// Whose defaults apply to what is not given here.
        profile: ProfileName = default(ProfileName::Ns2), source("the CHOKe report's simulator");
        /// The receiver's advertised window.
        window: Option<Size> = optional("as the profile says"), unit("packets"), range(Range::from(1.0)),
            source("RFC 9293");
        /// Length of a full IP packet, headers included.
        packet_size: Size = default(Size::Bytes(1000)), unit("B"), range(Range::POSITIVE.to(65535.0)),
            source("CHOKe 1999, Sec. 4");
        /// Length of the IP and TCP headers, and so of an acknowledgement.
        header_size: Size = default(Size::Bytes(40)), unit("B"), range(Range::from(20.0).to(120.0)),
            source("ns-2, tcpip_base_hdr_size_");
        /// Congestion window at the start.
        initial_window: Option<f64> = optional("as the profile says"), unit("packets"), range(Range::from(1.0)),
            source("RFC 5681");
        /// Slow-start threshold at the start.
        initial_ssthresh: Option<f64> = optional("the advertised window"), unit("packets"), range(Range::from(2.0)),
            source("RFC 5681");
        /// Least retransmission timeout.
        min_rto: Option<Span> = optional("as the profile says"), source("RFC 6298");
        /// Largest retransmission timeout.
        max_rto: Option<Span> = optional("as the profile says"), range(Range::POSITIVE), source("RFC 6298");
        /// Retransmission timeout before the first measurement.
        initial_rto: Option<Span> = optional("as the profile says"), range(Range::POSITIVE), source("RFC 6298");
        /// Granularity of the retransmission clock.
        clock_tick: Option<Span> = optional("as the profile says"), range(Range::POSITIVE), source("RFC 6298, G");
        /// Send one new packet for each of the first two duplicate acknowledgements.
        limited_transmit: Option<bool> = optional("as the profile says"), source("RFC 3042");
    }
    rules {
        "packet_size and header_size are in bytes" [packet_size, header_size] |p| {
            matches!((p.packet_size, p.header_size), (Size::Bytes(_), Size::Bytes(_)))
        };
        "header_size < packet_size" [packet_size, header_size] |p| match (p.packet_size, p.header_size) {
            (Size::Bytes(packet), Size::Bytes(header)) => header < packet,
            _ => true,
        };
        "min_rto <= max_rto" [min_rto, max_rto] |p| {
            let host = Host::new(p);
            host.rto.min <= host.rto.max
        };
        "window holds a full packet" [window, packet_size] |p| {
            let host = Host::new(p);
            host.window >= u64::from(host.mss)
        };
    }
}

/// The TCP transfer as a declared source of traffic.
pub struct Tcp;

impl Declared for Tcp {
    type Params = TcpParams;
    const ABOUT: About = About {
        name: "tcp",
        class: "Tcp",
        title: "TCP transfer",
        source: "RFC 9293, RFC 5681; ns-2's Agent/TCP",
        tc: "",
        module: include_str!("host.rs"),
    };
}

/// One value of a profile: the field that it fills, the value, and where it comes from.
#[derive(Clone, Copy)]
pub struct ProfileValue {
    /// The field of [`TcpParams`].
    pub field: &'static str,
    /// Its value.
    pub value: fn() -> Value,
    /// Where that comes from.
    pub source: &'static str,
}

/// What a kind of host uses unless told otherwise.
#[derive(Clone, Copy)]
pub struct Profile {
    /// Its name in scenarios.
    pub name: &'static str,
    /// Whom it stands for.
    pub summary: &'static str,
    /// Its values.
    pub values: &'static [ProfileValue],
}

/// All profiles, in the order of [`ProfileName`].
pub const PROFILES: &[Profile] = &[Profile {
    name: "ns2",
    summary: "ns-2 version 2.35: one-way agents with a 10 ms clock and an acknowledgement for each packet",
    values: &[
        ProfileValue { field: "window", value: || Value::Size(Size::Packets(20)), source: "ns-2, window_" },
        ProfileValue { field: "initial_window", value: || Value::Number(2.0), source: "ns-2, windowInit_" },
        ProfileValue { field: "min_rto", value: || Value::Time(Span::from_millis(200)), source: "ns-2, minrto_" },
        ProfileValue { field: "max_rto", value: || Value::Time(Span::from_secs(60)), source: "ns-2, maxrto_" },
        ProfileValue { field: "initial_rto", value: || Value::Time(Span::from_secs(3)), source: "ns-2, rtxcur_init_" },
        ProfileValue { field: "clock_tick", value: || Value::Time(Span::from_millis(10)), source: "ns-2, tcpTick_" },
        ProfileValue { field: "limited_transmit", value: || Value::Switch(true), source: "ns-2, singledup_" },
    ],
}];

/// A host as its connections use it: parameters with the profile filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// The congestion control of its senders.
    pub algorithm: Algorithm,
    /// Bytes of the stream in a full segment.
    pub mss: u32,
    /// Bytes of IP and TCP header.
    pub header: u32,
    /// The receiver's window in bytes.
    pub window: u64,
    /// Congestion window at the start, in segments.
    pub initial_window: f64,
    /// Slow-start threshold at the start, in segments.
    pub initial_ssthresh: f64,
    /// The retransmission timer.
    pub rto: RtoConfig,
    /// Whether the first two duplicate acknowledgements let a new segment out.
    pub limited_transmit: bool,
}

impl Host {
    /// The host that these parameters describe.
    #[must_use]
    pub fn new(params: &TcpParams) -> Host {
        let profile = &PROFILES[params.profile as usize];
        let bytes = |size| if let Size::Bytes(n) = size { n as u32 } else { 0 };
        let header = bytes(params.header_size);
        let mss = bytes(params.packet_size).saturating_sub(header).max(1);
        let window = match pick(&params.window, profile, "window") {
            Size::Packets(n) => n.saturating_mul(u64::from(mss)),
            Size::Bytes(n) => n,
        };
        Host {
            algorithm: params.algorithm,
            mss,
            header,
            window,
            initial_window: pick(&params.initial_window, profile, "initial_window"),
            initial_ssthresh: params.initial_ssthresh.unwrap_or(window as f64 / f64::from(mss)),
            rto: RtoConfig {
                tick: pick(&params.clock_tick, profile, "clock_tick"),
                min: pick(&params.min_rto, profile, "min_rto"),
                max: pick(&params.max_rto, profile, "max_rto"),
                initial: pick(&params.initial_rto, profile, "initial_rto"),
            },
            limited_transmit: pick(&params.limited_transmit, profile, "limited_transmit"),
        }
    }

    /// A new congestion control for a connection of this host.
    #[must_use]
    pub fn congestion_control(&self) -> Box<dyn CongestionControl> {
        match self.algorithm {
            Algorithm::Reno => Box::new(Reno::new(self.initial_window, self.initial_ssthresh)),
        }
    }
}

fn pick<T: Parameter + Clone>(given: &Option<T>, profile: &Profile, field: &str) -> T {
    let default = || profile.values.iter().find(|value| value.field == field).and_then(|v| T::from_value((v.value)()));
    given.clone().or_else(default).expect("a profile has every value")
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluicegate_base::{Link, Params, Rate};

    fn params() -> TcpParams {
        TcpParams::defaults(&Link { rate: Rate(1_000_000), packet: 1000 }).unwrap()
    }

    #[test]
    fn every_profile_fills_every_optional_field() {
        for (at, profile) in PROFILES.iter().enumerate() {
            assert_eq!(profile.name, ProfileName::WORDS[at]);
            for value in profile.values {
                let field = TcpParams::FIELDS.iter().find(|field| field.name == value.field);
                assert!(field.is_some(), "{}: no field {}", profile.name, value.field);
            }
        }
        let host = Host::new(&params());
        assert_eq!((host.mss, host.window, host.initial_window), (960, 20 * 960, 2.0));
        assert_eq!(host.rto.min, Span::from_millis(200));
    }

    #[test]
    fn a_given_value_beats_the_profile() {
        let host = Host::new(&TcpParams { window: Some(Size::Bytes(16_384)), min_rto: Some(Span(7)), ..params() });
        assert_eq!((host.window, host.rto.min), (16_384, Span(7)));
        assert_eq!(host.initial_ssthresh, 16_384.0 / 960.0);
    }
}
