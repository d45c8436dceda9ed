"""Replay of captures: real packets, at their recorded times, through a discipline and over a link of some rate."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _core, custom_aqm
from ..io import staged_file
from ..results import Results
from .disciplines import choices

if TYPE_CHECKING:
    import polars as pl

    from .._generated import Discipline
    from ..custom_aqm import AqmFactory
    from ..scenario import Sets

Progress = Callable[[int, int], object]
"""Called some 20 times a second with bytes of the capture and packets read so far; may raise to end the replay."""


class Replay(Results):
    """What a replay gave: the tables `flows` and `links`, and the summary.

    A recorded sender does not react: it sent what it sent, whatever this queue dropped, marked or delayed.

    Attributes:
        damage: What is wrong with the capture, where reading ended early; None for one that was read to its end.
    """

    def table(self, name: str) -> pl.DataFrame:
        """The table of that name: `flows` or `links`. Raises KeyError; a replay has no series over time."""
        if name not in self.tables:
            raise KeyError(f"{name}: a replay has the tables {' and '.join(self.tables)}")
        return super().table(name)

    @property
    def damage(self) -> str | None:
        """Where and how the capture is damaged, in a sentence; None when it is not."""
        found = self.summary["capture"]["damage"]
        return None if found is None else f"damaged at byte {found['offset_bytes']}: {found['what']}"

    def remarks(self) -> list[str]:
        """What was odd about the capture and changes what its results mean, in sentences."""
        capture = self.summary["capture"]
        said = []
        if (damage := self.damage) is not None:
            said.append(f"{damage}; the {capture['packets']} packets before it were replayed")
        if late := capture["out_of_order_packets"]:
            said.append(
                f"{late} packets have a time before that of an earlier packet (by up to "
                f"{capture['out_of_order_ns_max'] / 1e6:.3f} ms): they arrived with it"
            )
        if untimed := capture["untimed_packets"]:
            said.append(f"{untimed} packets have no time: they arrived with the packet before them")
        words = {
            "not_ip_packets": "are no IP packets",
            "truncated_packets": "were captured too short to tell their flow",
            "orphan_fragment_packets": "are fragments whose first one is missing",
            "unknown_link_type_packets": "come from a kind of link that is not known here",
        }
        other = capture["other"]
        parts = [f"{other[name]} {text}" for name, text in words.items() if other[name]]
        if parts:
            said.append(f"among other packets: {', '.join(parts)}")
        return said

    def __repr__(self) -> str:
        totals = self.summary["totals"]
        return f"<sluicegate.Replay {totals['arrivals_packets']} packets, {totals['flows']} flows>"


def replay(
    capture: str | Path,
    *,
    rate: str,
    queue: str | Discipline | AqmFactory | None = None,
    seed: int | None = None,
    length: str | None = None,
    flows: int | None = None,
    write: str | Path | None = None,
    sets: Sets | None = None,
    progress: Progress | None = None,
) -> Replay:
    """Replay the packets of `capture`, at their recorded times, through `queue` at a link of `rate`.

    `capture`: a pcap or pcapng file; `-` is standard input. `rate`: of the link, such as "10 Mbit/s". `queue`: a
    discipline, its name ("choke", "choke:candidates=2"), or the class of one's own (default: Drop Tail). `seed`: of the
    discipline's random stream and of the hash that tells flows apart (default 1). `length`: which length of a packet
    counts, "ip" (default) or "frame". `flows`: how many have a row of their own (default 20,000); later ones share one.
    `write`: a new pcapng file for what left the link, with its new times; it appears whole or not at all. `sets`: more
    overrides, such as {"queue.limit": 100}.

    A damaged capture is replayed up to the damage, which `Replay.damage` names. Raises `ScenarioError` when a value is
    wrong or `capture` is no capture, OSError when a file cannot be read or written, TypeError when `queue` is no
    discipline; KeyboardInterrupt, and whatever `progress` or a discipline of one's own raises, end the replay.
    """
    from ..scenario import override_texts, warn_unused

    place = str(capture)
    if place != "-":
        if Path(place).is_dir():
            raise IsADirectoryError(21, "is a directory, not a capture", place)
        os.stat(place)  # says what is wrong, with the file's name
    if write is not None and place != "-" and os.path.exists(write) and os.path.samefile(place, write):
        raise _core.ScenarioError(f"{write}: is the capture itself: write to another file")
    chosen = []
    own_queue = None
    if queue is not None:
        listed = choices(queue)
        if len(listed) != 1:
            raise _core.ScenarioError("a replay has one discipline; replay again for another")
        chosen, own_queue = list(listed[0].sets), listed[0].queue
    settings = {"rate": rate, "length": length, "flows": flows, "seed": seed}
    overrides = [
        *(
            (key, value if isinstance(value, str) else json.dumps(value))
            for key, value in settings.items()
            if value is not None
        ),
        *chosen,
        *override_texts(sets),
    ]
    maker = custom_aqm.Maker(own_queue)
    with ExitStack() as stack:
        target = None if write is None else stack.enter_context(staged_file(write))
        try:
            warn_unused([_core.unused(None, "", overrides)])
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
    tables = json.loads(_core.declarations())["replay_tables"]
    return [*(f"{table['name']}.parquet" for table in tables), "summary.json"]
