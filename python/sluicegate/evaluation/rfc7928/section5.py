"""RFC 7928, Sec. 5: transport protocols."""

from __future__ import annotations

from typing import Any

from ..._generated import Source
from ...reproduce import Settings
from ..suite import Number, Scenario
from .traffic import cbr, ledbat, transfers


def trade(of: str) -> tuple[Number, ...]:
    """The trade-off of Sec. 2.7, end to end, where one kind of flow has the link."""
    return Number(of, "delay_mean_ns"), Number(of, "goodput_bps")


def windows(settings: Settings) -> dict[str, Source]:
    """Sec. 5.1.2: a long transfer, and short ones that start at any time once it is under way."""
    start, spread = f"{settings.warmup_s} s", f"{0.9 * settings.measured_s} s"
    short: dict[str, Any] = {"size": 50, "start": start, "spread": spread}
    return {
        "long": transfers(),
        "IW 3": transfers(20, **short),
        "IW 10": transfers(20, initial_window=10, **short),
    }  # fmt: skip


SCENARIOS = (
    Scenario(
        "friendly", "5.1.1", "TCP-friendly sender, same initial window",
        "One NewReno transfer without end, with an initial window of three packets, has the link. Its delay and "
        "goodput are the trade-off that the discipline makes for one well-behaved flow.",
        lambda settings: {"NewReno": transfers()}, trade("NewReno"),
    ),
    Scenario(
        "initial-windows", "5.1.2", "TCP-friendly sender, different initial windows",
        "Beside a NewReno transfer without end, transfers of 50 packets start at random times with initial windows of "
        "3 and 10 packets. How soon they are done shows what the discipline makes of a burst into a full queue.",
        windows, (Number("IW 3", "completion_mean_ns"), Number("IW 10", "completion_mean_ns")),
        packets=True,
    ),
    Scenario(
        "aggressive", "5.2", "Aggressive sender",
        "One CUBIC transfer without end has the link. It grows faster and gives up less than NewReno.",
        lambda settings: {"CUBIC": transfers(algorithm="cubic")}, trade("CUBIC"),
    ),
    Scenario(
        "aggressive-friendly", "5.2", "Aggressive beside TCP-friendly sender",
        "A CUBIC transfer shares the link with a NewReno transfer. CUBIC's goodput over NewReno's is 1 if the "
        "discipline makes them equal.",
        lambda settings: {"NewReno": transfers(), "CUBIC": transfers(algorithm="cubic")},
        (Number("CUBIC", "over_first"), Number("NewReno", "delay_mean_ns")),
    ),
    Scenario(
        "aggressive-bbr", "5.2", "BBR beside TCP-friendly sender",
        "A transfer with BBR's first version, which heeds no single loss, shares the link with a NewReno transfer. Few "
        "disciplines keep it from taking most of the link.",
        lambda settings: {"NewReno": transfers(), "BBR": transfers(algorithm="bbr", initial_window=10)},
        (Number("BBR", "over_first"), Number("NewReno", "delay_mean_ns")),
    ),
    Scenario(
        "unresponsive", "5.3", "Unresponsive sender above the capacity",
        "A UDP flow sends 12 Mbit/s into the 10 Mbit/s of the link. All that a discipline can do is to keep the "
        "queue short: at least a sixth of the packets is lost.",
        lambda settings: {"UDP": cbr("12 Mbit/s")}, trade("UDP"),
    ),
    Scenario(
        "unresponsive-friendly", "5.3", "Unresponsive beside TCP-friendly sender",
        "A UDP flow sends 7.5 Mbit/s, more than half of the link, beside one NewReno transfer. The transfer's goodput "
        "shows whether the discipline keeps the unresponsive flow under control.",
        lambda settings: {"NewReno": transfers(), "UDP": cbr("7.5 Mbit/s")},
        (Number("NewReno", "goodput_bps"), Number("NewReno", "delay_p99_ns")),
    ),
    Scenario(
        "less-than-best-effort", "5.4", "Less-than-best-effort sender",
        "A LEDBAT transfer shares the link with a NewReno transfer, which it is to yield to. Under a discipline that "
        "keeps the delay below LEDBAT's target it no longer does.",
        lambda settings: {"NewReno": transfers(), "LEDBAT": ledbat()},
        (Number("NewReno", "goodput_bps"), Number("LEDBAT", "goodput_bps")),
    ),
)  # fmt: skip
