"""Better bounds by words from known ones: steps of words are put in, left out, repeated, changed.

Where several runs look alike, the dearest run says little of the dearest word. So words are changed
at random, beginning with the best that are known and with short walks, and what is no worse is
kept. The numbers are drawn in the same way every time, and so many words are tried, not so long.

Word search. Inputs to try for a bound by a word that several runs fit: those of a run, on rays and
apart.

The means of the first input are -t·Δ along a run, those of the second -(t - 1)·Δ: for a word that
fits one run this reaches the run's cost. What is tried is the same every time; nothing is claimed
of how good it is.

Words with a part that loses more each time that it comes again: then no budget serves every ε.

A pass over a word makes costs of costs (`words.Passes`): monotonically, and what is added to all of
them before is added to all behind. The values of samples that are looked at depend on which inputs
there are, not on how many. Let a part of a word come again and again, p times between costs c and
c' of the first input, and let c' be at least c + g wherever it is finite, and c be finite there.
Then after n·p more times costs are at least c + n·g, by induction. For the second input, let the
pass over p times the part lead from one place back to it, for h: then what n·p times cost is at
most n·h more. If g > h, the rates differ by more than any number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from random import Random
from typing import TypeVar

from dipapprox.automata.model import Automaton, Output, OutputSample, is_real
from dipapprox.automata.runs import Changes, Run, dependencies, run_of
from dipapprox.automata.unfolding import Unfolding
from dipapprox.automata.words import (
    NearZero,
    Passes,
    Seen,
    SeenSymbol,
    Word,
    WordBound,
    WordSearch,
    WordStep,
    turned,
    word_along,
)
from dipapprox.data_classes import replace
from dipapprox.limits import check_limits

_TIMES = (1, 2, 4, 8, 16)
_MOST_WORK = 10_000  # values that are looked at for one run's word, but for the last inputs


def bounds_of_run(graph: Unfolding, run: Run, changes: Changes) -> Iterator[WordBound]:
    """Yield better and better bounds for the word of a feasible run."""
    automaton, search = graph.automaton, WordSearch(graph, _MOST_WORK)
    best: Fraction | None = None
    rays = (tuple([Fraction(-change * times) for change in changes]) for times in _TIMES)
    for means in (_apart(automaton, run, changes), *rays):
        if search.left > 0:
            bound = search.bound(word_along(automaton, run, means, changes))
            if bound is not None and (best is None or bound.value > best):
                best = bound.value
                yield bound


def _apart(automaton: Automaton, run: Run, changes: Changes) -> tuple[Fraction, ...]:
    """Return means that make it plain which samples are stored in the end.

    Those that later samples are only compared with go out of the way in the direction of their
    change, those that are overwritten stay between, the others press against them as on a ray.
    """
    assigns = [bool(automaton.transitions[index].assigned) for index in run]
    final = {min(arc) for arc in dependencies(automaton, run) if not assigns[max(arc)]}
    means = []
    for place, change in enumerate(changes):
        size = -9 if place < len(run) - 1 else -20
        if assigns[place]:
            size = 3 if place in final else 0
        means.append(Fraction(change * size))
    return tuple(means)


MOST_WORK = 400_000  # values that are looked at, in all words together
MOST_STEPS = 20_000  # of all words that are tried
_LONGEST = 12  # steps of a word; longer ones are left as they are
_WALK = 7  # most steps of a walk to begin with
_PATIENCE = 60  # words in a row that are no better than before
_SIZES = (0, 1, -1, 2, -2, 3, -3, 6, -6, 12, -12)
_MOVES = (0, 1, -1, 3, -3)
Thing = TypeVar("Thing")


class Climb:
    """Words and changes of words, drawn in the same way every time."""

    def __init__(self, graph: Unfolding) -> None:
        self._graph, self._search = graph, WordSearch(graph, MOST_WORK)
        self._chance = Random(0)
        self._left = MOST_STEPS
        automaton = graph.automaton
        outputs = dict.fromkeys(each.output for each in automaton.transitions)
        self._alphabet = list(dict.fromkeys(map(_seen, outputs)))
        self._reads = list(dict.fromkeys(each.reads for each in automaton.states))

    @property
    def is_going(self) -> bool:
        return self._left > 0 and self._search.left > 0

    def walk(self, most: int) -> tuple[Word, list[int]]:
        """Return the word of some run of so many steps at most, with some inputs, and its nodes."""
        automaton, node, word = self._graph.automaton, 0, list[WordStep]()
        nodes = [node]
        for _ in range(self._chance.randint(1, most)):
            leaving = self._graph.leaving[node]
            if not leaving:
                break
            edge = self._graph.edges[self._chance.choice(leaving)]
            transition = automaton.transitions[edge.transition]
            word.append(self._step(automaton.reads(transition), _seen(transition.output)))
            node = edge.target
            nodes.append(node)
        return tuple(word), nodes

    def some(self, things: Sequence[Thing], most: int) -> list[Thing]:
        """Return so many of some things, at most, in some order."""
        return self._chance.sample(things, min(most, len(things)))

    def from_word(self, word: Word) -> Iterator[WordBound]:
        """Yield what is better than all before, as long as words get better now and then."""
        here = self._bound(word)
        if here is None:
            return
        yield here
        misses = 0
        while misses < _PATIENCE and self.is_going:
            found = self._bound(self._changed(here.word))
            misses += 1
            if found is not None and found.value >= here.value:
                if found.value > here.value:
                    misses = 0
                    yield found
                here = found

    def _bound(self, word: Word) -> WordBound | None:
        self._left -= len(word) + 1
        return self._search.bound(word)

    def _changed(self, word: Word) -> Word:
        chance = self._chance
        if not word:
            return (self._any_step(),)
        place, kind = chance.randrange(len(word)), chance.random()
        step = word[place]
        if kind < 0.35 and len(word) >= _LONGEST:
            kind = 0.4
        if kind < 0.2:
            return (*word[:place], self._any_step(), *word[place:])
        if kind < 0.35:
            again = word[place : place + chance.randint(1, 3)]
            return (*word[:place], *again, *word[place:])
        if kind < 0.5:
            return (*word[:place], *word[place + 1 :])
        if kind < 0.6 or step.first is None:
            other = WordStep(step.first, step.second, chance.choice(self._alphabet))
        else:
            other = self._at(step.first + chance.choice((*_MOVES, -2 * step.first)), step.seen)
        return (*word[:place], other, *word[place + 1 :])

    def _any_step(self) -> WordStep:
        return self._step(self._chance.choice(self._reads), self._chance.choice(self._alphabet))

    def _step(self, reads: bool, seen: Seen) -> WordStep:
        if not reads:
            return WordStep(None, None, seen)
        return self._at(Fraction(self._chance.choice(_SIZES)), seen)

    def _at(self, first: Fraction, seen: Seen) -> WordStep:
        changes: Sequence[int] = self._graph.automaton.changes
        return WordStep(first, first + self._chance.choice(changes), seen)


def _seen(output: Output) -> Seen:
    return NearZero() if isinstance(output, OutputSample) else SeenSymbol(output)


MOST_CYCLE_WORK = 200_000  # values that are looked at, in all words together
MOST_WORDS = 400
_LONG_WALK = 12  # most steps of a walk that is tried
_BEFORE = 3  # how often a part comes before it is looked at what it makes of costs
_AGAIN = (1, 2)
_MOST_PARTS = 12  # of one word
MOST_COPIES = 4096


def better_words(graph: Unfolding, known: WordBound | None, endless: bool) -> Iterator[WordBound]:
    """Yield better bounds; first, if asked, steps that lose again and again: one word is enough
    then."""
    found = endless_word(graph, known) if endless else None
    if found is not None:
        yield found
        return
    climb, best, again = Climb(graph), known, True
    while climb.is_going:  # the best one so far is climbed from first
        word = best.word if best is not None and again else climb.walk(_WALK)[0]
        again = not again
        for found in climb.from_word(word):
            if best is None or found.value > best.value:
                best = found
                yield found


def endless_word(graph: Unfolding, known: WordBound | None) -> WordBound | None:
    """Return a word with a part that loses again and again, the known one if it does; None if none
    is found."""
    search, climb = WordSearch(graph, MOST_CYCLE_WORK), Climb(graph)

    def tried() -> Iterator[tuple[Word, list[tuple[int, int]]]]:
        """Words, and which of their parts are looked at."""
        if known is not None:
            yield known.word, [(i, j) for j in range(1, len(known.word) + 1) for i in range(j)]
        for _ in range(MOST_WORDS):
            word, nodes = climb.walk(_LONG_WALK)
            pairs = [(i, j) for j in range(1, len(nodes)) for i in range(j) if nodes[i] == nodes[j]]
            yield word, climb.some(pairs, _MOST_PARTS)

    for word, pairs in tried():
        for start, end in pairs:
            if search.left <= 0:
                return None
            for each in (word[:end], turned(word[:end])):
                bound = search.bound(each) if loses_again(search, each, start) else None
                if bound is not None:
                    return replace(bound, again=(start, end))
    return None


def loses_again(search: WordSearch, word: Word, start: int) -> bool:
    """Whether all of a word from a step on loses more each time that it comes again.

    Returns:
        True if it is proved; False says nothing.
    """
    gained = dict[int, Fraction]()
    for times, gain in _gains(search, word, start):
        gained[times] = gain
    if not gained or max(gained.values()) <= 0:
        return False
    second = turned(word)
    passes = Passes(search, second)
    costs = passes.over(second[:start], passes.start)
    for _ in range(_BEFORE):
        costs = passes.over(second[start:], costs)
    if not costs:
        return False
    place = min(costs, key=lambda each: (costs[each], each))
    found = {place: 0}
    for times in range(1, max(gained) + 1):
        found = passes.over(second[start:], found)
        if times in gained and place in found and gained[times] > passes.cost(found[place]):
            return True
    return False


def _gains(search: WordSearch, word: Word, start: int) -> Iterator[tuple[int, Fraction]]:
    """Yield by how much all costs grow at least when a part comes again so often."""
    passes = Passes(search, word)
    known = [passes.over(word[:start], passes.start)]
    for _ in range(_BEFORE + max(_AGAIN)):
        known.append(passes.over(word[start:], known[-1]))
    after = known[-1]
    for times in _AGAIN:
        before = known[-1 - times]
        if after and after.keys() <= before.keys():
            yield times, passes.cost(min(cost - before[place] for place, cost in after.items()))


def runs_again(
    graph: Unfolding, known: WordBound, times: int
) -> Iterator[tuple[Run, tuple[int, ...]]]:
    """Yield runs that fit a word whose steps come again so often, and how inputs change.

    They take the same steps each time; changes are those from the second inputs to the first.
    """
    if known.again is None:
        return
    start, end = known.again
    for first, node in _fitting(graph, known, 0, 0, start):
        for part, last in _fitting(graph, known, node, start, end):
            if last == node:
                apart = [int((each.first or 0) - (each.second or 0)) for each in known.word]
                changes = (*apart[:start], *(apart[start:end] * times))
                yield run_of(graph, (*first, *(part * times))), changes


def _fitting(
    graph: Unfolding, known: WordBound, node: int, place: int, end: int
) -> Iterator[tuple[tuple[int, ...], int]]:
    check_limits()
    if place == end:
        yield (), node
        return
    for edge in graph.leaving[node]:
        step = graph.transition(edge)
        first, seen = known.word[place].first, known.word[place].seen
        shows = step.output == seen.name if isinstance(seen, SeenSymbol) else is_real(step.output)
        if shows and graph.automaton.reads(step) == (first is not None):
            target = graph.edges[edge].target
            for rest, last in _fitting(graph, known, target, place + 1, end):
                yield (edge, *rest), last


def beyond(graph: Unfolding, known: WordBound, budget: Fraction) -> WordBound:
    """Return a word that loses more than a budget: one with a part that comes often enough."""
    if known.again is None:
        return known
    start, end = known.again
    times, found, search = 1, known, WordSearch(graph)
    while found.value <= budget and times < MOST_COPIES:
        times *= 2
        word = (*known.word[:start], *(known.word[start:end] * times))
        found = search.bound(word) or found
    return found
