"""Independent numbers with Laplace noise: closed forms against integrals of scipy."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import exp, log, sqrt

import numpy as np
import pytest
from scipy.integrate import quad

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.composition.laplace_products import laplace_product
from dipapprox.errors import LimitReached
from dipapprox.limits import Limits


def _found(shifts: Sequence[Fraction], factor: Fraction, bits: int = 60) -> Enclosure:
    counts = {shift: shifts.count(shift) for shift in shifts}
    found = laplace_product(counts, Enclosure(factor, factor), bits, Limits())
    assert found is not None
    return found


def _integrated(shifts: Sequence[float], factor: float) -> float:
    """Integrate over the loss of the first number, the others being independent of it."""
    t, rest = shifts[0], shifts[1:]
    if not rest:
        if log(factor) >= t:
            return 0.0
        return 1 - factor if log(factor) <= -t else 1 - sqrt(factor) * exp(-t / 2)
    ends = _integrated(rest, factor * exp(-t)) / 2
    ends += exp(-t) / 2 * _integrated(rest, factor * exp(t))
    kinks = [log(factor) - k for k in (sum(rest), -sum(rest), *rest, *(-r for r in rest))]
    inside = quad(
        lambda loss: exp((loss - t) / 2) / 4 * _integrated(rest, factor * exp(-loss)),
        -t,
        t,
        points=sorted(k for k in kinks if -t < k < t) or None,
        epsabs=1e-11,
        limit=200,
    )
    return ends + float(inside[0])


@pytest.mark.parametrize("factor", [Fraction(1, 2), Fraction(1), Fraction(8, 5), Fraction(4)])
@pytest.mark.parametrize(
    "shifts",
    [
        (Fraction(1),),
        (Fraction(1, 2), Fraction(1, 2)),
        (Fraction(2), Fraction(1, 3)),
        (Fraction(1, 2), Fraction(1, 2), Fraction(3, 4)),
    ],
)
def test_closed_forms_are_the_integrals(shifts: tuple[Fraction, ...], factor: Fraction) -> None:
    found = _found(shifts, factor)
    assert found.width <= Fraction(1, 2**60)
    assert float(found.lower) == pytest.approx(
        _integrated([float(each) for each in shifts], float(factor)), abs=1e-8
    )


@pytest.mark.parametrize(
    ("square", "factor"), [(Fraction(1, 9), Fraction(1, 2)), (Fraction(2), Fraction(3))]
)
@pytest.mark.parametrize("shifts", [(), (Fraction(2), Fraction(1, 3))])
def test_gaussian_noise_beside_it(
    shifts: tuple[Fraction, ...], square: Fraction, factor: Fraction
) -> None:
    """The loss of a shift of Gaussian noise is Gaussian: the others' divergence, integrated."""
    counts = {shift: shifts.count(shift) for shift in map(Fraction, shifts)}
    found = laplace_product(counts, Enclosure.exact(factor), 50, Limits(), square)
    assert found.width <= Fraction(1, 2**50)
    losses = np.linspace(-9, 9, 401) * float(square) ** 0.5 + float(square) / 2
    weights = np.exp(-((np.linspace(-9, 9, 401)) ** 2) / 2)
    values = []
    for loss in losses.tolist():
        growth = Fraction(float(factor) * exp(-loss))
        one = laplace_product(counts, Enclosure.exact(growth), 30, Limits())
        values.append(float(one.lower))
    truth = float(weights @ values / weights.sum())
    assert float(found.lower) == pytest.approx(truth, abs=1e-4)


def test_many_numbers_and_many_bits() -> None:
    found = _found([Fraction(1, 10)] * 20, Fraction(3, 2), 200)
    assert found.lower > 0 and found.width <= Fraction(1, 2**200)
    assert _found([Fraction(1, 10)] * 21, Fraction(3, 2)).lower > found.upper
    many = {Fraction(1, k): 1 for k in range(1, 30)}
    assert laplace_product(many, Enclosure.exact(2), 40, Limits()) is None
    with pytest.raises(LimitReached):
        laplace_product(many, Enclosure.exact(2), 40, Limits(seconds=0))
