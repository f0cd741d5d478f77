"""What leaves a coarse grid, and what comes back from beyond it: against closed forms, and sums."""

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from math import hypot
from typing import Any

import numpy as np
import pytest
from flint import arb
from scipy import stats

from dipapprox.kernel import panels
from dipapprox.kernel.balls import precision, to_ball
from dipapprox.kernel.grid import Accuracy, Lattice, Leaves, Sampled, Space, Tail
from dipapprox.kernel.laws import Law
from dipapprox.kernel.panels import Panels
from kernel.graphs import ONE, law

HALF = Fraction(1, 2)
NARROW = Fraction(1, 8), Fraction(1, 6)
ROUGH = Accuracy(bits=2, terms=12, smooth=NARROW, kinked=NARROW)
"""Much lies beyond the grid, and panels are narrow."""

SCALES = [(3, 2), (1, 4), (1, HALF)]
WRONG = 1e-9  # what floats may be off
Sum = tuple[Callable[[Any], Any], Callable[[float], float]]
"""The density of a sum, and how likely it is at most a number."""


def of_normal(mean: int, one: float, added: float) -> Sum:
    found = stats.norm(mean, hypot(one, added))
    return found.pdf, found.cdf


def of_laplace(mean: int, one: float, added: float) -> Sum:
    """Two laws whose scales differ, as partial fractions of their characteristic functions."""
    shares = [(b, b * b / (b * b - c * c)) for b, c in ((one, added), (added, one))]
    laws = [(share, stats.laplace(mean, b)) for b, share in shares]
    return tuple(  # type: ignore[return-value]  # a density, and a distribution function
        lambda t, name=name: sum(share * getattr(own, name)(t) for share, own in laws)
        for name in ("pdf", "cdf")
    )


def of_integers(family: str, mean: int, one: float, added: float) -> Sum:
    k = np.arange(-400, 401)

    def masses(mean: int, scale: float) -> Any:
        far = np.abs(k - mean) / scale
        weights = np.exp(-far) if family == "DLap" else np.exp(-(far**2) / 2)
        return weights / weights.sum()

    sums = np.convolve(masses(mean, one), masses(0, added))[400:1201]
    return lambda t: sums[np.asarray(t) + 400], lambda t: float(sums[: int(t) + 401].sum())


def sampled(made: Space, one: Law, added: Law) -> Sampled:
    return made.convolved(made.density(one, ONE), added)


def holds(ball: arb, value: float, error: float = WRONG) -> bool:
    return bool(float(ball.lower()) - error <= value <= float(ball.upper()) + error)


@pytest.mark.parametrize("scales", SCALES)
@pytest.mark.parametrize("mean", [-2, 0, 2])
@pytest.mark.parametrize(("family", "of"), [("Gauss", of_normal), ("Lap", of_laplace)])
def test_real_numbers_leave_a_grid_and_come_back(family, of, mean, scales) -> None:
    density, at_most = of(mean, *map(float, scales))
    with precision(ROUGH.precision):
        made = Panels(Leaves({law("Gauss")}, {Fraction(mean)}, set()), ONE, ROUGH)
        found = sampled(made, law(family, mean, scales[0]), law(family, 0, scales[1]))
        for cell, (a, b) in zip(found.cells, pairwise(map(float, made.ends)), strict=True):
            for t, place in ((-1, a), (0, (a + b) / 2), (1, b)):
                assert holds(cell(arb(t)), density(place))
        low, high = float(made.ends[0]), float(made.ends[-1])
        assert holds(found.left.whole, at_most(low)) and holds(found.right.whole, 1 - at_most(high))
        for tail, end, side in ((found.left, low, -1), (found.right, high, 1)):
            assert max(density(end + side * np.arange(9) / 2)) <= float(tail.values.upper()) + WRONG


@pytest.mark.parametrize("scales", SCALES)
@pytest.mark.parametrize("mean", [-3, 0, 3])
@pytest.mark.parametrize("family", ["DLap", "DGauss"])
def test_integers_leave_a_grid_and_come_back(family, mean, scales) -> None:
    density, at_most = of_integers(family, mean, *map(float, scales))
    with precision(ROUGH.precision):
        made = Lattice(Leaves({law(family, k) for k in (-3, 3)}, set(), set()), ONE, ROUGH)
        found = sampled(made, law(family, mean, scales[0]), law(family, 0, scales[1]))
        last = made.size // 2
        for k, cell in zip(range(-last, last + 1), found.cells, strict=True):
            assert holds(cell, density(k))
        assert holds(found.left.whole, at_most(-last - 1))
        assert holds(found.right.whole, 1 - at_most(last))
        for tail, side in ((found.left, -1), (found.right, 1)):
            beyond = density(side * (last + 1 + np.arange(9)))
            assert max(beyond) <= float(tail.values.upper()) + WRONG


def test_what_a_sample_almost_never_adds_is_no_less_than_nothing() -> None:
    """From one panel something comes to those that are further away than noise is looked at."""
    with precision(ROUGH.precision):
        made = Panels(Leaves({law("Gauss")}, set(), set()), ONE, ROUGH)
        f = made.restrict(made.density(law("Gauss"), ONE), made.ends[0], made.ends[1])
        found = made.convolved(f, law("Gauss", 0, HALF))
        for cell, end in [*zip(found.cells, made.ends[1:], strict=True)][-5:]:
            z = to_ball((end - made.ends[0]) / HALF)
            least = made.total(f) * panels.value("Gauss", z, 1) * 2
            assert cell(arb(1)).upper() >= least.lower() > 0


def test_a_product_that_is_integrated_at_once_has_its_own_tails() -> None:
    with precision(64):
        made = Lattice(Leaves({law("DLap")}, set(), set()), ONE, ROUGH)
        f, g = (
            Sampled([arb(cell)] * made.size, *(Tail(arb(v), arb(w)) for v, w in tails))
            for cell, tails in ((1, ((1, 2), (3, 5))), (2, ((7, 11), (13, 17))))
        )
        found, both = made.total(f, g), made.total(made.product(f, g))
        # The smaller one of largest value times integral, to the left and to the right.
        most = 2 * made.size + min(2 * 7, 11 * 1) + min(5 * 13, 17 * 3)
        assert found.overlaps(both)
        for end, exact in ((found.lower(), 2 * made.size), (found.upper(), most)):
            assert abs(end - exact) < arb(2) ** -20
