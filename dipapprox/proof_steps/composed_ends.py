"""Answers about pipelines that the kernel has replayed proofs of: claims, and ends of intervals.

What was found is widened before it is proved: on grids of the kernel's own it is not attained. An
end that the kernel does not confirm is given up: it becomes 0, 1 or ∞.
"""

from __future__ import annotations

from fractions import Fraction
from time import perf_counter

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.data_classes import replace
from dipapprox.errors import EarlyEnd, NoCertificate
from dipapprox.kernel.budget import asking
from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.replay import replay
from dipapprox.privacy.compositions.result import ComposedAnswer, ComposedProof
from dipapprox.privacy.options import Options
from dipapprox.privacy.profiles.extended import Extended
from dipapprox.privacy.verdict import Answer, Replayed
from dipapprox.proof_steps.composed_steps import ComposedGoal
from dipapprox.proof_steps.compositions import PipelineProofs

_WIDER = (Fraction(1, 64), Fraction(1, 4))
"""Of the width of an interval: how far its ends are moved outward, the least that serves."""

_LEAST_WIDTH = Fraction(1, 10**6)


def proved_composition(answer: ComposedAnswer, options: Options) -> ComposedAnswer:
    """Return an answer about a claim or an interval as far as the kernel confirms it.

    Args:
        answer: What was found.
        options: How to compute; the limits are asked all the time.
    """
    return _Prover(answer, options).answer()


def with_proofs(answer: ComposedAnswer, options: Options) -> ComposedAnswer:
    """Return an answer with proofs that the kernel has replayed, if it has none yet.

    Of an interval they are about ends that are moved outward a little.

    Raises:
        NoCertificate: If the answer is Unknown, or the kernel confirms no proof of it.
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


class _Prover:
    def __init__(self, answer: ComposedAnswer, options: Options) -> None:
        self._found = answer
        self._options = options
        self._step = None if answer.grid is None else float(answer.grid.step.loss(2))
        self._written: PipelineProofs | None = None
        self._missing: list[str] = []
        self._ended: str | None = None
        self._obstacle: str | None = None
        self._wider = False
        self._proofs: list[ComposedProof] = []
        self._replayed: Replayed | None = None

    def answer(self) -> ComposedAnswer:
        found = self._found
        if found.answer is not None:
            answer = found.answer
            if answer is not Answer.UNKNOWN and not self._claim(found):
                answer = Answer.UNKNOWN
            return self._told(replace(found, answer=answer), f"found {found.answer.value}, but ")
        if found.eps_prv_enclosure is not None and found.delta is not None:
            ends = self._budgets(found.eps_prv_enclosure, found.delta)
            return self._told(replace(found, eps_prv_enclosure=ends), "")
        if found.delta_enclosure is not None and found.eps_prv is not None:
            deltas = self._deltas(found.delta_enclosure, found.eps_prv)
            return self._told(replace(found, delta_enclosure=deltas), "")
        return found

    def _told(self, answer: ComposedAnswer, before: str) -> ComposedAnswer:
        reasons = [] if self._found.reason is None else [self._found.reason]
        reasons += [f"{before}the kernel has no proof: {each}" for each in self._missing]
        if self._wider:
            reasons.append("the kernel has proofs of a wider interval alone")
        return replace(
            answer,
            reason="; ".join(dict.fromkeys(reasons)) or None,
            replayed=self._replayed,
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

    def _budgets(self, found: Extended, delta: Fraction) -> Extended:
        """Prove that the lower end is not enough, and that the upper one is."""
        width = max(found.width or Fraction(0), _LEAST_WIDTH)
        lower, upper = found.lower, found.upper
        if lower is None:
            self._missing.append("that no ε_prv is enough has no rule")
            lower = Fraction(0)
        for kept, end in ((False, lower), (True, upper)):
            if end is None or (not kept and not end):
                continue
            exact = kept and not delta and found.width == 0
            moved = [Fraction(0)] * exact + [share * width for share in _WIDER]
            known: Fraction | None = None  # what the finest grid shows
            for more in moved:
                place = _outward(end, more, kept)
                goal = ComposedGoal(kept, place, delta, delta * more / 2, self._step)
                if known is not None and self._written is not None:
                    goal = replace(goal, step=self._written.finest_step)
                beyond = known is not None and (known > place if kept else known < place)
                if not beyond and ((not kept and not place) or self._confirmed(goal, False)):
                    lower, upper = (lower, place) if kept else (place, upper)
                    break
                if not beyond and self._written is not None:
                    known = self._written.least(goal)
            else:
                shown = self._farther(goal, known)
                lower, upper = (lower, shown) if kept else (shown or Fraction(0), upper)
        return Extended(lower, upper)

    def _farther(self, goal: ComposedGoal, shown: Fraction | None) -> Fraction | None:
        """Prove an end that is farther outward, which the finest grid shows."""
        more = Fraction(1, 10**6) * (1 if shown is None else max(shown, Fraction(1)))
        place = None if shown is None else _outward(shown, more, goal.kept)
        step = None if self._written is None else self._written.finest_step
        gap = goal.gap / 2**10
        wanted = replace(goal, eps_prv=place or Fraction(0), gap=gap, step=step or goal.step)
        self._wider = place is not None
        if place and self._confirmed(wanted):
            return place
        if not place:
            self._missing.append(self._obstacle or "")
        return None

    def _deltas(self, found: Enclosure, eps_prv: Fraction) -> Enclosure:
        """Prove that the least delta is above the lower end, and at most the upper one."""
        lower, upper = found.lower, found.upper
        width = max(found.width, upper / (10**12 if self._found.pipeline.times == 1 else 10**6))
        for kept, end in ((False, lower), (True, upper)):
            if not end and (
                not kept or self._confirmed(ComposedGoal(kept, eps_prv, end, end, None))
            ):
                continue
            for share in _WIDER:
                place = _outward(end, share * width, kept)
                if not 0 < place < 1:
                    lower, upper = (lower, Fraction(1)) if kept else (Fraction(0), upper)
                    break
                goal = ComposedGoal(kept, eps_prv, place, share * width / 2, self._step)
                if self._confirmed(goal, False):
                    lower, upper = (lower, place) if kept else (place, upper)
                    break
            else:
                shown = None if self._written is None else self._written.bound(goal)
                place = _outward(shown, shown / 10**6, kept) if shown else Fraction(int(kept))
                if 0 < place < 1:
                    self._wider = True
                    goal = replace(goal, delta=place, gap=goal.gap / 2**10)
                    place = place if self._confirmed(goal) else Fraction(int(kept))
                else:
                    self._missing.append(self._obstacle or "")
                lower, upper = (lower, place) if kept else (place, upper)
        return Enclosure(lower, upper)

    def _confirmed(self, goal: ComposedGoal, last: bool = True) -> bool:
        """Ask the kernel; note the obstacle if there is no further goal."""
        missing = self._ended
        if missing is None:
            with EarlyEnd() as early:
                try:
                    with asking(self._options.limits.check):
                        return self._replays(goal)
                except NoCertificate as none:
                    missing = none.missing
                except NotProved as obstacle:
                    missing = str(obstacle)
            if early.interrupted:
                raise KeyboardInterrupt
            if early.reason is not None:
                missing = self._ended = early.reason
        self._obstacle = missing
        if last or self._ended is not None:
            self._missing.append(missing or "")
        return False

    def _replays(self, goal: ComposedGoal) -> bool:
        if self._written is None:
            self._written = PipelineProofs(self._found.pipeline, self._options, self._found.worst)
        failed: NotProved | None = None
        for proof in self._written.attempts(goal):
            start = perf_counter()
            try:
                replay(proof.pipeline, proof.claim, proof.steps)
            except NotProved as obstacle:
                failed = obstacle
                continue
            own = Replayed(len(proof.steps), perf_counter() - start, proof.places)
            self._replayed = own if self._replayed is None else self._replayed + own
            self._proofs.append(proof)
            return True
        raise failed or NoCertificate("no grid that is fine enough was found")


def _outward(end: Fraction, more: Fraction, up: bool) -> Fraction:
    """A number with few digits, at least 0, that is about so much beyond an end, or that itself."""
    if not more:
        return end
    unit = Fraction(1, 10 ** max(len(str(int(4 / more))), 0))
    found = (end + more if up else end - more) / unit
    return max((found.__ceil__() if up else found.__floor__()) * unit, Fraction(0))
