"""Is the program (eps_prv, delta)-differentially private, at one eps or at all of an interval?"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from fractions import Fraction
from functools import cache
from typing import ClassVar

from dipapprox.data_classes import Record
from dipapprox.language import formula as formulas
from dipapprox.language.ast import Name, Number
from dipapprox.language.core import Program
from dipapprox.limits import Progress, current, limited, silent
from dipapprox.pairs.adjacency import are_very_many
from dipapprox.privacy import verifier
from dipapprox.privacy.decisions import decision as decisions
from dipapprox.privacy.intervals import formula_verifier
from dipapprox.privacy.intervals import verdict as claims
from dipapprox.privacy.intervals import verifier as interval_verifier
from dipapprox.privacy.run import Options, Setting
from dipapprox.privacy.verdict import Answer, Claim, Verdict
from dipapprox.proof_steps import throughout as proving_throughout
from dipapprox.proof_steps import verdicts as proving
from dipapprox.proofs import budget_verdict, real_bounds
from dipapprox.questions import kinds
from dipapprox.questions.kinds import Pairs, Written
from dipapprox.questions.question import PROVED, WHOLE, Question, argument, limited_by_options

_FOR_BOUNDS = 1 / 4  # of the time

PAIRS_HELP = (
    'all (default), single (the pair 0…0, 0…01), "0,0~0,1;…" (both orders), '
    "or a JSON file of ordered pairs"
)


class Verify(Record, Question, kw_only=True):
    """A claim; numbers and formulas are those of the program run at `eps`."""

    name: ClassVar[str] = "verify"
    computing: ClassVar[tuple[str, ...]] = (*WHOLE, PROVED)

    eps: Fraction | tuple[Fraction, Fraction] = argument(
        kinds.eps_or_interval,
        "E",
        "the program's ε, exact: 1/2, 0.5; or every ε in an interval: 0.1..1",
    )
    eps_prv: Fraction | Written | None = argument(
        kinds.claimed_eps_prv,
        "P",
        "the claimed ε_prv, a number or a formula in eps and delta (default: --eps)",
        default=None,
    )
    delta: Fraction | Written = argument(
        kinds.claimed_delta, "D", "the claimed δ in [0, 1], or a formula in eps"
    )
    pairs: Pairs = argument(kinds.pairs, "PAIRS", PAIRS_HELP, default="all")

    @property
    def claim(self) -> Claim | None:
        match self.eps, self.eps_prv, self.delta:
            case Fraction() as eps, (None | Fraction()) as eps_prv, Fraction() as delta:
                return Claim(eps, delta, eps_prv)
            case _:
                return None

    @property
    def exact_delta(self) -> Fraction | None:
        """The claimed δ if it is a rational number at the one ε: what `delta` in a program is."""
        if isinstance(self.delta, Fraction):
            return self.delta
        values = {"eps": self.eps} if isinstance(self.eps, Fraction) else {}
        value = formulas.rational_value(self.delta.formula, values)
        return value if value is not None and 0 <= value <= 1 else None

    @limited_by_options
    def answer(
        self, program: Program, options: Options, progress: Progress = silent
    ) -> Verdict | claims.IntervalVerdict:
        setting = Setting(program, self.pairs.select(program), options, progress)
        found = self._found(setting)
        if not options.proved:
            return found
        if isinstance(found, Verdict):
            return proving.proved(setting, found)
        return proving_throughout.proved_throughout(setting, found)

    def _found(self, setting: Setting) -> Verdict | claims.IntervalVerdict:
        """Ask who may decide it while it is open: a budget, pairs or parts, a budget, some bounds.

        A budget comes first where it is found sooner: for all ε of an interval it takes
        milliseconds, where single ε take seconds.
        """
        point = self.eps if isinstance(self.eps, Fraction) else None
        epsilons = self.eps if isinstance(self.eps, tuple) else (self.eps, self.eps)
        budgets, found, claim = budgets_of(setting), None, self.claim
        soon = prefers_budgets(setting)
        if point is None:
            soon = soon or (self.delta == 0 and not setting.options.proved)
        elif claim is None:
            soon = False
        if soon and (budget := budgets(point)) is not None:
            asked = self.formulas(), epsilons, claim
            found = budget_verdict.by_budget(None, budget, *asked, setting)
        plain = claim if setting.program.rounding is None else None
        if is_open(found):
            if plain is not None:
                with keeping_time(setting):
                    found = verifier.verify(setting, plain)
            elif point is not None:
                found = formula_verifier.verify_formula(setting, self.formulas(), point)
            else:
                found = interval_verifier.verify_interval(setting, self.formulas(), *epsilons)
        if is_open(found) and (budget := budgets(point)) is not None:
            asked = self.formulas(), epsilons, claim
            found = budget_verdict.by_budget(found, budget, *asked, setting)
        if is_open(found) and plain is not None and isinstance(found, Verdict):
            found = real_bounds.RealBounds(setting).decided(found, plain)
        assert found is not None
        return found

    def formulas(self) -> claims.FormulaClaim:
        own = Written(Name("eps"), "eps")
        eps_prv, delta = (
            Written(Number(each), str(each)) if isinstance(each, Fraction) else each or own
            for each in (self.eps_prv, self.delta)
        )
        return claims.FormulaClaim(eps_prv.formula, delta.formula, eps_prv.text, delta.text)


def is_open(found: Verdict | claims.IntervalVerdict | decisions.Decision | None) -> bool:
    """Whether methods may still add to an answer: it is Unknown, by no wish of the user."""
    return found is None or (found.answer is Answer.UNKNOWN and not found.interrupted)


def keeping_time(setting: Setting) -> AbstractContextManager[None]:
    """Let a block, which looks at all pairs, leave a share of the time to what is asked last."""
    asked = setting.is_real and not setting.options.proved
    return limited(current().keeping(_FOR_BOUNDS)) if asked else nullcontext()


def prefers_budgets(setting: Setting) -> bool:
    """Whether a budget is found sooner than anything about single pairs."""
    return setting.is_real or are_very_many(setting.program, setting.selection)


def budgets_of(setting: Setting) -> Callable[[Fraction | None], Fraction | None]:
    """Return who knows a D such that the program is (D ε, 0)-private at an ε; None: at every ε."""
    return cache(lambda eps: budget_verdict.serving_budget(setting, eps))
