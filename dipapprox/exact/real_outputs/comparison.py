"""Two measures of published numbers in, whether one exceeds a multiple of the other: exactly.

For noise of Laplace type densities are piecewise exponential polynomials in the published number,
exact at a rational eps (`laplace.algebra`); so is f - growth · g, growth = c e^r. Pure privacy asks
whether it is positive anywhere. Half-lines on which it is identically 0, as for the Laplace
mechanism at its own budget, have no coefficients left (`line_signs`).

Several independent numbers. Π f_k <= growth · Π g_k almost everywhere exactly if the product of the
least factors c_k with f_k <= c_k g_k is at most growth. A least factor is looked for among the
quotients of pieces that are proportional, and those far out, and is one if f_k <= c_k g_k is
decided. Others, and all that has no closed form (`quotients`, `at_ends`), are bracketed by
rational numbers, until their product is told from growth. Events that all paths of one number need
are a factor, too, with a quotient of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from math import inf
from operator import and_

from dipapprox.arithmetic.enclosure import Missing, NotEnclosed, enclosing, sure
from dipapprox.cache import Cache
from dipapprox.errors import LimitReached
from dipapprox.events.canonical import canonical
from dipapprox.events.event import Connected, Part
from dipapprox.exact.laplace import algebra
from dipapprox.exact.laplace.algebra import ExactAlgebra, Function, Piece, TooManyTerms, Units
from dipapprox.exact.methods import EventForms, ratio_sum
from dipapprox.exact.real_outputs.at_ends import Bracket, CutSum, Masses, moved_sum
from dipapprox.exact.real_outputs.line_signs import Coefficients, added, is_positive_somewhere
from dipapprox.exact.real_outputs.quotients import EnclosedQuotient
from dipapprox.exact.signs.values import sign_at
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.limits import at_most, check_limits
from dipapprox.numerics.algebras.piecewise import union
from dipapprox.numerics.elimination.plan import Evaluation, FunctionTable
from dipapprox.numerics.methods import is_laplace_type
from dipapprox.numerics.real_outputs.coordinates import (
    DensityPlan,
    Line,
    Mixed,
    density_plans,
    factored,
    simplified,
)

_ONE = Fraction(1)
_UNIT = ExponentialRatio.constant(1)
_MOST_HALVINGS = 256  # of all brackets together: some hundred bits
_LARGEST = Fraction(2**64)  # of quotients that are bracketed
_REMEMBERED = 1_000
_PIECES = 2_000  # most pieces of an event: seconds. Enclosures are the other way


class ExactComparison:
    """Compares measures of published numbers at one eps, those without closed forms by `masses`."""

    def __init__(self, masses: Masses) -> None:
        self._masses = masses
        self._quotients: Cache[tuple[Line, Line], ExponentialRatio | _Bracket] = Cache(_REMEMBERED)
        self._forms = EventForms()

    @enclosing
    def exceeds(
        self, first: Sequence[Part], second: Sequence[Part], growth: ExponentialPolynomial
    ) -> bool:
        """Decide whether first(S) > growth · second(S) for some set S; or why there is no answer.

        Args:
            first: Parts of one outcome at one input; their measures, of positive mass, add up.
            second: The same at another input.
            growth: Its value at 1 is the factor, > 0: see `Growth.at_one`.
        """
        if not first:
            return False
        if not second:
            return True
        try:
            return self._exceeds(first, second, ExponentialRatio(growth.at(_ONE)))
        except TooManyTerms:
            raise Missing(
                NotEnclosed("integration-budget: a product of functions has too many terms")
            ) from None
        except LimitReached as reached:
            check_limits()
            raise Missing(NotEnclosed(reached.reason)) from reached

    def _exceeds(
        self, first: Sequence[Part], second: Sequence[Part], growth: ExponentialRatio
    ) -> bool:
        pairs = _lines(first, second)
        if len(pairs) == 1:
            with suppress(Missing):  # then its quotient is enclosed
                first, second = pairs[0]
                if first[0].marginals:
                    alone = _Densities(first, second, self._forms)
                    return alone.exceeds(growth)
                chances = [
                    ratio_sum([_weight(each.events, self._forms) for each in side])
                    for side in (first, second)
                ]
                return sign_at(chances[0] - chances[1] * growth, _ONE) > 0
        least = _UNIT
        brackets: list[_Bracket] = []
        for pair in pairs:
            own = self._quotient(*pair)
            if own is None:
                return True
            if isinstance(own, ExponentialRatio):
                least = least * own
            else:
                brackets.append(own)
        for _ in range(_MOST_HALVINGS):
            low = _number(each.low for each in brackets)
            if low is not None and sign_at(least * low - growth, _ONE) > 0:
                return True
            high = _number(each.high for each in brackets)
            if high is not None and sign_at(least * high - growth, _ONE) <= 0:
                return False
            # What is infinite is divided by nothing, which would be a float.
            max(brackets, key=lambda b: b.high if b.high == inf else b.high / b.low).halve()
        raise Missing(NotEnclosed("a product of quotients of densities is next to e^ε_prv"))

    def is_unbounded(self, first: Sequence[Part], second: Sequence[Part]) -> bool:
        """Whether first(S) > growth · second(S) for some S is shown for every growth; see
        `exceeds`. What is impossible is left to enclosures: these have a set that shows it."""
        if not first or not second:
            return False
        try:
            return any(self._quotient(*pair) is None for pair in _lines(first, second))
        except LimitReached:
            check_limits()
            return False
        except (Missing, TooManyTerms):
            return False

    def _quotient(self, first: Line, second: Line) -> ExponentialRatio | _Bracket | None:
        """The least c with first <= c second, remembered; None if there is none."""
        found = self._quotients.get((first, second)) or self._found(first, second)
        return None if found is None else self._quotients.put((first, second), found)

    def _found(self, first: Line, second: Line) -> ExponentialRatio | _Bracket | None:
        try:
            if not first[0].marginals:
                raise Missing(NotEnclosed("no densities"))
            densities = _Densities(first, second, self._forms)
        except Missing:
            moved = moved_sum(first, second)
            if isinstance(moved, CutSum):
                return moved.quotient(first, second, self._masses)
            if moved is not None and moved.end is None:
                return moved.supremum
            if moved is not None and len(moved.laws) > 1:
                return moved.at_end(self._masses)
            found = EnclosedQuotient(first, second, self._masses)
            return None if found.is_infinite else found
        candidates = densities.quotients()
        if candidates is None:
            return None
        # The largest is the quotient somewhere, or far out, so no less factor will do.
        if candidates:
            greatest = candidates[0]
            for each in candidates[1:]:
                if sign_at(each - greatest, _ONE) > 0:
                    greatest = each
            if not densities.exceeds(greatest):
                return greatest
        return _BracketedQuotient(densities)


def _lines(first: Sequence[Part], second: Sequence[Part]) -> list[tuple[Line, Line]]:
    """Write two measures as products of measures of one number, or none."""
    pairs = [(tuple(first), tuple(second))]
    if len(first[0].marginals) > 1:
        factors = factored(first, second)
        if isinstance(factors, Mixed):
            raise Missing(NotEnclosed(factors.reason))
        pairs = [(one, two) for _, one, two in factors.pairs]
    return [own for pair in pairs for own in _separated(*pair)]


def _separated(first: Line, second: Line) -> list[tuple[Line, Line]]:
    """Take out the events that all parts of a side have: what is left may be the same for both."""
    counted = [[Counter(part.events) for part in side] for side in (first, second)]
    shared = [reduce(and_, side) for side in counted]
    lines, chances = [], [(Part(tuple(own.elements()), ()),) for own in shared]
    for side, events, own in zip((first, second), counted, shared, strict=True):
        left = [tuple((each - own).elements()) for each in events]
        lines.append(tuple(map(Part, left, [part.marginals for part in side])))
    differ = Counter(lines[0]) != Counter(lines[1])
    found = [(lines[0], lines[1])] if differ else []
    found += [(chances[0], chances[1])] if shared[0] != shared[1] else []
    return found or [(first, second)]


def _number(factors: Iterable[Fraction | float]) -> ExponentialRatio | None:
    """Multiply numbers; None if one is infinite."""
    found = _ONE
    for each in factors:
        if not isinstance(each, Fraction):
            return None
        found *= each
    return ExponentialRatio.constant(found)


class _BracketedQuotient:
    """The least c with first <= c second: more than `low`, at most `high`, both rational."""

    def __init__(self, densities: _Densities) -> None:
        self._densities = densities
        self.low, self.high = _ONE / 2, _ONE
        while self._exceeds(self.high):
            if self.high > _LARGEST:
                raise Missing(NotEnclosed("a quotient of two densities is large"))
            self.low, self.high = self.high, 2 * self.high
        while not self._exceeds(self.low):
            if self.low < 1 / _LARGEST:
                raise Missing(NotEnclosed("a quotient of two densities is small"))
            self.low, self.high = self.low / 2, self.low

    def halve(self) -> None:
        middle = (self.low + self.high) / 2
        if self._exceeds(middle):
            self.low = middle
        else:
            self.high = middle

    def _exceeds(self, factor: Fraction) -> bool:
        return self._densities.exceeds(ExponentialRatio.constant(factor))


_Bracket = _BracketedQuotient | EnclosedQuotient | Bracket


class _Densities:
    """Two densities on the line: coefficients between common marks, one more than these."""

    @at_most(pieces=_PIECES)
    def __init__(self, first: Line, second: Line, forms: EventForms) -> None:
        self._forms = forms
        table = FunctionTable()
        sides = [self._planned(line, table) for line in (first, second)]
        plans = [plan for side in sides for _, plan in side]
        laws = frozenset().union(*(plan.required.laws for plan in plans))
        points = frozenset().union(*(plan.required.points for plan in plans))
        units = Units.of(laws, points)
        samples = max((plan.required.samples for plan in plans), default=0)
        if not units.fit(laws, samples):
            raise Missing(NotEnclosed("no units fit its scales and means"))
        functions = Evaluation(ExactAlgebra(units), table)
        found = [
            (weight * ExponentialRatio.constant(c), function)
            for side in sides
            for (weight, plan), own in zip(
                side, functions.products([plan.terms for _, plan in side]), strict=True
            )
            for c, function in own
        ]
        counts = [sum(len(plan.terms) for _, plan in side) for side in sides]
        marks: tuple[int, ...] = ()
        for _, function in found:
            marks = union(marks, function.marks)
        eta = Fraction(1, units.step)
        self.marks = tuple(mark * eta for mark in marks)
        self.first = _added(found[: counts[0]], marks, eta)
        self.second = _added(found[counts[0] :], marks, eta)

    def _planned(
        self, line: Line, table: FunctionTable
    ) -> list[tuple[ExponentialRatio, DensityPlan]]:
        found = []
        for part in line:
            (marginal,) = part.marginals
            separate = simplified(marginal)
            if separate is None:
                continue
            others, own = separate
            if not is_laplace_type(own.event):
                raise Missing(NotEnclosed("outside-fragment: not all noise is of Laplace type"))
            events = (*part.events, *map(canonical, others))
            weight = _weight(events, self._forms)
            for c, plan in sure(density_plans(own, 0, table)):
                found.append((weight * ExponentialRatio.constant(c), plan))
        return found

    def exceeds(self, growth: ExponentialRatio) -> bool:
        where = pairwise([None, *self.marks, None])
        for interval, own, other in zip(where, self.first, self.second, strict=True):
            check_limits()
            less = ((key, -c * growth) for key, c in other.items())
            if is_positive_somewhere(added((*own.items(), *less)), interval):
                return True
        return False

    def quotients(self) -> list[ExponentialRatio] | None:
        """Quotients that are attained on a piece, or approached far out; None if one is infinite.

        On a piece with one term each the quotient is that of the coefficients; towards an infinite
        end it tends to that of the terms that fall slowest, if these are alike.
        """
        found = []
        last = len(self.first) - 1
        for k, (own, other) in enumerate(zip(self.first, self.second, strict=True)):
            if own and not other:
                return None
            alone = len(own) == len(other) == 1
            if own and other and (alone or k in (0, last)):
                side = -1 if k == 0 else 1
                key, its = (max(each, key=lambda t: (side * t[0], t[1])) for each in (own, other))
                c, d = own[key], other[its]
                sign = side ** key[1]  # of the power of the number
                if key == its and all(sign_at(x, _ONE) == sign for x in (c, d)):
                    found.append(c * d.inverse())
        return found


@at_most(pieces=_PIECES)
def _weight(events: Sequence[Connected], forms: EventForms) -> ExponentialRatio:
    weight = _UNIT
    for event in events:
        weight = weight * sure(forms.closed_form_of(event)).at(_ONE)
    return weight


def _added(
    terms: Sequence[tuple[ExponentialRatio, Function]], marks: tuple[int, ...], eta: Fraction
) -> list[Coefficients]:
    totals: list[list[tuple[tuple[int, int], ExponentialRatio]]] = [[] for _ in (*marks, None)]
    for weight, function in terms:
        for total, (piece, _, _) in zip(totals, function.on(marks), strict=True):
            total += ((key, weight * c) for key, c in _coefficients(piece, eta).items())
    return [added(total) for total in totals]


def _coefficients(piece: Piece, eta: Fraction) -> dict[tuple[int, int], ExponentialRatio]:
    """The coefficients of u^m e^(bu) at one η."""
    sums: dict[tuple[int, int], dict[tuple[int, Fraction], Fraction]] = {}
    for packed, c in piece.items():
        q, b, n, m = algebra.exponents(packed)
        own = sums.setdefault((b, m), {})
        exponent = 0, q * eta
        own[exponent] = own.get(exponent, Fraction(0)) + Fraction(int(c.p), int(c.q)) * eta**n
    return {key: ExponentialRatio(ExponentialPolynomial.of(terms)) for key, terms in sums.items()}
