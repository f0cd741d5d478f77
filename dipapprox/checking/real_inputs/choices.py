"""Finite choices, case by case: a program is a mixture of what it is if they go one way or another.

If their laws depend on ε alone, Pr[out | q] = Σ weight · Pr[out | q, case]: what is shown in every
case for the logarithm of a probability holds for the program, and an output is the union of what
leads to it in all cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import prod

from dipapprox.certificates.real_inputs import Chosen
from dipapprox.checking.chances import Chance
from dipapprox.checking.claims import Interval
from dipapprox.checking.decisions.known_signs import KnownSigns
from dipapprox.checking.real_inputs.runs import choices_of
from dipapprox.checking.values import Stuck, closed
from dipapprox.checking.weights import chance_form
from dipapprox.language import core
from dipapprox.language.equal_turns import written_out
from dipapprox.limits import Limits

_ALL = Interval(Fraction(0), None)

_MOST_CASES = 1_000

Case = dict[int, int]
"""For each site of a choice the number of the option that it takes."""


class Choices:
    """The choices of a program, all of them lawful at every ε.

    Args:
        program: The program.
        limits: Asked again and again.

    Raises:
        Stuck: If a law depends on what happened before, or is not shown to be one.
    """

    def __init__(self, program: core.Program, limits: Limits) -> None:
        signs = KnownSigns(_ALL, limits)
        choices = choices_of(written_out(program.body))
        self._options = dict[int, list[int]]()
        self.have_constant_weights = True
        for choice in choices:
            weights = tuple(closed(weight, {}) for _, weight in choice.options)
            chances = [Chance(weights, k, choice.proportional) for k in range(len(weights))]
            signs.require_choice(chances[0])
            forms = [chance_form(chance) for chance in chances]
            self._options[choice.site] = [k for k, form in enumerate(forms) if form.top]
            for form in forms:
                constant = form.top.as_constant(), form.bottom.as_constant()
                self.have_constant_weights &= None not in constant
        if len(self._options) < len(choices):
            raise Stuck("a choice that is made twice")

    def __len__(self) -> int:
        return len(self._options)

    def are(self, cases: Sequence[Sequence[Chosen]]) -> bool:
        """Whether some cases are all, each of them once."""
        options = [[(site, k) for k in ks] for site, ks in sorted(self._options.items())]
        if prod(map(len, options)) > _MOST_CASES:
            raise Stuck(f"more than {_MOST_CASES} ways in which choices may go")
        recorded = [tuple([(each.site, each.option) for each in case]) for case in cases]
        return sorted(recorded) == sorted(product(*options))


def case_of(record: Sequence[Chosen]) -> Case:
    """Return a recorded case."""
    return {each.site: each.option for each in record}
