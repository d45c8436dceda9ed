"""What `run` writes in the forms of other programs: --flent, --qlog and --time-sequence."""

from __future__ import annotations

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
    """One file: the option that asks for it, its flow if it has one, and its place, in the folder of -o or not."""

    option: str
    flow: str
    place: Path
    in_folder: bool


SUFFIXES = {"--qlog": ".sqlog", "--time-sequence": ".svg"}


def parse(
    flent: Path | None, qlog: Sequence[str] | None, time_sequence: Sequence[str] | None, out: Path | None
) -> list[Export]:
    """What is asked for. Raises `Refusal`."""
    asked = [] if flent is None else [Export("--flent", "", flent, in_folder=False)]
    if flent is not None and not flent.name.endswith(".flent.gz"):
        raise Refusal(f"--flent {flent}: must end in .flent.gz, by which Flent knows its files")
    for option, texts in (("--qlog", qlog), ("--time-sequence", time_sequence)):
        for text in texts or ():
            flow, equals, file = text.partition("=")
            example = f"1=flow{SUFFIXES[option]}"
            if not flow or (equals and not file):
                raise Refusal(f"{option} {text}: must be FLOW or FLOW=FILE, such as {example}")
            if not file and out is None:
                raise Refusal(f"{option} {text}: say where to write it: -o DIR, or {option} {flow}=FILE")
            name = f"flow-{flow.replace('/', '-')}{SUFFIXES[option]}"
            asked.append(Export(option, flow, Path(file or name), in_folder=not file))
    places = [_absolute(each, out) for each in asked]
    for each, place in zip(asked, places, strict=True):
        if places.count(place) > 1:
            raise Refusal(f"{each.option}: two files cannot both be {place}")
    return asked


def check(asked: Sequence[Export], resolved: dict[str, Any]) -> None:
    """Raise `Refusal` for what this scenario cannot give, before it runs."""
    from .. import export
    from .._core import ScenarioError
    from ..export import flent

    for each in asked:
        try:
            if each.option == "--flent":
                flent.check(resolved)
            elif each.option == "--qlog":
                export.require_series(resolved)
                export.connection(resolved, each.flow)
            else:
                export.find(resolved, each.flow)
                export.require_packets(resolved)
        except ScenarioError as error:
            given = f"{each.option} {each.flow or each.place}"
            raise Refusal(f"{given}: {str(error).removeprefix(f'flow {each.flow}: ')}") from None


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
                target.write_bytes(qlog.sequence(scenario, result.tables, each.flow, self.draft))
            else:
                from ..plot import style

                target.write_bytes(style.svg(result.plot_time_sequence(each.flow)))


def names(asked: Sequence[Export]) -> list[str]:
    """The files that go into the folder of -o."""
    return [str(each.place) for each in asked if each.in_folder]


def _absolute(each: Export, out: Path | None) -> Path:
    return (out / each.place if each.in_folder and out is not None else each.place).absolute()
