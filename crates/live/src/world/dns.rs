//! Name servers that COMMAND reaches through the emulated path: a resolver on the host's loopback is out of its reach.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, process};

use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};

const RESOLV_CONF: &str = "/etc/resolv.conf";
/// The servers that systemd-resolved asks itself.
const RESOLVED: &str = "/run/systemd/resolve/resolv.conf";
/// Sockets of daemons that would answer the C library past the emulated path.
const DAEMONS: [&str; 2] = ["/run/systemd/resolve/io.systemd.Resolve", "/run/nscd/socket"];

/// `None` if the servers of `/etc/resolv.conf` are usable from another namespace as they are; otherwise usable ones, an
/// empty list if none are known. A usable server has an IPv4 address, as the emulated path carries no IPv6, and not a
/// loopback one.
pub fn usable_servers() -> Option<Vec<IpAddr>> {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    select(&read(RESOLV_CONF), &read(RESOLVED))
}

fn select(present: &str, resolved: &str) -> Option<Vec<IpAddr>> {
    let mut found = usable(present);
    if found.len() == servers(present).count() && !found.is_empty() {
        return None;
    }
    if found.is_empty() {
        found = usable(resolved);
    }
    Some(found)
}

fn servers(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let mut fields = line.split_whitespace();
        fields.next().filter(|&keyword| keyword == "nameserver").and_then(|_| fields.next())
    })
}

fn usable(text: &str) -> Vec<IpAddr> {
    let usable = |address: &IpAddr| address.is_ipv4() && !address.is_loopback() && !address.is_unspecified();
    servers(text).filter_map(|server| server.parse().ok()).filter(usable).collect()
}

/// Replaces the servers of `/etc/resolv.conf` by `servers`, unless there are none, and hides the host's resolver
/// daemons from the calling thread and the processes that it starts. The thread must have a mount namespace of its own.
pub fn own_resolver(servers: &[IpAddr]) -> io::Result<()> {
    // Mounts would otherwise appear in the host's namespace too.
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    if !servers.is_empty() {
        let text = with_servers(&fs::read_to_string(RESOLV_CONF).unwrap_or_default(), servers);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let path = env::temp_dir().join(format!("sluicegate-resolv-{}-{now}", process::id()));
        let file = File::create_new(&path)?;
        let mounted = mount_text(&file, &path, &text);
        fs::remove_file(&path)?; // the mount keeps it
        mounted?;
    }
    for daemon in DAEMONS {
        if Path::new(daemon).exists() {
            mount_bind("/dev/null", daemon)?; // not a socket: connections are refused, and the servers are asked
        }
    }
    Ok(())
}

fn mount_text(mut file: &File, path: &Path, text: &str) -> io::Result<()> {
    file.write_all(text.as_bytes())?;
    // COMMAND may run as another user, whatever the umask is.
    file.set_permissions(Permissions::from_mode(0o644))?;
    Ok(mount_bind(path, fs::canonicalize(RESOLV_CONF)?)?)
}

fn with_servers(present: &str, servers: &[IpAddr]) -> String {
    let kept = |line: &&str| matches!(line.split_whitespace().next(), Some("search" | "domain" | "options"));
    let kept = present.lines().filter(kept).map(|line| format!("{line}\n"));
    kept.chain(servers.iter().map(|server| format!("nameserver {server}\n"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::tests::isolated;

    #[test]
    fn loopback_and_ipv6_servers_are_not_usable() {
        let of = |text: &[&str]| -> Vec<IpAddr> { text.iter().map(|address| address.parse().unwrap()).collect() };
        assert_eq!(select("search lan\nnameserver 192.0.2.1\nnameserver 192.0.2.2\n", ""), None);
        assert_eq!(select("nameserver 127.0.0.53\n", "nameserver 192.0.2.1\n"), Some(of(&["192.0.2.1"])));
        assert_eq!(
            select("nameserver ::1\nnameserver 192.0.2.2\n", "nameserver 192.0.2.1\n"),
            Some(of(&["192.0.2.2"]))
        );
        assert_eq!(select("nameserver fe80::1%eth0\n#nameserver 192.0.2.1\n", ""), Some(vec![]));
        assert_eq!(select("", ""), Some(vec![]));
    }

    #[test]
    fn only_the_thread_gets_other_servers() {
        let before = fs::read_to_string(RESOLV_CONF).unwrap_or_default();
        isolated(|| {
            own_resolver(&["192.0.2.53".parse().unwrap()]).unwrap();
            let text = fs::read_to_string(RESOLV_CONF).unwrap();
            assert_eq!(usable(&text), ["192.0.2.53".parse::<IpAddr>().unwrap()]);
        });
        assert_eq!(fs::read_to_string(RESOLV_CONF).unwrap_or_default(), before);
    }

    #[test]
    fn search_and_options_are_kept() {
        let present = "# made by hand\nsearch lan\nnameserver 127.0.0.53\noptions edns0\n";
        let text = with_servers(present, &["192.0.2.1".parse().unwrap()]);
        assert_eq!(text, "search lan\noptions edns0\nnameserver 192.0.2.1\n");
    }
}
