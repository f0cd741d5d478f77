"""Very many runs: products by transforms, and losses so rare that few are met."""

from fractions import Fraction
from fractions import Fraction as F
from math import comb, exp, inf, log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from dipapprox.composition.accountant import Composition
from dipapprox.composition.grid import GridStep
from dipapprox.composition.losses import BoundSide, RunLosses
from dipapprox.composition.mechanisms import Gaussian, Subsampled
from dipapprox.composition.powers import LossGrid, _logarithms, product
from dipapprox.composition.products import RepeatedRun
from dipapprox.composition.spreads import Spread
from dipapprox.composition.transforms import transformed
from dipapprox.limits import Limits
from tests.thorough import part

THREE = GridStep(F(1), F(3))
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


def response(side: BoundSide, chance: F, never: F = F(0)) -> RunLosses:
    """The same, rounded to the side."""
    unit, true = 1 << 60, chances(chance, never)
    q = {k: -(-m * unit // 1) for k, m in true.items()}
    p = q if side is BoundSide.ABOVE else {k: m * unit // 1 for k, m in true.items()}
    return RunLosses(p, q, int(never * unit), 60, side)


def truth(times: int, chance: F, never: F, alpha: F) -> F:
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
        transformed([(response(side, chance, never), times)], THREE, steepness, 0.0, Limits())
        for side in BoundSide
    )
    assert above is not None and below is not None
    for alpha in (F(1), F(3), F(3) ** 4, F(3) ** 9 / 2):
        true = truth(times, chance, never, alpha)
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
    masses = {1: 3 * 2**398, -1: 2**398}
    found = product([(RunLosses(masses, masses, 0, 400, side), times)], wanted, Limits())
    rows = zip(found.row.masses, found.row.others, strict=True)
    inner = (max(p - alpha / F(3) ** k * q, F(0)) for k, (p, q) in enumerate(rows, found.row.start))
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
    masses, other = dict(enumerate(values, start)), {0: 2**42, 2: 2**30}
    runs = [RunLosses(masses, masses, 5, 42, side), RunLosses(other, other, 0, 42, side)]
    step = GridStep(F(1, 20), F(3))
    factors = [(runs[k % 2], n) for k, n in enumerate(times)]
    found = transformed(factors, step, steepness, 0.0, Limits())
    plain = product(factors, LossGrid(step, F(0), exact=True), Limits())
    if found is None:
        return
    size, unit, row = float(step.loss(1)), 2.0**-42, plain.row
    p, q = (unit * np.array(own, float) for own in (row.masses, row.others))
    losses = np.exp(-size * np.arange(row.start, row.start + len(p)))
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
    one = Spread.of(response(side, F(1, 7)), THREE, 0.0)
    wide = one.wider(parts)
    assert wide.step.unit == parts
    for alpha in (F(1, 5), F(1), F(2), F(3), F(20)):
        before, after = delta(one, alpha), delta(wide, alpha)
        assert after >= before if side is BoundSide.ABOVE else after <= before


def test_what_is_too_large_for_doubles_is_left_to_whole_numbers() -> None:
    """Q masses that add up to more than 1 in every run, 1.001^1000000 in all."""
    one = RunLosses({0: 1 << 60}, {0: (1001 << 60) // 1000}, 0, 60, BoundSide.BELOW)
    assert transformed([(one, 10**6)], THREE, 0.0, 0.0, Limits()) is None


def test_many_runs_of_which_none_is_run_often(monkeypatch) -> None:
    """Nine kinds, each once: none is as many as the groups that many runs are in."""
    monkeypatch.setattr("dipapprox.composition.transforms._MANY", 4)
    runs = [(response(BoundSide.ABOVE, F(k, 10)), 1) for k in range(9)]
    found = transformed(runs, THREE, 0.0, 0.0, Limits())
    assert found is not None and 0 < delta(found, F(1)) < 1


F = Fraction


def losses(sigma: float, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """Losses of a removal at many places, and what probability lies about them."""
    ends = np.linspace(-12 * sigma, 1 + 12 * sigma, 2**20)
    chances = np.diff((1 - rate) * ndtr(ends / sigma) + rate * ndtr((ends - 1) / sigma))
    middles = (ends[1:] + ends[:-1]) / 2
    ratios = np.expm1((2 * middles - 1) / (2 * sigma * sigma))
    return np.log1p(rate * ratios), chances


def by_fourier(sigma: float, rate: float, times: int, epsilon: float) -> float:
    """The least delta: losses on 2^20 places of a circle, in doubles."""
    found, chances = losses(sigma, rate)
    count = 2**20
    size = (16 if sigma < 1 else 1) / count
    places = found / size
    low = np.floor(places).astype(int)
    mass = np.zeros(count)
    np.add.at(mass, low % count, chances * (low + 1 - places))  # keeps the mean
    np.add.at(mass, (low + 1) % count, chances * (places - low))
    total = np.fft.irfft(np.fft.rfft(mass) ** times, count)
    at = ((np.arange(count) + count // 2) % count - count // 2) * size
    return float(np.sum(np.maximum(total, 0) * np.maximum(1 - np.exp(epsilon - at), 0)))


def normal(sigma: float, rate: float, times: int, epsilon: float) -> float:
    """The same by the central limit: for a billion runs."""
    found, chances = losses(sigma, rate)
    mean = float(np.sum(found * chances)) * times
    deviation = sqrt(times * float(np.sum(found**2 * chances)) - mean**2 / times)
    place = (mean - epsilon) / deviation
    return float(ndtr(place) - exp(epsilon - mean + deviation**2 / 2) * ndtr(place - deviation))


@pytest.mark.parametrize(
    ("sigma", "rate", "times", "evaluate"),
    part(
        [
            ("0.6", "0.001", 10**4, by_fourier),
            ("0.5", "0.0001", 10**5, by_fourier),
            ("1", "0.0001", 10**5, by_fourier),
            ("1", "0.000001", 10**9, normal),
        ],
        3,
    ),
)
def test_few_losses_lead_to_what_is_asked(sigma, rate, times, evaluate) -> None:
    run = RepeatedRun(Subsampled(Gaussian(F(1), F(sigma)), F(rate)), times)
    found = Composition((run,)).epsilon(F(1, 10**6), F(1, 500), Limits())
    (bounds,) = found.bounds
    assert found.reason is None and bounds.lower is not None and bounds.upper is not None
    given = float(sigma), float(rate), times
    low, high = (evaluate(*given, float(end)) for end in (bounds.upper, bounds.lower))
    assert low <= 1.01e-6 and high >= 0.99e-6


def test_masses_beyond_doubles_have_logarithms() -> None:
    """Bounds from above are, where losses are huge."""
    found = _logarithms([0, 1, 3 << 5000], 100)
    assert found.tolist() == [-inf, -100 * log(2), pytest.approx(log(3) + 4900 * log(2))]
