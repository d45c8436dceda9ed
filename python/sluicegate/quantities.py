"""Quantities: texts with units read by the core, and numbers written for people.

A quantity is a whole number of bits per second, nanoseconds or bytes. The core alone parses units; what it has read it
shows in the units of `UNITS`. The core is imported where it is needed, so that printing a number does without it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

UNITS = {"bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9, "B": 1}
UNITS |= {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
"""The units in which the core shows quantities, in bit/s, bytes and nanoseconds."""

NUMBER = r"[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?"
"""A number as scenarios write it, as a regular expression."""

SUFFIXES = {"network.rate": "_bps", "network.delay": "_ns", "queue.limit": "_bytes"}
"""A key of each kind of quantity, and how the names of columns that hold such quantities end."""

PROBE = """\
network = { rate = "1 Mbit/s", delay = "1 ms" }
queue = { discipline = "drop_tail" }
flows = [{ kind = "udp", rate = "1 Mbit/s" }]
run = { duration = "1 s" }
"""
"""A scenario that the core reads a single value in."""


def did_you_mean(given: str, known: Iterable[str], otherwise: str | None = None) -> str:
    """The end of a message about a name that is none of those known: the nearest of them, or else `otherwise`, which is
    all of them unless given."""
    from ._core import nearest

    names = list(dict.fromkeys(known))
    near = nearest(given, names)
    hint = f'did you mean "{near}"?' if near else f"known: {', '.join(names)}" if otherwise is None else otherwise
    return hint and f"; {hint}"


def wrapped(label: str, width: int) -> str:
    """The label of a discipline on several lines, broken before colons, where it is longer than `width`."""
    lines = [""]
    for index, part in enumerate(label.split(":")):
        piece = f":{part}" if index else part
        if lines[-1] and len(lines[-1]) + len(piece) > width:
            lines.append("")
        lines[-1] += piece
    return "\n".join(lines)


def mistyped(given: str) -> str:
    """The end of a message about a rate or a time that is none: what was probably meant, if that is known."""
    found = re.fullmatch(r"\s*(\d+)(?:[.,](\d+))?\s*(\D*?)\s*", given)
    if found is None:
        return ""
    number, unit = found[1] + (f".{found[2]}" if found[2] else ""), found[3]
    if unit[-3:] == "B/s":
        return f'; B/s are bytes: 8 times as many bits, "{8 * float(number):g} {unit[:-3]}bit/s"'
    known = next((each for each in UNITS if each.lower() == unit.lower()), None)
    meant = f"{number} {known}"
    return "" if known is None or meant == given.strip() else f'; did you mean "{meant}"?'


def toml_text(value: object) -> str:
    """A value as an override takes it: a text as it is, anything else as JSON, which is TOML for such values."""
    return value if isinstance(value, str) else json.dumps(value)


def toml_inline(value: object) -> str:
    """A value of any depth as it stands behind a key of a TOML file; what is None is left out of tables."""
    if isinstance(value, Mapping):
        entries = (f"{json.dumps(key)} = {toml_inline(item)}" for key, item in value.items() if item is not None)
        return f"{{{', '.join(entries)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(toml_inline(item) for item in value)}]"
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)  # nan, inf: the core says that they are wrong
    return json.dumps(value, ensure_ascii=False)


def checked(name: str, value: object, key: str) -> object:
    """`value` as the core reads it in the place of `key` in a scenario. Raises `ScenarioError` that says `name`."""
    from . import _core

    parts = key.split(".")
    sets = [(key, toml_text(value))]
    if parts[0] == "queue" and len(parts) == 3:  # a parameter of a discipline's own
        sets.insert(0, ("queue.discipline", parts.pop(1)))
    try:
        found: Any = _core.Scenario(PROBE, "<python>", sets).resolved()
    except _core.ScenarioError as error:
        raise _core.ScenarioError(str(error).removeprefix("sets: ").replace(key, name, 1)) from None
    for part in parts:
        found = found[int(part) if part.isdigit() else part]
    return found


def quantity(name: str, value: object, key: str) -> int:
    """A quantity above 0, of the kind that `key` of a scenario takes, in bit/s, nanoseconds or bytes.

    Raises `ScenarioError` that says `name`.
    """
    from . import _core

    text = str(checked(name, value, key))
    number = in_base_unit(text)
    if number == 0:
        raise _core.ScenarioError(f'{name} = "{value}": must be above 0 {text.partition(" ")[2]}')
    return number


def in_base_unit(shown: str) -> int:
    """A quantity that the core has shown, such as "10 ms", in bit/s, nanoseconds or bytes."""
    number, _, unit = shown.partition(" ")
    return int(number) * UNITS[unit]


def column_value(text: str) -> tuple[str | None, bool | int | float | str]:
    """How a column that holds such values is to end, and the value in its unit; None and `text` for what is no number.

    "0.5 Mbit/s" gives ("_bps", 500000), "30 packets" ("", 30), "red" (None, "red").
    """
    from . import _core

    if text in ("true", "false"):
        return "", text == "true"
    if re.fullmatch(r"[+-]?\d+", text):
        return ("", int(text)) if abs(int(text)) < 2**63 else (None, text)
    if re.fullmatch(NUMBER, text):
        return "", float(text)
    if not re.match(NUMBER, text):
        return None, text
    for key, suffix in SUFFIXES.items():
        try:
            found = checked("", text, key)
        except _core.ScenarioError:
            continue
        return ("", found) if isinstance(found, int) else (suffix, in_base_unit(str(found)))  # an int: "30 packets"
    return None, text


def rate_text(bps: float, digits: int = 3, *, whole: bool = False) -> str:
    """A rate in the largest unit in which it is at least 1, to some digits; `whole`: in which it is a whole number."""
    for unit in ("Gbit/s", "Mbit/s", "kbit/s"):
        scale = UNITS[unit]
        if whole and bps % scale == 0:
            return f"{bps // scale} {unit}"
        if not whole and float(f"{bps:.{digits}g}") >= scale:
            return f"{bps / scale:.{digits}g} {unit}"
    return f"{bps if whole else f'{bps:.{digits}g}'} bit/s"


def two(value: float) -> float:
    """A number to two digits, for what is known no better."""
    return float(f"{value:.2g}")


def no_further(value: float, way: Literal["up", "down"], digits: int = 3) -> float:
    """A number to some digits for a bound that holds no further than it was measured: rounded one way only."""
    step = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    places = round(value / step, 6)  # what is whole but for the last bits of a double is whole
    return (math.ceil(places) if way == "up" else math.floor(places)) * step


def rate_unit(largest: float) -> tuple[str, float]:
    """The unit in which rates of up to `largest` bit/s are shown, and its factor from bit/s."""
    return ("Mbit/s", 1e-6) if largest >= 1e8 else ("kbit/s", 1e-3)


def rate_digits(factor: float) -> int:
    """How many decimals a rate has in the unit of this factor: two of Mbit/s, where calls stand beside downloads."""
    return 2 if factor == 1e-6 else 1


def users_text(users: float) -> str:
    """How many people use a group of flows, in a table."""
    return f"{users:.0f} user{'s' * (round(users) != 1)}"


def fixed(value: float | None, unit: float = 1, digits: int = 1) -> str:
    """A value in a unit; a dash for a missing one."""
    return "–" if value is None else f"{value / unit:.{digits}f}"


def significant(value: float | None) -> str:
    """A number to about three significant digits; a dash for a missing one, "unknown" for one that is not finite."""
    if value is None:
        return "–"
    if not math.isfinite(value):
        return "unknown"
    magnitude = abs(value)
    if magnitude >= 100:
        return f"{value:.0f}"
    if magnitude >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if magnitude >= 0.1 or magnitude == 0 else f"{value:.2g}"


UNKNOWN = "± –"
"""What tables show in place of a half width if only one of several runs has the value."""


def plus_minus(mean: float, half: float | None, decimals: int, sign: str = "", alone: str = "") -> str:
    """A mean and the half width of its interval, in one unit and to so many decimals (tens if negative). The half width
    is left out where it rounds to zero; `alone` stands for that of a single run, which has none (None or NaN). `sign`:
    "+" for differences."""
    if half is None or math.isnan(half):
        spread = alone
    else:
        rounded = round(half, decimals)
        spread = f"± {rounded:.{max(decimals, 0)}f}" if rounded else ""
    return f"{round(mean, decimals) + 0.0:{sign}.{max(decimals, 0)}f} {spread}".rstrip()  # no -0


def spread_text(count: int, of_one_run: bool = False) -> str:
    """What a table says of its intervals: "mean ± half width of its 95 % interval", and, if the table has a value
    that only one of several runs has, what the dash beside it means."""
    if count < 2:
        return "no intervals"
    return f"mean ± half width of its 95 % interval{f'; {UNKNOWN}: only one run has a value' if of_one_run else ''}"


def uncertain(mean: float, half: float, unit: str = "", most: int = 4, decimals: int = 6) -> str:
    """A mean and the half width of its interval, without their unit, to the half width's second digit.

    No more digits than are of use: decimals beyond `most` significant digits only to the first digit of the half width,
    and none in shares and percentages; one decimal of percentages from 10 on; `decimals`. The half width is left out
    where it does not show at these digits. With one that is unknown (not finite) or 0 the mean is `significant`.
    """
    if not math.isfinite(mean) or not math.isfinite(half) or half <= 1e-6 * abs(mean):  # rounding errors of sums
        return significant(mean) if mean else "0"
    digits = 1 - math.floor(math.log10(half))
    if mean:
        enough = most - 1 - math.floor(math.log10(abs(float(f"{mean:.{most - 1}e}"))))
        share = unit.startswith("%") or (not unit and abs(mean) <= 1)
        digits = min(digits, enough if share else max(enough, digits - 1, min(digits, 0)))
    if unit.startswith("%") and round(abs(mean), 1) >= 10:
        digits = min(digits, 1)
    if digits > decimals and decimals >= 6:
        return f"{mean:.3g} ± {half:.1g}"
    return plus_minus(mean, half, min(digits, decimals))


def duration(seconds: float) -> str:
    """A time in the largest unit in which it is at least 1, to three digits."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
