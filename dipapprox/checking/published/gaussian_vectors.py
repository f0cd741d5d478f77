"""Gaussian vectors for the checker: two that differ in means alone are as N(m, 1) and N(0, 1).

m = (d' C^-1 d)^(1/2), d the difference of the means, C the covariance. A sum of their numbers is
Gaussian, whatever noise they share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import isqrt

from flint import arb, fmpq, fmpq_mat

from dipapprox.checking.compositions.pairs import GaussianPair
from dipapprox.checking.distributions import NoBounds
from dipapprox.checking.facts import Line
from dipapprox.checking.published.outcomes import Ending
from dipapprox.distributions import Family
from dipapprox.numerics.enclosure import Enclosure, NotEnclosed
from dipapprox.numerics.precision import to_ball, to_enclosure

_ZERO = Fraction(0)


def gaussian_stick(square: Fraction, alpha: arb) -> arb:
    """Enclose the divergence at a factor > 0, of a squared shift."""
    if not square:
        return (1 - alpha).max(arb(0))
    return GaussianPair(_root(square)).most(alpha)


def gaussian_set(square: Fraction, alpha: arb) -> tuple[arb, arb]:
    """Both masses of one set, best at about the factor."""
    middle = alpha.mid()
    if not square:
        return (arb(1), arb(1)) if middle < 1 else (arb(0), arb(0))
    return GaussianPair(_root(square)).set_at(middle)


def gaussian_mass(
    ending: Ending, form: Line, intervals: Sequence[tuple[Fraction | None, Fraction | None]]
) -> arb:
    """Enclose how likely it is that a sum of a Gaussian vector's numbers is in disjoint intervals.

    Args:
        ending: Of which all numbers have Gaussian noise, and no line is about its samples.
        form: The sum, over the numbers; not constant.
        intervals: None: infinite.
    """
    weights: dict[int, Fraction] = {}
    mean = form.constant
    for place, c in form.terms:
        number = ending.numbers[place]
        mean += c * number.constant
        for sample, d in number.terms:
            weights[sample] = weights.get(sample, _ZERO) + c * d
    mean += sum((c * ending.laws[s].mean for s, c in weights.items()), _ZERO)
    square = sum((c**2 * ending.laws[s].scale ** 2 for s, c in weights.items()), _ZERO)
    unit = _root(2 * square)
    total = arb(0)
    for low, high in intervals:
        # Φ(b) - Φ(a): by the tails that are small.
        ends = [None if e is None else (e, to_ball(e - mean) / unit) for e in (low, high)]
        if ends[0] is not None and ends[0][0] > mean:
            tails = [arb(0) if e is None else e[1].erfc() for e in ends]
            total += (tails[0] - tails[1]) / 2
        else:
            below = arb(0) if ends[0] is None else (-ends[0][1]).erfc()
            above = arb(2) if ends[1] is None else (-ends[1][1]).erfc()
            total += (above - below) / 2
    return total


def nonnegative(ball: arb) -> Enclosure:
    """Enclose a number >= 0.

    Raises:
        NoBounds: If the ball is infinite.
    """
    found = to_enclosure(ball)
    if isinstance(found, NotEnclosed):
        raise NoBounds("a Gaussian shift is too small for the check")
    return Enclosure(max(found.lower, _ZERO), max(found.upper, _ZERO))


def _root(square: Fraction) -> arb:
    roots = [isqrt(part) for part in (square.numerator, square.denominator)]
    if roots[0] ** 2 == square.numerator and roots[1] ** 2 == square.denominator:
        return to_ball(Fraction(roots[0], roots[1]))
    return to_ball(square).sqrt()


def square_of_shift(first: Ending, second: Ending) -> Fraction | None:
    """d' C^-1 d of two Gaussian vectors; None if these are none, or differ in more than means."""
    named = sorted({s for form in first.numbers for s, _ in form.terms})
    for ending in (first, second):
        if any(s in named for line in ending.lines for s, _ in line.terms):
            return None
    if len(first.laws) != len(second.laws) or any(
        here.terms != there.terms for here, there in zip(first.numbers, second.numbers, strict=True)
    ):
        return None
    laws = [(first.laws[s], second.laws[s]) for s in named]
    if any(
        a.family is not Family.GAUSSIAN or b.family is not Family.GAUSSIAN or a.scale != b.scale
        for a, b in laws
    ):
        return None
    means = {s: b.mean - a.mean for s, (a, b) in zip(named, laws, strict=True)}
    change = [
        there.constant - here.constant + sum((c * means[s] for s, c in here.terms), _ZERO)
        for here, there in zip(first.numbers, second.numbers, strict=True)
    ]
    variances = {s: a.scale**2 for s, (a, _) in zip(named, laws, strict=True)}
    forms = [dict(form.terms) for form in first.numbers]
    covariance = fmpq_mat([[_rational(_product(a, b, variances)) for b in forms] for a in forms])
    vector = fmpq_mat([[_rational(each)] for each in change])
    solved = covariance.solve(vector)
    total = fmpq(0)
    for k in range(len(change)):
        total += vector[k, 0] * solved[k, 0]
    return Fraction(int(total.p), int(total.q))


def _product(
    left: Mapping[int, Fraction], right: Mapping[int, Fraction], weights: Mapping[int, Fraction]
) -> Fraction:
    return sum((c * right[s] * weights[s] for s, c in left.items() if s in right), _ZERO)


def _rational(value: Fraction) -> fmpq:
    return fmpq(value.numerator, value.denominator)
