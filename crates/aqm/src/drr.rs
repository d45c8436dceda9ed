//! # Deficit round robin
//!
//! A queue for each class of traffic, each under a discipline of its own; the classes share the link in proportion to
//! their quanta, whatever the lengths of their packets.
//!
//! ```text
//! for each arrival:  the first class that takes it, or else the last, queues it or drops it;
//!     a class not in the list of active ones goes to its end, deficit ← min(deficit, 0) + quantum
//! the link can send, and i is the class at the head of the list:       (Shreedhar & Varghese 1995; RFC 8290, Sec. 4.2)
//!     if deficit_i ≤ 0:   deficit_i ← deficit_i + quantum_i, i to the end of the list, and on with the next
//!     if its queue gives a packet:  deficit_i ← deficit_i − its length, send it
//!     else:  i leaves the list if its queue is empty, or else goes to the end of the list;  on with the next
//! ```
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | a packet is sent when the deficit covers it (1995) | it is sent while the deficit is above zero, even if the deficit then falls below zero | a container cannot know the length of a packet before its class has given it up; FQ-CoDel has the same rule (RFC 8290). Shares are the same; a class is ahead of its share by at most one packet, where by the rule of 1995 it is behind |
//! | a queue that becomes empty loses its deficit | what it owes stays owed; what it had left is lost when the link next asks it, and it then leaves the list | forgiving debts would let a class of single long packets take more than its share. A class learns that it is idle by being asked |
//! | one queue for each flow | one for each class of `[[queue.classes]]`, as with `priority` | RED 1993, Sec. XII, for each class of traffic |
//! | the quantum should be no less than the longest packet | any from 64 bytes on | with less the link goes round the list more than once for a packet, the shares are the same |
//! | nothing on a queue that has packets and gives none | it goes to the end of the list; when no class gives a packet, the container gives none either | a class may hold back, as a shaper does |

use crate::classes::{self, Class, Classes};
use crate::prelude::*;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use sluicegate_base::Link;
use sluicegate_base::params::Raw;

discipline! {
    Drr: "drr", "Deficit round robin",
    source("Shreedhar & Varghese 1995; for classes of traffic Floyd & Jacobson 1993, Sec. XII"),
    tc("tc qdisc add dev DEV root handle 1: drr; tc class add dev DEV parent 1: classid 1:N drr quantum QUANTUM"),
    drops(Tail, Early, Forced, Match, Policed),
    proportional(),
    remembers(None, "what its classes remember"),

    /// Parameters of [`Drr`].
    pub struct DrrParams {
        /// How much a class may send in a round, unless the class has its own quantum.
        quantum: Size = derived("the link's typical packet, at least 64 B", |link| Size::Bytes(link.packet.max(64))),
            unit("B"), range(Range::from(64.0)),
            source("Shreedhar & Varghese 1995: at least the longest packet; Linux, drr: the MTU"), tc("quantum");
        /// Largest total length of all classes, without the packet in transmission.
        limit: Option<Size> = optional("each class has its own limit"), unit("packets"), range(Range::from(0.0)),
            source("Sluicegate");
        /// If no classes are described, how many there are: one for flows of class 0, one for class 1, …, each under Drop Tail.
        bands: Option<u64> = optional("3"), unit("classes"), range(Range::from(1.0).to(256.0)), source("as in priority"), fixed(true);
    }
    rules {
        "quantum is in bytes" [quantum] |p| matches!(p.quantum, Size::Bytes(_));
    }
}

/// What a class may still send in this round.
#[derive(Clone, Copy, Debug)]
struct Account {
    quantum: i64,
    deficit: i64,
    active: bool,
}

/// Classes under deficit round robin.
pub struct Drr<P> {
    classes: Classes<P>,
    accounts: Vec<Account>,
    active: VecDeque<usize>,
}

impl<P: Packet + 'static> Drr<P> {
    /// Empty queues, one for each number of a class.
    #[must_use]
    pub fn new(params: DrrParams) -> Self {
        let classes = classes::plain(params.bands.unwrap_or(3));
        Drr::with_classes(params, classes)
    }

    /// With these classes, one at least.
    #[must_use]
    pub fn with_classes(params: DrrParams, classes: Vec<Class<P>>) -> Self {
        let classes = Classes::new(classes, params.limit);
        let quanta = classes.quanta(params.quantum.amount());
        let account =
            |quantum| Account { quantum: i64::try_from(quantum).unwrap_or(i64::MAX / 2), deficit: 0, active: false };
        Drr {
            active: VecDeque::with_capacity(quanta.len()),
            accounts: quanta.into_iter().map(account).collect(),
            classes,
        }
    }
}

impl<P: Packet> Discipline<P> for Drr<P> {
    fn enqueue(&mut self, packet: P, ctx: &mut Ctx<'_, P>) {
        let Some(at) = self.classes.enqueue(packet, ctx) else { return };
        let account = &mut self.accounts[at];
        if !account.active {
            account.active = true;
            account.deficit = account.deficit.min(0).saturating_add(account.quantum);
            self.active.push_back(at);
        }
    }

    fn dequeue(&mut self, ctx: &mut Ctx<'_, P>) -> Option<P> {
        self.dequeue_in_class(0, ctx)
    }

    fn dequeue_in_class(&mut self, elsewhere: u64, ctx: &mut Ctx<'_, P>) -> Option<P> {
        let mut refused = 0;
        while let Some(&at) = self.active.front() {
            let account = &mut self.accounts[at];
            if account.deficit <= 0 {
                account.deficit += account.quantum;
                refused = 0;
                self.active.rotate_left(1);
                continue;
            }
            if let Some(packet) = self.classes.dequeue(at, elsewhere, ctx) {
                account.deficit -= packet.bytes() as i64;
                return Some(packet);
            }
            if self.classes.queue(at).packets() == 0 {
                account.active = false;
                self.active.pop_front();
                continue;
            }
            self.active.rotate_left(1);
            refused += 1;
            if refused >= self.active.len() {
                return None;
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

impl<P: Packet> Configure<P> for Drr<P> {
    fn configure(&mut self, params: DrrParams, ctx: &mut Ctx<'_, P>) {
        self.classes.resize(params.limit, ctx);
        let quanta = self.classes.quanta(params.quantum.amount());
        for (account, quantum) in self.accounts.iter_mut().zip(quanta) {
            account.quantum = i64::try_from(quantum).unwrap_or(i64::MAX / 2);
        }
    }
}

#[cfg(test)]
mod tests;
