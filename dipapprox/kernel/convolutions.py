"""Densities of sums X + Y, where f is the density of X on panels, and Y has an entire one, k.

g(s) = integral of f(t) k(s - t) over t is an entire function, too. Its values at the points of the
grid are sums with Gauss and Legendre's rule on panels; the errors are those of f(z) k(s - z), whose
modulus is at most that of f times the majorant of k. From panels that are far, and from beyond the
grid, comes at most the integral of f there times the largest k. The modulus of g is at most the sum
of the integrals of f, each times a majorant of k.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flint import arb, arb_mat, ctx

from dipapprox.kernel.balls import between, error, to_ball
from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import NotProved, Refused
from dipapprox.kernel.laws import Law
from dipapprox.kernel.legendre import Rule
from dipapprox.kernel.sampled import ZERO, Sampled, Tail

MOST_ENTRIES = 4_000_000
"""Of all matrices of a law on a grid."""


Panel = tuple[Fraction, Fraction]


class Kernel:
    """The law of Y on a grid: about its mean 0 it is symmetric, and from there it falls."""

    def __init__(
        self, law: Law, eps: Fraction, panels: list[Panel], rule: Rule, ellipses: Sequence[Fraction]
    ) -> None:
        self._family, self._panels, self._rule = law.on_reals, panels, rule
        if self._family.has_kink:
            raise Refused(f"sums with samples of {law.family} have only closed forms")
        self._unit = to_ball(1 / law.scale(eps))
        self._halves = [to_ball((b - a) / 2) for a, b in panels]
        balls = [to_ball(rho) for rho in ellipses]
        self._axes = [((rho + 1 / rho) / 2, (rho - 1 / rho) / 2) for rho in balls]
        numbers = range(len(panels))
        # How large k is at most between two panels; where that is next to nothing they are far.
        self._largest = [[self._modulus(q, p, 0, False) for p in numbers] for q in numbers]
        tiny = self._unit * arb(2) ** (40 - ctx.prec)
        self._near = []
        for q, row in enumerate(self._largest):
            near = [p for p, largest in enumerate(row) if p == q or not largest < tiny]
            self._near.append(range(near[0], near[-1] + 1))
        self._entries = sum(map(len, self._near)) * len(rule.points) ** 2
        spend(3 * self._entries + 30 * len(panels) ** 2)
        if self._entries > MOST_ENTRIES:
            raise Refused(f"sums of samples need a matrix of more than {MOST_ENTRIES} entries")
        self._matrices = [self._values(q) for q in numbers]
        # What the modulus of f on the ellipses around p is multiplied by in the error on q.
        factors = [rule.whole_error(rho) for rho in ellipses]
        self._errors = [
            [
                [self._halves[p] * e * self._modulus(q, p, k, False) for k, e in enumerate(factors)]
                for p in self._near[q]
            ]
            for q in numbers
        ]
        # What the integral of f over panel p is multiplied by in the modulus on panel q.
        self._moduli = [
            arb_mat([[self._modulus(q, p, k, True) for p in numbers] for q in numbers])
            for k in range(len(balls))
        ]

    def applied(self, f: Sampled, masses: list[arb]) -> Sampled:
        """Return the density of X + Y, for that of X and its integrals over panels."""
        n, most = len(self._rule.points), [mass.upper() for mass in masses]
        spend(self._entries // 8 + 4 * len(most) ** 2)
        beyond = (f.left.whole + f.right.whole).upper()
        if not (beyond + f.left.values + f.right.values).is_finite():
            raise NotProved("a sum of samples without a bound of one beyond the grid")
        values: list[arb] = []
        for q, near in enumerate(self._near):
            wrong, little = ZERO, beyond * self._outside(q, 0)
            for p, factors in zip(near, self._errors[q], strict=True):
                each = [factor * row[p] for factor, row in zip(factors, f.bounds, strict=True)]
                wrong += min(filter(arb.is_finite, each), key=arb.upper, default=arb.pos_inf())
            for p in {*range(len(most))}.difference(near):
                little += self._largest[q][p] * most[p]
            inside = f.values[near.start * n : near.stop * n]
            sums = (self._matrices[q] * arb_mat(len(inside), 1, inside)).entries()
            more = error(wrong) + between(ZERO, little.upper())
            values += [(value + more).nonnegative_part() for value in sums]
        bounds = []
        for k, moduli in enumerate(self._moduli):
            row = (moduli * arb_mat(len(most), 1, most)).entries()
            bounds.append([m + beyond * self._outside(q, k) for q, m in enumerate(row)])
        first, last = self._panels[0][0], self._panels[-1][1]
        gaps = [a - first for a, _ in self._panels], [last - b for _, b in self._panels]
        left = self._tail(f.left, [*gaps[0], last - first], [*most, f.right.whole])
        right = self._tail(f.right, [*gaps[1], last - first], [*most, f.left.whole])
        return Sampled(values, bounds, left, right)

    def _values(self, q: int) -> arb_mat:
        """The matrix that takes f at points near panel q to g at the points of q."""
        rows, steps = [], [1 + x for x in self._rule.points]
        for step in steps:
            row: list[arb] = []
            for p in self._near[q]:
                half = self._halves[p]
                # Differences of ends are exact, so nothing cancels.
                gap = to_ball(self._panels[q][0] - self._panels[p][0]) + self._halves[q] * step
                points = [(gap - half * other) * self._unit for other in steps]
                size, found = half * self._unit, self._family.densities(points, 0)
                row += [size * w * k for w, k in zip(self._rule.weights, found, strict=True)]
            rows.append(row)
        return arb_mat(rows)

    def _modulus(self, q: int, p: int, k: int, outer: bool) -> arb:
        """Bound |k(z - t)|, z near panel q and t near panel p.

        Ellipse k is around q (outer), or around p; the other panel is taken itself.
        """
        (a, b), (start, end) = self._panels[q], self._panels[p]
        along, across = self._axes[k]
        half = self._halves[q if outer else p]
        far = half * (along - 1)
        return self._majorant(to_ball(a - end) - far, to_ball(b - start) + far, half * across)

    def _outside(self, q: int, k: int) -> arb:
        """Bound |k(z - t)|, z on ellipse k around panel q and t beyond the grid."""
        (a, b), (along, across) = self._panels[q], self._axes[k]
        near = to_ball(min(a - self._panels[0][0], self._panels[-1][1] - b))
        low = near - self._halves[q] * (along - 1)
        return self._majorant(low, arb.pos_inf(), self._halves[q] * across)

    def _majorant(self, low: arb, high: arb, height: arb) -> arb:
        unit = self._unit
        return (unit * self._family.majorant(low * unit, high * unit, height * unit, 0)).upper()

    def _tail(self, own: Tail, gaps: list[Fraction], masses: list[arb]) -> Tail:
        """What is known beyond the grid, on one side.

        From X as far from there, on panels and on the other side of the grid, comes at most its
        probability times the largest density of Y that far out, and, to the integral, times the
        probability of that; from X there at most the largest value of f, and its integral.
        """
        values, whole = own.values, own.whole
        for gap, mass in zip(map(to_ball, gaps), masses, strict=True):
            values += mass * self._majorant(gap, arb.pos_inf(), ZERO)
            whole += mass * self._family.above(gap * self._unit)
        return Tail(values, whole)
