"""From an event to an enclosure of its probability."""

from decimal import Decimal
from fractions import Fraction
from math import gcd, lcm
from typing import Any

from dipapprox import Enclosure, Options
from dipapprox.events.canonical import canonical
from dipapprox.events.event import Event
from dipapprox.events.reduce import connected_parts, is_possible
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import FAMILIES
from dipapprox.linear.form import LinearForm
from dipapprox.privacy.subjects import open_method

Plain = dict[str, Any]
"""An event as plain data; see the package."""

BITS = 40

_DECIMALS = 15

Row = tuple[Fraction, ...]


def adapted(event: Plain) -> tuple[str, str] | None:
    """Enclose the probability of an event to 2^-`BITS`; None where there is no enclosure."""
    samples = []
    for law in event["laws"]:
        family, mean, scale = law.split()
        samples.append(Distribution(FAMILIES[family], Fraction(mean), Fraction(scale)))
    guards = []
    for guard in event["guards"]:
        *coefficients, constant = map(Fraction, guard.split())
        guards.append(LinearForm.of(dict(enumerate(coefficients)), constant))
    parts = connected_parts(Event(tuple(samples), tuple(guards)))
    if parts is None or not all(is_possible(part) for _, part in parts):
        return "0", "0"
    options = Options()
    factors = [canonical(part) for _, part in parts]
    lower = upper = Fraction(1)
    for found in open_method(options).enclose(factors, BITS, options.limits):
        if not isinstance(found, Enclosure):
            return None
        lower, upper = lower * found.lower, upper * found.upper
    return printed(lower, upper)


def printed(lower: Fraction, upper: Fraction) -> tuple[str, str]:
    """Write two ends: small fractions as they are, others as decimals rounded outward."""
    if lower == upper and lower.denominator <= 10**6:
        return str(lower), str(upper)
    low, high = lower * 10**_DECIMALS // 1, -(-upper * 10**_DECIMALS // 1)
    return _decimal(low), _decimal(high)


def _decimal(number: int) -> str:
    return str(Decimal(number).scaleb(-_DECIMALS).normalize())


def plain(laws: list[str], forms: list[Row]) -> Plain:
    """Write an event in its normal form.

    Args:
        laws: Of the samples.
        forms: Of the guards: a coefficient for each sample, and the constant.

    Returns:
        The event without samples that no guard is about, these in order of their laws and of what
        is said of them, guards of coprime integers, each once, in order.
    """
    used = [k for k in range(len(laws)) if any(form[k] for form in forms)]
    rows = {_coprime(form) for form in forms}
    columns = {k: (laws[k], sorted((row[k], row[-1], _shape(row)) for row in rows)) for k in used}
    order = sorted(used, key=columns.__getitem__)
    guards = sorted((*(row[k] for k in order), row[-1]) for row in rows)
    return {
        "laws": [laws[k] for k in order],
        "guards": [" ".join(map(str, guard)) for guard in guards],
    }


def _coprime(form: Row) -> Row:
    """Multiply a form by the least positive number that makes its coefficients coprime integers."""
    numbers = [number for number in form[:-1] if number]
    common = lcm(*(number.denominator for number in numbers))
    divisor = gcd(*(int(number * common) for number in numbers))
    return tuple(number * common / divisor for number in form)


def _shape(row: Row) -> tuple[Fraction, ...]:
    """Return what is told of a guard by its numbers alone, whatever the order of the samples."""
    return tuple(sorted(row[:-1]))
