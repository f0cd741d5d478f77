"""Functions at shifted places, in balls: they contain the true values where they meet others."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from flint import arb

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.arithmetic.precision import to_ball
from dipapprox.errors import BrokenInvariant
from dipapprox.events.event import Event
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import GAUSSIAN
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.algebras.balls import BallAlgebra
from dipapprox.numerics.algebras.grid import Grid, build_grid
from dipapprox.numerics.elimination import grid_evaluator
from dipapprox.numerics.elimination.engine import Eliminated
from dipapprox.numerics.kinds import Tier
from tests import thorough
from tests.families import REAL_FAMILIES
from tests.numerics.alone import alone

Q = Fraction
BITS = 160
UNIT_LAW = Distribution(GAUSSIAN, Q(0), Q(1))


def algebra_for(*laws: Distribution) -> BallAlgebra:
    """The algebra for some laws and shifts by multiples of 1/60."""
    grid = build_grid(laws, (), 100)
    assert isinstance(grid, Grid)
    return BallAlgebra(grid.also_in([Q(1, 60)]), BITS, 60)


def random_law(chance: random.Random) -> Distribution:
    mean = Q(chance.randint(-12, 12), chance.choice((1, 3, 4)))
    scale = Q(chance.randint(1, 40), chance.choice((2, 7, 20)))
    return Distribution(chance.choice(REAL_FAMILIES), mean, scale)


def density(law: Distribution, point: Fraction, side: int) -> arb:
    return law.real.pdf(to_ball((point - law.mean) / law.scale), side) / to_ball(law.scale)


@pytest.mark.parametrize("seed", thorough.part(range(6), 2))
def test_bands_of_two_samples_are_differences_of_distribution_functions(seed: int) -> None:
    """Σ over the sample of what lies in [x, x + w], and what does not, is everything."""
    chance = random.Random(100 + seed)
    law = random_law(chance)
    algebra = algebra_for(law)
    width = Q(chance.randint(1, 60), 12)
    (running,) = algebra.running([(algebra.density(law),)], True)
    band = algebra.difference(algebra.moved(running, width), running)
    beyond = algebra.moved(algebra.survival(law), width)
    density = algebra.density(law)
    parts = algebra.product_totals([(density, band), (density, beyond), (density, running)])
    total = Enclosure.exact(0)
    for part in parts:
        total = total + part
    assert total.width < Q(1, 2**60) and abs(total.lower - 1) < Q(1, 2**60)


def test_what_the_grid_does_not_fit_is_refused() -> None:
    algebra = algebra_for(UNIT_LAW)
    with pytest.raises(ValueError, match="multiple"):
        algebra.moved(algebra.cdf(UNIT_LAW), Q(1, 7))
    with pytest.raises(ValueError, match="panels"):
        algebra.panels(algebra.moved(algebra.cdf(UNIT_LAW), Q(1, 60)))


def test_an_integral_needs_ends() -> None:
    algebra = algebra_for(UNIT_LAW)
    for side in (True, False):
        with pytest.raises(BrokenInvariant):
            algebra.running([(algebra.cdf(UNIT_LAW),)], side)
    with pytest.raises(BrokenInvariant):
        algebra.product_totals([(algebra.cdf(UNIT_LAW),)])


def band(low: int, high: int, *, wide: bool) -> Event:
    """x_0, or x_0 + x_1, is at most 2 above x_2 and at most 1 below; all go on in bands."""
    more = {1: Q(1)} if wide else {}
    guards = (
        LinearForm.of({0: Q(1), **more, 2: Q(-1)}, Q(-high)),
        LinearForm.of({0: Q(-1), **{k: -c for k, c in more.items()}, 2: Q(1)}, Q(-low)),
        LinearForm.of({2: Q(1), 3: Q(-1)}),
        LinearForm.of({3: Q(1), 2: Q(-1)}, Q(-3)),
        LinearForm.of({3: Q(1), 4: Q(-1)}),
        LinearForm.of({4: Q(1), 3: Q(-1)}, Q(-1)),
    )
    used = [0, *more, 2, 3, 4]
    renamed = tuple(g.renamed(lambda s: used.index(int(s))) for g in guards)
    return Event((UNIT_LAW,) * len(used), renamed)


@pytest.mark.parametrize("wide", [False, True])
def test_too_many_panels_are_no_failure(monkeypatch: pytest.MonkeyPatch, wide: bool) -> None:
    event = band(1, 2, wide=wide)
    found = alone(Eliminated(Tier.BALLS), event, 40, Limits())
    assert found.width <= Q(1, 2**40)
    monkeypatch.setattr(grid_evaluator, "MEMORY", 2**18)
    refused = alone(Eliminated(Tier.BALLS), event, 40, Limits())
    assert isinstance(refused, NotEnclosed) and "more than the memory holds" in refused.reason
