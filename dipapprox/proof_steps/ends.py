"""Ends of answers that the kernel has replayed proofs of: the least δ, the least ε_prv, epsilons.

    least δ at an ε_prv in [lo, hi]    a pair breaks (ε_prv, lo), all pairs keep (ε_prv, hi)
    least ε_prv at a δ in [lo, hi]     a pair breaks (lo, δ), all pairs keep (hi, δ)
    calibration                        all pairs keep the claim at one ε, one breaks it at another

What is found is widened by a hair first, so that enclosures tell: δ may be attained, and a claim is
broken strictly. Broken claims come first: they need the runs of two inputs, kept ones those of all.
An end that the kernel does not confirm is given up: it becomes 0, 1, ∞ or none. Of several real
outputs losses are put on a grid, which takes long for a narrow answer: wider ends come first there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.arithmetic.extended import Extended
from dipapprox.data_classes import replace
from dipapprox.kernel.proofs import MOST_EPS_PRV
from dipapprox.numerics.powers import logarithm
from dipapprox.pairs.divergence import Growth
from dipapprox.privacy.profiles.calibration import Calibration, Certified, Refuted
from dipapprox.privacy.profiles.profile_result import AtDelta, AtEpsPrv, LeastDelta, LeastEpsPrv
from dipapprox.privacy.run import Run, Setting, Witness
from dipapprox.privacy.verdict import Claim
from dipapprox.proof_steps.verdicts import MANY_OUTPUTS, Attempts, Goal, replayed

_HAIR = Fraction(1, 2**10)  # of the width that was asked for
_UNKNOWN_MASS = Fraction(1, 2**10)
"""Stands for the probability that e^ε_prv multiplies, where it is not known."""

_MOST, _MUCH = Fraction(MOST_EPS_PRV), Fraction(4)  # that may not be enough, where none may be
_LONGEST = 1 << 10_000  # denominators of exact ends are smaller: proofs have their digits


def proved_delta(setting: Setting, question: AtEpsPrv, answer: LeastDelta) -> LeastDelta:
    """Return a least δ, its ends as far as the kernel confirms them.

    For an irrational ε_prv, rational numbers on both sides are proved.
    """
    prover = _Prover(setting, answer.run)
    found, witness = answer.delta_enclosure, answer.witness
    hair = _HAIR * max(question.tolerance(found), found.width)
    below, above = _rational_bounds(question.growth, hair / 8)
    broken, rough = None, prover.rough(found.upper, hair)
    if witness is not None:
        least = witness.delta_enclosure.lower
        lowers = [_less(min(found.lower, least), own) for own in (hair, *rough)]
        goals = [prover.goal(answer.eps, e, above, least - e, witness) for e in lowers if e > 0]
        if goals:  # the first is the greatest
            broken = prover.confirmed("lower", goals[:1], goals[1:])
    elif found.lower > hair:
        prover.note("lower", "there is no witness")
    is_exact = found.width == 0 and below == above and found.upper.denominator < _LONGEST
    ends = [found.upper] * is_exact + [-_less(-found.upper, hair)]
    # An ε_prv that is d less raises δ by at most 2d.
    spare = found.upper + 2 * (above - below)
    # Losses of parts are rounded: of those a wider end is proved.
    in_parts = answer.run.outputs > MANY_OUTPUTS and found.upper > 0
    rough = rough or [found.upper / 2**k for k in (24, 16) if in_parts]
    goals, wider = (
        [prover.goal(answer.eps, end, below, end - spare) for end in own if end < 1]
        for own in (ends, [-_less(-found.upper, each) for each in rough])
    )
    kept = prover.confirmed("upper", goals, wider)
    lower = Fraction(0) if broken is None else broken.claim.delta
    proved = Enclosure(lower, Fraction(1) if kept is None else kept.claim.delta)
    shown = None if broken is None else witness
    return replace(answer, **prover.told(), delta_enclosure=proved, witness=shown)


def proved_eps_prv(setting: Setting, question: AtDelta, answer: LeastEpsPrv) -> LeastEpsPrv:
    """Return a least ε_prv, its ends as far as the kernel confirms them; see `proved_delta`."""
    prover = _Prover(setting, answer.run)
    found, witness, delta = answer.eps_prv_enclosure, answer.witness, answer.delta
    width = found.width or Fraction(0)
    hair = _HAIR * max(question.tolerance, width)
    goals, wider = ({"lower": list[Goal](), "upper": list[Goal]()} for _ in range(2))
    rough = prover.rough(found.upper or Fraction(1), hair) if width else []
    mass = _mass(witness, delta)
    end = _MOST if found.lower is None else min(found.lower - hair, _MOST)
    if witness is not None and end > 0:
        near = None if end == _MOST else hair * mass
        own = [_MOST, _MUCH] if end == _MOST else [end]
        goals["lower"] = [prover.goal(answer.eps, delta, each, near, witness) for each in own]
        if found.lower is None:
            goals["lower"].insert(0, replace(goals["lower"][0], at_every=True))
        elif end < _MOST:
            lowers = [(found.lower - h, h * mass) for h in rough if h < found.lower]
            wider["lower"] = [prover.goal(answer.eps, delta, *each, witness) for each in lowers]
    elif end > 0:
        prover.note("lower", "there is no witness")
    upper = found.upper
    if upper is not None and delta < 1:
        exact = prover.goal(answer.eps, delta, upper, Fraction(0))
        # Prices of shifts of published noise are exact, too.
        goals["upper"] = [exact] * (width == 0 or exact.is_pure)
        uppers = [prover.goal(answer.eps, delta, upper + h, h * mass) for h in (hair, *rough)]
        goals["upper"].append(uppers[0])
        wider["upper"] = uppers[1:]
    # At δ = 0 prices tell the upper end at once, if any do.
    order = sorted(filter(goals.get, goals), reverse=not delta)
    confirmed = {side: prover.confirmed(side, goals[side], wider[side]) for side in order}
    broken = confirmed.get("lower")
    if "upper" in confirmed:
        kept = confirmed["upper"]
        upper = None if kept is None else kept.claim.eps_prv
    lower = Fraction(0) if broken is None else None if broken.at_every else broken.claim.eps_prv
    if lower and end == _MOST:
        more = "∞" if found.lower is None else "more"
        prover.note("lower", f"it confirms that {lower} is not enough, for {more} it has no proof")
    shown = None if broken is None else witness
    proved = Extended(lower, upper)
    return replace(answer, **prover.told(), eps_prv_enclosure=proved, witness=shown)


def proved_calibration(setting: Setting, answer: Calibration) -> Calibration:
    """Return a calibration, its ends as far as the kernel confirms them; see `proved_delta`.

    The ε_prv that the ends need are what follows from that: at most, and more than the claimed one.
    """
    prover = _Prover(setting, answer.run)
    certified, refuted, eps_prv = answer.certified, answer.refuted, answer.eps_prv
    witness = None if refuted is None else refuted.witness
    if refuted is not None:
        broken = None
        if witness is None:
            prover.note("refuted", "there is no witness")
        else:
            gap = witness.delta_enclosure.lower - answer.delta
            goal = prover.goal(refuted.eps, answer.delta, eps_prv, gap, witness)
            broken = prover.confirmed("refuted", [goal])
        if broken is None:
            refuted = None
    if certified is not None and answer.delta < 1:
        assert certified.needed.upper is not None
        gap = (eps_prv - certified.needed.upper) * _mass(witness, answer.delta)
        goal = prover.goal(certified.eps, answer.delta, eps_prv, gap)
        if prover.confirmed("certified", [goal]) is None:
            certified = None
    return replace(
        answer,
        **prover.told(),
        certified=certified and Certified(certified.eps, Extended(Fraction(0), eps_prv)),
        refuted=refuted and Refuted(refuted.eps, Extended(eps_prv, None), refuted.witness),
    )


class _Prover(Attempts):
    """Asks the kernel about the ends of an answer, and remembers what it says."""

    def __init__(self, setting: Setting, run: Run) -> None:
        super().__init__()
        self._setting, self._run = setting, run
        self._missing: dict[str, list[str]] = {}

    def goal(
        self,
        eps: Fraction,
        delta: Fraction,
        eps_prv: Fraction,
        gap: Fraction | None,
        witness: Witness | None = None,
    ) -> Goal:
        """Return that all pairs keep a claim, or that a witness breaks it."""
        is_pure = bool(self._run.program.real_outputs) and not delta and witness is None
        claim = Claim(eps, delta, eps_prv)
        return Goal(claim, witness, gap, self._run.outputs, is_pure=is_pure)

    def rough(self, size: Fraction, hair: Fraction) -> list[Fraction]:
        """Return more than a hair: ends so much wider, of such a size, are proved first."""
        parts = (4, 11, 18, 25) if len(self._run.program.real_outputs) > 1 else ()
        return [size / 2**k for k in parts if size > hair * 2**k]

    def confirmed(self, end: str, goals: Iterable[Goal], wider: Sequence[Goal] = ()) -> Goal | None:
        """Return the first of some goals that the kernel confirms, or of wider ones.

        Note the obstacle if none of the first ones is.
        """
        missing, kept = self.ended, None
        if len(self._run.program.real_outputs) > 1:
            for goal in wider:
                missing = self.obstacle(partial(replayed, self._setting, goal))
                if missing is not None:
                    break
                kept = goal
            goals, wider = () if missing else goals, ()
        for goal in goals:
            missing = self.obstacle(partial(replayed, self._setting, goal))
            if missing is None:
                return goal
        if missing is None:
            return None
        for goal in wider:
            if self.obstacle(partial(replayed, self._setting, goal)) is None:
                kept = goal
                break
        self.note(end, missing if kept is None else f"{missing}; it has one of a wider end")
        return kept

    def note(self, end: str, missing: str) -> None:
        """Say of an end why it is given up."""
        self._missing.setdefault(missing, []).append(end)

    def told(self) -> dict[str, Any]:
        """Return the header of the answer, with what has no proof, and what the kernel replayed."""
        reasons = [] if self._run.reason is None else [self._run.reason]
        for missing, given_up in self._missing.items():
            ends = " and ".join(given_up) + (" ends" if len(given_up) > 1 else " end")
            reasons.append(f"the kernel has no proof of the {ends}: {missing}")
        run = replace(self._run, reason="; ".join(reasons) or None)
        return {"run": run, "replayed": self.replayed}


def _mass(witness: Witness | None, delta: Fraction) -> Fraction:
    """Estimate e^ε_prv Pr[S | u'] where δ is attained by S: how fast δ falls with ε_prv."""
    if witness is None:
        return _UNKNOWN_MASS
    mass = sum((row.probability.lower for row in witness.rows), -delta)
    return mass if mass > 0 else _UNKNOWN_MASS


def _less(value: Fraction, hair: Fraction) -> Fraction:
    """Return a number with few digits that is less than a value by one hair to two."""
    unit = 1 << (1 / hair).__ceil__().bit_length()
    return Fraction(((value - hair) * unit).__floor__(), unit)


def _rational_bounds(growth: Growth, width: Fraction) -> tuple[Fraction, Fraction]:
    """Return eps_prv twice, or numbers on both sides of an irrational one, at most so far apart."""
    if growth.multiple == 1:
        return growth.rate, growth.rate
    bits = 64
    while True:
        found = logarithm(growth.multiple, bits)
        if found.width <= width:
            # It is at least 0, whatever rounding says.
            return max(growth.rate + found.lower, Fraction(0)), growth.rate + found.upper
        bits *= 2
