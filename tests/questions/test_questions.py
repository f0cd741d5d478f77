"""Questions are declared once, and answers are objects of Python: arguments, errors, claims."""

import copy
import json
import math
import pickle
import re
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dipapprox
from dipapprox import Answer, Claim, Enclosure, Options, SourceError, UserError
from dipapprox.arithmetic.extended import INFINITE, Extended
from dipapprox.questions.claims import ClaimOutcome, claims_in, read_claims, try_claim
from dipapprox.questions.decide import Decide
from dipapprox.questions.probability import Probability
from dipapprox.questions.profile import Calibrate, Profile
from dipapprox.questions.prove import Prove
from dipapprox.questions.question import Question, arguments_of
from dipapprox.questions.verify import Verify
from tests.cases import cases, check_answers, complaint, refuses, template_of, text_of
from tests.cli.running import run_json
from tests.privacy.test_charts import ABOVE
from tests.replays.certified import PROGRAMS as SHIPPED
from tests.replays.certified import certificate, replaced, signed

QUESTIONS: tuple[type[Question], ...] = (Verify, Probability, Profile, Calibrate, Decide, Prove)

PROGRAM = dipapprox.parse(
    "input q[2] in {0, 1}\noutput out in {0, 1}\nadjacent linf 1\n"
    "r <- Lap(q[1] + q[2], 2 / eps)\nif r >= 1 then out <- 1 else out <- 0 end"
)

LEAST: dict[str, dict[str, object]] = {
    "verify": {"eps": 1, "delta": 0},
    "probability": {"eps": 1, "input": (0, 1)},
    "profile": {"eps": 1},
    "calibrate": {"eps_prv": 1, "delta": "0.01"},
    "decide": {},
    "prove": {},
}
"""What must be given."""


WRONG: dict[str, list[Any]] = {
    "eps": [0, 0.5, "half", None, True, [1]],
    "eps_prv": [-1, 1.5, object()],
    "delta": [2, "-1/2", 0.01, float("nan"), Decimal("Infinity")],
    "budget": [-1, 2.0],
    "interval": ["1..x", (2, 1), -1],
    "width": [0, 1e-9],
    "relative_width": [1],
    "curve": [(0, 1), "0:1:1.5", (0, 1.0, 5)],
    "renyi": [0.5, "2,,3"],
    "violations": ["perhaps"],
    "least_delta": [1],
    "input": [5, (0, 0.5)],
    "pairs": [5, "nowhere.json", "", [((0, 0),)], [(0, 1)], ["0~1"]],
}


@cases("name, wrong", *((name, wrong) for name, all_wrong in WRONG.items() for wrong in all_wrong))
def test_every_wrong_argument_is_named(name, wrong) -> None:
    for question in QUESTIONS:
        named = {each.name: each for each in arguments_of(question)}
        if name not in named or (wrong is None and not named[name].required):
            continue
        with pytest.raises(UserError) as refused:
            getattr(dipapprox, question.name)(PROGRAM, **{**LEAST[question.name], name: wrong})
        assert name.partition("_")[0] in refused.value.message
        if isinstance(wrong, float) and wrong == wrong:
            assert refused.value.hint == f'write "{wrong!r}"'


@pytest.mark.parametrize("half", ["0.5", "1/2", " .5 ", "5e-1", Fraction(1, 2), Decimal("0.50")])
def test_numbers_may_be_written_in_many_ways(half) -> None:
    verdict = dipapprox.verify(PROGRAM, eps=half, delta=half, eps_prv=half)
    assert verdict.to_dict() | {"seconds": 0} == dipapprox.verify(
        PROGRAM, eps=Fraction(1, 2), delta=Fraction(1, 2)
    ).to_dict() | {"seconds": 0}


PRIVATE = certificate(SHIPPED / "svt_gauss.dpg", {}, Claim(Fraction(1, 2), "1/40", "1/10"))

CALLED = {
    **{name: getattr(dipapprox, name) for name in dipapprox.__all__},
    "Fraction": Fraction,
    "Path": Path,
    "nan": math.nan,
    "ASKED": PROGRAM,
    "PROGRAM": text_of("asked/coin-1"),
    "WIDENED": template_of("values_and_files-widened").replace("linf", "l0").format(DOMAIN="0..1"),
    "REAL": "input q in real 0..1\noutput o in {0}\no <- 0\n",
    "STREAM": text_of("language/streams-6"),
    "NOISE": {"mechanism": "gaussian", "sigma": 3},
    "SAMPLED": {"mechanism": "gaussian", "sigma": 1, "subsample": "0.01", "times": 200},
    "json": json,
    "signed": signed,
    "replaced": replaced,
    "PRIVATE": PRIVATE,
    "TEXT": json.dumps(PRIVATE),
    "RESPONSE": {"mechanism": "randomised_response", "probability": "3/4"},
}
"""What calls that are refused are made of."""


def called(call: str) -> object:
    found = eval(call, CALLED)
    return f"{found}\n" if isinstance(found, str) else found


def test_what_is_said_of_wrong_calls_and_of_what_answers_are_about() -> None:
    check_answers("refused_python", complaint(called))


def test_intervals_may_be_given_in_two_ways() -> None:
    texts = dipapprox.verify(PROGRAM, eps="1..2", delta="0.01", eps_prv="2*eps")
    values = dipapprox.verify(PROGRAM, eps=(1, Fraction(2)), delta="1/100", eps_prv="2*eps")
    assert texts.to_dict() | {"seconds": 0} == values.to_dict() | {"seconds": 0}
    assert texts.witness is None
    decided = [dipapprox.decide(PROGRAM, interval=each) for each in ("0..inf", (0, None), "0..oo")]
    assert len({each.epsilons for each in decided}) == 1
    assert dipapprox.decide(PROGRAM, interval=2).epsilons.is_point


# --- What Python does with answers, and claims that stand with programs ---------------------------

TEXT = text_of("questions/answers-text")


@cache
def answers() -> dict[str, object]:
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
def test_bounds_are_written_as_short_decimals_rounded_outwards(lower, width, places) -> None:
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
    refuses(ValueError, "an enclosure has no format", format, Extended(Fraction(0), None), "d")


def test_a_least_budget_is_printed_as_it_stands_in_its_answer() -> None:
    least = answers()["profile, eps_prv"]
    budget = least.eps_prv_enclosure
    assert budget.upper is not None
    assert f"least ε_prv for δ = 1/100: {budget}\n" in str(least)
    assert f"{float(budget):.8f}" == f"{float(budget.lower):.8f}"


CONSTANT = ABOVE.replace("noisy >= 2", "noisy >= other").replace(
    "noisy <-", "other <- Lap(2, 3)\nnoisy <-"
)
"""Noise that does not shrink with ε: no closed form for every ε; a shift of `noisy` costs ε."""


@cases("budget, answer", ("1", Answer.DP), ("1.001", Answer.DP), ("1/20", Answer.NOT_DP))
def test_decisions_where_nothing_has_a_closed_form(budget, answer) -> None:
    found = dipapprox.decide(dipapprox.parse(CONSTANT), budget=budget)
    assert found.answer is answer
    if answer is Answer.DP:
        assert found.reason is None and found.cause is None
        assert [end.by for end in found.why()] == ["least budget"]
        assert "budget" in str(found)


def test_what_a_budget_tells_is_proved(tmp_path) -> None:
    path = tmp_path / "asked.dpg"
    interval = ("--eps", "1/2..1", "--delta", "0")
    for text, command, more in ((CONSTANT, "decide", ()), (ABOVE, "verify", interval)):
        path.write_text(text, encoding="utf-8")
        status, fields = run_json(command, str(path), *more, "--proved")
        assert (status, fields["verdict"]) == (0, "DP") and fields["proved"]["steps"] >= 1


@cases(
    "mean, budget, answer",
    ("clamp(q, 0, 5)", "1", Answer.DP),
    ("clamp(q, 0, 5)", "999/1000", Answer.NOT_DP),
    ("abs(q)", "1", Answer.DP),
    ("max(q, -1)", "1", Answer.DP),
    ("q + clamp(q, 0, 5)", "1", Answer.NOT_DP),
)
def test_clamps_of_whole_inputs_have_budgets_for_every_eps(mean, budget, answer) -> None:
    text = f"input q in -10..10\noutput y in real\nadjacent linf 1\ny <- Lap({mean}, 1/eps)"
    options = dipapprox.Options(proved=True)
    assert dipapprox.decide(dipapprox.parse(text), budget=budget, options=options).answer is answer


def test_a_budget_is_the_last_word_on_an_upper_end() -> None:
    options = dipapprox.Options(max_precision=40)
    asked = dipapprox.parse(ABOVE)
    found = dipapprox.profile(asked, eps=1, delta=0, width="1e-300", options=options)
    assert found.eps_prv_enclosure.upper == 1
    assert [end.by for end in found.why()][1] == "least budget" and found.reason is not None


# --- Claims that stand with programs --------------------------------------------------------------

EXAMPLES = Path(__file__).parents[2] / "examples" / "mechanisms.py"

NOISY = text_of("questions/answers-noisy")


def tried(line: str, folder: Path) -> tuple[ClaimOutcome, str]:
    file = folder / "noisy.dpg"
    file.write_text(f"# {line}\n{NOISY}")
    (found,) = claims_in(file)[file]
    tested = try_claim(found, file, Options())
    return tested.outcome, tested.message


def test_what_follows_a_statement_is_shown() -> None:
    with pytest.raises(SourceError, match="would not be read") as error:
        read_claims("input q in bool\nparam N = 3 # claim: DP at eps = 1", "noisy.dpg")
    assert error.value.render().startswith("noisy.dpg:2:13:")


def test_what_becomes_of_claims(tmp_path) -> None:
    """Prose is none."""

    def told(line: str) -> str:
        if not read_claims(f"# {line}", "noisy.dpg"):
            assert read_claims(line, "noisy.py", docstring=True) == ()
            return "no claim\n"
        outcome, message = tried(line, tmp_path)
        message = re.sub(r", (?:< )?\S+ m?s$", "", message, flags=re.MULTILINE)
        return f"{outcome.value} {message}".rstrip() + "\n"

    check_answers("claims_tried", told)


def test_a_witness_with_less_than_the_delta_of_its_pair_says_so() -> None:
    """Of several numbers it is one box, and the set that has the δ is none."""
    cells = "input q[2] in 0..1\noutput y[2] in real\nadjacent linf 1\n"
    draws = "y[1] <- Lap(q[1], 1 / eps)\ny[2] <- Lap(q[2], 1 / eps)\n"
    verdict = dipapprox.verify(dipapprox.parse(cells + draws), eps=1, delta="0.1")
    assert verdict.delta_enclosure is not None and verdict.witness is not None
    assert verdict.witness.delta_enclosure.upper < verdict.delta_enclosure.lower
    assert "the δ of this pair is that of another set" in " ".join(str(verdict).split())


def test_what_is_not_decided_does_not_hold() -> None:
    (asked,) = read_claims("claim: least budget 3/4 for real inputs", "count_above")
    tested = try_claim(asked, Path(f"{EXAMPLES}:count_above"), Options())
    assert tested.outcome is ClaimOutcome.UNKNOWN
    assert tested.message.startswith("the least budget is at least 1/2, at most 3/4")


def test_an_assertion_shows_the_witness() -> None:
    program = dipapprox.parse(NOISY)
    assert dipapprox.assert_private(program, eps=1).answer is dipapprox.Answer.DP
    with pytest.raises(AssertionError, match="Witness: these outputs are too likely"):
        dipapprox.assert_private(program, eps=1, eps_prv="1/2")


PYTHON = template_of("questions-python")


@pytest.fixture
def python(tmp_path: Path) -> Path:
    (tmp_path / "scale.py").write_text("SCALE = 1")
    return tmp_path / "noisy.py"


def test_claims_of_python_that_are_elsewhere(python) -> None:
    def told(change: str) -> str:
        """What is said of the first one that would not be read, or how many there are."""
        python.write_text(PYTHON.replace(*change.split("\n=>\n")))
        try:
            return f"{[len(claims) for claims in claims_in(python).values()]}\n"
        except SourceError as error:
            assert "would not be read" in str(error)
            return f"{error.render().replace(str(python.parent), '')}\n"

    check_answers("claims_elsewhere", told)


INSIDE = PYTHON.replace("from scale import SCALE\n", "").replace(
    "    return", "    from scale import SCALE\n    return"
)


@pytest.mark.parametrize("program", [PYTHON, INSIDE])
def test_files_have_the_modules_beside_them(program, tmp_path) -> None:
    outcomes = []
    for folder, scale in (("a", "1"), ("b", "Fraction(1, 2)"), ("c", None), ("d", "2")):
        file = tmp_path / folder / "noisy.py"
        file.parent.mkdir()
        file.write_text(program)
        if scale is not None:
            text = f"from fractions import Fraction\nSCALE = {scale}"
            (file.parent / "scale.py").write_text(text)
        ((path, (asked,)),) = claims_in(file).items()
        outcomes.append(try_claim(asked, path, Options()).outcome)
    assert outcomes == [
        ClaimOutcome.HOLDS,
        ClaimOutcome.FALSE,
        ClaimOutcome.ERROR,
        ClaimOutcome.HOLDS,
    ]
