//! Real hosts: the sources of a scenario on sockets of the kernel, in two namespaces, driven by one thread.
//!
//! Hosts that send are in the first namespace, hosts that receive in the second; users and other openers of connections that
//! come and go are in the second too, because a group's `path` carries what is sent to them. The draws are the simulator's:
//! the same seed gives the same sizes, gaps and thinking.
//!
//! | what the simulator does | what is done here | why |
//! |---|---|---|
//! | a host profile says how TCP behaves | the kernel says; window, packet size, ECN and algorithm are the scenario's | that is what real hosts are for |
//! | each flow has hosts of its own | all share two namespaces, told apart by ports | the kernel's TCP keeps connections apart; its cache of metrics is off |
//! | the last segment of data ends the stream | so it does (`MSG_MORE`) | a write and a shutdown would send a segment more |
//! | TIME-WAIT ends with the connection | so it does (`tcp_max_tw_buckets = 0`) | ports are used again |
//!
//! | module | what it holds |
//! |---|---|
//! | [`shared`] | what the thread of the link is told |
//! | [`socket`] | sockets with what a scenario says of their hosts |
//! | [`connection`] | one end of a connection: what it has to write, what it has read |
//! | `flows` | flows that have one connection or socket |
//! | `ends` | the ends of connections as sockets |
//! | [`users`] | users who browse |
//! | [`scripts`] | connections that do what their vectors say |

pub mod connection;
mod ends;
mod flows;
pub mod scripts;
pub mod shared;
pub mod socket;
pub mod users;

use crate::namespace::Namespace;
use crate::pump::Clock;
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::time::Timespec;
use scripts::Script;
use shared::{FIRST_PORT, SIDES, Shared};
use sluicegate_base::{Ecn, Span, Stream, Time};
use sluicegate_netsim::FlowPlan;
use sluicegate_netsim::source::connections::Arrivals;
use sluicegate_netsim::source::telnet::Typing;
use sluicegate_netsim::source::{Source, SourcePlan};
use sluicegate_netsim::workloads::exchanges::{Exchanges, GroupRow, GroupTotals};
use socket::Settings;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::iter::Peekable;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use users::User;

/// The side of hosts that send, and that of hosts that receive.
pub const SENDS: usize = 0;
/// See [`SENDS`].
pub const RECEIVES: usize = 1;

/// Where datagrams go.
const DISCARD: u16 = 9;
/// The first port that is listened at, for the first group.
const LISTENS: u16 = 1000;
/// How often the kernel is asked how connections fare.
const ASKS: Span = Span::from_millis(100);

/// What is to be done at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Task {
    Start(u32),
    Stop(u32),
    Send(u32),
    Type(u32),
    Browse(u32),
    Open(u32),
    Write(u32, u32),
    Ask,
}

/// A flow at its ends.
struct HostFlow {
    plan: FlowPlan,
    settings: Option<Settings>,
    clock: Option<Box<dyn Source>>,
    typing: Option<Typing>,
    arrivals: Option<Peekable<Arrivals>>,
    /// Its socket, if it sends datagrams.
    socket: Option<OwnedFd>,
    /// The slot of its sender's end, if it has one connection.
    slot: Option<u32>,
    /// The group of connections that come and go, if it is one.
    pool: Option<usize>,
    rng: Stream,
    opened: u64,
}

/// A group of connections that come and go.
struct Pool {
    group: u32,
    kind: &'static str,
    users: Option<u32>,
    open: u32,
    most_open: u32,
    totals: GroupTotals,
    keep: bool,
}

/// What the hosts leave.
#[derive(Default)]
pub struct Left {
    /// The groups whose connections come and go.
    pub groups: Vec<GroupRow>,
    /// Their exchanges, of groups that keep them.
    pub exchanges: Exchanges,
    /// Datagrams that the sender's own kernel had no room for.
    pub unsent: u64,
    /// Connections that failed.
    pub failed: u64,
    /// How late the hosts were at the worst.
    pub latest: Span,
}

/// The hosts, as they run.
pub struct Hosts {
    thread: JoinHandle<Result<Left, String>>,
    stop: Arc<AtomicBool>,
    namespaces: Arc<[Namespace; SIDES]>,
}

impl Hosts {
    /// Starts the hosts of these flows by a clock. `settings` are those of each flow that uses TCP. The addresses are those of
    /// the two sides.
    pub fn start(
        clock: Clock,
        namespaces: [Namespace; SIDES],
        addresses: [Ipv4Addr; SIDES],
        flows: Vec<(FlowPlan, Option<Settings>)>,
        shared: Arc<Shared>,
        seed: u64,
        warmup: Span,
    ) -> Result<Hosts, String> {
        let (stop, namespaces) = (Arc::new(AtomicBool::new(false)), Arc::new(namespaces));
        let mut driver = Driver::new(clock, namespaces.clone(), addresses, flows, shared, seed, warmup)?;
        let stopped = stop.clone();
        let thread = thread::Builder::new().name("hosts".to_owned());
        let thread = thread.spawn(move || driver.run(&stopped)).map_err(|error| error.to_string())?;
        Ok(Hosts { thread, stop, namespaces })
    }

    /// Whether they have failed.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.thread.is_finished()
    }

    /// Ends them, and gives what they leave, with the namespaces.
    pub fn finish(self) -> (Result<Left, String>, Option<[Namespace; SIDES]>) {
        self.stop.store(true, Ordering::Relaxed);
        let left = self.thread.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause));
        (left, Arc::into_inner(self.namespaces))
    }
}

struct Driver {
    clock: Clock,
    namespaces: Arc<[Namespace; SIDES]>,
    addresses: [Ipv4Addr; SIDES],
    shared: Arc<Shared>,
    poll: OwnedFd,
    flows: Vec<HostFlow>,
    pools: Vec<Pool>,
    users: Vec<User>,
    scripts: BTreeMap<u64, Script>,
    next_script: u64,
    ends: connection::Ends,
    listeners: Vec<(u64, OwnedFd)>,
    drain: OwnedFd,
    /// For each side the port that a connection was last opened from, and for each port who opened it.
    ports: [(u16, Vec<Option<u32>>); SIDES],
    /// What the kernel's sysctl for ECN says now.
    ecn: Option<bool>,
    tasks: BinaryHeap<Reverse<(Time, u64, Task)>>,
    order: u64,
    warmup: Option<Span>,
    left: Left,
    buffer: Vec<u8>,
}

/// The numbers that events of the poll bear beside those of ends of connections.
const DRAIN: u64 = u64::MAX;
const LISTENER: u64 = 1 << 63;

impl Driver {
    fn new(
        clock: Clock,
        namespaces: Arc<[Namespace; SIDES]>,
        addresses: [Ipv4Addr; SIDES],
        flows: Vec<(FlowPlan, Option<Settings>)>,
        shared: Arc<Shared>,
        seed: u64,
        warmup: Span,
    ) -> Result<Driver, String> {
        let error = |error: Errno| error.to_string();
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(error)?;
        let drain = socket::datagrams(&namespaces[RECEIVES], DISCARD, None, Ecn::NotCapable)?;
        epoll::add(&poll, &drain, epoll::EventData::new_u64(DRAIN), epoll::EventFlags::IN).map_err(error)?;
        let port = || (FIRST_PORT - 1, vec![None; usize::from(u16::MAX) + 1]);
        let mut driver = Driver {
            clock,
            namespaces,
            addresses,
            shared,
            poll,
            flows: Vec::new(),
            pools: Vec::new(),
            users: Vec::new(),
            scripts: BTreeMap::new(),
            next_script: 0,
            ends: connection::Ends::default(),
            listeners: Vec::new(),
            drain,
            ports: [port(), port()],
            ecn: None,
            tasks: BinaryHeap::new(),
            order: 0,
            warmup: Some(warmup),
            left: Left::default(),
            buffer: vec![0; 1 << 16],
        };
        more_files();
        for (at, (plan, settings)) in flows.into_iter().enumerate() {
            driver.add(at, plan, settings, seed)?;
        }
        driver.at(Time::ZERO, Task::Ask);
        Ok(driver)
    }

    /// Takes a flow in: what it listens at, and when it starts and stops.
    fn add(&mut self, at: usize, plan: FlowPlan, settings: Option<Settings>, seed: u64) -> Result<(), String> {
        let stream = |purpose: &str| Stream::new(seed, &format!("flow/{at}/{purpose}"));
        let pooled = plan.source.way().is_some();
        if let Some(settings) = &settings {
            let (port, side) = (self.port_of(plan.group), if pooled { SENDS } else { RECEIVES });
            let number = LISTENER | u64::from(port);
            if self.listeners.iter().all(|(known, _)| *known != number) {
                let socket = socket::listener(&self.namespaces[side], settings, port)?;
                let flags = epoll::EventFlags::IN;
                let added = epoll::add(&self.poll, &socket, epoll::EventData::new_u64(number), flags);
                added.map_err(|error| error.to_string())?;
                self.listeners.push((number, socket));
            }
        }
        let (mut pool, mut arrivals, kind) = (None, None, plan.source.kind());
        if pooled {
            let (users, keep) = match &*plan.source {
                SourcePlan::Http(http) => {
                    let first = self.users.len() as u32;
                    self.users.extend((0..http.users).map(|user| User::new(seed, at, user)));
                    debug_assert_eq!(first + http.users, self.users.len() as u32);
                    (Some(http.users), http.keep)
                }
                SourcePlan::Connections(connections) => {
                    arrivals = Some(Arrivals::new(connections.vectors.clone(), seed, at).peekable());
                    (None, connections.keep)
                }
                _ => unreachable!("only these have ways of their own"),
            };
            pool = Some(self.pools.len());
            let (group, totals) = (plan.group, GroupTotals::default());
            self.pools.push(Pool { group, kind, users, open: 0, most_open: 0, totals, keep });
        }
        let typing = match &*plan.source {
            SourcePlan::Telnet(_, params) => Some(Typing::new(params, stream("typing"))),
            _ => None,
        };
        self.at(plan.start, Task::Start(at as u32));
        if plan.stop < Time::NEVER {
            self.at(plan.stop, Task::Stop(at as u32));
        }
        let clock = plan.source.clock(|| stream("packets"));
        let rng = stream("connections/ends");
        self.flows.push(HostFlow {
            plan,
            settings,
            clock,
            typing,
            arrivals,
            socket: None,
            slot: None,
            pool,
            rng,
            opened: 0,
        });
        Ok(())
    }

    fn port_of(&self, group: u32) -> u16 {
        LISTENS + group as u16
    }

    fn at(&mut self, time: Time, task: Task) {
        self.order += 1;
        self.tasks.push(Reverse((time, self.order, task)));
    }

    fn run(&mut self, stop: &AtomicBool) -> Result<Left, String> {
        while !stop.load(Ordering::Relaxed) {
            let now = self.clock.now();
            if self.warmup.is_some_and(|warmup| now >= Time::ZERO + warmup) {
                self.warmup = None;
                self.pools
                    .iter_mut()
                    .for_each(|pool| (pool.totals, pool.most_open) = (GroupTotals::default(), pool.open));
            }
            while let Some(&Reverse((time, _, task))) = self.tasks.peek() {
                if time > now {
                    break;
                }
                self.tasks.pop();
                self.left.latest = self.left.latest.max(self.clock.now().since(time));
                self.perform(task, time)?;
            }
            self.wait()?;
        }
        self.ask();
        let rows = self.pools.drain(..).map(|pool| {
            let Pool { group, kind, users, open, most_open, totals, .. } = pool;
            GroupRow { group, kind, users, open, most_open, totals }
        });
        self.left.groups = rows.collect();
        Ok(std::mem::take(&mut self.left))
    }

    /// Waits for sockets, or for the next task.
    fn wait(&mut self) -> Result<(), String> {
        let now = self.clock.now();
        let due = self.tasks.peek().map_or(Time::NEVER, |task| task.0.0);
        let left = due.since(now.min(due)).0.min(20_000_000);
        let time = Timespec { tv_sec: 0, tv_nsec: left as _ };
        let mut events = [epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) }; 256];
        let count = match epoll::wait(&self.poll, &mut events, Some(&time)) {
            Ok(count) => count,
            Err(Errno::INTR) => 0,
            Err(error) => return Err(error.to_string()),
        };
        for event in &events[..count] {
            match event.data.u64() {
                DRAIN => self.receive_datagrams(),
                number if number & LISTENER != 0 => self.accept(number)?,
                number => self.ready(number, event.flags)?,
            }
        }
        Ok(())
    }

    fn perform(&mut self, task: Task, time: Time) -> Result<(), String> {
        match task {
            Task::Start(flow) => self.start(flow)?,
            Task::Stop(flow) => self.stop(flow),
            Task::Send(flow) => self.send_datagrams(flow, time),
            Task::Type(flow) => self.type_on(flow, time)?,
            Task::Browse(user) => self.browse(user)?,
            Task::Open(flow) => self.open_next(flow)?,
            Task::Write(slot, generation) => self.write_unit(slot, generation)?,
            Task::Ask => {
                self.ask();
                self.at(time + ASKS, Task::Ask);
            }
        }
        Ok(())
    }
}

/// As many open files as this process may have: each connection takes two.
fn more_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}
