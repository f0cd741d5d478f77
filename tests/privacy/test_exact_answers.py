"""Answers that mathematics has although no enclosure shows them, and their neighbours."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox import Answer, Options, Program, UserError, Verdict, decide, parse, profile, verify
from dipapprox.errors import LimitReached
from dipapprox.language.formula import parse_formula
from dipapprox.numerics.formula_values import eps_jet, evaluate
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.decisions import violation
from dipapprox.privacy.intervals.formula_verifier import verify_formula
from dipapprox.privacy.logarithms import growth_of
from dipapprox.privacy.run import Setting
from tests.cases import cases, refuses
from tests.claims import formula_claim
from tests.cli.running import run, run_json
from tests.schemas import check_schema
from tests.texts import text_of

F = Fraction


def two_laws(first: str, second: str, outputs: str = "{0, 1}") -> Program:
    return parse(
        f"""
        input q in {{0, 1}}
        output out in {outputs}
        adjacent linf 1
        if q = 0 then out <- choose {{{first}}} else out <- choose {{{second}}} end
        """
    )


def with_bit(*lines: str) -> Program:
    """A program with one input bit and one output bit."""
    head = "input q in 0..1", "output out in {0, 1}", "adjacent linf 1"
    return parse("\n".join((*head, *lines)))


def bit(probability: str) -> str:
    return f"0 : {probability}, 1 : 1 - {probability}"


TINY = two_laws(bit("1/2*exp(-eps)"), bit("exp(-2*eps)"))


@cases(
    "budget, epsilons",
    (F(999999, 10**6), (0, None)),
    (F(999999, 10**6), (693148, None)),
    (F(999999, 10**6), (10**6, 10**6)),
    (F(10**9 - 1, 10**9), (10**9, None)),
)
def test_a_violation_below_all_enclosures_stays_one(budget, epsilons) -> None:
    """Violated for ε > log 2 / (1 - budget), where both sides are below 2^-65536."""
    decision = decide(TINY, budget=budget, delta=0, interval=epsilons)
    assert decision.answer is Answer.NOT_DP
    violation = decision.violation
    assert violation.left is violation.right is None
    assert violation.not_enclosed is not None
    assert violation.eps * (1 - budget) > F("0.693147180559945")
    fields = decision.to_dict()["witness"]
    assert fields["lhs_enclosure"] is fields["rhs_enclosure"] is None
    assert decide(TINY, budget=budget, delta=0, interval=(1, 693147)).answer is Answer.DP
    check_schema("decide", decision.to_dict())


def test_probabilities_stay_known_where_both_sides_take_too_long(monkeypatch) -> None:
    enclose = violation.enclose_at

    def limited(form, *how):
        if not form.numerator:  # of delta, the first that is asked after the probabilities
            raise LimitReached("no more time")
        return enclose(form, *how)

    monkeypatch.setattr(violation, "enclose_at", limited)
    found = decide(TINY, budget=F(1, 2), delta=0).violation
    assert "no more time" in found.not_enclosed and found.left is found.right is None
    assert all(row.probability.width < F(1, 1000) for row in found.rows)


RESPONSE = two_laws(bit("3/4"), bit("1/4"))
GEOMETRIC = with_bit("x <- DLap(q, 1/eps)", "out <- 0", "if x > 0 then", "out <- 1", "end")


def at_budget(program: Program, budget: str) -> Verdict:
    claim = formula_claim(budget, "0")
    return verify_formula(Setting(program, AllPairs(), Options()), claim, F(1))


@cases(
    "budget, answer",
    ("log(3)", Answer.DP),
    ("log(9)/2", Answer.DP),
    ("2*log(3) - log(3)", Answer.DP),
    ("log(3)*eps", Answer.DP),
    ("log(3/exp(1)) + eps", Answer.DP),
    ("log(3) + 1e-60", Answer.DP),
    ("log(3) - 1e-60", Answer.NOT_DP),
    ("log(3 - 1/10^60)", Answer.NOT_DP),
    ("log(3 - 1/10^60) + 1/10^70", Answer.NOT_DP),
)
def test_randomised_response_at_a_logarithm(budget, answer) -> None:
    assert at_budget(RESPONSE, budget).answer is answer


def test_truncated_geometric_at_a_logarithm() -> None:
    law = "0 : 8/17, 1 : 9/17", "0 : 9/17, 1 : 8/17"
    assert at_budget(two_laws(*law), "log(9/8)").answer is Answer.DP
    assert at_budget(two_laws(*law), "log(9/8) - 1/10^50").answer is Answer.NOT_DP
    assert at_budget(GEOMETRIC, "log(exp(1))").answer is Answer.DP


def test_profiles_at_logarithms() -> None:
    assert profile(RESPONSE, eps=1, eps_prv="log(3)").delta_enclosure.upper == 0
    half = profile(RESPONSE, eps=1, eps_prv="log(2)").delta_enclosure
    assert F(1, 4) in half
    check_schema("profile", profile(RESPONSE, eps=1, eps_prv="log(2)").to_dict())
    for wrong in ("log(1/2)", "sqrt(2)", "log(3) - 2", "log(0)"):
        refuses(UserError, None, profile, RESPONSE, eps=1, eps_prv=wrong)


@given(
    st.recursive(
        st.sampled_from(["1/2", "log(3)", "log(9/4)", "eps", "log(exp(2)*5)", "3", "delta"]),
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from(["+", "-", "*", "/"]), inner).map(
                lambda t: f"({t[0]} {t[1]} {t[2]})"
            ),
            inner.map(lambda t: f"log(exp({t})*2)"),
            inner.map(lambda t: f"-({t})"),
        ),
        max_leaves=5,
    )
)
def test_growth_is_the_exponential(text) -> None:
    formula = parse_formula(text, "budget", ("eps", "delta"))
    values = {"eps": F(2, 3), "delta": F(1, 7)}
    growth = growth_of(formula, values)
    if growth is None:
        return
    jets = {name: eps_jet(value, value) for name, value in values.items()}
    value = evaluate(formula, jets, 100).value
    own = evaluate(
        parse_formula(f"{growth.rate} + log({growth.multiple})", "own", ()), {}, 100
    ).value
    assert own.meets(value)
    assert own.width + value.width < F(1, 2**60)


NO_INPUT = with_bit("x <- Gauss(0, 1/eps)", "out <- 0", "if x > 0 then", "out <- 1", "end")
SWAPPED = with_bit(
    "x <- Gauss(q, 2/eps)",
    "y <- Gauss(1 - q, 2/eps)",
    "out <- 0",
    "if q = 0 and y > x + 3 then",
    "out <- 1",
    "end",
    "if q = 1 and x > y + 3 then",
    "out <- 1",
    "end",
)
UNLIKE = with_bit(
    "x <- Gauss(0, eps)",
    "y <- Gauss(0, 1/eps)",
    "out <- 0",
    "if q = 1 and x > 1 then",
    "out <- 1",
    "end",
    "if q = 0 and y > 1 then",
    "out <- 1",
    "end",
)


def test_equal_distributions_are_equal_on_an_interval() -> None:
    verdict = verify(NO_INPUT, eps=(1, 2), delta=0, eps_prv=0)
    assert (verdict.answer, verdict.pairs) == (Answer.DP, 2)
    assert verdict.delta_enclosure.upper == 0
    assert decide(NO_INPUT, budget=0, delta=0, interval=(1, 2)).answer is Answer.DP
    wide = verify(NO_INPUT, eps=(F(1, 10**9), 10**9), delta=0, eps_prv=0)
    assert wide.answer is Answer.DP
    assert verify(SWAPPED, eps=(1, 2), delta=0, eps_prv=0).answer is Answer.DP


def test_distributions_that_are_equal_at_one_epsilon_only() -> None:
    """Scales eps and 1/eps agree at 1, and nowhere else."""
    assert verify(UNLIKE, eps=1, delta=0, eps_prv=0).answer is Answer.DP
    assert verify(UNLIKE, eps=(F(1, 2), 2), delta=0, eps_prv=0).answer is Answer.NOT_DP


def far(condition: str) -> Program:
    samples = "x <- Gauss(0, 1/eps)", "y <- Lap(0, 1/eps)"
    return with_bit(*samples, "out <- 0", f"if {condition} then", "out <- 1", "end")


@cases(
    "condition, answer",
    ("q = 1 and x > 1000000", Answer.NOT_DP),
    ("q = 1 and x > 1000000 and y > x", Answer.NOT_DP),
    ("q = 1 and x > 1000000 and x < 1000000 + 1/10^9", Answer.NOT_DP),
    ("x > 1000000", Answer.DP),
    ("q = 1 and x > 1000000 and x < 1000000", Answer.DP),
    ("q = 1 and x > y and y > x + 1000000", Answer.DP),
)
def test_what_is_possible_for_one_input_only(condition, answer) -> None:
    program = far(condition)
    verdict = verify(program, eps=1, delta=0)
    assert verdict.answer is answer
    check_schema("verify", verdict.to_dict())
    found = profile(program, eps=1, delta=F(0)).eps_prv_enclosure
    assert found.infinite is (answer is Answer.NOT_DP)
    if answer is Answer.NOT_DP:
        assert verdict.witness.argument is not None
        assert verify(program, eps=1, delta=F(1, 10**100)).answer is Answer.DP


@pytest.mark.thorough
def test_what_is_possible_for_one_input_only_on_an_interval() -> None:
    program = far("q = 1 and x > 1000000")
    verdict = verify(program, eps=(1, 2), delta=0)
    assert verdict.answer is Answer.NOT_DP
    check_schema("verify_interval", verdict.to_dict())
    decision = decide(program, budget=1, delta=0, interval=(1, 2))
    assert decision.answer is Answer.NOT_DP
    check_schema("decide", decision.to_dict())


@cases(
    "delta, interval, status",
    ("1/2 - exp(-2)/3", "2", 0),
    ("1/2 - exp(-2)*4/7", "2", 1),
    ("exp(-1)*eps", "1/10..2", 1),
    ("1/2 - exp(-2)/2", "2", 0),  # attained exactly
    ("exp(-1/2)*eps", "1/10..2", 0),
)
def test_certificates_of_such_deltas(delta, interval, status, tmp_path) -> None:
    program, record = tmp_path / "halves.dpg", tmp_path / "record.json"
    program.write_text(text_of("decisions/decide_question-2"))
    words = "--budget", "0", "--interval", interval, "--delta", delta
    assert run("decide", str(program), *words, "--certificate", str(record))[0] == status
    assert run_json("check", str(record))[1]["result"] == "confirmed"
