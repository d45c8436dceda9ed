//! # TCP
//!
//! A transfer over TCP. The host profile says what the operating system or simulator that it stands for would use; every
//! value of a profile can be overridden.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | CHOKe 1999: packets of 1 kB, window 100 | `packet_size` counts the IP packet, headers included; the window counts full segments | throughput is then in IP bytes on every link; ns-2 adds 40 bytes to its `packetSize_`, so there 960 is the same; Vegas's agent adds none |
//! | RFC 9293: three segments open a connection | the opener's first data, or an acknowledgement when it has none, is the third; a lost answer is asked for again by the opener | what an exchange costs is the same |
//! | RFC 9293: TIME-WAIT and half-closed states | the end that is not written to closes as soon as it has seen the other's end | nothing reuses ports here |
//! | RFC 7323: timestamps time every acknowledgement | one segment is timed at a time (RFC 6298, Sec. 3); `header_size` may count the option's 12 bytes | the estimate hardly differs; ns-2's default |
//! | a timeout soon after a mark | it cuts the threshold unless the data marked is still under way | RFC 3168 leaves it open |
//! | Linux adds its least timeout to the round trip | the timeout is at least that long | RFC 6298; with round trips of 100 to 200 ms Linux waits longer |
//! | 4.3BSD's delayed acknowledgements go at a common heartbeat | each waits its own 200 ms | a heartbeat would tie the flows of one host together, and here each has its own |
//! | RFC 1122, Sec. 4.2.3.9: a source quench should start slow start as a timeout does, and so halve the threshold | the window closes to one segment, the threshold stays | 4.3BSD, `tcp_quench`; RFC 1122 leaves the procedure open |
//! | RFC 792: the quench is a packet, and may be lost | it always arrives, after the propagation delays of the way back | 56 bytes, and gateways send few |
//! | RFC 1016: packets leave at intervals that quenches lengthen | not built | a proposal that RED 1993 (Sec. II) mentions; what hosts did is 4.3BSD's |
//! | RED 1993: a source takes a random time to prepare a packet | `send_jitter`: packets of data are prepared one after another, each for its own time; acknowledgements are not | ns-2's `overhead_` waits once for all that a window lets out at once, and so do ends with `ns2_rules` |
//! | RFC 7661 and Linux close a window that was not used for some time | with `cwnd_validation` it does not grow; only a silence closes it, to `restart_window` | what was once the limit has been measured |
//! | RFC 2018: n ranges take 2 + 8n bytes | padded to 4 + 8n | as stacks align options; ns-2 adds 8n |
//!
//! With `ns2_rules` the ends follow ns-2 2.35 in these, too; then every acknowledgement comes when it has it
//! (`crates/netsim/tests/ns2_traces.rs`):
//!
//! (Vegas follows it with `vegas_rules`, the profile's: the tables are in `cc/vegas_ns2.rs` and `recovery/vegas_ns2.rs`.)
//!
//! | what the RFC says, and we do otherwise | what ns-2 does |
//! |---|---|
//! | 3168, Sec. 6.1.2: marks of data sent before a timeout are not answered again, nor keep the window from growing | both |
//! | 3168, Sec. 6.1: only new data may be marked and announces a reduction (CWR) | retransmissions too |
//! | 3168, Sec. 6.1.2: a mark halves the window to one segment at the least; a mark at one segment waits for the timer | it halves down to less than one segment, which waits for the timer |
//! | 3168, Sec. 6.1.3: a segment with CWR ends the echo | not of a mark that the same delayed acknowledgement reports |
//! | marks are answered at once | not before the first data is acknowledged |
//! | a timeout spares the threshold while the data marked is under way | whenever the last cut was for a mark |
//! | 5681, eq. 4: a loss halves the window to two segments at the least | no least window |
//! | 5681, Sec. 2: duplicates count while data is under way | always |
//! | 5681, Sec. 4.2: what is no new data is acknowledged at once | a repetition of the last segment in order may wait |
//! | 6582, Sec. 3.2: duplicates after a timeout bring no fast retransmit until what was sent before is acknowledged | they do while nothing is acknowledged (`bugfix_ss_`) |
//! | nothing on `send_jitter` | the window's packets wait; limited transmit does not, nor do retransmissions that duplicate and partial acknowledgements bring, except Tahoe's |
//! | 3168, Sec. 6.1.2: a mark of what was sent in a recovery cuts the window when that ends | and to SACK the recovery goes on |
//! | 5681, Sec. 3.1: after a lost SYN the window is one segment | and the threshold two |
//! | 6298, Sec. 3: what is sent again is not measured | a segment that SACK recovery sent first and again is |

use crate::cc::{self, CongestionController, VegasParams, VegasRules};
use crate::recovery::{self, LossRecovery, Pipe};
use crate::rtt::RtoConfig;
use alloc::boxed::Box;
use sluicegate_base::params::Parameter;
use sluicegate_base::{About, Declared, Range, Size, Span, Value, choices, params};

choices! {
    /// The congestion control of a sender: a loss recovery and a congestion controller.
    pub enum Algorithm {
        /// Fast retransmit into slow start.
        Tahoe = "tahoe",
        /// Fast recovery until the first new acknowledgement.
        Reno = "reno",
        /// Fast recovery until all that was sent before is acknowledged (RFC 6582).
        NewReno = "newreno",
        /// Recovery by selective acknowledgements (RFC 6675).
        Sack = "sack",
        /// CUBIC's window (RFC 9438) with SACK's recovery.
        Cubic = "cubic",
        /// DECbit's window (Ramakrishnan & Jain 1990) with Tahoe's recovery; heeds the bit of every packet.
        DecBit = "decbit",
        /// UT/LT's window (Pingali, Tipper & Hammond 1990) with Tahoe's recovery; heeds the label of every packet.
        UtLt = "ut_lt",
        /// No congestion control: the receiver's window, always (TCP before 1988), with NewReno's recovery.
        Fixed = "fixed",
        /// Vegas's window (Brakmo & Peterson 1995), which follows the delay, with NewReno's recovery, or with its own where
        /// vegas_rules = ns2.
        Vegas = "vegas",
    }
}

impl Algorithm {
    /// Every algorithm, in the order of declaration.
    pub fn all() -> impl Iterator<Item = Algorithm> + Clone {
        Algorithm::WORDS.iter().filter_map(|word| Algorithm::from_value(Value::Choice(word)))
    }
}

choices! {
    /// Whether the congestion window grows while something else limits the sender.
    pub enum CwndValidation {
        /// It grows with every acknowledgement.
        None = "none",
        /// Only while it was the limit in the last window of data; in slow start, while half of it was used (Linux).
        Linux = "linux",
    }
}

choices! {
    /// Whose defaults a host has.
    pub enum ProfileName {
        /// ns-2 version 2.35.
        Ns2 = "ns2",
        /// 4.3BSD-Tahoe, 1988.
        Bsd43Tahoe = "bsd43-tahoe",
        /// The simulated hosts of RED 1993.
        Red1993 = "red1993",
        /// FreeBSD 4.5, 2002.
        FreeBsd45 = "freebsd45",
        /// The end hosts of DCN 2004.
        Dcn2004 = "dcn2004",
        /// Linux as it ships in the 2020s.
        Modern = "modern",
    }
}

params! {
    /// Parameters of a TCP transfer.
    pub struct TcpParams {
        /// The sender's congestion control.
        algorithm: Option<Algorithm> = optional("as the profile says"), positional(true),
            source("CHOKe 1999 does not say; ns-2");
        /// Whose defaults apply to what is not given here.
        profile: ProfileName = default(ProfileName::Ns2), source("the CHOKe report's simulator");
        /// The receiver's advertised window.
        window: Option<Size> = optional("as the profile says"), unit("packets"), range(Range::from(1.0).to(1e9)),
            source("RFC 9293");
        /// Length of a full IP packet, headers included.
        packet_size: Option<Size> = optional("as the profile says"), unit("B"), range(Range::POSITIVE.to(65535.0)),
            source("CHOKe 1999, Sec. 4");
        /// Length of the IP and TCP headers, and so of a bare acknowledgement.
        header_size: Option<Size> = optional("as the profile says"), unit("B"), range(Range::from(20.0).to(120.0)),
            source("RFC 9293; ns-2, tcpip_base_hdr_size_");
        /// Congestion window at the start.
        initial_window: Option<f64> = optional("as the profile says"), unit("packets"), range(Range::from(1.0).to(1e6)),
            source("RFC 5681, RFC 6928");
        /// Slow-start threshold at the start.
        initial_ssthresh: Option<f64> = optional("the advertised window; half of it for profile red1993"), unit("packets"),
            range(Range::from(2.0).to(1e9)),
            source("RFC 5681");
        /// Most of the congestion window that is left after an idle timeout.
        restart_window: Option<f64> = optional("as the profile says"), unit("packets"), range(Range::from(1.0).to(1e6)),
            source("RFC 5681, Sec. 4.1");
        /// Whether the congestion window grows while the application or the receiver limits the sender.
        cwnd_validation: Option<CwndValidation> = optional("as the profile says"), source("Linux, tcp_is_cwnd_limited; RFC 7661");
        /// Whether another timeout of the same segment lowers the slow-start threshold again.
        repeated_timeout_cut: Option<bool> = optional("as the profile says"), source("RFC 5681, Sec. 3.1: it does not");
        /// Least retransmission timeout.
        min_rto: Option<Span> = optional("as the profile says"), source("RFC 6298");
        /// Largest retransmission timeout.
        max_rto: Option<Span> = optional("as the profile says"), range(Range::POSITIVE), source("RFC 6298");
        /// Retransmission timeout before the first measurement.
        initial_rto: Option<Span> = optional("as the profile says"), range(Range::POSITIVE), source("RFC 6298");
        /// Granularity of the retransmission clock.
        clock_tick: Option<Span> = optional("as the profile says"), range(Range::from(1e-6)), source("RFC 6298, G");
        /// Send one new packet for each of the first two duplicate acknowledgements.
        limited_transmit: Option<bool> = optional("as the profile says"), source("RFC 3042");
        /// How long the first of two acknowledgements may wait; 0 s acknowledges each packet at once.
        delayed_ack: Option<Span> = optional("as the profile says"), source("RFC 5681, Sec. 4.2");
        /// Whether both ends use explicit congestion notification; decbit and ut_lt have their own, whatever is said here.
        ecn: Option<bool> = optional("as the profile says"), source("RFC 3168");
        /// Whether the sender closes its window to one segment for each source quench of a gateway.
        source_quench: Option<bool> = optional("as the profile says"), source("4.3BSD, tcp_quench; RFC 1122, Sec. 4.2.3.9");
        /// Most of the time that each packet of data takes to prepare, uniform between zero and this, one after another; with
        /// `ns2_rules` one time for all that the window lets out, and none for retransmissions.
        send_jitter: Span = default(Span::ZERO), source("RED 1993, Secs. V and IX: the bottleneck's service time; ns-2, overhead_");
        /// Whether the ends follow ns-2 where its hosts depart from the RFCs; the table of this module lists where.
        ns2_rules: Option<bool> = optional("as the profile says"), source("ns-2, tcp.cc and tcp-sink.cc");
        /// How SACK recovery knows what is under way.
        pipe: Option<Pipe> = optional("as the profile says"), source("RFC 6675; Fall & Floyd 1996");
        /// Whose Vegas the algorithm vegas is.
        vegas_rules: Option<VegasRules> = optional("as the profile says"),
            source("Brakmo & Peterson 1995; Tang, Wang & Low 2004, Sec. V-C; ns-2, tcp-vegas.cc");
        /// Vegas: packets that a flow keeps in queues; with fewer its window grows.
        vegas_alpha: f64 = default(1.0), unit("packets"), range(Range::from(0.0).to(1e6)), source("ns-2, v_alpha_");
        /// Vegas: with more than these its window shrinks.
        vegas_beta: f64 = default(3.0), unit("packets"), range(Range::from(0.0).to(1e6)), source("ns-2, v_beta_");
        /// Vegas: with more than these its slow start ends.
        vegas_gamma: f64 = default(1.0), unit("packets"), range(Range::from(0.0).to(1e6)), source("ns-2, v_gamma_");
        /// Vegas: share of the window that a fast retransmit takes away; 0 leaves the window to the delay alone.
        vegas_cut: f64 = default(0.25), unit("1"), range(Range::from(0.0).to(0.9)),
            source("Brakmo & Peterson 1995; ns-2, tcp-vegas.cc; Tang, Wang & Low 2004, Sec. V-C: no cut");
        /// Whether the connection opens with an exchange of SYNs; otherwise it starts established.
        handshake: Option<bool> = optional("as the profile says"), source("RFC 9293; ns-2, syn_");
        /// Whether a limited transfer ends with an exchange of FINs.
        closing: Option<bool> = optional("as the profile says"), source("RFC 9293");
    }
    rules {
        "packet_size and header_size are in bytes" [packet_size, header_size] |p| {
            let bytes = |size: &Option<Size>| !matches!(size, Some(Size::Packets(_)));
            bytes(&p.packet_size) && bytes(&p.header_size)
        };
        "header_size < packet_size" [packet_size, header_size] |p| Host::sizes(p).is_some();
        "decbit and ut_lt acknowledge every packet at once: delayed_ack = 0 s" [delayed_ack, algorithm, profile] |p| {
            let host = Host::new(p);
            !host.per_packet_feedback() || host.delayed_ack == Span::ZERO
        };
        "vegas_alpha <= vegas_beta" [vegas_alpha, vegas_beta] |p| p.vegas_alpha <= p.vegas_beta;
        "2 clock_tick <= max_rto" [clock_tick, max_rto] |p| {
            let host = Host::new(p);
            host.rto.tick.0.saturating_mul(2) <= host.rto.max.0
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

/// What a kind of host uses by default.
#[derive(Clone, Copy)]
pub struct Profile {
    /// Its name in scenarios.
    pub name: &'static str,
    /// Whom it stands for.
    pub summary: &'static str,
    /// The slow-start threshold at the start, as a share of the advertised window.
    pub initial_ssthresh: f64,
    /// Its values.
    pub values: &'static [ProfileValue],
}

/// All profiles, in the order of [`ProfileName`].
pub const PROFILES: &[Profile] = crate::profiles::ALL;

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
    /// Most of the window that is left after an idle timeout, in segments.
    pub restart_window: f64,
    /// Whether the window grows while something else limits the sender.
    pub cwnd_validation: CwndValidation,
    /// Whether another timeout of the same segment lowers the threshold again.
    pub repeated_timeout_cut: bool,
    /// The retransmission timer.
    pub rto: RtoConfig,
    /// Whether the first two duplicate acknowledgements let a new segment out.
    pub limited_transmit: bool,
    /// How long an acknowledgement may wait for a second segment; zero for not at all.
    pub delayed_ack: Span,
    /// Whether packets may be marked instead of dropped.
    pub ecn: bool,
    /// Whether a source quench closes the window.
    pub source_quench: bool,
    /// The most that a packet of data takes to prepare; whoever drives the ends makes them wait.
    pub send_jitter: Span,
    /// Whether the ends follow ns-2 where its hosts depart from the RFCs.
    pub ns2_rules: bool,
    /// How SACK recovery knows what is under way.
    pub pipe: Pipe,
    /// What Vegas keeps in queues, and what a loss costs it.
    pub vegas: VegasParams,
    /// Whose Vegas it is.
    pub vegas_rules: VegasRules,
    /// Whether connections open with an exchange.
    pub handshake: bool,
    /// Whether a limited transfer ends with an exchange.
    pub closing: bool,
}

impl Host {
    /// The host that these parameters describe.
    #[must_use]
    pub fn new(params: &TcpParams) -> Host {
        let profile = &PROFILES[params.profile as usize];
        let (mss, header) = Host::sizes(params).unwrap_or((1, 40));
        let window = match pick(&params.window, profile, "window") {
            Size::Packets(n) => n.saturating_mul(u64::from(mss)),
            Size::Bytes(n) => n,
        };
        // Two segments at the least, as for every later threshold, if the window holds as many.
        let full = window as f64 / f64::from(mss);
        let share = (profile.initial_ssthresh * full).max(full.min(2.0));
        Host {
            algorithm: pick(&params.algorithm, profile, "algorithm"),
            mss,
            header,
            window,
            initial_window: pick(&params.initial_window, profile, "initial_window"),
            initial_ssthresh: params.initial_ssthresh.unwrap_or(share),
            restart_window: pick(&params.restart_window, profile, "restart_window"),
            cwnd_validation: pick(&params.cwnd_validation, profile, "cwnd_validation"),
            repeated_timeout_cut: pick(&params.repeated_timeout_cut, profile, "repeated_timeout_cut"),
            rto: RtoConfig {
                tick: pick(&params.clock_tick, profile, "clock_tick"),
                min: pick(&params.min_rto, profile, "min_rto"),
                max: pick(&params.max_rto, profile, "max_rto"),
                initial: pick(&params.initial_rto, profile, "initial_rto"),
            },
            limited_transmit: pick(&params.limited_transmit, profile, "limited_transmit"),
            delayed_ack: pick(&params.delayed_ack, profile, "delayed_ack"),
            ecn: pick(&params.ecn, profile, "ecn"),
            source_quench: pick(&params.source_quench, profile, "source_quench"),
            send_jitter: params.send_jitter,
            ns2_rules: pick(&params.ns2_rules, profile, "ns2_rules"),
            pipe: pick(&params.pipe, profile, "pipe"),
            vegas: VegasParams {
                alpha: params.vegas_alpha,
                beta: params.vegas_beta,
                gamma: params.vegas_gamma,
                cut: params.vegas_cut,
            },
            vegas_rules: pick(&params.vegas_rules, profile, "vegas_rules"),
            handshake: pick(&params.handshake, profile, "handshake"),
            closing: pick(&params.closing, profile, "closing"),
        }
    }

    /// Bytes of a full segment and of its headers; `None` when the headers leave no room.
    fn sizes(params: &TcpParams) -> Option<(u32, u32)> {
        let profile = &PROFILES[params.profile as usize];
        let bytes = |size| if let Size::Bytes(n) = size { n as u32 } else { 0 };
        let header = bytes(pick(&params.header_size, profile, "header_size"));
        let packet = bytes(pick(&params.packet_size, profile, "packet_size"));
        packet.checked_sub(header).filter(|&mss| mss > 0).map(|mss| (mss, header))
    }

    /// Whether acknowledgements report what has come out of order.
    #[must_use]
    pub fn sack(&self) -> bool {
        matches!(self.algorithm, Algorithm::Sack | Algorithm::Cubic)
    }

    /// Whether each acknowledgement carries the congestion signal of its packet, and all packets may be marked.
    #[must_use]
    pub fn per_packet_feedback(&self) -> bool {
        matches!(self.algorithm, Algorithm::DecBit | Algorithm::UtLt)
    }

    /// Whether RFC 3168's answers to marks are in force.
    #[must_use]
    pub fn answers_marks(&self) -> bool {
        self.ecn && !self.per_packet_feedback()
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

    /// A new window for a connection of this host.
    #[must_use]
    pub fn congestion_control(&self) -> CongestionController {
        let most = self.window as f64 / f64::from(self.mss);
        match self.algorithm {
            Algorithm::Cubic => CongestionController::other(cc::Cubic::new(self.initial_window, self.initial_ssthresh)),
            Algorithm::DecBit => CongestionController::other(cc::DecBit::new(self.initial_window, most)),
            Algorithm::UtLt => CongestionController::other(cc::UtLt::new(self.initial_window, most)),
            Algorithm::Fixed => CongestionController::other(cc::Fixed::new(most)),
            Algorithm::Vegas if self.vegas_of_ns2() => {
                let opening = if self.handshake { 1.0 } else { self.initial_window };
                CongestionController::other(cc::VegasNs2::new(opening, self.initial_ssthresh, self.vegas))
            }
            Algorithm::Vegas => {
                CongestionController::other(cc::Vegas::new(self.initial_window, self.initial_ssthresh, self.vegas))
            }
            _ => CongestionController::Reno(cc::Reno::new(self.initial_window, self.initial_ssthresh)),
        }
    }

    /// A new loss recovery for a connection of this host.
    #[must_use]
    pub fn recovery(&self) -> LossRecovery {
        match self.algorithm {
            Algorithm::Tahoe | Algorithm::DecBit | Algorithm::UtLt => LossRecovery::Tahoe(recovery::Tahoe),
            Algorithm::Reno => LossRecovery::Reno(recovery::Reno::default()),
            Algorithm::Vegas if self.vegas_of_ns2() => {
                let window = self.window / u64::from(self.mss);
                LossRecovery::VegasNs2(Box::new(recovery::VegasNs2::new(window, self.initial_window, self.vegas.cut)))
            }
            Algorithm::NewReno | Algorithm::Fixed | Algorithm::Vegas => {
                LossRecovery::NewReno(recovery::NewReno::default())
            }
            Algorithm::Sack | Algorithm::Cubic => LossRecovery::other(recovery::Sack::new(self.pipe)),
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
        let names = [
            ProfileName::Ns2,
            ProfileName::Bsd43Tahoe,
            ProfileName::Red1993,
            ProfileName::FreeBsd45,
            ProfileName::Dcn2004,
            ProfileName::Modern,
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
            let host = Host::new(&TcpParams { profile: name, ..params() });
            assert!(host.mss > 0 && host.rto.min <= host.rto.max && host.restart_window <= host.initial_window);
        }
        let host = Host::new(&params());
        assert_eq!((host.mss, host.window, host.initial_window), (960, 20 * 960, 2.0));
        assert_eq!(host.rto.min, Span::from_millis(200));
    }

    /// RED 1993, Sec. V: "A threshold is set initially to half the receiver's advertised window."
    #[test]
    fn only_the_hosts_of_red_1993_begin_with_half_the_window_as_threshold() {
        let ssthresh = |profile, window| {
            let params = TcpParams { profile, window: Some(Size::Packets(window)), ..params() };
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
