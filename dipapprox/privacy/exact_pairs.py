"""Pairs in closed form: divergences as functions of ε, each only once; one pair against a claim.

Over a set of outputs O the divergence is G = Σ_{o in O} (Pr[P(u) = o] - e^{tε} Pr[P(u') = o]), a
function of ε; a claim is G <= δ for every pair and every O. Probabilities are numbered as functions
of ε. Divergences over the same functions are made once, whatever the pairs (`decisions.search`).

At one rational ε the probabilities of Laplace and discrete programs are sums of c e^q, c and q
rational, and ratios of such sums. So are p - e^eps_prv p' and Lemma 2's sum of the positive ones;
their signs are decidable (Lindemann and Weierstrass; `exact.signs.values`).

Which outputs can occur at all alone refutes pure privacy, without any number. An open set of values
of samples has positive probability, be it below any precision. If an output can occur for one input
and never for an adjacent one, no budget is enough for delta 0.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache, reduce
from operator import add
from typing import Protocol, assert_never

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed, Side
from dipapprox.arithmetic.extended import EXACTLY
from dipapprox.cache import Cache
from dipapprox.data_classes import Record, field, replace
from dipapprox.errors import LimitReached
from dipapprox.events.catalogue import Catalogue
from dipapprox.events.event import Chosen, Connected, Event, Mixture, Star
from dipapprox.events.reduce import is_surely_possible
from dipapprox.exact.choices.circuits import is_possible_choice
from dipapprox.exact.distributions import SolvedInputs
from dipapprox.exact.signs.values import compare_at, enclose_at, sign_at
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.language.core import Input
from dipapprox.limits import check_limits
from dipapprox.pairs.divergence import (
    Attempt,
    ExactPairs,
    ExactSide,
    Growth,
    divergence,
    precisions,
)
from dipapprox.pairs.selections import Pair
from dipapprox.semantics.state import FinalStates

Terms = tuple[tuple[int, int], ...]
"""The outputs of a divergence as numbers of (Pr[P(u) = o], Pr[P(u') = o]), ascending."""


class Divergence(Record):
    """G over the outputs at some positions, with the first pair that it was met at."""

    pair: Pair
    outputs: tuple[int, ...]
    function: ExponentialRatio


class Distributions(Protocol):
    def distribution(self, input: Input) -> tuple[ExponentialRatio, ...] | NotEnclosed:
        """The probability of every output as a function of ε, or why there is none."""


class Obstacle(Exception):
    """Some distribution has no exact form. `reason` is for the verdict."""

    def __init__(self, reason: str, input: Input) -> None:
        super().__init__(reason)
        self.reason = reason
        self.input = input


class Functions(Record, frozen=False):
    """The distinct probabilities met so far, numbered; and their differences, by the factor
    e^{tε}. At a `point` functions with one value there are equal."""

    source: Distributions
    factor: ExponentialPolynomial
    point: Fraction | None = None
    known: list[ExponentialRatio] = field(default_factory=list)
    _numbers: dict[ExponentialRatio, int] = field(default_factory=dict)
    inputs: dict[Input, tuple[int, ...]] = field(default_factory=dict)
    _differences: dict[tuple[int, int], ExponentialRatio] = field(default_factory=dict)

    def for_input(self, input: Input) -> tuple[int, ...]:
        """Number the probabilities of one input; an `Obstacle` if they have no exact form."""
        known = self.inputs.get(input)
        if known is None:
            found = self.source.distribution(input)
            if isinstance(found, NotEnclosed):
                raise Obstacle(found.reason, input)
            if self.point is not None:
                found = tuple(each.at(self.point) for each in found)
            known = self.inputs[input] = tuple(map(self._number, found))
        return known

    def _number(self, function: ExponentialRatio) -> int:
        number = self._numbers.setdefault(function, len(self.known))
        if number == len(self.known):
            self.known.append(function)
        return number

    def difference(self, first: int, second: int) -> ExponentialRatio:
        key = first, second
        if key not in self._differences:
            p, q = self.known[first], self.known[second]
            self._differences[key] = p - ExponentialRatio(self.factor * q.numerator, q.denominator)
        return self._differences[key]

    def divergence(self, terms: Terms) -> ExponentialRatio:
        parts = [self.difference(*term) for term in terms]
        return reduce(add, parts) if parts else ExponentialRatio.constant(0)


def probability(value: Enclosure | NotEnclosed) -> Enclosure:
    """Return what is known of a probability whose exact form was enclosed, or was not."""
    if isinstance(value, NotEnclosed):
        return UNIT
    return value.intersect(UNIT, "the exact form of a probability")


class Count(Record, frozen=False):
    """How many ordered pairs were looked at, and how many with their sets of outputs."""

    pairs: int = 0
    inequalities: int = 0


_LARGEST_PRECISION = 2**17
"""Bits of enclosures in which an exact violation is looked for; it stays one without them."""

_MOST_KINDS = 1_000  # of pairs that are recognised when they come in another order of the outputs

_ONE = Fraction(1)
_ARGUMENT = "the signs of closed forms say so, however small the difference is"


_IMPOSSIBLE = "these outputs are possible, however unlikely, and impossible for the adjacent input"
_REMEMBERED = 100_000  # most inputs whose possible outputs are kept
_Outputs = tuple[frozenset[int], frozenset[int]]


class PossibleOutputs:
    """The outputs of a program that occur with positive probability, at one eps."""

    def __init__(self, states: FinalStates, eps: Fraction) -> None:
        self._catalogue = Catalogue(states, eps)
        self._inputs = SolvedInputs(self._catalogue, states)
        self._known: Cache[Input, _Outputs] = Cache(_REMEMBERED)
        self._events: dict[int, bool | None] = {}

    def only_first(self, pair: Pair) -> tuple[int, ...]:
        """Return outputs that are certainly possible for u and certainly impossible for u'."""
        check_limits()
        return tuple(sorted(self._of(pair[0])[0] - self._of(pair[1])[1]))

    def _of(self, input: Input) -> _Outputs:
        """The outputs that certainly are possible, and those that may be."""
        return self._known.find(input, lambda: self._found(input))

    def _found(self, input: Input) -> _Outputs:
        if self._catalogue.forget():
            self._inputs.forget()
            self._events.clear()
        sure, possible = set(), set()
        for output, numbers in self._inputs.states(input):
            found = [self._event(number) for number in numbers]
            if False not in found:
                possible.add(output)
            if all(found):
                sure.add(output)
        return frozenset(sure), frozenset(possible)

    def _event(self, number: int) -> bool | None:
        if number not in self._events:
            self._events[number] = self._is_possible(self._catalogue.events[number])
        return self._events[number]

    def _is_possible(self, event: Connected) -> bool | None:
        match event:
            case Event() | Star():
                return True if is_surely_possible(event) else None
            case Mixture(terms):
                seen = any(all(is_surely_possible(e) for e, _ in events) for _, events in terms)
                return True if seen else None
            case Chosen():
                try:
                    return is_possible_choice(event)
                except (LimitReached, ZeroDivisionError):
                    check_limits()
                    return None
            case _:
                assert_never(event)


class _NoForms:
    def distribution(self, _: Input) -> NotEnclosed:
        return NotEnclosed("no output is possible for one input only")


class ExactDeltas(ExactPairs):
    """Decides pairs by outputs that are possible for one input only, and by exact forms; what was
    computed is remembered.

    Args:
        source: Exact distributions at the claim's eps, as functions to be taken at 1; if any.
        possible: If δ is 0: such outputs refute it, whatever the budget.
    """

    def __init__(
        self,
        source: Distributions | None,
        growth: Growth,
        delta: Fraction,
        possible: PossibleOutputs | None = None,
    ) -> None:
        self.has_forms, self._possible = source is not None, possible
        self._functions = Functions(source or _NoForms(), growth.at_one(), _ONE)
        self._growth = growth
        self._delta = ExponentialRatio.constant(delta)
        self._bound = delta
        self._is_positive = cache(self._has_positive_sign)
        self._side = cache(self._compared)
        self._enclosure = cache(self._enclosed_probability)
        self._below: dict[Terms, Attempt] = {}

    def alike(self, pair: Pair) -> Attempt | None:
        first, second = map(self._functions.inputs.get, pair)
        if not self._below or first is None or second is None:
            return None  # forms are not looked for here
        known = self._below.get(tuple(sorted(zip(first, second, strict=True))))
        return None if known is None else replace(known, pair=pair)

    def decide(self, pair: Pair, bits: int) -> Attempt | NotEnclosed:
        outputs = () if self._possible is None else self._possible.only_first(pair)
        if outputs:  # no probability is enclosed
            proof = ExactSide(Side.ABOVE, outputs, _IMPOSSIBLE)
            return Attempt(pair, bits, UNIT, self._growth.bounds(bits), proof=proof)
        try:
            return self._decide(pair, bits)
        except Obstacle as obstacle:
            return NotEnclosed(obstacle.reason)
        except LimitReached as limit:
            # Pieces, degrees or bits of this pair: enclosures may still decide it. Time ends all.
            check_limits()
            return NotEnclosed(limit.reason)

    def _decide(self, pair: Pair, bits: int) -> Attempt:
        first, second = map(self._functions.for_input, pair)
        terms = tuple(zip(first, second, strict=True))
        positive = tuple(o for o, term in enumerate(terms) if self._is_positive(term))
        exceeds = self._side(tuple(sorted(terms[o] for o in positive))) > 0
        proof = ExactSide(Side.ABOVE if exceeds else Side.BELOW, positive, _ARGUMENT)
        delta = Enclosure(self._bound, _ONE) if exceeds else Enclosure(Fraction(0), self._bound)
        unknown = (UNIT,) * len(terms)
        factor = self._growth.bounds(bits)
        found = Attempt(pair, bits, delta, factor, unknown, unknown, proof=proof)
        # The side is proved. What follows describes the pair as well as limits allow.
        for more in precisions(bits, max(bits, _LARGEST_PRECISION)):
            try:
                found = self._enclosed(found, first, second, more)
            except LimitReached:
                break
            if not exceeds or found.delta.lower > self._bound:
                break
        if not exceeds and len(self._below) < _MOST_KINDS:
            kind, nothing = tuple(sorted(terms)), ExactSide(Side.BELOW, (), _ARGUMENT)
            self._below[kind] = replace(found, first=(), second=(), proof=nothing)
        return found

    def _enclosed(
        self, found: Attempt, first: tuple[int, ...], second: tuple[int, ...], bits: int
    ) -> Attempt:
        factor = self._growth.bounds(bits)
        ours, theirs = (tuple(self._enclosure(k, bits) for k in own) for own in (first, second))
        # delta_{u,u'} is on its side of the claimed one, and so is an end of its enclosure.
        own, by = divergence(ours, theirs, factor), f"enclosures of {bits} bits"
        delta = found.delta.intersect(own, by, EXACTLY, "the δ of one pair")
        return replace(found, bits=bits, delta=delta, factor=factor, first=ours, second=theirs)

    def _has_positive_sign(self, term: tuple[int, int]) -> bool:
        return sign_at(self._functions.difference(*term), _ONE) > 0

    def _compared(self, terms: Terms) -> int:
        """Return the sign of delta_{u,u'} - delta."""
        total = self._functions.divergence(terms).at(_ONE)
        return compare_at(total, self._delta, _ONE)

    def _enclosed_probability(self, number: int, bits: int) -> Enclosure:
        value = enclose_at(self._functions.known[number], _ONE, bits)
        return probability(value)
