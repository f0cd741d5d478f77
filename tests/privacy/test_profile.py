"""Privacy profiles against closed forms, published values, and verification at single points."""

import math
from fractions import Fraction
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dipapprox
from dipapprox import LeastDelta, LeastEpsPrv, Program, UserError
from dipapprox.privacy.profiles.details import ListedDetails
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


@pytest.mark.parametrize(
    ("name", "size", "published"),
    [  # specification section 7.6, column "max ε₀"
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
    ],
)
def test_pure_privacy(name: str, size: int, published: str) -> None:
    found = least_eps_prv(program(name, N=size), HALF, Fraction(0))
    assert close(found, published)
    assert len(found.witness.rows) == 1  # one output has the largest ratio


# --- laws ----------------------------------------------------------------------------------------

SVT = program("svt_gauss", N=3)
CURVE = dipapprox.profile(SVT, eps=HALF, curve=(Fraction(0), Fraction(2, 5), 9))


@given(st.fractions(0, Fraction(2, 5), max_denominator=1000))
def test_envelopes_contain_the_profile(budget: Fraction) -> None:
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
        with pytest.raises(UserError, match=message):
            dipapprox.profile(SVT, eps=HALF, **question)
    with pytest.raises(UserError, match="eps must be > 0, got 0"):
        dipapprox.profile(SVT, eps=0, eps_prv=HALF)


@pytest.mark.parametrize("asked", [{"eps_prv": "1/10"}, {"delta": "1/100"}])
def test_bounds_outlive_their_witness(
    asked: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
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
