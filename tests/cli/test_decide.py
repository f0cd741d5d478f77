"""`dipapprox decide` and `explain --closed-form` from the command line."""

from fractions import Fraction
from pathlib import Path

import pytest

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.exact.signs.negative_set import NegativeRange
from dipapprox.numerics.probability import OutputProbabilities
from dipapprox.privacy.decisions import decider, violation
from dipapprox.privacy.decisions.decision import range_fields, ranges_text
from dipapprox.privacy.options import Options
from dipapprox.semantics.state import FinalStates
from tests.cli.running import run, run_json
from tests.schemas import check_schema

DIPC = Path(__file__).parents[2] / "programs" / "dipc"
SVT1 = str(DIPC / "svt1.dpg")
SVT4 = str(DIPC / "svt4.dpg")


def test_unknown_has_a_named_reason(files: Path) -> None:
    status, fields = run_json("decide", "svt.dpg", "-p", "N=1", "--budget", "100")
    check_schema("decide", fields)
    assert (status, fields["verdict"], fields["reason"]) == (3, "Unknown", "outside-fragment")
    assert "Gaussian" in fields["detail"]
    status, fields = run_json("decide", SVT1, "--timeout", "1e-9")
    check_schema("decide", fields)
    assert (status, fields["reason"]) == (3, "time-limit")
    status, fields = run_json("decide", SVT1, "--max-states", "1")
    check_schema("decide", fields)
    assert (status, fields["reason"]) == (3, "path-budget")


def test_a_gaussian_program_is_refuted_at_one_epsilon(files: Path) -> None:
    status, fields = run_json("decide", "svt.dpg", "--budget", "1/10", "--delta", "1/1000")
    check_schema("decide", fields)
    assert (status, fields["verdict"]) == (1, "Not_DP")
    assert fields["violated_on"] is None
    assert fields["witness"]["probabilities"][0]["form"] is None


def test_an_interrupt_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(decider, "execute", interrupt)
    status, fields = run_json("decide", SVT1)
    check_schema("decide", fields)
    assert (status, fields["reason"]) == (130, "interrupted")


def test_a_contradiction_gives_no_verdict_and_names_both_methods(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An engine that contradicts the exact forms."""

    def lying(states: FinalStates, eps: Fraction, options: Options) -> OutputProbabilities:
        return honest(states, eps * 3, options)

    honest = violation.open_probabilities
    monkeypatch.setattr(violation, "open_probabilities", lying)
    assert run("decide", SVT4) == (3, "")
    said = capsys.readouterr().err
    assert "the probability of an output" in said
    assert "by closed forms and" in said and "by elimination" in said
    assert f"in decide {SVT4}" in said


def test_choices_are_checked_on_the_whole_interval() -> None:
    rand2 = str(DIPC / "rand2.dpg")
    assert run_json("decide", rand2, "--interval", "0..1")[1]["verdict"] == "Not_DP"


def test_closed_forms_that_do_not_exist(files: Path) -> None:
    status, fields = run_json("explain", "svt.dpg", "--closed-form")
    check_schema("closed_form", fields)
    assert (status, fields["closed_forms"]) == (3, [])
    assert "outside-fragment" in fields["reason"]


# --- ranges of ε as they are printed --------------------------------------------------------------

ZERO, UNIT = Enclosure.exact(0), Enclosure.exact(1)


def _end(lower: str, upper: str) -> Enclosure:
    return Enclosure(Fraction(lower), Fraction(upper))


@pytest.mark.parametrize(
    ("end", "text"),
    [
        (_end("2.0319164987", "2.0319164996"), "2.03191649…"),
        (_end("2.03191649911", "2.03191649992"), "2.031916499…"),
        (_end("2.5790001e-6", "2.5799e-6"), "2.579e-6…"),
        (_end("1.9999999996", "2.0000000004"), "[1.999999999, 2.000000001]"),
        (_end("1e-11", "9e-10"), "[1e-11, 9e-10]"),
        (_end("2/3", "2/3"), "2/3"),
    ],
)
def test_only_digits_that_are_certain(end: Enclosure, text: str) -> None:
    assert ranges_text((NegativeRange(ZERO, end),)) == f"0 < ε < {text}"
    assert ranges_text((NegativeRange(end, None),)) == f"ε > {text}"


def test_ends_that_belong_to_the_range() -> None:
    two = Enclosure.exact(2)
    assert ranges_text((NegativeRange(ZERO, UNIT, upper_included=True),)) == "0 < ε <= 1"
    assert ranges_text((NegativeRange(UNIT, two, lower_included=True),)) == "1 <= ε < 2"
    assert ranges_text((NegativeRange(UNIT, None, lower_included=True),)) == "ε >= 1"
    assert ranges_text((NegativeRange(UNIT, UNIT, True, True),)) == "ε = 1"
    assert ranges_text(()) == "no ε"


def test_ends_in_json_say_whether_they_belong() -> None:
    end = _end("2.5", "2.6")
    ranges = (NegativeRange(ZERO, end), NegativeRange(Enclosure.exact(3), None, True))
    closed = {"lower": "3", "upper": "inf", "lower_closed": True, "upper_closed": False}
    free = {"lower": "0", "lower_closed": False, "upper_closed": False}
    assert range_fields(ranges, inside=True) == [{**free, "upper": "5/2"}, closed]
    assert range_fields(ranges, inside=False) == [{**free, "upper": "13/5"}, closed]
