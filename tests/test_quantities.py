"""Units and numbers, in and out: every unit that the core reads, and each form in which numbers are printed."""

from __future__ import annotations

import json
import math

import pytest

from sluicegate import ScenarioError, _core
from sluicegate.quantities import (
    UNITS,
    UNKNOWN,
    column_value,
    did_you_mean,
    duration,
    fixed,
    in_base_unit,
    plus_minus,
    quantity,
    rate_text,
    significant,
    spread_text,
    uncertain,
)

KEYS = {"rate": "network.rate", "time": "network.delay", "size": "flows.0.packet_size"}


def declared() -> dict[str, set[str]]:
    """The units that the core declares for each kind of quantity."""
    found: dict[str, set[str]] = {}

    def look(part: object) -> None:
        if isinstance(part, dict):
            if part.get("kind") in KEYS:
                found.setdefault(part["kind"], set()).update(part["units"])
            for each in part.values():
                look(each)
        elif isinstance(part, list):
            for each in part:
                look(each)

    look(json.loads(_core.declarations()))
    return found


def test_every_unit_that_the_core_reads_is_understood() -> None:
    sizes = {"B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "KiB": 2**10, "MiB": 2**20}
    times = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}
    rates = {"bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9}
    rates |= {"bps": 1, "kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9}
    expected = {"rate": rates, "time": times, "size": sizes}
    # A buffer may be given as a time.
    assert {kind: set(units) for kind, units in expected.items()} | {"size": {*sizes, *times}} == declared()
    for kind, units in expected.items():
        for unit, factor in units.items():
            value = 100 if unit == "B" else 3  # a packet has a length at least
            if kind == "size" and value * factor > 65_535:
                assert column_value(f"{value} {unit}") == ("_bytes", value * factor)
            else:
                assert quantity("x", f"{value} {unit}", KEYS[kind]) == value * factor, unit


def test_what_is_shown_is_read_again() -> None:
    for unit, factor in UNITS.items():
        assert in_base_unit(f"7 {unit}") == 7 * factor


def test_a_mistake_names_the_argument() -> None:
    with pytest.raises(ScenarioError, match=r"^rtt"):
        quantity("rtt", "10 Mbit/s", "network.delay")
    with pytest.raises(ScenarioError, match=r'^rate = "0 Mbit/s": must be above 0 bit/s$'):
        quantity("rate", "0 Mbit/s", "network.rate")


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("0.5 Mbit/s", ("_bps", 500_000)),
        ("1.5 ms", ("_ns", 1_500_000)),
        ("64 kB", ("_bytes", 64_000)),
        ("3 packets", ("", 3)),
        ("12", ("", 12)),
        ("-0.25", ("", -0.25)),
        ("1e-3", ("", 0.001)),
        ("true", ("", True)),
        ("red", (None, "red")),
        ("3 parsecs", (None, "3 parsecs")),
        ("9" * 30, (None, "9" * 30)),
    ],
)
def test_a_value_becomes_a_cell_with_its_unit_in_the_name_of_the_column(text: str, column: tuple[str, object]) -> None:
    assert column_value(text) == column


def test_numbers_are_printed_short() -> None:
    assert [fixed(1234.56, 1e3), fixed(None), fixed(0.5, 0.01)] == ["1.2", "–", "50.0"]
    shown = [significant(value) for value in (1234.5, 12.345, 1.2345, 0.12345, 0.012345, 0.0, -250.4, math.nan, None)]
    assert shown == ["1234", "12.3", "1.23", "0.12", "0.012", "0.00", "-250", "unknown", "–"]
    assert [duration(value) for value in (90, 1.5, 0.25, 2e-6, 5e-9)] == ["90 s", "1.5 s", "250 ms", "2 us", "5 ns"]


def test_rates_are_printed_in_the_largest_unit() -> None:
    rounded = [rate_text(rate) for rate in (999, 1000, 1_234_567, 999_999, 45e6, 2.5e9, 0.4, 12_345e6)]
    assert rounded == [
        "999 bit/s",
        "1 kbit/s",
        "1.23 Mbit/s",
        "1 Mbit/s",
        "45 Mbit/s",
        "2.5 Gbit/s",
        "0.4 bit/s",
        "12.3 Gbit/s",
    ]
    exact = [rate_text(rate, whole=True) for rate in (999, 1000, 1_234_567, 45_500_000, 2 * 10**9)]
    assert exact == ["999 bit/s", "1 kbit/s", "1234567 bit/s", "45500 kbit/s", "2 Gbit/s"]


@pytest.mark.parametrize(
    ("mean", "half", "sign", "text"),
    [
        (659.6, 3131.0, "", "659.6 ± 3131.0"),  # two runs that differ: a half width above the mean says so
        (0.3, 0.04, "", "0.3"),
        (-0.04, 0.6, "", "0.0 ± 0.6"),
        (1.0, 40.0, "+", "+1.0 ± 40.0"),
        (659.6, None, "", "659.6 ± –"),
        (659.6, math.nan, "", "659.6 ± –"),
    ],
)
def test_only_a_half_width_that_rounds_to_zero_is_left_out(
    mean: float, half: float | None, sign: str, text: str
) -> None:
    assert plus_minus(mean, half, 1, sign, UNKNOWN) == text


def test_the_dash_is_explained_where_it_stands() -> None:
    said = spread_text(2)
    assert [spread_text(1), spread_text(2, True)] == ["no intervals", f"{said}; ± –: only one run has a value"]


@pytest.mark.parametrize(
    ("mean", "half", "unit", "text"),
    [
        (99.99947, 0.00051, "%", "100.0"),
        (98.4412, 0.2344, "%", "98.4 ± 0.2"),
        (9.964, 0.012, "%", "10.0"),
        (3.4217, 0.0523, "% of the link", "3.422 ± 0.052"),
        (0.01234, 0.00123, "%", "0.0123 ± 0.0012"),
        (4833.3123, 0.0214, "kbit/s", "4833.31 ± 0.02"),
        (1_234_567, 100, "packets", "1234570 ± 100"),
        (12345.678, 0.02, "ms", "12345.68 ± 0.02"),
        (4833.3123, 12.4, "kbit/s", "4833 ± 12"),
        (4_833_312.0, 12_400.0, "bit/s", "4833000 ± 12000"),
        (12.34567, 0.0042, "ms", "12.346 ± 0.004"),
        (0.999947, 0.000051, "", "0.9999 ± 0.0001"),
        (-3.21987, 0.4567, "points", "-3.22 ± 0.46"),
        (0.0, 0.4567, "ms", "0.00 ± 0.46"),
        (-0.4, 234.0, "points", "0 ± 230"),
        (1.234e-9, 3.1e-10, "s", "1.23e-09 ± 3e-10"),
        (51.0, math.nan, "%", "51.0"),
        (51.0, 1e-9, "%", "51.0"),
        (0.0, 0.0, "%", "0"),
        (math.inf, math.nan, "s", "unknown"),
        (1.0, math.inf, "ms", "1.00"),
    ],
)
def test_a_mean_has_no_more_digits_than_its_interval_and_its_unit_have_use_for(
    mean: float, half: float, unit: str, text: str
) -> None:
    assert uncertain(mean, half, unit) == text


def test_names_of_files_that_are_no_text_are_compared_too() -> None:
    assert did_you_mean("caf\udce9", ["b", "caf\udce9s"]) == '; did you mean "caf\udce9s"?'
    assert did_you_mean("x", ["q"], "") == "", "one letter is near to no other"
