"""Noise that is moved, in closed form: runs of Gaussians, Laplace numbers, sums of noise."""

from collections.abc import Sequence
from fractions import Fraction
from fractions import Fraction as F
from math import exp, log, sqrt

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.signal import fftconvolve

import dipapprox
from dipapprox import Answer
from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.composition.laplace_products import laplace_product
from dipapprox.composition.shifted_noise import ShiftedNoise
from dipapprox.errors import LimitReached
from dipapprox.laws.families import GAUSSIAN, LAPLACE
from dipapprox.limits import Limits
from tests import moved_noise


def gaussian(shift: F | int) -> ShiftedNoise:
    return ShiftedNoise(GAUSSIAN, F(shift) ** 2, F(0))


def laplace(shift: F | int) -> ShiftedNoise:
    return ShiftedNoise(LAPLACE, F(shift) ** 2, F(shift))


@pytest.mark.parametrize("shift", [F(1, 100), F(1, 3), F(1), F(3), F(12)])
@pytest.mark.parametrize("budget", [F(0), F(1, 7), F(2), F(15)])
def test_gaussian_divergences_are_those_of_balle_and_wang(shift: F, budget: F) -> None:
    found = gaussian(shift).divergence(budget, 60)
    assert found.width < F(1, 2**60)
    assert abs(float(found.lower) - moved_noise.gaussian(float(shift), float(budget))) < 1e-12


@pytest.mark.parametrize("shift", [F(1, 1000), F(1), F(40), F(1000), F(10**6), F(10**9)])
@pytest.mark.parametrize("delta", [F(1, 2), F(1, 10**6), F(1, 10**60)])
def test_the_least_budget_has_a_divergence_of_delta(shift: F, delta: F) -> None:
    noise = gaussian(shift)
    found = noise.least_budget(delta, 40)
    assert found.width <= F(1, 2**40)
    bits = delta.denominator.bit_length() + 80
    assert noise.divergence(found.upper, bits).upper <= delta
    assert not found.lower or noise.divergence(found.lower, bits).lower > delta


@pytest.mark.parametrize("shift", [F(1, 3), F(1), F(50_000)])
def test_laplace_noise(shift: F) -> None:
    noise = laplace(shift)
    pure = noise.least_budget(F(0), 40)
    assert pure.lower == pure.upper == shift
    assert noise.divergence(shift, 40).upper == 0
    budget, delta = shift / 2, noise.divergence(shift / 2, 100)
    assert abs(float(delta.lower) - moved_noise.laplace(float(shift), float(shift) / 2)) < 1e-12
    assert delta.width < F(1, 2**90)
    found = noise.least_budget(delta.lower, 40) if delta.upper < 1 else None
    assert found is None or abs(found.lower - budget) < F(1, 2**30)


def test_gaussian_noise_that_is_shifted_has_no_pure_budget() -> None:
    assert gaussian(F(1, 10**6)).least_budget(F(0), 40) is None
    everything = gaussian(10**6).least_budget(F(1), 40)
    assert everything.upper == 0


def runs(*given: tuple[str, int]) -> dipapprox.Composed:
    specs = [{"mechanism": "gaussian", "sigma": sigma, "times": times} for sigma, times in given]
    return dipapprox.compose(specs)


@pytest.mark.parametrize(
    ("sigma", "times", "delta", "low", "high"),
    [
        # by an accountant with mpmath, 60 digits
        ("1e-4", 2, "1e-5", "100060313.664", "100060313.665"),
        ("1e6", 10, "1e-9", "9.65e-6", "9.66e-6"),
        ("1e6", 10, "1e-5", "0", "0"),
        ("0.01", 3, "1e-5", "15737.712", "15737.713"),
        ("622.9508196721311", 2, "4.8e-10", "0.0107", "0.0109"),
    ],
)
def test_extreme_scales(sigma: str, times: int, delta: str, low: str, high: str) -> None:
    composed = runs((sigma, times))
    answer = composed.epsilon(delta)
    found = answer.eps_prv_enclosure
    assert answer.reason is None
    assert F(low) <= found.lower <= found.upper <= F(high)
    assert found.upper - found.lower <= F(1, 10**15)
    assert composed.verify(found.upper, delta).answer is Answer.DP
    if found.lower:
        below = composed.verify(found.lower * F(999, 1000), delta)
        assert below.answer is Answer.NOT_DP


def test_shifts_add_up_as_squares() -> None:
    """3² + 4² = 5², and 12 / 6² = 3 / 3²."""
    one = runs(("1/5", 1)).epsilon("1e-6").eps_prv_enclosure
    assert runs(("1/3", 1), ("1/4", 1)).epsilon("1e-6").eps_prv_enclosure == one
    twelve = runs(("6", 12)).delta("1/10").delta_enclosure
    assert runs(("3", 3)).delta("1/10").delta_enclosure == twelve


def _found(shifts: Sequence[Fraction], factor: Fraction, bits: int = 60) -> Enclosure:
    counts = {shift: shifts.count(shift) for shift in shifts}
    found = laplace_product(counts, Enclosure(factor, factor), bits, Limits())
    assert found is not None
    return found


def _integrated(shifts: Sequence[float], factor: float) -> float:
    """Integrate over the loss of the first number, the others being independent of it."""
    t, rest = shifts[0], shifts[1:]
    if not rest:
        if log(factor) >= t:
            return 0.0
        return 1 - factor if log(factor) <= -t else 1 - sqrt(factor) * exp(-t / 2)
    ends = _integrated(rest, factor * exp(-t)) / 2
    ends += exp(-t) / 2 * _integrated(rest, factor * exp(t))
    kinks = [log(factor) - k for k in (sum(rest), -sum(rest), *rest, *(-r for r in rest))]
    inside = quad(
        lambda loss: exp((loss - t) / 2) / 4 * _integrated(rest, factor * exp(-loss)),
        -t,
        t,
        points=sorted(k for k in kinks if -t < k < t) or None,
        epsabs=1e-11,
        limit=200,
    )
    return ends + float(inside[0])


@pytest.mark.parametrize("factor", [Fraction(1, 2), Fraction(1), Fraction(8, 5), Fraction(4)])
@pytest.mark.parametrize(
    "shifts",
    [
        (Fraction(1),),
        (Fraction(1, 2), Fraction(1, 2)),
        (Fraction(2), Fraction(1, 3)),
        (Fraction(1, 2), Fraction(1, 2), Fraction(3, 4)),
    ],
)
def test_closed_forms_are_the_integrals(shifts: tuple[Fraction, ...], factor: Fraction) -> None:
    found = _found(shifts, factor)
    assert found.width <= Fraction(1, 2**60)
    assert float(found.lower) == pytest.approx(
        _integrated([float(each) for each in shifts], float(factor)), abs=1e-8
    )


@pytest.mark.parametrize(
    ("square", "factor"), [(Fraction(1, 9), Fraction(1, 2)), (Fraction(2), Fraction(3))]
)
@pytest.mark.parametrize("shifts", [(), (Fraction(2), Fraction(1, 3))])
def test_gaussian_noise_beside_it(
    shifts: tuple[Fraction, ...], square: Fraction, factor: Fraction
) -> None:
    """The loss of a shift of Gaussian noise is Gaussian: the others' divergence, integrated."""
    counts = {shift: shifts.count(shift) for shift in map(Fraction, shifts)}
    found = laplace_product(counts, Enclosure.exact(factor), 50, Limits(), square)
    assert found.width <= Fraction(1, 2**50)
    losses = np.linspace(-9, 9, 401) * float(square) ** 0.5 + float(square) / 2
    weights = np.exp(-((np.linspace(-9, 9, 401)) ** 2) / 2)
    values = []
    for loss in losses.tolist():
        growth = Fraction(float(factor) * exp(-loss))
        one = laplace_product(counts, Enclosure.exact(growth), 30, Limits())
        values.append(float(one.lower))
    truth = float(weights @ values / weights.sum())
    assert float(found.lower) == pytest.approx(truth, abs=1e-4)


def test_many_numbers_and_many_bits() -> None:
    found = _found([Fraction(1, 10)] * 20, Fraction(3, 2), 200)
    assert found.lower > 0 and found.width <= Fraction(1, 2**200)
    assert _found([Fraction(1, 10)] * 21, Fraction(3, 2)).lower > found.upper
    many = {Fraction(1, k): 1 for k in range(1, 30)}
    assert laplace_product(many, Enclosure.exact(2), 40, Limits()) is None
    with pytest.raises(LimitReached):
        laplace_product(many, Enclosure.exact(2), 40, Limits(seconds=0))


_STEP = 1 / 200


def _largest(scales: list[float], deviation: float, shift: float, eps_prv: float) -> float:
    """The largest F(x) - e^eps_prv F(x - shift) on a grid of cells, whose masses are added up."""
    edges = np.arange(-8000.5, 8001) * _STEP
    masses = np.ones(1)
    for scale in scales:
        masses = fftconvolve(masses, np.diff(stats.laplace.cdf(edges, scale=scale)))
    if deviation:
        masses = fftconvolve(masses, np.diff(stats.norm.cdf(edges, scale=deviation)))
    below = np.cumsum(masses)
    moved = np.concatenate([np.zeros(round(shift / _STEP)), below])[: len(below)]
    return float((below - exp(eps_prv) * moved).max())


@pytest.mark.parametrize(
    ("scales", "square", "shift", "eps_prv"),
    [
        ([1, 1], 0, "1", "0"),
        ([1, 1], 0, "1", "1/2"),
        ([2, "1/2"], 0, "3/2", "1/4"),
        ([2, "1/2", "1/2"], 0, "-2", "1/2"),
        ([2], "4", "3", "1/4"),
        ([1, "3/2"], "1/4", "1", "1/4"),
    ],
)
def test_closed_forms_are_those_of_sums(
    scales: list[int | str], square: int | str, shift: str, eps_prv: str
) -> None:
    parts = [f"Lap(0, {scale} / eps)" for scale in scales]
    deviation = sqrt(Fraction(square))
    if deviation:
        parts.append(f"Gauss(0, {Fraction(deviation)} / eps)")
    draws = "\n".join(f"x{k} <- {part}" for k, part in enumerate(parts))
    total = " + ".join(f"x{k}" for k in range(len(parts)))
    text = f"input q in {{0, 1}}\noutput y in real\n{draws}\ny <- {total} + {shift} * q\n"
    found = dipapprox.profile(dipapprox.parse(text), eps=1, eps_prv=eps_prv)
    own = [float(Fraction(scale)) for scale in scales]
    truth = _largest(own, deviation, abs(float(Fraction(shift))), float(Fraction(eps_prv)))
    assert found.delta_enclosure.width < Fraction(1, 10**9)
    assert float(found.delta_enclosure.lower) == pytest.approx(truth, abs=3e-5)
    assert found.witness.delta_enclosure.lower > found.delta_enclosure.lower - Fraction(1, 10**8)
