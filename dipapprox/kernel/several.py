"""Integrals of max(0, p f_1 ... f_k - a q g_1 ... g_k), by the losses of each f_i and g_i.

Over their masses, which may be any, these are densities of pairs. The z_i are independent: losses
above each pair, convolved, are above all of them together, and those below each are below
(`losses`). With p and q times all masses the integral is p H(a q / p), which grows with p and falls
with q; without p or q it is at most p.

Panels are cut into parts. On one of them f has the mass m, g has n, and y = f / g lies in a range.

1. From above: (y - a)_+ is convex in y, so its integral over g is at most that of the chord between
   the ends u < v of a range: that of masses at the losses ln u and ln v which add up to m, their
   quotients by u and v to n. Where nothing bounds y from above, all is at infinity; where nothing
   does from below, all is at ln v. So is, at infinity, what f may have beyond it: F(0) >= 1 = H(0).
2. From below each part is a set, at any loss; what is beyond the grid is left out. Of sets of
   several z the masses are bounded: those by f from below, those by g from above.

A bound is off by about the square of how much losses differ on a part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from flint import arb, arb_poly, ctx

from dipapprox.kernel.balls import between, lower_at, to_ball, upper_at
from dipapprox.kernel.errors import spend
from dipapprox.kernel.grid import ZERO, Sampled
from dipapprox.kernel.losses import Losses, standing
from dipapprox.kernel.panels import PLACES, Factor, Panels, whole

FARTHEST = 64  # a loss; those beyond are at infinity, or raised to the least one
MOST_PARTS = 1 << 12  # of a panel
Part = tuple[arb, arb, arb]  # the masses m and n, and a ball around y


def bounded(factors: Sequence[Factor], p: arb, q: arb, growth: Fraction, above: bool) -> arb:
    """Return a ball of which one end, the upper one from above, bounds it, for a = growth."""
    step, places = Fraction(1, 1 << max(min((ctx.prec - 34) // 3, 12), 4)), ctx.prec - 8
    if not above:
        own, factor = sets(factors, p, q, step), to_ball(growth)
        return sum(((m - factor * n).nonnegative_part() for m, n in own), ZERO)
    found = Losses(step, Fraction(0), 0, (1 << places,), 0, places)
    masses = [(space.total(f), space.total(g)) for space, f, g in factors]
    for mass, other in masses:
        p, q = p * mass, q * other
    if not (p > 0 and q > 0):
        return between(ZERO, p)
    for (space, f, g), (mass, other) in zip(factors, masses, strict=True):
        parts = ((m / mass, n / other, y * other / mass) for m, n, y in _parts(space, f, g, step))
        beyond = (f.left.whole + f.right.whole) / mass
        found = found.composed(_above(parts, beyond, step, places), (0, 0))
    loss = Fraction(lower_at((to_ball(growth) * q / p).log(), places), 1 << places)
    return between(ZERO, p * to_ball(found.delta(loss)))


def sets(factors: Sequence[Factor], p: arb, q: arb, step: Fraction) -> list[tuple[arb, arb]]:
    """Return the masses of disjoint sets by p f_1 ... f_k and q g_1 ... g_k; (p, q) without any."""
    if len(factors) == 1:
        return [(m * p, n * q) for m, n, _ in _parts(*factors[0], step)]
    far, places = int(FARTHEST / step), ctx.prec - 8
    found = Losses(step, Fraction(0), 0, (1 << places,), 0, places, (1 << places,))
    for factor in factors:
        parts = [(m, n) for m, n, _ in _parts(*factor, step)]
        found = found.composed(standing(parts, step, Fraction(0), (-far, far), places), (0, 0))
    p, q = (each * to_ball(Fraction(1, 1 << places)) for each in (p, q))
    masses = enumerate(zip(found.masses, found.others or (), strict=True), found.start)
    finite = [(m * p, n * q * to_ball(-k * step).exp()) for k, (m, n) in masses]
    return [*finite, (found.infinite * p, ZERO)]


def _parts(space: Panels, f: Sampled, g: Sampled, step: Fraction) -> Iterator[Part]:
    for one, two, half in zip(f.cells, g.cells, space.halves, strict=True):
        count = _count(one, two, step)
        spend(count * (4 + (len(one) + len(two)) ** 2 // 8))
        share = to_ball(Fraction(1, count))
        for k in range(count):
            place = arb_poly([to_ball(Fraction(2 * k + 1 - count, count)), share])
            own, other = one(place), two(place)
            size = half * share
            yield whole(own) * size, whole(other) * size, _range(own, other, step)


def _range(one: arb_poly, two: arb_poly, step: Fraction) -> arb:
    """Return a ball around f / g on a part: where f varies as g does, by f - u g, v g - f >= 0."""
    left, middle, right = (one(arb(k)) / two(arb(k)) for k in (-1, 0, 1))
    way = (left / middle).log().abs_upper().max((right / middle).log().abs_upper())
    factor = (way + to_ball(step / 4)).exp()
    u, v = (middle / factor).lower(), (middle * factor).upper()
    if (one - two * u)(PLACES) >= 0 and (two * v - one)(PLACES) >= 0:
        return between(u, v)
    return one(PLACES) / two(PLACES)


def _count(one: arb_poly, two: arb_poly, step: Fraction) -> int:
    """Into how many parts a panel is cut, so that losses differ by half a step on each, about."""
    left, middle, right = ((one(arb(k)) / two(arb(k))).log() for k in (-1, 0, 1))
    way = abs(middle - left).max(abs(right - middle)) / to_ball(step)
    return min(4 * upper_at(way, 0), MOST_PARTS) + 1 if way.is_finite() else 16


def _above(parts: Iterator[Part], beyond: arb, step: Fraction, places: int) -> Losses:
    masses, infinite, far = dict[int, arb](), beyond, int(FARTHEST / step)
    for m, n, y in parts:
        loss = y.log() / to_ball(step)
        high = upper_at(loss.upper(), 0) if loss.upper().is_finite() else far + 1
        low = lower_at(loss.lower(), 0) if loss.lower().is_finite() else -far - 1
        if high > far:
            infinite += m
        elif high <= low or low < -far:
            high = max(high, -far)
            masses[high] = masses.get(high, ZERO) + m
        else:
            u, v = (to_ball(k * step).exp() for k in (low, high))
            for k, mass in ((high, v * (m - u * n)), (low, u * (v * n - m))):
                masses[k] = masses.get(k, ZERO) + (mass / (v - u)).nonnegative_part()
    first, last = min(masses, default=0), max(masses, default=0)
    found = [max(upper_at(masses.get(k, ZERO), places), 0) for k in range(first, last + 1)]
    most = upper_at(infinite.nonnegative_part(), places)
    return Losses(step, Fraction(0), first, tuple(found), most, places)
