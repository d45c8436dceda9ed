"""What connections are for, by the name that a client asked for with TLS, and by how a server answers.

Names only choose among a few categories; they stand in no scenario unless addresses do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

CATEGORIES = {
    "video": ("googlevideo.com", "nflxvideo.net", "aiv-cdn.net", "ttvnw.net", "vimeocdn.com", "dssott.com"),
    "call": ("zoom.us", "webex.com", "teams.microsoft.com", "meet.google.com"),
    "updates": (
        "windowsupdate.com", "delivery.mp.microsoft.com", "swcdn.apple.com", "updates.cdn-apple.com",
        "deb.debian.org", "archive.ubuntu.com", "downloads.openwrt.org", "steamcontent.com",
    ),
    "backup": ("backblazeb2.com", "icloud-content.com", "dropboxapi.com"),
}  # fmt: skip
"""Domains that are known to serve one purpose; a short list, and from nobody's documents. A name that is missing or
wrong changes what a group is called, and nothing else."""

PIECE, FEWEST, SHARE = 100_000, 3, 0.9
"""Video is fetched in pieces of at least so many bytes, so many of them, which are this part of all bytes."""

EVEN, PAUSE_NS = 0.5, 300_000_000
"""The deviation of the times from piece to piece, as a part of their mean; and the least pause between them."""


def category(name: str | None) -> str | None:
    """What the host of this name is for, if that is known."""
    if not name:
        return None
    for found, domains in CATEGORIES.items():
        if any(name == domain or name.endswith(f".{domain}") for domain in domains):
            return found
    return None


def pieces(units: pl.DataFrame) -> dict[int, tuple[float, float]]:
    """The connections in which pieces are fetched at a steady pace, with what fills in between: bytes of a piece, and
    seconds from one to the next. `units`: see `exchanges.Exchanges.units`."""
    import polars as pl

    large = ~pl.col("opened") & (pl.col("new") >= PIECE)
    gap = pl.col("first").diff()
    # Of very many connections few have as many pieces.
    some = units.filter(large).group_by("flow").len().filter(pl.col("len") >= FEWEST)
    found = (
        units.join(some, on="flow", how="semi", maintain_order="left")
        .with_columns(all=pl.col("new").sum().over("flow"))
        .filter(large)
        .group_by("flow", maintain_order=True)
        .agg(
            count=pl.len(), size=pl.col("new").mean(), share=pl.col("new").sum() / pl.col("all").first(),
            period=gap.mean(), deviation=gap.std() / gap.mean(),
            pause=(pl.col("first").shift(-1) - pl.col("last")).median(),
        )
        .filter(
            pl.col("count") >= FEWEST, pl.col("share") >= SHARE, pl.col("deviation") < EVEN,
            pl.col("pause") >= PAUSE_NS,
        )
    )  # fmt: skip
    return {row["flow"]: (row["size"], row["period"] / 1e9) for row in found.to_dicts()}
