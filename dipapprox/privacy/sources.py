"""Final states and options in, sources of output distributions out; a memory for rows."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from dipapprox.cache import Cache
from dipapprox.deferred import Deferred
from dipapprox.language.core import InputRow
from dipapprox.numerics.enclosure import NotEnclosed
from dipapprox.numerics.methods import Method
from dipapprox.numerics.probability import OutputProbabilities
from dipapprox.pairs.divergence import Probabilities
from dipapprox.pairs.search import ExactPairs, ProbabilitySource
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.methods import open_method
from dipapprox.privacy.options import Options
from dipapprox.semantics.state import FinalStates

if TYPE_CHECKING:
    from dipapprox.exact import distributions
    from dipapprox.exact.choices import validity
    from dipapprox.exact.signs import interval
    from dipapprox.privacy import exact_pairs, possible
else:
    distributions = Deferred("dipapprox.exact.distributions")
    exact_pairs = Deferred("dipapprox.privacy.exact_pairs")
    interval = Deferred("dipapprox.exact.signs.interval")
    possible = Deferred("dipapprox.privacy.possible")
    validity = Deferred("dipapprox.exact.choices.validity")

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


def open_probabilities(
    states: FinalStates, epsilon: Fraction, options: Options, method: Method | None = None
) -> OutputProbabilities:
    """Choose the engine for a program at one epsilon.

    Args:
        states: The program's final states.
        epsilon: Where it runs.
        options: Ask for an engine.
        method: That of `open_method`, where several programs share one.

    Raises:
        UserError: If some choice of the program is no probability distribution at `epsilon`.
        LimitReached: If that cannot be told.
    """
    if states.laws:
        point = interval.EpsilonInterval(epsilon, epsilon, True, True)
        validity.check_choices(states.laws, point, options.limits)
    return OutputProbabilities(states, epsilon, method or open_method(options), options.limits)


def open_source(states: FinalStates, epsilon: Fraction, options: Options) -> ProbabilitySource:
    """Choose the engine, and remember rows."""
    return RememberedRows(open_probabilities(states, epsilon, options))


def open_exact_pairs(states: FinalStates, claim: Claim, options: Options) -> ExactPairs | None:
    """Open what decides pairs exactly; None if the options forbid it or nothing can."""
    if not options.compares_exactly:
        return None
    deciders: list[ExactPairs] = []
    if not claim.delta:
        outputs = possible.PossibleOutputs(states, claim.epsilon, options.limits)
        deciders.append(possible.PureViolations(outputs, claim.growth))
    if not any(sample.family.is_gaussian for sample in states.samples):
        source = distributions.ExactDistributions(states, claim.epsilon, options.limits)
        deciders.append(exact_pairs.ExactDeltas(source, claim.growth, claim.delta, options.limits))
    return possible.FirstThat(*deciders) if deciders else None
