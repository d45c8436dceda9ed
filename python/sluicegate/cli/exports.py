"""What `run` writes besides tables: captures, formats of other programs, and the paths of all its files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .common import Refusal

if TYPE_CHECKING:
    from ..results import Run


@dataclass(frozen=True)
class Export:
    """One file: the option that asks for it, of which flow or link, if of one, and its place, in -o's folder or not."""

    option: str
    of: str
    place: Path
    in_folder: bool

    @property
    def given(self) -> str:
        """The option with what identifies it."""
        return f"{self.option} {self.of or self.place}"


def form(option: str) -> str:
    """The form that an option asks for, as `export.SUFFIXES` names it."""
    return option.removeprefix("--").replace("-", "_")


def parse(flent: Path | None, qlog: Sequence[str] | None, time_sequence: Sequence[str] | None) -> list[Export]:
    """What is asked for in the forms of other programs. Raises `Refusal`."""
    from ..export import SUFFIXES

    asked = [] if flent is None else [Export("--flent", "", flent, in_folder=False)]
    for option, texts in (("--qlog", qlog), ("--time-sequence", time_sequence)):
        for text in texts or ():
            flow, equals, file = text.partition("=")
            suffix = SUFFIXES[form(option)][0]
            if not flow or (equals and not file):
                raise Refusal(f"{option} {text}: must be FLOW or FLOW=FILE, such as 1=flow{suffix}")
            name = f"flow-{flow.replace('/', '-')}{suffix}"
            asked.append(Export(option, flow, Path(file or name), in_folder=not file))
    return asked


def parse_pcap(given: Sequence[str] | None, out: Path | None) -> list[Export]:
    """The LINK[=FILE] texts of --pcap. Raises `Refusal`."""
    captures: list[Export] = []
    for text in given or ():
        link, equals, file = text.partition("=")
        if not link or (equals and not file):
            raise Refusal(f"--pcap {text}: must be LINK or LINK=FILE, such as bottleneck=out.pcapng")
        if not file and out is None:
            raise Refusal(f"--pcap {text}: say where to write it: -o FOLDER, or --pcap {link}=FILE")
        if link in (each.of for each in captures):
            raise Refusal(f"--pcap {text}: {link} is given twice")
        captures.append(Export("--pcap", link, Path(file or f"{link.replace('/', '-')}.pcapng"), in_folder=not file))
    return captures


def check_places(asked: Sequence[Export], out: Path | None, own: Sequence[str]) -> None:
    """Raise `Refusal` where two files would be one, or one the folder of another. `own`: what -o writes anyway."""
    files: list[tuple[str, str]] = []
    if out is not None:  # what stands in the folder is replaced, links too
        folder = os.path.realpath(out)
        files += [("-o", os.path.join(folder, name)) for name in own]
        files += [(each.given, os.path.join(folder, each.place)) for each in asked if each.in_folder]
    files += [(each.given, os.path.realpath(each.place)) for each in asked if not each.in_folder]
    whose: dict[Path, str] = {}
    for given, file in files:
        first = whose.get(Path(file))
        if first is not None and first.startswith("--pcap") and given.startswith("--pcap"):
            raise Refusal(f"{file}: two links cannot be written to one file")  # as `run_read` says of its pcap=
        if first is not None:
            raise Refusal(f"{given}, {first}: two files cannot both be {file}")
        whose[Path(file)] = given
    for place, given in whose.items():
        for parent in place.parents:
            if parent in whose:
                raise Refusal(f"{given}, {whose[parent]}: {parent} cannot be both a folder and a file")


def check(asked: Sequence[Export], resolved: dict[str, Any], out: Path | None) -> None:
    """Raise `Refusal` for what this scenario cannot give, or has no place, before it runs."""
    from .. import export
    from .._core import ScenarioError
    from ..export import flent

    for each in asked:
        faults = []
        try:
            if each.option == "--flent":
                flent.check(resolved)
            elif each.option == "--qlog":
                export.connection(resolved, each.of)
                export.require_series(resolved)
            else:
                export.stream(resolved, each.of)
        except ScenarioError as error:
            faults.append(str(error).removeprefix(f"flow {each.of}: "))
        if each.in_folder and out is None:
            flow = "FLOW" if faults else each.of
            faults.append(f"say where to write it: -o FOLDER, or {each.option} {flow}=FILE")
        try:
            export.require_suffix(each.place, form(each.option))
        except ScenarioError as error:
            faults.append(str(error) if each.of else str(error).removeprefix(f"{each.place}: "))
        if faults:
            raise Refusal(f"{each.given}: {'; and '.join(faults)}")


@contextmanager
def staged(asked: Sequence[Export], draft: Literal["current", "0.3"]) -> Iterator[Exports]:
    """Provide what writes the files; those with a place of their own appear when the block ends well."""
    from ..io import staged_file

    with ExitStack() as stack:
        yield Exports(
            [(each, each.place if each.in_folder else stack.enter_context(staged_file(each.place))) for each in asked],
            draft,
        )


class Exports:
    """What writes the files."""

    def __init__(self, files: list[tuple[Export, Path]], draft: Literal["current", "0.3"]) -> None:
        self.files, self.draft = files, draft

    def write(self, result: Run, folder: Path | None, title: str) -> None:
        """Write them all; those without a place of their own into `folder`."""
        from ..export import flent, qlog

        for each, place in self.files:
            target = folder / place if each.in_folder and folder is not None else place
            if each.option == "--flent":
                target.write_bytes(flent.document(result.summary, result.tables, title))
            elif each.option == "--qlog":
                scenario = result.summary["scenario"]
                target.write_bytes(qlog.sequence(scenario, result.tables, each.of, self.draft))
            else:
                from ..plot import time_sequence

                target.write_bytes(time_sequence.encoded(result.plot_time_sequence(each.of), each.place.suffix))


def names(asked: Sequence[Export]) -> list[str]:
    """The files that go into the folder of -o."""
    return [str(each.place) for each in asked if each.in_folder]


def captures(asked: Sequence[Export], folder: Path | None) -> dict[str, Path]:
    """Links, and the file of each; those without a place of their own go to `folder`."""
    return {each.of: folder / each.place if each.in_folder and folder is not None else each.place for each in asked}
