"""Knots next to bends alone show what all knots show."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest
from flint import arb

from dipapprox.kernel.balls import precision
from dipapprox.kernel.losses import Grid, Losses
from dipapprox.kernel.mechanisms import Finite, Known, Pair, Sampled
from dipapprox.proof_steps.knots import bends_of_pair, knots, sampled_bends

F = Fraction

STEP, REACH = F(1, 100), 300

BENDS = [sign * t for t in (0.0, 0.3, 0.9) for sign in (1, -1)]


def from_above() -> Pair:
    return Known({F(0): F(1, 3), F(3, 10): F(1, 5), F(9, 10): F(1, 50)})


def from_below() -> Finite:
    return Finite([(arb(p), arb(q)) for p, q in [(0.5, 0.25), (0.25, 0.625), (0.25, 0.125)]])


def grid(ranges: Sequence[object]) -> Grid:
    return Grid({"step": str(STEP), "offset": 0, "places": 100, "knots": ranges})


def losses(sample: tuple[Fraction, bool] | None, above: bool, ranges: Sequence[object]) -> Losses:
    asked = grid(ranges)
    with precision(asked.bits):
        pair = from_above() if above else from_below()
        pair = pair if sample is None else Sampled(pair, *sample)
        if above:
            return asked.above(pair.most)
        return asked.below(pair.line, pair.infinite, F(1))


@pytest.mark.parametrize("rate", [None, F(1, 10)], ids=["everything", "a sample"])
@pytest.mark.parametrize("added", [False, True], ids=["removed", "added"])
@pytest.mark.parametrize("above", [False, True], ids=["below", "above"])
def test_few_knots_show_what_all_show(above: bool, added: bool, rate: Fraction | None) -> None:
    bends = BENDS if above else bends_of_pair(from_below(), above=False)
    assert bends is not None
    if rate is not None:
        bends = sampled_bends(bends, rate, added)
    sample = None if rate is None else (rate, added)
    few = knots(REACH, REACH, [each / float(STEP) for each in bends])
    assert len(grid(few).knots) <= 4 * len(bends) + 2 < 2 * REACH
    found, wanted = (losses(sample, above, each) for each in (few, knots(REACH, REACH, None)))
    for loss in (F(0), F(1, 20), F(3, 10), F(1, 2), F(4, 5), F(6, 5)):
        assert abs(found.delta(loss) - wanted.delta(loss)) < F(1, 2**80)
