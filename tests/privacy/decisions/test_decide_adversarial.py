"""Claims that are hard to decide: touching δ, tiny ranges, large denominators, long programs.

NMax4 with one query answers 0 with probability 1 - e^(-eps/2) for one input and never for the
other. So it is (t eps, δ)-private exactly if δ(eps) >= 1 - e^(-eps/2), whatever t is: any slack can
be put into δ.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import load
from dipapprox.language.parser import parse
from dipapprox.limits import Limits
from dipapprox.pairs.selections import AllPairs, OrderedPairs
from dipapprox.privacy.decisions.decider import decide
from dipapprox.privacy.decisions.decision import Cause, Decision
from dipapprox.privacy.decisions.delta import read_delta
from dipapprox.privacy.decisions.question import DecisionQuestion, read_epsilons
from dipapprox.privacy.options import Options
from dipapprox.privacy.verdict import Answer

PROGRAMS = Path(__file__).parents[3] / "programs"
EXACT = "1 - exp(-eps/2)"


def ask(delta: str, *, budget: str = "1", interval: str = "0..inf") -> Decision:
    program = load(PROGRAMS / "dipc" / "nmax4.dpg", {"N": Fraction(1)})
    question = DecisionQuestion(
        Fraction(budget),
        read_delta(delta),
        read_epsilons(interval),
        width=Fraction(1, 10**12),
        violations=True,
    )
    return decide(program, question, AllPairs(), Options())


def ranges(decision: Decision) -> list[tuple[Fraction, Fraction | None]]:
    return [
        (r.lower.upper, None if r.upper is None else r.upper.lower) for r in decision.violated_on
    ]


@pytest.mark.parametrize(
    "slack",
    [
        "0",
        "(eps - 1)^2",
        "(eps - 1e-9)^2",
        "(eps - 1e6)^2",
        "(eps - 1)^2 + 1e-40",
        "(eps*exp(eps) - 1)^2",
        "(eps*exp(eps) - 1)^2 + 1e-25",
        "(exp(eps) - 1 - eps)",
        "(eps - 1)^2*(eps*exp(eps) - 1)^4",
    ],
)
def test_a_delta_that_touches_is_enough(slack: str) -> None:
    decision = ask(f"{EXACT} + {slack}")
    assert decision.answer is Answer.DP, decision
    assert ranges(decision) == []


def test_violated_far_away_and_close_to_zero() -> None:
    far = ask(f"{EXACT} + (1000000 - eps)/1e12", interval="1..2000000")
    assert [lower for lower, _ in ranges(far)] == [10**6]
    near = ask(f"{EXACT} + eps*(eps - 1e-9)/4", interval="0..1")
    assert near.answer is Answer.NOT_DP
    assert ranges(near)[0][1] == Fraction(1, 10**9)


@pytest.mark.parametrize("budget", ["997/1000", "123456789/1000000000", "1/7919"])
def test_budgets_with_large_denominators(budget: str) -> None:
    assert ask(EXACT, budget=budget).answer is Answer.DP
    svt = load(PROGRAMS / "dipc" / "svt1.dpg", {"N": Fraction(1)})
    question = DecisionQuestion(Fraction(budget), read_delta("0"))
    decision = decide(svt, question, AllPairs(), Options())
    # Near 0 the loss of a threshold and a query is at most 1/2 + 1/4 of eps.
    assert decision.answer in (Answer.DP, Answer.NOT_DP)
    if Fraction(budget) >= Fraction(3, 4):
        assert decision.answer is Answer.DP


def test_without_pairs_the_claim_holds() -> None:
    text = """
input q in {0}
output out in {0, 1}
adjacent all
out <- 0
x <- Lap(q, 1 / eps)
if x > 0 then out <- 1 end
"""
    question = DecisionQuestion(Fraction(0), read_delta("0"), least_delta=True, violations=True)
    decision = decide(elaborate(parse(text), {}, "program"), question, AllPairs(), Options())
    assert (decision.answer, decision.pairs) == (Answer.DP, 0)
    assert decision.least_delta.exact == 0


@pytest.mark.usefixtures("work_clock")
def test_limits_are_unknown_with_what_was_looked_at() -> None:
    svt = load(PROGRAMS / "dipc" / "svt1.dpg", {"N": Fraction(6)})
    question = DecisionQuestion(Fraction(1), read_delta("0"))
    decision = decide(svt, question, AllPairs(), Options(limits=Limits(seconds=0.3, started=0.0)))
    assert (decision.answer, decision.cause) == (Answer.UNKNOWN, Cause.TIME_LIMIT)
    assert "of 116920 pairs looked at" in (decision.reason or "")


@pytest.mark.parametrize("budget", ["0", "1"])
def test_a_bracket_that_cannot_tell_one_gap_says_nothing_of_others(budget: str) -> None:
    """24 digits of e^-2 lie below it, and above the lower end of its first bracket; 9/10 does not.

    All pairs begin with an input that 0 has the probability of, and go on to one without.
    """
    digits = "0.135335283236612691893999"
    program = elaborate(
        parse(
            f"""
            input x in 0..2
            output out in 0..1
            adjacent all
            out <- 1
            if x = 0 then
              out <- choose {{0 : {digits}, 1 : 1 - {digits}}}
            end
            if x = 2 then
              out <- choose {{0 : 9/10, 1 : 1/10}}
            end
            """
        ),
        {},
        "digits",
    )
    one, zero, two = ((Fraction(x),) for x in (1, 0, 2))
    question = DecisionQuestion(Fraction(budget), read_delta("exp(-2)"))
    almost = decide(program, question, OrderedPairs(((zero, one),)), Options())
    assert almost.answer is Answer.DP
    for pairs in (((zero, one), (two, one)), ((two, one), (zero, one))):
        decision = decide(program, question, OrderedPairs(pairs), Options())
        assert decision.answer is Answer.NOT_DP
        assert decision.violation.input == two
