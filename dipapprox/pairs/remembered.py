"""A source of distributions that remembers rows: inputs occur in many pairs."""

from __future__ import annotations

from collections.abc import Sequence

from dipapprox.cache import Cache
from dipapprox.language.core import InputRow
from dipapprox.numerics.enclosure import NotEnclosed
from dipapprox.pairs.divergence import Probabilities
from dipapprox.pairs.search import ProbabilitySource

_REMEMBERED = 200_000
"""Most enclosures kept, a few hundred bytes each; at least the rows of two pairs are."""


class RememberedRows:
    """A source that keeps what was asked for last: inputs occur in many pairs.

    Args:
        source: What computes distributions.
        size: Most enclosures kept.
    """

    def __init__(self, source: ProbabilitySource, size: int = _REMEMBERED) -> None:
        self._source = source
        self._known: Cache[tuple[int, InputRow], Probabilities] = Cache(size, len, least=4)

    @property
    def name(self) -> str:
        """The word of the source."""
        return self._source.name

    def distributions(
        self, rows: Sequence[InputRow], bits: int
    ) -> Sequence[Probabilities | NotEnclosed]:
        """Return the source's answers, computed now or before."""
        known = [self._known.get((bits, row)) for row in rows]
        missing = [row for row, each in zip(rows, known, strict=True) if each is None]
        fresh = iter(self._source.distributions(missing, bits) if missing else ())
        found = []
        for row, old in zip(rows, known, strict=True):
            each = next(fresh) if old is None else old
            found.append(each)
            if old is None and not isinstance(each, NotEnclosed):
                self._known.put((bits, row), each)
        return found
