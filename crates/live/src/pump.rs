//! The thread that drives a network of real packets by the clock.
//!
//! It reads what comes in, lets the network do what is due, and sends what comes out at its due time. The time of the next
//! departure follows from the last one, never from the present: a thread that was held up makes packets late, which it
//! counts, but the link keeps its rate.

use crate::driven::{Driven, Punctuality, Traffic};
use crate::emulator::Emulator;
use crate::gate::Gate;
use crate::status::Status;
use rustix::event::epoll;
use rustix::time::{ClockId, Timespec, clock_gettime};
use sluicegate_base::{Span, Time};
use std::fs::File;
use std::io::{self, Write};
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// How a network is driven.
#[derive(Clone, Copy, Debug)]
pub struct Drive {
    /// How long before a due time it stops sleeping and looks at the clock: the system wakes it some microseconds late.
    pub spin: Span,
    /// Whether it never sleeps. Processors do not either then, or in runs that end by themselves, if it has the right to that.
    pub busy: bool,
    /// When the measured window begins.
    pub warmup: Span,
    /// When it ends by itself; `Time::NEVER` if it does not.
    pub end: Time,
    /// Whether the status has single packets, and comes so often that one sees them move.
    pub packets: bool,
}

/// How many packets of one gate are received before the network is looked at again.
const BATCH: usize = 64;

/// The longest sleep: it looks for the end of its work that often.
const NAP: Span = Span::from_millis(10);

/// How often the status is made anew, without and with single packets.
const STATUS: [Span; 2] = [Span::from_millis(250), Span::from_millis(50)];

/// A departure so late is one that the driver could not keep up with.
const LATE: Span = Span::from_millis(1);

/// A network that is driven by a thread.
pub struct Pump<T> {
    thread: JoinHandle<io::Result<Driven<T>>>,
    stop: Arc<AtomicBool>,
    status: Arc<Mutex<Option<serde_json::Value>>>,
}

/// The time since some moment, by the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock(u64);

impl Clock {
    /// One that begins now.
    #[must_use]
    pub fn start() -> Clock {
        Clock(monotonic())
    }

    /// The time since it began.
    #[must_use]
    pub fn now(&self) -> Time {
        Time(monotonic() - self.0)
    }
}

/// Processors do not sleep while this file is open (Linux, `pm_qos_interface`): to wake up takes 0.1 ms on a virtual machine.
fn awake() -> io::Result<File> {
    let mut file = File::options().write(true).open("/dev/cpu_dma_latency")?;
    file.write_all(&0i32.to_ne_bytes())?;
    Ok(file)
}

fn monotonic() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

impl<T: Traffic> Pump<T> {
    /// Drives a network from now on. `ends` says by which gate the packets of each way go out.
    pub fn start(
        clock: Clock,
        emulator: Emulator,
        gates: Vec<Box<dyn Gate>>,
        ends: Vec<usize>,
        traffic: T,
        drive: Drive,
    ) -> io::Result<Pump<T>> {
        let (stop, status) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(None)));
        let (stopped, told) = (stop.clone(), status.clone());
        let driver = Driver {
            clock,
            ends,
            drive,
            driven: Driven {
                emulator,
                traffic,
                gates,
                punctuality: Punctuality::default(),
                end: Time::ZERO,
                fault: None,
            },
        };
        let thread = thread::Builder::new().name("link".to_owned()).spawn(move || driver.run(&stopped, &told))?;
        Ok(Pump { thread, stop, status })
    }

    /// What it is doing, if that is new.
    #[must_use]
    pub fn status(&self) -> Option<serde_json::Value> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether it has ended by itself.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.thread.is_finished()
    }

    /// Ends it, and gives what it leaves: also where a device was gone before.
    pub fn finish(self) -> io::Result<Driven<T>> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause))
    }
}

struct Driver<T> {
    clock: Clock,
    ends: Vec<usize>,
    drive: Drive,
    driven: Driven<T>,
}

impl<T: Traffic> Driver<T> {
    fn run(mut self, stop: &AtomicBool, told: &Mutex<Option<serde_json::Value>>) -> io::Result<Driven<T>> {
        // Sleeps are as long as asked for, not longer by up to 50 µs to save wake-ups.
        rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?;
        // Without the right to be urgent it is late more often, which is counted.
        let _ = rustix::process::setpriority_process(None, -20);
        let _awake = (self.drive.busy || self.drive.end < Time::NEVER).then(awake);
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (gate, at) in self.driven.gates.iter().zip(0..) {
            epoll::add(&poll, gate.ready(), epoll::EventData::new_u64(at), epoll::EventFlags::IN)?;
        }
        let mut status = Status::default();
        let (packets, every) = (self.drive.packets, STATUS[usize::from(self.drive.packets)]);
        let mut due = Time::ZERO + every;
        let mut measured = self.drive.warmup == Span::ZERO;
        let mut last = self.clock.now();
        loop {
            let now = self.clock.now();
            let Punctuality { longest_turn, .. } = &mut self.driven.punctuality;
            *longest_turn = (*longest_turn).max(now.since(last));
            last = now;
            self.send(now);
            if !measured && now >= Time::ZERO + self.drive.warmup {
                self.driven.settle();
                self.driven.emulator.begin_window(now);
                measured = true;
            }
            if now >= self.driven.emulator.sample_due() {
                self.driven.settle();
                self.driven.emulator.sample(now);
            }
            if now >= due {
                let made = status.make(&mut self.driven, now, packets);
                *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(made);
                due = now + every;
            }
            if stop.load(Ordering::Relaxed) || now >= self.drive.end {
                self.driven.settle();
                self.driven.end = now;
                return Ok(self.driven);
            }
            match self.receive() {
                Ok(more) if more || self.drive.busy => {}
                Ok(_) => last = self.sleep(&poll, due)?,
                Err(error) => {
                    // What was counted until now is worth having.
                    self.driven.fault = Some(error.to_string());
                    stop.store(true, Ordering::Relaxed);
                }
            }
        }
    }

    /// Sends what is due.
    fn send(&mut self, now: Time) {
        let Driven { emulator, gates, punctuality, .. } = &mut self.driven;
        let (ends, clock) = (&self.ends, &self.clock);
        emulator.advance(now, &mut |frame, due| {
            let late = clock.now().since(due);
            punctuality.lateness.record(late.0);
            punctuality.packets[0] += 1;
            punctuality.packets[1] += u64::from(late > LATE);
            gates[ends[frame.way as usize]].send(&frame.data);
        });
        gates.iter_mut().for_each(|gate| gate.flush());
    }

    /// Takes in what has come; whether more may be there. An error means that a device is gone.
    fn receive(&mut self) -> io::Result<bool> {
        let mut more_anywhere = false;
        for at in 0..self.driven.gates.len() {
            let (mut more, mut reads, mut packets) = (true, 0, 0);
            while more && reads.max(packets) < BATCH {
                more = self.driven.gates[at].receive()?;
                reads += 1;
                // Packets enter when they have been read: with any earlier time they could leave before their line lets them.
                let now = self.clock.now();
                self.send(now);
                let Driven { emulator, traffic, gates, .. } = &mut self.driven;
                let link_type = gates[at].link_type();
                gates[at].received(&mut |data| {
                    packets += 1;
                    if let Some(entry) = traffic.enter(at, link_type, data, now, &mut emulator.ledger) {
                        emulator.enter(data, entry, now);
                    }
                });
            }
            more_anywhere |= more;
        }
        Ok(more_anywhere)
    }

    /// Sleeps until something is there or nearly due; the time when it woke.
    fn sleep(&self, poll: &rustix::fd::OwnedFd, status: Time) -> io::Result<Time> {
        let (emulator, now) = (&self.driven.emulator, self.clock.now());
        let due = emulator.next().min(emulator.sample_due()).min(status);
        let left = due.since(now.min(due)).0.saturating_sub(self.drive.spin.0).min(NAP.0);
        if left > 0 {
            let time = Timespec { tv_sec: (left / 1_000_000_000) as i64, tv_nsec: (left % 1_000_000_000) as _ };
            let mut events =
                [epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) }; 4];
            match epoll::wait(poll, &mut events, Some(&time)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(self.clock.now())
    }
}
