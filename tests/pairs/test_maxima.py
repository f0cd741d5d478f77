"""Which pairs there are, and the largest delta over all: every way to go through them."""

from collections import Counter
from fractions import Fraction
from itertools import islice, permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pair_programs import QUANTILE, read

import dipapprox
from dipapprox import Enclosure, UserError
from dipapprox.language.core import Adjacency, Cell, Everyone, Input, Norm, Within
from dipapprox.pairs import largest, maxima, selected
from dipapprox.pairs.adjacency import adjacent_pairs, count_pairs
from dipapprox.pairs.likely import likely_pairs
from dipapprox.pairs.maximum import simplest_pair
from dipapprox.pairs.selections import AllPairs, OrderedPairs, Pair, is_symmetric
from dipapprox.pairs.walk import InputNumbers, PairOrbits, orbits, pair_blocks, plan_walk
from dipapprox.privacy.profiles import renyi
from dipapprox.questions.worst_pair import are_adjacent
from dipapprox.semantics.execution import execute
from tests.cases import check_answers, evaluated, part, text_of

HALF = Fraction(1, 2)
PROGRAM = dipapprox.parse(text_of("noisy_max_gauss"), {"N": 4}, "noisy_max_gauss")
ORDERS = (1, 2, Fraction(7, 2))


def renyi_ends() -> list[tuple[Fraction, Fraction]]:
    found = dipapprox.profile(PROGRAM, eps=HALF, renyi=ORDERS)
    ends = []
    for each in found.orders:
        lower, upper = each.divergence.lower, each.divergence.upper
        assert lower is not None and upper is not None
        ends.append((lower, upper))
    return ends


@pytest.fixture
def no_counters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selected, "plan_counters", lambda *_: None)


@pytest.mark.parametrize("block", [1, 60, 2**17])
@pytest.mark.parametrize("table", [1, 2_000_000])
def test_portions_do_not_matter(block, table, no_counters, monkeypatch) -> None:
    # Noisy max, N = 4: max ε₀ = .25740 (specification, section 7.6); 240 pairs of 16 inputs.
    monkeypatch.setattr(selected, "_BLOCK", block)
    monkeypatch.setattr(selected, "LARGEST_TABLE", table)
    pairs = [((u,) * 4, (v,) * 4) for u, v in ((0, 1), (1, 0))]
    pairs.append(((0, 0, 0, 1), (1, 1, 1, 0)))
    for chosen in ("all", pairs):
        if chosen == "all" and block == 1 and table == 1:
            continue  # as many tables as pairs: only slow
        found = dipapprox.profile(PROGRAM, eps=HALF, delta=Fraction(0), pairs=chosen)
        assert found.pairs == (240 if chosen == "all" else 3)
        lower = found.eps_prv_enclosure.lower
        assert abs(lower - Fraction("0.25740")) < Fraction(1, 10**5)
        assert found.eps_prv_enclosure.width <= Fraction(1, 10**9)


def test_too_many_candidates_cost_width_and_nothing_else(no_counters, monkeypatch) -> None:
    # 12 pairs tie for the largest delta: with room for one, doubles must do.
    usual = dipapprox.profile(PROGRAM, eps=HALF, eps_prv=Fraction(1, 10), width=Fraction(1, 10**30))
    assert usual.reason is None
    ends = renyi_ends()
    monkeypatch.setattr(maxima, "MOST_CANDIDATES", 1)
    monkeypatch.setattr(renyi, "MOST_CANDIDATES", 1)
    found = dipapprox.profile(PROGRAM, eps=HALF, eps_prv=Fraction(1, 10), width=Fraction(1, 10**30))
    assert found.reason is not None
    assert found.delta_enclosure.lower <= usual.delta_enclosure.upper
    assert usual.delta_enclosure.lower <= found.delta_enclosure.upper
    assert usual.delta_enclosure.width < found.delta_enclosure.width < Fraction(1, 10**12)
    for (low, high), (wide_low, wide_high) in zip(ends, renyi_ends(), strict=True):
        assert wide_low <= high and low <= wide_high
        assert wide_high - wide_low < Fraction(1, 10**12)


def test_counters_take_more_pairs_than_can_be_listed(monkeypatch) -> None:
    many, more = (dipapprox.parse(text_of("svt_gauss"), {"N": n}, "svt_gauss") for n in (13, 15))
    found = dipapprox.profile(many, eps=HALF, eps_prv=Fraction(1, 5))
    assert found.pairs == 4**13 - 2**13 and found.reason is None
    # The pair that is named does attain it.
    pair = (found.witness.input, found.witness.adjacent)
    own = dipapprox.profile(many, eps=HALF, eps_prv=Fraction(1, 5), pairs=[pair])
    assert own.delta_enclosure.meets(found.delta_enclosure)
    monkeypatch.setattr(largest, "_MOST_REMEMBERED", 1000)
    limited = dipapprox.profile(more, eps=HALF, eps_prv=Fraction(1, 5))
    assert limited.reason.startswith("pair limit") and limited.delta_enclosure.width == 1
    told = dipapprox.profile(more, eps=HALF, renyi=ORDERS)
    assert told.reason.startswith("pair limit")
    assert all(each.divergence.ends() == ["0", "inf"] for each in told.orders)


def test_the_simplest_pair_is_named() -> None:
    third, zero = Fraction(1, 3), Fraction(0)
    little = Fraction(1, 2**60)
    wide = Fraction(1, 2**50)
    known = {
        ((third,), (zero,)): Enclosure(HALF + 2 * little, HALF + wide),
        ((HALF,), (Fraction(1),)): Enclosure(HALF + little, HALF + wide),
        ((HALF,), (zero,)): Enclosure(HALF, HALF + wide),
        ((zero,), (zero,)): Enclosure(zero, Fraction(1)),
    }
    for order in (list(known), list(known)[::-1]):
        found = simplest_pair({pair: known[pair] for pair in order})
        assert found == (((HALF,), (zero,)), known[(HALF,), (zero,)])
    known[(HALF,), (zero,)] = Enclosure.exact(HALF)  # is told apart from the largest
    found = simplest_pair(known)
    assert found[0] == ((HALF,), (Fraction(1),))
    assert simplest_pair({}) is None


Q = Fraction

_GROUPS = [((0,), (1,), (2,), (3,)), ((0, 1, 2, 3),), ((0, 2), (1,), (3,)), ((1, 3), (0, 2))]

_RULES = [
    Everyone(),
    Within(Norm.LINF, Q(1)),
    Within(Norm.L1, Q(2)),
    Within(Norm.L0, Q(1)),
    Within(Norm.L0, Q(2)),
    Within(Norm.INCREASING, Q(1)),
    Within(Norm.DECREASING, Q(2)),
]


def orbit_of(pair: Pair, groups: tuple[tuple[int, ...], ...]) -> set[Pair]:
    """All pairs that permutations in groups make of one: found by trying them all."""
    found = set()
    for orders in product(*(permutations(group) for group in groups)):
        moved = {cell: to for group, order in zip(groups, orders, strict=True)
                 for cell, to in zip(group, order, strict=True)}  # fmt: skip
        places = [moved[cell] for cell in range(len(pair[0]))]
        found.add((tuple(pair[0][k] for k in places), tuple(pair[1][k] for k in places)))
    return found


@pytest.mark.parametrize("rule", part(_RULES, 3), ids=str)
@pytest.mark.parametrize("groups", part(_GROUPS, 2), ids=str)
def test_every_adjacent_pair_is_in_one_orbit(rule, groups) -> None:
    first = groups in _GROUPS[::2]
    cells = read("input q[4] in {0, 1, 3}\noutput o in bool\no <- true\n").inputs
    walk = plan_walk(cells, rule)
    assert walk is not None
    likely = list(likely_pairs(cells, rule)) if first else []
    found = list(PairOrbits(cells, groups).adjacent(walk, likely))
    wholes = [orbit_of(pair, groups) for pair, _ in found]
    assert [number for _, number in found] == list(map(len, wholes))
    assert Counter(pair for own in wholes for pair in own) == Counter(adjacent_pairs(cells, rule))
    if first:
        assert found[0][0] == likely[0]


# --- programs -----------------------------------------------------------------------------------


def test_listed_adjacency_goes_by_orbits_too() -> None:
    text = QUANTILE.replace("adjacent l0 1", "adjacent l0 1 where x[i] <= x'[i] for i in 1..n")
    program = read(text, n=3)
    states = execute(program, True, compared=True)
    total = len(program.adjacency.pairs)
    found = list(orbits(states, AllPairs(), total))
    assert sum(number for _, number in found) == total == 3 * 10 * 25
    assert len(found) == 10 * 15


# --- Adjacency ------------------------------------------------------------------------------------

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
def test_pairs_are_symmetric_if_the_reverse_of_each_is_one(rule) -> None:
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
def test_stream_is_the_definition(inputs, adjacency) -> None:
    every = list(product(*(c.domain for c in inputs)))
    expected = {(u, v) for u in every for v in every if by_definition(u, v, adjacency)}
    stream = list(adjacent_pairs(inputs, adjacency))
    assert len(stream) == len(set(stream)), "a pair came twice"
    assert set(stream) == expected
    assert count_pairs(inputs, adjacency) == len(expected)
    for u, v in product(every, repeat=2):
        assert are_adjacent(adjacency, u, v) == (u == v or (u, v) in expected)


@given(cells(), ADJACENCIES, st.integers(1, 40))
def test_every_pair_comes_once(inputs, adjacency, size) -> None:
    walk = plan_walk(inputs, adjacency)
    numbers = InputNumbers(inputs)
    found = []
    for block in pair_blocks(inputs, walk, size):
        assert 0 < len(block) <= max(size, max(map(len, walk.steps), default=1))
        assert (block.first < numbers.count).all()
        ends = zip(block.first.tolist(), block.second.tolist(), strict=True)
        found += [(numbers.input(a), numbers.input(b)) for a, b in ends]
    assert len(found) == len(set(found))
    assert set(found) == set(adjacent_pairs(inputs, adjacency))


@pytest.mark.parametrize("radius", [1, 2])
@pytest.mark.parametrize("rule", [Norm.INCREASING, Norm.DECREASING])
def test_every_question_is_about_these_pairs_alone(rule, radius) -> None:
    """Pr[out = 1] is 1 if q[1] + q[2] >= 2, e^(eps (q[1] + q[2] - 2)) below: each order matters."""
    program = dipapprox.parse(
        text_of("pairs/maxima-one_sided").replace("increasing 1", f"{rule.value} {radius}")
    )
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


# --- Pairs that are too many, or have no distance: expressions, and what is said of each ----------

NAMED = (cell(1, "bot", "top"), cell(2, "bot", "top"))
WIDE = (cell(1, *range(10_000)), cell(2, *range(10_000)))


def test_pairs_are_counted_without_a_table() -> None:
    asked = {"islice": islice}
    check_answers("pairs_counted", evaluated(globals() | asked, UserError))
