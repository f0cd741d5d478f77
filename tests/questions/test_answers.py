"""What Python does with answers: they are compared, hashed, copied and printed."""

import copy
import math
import pickle
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dipapprox
from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.arithmetic.extended import INFINITE, Extended
from dipapprox.privacy.verdict import Answer
from tests.cli.running import run_json
from tests.privacy.test_why import ABOVE

TEXT = """
input q in 0..1
output out in {0, 1}
adjacent linf 1
r <- Lap(q, 1 / eps)
if r >= 1 then out <- 1 else out <- 0 end
"""


@cache
def answers() -> dict[str, object]:
    """One of each kind."""
    program = dipapprox.parse(TEXT)
    verdict = dipapprox.verify(program, eps=1, eps_prv="1/2", delta=0)
    certificate = dipapprox.certify(program, TEXT, verdict)
    noise = {"mechanism": "gaussian", "sigma": 2}
    return {
        "verify": verdict,
        "verify, an interval": dipapprox.verify(program, eps="1..2", eps_prv="eps", delta=0),
        "decide": dipapprox.decide(program, budget="1/2"),
        "prove, real inputs": dipapprox.prove(program, reals=True),
        "prove, an automaton": dipapprox.prove("programs/automata/svt.dipa"),
        "prove, any N": dipapprox.prove(dipapprox.parse(Path("svt_laplace"), for_all="N")),
        "profile, delta": dipapprox.profile(program, eps=1, eps_prv="1/2"),
        "profile, eps_prv": dipapprox.profile(program, eps=1, delta="0.01"),
        "profile, curve": dipapprox.profile(program, eps=1, curve="0:1:3"),
        "profile, Rényi": dipapprox.profile(program, eps=1, renyi="2"),
        "calibrate": dipapprox.calibrate(program, eps_prv=1, delta=0, width="1/10"),
        "probability": dipapprox.probability(program, eps=1, input=(0,)),
        "pairs": dipapprox.pair_distributions(program, eps=1, input=(0,), adjacent=(1,)),
        "compose": dipapprox.compose([noise]).epsilon("0.01"),
        "certify": certificate,
        "check": dipapprox.check(certificate.to_json()),
    }


def test_equal_answers_have_equal_hashes() -> None:
    found = answers()
    assert len(set(found.values())) == len(found)
    for name, each in found.items():
        assert copy.copy(each) == each, name
        for other in (copy.copy(each), pickle.loads(pickle.dumps(each))):
            assert other != each or hash(other) == hash(each), name


def ends_of(text: str) -> list[Decimal]:
    return [Decimal(end) for end in text.strip("[]").split(", ")]


@given(st.fractions(0, 10**6), st.fractions(0, 10**-6), st.integers(1, 9))
def test_bounds_are_written_as_short_decimals_rounded_outwards(
    lower: Fraction, width: Fraction, places: int
) -> None:
    """What `print`, f-strings and tables show of a δ, and of a budget that might be infinite."""
    upper = lower + width
    for bounds in (Enclosure(lower, upper), Extended(lower, upper)):
        for text in (str(bounds), f"{bounds}", f"{bounds:.{places}f}", f"{bounds:.{places}g}"):
            ends = ends_of(text)
            assert Fraction(ends[0]) <= lower
            assert upper <= Fraction(ends[-1])
            assert all(len(end.as_tuple().digits) <= 30 for end in ends)
        assert float(lower) <= float(bounds) <= float(upper)
    assert str(Enclosure(lower, upper)) == str(Extended(lower, upper))
    unbounded = Extended(lower, None)
    assert math.isinf(float(unbounded))
    for text in (str(unbounded), f"{unbounded:.{places}f}"):
        assert Fraction(text.removeprefix("at least ")) <= lower


def test_an_infinite_budget_is_written_and_compared() -> None:
    assert (str(INFINITE), f"{INFINITE:.3f}", float(INFINITE)) == ("∞", "∞", math.inf)
    with pytest.raises(ValueError, match="an enclosure has no format"):
        format(Extended(Fraction(0), None), "d")


def test_a_least_budget_is_printed_as_it_stands_in_its_answer() -> None:
    least = answers()["profile, eps_prv"]
    budget = least.eps_prv_enclosure
    assert budget.lower is not None
    assert budget.upper is not None
    assert f"least ε_prv for δ = 1/100: {budget}\n" in str(least)
    assert f"{float(budget):.8f}" == f"{float(budget.lower):.8f}"


CONSTANT = ABOVE.replace("noisy >= 2", "noisy >= other").replace(
    "noisy <-", "other <- Lap(2, 3)\nnoisy <-"
)
"""Noise that does not shrink with ε: no closed form for every ε; a shift of `noisy` costs ε."""

WEIGHTS = """
input x in {0, 1}
output y in real
adjacent linf 1
f <- choose { 0 : 1 / (1 + exp(eps)), 1 : exp(eps) / (1 + exp(eps)) }
if f = 0 then
    y <- Lap(x, 1 / eps)
else
    y <- Lap(x, 2 / eps)
end
"""
"""At ε = 1 it needs 0.6824: log((w + v/2) / (w e^-1 + v/2 e^-1/2)), the weights w and v."""


@pytest.mark.parametrize(
    ("text", "eps", "eps_prv", "answer"),
    [
        (ABOVE, "1/2..1", "eps", Answer.DP),
        (ABOVE, "1/2..1", "0.999 * eps", Answer.NOT_DP),
        (CONSTANT, "1/2..1", "eps", Answer.DP),
        (CONSTANT, "1/2..1", "eps / 20", Answer.NOT_DP),
        (WEIGHTS, "1/2..1", "eps", Answer.DP),
        (WEIGHTS, "1/2..1", "0.999 * eps", Answer.UNKNOWN),
        (WEIGHTS, "1/2..1", "0.68 * eps", Answer.NOT_DP),
    ],
)
def test_claims_about_intervals(text: str, eps: str, eps_prv: str, answer: Answer) -> None:
    found = dipapprox.verify(dipapprox.parse(text), eps=eps, eps_prv=eps_prv, delta=0)
    assert found.answer is answer
    if answer is Answer.DP:
        assert [end.by for end in found.why()] == ["least budget"]


@pytest.mark.parametrize(
    ("budget", "answer"), [("1", Answer.DP), ("1.001", Answer.DP), ("1/20", Answer.NOT_DP)]
)
def test_decisions_where_nothing_has_a_closed_form(budget: str, answer: Answer) -> None:
    found = dipapprox.decide(dipapprox.parse(CONSTANT), budget=budget)
    assert found.answer is answer
    if answer is Answer.DP:
        assert found.reason is None and found.cause is None
        assert [end.by for end in found.why()] == ["least budget"]
        assert "budget" in str(found)


def test_what_a_budget_tells_is_proved(tmp_path: Path) -> None:
    path = tmp_path / "asked.dpg"
    interval = ("--eps", "1/2..1", "--delta", "0")
    for text, command, more in ((CONSTANT, "decide", ()), (ABOVE, "verify", interval)):
        path.write_text(text, encoding="utf-8")
        status, fields = run_json(command, str(path), *more, "--proved")
        assert (status, fields["verdict"]) == (0, "DP") and fields["proved"]["steps"] >= 1


def test_a_budget_is_the_last_word_on_an_upper_end() -> None:
    options = dipapprox.Options(max_precision=40)
    asked = dipapprox.parse(ABOVE)
    found = dipapprox.profile(asked, eps=1, delta=0, width="1e-300", options=options)
    assert found.eps_prv_enclosure.upper == 1
    assert [end.by for end in found.why()][1] == "least budget" and found.reason is not None
