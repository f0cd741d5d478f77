"""Sets that show how two products of independent numbers differ, written as conditions on sums.

In: two measures in space, a factor. Out: a set S and both its masses, so that
first(S) - growth second(S) is large:

    Gaussian numbers    a half-space, which attains the divergence: the logarithm of the quotient of
                        densities is Σ c_k y_k, c_k = (m_k - m'_k) / σ_k², plus a constant
    others              a box: of every number the best set at a share of the factor

Which set it is, doubles may choose; its masses are proved.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce
from math import exp, log, sqrt
from operator import mul

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, if_enclosed, sure
from dipapprox.arithmetic.precision import precision, to_ball, to_enclosure
from dipapprox.composition.product_measures import ProductMeasures, relative, without_events
from dipapprox.composition.shifted_noise import PublishedNoise, published_noise
from dipapprox.data_classes import Record
from dipapprox.events.event import Part
from dipapprox.events.intervals import Interval
from dipapprox.laws.families import GAUSSIAN, LAPLACE
from dipapprox.linear.form import content
from dipapprox.numerics.real_outputs.factors import Factored, Mixed, factored
from dipapprox.numerics.simplest import shortest

_ZERO = Fraction(0)
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
    factors = factored(first, second)
    if isinstance(factors, Mixed) or len(factors.pairs) < 2:
        return None
    stripped, events = without_events(factors)
    shared = sure(measures.mass(factors.common, bits + 8))
    own, other = (sure(measures.line.product(each, bits + 8)) for each in events)
    if not own.lower or not other.lower:
        return None
    growth = relative(growth, own, other)
    noises = [(k, published_noise(one), published_noise(two)) for k, one, two in stripped.pairs]
    gaussian = [
        (k, a, b)
        for k, a, b in noises
        if a and b and a.family is GAUSSIAN is b.family and a.square == b.square
    ]
    if len(gaussian) == len(noises):
        found = _half_space(gaussian, growth, bits)
    elif best:
        return None
    else:
        found = _box(measures, stripped, [(a, b) for _, a, b in noises], growth, bits)
    return found and ExplicitSet(
        found.conditions,
        _product([found.first, own, shared]),
        _product([found.second, other, shared]),
    )


def _half_space(
    noises: Sequence[tuple[int, PublishedNoise, PublishedNoise]], growth: Enclosure, bits: int
) -> ExplicitSet | None:
    """Σ c y >= t. Σ c y is Gaussian, of the variance Σ c² σ²."""
    raw = [(one.mean - two.mean) / one.square for _, one, two in noises]
    if not any(raw):
        return None
    unit = 1 / content(raw)
    weights = [c * unit for c in raw]
    means = [
        sum((c * each.mean for c, each in zip(weights, side, strict=True)), _ZERO)
        for side in zip(*((one, two) for _, one, two in noises), strict=True)
    ]
    square = sum((c**2 * one.square for c, (_, one, _) in zip(weights, noises, strict=True)), _ZERO)
    with precision(bits + 40):
        deviation = to_ball(square).sqrt()
        place = to_ball((growth.lower + growth.upper) / 2).log() * to_ball(unit)
        middle = sure(to_enclosure(place + to_ball(sum(means, _ZERO) / 2)))
        # The divergence is flat there: what is lost is of the order of the square.
        spare = sure(to_enclosure(deviation)).upper / 2 ** (bits // 2 + 8)
        end = shortest(middle.lower - spare, middle.lower + spare)
        places = ((to_ball(end - mean) / (deviation * to_ball(2).sqrt())) for mean in means)
        masses = [sure(to_enclosure(place.erfc() / 2)).intersect(UNIT) for place in places]
    named = tuple((k, c) for (k, _, _), c in zip(noises, weights, strict=True))
    return ExplicitSet(((named, ((end, None),)),), masses[0], masses[1])


def _box(
    measures: ProductMeasures,
    factors: Factored,
    noises: Sequence[tuple[PublishedNoise | None, PublishedNoise | None]],
    growth: Enclosure,
    bits: int,
) -> ExplicitSet | None:
    sizes = [_size(*each) for each in noises]
    total = sum(sizes)
    most = log(max(float(growth.upper), 1.0)) if growth.upper < 2**500 else 0.0
    conditions: list[tuple[Weights, tuple[Interval, ...]]] = []
    masses: list[list[Enclosure]] = []
    for (k, one, two), noise, size in zip(factors.pairs, noises, sizes, strict=True):
        intervals = _half_line(*noise, most * size / total)
        if intervals is None:
            share = Enclosure.exact(Fraction(exp(most * size / total)))
            intervals = sure(measures.line.divergence(one, two, share, _BITS)).intervals
            if not intervals:
                return None
        conditions.append((((k, Fraction(1)),), intervals))
        masses.append([sure(measures.line.mass(side, intervals, bits + 8)) for side in (one, two)])
    first, second = (_product(side) for side in zip(*masses, strict=True))
    return ExplicitSet(tuple(conditions), first, second)


def _half_line(
    one: PublishedNoise | None, two: PublishedNoise | None, loss: float
) -> tuple[Interval, ...] | None:
    """Where the quotient of two Laplace densities that are shifted is above e^loss, nearly; None
    if these are others."""
    if not (one and two and one.family is LAPLACE is two.family):
        return None
    if one.scale != two.scale or one.mean == two.mean:
        return None
    sign = 1 if one.mean < two.mean else -1
    # Between the means the logarithm falls from one end's value to the other's.
    within = min(loss, float(abs(two.mean - one.mean) / one.scale))
    place = (one.mean + two.mean) / 2 - sign * one.scale * Fraction(within) / 2
    spare = one.scale / 2**_BITS
    end = shortest(place - spare, place + spare)
    return ((None, end),) if sign > 0 else ((end, None),)


def _size(one: PublishedNoise | None, two: PublishedNoise | None) -> float:
    """About how much a number may tell."""
    if one is None or two is None or one.mean == two.mean:
        return 1.0
    return sqrt(float((one.mean - two.mean) ** 2 / one.square))


def _product(masses: Iterable[Enclosure]) -> Enclosure:
    return reduce(mul, (each.intersect(UNIT) for each in masses))
