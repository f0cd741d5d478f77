"""Plans: probabilities as sums of integrals of univariate functions, as data.

`Terms` are Σ coefficient * ∫ product of functions, each function a restricted density, the running
integral of such a product, a convolution, or one of these at a shifted place or between constants.
`planning` makes them, and any function algebra evaluates them, many at once:

In: `Terms` over one `FunctionTable`. Out: the value of every term, for the laws as the algebra
represents them; `enclosed_sum` adds up enclosures.

    functions that are needed and not yet known, by depth -> one batch for each depth and direction
    different products of all terms                       -> one batch of totals
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Generic, TypeVar, assert_never

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed, enclosing, sure
from dipapprox.data_classes import Record
from dipapprox.language.traversal import reachable
from dipapprox.laws.distribution import Distribution
from dipapprox.limits import check_limits
from dipapprox.numerics.algebras import piecewise


class RestrictedDensity(Record):
    """The density of a sample between two constants (None: no bound), else 0."""

    law: Distribution
    lower: Fraction | None
    upper: Fraction | None

    def shifted(self, by: Fraction) -> RestrictedDensity:
        """That of x + by."""
        ends = (None if end is None else end + by for end in (self.lower, self.upper))
        return RestrictedDensity(self.law.affine(Fraction(1), by), *ends)


class Running(Record):
    """The integral of a product of functions from the left, or from the right, end to t."""

    factors: Factors
    from_left: bool


class Moved(Record):
    """t -> f(t + offset), f a function by number."""

    number: int
    offset: Fraction


class FunctionDifference(Record):
    """t -> upper(t) - lower(t), functions by number, where 0 <= lower <= upper."""

    upper: int
    lower: int


class Convolved(Record):
    """The density of a sum of two independent variables."""

    left: Factors
    right: Factors | Distribution  # that of the other, or its law


class BetweenConstants(Record):
    """A function, by number, between two constants (None: no bound), else 0."""

    number: int
    lower: Fraction | None
    upper: Fraction | None


Function = RestrictedDensity | Running | Moved | FunctionDifference | Convolved | BetweenConstants
"""Plain orders have the first two only, and sums alone the last two."""

Factors = tuple[tuple[int, int], ...]
"""A product: (number in a `FunctionTable`, exponent), by ascending number."""

Terms = tuple[tuple[int, Factors], ...]  # A plan: Σ coefficient * ∫ product


def parts(function: Function) -> tuple[int, ...]:
    """The numbers of the functions that a function is made of."""
    match function:
        case RestrictedDensity():
            return ()
        case Moved(number) | BetweenConstants(number):
            return (number,)
        case FunctionDifference(upper, lower):
            return upper, lower
        case Running() | Convolved():
            return tuple([number for factors in products_in(function) for number, _ in factors])
        case _:
            assert_never(function)


def products_in(function: Function) -> tuple[Factors, ...]:
    """The products that a function integrates."""
    match function:
        case Running(factors):
            return (factors,)
        case Convolved(left, right):
            return (left,) if isinstance(right, Distribution) else (left, right)
        case _:
            return ()


class FunctionTable:
    """The functions of many plans, each once, numbered; a function's factors come before it.

    Attributes:
        functions: By number.
        depths: Of each, one more than the greatest of its factors'.
    """

    __slots__ = ("_numbers", "depths", "functions")

    def __init__(self) -> None:
        self.functions: list[Function] = []
        self.depths: list[int] = []
        self._numbers: dict[Function, int] = {}

    def __len__(self) -> int:
        return len(self.functions)

    def number(self, function: Function) -> int:
        """Return the function's number; a new one is added."""
        number = self._numbers.setdefault(function, len(self.functions))
        if number == len(self.functions):
            self.functions.append(function)
            self.depths.append(1 + max([self.depths[n] for n in parts(function)], default=-1))
        return number

    def leaf(
        self, law: Distribution, lower: Fraction | None = None, upper: Fraction | None = None
    ) -> int:
        """Return the number of a sample's restricted density."""
        return self.number(RestrictedDensity(law, lower, upper))

    def law(self, law: Distribution, from_left: bool) -> int:
        """Return the number of the integral of a law's density from an end."""
        return self.number(Running(((self.leaf(law), 1),), from_left))


def times(factors: Factors, number: int) -> Factors:
    """Multiply a product by one more function."""
    place = bisect_left(factors, (number, 0))
    if place < len(factors) and factors[place][0] == number:
        grown = (number, factors[place][1] + 1)
        return (*factors[:place], grown, *factors[place + 1 :])
    return (*factors[:place], (number, 1), *factors[place:])


F = TypeVar("F")
T = TypeVar("T")
V = TypeVar("V")


class Evaluation(Generic[F, V]):
    """Functions of plans on one grid, each computed once; powers and totals are shared."""

    def __init__(self, algebra: piecewise.FunctionAlgebra[F, V], table: FunctionTable) -> None:
        self._algebra = algebra
        self._table = table
        self._known: dict[int, F] = {}
        self._powers: dict[tuple[int, int], F] = {}
        self._totals: dict[Factors, V] = {}

    @property
    def remembered(self) -> int:
        """The number of functions and totals in memory."""
        return len(self._known) + len(self._powers) + len(self._totals)

    def cost(self, plans: Iterable[Terms]) -> int:
        """Count the functions and powers that some plans add to the memory, at most."""
        plans = tuple(plans)
        fresh = self._needed(plans)
        functions = [self._table.functions[number] for number in fresh]
        products = [factors for terms in plans for _, factors in terms]
        products += [factors for f in functions for factors in products_in(f)]
        powers = {(n, exponent) for each in products for n, exponent in each if exponent > 1}
        # A power by itself needs two more for each binary digit of its exponent.
        digits = sum(
            2 * exponent.bit_length() for n, exponent in powers if (n, exponent - 1) not in powers
        )
        return len(fresh) + len(powers - self._powers.keys()) + digits

    def _needed(self, plans: Iterable[Terms]) -> set[int]:
        """Return the functions that must still be computed for some plans."""

        def unknown(numbers: Iterable[int]) -> Iterator[int]:
            return (number for number in numbers if number not in self._known)

        wanted = unknown(n for terms in plans for _, factors in terms for n, _ in factors)
        return reachable(wanted, lambda n: unknown(parts(self._table.functions[n])))

    def values(self, plans: Sequence[Terms]) -> list[list[tuple[int, V]]]:
        """Return the terms of each plan: (coefficient, ∫ product)."""
        self._compute(self._needed(plans))
        wanted = {factors for terms in plans for _, factors in terms}
        # Not `wanted - self._totals.keys()`, which goes through all totals.
        fresh = _alike_first([factors for factors in wanted if factors not in self._totals])
        self._raise(fresh)
        for batch in self._batches(list(fresh)):
            totals = self._algebra.product_totals([self._factors(fresh[each]) for each in batch])
            self._totals.update(zip(batch, totals, strict=True))
        return [[(c, self._totals[factors]) for c, factors in terms] for terms in plans]

    def products(self, plans: Sequence[Terms]) -> list[list[tuple[int, F]]]:
        """Return the terms of each plan as functions: (coefficient, product)."""
        self._compute(self._needed(plans))
        self._raise((factors for terms in plans for _, factors in terms))
        found = []
        for terms in plans:
            functions = self._algebra.products([self._factors(factors) for _, factors in terms])
            found.append([(c, f) for (c, _), f in zip(terms, functions, strict=True)])
        return found

    def _compute(self, numbers: set[int]) -> None:
        levels: dict[int, list[int]] = defaultdict(list)
        for number in sorted(numbers):
            levels[self._table.depths[number]].append(number)
        for _, level in sorted(levels.items()):
            sides: tuple[list[tuple[int, Factors]], ...] = ([], [])
            for number in level:
                function = self._table.functions[number]
                match function:
                    case RestrictedDensity(law, lower, upper):
                        found = self._algebra.density(law)
                        if not (lower is upper is None):
                            found = self._algebra.restrict(found, lower, upper)
                        self._known[number] = found
                    case Running(factors, to_right):
                        plain = self._plain_law(factors, to_right)
                        if plain is None:
                            sides[to_right].append((number, factors))
                        else:
                            self._known[number] = plain
                    case FunctionDifference(above, below):
                        ends = self._known[above], self._known[below]
                        self._known[number] = self._algebra.difference(*ends)
                    case Moved(whole, offset):
                        self._known[number] = self._algebra.moved(self._known[whole], offset)
                    case Convolved():
                        check_limits()
                        self._known[number] = self._convolved(function)
                    case BetweenConstants(whole, lower, upper):
                        self._known[number] = self._algebra.restrict(
                            self._known[whole], lower, upper
                        )
                    case _:
                        assert_never(function)
            for from_left in (False, True):
                self._raise((factors for _, factors in sides[from_left]))
                for batch in self._batches(sides[from_left]):
                    products = [self._factors(factors) for _, factors in batch]
                    running = self._algebra.running(products, from_left)
                    self._known.update(zip((n for n, _ in batch), running, strict=True))

    def _convolved(self, function: Convolved) -> F:
        left, right = function.left, function.right
        self._raise(products_in(function))
        (first,) = self._algebra.products([self._factors(left)])
        if isinstance(right, Distribution):
            return self._algebra.plus_sample(first, right, check_limits)
        (second,) = self._algebra.products([self._factors(right)])
        return self._algebra.convolution(first, second, check_limits)

    def _plain_law(self, factors: Factors, from_left: bool) -> F | None:
        """The distribution function of a sample without constants or earlier messages."""
        first = self._table.functions[factors[0][0]]
        if len(factors) > 1 or factors[0][1] > 1 or not isinstance(first, RestrictedDensity):
            return None
        if not (first.lower is first.upper is None):
            return None
        return self._algebra.cdf(first.law) if from_left else self._algebra.survival(first.law)

    def _batches(self, items: Sequence[T]) -> Iterator[Sequence[T]]:
        size = self._algebra.together
        for start in range(0, len(items), size):
            check_limits()
            yield items[start : start + size]

    def _factors(self, factors: Factors) -> list[F]:
        return [
            self._known[number] if exponent == 1 else self._powers[number, exponent]
            for number, exponent in factors
        ]

    def _raise(self, products: Iterable[Factors]) -> None:
        """Compute the powers in some products, each from two of about half its exponent."""
        waiting = [pair for factors in products for pair in factors]
        steps: dict[int, list[tuple[int, int]]] = defaultdict(list)
        seen: set[tuple[int, int]] = set()
        while waiting:
            number, exponent = pair = waiting.pop()
            if exponent == 1 or pair in seen or pair in self._powers:
                continue
            seen.add(pair)
            steps[(exponent - 1).bit_length()].append(pair)
            waiting += [(number, exponent // 2), (number, exponent - exponent // 2)]
        for _, pairs in sorted(steps.items()):
            for batch in self._batches(pairs):
                halves = [((n, e // 2), (n, e - e // 2)) for n, e in batch]
                found = self._algebra.products([self._factors(each) for each in halves])
                self._powers.update(zip(batch, found, strict=True))


@enclosing
def enclosed_sum(terms: Sequence[tuple[int, Enclosure | NotEnclosed]]) -> Enclosure:
    if len(terms) == 1 == terms[0][0]:
        return sure(terms[0][1])
    lower = upper = Fraction(0)
    for coefficient, value in terms:
        total = sure(value)
        ends = coefficient * total.lower, coefficient * total.upper
        lower, upper = lower + min(ends), upper + max(ends)
    return Enclosure(lower, upper)


def _alike_first(products: Collection[Factors]) -> dict[Factors, Factors]:
    """Reorder products and their factors, so that neighbours begin alike as long as possible.

    A function that occurs with few exponents comes before one that occurs with many.
    """
    exponents: dict[int, set[int]] = defaultdict(set)
    for factors in products:
        for number, exponent in factors:
            exponents[number].add(exponent)
    place = {n: (len(found), n) for n, found in exponents.items()}
    ordered = (
        (sorted((*place[number], exponent) for number, exponent in factors), factors)
        for factors in products
    )
    return {
        factors: tuple((number, exponent) for _, number, exponent in begin)
        for begin, factors in sorted(ordered)
    }
