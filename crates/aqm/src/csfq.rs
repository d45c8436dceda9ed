//! # CSFQ
//!
//! Core-stateless fair queueing. The edge of a network estimates the rate of each flow and writes it on its packets; the
//! core drops a packet with a probability equal to the share of its flow's rate that exceeds the fair rate. It estimates
//! the fair rate from the whole of the traffic. Only the edge knows flows.
//!
//! ```text
//! edge, for each arrival of l bits, T after the flow's last:                  (Stoica, Shenker & Zhang 1998, as remembered)
//!     r ← (1 − e^(−T/K))·l/T + e^(−T/K)·r,   label ← r
//! core, for each arrival:  congested?  with probability max(0, 1 − α/label):  drop                         (early)
//!     A ← the rate of arrivals, F ← that of what is let through, both averaged as above with K_α
//!     A ≥ C:  congested from now on?  a window starts;    K_α since it started?  α ← α·C/F, a window starts
//!     A < C:  uncongested from now on?  a window starts;  K_α since?  α ← the largest label of the window, a window starts
//!     queue it, with label ← min(label, the new α) if it could have been dropped;  the buffer is full?  drop it, α ← 0.99·α  (tail)
//! ```
//!
//! At one link the edge and the core may sit in the same queue: `role` = both, the default. On a path of several links the
//! queues behind the first have `role` = core, and read the labels that it wrote; a packet without label is never dropped
//! early. The edge remembers at most `flows` flows, found by a keyed hash, and forgets one that has been silent for ten K,
//! when its rate has decayed to nothing; when there are more, the one that was silent longest is forgotten. `state` shows
//! `alpha_bps` and, at the edge, `flows`, how many are remembered.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | the text of 1998 was not at hand | the rule is that of CHOKe 1999, Sec. 1, and of memory | K = 100 ms, K_α = 200 ms for averages and windows, and 1 % are remembered |
//! | nothing on a flow's first packet | r = l/K | the limit of the average for r = 0 and T → 0 |
//! | T = 0 | the limit, r + l/K | packets may arrive at the same time |
//! | uncongested, α is the largest label of the last window, and still drops what exceeds it | nothing is dropped while uncongested | so that a flow that speeds up on a link with room is not dropped. α is taken up when congestion begins |
//! | nothing on a window without packets | α is at least the label of the packet that ends the window | else the first packet after a pause would leave α = 0, which drops everything |
//! | α at first | C | no flow can have more |
//! | α is lowered by 1 % for each drop at a full buffer, by at most 25 % between two estimates | the same | the paper's |
//! | a packet that could have been dropped is relabelled α after α has been estimated (Fig. 3) | the same, but with no more than its own label | where α rises above the label just then, the flow has not become faster |
//! | flows have weights | all are equal | flows have no weights in a scenario |
//! | labels are in the IP header | in the packet's label, as a number of bit/s in 32-bit floating point | as precise as the estimate; other queues on the path must leave the label alone |

use crate::flow_table::FlowTable;
use crate::prelude::*;
use alloc::vec::Vec;

choices! {
    /// What the queue is.
    pub enum Role {
        /// Edge and core of one link.
        Both = "both",
        /// The core alone: labels come from an edge before it.
        Core = "core",
    }
}

discipline! {
    Csfq: "csfq", "CSFQ",
    source("Stoica, Shenker & Zhang 1998; CHOKe 1999, Sec. 1"),
    drops(Tail, Early),
    // Each flow is judged by its rate.
    proportional(),
    remembers(Seen, "at the edge"),

    /// Parameters of [`Csfq`].
    pub struct CsfqParams {
        /// Edge and core at the same link, or only a core that reads the labels of an earlier edge.
        role: Role = default(Role::Both), source("Stoica, Shenker & Zhang 1998, as remembered"), fixed(true);
        /// Time constant of a flow's rate.
        k: Span = default(Span::from_millis(100)), range(Range::above(0.0).to(3600.0)),
            source("Stoica, Shenker & Zhang 1998, as remembered: 100 ms");
        /// Time constant of the link's rates, and length of the windows after which the fair rate α changes.
        k_alpha: Span = default(Span::from_millis(200)), range(Range::above(0.0).to(3600.0)),
            source("Stoica, Shenker & Zhang 1998, as remembered: 200 ms");
        /// The rate that flows share.
        c: Rate = derived("the link's rate", |link| link.rate), range(Range::POSITIVE),
            source("Stoica, Shenker & Zhang 1998, as remembered: C");
        /// Largest number of flows whose rates the edge remembers.
        flows: u64 = default(65_536), unit("flows"), range(Range::from(1.0).to(1_000_000.0)), source("chosen here"), fixed(true);
        /// Largest length of the queue, without the packet in transmission.
        limit: Size = default(Size::Packets(300)), unit("packets"), range(Range::from(1.0)),
            source("chosen here, as for choke");
    }
}

/// An exponential average of a rate in bit/s, by the times between packets.
#[derive(Clone, Copy, Debug)]
struct Average {
    rate: f64,
    last: Option<Time>,
}

impl Average {
    const ZERO: Average = Average { rate: 0.0, last: None };

    /// A packet of so many bytes comes.
    fn packet(&mut self, bytes: u64, now: Time, k: Span) {
        let (bits, k) = (8.0 * bytes as f64, k.as_secs());
        let t = self.last.map_or(0.0, |last| now.since(last).as_secs());
        self.last = Some(now);
        // 1 − e^(−T/K), which is T/K for the smallest T.
        let weight = -libm::expm1(-t / k);
        let fresh = if t > 0.0 { weight * bits / t } else { bits / k };
        self.rate = fresh + (1.0 - weight) * self.rate;
    }
}

/// What the edge knows of the flows.
#[derive(Clone, Debug)]
struct Edge {
    rates: FlowTable<Average>,
    /// Flows and their last packets as they were when room was needed, the one that was silent longest at the end.
    silent: Vec<(Option<Time>, FlowKey)>,
    /// When the last packet came.
    now: Time,
    k: Span,
}

impl Edge {
    /// Whether a flow with this last packet has been silent for so long that it is forgotten.
    fn forgotten(&self, average: Average) -> bool {
        average.last.is_some_and(|last| self.now.since(last) > Span(self.k.0.saturating_mul(10)))
    }

    /// How many flows are remembered.
    fn flows(&self) -> usize {
        self.rates.iter().filter(|(_, average)| !self.forgotten(**average)).count()
    }

    /// Removes the flow that was silent longest. All are put in order once, for as many removals as there were flows.
    fn make_room(&mut self) {
        loop {
            while let Some((last, flow)) = self.silent.pop() {
                // Whoever has sent since then is not it.
                if let Some(at) = self.rates.find(flow).filter(|at| self.rates[*at].last == last) {
                    return self.rates.remove_at(at);
                }
            }
            self.silent.extend(self.rates.iter().map(|(flow, average)| (average.last, flow)));
            self.silent.sort_unstable_by(|a, b| b.cmp(a));
        }
    }

    /// The rate of a flow with a packet of so many bytes.
    fn estimate(&mut self, flow: FlowKey, bytes: u64, now: Time, rng: &mut Stream) -> f64 {
        self.now = now;
        let at = self.rates.find_or_insert(flow, rng, || Average::ZERO).unwrap_or_else(|| {
            self.make_room();
            self.rates.find_or_insert(flow, rng, || Average::ZERO).expect("room has been made")
        });
        if self.forgotten(self.rates[at]) {
            self.rates[at] = Average::ZERO;
        }
        self.rates[at].packet(bytes, now, self.k);
        self.rates[at].rate
    }
}

/// A first-in-first-out queue under CSFQ.
#[derive(Clone, Debug)]
pub struct Csfq<P> {
    params: CsfqParams,
    fifo: Fifo<P>,
    edge: Option<Edge>,
    /// The fair rate in bit/s.
    alpha: f64,
    /// What drops at a full buffer may lower α to.
    floor: f64,
    /// The largest label of the present window, while uncongested.
    tmp_alpha: f64,
    congested: bool,
    start_time: Time,
    arrivals: Average,
    accepted: Average,
}

impl<P: Packet> Csfq<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(params: CsfqParams) -> Self {
        let rates = FlowTable::new(params.flows as usize);
        let edge = Edge { rates, silent: Vec::new(), now: Time::ZERO, k: params.k };
        let c = params.c.0 as f64;
        Csfq {
            fifo: Fifo::new(params.limit),
            edge: (params.role == Role::Both).then_some(edge),
            alpha: c,
            floor: 0.75 * c,
            tmp_alpha: 0.0,
            congested: false,
            start_time: Time::ZERO,
            arrivals: Average::ZERO,
            accepted: Average::ZERO,
            params,
        }
    }

    fn estimate_alpha(&mut self, bytes: u64, label: f64, dropped: bool, now: Time) {
        let (c, k_alpha) = (self.params.c.0 as f64, self.params.k_alpha);
        self.arrivals.packet(bytes, now, k_alpha);
        if !dropped {
            self.accepted.packet(bytes, now, k_alpha);
        }
        let congested = self.arrivals.rate >= c;
        let over = now > self.start_time + k_alpha;
        if congested != self.congested {
            self.congested = congested;
            (self.start_time, self.tmp_alpha) = (now, 0.0);
        } else if congested && over {
            if self.accepted.rate > 0.0 {
                self.alpha *= c / self.accepted.rate;
            }
            (self.start_time, self.floor) = (now, 0.75 * self.alpha);
        } else if !congested {
            self.tmp_alpha = self.tmp_alpha.max(label);
            if over {
                self.alpha = self.tmp_alpha;
                (self.start_time, self.floor, self.tmp_alpha) = (now, 0.75 * self.alpha, 0.0);
            }
        }
    }
}

impl<P: Packet> Discipline<P> for Csfq<P> {
    fn enqueue(&mut self, mut packet: P, ctx: &mut Ctx<'_, P>) {
        let bytes = packet.bytes();
        let label = match &mut self.edge {
            Some(edge) => edge.estimate(packet.flow(), bytes, ctx.now, ctx.rng),
            None => f64::from(f32::from_bits(packet.label())).max(0.0),
        };
        let exceeds = self.congested && label > self.alpha;
        let dropped = exceeds && ctx.rng.chance(1.0 - self.alpha / label);
        self.estimate_alpha(bytes, label, dropped, ctx.now);
        // Fig. 3 labels with α as this packet has moved it.
        let fair = if exceeds { label.min(self.alpha) } else { label };
        if dropped {
            return ctx.drop(packet, DropReason::Early);
        }
        if !self.fifo.has_room(&packet) {
            self.alpha = (0.99 * self.alpha).max(self.floor.min(self.alpha));
            return ctx.drop(packet, DropReason::Tail);
        }
        packet.set_label((fair as f32).to_bits());
        self.fifo.push(packet);
    }

    fn dequeue(&mut self, _ctx: &mut Ctx<'_, P>) -> Option<P> {
        self.fifo.pop()
    }

    fn state(&self, visit: &mut dyn FnMut(Option<FlowKey>, &'static str, f64)) {
        visit(None, "alpha_bps", self.alpha);
        if let Some(edge) = &self.edge {
            visit(None, "flows", edge.flows() as f64);
        }
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        &self.fifo
    }
}

impl<P: Packet> Configure<P> for Csfq<P> {
    fn configure(&mut self, params: CsfqParams, ctx: &mut Ctx<'_, P>) {
        if let Some(edge) = &mut self.edge {
            edge.k = params.k;
        }
        self.fifo.resize(params.limit, ctx);
        self.params = params;
    }
}

#[cfg(test)]
mod tests;
