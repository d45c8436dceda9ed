"""A scenario of an access line from measurements: what each number is from, what was assumed, and what is not known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .. import _core
from ..design.access_line import (
    ACCESS,
    APART,
    LEAST_MS,
    MODEM_BUFFER_MS,
    MOST_MS,
    access_line,
    doubts,
    kind_doubts,
    kind_of,
    line_rate,
)
from ..quantities import rate_text
from .measurements import (
    DOWN,
    GIVEN,
    LEAST_OF_PING,
    QUEUE,
    QUEUE_DOWN,
    QUEUE_UP,
    RTT,
    STANDING_MS,
    UP,
    Measured,
    Reading,
)
from .model import Learnt, Unknown
from .unknown import line

LIMIT = "queue.drop_tail.limit"
"""The key of the modem's buffer; of its buffer for downloads, where the one for uploads differs."""

UPLOADS = "network.reverse.buffer"
"""The key of its buffer for uploads, where that differs."""

AT_HOME_MS = 2
"""A server with a shorter round trip is probably at home, or at the farthest in the provider's network."""

UNLIKE = 3
"""Round trips that differ by more than this factor are not of the same line, or not to servers at the same distance."""

IDLE = 2
"""A round trip from a single log of ping may be one under load if it is more than this many times the usual one of the
kind of line."""


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

    Raises `ScenarioError` where the rate of a direction is not measured. A shaper's does not stand in for it: nothing
    says to which direction a device sends.
    """
    named, access = access, kind_of(access)
    done, kind = Line(), ACCESS[access]
    down, up = (_rate(done, measured, way, access) for way in (DOWN, UP))
    trip = _least(done, measured.of(RTT), access)
    buffer = _buffer(done, measured)
    text = access_line(
        down=down, up=up or "", rtt=None if trip is None else f"{_digits(trip, 4)} ms", access=access, users=users,
        calls=calls, games=games, uploads=uploads, buffer_ms=buffer.ms, buffer_up_ms=buffer.up_ms,
        reasons={DOWN: kind.rate if kind.trace else MEASURED, UP: MEASURED, "buffer": buffer.how,
                 "buffer_up": buffer.how_up},
    )  # fmt: skip
    if buffer.ms is None and f'limit = "{MODEM_BUFFER_MS} ms"' not in text:  # ten packets of a slow line: not less
        done.unknown = [each for each in done.unknown if each.key != LIMIT]
    usual = float(kind.rtt.removesuffix(" ms"))
    if trip is None:
        done.unknown.append(Unknown("network.delay", _delay(text), f"{usual / 10:g} ms", f"{max(50, 0.6 * usual):g} ms",
                                    f"no round trip was measured; {kind.rtt} is that of {kind.about}"))  # fmt: skip
    elif _of_one_ping(measured.of(RTT)) and trip > IDLE * usual:
        done.unknown.append(Unknown("network.delay", _delay(text), f"{usual / 2:g} ms", _delay(text),
                                    f"{_digits(trip, 4)} ms is long for {kind.about}, and one log of ping does not "
                                    "show whether the line was idle: add a ping without load"))  # fmt: skip
    done.remarks += [*_doubts(measured, named, trip), *measured.remarks]
    for shaper in measured.shapers:
        rate = "" if shaper.rate_bps is None else f" at {rate_text(round(shaper.rate_bps))}"
        done.said.append(
            f"present discipline of {shaper.device}: {shaper.discipline}{rate} ({shaper.said}; {shaper.file})"
        )
    done.said += _unused(done.said, measured)
    head = [
        "# From measurements, without a capture:",
        *(f"#   {each}" for each in done.said),
        f"# Not measured: the kind of line ({access}), and who uses it: change count in [[flows]] below.",
        *(f"# Note: {each}" for each in done.remarks),
        "",
    ]
    tail = ["", "# Not known: the value used above, and the range of possible values", *map(line, done.unknown)]
    done.text = "\n".join([*head, text.rstrip("\n"), *(tail if done.unknown else ()), ""])
    return done


MEASURED = "what the line carries, as stated above: a speed test's data with headers and framing"
"""The comment on a measured rate in the file."""


def _rate(done: Line, measured: Measured, way: str, access: str) -> str | None:
    """The rate of a direction, framing included; None for the usual mean of a line whose rate varies."""
    found = measured.of(way)
    if not found and way == DOWN and ACCESS[access].mean:
        done.said.append(f"{way}: {ACCESS[access].mean} on average, as {ACCESS[access].about} in the bundled trace")
        return None
    if not found:
        raise _core.ScenarioError(
            f"{way}: no measurement has the rate of the {way}load: measure it, or give --{way} "
            f'"{"100" if way == DOWN else "20"} Mbit/s"'
        )
    best, fastest = _slowest(found), max(found, key=lambda each: each.value)
    rate = line_rate(best.value, access)
    done.said.append(f"{way}: {rate}, from {_of(best)}, with headers and framing")
    key = "network.rate" if way == DOWN else "network.reverse.rate"
    if best.at_least:
        done.unknown.append(Unknown(key, rate, rate, line_rate(2 * best.value, access),
                                    "the datagrams that arrived are a lower bound"))  # fmt: skip
    elif best.value < (1 - APART) * fastest.value:
        done.unknown.append(Unknown(key, rate, rate, line_rate(fastest.value, access),
                                    f"measurements do not agree: {_of(fastest)} had the most"))  # fmt: skip
    return rate


def _doubts(measured: Measured, named: str, trip: float | None) -> list[str]:
    """What is said of numbers that a line of this kind hardly has. `named`: the kind, as a person calls it."""
    rates = {way: _slowest(found).value for way in (DOWN, UP) if (found := measured.of(way))}
    kind = ACCESS[kind_of(named)]
    times = {
        UNITS[each.quantity][0]: each.value for each in measured.readings if each.quantity in (QUEUE_DOWN, QUEUE_UP)
    }
    said = doubts(rates, times | ({} if trip is None else {"round trip": trip}), kind.about)
    if len(rates) == 2:
        said += kind_doubts(named, rates[DOWN], rates[UP])
    if trip is not None and trip < kind.nearest_ms:
        said.append(f"a round trip of {trip:.3g} ms is short for {kind.about}: is the server outside of your home?")
    return said


UNITS = {DOWN: ("rate of the download", 1e-6, "Mbit/s"), UP: ("rate of the upload", 1e-6, "Mbit/s"),
         RTT: ("round trip", 1, "ms"), QUEUE_DOWN: ("waiting down", 1, "ms"), QUEUE_UP: ("waiting up", 1, "ms"),
         QUEUE: ("waiting", 1, "ms")}  # fmt: skip
"""The name of each quantity, the factor to its unit, and the unit in which it is shown."""


def _unused(said: Sequence[str], measured: Measured) -> list[str]:
    """What is said of files whose numbers stand nowhere, since another file has better ones."""
    found: dict[str, list[str]] = {}
    for each in measured.readings:
        name, scale, unit = UNITS[each.quantity]
        found.setdefault(each.file, []).append(f"{name} {_digits(each.value * scale)} {unit}")
    used = {file for file in found if any(f"from {file} (" in line for line in said)} | {GIVEN}
    hand = [
        f"not used: {_of(each)} for the {UNITS[each.quantity][0]}"
        for each in measured.readings
        if each.file == GIVEN and not any(_of(each) in line for line in said)
    ]
    return [
        *hand,
        *(
            f"not used, for a more precise source exists: {file} ({', '.join(texts)})"
            for file, texts in found.items()
            if file not in used
        ),
    ]


def _slowest(found: Sequence[Reading]) -> Reading:
    """The rate that counts: the lowest, since lines are slower in the evening, and a shaper above the line's rate does
    nothing. Of lower bounds alone it is the highest."""
    whole = [each for each in found if not each.at_least]
    return min(whole, key=lambda each: each.value) if whole else max(found, key=lambda each: each.value)


def _least(done: Line, found: Sequence[Reading], access: str) -> float | None:
    """The base round trip in ms: the least of all. Raises `ScenarioError` for one that no line of this kind has."""
    if not found:
        return None
    best = _nearest(found)
    if best.file != GIVEN and best.value < (least := ACCESS[access].grants_ms / 2):
        raise _core.ScenarioError(
            f"{best.file}: a round trip of {best.value:.3g} ms; must be at least {least:g} ms, the median time that a "
            f"ping waits for a grant ({access}): measure to a server outside of your home, or name another --access"
        )
    doubt = ", if the line was idle; one log does not show that" if _of_one_ping(found) else ""
    done.said.append(f"round trip without load: {_digits(best.value, 4)} ms, from {_of(best)}{doubt}")
    sources: dict[str, Reading] = {}  # logs of ping under load have long ones; of each program the least counts
    for each in sorted(found, key=lambda each: -each.value):
        sources[each.file if each.file == GIVEN else each.said] = each
    ends = [end(sources.values(), key=lambda each: each.value) for end in (min, max)]
    if ends[1].value > UNLIKE * ends[0].value:
        said = " and ".join(f"{_digits(each.value)} ms, {_of(each)}" for each in ends)
        done.remarks.append(f"round trips without load differ: {said}; is one of the servers at home, or was the line "
                            "in use?")  # fmt: skip
    return best.value


def _nearest(found: Sequence[Reading]) -> Reading:
    """The reading of the base round trip that counts: the least; but a program's own server that is nearer than
    `AT_HOME_MS` gives way to what `ping` or a person says, for it is probably within the home."""
    others = [each for each in found if each.file == GIVEN or each.said == LEAST_OF_PING]
    best = min(found, key=lambda each: each.value)
    return best if best in others or best.value >= AT_HOME_MS or not others else _nearest(others)


def _of_one_ping(trips: Sequence[Reading]) -> bool:
    """Whether one log of ping is all that tells the round trip."""
    return {each.said for each in trips} == {LEAST_OF_PING} and len({each.file for each in trips}) == 1


class _Buffer(NamedTuple):
    """What the modem holds in ms, None where it is not known, and how that is known; in the upload, if it differs."""

    ms: float | None
    how: str
    up_ms: float | None = None
    how_up: str = ""


def _buffer(done: Line, measured: Measured) -> _Buffer:
    """What was measured of the modem's buffers."""
    ways = {
        quantity: [each for each in measured.of(quantity) if not each.alone]
        for quantity in (QUEUE_DOWN, QUEUE_UP, QUEUE)
    }
    late = max((each for each in measured.of(QUEUE) if each.alone), key=lambda one: one.value, default=None)
    most = {quantity: max(each, key=lambda one: one.value) for quantity, each in ways.items() if each}
    told = sum(each.value for quantity, each in most.items() if quantity != QUEUE)
    if QUEUE in most and told and not (most[QUEUE].at_least and most[QUEUE].value > told):
        del most[QUEUE]  # both ways together say nothing more than each
    for quantity, word in ((QUEUE_DOWN, "down"), (QUEUE_UP, "up"), (QUEUE, "up, down or both")):
        if quantity in most:
            least = "at least " if most[quantity].at_least else ""
            done.said.append(
                f"waiting under load, {word}: {least}{_digits(most[quantity].value)} ms, from {_of(most[quantity])}"
            )
    shaped = [each for each in measured.shapers if each.rate_bps is not None]
    found = list(most.values())
    low, high = f"{LEAST_MS} ms", f"{MOST_MS} ms"
    best = max(found, key=lambda each: each.value) if found else None
    why = ""
    if shaped:
        why = f"a shaper was working on {shaped[0].device}, so the modem's buffer behind it did not fill"
    elif best is None and late is not None:
        done.said.append(
            f"waiting, if the line was loaded: at least {_digits(late.value)} ms, from {_of(late)}; "
            f"{'idle lines wait as long' if late.value < STANDING_MS else 'hardly any other reply was slow'}, so "
            "this does not prove load"
        )
        low = f"{max(LEAST_MS, min(round(late.value), MODEM_BUFFER_MS))} ms"
        why = (
            f"{late.file} shows hardly more than one slow reply, and idle lines have such replies, too; ping during a "
            "transfer"
        )
    elif best is None:
        why = "nothing was measured under load"
    elif best.value < STANDING_MS:
        why = _short(best)
    if why or best is None:
        done.unknown.append(Unknown(LIMIT, f"{MODEM_BUFFER_MS} ms", low, high, why))
        return _Buffer(None, f"assumed, {low} to {high} are possible")
    shown = [(most[quantity], word) for quantity, word in ((QUEUE_DOWN, "down"), (QUEUE_UP, "up")) if quantity in most]
    if best.quantity != QUEUE and min(each.value for each, _ in shown) < (1 - APART) * best.value:
        (down, _), (up, _) = shown
        both = [_held(done, down, LIMIT), _held(done, up, UPLOADS)]
        return _Buffer(max(down.value, STANDING_MS), both[0], max(up.value, STANDING_MS), both[1])
    if best.quantity == QUEUE and not best.at_least:
        why = "both directions were loaded: it is not known in which of them packets waited"
        value = round(best.value)
        done.unknown.append(Unknown(LIMIT, f"{value} ms", f"{round(best.value / 2)} ms", f"{value} ms", why))
    how = _held(done, best, LIMIT)
    if best.quantity != QUEUE and len(shown) == 1:
        other = {"up": "download", "down": "upload"}[shown[0][1]]
        how += f" for the {shown[0][1]}load; the {other} was not measured and gets the same"
    return _Buffer(best.value, how)


def _short(found: Reading) -> str:
    """Why a wait says nothing of a buffer."""
    return f"packets waited {found.value:.2g} ms under load: a discipline holds the queue, or the buffer is short"


def _held(done: Line, found: Reading, key: str) -> str:
    """How a buffer that somebody waited in is known, for a comment; what is not known of it is noted."""
    if found.value < STANDING_MS:
        low, high = f"{LEAST_MS} ms", f"{MOST_MS} ms"
        done.unknown.append(Unknown(key, f"{STANDING_MS:g} ms", low, high, _short(found)))
        return f"assumed, {low} to {high} are possible"
    if not found.at_least:
        return "as measured"
    value, high = f"{round(max(found.value, STANDING_MS))} ms", f"{max(MOST_MS, 2 * round(found.value))} ms"
    why = f"{found.file} shows at least this; round trips do not show whether the buffer was full"
    done.unknown.append(Unknown(key, value, value, high, why))
    return f"a lower bound; up to {high} are possible"


def _digits(value: float, digits: int = 3) -> str:
    """Some digits of a number, or all before the point: never an exponent, as 2.68e+03."""
    return f"{value:.0f}" if value >= 10 ** (digits - 1) else f"{value:.{digits}g}"


def _of(reading: Reading) -> str:
    """Where a reading is from."""
    if reading.file == GIVEN:
        return f"the {reading.said} that you gave"
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
        best = _nearest(readings) if each.key == "network.delay" else _slowest(readings)
        if each.key == "network.delay":
            each.value = each.low = each.high = f"{best.value / 2:.4g} ms"
        else:
            each.value = each.low = rate_text(round(best.value))
            each.high = rate_text(round(max(reading.value for reading in readings)))
        each.why = f"{each.why}; it is from {_of(best)}"
