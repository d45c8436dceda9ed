//! The profiles of hosts: which real or simulated host each stands for, and its default values with their sources.

use sluicegate_base::{Size, Span, Value, choices};

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
        /// Linux 6.18, its loss recovery, timers and acknowledgements modelled after the kernel's.
        Linux = "linux",
    }
}

/// One value of a profile: the field that it fills, the value, and where it comes from.
#[derive(Clone, Copy)]
pub struct ProfileValue {
    /// The field of [`TcpParams`](crate::params::TcpParams).
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

impl Profile {
    /// Its value for a field; none for what its hosts do not have.
    #[must_use]
    pub fn value(&self, field: &str) -> Option<Value> {
        self.values.iter().find(|value| value.field == field).map(|value| (value.value)())
    }
}

const fn value(field: &'static str, value: fn() -> Value, source: &'static str) -> ProfileValue {
    ProfileValue { field, value, source }
}

fn ms(n: u64) -> Value {
    Value::Time(Span::from_millis(n))
}

/// All profiles, in the order of [`ProfileName`].
pub const PROFILES: &[Profile] = &[NS2, BSD43_TAHOE, RED1993, FREEBSD45, DCN2004, LINUX];

const NS2: Profile = Profile {
    name: "ns2",
    summary: "ns-2 version 2.35: one-way agents with a 10 ms clock and an acknowledgement for each packet",
    initial_ssthresh: 1.0,
    values: &[
        value("algorithm", || Value::Choice("reno"), "chosen here: ns-2's Agent/TCP is tahoe, Agent/TCP/Reno reno, …"),
        value("window", || Value::Size(Size::Packets(20)), "ns-2, window_"),
        value("packet_size", || Value::Size(Size::Bytes(1000)), "CHOKe 1999; in ns-2 packetSize_ 960 and 40 of header"),
        value("header_size", || Value::Size(Size::Bytes(40)), "ns-2, tcpip_base_hdr_size_"),
        value("initial_window", || Value::Number(2.0), "ns-2, windowInit_"),
        value("min_rto", || ms(200), "ns-2, minrto_"),
        value("max_rto", || ms(60_000), "ns-2, maxrto_"),
        value("initial_rto", || ms(3000), "ns-2, rtxcur_init_"),
        value("syn_linear_timeouts", || Value::Integer(0), "ns-2, tcp.cc: the timer of data"),
        value("clock_tick", || ms(10), "ns-2, tcpTick_"),
        value("limited_transmit", || Value::Switch(true), "ns-2, singledup_"),
        value("delayed_ack", || ms(0), "ns-2, Agent/TCPSink; Agent/TCPSink/DelAck waits 100 ms"),
        value("ecn", || Value::Switch(false), "ns-2, ecn_"),
        value("source_quench", || Value::Switch(false), "ns-2 sends none"),
        value("ns2_rules", || Value::Switch(true), "ns-2, tcp.cc and tcp-sink.cc"),
        value("vegas_rules", || Value::Choice("ns2"), "ns-2, Agent/TCP/Vegas"),
        value("handshake", || Value::Switch(true), "ns-2, syn_"),
        value("closing", || Value::Switch(false), "ns-2's one-way agents do not close"),
    ],
};

const BSD43_TAHOE: Profile = Profile {
    name: "bsd43-tahoe",
    summary: "4.3BSD-Tahoe of 1988: a 500 ms clock, slow start from one segment, delayed acknowledgements",
    initial_ssthresh: 1.0,
    values: &[
        value("algorithm", || Value::Choice("tahoe"), "Jacobson 1988"),
        value("window", || Value::Size(Size::Bytes(4096)), "4.3BSD, tcp_recvspace 4096; RED 1993 sets its own"),
        value("packet_size", || Value::Size(Size::Bytes(552)), "4.3BSD, TCP_MSS 512 and 40 of header"),
        value("header_size", || Value::Size(Size::Bytes(40)), "RFC 791, RFC 793, no options"),
        value("initial_window", || Value::Number(1.0), "Jacobson 1988"),
        value("min_rto", || ms(1000), "4.3BSD, TCPTV_MIN: two ticks"),
        value("max_rto", || ms(64_000), "4.3BSD, TCPTV_REXMTMAX"),
        value("initial_rto", || ms(6000), "4.3BSD, TCPTV_SRTTDFLT 3 s, doubled by TCP_REXMTVAL"),
        value("syn_linear_timeouts", || Value::Integer(0), "4.3BSD, tcp_backoff, as for data"),
        value("clock_tick", || ms(500), "4.3BSD, PR_SLOWHZ 2"),
        value("limited_transmit", || Value::Switch(false), "RFC 3042 is of 2001"),
        value("delayed_ack", || ms(200), "4.3BSD, the fast timer of 200 ms"),
        value("ecn", || Value::Switch(false), "RFC 3168 is of 2001"),
        value("source_quench", || Value::Switch(true), "4.3BSD, tcp_subr.c: tcp_quench"),
        value("ns2_rules", || Value::Switch(false), "the RFCs"),
        value("vegas_rules", || Value::Choice("paper"), "Brakmo & Peterson 1995"),
        value("handshake", || Value::Switch(true), "RFC 793"),
        value("closing", || Value::Switch(true), "RFC 793"),
    ],
};

const RED1993: Profile = Profile {
    name: "red1993",
    summary: "the simulated hosts of RED 1993, Sec. V: 4.3-Tahoe's congestion control, a threshold of half the window, \
              packets of 1000 bytes, each acknowledged at once",
    initial_ssthresh: 0.5,
    values: &[
        value("algorithm", || Value::Choice("tahoe"), "RED 1993, Sec. V"),
        value("window", || Value::Size(Size::Packets(16)), "RED 1993, Sec. VIII: 8 or 16; each figure has its own"),
        value("packet_size", || Value::Size(Size::Bytes(1000)), "RED 1993, Sec. V"),
        value("header_size", || Value::Size(Size::Bytes(40)), "not stated; RFC 791, RFC 793, no options"),
        value("initial_window", || Value::Number(1.0), "Jacobson 1988"),
        value("min_rto", || ms(1000), "not stated; \"functionally identical\" to 4.3-Tahoe: its two ticks"),
        value("max_rto", || ms(64_000), "the same: 4.3BSD, TCPTV_REXMTMAX"),
        value("initial_rto", || ms(6000), "the same: 4.3BSD, TCPTV_SRTTDFLT 3 s, doubled"),
        value("syn_linear_timeouts", || Value::Integer(0), "unused: no handshake"),
        value("clock_tick", || ms(500), "the same: 4.3BSD, PR_SLOWHZ 2"),
        value("limited_transmit", || Value::Switch(false), "RFC 3042 is of 2001"),
        value("delayed_ack", || ms(0), "RED 1993, Sec. V: a sink acknowledges immediately"),
        value("ecn", || Value::Switch(false), "RFC 3168 is of 2001"),
        value("source_quench", || Value::Switch(false), "no gateway of RED 1993 sends one"),
        value("ns2_rules", || Value::Switch(false), "the RFCs"),
        value("vegas_rules", || Value::Choice("paper"), "Brakmo & Peterson 1995"),
        value("handshake", || Value::Switch(false), "not stated: sources have data to send when they start"),
        value("closing", || Value::Switch(false), "not stated; no figure shows an end"),
    ],
};

const FREEBSD45: Profile = Profile {
    name: "freebsd45",
    summary: "FreeBSD 4.5 of 2002, the end hosts of DCN 2004 as they were shipped: NewReno, windows of 16 KB, least timeout 1 s",
    initial_ssthresh: 1.0,
    values: &[
        value("algorithm", || Value::Choice("newreno"), "FreeBSD 4.5, tcp_do_newreno"),
        value("window", || Value::Size(Size::Bytes(16_384)), "DCN 2004, Sec. 4: 16 KB"),
        value("packet_size", || Value::Size(Size::Bytes(1500)), "Ethernet"),
        value("header_size", || Value::Size(Size::Bytes(52)), "RFC 1323: timestamps take 12 bytes; MSS 1448"),
        value("initial_window", || Value::Number(1.0), "FreeBSD 4.5, ss_fltsz 1"),
        value("min_rto", || ms(1000), "DCN 2004, Sec. 4: 1 s; FreeBSD 4.5, TCPTV_MIN"),
        value("max_rto", || ms(64_000), "FreeBSD 4.5, TCPTV_REXMTMAX"),
        value("initial_rto", || ms(3000), "FreeBSD 4.5, TCPTV_RTOBASE; RFC 1122"),
        value(
            "syn_linear_timeouts",
            || Value::Integer(4),
            "FreeBSD 4, tcp_timer.c: tcp_syn_backoff 1, 1, 1, 1, 1, 2, 4, …",
        ),
        value("clock_tick", || ms(10), "FreeBSD 4.5, hz 100"),
        value("limited_transmit", || Value::Switch(false), "FreeBSD 4.5 has none"),
        value("delayed_ack", || ms(100), "FreeBSD 4.5, TCPTV_DELACK: hz/10"),
        value("ecn", || Value::Switch(false), "FreeBSD 4.5 needs ALTQ's patch for it"),
        value("source_quench", || Value::Switch(true), "FreeBSD 4.5, tcp_subr.c: tcp_quench"),
        value("ns2_rules", || Value::Switch(false), "the RFCs"),
        value("vegas_rules", || Value::Choice("paper"), "Brakmo & Peterson 1995"),
        value("handshake", || Value::Switch(true), "RFC 793"),
        value("closing", || Value::Switch(true), "RFC 793"),
    ],
};

const DCN2004: Profile = Profile {
    name: "dcn2004",
    summary: "the end hosts of DCN 2004, Sec. 4: FreeBSD 4.5 with windows of 16 KB and a least timeout of 1 s; ecn = true \
              for the experiments with marks",
    initial_ssthresh: 1.0,
    values: &[
        value("algorithm", || Value::Choice("newreno"), "not stated; FreeBSD 4.5: NewReno without SACK"),
        value("window", || Value::Size(Size::Bytes(16_384)), "DCN 2004, Sec. 4: 16K bytes"),
        value("packet_size", || Value::Size(Size::Bytes(1500)), "DCN 2004, Sec. 4: Ethernet"),
        value(
            "header_size",
            || Value::Size(Size::Bytes(52)),
            "not stated; FreeBSD 4.5: RFC 1323's timestamps, MSS 1448",
        ),
        value("initial_window", || Value::Number(1.0), "not stated; FreeBSD 4.5, ss_fltsz 1"),
        value("min_rto", || ms(1000), "DCN 2004, Sec. 5.1: 1 second"),
        value("max_rto", || ms(64_000), "not stated; FreeBSD 4.5, TCPTV_REXMTMAX"),
        value("initial_rto", || ms(3000), "not stated; FreeBSD 4.5, TCPTV_RTOBASE"),
        value("syn_linear_timeouts", || Value::Integer(4), "not stated; FreeBSD 4, tcp_timer.c: tcp_syn_backoff"),
        value("clock_tick", || ms(10), "not stated; FreeBSD 4.5, hz 100"),
        value("limited_transmit", || Value::Switch(false), "not stated; FreeBSD 4.5 has none"),
        value("delayed_ack", || ms(100), "not stated; FreeBSD 4.5, TCPTV_DELACK: hz/10"),
        value("ecn", || Value::Switch(false), "DCN 2004: both, each experiment says which"),
        value("source_quench", || Value::Switch(false), "no gateway of DCN 2004 sends one"),
        value("ns2_rules", || Value::Switch(false), "the RFCs"),
        value("vegas_rules", || Value::Choice("paper"), "Brakmo & Peterson 1995"),
        value("handshake", || Value::Switch(true), "RFC 793"),
        value("closing", || Value::Switch(true), "RFC 793"),
    ],
};

const LINUX: Profile = Profile {
    name: "linux",
    summary: "Linux 6.18 as its TCP behaves: CUBIC, RACK-TLP, F-RTO, PRR, timestamps, quick acknowledgements, windows that tune themselves",
    initial_ssthresh: 1.0,
    values: &[
        value("algorithm", || Value::Choice("cubic"), "Linux, net.ipv4.tcp_congestion_control"),
        value(
            "window",
            || Value::Size(Size::Bytes(16_777_216)),
            "Linux 6.18, tcp_rmem's maximum of 32 MiB, of which half is window; it begins with 64 KiB",
        ),
        value("packet_size", || Value::Size(Size::Bytes(1500)), "Ethernet"),
        value("header_size", || Value::Size(Size::Bytes(52)), "RFC 7323: timestamps take 12 bytes; MSS 1448"),
        value("initial_window", || Value::Number(10.0), "RFC 6928"),
        value("min_rto", || ms(200), "Linux, TCP_RTO_MIN"),
        value("max_rto", || ms(120_000), "Linux, TCP_RTO_MAX"),
        value("initial_rto", || ms(1000), "RFC 6298"),
        value("syn_linear_timeouts", || Value::Integer(4), "Linux since 6.5, tcp_syn_linear_timeouts"),
        value("clock_tick", || ms(4), "CONFIG_HZ = 250, the default up to Linux 6.12 and that of Debian"),
        value("delayed_ack", || ms(40), "Linux, TCP_DELACK_MIN"),
        value("ecn", || Value::Switch(false), "Linux, tcp_ecn 2: asks for none by itself"),
        value("handshake", || Value::Switch(true), "RFC 9293"),
        value("closing", || Value::Switch(true), "RFC 9293"),
    ],
};
