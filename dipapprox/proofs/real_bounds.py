"""Real inputs that no method covers as a whole: what bounds δ from below, and from above.

    pairs that differ most   of numbers that are published, from below
    pairs on rays            of finite outputs, from below, of inputs without bounds
    couplings of these       from above: a pure budget of all pairs        (`published.couplings`)
    pairs that need most     that budget, where numbers are clamped, say   (`boxes.vertices`)
    programs that tell more  from above: they publish all samples, say     (`published.processed`)

The upper ends are about finite outputs, too, and about one ε; neither need be attained. So they are
asked last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import chain, islice

from dipapprox.arithmetic.enclosure import UNIT, Enclosure
from dipapprox.arithmetic.extended import Extended
from dipapprox.arithmetic.rounding import sound_arithmetic
from dipapprox.data_classes import Record, replace
from dipapprox.errors import EarlyEnd, LimitReached, UserError
from dipapprox.language.domains import AllReals
from dipapprox.pairs.boxes.vertices import dearest_pairs, difference_pairs
from dipapprox.pairs.published.couplings import Couplings
from dipapprox.pairs.published.processed import telling_more
from dipapprox.pairs.published.together import COUPLING, PROCESSING
from dipapprox.pairs.selections import AllPairs, OrderedPairs, Pair
from dipapprox.privacy.profiles.curve import LEAST
from dipapprox.privacy.profiles.profile import Profiler, nothing_known, profile
from dipapprox.privacy.profiles.profile_result import (
    AtDelta,
    AtEpsPrv,
    LeastDelta,
    LeastEpsPrv,
    ProfileAnswer,
    Question,
)
from dipapprox.privacy.run import BY_BUDGET, Options, Setting
from dipapprox.privacy.scope import scope_of
from dipapprox.privacy.verdict import Answer, Claim, Verdict
from dipapprox.privacy.verifier import verify
from dipapprox.proofs.budget_verdict import at_most, kept, lost_on_rays, most_of, within_budget
from dipapprox.proofs.prove_real import prove_real
from dipapprox.semantics.real_inputs import execute_for_declared
from dipapprox.semantics.state import FinalStates

_Least = LeastDelta | LeastEpsPrv
DEAREST = "pairs that need most"  # the word for the pure budget of these
_FEW = 24  # bits of what need not be attained
_MOST_CORNERS = 64
_ALONG = (0, 8, 64, 512, 2**20)  # steps on a ray, where more and more is lost
_MOST_MOVES = 5_000  # of final states, for couplings: some seconds


class RealBounds(Record):
    """Bounds of a program with real inputs."""

    setting: Setting

    def decided(self, found: Verdict, claim: Claim) -> Verdict:
        """Return Not_DP for a claim, Unknown, if some pairs break it; DP if upper ends prove it.

        Where answers are to be proved, upper ends are not asked.
        """
        corners = self._corners()
        if corners is not None:
            broken = verify(corners, claim)
            if broken.answer is Answer.NOT_DP:
                return replace(broken, run=replace(broken.run, scope=found.run.scope))
        if self.setting.options.proved or not _is_wide(found.delta_enclosure):
            return found
        budgets = self._budgets(claim.eps)
        if not claim.delta and not self.setting.program.real_outputs:
            budgets = chain(budgets, self._pure(self.setting, claim.eps))
        for budget, by in budgets:
            most = most_of(budget, claim.eps_prv, self.setting.program)
            if most <= claim.delta:
                return kept(found, most, by, self.setting)
        for told in self._processed(claim.eps, AtEpsPrv(claim.eps_prv)):
            if told <= claim.delta:
                return kept(found, told, PROCESSING, self.setting)
            if told * 64 > claim.delta * 65:
                break
        return found

    def from_below(self, eps: Fraction, question: Question, reason: str) -> ProfileAnswer | None:
        """Answer a question about the profile at an ε by some pairs; None if there are none.

        The reason says why not all pairs are bounded.
        """
        corners = self._corners()
        if corners is None or not isinstance(question, AtDelta | AtEpsPrv):
            return None
        found, setting = profile(corners, eps, question), self.setting
        run = replace(found.run, scope=scope_of(setting.program, setting.selection), reason=reason)
        if isinstance(found, LeastDelta):
            known = Enclosure(found.delta_enclosure.lower, UNIT.upper)
            return replace(found, run=run, delta_enclosure=known)
        assert isinstance(found, LeastEpsPrv)
        least = found.eps_prv_enclosure
        if least.infinite:
            return replace(found, run=replace(run, reason=None))
        least = Extended(least.lower, None, least.least_by)
        return replace(found, run=run, eps_prv_enclosure=least)

    def exactly(self, eps: Fraction, question: AtDelta) -> ProfileAnswer | None:
        """Answer for δ = 0 by rays that lose what serves all inputs; None if none are known to.

        No pair attains that: a witness is one that is far away, if there is time for it.
        """
        least = lost_on_rays(self.setting, eps)
        if least is None:
            return None
        try:
            found = self.from_below(eps, question, "")
        except LimitReached as reached:
            found = nothing_known(self.setting, eps, question, reached)
        if not isinstance(found, LeastEpsPrv):
            return None
        least = found.eps_prv_enclosure.meet(least, LEAST)
        run = replace(found.run, engine=f"{found.engine} + {BY_BUDGET}", by=least.by, reason=None)
        return replace(found, eps_prv_enclosure=least, run=run)

    def from_above(self, found: ProfileAnswer, question: Question) -> ProfileAnswer:
        """Return a least ε_prv, or a least δ, with upper ends, if little is known of it.

        Where a claimed ε_prv is too little nothing more is asked.
        """
        if isinstance(found, LeastEpsPrv) and isinstance(question, AtDelta):
            lower, claimed = found.eps_prv_enclosure.lower, question.claimed
            if claimed is not None and (lower is None or lower > claimed):
                return found
        if is_wide(found):
            for budget, by in self._budgets(found.eps):
                known = budget / found.eps, self.setting.program, by
                found = within_budget(found, question, *known)
        if is_wide(found) and isinstance(question, AtDelta | AtEpsPrv):
            for most in self._processed(found.eps, question):
                found = at_most(found, question, most, PROCESSING)
                if is_wide(found):
                    break
        return found

    def _corners(self) -> Setting | None:
        """Return some pairs of real inputs that differ most, or on a ray that loses most."""
        program = self.setting.program
        is_told = self.setting.is_real and program.rounding is None
        if not is_told or self.setting.selection != AllPairs():
            return None
        pairs: list[Pair] = []
        # Inputs without bounds may differ at all; at some ε there may be no program.
        with suppress(LimitReached, UserError):
            if program.real_outputs:
                pairs = [*self._dearest, *difference_pairs(program)]
            elif {cell.domain for cell in program.inputs} == {AllReals()} and (
                lost := prove_real(program).between
            ):
                pairs = [(lost.along(k), lost.along(k + 1)) for k in _ALONG]
        pairs = list(dict.fromkeys(pairs))[:_MOST_CORNERS]
        return self._only(pairs) if pairs else None

    def _only(self, pairs: Sequence[Pair]) -> Setting:
        return replace(self.setting, selection=OrderedPairs(tuple(pairs)))

    def _states(self) -> FinalStates:
        setting = self.setting
        if setting.selection != AllPairs() or not setting.is_real:
            raise LimitReached("not all real inputs")
        return execute_for_declared(setting.program, setting.options.merge)

    @property
    def _dearest(self) -> list[Pair]:
        """Pairs of which one needs the largest pure budget of all; none if this is not known."""
        found: list[Pair] = []
        with EarlyEnd():
            found = dearest_pairs(self._states())
        return found if len(found) <= _MOST_CORNERS else []

    def _budgets(self, eps: Fraction) -> Iterator[tuple[Fraction, str]]:
        """Yield pure budgets of all real inputs at one ε, and what gave them."""
        coupled = self._coupled(eps)
        if coupled is not None:
            yield coupled, COUPLING
        if dearest := self._dearest:
            yield from ((most, DEAREST) for most, _ in self._pure(self._only(dearest), eps))

    def _pure(self, setting: Setting, eps: Fraction) -> Iterator[tuple[Fraction, str]]:
        """Yield what some pairs need at δ = 0, at most, if that is known, and what gave it."""
        with EarlyEnd():
            found = profile(setting, eps, AtDelta(Fraction(0)))
            told = found.eps_prv_enclosure if isinstance(found, LeastEpsPrv) else None
            if told is not None and told.upper is not None:
                yield told.upper, told.most_by

    def _coupled(self, eps: Fraction) -> Fraction | None:
        """Return a budget of all real inputs at one ε; None if none is known."""
        with EarlyEnd():
            states, pairs = self._states(), difference_pairs(self.setting.program)
            if len(states.states) * len(pairs) <= _MOST_MOVES:
                return Couplings(states, eps).budget_between(pairs)
        return None

    def _processed(self, eps: Fraction, question: AtDelta | AtEpsPrv) -> Iterator[Fraction]:
        """Yield upper ends of what a program needs that tells more: soon, then narrow ones."""
        options, programs = self.setting.options, list[FinalStates]()
        with EarlyEnd():
            programs = telling_more(self._states())
        for own in (replace(options, precision=_FEW, max_precision=_FEW), options):
            ends = (self._most(each, own, eps, question) for each in programs)
            yield from islice((end for end in ends if end is not None), 1)

    @sound_arithmetic()
    def _most(
        self, more: FinalStates, options: Options, eps: Fraction, question: AtDelta | AtEpsPrv
    ) -> Fraction | None:
        with EarlyEnd():
            setting = replace(self.setting, program=more.program, options=options)
            return Profiler(setting, eps, more).most(question)
        return None


def _known(found: _Least) -> Enclosure | Extended:
    return found.delta_enclosure if isinstance(found, LeastDelta) else found.eps_prv_enclosure


def is_wide(found: ProfileAnswer) -> bool:
    """Whether the upper end of a least ε_prv, or a least δ, is more than a 64th above the lower."""
    return isinstance(found, _Least) and _is_wide(_known(found))


def _is_wide(known: Enclosure | Extended | None) -> bool:
    if known is None or known.lower is None:
        return known is None
    return known.upper is None or known.upper * 64 > known.lower * 65
