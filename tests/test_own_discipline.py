"""A discipline of one's own, in Python: what it is given, what it gives, and how its mistakes are answered."""

from __future__ import annotations

import gc
import importlib.util
import weakref
from collections import deque
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import sluicegate as sg

DOCS = Path(__file__).parents[1] / "docs"
EXAMPLE = DOCS / "examples" / "choke.py"
NANOS = 10**9


def example() -> Any:
    """The class of the manual's example."""
    spec = importlib.util.spec_from_file_location("choke_example", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Choke


class Fifo(sg.Aqm):
    """Drop Tail."""

    def __init__(self, *, limit: int = 20) -> None:
        self.limit = limit
        self.queue: deque[sg.Packet] = deque()

    def enqueue(self, packet: sg.Packet, ctx: sg.Ctx) -> None:
        if len(self.queue) < self.limit:
            self.queue.append(packet)
        else:
            ctx.drop(packet, "tail")

    def dequeue(self, ctx: sg.Ctx) -> sg.Packet | None:
        return self.queue.popleft() if self.queue else None


def simulate(queue: Any, *, rate: str = "1 Mbit/s", udp: str = "2 Mbit/s", seconds: int = 5, seed: int = 1) -> sg.Run:
    network = sg.dumbbell(rate=rate, delay="1 ms", queue=queue)
    flows = [sg.Tcp(4, "reno", profile="ns2", window=20), sg.Udp(rate=udp, jitter=1.0)]
    return sg.simulate(network, flows, duration=f"{seconds} s", warmup="0 s", seed=seed)


def assert_same_tables(ours: sg.Run, theirs: sg.Run) -> None:
    """Every table to the last bit, but for the discipline's name."""
    assert list(ours.tables) == list(theirs.tables)
    for name in ours.tables:
        drop = ["discipline"] if name == "links" else []
        assert ours.table(name).drop(drop).equals(theirs.table(name).drop(drop), null_equal=True), name
    assert ours.summary["events"] == theirs.summary["events"]


# --- the same results as in Rust ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("rate", "udp", "values"),
    [
        ("1 Mbit/s", "2 Mbit/s", {}),
        ("3 Mbit/s", "30 Mbit/s", {"min_th": 10, "max_th": 100, "w_q": 0.01}),  # victims are most of the slots
        ("7 Mbit/s", "100 kbit/s", {"min_th": 2, "max_th": 9, "max_p": 0.5}),  # the link falls idle again and again
        ("1 Mbit/s", "2 Mbit/s", {"limit": 20, "min_th": 10, "max_th": 40, "max_p": 0.3}),  # the buffer fills
    ],
)
def test_the_manuals_choke_gives_the_results_of_the_rust_version(rate: str, udp: str, values: dict[str, Any]) -> None:
    ours = simulate(partial(example(), **values), rate=rate, udp=udp, seconds=40)
    theirs = simulate(sg.Choke(**values), rate=rate, udp=udp, seconds=40)
    assert_same_tables(ours, theirs)
    assert ours.links["discipline"].to_list() == ["Choke"]
    [link] = ours.links.to_dicts()
    assert link["drops_match"] > 100
    assert link["drops_early"] > 0
    assert (link["drops_tail"] > 0) == ("limit" in values)


PEOPLE = [sg.Http(60, profile="dcn2004", think_time="exponential(mean = 2 s)"), sg.Connections(arrivals=3), sg.Tcp(2)]


def test_it_tells_the_connections_of_a_group_apart_as_the_rust_version_does() -> None:
    """CHOKe compares flows: with all users of a group one flow, it would lose far more of their packets."""

    def run(queue: Any) -> sg.Run:
        return sg.simulate(
            sg.dumbbell(rate="1 Mbit/s", delay="1 ms", queue=queue), PEOPLE, duration="40 s", warmup="0 s"
        )

    seen: dict[int, int] = {}

    class Watched(example()):  # type: ignore[misc]
        def enqueue(self, packet: sg.Packet, ctx: sg.Ctx) -> None:
            seen[packet.flow] = seen.get(packet.flow, 0) + 1
            super().enqueue(packet, ctx)

    ours, theirs = run(Watched), run(sg.Choke(min_th=30, max_th=60, limit=300))
    assert ours.flows["drops_match"].sum() > 50
    assert_same_tables(ours, theirs)
    # One user's packets and those of a flow: numbers of flows are as in results, those of connections lie above.
    opened = int(ours.groups["opened_connections"].sum())
    rows = ours.flows.height
    assert sorted(flow for flow in seen if flow <= rows) == [3, 4], "nobody has the numbers of the groups, 1 and 2"
    assert opened * 0.8 < len(seen) - 2 <= opened
    assert max(seen) <= rows + opened


def test_a_fifo_gives_the_results_of_drop_tail() -> None:
    assert_same_tables(simulate(Fifo), simulate(sg.DropTail(limit=20)))
    assert_same_tables(simulate(partial(Fifo, limit=3), seed=4), simulate(sg.DropTail(limit=3), seed=4))


def test_the_manual_shows_the_example_as_it_is() -> None:
    code = EXAMPLE.read_text("utf-8")
    assert f"```python\n{code}```" in DOCS.joinpath("own-discipline.md").read_text("utf-8")
    lines = code[code.index("class Choke") :].splitlines()
    assert len([line for line in lines if line.strip()]) < 40, "read at a glance"


def test_it_needs_no_base_class() -> None:
    class Bare:
        def __init__(self) -> None:
            self.queue: list[sg.Packet] = []

        def enqueue(self, packet: sg.Packet, ctx: sg.Ctx) -> None:
            self.queue.append(packet) if len(self.queue) < 20 else ctx.drop(packet, "tail")

        def dequeue(self, ctx: sg.Ctx) -> sg.Packet | None:
            return self.queue.pop(0) if self.queue else None

    assert_same_tables(simulate(Bare), simulate(sg.DropTail(limit=20)))


# --- what it is given --------------------------------------------------------------------------


def test_every_run_and_every_link_has_its_own() -> None:
    made: list[weakref.ref[Fifo]] = []

    class Counted(Fifo):
        def __init__(self, *, rate_bps: int) -> None:
            super().__init__()
            rates.append(rate_bps)
            made.append(weakref.ref(self))

    rates: list[int] = []
    links = [
        sg.Link(name="first", from_="a", to="b", rate="2 Mbit/s"),
        sg.Link(name="plain", from_="b", to="c", rate="2 Mbit/s", managed=False),
        sg.Link(name="second", from_="c", to="d", rate="1 Mbit/s"),
    ]
    net = sg.topology(*links, queue=Counted)
    for seed in (1, 2):
        run = sg.simulate(net, sg.Udp(rate="3 Mbit/s", path=["first", "plain", "second"]), duration="2 s", seed=seed)
    assert rates == [2_000_000, 1_000_000] * 2
    assert run.links["discipline"].to_list() == ["Counted"] * 2
    assert run.links["drops_tail"].min() > 0  # type: ignore[operator]
    gc.collect()
    assert [ref() for ref in made] == [None] * 4


def test_ctx_and_packets_tell_what_they_say() -> None:
    seen: list[tuple[int, int, int, int, int]] = []

    class Watcher(Fifo):
        def enqueue(self, packet: sg.Packet, ctx: sg.Ctx) -> None:
            assert ctx.packets == len(self.queue)
            assert ctx.bytes == sum(queued.bytes for queued in self.queue)
            assert packet.arrival_ns == ctx.now_ns
            seen.append((packet.number, packet.flow, packet.bytes, packet.ecn, ctx.now_ns))
            assert repr(packet) == f"<packet {packet.number} of flow {packet.flow}, {packet.bytes} bytes>"
            super().enqueue(packet, ctx)
            assert ctx.packets == len(self.queue) - (1 if packet in self.queue else 0)

    run = simulate(Watcher)
    numbers, flows, sizes, ecns, times = zip(*seen, strict=True)
    assert list(numbers) == list(range(1, len(seen) + 1))
    arrivals = dict(run.flows.select("flow", "arrivals_packets").iter_rows())
    assert {flow: flows.count(flow) for flow in arrivals} == arrivals
    assert set(sizes) == {40, 1000}, "what opens a connection, and data"
    assert set(ecns) == {0}
    assert list(times) == sorted(times)
    assert 4 * NANOS < times[-1] <= 5 * NANOS


def test_it_is_told_the_rate_and_each_change_of_it() -> None:
    told: list[tuple[bool, int]] = []

    class Told(Fifo):
        def dequeue(self, ctx: sg.Ctx) -> sg.Packet | None:
            told.append((ctx.now_ns > NANOS, ctx.rate_bps))
            return super().dequeue(ctx)

    change = {"time": "1 s", "key": "network.rate", "value": "0.5 Mbit/s"}
    network = sg.dumbbell(rate="1 Mbit/s", delay="1 ms", queue=Told)
    sg.Simulation(network, sg.Udp(rate="2 Mbit/s"), duration="2 s", warmup="0 s", changes=[change]).finish()
    assert set(told) == {(False, 1_000_000), (True, 500_000)}


@pytest.mark.parametrize(("limit", "packets"), [("24 kB", 24), ("10 B", 1), ("80 ms", 10), (7, 7)])
def test_a_limit_comes_in_packets(limit: str | int, packets: int) -> None:
    made: list[int] = []

    class Limited(Fifo):
        def __init__(self, *, limit: int = 20) -> None:
            made.append(limit)
            super().__init__(limit=limit)

    sg.simulate(
        sg.dumbbell(rate="1 Mbit/s", queue=Limited), sg.Udp(rate="2 Mbit/s"), duration="100 ms",
        sets={"queue.limit": limit},
    )  # fmt: skip
    assert set(made) == {packets}


def test_acknowledgements_are_another_flow() -> None:
    flows = set()

    class Watcher(Fifo):
        def enqueue(self, packet: sg.Packet, ctx: sg.Ctx) -> None:
            flows.add((packet.flow, packet.bytes))
            super().enqueue(packet, ctx)

    links = [
        sg.Link(name="there", from_="a", to="b", rate="1 Mbit/s"),
        sg.Link(name="back", from_="b", to="a", rate="1 Mbit/s"),
    ]
    tcp = sg.Tcp(2, profile="ns2", path=["there"], return_path=["back"])
    sg.simulate(sg.topology(*links, queue=Watcher), tcp, duration="3 s")
    assert flows == {(1, 40), (2, 40), (1, 1000), (2, 1000), (-1, 40), (-2, 40)}


def test_random_numbers_are_the_streams() -> None:
    drawn: list[list[float]] = []

    class Drawer(Fifo):
        def enqueue(self, packet: sg.Packet, ctx: sg.Ctx) -> None:
            drawn[-1] += [ctx.random(), ctx.below(7)]
            super().enqueue(packet, ctx)

    for seed in (1, 1, 2):
        drawn.append([])
        simulate(Drawer, seed=seed)
    assert drawn[0] == drawn[1] != drawn[2]
    uniform, below = drawn[0][::2], drawn[0][1::2]
    assert all(0 <= number < 1 for number in uniform)
    assert sum(uniform) / len(uniform) == pytest.approx(0.5, abs=4 / (12 * len(uniform)) ** 0.5)
    assert set(below) == set(range(7))


def test_pow_is_a_power() -> None:
    class Power(Fifo):
        def enqueue(self, packet: sg.Packet, ctx: sg.Ctx) -> None:
            super().enqueue(packet, ctx)
            powers.append((ctx.pow(2.0, 10), ctx.pow(0.998, 2.5), ctx.pow(2, -1)))

    powers: list[tuple[float, ...]] = []
    simulate(Power)
    assert powers[0] == (1024.0, pytest.approx(0.998**2.5, rel=1e-15), 0.5)


def test_a_packet_that_is_not_capable_takes_no_mark() -> None:
    class Marker(Fifo):
        def dequeue(self, ctx: sg.Ctx) -> sg.Packet | None:
            packet = super().dequeue(ctx)
            if packet is not None:
                answers.add((packet.mark(), packet.ecn))
            return packet

    answers: set[tuple[bool, int]] = set()
    simulate(Marker)
    assert answers == {(False, 0)}


def test_it_is_woken_when_it_asks_and_not_when_it_has_put_it_off() -> None:
    class Sleeper(Fifo):
        """Asks for 1 s; at its first packet it puts that off to 2 s, then asks every 0.25 s until 3 s."""

        def __init__(self) -> None:
            super().__init__()
            self.at: int | None = NANOS

        def enqueue(self, packet: sg.Packet, ctx: sg.Ctx) -> None:
            if packet.number == 1:
                self.at = 2 * NANOS
            super().enqueue(packet, ctx)

        def next_wakeup(self) -> int | None:
            return self.at

        def wake(self, ctx: sg.Ctx) -> None:
            woken.append(ctx.now_ns)
            assert ctx.packets == len(self.queue)
            while self.queue:
                ctx.drop(self.queue.pop(), "early")
            self.at = ctx.now_ns + NANOS // 4 if ctx.now_ns < 3 * NANOS else None

    woken: list[int] = []
    run = simulate(Sleeper)
    assert woken == [2 * NANOS + k * NANOS // 4 for k in range(5)]
    assert 0 < run.links["drops_early"][0] <= 5 * 20


def test_point_7_it_is_woken_before_the_first_packet() -> None:
    class Early(Fifo):
        def next_wakeup(self) -> int | None:
            return None if woken else NANOS // 2

        def wake(self, ctx: sg.Ctx) -> None:
            woken.append(ctx.now_ns)

    woken: list[int] = []
    net = sg.dumbbell(rate="1 Mbit/s", queue=Early)
    sg.simulate(net, sg.Udp(rate="100 kbit/s", start="1 s"), duration="2 s", warmup="0 s")
    assert woken == [NANOS // 2]


def test_point_7_what_asks_for_the_present_ends_the_run() -> None:
    class Hasty(Fifo):
        def __init__(self) -> None:
            super().__init__()
            self.at: int | None = None

        def enqueue(self, packet: sg.Packet, ctx: sg.Ctx) -> None:
            self.at = ctx.now_ns
            super().enqueue(packet, ctx)

        def next_wakeup(self) -> int | None:
            return self.at

    with pytest.raises(ValueError, match=r"Hasty\.next_wakeup returned (\d+) at \1 ns: it must return a later time"):
        simulate(Hasty)


def test_a_mark_reaches_the_sender() -> None:
    class Marker(Fifo):
        def enqueue(self, packet: sg.Packet, ctx: sg.Ctx) -> None:
            if packet.flow == 1 and packet.number % 50 == 0:
                assert packet.ecn in (1, 2)
                assert packet.mark()
                assert packet.ecn == 3
                marked.append(packet.number)
            super().enqueue(packet, ctx)

    marked: list[int] = []
    net = sg.dumbbell(rate="1 Mbit/s", queue=partial(Marker, limit=1000))
    run = sg.simulate(net, sg.Tcp(1, profile="ns2", window=100, ecn=True), duration="30 s", warmup="0 s")
    assert len(marked) > 20
    assert 0 <= len(marked) - run.flows["marked_packets"][0] <= 1, "all but one that may still be queued"
    assert run.flows["drops_packets"][0] == 0
    # Without marks the window would stand at 100 packets; each mark halves it.
    assert run.flow_series.filter(run.flow_series["time_s"] > 5)["cwnd_segments"].max() < 60  # type: ignore[operator]


def test_its_average_is_in_the_tables() -> None:
    class Averager(Fifo):
        def average(self) -> float | None:
            return len(self.queue) / 2

    run = simulate(Averager)
    assert run.queue["average_packets"].to_list() == [packets / 2 for packets in run.queue["queue_packets"].to_list()]
    assert simulate(Fifo).links["average_packets_mean"].to_list() == [None]


# --- the API -----------------------------------------------------------------------------------


def with_method(name: str, method: Callable[..., None]) -> type[sg.Aqm]:
    """A discipline that has this method in place of its own."""
    return type("Other", (Fifo,), {name: method})


@pytest.mark.parametrize(
    ("queue", "error", "message"),
    [
        (Fifo(), TypeError, "^queue: expected the class Fifo, not one of its objects"),
        (sg.Choke, TypeError, "^queue: "),
        (lambda: sg.Choke(), sg.ScenarioError, "no method enqueue"),
        (partial(Fifo, limt=3), sg.ScenarioError, "unexpected keyword argument 'limt'; did you mean \"limit\"?"),
        (lambda: Fifo(limit=int("x")), sg.ScenarioError, "invalid literal for int"),
        (type("Half", (), {"enqueu": 1, "dequeue": len}), sg.ScenarioError, 'no method enqueue .it has "enqueu"'),
        (type("Half", (sg.Aqm,), {"enqueue": 1}), sg.ScenarioError, "Half: no method dequeue$"),
        (type("Half", (sg.Aqm,), {"enqueu": 1}), sg.ScenarioError, 'Half: no method enqueue .it has "enqueu"'),
        (
            with_method("enqueue", lambda self, packet: None),
            sg.ScenarioError,
            r"Other\.enqueue\(packet\): must take \(packet, ctx\)",
        ),
        (with_method("enqueue", lambda self, packet, ctx, more: None), sg.ScenarioError, r"must take \(packet, ctx\)"),
        (with_method("dequeue", lambda self: None), sg.ScenarioError, r"Other\.dequeue\(\): must take \(ctx\)"),
        (with_method("wake", lambda self, ctx, *, key: None), sg.ScenarioError, r"must take \(ctx\)"),
        (with_method("average", lambda self, ctx: None), sg.ScenarioError, r"Other\.average\(ctx\): must take \(\)"),
    ],
)
def test_what_is_no_discipline_is_refused(queue: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        simulate(queue)


def test_the_summary_says_what_was_run() -> None:
    run = simulate(partial(Fifo, limit=7))
    assert run.summary["scenario"]["queue"]["discipline"] == f"{__name__}:Fifo"
    assert run.summary["own_discipline"] == {
        "class": f"{__name__}:Fifo",
        "arguments": {"limit": 7},
        "sha256": sha256(Path(__file__).read_bytes()).hexdigest(),
    }
    assert "own_discipline" not in simulate(sg.DropTail()).summary


class Shaper(sg.Aqm):
    """Lets a packet go every 50 ms, however fast the link is."""

    def __init__(self) -> None:
        self.queue, self.next_ns, self.held_ns = sg.PacketQueue(), 0, None

    def enqueue(self, packet: sg.Packet, ctx: sg.Ctx) -> None:
        if ctx.packets >= 20:
            ctx.drop(packet, "tail")
        else:
            self.queue.append(packet)

    def dequeue(self, ctx: sg.Ctx) -> sg.Packet | None:
        self.held_ns = self.next_ns if ctx.packets and ctx.now_ns < self.next_ns else None
        if self.held_ns is not None:
            return None
        packet = self.queue.pop()
        if packet is not None:
            self.next_ns = ctx.now_ns + 50_000_000
        return packet

    def next_wakeup(self) -> int | None:
        return self.held_ns

    def wake(self, ctx: sg.Ctx) -> None:
        self.held_ns = None


def test_a_shaper_holds_packets_back() -> None:
    """1000-byte packets of a source of 1 Mbit/s at a link of 10 Mbit/s leave 20 times a second: 160 kbit/s."""
    net = sg.dumbbell(rate="10 Mbit/s", queue=Shaper)
    run = sg.simulate(net, [sg.Udp(rate="1 Mbit/s")], duration="20 s", warmup="5 s")
    assert run.flows["throughput_bps"].item() == pytest.approx(160_000, abs=8000 / 15)
