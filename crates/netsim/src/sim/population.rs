//! Groups whose connections come and go: what uses the connections, and what is counted of each group.

mod scripts;
mod users;

use super::Sim;
use super::pool::{Opening, Pool, sum};
use crate::events::End;
use crate::exchanges::{ExchangeRow, Exchanges, GroupRow, GroupTotals};
use crate::plan::FlowPlan;
use crate::source::{HttpPlan, SourcePlan};
use scripts::Coming;
pub(super) use scripts::Script;
use sluicegate_base::Stream;
use sluicegate_tcp::send::SendCounters;
use std::sync::Arc;
use users::User;

/// What uses the connections of a group.
enum Uses {
    /// Users who browse; the first of them.
    Users(Arc<HttpPlan>, u32),
    /// Connections that come by themselves.
    Connections(Box<Coming>),
}

/// A group as it runs.
pub(super) struct Group {
    /// The number of its flow, and of its entry in the scenario.
    flow: u32,
    entry: u32,
    kind: &'static str,
    uses: Uses,
    /// Whether its exchanges are kept one by one.
    keep: bool,
    totals: GroupTotals,
    open: u32,
    most_open: u32,
    /// What the first ends of its closed connections have counted.
    past: SendCounters,
    /// For the packets that its connections lose on their own ways.
    losses: Stream,
}

/// All groups.
pub(super) struct Population {
    pub pool: Pool,
    groups: Vec<Group>,
    users: Vec<User>,
    /// Exchanges one by one, of groups that keep them.
    pub kept: Exchanges,
}

impl Population {
    /// The groups among these flows, nothing begun.
    pub fn new(flows: &[FlowPlan], seed: u64) -> Population {
        let (mut groups, mut users) = (Vec::new(), Vec::new());
        for (flow, plan) in flows.iter().enumerate() {
            let (uses, keep) = match &plan.source {
                SourcePlan::Http(http) => {
                    let first = users.len() as u32;
                    users.extend((0..http.users).map(|user| User::new(seed, flow, groups.len() as u32, user)));
                    (Uses::Users(http.clone(), first), http.keep)
                }
                SourcePlan::Connections(plan) => {
                    (Uses::Connections(Box::new(Coming::new(plan, seed, flow))), plan.keep)
                }
                _ => continue,
            };
            groups.push(Group {
                flow: flow as u32,
                entry: plan.group,
                kind: plan.source.kind(),
                uses,
                keep,
                totals: GroupTotals::default(),
                open: 0,
                most_open: 0,
                past: SendCounters::default(),
                losses: Stream::new(seed, &format!("flow/{flow}/losses")),
            });
        }
        Population { pool: Pool::new(flows.len()), groups, users, kept: Exchanges::default() }
    }

    /// The group of the flow with this number.
    pub fn group(&mut self, flow: u32) -> &mut Group {
        let at = self.groups.partition_point(|group| group.flow < flow);
        &mut self.groups[at]
    }

    /// Where it is.
    fn position(&self, flow: u32) -> Option<u32> {
        self.groups.iter().position(|group| group.flow == flow).map(|at| at as u32)
    }

    /// How the users of a group browse.
    fn browsing(&self, group: u32) -> Option<&Arc<HttpPlan>> {
        match &self.groups[group as usize].uses {
            Uses::Users(plan, _) => Some(plan),
            Uses::Connections(_) => None,
        }
    }

    /// The measured window begins: everything is counted anew.
    pub fn begin_window(&mut self) {
        for group in &mut self.groups {
            group.totals = GroupTotals::default();
            group.most_open = group.open;
        }
        self.kept = Exchanges::default();
    }

    /// What the senders of a flow's connections have counted; none for a flow that is one connection, or has none.
    pub fn counters(&self, flow: u32) -> Option<SendCounters> {
        let group = self.groups.iter().find(|group| group.flow == flow)?;
        Some(self.pool.counters(flow).fold(group.past, |all, one| sum(all, &one)))
    }

    /// The number of places for connections, used and in all.
    pub fn places(&self) -> [usize; 2] {
        self.pool.size()
    }

    /// What each group has counted.
    pub fn rows(&self) -> Vec<GroupRow> {
        let row = |group: &Group| GroupRow {
            group: group.entry,
            kind: group.kind,
            users: match &group.uses {
                Uses::Users(plan, _) => Some(plan.users),
                Uses::Connections(_) => None,
            },
            open: group.open,
            most_open: group.most_open,
            totals: group.totals.clone(),
        };
        self.groups.iter().map(row).collect()
    }

    fn open(&mut self, at: u32, opening: &Opening<'_>) -> u32 {
        let group = &mut self.groups[at as usize];
        group.totals.opened += 1;
        group.open += 1;
        group.most_open = group.most_open.max(group.open);
        self.pool.open(opening)
    }
}

impl Group {
    /// Whether a packet is lost on a way that loses this share of them, in millionths.
    pub fn losses(&mut self, share: u32) -> bool {
        self.losses.below(1_000_000) < u64::from(share)
    }

    /// One of its connections is closed, and its first end has counted this.
    pub fn closed(&mut self, counters: &SendCounters) {
        self.totals.closed += 1;
        self.open -= 1;
        self.past = sum(self.past, counters);
    }
}

impl Sim {
    /// A group begins, or the next of its connections does.
    pub(super) fn begin_group(&mut self, flow: u32) {
        match &self.population.group(flow).uses {
            Uses::Users(plan, first) => {
                let (plan, first) = (plan.clone(), *first);
                self.begin_users(&plan, first);
            }
            Uses::Connections(_) => self.come(flow),
        }
    }

    /// The application at one end of a pooled connection looks at what has come.
    pub(super) fn act(&mut self, place: u32, end: End) {
        match end {
            End::Sender => self.answer(place),
            End::Receiver => self.complete(place),
        }
        if self.population.pool.get(place).script.is_some() {
            self.play(place, end);
        }
    }

    /// A user's server answers a request that has come whole, and closes after a user that has.
    fn answer(&mut self, place: u32) {
        let slot = self.population.pool.get(place);
        let (answerer, pending) = (&mut slot.ends[0], &mut slot.pending);
        if slot.script.is_some() {
            return;
        }
        if !pending.answered && answerer.received() >= pending.request_end {
            pending.answered = true;
            answerer.write(u64::from(pending.response));
            if pending.last {
                answerer.close();
            }
        }
        if answerer.other_ended() {
            answerer.close();
        }
    }

    /// A response that has come whole is counted, and its user goes on.
    fn complete(&mut self, place: u32) {
        let slot = self.population.pool.get(place);
        let (opener, pending) = (&mut slot.ends[1], &mut slot.pending);
        if pending.complete || opener.received() < pending.response_end {
            return;
        }
        pending.complete = true;
        if pending.last {
            opener.close();
        }
        let (flow, owner, done, scripted) = (slot.flow, slot.owner, *pending, slot.script.is_some());
        let response_time = self.now.since(done.asked);
        let group = self.population.group(flow);
        group.totals.complete(u64::from(done.request), u64::from(done.response), response_time);
        let (group, keep) = (group.entry, group.keep);
        if keep {
            let (time, response) = (done.asked, done.response);
            self.population.kept.push(ExchangeRow { time, response_time, response, group });
        }
        if !scripted {
            self.served(owner, place);
        }
    }
}
