"""The Python API: the same runs and the same mistakes as from a file."""

from __future__ import annotations

import json
import pickle
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conftest import SMALL
from hypothesis import given
from hypothesis import strategies as st

import sluicegate as sg
from sluicegate import _core
from sluicegate import scenario as api


def small_network(**queue: int) -> sg.Dumbbell:
    return sg.dumbbell(
        rate="1 Mbit/s", delay="1 ms", queue=sg.Choke(**{"min_th": 10, "max_th": 30, "limit": 100} | queue)
    )


CAPTURE = Path(__file__).parent / "captures" / "dumbbell.pcap"
UDP = sg.Udp(rate="1 Mbit/s")
SHORT = {"duration": "2 s", "warmup": "1 s", "seeds": 1}
SMALL_FLOWS = [
    sg.Tcp(3, "reno", profile="ns2", window=20), sg.Udp(rate="2 Mbit/s"), sg.Poisson(rate="100 kbit/s"),
]  # fmt: skip


def test_python_and_file_give_the_same_run(small: Path) -> None:
    ours = sg.simulate(small_network(), SMALL_FLOWS, duration="6 s", warmup="2 s", seed=5)
    filed = sg.run(small)
    assert ours.tables == filed.tables
    for name in ours.tables:
        assert ours.table(name).equals(filed.table(name), null_equal=True)


def test_classes_are_frozen_and_keyword_only() -> None:
    with pytest.raises(TypeError, match="positional"):
        sg.Choke(10, 30)  # type: ignore[misc]
    with pytest.raises(TypeError, match="min_thh"):
        sg.Choke(min_thh=10)  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        sg.Choke(min_th=10, max_th=30).min_th = 11  # type: ignore[misc]


def test_a_mistake_in_python_gives_the_rule_of_a_file() -> None:
    with pytest.raises(sg.ScenarioError, match=r"^Choke: min_th = 70 packets: breaks the rule min_th < max_th"):
        small_network(min_th=70, max_th=60)


@pytest.mark.parametrize(
    ("network", "flows", "message"),
    [
        (sg.Choke(min_th=1, max_th=2), SMALL_FLOWS, "^network: "),
        (small_network(), [sg.Tcp], "^flows: "),
        (small_network(), ["tcp"], "^flows: "),
    ],
)
def test_what_is_no_network_discipline_or_source_is_refused(network: object, flows: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        sg.simulate(network, flows, duration="1 s")  # type: ignore[arg-type]


def test_a_value_of_no_kind_that_a_scenario_knows_is_named() -> None:
    for rate in (object(), {1, 2}):
        with pytest.raises(TypeError, match=r"^Udp: rate = .*: must be a text, a number"):
            sg.Udp(rate=rate)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^Udp: path = None: must be"):
        sg.simulate(small_network(), sg.Udp(rate="1 Mbit/s", path=["a", None]), duration="1 s")  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: sg.simulate(sg.dumbbell(rate="1 Mbit/s", queue=sg.Choke), UDP),  # type: ignore[arg-type]
            "queue: expected a discipline such as sluicegate.Choke(...), or a class of your own, not the class "
            "sluicegate.Choke: give an object, sluicegate.Choke(...)",
        ),
        (
            lambda: sg.simulate(sg.dumbbell(rate="1 Mbit/s"), sg.Udp),  # type: ignore[arg-type]
            "not the class sluicegate.Udp: give an object, sluicegate.Udp(...)",
        ),
        (
            lambda: sg.compare("unresponsive", disciplines=[sg.Red]),  # type: ignore[list-item]
            "not the class sluicegate.Red: give an object, sluicegate.Red(...)",
        ),
    ],
    ids=["queue", "flows", "disciplines"],
)
def test_a_class_where_an_object_is_wanted_is_told_so(call: Callable[[], object], message: str) -> None:
    """`queue=sg.Choke`."""
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value).endswith(message)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sg.run("unresponsive", sets={"queue.limit": -1}), "sets: queue.limit = -1: must not be negative"),
        (lambda: sg.run("unresponsive", seed=-1), "seed = -1: must not be negative"),
        (lambda: sg.check("unresponsive", sets={"queue.limit": -1}), "sets: queue.limit = -1: must not be negative"),
        (
            lambda: sg.compare("unresponsive", disciplines="red", sets={"run.seed": 3}),
            "sets: run.seed: give seeds instead",
        ),
        (
            lambda: sg.compare("unresponsive", disciplines="red", duration="9"),
            'duration = 9: must be a time with its unit, such as "10 ms"',
        ),
        (
            lambda: sg.sweep("unresponsive", over={"queue.limit": [-1, 2]}),
            "over: queue.limit = -1: must not be negative",
        ),
        (
            lambda: sg.sweep("unresponsive", over={"run.seed": [1, 2]}),
            "over: run.seed: give seeds instead",
        ),
        (
            lambda: sg.sweep("unresponsive", over={"queue.min_th": [1, 2]}, sets={"queue.min_th": 3}),
            "sets: queue.min_th: is swept",
        ),
        (
            lambda: sg.sweep("unresponsive", over={"queue.min_th": [1, 2]}, cluster="nowhere"),
            "cluster: nowhere: must be a scheduler's address, such as tcp://10.0.0.1:8786",
        ),
        (
            lambda: sg.replay(CAPTURE, rate="1 Mbit/s", sets={"queue.limit": -1}),
            "queue.limit = -1: must not be negative",
        ),
        (
            lambda: sg.design_red(rate="1", rtt="1 s", burst=5),
            'rate = 1: must be a rate with its unit, such as "1 Mbit/s"',
        ),
    ],
)
def test_errors_speak_of_arguments_and_never_of_options(call: Callable[[], object], message: str) -> None:
    """Errors of Python calls spoke of `--over`."""
    with pytest.raises(sg.ScenarioError) as caught:
        call()
    assert str(caught.value) == message
    assert "--" not in str(caught.value)


def test_a_key_that_does_nothing_is_warned_of(small: Path) -> None:
    """`max_th` under `[queue]` with a discipline that has none."""
    small.write_text(small.read_text().replace('"choke"', '"drop_tail"'))
    for call in (lambda: sg.check(small), lambda: sg.run(small, sets={"run.duration": "2 s", "run.warmup": "1 s"})):
        with pytest.warns(sg.ScenarioWarning) as told:
            call()
        words = [f"{small}:{line}: queue.{key}: drop_tail has no such key; it does nothing"
                 for line, key in ((8, "min_th"), (9, "max_th"))]  # fmt: skip
        assert [str(warning.message) for warning in told] == words


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda sets: sg.compare("unresponsive", disciplines="red,choke", **SHORT, sets=sets), "red and choke have"),
        (lambda sets: sg.compare("unresponsive", disciplines="red,codel", **SHORT, sets=sets), None),
        (
            lambda sets: sg.sweep("unresponsive", over={"queue.discipline": ["red", "choke"]}, **SHORT, sets=sets),
            "red and choke have",
        ),
        (lambda sets: sg.sweep("unresponsive", over={"queue.discipline": ["red", "codel"]}, **SHORT, sets=sets), None),
        (lambda sets: sg.replay(CAPTURE, rate="1 Mbit/s", queue="red", sets=sets), "red has"),
    ],
    ids=["no discipline has it", "one has it", "at no point", "at one point", "replay"],
)
def test_a_key_is_warned_of_when_it_does_nothing_anywhere(call: Callable[[object], object], told: str | None) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call({"queue.target": "5 ms"})
    words = [] if told is None else [f"sets: queue.target: {told} no such key; it does nothing"]
    assert [str(each.message) for each in caught if each.category is sg.ScenarioWarning] == words


def test_theory_is_there_without_being_imported() -> None:
    """`sg.theory` failed until imported."""
    script = "import sluicegate as sg; print(sg.theory.choke.PEAK_SHARE, sg.theory.red.__name__, 'theory' in dir(sg))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, encoding="utf-8", check=True)
    share, *rest = done.stdout.split()
    assert float(share) == pytest.approx(0.269, abs=1e-3)
    assert rest == ["sluicegate.theory.red", "True"]
    with pytest.raises(AttributeError, match=r"no attribute 'chok'"):
        sg.theory.chok  # noqa: B018


def test_numpy_values_are_taken() -> None:
    text = api.scenario(small_network(), sg.Tcp(np.int64(2), window=np.int32(8)), seed=np.uint8(3))
    assert "count = 2\n" in text
    assert "seed = 3\n" in text


def test_simulate_takes_every_declared_value_of_a_run() -> None:
    import inspect

    declared = {field["name"] for field in json.loads(_core.declarations())["run"]["fields"]}
    declared -= {"goals"}  # what `recommend` ranks by, and no run heeds
    assert declared == set(inspect.signature(sg.simulate).parameters) - {
        "network",
        "flows",
        "queue",
        "sets",
        "progress",
        "pcap",
    }


def test_a_network_of_links_carries_each_flow_along_its_path() -> None:
    links = [
        sg.Link(name="first", from_="a", to="b", rate="2 Mbit/s", delay="5 ms"),
        sg.Link(name="second", from_="b", to="c", rate="1 Mbit/s", delay="5 ms"),
    ]
    net = sg.topology(*links, queue=sg.DropTail(limit=20))
    flows = [sg.Udp(rate="300 kbit/s", path=["first", "second"]), sg.Udp(rate="400 kbit/s", path=("second",))]
    run = sg.simulate(net, flows, duration="12 s", warmup="2 s", seed=1)
    arrivals = dict(run.links.select("link", "arrivals_packets").iter_rows())
    assert run.flows["throughput_bps"].to_list() == pytest.approx([300e3, 400e3], rel=0.01)
    assert arrivals["first"] / arrivals["second"] == pytest.approx(3 / 7, rel=0.02)


def test_a_limited_transfer_closes_where_the_host_does() -> None:
    def sent(closing: bool) -> int:
        tcp = sg.Tcp(1, size=5, closing=closing)
        run = sg.simulate(sg.dumbbell(rate="10 Mbit/s"), tcp, duration="20 s", warmup="0 s")
        return int(run.flows["sent_packets"][0])

    # A SYN, its end and five packets, of which the last ends the stream; then the answer to the other end's FIN.
    assert (sent(False), sent(True)) == (7, 8)


def test_run_takes_overrides_of_any_type(small: Path) -> None:
    run = sg.run(small, sets={"run.series": False, "queue.min_th": np.int64(5), "flows.1.rate": "1 Mbit/s"}, seed=9)
    assert run.summary["seed"] == 9
    assert run.queue.height == 0
    assert run.flows.height == 5
    assert sg.check(small, sets=[("queue.min_th", 5)])["queue"]["min_th"] == 5


def test_progress_rises_and_its_exception_ends_the_run(small: Path) -> None:
    seen: list[tuple[float, float, int]] = []

    def watch(now: float, end: float, packets: int) -> None:
        seen.append((now, end, packets))
        if len(seen) == 3:
            raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        sg.run(small, sets={"run.duration": "20000 s", "run.series": False}, progress=watch)
    assert [end for _, end, _ in seen] == [20000.0] * 3
    assert seen == sorted(seen)
    assert seen[0] < seen[-1]


BRIEF = ["--set", "run.duration=2 s", "--set", "run.warmup=1 s"]


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, sluicegate, sluicegate.cli; print([m for m in sys.modules if m in sys.argv])"
    heavy = ["polars", "numpy", "scipy", "matplotlib", "sluicegate._core"]
    done = subprocess.run([sys.executable, "-c", code, *heavy], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    "words",
    [
        ["run", "unresponsive", *BRIEF],
        ["compare", "unresponsive", *BRIEF, "--disciplines", "red,choke", "--seeds", "2"],
        ["recommend", "unresponsive", *BRIEF, "--disciplines", "red,choke", "--seeds", "1"],
        ["tc", "unresponsive", "--set", "queue.discipline=codel"],
    ],
)
def test_a_command_that_draws_nothing_does_without_matplotlib(words: list[str]) -> None:
    """It takes half a second to load."""
    code = "import sys; sys.modules['matplotlib'] = None; from sluicegate.cli import main; main()"
    subprocess.run([sys.executable, "-c", code, *words], stdout=subprocess.DEVNULL, check=True)


def test_every_public_name_is_there() -> None:
    assert all(getattr(sg, name) is not None for name in sg.__all__)
    assert set(sg.__all__) <= set(dir(sg))
    with pytest.raises(AttributeError):
        sg.nonsense  # noqa: B018


@given(
    discipline=st.sampled_from([d["name"] for d in json.loads(_core.declarations())["disciplines"]]),
    limit=st.integers(2, 200),
    udp=st.integers(10, 5000),
    count=st.integers(1, 5),
    seed=st.integers(0, 2**32),
)
def test_what_arrives_departs_is_dropped_or_waits(discipline: str, limit: int, udp: int, count: int, seed: int) -> None:
    sets = {
        "queue.discipline": discipline,
        "queue.limit": limit,
        "flows.0.count": count,
        "flows.1.rate": f"{udp} kbit/s",
        "run.duration": "3 s",
        "run.warmup": "0 s",
    }
    run = sg.simulate(SMALL, sets=sets, seed=seed)
    reasons = [column for column in run.links.columns if column.startswith("drops_") and column != "drops_packets"]
    for link in run.links.to_dicts():
        queued = link["arrivals_packets"] - link["departures_packets"] - link["drops_packets"]
        assert 0 <= queued <= link["queue_packets_max"] + 1
        assert sum(link[reason] for reason in reasons) == link["drops_packets"]
    for flow in run.flows.to_dicts():
        assert flow["delivered_packets"] + flow["drops_packets"] <= flow["sent_packets"]


@pytest.mark.parametrize(
    ("name", "key", "told"),
    [
        ("Red", "minth", "Red() got an unexpected keyword argument 'minth'; did you mean \"min_th\"?"),
        ("Dumbbell", "xyz", "Dumbbell() got an unexpected keyword argument 'xyz'; known: rate, delay, access_rate, "),
        ("Tcp", "xyz", "Tcp() got an unexpected keyword argument 'xyz'; known: count, algorithm, size, profile, "),
        ("simulate", "seeds", "simulate() got an unexpected keyword argument 'seeds'; did you mean \"seed\"?"),
        ("dumbbell", "rtt", "Dumbbell() got an unexpected keyword argument 'rtt'; known: "),
    ],
)
def test_a_wrong_keyword_names_the_one_that_was_meant(name: str, key: str, told: str) -> None:
    with pytest.raises(TypeError, match=re.escape(told)):
        getattr(sg, name)(**{key: 5})


def test_functions_and_objects_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(sg.simulate)) is sg.simulate
    assert pickle.loads(pickle.dumps(sg.Red(limit=9))) == sg.Red(limit=9)
