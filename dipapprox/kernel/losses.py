"""Losses of pairs of distributions on a grid, bounded from above or from below.

For measures P, Q let H(a) = sup_S P(S) - a Q(S), a >= 0: with loss ln(dP/dQ), that is the integral
of (1 - a e^-loss)_+ over P. It is convex and does not increase; H(0) = 1 for distributions. Masses
m at losses l, and a mass at infinity, stand for

    F(a) = sum m (1 - a e^-l)_+ + mass at infinity,

which grows with every mass and every loss. They are above a pair if F >= H everywhere, below if
F <= H.

Composition. If the losses F are above a pair (P, Q), and G above each pair (P_y, Q_y), then their
convolution is above the pair of (y, z), y of P or Q and z of P_y or Q_y: its H is the integral of
H_y(a e^-loss(y)) over P, at most that of G(a e^-loss(y)), which is the sum over the masses n of G
at l of n H(a e^-l), at most the sum of n F(a e^-l). So it does not matter that what is run depends
on what came before. For pairs that are independent the same holds from below.

Source: Sommer, Meiser, Mohammadi, Privacy loss classes, 2019; Zhu, Dong, Wang 2022, theorem 10.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from flint import arb, fmpz_poly

from dipapprox.kernel.balls import lower_at, precision, to_ball, upper_at
from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import BadProof, Refuted
from dipapprox.kernel.reading import as_integer, as_list, as_number


@dataclass(frozen=True, slots=True)
class Losses:
    """masses[k] * 2^-places at the loss (start + k) * step + offset, infinite * 2^-places beyond.

    Attributes:
        step: > 0.
        above: Whether they are above what they are said to bound; else below.
    """

    step: Fraction
    offset: Fraction
    start: int
    masses: tuple[int, ...]
    infinite: int
    places: int
    above: bool

    def __str__(self) -> str:
        side = "above" if self.above else "below"
        return f"{side} by {len(self.masses)} losses, {self.step} apart"

    def composed(self, other: Losses, cut: tuple[int, int]) -> Losses:
        """Convolve; at the ends, masses may be cut off that add up to so many units.

        From above the lowest losses are raised, the highest ones to infinity; from below they are
        left out. Masses are rounded on the same side.
        """
        if (self.step, self.places, self.above) != (other.step, other.places, other.above):
            raise BadProof("losses on two grids, or on two sides")
        spend(10 + (len(self.masses) + len(other.masses)) * (8 + self.places // 2))
        finite, others = sum(self.masses), sum(other.masses)
        total = others + other.infinite
        infinite = self.infinite * total + finite * other.infinite
        up = (1 << self.places) - 1 if self.above else 0
        product = _convolved(self.masses, other.masses)
        masses = [(k, mass + up >> self.places) for k, mass in product]
        infinite = infinite + up >> self.places
        low, high, lost, gone = 0, len(masses), 0, 0
        while low < high - 1 and lost + masses[low][1] <= cut[0]:
            lost += masses[low][1]
            low += 1
        while low < high - 1 and gone + masses[high - 1][1] <= cut[1]:
            high -= 1
            gone += masses[high][1]
        masses = masses[low:high] or [(0, 0)]
        found, first = dict(masses), masses[0][0]
        kept = [found.get(k, 0) for k in range(first, masses[-1][0] + 1)]
        if self.above:
            infinite += gone
            kept[0] += lost
        start, offset = self.start + other.start + first, self.offset + other.offset
        return Losses(self.step, offset, start, tuple(kept), infinite, self.places, self.above)

    def delta(self, eps_prv: Fraction) -> Fraction:
        """Bound F(e^eps_prv), and so H, on their side."""
        spend(4 * len(self.masses))
        # The first loss above eps_prv.
        first = (eps_prv - self.offset) // self.step + 1 - self.start
        with precision(self.places + 64):
            found, ratio = arb(0), to_ball(-self.step).exp()
            kept = self.masses[max(int(first), 0) :]
            for mass in reversed(kept):
                found = found * ratio + mass
            least = self.offset + self.step * (self.start + len(self.masses) - len(kept))
            found = sum(kept) - found * to_ball(eps_prv - least).exp() + self.infinite
            whole = (upper_at if self.above else lower_at)(found, 0)
            # H is at most 1.
            return min(Fraction(whole, 1 << self.places), Fraction(1))


def _convolved(ours: Sequence[int], theirs: Sequence[int]) -> Iterable[tuple[int, int]]:
    """Yield the masses of a convolution that are not 0, each with its place, ascending."""
    few, others = ([(k, m) for k, m in enumerate(masses) if m] for masses in (ours, theirs))
    if len(few) * len(others) > len(ours) + len(theirs):
        product = fmpz_poly(list(ours)) * fmpz_poly(list(theirs))
        return ((k, int(mass)) for k, mass in enumerate(product.coeffs()) if mass)
    found = Counter[int]()
    for k, mass in few:
        for place, times in others:
            found[k + place] += mass * times
    return sorted(found.items())


class Grid:
    """What a step says of where losses lie: at the losses k * step + offset, for all knots k.

    Step: "step", "offset", "places" of the masses; "knots": [first, last, stride], ascending.
    """

    def __init__(self, step: Mapping[str, Any]) -> None:
        self.step, self.offset = (as_number(step[name], name) for name in ("step", "offset"))
        self.places = as_integer(step["places"], "places")
        long = max(self.step.denominator, self.offset.denominator) >> 256
        if self.step <= 0 or not 1 <= self.places <= 2000 or long:
            raise BadProof("no such grid of losses")
        # What is lost to differences at neighbouring losses does not matter.
        self.bits = self.places + 3 * self.step.denominator.bit_length() + 64
        self.knots: list[int] = []
        for each in as_list(step["knots"], "knots"):
            first, last, stride = (as_integer(n, "a knot") for n in as_list(each, "knots", 3))
            if stride < 1:
                raise BadProof("knots do not ascend")
            # For each, numbers of so many bits are kept, and exponentials taken.
            spend((30 + self.bits) * max((last - first) // stride + 1, 0))
            self.knots += range(first, last + 1, stride)
        if not self.knots or any(a >= b for a, b in pairwise(self.knots)):
            raise BadProof("knots do not ascend, or there are none")

    def above(self, most: Callable[[Fraction], arb]) -> Losses:
        """Return losses above every H that is at most `most` at the knots.

        Theorem: F with F(0) = 1 that passes through the points (a, bound), a = e^loss, goes on
        straight between them and is constant beyond the last one, is above H <= 1, which is convex
        and does not increase.
        """
        values = []
        for k in self.knots:
            values.append(most(k * self.step + self.offset).upper().max(arb(0)))
        return self._through(values, True)

    def below(
        self, line: Callable[[Fraction], tuple[arb, arb]], infinite: arb, lean: Fraction
    ) -> Losses:
        """Return losses below a pair (P, Q), of whose H some lines are known.

        Theorem: for any set S, H >= P(S) - a Q(S). F as in `above` is below H if, at both ends of
        each of its straight pieces, it is at most one such line: that of everything up to the first
        knot, that of a set where Q has no mass beyond the last one.

        Args:
            line: (P(S), Q(S)), for some set that is about best at a loss.
            infinite: P(S) of a set with Q(S) = 0.
            lean: Where between two knots that is asked, 0 to 1.
        """
        end = infinite, arb(0)
        factors = [to_ball(k * self.step + self.offset).exp() for k in self.knots]
        lines = [(arb(1), arb(1))]
        for (left, right), factor in zip(pairwise(self.knots), factors[1:], strict=True):
            p, q = line((left + lean * (right - left)) * self.step + self.offset)
            # Any line will do; this one does not fall below the last.
            lines.append((p, q) if p - factor * q > infinite else end)
        # Beyond the knots that are left F is constant, too.
        while len(lines) > 1 and lines[-1] is end:
            lines.pop()
        pieces = zip(factors, pairwise([*lines, end]), strict=False)
        return self._through([(p - a * q).min(r - a * t).lower() for a, ((p, q), (r, t)) in pieces])

    def _through(self, values: Sequence[arb], above: bool = False) -> Losses:
        """Return losses of F, or on one side of it; the values are those at the first knots.

        F has the masses a (s' - s), where s is its slope before a and s' that after it. From above
        a mass below 0 counts as 0; from below greater losses pay it: (1 - x / a)_+ grows with a.
        """
        knots = self.knots[: len(values)]
        first, last = knots[0], knots[-1]
        spend(4 * (last - first))
        factors = [to_ball(k * self.step + self.offset).exp() for k in knots]
        points = [(arb(0), arb(1)), *zip(factors, values, strict=True)]
        slopes = [(v - u) / (b - a) for (a, u), (b, v) in pairwise(points)] + [arb(0)]
        masses, debt = [0] * (last - first + 1), 0
        rounded = upper_at if above else lower_at
        for k, factor, (slope, after) in zip(knots, factors, pairwise(slopes), strict=True):
            mass = rounded(factor * (after - slope), self.places) - debt
            masses[k - first], debt = max(mass, 0), 0 if above else max(-mass, 0)
        infinite = rounded(values[-1], self.places) - debt
        if infinite < 0:
            raise Refuted("the greatest losses do not pay what is owed")
        whole = tuple(masses), infinite, self.places, above
        return Losses(self.step, self.offset, first, *whole)
