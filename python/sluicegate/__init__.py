"""Sluicegate: a laboratory for queue disciplines at a congested link.

    import sluicegate as sg

    net = sg.dumbbell(rate="1 Mbit/s", delay="1 ms", queue=sg.Choke(min_th=30, max_th=60, limit=300))
    run = sg.simulate(net, [sg.Tcp(32, "reno", window=100), sg.Udp(rate="2 Mbit/s")], duration="400 s", warmup="100 s")
    run.flows

Names are loaded when they are first used, so that `import sluicegate` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._core import ConservationError, Ctx, Packet, ScenarioError
    from ._generated import (
        Choke,
        ChokeLinux,
        DropTail,
        Dumbbell,
        EarlyRandomDrop,
        Link,
        OnOff,
        PenaltyBox,
        Poisson,
        RandomDrop,
        Red,
        Tcp,
        Udp,
    )
    from .api import Topology, check, dumbbell, run, simulate, topology
    from .comparison import Comparison, compare
    from .own import Aqm
    from .results import Run
    from .ring import Ring

    __version__: str

__all__ = [
    "Aqm",
    "Choke",
    "ChokeLinux",
    "Comparison",
    "ConservationError",
    "Ctx",
    "DropTail",
    "Dumbbell",
    "EarlyRandomDrop",
    "Link",
    "OnOff",
    "Packet",
    "PenaltyBox",
    "Poisson",
    "RandomDrop",
    "Red",
    "Ring",
    "Run",
    "ScenarioError",
    "Tcp",
    "Topology",
    "Udp",
    "__version__",
    "check",
    "compare",
    "dumbbell",
    "run",
    "simulate",
    "topology",
]

_ELSEWHERE = (
    {"Aqm": "own", "Comparison": "comparison", "Ring": "ring", "Run": "results", "compare": "comparison"}
    | dict.fromkeys(("ConservationError", "Ctx", "Packet", "ScenarioError"), "_core")
    | dict.fromkeys(("Topology", "check", "dumbbell", "run", "simulate", "topology"), "api")
)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        value = import_module("._core", __name__).version()
    elif name in __all__:
        value = getattr(import_module(f".{_ELSEWHERE.get(name, '_generated')}", __name__), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
