//! Forwarding of IPv4 between the outer TUN and the uplinks, turned on for these devices only: the global `ip_forward`
//! would make the host a router.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

const CONF: &str = "/proc/sys/net/ipv4/conf";
const GLOBAL: &str = "/proc/sys/net/ipv4/ip_forward";

/// Waits until its input closes, which happens however this process ends. Its output is the file with the shared lock.
/// The last holder turns forwarding off, unless the host's global setting has changed meanwhile.
const WATCHDOG: &str = r#"
trap '' HUP INT TERM
read _
exec 8<"$1"
flock -x 8
flock -n -x 1 && [ "$(cat "$2")" = "$3" ] && echo 0 >"$1/forwarding"
"#;

/// How long dropping waits for a watchdog, in steps of `STEP`.
const STEPS: u32 = 400;
const STEP: Duration = Duration::from_millis(5);

/// The devices of the default routes, including pairs of /1 routes, with which VPNs override a default route.
pub fn uplinks() -> Result<Vec<String>, String> {
    let path = "/proc/thread-self/net/route";
    let routes = fs::read_to_string(path).map_err(|error| format!("cannot read {path}: {error}"))?;
    match default_devices(&routes) {
        devices if devices.is_empty() => {
            Err("there is no default route: this host does not reach the Internet".to_owned())
        }
        devices => Ok(devices),
    }
}

fn default_devices(routes: &str) -> Vec<String> {
    const UP: u32 = 1;
    const REJECT: u32 = 0x200;
    let mut devices = Vec::new();
    for route in routes.lines().skip(1) {
        let fields: Vec<&str> = route.split_whitespace().collect();
        let [device, _, _, flags, _, _, _, mask, ..] = fields[..] else { continue };
        let (Ok(flags), Ok(mask)) = (u32::from_str_radix(flags, 16), u32::from_str_radix(mask, 16)) else { continue };
        let default = matches!(u32::from_be(mask), 0 | 0x8000_0000);
        if default && flags & (UP | REJECT) == UP && !devices.iter().any(|known| known == device) {
            devices.push(device.to_owned());
        }
    }
    devices
}

/// Turns forwarding on for a device that ends with this process, as a TUN does.
pub fn enable(device: &str) -> Result<(), String> {
    fs::write(format!("{CONF}/{device}/forwarding"), "1").map_err(|error| cannot_enable(device, &error))
}

fn cannot_enable(device: &str, error: &io::Error) -> String {
    format!("cannot turn on forwarding of {device}: {error}")
}

pub(super) fn enabled(device: &str) -> io::Result<bool> {
    Ok(fs::read_to_string(format!("{CONF}/{device}/forwarding"))?.trim() != "0")
}

/// Keeps forwarding on for devices that outlive this process. Devices that forwarded before are left alone.
///
/// Several processes may do so at once; the last to end restores. A child does it, even if this process is killed.
pub struct Forwarding {
    _watchdogs: Vec<Watchdog>,
}

impl Forwarding {
    /// Turns forwarding on for `devices` in the network namespace of the calling thread.
    pub fn new(devices: &[String]) -> Result<Forwarding, String> {
        let start =
            |device: &String| Watchdog::start(device).map_err(|error| cannot_enable(device, &error)).transpose();
        Ok(Forwarding { _watchdogs: devices.iter().filter_map(start).collect::<Result<_, _>>()? })
    }
}

struct Watchdog {
    child: Child,
}

impl Watchdog {
    /// Every watchdog of a device holds a shared lock on the device's setting, and takes or releases it under an
    /// exclusive lock on the directory. Files in /proc can be locked like others, and differ by device and network
    /// namespace.
    fn start(device: &str) -> io::Result<Option<Watchdog>> {
        let conf = format!("{CONF}/{device}");
        let guard = File::open(&conf)?;
        flock(&guard, FlockOperation::LockExclusive)?;
        let lock = File::open(format!("{conf}/forwarding"))?;
        let first = match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => true,
            Err(Errno::WOULDBLOCK) => false,
            Err(error) => return Err(error.into()),
        };
        if first && enabled(device)? {
            return Ok(None);
        }
        flock(&lock, FlockOperation::LockShared)?;
        if !Command::new("/bin/sh").args(["-c", "command -v flock"]).stdout(Stdio::null()).status()?.success() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "flock (util-linux) is not installed"));
        }
        let host = fs::read_to_string(GLOBAL)?;
        let mut watchdog = Command::new("/bin/sh");
        watchdog.args(["-c", WATCHDOG, "sluicegate-watchdog", &conf, GLOBAL, host.trim()]).current_dir("/");
        // In a process group of its own, Ctrl-C does not reach it.
        watchdog.stdin(Stdio::piped()).stdout(lock).stderr(Stdio::null()).process_group(0);
        // The watchdog runs before anything changes; if this process ends here, it waits for the guard.
        let watchdog = Watchdog { child: watchdog.spawn()? };
        fs::write(format!("{conf}/forwarding"), "1")?;
        Ok(Some(watchdog))
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.child.stdin.take();
        for _ in 0..STEPS {
            match self.child.try_wait() {
                Ok(None) => thread::sleep(STEP),
                _ => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::tests::isolated;

    const HEADER: &str = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n";

    #[test]
    fn default_routes_name_the_uplinks() {
        let eth =
            "eth0 00000000 010200C0 0003 0 0 0 00000000 0 0 0\neth0 000200C0 00000000 0001 0 0 0 00FFFFFF 0 0 0\n";
        let vpn =
            "tun0 00000000 0100080A 0003 0 0 0 00000080 0 0 0\ntun0 00000080 0100080A 0003 0 0 0 00000080 0 0 0\n";
        let unreachable = "* 00000000 00000000 0201 0 0 0 00000000 0 0 0\n";
        assert_eq!(default_devices(&format!("{HEADER}{eth}{vpn}{eth}{unreachable}")), ["eth0", "tun0"]);
        assert!(default_devices(HEADER).is_empty());
    }

    #[test]
    fn the_last_of_several_restores() {
        isolated(|| {
            let on = || Forwarding::new(&["lo".to_owned()]).unwrap();
            assert!(!enabled("lo").unwrap());
            let (first, second) = (on(), on());
            drop(first);
            assert!(enabled("lo").unwrap());
            let third = on();
            drop(second);
            assert!(enabled("lo").unwrap());
            drop(third);
            assert!(!enabled("lo").unwrap());
        });
    }

    #[test]
    fn what_others_turned_on_stays_on() {
        isolated(|| {
            enable("lo").unwrap();
            let forwarding = Forwarding::new(&["lo".to_owned()]).unwrap();
            assert!(forwarding._watchdogs.is_empty());
            drop(forwarding);
            assert!(enabled("lo").unwrap());

            fs::write(format!("{CONF}/lo/forwarding"), "0").unwrap();
            let forwarding = Forwarding::new(&["lo".to_owned()]).unwrap();
            fs::write(GLOBAL, "1").unwrap();
            drop(forwarding);
            assert!(enabled("lo").unwrap());
        });
    }

    #[test]
    fn unknown_devices_are_errors() {
        isolated(|| assert!(Forwarding::new(&["nowhere".to_owned()]).err().unwrap().contains("forwarding of nowhere")));
    }
}
