"""Parameters of programs and values of cells, as every answer writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from dipapprox.digits import brief_text, exact_text
from dipapprox.language.core import Value


def parameter_fields(parameters: Mapping[str, Fraction]) -> dict[str, str]:
    """Return a program's parameters as the field "params"."""
    return {name: exact_text(value) for name, value in parameters.items()}


def parameters_text(parameters: Mapping[str, Fraction]) -> str:
    """Write a program's parameters for people: "N = 2, s = 4/3"."""
    return ", ".join(f"{name} = {brief_text(value)}" for name, value in parameters.items())


def values_text(values: Sequence[Value]) -> str:
    """Write values for people: "(0, 1)"."""
    return f"({', '.join(map(brief_text, values))})"
