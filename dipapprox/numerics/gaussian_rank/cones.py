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
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from math import comb

from flint import arb, fmpq, fmpq_mat

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.data_classes import dataclass
from dipapprox.limits import Limits
from dipapprox.numerics.gaussian_rank.polyhedron import ZERO, Polyhedron, Vector, sign

MOST_BASES = 10_000
"""Most sets of guards that are looked at, some ten microseconds each."""


@dataclass(frozen=True, slots=True)
class SimplicialCone:
    """{ Y_k <= bounds[k] for every k } for as many normal variables as the rank, with a sign.

    Attributes:
        sign: 1 or -1.
        guards: Of the polyhedron, by variable.
        turned: Whether the guard is turned round, by variable.
        covariance: Of the Y, whose means are 0.
        bounds: By variable.
    """

    sign: int
    guards: tuple[int, ...]
    turned: tuple[bool, ...]
    covariance: tuple[Vector, ...]
    bounds: Vector

    def as_balls(self) -> tuple[list[list[arb]], list[arb]]:
        """Return the covariance and the bounds at the current precision."""
        return [[arb(c) for c in row] for row in self.covariance], [arb(b) for b in self.bounds]


@dataclass(frozen=True, slots=True)
class Cones:
    """A polyhedron of some rank: its probability is the sum of its cones', times their signs."""

    rank: int
    cones: tuple[SimplicialCone, ...]


def cones_of(polyhedron: Polyhedron, limits: Limits) -> Cones | NotEnclosed:
    """Decompose a polyhedron of any rank.

    Returns:
        The cones, none for an empty polyhedron; or why there are too many sets of guards.

    Raises:
        LimitReached: If `limits` run out.
    """
    size, rank = len(polyhedron.bounds), polyhedron.rank
    if comb(size, rank) > MOST_BASES:
        return NotEnclosed(
            f"{size} guards of rank {rank} have more than {MOST_BASES} possible vertices"
        )
    vertices = list(_vertices(polyhedron, limits))
    covariances = [[polyhedron.covariance(f, g) for g in range(size)] for f in range(size)]
    seed = 1
    while True:
        # As functions of the seed the μ are not 0: only λ_i has the pole -i of μ_i.
        weights = [fmpq(1, seed + k) for k in range(size)]
        signs = [_signs(vertex, weights) for vertex in vertices]
        if all(all(own) for own in signs):
            break
        seed += 1
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
    """A vertex of the polyhedron with the bounds b_k + η^(k+1).

    Attributes:
        guards: B, ascending.
        shares: By guard k, numbers c with a_k = Σ_{i in B} c_i a_i.
    """

    guards: tuple[int, ...]
    shares: tuple[Vector, ...]


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
    slack = bounds[k] - _sum(c * bounds[i] for i, c in zip(guards, shares, strict=True))
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
    return tuple(
        [sign(_sum(w * c for w, c in zip(weights, column, strict=True))) for column in columns]
    )


def _sum(values: Iterable[fmpq]) -> fmpq:
    return sum(values, ZERO)
