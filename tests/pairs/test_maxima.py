"""The largest delta over all pairs: every way to go through them, few candidates, one name."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import dipapprox
from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.errors import LimitReached
from dipapprox.pairs import maxima, selected
from dipapprox.pairs.maximum import simplest_pair
from dipapprox.privacy.profiles import renyi

HALF = Fraction(1, 2)
TEXT = (Path(__file__).parents[2] / "programs" / "noisy_max_gauss.dpg").read_text("utf-8")
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
    svt = (Path(__file__).parents[2] / "programs" / "svt_gauss.dpg").read_text("utf-8")
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
