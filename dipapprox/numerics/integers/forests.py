"""Forests of comparisons between integer variables: one table after the other, in fixed point.

If every inequality is about one variable or two, and no cycle of variables is compared, summing a
leaf out leaves a function of its neighbour. All tables are lower bounds in units of 2^-unit, with
one number for what may be missing anywhere (w values of a variable, m of a message, u units):

    product of messages   Σ m_i missing, and 1 for every product that is rounded: all are <= 1
    Σ over x <= k of w(x) m(x)   missing(w) + missing(m) + 1 for every x: Σ w <= 1 and m <= 1
    message of [low, high] at y  S(high) - S(low - 1) is above the truth by at most missing(S), so
                                 that much less is kept, and 2 missing(S) is missing then

Tables are remembered: programs compare the same laws in the same way again and again.

Masses of laws (`laws.discrete`) are non-negative integers in units of 2^-unit and *below* the
truth; how much is missing in all is known exactly, because the true probabilities of a law sum to
1. So neither truncation nor rounding needs a bound of its own: what the kept values do not sum up
to is missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, chain

from flint import arb, fmpz_poly

from dipapprox.arithmetic.enclosure import rational
from dipapprox.arithmetic.precision import precision
from dipapprox.cache import Cache
from dipapprox.data_classes import Record, replace
from dipapprox.errors import BrokenInvariant
from dipapprox.events.event import Star
from dipapprox.laws.distribution import Distribution
from dipapprox.limits import ask, asking, check_limits

MOST_VALUES = 2**20  # most integers that one sample, or a sum of samples, is kept on
_GUARD_BITS = 32


class IntegerMasses(Record):
    """An integer variable: Pr[first + k] >= values[k] in units of 2^-unit."""

    first: int  # the least integer kept
    values: Sequence[int]  # for each integer from there on; they sum to at most 2^unit
    # the true probabilities of any set of integers exceed the sum of its values by at most this, in
    # the same units
    missing: int

    @property
    def last(self) -> int:
        """The greatest integer kept; below `first` if there is none."""
        return self.first + len(self.values) - 1

    def between(self, low: int | None, high: int | None) -> IntegerMasses:
        """Put 0 where the variable is not in [low, high]."""
        start = 0 if low is None else min(max(low - self.first, 0), len(self.values))
        stop = len(self.values) if high is None else max(high + 1 - self.first, start)
        return IntegerMasses(self.first + start, self.values[start:stop], self.missing)


class Untabled(Exception):
    """A law takes too many values; the argument is the reason."""


def law_masses(law: Distribution, unit: int) -> IntegerMasses:
    """Tabulate a discrete law with an integer mean; about 2^-unit is missing for each integer kept.

    Raises:
        Untabled: If it has another mean, or takes too many values.
    """
    if law.mean.denominator != 1:
        raise Untabled(f"the mean {law.mean} of an integer sample is no integer")
    radius = law.integers.radius(law.scale, unit)
    if 2 * radius + 1 > MOST_VALUES:
        wide = f"noise of scale {rational(law.scale)} takes more than {MOST_VALUES} values"
        raise Untabled(f"integer-sums: {wide}")
    with precision(unit + _GUARD_BITS + 2 * radius.bit_length()):
        half = [_floor(value, unit) for value in asking(law.integers.masses(law.scale, radius))]
    values = [*half[:0:-1], *half]
    # What a whole law lacks is what its values do not sum up to; zeros at the ends are dropped.
    missing = (1 << unit) - sum(values)
    if missing < 0:
        raise BrokenInvariant("lower bounds of probabilities sum to more than 1")
    kept = [place for place, value in enumerate(values) if value]
    start, stop = (kept[0], kept[-1] + 1) if kept else (0, 0)
    return IntegerMasses(int(law.mean) - radius + start, values[start:stop], missing)


def combined(parts: Sequence[tuple[int, IntegerMasses]], unit: int) -> IntegerMasses:
    """Tabulate Σ factor * variable for independent variables, factors other than 0."""
    span = 1 + sum(abs(factor) * (len(each.values) - 1) for factor, each in parts)
    if span > MOST_VALUES:
        raise Untabled(f"integer-sums: a sum of samples takes more than {MOST_VALUES} values")
    total, *others = [_multiplied(*part) for part in parts]
    for own in others:
        ask()
        product = fmpz_poly(list(total.values)) * fmpz_poly(list(own.values))
        values = [int(value) >> unit for value in asking(product.coeffs())]
        missing = total.missing + own.missing + len(values)
        total = IntegerMasses(total.first + own.first, values, missing)
    return total


def _multiplied(factor: int, masses: IntegerMasses) -> IntegerMasses:
    """The law of factor * variable."""
    values = masses.values if factor > 0 else masses.values[::-1]
    first = factor * (masses.first if factor > 0 else masses.last)
    between = [0] * (abs(factor) - 1)
    if between:
        values = list(chain.from_iterable([value, *between] for value in values))
    return IntegerMasses(first, values, masses.missing)


def _floor(value: arb, unit: int) -> int:
    """The greatest integer certainly not above value * 2^unit, at least 0."""
    lower = value.lower()
    if not lower > 0 or not lower.is_finite():
        return 0
    mantissa, exponent = map(int, lower.man_exp())
    shift = exponent + unit
    return mantissa << shift if shift >= 0 else mantissa >> min(-shift, mantissa.bit_length())


_REMEMBERED = 1_000_000  # about how many numbers are kept, some 50 bytes each
Link = tuple[tuple[int, int, int], ...]
"""(a, b, bound), …: a x + b y <= bound for a child x and its parent y."""

_UNDER: Link = ((1, -1, -1),)
_OVER: Link = ((-1, 1, 0),)

Children = tuple[tuple[Link, int], ...]
"""The children of a node: how they are compared with it, and their numbers."""


class ForestVariable(Record):
    """A sum of independent samples or variables, where low <= x <= high (None: no bound)."""

    parts: Parts
    low: int | None = None
    high: int | None = None

    def within(self, a: int, bound: int) -> ForestVariable:
        """Restrict it by a x <= bound, a != 0."""
        if a > 0:
            most = bound // a
            return replace(self, high=most if self.high is None else min(self.high, most))
        least = -(bound // -a)
        return replace(self, low=least if self.low is None else max(self.low, least))


Parts = tuple[tuple[int, Distribution | ForestVariable], ...]
"""Σ factor * part, independent parts, factors other than 0."""


class Below(Record):
    """A probability p with value <= p 2^unit <= value + missing."""

    value: int
    missing: int


class _Running(Record):
    """k -> sums[k - first + 1], Σ over x <= k, from below; at most `missing` too small."""

    first: int
    sums: Sequence[int]
    missing: int

    def at(self, places: Sequence[int]) -> list[int]:
        sums, shift, end = self.sums, 1 - self.first, len(self.sums) - 1
        return [sums[min(max(k + shift, 0), end)] for k in places]


_Table = tuple[Sequence[int], int]
"""Values on a range, from below, and what is missing at most in each."""


class Forests:
    """Probabilities of forests at one accuracy, in units of 2^-unit; tables are shared.

    Raises:
        Untabled: If a variable takes too many values.
    """

    def __init__(self, unit: int) -> None:
        self.unit = unit
        self._masses: Cache[Parts, IntegerMasses] = Cache(
            _REMEMBERED, lambda each: len(each.values)
        )
        self._forget()

    def _forget(self) -> None:
        self._numbers: dict[tuple[ForestVariable, Children], int] = {}
        self._running: list[_Running] = []
        self._products: dict[tuple[int, int, Children], _Table] = {}
        self._powers: dict[tuple[int, int, Link, int, int], _Table] = {}
        self._kept = 0

    def masses(self, variable: ForestVariable) -> IntegerMasses:
        parts = variable.parts
        masses = self._masses.find(parts, lambda: self._tabulated(parts))
        return masses.between(variable.low, variable.high)

    def _tabulated(self, parts: Parts) -> IntegerMasses:
        own = [
            self.masses(part) if isinstance(part, ForestVariable) else law_masses(part, self.unit)
            for _, part in parts
        ]
        return combined([(c, each) for (c, _), each in zip(parts, own, strict=True)], self.unit)

    def probability(
        self,
        variables: Sequence[ForestVariable],
        links: Mapping[tuple[int, int], Link],
        order: Sequence[tuple[int, int | None]],
    ) -> Below:
        """Bound the probability that independent variables are in their ranges and all links hold.

        Links are for (child, parent); in `order` children come before parents (`leaves_first`).
        """
        if self._kept > _REMEMBERED:
            self._forget()
        children: list[list[tuple[Link, int]]] = [[] for _ in variables]
        total = Below(1 << self.unit, 0)
        for vertex, parent in order:
            number = self._node(variables[vertex], tuple(sorted(children[vertex])))
            if parent is not None:
                children[parent].append((links[vertex, parent], number))
                continue
            found = self._running[number]
            value = total.value * found.sums[-1] >> self.unit
            total = Below(value, total.missing + found.missing + 1)
        return total

    def star(self, star: Star) -> Below:
        """Bound the probability of a star of integers; its cost does not depend on the counts."""
        if self._kept > _REMEMBERED:
            self._forget()
        masses = self.masses(ForestVariable(((1, star.centre),)))
        values, missing = masses.values, masses.missing
        # With x = z + 1/2: x <= c says z - c <= -1, and c <= x says c - z <= 0.
        for link, leaves in ((_UNDER, star.below), (_OVER, star.above)):
            for law, count in leaves:
                integer = law.affine(Fraction(1), Fraction(-1, 2))
                child = self._node(ForestVariable(((1, integer),)), ())
                power, lacks = self._power(masses.first, len(values), link, child, count)
                values = self._times(values, power)
                missing += lacks + len(values)
        return Below(sum(values), missing)

    def _power(self, first: int, count: int, link: Link, child: int, exponent: int) -> _Table:
        """Return the product of so many like messages; most stars need one more than another."""
        key = first, count, link, child
        if (*key, exponent) in self._powers:
            return self._powers[*key, exponent]
        check_limits()
        if exponent == 1:
            table = self._message(*key)
        else:
            part = exponent - 1 if (*key, exponent - 1) in self._powers else exponent // 2
            left, lacks = self._power(*key, part)
            right, more = self._power(*key, exponent - part)
            table = self._times(left, right), lacks + more + 1
        self._powers[*key, exponent] = table
        self._kept += count
        return table

    def _times(self, left: Sequence[int], right: Sequence[int]) -> list[int]:
        """Multiply numbers at most 1, each product rounded down."""
        return [a * b >> self.unit for a, b in zip(left, right, strict=True)]

    def _node(self, variable: ForestVariable, children: Children) -> int:
        """Sum a variable out, its children's messages included; return the number of the table."""
        key = variable, children
        if key in self._numbers:
            return self._numbers[key]
        check_limits()
        masses = self.masses(variable)
        values, missing = masses.values, masses.missing
        if children:
            product, lacks = self._product(masses.first, len(values), children)
            values = self._times(values, product)
            missing += lacks + len(values)
        sums = list(accumulate(values, initial=0))
        self._kept += len(sums)
        self._running.append(_Running(masses.first, sums, missing))
        number = self._numbers[key] = len(self._running) - 1
        return number

    def _product(self, first: int, count: int, children: Children) -> _Table:
        """Multiply messages on first <= y < first + count; beginnings are shared."""
        known = len(children)
        while known and (first, count, children[:known]) not in self._products:
            known -= 1
        for k in range(known, len(children)):
            check_limits()
            values, lacks = self._message(first, count, *children[k])
            if k:
                before, more = self._products[first, count, children[:k]]
                values, lacks = self._times(before, values), more + lacks + 1
            self._products[first, count, children[: k + 1]] = values, lacks
            self._kept += count
        return self._products[first, count, children]

    def _message(self, first: int, count: int, link: Link, child: int) -> _Table:
        """Sum over the child x as a function of the parent y: all a x <= bound - b y hold."""
        running = self._running[child]
        places = range(first, first + count)
        above = [[(bound - b * y) // a for y in places] for a, b, bound in link if a > 0]
        # x >= ⌈(bound - b y) / a⌉, and the sum ends one before that
        below = [[-((bound - b * y) // -a) - 1 for y in places] for a, b, bound in link if a < 0]
        if above:
            upper = running.at(above[0] if len(above) == 1 else list(map(min, *above)))
        else:
            upper = [running.sums[-1]] * count
        if not below:
            return upper, running.missing
        lower = running.at(below[0] if len(below) == 1 else list(map(max, *below)))
        lacks = running.missing
        values = [max(h - g - lacks, 0) for h, g in zip(upper, lower, strict=True)]
        return values, 2 * lacks
