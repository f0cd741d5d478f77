"""Plans in words: what elimination computes, function by function, for `explain`."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import assert_never

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed, short
from dipapprox.digits import exact_text
from dipapprox.events.canonical import canonical_factors
from dipapprox.events.event import Event
from dipapprox.laws.distribution import Distribution
from dipapprox.numerics.elimination.plan import (
    BetweenConstants,
    Convolved,
    Factors,
    Function,
    FunctionDifference,
    FunctionTable,
    Moved,
    RestrictedDensity,
    Running,
    Terms,
)
from dipapprox.numerics.elimination.planning import eliminate, order_event
from dipapprox.numerics.elimination.sum_event import sums_compared
from dipapprox.numerics.methods import as_continuous

_LONG = 12  # characters of a number that is shortened if it has more
_BITS = 40  # of probabilities, which the functions of sums are made for


def plan_lines(event: Event) -> tuple[str, ...]:
    """Write the functions of t that elimination makes of an event, and what they come to.

    Samples are moved and scaled to what they have in common with others, and functions of alike
    ones are one; independent parts are factors. Or it says why there is no such plan.
    """
    table, found, factors = FunctionTable(), list[Terms](), canonical_factors(event)
    for part in factors or ():
        plain = as_continuous(part)
        order = order_event(plain) if isinstance(plain, Event) else plain
        if isinstance(plain, Event) and isinstance(order, NotEnclosed):
            order = sums_compared(plain, _BITS)
        terms = order if isinstance(order, NotEnclosed) else eliminate(order, table)
        if isinstance(terms, NotEnclosed):
            return (terms.reason,)
        found.append(terms)
    functions = (f"f{k} = {_function(each)}" for k, each in enumerate(table.functions, 1))
    several = len(found) > 1
    parts = (f"({each})" if several else each for each in map(_sum, found))
    return (*functions, f"probability = {' '.join(parts) or int(factors is not None)}")


def _function(function: Function) -> str:
    match function:
        case RestrictedDensity(law, lower, upper):
            return f"density of {_law(law)}{_where(lower, upper)}"
        case Running(factors, from_left):
            return f"integral of {_product(factors)} {'up to t' if from_left else 'from t on'}"
        case Moved(number, offset):
            return f"{_name(number)}(t {'-' if offset < 0 else '+'} {_number(abs(offset))})"
        case FunctionDifference(upper, lower):
            return f"{_name(upper)} - {_name(lower)}"
        case Convolved(left, right):
            other = _law(right) if isinstance(right, Distribution) else _product(right)
            return f"density of a sum: {_product(left)}, and {other}"
        case BetweenConstants(number, lower, upper):
            return f"{_name(number)}{_where(lower, upper)}"
    assert_never(function)


def _name(number: int) -> str:
    return f"f{number + 1}"


def _law(law: Distribution) -> str:
    return f"{law.family.name}({_number(law.mean)}, {_number(law.scale)})"


def _number(value: Fraction) -> str:
    text = exact_text(value)  # roots, and bounds of what is left out, are long
    return text if len(text) <= _LONG else f"{short(Enclosure.exact(value), 6)[0]}…"


def _where(lower: Fraction | None, upper: Fraction | None) -> str:
    before = "" if lower is None else f"{_number(lower)} <= "
    after = "" if upper is None else f" <= {_number(upper)}"
    return f" where {before}t{after}" if before or after else ""


def _product(factors: Factors) -> str:
    return " ".join(f"{_name(n)}{f'^{power}' * (power > 1)}" for n, power in factors)


def _sum(terms: Terms) -> str:
    return "".join(_signed(terms)).removeprefix("+ ") or "0"


def _signed(terms: Terms) -> Iterator[str]:
    for place, (coefficient, factors) in enumerate(terms):
        times = "" if abs(coefficient) == 1 else f"{abs(coefficient)} "
        yield f"{' ' * bool(place)}{'-' if coefficient < 0 else '+'} "
        yield f"{times}integral of {_product(factors)}"
