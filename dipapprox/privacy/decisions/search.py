"""Every inequality of a claim, each function of ε decided once.

for each divergence G of each pair (`exact_pairs`, and below):
    f := δ - G without its denominators   -- seen before -------->  next divergence
        f >= 0 on the whole interval  ---------------------------->  next divergence
        f < 0 somewhere  -- δ exact, or f < 0 with δ from above -->  violated: stop
        |                   (or go on, if every violation is asked for)
        +-- δ known by brackets: narrower brackets, until `LAST_BITS`: open, "tight-delta"
        no sign found: open, with the reason

It is no search over ε or precisions: `exact.signs` knows all ε at once.

Ranges of ε that violate the claim have ends that hold for the true δ. A δ that is known by brackets
only gives two sets of ranges: with the bracket's upper end those that are violated for certain,
with its lower end those that may be. Brackets are narrowed until the two correspond to each other.

Which sets of outputs matter when δ > 0: one for each sign pattern, not one for each subset.

At a given ε the worst set holds the outputs o with g_o = Pr[P(u) = o] - e^{tε} Pr[P(u') = o] > 0.
It stays the same between two sign changes of the g_o, so there are at most as many sets as sign
changes, plus one. Sign changes are put in order exactly, equal ones together. Where that cannot be
done, all sets that some order could give are taken: more sets than needed are never wrong, because
the claim is about every set.

Differences that agree up to a positive factor, or a negative one, change their signs together: they
count as one function there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import assert_never

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed, short
from dipapprox.data_classes import Record, field
from dipapprox.digits import exact_text
from dipapprox.errors import LimitReached
from dipapprox.exact.signs.nonnegative import Negative, NegativeRange, Nonnegative, Undecided
from dipapprox.exact.signs.normal_form import NormalForm, normal_form
from dipapprox.exact.signs.supremum import Supremum, enclose_supremum
from dipapprox.exact.signs.zeros import ZeroCluster, in_order
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.limits import check_limits
from dipapprox.pairs.selections import Orbit
from dipapprox.privacy.decisions.decision import (
    Cause,
    DecisionQuestion,
    LeastUniformDelta,
    Open,
    closed_interval,
)
from dipapprox.privacy.decisions.delta import LAST_BITS
from dipapprox.privacy.decisions.signs import Answer, SignChanges, Signs, cause_of, sign_key
from dipapprox.privacy.exact_pairs import Count, Divergence, Functions, Terms

_Term = tuple[int, int]
_MOST_TOGETHER = 8  # most functions whose sign changes are taken in any order


def sign_patterns(signs: Mapping[int, SignChanges]) -> Iterator[frozenset[int]]:
    """Yield the sets of functions, by their numbers, that may be positive together, each once."""
    owners = [f for f, sign in signs.items() for _ in sign.changes]
    places = in_order([zero for sign in signs.values() for zero in sign.changes])
    current = frozenset(f for f, sign in signs.items() if sign.positive)
    found = {current}
    yield current
    for place in places:
        changing = [owners[k] for k in place.members]
        near = set() if place.equal else _all_orders(place, frozenset(changing), current)
        for f in changing:
            current = current ^ {f}
        for each in (*near, current):
            if each not in found:
                found.add(each)
                yield each


def _all_orders(
    place: ZeroCluster, changing: frozenset[int], current: frozenset[int]
) -> set[frozenset[int]]:
    if len(changing) > _MOST_TOGETHER:
        near, _ = short(Enclosure.exact(place.zero.lower))
        raise LimitReached(
            f"degree-budget: {len(changing)} sign changes cannot be told apart at {near}"
        )
    sets = {current}
    for f in changing:
        sets |= {each ^ {f} for each in sets}
    return sets


_COARSE = Fraction(1, 1000)  # width of the ends of the ranges in which a supremum is looked for
_MOST_OPEN = 100  # undecided inequalities that are listed; more are only counted


class Violated(Record):
    divergence: Divergence
    # δ - G times positive factors; of a δ known by brackets with the upper end: where it is
    # negative the claim is violated.
    slack: ExponentialPolynomial
    eps: Fraction


class DecisionSearch(Record, frozen=False):
    """One run; the fields after `functions` are valid whenever it ends."""

    question: DecisionQuestion
    signs: Signs
    functions: Functions
    count: Count = field(default_factory=Count)
    violation: Violated | None = None
    decided: int = 0  # distinct functions whose sign is known
    # If every violation is asked for: where the claim is violated.
    violated_on: list[NegativeRange] = field(default_factory=list)
    unlocated: int = 0  # number of violated divergences whose ranges are not known
    undecided: int = 0
    cause: Cause | None = None
    open: list[Open] = field(default_factory=list)
    _met: set[NormalForm | None] = field(default_factory=set)
    # Differences up to factors: their numbers, and whether those are positive; None for 0.
    _signed: dict[_Term, tuple[int, bool] | None] = field(default_factory=dict)
    _forms: dict[NormalForm, int] = field(default_factory=dict)
    _changes: list[SignChanges] = field(default_factory=list)
    _patterns: dict[Terms, tuple[frozenset[_Term], ...]] = field(default_factory=dict)

    def run(self, pairs: Iterable[Orbit]) -> None:
        """Decide what settles the claim until all is done or something certainly violates it.

        For δ = 0 that are the divergences of single outputs, else of all sets that are the worst
        at some ε. Pairs may be names that stand for some.
        """
        for divergence in self._divergences(pairs, self.count, self.question.delta.is_zero):
            self._decide(divergence)
            if self.violation is not None and not self.question.violations:
                return

    def _divergences(
        self, pairs: Iterable[Orbit], count: Count, single: bool
    ) -> Iterator[Divergence]:
        """Yield the divergences of single outputs, or of all sets that are the worst at some ε;
        equal sets of functions once, whatever the pairs."""
        met: set[Terms] = set()
        for pair, number in pairs:
            check_limits()
            first, second = self.functions.for_input(pair[0]), self.functions.for_input(pair[1])
            terms = tuple(zip(first, second, strict=True))
            sets = (
                [((o,), (term,)) for o, term in enumerate(terms)] if single else self._sets(terms)
            )
            count.pairs += number
            count.inequalities += number * len(sets)
            for outputs, key in sets:
                if key not in met:
                    met.add(key)
                    yield Divergence(pair, outputs, self.functions.divergence(key))

    def _sets(self, terms: Terms) -> list[tuple[tuple[int, ...], Terms]]:
        """The sets of outputs that are the worst at some ε, with their functions."""
        found = []
        for pattern in self._patterns_of(tuple(sorted(set(terms)))):
            outputs = tuple(o for o, term in enumerate(terms) if term in pattern)
            found.append((outputs, tuple(sorted(terms[o] for o in outputs))))
        return found

    def _patterns_of(self, terms: Terms) -> tuple[frozenset[_Term], ...]:
        if terms not in self._patterns:
            found = [(term, *signed) for term in terms if (signed := self._signed_form(term))]
            sets = (
                frozenset(term for term, number, same in found if (number in positive) is same)
                for positive in sign_patterns({k: self._changes[k] for _, k, _ in found})
            )
            # Nothing is to be shown of the empty set.
            self._patterns[terms] = tuple(each for each in sets if each)
        return self._patterns[terms]

    def _signed_form(self, term: _Term) -> tuple[int, bool] | None:
        if term not in self._signed:
            numerator, found = self.signs.numerator(self.functions.difference(*term)), None
            if numerator:
                form, negative = normal_form(numerator), normal_form(-numerator)
                same = negative not in self._forms
                known = form if same else negative
                if known not in self._forms:
                    self._changes.append(self.signs.changes(numerator))
                    self._forms[known] = len(self._forms)
                found = self._forms[known], same
            self._signed[term] = found
        return self._signed[term]

    def _decide(self, divergence: Divergence) -> None:
        for low, high in self.question.delta.brackets():
            slack = self.signs.numerator(low - divergence.function)
            key = sign_key(slack)
            if key in self._met:
                return
            found = self.signs.is_nonnegative(slack)
            # Equal signs for δ's lower end are equal answers only if that end is δ, or suffices.
            if low == high or isinstance(found, Nonnegative):
                self._met.add(key)
            if not isinstance(found, Negative) or low == high:
                break
            slack = self.signs.numerator(high - divergence.function)
            found = self.signs.is_nonnegative(slack)
            if not isinstance(found, Nonnegative):  # for the larger δ only
                break
        else:
            found = Undecided(
                f"tight-delta: the difference exceeds δ by less than 2^-{LAST_BITS}, or not at all"
            )
        self._record(divergence, slack, found)

    def _record(self, divergence: Divergence, slack: ExponentialPolynomial, found: Answer) -> None:
        match found:
            case Nonnegative():
                self.decided += 1
            case Negative(eps):
                self.decided += 1
                if self.violation is None:
                    self.violation = Violated(divergence, slack, eps)
                if self.question.violations:
                    # Until they are known: a limit may be reached here.
                    self.unlocated += 1
                    ranges = self.ranges(divergence)
                    self.violated_on += ranges or ()
                    self.unlocated -= ranges is not None
            case Undecided(reason):
                self.undecided += 1
                self.cause = self.cause or cause_of(reason, Cause.PRECISION_BUDGET)
                if len(self.open) < _MOST_OPEN:
                    self.open.append(Open(divergence.pair, divergence.outputs, reason))
            case _:
                assert_never(found)

    def ranges(self, divergence: Divergence) -> tuple[NegativeRange, ...] | None:
        """Return where it exceeds δ, ends to about a width; None if brackets do not tell."""
        signs, width = self.signs, self.question.width
        found: tuple[NegativeRange, ...] | None = None
        for low, high in self.question.delta.brackets():
            certain = signs.negative(signs.numerator(high - divergence.function), width)
            if low == high:
                return certain
            possible = signs.negative(signs.numerator(low - divergence.function), width)
            found = _joined(certain, possible)
            ends = (end for each in found or () for end in (each.lower, each.upper) if end)
            if found is not None and all(end.width <= 4 * width for end in ends):
                return found
        return found

    def least_delta(self, pairs: Iterable[Orbit]) -> LeastUniformDelta:
        """Enclose the least δ to the width of the question, exactly where it is a rational
        limit."""
        signs, zero = self.signs, Fraction(0)
        lower = upper = zero
        best: tuple[Divergence, Supremum] | None = None
        met: set[ExponentialPolynomial | ExponentialRatio] = set()
        for divergence in self._divergences(pairs, Count(), False):
            function = divergence.function
            key = function if function.denominator else function.numerator
            if key in met:
                continue
            met.add(key)
            slack = signs.numerator(ExponentialRatio.constant(lower) - function)
            if isinstance(signs.is_nonnegative(slack), Nonnegative):
                continue
            # Where it is not positive it may be -∞.
            for each in signs.negative(-signs.numerator(function), _COARSE):
                part = closed_interval(each.lower.lower, each.upper.upper if each.upper else None)
                found = enclose_supremum(function, part, self.question.width)
                if isinstance(found, NotEnclosed):
                    raise LimitReached(
                        f"precision-budget: the least δ has no enclosure: {found.reason}"
                    )
                upper = max(upper, found.value.upper)
                if best is None or found.value.lower > lower:
                    lower, best = max(lower, found.value.lower), (divergence, found)
        enclosure = Enclosure(lower, min(max(lower, upper), Fraction(1)))
        exact = lower if enclosure.width == 0 else None
        if best is None:
            return LeastUniformDelta(enclosure, exact, "attained everywhere", None, ())
        attained, supremum = best
        where = _where(supremum)
        return LeastUniformDelta(enclosure, exact, where, attained.pair, attained.outputs)


def _joined(
    certain: Sequence[NegativeRange], possible: Sequence[NegativeRange]
) -> tuple[NegativeRange, ...] | None:
    """Enclose the ends that lie between those of inner and outer ranges, one by one."""
    if len(certain) != len(possible):
        return None
    joined = []
    for inner, outer in zip(certain, possible, strict=True):
        if (inner.upper is None) != (outer.upper is None):
            return None
        upper = None
        if inner.upper is not None and outer.upper is not None:
            if inner.upper.lower > outer.upper.upper:
                return None
            upper = Enclosure(inner.upper.lower, outer.upper.upper)
        if outer.lower.lower > inner.lower.upper:
            return None
        if (inner.lower_included, inner.upper_included) != (
            outer.lower_included,
            outer.upper_included,
        ):
            return None
        lower = Enclosure(outer.lower.lower, inner.lower.upper)
        joined.append(NegativeRange(lower, upper, inner.lower_included, inner.upper_included))
    return tuple(joined)


def _where(supremum: Supremum) -> str:
    place = supremum.place
    if place is None:
        return "approached as ε → ∞"
    if place.upper == 0:
        return "approached as ε → 0"
    if place.width == 0:
        return f"attained at ε = {exact_text(place.lower)}"
    low, high = short(place)
    return f"attained at ε in [{low}, {high}]"
