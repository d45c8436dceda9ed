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
    from ._core import ScenarioError
    from ._generated import Choke, DropTail, Dumbbell, Link, Poisson, Red, Tcp, Udp
    from .api import Topology, check, dumbbell, run, simulate, topology
    from .comparison import Comparison, compare
    from .results import Run

    __version__: str

__all__ = [
    "Choke",
    "Comparison",
    "DropTail",
    "Dumbbell",
    "Link",
    "Poisson",
    "Red",
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

_ELSEWHERE = {
    "Comparison": "comparison",
    "Run": "results",
    "ScenarioError": "_core",
    "compare": "comparison",
} | dict.fromkeys(("Topology", "check", "dumbbell", "run", "simulate", "topology"), "api")


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
