"""The largest delta over all pairs: every way to go through them, orbits, candidates, one name."""

from collections import Counter
from fractions import Fraction
from itertools import permutations, product

import pytest
from pair_programs import QUANTILE, read

import dipapprox
from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.errors import LimitReached
from dipapprox.language.core import Everyone, Listed, Norm, Within
from dipapprox.limits import Limits
from dipapprox.pairs import maxima, selected
from dipapprox.pairs.adjacency import adjacent_pairs
from dipapprox.pairs.likely import likely_pairs
from dipapprox.pairs.maximum import simplest_pair
from dipapprox.pairs.orbits import PairOrbits, orbits
from dipapprox.pairs.selections import AllPairs, Pair
from dipapprox.pairs.walk import plan_walk
from dipapprox.privacy.profiles import renyi
from dipapprox.semantics.execution import execute
from tests.texts import text_of
from tests.thorough import part

HALF = Fraction(1, 2)
TEXT = text_of("noisy_max_gauss")
PROGRAM = dipapprox.parse(TEXT, {"N": 4}, "noisy_max_gauss")
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
def test_portions_do_not_matter(
    block: int, table: int, no_counters: None, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_too_many_candidates_cost_width_and_nothing_else(
    no_counters: None, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_counters_take_more_pairs_than_can_be_listed() -> None:
    svt = text_of("svt_gauss")
    many = dipapprox.parse(svt, {"N": 15}, "svt_gauss")
    found = dipapprox.profile(many, eps=HALF, eps_prv=Fraction(1, 5))
    assert found.pairs == 4**15 - 2**15
    assert found.reason is None
    # The pair that is named does attain it.
    pair = (found.witness.input, found.witness.adjacent)
    own = dipapprox.profile(many, eps=HALF, eps_prv=Fraction(1, 5), pairs=[pair])
    assert own.delta_enclosure.meets(found.delta_enclosure)
    with pytest.raises(LimitReached, match="pair limit"):
        more = dipapprox.parse(svt, {"N": 18}, "svt_gauss")
        dipapprox.profile(more, eps=HALF, renyi=ORDERS)


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
def test_every_adjacent_pair_is_in_one_orbit(
    rule: Everyone | Within, groups: tuple[tuple[int, ...], ...]
) -> None:
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
    assert isinstance(program.adjacency, Listed)
    states = execute(program, True, Limits(), compared=True)
    total = len(program.adjacency.pairs)
    found = list(orbits(states, AllPairs(), total))
    assert sum(number for _, number in found) == total == 3 * 10 * 25
    assert len(found) == 10 * 15
