//! What uses the connections that come and go: users who browse, and connections that come by themselves and do what their
//! vectors say; and what is counted of each group of them.

pub mod exchanges;
mod scripts;
mod users;

use crate::endpoints::slot::Opening;
use crate::endpoints::{Endpoints, Heard};
use crate::engine::PacketEvent;
use crate::network::packet::{End, NONE};
use crate::plan::{FlowPlan, Plan};
use crate::source::{HttpPlan, SourcePlan};
use exchanges::{ExchangeRow, Exchanges, GroupRow, GroupTotals};
use scripts::{ArrivalProcess, Script};
use sluicegate_base::{Span, Time};
use sluicegate_tcp::Connection;
use sluicegate_tcp::connection::SendCounters;
use sluicegate_tcp::host::RtoConfig;
use std::sync::Arc;
use users::User;

/// What uses the connections of a group.
enum Workload {
    /// Users who browse; the first of them.
    Users(Arc<HttpPlan>, u32),
    /// Connections that come by themselves.
    Connections(Box<ArrivalProcess>),
}

/// A group as it runs.
struct Group {
    /// The number of its flow, and of its entry in the scenario.
    flow: u32,
    entry: u32,
    kind: &'static str,
    workload: Workload,
    /// Whether its exchanges are kept one by one.
    keep: bool,
    totals: GroupTotals,
    open: u32,
    most_open: u32,
    /// What the first ends of its closed connections have counted.
    past: SendCounters,
}

/// What is done with a connection, by the number of its slot.
struct Application {
    /// The user whom it serves, if it does.
    owner: u32,
    /// The next open connection of the same user that waits for work.
    next: u32,
    /// What is asked for on it.
    request: Request,
    /// What its ends do, if nobody else says so.
    script: Option<Box<Script>>,
}

/// A request under way.
#[derive(Clone, Copy, Debug, Default)]
struct Request {
    /// When it was made.
    asked: Time,
    /// Its bytes, and where it ends in the stream of requests.
    bytes: u32,
    end: u64,
    /// Bytes of the response, and where it ends in the stream of responses.
    response: u32,
    response_end: u64,
    /// Whether the connection is closed after it.
    last: bool,
    /// Whether the request has come, and whether the response has.
    answered: bool,
    complete: bool,
}

/// All groups.
pub struct Workloads {
    /// The ends of all flows, which they use.
    pub ends: Endpoints,
    groups: Vec<Group>,
    users: Vec<User>,
    applications: Vec<Application>,
    /// Whether the measured window has begun.
    pub measured: bool,
    /// Exchanges one by one, of groups that keep them.
    kept: Exchanges,
}

impl Workloads {
    /// The groups among this plan's flows, nothing begun.
    #[must_use]
    pub fn new(plan: &mut Plan) -> Workloads {
        let ends = Endpoints::new(plan);
        let (mut groups, mut users) = (Vec::new(), Vec::new());
        for (flow, of_flow) in ends.plans.iter().enumerate() {
            let (workload, keep) = match &*of_flow.source {
                SourcePlan::Http(http) => {
                    let first = users.len() as u32;
                    users.extend((0..http.users).map(|user| User::new(plan.seed, flow, groups.len() as u32, user)));
                    (Workload::Users(http.clone(), first), http.keep)
                }
                SourcePlan::Connections(connections) => {
                    let arrivals = ArrivalProcess::new(connections, plan.seed, flow);
                    (Workload::Connections(Box::new(arrivals)), connections.keep)
                }
                _ => continue,
            };
            groups.push(Group {
                flow: flow as u32,
                entry: of_flow.group,
                kind: of_flow.source.kind(),
                workload,
                keep,
                totals: GroupTotals::default(),
                open: 0,
                most_open: 0,
                past: SendCounters::default(),
            });
        }
        Workloads { ends, groups, users, applications: Vec::new(), measured: false, kept: Exchanges::default() }
    }

    /// The present.
    fn now(&self) -> Time {
        self.ends.now()
    }

    /// The flow with this number, as it was planned.
    fn plan(&self, flow: u32) -> &FlowPlan {
        &self.ends.plans[flow as usize]
    }

    /// The group of the flow with this number.
    fn group(&mut self, flow: u32) -> &mut Group {
        let at = self.groups.partition_point(|group| group.flow < flow);
        &mut self.groups[at]
    }

    /// Where it is.
    fn position(&self, flow: u32) -> Option<u32> {
        self.groups.iter().position(|group| group.flow == flow).map(|at| at as u32)
    }

    /// How the users of a group browse.
    fn browsing(&self, group: u32) -> Option<&Arc<HttpPlan>> {
        match &self.groups[group as usize].workload {
            Workload::Users(plan, _) => Some(plan),
            Workload::Connections(_) => None,
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

    /// What the senders of a flow's connections have counted.
    #[must_use]
    pub fn counters(&self, flow: u32) -> SendCounters {
        match self.groups.iter().find(|group| group.flow == flow) {
            Some(group) => self.ends.slots.counters(flow).fold(group.past, |all, one| sum(all, &one)),
            None => self.ends.counters(flow),
        }
    }

    /// What has been counted of each group, and the exchanges that are kept.
    #[must_use]
    pub fn rows(&self) -> (Vec<GroupRow>, Exchanges) {
        let row = |group: &Group| GroupRow {
            group: group.entry,
            kind: group.kind,
            users: match &group.workload {
                Workload::Users(plan, _) => Some(plan.users),
                Workload::Connections(_) => None,
            },
            open: group.open,
            most_open: group.most_open,
            totals: group.totals.clone(),
        };
        (self.groups.iter().map(row).collect(), self.kept.clone())
    }

    /// Opens a connection of a group, for this user or none; its slot.
    fn open(&mut self, at: u32, opening: &Opening<'_>, owner: u32) -> u32 {
        let group = &mut self.groups[at as usize];
        group.totals.opened += 1;
        group.open += 1;
        group.most_open = group.most_open.max(group.open);
        let slot = self.ends.open(opening);
        let vacant = || Application { owner: NONE, next: NONE, request: Request::default(), script: None };
        self.applications.resize_with(self.applications.len().max(slot as usize + 1), vacant);
        let request = Request { complete: true, answered: true, ..Request::default() };
        self.applications[slot as usize] = Application { owner, request, ..vacant() };
        slot
    }

    /// What a flow's source does is due: it starts, sends or stops, or the next connection of a group opens.
    pub fn source(&mut self, flow: u32) {
        if self.ends.source(flow) {
            return;
        }
        match &self.group(flow).workload {
            Workload::Users(plan, first) => {
                let (plan, first) = (plan.clone(), *first);
                self.begin_users(&plan, first);
            }
            Workload::Connections(_) => self.open_next(flow),
        }
    }

    /// The packet whose turn it is has reached its end.
    #[inline(always)]
    pub fn deliver(&mut self) {
        let packet = self.ends.network.engine.take(PacketEvent::Delivery);
        self.ends.prefetch(PacketEvent::Delivery);
        self.deliver_packet(packet);
    }

    /// A packet has reached its end.
    #[inline(always)]
    pub fn deliver_packet(&mut self, place: u32) {
        if let Some(heard) = self.ends.deliver(place) {
            self.hear(heard);
        }
    }

    /// Something has come to one end of a connection: its application does what it has to, and what it writes is sent.
    fn hear(&mut self, Heard { slot, end, opens }: Heard) {
        if !opens {
            self.begin_script(slot, end);
        }
        match end {
            End::Sender => self.answer(slot),
            End::Receiver => self.complete(slot),
        }
        if self.is_scripted(slot) {
            self.play(slot, end);
        }
        self.pump(slot, end);
        self.retire(slot);
    }

    /// Sends what one end of a connection has to send; its script may have more to say when that is out.
    pub fn pump(&mut self, slot: u32, end: End) {
        while self.ends.pump(slot, end) {
            let all_sent = self.is_scripted(slot) && self.ends.slots.get(slot).ends[end as usize].all_sent();
            if !all_sent || !self.play(slot, end) {
                return;
            }
        }
    }

    fn is_scripted(&self, slot: u32) -> bool {
        self.applications.get(slot as usize).is_some_and(|application| application.script.is_some())
    }

    /// One end of a connection goes on with what it sends at one time.
    pub fn go_on(&mut self, slot: u32, end: End) {
        self.ends.go_on(slot, end);
        self.pump(slot, end);
    }

    /// The timer of one end of a connection may have expired.
    pub fn timer(&mut self, slot: u32, end: End) {
        if self.ends.timer(slot, end) {
            self.pump(slot, end);
        }
    }

    /// A source quench reaches one end of a connection.
    pub fn quench(&mut self, connection: u32, end: End) {
        if let Some(slot) = self.ends.quench(connection, end) {
            self.pump(slot, end);
        }
    }

    /// A user's server answers a request that has come whole, and closes after a user that has.
    fn answer(&mut self, slot: u32) {
        let Application { request, script, .. } = &mut self.applications[slot as usize];
        let answerer = &mut self.ends.slots.get(slot).ends[0];
        if script.is_some() {
            return;
        }
        if !request.answered && answerer.received() >= request.end {
            request.answered = true;
            answerer.write(u64::from(request.response));
            if request.last {
                answerer.close();
            }
        }
        if answerer.other_ended() {
            answerer.close();
        }
    }

    /// A response that has come whole is counted, and its user goes on.
    fn complete(&mut self, slot: u32) {
        let now = self.now();
        let Application { owner, request, script, .. } = &mut self.applications[slot as usize];
        let of_slot = self.ends.slots.get(slot);
        let opener = &mut of_slot.ends[1];
        if request.complete || opener.received() < request.response_end {
            return;
        }
        request.complete = true;
        if request.last {
            opener.close();
        }
        let (flow, owner, done, scripted) = (of_slot.flow, *owner, *request, script.is_some());
        let response_time = now.since(done.asked);
        let group = self.group(flow);
        group.totals.complete(u64::from(done.bytes), u64::from(done.response), response_time);
        let (group, keep) = (group.entry, group.keep);
        if keep {
            let (time, response) = (done.asked, done.response);
            self.kept.push(ExchangeRow { time, response_time, response, group });
        }
        if !scripted {
            self.served(owner, slot);
        }
    }

    /// Gives the slot of a connection up once both its ends are closed.
    fn retire(&mut self, slot: u32) {
        let of_slot = self.ends.slots.get(slot);
        if of_slot.ends.iter().all(Connection::closed) {
            let (flow, counters) = (of_slot.flow, self.ends.slots.close(slot));
            self.applications[slot as usize].script = None;
            let group = self.group(flow);
            group.totals.closed += 1;
            group.open -= 1;
            group.past = sum(group.past, &counters);
        }
    }
}

/// The sum of two counts.
fn sum(a: SendCounters, b: &SendCounters) -> SendCounters {
    SendCounters {
        segments: a.segments + b.segments,
        retransmissions: a.retransmissions + b.retransmissions,
        timeouts: a.timeouts + b.timeouts,
        fast_retransmits: a.fast_retransmits + b.fast_retransmits,
        mark_responses: a.mark_responses + b.mark_responses,
        quench_responses: a.quench_responses + b.quench_responses,
    }
}

/// How far a host's clock is ahead, by 32 random bits.
fn phase(rto: &RtoConfig, bits: u32) -> Span {
    rto.phase(|tick| Span(((u128::from(tick.0) * u128::from(bits)) >> 32) as u64))
}
