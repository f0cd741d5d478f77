"""The standard normal measure of a polyhedron of rank 1, 2 or 3, by walking along rays.

Let Z be standard normal in R^r and S(ρ) = Pr[|Z| >= ρ]. The ray from the origin in the direction u
meets the convex set K in an interval, and Pr[Z in K] is the mean over u of S(where it enters) -
S(where it leaves). It starts inside for the share of directions in the tangent cone at the origin;
it leaves through facets that the origin meets (signed distance d > 0) and enters through facets
that it does not meet (d < 0), almost surely; facets through the origin (d = 0) are seen by no
direction. With Ω the solid angle of the unit sphere:

    γ(K) = cone(K) - Σ_facets sgn d / Ω · ∫_facet S(|y|) dΩ(y)                                 (1)

r = 1: S(ρ) = erfc(ρ/√2), Ω = 2, and the integral is S(|d|).
r = 2: S(ρ) = e^(-ρ²/2), Ω = 2π. At the distance s from the foot of the origin on the edge, dΩ =
|d| / (d² + s²) ds.
r = 3: S(ρ) = erfc(ρ/√2) + √(2/π) ρ e^(-ρ²/2), Ω = 4π. In the plane of a facet at the distance h
from the foot of the origin and the angle t, dΩ = |d| h dh dt / ρ³ = |d| dρ dt / ρ², as ρ² = d² +
h². The function H(ρ) = |d| erfc(ρ/√2) / ρ has the derivative -|d| S(ρ) / ρ² and vanishes at ∞, so

    ∫_ρ^∞ |d| S / ρ² dρ = H(ρ),    H(|d|) = erfc(|d|/√2).

Walking along the rays from the foot in the plane, as in (1), with the tangent cone at the foot and
the signed distances e of the foot from the lines of the facet's edges,

    ∫_facet S dΩ = 2π cone(foot) erfc(|d|/√2) - Σ_edges sgn e ∫ H(R) |e| / (e² + s²) ds,

s along the edge, R² = d² + e² + s². The edge's own squared distance from the origin, d² + e², is
the same for its two facets, and sgn d |d| sgn e |e| = d e: both come in one integral, as
`edge_integrals` has it,

    γ(K) = cone(K) - Σ_facets sgn d / 2 · cone(foot) erfc(|d|/√2)
                   + Σ_edges 1 / 4π ∫ Σ_{its facets} d e / (e² + s²) · erfc(R/√2) / R ds.

Nothing was assumed of boundedness. K's rank is that of its space, so it contains no line.
"""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb, fmpq

from dipapprox.errors import BrokenInvariant
from dipapprox.limits import Limits
from dipapprox.numerics.gaussian_rank.edge_integrals import Segment, integral, planar, spatial
from dipapprox.numerics.gaussian_rank.faces import Faces
from dipapprox.numerics.gaussian_rank.polyhedron import ZERO, sign


def measure(faces: Faces, bits: int, limits: Limits) -> arb:
    """Enclose γ(K) to about 2**-bits for each facet and edge, at the current precision.

    Raises:
        LimitReached: If `limits` run out.
    """
    signs = [sign(d) for d in faces.distances]
    match faces.polyhedron.rank:
        case 1:
            tails = [s * _tail(d) for s, d in zip(signs, faces.distances, strict=True) if s]
            return _cone(signs, [], arb(1)) - sum(tails, arb(0)) / 2
        case 2:
            return _planar(faces, signs, bits, limits)
        case _:
            return _spatial(faces, signs, bits, limits)


def _planar(faces: Faces, signs: Sequence[int], bits: int, limits: Limits) -> arb:
    total = arb(0)
    for edge in faces.edges:
        (f,) = edge.guards
        if signs[f]:
            terms = ((faces.distances[f], edge.square),)
            segment = Segment(edge.square, edge.start, edge.stop, terms)
            total += integral(segment, planar, bits, limits)
    at_origin = [f for f, s in enumerate(signs) if not s]
    angles = [_angle(faces.covariances, *at_origin)] if len(at_origin) == 2 else []
    return _cone(signs, angles, 2 * arb.pi()) - total / (2 * arb.pi())


def _spatial(faces: Faces, signs: Sequence[int], bits: int, limits: Limits) -> arb:
    lines = arb(0)
    around: list[list[tuple[int, int]]] = [[] for _ in signs]  # by facet: other guard, sign of e
    for edge in faces.edges:
        for f, g, inset in zip(edge.guards, reversed(edge.guards), edge.insets, strict=True):
            around[f].append((g, sign(inset)))
        pulls = [
            (faces.distances[f] * inset, abs(inset))
            for f, inset in zip(edge.guards, edge.insets, strict=True)
        ]
        terms = tuple([term for term in pulls if term[0] != ZERO])
        if terms:
            segment = Segment(edge.square, edge.start, edge.stop, terms)
            lines += integral(segment, spatial, bits, limits)
    planes = arb(0)
    for f, s in enumerate(signs):
        if s:
            planes += s * _cone_at_foot(faces, f, around[f]) * _tail(faces.distances[f])
    return _cone_at_origin(faces, signs) - planes / 2 + lines / (4 * arb.pi())


def _cone_at_origin(faces: Faces, signs: Sequence[int]) -> arb:
    """Girard: with k edges at the origin the solid angle is Σ dihedral angles - (k - 2) π."""
    angles = [
        _angle(faces.covariances, *edge.guards)
        for edge in faces.edges
        if not any(signs[f] for f in edge.guards)
    ]
    active = sum(not s for s in signs)
    if any(s < 0 for s in signs) or active < 2:
        return _cone(signs, [], arb(1))
    if active == 2:  # a wedge: its edge goes through the origin
        angles = angles * 2
    if len(angles) != active:
        raise BrokenInvariant(f"a cone with {active} facets and {len(angles)} edges")
    return (sum(angles, arb(0)) - (active - 2) * arb.pi()) / (4 * arb.pi())


def _cone_at_foot(faces: Faces, f: int, around: Sequence[tuple[int, int]]) -> arb:
    """The share of a facet's plane that is its tangent cone at the foot of the origin."""
    at_foot = [g for g, inset in around if not inset]
    angles = []
    if len(at_foot) == 2:
        c = faces.covariances
        # Covariances of the forms given f's: normals within the plane.
        inner = [
            [c[g][h] - c[f][g] * c[f][h] / c[f][f] for h in range(len(c))] if g in at_foot else []
            for g in range(len(c))
        ]
        angles = [_angle(inner, *at_foot)]
    return _cone([inset for _, inset in around], angles, 2 * arb.pi())


def _cone(signs: Sequence[int], angles: Sequence[arb], whole: arb) -> arb:
    """The share of directions that stay inside: none, all, one half or a single angle's."""
    if any(s < 0 for s in signs):
        return arb(0)
    match sum(not s for s in signs), angles:
        case 0, _:
            return arb(1)
        case 1, _:
            return arb(1) / 2
        case _, [angle]:
            return angle / whole
        case active, _:
            raise BrokenInvariant(f"{active} facets meet in a point of a line or plane")


def _angle(covariances: Sequence[Sequence[fmpq]], f: int, g: int) -> arb:
    """The angle between two facets, inside: its cosine is minus the normals'."""
    variance, other, mixed = covariances[f][f], covariances[g][g], covariances[f][g]
    determinant = variance * other - mixed * mixed
    if determinant <= ZERO:
        raise BrokenInvariant("two facets that meet are parallel")
    if mixed == ZERO:
        return arb.pi() / 2
    return arb.atan2(arb(determinant).sqrt(), arb(-mixed))


def _tail(square: fmpq) -> arb:
    """erfc(|d|/√2) of a signed square."""
    return (arb(abs(square)) / 2).sqrt().erfc()
