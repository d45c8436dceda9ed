"""The order of disciplines by goals: by hand, and what holds whatever was measured."""

from __future__ import annotations

import random

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.experiments.compare import Comparison
from sluicegate.experiments.engine import LARGEST_SEED
from sluicegate.experiments.ranking import distinctions, ranking
from sluicegate.experiments.undecided import further, joined, undecided
from sluicegate.goals import Goal, Known
from sluicegate.goals import goals as parsed

GROUPS = ["transfers", "voip", "flood"]
ABOUT = Known(dict.fromkeys(GROUPS, 2e7), frozenset({"voip"}), frozenset(), (("bottleneck", 20_000_000),))


def goals(*texts: str) -> list[Goal]:
    return parsed(texts, ABOUT)


def compared(**columns: dict[str, list[float | None]]) -> Comparison:
    """A comparison with these values: column, discipline, one for each seed."""
    labels = list(next(iter(columns.values())))
    rows = [
        {"discipline": label, "seed": seed + 1} | {name: values[label][seed] for name, values in columns.items()}
        for label in labels
        for seed in range(len(columns[next(iter(columns))][label]))
    ]
    runs = pl.DataFrame(rows, infer_schema_length=None)
    return Comparison(runs, {label: label for label in labels}, labels[0], GROUPS, ["bottleneck"], {"seeds": [1, 2, 3]})


def ranks(comparison: Comparison, *texts: str) -> dict[str, int]:
    return {each.label: each.rank for each in ranking(comparison, goals(*texts))}


def test_more_goals_kept_come_first_then_the_goals_in_order() -> None:
    done = compared(
        voip_delay_p99_ns={"a": [10e6, 10.1e6, 10.2e6], "b": [40e6, 41e6, 42e6], "c": [20e6, 20.1e6, 20.2e6]},
        utilisation={"a": [0.5, 0.51, 0.52], "b": [1.0, 1.0, 1.0], "c": [0.99, 0.99, 0.99]},
    )
    delay, used = "voip p99 below 30 ms", "utilisation above 95 %"
    assert ranks(done, delay, used) == {"c": 1, "a": 2, "b": 3}
    assert [each.behind for each in ranking(done, goals(delay, used))] == ["", "goals kept", "goal 1"]
    assert ranks(done, used, delay) == {"c": 1, "b": 2, "a": 3}
    assert ranks(done, delay) == {"a": 1, "c": 1, "b": 3}, "whoever asked for a bound has it"
    assert [each.label for each in ranking(done, goals(delay))] == ["a", "c", "b"], "the better one is listed first"
    assert ranks(done, delay, "voip p99 least") == {"a": 1, "c": 2, "b": 3}


def test_what_is_not_told_apart_is_tied_and_the_next_goal_decides() -> None:
    done = compared(
        voip_delay_p99_ns={"a": [10e6, 14e6, 12e6], "b": [14e6, 10e6, 12.5e6], "c": [20e6, 21e6, 22e6]},
        utilisation={"a": [0.9, 0.9, 0.9], "b": [0.97, 0.97, 0.97], "c": [0.98, 0.98, 0.98]},
    )
    lost = "voip p99 below 5 ms"  # by all
    assert ranks(done, lost) == {"a": 1, "b": 1, "c": 3}
    assert ranks(done, lost, "utilisation above 85 %") == {"b": 1, "a": 2, "c": 3}
    assert ranks(done, "utilisation above 85 %") == {"a": 1, "b": 1, "c": 1}
    within_a_bin = compared(voip_delay_p99_ns={"a": [10.00e6] * 3, "b": [10.05e6] * 3, "c": [10.2e6] * 3})
    assert ranks(within_a_bin, "voip p99 least within 0 %") == {"a": 1, "b": 1, "c": 3}, (
        "percentiles are known to 1/128"
    )


def test_a_tolerance_leaves_what_a_person_does_not_feel_to_the_goals_that_follow() -> None:
    """The issue's own case, told apart by pairing."""
    done = compared(
        voip_response_time_p50_ns={"fq": [55e6, 55.2e6, 55.4e6], "cake": [55.8e6, 56e6, 56.2e6], "pie": [60e6] * 3},
        voip_loss_ratio={"fq": [0.02] * 3, "cake": [0.01] * 3, "pie": [0.0] * 3},
    )
    least, loss = "voip response p50 least", "voip loss least"
    assert ranks(done, least, loss) == {"cake": 1, "fq": 2, "pie": 3}
    assert [each.behind for each in ranking(done, goals(least, loss))] == ["", "goal 2", "goal 1"]
    assert ranks(done, f"{least} within 0.5 ms", loss) == {"fq": 1, "cake": 2, "pie": 3}
    assert ranks(done, f"{least} within 0 %", loss) == {"fq": 1, "cake": 2, "pie": 3}
    assert ranks(done, f"{least} within 10 %", loss) == {"pie": 1, "cake": 2, "fq": 3}
    assert ranks(done, "voip response p50 below 58 ms", loss) == {"cake": 1, "fq": 2, "pie": 3}


def test_what_distinguishes_those_that_are_tied() -> None:
    done = compared(
        voip_delay_p99_ns={"fq": [10e6, 10.1e6, 10.2e6], "red": [20e6, 20.1e6, 20.2e6], "dcn": [10.2e6, 10e6, 10.1e6]},
        utilisation={"fq": [0.99, 0.99, 0.99], "red": [0.991, 0.99, 0.99], "dcn": [0.99, 0.99, 0.99]},
    )
    by = goals("voip p99 below 30 ms", "utilisation above 95 %")
    assert distinctions(done, ranking(done, by), by) == [
        "voip p99: 10.1 ms to 20.1 ms, least with dcn, fq",
        "state about flows: red: none; dcn: fixed table; fq: flows queued",
    ]


def test_near_the_best_is_near_the_best_of_those_that_are_left() -> None:
    """10, 10.4, 10.8 and 11.2: each is within 5 % of the next."""
    delays: dict[str, list[float | None]] = {f"{delay}": [delay * 1e7] * 3 for delay in (10.0, 10.4, 10.8, 11.2)}
    done = compared(voip_delay_p99_ns=delays)
    assert ranks(done, "voip p99 least") == {"10.0": 1, "10.4": 1, "10.8": 3, "11.2": 3}


def test_among_equals_delay_of_the_others_decides_then_less_state() -> None:
    labels = ["red_pd", "fq", "dcn", "red", "my_own"]
    same: dict[str, list[float | None]] = {label: [1e7] * 3 for label in labels}
    done = compared(voip_delay_p99_ns=same, flood_delay_mean_ns=same | {"red": [3e7] * 3})
    found = ranking(done, goals("voip p99 least"), goals("flood delay least"))
    assert [(each.rank, each.label) for each in found] == [
        (1, "dcn"), (2, "fq"), (3, "red_pd"), (4, "my_own"), (5, "red"),
    ]  # fmt: skip
    assert [each.behind for each in found] == ["", "state", "state", "state", "flood delay"]
    assert [each.memory for each in found] == ["fixed table", "flows queued", "flows seen recently", None, "none"]


COLUMNS = ("voip_delay_p99_ns", "utilisation", "voip_loss_ratio")
SUBJECTS = ("voip p99 least", "utilisation most", "voip loss least")
VALUES = st.lists(st.integers(1, 12), min_size=3, max_size=3)
TABLE = st.dictionaries(
    st.sampled_from(["red", "fq", "dcn", "red_pd", "cake", "a", "b"]),
    st.tuples(VALUES, VALUES, VALUES), min_size=1,
)  # fmt: skip
GOALS = st.permutations(SUBJECTS).flatmap(
    lambda order: st.tuples(*(st.sampled_from([text, f"{text} within 0 %", f"{text} within 40 %"]) for text in order))
)


def tabled(table: dict[str, tuple[list[int], ...]]) -> Comparison:
    return compared(**{name: {label: list(row[at]) for label, row in table.items()} for at, name in enumerate(COLUMNS)})


@given(TABLE, GOALS, st.randoms())
def test_the_order_does_not_depend_on_that_of_the_candidates(
    table: dict[str, tuple[list[int], ...]], texts: tuple[str, ...], chance: random.Random
) -> None:
    shuffled = dict(chance.sample(list(table.items()), len(table)))
    found, other = (ranking(tabled(each), goals(*texts)) for each in (table, shuffled))
    assert found == other


@given(TABLE, GOALS, st.data())
def test_what_is_better_in_everything_is_never_behind(
    table: dict[str, tuple[list[int], ...]], texts: tuple[str, ...], data: st.DataObject
) -> None:
    """Better: told apart in every goal. `worse` is so by a constant, whatever the others are."""
    best = data.draw(st.sampled_from(sorted(table)))
    by = data.draw(st.tuples(*[st.integers(1, 9)] * 3))
    signs = [-1 if "most" in subject else 1 for subject in SUBJECTS]
    rows = zip(table[best], signs, by, strict=True)
    worse = tuple([value + sign * more for value in row] for row, sign, more in rows)
    done = tabled(table | {"worse": worse})
    found = {each.label: each.rank for each in ranking(done, goals(*texts))}
    assert found[best] <= found["worse"]


@given(TABLE, st.permutations(SUBJECTS))
def test_without_a_tolerance_the_intervals_alone_decide(
    table: dict[str, tuple[list[int], ...]], subjects: list[str]
) -> None:
    """Levels of what none is told apart from as better; no bound, no state."""
    named = {f"{label}_": row for label, row in table.items()}
    done = tabled(named)

    def order(labels: list[str], by: list[Goal]) -> list[list[str]]:
        if not by or not labels:
            return [labels] if labels else []
        best = done.best(by[0].column, by[0].metric, labels, "least" if by[0].sense == "below" else "most")
        return order(best, by[1:]) + order([each for each in labels if each not in best], by)

    texts = [f"{subject} within 0 %" for subject in subjects]
    expected = order(sorted(named), goals(*texts))
    ranked = ranking(done, goals(*texts))
    assert [sorted(level) for level in expected] == [
        sorted(each.label for each in ranked if each.rank == rank) for rank in sorted({each.rank for each in ranked})
    ]


def test_more_seeds_are_run_of_all_that_may_be_best_where_one_is_close() -> None:
    delay, used = "voip p99 below 30 ms", "utilisation above 95 %"
    done = compared(
        voip_delay_p99_ns={"a": [10e6, 10e6, 10e6], "b": [29e6, 30e6, 31.5e6], "c": [90e6, 91e6, 92e6]},
        utilisation={"a": [0.99] * 3, "b": [0.98] * 3, "c": [0.99] * 3},
    )
    assert undecided(done, goals(delay, used), []) == ["a", "b"], "b's contains the bound; c misses it"
    assert undecided(done, goals(used), []) == [], "all keep it"
    # Of goals without a bound: whether the difference is more than the tolerance.
    least = "voip p99 least within 10 %"
    close = compared(voip_delay_p99_ns={"a": [10e6] * 3, "b": [10.5e6, 11e6, 11.6e6], "c": [20e6, 21e6, 22e6]})
    assert undecided(close, goals(least), []) == ["a", "b"]
    level = compared(voip_delay_p99_ns={"a": [10e6] * 3, "b": [10.5e6, 11e6, 11.6e6], "d": [10e6] * 3, "c": [20e6] * 3})
    assert undecided(level, goals(least), []) == ["a", "b", "d"], "a few runs of d may lack what is rare"
    told = compared(voip_delay_p99_ns={"a": [10e6] * 3, "b": [10.1e6] * 3, "c": [20e6, 21e6, 22e6]})
    assert undecided(told, goals(least), []) == []
    one = compared(voip_delay_p99_ns={"a": [10e6], "b": [10.9e6]})
    assert undecided(one, goals(least), []) == [], "one seed has no interval"


def test_what_is_worse_in_a_later_goal_may_be_best_while_an_earlier_one_is_open() -> None:
    done = compared(
        voip_delay_p99_ns={"a": [10e6] * 3, "b": [10.5e6, 11e6, 11.6e6]}, utilisation={"a": [0.5] * 3, "b": [0.99] * 3}
    )
    assert undecided(done, goals("voip p99 least within 10 %", "utilisation most"), []) == ["a", "b"]


def test_who_misses_a_goal_may_be_best_while_all_others_may_miss_as_many() -> None:
    done = compared(
        utilisation={"a": [0.5, 0.9, 0.99], "b": [0.6, 0.61, 0.62]}, voip_loss_ratio={"a": [0.0] * 3, "b": [0.0] * 3}
    )
    used, loss = "utilisation above 80 %", "voip loss below 1 %"
    assert undecided(done, goals(used, loss), []) == ["a", "b"], "a may miss it, too"
    more = compared(
        utilisation={"a": [0.5, 0.9, 0.99], "b": [0.6, 0.61, 0.62]}, voip_loss_ratio={"a": [0.0] * 3, "b": [0.1] * 3}
    )
    assert undecided(more, goals(used, loss), []) == [], "b misses more than a in any case"


def test_further_seeds_are_none_of_the_first() -> None:
    assert further([1, 2, 3, 4, 5]) == list(range(6, 21))
    assert further([0, 1, 2]) == list(range(3, 12))
    assert further([7]) == [8, 9, 10]
    assert further([1, LARGEST_SEED - 2]) == [LARGEST_SEED - 1, LARGEST_SEED], "there are no larger ones"


def test_further_seeds_count_for_those_that_have_them() -> None:
    few = compared(utilisation={"a": [0.9, 0.8, 0.85], "b": [0.7, 0.72, 0.74]})
    more = compared(utilisation={"b": [0.9, 0.9]})
    more.runs = more.runs.with_columns(pl.col("seed") + 3)
    more.summary["seeds"] = [4, 5]
    both = joined(few, more)
    assert both.mean("b", "utilisation")["seeds"] == 5
    assert both.mean("a", "utilisation") == few.mean("a", "utilisation")
    assert both.difference("b", "utilisation") == few.difference("b", "utilisation"), "of the seeds that both have"
    assert both.apart("a", "b", "utilisation") == few.apart("a", "b", "utilisation")
    assert (both.summary["further_seeds"], both.summary["seeds"]) == ({"b": [4, 5]}, [1, 2, 3])
