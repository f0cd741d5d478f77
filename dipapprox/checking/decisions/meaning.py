"""Does a claim about all ε of an interval make sense? Choices are distributions there, δ is >= 0.

A violation is found at one ε, but claims about an interval are about programs that have a meaning
on all of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from dipapprox.checking.chains import Absorbed, Chain, chances_in, require_ending
from dipapprox.checking.chances import Chance
from dipapprox.checking.claims import DecisionClaim
from dipapprox.checking.decisions.delta import read_delta
from dipapprox.checking.decisions.found_signs import FoundSigns
from dipapprox.checking.decisions.quotients import Quotient
from dipapprox.checking.paths import publishing_paths
from dipapprox.checking.values import Stuck
from dipapprox.checking.weights import chance_form
from dipapprox.language import core
from dipapprox.language.core import Input, Program
from dipapprox.language.equal_turns import written_out
from dipapprox.limits import Limits


def chooses(program: Program) -> bool:
    """Whether a program has random choices, on any input."""
    return any(_chooses(statement) for statement in written_out(program.body))


def require_meaning(
    program: Program, inputs: Iterable[Input], claim: DecisionClaim, limits: Limits
) -> None:
    """Make sure that a program, on some inputs, and a δ have a meaning on all of an interval.

    Raises:
        UserError: If a weight or δ is below 0 somewhere.
        Stuck: If the rest is not shown.
        LimitReached: If `limits` run out.
    """
    signs = FoundSigns(claim.interval, limits)
    delta = read_delta(claim.delta)
    if delta.exact is not None:
        for divisor in (*delta.divisors, Quotient(delta.exact.bottom)):
            signs.require_divisor(divisor, "a denominator of delta")
        if not signs.shows(signs.same_sign(delta.exact)):
            raise Stuck("it is not shown that delta is >= 0")
    chances: dict[object, Chance] = {}
    chains: dict[Chain, None] = {}
    eps = claim.interval.inner_point  # paths are those of every ε
    for input in inputs:
        for path in publishing_paths(program, eps, input, limits):
            for happening in path.chances:
                chances.update(((c.weights, c.proportional), c) for c in chances_in(happening))
                if isinstance(happening, Absorbed):
                    chains[happening.chain] = None
    for chance in chances.values():
        signs.require_choice(chance)
    for chain in chains:
        require_ending(chain, _may_happen, signs.surely_happens)


def _chooses(statement: core.Statement) -> bool:
    match statement:
        case core.Choose():
            return True
        case core.If(_, then, otherwise):
            return any(map(_chooses, (*then, *otherwise)))
        case core.While(_, body):
            return any(map(_chooses, body))
        case core.Assign() | core.Draw() | core.Exit():
            return False
        case _:
            assert_never(statement)


def _may_happen(chance: Chance) -> bool:
    return bool(chance_form(chance).top)
