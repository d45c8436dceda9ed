"""The command `bpf`: the BPF queues of this machine."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from .common import Json, Refusal, Set, answers, app, parse_sets, print_table


@app.command(
    short_help="Show the BPF queues of this machine with their counters, or change one (Linux).",
    epilog="""Examples:

\b
sluicegate bpf
sluicegate bpf unresponsive --set queue.discipline=dcn --set queue.q_ref=40 --dev eth0
""",
)
@answers
def bpf(
    file: Annotated[
        str | None, typer.Argument(metavar="FILE", help="Give the queue of --dev the parameters of this scenario.")
    ] = None,
    dev: Annotated[str | None, typer.Option(metavar="NAME", help="The interface of the queue to change.")] = None,
    sets: Set = None,
    link: Annotated[
        str | None, typer.Option(metavar="NAME", help="The scenario's link, if it has several. [bottleneck]")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the counters of the queues that `tc --bpf` has deployed on this machine. Needs root.

    With a scenario it changes the parameters of one queue. The change takes effect at the next arrival and lasts until
    the queue's BPF object is loaded again. To change the interface, the discipline or the size of a table, write a new
    object with `tc --bpf`.
    """
    from .. import scenario
    from ..deploy import Undeployable, linux_bpf
    from ..live.bpf_queues import Unreadable, queues

    if (file is None) != (dev is None):
        raise Refusal("to change a queue give both: a scenario, and --dev")
    try:
        found, changed, name = queues(), dict[str, tuple[str, str]](), ""
        if file is not None and dev is not None:
            resolved = scenario.check(file, sets=parse_sets(sets))
            name = linux_bpf.queue_name(resolved["queue"]["discipline"], dev)
            chosen = next((each for each in found if each.name == name), None)
            if chosen is None:
                names = ", ".join(each.name for each in found) or "none"
                raise Refusal(f"--dev {dev}: no queue {name} is loaded here; loaded: {names}")
            changed = chosen.change(linux_bpf.laid_out(resolved, link, chosen.generation + 1))
            found = queues()
    except Undeployable as error:
        raise Refusal(f"{file}: {error}") from None
    except Unreadable as error:
        raise Refusal(str(error)) from None
    rows = [{"queue": each.name, "used": each.used} | each.row() for each in found]
    if as_json:
        print(json.dumps([row | {"changed": changed} if row["queue"] == name else row for row in rows]))
        return
    for what, (before, after) in changed.items():
        print(f"{name}: {what} {before} → {after}")
    if changed:
        print(
            "the change lasts until the object is loaded again, such as when the machine or the service starts; to "
            "keep it, write a new object: `sluicegate tc FILE --bpf -o FOLDER`"
        )
    elif name:
        print(f"{name}: nothing to change")
    if rows:
        shown = [key for key in rows[0] if not key.startswith("drops_") or any(row[key] for row in rows)]
        print_table(shown, [[str(row[key]) for key in shown] for row in rows], whole=True)
    else:
        print("no BPF queue of Sluicegate is loaded; `sluicegate tc FILE --bpf -o FOLDER` writes one")
