"""Sums of samples, over integers too, and deltas in closed form; quadrature, and sums in floats."""

import math
import random
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, product
from math import exp
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.kernel import closed, exact
from dipapprox.kernel.balls import precision
from dipapprox.kernel.closed import Sums, growth_of, violated_somewhere
from dipapprox.kernel.errors import Refused, Refuted, asking
from dipapprox.kernel.exponentials import Ratio, Sum
from dipapprox.kernel.forms import Form
from dipapprox.kernel.judgements import ExactDistributions, Violated
from dipapprox.kernel.machine import read_block, read_machine, read_weight
from dipapprox.kernel.measures import Component, Measure, assume, forget
from dipapprox.kernel.nodes import Graph
from dipapprox.kernel.proofs import Proof, every_pair, violation
from dipapprox.kernel.signs import ALL, Epsilons, Signs
from dipapprox.proof_steps.machines import number_json
from dipapprox.replays.words import words_of
from tests.cases import cases, check_answers, refuses
from tests.kernel.ends import lower
from tests.kernel.graphs import ONE, law
from tests.kernel.machines import cell, enclosed, exactly, finite, judged, machine


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


# --- Deltas of distributions in closed form: against sums in floats, and at their exact values ----

Json = Any
UNIT, TWO, HALF = Fraction(1), Fraction(2), Fraction(1, 2)
POINT = Epsilons(UNIT, UNIT)
ABOUT = Proof(read_machine(finite([], inputs=[["q", [0, 1]]], outputs=[["o", [0, 1, 2]]])), None)
OUTPUTS = ((0,), (1,), (2,))


def table(rows: list[list[Ratio]], on: Epsilons = POINT) -> ExactDistributions:
    """The distributions of the inputs 0 and 1."""
    forms = [form for row in rows for form in row]
    values = {(k,): [3 * k, 3 * k + 1, 3 * k + 2] for k in range(len(rows))}
    return ExactDistributions(on, OUTPUTS, forms, values)


def numbers(rows: list[list[Fraction]]) -> ExactDistributions:
    return table([[Ratio.constant(p) for p in row] for row in rows])


def some_rows(source: random.Random) -> list[list[Fraction]]:
    rows = []
    for _ in range(2):
        weights = [Fraction(source.randint(0, 4)) for _ in range(2)] + [UNIT]
        rows.append([weight / sum(weights) for weight in weights])
    return rows


@pytest.mark.parametrize("seed", range(12))
def test_a_hair_above_the_sum_is_private_and_below_it_is_not(seed) -> None:
    source = random.Random(seed)
    rows, eps_prv = some_rows(source), source.choice([Fraction(0), Fraction(1, 3), UNIT])
    found = numbers(rows)
    sums = {
        (u, v): sum(max(0.0, p - exp(eps_prv) * q) for p, q in zip(rows[u], rows[v], strict=True))
        for u, v in ((0, 1), (1, 0))
    }
    most = max(sums.values())
    for more, holds in ((1e-9, True), (-1e-9, False)):
        delta = Fraction(most + more).limit_denominator(10**15)
        if not 0 <= delta <= 1:
            continue
        step = {"eps_prv": number_json(eps_prv), "delta": number_json(delta)}
        if holds:
            assert "each of the 2 adjacent" in words_of(every_pair(ABOUT, step, found))
        else:
            refuses(Refuted, "not known to bound", every_pair, ABOUT, step, found)
    for (u, v), value in sums.items():
        for size in range(1, 4):
            for some in product(range(3), repeat=size):
                if list(some) != sorted(set(some)):
                    continue
                own = sum(float(rows[u][o]) - exp(eps_prv) * float(rows[v][o]) for o in some)
                delta = Fraction(max(own, 0.0)).limit_denominator(10**15) + Fraction(1, 10**9)
                asked = {"input": [u], "adjacent": [v], "outputs": [[o] for o in some]}
                asked |= {"eps_prv": number_json(eps_prv)}
                if delta <= 1:
                    with pytest.raises(Refuted, match="not above delta"):
                        violation(ABOUT, {**asked, "delta": number_json(delta)}, found)
                delta -= Fraction(2, 10**9)
                if delta >= 0 and own > 1e-8:
                    violation(ABOUT, {**asked, "delta": number_json(delta)}, found)
                assert own <= value + 1e-12


def test_growth_is_what_formulas_say_or_less() -> None:
    at_two, on = Signs.at(TWO), Signs(ALL)
    for json, signs, expected in (
        (0, on, 1.0),
        (["eps"], on, exp(2)),
        (["*", "1/2", ["eps"]], on, exp(1)),
        (["*", -1, ["eps"]], on, exp(-2)),
        (1, at_two, exp(1)),
        (["eps"], at_two, exp(2)),
    ):
        growth = growth_of(read_weight(json), signs)
        assert abs(float(growth.ball(TWO).mid()) - expected) < 1e-12
    # A constant on an interval is rounded down, a little.
    low = growth_of(read_weight(1), on)
    assert (Ratio(Sum.exponential(UNIT / 2)) - low).numerator.sign(TWO) == 1
    assert abs(float(low.ball(TWO).mid()) - exp(1)) < 1e-12


def excesses(*functions: Sum) -> ExactDistributions:
    """Of the input 0 these, which may have any signs; of the input 1 nothing."""
    rows = [[*map(Ratio, functions), *[Ratio.constant(0)] * (3 - len(functions))]]
    return table([*rows, [Ratio.constant(0)] * 3], Epsilons(UNIT, Fraction(3)))


LINE = Sum.of([((Fraction(0), 1), UNIT), ((Fraction(0), 0), -TWO)])
"""eps - 2."""


def test_an_interval_is_cut_where_signs_change(monkeypatch) -> None:
    """max(0, eps - 2) + max(0, 2 - eps) is at most 1 between 1 and 3, and attains it."""
    found = excesses(LINE, LINE.scaled(-1))

    def told(delta: Fraction, of: Any = found) -> bool:
        return Sums(of, (Fraction(0), delta)).hold((0,), (1,))

    # Of functions without a known sign any set may be the one that adds.
    for most in (5, 1):
        monkeypatch.setattr(closed, "MOST_FREE", most)
        assert told(UNIT)
        assert not told(Fraction(999, 1000))
        # Less what may add, not more.
        assert told(UNIT, of=excesses(LINE))
        assert not told(Fraction(999, 1000), of=excesses(LINE))
    monkeypatch.setattr(closed, "MOST_PARTS", 1)
    refuses(Refused, "more than 1 excesses", told, UNIT)


# --- What is refused, and what is attained: expressions, and what is said of each -----------------

ODDS = Sum.exponential(1)
TRUE = Ratio(ODDS) * Ratio(ODDS + Sum.constant(1)).inverse()
FALSE, NEVER = Ratio.constant(1) - TRUE, Ratio.constant(0)
RESPONSE = [[TRUE, FALSE, NEVER], [FALSE, TRUE, NEVER]]
"""Randomised response with odds e^eps."""
HERE, EVERYWHERE = table(RESPONSE), table(RESPONSE, ALL)
CHOICE: Json = ["choose", ["cell", "o"], [[0, ["eps"]], [1, ["+", 1, ["*", -1, ["eps"]]]]], False]
FIXED: Json = ["choose", ["cell", "o"], [[0, "1/3"], [1, "2/3"]], False]  # at any eps the same
SET: Json = ["set", ["cell", "o"], 0]
EMPTY: Json = ["=", ["cell", "q"], 1]
ZERO = {"eps_prv": 0, "delta": 0}
ROW = [Ratio.constant(p) for p in (1, 0, 0)]
BOTH, ALONE = (table([ROW] * k, Epsilons(Fraction(1, 4), Fraction(3, 4))) for k in (2, 1))
ELSEWHERE = table([ROW] * 2, ALL)


def private(eps_prv: Json, of: ExactDistributions, delta: Json = 0) -> Any:
    return every_pair(ABOUT, {"eps_prv": eps_prv, "delta": delta}, of)


def violated(stated: Json, of: ExactDistributions) -> Any:
    asked = {"input": [0], "adjacent": [1], "outputs": [[0]], "delta": 0}
    return violation(ABOUT, {**asked, **stated}, of)


def at_half(body: Json, stated: Json, *known: ExactDistributions, pairs: Any = None) -> Any:
    """The pair of a violation at 1/2, which is one of a claim about 1/4 to 3/4 if all are meant."""
    about = Proof(ABOUT.machine._replace(body=read_block(body)), pairs)
    low = Fraction(0) if stated == ZERO else HALF
    found = Violated(HALF, low, low / 5, ((0,), (1,)), ((0,),))
    step = {"eps": {"from": "1/4", "to": "3/4"}, **stated}
    return violated_somewhere(about, step, found, *known).pair


def test_deltas_and_what_is_refused_of_them() -> None:
    check_answers("kernel_sums", judged(globals()))
