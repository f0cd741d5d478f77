"""The checker's output distributions: paths of one input, factor by factor, in exact integers.

A probability is bounded by two integers in units of 2^-`unit`; sums and products of such bounds are
rounded outward, which is all the arithmetic there is. Probabilities of choices and of where loops
end, at one ε, are balls first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING

from flint import arb

from dipapprox.checking.chains import (
    Absorbed,
    Chain,
    Random,
    absorption,
    chances_in,
    require_ending,
)
from dipapprox.checking.chances import Chance
from dipapprox.checking.exact_probability import ExactProbability, exact_probability, exact_tree
from dipapprox.checking.facts import Line
from dipapprox.checking.gaussian_walks import GaussianWalks
from dipapprox.checking.gaussians import fewest_samples, reduced
from dipapprox.checking.orders import General, Sum, factors
from dipapprox.checking.paths import paths
from dipapprox.checking.trees import Forest, TreeValues
from dipapprox.checking.values import Stuck
from dipapprox.checking.walks import walk_of
from dipapprox.checking.weights import chance_form, require_distribution, sign_of
from dipapprox.deferred import Deferred
from dipapprox.distributions import Distribution
from dipapprox.errors import BrokenInvariant
from dipapprox.events.event import Event
from dipapprox.integrals.strategy import Strategy
from dipapprox.language.core import Input, Program, Value, Weight
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.numerics.precision import precision, to_ball, to_enclosure
from dipapprox.semantics.linear import LinearForm

if TYPE_CHECKING:
    from dipapprox.numerics.nested import engine as nested
else:
    nested = Deferred("dipapprox.numerics.nested.engine")

_ATTEMPTS = 6


class Balls:
    """Arithmetic with balls, at the precision of the enclosing block."""

    one = arb(1)

    def plus(self, left: arb, right: arb) -> arb:
        """left + right."""
        return left + right

    def times(self, left: arb, right: arb) -> arb:
        """left * right."""
        return left * right

    def over(self, left: arb, right: arb) -> arb:
        """left / right."""
        return left / right


class RandomValues:
    """Enclosures at one ε; chains are solved once at a precision.

    Args:
        eps: The ε.
        possible: Whether an outcome of a choice has a probability above 0.
        limits: Asked throughout.
    """

    def __init__(self, eps: Fraction, possible: Callable[[Chance], bool], limits: Limits) -> None:
        self._eps = eps
        self._possible = possible
        self._limits = limits
        self._solved: dict[tuple[Chain, int], dict[int, arb]] = {}

    def enclose(self, happening: Random, bits: int) -> Enclosure | NotEnclosed:
        """Enclose a probability to about 2**-bits; choices are lawful, and loops end."""
        if isinstance(happening, Chance):
            return happening.enclose(self._eps, bits)
        found: Enclosure | NotEnclosed = UNIT
        for attempt in range(_ATTEMPTS):
            working = bits + 32 << attempt
            with precision(working):
                found = to_enclosure(self._ball(happening, working))
            if isinstance(found, Enclosure) and found.width <= Fraction(1, 2**bits):
                break
        return found.intersect(UNIT) if isinstance(found, Enclosure) else found

    def _ball(self, happening: Random, working: int) -> arb:
        if isinstance(happening, Chance):
            found = happening.enclose(self._eps, working)
            if isinstance(found, NotEnclosed):
                return arb.nan()
            return to_ball(found.lower).union(to_ball(found.upper))
        key = happening.chain, working
        if key not in self._solved:
            self._solved[key] = absorption(
                happening.chain,
                lambda each: self._ball(each, working),
                self._possible,
                Balls(),
                self._limits,
            )
        return self._solved[key].get(happening.state, arb(0))


Bounds = tuple[int, int]
"""lower <= probability * 2^unit <= upper."""

Planted = tuple[tuple[int, tuple[int, ...]], ...]
"""A `Sum` with its trees planted: (sign, numbers of trees)."""

PlantedFactor = Planted | General | Random

FactorsOfPaths = tuple[tuple[int, ...], ...]
"""The factors, by number, of each path to an output."""


class NoBounds(Exception):
    """Some probability could not be enclosed; the message says why."""


class Distributions:
    """Output distributions of a program at one eps; inputs are followed once each.

    Args:
        program: The program.
        eps: Its privacy parameter.
        limits: Asked throughout.

    Attributes:
        forest: The trees of all inputs so far.
        factors: The distinct factors so far; paths have their numbers.
        leaning: The numbers of those that were left to an engine of the run.
    """

    def __init__(self, program: Program, eps: Fraction, limits: Limits) -> None:
        self.program = program
        self.eps = eps
        self._limits = limits
        self.forest = Forest()
        self.factors: list[PlantedFactor] = []
        self._numbers: dict[PlantedFactor, int] = {}
        self.leaning: set[int] = set()
        self._simpler: dict[int, tuple[tuple[Planted, ...], int] | None] = {}
        self._exact: dict[int, ExactProbability | None] = {}
        self._exact_trees: dict[int, ExactProbability | None] = {}
        self._possible: dict[Chance, bool] = {}
        self._lawful: set[tuple[tuple[Weight, ...], bool]] = set()
        self._inputs: dict[Input, dict[tuple[Value, ...], FactorsOfPaths]] = {}

    @property
    def distinct(self) -> int:
        """How many different factors there are so far."""
        return len(self.factors)

    def states(self, input: Input) -> dict[tuple[Value, ...], FactorsOfPaths]:
        """Return the paths of positive probability to every output, as numbers of factors.

        Raises:
            Stuck: If the program cannot be followed.
            LimitReached: If the limits run out.
        """
        if input not in self._inputs:
            found: dict[tuple[Value, ...], list[tuple[int, ...]]] = {}
            for path in paths(self.program, self.eps, input, self._limits):
                numbers = self.factors_of(path.laws, path.lines, path.chances)
                if numbers is not None:
                    found.setdefault(path.outputs, []).append(numbers)
            self._inputs[input] = {o: tuple(sorted(states)) for o, states in found.items()}
        return self._inputs[input]

    def factors_of(
        self, laws: Sequence[Distribution], lines: Sequence[Line], chances: Sequence[Random]
    ) -> tuple[int, ...] | None:
        """Return numbers of factors: samples keep to some lines, and chances happen; None: never.

        Raises:
            LimitReached: If the limits run out.
        """
        parts = factors(laws, lines, self._limits)
        if parts is None:
            return None
        return tuple(sorted([self._number(part) for part in (*parts, *chances)]))

    def require_lawful(self, happening: Random) -> None:
        """Make sure that choices are distributions and loops end, at this eps.

        Raises:
            Stuck: If that is not so, or cannot be told.
            LimitReached: If the limits run out.
        """
        for chance in chances_in(happening):
            key = chance.weights, chance.proportional
            if key not in self._lawful:
                require_distribution(chance, self.eps, self._limits)
                self._lawful.add(key)
        if isinstance(happening, Absorbed):
            require_ending(happening.chain, self.is_possible, self.is_possible)

    def is_possible(self, chance: Chance) -> bool:
        """Whether an outcome of a choice has a probability above 0."""
        if chance not in self._possible:
            sign = sign_of(chance_form(chance), self.eps, self._limits)
            self._possible[chance] = sign > 0
        return self._possible[chance]

    def exact(self, number: int, general: General) -> ExactProbability | None:
        """Return what a factor comes to exactly; None if the check cannot integrate it."""
        if number not in self._exact:
            try:
                self._exact[number] = exact_probability(general, self._limits)
            except Stuck:
                self._exact[number] = None
        return self._exact[number]

    def exact_tree(self, tree: int) -> ExactProbability | None:
        """Return what a tree of the forest comes to exactly; None if its closed form is long."""
        if tree not in self._exact_trees:
            self._exact_trees[tree] = exact_tree(self.forest, tree, self._limits)
        return self._exact_trees[tree]

    def simpler(self, number: int, general: General) -> tuple[tuple[Planted, ...], int] | None:
        """Return a factor as comparisons of two samples, up to errors; None if it is none."""
        if number not in self._simpler:
            self._simpler[number] = None
            event = reduced(general)
            parts = factors(event.general.laws, event.general.lines, self._limits)
            if parts is None:
                self._simpler[number] = ((),), event.errors
            elif not any(isinstance(part, General) for part in parts):
                sums = tuple(self._planted(p) for p in parts if not isinstance(p, General))
                self._simpler[number] = sums, event.errors
        return self._simpler[number]

    def at(self, bits: int) -> DistributionBounds:
        """Return the bounds of this program's probabilities at `bits` bits."""
        return DistributionBounds(self, self.forest, self.factors, bits, self._limits)

    def _number(self, factor: Sum | General | Random) -> int:
        key: PlantedFactor = (
            factor if isinstance(factor, General | Chance | Absorbed) else self._planted(factor)
        )
        number = self._numbers.setdefault(key, len(self.factors))
        if number == len(self.factors):
            self.factors.append(key)
        return number

    def _planted(self, terms: Sum) -> Planted:
        return tuple([(s, tuple([self.forest.plant(o) for o in trees])) for s, trees in terms])


class DistributionBounds:
    """Bounds at one precision, each computed once.

    Attributes:
        unit: Bounds are in units of 2^-unit.
    """

    def __init__(
        self,
        owner: Distributions,
        forest: Forest,
        known_factors: list[PlantedFactor],
        bits: int,
        limits: Limits,
    ) -> None:
        self.bits = bits
        self.unit = bits + 24
        self._owner = owner
        self._factors = known_factors
        self._limits = limits
        self._trees = TreeValues(forest, bits + 8, limits)
        self._random = RandomValues(owner.eps, owner.is_possible, limits)
        self._walks = GaussianWalks(bits + 8, limits)
        self._known: dict[int, Bounds] = {}
        self._outputs: dict[FactorsOfPaths, Bounds] = {}

    def for_input(self, input: Input) -> dict[tuple[Value, ...], Bounds]:
        """Bound the probabilities of the outputs that an input can have.

        Raises:
            NoBounds: If some factor cannot be enclosed.
            Stuck: If the program cannot be followed.
            LimitReached: If the limits run out.
        """
        self._limits.check()
        states = self._owner.states(input)
        found = {output: self.together(own) for output, own in states.items()}
        low, high = (sum(ends) for ends in zip(*found.values(), strict=True))
        if not low <= 1 << self.unit <= high:
            raise BrokenInvariant("the probabilities that the check derives do not add up to 1")
        return found

    def together(self, states: FactorsOfPaths) -> Bounds:
        """Bound the sum of products of factors, which is a probability."""
        if states not in self._outputs:
            low = high = 0
            for numbers in states:
                a = b = 1 << self.unit
                for number in numbers:
                    c, d = self._factor(number)
                    a, b = a * c >> self.unit, -(-b * d >> self.unit)
                low, high = low + a, high + b
            self._outputs[states] = low, min(high, 1 << self.unit)
        return self._outputs[states]

    def _factor(self, number: int) -> Bounds:
        if number not in self._known:
            factor = self._factors[number]
            match factor:
                case General():
                    found = self._general(number, factor)
                case Chance() | Absorbed():
                    self._owner.require_lawful(factor)
                    found = self._bounds(self._random.enclose(factor, self.bits + 8))
                case _:
                    found = self._sum(factor)
            self._known[number] = max(found[0], 0), min(found[1], 1 << self.unit)
        return self._known[number]

    def _sum(self, terms: Planted) -> Bounds:
        low = high = 0
        for sign, numbers in terms:
            a = b = 1 << self.unit
            for number in numbers:
                exact = self._owner.exact_tree(number)
                c, d = self._bounds(
                    self._trees.value(number) if exact is None else exact.enclose(self.bits + 8)
                )
                a, b = a * c >> self.unit, -(-b * d >> self.unit)
            low, high = (low + a, high + b) if sign > 0 else (low - b, high - a)
        return low, high

    def _general(self, number: int, general: General) -> Bounds:
        exact = self._owner.exact(number, general)
        if exact is not None:
            return self._bounds(exact.enclose(self.bits + 8))
        simpler = self._owner.simpler(number, general)
        if simpler is not None:
            return self._reduced(*simpler)
        if any(law.family.is_discrete for law in general.laws):
            raise NoBounds("comparisons of integer samples that the check cannot sum")
        walk = walk_of(general)
        if walk is not None:
            with suppress(Stuck):
                return self._bounds(self._walks.enclose(walk))
        self._owner.leaning.add(number)
        # The cost grows exponentially with the number of samples.
        fewer = fewest_samples(general)
        lines = fewer.general.lines
        guards = tuple(LinearForm.of(dict(line.terms), line.constant) for line in lines)
        event = Event(fewer.general.laws, guards)
        # The paper's order of integration, where runs take the order of least nesting.
        method = nested.Nested(Strategy.PAPER)
        low, high = self._bounds(method.enclose((event,), self.bits + 8, self._limits)[0])
        # Each error is below 2^-800, less than one unit.
        return low - fewer.errors, high + fewer.errors

    def _reduced(self, sums: tuple[Planted, ...], errors: int) -> Bounds:
        low = high = 1 << self.unit
        for terms in sums:
            c, d = self._sum(terms)
            low, high = low * max(c, 0) >> self.unit, -(-high * d >> self.unit)
        # Each error is below 2^-800, less than one unit.
        return low - errors, high + errors

    def _bounds(self, found: Enclosure | NotEnclosed) -> Bounds:
        if isinstance(found, NotEnclosed):
            raise NoBounds(found.reason)
        scale = 1 << self.unit
        low, high = found.lower * scale, found.upper * scale
        return low.numerator // low.denominator, -(-high.numerator // high.denominator)
