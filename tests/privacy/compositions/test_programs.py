"""Programs between pairs: hulls, pairs that are kept, and what many runs cost."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dipapprox
from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.arithmetic.extended import Extended
from dipapprox.composition.mechanisms import Adjacency
from dipapprox.errors import UserError
from dipapprox.pairs.hockey_stick import DOUBLE_BITS
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.compositions.programs import bounds_of_program, hull, merged, undominated
from dipapprox.privacy.options import Options
from dipapprox.privacy.run import Setting
from tests.cli.conftest import COIN, SVT

F = Fraction
Exact = list[tuple[Fraction, Fraction]]


def profile(masses: Exact, x: Fraction) -> Fraction:
    return sum((max(p - x * q, F(0)) for p, q in masses), F(0))


def lower(masses: tuple[tuple[Enclosure, Enclosure], ...]) -> Exact:
    return [(p.lower, q.lower) for p, q in masses]


@given(
    st.lists(
        st.tuples(st.integers(0, 20), st.integers(0, 20)).filter(any), min_size=1, max_size=5
    ).filter(lambda pairs: all(map(sum, zip(*pairs, strict=True)))),
    st.lists(st.fractions(1, 20, max_denominator=9), min_size=1, max_size=6),
)
def test_a_hull_is_a_pair_above_what_it_is_made_of(
    counts: list[tuple[int, int]], places: list[Fraction]
) -> None:
    first, second = (sum(each) for each in zip(*counts, strict=True))
    one = [(F(p, first), F(q, second)) for p, q in counts]
    other = [(q, p) for p, q in one]
    xs = sorted({F(1), *places})
    points = [(x, max(profile(one, x), profile(other, x))) for x in xs]
    found = lower(hull(points))
    assert sum(p for p, _ in found) == sum(q for _, q in found) == 1
    for x in {F(1, 30), F(1, 3), F(1), F(3, 2), F(50), *xs, *(1 / x for x in xs)}:
        true = max(profile(one, x), profile(other, x))
        assert true <= profile(found, x) <= 1
        if x in xs:
            assert profile(found, x) == true


def enclosed(masses: Exact) -> list[tuple[Enclosure, Enclosure]]:
    return [(Enclosure.exact(p), Enclosure.exact(q)) for p, q in masses]


@given(
    st.lists(
        st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=2, max_size=4),
        min_size=1,
        max_size=8,
    )
)
def test_kept_pairs_are_above_all_others(counts: list[list[tuple[int, int]]]) -> None:
    rows = []
    for pairs in counts:
        first, second = (sum(each) for each in zip(*pairs, strict=True))
        rows.append([(F(p, first), F(q, second)) for p, q in pairs])
    kept = [lower(masses) for masses, _ in undominated([enclosed(row) for row in rows])]
    assert 1 <= len(kept) <= len(rows)
    places = [F(k, 12) for k in range(1, 40)]
    for row in rows:
        assert any(all(profile(row, x) <= profile(each, x) for x in places) for each in kept)


def test_ratios_beyond_doubles_are_looked_at_somewhere_else() -> None:
    tiny = F(1, 2**1070)
    row = enclosed([(F(1, 2), tiny), (F(1, 2), 1 - tiny)])
    ((masses, _),) = undominated([row])
    for x in (F(1, 2), F(1), F(3), F(2**200)):
        assert profile([(p.upper, q.lower) for p, q in row], x) <= profile(lower(masses), x)


def test_kept_pairs_are_above_all_that_enclosures_allow() -> None:
    half, wide = F(1, 2), F(1, 20)
    row = [
        (Enclosure(half - wide, half + wide), Enclosure(F(1, 4) - wide, F(1, 4) + wide)),
        (Enclosure(half - wide, half + wide), Enclosure(F(3, 4) - wide, F(3, 4) + wide)),
    ]
    ((masses, _),) = undominated([row])
    for x in (F(1), F(3, 2), F(2), F(3)):
        most = min(profile([(p.upper, q.lower) for p, q in row], x), F(1))
        assert most <= profile(lower(masses), x) + F(1, 10**9)


def test_merging_loses_no_mass() -> None:
    row = enclosed([(F(1, 4), F(1, 8)), (F(1, 2), F(1, 4)), (F(1, 4), F(5, 8)), (F(0), F(0))])
    found = merged(row)
    assert len(found) == 2
    assert sum(p.lower for p, _ in found) == sum(q.lower for _, q in found) == 1


def test_a_program_is_between_its_pairs() -> None:
    program = dipapprox.parse(SVT)
    found = bounds_of_program(
        Setting(program, AllPairs(), Options()),
        F(1, 2),
        Adjacency.ADD_REMOVE,
        10,
        F(1, 2**DOUBLE_BITS),
    )
    for budget in ("0", "1/8"):
        true = dipapprox.profile(program, eps="1/2", eps_prv=budget).delta_enclosure
        composed = dipapprox.compose([{"program": program, "eps": "1/2"}])
        assert composed.delta(budget).delta_enclosure.meets(true)
    assert found.worst and len(found.chosen) <= len(found.worst)


def test_programs_that_tell_all() -> None:
    program = dipapprox.parse(COIN)
    answer = dipapprox.compose([{"program": program, "eps": 1, "times": 2}]).epsilon("0.01", "0.1")
    found = answer.eps_prv_enclosure
    assert found.lower is None or found.upper is None
    alone = dipapprox.parse(COIN.replace("{0, 1}\noutput", "{0}\noutput"))
    with pytest.raises(UserError, match="no two different inputs are adjacent"):
        dipapprox.compose([{"program": alone, "eps": 1}]).epsilon("0.01")


HISTOGRAM = """
param N = 1
input q[N] in 0..2
output out[N] in -1..3
adjacent METRIC 1
for i in 1..N do
    r <- Lap(q[i], 1 / eps)
    out[i] <- disc(r; -1 < 0 < 1 < 2 < 3)
end
"""


@pytest.mark.parametrize(("metric", "cells", "runs", "alone"), [("l1", 7, 3, 3), ("linf", 4, 2, 8)])
def test_independent_parts_cost_what_single_runs_of_those_that_change_do(
    metric: str, cells: int, runs: int, alone: int
) -> None:
    def least(size: int, times: int) -> Extended:
        program = dipapprox.parse(HISTOGRAM.replace("METRIC", metric), {"N": size})
        run = {"program": program, "eps": "1/5", "times": times}
        found = dipapprox.compose([run]).epsilon("1e-6").eps_prv_enclosure
        assert found is not None
        return found

    parts, single = least(cells, runs), least(1, alone)
    assert parts.enclosure().meets(single.enclosure())
    assert parts.is_within(F(1, 10**6)) and single.is_within(F(1, 10**3))


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=3),
        min_size=1,
        max_size=4,
    ),
    st.fractions(0, 20, max_denominator=9),
)
def test_merged_outputs_are_above_what_they_are_merged_of(
    groups: list[list[tuple[int, int]]], x: Fraction
) -> None:
    small = F(1, 10**14)
    row = [
        (Enclosure(F(p), p + small), Enclosure(F(q), q + small)) for each in groups for p, q in each
    ]
    found = merged(row + row)
    assert len(found) <= len(row)
    most = sum(2 * max(p.upper - x * q.lower, F(0)) for p, q in row)
    assert sum(max(p.upper - x * q.lower, F(0)) for p, q in found) >= most
    for k in range(2):
        assert sum(each[k].upper for each in found) == 2 * sum(each[k].upper for each in row)
        assert sum(each[k].lower for each in found) <= 2 * sum(each[k].lower for each in row)
