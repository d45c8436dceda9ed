"""The paths of a scenario, as traps and goals see them: links, round trips, what a packet takes on a wire."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_traps import LINKS, changed, resolved

import sluicegate as sg
from sluicegate.traffic import paths


def test_paths_of_a_network_of_links(tmp_path: Path) -> None:
    found = resolved(LINKS, tmp_path)
    assert [place.name for place in paths.places(found)] == ["wan", "back"]
    udp, tcp, far = paths.paths(found)
    assert [link.name for link in udp.links] == ["lan", "wan"]
    assert (udp.back, udp.shared_bps, udp.port_bps, udp.rtt.typical_ns) == ((), 5_000_000, None, 22e6)
    assert [place.name for place in tcp.places] == ["wan"]
    assert [link.name for link in tcp.back] == ["back"]
    assert tcp.rtt.least_ns == 41e6
    assert (far.shared_bps, far.port_bps, far.far_port_bps) == (8_000_000, 100_000_000, None)
    assert (far.rtt.least_ns, far.rtt.most_ns) == (40e6, 100e6)
    assert 53e6 < far.rtt.typical_ns < 54e6


@pytest.mark.parametrize(
    ("keys", "trip"),
    [
        ("", (24e6, 24e6, 24e6)),
        ('access_delay = "5 ms"', (32e6, 32e6, 32e6)),
        ('rtt = "80 ms"', (80e6, 80e6, 80e6)),
        ('rtt = "40 ms"\nrtt_max = "100 ms"', (40e6, 70e6, 100e6)),
        ('rtts = ["60 ms", "40 ms", "90 ms"]', (40e6, 60e6, 90e6)),
    ],
)
def test_round_trips_of_a_dumbbell(tmp_path: Path, keys: str, trip: tuple[float, float, float]) -> None:
    text = changed({'delay = "10 ms"': 'delay = "10 ms"\naccess_delay = "1 ms"', "count = 50": f"count = 3\n{keys}"})
    found = resolved(text, tmp_path)
    [way] = paths.paths(found)
    assert (way.rtt.least_ns, way.rtt.typical_ns, way.rtt.most_ns) == trip
    assert (way.port_bps, way.far_port_bps, way.shared_bps) == (200_000_000, 200_000_000, 20_000_000)
    trips = sg.run(tmp_path / "paths.toml", sets={"run.duration": "2 s"}).flows["base_rtt_ns"]
    assert trip[0] <= trips.min() <= trips.max() <= trip[2]  # type: ignore[operator]


def test_a_two_way_dumbbell_has_a_second_link(tmp_path: Path) -> None:
    text = changed({"count = 50": 'count = 50\n\n[[flows]]\nkind = "tcp"\ndirection = "reverse"'})
    found = resolved(text, tmp_path)
    there, back = paths.places(found)
    assert (there.name, back.name) == ("bottleneck", "reverse")
    first, second = paths.paths(found)
    assert (first.links, first.back) == ((there,), (back,))
    assert (second.links, second.back) == ((back,), (there,))
    asked = resolved(changed({'"10 ms"': '"10 ms"\ntwo_way = true'}), tmp_path)
    assert [place.name for place in paths.places(asked)] == ["bottleneck", "reverse"]


def test_the_directions_of_a_dumbbell_may_differ(tmp_path: Path) -> None:
    keys = 'reverse = { rate = "1 Mbit/s", delay = "30 ms" }'
    (tmp_path / "paths.toml").write_text(
        changed({'delay = "10 ms"': f'delay = "10 ms"\n{keys}', "count = 50": "count = 1"})
    )
    found = sg.check(tmp_path / "paths.toml")
    there, back = paths.places(found)
    assert (there.rate_bps, there.delay_ns, back.rate_bps, back.delay_ns) == (20_000_000, 10e6, 1_000_000, 30e6)
    [way] = paths.paths(found)
    assert (way.rtt.typical_ns, way.shared_bps) == (40e6, 20_000_000)
    trips = sg.run(tmp_path / "paths.toml", sets={"run.duration": "2 s"}).flows["base_rtt_ns"]
    assert trips.to_list() == [40e6]


WIRES = {
    "plain": ("", (1500, 40), (1500, 40)),
    "bytes": ('framing = "20 B"', (1480, 0), (1500, 20)),
    "ethernet": ('framing = "ethernet"', (1500, 46, 40), (1538, 84, 84)),
    "atm": ('framing = "atm"', (1500, 40, 56), (33 * 53, 2 * 53, 2 * 53)),
    "ptm": ('framing = "ptm"', (1500, 34), (1530 + 24, 65)),
    "atm with a least frame": ('framing = "atm"\nframe_min = "100 B"', (40, 100), (3 * 53, 3 * 53)),
}
"""Lengths, and what they take on the wire, as crates/port/src/framing.rs has them by hand."""


@pytest.mark.parametrize("wire", WIRES)
def test_frames_and_cells_take_their_time(tmp_path: Path, wire: str) -> None:
    keys, lengths, expected = WIRES[wire]
    [place] = paths.places(resolved(changed({'"10 ms"': f'"10 ms"\n{keys}'}), tmp_path))
    assert tuple(place.framing.on_wire(length) for length in lengths) == expected
    assert place.time_ns(lengths[0], 3) == 3 * expected[0] * 400  # a byte takes 400 ns


@pytest.mark.parametrize(
    ("keys", "varies"),
    [
        ('trace = "lte"', (True, True)),
        ('trace = "lte"\nreverse.rate = "1 Mbit/s"', (True, False)),
        ('trace = "lte"\nreverse.trace_period = "10 s"\nreverse.trace = "wifi"', (True, True)),
        ('rate = "20 Mbit/s"\nreverse.trace = "lte"', (False, True)),
        ('rate = "20 Mbit/s"', (False, False)),
    ],
)
def test_a_link_with_a_trace_varies_about_its_mean(tmp_path: Path, keys: str, varies: tuple[bool, bool]) -> None:
    text = changed({'rate = "20 Mbit/s"\n': f"{keys}\ntwo_way = true\n", '"5 s"': '"60 s"'})
    found = paths.places(resolved(text, tmp_path))
    assert tuple(place.varies for place in found) == varies
    means = {"lte": 9_424_590, "wifi": 51_662_400, "20 Mbit/s": 20_000_000, "1 Mbit/s": 1_000_000}
    said = [key.partition(" = ")[2].strip('"') for key in keys.splitlines()]
    assert [place.rate_bps for place in found] == pytest.approx([means[said[0]], means[said[-1]]], rel=1e-3)


def test_links_of_a_network_have_wires_of_their_own(tmp_path: Path) -> None:
    wire = 'framing = "docsis", jitter = "5 ms", reordering = true, loss = 0.01, burst_start = 0.02, burst_loss = 1.0'
    found = resolved(LINKS.replace('delay = "10 ms"', f'delay = "10 ms", {wire}'), tmp_path)
    lan, wan, _ = paths.links(found)
    assert (wan.framing, wan.jitter_ns, wan.reorders) == (paths.Framing(18, 64, "none"), 5e6, True)
    assert wan.errors.losing == pytest.approx(0.03)
    assert (lan.framing, lan.jitter_ns, lan.reorders, lan.errors.losing) == (paths.Framing(), 0, False, 0)
