"""`sluicegate tc`: red, choke and gred in Linux, and Adaptive RED, which is a red there."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deploying import TICKS, Request, base, checked, discipline, match, of, sent, untold

from sluicegate.deploy import linux

VARIATIONS = {
    "red": [
        "",
        'w_q = 0.01\nmin_th = 20\nmax_th = 70\nmax_p = 0.1\nlimit = 200\naction = "mark"',
        'min_th = 6\nmax_th = 30\nlimit = 400\naction = "mark"\nabove_max_th = "mark"\nw_q = 0.0003',
        'mode = "byte"\nmin_th = "7001 B"\nmax_th = "20 kB"\nlimit = "99 kB"\nmax_packet = "700 B"',
    ],
    "ared": [
        "",
        'target_delay = "20 ms"\nlimit = 500\nmax_p = 0.05',
        'min_th = 8\nmax_th = 40\nw_q = 0.002\naction = "mark"\nabove_max_th = "mark"',
    ],
    "choke_linux": ["", 'limit = 90\nmin_th = 10\nmax_th = 50\nburst = 30\nmax_p = 0.1\navpkt = "700 B"\necn = true'],
}


def in_bytes(queue: dict[str, Any], key: str, packet: int) -> int:
    value = queue[key]
    return base(value) if isinstance(value, str) else value * packet


def red_like(request: Request, bounds: tuple[int, int, int], w_q: float, max_p: float) -> int:
    """Compare limit, min, max, weight and probability; gives the flags."""
    assert request.kind == "red"
    limit, low, high, w_log, p_log, _, _ = struct.unpack("=IIIBBBB", request.options[1])
    assert (low, high, limit) == bounds
    assert abs(math.log2(w_q) + w_log) <= 0.5
    assert request.number(3) == pytest.approx(max_p * 2**32, rel=1e-6)
    # Plog: the slope as a power of two, for kernels that know no max_P.
    assert max_p / (high - low) * 2**p_log == pytest.approx(2**0.5, rel=0.42)
    value, selector = struct.unpack("=II", request.options[4])
    assert selector & 7 == 7
    return int(value)


def red(queue: dict[str, Any], request: Request) -> None:
    packet = 700 if queue["mode"] == "byte" else 1250
    bounds = tuple(in_bytes(queue, key, packet) for key in ("min_th", "max_th", "limit"))
    flags = red_like(request, bounds, queue["w_q"], queue["max_p"])  # type: ignore[arg-type]
    ecn, hard = queue["action"] == "mark", queue["above_max_th"] == "drop"
    assert flags == (1 | 2 * hard if ecn else 0)


def ared(queue: dict[str, Any], request: Request) -> None:
    per_second = 12e6 / 10_000  # C counts packets of the discipline's `packet`, the typical 1250 bytes
    low = queue.get("min_th", max(5, round(base(queue["target_delay"]) / 1e9 * per_second / 2)))
    bounds = (1250 * low, 1250 * queue.get("max_th", 3 * low), 1250 * queue["limit"])
    flags = red_like(request, bounds, queue.get("w_q", 1 - math.exp(-1 / per_second)), queue["max_p"])
    ecn, hard = queue["action"] == "mark", queue["above_max_th"] == "drop"
    assert flags == 4 | (1 | 2 * hard if ecn else 0)  # TC_RED_ADAPTATIVE


def choke(queue: dict[str, Any], request: Request) -> None:
    assert request.kind == "choke"
    limit, low, high, w_log, _, scell, flags = struct.unpack("=IIIBBBB", request.options[1])
    assert (limit, low, high) == (queue["limit"], queue["min_th"], queue["max_th"])
    burst = queue.get("burst", (2 * low + high) // 3)
    weights = [k for k in range(1, 32) if burst + 1 - low <= (1 - (1 - 2.0**-k) ** burst) * 2**k]
    assert w_log == weights[0]
    assert request.number(3) == pytest.approx(queue["max_p"] * 2**32, rel=1e-6)
    assert flags == int(queue["ecn"])
    # The table of the idle decay shows avpkt and bandwidth: its cells are so long that 31 halvings fit 512 of them.
    ticks = base(queue["avpkt"]) * 8e6 / base(queue["bandwidth"]) * TICKS
    halving = -math.log(1 - 2.0**-w_log) / ticks
    assert 31 / halving / 2**scell < 512 <= 31 / halving / 2 ** (scell - 1)


MEANING: dict[str, Callable[[dict[str, Any], Request], None]] = {
    "red": red,
    "ared": ared,
    "choke_linux": choke,
}


CASES = [(name, at) for name, variations in VARIATIONS.items() for at in range(len(variations))]


@pytest.mark.parametrize(("name", "at"), CASES)
def test_tc_is_told_what_the_scenario_says(tmp_path: Path, name: str, at: int) -> None:
    queue, done = of(tmp_path, name, VARIATIONS[name][at])
    MEANING[name](queue, discipline(done))


def test_variations_leave_no_value_as_it_was(tmp_path: Path) -> None:
    """Linux takes the time s from avpkt and bandwidth; that of choke_linux is read from its table of the decay."""
    assert untold(tmp_path, VARIATIONS) == {"red.s", "ared.s", "choke_linux.bandwidth"}


@pytest.mark.parametrize("name", ["red", "ared"])
def test_packets_are_those_of_the_scenario(tmp_path: Path, name: str) -> None:
    queue = f'discipline = "{name}"\nmin_th = 10\nmax_th = 30\nlimit = 90'
    done = linux.lines(checked(tmp_path, queue, packet=1500), "lo")
    assert f"red limit {90 * 1500} min {10 * 1500} max {30 * 1500} avpkt 1500 " in done.lines[2]
    assert any("a packet of the scenario is 1500 bytes here" in said for said in done.remarks)


def test_values_are_told_of_only_where_they_differ(tmp_path: Path) -> None:
    def said(more: str) -> list[str]:
        remarks = of(tmp_path, "red", f"min_th = 20\nmax_th = 60\n{more}")[1].remarks
        return [each for each in remarks if each.startswith(("w_q", "max_p"))]

    assert said("w_q = 0.5\nmax_p = 0.999") == []
    assert said("w_q = 0.0019531\nmax_p = 0.999") == []  # 2^-9 is 0.001953125
    [weight] = said("w_q = 0.002\nmax_p = 0.999")
    assert weight.startswith("w_q = 2^-9 = 0.00195 instead of 0.002: tc knows powers of two only")
    [slope] = said("w_q = 0.5\nmax_p = 0.02")
    assert slope.startswith("max_p = 0.02, 0.06% lower")


def test_a_probability_of_1_is_not_0_to_tc(tmp_path: Path) -> None:
    """tc multiplies by 2^32 into 32 bits, in which 1 is 0: the kernel would then take the slope from Plog."""
    _, done = of(tmp_path, "red", "min_th = 20\nmax_th = 60\nmax_p = 1.0")
    assert "max_p = 1 becomes 0.999999999: tc reads a probability of 1 as 0" in done.remarks
    assert discipline(done).number(3) == int(0.999999999 * 2**32)
    _, done = of(tmp_path, "choke_linux", "max_p = 0.99999999999")
    assert discipline(done).number(3) == int(0.999999999 * 2**32)
    _, done = of(tmp_path, "gred", "queues = 2\nmax_p = 0.5\nlast_max_p = 0.99999999999")
    assert [sent(line).number(4) for line in done.lines[3:5]] == [2**31, int(0.999999999 * 2**32)]


UNSAID = {
    "red": (
        "gentle = true\nwait = true\nlaw = 'ns2'\nmethod = 2\nshort_first = '64 B'",
        ["gentle", "wait", "short_first"],
    ),
    "ared": ("top = 0.4\ninterval = '1 s'", ["top = 0.4: it is 0.5", "interval = 1 s: it is 500 ms"]),
}


@pytest.mark.parametrize("name", UNSAID)
def test_what_tc_cannot_say_is_a_remark(tmp_path: Path, name: str) -> None:
    more, beginnings = UNSAID[name]
    remarks = of(tmp_path, name, more)[1].remarks
    for beginning in beginnings:
        assert any(said.startswith(beginning) for said in remarks), (beginning, remarks)


# --- gred ----------------------------------------------------------------------------------------

GREDS = {
    "plain": "",
    "assured forwarding": "queues = 4\ndefault_queue = 0\nmax_p = 0.02\nlast_max_p = 0.08\nqueue_limit = 90",
    "own": 'queues = 2\naverage = "own"\naction = "mark"\nmin_th = 20\nlast_min_th = 10\nmax_th = 70\n'
    "last_max_th = 30\nburst = 40",
    "wred": 'queues = 16\naverage = "wred"\naction = "mark"\nabove_max_th = "drop"\nlimit = 77',
    "bytes": 'min_th = "15 kB"\nmax_th = "45 kB"\nlast_min_th = "9999 B"\nqueue_limit = "60 kB"\navpkt = "600 B"',
}


@pytest.mark.parametrize("case", GREDS)
def test_gred_has_a_virtual_queue_for_each_class(tmp_path: Path, case: str) -> None:
    queue, done = of(tmp_path, "gred", GREDS[case])
    count = queue["queues"]
    setup, changes = sent(done.lines[2]), [sent(line) for line in done.lines[3 : 3 + count]]
    queues, default, grio, flags = struct.unpack_from("=IIBB", setup.options[3])
    assert (setup.kind, setup.parent, queues) == ("gred", 0x10001, count)
    assert default == queue.get("default_queue", count - 1)
    assert grio == (queue["average"] != "own")
    ecn, hard = queue["action"] == "mark", queue["above_max_th"] == "drop"
    assert flags == (1 | 2 * hard if ecn else 0)
    packet = 600 if case == "bytes" else 1250
    limit = in_bytes(queue, "queue_limit" if "queue_limit" in queue else "limit", packet)
    assert setup.number(5) == limit  # what no queue's own limit may exceed
    weights, priorities = set(), []
    for at, change in enumerate(changes):
        assert (change.handle, change.parent) == (setup.handle, setup.parent)
        values = struct.unpack_from("=10I4B", change.options[1])
        assert values[0] == limit
        assert values[3] == at

        def band(key: str, at: int = at) -> int:
            first, last = queue[key], queue.get(f"last_{key}", queue[key])
            if isinstance(first, str):
                return base(first) + (base(last) - base(first)) * at // (count - 1)
            return int(first + (last - first) * at // (count - 1)) * packet

        assert values[1:3] == (band("min_th"), band("max_th"))
        weights.add(values[10])
        priorities.append(values[13])
        max_p = queue["max_p"] + (queue.get("last_max_p", queue["max_p"]) - queue["max_p"]) * at / (count - 1)
        assert change.number(4) == pytest.approx(max_p * 2**32, rel=1e-6)
    if case != "bytes":
        assert len(weights) == 1
    expected = {"own": [0] * count, "grio": list(range(1, count + 1)), "wred": [1] * count}
    assert priorities == expected[queue["average"]]


def test_weights_that_differ_between_virtual_queues_are_a_remark(tmp_path: Path) -> None:
    """One burst cannot give the second queue, with a min above it, the weight of the first."""
    same = "min_th = 15\nmax_th = 45\nqueues = 2\n"
    assert not any("another weight" in said for said in of(tmp_path, "gred", same)[1].remarks)
    _, done = of(tmp_path, "gred", same + "last_min_th = 1\nburst = 17")
    first, second = (struct.unpack_from("=10I4B", sent(line).options[1])[10] for line in done.lines[3:5])
    assert (first != second) == any("another weight" in said for said in done.remarks)


def test_filters_give_gred_its_queue_by_dscp(tmp_path: Path) -> None:
    _, done = of(tmp_path, "gred", "queues = 3\ndefault_queue = 1")
    clsact, *rest = [sent(line) for line in done.lines[6:]]
    assert (clsact.type, clsact.kind) == ("RTM_NEWQDISC", "clsact")
    assert [each.type for each in rest] == ["RTM_NEWTFILTER"] * 5
    assert [each.parent for each in rest] == [0xFFFFFFF3] * 5  # clsact's egress
    chosen = [(match(each), each.number(1) & 0xFFFF) for each in rest]
    assert chosen == [
        (("ip", 0), 0),
        (("ipv6", 0), 0),
        (("ip", 2), 2),
        (("ipv6", 2), 2),
        (("all", None), 1),
    ]
    assert len({each.info >> 16 for each in rest}) == 5
    assert [each.info >> 16 for each in rest] == sorted(each.info >> 16 for each in rest)
    assert "`tc qdisc del dev lo clsact`" in done.remarks[-1]
