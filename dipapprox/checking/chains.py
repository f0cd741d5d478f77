"""Loops that end by chance: finite Markov chains, and where they are absorbed.

States are eliminated one after the other, as Grassmann, Taksar and Heyman do for stationary
distributions ("Regenerative analysis and steady state distributions for Markov chains", Operations
Research 33, 1985): a state that is left with the weights w_t for other states t is replaced by

    Σ_t w_t / (Σ_t w_t) x_t,        as its weights, its own included, add up to 1.

Nothing is subtracted, so that balls stay narrow; where absorption is certain no divisor is 0. The
weights may be numbers of any field: balls at one ε, or exact functions of ε.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from functools import reduce
from typing import Protocol, TypeVar

from dipapprox.checking.chances import Chance
from dipapprox.checking.values import Stuck
from dipapprox.data_classes import dataclass, field
from dipapprox.limits import Limits

Products = tuple[tuple["Random", ...], ...]
"""A sum of products of probabilities; no factors: 1."""


@dataclass(frozen=True, slots=True)
class Chain:
    """A chain that starts in state 0.

    Attributes:
        rows: For every state its next states, each once, with their probabilities; none where the
            chain is absorbed.
    """

    rows: tuple[tuple[tuple[int, Products], ...], ...]
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash(self.rows))

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True, slots=True)
class Absorbed:
    """That a chain is absorbed in one of its states."""

    chain: Chain
    state: int


Random = Chance | Absorbed
"""Something that happens with a probability that depends on ε only."""

T = TypeVar("T")


class Field(Protocol[T]):
    """Arithmetic with probabilities."""

    one: T

    def plus(self, left: T, right: T) -> T:
        """left + right."""

    def times(self, left: T, right: T) -> T:
        """left * right."""

    def over(self, left: T, right: T) -> T:
        """left / right."""


def chances_in(happening: Random) -> Iterator[Chance]:
    """Yield the choices, outcome by outcome, that something rests on."""
    if isinstance(happening, Chance):
        yield happening
        return
    for row in happening.chain.rows:
        for _, products in row:
            for product in products:
                for each in product:
                    yield from chances_in(each)


def is_possible(happening: Random, has_chance: Callable[[Chance], bool]) -> bool:
    """Whether something can happen, if some choices have the outcomes that they have."""
    if isinstance(happening, Chance):
        return has_chance(happening)
    return happening.state in _reached(happening.chain, has_chance)


def require_ending(
    chain: Chain, possible: Callable[[Chance], bool], certain: Callable[[Chance], bool]
) -> None:
    """Make sure that a chain, and those in it, are absorbed with probability 1.

    Args:
        chain: The chain.
        possible: Whether an outcome of a choice may have a probability above 0.
        certain: Whether it surely has one.

    Raises:
        Stuck: If that is not shown.
    """
    reached = _reached(chain, possible)
    ending = {state for state, row in enumerate(chain.rows) if not row}
    sources: dict[int, list[int]] = {}
    for state, row in enumerate(chain.rows):
        for target, products in row:
            for product in products:
                for each in product:
                    if isinstance(each, Absorbed):
                        require_ending(each.chain, possible, certain)
            if _any_possible(products, certain):
                sources.setdefault(target, []).append(state)
    waiting = list(ending)
    while waiting:
        for source in sources.get(waiting.pop(), ()):
            if source not in ending:
                ending.add(source)
                waiting.append(source)
    if not reached <= ending:
        raise Stuck("a loop is not shown to end with probability 1")


def absorption(
    chain: Chain,
    probability: Callable[[Random], T],
    possible: Callable[[Chance], bool],
    numbers: Field[T],
    limits: Limits,
) -> dict[int, T]:
    """Return the probabilities of the states in which a chain may be absorbed.

    Args:
        chain: Its absorption is certain.
        probability: Of everything in its rows.
        possible: Whether an outcome of a choice may have a probability above 0.
        numbers: Their arithmetic.
        limits: Asked at every step.

    Raises:
        LimitReached: If `limits` run out.
    """
    if not chain.rows[0]:
        return {0: numbers.one}
    rows: dict[int, dict[int, T]] = {}
    for state in _reached(chain, possible):
        limits.check()
        row = rows[state] = {}
        for target, products in chain.rows[state]:
            terms = [
                reduce(numbers.times, map(probability, product), numbers.one)
                for product in products
                if _any_possible((product,), possible)
            ]
            if terms:
                row[target] = reduce(numbers.plus, terms)
    inner = {state: row for state, row in rows.items() if row}
    sources: dict[int, set[int]] = {state: set() for state in rows}
    for state, row in inner.items():
        for target in row:
            sources[target].add(state)
    while True:
        limits.check()
        others = (state for state in inner if state)
        state = min(others, key=lambda s: (len(sources[s]) * len(inner[s]), s), default=0)
        row = inner.pop(state)
        row.pop(state, None)
        total = reduce(numbers.plus, row.values())
        left = {target: numbers.over(weight, total) for target, weight in row.items()}
        if not state:
            return left
        for target in left:
            sources[target].discard(state)
        for source in sources[state] - {state}:
            weight = inner[source].pop(state)
            for target, share in left.items():
                term = numbers.times(weight, share)
                known = inner[source].get(target)
                inner[source][target] = term if known is None else numbers.plus(known, term)
                sources[target].add(source)


def _any_possible(products: Products, possible: Callable[[Chance], bool]) -> bool:
    return any(all(is_possible(each, possible) for each in product) for product in products)


def _reached(chain: Chain, possible: Callable[[Chance], bool]) -> Set[int]:
    """The states that can be reached."""
    found, waiting = {0}, [0]
    while waiting:
        for target, products in chain.rows[waiting.pop()]:
            if target not in found and _any_possible(products, possible):
                found.add(target)
                waiting.append(target)
    return found
