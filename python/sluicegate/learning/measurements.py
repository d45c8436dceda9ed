"""What measurements of a line say: iperf3, Flent, ping, irtt, tc, networkQuality, and numbers given by hand.

A file gives readings, each of one quantity. Its content tells which program wrote it.

| file | what is read of it |
|---|---|
| `iperf3 -J` | rates of data, up, down (`-R`) or both (`--bidir`); of TCP the least and the greatest round trip, if this end sends |
| Flent, `.flent`, `.flent.gz`, `.flent.bz2` | rates of downloads and uploads in the middle half of the test, round trips before and under load, one-way delays |
| `ping` | the least round trip; the longest round trip minus the least one in all logs of `ping`. The line counts as loaded if a quarter of the replies, two at least, took long, or if a person says so |
| `irtt client -o` | the least round trip; one-way delays beyond the least |
| `tc -s -j qdisc` | the discipline, the rate and the drops of a shaper: only reported, since `tc` names no direction |
| `networkQuality -c`, `mach rpm` | rates, round trips without load, and under load from the responsiveness |

Rates of data become rates of IP packets (`design.access_line.ip_rate`).
"""  # noqa: E501

from __future__ import annotations

import bz2
import codecs
import gzip
import json
import re
import statistics
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .. import _core
from ..design.access_line import DATA, PACKET, ip_rate

UDP_HEADERS = 28
"""Bytes of the headers of a datagram."""

GIVEN, LEAST_OF_PING = "given", "the minimum of ping"
"""Of readings: what stands for the file where a person gave it by hand, and how a round trip follows from `ping`."""

DOWN, UP, RTT, QUEUE_DOWN, QUEUE_UP, QUEUE = "down", "up", "rtt", "queue down", "queue up", "queue"
"""Quantities: rates of IP in bit/s; milliseconds of the base round trip, and of waiting under load, down, up, or on
both ways together."""

LEAST_WAIT_MS, STANDING_MS = 5.0, 30.0
"""A wait below the first shows no standing queue: schedulers of hosts and grants of access lines take as long. One
above the second does, if a quarter of a log's replies waited so long; below it, a discipline with a target of 5 to
20 ms may hold the queue, which does not show how much fits in."""


@dataclass(frozen=True)
class Reading:
    """One quantity of one file. `at_least`: whether it is a lower bound. `said`: how it follows from the file. `alone`:
    whether hardly anything else in the file shows it, as where one ping of an idle line was late."""

    quantity: str
    value: float
    file: str
    said: str
    at_least: bool = False
    alone: bool = False


@dataclass(frozen=True)
class Shaper:
    """A shaper that is at work on a device. `rate_bps`: None where it is not known."""

    device: str
    discipline: str
    rate_bps: float | None
    file: str
    said: str


@dataclass
class Measured:
    """All that files say."""

    readings: list[Reading]
    shapers: list[Shaper]
    remarks: list[str] = field(default_factory=list)

    def of(self, quantity: str) -> list[Reading]:
        """The readings of one quantity."""
        return [each for each in self.readings if each.quantity == quantity]


@dataclass(frozen=True)
class Pings:
    """Of a log of `ping` the least round trip, the longest, and the one that a quarter of the replies reach, but two of
    them at the least; in ms. `waiting`: in which direction replies waited, if a person says so."""

    least: float
    longest: float
    quarter: float
    file: str
    waiting: str = QUEUE

    def waits(self, least: float) -> bool:
        """Whether replies waited for a load beyond this round trip without: one that a person states, or one that shows
        as replies that waited again and again, and longer than on idle lines."""
        wait, longest = self.quarter - least, self.longest - least
        return self.waiting != QUEUE or (longest >= STANDING_MS and wait >= min(STANDING_MS, longest / 2))


Found = Iterator[Reading | Shaper | Pings]

UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""How a file in UTF-16 begins, which PowerShell writes."""


def is_measurement(file: str | Path) -> bool:
    """Whether a file is text, as measurements are, and no capture, whose headers hold zeros. Raises OSError."""
    with Path(file).open("rb") as opened:
        start = opened.read(4096)
    if start[:2] == b"\x1f\x8b":
        start = zlib.decompressobj(wbits=31).decompress(start)
    elif start[:3] == b"BZh":
        start = bz2.BZ2Decompressor().decompress(Path(file).read_bytes(), 4096)
    return bool(start) and (b"\0" not in start or start.startswith(UTF_16))


def read(
    files: Sequence[str | Path], idle_ms: float | None = None, loaded: Sequence[tuple[str | Path, str]] = ()
) -> Measured:
    """The readings of some files. `idle_ms`: a round trip without load that is known beside them. `loaded`: more files,
    logs of `ping` during a transfer, with the direction in which it filled the queue. Raises OSError, and
    `ScenarioError` for a file of no program above or without a reading."""
    done = Measured([], [])
    pings: list[Pings] = []
    # A file is known by its name, without its folders, unless another one has that name, too.
    paths = {Path(file) for file in (*files, *(file for file, _ in loaded))}
    alike = Counter(path.name for path in paths)
    names = {path: path.name if alike[path.name] == 1 else str(path) for path in paths}
    for file in files:
        found = list(_read(Path(file), names[Path(file)]))
        if not found:
            raise _core.ScenarioError(f"{file}: holds no measurement that ended")
        done.readings += (each for each in found if isinstance(each, Reading))
        done.shapers += (each for each in found if isinstance(each, Shaper))
        pings += (each for each in found if isinstance(each, Pings))
    # A log under load may hold no round trip without: the others, or the caller, know one.
    for file, way in loaded:
        logs = [each for each in _read(Path(file), names[Path(file)]) if isinstance(each, Pings)]
        if not logs:
            raise _core.ScenarioError(f"{file}: is no log of ping")
        pings += (replace(each, waiting=way) for each in logs)
    least = min([each.least for each in pings] + ([] if idle_ms is None else [idle_ms]), default=0.0)
    for each in pings:
        done.readings.append(Reading(RTT, each.least, each.file, LEAST_OF_PING))
        option = {QUEUE_DOWN: "--ping-down", QUEUE_UP: "--ping-up"}.get(each.waiting)
        if option is not None and each.longest - least < STANDING_MS:
            loads = [one.file for one in pings if one.waiting == QUEUE and one.waits(least)]
            swapped = f"; {loads[0]} does: are they swapped?" if loads else ""
            done.remarks.append(f"{each.file} was given as {option}, but shows no load{swapped}")
        if each.longest - least > LEAST_WAIT_MS:
            said = "the maximum of ping minus the minimum" + ("" if each.least == least else " of all logs")
            alone = not each.waits(least)
            done.readings.append(
                Reading(each.waiting, each.longest - least, each.file, said, at_least=True, alone=alone)
            )
    return done


def by_hand(values: Mapping[str, tuple[str, float]]) -> Measured:
    """Readings that a person gives: by quantity what was typed, and its value. Rates are those of speed tests, of
    data."""
    return Measured(
        [
            Reading(quantity, ip_rate(value) if quantity in (DOWN, UP) else value, GIVEN, said)
            for quantity, (said, value) in values.items()
        ],
        [],
    )


def _read(path: Path, name: str) -> Found:
    """What a file says; `name` is what stands for it."""
    content = path.read_bytes()
    if path.suffix == ".gz" or content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    elif path.suffix == ".bz2" or content[:3] == b"BZh":
        content = bz2.decompress(content)
    text = content.decode("utf-16" if content.startswith(UTF_16) else "utf-8-sig", "replace")
    if PING_LOG.search(text):
        return _ping(text, path, name)
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        for known, why in FOR_PEOPLE:
            if known.search(text):
                raise _core.ScenarioError(f"{path}: {why}") from None
        if text.lstrip()[:1] in ("{", "["):
            raise _core.ScenarioError(
                f"{path}: is JSON that is cut or damaged, at line {error.lineno}: measure again"
            ) from None
        raise _core.ScenarioError(
            f"{path}: is no capture, and no result of iperf3 -J, Flent, ping, irtt, tc -s -j qdisc or networkQuality -c"
        ) from None
    if isinstance(document, dict) and "start" in document and (failed := document.get("error")):
        raise _core.ScenarioError(f"{path}: iperf3 failed, and says: {failed}")
    for fits, reader in READERS:
        if fits(document):
            try:
                return iter(list(reader(document, name)))
            except KeyError as error:
                raise _core.ScenarioError(
                    f'{path}: looks like {reader.__name__[1:]}\'s, but is cut: it lacks "{error.args[0]}"'
                ) from None
            except (IndexError, TypeError, ValueError, AttributeError):
                raise _core.ScenarioError(f"{path}: looks like {reader.__name__[1:]}'s, but is cut") from None
    raise _core.ScenarioError(f"{path}: is JSON of no program that is known (iperf3, Flent, irtt, tc, networkQuality)")


FOR_PEOPLE = (
    (re.compile(r"^Connecting to host |^\[ *ID\] Interval", re.M), "is iperf3's text for people: run it with -J"),
    (re.compile(r"^qdisc \w+ ", re.M), "is tc's text for people: run tc -s -j qdisc"),
    (re.compile(r"^\[network\]", re.M), "is a scenario already: `sluicegate recommend` takes it"),
)
"""Outputs that are not read, and what to run instead."""


# ping ---------------------------------------------------------------------------------------------------------------

PING_LOG = re.compile(
    r"^(PING |Pinging |--- .* ping statistics)|^(\[[\d.]+\] )?\d+ bytes from |[=<]\d+[ \xa0\u202f]?ms TTL=\d", re.M
)
"""What a log of Linux, BSD, BusyBox or Windows has, whole or cut; with -D each line begins with its time."""

REPLY = re.compile(r"^(?!.*DUP!).*[=<](\d[\d.,]*)[ \xa0\u202f]?ms\b", re.M)
"""A reply with its round trip, in any language, some of which set a space that does not break.
A duplicate says nothing of it."""

SUMMARY = re.compile(r"(?:rtt|round-trip) min/avg/max(?:/\S+)? = ([\d.,]+)/[\d.,]+/([\d.,]+)")
"""The last line of Linux's, of BSD's and of BusyBox's, which has no deviation."""


def _number(text: str, path: Path) -> float:
    """One that may have a decimal comma, which `ping` writes in the language of its user, or be cut behind it."""
    if not re.fullmatch(r"\d+(?:[.,]\d*)?", text):
        raise _core.ScenarioError(f"{path}: {text} ms: must be a number such as 18.2 or 18,2")
    return float(text.replace(",", "."))


def _ping(text: str, path: Path, name: str) -> Found:
    replies = sorted(_number(each, path) for each in REPLY.findall(text))
    trips = list(replies)
    if summary := SUMMARY.search(text):
        trips += [_number(summary[1], path), _number(summary[2], path)]
    if not trips:
        raise _core.ScenarioError(
            f"{path}: ping got no answer, or the log is cut before the first: it has neither a reply (time=… ms) nor a "
            "summary (min/avg/max)"
        )
    replies = replies or sorted(trips)
    yield Pings(min(trips), max(trips), replies[-min(len(replies), max(2, -(-len(replies) // 4)))], name)


# iperf3 -------------------------------------------------------------------------------------------------------------


def _iperf3(document: Mapping[str, Any], file: str) -> Found:
    test, end = document["start"]["test_start"], document["end"]
    udp = test["protocol"] == "UDP"
    share = (test["blksize"] + UDP_HEADERS) / test["blksize"] if udp else PACKET / DATA
    ways = [("sum", DOWN if test.get("reverse") else UP)]
    if test.get("bidir"):
        ways = [("sum", UP), ("sum_bidir_reverse", DOWN)]
    for key, way in ways:
        rates = [each[key]["bits_per_second"] for each in document["intervals"] if not each[key].get("omitted")]
        rates, word = rates[len(rates) // 3 :], "iperf3's intervals, the first third left out, median"
        received = end.get(key.replace("sum", "sum_received", 1))
        if udp:
            rates = [end["sum"]["bits_per_second"] * (1 - end["sum"].get("lost_percent", 0) / 100)]
            word = "datagrams that arrived"
        elif received and (way == UP or len(rates) < 3):
            # A sender's intervals count what it wrote, and the buffer of its socket grows during the test.
            rates, word = [received["bits_per_second"]], "what iperf3's receiver got, over the whole test"
        if rates:
            yield Reading(way, statistics.median(rates) * share, file, word, at_least=udp)
    trips = [each["sender"] for each in end["streams"] if each.get("sender", {}).get("min_rtt")]
    if trips:
        least, most = min(each["min_rtt"] for each in trips) / 1e3, max(each["max_rtt"] for each in trips) / 1e3
        yield Reading(RTT, least, file, "the shortest round trip of iperf3's sender")
        if most - least > LEAST_WAIT_MS:
            yield Reading(QUEUE if test.get("bidir") else QUEUE_UP, most - least, file,
                          "the longest round trip of iperf3's sender minus the shortest")  # fmt: skip


# Flent --------------------------------------------------------------------------------------------------------------


def _flent(document: Mapping[str, Any], file: str) -> Found:
    results = document["results"]
    loads = {way: _sum_of(results, f"TCP {word}") for way, word in ((DOWN, "download"), (UP, "upload"))}
    there = {way: [at for at, value in enumerate(values) if value is not None] for way, values in loads.items()}
    busy = [at for each in there.values() for at in each]
    for way, values in loads.items():
        if there[way]:
            first, last = there[way][0], there[way][-1]
            quarter = (last - first) // 4
            middle = [value for value in values[first + quarter : last - quarter + 1] if value is not None]
            yield Reading(way, ip_rate(statistics.median(middle) * 1e6), file, "Flent, median of the middle half")
    pings = {name: values for name, values in results.items() if name.startswith("Ping (ms)") and "avg" not in name}
    trips = [value for values in pings.values() for value in values if value is not None]
    if not trips:
        return
    yield Reading(RTT, min(trips), file, "Flent's shortest ping")
    if not busy:
        return
    first, last = min(busy), max(busy)
    under = [value for values in pings.values() for value in values[first : last + 1] if value is not None]
    both = bool(there[DOWN]) and bool(there[UP])
    loaded = QUEUE if both else QUEUE_DOWN if there[DOWN] else QUEUE_UP
    if under and (wait := statistics.median(under) - min(trips)) > LEAST_WAIT_MS:
        yield Reading(loaded, wait, file, "median of Flent's pings under load minus the shortest")
    # Of UDP pings the ways are known apart, where both hosts have one clock.
    for key, quantity in (("owd_down", QUEUE_DOWN), ("owd_up", QUEUE_UP)):
        ways = [
            row[key] for name in pings for row in document["raw_values"].get(name) or () if row.get(key) is not None
        ]
        if both and ways and (wait := statistics.median(ways) - min(ways)) > LEAST_WAIT_MS:
            yield Reading(quantity, wait, file, "median of Flent's one-way delays minus the shortest")


def _sum_of(results: Mapping[str, Any], word: str) -> list[float | None]:
    """The rate of all streams of a direction, sample by sample, in Mbit/s."""
    if f"{word} sum" in results:
        return list(results[f"{word} sum"])
    streams = [values for name, values in results.items() if name.startswith(word) and "::" not in name]
    streams = [values for name, values in results.items() if name == word] or streams
    return [
        None if all(value is None for value in row) else sum(value or 0.0 for value in row)
        for row in zip(*streams, strict=True)
    ]


# irtt ---------------------------------------------------------------------------------------------------------------


def _irtt(document: Mapping[str, Any], file: str) -> Found:
    stats = document["stats"]
    yield Reading(RTT, stats["rtt"]["min"] / 1e6, file, "irtt's shortest round trip")
    for key, quantity in (("receive_delay", QUEUE_DOWN), ("send_delay", QUEUE_UP)):
        trips = [each["delay"] for each in document.get("round_trips") or () if each.get("delay")]
        ways = sorted(each[key.removesuffix("_delay")] for each in trips if key.removesuffix("_delay") in each)
        if len(ways) >= 20 and (wait := (ways[len(ways) * 95 // 100] - ways[0]) / 1e6) > LEAST_WAIT_MS:
            yield Reading(quantity, wait, file, "p95 of irtt's one-way delays minus the shortest", at_least=True)


# tc -----------------------------------------------------------------------------------------------------------------


ONE_DEVICE = "its interface"
"""What stands for the name where tc was asked for one interface: it then says none."""


def _tc(document: Sequence[Mapping[str, Any]], file: str) -> Found:
    shapes: dict[str, Any] = {}
    for each in document:
        options, device = each.get("options") or {}, each.get("dev", ONE_DEVICE)
        rate = options.get("bandwidth") if each["kind"] == "cake" else options.get("rate")
        if isinstance(rate, int | float) and each["kind"] in ("cake", "cake_mq", "tbf"):
            shapes[device] = each["kind"], 8.0 * rate, each
        elif each["kind"] == "htb":
            shapes.setdefault(device, ("htb", None, each))
        elif device in shapes and shapes[device][0] in ("htb", "tbf"):  # the discipline in a shaper
            shapes[device] = each["kind"], shapes[device][1], each
        elif each.get("root"):
            shapes.setdefault(device, (each["kind"], None, each))
    for device, (kind, bps, each) in shapes.items():
        if kind in ("noqueue", "mq", "ingress", "clsact"):
            continue
        drops, packets = each.get("drops", 0), each.get("packets", 0)
        yield Shaper(device, kind, bps, file, f"{drops} of {drops + packets} packets dropped")


# networkQuality -----------------------------------------------------------------------------------------------------


def _networkquality(document: Mapping[str, Any], file: str) -> Found:
    for key, way in (("dl_throughput", DOWN), ("ul_throughput", UP)):
        if document.get(key):
            yield Reading(way, ip_rate(document[key]), file, "networkQuality")
    base = document.get("base_rtt")
    if base:
        yield Reading(RTT, base, file, "networkQuality without load")
    for key, quantity in (
        ("dl_responsiveness", QUEUE_DOWN),
        ("ul_responsiveness", QUEUE_UP),
        ("responsiveness", QUEUE),
    ):
        if base and document.get(key) and (wait := 60_000 / document[key] - base) > LEAST_WAIT_MS:
            yield Reading(
                quantity,
                wait,
                file,
                "60 s divided by networkQuality's round trips a minute, minus the round trip without load",
            )


def _mach(document: Mapping[str, Any], file: str) -> Found:
    base = document["unloaded_latency_ms"]
    yield Reading(RTT, base, file, "mach rpm without load")
    for key, way, quantity in (("download", DOWN, QUEUE_DOWN), ("upload", UP, QUEUE_UP)):
        part = document.get(key) or {}
        if part.get("throughput"):
            yield Reading(way, ip_rate(part["throughput"]), file, "mach rpm")
        if part.get("loaded_latency_ms") and (wait := part["loaded_latency_ms"] - base) > LEAST_WAIT_MS:
            yield Reading(quantity, wait, file, "mach rpm's latency under load minus that without load")


def _has(*keys: str) -> Callable[[Any], bool]:
    return lambda document: isinstance(document, dict) and all(key in document for key in keys)


READERS: tuple[tuple[Callable[[Any], bool], Callable[[Any, str], Found]], ...] = (
    (_has("start", "intervals", "end"), _iperf3),
    (_has("results", "x_values", "metadata"), _flent),
    (lambda document: _has("stats")(document) and "rtt" in document["stats"], _irtt),
    (lambda document: isinstance(document, list) and all(_has("kind")(each) for each in document), _tc),
    (_has("dl_throughput"), _networkquality),
    (_has("unloaded_latency_ms"), _mach),
)
