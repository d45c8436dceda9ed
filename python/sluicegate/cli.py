"""The command line. Heavy modules are imported inside the commands, so that `--help` answers at once."""

from __future__ import annotations

import functools
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, TextIO

import typer

if TYPE_CHECKING:
    from .choke_overlay import Overlay
    from .results import Run

P = ParamSpec("P")

MOST_SEEDS = 1_000_000
"""What can be asked for at once; the runs are listed before they begin."""

app = typer.Typer(
    help="A laboratory for queue disciplines at a congested link.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # Rich would double the time of --help
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Refusal(Exception):
    """Something that cannot be done as asked; the message is for the user."""


OPTIONS = {"sets": "--set", "over": "--over", "cluster": "--cluster"}
"""Arguments in Python that messages begin with, and the options that give them."""


def main() -> None:
    """The program `sluicegate`. Exit codes: 0 done, 1 a check failed, 2 cannot be done, 130 interrupted."""
    try:
        app()
    except KeyboardInterrupt:  # before or between commands
        sys.exit(130)


def in_options(message: str) -> str:
    """A message about an argument in Python, told as an option: `sets: queue.limit` is `--set queue.limit`."""
    argument, colon, rest = message.partition(": ")
    return f"{OPTIONS[argument]} {rest}" if colon and argument in OPTIONS else message


def show_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, file: TextIO | None = None,
    line: str | None = None,
) -> None:  # fmt: skip
    """How the program tells its own warnings; those of libraries look as ever."""
    if category.__module__.startswith(__package__):
        print(f"warning: {in_options(str(message))}", file=sys.stderr)
    else:
        print(warnings.formatwarning(message, category, filename, lineno, line), end="", file=sys.stderr)


def answers(command: Callable[P, None]) -> Callable[P, None]:
    """Turn what a user can get wrong into one line on standard error and exit code 2, and Ctrl-C into 130.

    An exception of a discipline written in Python is shown with its own traceback, whatever it is; exit code 1.
    """

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        from ._core import ScenarioError

        try:
            with own_traceback(), warnings.catch_warnings():
                warnings.simplefilter("ignore" if kwargs.get("quiet") else "once", UserWarning)
                warnings.showwarning = show_warning
                command(*args, **kwargs)
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
        except BrokenPipeError:  # `sluicegate … | head`; Typer knows what to do
            raise
        except (Refusal, ScenarioError) as error:
            message = in_options(str(error))
        except OSError as error:
            message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
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
        from .own import traceback_of

        if (text := traceback_of(error)) is None:
            raise
        print(text, end="", file=sys.stderr)
        raise typer.Exit(1) from None


def show_version(wanted: bool) -> None:
    if wanted:
        from . import __version__

        print(f"sluicegate {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


File = Annotated[str, typer.Argument(help="A scenario file, or the name of one that comes along.")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a value, such as queue.discipline=red. Repeatable."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


@app.command(short_help="Simulate a scenario; print a table, write results.")
@answers
def run(
    file: File,
    sets: Set = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of every random stream.")] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Write the tables and summary.json here.")] = None,
    pcap: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LINK[=FILE]",
            help="Write what LINK sends as pcapng, to FILE or with -o to LINK.pcapng. Repeatable.",
        ),
    ] = None,
    with_theory: Annotated[
        bool, typer.Option("--with-theory", help="Set the model of CHOKe beside the results: one CHOKe bottleneck.")
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Simulate a scenario, print a table and, with -o, write the results."""
    from . import api, files, large_shares, results, run_text

    if out is not None:
        files.check_writable(out, [*results.file_names(), *(("theory.json", "theory.svg") if with_theory else ())])
    overrides = parse_sets(sets)
    text, name = api.read_scenario(file)
    if with_theory:
        from . import choke_overlay

        choke_overlay.check(api.check(file, sets=overrides), file)
    with progress_bar(quiet) as bar:
        update = None if bar is None else lambda now, end, _packets: bar(now, end, Path(name).name)
        if pcap and out is not None:  # the captures appear together with the tables
            with files.staged(out) as folder:
                captures = parse_pcap(pcap, folder)
                result = api.run_text(text, name, sets=overrides, seed=seed, progress=update, pcap=captures)
                theory = choke_overlay.overlay(result) if with_theory else None
                fill(folder, result, theory)
        else:
            captures = parse_pcap(pcap, None)
            result = api.run_text(text, name, sets=overrides, seed=seed, progress=update, pcap=captures)
            theory = choke_overlay.overlay(result) if with_theory else None
            if out is not None:
                with files.staged(out) as folder:
                    fill(folder, result, theory)
    if quiet:
        return
    if as_json:
        record = {"groups": run_text.groups(result), "links": result.links.to_dicts(), "summary": result.summary}
        record["large_shares"] = large_shares.unlikely(result.flows)
        print(json.dumps(record | ({} if theory is None else {"theory": theory.record()})))
    else:
        run_text.show(result, theory, out)


def fill(folder: Path, result: Run, theory: Overlay | None) -> None:
    """Write what a run gave, and the theory beside it if there is one, into a folder that is there."""
    result.fill(folder)
    if theory is not None:
        theory.fill(folder)


@app.command(short_help="Run a scenario under several disciplines; print means, intervals and differences.")
@answers
def compare(
    file: File,
    disciplines: Annotated[
        str,
        typer.Option(metavar="LIST", help="Separated by commas, each with values of its own: red,choke:candidates=2."),
    ],
    seeds: Annotated[int, typer.Option(min=1, max=MOST_SEEDS, metavar="N", help="Run each with seeds 1 to N.")] = 10,
    baseline: Annotated[
        str | None, typer.Option(metavar="NAME", help="Take differences against this one (default: the first).")
    ] = None,
    sets: Set = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="How many runs at once (default: one per core).")] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Write tables, summary.json and figures here.")
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run a scenario under several disciplines, paired by seed; print means, their intervals, and differences."""
    from . import comparison, comparison_text, files

    if out is not None:
        files.check_writable(out, comparison.FILES)
    with progress_bar(quiet) as bar:
        done = comparison.compare(
            file,
            disciplines=disciplines,
            seeds=seeds,
            baseline=baseline,
            sets=parse_sets(sets),
            jobs=jobs,
            progress=bar,
        )
        if out is not None:
            done.write(out)
    if quiet:
        return
    if as_json:
        print(json.dumps(done.record(), ensure_ascii=False))
    else:
        comparison_text.show(done, out)


@app.command(
    short_help="Replay a capture through a discipline; print what each flow met.",
    epilog="""Examples:

\b
sluicegate replay day.pcap --rate "10 Mbit/s" --discipline choke:candidates=2
sluicegate replay day.pcap --rate "10 Mbit/s" --discipline red \\
    --set queue.red.action=mark --write after.pcapng -o out/
zcat day.pcap.gz | sluicegate replay - --rate "1 Gbit/s"
""",
)
@answers
def replay(
    capture: Annotated[str, typer.Argument(help="A pcap or pcapng file; - for standard input.")],
    rate: Annotated[str, typer.Option(help='Rate of the link, such as "10 Mbit/s".')],
    discipline: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="With values of its own: choke:candidates=2, or path.py:Class. [drop_tail]"),
    ] = None,
    sets: Set = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the discipline and the hash of flows.")] = None,
    length: Annotated[
        str | None, typer.Option(metavar="ip|frame", help="Which length counts: the IP packet's or the frame's. [ip]")
    ] = None,
    flows: Annotated[
        int | None, typer.Option(metavar="N", help="Tell at most N flows apart in results. [20000]")
    ] = None,
    write: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write what left the link, with its new times, as pcapng.")
    ] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Write the tables and summary.json here.")] = None,
    top: Annotated[int, typer.Option(min=1, metavar="N", help="Print the N largest flows.")] = 20,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Feed the packets of a capture, at their recorded times, through a discipline at a link of some rate.

    A recorded sender does not react. Exit code 1 when the capture is damaged: what could be read is reported.
    """
    import os

    from . import files, replays, replays_text

    if out is not None:
        files.check_writable(out, replays.file_names())
    size = os.path.getsize(capture) if os.path.isfile(capture) else None
    with progress_bar(quiet) as bar:
        update = None if bar is None else lambda read, packets: bar(read, size, f"{packets} packets")
        done = replays.replay(
            capture,
            rate=rate,
            queue=discipline,
            seed=seed,
            length=length,
            flows=flows,
            write=write,
            sets=parse_sets(sets),
            progress=update,
        )
        if out is not None:
            done.write(out)
    if as_json and not quiet:
        print(json.dumps({"flows": done.flows.to_dicts(), "links": done.links.to_dicts(), "summary": done.summary}))
    elif not quiet:
        replays_text.show(done, top, [place for place in (write, out) if place is not None])
    if done.damage is not None:
        print(f"error: {capture}: {done.damage}", file=sys.stderr)
        raise typer.Exit(1)


@app.command(short_help="Reproduce a paper: a report with every figure.")
@answers
def reproduce(
    name: Annotated[str, typer.Argument(help="The paper, such as choke1999; or all.")],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Write report.html, figures and checks here (default: out/NAME).")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Longer runs, more seeds.")] = False,
    seeds: Annotated[
        int | None, typer.Option(min=1, max=MOST_SEEDS, help="How many seeds (default: the report's own).")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="How many runs at once (default: one per core).")] = None,
    quiet: Quiet = False,
) -> None:
    """Reproduce a paper's experiments: paper and measurement side by side. Exit code 1 when a check fails.

    `all` reproduces every paper, each in a folder of its own, and writes a page that leads to them.
    """
    from . import papers
    from .papers import overview

    if name not in papers.PAPERS and name != "all":
        raise Refusal(f"{name}: no such paper; {nearest(name, [*papers.PAPERS, 'all'])}")
    out = out or Path("out", name)
    with progress_bar(quiet) as bar:
        if name == "all":
            done = overview.reproduce_all(out, full=full, seeds=seeds, jobs=jobs, progress=bar)
        else:
            done = papers.reproduce(name, out, full=full, seeds=seeds, jobs=jobs, progress=bar)
    if not quiet:
        print(out / "report.html")
    if not done:
        place = out / ("report.html" if name == "all" else "checks.json")
        print(f"error: a check failed; see {place}", file=sys.stderr)
        raise typer.Exit(1)


@app.command(short_help="List the queue disciplines, or explain one.")
@answers
def disciplines(
    name: Annotated[str | None, typer.Argument(help="Explain this one.")] = None,
    as_json: Json = False,
) -> None:
    """List the queue disciplines, or explain one: rule, parameters, sources, tc line."""
    from . import _core

    known: list[dict[str, Any]] = json.loads(_core.declarations())["disciplines"]
    chosen = known if name is None else [d for d in known if d["name"] == name]
    if not chosen:
        raise Refusal(f"{name}: no such discipline; {nearest(str(name), [d['name'] for d in known])}")
    if as_json:
        print(json.dumps(chosen, indent=2, ensure_ascii=False))
    elif name is None:
        print_table(["name", "discipline", "source"], [[d["name"], d["title"], d["source"]] for d in known])
    else:
        from .disciplines_text import explain

        explain(chosen[0])


design = typer.Typer(help="Choose the parameters of a discipline for a link.", no_args_is_help=True)
app.add_typer(design, name="design", short_help="Choose a discipline's parameters for a link, by the paper's rules.")


@design.command(
    "red",
    short_help="Parameters for RED, each with its rule; the lines for a scenario, tc and ns-2.",
    epilog="""Examples:

\b
sluicegate design red --rate "45 Mbit/s" --rtt "100 ms" --burst 50
sluicegate design red --rate "10 Mbit/s" --rtt "40 ms" --burst 20 \\
    --delay-target "20 ms" --ecn --dev eth0
""",
)
@answers
def design_red(
    rate: Annotated[str, typer.Option(help='Rate of the link, such as "45 Mbit/s".')],
    rtt: Annotated[str, typer.Option(help='A typical round trip without queues, such as "100 ms".')],
    burst: Annotated[int, typer.Option(metavar="PACKETS", help="This many in a row shall pass without a signal.")],
    delay_target: Annotated[
        str | None, typer.Option(help="Average queueing delay wanted under load. [what the burst needs]")
    ] = None,
    packet_size: Annotated[str, typer.Option(help="Length of a typical packet.")] = "1000 B",
    max_p: Annotated[float, typer.Option(help="The probability as the average reaches max_th.")] = 0.02,
    ecn: Annotated[bool, typer.Option("--ecn", help="Mark what can carry a mark.")] = False,
    dev: Annotated[str, typer.Option(metavar="NAME", help="The interface in the line for tc.")] = "DEV",
    as_json: Json = False,
) -> None:
    """Choose RED's parameters by the rules of Floyd & Jacobson 1993, and say where rules conflict."""
    from . import design as designs
    from . import design_text

    done = designs.design_red(
        rate=rate, rtt=rtt, burst=burst, delay_target=delay_target, packet_size=packet_size, max_p=max_p, ecn=ecn
    )
    if as_json:
        print(json.dumps(done.record(dev), ensure_ascii=False))
    else:
        design_text.show(done, dev)


@design.command(
    "pi",
    short_help="Gains for PI; the lines for a scenario and ns-2.",
    epilog="""Examples:

\b
sluicegate design pi --rate "30 Mbit/s" --rtt "246 ms" --flows 60
sluicegate design pi --rate "100 Mbit/s" --rtt "150 ms" --flows 200 --q-ref 24 --ecn
""",
)
@answers
def design_pi(
    rate: Annotated[str, typer.Option(help='Rate of the link, such as "30 Mbit/s".')],
    rtt: Annotated[str, typer.Option(help='The longest typical round trip, queueing included, such as "246 ms".')],
    flows: Annotated[int, typer.Option(metavar="N", help="So many long TCP flows, at least.")],
    q_ref: Annotated[int, typer.Option(metavar="PACKETS", help="The queue wanted.")] = 50,
    packet_size: Annotated[str, typer.Option(help="Length of a typical packet.")] = "1000 B",
    w: Annotated[float, typer.Option(metavar="HZ", help="Samples of the queue in a second.")] = 170.0,
    ecn: Annotated[bool, typer.Option("--ecn", help="Mark what can carry a mark.")] = False,
    as_json: Json = False,
) -> None:
    """Choose PI's gains a and b by the rule of Hollot, Misra, Towsley & Gong 2001."""
    from . import pi_design as designs

    done = designs.design_pi(rate=rate, rtt=rtt, flows=flows, q_ref=q_ref, packet_size=packet_size, w=w, ecn=ecn)
    if as_json:
        print(json.dumps(done.record(), ensure_ascii=False))
    else:
        designs.show(done)


@app.command(short_help="Check a scenario without running it.")
@answers
def check(file: File, sets: Set = None, as_json: Json = False) -> None:
    """Check a scenario without running it; --json prints it with every default filled in."""
    from . import api

    resolved = api.check(file, sets=parse_sets(sets))
    print(json.dumps(resolved, indent=2, ensure_ascii=False) if as_json else f"{file}: ok")


def parse_sets(sets: list[str] | None) -> list[tuple[str, str]]:
    """The KEY=VALUE texts of --set as pairs."""
    pairs = []
    for text in sets or []:
        key, equals, value = text.partition("=")
        if not (equals and key.strip() and value.strip()):
            raise Refusal(f"--set {text}: must be KEY=VALUE, such as queue.discipline=red")
        pairs.append((key.strip(), value.strip()))
    return pairs


def parse_pcap(given: list[str] | None, folder: Path | None) -> dict[str, Path]:
    """The LINK[=FILE] texts of --pcap: links and files; those without a file go to `folder`."""
    captures: dict[str, Path] = {}
    for text in given or []:
        link, equals, file = text.partition("=")
        if not link or (equals and not file):
            raise Refusal(f"--pcap {text}: must be LINK or LINK=FILE, such as bottleneck=out.pcapng")
        if not file and folder is None:
            raise Refusal(f"--pcap {text}: say where to write it: -o DIR, or --pcap {link}=FILE")
        if link in captures:
            raise Refusal(f"--pcap {text}: {link} is given twice")
        captures[link] = Path(file) if file or folder is None else folder / f"{link.replace('/', '-')}.pcapng"
    return captures


def nearest(given: str, known: list[str]) -> str:
    """The nearest of the known names as a question, or all of them."""
    from difflib import get_close_matches

    near = get_close_matches(given, known, 1)
    return f'did you mean "{near[0]}"?' if near else f"known: {', '.join(known)}"


def progress_bar(quiet: bool) -> AbstractContextManager[Callable[[float, float | None, str], None] | None]:
    """A bar on a terminal's standard error, as a function to call with done, total and a text; None elsewhere."""
    if quiet or not sys.stderr.isatty():
        return nullcontext(None)
    from .progress import Bar

    return Bar()


def number(value: float | None, unit: float = 1) -> str:
    """A value in a unit, to one decimal; a dash for a missing one."""
    return "–" if value is None else f"{value / unit:.1f}"


def print_text(text: str) -> None:
    from rich.console import Console

    Console(highlight=False, markup=False).print(text + "\n")


def print_table(header: list[str], rows: list[list[str]], whole: bool = False) -> None:
    """Print a table as wide as the terminal; with `whole` as wide as it needs to be, so that no name is cut."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*header, box=SIMPLE_HEAD, pad_edge=False)
    for column, cells in zip(table.columns, zip(*rows, strict=True), strict=False):
        if all(cell.replace(".", "").isdigit() or cell == "–" for cell in cells):
            column.justify = "right"
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console()
    if whole:
        console.width = max(console.width, console.measure(table, options=console.options.update(width=10_000)).maximum)
    console.print(table)


from . import cli_connections as cli_connections  # noqa: E402  these add commands that need what is above
from . import cli_sweep as cli_sweep  # noqa: E402
from . import cli_theory as cli_theory  # noqa: E402
