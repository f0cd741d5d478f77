"""Probabilities of guards that compare sums: against scipy and integration, to relative widths."""

from fractions import Fraction
from functools import cache
from itertools import product
from math import exp, factorial, sqrt

import pytest
from scipy import stats

import dipapprox
from dipapprox import Answer, Options, parse, probability, profile, verify
from tests.texts import text_of

Q = Fraction
SUMS = text_of("privacy/linear_guards-1")


def wedge(means: tuple[float, float], covariance: list[list[float]]) -> float:
    """About Pr[X <= 0 and Y <= 0] for two Gaussian variables."""
    return float(stats.multivariate_normal.cdf([0, 0], mean=means, cov=covariance))


@cache
def by_scipy(row: tuple[int, ...]) -> list[float]:
    """The distribution of SUMS at eps = 1, two samples of each form at a time."""
    a, b, c, d = row
    whole = float(stats.norm.cdf((a + b - c - d) / sqrt(16)))
    # a >= d, b <= c and a + b < c + d: with X = d - a and Y = b - c it is X <= 0 and X > Y.
    last = wedge((d - a, (b - c) - (d - a)), [[8, -8], [-8, 16]])
    return [1 - whole - last, whole, last]


def delta(eps_prv: float) -> float:
    """About the largest sum of positive parts, over all pairs."""
    table = {row: by_scipy(row) for row in product((0, 1), repeat=4)}
    return max(
        sum(max(p - exp(eps_prv) * q, 0) for p, q in zip(one, other, strict=True))
        for one, other in product(table.values(), repeat=2)
    )


def test_the_least_eps_prv_over_all_pairs() -> None:
    found = profile(parse(SUMS), eps=1, delta=Q(1, 1000))
    lower, upper = found.eps_prv_enclosure.lower, found.eps_prv_enclosure.upper
    assert found.pairs == 240 and upper - lower < Q(1, 10**8)
    assert delta(float(lower) - 1e-4) > 0.001 > delta(float(upper) + 1e-4)


def test_an_interval_round_three_samples() -> None:
    """Rank 1 with two ends: neither a half-space nor comparisons of pairs."""
    program = parse(
        "input q in {0, 1}\noutput out in {0, 1}\nx <- Gauss(q, 1 / eps)\ny <- Gauss(0, 1 / eps)\n"
        "z <- Gauss(0, 1 / eps)\nout <- 0\n"
        "if x + 2*y - z >= 0 then\n    if x + 2*y - z <= 3 then\n        out <- 1\n    end\nend\n"
    )
    found = probability(program, eps=1, input=(1,))
    inside = next(each for each in found.outputs if each.output == (1,))
    expected = stats.norm.cdf(2 / sqrt(6)) - stats.norm.cdf(-1 / sqrt(6))
    assert abs(float(inside.probability.lower) - expected) < 1e-11
    assert inside.probability.width <= Q(1, 2**40)


def test_sums_in_three_directions_have_proofs() -> None:
    program = parse(SUMS.replace("a >= d and b <= c", "a >= d and b <= c + 1"))
    for eps_prv, answer in ((Q(2), Answer.DP), (Q(1, 2), Answer.NOT_DP)):
        own = {"eps": 1, "eps_prv": eps_prv, "delta": Q(1, 1000)}
        assert verify(program, options=Options(proved=True), **own).answer is answer


CHAIN = text_of("privacy/relative_width-1")
MILLIONTH = Fraction(1, 10**6)


def ascending(n: int, relative_width: Fraction | None, options: Options) -> dipapprox.Enclosure:
    """Pr[n equal samples come in ascending order]."""
    program = dipapprox.parse(CHAIN, {"N": n})
    found = dipapprox.probability(
        program, eps=1, input=(0,), options=options, relative_width=relative_width
    )
    assert found.reason is None
    by_output = {int(each.output[0]): each.probability for each in found.outputs}
    assert by_output.get(2, dipapprox.Enclosure.exact(0)) == dipapprox.Enclosure.exact(0)
    return by_output[1]


@pytest.mark.parametrize("n", [3, 9, 16])
def test_a_chain_has_six_digits(n: int) -> None:
    truth = Fraction(1, factorial(n))
    found = ascending(n, MILLIONTH, Options())
    assert truth in found
    assert found.width <= MILLIONTH * truth


def test_the_last_precision_ends_the_refinement_and_says_so() -> None:
    program = dipapprox.parse(CHAIN, {"N": 16})
    options = Options(precision=20, max_precision=30)
    found = dipapprox.probability(
        program, eps=1, input=(0,), options=options, relative_width=Fraction(1, 10**30)
    )
    assert "1e-30 times" in found.reason
    assert found.precision == 30
    assert all(each.probability.width <= Fraction(1, 2**30) for each in found.outputs)


def test_what_is_too_small_to_be_written_is_not_called_enclosed() -> None:
    program = dipapprox.parse(
        "output out in {0, 1}\nx <- Gauss(0, 1)\nif x >= 137 then out <- 1 else out <- 0 end\n"
    )
    found = dipapprox.probability(
        program, eps=1, input=(), options=Options(max_precision=20000), relative_width=MILLIONTH
    )
    assert found.reason == "1 of 2 probabilities are too small to be written"
    (tiny,) = [each.probability for each in found.outputs if each.output == (1,)]
    assert 0 < tiny.lower < Fraction(1, 10**4000)
