"""Ends of profiles and calibrations that the kernel confirms, and what becomes of the others."""

from fractions import Fraction

import pytest

from dipapprox import Options, Program, calibrate, parse, profile
from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.arithmetic.extended import Extended
from dipapprox.data_classes import replace
from dipapprox.kernel.errors import NotProved
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.profiles.calibration import Calibration
from dipapprox.privacy.profiles.profile_result import LeastDelta, LeastEpsPrv
from dipapprox.privacy.profiles.question import AtDelta, AtEpsPrv
from dipapprox.privacy.run import Setting, Witness
from dipapprox.privacy.verdict import Claim
from dipapprox.proof_steps.ends import proved_calibration, proved_delta, proved_eps_prv
from dipapprox.proof_steps.verdicts import Goal, replayed
from tests.cases import cases
from tests.cli.running import run, run_json
from tests.schemas import check_schema
from tests.texts import text_of

HALF = Fraction(1, 2)
PROVED = Options(proved=True)

THRESHOLD = """
input q in {{0, 1}}
output o in {{0, 1}}
adjacent linf 1
x <- {noise}
if x >= 1 then o <- 1 else o <- 0 end
"""

CHOICES = text_of("kernel/ends-choices")


def program_of(text: str) -> Program:
    program = parse(text)
    assert isinstance(program, Program)
    return program


TEXTS = {
    "Laplace": THRESHOLD.format(noise="Lap(q, 1 / eps)"),
    "Gauss": THRESHOLD.format(noise="Gauss(q, 1 / eps)"),
    "integer": THRESHOLD.format(noise="DLap(q, 1 / eps)"),
    "choices": CHOICES,
}
LEAKY = "input q in {0, 1}\noutput o in {0, 1}\nadjacent all\no <- q"


def least_delta(program: Program, options: Options, eps_prv: str | Fraction) -> LeastDelta:
    found = profile(program, eps=HALF, eps_prv=eps_prv, options=options)
    assert isinstance(found, LeastDelta)
    return found


def least_eps_prv(program: Program, options: Options, delta: str | int) -> LeastEpsPrv:
    found = profile(program, eps=HALF, delta=delta, options=options)
    assert isinstance(found, LeastEpsPrv)
    return found


def is_proved(
    program: Program, eps_prv: Fraction, delta: Fraction, gap: Fraction, witness: Witness | None
) -> bool:
    """Whether the kernel confirms a claim, or that the witness breaks it."""
    goal = Goal(Claim(HALF, delta, eps_prv), witness, gap, 3)
    try:
        replayed(Setting(program, AllPairs(), Options()), goal)
    except NotProved:
        return False
    return True


@pytest.mark.parametrize("name", TEXTS)
def test_a_least_delta_is_proved_and_a_hair_inside_is_not(name) -> None:
    program, eps_prv = program_of(TEXTS[name]), Fraction(1, 10)
    found, own = least_delta(program, Options(), eps_prv), least_delta(program, PROVED, eps_prv)
    outer, inner = own.delta_enclosure, found.delta_enclosure
    assert 0 < outer.lower <= inner.lower <= inner.upper <= outer.upper < 1
    tolerance = inner.upper / 10**12
    assert outer.width <= tolerance * Fraction(101, 100)
    assert own.reason is None
    assert own.to_dict()["proved"]["steps"] == 4
    assert ("witness", own.witness) == ("witness", found.witness)
    hair, witness = tolerance / 1000, own.witness
    for place, keeps in ((outer.upper, True), (inner.lower - hair, False)):
        assert is_proved(program, eps_prv, place, hair, None) is keeps
    for place, breaks in ((outer.lower, True), (inner.upper + hair, False)):
        assert is_proved(program, eps_prv, place, hair, witness) is breaks


def test_ends_of_thousands_of_digits_are_proved() -> None:
    """1 - delta is about e^-50000."""
    text = "input q in {0, 1}\noutput y in real\nadjacent linf 1\ny <- Lap(q, 1e-5)"
    own = least_delta(program_of(text), PROVED, HALF)
    assert own.reason is None
    assert own.delta_enclosure.lower > 1 - Fraction(1, 10**12)


@cases("name, delta", ("Laplace", "0"), ("Gauss", "1/50"), ("integer", "1/50"), ("choices", "0"))
def test_a_least_eps_prv_is_proved_and_a_hair_inside_is_not(name, delta) -> None:
    program = program_of(TEXTS[name])
    found, own = least_eps_prv(program, Options(), delta), least_eps_prv(program, PROVED, delta)
    outer, inner = own.eps_prv_enclosure, found.eps_prv_enclosure
    assert outer.lower is not None and inner.lower is not None
    assert outer.upper is not None and inner.upper is not None
    assert 0 < outer.lower < inner.lower <= inner.upper < outer.upper
    assert outer.upper - outer.lower <= Fraction(101, 10**11)
    assert own.reason is None
    assert own.to_dict()["proved"]["steps"] == 4
    hair = Fraction(1, 10**12)
    for place, keeps in ((outer.upper, True), (inner.lower - hair, False)):
        assert is_proved(program, place, Fraction(delta), hair / 100, None) is keeps
    for place, breaks in ((outer.lower, True), (inner.upper + hair, False)):
        assert is_proved(program, place, Fraction(delta), hair / 100, own.witness) is breaks


def test_an_irrational_eps_prv_is_between_rational_ones() -> None:
    program = program_of(text_of("kernel/ends-response"))
    # 3/4 - 2 * 1/4
    found = least_delta(program, PROVED, "log(2)")
    assert Fraction(1, 4) in found.delta_enclosure and found.reason is None
    assert found.delta_enclosure.width < Fraction(1, 10**12)
    assert found.to_dict()["proved"]["steps"] == 4
    attained = least_delta(program, PROVED, "log(3)").delta_enclosure
    assert attained.lower == 0 < attained.upper < Fraction(1, 10**30)


def test_no_eps_prv_that_is_infinite_is_proved() -> None:
    found = least_eps_prv(program_of(LEAKY), PROVED, "1/2")
    assert found.eps_prv_enclosure == Extended(Fraction(1000), None)
    assert found.reason == (
        "the kernel has no proof of the lower end: "
        "it confirms that 1000 is not enough; ∞ it has no rule for"
    )


@pytest.fixture
def unwilling(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that spends little."""
    monkeypatch.setattr("dipapprox.kernel.errors.MOST_WORK", 1)


def test_what_the_kernel_refuses_is_given_up(unwilling) -> None:
    program = program_of(TEXTS["Gauss"])
    delta = least_delta(program, PROVED, Fraction(1, 10))
    assert delta.delta_enclosure == Enclosure(Fraction(0), Fraction(1))
    assert delta.witness is None
    eps_prv = least_eps_prv(program, PROVED, "1/100")
    assert eps_prv.eps_prv_enclosure == Extended(Fraction(0), None)
    calibrated = calibrate(program, eps_prv=HALF, delta="1/10", width="1/10", options=PROVED)
    assert calibrated.certified is calibrated.refuted is None
    for answer, ends in (
        (delta, "lower and upper"),
        (eps_prv, "lower and upper"),
        (calibrated, "refuted and certified"),
    ):
        assert answer.reason == (
            f"the kernel has no proof of the {ends} ends: "
            "a step asks for more work than the kernel spends on one"
        )
        assert "proved" not in answer.to_dict()


def test_false_ends_are_given_up() -> None:
    """Each end falls by itself: the kernel believes nothing of what was found."""
    program, eps_prv = program_of(TEXTS["Gauss"]), Fraction(1, 10)
    setting = Setting(program, AllPairs(), Options())
    found = least_delta(program, Options(), eps_prv)
    true, off = found.delta_enclosure, found.delta_enclosure.upper / 10**6

    def judged(lower: Fraction, upper: Fraction) -> Enclosure:
        false = replace(found, delta_enclosure=Enclosure(lower, upper))
        question = AtEpsPrv(eps_prv)
        own = proved_delta(setting, question, false)
        assert (own.reason is None) == (own.delta_enclosure.upper < 1)
        return own.delta_enclosure

    low = judged(true.lower - 2 * off, true.upper - off)
    assert low.upper == 1 and 0 < low.lower < true.lower
    # The witness stands for the lower end: too high an end comes down to it.
    high = judged(true.lower + off, true.upper + 2 * off)
    assert 0 < high.lower < true.lower < true.upper < high.upper < 1

    least = least_eps_prv(program, Options(), "1/50")
    ends = least.eps_prv_enclosure
    assert ends.lower is not None and ends.upper is not None
    for by, expected in ((off, (False, True)), (-off, (True, False))):
        false = replace(least, eps_prv_enclosure=Extended(ends.lower + by, ends.upper + by))
        question = AtDelta(Fraction(1, 50))
        own = proved_eps_prv(setting, question, false)
        kept = own.eps_prv_enclosure
        assert (bool(kept.lower), kept.upper is not None) == expected
        assert (own.witness is not None) == expected[0]
        assert own.reason is not None


def test_a_false_witness_is_no_proof() -> None:
    program, eps_prv = program_of(CHOICES), Fraction(1, 10)
    setting = Setting(program, AllPairs(), Options())
    found = least_delta(program, Options(), eps_prv)
    turned = replace(found.witness, input=found.witness.adjacent, adjacent=found.witness.input)
    for witness in (turned, replace(found.witness, rows=()), None):
        false = replace(found, witness=witness)
        own = proved_delta(setting, AtEpsPrv(eps_prv), false)
        assert own.delta_enclosure.lower == 0
        assert own.delta_enclosure.upper < 1
        assert own.reason is not None and own.reason.startswith(
            "the kernel has no proof of the lower end: "
        )


def calibrated(options: Options) -> tuple[Program, Calibration]:
    """A program, and how little noise it needs."""
    program = program_of(TEXTS["Gauss"])
    found = calibrate(program, eps_prv=HALF, delta="1/50", width="1/1000", options=options)
    return program, found


def test_calibrations_are_proved_at_both_ends() -> None:
    program, found = calibrated(Options())
    own = calibrated(PROVED)[1]
    assert own.certified is not None and own.refuted is not None
    assert found.certified is not None and found.refuted is not None
    assert (own.certified.eps, own.refuted.eps) == (found.certified.eps, found.refuted.eps)
    # What follows from the two proofs, and no more.
    assert own.certified.needed == Extended(Fraction(0), HALF)
    assert own.refuted.needed == Extended(HALF, None)
    assert own.to_dict()["proved"]["steps"] == 4
    check_schema("calibrate", own.to_dict())
    crossed = replace(
        found,
        certified=replace(found.certified, eps=found.refuted.eps),
        refuted=replace(found.refuted, eps=found.certified.eps),
    )
    neither = proved_calibration(Setting(program, AllPairs(), Options()), crossed)
    assert neither.certified is neither.refuted is None
    assert neither.reason is not None
    assert all(f"no proof of the {end} end" in neither.reason for end in ("refuted", "certified"))


def test_on_the_command_line(tmp_path) -> None:
    path = tmp_path / "choices.dpg"
    path.write_text(CHOICES)
    words = ("profile", str(path), "--eps", "1/2", "--proved")
    for asked in (("--eps-prv", "1/10"), ("--delta", "1/10")):
        status, fields = run_json(*words, *asked)
        assert (status, fields["proved"]["steps"]) == (0, 4)
        status, shown = run(*words, *asked)
        assert (status, "replayed by the kernel: 4 steps" in shown) == (0, True)
    assert run(*words, "--curve", "0:1:3")[0] == 2


def test_an_end_that_is_given_up_has_a_status(tmp_path, unwilling) -> None:
    path = tmp_path / "choices.dpg"
    path.write_text(CHOICES)
    status, fields = run_json("profile", str(path), "--eps", "1/2", "--proved")
    assert (status, fields["delta_enclosure"]) == (3, ["0", "1"])
