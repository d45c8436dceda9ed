//! # FRED
//!
//! Flow random early drop: RED that knows how many packets of each flow are queued. Every flow may have `min_q` packets;
//! one that has more than its share is dropped with RED's probability, and none may have more than max_q. A flow that tries
//! again and again to have more than that is kept at its share.
//!
//! ```text
//! for each arrival of flow i:                               (Lin & Morris 1997, as remembered; DCN 2004, Sec. 2)
//!     max_q ← min_th;   avg ≥ max_th?  max_q ← 2
//!     qlen_i ≥ max_q, or avg ≥ max_th and qlen_i > 2·avgcq, or qlen_i ≥ avgcq and strike_i > 1?
//!         strike_i ← strike_i + 1, drop                                                              (policed)
//!     min_th ≤ avg < max_th?  count ← count + 1;  qlen_i ≥ max(min_q, avgcq)?
//!         p_b ← max_p·(avg − min_th)/(max_th − min_th),  p_a ← p_b/(1 − count·p_b)
//!         with probability p_a:  count ← 0, signal                                                   (early)
//!     else:  count ← −1
//!     update avg;  queue it
//! for each departure:  update avg;   qlen_i = 0?  forget flow i
//! update avg:  avg ← (1 − w_q)·avg + w_q·q, or after an idle time (1 − w_q)^m·avg, m = idle time/s
//!     avgcq ← max(1, avg/flows with packets)
//! ```
//!
//! A flow costs memory only while it has packets: there are never more than the buffer holds, found by a keyed hash.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | the text of 1997 was not at hand | the rule is that of DCN 2004, Sec. 2, and of memory | the pseudocode's order of the tests is from memory |
//! | base form: all arrivals are dropped at avg ≥ max_th; form for many flows: each may have two packets | the second form alone | the first would make max_q = 2 at avg ≥ max_th meaningless |
//! | min_th is the lesser of a quarter of the buffer and a round trip's packets, max_th twice that; min_q 2 for small buffers, 4 for large | the same, with round trips of 100 ms, the default `limit` of 300 packets and 5 packets at least; `min_q` 2 | no flow may have more than min_th packets in the queue. With RED 1993's 5 a CUBIC flow alone uses 41 % of 100 Mbit/s at a round trip of 40 ms, and 3 % of 1 Gbit/s; with 75 it uses 99 and 88 % |
//! | avg is updated at arrivals and departures | at arrivals that are queued and at departures; an arrival after an idle time updates it first | so the filter moves about twice as fast as RED's with the same w_q |
//! | q counts the packets in the buffer | without the packet in transmission | as `red` here |
//! | ECN is not known | `ecn` marks only the packets that RED would drop at random: packets of a flow beyond max_q, or with strikes, are dropped | a packet for which its flow's share has no room must not enter the queue. The average alone drops no packet, so there is no `above_max_th` |
//! | strikes are kept with the flow's state | the same: they are forgotten when the flow's last packet leaves | the paper's rule |
//! | nothing on a full buffer | an arrival that is let pass is dropped with reason `tail` | as `red` here |

use crate::flow_table::FlowTable;
use crate::prelude::*;
use crate::red::RedBlock;
use sluicegate_base::Link;

discipline! {
    Fred: "fred", "FRED",
    source("Lin & Morris 1997; DCN 2004, Sec. 2"),
    drops(Tail, Early, Policed),
    // Each flow is judged by what it has queued.
    proportional(),
    remembers(Queued),
    overload(Drops, "packets of a flow with more than its share, or with strikes"),

    /// Parameters of [`Fred`].
    pub struct FredParams {
        ..red: RedBlock [
            w_q: 0.002, "Lin & Morris 1997, as remembered";
            min_th = derived("what the link sends in 100 ms, at least 5 and at most 75 packets", |link| Size::Packets(min_th(link))),
                "Lin & Morris 1997, as remembered: the lesser of a quarter of the buffer and a round trip's packets";
            max_th = derived("twice the default min_th", |link| Size::Packets(2 * min_th(link))),
                "Lin & Morris 1997, as remembered: twice min_th";
            max_p: 0.02, "Lin & Morris 1997, as remembered; RED 1993, Fig. 3";
            limit: Size::Packets(300), "chosen here: far above max_th, so that FRED decides"
        ];
        /// Packets that every flow may have in the queue without random drops.
        min_q: u64 = default(2), unit("packets"), range(Range::from(0.0)),
            source("Lin & Morris 1997, as remembered: 2 for small buffers, 4 for large");
        /// Mark ECN-capable packets where RED would drop them at random. At and above max_th nothing is random, so nothing is
        /// marked: a flow with two or more packets in the queue loses its arrivals.
        ecn: bool = default(false), source("RFC 3168, Sec. 5; not in Lin & Morris 1997");
    }
    rules {
        "min_th and max_th count packets" [min_th, max_th] |p| p.red.counts_packets();
        "min_th < max_th" [min_th, max_th] |p| p.red.is_a_band();
    }
}

/// The default min_th: a round trip's packets, but a quarter of the default limit at most.
fn min_th(link: &Link) -> u64 {
    link.packets_in(Span::from_millis(100)).clamp(5, 300 / 4)
}

/// A flow that has packets, or whose first one is judged.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    qlen: u64,
    strike: u64,
}

/// A first-in-first-out queue under FRED.
#[derive(Clone, Debug)]
pub struct Fred<P> {
    params: FredParams,
    fifo: Fifo<P>,
    flows: FlowTable<Flow>,
    avg: f64,
    avgcq: f64,
    count: i64,
    /// When the link last found the queue empty; none while it is busy.
    q_time: Option<Time>,
}

impl<P: Packet> Fred<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(params: FredParams) -> Self {
        Fred {
            fifo: Fifo::new(params.red.limit),
            // The buffer bounds them.
            flows: FlowTable::new(usize::MAX),
            avg: 0.0,
            avgcq: 1.0,
            count: -1,
            q_time: Some(Time::ZERO),
            params,
        }
    }

    /// Brings the average up to date with a queue of so many packets.
    fn update(&mut self, q: u64) {
        self.avg = (1.0 - self.params.red.w_q) * self.avg + self.params.red.w_q * q as f64;
        self.share();
    }

    fn share(&mut self) {
        self.avgcq = (self.avg / self.flows.len().max(1) as f64).max(1.0);
    }

    /// A packet has left the queue.
    fn forget(&mut self, packet: &P) {
        let at = self.flows.find(packet.flow()).expect("a flow that has packets");
        self.flows[at].qlen -= 1;
        self.forget_if_empty(at);
    }

    /// Whether RED's chance falls on an arrival of a flow with so many packets.
    fn chance(&mut self, qlen: f64, band: core::ops::Range<f64>, ctx: &mut Ctx<'_, P>) -> bool {
        if !band.contains(&self.avg) {
            self.count = -1;
            return false;
        }
        self.count += 1;
        if qlen < (self.params.min_q as f64).max(self.avgcq) {
            return false;
        }
        let p_b = self.params.red.max_p * (self.avg - band.start) / (band.end - band.start);
        let rest = 1.0 - self.count as f64 * p_b;
        let signal = rest <= 0.0 || ctx.rng.uniform() * rest < p_b;
        if signal {
            self.count = 0;
        }
        signal
    }

    /// Why an arrival of the flow at this position is dropped, if it is.
    fn judge(&mut self, at: usize, packet: &mut P, ctx: &mut Ctx<'_, P>) -> Option<DropReason> {
        let Flow { qlen, strike } = self.flows[at];
        let band = self.params.red.min_th.amount() as f64..self.params.red.max_th.amount() as f64;
        let full = self.avg >= band.end;
        let max_q = if full { 2.0 } else { band.start };
        let had = qlen as f64;
        if had >= max_q || (full && had > 2.0 * self.avgcq) || (had >= self.avgcq && strike > 1) {
            self.flows[at].strike += 1;
            return Some(DropReason::Policed);
        }
        if self.chance(had, band, ctx) && !(self.params.ecn && packet.mark()) {
            return Some(DropReason::Early);
        }
        (!self.fifo.has_room(packet)).then_some(DropReason::Tail)
    }

    fn forget_if_empty(&mut self, at: usize) {
        if self.flows[at].qlen == 0 {
            self.flows.remove_at(at);
        }
    }
}

impl<P: Packet> Discipline<P> for Fred<P> {
    fn enqueue(&mut self, mut packet: P, ctx: &mut Ctx<'_, P>) {
        if let Some(q_time) = self.q_time.take() {
            let m = ctx.now.since(q_time).0 as f64 / self.params.red.s.0 as f64;
            self.avg *= libm::pow(1.0 - self.params.red.w_q, m);
            self.share();
        }
        let at = self.flows.find_or_insert(packet.flow(), ctx.rng, Flow::default).expect("no bound but the buffer");
        if let Some(reason) = self.judge(at, &mut packet, ctx) {
            self.forget_if_empty(at);
            return ctx.drop(packet, reason);
        }
        self.flows[at].qlen += 1;
        self.update(self.fifo.packets());
        self.fifo.push(packet);
    }

    fn dequeue(&mut self, ctx: &mut Ctx<'_, P>) -> Option<P> {
        let Some(packet) = self.fifo.pop() else {
            self.q_time.get_or_insert(ctx.now);
            return None;
        };
        self.forget(&packet);
        self.update(self.fifo.packets());
        Some(packet)
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        &self.fifo
    }

    fn average(&self) -> Option<f64> {
        Some(self.avg)
    }
}

impl<P: Packet> Configure<P> for Fred<P> {
    fn configure(&mut self, params: FredParams, ctx: &mut Ctx<'_, P>) {
        self.fifo.set_limit(params.red.limit);
        while let Some((packet, ())) = self.fifo.pop_excess() {
            self.forget(&packet);
            ctx.drop(packet, DropReason::Reconfigured);
        }
        self.share();
        self.params = params;
    }
}

#[cfg(test)]
mod tests;
