"""Several numbers that tell inputs apart: the check's divergences, and certificates of them."""

from __future__ import annotations

import json
from fractions import Fraction
from math import erf, exp, log, sqrt

import pytest
from scipy.integrate import quad

import dipapprox
from dipapprox.checking.check import check
from dipapprox.checking.distributions import Distributions
from dipapprox.checking.published import divergences
from dipapprox.checking.published.divergences import Divergences
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import Enclosure
from dipapprox.replays.result import Outcome
from tests.checking.certified import replaced, signed
from tests.checking.published.test_published_certificates import certified, outcome_of

F = Fraction
HEAD = "input q in 0..1\noutput y[2] in real\nadjacent linf 1\n"
PAIRS = (((F(0),), (F(1),)), ((F(1),), (F(0),)))


def opened(text: str) -> Divergences:
    """By densities only."""
    found = Divergences(Distributions(dipapprox.parse(text), F(1), Limits()), Limits())
    for pair in PAIRS:
        found._budgets[pair] = None
    return found


def near(found: Enclosure, truth: float, width: float) -> None:
    assert float(found.lower) - 1e-9 <= truth <= float(found.upper) + 1e-9
    assert found.width < width


@pytest.fixture
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Grids of few places: bounds are a few millionths wide."""
    monkeypatch.setattr(divergences, "_PLACES", 360)
    monkeypatch.setattr(divergences, "_MORE_PLACES", 360)


def phi(x: float) -> float:
    return (1 + erf(x / sqrt(2))) / 2


def gaussian(shift: float, alpha: float) -> float:
    place = log(alpha) / shift
    return phi(shift / 2 - place) - alpha * phi(-shift / 2 - place)


def laplace(shift: float, alpha: float) -> float:
    return max(0.0, 1 - alpha, 1 - exp(-shift / 2) * sqrt(alpha) if alpha > exp(-shift) else 0.0)


@pytest.mark.usefixtures("coarse")
def test_gaussian_products_are_enclosed_without_their_closed_form(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Divergences, "vectors", lambda *_: None)
    found = opened(HEAD + "y[1] <- Gauss(q, 2)\ny[2] <- 3 - Gauss(2 * q, 4)\n")
    near(found.delta(PAIRS[0], F(1, 2), 40), gaussian(sqrt(0.5), exp(0.5)), 3e-4)


@pytest.mark.usefixtures("coarse")
@pytest.mark.parametrize(
    ("second", "end"),
    [("Lap(q, 3)", None), ("LapPlus(q, 3)", 1.0)],
)
def test_products_are_integrals_over_one_number(second: str, end: float | None) -> None:
    """δ = ∫ f_2(y) H_1(α g_2(y) / f_2(y)) dy, by quadrature; below the end g_2 is 0."""
    found = opened(HEAD + f"y[1] <- Lap(q, 2)\ny[2] <- {second}\n")
    alpha = exp(0.25)

    def inner(y: float) -> float:
        if end is None:
            f, g = (exp(-abs(y - mean) / 3) / 6 for mean in (0, 1))
        else:
            f, g = exp(-y / 3) / 3, 0.0 if y < end else exp(-(y - 1) / 3) / 3
        return f * laplace(0.5, alpha * g / f) if g else f

    start = 0 if end else -120
    truth = sum(
        quad(inner, a, b, epsabs=1e-12, limit=400)[0] for a, b in ((start, 0), (0, 1), (1, 120))
    )
    near(found.delta(PAIRS[0], F(1, 4), 40), truth, 2e-6)


GUARDED = (
    "input q in 0..1\noutput s in 0..1\noutput y[3] in real\nadjacent linf 1\n"
    "s <- 0\ny[1] <- 0\ny[2] <- 0\ny[3] <- 0\nt <- Lap(0, 4)\na <- Lap(q, 2)\n"
    "if a >= t then\n s <- 1\n y[1] <- 2 * a\n y[2] <- Lap(q, 3)\n y[3] <- Lap(5, 1)\nend\n"
)


@pytest.mark.usefixtures("coarse")
def test_guarded_numbers_are_confirmed_and_what_changes_is_refuted() -> None:
    fields = certified(GUARDED, "1/4", "3/10")
    result = check(fields)
    assert result.outcome is Outcome.CONFIRMED, (result.differences, result.reason)
    assert result.delta_enclosure is not None and result.delta_enclosure.width < F(1, 10**5)
    move = F(1, 10**4)
    low, _ = map(F, fields["delta_enclosure"])
    changes: list[tuple[tuple[str | int, ...], object]] = [
        (("claim", "delta"), str(low - move)),
        (("delta_enclosure",), ["0", str(low - move)]),
        (("pairs", "count"), 3),
        (("evidence", "inputs"), 3),
    ]
    for k, pair in enumerate(fields["evidence"]["pairs"]):
        above = F(pair["delta_enclosure"][1]) + move
        changes.append((("evidence", "pairs", k, "delta_enclosure"), [str(above), "1"]))
    for place, value in changes:
        assert outcome_of(signed(replaced(fields, place, value))) is Outcome.REFUTED, place


@pytest.mark.usefixtures("coarse")
def test_violations_by_several_numbers_are_confirmed() -> None:
    text = HEAD + "y[1] <- Lap(q, 2)\ny[2] <- Lap(q, 2)\n"
    program = dipapprox.parse(text)
    # The largest δ is 0.18384; a box of outputs has 0.17097.
    found = dipapprox.verify(program, eps=1, eps_prv=F(1, 4), delta=F(183, 1000))
    assert found.answer is dipapprox.Answer.NOT_DP
    fields = json.loads(dipapprox.certify(program, text, found).to_json())
    assert fields["evidence"]["kind"] == "divergence"
    assert check(fields).outcome is Outcome.CONFIRMED
    above = str(F(fields["evidence"]["delta_enclosure"][1]) + F(1, 10**4))
    assert outcome_of(signed(replaced(fields, ("claim", "delta"), above))) is Outcome.REFUTED


MIXED = HEAD + (
    "t <- Lap({}, 1)\nif t < 0 then\n y[1] <- Lap(q, 2)\n y[2] <- Lap(q, 2)\n"
    "else\n y[1] <- Lap(q + 3, 2)\n y[2] <- Lap(q + {}, 2)\nend\n"
)


@pytest.mark.usefixtures("coarse")
def test_paths_that_differ_in_several_numbers_are_bounded() -> None:
    """Far apart, paths lose what each of them does; at one place, they are one path."""
    one = HEAD + "y[1] <- Lap(q, 2)\ny[2] <- Lap(q, 2)\n"
    single = opened(one).delta(PAIRS[0], F(1, 4), 40)
    far = opened(MIXED.format(0, 3)).delta(PAIRS[0], F(1, 4), 40)
    assert far.upper < single.upper + F(1, 10**5)
    number = 1 - exp(-0.125)
    assert 0.5 * number < float(far.lower) <= float(single.upper)
    engine = dipapprox.profile(dipapprox.parse(MIXED.format("q", 7)), eps=1, eps_prv=F(1, 4))
    found = [opened(MIXED.format("q", 7)).delta(pair, F(1, 4), 40) for pair in PAIRS]
    both = Enclosure(max(e.lower for e in found), max(e.upper for e in found))
    assert both.meets(engine.delta_enclosure)


def test_equal_sums_of_paths_lose_nothing() -> None:
    text = HEAD + (
        "t <- Lap(0, 1)\nif t < 0 then\n y[1] <- Lap(0, 1)\n y[2] <- Lap(0, 2)\n"
        "else\n y[1] <- Lap(3, 1)\n y[2] <- Lap(3, 2)\nend\n"
    )
    assert not opened(text).delta(PAIRS[0], F(0), 40).upper
