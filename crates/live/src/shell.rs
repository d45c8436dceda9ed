//! A command behind a link: in a network namespace of its own, with the world, or another command, at the other end.

use crate::driven::Driven;
use crate::emulator::Emulator;
use crate::gate::{Gate, Tun};
use crate::ledger::Ledger;
use crate::namespace::{Losses, Namespace, NamespaceSpec};
use crate::pump::{Clock, Drive, Pump};
use crate::tuples::Tuples;
use sluicegate_base::Span;
use sluicegate_lab::replay::Packet;
use sluicegate_netsim::LinkPlan;
use std::fs;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// What is at the other end of the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Far {
    /// What this machine reaches, by address translation; needs root.
    World,
    /// A namespace of its own, with a command in it if there is one.
    Peer(Option<Vec<String>>),
}

/// How a shell is made.
pub struct ShellSpec {
    /// The links that are crossed down to the command, and up from it, in this order.
    pub links: [Vec<LinkPlan<Packet>>; 2],
    /// The command and its arguments.
    pub command: Vec<String>,
    /// What is at the other end.
    pub far: Far,
    /// The seed of every random stream.
    pub seed: u64,
    /// How many flows have a row of their own.
    pub flows: usize,
    /// The longest packet.
    pub mtu: u16,
    /// How it is driven.
    pub drive: Drive,
    /// Settings of the command's kernel, and their values.
    pub sysctls: Vec<(String, String)>,
}

/// The address of the command, and that of the other end, where both have a namespace of their own.
pub const PEERS: [Ipv4Addr; 2] = [Ipv4Addr::new(198, 18, 0, 1), Ipv4Addr::new(198, 18, 0, 2)];

/// How long a command at the other end may take until it listens.
const LISTENS: Duration = Duration::from_secs(1);

/// A command behind a link, as it runs.
pub struct Shell {
    pump: Pump<Tuples>,
    namespaces: [Namespace; 2],
    world: Option<crate::world::World>,
    command: Child,
    peer: Option<Child>,
    /// What is questionable, in words.
    pub warnings: Vec<String>,
}

/// What a shell leaves.
pub struct Left {
    /// The network, and how it was driven.
    pub driven: Driven<Tuples>,
    /// What the two ends have lost: the command's, the other.
    pub losses: [Losses; 2],
    /// The exit code of the command: as a shell tells it.
    pub code: i32,
    /// That of the command at the other end, if it has ended by itself.
    pub peer_code: Option<i32>,
}

impl Shell {
    /// Makes namespaces, devices and the link, and starts the commands. The error is for people; nothing is left then.
    pub fn start(spec: ShellSpec, observer: Option<crate::emulator::Observer>) -> Result<Shell, String> {
        let mut warnings = Vec::new();
        let (addresses, own) = match spec.far {
            Far::World => (free_pair()?, false),
            Far::Peer(_) => (PEERS, true),
        };
        let namespace = |device: &str, address, own, default_route| NamespaceSpec {
            device: device.to_owned(),
            address: (address, 30),
            mtu: spec.mtu,
            default_route,
            own,
            sysctls: if own { spec.sysctls.clone() } else { Vec::new() },
        };
        let (inner, inside) = Namespace::new(namespace("sluice0", addresses[0], true, true))?;
        let (outer, outside) =
            Namespace::new(namespace(if own { "sluice0" } else { "sgout%d" }, addresses[1], own, own))?;
        let world = match spec.far {
            Far::World => {
                let servers = crate::world::dns::usable_servers();
                if servers.as_ref().is_some_and(Vec::is_empty) {
                    warnings.push("no name server can be reached from a namespace: only addresses work".to_owned());
                }
                // In any case what answers by sockets of the machine, past the link, is hidden.
                let done = inner.run(move || crate::world::dns::own_resolver(&servers.unwrap_or_default()));
                done.map_err(|error| format!("/etc/resolv.conf: {error}"))?;
                warnings.extend(crate::world::nat::foreign_drop().map(|chain| {
                    format!("{chain} drops what is forwarded unless a rule allows it: the Internet may be unreachable")
                }));
                Some(crate::world::World::nat(&outer.device, addresses[0])?)
            }
            Far::Peer(_) => None,
        };
        let peer = match &spec.far {
            Far::Peer(Some(words)) => {
                let (child, listens) = start_peer(&outer, words, addresses)?;
                if !listens {
                    let limit = LISTENS.as_secs();
                    warnings
                        .push(format!("the peer did not listen within {limit} s: COMMAND was started nevertheless"));
                }
                Some(child)
            }
            _ => None,
        };
        let [down_name, up_name] = spec.links.each_ref().map(|way| way[0].name.clone());
        let [down, up] = spec.links;
        // What comes in from the command goes up: the number of a way is that of its gate.
        let mut emulator = Emulator::in_series([up, down], spec.seed, Ledger::new(Span::from_millis(100), false));
        emulator.observer = observer;
        let gates: Vec<Box<dyn Gate>> =
            vec![Box::new(Tun::new(inside, spec.mtu)), Box::new(Tun::new(outside, spec.mtu))];
        let traffic = Tuples::new([up_name, down_name], spec.seed, spec.flows);
        let started = Pump::start(Clock::start(), emulator, gates, vec![1, 0], traffic, spec.drive);
        let started = started.map_err(|error| error.to_string()).and_then(|pump| {
            match inner.run(wrapped(&spec.command, addresses, false)) {
                Ok(command) => Ok((pump, command)),
                Err(error) => {
                    let _ = pump.finish();
                    Err(error)
                }
            }
        });
        match started {
            Ok((pump, command)) => Ok(Shell { pump, namespaces: [inner, outer], world, command, peer, warnings }),
            Err(error) => {
                peer.into_iter().for_each(end);
                Err(error)
            }
        }
    }

    /// The exit code of the command, once it has ended: as a shell tells it.
    pub fn ended(&mut self) -> Option<i32> {
        code_of(&mut self.command)
    }

    /// What the link is doing, if that is new.
    #[must_use]
    pub fn status(&self) -> Option<serde_json::Value> {
        self.pump.status()
    }

    /// Whether the link has failed: its device is gone.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.pump.is_done()
    }

    /// Ends what still runs, and gives what it leaves. Namespaces, devices and rules go with it.
    pub fn finish(mut self) -> Result<Left, String> {
        let code = self.ended().unwrap_or(130);
        let peer_code = self.peer.as_mut().and_then(code_of);
        let driven = self.pump.finish().map_err(|error| error.to_string());
        let losses = self.namespaces.each_mut().map(Namespace::losses);
        if self.command.try_wait().ok().flatten().is_none() {
            end(self.command);
        }
        self.peer.into_iter().for_each(end);
        drop(self.world);
        Ok(Left { driven: driven?, losses, code, peer_code })
    }
}

/// The exit code of a process that has ended, as a shell tells it.
fn code_of(child: &mut Child) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt;
    let status = child.try_wait().ok().flatten()?;
    Some(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
}

/// Ends a process and all that it has started.
fn end(mut child: Child) {
    let signal = |child: &Child, signal| {
        let _ = rustix::process::Pid::from_raw(child.id() as i32).map(|pid| {
            rustix::process::kill_process_group(pid, signal).or_else(|_| rustix::process::kill_process(pid, signal))
        });
    };
    signal(&child, rustix::process::Signal::TERM);
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(500) {
        if child.try_wait().ok().flatten().is_some() {
            return;
        }
        sleep(Duration::from_millis(10));
    }
    signal(&child, rustix::process::Signal::KILL);
    let _ = child.wait();
}

/// Starts a command at the other end, and waits until it listens, for a while, or has ended; whether it listens.
fn start_peer(namespace: &Namespace, words: &[String], addresses: [Ipv4Addr; 2]) -> Result<(Child, bool), String> {
    let mut child = namespace.run(wrapped(words, [addresses[1], addresses[0]], true))?;
    let begun = Instant::now();
    while begun.elapsed() < LISTENS && child.try_wait().ok().flatten().is_none() {
        let listens = namespace.run(|| {
            let text = |file: &str| fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap_or_default();
            // State 0A is LISTEN; any UDP socket there is one that waits.
            text("tcp").lines().chain(text("tcp6").lines()).any(|line| line.split_whitespace().nth(3) == Some("0A"))
                || text("udp").lines().count() > 1
        });
        if listens {
            return Ok((child, true));
        }
        sleep(Duration::from_millis(10));
    }
    Ok((child, false))
}

/// The first process of a namespace, which ignores signals that it does not handle, and reaps: a shell that waits for the
/// command, says nothing of how it ended and ends with its exit code.
const FIRST: &str = "trap : HUP INT QUIT TERM; exec 3>&2 2>/dev/null; (\"$@\" 2>&3 3>&-); exit $?";

/// Starts a command in a process namespace of its own, which ends with it and with this program, however that ends.
fn wrapped(
    words: &[String],
    addresses: [Ipv4Addr; 2],
    aside: bool,
) -> impl FnOnce() -> Result<Child, String> + Send + 'static {
    let words = words.to_vec();
    move || {
        let mut all = vec!["--pdeathsig", "KILL", "--", "unshare", "--pid", "--fork", "--kill-child"];
        let probe = ["--pid", "--fork", "--mount-proc", "true"];
        let quiet = || Stdio::null();
        let sees_itself = Command::new("unshare").args(probe).stdout(quiet()).stderr(quiet()).status();
        if sees_itself.is_ok_and(|status| status.success()) {
            all.push("--mount-proc");
        }
        all.extend(["--", "sh", "-c", FIRST, "sh"]);
        let mut command = Command::new("setpriv");
        command.args(all).args(&words);
        command.env("SLUICEGATE_ADDRESS", addresses[0].to_string()).env("SLUICEGATE_PEER", addresses[1].to_string());
        if aside {
            // What it says is not what the command says.
            let errors = std::io::stderr().as_fd().try_clone_to_owned().map_err(|error| error.to_string())?;
            command.stdin(quiet()).stdout(errors).process_group(0);
        }
        command.spawn().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => "setpriv and unshare are needed: they are part of util-linux".to_owned(),
            _ => error.to_string(),
        })
    }
}

/// Two addresses of a network that this machine has no route to yet, from what RFC 2544 sets aside for measurements.
fn free_pair() -> Result<[Ipv4Addr; 2], String> {
    let routes = fs::read_to_string("/proc/thread-self/net/route").unwrap_or_default();
    let taken = |network: u32| {
        let known = format!("{:08X}", network.swap_bytes());
        routes.lines().any(|line| line.split_whitespace().nth(1) == Some(&known))
    };
    let base = u32::from(Ipv4Addr::new(198, 18, 0, 0));
    let first = std::process::id() % 32_768; // so that two that start at once differ
    let free = (0..32_768).map(|at| base + (first + at) % 32_768 * 4).find(|network| !taken(*network));
    let network = free.ok_or("198.18.0.0/15 is in use as a whole")?;
    Ok([network + 1, network + 2].map(Ipv4Addr::from))
}
