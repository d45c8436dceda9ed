//! What headers say: to a discipline of one's own that asks, and in the rows that a run keeps.

use sluicegate_aqm::fifo::{Buffer, Fifo};
use sluicegate_aqm::{Ctx, Discipline, DropReason};
use sluicegate_base::{Rate, Size, Span, Time};
use sluicegate_netsim::counters::{PacketFate, SegmentRow};
use sluicegate_netsim::{End, Headers, NetworkBuilder, Outcome, QueuedPacket, Sim};
use sluicegate_tcp::{Flags, Host, ProfileName, TcpParams};

/// Drops the data that begins at this byte so often.
struct Lose {
    headers: Headers,
    first_byte: u64,
    times: u32,
    queue: Fifo<QueuedPacket>,
}

impl Discipline<QueuedPacket> for Lose {
    fn enqueue(&mut self, packet: QueuedPacket, ctx: &mut Ctx<'_, QueuedPacket>) {
        let segment = self.headers.of(&packet);
        if self.times > 0 && segment.is_some_and(|segment| segment.len > 0 && segment.seq == self.first_byte) {
            self.times -= 1;
            return ctx.drop(packet, DropReason::Forced);
        }
        self.queue.push(packet);
    }

    fn dequeue(&mut self, _ctx: &mut Ctx<'_, QueuedPacket>) -> Option<QueuedPacket> {
        let packet = self.queue.pop()?;
        assert!(self.headers.of(&packet).is_none_or(|_| self.queue.packets() == 0), "that of the last arrival alone");
        Some(packet)
    }

    fn buffer(&self) -> &dyn Buffer<QueuedPacket> {
        &self.queue
    }
}

/// A transfer of 200 segments over 4 Mbit/s, in steps of so many nanoseconds, whose 30th segment is lost twice.
fn run(segments: u64, step: u64) -> (Outcome, u64) {
    let mut network = NetworkBuilder::new();
    let headers = Headers::default();
    let host = Host::new(&TcpParams::of(ProfileName::Linux));
    let (mss, times) = (u64::from(host.mss), 2);
    let (first_byte, queue) = (29 * mss, Fifo::new(Size::Packets(1000)));
    let lose = Lose { headers: headers.clone(), first_byte, times, queue };
    let link = network.link("out", Rate(4_000_000), Span::from_millis(10)).queue("lose", Box::new(lose)).id();
    let back = network.line("back", Rate(10_000_000), Span::from_millis(10)).id();
    network.flow(host).path([link]).return_path([back]).size(200 * mss);
    let plan = network.duration(Span::from_secs(3)).packets(100_000).segments(segments).build().unwrap();
    let mut sim = Sim::new(plan);
    sim.show_headers(&headers);
    let mut until = Time(step);
    while sim.now() < sim.end() {
        while sim.advance_until(until, 1000) {}
        until += Span(step);
    }
    (sim.finish(), mss)
}

fn of<'a>(rows: &'a [SegmentRow], place: &str) -> Vec<&'a SegmentRow> {
    rows.iter().filter(|row| &*row.place == place).collect()
}

#[test]
fn a_segment_can_be_lost_twice_without_a_capture() {
    let (outcome, mss) = run(10_000, 1 << 40);
    let there = of(&outcome.segments, "out");
    let fates: Vec<PacketFate> = there
        .iter()
        .filter(|row| row.segment.seq == 29 * mss && row.segment.len > 0)
        .filter_map(|row| row.fate)
        .collect();
    let lost = PacketFate::Drop(DropReason::Forced);
    assert_eq!(fates, [lost, lost, PacketFate::Departure]);
    assert_eq!((outcome.flows[0].retransmissions, outcome.flows[0].completion.is_some()), (2, true));
    // The receiver tells of what came behind the gap, and then of all.
    let back = of(&outcome.segments, "back");
    let gap =
        |row: &&&SegmentRow| row.segment.ack == 29 * mss && row.segment.ranges().any(|(start, _)| start == 30 * mss);
    assert!(back.iter().filter(gap).count() > 10);
    assert_eq!(back.iter().map(|row| row.segment.ack).max(), Some(200 * mss + 1), "with the end of the stream");
    assert!(there[0].segment.flags.has(Flags::SYN) && there[0].to == End::Receiver && back[0].to == End::Sender);
    assert!(outcome.segments.iter().all(|row| row.fate.is_some()));
}

#[test]
fn rows_of_segments_agree_with_those_of_packets_and_change_nothing() {
    let (outcome, _) = run(100_000, 1 << 40);
    let arrived: Vec<(Time, u64)> = outcome
        .packets
        .iter()
        .filter(|row| row.event == PacketFate::Arrival)
        .map(|row| (row.time, row.first))
        .collect();
    let there = of(&outcome.segments, "out");
    assert_eq!(there.iter().map(|row| (row.time, row.segment.seq)).collect::<Vec<_>>(), arrived);
    assert!(outcome.segments.windows(2).all(|pair| pair[0].time <= pair[1].time));
    let (without, _) = run(0, 1 << 40);
    assert_eq!(without.segments.len(), 0);
    let rest = |outcome: Outcome| format!("{:?}", Outcome { segments: Vec::new(), ..outcome });
    let all = format!("{:?}", outcome.segments);
    assert_eq!(rest(outcome), rest(without));
    // Driven in steps, and the first of them alone.
    assert_eq!(all, format!("{:?}", run(100_000, 3_000_001).0.segments));
    let some = run(150, 3_000_001).0.segments;
    assert_eq!(some.len(), 150);
    assert!(all.starts_with(format!("{some:?}").trim_end_matches(']')));
}
