"""What groups of flows ask for, and their max-min fair shares, computed by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

import sluicegate as sg
from sluicegate.traffic.groups import Traffic

ROW = """\
network.links = [
    {{ name = "first", from = "a", to = "b", rate = "{rates[0]} Mbit/s" }},
    {{ name = "second", from = "b", to = "c", rate = "{rates[1]} Mbit/s" }},
    {{ name = "third", from = "c", to = "d", rate = "{rates[2]} Mbit/s", managed = {managed} }},
]
queue.discipline = "fq_codel"
run.duration = "1 s"
"""


def traffic(folder: Path, rates: tuple[int, int, int], *flows: str, managed: str = "true") -> Traffic:
    """Three links in a row, and groups: of each how many, what each flow asks for in Mbit/s, and its path."""
    text = ROW.format(rates=rates, managed=managed)
    for flow in flows:
        count, rate, *path = flow.split()
        names = ", ".join(f'"{name}"' for name in path)
        text += f'[[flows]]\nkind = "udp"\naccess_rate = "1 Gbit/s"\ncount = {count}\nrate = "{rate} Mbit/s"\n'
        text += f"path = [{names}]\n"
    file = folder / "row.toml"
    file.write_text(text)
    return Traffic(sg.check(file))


def shares(found: Traffic) -> list[float]:
    """Of each group, in Mbit/s."""
    return [found.share(group) / 1e6 for group in found.groups]


def test_what_a_long_flow_cannot_use_is_for_local_ones(tmp_path: Path) -> None:
    """The long flow gets 2 of the second link, so that a local one on the first gets 10 and one on the third 4."""
    local = ["1 99 first", "1 99 second", "1 99 third"]
    long = "1 99 first second third"
    assert shares(traffic(tmp_path, (12, 4, 6), long, *local)) == [2, 10, 2, 4]
    # Two flows on the second link: a third of it each. Of the third link 6 - 4/3 are left.
    found = shares(traffic(tmp_path, (12, 4, 6), long, "1 99 first", "2 99 second", "1 99 third"))
    assert found == pytest.approx([4 / 3, 12 - 4 / 3, 4 / 3, 6 - 4 / 3])


def test_what_asks_for_little_leaves_the_rest(tmp_path: Path) -> None:
    """Of 12 the three that ask for 1 leave 9 for two; of them the second link lets one have 4 at most."""
    flows = ["3 1 first", "1 99 first", "1 99 first second"]
    assert shares(traffic(tmp_path, (12, 20, 20), *flows)) == [1, 4.5, 4.5]
    assert shares(traffic(tmp_path, (12, 4, 20), *flows)) == [1, 5, 4]
    assert shares(traffic(tmp_path, (2, 4, 20), *flows)) == pytest.approx([0.4, 0.4, 0.4])


def test_a_slow_link_that_drop_tail_manages_counts(tmp_path: Path) -> None:
    found = traffic(tmp_path, (12, 20, 1), "1 99 first second third", "1 99 first second", managed="false")
    assert list(found.at) == ["first", "second"]
    assert shares(found) == [1, 11]


def test_access_links_count(tmp_path: Path) -> None:
    """Of 20 Mbit/s one flow can have 3 through its own port, and none more than 8 through the receiver's."""
    text = """\
network = { rate = "20 Mbit/s", access_rate = "8 Mbit/s" }
queue.discipline = "fq_codel"
run.duration = "1 s"
flows = [
    { kind = "tcp", access_rate = "3 Mbit/s" },
    { kind = "udp", rate = "50 Mbit/s", access_rate = "1 Gbit/s" },
    { kind = "udp", rate = "10 Mbit/s", access_rate = "1 Gbit/s", count = COUNT },
]
"""
    file = tmp_path / "ports.toml"
    for count, expected in ((1, [3, 8, 8]), (2, [3, 17 / 3, 17 / 3]), (9, [20 / 11] * 3)):
        file.write_text(text.replace("COUNT", str(count)))
        assert shares(Traffic(sg.check(file))) == pytest.approx(expected)


def test_a_share_for_another_demand(tmp_path: Path) -> None:
    """All else stays: a local flow that asked for nothing more would leave the long one its part."""
    found = traffic(tmp_path, (12, 4, 6), "1 1 first second third", "1 99 first", "1 99 second")
    long = found.groups[0]
    assert shares(found) == [1, 11, 3]
    assert found.share_of(long, float("inf")) == 2e6
    assert found.share_of(long, 5e5) == 5e5
    assert shares(found) == [1, 11, 3]


def test_no_link_is_given_more_than_it_has_and_each_flow_has_its_bottleneck(tmp_path: Path) -> None:
    """What defines the allocation: a flow below its demand crosses a full link where none has more than it."""
    found = traffic(
        tmp_path, (10, 7, 9), "2 1 first", "3 4 first second", "1 9 second third", "5 2 third", "1 9 first second third"
    )
    for group in found.groups:
        share = found.share(group)
        assert share <= group.demand_bps
        bottlenecks = []
        for link in group.path.links:
            there = [each for each in found.groups if link in each.path.links]
            used = sum(found.share(each) * each.count for each in there)
            assert used <= link.rate_bps * (1 + 1e-9)
            full = used >= link.rate_bps * (1 - 1e-9)
            bottlenecks.append(full and share >= max(found.share(each) for each in there) * (1 - 1e-9))
        assert share == group.demand_bps or any(bottlenecks)


def test_framing_takes_its_part_of_a_link(tmp_path: Path) -> None:
    """Packets of 1000 bytes take 22 cells of 53 bytes, those of 200 bytes 5: 1166 and 265 bytes of the link's rate."""
    text = ROW.format(rates=(12, 20, 20), managed="true").replace('to = "b"', 'to = "b", framing = "atm"')
    for size in (1000, 200):
        text += '[[flows]]\nkind = "udp"\naccess_rate = "1 Gbit/s"\nrate = "99 Mbit/s"\npath = ["first"]\n'
        text += f'packet_size = "{size} B"\n'
    (tmp_path / "cells.toml").write_text(text)
    even = 12 / (1.166 + 1.325)
    assert shares(Traffic(sg.check(tmp_path / "cells.toml"))) == pytest.approx([even, even])
