"""Sums of samples against closed forms, sums over integers, and quadrature."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.kernel import exact
from dipapprox.kernel.balls import precision
from dipapprox.kernel.errors import Refused, asking
from dipapprox.kernel.forms import Form
from dipapprox.kernel.measures import Component, Measure, assume, forget
from dipapprox.kernel.nodes import Graph
from kernel.ends import lower
from tests.cases import cases, refuses
from tests.kernel.graphs import ONE, law
from tests.kernel.machines import cell, enclosed, exactly, machine


def combination(coefficients: list[Any]) -> Any:
    """The expression a_0 x_0 + a_1 x_1 + …"""
    terms = [["*", a, cell(f"x{k}")] for k, a in enumerate(coefficients)]
    found = terms[0]
    for term in terms[1:]:
        found = ["+", found, term]
    return found


def decided(
    samples: list[tuple[str, int, Any]], conditions: list[tuple[list[Any], str, Any]]
) -> Any:
    """Samples (family, mean, scale), and whether all conditions on combinations of them hold."""
    draws = [
        ["draw", cell(f"x{k}"), family, mean, [scale, 0]]
        for k, (family, mean, scale) in enumerate(samples)
    ]
    compared = [[relation, combination(a), bound] for a, relation, bound in conditions]
    yes, no = ([["set", cell("o"), k]] for k in (1, 0))
    return machine([*draws, ["if", ["and", *compared], yes, no]], {"o": [0, 1]})


def assert_is(of: Any, expected: float, wrong: float = 1e-12) -> None:
    """The probability of 1 is this in closed form, and that of 0 is the rest."""
    found = exactly(of)
    with precision(200):
        for output, value in ((1, expected), (0, 1 - expected)):
            if (output,) in found:
                assert abs(float(lower(found[output,].ball(ONE))) - value) < wrong
            else:
                assert abs(value) < wrong


def assert_encloses(of: Any, expected: float, width: float = 1e-7, wrong: float = 1e-12) -> None:
    """The probability of 1 is enclosed, and so is that of 0."""
    found = enclosed(of, bits=28)
    for output, value in ((1, expected), (0, 1 - expected)):
        low, high = found.get((output,), (0.0, 0.0))
        assert low - wrong <= value <= high + wrong
        assert high - low < width


def above(z: float) -> float:
    """Pr[N(0, 1) > z]."""
    return math.erfc(z / math.sqrt(2)) / 2


def test_sums_whose_closed_forms_cancel_are_followed_on_panels() -> None:
    """Coefficients are quotients by differences of scales: of six next to equal no bit is left."""
    samples = [("Lap", 0, str(1 + Fraction(k, 10**6))) for k in range(1, 7)]
    low, high = enclosed(decided(samples, [([1] * 6, ">=", 1)]), bits=8)[1,]
    assert 0 < low <= high < low + 1 / 100


@pytest.mark.parametrize(("coefficients", "bound"), [([1, 1, 1], 2), ([2, "-1/2", -3], -1)])
def test_sums_of_gaussian_samples_are_gaussian(coefficients, bound) -> None:
    samples = [("Gauss", k, 1 + k % 2) for k in range(len(coefficients))]
    numbers = [float(Fraction(a)) for a in coefficients]
    mean = sum(a * m for a, (_, m, _) in zip(numbers, samples, strict=True))
    spread = math.hypot(*(a * s for a, (_, _, s) in zip(numbers, samples, strict=True)))
    of = decided(samples, [(coefficients, ">=", bound)])
    assert_encloses(of, above((bound - mean) / spread))


@pytest.mark.parametrize(("count", "bound"), [(3, 2), (4, 7), (6, "1/2")])
def test_sums_of_one_sided_samples_have_the_law_of_erlang(count, bound) -> None:
    of = decided([("LapPlus", 0, 1)] * count, [([1] * count, ">", bound)])
    x = float(Fraction(bound))
    expected = math.exp(-x) * sum(x**k / math.factorial(k) for k in range(count))
    assert_is(of, expected)
    assert_is(decided([("LapMinus", 0, 1)] * count, [([-1] * count, ">", bound)]), expected)
    assert_encloses(of, expected)


def masses(family: str, scale: float, reach: int) -> dict[int, float]:
    """The masses of a law of integers."""
    weight: Callable[[int], float] = (
        (lambda k: math.exp(-abs(k) / scale))
        if family == "DLap"
        else (lambda k: math.exp(-k * k / (2 * scale * scale)))
    )
    weights = {k: weight(k) for k in range(-reach, reach + 1)}
    whole = math.fsum(weights.values())
    return {k: w / whole for k, w in weights.items()}


CHAIN = [([1, 0, 0], "<=", 1), ([1, 1, 0], "<=", 1), ([1, 1, 1], ">", 0)]
"""Partial sums: the first two stay below a bound, the third is above another."""


@pytest.mark.parametrize("conditions", [[([1, 1, 1], ">", 2)], [([1, -1, -1], "=", 1)], CHAIN])
@pytest.mark.parametrize("family", ["DLap", "DGauss"])
def test_sums_of_integers_are_added_up(family, conditions) -> None:
    holds = {">": lambda a, b: a > b, "<=": lambda a, b: a <= b, "=": lambda a, b: a == b}
    law_of = masses(family, 1.0, 30 if family == "DLap" else 9)
    expected = math.fsum(
        law_of[a] * law_of[b] * law_of[c]
        for a, b, c in product(law_of, repeat=3)
        if all(
            holds[relation](k[0] * a + k[1] * (b + 1) + k[2] * c, bound)
            for k, relation, bound in conditions
        )
    )
    samples = [(family, k, 1) for k in (0, 1, 0)]
    assert_encloses(decided(samples, conditions), expected, width=1e-9)


def gauss(x: Any) -> Any:
    """The standard density."""
    return np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def laplace(x: Any) -> Any:
    """The standard density."""
    return np.exp(-abs(x)) / 2


@cases(
    "families, densities",
    (("Gauss", "Gauss", "Gauss"), (gauss, gauss, gauss)),
    (("Lap", "Lap", "Lap"), (laplace, laplace, laplace)),
    (("Lap", "Gauss", "Gauss"), (laplace, gauss, gauss)),
)
def test_partial_sums_are_integrated_in_turn(families, densities) -> None:
    step = 1 / 64
    places = (np.arange(-24 * 64, 24 * 64) + 0.5) * step
    found = np.where(places < 1, densities[0](places), 0.0)
    for density, keep in zip(densities[1:], (places < 1, places > 0), strict=True):
        # Sums of midpoints are ends of cells.
        kernel = density((np.arange(-1400, 1401)) * step)
        found = np.convolve(found, kernel, "same") * step * keep
    expected = float(found.sum()) * step
    of = decided([(family, 0, 1) for family in families], CHAIN)
    if set(families) == {"Lap"}:
        assert_is(of, expected, wrong=3e-4)
    else:
        assert_encloses(of, expected, wrong=3e-4)


@pytest.mark.parametrize("family", ["Lap", "LapPlus"])
def test_laplace_noise_is_added_in_closed_form_or_else_in_panels(family, monkeypatch) -> None:
    of = decided([(family, 0, 1)] * 3, CHAIN)
    low, high = enclosed(of, bits=60)[1,]
    assert 0 <= high - low < 1e-15

    def refused(*given: object) -> None:
        raise Refused("too many terms")

    monkeypatch.setattr(exact, "exact_values", refused)
    least, most = enclosed(of, bits=40)[1,]
    assert least <= high and low <= most
    assert most - least < 1e-9


def test_a_noisy_threshold_under_partial_sums_is_one_more_sample() -> None:
    """x0 is the threshold: with y = x1 - x0 the sums are y + x2, y + x2 + x3."""
    conditions = [([-1, 1, 0, 0], "<", 0), ([-1, 1, 1, 0], "<", 0), ([-1, 1, 1, 1], ">=", 0)]
    samples = [("DLap", 1, 1), ("DLap", 0, 2), ("DLap", 1, 1), ("DLap", 0, 1)]
    laws = [masses("DLap", float(scale), 25 * scale) for _, _, scale in samples]
    one: dict[int, float] = {}
    for t, y in product(laws[0], laws[1]):
        one[y - t - 1] = one.get(y - t - 1, 0.0) + laws[0][t] * laws[1][y]
    for mean, own in ((1, laws[2]), (0, laws[3])):
        kept = {y: p for y, p in one.items() if y < 0}
        one = {}
        for y, z in product(kept, own):
            one[y + z + mean] = one.get(y + z + mean, 0.0) + kept[y] * own[z]
    expected = math.fsum(p for y, p in one.items() if y >= 0)
    assert_encloses(decided(samples, conditions), expected, width=1e-9, wrong=1e-9)


def signed(scale: float, sign: int, side: str) -> Callable[[Any], Any]:
    """The density of sign * X, where X is of a Laplace family."""

    def density(x: Any) -> Any:
        z = x / (sign * scale)
        size = {"Lap": 0.5 + 0 * z, "LapPlus": 1.0 * (z > 0), "LapMinus": 1.0 * (z < 0)}[side]
        # Half of a jump at the place itself.
        size = size + (0.5 * (z == 0) if side != "Lap" else 0)
        return size * np.exp(-abs(z)) / abs(sign * scale)

    return density


families = st.sampled_from(["Lap", "LapPlus", "LapMinus"])


@given(st.data())
def test_closed_forms_of_partial_sums_against_quadrature(data) -> None:
    samples = [
        (data.draw(families), data.draw(st.integers(-1, 1)), data.draw(st.sampled_from([1, 2])))
        for _ in range(3)
    ]
    signs = [data.draw(st.sampled_from([1, -1, 2])) for _ in range(3)]
    conditions = [
        (
            [sign if k <= last else 0 for k, sign in enumerate(signs)],
            data.draw(st.sampled_from(["<", ">="])),
            data.draw(st.integers(-2, 2)),
        )
        for last in range(3)
        if last == 2 or data.draw(st.booleans())
    ]
    step = 1 / 16
    places = (np.arange(-80 * 16, 80 * 16) + 0.5) * step
    found = np.zeros(len(places))
    for last, ((family, mean, scale), sign) in enumerate(zip(samples, signs, strict=True)):
        density = signed(scale, sign, family)
        if last:
            around = np.arange(-70 * 16, 70 * 16 + 1) * step
            found = np.convolve(found, density(around - sign * mean), "same") * step
        else:
            found = density(places - sign * mean)
        for form, relation, bound in conditions:
            if form == [each if k <= last else 0 for k, each in enumerate(signs)]:
                found = found * (places < bound if relation == "<" else places > bound)
    assert_is(decided(samples, conditions), float(found.sum()) * step, wrong=4e-3)


def test_what_no_law_adds_to_is_refused() -> None:
    halves = [([1, 0, 0], ">", 0), ([0, 1, 0], ">", 0), ([0, 0, 1], ">", 0), ([1, 1, 1], ">", 1)]
    refuses(Refused, "only sums compare", enclosed, decided([("Gauss", 0, 1)] * 3, halves))
    with pytest.raises(Refused, match="only sums compare"):
        enclosed(decided([("DLap", 0, 1)] * 3, [([2, 3, 5], ">", 1)]))
    apart = [([1, 1, 0], ">", 0), ([1, 0, 1], ">", 0), ([0, 1, 1], ">", 0), ([1, 1, 1], ">", 0)]
    refuses(Refused, "only sums compare", enclosed, decided([("Gauss", 0, 1)] * 3, apart))


def test_real_and_integer_samples_are_not_compared() -> None:
    of = decided([("Lap", 0, 1), ("DLap", 0, 1)], [([1, -1], "<", 0)])
    refuses(Refused, "real and integer", enclosed, of)


def test_samples_in_many_orders_cost_work() -> None:
    """All pairs of samples are compared with different numbers: orders multiply."""
    graph = Graph()
    measure = Measure(graph.one)
    for atom in range(6):
        own = Component(((atom, graph.density(law("Gauss", 0, 1))),))
        measure = Measure(measure.scalar, (*measure.components, own))
    for k, (one, other) in enumerate(combinations(range(6), 2)):
        terms = ((one, Fraction(1)), (other, Fraction(-1)))
        (measure,) = assume(graph, measure, Form(Fraction(-k - 1), terms), "<=")
    with asking(lambda: None, 50_000), pytest.raises(Refused, match="more work"):
        forget(graph, measure, ())
    with asking(lambda: None, 300_000):
        assert not forget(graph, measure, ()).components


@pytest.mark.parametrize(("family", "count"), [("Gauss", 9), ("Logistic", 4), ("Lap", 4)])
def test_walks_stay_below_0_as_often_as_sparre_andersen_says(family, count) -> None:
    """That is the same for all symmetric densities; errors do not grow from sum to sum."""
    sums = [["<", combination([1] * (k + 1)), 0] for k in range(count)]
    draws = [["draw", cell(f"x{k}"), family, 0, [1, 0]] for k in range(count)]
    held = [["if", ["and", *sums], [["set", cell("o"), 1]], [["set", cell("o"), 0]]]]
    of, expected = machine([*draws, *held], {"o": [0, 1]}), math.comb(2 * count, count) / 4**count
    if family == "Lap":
        assert_is(of, expected)
    else:
        low, high = enclosed(of, bits=16)[1,]
        assert low - 1e-12 <= expected <= high + 1e-12
        assert high - low < 1e-4
