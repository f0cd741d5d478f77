"""A rounding to the wrong side, in one place, is told by ten thousand runs."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dipapprox.composition import accountant, discrete_profiles, layers, pieces
from dipapprox.composition.losses import BoundSide, GridRow
from dipapprox.composition.mechanisms import RandomisedResponse
from dipapprox.composition.pieces import RepeatedRun
from dipapprox.errors import BrokenInvariant
from dipapprox.limits import Limits

TIMES = 10_000


def least_delta() -> Fraction:
    """The total variation of ten thousand answers that are true with 51/100."""
    total, likely, unlikely = 0, 51**TIMES, 49**TIMES
    for k in range(TIMES // 2):
        total += likely - unlikely
        likely = likely * (TIMES - k) * 49 // ((k + 1) * 51)
        unlikely = unlikely * (TIMES - k) * 51 // ((k + 1) * 49)
    return Fraction(total, 100**TIMES)


@pytest.mark.parametrize("broken", [False, True])
def test_products_rounded_down_are_caught(broken: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    multiplied = layers.multiplied

    def rounded_down(first: GridRow, second: GridRow, bits: int, side: BoundSide) -> GridRow:
        found = multiplied(first, second, bits, BoundSide.BELOW)
        return found if side is BoundSide.BELOW else GridRow(found.start, *[found.masses] * 2)

    if broken:
        monkeypatch.setattr(layers, "multiplied", rounded_down)
        monkeypatch.setattr(layers.Layering, "cut", lambda *_: 0)  # cuts are to the safe side
    monkeypatch.setattr(discrete_profiles, "MOST_LOSSES", 1)  # no groups
    monkeypatch.setattr(pieces, "MOST_LOSSES", 1)
    run = RepeatedRun(RandomisedResponse(Fraction(51, 100)), TIMES)
    composition = accountant.Composition((run,))
    true = least_delta()
    try:
        answer = composition.delta([Fraction(0)], Fraction(1, 10**12), Limits())
    except BrokenInvariant:
        assert broken
        return
    (bounds,) = answer.bounds
    assert bounds.lower is not None and bounds.upper is not None and bounds.lower <= true
    assert (bounds.upper < true) == broken
