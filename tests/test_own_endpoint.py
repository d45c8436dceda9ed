"""Ends of one's own, in Python: what they are given, what they give, and how their mistakes are answered."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

import sluicegate as sg

MS = 10**6


class Ticker(sg.Endpoint):
    """Sends `count` datagrams, one every `gap_ms`, with its number; notes all that it hears."""

    def __init__(self, count: int, gap_ms: int, payload: bytes = b"", ecn: int = 2) -> None:
        self.left, self.gap_ns, self.payload, self.ecn = count, gap_ms * MS, payload, ecn
        self.due = False
        self.next_ns: int | None = None
        self.heard: list[tuple[int, sg.Datagram]] = []

    def receive(self, datagram: sg.Datagram, now_ns: int) -> None:
        self.heard.append((now_ns, datagram))

    def poll_transmit(self, now_ns: int) -> sg.Datagram | None:
        due, self.due = self.due, False
        return sg.Datagram(self.payload + self.left.to_bytes(2), bytes=1000, ecn=self.ecn) if due else None

    def deadline(self) -> int | None:
        return self.next_ns if self.left else None

    def wake(self, now_ns: int) -> None:
        if self.left:
            self.left -= 1
            self.due, self.next_ns = True, now_ns + self.gap_ns


class Echo(sg.Endpoint):
    """Sends back what it gets, in as many bytes as that takes."""

    def __init__(self) -> None:
        self.back: list[bytes] = []

    def receive(self, datagram: sg.Datagram, now_ns: int) -> None:
        self.back.append(datagram.payload)

    def poll_transmit(self, now_ns: int) -> sg.Datagram | None:
        return sg.Datagram(self.back.pop(0)) if self.back else None

    def deadline(self) -> None:
        return None

    def wake(self, now_ns: int) -> None:
        return None


MADE: list[tuple[Ticker, Echo, int, int]] = []


def pair(*, count: int = 50, gap_ms: int = 10, seed: int = 0, flow: int = 0) -> tuple[Ticker, Echo]:
    MADE.append((Ticker(count, gap_ms), Echo(), seed, flow))
    return MADE[-1][0], MADE[-1][1]


def simulate(ends: Any, *more: sg.Tcp, queue: Any = None, **run: Any) -> sg.Run:
    net = sg.dumbbell(rate="8 Mbit/s", delay="5 ms", access_rate="8 Gbit/s", queue=queue)
    flows = [sg.Endpoints(ends=ends, spread="0 s"), *more]
    return sg.simulate(net, flows, **{"duration": "2 s"} | run)


def test_datagrams_cross_and_are_counted() -> None:
    MADE.clear()
    run = simulate(pair)
    [(ticker, _, seed, flow)] = MADE
    assert [int.from_bytes(datagram.payload) for _, datagram in ticker.heard] == list(range(49, -1, -1))
    assert {(datagram.bytes, datagram.ecn) for _, datagram in ticker.heard} == {(30, 0)}
    # 1000 bytes take 1 ms there and 1 µs on each access link; 30 bytes take 30 µs back, and 30 ns there; 5 ms each way.
    assert ticker.heard[0][0] == 11 * MS + 2 * 1000 + 30_000 + 2 * 30
    [row] = run.flows.iter_rows(named=True)
    assert (row["kind"], row["sent_packets"], row["delivered_packets"]) == ("endpoints", 50, 50)
    assert row["delay_mean_ns"] == 6 * MS + 2000
    assert flow == 1
    assert seed != 0
    assert run.summary["own_ends"]["test_own_endpoint:pair"]["arguments"]["seed"] == seed


def test_the_same_seed_gives_the_same_run_and_the_flow_its_own_seed() -> None:
    def one(seed: int) -> tuple[sg.Run, list[int]]:
        MADE.clear()
        run = simulate(partial(pair, gap_ms=1, count=900), sg.Tcp(2), queue=sg.Red(), seed=seed)
        return run, [made[2] for made in MADE]

    first, again, other = one(1), one(1), one(2)
    for name, table in first[0].tables.items():
        assert table.equals(again[0].tables[name]), name
    assert first[1] == again[1] != other[1]
    row = first[0].flows.row(0, named=True)
    assert row["drops_packets"] > 0
    assert row["arrivals_packets"] == 900


@pytest.mark.parametrize("payload", [b"", b"x" * 900])
def test_payload_changes_nothing(payload: bytes) -> None:
    run = simulate(lambda: (Ticker(400, 1, payload), Echo() if payload else Silent()), sg.Tcp(2))
    plain = simulate(lambda: (Ticker(400, 1), Silent()), sg.Tcp(2))
    assert run.flows.row(0)[:8] == plain.flows.row(0)[:8]


class Silent(Echo):
    """Hears, and says nothing."""

    def poll_transmit(self, now_ns: int) -> None:
        return None


def test_a_file_is_named_and_its_values_reach_it(tmp_path: Path) -> None:
    here = Path(__file__)
    scenario = tmp_path / "own.toml"
    tmp_path.joinpath("ends.py").write_text(here.read_text("utf-8"), "utf-8")
    flow = '[[flows]]\nkind = "endpoints"\nends = "ends.py:pair"\npython = { count = 7, gap_ms = 3 }\n'
    scenario.write_text(f'network.rate = "8 Mbit/s"\n{flow}[run]\nduration = "1 s"\n', "utf-8")
    run = sg.simulate(scenario)
    assert run.flows["sent_packets"].to_list() == [7]
    assert run.summary["scenario"]["flows"][0]["python"] == {"count": 7, "gap_ms": 3}
    assert run.summary["own_ends"]["ends.py:pair"]["arguments"]["gap_ms"] == 3
    with pytest.raises(sg.ScenarioError, match=r"own.toml:4: flows.0.ends.*unexpected keyword argument 'cuont'"):
        sg.simulate(scenario, sets={"flows.0.python.cuont": 3})
    again = sg.compare(scenario, disciplines="drop_tail,red", seeds=2)
    assert again.runs.height > 0


def wrong(method: str, gives: object) -> Any:
    """What makes ends of which the sender's method gives this."""
    kind = type("Wrong", (Ticker,), {method: lambda *_: gives})
    return lambda: (kind(5, 1), Echo())


@pytest.mark.parametrize(
    ("ends", "error", "message"),
    [
        (wrong("poll_transmit", b"x"), TypeError, "Wrong.poll_transmit returned b'x': it must return a sluicegate"),
        (wrong("wake", 3), TypeError, "Wrong.wake returned 3: it must return None"),
        (wrong("deadline", 1.5), TypeError, "Wrong.deadline returned 1.5: it must return None or a time in whole"),
        (wrong("deadline", 5), ValueError, "Wrong.deadline returned 5 at .* after 1000 wake-ups"),
        (lambda: (Ticker(5, 1), object()), sg.ScenarioError, "object: no method receive"),
        (
            lambda: (Ticker(5, 1), type("Short", (Echo,), {"receive": lambda self, datagram: None})()),
            sg.ScenarioError,
            r"Short\.receive\(datagram\): must take \(datagram, now_ns\)",
        ),
        (lambda: Ticker(5, 1), sg.ScenarioError, "it must return two ends, the sender and the receiver"),
        ("ends", sg.ScenarioError, "ends must name|must name a file and a function in it"),
        ("nothing.here:pair", sg.ScenarioError, "no such function here; put it into a module"),
        ("nothing.py:pair", sg.ScenarioError, "cannot read nothing.py"),
    ],
)  # fmt: skip
def test_mistakes_are_told(ends: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        simulate(ends)


def test_an_exception_has_its_place_and_ends_the_run() -> None:
    class Broken(Echo):
        def receive(self, datagram: sg.Datagram, now_ns: int) -> None:
            raise KeyError("mine")

    with pytest.raises(KeyError) as raised:
        simulate(lambda: (Ticker(5, 1), Broken()))
    assert "in Broken.receive, the receiver of flow 1, simulated time 0.006002000 s" in raised.value.__notes__[0]


def test_a_datagram_checks_its_values() -> None:
    assert (sg.Datagram(b"abc").bytes, sg.Datagram(bytes=5).payload) == (31, b"")
    for values in ({"bytes": 0}, {"bytes": 65536}, {"ecn": 4}, {"payload": b"abc", "bytes": 2}):
        with pytest.raises(ValueError, match=r"Datagram: (bytes|ecn) = "):
            sg.Datagram(**values)  # type: ignore[arg-type]


def test_a_run_in_steps_is_the_same_and_its_ends_cannot_be_changed() -> None:
    net, flows = sg.dumbbell(rate="8 Mbit/s"), [sg.Endpoints(2, ends=pair), sg.Tcp()]
    whole = sg.simulate(net, flows, duration="2 s")
    with sg.Simulation(net, flows, duration="2 s") as simulation:
        for time in (0.3, 0.7):
            simulation.advance(to=time)
        with pytest.raises(sg.ScenarioError, match="its ends say when they send"):
            simulation.set("flows.0.count", 1)
        with pytest.raises(sg.ScenarioError, match="cannot change"):
            simulation.set("flows.0.ends", "other.py:pair")
        assert simulation.finish().flows.equals(whole.flows)


class Endless(sg.Endpoint):
    """Has always something to send."""

    def receive(self, datagram: sg.Datagram, now_ns: int) -> None: ...
    def wake(self, now_ns: int) -> None: ...
    def deadline(self) -> int | None: ...

    def poll_transmit(self, now_ns: int) -> sg.Datagram | None:
        return sg.Datagram(b"more")


def test_an_end_that_never_stops_sending_is_told_so() -> None:
    ends = sg.Endpoints(ends=lambda: (Endless(), Endless()))
    with pytest.raises(ValueError, match="poll_transmit sent 100000 datagrams at once: return None when that is all"):
        sg.simulate(sg.dumbbell(rate="1 Mbit/s"), ends, duration="2 s", warmup="1 s")
