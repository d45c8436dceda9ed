"""A run that Python drives: where it stops changes nothing, and what is changed in it can be repeated."""

from __future__ import annotations

import _thread
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from steps import blocks

import sluicegate as sg

FLOWS = [sg.Tcp(3, "reno", profile="ns2", window=20), sg.Udp(rate="2 Mbit/s"), sg.OnOff(rate="300 kbit/s")]
SETTINGS: dict[str, Any] = {"duration": "8 s", "warmup": "2 s", "seed": 5}


def network(queue: Any = None) -> sg.Dumbbell:
    return sg.dumbbell(rate="1 Mbit/s", delay="1 ms", queue=queue or sg.Choke(min_th=10, max_th=30, limit=100))


def begun(queue: Any = None, **more: Any) -> sg.Simulation:
    return sg.Simulation(network(queue), FLOWS, **SETTINGS | more)


def same(one: sg.Run, other: sg.Run) -> bool:
    tables = one.tables == other.tables
    equal = (one.table(name).equals(other.table(name), null_equal=True) for name in one.tables)
    return tables and one.summary == other.summary and all(equal)


class Fifo(sg.Aqm):
    """A queue of `room` packets."""

    def __init__(
        self, room: int = 20, fails_at: float = float("inf"), call: Callable[[], object] | None = None
    ) -> None:
        self.queue, self.room, self.fails_at, self.call = sg.PacketQueue(), room, fails_at, call

    def enqueue(self, packet: sg.Packet, ctx: sg.Ctx) -> None:
        if ctx.now_ns > self.fails_at * 1e9:
            raise LookupError("as told")
        if self.call is not None:
            self.call()
        if len(self.queue) < self.room:
            self.queue.append(packet)
        else:
            ctx.drop(packet, "tail")

    def dequeue(self, ctx: sg.Ctx) -> sg.Packet | None:
        return self.queue.pop()


# --- time ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("queue", [sg.Choke(min_th=10, max_th=30), Fifo, sg.FqCodel()])
def test_a_run_in_steps_is_the_run_in_one_go(queue: Any) -> None:
    whole = sg.simulate(network(queue), FLOWS, **SETTINGS)
    with begun(queue) as sim:
        assert (sim.now, sim.duration, sim.done) == (0.0, 8.0, False)
        for step in ("1 ms", 0.5, 0, np.float64(0.25), "1500 ms", 3):
            assert sim.advance(by=step) is sim
            sim.results()
        assert sim.now == 5.251
        assert sim.advance(to=3.0).now == 5.251
        assert sim.advance(to="1 h").done
        assert same(sim.finish(), whole)
        assert sim.finish() is sim.results()
        assert sim.advance(by=1).now == 8.0


def test_a_file_and_a_resolved_scenario_are_driven_too(small: Path) -> None:
    whole = sg.run(small, sets={"queue.choke.candidates": 2}, seed=3)
    sim = sg.Simulation(small, sets={"queue.choke.candidates": 2}, seed=3)
    assert same(sim.advance(to=1).finish(), whole)
    again = sg.Simulation(whole.summary["scenario"]).finish()
    assert again.flows.equals(whole.flows, null_equal=True)
    assert sg.Simulation("unresponsive").duration == 100


def test_a_look_is_what_a_shorter_run_leaves() -> None:
    sim = begun(sample="100 ms")
    for until, warmup in ((1.0, "0 s"), (5.5, "2 s")):
        so_far = sim.advance(to=until).results()
        shorter = {"duration": f"{until} s", "sample": "100 ms", "warmup": warmup}
        short = sg.simulate(network(), FLOWS, **SETTINGS | shorter)
        for name in short.tables:
            assert so_far.table(name).equals(short.table(name), null_equal=True), name
    assert begun().results().flows["throughput_bps"].null_count() == 5, "no time has passed"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda sim: sim.advance(), TypeError, "either"),
        (lambda sim: sim.advance(1, by=1), TypeError, "either"),
        (lambda sim: sim.advance(-1), sg.ScenarioError, "^to = -1: must be at least 0"),
        (lambda sim: sim.advance(float("nan")), sg.ScenarioError, "^to = nan: "),
        (lambda sim: sim.advance(by="1 parsec"), sg.ScenarioError, '^by = "1 parsec": "parsec" is not a unit'),
        (lambda sim: sim.advance(True), sg.ScenarioError, "^to = true: must be a time"),
        (lambda sim: sg.Simulation(network()), TypeError, "^flows: a network needs"),
        (lambda sim: sg.Simulation("unresponsive", FLOWS), TypeError, "^flows: a scenario brings its own"),
        (
            lambda sim: sg.Simulation("unresponsive", warmup="500 s"),
            sg.ScenarioError,
            "^warmup = 500 s: breaks the rule",
        ),
        (lambda sim: sg.Simulation(sg.Choke()), TypeError, "^network: expected sluicegate.dumbbell"),
        (lambda sim: sg.Simulation("unresponsiv"), FileNotFoundError, 'did you mean "unresponsive"'),
        (lambda sim: begun(duration="1 s"), sg.ScenarioError, "^warmup = "),
    ],
)
def test_what_cannot_be_is_refused(
    call: Callable[[sg.Simulation], object], error: type[Exception], message: str
) -> None:
    sim = begun()
    with pytest.raises(error, match=message):
        call(sim)
    assert sim.now == 0


def test_what_is_closed_says_so() -> None:
    with begun() as sim:
        sim.advance(1)
    for call in (lambda: sim.advance(2), lambda: sim.now, sim.results, sim.finish, lambda: sim.set("queue.limit", 9)):
        with pytest.raises(RuntimeError, match="has ended"):
            call()
    assert "has ended" in repr(sim)


# --- Python in between -------------------------------------------------------------------------


def test_ctrl_c_is_heard_and_the_run_goes_on() -> None:
    long = {"duration": "1000000 s", "warmup": "999000 s", "series": False}
    sim = begun(**long)
    with pytest.raises(KeyboardInterrupt):
        sim.finish(progress=lambda *_: _thread.interrupt_main())
    assert 0 < sim.now < 1_000_000
    sim.set("queue.choke.candidates", 3)
    assert same(sim.advance(by=60).results(), begun(**long, changes=sim.changes).advance(to=sim.now).results())


def test_progress_may_end_it() -> None:
    def enough(now: float, end: float, events: int) -> None:
        if now > 1:
            raise StopIteration

    sim = begun(duration="4000 s")
    with pytest.raises(StopIteration):
        sim.advance(4000, progress=enough)
    assert 1 < sim.now < 4000
    sim.advance(by=1)


def test_an_error_of_a_discipline_is_raised_and_ends_the_run() -> None:
    sim = begun(functools.partial(Fifo, fails_at=1.5))
    sim.advance(1)
    with pytest.raises(LookupError, match="as told") as raised:
        sim.advance(3)
    assert "Fifo.enqueue" in raised.value.__notes__[0]
    with pytest.raises(RuntimeError, match="has ended with an error"):
        sim.advance(4)
    sim = begun()
    sim.advance(4)
    with pytest.raises(LookupError):
        sim.set("queue.discipline", functools.partial(Fifo, fails_at=1.5))  # as it is offered what is queued
    with pytest.raises(RuntimeError, match="has ended with an error"):
        sim.results()


def test_a_discipline_does_not_drive_its_own_run() -> None:
    def call() -> object:
        return sim.now

    sim = begun(functools.partial(Fifo, call=call))
    with pytest.raises(RuntimeError, match="at work"):
        sim.advance(1)


# --- changes -----------------------------------------------------------------------------------


def test_a_parameter_of_the_discipline_changes() -> None:
    sim = begun(warmup="0 s")
    matches = []
    for candidates in (1, 8):
        before = sim.results().links["drops_match"].item()
        sim.set("queue.choke.candidates", np.int64(candidates))
        matches.append(sim.advance(by=4).results().links["drops_match"].item() - before)
    assert matches[1] > 1.1 * matches[0]
    assert not begun().changes


def test_a_rate_of_a_source_changes() -> None:
    sim = begun(sg.DropTail(), warmup="0 s")
    before = sim.advance(4).results().flows.filter(kind="udp")["sent_packets"].item()
    sim.set("flows.1.rate", "500 kbit/s")
    after = sim.finish().flows.filter(kind="udp")["sent_packets"].item()
    assert after - before == 4 * 500e3 / 8000
    assert sim.changes == [{"time": "4 s", "key": "flows.1.rate", "value": "500 kbit/s"}]


def test_another_discipline_takes_what_is_queued() -> None:
    sim = begun(sg.DropTail(limit=50), warmup="0 s")
    sim.advance(4).set("queue.discipline", functools.partial(Fifo, room=30))
    links = sim.results().links
    assert (links["discipline"].item(), links["drops_reconfigured"].item()) == ("Fifo", 50 - 30)
    sim.set("queue", sg.DropTail(limit=5))
    links = sim.results().links
    assert (links["discipline"].item(), links["drops_reconfigured"].item()) == ("drop_tail", 20 + 25)
    sim.set("queue.discipline", "codel")
    run = sim.finish()
    conserved = run.links["arrivals_packets"] - run.links["departures_packets"] - run.links["drops_packets"]
    assert 0 <= conserved.item() <= 1001  # what CoDel may hold, and one in transmission
    assert run.links["drops_reconfigured"].item() == 45


def test_what_was_changed_repeats_the_run() -> None:
    sim = begun()
    for until, key, value in [
        (1, "queue.choke.candidates", 4),
        (2.5, "queue.discipline", Fifo),
        (3, "queue.discipline", functools.partial(Fifo, room=5)),
        ("3100 ms", "queue.discipline", "codel"),
        (4, "queue.discipline", sg.Red(max_p=0.3)),
        (4, "queue.red.max_p", 0.5),
        (5, "flows.2.on_mean", "40 ms"),
        (6, "queue.discipline", sg.Drr(classes=[sg.Red(), sg.Codel()])),
        (7, "queue.drr.classes.0.red.max_p", 0.25),
    ]:
        sim.advance(until).set(key, value)
    run = sim.finish()
    assert [change["value"] for change in sim.changes][1] is Fifo
    assert run.summary["own_discipline"]["arguments"] == {"room": 5}
    assert same(begun(changes=sim.changes).finish(), run)
    assert len(run.summary["scenario"]["changes"]) == 9


def test_results_say_how_they_came_about_and_repeat_it(tmp_path: Path) -> None:
    import tomli_w

    sim = begun()
    sim.advance(4).set("queue.discipline", "pie")
    sim.advance(6).set("queue.target", "5 ms")
    run = sim.finish()
    resolved = run.summary["scenario"]
    assert [change["key"] for change in resolved["changes"]] == ["queue", "queue.target"]
    assert same(sg.Simulation(resolved).finish(), run)
    file = tmp_path / "again.toml"
    file.write_text(tomli_w.dumps(resolved), "utf-8")
    assert sg.run(file).flows.equals(run.flows, null_equal=True)
    assert sg.check(file) == resolved


def test_changes_may_be_written_down() -> None:
    changes = [
        {"time": 2, "key": "queue.discipline", "value": Fifo},
        {"time": "3 s", "key": "flows.1.rate", "value": "1 Mbit/s"},
    ]
    sim = begun(changes=changes)
    assert [change["time"] for change in sim.changes] == ["2 s", "3 s"]
    assert sim.advance(2.5).results().links["discipline"].item() == "Fifo"
    with pytest.raises(sg.ScenarioError, match=r"flows.1.rat: no such key.*rate"):
        begun(changes=[changes[1] | {"key": "flows.1.rat"}])
    with pytest.raises(sg.ScenarioError, match=r"changes.0.time: must be given"):
        begun(changes=[{"key": "queue.limit", "value": 9}])


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("queue.choke.candidate", 4, '^queue.choke.candidate: no such key; did you mean "candidates"?'),
        ("queue.choke.candidates", 99, "^queue.choke.candidates = 99: must be at least 1 and at most 64"),
        ("queue.discipline", "chok", "^queue.discipline: no such discipline: .*choke"),
        ("queue.red.max_p", 0.1, "while the discipline is choke"),
        ("flows.1.count", 2, "^flows.1.count: must be at most 1: a run has the flows that it began with"),
        ("flows.0.window", 2, "^flows.0.window: cannot change"),
        ("run.seed", 2, "^run.seed: cannot change"),
        ("queue.discipline", "nowhere.py:Mine", "nowhere.py: No such file"),
        ("queue.discipline", functools.partial(Fifo, rom=5), "Fifo: .*rom.*room"),
    ],
)
def test_a_wrong_change_changes_nothing(key: str, value: object, message: str) -> None:
    sim = begun()
    sim.advance(3)
    with pytest.raises(sg.ScenarioError, match=message):
        sim.set(key, value)
    assert sim.changes == []
    assert same(sim.finish(), sg.simulate(network(), FLOWS, **SETTINGS))


def test_what_is_no_discipline_is_a_type_error() -> None:
    sim = begun()
    with pytest.raises(TypeError, match=r"^queue: expected .*sluicegate.Red\(\.\.\.\)"):
        sim.set("queue.discipline", sg.Red)
    with pytest.raises(TypeError, match=r"^queue: expected the class Fifo"):
        sim.set("queue.discipline", Fifo())
    sim.finish()
    with pytest.raises(RuntimeError, match="has ended"):
        sim.set("queue.discipline", "red")


# --- the manual --------------------------------------------------------------------------------


def test_the_environment_of_the_manual_passes_gymnasiums_checks() -> None:
    from gymnasium.utils.env_checker import check_env

    page = Path(__file__).parents[1].joinpath("docs/driving.md").read_text("utf-8")
    [code] = [block.text for block in blocks(page) if "class RedEnv" in block.text]
    names: dict[str, Any] = {}
    exec(code, names)
    environment = names["RedEnv"]()
    check_env(environment, skip_render_check=True)
    # The queue grows with a small max_p, and equal seeds and actions give equal steps.
    queues = []
    for action in (0.1, 0.1, 0.9):
        environment.reset(seed=3)
        queues.append([environment.step(np.array([action]))[0][0] for _ in range(50)])
    assert queues[0] == queues[1]
    assert np.mean(queues[0][20:]) > np.mean(queues[2][20:])
