//! Congestion control as Linux's TCP calls it (include/net/tcp.h: `tcp_congestion_ops`): a file or a folder for each.
//!
//! The sender decides what is lost and, in recovery, how much goes out (PRR); a [`Controller`] says how far the window falls
//! and how it grows. One that [governs](Controller::governs), such as BBR's, sets window and pacing rate by itself.

mod bbr;
mod cubic;
mod dctcp;
mod hystart;
mod ledbat;
mod own;
mod prague;
mod reno;

pub use bbr::{Bbr, Bbr3};
pub use cubic::Cubic;
pub use dctcp::Dctcp;
pub use ledbat::Ledbat;
pub use own::Own;
pub use prague::Prague;
pub use reno::Reno;

use sluicegate_base::{Rate, Span, Time};

/// No threshold yet (TCP_INFINITE_SSTHRESH), and the most that a window becomes.
pub const INFINITE: u32 = 0x7fff_ffff;

/// What a sender is in the middle of; the names are those of Linux's `tcp_ca_state`, and the order counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Nothing unusual.
    #[default]
    Open,
    /// Something arrived out of order, or was sent again.
    Disorder,
    /// The window falls for a mark, or for a loss that a probe repaired.
    Cwr,
    /// The window falls for a loss, which is being repaired.
    Recovery,
    /// The retransmission timer has expired.
    Loss,
}

/// What a controller sees of its sender, and the window that it sets. All counts are packets unless something else is said.
#[derive(Clone, Debug)]
pub struct Window {
    /// The congestion window (snd_cwnd).
    pub cwnd: u32,
    /// The slow-start threshold (snd_ssthresh); [`INFINITE`] before the first congestion.
    pub ssthresh: u32,
    /// Packets acknowledged towards the next step of congestion avoidance (snd_cwnd_cnt).
    pub count: u32,
    /// The window before the last reduction (prior_cwnd).
    pub prior_cwnd: u32,
    /// The window at the start.
    pub initial: u32,
    /// The rate at which packets leave if the sender paces, headers not counted (sk_pacing_rate); zero before it is known.
    pub pacing_rate: Rate,
    /// Whether the sender spaces what it sends by it.
    pub paced: bool,
    /// Bytes of the stream in a full packet.
    pub mss: u32,
    /// What the sender is in the middle of.
    pub state: State,
    /// Now.
    pub now: Time,
    /// The smoothed round trip; zero before the first.
    pub srtt: Span,
    /// The least round trip of the last five minutes; none is longer before the first.
    pub least_rtt: Span,
    /// Packets sent and not acknowledged (packets_out).
    pub packets_out: u32,
    /// Packets believed to be in the network (tcp_packets_in_flight).
    pub in_flight: u32,
    /// Packets delivered so far.
    pub delivered: u64,
    /// Those of them of which the other end said that they were marked.
    pub delivered_ce: u64,
    /// Packets taken for lost so far.
    pub lost: u64,
    /// The first byte not acknowledged.
    pub una: u64,
    /// The next byte to be sent for the first time.
    pub nxt: u64,
    /// When something was last delivered.
    pub delivered_time: Time,
    /// Until how many packets are delivered rate samples are of an application that had too little to send; zero: none are
    /// (app_limited).
    pub app_limited: u64,
    /// Whether the window was full in the last window of data.
    pub cwnd_limited: bool,
    /// The most that was out in it if not.
    pub max_packets_out: u32,
}

impl Window {
    /// A window of so many packets of `mss` bytes, before anything is sent.
    #[must_use]
    pub fn new(initial: u32, ssthresh: u32, mss: u32) -> Window {
        Window {
            cwnd: initial,
            ssthresh,
            count: 0,
            prior_cwnd: 0,
            initial,
            pacing_rate: Rate(0),
            paced: false,
            mss,
            state: State::Open,
            now: Time::ZERO,
            srtt: Span::ZERO,
            least_rtt: Span(u64::MAX),
            packets_out: 0,
            in_flight: 0,
            delivered: 0,
            delivered_ce: 0,
            lost: 0,
            una: 0,
            nxt: 0,
            delivered_time: Time::ZERO,
            app_limited: 0,
            cwnd_limited: false,
            max_packets_out: 0,
        }
    }

    /// The least round trip of the last five minutes; `None` before the first.
    #[inline(always)]
    #[must_use]
    pub fn min_rtt(&self) -> Option<Span> {
        Some(self.least_rtt).filter(|rtt| *rtt != Span(u64::MAX))
    }

    /// Whether the window is below the threshold (tcp_in_slow_start).
    #[must_use]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Whether the window was what limited the sender; in slow start, whether half of it was used (tcp_is_cwnd_limited).
    #[must_use]
    pub fn is_limited(&self) -> bool {
        self.cwnd_limited || (self.in_slow_start() && self.cwnd < 2 * self.max_packets_out)
    }

    /// Slow start by so many packets acknowledged, up to the threshold; what is left of them (tcp_slow_start).
    pub fn slow_start(&mut self, acked: u32) -> u32 {
        let cwnd = self.cwnd.saturating_add(acked).min(self.ssthresh);
        let used = cwnd - self.cwnd;
        self.cwnd = cwnd.min(INFINITE);
        acked - used
    }

    /// One packet more for each `w` acknowledged (tcp_cong_avoid_ai).
    pub fn additive_increase(&mut self, w: u32, acked: u32) {
        let w = w.max(1);
        if self.count >= w {
            self.count = 0;
            self.cwnd += 1;
        }
        self.count += acked;
        if self.count >= w {
            self.cwnd += self.count / w;
            self.count %= w;
        }
        self.cwnd = self.cwnd.min(INFINITE);
    }
}

/// How fast the network delivered packets while one was under way (struct rate_sample; draft-ietf-ccwg-bbr, Sec. 4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// Packets delivered from when the packet was sent until now.
    pub delivered: u64,
    /// In what time; zero: there is no rate.
    pub interval: Span,
    /// Packets of these that were marked.
    pub delivered_ce: u64,
    /// Packets delivered on this connection when the packet was sent; `None` when nothing was delivered now.
    pub prior_delivered: Option<u64>,
    /// Packets taken for lost when the packet was sent.
    pub prior_lost: u64,
    /// Packets under way then, this one included.
    pub tx_in_flight: u32,
    /// The round trip of the last packet acknowledged that was sent once.
    pub rtt: Option<Span>,
    /// Packets taken for lost by this acknowledgement.
    pub losses: u32,
    /// Packets acknowledged or reported by it.
    pub acked_sacked: u32,
    /// Packets under way before it.
    pub prior_in_flight: u32,
    /// Whether the packet was sent when the application had too little to send.
    pub is_app_limited: bool,
    /// Whether it was sent again.
    pub is_retrans: bool,
    /// Whether its acknowledgement may have waited.
    pub is_ack_delayed: bool,
    /// Whether the acknowledgement reports a mark.
    pub is_ece: bool,
    /// Packets of this acknowledgement that were marked, where ECN is accurate.
    pub newly_ce: u32,
    /// When the packet was sent.
    pub sent: Time,
}

/// What happens to a sender (enum tcp_ca_event).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It sends after nothing was under way for so long.
    Restart(Span),
    /// It begins again with a small window after a long pause.
    IdleRestart,
    /// A reduction is over.
    ReductionOver,
    /// The retransmission timer has expired.
    Timeout,
}

/// A congestion control.
pub trait Controller: Send {
    /// The threshold that a loss or a mark brings now.
    fn ssthresh(&mut self, window: &Window) -> u32;

    /// So many packets have been acknowledged outside a reduction (cong_avoid).
    fn grow(&mut self, window: &mut Window, acked: u32);

    /// The window to go back to when a reduction was for nothing (undo_cwnd).
    fn undo(&mut self, window: &Window) -> u32 {
        window.cwnd.max(window.prior_cwnd)
    }

    /// An acknowledgement took packets off the queue, or reported some, with this round trip (pkts_acked).
    fn on_acked(&mut self, _window: &mut Window, _packets: u32, _rtt: Option<Span>) {}

    /// An acknowledgement comes in, before it is worked on; it may report a mark (in_ack_event).
    fn on_ack(&mut self, _window: &mut Window, _ece: bool) {}

    /// Something happens (cwnd_event).
    fn on_event(&mut self, _window: &mut Window, _event: Event) {}

    /// The sender's state becomes this; `window.state` is the one before (set_state).
    fn on_state(&mut self, _window: &mut Window, _state: State) {}

    /// Whether [`govern`](Controller::govern) sets the window instead of `ssthresh` and `grow`.
    fn governs(&self) -> bool {
        false
    }

    /// Whether samples of the delivery rate are taken for it, and `window.delivered_time` and `window.app_limited` kept.
    fn wants_rate_samples(&self) -> bool {
        self.governs()
    }

    /// An acknowledgement was worked on: the window and the pacing rate may change (cong_control).
    fn govern(&mut self, _window: &mut Window, _sample: &Sample) {}

    /// Whether the sender spaces what it sends by `window.pacing_rate` (SK_PACING_NEEDED).
    fn paces(&self) -> bool {
        false
    }

    /// The connection is open, and its first round trip may be known: the pace to begin with (init).
    fn first_rate(&mut self, _window: &mut Window) {}

    /// The packets of one burst, if it says (min_tso_segs).
    fn burst(&self, _window: &Window) -> Option<u32> {
        None
    }

    /// Whether it answers each mark by itself, from accurate counts, so that a mark does not begin a reduction as a loss does.
    fn answers_marks(&self) -> bool {
        false
    }
}
