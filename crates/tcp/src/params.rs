//! # TCP
//!
//! A transfer over TCP between two hosts: today's Linux, or those of a paper's simulator or machines. The profile says
//! which; you can override each of its values.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | CHOKe 1999: packets of 1 kB, window 100 | `packet_size` counts the IP packet, headers included; the window counts full segments | throughput is then in IP bytes on every link; ns-2 adds 40 bytes to its `packetSize_`, so there 960 is the same; Vegas's agent adds none |
//! | RFC 9293, Sec. 3.10.7.4: an old SYN on an open connection is answered by an acknowledgement | it is ignored | nothing depends on the answer |
//! | RFC 9293: TIME-WAIT and half-closed states | a host that has nothing to send closes as soon as it has received the other's FIN | nothing reuses ports here |
//! | RFC 2018: n ranges take 2 + 8n bytes | padded to 4 + 8n | as stacks align options; ns-2 adds 8n |
//!
//! Where the simulated Linux hosts differ from Linux, the comments on their parts say so (`crates/tcp/src/linux`). The papers' hosts:
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | RFC 9293: three segments open a connection | the opener's first data, or an acknowledgement when it has none, is the third; if the SYN-ACK is lost, the opener repeats its SYN | what an exchange costs is the same |
//! | 4.3BSD, FreeBSD 4, `tcp_input.c`: the acknowledgement of the SYN-ACK opens the passive end's window by one segment | it does not | RFC 5681, Sec. 3.1: it must not; `initial_window` is the window of both ends |
//! | RFC 7323: timestamps time every acknowledgement | one segment is timed at a time, first the SYN or SYN-ACK unless it was repeated (RFC 6298, Sec. 3); `header_size` may count the option's 12 bytes | the estimate hardly differs; ns-2's default |
//! | RFC 3168, Sec. 6.1.2: the threshold should not fall twice in a round trip, unless something sent again is lost | a timeout after a mark lowers it unless data sent before the sender answered the mark is still unacknowledged | the round trip ends when that data is acknowledged |
//! | 4.3BSD's delayed acknowledgements go at a common heartbeat | each waits its own 200 ms | a heartbeat would tie the flows of one host together, and here each flow has its own host |
//! | RFC 1122, Sec. 4.2.3.9: a source quench should start slow start as a timeout does, and so halve the threshold | the window closes to one segment, the threshold stays | 4.3BSD, `tcp_quench`; RFC 1122 leaves the procedure open |
//! | RFC 792: the quench is a packet, and may be lost | it always arrives, after the propagation delays of the way back | 56 bytes, and gateways send few |
//! | RFC 1016: packets leave at intervals that quenches lengthen | not built | a proposal that RED 1993 (Sec. II) mentions; what hosts did is 4.3BSD's |
//! | RED 1993: a source takes a random time to prepare a packet | `send_jitter`: packets of data are prepared one after another, each for its own time; acknowledgements are not | ns-2's `overhead_` waits once for all that a window lets out at once, and so do ends with `ns2_rules` |
//! | RFC 7661: a window that was not used does not grow, and closes | it grows with every acknowledgement; after an idle timeout it is one segment | ns-2 (`control_increase_` 0) and BSD |
//! | RFC 5681, Sec. 3.1: another timeout of the same segment leaves the threshold as it is | each lowers it | ns-2, 4.3BSD and FreeBSD 4.5, at every expiry |
//!
//! Vegas follows ns-2 2.35 with `vegas_rules` = ns2, the default of profile `ns2`: the tables are in
//! `papers/cc/vegas_ns2.rs` and `papers/recovery/vegas_ns2.rs`. With `ns2_rules` the ends follow ns-2 in the points
//! below, too; then every acknowledgement comes at ns-2's time (`crates/netsim/tests/ns2_traces.rs`):
//!
//! | what the RFC says, and we do without `ns2_rules` | what ns-2 does |
//! |---|---|
//! | 3168, Sec. 6.1.2: marks of data sent before a timeout are not answered again, nor keep the window from growing | they are, and they do |
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
//! | 3168, Sec. 6.1.2: a mark of what was sent in a recovery cuts the window as the recovery ends | it cuts the window, but SACK's recovery then goes on |
//! | 5681, Sec. 3.1: after a lost SYN the window is one segment | and the threshold two |
//! | 6298, Sec. 3: what is sent again is not measured | a segment is measured if SACK recovery sent it first and sent it again |

use crate::papers::cc::VegasRules;
use crate::profiles::{PROFILES, Profile, ProfileName};
use crate::segment::ACCURATE_BYTES;
use alloc::string::String;
use sluicegate_base::params::Parameter;
use sluicegate_base::{About, Declared, Link, Params, Range, Rate, Size, Span, Value, choices, params};

choices! {
    /// The congestion control of a sender: a loss recovery and a congestion controller.
    pub enum Algorithm {
        /// Fast retransmit into slow start.
        Tahoe = "tahoe",
        /// Fast recovery until the first new acknowledgement; with profile linux it is Linux's Reno, with SACK,
        /// RACK-TLP and PRR.
        Reno = "reno",
        /// Fast recovery until all that was sent before is acknowledged (RFC 6582).
        NewReno = "newreno",
        /// Recovery by selective acknowledgements (Fall & Floyd 1996); with profile linux: Linux's Reno, as for reno and newreno.
        Sack = "sack",
        /// CUBIC (RFC 9438), as Linux has it; the default of profile linux.
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
        /// LEDBAT's window (RFC 6817), which gives way to all others; only on Linux's hosts.
        Ledbat = "ledbat",
        /// BBR, version 1 (Cardwell et al. 2016), as Linux has it; it ignores ECN marks.
        Bbr = "bbr",
        /// BBR, version 3 (draft-ietf-ccwg-bbr).
        Bbr3 = "bbr3",
        /// DCTCP (RFC 8257): the window falls by half the share of packets that were marked.
        Dctcp = "dctcp",
        /// Prague, L4S's congestion control, with accurate ECN and ECT(1) (RFC 9330, RFC 9331, RFC 9768).
        Prague = "prague",
    }
}

impl Algorithm {
    /// Those that hosts of this profile have, in the order of declaration.
    pub fn of(profile: ProfileName) -> impl Iterator<Item = Algorithm> + Clone {
        Algorithm::ALL.iter().copied().filter(move |algorithm| algorithm.runs_on(profile))
    }

    /// Whether hosts of this profile have it: Linux's and the papers' share Reno, NewReno and SACK, which are one to Linux.
    #[must_use]
    pub fn runs_on(self, profile: ProfileName) -> bool {
        use Algorithm::{Bbr, Bbr3, Cubic, Dctcp, Ledbat, NewReno, Prague, Reno, Sack};
        let linux = matches!(self, Cubic | Ledbat | Bbr | Bbr3 | Dctcp | Prague);
        linux == (profile == ProfileName::Linux) || matches!(self, Reno | NewReno | Sack)
    }

    /// Bytes of the options that each packet of data has beside `header_size`: those of accurate ECN. Linux takes them from the
    /// payload (tcp_current_mss).
    #[must_use]
    pub fn data_options(self) -> u32 {
        if self == Algorithm::Prague { ACCURATE_BYTES } else { 0 }
    }

    /// Whether each acknowledgement carries the congestion signal of its packet, and all packets may be marked.
    #[must_use]
    pub fn per_packet_feedback(self) -> bool {
        matches!(self, Algorithm::DecBit | Algorithm::UtLt)
    }
}

choices! {
    /// How slow start may end before a loss.
    pub enum SlowStartExit {
        /// It does not.
        None = "none",
        /// By trains of acknowledgements and by delay, as Linux has it (HyStart; Ha & Rhee 2011).
        HyStart = "hystart",
        /// By delay, with a conservative phase that may end again (RFC 9406).
        HyStartPlusPlus = "hystart_plus_plus",
    }
}

params! {
    /// Parameters of a TCP transfer.
    pub struct TcpParams {
        /// The sender's congestion control.
        algorithm: Option<Algorithm> = optional("as the profile says"), positional(true),
            source("CHOKe 1999 does not say; ns-2");
        /// Whose hosts these are: Linux's of today, or those of a paper. The profile gives the values of keys that are left
        /// out here. Without a profile, what only the papers' hosts have (`tahoe`, `vegas`, `decbit`, `ut_lt`, `fixed`,
        /// `ns2_rules`, a `send_jitter`) implies ns2.
        profile: Option<ProfileName> = optional("linux; ns2 if a key or value needs the papers' hosts"),
            source("hosts of today, unless a paper's are asked for");
        /// The receiver's advertised window; with profile linux the largest that it becomes (less with segments below
        /// 1152 B).
        window: Option<Size> = optional("as the profile says"), unit("packets"), range(Range::from(1.0).to(1e9)),
            source("RFC 9293");
        /// Length of a full IP packet, headers included.
        packet_size: Option<Size> = optional("as the profile says"), unit("B"), range(Range::POSITIVE.to(65535.0)),
            source("CHOKe 1999, Sec. 4");
        /// Length of the IP and TCP headers, and so of a bare acknowledgement.
        header_size: Option<Size> = optional("as the profile says"), unit("B"), range(Range::from(20.0).to(120.0)),
            source("RFC 9293; ns-2, tcpip_base_hdr_size_");
        /// Congestion window at the start.
        initial_window: Option<f64> = optional("as the profile says; 2 packets for ledbat"), unit("packets"), range(Range::from(1.0).to(1e6)),
            source("RFC 5681, RFC 6928; RFC 6817, Sec. 2.5");
        /// Slow-start threshold at the start.
        initial_ssthresh: Option<f64> = optional("the advertised window; half of it for profile red1993"), unit("packets"),
            range(Range::from(2.0).to(1e9)),
            source("RFC 5681");
        /// Least retransmission timeout.
        min_rto: Option<Span> = optional("as the profile says"), source("RFC 6298");
        /// Largest retransmission timeout.
        max_rto: Option<Span> = optional("as the profile says"), range(Range::POSITIVE), source("RFC 6298");
        /// Retransmission timeout before the first measurement.
        initial_rto: Option<Span> = optional("as the profile says"), range(Range::POSITIVE), source("RFC 6298");
        /// How many repetitions of a SYN wait no longer than the previous one; later ones double the wait.
        syn_linear_timeouts: Option<u64> = optional("as the profile says"),
            source("FreeBSD 4, tcp_timer.c: tcp_syn_backoff; Linux 6.5, tcp_syn_linear_timeouts; RFC 6298: none");
        /// Granularity of the retransmission clock; with profile linux the tick of all timers, and of CUBIC's steps.
        clock_tick: Option<Span> = optional("as the profile says"), range(Range::from(1e-6)), source("RFC 6298, G");
        /// How far the hosts' clocks are ahead of the simulation's: one value for all, as for the programs of one machine,
        /// whose timers expire at the same ticks.
        // `Clock` keeps it in 32 bits of nanoseconds.
        clock_phase: Option<Span> = optional("for each host a time of its own within a tick"), range(Range::from(0.0).to(4.0)),
            source("Linux: one jiffies for all connections of a machine");
        /// Send one new packet for each of the first two duplicate acknowledgements (the papers' hosts).
        limited_transmit: Option<bool> = optional("as the profile says; it does not exist with profile linux"), source("RFC 3042");
        /// How long the first of two acknowledgements may wait; 0 s acknowledges each packet at once.
        delayed_ack: Option<Span> = optional("as the profile says"), source("RFC 5681, Sec. 4.2");
        /// Whether both ends use explicit congestion notification; decbit and ut_lt always use their own.
        ecn: Option<bool> = optional("as the profile says"), source("RFC 3168");
        /// Whether the sender closes its window to one segment for each source quench of a gateway (the papers' hosts).
        source_quench: Option<bool> = optional("as the profile says; it does not exist with profile linux, which ignores quenches (RFC 6633)"),
            source("4.3BSD, tcp_quench; RFC 1122, Sec. 4.2.3.9");
        /// Each data packet takes a time to prepare, uniform between zero and this, one after another; with `ns2_rules`
        /// it is one time for all packets that the window releases, and none for retransmissions.
        send_jitter: Span = default(Span::ZERO), source("RED 1993, Secs. V and IX: the bottleneck's service time; ns-2, overhead_");
        /// Whether the sender's device does the segmentation (GSO), with profile linux: a burst then leaves as one buffer of several
        /// segments, ends with PSH, and waits for more if it is short. Without GSO a buffer has one segment, none waits, and
        /// PSH ends a write or half a window.
        gso: bool = default(true), source("Linux; off as with `ip link set DEVICE gso_max_segs 1`");
        /// How the slow start of `cubic` may end before a loss.
        slow_start_exit: SlowStartExit = default(SlowStartExit::HyStart), source("Linux, tcp_cubic.c; RFC 9406");
        /// Whether the ends follow ns-2 where its hosts depart from the RFCs; a table in crates/tcp/src/params.rs lists where.
        /// Linux's hosts never do.
        ns2_rules: Option<bool> = optional("as the profile says; it does not exist with profile linux"), source("ns-2, tcp.cc and tcp-sink.cc");
        /// Whose rules the algorithm vegas follows: the paper's or ns-2's.
        vegas_rules: Option<VegasRules> = optional("as the profile says; it does not exist with profile linux"),
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
        /// LEDBAT: the queueing delay that a flow keeps; beyond it its window shrinks.
        ledbat_target: Span = default(Span::from_millis(100)), range(Range::above(0.0).to(60.0)),
            source("RFC 6817, Sec. 2.5: at most 100 ms");
        /// LEDBAT: how fast the window follows the target; at 1 it grows as fast as Reno's at most.
        ledbat_gain: f64 = default(1.0), unit("1"), range(Range::above(0.0).to(100.0)),
            source("RFC 6817, Sec. 2.5: at most 1; RFC 7928, Sec. 5.4: 10");
        /// A congestion control of your own, written in Rust: `path.rs:Type`. On the papers' hosts `algorithm` then chooses the
        /// loss recovery alone.
        controller: Option<String> = optional("that of algorithm"), source("Sluicegate");
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
        "header_size < packet_size, with prague by more than the 8 B of accurate ECN" [packet_size, header_size, algorithm] |p| p.segment_sizes().is_some();
        "tahoe, vegas, decbit, ut_lt and fixed are of the papers' hosts: leave profile out, or use a paper's, such as ns2"
            [algorithm, profile] |p| {
            p.profile() != ProfileName::Linux || p.algorithm.is_none_or(|algorithm| algorithm.runs_on(ProfileName::Linux))
        };
        "cubic, ledbat, bbr, bbr3, dctcp and prague are of Linux's hosts: leave profile out, or say linux"
            [algorithm, profile] |p| p.profile.is_none() || p.algorithm.is_none_or(|algorithm| algorithm.runs_on(p.profile()));
        "send_jitter is of the papers' hosts: use a paper's profile, such as ns2, and an algorithm of its hosts"
            [send_jitter, profile] |p| p.send_jitter == Span::ZERO || p.is_papers();
        "ns2_rules is of the papers' hosts: use a paper's profile, such as ns2, and an algorithm of its hosts"
            [ns2_rules, profile] |p| p.ns2_rules != Some(true) || p.is_papers();
        "limited_transmit, source_quench and vegas_rules are of the papers' hosts: use a paper's profile, such as ns2"
            [limited_transmit, source_quench, vegas_rules, profile] |p| {
            let given = p.limited_transmit.is_some() || p.source_quench.is_some() || p.vegas_rules.is_some();
            !given || p.profile() != ProfileName::Linux
        };
        "decbit and ut_lt acknowledge every packet at once: delayed_ack = 0 s" [delayed_ack, algorithm, profile] |p| {
            let delayed_ack: Span = p.resolve(&p.delayed_ack, "delayed_ack");
            !p.resolve(&p.algorithm, "algorithm").per_packet_feedback() || delayed_ack == Span::ZERO
        };
        "vegas_alpha <= vegas_beta" [vegas_alpha, vegas_beta] |p| p.vegas_alpha <= p.vegas_beta;
        "clock_tick <= 0.5 s with profile = linux, which has 1 to 10 ms (HZ)" [clock_tick, profile] |p| {
            p.profile() != ProfileName::Linux || p.rto().tick <= Span::from_millis(500)
        };
        "2 clock_tick <= max_rto" [clock_tick, max_rto] |p| {
            let rto = p.rto();
            rto.tick.0.saturating_mul(2) <= rto.max.0
        };
        "min_rto <= max_rto" [min_rto, max_rto] |p| {
            let rto = p.rto();
            rto.min <= rto.max
        };
        "window holds a full packet" [window, packet_size] |p| {
            let (mss, _) = p.segment_sizes_or_least();
            p.window_bytes(mss) >= u64::from(mss)
        };
    }
}

impl TcpParams {
    /// Nothing given but a profile.
    ///
    /// # Panics
    /// Never: every profile keeps the rules, which a test checks.
    #[must_use]
    pub fn of(profile: ProfileName) -> TcpParams {
        let profile = || Some(Value::Choice(PROFILES[profile as usize].name));
        let mut given = |at: usize| if Self::FIELDS[at].name == "profile" { profile() } else { None };
        Self::build(&mut given, &Link { rate: Rate(1), packet: 1 }).expect("a profile keeps the rules")
    }

    /// Whose hosts they are: as given, or else as [`profile_of`] says.
    #[must_use]
    pub fn profile(&self) -> ProfileName {
        let values = self.values();
        profile_of(&|name| Self::FIELDS.iter().position(|field| field.name == name).and_then(|at| values[at].clone()))
    }

    /// Whether they are those of a paper, which have the algorithm that is asked for.
    fn is_papers(&self) -> bool {
        let profile = self.profile();
        profile != ProfileName::Linux && self.algorithm.is_none_or(|algorithm| algorithm.runs_on(profile))
    }

    /// The profile whose defaults apply.
    #[must_use]
    pub fn defaults_of(&self) -> &'static Profile {
        &PROFILES[self.profile() as usize]
    }

    /// What is given for a field, or else the profile's value.
    pub(crate) fn resolve<T: Parameter + Clone>(&self, given: &Option<T>, field: &str) -> T {
        let default = || self.defaults_of().value(field).and_then(T::from_value);
        given.clone().or_else(default).expect("a profile has every value")
    }

    /// The same for a field that only the papers' hosts have.
    pub(crate) fn of_papers<T: Parameter + Clone>(&self, given: &Option<T>, field: &str) -> Option<T> {
        given.clone().or_else(|| self.defaults_of().value(field).and_then(T::from_value))
    }

    /// Bytes of a full segment and of its headers; `None` when the headers leave no room.
    pub(crate) fn segment_sizes(&self) -> Option<(u32, u32)> {
        let bytes = |size| if let Size::Bytes(n) = size { n as u32 } else { 0 };
        let header = bytes(self.resolve(&self.header_size, "header_size"));
        let packet = bytes(self.resolve(&self.packet_size, "packet_size"));
        let algorithm: Algorithm = self.resolve(&self.algorithm, "algorithm");
        packet.checked_sub(header + algorithm.data_options()).filter(|&mss| mss > 0).map(|mss| (mss, header))
    }

    /// The same, with the least segment where the headers leave no room.
    pub(crate) fn segment_sizes_or_least(&self) -> (u32, u32) {
        self.segment_sizes().unwrap_or((1, 40))
    }

    /// The receiver's window.
    pub(crate) fn window_bytes(&self, mss: u32) -> u64 {
        match self.resolve(&self.window, "window") {
            Size::Packets(n) => n.saturating_mul(u64::from(mss)),
            Size::Bytes(n) => n,
        }
    }

    /// The retransmission timer.
    pub(crate) fn rto(&self) -> RtoConfig {
        RtoConfig {
            tick: self.resolve(&self.clock_tick, "clock_tick"),
            phase: self.clock_phase,
            min: self.resolve(&self.min_rto, "min_rto"),
            max: self.resolve(&self.max_rto, "max_rto"),
            initial: self.resolve(&self.initial_rto, "initial_rto"),
            syn_linear: self.resolve(&self.syn_linear_timeouts, "syn_linear_timeouts"),
        }
    }
}

/// How a host's retransmission timer is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoConfig {
    /// Granularity of the clock.
    pub tick: Span,
    /// How far every host's clock is ahead, if that is stated.
    pub phase: Option<Span>,
    /// Least timeout, before back-off.
    pub min: Span,
    /// Largest timeout, after back-off.
    pub max: Span,
    /// Timeout before the first sample.
    pub initial: Span,
    /// How many repetitions of the opening wait no longer than the one before.
    pub syn_linear: u64,
}

impl RtoConfig {
    /// How far a host's clock is ahead: a time that is drawn within a tick, unless it is stated.
    pub fn phase(&self, draw: impl FnOnce(Span) -> Span) -> Span {
        self.phase.unwrap_or_else(|| draw(self.tick))
    }
}

/// The profile that the given values of [`TcpParams`] choose, by the names of their fields: Linux's, unless another is given or
/// something that only the papers' hosts have; then ns-2's.
#[must_use]
pub fn profile_of(given: &dyn Fn(&str) -> Option<Value>) -> ProfileName {
    fn read<T: Parameter>(value: Option<Value>) -> Option<T> {
        value.and_then(T::from_value)
    }
    let algorithm: Option<Algorithm> = read(given("algorithm"));
    let of_papers = algorithm.is_some_and(|algorithm| !algorithm.runs_on(ProfileName::Linux))
        || read(given("send_jitter")).is_some_and(|most: Span| most > Span::ZERO)
        || read(given("ns2_rules")) == Some(true);
    let otherwise = if of_papers { ProfileName::Ns2 } else { ProfileName::Linux };
    read(given("profile")).unwrap_or(otherwise)
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
        module: include_str!("params.rs"),
    };
}
