"""Rényi moments of what programs publish: ∫ f^a g^(1-a), orders a > 1; ∫ f ln(f/g) for a = 1.

In: two sums of parts, with any number of published numbers, as for `product_measures`. Out: bounds.

Products. With f = w ⊗ f_k and g = v ⊗ g_k, F_k the masses of the f_k, and F their product,

    moment  =  w^a v^(1-a) Π moment_k,      a = 1:  w (F ln(w/v) + Σ_k moment_k F / F_k).

Closed forms. Shifted Gaussian noise, m deviations: e^(a (a-1) m²/2), or m²/2 for a = 1. Shifted
Laplace noise, t scales: (a e^((a-1) t) + (a-1) e^(-a t)) / (2a-1), or t + e^-t - 1 (Mironov 2017).

Cells. On a cell with masses p, q and ratios in [A, B], with φ(r) = r^a or r ln r, which is convex,

    q φ(p/q)  <=  ∫ g φ(f/g)  <=  q φ(A) + (p - A q) φ'(B):

Jensen's inequality on the left; on the right φ(r) <= φ(A) + (r - A) φ'(B) for A <= r <= B. Where
all that is known is f <= B g, it is at most p φ(B) / B.

What cells lack. They are of f' <= f and g' <= g, lacking λ and μ.

From below a cell has some P in [p, p + λ] under f, and Q in [q, q + μ] under g. For a > 1 the term
P^a Q^(1-a) grows with P and falls with Q, and off the cells nothing is negative: P = p, Q = q + μ
and 0 are least. For a = 1 the term P ln(P / Q) falls with Q, too, but in P it falls up to Q / e and
grows from there: it is least where P in [p, p + λ] is closest to Q / e, Q = q + μ. Off the cells
f' = g' = 0, so that g has at most μ there, and P ln(P / Q) >= -Q / e >= -μ / e for any P.

From above only where f <= e^K g is known everywhere: then, with f'' = f - f' and
any θ in (0, 1), as f = (1-θ) f'/(1-θ) + θ f''/θ and the moment is convex in f and falls with g,

    moment(f, g)  <=  (1-θ)^(1-a) moment(f', g') + θ^(1-a) λ e^(K (a-1)),
    a = 1:            moment(f', g') - F' ln(1-θ) + λ (K + ln(1/θ)).

If the product is at most e^K times the other, f_k <= e^K (v/w) Π_{j≠k} (G_j / F_j) g_k, since the
largest ratio of a pair is at least the ratio of its masses.

Where one-sided noise cannot come, g is 0: the moment is infinite if f has mass there.

Source: Mironov, Rényi differential privacy, 2017.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil, prod

from flint import arb

from dipapprox.arithmetic.enclosure import Enclosure, Missing, NotEnclosed, enclosing, sure
from dipapprox.arithmetic.precision import precision, to_ball, to_enclosure
from dipapprox.composition.product_measures import TOO_SMALL, ProductMeasures, without_events
from dipapprox.composition.shifted_noise import shifted_noise
from dipapprox.data_classes import Record
from dipapprox.events.event import Interval, Part
from dipapprox.events.reduce import range_of
from dipapprox.limits import check_limits
from dipapprox.numerics.real_outputs.coordinates import Line, Mixed, factored
from dipapprox.numerics.real_outputs.panel_polynomials import Cells

_WORKING = 128
_ACCURATE = 60
_SPREAD = 1 / 512
_NEGLIGIBLE = 2.0**-60
_SHARE = 40  # θ is 2**-40
_MOST_KEPT = 800  # grids keep all but 2**-800 of a law at most


class Moment(Record):
    """Bounds of a moment."""

    lower: Fraction
    upper: Fraction | None  # at least it; None if no bound is known
    infinite: bool = False


_UNKNOWN = arb("inf")  # what bounds a moment from above where nothing does


class _Bounds(Record, eq=False):
    """The same in balls, of which the lower and the upper ends count."""

    lower: arb
    upper: arb
    infinite: bool = False


class Moments(Record, eq=False):
    """Moments of one order."""

    measures: ProductMeasures  # divergences of the same measures, which know their masses
    order: Fraction  # a >= 1

    @enclosing
    def of(self, first: Sequence[Part], second: Sequence[Part], budget: Fraction | None) -> Moment:
        """Bound the moment of two measures.

        Args:
            first: Parts of one outcome at one input; their measures add up.
            second: The same at another input.
            budget: K: no set has more than e^K times its second measure; None if none is known.
        """
        with precision(_WORKING):
            found = self._bounded(first, second, budget)
            lower, upper = map(to_enclosure, (found.lower, found.upper))
        # Measures of mass at most 1: for a = 1 the moment is at least -Q / e.
        least = Fraction(-1 if self.order == 1 else 0)
        return Moment(
            least if isinstance(lower, NotEnclosed) else lower.lower,
            None if isinstance(upper, NotEnclosed) else upper.upper,
            found.infinite,
        )

    def _bounded(
        self, first: Sequence[Part], second: Sequence[Part], budget: Fraction | None
    ) -> _Bounds:
        if not first:
            return _Bounds(arb(0), arb(0))
        own, other = (sure(self.measures.masses.of(side, _ACCURATE)) for side in (first, second))
        if not other.upper:
            return _Bounds(arb(0), _UNKNOWN, infinite=own.lower > 0)
        if not first[0].marginals:
            return self._of_masses(to_ball(own), to_ball(other))
        factors = factored(first, second)
        if isinstance(factors, Mixed):
            raise Missing(NotEnclosed(factors.reason))
        stripped, events = without_events(factors)
        masses = self.measures.masses
        w, v = (to_ball(sure(masses.product(each, _ACCURATE))) for each in events)
        common = to_ball(sure(self.measures.mass(factors.common, _ACCURATE)))
        sizes = [
            [to_ball(sure(masses.of(side, _ACCURATE))) for side in sides]
            for _, *sides in stripped.pairs
        ]
        if not (w > 0 and v > 0 and all(f > 0 and g > 0 for f, g in sizes)):
            raise Missing(TOO_SMALL)
        if not stripped.pairs:
            whole = common if self.order > 1 else arb(0)
            return _Bounds(whole, whole)
        found: list[_Bounds] = []
        for k, (_, one, two) in enumerate(stripped.pairs):
            most = None
            if budget is not None:
                most = to_ball(budget).exp() * v / w
                for j, (f, g) in enumerate(sizes):
                    most *= g / f if j != k else 1
            found.append(self._of_lines(one, two, most))
        return self._product(found, [f for f, _ in sizes], w, v, common)

    def _of_masses(self, p: arb, q: arb) -> _Bounds:
        if not (p > 0 and q > 0):
            return _Bounds(arb(0) if self.order > 1 else -q.upper(), _UNKNOWN)
        value = self._phi(p / q) * q
        return _Bounds(value, value)

    def _product(
        self, found: Sequence[_Bounds], masses: Sequence[arb], w: arb, v: arb, common: arb
    ) -> _Bounds:
        # All masses are positive.
        infinite = common > 0 and any(each.infinite for each in found)
        if self.order > 1:
            lower = upper = common * w ** to_ball(self.order) * v ** to_ball(1 - self.order)
            for each in found:
                lower, upper = lower * each.lower, upper * each.upper
            return _Bounds(lower, upper, infinite)
        whole = prod(masses, start=arb(1))
        lower = upper = whole * (w / v).log()
        for each, mass in zip(found, masses, strict=True):
            lower += each.lower * whole / mass
            upper += whole / mass * each.upper
        return _Bounds(common * w * lower, common * w * upper, infinite)

    def _of_lines(self, first: Line, second: Line, most: arb | None) -> _Bounds:
        a, shift = to_ball(self.order), shifted_noise(first, second)
        if shift is not None:
            value = to_ball(shift.renyi(self.order, _WORKING))
            if self.order > 1:
                value = ((a - 1) * value).exp()
            return _Bounds(value, value)
        if self._has_more(first, second):
            return _Bounds(arb(0) if self.order > 1 else arb(-1), _UNKNOWN, infinite=True)
        kept = _ACCURATE
        if most is not None:
            growth = float(abs(most.upper().log())) * 1.45 + _SHARE
            kept = min(_ACCURATE + ceil(growth * float(self.order - 1)), _MOST_KEPT)
        line = self.measures.line
        found = sure(line.discretised(first, second, kept, _SPREAD, _NEGLIGIBLE))
        if any(found.errors):
            raise Missing(NotEnclosed("the scale of a sum of Gaussian noise is rounded"))
        lower, upper = self._of_cells(found.cells, found.lost, most)
        if most is not None:
            lost, share = to_ball(found.lost[0]), arb(2) ** -_SHARE
            if self.order > 1:
                upper *= (1 - share) ** (1 - a)
                upper += share ** (1 - a) * lost * most ** (a - 1)
            else:
                upper += -(1 - share).log() + lost * (abs(most.log()) - share.log())
        return _Bounds(lower, upper)

    def _has_more(self, first: Line, second: Line) -> bool:
        """Whether the first measure certainly has mass beyond the range of the second."""
        marginals = [part.marginals[0] for part in second]
        ranges = [range_of(each.form, each.event.samples) for each in marginals]
        lows = [low for low, _ in ranges if low is not None]
        highs = [high for _, high in ranges if high is not None]
        beyond: list[Interval] = []
        if len(lows) == len(ranges):
            beyond.append((None, min(lows)))
        if len(highs) == len(ranges):
            beyond.append((max(highs), None))
        if not beyond:
            return False
        mass = self.measures.masses.of(first, _ACCURATE, {0: beyond})
        return isinstance(mass, Enclosure) and mass.lower > 0

    def _of_cells(
        self, cells: Cells, lost: tuple[Fraction, Fraction], most: arb | None
    ) -> tuple[arb, arb]:
        """Bound the moment from below; from above, if ratios have a bound, that of the cells."""
        own, other = (to_ball(each).upper() for each in lost)
        below = -other / arb(1).exp() if self.order == 1 else arb(0)
        above = arb(0) if most is not None else _UNKNOWN
        for place, (p, q, low, high) in enumerate(_numbers(cells)):
            if not place % 256:
                check_limits()
            below += self._at_least(p, (q.upper() + other).upper(), own)
            if most is None:
                continue
            if not high.is_finite() or not high <= most:
                # Of g' nothing is known here, but f' <= f <= most g.
                rate = most.log() if self.order == 1 else most ** to_ball(self.order - 1)
                bound = p * rate
            else:
                slope = high.log() + 1
                if self.order > 1:
                    slope = to_ball(self.order) * high ** to_ball(self.order - 1)
                bound = q * self._phi(low) + (p - low * q) * slope
            above += bound.upper()
        return below, above

    def _at_least(self, p: arb, q: arb, lost: arb) -> arb:
        """A cell's term from below, for P from p to p + lost and Q = q, a number."""
        least = p.lower()
        if not least > 0:
            least = arb(0)
        if self.order > 1:
            return (self._phi(least / q) * q).lower() if least > 0 else arb(0)
        turn, most = q / arb(1).exp(), p.upper() + lost
        if least > 0 and least >= turn:
            return (self._phi(least / q) * q).lower()
        if most > 0 and most <= turn:
            return (self._phi(most / q) * q).lower()
        return (-turn).lower()  # the least for any P

    def _phi(self, ratio: arb) -> arb:
        if ratio.is_zero():
            return arb(0)
        return ratio ** to_ball(self.order) if self.order > 1 else ratio * ratio.log()


def _numbers(cells: Cells) -> Iterator[tuple[arb, arb, arb, arb]]:
    """Masses as balls, and bounds of ratios."""
    columns = (*cells.first, *cells.second, cells.least, cells.most)
    for p, p_most, q, q_most, low, high in zip(*(each.tolist() for each in columns), strict=True):
        yield arb(p).union(arb(p_most)), arb(q).union(arb(q_most)), arb(low), arb(high)
