//! Queues that are made of queues: which class a packet goes to, and what all containers share.
//!
//! A container holds one discipline for each class of traffic and decides which class sends next. It works from what a
//! class's own `dequeue` returned, so that any discipline can be in it, another container too.
//!
//! Linux's `mq` gives each transmit queue of a device a discipline of its own, and leaves the order among them to the device,
//! most often in turn. A link here has one transmitter. Classes under `drr` are such queues, one for each class instead of
//! one for each processor, so `mq` needs no discipline of its own here.

use crate::configure;
use crate::discipline::{Ctx, Discipline, DropReason, Packet};
use crate::drop_tail::DropTail;
use crate::fifo::{Buffer, Limit};
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use sluicegate_base::params::{FIXED, Raw, unknown};
use sluicegate_base::{About, Declared, Link, Params, Range, Size, Time, params};

params! {
    /// What an entry of `[[queue.classes]]` says of its class, beside the discipline of its queue.
    pub struct ClassParams {
        /// The class of flows whose packets it takes; of real packets, the DSCP.
        class: Option<u64> = optional("its position in the list, counted from 0; any class, if max_length is given"),
            unit("1"), range(Range::from(0.0).to(255.0)), source("Sluicegate");
        /// The longest packet that it takes, such as "64 B".
        max_length: Option<Size> = optional("any length"), unit("B"), range(Range::from(1.0)),
            source("RED 1993, Sec. XII: short control packets");
        /// In `drr`, how much the class may send in a round.
        quantum: Option<Size> = optional("the queue's own quantum"), unit("B"), range(Range::from(64.0)),
            source("Shreedhar & Varghese 1995: Quantum");
    }
    rules {
        "max_length and quantum are in bytes" [max_length, quantum]
            |p| ![p.max_length, p.quantum].iter().any(|size| matches!(size, Some(Size::Packets(_))));
    }
}

/// An entry of `[[queue.classes]]` as a declared thing.
pub struct ClassEntry;

impl Declared for ClassEntry {
    type Params = ClassParams;
    const ABOUT: About = About {
        name: "class",
        class: "Class",
        title: "A class of traffic",
        source: "Sluicegate",
        tc: "",
        module: "//! A class of traffic, with a queue of its own.",
    };
}

/// Which packets a class takes.
#[derive(Clone, Copy, Debug)]
pub struct ClassFilter {
    class: Option<u64>,
    max_length: Option<u64>,
}

impl ClassFilter {
    /// The filter of the class at this place of the list, counted from 0.
    #[must_use]
    pub fn new(place: usize, params: &ClassParams) -> ClassFilter {
        let place = params.max_length.is_none().then_some(place as u64);
        ClassFilter { class: params.class.or(place), max_length: params.max_length.map(Size::amount) }
    }

    fn takes(&self, packet: &impl Packet) -> bool {
        self.class.is_none_or(|class| class == u64::from(packet.class()))
            && self.max_length.is_none_or(|longest| packet.bytes() <= longest)
    }
}

/// The class of a packet: the first that takes it, or the last.
pub(crate) fn class_of<'a>(filters: impl ExactSizeIterator<Item = &'a ClassFilter>, packet: &impl Packet) -> usize {
    let last = filters.len() - 1;
    filters.take(last).position(|filter| filter.takes(packet)).unwrap_or(last)
}

/// A class: what it takes, and its queue.
pub struct Class<P> {
    filter: ClassFilter,
    /// In bytes; none for the container's own.
    quantum: Option<u64>,
    queue: Box<dyn Discipline<P>>,
}

impl<P: Packet> Class<P> {
    /// The class at this place of the list, counted from 0.
    #[must_use]
    pub fn new(place: usize, params: &ClassParams, queue: Box<dyn Discipline<P>>) -> Self {
        Class { filter: ClassFilter::new(place, params), quantum: params.quantum.map(Size::amount), queue }
    }
}

/// So many classes, each for the flows of its number, under Drop Tail: what a container is when no classes are described.
pub(crate) fn plain<P: Packet + 'static>(count: u64) -> Vec<Class<P>> {
    let link = Link { rate: sluicegate_base::Rate(1), packet: 1 };
    let any = ClassParams { class: None, max_length: None, quantum: None };
    let queue = || configure::build(&mut |_| None, &link, DropTail::new).expect("every value has a default");
    (0..count as usize).map(|place| Class::new(place, &any, queue())).collect()
}

/// The classes of a container.
pub(crate) struct Classes<P> {
    list: Vec<Class<P>>,
    /// For all classes together.
    limit: Option<Limit>,
}

impl<P: Packet> Classes<P> {
    /// Panics without any class: there is one at least wherever classes are read.
    pub(crate) fn new(list: Vec<Class<P>>, limit: Option<Size>) -> Self {
        assert!(!list.is_empty(), "a container has one class at least");
        Classes { list, limit: limit.map(Limit::of) }
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn quanta(&self, own: u64) -> Vec<u64> {
        self.list.iter().map(|class| class.quantum.unwrap_or(own)).collect()
    }

    /// The queue of a class.
    #[inline]
    pub(crate) fn queue(&mut self, at: usize) -> &mut dyn Discipline<P> {
        &mut *self.list[at].queue
    }

    /// The packet that a class gives up, of a container beside which so many bytes wait: the class is told of these and of what
    /// the others hold. One that holds nothing has no use for it.
    pub(crate) fn dequeue(&mut self, at: usize, elsewhere: u64, ctx: &mut Ctx<'_, P>) -> Option<P> {
        let queue = &self.list[at].queue;
        let others = if queue.packets() > 0 { self.bytes() - queue.bytes() } else { 0 };
        self.list[at].queue.dequeue_in_class(elsewhere + others, ctx)
    }

    /// Gives an arrival to its class; the class's place, unless the limit for all of them refuses it.
    #[inline]
    pub(crate) fn enqueue(&mut self, packet: P, ctx: &mut Ctx<'_, P>) -> Option<usize> {
        if let Some(limit) = self.limit {
            if !limit.has_room(self.packets(), self.bytes(), packet.bytes()) {
                ctx.drop(packet, DropReason::Tail);
                return None;
            }
        }
        let at = class_of(self.list.iter().map(|class| &class.filter), &packet);
        self.list[at].queue.enqueue(packet, ctx);
        Some(at)
    }

    pub(crate) fn next_wakeup(&self) -> Option<Time> {
        self.list.iter().filter_map(|class| class.queue.next_wakeup()).min()
    }

    /// Wakes the classes whose time has come.
    pub(crate) fn wake(&mut self, ctx: &mut Ctx<'_, P>) {
        for class in &mut self.list {
            if class.queue.next_wakeup().is_some_and(|at| at <= ctx.now) {
                class.queue.wake(ctx);
            }
        }
    }

    /// Another limit for all of them; what it leaves no room for is taken from the class with the most packets.
    pub(crate) fn resize(&mut self, limit: Option<Size>, ctx: &mut Ctx<'_, P>) {
        self.limit = limit.map(Limit::of);
        while self.limit.is_some_and(|limit| limit.is_exceeded(self.packets(), self.bytes())) {
            let longest = self.list.iter_mut().max_by_key(|class| class.queue.packets());
            let Some(packet) = longest.and_then(|class| class.queue.dequeue(ctx)) else { break };
            ctx.drop(packet, DropReason::Reconfigured);
        }
    }

    /// Changes a parameter of one class: `classes.0.limit`.
    pub(crate) fn set(&mut self, name: &str, value: &Raw, ctx: &mut Ctx<'_, P>) -> Result<(), String> {
        let class = name.strip_prefix("classes.").and_then(|rest| rest.split_once('.'));
        let found = class.and_then(|(at, key)| Some((self.list.get_mut(at.parse::<usize>().ok()?)?, key)));
        let (class, key) = found.ok_or_else(|| unknown(name, &[]))?;
        if ClassParams::FIELDS.iter().any(|field| field.name == key) {
            return Err(FIXED.to_owned());
        }
        class.queue.set(key, value, ctx)
    }

    pub(crate) fn link_changed(&mut self, link: &Link, ctx: &mut Ctx<'_, P>) {
        self.list.iter_mut().for_each(|class| class.queue.link_changed(link, ctx));
    }
}

impl<P: Packet> Buffer<P> for Classes<P> {
    fn packets(&self) -> u64 {
        self.list.iter().map(|class| class.queue.packets()).sum()
    }

    fn bytes(&self) -> u64 {
        self.list.iter().map(|class| class.queue.bytes()).sum()
    }

    fn for_each(&self, visit: &mut dyn FnMut(&P)) {
        self.list.iter().for_each(|class| class.queue.for_each(visit));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drop_tail::DropTailParams;
    use crate::harness::TestPacket;

    fn class(place: usize, class: Option<u64>, max_length: Option<u64>) -> Class<TestPacket> {
        let params = ClassParams { class, max_length: max_length.map(Size::Bytes), quantum: None };
        Class::new(place, &params, Box::new(DropTail::new(DropTailParams { limit: Size::Packets(9) })))
    }

    #[test]
    fn a_class_takes_what_it_says_or_its_number() {
        let takes = |class: &Class<TestPacket>, number, bytes| {
            class.filter.takes(&TestPacket { class: number, bytes, ..TestPacket::default() })
        };
        let second = class(1, None, None);
        assert!(takes(&second, 1, 1000) && !takes(&second, 0, 1000));
        let short = class(1, None, Some(64));
        assert!(takes(&short, 0, 64) && takes(&short, 7, 40) && !takes(&short, 1, 65));
        let both = class(0, Some(3), Some(64));
        assert!(takes(&both, 3, 64) && !takes(&both, 0, 64) && !takes(&both, 3, 65));
    }

    #[test]
    fn the_first_that_takes_it_or_the_last() {
        let list = [class(0, None, Some(64)), class(1, Some(5), None), class(2, Some(6), None)].into();
        let mut classes = Classes::new(list, None);
        let (mut rng, mut dropped) = (sluicegate_base::Stream::new(1, "classes"), Vec::new());
        let mut place = |class, bytes| {
            let packet = TestPacket { class, bytes, ..TestPacket::default() };
            classes.enqueue(packet, &mut Ctx::new(Time::ZERO, &mut rng, &mut dropped))
        };
        let placed = [place(5, 40), place(5, 1000), place(6, 1000), place(0, 1000)];
        assert_eq!(placed, [Some(0), Some(1), Some(2), Some(2)]);
    }
}
