"""Sets that show how two products of independent numbers differ, written as conditions on sums.

In: two measures in space, a factor. Out: a set S and both its masses, so that
first(S) - growth second(S) is large:

    Gaussian numbers    a half-space, which attains the divergence: the logarithm of the quotient of
                        densities is Σ c_k y_k, c_k = (m_k - m'_k) / σ_k², plus a constant
    others              a box: of every number the best set at a share of the factor
    sums of products    the best set of one number, the others anywhere

Which set it is, doubles may choose; its masses are proved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from math import exp, log
from operator import mul

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, if_enclosed, sure
from dipapprox.arithmetic.precision import precision, to_ball, to_enclosure
from dipapprox.composition.product_measures import ProductMeasures, relative, without_events
from dipapprox.composition.shifted_noise import (
    PublishedNoise,
    ShiftedNoise,
    half_line,
    published_noise,
    shift_between,
)
from dipapprox.data_classes import Record
from dipapprox.events.event import Interval, Part
from dipapprox.linear.form import content
from dipapprox.numerics.powers import logarithm
from dipapprox.numerics.real_outputs.coordinates import Factored, Mixed, factored

_ZERO = Fraction(0)
_NEARLY = 1 - Fraction(1, 2**20)  # of the largest loss
_Moved = tuple[int, PublishedNoise, PublishedNoise, ShiftedNoise]
_BITS = 30  # to which boxes are chosen; what they have is as accurate as is asked for
Weights = tuple[tuple[int, Fraction], ...]  # A sum of numbers: (which one, from 0; its coefficient)


class ExplicitSet(Record):
    """A set of vectors."""

    # Sums, and the disjoint intervals that each lies in; all of them hold.
    conditions: tuple[tuple[Weights, tuple[Interval, ...]], ...]
    first: Enclosure
    second: Enclosure


@if_enclosed
def explicit_set(
    measures: ProductMeasures,
    first: Sequence[Part],
    second: Sequence[Part],
    growth: Enclosure,
    bits: int,
    *,
    best: bool,
) -> ExplicitSet | None:
    """Find a set that is more than growth times as likely under the first measure.

    Args:
        first: Parts of one outcome, at least one; they add up.
        bits: Wanted accuracy of the masses.
        best: Whether only sets are wanted that attain the divergence, nearly.
    """
    if not first[0].marginals:  # no number: all of the outcome
        known = ([measures.masses.product(p.events, bits + 8) for p in s] for s in (first, second))
        return ExplicitSet((), *(sum(map(sure, each), Enclosure.exact(0)) for each in known))
    factors = factored(first, second)
    if isinstance(factors, Mixed):
        if best:
            return None
        alone = measures.alone(first, second, factors, growth, bits)
        where = alone.intervals and ((((alone.coordinate, Fraction(1)),), alone.intervals),)
        return ExplicitSet(where, alone.first, alone.second) if where else None
    if len(factors.pairs) < 2:
        return None
    stripped, events = without_events(factors)
    shared = sure(measures.mass(factors.common, bits + 8))
    own, other = (sure(measures.masses.product(each, bits + 8)) for each in events)
    if not own.lower or not other.lower:
        return None
    growth = relative(growth, own, other)
    noises = [(k, published_noise(one), published_noise(two)) for k, one, two in stripped.pairs]
    moved = [
        (k, one, two, shift)
        for k, one, two in noises
        if one and two and (shift := shift_between(one, two))
    ]
    if len(moved) == len(noises) and all(not one.scales for _, one, *_ in moved):
        found = _half_space(moved, growth, bits)
    elif best:
        return None
    else:
        found = _box(
            measures, stripped, {k: (one, two, shift) for k, one, two, shift in moved}, growth, bits
        )
    return found and ExplicitSet(
        found.conditions,
        _product([found.first, own, shared]),
        _product([found.second, other, shared]),
    )


def _half_space(noises: Sequence[_Moved], growth: Enclosure, bits: int) -> ExplicitSet | None:
    """Σ c y >= t. Σ c y is Gaussian, of the variance Σ c² σ²."""
    raw = [(one.mean - two.mean) / one.square for _, one, two, _ in noises]
    if not any(raw):
        return None
    unit = 1 / content(raw)
    weights = [c * unit for c in raw]
    square = sum((c**2 * own[1].square for c, own in zip(weights, noises, strict=True)), _ZERO)
    one, two = (
        PublishedNoise(sum(map(mul, weights, means), _ZERO), square)
        for means in zip(*((one.mean, two.mean) for _, one, two, _ in noises), strict=True)
    )
    budget = logarithm((growth.lower + growth.upper) / 2, bits + 40).lower
    where = half_line(one, two, budget, bits + 8)
    ((end, _),) = where  # the first law lies further up
    assert end is not None
    with precision(bits + 40):
        deviation = (to_ball(square) * 2).sqrt()
        tails = [(to_ball(end - each.mean) / deviation).erfc() / 2 for each in (one, two)]
        masses = [sure(to_enclosure(each)).intersect(UNIT) for each in tails]
    named = tuple((k, c) for (k, *_), c in zip(noises, weights, strict=True))
    return ExplicitSet(((named, where),), masses[0], masses[1])


def _box(
    measures: ProductMeasures,
    factors: Factored,
    moved: Mapping[int, tuple[PublishedNoise, PublishedNoise, ShiftedNoise]],
    growth: Enclosure,
    bits: int,
) -> ExplicitSet | None:
    # About how much each number may tell.
    sizes = [float(moved[k][2]) if k in moved and moved[k][2] else 1.0 for k, *_ in factors.pairs]
    most = log(max(float(growth.upper), 1.0)) if growth.upper < 2**500 else 0.0
    conditions: list[tuple[Weights, tuple[Interval, ...]]] = []
    masses: list[list[Enclosure]] = []
    for (k, one, two), size in zip(factors.pairs, sizes, strict=True):
        loss = Fraction(most * size / sum(sizes))
        if k in moved and moved[k][2]:
            first, second, shift = moved[k]
            for greatest, _ in shift.shifts:
                loss = min(loss, greatest * _NEARLY)
            intervals: tuple[Interval, ...] | None = half_line(first, second, loss, 2 * _BITS)
        else:
            share = Enclosure.exact(Fraction(exp(loss)))
            intervals = sure(measures.line.divergence(one, two, share, _BITS)).intervals
        if not intervals:
            return None
        conditions.append((((k, Fraction(1)),), intervals))
        where = {0: intervals}
        masses.append([sure(measures.masses.of(each, bits + 8, where)) for each in (one, two)])
    first_mass, second_mass = (_product(side) for side in zip(*masses, strict=True))
    return ExplicitSet(tuple(conditions), first_mass, second_mass)


def _product(masses: Iterable[Enclosure]) -> Enclosure:
    return reduce(mul, (each.intersect(UNIT) for each in masses))
