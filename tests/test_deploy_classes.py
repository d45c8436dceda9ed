"""`sluicegate tc`: prio and drr, the disciplines in their classes, and the filters that choose a class."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from deploying import CLASSES, PROTOCOLS, Request, base, checked, match, of, sent
from tc import attributes

from sluicegate.deploy import linux


def test_prio_has_the_classes_in_order(tmp_path: Path) -> None:
    _, done = of(tmp_path, "priority", CLASSES)
    requests = [sent(line) for line in done.lines[2:]]
    prio = requests[0]
    bands, *priomap = struct.unpack_from("=i16B", prio.data)
    assert (prio.kind, prio.parent, prio.handle) == ("prio", 0x10001, 0x100000)
    assert (bands, priomap) == (4, [3] * 16)
    children = [each for each in requests[1:] if each.type == "RTM_NEWQDISC"]
    assert [(each.kind, each.parent) for each in children] == [
        ("fq_codel", 0x100001),
        ("red", 0x100002),
        ("codel", 0x100003),
        ("pfifo", 0x100004),
    ]
    assert (children[0].number(2), children[0].number(6)) == (99, 300)
    assert struct.unpack_from("=III", children[1].options[1])[1:] == (7 * 1250, 21 * 1250)
    assert struct.unpack("=I", children[3].data) == (33,)
    assert len({each.handle for each in requests if each.type == "RTM_NEWQDISC"}) == 5


def test_filters_choose_the_first_class_that_takes_a_packet(tmp_path: Path) -> None:
    _, done = of(tmp_path, "priority", CLASSES)
    filters = [each for each in map(sent, done.lines[2:]) if each.type == "RTM_NEWTFILTER"]
    assert [each.parent for each in filters] == [0x100000] * 5
    assert [each.info >> 16 for each in filters] == [1, 2, 3, 4, 5]
    assert [match(each) for each in filters[:2]] == [("ip", 46), ("ipv6", 46)]
    assert [each.number(1) for each in filters] == [0x100001, 0x100001, 0x100002, 0x100003, 0x100003]
    assert ematches(filters[2]) == ("all", [("length", 64 + 14)])
    assert ematches(filters[3]) == ("ip", [("length", 500 + 14), ("u8", 1, 0xFC, 10 << 2)])
    # IPv6: version, then the traffic class, of which the DSCP is the upper six bits: bits 4 to 9 of the first 16.
    assert ematches(filters[4]) == ("ipv6", [("length", 500 + 14), ("u16", 0, 0x0FC0, 10 << 6)])


def ematches(request: Request) -> tuple[str, list[tuple[Any, ...]]]:
    """The protocol of a basic filter, and what all must match: the longest frame, or some bits of the IP header."""
    assert request.kind == "basic"
    tree = attributes(request.options[2])
    matches: list[tuple[Any, ...]] = []
    for entry in attributes(tree[2]).values():
        _, kind, _, _ = struct.unpack_from("=HHHH", entry)
        if kind == 4:  # meta
            meta = attributes(entry[8:])
            left, shift, operation = struct.unpack_from("=HBB", meta[1])
            assert (left & 0xFFF, shift, operation) == (9, 0, 2)  # pkt_len, less than
            matches.append(("length", int.from_bytes(meta[3], "little") - 1))
        else:
            assert kind == 1  # cmp
            value, mask, offset, align, layer = struct.unpack_from("=IIHBB", entry[8:])
            assert align >> 4 == 0  # no other byte order
            assert (layer & 15, layer >> 4) == (1, 0)  # the network header, equal
            matches.append(({1: "u8", 2: "u16"}[align & 15], offset, mask, value))
    return PROTOCOLS[int.from_bytes((request.info & 0xFFFF).to_bytes(2, "little"), "big")], matches


def test_drr_has_quanta_and_takes_everything(tmp_path: Path) -> None:
    queue, done = of(tmp_path, "drr", 'quantum = "700 B"\n' + CLASSES)
    requests = [sent(line) for line in done.lines[2:]]
    assert (requests[0].kind, requests[0].data) == ("drr", b"")
    quanta = {each.handle: each.number(1) for each in requests if each.type == "RTM_NEWTCLASS"}
    assert quanta == {0x100001: base(queue["classes"][0]["quantum"])} | dict.fromkeys(range(0x100002, 0x100005), 700)
    last = requests[-1]
    assert (match(last), last.number(1)) == (("all", None), 0x100004)
    others = [each.info >> 16 for each in requests[:-1] if each.type == "RTM_NEWTFILTER"]
    assert last.info >> 16 > max(others)
    [child] = [each for each in requests if each.kind == "fq_codel"]
    assert child.number(6) == 300


def test_the_kernels_codel_counts_its_own_class(tmp_path: Path) -> None:
    """RFC 8289's counts all that waits for the link, which is a difference where there are other classes."""
    said = "CoDel in the kernel looks at the backlog of its own class, not at what waits for the link"
    for child, told in (("codel", True), ("fq_codel", True), ("pie", False)):
        classes = f'[[queue.classes]]\ndiscipline = "{child}"\n'
        assert (said in of(tmp_path, "drr", classes)[1].remarks) == told
        assert said not in of(tmp_path, "drr", classes + 'law = "linux"\n')[1].remarks


def test_classes_that_are_not_described_are_drop_tails_by_number(tmp_path: Path) -> None:
    for name in ("priority", "drr"):
        queue, done = of(tmp_path, name, "bands = 3")
        assert "classes" not in queue
        requests = [sent(line) for line in done.lines[2:]]
        limits = [struct.unpack("=I", each.data) for each in requests if each.kind == "pfifo"]
        assert limits == [(1000,)] * 3
        assert [match(each) for each in requests if each.kind == "flower"] == [
            ("ip", 0),
            ("ipv6", 0),
            ("ip", 1),
            ("ipv6", 1),
        ]


def test_containers_within_containers(tmp_path: Path) -> None:
    nested = (
        CLASSES
        + '\n[[queue.classes]]\ndiscipline = "drr"\n[[queue.classes.classes]]\nclass = 3\n'
        + ('[[queue.classes.classes]]\ndiscipline = "cake"\n')
    )
    _, done = of(tmp_path, "priority", nested)
    requests = [sent(line) for line in done.lines[2:]]
    [drr] = [each for each in requests if each.kind == "drr" and each.type == "RTM_NEWQDISC"]
    assert drr.parent == 0x100005
    [cake] = [each for each in requests if each.kind == "cake"]
    assert cake.parent == drr.handle + 2
    assert cake.number(2) == 0  # unlimited: htb shapes
    handles = [each.handle for each in requests if each.type == "RTM_NEWQDISC"]
    assert len(set(handles)) == len(handles)
    inner = [each for each in requests if each.kind == "flower" and each.parent == drr.handle]
    assert [match(each) for each in inner] == [("ip", 3), ("ipv6", 3)]


def test_a_class_s_own_table_is_read_and_so_are_keys_beside_it(tmp_path: Path) -> None:
    """The quantum of a class and that of its discipline have one name."""
    resolved = checked(tmp_path, 'discipline = "drr"')
    child = {"discipline": "fq_pie", "limit": 9, "target": "15 ms", "t_update": "15 ms", "alpha": 0.125, "beta": 1.25}
    child |= {"max_burst": "150 ms", "action": "drop", "mark_th": 0.1, "derandomise": True, "mode": "packet"}
    child |= {"max_packet": "1000 B", "law": "linux", "flows": 7}
    for entry, quanta in (
        ({"quantum": "900 B", "fq_pie": {"quantum": "400 B"}}, (900, 400)),
        ({"quantum": "500 B"}, (500, 500)),
    ):
        queue = {"discipline": "drr", "quantum": "1000 B", "classes": [child | entry]}
        done = linux.lines(resolved | {"queue": queue}, "lo")
        assert f"drr quantum {quanta[0]}" in done.lines[3]
        assert f"quantum {quanta[1]} " in done.lines[4]
