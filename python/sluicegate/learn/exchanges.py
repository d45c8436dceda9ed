"""What applications decide of connections of TCP, as connection vectors: who sends how much, and how long it then waits
(a, b, t)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


def vectors(
    packets: pl.DataFrame, flows: list[int], legs: dict[int, tuple[float, float]], data_down: bool, begun: int
) -> tuple[str, int]:
    """The connections of these numbers that were opened in the capture, in tmix's original format, and how many there
    are.

    `packets`: each seen once in its direction. `legs`: the round trip of a connection on the two sides of the link,
    beyond where data goes and before it comes from, in nanoseconds: waits are what is left of a pause without them.
    `data_down`: which direction that is.
    """
    import polars as pl

    tcp = packets.filter(pl.col("flow").is_in(flows), pl.col("seq").is_not_null())
    syns = tcp.filter(pl.col("flags") & 2 > 0)
    opened = dict(syns.filter(pl.col("flags") & 16 == 0).group_by("flow").agg(pl.col("time_ns").min()).iter_rows())
    origin = syns.group_by("flow", "opened").agg(origin=pl.col("seq").first().cast(pl.Int64) + 1)
    units = (
        tcp.filter(pl.col("payload_bytes") > 0)
        .join(origin, on=["flow", "opened"])
        .with_columns(
            end=(pl.col("seq").cast(pl.Int64) - pl.col("origin")) % 2**32 + pl.col("payload_bytes").cast(pl.Int64)
        )
        .with_columns(most=pl.col("end").cum_max().over("flow", "opened"))
        # What is sent again tells nothing of the application.
        .with_columns(new=pl.col("most") - pl.col("most").shift(fill_value=0).over("flow", "opened"))
        .filter(pl.col("new") > 0)
        .with_columns(unit=(pl.col("opened") != pl.col("opened").shift()).fill_null(True).cum_sum().over("flow"))
        .group_by("flow", "unit", maintain_order=True)
        .agg(
            pl.col("opened", "down").first(),
            pl.col("new").sum(),
            first=pl.col("time_ns").first(),
            last=pl.col("time_ns").last(),
        )
    )
    lines, count = [], 0
    for (flow,), rows in sorted(units.group_by("flow"), key=lambda item: opened.get(item[0][0], 0)):
        if flow not in opened:
            continue
        count += 1
        listed = rows.sort("unit").to_dicts()
        asked = sum(1 for row in listed if row["opened"])
        far, near = legs.get(flow, (0.0, 0.0))
        lines.append(f"SEQ {(opened[flow] - begun) // 1000} {max(asked, 1)} {count} {count}")
        if flow in legs:
            lines.append(f"r {round((far + near) / 1000)}")
        before = None
        for row in listed:
            if before is not None:
                # The end that answers sits beyond the link for data, before it for what comes back.
                path = far if before["down"] == data_down else near
                lines.append(f"t {max(round((row['first'] - before['last'] - path) / 1000), 0)}")
            lines.append(f"{'>' if row['opened'] else '<'} {row['new']}")
            before = row
    return "\n".join(lines) + "\n" if lines else "", count
