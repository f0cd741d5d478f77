"""Samples such that what is left is easy once their values are known: the fewest there are.

In: an event. Out: a `Separation`. Let the guards be c s + A x + k <= 0 for samples s, the
*separators*, and x, the others. Where Gaussian samples x_i and numbers a_i have A a = c,

    c s + A x + k  =  A y + k,      y = x + a s:

given s, the event is that of the guards A y + k <= 0 with means moved by a s: it keeps its guards.
Then Pr[event | s] is analytic in s everywhere, and for s = u + i v

    |Pr[event | s]|  <=  exp(v² Σ a_i² / σ_i² / 2),

as the densities of the y_i are at most exp((a_i v / σ_i)² / 2) times those for s = u, and the other
laws do not change. Of all a the one with the least Σ a_i² / σ_i² is a = D A' λ with A D A' λ = c,
where D has the variances of the Gaussian x_i, else 0; that sum is λ' c.

Guards of a separator alone are its bounds. The x fall into independent parts; each of them must be
a comparison of samples or sums that eliminations do, or Gaussian of a low rank.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import reduce
from itertools import combinations
from math import comb

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.data_classes import dataclass
from dipapprox.events.event import Event
from dipapprox.events.intervals import EVERYWHERE, Interval, common
from dipapprox.events.measures import covariance
from dipapprox.events.reduce import connected_parts
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm
from dipapprox.linear.span import solved
from dipapprox.numerics.elimination.order_event import order_event
from dipapprox.numerics.elimination.sum_event import sum_event
from dipapprox.numerics.gaussian_rank.cones import polyhedron_of

MOST_SEPARATORS = 3

_MOST_CHOICES = 400  # most sets of samples that are looked at

_EASY_RANK = 3


@dataclass(frozen=True, slots=True)
class Separator:
    """A sample that takes values in turn."""

    sample: int  # its number in the event
    lower: Fraction | None  # least value; None: no bound
    upper: Fraction | None  # greatest value
    # (sample, a): for every unit of the value the mean of a Gaussian sample moves by a
    shift: tuple[tuple[int, Fraction], ...]
    strength: Fraction  # Σ a² / σ² over `shift`


@dataclass(frozen=True, slots=True)
class RemainingPart:
    """A part of what is left: guards over positions in `samples`."""

    samples: tuple[int, ...]
    guards: tuple[LinearForm, ...]


@dataclass(frozen=True, slots=True)
class Separation:
    """Separators and the independent parts that are left; no part: nothing is."""

    separators: tuple[Separator, ...]
    parts: tuple[RemainingPart, ...]


def separations(event: Event, limits: Limits) -> Iterator[Separation]:
    """Yield what separates a connected, irredundant event in the fewest samples, if few do."""
    size, found, choices = len(event.samples), False, 0
    for count in range(1, min(MOST_SEPARATORS, size - 1) + 1):
        choices += comb(size, count)
        if choices > _MOST_CHOICES:
            return
        for chosen in combinations(range(size), count):
            limits.check()
            separation = separation_by(event, chosen)
            if separation is not None:
                found = True
                yield separation
        if found:
            return


def separation_by(event: Event, chosen: Sequence[int]) -> Separation | None:
    """Separate an event by some samples; None if guards or laws do not allow it."""
    bounds: dict[int, list[Interval]] = {sample: [] for sample in chosen}
    ties: list[LinearForm] = []
    for guard in event.guards:
        samples = guard.samples()
        if len(samples) == 1 and samples[0] in bounds:
            c = guard.coefficient(samples[0])
            end = -guard.constant / c
            bounds[samples[0]].append((None, end) if c > 0 else (end, None))
        elif all(sample in bounds for sample in samples):
            return None  # separators compared with each other: no moving of others undoes that
        else:
            ties.append(guard)
    gaussian = {
        k: law.scale**2
        for k, law in enumerate(event.samples)
        if law.family.is_normal and k not in bounds
    }
    matrix = [[covariance(first, second, gaussian) for second in ties] for first in ties]
    columns = [[guard.coefficient(sample) for guard in ties] for sample in chosen]
    solutions = solved(matrix, columns)  # which is symmetric
    if solutions is None:
        return None
    # Last, as it takes a linear programme for each guard.
    parts = _parts(event, ties, set(chosen))
    if parts is None:
        return None
    separators = []
    for sample, column, weights in zip(chosen, columns, solutions, strict=True):
        shift = []
        for k, variance in gaussian.items():
            by = sum((w * g.coefficient(k) for w, g in zip(weights, ties, strict=True)), _ZERO)
            if by:
                shift.append((k, by * variance))
        strength = sum((w * c for w, c in zip(weights, column, strict=True)), _ZERO)
        lower, upper = reduce(common, bounds[sample], EVERYWHERE)
        separators.append(Separator(sample, lower, upper, tuple(shift), strength))
    return Separation(tuple(separators), parts)


_ZERO = Fraction(0)


def _parts(
    event: Event, ties: Sequence[LinearForm], chosen: set[int]
) -> tuple[RemainingPart, ...] | None:
    """The parts that are left; None if one of them is not easy."""
    rest = tuple(
        LinearForm(tuple([(s, c) for s, c in guard.terms if s not in chosen]), guard.constant)
        for guard in ties
    )
    found = connected_parts(Event(event.samples, rest))
    if found is None or not all(_is_easy(part) for _, part in found):
        return None
    return tuple(RemainingPart(samples, part.guards) for samples, part in found)


def _is_easy(part: Event) -> bool:
    if not isinstance(order_event(part), NotEnclosed):
        return True
    if not isinstance(sum_event(part, 0), NotEnclosed):
        return True
    gaussian = all(law.family.is_normal for law in part.samples)
    return gaussian and not isinstance(polyhedron_of(part, _EASY_RANK), NotEnclosed)
