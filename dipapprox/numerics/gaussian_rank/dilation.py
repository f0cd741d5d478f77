"""The measure of a polyhedron from those of its facets: one rank less for one more integral.

Let c be an inner point of K in R^r and K_t = c + t (K - c) for t >= 1: it grows to all of R^r. The
facet F of K is at the distance h > 0 from c; in K_t it lies on a plane at the signed distance d(t)
= d_c + t h from the origin, d_c that of the parallel plane through c. So

    γ(K) = 1 - Σ_facets ∫_1^∞ h φ(d(t)) γ(F_t) dt,

φ the normal density, γ(F_t) the measure of the facet within its plane, about the origin's foot.
What lies beyond d(t) = x is at most erfc(x/√2) / 2 <= e^(-x²/2), below 2^-p for x² = 7p/5.

Substitution. With t = e^u the integrand is analytic for |Im u| <= θ = atan 1/2 and at most

    M = (5/2)^((r-1)/2) (1 + |c|) e^(|c|²/4) / 2.

Proof. φ(d(t)) γ(F_t) = t^(r-1) ∫_F (2π)^(-r/2) e^(-(c + tw)²/2) dx with w = x - c, entire in t as
far as it converges. For t = p + iq, κ = (q/p)² <= 1/4 and y = c + pw in F_p, the real part of
(c + tw)² is |y|² - κ |y - c|² >= (1 - 2κ) |y|² - 2κ |c|². So the modulus is at most

    (|t|/p)^(r-1) e^(κ|c|²) ∫_{plane of F_p} (2π)^(-r/2) e^(-(1-2κ)|y|²/2) dS(y)
      <=  (1+κ)^((r-1)/2) e^(κ|c|²) (1-2κ)^(-(r-1)/2) e^(-(1-2κ) d(p)²/2) / √(2π),

and |h t| = √(1+κ) (d(p) - d_c) <= √(5/4) (|d(p)| + |c|). With x e^(-x²/4) <= √(2/e) < 1 and √(5/4)
< √(2π) / 2 that is M.

The integrand is asked at rational t only, where every sign is decided exactly: at a node u it
differs from that at ln t by at most |u - ln t| M / θ (Cauchy), 1/θ < 9/4. Dilations move faces and
make none: which guards bound a facet is found once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import inf, log, sqrt

from flint import arb, fmpq

from dipapprox.data_classes import dataclass
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import NotEnclosed
from dipapprox.numerics.gaussian_rank.faces import NOT_REDUCED
from dipapprox.numerics.gaussian_rank.polyhedron import (
    ZERO,
    Polyhedron,
    Vector,
    dot,
    orthogonal,
    rational,
)
from dipapprox.numerics.gaussian_rank.quadrature import quadrature
from dipapprox.semantics.linear import LinearForm
from dipapprox.semantics.polyhedra import has_interior, implies

_LARGEST_BOUND = 500
"""Largest log2 of a bound M for which quadrature is tried: farther out, rules are too long."""

Measure = Callable[[Polyhedron], arb | NotEnclosed]


@dataclass(frozen=True, slots=True)
class Facet:
    """A facet of K_t, as a polyhedron of one rank less.

    Attributes:
        centre: The value of the guard's form at c.
        bound: The guard's bound.
        variance: Of the guard's form.
        normals: Within the plane, of the guards that bound the facet.
        variances: Of the coordinates in the plane.
        at_centre: The bounds at t = 0.
        at_facet: The bounds at t = 1.
    """

    centre: fmpq
    bound: fmpq
    variance: fmpq
    normals: tuple[Vector, ...]
    variances: Vector
    at_centre: Vector
    at_facet: Vector

    def at(self, time: fmpq) -> Polyhedron:
        """Return the facet of K_t."""
        pairs = zip(self.at_centre, self.at_facet, strict=True)
        bounds = tuple([a + time * (b - a) for a, b in pairs])
        return Polyhedron(self.normals, bounds, self.variances)


@dataclass(frozen=True, slots=True)
class Dilation:
    """A polyhedron of rank r, an inner point and the facets.

    Attributes:
        rank: r.
        square: |c|².
        facets: All of them.
    """

    rank: int
    square: fmpq
    facets: tuple[Facet, ...]


def dilation_of(polyhedron: Polyhedron, limits: Limits) -> Dilation | NotEnclosed:
    """Prepare a polyhedron; the centre is guessed, and proved to be an inner point.

    Raises:
        LimitReached: If `limits` run out.
    """
    centre = _inner_point(polyhedron)
    if centre is None:
        return NotEnclosed("a polyhedron too thin to find a point in it")
    facets = []
    for f in range(len(polyhedron.bounds)):
        limits.check()
        facet = _facet(polyhedron, f, centre)
        if facet is None:
            return NOT_REDUCED
        facets.append(facet)
    pairs = zip(centre, polyhedron.variances, strict=True)
    square = sum((x * x / v for x, v in pairs), ZERO)
    return Dilation(polyhedron.rank, square, tuple(facets))


def dilated(dilation: Dilation, measure: Measure, bits: int, limits: Limits) -> arb | NotEnclosed:
    """Enclose γ(K) to about 2**-bits for each facet, at a working precision that allows it.

    Args:
        dilation: K.
        measure: Encloses the measures of facets; what it cannot enclose is the answer.
        bits: As of `quadrature`.
        limits: Asked at every node.

    Raises:
        LimitReached: If `limits` run out.
    """
    total = arb(1)
    square = arb(dilation.square)
    bound = (arb(5) / 2) ** (dilation.rank - 1)
    bound = bound.sqrt() * (1 + square.sqrt()) * (square / 4).exp() / 2
    for facet in dilation.facets:
        try:
            total -= _swept(facet, measure, bound, bits, limits)
        except _Missing as missing:
            return missing.reason
    return total


class _Missing(Exception):
    """A facet's measure that is not enclosed."""

    def __init__(self, reason: NotEnclosed) -> None:
        super().__init__(reason.reason)
        self.reason = reason


def _swept(facet: Facet, measure: Measure, bound: arb, bits: int, limits: Limits) -> arb:
    """The measure that the facet sweeps over, from t = 1 on."""
    if not bound < arb(2) ** _LARGEST_BOUND:
        raise _Missing(NotEnclosed("its inner points are too far from the mean for quadrature"))
    rest = arb(0, arb(2) ** -bits)
    far = fmpq(7 * bits, 5)
    if facet.bound > ZERO and facet.bound * facet.bound >= far * facet.variance:
        return rest
    deviation = arb(facet.variance).sqrt()
    height = arb(facet.bound - facet.centre) / deviation
    last = (arb(far).sqrt() - arb(facet.centre) / deviation) / height

    def value(place: arb) -> arb:
        limits.check()
        time = _near(place.exp())
        moved = abs(arb(time).log() - place) * bound * 9 / 4
        found = measure(facet.at(time))
        if isinstance(found, NotEnclosed):
            raise _Missing(found)
        distance = facet.centre + time * (facet.bound - facet.centre)
        density = (-arb(distance * distance / facet.variance) / 2).exp() / (2 * arb.pi()).sqrt()
        return height * arb(time) * density * found + arb(0, moved.upper())

    strip = (arb(1) / 2).atan()
    return rest + quadrature(value, bound, strip, arb(0), last.log(), bits)


def _near(place: arb) -> fmpq:
    """Return a rational number near a ball's."""
    mantissa, exponent = place.mid().man_exp()
    return fmpq(mantissa) * fmpq(2) ** int(exponent)


def _facet(polyhedron: Polyhedron, f: int, centre: Vector) -> Facet | None:
    """Describe a guard's facet; None if it is none."""
    a_f, b_f = polyhedron.normals[f], polyhedron.bounds[f]
    inner_f, variance = dot(a_f, centre), polyhedron.covariance(f, f)
    vectors, ends = [], []
    for g, (a_g, b_g) in enumerate(zip(polyhedron.normals, polyhedron.bounds, strict=True)):
        if g == f:
            continue
        share = polyhedron.covariance(f, g) / variance
        vector = tuple([x - share * y for x, y in zip(a_g, a_f, strict=True)])
        at_facet = b_g - share * b_f
        if any(x != ZERO for x in vector):
            vectors.append(vector)
            ends.append((dot(a_g, centre) - share * inner_f, at_facet))
        elif at_facet <= ZERO:  # parallel, and it leaves nothing of the facet
            return None
    rank = polyhedron.rank - 1
    coordinates = orthogonal(vectors, polyhedron.variances, rank)
    if coordinates is None or len(coordinates[1]) != rank:
        return None
    normals, variances = coordinates
    kept = _irredundant(normals, [end for _, end in ends])
    if kept is None:
        return None
    return Facet(
        inner_f,
        b_f,
        variance,
        tuple([normals[k] for k in kept]),
        variances,
        tuple([ends[k][0] for k in kept]),
        tuple([ends[k][1] for k in kept]),
    )


def _irredundant(normals: Sequence[Vector], bounds: Sequence[fmpq]) -> list[int] | None:
    """The inequalities that the others do not imply; None if there is no interior."""
    forms = [
        LinearForm.of({j: _fraction(x) for j, x in enumerate(normal)}, -_fraction(bound))
        for normal, bound in zip(normals, bounds, strict=True)
    ]
    if not has_interior(forms):
        return None
    kept = list(range(len(forms)))
    for k in range(len(forms)):
        others = [j for j in kept if j != k]
        if implies([forms[j] for j in others], forms[k]):
            kept = others
    return kept


def _fraction(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))


_MARGINS = [2.0**-k for k in range(16)]
"""Distances from all facets to try, in deviations."""

_STEPS = 300
"""Most corrections for each of them."""


def _inner_point(polyhedron: Polyhedron) -> Vector | None:
    """Look for an inner point that makes the integrals short, in doubles; it is one for certain."""
    try:
        scales = [sqrt(_fraction(v)) for v in polyhedron.variances]
        rows = [
            [float(_fraction(a)) * s for a, s in zip(normal, scales, strict=True)]
            for normal in polyhedron.normals
        ]
        lengths = [sqrt(sum(a * a for a in row)) for row in rows]
        planes = [
            ([a / length for a in row], float(_fraction(bound)) / length)
            for row, length, bound in zip(rows, lengths, polyhedron.bounds, strict=True)
        ]
        points = [tuple(round(x * 256) / 256 for x in point) for point in _guesses(planes)]
        costs = {point: _cost(planes, point) for point in points}
        for point in sorted(costs, key=costs.__getitem__):
            found = tuple(
                [rational(Fraction(x) * Fraction(s)) for x, s in zip(point, scales, strict=True)]
            )
            pairs = zip(polyhedron.normals, polyhedron.bounds, strict=True)
            if all(dot(a, found) < b for a, b in pairs):
                return found
    except (OverflowError, ZeroDivisionError, ValueError):
        return None  # beyond doubles
    return None


_Planes = Sequence[tuple[Sequence[float], float]]
"""Unit normals and distances, in doubles."""


def _guesses(planes: _Planes) -> Iterator[list[float]]:
    """Yield points at some distance from all planes: the relaxation method of Agmon and Motzkin."""
    last = origin = [0.0] * len(planes[0][0])
    for margin in _MARGINS:
        for point in dict.fromkeys(map(tuple, (origin, last))):
            last = list(point)
            for _ in range(_STEPS):
                slacks = _slacks(planes, last)
                k = min(range(len(slacks)), key=slacks.__getitem__)
                if slacks[k] >= 0.9 * margin:
                    break
                step = 1.5 * (margin - slacks[k])
                last = [x - step * a for x, a in zip(last, planes[k][0], strict=True)]
            yield last


def _slacks(planes: _Planes, point: Sequence[float]) -> list[float]:
    return [d - sum(a * x for a, x in zip(unit, point, strict=True)) for unit, d in planes]


def _cost(planes: _Planes, point: Sequence[float]) -> float:
    """About how many nodes the integrals need; infinite outside."""
    slacks = _slacks(planes, point)
    if min(slacks) <= 0:
        return inf
    ends = [(9 + abs(d - slack)) / slack for slack, (_, d) in zip(slacks, planes, strict=True)]
    return (50 + 0.4 * sum(x * x for x in point)) * sum(log(1 + end) for end in ends)
