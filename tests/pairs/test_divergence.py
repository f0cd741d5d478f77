"""VerifyPair: its bounds against exact distributions inside the enclosures."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.pairs.divergence import (
    certain_outputs,
    difference_over,
    divergence,
    eps_prv_factor,
    likely_outputs,
)

BUDGETS = st.fractions(0, 5, max_denominator=100)
LAWS = st.integers(2, 5).flatmap(
    lambda n: st.tuples(
        *(st.lists(st.integers(0, 60), min_size=n, max_size=n).filter(any) for _ in range(2))
    )
)


def probabilities(weights: list[int]) -> list[Fraction]:
    return [Fraction(w, sum(weights)) for w in weights]


def around(values: list[Fraction], bits: int) -> list[Enclosure]:
    """Enclosures of width <= 2**-bits, off-centre, exact where the value is 0."""
    third = Fraction(1, 3 * 2**bits)
    return [
        Enclosure(max(v - third, Fraction(0)), min(v + 2 * third, Fraction(1)))
        if v
        else Enclosure.exact(0)
        for v in values
    ]


def exact_delta(p: list[Fraction], q: list[Fraction], budget: Fraction) -> Enclosure:
    """delta for exactly known distributions; as thin as e^eps_prv at 400 bits."""
    exact = [Enclosure.exact(v) for v in p], [Enclosure.exact(v) for v in q]
    return divergence(*exact, eps_prv_factor(budget, 400))


@given(LAWS, BUDGETS, st.integers(4, 80))
def test_bounds_contain_delta_and_shrink(
    laws: tuple[list[int], list[int]], budget: Fraction, bits: int
) -> None:
    p, q = map(probabilities, laws)
    delta = divergence(around(p, bits), around(q, bits), eps_prv_factor(budget, bits))
    true = exact_delta(p, q, budget)
    assert delta.lower <= true.lower <= true.upper <= delta.upper
    # The paper's error bound, |V| terms each of width 2^-bits + e^eps_prv 2^-bits (twice).
    assert delta.width <= 2 * len(p) * (1 + eps_prv_factor(budget, 60).lower + 1) / 2**bits
    assert delta.lower >= 0
    assert delta.upper <= 1


@given(LAWS, BUDGETS, st.integers(4, 60))
def test_witness_set_attains_the_lower_bound(
    laws: tuple[list[int], list[int]], budget: Fraction, bits: int
) -> None:
    p, q = map(probabilities, laws)
    first, second, factor = around(p, bits), around(q, bits), eps_prv_factor(budget, bits)
    certain = certain_outputs(first, second, factor)
    delta = divergence(first, second, factor)
    over = difference_over(certain, first, second, factor)
    assert over.lower == delta.lower
    assert over.upper <= delta.upper
    # Every other set has a smaller difference than delta (Lemma 2).
    likely = likely_outputs(first, second, factor)
    assert set(certain) <= set(likely)
    assert difference_over(likely, first, second, factor).lower <= delta.upper


def test_randomised_response_closed_form() -> None:
    # Keep the bit with probability 3/4: p/q = 3, so delta = 3/4 - e^(1/2)/4 at budget 1/2.
    p, q = [Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]
    delta = exact_delta(p, q, Fraction(1, 2))
    with ctx.workprec(300):
        reference = (3 - arb(0.5).exp()) / 4
        assert float(reference) == pytest.approx(float(delta.lower))
    assert delta.width < Fraction(1, 2**390)
    assert exact_delta(p, q, Fraction(11, 10)) == Enclosure.exact(0)  # e^1.1 > 3


def test_budgets_beyond_all_bounds() -> None:
    factor = eps_prv_factor(Fraction(10**12), 40)
    assert factor.upper is None
    p = [Enclosure.exact(Fraction(1, 2)), Enclosure.exact(Fraction(1, 2))]
    q = [Enclosure.exact(0), Enclosure.exact(1)]
    assert divergence(p, q, factor) == Enclosure.exact(Fraction(1, 2))
    assert likely_outputs(p, q, factor) == certain_outputs(p, q, factor) == (0,)
    with pytest.raises(ValueError, match="no lower bound"):
        difference_over((1,), p, q, factor)
    unknown = [Enclosure(Fraction(0), Fraction(1, 8))]
    assert divergence([p[0]], unknown, factor) == Enclosure(Fraction(0), Fraction(1, 2))
