"""A rounding to the wrong side, in one place, is told by ten thousand runs."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dipapprox.composition import accountant, discrete_profiles, losses, pieces, products
from dipapprox.composition.losses import BoundSide, LossDistribution
from dipapprox.composition.mechanisms import RandomisedResponse
from dipapprox.composition.packed import Falling, divided, product
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
    composed = losses.composed

    def rounded_down(
        first: LossDistribution,
        second: LossDistribution,
        cut: int,
        limits: Limits,
        low_end: Falling | None = None,
    ) -> LossDistribution:
        if first.side is BoundSide.BELOW:
            return composed(first, second, cut, limits, low_end)
        row = divided(product(first.row, second.row), first.bits, up=False)
        start = first.start + second.start
        return losses.loss_distribution(start, row.values(), 0, first.bits, BoundSide.ABOVE, 0)

    if broken:
        monkeypatch.setattr(losses, "composed", rounded_down)
        monkeypatch.setattr(products, "composed", rounded_down)
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
