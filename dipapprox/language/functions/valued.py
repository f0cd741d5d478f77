"""What needs the number itself that a symbol is on a path: indices, `//`, `%`, powers, `round`.

In: symbols with finitely many values. Out: what Python computes with each of these.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from operator import floordiv, mod
from typing import Any

from dipapprox.language.functions.symbolic import (
    Run,
    Symbolic,
    exact,
    is_number,
    is_symbol,
    leave_to,
)


class Valued(Symbolic):
    """A symbol that may have finitely many values."""

    __slots__ = ()

    def __index__(self) -> int:
        value = self.run.value_of(self)
        if isinstance(value, str) or value.denominator != 1:
            raise self.run.refusal("type error", f"{value} is no whole number")
        return int(value)

    __int__ = __index__

    def __floordiv__(self, other: Any) -> Any:
        return self._with_known(other, floordiv, "//", "__rfloordiv__")

    def __rfloordiv__(self, other: Any) -> Any:
        return self._with_known(other, _mirrored(floordiv), "//", "")

    def __mod__(self, other: Any) -> Any:
        return self._with_known(other, mod, "%", "__rmod__")

    def __rmod__(self, other: Any) -> Any:
        return self._with_known(other, _mirrored(mod), "%", "")

    def __divmod__(self, other: Any) -> Any:
        return self._with_known(other, divmod, "divmod", "__rdivmod__")

    def __rdivmod__(self, other: Any) -> Any:
        return self._with_known(other, _mirrored(divmod), "divmod", "")

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            exponent, last = (_number(self.run, each, "**") for each in (other, modulus))
            return _modular(self.value(), exponent, last)
        return self._with_known(other, _power, "**", "__rpow__")

    def __rpow__(self, other: Any) -> Any:
        return self._with_known(other, _mirrored(_power), "**", "")

    def __round__(self, digits: Any = None) -> Any:
        if digits is None:
            return round(self.value())
        return _rounded(self.value(), _number(self.run, digits, "round"))

    def __floor__(self) -> int:
        return self.value().__floor__()

    def __ceil__(self) -> int:
        return self.value().__ceil__()

    def __trunc__(self) -> int:
        return self.value().__trunc__()

    def _with_known(
        self, other: Any, operate: Callable[[Any, Any], Any], operator: str, method: str
    ) -> Any:
        """Compute with the value itself; an operand that is no number may answer to `method`."""
        if not is_symbol(other) and not is_number(other):
            leave_to(self.run, other, method, operator)
            return NotImplemented
        found = operate(self.value(), _number(self.run, other, operator))
        if isinstance(found, float | complex):
            raise self.run.refusal("type error", f"'{operator}' makes a float here: {found!r}")
        return found

    def value(self) -> int | Fraction:
        """Return the number that it is on the path: each is a path."""
        value = self.run.value_of(self)
        if isinstance(value, str):
            raise self.run.refusal("type error", f"'{value}' is no number")
        return int(value) if value.denominator == 1 else value


def _number(run: Run, value: Any, operator: str) -> int | Fraction:
    """Return the number that an operand is on the path."""
    if is_symbol(value):
        return value.value()
    number = exact(run, value, f"an operand of {operator}")
    return int(number) if number.denominator == 1 else number


# Numbers that are not whole fail here as they do in Python.
_modular: Callable[[Any, Any, Any], Any] = pow
_rounded: Callable[[Any, Any], Any] = round


def _mirrored(operate: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda left, right: operate(right, left)


def _power(base: int | Fraction, exponent: int | Fraction) -> Any:
    power = Fraction(base) ** exponent
    return int(power) if isinstance(power, Fraction) and power.denominator == 1 else power
