"""Words with a part that loses more each time that it comes again: then no budget serves every ε.

A pass over a word makes costs of costs (`words.Passes`): monotonically, and what is added to all of
them before is added to all behind. The values of samples that are looked at depend on which inputs
there are, not on how many. Let a part of a word come again and again, p times between costs c and
c' of the first input, and let c' be at least c + g wherever it is finite, and c be finite there.
Then after n·p more times costs are at least c + n·g, by induction. For the second input, let the
pass over p times the part lead from one place back to it, for h: then what n·p times cost is at
most n·h more. If g > h, the rates differ by more than any number.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dipapprox.automata.model import is_real
from dipapprox.automata.runs import Run, run_of
from dipapprox.automata.unfolding import Unfolding
from dipapprox.automata.word_climb import Climb, Word, climbed_words, word_of
from dipapprox.automata.words import Letters, Passes, Seen, SeenSymbol, WordBound, WordSearch
from dipapprox.data_classes import replace
from dipapprox.limits import Limits

MOST_WORK = 200_000  # values that are looked at, in all words together
MOST_WORDS = 400
_WALK = 12  # most steps of a walk that is tried
_BEFORE = 3  # how often a part comes before it is looked at what it makes of costs
_TIMES = (1, 2)
_MOST_PARTS = 12  # of one word
MOST_COPIES = 4096


def better_words(
    graph: Unfolding, known: WordBound | None, endless: bool, limits: Limits
) -> Iterator[WordBound]:
    """Yield better bounds.

    Args:
        endless: Whether to look for steps that lose again and again: one word is enough then.
    """
    found = endless_word(graph, known, limits) if endless else None
    if found is not None:
        yield found
    else:
        yield from climbed_words(graph, known, limits)


def endless_word(graph: Unfolding, known: WordBound | None, limits: Limits) -> WordBound | None:
    """Return a word with a part that loses again and again, the known one if it does; None if none
    is found."""
    search = WordSearch(graph, limits, MOST_WORK)
    climb = Climb(graph, limits)
    if known is not None:
        word = word_of(known)
        pairs = [(i, j) for j in range(1, len(word) + 1) for i in range(j)]
        found = _some_part(search, word, pairs)
        if found is not None:
            return found
    for _ in range(MOST_WORDS):
        if search.left <= 0:
            break
        word, nodes = climb.walk(_WALK)
        pairs = [(i, j) for j in range(1, len(nodes)) for i in range(j) if nodes[i] == nodes[j]]
        found = _some_part(search, word, climb.some(pairs, _MOST_PARTS))
        if found is not None:
            return found
    return None


def _some_part(search: WordSearch, word: Word, pairs: list[tuple[int, int]]) -> WordBound | None:
    letters = [each.first for each in word], [each.second for each in word]
    for start, end in pairs:
        if search.left <= 0:
            return None
        seen = tuple([each.seen for each in word[:end]])
        first, second = (tuple(each[:end]) for each in letters)
        for one, other in ((first, second), (second, first)):
            if loses_again(search, one, other, seen, start):
                bound = search.bound(one, other, seen)
                if bound is not None:
                    return replace(bound, again=(start, end))
    return None


def loses_again(
    search: WordSearch, first: Letters, second: Letters, word: tuple[Seen, ...], start: int
) -> bool:
    """Whether all of a word from a step on loses more each time that it comes again.

    Args:
        start: Where the part begins.

    Returns:
        True if it is proved; False says nothing.
    """
    gained = dict[int, Fraction]()
    for times, gain in _gains(search, first, word, start):
        gained[times] = gain
    if not gained or max(gained.values()) <= 0:
        return False
    passes = Passes(search, second, word)
    costs = passes.over(second[:start], word[:start], passes.start)
    part = second[start:], word[start:]
    for _ in range(_BEFORE):
        costs = passes.over(*part, costs)
    if not costs:
        return False
    place = min(costs, key=lambda each: (costs[each], each))
    found = {place: 0}
    for times in range(1, max(gained) + 1):
        found = passes.over(*part, found)
        if times in gained and place in found and gained[times] > passes.cost(found[place]):
            return True
    return False


def _gains(
    search: WordSearch, letters: Letters, word: tuple[Seen, ...], start: int
) -> Iterator[tuple[int, Fraction]]:
    """Yield by how much all costs grow at least when a part comes again so often."""
    passes = Passes(search, letters, word)
    known = [passes.over(letters[:start], word[:start], passes.start)]
    for _ in range(_BEFORE + max(_TIMES)):
        known.append(passes.over(letters[start:], word[start:], known[-1]))
    after = known[-1]
    for times in _TIMES:
        before = known[-1 - times]
        if after and after.keys() <= before.keys():
            yield times, passes.cost(min(cost - before[place] for place, cost in after.items()))


def runs_again(
    graph: Unfolding, known: WordBound, times: int, limits: Limits
) -> Iterator[tuple[Run, tuple[int, ...]]]:
    """Yield runs that fit a word whose steps come again so often, and how inputs change.

    They take the same steps each time; changes are those from the second inputs to the first.
    """
    if known.again is None:
        return
    start, end = known.again
    for first, node in _fitting(graph, known, 0, 0, start, limits):
        for part, last in _fitting(graph, known, node, start, end, limits):
            if last == node:
                apart = [
                    int(a - b) if a is not None and b is not None else 0
                    for a, b in zip(known.first, known.second, strict=True)
                ]
                changes = (*apart[:start], *(apart[start:end] * times))
                yield run_of(graph, (*first, *(part * times))), changes


def _fitting(
    graph: Unfolding, known: WordBound, node: int, place: int, end: int, limits: Limits
) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield walks that fit some steps of a word, and where they lead."""
    limits.check()
    if place == end:
        yield (), node
        return
    for edge in graph.leaving[node]:
        step = graph.transition(edge)
        seen = known.word[place]
        shows = step.output == seen.name if isinstance(seen, SeenSymbol) else is_real(step.output)
        if shows and graph.automaton.reads(step) == (known.first[place] is not None):
            target = graph.edges[edge].target
            for rest, last in _fitting(graph, known, target, place + 1, end, limits):
                yield (edge, *rest), last


def beyond(graph: Unfolding, known: WordBound, budget: Fraction, limits: Limits) -> WordBound:
    """Return a word that loses more than a budget: one with a part that comes often enough."""
    if known.again is None:
        return known
    start, end = known.again
    times, found, search = 1, known, WordSearch(graph, limits)
    while found.value <= budget and times < MOST_COPIES:
        times *= 2
        first, second = (
            (*each[:start], *(each[start:end] * times)) for each in (known.first, known.second)
        )
        word = (*known.word[:start], *(known.word[start:end] * times))
        found = search.bound(first, second, word) or found
    return found
