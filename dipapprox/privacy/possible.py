"""Which outputs can occur at all: that alone refutes pure privacy, without any number.

An open set of values of samples has positive probability, be it below any precision. If an output
can occur for one input and never for an adjacent one, no budget is enough for delta 0.
"""

from __future__ import annotations

from fractions import Fraction
from typing import assert_never

from dipapprox.arithmetic.enclosure import UNIT, NotEnclosed, Side
from dipapprox.cache import Cache
from dipapprox.errors import LimitReached
from dipapprox.events.catalogue import Catalogue
from dipapprox.events.event import Chosen, Connected, Event, Mixture, Star
from dipapprox.events.supports import is_surely_possible
from dipapprox.exact.choices.circuits import is_possible_choice
from dipapprox.exact.distributions import SolvedInputs
from dipapprox.language.core import Input
from dipapprox.limits import Limits
from dipapprox.pairs.divergence import Attempt, ExactSide, Growth
from dipapprox.pairs.search import ExactPairs
from dipapprox.pairs.selections import Pair
from dipapprox.semantics.state import FinalStates

_ARGUMENT = "these outputs are possible, however unlikely, and impossible for the adjacent input"
_REMEMBERED = 100_000
"""Most inputs whose possible outputs are kept."""

_Outputs = tuple[frozenset[int], frozenset[int]]


class PossibleOutputs:
    """The outputs of a program that occur with positive probability, at one eps."""

    def __init__(self, states: FinalStates, eps: Fraction, limits: Limits) -> None:
        self._catalogue = Catalogue(states, eps)
        self._inputs = SolvedInputs(self._catalogue, states)
        self._limits = limits
        self._known: Cache[Input, _Outputs] = Cache(_REMEMBERED)
        self._events: dict[int, bool | None] = {}

    def only_first(self, pair: Pair) -> tuple[int, ...]:
        """Return outputs that are certainly possible for u and certainly impossible for u'."""
        self._limits.check()
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
        """Whether an event has positive probability; None if that is not seen."""
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
                    return is_possible_choice(event, self._limits)
                except (LimitReached, ZeroDivisionError):
                    self._limits.check()
                    return None
            case _:
                assert_never(event)


class PureViolations(ExactPairs):
    """Decides pairs that violate delta 0 whatever the budget."""

    has_forms = False

    def __init__(self, possible: PossibleOutputs, growth: Growth) -> None:
        self._possible = possible
        self._growth = growth

    def decide(self, pair: Pair, bits: int) -> Attempt | NotEnclosed:
        """See `ExactPairs`; no probability is enclosed."""
        outputs = self._possible.only_first(pair)
        if not outputs:
            return NotEnclosed("no output is possible for one input only")
        proof = ExactSide(Side.ABOVE, outputs, _ARGUMENT)
        return Attempt(pair, bits, UNIT, self._growth.bounds(bits), proof=proof)


class FirstThat(ExactPairs):
    """Asks several deciders of pairs, one after the other."""

    def __init__(self, *deciders: ExactPairs) -> None:
        self._deciders = deciders
        self.has_forms = any(each.has_forms for each in deciders)

    def decide(self, pair: Pair, bits: int) -> Attempt | NotEnclosed:
        """Return the first decision, or why the last one made none."""
        found: Attempt | NotEnclosed = NotEnclosed("nothing decides pairs exactly")
        for each in self._deciders:
            found = each.decide(pair, bits)
            if isinstance(found, Attempt):
                break
        return found
