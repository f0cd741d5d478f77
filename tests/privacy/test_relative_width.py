"""Probabilities to a relative width: digits, however small the number is."""

from __future__ import annotations

from fractions import Fraction
from math import factorial

import pytest

import dipapprox
from dipapprox import Options

CHAIN = """
param N = 3
input q in {0, 1}
output out in {0, 1, 2}
adjacent all
out <- 0
if q >= 2 then out <- 2 end
for i in 1..N do
    v[i] <- Gauss(0, 1 / eps)
end
for i in 2..N do
    if v[i] <= v[i-1] then
        exit
    end
end
out <- 1
"""
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
