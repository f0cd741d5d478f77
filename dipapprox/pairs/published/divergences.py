"""The hockey-stick divergence of what two inputs publish: summed over outcomes.

    delta_{u,u'} = Σ over outcomes o of sup over S of p_u(o, S) - growth p_u'(o, S)

for measures of different outcomes are singular to each other. An outcome without a published number
is a term max(0, p - growth q) of the finite sum; each other one is a divergence of measures on the
line, or of products of them.

Independent parts of a program (`semantics.parts`) publish a product, whatever their outcomes are:
what parts with equal measures publish counts for nothing (Fubini), and the others' losses add up,
each part being the sum over its own outcomes. So products of outcomes are not gone through.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed, enclosing, sure
from dipapprox.cache import Cache
from dipapprox.composition.explicit_sets import Weights, explicit_set
from dipapprox.composition.moments import Moment, Moments
from dipapprox.composition.product_measures import ProductMeasures
from dipapprox.data_classes import Record, replace
from dipapprox.errors import SourceError
from dipapprox.events.event import Interval, Part, PublishedOutcome, mapped
from dipapprox.events.measures import Measures, Measuring
from dipapprox.language.cells import is_seen_whole
from dipapprox.language.core import Input
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.methods import Method
from dipapprox.numerics.real_outputs.hockey_stick import Split
from dipapprox.pairs.divergence import Factor, divergence
from dipapprox.pairs.published.normal_form import (
    CoordinatePlace,
    MeasureSides,
    NormalMeasures,
    Unmoved,
    in_order,
    moved,
    normal_form,
    unmoved,
)
from dipapprox.pairs.selections import Pair
from dipapprox.semantics.execution import execute
from dipapprox.semantics.parts import ProgramPart, independent_parts
from dipapprox.semantics.state import FinalStates

_REMEMBERED = 20_000
_ACCURATE = 52  # most bits for pairs that publish several numbers
_MOST_GRIDS = 4  # of single outcomes, each narrower than one of all outcomes of independent parts
_SHOWN = 32  # most bits for sets that show what independent parts tell together
_ZERO = Fraction(0)
NOTHING = Enclosure.exact(0)


class OutcomeExcess(Record):
    """The set of one outcome that is more than growth times as likely, or nearly that set."""

    outcome: PublishedOutcome
    # For sums of coordinates of the outcome the intervals that they lie in; what is not named may
    # be any number. None: those of a likelihood ratio above the factor.
    where: Mapping[LinearForm, tuple[Interval, ...]] | None
    first: Enclosure  # its probability at u, as `second` at u'; [0, 1] without intervals
    second: Enclosure
    value: Enclosure  # encloses what it adds to the divergence


_Outcomes = Mapping[PublishedOutcome, tuple[int, Unmoved]]
Terms = tuple[tuple[MeasureSides, int], ...]
"""The outcomes of a pair in normal form, equal ones counted: they tell all its divergences."""

_Apart = tuple[int, int, tuple[tuple[Fraction, ...], ...]]
"""Two measures of one outcome up to shifts of its coordinates: the numbers of their parts without
constants, and the constants of these parts less those of the first of them."""


class _Sides(Record):
    """What two inputs publish with one outcome, and what decides its normal form."""

    outcome: PublishedOutcome
    first: Unmoved
    second: Unmoved
    apart: _Apart


_ABSENT = 0
_NO_PARTS = _ABSENT, Unmoved((), ())  # of an outcome that an input cannot have


class PublishedDivergences:
    """Divergences between inputs of one program at one eps; `method` encloses events."""

    def __init__(self, measuring: Measuring, method: Method) -> None:
        self._measuring = measuring
        self._method = method
        self._words: dict[str, None] = {}
        self._products = ProductMeasures(method)
        self.masses = self._products.masses
        self._measures: Cache[Input, Measures | NotEnclosed] = Cache(_REMEMBERED)
        self._unmoved: Cache[Input, _Outcomes] = Cache(_REMEMBERED)
        self._numbers: Cache[tuple[Part, ...], int] = Cache(_REMEMBERED)
        self._next = itertools.count(_ABSENT + 1)
        self._forms: Cache[_Apart, NormalMeasures] = Cache(_REMEMBERED)
        self._terms: Cache[tuple[_Apart, ...], Terms] = Cache(_REMEMBERED)
        # Of one pair with these outcomes those of its independent parts: they tell the same.
        self._split: Cache[Terms, tuple[Terms, ...]] = Cache(_REMEMBERED)
        self._known: Cache[tuple[MeasureSides, Factor, int], Split | NotEnclosed] = Cache(
            _REMEMBERED
        )

    @property
    def name(self) -> str:
        """The words in reports: the method's, and what else has proved something."""
        return " + ".join(dict.fromkeys((*self._method.name.split(" + "), *self._words)))

    @property
    def names(self) -> tuple[str, ...]:
        return self._measuring.names

    @property
    def states(self) -> FinalStates:
        return self._measuring.states

    def of(self, states: FinalStates) -> PublishedDivergences:
        """Return those of other final states at the same eps."""
        measuring = Measuring(states, self._measuring.eps)
        return PublishedDivergences(measuring, self._method)

    def note(self, word: str) -> None:
        """Have reports name one more thing that has proved something."""
        self._words[word] = None

    def distributions(self, inputs: Sequence[Input], bits: int) -> Sequence[NotEnclosed]:
        """Say that there are none: see `ProbabilitySource`."""
        return [NotEnclosed("numbers have densities, no probabilities")] * len(inputs)

    @enclosing
    def terms(self, pair: Pair) -> Terms:
        """Return the outcomes of a pair in normal form: equal for pairs that look alike."""
        parts = [
            (own, tuple(tuple([side[k] for k in part.inputs]) for side in pair))
            for part, own in self._parts
        ]
        different = [(own, (u, v)) for own, (u, v) in parts if u != v]
        if self._parts and len(different) <= 1:
            # What is independent of it, and alike, tells nothing.
            return sure(different[0][0].terms(different[0][1])) if different else ()
        found = self._apart(pair)

        def counted() -> Terms:
            counts = Counter(self._form(each).sides for each in found)
            return in_order(tuple(counts.items()))

        terms = self._terms.find(tuple([each.apart for each in found]), counted)
        if different and self._split.get(terms) is None:
            told = [sure(own.terms(its)) for own, its in different]
            tell = [own for own in told if any(s.first != s.second for s, _ in own)]
            if all(sides.coordinates < 2 for own in tell for sides, _ in own):
                self._split.put(terms, tuple(tell))
        return terms

    @cached_property
    def _parts(self) -> list[tuple[ProgramPart, PublishedDivergences]]:
        """The program's independent parts that publish something; none if it is none of them, or
        has one state."""
        states = self.states
        if len(states.states) < 2 or is_seen_whole(states.program):
            return []
        found = [each for each in independent_parts(states.program) if each.outputs]
        if sum(each.random for each in found) < 2:
            return []
        try:
            parts = [execute(each.program, True, real_outputs=True) for each in found]
        except SourceError:  # for inputs that are not looked at
            return []
        return list(zip(found, map(self.of, parts), strict=True))

    @enclosing
    def divergence(self, terms: Terms | NotEnclosed, factor: Factor, bits: int) -> Enclosure:
        """Enclose delta_{u,u'} of the pairs with these outcomes, if they are told."""
        terms = sure(terms)
        if any(sides.coordinates > 1 for sides, _ in terms):
            bits = min(bits, _ACCURATE)  # no product gets narrower, and so nothing else need be
        split = self._split.get(terms)
        grids = (self._products.grids(sides.first, sides.second) for sides, _ in terms)
        if split is not None and sum(grids) > _MOST_GRIDS:
            return sure(self._of_parts(split, factor, bits))
        own = bits + len(terms).bit_length()
        lower = upper = Fraction(0)
        for sides, count in terms:
            term = sure(self._term(sides, factor, own))
            lower += count * term.value.lower
            upper += count * term.value.upper
        return Enclosure(min(lower, Fraction(1)), min(upper, Fraction(1)))

    def _of_parts(
        self, split: Sequence[Terms], factor: Factor, bits: int
    ) -> Enclosure | NotEnclosed:
        """Enclose the divergence of pairs whose independent parts have these outcomes."""
        if len(split) == 1:
            return self.divergence(split[0], factor, bits)
        outcomes = [tuple([(s.first, s.second, n) for s, n in terms]) for terms in split]
        found = self._products.of_parts(outcomes, _growth(factor), bits)
        if isinstance(found, NotEnclosed) or factor.upper is not None:
            return found
        return Enclosure(Fraction(0), found.upper)

    @enclosing
    def moment(self, terms: Terms, order: Fraction, budget: Fraction | None) -> Moment:
        """Bound the sum of ∫ p^a q^(1-a), for a = 1 of ∫ p ln(p/q), of pairs with these outcomes.

        Args:
            order: a >= 1.
            budget: K: no set is more than e^K times as likely; None if none is known.
        """
        moments = Moments(self._products, order)
        lower, upper = Fraction(0), Fraction(0)
        bounded = True
        for sides, count in terms:
            found = sure(moments.of(sides.first, sides.second, budget))
            if found.infinite:
                return found
            lower += count * found.lower
            bounded = bounded and found.upper is not None
            upper += count * (found.upper or 0)
        return Moment(lower, upper if bounded else None)

    @enclosing
    def excess(self, pair: Pair, factor: Factor, bits: int) -> list[OutcomeExcess]:
        """Return for each outcome a set that nearly attains its divergence; without empty ones."""
        sides = sure(self.sides(pair))
        if self._split.get(sure(self.terms(pair))) is not None:
            bits = min(bits, _SHOWN)
        own = bits + len(sides).bit_length()
        found = []
        for outcome, form in sides:
            term = sure(self._term(form.sides, factor, own))
            if term.intervals == () or not term.first.upper or not term.value.upper:
                continue
            where: dict[LinearForm, tuple[Interval, ...]] | None = None
            if term.intervals is not None:
                weights = ((term.coordinate, Fraction(1)),)
                conditions = ((weights, term.intervals),) if form.places else ()
                where = _where(conditions, form.places)
            found.append(OutcomeExcess(outcome, where, term.first, term.second, term.value))
        return found

    def explicit(
        self, pair: Pair, found: OutcomeExcess, factor: Factor, bits: int, *, best: bool
    ) -> OutcomeExcess | None:
        """Describe a set of an outcome that is more likely.

        Args:
            found: Of the outcome, without intervals.
            factor: With an upper end.
            best: Whether only sets are wanted that are so by nearly as much as possible.

        Returns:
            The set, `value` being that of what was found; None if no rule finds one.
        """
        sides = self.sides(pair)
        form = None if isinstance(sides, NotEnclosed) else dict(sides).get(found.outcome)
        if form is None or factor.upper is None:
            return None  # it may be an outcome of what tells less
        growth = Enclosure(factor.lower, factor.upper)
        measures = form.sides.first, form.sides.second
        own = explicit_set(self._products, *measures, growth, bits, best=best)
        if own is None:
            return None
        where = _where(own.conditions, form.places)
        return replace(found, where=where, first=own.first, second=own.second)

    def measures(self, input: Input) -> Measures | NotEnclosed:
        return self._measures.find(input, lambda: self._measuring.at(input))

    @enclosing
    def sides(self, pair: Pair) -> list[tuple[PublishedOutcome, NormalMeasures]]:
        """Return the measures of each outcome that the first input may have, in normal form."""
        forms = []
        for each in self._apart(pair):
            form, base = self._form(each), each.first.constants[0]
            places = [replace(p, shift=p.shift + base[p.coordinate]) for p in form.places]
            forms.append((each.outcome, NormalMeasures(form.sides, tuple(places))))
        return forms

    def _apart(self, pair: Pair) -> list[_Sides]:
        first, second = map(self._without_shifts, pair)
        found = []
        for outcome, (number, own) in first.items():
            partner, other = second.get(outcome, _NO_PARTS)
            base = own.constants[0]
            differences = tuple(
                tuple([c - b for c, b in zip(each, base, strict=True)])
                for each in (*own.constants, *other.constants)
            )
            found.append(_Sides(outcome, own, other, (number, partner, differences)))
        # Outcomes of the second input alone add sup over S of 0 - growth second(S) = 0.
        return found

    def _without_shifts(self, input: Input) -> _Outcomes:
        """Return what an input publishes, equal parts numbered, and where it lies."""
        known = self._unmoved.get(input)
        if known is not None:
            return known
        found = {}
        for outcome, parts in sure(self.measures(input)).items():
            own = unmoved(parts)
            # What was forgotten gets another number: then two numbers stand for the same.
            found[outcome] = self._numbers.find(own.parts, lambda: next(self._next)), own
        return self._unmoved.put(input, found)

    def _form(self, each: _Sides) -> NormalMeasures:
        """Return a normal form, of the measures moved to where the first part of the first is 0."""

        def made() -> NormalMeasures:
            constants, size = each.apart[2], len(each.first.parts)
            own, other = moved(each.first, constants[:size]), moved(each.second, constants[size:])
            return normal_form(MeasureSides(own, other))

        return self._forms.find(each.apart, made)

    def _term(self, sides: MeasureSides, factor: Factor, bits: int) -> Split | NotEnclosed:
        return self._known.find((sides, factor, bits), lambda: self._computed(sides, factor, bits))

    @enclosing
    def _computed(self, sides: MeasureSides, factor: Factor, bits: int) -> Split:
        if sides.first == sides.second:
            # growth >= 1: no set is more than growth times as likely.
            return Split(NOTHING, (), NOTHING, NOTHING)
        if not sides.coordinates or not sides.second:
            masses = (self.masses.of(parts, bits + 2) for parts in (sides.first, sides.second))
            first, second = map(sure, masses)
            return Split(divergence((first,), (second,), factor), ((None, None),), first, second)
        split = sure(self._products.divergence(sides.first, sides.second, _growth(factor), bits))
        value = split.value
        if factor.upper is None:
            # What the second never is in counts with any factor.
            alone = Fraction(0) if split.second.upper else split.first.lower
            value = Enclosure(min(alone, value.upper), value.upper)
        return replace(split, value=value)


def _growth(factor: Factor) -> Enclosure:
    return Enclosure(factor.lower, factor.lower if factor.upper is None else factor.upper)


def _where(
    conditions: Iterable[tuple[Weights, tuple[Interval, ...]]], places: Sequence[CoordinatePlace]
) -> dict[LinearForm, tuple[Interval, ...]]:
    """Write conditions on the numbers of a normal form, z = sign (y - shift), as ones on
    coordinates y."""
    found = {}
    for weights, intervals in conditions:
        form = LinearForm.constant_form(0)
        for number, c in weights:
            place = places[number]
            own = LinearForm.symbol(place.coordinate) - LinearForm.constant_form(place.shift)
            form = form + own.scaled(c * place.sign)
        if len(form.terms) == 1:
            factor = 1 / form.terms[0][1]
            form, moved = form.scaled(factor), [mapped(each, factor, _ZERO) for each in intervals]
            intervals = tuple(moved if factor > 0 else moved[::-1])
        shift = -form.constant
        ends = tuple(mapped(each, Fraction(1), shift) for each in intervals)
        found[form + LinearForm.constant_form(shift)] = ends
    return found
