"""The gaps of a claim with δ > 0: for every pair, one for each sign pattern (`patterns`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from dipapprox.limits import Limits
from dipapprox.privacy.decisions.gaps import Count, Functions, Gap, Terms
from dipapprox.privacy.decisions.patterns import SignChanges, sign_patterns
from dipapprox.privacy.decisions.signs import Signs
from dipapprox.privacy.pairs.adjacency import Pair


@dataclass(slots=True)
class PatternGaps:
    """Makes gaps of sets of outputs; equal sets of functions only once, whatever the pairs."""

    functions: Functions
    signs: Signs
    limits: Limits
    _changes: dict[tuple[tuple[int, int], Fraction], SignChanges] = field(default_factory=dict)
    _patterns: dict[Terms, tuple[frozenset[tuple[int, int]], ...]] = field(default_factory=dict)

    def gaps(self, pairs: Iterable[Pair], count: Count) -> Iterator[Gap]:
        """Yield the gaps of all sets that are the worst at some ε.

        Raises:
            Obstacle: If a distribution has no exact form.
            LimitReached: If the limits run out.
        """
        met: set[Terms] = set()
        for pair in pairs:
            self.limits.check()
            first, second = self.functions.row(pair[0]), self.functions.row(pair[1])
            terms = tuple(zip(first, second, strict=True))
            patterns = self._patterns_of(tuple(sorted(set(terms))))
            count.pairs += 1
            count.inequalities += len(patterns)
            for pattern in patterns:
                outputs = tuple(o for o, term in enumerate(terms) if term in pattern)
                key = tuple(sorted(terms[o] for o in outputs))
                if key not in met:
                    met.add(key)
                    yield Gap(pair, outputs, self.functions.gap(key))

    def _patterns_of(self, terms: Terms) -> tuple[frozenset[tuple[int, int]], ...]:
        if terms not in self._patterns:

            def isolate(number: int, width: Fraction) -> SignChanges:
                return self._sign_changes(terms[number], width)

            found = sign_patterns(range(len(terms)), isolate)
            sets = tuple(frozenset(terms[k] for k in each) for each in found)
            # Nothing is to be shown of the empty set.
            self._patterns[terms] = tuple(each for each in sets if each)
        return self._patterns[terms]

    def _sign_changes(self, term: tuple[int, int], width: Fraction) -> SignChanges:
        key = term, width
        if key not in self._changes:
            difference = self.signs.numerator(self.functions.difference(*term))
            self._changes[key] = self.signs.changes(difference, width)
        return self._changes[key]
