//! Users who think and browse: as `netsim::workloads` has them, on real connections.

use super::connection::{Request, Role};
use super::{Driver, RECEIVES, Task};
use sluicegate_base::{Span, Time};
use sluicegate_netsim::source::SourcePlan;
use sluicegate_netsim::source::http::{Exchange, HttpPlan, Session};
use std::sync::Arc;

/// A user as it runs.
pub struct User {
    session: Session,
    flow: u32,
    /// Its number in its group.
    number: u32,
    /// The objects of the page that it has not asked for yet, and the responses that it waits for.
    left: u32,
    waiting: u32,
    /// Its open connections that wait for work.
    idle: Vec<u32>,
}

impl User {
    /// User number `number` of a group, which is flow number `flow`.
    #[must_use]
    pub fn new(seed: u64, flow: usize, number: u32) -> User {
        let session = Session::new(seed, flow, number);
        User { session, flow: flow as u32, number, left: 0, waiting: 0, idle: Vec::new() }
    }
}

impl Driver {
    /// Each of a group's users begins to think, at a time of its own.
    pub(super) fn begin_users(&mut self, flow: u32, plan: &HttpPlan) {
        let start = self.flows[flow as usize].plan.start;
        for user in 0..self.users.len() {
            if self.users[user].flow == flow {
                let begins = self.users[user].session.begin(plan);
                self.users[user].session.bits(); // as the simulator draws
                self.at(start + begins, Task::Browse(user as u32));
            }
        }
    }

    fn browsing(&self, user: u32) -> Arc<HttpPlan> {
        let SourcePlan::Http(plan) = &*self.flows[self.users[user as usize].flow as usize].plan.source else {
            unreachable!("a user is of a group of users");
        };
        plan.clone()
    }

    /// A user has thought: the next page, its top-level object first.
    pub(super) fn browse(&mut self, user: u32) -> Result<(), String> {
        let plan = self.browsing(user);
        let state = &mut self.users[user as usize];
        if self.clock.now() >= self.flows[state.flow as usize].plan.stop {
            return Ok(());
        }
        let page = state.session.page(&plan, state.number);
        state.left = page.embedded;
        self.ask_for(user, page.top)
    }

    /// A user asks for an object, over a connection that waits for work or a new one.
    fn ask_for(&mut self, user: u32, Exchange { request, response }: Exchange) -> Result<(), String> {
        let state = &mut self.users[user as usize];
        state.waiting += 1;
        let (flow, persistent, idle) = (state.flow, state.session.persistent, state.idle.pop());
        let pool = self.flows[flow as usize].pool.expect("users are a pool");
        self.pools[pool].totals.asked += 1;
        let asked = self.clock.now();
        let new = |before: &Request| Request {
            asked,
            bytes: request,
            end: before.end + u64::from(request),
            response,
            response_end: before.response_end + u64::from(response),
            last: !persistent,
            answered: false,
            complete: false,
        };
        let slot = match idle {
            Some(slot) => {
                if let Role::Client(_, before) = &mut self.ends.get(slot).role {
                    *before = new(before);
                }
                slot
            }
            None => {
                let own = own_delay(&self.browsing(user), self.users[user as usize].session.round_trip);
                let slot = self.connect(flow, RECEIVES, Role::Client(user, new(&Request::default())), own)?;
                self.opened(pool);
                slot
            }
        };
        self.ends.get(slot).to_write += u64::from(request);
        self.write(slot);
        Ok(())
    }

    pub(super) fn opened(&mut self, pool: usize) {
        let pool = &mut self.pools[pool];
        pool.open += 1;
        pool.most_open = pool.most_open.max(pool.open);
        pool.totals.opened += 1;
    }

    /// A server has read something: a whole request is answered.
    pub(super) fn asked(&mut self, slot: u32) {
        let end = self.ends.get(slot);
        let (received, ended, client) = (end.received, end.ended, end.other);
        if let Some(Role::Client(_, request)) = client.map(|client| &mut self.ends.get(client).role) {
            if !request.answered && received >= request.end {
                request.answered = true;
                let (response, last) = (u64::from(request.response), request.last);
                let end = self.ends.get(slot);
                end.to_write += response;
                end.closing |= last;
            }
        }
        if ended {
            self.ends.get(slot).closing = true;
        }
        self.write(slot);
    }

    /// A client has read something: a response that has come whole is counted, and its user goes on.
    pub(super) fn answered(&mut self, slot: u32) -> Result<(), String> {
        let end = self.ends.get(slot);
        let (flow, received, ended) = (end.flow, end.received, end.ended);
        let Role::Client(user, request) = &mut end.role else { return Ok(()) };
        let user = *user;
        if !request.complete && received >= request.response_end {
            request.complete = true;
            let done = request.clone();
            if done.last || ended {
                end.closing = true;
                self.write(slot);
            }
            self.exchanged(flow, done.bytes.into(), done.response.into(), done.asked);
            let keeps = self.users[user as usize].session.persistent && !ended;
            self.served(user, keeps.then_some(slot))?;
        } else if ended {
            self.users[user as usize].idle.retain(|idle| *idle != slot);
            self.ends.get(slot).finish();
            self.write(slot);
        }
        Ok(())
    }

    /// A request of a user has failed; the user goes on.
    pub(super) fn failed(&mut self, user: u32, slot: u32) -> Result<(), String> {
        self.users[user as usize].idle.retain(|idle| *idle != slot);
        self.served(user, None)
    }

    /// One of a user's responses has come, over a connection that may wait for work now.
    fn served(&mut self, user: u32, slot: Option<u32>) -> Result<(), String> {
        let plan = self.browsing(user);
        let state = &mut self.users[user as usize];
        state.waiting = state.waiting.saturating_sub(1);
        state.idle.extend(slot);
        loop {
            let state = &mut self.users[user as usize];
            let most = plan.model.parallel[usize::from(state.session.persistent)];
            if state.left == 0 || state.waiting >= most {
                break;
            }
            state.left -= 1;
            let exchange = state.session.object(&plan.model);
            self.ask_for(user, exchange)?;
        }
        let state = &mut self.users[user as usize];
        if state.waiting > 0 {
            return Ok(());
        }
        let thinks = state.session.think(&plan.model);
        if state.session.leaves() || thinks > plan.model.keep_alive {
            for slot in std::mem::take(&mut state.idle) {
                self.ends.get(slot).closing = true;
                self.write(slot);
                self.settle(slot)?;
            }
        }
        let now: Time = self.clock.now();
        self.at(now + thinks, Task::Browse(user));
        Ok(())
    }
}

/// The delay of a connection's own way, each way: half of what the shared links leave of its round trip.
fn own_delay(plan: &HttpPlan, round_trip: Span) -> Span {
    Span(round_trip.0.saturating_sub(plan.way.shared.0) / 2)
}
