"""The faces of a polyhedron of rank 1, 2 or 3, exactly: distances, edges, where they begin and end.

A line in the boundary is walked from its foot, the point nearest the origin. In rank 2 it is that
of one guard, in rank 3 that of two, f and g: with the covariances c of the forms and

    D = c_ff c_gg - c_fg² > 0    λ = (b_f c_gg - b_g c_fg) / D    μ = (b_g c_ff - b_f c_fg) / D

the foot is λ a_f + μ a_g (as a vector: times the variances), its squared length λ b_f + μ b_g, and
its distance from the foot of f's plane, positive where that foot meets the guard g, e_f with

    e_f² = μ² D / c_ff,  of μ's sign.

Every other guard cuts the line to a half of it, or excludes or spares all of it.

Why an edge that is found proves that its guards are facets. What is left of the line has a length
> 0, and a guard that holds with equality on all of it excludes it: so at an inner point no other
guard is tight, and there the polyhedron is a half-space or the wedge of two that are not parallel.
So if every guard has an edge, none is implied by others and the polyhedron has an interior.
"""

from __future__ import annotations

from flint import fmpq

from dipapprox.data_classes import dataclass
from dipapprox.errors import BrokenInvariant
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import NotEnclosed
from dipapprox.numerics.gaussian_rank.polyhedron import ZERO, Polyhedron, Vector, sign

NOT_REDUCED = NotEnclosed("some guards are implied by others")


@dataclass(frozen=True, slots=True)
class Edge:
    """A piece of a line in the boundary.

    Attributes:
        guards: The one or two that are tight on it.
        square: Of the distance of its line from the origin.
        start: Signed square of its first end's distance from the line's foot; None: it has none.
        stop: Likewise its other end, greater.
        insets: Rank 3: for each of its guards the signed square of the distance of the line from
            the foot of the origin in that guard's plane, positive if that foot meets the other.
    """

    guards: tuple[int, ...]
    square: fmpq
    start: fmpq | None
    stop: fmpq | None
    insets: tuple[fmpq, ...] = ()


@dataclass(frozen=True, slots=True)
class Faces:
    """A polyhedron with an interior, all of whose guards are facets.

    Attributes:
        polyhedron: Of rank 1, 2 or 3.
        covariances: Of the guards' forms.
        distances: By guard, signed squares of the distance of its boundary from the origin,
            negative if the origin does not meet it.
        edges: All of them; none in rank 1.
    """

    polyhedron: Polyhedron
    covariances: tuple[Vector, ...]
    distances: Vector
    edges: tuple[Edge, ...]


def faces_of(polyhedron: Polyhedron, limits: Limits) -> Faces | NotEnclosed:
    """Find the faces, if no guard is implied by others and the polyhedron has an interior.

    Raises:
        LimitReached: If `limits` run out.
    """
    size = len(polyhedron.bounds)
    covariances = tuple(
        [tuple([polyhedron.covariance(f, g) for g in range(size)]) for f in range(size)]
    )
    distances = tuple(
        [sign(b) * b * b / covariances[f][f] for f, b in enumerate(polyhedron.bounds)]
    )
    faces = Faces(polyhedron, covariances, distances, ())
    match polyhedron.rank:
        case 1:
            return faces if _is_interval(polyhedron) else NOT_REDUCED
        case 2:
            edges = [_side(faces, f) for f in range(size)]
        case 3:
            edges = []
            for g in range(size):
                limits.check()
                edges += [_edge(faces, f, g) for f in range(g)]
        case rank:
            raise BrokenInvariant(f"faces of rank {rank}")
    found = tuple([edge for edge in edges if edge is not None])
    if {guard for edge in found for guard in edge.guards} != set(range(size)):
        return NOT_REDUCED
    return Faces(polyhedron, covariances, distances, found)


def _is_interval(polyhedron: Polyhedron) -> bool:
    """Whether there is one bound, or one on either side and room between them."""
    ends = _left_of(polyhedron, (ZERO,), (fmpq(1),), ())
    return ends is not None and sum(end is not None for end in ends) == len(polyhedron.bounds)


def _side(faces: Faces, f: int) -> Edge | None:
    polyhedron = faces.polyhedron
    (first, second), bound = polyhedron.normals[f], polyhedron.bounds[f]
    foot = _point(polyhedron, [(bound / faces.covariances[f][f], f)])
    ends = _ends(polyhedron, foot, (-second, first), (f,))
    return None if ends is None else Edge((f,), abs(faces.distances[f]), *ends)


def _edge(faces: Faces, f: int, g: int) -> Edge | None:
    polyhedron, c = faces.polyhedron, faces.covariances
    determinant = c[f][f] * c[g][g] - c[f][g] * c[f][g]
    if determinant == ZERO:
        return None  # parallel planes
    b_f, b_g = polyhedron.bounds[f], polyhedron.bounds[g]
    first = (b_f * c[g][g] - b_g * c[f][g]) / determinant
    second = (b_g * c[f][f] - b_f * c[f][g]) / determinant
    foot = _point(polyhedron, [(first, f), (second, g)])
    (a, b, d), (x, y, z) = polyhedron.normals[f], polyhedron.normals[g]
    ends = _ends(polyhedron, foot, (b * z - d * y, d * x - a * z, a * y - b * x), (f, g))
    if ends is None:
        return None
    insets = (
        sign(second) * second * second * determinant / c[f][f],
        sign(first) * first * first * determinant / c[g][g],
    )
    return Edge((f, g), first * b_f + second * b_g, *ends, insets)


def _point(polyhedron: Polyhedron, shares: list[tuple[fmpq, int]]) -> Vector:
    """Return Σ share · (normal of the guard), times the variances."""
    found = [ZERO] * polyhedron.rank
    for share, guard in shares:
        for j, coefficient in enumerate(polyhedron.normals[guard]):
            found[j] += share * coefficient * polyhedron.variances[j]
    return tuple(found)


def _ends(
    polyhedron: Polyhedron, foot: Vector, direction: Vector, tight: tuple[int, ...]
) -> tuple[fmpq | None, fmpq | None] | None:
    """What the other guards leave of a line, as signed squares from its foot; None: no length."""
    ends = _left_of(polyhedron, foot, direction, tight)
    if ends is None:
        return None
    pairs = zip(direction, polyhedron.variances, strict=True)
    length = sum((u * u / v for u, v in pairs), ZERO)
    first, last = (None if t is None else sign(t) * t * t * length for t in ends)
    return first, last


def _left_of(
    polyhedron: Polyhedron, foot: Vector, direction: Vector, tight: tuple[int, ...]
) -> tuple[fmpq | None, fmpq | None] | None:
    """What the other guards leave of { foot + t direction }, as ends of t; None: no length."""
    start: fmpq | None = None
    stop: fmpq | None = None
    for k, (normal, bound) in enumerate(zip(polyhedron.normals, polyhedron.bounds, strict=True)):
        if k in tight:
            continue
        slope, slack = ZERO, bound
        for a, u, p in zip(normal, direction, foot, strict=True):
            slope += a * u
            slack -= a * p
        if slope == ZERO:
            if slack <= ZERO:
                return None
            continue
        end = slack / slope
        if slope > ZERO:
            stop = end if stop is None or end < stop else stop
        else:
            start = end if start is None or end > start else start
        if start is not None and stop is not None and start >= stop:
            return None
    return start, stop
