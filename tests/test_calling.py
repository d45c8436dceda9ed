"""One way to call: all functions take the same subjects, disciplines and keywords, show progress, and say what is
wrong in the caller's terms, as soon as it is there."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import SMALL, Program
from fifo import Fifo

import sluicegate as sg
from sluicegate import _core
from sluicegate import scenario as api
from sluicegate.experiments import engine

NETWORK = sg.dumbbell(rate="1 Mbit/s", delay="5 ms", queue=sg.Choke(min_th=10, max_th=30, limit=60))
FLOWS = [sg.Tcp(2, window=20), sg.Udp(rate="1 Mbit/s")]
SHORT = {"duration": "3 s", "warmup": "1 s"}


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


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What has been read: "file" for a scenario's text, "scenario" for one that the core has parsed."""
    done: list[str] = []

    def noted(word: str, function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given: (done.append(word), function(*given))[1]

    monkeypatch.setattr(api, "read_scenario", noted("file", api.read_scenario))
    monkeypatch.setattr(_core, "Scenario", noted("scenario", _core.Scenario))
    return done


def test_a_run_reads_its_scenario_once(sluicegate: Program, small: Path, reading: list[str]) -> None:
    exports = ["--flent", "it.flent.gz", "--qlog", "1", "--pcap", "bottleneck=it.pcapng"]
    done = sluicegate("run", small, "--with-theory", *exports, "-o", "out", "--set", "run.duration=3 s")
    assert done.returncode == 0, done.stderr
    assert reading == ["file", "scenario"]
    queues = [None, "red", sg.Codel(), Fifo]
    reading.clear()
    for queue in queues:
        sg.run(small, queue=queue, **SHORT)  # type: ignore[arg-type]
        sg.Simulation(small, queue=queue, **SHORT).close()  # type: ignore[arg-type]
    assert reading == 8 * ["file", "scenario"]


# --- disciplines -------------------------------------------------------------------------------


@pytest.mark.parametrize("queue", ["red:max_p=0.1", sg.Red(max_p=0.1), Fifo, partial(Fifo, limit=7)])
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
    for wrong in (3, {"red": 1}, Fifo()):
        for call in (sg.run, sg.Simulation, partial(sg.sweep, over={"flows.1.rate": ["1 Mbit/s"]})):
            with pytest.raises(TypeError, match=r"^queue: expected (a name or a discipline|the class Fifo)"):
                call("unresponsive", queue=wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"^disciplines: expected "):
            sg.compare("unresponsive", disciplines=wrong)
        with pytest.raises(TypeError, match=r"^baseline: expected "):
            sg.compare("unresponsive", disciplines="red", baseline=wrong)


def test_disciplines_come_from_any_iterable() -> None:
    names = ["red", "choke"]
    for listed in ((name for name in names), dict.fromkeys(names).keys(), tuple(names)):
        done = sg.compare("unresponsive", disciplines=listed, seeds=1, jobs=1, **SHORT)
        assert done.disciplines == names
    assert repr(done) == "<sluicegate.Comparison red, choke; 1 seed; baseline red>"
    with pytest.raises(sg.ScenarioError, match=r"^disciplines: name at least one"):
        sg.compare("unresponsive", disciplines=iter(()))


def test_a_sweep_has_disciplines_as_queue() -> None:
    rows = [sg.Choke(limit=100), sg.Red(limit=100), "pie", Fifo, partial(Fifo, limit=7)]
    labels = ["choke:limit=100", "red:limit=100", "pie", "Fifo", "Fifo:limit=7"]
    short: dict[str, Any] = {"seeds": 1, "jobs": 1, **SHORT}
    over = {"queue": rows}
    done = sg.sweep("unresponsive", over=over, **short)
    assert (done.columns, done.totals["queue.discipline"].to_list()) == (["queue.discipline"], labels)
    assert done.tables == sg.sweep("unresponsive", over={"queue.discipline": rows}, **short).tables
    for one in (sg.Choke(limit=100), "choke:limit=100", [sg.Choke(limit=100)]):
        assert sg.sweep("unresponsive", over={"queue": one}, **short).points() == [("choke:limit=100",)]
    together = sg.sweep(
        "unresponsive", over={("queue", "flows.1.rate"): [(Fifo, "1 Mbit/s"), ("red", "2 Mbit/s")]}, **short
    )
    assert together.points() == [("Fifo", "1 Mbit/s"), ("red", "2 Mbit/s")]


@pytest.mark.parametrize("queue", ["choke:candidates=2", sg.Choke(candidates=2), partial(Fifo, limit=7)])
def test_a_sweep_takes_a_queue_as_a_run_does(queue: Any) -> None:
    over = {"flows.1.rate": ["1 Mbit/s", "2 Mbit/s"]}
    short: dict[str, Any] = {"seeds": 1, "jobs": 1, **SHORT}
    done = sg.sweep("unresponsive", over=over, queue=queue, sets={"queue.discipline": "red"}, **short)
    other = sg.sweep("unresponsive", over=over | {"queue": [queue]}, **short)
    names = [name for name in done.flows.columns if name not in ("queue.discipline", "seed")]
    assert done.flows.select(names).equals(other.flows.select(names), null_equal=True)
    assert set(done.flows["queue.discipline"]) == set(other.flows["queue.discipline"])
    assert done.columns == ["flows.1.rate_bps"]
    ran = sg.run("unresponsive", queue=queue, sets={"flows.1.rate": "1 Mbit/s"}, **SHORT)
    assert done.flows["throughput_bps"][: ran.flows.height].to_list() == ran.flows["throughput_bps"].to_list()


def test_a_queue_that_a_sweep_cannot_have_is_told() -> None:
    with pytest.raises(sg.ScenarioError, match=r"^queue: is swept"):
        sg.sweep("unresponsive", over={"queue": "red,choke"}, queue="pie")
    with pytest.raises(sg.ScenarioError, match=r'^discipline "chok": .*did you mean "choke"'):
        sg.sweep("unresponsive", over={"flows.1.rate": ["1 Mbit/s"]}, queue="chok")
    with pytest.raises(sg.ScenarioError, match=r"^queue: a run has one discipline, not 2"):
        sg.sweep("unresponsive", over={"flows.1.rate": ["1 Mbit/s"]}, queue="red,choke")


# --- processes ---------------------------------------------------------------------------------

SCRIPT = """
import sluicegate as sg

class Fifo(sg.Aqm):
    def __init__(self):
        self.queue = sg.PacketQueue()
    def enqueue(self, packet, ctx):
        ctx.drop(packet, "tail") if len(self.queue) > 20 else self.queue.append(packet)
    def dequeue(self, ctx):
        return self.queue.pop()

{guard}
    print(sg.{call}, seeds=1, jobs=1, **{short}))
"""
UNGUARDED = [
    'compare("unresponsive", disciplines=Fifo',
    'sweep("unresponsive", over={"queue": [Fifo]}',
]


@pytest.mark.parametrize("call", UNGUARDED)
def test_a_script_that_processes_read_again_is_told_what_to_do(call: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    ran = {}
    for guard in ("if True:", 'if __name__ == "__main__":'):
        script.write_text(SCRIPT.format(guard=guard, call=call, short=SHORT))
        ran[guard] = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
    first, second = ran.values()
    assert (first.returncode, first.stdout) == (1, "")
    *_, last = first.stderr.splitlines()
    assert first.stderr.count("Traceback") == 1, "the first process says it, once"
    assert last.startswith("RuntimeError: a discipline written in Python runs in separate processes")
    assert last.endswith('put the call below `if __name__ == "__main__":`')
    assert (second.returncode, second.stderr) == (0, "")
    assert second.stdout.count("sluicegate.") == 1


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
    with pytest.raises(sg.ScenarioError, match=r"^flows: at least one source is needed, such as sluicegate\.Tcp"):
        sg.simulate(NETWORK, [], **SHORT)


def test_a_text_may_be_a_path(tmp_path: Path) -> None:
    trace = tmp_path / "t.csv"
    trace.write_text("time_s,rate_bps\n0,1000000\n1,2000000\n")
    paths: Any = trace
    texts = [api.scenario(sg.dumbbell(delay="1 ms", trace=each), FLOWS) for each in (paths, str(trace))]
    assert texts[0] == texts[1]
    assert api.override_texts({"network.trace": trace}) == [("network.trace", str(trace))]
    assert sg.run(texts[0], sets={"network.trace": trace}, **SHORT).links["departures_packets"].item() > 0


def test_what_no_scenario_can_hold_is_told_as_it_was_given() -> None:
    rule = ": must be a text, a number, True or False, or a list of texts"
    for wrong in (np.datetime64("2020-01-01"), {"a"}, b"x"):
        for given in (wrong, [wrong]):
            with pytest.raises(TypeError) as caught:
                sg.Udp(rate=given)  # type: ignore[arg-type]
            assert str(caught.value) == f"Udp: rate = {wrong!r}{rule}"


def test_making_an_object_is_fast_and_importing_loads_no_core() -> None:
    begun = time.process_time()
    for _ in range(100):
        sg.Red(max_p=0.1)
    assert time.process_time() - begun < 0.3  # a third of a millisecond each, with room for a slow machine
    code = "import sys, sluicegate._generated; print('sluicegate._core' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


SEEDS: list[tuple[object, type[Exception], str]] = [
    (1.5, TypeError, "seeds = 1.5: must be a whole number, or seeds themselves"),
    ("3", TypeError, "seeds = '3': must be a whole number, or seeds themselves"),
    (True, TypeError, "seeds = True: must be a whole number, or seeds themselves"),
    (None, TypeError, "seeds = None: must be a whole number, or seeds themselves"),
    ({1: 2}, TypeError, "seeds = {1: 2}: must be a whole number, or seeds themselves"),
    ([1, 2.5], TypeError, "seeds = 2.5: must be a whole number"),
    (["1"], TypeError, "seeds = '1': must be a whole number"),
    (0, sg.ScenarioError, "seeds = 0: at least one is needed"),
    (-1, sg.ScenarioError, "seeds = -1: at least one is needed"),
    ([], sg.ScenarioError, "seeds = []: at least one is needed"),
    (10**12, sg.ScenarioError, "seeds = 1000000000000: must be at most 1000000"),
    ([1, -1], sg.ScenarioError, "seeds = -1: must be at least 0 and at most"),
    ([2**63], sg.ScenarioError, "seeds = 9223372036854775808: must be at least 0 and at most"),
    ([0, 1, 0], sg.ScenarioError, "seeds = 0: is there twice"),
]
SEEDED: dict[str, Callable[..., object]] = {
    "compare": lambda **more: sg.compare("unresponsive", disciplines="red", **more),
    "sweep": lambda **more: sg.sweep("unresponsive", over={"queue.limit": [50]}, **more),
    "recommend": lambda **more: sg.recommend("unresponsive", disciplines="red", goals="udp loss below 5 %", **more),
    "evaluate": lambda **more: sg.evaluate("red", **more),
}


@pytest.mark.parametrize("call", SEEDED)
def test_seeds_and_jobs_have_one_rule(call: str) -> None:
    for seeds, error, message in SEEDS:
        if (call, seeds) == ("evaluate", None):  # the suite's own
            continue
        with pytest.raises(error) as caught:
            SEEDED[call](seeds=seeds)
        assert str(caught.value).startswith(message)
    with pytest.raises(TypeError, match=r"^jobs = 1\.5: must be a whole number"):
        SEEDED[call](jobs=1.5)
    with pytest.raises(sg.ScenarioError, match=r"^jobs = 0: must be at least 1"):
        SEEDED[call](jobs=0)


def test_seeds_are_whole_numbers_of_any_kind() -> None:
    forms: list[Any] = [
        2,
        np.int64(2),
        np.array(2),
        [1, 2],
        range(1, 3),
        np.array([1, 2]),
        iter([1, 2]),
        (1, np.int64(2)),
    ]
    assert [engine.seed_numbers(each) for each in forms] == [[1, 2]] * len(forms)


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


@pytest.mark.parametrize("call", CALLS)
def test_overrides_that_are_no_pairs_are_told(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told = 'sets: expected a mapping such as {"queue.limit": 50}, or pairs, not '
    wrong: list[tuple[object, str]] = [
        ("queue.limit=50", '"queue.limit=50"'),
        (["queue.limit=50"], '"queue.limit=50"'),
        (["ab"], '"ab"'),
        ("", '""'),
        (5, "5"),
        ([("queue.limit",)], "('queue.limit',)"),
        ([(5, 50)], "(5, 50)"),
        (sg.Udp, "the class sluicegate.Udp: give an object, sluicegate.Udp(...)"),
    ]
    for sets, shown in wrong:
        monkeypatch.setitem(SHORT, "sets", sets)
        with pytest.raises(TypeError) as caught:
            CALLS[call]("unresponsive")
        assert str(caught.value) == told + shown
    assert api.override_texts(iter([("queue.limit", 50), ["queue.w_q", 0.1]])) == api.override_texts(
        {"queue.limit": 50, "queue.w_q": 0.1}
    )


@pytest.mark.parametrize("call", CALLS)
def test_a_value_of_no_kind_names_its_argument(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SHORT, "duration", timedelta(seconds=3))
    with pytest.raises(TypeError, match=r"^duration = datetime\.timedelta\(seconds=3\): must be a text, a number"):
        CALLS[call]("unresponsive")
    monkeypatch.setitem(SHORT, "duration", sg.Red())
    with pytest.raises(TypeError, match=r"^duration: expected texts and numbers, not sluicegate\.Red\(\.\.\.\)"):
        CALLS[call]("unresponsive")


@pytest.mark.parametrize("empty", ["", " \n"])
def test_an_empty_text_is_no_scenario(empty: str) -> None:
    with pytest.raises(sg.ScenarioError, match=r"^a scenario's name, file or text is expected, not an empty text$"):
        sg.run(empty)


def test_a_mistake_in_a_text_has_its_line() -> None:
    with pytest.raises(sg.ScenarioError, match=r"^\(text\):\d+: queue\.min_th = 70 packets: breaks the rule"):
        sg.run(SMALL.replace("min_th = 10", "min_th = 70"))
