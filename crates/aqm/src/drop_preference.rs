//! # Drop preference
//!
//! A first-in-first-out queue in which packets are essential or optional. Above a level optional packets are refused, and
//! when the queue is full a queued optional packet makes room for an essential one.
//!
//! ```text
//! for each arrival, which finds a queue of q:                                   (Floyd & Jacobson 1993, Sec. I)
//!     if q > level and it is optional:  drop it
//!     while the queue has no room and it is essential:  drop the optional packet that came last
//!     queue it, or drop it if there is still no room
//! ```
//!
//! A packet is essential if its priority is 0, the default of every flow, and optional otherwise.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | "optional" packets are dropped first "when the queue exceeds a certain size" | `level`, half of the limit by default: above it optional arrivals are dropped, with reason `forced` | the text names no size, nor whether arrivals or waiting packets are dropped; the arrival is the packet at hand |
//! | nothing on a full queue | the optional packet nearest to the tail makes room, with reason `tail`; if there is none, the arrival is dropped | "dropped first" holds there too. The last one has waited least |
//! | nothing on an essential packet that is longer than all optional ones together, with a limit in bytes | if dropping all optional packets would not make room, the arrival is dropped, and no queued packet with it | no drop without a gain |
//! | packets are essential or optional | priority 0 or any other | one bit is all that the rule needs |

use crate::prelude::*;
use crate::ring::Ring;

discipline! {
    DropPreference: "drop_preference", "Drop preference",
    source("Floyd & Jacobson 1993, Sec. I"),
    drops(Tail, Forced),
    // Optional packets are dropped first.
    proportional(),
    remembers(None, "a preference in each packet"),

    /// Parameters of [`DropPreference`].
    pub struct DropPreferenceParams {
        /// Largest length of the queue, without the packet in transmission.
        limit: Size = default(Size::Packets(50)), unit("packets"), range(Range::from(0.0)),
            source("default: ns-2's queue limit");
        /// Queue length above which optional packets are refused.
        level: Option<Size> = optional("half of the limit"), unit("packets"), range(Range::from(0.0)),
            source("RED 1993, Sec. I, without a value; half is chosen here");
    }
    rules {
        "level and limit are both in packets or both in bytes" [level, limit]
            |p| p.level().is_like(p.limit);
    }
}

impl DropPreferenceParams {
    /// The level: as given, or half of the limit.
    fn level(&self) -> Size {
        self.level.unwrap_or(self.limit.half())
    }
}

/// A first-in-first-out queue that drops optional packets first.
#[derive(Clone, Debug)]
pub struct DropPreference<P> {
    ring: Ring<P>,
    limit: Limit,
    level: Size,
    /// Optional packets in the queue, and their bytes.
    optional: [u64; 2],
}

impl<P: Packet> DropPreference<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(params: DropPreferenceParams) -> Self {
        let (ring, limit) = (Ring::new(params.limit), Limit::of(params.limit));
        DropPreference { ring, limit, level: params.level(), optional: [0; 2] }
    }

    /// A packet has left the queue.
    fn forget(&mut self, packet: &P) {
        if packet.priority() > 0 {
            self.optional = [self.optional[0] - 1, self.optional[1] - packet.bytes()];
        }
    }

    /// Drops optional packets, the last first, until there is room for the arrival; none if that is not enough.
    fn make_room(&mut self, packet: &P, ctx: &mut Ctx<'_, P>) {
        let [packets, bytes] = self.optional;
        if !self.limit.has_room(self.ring.packets() - packets, self.ring.bytes() - bytes, packet.bytes()) {
            return;
        }
        while !self.ring.has_room(packet) {
            let last = self.ring.iter().rfind(|(_, packet)| packet.priority() > 0).map(|(slot, _)| slot);
            let Some(victim) = last.and_then(|slot| self.ring.remove(slot)) else { break };
            self.forget(&victim);
            ctx.drop(victim, DropReason::Tail);
        }
        self.ring.compact();
    }
}

impl<P: Packet> Discipline<P> for DropPreference<P> {
    fn enqueue(&mut self, packet: P, ctx: &mut Ctx<'_, P>) {
        let optional = packet.priority() > 0;
        if optional && self.ring.exceeds(self.level) {
            return ctx.drop(packet, DropReason::Forced);
        }
        if !optional && !self.ring.has_room(&packet) {
            self.make_room(&packet, ctx);
        }
        if !self.ring.has_room(&packet) {
            return ctx.drop(packet, DropReason::Tail);
        }
        if optional {
            self.optional = [self.optional[0] + 1, self.optional[1] + packet.bytes()];
        }
        self.ring.push(packet);
    }

    fn dequeue(&mut self, _ctx: &mut Ctx<'_, P>) -> Option<P> {
        let packet = self.ring.pop()?;
        self.ring.compact();
        self.forget(&packet);
        Some(packet)
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        &self.ring
    }
}

impl<P: Packet> Configure<P> for DropPreference<P> {
    fn configure(&mut self, params: DropPreferenceParams, ctx: &mut Ctx<'_, P>) {
        (self.limit, self.level) = (Limit::of(params.limit), params.level());
        self.ring.set_limit(params.limit);
        while let Some(packet) = self.ring.pop_excess() {
            self.forget(&packet);
            ctx.drop(packet, DropReason::Reconfigured);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{Harness, TestPacket};

    fn harness(limit: Size, level: Option<Size>) -> Harness<DropPreference<TestPacket>> {
        Harness::new(DropPreference::new(DropPreferenceParams { limit, level }), 1)
    }

    fn send(harness: &mut Harness<DropPreference<TestPacket>>, packets: &[(u64, u8, u64)]) {
        for &(flow, priority, bytes) in packets {
            harness.submit(TestPacket { flow, priority, bytes, ..TestPacket::default() });
        }
    }

    /// The rule by hand: limit 4, so the level is 2.
    #[test]
    fn optional_packets_go_first() {
        let mut harness = harness(Size::Packets(4), None);
        send(&mut harness, &[(1, 1, 9), (2, 3, 9), (3, 1, 9), (4, 1, 9), (5, 0, 9)]);
        // 4 finds three queued, which is above 2.
        assert_eq!(
            (harness.queued_flows(), harness.dropped_flows()),
            ([1, 2, 3, 5].to_vec(), [(4, DropReason::Forced)].to_vec())
        );
        // Full: 3, 2 and 1 make room, the last first; then no optional packet is left.
        send(&mut harness, &[(6, 0, 9), (7, 0, 9), (8, 0, 9), (9, 0, 9)]);
        let full = [3, 2, 1, 9].map(|flow| (flow, DropReason::Tail));
        assert_eq!((harness.queued_flows(), &harness.dropped_flows()[1..]), ([5, 6, 7, 8].to_vec(), &full[..]));
        harness.assert_conserved();
    }

    #[test]
    fn none_is_dropped_in_vain() {
        let mut harness = harness(Size::Bytes(3000), Some(Size::Bytes(3000)));
        send(&mut harness, &[(1, 0, 1000), (2, 1, 1000), (3, 1, 1000), (4, 0, 2001)]);
        assert_eq!(harness.dropped_flows(), [(4, DropReason::Tail)]);
        send(&mut harness, &[(5, 0, 1001)]);
        assert_eq!(harness.queued_flows(), [1, 5], "both make room for it");
        assert_eq!(harness.discipline.optional, [0, 0]);
    }

    #[test]
    fn without_optional_packets_it_is_drop_tail() {
        let mut harness = harness(Size::Packets(2), None);
        send(&mut harness, &[(1, 0, 9), (2, 0, 9), (3, 0, 9)]);
        assert_eq!(harness.dropped_flows(), [(3, DropReason::Tail)]);
    }
}
