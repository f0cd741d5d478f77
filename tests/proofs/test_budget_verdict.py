"""Claims about real inputs at one ε that a budget for every ε answers."""

import json
from fractions import Fraction
from math import exp

import pytest

import dipapprox
from dipapprox import Answer, Program, Verdict
from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.data_classes import replace
from dipapprox.errors import Contradiction
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.run import Setting
from dipapprox.proofs.budget_verdict import by_budget, serving_budget
from dipapprox.questions.verify import Verify

COMPARED = """
input q[2] in real
output out in {0, 1}
adjacent l1 1
r <- Lap(q[1], 2 / eps)
s <- Lap(q[2], 5 / eps)
if r >= s then out <- 1 else out <- 0 end
"""


def verified(text: str, eps: str, eps_prv: str, delta: str, pairs: str = "all") -> Verdict:
    program = dipapprox.parse(text)
    found = dipapprox.verify(program, eps=eps, eps_prv=eps_prv, delta=delta, pairs=pairs)
    assert isinstance(found, Verdict)
    return found


@pytest.mark.parametrize(
    ("eps", "eps_prv", "delta", "answer"),
    [
        ("1/2..1", "eps", "0", Answer.DP),
        ("1/2..1", "eps/5", "eps/10", Answer.DP),  # nothing is left over
        ("1/2..1", "eps/6", "0", Answer.UNKNOWN),
        ("1/2..1", "1/5", "0", Answer.DP),
        ("1/2..1", "19/100", "0", Answer.UNKNOWN),
        ("1/2..1", "log(1 + eps)", "0", Answer.DP),
        ("1/2..1", "eps/10 + delta/10", "1/100", Answer.UNKNOWN),
        ("1", "sqrt(eps)/4", "exp(-3)", Answer.DP),
        ("1", "sqrt(eps)/6", "exp(-3)", Answer.DP),  # as randomised response with 1/5: 0.018
        ("1", "sqrt(eps)/6", "exp(-5)", Answer.UNKNOWN),
    ],
)
def test_claims_that_vary_with_eps(eps: str, eps_prv: str, delta: str, answer: Answer) -> None:
    found = dipapprox.verify(dipapprox.parse(COMPARED), eps=eps, eps_prv=eps_prv, delta=delta)
    assert found.answer is answer
    assert json.loads(found.to_json())["verdict"] == answer.value
    assert found.describe()


def test_its_certificate_is_that_of_the_budget() -> None:
    found = verified(COMPARED, "1", "1/2", "1/10")
    file = dipapprox.certify(dipapprox.parse(COMPARED), COMPARED, found).to_json()
    assert [step["rule"] for step in json.loads(file)["steps"]] == ["served"]


def test_scales_are_whatever_they_are_at_one_eps() -> None:
    """A sample of scale 4 may be shifted by 2, another one, of scale 8 eps, stay."""
    text = "input q in real\noutput out in {0, 1}\nadjacent linf 1\nout <- 0\nx <- Lap(q, 4)\n"
    program = dipapprox.parse(text + "if x > Lap(-q, 8 * eps) then out <- 1 end\n")
    assert isinstance(program, Program)
    setting = Setting(program, AllPairs(), dipapprox.Options())
    assert serving_budget(setting, Fraction(1, 2)) == 1
    assert serving_budget(setting, Fraction(1, 4)) == 2
    assert serving_budget(setting) is None
    options = dipapprox.Options(proved=True)
    found = dipapprox.verify(program, eps="1/2", eps_prv="1/2", delta=0, options=options)
    assert found.answer is Answer.DP


def test_real_inputs_far_within_a_budget_are_told_by_it_at_once() -> None:
    above = "input q in real\noutput out in {0, 1}\nadjacent linf 1\nout <- 0\n"
    above += "if Lap(q, 1 / eps) > 0 then out <- 1 end\n"
    assert verified(above, "1", "2", "1/100000").engine == "budget"


ROUNDED = """
input x in real 0..4
output y in 0..4
adjacent linf 1
y <- clamp(round(Lap(x, 1 / eps)), 0, 4)
"""


def test_a_budget_is_the_upper_end_of_profiles_and_calibrations() -> None:
    program = dipapprox.parse(ROUNDED)
    found = dipapprox.profile(program, eps="1/2", delta=0)
    assert isinstance(found, dipapprox.LeastEpsPrv) and found.reason is None
    least = found.eps_prv_enclosure
    assert least.upper == Fraction(1, 2) and Fraction(1, 2) - Fraction(1, 10**6) <= least.lower
    assert "budget" in found.engine.split(" + ")
    calibrated = dipapprox.calibrate(program, eps_prv=1, delta=0)
    assert calibrated.reason is None
    assert 1 - Fraction(1, 10**5) <= calibrated.certified.eps <= 1 < calibrated.refuted.eps


def test_a_budget_that_a_pair_contradicts_stops_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "dipapprox.proofs.budget_verdict.serving_budget"
    monkeypatch.setattr(name, lambda *_: Fraction(9, 10))
    said = r"the least ε_prv: at least .* by enclosures and at most 0\.9 by least budget"
    with pytest.raises(Contradiction, match=said):
        dipapprox.profile(dipapprox.parse(ROUNDED), eps=1, delta=0)


def test_what_was_known_from_below_stays_beside_a_budget() -> None:
    program = dipapprox.parse(COMPARED)
    claim = dipapprox.Claim(Fraction(1), Fraction(1, 10), Fraction(3, 20))
    stated = Verify(eps=claim.eps, eps_prv=claim.eps_prv, delta=claim.delta)
    open_ = verified(COMPARED, "1", "3/20", "1/1000")
    assert open_.answer is Answer.UNKNOWN
    known = replace(open_, claim=claim, delta_enclosure=Enclosure(Fraction(1, 100), Fraction(1)))
    setting = Setting(program, AllPairs(), dipapprox.Options())
    found = by_budget(known, Fraction(1, 5), stated, setting)
    assert isinstance(found, Verdict) and found.answer is Answer.DP
    assert found.delta_enclosure is not None and found.delta_enclosure.lower == Fraction(1, 100)
    assert float(found.delta_enclosure.upper) == pytest.approx(
        (exp(0.2) - exp(0.15)) / (exp(0.2) + 1)
    )
    assert [end.by.split(":")[0] for end in found.why()] == ["enclosures", "least budget"]
    with pytest.raises(Contradiction, match=r"at least 0\.01 by enclosures and at most 0\.0 by"):
        by_budget(known, Fraction(1, 10), stated, setting)
