"""Proofs of signs: those of the exact engine are confirmed, wrong ones are refuted."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dipapprox.certificates.proofs import Factors, Proof
from dipapprox.certificates.reading import convert
from dipapprox.certificates.sign_evidence import proof_of as recorded_proof
from dipapprox.certificates.statement import Statement
from dipapprox.certificates.writing import fields_of
from dipapprox.checking.claims import Interval
from dipapprox.checking.decisions.covers import Refuted
from dipapprox.checking.decisions.quotients import canonical
from dipapprox.checking.decisions.signs import grows_from_zero, is_positive
from dipapprox.checking.values import Stuck
from dipapprox.errors import LimitReached, UserError
from dipapprox.exact.signs.nonnegative import Negative, Nonnegative, is_nonnegative
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.limits import Limits, limited
from dipapprox.privacy.decisions.epsilons import closed_interval
from tests.checking.certified import at, places, replaced

E = ExponentialPolynomial.monomial
ONE = ExponentialPolynomial.constant(1)
TINY = Fraction(1, 10**6)

INTERVALS: list[tuple[Fraction, Fraction | None]] = [
    (Fraction(0), None),
    (Fraction(0), Fraction(3)),
    (Fraction(1, 2), None),
    (Fraction(1, 3), Fraction(2)),
]

NEAR_DOUBLE = (E(1) - E(2, rate=-1)) ** 2 + E(TINY**2)
"""(1 - 2 e^(-ε))² + 10^-12: nearly a double zero at log 2."""

FUNCTIONS = {
    "double zero": (E(1) - E(2, rate=-1)) ** 2,
    "double rational zero": (E(1, 1) - E(1)) ** 2 * (E(1) + E(1, rate=-2)),
    "nearly a double zero": NEAR_DOUBLE,
    "a parabola": E(1, 2) - E(2, 1) + E(Fraction(11, 10)),
    "slow to grow": E(1) - E(3, rate=-1) + E(3, rate=-2) - E(Fraction(999, 1000), rate=-3),
    "flat at 0": (E(1) - E(1, rate=-1)) ** 4 * NEAR_DOUBLE,
    "rational zeros below 0": (E(1, 1) + E(1)) ** 2 * (E(2) + E(1, 1)) * NEAR_DOUBLE,
    "many factors": (E(1) - E(2, rate=-1)) ** 2 * (E(1, 1) - E(2) + E(3, rate=-1)) ** 3,
}


WITH_ZEROS = ("double zero", "double rational zero", "many factors")


def proof_of(
    function: ExponentialPolynomial, lower: Fraction, upper: Fraction | None
) -> dict[str, Any] | None:
    """What the exact engine records; None if the function is negative somewhere."""
    found = is_nonnegative(function, closed_interval(lower, upper), Limits())
    if isinstance(found, Negative):
        return None
    assert isinstance(found, Nonnegative)
    fields = json.loads(json.dumps(fields_of(recorded_proof(found.evidence))))
    assert isinstance(fields, dict)
    return fields


class Recorded(Statement, frozen=True):
    """A proof in a file."""

    proof: Proof


def read_proof(fields: dict[str, Any]) -> Proof:
    """Read a proof as a file has it."""
    return convert({"proof": fields}, Recorded).proof


def holds(
    function: ExponentialPolynomial, proof: Proof, lower: Fraction, upper: Fraction | None
) -> bool:
    return is_positive(canonical(function), proof, Interval(lower, upper), Limits())


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(("lower", "upper"), INTERVALS)
def test_proofs_of_hard_functions_are_confirmed(
    name: str, lower: Fraction, upper: Fraction | None
) -> None:
    function = FUNCTIONS[name]
    fields = proof_of(function, lower, upper)
    assert fields is not None
    positive = holds(function, read_proof(fields), lower, upper)
    assert positive == (name not in WITH_ZEROS)


rates = st.fractions(-3, 0, max_denominator=3)
terms = st.tuples(st.integers(0, 2), rates, st.integers(-5, 5))
functions = st.lists(terms, min_size=1, max_size=4).map(
    lambda parts: ExponentialPolynomial.of({(n, q): Fraction(c) for n, q, c in parts})
)


@settings(deadline=None, max_examples=36)
@given(functions, st.sampled_from(INTERVALS))
def test_every_proof_of_the_engine_is_confirmed_and_none_of_the_opposite(
    function: ExponentialPolynomial, ends: tuple[Fraction, Fraction | None]
) -> None:
    square = function * function + E(TINY)
    for each in (function, square):
        fields = proof_of(each, *ends)
        if fields is None:
            continue
        proof = read_proof(fields)
        positive = holds(each, proof, *ends)
        assert positive or each is function
        if each:
            with pytest.raises(Refuted):
                holds(-each, proof, *ends)


@settings(deadline=None, max_examples=36)
@given(functions)
def test_what_derivatives_at_0_prove_is_true(function: ExponentialPolynomial) -> None:
    if function and grows_from_zero(canonical(function), Limits()):
        found = is_nonnegative(function, closed_interval(Fraction(0), None), Limits())
        assert isinstance(found, Nonnegative)


@pytest.mark.parametrize("name", ["nearly a double zero", "many factors"])
def test_a_proof_with_another_number_is_not_confirmed(name: str) -> None:
    function, (lower, upper) = FUNCTIONS[name], INTERVALS[2]
    fields = proof_of(function, lower, upper)
    assert fields is not None
    assert fields["kind"] == "factors"
    changed = 0
    for place in places(fields):
        value = at(fields, place)
        if value is None or value in ("constant", "monotone", "crossing", "factors"):
            continue
        if isinstance(value, str):
            other: object = str(Fraction(value) + (1 if "terms" in place else Fraction(1, 7)))
        else:
            other = -value if "sign" in place or "boxes" in place else value + 1
        try:
            proof = read_proof(replaced(fields, place, other))
        except UserError:  # malformed is as good as refuted
            continue
        with pytest.raises((Refuted, Stuck)):
            holds(function, proof, lower, upper)
        changed += 1
    assert changed > 20


@pytest.mark.parametrize(
    ("argument", "sign", "message"),
    [
        ("constant", 1, "does not have the sign"),
        ("constant", -1, "does not have the sign"),
        ("monotone", 1, "the signs at"),
        ("monotone", -1, "the signs at"),
        ("crossing", 1, "the signs at"),
        ("crossing", -1, "changes its sign"),  # the box is right, the function is not >= 0
    ],
)
def test_what_is_said_of_a_box_is_examined(argument: str, sign: int, message: str) -> None:
    function = E(1) - E(2, rate=-1)  # negative below log 2
    boxes = [["1/2", "1", argument, sign]]
    part = {
        "rate": "1",
        "terms": [["1", 0, 0], ["-2", 0, 1]],
        "exponent": 1,
        "cover": {"near_zero": None, "boxes": boxes, "far_away": None},
    }
    fields = {"kind": "factors", "sign": 1, "rational_zeros": [], "factors": [part]}
    with pytest.raises(Refuted, match=message):
        holds(function, read_proof(fields), Fraction(1, 2), Fraction(1))


def test_factors_are_no_larger_than_the_function() -> None:
    """A wrong exponent is told before a power of 10,000 terms is computed."""
    function = E(1, 1) + E(1)
    proof = convert(
        {"kind": "factors", "sign": 1, "rational_zeros": [["-1", 10_000]], "factors": []}, Factors
    )
    with limited(Limits(seconds=0)), pytest.raises(Refuted, match="larger than the function"):
        is_positive(canonical(function), proof, Interval(Fraction(0), None), Limits())


def test_powers_of_factors_ask_the_limits(work_clock: Callable[[], float]) -> None:
    function = E(1, 10_000) + E(1)
    proof = convert(
        {"kind": "factors", "sign": 1, "rational_zeros": [["-1", 10_000]], "factors": []}, Factors
    )
    limits = Limits(seconds=0.1, started=0)
    with limited(limits), pytest.raises(LimitReached, match="time limit"):
        is_positive(canonical(function), proof, Interval(Fraction(0), None), limits)
    assert work_clock() < 0.2
