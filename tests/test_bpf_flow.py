"""Which flow a packet belongs to in the BPF queues (bpf/flow.h), on packets made by hand."""

from __future__ import annotations

import ctypes
import struct
import subprocess
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

SOURCE = """
#include "host.h"
struct reader { const __u8 *data; __u32 bytes; };
#define key sg_key
#include "flow.h"
static bool load(struct reader *r, __u32 at, void *into, __u32 n)
{
	if (at + n > r->bytes)
		return false;
	memcpy(into, r->data + at, n);
	return true;
}
__u64 flow(const __u8 *data, __u32 bytes, __u16 type, __u64 a, __u64 b)
{
	struct reader r = { data, bytes };
	struct sg_key key = { a, b };
	return hash_of(&key, &r, type);
}
"""
IPV4, IPV6, VLAN, ARP = 0x0800, 0x86DD, 0x8100, 0x0806
TCP, UDP, ICMP = 6, 17, 1
HOP_BY_HOP, ROUTING, FRAGMENT, AUTHENTICATION = 0, 43, 44, 51

Flow = Callable[..., int]


@pytest.fixture(scope="module")
def flow(tmp_path_factory: pytest.TempPathFactory) -> Flow:
    folder = tmp_path_factory.mktemp("flow")
    (folder / "flow.c").write_text(SOURCE)
    library = folder / "flow.so"
    command = ["cc", "-O2", "-shared", "-fPIC", "-w", f"-I{ROOT / 'bpf'}", str(folder / "flow.c"), "-o", str(library)]
    subprocess.run(command, check=True)
    function = ctypes.CDLL(str(library)).flow
    function.restype = ctypes.c_uint64
    function.argtypes = [ctypes.c_char_p, ctypes.c_uint32, ctypes.c_uint16, ctypes.c_uint64, ctypes.c_uint64]

    def call(packet: bytes, ether_type: int, key: tuple[int, int] = (1, 2)) -> int:
        # The kernel keeps the type in the network's order.
        (swapped,) = struct.unpack("<H", struct.pack(">H", ether_type))
        return int(function(packet, len(packet), swapped, *key))

    return call


def ports(source: int = 1000, destination: int = 80) -> bytes:
    return struct.pack(">HH", source, destination) + b"payload"


def ipv4(
    above: bytes, protocol: int = TCP, to: str = "10.0.0.2", fragment: int = 0, options: bytes = b"", id_: int = 7
) -> bytes:
    words = 5 + len(options) // 4
    addresses = ip_address("10.0.0.1").packed + ip_address(to).packed
    head = struct.pack(">BBHHHBBH", 0x40 | words, 0, 0, id_, fragment, 64, protocol, 0)
    return head + addresses + options + above


def ipv6(above: bytes, next_: int = TCP, to: str = "fd00::2") -> bytes:
    return struct.pack(">IHBB", 6 << 28, 0, next_, 64) + ip_address("fd00::1").packed + ip_address(to).packed + above


def test_flows_are_told_apart_by_addresses_protocol_and_ports(flow: Flow) -> None:
    first = flow(ipv4(ports()), IPV4)
    assert flow(ipv4(ports() + b"more", id_=8), IPV4) == first, "what else is in the packet does not matter"
    assert flow(ipv4(ports(), options=b"\x01" * 8), IPV4) == first
    others = [
        flow(ipv4(ports(1001)), IPV4),
        flow(ipv4(ports(1000, 81)), IPV4),
        flow(ipv4(ports(), protocol=UDP), IPV4),
        flow(ipv4(ports(), to="10.0.0.3"), IPV4),
        flow(ipv4(ports()), IPV4, (1, 3)),
        flow(ipv4(ports()), IPV4, (2, 2)),
        flow(ipv6(ports()), IPV6),
        flow(ipv6(ports(), to="fd00::3"), IPV6),
        flow(b"", ARP),
    ]
    assert len({first, *others}) == 1 + len(others)
    icmp = [flow(ipv4(ports(k), protocol=ICMP), IPV4) for k in (1, 2)]
    assert icmp[0] == icmp[1], "no ports"


def test_tags_and_extension_headers_are_skipped(flow: Flow) -> None:
    tag = struct.pack(">HH", 5, IPV4)
    assert flow(tag + ipv4(ports()), VLAN) == flow(ipv4(ports()), IPV4)
    assert flow(struct.pack(">HH", 9, VLAN) + tag + ipv4(ports()), 0x88A8) == flow(ipv4(ports()), IPV4)
    priority = struct.pack(">HH", 0x4005, IPV4)  # its bits look like IPv4's version, and IPv6's below
    assert flow(priority + ipv4(ports()), VLAN) == flow(ipv4(ports()), IPV4)
    priority = struct.pack(">HH", 0x6005, IPV6)
    assert flow(priority + ipv6(ports()), VLAN) == flow(ipv6(ports()), IPV6)
    plain = flow(ipv6(ports()), IPV6)
    hop = struct.pack(">BB6x", TCP, 0)
    assert flow(ipv6(hop + ports(), HOP_BY_HOP), IPV6) == plain
    routing = struct.pack(">BB14x", HOP_BY_HOP, 1)
    assert flow(ipv6(routing + hop + ports(), ROUTING), IPV6) == plain
    authentication = struct.pack(">BB22x", TCP, 4)
    assert flow(ipv6(authentication + ports(), AUTHENTICATION), IPV6) == plain


def test_a_header_behind_its_tags(flow: Flow) -> None:
    """What AF_PACKET and macvtap give: the type of a tag, and the data from IP's header on."""

    def of_length(packet: bytes) -> bytes:
        return packet[:2] + struct.pack(">H", len(packet)) + packet[4:]

    for outer in (VLAN, 0x88A8):
        for length in (0, 60, 1400):
            assert flow(of_length(ipv4(ports() + b"x" * length)), outer) == flow(ipv4(ports()), IPV4)
            assert flow(ipv6(ports() + b"x" * length), outer) == flow(ipv6(ports()), IPV6)
    labelled = struct.pack(">I", 6 << 28 | 0x12345) + ipv6(ports())[4:]
    assert flow(labelled, VLAN) == flow(ipv6(ports()), IPV6)


def test_all_fragments_of_a_datagram_are_one_flow(flow: Flow) -> None:
    first, last = (flow(ipv4(ports(k), UDP, fragment=fragment), IPV4) for k, fragment in ((1, 0x2000), (2, 185)))
    assert first == last != flow(ipv4(ports(1), UDP), IPV4)
    assert flow(ipv4(ports(), fragment=0x4000), IPV4) == flow(ipv4(ports()), IPV4), "don't fragment is no fragment"
    parts = [
        flow(ipv6(struct.pack(">BBHI", UDP, 0, offset, 3) + ports(offset), FRAGMENT), IPV6) for offset in (1, 1448)
    ]
    assert parts[0] == parts[1] != flow(ipv6(ports(), UDP), IPV6)
    # What follows in a later fragment is no header, whatever the first one's begins with.
    later = [flow(ipv6(struct.pack(">BBHI", 60, 0, 1448, 3) + piece * 8, FRAGMENT), IPV6) for piece in (b"A", b"B")]
    assert later[0] == later[1]
    atomic = struct.pack(">BBHI", UDP, 0, 0, 3)
    assert flow(ipv6(atomic + ports(), FRAGMENT), IPV6) == flow(ipv6(ports(), UDP), IPV6)


def test_packets_cut_short_do_no_harm(flow: Flow) -> None:
    assert flow(ipv4(b"")[:12], IPV4) == 0
    assert flow(ipv6(b"")[:30], IPV6) == 0
    assert flow(ipv4(b"\x00"), IPV4) == flow(ipv4(b""), IPV4), "no room for ports"
