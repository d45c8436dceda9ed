//! PIE without a queue: its parameters, and what decides on arrivals and moves the probability.

use crate::prelude::*;
use crate::red::{Action, Mode};
use sluicegate_base::params;

choices! {
    /// Whose PIE it is: rules, where the kernel's differ from the RFC's, and arithmetic.
    pub enum PieVersion {
        /// The RFC's rules, in floating point.
        Rfc8033 = "rfc8033",
        /// The kernel's rules, in its whole numbers: parts of 2⁵⁶, ticks of 64 ns, gains in sixteenths.
        Linux = "linux",
    }
}

params! {
    /// PIE's parameters as other disciplines have them too.
    pub struct PieBlock {
        /// Desired queueing delay.
        target: Span = default(Span::from_millis(15)), range(Range::POSITIVE), source("RFC 8033, QDELAY_REF"), tc("target");
        /// Time from one update of p to the next.
        t_update: Span = default(Span::from_millis(15)), range(Range::POSITIVE), source("RFC 8033, T_UPDATE"), tc("tupdate");
        /// Gain of the delay's distance from the target, per second.
        alpha: f64 = default(0.125), unit("Hz"), range(Range::from(0.0)), source("RFC 8033, Sec. 4.2"), tc("alpha");
        /// Gain of the delay's change, per second.
        beta: f64 = default(1.25), unit("Hz"), range(Range::from(0.0)), source("RFC 8033, Sec. 4.2"), tc("beta");
        /// How long a burst that follows a quiet time gets no signals.
        max_burst: Span = default(Span::from_millis(150)), range(Range::from(0.0)), source("RFC 8033, Sec. 4.4: MAX_BURST");
        /// Queueing delay above which each update adds 0.02 to p.
        long_delay: Option<Span> = optional("no limit"), range(Range::POSITIVE),
            source("Linux, net/sched/sch_pie.c: 250 ms");
        /// Drop packets; or mark ECN-capable packets and drop the others.
        action: Action = default(Action::Drop), source("RFC 8033, Sec. 5.1"), tc("ecn");
        /// With action mark: packets are marked below this probability, and dropped at or above it.
        mark_th: f64 = default(0.1), unit("1"), range(Range::from(0.0).to(1.0)), source("RFC 8033, Sec. 5.1: mark_ecnth");
        /// Space signals out: none until the probabilities of arrivals add up to 0.85, and always one when they reach 8.5.
        derandomise: bool = default(true), source("RFC 8033, Sec. 5.4");
        /// Treat all packets alike, or by their length.
        mode: Mode = default(Mode::Packet), source("Linux, net/sched/sch_pie.c"), tc("bytemode");
        /// PIE gives no signals while at most twice this many bytes wait. In byte mode a packet of this length has the
        /// probability p.
        max_packet: Size = derived("the link's typical packet", |link| Size::Bytes(link.packet.max(1))), unit("B"),
            range(Range::from(1.0)), source("RFC 8033, MEAN_PKTSIZE");
        /// The RFC's rules in floating point, or the kernel's in whole numbers.
        law: PieVersion = default(PieVersion::Rfc8033), source("RFC 8033; Linux, net/sched/sch_pie.c"), fixed(true);
    }
    rules {
        "max_packet is in bytes" [max_packet] |p| matches!(p.max_packet, Size::Bytes(_));
        "law = linux needs derandomise = true" [law, derandomise]
            |p| p.law == PieVersion::Rfc8033 || p.derandomise;
    }
}

/// PIE's controller by the rules of the RFC or of the kernel, and where it stands for one queue.
pub(crate) trait Controller {
    /// Whether an arrival of `bytes` is to be signalled on; `queued` bytes wait.
    fn drop_early(&mut self, params: &PieBlock, queued: u64, bytes: u64, rng: &mut Stream) -> bool;
    /// Whether p is low enough for marks.
    fn may_mark(&self, params: &PieBlock) -> bool;
    /// An arrival has been dropped, for whatever reason.
    fn dropped(&mut self);
    /// A packet that came at this time leaves now, and leaves the queue empty or not.
    fn departed(&mut self, came: Time, now: Time, empty: bool);
    /// The present queueing delay, where it is not that of the last departure.
    fn measured(&mut self, qdelay: Span);
    /// Every `t_update`: moves p.
    fn update(&mut self, params: &PieBlock, empty: bool);
    /// Whether updates change nothing that an arrival would find while the queue is empty.
    fn at_rest(&self, params: &PieBlock) -> bool;
    /// Parameters have been changed; the queue is empty now or not.
    fn adapt(&mut self, params: &PieBlock, empty: bool);
    /// The probability, the queueing delay by the last departure, and the burst allowance.
    fn shown(&self) -> (f64, Span, Span);
}
