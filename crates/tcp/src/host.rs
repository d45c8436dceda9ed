//! A host as its connections use it: parameters with the profile filled in, and the algorithms that they choose.

use crate::cc::CongestionControl;
use crate::linux::cc::{self as linux_cc, Controller};
pub use crate::papers::cc::{VegasParams, VegasRules};
pub use crate::params::RtoConfig;
use crate::params::{Algorithm, SlowStartExit, TcpParams};
use crate::profiles::ProfileName;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use sluicegate_base::{Span, Stream};

/// A host as its connections use it: parameters with the profile filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// Whose host it is: Linux's, or one of the papers'.
    pub profile: ProfileName,
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
    /// The retransmission timer, whose settings all connections share.
    pub rto: Arc<RtoConfig>,
    /// Whether the first two duplicate acknowledgements let a new segment out.
    pub limited_transmit: bool,
    /// How long an acknowledgement may wait for a second segment; zero for not at all.
    pub delayed_ack: Span,
    /// Whether its device segments: bursts leave as one buffer.
    pub gso: bool,
    /// Whether packets may be marked instead of dropped.
    pub ecn: bool,
    /// Whether a source quench closes the window.
    pub source_quench: bool,
    /// The most that a packet of data takes to prepare; whoever drives the ends makes them wait.
    pub send_jitter: Span,
    /// How slow start may end before a loss, where that is Linux's CUBIC.
    pub slow_start_exit: SlowStartExit,
    /// Whether the ends follow ns-2 where its hosts depart from the RFCs.
    pub ns2_rules: bool,
    /// What Vegas keeps in queues, and what a loss costs it.
    pub vegas: VegasParams,
    /// Whose Vegas it is.
    pub vegas_rules: VegasRules,
    /// The queueing delay that LEDBAT keeps.
    pub ledbat_target: Span,
    /// How fast LEDBAT's window follows it.
    pub ledbat_gain: f64,
    /// Whether connections open with an exchange.
    pub handshake: bool,
    /// Whether a limited transfer ends with an exchange.
    pub closing: bool,
    /// A congestion controller of one's own; `algorithm` then chooses the loss recovery alone, on the papers' hosts.
    pub controller: Option<OwnController>,
}

/// Makes the congestion controller of a connection.
pub type MakeController = dyn Fn(&Host) -> Box<dyn CongestionControl> + Send + Sync;

/// How a host makes a congestion controller that is not part of the package.
#[derive(Clone)]
pub struct OwnController {
    name: String,
    make: Arc<MakeController>,
}

impl OwnController {
    /// A new one for a connection of this host.
    pub(crate) fn make(&self, host: &Host) -> Box<dyn CongestionControl> {
        (self.make)(host)
    }
}

impl fmt::Debug for OwnController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Two are equal if they are the same one.
impl PartialEq for OwnController {
    fn eq(&self, other: &OwnController) -> bool {
        Arc::ptr_eq(&self.make, &other.make)
    }
}

impl Host {
    /// The host that these parameters describe.
    #[must_use]
    pub fn new(params: &TcpParams) -> Host {
        let (mss, header) = params.segment_sizes_or_least();
        let window = params.window_bytes(mss);
        // Two segments at the least, as for every later threshold, if the window holds as many.
        let full = window as f64 / f64::from(mss);
        let share = (params.defaults_of().initial_ssthresh * full).max(full.min(2.0));
        let algorithm = params.resolve(&params.algorithm, "algorithm");
        let initial_window = params.initial_window.or((algorithm == Algorithm::Ledbat).then_some(2.0));
        Host {
            profile: params.profile(),
            algorithm,
            mss,
            header,
            window,
            initial_window: params.resolve(&initial_window, "initial_window"),
            initial_ssthresh: params.initial_ssthresh.unwrap_or(share),
            rto: Arc::new(params.rto()),
            limited_transmit: params.of_papers(&params.limited_transmit, "limited_transmit").unwrap_or(false),
            delayed_ack: params.resolve(&params.delayed_ack, "delayed_ack"),
            gso: params.gso,
            ecn: params.resolve(&params.ecn, "ecn"),
            source_quench: params.of_papers(&params.source_quench, "source_quench").unwrap_or(false),
            send_jitter: params.send_jitter,
            slow_start_exit: params.slow_start_exit,
            ns2_rules: params.of_papers(&params.ns2_rules, "ns2_rules").unwrap_or(false),
            vegas: VegasParams {
                alpha: params.vegas_alpha,
                beta: params.vegas_beta,
                gamma: params.vegas_gamma,
                cut: params.vegas_cut,
            },
            vegas_rules: params.of_papers(&params.vegas_rules, "vegas_rules").unwrap_or(VegasRules::Paper),
            ledbat_target: params.ledbat_target,
            ledbat_gain: params.ledbat_gain,
            handshake: params.resolve(&params.handshake, "handshake"),
            closing: params.resolve(&params.closing, "closing"),
            controller: None,
        }
    }

    /// This host with a congestion controller of one's own for each connection. On a Linux host it may pace what is sent and ask
    /// for rate samples, and losses are repaired as Linux does; on one of the papers' as the host's algorithm does.
    ///
    /// # Errors
    /// On a host of the papers, if a controller as it is made asks for rate samples or a pace, which those do not have.
    ///
    /// ```
    /// use sluicegate_base::{Link, Params, Rate};
    /// use sluicegate_tcp::cc::{Ack, CongestionControl};
    /// use sluicegate_tcp::{Host, ProfileName, TcpParams};
    /// use std::sync::Arc;
    ///
    /// /// A window of two bandwidth-delay products, paced at the greatest delivery rate seen.
    /// struct Greatest {
    ///     rate: Option<Rate>,
    ///     cwnd: f64,
    /// }
    ///
    /// impl CongestionControl for Greatest {
    ///     fn cwnd(&self) -> f64 {
    ///         self.cwnd
    ///     }
    ///     fn ssthresh(&self) -> f64 {
    ///         self.cwnd
    ///     }
    ///     fn wants_rate_samples(&self) -> bool {
    ///         true
    ///     }
    ///     fn on_ack(&mut self, ack: &Ack) {
    ///         if let Some(sample) = ack.rate.filter(|sample| Some(sample.rate()) > self.rate) {
    ///             self.rate = Some(sample.rate());
    ///             self.cwnd = (2 * sample.delivered / 960).max(4) as f64;
    ///         }
    ///     }
    ///     fn pacing_rate(&self) -> Option<Rate> {
    ///         self.rate
    ///     }
    ///     fn on_congestion(&mut self, _window: f64, _least: f64) {}
    ///     fn on_timeout(&mut self, _window: f64, _cut: bool) {}
    ///     fn set_cwnd(&mut self, _cwnd: f64) {}
    /// }
    ///
    /// let params = TcpParams::of(ProfileName::Linux);
    /// let make = |_: &Host| -> Box<dyn CongestionControl> { Box::new(Greatest { rate: None, cwnd: 10.0 }) };
    /// let host = Host::new(&params).with_controller("greatest", Arc::new(make))?;
    /// # assert_eq!(sluicegate_tcp::Connection::opener(&Arc::new(host), sluicegate_base::Span::ZERO).cwnd(), 10.0);
    /// # Ok::<(), String>(())
    /// ```
    pub fn with_controller(self, name: &str, make: Arc<MakeController>) -> Result<Host, String> {
        if !self.is_linux() {
            let controller = make(&self);
            if controller.wants_rate_samples() || controller.pacing_rate().is_some() {
                let has = "rate samples and a pace, which only Linux's hosts have";
                return Err(format!("controller {name:?} wants {has}: use profile linux, not {}", self.profile.word()));
            }
        }
        Ok(Host { controller: Some(OwnController { name: name.into(), make }), ..self })
    }

    /// Whether it is Linux's.
    #[must_use]
    pub fn is_linux(&self) -> bool {
        self.profile == ProfileName::Linux
    }

    /// Whether acknowledgements report what has come out of order.
    #[must_use]
    pub fn sack(&self) -> bool {
        self.is_linux() || self.algorithm == Algorithm::Sack
    }

    /// Whether each acknowledgement carries the congestion signal of its packet, and all packets may be marked.
    #[must_use]
    pub fn per_packet_feedback(&self) -> bool {
        self.algorithm.per_packet_feedback()
    }

    /// Bytes of a full packet of data, headers and options included.
    #[must_use]
    pub fn packet_bytes(&self) -> u32 {
        self.mss + self.header + self.algorithm.data_options()
    }

    /// Whether RFC 3168's answers to marks are in force.
    #[must_use]
    pub fn answers_marks(&self) -> bool {
        (self.ecn && !self.per_packet_feedback()) || matches!(self.algorithm, Algorithm::Dctcp | Algorithm::Prague)
    }

    /// Whether its senders are ns-2's Vegas.
    #[must_use]
    pub fn vegas_of_ns2(&self) -> bool {
        self.algorithm == Algorithm::Vegas && self.vegas_rules == VegasRules::Ns2
    }

    /// Whether connections open with an exchange before any data. ns-2's Vegas begins with data, and with a handshake
    /// with a single segment of it.
    #[must_use]
    pub fn opens(&self) -> bool {
        self.handshake && !self.vegas_of_ns2()
    }

    /// Whether what it sends is marked ECT(1), L4S's identifier (RFC 9331), instead of ECT(0).
    #[must_use]
    pub(crate) fn scalable(&self) -> bool {
        self.algorithm == Algorithm::Prague && self.controller.is_none()
    }

    /// A new congestion control for a connection of a Linux host; `phase` tells it from others where it draws.
    #[must_use]
    pub(crate) fn linux_controller(&self, phase: Span) -> Box<dyn Controller> {
        if let Some(own) = &self.controller {
            return Box::new(linux_cc::Own::new(own.make(self)));
        }
        match self.algorithm {
            Algorithm::Cubic => Box::new(linux_cc::Cubic::new(self.slow_start_exit, self.rto.tick, phase)),
            Algorithm::Bbr => Box::new(linux_cc::Bbr::new(Stream::new(phase.0, "bbr"))),
            Algorithm::Bbr3 => Box::new(linux_cc::Bbr3::new(Stream::new(phase.0, "bbr"))),
            Algorithm::Dctcp => Box::new(linux_cc::Dctcp::default()),
            Algorithm::Ledbat => Box::new(linux_cc::Ledbat::new(self.ledbat_target, self.ledbat_gain)),
            Algorithm::Prague => Box::new(linux_cc::Prague::default()),
            _ => Box::new(linux_cc::Reno),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profiles::{PROFILES, ProfileName};
    use sluicegate_base::{Params, Size};

    fn params() -> TcpParams {
        TcpParams::of(ProfileName::Ns2)
    }

    #[test]
    fn every_profile_fills_every_optional_field() {
        let names = [
            ProfileName::Ns2,
            ProfileName::Bsd43Tahoe,
            ProfileName::Red1993,
            ProfileName::FreeBsd45,
            ProfileName::Dcn2004,
            ProfileName::Linux,
        ];
        assert_eq!(PROFILES.len(), names.len());
        for (at, (profile, name)) in PROFILES.iter().zip(names).enumerate() {
            assert_eq!((profile.name, name as usize), (ProfileName::WORDS[at], at));
            for value in profile.values {
                let field = TcpParams::FIELDS.iter().find(|field| field.name == value.field);
                assert!(field.is_some(), "{}: no field {}", profile.name, value.field);
                assert!(!value.source.is_empty());
            }
            // Panics when a value is missing or of another kind.
            let host = Host::new(&TcpParams::of(name));
            assert!(host.mss > 0 && host.rto.min <= host.rto.max);
        }
        let host = Host::new(&params());
        assert_eq!((host.mss, host.window, host.initial_window), (960, 20 * 960, 2.0));
        assert_eq!(host.rto.min, Span::from_millis(200));
    }

    /// tcp_current_mss: the option of accurate ECN takes its 8 bytes from the payload, not from the link.
    #[test]
    fn options_of_each_packet_come_out_of_its_payload() {
        for (algorithm, mss) in [(Algorithm::Dctcp, 1448), (Algorithm::Prague, 1440)] {
            let host = Host::new(&TcpParams { algorithm: Some(algorithm), ..TcpParams::of(ProfileName::Linux) });
            assert_eq!((host.mss, host.packet_bytes()), (mss, 1500));
        }
    }

    /// Ticks of more than half a second are none of a Linux host: half a second has no tick then.
    #[test]
    fn the_tick_of_a_linux_host_has_a_bound() {
        let kept = |algorithm, ms| {
            let tick = Some(Span::from_millis(ms));
            let params = TcpParams { algorithm: Some(algorithm), clock_tick: tick, profile: None, ..params() };
            let values = params.values();
            TcpParams::from_values(&mut sluicegate_base::params::given(&values)).is_ok()
        };
        assert_eq!([500, 501].map(|ms| kept(Algorithm::Bbr, ms)), [true, false]);
        assert!(kept(Algorithm::Tahoe, 501));
    }

    /// RED 1993, Sec. V: "A threshold is set initially to half the receiver's advertised window."
    #[test]
    fn only_the_hosts_of_red_1993_begin_with_half_the_window_as_threshold() {
        let ssthresh = |profile, window| {
            let params = TcpParams { window: Some(Size::Packets(window)), ..TcpParams::of(profile) };
            Host::new(&params).initial_ssthresh
        };
        assert_eq!((ssthresh(ProfileName::Red1993, 33), ssthresh(ProfileName::Bsd43Tahoe, 33)), (16.5, 33.0));
        assert_eq!((ssthresh(ProfileName::Red1993, 3), ssthresh(ProfileName::Red1993, 1)), (2.0, 1.0));
        assert_eq!(ssthresh(ProfileName::Ns2, 1), 1.0);
    }

    #[test]
    fn a_given_value_beats_the_profile() {
        let host = Host::new(&TcpParams { window: Some(Size::Bytes(16_384)), min_rto: Some(Span(7)), ..params() });
        assert_eq!((host.window, host.rto.min), (16_384, Span(7)));
        assert_eq!(host.initial_ssthresh, 16_384.0 / 960.0);
    }
}
