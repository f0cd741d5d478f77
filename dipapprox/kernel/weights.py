"""Weights, and formulas of claims: trees that mention eps, as functions of it and as text."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.exponentials import Ratio, Sum
from dipapprox.kernel.expressions import number_of
from dipapprox.kernel.machine import Tree
from dipapprox.kernel.signs import Signs
from dipapprox.kernel.states import Store


def weight_of(tree: Tree, signs: Signs, store: Store, turn: int) -> Ratio:
    """Return a weight as a function of eps."""
    match tree:
        case ("eps",):
            return Ratio(Sum.of([((Fraction(0), 1), Fraction(1))]))
        case "inverse", operand:
            return signs.inverse(weight_of(operand, signs, store, turn))
        case "exp", operand:
            return weight_of(operand, signs, store, turn).exponential()
        case ("+" | "*") as word, left, right:
            one, other = (weight_of(each, signs, store, turn) for each in (left, right))
            return one + other if word == "+" else one * other
    return Ratio.constant(Fraction(number_of(tree, store, turn)))


def probabilities(
    options: Sequence[Tree], proportional: bool, signs: Signs, store: Store, turn: int
) -> list[Ratio]:
    """Return with which probabilities a choice takes its options, as functions of eps."""
    weights = [weight_of(weight, signs, store, turn) for _, _, weight in options]
    total = Ratio.constant(Fraction(0))
    for weight in weights:
        if not signs.tell(weight.numerator, positive=False):
            raise NotProved("weights that are not known to be >= 0")
        total = total + weight
    if proportional:
        inverse = signs.inverse(total)
        return [weight * inverse for weight in weights]
    if not signs.is_zero((total + Ratio.constant(Fraction(-1))).numerator):
        raise NotProved("probabilities that do not add up to 1")
    return weights


def formula_of(tree: Tree, signs: Signs) -> Ratio:
    """Return a weight without cells as a function of eps; see `weight_of`."""
    return weight_of(tree, signs, {}, 0)


def text_of(tree: Tree) -> str:
    """Write a weight without cells for people."""
    match tree:
        case ("eps",):
            return "eps"
        case ("inverse" | "exp") as word, operand:
            return f"{'1 / ' if word == 'inverse' else word}({text_of(operand)})"
        case "+", left, right:
            return f"({text_of(left)} + {text_of(right)})"
        case "*", left, right:
            return f"{text_of(left)} * {text_of(right)}"
    if isinstance(tree, tuple):
        raise NotProved("a formula mentions a cell")
    return str(tree)
