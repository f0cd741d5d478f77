"""Calibration against closed forms and against verification at both ends; dp_accounting."""

import dataclasses
import json
import math
from fractions import Fraction

import pytest
from dp_accounting.pld.privacy_loss_distribution import from_two_probability_mass_functions

import dipapprox
from dipapprox import Limits, Options, Program
from tests.texts import text_of

HALF = Fraction(1, 2)


def program(name: str, **parameters: int) -> Program:
    text = text_of(name)
    return dipapprox.parse(text, parameters, name)


LAPLACE = dipapprox.parse(
    "input q in {0, 1}\noutput out in {0, 1}\nadjacent all\nout <- 0\n"
    "x <- Lap(q, 2 / eps)\nif x >= 1 then out <- 1 end\n"
)
"""Exactly eps/2-private: Pr[out = 1] is 1/2 and e^(-eps/2)/2."""


def test_a_mechanism_solved_by_hand() -> None:
    # Pure privacy with budget 1 needs eps = 2.
    found = dipapprox.calibrate(LAPLACE, eps_prv=1, delta=0)
    low, high = found.certified.eps, found.refuted.eps
    assert low <= 2 <= high
    assert high - low <= high / 10**6
    assert found.reason is None
    # delta = (1 - e^(1/4 - eps/2)) / 2 at budget 1/4.
    found = dipapprox.calibrate(
        LAPLACE, eps_prv=Fraction(1, 4), delta=Fraction(1, 10), width=Fraction(1, 10**9)
    )
    exact = HALF - 2 * math.log(1 - 2 / 10)
    assert float(found.certified.eps) <= exact * (1 + 1e-15)
    assert exact * (1 - 1e-15) <= float(found.refuted.eps)
    assert found.refuted.eps - found.certified.eps <= found.refuted.eps / 10**9


def test_ends_that_do_not_exist() -> None:
    # Supports differ for every eps: nothing is certified.
    leaky = program("svt_gauss_leaky_2", N=2)
    found = dipapprox.calibrate(leaky, eps_prv=1, delta=0)
    assert found.certified is None
    assert found.refuted.needed.infinite
    assert "no certified eps" in found.reason
    assert json.loads(found.to_json())["eps_enclosure"][0] is None
    assert found.meaning.startswith("refuted at this eps; no eps tried was certified; that the")
    assert ("certified at", "none found") in found.describe().facts
    assert "needs ε_prv = ∞" in dict(found.describe().facts)["refuted at"]
    assert "[inf, inf]" not in found._repr_html_()
    # The input is not looked at: nothing is refuted.
    deaf = dipapprox.parse(
        "input q in {0, 1}\noutput out in {0, 1}\nadjacent all\nout <- 0\n"
        "x <- Lap(0, 1 / eps)\nif x >= 1 then out <- 1 end\n"
    )
    found = dipapprox.calibrate(deaf, eps_prv=0, delta=Fraction(1, 10))
    assert found.refuted is None
    assert found.certified is not None
    assert "no refuted eps" in found.reason
    assert found.meaning.startswith("certified at this eps; no eps tried was refuted; that the")
    assert json.loads(found.to_json())["meaning"] == found.meaning
    neither = dataclasses.replace(found, certified=None)
    assert "at the" not in neither.meaning


@pytest.mark.parametrize("budget", [Fraction(0), Fraction(1, 10), Fraction(1, 5)])
def test_dp_accounting_brackets_the_same_delta(budget: Fraction) -> None:
    svt = program("svt_gauss", N=3)
    pair = ((0, 0, 1), (1, 1, 0))
    found = dipapprox.profile(svt, eps=HALF, eps_prv=budget, pairs=[pair])
    two = dipapprox.pair_distributions(svt, eps=HALF, input=pair[0], adjacent=pair[1])
    lower, upper = two.to_pld()
    assert len(lower) == len(upper) == 4
    assert math.fsum(map(math.exp, upper.values())) == pytest.approx(1, abs=1e-11)
    bracket = [
        from_two_probability_mass_functions(
            lower, upper, pessimistic, value_discretization_interval=1e-3, symmetric=False
        ).get_delta_for_epsilon(float(budget))
        for pessimistic in (False, True)
    ]
    tiny = 1e-11  # doubles
    assert bracket[0] - tiny <= float(found.delta_enclosure.lower)
    assert float(found.delta_enclosure.upper) <= bracket[1] + tiny
    assert bracket[1] - bracket[0] < 3e-3
    assert json.loads(two.to_json())["adjacent"] == {"q": [1, 1, 0]}


@pytest.mark.parametrize("proved", [False, True])
def test_a_limit_before_anything_is_known_is_an_answer(proved: bool) -> None:
    options = Options(limits=Limits(seconds=0), proved=proved)
    found = dipapprox.calibrate(program("svt_gauss"), eps_prv=1, delta="1/100", options=options)
    assert (found.certified, found.refuted, found.queries) == (None, None, 0)
    assert "time limit: 0 s" in str(found.reason)
    assert found.to_dict()["eps_enclosure"] == [None, None]
