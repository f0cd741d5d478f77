"""Functions of a real variable: a polynomial on each panel of a grid.

Densities are analytic between their kinks, which are ends of panels, as are the bounds of all
restrictions; so are products, sums, and integrals of such functions. On a panel with the centre
c and half width h, t in [-1, 1] stands for c + h * t (`taylor`).
"""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from itertools import pairwise
from math import factorial

from flint import arb, arb_poly

from dipapprox.kernel.balls import error, to_ball
from dipapprox.kernel.budget import spend
from dipapprox.kernel.densities import density
from dipapprox.kernel.errors import NotProved, Refused
from dipapprox.kernel.grid import Accuracy, Leaves, ends_of_panels
from dipapprox.kernel.laws import Law
from dipapprox.kernel.sampled import ZERO, Sampled, Space, Tail
from dipapprox.kernel.taylor import running, times, whole

MOST_SUMMED = 400
"""Panels of functions that are convolved: something is kept of each two."""


class Panels(Space):
    """Functions made of some laws at one eps, restricted at some places.

    Attributes:
        ends: Of neighbouring panels, ascending.
    """

    nothing = arb_poly()

    def __init__(self, leaves: Leaves, eps: Fraction, accuracy: Accuracy) -> None:
        self._eps, self._terms = eps, accuracy.terms
        self.ends = ends_of_panels(leaves, eps, accuracy)
        self._panels = [((a + b) / 2, (b - a) / 2) for a, b in pairwise(self.ends)]
        self.size = len(self._panels) * self._terms
        self._halves = [to_ball(half) for _, half in self._panels]

    def density(self, law: Law, factor: Fraction) -> Sampled:
        # The grid spans the means of all laws: the largest value in a tail is the one at its end.
        family, scale, size = law.on_reals, law.scale(self._eps), to_ball(factor)
        height, cells = size / to_ball(scale), []
        for centre, half in self._panels:
            side = (centre > law.mean) - (centre < law.mean)
            if law.has_kink and abs(centre - law.mean) < half:
                raise NotProved("a density is expanded across its kink")
            # In units of the standard law; differences are exact, so nothing cancels.
            z, width = to_ball((centre - law.mean) / scale), to_ball(half / scale)
            cells.append(density(law.family, z, width, side, self._terms) * height)
        first, last = (to_ball((end - law.mean) / scale) for end in (self.ends[0], self.ends[-1]))
        before, after = (
            density(law.family, z, ZERO, side, 1)(ZERO) for z, side in ((first, -1), (last, 1))
        )
        return Sampled(
            cells,
            Tail(height * before, size * family.below(first)),
            Tail(height * after, size * family.above(last)),
        )

    def times(self, one: arb_poly, other: arb_poly) -> arb_poly:
        return times(one, other, self._terms)

    def partial(self, place: int, cell: arb_poly, from_left: bool) -> arb_poly:
        return running(cell * self._halves[place], from_left, self._terms)

    def whole(self, place: int, cell: arb_poly) -> arb:
        return whole(cell) * self._halves[place]

    def place(self, bound: Fraction, is_upper: bool) -> tuple[int, int]:
        ends = self.ends
        if not ends[0] <= bound <= ends[-1]:
            return (0, -1) if bound < ends[0] else (len(self._panels), 1)
        place = bisect_left(ends, bound)
        if ends[place] != bound:
            raise NotProved("a function is restricted within a panel")
        return place, 0

    def summed(self, f: Sampled, law: Law) -> tuple[list[arb_poly], arb]:
        """From panel p comes the integral of h_p f(y) k(d + h_q x - h_p y) over y in [-1, 1].

        That is at x on panel q, with k the density of Y, and d the distance of the centres. Let no
        panel be wider than w. k(d + w t) is a polynomial with fixed c_m and at most the sum of the
        radii away from it; for w t = h_q x - h_p y, a = h_q / w and b = -h_p / w it has

            a^i / i! * sum over j of (i + j)! c_(i + j) * b^j / j! * (integral of h_p f(y) y^j)

        before x^i: sums of products, as in products of polynomials.
        """
        scale, n = law.scale(self._eps), self._terms
        if law.has_kink:
            raise Refused(f"sums with samples of {law.family} have only closed forms")
        if len(self._panels) > MOST_SUMMED:
            raise Refused(f"sums of samples need more than {MOST_SUMMED} panels")
        spend(4 * n * len(self._panels) ** 2)
        unit, width = to_ball(1 / scale), 2 * max(half for _, half in self._panels)
        factorials = [arb(factorial(m)) for m in range(n)]
        held: dict[tuple[int, int], tuple[arb_poly, arb]] = {}
        sources = []
        for (centre, half), cell in zip(self._panels, f.cells, strict=True):
            b, size = to_ball(-half / width), to_ball(half)
            moments = [whole(cell.left_shift(j)) * size for j in range(n)]
            terms = [b**j * m / k for j, (m, k) in enumerate(zip(moments, factorials, strict=True))]
            sources.append((centre, arb_poly(terms[::-1]), moments[0].nonnegative_part()))
        cells = []
        for centre, half in self._panels:
            sums, wrong, a = arb_poly(), ZERO, to_ball(half / width)
            for other, source, mass in sources:
                # Quotients of integers are found faster than fractions.
                if (gap := (centre - other).as_integer_ratio()) not in held:
                    z = to_ball(Fraction(*gap) / scale)
                    balls = (density(law.family, z, to_ball(width / scale), 0, n) * unit).coeffs()
                    fixed = [c.mid() * k for c, k in zip(balls, factorials, strict=False)]
                    held[gap] = arb_poly(fixed), sum((c.rad() for c in balls), ZERO)
                sums += held[gap][0] * source
                wrong += held[gap][1] * mass
            found = zip(sums.right_shift(n - 1).coeffs(), factorials, strict=False)
            cell = arb_poly([a**i * c / k for i, (c, k) in enumerate(found)])
            cells.append(cell + error(wrong))
        return cells, unit * density(law.family, ZERO, ZERO, 0, 1)(ZERO)
