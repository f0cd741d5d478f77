"""A source of distributions that remembers inputs: inputs occur in many pairs."""

from __future__ import annotations

from collections.abc import Sequence

from dipapprox.cache import Cache
from dipapprox.language.core import Input
from dipapprox.numerics.enclosure import NotEnclosed
from dipapprox.pairs.divergence import Probabilities
from dipapprox.pairs.search import ProbabilitySource

_REMEMBERED = 200_000
"""Most enclosures kept, a few hundred bytes each; at least the inputs of two pairs are."""


class RememberedInputs:
    """A source that keeps what was asked for last: inputs occur in many pairs.

    Args:
        source: What computes distributions.
        size: Most enclosures kept.
    """

    def __init__(self, source: ProbabilitySource, size: int = _REMEMBERED) -> None:
        self._source = source
        self._known: Cache[tuple[int, Input], Probabilities] = Cache(size, len, least=4)

    @property
    def name(self) -> str:
        """The word of the source."""
        return self._source.name

    def distributions(
        self, inputs: Sequence[Input], bits: int
    ) -> Sequence[Probabilities | NotEnclosed]:
        """Return the source's answers, computed now or before."""
        known = [self._known.get((bits, input)) for input in inputs]
        missing = [input for input, each in zip(inputs, known, strict=True) if each is None]
        fresh = iter(self._source.distributions(missing, bits) if missing else ())
        found = []
        for input, old in zip(inputs, known, strict=True):
            each = next(fresh) if old is None else old
            found.append(each)
            if old is None and not isinstance(each, NotEnclosed):
                self._known.put((bits, input), each)
        return found
