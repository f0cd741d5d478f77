"""Functions at shifted places: doubles must lie where balls say, on whatever panels."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise
from math import lcm

import numpy as np
import pytest
from flint import arb

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.arithmetic.legendre import legendre_nodes, legendre_rule
from dipapprox.arithmetic.precision import precision
from dipapprox.arithmetic.rounding import SAFE
from dipapprox.errors import BrokenInvariant
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import GAUSSIAN
from dipapprox.limits import Limits
from dipapprox.numerics.algebras.ball_panels import BallPanels
from dipapprox.numerics.algebras.balls import BallFunction
from dipapprox.numerics.algebras.grid import Grid, build_grid
from dipapprox.numerics.algebras.placed import Marks, Placed, PlacedAlgebra, TooManyPanels
from dipapprox.numerics.algebras.places import Place, places
from dipapprox.numerics.algebras.sampled import Array, Sampled, panel_errors
from dipapprox.numerics.algebras.sampled_panels import SampledIntegral, SampledPanels, _refinement
from tests.families import REAL_FAMILIES

Q = Fraction
BITS = 160
NODES = 20
Pair = tuple[Placed[Sampled], Placed[BallFunction]]


def random_laws(chance: random.Random) -> list[Distribution]:
    return [
        Distribution(
            chance.choice(REAL_FAMILIES),
            Q(chance.randint(-12, 12), chance.choice((1, 3, 4))),
            Q(chance.randint(1, 40), chance.choice((2, 7, 20))),
        )
        for _ in range(chance.randint(1, 3))
    ]


def algebras(
    laws: list[Distribution], most: int = 10**6
) -> tuple[PlacedAlgebra[Sampled], PlacedAlgebra[BallFunction]]:
    grids = {}
    for law in laws:
        centred = law.affine(Q(1), -law.mean)
        grid = build_grid([centred], (), 56)
        assert isinstance(grid, Grid)
        grids[centred] = grid
    unit = lcm(60, *(grid.unit for grid in grids.values()), *(law.mean.denominator for law in laws))
    return (
        PlacedAlgebra(SampledPanels(), unit, grids, most),
        PlacedAlgebra(BallPanels(BITS, 60, Limits()), unit, grids, most),
    )


def random_functions(chance: random.Random) -> list[Pair]:
    """Products, integrals, shifts and bands of random laws, three levels deep."""
    laws = random_laws(chance)
    floats, balls = algebras(laws)

    def offset() -> Fraction:
        return Q(chance.randint(-60, 60), chance.choice((5, 12)))

    pool: list[Pair] = []
    for law in laws:
        pool += [(floats.cdf(law), balls.cdf(law)), (floats.survival(law), balls.survival(law))]
    for _ in range(5):
        law, from_left = chance.choice(laws), chance.random() < 0.7
        low = chance.choice([None, Q(chance.randint(-9, 9), 5)])
        f, b = floats.density(law), balls.density(law)
        if low is not None:
            f, b = floats.restrict(f, low, None), balls.restrict(b, low, None)
        g, c = chance.choice(pool)
        (f,) = floats.running([(f, g)], from_left)
        (b,) = balls.running([(b, c)], from_left)
        by, width = offset(), abs(offset()) + Q(1, 60)
        pool.append((floats.moved(f, by), balls.moved(b, by)))
        if from_left:
            ends = [(floats.moved(f, at), balls.moved(b, at)) for at in (by + width, by)]
            (f, b), (g, c) = ends
            pool.append((floats.difference(f, g), balls.difference(b, c)))
    return pool


def finer(chance: random.Random, marks: Marks) -> Marks:
    """Boundaries that respect some others, and go beyond them."""
    low, high = marks[0], marks[-1]
    reach = high - low
    more = {chance.randrange(low - reach // 3, high + reach // 3) for _ in range(12)}
    return tuple(sorted({*marks, *more, low - reach // 2, high + reach // 2}))


@pytest.mark.parametrize("seed", range(12))
def test_doubles_lie_where_balls_say(seed: int) -> None:
    chance = random.Random(seed)
    rule = legendre_rule(NODES, (1.5, 2.0, 3.0, 4.5, 7.0, 11.0, 18.0))
    with precision(BITS):
        nodes, _ = legendre_nodes(NODES)
    sharp = 0
    for floating, ball in random_functions(chance):
        assert floating.marks == ball.marks and floating.vanishes == ball.vanishes
        marks = finer(chance, floating.marks)
        sampled, pieces = floating.on(marks), ball.on(marks)
        errors = panel_errors(sampled, rule)
        bounds = errors.values * SAFE
        sups = sampled.layers[NODES] * errors.kappa * SAFE
        with precision(BITS):
            for panel, piece in enumerate(pieces):
                for j in chance.sample(range(NODES), 4):
                    value = arb(float(sampled.layers[j, panel]))
                    exact = arb(0)
                    if piece is not None:
                        exact = piece.polynomial(nodes[j]) + arb(0, piece.radius)
                    bound = arb(float(bounds[panel]))
                    assert not abs(exact - value).lower() > bound, (seed, panel, j)
                    assert not abs(exact).lower() > arb(float(sups[panel])), (seed, panel, j)
                    sharp += bool(10 * exact.rad() <= bound)
    assert sharp > 1000


@pytest.mark.parametrize("seed", range(6))
def test_totals_meet_and_are_narrow(seed: int) -> None:
    chance = random.Random(100 + seed)
    law = random_laws(chance)[0]
    floats, balls = algebras([law])
    f, b = floats.density(law), balls.density(law)
    for _ in range(3):
        by = Q(chance.randint(-30, 30), 12) * law.scale
        by = Q(round(by * 12), 12)
        f = floats.product(floats.density(law), floats.moved(floats.from_left(f), by))
        b = balls.product(balls.density(law), balls.moved(balls.from_left(b), by))
    (double,), (ball,) = floats.totals([f]), balls.totals([b])
    assert isinstance(double, Enclosure) and isinstance(ball, Enclosure)
    assert double.meets(ball)
    assert double.width < Q(1, 2**42) and ball.width < Q(1, 2**60)


def test_panels_have_to_respect_boundaries() -> None:
    with pytest.raises(BrokenInvariant):
        places((0, 4, 8), (1, 5))


def test_an_integral_needs_ends() -> None:
    law = Distribution(GAUSSIAN, Q(0), Q(1))
    floats, _ = algebras([law])
    with pytest.raises(BrokenInvariant):
        floats.from_left(floats.cdf(law))


def test_memory_is_bounded() -> None:
    law = Distribution(GAUSSIAN, Q(0), Q(1))
    floats, _ = algebras([law], most=100)
    function = floats.density(law)
    with pytest.raises(TooManyPanels):
        for k in range(20):
            function = floats.product(function, floats.moved(floats.cdf(law), Q(k, 5)))


def test_what_is_beyond_the_ends_is_constant_or_nothing() -> None:
    law = Distribution(GAUSSIAN, Q(0), Q(1))
    floats, _ = algebras([law])
    rising = floats.from_left(floats.product(floats.density(law), floats.survival(law)))
    first, last = rising.marks[0], rising.marks[-1]
    values = rising.on((first - 10, first, *rising.marks[1:], last + 10)).layers[:NODES]
    assert (values[:, 0] == 0).all()
    assert np.ptp(values[:, -1]) == 0 and values[0, -1] == pytest.approx(0.5, abs=1e-12)


def test_panels_that_are_nearly_old_ones_are_computed() -> None:
    """Half over width rounds to 1 in doubles; the panel is another one all the same."""
    width = 2**60
    nearly = Place(0, 0, -1, width - 1, width)
    assert not nearly.is_same and nearly.half / nearly.width == 1.0
    same = Place(0, 0, 0, width, width)
    rule = legendre_rule(NODES, (1.5, 3.0))
    assert _refinement([same, nearly], rule).fresh.tolist() == [1]


def test_what_comes_before_a_panel_is_what_was_added_up() -> None:
    """The integral up to a panel is the running sum less the panel's own term, not less one that
    is computed again and rounds otherwise."""
    grid = build_grid((Distribution(GAUSSIAN, Q(0), Q(1)),), (), 40)
    assert isinstance(grid, Grid)
    algebra = SampledPanels().on(grid)
    density = algebra.density(next(iter(grid.spans)))

    class Noted(SampledIntegral):
        """Says that every panel has added 1 more than it has."""

        def _accumulated(self) -> tuple[Array, Array, Array]:
            after, error, totals = super()._accumulated()
            return after, error, totals + 1

    old = np.array(grid.marks, dtype=object)
    halves = sorted({*(2 * mark for mark in old), *(a + b for a, b in pairwise(old))})
    how = _refinement(places([2 * mark for mark in old], halves), algebra.rule)
    plain, noted = (
        kind(density, algebra.rule, algebra.half, True)._inside(how)[0]
        for kind in (SampledIntegral, Noted)
    )
    assert np.abs(plain - noted - 1).max() < 1e-12
