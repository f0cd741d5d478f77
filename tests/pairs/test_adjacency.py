"""Adjacency: streams and blocks against brute force over all squares; pairs in one order only."""

from fractions import Fraction
from itertools import islice, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dipapprox
from dipapprox.errors import UserError
from dipapprox.language.core import Adjacency, Cell, Everyone, Input, Norm, Within
from dipapprox.pairs.adjacency import adjacent_pairs, count_pairs
from dipapprox.pairs.selections import AllPairs, OrderedPairs, is_symmetric
from dipapprox.pairs.walk import InputNumbers, pair_blocks, plan_walk

NUMBERS = st.integers(-4, 4).map(lambda n: Fraction(n, 2))


def cell(number: int, *domain: Fraction | int | str) -> Cell:
    values = tuple(v if isinstance(v, str) else Fraction(v) for v in domain)
    return Cell(f"q[{number}]", "q", number, values)


@st.composite
def cells(draw: st.DrawFn) -> tuple[Cell, ...]:
    size = draw(st.integers(0, 3))
    return tuple(
        cell(i, *draw(st.lists(NUMBERS, min_size=1, max_size=3, unique=True)))
        for i in range(1, size + 1)
    )


ADJACENCIES = st.one_of(
    st.just(Everyone()), st.builds(Within, st.sampled_from(Norm), NUMBERS.map(abs))
)


RULES = ["all", "linf 1", "l1 2", "l0 1", "increasing 1", "decreasing 2", "{(0, 0) ~ (1, 2)}",
         "where q'[1] > q[1]", "where q'[1] >= q[1]", "where q'[1] != q[1]"]  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
def test_pairs_are_symmetric_if_the_reverse_of_each_is_one(rule: str) -> None:
    program = dipapprox.parse(
        f"input q[2] in {{0, 1, 2}}\noutput o in {{0}}\nadjacent {rule}\no <- 0\n"
    )
    pairs = list(adjacent_pairs(program.inputs, program.adjacency))
    symmetric = set(pairs) == {(v, u) for u, v in pairs}
    assert is_symmetric(program, AllPairs()) is symmetric
    assert is_symmetric(program, OrderedPairs(tuple(pairs))) is symmetric


def by_definition(u: Input, v: Input, adjacency: Adjacency) -> bool:
    if u == v:
        return False
    if isinstance(adjacency, Everyone):
        return True
    assert isinstance(adjacency, Within)
    steps = [Fraction(b) - Fraction(a) for a, b in zip(u, v, strict=True)]
    if adjacency.norm is Norm.INCREASING:
        return all(0 <= step <= adjacency.radius for step in steps)
    if adjacency.norm is Norm.DECREASING:
        return all(-adjacency.radius <= step <= 0 for step in steps)
    gaps = [abs(Fraction(a) - Fraction(b)) for a, b in zip(u, v, strict=True)]
    size = {Norm.LINF: max(gaps), Norm.L1: sum(gaps), Norm.L0: sum(1 for gap in gaps if gap)}[
        adjacency.norm
    ]
    return size <= adjacency.radius


@given(cells(), ADJACENCIES)
def test_stream_is_the_definition(inputs: tuple[Cell, ...], adjacency: Adjacency) -> None:
    every = list(product(*(c.domain for c in inputs)))
    expected = {(u, v) for u in every for v in every if by_definition(u, v, adjacency)}
    stream = list(adjacent_pairs(inputs, adjacency))
    assert len(stream) == len(set(stream)), "a pair came twice"
    assert set(stream) == expected
    assert count_pairs(inputs, adjacency) == len(expected)


def test_named_values() -> None:
    named = (cell(1, "bot", "top"), cell(2, "bot", "top"))
    assert count_pairs(named, Within(Norm.L0, Fraction(1))) == 8
    for norm in set(Norm) - {Norm.L0}:
        with pytest.raises(UserError, match="needs numbers, but 'q\\[1\\]' can be 'bot'"):
            list(adjacent_pairs(named, Within(norm, Fraction(1))))


def test_counting_gives_up_rather_than_grow() -> None:
    # Distances 1/2^i have 2^40 different sums.
    odd = tuple(cell(i, 0, Fraction(1, 2**i)) for i in range(1, 41))
    assert count_pairs(odd, Within(Norm.L1, Fraction(1))) is None


def test_large_domains_need_no_table() -> None:
    wide = (cell(1, *range(10_000)), cell(2, *range(10_000)))
    assert count_pairs(wide, Within(Norm.LINF, Fraction(1))) == (3 * 10_000 - 2) ** 2 - 10_000**2
    assert count_pairs(wide, Everyone()) == 10_000**4 - 10_000**2
    for adjacency in (Everyone(), Within(Norm.L1, Fraction(3)), Within(Norm.L0, Fraction(1))):
        pairs = list(islice(adjacent_pairs(wide, adjacency), 1000))
        assert all(by_definition(u, v, adjacency) for u, v in pairs)
    assert count_pairs(wide, Within(Norm.L1, Fraction(5000))) is None


@given(cells(), ADJACENCIES, st.integers(1, 40))
def test_every_pair_comes_once(
    inputs: tuple[Cell, ...], adjacency: Everyone | Within, size: int
) -> None:
    walk = plan_walk(inputs, adjacency)
    assert walk is not None
    numbers = InputNumbers(inputs)
    found = []
    for block in pair_blocks(inputs, walk, size):
        assert 0 < len(block) <= max(size, max(map(len, walk.steps), default=1))
        assert (block.first < numbers.count).all()
        ends = zip(block.first.tolist(), block.second.tolist(), strict=True)
        found += [(numbers.input(a), numbers.input(b)) for a, b in ends]
    assert len(found) == len(set(found))
    assert set(found) == set(adjacent_pairs(inputs, adjacency))


def test_walks_that_are_too_wide_are_refused() -> None:
    wide = Cell("q", "q", None, tuple(map(Fraction, range(200))))
    everyone: Adjacency = Everyone()
    assert plan_walk((wide,), everyone) is None
    assert plan_walk((wide,), Within(Norm.LINF, Fraction(1))) is not None
    tiny = Cell("q", "q", None, (Fraction(0), Fraction(1, 2**50)))
    assert plan_walk((tiny,), Within(Norm.L1, Fraction(2**60))) is not None
    coarse = Cell("q", "q", None, (Fraction(0), Fraction(1, 3**30), Fraction(5)))
    assert plan_walk((coarse,), Within(Norm.L1, Fraction(9))) is None


Q = Fraction

ONE_SIDED = """
input q[2] in {0, 1, 2}
output out in {0, 1}
adjacent RULE
x <- LapPlus(q[1] + q[2], 1 / eps)
out <- 0
if x >= 2 then out <- 1 end
"""
"""Pr[out = 1] is 1 if q[1] + q[2] >= 2, e^(eps (q[1] + q[2] - 2)) below: each order matters."""


@pytest.mark.parametrize("radius", [1, 2])
@pytest.mark.parametrize("rule", [Norm.INCREASING, Norm.DECREASING])
def test_every_question_is_about_these_pairs_alone(rule: Norm, radius: int) -> None:
    program = dipapprox.parse(ONE_SIDED.replace("RULE", f"{rule.value} {radius}"))
    assert program.adjacency == Within(rule, Q(radius))
    assert not is_symmetric(program, AllPairs())
    every = product(product((Q(0), Q(1), Q(2)), repeat=2), repeat=2)
    listed = [pair for pair in every if by_definition(*pair, program.adjacency)]
    whole, alone = (
        dipapprox.verify(program, eps="1/2", eps_prv="1/3", delta=0, pairs=chosen)
        for chosen in ("all", listed)
    )
    assert whole.pairs == alone.pairs
    assert whole.answer is alone.answer
    assert whole.witness is None or (whole.witness.input, whole.witness.adjacent) in listed
    first, second = (
        dipapprox.profile(program, eps=Q(1, 2), eps_prv=Q(1, 3), pairs=chosen)
        for chosen in ("all", listed)
    )
    assert first.delta_enclosure.meets(second.delta_enclosure)
    rho, other = (
        dipapprox.profile(program, eps=Q(1, 2), renyi=(2, "inf"), pairs=each)
        for each in ("all", listed)
    )
    assert rho.rho == other.rho
