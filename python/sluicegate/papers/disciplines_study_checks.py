"""The checks of the study of DCN. Inputs are ours, derived for this project [D]; the paper's numbers depend on
its traffic."""

from __future__ import annotations

import polars as pl

from ..stats import difference
from .checks import Bounds, Check, above, printed
from .disciplines_compare import DCN_VARIANTS, FAIR, UNRESPONSIVE, Compared, spread
from .disciplines_study import BUCKETS, DEFAULT_CASE, LOADS, Q_REF, drop_tail, loaded, uncongested
from .points import interval_of, values_of

TRIALS = {0.98: 87.0, 1.06: 150.0}
"""Where trial runs of the printed law, under other traffic, held the queue."""

_PAGES = [f"{100 * load:.0f}" for load in LOADS]
OF_FIGURE: dict[str, tuple[str, ...]] = {
    "laws": (
        *(f"study-offered-{page}" for page in _PAGES), *(f"study-holds-{page}" for page in _PAGES),
        *(f"study-printed-longer-{page}" for page in _PAGES), *(f"study-printed-trial-{page}" for page in _PAGES),
        *(f"study-printed-loses-{page}" for page in _PAGES), "study-short-spared", "study-no-tail",
        "study-forwarded-share", "study-arrived-starves",
    ),
    "classification": ("study-never-judged", "study-buckets"),
    "control": (),
    "matters": (),
}  # fmt: skip
"""Which checks stand under which figure."""


def checks(runs: pl.DataFrame, all_: Compared) -> list[Check]:
    """All checks of the study. `runs`: its points; `all_`: the comparisons, for the unresponsive flow."""
    result = []
    for load in LOADS:
        page = f"{100 * load:.0f}"
        right, wrong = (loaded(load, law, "forwarded").id for law in ("corrected", "printed"))
        offered = interval_of(runs, uncongested(load).id, "used")
        longer = difference(values_of(runs, wrong, "queue"), values_of(runs, right, "queue"))
        loses = difference(values_of(runs, wrong, "loss"), values_of(runs, right, "loss"))
        result += [
            Check(
                f"study-offered-{page}", "ours: the traffic", "exact",
                f"the transfers offer {page} % of the link; tested on one five times as fast",
                5 * offered.mean, "% of the link",
                Bounds(100 * load - 5 * offered.run_margin - 0.5, 100 * load + 5 * offered.run_margin + 0.5,
                       f"{page} %, rounded to whole transfers (0.5) and the 95 % prediction interval of a run over "
                       f"{offered.count} seeds ({5 * offered.run_margin:.2g}): which transfers end in time is chance"),
            ),
            Check(
                f"study-holds-{page}", "Sec. 3.2 and 5; the law corrected [D]", "claim",
                f"the controller holds the queue at q_ref = {Q_REF} packets; tested with the corrected law",
                (held := interval_of(runs, right, "queue")).mean, "packets", printed(Q_REF, 1, held),
            ),
            Check(
                f"study-printed-longer-{page}", "Sec. 3.2, as printed [D]", "claim",
                "derived here: the printed law, whose proportional part pushes the wrong way, holds a longer queue "
                f"than the corrected one at {page} % load, seed by seed",
                longer.mean, f"packets more ({interval_of(runs, wrong, 'queue').mean:.1f} packets with the "
                f"printed law)",
                above(0, longer),
            ),
            Check(
                f"study-printed-trial-{page}", "trial runs for this project, under HTTP on 100 Mbit/s [D]", "shown",
                f"the printed law held the queue at {TRIALS[load]:g} packets instead of {Q_REF}",
                (queue := interval_of(runs, wrong, "queue")).mean, "packets", printed(TRIALS[load], 1, queue),
            ),
            Check(
                f"study-printed-loses-{page}", "Sec. 3.2, as printed [D]", "claim",
                "derived here: swinging, the printed law also loses more packets than the corrected one, seed by seed",
                loses.mean, "percentage points of the packets", above(0, loses),
            ),
        ]  # fmt: skip
    heavy = LOADS[-1]
    default, tail = loaded(heavy, "corrected", "forwarded").id, drop_tail(heavy).id
    spared = difference(values_of(runs, tail, "short_hit"), values_of(runs, default, "short_hit"))
    dcn = [loaded(load, law, count).id for load in LOADS for law in ("corrected", "printed")
           for count in ("forwarded", "arrived")]  # fmt: skip
    tails = [value for id_ in dcn for value in values_of(runs, id_, "tail")]
    never = [value for id_ in dcn for value in values_of(runs, id_, "never_hit")]
    same = [
        abs(few - many)
        for column in ("queue", "loss", "used", "short_hit", "arrived", "hb", "p_ref")
        for case in BUCKETS
        for few, many in zip(*(values_of(runs, id_, column) for id_ in (case.id, DEFAULT_CASE.id)), strict=True)
    ]
    share = spread(all_, UNRESPONSIVE, "dcn", "udp_share")
    loss = spread(all_, UNRESPONSIVE, DCN_VARIANTS[0], "udp_loss_ratio")
    return [
        *result,
        Check(
            "study-short-spared", "Sec. 3: only “large” and “fast” flows are told", "claim",
            f"at {100 * heavy:.0f} % load fewer short transfers lose a packet than with Drop Tail, seed by seed",
            spared.mean, "percentage points of the short transfers", above(0, spared),
        ),
        Check(
            "study-no-tail", "Sec. 5", "exact",
            "the buffer is large enough for no tail drops", max(tails), "packets lost to a full buffer, the "
            "most in a run",
            Bounds(None, 0.0, "none"),
        ),
        Check(
            "study-never-judged", "Sec. 3.1, with the default threshold of 6 [D]", "exact",
            "a flow whose packets never exceed the threshold is never told of congestion; tested on transfers of 1 or "
            "2 packets, opening and closing included", max(never), "packets lost early, the most in a run",
            Bounds(None, 0.0, "none"),
        ),
        Check(
            "study-buckets", "Sec. 3.1: collisions in HB are chained", "exact",
            "the number of HB's buckets changes the work, not the results; tested with 1, 64, 1024 and 65,536 buckets "
            "instead of 4096",
            max(same), "the greatest difference of any quantity of any seed", Bounds(None, 0.0, "none"),
        ),
        Check(
            "study-forwarded-share", "Sec. 3.2: a flow's fair share is p_ref in each T_dec [D]", "claim",
            "with forwarded packets counted, a UDP flow of twice the link's rate among 32 TCP gets a fair share; "
            "tested: at most twice one",
            100 * share.mean, f"% of the link; a 33rd is {100 * FAIR:.1f} %",
            Bounds(None, 100 * (2 * FAIR - share.margin), f"twice a 33rd, moved down by {100 * share.margin:.2g} so "
            f"that the whole 95 % interval over {share.count} seeds lies below it"),
        ),
        Check(
            "study-arrived-starves", "Sec. 3.2: packets that have arrived [D]", "claim",
            "derived here: with arrivals counted, such a flow's count grows without bound and its drop rate tends to 1",
            100 * loss.mean, "% of its packets lost",
            Bounds(99 + 100 * loss.margin, None, f"above 99, moved up by {100 * loss.margin:.2g} so that the whole 95 "
            f"% interval over {loss.count} seeds lies above it"),
        ),
    ]  # fmt: skip
