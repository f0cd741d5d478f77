"""Losses, and H of what is chosen as it goes, in few places and at few knots.

What is rounded is rounded to its side, by a unit. The truth is computed from the definitions, in
rational numbers and with exponentials as floats.
"""

import random
from collections.abc import Sequence
from contextlib import nullcontext
from fractions import Fraction
from itertools import accumulate
from math import ceil, exp, floor
from typing import Any

import pytest
from flint import arb

from dipapprox.kernel.balls import precision, to_ball
from dipapprox.kernel.errors import BadProof, Refused
from dipapprox.kernel.losses import Adaptive, Grid, Losses
from dipapprox.kernel.mechanisms import finite, of_deltas, sampled
from dipapprox.proof_steps.knots import bends_of, knots, sampled_bends
from kernel.machines import judged
from tests.cases import check_answers, refuses

STEP = Fraction(1, 3)
TINY = 1e-9
"""What floats may be wrong by, in units."""


def losses(source: random.Random, above: bool, places: int, reach: int = 3) -> Losses:
    """Masses anywhere on the grid, some at infinity."""
    start, count = source.randint(-reach, reach), source.randint(1, 5)
    masses, others = ([source.randint(0, 2**places // 4) for _ in range(count)] for _ in "pq")
    infinite = source.choice([0, source.randint(1, 2**places // 5 + 1)])
    more = None if above else tuple(others)
    return Losses(STEP, Fraction(0), start, tuple(masses), infinite, places, more)


def sums(one: tuple[int, ...], other: tuple[int, ...], places: int) -> list[Fraction]:
    """A convolution, in units."""
    found = [Fraction(0)] * (len(one) + len(other) - 1)
    for k, m in enumerate(one):
        for j, n in enumerate(other):
            found[k + j] += Fraction(m * n, 2**places)
    return found


@pytest.mark.parametrize("places", [1, 4, 6])
@pytest.mark.parametrize("above", [True, False], ids=["above", "below"])
def test_products_are_rounded_by_less_than_a_unit(above, places) -> None:
    source, side = random.Random(places), ceil if above else floor
    for _ in range(100):
        one, other = (
            losses(source, above, places)._replace(offset=Fraction(source.randint(-3, 3), 7))
            for _ in range(2)
        )
        found, unit = one.composed(other, (0, 0)), 2**one.places
        assert found.offset == one.offset + other.offset
        masses = [side(m) for m in sums(one.masses, other.masses, one.places)]
        first = next((k for k, m in enumerate(masses) if m), 0)
        last = next((k for k, m in reversed([*enumerate(masses)]) if m), 0)
        assert found.masses == tuple(masses[first : last + 1])
        assert found.start == one.start + other.start + first
        both = sum(other.masses) + other.infinite, sum(one.masses) * other.infinite
        assert found.infinite == side(Fraction(one.infinite * both[0] + both[1], unit))
        if one.others is not None and other.others is not None:
            more = map(ceil, sums(one.others, other.others, one.places))
            assert found.others == tuple([*more][first : last + 1])


@pytest.mark.parametrize("above", [True, False], ids=["above", "below"])
def test_as_much_is_cut_off_as_may_be(above) -> None:
    """From above what is lost below stands at the lowest loss, and what is lost above beyond."""
    source, some = random.Random(3), 0
    for _ in range(60):
        one, other = (losses(source, above, 6) for _ in range(2))
        whole = one.composed(other, (0, 0))
        lows, highs = ([*accumulate(own)] for own in (whole.masses, whole.masses[::-1]))
        for low in range(len(lows) // 2):
            for high in range(len(lows) // 2 - low):
                cut = (lows[low - 1] if low else 0), (highs[high - 1] if high else 0)
                found, end = one.composed(other, cut), len(lows) - high
                lost, gone = cut if above else (0, 0)
                if lows[low] == cut[0] or highs[high] == cut[1]:
                    continue
                assert found.start == whole.start + low
                assert found.masses == (whole.masses[low] + lost, *whole.masses[low + 1 : end])
                assert found.infinite == whole.infinite + gone
                some += 1
    assert some > 50


@pytest.mark.parametrize("above", [True, False], ids=["above", "below"])
def test_delta_of_losses_is_rounded_by_a_unit(above) -> None:
    source, sign = random.Random(4), 1 if above else -1
    for _ in range(100):
        given = losses(source, above, 6)._replace(offset=Fraction(source.randint(-3, 3), 7))
        size = len(given.masses)
        places = [(given.start + k) * STEP + given.offset for k in range(-1, size + 2)]
        looked_at = sorted({Fraction(source.randint(0, 12), 7), *places})
        for loss, found in zip(looked_at, given.deltas(looked_at), strict=True):
            assert found == given.delta(loss)
            true = float(given.infinite)
            for k, (m, n) in enumerate(
                zip(given.masses, given.others or given.masses, strict=True)
            ):
                own = places[k + 1]
                true += (m - n * exp(loss - own)) if own >= loss else 0
            assert -TINY <= sign * (float(found) * 64 - min(true, 64)) <= 1 + TINY


def test_losses_through_knots_are_above_by_few_units() -> None:
    """Above all of what is enclosed, and of what is infinite."""
    source, width = random.Random(6), 1 / 128
    around = arb(-width, width)
    for infinite, first in [(0, -9), (0.05, 0)] * 15:
        p, q = (source.randint(1, 9) / 10 for _ in "pq")

        def most(a: float, p: float = p, q: float = q, beyond: float = infinite) -> float:
            cells = (p, q), (1 - p, 1 - q)
            return beyond + width + sum(max(0, m * (1 - beyond) - a * n) for m, n in cells)

        asked = grid(5, first)
        with precision(asked.bits):
            found = asked.above(lambda t: to_ball(Fraction(most(exp(t)))) + around)
        assert 32 <= found.infinite + sum(found.masses) <= 52
        for k in range(4 * first, 37):
            a = exp(k / 12)
            values = ((m, exp((found.start + j) * STEP)) for j, m in enumerate(found.masses))
            above = found.infinite + sum(m * max(0, 1 - a / b) for m, b in values)
            assert above >= 32 * most(a) - TINY
            assert above <= 32 * most(a) + 20 or k % 4


def test_a_mass_below_a_unit_is_none_from_below() -> None:
    asked = grid(5)
    with precision(asked.bits):
        found = asked.below(lambda _: [(arb(1) / 33, arb(1) / 2), (arb(1) / 33, arb(0))])
        whole = asked.below(lambda _: [(arb(k) / 4, arb(k == 0)) for k in (0, 1, 2)])
        apart = asked.below(lambda _: [(arb(1) / 2 / k, arb(k) / 16) for k in (2, 2, 4, 4)])
    assert (sum(found.masses), found.infinite) == (0, 0)
    assert (whole.masses, whole.others, whole.infinite) == ((0,), (0,), 24)
    assert (apart.start, apart.masses) == (-2, (8, 0, 0, 0, 16)), "half a step from their losses"
    assert apart.others == (9, 0, 0, 0, 16), "quarters and halves, times e^(2/3) or by it"


@pytest.mark.parametrize("side", [True, False], ids=["above", "below"])
def test_what_is_chosen_is_on_one_grid_and_one_side(side) -> None:
    given, source = Adaptive.of(grid(6), 3, side), random.Random(5)
    own = losses(source, side, 6)
    assert given.before([own])
    # What is next to a place that is far away is looked at, too.
    assert given.before([own._replace(start=-20, masses=(1,), others=None if side else (2,))])
    others = [losses(source, not side, 6), losses(source, side, 5), own._replace(step=1 + STEP)]
    for other in (*others, own._replace(offset=STEP)):
        refuses(BadProof, None, given.before, [own, other])
        with pytest.raises(BadProof) if other.offset == 0 else nullcontext():
            own.composed(other, (0, 0))


@pytest.mark.parametrize("reach", [1, 4])
@pytest.mark.parametrize("above", [True, False], ids=["above", "below"])
def test_nothing_run_is_known_by_a_unit(above, reach) -> None:
    found = Adaptive.of(grid(6), reach, above)
    slopes = [exp(k * STEP) for k in range(-reach, 0)]
    nothing = (0,) * (reach + 1)
    if above:
        assert found.values == (*(ceil(64 - 64 * slope) for slope in slopes), *nothing)
    else:
        assert found.values == (*[64] * reach, *nothing)
        assert found.others == (*(ceil(64 * slope) for slope in slopes), *nothing)


def grid(places: int, first: int = -9) -> Grid:
    return Grid({"step": "1/3", "offset": 0, "places": places, "knots": [[first, 9, 1]]})


def on_grid(**change: Any) -> list[int]:
    return Grid({"step": 1, "offset": 0, "places": 2000, "knots": [[0, 1, 1]], **change}).losses


def test_grids_that_are_none() -> None:
    check_answers("kernel_grids", judged(globals()))


def test_products_of_masses_are_not_too_long() -> None:
    few = Losses(Fraction(1), Fraction(0), 0, (1,) * 10, 0, 900)
    assert few.composed(few, (0, 0)).masses
    start = Adaptive.of(
        Grid({"step": 1, "offset": 0, "places": 900, "knots": [[0, 0, 1]]}), 1, True
    )
    assert start.before([few]).values
    refuses(Refused, "more masses", start.before, [few._replace(masses=(1,) * 10**6)])


def h(given: Adaptive, k: int) -> tuple[float, float]:
    """What is known at a place: a line, or from above a value."""
    reach, unit = len(given.values) // 2, 2**given.places
    if -reach <= k <= reach:
        return given.values[k + reach], given.others[k + reach] if given.others else 0
    if k > reach:
        return (given.values[-1] if given.above else 0), 0
    return unit, unit * exp(k * STEP)


@pytest.mark.parametrize("places", [2, 6])
def test_h_from_above_is_rounded_by_less_than_a_unit(places) -> None:
    source = random.Random(places)
    for _ in range(30):
        given = Adaptive.of(grid(places), source.randint(1, 5), True)
        for _ in range(2):
            chosen = [losses(source, True, places) for _ in range(source.randint(1, 3))]
            before, given = given, given.before(chosen)
            for j, value in enumerate(given.values, -(len(given.values) // 2)):
                ways = [
                    sum(m * h(before, j - each.start - k)[0] for k, m in enumerate(each.masses))
                    + each.infinite * 2**places
                    for each in chosen
                ]
                assert value == min(-(-max(ways) // 2**places), 2**places)


@pytest.mark.parametrize("places", [2, 5])
def test_h_from_below_is_below_by_few_units(places) -> None:
    """At every x a line is at most the sum of the best lines there were, and near it at its own."""
    source, unit = random.Random(places), 2**places
    for _ in range(12):
        given = Adaptive.of(grid(places), source.randint(1, 5), False)
        for _ in range(2):
            each, unlikely = losses(source, False, places), source.randint(0, unit)
            if source.random() < 0.5:
                # Nothing is rounded down.
                each = each._replace(masses=(unit,), others=(unlikely,), infinite=0)
            before, given, reach = given, given.before([each]), len(given.values) // 2
            lines = [(*h(before, j), j) for j in range(-reach - 8, reach + 9)]

            def most(x: float, each: Losses = each, lines: Any = lines) -> float:
                found = each.infinite * unit
                pairs = zip(each.masses, each.others or (), strict=True)
                for k, (m, n) in enumerate(pairs, each.start):
                    shift = x * exp(-k * STEP)
                    ways = (m * a - n * b * shift * exp(-j * STEP) for a, b, j in lines)
                    found += max(*ways, 0) if m else 0
                return found / unit

            for j in range(-reach, reach + 1):
                a, b = h(given, j)
                for i in range(-reach - 3, reach + 4):
                    assert a - b * exp((i - j) * STEP) <= most(exp(i * STEP)) + TINY
                assert a - b >= own_lines(each, before, j) - 2 - TINY


def test_beyond_all_places_h_is_at_least_nothing() -> None:
    some = Losses(STEP, Fraction(0), -9, (8,) * 5, 0, 5, (8,) * 5)
    assert Adaptive.of(grid(5), 1, False).before([some]).values == (0, 0, 0)


@pytest.mark.parametrize("above", [True, False], ids=["above", "below"])
def test_delta_of_h_is_that_of_a_chord_or_a_line_by_a_unit(above) -> None:
    source = random.Random(8)
    for _ in range(40):
        given = Adaptive.of(grid(6), 4, above).before([losses(source, above, 6)])
        for eps_prv in (Fraction(k, 12) for k in range(0, 24, 3)):
            found, k = float(given.delta(eps_prv)) * 64, floor(eps_prv / STEP)
            if above:
                (left, _), (right, _) = (h(given, min(j, 4)) for j in (k, k + 1))
                share = (exp(eps_prv) - exp(k * STEP)) / (exp((k + 1) * STEP) - exp(k * STEP))
                assert -TINY <= found - (left + (right - left) * share) <= 1 + TINY
            else:
                j = min(round(eps_prv / STEP), 4)
                a, b = h(given, j)
                near = a - b * exp(eps_prv - j * STEP)
                assert -TINY <= near - found <= 1 + TINY


def own_lines(each: Losses, given: Adaptive, j: int) -> float:
    """The sum of the lines of the places that masses lead to, at their own x."""
    pairs = zip(each.masses, each.others or (), strict=True)
    found, reach = float(each.infinite * 2**given.places), len(given.values) // 2
    for k, (m, n) in enumerate(pairs, each.start):
        first = 2**given.places, ceil(2**given.places * exp(-reach * STEP))
        a, b = h(given, j - k) if j - k >= -reach else first
        found += m * a - n * b if m else 0
    return found / 2**given.places


# --- knots next to bends alone --------------------------------------------------------------------

F = Fraction

FINE, REACH = F(1, 100), 300

OUTCOMES = [(F(1, 2), F(1, 4)), (F(1, 4), F(5, 8)), (F(1, 4), F(1, 8))]
BOUNDS = {F(0): F(1, 3), F(3, 10): F(1, 5), F(9, 10): F(1, 50)}


def fine_grid(ranges: Sequence[object]) -> Grid:
    return Grid({"step": str(FINE), "offset": 0, "places": 100, "knots": ranges})


def losses_at(
    sample: tuple[Fraction, bool] | None, above: bool, ranges: Sequence[object]
) -> Losses:
    asked = fine_grid(ranges)
    with precision(asked.bits):
        cells = [(to_ball(p), to_ball(q)) for p, q in OUTCOMES]
        bounds = {t: to_ball(delta) for t, delta in BOUNDS.items()}
        pair = of_deltas(bounds) if above else finite(cells)
        pair = sampled(pair, sample)
        if above:
            return asked.above(pair.most)
        return asked.below(pair.outcomes)


@pytest.mark.parametrize("rate", [None, F(1, 10)], ids=["everything", "a sample"])
@pytest.mark.parametrize("added", [False, True], ids=["removed", "added"])
@pytest.mark.parametrize("above", [False, True], ids=["below", "above"])
def test_few_knots_show_what_all_show(above, added, rate) -> None:
    bends = [sign * float(t) for t in BOUNDS for sign in (1, -1)]
    if not above:
        bends = bends_of((float(p), float(q)) for p, q in OUTCOMES)
    if rate is not None:
        bends = sampled_bends(bends, rate, added)
    sample = None if rate is None else (rate, added)
    few = knots(REACH, REACH, [each / float(FINE) for each in bends])
    assert len(fine_grid(few).knots) <= 4 * len(bends) + 2 < 2 * REACH
    found, wanted = (losses_at(sample, above, each) for each in (few, knots(REACH, REACH, None)))
    for loss in (F(0), F(1, 20), F(3, 10), F(1, 2), F(4, 5), F(6, 5)):
        assert abs(found.delta(loss) - wanted.delta(loss)) < F(1, 2**80)
