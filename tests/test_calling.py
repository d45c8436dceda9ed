"""One way to call: all functions take the same subjects, disciplines and keywords, show progress, and say what is
wrong in the caller's terms, as soon as it is there."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from conftest import SMALL, Program

import sluicegate as sg
from sluicegate import progress as bars
from sluicegate import scenario as api

NETWORK = sg.dumbbell(rate="1 Mbit/s", delay="5 ms", queue=sg.Choke(min_th=10, max_th=30, limit=60))
FLOWS = [sg.Tcp(2, window=20), sg.Udp(rate="1 Mbit/s")]
SHORT = {"duration": "3 s", "warmup": "1 s"}
CAPTURE = str(Path(__file__).parent / "captures/raw.pcap")


class Fifo(sg.Aqm):
    """First in, first out."""

    def __init__(self, room: int = 20) -> None:
        self.queue = sg.PacketQueue()
        self.room = room

    def enqueue(self, packet: sg.Packet, ctx: sg.Ctx) -> None:
        if len(self.queue) >= self.room:
            ctx.drop(packet, "tail")
        else:
            self.queue.append(packet)

    def dequeue(self, ctx: sg.Ctx) -> sg.Packet | None:
        return self.queue.pop()


# --- what is simulated -------------------------------------------------------------------------


@pytest.fixture
def subjects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[Any, ...]]:
    """One scenario in every form that a call takes."""
    import tomllib

    text = api.scenario(NETWORK, FLOWS)
    file = tmp_path / "it.toml"
    file.write_text(text)
    monkeypatch.setattr(api, "scenarios", lambda: ["it"])
    monkeypatch.setattr(api, "bundled_scenario", lambda name: (text, f"{name}.toml"))
    return {
        "objects": (NETWORK, FLOWS),
        "name": ("it",),
        "path as text": (str(file),),
        "path": (file,),
        "text": (text,),
        "mapping": (tomllib.loads(text),),
    }


CALLS: dict[str, Callable[..., Any]] = {
    "run": lambda *what: sg.run(*what, **SHORT, seed=2).flows,
    "simulate": lambda *what: sg.simulate(*what, **SHORT, seed=2).flows,
    "Simulation": lambda *what: sg.Simulation(*what, **SHORT, seed=2).finish().flows,
    "compare": lambda *what: sg.compare(*what, disciplines="red,choke", seeds=1, jobs=1, **SHORT).runs,
    "sweep": lambda *what: sg.sweep(*what, over={"queue.choke.limit": [50, 60]}, seeds=1, jobs=1, **SHORT).flows,
    "recommend": lambda *what: (
        sg.recommend(
            *what, disciplines="red,choke", goals="udp loss below 5 %", seeds=1, jobs=1, **SHORT
        ).comparison.runs
    ),
}


@pytest.mark.parametrize("call", CALLS)
def test_every_form_of_a_scenario_gives_the_same(call: str, subjects: dict[str, tuple[Any, ...]]) -> None:
    if call == "recommend":  # a network takes the queue of an object, whole; a text what the queue leaves out
        subjects.pop("objects")
    tables = {form: CALLS[call](*what) for form, what in subjects.items()}
    first, *others = tables.values()
    assert all(first.equals(other, null_equal=True) for other in others)


def test_check_takes_them_too(subjects: dict[str, tuple[Any, ...]]) -> None:
    first, *others = [sg.check(*what, **SHORT, seed=3) for what in subjects.values()]
    assert all(first == other for other in others)
    assert (first["run"]["duration"], first["run"]["seed"]) == ("3 s", 3)


@pytest.mark.parametrize("call", CALLS)
def test_what_cannot_be_simulated_is_a_type_error(call: str) -> None:
    with pytest.raises(TypeError, match=r"^network: expected sluicegate\.dumbbell\(\.\.\.\) or topology"):
        CALLS[call](3)
    with pytest.raises(TypeError, match=r"^flows: a network needs sources"):
        CALLS[call](NETWORK)
    with pytest.raises(TypeError, match=r"^flows: a scenario brings its own"):
        CALLS[call]("unresponsive", FLOWS)
    with pytest.raises(TypeError, match=r"not the class sluicegate\.Udp: give an object"):
        CALLS[call](NETWORK, sg.Udp)
    with pytest.raises(FileNotFoundError, match="unresponsive"):
        CALLS[call]("unresponsiv")


# --- disciplines -------------------------------------------------------------------------------


@pytest.mark.parametrize("queue", ["red:max_p=0.1", sg.Red(max_p=0.1), Fifo, partial(Fifo, room=7)])
def test_a_queue_takes_the_place_of_the_scenarios_own(queue: Any) -> None:
    text = api.scenario(sg.dumbbell(rate="1 Mbit/s", delay="5 ms"), FLOWS)
    ran = sg.run(text, queue=queue, **SHORT)
    compared = sg.compare(text, disciplines=[queue, "choke"], seeds=1, jobs=1, **SHORT)
    swept = sg.sweep(text, over={"queue.discipline": [queue, "choke"]}, seeds=1, jobs=1, **SHORT)
    label = compared.disciplines[0]
    assert swept.totals["queue.discipline"].to_list() == [label, "choke"]
    rate = ran.flows["throughput_bps"].to_list()
    assert swept.flows.filter(swept.flows["queue.discipline"] == label)["throughput_bps"].to_list() == rate
    assert compared.mean(label, "throughput_bps")["mean"] == pytest.approx(sum(rate))
    if not isinstance(queue, str):
        net = sg.dumbbell(rate="1 Mbit/s", delay="5 ms", queue=queue)
        assert sg.simulate(net, FLOWS, **SHORT).flows["throughput_bps"].to_list() == rate
    assert sg.simulate(NETWORK, FLOWS, queue=queue, **SHORT).links["discipline"][0] == ran.links["discipline"][0]


def test_a_queue_that_is_none_is_told_as_it_was_written() -> None:
    with pytest.raises(sg.ScenarioError, match=r'^discipline "chok": queue.discipline: no .*did you mean "choke"'):
        sg.run("unresponsive", queue="chok")
    with pytest.raises(sg.ScenarioError, match=r"^queue: a run has one discipline, not 2: red, choke"):
        sg.run("unresponsive", queue="red,choke")
    with pytest.raises(TypeError, match=r"^disciplines: expected a name or a discipline"):
        sg.run("unresponsive", queue=3)  # type: ignore[arg-type]


# --- values ------------------------------------------------------------------------------------

WRONG: dict[str, Callable[[], object]] = {
    "Red: min_th = 70 packets: breaks the rule min_th < max_th (": lambda: sg.Red(min_th=70, max_th=60),
    'Tcp: window = "fast": must be a number of packets': lambda: sg.Tcp(window="fast"),
    "Tcp: count = 0: must be at least 1": lambda: sg.Tcp(0),
    'Tcp: algorithm: must be one of|Tcp: algorithm = "rino"': lambda: sg.Tcp(1, "rino"),  # type: ignore[arg-type]
    "Udp: rate = 2: must be a rate with its unit": lambda: sg.Udp(rate=2),  # type: ignore[arg-type]
    'Dumbbell: delay = "1 Mbit/s"': lambda: sg.dumbbell(rate="1 Mbit/s", delay="1 Mbit/s"),
    'Link: rate = "1 Mbit/h"': lambda: sg.Link(name="a", from_="x", to="y", rate="1 Mbit/h", delay="1 ms"),
    "Class: quantum = 0": lambda: sg.Class(sg.DropTail(), quantum=0),
    "Class: class = -1: must not be negative": lambda: sg.Class(sg.DropTail(), class_=-1),
    "Red: max_p = 2": lambda: sg.Drr([sg.Class(sg.Red(max_p=2))]),
}


@pytest.mark.parametrize("words", WRONG)
def test_a_wrong_value_is_told_where_the_object_is_made(words: str) -> None:
    with pytest.raises(sg.ScenarioError) as caught:
        WRONG[words]()
    assert any(str(caught.value).startswith(each) for each in words.split("|")), str(caught.value)


def test_what_is_no_discipline_is_told_where_the_network_is_made() -> None:
    for wrong in (sg.Choke, "choke", 3, Fifo()):
        for made in (lambda queue: sg.dumbbell(rate="1 Mbit/s", queue=queue), lambda queue: sg.topology(queue=queue)):
            with pytest.raises(TypeError, match=r"^queue: expected "):
                made(wrong)
    with pytest.raises(TypeError, match=r"^links: expected sluicegate\.Link"):
        sg.topology("a")  # type: ignore[arg-type]


def test_what_depends_on_the_rest_of_a_scenario_waits_for_it() -> None:
    sg.Udp(rate="1 Mbit/s", path=["nowhere"])
    sg.Connections(vectors="nowhere.cvec")
    with pytest.raises(sg.ScenarioError, match=r"^flows\[1\], Tcp: rtt: 1 ms is too short"):
        sg.simulate(NETWORK, [sg.Udp(rate="1 Mbit/s"), sg.Tcp(rtt="1 ms")], **SHORT)
    with pytest.raises(sg.ScenarioError, match=r"^flows\[0\], Udp: path: only a network of"):
        sg.simulate(NETWORK, sg.Udp(rate="1 Mbit/s", path=["nowhere"]), **SHORT)
    with pytest.raises(sg.ScenarioError, match=r"^flows: must be tables"):
        sg.simulate(NETWORK, [], **SHORT)


def test_making_an_object_is_fast_and_importing_loads_no_core() -> None:
    begun = time.perf_counter()
    for _ in range(100):
        sg.Red(max_p=0.1)
    assert time.perf_counter() - begun < 0.3  # a third of a millisecond each, with room for a busy machine
    code = "import sys, sluicegate._generated; print('sluicegate._core' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


# --- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", CALLS)
def test_errors_name_arguments(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for what in (("unresponsive",), (NETWORK, FLOWS), (SMALL,)):
        monkeypatch.setitem(SHORT, "duration", "9")
        with pytest.raises(sg.ScenarioError, match=r"^duration = 9: must be a time with its unit"):
            CALLS[call](*what)
        monkeypatch.setitem(SHORT, "duration", "3 s")
        monkeypatch.setitem(SHORT, "sets", {"flows.1.raet": 1})
        with pytest.raises(sg.ScenarioError, match=r"^sets: flows\.1\.raet: no such key"):
            CALLS[call](*what)
        monkeypatch.delitem(SHORT, "sets")


def test_a_mistake_in_a_text_has_its_line() -> None:
    with pytest.raises(sg.ScenarioError, match=r"^\(text\):\d+: queue\.min_th = 70 packets: breaks the rule"):
        sg.run(SMALL.replace("min_th = 10", "min_th = 70"))


# --- axes that go together ---------------------------------------------------------------------


def test_axes_that_go_together() -> None:
    over = {
        ("flows.1.rate", "queue.choke.limit"): [("1 Mbit/s", 50), ("2 Mbit/s", 70)],
        "queue.choke.candidates": [1, 2],
    }
    done = sg.sweep(NETWORK, FLOWS, over=over, seeds=1, jobs=1, **SHORT)
    assert done.columns == ["flows.1.rate_bps", "queue.choke.limit", "queue.choke.candidates"]
    points = [(10**6, 50, 1), (10**6, 50, 2), (2 * 10**6, 70, 1), (2 * 10**6, 70, 2)]
    assert done.totals.select(done.columns).rows() == points
    assert done.points()[2] == ("2 Mbit/s", "70", "1")
    alone = sg.sweep(NETWORK, FLOWS, over={"flows.1.rate": ["2 Mbit/s"], "queue.choke.limit": [70]}, seeds=1, **SHORT)
    assert done.totals["throughput_bps"][2] == alone.totals["throughput_bps"][0]


@pytest.mark.parametrize(
    ("over", "error", "message"),
    [
        ({("a", "b"): [(1, 2), (3,)]}, sg.ScenarioError, r"over: a, b = (3,): must have 2 values, not 1"),
        ({("a", "b"): []}, sg.ScenarioError, "over: a, b: name at least one value"),
        ({("a", "b"): [(1, 2), (1, 2)]}, sg.ScenarioError, "over: a, b: 1, 2 is there twice"),
        ({("a", "a"): [(1, 2)]}, sg.ScenarioError, "over: a: given twice"),
        ({("a", "run.seed"): [(1, 2)]}, sg.ScenarioError, "over: run.seed: a sweep takes the seeds it is given"),
        ({("a", "b"): "1,2"}, TypeError, "over: a, b = '1,2': expected rows of values, such as"),
        ({("a", "b"): [1, 2]}, TypeError, "over: a, b = 1: expected rows of values, such as"),
        ({("a",): [(1,)]}, TypeError, "over: ('a',): several keys go together"),
        (
            {("queue.limit", "flows.1.raet"): [(50, 1)]},
            sg.ScenarioError,
            "over: flows.1.raet: no such key for kind udp",
        ),
        ({"queue.discipline": []}, sg.ScenarioError, "over: queue.discipline: name at least one value"),
        (
            {"queue.discipline": ["choke:candidates=200"]},
            sg.ScenarioError,
            "over: queue.discipline=choke:candidates=200: queue.choke.candidates = 200: must be",
        ),
    ],
)
def test_wrong_axes_are_told(over: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        sg.sweep("unresponsive", over=over)
    assert str(caught.value).startswith(message)


def test_the_command_takes_axes_that_go_together(sluicegate: Program, small: Path) -> None:
    short = ["--set", "run.duration=3 s", "--set", "run.warmup=1 s", "--seeds", "1", "-o", "out"]
    over = "flows.1.rate=1..4 Mbit/s log 3 + queue.limit=50,60,70"
    answer = sluicegate("sweep", small, "--over", over, *short)
    assert (answer.returncode, answer.stderr) == (0, "")
    rows = [line.split()[:3] for line in answer.stdout.splitlines() if re.match(r" +\d", line)]
    assert rows == [["1", "Mbit/s", "50"], ["2", "Mbit/s", "60"], ["4", "Mbit/s", "70"]]
    answer = sluicegate("sweep", small, "--over", "flows.1.rate=1 Mbit/s + queue.limit=50,60", *short)
    wanted = "as many values of each are needed: flows.1.rate has 1, queue.limit has 2\n"
    assert (answer.returncode, answer.stderr[:6], answer.stderr.endswith(wanted)) == (2, "error:", True)


# --- progress ----------------------------------------------------------------------------------


def calls(progress: Any) -> list[Callable[[], object]]:
    """Every function that shows its progress, called with `progress`."""
    common: dict[str, Any] = {"progress": progress, "seeds": 1, "jobs": 1, **SHORT}
    return [
        lambda: sg.run(NETWORK, FLOWS, **SHORT, progress=progress),
        lambda: sg.Simulation(NETWORK, FLOWS, **SHORT).finish(progress),
        lambda: sg.compare(NETWORK, FLOWS, disciplines="red", **common),
        lambda: sg.sweep(NETWORK, FLOWS, over={"queue.choke.limit": [50]}, **common),
        lambda: sg.recommend(NETWORK, FLOWS, disciplines="red", goals="udp loss below 5 %", **common),
        lambda: sg.replay(CAPTURE, rate="1 Mbit/s", progress=progress),
    ]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_is_there_when_it_is_asked_for_or_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[object] = []

    def told(*about: object) -> None:
        shown.append(about)

    for progress, terminal, wanted in [
        (True, False, True),
        (None, True, True),
        (None, False, False),
        (False, True, False),
    ]:
        for number, call in enumerate(calls(progress)):
            shown.clear()
            monkeypatch.setattr(sys, "stderr", Terminal() if terminal else io.StringIO())
            with monkeypatch.context() as patch:
                patch.setattr(bars, "terminal_bar", lambda: _Given(told))
                call()
            assert bool(shown) in ((wanted,) if number in (2, 3, 4) else (wanted, False))  # short runs may tell nothing


class _Given:
    """A bar for a test."""

    def __init__(self, told: Callable[..., object]) -> None:
        self.told = told

    def __enter__(self) -> Callable[..., object]:
        self.told("there")
        return self.told

    def __exit__(self, *_: object) -> None: ...


def test_the_bar_on_a_terminal_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    with bars.bar() as update:
        assert update is not None
        update(1, 2, "half of it")


def test_a_function_gets_what_it_got_before() -> None:
    seen: list[tuple[object, ...]] = []
    for call in calls(lambda *about: seen.append(about)):
        call()
    assert {len(about) for about in seen} <= {2, 3}
    done: list[tuple[int, int, str]] = []
    sg.compare(NETWORK, FLOWS, disciplines="red", seeds=2, jobs=1, **SHORT, progress=lambda *a: done.append(a))
    assert done == [(1, 2, "red"), (2, 2, "red")]


def test_a_notebook_gets_a_bar_that_goes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    display = pytest.importorskip("IPython.display")
    pages: list[str] = []

    class Handle:
        def update(self, page: Any) -> None:
            pages.append(page.data)

    def displayed(page: Any, display_id: bool) -> Handle:
        pages.append(page.data)
        return Handle()

    monkeypatch.setattr(display, "display", displayed)
    monkeypatch.setattr(bars, "in_notebook", lambda: True)
    with bars.bar() as update:
        assert update is not None
        for done in range(4):
            time.sleep(0.11)
            update(done, 3, "a < b")
    assert pages == [f'<progress value="{done}" max="3"></progress> a &lt; b' for done in (1, 3)] + [""]
