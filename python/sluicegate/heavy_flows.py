"""Connections with more of the recent marks and random drops than luck would give them (RED 1993, Sec. X).

A gateway that marks or drops at random hits a flow as often as the flow sends. `run` says so of the flows whose part of
the most recent marks would come by luck in fewer than one run in a hundred, if all had sent equally much. That is a
large share, not yet misbehaviour: a shorter round trip or a larger window gives one too, as the paper says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

LUCK = 0.01
"""The chance, over all flows of a run together, below which a share is reported."""

MOST_LINES = 5
"""How many flows are named."""


def unlikely(flows: pl.DataFrame) -> list[dict[str, Any]]:
    """The flows of a run whose share is unlikely to be luck, the largest first: `flow`, `kind`, `link` and the columns
    that begin with `recent_`.

    `flows`: the table of that name. A flow is among them when `recent_chance` times the number of flows that sent is at
    most `LUCK`; so the chance that luck puts any flow there is at most that.
    """
    import polars as pl

    sent = flows.filter(pl.col("recent_chance").is_not_null())
    columns = ("flow", "kind", "link", "recent_share", "recent_expected", "recent_packets", "recent_chance")
    found = sent.filter(pl.col("recent_chance") * sent.height <= LUCK)
    return found.sort("recent_share", "flow", descending=[True, False]).select(columns).to_dicts()


def lines(flows: pl.DataFrame) -> list[str]:
    """What `sluicegate run` says of them, a line each; nothing when there are none."""
    found = unlikely(flows)
    if not found:
        return []
    result = ["more of the recent marks and random drops than luck would give (RED 1993, Sec. X):"]
    for row in found[:MOST_LINES]:
        result.append(
            f"  flow {row['flow']} ({row['kind']}): {100 * row['recent_share']:.0f} % of the last "
            f"{row['recent_packets']:.0f}, {100 * row['recent_expected']:.2g} % if all sent equally much; "
            f"by luck with a chance of at most {_chance(row['recent_chance'])}"
        )
    if len(found) > MOST_LINES:
        result.append(f"  and {len(found) - MOST_LINES} more; see recent_chance in flows")
    return result


def _chance(value: float) -> str:
    """A chance to one digit, without noughts beyond what a person takes in."""
    return f"{value:.1g}" if value >= 1e-12 else "1e-12"
