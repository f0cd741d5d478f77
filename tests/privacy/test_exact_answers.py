"""Answers that mathematics has although no enclosure shows them, and their neighbours."""

from fractions import Fraction
from fractions import Fraction as F
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dipapprox
from dipapprox import Answer, Options, Program, UserError, Verdict, decide, parse, profile, verify
from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed, Side, compare
from dipapprox.errors import LimitReached
from dipapprox.exact.distributions import ExactDistributions
from dipapprox.language.elaborate import elaborate
from dipapprox.language.formula import parse_formula
from dipapprox.language.load import load
from dipapprox.language.parser import parse as parse_text
from dipapprox.numerics.formula_values import eps_jet, evaluate
from dipapprox.pairs.adjacency import select_pairs
from dipapprox.pairs.divergence import Growth, Search
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.decisions import by_closed_forms
from dipapprox.privacy.exact_pairs import ExactDeltas
from dipapprox.privacy.logarithms import growth_of
from dipapprox.privacy.run import LAST_PRECISION, Engine, Setting
from dipapprox.privacy.subjects import open_exact_pairs, open_probabilities
from dipapprox.privacy.verdict import Claim
from dipapprox.privacy.verifier import verify as verify_setting
from dipapprox.semantics.execution import execute
from tests.cases import cases, refuses, text_of
from tests.cli.running import run, run_json
from tests.schemas import check_schema


def two_laws(first: str, second: str, outputs: str = "{0, 1}") -> Program:
    return parse(
        f"""
        input q in {{0, 1}}
        output out in {outputs}
        adjacent linf 1
        if q = 0 then out <- choose {{{first}}} else out <- choose {{{second}}} end
        """
    )


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
    enclose = by_closed_forms.enclose_at

    def limited(form, *how):
        if not form.numerator:  # of delta, the first that is asked after the probabilities
            raise LimitReached("no more time")
        return enclose(form, *how)

    monkeypatch.setattr(by_closed_forms, "enclose_at", limited)
    found = decide(TINY, budget=F(1, 2), delta=0).violation
    assert "no more time" in found.not_enclosed and found.left is found.right is None
    assert all(row.probability.width < F(1, 1000) for row in found.rows)


RESPONSE = two_laws(bit("3/4"), bit("1/4"))


def test_profiles_at_logarithms() -> None:
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


# --- Critical and attained claims are decided by closed forms, and their neighbours agree ---------

PROGRAMS = Path(__file__).parents[2] / "programs"

THRESHOLD = text_of("privacy/exact_pairs-1")
"""The probabilities of out = 1 are 1/2 and e^(-eps)/2: their ratio is exactly e^eps."""


def elaborated(text: str) -> Program:
    return elaborate(parse_text(text), {}, "program")


def ask(
    asked: Program,
    claim: Claim,
    *,
    engine: Engine = Engine.AUTO,
    max_precision: int = LAST_PRECISION,
) -> Verdict:
    options = Options(engine=engine, max_precision=max_precision)
    return verify_setting(Setting(asked, AllPairs(), options), claim)


@pytest.mark.parametrize("eps", [Fraction(1, 2), Fraction(3), Fraction(7, 11)])
@pytest.mark.parametrize("engine", [Engine.AUTO, Engine.EXACT])
def test_the_thresholded_laplace_attains_its_budget(eps, engine) -> None:
    tight = ask(elaborated(THRESHOLD), Claim(eps, Fraction(0)), engine=engine)
    assert tight.answer is Answer.DP
    assert tight.delta_enclosure == Enclosure.exact(0)
    assert "exact" in tight.engine
    # Less than any ladder of precisions tells apart.
    less = eps - Fraction(1, 10**200)
    violated = ask(elaborated(THRESHOLD), Claim(eps, Fraction(0), less), engine=engine)
    assert violated.answer is Answer.NOT_DP
    assert 0 < violated.witness.delta_enclosure.lower < Fraction(1, 10**199)


def test_gaussian_programs_have_no_closed_forms() -> None:
    asked = load(PROGRAMS / "svt_gauss.dpg", {})
    states = execute(asked, True)
    assert open_exact_pairs(states, Claim(Fraction(1), Fraction(1, 10)), Options()) is None
    pure = open_exact_pairs(states, Claim(Fraction(1), Fraction(0)), Options())
    assert not pure.has_forms
    verdict = ask(asked, Claim(Fraction(1), Fraction(0)), engine=Engine.EXACT)
    assert verdict.answer is Answer.UNKNOWN
    assert "no closed form" in verdict.reason or "Gauss" in verdict.reason


@given(
    st.fractions(Fraction(1, 8), 3, max_denominator=8),
    st.fractions(0, 2, max_denominator=8),
    st.sampled_from([Fraction(0), Fraction(1, 100), Fraction(1, 20), Fraction(1, 3)]),
    st.integers(0, 39),
)
def test_exact_comparisons_agree_with_enclosures(eps, budget, delta, place) -> None:
    asked = load(PROGRAMS / "dipc" / "svt4.dpg", {"N": Fraction(2)})
    states = execute(asked, True)
    pair = list(select_pairs(asked, AllPairs()))[place]
    exact = ExactDeltas(ExactDistributions(states, eps), Growth(budget), delta)
    found = exact.decide(pair, 60)
    assert not isinstance(found, NotEnclosed)
    assert compare(found.delta, delta) is not Side.UNDECIDED
    elimination = Options(engine=Engine.ELIMINATION)
    source = open_probabilities(states, eps, elimination)
    search = Search(source, delta, Growth(budget), (60,))
    enclosed = search.attempt(pair, 60)
    assert enclosed.delta.meets(found.delta)
    if compare(enclosed.delta, delta) is not Side.UNDECIDED:
        assert compare(enclosed.delta, delta) is compare(found.delta, delta)
    assert enclosed.delta.width < Fraction(1, 2**40) or found.delta.width < Fraction(1, 2**40)


def test_sums_that_take_values_in_turn_come_after_closed_forms() -> None:
    """The largest gap of four integers: tens of thousands of parts of one sum."""
    elaborated = dipapprox.parse(text_of("privacy/exact_pairs-gaps"))
    pair = ((0, 0, 0, 0), (0, 1, 0, 0))
    found = dipapprox.verify(elaborated, eps="1/4", eps_prv="1/2", delta="1/100", pairs=[pair])
    assert found.run.engine == "exact"


OF_FIVE = """
input x in 1..5
output y in 1..5
adjacent all
y <- choose {{ x : (exp(eps) - 1) / (exp(eps) + 4), {} : {} / (exp(eps) + 4) for v in 1..5{} }}
"""
RESPONSES = parse(OF_FIVE.format("v", "1", ""))
WITHOUT_ONE = parse(OF_FIVE.format("min(v, 4)", "1", ""))
"""The last value is only answered by those who have it, and the one before by two."""


@cases(
    "program, eps_prv, alike", (RESPONSES, "1", 16), (RESPONSES, "log(2)", 0), (WITHOUT_ONE, "1", 8)
)
def test_pairs_that_are_alike_are_decided_once(program, eps_prv, alike, monkeypatch) -> None:
    """What is found is the same as where they are decided one by one."""
    asked = {"eps": 1, "eps_prv": eps_prv, "delta": 0}
    found, ask = [], ExactDeltas.alike

    def counted(self: ExactDeltas, pair: object) -> object:
        known = ask(self, pair)
        found.append(known)
        return known

    monkeypatch.setattr(ExactDeltas, "alike", counted)
    one = verify(program, **asked)
    assert sum(each is not None for each in found) == alike
    monkeypatch.setattr(ExactDeltas, "alike", lambda *_: None)
    other = verify(program, **asked)
    assert one.answer is other.answer and one.pairs == other.pairs
    assert one.delta_enclosure == other.delta_enclosure and one.witness == other.witness
