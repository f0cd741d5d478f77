"""How much likelier one probability is than another, for every eps."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dipapprox.exponentials import ONE, ExponentialPolynomial, ExponentialRatio
from dipapprox.limits import Limits
from dipapprox.services.ratios import gain_of

E = ExponentialPolynomial.monomial(1, 0, 1)
HALF = ExponentialPolynomial.constant(Fraction(1, 2))


def ratio(numerator: ExponentialPolynomial, *below: ExponentialPolynomial) -> ExponentialRatio:
    return ExponentialRatio(numerator, tuple((factor, 1) for factor in below))


def test_powers_are_exact() -> None:
    gain = gain_of(ratio(E, ONE + E), ratio(ONE, ONE + E), Limits())
    assert (gain.exact, gain.upper, gain.lower) == (1, 1, 1)
    gain = gain_of(ratio(ONE, ONE + E), ratio(E, ONE + E), Limits())
    assert (gain.exact, gain.upper, gain.lower) == (-1, -1, -1)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_signs_of_denominators_do_not_matter(sign: int) -> None:
    """(1 + e^ε) / 2 over 1: less than e^ε, and that is the least such power."""
    below = (E - ONE).scaled(sign)
    p = ratio(((ONE + E) * HALF * (E - ONE)).scaled(sign), below)
    q = ratio((E - ONE).scaled(sign), below)
    gain = gain_of(p, q, Limits())
    assert (gain.exact, gain.upper, gain.lower) == (None, 1, 1)
    back = gain_of(q, p, Limits())
    assert back.upper is not None
    assert back.upper <= 0
    assert back.lower == Fraction(-1, 2)
