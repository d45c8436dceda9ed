"""Links and loads outside the envelope of a discipline's defaults: measurements there show that it does not keep its
promise (`envelopes`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from .. import _core
from ..envelopes import Distance, Envelope, Sets, kept
from ..envelopes.promises import LATE_NS, USED
from ..quantities import rate_text, two
from ..traffic.groups import Group, Traffic, typical_rtt_ns
from ..traffic.paths import Place
from .load import is_lasting_tcp, lasting_alone
from .words import percent, rate_of, span

LEAST = 2.0
"""By how much rate, flows or round trip would have to change: what lies nearer is not told. Cells are half a decade of
rate apart, and edges between them are interpolated."""

LEAST_USED, MOST_LATE = 0.8, 4.0
"""Nor is it told where at least so much of the link is used, and the delay is at most so many times the longest that is
allowed: CoDel and its relatives are there on many links under some tens of flows, and nothing is wrong with such a
scenario."""

PACKET = 1500
"""Bytes of the packets with which envelopes were measured."""


def beyond(traffic: Traffic, own: Mapping[str, Envelope] | None = None) -> Iterator[str]:
    """A link and a load that lie far outside the envelope of the discipline with these values. `own`: envelopes beside
    those of defaults, such as of a discipline of one's own; None where none were given."""
    name = traffic.queue["discipline"]
    every = {**kept(), **(own or {})}
    listed = [(label, each) for label, each in every.items() if ("queue.discipline", name) in each.sets]
    for number, (place, there, packet) in enumerate(traffic.meetings()):
        asked = number == 0 and own is not None and ":" in name
        if asked and not any(_is_measured(traffic, each.sets, place, packet) for _, each in listed):
            yield missing(name, own or {})
        for label, each in listed:
            if (said := sentence(label, each, place, there)) and _is_measured(traffic, each.sets, place, packet):
                yield f"{said}; give it values for this link, or choose another discipline"
                return


def missing(label: str, own: Mapping[str, Envelope]) -> str:
    """What to say where the envelopes that were given have none of a discipline of one's own."""
    there = ", ".join(own)
    return f"the given envelopes have none for {label} with these values, only for {there}"


def outside(envelope: Envelope, place: Place, there: Sequence[Group]) -> Distance | None:
    """How far a link lies outside an envelope; None where it does not lie `far` outside, or is not known.

    Known are links that TCP flows of Linux's hosts with CUBIC, in full packets, have for themselves.
    """
    flows = lasting_alone(place, there)
    alike = (_as_measured(group) for group in there if is_lasting_tcp(group))
    if not flows or place.varies or not all(alike):
        return None
    found = envelope.outside(place.rate_bps, flows, typical_rtt_ns(there))
    return found if found is not None and far(found) else None


def load(place: Place, there: Sequence[Group]) -> str:
    """A link and what crosses it, in words."""
    flows = lasting_alone(place, there)
    many = f"{flows} TCP flow{'s' if flows > 1 else ''}"
    return f"{place.name}: {rate_of(place)} with {many} and a round trip of {span(typical_rtt_ns(there))}"


def sentence(label: str, envelope: Envelope, place: Place, there: Sequence[Group]) -> str | None:
    """How far a link lies outside an envelope, in words; None as `outside`."""
    found = outside(envelope, place, there)
    if found is None:
        return None
    return f"{load(place, there)} lies outside the envelope of {label}: {_why(found)}"


def far(found: Distance) -> bool:
    """Whether a link lies so far outside that it is told."""
    return found.factor >= LEAST and (found.measured.used < LEAST_USED or found.measured.late > MOST_LATE)


def _why(found: Distance) -> str:
    """What was measured, and how far away the envelope is."""
    here = found.measured
    already = "" if found.already is None else f"already at {rate_text(two(found.already))} "
    parts = [f"about {percent(here.used)} of the link is used"] if here.used < USED else []
    if here.late > 1:
        allowed = span(min(here.promised_ns, LATE_NS))
        parts.append(f"packets wait for about {span(here.delay_ns)}, where at most {allowed} are promised")
    if found.axis is None:
        nearest = "no rate, number of flows or round trip alone leads back into it"
    else:
        value = found.value
        there = {"rate": rate_text(two(value)), "flows": f"{two(value):g} flows", "round trip": span(two(value))}
        nearest = f"it ends at about {there[found.axis]}, a factor of {two(found.factor):g} away"
    return f"{already}{' and '.join(parts)}; {nearest}"


def _as_measured(group: Group) -> bool:
    flow = group.flow
    hosts = (flow.get("profile", "linux"), flow["algorithm"], flow["ecn"], flow["packet_size"])
    return hosts == ("linux", "cubic", False, f"{PACKET} B")


def _is_measured(traffic: Traffic, sets: Sets, place: Place, packet: int) -> bool:
    """Whether the queue has all the values that were measured, as they are for this link."""
    text = f'network = {{ rate = "{place.rate_bps} bit/s" }}\nrun = {{ duration = "1 s" }}\n'
    text += f'flows = [{{ kind = "tcp", packet_size = "{packet} B" }}]\n'
    return bool(_core.Scenario(text, "<envelope>", sets).resolved()["queue"] == traffic.queue)
