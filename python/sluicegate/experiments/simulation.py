"""A run that the caller drives: advance it, inspect it, change it, continue."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self

from .. import _core, traps
from ..custom import aqm as custom_aqm
from ..declared import factory, plain
from ..progress import shown
from ..quantities import checked, in_base_unit, toml_inline, toml_text
from ..results import Run
from ..scenario import Flows, Sets, TrapWarning, What, queue_table, subject, warn
from .disciplines import Queue, one, read_under, under
from .run import Progress


class Simulation:
    """A run in progress.

    Stopping a run and looking at it do not change its results: advanced in steps, it ends as with `simulate`. What
    `set` changes is recorded, so that the run can be repeated.

    >>> simulation = sg.Simulation("unresponsive", duration="2 s", warmup="0 s")
    >>> simulation.advance(to="1 s").now
    1.0
    >>> simulation.set("queue.discipline", "codel")
    >>> run = simulation.finish()
    >>> simulation.changes
    [{'time': '1 s', 'key': 'queue.discipline', 'value': 'codel'}]
    """

    def __init__(
        self,
        network: What,
        flows: Flows | None = None,
        *,
        queue: Queue | None = None,
        sets: Sets | None = None,
        changes: Iterable[Mapping[str, Any]] | None = None,
        duration: str | None = None,
        warmup: str | None = None,
        seed: int | None = None,
        sample: str | None = None,
        series: bool | None = None,
        exchanges: bool | None = None,
        recent: int | None = None,
        packets: int | None = None,
        segments: int | None = None,
        positions: int | None = None,
    ) -> None:
        """Begin a run; nothing has happened yet.

        All but `changes` as for `simulate`; a scenario as a mapping, such as `summary["scenario"]` of a run, repeats
        that run with its changes.
        `changes`: what to change and when, each with `time`, `key` and `value`: those of another simulation of the same
        scenario repeat it. They take the place of those that the scenario has.

        Raises `ScenarioError`, OSError, and TypeError when something is no network, discipline or source.
        """
        about = subject(
            network, flows, sets=sets, duration=duration, warmup=warmup, seed=seed, sample=sample, series=series,
            exchanges=exchanges, recent=recent, packets=packets, segments=segments, positions=positions,
        )  # fmt: skip
        choice = None if queue is None else one(queue)
        self._maker = custom_aqm.Maker(under(about, choice)[2])
        given = [] if changes is None else [("changes", toml_inline([self._change(change) for change in changes]))]
        read = read_under(about, choice, given)
        read.warn()
        with about.told():
            self._core = _core.Simulation(read.core, self._maker)
        self._finished: tuple[Run, list[dict[str, Any]]] | None = None
        self._duration = self._core.clock()[1]

    # --- time ----------------------------------------------------------------------------------

    @property
    def now(self) -> float:
        """The simulated time in seconds."""
        return self.duration if self._finished else self._core.clock()[0] / 1e9

    @property
    def duration(self) -> float:
        """The length of the run in seconds."""
        return self._duration / 1e9

    @property
    def done(self) -> bool:
        """Whether the run has reached its end."""
        return self.now >= self.duration

    def advance(
        self, to: float | str | None = None, *, by: float | str | None = None, progress: Progress | bool | None = None
    ) -> Self:
        """Run up to and including the time `to`, or for the time `by`, and at most to the end; return this object.

        Both are seconds, or texts such as "100 ms". A time that has passed has no effect. Ctrl-C interrupts it, and the
        run can continue afterwards. An exception of a discipline in Python is raised here, and ends the run.
        """
        if (to is None) == (by is None):
            raise TypeError("advance needs either a time `to` or a time `by`")
        time = _nanoseconds("by" if to is None else "to", by if to is None else to)
        if not self._finished:
            until = time + (self._core.clock()[0] if to is None else 0)
            self._advance(min(until, self._duration), progress)
        return self

    def _advance(self, until: int, progress: Progress | bool | None) -> None:
        with shown(progress, lambda now, end, _: (now, end, f"{now:.0f} of {end:.0f} s")) as told:
            self._core.advance(until, told)

    # --- looking -------------------------------------------------------------------------------

    def results(self) -> Run:
        """The results so far, in the form of `finish`: since the end of the warm-up, or during the warm-up since the
        start.

        The run continues unchanged.
        """
        return self._finished[0] if self._finished else Run(self._maker.summary(self._core.results()))

    def finish(self, progress: Progress | bool | None = None) -> Run:
        """Run to the end, and return the results. Another call returns them again."""
        if self._finished is None:
            self._advance(self._duration, progress)
            changes = self.changes
            self._finished = Run(self._maker.summary(self._core.finish())), changes
            done = self._finished[0]
            warn(traps.of_run(done.summary["scenario"], done.links, done.queue), TrapWarning)
        return self._finished[0]

    # --- changing ------------------------------------------------------------------------------

    def set(self, key: str, value: object) -> None:
        """Change a value at the present time, after everything else that happens then.

        `key` is named as an override names it: a parameter of the discipline under study ("queue.choke.candidates"), at
        all links that it manages; one of a udp, poisson or on_off source ("flows.1.rate"), from its next packet on; or
        "queue.discipline". Its value is the name of a discipline, with the parameters that the scenario has for it; or
        a discipline such as `sluicegate.Red(max_p=0.1)`; or a class of your own. The new discipline is offered the
        queued packets in order, and drops those that it refuses with the reason `reconfigured`.

        Raises `ScenarioError` when the key or the value is wrong, or cannot change; then nothing changes.
        """
        written = self._change({"key": key, "value": value})
        value = written["value"]
        text = toml_text(value) if not isinstance(value, Mapping | list) else toml_inline(value)
        self._core.set(written["key"], text)

    @property
    def changes(self) -> list[dict[str, Any]]:
        """All changes so far, and those that the scenario schedules for later: `time`, `key` and `value`, in order.

        `Simulation(..., changes=...)` with the same scenario repeats the run. `summary["scenario"]` of the results
        includes them, so it can repeat the run alone.
        """
        if self._finished:
            return self._finished[1]
        found: list[dict[str, Any]] = json.loads(self._core.changes())
        for change in found:
            if isinstance(change["value"], str):
                change["value"] = self._maker.factories.get(change["value"], change["value"])
        return found

    def _change(self, change: Mapping[str, Any]) -> dict[str, Any]:
        """A change as a scenario has it: disciplines as tables or by name, times with their unit."""
        written = dict(change)
        if not isinstance(written.get("time", ""), str):
            written["time"] = f"{_nanoseconds('time', written['time'])} ns"
        key, value = written.get("key"), plain(written.get("value"))
        if key in ("queue", "queue.discipline") and not isinstance(value, str | Mapping):
            own = factory(value)
            if own is None:
                key, value = "queue", queue_table(value)
            else:
                key, value = "queue.discipline", self._maker.name(own)
        return written | {"key": key, "value": value}

    # --- ending --------------------------------------------------------------------------------

    def close(self) -> None:
        """End the run and free its memory."""
        self._core.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        try:
            return f"<sluicegate.Simulation at {self.now:g} s of {self.duration:g} s>"
        except RuntimeError as error:
            return f"<sluicegate.Simulation: {error}>"


def _nanoseconds(name: str, time: object) -> int:
    """A time in seconds or with its unit, in nanoseconds. Raises `ScenarioError`."""
    time = plain(time)
    if isinstance(time, int | float) and not isinstance(time, bool):
        if not (math.isfinite(time) and 0 <= time <= 1e9):
            raise _core.ScenarioError(f"{name} = {time}: must be at least 0 and at most 1e9 seconds")
        return round(time * 1e9)
    return in_base_unit(str(checked(name, time, "network.delay")))
