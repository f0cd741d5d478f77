"""Bounds of what is published by what tells less, and by what tells more.

**Lemma (processing).** If what a program publishes is computed from what another one publishes,
then its delta_{u,u'} is at most the other's: every set of what is computed is a set of what it is
computed from.

    less    some of the numbers, beside the finite outputs; or these alone
    more    all samples, or numbers of which what is compared and published are sums, where these
            are made of no inputs; what is chosen at random is chosen alike, whatever inputs are

So where a joint density is out of reach, other programs bound delta from both sides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import combinations

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, Missing, NotEnclosed, enclosing, sure
from dipapprox.data_classes import replace
from dipapprox.errors import LimitReached
from dipapprox.events.event import PublishedOutcome
from dipapprox.language.core import Cell
from dipapprox.language.domains import AllReals
from dipapprox.linear.form import FormSpan, LinearForm
from dipapprox.pairs.divergence import Factor
from dipapprox.pairs.published.divergences import OutcomeExcess, PublishedDivergences
from dipapprox.pairs.published.normal_form import NormalMeasures
from dipapprox.pairs.selections import Pair
from dipapprox.semantics.state import FinalState, FinalStates, Reading, guards_of

_FEW = 4  # numbers of which all subsets are tried; of more only single ones, and none
_MOST_SAMPLES = 16
COARSE_BITS = 24  # of what bounds others: from two sides, more than that is left between them
_Less = tuple[tuple[int, ...], PublishedDivergences]
"""Which of the numbers are published; and what that tells."""


class Processed:
    def __init__(self, divergences: PublishedDivergences) -> None:
        self._own = divergences

    @cached_property
    def _less(self) -> list[_Less]:
        return [(k, self._own.of(each)) for k, each in _less_published(self._own.states)]

    @cached_property
    def _more(self) -> PublishedDivergences | None:
        more = telling_more(self._own.states)
        return self._own.of(more[-1]) if more else None

    def bounds(self, pair: Pair, factor: Factor, least: Fraction) -> Enclosure:
        """Bound the delta of a pair; [0, 1] if nothing is known.

        Args:
            least: Nothing else is asked where it is at most this.

        Raises:
            LimitReached: If a limit is reached before anything is known.
        """
        known = UNIT
        try:
            if self._more is not None:
                more = self._more.divergence(self._more.terms(pair), factor, COARSE_BITS)
                if isinstance(more, Enclosure):
                    known = Enclosure(known.lower, more.upper)
            if known.upper > least:
                for _, found in self._found(pair, factor):
                    known = Enclosure(max(known.lower, found.lower), known.upper)
        except LimitReached:
            if known == UNIT:
                raise
        return known

    @enclosing
    def excess(self, pair: Pair, factor: Factor) -> list[OutcomeExcess]:
        """Return the sets that tell a pair apart best; numbers that are left out may be any."""
        found = list(self._found(pair, factor))
        if not found:
            raise Missing(NotEnclosed("less is no easier"))
        (places, own), _ = max(found, key=lambda each: each[1].lower)
        sets = sure(own.excess(pair, factor, COARSE_BITS))
        return [replace(each, outcome=self._whole(places, each.outcome)) for each in sets]

    def sides(self, pair: Pair) -> Iterator[tuple[PublishedOutcome, NormalMeasures]]:
        """Yield the outcomes of all programs that tell less, with their measures in reach."""
        for places, own in self._less:
            sides = own.sides(pair)
            for outcome, form in () if isinstance(sides, NotEnclosed) else sides:
                yield self._whole(places, outcome), form

    def _whole(self, places: Sequence[int], outcome: PublishedOutcome) -> PublishedOutcome:
        """Return an outcome with numbers at these places; nothing is said of the others."""
        count = len(self._own.names)
        others = {k: LinearForm.symbol(count + k) for k in range(count)}
        known = dict(zip(places, outcome.reals, strict=True))
        return replace(outcome, reals=tuple((others | known).values()))

    def _found(self, pair: Pair, factor: Factor) -> Iterator[tuple[_Less, Enclosure]]:
        """Yield the deltas of the programs that tell less, of the largest that are in reach."""
        done: list[set[int]] = []
        for places, own in self._less:
            if any(known.issuperset(places) for known in done):
                continue
            delta = own.divergence(own.terms(pair), factor, COARSE_BITS)
            if isinstance(delta, Enclosure):
                done.append(set(places))
                yield (places, own), delta


def _less_published(states: FinalStates) -> Iterator[tuple[tuple[int, ...], FinalStates]]:
    """Yield programs that publish some of the numbers, most first, and the places of these."""
    cells = states.program.real_outputs
    for size in range(len(cells) - 1, -1, -1):
        if len(cells) > _FEW and size > 1:
            continue
        for places in combinations(range(len(cells)), size):
            own = [
                replace(each, reals=tuple(each.reals[k] for k in places)) for each in states.states
            ]
            program = replace(states.program, real_outputs=tuple(cells[k] for k in places))
            yield places, replace(states, program=program, states=tuple(own))


def telling_more(states: FinalStates) -> list[FinalStates]:
    """Return programs that tell no less; none if more than samples tells inputs apart.

    The last one publishes all samples; before it comes one that publishes fewer numbers, of which
    all that is compared and published are sums.
    """
    forms = [guard.form for state in states.states for guard in guards_of(state.path)]
    forms += [form for state in states.states for form in state.reals]
    told = states.comparisons or any(isinstance(each, Reading) for each in states.choices)
    told = told or any(state.conditions for state in states.states)
    if told or any(form.inputs() for form in forms):
        return []
    used = sorted({sample for form in forms for sample in form.samples()})
    if len(used) > _MOST_SAMPLES or any(states.samples[k].family.is_discrete for k in used):
        return []
    span = FormSpan()
    for number, form in enumerate(forms):
        span.put(form, number)
    numbers = [[LinearForm.symbol(k) for k in used]]
    if len(span.rows) < len(used):
        numbers.insert(0, [row for row, _ in span.rows.values()])
    one = states.states[0].outputs
    found = []
    for own in numbers:
        state = FinalState(one, (), None, reals=tuple(own))
        cells = tuple([Cell(f"number {k}", "number", k, AllReals()) for k in range(len(own))])
        program = replace(states.program, real_outputs=cells)
        only = replace(states, program=program, choices=(), states=(state,), outputs=(one,))
        found.append(only)
    return found
