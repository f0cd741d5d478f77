"""Certificates: true ones are confirmed, changed ones are noticed whoever renews their digest."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import cycle
from pathlib import Path

import pytest

import dipapprox
from dipapprox.certificates.digest import text_hash
from dipapprox.checking.check import check
from dipapprox.errors import UserError
from dipapprox.limits import Limits
from dipapprox.privacy.claim import Claim
from dipapprox.replays.result import Outcome
from tests.checking.certified import (
    PROGRAMS,
    Fields,
    at,
    certificate,
    check_changes_are_noticed,
    places,
    replaced,
    signed,
)

HALF = Fraction(1, 2)
SVT = PROGRAMS / "svt_gauss.dpg"

LINEAR = """
input q[2] in {0, 1}
output out in {0, 1}
adjacent all
a <- Gauss(q[1], 1 / eps)
b <- Gauss(q[2], 2 / eps)
c <- Gauss(0, 1 / eps)
out <- 0
if 2*a - b/2 + 1 <= c + q[1] then out <- 1 end
"""


@pytest.fixture(scope="module")
def private() -> Fields:
    """SVT-Gauss, N = 2, all pairs: DP at (1/10, 1/40); the largest delta is 0.0239…"""
    return certificate(SVT, {}, Claim(HALF, Fraction(1, 40), Fraction(1, 10)))


@pytest.fixture(scope="module")
def violated() -> Fields:
    """The same program at (1/10, 1/50): Not_DP."""
    return certificate(SVT, {}, Claim(HALF, Fraction(1, 50), Fraction(1, 10)))


CASES = [
    ("svt_gauss", {"N": 4}, HALF, "31/25", "1/100", "all"),
    ("svt_laplace", {"N": 3}, HALF, None, "0", "all"),
    ("svt_mix1", {"N": 17}, HALF, "31/25", "1/100", "single"),
    ("noisy_max_gauss", {"N": 3}, HALF, None, "1/100", "all"),
    ("noisy_min_laplace", {"N": 5}, HALF, None, "1/100", "single"),
    ("m_range_gauss", {"N": 2}, HALF, None, "1/100", "single"),
    ("m_range_laplace", {"N": 1}, HALF, None, "0", "all"),
    ("k_min_max_laplace", {"N": 3}, HALF, None, "0", "all"),
    ("svt_laplace_leaky_4", {}, Fraction(1), None, "0", "all"),
    ("svt_laplace_leaky_6", {"N": 3}, Fraction(1), None, "0", "all"),
    ("svt_gauss_leaky_1", {"N": 5}, Fraction(8), "1/2", "1/100", "all"),
]


@pytest.mark.parametrize(("name", "values", "eps", "budget", "delta", "pairs"), CASES)
def test_true_certificates_are_confirmed(
    name: str, values: dict[str, int], eps: Fraction, budget: str | None, delta: str, pairs: str
) -> None:
    claim = Claim(eps, Fraction(delta), None if budget is None else Fraction(budget))
    parameters = {key: Fraction(value) for key, value in values.items()}
    fields = certificate(PROGRAMS / f"{name}.dpg", parameters, claim, pairs)
    result = check(json.dumps(fields))
    assert result.outcome is Outcome.CONFIRMED, result
    assert result.shared == ()
    assert fields["verdict"] == ("Not_DP" if "leaky" in name else "DP")
    assert result.delta_enclosure is not None
    said = [Fraction(end) for end in fields["delta_enclosure"]]
    assert result.delta_enclosure.lower <= said[1]
    assert said[0] <= result.delta_enclosure.upper
    assert result.delta_enclosure.width < Fraction(1, 10**14)


def test_a_published_file_is_certified_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "coin.dip"
    file.write_text(
        "INPUTSIZE 1; OUTPUT = [0];\nRANDOM R = gauss(eps/2, INPUT[0]);\n"
        "RANDOM T = lap(eps/1, 0);\nIF R > T THEN { OUTPUT[0] = 1; }\n"
    )
    fields = certificate(file, {}, Claim(HALF, Fraction(1, 10)))
    assert fields["program"]["language"] == "dip"
    assert check(fields).outcome is Outcome.CONFIRMED


POLYGON = LINEAR.replace("2*a - b/2 + 1 <= c + q[1]", "a + b <= 1 and b + c <= 1 and a + c <= 1")


@pytest.mark.parametrize(("text", "shared"), [(LINEAR, 0), (POLYGON, 1)])
def test_linear_guards_are_confirmed_and_the_exception_is_named(text: str, shared: int) -> None:
    """One direction of Gaussian samples is a Gaussian sample; three are beyond the check."""
    program = dipapprox.parse(text)
    claim = Claim(HALF, Fraction(1, 3), Fraction(0))
    verdict = dipapprox.verify(program, eps=claim.eps, eps_prv=claim.eps_prv, delta=claim.delta)
    result = dipapprox.check(dipapprox.certify(program, text, verdict).to_json())
    assert result.outcome is Outcome.CONFIRMED
    assert len(result.shared) == shared


def test_an_unknown_verdict_has_no_certificate() -> None:
    program = dipapprox.parse(SVT.read_text())
    options = dipapprox.Options(limits=Limits(states=1))
    verdict = dipapprox.verify(program, eps=HALF, delta=HALF, options=options)
    with pytest.raises(UserError, match="Unknown"):
        dipapprox.certify(program, SVT.read_text(), verdict)


def test_a_certificate_needs_the_text_of_its_program() -> None:
    program = dipapprox.parse(SVT.read_text())
    verdict = dipapprox.verify(program, eps=HALF, delta=HALF)
    with pytest.raises(UserError, match="not that of the program"):
        dipapprox.certify(program, SVT.read_text().replace("4 *", "5 *"), verdict)


# --- changes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["private", "violated"])
def test_any_changed_character_is_noticed(which: str, request: pytest.FixtureRequest) -> None:
    check_changes_are_noticed(request.getfixturevalue(which), which, 150)


FORGERIES = [
    (("claim", "delta"), "1/50"),
    (("claim", "eps"), "1/3"),
    (("claim", "eps"), "501/1000"),
    (("claim", "eps_prv"), "9/100"),
    (("params", "N"), "3"),
    (("params", "T"), "1"),
    (("params", "Delta"), "2"),
    (("pairs", "count"), 11),
    (("pairs",), {"selection": "listed", "count": 1, "list": [[[0, 0], [0, 1]]]}),
    (("delta_enclosure",), ["0.02", "0.021"]),
    (("delta_enclosure", 1), "0.02390735840246"),
    (("verdict",), "Not_DP"),
    (("evidence", "inputs", 0, "input"), [1, 1]),
    (("evidence", "outputs", 0), [1, 1]),
    (("evidence",), {"kind": "summary", "inputs": 5}),
    (("program", "sha256"), "0" * 64),
    (("program", "language"), "dip"),
]


@pytest.mark.parametrize(("place", "value"), FORGERIES)
def test_a_false_statement_is_refuted_even_with_a_fitting_digest(
    private: Fields, place: tuple[str | int, ...], value: object
) -> None:
    forged = signed(replaced(private, place, value))
    try:
        assert check(forged).outcome is Outcome.REFUTED
    except UserError:
        assert place[0] == "verdict"  # DP's evidence does not suit Not_DP


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("r >= rT", "r < rT"), ("4 * Delta", "3 * Delta"), ("Gauss(T", "Lap(T"),
        ("out[i] <- 1", "out[i] <- 0"), ("linf 1", "l1 1"), ("exit", "skip"), ("for i", "fro i"),
    ],
)  # fmt: skip
def test_another_program_is_refuted(private: Fields, old: str, new: str) -> None:
    text = private["program"]["text"].replace(old, new)
    changed = replaced(private, ("program", "text"), text)
    assert check(signed(changed)).outcome is Outcome.REFUTED  # the hash
    hashed = text_hash(text)
    renewed = signed(replaced(changed, ("program", "sha256"), hashed))
    assert check(renewed).outcome is Outcome.REFUTED


@pytest.mark.parametrize("which", ["private", "violated"])
def test_any_moved_probability_is_refuted(which: str, request: pytest.FixtureRequest) -> None:
    """Both ends of every recorded enclosure are moved by more than its width, up or down."""
    fields = request.getfixturevalue(which)
    found = [p[:-1] for p in places(fields["evidence"]) if _is_lower_end(fields, p)]
    assert len(found) >= 3
    for place, sign in zip(found, cycle((1, -1)), strict=False):
        lower, upper = (Fraction(end) for end in at(fields["evidence"], place))
        move = Fraction(sign, 10**11)
        ends = [str(lower + move), str(upper + move)]
        forged = signed(replaced(fields, ("evidence", *place), ends))
        assert check(forged).outcome is Outcome.REFUTED, place


def _is_lower_end(fields: Fields, place: tuple[str | int, ...]) -> bool:
    value = at(fields["evidence"], place)
    return place[-1] == 0 and isinstance(value, str)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("claim", "delta"), "1/40"),
        (("claim", "eps_prv"), "1/5"),
        (("evidence", "input"), [0, 0]),
        (("evidence", "adjacent"), [0, 1]),
        (("evidence", "outputs", 0, "output"), [0, 0]),
        (("evidence", "outputs", 0, "output"), [1, 1]),
        (("evidence", "delta_enclosure"), ["0.03", "0.031"]),
        (("delta_enclosure"), ["0.03", "0.031"]),
        (("pairs",), {"selection": "listed", "count": None, "list": [[[0, 0], [0, 1]]]}),
    ],
)
def test_a_false_witness_is_refuted(
    violated: Fields, place: tuple[str | int, ...], value: object
) -> None:
    place = (place,) if isinstance(place, str) else place
    assert check(signed(replaced(violated, place, value))).outcome is Outcome.REFUTED


def test_widened_enclosures_are_true_but_must_imply_the_verdict(private: Fields) -> None:
    place = ("evidence", "probabilities", 1)
    lower, upper = at(private, place)
    wider = [str(Fraction(lower) - Fraction(1, 10**9)), upper]
    assert check(signed(replaced(private, place, wider))).outcome is Outcome.CONFIRMED
    vague = signed(replaced(private, place, ["0", "1"]))
    result = check(vague)
    assert result.outcome is Outcome.NOT_CONFIRMED
    assert "too wide" in str(result.reason)


# --- files and limits ---------------------------------------------------------------------------


def test_what_is_no_certificate_is_an_error(private: Fields) -> None:
    text = json.dumps(private)
    for bad, message in [
        ("", "not JSON"), (text[: len(text) // 2], "not JSON"), ("[]", "not a certificate"),
        ("{}", "not a certificate"), ("[" * 100_000, "JSON"), ("NaN", "malformed"),
        (json.dumps({**private, "version": 3}), "version 3"),
        (json.dumps({**private, "more": 1}), "unknown field"),
        (json.dumps(replaced(private, ("claim", "delta"), 0.01)), "not a number"),
        (json.dumps(replaced(private, ("claim", "delta"), "3/2")), r"delta: expected.*\[0, 1\]"),
        (json.dumps(replaced(private, ("claim", "eps"), "0")), r"\$.claim.eps: expected"),
        (json.dumps(replaced(private, ("delta_enclosure",), ["1", "0"])), "smaller one first"),
        (text[:-1] + ', "verdict": "DP"}', "occurs twice"),
    ]:  # fmt: skip
        with pytest.raises(UserError, match=message):
            check(bad)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("evidence", "probabilities", 1), ["0", "9" * 30]),
        (("evidence", "probabilities", 1), ["0", "1e400"]),
        (("evidence", "probabilities", 1), ["-1/2", "1"]),
        (("evidence", "probabilities", 1, 0), "0 "),
        (("evidence", "inputs", 0, "input"), ["1", 0]),
        (("evidence", "inputs", 0, "input"), [True, 0]),
        (("evidence", "inputs", 0, "input"), ["1/1 ", 0]),
        (("delta_enclosure",), ["-1/2", "1"]),
        (("delta_enclosure", 1), "1.0000000001"),
        (("claim", "delta"), " 1/40"),
        (("params", "N"), "2 "),
        (("computed", "python"), None),
        (("computed", "numpy"), 2),
    ],
)
def test_malformed_values_are_errors_even_with_a_fitting_digest(
    private: Fields, place: tuple[str | int, ...], value: object
) -> None:
    with pytest.raises(UserError, match="malformed"):
        check(signed(replaced(private, place, value)))


def test_half_a_character_is_no_text(private: Fields) -> None:
    for place in [("computed", "python"), ("program", "name"), ("program", "text")]:
        with pytest.raises(UserError, match="Unicode"):
            check(json.dumps(replaced(private, place, "\ud800")))
    for place in ("computed", "params"):
        with pytest.raises(UserError, match="Unicode"):
            check(json.dumps({**private, place: {**private[place], "\ud800": "1"}}))


def test_limits_leave_it_unconfirmed(private: Fields) -> None:
    for limits in (Limits(seconds=1e-9), Limits(states=1)):
        result = check(private, limits)
        assert result.outcome is Outcome.NOT_CONFIRMED
        assert "limit" in str(result.reason)


def test_too_many_inputs_leave_it_unconfirmed(private: Fields) -> None:
    forged = replaced(private, ("params", "N"), "25")
    forged["scope"] = "for inputs q[1..25] in {0, 1}, adjacent linf 1"
    result = check(signed(replaced(forged, ("evidence",), {"kind": "summary", "inputs": 2**25})))
    assert result.outcome is Outcome.NOT_CONFIRMED
    assert "33554432 inputs" in str(result.reason)
