"""Which methods are asked for which question, and in which order: one table.

A method is asked only while the question is open; cheap ones come first, and before an answer is
Unknown, or wider than asked for, every method that applies was asked. Within one row pairs, outputs
and values of ε are gone through by the searches that the row names; how the pairs of a program are
opened is the matter of `privacy.subjects`, what is asked for an interval of `intervals.verifier`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Generic, Self, TypeVar, cast

from dipapprox.data_classes import dataclass, field, replace
from dipapprox.deferred import Deferred
from dipapprox.errors import BrokenInvariant, LimitReached
from dipapprox.language.core import Draw
from dipapprox.language.traversal import nodes_in
from dipapprox.pairs.adjacency import are_very_many
from dipapprox.privacy.methods import Consultation, always, consult
from dipapprox.privacy.run import Setting
from dipapprox.privacy.verdict import Answer, Verdict

if TYPE_CHECKING:
    from dipapprox.language import formula as deltas
    from dipapprox.privacy import subjects, verifier
    from dipapprox.privacy.decisions import decider
    from dipapprox.privacy.decisions.decision import Decision
    from dipapprox.privacy.decisions.question import DecisionQuestion
    from dipapprox.privacy.intervals import formula_verifier
    from dipapprox.privacy.intervals import verifier as interval_verifier
    from dipapprox.privacy.intervals.verdict import IntervalVerdict
    from dipapprox.privacy.profiles import profile as profiles
    from dipapprox.privacy.profiles import profile_result as profile_results
    from dipapprox.privacy.profiles import question as profile_questions
    from dipapprox.privacy.profiles import rounded
    from dipapprox.privacy.profiles.profile_result import ProfileAnswer
    from dipapprox.privacy.profiles.question import Question
    from dipapprox.privacy.subjects import Executed
    from dipapprox.proofs import budget_verdict, real_bounds
    from dipapprox.proofs.budget_verdict import Claimed
else:
    budget_verdict = Deferred("dipapprox.proofs.budget_verdict")
    real_bounds = Deferred("dipapprox.proofs.real_bounds")
    deltas = Deferred("dipapprox.language.formula")
    decider = Deferred("dipapprox.privacy.decisions.decider")
    formula_verifier = Deferred("dipapprox.privacy.intervals.formula_verifier")
    interval_verifier = Deferred("dipapprox.privacy.intervals.verifier")
    profiles = Deferred("dipapprox.privacy.profiles.profile")
    profile_results = Deferred("dipapprox.privacy.profiles.profile_result")
    profile_questions = Deferred("dipapprox.privacy.profiles.question")
    rounded = Deferred("dipapprox.privacy.profiles.rounded")
    subjects = Deferred("dipapprox.privacy.subjects")
    verifier = Deferred("dipapprox.privacy.verifier")

LEAST_BUDGET = "least budget"
SOME_BOUNDS = "pairs whose inputs differ most, couplings, processing"
AnswerT = TypeVar("AnswerT")


@dataclass(slots=True)
class Asked(Generic[AnswerT]):
    """A question about a program, and its answer so far."""

    setting: Setting
    found: AnswerT | None = field(default=None, kw_only=True)
    _budgets: dict[Fraction | None, Fraction | None] = field(default_factory=dict, kw_only=True)

    @property
    def is_open(self) -> bool:
        """Whether methods may still add: a verdict is Unknown, by no wish of the user."""
        found = cast("Verdict | IntervalVerdict | Decision | None", self.found)
        return found is None or (found.answer is Answer.UNKNOWN and not found.interrupted)

    def answered(self, rows: Sequence[Consultation[Self]]) -> AnswerT:
        """Ask the methods of a table."""
        consult(rows, self)
        if self.found is None:
            raise BrokenInvariant("no method answered")
        return self.found

    @property
    def budget(self) -> Fraction | None:
        """A D such that the program is (D ε, 0)-private for every ε that is meant, or None."""
        point = self.point
        if point not in self._budgets:
            self._budgets[point] = budget_verdict.serving_budget(self.setting, point)
        return self._budgets[point]

    @property
    def point(self) -> Fraction | None:
        """The one ε that is meant; None if that is not known."""
        return None

    @property
    def bounds(self) -> real_bounds.RealBounds:
        """What bounds real inputs that no method covers as a whole."""
        return real_bounds.RealBounds(self.setting)

    @property
    def proves(self) -> bool:
        """Whether answers are to be proved."""
        return self.setting.options.proved

    @property
    def is_rational(self) -> bool:
        """Whether the program has no irrational scales."""
        return self.setting.program.rounding is None

    @property
    def is_real(self) -> bool:
        """Whether real inputs are asked about, and no proofs."""
        return self.setting.is_real and not self.proves

    @property
    def prefers_budgets(self) -> bool:
        """Whether a budget is found sooner than anything about single pairs."""
        return self.setting.is_real or are_very_many(self.setting.program, self.setting.selection)


# --- verify: a claim, at one ε or at all of an interval -------------------------------------------


@dataclass(slots=True)
class AskedClaim(Asked["Verdict | IntervalVerdict"]):
    """A claim, and its verdict so far."""

    question: Claimed

    @property
    def point(self) -> Fraction | None:
        """See `Asked`."""
        return self.question.eps if isinstance(self.question.eps, Fraction) else None

    @property
    def is_soon_kept(self) -> bool:
        """Whether a budget is looked for first: for all ε of an interval it takes milliseconds,
        where single ε take seconds."""
        if self.point is not None:
            return self.prefers_budgets and self.question.claim is not None
        return self.prefers_budgets or (self.question.delta == 0 and not self.proves)

    @property
    def is_plain(self) -> bool:
        """Whether it is about one ε, in rational numbers throughout."""
        return self.question.claim is not None and self.is_rational


def _verify_by_budget(asked: AskedClaim) -> None:
    question, budget = asked.question, asked.budget
    if budget is not None:
        asked.found = budget_verdict.by_budget(asked.found, budget, question, asked.setting)


def _verify_bounds(asked: AskedClaim) -> None:
    claim, found = asked.question.claim, asked.found
    if claim is not None and isinstance(found, Verdict):
        asked.found = asked.bounds.decided(found, claim)


def _verify_pairs(asked: AskedClaim) -> None:
    claim = asked.question.claim
    assert claim is not None
    asked.found = verifier.verify(asked.setting, claim)


def _verify_formulas(asked: AskedClaim) -> None:
    eps, formulas = asked.question.eps, asked.question.formulas()
    if isinstance(eps, Fraction):
        asked.found = formula_verifier.verify_formula(asked.setting, formulas, eps)
    else:
        asked.found = interval_verifier.verify_interval(asked.setting, formulas, *eps)


VERIFY: tuple[Consultation[AskedClaim], ...] = (
    Consultation(LEAST_BUDGET, lambda asked: asked.is_soon_kept, _verify_by_budget),
    Consultation("pairs at one ε", lambda asked: asked.is_plain, _verify_pairs),
    Consultation("rational bounds; every ε", lambda asked: not asked.is_plain, _verify_formulas),
    Consultation(LEAST_BUDGET, always, _verify_by_budget),
    Consultation(SOME_BOUNDS, lambda asked: asked.is_plain, _verify_bounds),
)


# --- profile: the tightest guarantees at one ε ----------------------------------------------------


@dataclass(slots=True)
class AskedProfile(Asked["ProfileAnswer"]):
    """A question about the profile at one ε, and its answer so far."""

    eps: Fraction
    question: Question
    obstacle: LimitReached | None = field(default=None, kw_only=True)
    _executed: list[Executed] = field(default_factory=list, kw_only=True)

    @property
    def is_open(self) -> bool:
        """Whether methods may still add to the answer: it is wider than asked for."""
        return self.found is None or self.found.reason is not None

    @property
    def point(self) -> Fraction | None:
        """See `Asked`; not told where all scales are c / ε: budgets are the same everywhere."""
        draws = (each for each in nodes_in(self.setting.program.body) if isinstance(each, Draw))
        return self.eps if any(draw.scale.power != -1 for draw in draws) else None

    @property
    def is_pure(self) -> bool:
        """Whether it is about δ = 0, where budgets are upper ends."""
        return profile_questions.is_pure(self.question) and not self.proves

    @property
    def is_nothing(self) -> bool:
        """Whether no pair is known to exceed the ε_prv: what a budget may prove for all."""
        found = self.found
        least = isinstance(found, profile_results.LeastDelta) and not found.delta_enclosure.lower
        return least and not self.proves

    def executed(self) -> Executed:
        """The program's final states, or those of its parts: the same at every ε."""
        if not self._executed:
            parts = profile_questions.in_parts(self.question)
            self._executed.append(subjects.executed_for(self.setting, parts=parts))
        return self._executed[0]

    def at(self, eps: Fraction, question: Question) -> ProfileAnswer:
        """Answer a question of the same kind at another ε."""
        asked = replace(self, eps=eps, question=question, found=None)
        consult(PROFILE, asked)
        if asked.found is None:
            raise asked.obstacle or BrokenInvariant("no method answered")
        return asked.found


def _profile_pairs(asked: AskedProfile) -> None:
    budget = asked.budget if asked.is_pure and asked.prefers_budgets else None
    known = asked.question, budget, asked.executed()
    try:
        asked.found = profiles.profile(asked.setting, asked.eps, *known)
    except LimitReached as reached:
        asked.setting.limits.check()
        asked.obstacle = reached


def _profile_corners(asked: AskedProfile) -> None:
    if asked.found is None and asked.obstacle is not None:
        reason = asked.obstacle.reason
        asked.found = asked.bounds.from_below(asked.eps, asked.question, reason)


def _profile_rounded(asked: AskedProfile) -> None:
    asked.found = rounded.profile_rounded(asked.setting, asked.eps, asked.question)


def _profile_nothing(asked: AskedProfile) -> None:
    """Answer 0 where a budget is at most the ε_prv: bounds of all pairs take far longer."""
    question, budget = asked.question, asked.budget
    eps_prv = getattr(question, "eps_prv", None)
    if budget is not None and isinstance(eps_prv, Fraction) and budget * asked.eps <= eps_prv:
        asked.found = budget_verdict.nothing_left(asked.setting, asked.eps, eps_prv)


def _profile_by_budget(asked: AskedProfile) -> None:
    if asked.budget is not None and asked.found is not None:
        known = asked.question, asked.budget, asked.setting.program
        asked.found = budget_verdict.within_budget(asked.found, *known)


def _profile_more(asked: AskedProfile) -> None:
    if asked.found is not None:
        asked.found = asked.bounds.from_above(asked.found, asked.question)


PROFILE: tuple[Consultation[AskedProfile], ...] = (
    Consultation("rational scales", lambda asked: not asked.is_rational, _profile_rounded),
    Consultation(LEAST_BUDGET, lambda asked: asked.prefers_budgets, _profile_nothing),
    Consultation("pairs", lambda asked: asked.found is None, _profile_pairs),
    Consultation(SOME_BOUNDS, lambda asked: not asked.proves, _profile_corners),
    Consultation(
        LEAST_BUDGET,
        lambda asked: asked.is_pure or asked.is_nothing or asked.obstacle is not None,
        _profile_by_budget,
    ),
    Consultation(SOME_BOUNDS, lambda asked: asked.is_real and asked.is_rational, _profile_more),
)


# --- decide: a claim at every ε -------------------------------------------------------------------


@dataclass(slots=True)
class AskedDecision(Asked["Decision"]):
    """A claim about every ε, and its decision so far."""

    question: DecisionQuestion

    @property
    def is_plain(self) -> bool:
        """Whether a δ that is the same for every ε is claimed, and nothing else asked."""
        asked = self.question
        more = asked.violations or asked.least_delta
        return not more and not deltas.mentions_epsilon(asked.delta.formula)

    def is_kept(self) -> bool:
        """Whether a budget for every ε is at most the claimed one, and no more is asked."""
        budget = self.budget if self.is_plain else None
        return budget is not None and budget <= self.question.budget


def _decide_pairs(asked: AskedDecision) -> None:
    asked.found = decider.decide(asked.setting, asked.question, asked.is_kept)


def _decide_by_budget(asked: AskedDecision) -> None:
    if asked.found is not None and asked.is_kept():
        asked.found = budget_verdict.decided(asked.found)


DECIDE: tuple[Consultation[AskedDecision], ...] = (
    Consultation("closed forms; else a budget, enclosures", always, _decide_pairs),
    Consultation(LEAST_BUDGET, lambda asked: asked.is_plain, _decide_by_budget),
)
