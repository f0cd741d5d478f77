"""Likely pairs come first, and every pair comes once, whatever the adjacency."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import islice, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pair_programs import read

from dipapprox.language.core import Cell, Everyone, Norm, Within
from dipapprox.limits import Limits
from dipapprox.numerics.bulk import Bounds
from dipapprox.numerics.probability import OutputProbabilities
from dipapprox.pairs.adjacency import adjacent_pairs
from dipapprox.pairs.likely import FEW_PAIRS, likely_first, likely_pairs
from dipapprox.pairs.selections import AllPairs, OrderedPairs
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.decisions.decider import decide
from dipapprox.privacy.decisions.delta import read_delta
from dipapprox.privacy.decisions.epsilons import read_epsilons
from dipapprox.privacy.decisions.question import DEFAULT_WIDTH, DecisionQuestion
from dipapprox.privacy.options import Options
from dipapprox.privacy.verdict import Answer
from dipapprox.privacy.verifier import verify

Q = Fraction
PLAIN = read("svt_laplace", N=3)

NUMBERS = st.integers(-4, 4).map(lambda n: Fraction(n, 2))
DOMAINS = st.lists(NUMBERS, min_size=1, max_size=3, unique=True)
NAMED = st.lists(st.sampled_from("abcd"), min_size=1, max_size=4, unique=True)
ADJACENCIES = st.one_of(
    st.just(Everyone()), st.builds(Within, st.sampled_from(Norm), NUMBERS.map(abs))
)


@settings(deadline=None, max_examples=25)
@given(st.lists(DOMAINS, min_size=1, max_size=4), ADJACENCIES, st.sampled_from([None, 10**6]))
def test_every_pair_comes_once(
    domains: list[list[Fraction]], adjacency: Everyone | Within, total: int | None
) -> None:
    cells = tuple(Cell(f"q[{k}]", "q", k, tuple(each)) for k, each in enumerate(domains, 1))
    program = replace(PLAIN, inputs=cells, adjacency=adjacency)
    expected = list(adjacent_pairs(cells, adjacency))
    found = list(likely_first(program, AllPairs(), total))
    assert len(found) == len(set(found)) == len(expected)
    assert set(found) == set(expected)
    first = list(likely_pairs(cells, adjacency))
    assert found[: len(first)] == first


@settings(deadline=None, max_examples=9)
@given(st.lists(NAMED, min_size=1, max_size=3), st.integers(0, 3))
def test_names_are_changed_too(domains: list[list[str]], count: int) -> None:
    cells = tuple(Cell(f"q[{k}]", "q", k, tuple(each)) for k, each in enumerate(domains, 1))
    adjacency = Within(Norm.L0, Fraction(count))
    program = replace(PLAIN, inputs=cells, adjacency=adjacency)
    found = list(likely_first(program, AllPairs(), None))
    assert len(found) == len(set(found))
    assert set(found) == set(adjacent_pairs(cells, adjacency))


def test_listed_pairs_and_few_pairs_keep_their_order() -> None:
    pairs = tuple(reversed(list(adjacent_pairs(PLAIN.inputs, PLAIN.adjacency))))
    assert tuple(likely_first(PLAIN, OrderedPairs(pairs), None)) == pairs
    assert tuple(likely_first(PLAIN, AllPairs(), FEW_PAIRS)) == tuple(reversed(pairs))


@pytest.mark.parametrize("count", [1, 2, 40, 1000])
def test_likely_pairs_are_few_however_many_cells(count: int) -> None:
    cells = tuple(Cell(f"q[{k}]", "q", k, (Q(-1), Q(0), Q(1))) for k in range(count))
    first = list(islice(likely_pairs(cells, Within(Norm.LINF, Q(1))), 40))
    assert ((Q(-1),) * count, (Q(0), *(Q(-1),) * (count - 1))) in first
    assert ((Q(-1),) * count, (Q(0),) * count) in first
    if count <= 40:
        assert len(list(likely_pairs(cells, Within(Norm.LINF, Q(1))))) < 400


LEAKS = {
    "dipc/svt5": (10, "linf 1", "-1..1"),
    "svt_laplace_leaky_5": (7, "linf 1", "{0, 1}"),
    "dipc/svt6": (7, "linf 1", "-1..1"),
    "svt_laplace_leaky_6": (9, "linf 1", "{0, 1}"),
    "svt_laplace_leaky_3": (12, "linf 1", "{0, 1}"),
}
"""Wrong sparse vectors: some output reveals queries that carry no noise, or too little.

So many queries that all pairs take longer than the likely ones do.
"""


@pytest.mark.parametrize("name", LEAKS)
def test_violations_come_first(name: str) -> None:
    # svt5 has 282,416,200 pairs: neither a table of all inputs nor counters are in reach.
    count, adjacency, domain = LEAKS[name]
    program = read(name, adjacency, domain, N=count)
    verdict = verify(program, Claim(Q(1, 2), Q(0)), AllPairs(), Options())
    assert verdict.answer is Answer.NOT_DP
    assert verdict.pairs < 100


@pytest.mark.parametrize("count", [3, 7])
def test_decisions_find_violations_first(count: int) -> None:
    question = DecisionQuestion(
        Q(1), read_delta("0"), read_epsilons("0..inf"), DEFAULT_WIDTH, False, False
    )
    decision = decide(read("dipc/svt5", N=count), question, AllPairs(), Options())
    assert decision.answer is Answer.NOT_DP
    # Two orbits: which query changes does not matter.
    assert decision.pairs == 2 * count


def test_a_violation_is_found_before_all_rows_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []
    table = OutputProbabilities.table

    def counted(self: OutputProbabilities, inputs: list[object], bits: int) -> Bounds:
        asked.append(len(inputs))
        return table(self, inputs, bits)  # type: ignore[arg-type]  # inputs of any kind

    monkeypatch.setattr(OutputProbabilities, "table", counted)
    program = read("svt_laplace_leaky_5", N=9)
    assert verify(program, Claim(Q(1, 2), Q(0)), AllPairs(), Options()).answer is Answer.NOT_DP
    assert sum(asked) < 40 < 2**9


@pytest.mark.parametrize(
    ("name", "count"), [("svt_laplace", 4), ("noisy_max_laplace", 4), ("dipc/svt1", 3)]
)
def test_what_is_looked_at_first_is_counted_once(name: str, count: int) -> None:
    program = read(name, N=count)
    verdict = verify(program, Claim(Q(1, 2), Q(1, 10), Q(1)), AllPairs(), Options(limits=Limits()))
    inputs = list(product(*(cell.domain for cell in program.inputs)))
    pairs = list(adjacent_pairs(program.inputs, program.adjacency))
    assert len(inputs) > 8 and verdict.pairs == len(pairs) > FEW_PAIRS
    assert verdict.answer is Answer.DP
