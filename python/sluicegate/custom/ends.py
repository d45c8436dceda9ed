"""Users' endpoints in Python: a transport without I/O at both ends of a flow.

`Endpoint` documents the methods. In the API, `Endpoints(ends=function)` gets a function that makes the two ends of a
flow; in files and on the command line `path.py:function` names one. Every run makes them afresh, once for each flow.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from .._core import Datagram


class Endpoint(ABC):
    """One end of a flow, written in Python; the methods are those of the Rust trait `Endpoint`.

    Times are whole nanoseconds since the start of the run; an end should use no other clock. After each call of
    `receive` and `wake` the simulator calls `poll_transmit` until it returns None, and then `deadline`.

    Subclassing is for type checkers and editors: any object with the four methods works.

    >>> class Probe(sg.Endpoint):  # Sends a datagram every 100 ms; both ends are such probes
    ...     def __init__(self):
    ...         self.next_ns = self.sent_ns = 0
    ...
    ...     def wake(self, now_ns):
    ...         self.next_ns = now_ns + 100_000_000
    ...
    ...     def poll_transmit(self, now_ns):
    ...         due = self.next_ns > self.sent_ns
    ...         self.sent_ns = self.next_ns
    ...         return sg.Datagram(b"probe") if due else None
    ...
    ...     def deadline(self):
    ...         return self.next_ns
    ...
    ...     def receive(self, datagram, now_ns):
    ...         pass
    >>> probes = sg.Endpoints(ends=lambda: (Probe(), Probe()))
    >>> run = sg.simulate(sg.dumbbell(rate="1 Mbit/s"), probes, duration="2 s", warmup="1 s")
    >>> run.flows["delivered_packets"].item()
    10
    """

    @abstractmethod
    def receive(self, datagram: Datagram, now_ns: int) -> None:
        """A datagram has arrived."""

    @abstractmethod
    def poll_transmit(self, now_ns: int) -> Datagram | None:
        """The next datagram to send now; None if there is none."""

    @abstractmethod
    def deadline(self) -> int | None:
        """When to call `wake`, unless a later call returns another time; None for never.

        A time in the past counts as the next nanosecond.
        """

    @abstractmethod
    def wake(self, now_ns: int) -> None:
        """The deadline has come. The flow also starts with this call, first for the sender, then for the receiver."""


EndsFactory: TypeAlias = Callable[..., tuple[Endpoint, Endpoint]]
"""What makes the sender and the receiver of a flow. It gets the values of `[flows.python]` as keywords. If its
signature names them, it also gets `seed`, a whole number that is the flow's own, and `flow`, its number in results."""


class EndHooks(NamedTuple):
    """The methods of an end, which the core calls, and the name of its class."""

    name: str
    receive: Callable[[Datagram, int], None]
    poll_transmit: Callable[[int], Datagram | None]
    deadline: Callable[[], int | None]
    wake: Callable[[int], None]


HERE: dict[str, EndsFactory] = {}
"""The functions that only this process knows, by the names that stand for them in scenarios."""


def named(factory: EndsFactory) -> tuple[str, dict[str, Any] | None]:
    """The name of `factory` in a scenario, and the values of `[flows.python]` that it brings along, if any."""
    values = None
    if isinstance(factory, partial) and not factory.args and all(map(_is_plain, factory.keywords.values())):
        values, factory = dict(factory.keywords), factory.func
    name = f"{getattr(factory, '__module__', '')}:{getattr(factory, '__qualname__', type(factory).__qualname__)}"
    name = name.replace("__mp_main__:", "__main__:")
    try:
        if find(name) is factory:
            return name, values
    except LookupError:
        pass
    number = 1
    while HERE.setdefault(f"{name}#{number}", factory) is not factory:
        number += 1
    return f"{name}#{number}", values


def find(name: str) -> EndsFactory:
    """The function that `named` gave this name. Raises LookupError when this process does not know it."""
    if name in HERE:
        return HERE[name]
    module, _, path = name.partition(":")
    try:
        found: Any = import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise LookupError(name) from error
    made: EndsFactory = found
    return made


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float) or (isinstance(value, list) and all(isinstance(v, str) for v in value))
