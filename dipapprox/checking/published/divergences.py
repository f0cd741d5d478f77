"""The divergence of what two inputs publish, by the check's own route: summed over outcomes.

    no number that tells them apart    max(0, p - α q)
    one number, any number of paths    ∫ max(0, f - α g) (`hockey_sticks`)
    several                            those whose law is the same for both inputs drop out;
                                       of the others losses add up (`products`)
    sums of products                   bounds: by paths, and by one number
    Gaussian ones without lines        in closed form (`gaussian_vectors`)

Where the price of moving noise (`couplings`) is at most the budget, nothing is left.
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
    gaussian_mass,
    gaussian_stick,
    nonnegative,
    square_of_shift,
)
from dipapprox.checking.published.hockey_sticks import (
    HockeyStick,
    Interval,
    OnPanels,
    Weighted,
    ball_of,
    hockey_stick,
)
from dipapprox.checking.published.lines import (
    Line1D,
    OneNumber,
    lines_of,
    only_one,
    sides_of,
    told_apart,
    varying,
)
from dipapprox.checking.published.outcomes import (
    Ending,
    Endings,
    Marginal,
    Outcome,
    Part,
    Parts,
    Untangled,
    outcomes,
    untangled,
)
from dipapprox.checking.published.products import ACCURATE, Products
from dipapprox.data_classes import dataclass
from dipapprox.language.core import Input, Program
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import UNIT, Enclosure
from dipapprox.numerics.precision import precision

_ZERO = Fraction(0)
_NOTHING = Enclosure.exact(0)

_PLACES, _MORE_PLACES, _ACCURATE = 2_520, 10_080, 90
"""Places on grids of losses; more where more bits than those are wanted."""

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

    Attributes:
        densities: Of the numbers.
    """

    def __init__(self, derived: Distributions, limits: Limits) -> None:
        self._derived = derived
        self._limits = limits
        self.densities = Densities1D(limits)
        self._outcomes: dict[Input, Mapping[Outcome, Endings]] = {}
        self._bounds: dict[int, DistributionBounds] = {}
        self._known: dict[object, HockeyStick] = {}
        self._budgets: dict[Pair, Fraction | None] = {}
        self._products = Products(self._panels, limits)

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

    def _term(
        self, pair: Pair, outcome: Outcome, eps_prv: Fraction, asked: Asked | None, bits: int
    ) -> HockeyStick:
        first, second = (self.outcomes(input).get(outcome, ()) for input in pair)
        factor = factor_of(eps_prv, bits)
        if factor.upper is None:
            raise NoBounds("the budget is too large for the check")
        growth = Enclosure(factor.lower, factor.upper)
        if first and second:
            sought = None if asked is None else (outcome.reals[asked.place], asked.intervals)
            gaussian = self._gaussian(first, second, growth, sought, bits)
            if gaussian is not None:
                return gaussian
        parts = self.separated(first, second)
        if not parts.numbers:
            return self._atoms(parts.first, parts.second, growth, bits)
        if asked is None:
            told = told_apart(parts.first, parts.second)
            if len(told) > 1:
                return self._product(parts.first, parts.second, growth, told, bits)
            if not told:
                return self._atoms(parts.first, parts.second, growth, bits)
        number, intervals = _number(outcome, parts.numbers, asked)
        return self._numbers(parts.first, parts.second, growth, number, intervals, bits)

    def separated(self, first: Endings, second: Endings) -> Untangled:
        """Return independent numbers in the place of those of an outcome; see `untangled`.

        Raises:
            NoBounds: If they share noise.
        """
        parts = untangled(first, second, self._derived)
        if parts is None:
            raise NoBounds("numbers that share noise are published together")
        return parts

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
        """One number has intervals; it may be any, but only one may be told apart."""
        if first == second or not first:
            # As the growth is at least 1, nothing is left.
            masses = self._line(first, second, growth, coordinate, intervals, bits)
            return HockeyStick(_NOTHING, masses.first, masses.second)
        best = only_one(told_apart(first, second), coordinate)
        stick = self._line(first, second, growth, best, intervals, bits)
        if coordinate == best:
            return stick
        one = Enclosure.exact(1)
        masses = self._line(first, second, one, coordinate, intervals, bits)
        return HockeyStick(stick.value, masses.first, masses.second)

    def _product(
        self, first: Parts, second: Parts, growth: Enclosure, told: Sequence[int], bits: int
    ) -> HockeyStick:
        """By what several numbers lose; weights of paths are with one of them.

        Where paths differ in several numbers there are bounds only. From above, sums lose at most
        what their terms do: F_i - α G_i path by path. From below one number is looked at, and the
        others are any.
        """
        p, q = (self._weight(side, bits) for side in (first, second))
        if first == second or not first or not second:
            return HockeyStick(p if first != second else _NOTHING, p, q)
        if len(varying(first, second, told)) <= 1:
            return HockeyStick(self._lines(first, second, growth, told, bits), p, q)
        lower, upper = _ZERO, _ZERO
        for k in told:
            lower = max(lower, self._line(first, second, growth, k, EVERYWHERE, bits).value.lower)
        for k, part in enumerate(first):
            one, two = (part,), second[k : k + 1]
            if one == two:
                continue
            own = told_apart(one, two)
            if two and len(own) > 1:
                upper += self._lines(one, two, growth, own, bits).upper
            else:
                place = only_one(own, told[0])
                upper += self._line(one, two, growth, place, EVERYWHERE, bits).value.upper
        return HockeyStick(Enclosure(lower, max(min(upper, p.upper), lower)), p, q)

    def _lines(
        self, first: Parts, second: Parts, growth: Enclosure, told: Sequence[int], bits: int
    ) -> Enclosure:
        lines, others = lines_of(first, second, told)
        shared = self.factor((), others, bits)
        places = _PLACES if bits < _ACCURATE else _MORE_PLACES
        found = self._products.divergence(lines, growth, places)
        return Enclosure(found.lower * shared.lower, found.upper * shared.upper)

    def _panels(self, line: Line1D) -> OnPanels:
        one, two = (self.weighted(side, ACCURATE + 8) for side in line)
        return OnPanels(self.densities, one, two, (), ACCURATE, 0)

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
        sides, start = sides_of(first, second, coordinate)
        moved = tuple(
            tuple(None if end is None else end - start for end in each) for each in intervals
        )
        key = sides, growth, moved, bits
        if key not in self._known:
            one, two = (self.weighted(side, bits + 8) for side in sides)
            cuts = tuple((low, high) for low, high in moved)
            self._known[key] = hockey_stick(self.densities, one, two, growth, cuts, bits)
        return self._known[key]

    def weighted(self, side: OneNumber, bits: int) -> Weighted:
        """Return the densities of one number, weighted by all else."""
        return [
            (self.factor(quiet, others, bits), self.densities.of(own))
            for quiet, others, own in side
        ]

    def _weight(self, parts: Sequence[Part], bits: int) -> Enclosure:
        total = _NOTHING
        for part in parts:
            total = total + self.factor(part.factors, part.marginals, bits)
        return total.intersect(UNIT)

    def factor(
        self, factors: tuple[int, ...], marginals: Sequence[Marginal], bits: int
    ) -> Enclosure:
        """Enclose the probability of factors, and of the lines of some numbers."""
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

    def vectors(
        self, first: Endings, second: Endings
    ) -> tuple[Fraction, tuple[Factors, Factors]] | None:
        """Return the squared shift of two Gaussian vectors, and what else happens on either side.

        None if there are others, or any lines about their samples.
        """
        if len(first) != 1 or len(second) != 1 or not first[0].numbers:
            return None
        square = square_of_shift(first[0], second[0])
        if square is None:
            return None
        one, two = (self._besides(ending) for (ending,) in (first, second))
        return square, (one, two)

    def _besides(self, ending: Ending) -> Factors:
        samples = {s for form in ending.numbers for s, _ in form.terms}
        laws = [law for k, law in enumerate(ending.laws) if k not in samples]
        quiet = (s for s in range(len(ending.laws)) if s not in samples)
        place = {s: k for k, s in enumerate(quiet)}
        lines = [
            Line(line.constant, tuple((place[s], c) for s, c in line.terms))
            for line in ending.lines
        ]
        return self._derived.factors_of(laws, lines, ending.chances)

    def _gaussian(
        self,
        first: Endings,
        second: Endings,
        growth: Enclosure,
        sought: tuple[Line, tuple[Interval, ...]] | None,
        bits: int,
    ) -> HockeyStick | None:
        """Two Gaussian vectors; None if there are others, or any lines about their samples.

        If a sum of the numbers is sought in intervals, the masses are of those.
        """
        known = self.vectors(first, second)
        if known is None:
            return None
        square, besides = known
        p, q = (_NOTHING if f is None else self.factor(f, (), bits + 8) for f in besides)
        if not p.lower or not q.lower:
            return None
        with precision(bits + 64):
            above, below = ball_of(p), ball_of(q)
            value = above * gaussian_stick(square, ball_of(growth) * below / above)
            if sought is not None:
                p = nonnegative(above * gaussian_mass(first[0], *sought))
                q = nonnegative(below * gaussian_mass(second[0], *sought))
            return HockeyStick(nonnegative(value), p, q)


Factors = tuple[int, ...] | None
"""Probabilities that are multiplied, by number; None: something is impossible."""


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
