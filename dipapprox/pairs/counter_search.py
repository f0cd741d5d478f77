"""All adjacent pairs together: the ladder of precisions over the dynamic program of `largest`."""

from __future__ import annotations

from functools import partial

from dipapprox.errors import BrokenInvariant
from dipapprox.language.core import Program
from dipapprox.numerics.enclosure import Enclosure, Side, compare
from dipapprox.pairs.adjacency import Pair
from dipapprox.pairs.attempt import Attempt
from dipapprox.pairs.counters import CounterPlan
from dipapprox.pairs.largest import largest_delta
from dipapprox.pairs.search import ExactPairs, Progress, Search
from dipapprox.pairs.tables import Tables


def search_counters(
    search: Search,
    program: Program,
    plan: CounterPlan,
    tables: Tables,
    total: int,
    progress: Progress,
    *,
    elsewhere: bool,
) -> bool:
    """Climb the ladder with all pairs together; False if another road is better.

    That is so if there are too many counters after all, or if the claimed delta may be attained:
    exact forms decide that pair by pair.

    bits := the first precision
    bound the largest delta  --- <= claimed ----> DP
        ^      |      |
        |  undecided  +--- > claimed -----------> check the pair that attains the lower bound
        |      |
        |      +--- claimed 0, exact forms: settle terms that may be 0 --- all are ---> DP
        |      |
        |      +--- exact forms, and `elsewhere` ------> another road
        |      |
        +- bits left? -- no --------------------> give up the pair that attains the upper bound

    Args:
        search: Fresh.
        program: The program.
        plan: Its counters.
        tables: Bounds of probabilities.
        total: Number of pairs.
        progress: Told about pairs of counters.
        elsewhere: Whether another road is affordable.
    """
    largest = None
    bits = 0
    for bits in search.ladder:
        search.bits = max(search.bits, bits)
        bound = partial(
            largest_delta,
            plan,
            program.inputs,
            partial(tables.cells, bits=bits),
            search.limits,
            progress,
        )
        found = bound()
        if found is None:
            return False
        largest = found
        exact = search.exact
        if exact is not None and bits == search.ladder[0] and _attained(largest.delta, search):
            settled = bound(partial(_settle, exact))
            if settled is not None and settled.delta.upper == 0:
                largest = settled
                search.exactly += total
        match compare(largest.delta, search.delta):
            case Side.BELOW:
                search.cover(total, largest.delta)
                return True
            case Side.ABOVE:
                search.cover(total, largest.delta)
                search.check(largest.certain)
                if search.violation is None and not search.undecided:
                    raise BrokenInvariant("a pair violates together with others, but not alone")
                return True
            case Side.UNDECIDED:
                if exact is not None and exact.has_forms and elsewhere:
                    return False
        if tables.obstacle is not None:
            break
    assert largest is not None, "the ladder is empty"
    search.cover(total, largest.delta)
    own = search.attempt(largest.likely, bits)
    if search.check_exactly(largest.likely, own) and search.violation is not None:
        return True
    delta = Enclosure(min(own.delta.lower, search.delta), largest.delta.upper)
    search.give_up(
        Attempt(own.pair, bits, delta, own.factor, own.first, own.second, tables.obstacle)
    )
    return True


def _attained(delta: Enclosure, search: Search) -> bool:
    """Whether the claim is delta = 0, and may be attained."""
    return search.delta == delta.lower == 0 < delta.upper


def _settle(exact: ExactPairs, output: int, pair: Pair) -> bool:
    return exact.exceeds(output, pair) is False
