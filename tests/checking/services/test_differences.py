"""Certificates of services with cells that are kept by differences; how the check follows them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dipapprox.bundled import BUNDLED
from dipapprox.certificates.digest import digest, text_hash
from dipapprox.checking.check import check
from dipapprox.checking.decisions.quotients import Quotient, constant
from dipapprox.checking.facts import Line
from dipapprox.checking.services.pairing import slope, total
from dipapprox.checking.services.replies import Followed, Listed, shown_chance
from dipapprox.checking.services.transitions import Call, Transitions
from dipapprox.checking.services.ways import Shown, Ways
from dipapprox.checking.values import Stuck
from dipapprox.distributions import Family
from dipapprox.errors import UserError
from dipapprox.exponentials import ONE, ExponentialPolynomial
from dipapprox.limits import Limits
from dipapprox.replays.result import Outcome
from dipapprox.services.certificate import certify_service, without_evidence
from dipapprox.services.service_proof import prove_service
from tests.schemas import check_schema
from tests.services.examples import service_of
from tests.services.strategies import counting_services

SLOTS = (BUNDLED / "services" / "slots.dpg").read_text(encoding="utf-8")
BUDGET = (BUNDLED / "services" / "budget.dpg").read_text(encoding="utf-8")
FOR_EVER = (
    "state n in int <- 0\noutput reply in int\non data d in {0, 2} do n <- n + d end\n"
    "on query ask do reply <- DLap(n, 3 / eps) end\n"
)
REPLACED = (
    "adjacent replace\nstate n in int <- 0\nstate left in 0..2 <- 2\noutput reply in -9..9\n"
    "on data d in -3..5 do n <- n + d end\non query ask do\n"
    "if left = 0 then reply <- 0 else\nreply <- clamp(DLap(1 - 2 * n, 4 / eps), -9, 9)\n"
    "left <- left - 1\nend\nend\n"
)
REAL = (
    "state n in int <- 0\nstate left in 0..1 <- 1\noutput reply in real\noutput over in bool\n"
    "on data d in {0, 1} do n <- n + d end\non query ask do\nover <- left = 0\n"
    "if over then exit end\nreply <- Lap(n / 2, 1 / eps)\nleft <- 0\nend\n"
)
COIN = (
    "state n in int <- 0\nstate left in 0..1 <- 1\noutput reply in {-1, 0, 1, stop}\n"
    "on data d in {-1, 1} do\nkeep <- choose {1 : 1/2, 0 : 1/2}\nif keep = 1 then n <- n + d end\n"
    "end\non query ask do\nif left = 0 then reply <- stop else\n"
    "reply <- clamp(DLap(n, 1 / eps), -1, 1)\nleft <- 0\nend\nend\n"
)
COUNTED = (
    "state n in 0..9999 <- 0\nstate left in 0..1 <- 1\noutput reply in int\n"
    "output over in bool\non data d in {0, 1} do if n < 9999 then n <- n + d end end\n"
    "on query ask do\nover <- left = 0\nif over then exit end\nreply <- DLap(n, 1 / eps)\n"
    "left <- 0\nend\n"
)
"""Its counter takes part in comparisons, and is in too many states for values."""

Fields = dict[str, Any]


@cache
def _certificate(text: str, **parameters: int) -> str:
    proof = prove_service(service_of(text, parameters), None, (), Limits())
    assert without_evidence(proof) is None
    return certify_service(proof, text).to_json()


def certificate(text: str, **parameters: int) -> Fields:
    """Prove, certify, and return the certificate as a file would have it."""
    fields = json.loads(_certificate(text, **parameters))
    assert isinstance(fields, dict)
    return fields


def outcome(fields: Fields) -> Outcome:
    """Check a changed certificate, with the digest of what it is now."""
    return check({**fields, "digest": digest(fields)}).outcome


@pytest.mark.parametrize(
    ("text", "parameters", "upper"),
    [(SLOTS, {"t": 1, "v": 1}, 2), (SLOTS, {"t": 3, "v": 40}, 6),
     (BUDGET, {}, 3), (BUDGET, {"questions": 0, "spent": 0}, None), (FOR_EVER, {}, None),
     (REPLACED, {}, 8), (REAL, {}, Fraction(1, 2)), (COIN, {}, 1), (COUNTED, {}, 1)],
)  # fmt: skip
def test_true_certificates_are_confirmed(
    text: str, parameters: dict[str, int], upper: Fraction | None
) -> None:
    fields = certificate(text, **parameters)
    check_schema("service_certificate", fields)
    assert fields["evidence"]["by_difference"]
    bounds = fields["least_budget"]
    assert upper is None if bounds is None else Fraction(bounds["upper"]) == upper
    result = check(fields)
    assert result.outcome is Outcome.CONFIRMED, result.reason


# --- false ones -----------------------------------------------------------------------------------


def _changes(fields: Fields) -> Iterator[Fields]:
    """Yield the certificate with one thing changed, for each that matters."""

    def changed(change: Callable[[Fields], None]) -> Fields:
        other = copy.deepcopy(fields)
        change(other)
        return other

    kept = len(fields["evidence"]["by_difference"])
    for place, (first, _, value) in enumerate(fields["evidence"]["pairs"]):
        if Fraction(value):
            yield changed(lambda f, k=place: f["evidence"]["pairs"][k].__setitem__(2, "1/9"))
        for cell in range(len(first)):
            if isinstance(first[cell], int):

                def move(f: Fields, k: int = place, cell: int = cell) -> None:
                    f["evidence"]["pairs"][k][0][cell] += 1

                yield changed(move)
        yield changed(lambda f, k=place: f["evidence"]["pairs"].pop(k))
    for place in range(kept):
        yield changed(lambda f, k=place: f["evidence"]["by_difference"].pop(k))
    yield changed(lambda f: f["evidence"]["by_difference"].append("other"))
    yield changed(lambda f: f["least_budget"].update(lower="1/7", upper="1/7"))
    upper = Fraction(fields["least_budget"]["upper"]) + 1
    yield changed(lambda f: f["least_budget"].update(lower=str(upper), upper=str(upper)))
    for place, event in enumerate(fields["evidence"]["calls"]):
        if event["reply"] is not None or event["first"] != event["second"]:
            yield changed(lambda f, k=place: f["evidence"]["calls"].pop(k))


@pytest.mark.parametrize("text", [BUDGET, REAL, COUNTED])
def test_whatever_is_changed_is_not_confirmed(text: str) -> None:
    found = [outcome(fields) for fields in _changes(certificate(text))]
    assert len(found) > 10
    assert set(found) <= {Outcome.REFUTED, Outcome.NOT_CONFIRMED}
    assert found.count(Outcome.NOT_CONFIRMED) <= 1  # without the name of what is kept


def test_the_second_state_has_no_difference_of_its_own() -> None:
    fields = certificate(BUDGET)
    fields["evidence"]["pairs"][0][1][0] = 1
    assert outcome(fields) is Outcome.REFUTED


def test_a_gain_that_is_another_one_is_refuted() -> None:
    fields = certificate(FOR_EVER)
    assert fields["evidence"]["repeated"]["gain"] == "2/3"
    fields["evidence"]["repeated"]["gain"] = "1"
    assert outcome(fields) is Outcome.REFUTED


def test_weights_that_are_no_probabilities_confirm_nothing() -> None:
    for text in (COIN, COIN.replace("state n in int", "state n in -1..1").replace("n + d", "d")):
        fields = certificate(text)
        program = fields["program"]
        program["text"] = text.replace("1 : 1/2, 0 : 1/2", "1 : 3/2, 0 : -1/2")
        program["sha256"] = text_hash(program["text"])
        assert outcome(fields) is not Outcome.CONFIRMED


IDLE = "state idle in 0..9999 <- 0\n"
"""So many states that counters are kept by differences."""


@settings(max_examples=6, deadline=None)
@given(counting_services(), st.booleans(), st.fractions(0, 1).filter(lambda share: share < 1))
def test_random_services_are_confirmed_and_less_than_they_lose_is_not(
    text: str, many: bool, share: Fraction
) -> None:
    text = text.replace("state n", IDLE + "state n") if many else text
    try:
        proof = prove_service(service_of(text), None, (), Limits())
    except UserError:
        return
    if without_evidence(proof) is not None:
        return
    fields = json.loads(certify_service(proof, text).to_json())
    result = check(fields)
    assert result.outcome is Outcome.CONFIRMED, result.reason
    if proof.upper is None or share * proof.upper >= proof.lower:
        return
    fields["evidence"]["calls"] = None
    fields["least_budget"] = {"lower": "0", "upper": str(share * proof.upper)}
    for pair in fields["evidence"]["pairs"]:
        pair[2] = str(share * Fraction(pair[2]))
    assert outcome(fields) is Outcome.REFUTED


def test_what_tells_most_as_eps_vanishes_is_a_slope() -> None:
    """p / q = (1 + e^-ε) / 2: no budget below -1/2 has p <= e^(budget ε) q."""
    q = Quotient(ExponentialPolynomial.monomial(2))
    p = Quotient(ONE + ExponentialPolynomial.monomial(1, rate=-1))
    assert slope(p, q) == Fraction(-1, 2)
    assert slope(q, p) == Fraction(1, 2)
    assert slope(q, Quotient(ONE)) is None


# --- the two routes ------------------------------------------------------------------------------


@settings(max_examples=15, deadline=None)
@given(st.integers(-6, 6), st.integers(-4, 0), st.integers(0, 4), st.fractions(Fraction(1, 3), 3))
def test_what_a_clamped_sample_shows_has_probability_1(
    mean: int, low: int, more: int, scale: Fraction
) -> None:
    shown = Shown(0, Family.DISCRETE_LAPLACE, scale, (low, low + more), Line(Fraction(mean)))
    chances = [shown_chance(shown, Fraction(k)) for k in range(low, low + more + 1)]
    assert total(chances) == constant(1)
    for other in (Fraction(low - 1), Fraction(low + more + 1), Fraction(1, 2), "stop"):
        assert not shown_chance(shown, other).top


@settings(max_examples=10, deadline=None)
@given(counting_services(), st.integers(0, 4), st.integers(0, 3), st.integers(-3, 3))
def test_both_roads_to_replies_agree(text: str, n: int, m: int, tot: int) -> None:
    text = text.replace("tot in int", "tot in -9..9")
    service = service_of(text)
    listed, followed = (
        Listed(Transitions(service, Limits())),
        Followed(Ways(service, (), Limits())),
    )
    state = tuple(Fraction(v) for v in (n, m, tot, 1))
    for handler in service.handlers:
        values = tuple(cell.domain[-1] for cell in handler.arguments)
        for reply in [None] if handler.is_data else [(Fraction(k),) for k in (-3, 0, 3)]:
            try:
                found = [
                    {row: p for row, p, _ in route.answers(state, Call(handler, values), reply)}
                    for route in (listed, followed)
                ]
            except Stuck:
                return
            assert found[0].keys() == found[1].keys()
            for row, p in found[0].items():
                assert p.equals(found[1][row].top, found[1][row].bottom)
