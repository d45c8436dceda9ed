"""Figs. 1 and 2: the sizes of responses, and the bytes that they bring."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ...reproduce import Check, Quantity, Runs, claim, figure, reference, within
from ...reproduce.claim import Bound
from .charts import SIZES, Distributions
from .network import LOADS, under
from .response_times import Distribution, Of, share
from .schemes import UNCONGESTED

drawn = under(LOADS, [UNCONGESTED])

responses = partial(Distribution.of_sizes, column="exchanges")
bytes_in = partial(Distribution.of_sizes, column="response_bytes")


def at_most(value: float) -> Bound:
    """Less than the text says."""
    return within(None, value, "as the text says")


def about(value: float, room: float) -> Bound:
    """Around a number that the text calls approximate."""
    return within(value - room, value + room, f"{value:g}, give or take {room:g} because the text says “approximately”")


def above(runs: Runs, of: Of, size: int) -> Quantity:
    """The share above a size, in per cent."""
    return (share(runs, of, size) * -1 + 100).as_("that part")


@figure(1, "Response sizes", source="Sec. 3, Fig. 1", drawn=drawn,
        chart=Distributions(responses, SIZES, "sizes", "share of responses", pooled=True))  # fmt: skip
def fig1(drawn: Runs) -> Iterator[Check]:
    """Sizes of all responses that came in the measured time of the uncongested runs, of all loads. Band: 95 % interval
    over seeds."""
    small, few = share(drawn, responses, 10_000), share(drawn, responses, 3_000)
    huge, large = above(drawn, responses, 1_000_000), above(drawn, responses, 100_000)
    yield claim("approximately 90 % of web responses are 10,000 bytes or less", small, about(90, 1))
    yield claim("approximately 70 % of all flows are of 2,000 to 3,000 bytes", few, about(70, 5), source="Sec. 3")
    yield claim("responses greater than 1 megabyte make up less than 1 %", huge, at_most(1))
    yield claim("those above 100,000 bytes comprise less than 1 %", large, at_most(1), source="Sec. 5.1, Fig. 1")


@figure(2, "Bytes by response size", source="Sec. 3, Fig. 2", drawn=drawn,
        chart=Distributions(bytes_in, SIZES, "sizes", "share of bytes in responses", pooled=True))  # fmt: skip
def fig2(drawn: Runs) -> Iterator[Check]:
    """The same exchanges, each counted by the bytes of its response."""
    small, few = share(drawn, bytes_in, 10_000), share(drawn, bytes_in, 3_000)
    huge = above(drawn, bytes_in, 1_000_000)
    six_to_eight = within(5.5, 8.5, "6 to 8 as printed, give or take half a digit")
    yield claim("responses of 10,000 bytes or less account for less than 25 % of the bytes", small, at_most(25))
    yield claim("flows of 2,000 to 3,000 bytes comprise only 6 to 8 % of the bytes", few, six_to_eight, source="Sec. 3")
    yield reference("responses greater than 1 megabyte account for 25 % of the bytes", huge, about(25, 5))
