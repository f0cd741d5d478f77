"""Divergences of published numbers: certified beside scipy's quadrature of the same integrals.

In: a `Published` case. Out: a row. Scipy integrates max(0, f - growth g) with its
own error estimates, NOT rigorous, densities from closed formulas or inner quadratures; the
enclosures are as narrow as the case says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
from scipy.integrate import quad
from scipy.stats import laplace, norm

from bench.polyhedra import ENCLOSED, SCIPY, beside_scipy
from bench.rows import DISTANCE, NAME, TIMES, Figure, Row, Rows, Table, at_most, of, taken, within
from bench.timing import NoAnswer, Patience, ratio
from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.arithmetic.precision import exponential
from dipapprox.composition.product_measures import ProductMeasures
from dipapprox.events.canonical import canonical
from dipapprox.events.event import Event, Marginal, Part
from dipapprox.events.reduce import reduce
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import GAUSSIAN, LAPLACE
from dipapprox.laws.family import Family
from dipapprox.limits import Limits, limited
from dipapprox.linear.form import LinearForm
from dipapprox.privacy.run import Options
from dipapprox.privacy.subjects import open_method

_MOST_TIMES_SCIPY = 10.0

_BUDGET = Fraction(1, 2)

Parts = tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Published:
    """Two inputs of a mechanism that publishes numbers.

    Attributes:
        name: Unique, for tables and records.
        first: What the one input publishes.
        second: What the other does.
        bits: Wanted width of the divergence at eps_prv 1/2.
        goal: Most seconds; None: no goal.
        plain: NOT RIGOROUS: the same divergence, with scipy; None: not compared.
    """

    name: str
    first: Parts
    second: Parts
    bits: int
    goal: float | None
    plain: Callable[[], float] | None


def compare_published(case: Published, programs: Path, patience: Patience) -> Row:
    """Time both on one case, in turns."""

    def plain() -> list[float]:
        if case.plain is None:
            raise NoAnswer("not asked")
        return [case.plain()]

    found = beside_scipy(lambda cap: [certified(case, cap)], plain, patience)
    return Row(case, {**found, "ratio": ratio(found["timings"][ENCLOSED], found["timings"][SCIPY])})


def certified(case: Published, cap: float) -> Enclosure:
    """Enclose the divergence, nothing remembered but the process's grids and quadrature rules.

    Raises:
        NoAnswer: If it is not as narrow as wanted.
    """
    measures = ProductMeasures(open_method(Options()))
    growth = exponential(_BUDGET, 2 * case.bits + 64)
    with limited(Limits(seconds=cap)):
        found = measures.divergence(case.first, case.second, growth, case.bits)
    if isinstance(found, NotEnclosed):
        raise NoAnswer(found.reason)
    if found.value.width > Fraction(1, 2**case.bits):
        raise NoAnswer(f"no narrower than {float(found.value.width):.1e}")
    return found.value


def published_numbers() -> tuple[Published, ...]:
    """Return the cases."""
    return (
        _mechanism(GAUSSIAN),
        _mechanism(LAPLACE),
        *(_sparse_vector(family, 10, fresh) for family in _NAMES for fresh in (True, False)),
        *(_gap(family, 5) for family in _NAMES),
        _histogram(GAUSSIAN, 20, 40),
        _histogram(LAPLACE, 20, 20),
    )


_NAMES: dict[Family, str] = {GAUSSIAN: "Gauss", LAPLACE: "Laplace"}
_SCIPY: dict[Family, Any] = {GAUSSIAN: norm, LAPLACE: laplace}


def _law(family: Family, mean: int, scale: int) -> Distribution:
    return Distribution(family, Fraction(mean), Fraction(scale))


def _less(i: int, j: int) -> LinearForm:
    return LinearForm.of({i: Fraction(1), j: Fraction(-1)})


def _number(law: Distribution) -> Marginal:
    return Marginal(Event((law,), ()), LinearForm.symbol(0))


def _mechanism(family: Family) -> Published:
    """One number with noise of scale 2."""
    sides = [(Part((), (_number(_law(family, mean, 2)),)),) for mean in (0, 1)]

    def plain() -> float:
        noise = [_frozen(family, mean, 2) for mean in (0, 1)]
        return _integral(noise[0].pdf, noise[1].pdf, (-60.0, 60.0))

    goal = 0.05 if family is GAUSSIAN else None
    name = f"{_NAMES[family]} mechanism, δ to 2^-40"
    return Published(name, sides[0], sides[1], 40, goal, plain)


def _sparse_vector(family: Family, count: int, fresh: bool) -> Published:
    """N - 1 answers below, the last above and published, with fresh noise or as compared."""
    last = count - 1
    queries = [0] * count, [1] * last + [0]
    guards = (*(_less(k + 1, 0) for k in range(last)), _less(0, count))
    sides: list[Parts] = []
    for means in queries:
        laws = (_law(family, 0, 4), *(_law(family, mean, 8) for mean in means))
        if fresh:
            event = reduce(Event(laws, guards))
            assert event is not None
            events = tuple(map(canonical, event))
            sides.append((Part(events, (_number(_law(family, means[last], 12)),)),))
        else:
            marginal = Marginal(Event(laws, guards), LinearForm.symbol(count))
            sides.append((Part((), (marginal,)),))

    def plain() -> float:
        threshold = _frozen(family, 0, 4)
        densities = []
        for means in queries:
            below = [_frozen(family, mean, 8) for mean in means]

            def inner(t: float, noise: Any = below) -> float:
                return float(threshold.pdf(t) * noise[0].cdf(t) ** last)

            if fresh:
                own = _frozen(family, means[last], 12)
                chance = quad(lambda t, f=inner, n=below: f(t) * n[last].sf(t), -150, 150)[0]
                densities.append(lambda y, c=chance, d=own: c * d.pdf(y))
            else:
                densities.append(
                    lambda y, f=inner, n=below: (
                        n[last].pdf(y)
                        * (quad(f, -150, min(y, 0))[0] + (quad(f, 0, y)[0] if y > 0 else 0.0))
                    )
                )
        return _integral(densities[0], densities[1], (-100.0, 100.0))

    which = "fresh answer" if fresh else "compared answer"
    name = f"sparse vector with a {which}, {_NAMES[family]}, N={count}, δ to 1e-10"
    return Published(name, sides[0], sides[1], 34, 0.5, plain)


def _gap(family: Family, count: int) -> Published:
    """The gap of a noisy maximum whose winner is the first."""
    sides: list[Parts] = []
    for means in ([0] + [1] * (count - 1), [1] + [0] * (count - 1)):
        laws = tuple(_law(family, mean, 2) for mean in means)
        parts = []
        for second in range(1, count):
            rest = (_less(k, second) for k in range(1, count) if k != second)
            event = Event(laws, (_less(second, 0), *rest))
            parts.append(Part((), (Marginal(event, _less(0, second)),)))
        sides.append(tuple(parts))

    def plain() -> float:
        densities = []
        for first, other in ((0, 1), (1, 0)):
            own, rest = (_frozen(family, mean, 2) for mean in (first, other))
            densities.append(
                lambda y, f=own, g=rest: (
                    (count - 1)
                    * quad(
                        lambda z: f.pdf(z + y) * g.pdf(z) * g.cdf(z) ** (count - 2),
                        -60,
                        60,
                        limit=200,
                    )[0]
                )
            )
        return _integral(densities[0], densities[1], (0.0, 60.0))

    name = f"noisy maximum with its gap, {_NAMES[family]}, N={count}, δ to 1e-10"
    return Published(name, sides[0], sides[1], 34, 1.0, plain)


def _histogram(family: Family, count: int, bits: int) -> Published:
    """Counts with noise of scale 20, all of them moved by one."""
    sides = [
        (Part((), tuple(_number(_law(family, mean, 20)) for _ in range(count))),) for mean in (0, 1)
    ]
    goal = 0.05 if family is GAUSSIAN else 2.0
    name = f"{count} counts, {_NAMES[family]}, δ to 2^-{bits}"
    return Published(name, sides[0], sides[1], bits, goal, None)


def _frozen(family: Family, mean: int, scale: int) -> Any:
    return _SCIPY[family](mean, scale)


def _integral(
    first: Callable[[float], float], second: Callable[[float], float], ends: Sequence[float]
) -> float:
    growth = exp(_BUDGET)
    low, high = ends
    kinks = [each for each in (0.0, 1.0) if low < each < high]
    marks = [low, *kinks, high]
    return sum(
        float(
            quad(lambda y: np.maximum(first(y) - growth * second(y), 0.0), *pair, epsabs=1e-10)[0]
        )
        for pair in pairwise(marks)
    )


def _figures(rows: Rows) -> list[Figure]:
    goal = f"at most {_MOST_TIMES_SCIPY:g} times as long as scipy"
    figures = []
    for row in rows:
        figures += within(row.name, row.timing(ENCLOSED), row.case.goal, first=True)
        figures += at_most(row.name, row.found["ratio"], _MOST_TIMES_SCIPY, goal)
    return figures


PUBLISHED = Table(
    "published numbers and scipy",
    """## Published numbers beside scipy

The divergence at eps_prv 1/2 of two inputs that publish real numbers, nothing remembered but grids.
Scipy integrates max(0, f - e^eps_prv g), with inner quadratures where densities need them; its
errors are estimates, NOT rigorous. "times": how many times longer the enclosure took.""",
    (NAME, *taken(ENCLOSED, SCIPY), TIMES, ("width", of("width")), DISTANCE),
    _figures,
)
