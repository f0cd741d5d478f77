"""Sums of Gaussian samples as single ones, so that comparisons of two samples are left.

Gaussian samples with proportional coefficients in all lines occur in one sum only: it is Gaussian.
Where all samples are Gaussian, lines become combinations of as many independent samples as there
are independent lines (Gram and Schmidt): the sum Y of a new line is

    Y = Σ_j β_j W_j + W,  β_j = cov(Y, W_j) / var(W_j),  var(W) = var(Y) - Σ_j β_j² var(W_j).

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
    return _independent(general)


def fewest_samples(general: General) -> Reduced:
    """Return an event of as few samples as are independent in the lines, if all are Gaussian."""
    if any(law.family is not Family.GAUSSIAN for law in general.laws):
        return Reduced(general, 0)
    fewer = _independent(general)
    return fewer if len(fewer.general.laws) < len(general.laws) else Reduced(general, 0)


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


def _independent(general: General) -> Reduced:
    """Write lines over Gaussian samples in as few independent ones as there can be."""
    laws = general.laws
    basis: list[tuple[Line, Fraction]] = []
    lines = []
    for line in general.lines:
        rest, shares = Line(Fraction(0), line.terms), []
        for k, (direction, variance) in enumerate(basis):
            share = _covariance(laws, direction.terms, rest.terms) / variance
            if share:
                rest = rest.minus(direction.times(share))
                shares.append((k, share))
        if rest.terms:
            shares.append((len(basis), abs(rest.terms[0][1])))
            unit = rest.in_unit()
            basis.append((unit, _covariance(laws, unit.terms, unit.terms)))
        lines.append(Line(line.constant, tuple(shares)))
    found = [
        _gaussian(sum((c * laws[s].mean for s, c in direction.terms), Fraction(0)), variance)
        for direction, variance in basis
    ]
    errors = sum(error for _, error in found)
    return Reduced(General(tuple([law for law, _ in found]), tuple(lines)), errors)


Direction = tuple[tuple[int, Fraction], ...]


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
