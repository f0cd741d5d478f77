"""Which sets of outputs matter when δ > 0: one for each sign pattern, not one for each subset.

At a given ε the worst set holds the outputs o with g_o = Pr[P(u) = o] - e^{tε} Pr[P(u') = o] > 0.
It stays the same between two sign changes of the g_o, so there are at most as many sets as sign
changes, plus one. Sign changes are put in order exactly, equal ones together. Where that cannot be
done, all sets that some order could give are taken: more sets than needed are never wrong, because
the claim is about every set.

Differences that agree up to a positive factor, or a negative one, change their signs together: they
count as one function there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from dipapprox.arithmetic.enclosure import Enclosure, short
from dipapprox.data_classes import dataclass, field
from dipapprox.errors import LimitReached
from dipapprox.exact.signs.normal_form import NormalForm, normal_form
from dipapprox.exact.signs.zero import ZeroCluster, in_order
from dipapprox.limits import Limits
from dipapprox.pairs.selections import Orbit
from dipapprox.privacy.decisions.divergences import Count, Divergence, Functions, Terms
from dipapprox.privacy.decisions.signs import SignChanges, Signs

_MOST_TOGETHER = 8  # most functions whose sign changes are taken in any order
_Term = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Mirror:
    """A difference up to positive factors, and its negative."""

    form: NormalForm
    negative: NormalForm
    changes: SignChanges


@dataclass(slots=True)
class PatternDivergences:
    """Makes divergences over sets of outputs; equal sets of functions once, whatever the pairs."""

    functions: Functions
    signs: Signs
    limits: Limits
    _mirrors: dict[_Term, _Mirror | None] = field(default_factory=dict)
    _changes: dict[NormalForm, SignChanges] = field(default_factory=dict)
    _patterns: dict[Terms, tuple[frozenset[_Term], ...]] = field(default_factory=dict)

    def divergences(self, pairs: Iterable[Orbit], count: Count) -> Iterator[Divergence]:
        """Yield the divergences of all sets that are the worst at some ε."""
        met: set[Terms] = set()
        for pair, number in pairs:
            self.limits.check()
            first, second = self.functions.for_input(pair[0]), self.functions.for_input(pair[1])
            terms = tuple(zip(first, second, strict=True))
            patterns = self._patterns_of(tuple(sorted(set(terms))))
            count.pairs += number
            count.inequalities += number * len(patterns)
            for pattern in patterns:
                outputs = tuple(o for o, term in enumerate(terms) if term in pattern)
                key = tuple(sorted(terms[o] for o in outputs))
                if key not in met:
                    met.add(key)
                    yield Divergence(pair, outputs, self.functions.divergence(key))

    def _patterns_of(self, terms: Terms) -> tuple[frozenset[_Term], ...]:
        if terms in self._patterns:
            return self._patterns[terms]
        numbers: dict[NormalForm, int] = {}
        signs: dict[int, SignChanges] = {}
        owners: list[tuple[_Term, int, bool]] = []
        for term in terms:
            mirror = self._mirror(term)
            if mirror is None:  # the zero function is never positive
                continue
            opposite = mirror.negative in numbers
            number = numbers.setdefault(mirror.negative if opposite else mirror.form, len(numbers))
            signs.setdefault(number, mirror.changes)
            owners.append((term, number, not opposite))
        sets = (
            frozenset(term for term, number, same in owners if (number in positive) is same)
            for positive in sign_patterns(signs, self.limits)
        )
        # Nothing is to be shown of the empty set.
        self._patterns[terms] = tuple(each for each in sets if each)
        return self._patterns[terms]

    def _mirror(self, term: _Term) -> _Mirror | None:
        if term not in self._mirrors:
            found = None
            numerator = self.signs.numerator(self.functions.difference(*term))
            if numerator:
                form = normal_form(numerator)
                if form not in self._changes:
                    self._changes[form] = self.signs.changes(numerator)
                found = _Mirror(form, normal_form(-numerator), self._changes[form])
            self._mirrors[term] = found
        return self._mirrors[term]


def sign_patterns(signs: Mapping[int, SignChanges], limits: Limits) -> Iterator[frozenset[int]]:
    """Yield the sets of functions, by their numbers, that may be positive together, each once."""
    owners = [f for f, sign in signs.items() for _ in sign.changes]
    places = in_order([zero for sign in signs.values() for zero in sign.changes], limits)
    current = frozenset(f for f, sign in signs.items() if sign.positive)
    found: set[frozenset[int]] = set()
    for each in [current, *_later(places, owners, current)]:
        if each not in found:
            found.add(each)
            yield each


def _later(
    places: tuple[ZeroCluster, ...], owners: list[int], current: frozenset[int]
) -> Iterator[frozenset[int]]:
    """Yield the sets from the first sign change on."""
    for place in places:
        changing = [owners[k] for k in place.members]
        if not place.equal:
            yield from _all_orders(place, frozenset(changing), current)
        for f in changing:
            current = current ^ {f}
        yield current


def _all_orders(
    place: ZeroCluster, changing: frozenset[int], current: frozenset[int]
) -> Iterator[frozenset[int]]:
    """Yield the sets that some order of the sign changes gives."""
    if len(changing) > _MOST_TOGETHER:
        near, _ = short(Enclosure.exact(place.zero.lower))
        raise LimitReached(
            f"degree-budget: {len(changing)} sign changes cannot be told apart at {near}"
        )
    sets = {current}
    for f in changing:
        sets |= {each ^ {f} for each in sets}
    yield from sets
