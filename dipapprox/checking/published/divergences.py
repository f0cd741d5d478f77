"""The divergence of what two inputs publish, by the check's own route: summed over outcomes.

    no number                          max(0, p - α q)
    one number, any number of paths    ∫ max(0, f - α g) (`hockey_sticks`)
    several, one path each             those whose law is the same for both inputs drop out
    Gaussian ones without lines        in closed form (`gaussian_vectors`)

Where the price of moving noise (`couplings`) is at most the budget, nothing is left.

At any factor, below 1 too, `best_set` adds up one set of each outcome.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from dipapprox.checking.distributions import DistributionBounds, Distributions, NoBounds
from dipapprox.checking.factor import factor_of
from dipapprox.checking.facts import Line
from dipapprox.checking.pairs import Pair
from dipapprox.checking.published.couplings import pure_budget
from dipapprox.checking.published.densities import Densities1D
from dipapprox.checking.published.gaussian_vectors import (
    gaussian_set,
    gaussian_stick,
    square_of_shift,
)
from dipapprox.checking.published.hockey_sticks import (
    HockeyStick,
    Interval,
    OnPanels,
    Weighted,
    hockey_stick,
)
from dipapprox.checking.published.outcomes import (
    Endings,
    Marginal,
    Outcome,
    Part,
    Parts,
    Untangled,
    outcomes,
    untangled,
)
from dipapprox.data_classes import dataclass
from dipapprox.language.core import Input, Program
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import UNIT, Enclosure
from dipapprox.numerics.precision import precision, to_ball, to_enclosure

_ZERO = Fraction(0)
_NOTHING = Enclosure.exact(0)

_FACTOR_BITS = 200

EVERYWHERE: tuple[Interval, ...] = ((None, None),)


@dataclass(frozen=True, slots=True)
class Asked:
    """Intervals of one real output, by its place among them; the others may be any number."""

    place: int
    intervals: tuple[Interval, ...]


class Divergences:
    """Divergences between inputs of a program with real outputs, at one eps.

    Args:
        derived: Of the program: knows what publishes nothing.
        limits: Asked throughout.
    """

    def __init__(self, derived: Distributions, limits: Limits) -> None:
        self._derived = derived
        self._limits = limits
        self._densities = Densities1D(limits)
        self._outcomes: dict[Input, Mapping[Outcome, Endings]] = {}
        self._bounds: dict[int, DistributionBounds] = {}
        self._known: dict[object, HockeyStick] = {}
        self._budgets: dict[Pair, Fraction | None] = {}
        self._separated: dict[tuple[Endings, Endings], Untangled | None] = {}
        self._panels: dict[object, OnPanels] = {}

    @property
    def program(self) -> Program:
        """What publishes."""
        return self._derived.program

    def outcomes(self, input: Input) -> Mapping[Outcome, Endings]:
        """Return what an input leads to.

        Raises:
            Stuck, LimitReached: See `outcomes.outcomes`.
        """
        if input not in self._outcomes:
            program, eps = self._derived.program, self._derived.eps
            self._outcomes[input] = outcomes(program, eps, input, self._limits)
        return self._outcomes[input]

    def budget(self, pair: Pair) -> Fraction | None:
        """Return a budget at which nothing is left, if moving noise shows one."""
        if pair not in self._budgets:
            first, second = map(self.outcomes, pair)
            self._budgets[pair] = pure_budget(first, second, self._limits)
        return self._budgets[pair]

    def delta(self, pair: Pair, eps_prv: Fraction, bits: int) -> Enclosure:
        """Enclose the least δ of an ordered pair.

        Raises:
            NoBounds: If an outcome is beyond the check's rules.
            Stuck, LimitReached: If the program cannot be followed, or the limits run out.
        """
        budget = self.budget(pair)
        if budget is not None and budget <= eps_prv:
            return _NOTHING
        lower = upper = _ZERO
        own = bits + len(self.outcomes(pair[0])).bit_length()
        for outcome in self.outcomes(pair[0]):
            found = self._term(pair, outcome, eps_prv, None, own).value
            lower, upper = lower + found.lower, upper + found.upper
        return Enclosure(min(lower, Fraction(1)), min(upper, Fraction(1)))

    def masses(
        self, pair: Pair, outcome: Outcome, eps_prv: Fraction, asked: Asked | None, bits: int
    ) -> tuple[Enclosure, Enclosure]:
        """Enclose both probabilities of an outcome, one of its numbers in some intervals.

        Raises:
            NoBounds: If the outcome is beyond the check's rules.
            Stuck, LimitReached: If the program cannot be followed, or the limits run out.
        """
        found = self._term(pair, outcome, eps_prv, asked, bits)
        return found.first.intersect(UNIT), found.second.intersect(UNIT)

    def best_set(self, pair: Pair, growth: Enclosure, bits: int) -> HockeyStick:
        """Enclose sup over sets S of first(S) - growth second(S), and both masses of one S that
        nearly attains it.

        Args:
            pair: Of inputs, in this order.
            growth: The factor, > 0.
            bits: Wanted accuracy: 2**-bits; what comes back is proved even if it is not reached.

        Raises:
            NoBounds: If an outcome is beyond the check's rules.
            Stuck, LimitReached: If the program cannot be followed, or the limits run out.
        """
        one = Enclosure.exact(1)
        if self._is_pure(pair, growth):
            return HockeyStick(_NOTHING, _NOTHING, _NOTHING)
        if self._is_pure((pair[1], pair[0]), Enclosure(1 / growth.upper, 1 / growth.lower)):
            return HockeyStick(Enclosure(1 - growth.upper, 1 - growth.lower), one, one)
        first, second = map(self.outcomes, pair)
        own = bits + len(first).bit_length()
        total = HockeyStick(_NOTHING, _NOTHING, _NOTHING)
        for outcome, endings in first.items():
            found = self._best(endings, second.get(outcome, ()), growth, own)
            total = HockeyStick(
                total.value + found.value, total.first + found.first, total.second + found.second
            )
        return HockeyStick(
            total.value.intersect(UNIT), total.first.intersect(UNIT), total.second.intersect(UNIT)
        )

    def _is_pure(self, pair: Pair, growth: Enclosure) -> bool:
        """Whether moving noise shows that no set is more than growth times as likely."""
        budget = self.budget(pair)
        if budget is None or growth.lower < 1:
            return False
        most = factor_of(budget, _FACTOR_BITS).upper
        return most is not None and most <= growth.lower

    def _best(self, first: Endings, second: Endings, growth: Enclosure, bits: int) -> HockeyStick:
        """`best_set` for one outcome."""
        if second:
            gaussian = self._gaussian(first, second, growth, bits, best=True)
            if gaussian is not None:
                return gaussian
        key = first, second
        if key not in self._separated:
            self._separated[key] = untangled(first, second, self._derived)
        parts = self._separated[key]
        if parts is None:
            raise NoBounds("numbers that share noise are published together")
        told = _told(parts.first, parts.second)
        if not parts.second or not parts.numbers or parts.first == parts.second:
            return self._all_or_nothing(parts, growth, bits)
        if len(told) > 1:
            raise NoBounds("several numbers tell the inputs apart together")
        sides, _ = _sides(parts.first, parts.second, told[0] if told else 0)
        own = bits + max(int(growth.upper), 1).bit_length() + 8
        panels = self._panels.get((sides, own))
        if panels is None:
            one, two = (self._weighted(side, own) for side in sides)
            panels = OnPanels(self._densities, one, two, (), own, 0)
            self._panels[sides, own] = panels
        if (sides, growth, own) not in self._known:
            self._known[sides, growth, own] = panels.best(growth, own)
        return self._known[sides, growth, own]

    def _all_or_nothing(self, parts: Untangled, growth: Enclosure, bits: int) -> HockeyStick:
        """The best of two sets of one measure, or of an outcome that is not the other one's."""
        p = self._weight(parts.first, bits)
        q = p if parts.first == parts.second else self._weight(parts.second, bits)
        if p is q:
            low, high = 1 - growth.upper, 1 - growth.lower
            gain = Enclosure(min(low * p.lower, low * p.upper), max(high * p.lower, high * p.upper))
        else:
            gain = Enclosure(p.lower - growth.upper * q.upper, p.upper - growth.lower * q.lower)
        if gain.lower + gain.upper <= 0:
            return HockeyStick(Enclosure(_ZERO, max(gain.upper, _ZERO)), _NOTHING, _NOTHING)
        return HockeyStick(Enclosure(max(gain.lower, _ZERO), gain.upper), p, q)

    def _term(
        self, pair: Pair, outcome: Outcome, eps_prv: Fraction, asked: Asked | None, bits: int
    ) -> HockeyStick:
        first, second = (self.outcomes(input).get(outcome, ()) for input in pair)
        factor = factor_of(eps_prv, bits)
        if factor.upper is None:
            raise NoBounds("the budget is too large for the check")
        growth = Enclosure(factor.lower, factor.upper)
        if asked is None and first and second:
            gaussian = self._gaussian(first, second, growth, bits)
            if gaussian is not None:
                return gaussian
        parts = untangled(first, second, self._derived)
        if parts is None:
            raise NoBounds("numbers that share noise are published together")
        if not parts.numbers:
            return self._atoms(parts.first, parts.second, growth, bits)
        number, intervals = _number(outcome, parts.numbers, asked)
        return self._numbers(parts.first, parts.second, growth, number, intervals, bits)

    def _atoms(
        self, first: Sequence[Part], second: Sequence[Part], growth: Enclosure, bits: int
    ) -> HockeyStick:
        p, q = (self._weight(side, bits) for side in (first, second))
        low = max(p.lower - growth.upper * q.upper, _ZERO)
        return HockeyStick(Enclosure(low, max(p.upper - growth.lower * q.lower, low)), p, q)

    def _numbers(
        self,
        first: Parts,
        second: Parts,
        growth: Enclosure,
        coordinate: int,
        intervals: tuple[Interval, ...],
        bits: int,
    ) -> HockeyStick:
        """Of several numbers only one may be told apart."""
        if first == second or not first:
            # As the growth is at least 1, nothing is left.
            masses = self._line(first, second, growth, coordinate, intervals, bits)
            return HockeyStick(_NOTHING, masses.first, masses.second)
        told = _told(first, second)
        if len(told) > 1:
            raise NoBounds("several numbers tell the inputs apart together")
        best = told[0] if told else coordinate
        stick = self._line(first, second, growth, best, intervals, bits)
        if coordinate == best:
            return stick
        one = Enclosure.exact(1)
        masses = self._line(first, second, one, coordinate, intervals, bits)
        return HockeyStick(stick.value, masses.first, masses.second)

    def _line(
        self,
        first: Parts,
        second: Parts,
        growth: Enclosure,
        coordinate: int,
        intervals: tuple[Interval, ...],
        bits: int,
    ) -> HockeyStick:
        """By one number: the lines of the others are factors."""
        if not first and not second:
            return HockeyStick(_NOTHING, _NOTHING, _NOTHING)
        sides, start = _sides(first, second, coordinate)
        moved = tuple(
            tuple(None if end is None else end - start for end in each) for each in intervals
        )
        key = sides, growth, moved, bits
        if key not in self._known:
            one, two = (self._weighted(side, bits + 8) for side in sides)
            cuts = tuple((low, high) for low, high in moved)
            self._known[key] = hockey_stick(self._densities, one, two, growth, cuts, bits)
        return self._known[key]

    def _weighted(self, side: _Side, bits: int) -> Weighted:
        return [
            (self._factor(quiet, others, bits), self._densities.of(own))
            for quiet, others, own in side
        ]

    def _weight(self, parts: Sequence[Part], bits: int) -> Enclosure:
        total = _NOTHING
        for part in parts:
            total = total + self._factor(part.factors, part.marginals, bits)
        return total.intersect(UNIT)

    def _factor(
        self, factors: tuple[int, ...], marginals: Sequence[Marginal], bits: int
    ) -> Enclosure:
        """The probability of factors, and of the lines of some numbers."""
        every = list(factors)
        for marginal in marginals:
            more = self._derived.factors_of(marginal.laws, marginal.lines, ())
            if more is None:
                return _NOTHING
            every += more
        if bits not in self._bounds:
            self._bounds[bits] = self._derived.at(bits)
        bounds = self._bounds[bits]
        low, high = bounds.together((tuple(sorted(every)),))
        return Enclosure(Fraction(low, 1 << bounds.unit), Fraction(high, 1 << bounds.unit))

    def _gaussian(
        self,
        first: Endings,
        second: Endings,
        growth: Enclosure,
        bits: int,
        *,
        best: bool = False,
    ) -> HockeyStick | None:
        """Two Gaussian vectors; None if there are others, or any lines about their samples.

        The masses are those of all numbers, or of the best set.
        """
        if len(first) > 1 or len(second) > 1 or not first[0].numbers:
            return None
        square = square_of_shift(first[0], second[0])
        if square is None:
            return None
        weights = []
        for (ending,) in (first, second):
            samples = {s for form in ending.numbers for s, _ in form.terms}
            laws = [law for k, law in enumerate(ending.laws) if k not in samples]
            place = {
                s: k for k, s in enumerate(s for s in range(len(ending.laws)) if s not in samples)
            }
            lines = [
                Line(line.constant, tuple((place[s], c) for s, c in line.terms))
                for line in ending.lines
            ]
            factors = self._derived.factors_of(laws, lines, ending.chances)
            weights.append(_NOTHING if factors is None else self._factor(factors, (), bits + 8))
        p, q = weights
        if not p.lower or not q.lower:
            return None
        with precision(bits + 64):
            above, below = (to_ball(each.lower).union(to_ball(each.upper)) for each in weights)
            alpha = to_ball(growth.lower).union(to_ball(growth.upper)) * below / above
            found = [to_enclosure(above * gaussian_stick(square, alpha))]
            if best:
                one, two = gaussian_set(square, alpha)
                found += [to_enclosure(above * one), to_enclosure(below * two)]
        known = [each for each in found if isinstance(each, Enclosure)]
        if len(known) < len(found):
            raise NoBounds("a Gaussian shift is too small for the check")
        value, *masses = known
        p, q = masses or (p, q)
        return HockeyStick(Enclosure(max(value.lower, _ZERO), max(value.upper, _ZERO)), p, q)


def _number(
    outcome: Outcome, numbers: Sequence[Line], asked: Asked | None
) -> tuple[int, tuple[Interval, ...]]:
    """Which of the independent numbers a real output is, and its intervals as ones of the number.

    Raises:
        NoBounds: If it is none of them.
    """
    if asked is None:
        return 0, EVERYWHERE
    form = outcome.reals[asked.place]
    for place, number in enumerate(numbers):
        if len(form.terms) == 1 and [s for s, _ in number.terms] == [form.terms[0][0]]:
            # output = c coordinate + constant and number = d coordinate
            factor = number.terms[0][1] / form.terms[0][1]
            moved = [
                [None if end is None else (end - form.constant) * factor for end in each]
                for each in asked.intervals
            ]
            return place, tuple((a, b) if factor > 0 else (b, a) for a, b in moved)
    raise NoBounds("intervals of a number that shares noise with others")


_Side = tuple[tuple[tuple[int, ...], tuple[Marginal, ...], Marginal], ...]
"""Of every part what concerns no number, what concerns other numbers, and the one number."""


def _told(first: Parts, second: Parts) -> list[int]:
    """Which numbers may tell two measures apart, at least one part here or there."""
    every = (*first, *second)
    count = len(every[0].marginals) if every else 0
    return [k for k in range(count) if len({part.marginals[k] for part in every}) > 1]


def _sides(first: Parts, second: Parts, coordinate: int) -> tuple[tuple[_Side, _Side], Fraction]:
    """Both measures about 0 as to one number, and what was taken from it."""
    start = _centre((*first, *second)[0].marginals[coordinate])
    one, two = (
        tuple(
            (part.factors, _others(part, coordinate), _placed(part, coordinate, start))
            for part in side
        )
        for side in (first, second)
    )
    return (one, two), start


def _centre(marginal: Marginal) -> Fraction:
    form = marginal.number
    return form.constant + sum((c * marginal.laws[s].mean for s, c in form.terms), _ZERO)


def _placed(part: Part, coordinate: int, start: Fraction) -> Marginal:
    """The marginal of number - start, with samples about 0, so that shifted ones are equal."""
    marginal = part.marginals[coordinate]
    total = sum((c for _, c in marginal.number.terms), _ZERO)
    form = marginal.number
    if total:
        by = (form.constant - start) / total
        moved = marginal.mapped(Fraction(1), by)
        # x' = x + by: the number is Σ c x' - by Σ c + constant
        form = Line(_ZERO, form.terms) + Line(form.constant - by * total - start)
        return Marginal(moved.laws, moved.lines, form)
    return Marginal(marginal.laws, marginal.lines, form + Line(-start))


def _others(part: Part, coordinate: int) -> tuple[Marginal, ...]:
    return tuple(each for k, each in enumerate(part.marginals) if k != coordinate)
