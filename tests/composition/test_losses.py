"""Loss distributions: one-way rounding, cuts, products, and what is read off them."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.arithmetic.precision import precision, to_ball
from dipapprox.composition.accountant import Composition
from dipapprox.composition.catalogue import outcomes_of, profile_of
from dipapprox.composition.closed_profiles import GaussianProfile, LaplaceProfile
from dipapprox.composition.discrete_profiles import DiscreteProfile
from dipapprox.composition.discretise import from_above, from_below, outcomes_above
from dipapprox.composition.grid import GridStep, Knot, between, choose_knots, knot_at
from dipapprox.composition.losses import (
    BoundSide,
    Cuts,
    LossDistribution,
    composed,
    loss_distribution,
    power,
)
from dipapprox.composition.mechanisms import (
    ApproximateStatement,
    Gaussian,
    Laplace,
    Mechanism,
    Subsampled,
)
from dipapprox.composition.pieces import RepeatedRun
from dipapprox.composition.profile import BallProfile, Ends, ProfilePoint
from dipapprox.composition.reading import deltas, deltas_of, epsilon_of, least_epsilon
from dipapprox.errors import LimitReached
from dipapprox.limits import Limits

F = Fraction
THREE = GridStep(F(1), F(3))
"""e^loss is a power of 3: all H are rational."""


def exact(masses: dict[int, Fraction], infinite: Fraction, alpha: Fraction) -> Fraction:
    """H(α) of masses at ln 3 times whole numbers."""
    inner = (p * max(1 - alpha / F(3) ** loss, F(0)) for loss, p in masses.items())
    return sum(inner, infinite)


def stands_for(losses: LossDistribution, alpha: Fraction) -> Fraction:
    unit = F(1, 2**losses.bits)
    masses = {losses.start // 2 + k: p * unit for k, p in enumerate(losses.masses())}
    return exact(masses, losses.infinite * unit, alpha)


def response(side: BoundSide, bits: int) -> LossDistribution:
    """Randomised response that is true with probability 3/4."""
    up = side is BoundSide.ABOVE
    true, false = ((-(-(p << bits) // 4) if up else (p << bits) // 4) for p in (3, 1))
    return loss_distribution(-2, [false, 0, true], 0, bits, side)


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
def test_powers_bound_binomial_sums(times: int, cut: Fraction) -> None:
    for bits in (30, 100):
        above, below = (
            power(response(side, bits), times, Cuts(cut), Limits()) for side in BoundSide
        )
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
    (above,), (below,) = (
        deltas(power(response(side, bits), times, Cuts(F(0)), Limits()), THREE, [F(0)])
        for side in BoundSide
    )
    assert below < true < above
    assert above - true < F(1, 2**20) and true - below < F(1, 2**20)
    # H(0) is all mass: 1 in truth.
    for times in (2, 3, 5):
        assert power(response(BoundSide.ABOVE, 3), times, Cuts(F(0)), Limits()).total >= 8
        assert power(response(BoundSide.BELOW, 3), times, Cuts(F(0)), Limits()).total <= 8


masses = st.lists(st.integers(0, 40), min_size=1, max_size=7)
infinite = st.integers(0, 9)
sides = st.sampled_from(BoundSide)


@given(masses, infinite, masses, infinite, st.integers(-4, 4), st.integers(0, 30), sides)
def test_products(
    one: list[int], p: int, two: list[int], q: int, start: int, cut: int, side: BoundSide
) -> None:
    """Against the double sum, with and without cuts; order does not matter."""
    bits = 6
    first = loss_distribution(2 * start, list(one), p, bits, side)
    second = loss_distribution(-2, list(two), q, bits, side)
    exactly: dict[int, Fraction] = {}
    for i, a in enumerate(one):
        for j, b in enumerate(two):
            loss = start + i - 1 + j
            exactly[loss] = exactly.get(loss, F(0)) + F(a * b, 4096)
    never = F(p * (sum(two) + q) + sum(one) * q, 4096)
    product = composed(first, second, cut, Limits())
    for alpha in (F(1, 5), *ALPHAS):
        true, found = exact(exactly, never, alpha), stands_for(product, alpha)
        assert found >= true if side is BoundSide.ABOVE else found <= true
        slack = F(len(exactly) + 1 + 2 * cut, 64)
        assert abs(found - true) <= slack
    if not cut:
        assert composed(second, first, 0, Limits()).masses() == product.masses()


@given(masses, infinite, st.integers(-6, 3), sides)
def test_readings(values: list[int], infinite: int, start: int, side: BoundSide) -> None:
    """H at rational factors, and the least ε for the δ that H has there."""
    losses = loss_distribution(2 * start, list(values), infinite, 6, side)
    budgets = [F(0), F(1, 3), F(11, 10), F(5), F(40)]
    found = deltas(losses, THREE, budgets)
    assert found == deltas(losses, THREE, budgets[::-1])[::-1]
    for budget, delta in zip(budgets, found, strict=True):
        # ε rather than α is rational: H lies between its values at rational factors nearby.
        alpha = F(float(2.718281828459045 ** float(budget)))
        low, high = (stands_for(losses, alpha * (1 + s * F(1, 2**40))) for s in (1, -1))
        assert low - F(1, 2**30) <= delta <= high + F(1, 2**30)
        epsilon = least_epsilon(losses, THREE, min(delta, F(1)))
        if epsilon is None:
            assert delta < losses.infinite * F(1, 64)
        elif delta <= 1:
            (back,) = deltas(losses, THREE, [epsilon])
            assert abs(back - delta) < F(1, 2**30) or (epsilon == 0 and back <= delta)
            if side is BoundSide.ABOVE:
                assert back <= delta + F(1, 2**30)
    aim = F(infinite, 64)
    assert least_epsilon(losses, THREE, aim) is not None
    if infinite:
        assert least_epsilon(losses, THREE, aim - F(1, 100)) is None


@given(st.lists(st.integers(1, 40), min_size=2, max_size=30), sides)
def test_sums_of_q_masses_are_rounded_to_the_safe_side(values: list[int], side: BoundSide) -> None:
    """At α = 1, where H is rational; a third is no binary fraction, so that all is rounded."""
    losses = loss_distribution(2, list(values), 1, 6, side)
    (found,) = deltas(losses, THREE, [F(0)])
    true = stands_for(losses, F(1))
    assert found > true if side is BoundSide.ABOVE else found < true
    assert abs(found - true) < F(1, 2**20)


@pytest.mark.parametrize("bits", [3, 8, 20])
def test_masses_of_a_profile_are_rounded_to_the_safe_side(bits: int) -> None:
    step = GridStep(F(1, 4))
    with precision(160):
        profile = profile_of(Gaussian(F(1), F(1)), 160)
        knots = choose_knots(profile, step, 2.0**-40, 2.0**-20, Limits())
        above = from_above(knots, bits, 0, Limits())
        lines = lines_of(between(profile, step, knots))
        below = from_below(lines, profile.ends, step, bits, 0, Limits())
        places = [F(k, 7) for k in range(30)]
        truths = [float(profile.at(to_ball(place).exp()).bound) for place in places]
    assert above.total > 1 << bits >= below.total
    high, low = (deltas(each, step, places) for each in (above, below))
    for k, truth in enumerate(truths):
        assert low[k] <= truth <= high[k] and high[k] - low[k] < 0.02 + 80 * 2.0**-bits


def test_mass_at_infinity_is_rounded_to_the_safe_side() -> None:
    """A third is no binary fraction."""
    step, bits, third = GridStep(F(1)), 5, F(1, 3)
    with precision(100):
        profile = profile_of(ApproximateStatement(F(1), third), 100)
        assert isinstance(profile, DiscreteProfile)
        above = outcomes_above(profile, step, bits, 0, Limits())
        below = from_below(profile.lines(), profile.ends, step, bits, 0, Limits())
    assert third * 32 < above.infinite < third * 32 + 2
    assert third * 32 - 4 < below.infinite < third * 32


def test_doubt_of_a_profile_counts() -> None:
    """Ends of balls are rounded, not their middles."""
    step = GridStep(F(1))
    with precision(64):
        wide = ProfilePoint(arb("0.5", "0.1"), arb("0.5", "0.1"), arb("0.25", "0.1"))
        above = from_above([Knot(0, arb(1), wide)], 20, 0, Limits())
        ends = Ends(arb("0.5", "0.1"), arb(0))
        below = from_below([(wide.first, wide.second)], ends, step, 20, 0, Limits())
    assert above.infinite >= F(6, 10) * 2**20
    assert below.infinite <= F(4, 10) * 2**20


@given(
    st.sampled_from(
        [Gaussian(F(1), F(3, 4)), Laplace(F(1), F(1, 2)), ApproximateStatement(F(8, 7), F(1, 9))]
    ),
    st.integers(1, 20),
    st.sampled_from([4, 8, 60]),
    st.sets(st.sampled_from(range(-9, 10, 2)), min_size=1, max_size=6),
)
def test_any_lines_give_lower_bounds(
    mechanism: Mechanism, parts: int, bits: int, places: set[int]
) -> None:
    """However far apart they are, and in which order."""
    step = GridStep(F(parts, 13))
    with precision(160):
        profile = profile_of(mechanism, 160)
        knots = [knot_at(profile, step, place) for place in sorted(places)]
        lines = lines_of(knots)[::-1] if parts % 2 else lines_of(knots)
        found = from_below(lines, profile.ends, step, bits, 0, Limits())
        budgets = [F(k, 3) for k in range(24)]
        truths = [profile.at(to_ball(budget).exp()).bound for budget in budgets]
        assert found.total <= 1 << bits
        twice = composed(found, found, 0, Limits())
        for least, truth in zip(deltas(found, step, budgets), truths, strict=True):
            assert not to_ball(least) > truth.upper()
        two = profile_of_two(mechanism)
        for budget, least in zip(budgets, deltas(twice, step, budgets), strict=True):
            assert not to_ball(least) > two.at(to_ball(budget).exp()).bound.upper()


def lines_of(knots: list[Knot]) -> list[tuple[arb, arb]]:
    return [(knot.point.first, knot.point.second) for knot in knots]


def profile_of_two(mechanism: Mechanism) -> BallProfile:
    """Two runs: Gaussian noise of a shift, outcomes, or no more than nothing."""
    match mechanism:
        case Gaussian(sensitivity, sigma):
            return GaussianProfile(to_ball(sensitivity / sigma) * arb(2).sqrt())
        case ApproximateStatement():
            outcomes = outcomes_of(mechanism, 160)
            assert outcomes is not None
            return outcomes.power(2).profile()
        case _:
            return LaplaceProfile(to_ball(F(1000)))


@pytest.mark.parametrize("side", BoundSide)
def test_what_is_read_is_on_the_safe_side_of_many_digits(side: BoundSide) -> None:
    """Ends of enclosures are told apart where they are far narrower than the unit."""
    losses = loss_distribution(0, [7, 11, 13, 17], 3, 6, side)
    step, up = GridStep(F(1, 3)), side is BoundSide.ABOVE

    def exactly(budget: Fraction) -> arb:
        inner = (
            mass * (1 - (to_ball(budget) - step.loss(2 * k)).exp()).max(arb(0))
            for k, mass in enumerate(losses.masses())
        )
        return sum(inner, arb(losses.infinite)) / 64

    budgets = [F(1, 7), F(1, 5), F(2, 5), F(5, 7)]
    for budget, found in zip(budgets, deltas(losses, step, budgets), strict=True):
        with precision(1000):
            true = exactly(budget)
            assert to_ball(found) > true if up else to_ball(found) < true
    for delta in (F(1, 10), F(1, 7), F(1, 5)):
        least = least_epsilon(losses, step, delta)
        assert least is not None and least > 0
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
    assert least is not None and most is not None and least < 2 < most < least + F(1, 2**6)


def test_limits_are_kept() -> None:
    with pytest.raises(LimitReached, match="more than 100 losses"):
        power(response(BoundSide.ABOVE, 50), 1000, Cuts(F(0)), Limits(atoms=100))
    with pytest.raises(LimitReached, match="time limit"):
        power(response(BoundSide.ABOVE, 50), 1000, Cuts(F(0)), Limits(seconds=0, started=0.0))


def test_steps_so_wide_that_nothing_is_left_of_the_other_masses() -> None:
    """e^-step is 0 in whole numbers: what is above δ is read off the masses alone."""
    wide = GridStep(F(1000))
    for side in BoundSide:
        losses = loss_distribution(0, [1, 0, 3], 1, 3, side)
        for delta in (F(1, 8), F(1, 4), F(3, 8)):
            found = least_epsilon(losses, wide, delta)
            assert found is not None and 0 <= found <= 2000
            if side is BoundSide.ABOVE:
                assert deltas(losses, wide, [found])[0] <= delta + F(1, 10**9)
        empty = loss_distribution(0, [0, 0, 0], 1, 3, side)
        assert least_epsilon(empty, wide, F(1, 4)) == 0


def test_masses_below_a_unit_are_rounded_up() -> None:
    """A product of one unit by one unit is less than a unit: from above it is one, not none."""
    tiny = loss_distribution(0, [1], 0, 10, BoundSide.ABOVE)
    assert composed(tiny, tiny, 0, Limits()).masses() == [1]
    uneven = loss_distribution(0, [5, 0, 1], 0, 10, BoundSide.ABOVE)
    other = loss_distribution(0, [1024], 0, 10, BoundSide.ABOVE)
    assert composed(uneven, other, 0, Limits()).masses() == [5, 0, 1]


def test_losses_far_apart_are_counted_before_they_are_kept() -> None:
    runs = (RepeatedRun(Subsampled(Gaussian(F(1), F(1, 10**4)), F(1, 2)), 2),)
    found = Composition(runs).epsilon(F(1, 10**5), F(1, 1000), Limits())
    assert found.reason is not None and found.reason.startswith("atom limit")
