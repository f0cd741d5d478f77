"""Knots next to bends alone show what all knots show."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest

from dipapprox.kernel.balls import precision, to_ball
from dipapprox.kernel.losses import Grid, Losses
from dipapprox.kernel.mechanisms import finite, of_deltas, sampled
from dipapprox.proof_steps.knots import bends_of, knots, sampled_bends

F = Fraction

STEP, REACH = F(1, 100), 300

OUTCOMES = [(F(1, 2), F(1, 4)), (F(1, 4), F(5, 8)), (F(1, 4), F(1, 8))]
BOUNDS = {F(0): F(1, 3), F(3, 10): F(1, 5), F(9, 10): F(1, 50)}


def grid(ranges: Sequence[object]) -> Grid:
    return Grid({"step": str(STEP), "offset": 0, "places": 100, "knots": ranges})


def losses(sample: tuple[Fraction, bool] | None, above: bool, ranges: Sequence[object]) -> Losses:
    asked = grid(ranges)
    with precision(asked.bits):
        cells = [(to_ball(p), to_ball(q)) for p, q in OUTCOMES]
        pair = of_deltas(BOUNDS) if above else finite(cells)
        pair = pair if sample is None else sampled(pair, *sample)
        if above:
            return asked.above(pair.most)
        return asked.below(pair.outcomes)


@pytest.mark.parametrize("rate", [None, F(1, 10)], ids=["everything", "a sample"])
@pytest.mark.parametrize("added", [False, True], ids=["removed", "added"])
@pytest.mark.parametrize("above", [False, True], ids=["below", "above"])
def test_few_knots_show_what_all_show(above: bool, added: bool, rate: Fraction | None) -> None:
    bends = [sign * float(t) for t in BOUNDS for sign in (1, -1)]
    if not above:
        bends = bends_of((float(p), float(q)) for p, q in OUTCOMES)
    if rate is not None:
        bends = sampled_bends(bends, rate, added)
    sample = None if rate is None else (rate, added)
    few = knots(REACH, REACH, [each / float(STEP) for each in bends])
    assert len(grid(few).knots) <= 4 * len(bends) + 2 < 2 * REACH
    found, wanted = (losses(sample, above, each) for each in (few, knots(REACH, REACH, None)))
    for loss in (F(0), F(1, 20), F(3, 10), F(1, 2), F(4, 5), F(6, 5)):
        assert abs(found.delta(loss) - wanted.delta(loss)) < F(1, 2**80)
