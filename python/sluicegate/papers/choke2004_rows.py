"""The groups of flows beyond the paper, simulated and by both models."""

from __future__ import annotations

import polars as pl

from ..experiments.engine import Tables
from .choke2004 import groups
from .choke2004_cases import CANDIDATES, CROWDED, FAR, TRIPS, UNEQUAL
from .choke2004_model import equilibria
from .points import summarise


def group_rows(results: Tables) -> pl.DataFrame:
    """The groups of flows beyond the paper: simulated and by both models, a row each."""
    cases = (*CANDIDATES, CROWDED, *UNEQUAL, *FAR)
    shares = summarise(groups(results, cases), ("experiment", "group", "kind"), ("share",))
    rows = []
    for case in cases:
        order = [
            *((0, f"TCP, {rtt:g} ms") for rtt in (case.tcp[0][1],)),
            *((1, f"UDP of {rate:g}c") for _, rate in case.udp[:1]),
            *((2 + index, f"TCP, {rtt:g} ms") for index, (_, rtt) in enumerate(case.tcp[1:])),
            *((1 + len(case.tcp) + index, f"UDP of {rate:g}c") for index, (_, rate) in enumerate(case.udp[1:])),
        ]
        # The model has TCP first, then the unresponsive flows; the scenario the first of each, then the others.
        place = {0: 0, 1: len(case.tcp)}
        place |= {2 + index: 1 + index for index in range(len(case.tcp) - 1)}
        place |= {1 + len(case.tcp) + index: len(case.tcp) + 1 + index for index in range(len(case.udp) - 1)}
        head = f"m = {case.candidates}" + (f", {len(case.udp)} UDP" if len(case.udp) > 1 else "")
        head += f", N = {case.tcp[0][0]}" if case == CROWDED else ""
        head += f", {TRIPS[0]:g} and {TRIPS[1]:g} ms, UDP {case.x0:g}c" if len(case.tcp) > 1 else ""
        eqs = {model: equilibria(model)[case.id] for model in ("paper", "ours")}
        for group, name in order:
            said = {model: None if eq is None else eq.flows[place[group]].count * eq.flows[place[group]].share
                    for model, eq in eqs.items()}  # fmt: skip
            rows.append((case.id, group, f"{head}: {name}", said["paper"], said["ours"]))
    schema = {"experiment": pl.String, "group": pl.UInt64, "row": pl.String, "paper_share": pl.Float64,
              "ours_share": pl.Float64}  # fmt: skip
    table = pl.DataFrame(rows, schema=schema, orient="row")
    return table.join(shares, on=("experiment", "group"), how="left", maintain_order="left")
