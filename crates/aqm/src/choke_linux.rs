//! # CHOKe (Linux)
//!
//! CHOKe like the kernel's `sch_choke`: in whole numbers, with one candidate that is not drawn quite uniformly, and
//! with comparisons also above max_th. Use it to predict what `tc qdisc … choke` will do, and to see what the
//! differences from the paper cost.
//!
//! ```text
//! for each arrival:                                       (net/sched/sch_choke.c, include/net/red.h; qavg = avg·2^Wlog)
//!     link busy: qavg ← qavg + qlen − (qavg >> Wlog);   idle: qavg ← decay(qavg, idle time in µs)
//!     if qavg ≤ min_th·2^Wlog:  qcount ← −1
//!     else:
//!         draw a slot up to three times, until it holds a packet; else take the head
//!         of the arrival's flow?  drop both                                                        (match)
//!         if qavg > max_th·2^Wlog:  qcount ← −1; mark if ecn and possible, else drop               (forced)
//!         else: qcount ← qcount + 1
//!               qcount = 0:  qR ← R          where R = ⌊32 random bits / ⌊max_P/(max_th − min_th)⌋⌋, max_P = ⌊max_p·2³²⌋
//!               ((qavg − min_th·2^Wlog) >> Wlog)·qcount ≥ qR:
//!                            qcount ← 0, qR ← R; mark if ecn and possible, else drop               (early)
//!     queue the arrival if qlen < limit, else drop it                                              (tail)
//! decay:  us ← min(idle time, 255 << Scell_log);  k ← Stab[us >> Scell_log]
//!         k > 0: qavg >> k;  k = 0: x ← qavg·us >> Scell_log; qavg − x if x < qavg >> 1, else qavg >> 1
//! ```
//!
//! `tc` computes Wlog from `burst`, and Scell_log and Stab from `avpkt` and `bandwidth` (`tc/tc_red.c`); so does this.
//! `crates/aqm/tests/choke_linux.rs` compares it packet for packet with a model of the kernel's code.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | above max_th every arrival is dropped | it is compared first, and a match drops two | so in the kernel |
//! | "greater than" max_th; `choke` takes avg ≥ max_th | qavg > max_th, and drawing only at qavg > min_th | so in the kernel |
//! | a random packet | uniform over slots, holes included; after three holes the head | so in the kernel; the head, and what stands behind holes, is drawn too often |
//! | RED's real-valued average and probability | whole numbers: W a power of two, the height above min_th cut to whole packets, one random number for each mark | so in the kernel, after RED 1993, Fig. 17. Just above min_th the height is 0 and nothing is marked |
//! | (1 − w_q)^m in an idle period | the kernel's table `Stab`, and for short idle times its linear formula | so in the kernel. `tc` fills the table in ticks of 64 ns, the kernel reads it in µs: the average decays 15.6 times more slowly than `tc` and the kernel intend |
//! | nothing on ECN | `ecn`: marks above max_th too; a match is always dropped | so in the kernel; `tc` offers no `harddrop` here. RFC 3168, Sec. 7, and RFC 7567, Sec. 4.2.1, recommend drops then: matching limits a few large flows that ignore marks, but not many small ones |
//! | the kernel's ring can run its tail into its head when victims die faster than packets leave, and then takes the queue for empty | the holes are closed instead | a queue that forgets its packets is an error, not a behaviour. It happens only when packets and holes fill all slots of the ring |
//! | `tc` refuses max above limit, and bursts for which its arithmetic finds no W; in C, shifts overflow where Scell_log exceeds 23; with the defaults it does so on links below about 14 kbit/s | max above limit is accepted, as in the kernel; bursts without a W are refused here too; shifts do not overflow | the same wherever `tc` has a defined answer |
//! | flows are told apart by protocol, addresses and ports; in older kernels also by filters | by the flow key | what a simulation knows |

use crate::prelude::*;
use crate::red::linux::{self, Average, Band, Filter};
use crate::ring::Ring;

discipline! {
    ChokeLinux: "choke_linux", "CHOKe (Linux)",
    source("Linux, net/sched/sch_choke.c and include/net/red.h; iproute2, tc/q_choke.c and tc/tc_red.c"),
    tc("tc qdisc add dev DEV root choke limit LIMIT_PACKETS min MIN_PACKETS max MAX_PACKETS burst BURST_PACKETS \
        avpkt PACKET_BYTES probability MAX_P bandwidth RATE [ecn]"),
    drops(Tail, Early, Forced, Match),
    remembers(None, "looks into the queue"),
    overload(Marks, "above `max_th` too, as the kernel does; matches are dropped"),

    /// Parameters of [`ChokeLinux`].
    pub struct ChokeLinuxParams {
        /// Largest number of packets in the queue, without the packet in transmission.
        limit: Size = default(Size::Packets(300)), unit("packets"), range(Range::from(1.0).to(131_071.0)),
            source("chosen here, as for choke; tc requires it; the bound is the kernel's"), tc("limit");
        /// Average up to which every arrival is queued.
        min_th: Size = default(Size::Packets(30)), unit("packets"), range(Range::POSITIVE),
            source("CHOKe 1999, Sec. 4; tc's own default is a third of max"), tc("min");
        /// Average above which every arrival is dropped or marked.
        max_th: Size = default(Size::Packets(60)), unit("packets"), range(Range::POSITIVE),
            source("CHOKe 1999, Sec. 4; tc's own default is a quarter of limit"), tc("max");
        /// Largest burst to admit; tc computes the queue weight from it.
        burst: Option<u64> = optional("(2·min_th + max_th)/3"), unit("packets"), range(Range::from(1.0)),
            source("iproute2, tc/q_choke.c"), tc("burst");
        /// RED's drop probability as the average reaches max_th.
        max_p: f64 = default(0.02), unit("1"), range(Range::from(1e-9).below(1.0)),
            source("iproute2, tc/q_choke.c"), tc("probability");
        /// Length of a typical packet, for the decay while the link is idle.
        avpkt: Size = default(Size::Bytes(1000)), unit("B"), range(Range::from(1.0)),
            source("iproute2, tc/q_choke.c"), tc("avpkt");
        /// Rate of the link, for the decay while it is idle.
        bandwidth: Rate = derived("the link's rate", |link| link.rate), range(Range::POSITIVE),
            source("tc requires it"), tc("bandwidth");
        /// Mark ECN-capable packets where RED would drop them, also above max_th. Matches are dropped.
        ecn: bool = default(false), source("iproute2, tc/q_choke.c"), tc("ecn");
    }
    rules {
        "limit, min_th and max_th count packets" [limit, min_th, max_th]
            |p| matches!((p.limit, p.min_th, p.max_th), (Size::Packets(_), Size::Packets(_), Size::Packets(_)));
        "min_th < max_th" [min_th, max_th] |p| p.min_th.amount() < p.max_th.amount();
        "avpkt is in bytes" [avpkt] |p| matches!(p.avpkt, Size::Bytes(_));
        "burst is at least min_th" [burst, min_th] |p| p.burst() >= p.min_th.amount();
        "some W = 1/2, 1/4 … has burst + 1 - min_th <= (1 - (1 - W)^burst)/W and max_th/W < 2^31" [burst, min_th, max_th]
            |p| p.wlog().is_some();
    }
}

impl ChokeLinuxParams {
    fn burst(&self) -> u64 {
        let (min_th, max_th) = (self.min_th.amount(), self.max_th.amount());
        self.burst.unwrap_or_else(|| (min_th.saturating_mul(2).saturating_add(max_th)) / 3)
    }

    /// The exponent of the weight W = 2^−Wlog, if `tc` finds one and the kernel takes it.
    fn wlog(&self) -> Option<u32> {
        let wlog = linux::wlog(self.min_th.amount() as f64, self.burst())?;
        linux::has_room(self.max_th.amount(), wlog).then_some(wlog)
    }
}

/// A first-in-first-out queue under CHOKe as Linux has it.
#[derive(Clone, Debug)]
pub struct ChokeLinux<P> {
    filter: Filter,
    average: Average,
    band: Band,
    ecn: bool,
    /// The ring has a power of two of slots, of which one stays free.
    tab_mask: usize,
    ring: Ring<P>,
    /// The slot that the last arrival was compared with, if it did not match.
    drawn: Option<usize>,
}

impl<P: Packet> ChokeLinux<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(params: ChokeLinuxParams) -> Self {
        let wlog = params.wlog().unwrap_or(1);
        ChokeLinux {
            filter: Filter::new(wlog, params.avpkt.amount(), params.bandwidth),
            average: Average::default(),
            band: Band::new(params.min_th.amount(), params.max_th.amount(), params.max_p, wlog),
            ecn: params.ecn,
            tab_mask: (params.limit.amount() as usize + 1).next_power_of_two() - 1,
            ring: Ring::new(params.limit),
            drawn: None,
        }
    }

    /// A slot with a packet: one of up to three drawn ones, else the head.
    #[inline]
    fn peek_random(&self, rng: &mut Stream) -> Option<(usize, &P)> {
        for _ in 0..3 {
            let at = rng.below(self.ring.span() as u64) as usize;
            if let Some(packet) = self.ring.get(at) {
                return Some((at, packet));
            }
        }
        Some((0, self.ring.get(0)?))
    }

    /// Draws a packet; if it is of the arrival's flow, takes it from the queue.
    fn match_random(&mut self, arrival: &P, rng: &mut Stream) -> Option<P> {
        if self.ring.packets() == 0 {
            return None;
        }
        let (slot, packet) = self.peek_random(rng)?;
        if packet.flow() != arrival.flow() {
            self.drawn = Some(slot);
            return None;
        }
        let victim = self.ring.remove(slot);
        self.ring.skip_holes();
        victim
    }

    /// RED's decision: the reason for which the arrival is to be marked or dropped, if it is.
    fn red_action(&mut self, rng: &mut Stream) -> Option<DropReason> {
        if self.average.qavg > self.band.qth_max {
            self.band.leave();
            return Some(DropReason::Forced);
        }
        self.band.signals(self.average.qavg, rng).then_some(DropReason::Early)
    }
}

impl<P: Packet> Discipline<P> for ChokeLinux<P> {
    fn enqueue(&mut self, mut packet: P, ctx: &mut Ctx<'_, P>) {
        self.filter.update(&mut self.average, self.ring.packets(), ctx.now);
        self.drawn = None;
        if self.average.qavg <= self.band.qth_min {
            self.band.leave();
        } else {
            if let Some(victim) = self.match_random(&packet, ctx.rng) {
                ctx.drop(victim, DropReason::Match);
                return ctx.drop(packet, DropReason::Match);
            }
            if let Some(reason) = self.red_action(ctx.rng) {
                if !(self.ecn && packet.mark()) {
                    return ctx.drop(packet, reason);
                }
            }
        }
        if !self.ring.has_room(&packet) {
            return ctx.drop(packet, DropReason::Tail);
        }
        if self.ring.span() >= self.tab_mask {
            self.ring.close_holes();
            self.drawn = None;
        }
        self.ring.push(packet);
    }

    fn dequeue(&mut self, ctx: &mut Ctx<'_, P>) -> Option<P> {
        if self.ring.packets() == 0 {
            self.average.qidlestart.get_or_insert(ctx.now);
        }
        self.drawn = None;
        self.ring.pop()
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        &self.ring
    }

    fn average(&self) -> Option<f64> {
        Some(self.filter.value(&self.average))
    }

    fn compared(&self, visit: &mut dyn FnMut(&P)) {
        self.drawn.and_then(|slot| self.ring.get(slot)).into_iter().for_each(visit);
    }
}

impl<P: Packet> Configure<P> for ChokeLinux<P> {
    fn configure(&mut self, params: ChokeLinuxParams, ctx: &mut Ctx<'_, P>) {
        self.ring.resize(params.limit, ctx);
        let old = core::mem::replace(self, ChokeLinux::new(params));
        // The average goes on, in the new scale; choke_change would have it start anew.
        self.average = self.filter.rescaled(old.average, &old.filter);
        self.ring = old.ring;
    }
}

#[cfg(test)]
mod tests;
