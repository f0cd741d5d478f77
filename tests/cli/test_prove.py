"""`prove` and `decide` end to end: exit statuses, the JSON contract, drawings."""

from fractions import Fraction
from pathlib import Path

import pytest

import dipapprox
from dipapprox import Answer, Enclosure, Options, UserError
from dipapprox.bundled import BUNDLED
from dipapprox.exact.signs.nonnegative import NegativeRange
from dipapprox.numerics.probability import OutputProbabilities
from dipapprox.privacy.decisions import decider, violation
from dipapprox.privacy.decisions.decision import range_fields, ranges_text
from dipapprox.semantics.state import FinalStates
from tests.cases import cases, refuses
from tests.cli.running import run, run_json
from tests.texts import text_of

SVT = str(BUNDLED / "automata" / "svt.dipa")
LEAKY = str(BUNDLED / "automata" / "svt_without_limit.dipa")
SILENT = str(BUNDLED / "automata" / "silent.dipa")
MIN_MAX = str(BUNDLED / "automata" / "min_max.dipa")
RANGE = str(BUNDLED / "automata" / "range.dipa")


@cases("file", SVT, str(BUNDLED / "streams" / "sparse_stream.dpg"))
def test_a_limit_is_unknown(file) -> None:
    status, fields = run_json("prove", file, "--timeout", "1e-9")
    assert (status, fields["verdict"]) == (3, "Unknown")


def test_people_see_the_run_behind_a_budget() -> None:
    text = run("prove", LEAKY, "--budget", "7")[1]
    assert "leaking pair (LP)" in text and "8 rounds of the structure" in text


def test_a_drawing_has_the_evidence_in_red(tmp_path) -> None:
    out = tmp_path / "drawn.dot"
    assert run("prove", LEAKY, "--draw", str(out))[0] == 1
    text = out.read_text(encoding="utf-8")
    assert text.startswith('digraph "svt_without_limit" {')
    assert text.count("color=red, fontcolor=red") == 3
    assert run("prove", MIN_MAX, "--draw", str(out))[0] == 0  # a word that fits several runs
    assert "color=red" not in out.read_text(encoding="utf-8")
    assert list(tmp_path.iterdir()) == [out]


def test_unseen_stops_are_told_in_every_form(capsys) -> None:
    run_json("prove", RANGE)
    assert "it may stop in q2 is taken as unseen" in capsys.readouterr().err
    run_json("prove", RANGE, "--stops", "visible")
    assert capsys.readouterr().err == ""


def test_what_has_no_certificate_says_so(tmp_path, capsys) -> None:
    file = tmp_path / "out.json"
    assert run("prove", SILENT, "--certificate", str(file))[0] == 3
    assert "no certificate: the answer is Unknown" in capsys.readouterr().err
    program = str(BUNDLED / "literature" / "randomised_response.dpg")
    assert run("prove", program, "--reals", "--certificate", str(file))[0] == 3
    assert "no certificate: the answer is Unknown" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_certificates_from_python() -> None:
    text = Path(SVT).read_text(encoding="utf-8")
    proof = dipapprox.prove(SVT, budget=1)
    certificate = dipapprox.certify(proof.automaton, text, proof)
    result = dipapprox.check(certificate.to_json())
    assert (result.outcome, result.verdict) == (dipapprox.Outcome.CONFIRMED, "DP")
    assert "digest" in certificate._repr_html_()
    with pytest.raises(dipapprox.UserError, match="automaton of the proof"):
        dipapprox.certify(dipapprox.prove(RANGE).automaton, text, proof)


# --- programs -------------------------------------------------------------------------------------

PROGRAM = str(BUNDLED / "svt_laplace.dpg")

LAPLACE = text_of("asked/laplace-1")


def test_bounds_of_inputs_bound_what_is_lost(tmp_path) -> None:
    file = tmp_path / "laplace.dpg"
    file.write_text(LAPLACE, encoding="utf-8")
    fields = run_json("prove", str(file))[1]
    # An input that cannot change by more than 1/2 costs 1/2 at most.
    assert fields["least_budget"] == {"lower": "1/2", "upper": "1/2", "exact": True}
    witness = fields["witness"]
    assert isinstance(witness, dict) and witness["kind"] == "places"
    assert "As ε grows: inputs" in " ".join(run("prove", str(file))[1].split())
    assert run("verify", str(file), "--eps", "1", "--delta", "0")[0] == 0


@pytest.mark.parametrize("rule", ["all", "l0 1"])
def test_bounds_bound_what_may_change(rule) -> None:
    program = dipapprox.parse(LAPLACE.replace("linf 1", rule))
    proof = dipapprox.prove(program)
    assert str(proof.upper) == "1/2"
    unbounded = dipapprox.parse(LAPLACE.replace("linf 1", rule).replace(" 0..1/2", ""))
    assert dipapprox.prove(unbounded).answer is Answer.NOT_DP


def test_finite_domains_need_a_word() -> None:
    refuses(UserError, "finitely many values", dipapprox.prove, PROGRAM)
    assert dipapprox.prove(PROGRAM, reals=True, budget="1/2").answer is Answer.DP  # for N = 2


SPARSE = str(BUNDLED / "streams" / "sparse_stream.dpg")
LEAKY_PROGRAM = str(BUNDLED / "svt_laplace_leaky_6.dpg")


def test_people_see_a_structure_in_the_words_of_the_program(tmp_path) -> None:
    out = tmp_path / "drawn.dot"
    text = " ".join(run("prove", LEAKY_PROGRAM, "--for-all", "N", "--draw", str(out))[1].split())
    for part in ("no D makes it (D ε, 0)-DP for every N", "line 19 (r < rT)", "again and again",
                 "r <- Lap(q[i], 2 * Delta / eps)", "lost at ε = 1"):  # fmt: skip
        assert part in text
    assert "color=red" in out.read_text(encoding="utf-8")


def test_other_commands_take_some_rounds() -> None:
    assert run("decide", SPARSE, "--rounds", "2", "--values", "0..1")[0] == 0


# --- `dipapprox decide` and `explain --closed-form` from the command line -------------------------

DIPC = Path(__file__).parents[2] / "programs" / "dipc"
SVT1 = str(DIPC / "svt1.dpg")
SVT4 = str(DIPC / "svt4.dpg")


def test_unknown_has_a_named_reason(files) -> None:
    status, fields = run_json("decide", "svt.dpg", "-p", "N=1", "--budget", "100")
    assert (status, fields["verdict"], fields["reason"]) == (3, "Unknown", "outside-fragment")
    assert "Gaussian" in fields["detail"]
    status, fields = run_json("decide", SVT1, "--timeout", "1e-9")
    assert (status, fields["reason"]) == (3, "time-limit")
    status, fields = run_json("decide", SVT1, "--max-states", "1")
    assert (status, fields["reason"]) == (3, "path-budget")


def test_a_gaussian_program_is_refuted_at_one_epsilon(files) -> None:
    status, fields = run_json("decide", "svt.dpg", "--budget", "1/10", "--delta", "1/1000")
    assert (status, fields["verdict"]) == (1, "Not_DP")
    assert fields["violated_on"] is None
    assert fields["witness"]["probabilities"][0]["form"] is None


def test_an_interrupt_is_unknown(monkeypatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(decider, "execute", interrupt)
    status, fields = run_json("decide", SVT1)
    assert (status, fields["reason"]) == (130, "interrupted")


def test_a_contradiction_gives_no_verdict_and_names_both_methods(monkeypatch, capsys) -> None:
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


def test_closed_forms_that_do_not_exist(files) -> None:
    status, fields = run_json("explain", "svt.dpg", "--closed-form")
    assert (status, fields["closed_forms"]) == (3, [])
    assert "outside-fragment" in fields["reason"]


# --- ranges of ε as they are printed --------------------------------------------------------------

ZERO, UNIT = Enclosure.exact(0), Enclosure.exact(1)


def _end(lower: str, upper: str) -> Enclosure:
    return Enclosure(Fraction(lower), Fraction(upper))


@cases(
    "end, text",
    (_end("2.0319164987", "2.0319164996"), "2.03191649…"),
    (_end("2.03191649911", "2.03191649992"), "2.031916499…"),
    (_end("2.5790001e-6", "2.5799e-6"), "2.579e-6…"),
    (_end("1.9999999996", "2.0000000004"), "[1.999999999, 2.000000001]"),
    (_end("1e-11", "9e-10"), "[1e-11, 9e-10]"),
    (_end("2/3", "2/3"), "2/3"),
)
def test_only_digits_that_are_certain(end, text) -> None:
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
