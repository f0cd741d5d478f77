"""Random operations in both function algebras: the doubles must lie where the balls say.

One *operation* is one operation of the algebra on one panel. `python tests/numerics/soundness.py
COUNT SEED` runs at least COUNT of them and exits with 1 if any value, majorant or total is
outside what is proved of it."""

import random
import sys
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.arithmetic.precision import precision
from dipapprox.arithmetic.rounding import SAFE
from dipapprox.laws.distribution import Distribution
from dipapprox.numerics.algebras.balls import BallAlgebra, BallFunction
from dipapprox.numerics.algebras.float64 import Float64Algebra
from dipapprox.numerics.algebras.grid import Grid, build_grid
from dipapprox.numerics.algebras.sampled import Sampled, panel_errors
from tests.event_strategies import REAL_FAMILIES
from tests.numerics.one_by_one import integral, power, product, value, whole

_BITS = 160


@dataclass
class Report:
    """What a run has seen.

    Attributes:
        operations: Operations on panels.
        checks: Comparisons with a ball.
        sharp: Checks where the ball is at most a tenth as wide as the bound that it tests.
        violations: Descriptions of values outside their bounds.
    """

    operations: int = 0
    checks: int = 0
    sharp: int = 0
    violations: list[str] | None = None

    def add(self, where: str) -> None:
        self.violations = [*(self.violations or []), where]


Array = NDArray[np.float64]
Pair = tuple[Sampled, BallFunction]


def run(count: int, seed: int) -> Report:
    """Run at least `count` operations on random programs of the algebra."""
    report = Report()
    chance = random.Random(seed)
    while report.operations < count:
        grid, points = random_grid(chance)
        nodes = chance.choice((4, 6, 8, 12, 16, 20))
        _random_program(grid, points, nodes, chance, report)
    return report


def any_law(chance: random.Random) -> Distribution:
    mean = Fraction(chance.randint(-12, 12), chance.choice((1, 3, 4)))
    scale = Fraction(chance.randint(1, 40), chance.choice((2, 7, 20)))
    return Distribution(chance.choice(REAL_FAMILIES), mean, scale)


def random_grid(chance: random.Random) -> tuple[Grid, list[Fraction]]:
    """A grid for one to three random laws and up to two constants."""
    laws = [any_law(chance) for _ in range(chance.randint(1, 3))]
    points = [Fraction(chance.randint(-9, 9), 5) for _ in range(chance.randint(0, 2))]
    grid = build_grid(laws, points, chance.choice((12, 30, 56)), chance.choice((1, 1, 2)))
    assert isinstance(grid, Grid)
    return grid, points


def _random_program(
    grid: Grid, points: list[Fraction], nodes: int, chance: random.Random, report: Report
) -> None:
    floats, balls = Float64Algebra(grid, nodes), BallAlgebra(grid, _BITS, 44)
    exact_nodes = [arb.legendre_p_root(nodes, k) for k in reversed(range(nodes))]
    algebras = (floats, balls)
    pool: list[Pair] = []

    ends = grid.boundaries[0], grid.boundaries[-1]

    def keep(name: str, pair: Pair) -> None:
        pair = pair[0], balls.restrict(pair[1], *ends)  # as doubles are
        pool.append(pair)
        report.operations += grid.panels
        _check(name, floats, balls, pair, exact_nodes, chance, report)

    for law in grid.spans:
        for kind in ("density", "cdf", "survival"):
            f, b = (getattr(algebra, kind)(law) for algebra in algebras)
            keep(kind, (f, b))
    for _ in range(14):
        kind = chance.choice(
            (*("product", "product", "from_left", "from_right"), *("restrict", "power", "running"))
        )
        f, b = chance.choice(pool)
        g, c = chance.choice(pool)
        match kind:
            case "product":
                new = product(floats, f, g), product(balls, b, c)
            case "power":
                k = chance.choice((2, 3, 7, 40))
                new = power(floats, f, k), power(balls, b, k)
            case "running":
                h, d = chance.choice(pool)
                to_right = chance.choice((False, True))
                new, twice = zip(
                    floats.running([(f, g, h), (g, g)], to_right),
                    balls.running([(b, c, d), (c, c)], to_right),
                    strict=True,
                )
                keep(kind, twice)
            case "restrict":
                low, high = (chance.choice([None, *points]) for _ in range(2))
                new = floats.restrict(f, low, high), balls.restrict(b, low, high)
            case _:
                from_left = kind == "from_left"
                new = integral(floats, f, from_left), integral(balls, b, from_left)
        keep(kind, new)


def _node_errors(algebra: Float64Algebra, function: Sampled) -> tuple[Array, Array]:
    """The values at the nodes, (P, n), and per panel a bound on their errors."""
    nodes = len(algebra.rule.nodes)
    errors = panel_errors(function, algebra.rule).values * SAFE
    return function.layers[:nodes].T, errors


def _sups(algebra: Float64Algebra, function: Sampled) -> Array:
    """Per panel an upper bound of the function."""
    kappa = panel_errors(function, algebra.rule).kappa
    return function.layers[len(algebra.rule.nodes)] * kappa * SAFE


def _check(
    name: str,
    floats: Float64Algebra,
    balls: BallAlgebra,
    pair: Pair,
    exact_nodes: list[arb],
    chance: random.Random,
    report: Report,
) -> None:
    sampled, ball_function = pair
    values, errors = _node_errors(floats, sampled)
    sups = _sups(floats, sampled)
    with precision(_BITS):
        for panel in range(floats.grid.panels):
            if not np.isfinite(errors[panel]):
                continue
            j = chance.randrange(len(exact_nodes))
            ball = value(balls, ball_function, panel, exact_nodes[j])
            error = arb(float(errors[panel]))
            report.checks += 1
            report.sharp += bool(10 * ball.rad() <= error)
            if abs(ball - arb(float(values[panel, j]))).lower() > error:
                report.add(f"{name}: panel {panel} node {j}: {values[panel, j]!r} vs {ball}")
            if abs(ball).lower() > arb(float(sups[panel])):
                report.add(f"{name}: panel {panel} node {j}: sup {sups[panel]!r} vs {ball}")
    total, exact = whole(floats, sampled), whole(balls, ball_function)
    if isinstance(total, Enclosure) and isinstance(exact, Enclosure):
        report.checks += 1
        report.sharp += 10 * exact.width <= total.width
        if not total.meets(exact):
            report.add(f"{name}: total {float(total.lower)!r} vs {float(exact.lower)!r}")


if __name__ == "__main__":
    result = run(int(sys.argv[1]), int(sys.argv[2]))
    found = result.violations or []
    print(f"{result.operations} operations, {result.checks} checks, {result.sharp} sharp")
    print("\n".join(found) or "no violations")
    sys.exit(bool(found))
