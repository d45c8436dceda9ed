use super::*;
use crate::classes::ClassParams;
use crate::drop_tail::{DropTail, DropTailParams};
use crate::harness::{Harness, TestPacket};
use alloc::boxed::Box;
use sluicegate_base::{Link, Params, Rate};

const LINK: Link = Link { rate: Rate(1_000_000), packet: 1000 };

fn params(quantum: u64) -> DrrParams {
    DrrParams { quantum: Size::Bytes(quantum), ..DrrParams::defaults(&LINK).unwrap() }
}

/// Classes 0, 1, … with these quanta.
fn harness(quanta: &[u64]) -> Harness<Drr<TestPacket>> {
    let class = |(place, quantum): (usize, &u64)| {
        let params = ClassParams { class: None, max_length: None, quantum: Some(Size::Bytes(*quantum)) };
        Class::new(place, &params, Box::new(DropTail::new(DropTailParams { limit: Size::Packets(1000) })))
    };
    Harness::new(Drr::with_classes(params(1000), quanta.iter().enumerate().map(class).collect()), 1)
}

fn send(harness: &mut Harness<Drr<TestPacket>>, class: u8, bytes: u64) {
    harness.submit(TestPacket { flow: u64::from(class), bytes, class, ..TestPacket::default() });
}

/// By hand: quanta 1000 and 500; class 0 has packets of 800, class 1 of 300 bytes.
#[test]
fn replays_the_rounds() {
    let mut harness = harness(&[1000, 500]);
    for _ in 0..5 {
        send(&mut harness, 0, 800);
        send(&mut harness, 1, 300);
    }
    // Class 0: 1000 → 200 → −600. Class 1: 500 → 200 → −100. Class 0: 400 after its quantum, but at the end of the list:
    // class 1: 400, then class 0: 400 → −400; class 1: 400 → 100 → −200; class 0: 600 → −200; class 1: 300 → 0; class 0:
    // 800 → 0.
    let order = [(); 10].map(|()| harness.depart().unwrap().flow);
    assert_eq!(order, [0, 0, 1, 1, 0, 1, 1, 0, 1, 0]);
    assert!(harness.depart().is_none());
    harness.assert_conserved();
}

/// Bytes sent follow the quanta to within two packets and a quantum of each class, whatever the lengths.
#[test]
fn shares_follow_the_quanta() {
    let (quanta, lengths) = ([3000, 1500, 100], [40, 1500, 700]);
    let mut harness = harness(&quanta);
    let mut sent = [0; 3];
    for _ in 0..50_000 {
        for class in 0..3 {
            while harness.discipline.packets() < 500
                || harness.queued_flows().iter().filter(|flow| **flow == class).count() < 3
            {
                send(&mut harness, class as u8, lengths[class as usize]);
            }
        }
        let packet = harness.depart().unwrap();
        sent[packet.flow as usize] += packet.bytes;
    }
    let rounds = sent[0] / quanta[0];
    assert!(rounds > 100);
    for class in 0..3 {
        let fair = rounds * quanta[class];
        assert!(
            sent[class].abs_diff(fair) <= 2 * lengths[class] + 2 * quanta[class],
            "{class}: {} of {fair}",
            sent[class]
        );
    }
}

/// Class 0 has one packet of 1500 bytes at a time, three quanta long: it must not be forgiven what it owes.
#[test]
fn debts_outlive_an_empty_queue() {
    let mut harness = harness(&[500, 500]);
    let mut sent = [0; 2];
    for _ in 0..3000 {
        while harness.queued_flows().iter().all(|flow| *flow == 1) {
            send(&mut harness, 0, 1500);
        }
        while harness.discipline.packets() < 20 {
            send(&mut harness, 1, 100);
        }
        let packet = harness.depart().unwrap();
        sent[packet.flow as usize] += packet.bytes;
    }
    assert!(sent[0].abs_diff(sent[1]) <= 3000, "{sent:?}");
}

/// A queue that never gives what it has.
struct Miser(DropTail<TestPacket>);

impl Discipline<TestPacket> for Miser {
    fn enqueue(&mut self, packet: TestPacket, ctx: &mut Ctx<'_, TestPacket>) {
        self.0.enqueue(packet, ctx);
    }
    fn dequeue(&mut self, _: &mut Ctx<'_, TestPacket>) -> Option<TestPacket> {
        None
    }
    fn buffer(&self) -> &dyn Buffer<TestPacket> {
        self.0.buffer()
    }
}

#[test]
fn a_class_that_holds_back_delays_nobody() {
    let any = ClassParams::defaults(&LINK).unwrap();
    let queue = || DropTail::new(DropTailParams { limit: Size::Packets(50) });
    let classes = [Class::new(0, &any, Box::new(Miser(queue()))), Class::new(1, &any, Box::new(queue()))];
    let mut harness = Harness::new(Drr::with_classes(params(64), classes.into()), 1);
    send(&mut harness, 0, 1000);
    (0..3).for_each(|_| send(&mut harness, 1, 1500));
    assert_eq!([(); 3].map(|()| harness.depart().map(|packet| packet.flow)), [Some(1); 3]);
    assert!(harness.depart().is_none());
    harness.assert_conserved();
}
