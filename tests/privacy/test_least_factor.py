"""One pair solved exactly, against the definition of delta by sets, and brute force."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.pairs.divergence import Factor, divergence
from dipapprox.privacy.profiles.details import least_factor

WEIGHTS = st.lists(st.integers(0, 6), min_size=1, max_size=6).filter(any)
DELTAS = st.fractions(0, 1, max_denominator=40)


def distribution(weights: list[int]) -> list[Fraction]:
    return [Fraction(w, sum(weights)) for w in weights]


def brute_force(first: list[Fraction], second: list[Fraction], delta: Fraction) -> Fraction | None:
    """The least E >= 1 by all sets; None for infinity."""
    best = Fraction(1)
    for size in range(1, len(first) + 1):
        for chosen in combinations(range(len(first)), size):
            p = sum(first[k] for k in chosen)
            q = sum(second[k] for k in chosen)
            if q:
                best = max(best, (p - delta) / q)
            elif p > delta:
                return None
    return best


@given(WEIGHTS, st.data(), DELTAS)
def test_exact_distributions(first: list[int], data: st.DataObject, delta: Fraction) -> None:
    size = len(first)
    second = data.draw(st.lists(st.integers(0, 6), min_size=size, max_size=size).filter(any))
    p, q = distribution(first), distribution(second)
    exact_p, exact_q = [Enclosure.exact(x) for x in p], [Enclosure.exact(x) for x in q]
    found = least_factor(exact_p, exact_q, delta)
    assert found.lower == found.upper == brute_force(p, q, delta)
    if found.lower is not None and found.lower > 1:
        # It is the boundary: delta is reached there and exceeded just before.
        at = divergence(exact_p, exact_q, Factor(found.lower, found.lower))
        assert at == Enclosure.exact(delta)
        chosen = found.outputs
        assert sum(p[k] for k in chosen) - found.lower * sum(q[k] for k in chosen) == delta
        before = (1 + found.lower) / 2
        assert divergence(exact_p, exact_q, Factor(before, before)).lower > delta


@given(WEIGHTS, st.data(), DELTAS)
def test_enclosures_contain_the_exact_solution(
    first: list[int], data: st.DataObject, delta: Fraction
) -> None:
    size = len(first)
    second = data.draw(st.lists(st.integers(0, 6), min_size=size, max_size=size).filter(any))
    slack = data.draw(st.fractions(0, Fraction(1, 50), max_denominator=1000))
    p, q = distribution(first), distribution(second)
    wide_p = [Enclosure(max(x - slack, Fraction(0)), x + slack) for x in p]
    wide_q = [Enclosure(max(x - slack, Fraction(0)), x + slack) for x in q]
    exact = brute_force(p, q, delta)
    found = least_factor(wide_p, wide_q, delta)
    if found.lower is None:
        assert exact is None
    elif exact is not None:
        assert found.lower <= exact
        assert found.upper is None or exact <= found.upper
    else:
        assert found.upper is None
