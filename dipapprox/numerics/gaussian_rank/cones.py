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

Polyhedron. A Gaussian event in as many dimensions as its guards' rank.

    samples x_i ~ N(μ_i, σ_i²), guards Σ c_ki x_i + w_k <= 0, Y_k = Σ c_ki (x_i - μ_i)

are Y_k <= b_k = -(w_k + Σ c_ki μ_i). Let a_k be the vector of the c_ki σ_i: the a_k span a space of
the dimension r, the rank, and a_k · a_l is the covariance of Y_k and Y_l. All that is asked of the
a_k is told by that matrix C, exactly, as C is rational: the guards of a set B of r are a basis if
C_BB is invertible, and then a_k = Σ_{i in B} s_i a_i with s = C_kB C_BB^-1.

References:
    J. Lawrence, Polytope volume computation, Math. Comp. 57 (1991).
    A. N. Varchenko, Combinatorics and topology of the disposition of affine hyperplanes (1987).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, count
from math import comb

from flint import arb, fmpq, fmpq_mat

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.data_classes import Record
from dipapprox.events.event import Event
from dipapprox.limits import check_limits

Vector = tuple[fmpq, ...]
_ZERO = fmpq(0)


class Polyhedron(Record, eq=False):
    """{ Y_k <= bounds[k], all k }, the Y_k jointly normal, of mean 0; no variance is 0."""

    covariance: fmpq_mat  # of the Y
    bounds: Vector
    rank: int  # of the covariance, at least 1


def polyhedron_of(event: Event, most: int) -> Polyhedron | NotEnclosed:
    """Write an event of Gaussian samples as a polyhedron, unless its rank is above `most`."""
    means = [law.mean for law in event.samples]
    forms = fmpq_mat(len(event.guards), len(event.samples))
    bounds = []
    for k, guard in enumerate(event.guards):
        bound = -guard.constant
        for i, c in guard.terms:
            sample = int(i)
            forms[k, sample] = _rational(c * event.samples[sample].scale)
            bound -= c * means[sample]
        bounds.append(_rational(bound))
    rank = forms.rank()
    if rank > most:
        return NotEnclosed(f"guards of a rank above {most}")
    return Polyhedron(forms * forms.transpose(), tuple(bounds), rank)


def _rational(value: Fraction) -> fmpq:
    return fmpq(value.numerator, value.denominator)


MOST_BASES = 10_000  # most sets of guards that are looked at, some ten microseconds each


class SimplicialCone(Record):
    """{ Y_k <= bounds[k] for every k } for as many normal variables as the rank, with a sign."""

    sign: int  # 1 or -1
    guards: tuple[int, ...]  # of the polyhedron, by variable
    turned: tuple[bool, ...]  # whether the guard is turned round, by variable
    covariance: tuple[Vector, ...]  # of the Y, whose means are 0
    bounds: Vector  # by variable

    def as_balls(self) -> tuple[list[list[arb]], list[arb]]:
        """Return the covariance and the bounds at the current precision."""
        return [[arb(c) for c in row] for row in self.covariance], [arb(b) for b in self.bounds]


class Cones(Record):
    """A polyhedron of some rank: its probability is the sum of its cones', times their signs."""

    rank: int
    cones: tuple[SimplicialCone, ...]


def cones_of(polyhedron: Polyhedron) -> Cones | NotEnclosed:
    """Decompose a polyhedron of any rank, an empty one into no cones, or say why not."""
    size, rank = len(polyhedron.bounds), polyhedron.rank
    if comb(size, rank) > MOST_BASES:
        return NotEnclosed(
            f"{size} guards of rank {rank} have more than {MOST_BASES} possible vertices"
        )
    vertices = list(_vertices(polyhedron))
    for seed in count(1):
        # As functions of the seed the μ are not 0: only λ_i has the pole -i of μ_i.
        weights = fmpq_mat(1, size, [fmpq(1, seed + k) for k in range(size)])
        signs = [[_sign(mu) for mu in (weights * shares).entries()] for _, shares in vertices]
        if all(map(all, signs)):
            break
    cones = []
    for (chosen, _), own in zip(vertices, signs, strict=True):
        guards, covariance = list(zip(chosen, own, strict=True)), polyhedron.covariance
        rows = tuple([tuple([s * t * covariance[f, g] for g, t in guards]) for f, s in guards])
        bounds = tuple([s * polyhedron.bounds[f] for f, s in guards])
        turned = tuple([s < 0 for s in own])
        cones.append(SimplicialCone(-1 if sum(turned) % 2 else 1, chosen, turned, rows, bounds))
    return Cones(rank, tuple(cones))


_Vertex = tuple[tuple[int, ...], fmpq_mat]
"""Its facets B, ascending, and by guard k, a row, numbers c with a_k = Σ_{i in B} c_i a_i."""


def _sign(value: fmpq) -> int:
    return (value > _ZERO) - (value < _ZERO)


def _vertices(polyhedron: Polyhedron) -> Iterator[_Vertex]:
    """Yield the vertices of the polyhedron with the bounds b_k + η^(k+1)."""
    rank, bounds, whole = polyhedron.rank, polyhedron.bounds, polyhedron.covariance.tolist()
    for guards in combinations(range(len(bounds)), rank):
        check_limits()
        columns = fmpq_mat([[row[g] for g in guards] for row in whole])
        try:
            basis = fmpq_mat([[whole[f][g] for g in guards] for f in guards]).inv()
        except ZeroDivisionError:
            continue
        shares = columns * basis
        if all(_holds(k, own, guards, bounds) for k, own in enumerate(shares.tolist())):
            yield guards, shares


def _holds(k: int, shares: Sequence[fmpq], guards: Sequence[int], bounds: Vector) -> bool:
    """Whether the vertex of some guards meets the guard k, for all small η."""
    if k in guards:
        return True
    implied = (c * bounds[i] for i, c in zip(guards, shares, strict=True))
    slack = bounds[k] - sum(implied, _ZERO)
    if slack != _ZERO:
        return slack > _ZERO
    # η^(k+1) - Σ c_i η^(i+1): the first term counts.
    for i, c in zip(guards, shares, strict=True):
        if i > k:
            break
        if c != _ZERO:
            return c < _ZERO
    return True
