"""Functions of a real variable: a polynomial on each panel of a grid.

Densities are analytic between their kinks, which are ends of panels, as are the bounds of all
restrictions; so are products, sums, and integrals of such functions. On a panel with the centre
c and half width h, t in [-1, 1] stands for c + h * t.

Coefficients of polynomials are balls. C holds f if for every t in [-1, 1] there are c_k in the
coefficients C_k such that f(t) is the sum of c_k t^k; they need not be the same for all t. If D
holds g, then, computed with balls,

1. C + D holds f + g, C * D holds f * g, and s * C holds s * f for s in a ball: for each t alone.
2. If V contains the sum of c_k t^(k - n) over k >= n for all c_k in C_k and t in [-1, 1], the terms
   of C below n hold f once every x with |x| <= |v|, v in V, is added to C_0, as |t^n| <= 1.
3. Let m_k and r_k be the midpoint and radius of C_k, P the antiderivative of C with P_0 = 0. The
   integral of f from -1 to t is that of the midpoints, give or take that of the sum of r_k |s|^k
   over s in [-1, t], which is the sum of r_k (1 + t |t|^k) / (k + 1): at most the radius of
   P(t) - P(-1) as the difference of two balls, r_k (1 + |t|^(k + 1)) / (k + 1) for each k. So P
   minus the ball P(-1) holds it; likewise P(1) minus P that from t to 1, and P(1) - P(-1) contains
   the whole integral.
4. Let a_k(z) h^k be the coefficients of t -> f(z + h t) at t = 0. Then f(c + h t) is the sum of
   a_k(c) h^k t^k over k < n, and a_n(z) h^n t^n for a z between c and c + h t (Lagrange).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import partial, reduce
from itertools import pairwise
from math import factorial, lcm
from operator import mul
from typing import TypeVar

from flint import arb, arb_poly, arb_series, ctx

from dipapprox.kernel.balls import between, error, to_ball
from dipapprox.kernel.errors import NotProved, Refused, Refuted, spend
from dipapprox.kernel.grid import ZERO, Accuracy, Leaves, Sampled, Space, Tail, Way, ends_of_panels
from dipapprox.kernel.laws import FAMILIES, Law, RealFamily

Factor = tuple["Panels", Sampled, Sampled]  # a grid, and two functions on it
Z = TypeVar("Z", arb, arb_series)
PLACES, _LEFT, _RIGHT = arb(0, 1), arb(-1), arb(1)


def shortened(held: arb_poly, terms: int) -> arb_poly:
    """Return what holds the same functions with few terms (2)."""
    return held.truncate(terms) + held.right_shift(terms)(PLACES) * PLACES


def whole(held: arb_poly) -> arb:
    """Enclose the integral from -1 to 1 (3)."""
    found = held.integral()
    return found(_RIGHT) - found(_LEFT)


def jet(
    function: Callable[[arb_series], arb_series], centre: arb, half: arb, terms: int
) -> arb_poly:
    """Return what holds t -> f(c + h t), for a function of power series: of twice the terms (4, 2).

    z is in one of some parts of the panel: of one, if that tells enough.
    """
    count = 2 * terms
    spend(8 * count)
    # Series are no longer than that; whoever asks has the lock that precision has.
    before, ctx.cap = ctx.cap, max(ctx.cap, count + 1)
    try:
        near = function(arb_series([centre, half], count))
        for parts in (1, 4):
            shares = [arb(2 * k + 1 - parts, 1) / parts for k in range(parts)]
            far = [function(arb_series([centre + half * each, half], count + 1)) for each in shares]
            if near.prec < count or any(each.prec <= count for each in far):
                raise Refused("a power series that is too short")
            rest = reduce(between, [each[count] for each in far])
            # `Accuracy` has 32 bits more than are aimed at.
            if abs(rest) < arb(2) ** (32 - ctx.prec):
                break
    finally:
        ctx.cap = before
    return shortened(arb_poly(near.coeffs()) + rest * PLACES, terms)


def value(name: str, z: Z, side: int) -> Z:
    """Enclose f at a ball, or as a power series; on a side of 0, where it has a kink there."""
    match name:
        case "Gauss":
            return ((z * z + (2 * arb.pi()).log()) / -2).exp()
        case "Lap" | "LapPlus" | "LapMinus":
            sides = FAMILIES[name].sides
            return (-side * z).exp() / len(sides) if side in sides else 0 * z
        case "Logistic":
            # f is even, and v small on the right.
            v = (-z if side > 0 else z).exp()
            s = 1 / (1 + v)
            return v * (s * s)
        case "Gumbel" | "GumbelMinus":
            v = (-z if name == "Gumbel" else z).exp()
            return v * (-v).exp()
    raise Refuted(f"no density of {name} is known")


def density(name: str, centre: arb, half: arb, side: int, terms: int) -> arb_poly:
    """Return what holds t -> f(c + h t), f of a family.

    Where series tell less, f is between 0 and its value at the place that is nearest to 0.
    """
    found = arb_poly([arb.nan()])
    with suppress(ValueError):  # series are divided by a ball around 0
        found = jet(partial(value, name, side=side), centre, half, terms)
    if not found[0] > 0:
        most = between(ZERO, value(name, side * (side * centre - half).max(ZERO), side))
        if not found[0].rad() <= most.rad():
            return arb_poly([most])
    return found


class Panels(Space):
    """Functions made of some laws at one eps, restricted at some places: ends of panels."""

    nothing = arb_poly()

    def __init__(self, leaves: Leaves, eps: Fraction, accuracy: Accuracy) -> None:
        self._eps, self._terms = eps, accuracy.terms
        self.ends = ends_of_panels(leaves, eps, accuracy)
        self._panels = [((a + b) / 2, (b - a) / 2) for a, b in pairwise(self.ends)]
        self.size = len(self._panels) * self._terms
        self.halves = [to_ball(half) for _, half in self._panels]
        # What samples that are added do over gaps, and over the ways to both ends.
        self._held: dict[Law, dict[int, tuple[arb_poly, arb]]] = {}
        self._far: dict[Law, list[Way]] = {}

    def density(self, law: Law, factor: Fraction) -> Sampled:
        # The grid spans the means of all laws: the largest value in a tail is the one at its end.
        family, scale, size = law.on(RealFamily), law.scale(self._eps), to_ball(factor)
        unit, kinked, cells = to_ball(1 / scale), law.has_kink, []
        height = size * unit
        for (centre, half), width in zip(self._panels, self.halves, strict=True):
            # It is exact, so nothing cancels.
            apart = centre - law.mean
            side = (apart > 0) - (apart < 0)
            if kinked and abs(apart) < half:
                raise NotProved("a density is expanded across its kink")
            own = density(law.family, to_ball(apart) * unit, width * unit, side, self._terms)
            cells.append(own * height)
        first, last = (to_ball((end - law.mean) / scale) for end in (self.ends[0], self.ends[-1]))
        before, after = (value(law.family, z, side) for z, side in ((first, -1), (last, 1)))
        return Sampled(
            cells,
            Tail(height * before, size * family.below(first)),
            Tail(height * after, size * family.above(last)),
        )

    def times(self, one: arb_poly, other: arb_poly) -> arb_poly:
        return shortened(one * other, self._terms)

    def partial(self, place: int, cell: arb_poly, from_left: bool) -> tuple[arb_poly, arb]:
        # From -1 to t, or from t to 1 (3).
        found = (cell * self.halves[place]).integral()
        left, right = found(_LEFT), found(_RIGHT)
        found = found - left if from_left else right - found
        return shortened(found, self._terms), (right - left).nonnegative_part()

    def gathered(self, cells: Sequence[arb_poly]) -> arb:
        return whole(sum(map(mul, cells, self.halves), self.nothing))

    def place(self, bound: Fraction, is_upper: bool) -> tuple[int, int]:
        ends = self.ends
        if not ends[0] <= bound <= ends[-1]:
            return (0, -1) if bound < ends[0] else (len(self._panels), 1)
        place = bisect_left(ends, bound)
        if ends[place] != bound:
            raise NotProved("a function is restricted within a panel")
        return place, 0

    def summed(self, f: Sampled, law: Law) -> tuple[list[arb_poly], arb, list[Way]]:
        """From panel p comes the integral of h_p f(y) k(d + h_q x - h_p y) over y in [-1, 1].

        That is at x on panel q, with k the density of Y, and d the distance of the centres. Let no
        panel be wider than w. k(d + w t) is a polynomial with fixed c_m and at most the sum of the
        radii away from it; for w t = h_q x - h_p y, a = h_q / w and b = -h_p / w it has

            a^i / i! * sum over j of (i + j)! c_(i + j) * b^j / j! * (integral of h_p f(y) y^j)

        before x^i: sums of products, as in products of polynomials.

        From panels that are further away than Y almost ever goes comes what its density is there
        at most, as it falls on both sides of its mean, times the integral of f over the grid.
        """
        scale, n = law.scale(self._eps), self._terms
        most = self._height(law, ZERO, law.on(RealFamily).sides[0])
        if law.has_kink:
            return self._in_branches(f, law), most, self._ways(law)
        unit, width = to_ball(1 / scale), 2 * max(half for _, half in self._panels)
        factorials = [arb(factorial(m)) for m in range(n)]
        # Whole numbers are subtracted, and known, faster than fractions.
        whole_unit = lcm(*(centre.denominator for centre, _ in self._panels))
        spend((2 + n**2 // 100 + whole_unit.bit_length() // 64) * len(self._panels) ** 2)
        held = self._held.setdefault(law, {})
        sources = []
        for (centre, half), cell in zip(self._panels, f.cells, strict=True):
            b, size = to_ball(-half / width), to_ball(half)
            moments = [whole(cell.left_shift(j)) * size for j in range(n)]
            terms = [b**j * m / k for j, (m, k) in enumerate(zip(moments, factorials, strict=True))]
            place = int(centre * whole_unit)
            sources.append((place, arb_poly(terms[::-1]), moments[0].nonnegative_part()))
        reach = max(law.reach(self._eps, 2 * ctx.prec // 3))
        there = sum(self._height(law, to_ball(s * reach / scale), s) for s in (-1, 1))
        beyond = between(ZERO, there * sum((mass for *_, mass in sources), ZERO))
        cells = []
        for (place, *_), (centre, half) in zip(sources, self._panels, strict=True):
            sums, wrong, a = arb_poly(), ZERO, to_ball(half / width)
            first = max(bisect_left(self.ends, centre - half - reach) - 1, 0)
            last = bisect_left(self.ends, centre + half + reach)
            for other, source, mass in sources[first:last]:
                if (gap := place - other) not in held:
                    z, side = to_ball(Fraction(gap, whole_unit) / scale), (gap > 0) - (gap < 0)
                    own = density(law.family, z, to_ball(width / scale), side, n) * unit
                    balls = own.coeffs()
                    fixed = [c.mid() * k for c, k in zip(balls, factorials, strict=False)]
                    held[gap] = arb_poly(fixed), sum((c.rad() for c in balls), ZERO)
                sums += held[gap][0] * source
                wrong += held[gap][1] * mass
            found = zip(sums.right_shift(n - 1).coeffs(), factorials, strict=False)
            cell = arb_poly([a**i * c / k for i, (c, k) in enumerate(found)])
            cells.append(cell + error(wrong) + beyond)
        return cells, most, self._ways(law)

    def _in_branches(self, f: Sampled, law: Law) -> list[arb_poly]:
        """From the left, say, comes a multiple of the integral of e^(-u (t - s)) f(s) over s < t.

        With A what comes to the left end of a panel from those before, it is e^(-u h x) times the
        sum of e^(-u h) A and the integral of h e^(u h y) f(y) over y from -1 to x.
        """
        n, sides = self._terms, law.on(RealFamily).sides
        unit, cells = to_ball(1 / law.scale(self._eps)), [self.nothing] * len(f.cells)
        for side in sides:
            before = ZERO
            for place in range(len(cells))[::side]:
                spend(4 * n**2)
                rate = unit * self.halves[place]
                rises, falls = (
                    jet(arb_series.exp, ZERO, sign * side * rate, n) for sign in (1, -1)
                )
                own, down = self.times(f.cells[place], rises), (-rate).exp()
                part, more = self.partial(place, own, side > 0)
                cells[place] += self.times(part + before * down, falls) * (unit / len(sides))
                before = (before * down + more) * down
        return cells

    def _ways(self, law: Law) -> list[Way]:
        ends, scale, family = self.ends, law.scale(self._eps), law.on(RealFamily)
        found = self._far.setdefault(law, [])
        for left, right in () if found else pairwise(ends):
            one, other = (to_ball(way / scale) for way in (left - ends[0], ends[-1] - right))
            back, on = self._height(law, one, 1), self._height(law, -other, -1)
            found.append((back, family.below(-one), on, family.above(other)))
        return found

    def _height(self, law: Law, z: arb, side: int) -> arb:
        """Enclose the density of a law, whose mean is 0, at z times its scale, on a side of 0."""
        return value(law.family, z, side) / to_ball(law.scale(self._eps))
