"""Programs whose published words do not tell all steps: runs that are told by themselves."""

from __future__ import annotations

from functools import cache
from itertools import product
from math import log

import pytest
from scipy.stats import dlaplace

import dipapprox
from dipapprox import StreamProof
from dipapprox.automata.analysis import RunBound
from dipapprox.automata.determined import Looks, is_determined
from dipapprox.automata.model import Automaton
from dipapprox.automata.orders import unordered
from dipapprox.automata.runs import Segment
from dipapprox.automata.unfolding import UnfoldedEdge, Unfolding, unfolding
from dipapprox.errors import NoCertificate
from dipapprox.replays.any_file import check
from dipapprox.replays.result import Outcome
from tests.proofs.test_random_streams import Writer, of_rounds

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


@pytest.mark.parametrize("seed", [113, 155, 26, 154])
def test_runs_of_random_programs_are_told(seed: int) -> None:
    """Written out for as many rounds the program needs as much; certificates are confirmed."""
    text = Writer(seed).program()
    proof = dipapprox.prove(dipapprox.parse(text))
    assert isinstance(proof, StreamProof)
    assert proof.compiled is not None and not proof.compiled.tells
    if proof.has_none:
        few, more = of_rounds(text, 2), of_rounds(text, 5)
        assert more.upper is None or more.upper > few.lower
    else:
        assert proof.lower > 0 and isinstance(proof.evidence, RunBound)
        rounds = len(proof.evidence.candidate.run)
        assert of_rounds(text, min(rounds, 6)).lower >= proof.lower
    try:
        certificate = dipapprox.certify(proof.subject, text, proof)
    except NoCertificate as none:
        # Not all that come again have runs that the kernel follows.
        assert proof.has_none and "the kernel has no proof" in none.missing
    else:
        result = check(certificate.to_json())
        assert result.outcome is Outcome.CONFIRMED, result.differences


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
