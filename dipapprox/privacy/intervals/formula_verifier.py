"""Claims by formulas at one eps: irrational numbers, proved through rational ones.

A claim is stronger the smaller eps_prv and delta are. So a proof for lower bounds of both proves
the claim, and a violation of upper bounds refutes it. The bounds are closer than any precision that
is asked for. An eps_prv such as log(3) needs no bounds: e^eps_prv is known exactly (`logarithms`).
Programs with irrational scales are judged alike, through rational ones (`rounded_scales`). What
bounds leave open, a delta that is attained, closed forms tell.
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.arithmetic.enclosure import Enclosure, short
from dipapprox.data_classes import replace
from dipapprox.errors import EarlyEnd, UserError
from dipapprox.limits import current
from dipapprox.pairs.divergence import Growth, eps_prv_factor
from dipapprox.privacy.decisions import by_closed_forms
from dipapprox.privacy.intervals.verdict import FormulaClaim
from dipapprox.privacy.logarithms import growth_of
from dipapprox.privacy.options import Engine
from dipapprox.privacy.rounded_scales import error_of, widened, widened_witness
from dipapprox.privacy.rounded_scales import slack as rounding_slack
from dipapprox.privacy.run import Setting
from dipapprox.privacy.subjects import executed_for
from dipapprox.privacy.verdict import Answer, Claim, Stated, Verdict
from dipapprox.privacy.verifier import verify
from dipapprox.semantics.state import FinalStates

_GUARD_BITS = 64

_TOO_SMALL = (
    "a scale is irrational, and the rational one in its place proves no claim with δ below "
    "{delta}; write a rational scale that is a little larger"
)


def verify_formula(setting: Setting, claim: FormulaClaim, eps: Fraction) -> Verdict:
    """Decide a claim at one eps, as `verify` does; a `UserError` if there is none at `eps`, or
    `verify` finds fault with its arguments."""
    claim.check(eps, eps)
    eps_prv, delta = claim.at(eps, setting.options.max_precision + _GUARD_BITS)
    strong, weak = _bounds(claim, eps, eps_prv, delta, None)
    verdict = _between(setting, strong, weak)
    growth = None
    if _is_open(verdict) and eps_prv.width:
        exactly = {} if delta.width else {"delta": delta.lower}
        growth = growth_of(claim.eps_prv, {"eps": eps, **exactly})
        if growth is not None:
            verdict = _between(setting, *_bounds(claim, eps, eps_prv, delta, growth))
    exact = not error_of(setting.program) and not setting.is_real
    between = bool(delta.width) and not eps_prv.width
    if _is_open(verdict) and between and exact and setting.options.compares_exactly:
        verdict = _settled(verdict, setting, claim, eps, delta.upper)
    if not eps_prv.width and not delta.width:
        return verdict
    slack = _slack(eps_prv) if growth is None else Fraction(0)
    found = verdict.delta_enclosure
    return replace(
        verdict,
        delta_enclosure=None if found is None else widened(found, slack),
        witness=widened_witness(verdict.witness, Fraction(0), slack),
        stated_eps_prv=Stated(claim.eps_prv_text, eps_prv) if eps_prv.width else None,
        stated_delta=Stated(claim.delta_text, delta) if delta.width else None,
    )


def _is_open(found: Verdict) -> bool:
    return found.answer is Answer.UNKNOWN and not found.interrupted


def _bounds(
    claim: FormulaClaim, eps: Fraction, eps_prv: Enclosure, delta: Enclosure, growth: Growth | None
) -> tuple[Claim, Claim]:
    """Return claims that imply a claim at one ε, and that it implies."""
    least = growth or _inside(eps_prv, claim.eps_prv_text)
    strong = Claim(eps, _inside(delta, claim.delta_text), least)
    return strong, Claim(eps, min(delta.upper, Fraction(1)), growth or eps_prv.upper)


def _settled(
    verdict: Verdict, setting: Setting, claim: FormulaClaim, eps: Fraction, most: Fraction
) -> Verdict:
    """Ask closed forms, which know δ as the number that it is, `most` at most.

    A violation is left to enclosures: one that is too small for them is hardly ever met.
    """
    settled = None
    with EarlyEnd():
        states = executed_for(setting, parts=False)
        if isinstance(states, FinalStates):
            settled = by_closed_forms.settle(states, claim, eps, eps, setting)
    if settled is None or settled.eps is not None:
        return verdict
    seen = verdict.delta_enclosure
    if seen is None and verdict.witness is not None:
        seen = verdict.witness.delta_enclosure
    least = Fraction(0) if seen is None else max(seen.lower, Fraction(0))
    engine = " + ".join(dict.fromkeys((*verdict.engine.split(" + "), Engine.EXACT.value)))
    run = replace(
        verdict.run, pairs=setting.count(), reason=None, engine=engine, seconds=current().elapsed()
    )
    delta = Enclosure(least, max(least, most))
    return replace(verdict, answer=Answer.DP, run=run, delta_enclosure=delta, witness=None)


def _between(setting: Setting, strong: Claim, weak: Claim) -> Verdict:
    """Prove the stronger of two claims, or refute the weaker one.

    Irrational scales of the program are replaced by rational ones.
    """
    if error_of(setting.program):
        return _with_rational_scales(setting, strong, weak)
    verdict = verify(setting, strong)
    if verdict.answer is not Answer.NOT_DP or strong == weak:
        return verdict
    assert verdict.witness is not None, "Not_DP has a witness"
    again = verify(setting.about((verdict.witness.input, verdict.witness.adjacent)), weak)
    if again.answer is Answer.NOT_DP:
        run = replace(again.run, pairs=verdict.pairs, scope=verdict.scope)
        return replace(again, run=run)
    critical = "critical delta: the pair of the witness is too close to the claim"
    return replace(
        verdict,
        run=replace(verdict.run, reason=again.reason or critical),
        answer=Answer.UNKNOWN,
        delta_enclosure=None,
        interrupted=again.interrupted,
    )


def _with_rational_scales(setting: Setting, strong: Claim, weak: Claim) -> Verdict:
    program = setting.program
    error, slack = error_of(program), rounding_slack(program, weak.growth)
    exact = replace(setting, program=program.with_rational_scales())
    least, most = strong.delta - slack, min(weak.delta + slack, Fraction(1))
    weaker = Claim(weak.eps, most, weak.growth)
    if least >= 0:
        verdict = _between(exact, Claim(strong.eps, least, strong.growth), weaker)
    else:
        verdict = verify(exact, weaker)
        if verdict.answer is Answer.DP:
            reason = _TOO_SMALL.format(delta=short(Enclosure.exact(slack))[1])
            run = replace(verdict.run, reason=reason)
            verdict = replace(verdict, answer=Answer.UNKNOWN, run=run)
    found = verdict.delta_enclosure
    return replace(
        verdict,
        claim=weak if verdict.answer is Answer.NOT_DP else strong,
        delta_enclosure=None if found is None else widened(found, slack),
        witness=widened_witness(verdict.witness, error, slack),
    )


def _inside(value: Enclosure, text: str) -> Fraction:
    if value.lower < 0 <= value.upper:
        raise UserError(f"cannot tell whether '{text}' is negative: it is about 0")
    return value.lower


def _slack(eps_prv: Enclosure) -> Fraction:
    """Bound how much delta_{u,u'} changes with the eps_prv: by at most that of e^eps_prv."""
    bits = _GUARD_BITS
    high = eps_prv_factor(eps_prv.upper, bits).upper
    # Between the bounds e^b grows by at most e^upper times their distance (mean value theorem).
    return Fraction(1) if high is None else min(high * eps_prv.width, Fraction(1))
