"""Does a program mean something at every input, not only at those of its evidence?

A verdict at one ε is about the program on all of its inputs: its choices are distributions there,
and its loops end. Choices whose weights are made of inputs alone are looked at by themselves;
where that is not enough, all paths of all inputs are followed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import prod
from typing import assert_never

from dipapprox.checking.chances import Chance
from dipapprox.checking.distributions import Distributions
from dipapprox.checking.inputs import inputs_to_derive
from dipapprox.checking.pairs import Pair
from dipapprox.checking.paths import publishing_paths
from dipapprox.checking.values import Stuck, closed, datum_of
from dipapprox.checking.weights import require_distribution
from dipapprox.language import core
from dipapprox.language.domains import AllReals
from dipapprox.language.equal_turns import written_out
from dipapprox.limits import Limits
from dipapprox.privacy.notation import values_text
from dipapprox.semantics.cells import statements_in

_MOST_VALUES = 4096
"""Of the inputs that the weights of one choice are made of."""


def require_lawful(derived: Distributions, listed: Sequence[Pair] | None, limits: Limits) -> None:
    """Make sure that choices are distributions and loops end, whatever the input is.

    Args:
        derived: Of the program, at its ε.
        listed: The pairs that are asked about; where inputs are real only theirs are known.
        limits: Asked throughout.

    Raises:
        Stuck: If that is not so for some input, which the message names, or cannot be told.
        LimitReached: If `limits` run out.
    """
    program = derived.program
    body = tuple(statements_in(written_out(program.body)))
    choices = [each for each in body if isinstance(each, core.Choose)]
    loops = any(isinstance(each, core.While) for each in body)
    if not loops and all(_is_lawful(each, program, derived.eps, limits) for each in choices):
        return
    real = any(isinstance(cell.domain, AllReals) for cell in program.inputs)
    for input in inputs_to_derive(program, listed if real else None):
        try:
            for path in publishing_paths(program, derived.eps, input, limits):
                for happening in path.chances:
                    derived.require_lawful(happening)
        except Stuck as obstacle:
            raise Stuck(f"for the input {values_text(input)}: {obstacle}") from None


def _is_lawful(choice: core.Choose, program: core.Program, eps: Fraction, limits: Limits) -> bool:
    """Whether a choice is seen to be a distribution wherever it is made, without any path."""
    names = {name for _, weight in choice.options for name in _names(weight)}
    cells = [cell for cell in program.inputs if cell.name in names]  # never assigned
    domains = [cell.domain for cell in cells]
    if len(cells) < len(names) or any(isinstance(domain, AllReals) for domain in domains):
        return False
    if prod(map(len, domains)) > _MOST_VALUES:
        return False
    try:
        for values in product(*domains):
            store = {c.name: datum_of(value) for c, value in zip(cells, values, strict=True)}
            weights = tuple(closed(weight, store) for _, weight in choice.options)
            require_distribution(Chance(weights, 0, choice.proportional), eps, limits)
    except Stuck:
        return False  # but perhaps it is not made there
    return True


def _names(weight: core.Weight) -> Iterator[str]:
    """Yield what a weight is made of besides ε and numbers."""
    match weight:
        case core.Constant() | core.Epsilon():
            pass
        case core.Variable(name):
            yield name
        case core.Element(array):
            yield array  # which is no cell
        case (
            core.Sum(left, right)
            | core.Product(left, right)
            | core.WeightSum(left, right)
            | core.WeightProduct(left, right)
        ):
            yield from _names(left)
            yield from _names(right)
        case core.Inverse(operand) | core.Exponential(operand):
            yield from _names(operand)
        case _:
            assert_never(weight)
