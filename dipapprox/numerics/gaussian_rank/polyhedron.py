"""A Gaussian event as a polyhedron in as many independent normal variables as its guards' rank.

    samples x_i ~ N(μ_i, σ_i²), guards Σ c_ki x_i + w_k <= 0, Y_k = Σ c_ki (x_i - μ_i)
    Gram-Schmidt, not normalised:  Y_k = Σ_j a_kj z_j,  z_j ~ N(0, v_j) independent,  j < rank

Means and deviations are rational, so are all a_kj, v_j and bounds b_k = -(w_k + Σ c_ki μ_i): which
guards bound the polyhedron { z : a_k · z <= b_k } and where its faces meet is decided exactly.

The length of a point is its number of deviations from the origin, |z|² = Σ z_j² / v_j; a_k as a
random variable has the variance Σ a_kj² v_j. Lengths are roots of rationals; a *signed square* is
a length's sign times its square.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from flint import fmpq

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.data_classes import dataclass
from dipapprox.errors import BrokenInvariant
from dipapprox.events.event import Event
from dipapprox.linear.form import LinearForm

Vector = tuple[fmpq, ...]

ZERO = fmpq(0)
_ONE = fmpq(1)


@dataclass(frozen=True, slots=True)
class Polyhedron:
    """{ z : Σ_j normals[k][j] z_j <= bounds[k] for every k }, z_j ~ N(0, variances[j]) independent.

    Attributes:
        normals: By guard, each of the rank's length, none of them 0; they span the space.
        bounds: By guard.
        variances: > 0.
    """

    normals: tuple[Vector, ...]
    bounds: Vector
    variances: Vector

    @property
    def rank(self) -> int:
        """The dimension of the space, at least 1."""
        return len(self.variances)

    def covariance(self, first: int, second: int) -> fmpq:
        """The covariance of two guards' forms."""
        pairs = zip(self.normals[first], self.normals[second], self.variances, strict=True)
        return _sum(a * b * v for a, b, v in pairs)


def polyhedron_of(event: Event, most: int) -> Polyhedron | NotEnclosed:
    """Write an event of Gaussian samples as a polyhedron, unless its rank is above `most`."""
    means = [rational(law.mean) for law in event.samples]
    found = orthogonal(
        [_coefficients(guard, len(means)) for guard in event.guards],
        [rational(law.scale) ** 2 for law in event.samples],
        most,
    )
    if found is None:
        return NotEnclosed(f"guards of a rank above {most}")
    return Polyhedron(found[0], tuple([_bound(guard, means) for guard in event.guards]), found[1])


def orthogonal(
    vectors: Iterable[Vector], variances: Sequence[fmpq], most: int
) -> tuple[tuple[Vector, ...], Vector] | None:
    """Write forms over independent variables by as few independent ones (Gram and Schmidt).

    Args:
        vectors: The forms' coefficients.
        variances: Of the variables.
        most: Of new ones.

    Returns:
        The coefficients over the new variables, and their variances; None if more are needed.
    """
    basis: list[tuple[Vector, fmpq]] = []
    coordinates: list[list[fmpq]] = []
    for vector in vectors:
        rest, own = vector, []
        for each, variance in basis:
            share = _product(rest, each, variances) / variance
            own.append(share)
            if share != ZERO:
                rest = tuple([a - share * b for a, b in zip(rest, each, strict=True)])
        variance = _product(rest, rest, variances)
        if variance != ZERO:
            if len(basis) == most:
                return None
            basis.append((rest, variance))
            own.append(_ONE)
        coordinates.append(own)
    rank = len(basis)
    normals = tuple([(*own, *[ZERO] * (rank - len(own))) for own in coordinates])
    return normals, tuple([variance for _, variance in basis])


def rational(value: Fraction) -> fmpq:
    """Return the same number as flint has it."""
    return fmpq(value.numerator, value.denominator)


def sign(value: fmpq) -> int:
    """Return -1, 0 or 1."""
    return (value > ZERO) - (value < ZERO)


def _coefficients(guard: LinearForm, size: int) -> Vector:
    found = [ZERO] * size
    for sample, coefficient in guard.terms:
        if not isinstance(sample, int):
            raise BrokenInvariant(f"an event's guard mentions the input {sample}")
        found[sample] = rational(coefficient)
    return tuple(found)


def _bound(guard: LinearForm, means: Sequence[fmpq]) -> fmpq:
    shares = [rational(c) * means[int(sample)] for sample, c in guard.terms]
    return -(rational(guard.constant) + _sum(shares))


def _product(left: Vector, right: Vector, weights: Sequence[fmpq]) -> fmpq:
    return _sum(a * b * w for a, b, w in zip(left, right, weights, strict=True) if a and b)


def _sum(values: Iterable[fmpq]) -> fmpq:
    total = ZERO
    for value in values:
        total += value
    return total
