"""A scenario of a home's access line from a few numbers, as the text of a file: each value with its reason."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .._core import ScenarioError
from ..quantities import quantity, rate_text

MODEM_BUFFER_MS = 250
"""What a modem holds of its rate unless measured: many of those in Dischinger et al. (IMC 2007) and Kreibich et al.
(IMC 2010, Netalyzr) held more, some hundreds of milliseconds to seconds."""

MOST_COUNT = 1000
"""The most users, calls, games or uploads."""

LEAST_MS, MOST_MS = 20, 1000
"""The range of modems' buffers that Netalyzr found."""

VIDEO_BPS, VOICE_BPS = 1_500_000, 80_000
"""A video call at 720p, as programs ask for (1.2 to 1.8 Mbit/s), and a voice call: G.711 with its headers."""

PACKET, DATA = 1500, 1448
"""Bytes of a packet of IP, and of those that are TCP's data (with timestamps)."""


@dataclass(frozen=True)
class Kind:
    """A kind of access line. `about`: its name in a sentence. `rtt`: to a server nearby unless given. `down`, `up`:
    keys of both directions, each with its reason. `grants_ms`: the jitter of the upload, and `granted` its reason.
    `trace`: the bundled trace that says how the rate of the download varies, and `mean` its mean unless given. `run`:
    duration and warm-up. `rate`: what is said of the download's. `framed`: bytes that the line sends for a packet of
    `PACKET` bytes, as `down` frames it. `nearest_ms`: no server outside of a home is nearer by such a line."""

    about: str
    rtt: str
    down: tuple[tuple[str, str], ...] = ()
    grants_ms: float = 0
    granted: str = ""
    trace: str = ""
    mean: str | None = None
    run: tuple[str, str] = ("40 s", "10 s")
    rate: str = "what the line carries: measure it, at a quiet hour and at a busy one"
    framed: int = PACKET
    nearest_ms: float = 0.5


ACCESS = {
    "vdsl": Kind(
        "a DSL line", "25 ms", (('framing = "ptm"', 'VDSL2 with PPPoE; for ADSL it is "atm", cells of 53 bytes'),),
        framed=1554, nearest_ms=3,
    ),
    "adsl": Kind(
        "an ADSL line", "35 ms",
        (('framing = "atm"', "PPPoE on AAL5: 40 bytes around each packet, in cells of 53 bytes of which 48 carry it"),),
        framed=33 * 53, nearest_ms=5,
    ),
    "docsis": Kind(
        "a cable line", "20 ms", (('framing = "docsis"', "18 bytes around each packet, frames of at least 64"),),
        6, "upstream packets wait for grants, which come every 2 to 6 ms", framed=1518, nearest_ms=3,
    ),
    "fibre": Kind(
        "a fibre line", "10 ms", (('framing = "ethernet"', "38 bytes around each packet, frames of at least 84"),),
        1, "grants of a passive optical network come several times in a millisecond or two",
        framed=1538,
    ),
    "lte": Kind("LTE", "50 ms", nearest_ms=10, trace="lte", mean="9 Mbit/s", run=("70 s", "10 s")),
    "satellite": Kind(
        "a satellite line", "600 ms",
        (("burst_start = 0.0001", "one packet in 10,000 begins a burst of errors,"),
         ("burst_end = 0.2", "of five packets on average,"),
         ("burst_loss = 0.5", "in which every other packet is lost (Gilbert and Elliott)")),
        run=("120 s", "20 s"),
        nearest_ms=15,
        rate="it varies with weather and hour: state the least that you measured; no fixed margin below it is always "
             "enough",
    ),
}  # fmt: skip
"""The kinds of access lines, by name."""

DSL, SAME = "dsl", {"dsl": "vdsl", "cable": "docsis"}
"""Other names of kinds."""

LEAST_VDSL_BPS = (25e6, 3e6)
"""Rates, down and up, below which a DSL line is rather ADSL, of which ADSL2+ has at most 24 and 1 to 3 Mbit/s."""


def kind_of(access: str) -> str:
    """The key in `ACCESS` of a kind that a person names. Raises `ScenarioError`."""
    found = SAME.get(access, access)
    if found not in ACCESS:
        known = [*ACCESS, *SAME]
        raise ScenarioError(f'access = "{access}": must be {", ".join(known[:-1])} or {known[-1]}')
    return found


def kind_doubts(access: str, down_bps: float, up_bps: float) -> list[str]:
    """What is said of a kind of line that rates do not fit."""
    if access != DSL or (down_bps >= LEAST_VDSL_BPS[0] and up_bps >= LEAST_VDSL_BPS[1]):
        return []
    return ["dsl means VDSL, but these rates are typical of ADSL, whose cells need another framing: for an ADSL line, "
            "give --access adsl"]  # fmt: skip


LEAST_BPS, MOST_BPS = 100e3, 10e9
"""The range of rates of access lines; outside of it the unit is probably wrong."""

LONG_MS = 1000
"""A time above this is no usual one of an access line; its unit is probably wrong."""

APART = 0.05
"""Tests of one line that differ by more than this part do not agree."""


def doubts(rates: Mapping[str, float], times_ms: Mapping[str, float], about: str = "an access line") -> list[str]:
    """What is said of rates in bit/s, by "down" and "up", and of times that a line of this kind hardly has."""
    said = [f"{rate_text(bps)} {way} is much for {about}: is its unit right?"
            for way, bps in rates.items() if bps > MOST_BPS]  # fmt: skip
    said += [f"{rate_text(bps)} {way} is little for a line of today: is its unit right?"
             for way, bps in rates.items() if bps < LEAST_BPS]  # fmt: skip
    if len(rates) == 2 and rates["up"] > (1 + APART) * rates["down"]:
        said.append("the upload is faster than the download, which is rare: are they swapped?")
    said += [f"{name} of {ms / 1e3:.3g} s is long for {about}: is its unit right?"
             for name, ms in times_ms.items() if ms > LONG_MS]  # fmt: skip
    return said


def speed_test(bps: float, on_wire: Callable[[float], float]) -> float:
    """What a speed test shows of a rate with headers and framing: full packets' data. `on_wire`: the bytes whose time a
    packet of a length takes."""
    return bps * DATA / on_wire(PACKET)


def ip_rate(data_bps: float) -> float:
    """The rate of IP packets of a transfer, from that of its data, which speed tests count."""
    return data_bps * PACKET / DATA


def line_rate(ip_bps: float, access: str) -> str:
    """The rate of a line that carries full packets at this rate, its framing included: to four digits, rounded down,
    since a shaper above the line's rate is worse than one below."""
    bps = ip_bps * ACCESS[access].framed / PACKET
    step = 10.0 ** (math.floor(math.log10(bps)) - 3)
    return rate_text(math.floor(bps / step + 1e-9) * step, 4)


def access_line(
    *,
    down: str | None = None,
    up: str,
    rtt: str | None = None,
    access: str = "docsis",
    users: int = 4,
    calls: int = 2,
    games: int = 1,
    uploads: int = 1,
    buffer_ms: float | None = None,
    buffer_up_ms: float | None = None,
    reasons: Mapping[str, str] | None = None,
) -> str:
    """The text of a scenario of a home's access line. Write it into a file, or pass it to `run`, `compare` and
    `recommend`.

    `down`, `up`: the rates of the line, such as "100 Mbit/s". With "lte" the download's rate follows a trace, and
    `down` is its mean (default: 9 Mbit/s). `rtt`: round trip to a server nearby without load, as `ping` measures it
    (default: typical of the kind); the scenario's median round trip without load equals it. `access`: vdsl (dsl), adsl,
    docsis (cable), fibre, lte or satellite.
    `users`: people who browse, each with a long download. `calls`, `games`: in both directions. `uploads`: connections
    of one device that sends a backup or photographs. `buffer_ms`: the size of the modem's buffer, if measured (default:
    250, or the time of ten packets if that is longer); `buffer_up_ms`: that of the upload, where it differs. `reasons`:
    what the comments on `down`, `up`, `buffer` and `buffer_up` say instead of the usual text.

    Raises `ScenarioError` that says which argument is wrong.

    >>> text = sg.access_line(down="50 Mbit/s", up="10 Mbit/s", access="dsl", calls=1)
    >>> sg.check(text)["network"]["rate"]
    '50 Mbit/s'
    """
    access = kind_of(access)
    kind, stated = ACCESS[access], reasons or {}
    down = down or kind.mean
    if down is None:
        raise ScenarioError("down: must be the rate of the download, such as 100 Mbit/s")
    for name, count in (("users", users), ("calls", calls), ("games", games), ("uploads", uploads)):
        if count < 0 or count > MOST_COUNT:
            raise ScenarioError(f"{name} = {count}: must be at least 0 and at most {MOST_COUNT}")
    if not users + calls + games + uploads:
        raise ScenarioError("users, calls, games and uploads are all 0: nothing would be sent; give one of them")
    up_bps = quantity("up", up, "network.rate")
    down_bps = quantity("down", down, "network.rate")
    rtt = rtt or kind.rtt
    # What was measured has the grants in it: half of the longest wait, in the middle.
    wait_ms = kind.grants_ms / 2
    delay_ms = (quantity("rtt", rtt, "network.delay") / 1e6 - wait_ms) / 2
    if delay_ms < 0:
        raise ScenarioError(f"rtt = {rtt}: must be at least {wait_ms:g} ms, the median time that a ping "
                            f"waits for a grant ({access}); measure it again, or name another access")  # fmt: skip
    slow = min(up_bps, down_bps)
    video = calls * VIDEO_BPS <= slow / 2
    sums = [_count(users, "person", "people"), _count(calls, "call"), _count(games, "game"), _count(uploads, "upload")]
    shown = f"{rate_text(down_bps, 4)}{' on average' if kind.trace else ''} down, {rate_text(up_bps, 4)} up"
    parts = [f"# {kind.about[0].upper()}{kind.about[1:]} of a home: {shown}; {', '.join(sums)}.\n"]
    if kind.trace:
        of_down = [
            (f'trace = "{kind.trace}"', "how the rate varies, from 0 to 4 times its mean; or a recording of your own"),
            ('trace_period = "60 s"', "its length; then it begins anew"),
            (f'trace_mean = "{down}"', "the mean that the trace is scaled to: measure it over some minutes"),
        ]
    else:
        of_down = [(f'rate = "{down}"', stated.get("down", kind.rate))]
    way = f"one way: half of the round trip of {rtt} without load"
    if wait_ms:
        way = f"one way: ({rtt} - {wait_ms:g} ms) / 2; a packet usually waits {wait_ms:g} ms for a grant to send"
    delay = (f'delay = "{delay_ms:g} ms"', way)
    parts.append(_table("[network]", "the download", [*of_down, delay, *kind.down]))
    grants = [(f'jitter = "{kind.grants_ms:g} ms"', kind.granted)] if kind.grants_ms else []
    of_up = [(f'rate = "{up}"', stated.get("up", "measured, too")), *grants]
    if buffer_up_ms is not None:
        how = stated.get("buffer_up", "as measured")
        of_up.append((f'buffer = "{round(buffer_up_ms)} ms"', f"what the modem holds in this direction: {how}"))
    parts.append(_table("[network.reverse]", "the upload", of_up))
    queue = [('discipline = "drop_tail"', "first come, first served, as in modems; `recommend` tries others")]
    parts.append(_table("[queue]", "", queue))
    least_ms = math.ceil(10 * 8000 * PACKET / slow)  # ten packets on the slowest lines
    held_ms = max(MODEM_BUFFER_MS, least_ms) if buffer_ms is None else round(buffer_ms)
    whose = "each direction's rate" if buffer_up_ms is None else "the download's rate"
    whose += " (its mean, of a trace)" if kind.trace else ""
    how = "as measured" if buffer_ms is not None else f"assumed, {LEAST_MS} ms to {MOST_MS} ms are possible"
    how = stated.get("buffer", how)
    if buffer_ms is None and held_ms > MODEM_BUFFER_MS:
        how = "assumed, ten packets: less would leave this slow line idle"
    held = [(f'limit = "{held_ms} ms"', f"the modem's buffer, as a time at {whose}: {how}")]
    parts.append(_table("[queue.drop_tail]", "", held))
    if users:
        web = [('think_time = "exponential(mean = 5 s)"', "a page every few seconds")]
        parts.append(_flows("web", "http", "people who browse", [(f"count = {users}", "everybody"), *web]))
        parts.append(_flows("downloads", "tcp", "an update, a film: as fast as the line", [
            (f"count = {users}", "one in each person's device")]))  # fmt: skip
    if uploads:
        own = [
            (f"count = {uploads}", "at a time"),
            ("host = 1", "connections of one device, which gets one share with CAKE"),
        ]
        parts.append(_flows("uploads", "tcp", "a backup, photographs", [*own, REVERSE]))
    if calls:
        rate, length = (VIDEO_BPS, 1100) if video else (VOICE_BPS, 200)
        why = "video at 720p" if video else "voice, because video would take more than half of the line: G.711,"
        size = "pictures in packets of some 1100 bytes, and speech" if video else "20 ms of speech in each packet"
        call = [
            (f"count = {calls}", "at a time"),
            (f'rate = "{rate_text(rate)}"', why),
            (f'packet_size = "{length} B"', size),
        ]
        parts.append(_flows("calls down", "udp", "what the other people send", call))
        here = "what people here send; add class = 34 if programs mark it AF41, which CAKE with diffserv4 honours"
        parts.append(_flows("calls up", "udp", here, [*call, REVERSE]))
    if games:
        game = [(f"count = {games}", "at a time"), ('rate = "100 kbit/s"', "the state of the game, 60 times a second")]
        parts.append(
            _flows("game down", "udp", "", [*game, ('packet_size = "200 B"', "some 50 to 300 bytes in most games")])
        )
        game = [(f"count = {games}", "at a time"), ('rate = "50 kbit/s"', "what the player does, 60 times a second")]
        parts.append(_flows("game up", "udp", "", [*game, ('packet_size = "100 B"', "keys and directions"), REVERSE]))
    lasts, warmup = kind.run
    run = [
        (f'duration = "{lasts}"', "all but the warm-up is measured"),
        (f'warmup = "{warmup}"', "left out of results: transfers are in slow start"),
    ]
    return "\n".join([*parts, _table("[run]", "", run)])


REVERSE = ('direction = "reverse"', "up")
COLUMN = 40
"""Where comments begin."""


def _table(head: str, about: str, pairs: list[tuple[str, str]]) -> str:
    """A table of the file: lines with comments in one column."""
    return "".join(f"{line:<{COLUMN}}# {why}\n" if why else f"{line}\n" for line, why in [(head, about), *pairs])


def _flows(name: str, kind: str, about: str, pairs: list[tuple[str, str]]) -> str:
    return _table("[[flows]]", about, [(f'name = "{name}"', ""), (f'kind = "{kind}"', ""), *pairs])


def _count(number: int, one: str, several: str = "") -> str:
    return f"{number} {one if number == 1 else several or f'{one}s'}"
