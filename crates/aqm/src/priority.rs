//! # Strict priority
//!
//! A queue for each class of traffic, each under a discipline of its own; a class sends only when all before it in the
//! list have nothing to send.
//!
//! ```text
//! for each arrival:  the first class that takes it, or else the last, queues it or drops it
//! the link can send:  for each class in order:  if its queue gives a packet, send it
//! ```
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | interactive (TELNET) and bulk (FTP) traffic in classes with separate queues "to give priority to the interactive traffic", each with RED of its own (RED 1993, Sec. XII) | `[[queue.classes]]` in the order of priority, each with any discipline | the paper's example, with a choice of disciplines |
//! | nothing on what makes the class | the class of the flow, or the length of the packet, or both; what no class takes goes to the last | both of Sec. XII's examples can be described: interactive flows, and short control packets |
//! | nothing on a class that keeps the link busy | the classes after it wait for ever | strict priority; `drr` shares |
//! | nothing on when a class is idle | its idle period, which RED needs, begins when the link asks it for a packet and it has none. After its last packet the link asks it once more, even if an earlier class then sends | as for a queue with a link of its own. Linux's `prio` does not ask once more |
//! | nothing on an average | none is reported: each class keeps its own | a sum would belong to no queue |

use crate::classes::{self, Class, Classes};
use crate::prelude::*;
use alloc::string::String;
use alloc::vec::Vec;
use sluicegate_base::Link;
use sluicegate_base::params::Raw;

discipline! {
    Priority: "priority", "Strict priority",
    source("Floyd & Jacobson 1993, Sec. XII"),
    tc("tc qdisc add dev DEV root handle 1: prio bands BANDS"),
    drops(Tail, Early, Forced, Match, Policed),
    proportional(),
    remembers(None, "what its classes remember"),

    /// Parameters of [`Priority`].
    pub struct PriorityParams {
        /// Largest total length of all classes, without the packet in transmission.
        limit: Option<Size> = optional("each class has its own limit"), unit("packets"), range(Range::from(0.0)),
            source("Sluicegate");
        /// If no classes are described, how many there are: one for flows of class 0, one for class 1, …, each under Drop Tail.
        bands: Option<u64> = optional("3"), unit("classes"), range(Range::from(1.0).to(256.0)), source("Linux, prio"), tc("bands"), fixed(true);
    }
}

/// Classes under strict priority.
pub struct Priority<P> {
    classes: Classes<P>,
    /// The class that sent last.
    sender: usize,
}

impl<P: Packet + 'static> Priority<P> {
    /// Empty queues, one for each number of a class.
    #[must_use]
    pub fn new(params: PriorityParams) -> Self {
        let classes = classes::plain(params.bands.unwrap_or(3));
        Priority::with_classes(params, classes)
    }

    /// With these classes, one at least, the first before all others.
    #[must_use]
    pub fn with_classes(params: PriorityParams, classes: Vec<Class<P>>) -> Self {
        Priority { classes: Classes::new(classes, params.limit), sender: 0 }
    }
}

impl<P: Packet> Discipline<P> for Priority<P> {
    fn enqueue(&mut self, packet: P, ctx: &mut Ctx<'_, P>) {
        self.classes.enqueue(packet, ctx);
    }

    fn dequeue(&mut self, ctx: &mut Ctx<'_, P>) -> Option<P> {
        self.dequeue_in_class(0, ctx)
    }

    fn dequeue_in_class(&mut self, elsewhere: u64, ctx: &mut Ctx<'_, P>) -> Option<P> {
        let last = self.sender;
        for at in 0..self.classes.len() {
            if let Some(packet) = self.classes.dequeue(at, elsewhere, ctx) {
                if at < last && self.classes.queue(last).packets() == 0 {
                    // It has nothing: this tells it so.
                    let none = self.classes.dequeue(last, elsewhere, ctx);
                    assert!(none.is_none(), "a queue that holds no packets gave one");
                }
                self.sender = at;
                return Some(packet);
            }
        }
        None
    }

    fn next_wakeup(&self) -> Option<Time> {
        self.classes.next_wakeup()
    }

    fn wake(&mut self, ctx: &mut Ctx<'_, P>) {
        self.classes.wake(ctx);
    }

    fn set(&mut self, name: &str, value: &Raw, ctx: &mut Ctx<'_, P>) -> Result<(), String> {
        self.classes.set(name, value, ctx)
    }

    fn link_changed(&mut self, link: &Link, ctx: &mut Ctx<'_, P>) {
        self.classes.link_changed(link, ctx);
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        &self.classes
    }
}

impl<P: Packet> Configure<P> for Priority<P> {
    fn configure(&mut self, params: PriorityParams, ctx: &mut Ctx<'_, P>) {
        self.classes.resize(params.limit, ctx);
    }
}

#[cfg(test)]
mod tests;
