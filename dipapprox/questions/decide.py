"""Is the program private for every eps of an interval, or for all eps > 0?"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import ClassVar

from dipapprox.errors import UserError
from dipapprox.exact.signs.interval import EpsilonInterval
from dipapprox.language.core import Program
from dipapprox.language.formula import mentions_epsilon
from dipapprox.language.load import finite
from dipapprox.limits import Progress, silent
from dipapprox.privacy.decisions import decider
from dipapprox.privacy.decisions.decision import Decision, DecisionQuestion, read_epsilons
from dipapprox.privacy.decisions.delta import Delta, read_delta
from dipapprox.privacy.run import Options, Setting
from dipapprox.proof_steps import throughout as proving
from dipapprox.proofs import budget_verdict
from dipapprox.questions import arguments, kinds
from dipapprox.questions.arguments import LIMITS
from dipapprox.questions.kinds import Pairs
from dipapprox.questions.question import PROVED, Question, argument, limited_by_options
from dipapprox.questions.verify import PAIRS_HELP, budgets_of, is_open


def _delta(given: object, name: str) -> Delta:
    return read_delta(given if isinstance(given, str) else str(arguments.number(given, name)), name)


_unswept = partial(argument, swept=False)


class Decide(DecisionQuestion, Question, kw_only=True):
    """Is it (budget * eps, delta)-differentially private at every eps of an interval?"""

    name: ClassVar[str] = "decide"
    computing: ClassVar[tuple[str, ...]] = ("merge", PROVED, *LIMITS)

    budget: Fraction = argument(
        arguments.nonnegative, "T", "the claimed budget is T * ε (default: 1)", default="1"
    )
    delta: Delta = argument(
        _delta,
        "D",
        "the claimed δ: a number, a constant like exp(-2), or a formula in eps (default: 0)",
        default="0",
    )
    interval: EpsilonInterval = argument(
        read_epsilons,
        "LO..HI",
        "the epsilons: both ends included, but never 0 (default: 0..inf, all ε > 0)",
        default="0..inf",
    )
    pairs: Pairs = argument(kinds.pairs, "PAIRS", PAIRS_HELP, default="all")
    violations: bool = _unswept(
        arguments.flag,
        "",
        "find every ε at which some pair violates the claim; do not stop at the first pair",
        default="false",
    )
    least_delta: bool = _unswept(
        arguments.flag, "", "enclose the least δ that holds on the interval", default="false"
    )
    width: Fraction = _unswept(
        arguments.positive,
        "W",
        "how narrowly ends of violated ranges and the least δ are enclosed (default: 1e-9)",
        default="1e-9",
    )

    @limited_by_options
    def answer(self, program: Program, options: Options, progress: Progress = silent) -> Decision:
        if options.proved and (self.violations or self.least_delta):
            raise UserError(
                "'proved' asks whether the claim holds, and for nothing else",
                "the kernel has no rules for all violated ranges, nor for the least delta",
            )
        if self.violations or self.least_delta:
            finite(program)
        setting = Setting(program, self.pairs.select(program), options, progress)
        plain = not (self.violations or self.least_delta or mentions_epsilon(self.delta.formula))
        budgets = budgets_of(setting)

        def is_kept() -> bool:
            """Whether a budget for every ε is at most the claimed one, and no more is asked."""
            budget = budgets(None) if plain else None
            return budget is not None and budget <= self.budget

        found = decider.decide(setting, self, is_kept)
        if is_open(found) and is_kept():
            found = budget_verdict.decided(found)
        if options.proved:
            return proving.proved_throughout(setting, found)
        return found
