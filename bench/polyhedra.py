"""Linear guards on Gaussian samples: certified beside scipy's multivariate normal.

In: how many random polyhedra of which rank, or events of sums. Out: a `PolyhedraComparison`. Scipy
estimates its error (Genz's method), NOT rigorous, and is asked for 1e-6; the enclosures are at most
2^-40 wide.
"""

from __future__ import annotations

import importlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from bench.timing import NoAnswer, Patience, Ratio, Run, Timing, ratio, side_by_side
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
from dipapprox.privacy.options import FIRST_PRECISION, Options
from dipapprox.privacy.subjects import methods_in_order

ENCLOSED, SCIPY = "enclosed", "scipy"

_SAMPLES = 8
_GUARDS = 8


@dataclass(frozen=True, slots=True)
class Polyhedra:
    """So many random polyhedra of one rank, in eight samples, of at most eight facets."""

    rank: int
    count: int

    @property
    def goal(self) -> float | None:
        """Seconds for all of them."""
        return 0.01 * self.count if self.rank <= 3 else None

    @property
    def name(self) -> str:
        """Unique, for tables and records."""
        return f"{self.count} polyhedra of rank {self.rank} in {_SAMPLES} Gaussian samples"

    def events(self) -> list[Event]:
        """Return the events: reduced, the same in every run."""
        found: list[Event] = []
        chance = random.Random(self.rank)
        while len(found) < self.count:
            event = _random_event(chance, self.rank)
            guards = irredundant(event.guards)
            if guards and len(guards) > self.rank:
                found.append(Event(event.samples, guards))
        return found

    def method(self) -> Method:
        """Return what encloses them."""
        return GaussianRank()


@dataclass(frozen=True, slots=True)
class PartialSums:
    """P[the first, …, the N-th partial sum of like samples is at least 0]: C(2N, N) / 4^N."""

    family: Family
    count: int

    @property
    def goal(self) -> float:
        """Seconds."""
        return 0.05

    @property
    def name(self) -> str:
        """Unique, for tables and records."""
        return f"{self.count} partial sums of {self.family.name} samples"

    def events(self) -> list[Event]:
        """Return the event."""
        law = Distribution(self.family, Fraction(0), Fraction(1))
        guards = (_at_least(0, range(n)) for n in range(1, self.count + 1))
        return [Event((law,) * self.count, tuple(guards))]

    def method(self) -> Method:
        """Return what encloses it."""
        return methods_in_order(Options())


@dataclass(frozen=True, slots=True)
class TreeOfCounters:
    """P[every node of a tree is at least its threshold]: nodes add up the noise of their leaves."""

    family: Family
    leaves: int

    @property
    def goal(self) -> float:
        """Seconds."""
        return 1.0

    @property
    def name(self) -> str:
        """Unique, for tables and records."""
        return f"tree of counters, {self.leaves} leaves, {self.family.name} noise"

    def events(self) -> list[Event]:
        """Return the event; the number of leaves is a power of two."""
        laws = tuple(
            Distribution(self.family, Fraction(k % 2), Fraction(2)) for k in range(self.leaves)
        )
        guards, size = [], 1
        while size <= self.leaves:
            for start in range(0, self.leaves, size):
                guards.append(_at_least(size.bit_length() - 3, range(start, start + size)))
            size *= 2
        return [Event(laws, tuple(guards))]

    def method(self) -> Method:
        """Return what encloses it."""
        return methods_in_order(Options())


@dataclass(frozen=True, slots=True)
class Ring:
    """P[every sum of two neighbours of N in a ring, with noise of its own, is at most 1]."""

    family: Family
    count: int

    @property
    def goal(self) -> None:
        """None was set."""
        return None

    @property
    def name(self) -> str:
        """Unique, for tables and records."""
        return f"ring of {self.count} sums of {self.family.name} samples with Gaussian noise"

    def events(self) -> list[Event]:
        """Return the event."""
        one = Fraction(1)
        values = tuple(Distribution(self.family, Fraction(k % 2), one) for k in range(self.count))
        noise = (Distribution(GAUSSIAN, Fraction(0), Fraction(2)),) * self.count
        guards = []
        for k in range(self.count):
            members = (k, (k + 1) % self.count, self.count + k)
            pair: dict[Symbol, Fraction] = dict.fromkeys(members, one)
            guards.append(LinearForm.of(pair, -one))
        return [Event((*values, *noise), tuple(guards))]

    def method(self) -> Method:
        """Return what encloses it."""
        return methods_in_order(Options())


def _at_least(threshold: int, samples: range) -> LinearForm:
    """The sum of some samples is at least a number."""
    terms: dict[Symbol, Fraction] = dict.fromkeys(samples, Fraction(-1))
    return LinearForm.of(terms, Fraction(threshold))


LinearGuards = Polyhedra | PartialSums | TreeOfCounters | Ring


@dataclass(frozen=True, slots=True)
class PolyhedraComparison:
    """What was measured of one batch.

    Attributes:
        name: Of the batch.
        events: How many.
        timings: ENCLOSED and SCIPY, for all events together.
        distance: The largest one of scipy's value from its enclosure; None without scipy.
        goal: Seconds for all events; None if there is none.
    """

    name: str
    events: int
    timings: dict[str, Timing]
    distance: float | None
    goal: float | None = None

    def ratio(self) -> Ratio | None:
        """Return how many times longer scipy took."""
        return ratio(self.timings[SCIPY], self.timings[ENCLOSED])


def compare_polyhedra(batch: LinearGuards, patience: Patience) -> PolyhedraComparison:
    """Time both on the same events, in turns."""
    events = batch.events()
    values: list[float] = []
    enclosures: list[Enclosure] = []

    def enclosed(cap: float) -> None:
        enclosures[:] = certified(batch.method(), events, cap)

    def by_scipy(cap: float) -> None:
        values[:] = plain_values(events)

    runs: dict[str, Run] = {ENCLOSED: enclosed, SCIPY: by_scipy}
    timings = side_by_side(runs, patience)
    pairs = list(zip(values, enclosures, strict=False))
    distance = max((_distance(value, found) for value, found in pairs), default=None)
    return PolyhedraComparison(batch.name, len(events), timings, distance, batch.goal)


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
        NoAnswer: Without scipy.
    """
    try:
        stats: Any = importlib.import_module("scipy.stats")
    except ImportError:
        raise NoAnswer("scipy is not installed") from None
    if any(law.family is not GAUSSIAN for event in events for law in event.samples):
        raise NoAnswer("scipy has no such probability")
    return [_by_scipy(stats, event) for event in events]


def _by_scipy(stats: Any, event: Event) -> float:
    places = range(len(event.samples))
    rows = np.array([[float(g.coefficient(k)) for k in places] for g in event.guards])
    deviations = np.array([float(law.scale) for law in event.samples])
    means = rows @ np.array([float(law.mean) for law in event.samples])
    found = stats.multivariate_normal.cdf(
        -np.array([float(g.constant) for g in event.guards]),
        mean=means,
        cov=(rows * deviations**2) @ rows.T,
        allow_singular=True,
        maxpts=100_000,
        abseps=1e-6,
        releps=0.0,
        rng=np.random.default_rng(1),
    )
    return float(found)


def _distance(value: float, found: Enclosure) -> float:
    return max(float(found.lower) - value, value - float(found.upper), 0.0)


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
