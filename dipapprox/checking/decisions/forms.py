"""Output probabilities as functions of ε: the checker's own closed forms, for every ε > 0.

In: a program whose noise has scales a / eps. Its paths do not depend on ε, only the laws do: paths
and factors are those of `distributions` at eps = 1. Trees are integrated exactly (`piecewise`),
choices are quotients. Out: for every row and output a `Quotient`; each row's add up to exactly 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import reduce
from typing import assert_never

from dipapprox.checking.chances import Chance
from dipapprox.checking.decisions.piecewise import ExactFunctions, Piecewise
from dipapprox.checking.decisions.quotients import Quotient, constant
from dipapprox.checking.distributions import Distributions, FactorsOfPaths
from dipapprox.checking.orders import General
from dipapprox.checking.trees import Messages
from dipapprox.checking.values import Stuck
from dipapprox.checking.weights import chance_form
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.language import core
from dipapprox.limits import Limits

_ONE = constant(1)


class Forms:
    """Closed forms of a program's output probabilities.

    Args:
        program: The program.
        rows: The inputs that will be asked for; all are followed at once.
        limits: Asked throughout.

    Attributes:
        chances: The distinct chances of choices on these rows.

    Raises:
        Stuck: If the program cannot be followed, or has no closed forms that the check can derive.
        LimitReached: If `limits` run out.
    """

    def __init__(self, program: core.Program, rows: list[core.InputRow], limits: Limits) -> None:
        for draw in _draws(program.body):
            if draw.scale.power != -1:
                raise Stuck("noise of a scale that is not a / eps")
        self._derived = Distributions(program, Fraction(1), limits)
        self._limits = limits
        self._states = {row: self._derived.states(row) for row in rows}
        forest, factors = self._derived.forest, self._derived.factors
        if any(isinstance(factor, General) for factor in factors):
            raise Stuck("comparisons of more than two samples have no closed form in the check")
        self.chances = tuple(factor for factor in factors if isinstance(factor, Chance))
        self._functions = ExactFunctions(node.sample for node in forest.nodes)
        self._messages: Messages[Piecewise] = Messages(forest, self._functions, limits)
        self._trees: dict[int, ExponentialPolynomial] = {}
        self._factors: dict[int, Quotient] = {}
        self._outputs: dict[FactorsOfPaths, Quotient] = {}

    def row(self, row: core.InputRow) -> dict[tuple[core.Value, ...], Quotient]:
        """Return the probabilities of the outputs that an input can have.

        Raises:
            Stuck: If they do not add up to 1, or cannot be derived.
            LimitReached: If the limits run out.
        """
        found = {output: self._output(states) for output, states in self._states[row].items()}
        if reduce(Quotient.plus, found.values(), constant(0)) != _ONE:
            raise Stuck("the probabilities that the check derives do not add up to 1")
        return found

    def _output(self, states: FactorsOfPaths) -> Quotient:
        if states not in self._outputs:
            self._limits.check()
            products = (
                reduce(Quotient.times, map(self._factor, numbers), _ONE) for numbers in states
            )
            self._outputs[states] = reduce(Quotient.plus, products, constant(0))
        return self._outputs[states]

    def _factor(self, number: int) -> Quotient:
        if number not in self._factors:
            factor = self._derived.factors[number]
            match factor:
                case Chance():
                    self._factors[number] = chance_form(factor)
                case General():
                    raise AssertionError("refused before")
                case _:
                    total = constant(0)
                    for sign, trees in factor:
                        product = reduce(
                            ExponentialPolynomial.__mul__,
                            map(self._tree, trees),
                            ExponentialPolynomial.constant(sign),
                        )
                        total = total.plus(Quotient(product))
                    self._factors[number] = total
        return self._factors[number]

    def _tree(self, tree: int) -> ExponentialPolynomial:
        if tree not in self._trees:
            self._trees[tree] = self._functions.total(self._messages.weighted(tree))
        return self._trees[tree]


def _draws(block: core.Block) -> Iterator[core.Draw]:
    for statement in block:
        match statement:
            case core.Draw():
                yield statement
            case core.If(_, then, otherwise):
                yield from _draws(then)
                yield from _draws(otherwise)
            case core.While(_, body):
                yield from _draws(body)
            case core.Assign() | core.Choose() | core.Exit():
                pass
            case _:
                assert_never(statement)
