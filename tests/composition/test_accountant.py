"""Certified intervals, groups, adaptive runs, several published numbers: other accountants.

Against closed forms, quadrature, sums over a lattice, and what must not matter."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from fractions import Fraction as F
from functools import cache, reduce
from itertools import pairwise, product
from math import comb, exp, log, prod
from random import Random
from typing import Any

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import laplace, norm

from dipapprox import Enclosure, LimitReached, Limits, NotEnclosed, Options, UserError
from dipapprox.arithmetic.precision import precision, to_ball, to_enclosure
from dipapprox.composition import adaptive
from dipapprox.composition import grid as grids
from dipapprox.composition.accountant import Composition, CompositionAnswer
from dipapprox.composition.adaptive import Masses, Stage, adaptive_profile, bounded_range, grid_size
from dipapprox.composition.catalogue import MOST_LOSSES, Outcomes, group_sizes, outcomes_of
from dipapprox.composition.grid import GridStep
from dipapprox.composition.losses import BoundSide, deltas
from dipapprox.composition.mechanisms import (
    Adjacency,
    ApproximateStatement,
    Atoms,
    Between,
    ConcentratedStatement,
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    Laplace,
    Mechanism,
    RandomisedResponse,
    Subsampled,
)
from dipapprox.composition.moments import Moment, Moments
from dipapprox.composition.pair_products import CellLosses, losses_of_cells, slacks
from dipapprox.composition.powers import LossGrid, PairWay
from dipapprox.composition.powers import product as power_product
from dipapprox.composition.product_measures import ProductMeasures
from dipapprox.composition.products import RepeatedRun, factors_of, pieces_of, working_bits
from dipapprox.data_classes import replace
from dipapprox.events.canonical import canonical
from dipapprox.events.event import Event, Marginal, Part
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import EXPONENTIAL, GAUSSIAN, LAPLACE, REFLECTED_EXPONENTIAL
from dipapprox.laws.family import Family
from dipapprox.limits import limited
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.real_outputs.coordinates import Mixed, factored
from dipapprox.numerics.real_outputs.hockey_stick import Discretised, HockeyStick, Split
from dipapprox.numerics.real_outputs.panel_polynomials import Cells
from dipapprox.privacy.compositions.programs import hull
from dipapprox.privacy.subjects import open_method
from tests import moved_noise
from tests.cases import THOROUGH, cases, check_answers, evaluated, refuses

DELTA = F(1, 10**5)
SAMPLED = Subsampled(Gaussian(F(1), F(1)), F(1, 100))


def cost(
    *runs: tuple[Mechanism, int], delta: Fraction = DELTA, width: str = "0.001"
) -> CompositionAnswer:
    composition = Composition(tuple(RepeatedRun(*run) for run in runs))
    return composition.epsilon(delta, F(width))


def ends(answer: CompositionAnswer) -> tuple[float, float]:
    (bounds,) = answer.bounds
    return float(bounds.lower), float(bounds.upper)


@cases(
    "mechanism, times, make, scale, rate",
    (SAMPLED, 1000, privacy_loss_distribution.from_gaussian_mechanism, 1.0, 0.01),
    (
        *(Subsampled(Laplace(F(1), F(2)), F(1, 10)), 50),
        *(privacy_loss_distribution.from_laplace_mechanism, 2.0, 0.1),
    ),
    (Laplace(F(1), F(5)), 30, privacy_loss_distribution.from_laplace_mechanism, 5.0, 1.0),
    ids=["sampled Gaussian", "sampled Laplace", "Laplace"],
)
def test_another_accountant_is_above(mechanism, times, make, scale, rate) -> None:
    """Its pessimistic value lies in or above the interval, its optimistic one below."""
    found = []
    for pessimistic in (True, False):
        one = make(
            scale,
            sampling_prob=rate,
            value_discretization_interval=1e-3,
            pessimistic_estimate=pessimistic,
        )
        found.append(one.self_compose(times).get_epsilon_for_delta(1e-5))
    low, high = ends(cost((mechanism, times), width="0.02"))
    assert found[1] <= high and found[0] >= low - 1e-8
    assert found[0] <= high + 0.02


def test_several_worst_pairs_are_chosen_by_what_came_before() -> None:
    """Entries of one mechanism are one; what is chosen depends on noise that comes first, but never
    on what comes later."""
    pairs = (((F(1, 2), F(1, 4)), (F(1, 2), F(3, 4))), ((F(9, 10), F(7, 10)), (F(1, 10), F(3, 10))))
    masses = tuple(
        tuple((Enclosure.exact(p), Enclosure.exact(q)) for p, q in each) for each in pairs
    )
    turned = tuple(tuple((q, p) for p, q in each) for each in masses)
    places = sorted({F(1), F(2), F(3), F(9, 7), F(5, 2), F(10, 3)})
    both = (*pairs, *(tuple((q, p) for p, q in each) for each in pairs))
    points = [(x, max(sum(max(p - x * q, F(0)) for p, q in each) for each in both)) for x in places]
    program = Between(
        Atoms(hull(points), symmetric=True, attained=False),
        Atoms(masses[0]),
        (*masses, *turned),
        (*masses, *turned),
    )
    response = RandomisedResponse(F(3, 5), adjacency=Adjacency.ADD_REMOVE)
    coin = (((F(3, 5), F(2, 5)), (F(2, 5), F(3, 5))),)
    truths = truth((both,) * 4, F(2)), truth((coin, both, both), F(2))
    for true, *entries in (
        (truths[0], (program, 4)),
        (truths[0], (program, 1), (program, 1), (program, 2)),
        (truths[1], (program, 2), (response, 1)),
        (truths[1], (program, 1), (response, 1), (program, 1)),
    ):
        composition = Composition(tuple(RepeatedRun(*entry) for entry in entries))
        budget = F("0.693147180559945")
        (bounds,) = composition.delta([budget], F(1, 100)).bounds
        assert bounds.lower - F(1, 10**14) <= true <= bounds.upper <= bounds.lower + F(1, 100)


def test_a_narrower_interval_meets_the_wider_one() -> None:
    wide, narrow = cost((SAMPLED, 100), width="0.05"), cost((SAMPLED, 100), width="0.005")
    (low, high), (lower, upper) = ends(wide), ends(narrow)
    assert low <= upper and lower <= high and upper - lower <= 0.005
    assert narrow.grid.step.unit < wide.grid.step.unit


def test_a_million_runs_that_are_one_need_no_finer_grid() -> None:
    """Gaussian noise of deviation 1000, and one answer of two: H(α) = Σ p H_Gauss(α q / p)."""
    many = RepeatedRun(Gaussian(F(1), F(1000), Adjacency.SUBSTITUTION), 10**6)
    two = RepeatedRun(RandomisedResponse(F(3, 4)))
    answer = Composition((many, two)).delta([F(1)], F(1, 10**5))
    assert answer.atoms < 10_000
    losses = [(0.75, 1 - log(3)), (0.25, 1 + log(3))]
    true = sum(p * (norm.cdf(0.5 - t) - exp(t) * norm.cdf(-0.5 - t)) for p, t in losses)
    low, high = ends(answer)
    assert low <= true <= high < low + 1e-5


def test_statements_are_used_up_to_what_they_allow() -> None:
    """The worst (ε, δ) mechanisms: all δ of k runs, 1 - (1 - δ)^k, and kε."""
    run = (ApproximateStatement(F(1, 10), F(1, 10**6)), 3)
    all_delta = 1 - (1 - F(1, 10**6)) ** 3
    (bounds,) = cost(run, delta=all_delta - F(1, 10**12)).bounds
    assert bounds.lower is None and bounds.upper is None
    low, high = ends(cost(run, delta=all_delta + F(1, 10**12), width="1e-9"))
    assert 0.3 - 1e-6 < low <= high <= 0.3


def test_statements_beside_noise_that_is_on_no_lattice() -> None:
    """Their losses are on the grid, and the profile has no bend where many steps are skipped."""
    runs = (ApproximateStatement(F(1, 10), F(1, 10**8)), 5), (Laplace(F(1), F(10)), 30)
    answer = cost(*runs)
    low, high = ends(answer)
    assert 2.26641 < low <= 2.26758 and 2.26741 <= high < 2.26858 and high - low <= 0.001
    assert answer.reason is None and answer.atoms < 50_000


def test_noise_of_the_census() -> None:
    """Discrete Gaussians on seven lattices, with variances that are no squares."""
    squares = [F(6, 5), F(3), F(101, 10), F(39, 2), F(134), F(380), F(1900)]
    runs = [(DiscreteGaussian(1, variance=each), 2) for each in squares]
    low, high = ends(cost(*runs, delta=F(1, 10**10)))
    assert high - low <= 0.001
    ones = [
        privacy_loss_distribution.from_discrete_gaussian_mechanism(
            float(each) ** 0.5, value_discretization_interval=1e-3
        ).self_compose(2)
        for each in squares
    ]
    rounded = reduce(lambda whole, one: whole.compose(one), ones).get_epsilon_for_delta(1e-10)
    assert low <= rounded < high + 0.015  # each of 14 losses is rounded up by 0.001 at most


def test_great_costs_are_known_from_below() -> None:
    """Q masses are 2^-360 at losses of 250."""
    runs, grid = (
        [RepeatedRun(Gaussian(F(1), F(2)), 1000)],
        LossGrid(GridStep(F(1, 50)), F(1, 2**50)),
    )
    with precision(working_bits(grid)):
        pieces = pieces_of(runs, grid, added=False)
        (((losses, times),),) = factors_of(pieces, grid, [BoundSide.BELOW]).values()
    (least,) = deltas(losses, [F(200)])
    true = norm.sf((200 - 125) / 250**0.5) - exp(200 + norm.logsf((200 + 125) / 250**0.5))
    assert times == 1 and 0.5 * true < least < true


def test_mass_at_infinity_is_there_from_below_too() -> None:
    pair = (("1/4", "0"), ("1/4", "1/2"), ("1/2", "1/2"))
    one = Atoms(tuple((Enclosure.exact(F(p)), Enclosure.exact(F(q))) for p, q in pair))
    (bounds,) = cost((one, 2), delta=F(43, 100)).bounds
    assert bounds.lower is None and bounds.upper is None
    low, high = ends(cost((one, 2), delta=F(7, 16)))
    assert low == 0 and high < 1e-3


@cases(
    "eps, times, budget, most",
    (F(1, 10**6), 3, 0, 10**-6),
    pytest.param(F(1, 100), 4000, 1, 6e-4, marks=pytest.mark.thorough),
)
def test_runs_of_bounded_ranges_cost_no_more_than_pairs_that_nobody_chooses(
    eps, times, budget, most
) -> None:
    """The grid of all runs together may be too coarse for them."""
    runs = (RepeatedRun(ExponentialMechanism(eps), times),)
    (found,) = Composition(runs).delta([F(budget)], F(1, 10**8)).bounds
    assert found.upper is not None and float(found.upper) < most


def test_limits_are_not_all_that_keeps_intervals_wide() -> None:
    """Where nothing attains the upper end, that is said as well."""
    composition = Composition(
        (RepeatedRun(ConcentratedStatement(F(1, 8)), 30), RepeatedRun(Laplace(F(1), F(2)), 9))
    )
    with limited(Limits(atoms=100)):
        answer = composition.epsilon(DELTA, F(1, 10**6))
    assert answer.reason.startswith("atom limit: ")
    assert answer.reason.endswith("; no pair is known that attains the upper end")


def most_chosen(pairs: Sequence[Sequence[tuple[float, float]]], times: int, x: Any) -> Any:
    """H of adaptive runs, by all that may be chosen in every run."""
    if not times:
        return np.maximum(1 - x, 0)
    return np.max(
        [sum(p * most_chosen(pairs, times - 1, x * q / p) for p, q in pair) for pair in pairs], 0
    )


@cases("way", *PairWay)
def test_noise_that_keeps_a_statement_costs_no_more_with_pairs_that_are_chosen(way) -> None:
    """Noise comes first; then two runs, each of the pair that is worst by what came."""
    random, nodes = Random(way.value), np.linspace(-9, 9, 2001)
    for _ in range(4 if THOROUGH else 1):
        rho, times, far = F(random.randint(1, 9), 100), random.randint(1, 9), random.uniform(0.1, 2)
        if way is PairWay.RANGES:
            tops = [exp(k * far / 4) for k in range(1, 4)]
            both = [(x, (1 - x / exp(far)) / (x - x / exp(far)), x / exp(far)) for x in tops]
            pairs = [[(x * q, q), (y * (1 - q), 1 - q)] for x, q, y in both]
            one: Mechanism = ExponentialMechanism(F(far))
        else:
            odds = [F(random.randint(1, 99), 100) for _ in range(4)]
            exact = [((p, q), (1 - p, 1 - q)) for p, q in pairwise(odds) if p != q]
            exact += [tuple((q, p) for p, q in pair) for pair in exact]
            most = max(p / q for pair in exact for p, q in pair)
            exact.append(((most / (1 + most), 1 / (1 + most)), (1 / (1 + most), most / (1 + most))))
            *masses, top = (
                tuple((Enclosure.exact(p), Enclosure.exact(q)) for p, q in pair) for pair in exact
            )
            above = Atoms(top, symmetric=True, attained=False)
            pairs = [[(float(p), float(q)) for p, q in pair] for pair in exact[:-1]]
            one = Between(above, Atoms(masses[0]), tuple(masses), tuple(masses))
        runs = [RepeatedRun(one, 2), RepeatedRun(ConcentratedStatement(rho), times)]
        grid = LossGrid(GridStep(F(1, 16)), F(1, 2**40), way=way)
        with precision(working_bits(grid)):
            factors = factors_of(pieces_of(runs, grid, added=False), grid, list(BoundSide))
        shift, ones = (2 * times * rho) ** 0.5, norm.pdf(nodes) / norm.pdf(nodes).sum()
        found = {side: power_product(own, grid) for side, own in factors.items()}
        for budget in (F(0), F(1, 2), F(3)):
            ratios = np.exp(float(budget) - shift * nodes - float(shift) ** 2 / 2)
            true = float(ones @ most_chosen(pairs, 2, ratios))
            high, low = (float(deltas(found[side], [budget])[0]) for side in BoundSide)
            assert max(low, true - 1e-6) <= high


@pytest.mark.thorough
def test_divergences_add_up_beside_one_pair_above_those_that_are_chosen() -> None:
    """A thousand statements, each of which alone has a profile of its own, cost far more."""
    pairs = [((F(1, 2), F(1, 3)), (F(1, 2), F(2, 3))), ((F(1, 3), F(1, 2)), (F(2, 3), F(1, 2)))]
    masses = tuple(
        tuple((Enclosure.exact(p), Enclosure.exact(q)) for p, q in each) for each in pairs
    )
    top = tuple((Enclosure.exact(p), Enclosure.exact(1 - p)) for p in (F(3, 5), F(2, 5)))
    chosen = Between(Atoms(top, symmetric=True, attained=False), Atoms(masses[0]), masses, masses)
    low, high = ends(cost((chosen, 2), (ConcentratedStatement(F(1, 2000)), 1000)))
    assert 4.5 < low < high < 5.6, (low, high)


# --- Groups of runs and adaptive runs against exact rationals, over all sequences of outcomes -----

PAIRS = [
    [(F(1, 2), F(1, 3)), (F(1, 4), F(1, 3)), (F(1, 4), F(0)), (F(0), F(1, 3))],
    [(F(3, 5), F(1, 5)), (F(3, 10), F(2, 5)), (F(1, 10), F(2, 5))],
    [(F(1), F(1))],
    [(F(1), F(0)), (F(0), F(1))],
]


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("times", [1, 2, 5])
def test_a_group_is_the_product(pair, times) -> None:
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
def test_groups_are_all_runs_and_not_too_large(count, times) -> None:
    outcomes = Outcomes([(arb(1), arb(1))] * count)
    sizes = group_sizes(outcomes, times)
    assert count > 1 or sizes == [(times, 1)]
    assert sum(size * many for size, many in sizes) == times and len(sizes) <= 2
    for size, _ in sizes:
        assert size == 1 or count == 0 or comb(size + count - 1, count - 1) <= MOST_LOSSES


@pytest.mark.parametrize("bits", [1, 2, 4])
@pytest.mark.parametrize(("shift", "square"), [(1, F(1, 2)), (2, F(7, 3))])
def test_few_integers_have_masses_that_hold_the_true_ones(shift, square, bits) -> None:
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
    found = adaptive_profile(stages, grid_size(2**-7, len(runs)))
    for alpha in (F(1, 3), F(1), F(11, 10), F(3, 2), F(2), F(7, 2), F(40)):
        true = truth(runs, alpha)
        point = found.at(to_ball(alpha))
        lower = point.first - to_ball(alpha) * point.second
        assert float(lower.lower()) <= true + F(1, 10**30)
        assert true <= F(float(point.bound.upper())) + F(1, 10**15)
        assert point.bound.upper() >= to_ball(true).lower()
        assert float(point.bound.upper()) - max(float(lower.lower()), 0) < 1e-2


@pytest.mark.parametrize("times", [1, 2, 5])
@cases("pairs", (LEFT,), (LEFT, RIGHT), (LEFT, RIGHT, LOST, tuple((q, p) for p, q in LEFT)))
def test_the_interval_holds_the_best_strategy(pairs, times) -> None:
    with precision(128):
        encloses([stage(pairs, times)], (pairs,) * times)


def test_each_run_has_its_own_pairs() -> None:
    """In the order given, which is of consequence."""
    one, two = (LEFT, RIGHT), (RIGHT, LOST)
    with precision(128):
        for runs in ((one, one, two), (two, one, one), (one, two, one)):
            encloses([stage(pairs, 1) for pairs in runs], runs)
    assert truth((one, two, one), F(11, 10)) != truth((two, one, one), F(11, 10))


def test_losses_far_beyond_the_grid_are_not_taken_for_smaller_ones() -> None:
    """Before the first place a profile is at most a chord to 1, which it does not reach there."""
    few = (F(1, 8), F(1, 2**40)), (F(7, 8), 1 - F(1, 2**40))
    with precision(128):
        found = adaptive_profile([stage((few,), 2)], F(1, 10), 8)
        for alpha in (F(1), F(5, 4), F(2)):
            assert truth(((few,), (few,)), alpha) <= F(
                float(found.at(to_ball(alpha)).bound.upper())
            )


@pytest.mark.parametrize("rate", [1, F(1, 4)])
def test_bounded_ranges_hold_all_strategies(rate) -> None:
    """Pairs of two outcomes, others than those that are looked at, after one another."""
    eps, top = 0.7, exp(0.7)

    def sampled(pair: Masses) -> list[tuple[arb, arb]]:
        share = to_ball(rate)
        return [(share * p + (1 - share) * q, q) for p, q in pair]

    def pair(most: float) -> tuple[Pair, ...]:
        first = (top - exp(most)) / (top - 1)
        second = (top * exp(-most) - 1) / (top - 1)
        both = ((first, second), (1 - first, 1 - second))
        return tuple((F(p) * rate + F(q) * (1 - rate), F(q)) for p, q in both)

    with precision(128):
        row = bounded_range(F(eps), F(1, 50), 2, sampled)
        row = row if rate == 1 else replace(row, unit=None)
        found = adaptive_profile([row], F(1, 50))
        ours = tuple(pair(eps * k / 31) for k in range(1, 31))
        for alpha in (F(1, 3), F(1), F(5, 4), F(2), F(3)):
            point, true = found.at(to_ball(alpha)), truth((ours, ours), alpha)
            assert true <= F(float(point.bound.upper())) + F(1, 10**12)
            assert float(point.bound.upper()) - float(true) < 3e-3
            assert float((point.first - to_ball(alpha) * point.second).upper()) <= true + F(1, 1000)


def test_limits_are_asked() -> None:
    with precision(64):
        runs = [stage((LEFT,), 3)]
        with (
            pytest.raises(LimitReached, match="time limit"),
            limited(Limits(seconds=0, started=0.0)),
        ):
            adaptive_profile(runs, F(1, 100))
        with limited(Limits(atoms=10**12)):
            refuses(LimitReached, "too fine", adaptive_profile, runs, F(1, 10**9))


class Endless(list[tuple[arb, arb]]):
    """Masses that are said to be too many for sums in doubles to be trusted."""

    def __len__(self) -> int:
        return 2**50


def test_more_terms_than_doubles_can_add_up_are_refused() -> None:
    with precision(64):
        masses = Endless((to_ball(p), to_ball(q)) for p, q in LEFT)
        with pytest.raises(LimitReached, match="too many runs or outcomes for doubles"):
            adaptive_profile([Stage([masses], [masses], 1)], F(1, 100))


def test_what_goes_into_doubles_is_rounded_to_the_safe_side() -> None:
    """Thirds are no binary fractions; every one of these is moved by one rounding alone."""
    third, size = F(1, 3), F(1, 8)
    with precision(120):
        p, q = to_ball(third), to_ball(2 * third)
        weights, lacked = adaptive._kernel([(p, q), (q, arb(0))], size, 100)
        parts, certain = adaptive._strategy([(p, q), (q, arb(0))], size, 100)
        start = adaptive._start(size, 9)
        exactly = [1 - to_ball(-size * k).exp() for k in range(9, 0, -1)]
    assert sum(F(weight) for _, weight in weights) > third
    assert F(lacked) > 2 * third
    ((_, own, other),) = parts
    assert F(own) < third and F(other) > 2 * third and F(certain) < 2 * third
    for value, true in zip(start, exactly, strict=False):
        assert to_ball(F(float(value))) > true
    with precision(60):
        wide = to_ball(third) + arb(0, 2.0**-20)
        (least,), _ = adaptive._strategy([(wide, wide)], size, 100)
        most, _ = adaptive._kernel([(wide, wide)], size, 100)
    assert F(least[1]) < third - F(1, 2**21) and F(least[2]) > third + F(1, 2**21)
    assert sum(F(weight) for _, weight in most) > third + F(1, 2**21)
    assert min(place for place, _ in most) < 0


# --- Several independent published numbers: products, losses of cells on a grid, Rényi moments ----

Y = LinearForm.symbol(0)
MEASURES = ProductMeasures(open_method(Options()))
Law = Callable[[float], float]


def noise(family: Family, mean: F | int, scale: F | int = 1, most: int | None = None) -> Marginal:
    """A sample, at most `most`."""
    guards = () if most is None else (Y + LinearForm.constant_form(-most),)
    return Marginal(Event((Distribution(family, F(mean), F(scale)),), guards), Y)


def part(*numbers: Marginal) -> tuple[Part, ...]:
    return (Part((), numbers),)


def half(mean: F | int) -> Event:
    """{x <= 0} for a standard Laplace sample: of mass e^-mean / 2 for a mean >= 0."""
    return Event((Distribution(LAPLACE, F(mean), F(1)),), (Y,))


def value(first: Sequence[Part], second: Sequence[Part], budget: F, bits: int = 30) -> Split:
    with precision(200):
        growth = to_enclosure(to_ball(budget).exp())
    assert isinstance(growth, Enclosure)
    found = MEASURES.divergence(first, second, growth, bits)
    assert isinstance(found, Split), found
    return found


def test_one_number_that_differs_is_as_good_as_alone() -> None:
    same = [noise(LAPLACE, 0, 2), noise(GAUSSIAN, 0, 1)]
    first, second = (part(same[0], noise(LAPLACE, m), same[1]) for m in (0, 1))
    found = value(first, second, F(1, 2))
    assert float(found.value.lower) == pytest.approx(1 - exp(-0.25), rel=1e-9)
    assert found.coordinate == 1 and found.intervals is not None


def test_truncated_noise_is_completed() -> None:
    """Two numbers below 3: against a two-dimensional sum."""
    parts = [part(noise(LAPLACE, m, 2, 3), noise(LAPLACE, m, 2, 3)) for m in (0, 1)]
    found = value(parts[0], parts[1], F(1, 4), 12).value
    places = np.linspace(-37, 3, 2001)[:-1] + 0.01
    densities = [np.exp(-np.abs(places - m) / 2) / 4 for m in (0, 1)]
    f, g = (np.outer(each, each) for each in densities)
    expected = float(np.sum(np.maximum(f - exp(0.25) * g, 0.0)) * 0.02**2)
    assert abs(float(found.lower) - expected) < 1e-3
    assert found.width < 1e-3


def mixed(mean: int) -> list[Part]:
    """One of two levels of noise, by a coin that nobody sees, in two numbers."""
    return [
        Part((canonical(half(F(0))),), (noise(GAUSSIAN, mean, s), noise(GAUSSIAN, mean, 2 * s)))
        for s in (1, 2)
    ]


@pytest.mark.parametrize("budget", [F(1, 2)])
def test_sums_of_products_are_bounded(budget) -> None:
    """Against a two-dimensional sum; the terms come in another order on the other side."""
    found = value(mixed(0), mixed(1)[::-1], budget, 24)
    places = np.linspace(-20, 21, 1201)
    size = places[1] - places[0]
    densities = []
    for mean in (0, 1):
        two = [[norm.pdf(places, mean, s * k) for k in (1, 2)] for s in (1, 2)]
        densities.append(sum(np.outer(*each) for each in two) / 2)
    f, g = densities
    expected = float(np.maximum(f - exp(budget) * g, 0.0).sum() * size**2)
    assert found.value.lower < expected < found.value.upper
    assert found.value.width < F(1, 1000)
    own, other = mixed(0), mixed(1)[::-1]
    factors = factored(own, other)
    assert isinstance(factors, Mixed)
    alone = MEASURES.alone(own, other, factors, Enclosure.exact(F(exp(budget))), 12)
    assert alone.first.lower - F(exp(budget)) * alone.second.upper > expected / 2


@pytest.mark.parametrize("times", [2, 3, 9])
def test_errors_of_products_grow_with_their_masses(times) -> None:
    """All have one outcome; cells have 1 + e of it where measures have 1 - λ, exactly."""
    e, lost, factor = F(1, 50), F(1, 30), F(3, 2)
    found = slacks([(times * lost, times * lost)], [(times * e, times * e)], factor)
    assert not isinstance(found, NotEnclosed)
    too_great, too_small = (1 + e) ** times - 1, 1 - (1 - e - lost) ** times
    less, more = found
    assert too_great + factor * too_small <= less <= 4 * (too_great + factor * too_small)
    assert too_small + factor * too_great <= more <= 4 * (too_small + factor * too_great)
    assert isinstance(slacks([(lost, lost)], [(F(1), F(0))], factor), NotEnclosed)


def test_cells_may_have_more_than_all() -> None:
    many = np.array([1.25]), np.array([1.25])
    cells = Cells(many, many, np.array([1.0]), np.array([1.0]))
    found = losses_of_cells(cells, GridStep(F(1, 8)), 40, 0)
    assert not isinstance(found, NotEnclosed)
    above, below = (sum(each.masses) for each in (found.above, found.below))
    assert above >= 1.25 * 2**40 >= below


# --- losses of cells, on a grid ---


def cut(first: Marginal, second: Marginal, spread: float) -> Discretised:
    line = HockeyStick(open_method(Options()))
    found = line.discretised(part(first), part(second), 40, spread, 2.0**-50)
    assert isinstance(found, Discretised)
    return found


def on_grid(cells: Cells, step: F) -> CellLosses:
    found = losses_of_cells(cells, GridStep(step), 80, 2**20)
    assert isinstance(found, CellLosses)
    return found


@pytest.mark.parametrize("step", [F(1, 16), F(1, 64)])
@cases("family, oracle", (GAUSSIAN, moved_noise.gaussian), (LAPLACE, moved_noise.laplace))
def test_losses_bound_the_profile_from_both_sides(family, oracle, step) -> None:
    found = on_grid(cut(noise(family, 0), noise(family, 1), float(step) / 2).cells, step)
    budgets = [F(k, 7) for k in range(8)]
    one = LossGrid(GridStep(step), F(0), exact=True)
    both = (power_product([(each, 1)], one) for each in (found.above, found.below))
    upper, lower = (deltas(each, budgets) for each in both)
    for budget, low, high in zip(budgets, lower, upper, strict=True):
        true = oracle(1, float(budget))
        assert low <= true + 1e-12 and true <= high + 1e-12
        assert high - low < 2 * step**2


def test_a_guard_that_hardly_matters_changes_hardly_anything() -> None:
    plain = [part(*(noise(LAPLACE, m) for _ in range(3))) for m in (0, 1)]
    guarded = [part(*(noise(LAPLACE, m, 1, 60) for _ in range(3))) for m in (0, 1)]
    one, two = (value(*each, F(1, 2), 24).value for each in (plain, guarded))
    assert max(one.lower, two.lower) <= min(one.upper, two.upper)
    assert max(one.width, two.width) < F(1, 10**5)


# --- Rényi moments ---


def moment(
    first: tuple[Part, ...], second: tuple[Part, ...], order: F, budget: F | None = None
) -> Moment:
    found = Moments(MEASURES, order).of(first, second, budget)
    assert isinstance(found, Moment), found
    return found


def by_quadrature(f: Law, g: Law, order: F, end: float) -> float:
    a = float(order)

    def integrand(y: float) -> float:
        ratio = f(y) / g(y)
        return f(y) * (log(ratio) if order == 1 else ratio ** (a - 1))

    marks = [m for m in (-1.0, 0.0, 1.0, 2.0) if m < end]
    places = [-30.0, *marks, end]
    return sum(float(quad(integrand, *two)[0]) for two in pairwise(places))


@pytest.mark.parametrize("order", [F(1), F(3, 2), F(4)])
@pytest.mark.parametrize("family", [GAUSSIAN, LAPLACE])
def test_plain_noise_has_a_closed_form(family, order) -> None:
    found = moment(part(noise(family, 0)), part(noise(family, 1)), order)
    law = norm if family is GAUSSIAN else laplace
    expected = by_quadrature(law.pdf, lambda y: law.pdf(y, 1), order, 30)
    assert float(found.lower) == pytest.approx(expected, rel=1e-9)
    assert float(found.upper) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("order", [F(1), F(2), F(6)])
def test_truncated_laplace_noise_against_quadrature(order) -> None:
    found = moment(part(noise(LAPLACE, 0, most=2)), part(noise(LAPLACE, 1, most=2)), order, F(1))
    expected = by_quadrature(laplace.pdf, lambda y: laplace.pdf(y, 1), order, 2)
    assert float(found.lower) <= expected * (1 + 1e-10)
    assert float(found.upper) >= expected * (1 - 1e-10)
    assert float(found.upper - found.lower) < 1e-5 * expected


def test_tails_of_truncated_gaussian_noise_are_not_known() -> None:
    found = moment(part(noise(GAUSSIAN, 0, most=2)), part(noise(GAUSSIAN, 1, most=2)), F(2))
    expected = by_quadrature(norm.pdf, lambda y: norm.pdf(y, 1), F(2), 2)
    assert found.upper is None
    assert expected * (1 - 1e-4) < float(found.lower) <= expected * (1 + 1e-10)


@pytest.mark.parametrize("order", [F(1), F(3)])
def test_moments_of_products(order) -> None:
    """Weights, a number that is the same for both, a truncated number and a plain one."""
    sides = [
        (
            Part(
                (canonical(half(m)),),
                (noise(LAPLACE, m, most=2), noise(GAUSSIAN, 0, most=1), noise(GAUSSIAN, m)),
            ),
        )
        for m in (0, 1)
    ]
    # Pr[x <= 0] falls from 1/2 to 1 / (2e), the truncated numbers' quotient by at most e.
    found = moment(sides[0], sides[1], order, None)
    assert found.upper is None
    w, v, c = 0.5, 0.5 / np.e, float(norm.cdf(1))
    f, g = laplace.pdf, lambda y: laplace.pdf(y, 1)
    one = by_quadrature(f, g, order, 2)
    two = by_quadrature(norm.pdf, lambda y: norm.pdf(y, 1), order, 30)
    mass = float(laplace.cdf(2))
    a = float(order)
    expected = c * w**a * v ** (1 - a) * one * two
    if order == 1:
        expected = c * w * (mass * log(w / v) + one + mass * two)
    assert expected * (1 - 1e-4) < float(found.lower) <= expected * (1 + 1e-10)
    bounded = moment(
        tuple(Part(p.events, p.marginals[:2]) for p in sides[0]),
        tuple(Part(p.events, p.marginals[:2]) for p in sides[1]),
        order,
        F(2),
    )
    alone = c * w**a * v ** (1 - a) * one
    if order == 1:
        alone = c * w * (mass * log(w / v) + one)
    assert alone * (1 - 1e-10) < float(bounded.upper) < alone * (1 + 1e-4)


def test_mass_off_the_grid_may_lower_a_divergence() -> None:
    """A law that lacks most of what one cell has, where r ln r falls, and mass beside the grid."""
    one, lost = F(1), (F(1, 8), F(1, 16))
    ends = [np.array([each]) for each in (1 / 64, 1.0, 0.0, 1.0)]
    cells = Cells((ends[0], ends[0]), (ends[1], ends[1]), ends[2], ends[3])
    below, _ = Moments(MEASURES, one)._of_cells(cells, lost, None)
    # The cell has 9/64 at most, and then its term is less than that of 1/64.
    least = 9 / 64 * log(9 / 64) - 1 / 16 / np.e
    assert least - 0.1 < float(below.lower()) <= least < log(1 / 64) / 64
    more, _ = Moments(MEASURES, one)._of_cells(cells, (F(1), F(0)), None)
    assert float(more.lower()) == pytest.approx(-1 / np.e)


def test_mixtures_have_a_reason() -> None:
    first = part(noise(GAUSSIAN, 0), noise(GAUSSIAN, 0)) + part(
        noise(GAUSSIAN, 1), noise(GAUSSIAN, 1)
    )
    found = Moments(MEASURES, F(2)).of(first, first[:1], None)
    assert isinstance(found, NotEnclosed) and "number 1 and number 2" in found.reason


# --- Expressions, and what they are ---------------------------------------------------------------


def of_order(
    order: F | int, first: tuple[Part, ...], second: tuple[Part, ...], **more: F
) -> Moment:
    return moment(first, second, F(order), **more)


BOTH = part(noise(LAPLACE, 0), noise(GAUSSIAN, 0))
NEAR, FAR = (part(noise(GAUSSIAN, m), noise(EXPONENTIAL, m)) for m in (0, 1))
RISES, MOVED = (part(noise(EXPONENTIAL, m)) for m in (0, 1))
FALLS, TURNED = (part(noise(REFLECTED_EXPONENTIAL, m)) for m in (0, 1))


def test_what_one_input_alone_has() -> None:
    """It is infinitely dear; the other way round the ratio is e wherever the density is."""
    check_answers("accountant", evaluated(globals() | {"response": RandomisedResponse}, UserError))


_WIDE = Gaussian(F(1), F(71, 100))


@pytest.mark.parametrize(
    ("runs", "truth", "most"),
    [  # truths of the evaluator in tests/random_questions
        (
            [(_WIDE, 2), (Subsampled(ExponentialMechanism(F(10, 33)), F(1, 1000)), 1)],
            11.8501,
            12_000,
        ),
        ([(DiscreteLaplace(3, F(33)), 10), (Laplace(F(3), F(9900)), 10**6)], 1.9531, 40_000),
        pytest.param(
            *([(_WIDE, 2), (Laplace(F(1), F(500)), 10**6)], 18.0917, 100_000),
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_grids_are_as_fine_as_they_need(
    runs: list[tuple[Mechanism, int]], truth: float, most: int, monkeypatch
) -> None:
    """Beside atoms near 0, lattices of many steps, and very many runs of little noise."""
    looked, knot = list[object](), grids.Knot
    monkeypatch.setattr(grids, "Knot", lambda *about: looked.append(about) or knot(*about))
    composition = Composition(tuple(RepeatedRun(*run) for run in runs))
    found = composition.epsilon(F(1, 10**7), F(1, 1000))
    ends = found.bounds[0].enclosure()
    assert ends.width <= F(1, 1000) and abs(float(ends.upper) - truth) < 2e-3
    assert len(looked) + found.atoms <= most
