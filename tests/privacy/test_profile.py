"""Profiles and calibrations: closed forms, published values, verification at single points."""

import dataclasses
import json
import math
from fractions import Fraction
from statistics import NormalDist

import pytest
from dp_accounting.pld.privacy_loss_distribution import from_two_probability_mass_functions
from hypothesis import given
from hypothesis import strategies as st

import dipapprox
from dipapprox import LeastDelta, LeastEpsPrv, Limits, Options, Program, UserError
from dipapprox.privacy.details import ListedDetails
from tests.cases import cases, refuses
from tests.texts import text_of

HALF = Fraction(1, 2)

GAUSS = text_of("privacy/profile-1")


def program(name: str, **parameters: int) -> Program:
    text = text_of(name)
    return dipapprox.parse(text, parameters, name)


def least_delta(p: Program, eps: Fraction, budget: Fraction) -> LeastDelta:
    found = dipapprox.profile(p, eps=eps, eps_prv=budget)
    assert found.reason is None
    return found


def least_eps_prv(p: Program, eps: Fraction, delta: Fraction) -> LeastEpsPrv:
    found = dipapprox.profile(p, eps=eps, delta=delta)
    assert found.reason is None
    return found


def close(found: LeastEpsPrv, published: str) -> bool:
    """Whether a printed value, rounded to its digits, is in or next to an enclosure."""
    bounds = found.eps_prv_enclosure
    assert bounds.upper - bounds.lower <= Fraction(1, 10**9)
    unit = Fraction(1, 10 ** len(published.partition(".")[2]))
    value = Fraction(published)
    return value - unit / 2 <= bounds.upper and bounds.lower <= value + unit / 2


# --- closed forms and published values -----------------------------------------------------------


@cases(
    "name, size, published",  # specification section 7.6, column "max ε₀"
    ("svt_gauss", 2, "0.20474283335581808519"),  # section 10, item 1
    ("svt_gauss", 5, "0.44193"),
    ("svt_gauss", 7, "0.54795"),
    ("svt_gauss_ge", 5, "0.42848"),
    ("svt_laplace", 2, "0.19940"),
    ("svt_mix1", 2, "0.20581"),
    ("svt_mix2_ge", 2, "0.19939"),
    ("noisy_max_gauss", 2, "0.14109757741874310465"),  # section 10, item 4
    ("noisy_min_gauss", 4, "0.25740"),
    ("noisy_max_laplace", 3, "0.37299"),
)
def test_pure_privacy(name, size, published) -> None:
    found = least_eps_prv(program(name, N=size), HALF, Fraction(0))
    assert close(found, published)
    assert len(found.witness.rows) == 1  # one output has the largest ratio


# --- laws ----------------------------------------------------------------------------------------

SVT = program("svt_gauss", N=3)
CURVE = dipapprox.profile(SVT, eps=HALF, curve=(Fraction(0), Fraction(2, 5), 9))


@given(st.fractions(0, Fraction(2, 5), max_denominator=1000))
def test_envelopes_contain_the_profile(budget) -> None:
    inside = CURVE.envelope.at(budget)
    assert inside.meets(least_delta(SVT, HALF, budget).delta_enclosure)
    assert inside.width <= CURVE.largest_gap + Fraction(1, 10**20)


# --- Rényi ---------------------------------------------------------------------------------------


def test_renyi_divergences_of_a_threshold() -> None:
    # Two outputs with p = 1/2 and q = Phi(-1/4): sums of two terms, by hand.
    p = dipapprox.parse(GAUSS, {"t": 1})
    q = NormalDist().cdf(-0.25)
    found = dipapprox.profile(p, eps=Fraction(1, 4), renyi=(1, Fraction(3, 2), 2, 40, "inf"))

    def divergence(a: float, u: float, v: float) -> float:
        if a == 1:
            return u * math.log(u / v) + (1 - u) * math.log((1 - u) / (1 - v))
        moment = u**a * v ** (1 - a) + (1 - u) ** a * (1 - v) ** (1 - a)
        return math.log(moment) / (a - 1)

    for each in found.orders:
        bounds = each.divergence
        assert bounds.upper - bounds.lower <= Fraction(1, 10**9)
        if isinstance(each.order, str):
            expected = math.log(0.5 / q)
        else:
            a = float(each.order)
            expected = max(divergence(a, 0.5, q), divergence(a, q, 0.5))
        assert float(bounds.lower) == pytest.approx(expected, rel=1e-8)


# --- results -------------------------------------------------------------------------------------


def test_programs_without_pairs() -> None:
    alone = dipapprox.parse("output out in {0, 1}\nadjacent all\nout <- 1\n")
    assert least_delta(alone, HALF, Fraction(0)).delta_enclosure.upper == 0
    assert least_eps_prv(alone, HALF, Fraction(0)).eps_prv_enclosure.upper == 0


def test_bad_questions() -> None:
    for question, message in (
        ({"eps_prv": -1}, "eps_prv must be >= 0, got -1"),
        ({"eps_prv": 0.5}, "eps_prv must be an exact number, got the float 0.5"),
        ({"delta": "3/2"}, "delta must be in"),
        ({"delta": 1, "width": 0}, "width must be > 0, got 0"),
        ({"curve": (0, 1, 1)}, "2 to 100000 points, got 1"),
        ({"curve": "1:1:5"}, "LO < HI, got 1:1"),
        ({"curve": (-1, 1, 5)}, "must be >= 0, got -1"),
        ({"renyi": ()}, "1 to 1000 Rényi orders"),
        ({"renyi": (HALF,)}, "must be in"),
    ):
        refuses(UserError, message, dipapprox.profile, SVT, eps=HALF, **question)
    refuses(UserError, "eps must be > 0, got 0", dipapprox.profile, SVT, eps=0, eps_prv=HALF)


@pytest.mark.parametrize("asked", [{"eps_prv": "1/10"}, {"delta": "1/100"}])
def test_bounds_outlive_their_witness(asked, monkeypatch) -> None:
    """A limit that is reached when all is proved takes only the set that shows it."""
    whole = dipapprox.profile(dipapprox.parse(GAUSS), eps=1, **asked)  # type: ignore[arg-type]

    def ended(*_arguments: object) -> None:
        raise dipapprox.LimitReached("time limit: 1 s")

    monkeypatch.setattr(ListedDetails, "witness", ended)
    found = dipapprox.profile(dipapprox.parse(GAUSS), eps=1, **asked)  # type: ignore[arg-type]
    assert whole.witness is not None and found.witness is None
    ends = "delta_enclosure" if "eps_prv" in asked else "eps_prv_enclosure"
    assert getattr(found, ends) == getattr(whole, ends)
    assert found.describe()


# --- Calibration against closed forms and against verification at both ends -----------------------

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
def test_dp_accounting_brackets_the_same_delta(budget) -> None:
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
def test_a_limit_before_anything_is_known_is_an_answer(proved) -> None:
    options = Options(limits=Limits(seconds=0), proved=proved)
    found = dipapprox.calibrate(program("svt_gauss"), eps_prv=1, delta="1/100", options=options)
    assert (found.certified, found.refuted, found.queries) == (None, None, 0)
    assert "time limit: 0 s" in str(found.reason)
    assert found.to_dict()["eps_enclosure"] == [None, None]
