"""Certificates of compositions of programs: their pairs are derived again, and no false one passes.

Beside them, the same mechanism of the catalogue: what is certified of both has points in common.
"""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest

import dipapprox
from dipapprox.certificates.digest import text_hash
from dipapprox.checking.check import check
from dipapprox.errors import UserError
from dipapprox.replays.result import Outcome
from tests.checking.certified import Fields, at, replaced, signed
from tests.schemas import check_schema

F = Fraction

COIN = (
    "input q in 0..1\noutput out in 0..1\nadjacent linf 1\n"
    "out <- choose {q : exp(eps) / (1 + exp(eps)), 1 - q : 1 / (1 + exp(eps))}\n"
)
SIGN = (
    "param T = 1\ninput q in 0..2\noutput out in 0..1\nadjacent linf 1\nout <- 0\n"
    "r <- Lap(q, 1/eps)\nif r >= T then\n out <- 1\nend\n"
)

CUT = (
    "input q in 0..1\noutput y in real\nadjacent linf 1\n"
    "r <- Lap(q, 1/eps)\nif r < 0 then\n y <- 0\nelse\n y <- r\nend\n"
)


@cache
def certificate(
    text: str, folder: Path, times: int, rate: str | None, delta: str, eps_prv: str | None
) -> Fields:
    file = folder / f"given{abs(hash((text, times, rate, delta, eps_prv)))}.dpg"
    file.write_text(text, encoding="utf-8")
    run: dict[str, object] = {"program": file, "eps": "1/2", "times": times}
    other = {"mechanism": "laplace", "scale": 10, "times": 2}
    composed = dipapprox.compose(
        [
            {**run, **({} if rate is None else {"subsample": rate})},
            *([other] if times > 1 and text != CUT else []),
        ],
        adjacency="add/remove",
    )
    answer = composed.epsilon(delta, "0.05") if eps_prv is None else composed.verify(eps_prv, delta)
    fields = json.loads(composed.certify(answer).to_json())
    assert isinstance(fields, dict)
    return fields


def outcome(fields: Fields) -> Outcome | None:
    try:
        return check(signed(fields)).outcome
    except UserError:
        return None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("programs")


@pytest.mark.parametrize(
    ("text", "times", "rate", "eps_prv"),
    [(COIN, 8, None, None), (SIGN, 4, "1/3", None), (SIGN, 1, None, "1/3"), (COIN, 8, None, "2")],
)
def test_what_is_found_is_confirmed(
    text: str, times: int, rate: str | None, eps_prv: str | None, folder: Path
) -> None:
    fields = certificate(text, folder, times, rate, "1e-2", eps_prv)
    check_schema("composition_certificate", fields)
    found = check(fields)
    assert found.outcome is Outcome.CONFIRMED, (found.reason, found.differences)
    if eps_prv is not None:
        other = "Not_DP" if fields["verdict"] == "DP" else "DP"
        assert outcome({**fields, "verdict": other}) is not Outcome.CONFIRMED


def test_runs_of_a_coin_cost_what_the_catalogue_says(folder: Path) -> None:
    fields = certificate(COIN, folder, 8, None, "1e-2", None)
    share = "0.62245933120185456463890056574550847875"  # e^(1/2) / (1 + e^(1/2))
    known = dipapprox.compose(
        [
            {"mechanism": "randomised_response", "probability": share, "times": 8},
            {"mechanism": "laplace", "scale": 10, "times": 2},
        ],
        adjacency="add/remove",
    ).epsilon("1e-2", "0.001")
    low, high = (F(fields["eps_prv_enclosure"][end]) for end in ("lower", "upper"))
    assert known.eps_prv_enclosure is not None and known.eps_prv_enclosure.upper is not None
    assert low <= known.eps_prv_enclosure.upper and (known.eps_prv_enclosure.lower or 0) <= high
    assert high - low < F(1, 5)


def with_text(fields: Fields, text: str) -> Fields:
    program = {**at(fields, ["runs", 0, "what", "program"]), "text": text}
    program["sha256"] = text_hash(text)
    return replaced(fields, ["runs", 0, "what", "program"], program)


@pytest.mark.parametrize(("text", "times", "rate"), [(COIN, 8, None), (SIGN, 4, "1/3")])
def test_changed_programs_and_pairs_are_told(
    text: str, times: int, rate: str | None, folder: Path
) -> None:
    fields = certificate(text, folder, times, rate, "1e-2", None)
    what = ("runs", 0, "what")
    for eps in ("51/100", "49/100"):  # a run that costs more breaks the one side, else the other
        assert outcome(replaced(fields, [*what, "eps"], eps)) is not Outcome.CONFIRMED
    for old, new in (("1/eps", "1/(2 * eps)"), ("exp(eps) /", "1 /"),
                     ("linf 1", "increasing 1"), ("out in", "out in in")):  # fmt: skip
        if old in text:
            assert outcome(with_text(fields, text.replace(old, new))) is not Outcome.CONFIRMED, new
    broken = replaced(fields, [*what, "program", "text"], text + "\n")
    assert outcome(broken) is Outcome.REFUTED
    assert outcome(replaced(fields, [*what, "attained", 1], [5])) is Outcome.REFUTED
    first = at(fields, [*what, "attained", 0])
    assert outcome(replaced(fields, [*what, "attained", 1], first)) is Outcome.REFUTED
    assert outcome(replaced(fields, [*what, "params"], {"N": "3"})) is Outcome.REFUTED
    masses = at(fields, [*what, "dominating"])
    k = max(range(len(masses)), key=lambda k: F(masses[k][0]) - F(masses[k][1]))
    p, q = map(F, masses[k])
    assert outcome(replaced(fields, [*what, "dominating", k, 0], str(p + 1))) is None
    # A part of the likelier outcome goes where losses are less.
    share = (p - q) / 1000
    moved = [*masses[:k], [str(p - share), str(q)], *masses[k + 1 :], [str(share), "1"]]
    for other, each in enumerate(moved[:-1]):
        if other != k and F(each[1]) > share:
            moved[other] = [str(F(each[0]) + share), each[1]]
            assert outcome(replaced(fields, [*what, "dominating"], moved[:-1])) is Outcome.REFUTED
            break
    else:
        raise AssertionError("there is no other outcome")


def test_a_pair_that_dominates_nothing_is_refuted(folder: Path) -> None:
    fields = certificate(SIGN, folder, 4, "1/3", "1e-2", None)
    even = [["1/2", "1/2"], ["1/4", "3/8"], ["1/4", "1/8"]]
    forged = replaced(fields, ["runs", 0, "what", "dominating"], even)
    result = check(signed(forged))
    assert result.outcome is Outcome.REFUTED
    assert any("greater profile" in each for each in result.differences)


def test_masses_of_programs_are_compared(folder: Path) -> None:
    fields = certificate(COIN, folder, 8, None, "1e-2", None)
    number = next(k for k, each in enumerate(fields["grid"]["removed"]["above"]) if not each["run"])
    for side, sign in (("above", -1), ("below", 1)):
        place = ["grid", "removed", side, number, "masses", "atoms"]
        atoms = at(fields, place)
        k = max(range(len(atoms)), key=lambda k: int(atoms[k][1], 16))
        mass = int(atoms[k][1], 16)
        forged = replaced(fields, [*place, k, 1], f"{mass + sign * (mass >> 2):x}")
        assert outcome(forged) is not Outcome.CONFIRMED


@pytest.mark.parametrize(("rate", "eps_prv"), [(None, None), ("1/3", "2")])
def test_published_numbers_are_composed(
    rate: str | None, eps_prv: str | None, folder: Path
) -> None:
    """What lies below 0 is one outcome, which tells as much as all of it: plain Laplace noise."""
    fields = certificate(CUT, folder, 4, rate, "1e-2", eps_prv)
    found = check(fields)
    assert found.outcome is Outcome.CONFIRMED, (found.reason, found.differences)
    if eps_prv is not None:
        return
    sample = {} if rate is None else {"subsample": rate}
    known = dipapprox.compose([{"mechanism": "laplace", "scale": 2, "times": 4, **sample}]).epsilon(
        "1e-2", "0.001"
    )
    low, high = (F(fields["eps_prv_enclosure"][end]) for end in ("lower", "upper"))
    least = known.eps_prv_enclosure
    assert least is not None and least.lower is not None and least.upper is not None
    assert low <= least.upper and least.lower <= high and high - low < F(1, 8)


def test_changed_programs_of_numbers_are_told(folder: Path) -> None:
    fields = certificate(CUT, folder, 4, None, "1e-2", None)
    what = ("runs", 0, "what")
    for eps in ("51/100", "49/100"):
        assert outcome(replaced(fields, [*what, "eps"], eps)) is not Outcome.CONFIRMED
    less = CUT.replace("1/eps", "1/(2 * eps)")
    assert outcome(with_text(fields, less)) is Outcome.REFUTED
    even = [["1/2", "1/2"], ["1/4", "3/8"], ["1/4", "1/8"]]
    forged = check(signed(replaced(fields, [*what, "dominating"], even)))
    assert any("greater profile" in each for each in forged.differences)


def test_real_inputs_have_no_evidence(folder: Path) -> None:
    fields = certificate(SIGN, folder, 1, None, "1e-2", "1/3")
    text = SIGN.replace("q in 0..2", "q in real")
    assert outcome(with_text(fields, text)) is Outcome.REFUTED
