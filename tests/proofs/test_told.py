"""Whether what is published tells the steps: runs that are told by themselves, all short runs."""

import random
from fractions import Fraction
from functools import cache
from itertools import product
from math import log

import pytest
from scipy.stats import dlaplace

import dipapprox
from dipapprox.automata.determined import Looks, is_determined
from dipapprox.automata.model import Automaton, ControlState, LaplaceNoise, Transition
from dipapprox.automata.orders import unordered
from dipapprox.automata.runs import Segment
from dipapprox.automata.unfolding import UnfoldedEdge, Unfolding, unfolding
from dipapprox.rounds.visible import END, Seen, tells_steps
from tests.thorough import part

GRAPH = {0: [(0, 0), (1, 1), (2, 2)], 1: [(3, 1)], 2: [(4, 3)], 3: []}
Graph = dict[int, list[tuple[int, int]]]


def runs_in(graph: Graph) -> Unfolding:
    """What has these steps, each with where it leads."""
    edges = [UnfoldedEdge(node, step, to) for node, row in graph.items() for step, to in row]
    return unfolding(Automaton((), (), ()), [(0, unordered(0))] * len(graph), edges)


def is_told(
    whole: Unfolding, looks: Looks, run: tuple[int, ...], cycles: tuple[range, ...] = ()
) -> bool:
    segments = [Segment(each.start, each.stop) for each in cycles]
    return is_determined(whole, looks, run, segments)


SEEN = ((), ("a",), ("b",), ("c",), ("c", "exit"))


@pytest.mark.parametrize(
    ("run", "cycles", "told"),
    [
        ((1, 3), (), True),
        ((1, 3, 3), (range(1, 2),), True),
        ((2, 4), (), True),
        ((2,), (), True),
        ((1, 3), (range(1),), False),  # it does not lead back
    ],
)
def test_runs_are_told_where_no_step_is_silent(
    run: tuple[int, ...], cycles: tuple[range, ...], told: bool
) -> None:
    graph: Graph = {**GRAPH, 0: GRAPH[0][1:]}
    assert is_told(runs_in(graph), SEEN, run, cycles) == told
    both = (*SEEN[:2], ("a",), *SEEN[3:])  # 1 and 2 look alike; only 4 ends
    assert is_told(runs_in(graph), both, (2, 4), ())
    assert not is_told(runs_in(graph), both, (1, 3), ())


NUMBER_OR_NOISE = """
stream q in real
publishes {0, 1}
adjacent linf 1
forever do
    read q
    r <- DLap(q, 1 / eps)
    if r > 1 then
        read q
        s <- DLap(q, 1 / eps)
        if s > 1 then
            publish 0
            exit
        end
    end
    publish DLap(0, 1 / eps)
    exit
end
"""


def test_an_integer_that_is_published_may_be_noise() -> None:
    """0 is seen in both ways: 3/2 is not refuted, as no two inputs lose it."""

    @cache
    def chances(first: int, second: int) -> list[float]:
        above = [dlaplace.sf(1 - q, 1.0) for q in (first, second)]
        both = above[0] * above[1]
        return [both + (1 - both) * dlaplace.pmf(0, 1.0), (1 - both) * dlaplace.pmf(1, 1.0)]

    places = range(-12, 13)
    lost = max(
        abs(log(p / q))
        for u, v in product(places, places)
        for du, dv in product((-1, 0, 1), repeat=2)
        for p, q in zip(chances(u, v), chances(u + du, v + dv), strict=True)
    )
    assert lost < 1.5
    assert (
        dipapprox.prove(dipapprox.parse(NUMBER_OR_NOISE), budget="3/2").answer
        is not dipapprox.Answer.NOT_DP
    )
    name = NUMBER_OR_NOISE.replace("{0, 1}", "{a, b}").replace("publish 0", "publish a")
    assert dipapprox.prove(dipapprox.parse(name), budget="3/2").answer is dipapprox.Answer.NOT_DP


def random_graph(seed: int) -> tuple[Automaton, list[Seen]]:
    """A graph with words for its edges; the last state is the end."""
    chance = random.Random(seed)
    count = chance.randint(2, 4)
    noise = LaplaceNoise(Fraction(1))
    states = tuple(ControlState(f"q{k}", True, noise) for k in range(count))
    transitions, seen = [], list[Seen]()
    for source in range(count - 1):
        for _ in range(chance.randint(1, 3)):
            target = chance.randrange(count)
            shown = tuple(chance.choice("ab") for _ in range(chance.choice((0, 1, 1, 1, 2))))
            if target == count - 1:
                shown += (END,)
            word = f"{source}{len(transitions)}"
            transitions.append(Transition(source, 0, 0, target, word, 0))
            seen.append(shown)
    return Automaton((), states, tuple(transitions)), seen


def runs(automaton: Automaton, length: int) -> list[tuple[int, ...]]:
    """All runs of so many steps, or fewer that have ended."""
    leaving = automaton.leaving()
    found: list[tuple[int, ...]] = [()]
    for _ in range(length):
        longer: list[tuple[int, ...]] = []
        for run in found:
            state = automaton.transitions[run[-1]].target if run else 0
            after = [(*run, index) for index in leaving[state]]
            longer += after or [run]
        found = longer
    return found


def published(run: tuple[int, ...], seen: list[Seen]) -> Seen:
    return tuple(each for index in run for each in seen[index])


@pytest.mark.parametrize("seed", part(range(300), 6))
def test_runs_that_publish_the_same_are_found(seed: int) -> None:
    """If steps are told, ended runs that publish the same took steps that look alike."""
    automaton, seen = random_graph(seed)
    if not tells_steps(automaton, seen):
        return
    words: dict[Seen, set[tuple[Seen, ...]]] = {}
    for run in runs(automaton, 7):
        if run and seen[run[-1]][-1:] == (END,):
            words.setdefault(published(run, seen), set()).add(tuple(seen[k] for k in run))
    assert all(len(alike) == 1 for alike in words.values())
