"""Side by side in one process: engines against each other, certified against plain numpy.

In: cases. Out: rows.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np

from bench.cases import (
    AnyCase,
    Batch,
    Case,
    Chain,
    certified,
    certified_afresh,
    enclosing,
    verification,
)
from bench.plain import Prepared
from bench.rows import DISTANCE, NAME, TIMES, Figure, Row, Rows, Table, of, taken
from bench.timing import NoAnswer, Patience, Ratio, Run, ratio, side_by_side
from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.integrals.strategy import Strategy
from dipapprox.limits import rare_collections
from dipapprox.numerics.elimination.engine import Eliminated
from dipapprox.numerics.nested.engine import Nested
from dipapprox.privacy.run import Engine

ELIMINATION, NESTED, LITERAL = "elimination", "nested", "nested --no-optimize, not merged"
CERTIFIED, AFRESH = "certified float64", "certified float64, afresh"
PLAIN, PREPARED = "plain numpy", "plain numpy, events read beforehand"

FOUR_UNMERGED = Case("noisy_max_gauss", 4, merge=False)

_TIMES_FASTER = ((LITERAL, 1000.0), (NESTED, 50.0))
"""Than these, for Noisy-Max-Gauss, N = 4, not merged."""

_MOST_TIMES_PLAIN = 3.0

_WIDEST = 1e-12


def compare_engines(case: AnyCase, programs: Path, patience: Patience) -> Row:
    """Time elimination, `nested` and the published method's shape on a case, in turns."""
    if isinstance(case, Chain):
        runs = {
            ELIMINATION: enclosing(Eliminated, case),
            NESTED: enclosing(lambda: Nested(Strategy.LEAST_NESTING), case),
            LITERAL: enclosing(lambda: Nested(Strategy.NONE), case),
        }
    else:
        program = case.read(programs)
        runs = {
            ELIMINATION: verification(case, program),
            NESTED: verification(case, program, Engine.NESTED),
            LITERAL: verification(case, program, Engine.NESTED, Strategy.NONE, merge=False),
        }
    timings = side_by_side(runs, patience)
    ratios = {name: ratio(timings[name], timings[ELIMINATION]) for name in (NESTED, LITERAL)}
    return Row(case, {"n": case.n, "timings": timings, "ratios": ratios})


def _against_nested(rows: Rows) -> list[Figure]:
    ratios: dict[str, Ratio | None] = {}
    for row in rows:
        if row.case == FOUR_UNMERGED:
            ratios = row.found["ratios"]
    figures = []
    for other, wanted in _TIMES_FASTER:
        goal, times = f"≥ {wanted:g} times faster than {other}", ratios.get(other)
        found = "" if times is None else f"{times} times"
        unknown = times is None or (times.at_least and times.value < wanted)
        reached = None if unknown or times is None else times.value >= wanted
        figures.append(Figure(FOUR_UNMERGED.name, goal, found, reached))
    return figures


ENGINES = Table(
    "engines",
    """## Engines side by side

A whole verification of the papers' pair (0…0, 0…01) in one process: execution, events,
probabilities, verdict, at 40 bits. `elimination` is the default engine. The last contestant has the
published method's shape: every final state as one literal nest of integrals, states not merged.
A chain's probability is enclosed to a relative width of 1e-6.""",
    (
        *(NAME, *taken(ELIMINATION, NESTED), ("times", of("ratios", NESTED))),
        *(*taken(LITERAL), ("times", of("ratios", LITERAL))),
    ),
    _against_nested,
)


@rare_collections()
def compare_tier(batch: Batch, programs: Path, patience: Patience) -> Row:
    """Time the certified float64 tier and plain numpy on the same events, in turns.

    Both begin with the events and end with their probabilities, garbage is collected as in a
    verification. AFRESH had to prove all node values first; PREPARED is what plain numpy takes
    when it knows what is in the events. The row has the width of the widest enclosure, and the
    largest distance of a plain value from its enclosure's midpoint; None where there is none.
    """
    events = batch.events(programs)
    prepared = cache(lambda: Prepared(events))
    with suppress(NoAnswer):
        prepared()
    timings = side_by_side(
        {
            AFRESH: _ignoring_the_cap(lambda: certified_afresh(events)),
            CERTIFIED: _ignoring_the_cap(lambda: certified(events)),
            PLAIN: _ignoring_the_cap(lambda: Prepared(events).evaluate()),
            PREPARED: _ignoring_the_cap(lambda: prepared().evaluate()),
        },
        patience,
    )
    width, distance = None, None
    with suppress(NoAnswer):
        enclosures = [each for each in certified(events) if isinstance(each, Enclosure)]
        width = max(float(each.width) for each in enclosures)
        middles = [float((each.lower + each.upper) / 2) for each in enclosures]
        distance = float(np.abs(np.array(middles) - prepared().evaluate()).max())
    return Row(
        batch,
        {
            "events": len(events),
            "timings": timings,
            "ratio": ratio(timings[CERTIFIED], timings[PLAIN]),
            "ratio_afresh": ratio(timings[AFRESH], timings[PLAIN]),
            "width": width,
            "distance": distance,
        },
    )


def _ignoring_the_cap(action: Callable[[], object]) -> Run:
    def run(cap: float) -> None:
        action()

    return run


def _against_plain(rows: Rows) -> list[Figure]:
    goal = f"certified float64 ≤ {_MOST_TIMES_PLAIN:g} times plain numpy"
    figures = []
    for row in rows:
        times, afresh, width = (row.found[key] for key in ("ratio", "ratio_afresh", "width"))
        if times is None or afresh is None:
            figures.append(Figure(row.name, goal, "", None))
        else:
            found = f"{times} times, afresh {afresh} times"
            figures.append(Figure(row.name, goal, found, times.value <= _MOST_TIMES_PLAIN))
        if width is not None:
            wanted = f"first enclosures at most {_WIDEST:g} wide"
            figures.append(Figure(row.name, wanted, f"{width:.1e}", width <= _WIDEST))
    return figures


TIER = Table(
    "certified and plain",
    """## Certified float64 tier beside plain numpy

The probabilities of the same distinct events, every enclosure at most 2^-40 wide asked. Plain numpy
is Gauss-Legendre quadrature without any error bound (`plain.py`), NOT rigorous. Both begin with the
events and end with their probabilities. "read" is what plain numpy takes when it knows beforehand
what is in the events. The engine remembers nothing, but the process knows grids with the node
values of laws, as in any run after the first; "afresh" is without them: then the node values of all
densities and distribution functions are proved again, which plain numpy has no need of.
"distance" is the largest one of a plain value from its enclosure's midpoint.""",
    (
        *(NAME, ("events", of("events")), *taken(CERTIFIED), ("afresh", of("timings", AFRESH))),
        *(*taken(PLAIN), ("read", of("timings", PREPARED)), TIMES),
        *(("times afresh", of("ratio_afresh")), ("widest enclosure", of("width")), DISTANCE),
    ),
    _against_plain,
)
