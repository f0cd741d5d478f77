"""Functions of a real variable: panels, Gauss-Legendre points on each, moduli on ellipses around.

Densities are analytic between their kinks, which are ends of panels, as are the bounds of all
restrictions; so are products, sums, and integrals of such functions. On a panel with the centre
c and half width h, an ellipse is c + h * E(rho) (`legendre`).
"""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from itertools import pairwise

from flint import arb, arb_mat

from dipapprox.kernel.accuracy import Accuracy
from dipapprox.kernel.balls import error, to_ball
from dipapprox.kernel.convolutions import Kernel
from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.grid import ends_of_panels
from dipapprox.kernel.laws import Law
from dipapprox.kernel.legendre import rule
from dipapprox.kernel.sampled import NOTHING, ZERO, Leaves, Sampled, Space, Tail


class Panels(Space):
    """Functions made of some laws at one eps, restricted at some places.

    Attributes:
        ends: Of neighbouring panels, ascending.
    """

    def __init__(self, leaves: Leaves, eps: Fraction, accuracy: Accuracy) -> None:
        self._eps = eps
        self.ends = ends_of_panels(leaves, eps, accuracy)
        self._rule = rule(accuracy.nodes, accuracy.precision)
        self.n = accuracy.nodes
        self._panels = list(pairwise(self.ends))
        self._halves = [to_ball((b - a) / 2) for a, b in self._panels]
        weights = [half * w for half in self._halves for w in self._rule.weights]
        self._weights = arb_mat(len(weights), 1, weights)
        self._steps = [1 + x for x in self._rule.points]
        # Half axes of the ellipses, in half widths: along the line and across it.
        balls = [to_ball(rho) for rho in accuracy.ellipses]
        self._axes = [((rho + 1 / rho) / 2, (rho - 1 / rho) / 2) for rho in balls]
        self._whole_errors = [self._rule.whole_error(rho) for rho in accuracy.ellipses]
        self._running_errors = [self._rule.running_error(rho) for rho in accuracy.ellipses]
        self._overshoots = [self._rule.overshoot(rho) for rho in accuracy.ellipses[1:]]
        self._logs = [rho.log() for rho in balls]
        self._ellipses = accuracy.ellipses
        self._kernels: dict[Law, Kernel] = {}

    def density(self, law: Law, factor: Fraction) -> Sampled:
        # To the left of the grid densities rise, to the right they fall, as it spans the reach of
        # all laws: their largest value in a tail is that at the end of the grid.
        family, scale = law.on_reals, law.scale(self._eps)
        height, unit = to_ball(factor / scale), to_ball(1 / scale)
        values: list[arb] = []
        bounds: list[list[arb]] = [[] for _ in self._axes]
        for (a, b), half in zip(self._panels, self._halves, strict=True):
            side = 0
            if family.has_kink:
                if a < law.mean < b:
                    raise NotProved("a density is sampled across its kink")
                side = -1 if b <= law.mean else 1
            # In units of the standard law; differences are exact, so nothing cancels.
            start, width = to_ball((a - law.mean) / scale), half * unit
            points = [start + width * step for step in self._steps]
            values += [height * value for value in family.densities(points, side)]
            for row, (along, across) in zip(bounds, self._axes, strict=True):
                low, high = start + width * (1 - along), start + width * (1 + along)
                row.append(height * family.majorant(low, high, width * across, side))
        first = to_ball((self.ends[0] - law.mean) / scale)
        last = to_ball((self.ends[-1] - law.mean) / scale)
        size = to_ball(factor)
        (before,), (after,) = family.densities([first], -1), family.densities([last], 1)
        left = Tail(height * before, size * family.below(first, -1))
        right = Tail(height * after, size * family.above(last, 1))
        return Sampled(values, bounds, left, right)

    def place(self, bound: Fraction, is_upper: bool) -> tuple[int, int]:
        ends = self.ends
        if not ends[0] <= bound <= ends[-1]:
            return (0, -1) if bound < ends[0] else (len(self._panels), 1)
        place = bisect_left(ends, bound)
        if ends[place] != bound:
            raise NotProved("a function is restricted within a panel")
        return place, 0

    def partial(self, f: Sampled, start: arb, from_left: bool) -> tuple[Sampled, arb]:
        """On an ellipse |F(z)| <= F(e) + h (rho - 1/rho) / 2 * M.

        There F(e) is the largest value on the panel, at an end of it, and M bounds f on the
        ellipse: z = c + h (w + 1/w) / 2 with |w| = r <= rho and the angle s is at the distance
        h |(r - 1) exp(is) + (1/r - 1) exp(-is)| / 2 from c + h cos s, in the panel. Squared, that
        is h^2 times ((r + 1/r) / 2 - 1)^2 cos^2 s + ((r - 1/r) / 2)^2 sin^2 s, and
        (r + 1/r) / 2 - 1 <= (r - 1/r) / 2.
        """
        n, count, reached = self.n, len(self._panels), start
        matrix = self._rule.from_left if from_left else self._rule.from_right
        rows = (arb_mat(count, n, f.values) * matrix).entries()
        wrong_on_the_way = self._wrong(self._running_errors, f)
        wrong = self._wrong(self._whole_errors, f)
        values: list[list[arb]] = [[] for _ in self._panels]
        bounds = [[ZERO] * count for _ in self._axes]
        for p in range(count) if from_left else reversed(range(count)):
            half, row = self._halves[p], rows[p * (n + 1) : (p + 1) * (n + 1)]
            base = reached + error(wrong_on_the_way[p])
            values[p] = [(base + half * part).nonnegative_part() for part in row[:n]]
            rise = half * row[n] + error(wrong[p])
            reached += rise.nonnegative_part()
            for k, (_, across) in enumerate(self._axes):
                bounds[k][p] = reached + half * across * f.bounds[k][p]
        found = [value for part in values for value in part]
        return Sampled(found, bounds, NOTHING, NOTHING), reached

    def rise(self, upper: Sampled, lower: Sampled) -> Sampled:
        """Return upper - lower, whose moduli may be far below those of both.

        Its largest value M_0 on the panel is little more than that at a point (`legendre`). Then,
        by Hadamard's theorem of three circles for w -> f((w + 1/w) / 2), its moduli on ellipses
        grow no faster than M(r) <= M_0^(1 - s) M(rho)^s, where s = ln r / ln rho.
        """
        rise = super().rise(upper, lower)
        for p in range(len(self._panels)):
            moduli = [row[p].upper() for row in rise.bounds]
            value = max(v.upper() for v in rise.values[p * self.n : (p + 1) * self.n])
            for factor, modulus in zip(self._overshoots, moduli[1:], strict=True):
                moduli[0] = _smaller(moduli[0], value + factor * modulus)
            for k in range(1, len(moduli)):
                for outer in range(k + 1, len(moduli)):
                    part = self._logs[k] / self._logs[outer]
                    bound = moduli[0].upper() ** (1 - part) * moduli[outer] ** part
                    moduli[k] = _smaller(moduli[k], bound)
            for row, modulus in zip(rise.bounds, moduli, strict=True):
                row[p] = modulus
        return rise

    def convolved(self, f: Sampled, law: Law) -> Sampled:
        if law not in self._kernels:
            self._kernels[law] = Kernel(law, self._eps, self._panels, self._rule, self._ellipses)
        weights = arb_mat(self.n, 1, self._rule.weights)
        sums = (arb_mat(len(self._panels), self.n, f.values) * weights).entries()
        wrong = self._wrong(self._whole_errors, f)
        masses = [
            half * mass + error(more)
            for half, mass, more in zip(self._halves, sums, wrong, strict=True)
        ]
        return self._kernels[law].applied(f, masses)

    def inside(self, f: Sampled) -> arb:
        found = (arb_mat(1, len(f.values), f.values) * self._weights)[0, 0]
        return found + error(sum(self._wrong(self._whole_errors, f), ZERO))

    def _wrong(self, errors: list[arb], f: Sampled) -> list[arb]:
        """Return a bound of the error on each panel, the smallest that the ellipses give."""
        least = [errors[0] * modulus for modulus in f.bounds[0]]
        for factor, row in zip(errors[1:], f.bounds[1:], strict=True):
            bounds = [factor * modulus for modulus in row]
            least = [_smaller(a, b) for a, b in zip(least, bounds, strict=True)]
        return [half * bound for half, bound in zip(self._halves, least, strict=True)]


def _smaller(bound: arb, other: arb) -> arb:
    """Return the smaller of two bounds; one that is not finite is none."""
    return other if other < bound else bound
