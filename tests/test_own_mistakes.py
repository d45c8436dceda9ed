"""Mistakes of a discipline of one's own in Python: packets that are not conserved, exceptions, wrong answers."""

from __future__ import annotations

from collections import deque
from functools import partial

import pytest
from test_own_discipline import NANOS, Fifo, assert_same_tables, simulate

import sluicegate as sg
from sluicegate.custom.aqm import traceback_of
from sluicegate.declarations import declarations

# --- conservation ------------------------------------------------------------------------------


class Faulty(Fifo):
    """Does one thing wrong, at its tenth packet or at the first departure after that."""

    def __init__(self, *, fault: str) -> None:
        super().__init__()
        self.fault, self.at = fault, 10
        self.kept: list[sg.Packet] = []

    def enqueue(self, packet: sg.Packet, ctx: sg.Ctx) -> None:
        if packet.number < self.at:
            return super().enqueue(packet, ctx)
        match self.fault:
            case "forgotten":
                return None
            case "forgotten in a list":
                self.kept.append(packet)
                return None
            case "dropped twice":
                ctx.drop(packet, "early")
                ctx.drop(packet, "tail")
            case "dropped twice, and caught":
                ctx.drop(packet, "early")
                with pytest.raises(sg.ConservationError):
                    ctx.drop(packet, "tail")
            case "kept and dropped":
                self.queue.appendleft(packet)
                ctx.drop(packet, "early")
            case "dropped after it departed":
                ctx.drop(self.kept[0], "early")
            case "marked after it departed":
                self.kept[0].mark()
            case "returned":
                self.queue.append(packet)
                return packet  # type: ignore[return-value]
        return super().enqueue(packet, ctx)

    def dequeue(self, ctx: sg.Ctx) -> sg.Packet | None:
        packet = super().dequeue(ctx)
        if packet is None:
            return None
        self.kept.append(packet)
        match self.fault:
            case "returned twice":
                return self.kept[0]
            case "forgotten in dequeue":
                self.kept.clear()
                return super().dequeue(ctx) if packet.number == self.at else packet
            case "no packet":
                return "packet"  # type: ignore[return-value]
            case "none while queued" if self.queue:
                self.queue.append(packet)
                return None
        return packet


@pytest.mark.parametrize(
    ("fault", "error", "message"),
    [
        ("forgotten", sg.ConservationError, r"packet 10 of flow \d was forgotten: Faulty neither kept it, nor"),
        ("forgotten in a list", sg.ConservationError, r"packet 10 of flow \d is queued .*dequeue returned None"),
        ("forgotten in dequeue", sg.ConservationError, r"packet 10 of flow \d was forgotten"),
        (
            "dropped twice",
            sg.ConservationError,
            r"packet 10 of flow \d was passed .* it had been dropped already \(early\)",
        ),
        ("dropped twice, and caught", sg.ConservationError, r"packet 10 .* it had been dropped already \(early\)"),
        (
            "kept and dropped",
            sg.ConservationError,
            r"packet \d+ of flow \d was returned from dequeue, but .*dropped already",
        ),
        ("dropped after it departed", sg.ConservationError, r"packet 1 of flow \d .* returned from dequeue already"),
        ("marked after it departed", sg.ConservationError, r"packet 1 of flow \d was to be marked, but .* already"),
        ("returned twice", sg.ConservationError, r"packet 1 of flow \d was returned .* returned from dequeue already"),
        ("none while queued", sg.ConservationError, r"packet \d of flow \d is queued \(\d+ in all\), but Faulty"),
        ("no packet", TypeError, r"Faulty\.dequeue returned 'packet': it must return a packet or None"),
        ("returned", TypeError, r"Faulty\.enqueue returned <packet 10 of flow \d, 1000 bytes>: it must return None"),
    ],
)
def test_a_packet_that_is_not_conserved_is_named(fault: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        simulate(partial(Faulty, fault=fault), udp="300 kbit/s" if fault == "forgotten in a list" else "2 Mbit/s")
    [note] = caught.value.__notes__
    assert note.startswith("sluicegate: in Faulty.")
    assert 'at link "bottleneck", simulated time ' in note


@pytest.mark.parametrize("method", ["enqueue", "dequeue"])
def test_what_is_raised_comes_before_the_packets_that_it_lets_go_of(method: str) -> None:
    class Raising(Fifo):
        def enqueue(self, packet: sg.Packet, ctx: sg.Ctx) -> None:
            if method != "enqueue":
                return super().enqueue(packet, ctx)
            del packet
            raise KeyError("mine")

        def dequeue(self, ctx: sg.Ctx) -> sg.Packet | None:
            return int(self.queue.popleft()) if self.queue else None  # type: ignore[call-overload, no-any-return]

    expected = KeyError if method == "enqueue" else TypeError
    with pytest.raises(expected) as caught:
        simulate(Raising)
    assert caught.value.__notes__[0].startswith(f"sluicegate: in Raising.{method}, ")


def test_a_method_whose_signature_is_not_known_tells_its_own_error() -> None:
    # `int` has no signature in any Python to 3.14, and no frame that would hold the packet.
    with pytest.raises(TypeError, match="object cannot be interpreted"):
        simulate(type("Builtin", (Fifo,), {"enqueue": int}))


def test_a_packet_of_another_link_is_not_its_own() -> None:
    shared: deque[sg.Packet] = deque()

    class Shared(Fifo):
        def __init__(self) -> None:
            super().__init__()
            self.queue = shared

    links = [
        sg.Link(name="first", from_="a", to="b", rate="2 Mbit/s"),
        sg.Link(name="second", from_="b", to="c", rate="1 Mbit/s"),
    ]
    net = sg.topology(*links, queue=Shared)
    with pytest.raises(sg.ConservationError, match=r'packet \d+ of flow 1 .* it belongs to the Shared of link "'):
        sg.simulate(net, sg.Udp(rate="3 Mbit/s", path=["first", "second"]), duration="2 s")


# --- exceptions --------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["enqueue", "dequeue", "wake", "next_wakeup", "average"])
def test_an_exception_ends_the_run_as_it_is(method: str) -> None:
    mistake = LookupError("mine")
    calls: list[str] = []

    def fails(self: Fifo, *_: object) -> None:
        calls.append(method)
        raise mistake

    asks = {"next_wakeup": lambda self: NANOS} if method == "wake" else {}
    kind = type("Failing", (Fifo,), asks | {method: fails})
    with pytest.raises(LookupError) as caught:
        simulate(kind, seconds=10**6)
    assert caught.value is mistake
    assert caught.traceback[-1].name == "fails"
    assert calls == [method]
    [note] = mistake.__notes__
    assert f"Failing.{method}, at link " in note


def test_a_mistake_inside_a_queue_of_packets_is_told_from_the_disciplines_line_on() -> None:
    class Twice(Fifo):
        def enqueue(self, packet: sg.Packet, ctx: sg.Ctx) -> None:
            sg.PacketQueue().remove(packet)

    with pytest.raises(ValueError, match="not in deque") as caught:
        simulate(Twice)
    told = traceback_of(caught.value)
    assert told is not None
    first, *others = [line for line in told.splitlines() if line.startswith("  File ")]
    assert first.endswith("in enqueue")
    assert [line.rpartition(" ")[2] for line in others] == ["remove"]


@pytest.mark.parametrize(
    ("method", "value", "message"),
    [
        ("next_wakeup", 0.5, r"Odd\.next_wakeup returned 0\.5: it must return None or a time in whole nanoseconds"),
        ("next_wakeup", -1, r"Odd\.next_wakeup returned -1: it must return None or"),
        ("next_wakeup", 5, r"Odd\.next_wakeup returned 5 at \d+ ns: it must return a later time"),
        ("next_wakeup", 0, r"Odd\.next_wakeup returned 0 at 0 ns: it must return a later time"),
        ("next_wakeup", 3 * NANOS, r"returned 3000000000 at 3000000000 ns: it must return a later time"),
        ("average", "much", r"Odd\.average returned 'much': it must return None or a number"),
        ("wake", 3, r"Odd\.wake returned 3: it must return None"),
    ],
)
def test_a_wrong_answer_is_named(method: str, value: object, message: str) -> None:
    methods = {"next_wakeup": lambda self: 3 * NANOS} | {method: lambda self, *_: value}
    with pytest.raises((TypeError, ValueError), match=message):
        simulate(type("Odd", (Fifo,), methods))


def test_an_unknown_reason_is_refused_where_it_stands() -> None:
    class Guess(Fifo):
        def enqueue(self, packet: sg.Packet, ctx: sg.Ctx) -> None:
            try:
                ctx.drop(packet, "erly")
            except ValueError as error:
                said.add(str(error))
            with pytest.raises(TypeError, match="expected a packet, not 3"):
                ctx.drop(3, "early")  # type: ignore[arg-type]
            with pytest.raises(ValueError, match="at least 1"):
                ctx.below(0)
            super().enqueue(packet, ctx)

    said: set[str] = set()
    assert_same_tables(simulate(Guess), simulate(Fifo))
    [message] = said
    assert "no such reason" in message
    assert 'did you mean "early"?' in message
    reasons = [reason["name"] for reason in declarations()["drop_reasons"]]
    assert ", ".join(reasons) in message


def test_ctx_is_valid_for_one_call() -> None:
    class Hoarder(Fifo):
        def enqueue(self, packet: sg.Packet, ctx: sg.Ctx) -> None:
            contexts.append(ctx)
            super().enqueue(packet, ctx)

    contexts: list[sg.Ctx] = []
    simulate(Hoarder)
    for use in (lambda ctx: ctx.now_ns, lambda ctx: ctx.random(), lambda ctx: ctx.packets):
        with pytest.raises(RuntimeError, match="valid only during a call"):
            use(contexts[0])
