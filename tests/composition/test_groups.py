"""Groups of runs and adaptive runs against exact rationals, over all sequences of outcomes."""

from fractions import Fraction
from functools import cache
from itertools import product
from math import comb, prod

import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.arithmetic.precision import precision, to_ball
from dipapprox.composition import adaptive
from dipapprox.composition.adaptive import Stage, adaptive_profile, grid_size
from dipapprox.composition.catalogue import outcomes_of
from dipapprox.composition.discrete_profiles import MOST_LOSSES, Outcomes, group_sizes
from dipapprox.composition.mechanisms import DiscreteGaussian
from dipapprox.errors import LimitReached
from dipapprox.limits import Limits

F = Fraction
PAIRS = [
    [(F(1, 2), F(1, 3)), (F(1, 4), F(1, 3)), (F(1, 4), F(0)), (F(0), F(1, 3))],
    [(F(3, 5), F(1, 5)), (F(3, 10), F(2, 5)), (F(1, 10), F(2, 5))],
    [(F(1), F(1))],
    [(F(1), F(0)), (F(0), F(1))],
]


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("times", [1, 2, 5])
def test_a_group_is_the_product(pair: list[tuple[F, F]], times: int) -> None:
    with precision(128):
        found = Outcomes([(to_ball(p), to_ball(q)) for p, q in pair]).power(times).profile()
        for alpha in (F(1, 7), F(1), F(5, 4), F(3), F(40)):
            true = sum(
                max(prod(p for p, _ in each) - alpha * prod(q for _, q in each), F(0))
                for each in product(pair, repeat=times)
            )
            point = found.at(to_ball(alpha))
            assert point.bound.overlaps(to_ball(true)) and point.bound.rad() < 1e-30
            line = point.first - to_ball(alpha) * point.second
            assert line.overlaps(to_ball(true))


def test_what_is_not_told_apart_counts() -> None:
    with precision(64):
        doubt = arb(0).union(arb(2) ** -40)
        masses = [(arb(1) / 2, arb(1) / 4), (arb(1) / 2, 3 * arb(1) / 4), (doubt, doubt)]
        found = Outcomes(masses).power(3).profile()
        assert found.missing >= arb(2) ** -40 and found.missing < arb(2) ** -35


@given(st.integers(0, 20), st.integers(1, 10**6))
def test_groups_are_all_runs_and_not_too_large(count: int, times: int) -> None:
    outcomes = Outcomes([(arb(1), arb(1))] * count)
    sizes = group_sizes(outcomes, times)
    assert count > 1 or sizes == [(times, 1)]
    assert sum(size * many for size, many in sizes) == times and len(sizes) <= 2
    for size, _ in sizes:
        assert size == 1 or count == 0 or comb(size + count - 1, count - 1) <= MOST_LOSSES


@pytest.mark.parametrize("bits", [1, 2, 4])
@pytest.mark.parametrize(("shift", "square"), [(1, F(1, 2)), (2, F(7, 3))])
def test_few_integers_have_masses_that_hold_the_true_ones(shift: int, square: F, bits: int) -> None:
    """What is left out, on both sides, is at most what is missing, and in every mass."""
    with precision(128):
        found = outcomes_of(DiscreteGaussian(shift, variance=square), bits)
        true = {k: (to_ball(F(-k * k) / (2 * square))).exp() for k in range(-60, 61)}
        total = sum(true.values(), arb(0))
        reach = (len(found.masses) - shift - 1) // 2
        shown = range(-reach, reach + shift + 1)
        for x, masses in zip(shown, found.masses, strict=True):
            for place, mass in zip((x, x - shift), masses, strict=True):
                assert mass.contains(true[place] / total)
                assert mass.rad() <= found.missing * mass.upper()
        for moved in (0, shift):
            left = sum((true[k] for k in true if k + moved not in shown), arb(0)) / total
            assert left <= found.missing <= 2 * arb(2) ** -bits


Pair = tuple[tuple[Fraction, Fraction], ...]
LEFT: Pair = ((F(1, 2), F(1, 4)), (F(1, 2), F(3, 4)))
RIGHT: Pair = ((F(9, 10), F(7, 10)), (F(1, 10), F(3, 10)))
LOST: Pair = ((F(1, 100), F(0)), (F(99, 100), F(9, 10)), (F(0), F(1, 10)))


def truth(runs: tuple[tuple[Pair, ...], ...], alpha: Fraction) -> Fraction:
    """The most of P(S) - α Q(S), by trying all that may be chosen in every run."""

    @cache
    def best(done: int, x: Fraction) -> Fraction:
        if done == len(runs):
            return max(1 - x, F(0))
        return max(
            sum(p if not q else p * best(done + 1, x * q / p) for p, q in pair if p)
            for pair in runs[done]
        )

    return best(0, alpha)


def stage(pairs: tuple[Pair, ...], times: int) -> Stage:
    masses = [[(to_ball(p), to_ball(q)) for p, q in pair] for pair in pairs]
    return Stage(masses, masses, times)


def encloses(stages: list[Stage], runs: tuple[tuple[Pair, ...], ...]) -> None:
    found = adaptive_profile(stages, grid_size(2**-7, len(runs)), Limits())
    for alpha in (F(1, 3), F(1), F(11, 10), F(3, 2), F(2), F(7, 2), F(40)):
        true = truth(runs, alpha)
        point = found.at(to_ball(alpha))
        lower = point.first - to_ball(alpha) * point.second
        assert float(lower.lower()) <= true + F(1, 10**30)
        assert true <= F(float(point.bound.upper())) + F(1, 10**15)
        assert point.bound.upper() >= to_ball(true).lower()
        assert float(point.bound.upper()) - max(float(lower.lower()), 0) < 1e-2


@pytest.mark.parametrize("times", [1, 2, 5])
@pytest.mark.parametrize(
    "pairs", [(LEFT,), (LEFT, RIGHT), (LEFT, RIGHT, LOST, tuple((q, p) for p, q in LEFT))]
)
def test_the_interval_holds_the_best_strategy(pairs: tuple[Pair, ...], times: int) -> None:
    with precision(128):
        encloses([stage(pairs, times)], (pairs,) * times)


def test_each_run_has_its_own_pairs() -> None:
    """In the order given, which is of consequence."""
    one, two = (LEFT, RIGHT), (RIGHT, LOST)
    with precision(128):
        for runs in ((one, one, two), (two, one, one), (one, two, one)):
            encloses([stage(pairs, 1) for pairs in runs], runs)
    assert truth((one, two, one), F(11, 10)) != truth((two, one, one), F(11, 10))


def test_limits_are_asked() -> None:
    with precision(64):
        runs = [stage((LEFT,), 3)]
        with pytest.raises(LimitReached, match="time limit"):
            adaptive_profile(runs, F(1, 100), Limits(seconds=0, started=0.0))
        with pytest.raises(LimitReached, match="too fine"):
            adaptive_profile(runs, F(1, 10**9), Limits(atoms=10**12))


class Endless(list[tuple[arb, arb]]):
    """Masses that are said to be too many for sums in doubles to be trusted."""

    def __len__(self) -> int:
        return 2**50


def test_more_terms_than_doubles_can_add_up_are_refused() -> None:
    with precision(64):
        masses = Endless((to_ball(p), to_ball(q)) for p, q in LEFT)
        with pytest.raises(LimitReached, match="too many runs or outcomes for doubles"):
            adaptive_profile([Stage([masses], [masses], 1)], F(1, 100), Limits())


def test_what_goes_into_doubles_is_rounded_to_the_safe_side() -> None:
    """Thirds are no binary fractions; every one of these is moved by one rounding alone."""
    third, size = F(1, 3), F(1, 8)
    with precision(120):
        p, q = to_ball(third), to_ball(2 * third)
        kernel = adaptive._Kernel.of([(p, q), (q, arb(0))], size, 100)
        strategy = adaptive._Strategy.of([(p, q), (q, arb(0))], size, 100)
        start = adaptive._start(size, 9)
        exactly = [1 - to_ball(-size * k).exp() for k in range(9, 0, -1)]
    assert sum(F(weight) for _, weight in kernel.weights) > third
    assert F(kernel.certain) > 2 * third
    ((_, own, other),) = strategy.parts
    assert F(own) < third and F(other) > 2 * third and F(strategy.certain) < 2 * third
    for value, true in zip(start, exactly, strict=False):
        assert to_ball(F(float(value))) > true
    with precision(60):
        wide = to_ball(third) + arb(0, 2.0**-20)
        least = adaptive._Strategy.of([(wide, wide)], size, 100).parts[0]
        most = adaptive._Kernel.of([(wide, wide)], size, 100)
    assert F(least[1]) < third - F(1, 2**21) and F(least[2]) > third + F(1, 2**21)
    assert sum(F(weight) for _, weight in most.weights) > third + F(1, 2**21)
    assert min(place for place, _ in most.weights) < 0
