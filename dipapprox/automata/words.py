"""Lower bounds from words that several runs may fit: what is left of probabilities as ε grows.

As ε → ∞, -ln(probability of a word)/ε tends to its *rate*: the least, over all runs that fit the
word and all samples that they allow, of Σ d_j |z_j - mean_j|, where a fresh sample pays its
distance from its interval. (Laplace's principle for each run; of a finite sum of exponentials the
slowest remains.) If the automaton is (D·ε, 0)-private for every ε, then D is at least the rate of
the first input less that of the second. Unlike the bounds of `shifts.py` this says nothing of a
single ε.

Real outputs are shown in (0, η) with η → 0, or in a half line; there is a cheapest vector of
samples that takes each from the means and the ends of these intervals (a linear programme of
differences), so a pass over the word with the stored values finds the rate exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import lcm

from dipapprox.automata.model import Automaton, Sample, Transition, is_real
from dipapprox.automata.runs import Run
from dipapprox.automata.shifts import Changes
from dipapprox.data_classes import dataclass
from dipapprox.errors import BrokenInvariant
from dipapprox.limits import Limits


@dataclass(frozen=True, slots=True)
class Symbol:
    """An output symbol is seen."""

    name: str


@dataclass(frozen=True, slots=True)
class NearZero:
    """A real output is seen in (0, η), for η → 0."""


@dataclass(frozen=True, slots=True)
class HalfLine:
    """A real output is seen beyond `end`, upwards or downwards."""

    end: Fraction
    upwards: bool


Seen = Symbol | NearZero | HalfLine
Letters = tuple[Fraction | None, ...]
"""The inputs; None where none is read."""


@dataclass(frozen=True, slots=True)
class WordBound:
    """Two adjacent inputs and a word whose rates differ by `value`."""

    first: Letters
    second: Letters
    word: tuple[Seen, ...]
    value: Fraction


def word_rate(
    automaton: Automaton, letters: Letters, word: Sequence[Seen], limits: Limits
) -> Fraction | None:
    """Return the rate of a word; None if no run fits it.

    Args:
        automaton: The automaton.
        letters: The inputs; a run fits only if it reads at the same places.
        word: What is seen.
        limits: Bounds the tuples of stored values, as states.

    Raises:
        LimitReached: If there are too many tuples, or time is up.
    """
    units = _Units(automaton, letters, word)
    leaving = automaton.leaving()
    costs: dict[tuple[int, tuple[int, ...]], int] = {(0, (0,) * len(automaton.variables)): 0}
    for letter, seen in zip(letters, word, strict=True):
        limits.check_states(len(costs))
        limits.check()
        after: dict[tuple[int, tuple[int, ...]], int] = {}
        prices: dict[int, dict[int, int]] = {}
        for (state, stored), cost in costs.items():
            if automaton.states[state].reads != (letter is not None):
                continue
            for index in leaving[state]:
                transition = automaton.transitions[index]
                if index not in prices:
                    prices[index] = units.prices(automaton, transition, letter, seen)
                least = max(
                    (v for x, v in enumerate(stored) if transition.above >> x & 1), default=None
                )
                most = min(
                    (v for x, v in enumerate(stored) if transition.below >> x & 1), default=None
                )
                for value, price in prices[index].items():
                    if (least is not None and value < least) or (most is not None and value > most):
                        continue
                    kept = tuple(
                        value if transition.assigned >> x & 1 else old
                        for x, old in enumerate(stored)
                    )
                    key, total = (transition.target, kept), cost + price
                    if key not in after or total < after[key]:
                        after[key] = total
        costs = after
    return units.cost(min(costs.values())) if costs else None


class _Units:
    """The values that samples may take in a cheapest vector, and costs, as whole numbers."""

    def __init__(self, automaton: Automaton, letters: Letters, word: Sequence[Seen]) -> None:
        noises = [n for s in automaton.states for n in (s.compared, s.fresh) if n is not None]
        means = {state.compared.mean for state in automaton.states if state.compared is not None}
        grid = {Fraction(0)}
        for letter, seen in zip(letters, word, strict=True):
            grid.update(mean + (letter or 0) for mean in means)
            if isinstance(seen, HalfLine):
                grid.add(seen.end)
        places = (
            grid | {noise.mean for noise in noises} | {letter or Fraction(0) for letter in letters}
        )
        self._scale = lcm(*(value.denominator for value in places))
        self._unit = lcm(*(noise.rate.denominator for noise in noises))
        self._grid = sorted(int(value * self._scale) for value in grid)

    def cost(self, units: int) -> Fraction:
        """Return a cost that is a whole number of units."""
        return Fraction(units, self._scale * self._unit)

    def prices(
        self, automaton: Automaton, transition: Transition, letter: Fraction | None, seen: Seen
    ) -> dict[int, int]:
        """Return what a step costs at each value that its output allows; none if it is not seen."""
        state = automaton.states[transition.source]
        if isinstance(seen, Symbol):
            if transition.output != seen.name:
                return {}
        elif not is_real(transition.output):
            return {}
        if state.compared is None:
            raise BrokenInvariant("a state with transitions has noise")
        fixed = 0
        if transition.output is Sample.FRESH and state.fresh is not None:
            mean = state.fresh.mean + (letter or 0)
            outside = abs(mean)
            if isinstance(seen, HalfLine):
                outside = max(Fraction(0), seen.end - mean if seen.upwards else mean - seen.end)
            fixed = int(state.fresh.rate * self._unit) * int(outside * self._scale)
        rate = int(state.compared.rate * self._unit)
        centre = int((state.compared.mean + (letter or 0)) * self._scale)
        shown = transition.output is Sample.COMPARED
        return {
            value: fixed + rate * abs(value - centre)
            for value in self._grid
            if not shown or self._is_in(value, seen)
        }

    def _is_in(self, value: int, seen: Seen) -> bool:
        if isinstance(seen, HalfLine):
            end = seen.end * self._scale
            return value >= end if seen.upwards else value <= end
        return value == 0


def word_bound(
    automaton: Automaton, first: Letters, second: Letters, word: tuple[Seen, ...], limits: Limits
) -> WordBound | None:
    """Return the bound of two inputs and a word; None if the word cannot be seen.

    Raises:
        LimitReached: As `word_rate`.
    """
    before = word_rate(automaton, first, word, limits)
    after = word_rate(automaton, second, word, limits)
    if before is None or after is None:
        return None
    return WordBound(first, second, word, before - after)


# --- inputs to try ------------------------------------------------------------------------------

_TIMES = (1, 3, 9)
_SPREADS = ((1,), (2, 3, 6, 9, 12), (3, 1, 4, 1, 5, 9, 2, 6))
_CLIMBS = 3
_MOST_WORK = 5_000_000
"""Values that are looked at for one run's word."""


def bounds_of_run(
    automaton: Automaton, run: Run, changes: Changes, limits: Limits
) -> Iterator[WordBound]:
    """Yield better and better bounds for the word of a run.

    First on rays, where the first input's means are -t·Δ and the second's -(t - 1)·Δ, some with
    sizes spread, which separates runs that are close; then from the best of them by single moves.

    Raises:
        LimitReached: As `word_rate`.
    """
    trials = _MOST_WORK // max(1, _work(automaton, run))
    if trials < len(_SPREADS) * len(_TIMES):
        return
    best: Fraction | None = None
    starts = []
    for spread in _SPREADS:
        for times in _TIMES:
            base = tuple(
                Fraction(-change * times * spread[place % len(spread)])
                for place, change in enumerate(changes)
            )
            start = _Inputs(base, changes)
            bound = start.bound(automaton, run, limits)
            if bound is not None:
                starts.append((bound.value, start))
                if best is None or bound.value > best:
                    best = bound.value
                    yield bound
    starts.sort(key=lambda found: -found[0])
    for _, start in starts[:_CLIMBS]:
        for bound in _climb(automaton, run, start, trials // _CLIMBS, limits):
            if best is None or bound.value > best:
                best = bound.value
                yield bound


@dataclass(frozen=True, slots=True)
class _Inputs:
    """Means of the first input's samples along a run, and how they change for the second."""

    means: tuple[Fraction, ...]
    changes: tuple[int, ...]

    def moves(self, place: int) -> Iterator[_Inputs]:
        """Yield inputs that differ at one place."""
        here, change = self.means[place], self.changes[place]
        steps = (0, 1, -1, 3, -3, 9, -9, here, -here, -2 * here)
        for mean in dict.fromkeys(here + step for step in steps):
            for turned in (-1, 0, 1):
                if (mean, turned) != (here, change):
                    means = (*self.means[:place], mean, *self.means[place + 1 :])
                    changes = (*self.changes[:place], turned, *self.changes[place + 1 :])
                    yield _Inputs(means, changes)

    def bound(self, automaton: Automaton, run: Run, limits: Limits) -> WordBound | None:
        """Return the bound of the run's word at these inputs."""
        return _bound_at(automaton, run, self.changes, self.means, limits)


def _work(automaton: Automaton, run: Run) -> int:
    """Return how many values a bound of a run's word may have to look at, roughly."""
    values = 2 * sum(automaton.reads(automaton.transitions[index]) for index in run) + 2
    return int(len(run) * values ** (len(automaton.variables) + 1))


def _climb(
    automaton: Automaton, run: Run, best: _Inputs, most: int, limits: Limits
) -> Iterator[WordBound]:
    """Yield the bounds on the way up by single moves, until none helps or enough are tried."""
    bound = best.bound(automaton, run, limits)
    places = [p for p, index in enumerate(run) if automaton.reads(automaton.transitions[index])]
    made, improved = 0, True
    while improved and bound is not None:
        improved = False
        for place in places:
            for moved in best.moves(place):
                made += 1
                if made > most:
                    return
                found = moved.bound(automaton, run, limits)
                if found is not None and found.value > bound.value:
                    best, bound, improved = moved, found, True
                    yield bound


def _bound_at(
    automaton: Automaton,
    run: Run,
    changes: Sequence[int],
    base: Sequence[Fraction],
    limits: Limits,
) -> WordBound | None:
    """Return the bound of the word of a run at the means `base` and `base` + `changes`."""
    first: list[Fraction | None] = []
    second: list[Fraction | None] = []
    word: list[Seen] = []
    for index, mean, change in zip(run, base, changes, strict=True):
        transition = automaton.transitions[index]
        state = automaton.states[transition.source]
        if state.reads:
            letter = mean - (state.compared.mean if state.compared is not None else 0)
            first.append(letter)
            second.append(letter + change)
        else:
            first.append(None)
            second.append(None)
        if transition.output is Sample.COMPARED:
            word.append(NearZero())
        elif transition.output is Sample.FRESH:
            fresh = state.fresh.mean if state.fresh is not None else Fraction(0)
            word.append(HalfLine(fresh + (second[-1] or 0), change >= 0))
        else:
            word.append(Symbol(str(transition.output)))
    return word_bound(automaton, tuple(first), tuple(second), tuple(word), limits)
