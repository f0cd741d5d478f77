"""Forms and proofs of signs from JSON."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

from dipapprox.checking.decisions.proofs import (
    Argument,
    Box,
    Cover,
    DerivativesAtZero,
    Factors,
    FarAway,
    NearZero,
    NoNegativeTerm,
    Part,
    Point,
    Proof,
)
from dipapprox.checking.json_values import (
    read_list,
    read_object,
    read_rational,
    read_text,
    read_whole,
    wrong,
)
from dipapprox.exponentials import ExponentialPolynomial

T = TypeVar("T")

_LARGEST_POWER = 10_000


def read_form(item: object, where: str) -> ExponentialPolynomial:
    """Read a list of [power, rate, coefficient], each (power, rate) once."""
    terms = read_list(item, where, _term)
    found = {(power, rate): c for power, rate, c in terms}
    if len(found) < len(terms) or not all(found.values()):
        wrong(where, "terms that are not 0, each power and rate once")
    return ExponentialPolynomial.of(found)


def read_proof(item: object, where: str) -> Proof:
    """Read what is said to prove that a function is >= 0."""
    match item.get("kind") if isinstance(item, dict) else None:
        case "no negative term":
            read_object(item, where, "kind")
            return NoNegativeTerm()
        case "derivatives at 0":
            read_object(item, where, "kind")
            return DerivativesAtZero()
        case "point":
            point = read_object(item, where, "kind", "eps", "sign")
            return Point(read_rational(point["eps"], where), _sign(point["sign"], where, zero=True))
        case "factors":
            found = read_object(item, where, "kind", "sign", "rational_zeros", "factors")
            return Factors(
                _sign(found["sign"], f"{where}.sign"),
                read_list(found["rational_zeros"], f"{where}.rational_zeros", _zero),
                read_list(found["factors"], f"{where}.factors", _part),
            )
        case _:
            return wrong(
                f"{where}.kind", '"no negative term", "derivatives at 0", "point" or "factors"'
            )


def _term(item: object, where: str) -> tuple[int, Fraction, Fraction]:
    power, rate, c = _items(item, where, 3)
    return _power(power, where), read_rational(rate, where), read_rational(c, where)


def _zero(item: object, where: str) -> tuple[Fraction, int]:
    place, multiplicity = _items(item, where, 2)
    return read_rational(place, where), _power(multiplicity, where)


def _part(item: object, where: str) -> Part:
    found = read_object(item, where, "rate", "terms", "exponent", "cover")
    return Part(
        read_rational(found["rate"], f"{where}.rate"),
        read_list(found["terms"], f"{where}.terms", _part_term),
        _power(found["exponent"], f"{where}.exponent"),
        _or_none(found["cover"], f"{where}.cover", _cover),
    )


def _part_term(item: object, where: str) -> tuple[int, int, int]:
    c, n, j = _items(item, where, 3)
    whole = read_rational(c, where)
    if whole.denominator > 1:
        wrong(where, "a whole coefficient")
    return whole.numerator, _power(n, where), read_whole(j, where)


def _cover(item: object, where: str) -> Cover:
    found = read_object(item, where, "near_zero", "boxes", "far_away")
    return Cover(
        _or_none(found["near_zero"], f"{where}.near_zero", _near),
        read_list(found["boxes"], f"{where}.boxes", _box),
        _or_none(found["far_away"], f"{where}.far_away", _far),
    )


def _near(item: object, where: str) -> NearZero:
    found = read_object(item, where, "upper", "order", "sign")
    upper, order = read_rational(found["upper"], where), read_whole(found["order"], where)
    return NearZero(upper, order, _sign(found["sign"], where))


def _far(item: object, where: str) -> FarAway:
    found = read_object(item, where, "lower", "sign")
    return FarAway(read_rational(found["lower"], where), _sign(found["sign"], where))


def _box(item: object, where: str) -> Box:
    lower, upper, word, sign = _items(item, where, 4)
    if word not in [argument.value for argument in Argument]:
        wrong(where, "a box: lower, upper, argument, sign")
    return Box(
        read_rational(lower, where),
        read_rational(upper, where),
        Argument(read_text(word, where)),
        _sign(sign, where),
    )


def _items(item: object, where: str, count: int) -> list[object]:
    if not isinstance(item, list) or len(item) != count:
        wrong(where, f"a list of {count} items")
    return item


def _power(item: object, where: str) -> int:
    power = read_whole(item, where)
    if power > _LARGEST_POWER:
        wrong(where, f"at most {_LARGEST_POWER}")
    return power


def _sign(item: object, where: str, *, zero: bool = False) -> int:
    if not isinstance(item, int) or isinstance(item, bool) or abs(item) > 1 or not (item or zero):
        wrong(where, "a sign")
    return item


def _or_none(item: object, where: str, read: Callable[[object, str], T]) -> T | None:
    return None if item is None else read(item, where)
