"""Claims about intervals of eps, and closed forms: what is known at some eps, and what has none."""

import random
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import erf, exp, isclose, log, sqrt
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dipapprox import Options
from dipapprox.kernel import exponentials, intervals, nodes
from dipapprox.kernel.balls import precision
from dipapprox.kernel.closed import is_nonnegative, lowest
from dipapprox.kernel.errors import NotProved, Refused, Refuted, budget
from dipapprox.kernel.exact import exact_values
from dipapprox.kernel.exponentials import Ratio, Sum, power
from dipapprox.kernel.intervals import between_eps, information
from dipapprox.kernel.judgements import Private
from dipapprox.kernel.laws import FAMILIES, IntegerFamily, RealFamily
from dipapprox.kernel.machine import read_block, read_machine, read_weight
from dipapprox.kernel.nodes import Graph, Node
from dipapprox.kernel.proofs import Proof as Steps
from dipapprox.kernel.replay import replay
from dipapprox.kernel.signs import ALL, Epsilons, Signs
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.run import Setting
from dipapprox.proof_steps.liveness import machine_json
from dipapprox.proof_steps.machines import number_json
from dipapprox.proof_steps.throughout import GoalThroughout, ways_throughout
from kernel.ends import lower
from kernel.small import program_of
from tests.cases import THOROUGH, check_answers, refuses, text_of
from tests.kernel.graphs import ONE, law
from tests.kernel.machines import judged

LOW, HIGH = Fraction(1, 2), Fraction(1)

THRESHOLD = text_of("kernel/between-threshold")

Proof = tuple[Any, Any, list[Any]]


def delta_of(eps: float, eps_prv: float) -> float:
    """Pr[o | 1] - e^eps_prv Pr[o | 0], for o = 1: the largest of all."""
    above = [(1 - erf((0.5 - q) * eps / 2 / sqrt(2))) / 2 for q in (1, 0)]
    return above[0] - exp(eps_prv) * above[1]


def proof_of(text: str, eps_prv: Any, delta: Any) -> Proof:
    goal = GoalThroughout(Epsilons(LOW, HIGH), eps_prv, delta, None)
    *_, way = ways_throughout(Setting(program_of(text), AllPairs(), Options()), goal)
    proof = way()
    return proof.machine, proof.claim, list(proof.steps)


PROOF = proof_of(THRESHOLD, ["*", "1/20", ["eps"]], "1/5")
FROM = PROOF[2][-1]["from"]


def test_what_holds_at_some_eps_holds_between() -> None:
    machine, claim, steps = PROOF
    found = replay(machine, claim, steps)
    assert isinstance(found, Private)
    assert (found.eps, found.count) == (Epsilons(LOW, HIGH), 2)
    assert steps[-1]["rule"] == "between eps"
    assert len(steps) < 40
    assert 0.17 < max(delta_of(k / 100, k / 2000) for k in range(50, 101)) < 0.18


def confirmed(delta: Any, eps_prv: Any, *known: tuple[Any, Any, Any]) -> bool:
    """Whether so much is confirmed between some eps where it is known, with one Gaussian sample."""
    ends = {"from": str(known[0][0]), "to": int(known[-1][0])}
    about = Steps(read_machine(machine_json(program_of(THRESHOLD))), None)
    step = {"eps": ends, "eps_prv": eps_prv, "delta": delta}
    try:
        between_eps(about, step, *[Private(*map(Fraction, each), None) for each in known])
    except NotProved:
        return False
    return True


def claimed(delta: Fraction, eps_prv: Any, low: Fraction, high: Fraction, known: float) -> bool:
    """The same where delta is the same at both ends."""
    rates = [Fraction(eps_prv) if isinstance(eps_prv, int) else eps for eps in (low, high)]
    ends = zip((low, high), rates, [Fraction(known)] * 2, strict=True)
    return confirmed(str(delta), eps_prv, *ends)


def test_every_end_counts(monkeypatch) -> None:
    some = Fraction(1, 10)
    low, high = Fraction(9, 10), Fraction(1)
    # e is at least 5/2, and at most 3, in halves.
    monkeypatch.setattr(intervals, "PLACES", 1)
    error = Fraction(8) * (high - low) ** 2 / (8 * low * high)
    for factor, holds in (("1", True), ("999/1000", False)):
        most = some + error * Fraction(factor)
        assert confirmed(str(most), 1, (low, high, some), (high, high, some)) == holds


@pytest.mark.parametrize("eps_prv", [0, 1, ["eps"]])
def test_the_error_is_what_the_theorem_says(eps_prv) -> None:
    low, high, bend = Fraction(9, 10), Fraction(1), 2
    y, n = (0, 0) if eps_prv == 0 else (1, int(eps_prv == ["eps"]))
    second = bend + exp(y) * (bend + n * (y + y * y + y * (1 + bend) / 2))
    error = second * (1 / 10) ** 2 / (8 * 0.9)
    assert second * log(10 / 9) ** 2 / 8 <= error
    for factor, holds in ((1.0001, True), (0.9999, False)):
        most = Fraction(round((0.1 + error * factor) * 10**9), 10**9)
        assert claimed(most, eps_prv, low, high, 0.1) == holds


def formula(numbers: random.Random, depth: int = 3) -> list[Any]:
    """A formula that has a value at every eps > 0, as JSON."""
    inner = [["eps"], number_json(Fraction(numbers.randint(1, 40), numbers.randint(1, 20)))]
    if not depth:
        return numbers.choice(inner)
    one, other = formula(numbers, depth - 1), formula(numbers, depth - 1)
    more = ["+", 1, ["*", other, other]]
    return numbers.choice(
        [
            ["sqrt", ["+", ["*", one, one], ["eps"]]],
            ["log", more],
            ["exp", ["*", -1, ["inverse", more]]],
            ["*", one, ["sqrt", more]],
            ["+", one, ["*", "-1/3", other]],
        ]
    )


def at(json: Any, eps: float) -> float:
    if not isinstance(json, list):
        return float(Fraction(json))
    word, *parts = json
    known = [at(part, eps) for part in parts]
    match word:
        case "eps":
            return eps
        case "inverse":
            return 1 / known[0]
        case "+" | "*":
            return known[0] + known[1] if word == "+" else known[0] * known[1]
    return {"sqrt": sqrt, "log": log, "exp": exp}[word](*known)


def test_formulas_are_at_least_what_is_said_of_an_interval() -> None:
    numbers = random.Random(0)
    for _ in range(300 if THOROUGH else 150):
        json = formula(numbers)
        tree, low = read_weight(json), Fraction(numbers.randint(1, 50), 25)
        for width in (Fraction(1), Fraction(1, 10**5), Fraction(0)):
            try:
                least = float(lowest(tree, Epsilons(low, low + width)))
            except NotProved:  # a product of balls around 0 may be below 0
                assert width == 1
                continue
            every = [at(json, float(low + width * k / 20)) for k in range(21)]
            size = 1e-9 * (1 + max(map(abs, every)))
            assert least <= min(every) + size, json
            if width < 1:
                assert least >= min(every) - 1e-2 * (1 + max(map(abs, every))) * bool(width) - size
                mirrored = [
                    "+",
                    number_json(Fraction(round(min(every) * 10**6), 10**6)),
                    ["*", -1, json],
                ]
                holds = is_nonnegative(read_weight(mirrored), Epsilons(low, low))
                assert not holds or at(mirrored, float(low)) >= -size


ROOT = ["*", "1/20", ["sqrt", ["*", ["eps"], ["eps"]]]]  # eps / 20
CURVED = ["+", ["*", "1/40", ["log", ["+", 1, ["eps"]]]], ["*", "1/40", ["*", ["eps"], ["eps"]]]]


@pytest.mark.parametrize("eps_prv", [ROOT, CURVED])
def test_formulas_hold_where_they_do_at_both_ends_of_parts(eps_prv) -> None:
    most = max(delta_of(k / 1000, at(eps_prv, k / 1000)) for k in range(500, 1001))
    machine, claim, steps = proof_of(
        THRESHOLD, eps_prv, str(Fraction(round(most * 1000) + 5, 1000))
    )
    assert isinstance(replay(machine, claim, steps), Private)
    for more in ({"eps_prv": ["*", "19/20", eps_prv]}, {"delta": "1/10"}):
        last = {**steps[-1], **more}
        refuses(Refuted, None, replay, machine, {**claim, **more}, [*steps[:-1], last])
    # No less is known of a part than is claimed anywhere in it.
    low, high = Fraction(9, 10), Fraction(1)
    y, hair = lowest(read_weight(eps_prv), Epsilons(low, high)), Fraction(1, 10**9)
    for first, then in ((0, 0), (1, 0), (0, 1)):
        ends = (low, y + first * hair, "1/5"), (high, y + then * hair, "1/5")
        assert confirmed("1/2", eps_prv, *ends) == (first == then)
    for nowhere in (["log", ["+", -1, ["eps"]]], ["sqrt", -1], ["inverse", ["sqrt", 0]]):
        assert not confirmed("1/2", nowhere, (low, Fraction(0), "1/5"), (high, Fraction(0), "1/5"))


@pytest.mark.parametrize("eps_prv", [["eps"], ["*", "1/2", ["eps"]], CURVED])
@pytest.mark.parametrize("high", [1, 3])
def test_no_less_is_known_at_an_end_than_is_claimed_there(eps_prv, high) -> None:
    ends = low, high = Fraction(high) - Fraction(1, 10), Fraction(high)
    y = [lowest(read_weight(eps_prv), Epsilons(low, high))] * 2
    if eps_prv != CURVED:
        y = [end * (1 if eps_prv == ["eps"] else Fraction(1, 2)) for end in ends]
    for more in product((0, Fraction(1, 10**9)), repeat=2):
        known = [(end, own + hair, "1/5") for end, own, hair in zip(ends, y, more, strict=True)]
        assert confirmed(1, eps_prv, *known) == (not any(more))


STANDARD = {
    "Gauss": (stats.norm, lambda z: -z),
    "Lap": (stats.laplace, lambda z: -np.sign(z)),
    "LapPlus": (stats.expon, lambda z: -1),
    "Logistic": (stats.logistic, lambda z: 1 - 2 / (1 + np.exp(-z))),
    "Gumbel": (stats.gumbel_r, lambda z: np.exp(-z) - 1),
}
MIRRORED = {"LapMinus": "LapPlus", "GumbelMinus": "Gumbel"}


def test_the_information_of_a_scale_is_hardly_more_than_it_is() -> None:
    z = np.concatenate([-np.geomspace(60, 1e-9, 40_000), np.geomspace(1e-9, 60, 40_000)])
    for name, family in FAMILIES.items():
        if isinstance(family, RealFamily):
            law, slope = STANDARD[MIRRORED.get(name, name)]
            with np.errstate(over="ignore", invalid="ignore"):
                held = np.nan_to_num((1 + z * slope(z)) ** 2 * law.pdf(z))
            assert float(family.information) == pytest.approx(np.trapezoid(held, z), abs=1e-3), name
            assert float(family.information) > np.trapezoid(held, z) - 1e-6, name


def test_integers_have_scores_whose_derivatives_are_below_0() -> None:
    """With weights e^(-t |k|^p), at many rates t; p t falls with the logarithm of the scale."""
    k = np.arange(-4000, 4001)
    for name in ("DLap", "DGauss"):
        family, squares = FAMILIES[name], list[float]()
        assert isinstance(family, IntegerFamily)
        for t in np.geomspace(1e-2, 30, 200):
            size = t * np.abs(k) ** family.p
            weights = np.exp(-size) / np.exp(-size).sum()
            score = family.p * (size - size @ weights)
            bent = -family.p * score - score**2 @ weights
            assert max(bent) < 1e-9, (name, t)
            squares.append(score**2 @ weights)
            assert np.abs(score**2 + bent) @ weights / 2 <= squares[-1] + 1e-9
        assert max(squares) < float(family.information) < 1.3 * max(squares), name


# --- What has a closed form has one value, and what has none, or a long one, is refused -----------

HALF, TWO = Fraction(1, 2), Fraction(2)


def number(graph: Graph, scalar: Node, signs: Signs, eps: Fraction = ONE) -> float:
    """The value of a scalar at some eps; of one that is >= 0 the numerator has the sign."""
    (found,) = exact_values(graph, [scalar], signs).values()
    with precision(200):
        value = float(lower(found.ball(eps)))
    assert found.numerator.sign(eps) == (value > 0) - (value < 0)
    return value


@pytest.mark.parametrize("family", ["Lap", "DLap"])
@pytest.mark.parametrize("from_left", [True, False])
def test_what_is_integrated_twice_has_no_integral(family, from_left) -> None:
    graph = Graph()
    once = graph.running(graph.density(law(family)), from_left)
    # From the end where it vanishes on there is one: the mean of max(0, X - Y), or, as sums count
    # both ends, of max(0, X - Y + 1).
    again = graph.running(once, from_left)
    found = number(
        graph, graph.total(graph.times(again, graph.density(law(family)))), Signs.at(ONE)
    )
    expected = 0.75
    if family == "DLap":
        size = (1 - exp(-1)) / (1 + exp(-1))
        mass = {k: size * exp(-abs(k)) for k in range(-30, 31)}
        expected = sum(mass[j] * mass[k] * max(0, j - k + 1) for j in mass for k in mass)
    assert abs(found - expected) < 1e-9


def test_scales_that_are_no_multiples_of_one_over_eps_are_known_at_one_eps() -> None:
    graph = Graph()
    fixed, growing = (graph.density(law("Lap", 0, 2, power)) for power in (0, -1))
    above = [graph.total(graph.restrict(each, ONE, None)) for each in (fixed, growing)]
    refuses(Refused, "for every eps", exact_values, graph, above[:1], Signs(ALL))
    assert abs(number(graph, above[1], Signs(ALL), TWO) - exp(-1) / 2) < 1e-15
    for eps in (ONE, TWO):
        assert abs(number(graph, above[0], Signs.at(eps), eps) - exp(-0.5) / 2) < 1e-15


def test_loops_that_need_not_end_are_refused() -> None:
    graph = Graph()
    falls = graph.add("weight", (), Ratio(Sum.exponential(-1)))
    assert abs(number(graph, graph.star(falls), Signs(ALL)) - 1 / (1 - exp(-1))) < 1e-15


def test_functions_of_many_pieces_and_parts_are_refused(monkeypatch) -> None:
    monkeypatch.setattr(nodes, "MOST_PARTS", 4)
    graph = Graph()
    f = graph.density(law("Lap"))
    ends = graph.restrict(f, Fraction(-1), ONE)
    (found,) = exact_values(graph, [ends], Signs.at(ONE)).values()
    assert len(found.points) == 3
    other = graph.density(law("Lap", HALF))
    both = graph.times(ends, other)
    with pytest.raises(Refused, match="more work"), budget(100):
        exact_values(graph, [both], Signs.at(ONE))
    graph.total(both)
    refuses(Refused, "more than 4 parts", graph.running, both, True)


# --- exponential polynomials and their quotients --------------------------------------------------


def value(function: Sum | Ratio, eps: Fraction) -> float:
    if isinstance(function, Ratio):
        below = 1.0
        for factor, exponent in function.denominator:
            below *= value(factor, eps) ** exponent
        return value(function.numerator, eps) / below
    at = float(eps)
    return sum(float(c) * at**n * exp(float(q) * at) for (q, n), c in function.terms)


def near(one: float, other: float) -> bool:
    return isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)


def test_what_is_too_long_is_refused(monkeypatch) -> None:
    monkeypatch.setattr(exponentials, "MOST_TERMS", 6)
    three = Sum.of(((Fraction(k), 0), Fraction(1)) for k in range(3))
    with pytest.raises(Refused, match="a product of more than 6"):
        _ = three * three
    two = Sum.of(((Fraction(k), 0), Fraction(1)) for k in range(2))
    assert len((three * two).terms) == 4
    with pytest.raises(Refused, match="more than 6 terms"):
        Sum.of(((Fraction(k), 0), Fraction(1)) for k in range(7))


# --- What is refused, and what is told closely: expressions, and what is said of each -------------

CELL, COIN = ["cell", "x"], ["choose", ["cell", "x"], [[0, "1/2"], [1, "1/2"]], False]
NINE, TENTH = Fraction(9, 10), Fraction(1, 10)


def threshold_replayed(last: Any, claimed: Any = ()) -> Any:
    """What is said of the proof where its last step, or its claim, has other fields."""
    machine, claim, steps = PROOF
    return replay(machine, {**claim, **dict(claimed)}, [*steps[:-1], {**steps[-1], **last}])


def between(*known: Private) -> Any:
    about = Steps(read_machine(PROOF[0]), None)
    return between_eps(about, {**PROOF[2][-1], "delta": 1, "eps_prv": 0}, *known)


def drawn(family: str, power: int) -> list[Any]:
    return ["draw", CELL, family, 0, [3, power]]


def twice_integrated(family: str, from_left: bool, total: bool) -> Any:
    """From an end to where it does not vanish."""
    graph = Graph()
    once = graph.running(graph.density(law(family)), from_left)
    twice = graph.total(once if total else graph.running(once, not from_left))
    return exact_values(graph, [twice], Signs.at(ONE))


def repeated(of: Callable[[Graph], Node], signs: Signs) -> Any:
    graph = Graph()
    return exact_values(graph, [graph.star(of(graph))], signs)


def linear(c: Any, n: int = 1, q: Any = 0) -> Ratio:
    return Ratio(Sum.of([((Fraction(q), n), Fraction(c))]))


def test_what_is_known_between_and_what_has_no_form() -> None:
    asked = {"power": power, "information": information, "read_block": read_block}
    check_answers("kernel_between", judged(globals() | asked))
