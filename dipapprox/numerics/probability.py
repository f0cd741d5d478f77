"""Output distributions of a program: one enclosure per output, for any input row.

    row -> events of the final states -> independent factors -> normal forms -> cache or `Method`
        -> products -> sums per output -> tightened by "all outputs sum to 1"

In: the final states (inputs symbolic), an epsilon and a method. Out: what DiPApprox calls
Prob[epsilon, u, o], for every output o of `FinalStates.outputs()`.

Precision (DiPApprox section 5.2). If s states with at most k factors each make up an output, a
factor enclosed to 2^-(bits + ⌈log2 s⌉ + ⌈log2 k⌉) suffices: the width of a product of numbers in
[0, 1] is at most the sum of the widths.
"""

from __future__ import annotations

from collections import OrderedDict
from fractions import Fraction

from dipapprox.errors import BrokenInvariant
from dipapprox.events.canonical import canonical
from dipapprox.events.event import Event, Impossible
from dipapprox.events.instantiate import Instantiator
from dipapprox.events.reduce import reduce
from dipapprox.language.core import InputRow
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.numerics.method import Method
from dipapprox.semantics.state import FinalStates

_REMEMBERED = 100_000
"""Most factors, and most raw events, that are remembered."""

Factors = tuple[Event, ...] | None
"""Independent events in normal form whose conjunction is meant; None: impossible."""


class FactorCache:
    """The probabilities of events in normal form, the least recently used forgotten first.

    Args:
        method: Computes what is not known, or not well enough.
        limits: Handed to the method.
        size: Most events remembered.
    """

    def __init__(self, method: Method, limits: Limits, size: int = _REMEMBERED) -> None:
        self._method = method
        self._limits = limits
        self._size = size
        self._known: OrderedDict[Event, tuple[int, Enclosure]] = OrderedDict()

    def enclose(self, event: Event, bits: int) -> Enclosure | NotEnclosed:
        """Enclose Pr[event], at most 2**-bits wide if the method can.

        Raises:
            BrokenInvariant: If two enclosures of the same probability are disjoint.
            LimitReached: If the limits run out.
        """
        tried, known = self._known.get(event, (0, UNIT))
        if tried < bits and known.width > Fraction(1, 2**bits):
            found = self._method.enclose(event, bits, self._limits)
            if isinstance(found, NotEnclosed):
                return found
            if not found.meets(known):
                raise BrokenInvariant(
                    f"{self._method.name}: disjoint enclosures of one probability"
                )
            tried, known = bits, found.intersect(known)
            self._known[event] = tried, known
            if len(self._known) > self._size:
                self._known.popitem(last=False)
        if event in self._known:
            self._known.move_to_end(event)
        return known


class OutputProbabilities:
    """The output distribution of a program as a function of the input row.

    Args:
        states: The final states, inputs symbolic.
        epsilon: The program's privacy parameter, exact and > 0.
        method: How events are enclosed.
        limits: Asked throughout.
    """

    def __init__(
        self, states: FinalStates, epsilon: Fraction, method: Method, limits: Limits
    ) -> None:
        self._outputs = len(states.outputs())
        self._instantiator = Instantiator(states, epsilon)
        self._method = method
        self._limits = limits
        self._cache = FactorCache(method, limits)
        self._reduced: OrderedDict[Event, Factors] = OrderedDict()

    @property
    def name(self) -> str:
        """The method's word in reports."""
        return self._method.name

    def distribution(self, row: InputRow, bits: int) -> tuple[Enclosure, ...] | NotEnclosed:
        """Enclose the probability of every output, in the order of `FinalStates.outputs()`.

        Args:
            row: One value per input cell.
            bits: Wanted width: at most 2**-bits each. What comes back is proved even if wider.

        Returns:
            Enclosures inside [0, 1] whose sum contains 1; exactly [0, 0] for outputs that this row
            cannot have. Or the reason why some probability could not be enclosed.

        Raises:
            LimitReached: If the limits run out.
            BrokenInvariant: If the enclosures do not sum to 1: a bug.
        """
        found = []
        for states in self._factors(row):
            probability = self._output(states, bits)
            if isinstance(probability, NotEnclosed):
                return probability
            found.append(probability)
        return tightened(tuple(found))

    def state_counts(self, row: InputRow) -> tuple[int, ...]:
        """Count the final states of positive probability behind every output."""
        return tuple(len(states) for states in self._factors(row))

    def _factors(self, row: InputRow) -> list[list[tuple[Event, ...]]]:
        """For every output its possible states, each as its independent factors."""
        states: list[list[tuple[Event, ...]]] = [[] for _ in range(self._outputs)]
        for output, event in self._instantiator.events(row):
            self._limits.check()
            factors = self._reduce(event)
            if factors is not None:
                states[output].append(factors)
        return states

    def _reduce(self, event: Event) -> Factors:
        if event in self._reduced:
            self._reduced.move_to_end(event)
            return self._reduced[event]
        reduced = reduce(event)
        factors: Factors = None
        if not isinstance(reduced, Impossible):
            factors = tuple(canonical(factor) for factor in reduced.factors)
        self._reduced[event] = factors
        if len(self._reduced) > _REMEMBERED:
            self._reduced.popitem(last=False)
        return factors

    def _output(self, states: list[tuple[Event, ...]], bits: int) -> Enclosure | NotEnclosed:
        """Σ over states of Π over factors."""
        total = Enclosure.exact(0)
        if not states:
            return total
        most_factors = max(len(factors) for factors in states)
        wanted = bits + _bits_to_count(len(states)) + _bits_to_count(most_factors)
        for factors in states:
            product = Enclosure.exact(1)
            for factor in factors:
                found = self._cache.enclose(factor, wanted)
                if isinstance(found, NotEnclosed):
                    return found
                product = Enclosure(product.lower * found.lower, product.upper * found.upper)
            total = total + product
        if not total.meets(UNIT):
            raise BrokenInvariant("the states of one output have a total probability above 1")
        return total.intersect(UNIT)


def _bits_to_count(number: int) -> int:
    """⌈log2 number⌉, and 0 for 0."""
    return max(number - 1, 0).bit_length()


def tightened(enclosures: tuple[Enclosure, ...]) -> tuple[Enclosure, ...]:
    """Use that the enclosed numbers sum to 1: each is 1 minus the sum of the others.

    Raises:
        BrokenInvariant: If no such numbers exist: some enclosure is wrong.
    """
    lower = sum((each.lower for each in enclosures), Fraction(0))
    upper = sum((each.upper for each in enclosures), Fraction(0))
    if not lower <= 1 <= upper:
        raise BrokenInvariant(
            f"the probabilities of all outputs sum to [{float(lower)}, {float(upper)}], not to 1"
        )
    return tuple(
        each.intersect(Enclosure(1 - (upper - each.upper), 1 - (lower - each.lower)))
        for each in enclosures
    )
