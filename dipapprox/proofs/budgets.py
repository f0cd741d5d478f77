"""Budgets in words."""

from __future__ import annotations

from fractions import Fraction

from dipapprox.digits import exact_text


def budget_text(budget: Fraction) -> str:
    """Write a budget: "1/2 · ε"."""
    return f"{exact_text(budget)} · ε"


def private_text(budget: Fraction | None) -> str:
    """Write pure privacy with a budget; None stands for some budget."""
    if budget is None:
        return "private"
    return "(ε, 0)-DP" if budget == 1 else f"({exact_text(budget)} ε, 0)-DP"
