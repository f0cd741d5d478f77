"""Does a claim about all ε of an interval make sense? Choices are distributions there, δ is >= 0.

A violation is found at one ε, but claims about an interval are about programs that have a meaning
on all of it. Proofs of signs that no file records are those of the exact engine; they are examined
as recorded ones are.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import assert_never

from dipapprox.certificates.sign_evidence import proof_of
from dipapprox.checking.chains import Absorbed, Chain, chances_in, require_ending
from dipapprox.checking.chances import Chance
from dipapprox.checking.claims import DecisionClaim
from dipapprox.checking.decisions.delta import read_delta
from dipapprox.checking.decisions.known_signs import KnownSigns
from dipapprox.checking.decisions.quotients import Canonical, Quotient, as_function
from dipapprox.checking.decisions.signs import sign_at
from dipapprox.checking.partial_result import PartialResult
from dipapprox.checking.paths import publishing_paths
from dipapprox.checking.values import Stuck
from dipapprox.checking.weights import chance_form
from dipapprox.digits import brief_text
from dipapprox.errors import UserError
from dipapprox.exact.signs.nonnegative import Negative, Nonnegative, Undecided, is_nonnegative
from dipapprox.language import core
from dipapprox.language.core import Input, Program
from dipapprox.language.equal_turns import written_out
from dipapprox.limits import Limits
from dipapprox.privacy.decisions.epsilons import closed_interval


class _Signs(KnownSigns):
    """Signs on an interval; proofs that nobody recorded are the exact engine's."""

    def shows(self, function: Canonical) -> bool:
        """Whether a function is >= 0 on the interval.

        Raises:
            UserError: If it is below 0 somewhere.
        """
        below = self._learn(function)
        if below is not None:
            raise UserError(f"a probability or delta is below 0 at eps = {brief_text(below)}")
        return super().shows(function)

    def _is_positive(self, function: Canonical) -> bool:
        self._learn(function)
        return super()._is_positive(function)

    def _learn(self, function: Canonical) -> Fraction | None:
        """Look for a proof, and examine it; or return an ε at which the function is below 0."""
        if super().shows(function) or super()._is_positive(function):
            return None
        form = as_function(function)
        epsilons = closed_interval(self.interval.lower, self.interval.upper)
        found = is_nonnegative(form, epsilons, self.limits)
        match found:
            case Negative(eps):
                return eps if sign_at(form, eps, self.limits) < 0 else None
            case Nonnegative():
                self.learn(form, proof_of(found.evidence), "", PartialResult())
            case Undecided():
                pass
            case _:
                assert_never(found)
        return None


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
    signs = _Signs(claim.interval, limits)
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
