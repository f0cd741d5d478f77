"""The divergences that settle a claim: for every pair, one for each sign pattern (`patterns`).

Differences that agree up to a positive factor, or a negative one, change their signs together: they
count as one function there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dipapprox.data_classes import dataclass, field
from dipapprox.exact.signs.normal_form import NormalForm, normal_form
from dipapprox.limits import Limits
from dipapprox.pairs.selections import Orbit
from dipapprox.privacy.decisions.divergences import (
    Count,
    Divergence,
    Functions,
    Terms,
)
from dipapprox.privacy.decisions.patterns import SignChanges, sign_patterns
from dipapprox.privacy.decisions.signs import Signs

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
        """Yield the divergences of all sets that are the worst at some ε.

        Raises:
            Obstacle: If a distribution has no exact form.
        """
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
