"""Replay of captures: real packets, at their recorded times, through a discipline and over a link of some rate."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _core
from ..custom import aqm as custom_aqm
from ..declarations import declarations
from ..io import staged_file
from ..progress import shown
from ..quantities import toml_text
from ..results import Results, read_tables
from ..results.result_object import read_summary
from . import replay_page
from .disciplines import Choice, Listed, choices

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from .._generated import Discipline
    from ..custom.aqm import AqmFactory
    from ..page import Table
    from ..scenario import Sets

Progress = Callable[[int, int], object]
"""Called some 20 times a second with bytes of the capture and packets read so far; may raise to end the replay."""


class Replay(Results):
    """The results of a replay: the tables `flows`, `links`, `queue` and `delays`, and the summary. With several
    disciplines each table begins with the column `discipline`, which has their labels.

    A recorded sender does not react to drops, marks or delays of this queue.

    Attributes:
        damage: What is wrong with the capture, if reading ended early; None if it was read to its end.

    >>> run = sg.run("unresponsive", duration="2 s", warmup="0 s", pcap={"bottleneck": "sent.pcapng"})
    >>> replay = sg.replay("sent.pcapng", rate="500 kbit/s", queue="choke")
    >>> replay.flows.height, replay.damage
    (31, None)
    """

    def table(self, name: str) -> pl.DataFrame:
        """The table of that name. Raises KeyError."""
        if name not in self.tables:
            raise KeyError(f"{name}: a replay has the tables {', '.join(self.tables)}")
        return super().table(name)

    @property
    def queue(self) -> pl.DataFrame:
        """The queue over time: its average and the longest in each interval."""
        return self.table("queue")

    @property
    def delays(self) -> pl.DataFrame:
        """The distribution of waiting times: packets in bins of waiting time."""
        return self.table("delays")

    @property
    def damage(self) -> str | None:
        """Where and how the capture is damaged, in a sentence; None when it is not."""
        found = self.summary["capture"]["damage"]
        return None if found is None else f"damaged at byte {found['offset_bytes']}: {found['what']}"

    @classmethod
    def read(cls, directory: str | Path) -> Replay:
        """What `write` wrote, or `sluicegate replay -o`.

        Raises OSError, and ValueError when the folder contains something else.
        """
        summary = read_summary(directory, "a replay", ("version", "capture", "replay"))
        return cls.of(summary, read_tables(directory, "replay_tables", ["links"]))

    @property
    def disciplines(self) -> list[str]:
        """The labels of the disciplines, in the given order."""
        return list(self._names)

    @property
    def _names(self) -> dict[str, str]:
        """The discipline's name of each label."""
        about = self.summary["replay"]
        several = about.get("disciplines") or [{"label": about["queue"]["discipline"], "queue": about["queue"]}]
        return {each["label"]: each["queue"]["discipline"] for each in several}

    def plot(self) -> Figure:
        """Packets that left the link, queueing delays and drops by reason: for the largest flows, or for each
        discipline."""
        if len(self._names) == 1:
            return replay_page.flow_figure(self.flows)
        from ..plot import replay as figures

        return figures.rows(self.links, list(self._names))

    def html(self) -> str:
        """The page of the replay: the link, flows, disciplines side by side."""
        return replay_page.page(self.summary, self.tables, self._names, self.remarks()).html()

    def overview(self) -> Table:
        """The link's results."""
        return replay_page.links(self.links)

    def remarks(self) -> list[str]:
        """Warnings about the capture that affect the meaning of its results, as sentences."""
        capture, damage = self.summary["capture"], self.damage
        ended = [] if damage is None else [f"{damage}; the {capture['packets']} packets before it were replayed"]
        return [*ended, *capture["warnings"]]

    def __repr__(self) -> str:
        totals, several = self.summary["totals"], len(self._names) > 1
        under = f"; {', '.join(self._names)}" if several else ""
        return f"<sluicegate.Replay {totals['arrivals_packets']} packets, {totals['flows']} flows{under}>"


def replay(
    capture: str | Path,
    *,
    rate: str,
    queue: str | Discipline | AqmFactory | None = None,
    disciplines: Listed | None = None,
    seed: int | None = None,
    length: str | None = None,
    mtu: int | None = None,
    on_jump: str | None = None,
    flows: int | None = None,
    write: str | Path | None = None,
    sets: Sets | None = None,
    progress: Progress | bool | None = None,
) -> Replay:
    """Replay the packets of `capture`, at their recorded times, through `queue` at a link of `rate`.

    `capture`: a pcap or pcapng file; `-` is standard input. `rate`: of the link, such as "10 Mbit/s". `queue`: a
    discipline, its name ("choke", "choke:candidates=2"), or the class of your own (default: Drop Tail).
    `disciplines`: several instead, as for `compare`. The capture is replayed through each, with the same seed; the
    column `discipline` of the tables distinguishes them. `seed`: of a discipline's random stream and of the hash that
    distinguishes flows (default 1). `length`: which length of a packet counts, "ip" (default) or "frame". `mtu`: the
    longest packet of the link in bytes (default 1500); longer packets, which the capturing host merged, are split;
    defaults of the queue follow from it. `on_jump`: what to do if times jump, back by more than half a second or ahead
    by more than a day: "error" (default), "skip" (leave packets out) or "shift" (let them follow at once). `flows`: how
    many flows have their own row (default 20,000); later ones share one. `write`: a new pcapng file for the packets
    that left the link, with their new times; it appears completely or not at all. `sets`: more overrides, such as
    {"queue.limit": 100}. `progress`: a function, True for a bar, False for none (default: a bar on a terminal and in a
    notebook).

    A damaged capture is replayed up to the damage, which `Replay.damage` names. Raises `ScenarioError` when a value is
    wrong, `capture` is not a capture, or its times jump and `on_jump` is "error"; OSError when a file cannot be read or
    written; TypeError when `queue` is not a discipline. KeyboardInterrupt ends the replay, and so does any exception of
    `progress` or of your own discipline.

    >>> run = sg.run("unresponsive", duration="2 s", warmup="0 s", pcap={"bottleneck": "sent.pcapng"})
    >>> replay = sg.replay("sent.pcapng", rate="500 kbit/s", disciplines="drop_tail,codel")
    >>> replay.disciplines
    ['drop_tail', 'codel']
    """
    place = str(capture)
    if place != "-":
        if Path(place).is_dir():
            raise IsADirectoryError(21, "is a directory, not a capture", place)
        os.stat(place)  # says what is wrong, with the file's name
    if write is not None and place != "-" and os.path.exists(write) and os.path.samefile(place, write):
        raise _core.ScenarioError(f"{write}: is the capture itself: write to another file")
    if queue is not None and disciplines is not None:
        raise _core.ScenarioError("queue is one discipline, disciplines are several: give one of the two")
    listed: list[Choice | None] = [None]
    if queue is not None:
        listed = [*choices(queue, "queue")]
        if len(listed) != 1:
            raise _core.ScenarioError("a replay has one discipline as queue; give several as disciplines")
    elif disciplines is not None:
        listed = [*choices(disciplines)]
    if len(listed) > 1 and place == "-":
        raise _core.ScenarioError("standard input can be read once only: give a file for several disciplines")
    if len(listed) > 1 and write is not None:
        raise _core.ScenarioError("write: what leaves the link can be written for one discipline only")
    settings = {"rate": rate, "length": length, "mtu": mtu, "on_jump": on_jump, "flows": flows, "seed": seed}
    stated = [(key, toml_text(value)) for key, value in settings.items() if value is not None]
    done: list[Replay] = []
    size = os.path.getsize(place) * len(listed) if os.path.isfile(place) else None
    with shown(progress, lambda read, packets: (read, size, f"{packets} packets")) as told:
        for choice in listed:
            before = sum(each.summary["capture"]["read_bytes"] for each in done)
            later = told if told is None or not before else partial(_later, told, before)
            done.append(_replay(place, stated, choice, sets, write, later))
    return done[0] if len(done) == 1 else _beside([each for each in listed if each is not None], done)


def _later(progress: Progress, before: int, read: int, packets: int) -> object:
    """Tell of a replay after others, which have read so many bytes."""
    return progress(before + read, packets)


def _beside(listed: Sequence[Choice], done: Sequence[Replay]) -> Replay:
    """Replays under several disciplines as one."""
    import polars as pl

    tables = {}
    for name in done[0].tables:
        labelled = [
            each.table(name).with_columns(pl.lit(choice.label).alias("discipline"))
            for choice, each in zip(listed, done, strict=True)
        ]
        joined = pl.concat(labelled)
        tables[name] = joined.select("discipline", pl.exclude("discipline"))
    summaries = [each.summary for each in done]
    first = summaries[0]
    entries = [
        {"label": choice.label, "queue": each["replay"]["queue"]}
        | {key: each[key] for key in ("own_discipline",) if key in each}
        for choice, each in zip(listed, summaries, strict=True)
    ]
    settings = {key: value for key, value in first["replay"].items() if key != "queue"}
    totals = {key: first["totals"][key] for key in ("flows", "arrivals_packets")}
    totals["duration_s"] = max(each["totals"]["duration_s"] for each in summaries)
    summary = first | {"replay": settings | {"disciplines": entries}, "totals": totals}
    summary.pop("own_discipline", None)
    return Replay.of(summary, tables)


def _replay(
    place: str, stated: Sequence[tuple[str, str]], choice: Choice | None, sets: Sets | None, write: str | Path | None,
    progress: Progress | None,
) -> Replay:  # fmt: skip
    """The replay under one discipline, Drop Tail without a choice."""
    from ..scenario import override_texts, warn_unused

    overrides = [*stated, *(choice.sets if choice else ()), *override_texts(sets)]
    maker = custom_aqm.Maker(choice.queue if choice else None)
    with ExitStack() as stack:
        target = None if write is None else stack.enter_context(staged_file(write))
        try:
            warn_unused([_core.unused_in_replay(overrides)])
            raw: dict[str, Any] = dict(
                _core.replay(place, overrides, None if target is None else str(target), progress, maker)
            )
        except _core.ScenarioError as error:
            raise _core.ScenarioError(str(error).removeprefix("sets: ")) from None
    if maker.about:
        raw["summary"] = json.dumps(json.loads(raw["summary"]) | {"own_discipline": maker.about})
    return Replay(raw)  # type: ignore[arg-type]


def file_names() -> list[str]:
    """The names of the files that `Replay.write` writes."""
    tables = declarations()["replay_tables"]
    return [*(f"{table['name']}.parquet" for table in tables), "summary.json"]


def write_files(folder: Path, done: Replay) -> None:
    """Write what a replay gave, with its figure and page, into a folder that is there. Raises OSError."""
    from ..plot import style

    done.write_files(folder)
    (folder / DRAWN[0]).write_bytes(style.svg(done.plot()))
    (folder / DRAWN[1]).write_text(done.html(), encoding="utf-8")


DRAWN = ("replay.svg", "report.html")
"""What the command writes besides."""
