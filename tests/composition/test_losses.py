"""Loss distributions and very many runs: one-way rounding, cuts, products by transforms."""

from fractions import Fraction
from fractions import Fraction as F
from functools import partial
from math import comb, exp, inf, log

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from dipapprox import LimitReached, Limits
from dipapprox.arithmetic.precision import precision, to_ball
from dipapprox.composition.catalogue import profile_of
from dipapprox.composition.grid import GridStep, Knot, ProfileOnGrid, between, choose_knots
from dipapprox.composition.losses import BoundSide, GridLosses, Spread, deltas, least_epsilon
from dipapprox.composition.mechanisms import ApproximateStatement, Gaussian
from dipapprox.composition.powers import (
    LossGrid,
    _logarithms,
    from_above,
    from_below,
    outcomes_above,
    product,
)
from dipapprox.composition.profile import deltas_of, epsilon_of
from dipapprox.composition.transforms import transformed
from dipapprox.limits import limited
from tests.cases import examples

THREE = GridStep(F(1), F(3))
"""e^loss is a power of 3: all H are rational."""


def exact(masses: dict[int, Fraction], infinite: Fraction, alpha: Fraction) -> Fraction:
    """H(α) of masses at ln 3 times whole numbers."""
    inner = (p * max(1 - alpha / F(3) ** loss, F(0)) for loss, p in masses.items())
    return sum(inner, infinite)


def stands_for(losses: GridLosses, alpha: Fraction) -> Fraction:
    unit = F(1, 2**losses.bits)
    masses = {k: p * unit for k, p in zip(losses.places, losses.masses, strict=True)}
    return exact(masses, losses.infinite * unit, alpha)


def one_row(
    step: GridStep, start: int, values: list[int], infinite: int, bits: int, side: BoundSide
) -> GridLosses:
    places = range(start, start + len(values))
    return GridLosses(step, side, bits, places, values, values, infinite)


one_run = partial(one_row, THREE)


def power(
    one: GridLosses, times: int, share: Fraction | None = None, step: GridStep = THREE
) -> GridLosses:
    wanted = LossGrid(step, share or F(0), exact=True)
    return product([(one, times)], wanted)


def response(side: BoundSide, bits: int) -> GridLosses:
    """Randomised response that is true with probability 3/4."""
    up = side is BoundSide.ABOVE
    true, false = ((-(-(p << bits) // 4) if up else (p << bits) // 4) for p in (3, 1))
    return one_run(-1, [false, 0, true], 0, bits, side)


def truth(times: int, alpha: Fraction) -> Fraction:
    """The binomial sum."""
    total = F(0)
    for lies in range(times + 1):
        loss = times - 2 * lies
        if F(3) ** loss > alpha:
            chance = comb(times, lies) * F(3) ** (times - lies) / F(4) ** times
            total += chance * (1 - alpha / F(3) ** loss)
    return total


ALPHAS = [F(1), F(2), F(3), F(50), F(3) ** 9]


@pytest.mark.parametrize("times", [1, 2, 3, 10, 37])
@pytest.mark.parametrize("cut", [F(0), F(1, 2**20)])
def test_powers_bound_binomial_sums(times, cut) -> None:
    for bits in (30, 100):
        above, below = (power(response(side, bits), times, cut) for side in BoundSide)
        for alpha in ALPHAS:
            true = truth(times, alpha)
            gap = 60 * (F(1, 2**bits) + cut) * times * times
            assert true <= stands_for(above, alpha) <= true + gap
            assert true - gap <= stands_for(below, alpha) <= true


def test_every_rounding_of_ten_thousand_runs_is_to_the_safe_side() -> None:
    """With few bits the roundings are more than anything else: one the wrong way shows."""
    times, bits = 10_000, 60
    chances = [comb(times, 0) * 3**times]
    for lies in range(1, times // 2):
        chances.append(chances[-1] * (times - lies + 1) // lies // 3)
    # At α = 1 the Q mass of k lies is the P mass of k truths.
    count = sum(p - p // 3 ** (times - 2 * k) for k, p in enumerate(chances))
    true = F(count, 4**times)
    (above,), (below,) = (deltas(power(response(side, bits), times), [F(0)]) for side in BoundSide)
    assert below < true < above
    assert above - true < F(1, 2**20) and true - below < F(1, 2**20)
    # H(0) is all mass: 1 in truth.
    for times in (2, 3, 5):
        assert sum(power(response(BoundSide.ABOVE, 3), times).masses) >= 8
        assert sum(power(response(BoundSide.BELOW, 3), times).masses) <= 8


masses = st.lists(st.integers(0, 40), min_size=1, max_size=7)
infinite = st.integers(0, 9)
sides = st.sampled_from(BoundSide)


@given(masses, infinite, masses, infinite, st.integers(-4, 4), st.integers(0, 30), sides)
def test_products(one, p, two, q, start, cut, side) -> None:
    """Against the double sum, with and without cuts; order does not matter."""
    bits = 6
    first, second = one_run(start, one, p, bits, side), one_run(-1, two, q, bits, side)
    wanted = LossGrid(THREE, F(cut, 128), exact=True)
    exactly: dict[int, Fraction] = {}
    for i, a in enumerate(one):
        for j, b in enumerate(two):
            loss = start + i - 1 + j
            exactly[loss] = exactly.get(loss, F(0)) + F(a * b, 4096)
    never = F(p * (sum(two) + q) + sum(one) * q, 4096)
    both = product([(first, 1), (second, 1)], wanted)
    for alpha in (F(1, 5), *ALPHAS):
        true, found = exact(exactly, never, alpha), stands_for(both, alpha)
        assert found >= true if side is BoundSide.ABOVE else found <= true
        slack = F(len(exactly) + 1 + 200 * cut, 64)
        assert abs(found - true) <= slack
    if not cut:
        assert product([(second, 1), (first, 1)], wanted) == both


@given(masses, infinite, st.integers(-6, 3), sides)
def test_readings(values, infinite, start, side) -> None:
    """H at rational factors, and the least ε for the δ that H has there."""
    losses = one_row(THREE, start, values, infinite, 6, side)
    budgets = [F(0), F(1, 3), F(11, 10), F(5), F(40)]
    found = deltas(losses, budgets)
    assert found == deltas(losses, budgets[::-1])[::-1]
    for budget, delta in zip(budgets, found, strict=True):
        # ε rather than α is rational: H lies between its values at rational factors nearby.
        alpha = F(float(2.718281828459045 ** float(budget)))
        low, high = (stands_for(losses, alpha * (1 + s * F(1, 2**40))) for s in (1, -1))
        assert low - F(1, 2**30) <= delta <= high + F(1, 2**30)
        epsilon = least_epsilon(losses, min(delta, F(1)))
        if epsilon is None:
            assert delta < losses.infinite * F(1, 64)
        elif delta <= 1:
            (back,) = deltas(losses, [epsilon])
            assert abs(back - delta) < F(1, 2**30) or (epsilon == 0 and back <= delta)
            if side is BoundSide.ABOVE:
                assert back <= delta + F(1, 2**30)
    aim = F(infinite, 64)
    assert least_epsilon(losses, aim) is not None
    if infinite:
        assert least_epsilon(losses, aim - F(1, 100)) is None


@given(st.lists(st.integers(1, 40), min_size=2, max_size=30), sides)
def test_sums_of_q_masses_are_rounded_to_the_safe_side(values, side) -> None:
    """At α = 1, where H is rational; a third is no binary fraction, so that all is rounded."""
    losses = one_row(THREE, 1, values, 1, 6, side)
    (found,) = deltas(losses, [F(0)])
    true = stands_for(losses, F(1))
    assert found > true if side is BoundSide.ABOVE else found < true
    assert abs(found - true) < F(1, 2**20)


@pytest.mark.parametrize("bits", [3, 8, 20])
def test_masses_of_a_profile_are_rounded_to_the_safe_side(bits) -> None:
    step = GridStep(F(1, 4))
    with precision(160):
        profile = profile_of(Gaussian(F(1), F(1)), 160)
        knot = ProfileOnGrid(profile, step)
        knots = choose_knots(knot, 2.0**-40, 2.0**-20)
        above = from_above(knots, step, bits)
        below = from_below(lines_of(between(knot, knots)), profile.ends, step, bits)
        places = [F(k, 7) for k in range(30)]
        truths = [float(profile.at(to_ball(place).exp()).bound) for place in places]
    assert sum(above.masses) > 1 << bits >= sum(below.masses)
    high, low = (deltas(power(each, 1, step=step), places) for each in (above, below))
    for k, truth in enumerate(truths):
        assert low[k] <= truth <= high[k] and high[k] - low[k] < 0.02 + 80 * 2.0**-bits


def test_mass_at_infinity_is_rounded_to_the_safe_side() -> None:
    """A third is no binary fraction."""
    step, bits, third = GridStep(F(1)), 5, F(1, 3)
    with precision(100):
        profile = profile_of(ApproximateStatement(F(1), third), 100)
        above = outcomes_above(profile, step, bits)
        below = from_below(profile.lines(), profile.ends, step, bits)
    assert third * 32 < above.infinite < third * 32 + 2
    assert third * 32 - 4 < below.infinite < third * 32


def lines_of(knots: list[Knot]) -> list[tuple[arb, arb]]:
    return [(knot.point.first, knot.point.second) for knot in knots]


@pytest.mark.parametrize("side", BoundSide)
def test_what_is_read_is_on_the_safe_side_of_many_digits(side) -> None:
    """Ends of enclosures are told apart where they are far narrower than the unit."""
    step, up = GridStep(F(1, 3)), side is BoundSide.ABOVE
    losses = one_row(step, 0, [7, 11, 13, 17], 3, 6, side)

    def exactly(budget: Fraction) -> arb:
        inner = (
            mass * (1 - (to_ball(budget) - step.loss(k)).exp()).max(arb(0))
            for k, mass in enumerate(losses.masses)
        )
        return sum(inner, arb(losses.infinite)) / 64

    budgets = [F(1, 7), F(1, 5), F(2, 5), F(5, 7)]
    for budget, found in zip(budgets, deltas(losses, budgets), strict=True):
        with precision(1000):
            true = exactly(budget)
            assert to_ball(found) > true if up else to_ball(found) < true
    for delta in (F(1, 10), F(1, 7), F(1, 5)):
        least = least_epsilon(losses, delta)
        assert least > 0
        with precision(1000):
            true = exactly(least)
            assert true < to_ball(delta) if up else true > to_ball(delta)


def test_profiles_of_one_run_are_read_on_the_safe_side() -> None:
    """With few bits balls are wide, and the truth is somewhere in their middle."""
    mechanism, budgets = Gaussian(F(1), F(3, 4)), [F(0), F(1, 3), F(2)]
    with precision(400):
        exactly = [low for low, _ in deltas_of(profile_of(mechanism, 400), budgets)]
    with precision(20):
        profile = profile_of(mechanism, 20)
        known = deltas_of(profile, budgets)
        ((least, most),) = epsilon_of(profile, exactly[2], F(1, 2**40))
    for (low, high), true in zip(known, exactly, strict=True):
        assert low < true < high < low + F(1, 2**10)
    assert least < 2 < most < least + F(1, 2**6)


def test_limits_are_kept() -> None:
    many = [(response(BoundSide.ABOVE, 50), 1000)]
    with pytest.raises(LimitReached, match="more than 100 losses"), limited(Limits(atoms=100)):
        product(many, LossGrid(THREE, F(0), exact=True))
    late = Limits(seconds=0, started=0.0)
    with pytest.raises(LimitReached, match="time limit"), limited(late):
        product(many, LossGrid(THREE, F(0), exact=True))


@given(
    st.lists(st.integers(0, 2**36), min_size=2, max_size=9),
    st.integers(-5, 3),
    st.integers(1, 40),
    st.sampled_from([None, F(1, 10), F(2)]),
    st.integers(1, 60),
    sides,
)
@examples(3)
def test_wider_steps_bound_the_same(values, start, times, budget, parts, side) -> None:
    """Whatever lies on wider steps, and whatever is cut off: against exact products of one grid."""
    step = GridStep(F(1, 16 * parts))
    one = one_run(start, values, 3, 40, side)
    plain = power(one, times, step=step)
    share, asked = F(1, 2**30), None if budget is None else float(budget)
    found = product([(one, times)], LossGrid(step, share, asked, accuracy=F(1, 10**6)))
    budgets = [F(k, 5) for k in range(12)]
    for true, bound in zip(deltas(plain, budgets), deltas(found, budgets), strict=True):
        # Both round: to this side of the truth, by less than that.
        slack = true * F(1, 2**20) + F(1, 2**20)
        assert bound >= true - slack if side is BoundSide.ABOVE else bound <= true + slack
    assert found.step.unit >= step.unit


@pytest.mark.parametrize("side", BoundSide)
def test_ten_thousand_runs_on_a_fine_grid_are_narrow(side) -> None:
    """Ten thousand answers of odds 1 to 1.0008 and back: a binomial sum."""
    times, step = 10_000, GridStep(F(1, 50_000))
    chance = 1 / (1 + exp(-1 / 2500))
    up = side is BoundSide.ABOVE
    masses = [int((1 - chance) * 2**60) + up, int(chance * 2**60) + up]
    one = GridLosses(step, side, 60, [-20, 20], masses, masses, 0)
    wanted = LossGrid(step, F(1, 2**50), 0.1, accuracy=F(1, 10**9))
    found = product([(one, times)], wanted)
    true = sum(
        binom.pmf(k, times, chance) * max(1 - exp(0.1 - (2 * k - times) / 2500), 0.0)
        for k in range(times + 1)
    )
    (delta,) = deltas(found, [F(1, 10)])
    assert delta >= true - 1e-12 if up else delta <= true + 1e-12
    assert abs(delta - true) < true / 50


def test_masses_below_a_unit_are_rounded_up() -> None:
    """A product of one unit by one unit is less than a unit: from above it is one, not none."""
    tiny = one_run(0, [1], 0, 10, BoundSide.ABOVE)
    assert power(tiny, 2).masses == [1]
    uneven = one_run(0, [5, 0, 1], 0, 10, BoundSide.ABOVE)
    other = one_run(0, [1024], 0, 10, BoundSide.ABOVE)
    both = product([(uneven, 1), (other, 1)], LossGrid(THREE, F(0), exact=True))
    assert both.masses == [5, 0, 1]


# --- Very many runs: products by transforms, and losses so rare that few are met ------------------

"""e^loss is a power of 3."""


def delta(found: Spread, alpha: F) -> F:
    """H(α) of losses in doubles, exactly."""
    unit = found.step.unit
    total = F(found.infinite)
    for place, p, q in zip(found.places.tolist(), found.masses, found.others, strict=True):
        total += max(F(p) - alpha * F(q) / F(3) ** int(unit * place), F(0))
    return total


def chances(chance: F, never: F) -> dict[int, F]:
    """Odds 3 to 1 and back, of what two more outcomes leave: one without loss, one at infinity."""
    return {1: (1 - chance - never) * F(3, 4), -1: (1 - chance - never) / 4, 0: chance}


def split_response(side: BoundSide, chance: F, never: F = F(0)) -> GridLosses:
    """The same, rounded to the side."""
    unit, true = 1 << 60, chances(chance, never)
    q = {k: -(-m * unit // 1) for k, m in true.items()}
    p = q if side is BoundSide.ABOVE else {k: m * unit // 1 for k, m in true.items()}
    masses, others = ([each[k] for k in (-1, 0, 1)] for each in (p, q))
    return GridLosses(THREE, side, 60, [-1, 0, 1], masses, others, int(never * unit))


def split_truth(times: int, chance: F, never: F, alpha: F) -> F:
    """H(α) of so many, exactly."""
    masses = {0: F(1)}
    for _ in range(times):
        after: dict[int, F] = {}
        for k, m in masses.items():
            for j, p in chances(chance, never).items():
                after[k + j] = after.get(k + j, F(0)) + m * p
        masses = after
    finite = sum(masses.values())
    return 1 - finite + sum(max(m * (1 - alpha / F(3) ** k), F(0)) for k, m in masses.items())


@pytest.mark.parametrize("steepness", [0.0, 0.3, 2.0])
@pytest.mark.parametrize(("chance", "never"), [(F(0), F(0)), (F(99, 100), F(1, 2**30))])
@pytest.mark.parametrize("times", [1, 7, 30])
def test_they_bound_exact_sums(times, chance, never, steepness) -> None:
    above, below = (
        transformed([(split_response(side, chance, never), times)], steepness, 0.0)
        for side in BoundSide
    )
    assert above is not None and below is not None
    for alpha in (F(1), F(3), F(3) ** 4, F(3) ** 9 / 2):
        true = split_truth(times, chance, never, alpha)
        low, high = delta(below, alpha), delta(above, alpha)
        assert low <= true <= high
        # With a great tilt only masses far from where most are have their digits.
        assert steepness > 1 or high - low <= F(1, 10**8)


@pytest.mark.parametrize("side", BoundSide)
def test_small_deltas_keep_their_digits(side) -> None:
    """2000 answers of odds 3 to 1, where their losses add up to 1500 ln 3: about 10^-40."""
    times, alpha, up = 2000, F(3) ** 1500, side is BoundSide.ABOVE
    true = sum(
        F(comb(times, k) * 3 ** (times - k), 4**times) * (1 - alpha / F(3) ** (times - 2 * k))
        for k in range(250)
    )
    wanted = LossGrid(THREE, F(0), budget=1500 * float(np.log(3)), accuracy=F(float(true)) / 10**4)
    masses = [2**398, 3 * 2**398]
    one = GridLosses(THREE, side, 400, [-1, 1], masses, masses, 0)
    found = product([(one, times)], wanted)
    rows = zip(found.places, found.masses, found.others, strict=True)
    inner = (max(p - alpha / F(3) ** k * q, F(0)) for k, p, q in rows)
    total = sum(inner, F(found.infinite)) / 2**found.bits
    assert total >= true if up else total <= true
    assert abs(total - true) < true / 1000


@settings(max_examples=25)
@given(
    st.lists(st.integers(0, 2**40), min_size=2, max_size=8),
    st.integers(-4, 3),
    st.lists(st.integers(1, 40), min_size=1, max_size=3),
    st.sampled_from([0.0, 0.1, 1.0]),
    st.sampled_from(BoundSide),
)
def test_they_bound_products_of_whole_numbers(values, start, times, steepness, side) -> None:
    step, other = GridStep(F(1, 20), F(3)), [2**42, 2**30]
    runs = [
        one_row(step, start, values, 5, 42, side),
        GridLosses(step, side, 42, [0, 2], other, other, 0),
    ]
    factors = [(runs[k % 2], n) for k, n in enumerate(times)]
    found = transformed(factors, steepness, 0.0)
    plain = product(factors, LossGrid(step, F(0), exact=True))
    if found is None:
        return
    size, unit = float(step.loss(1)), 2.0**-42
    p, q = (unit * np.array(own, float) for own in (plain.masses, plain.others))
    losses = np.exp(-size * np.array(plain.places))
    for alpha in (1.0, 1.3, 2.5):
        exact = unit * plain.infinite + float(np.maximum(p - alpha * losses * q, 0).sum())
        others = alpha * np.exp(-size * found.places) * found.others
        spread = found.infinite + float(np.maximum(found.masses - others, 0).sum())
        # Products of whole numbers are rounded to units, on the same side.
        slack = 1e-9 * exact + sum(times) * (len(p) + 1) * 2.0**-40
        assert spread >= exact - slack if side is BoundSide.ABOVE else spread <= exact + slack


@pytest.mark.parametrize("side", BoundSide)
@pytest.mark.parametrize("parts", [2, 3, 10])
def test_wider_grids_bound_the_same(side, parts) -> None:
    one = Spread.of(split_response(side, F(1, 7)), 0.0)
    wide = one.wider(parts)
    assert wide.step.unit == parts
    for alpha in (F(1, 5), F(1), F(2), F(3), F(20)):
        before, after = delta(one, alpha), delta(wide, alpha)
        assert after >= before if side is BoundSide.ABOVE else after <= before


def test_what_is_too_large_for_doubles_is_left_to_whole_numbers() -> None:
    """Q masses that add up to more than 1 in every run, 1.001^1000000 in all."""
    one = GridLosses(THREE, BoundSide.BELOW, 60, [0], [1 << 60], [(1001 << 60) // 1000], 0)
    assert transformed([(one, 10**6)], 0.0, 0.0) is None


def test_many_runs_of_which_none_is_run_often(monkeypatch) -> None:
    """Nine kinds, each once: none is as many as the groups that many runs are in."""
    monkeypatch.setattr("dipapprox.composition.transforms._MANY", 4)
    runs = [(split_response(BoundSide.ABOVE, F(k, 10)), 1) for k in range(9)]
    found = transformed(runs, 0.0, 0.0)
    assert found is not None and 0 < delta(found, F(1)) < 1


def test_masses_beyond_doubles_have_logarithms() -> None:
    """Bounds from above are, where losses are huge."""
    found = _logarithms([0, 1, 3 << 5000], 100)
    assert found.tolist() == [-inf, -100 * log(2), pytest.approx(log(3) + 4900 * log(2))]


@pytest.mark.parametrize("unit", [F(1), F(1, 2**30), F(1, 2**1070), F(1, 2**2000)])
def test_the_unit_of_masses_has_so_many_bits_whatever_the_step_is(unit) -> None:
    coarsest = LossGrid(GridStep(F(1)), share=F(1, 2**40)).bits
    assert 0 <= LossGrid(GridStep(unit), share=F(1, 2**40)).bits - coarsest <= 12
