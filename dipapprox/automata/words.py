"""Lower bounds from words that several runs may fit: what is left of probabilities as ε grows.

As ε → ∞, -ln(probability of a word)/ε tends to its *rate*: the least, over all runs that fit the
word and all samples that they allow, of Σ d_j |z_j - mean_j|, where a fresh sample pays its
distance from its interval. (Laplace's principle for each run; of a finite sum of exponentials the
slowest remains.) If the automaton is (D·ε, 0)-private for every ε, then D is at least the rate of
the first input less that of the second. Unlike the bounds of `runs.py` this says nothing of a
single ε.

Real outputs are shown in (0, η) with η → 0, or in a half line; there is a cheapest vector of
samples that takes each from the means and the ends of these intervals (a linear programme of
differences), so a pass over the word with the stored values finds the rate. The pass is over walks
of the unfolding: a run whose samples would have to be equal has probability 0, though its closure,
with all ties, may be cheap.

A feasible run may still meet the windows of its own shown samples at their ends only; then the
word has probability 0 for it, and the pass takes a rate for it all the same. Differences are
limits of those of true words nevertheless. Let v be samples strictly in the order of the run that
is cheapest for the second input, and move the window of step i by μ v_i, μ > 0. This run then fits
strictly. Closures are finitely many polyhedra, so for small μ no run fits that did not, and costs
move by O(μ): the second rate is at most what was found and O(μ), the first at least that less O(μ).

Inputs far apart: those for which a run loses all that its cheapest shift costs, as ε grows.

The means of the first input's samples are -t·Δ, those of the second -(t - 1)·Δ. The rate of a run
at some means m is the least of Σ d_j |z_j - m_j| over the samples z that respect its edges and are
0 where they are shown: convex and piecewise linear in t, so from some t on it falls by W(Δ) from
the first to the second (`runs.py`, Theorem B). That t is looked for.

A rate is a sum of cuts: |z - m| is the integral over all levels θ of |1[z > θ] - 1[m > θ]|, and
which positions prefer to be above θ changes at the means and at 0 only.
"""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from itertools import pairwise
from math import inf, lcm

from dipapprox.automata.model import Automaton, OutputSample, Transition, is_real
from dipapprox.automata.runs import Changes, Run, RunCost, dependencies, least_cut
from dipapprox.automata.unfolding import Unfolding
from dipapprox.data_classes import Record
from dipapprox.errors import BrokenInvariant
from dipapprox.graphs import bits
from dipapprox.limits import check_limits, check_states


class SeenSymbol(Record):
    name: str


class NearZero(Record):
    """A real output is seen in (0, η), for η → 0."""


class HalfLine(Record):
    """A real output is seen beyond `end`, upwards or downwards."""

    end: Fraction
    upwards: bool


_ZERO = Fraction(0)
Seen = SeenSymbol | NearZero | HalfLine


class WordStep(Record):
    """What two adjacent inputs have at a step, None where none is read, and what is seen."""

    first: Fraction | None
    second: Fraction | None
    seen: Seen


Word = tuple[WordStep, ...]


def turned(word: Word) -> Word:
    """Return a word with its two inputs exchanged."""
    return tuple([WordStep(step.second, step.first, step.seen) for step in word])


class WordBound(Record):
    """A word with two inputs: its rates, or those of one run, differ by `value`."""

    word: Word
    value: Fraction
    # The steps of it that lose more each time that they come again; None if none are known. If
    # there are some, no budget serves every ε.
    again: tuple[int, int] | None = None


class WordSearch:
    """Looks at words of a graph; all its methods end at a limit: `LimitReached`.

    Args:
        graph: The augmented automaton, or its quotient.
        most: Values of samples that may be looked at; whoever searches asks what is left.

    Attributes:
        left: How many are left: a measure of work that is no clock.
    """

    def __init__(self, graph: Unfolding, most: float = inf) -> None:
        self.graph, self.left = graph, most

    def rate(self, word: Word) -> Fraction | None:
        """Return the rate of a word for its first inputs, or of words near it; None if no feasible
        run, which reads at the same places, fits its closure."""
        passes = Passes(self, word)
        costs = passes.over(word, passes.start)
        return passes.cost(min(costs.values())) if costs else None

    def bound(self, word: Word) -> WordBound | None:
        """Return the bound of a word; None if it cannot be seen."""
        before, after = self.rate(word), self.rate(turned(word))
        return None if before is None or after is None else WordBound(word, before - after)


Costs = dict[tuple[int, tuple[int, ...]], int]
"""The least that runs to a node cost, by the values that they have stored, in units."""


class Passes:
    """Passes over words, with their first inputs; what is left out of costs is impossible.

    They have the limits of a search, and are its work; `word` has all steps that there are, in any
    number.
    """

    def __init__(self, search: WordSearch, word: Word) -> None:
        self._search, automaton = search, search.graph.automaton
        self._ways = dict[int, list[_Way]]()
        self.start: Costs = {(0, (0,) * len(automaton.variables)): 0}
        # The values that samples may take in a cheapest vector, and costs, are whole numbers.
        noises = [n for s in automaton.states for n in (s.compared, s.fresh) if n is not None]
        means = {state.compared.mean for state in automaton.states if state.compared is not None}
        ends = [step.seen.end for step in word if isinstance(step.seen, HalfLine)]
        known = [step.first or _ZERO for step in word]
        places = (*known, *ends, *(noise.mean for noise in noises))
        self._scale = lcm(*(value.denominator for value in places))
        self._unit = lcm(*(noise.rate.denominator for noise in noises))
        inputs = {self._whole(letter) for letter in known}
        grid = {0, *map(self._whole, ends)}
        grid.update(mean + letter for mean in map(self._whole, means) for letter in inputs)
        self._grid = sorted(grid)

    def _whole(self, value: Fraction) -> int:
        return value.numerator * (self._scale // value.denominator)

    def cost(self, units: int) -> Fraction:
        """Return a cost that is a whole number of units."""
        return Fraction(units, self._scale * self._unit)

    def over(self, word: Word, costs: Costs) -> Costs:
        """Return the costs behind a word, from those before it."""
        graph, ways = self._search.graph, self._ways
        automaton = graph.automaton
        work = 0
        for step in word:
            check_states(len(costs))
            check_limits()
            after: Costs = {}
            prices: dict[int, list[tuple[int, int]]] = {}
            for (node, stored), cost in costs.items():
                if automaton.states[graph.states[node]].reads != (step.first is not None):
                    continue
                if node not in ways:
                    ways[node] = _ways(graph, node)
                for index, target, above, below, assigned in ways[node]:
                    if index not in prices:
                        prices[index] = self._prices(automaton.transitions[index], step)
                    taken = prices[index]
                    if not taken:
                        continue
                    low, high = 0, len(taken)
                    if above:
                        low = bisect_left(taken, (max([stored[x] for x in above]), -1))
                    if below:
                        high = bisect_left(taken, (min([stored[x] for x in below]) + 1, -1))
                    if low >= high:
                        work += 1
                        continue
                    work += 1 + high - low
                    allowed = taken[low:high]
                    kept = stored
                    if not assigned:  # the value is not needed any more
                        allowed = [(0, min([price for _, price in allowed]))]
                    for value, price in allowed:
                        for x in assigned:
                            kept = (*kept[:x], value, *kept[x + 1 :])
                        key, total = (target, kept), cost + price
                        if total < after.get(key, total + 1):
                            after[key] = total
            costs = after
        self._search.left -= work
        return costs

    def _prices(self, transition: Transition, step: WordStep) -> list[tuple[int, int]]:
        """Return the values that a step's output allows, ascending, each with what it costs; none
        if the output is not what is seen."""
        state, seen = self._search.graph.automaton.states[transition.source], step.seen
        if isinstance(seen, SeenSymbol):
            if transition.output != seen.name:
                return []
        elif not is_real(transition.output):
            return []
        if state.compared is None:
            raise BrokenInvariant("a state with transitions has noise")
        fixed, moved = 0, self._whole(step.first or _ZERO)
        if transition.output is OutputSample.FRESH and state.fresh is not None:
            mean = self._whole(state.fresh.mean) + moved
            outside = abs(mean)
            if isinstance(seen, HalfLine):
                end = self._whole(seen.end)
                outside = max(0, end - mean if seen.upwards else mean - end)
            fixed = int(state.fresh.rate * self._unit) * outside
        rate = int(state.compared.rate * self._unit)
        centre = self._whole(state.compared.mean) + moved
        values = self._grid
        if transition.output is OutputSample.COMPARED:
            values = [0]
            if isinstance(seen, HalfLine):
                end, up = self._whole(seen.end), seen.upwards
                values = [value for value in self._grid if (value >= end if up else value <= end)]
        return [(value, fixed + rate * abs(value - centre)) for value in values]


_Way = tuple[int, int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""A step: its transition, where it leads, and the variables below, above and stored."""


def _ways(graph: Unfolding, node: int) -> list[_Way]:
    found = list[_Way]()
    for edge in (graph.edges[k] for k in graph.leaving[node]):
        step = graph.automaton.transitions[edge.transition]
        above, below, assigned = (
            tuple(bits(each)) for each in (step.above, step.below, step.assigned)
        )
        found.append((edge.transition, edge.target, above, below, assigned))
    return found


_TIMES = (1, 2, 4, 8, 16, 64, 256)


def word_along(
    automaton: Automaton, run: Run, means: tuple[Fraction, ...], changes: Changes
) -> Word:
    """Return a word of a run: its inputs with some means, and those after the changes.

    Samples that are shown are seen close to 0, fresh ones beyond their second mean.
    """
    word: list[WordStep] = []
    for index, mean, change in zip(run, means, changes, strict=True):
        transition = automaton.transitions[index]
        state = automaton.states[transition.source]
        first = second = None
        if state.reads:
            first = mean - (state.compared.mean if state.compared is not None else 0)
            second = first + change
        seen: Seen = SeenSymbol(str(transition.output))
        if transition.output is OutputSample.COMPARED:
            seen = NearZero()
        elif transition.output is OutputSample.FRESH:
            fresh = state.fresh.mean if state.fresh is not None else _ZERO
            seen = HalfLine(fresh + (second or 0), change >= 0)
        word.append(WordStep(first, second, seen))
    return tuple(word)


def ray_of(automaton: Automaton, known: RunCost) -> WordBound | None:
    """Return inputs for which a feasible run loses what it costs as ε grows; None if none are
    near."""
    run, changes = known.run, known.changes
    fresh = [
        automaton.fresh_cost(automaton.transitions[index]) * abs(change)
        for index, change in zip(run, changes, strict=True)
    ]
    for times in _TIMES:
        means = tuple(Fraction(-change * times) for change in changes)
        word = word_along(automaton, run, means, changes)
        first, second = (run_rate(automaton, run, each) for each in (word, turned(word)))
        if first - second + sum(fresh) == known.value:
            return WordBound(word, known.value)
    return None


def run_rate(automaton: Automaton, run: Run, word: Word) -> Fraction:
    """Return the rate of a run for the first inputs of a word, without its fresh samples."""
    transitions = [automaton.transitions[index] for index in run]
    means, rates = [], []
    for transition, step in zip(transitions, word, strict=True):
        noise = automaton.states[transition.source].compared
        means.append((noise.mean if noise is not None else 0) + (step.first or _ZERO))
        rates.append(automaton.rate(transition))
    scale = lcm(*(rate.denominator for rate in rates))
    whole = [int(rate * scale) for rate in rates]
    shown = [t.output is OutputSample.COMPARED for t in transitions]
    # i → j puts z_i below z_j: where z_i is above a level, so is z_j.
    arcs = [(head, tail) for tail, head in dependencies(automaton, run)]
    given = zip(means, whole, shown, strict=True)
    rate = sum((cost * abs(mean) for mean, cost, seen in given if seen), Fraction(0))
    for low, high in pairwise(sorted({Fraction(0), *means})):
        check_limits()
        above = [mean > low for mean in means]
        rate += (high - low) * least_cut(arcs, whole, above, shown, forced=low < 0).value
    return rate / scale
