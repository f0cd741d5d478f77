"""A polyhedron as a signed sum of simplicial cones, one at each vertex, exactly.

Let K = { z : a_k · z <= b_k } in R^r, the a_k spanning the space, every vertex on r facets only.
Let ξ = -Σ λ_k a_k, λ_k > 0. At the vertex of the facets B write ξ = -Σ_{k in B} μ_k a_k; let no μ_k
be 0. With the inequalities k of μ_k < 0 turned round, and n of them,

    1_K  =  Σ_B (-1)^n 1{ z : μ_k (b_k - a_k · z) >= 0 for k in B }         almost everywhere.   (1)

Proof, by induction on r; r = 1 is plain. Both sides are constant but for jumps at the planes of
the a_k. Where z leaves the half-space of f, a cone with f among its guards that are not turned
loses the cone that is left of it within the plane, one with f turned wins it, with one sign more:
either way the sum changes by the same sum for K's face within the plane, with ξ modulo a_f, whose
μ are those of the others. By induction that is by 1 at the face, as 1_K. So the two sides differ by
a constant. It is 0: ξ grows along all the edges of a cone, and along the rays of K, as e with
a_k · e <= 0 has ξ · e > 0. So ξ has its minimum over K at a vertex and no point below that is in K
or in a cone.

Vertices on more facets: b_k becomes b_k + η^(k+1) for a small η > 0, which leaves the vertices on r
facets only; which sets of facets have one is decided by the signs of the lowest powers (Charnes,
Dantzig). As η -> 0 the measures of K and of the cones converge. So K needs no interior and guards
may be implied by others.

References:
    J. Lawrence, Polytope volume computation, Math. Comp. 57 (1991).
    A. N. Varchenko, Combinatorics and topology of the disposition of affine hyperplanes (1987).

Polyhedron. A Gaussian event as a polyhedron in as many independent normal variables as its guards'
rank.

    samples x_i ~ N(μ_i, σ_i²), guards Σ c_ki x_i + w_k <= 0, Y_k = Σ c_ki (x_i - μ_i)
    Gram-Schmidt, not normalised:  Y_k = Σ_j a_kj z_j,  z_j ~ N(0, v_j) independent,  j < rank

Means and deviations are rational, so are all a_kj, v_j and bounds b_k = -(w_k + Σ c_ki μ_i): which
guards bound the polyhedron { z : a_k · z <= b_k } and where its faces meet is decided exactly.

The length of a point is its number of deviations from the origin, |z|² = Σ z_j² / v_j; a_k as a
random variable has the variance Σ a_kj² v_j. Lengths are roots of rationals; a *signed square* is
a length's sign times its square.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, count
from math import comb
from operator import mul

from flint import arb, fmpq, fmpq_mat

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.data_classes import dataclass
from dipapprox.errors import BrokenInvariant
from dipapprox.events.event import Event
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm

Vector = tuple[fmpq, ...]
ZERO = fmpq(0)
_ONE = fmpq(1)


@dataclass(frozen=True, slots=True)
class Polyhedron:
    """{ z : Σ_j normals[k][j] z_j <= bounds[k], all k }, z_j ~ N(0, variances[j]) independent."""

    # by guard, each of the rank's length, none of them 0; they span the space
    normals: tuple[Vector, ...]
    bounds: Vector  # by guard
    variances: Vector  # > 0

    @property
    def rank(self) -> int:
        """The dimension of the space, at least 1."""
        return len(self.variances)

    def covariance(self, first: int, second: int) -> fmpq:
        """The covariance of two guards' forms."""
        pairs = zip(self.normals[first], self.normals[second], self.variances, strict=True)
        return _total(a * b * v for a, b, v in pairs)


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
    bounds = [
        -_total((rational(guard.constant), *(rational(c) * means[int(s)] for s, c in guard.terms)))
        for guard in event.guards
    ]
    return Polyhedron(found[0], tuple(bounds), found[1])


def orthogonal(
    vectors: Iterable[Vector], variances: Sequence[fmpq], most: int
) -> tuple[tuple[Vector, ...], Vector] | None:
    """Write forms over independent variables by at most so many such (Gram and Schmidt).

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


def _product(left: Vector, right: Vector, weights: Sequence[fmpq]) -> fmpq:
    return _total(a * b * w for a, b, w in zip(left, right, weights, strict=True) if a and b)


def _total(values: Iterable[fmpq]) -> fmpq:
    return sum(values, ZERO)


MOST_BASES = 10_000  # most sets of guards that are looked at, some ten microseconds each


@dataclass(frozen=True, slots=True)
class SimplicialCone:
    """{ Y_k <= bounds[k] for every k } for as many normal variables as the rank, with a sign."""

    sign: int  # 1 or -1
    guards: tuple[int, ...]  # of the polyhedron, by variable
    turned: tuple[bool, ...]  # whether the guard is turned round, by variable
    covariance: tuple[Vector, ...]  # of the Y, whose means are 0
    bounds: Vector  # by variable

    def as_balls(self) -> tuple[list[list[arb]], list[arb]]:
        """Return the covariance and the bounds at the current precision."""
        return [[arb(c) for c in row] for row in self.covariance], [arb(b) for b in self.bounds]


@dataclass(frozen=True, slots=True)
class Cones:
    """A polyhedron of some rank: its probability is the sum of its cones', times their signs."""

    rank: int
    cones: tuple[SimplicialCone, ...]


def cones_of(polyhedron: Polyhedron, limits: Limits) -> Cones | NotEnclosed:
    """Decompose a polyhedron of any rank, an empty one into no cones, or say why not."""
    size, rank = len(polyhedron.bounds), polyhedron.rank
    if comb(size, rank) > MOST_BASES:
        return NotEnclosed(
            f"{size} guards of rank {rank} have more than {MOST_BASES} possible vertices"
        )
    vertices = list(_vertices(polyhedron, limits))
    covariances = [[polyhedron.covariance(f, g) for g in range(size)] for f in range(size)]
    for seed in count(1):
        # As functions of the seed the μ are not 0: only λ_i has the pole -i of μ_i.
        weights = [fmpq(1, seed + k) for k in range(size)]
        signs = [_signs(vertex, weights) for vertex in vertices]
        if all(map(all, signs)):
            break
    cones = []
    for vertex, own in zip(vertices, signs, strict=True):
        guards = list(zip(vertex.guards, own, strict=True))
        rows = tuple([tuple([s * t * covariances[f][g] for g, t in guards]) for f, s in guards])
        bounds = tuple([s * polyhedron.bounds[f] for f, s in guards])
        turned = tuple([s < 0 for s in own])
        cones.append(
            SimplicialCone(-1 if sum(turned) % 2 else 1, vertex.guards, turned, rows, bounds)
        )
    return Cones(rank, tuple(cones))


@dataclass(frozen=True, slots=True)
class _Vertex:
    """A vertex of the polyhedron with the bounds b_k + η^(k+1)."""

    guards: tuple[int, ...]  # B, ascending
    shares: tuple[Vector, ...]  # by guard k, numbers c with a_k = Σ_{i in B} c_i a_i


def _vertices(polyhedron: Polyhedron, limits: Limits) -> Iterator[_Vertex]:
    rank, bounds = polyhedron.rank, polyhedron.bounds
    rows = fmpq_mat(len(bounds), rank, [a for normal in polyhedron.normals for a in normal])
    for guards in combinations(range(len(bounds)), rank):
        limits.check()
        basis = fmpq_mat(rank, rank, [a for k in guards for a in polyhedron.normals[k]])
        try:
            product = rows * basis.inv()
        except ZeroDivisionError:
            continue
        shares = tuple([tuple(row) for row in product.tolist()])
        if all(_holds(k, shares[k], guards, bounds) for k in range(len(bounds))):
            yield _Vertex(guards, shares)


def _holds(k: int, shares: Vector, guards: Sequence[int], bounds: Vector) -> bool:
    """Whether the vertex of some guards meets the guard k, for all small η."""
    if k in guards:
        return True
    slack = bounds[k] - _total(c * bounds[i] for i, c in zip(guards, shares, strict=True))
    if slack != ZERO:
        return slack > ZERO
    # η^(k+1) - Σ c_i η^(i+1): the first term counts.
    for i, c in zip(guards, shares, strict=True):
        if i > k:
            break
        if c != ZERO:
            return c < ZERO
    return True


def _signs(vertex: _Vertex, weights: Sequence[fmpq]) -> tuple[int, ...]:
    """The signs of μ."""
    columns = zip(*vertex.shares, strict=True)
    return tuple([sign(_total(map(mul, weights, column))) for column in columns])
