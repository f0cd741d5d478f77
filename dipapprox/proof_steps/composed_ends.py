"""Answers about pipelines that the kernel has replayed proofs of: claims, and ends of intervals.

What was found is widened before it is proved: on grids of the kernel's own it is not attained. An
end that the kernel does not confirm is given up: it becomes 0, 1 or ∞.
"""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.arithmetic.extended import Extended
from dipapprox.data_classes import replace
from dipapprox.errors import NoCertificate, UserError
from dipapprox.kernel.errors import asking
from dipapprox.limits import check_limits, limited
from dipapprox.privacy.compositions.compose import DEFAULT_WIDTH, LOSSES, Composed, Number
from dipapprox.privacy.compositions.pipeline import ComposedAnswer, ComposedProof
from dipapprox.privacy.run import Options, Replayed
from dipapprox.privacy.verdict import Answer
from dipapprox.proof_steps.composed_steps import ComposedGoal
from dipapprox.proof_steps.compositions import PipelineProofs
from dipapprox.proof_steps.verdicts import Attempts

_WIDER = (Fraction(1, 64), Fraction(1, 4))
"""Of the width of an interval: how far its ends are moved outward, the least that serves."""

_CLOSE = Fraction(1, 2**20)  # the same where no grid is needed
_LEAST_WIDTH = Fraction(1, 10**6)
_MUCH = Fraction(100)  # an ε_prv that stands for ∞ from below


def proved_composition(answer: ComposedAnswer, options: Options) -> ComposedAnswer:
    """Return an answer about a claim or an interval as far as the kernel confirms it."""
    return _Prover(answer, options).answer()


def with_proofs(answer: ComposedAnswer, options: Options) -> ComposedAnswer:
    """Return an answer with proofs that the kernel has replayed, if it has none yet.

    Of an interval they are about ends that are moved outward a little.
    """
    if answer.answer is Answer.UNKNOWN:
        raise NoCertificate("the answer is Unknown")
    if answer.proofs:
        return answer
    if answer.curve is not None:
        raise NoCertificate("the kernel has no rule for curves")
    found = _Prover(answer, options).answer()
    if not found.proofs:
        raise NoCertificate(found.reason or "there is nothing to prove")
    return replace(answer, replayed=found.replayed, proofs=found.proofs)


class _Prover(Attempts):
    def __init__(self, answer: ComposedAnswer, options: Options) -> None:
        super().__init__()
        self._found, self._options = answer, options
        # The kernel has one layer, which costs less than several that begin with its step.
        self._step = None if answer.grid is None else 2 * float(answer.grid.step.loss(1))
        self._written: PipelineProofs | None = None
        self._missing: list[str] = []
        self._last = ""
        self._wider = False
        self._proofs: list[ComposedProof] = []

    def answer(self) -> ComposedAnswer:
        found = self._found
        if found.answer is not None:
            answer = found.answer
            if answer is not Answer.UNKNOWN and not self._claim(found):
                answer = Answer.UNKNOWN
            return self._told(replace(found, answer=answer), f"found {found.answer.value}, but ")
        nothing = Fraction(0)
        if found.eps_prv_enclosure is not None and found.delta is not None:
            ends = found.eps_prv_enclosure
            at = ComposedGoal(True, nothing, found.delta, nothing, self._step)
            at = replace(at, pure=ends.most_by == LOSSES)
            # What greatest losses bound may be known much closer than from below.
            width = max(ends.width or nothing, DEFAULT_WIDTH / 4 if at.pure else self._least_width)
            lower, upper = ends.lower, ends.upper
            below, infinite = replace(at, kept=False, pure=False), lower is None
            if lower is None or (upper is None and lower > _MUCH):
                lower, below = _MUCH, replace(below, step=None)
            if infinite and self._confirmed(replace(below, eps_prv=_MUCH, at_every=True), False):
                lower = None
            else:
                lower = self._end(below, False, lower, width) or nothing
            if infinite and lower:
                self._missing.append(f"∞ has no proof; about {_MUCH} stands for it")
            if upper is not None:
                exact = not found.delta and ends.width == 0
                upper = self._end(at, False, upper, width, exact)
            return self._told(replace(found, eps_prv_enclosure=Extended(lower, upper)), "")
        if found.delta_enclosure is not None and found.eps_prv is not None:
            deltas = found.delta_enclosure
            at = ComposedGoal(True, found.eps_prv, nothing, nothing, self._step)
            share = Fraction(1, 10**12) if found.pipeline.times == 1 else self._least_width
            width = max(deltas.width, deltas.upper * share)
            lower = self._end(replace(at, kept=False), True, deltas.lower, width) or nothing
            if deltas.upper or not self._confirmed(replace(at, step=None)):
                upper = self._end(at, True, deltas.upper, width)
                deltas = Enclosure(lower, Fraction(1) if upper is None else upper)
            return self._told(replace(found, delta_enclosure=Enclosure(lower, deltas.upper)), "")
        return found

    def _end(
        self, at: ComposedGoal, is_delta: bool, end: Fraction, width: Fraction, exact: bool = False
    ) -> Fraction | None:
        """Prove an end, or one that is farther outward; None if it is given up."""
        known: Fraction | None = None  # what the finest grid shows
        shares = [Fraction(0)] * exact + [*_WIDER]
        shares[exact:exact] = [_CLOSE] * self._is_one
        for share in shares:
            place = _outward(end, share * width, at.kept)
            if (place >= 1 and is_delta) or not (place or at.kept):
                return None
            gap = share * width / 2 * (1 if is_delta else at.delta)
            goal = replace(at.moved(place, is_delta), gap=gap)
            if known is None or (known <= place if at.kept else known >= place):
                if self._confirmed(goal, False):
                    return place
                known = None if self._written is None else self._written.shown(goal, is_delta)
        if known is not None:
            more = known if is_delta else max(known, Fraction(1))
            place = _outward(known, more / 10**6, at.kept)
            if place > 0 and not (is_delta and place >= 1):
                self._wider = True
                goal = replace(goal.moved(place, is_delta), gap=goal.gap / 2**10)
                return place if self._confirmed(goal) else None
        self._missing.append(self._last)
        return None

    def _told(self, answer: ComposedAnswer, before: str) -> ComposedAnswer:
        reasons = [] if self._found.reason is None else [self._found.reason]
        reasons += [f"{before}the kernel has no proof: {each}" for each in self._missing]
        if self._wider:
            reasons.append("the kernel has proofs of a wider interval alone")
        return replace(
            answer,
            reason="; ".join(dict.fromkeys(reasons)) or None,
            replayed=self.replayed,
            proofs=tuple(self._proofs),
            exact=answer.exact if answer.answer is not None else None,
        )

    def _claim(self, found: ComposedAnswer) -> bool:
        assert found.eps_prv is not None and found.delta is not None
        kept, least = found.answer is Answer.DP, found.delta_enclosure
        gap = Fraction(0)
        if least is not None:
            gap = found.delta - least.upper if kept else least.lower - found.delta
        return self._confirmed(ComposedGoal(kept, found.eps_prv, found.delta, gap, self._step))

    def _confirmed(self, goal: ComposedGoal, last: bool = True) -> bool:
        """Ask the kernel; note the obstacle if there is no further goal."""
        missing = self.obstacle(lambda: self._replays(goal))
        self._last = missing or ""
        if missing is not None and (last or self.ended is not None):
            self._missing.append(missing)
        return missing is None

    @property
    def _is_one(self) -> bool:
        with suppress(NoCertificate):
            return self._opened().is_one
        return False

    @property
    def _least_width(self) -> Fraction:
        """Of an interval; compositions of noise in closed form need a grid to the kernel alone."""
        found = self._found
        known = found.grid is not None or found.exact is not None or not found.delta
        one = found.pipeline.times == 1 or self._is_one
        return _LEAST_WIDTH if known or one else DEFAULT_WIDTH / 4

    def _opened(self) -> PipelineProofs:
        if self._written is None:
            self._written = PipelineProofs(self._found.pipeline)
        return self._written

    def _replays(self, goal: ComposedGoal) -> Replayed:
        with asking(check_limits):
            proof, seconds = self._opened().proof(goal)
        self._proofs.append(proof)
        return Replayed(len(proof.steps), seconds, proof.places)


def _outward(end: Fraction, more: Fraction, up: bool) -> Fraction:
    """A number with few digits, at least 0, that is about so much beyond an end, or that itself."""
    if not more:
        return end
    unit = Fraction(1, 10 ** max(len(str(int(4 / more))), 0))
    found = (end + more if up else end - more) / unit
    return max((found.__ceil__() if up else found.__floor__()) * unit, Fraction(0))


class ProvedComposed(Composed):
    """A pipeline whose answers are what the kernel confirms of them.

    Limits of the options are asked while the kernel works, too.
    """

    def epsilon(self, delta: Number, width: Number = DEFAULT_WIDTH) -> ComposedAnswer:
        """See `Composed`."""
        with limited(self._options.limits):
            return proved_composition(super().epsilon(delta, width), self._options)

    def delta(self, eps_prv: Number, width: Number | None = None) -> ComposedAnswer:
        """See `Composed`."""
        with limited(self._options.limits):
            return proved_composition(super().delta(eps_prv, width), self._options)

    def verify(self, eps_prv: Number, delta: Number) -> ComposedAnswer:
        """See `Composed`."""
        with limited(self._options.limits):
            return proved_composition(super().verify(eps_prv, delta), self._options)

    def curve(
        self, low: Number, high: Number, points: int, width: Number = DEFAULT_WIDTH / 1000
    ) -> ComposedAnswer:
        """Refuse it."""
        raise UserError("'proved' asks for a claim, the least delta or the least eps_prv")
