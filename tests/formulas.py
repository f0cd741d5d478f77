"""Random formulas, and what they are by Python's rules: exact fractions, or many decimals."""

import decimal
import re
from decimal import Decimal
from fractions import Fraction
from operator import methodcaller
from typing import Any

from tests.grammars import texts

rational_formulas, formulas = (texts("formulas", 8, kind) for kind in ("rational", "formula"))

FUNCTIONS = {"sqrt": methodcaller("sqrt"), "log": methodcaller("ln"), "exp": methodcaller("exp")}
"""Of decimals, correctly rounded: an oracle that shares no code with us."""


def exact(formula: str, **values: Fraction) -> Fraction | None:
    """Evaluate a rational formula; None if it divides by 0."""
    try:
        return Fraction(_evaluated(formula, values))
    except ZeroDivisionError:
        return None


def rounded(formula: str, **values: Fraction) -> Fraction | None:
    """Evaluate to 40 digits; None if there is no value, or more than 120 digits are needed."""
    found = []
    for digits in (120, 200):
        context = decimal.Context(digits, traps=[decimal.InvalidOperation, decimal.Overflow])
        with decimal.localcontext(context):
            own = {name: Decimal(x.numerator) / x.denominator for name, x in values.items()}
            try:
                found.append(Fraction(_evaluated(formula, own)))
            except (ArithmeticError, ValueError):  # an infinity is no number
                return None
    return found[1] if abs(found[0] - found[1]) <= abs(found[1]) / 10**40 else None


def _evaluated(formula: str, values: dict[str, Any]) -> Any:
    (number,) = {type(value) for value in values.values()}
    python = re.sub(r"\b[\d.]+\b", r"number('\g<0>')", formula.replace("^", "**"))
    return eval(python, {"number": number, **FUNCTIONS, **values})
