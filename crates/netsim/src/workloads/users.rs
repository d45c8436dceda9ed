//! Users who think and browse.

use super::{Request, Workloads, phase};
use crate::endpoints::slot::Opening;
use crate::engine::Event;
use crate::network::packet::{End, NONE};
use crate::source::http::{Exchange, HttpPlan, Session};
use sluicegate_base::Span;

/// A user as it runs.
pub(super) struct User {
    session: Session,
    group: u32,
    /// Its number in its group.
    number: u32,
    /// When a tick of its host's clock begins.
    phase: Span,
    /// The objects of the page that it has not asked for yet, and the responses that it waits for.
    left: u32,
    waiting: u32,
    /// The first of its open connections that wait for work.
    idle: u32,
}

impl User {
    /// User number `number` of a group.
    pub fn new(seed: u64, flow: usize, group: u32, number: u32) -> User {
        let session = Session::new(seed, flow, number);
        User { session, group, number, phase: Span::ZERO, left: 0, waiting: 0, idle: NONE }
    }
}

impl Workloads {
    /// Each of a group's users begins to think, at a time of its own.
    pub(super) fn begin_users(&mut self, plan: &HttpPlan, first: u32) {
        for user in first..first + plan.users {
            let state = &mut self.users[user as usize];
            let begins = state.session.begin(plan);
            state.phase = phase(&plan.host.rto, state.session.bits());
            let time = self.now() + begins;
            self.ends.network.engine.push(time, Event::User(user), user.into());
        }
    }

    /// A user has thought: the next page, its top-level object first.
    pub fn browse(&mut self, user: u32) {
        let group = self.users[user as usize].group;
        if self.now() >= self.plan(self.groups[group as usize].flow).stop {
            return;
        }
        let Some(plan) = self.browsing(group).cloned() else { return };
        let state = &mut self.users[user as usize];
        let page = state.session.page(&plan, state.number);
        state.left = page.embedded;
        self.ask(user, page.top);
    }

    /// One of a user's responses has come, over the connection in this slot.
    pub(super) fn served(&mut self, user: u32, slot: u32) {
        let state = &mut self.users[user as usize];
        state.waiting -= 1;
        if state.session.persistent {
            self.applications[slot as usize].next = std::mem::replace(&mut state.idle, slot);
        }
        let group = state.group;
        let Some(plan) = self.browsing(group).cloned() else { return };
        loop {
            let state = &mut self.users[user as usize];
            let most = plan.model.parallel[usize::from(state.session.persistent)];
            if state.left == 0 || state.waiting >= most {
                break;
            }
            state.left -= 1;
            let exchange = state.session.object(&plan.model);
            self.ask(user, exchange);
        }
        let state = &mut self.users[user as usize];
        if state.waiting > 0 {
            return;
        }
        let thinks = state.session.think(&plan.model);
        if state.session.leaves() || thinks > plan.model.keep_alive {
            self.hang_up(user);
        }
        let time = self.now() + thinks;
        self.ends.network.engine.push(time, Event::User(user), user.into());
    }

    /// A user asks for an object, over a connection that waits for work or a new one.
    fn ask(&mut self, user: u32, Exchange { request, response }: Exchange) {
        let state = &mut self.users[user as usize];
        state.waiting += 1;
        let (at, mut slot) = (state.group, state.idle);
        if slot == NONE {
            let flow = self.groups[at as usize].flow;
            let Some(plan) = self.browsing(at).cloned() else { return };
            let state = &self.users[user as usize];
            let opening = Opening {
                flow,
                hosts: [&plan.host; 2],
                way: &plan.way,
                round_trip: state.session.round_trip,
                phases: [phase(&plan.host.rto, state.session.phase), state.phase],
                losses: [0; 2],
            };
            slot = self.open(at, &opening, user);
        } else {
            state.idle = self.applications[slot as usize].next;
        }
        let (last, asked) = (!self.users[user as usize].session.persistent, self.now());
        let before = self.applications[slot as usize].request;
        self.applications[slot as usize].request = Request {
            asked,
            bytes: request,
            end: before.end + u64::from(request),
            response,
            response_end: before.response_end + u64::from(response),
            last,
            answered: false,
            complete: false,
        };
        self.ends.slots.get(slot).ends[End::Receiver as usize].write(u64::from(request));
        self.groups[at as usize].totals.asked += 1;
        self.pump(slot, End::Receiver);
    }

    /// A user closes its open connections.
    fn hang_up(&mut self, user: u32) {
        loop {
            let state = &mut self.users[user as usize];
            let slot = state.idle;
            if slot == NONE {
                return;
            }
            state.idle = self.applications[slot as usize].next;
            self.ends.slots.get(slot).ends[End::Receiver as usize].close();
            self.pump(slot, End::Receiver);
        }
    }
}
