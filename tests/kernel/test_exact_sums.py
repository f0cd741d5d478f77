"""Deltas of distributions in closed form: against sums in floats, and at their exact values."""

import random
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import exp
from typing import Any

import pytest

from dipapprox.kernel import closed
from dipapprox.kernel.closed import Sums, growth_of, violated_somewhere
from dipapprox.kernel.errors import Refused, Refuted
from dipapprox.kernel.exponentials import Ratio, Sum
from dipapprox.kernel.judgements import ExactDistributions, Violated
from dipapprox.kernel.machine import read_block, read_machine, read_weight
from dipapprox.kernel.proofs import Proof, every_pair, violation
from dipapprox.kernel.signs import ALL, Epsilons, Signs
from dipapprox.proof_steps.machines import number_json
from dipapprox.replays.words import words_of
from kernel.machines import finite
from tests.cases import refuses

Json = Any
ONE, TWO, HALF = Fraction(1), Fraction(2), Fraction(1, 2)
POINT = Epsilons(ONE, ONE)
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
        weights = [Fraction(source.randint(0, 4)) for _ in range(2)] + [ONE]
        rows.append([weight / sum(weights) for weight in weights])
    return rows


@pytest.mark.parametrize("seed", range(12))
def test_a_hair_above_the_sum_is_private_and_below_it_is_not(seed) -> None:
    source = random.Random(seed)
    rows, eps_prv = some_rows(source), source.choice([Fraction(0), Fraction(1, 3), ONE])
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


def test_a_delta_that_is_attained_holds_and_is_not_violated() -> None:
    """Randomised response with odds e^eps, at the budget eps, or without one."""
    odds = Sum.exponential(1)
    true = Ratio(odds) * Ratio(odds + Sum.constant(1)).inverse()
    false, never = Ratio.constant(1) - true, Ratio.constant(0)
    rows = [[true, false, never], [false, true, never]]
    here, everywhere = table(rows), table(rows, ALL)
    every_pair(ABOUT, {"eps_prv": 1, "delta": 0}, here)
    every_pair(ABOUT, {"eps_prv": ["eps"], "delta": 0}, everywhere)
    for less in (Fraction(999, 1000), Fraction(0)):
        refuses(Refuted, None, every_pair, ABOUT, {"eps_prv": number_json(less), "delta": 0}, here)
        scaled = ["*", number_json(less), ["eps"]]
        refuses(Refuted, None, every_pair, ABOUT, {"eps_prv": scaled, "delta": 0}, everywhere)
    asked = {"input": [0], "adjacent": [1], "outputs": [[0]], "delta": 0}
    violation(ABOUT, {**asked, "eps_prv": "999/1000"}, here)
    refuses(Refuted, "not above delta", violation, ABOUT, {**asked, "eps_prv": 1}, here)
    refuses(Refused, "on an interval", violation, ABOUT, {**asked, "eps_prv": 0}, everywhere)
    every_pair(ABOUT, {"eps_prv": 1, "delta": 1}, everywhere)


def test_inputs_without_distributions_have_no_sum() -> None:
    alone = numbers([[HALF, HALF, Fraction(0)]])
    refuses(Refuted, "no distribution", every_pair, ABOUT, {"eps_prv": 1, "delta": 1}, alone)


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
    assert (Ratio(Sum.exponential(ONE / 2)) - low).numerator.sign(TWO) == 1
    assert abs(float(low.ball(TWO).mid()) - exp(1)) < 1e-12
    for bad in (-1, ["+", 1, ["eps"]], ["*", ["eps"], ["eps"]]):
        for signs in (on, at_two):
            refuses(Refused, "no rational multiple of eps", growth_of, read_weight(bad), signs)


def excesses(*functions: Sum) -> ExactDistributions:
    """Of the input 0 these, which may have any signs; of the input 1 nothing."""
    rows = [[*map(Ratio, functions), *[Ratio.constant(0)] * (3 - len(functions))]]
    return table([*rows, [Ratio.constant(0)] * 3], Epsilons(ONE, Fraction(3)))


LINE = Sum.of([((Fraction(0), 1), ONE), ((Fraction(0), 0), -TWO)])
"""eps - 2."""


def test_an_interval_is_cut_where_signs_change(monkeypatch) -> None:
    """max(0, eps - 2) + max(0, 2 - eps) is at most 1 between 1 and 3, and attains it."""
    found = excesses(LINE, LINE.scaled(-1))

    def told(delta: Fraction, of: Any = found) -> bool:
        return Sums(of, (Fraction(0), delta)).hold((0,), (1,))

    # Of functions without a known sign any set may be the one that adds.
    for most in (5, 1):
        monkeypatch.setattr(closed, "MOST_FREE", most)
        assert told(ONE)
        assert not told(Fraction(999, 1000))
        # Less what may add, not more.
        assert told(ONE, of=excesses(LINE))
        assert not told(Fraction(999, 1000), of=excesses(LINE))
    monkeypatch.setattr(closed, "MOST_PARTS", 1)
    refuses(Refused, "more than 1 excesses", told, ONE)


CHOICE: Json = ["choose", ["cell", "o"], [[0, ["eps"]], [1, ["+", 1, ["*", -1, ["eps"]]]]], False]
SET: Json = ["set", ["cell", "o"], 0]
EMPTY: Json = ["=", ["cell", "q"], 1]
MEANT = {
    "a choice": [CHOICE],
    "a choice in a branch": [["if", EMPTY, [SET], [CHOICE]]],
    "a choice in turns": [SET, ["repeat", 2, [CHOICE]]],
    "a loop": [SET, ["while", ["=", ["cell", "o"], 1], [SET]]],
}


def about(body: Json, pairs: Any = None) -> Proof:
    return Proof(replace(ABOUT.machine, body=read_block(body)), pairs)


def test_a_violation_at_one_eps_is_one_of_a_claim_about_more() -> None:
    on = {"from": "1/4", "to": "3/4"}
    found = Violated(HALF, HALF, Fraction(1, 10), ((0,), (1,)), ((0,),))
    plain = about([SET])
    for eps_prv, delta, why in (
        ("1/2", "1/10", ""),
        (["eps"], 0, ""),
        ("501/1000", 0, "less than what is claimed"),
        (["*", "101/100", ["eps"]], 0, "less than what is claimed"),
        (0, "101/1000", "less than what is claimed"),
        (0, ["+", ["eps"], "-1/2"], "not known to be >= 0"),
        (["+", ["eps"], "-1/3"], 0, "not known to be >= 0"),
    ):
        step = {"eps": on, "eps_prv": eps_prv, "delta": delta}
        if not why:
            assert violated_somewhere(plain, step, found).pair == found.pair
        else:
            refuses(Refuted, why, violated_somewhere, plain, step, found)
    stated: Json = {"eps_prv": 0, "delta": 0}
    for other in ({"from": "3/5", "to": 1}, {"from": 0, "to": "2/5"}):
        refuses(Refuted, "another eps", violated_somewhere, plain, {**stated, "eps": other}, found)


@pytest.mark.parametrize("body", MEANT.values(), ids=MEANT)
def test_what_is_violated_has_probabilities_at_every_eps(body) -> None:
    """Choices and loops may have none: closed forms say so, for all inputs that are meant."""
    on = Epsilons(Fraction(1, 4), Fraction(3, 4))
    found = Violated(HALF, Fraction(0), Fraction(0), ((0,), (1,)), ((0,),))
    step = {"eps": {"from": "1/4", "to": "3/4"}, "eps_prv": 0, "delta": 0}
    row = [Ratio.constant(p) for p in (1, 0, 0)]
    both, alone, elsewhere = table([row] * 2, on), table([row], on), table([row] * 2, ALL)
    violated_somewhere(about(body), step, found, both)
    violated_somewhere(about(body, (((0,), (0,)),)), step, found, alone)
    for known in ((), (alone,), (elsewhere,), (alone, alone)):
        refuses(Refuted, "no closed forms", violated_somewhere, about(body), step, found, *known)
    with pytest.raises(Refuted, match="no closed forms"):
        violated_somewhere(about(body, (((0,), (1,)),)), step, found, alone)
