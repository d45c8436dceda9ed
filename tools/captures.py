"""Make the captures of tests/captures anew: real TCP and UDP between two network namespaces. Needs root.

    make captures

Two namespaces are joined by a pair of virtual Ethernet devices. In one, sockets of this machine's kernel listen; in the
other, they send, paced by the kernel; `tcpdump` listens there and keeps the first 96 bytes of each packet. Nothing but
the two namespaces is touched, and they are removed at the end. What each file holds is listed in
tests/captures/README.md.

Kernels without the modules for VLAN devices are common, so frames with tags are written to the device by this script;
all others come from the kernel's own stack.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TARGET = Path(__file__).resolve().parents[1] / "tests" / "captures"
NEAR, FAR = "sluicegate-near", "sluicegate-far"
SNAP = 96
PORTS = (5001, 5002, 5003)
SO_MAX_PACING_RATE = 47


def call(*words: str) -> None:
    subprocess.run(words, check=True)


def inside(namespace: str, *words: str) -> list[str]:
    return ["ip", "netns", "exec", namespace, *words]


def build() -> None:
    """Two namespaces, a wire between them, addresses of both versions, ECN on."""
    for namespace in (NEAR, FAR):
        call("ip", "netns", "add", namespace)
    call("ip", "link", "add", "near0", "netns", NEAR, "type", "veth", "peer", "name", "far0", "netns", FAR)
    for namespace, device, host in ((NEAR, "near0", 1), (FAR, "far0", 2)):
        call(*inside(namespace, "sysctl", "-qw", "net.ipv4.tcp_ecn=1"))
        call(*inside(namespace, "ip", "address", "add", f"10.77.0.{host}/24", "dev", device))
        call(*inside(namespace, "ip", "address", "add", f"fd77::{host}/64", "dev", device, "nodad"))
        # One segment at a time, as on a wire: no super-packets that a card would cut up.
        call(*inside(namespace, "ip", "link", "set", device, "gso_max_segs", "1", "up"))
        call(*inside(namespace, "ip", "link", "set", "lo", "up"))


def clear() -> None:
    for namespace in (NEAR, FAR):
        subprocess.run(["ip", "netns", "delete", namespace], stderr=subprocess.DEVNULL)


# --- what runs inside the namespaces -----------------------------------------------------------


def sink() -> None:
    """Accept and read whatever comes."""

    def read(connection: socket.socket) -> None:
        while connection.recv(1 << 16):
            pass
        connection.close()

    def accept(listener: socket.socket) -> None:
        while True:
            threading.Thread(target=read, args=(listener.accept()[0],), daemon=True).start()

    for port in PORTS:
        listener = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)
        threading.Thread(target=accept, args=(listener,), daemon=True).start()
    receiver = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    receiver.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    receiver.bind(("::", 5005))
    print("ready", flush=True)
    while True:
        receiver.recv(1 << 16)


def transfer(host: str, port: int, source: int, size: int, rate_bps: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        connection.bind(("", source))
        connection.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, rate_bps // 8)
        connection.connect((host, port))
        connection.sendall(bytes(size))
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)


def datagrams(host: str, source: int, size: int, gap_s: float, count: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sender:
        sender.bind(("", source))
        start = time.perf_counter()
        for k in range(count):
            time.sleep(max(0.0, start + k * gap_s - time.perf_counter()))
            sender.sendto(bytes(size), (host, 5005))


def together(*works: tuple[object, ...]) -> None:
    with ThreadPoolExecutor() as pool:
        for future in [pool.submit(*work) for work in works]:  # type: ignore[arg-type]
            future.result()


def dumbbell() -> None:
    """Three paced TCP transfers, one of them over IPv6, and a stream of UDP."""
    together(
        (transfer, "10.77.0.2", 5001, 40001, 150_000, 1_500_000),
        (transfer, "10.77.0.2", 5002, 40002, 150_000, 1_500_000),
        (transfer, "fd77::2", 5003, 40003, 150_000, 1_500_000),
        (datagrams, "10.77.0.2", 40005, 972, 0.002, 400),
    )


def tagged() -> None:
    """UDP of both versions in frames with one tag and with two, and some in fragments; an echo request or two."""
    addresses = bytes.fromhex("ffffffffffff 020000000001")  # to all, from an address that nobody has
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as wire:
        wire.bind(("near0", 0))
        for tags in (struct.pack("!HH", 0x8100, 7), struct.pack("!HHHH", 0x88A8, 8, 0x8100, 7)):
            for source, version in ((40007, 4), (40008, 6)):
                for _ in range(3):
                    wire.send(addresses + tags + udp_packet(version, source, bytes(200)))
                    time.sleep(0.001)
    datagrams("10.77.0.2", 40010, 4000, 0.001, 3)
    datagrams("fd77::2", 40011, 4000, 0.001, 3)
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as ping:
        ping.sendto(struct.pack("!BBHHH", 8, 0, 0xF7FF, 0, 0), ("10.77.0.2", 0))


def udp_packet(version: int, source: int, payload: bytes) -> bytes:
    """Ether type, IP and UDP header and payload, with their checksums."""
    udp = struct.pack("!HHHH", source, 5005, 8 + len(payload), 0) + payload
    if version == 4:
        ends = socket.inet_aton("10.77.0.1") + socket.inet_aton("10.77.0.2")
        header = struct.pack("!BBHHHBBH", 0x45, 2, 20 + len(udp), 1, 0x4000, 64, 17, 0) + ends
        ip = header[:10] + checksum(header) + header[12:]
        kind = 0x0800
    else:
        ends = socket.inet_pton(socket.AF_INET6, "fd77::1") + socket.inet_pton(socket.AF_INET6, "fd77::2")
        ip, kind = struct.pack("!IHBB", 6 << 28 | 2 << 20, len(udp), 17, 64) + ends, 0x86DD
    udp = udp[:6] + checksum(ends + struct.pack("!HH", 17, len(udp)) + udp) + udp[8:]
    return struct.pack("!H", kind) + ip + udp


def checksum(data: bytes) -> bytes:
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return struct.pack("!H", ~total & 0xFFFF)


def few() -> None:
    """A few packets of each kind, for the other link layers."""
    together(
        (transfer, "10.77.0.2", 5001, 40021, 5_000, 10_000_000),
        (datagrams, "10.77.0.2", 40025, 500, 0.001, 3),
        (datagrams, "fd77::2", 40026, 500, 0.001, 3),
    )


def tunnel() -> None:
    """UDP into a device without link layer; nothing comes back, since nobody is there."""
    device = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(device, 0x400454CA, struct.pack("16sH22x", b"tun0", 0x1001))  # TUNSETIFF: tun, without a header
    call("ip", "address", "add", "10.78.0.1/24", "dev", "tun0")
    call("ip", "address", "add", "fd78::1/64", "dev", "tun0", "nodad")
    call("ip", "link", "set", "tun0", "up")
    print("ready", flush=True)
    sys.stdin.readline()
    datagrams("10.78.0.2", 40031, 300, 0.001, 4)
    datagrams("fd78::2", 40032, 300, 0.001, 4)
    time.sleep(0.2)
    os.close(device)


# --- capturing ---------------------------------------------------------------------------------


def role(name: str, **more: object) -> subprocess.Popen[str]:
    """This script again, as one of the functions above, inside a namespace."""
    namespace = FAR if name == "sink" else NEAR
    words = inside(namespace, sys.executable, __file__, name)
    return subprocess.Popen(words, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **more)  # type: ignore[call-overload,no-any-return]


def listen(file: Path, device: str, *options: str) -> subprocess.Popen[bytes]:
    command = [
        "tcpdump",
        "-i",
        device,
        "-n",
        "--immediate-mode",
        "-U",
        "-Z",
        "root",
        "-s",
        str(SNAP),
        *options,
        "-w",
        str(file),
    ]
    child = subprocess.Popen(inside(NEAR, *command), stderr=subprocess.PIPE)
    assert child.stderr is not None
    for line in child.stderr:
        if b"listening" in line:
            return child
    raise SystemExit(f"error: tcpdump did not start: {' '.join(command)}")


def capture(folder: Path, name: str, work: str, device: str = "near0", *options: str) -> None:
    child = listen(folder / name, device, *options)
    worker = role(work)
    if worker.wait() != 0:
        raise SystemExit(f"error: {work} failed")
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    child.wait()


def main() -> None:
    """All captures; they replace the old ones when all are there."""
    if os.geteuid() != 0:
        raise SystemExit("error: namespaces need root: sudo make captures")
    for tool in ("ip", "tcpdump", "sysctl"):
        if shutil.which(tool) is None:
            raise SystemExit(f"error: {tool} is missing: install iproute2, tcpdump and procps")
    clear()
    try:
        build()
        server = role("sink")
        assert server.stdout is not None
        server.stdout.readline()
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            ip = "ip or ip6 and not icmp6"
            capture(folder, "dumbbell.pcap", "dumbbell", "near0", "ip or (ip6 and not icmp6)")
            capture(
                folder,
                "tagged.pcap",
                "tagged",
                "near0",
                "-Q",
                "out",
                "--time-stamp-precision=nano",
                "not arp and not icmp6",
            )
            capture(folder, "sll.pcap", "few", "any", "-y", "LINUX_SLL", ip)
            capture(folder, "sll2.pcap", "few", "any", "-y", "LINUX_SLL2", ip)
            worker = role("tunnel")
            assert worker.stdout is not None
            worker.stdout.readline()
            child = listen(folder / "raw.pcap", "tun0", "udp")
            worker.communicate("go\n")
            child.wait()  # it ends with the device
            for file in sorted(folder.iterdir()):
                shutil.copyfile(file, TARGET / file.name)
                print(f"{TARGET.name}/{file.name}: {file.stat().st_size} bytes")
        server.kill()
    finally:
        clear()


if __name__ == "__main__":
    roles = {"sink": sink, "dumbbell": dumbbell, "tagged": tagged, "few": few, "tunnel": tunnel}
    roles[sys.argv[1]]() if len(sys.argv) > 1 else main()
