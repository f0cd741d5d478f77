"""Rényi divergences: of published numbers, of several orders, and what they say about rho."""

import math
from fractions import Fraction
from fractions import Fraction as F
from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import dipapprox
from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.arithmetic.extended import INFINITE, Extended
from dipapprox.errors import BrokenInvariant
from dipapprox.pairs.selections import AllPairs, OrderedPairs, is_symmetric
from dipapprox.privacy.profiles import renyi
from dipapprox.privacy.profiles.profile_result import OrderResult, RenyiProfile
from dipapprox.privacy.profiles.renyi import clipped, concentrated


def divergences(text: str, *orders: str, bits: int = 8192) -> RenyiProfile:
    program = dipapprox.parse("input q in {0, 1}\nadjacent linf 1\n" + text)
    options = dipapprox.Options(max_precision=bits)
    found = dipapprox.profile(program, eps=1, renyi=orders, options=options)
    assert isinstance(found, RenyiProfile)
    return found


def laplace(order: float, shift: float) -> float:
    """Mironov 2017, table II."""
    a = order
    if a == 1:
        return shift + exp(-shift) - 1
    parts = a * exp((a - 1) * shift) + (a - 1) * exp(-a * shift)
    return log(parts / (2 * a - 1)) / (a - 1)


def test_without_a_bound_of_the_tails_there_is_a_lower_one() -> None:
    found = divergences(
        "output y in real\nr <- Gauss(q, 1)\nif r < 0 then\n    y <- 0\nelse\n    y <- r\nend",
        "2",
        bits=80,
    )
    divergence = found.orders[0].divergence
    assert divergence.upper is None
    assert F(9, 10) < divergence.lower < 1  # clamping is post-processing
    assert "quotient of densities" in found.run.reason


@pytest.mark.parametrize(
    ("published", "infinite"),
    [
        ("y[1] <- Gauss(q, 1)\ny[2] <- 0", True),
        ("a <- Gauss(q, 1)\nb <- Gauss(0, 1)\ny[1] <- a + b\ny[2] <- a - 2 * b", True),
        ("y[1] <- Gauss(0, 1)\ny[2] <- Lap(q, 1)", False),
    ],
)
def test_gaussian_densities_that_are_shifted_have_no_largest_quotient(
    published: str, infinite: bool
) -> None:
    text = f"input q in {{0, 1}}\noutput y[2] in real\nadjacent all\n{published}\n"
    found = dipapprox.profile(dipapprox.parse(text), eps=1, delta=0)
    assert found.eps_prv_enclosure.infinite is infinite


TAIL = dipapprox.parse("""
input q in {0, 1}
output o in {0, 1, 2}
adjacent all
r <- Gauss(q, 1/eps)
if r >= 0 then o <- 1 elif r >= -30 then o <- 2 else o <- 0 end
""")
"""One output is so rare that large powers of its probability leave every number format."""


@given(
    st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=2, max_size=4),
    st.sampled_from([(0, 1), (1, 0), (1, 1)]),
)
def test_relative_entropies_of_wide_probabilities_are_inside(
    weights: list[tuple[int, int]], sides: tuple[int, int]
) -> None:
    """Against the sum in doubles, for probabilities at ends of what is known of them."""
    totals = [sum(column) for column in zip(*weights, strict=True)]
    pairs = [(Fraction(p, totals[0]), Fraction(q, totals[1])) for p, q in weights]
    down, up = (Fraction(side, 4) for side in sides)
    first = [Enclosure(p * (1 - down), p * (1 + up)) for p, _ in pairs]
    second = [Enclosure.exact(q) for _, q in pairs]
    lower, upper = renyi.relative_entropy(first, second, 64)
    truth = sum(float(p) * math.log(p / q) for p, q in pairs)
    assert float(lower) - 1e-12 <= truth <= float(upper) + 1e-12


def result(order: int | str, lower: Fraction | None, upper: Fraction | None) -> OrderResult:
    made = Extended(lower, upper)
    return OrderResult("inf" if isinstance(order, str) else Fraction(order), made, None)


def test_infinity_spreads_to_larger_orders_and_contradictions_are_noticed() -> None:
    zero, one = Fraction(0), Fraction(1)
    spread = clipped([result(1, None, None), result(2, zero, None), result("inf", one, None)])
    assert all(each.divergence == INFINITE for each in spread)
    assert concentrated(spread, symmetric=True) == INFINITE
    for wrong in (
        [result(1, None, None), result(2, zero, one)],
        [result(1, one, None), result(2, zero, Fraction(1, 2))],
    ):
        with pytest.raises(BrokenInvariant):
            clipped(wrong)


def test_orders_beyond_all_powers_are_bounded_by_their_neighbours() -> None:
    orders = (1, 2, 1000, 100_000, "inf")
    found = dipapprox.profile(TAIL, eps=2, renyi=orders)
    pure = found.orders[-1].divergence
    # Gauss(0) against Gauss(1) at scale 1/2, below -30
    expected = stats.norm.logcdf(-60) - stats.norm.logcdf(-62)
    assert pure.upper is not None
    assert float(pure.lower) == pytest.approx(expected, rel=1e-9)
    previous = Fraction(0)
    for each in found.orders:
        assert previous <= each.divergence.lower
        assert each.divergence.upper <= pure.upper
        previous = each.divergence.lower
    assert previous > 3
    assert found.rho.upper is not None
    assert "precision limit: 320 bits" in found.reason
    # The same bound without asking for order infinity.
    alone = dipapprox.profile(TAIL, eps=2, renyi=(100_000,))
    assert alone.orders[0].divergence.upper == pure.upper


def test_pure_privacy_bounds_rho_if_pairs_are_checked_both_ways() -> None:
    text = dipapprox.parse(
        "input q in {0, 1}\noutput o in {0, 1}\nadjacent all\no <- 0\n"
        "x <- Lap(q, 1 / eps)\nif x >= 1/2 then o <- 1 end\n"
    )
    found = dipapprox.profile(text, eps=Fraction(1, 2), renyi=(2, "inf"))
    pure = found.orders[-1].divergence.upper
    assert found.rho.upper <= pure**2 / 2
    # Randomised response with p = 1 - exp(-1/4)/2: D_a / a is largest as a falls to 1.
    p = 1 - math.exp(-0.25) / 2
    assert float(found.rho.upper) >= (2 * p - 1) * math.log(p / (1 - p))
    one_way = concentrated(found.orders, symmetric=False)
    assert one_way.upper > pure**2 / 2
    assert not is_symmetric(text, OrderedPairs((((Fraction(0),), (Fraction(1),)),)))
    assert is_symmetric(text, AllPairs())


def test_too_many_candidates_are_not_a_matter_of_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renyi, "MOST_CANDIDATES", 0)
    found = dipapprox.profile(TAIL, eps=2, renyi=(1000,))
    assert "more than 0 pairs may be the largest of order 1000" in found.reason
