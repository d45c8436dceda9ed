use super::*;
use crate::DropReason;
use crate::classes::ClassParams;
use crate::drop_tail::{DropTail, DropTailParams};
use crate::harness::{Harness, TestPacket};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use core::sync::atomic::{AtomicU64, Ordering};
use sluicegate_base::{Link, Params, Rate, Span};

const LINK: Link = Link { rate: Rate(1_000_000), packet: 1000 };

fn none() -> PriorityParams {
    PriorityParams::defaults(&LINK).unwrap()
}

fn class(place: usize, queue: Box<dyn Discipline<TestPacket>>) -> Class<TestPacket> {
    Class::new(place, &ClassParams::defaults(&LINK).unwrap(), queue)
}

fn send(harness: &mut Harness<Priority<TestPacket>>, packets: &[(u64, u8)]) {
    for &(flow, class) in packets {
        harness.submit(TestPacket { flow, bytes: 1000, class, ..TestPacket::default() });
    }
}

#[test]
fn earlier_classes_go_first() {
    let mut harness = Harness::new(Priority::new(none()), 1);
    // Three bands: class 2 and all beyond share the last.
    send(&mut harness, &[(1, 2), (2, 1), (3, 0), (4, 9), (5, 1)]);
    assert_eq!(harness.queued_flows(), [3, 2, 5, 1, 4]);
    assert_eq!([harness.depart().unwrap().flow, harness.depart().unwrap().flow], [3, 2]);
    send(&mut harness, &[(6, 0)]);
    assert_eq!([(); 4].map(|()| harness.depart().unwrap().flow), [6, 5, 1, 4]);
    assert!(harness.depart().is_none());
    harness.assert_conserved();
}

#[test]
fn a_limit_for_all_refuses_the_arrival() {
    let mut harness = Harness::new(Priority::new(PriorityParams { limit: Some(Size::Packets(2)), ..none() }), 1);
    send(&mut harness, &[(1, 2), (2, 1), (3, 0)]);
    assert_eq!(harness.dropped_flows(), [(3, DropReason::Tail)]);
    harness.assert_conserved();
}

/// A queue that counts how often it was asked for a packet and had none, and may want to act at an interval.
struct Spy {
    queue: DropTail<TestPacket>,
    idle: Arc<AtomicU64>,
    due: Option<Time>,
    every: Span,
}

fn queue() -> DropTail<TestPacket> {
    DropTail::new(DropTailParams { limit: Size::Packets(50) })
}

impl Discipline<TestPacket> for Spy {
    fn enqueue(&mut self, packet: TestPacket, ctx: &mut Ctx<'_, TestPacket>) {
        self.queue.enqueue(packet, ctx);
    }
    fn dequeue(&mut self, ctx: &mut Ctx<'_, TestPacket>) -> Option<TestPacket> {
        let packet = self.queue.dequeue(ctx);
        self.idle.fetch_add(u64::from(packet.is_none()), Ordering::Relaxed);
        packet
    }
    fn next_wakeup(&self) -> Option<Time> {
        self.due
    }
    fn wake(&mut self, ctx: &mut Ctx<'_, TestPacket>) {
        self.due = self.due.map(|due| if due <= ctx.now { due + self.every } else { due });
    }
    fn buffer(&self) -> &dyn Buffer<TestPacket> {
        self.queue.buffer()
    }
}

/// The second class learns that it is idle while the first one sends: at once, and once.
#[test]
fn a_class_learns_that_it_is_idle() {
    let idle = Arc::new(AtomicU64::new(0));
    let spy = Spy { queue: queue(), idle: idle.clone(), due: None, every: Span::ZERO };
    let classes = vec![class(0, Box::new(queue())), class(1, Box::new(spy))];
    let mut harness = Harness::new(Priority::with_classes(none(), classes), 1);
    send(&mut harness, &[(2, 1)]);
    assert_eq!(harness.depart().unwrap().flow, 2);
    send(&mut harness, &[(1, 0), (1, 0)]);
    let told = [(); 2].map(|()| {
        harness.depart().unwrap();
        idle.load(Ordering::Relaxed)
    });
    assert_eq!(told, [1, 1]);
    assert_eq!((harness.depart(), idle.load(Ordering::Relaxed)), (None, 2));
}

/// Whichever class asks first is woken first.
#[test]
fn wake_ups_pass_through() {
    let looking = |interval| {
        let every = Span::from_secs(interval);
        Box::new(Spy { queue: queue(), idle: Arc::default(), due: Some(Time::ZERO + every), every })
    };
    let classes = vec![class(0, looking(5)), class(1, looking(3))];
    let mut harness = Harness::new(Priority::with_classes(none(), classes), 1);
    let mut wakes = vec![];
    while harness.now < Time::ZERO + Span::from_secs(10) {
        let next = harness.discipline.next_wakeup().unwrap();
        wakes.push(next.as_secs());
        harness.wait(next.since(harness.now));
    }
    assert_eq!(wakes, [3.0, 5.0, 6.0, 9.0, 10.0]);
}
