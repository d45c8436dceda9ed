"""A scenario from what was learnt, as TOML with comments that say what each number is from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..io import staged_file
from ..quantities import toml_inline
from .discipline import SCHEDULES_MS
from .unknown import line

if TYPE_CHECKING:
    from .model import Direction, Learnt
    from .traffic import Group

NO_LOSS = {"loss": 0.0, "burst_start": 0.0, "burst_end": 1.0, "burst_loss": 0.0}
"""The keys that say that nothing is lost."""

LEAST_RUN, MOST_RUN = 10, 60
"""How long the scenario runs at least and at most, in seconds."""


def write(done: Learnt, path: str | Path, addresses: bool = False) -> list[Path]:
    """Write the scenario, and beside it what it needs: connection vectors (.cvec), a trace of the rate (.csv).

    Each file appears whole or not at all, the scenario last. Returns the files. Raises OSError.
    """
    path = Path(path)
    beside = {path.with_name(_vectors(path.stem, group)): group.vectors for group in done.groups if group.vectors}
    for way, suffix in ((done.forward, ".rate.csv"), (done.back, ".rate-back.csv")):
        beside[path.with_suffix(suffix)] = trace(way)
    beside[path] = text(done, path.stem, addresses)
    written = [file for file, content in beside.items() if content]
    for file in written:
        with staged_file(file) as staged:
            staged.write_text(beside[file], "utf-8")
    return written


def text(done: Learnt, name: str, addresses: bool) -> str:
    """The scenario as TOML. `name`: how the files beside it begin. `addresses`: name them in comments."""
    forward, back = done.forward, done.back
    lines = [
        f"# Learnt from captures of {done.seconds:.1f} s. The link is the direction {forward.word}.",
        *(f"# Note: {remark}" for remark in done.remarks),
        "",
        "[network]",
        *_rate(done, forward, "network.rate", f"{name}.rate.csv"),
        *_delay(done),
        *_beyond(forward, {}, ""),
    ]
    if back.passage is not None or back.rate is not None:
        lines += ["", "[network.reverse]", *_rate(done, back, "network.reverse.rate", f"{name}.rate-back.csv")]
        # What is not said of it is as forward.
        lines += _beyond(back, {} if forward.lost is None else NO_LOSS, "" if forward.jitter is None else "0 ms")
    lines += ["", *_queue(forward), *(f"# {each}" for each in _queue(back))]
    for group in done.groups:
        keys = dict(group.keys)
        if group.kind == "connections":
            keys["vectors"] = _vectors(name, group)
        elif group.count > 1:
            keys["count"] = group.count
        if group.down != forward.down:
            keys["direction"] = "reverse"
        lines += ["", f"# {group.said}"]
        if addresses and done.flows is not None:
            known = {row["id"]: row for row in done.flows.iter_rows(named=True)}
            lines += [f"# {_ends(known[flow])}" for flow in group.flows]
        lines += ["[[flows]]", f"name = {toml_inline(group.name)}", f'kind = "{group.kind}"']
        lines += [f"{key} = {toml_inline(value)}" for key, value in keys.items()]
    seconds = min(max(round(done.seconds), LEAST_RUN), MOST_RUN)
    lines += ["", "[run]", f'duration = "{seconds} s"', f'warmup = "{seconds // 4} s"']
    if done.unknown:
        lines += ["", "# Not known: the value used above, and the range of possible values"]
        lines += [line(each) for each in done.unknown]
    return "\n".join(lines) + "\n"


def _vectors(name: str, group: Group) -> str:
    """The file of a group's connection vectors."""
    return f"{name}.cvec" if group.name == "web" else f"{name}.{group.name.partition(' ')[0]}.cvec"


def trace(way: Direction) -> str:
    """The rate over time as a file for a scenario; empty where it does not vary."""
    if way.rate is None or way.rate.trace is None:
        return ""
    rows = (f"{time:.6f},{round(bps)}" for time, bps in zip(*way.rate.trace, strict=True))
    return "\n".join(["time_s,rate_bps", *rows]) + "\n"


def _rate(done: Learnt, way: Direction, key: str, file: str) -> list[str]:
    rate = way.rate
    if rate is None:
        [unknown] = [each for each in done.unknown if each.key == key]
        return [f'rate = "{unknown.value}"   # not known: see below']
    said = f"from {rate.samples} departures back to back, which fill {rate.busy:.0%} of the time"
    if rate.trace is not None:
        lines = [f'trace = "{file}"   # {rate.bps / 1e6:.4g} Mbit/s of IP on average, {said}']
        return [*lines, f'trace_period = "{rate.period:.6f} s"']
    of_ip = {None: "of IP packets (packets of one size do not show the framing)", "none": "of IP packets"}
    of = f"in bits {of_ip.get(rate.framing, 'of frames')}"
    lines = [f'rate = "{round(rate.bps)} bit/s"   # {of}; ± {rate.half_width_bps:.0f} bit/s (95 %), {said}']
    if rate.framing not in (None, "none"):
        lines.append(f'framing = "{rate.framing}"')
    return lines


def _beyond(way: Direction, unless: Mapping[str, float], jitter: str) -> list[str]:
    """What is lost behind the queue, and the jitter there. `unless`, `jitter`: what else is said, if anything."""
    found = way.lost
    keys = unless if found is None else {**unless, **found.keys}
    said = [] if found is None else [f"# {found.lost} of {found.of} segments were lost behind the queue"]
    if way.jitter is not None:
        jitter = f"{way.jitter.ms:g} ms"
    said += [f"{key} = {value:g}" for key, value in keys.items()]
    return [*said, f'jitter = "{jitter}"'] if jitter else said


def _delay(done: Learnt) -> list[str]:
    if not done.rtts_ms:
        return ['delay = "20 ms"   # not known: see below']
    # The link has what all connections have, one way; the rest is on their own access links.
    # It is rounded down, so that no round trip of a group, which are rounded too, is shorter.
    least = math.floor(min(done.rtts_ms.values()) * 100 - 1) / 100
    return [f'delay = "{least / 2:.3f} ms"   # half of the shortest of {len(done.rtts_ms)} base round trips']


def _queue(way: Direction) -> list[str]:
    told = way.told
    if told is None:
        return []
    buffer, names = told.buffer, " or ".join(told.names) or "not determined"
    depth = f"at most {buffer.packets} packets, {buffer.bytes} bytes waited"
    lines = [
        f"# The present discipline {way.word}: {names}; {depth}",
        *(f"# {each}" for each in told.evidence),
        "[queue]",
    ]
    name = told.names[0] if told.names else "drop_tail"
    lines.append(f'discipline = "{name}"')
    if told.schedule_ms not in (None, SCHEDULES_MS[0]):
        target, interval = (f"{each:g} ms" for each in told.schedule_ms)
        lines += [
            "",
            f"[queue.{name}]",
            f'target = "{target}"',
            f'{"rtt" if name == "cake" else "interval"} = "{interval}"',
        ]
    if buffer.full is not None or not told.names:
        full = f'"{buffer.bytes} B"' if buffer.full == "bytes" else str(buffer.packets)
        seen = "" if buffer.full else "   # the most that waited: see below"
        lines += ["", "[queue.drop_tail]", f"limit = {full}{seen}"]
    return lines


def _ends(flow: dict[str, object]) -> str:
    ends = [
        f"{flow[end]}" + (f" port {flow[f'{end}_port']}" if flow[f"{end}_port"] else "")
        for end in ("source", "destination")
    ]
    name = f", {flow['server_name']}" if flow["server_name"] else ""
    return f"{ends[0]} to {ends[1]}, {flow['protocol']}{name}"
