"""A scenario of an access line from measurements: what each number is from, what was assumed, and what is not known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .. import _core
from ..design.access_line import ACCESS, access_line
from ..quantities import rate_text
from .measurements import DOWN, PACKET, QUEUE, QUEUE_DOWN, QUEUE_UP, RTT, UP, Measured, Reading
from .model import Learnt, Unknown
from .unknown import line

FRAMED = {"dsl": 1554, "docsis": 1518, "fibre": 1538}
"""What a line sends for a packet of 1500 bytes: the framing of `access_line`, with 64B/65B on VDSL2."""

APART = 0.05
"""Tests of one line that differ by more than this part do not agree."""

DEFAULT_MS, LEAST_MS, MOST_MS = 250, 20, 1000
"""A modem's buffer where nobody measured under load (`access_line`), and the range that Netalyzr found (Kreibich et
al., IMC 2010)."""

SHORT_MS = 30
"""Waits below this do not show how much fits in: disciplines with targets of 5 to 20 ms hold the queue there."""


@dataclass
class Line:
    """What `from_measurements` returns: the `text` of the scenario; what each number is `said` to be from; what is
    `unknown`; and `remarks`."""

    text: str = ""
    said: list[str] = field(default_factory=list)
    unknown: list[Unknown] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def from_measurements(
    measured: Measured, *, access: str = "docsis", users: int = 4, calls: int = 2, games: int = 1, uploads: int = 1
) -> Line:
    """A scenario of the line. `access` and the numbers of those who use it are as for `access_line`: no measurement
    tells them.

    Raises `ScenarioError` where the rate of a direction is neither measured nor known from a shaper.
    """
    if access not in ACCESS:
        raise _core.ScenarioError(f'access = "{access}": must be {", ".join(ACCESS)}')
    done = Line()
    rates = {way: _rate(done, measured, way, access) for way in (DOWN, UP)}
    trip = _least(done, measured.of(RTT))
    buffer = _buffer(done, measured)
    shown = {way: rate_text(round(bps)) for way, bps in rates.items()}
    text = access_line(
        down=shown[DOWN], up=shown[UP], rtt=None if trip is None else f"{trip:.4g} ms", access=access, users=users,
        calls=calls, games=games, uploads=uploads, buffer_ms=buffer,
    )  # fmt: skip
    if trip is None:
        kind = ACCESS[access]
        done.unknown.append(Unknown("network.delay", _delay(text), "2 ms", "50 ms",
                                    f"no round trip was measured; {kind.rtt} is that of {kind.about}"))  # fmt: skip
    for shaper in measured.shapers:
        rate = "" if shaper.rate_bps is None else f" at {rate_text(round(shaper.rate_bps))}"
        done.said.append(
            f"present discipline of {shaper.device}: {shaper.discipline}{rate} ({shaper.said}; {shaper.file})"
        )
    head = [
        "# Learnt from measurements, without a capture:",
        *(f"#   {each}" for each in done.said),
        f"# Not measured: the kind of line ({access}), and who uses it.",
        *(f"# Note: {each}" for each in done.remarks),
        "",
    ]
    tail = ["", "# Not known: what stands above, and the range in which it lies", *map(line, done.unknown)]
    done.text = "\n".join([*head, text.rstrip("\n"), *(tail if done.unknown else ()), ""])
    return done


def _rate(done: Line, measured: Measured, way: str, access: str) -> float:
    """The rate of a direction, framing included. A test cannot be faster than the line: the fastest counts."""
    by = FRAMED.get(access, PACKET) / PACKET
    found = sorted(measured.of(way), key=lambda each: -each.value)
    if not found:
        raise _core.ScenarioError(
            f"{way}: no measurement has the rate of the {'download' if way == DOWN else 'upload'}: "
            f'measure it, or give --{way} "20 Mbit/s"'
        )
    best = found[0]
    rate = best.value * by
    done.said.append(f"{way}: {rate_text(round(rate))}, from {_of(best)}" + (", with framing" if by > 1 else ""))
    slow = [each for each in found[1:] if each.value < (1 - APART) * best.value]
    key = "network.rate" if way == DOWN else "network.reverse.rate"
    if best.at_least:
        done.unknown.append(Unknown(key, rate_text(round(rate)), rate_text(round(rate)), rate_text(round(2 * rate)),
                                    "what arrived of datagrams is the least that the line carries"))  # fmt: skip
    elif slow:
        least = slow[-1].value * by
        done.unknown.append(Unknown(key, rate_text(round(rate)), rate_text(round(least)), rate_text(round(rate)),
                                    f"tests do not agree: {_of(slow[-1])} had the least"))  # fmt: skip
    return rate


def _least(done: Line, found: Sequence[Reading]) -> float | None:
    """The base round trip in ms: the least of all."""
    if not found:
        return None
    best = min(found, key=lambda each: each.value)
    done.said.append(f"round trip without load: {best.value:.4g} ms, from {_of(best)}")
    return best.value


def _buffer(done: Line, measured: Measured) -> float | None:
    """What the modem holds in ms, None where it is not known; the deeper of both directions."""
    ways = {quantity: measured.of(quantity) for quantity in (QUEUE_DOWN, QUEUE_UP, QUEUE)}
    for quantity, word in ((QUEUE_DOWN, "down"), (QUEUE_UP, "up"), (QUEUE, "both ways together")):
        for each in ways[quantity]:
            done.said.append(f"waiting under load, {word}: {each.value:.3g} ms, from {_of(each)}")
    shaped = [each for each in measured.shapers if each.rate_bps is not None]
    found = ways[QUEUE_DOWN] + ways[QUEUE_UP] or ways[QUEUE]
    low, high = f"{LEAST_MS} ms", f"{MOST_MS} ms"
    key = "queue.drop_tail.limit"
    if not found or shaped:
        why = (
            f"a shaper was at work on {shaped[0].device}: what the modem holds behind it did not fill"
            if shaped
            else "nothing was measured under load"
        )
        done.unknown.append(Unknown(key, f"{DEFAULT_MS} ms", low, high, why))
        return None
    best = max(found, key=lambda each: each.value)
    if best.value < SHORT_MS:
        why = f"packets waited {best.value:.2g} ms under load: a discipline holds the queue, or the buffer is short"
        done.unknown.append(Unknown(key, f"{DEFAULT_MS} ms", low, high, why))
        return None
    if best.at_least:
        done.unknown.append(Unknown(key, f"{round(best.value)} ms", f"{round(best.value)} ms", high,
                                    f"it was not seen to be full: {best.said}"))  # fmt: skip
    elif best.quantity == QUEUE:
        done.unknown.append(Unknown(key, f"{round(best.value)} ms", f"{round(best.value / 2)} ms",
                                    f"{round(best.value)} ms",
                                    "both were loaded: which of them waits is not told"))  # fmt: skip
    return best.value


def _of(reading: Reading) -> str:
    return f"{reading.file} ({reading.said})"


def _delay(text: str) -> str:
    """The delay that a scenario of `access_line` has."""
    return next(row.split('"')[1] for row in text.splitlines() if row.startswith("delay = "))


def fill(done: Learnt, measured: Measured) -> None:
    """Put measured rates and round trips in the place of what captures do not tell."""
    ways = {"network.rate": done.forward.down, "network.reverse.rate": not done.forward.down}
    for each in done.unknown:
        if each.key != "network.delay" and each.key not in ways:
            continue
        readings = measured.of(RTT) if each.key == "network.delay" else measured.of(DOWN if ways[each.key] else UP)
        if not readings:
            continue
        best = (min if each.key == "network.delay" else max)(readings, key=lambda one: one.value)
        if each.key == "network.delay":
            each.value = each.low = each.high = f"{best.value / 2:.4g} ms"
        else:
            each.value = each.low = each.high = rate_text(round(best.value))
        each.why = f"{each.why}; it is from {_of(best)}"
