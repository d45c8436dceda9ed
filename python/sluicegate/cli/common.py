"""What the commands share: the program, its errors, common options, tables, and the progress of many runs."""

from __future__ import annotations

import copy
import functools
import re
import shutil
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, TextIO

import typer

from ..io import near_file
from ..progress import Update, bar
from .usage import Commands

if TYPE_CHECKING:
    from ..deploy import Access

P = ParamSpec("P")

MOST_SEEDS = 1_000_000
"""What can be asked for at once; the runs are listed before they begin."""

app = typer.Typer(
    cls=Commands,
    help="Measure what a queue discipline does to the traffic on a congested link.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # Rich would double the time of --help
    context_settings={"help_option_names": ["-h", "--help"]},
)
Commands.program = app


class Refusal(Exception):
    """Something that cannot be done as asked; the message is for the user."""


OPTIONS = {"sets": "--set", "over": "--over", "cluster": "--cluster"}
"""Arguments in Python that messages begin with, and the options that give them."""


def main() -> None:
    """The program `sluicegate`. Exit codes: 0 done, 1 a verdict changed or the work
    failed, 2 cannot be done, 130 interrupted."""
    try:
        alone(sys.argv[1:])(prog_name="sluicegate")
    except KeyboardInterrupt:  # before or between commands
        sys.exit(130)


def alone(words: Sequence[str]) -> typer.Typer:
    """The program with nothing but the command that `words` begin with: Typer makes the parsers of all that it has,
    which takes as long as a short command. The whole program for anything else, such as `--help`."""
    one = copy.copy(app)
    one.registered_commands = [each for each in app.registered_commands if [name_of(each)] == words[:1]]
    one.registered_groups = [each for each in app.registered_groups if [each.name] == words[:1]]
    return one if one.registered_commands or one.registered_groups else app


def name_of(command: Any) -> str:
    """What a command of the program is called."""
    return str(command.name or command.callback.__name__)


def in_options(message: str) -> str:
    """A message about an argument in Python, told as an option: `sets: queue.limit` is `--set queue.limit`."""
    argument, colon, rest = message.partition(": ")
    return f"{OPTIONS[argument]} {rest}" if colon and argument in OPTIONS else message


def show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """How the program tells its own warnings; those of libraries look as ever."""
    if category.__module__.startswith("sluicegate."):
        print(f"warning: {in_options(str(message))}", file=sys.stderr)
    else:
        print(warnings.formatwarning(message, category, filename, lineno, line), end="", file=sys.stderr)


def answers(command: Callable[P, None]) -> Callable[P, None]:
    """Turn what a user can get wrong into one line on standard error and exit code 2, and Ctrl-C into 130.

    An exception of a discipline written in Python is shown with its own traceback, whatever it is; exit code 1.
    """

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        from .._core import ScenarioError

        told = set[str]()  # "once" would tell again what is told before and after filters change

        def show(message: Warning | str, category: type[Warning], *where: Any) -> None:
            if str(message) not in told:
                told.add(str(message))
                show_warning(message, category, *where)

        try:
            with own_traceback(), warnings.catch_warnings():
                warnings.simplefilter("ignore" if kwargs.get("quiet") else "always", UserWarning)
                warnings.showwarning = show  # type: ignore[assignment]
                try:
                    command(*args, **kwargs)
                except typer.Exit:
                    sys.stdout.flush()
                    raise
                sys.stdout.flush()  # at its end Python would complain of a reader that has gone
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
        except BrokenPipeError:  # `sluicegate … | head`; Typer knows what to do
            raise
        except (Refusal, ScenarioError) as error:
            message = in_options(str(error))
            if (argument := message.partition(" = ")[0]) in kwargs:  # which says it as Python does
                message = f"--{argument.replace('_', '-')}{message.removeprefix(argument)}"
        except OSError as error:
            message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
            if error.filename and isinstance(error, FileNotFoundError) and ";" not in message:
                message += near_file(Path(str(error.filename)))
        except UnicodeEncodeError as error:  # an argument in another encoding: Python keeps its bytes as surrogates
            if error.encoding != "utf-8":
                raise
            message = f"{error.object}: must be UTF-8"
        else:
            return
        print(f"error: {message}", file=sys.stderr)
        raise typer.Exit(2)

    return wrapped


@contextmanager
def own_traceback() -> Iterator[None]:
    """End the program when the block raises what a discipline written in Python has raised."""
    try:
        yield
    except BaseException as error:
        from ..custom.aqm import traceback_of

        if (text := traceback_of(error)) is None:
            raise
        print(text, end="", file=sys.stderr)
        raise typer.Exit(1) from None


def show_version(wanted: bool) -> None:
    if wanted:
        from .. import __version__
        from ..declarations import commit

        print(f"sluicegate {__version__}{f' (commit {at})' if (at := commit()) else ''}", flush=True)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


File = Annotated[str, typer.Argument(metavar="FILE", help="Scenario file, or a bundled scenario's name.")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a value, such as queue.discipline=red. Repeatable."),
]
Wan = Annotated[
    str | None,
    typer.Option(
        "--wan", metavar="NAME", help="Deploy both directions of an access line; NAME is the interface to the network."
    ),
]
Lan = Annotated[
    str | None,
    typer.Option("--lan", metavar="NAME", help="With --wan: shape downloads at this home interface. [an ifb device]"),
]
Margin = Annotated[
    str | None,
    typer.Option(
        "--margin",
        metavar="PERCENT",
        help='With --wan: how far the shapers stay below the line\'s rate; "1 %,5 %" for download and upload. '
        "[tc: 5 %; recommend: 5 % below the highest rates that keep the queue out of the modem]",
    ),
]
Seed = Annotated[int | None, typer.Option(metavar="N", min=0, help="Seed of every random stream.")]
Out = Annotated[
    Path | None,
    typer.Option("-o", "--out", metavar="FOLDER", help="Write tables, figure, report.html and summary.json here."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


Envelopes = Annotated[
    Path | None,
    typer.Option(
        "--envelopes",
        metavar="FOLDER",
        help="Also use the envelopes (links on which a discipline keeps the delay that it promises) that "
        "`evaluate --suite envelope` wrote into this folder.",
    ),
]
Jobs = Annotated[int | None, typer.Option(metavar="N", min=1, help="Run N simulations at once. [one per core]")]
Cluster = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Run on the Dask cluster with this scheduler, tcp://HOST:8786.")
]
RunsProgress = Callable[[int, int, str], None]


@contextmanager
def many_runs(
    quiet: bool, out: Path | None, jobs: int | None, cluster: str | None, *, in_parts: bool = False
) -> Iterator[RunsProgress]:
    """Provide the progress of many runs, shown as a bar; when they are cut short, say how many are kept in `out`.

    `in_parts`: progress is of one part of the work at a time, so that it does not count all runs.
    A cluster that cannot go on ends the program with exit code 1. Raises `Refusal` for both `jobs` and `cluster`.
    """
    if cluster is not None and jobs is not None:
        raise Refusal("--jobs: the cluster decides how many runs it does at once; leave --jobs out with --cluster")
    ended, missing = 0, 0
    with progress_bar(quiet) as update:

        def progress(done: int, total: int, text: str) -> None:
            nonlocal ended, missing
            ended, missing = done, total
            if update is not None:
                update(done, total, text)

        try:
            yield progress
        except BaseException as error:
            from ..experiments.cluster import ClusterError

            if isinstance(error, ClusterError):
                print(f"error: {in_options(str(error))}", file=sys.stderr)
            if ended and out is not None and not quiet:
                which = "the runs that ended are" if in_parts else f"{ended} of {missing} runs ended and are"
                print(f"{which} kept in {out}; the same command runs the rest", file=sys.stderr)
            if isinstance(error, ClusterError):
                raise typer.Exit(1) from None
            raise


def check_new(out: Path | None) -> None:
    """Check, before anything is done, that a scenario can be written to a file: one that is there may have been edited,
    unlike results, which the same command makes again. Raises `Refusal`."""
    if out is not None and out.exists():
        raise Refusal(f"{out}: is there already; name another file with -o")
    if out is not None and not out.parent.is_dir():
        raise Refusal(f"{out}: there is no folder {out.parent}; make it, or name another file with -o")


def parse_sets(sets: list[str] | None) -> list[tuple[str, str]]:
    """The KEY=VALUE texts of --set as pairs."""
    return key_values(sets, "--set", "queue.discipline=red")


def key_values(given: Sequence[str] | None, option: str, example: str) -> list[tuple[str, str]]:
    """KEY=VALUE texts of an option as pairs. Raises `Refusal`."""
    pairs = []
    for text in given or ():
        key, equals, value = text.partition("=")
        if not (equals and key.strip() and value.strip()):
            raise Refusal(f"{option} {text}: must be KEY=VALUE, such as {example}")
        pairs.append((key.strip(), value.strip()))
    return pairs


ADDRESS = re.compile(r"\d+(\.\d+){3}")
"""An address of IPv4, which no interface is called by."""


def access_line(wan: str | None, lan: str | None, margin: str | None, multiqueue: bool = False) -> Access | None:
    """The interfaces of --wan and --lan; None without. Raises `Refusal`."""
    from ..deploy import Access, Undeployable

    for option, name in (("--wan", wan), ("--lan", lan)):
        if name in ("NAME", "DEV") or (name and ADDRESS.fullmatch(name)):  # copied from what a command or page prints
            raise Refusal(f"{option} {name}: give the interface's name; on the router `ip route get 9.9.9.9` prints "
                          "the one to the internet, after the word dev; `ip address` lists all")  # fmt: skip
    if wan is None:
        if lan is not None:
            raise Refusal("--lan: needs --wan, the interface to the network")
        if margin is not None:
            raise Refusal("--margin: needs --wan, the interface to the network")
        return None
    # With its sign: 0.05 could be either.
    found = [re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*%\s*", each) for each in (margin or "").split(",")]
    parts = [float(each[1]) / 100 for each in found if each]
    if margin is not None and (len(found) > 2 or len(parts) < len(found)):
        raise Refusal(f'--margin {margin}: must be a percentage of the rate, such as "5 %", or "1 %,5 %" for download '
                      "and upload")  # fmt: skip
    try:
        return Access(
            wan=wan, lan=lan, multiqueue=multiqueue, **dict(zip(("margin", "margin_up"), parts, strict=False))
        )
    except Undeployable as error:
        raise Refusal(str(error)) from None


def progress_bar(quiet: bool) -> AbstractContextManager[Update | None]:
    """A bar on a terminal's standard error, as a function to call with done, total and a text; None elsewhere."""
    return bar(False if quiet else None)


def print_text(text: str) -> None:
    from rich.console import Console

    Console(highlight=False, markup=False).print(text + "\n")


def terminal_width() -> int | None:
    """The columns of the terminal that standard output is; None where it is none, so that nothing need be broken."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


UNIT = re.compile(r"(\d) (?=(?:%|[nµum]?s|[kMG]?bit/s|k?B|packets)(?!\w))")
"""A number before its unit, from which no line break parts it."""


def print_lines(lines: Iterable[str]) -> None:
    """Print sentences, on a terminal broken between words; what continues a line stands two columns further in."""
    width = terminal_width()
    for line in lines:
        line = UNIT.sub("\\1\N{NO-BREAK SPACE}", line)
        indent = line[: len(line) - len(line.lstrip())] + "  "
        broken = [] if width is None else textwrap.wrap(
            line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False,
            drop_whitespace=True,
        )  # fmt: skip
        print("\n".join(broken or [line]).replace("\N{NO-BREAK SPACE}", " "))


def wide(column: Sequence[str]) -> int:
    """How wide a column of a table is, with the space beside it."""
    return 3 + max(len(line) for cell in column for line in cell.splitlines() or [""])


def folded(header: list[str], rows: list[list[str]], width: int) -> list[tuple[list[str], list[list[str]]]]:
    """A table as several of this width, as far as the columns allow it: each begins with the first column. A head whose
    first line is empty stands below that of the column before; the first of them in a table gets it."""
    columns = [[head, *(row[at] for row in rows)] for at, head in enumerate(header)]
    first, parts, above = columns[0], [columns[:1]], ""
    for head, *cells in columns[1:]:
        above = head.partition("\n")[0] or above
        if len(parts[-1]) > 1 and sum(map(wide, [*parts[-1], [head, *cells]])) > width:
            parts.append([first])
            head = above + head if head.startswith("\n") else head
        parts[-1].append([head, *cells])
    return [([column[0] for column in part], [list(row) for row in zip(*(column[1:] for column in part), strict=True)])
            for part in parts]  # fmt: skip


def print_table(header: list[str], rows: list[list[str]], whole: bool = False, stderr: bool = False) -> None:
    """Print a table as wide as the terminal; with `whole` as wide as it needs to be, so that no name is cut: on a
    narrower terminal as several tables. `stderr`: on standard error, where standard output belongs to another
    program."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    width = None if stderr or not whole else terminal_width()
    if width is not None and len(parts := folded(header, rows, width)) > 1:
        for part in parts:
            print_table(*part, whole=True)
        return
    table = Table(*header, box=SIMPLE_HEAD, pad_edge=False)
    for column, cells in zip(table.columns, zip(*rows, strict=True), strict=False):
        if all(cell.replace(".", "").isdigit() or cell == "–" for cell in cells):
            column.justify = "right"
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console(stderr=stderr)
    if whole:
        console.width = max(console.width, console.measure(table, options=console.options.update(width=10_000)).maximum)
    console.print(table)
