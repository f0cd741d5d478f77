"""A question is declared once: all edges have its arguments, its defaults and its errors."""

import re
from decimal import Decimal
from fractions import Fraction
from math import nan
from typing import Any

import pytest

import dipapprox
from dipapprox import Limits, Options, UserError
from dipapprox.questions.decide import Decide
from dipapprox.questions.probability import Probability
from dipapprox.questions.profile import Calibrate, Profile
from dipapprox.questions.prove import Prove
from dipapprox.questions.question import Question, arguments_of
from dipapprox.questions.verify import Verify
from tests.cases import cases, refuses

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


NAMES = {
    "svt_gauss": 'dipapprox.parse(Path("svt_gauss")) reads it',
    "dipc/svt1": 'dipapprox.parse(Path("dipc/svt1")) reads it',
    "my mechanism.dpg": 'dipapprox.parse(Path("my mechanism.dpg")) reads it',
    "svt_gaus": "did you mean 'svt_gauss'?",
    "frobnicate": "files are read by dipapprox.parse(Path(…))",
}


@pytest.mark.parametrize("name", NAMES)
def test_names_are_told_from_texts(name) -> None:
    with pytest.raises(UserError, match=f"^text is no program, but a name: {name}$") as caught:
        dipapprox.parse(name)
    assert caught.value.hint == NAMES[name]
    with pytest.raises(UserError, match=f"^program is no program, but a name: {name}$") as caught:
        dipapprox.verify(name, eps=1, delta=0)  # type: ignore[call-overload]  # on purpose
    assert caught.value.hint == NAMES[name]


def test_intervals_may_be_given_in_two_ways() -> None:
    texts = dipapprox.verify(PROGRAM, eps="1..2", delta="0.01", eps_prv="2*eps")
    values = dipapprox.verify(PROGRAM, eps=(1, Fraction(2)), delta="1/100", eps_prv="2*eps")
    assert texts.to_dict() | {"seconds": 0} == values.to_dict() | {"seconds": 0}
    assert texts.witness is None
    decided = [dipapprox.decide(PROGRAM, interval=each) for each in ("0..inf", (0, None), "0..oo")]
    assert len({each.epsilons for each in decided}) == 1
    assert dipapprox.decide(PROGRAM, interval=2).epsilons.is_point


def test_one_thing_is_asked_of_a_profile() -> None:
    with pytest.raises(UserError, match="one question at a time, got eps_prv and delta"):
        dipapprox.profile(PROGRAM, eps=1, eps_prv=1, delta=0)  # type: ignore[call-overload]  # on purpose
    with pytest.raises(UserError, match="width does not go with curve"):
        dipapprox.profile(PROGRAM, eps=1, curve="0:1:5", width=1)  # type: ignore[call-overload]  # on purpose


def test_strangers_are_named() -> None:
    for ask in (dipapprox.verify, dipapprox.profile):
        refuses(UserError, "program must be a Program, got str", ask, "a text", eps=1, delta=0)  # type: ignore[arg-type]  # on purpose
    refuses(UserError, "options must be Options, got dict", dipapprox.decide, PROGRAM, options={})  # type: ignore[arg-type]  # on purpose
    refuses(UserError, "verdict must be", dipapprox.certify, PROGRAM, "", "DP")  # type: ignore[arg-type]  # on purpose


@cases(
    "make, message",
    (lambda: Options(engine="nested"), "engine must be of the type Engine, got 'nested'"),  # type: ignore[arg-type]  # on purpose
    (lambda: Options(precision="40"), "precision must be a whole number, got '40'"),  # type: ignore[arg-type]  # on purpose
    (lambda: Options(jobs=True), "jobs must be a whole number, got True"),
    (lambda: Options(limits=5), "limits must be of the type Limits, got 5"),  # type: ignore[arg-type]  # on purpose
    (lambda: Limits(seconds=nan), "seconds must be a number >= 0, got nan"),
    (lambda: Limits(seconds="5"), "seconds must be a number >= 0, got '5'"),  # type: ignore[arg-type]  # on purpose
    (lambda: Limits(memory=-1), "memory must be a whole number >= 0, got -1"),
    (lambda: Limits(states=None), "states must be a whole number >= 0, got None"),  # type: ignore[arg-type]  # on purpose
    (lambda: dipapprox.parse(None), "text must be a text, got NoneType"),  # type: ignore[arg-type]  # on purpose
    (lambda: dipapprox.parse("", "N=2"), "parameters must be a mapping, got 'N=2'"),  # type: ignore[arg-type]  # on purpose
    (lambda: dipapprox.parse("", widen=1), "widen needs a range, a set or numbers, got 1"),  # type: ignore[arg-type]  # on purpose
    (lambda: dipapprox.verify(PROGRAM, eps=1, delta=0, pairs="\x00"), "pairs is no name of a file"),
)
def test_how_to_compute_is_checked_too(make, message) -> None:
    refuses(UserError, re.escape(message), make)


CALLED = dipapprox.parse("input q in {0, 1}\noutput o in {0, 1}\nadjacent linf 1\no <- 0")


@cases(
    "call, says",
    (lambda f: f.profile(CALLED, 1, Fraction(1, 10**5)), "takes '1' and '1/100000' by name"),
    (lambda f: f.verify("f.dpg", object()), "verify takes '<object"),
    (lambda f: f.verify(CALLED, eps=1), "verify needs delta"),
    (lambda f: f.verify(CALLED, eps=1, delta=0, epsprv=1), "no argument 'epsprv'"),
    (lambda f: f.verify(), "verify needs program and eps and delta"),
    (lambda f: f.verify(CALLED, program=CALLED, eps=1, delta=0), "'program' twice"),
    (lambda f: f.prove(CALLED, 2), "prove takes '2' by name only"),
    (lambda f: f.decide(CALLED, 2), "decide takes '2' by name only"),
    (lambda f: f.compose(), "compose needs runs"),
    (lambda f: f.parse(), "parse needs text"),
    (lambda f: f.calibrate(CALLED, eps_prv=1), "calibrate needs delta"),
    (lambda f: f.pair_distributions(CALLED, eps=1), "needs input and adjacent"),
)
def test_a_wrong_call_is_a_user_error_with_a_right_call(call, says) -> None:
    with pytest.raises(UserError, match=says) as caught:
        call(dipapprox)
    assert "for example" in caught.value.render() or "did you mean" in caught.value.render()


@cases(
    "call, says",
    (lambda f: f.parse("svt.dpg"), r'parse\(Path\("svt.dpg"\)\) reads it'),
    (lambda f: f.parse("a/b.py:svt"), r'parse\(Path\("a/b.py:svt"\)\) reads it'),
    (lambda f: f.verify("svt.dpg", eps=1, delta=0), r'parse\(Path\("svt.dpg"\)\) reads it'),
    (lambda f: f.verify(CALLED, eps=1, delta=0, pairs="sngle"), "did you mean 'single'"),
    (lambda f: f.check(5), r"got int\nhint: check\(path.read_text\(\)\)"),
)
def test_names_of_files_are_no_programs(call, says) -> None:
    with pytest.raises(UserError) as caught:
        call(dipapprox)
    assert re.search(says, caught.value.render())
