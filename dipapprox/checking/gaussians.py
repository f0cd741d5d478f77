"""Sums of Gaussian samples as single ones, so that comparisons of two samples are left.

Gaussian samples with proportional coefficients in all lines occur in one sum only: it is Gaussian.
Where all samples are Gaussian and the lines have two directions Y and Y', β = cov(Y, Y') / var(Y):

    Y' = β Y + W        with W independent of Y, var(W) = var(Y') - β² var(Y).

Variances are rational, standard deviations s are not: a rational t <= s < t (1 + 2^-800) stands in.
In ln s the density changes by |z² - 1| times itself, whose integral is below 1, so that no event
changes its probability by more than ln(s / t) / 2 < 2^-800 for each sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt

from dipapprox.checking.facts import Line
from dipapprox.checking.orders import General
from dipapprox.data_classes import dataclass
from dipapprox.distributions import Distribution, Family

_DIGITS = 802
"""Of square roots, in bits: more than any precision of the check."""


@dataclass(frozen=True, slots=True)
class Reduced:
    """An event of fewer samples.

    Attributes:
        general: The event.
        errors: Its probability differs by less than errors * 2**-800.
    """

    general: General
    errors: int


def reduced(general: General) -> Reduced:
    """Replace sums of Gaussian samples by single samples."""
    merged = _merged(general)
    laws, lines = merged.general.laws, merged.general.lines
    directions = {line.in_unit().terms for line in lines}
    directions = {
        d for d in directions if tuple((s, -c) for s, c in d) not in directions or d[0][1] > 0
    }
    if len(directions) != 2 or any(law.family is not Family.GAUSSIAN for law in laws):
        return merged
    return _split(general)


def _merged(general: General) -> Reduced:
    columns = [
        tuple(dict(line.terms).get(k, Fraction(0)) for line in general.lines)
        for k in range(len(general.laws))
    ]
    groups: dict[object, list[tuple[int, Fraction]]] = {}
    for k, (law, column) in enumerate(zip(general.laws, columns, strict=True)):
        first = next(c for c in column if c)
        key: object = k
        if law.family is Family.GAUSSIAN:
            key = tuple(c / first for c in column)
        groups.setdefault(key, []).append((k, first))
    laws: list[Distribution] = []
    errors = 0
    shares: dict[int, tuple[int, Fraction]] = {}  # sample -> (new one, the line's unit of it)
    for members in groups.values():
        (leader, unit), *others = members
        shares[leader] = len(laws), Fraction(1)
        if not others:
            laws.append(general.laws[leader])
            continue
        ratios = [(general.laws[k], c / unit) for k, c in members]
        mean = sum((ratio * law.mean for law, ratio in ratios), Fraction(0))
        law, error = _gaussian(mean, sum((r * r * w.scale**2 for w, r in ratios), Fraction(0)))
        laws.append(law)
        errors += error
    lines = tuple(
        Line(line.constant, tuple((shares[s][0], c) for s, c in line.terms if s in shares))
        for line in general.lines
    )
    return Reduced(General(tuple(laws), lines), errors)


def _split(general: General) -> Reduced:
    """Two directions of Gaussian samples."""
    first = general.lines[0].in_unit().terms
    second = next(t for line in general.lines if not _ratio(t := line.in_unit().terms, first))
    laws = general.laws
    mean, other = (sum((c * laws[s].mean for s, c in d), Fraction(0)) for d in (first, second))
    variance = _covariance(laws, first, first)
    slope = _covariance(laws, first, second) / variance
    rest = _covariance(laws, second, second) - slope**2 * variance
    (leading, one), (following, two) = (
        _gaussian(mean, variance),
        _gaussian(other - slope * mean, rest),
    )
    lines = []
    for line in general.lines:
        along = _ratio(line.terms, first)
        if along:
            terms = [(0, along)]
        else:
            share = _ratio(line.terms, second)
            terms = [(0, share * slope), (1, share)]
        lines.append(Line(line.constant, tuple((s, c) for s, c in terms if c)))
    return Reduced(General((leading, following), tuple(lines)), one + two)


Direction = tuple[tuple[int, Fraction], ...]


def _ratio(terms: Direction, direction: Direction) -> Fraction:
    """The r with terms = r * direction; 0 if there is none."""
    ratio = terms[0][1] / direction[0][1]
    same = terms == tuple((s, ratio * c) for s, c in direction)
    return ratio if same else Fraction(0)


def _covariance(laws: Sequence[Distribution], left: Direction, right: Direction) -> Fraction:
    other = dict(right)
    return sum((c * other.get(s, Fraction(0)) * laws[s].scale ** 2 for s, c in left), Fraction(0))


def _gaussian(mean: Fraction, variance: Fraction) -> tuple[Distribution, int]:
    """A law of about this variance, and 0 if it is exactly this one, else 1."""
    whole = variance.numerator * variance.denominator
    shift = max(_DIGITS - whole.bit_length() // 2, 0)
    root = isqrt(whole << 2 * shift)
    exact = root * root == whole << 2 * shift
    scale = Fraction(root, variance.denominator << shift)
    return Distribution(Family.GAUSSIAN, mean, scale), 0 if exact else 1
