"""Linear guards on Gaussian samples: certified beside scipy's multivariate normal.

In: how many random polyhedra of which rank, or events of sums. Out: a row. Scipy estimates its
error (Genz's method), NOT rigorous, and is asked for 1e-6; the enclosures are at most 2^-40 wide.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import multivariate_normal

from bench.rows import DISTANCE, NAME, TIMES, Row, Table, taken, within
from bench.timing import NoAnswer, Patience, ratio, side_by_side
from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.events.event import Event
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import GAUSSIAN
from dipapprox.laws.family import Family
from dipapprox.limits import Limits, limited
from dipapprox.linear.form import LinearForm, Symbol
from dipapprox.linear.half_spaces import irredundant
from dipapprox.numerics.gaussian_rank.orthants import GaussianRank
from dipapprox.numerics.methods import Method
from dipapprox.privacy.run import FIRST_PRECISION, Options
from dipapprox.privacy.subjects import methods_in_order

ENCLOSED, SCIPY = "enclosed", "scipy"

_SAMPLES = 8
_GUARDS = 8


@dataclass(frozen=True, slots=True)
class LinearGuards:
    """Events of linear guards, bounded together.

    Attributes:
        name: Unique, for tables and records.
        goal: Seconds for all of them; None: no goal.
        events: Makes the events, the same in every run.
        method: Makes what encloses them.
    """

    name: str
    goal: float | None
    events: Callable[[], list[Event]]
    method: Callable[[], Method] = lambda: methods_in_order(Options())


def polyhedra(rank: int, count: int) -> LinearGuards:
    """So many random polyhedra of one rank, in eight samples, of at most eight facets; reduced."""

    def events() -> list[Event]:
        found: list[Event] = []
        chance = random.Random(rank)
        while len(found) < count:
            event = _random_event(chance, rank)
            guards = irredundant(event.guards)
            if guards and len(guards) > rank:
                found.append(Event(event.samples, guards))
        return found

    name = f"{count} polyhedra of rank {rank} in {_SAMPLES} Gaussian samples"
    return LinearGuards(name, 0.01 * count if rank <= 3 else None, events, GaussianRank)


def partial_sums(family: Family, count: int) -> LinearGuards:
    """P[the first, …, the N-th partial sum of like samples is at least 0]: C(2N, N) / 4^N."""
    law = Distribution(family, Fraction(0), Fraction(1))
    guards = tuple(_at_least(0, range(n)) for n in range(1, count + 1))
    name = f"{count} partial sums of {family.name} samples"
    return LinearGuards(name, 0.05, lambda: [Event((law,) * count, guards)])


def tree_of_counters(family: Family, leaves: int) -> LinearGuards:
    """P[every node of a tree is at least its threshold]: nodes add up the noise of their leaves.

    The number of leaves is a power of two.
    """
    laws = tuple(Distribution(family, Fraction(k % 2), Fraction(2)) for k in range(leaves))
    guards, size = [], 1
    while size <= leaves:
        for start in range(0, leaves, size):
            guards.append(_at_least(size.bit_length() - 3, range(start, start + size)))
        size *= 2
    name = f"tree of counters, {leaves} leaves, {family.name} noise"
    return LinearGuards(name, 1.0, lambda: [Event(laws, tuple(guards))])


def ring(family: Family, count: int) -> LinearGuards:
    """P[every sum of two neighbours of N in a ring, with noise of its own, is at most 1]."""
    one = Fraction(1)
    values = tuple(Distribution(family, Fraction(k % 2), one) for k in range(count))
    noise = (Distribution(GAUSSIAN, Fraction(0), Fraction(2)),) * count
    guards = []
    for k in range(count):
        pair: dict[Symbol, Fraction] = dict.fromkeys((k, (k + 1) % count, count + k), one)
        guards.append(LinearForm.of(pair, -one))
    name = f"ring of {count} sums of {family.name} samples with Gaussian noise"
    return LinearGuards(name, None, lambda: [Event((*values, *noise), tuple(guards))])


def _at_least(threshold: int, samples: range) -> LinearForm:
    """The sum of some samples is at least a number."""
    terms: dict[Symbol, Fraction] = dict.fromkeys(samples, Fraction(-1))
    return LinearForm.of(terms, Fraction(threshold))


def compare_polyhedra(batch: LinearGuards, programs: Path, patience: Patience) -> Row:
    """Time both on the same events, in turns; the distance is that of scipy's values, if any."""
    events = batch.events()
    found = beside_scipy(
        lambda cap: certified(batch.method(), events, cap), lambda: plain_values(events), patience
    )
    times = ratio(found["timings"][SCIPY], found["timings"][ENCLOSED])
    return Row(batch, {"events": len(events), **found, "ratio": times})


def beside_scipy(
    enclose: Callable[[float], list[Enclosure]],
    plain: Callable[[], list[float]],
    patience: Patience,
) -> dict[str, Any]:
    """Time both in turns; the width of the first enclosure, and how far values are at most from
    theirs: None where nothing was found."""
    values: list[float] = []
    enclosures: list[Enclosure] = []

    def enclosed(cap: float) -> None:
        enclosures[:] = enclose(cap)

    def by_scipy(cap: float) -> None:
        values[:] = plain()

    timings = side_by_side({ENCLOSED: enclosed, SCIPY: by_scipy}, patience)
    width = float(enclosures[0].width) if enclosures else None
    return {"timings": timings, "width": width, "distance": farthest(values, enclosures)}


def farthest(values: Sequence[float], enclosures: Sequence[Enclosure]) -> float | None:
    """Return the largest distance of a value from its enclosure; None if there are none."""
    pairs = zip(values, enclosures, strict=False)
    distances = (max(float(e.lower) - v, v - float(e.upper), 0.0) for v, e in pairs)
    return max(distances, default=None)


def certified(method: Method, events: Sequence[Event], cap: float) -> list[Enclosure]:
    """Enclose all probabilities, nothing remembered but the process's quadrature rules.

    Raises:
        NoAnswer: If one is missing.
    """
    with limited(Limits(seconds=cap)):
        found = method.enclose(events, FIRST_PRECISION)
    enclosed = [answer for answer in found if isinstance(answer, Enclosure)]
    if len(enclosed) < len(events):
        raise NoAnswer("an event without enclosure")
    return enclosed


def plain_values(events: Sequence[Event]) -> list[float]:
    """NOT RIGOROUS: about the probabilities.

    Raises:
        NoAnswer: If not all samples are Gaussian.
    """
    if any(law.family is not GAUSSIAN for event in events for law in event.samples):
        raise NoAnswer("scipy has no such probability")
    return list(map(by_scipy, events))


def by_scipy(event: Event, error: float = 1e-6) -> float:
    """NOT RIGOROUS: of Gaussian samples, forms between bounds as a multivariate normal vector."""
    ends: dict[tuple[Fraction, ...], list[float]] = {}
    for guard in event.guards:
        row = [guard.coefficient(k) for k in range(len(event.samples))]
        unit = next(filter(None, row))
        bounds = ends.setdefault(tuple(c / unit for c in row), [-np.inf, np.inf])
        bound = float(-guard.constant / unit)
        bounds[unit > 0] = min(bounds[1], bound) if unit > 0 else max(bounds[0], bound)
    rows = np.array([list(map(float, row)) for row in ends])
    lower, upper = np.array(list(ends.values())).T
    means, scales = np.array([[float(law.mean), float(law.scale)] for law in event.samples]).T
    found = multivariate_normal.cdf(
        upper,
        lower_limit=lower,
        mean=rows @ means,
        cov=(rows * scales**2) @ rows.T,
        allow_singular=True,
        maxpts=100_000,
        abseps=error,
        releps=0.0,
        rng=np.random.default_rng(1),
    )
    return float(found)


def _random_event(chance: random.Random, rank: int) -> Event:
    samples = tuple(
        Distribution(
            GAUSSIAN, Fraction(chance.randint(-3, 3), 3), Fraction(chance.randint(1, 5), 2)
        )
        for _ in range(_SAMPLES)
    )
    forms = [
        LinearForm.of({k: Fraction(chance.randint(-3, 3)) for k in range(_SAMPLES)})
        for _ in range(rank)
    ]
    guards = []
    for _ in range(_GUARDS):
        total = LinearForm.constant_form(chance.choice((-1, -4, -6, -9)))
        for form in forms:
            total = total + form.scaled(Fraction(chance.randint(-3, 3)))
        if not total.is_constant:
            guards.append(total)
    return Event(samples, tuple(guards))


POLYHEDRA = Table(
    "by rank and scipy",
    """## Linear guards beside scipy

All events of a row together; scipy knows no sums of Laplace samples. The enclosures are at most
2^-40 wide; scipy's multivariate normal distribution function is asked for 1e-6, an error that it
estimates, NOT rigorous. "distance" is the largest one of its value from the enclosure.""",
    (NAME, *taken(ENCLOSED, SCIPY), TIMES, DISTANCE),
    lambda rows: [
        figure for row in rows for figure in within(row.name, row.timing(ENCLOSED), row.case.goal)
    ],
)
