"""Output probabilities as functions of ε: the checker's own closed forms, for every ε > 0.

In: a program whose noise has scales a / eps. Its paths do not depend on ε, only the laws do: paths
and factors are those of `distributions` at eps = 1. Trees are integrated exactly (`piecewise`),
choices are quotients. Out: for every input and output a `Quotient`; those of an input add up to
exactly 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import reduce
from typing import assert_never

from dipapprox.checking.chains import (
    Absorbed,
    Chain,
    Random,
    absorption,
    chances_in,
    require_ending,
)
from dipapprox.checking.chances import Chance
from dipapprox.checking.decisions.geometric import ExactSums, Stepwise
from dipapprox.checking.decisions.piecewise import ExactFunctions, Piecewise
from dipapprox.checking.decisions.quotients import Quotient, constant
from dipapprox.checking.distributions import Distributions, FactorsOfPaths
from dipapprox.checking.exact_probability import exact_probability
from dipapprox.checking.orders import General
from dipapprox.checking.trees import Messages
from dipapprox.checking.values import Stuck
from dipapprox.checking.weights import chance_form, divided
from dipapprox.language import core
from dipapprox.language.equal_turns import written_out
from dipapprox.limits import Limits

_ONE = constant(1)


class Quotients:
    """Arithmetic with functions of ε."""

    one = _ONE

    def plus(self, left: Quotient, right: Quotient) -> Quotient:
        """left + right."""
        return left.plus(right)

    def times(self, left: Quotient, right: Quotient) -> Quotient:
        """left * right."""
        return left.times(right)

    def over(self, left: Quotient, right: Quotient) -> Quotient:
        """left / right."""
        return divided(left, right)


class Forms:
    """Closed forms of a program's output probabilities.

    Args:
        program: The program.
        inputs: The inputs that will be asked for; all are followed at once.
        limits: Asked throughout.

    Attributes:
        chances: The distinct chances of choices on these inputs, those in loops included.
        chains: The loops that end by chance.

    Raises:
        Stuck: If the program cannot be followed, or has no closed forms that the check can derive.
        LimitReached: If `limits` run out.
    """

    def __init__(self, program: core.Program, inputs: list[core.Input], limits: Limits) -> None:
        for draw in _draws(written_out(program.body)):
            if draw.scale.power != -1:
                raise Stuck("noise of a scale that is not a / eps")
        self._derived = Distributions(program, Fraction(1), limits)
        self._limits = limits
        self._states = {input: self._derived.states(input) for input in inputs}
        forest, factors = self._derived.forest, self._derived.factors
        happenings = [f for f in factors if isinstance(f, Chance | Absorbed)]
        self.chances = tuple(dict.fromkeys(c for each in happenings for c in chances_in(each)))
        self.chains = tuple(
            dict.fromkeys(each.chain for each in happenings if isinstance(each, Absorbed))
        )
        self._chances: dict[Chance, Quotient] = {}
        self._solved: dict[Chain, dict[int, Quotient]] = {}
        self._forest = forest
        self._functions = ExactFunctions(node.sample for node in forest.nodes)
        self._messages: Messages[Piecewise] = Messages(forest, self._functions, limits)
        self._sums = ExactSums(node.sample for node in forest.nodes)
        self._steps: Messages[Stepwise] = Messages(forest, self._sums, limits)
        self._trees: dict[int, Quotient] = {}
        self._factors: dict[int, Quotient] = {}
        self._outputs: dict[FactorsOfPaths, Quotient] = {}

    def for_input(self, input: core.Input) -> dict[tuple[core.Value, ...], Quotient]:
        """Return the probabilities of the outputs that an input can have.

        Raises:
            Stuck: If they do not add up to 1, or cannot be derived.
            LimitReached: If the limits run out.
        """
        found = {output: self._output(states) for output, states in self._states[input].items()}
        if reduce(Quotient.plus, found.values(), constant(0)) != _ONE:
            raise Stuck("the probabilities that the check derives do not add up to 1")
        return found

    def is_possible(self, chance: Chance) -> bool:
        """Whether an outcome of a choice has a probability that is not 0 for all ε."""
        return bool(self._random(chance).top)

    def _random(self, happening: Random) -> Quotient:
        if isinstance(happening, Chance):
            if happening not in self._chances:
                self._chances[happening] = chance_form(happening)
            return self._chances[happening]
        chain = happening.chain
        if chain not in self._solved:
            require_ending(chain, self.is_possible, self.is_possible)
            self._solved[chain] = absorption(
                chain, self._random, self.is_possible, Quotients(), self._limits
            )
        return self._solved[chain].get(happening.state, constant(0))

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
                case Chance() | Absorbed():
                    self._factors[number] = self._random(factor)
                case General():
                    self._factors[number] = exact_probability(factor, self._limits).as_quotient()
                case _:
                    total = constant(0)
                    for sign, trees in factor:
                        product = reduce(Quotient.times, map(self._tree, trees), constant(sign))
                        total = total.plus(product)
                    self._factors[number] = total
        return self._factors[number]

    def _tree(self, tree: int) -> Quotient:
        if tree not in self._trees:
            if self._forest.nodes[tree].sample.law.family.is_discrete:
                self._trees[tree] = self._sums.total(self._steps.weighted(tree))
            else:
                self._trees[tree] = Quotient(self._functions.total(self._messages.weighted(tree)))
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
