//! The declarations of the network and the run.

use crate::wire::CellsName;
use sluicegate_base::{About, Declared, Range, Rate, Size, Span, choices, params};

params! {
    /// A dumbbell: hosts on both sides of one bottleneck.
    pub struct NetworkParams {
        /// Rate of the bottleneck; it must be given unless there is a trace.
        rate: Option<Rate> = optional("the mean rate of trace"), range(Range::POSITIVE), source("CHOKe 1999, Fig. 1");
        /// Propagation delay of the bottleneck, one way.
        delay: Span = default(Span::from_millis(1)), source("chosen here: not stated by CHOKe 1999");
        /// How many dequeued packets may wait for the transmitter, in a driver's ring below the discipline, which does
        /// not see them.
        tx_ring: Option<Size> = optional("none: the queue gives a packet when the transmitter is free"), unit("packets"),
            range(Range::from(1.0)), source("FreeBSD and Linux: drivers' transmit rings");
        /// Rate of every host's access link. By default this link is no bottleneck and only spaces packets.
        access_rate: Option<Rate> = optional("ten times the bottleneck's rate"), range(Range::POSITIVE),
            source("CHOKe 1999, Fig. 1: ten times");
        /// Propagation delay of every host's access link, one way.
        access_delay: Span = default(Span::ZERO), source("chosen here: not stated by CHOKe 1999");
        /// Whether the opposite direction is a link under study, too, called reverse. It has the same discipline, a
        /// separate queue that acknowledgements cross, and the values of network.reverse.
        two_way: Option<bool> = optional("true if a flow goes in reverse, or if there is a table network.reverse"),
            source("RED 1993, Sec. VIII");
    }
}

params! {
    /// The opposite direction of a dumbbell, where it differs.
    pub struct ReverseParams {
        /// Rate of the opposite direction.
        rate: Option<Rate> = optional("the mean rate of its own trace, else as forward"), range(Range::POSITIVE),
            source("Sluicegate");
        /// Propagation delay of the opposite direction.
        delay: Option<Span> = optional("as forward"), source("Sluicegate");
        /// The limit of the opposite direction's queue if that is the Drop Tail of `[queue]`; other disciplines of `[queue]`
        /// ignore it. It cannot stand beside `[network.reverse.queue]`. With a shaper it is the limit of the line's own
        /// Drop Tail queue.
        buffer: Option<Size> = optional("the limit of [queue.drop_tail]"), unit("packets"), range(Range::from(1.0)),
            source("Sluicegate");
    }
}

choices! {
    /// Where a shaper stands.
    pub enum Position {
        /// Before the line: it holds back what goes out, and the line's own buffer stays empty.
        Before = "before",
        /// Behind the line: it holds back what has come in, so that senders keep below the line's rate.
        Behind = "behind",
    }
}

params! {
    /// A shaper beside a link of a dumbbell, which the discipline under study then manages.
    pub struct ShaperParams {
        /// The shaper's rate, or a percentage of the line's, such as "95 %", in whole kbit/s. With a trace it is a
        /// percentage of the mean rate.
        rate: String = default("95 %".to_owned()), unit("bit/s"), source("OpenWrt, SQM: 90 to 95 % of what is measured");
        /// What the shaper counts around each packet, written like a link's framing.
        framing: Option<String> = optional("that of the line"), source("tc-cake(8); tc-stab(8)");
        /// The shortest frame, framing included.
        frame_min: Option<Size> = optional("from the name of framing, else that of the line"), unit("B"),
            range(Range::from(0.0).to(1000.0)), source("tc-cake(8), mpu");
        /// The cells that carry frames.
        cells: Option<CellsName> = optional("from the name of framing, else those of the line"),
            source("tc-cake(8), atm and ptm");
        /// The largest amount that the shaper sends at once after a pause: the size of its token bucket, which is like
        /// that of Linux's htb. CAKE has its own shaper, without bursts.
        burst: Option<Size> = optional("what it sends in 1 ms, at least 1514 B, as sluicegate tc deploys it"), unit("B"),
            range(Range::from(1.0)), source("tc-htb(8)");
        /// Whether packets cross the shaper before the line or behind it.
        position: Option<Position> =
            optional("behind in the forward direction of a two-way dumbbell (an access line's download), else before"),
            source("Sluicegate");
        /// The size of the line's own queue, that of its modem, which is Drop Tail.
        buffer: Option<Size> = optional("the buffer of [network.reverse], in the opposite direction; else the limit of [queue.drop_tail], else 1000 packets"),
            unit("packets"), range(Range::from(1.0)), source("Sluicegate");
    }
    rules {
        "frame_min is in bytes" [frame_min] |p| !matches!(p.frame_min, Some(Size::Packets(_)));
        "burst is in bytes" [burst] |p| !matches!(p.burst, Some(Size::Packets(_)));
    }
}

params! {
    /// One link of a network that is spelled out.
    pub struct LinkParams {
        /// The link's name, for paths and results.
        name: String = required, source("Sluicegate");
        /// The node where it begins.
        from: String = required, source("Sluicegate");
        /// The node where it ends.
        to: String = required, source("Sluicegate");
        /// Its rate; it must be given unless there is a trace.
        rate: Option<Rate> = optional("the mean rate of trace"), range(Range::POSITIVE), source("Sluicegate");
        /// Its propagation delay.
        delay: Span = default(Span::from_millis(1)), source("Sluicegate");
        /// How many dequeued packets may wait for the transmitter, in a driver's ring below the discipline, which does
        /// not see them.
        tx_ring: Option<Size> = optional("none: the queue gives a packet when the transmitter is free"), unit("packets"),
            range(Range::from(1.0)), source("FreeBSD and Linux: drivers' transmit rings");
        /// Whether the discipline of [queue] manages it; otherwise Drop Tail does.
        managed: bool = default(true), source("Sluicegate");
        /// Limit of its queue when the discipline of [queue] does not manage it.
        limit: Size = default(Size::Packets(1000)), unit("packets"), source("Sluicegate");
    }
}

params! {
    /// What is run, and what of it is measured.
    pub struct RunParams {
        /// Simulated time from start to end.
        duration: Span = required, range(Range::POSITIVE.to(1e7)), source("Sluicegate");
        /// When the measured window begins; it ends with the run.
        warmup: Span = default(Span::ZERO), source("Sluicegate");
        /// Key of every random stream: a whole number up to 9223372036854775807.
        seed: u64 = default(1), unit("1"), source("Sluicegate");
        /// Interval at which queues and flows are sampled, for series and for the table `positions`.
        sample: Option<Span> = optional("100 ms, or 1/2000 of the run when that is longer"), range(Range::POSITIVE),
            source("Sluicegate");
        /// Whether sampled series are kept.
        series: bool = default(true), source("Sluicegate");
        /// Whether the requests and responses of `http` and `connections` are kept one by one, in the table `exchanges`.
        exchanges: bool = default(false), source("Sluicegate");
        /// What the disciplines of `sluicegate recommend` are ranked by, such as "voip p99 below 30 ms".
        goals: Option<Vec<String>> = optional("recommend assumes some, and says which"), source("Sluicegate");
        /// How many of the most recent marks and drops the columns `recent_share` and `recent_p_value` look at.
        recent: u64 = default(100), unit("packets"), range(Range::from(1.0).to(1e6)),
            source("RED 1993, Sec. X and Fig. 16");
        /// How many arrivals, departures, drops and losses of single packets the table `packets` keeps, from the start on; the
        /// rest is not kept.
        packets: u64 = default(0), unit("1"), range(Range::from(0.0).to(2e6)), source("RED 1993, Figs. 3 and 9");
        /// How many segments of TCP the table `segments` keeps, from the start on: those that reach links under study, and those
        /// that travel back.
        segments: u64 = default(0), unit("1"), range(Range::from(0.0).to(1e6)), source("Sluicegate");
        /// How many packets the table `positions` keeps: which flow holds each place of the queues under study, at every
        /// sample that still fits, from the start on.
        positions: u64 = default(0), unit("packets"), range(Range::from(0.0).to(5e6)),
            source("Tang, Wang & Low 2004, Sec. V-B");
    }
    rules {
        "warmup < duration" [warmup, duration] |p| p.warmup < p.duration;
        "duration <= 10000000 samples" [sample, duration]
            |p| p.sample.is_none_or(|s| p.duration.0 / s.0.max(1) <= 10_000_000);
    }
}

impl RunParams {
    /// How often the probes look: as given, or the default.
    #[must_use]
    pub fn interval(&self) -> Span {
        self.sample.unwrap_or_else(|| Span(self.duration.0 / 2000).max(Span::from_millis(100)))
    }
}

macro_rules! declared {
    ($(#[doc = $doc:literal] $Type:ident, $Params:ty, $name:literal, $class:literal;)*) => {$(
        #[doc = $doc]
        pub struct $Type;
        impl Declared for $Type {
            type Params = $Params;
            const ABOUT: About =
                About { name: $name, class: $class, title: $doc, source: "Sluicegate", tc: "", module: concat!("//!", $doc) };
        }
    )*};
}

declared! {
    /// The dumbbell.
    Network, NetworkParams, "network", "Network";
    /// The opposite direction of a dumbbell.
    Reverse, ReverseParams, "reverse", "Reverse";
    /// A shaper beside a link.
    Shaper, ShaperParams, "shaper", "Shaper";
    /// One link of a topology.
    NetworkLink, LinkParams, "link", "Link";
    /// The run.
    Run, RunParams, "run", "RunSettings";
}
