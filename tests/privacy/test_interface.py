"""The Python interface: failures are answers; profiles, calibrations, closed forms."""

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest
from dp_accounting.pld.privacy_loss_distribution import from_two_probability_mass_functions
from hypothesis import given
from hypothesis import strategies as st

import dipapprox
from dipapprox import Answer, LimitReached, Limits, Options, Program, UserError, data_classes
from dipapprox.errors import NoCertificate
from dipapprox.numerics.probability import OutputProbabilities
from dipapprox.pairs.divergence import Search
from dipapprox.pairs.maxima import ListedPairs
from dipapprox.privacy.details import ListedDetails
from tests.cases import cases, refuses, text_of

HALF = Fraction(1, 2)
TEXT = text_of("privacy/interface-1")


RUNS = [{"mechanism": "laplace", "scale": 10, "times": 3}]


@cases(
    "call, known",
    (dipapprox.prove, {"budget": 1, "reals": True, "stops": "hidden", "options": None}),
    (dipapprox.check, {"certificate": "{}", "limits": None}),
    (dipapprox.compose, {"runs": RUNS, "adjacency": None, "options": None}),
    (dipapprox.compose(RUNS).epsilon, {"delta": "1e-5", "width": "0.1"}),
    (dipapprox.compose(RUNS).curve, {"low": 0, "high": 1, "points": 3}),
    (dipapprox.compose(RUNS).to_pld, {"step": "0.1"}),
    (dipapprox.parse, {"for_all": None}),
)
def test_messages_of_proofs_pipelines_and_checks_name_the_argument(call, known) -> None:
    first = {dipapprox.prove: (dipapprox.parse(TEXT),), dipapprox.parse: (TEXT,)}.get(call, ())
    for argument in known:
        for stranger in (b"1", 1.5, object(), [2]):
            refuses(UserError, argument, call, *first, **{**known, argument: stranger})


def _caused(error: BaseException, cause: BaseException) -> BaseException:
    error.__cause__ = cause
    return error


@cases(
    "error, reason",
    (LimitReached("time limit: 5 s"), "time limit: 5 s; 0 of 2 pairs checked"),
    (MemoryError(), "memory limit: no memory left; 0 of 2 pairs checked"),
    (KeyboardInterrupt(), "interrupted; 0 of 2 pairs checked"),
    # As an extension module raises it that was interrupted.
    (_caused(SystemError(), KeyboardInterrupt()), "interrupted; 0 of 2 pairs checked"),
)
def test_every_failure_is_unknown(error, reason, monkeypatch) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(OutputProbabilities, "distributions", fail)
    verdict = dipapprox.verify(dipapprox.parse(TEXT), eps=1, eps_prv="1/100", delta="1/100")
    assert (verdict.answer, verdict.reason) == (Answer.UNKNOWN, reason)
    assert (verdict.delta_enclosure, verdict.witness) == (None, None)
    assert verdict.interrupted == reason.startswith("interrupted")
    assert json.loads(verdict.to_json())["delta_enclosure"] == ["0", "1"]


def test_an_interrupt_after_a_violation_does_not_take_the_answer_back(monkeypatch) -> None:
    finish = Search.finish

    def interrupted(search: Search, total: int) -> None:
        finish(search, total)
        raise KeyboardInterrupt

    monkeypatch.setattr(Search, "finish", interrupted)
    verdict = dipapprox.verify(dipapprox.parse(TEXT), eps=1, delta=0, eps_prv=Fraction(1, 4))
    assert (verdict.answer, verdict.interrupted) == (Answer.NOT_DP, False)


ONE, ZERO = Fraction(1), Fraction(0)
COUNT = text_of("privacy/scope-3")


def test_the_delta_of_a_violating_pair_is_not_called_the_largest() -> None:
    program = dipapprox.parse(COUNT)
    held = dipapprox.verify(program, eps=ONE, delta=ZERO)._repr_html_()
    broken = dipapprox.verify(program, eps=ONE, delta=ZERO, eps_prv=ONE / 2)._repr_html_()
    everywhere = dipapprox.verify(
        program, eps=(1, 2), delta=0, eps_prv=Fraction(1, 2)
    )._repr_html_()
    assert ("largest δ" in held, "δ of this pair" in held) == (True, False)
    for text in (broken, everywhere):
        assert ("largest δ" in text, "δ of this pair" in text) == (False, True)


ROOT = Path(__file__).parent.parent.parent
SVT_FILE = ROOT / "programs" / "svt_gauss.dpg"
SVT_TEXT = SVT_FILE.read_text(encoding="utf-8")


def test_an_answer_writes_its_page(tmp_path) -> None:
    program = dipapprox.parse(SVT_FILE)
    verdict = dipapprox.verify(program, eps=Fraction(1, 2), eps_prv="1/10", delta="1/100")
    certificate = dipapprox.certify(program, SVT_TEXT, verdict)
    out = tmp_path / "svt.html"
    verdict.report(out, certificate)
    shown = out.read_text(encoding="utf-8")
    assert "the claim is violated" in shown and str(certificate.fields["digest"]) in shown
    assert "rT" in shown and "dipapprox check FILE" in shown and "<figure>" in shown
    before = out.read_bytes()
    refuses(UserError, "exists already", verdict.report, out)
    assert out.read_bytes() == before
    verdict.report(str(tmp_path / "alone.html"))
    assert "digest" not in (tmp_path / "alone.html").read_text(encoding="utf-8")


def test_only_its_own_certificate_goes_with_an_answer(tmp_path) -> None:
    program = dipapprox.parse(SVT_FILE)
    asked = {"eps": Fraction(1, 2), "delta": "1/100"}
    verdict = dipapprox.verify(program, eps_prv="1/10", **asked)  # type: ignore[arg-type]
    certificate = dipapprox.certify(program, SVT_TEXT, verdict)
    larger = dipapprox.parse(SVT_FILE, {"N": 3})
    for other in (
        dipapprox.verify(program, eps_prv="1/11", **asked),  # type: ignore[arg-type]
        dipapprox.verify(larger, eps_prv="1/10", **asked),  # type: ignore[arg-type]
        dipapprox.verify(program, eps_prv="2", **asked),  # type: ignore[arg-type]
    ):
        with pytest.raises(UserError, match="certificate of another answer"):
            other.report(tmp_path / "x.html", certificate)
    refuses(UserError, "must be a Certificate", verdict.report, tmp_path / "x.html", "svt.json")  # type: ignore[arg-type]
    refuses(UserError, r"cannot write 'x\.pdf'", verdict.report, tmp_path / "x.pdf")
    refuses(UserError, "a path or its text, got 5", verdict.report, 5)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_decisions_and_profiles_have_pages(tmp_path) -> None:
    path = ROOT / "programs" / "dipc" / "svt1.dpg"
    program, text = dipapprox.parse(path), path.read_text(encoding="utf-8")
    decision = dipapprox.decide(program)
    decision.report(tmp_path / "decision.html", dipapprox.certify(program, text, decision))
    least = dipapprox.profile(program, eps=1, eps_prv="1/2")
    least.report(tmp_path / "least.html")
    assert "least δ for ε_prv = 1/2" in (tmp_path / "least.html").read_text(encoding="utf-8")


# --- Profiles and calibrations: closed forms, published values, verification at single points -----

GAUSS = text_of("privacy/profile-1")


def program(name: str, **parameters: int) -> Program:
    text = text_of(name)
    return dipapprox.parse(text, parameters, name)


SVT = program("svt_gauss", N=3)
CURVE = dipapprox.profile(SVT, eps=HALF, curve=(Fraction(0), Fraction(2, 5), 9))


@given(st.fractions(0, Fraction(2, 5), max_denominator=1000))
def test_envelopes_contain_the_profile(budget) -> None:
    inside = CURVE.envelope.at(budget)
    assert inside.meets(dipapprox.profile(SVT, eps=HALF, eps_prv=budget).delta_enclosure)
    assert inside.width <= CURVE.largest_gap + Fraction(1, 10**20)


def test_programs_without_pairs() -> None:
    alone = dipapprox.parse("output out in {0, 1}\nadjacent all\nout <- 1\n")
    assert dipapprox.profile(alone, eps=HALF, eps_prv=0).delta_enclosure.upper == 0
    assert dipapprox.profile(alone, eps=HALF, delta=0).eps_prv_enclosure.upper == 0


@pytest.mark.parametrize("asked", [{"eps_prv": "1/10"}, {"delta": "1/100"}])
def test_bounds_outlive_their_witness(asked, monkeypatch) -> None:
    """A limit that is reached when all is proved takes only the set that shows it."""
    whole = dipapprox.profile(dipapprox.parse(GAUSS), eps=1, **asked)  # type: ignore[arg-type]

    def ended(*_arguments: object) -> None:
        raise dipapprox.LimitReached("time limit: 1 s")

    monkeypatch.setattr(ListedDetails, "witness", ended)
    found = dipapprox.profile(dipapprox.parse(GAUSS), eps=1, **asked)  # type: ignore[arg-type]
    assert whole.witness is not None and found.witness is None
    ends = "delta_enclosure" if "eps_prv" in asked else "eps_prv_enclosure"
    assert getattr(found, ends) == getattr(whole, ends)
    assert found.describe()


def test_a_limit_leaves_what_is_known(monkeypatch) -> None:
    program = dipapprox.parse(GAUSS)
    whole = dipapprox.profile(program, eps=1, eps_prv="1/10")
    for asked, ends in (({"eps_prv": "1/10"}, ["0", "1"]), ({"delta": 0}, ["0", "inf"])):
        late = Options(limits=Limits(seconds=0))
        found = dipapprox.profile(program, eps=1, options=late, **asked)
        told = found.to_dict()
        assert told.get("delta_enclosure", told.get("eps_prv_enclosure")) == ends
        assert found.reason is not None and found.reason.startswith("time limit: 0 s")
        assert found.describe()
    with pytest.raises(LimitReached, match="time limit"):
        late = Options(limits=Limits(seconds=0))
        dipapprox.profile(program, eps=1, curve=(0, 1, 3), options=late)
    late = Options(limits=Limits(seconds=0))
    nothing = dipapprox.calibrate(program, eps_prv=1, delta=0, options=late)
    assert nothing.reason is not None and nothing.reason.startswith("time limit: 0 s")

    def ended(*_arguments: object) -> None:
        raise LimitReached("time limit: 1 s")

    monkeypatch.setattr(ListedPairs, "_delta", ended)  # more bits than doubles have
    found = dipapprox.profile(program, eps=1, eps_prv="1/10", width="1e-40")
    assert found.delta_enclosure.width < Fraction(1, 10**9)
    assert found.delta_enclosure.meets(whole.delta_enclosure)
    assert found.reason == "the width asked for was not reached: time limit: 1 s"


# --- Calibration against closed forms and against verification at both ends -----------------------


def test_ends_that_do_not_exist() -> None:
    # Supports differ for every eps: nothing is certified.
    leaky = program("svt_gauss_leaky_2", N=2)
    found = dipapprox.calibrate(leaky, eps_prv=1, delta=0)
    assert found.certified is None
    assert found.refuted.needed.infinite
    assert "no certified eps" in found.reason
    assert json.loads(found.to_json())["eps_enclosure"][0] is None
    assert found.meaning.startswith("refuted at this eps; no eps tried was certified; that the")
    assert ("certified at", "none found") in found.describe().facts
    assert "needs ε_prv = ∞" in dict(found.describe().facts)["refuted at"]
    assert "[inf, inf]" not in found._repr_html_()
    # The input is not looked at: nothing is refuted.
    deaf = dipapprox.parse(
        "input q in {0, 1}\noutput out in {0, 1}\nadjacent all\nout <- 0\n"
        "x <- Lap(0, 1 / eps)\nif x >= 1 then out <- 1 end\n"
    )
    found = dipapprox.calibrate(deaf, eps_prv=0, delta=Fraction(1, 10))
    assert found.refuted is None
    assert found.certified is not None
    assert "no refuted eps" in found.reason
    assert found.meaning.startswith("certified at this eps; no eps tried was refuted; that the")
    assert json.loads(found.to_json())["meaning"] == found.meaning
    neither = data_classes.replace(found, certified=None)
    assert "at the" not in neither.meaning
    # It does not know eps: two are enough.
    options = dipapprox.Options(proved=True)
    asked = {"eps_prv": "1/10", "delta": 0, "options": options}
    found = dipapprox.calibrate(program("literature/rappor"), **asked)
    assert dict(found.describe().facts)["refuted at"].endswith("(needs ε_prv > 0.1)")
    assert found.certified is None and found.refuted.eps < Fraction(1, 10**6)
    assert found.queries == 2
    assert found.reason == "no noise of the program depends on eps: every eps is as good"


@pytest.mark.parametrize("budget", [Fraction(0), Fraction(1, 10), Fraction(1, 5)])
def test_dp_accounting_brackets_the_same_delta(budget) -> None:
    svt = program("svt_gauss", N=3)
    pair = ((0, 0, 1), (1, 1, 0))
    found = dipapprox.profile(svt, eps=HALF, eps_prv=budget, pairs=[pair])
    two = dipapprox.pair_distributions(svt, eps=HALF, input=pair[0], adjacent=pair[1])
    lower, upper = two.to_pld()
    assert len(lower) == len(upper) == 4
    assert math.fsum(map(math.exp, upper.values())) == pytest.approx(1, abs=1e-11)
    bracket = [
        from_two_probability_mass_functions(
            lower, upper, pessimistic, value_discretization_interval=1e-3, symmetric=False
        ).get_delta_for_epsilon(float(budget))
        for pessimistic in (False, True)
    ]
    tiny = 1e-11  # doubles
    assert bracket[0] - tiny <= float(found.delta_enclosure.lower)
    assert float(found.delta_enclosure.upper) <= bracket[1] + tiny
    assert bracket[1] - bracket[0] < 3e-3
    assert json.loads(two.to_json())["adjacent"] == {"q": [1, 1, 0]}


@pytest.mark.parametrize("proved", [False, True])
def test_a_limit_before_anything_is_known_is_an_answer(proved) -> None:
    options = Options(limits=Limits(seconds=0), proved=proved)
    found = dipapprox.calibrate(program("svt_gauss"), eps_prv=1, delta="1/100", options=options)
    assert (found.certified, found.refuted, found.queries) == (None, None, 0)
    assert "time limit: 0 s" in str(found.reason)
    assert found.to_dict()["eps_enclosure"] == [None, None]


def test_limits_hold_in_all_that_has_no_unknown() -> None:
    over = Options(limits=Limits(seconds=0))
    asked = {"eps": 1, "input": (0, 0), "adjacent": (1, 1), "options": over}
    refuses(LimitReached, "time limit", dipapprox.pair_distributions, program("svt_gauss"), **asked)
    runs = [{"mechanism": "gaussian", "sigma": 1, "subsample": "1/100", "times": 1000}]
    found = dipapprox.compose(runs).epsilon("1/100", "1/10")
    late = dipapprox.compose(runs, options=over)
    refuses(LimitReached, "time limit", late.to_pld, "1/10")
    refuses(NoCertificate, "time limit", late.certify, found)
    proved = dipapprox.compose(runs, options=Options(limits=Limits(seconds=0), proved=True))
    assert "time limit" in str(proved.epsilon("1/100", "1/10").reason)
