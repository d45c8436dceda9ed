"""The commands below `sluicegate design`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from ..quantities import fixed
from .common import Json, answers, app, print_table
from .usage import Commands

if TYPE_CHECKING:
    from ..design.common import Design, Rule
    from ..design.red import RedDesign

design = typer.Typer(cls=Commands, help="Choose the parameters of a discipline for a link.", no_args_is_help=True)
app.add_typer(design, name="design", short_help="Choose a discipline's parameters for a link, by the paper's rules.")

PacketSize = Annotated[str, typer.Option(metavar="SIZE", help="Length of a typical packet.")]


@design.command(
    "red",
    short_help="Choose RED's parameters, each with its rule; print lines for a scenario, tc and ns-2.",
    epilog="""Examples:

\b
sluicegate design red --rate "45 Mbit/s" --rtt "100 ms" --burst 50 --delay-target "50 ms"
sluicegate design red --rate "10 Mbit/s" --rtt "40 ms" --burst 20 \\
    --delay-target "20 ms" --flows 9 --ecn --dev eth0
""",
)
@answers
def design_red(
    rate: Annotated[str, typer.Option(metavar="RATE", help='Rate of the link, such as "45 Mbit/s".')],
    rtt: Annotated[str, typer.Option(metavar="TIME", help='A typical round trip without queues, such as "100 ms".')],
    burst: Annotated[int, typer.Option(metavar="PACKETS", help="Largest burst to admit without a drop or mark.")],
    delay_target: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="The average queueing delay you want under load. [thresholds of 5 and 15 packets]"
        ),
    ] = None,
    flows: Annotated[int | None, typer.Option(metavar="N", help="Hold the delay for N long TCP flows at once.")] = None,
    packet_size: PacketSize = "1500 B",
    max_p: Annotated[
        float | None,
        typer.Option(
            metavar="PROBABILITY",
            help="Drop or mark probability when the average reaches max_th. [from --flows, or 0.02]",
        ),
    ] = None,
    ecn: Annotated[bool, typer.Option("--ecn", help="Mark ECN-capable packets instead of dropping them.")] = False,
    dev: Annotated[str, typer.Option(metavar="NAME", help="The interface to name in the line for tc.")] = "DEV",
    as_json: Json = False,
) -> None:
    """Choose RED's parameters by the rules of Floyd & Jacobson 1993; warn where rules conflict."""
    from ..design import red as designs

    done = designs.design_red(
        rate=rate, rtt=rtt, burst=burst, delay_target=delay_target, flows=flows, packet_size=packet_size, max_p=max_p,
        ecn=ecn,
    )  # fmt: skip
    if as_json:
        print(json.dumps(done.record(dev), ensure_ascii=False))
    else:
        print_red(done, dev)


@design.command(
    "pi",
    short_help="Choose PI's gains; print lines for a scenario and ns-2.",
    epilog="""Examples:

\b
sluicegate design pi --rate "30 Mbit/s" --rtt "246 ms" --flows 60
sluicegate design pi --rate "100 Mbit/s" --rtt "150 ms" --flows 200 --q-ref 24 --ecn
""",
)
@answers
def design_pi(
    rate: Annotated[str, typer.Option(metavar="RATE", help='Rate of the link, such as "30 Mbit/s".')],
    rtt: Annotated[
        str, typer.Option(metavar="TIME", help='The longest typical round trip, queueing included, such as "246 ms".')
    ],
    flows: Annotated[int, typer.Option(metavar="N", help="The least number of long TCP flows.")],
    q_ref: Annotated[int, typer.Option(metavar="PACKETS", help="The queue length to hold.")] = 50,
    packet_size: PacketSize = "1500 B",
    w: Annotated[float, typer.Option(metavar="HZ", help="How often PI samples the queue, per second.")] = 170.0,
    ecn: Annotated[bool, typer.Option("--ecn", help="Mark ECN-capable packets instead of dropping them.")] = False,
    as_json: Json = False,
) -> None:
    """Choose PI's gains a and b by the rule of Hollot, Misra, Towsley & Gong 2001."""
    from ..design import pi as designs

    done = designs.design_pi(rate=rate, rtt=rtt, flows=flows, q_ref=q_ref, packet_size=packet_size, w=w, ecn=ecn)
    if as_json:
        print(json.dumps(done.record(), ensure_ascii=False))
    else:
        print_controller(done, "it has no PI; pie is its successor")
        print(f"\nin ns-2, before the links are made:\n\n{done.ns2()}", end="")


Flows = Annotated[int, typer.Option(metavar="N", help="The number of flows at once.")]
Target = Annotated[
    int | None, typer.Option(metavar="PACKETS", help="The queue length to hold. [the discipline's default]")
]
Gain = Annotated[
    float | None,
    typer.Option(metavar="FRACTION", help="Fraction of a sudden queue error that is gone one update later. [2/9]"),
]
Ecn = Annotated[bool, typer.Option("--ecn", help="Mark ECN-capable packets instead of dropping them.")]
NOT_IN_LINUX = "it does not have the discipline"


@design.command(
    "dcn",
    short_help="Choose DCN's gains, with their stability margins; print lines for a scenario.",
    epilog="""Examples:

\b
sluicegate design dcn --flows 2000
sluicegate design dcn --flows 200 --q-ref 50 --t-dec "400 ms" --gain 0.1
""",
)
@answers
def design_dcn(
    flows: Flows,
    q_ref: Target = None,
    t_dec: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Interval in which each flow may send its fair share, p_ref packets. [DCN's default]"
        ),
    ] = None,
    t_update: Annotated[
        str | None, typer.Option(metavar="TIME", help="Time between updates of p_ref. [DCN's default]")
    ] = None,
    gain: Gain = None,
    ecn: Ecn = False,
    as_json: Json = False,
) -> None:
    """Choose DCN's gains a and b for a number of flows in HB, its table of high-bandwidth flows. If a scenario leaves
    the gains out, DCN adapts them to that number."""
    from ..design import fair_share as designs

    done = designs.design_dcn(flows=flows, q_ref=q_ref, t_dec=t_dec, t_update=t_update, gain=gain, ecn=ecn)
    if as_json:
        print(json.dumps(done.record(), ensure_ascii=False))
    else:
        print_controller(done, NOT_IN_LINUX)


@design.command(
    "afd",
    short_help="Choose AFD's gains, with their stability margins; print lines for a scenario.",
    epilog="""Examples:

\b
sluicegate design afd --rate "100 Mbit/s" --flows 400
sluicegate design afd --rate "10 Mbit/s" --flows 50 --q-ref 60 --ecn
""",
)
@answers
def design_afd(
    rate: Annotated[str, typer.Option(metavar="RATE", help='Rate of the link, such as "100 Mbit/s".')],
    flows: Flows,
    q_ref: Target = None,
    packet_size: PacketSize = "1500 B",
    b: Annotated[
        int | None,
        typer.Option("--b", metavar="PACKETS", help="Size of the shadow buffer. [AFD's default for the link]"),
    ] = None,
    w: Annotated[
        float | None,
        typer.Option(metavar="HZ", help="How often AFD samples the queue, per second. [AFD's default]"),
    ] = None,
    gain: Gain = None,
    ecn: Ecn = False,
    as_json: Json = False,
) -> None:
    """Choose AFD's gains alpha and beta for a link and the flows in AFD's shadow buffer. If a scenario leaves the gains
    out, AFD adapts them to both."""
    from ..design import fair_share as designs

    done = designs.design_afd(
        rate=rate, flows=flows, q_ref=q_ref, packet_size=packet_size, b=b, w=w, gain=gain, ecn=ecn
    )
    if as_json:
        print(json.dumps(done.record(), ensure_ascii=False))
    else:
        print_controller(done, NOT_IN_LINUX)


def print_red(done: RedDesign, dev: str) -> None:
    """Print the values with their rules, the delays they mean, warnings, and the lines for a scenario, tc and ns-2."""
    print_table(["parameter", "value", "rule", "source"], [cells(rule) for rule in done.rules])
    queue = done.queue
    middle = (float(queue.min_th) + float(queue.max_th)) / 2
    print(
        f"queueing delay: {delay(done, float(queue.min_th))} at min_th, {delay(done, middle)} midway, "
        f"{delay(done, float(queue.max_th))} at max_th, {delay(done, float(queue.limit))} when the buffer is full"
    )
    for warning in done.warnings:
        print(f"warning: {warning}")
    print(f"\nin a scenario:\n\n{done.scenario()}")
    if done.linux is None:
        print(f"in Linux: not possible, {done.linux_refusal}")
    else:
        print(f"in Linux, on an interface that sends at this rate:\n\n{done.tc(dev)}\n")
        for remark in done.linux.remarks(queue.w_q, queue.max_p):
            print(f"  {remark}")
    print(f"\nin ns-2, before the links are made:\n\n{done.ns2()}", end="")


def cells(rule: Rule) -> list[str]:
    """A row of the table; bounds are indented below their parameter."""
    value = rule.value if isinstance(rule.value, str) else written(rule.value)
    if rule.sign == "=":
        return [rule.name, value, rule.why, rule.source]
    return ["", f"{rule.sign} {value}", rule.why, rule.source]


def written(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.3g}"


def delay(done: RedDesign, packets: float) -> str:
    return f"{fixed(done.delay_s(packets), 1e-3)} ms"


def print_controller(done: Design, linux: str) -> None:
    """Print the values with their rules, warnings, and the lines for a scenario; `linux`: why there are none for it."""
    rows = [[rule.name, f"{rule.value:.4g}", rule.why, rule.source] for rule in done.rules]
    print_table(["parameter", "value", "rule", "source"], rows)
    for warning in done.warnings:
        print(f"warning: {warning}")
    print(f"\nin a scenario:\n\n{done.scenario()}")
    print(f"in Linux: not possible, {linux}")
