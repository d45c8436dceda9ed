"""Notes of a recommendation on disciplines whose envelope the link lies outside of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ..envelopes import Envelope, kept
from ..quantities import two
from ..traffic.groups import Traffic
from ..traffic.paths import places
from ..traps import envelope
from .disciplines import Choice


def outside(
    traffic: Traffic, listed: Sequence[Choice], tuned: Mapping[str, Mapping[str, str]],
    measured: Mapping[str, Envelope] | None,
) -> Iterator[str]:  # fmt: skip
    """A note on each discipline whose envelope the first link under study lies outside of, and one on all that have
    other values here than were measured. `measured`: beside those of defaults; None where none were given."""
    place = places(traffic.resolved)[0]
    there, others = traffic.at[place.name], []
    for choice in listed:
        if (known := _envelope(choice, measured or {})) is None:
            if measured is not None and ":" in choice.name:
                yield envelope.missing(choice.label, measured)
            continue
        if not tuned[choice.label]:
            yield from filter(None, [envelope.sentence(choice.label, known, place, there)])
        elif found := envelope.outside(known, place, there):
            others.append(f"{choice.label} ({two(found.factor):g})" if found.axis else choice.label)
    if others:
        lies = f"{envelope.load(place, there)} lies outside the envelope of the defaults"
        yield f"{lies} of {', '.join(others)} by the factor in brackets; here they run with values chosen for this link"


def _envelope(choice: Choice, measured: Mapping[str, Envelope]) -> Envelope | None:
    """That of a discipline with these values: of one in a file by the file, however it is spelt; else by its label."""
    if ".py:" not in choice.name:
        return (kept() | dict(measured)).get(choice.label)
    wanted = {*replace(choice, more=()).located}
    return next((each for each in measured.values() if {*each.sets} == wanted), None)
