use super::{Interface, Losses, device, wire};
use crate::offloads;
use netlink_socket2::NetlinkSocket;
use nix::sched::{CloneFlags, unshare};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Runs `test` in a network namespace of its own, after `setup` by the shell.
fn apart<T: Send + 'static>(setup: &str, test: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let setup = setup.to_string();
    let run = move || {
        if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
            println!("skipped: no network namespace: {error}");
            return None;
        }
        let ready = Command::new("sh").args(["-ec", &setup]).status().is_ok_and(|status| status.success());
        if !ready {
            println!("skipped: the ip program cannot set up interfaces");
        }
        ready.then(test)
    };
    thread::spawn(run).join().unwrap()
}

const PAIR: &str = "sysctl -qw net.ipv6.conf.default.disable_ipv6=1; ip link add near type veth peer name far;
    ip link set near up; ip link set far up";

fn frame(length: usize, kind: &[u8]) -> Vec<u8> {
    let mut frame: Vec<u8> = (0..length).map(|byte| byte as u8).collect();
    // To a host that is neither of the two.
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 7]);
    frame[12..12 + kind.len()].copy_from_slice(kind);
    frame
}

fn all(interface: &mut Interface) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    while {
        let more = interface.receive().unwrap();
        interface.received(&mut |frame| frames.push(frame.to_vec()));
        more
    } {}
    frames
}

#[test]
fn frames_arrive_as_they_were_sent() {
    apart(PAIR, || {
        let (mut near, mut far) = (Interface::open("near").unwrap(), Interface::open("far").unwrap());
        let kinds: [&[u8]; 7] = [
            &[0x08, 0x06],
            &[0x08, 0x00],
            &[0x86, 0xdd],
            &[0x88, 0xcc],
            &[0x81, 0x00, 0x60, 0x05, 0x08, 0x00],
            &[0x88, 0xa8, 0x00, 0x07, 0x81, 0x00, 0x00, 0x08, 0x86, 0xdd],
            &[0x81, 0x00, 0x00, 0x00, 0x08, 0x06],
        ];
        // The MTU does not count the header, nor one tag.
        let frames: Vec<_> = kinds.iter().flat_map(|kind| [frame(60, kind), frame(1514, kind)]).collect();
        for frame in &frames {
            near.send(frame);
        }
        assert_eq!(near.flush().unwrap(), frames.len() as u64);
        assert_eq!(all(&mut far), frames);
        assert!(all(&mut near).is_empty(), "what is sent does not come back");
        assert_eq!((near.losses(), far.losses()), Default::default());
    });
}

#[test]
fn losses_are_counted() {
    apart(PAIR, || {
        let (mut near, mut far) = (Interface::open("near").unwrap(), Interface::open("far").unwrap());
        near.send(&frame(1600, &[8, 0]));
        near.send(&frame(60, &[8, 0]));
        assert_eq!(near.flush().unwrap(), 1);
        assert_eq!(near.losses(), Losses { too_long: 1, ..Losses::default() });
        let sent = 40_000;
        for _ in 1..sent {
            near.send(&frame(60, &[8, 0]));
        }
        let taken = near.flush().unwrap() + 1;
        let (got, losses) = (all(&mut far).len() as u64, far.losses());
        assert!(losses.received > 0);
        assert_eq!(got + losses.received + near.losses().sent, sent);
        assert_eq!(taken + near.losses().sent, sent);
        Command::new("ip").args(["link", "set", "near", "down"]).status().unwrap();
        near.send(&frame(60, &[8, 0]));
        let before = near.losses().sent;
        assert!(near.flush().is_err());
        assert_eq!(near.losses().sent, before + 1);
    });
}

#[test]
fn unsuitable_interfaces_are_refused() {
    let setup = format!("{PAIR}; ip link set lo up; ip link add idle type veth peer name other");
    apart(&setup, || {
        let refused = |name| Interface::open(name).err().unwrap();
        assert_eq!(refused("naer"), "no such interface: \"naer\"; did you mean \"near\"?");
        assert_eq!(refused("lo"), "lo is not an Ethernet interface");
        assert_eq!(refused("idle"), "idle is down; ip link set dev idle up");
        Command::new("ip").args("address add 192.0.2.1/24 dev near".split(' ')).status().unwrap();
        let near = Interface::open("near").unwrap();
        assert!(near.warnings()[0].starts_with("near has an IP address (192.0.2.1)"), "{:?}", near.warnings());
        if Command::new("ip").args("link add ours type bridge".split(' ')).status().unwrap().success() {
            Command::new("ip").args("link set far master ours".split(' ')).status().unwrap();
            assert_eq!(refused("far"), "far belongs to ours; ip link set dev far nomaster");
        }
    });
}

#[test]
fn offloads_are_restored() {
    apart(PAIR, || {
        let mut netlink = NetlinkSocket::new();
        let index = device::find(&mut netlink, "near").unwrap().index;
        offloads::set(&mut netlink, index, &["rx-gro"], true).unwrap();
        let near = Interface::open("near").unwrap();
        assert!(offloads::active(&mut netlink, index, &offloads::MERGING).unwrap().is_empty());
        drop(near);
        assert_eq!(offloads::active(&mut netlink, index, &offloads::MERGING).unwrap(), ["rx-gro"]);
    });
}

const SEGMENTING: [&str; 3] = ["tx-tcp-segmentation", "tx-tcp6-segmentation", "tx-generic-segmentation"];

/// A host in a namespace of its own, moved there with the interface `name`; then runs `then`.
fn host(name: &'static str, address: &str, segment: bool, then: impl FnOnce() + Send + 'static) {
    let flags = if address.contains(':') { "nodad" } else { "" };
    let up = format!("ip link set {name} up; ip address add {address} dev {name} {flags}");
    let (ready, wait) = mpsc::channel();
    let (go, start) = mpsc::channel();
    thread::spawn(move || {
        unshare(CloneFlags::CLONE_NEWNET).unwrap();
        ready.send(rustix::thread::gettid().as_raw_nonzero()).unwrap();
        start.recv().unwrap();
        assert!(Command::new("sh").args(["-c", &up]).status().unwrap().success());
        let mut netlink = NetlinkSocket::new();
        let index = device::find(&mut netlink, name).unwrap().index;
        offloads::set(&mut netlink, index, &SEGMENTING, segment).unwrap();
        then();
    });
    let thread = wait.recv().unwrap().to_string();
    assert!(Command::new("ip").args(["link", "set", name, "netns", &thread]).status().unwrap().success());
    go.send(()).unwrap();
}

/// A TCP transfer between two hosts across a bridge, until all has arrived or, with large packets, one is lost.
fn transfer(server: &'static str, client: &'static str, length: u32, segment: bool) {
    let setup = "for i in 1 2; do ip link add p$i type veth peer name h$i; ip link set p$i up; done";
    apart(setup, move || {
        let data: Vec<u8> = (0..1_000_000u32).map(|byte| (byte * 7 / 3) as u8).collect();
        let sent = data.clone();
        let (ready, wait) = mpsc::channel();
        let (done, results) = mpsc::channel();
        host("h1", &format!("{server}/{length}"), segment, move || {
            let listener = TcpListener::bind((server, 7000)).unwrap();
            ready.send(()).unwrap();
            let mut got = Vec::new();
            listener.accept().unwrap().0.read_to_end(&mut got).unwrap();
            let _ = done.send(got);
        });
        wait.recv().unwrap();
        host("h2", &format!("{client}/{length}"), segment, move || {
            let _ = TcpStream::connect((server, 7000)).and_then(|mut stream| stream.write_all(&sent));
        });
        let (mut one, mut two) = (Interface::open("p1").unwrap(), Interface::open("p2").unwrap());
        let start = Instant::now();
        loop {
            one.receive().unwrap();
            one.received(&mut |frame| two.send(frame));
            two.receive().unwrap();
            two.received(&mut |frame| one.send(frame));
            one.flush().unwrap();
            two.flush().unwrap();
            let merged = two.losses().merged;
            if segment && merged > 0 {
                return;
            }
            if let Ok(got) = results.try_recv() {
                assert!(!segment && merged == 0 && got == data);
                return;
            }
            assert!(start.elapsed() < Duration::from_secs(10), "{:?} {:?}", one.losses(), two.losses());
        }
    });
}

#[test]
fn tcp_crosses_a_bridge_although_its_hosts_leave_checksums_to_their_devices() {
    transfer("192.0.2.1", "192.0.2.2", 24, false);
    transfer("2001:db8::1", "2001:db8::2", 64, false);
}

#[test]
fn large_packets_of_virtual_devices_are_never_forwarded_as_one() {
    transfer("192.0.2.1", "192.0.2.2", 24, true);
}

#[test]
fn checksums_are_completed() {
    // UDP from 192.0.2.1:1 to 192.0.2.2:2 with three bytes: the field holds the sum over the pseudo header.
    let pseudo: u32 = 0xc000 + 0x0201 + 0xc000 + 0x0202 + 17 + 11;
    let field = ((pseudo & 0xffff) + (pseudo >> 16)) as u16;
    let mut segment = [0, 1, 0, 2, 0, 11, 0, 0, 0xab, 0xcd, 0xef];
    segment[6..8].copy_from_slice(&field.to_be_bytes());
    let mut slot = vec![0; wire::PREFIX + 34];
    slot[0] = 1;
    slot[6..8].copy_from_slice(&34u16.to_ne_bytes());
    slot[8..10].copy_from_slice(&6u16.to_ne_bytes());
    slot.extend(segment);
    let frame = wire::restore(&mut slot, Some([0x81, 0, 0, 5])).unwrap();
    assert_eq!(frame.len(), 34 + 11 + 4);
    assert_eq!(frame[12..16], [0x81, 0, 0, 5]);
    let words =
        frame[38..].chunks(2).map(|word| u32::from(word[0]) << 8 | word.get(1).map_or(0, |low| u32::from(*low)));
    let sum = pseudo + words.sum::<u32>();
    assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
}
