"""Goals: what is measured for them in words, when they are kept, and which are assumed where none is given."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

import sluicegate as sg
from sluicegate.experiments.assumed import assume, beyond
from sluicegate.goals import Goal, Known, known
from sluicegate.goals import goals as parsed
from sluicegate.traffic.groups import Traffic, conversation

GROUPS = ["transfers", "voip", "flood"]
ABOUT = Known(dict.fromkeys(GROUPS, 2e7), frozenset({"voip"}), frozenset(), (("bottleneck", 20_000_000),))


def goals(texts: Sequence[str], about: Known = ABOUT) -> list[Goal]:
    return parsed(texts, about)


@pytest.mark.parametrize(
    ("text", "column", "bound", "sense"),
    [
        ("voip p99 below 30 ms", "voip_delay_p99_ns", 30e6, "below"),
        ("voip delay p99 <= 0.03 s", "voip_delay_p99_ns", 30e6, "below"),
        ("transfers utilisation above 95 %", "transfers_throughput_bps", 19e6, "above"),
        ("transfers throughput at least 5 Mbit/s", "transfers_throughput_bps", 5e6, "above"),
        ("transfers per flow over 100 kbit/s", "transfers_throughput_per_flow_bps", 1e5, "above"),
        ("voip loss under 1%", "voip_loss_ratio", 0.01, "below"),
        ("utilisation above 95 %", "utilisation", 0.95, "above"),
        ("queueing delay p99 below 20 ms", "queueing_delay_p99_ns", 20e6, "below"),
        ("jain above 0.9", "jain_all", 0.9, "above"),
        ("voip  response p50   least", "voip_response_time_p50_ns", None, "below"),
        ("throughput most", "throughput_bps", None, "above"),
    ],
)
def test_a_goal_says_what_is_measured(text: str, column: str, bound: float | None, sense: str) -> None:
    [goal] = goals([text])
    assert (goal.column, goal.sense) == (column, sense)
    assert goal.bound == (None if bound is None else pytest.approx(bound, rel=1e-12))


def test_a_group_may_have_a_name_of_several_words_and_links_theirs() -> None:
    about = replace(ABOUT, groups={"web": 1e6, "web users": 1e6, "a below b": 1e6, "x  y": 1e6})
    [goal] = goals(["web users p95 below 1 s"], about)
    assert (goal.group, goal.column) == ("web users", "web users_delay_p95_ns")
    [goal] = goals(["a below b p95 below 1 s"], about)
    assert (goal.group, goal.bound) == ("a below b", 1e9)
    assert goals(["x  y  loss  least"], about)[0].group == "x  y"
    two = replace(ABOUT, links=(("first", 10**6), ("second", 10**6)))
    first, second = goals(["utilisation above 50 %", "second utilisation above 50 %"], two)
    assert (first.column, second.column) == ("first.utilisation", "second.utilisation")


def test_a_share_of_a_link_is_that_of_the_slowest_that_the_group_crosses() -> None:
    about = replace(ABOUT, groups={"a": 2e6, "b": 10e6})
    a, b = goals(["a utilisation above 50 %", "b utilisation above 50 %"], about)
    assert (a.bound, b.bound) == (1e6, 5e6)


def test_values_have_digits_that_tell() -> None:
    jain, rate, loss, used = goals(
        ["jain above 0.9", "voip per flow above 60 kbit/s", "voip loss below 1 %", "voip utilisation above 90 %"]
    )
    assert jain.value(row(0.7123, 0.004)) == "0.712 ± 0.004"
    assert rate.value(row(63_210.0)) == "63.2 kbit/s"
    assert loss.value(row(0.0123, 0.001)) == "1.23 ± 0.10 %"
    assert used.value(row(18e6)) == "90.0 %"


def row(mean: float | None, half: float | None = None) -> dict[str, Any]:
    known = mean is not None and half is not None
    ends = (mean - half, mean + half) if known else (None, None)  # type: ignore[operator]
    return {"mean": mean, "half_width": half, "low": ends[0], "high": ends[1], "seeds": 5}


def test_a_goal_is_kept_when_its_interval_says_so() -> None:
    [below] = goals(["voip p99 below 30 ms"])
    assert [below.kept(row(20e6, half)) for half in (5e6, 10e6, 11e6, None)] == [True, True, None, True]
    assert [below.kept(row(40e6, half)) for half in (5e6, 11e6, None)] == [False, None, False]
    assert below.kept(row(None)) is False, "nothing was delivered"
    [above] = goals(["transfers utilisation above 50 %"])
    assert [above.kept(row(mean, 1e6)) for mean in (12e6, 10.5e6, 8e6)] == [True, None, False]
    [least] = goals(["voip p99 least"])
    assert [least.kept(row(1.0)), least.kept(row(None))] == [True, False]


@pytest.mark.parametrize(
    ("text", "best", "within"),
    [
        ("voip p99 least", 10e6, 1e6),
        ("voip p99 least", 100e6, 5e6),
        ("voip p99 least within 10 %", 10e6, 1e6),
        ("voip p99 least within 10 %", 0, 0),
        ("voip p99 least within 0.5 ms", 100e6, 0.5e6),
        ("voip p99 least within 0.5 ms or 1%", 100e6, 1e6),
        ("voip p99 below 30 ms", 10e6, 1e6),
        ("voip loss least", 0, 0.001),
        ("voip loss least within 1 point", 0.5, 0.01),
        ("transfers utilisation most", 1e3, 2e4),  # of 20 Mbit/s
        ("transfers utilisation most within 3 points", 1e7, 6e5),
        ("transfers throughput most", 1e7, 5e5),
        ("transfers throughput most within 1 Mbit/s", 1e7, 1e6),
        ("jain most within 0.01", 0.9, 0.01),
    ],
)
def test_what_is_near_the_best_is_as_good(text: str, best: float, within: float) -> None:
    [goal] = goals([text])
    assert goal.within(best) == pytest.approx(within, rel=1e-12)
    assert goals([goal.text]) == [goal], "the text says the tolerance"
    assert ("within" in goal.text) == (goal.bound is None)


def test_users_and_transfers_with_an_end_shall_wait_little() -> None:
    text = '[network]\nrate = "10 Mbit/s"\n[run]\nduration = "1 s"\n'
    flows = '[[flows]]\nkind = "http"\ncount = 9\n[[flows]]\nkind = "tcp"\nname = "files"\nsize = "1 MB"\n'
    resolved = sg._core.Scenario(text + flows, "x.toml", []).resolved()  # type: ignore[attr-defined]
    found, notes = assume(Traffic(resolved), known(resolved))
    assert ([goal.text for goal in found], notes) == (
        ["http response p50 least within 10 % or 10 ms", "files completion p50 least within 10 % or 10 ms"],
        [],
    )


def test_no_goal_is_assumed_for_what_cannot_keep_it() -> None:
    text = '[network]\nrate = "10 Mbit/s"\n[run]\nduration = "9 s"\nwarmup = "3 s"\n'
    flows = (
        '[[flows]]\nkind = "udp"\nname = "early"\nrate = "1 kbit/s"\nstop = "2 s"\n[[flows]]\nkind = "tcp"\ncount = 9\n'
    )
    bursts = '[[flows]]\nkind = "on_off"\nname = "bursts"\nrate = "8 Mbit/s"\non_mean = "1 ms"\noff_mean = "99 ms"\n'
    resolved = sg._core.Scenario(text + flows + bursts, "x.toml", []).resolved()  # type: ignore[attr-defined]
    found, notes = assume(Traffic(resolved), known(resolved))
    assert [goal.group for goal in found] == ["tcp"]
    assert [note.partition(":")[0] for note in notes] == ["early", "bursts"]


@pytest.mark.parametrize(
    ("flow", "told"),
    [
        ({"name": "Calls-up", "rate": "3 Mbit/s", "packet_size": "1200 B"}, "name"),
        ({"name": "video", "rate": "3 Mbit/s", "class": "34"}, "DSCP AF41"),
        ({"name": "a", "rate": "80 kbit/s", "packet_size": "200 B"}, "rate and packet size"),
        ({"name": "a", "rate": "80 kbit/s", "packet_size": "1200 B"}, None),
        ({"name": "recalls", "rate": "3 Mbit/s"}, None),
        ({"name": "backup", "rate": "3 Mbit/s", "class": "8"}, None),
    ],
)
def test_a_call_is_told_by_name_dscp_or_rate_and_packet_size(flow: dict[str, str], told: str | None) -> None:
    lines = "".join(f"{key} = {value if key == 'class' else json.dumps(value)}\n" for key, value in flow.items())
    text = f'[network]\nrate = "10 Mbit/s"\n[[flows]]\nkind = "udp"\n{lines}[run]\nduration = "9 s"\n'
    assert conversation(sg._core.Scenario(text, "x.toml", []).resolved()["flows"][0]) == told  # type: ignore[attr-defined]


def test_a_call_that_sends_more_than_its_share_wants_little_loss_and_delay_too() -> None:
    text = '[network]\nrate = "10 Mbit/s"\n[[flows]]\nkind = "udp"\nname = "call"\nrate = "3 Mbit/s"\n'
    text += '[[flows]]\nkind = "tcp"\nname = "uploads"\ncount = 9\n[run]\nduration = "9 s"\n'
    found, [note], _ = assumed(text)
    assert found["call"] == "call loss below 1 %"
    assert "sends more than its fair share of 1 Mbit/s" in note
    found, [note], _ = assumed(text.replace('"call"', '"backup"'))
    assert (found.keys(), note.partition(",")[0]) == ({"uploads"}, "backup: no goal")


def assumed(text: str) -> tuple[dict[str, str], list[str], Traffic]:
    """Of each group the first goal that is assumed for it, the notes, and the traffic."""
    resolved = sg._core.Scenario(text, "x.toml", []).resolved()  # type: ignore[attr-defined]
    found, notes = assume(Traffic(resolved), known(resolved))
    return {str(goal.group): goal.text for goal in reversed(found)}, notes, Traffic(resolved)


DSL = """\
[network]
rate = "16 Mbit/s"
delay = "15 ms"
framing = "atm"
reverse.rate = "1 Mbit/s"
[[flows]]
kind = "tcp"
name = "down"
count = 4
[[flows]]
kind = "tcp"
name = "up"
count = 2
direction = "reverse"
[run]
duration = "9 s"
"""


def test_what_is_assumed_leaves_room_for_cells_and_acknowledgements() -> None:
    found, _, traffic = assumed(DSL)
    # 33 cells for 1500 bytes, 2 for an acknowledgement, one for two packets: 1/33 of the other direction's rate.
    down, up = (group.count * traffic.share(group) for group in traffic.groups)
    assert down == pytest.approx((16e6 - 1e6 / 33) * 1500 / (33 * 53))
    assert up == pytest.approx((1e6 - 16e6 / 33) * 1500 / (33 * 53))
    assert found == {"down": "down utilisation above 77 %", "up": "up utilisation above 39 %"}
    # One for each packet would need 97 % of the slow link; there all six get the same, in bits of packets:
    # 1 Mbit/s / (2 · 1749/1500 + 4 · 106/52) = 95.4 kbit/s. 1500 bytes of data go with 52 of acknowledgements.
    found, *_ = assumed(DSL.replace("count = 4", 'count = 4\ndelayed_ack = "0 s"'))
    assert found == {"down": "down utilisation above 61 %", "up": "up utilisation above 17 %"}


def test_data_gets_what_its_acknowledgements_allow() -> None:
    text = DSL.replace("16 Mbit/s", "1 Gbit/s").replace('framing = "atm"\n', "")
    *_, traffic = assumed(text)
    down, up = (traffic.share(group) for group in traffic.groups)
    assert up == pytest.approx(1e6 / 6), "six flows share the slow link, four of them are acknowledgements"
    assert down == pytest.approx(1e6 / 6 / (52 * 8) * 2 * 12000)


def test_less_is_assumed_where_the_rate_varies() -> None:
    text = '[network]\ntrace = "lte"\ndelay = "25 ms"\n[[flows]]\nkind = "tcp"\nname = "load"\n'
    found, [note], _ = assumed(text + '[run]\nduration = "60 s"\n')
    assert found == {"load": "load utilisation above 60 %"}
    assert note == "load: 60 % of its fair share is assumed to be enough, because the rate of bottleneck varies"


def test_goals_that_framing_rules_out_are_told() -> None:
    resolved = sg._core.Scenario(DSL, "x.toml", []).resolved()  # type: ignore[attr-defined]
    traffic, about = Traffic(resolved), known(resolved)
    texts = ["down utilisation above 90 %", "reverse utilisation above 86 %", "up throughput above 860 kbit/s"]
    notes = beyond(goals(texts, about), traffic)
    most = "framing leaves packets of 1500 bytes at most 85.8 % of"
    assert notes == [
        f'"{texts[0]}" cannot be kept: {most} bottleneck, 13.7 Mbit/s',
        f'"{texts[1]}" cannot be kept: {most} reverse, 858 kbit/s',
        f'"{texts[2]}" cannot be kept: {most} reverse, 858 kbit/s',
    ]
    kept = ["down utilisation above 85 %", "down utilisation below 90 %", "utilisation most", "up loss below 1 %"]
    assert beyond(goals(kept, about), traffic) == []
