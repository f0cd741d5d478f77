"""Side by side in one process: engines against each other, certified against plain numpy.

In: cases. Out: `Comparison`s and `TierComparison`s.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.cases import (
    AnyCase,
    Batch,
    Chain,
    certified,
    certified_afresh,
    eliminated,
    nested,
    nested_literally,
    verification,
)
from bench.plain import Array, NoPlainEvaluation
from bench.plain_events import Prepared
from bench.timing import NoAnswer, Patience, Ratio, Run, Timing, ratio, side_by_side
from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.events.event import Connected
from dipapprox.integrals import Strategy
from dipapprox.limits import rare_collections
from dipapprox.privacy.options import Engine

ELIMINATION, NESTED, LITERAL = "elimination", "nested", "nested --no-optimize, not merged"
CERTIFIED, AFRESH = "certified float64", "certified float64, afresh"
PLAIN, PREPARED = "plain numpy", "plain numpy, events read beforehand"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The engines on one case.

    Attributes:
        name: Of the case.
        timings: By contestant; the first is what the others are compared with.
    """

    name: str
    timings: Mapping[str, Timing]

    def ratios(self) -> dict[str, Ratio | None]:
        """Return how many times longer the other contestants took than the first."""
        first, *others = self.timings
        return {name: ratio(self.timings[name], self.timings[first]) for name in others}


@dataclass(frozen=True, slots=True)
class TierComparison:
    """The certified float64 tier against plain numpy on the same events.

    Attributes:
        name: Of the batch.
        events: How many.
        timings: CERTIFIED, AFRESH, PLAIN and PREPARED.
        width: Of the widest enclosure; None if there is none.
        distance: The largest one of a plain value from its enclosure's midpoint; None likewise.
    """

    name: str
    events: int
    timings: Mapping[str, Timing]
    width: float | None
    distance: float | None

    def ratio(self) -> Ratio | None:
        """Return how many times longer the certified tier took, in a process that was at work."""
        return ratio(self.timings[CERTIFIED], self.timings[PLAIN])

    def ratio_afresh(self) -> Ratio | None:
        """Return how many times longer it took if it had to prove all node values first."""
        return ratio(self.timings[AFRESH], self.timings[PLAIN])


def compare_engines(case: AnyCase, programs: Path, patience: Patience) -> Comparison:
    """Time elimination, `nested` and the published method's shape on a case, in turns."""
    if isinstance(case, Chain):
        runs = {
            ELIMINATION: eliminated(case),
            NESTED: nested(case),
            LITERAL: nested_literally(case),
        }
    else:
        program = case.read(programs)
        runs = {
            ELIMINATION: verification(case, program),
            NESTED: verification(case, program, Engine.NESTED),
            LITERAL: verification(case, program, Engine.NESTED, Strategy.NONE, merge=False),
        }
    return Comparison(case.name, side_by_side(runs, patience))


@rare_collections()
def compare_tier(batch: Batch, programs: Path, patience: Patience) -> TierComparison:
    """Time the certified float64 tier and plain numpy on the same events, in turns.

    Both begin with the events and end with their probabilities, garbage is collected as in a
    verification. PREPARED is what plain numpy takes
    when it knows what is in the events.
    """
    events = batch.events(programs)
    plain = _prepared(events)
    timings = side_by_side(
        {
            AFRESH: _ignoring_the_cap(lambda: certified_afresh(events)),
            CERTIFIED: _ignoring_the_cap(lambda: certified(events)),
            PLAIN: _ignoring_the_cap(lambda: _plainly(events)),
            PREPARED: _ignoring_the_cap(plain),
        },
        patience,
    )
    width, distance = None, None
    with suppress(NoAnswer):
        enclosures = [each for each in certified(events) if isinstance(each, Enclosure)]
        width = max(float(each.width) for each in enclosures)
        middles = [float((each.lower + each.upper) / 2) for each in enclosures]
        distance = float(np.abs(np.array(middles) - plain()).max())
    return TierComparison(batch.name, len(events), timings, width, distance)


def _plainly(events: Sequence[Connected]) -> Array:
    try:
        return Prepared(events).evaluate()
    except NoPlainEvaluation as missing:
        raise NoAnswer(str(missing)) from None


def _prepared(events: Sequence[Connected]) -> Callable[[], Array]:
    """Return the plain evaluation, or one that says why there is none."""
    try:
        prepared = Prepared(events)
        prepared.evaluate()
        return prepared.evaluate
    except NoPlainEvaluation as missing:
        reason = str(missing)

    def nothing() -> Array:
        raise NoAnswer(reason)

    return nothing


def _ignoring_the_cap(action: Callable[[], object]) -> Run:
    def run(cap: float) -> None:
        action()

    return run
