"""Claims by formulas at one eps: irrational numbers, proved through rational ones.

A claim is stronger the smaller eps_prv and delta are. So a proof for lower bounds of both proves
the claim, and a violation of upper bounds refutes it. The bounds are closer than any precision that
is asked for. An eps_prv such as log(3) needs no bounds: e^eps_prv is known exactly (`logarithms`).
Programs with irrational scales are judged alike, through rational ones (`rounded_scales`). What
bounds leave open, a delta that is attained, closed forms tell.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dipapprox.arithmetic.decimals import short
from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.data_classes import replace
from dipapprox.deferred import Deferred
from dipapprox.errors import EarlyEnd, UserError
from dipapprox.language.core import Program
from dipapprox.language.domains import has_real_inputs
from dipapprox.limits import Progress, silent
from dipapprox.pairs.adjacency import count_selected, select_pairs
from dipapprox.pairs.growth import eps_prv_factor
from dipapprox.pairs.selections import OrderedPairs, PairSelection, inputs_of
from dipapprox.privacy.claim import Claim, Stated
from dipapprox.privacy.intervals.formula_claim import FormulaClaim
from dipapprox.privacy.logarithms import growth_of
from dipapprox.privacy.options import Engine, Options
from dipapprox.privacy.rounded_scales import error_of, widened, widened_witness
from dipapprox.privacy.rounded_scales import slack as rounding_slack
from dipapprox.privacy.verdict import Answer, Verdict
from dipapprox.privacy.verifier import verify
from dipapprox.semantics.execution import execute

if TYPE_CHECKING:
    from dipapprox.privacy.decisions import by_closed_forms
else:
    by_closed_forms = Deferred("dipapprox.privacy.decisions.by_closed_forms")

_GUARD_BITS = 64

_TOO_SMALL = (
    "a scale is irrational, and the rational one in its place proves no claim with δ below "
    "{delta}; write a rational scale that is a little larger"
)


def verify_formula(
    program: Program,
    claim: FormulaClaim,
    eps: Fraction,
    selection: PairSelection,
    options: Options,
    progress: Progress = silent,
) -> Verdict:
    """Decide a claim at one eps; the answers mean what they mean in `verify`.

    Raises:
        UserError: If there is no claim at `eps`, or `verify` finds fault with its arguments.
    """
    if eps <= 0:
        raise UserError(f"eps must be > 0, got {eps}")
    claim.check(eps, eps)
    eps_prv, delta = claim.at(eps, options.max_precision + _GUARD_BITS)
    strong = Claim(eps, _inside(delta, claim.delta_text), _inside(eps_prv, claim.eps_prv_text))
    weak = Claim(eps, min(delta.upper, Fraction(1)), eps_prv.upper)
    verdict = _by_bounds(program, strong, weak, selection, options, progress)
    if not eps_prv.width and not delta.width:
        return verdict
    slack = _slack(eps_prv)
    growth = None
    if verdict.answer is Answer.UNKNOWN and not verdict.interrupted and eps_prv.width:
        values = {"eps": eps} if delta.width else {"eps": eps, "delta": delta.lower}
        growth = growth_of(claim.eps_prv, values)
    if growth is not None:
        strong, weak = (Claim(each.eps, each.delta, growth) for each in (strong, weak))
        verdict = _by_bounds(program, strong, weak, selection, options, progress)
        slack = Fraction(0)
    if verdict.answer is Answer.UNKNOWN and not verdict.interrupted and not eps_prv.width:
        verdict = _settled(verdict, program, claim, eps, delta.upper, selection, options)
    found = verdict.delta_enclosure
    return replace(
        verdict,
        delta_enclosure=None if found is None else widened(found, slack),
        witness=widened_witness(verdict.witness, Fraction(0), slack),
        stated_eps_prv=Stated(claim.eps_prv_text, eps_prv) if eps_prv.width else None,
        stated_delta=Stated(claim.delta_text, delta) if delta.width else None,
    )


def _settled(
    verdict: Verdict,
    program: Program,
    claim: FormulaClaim,
    eps: Fraction,
    most: Fraction,
    selection: PairSelection,
    options: Options,
) -> Verdict:
    """Ask closed forms about a delta that may be attained: they know it as the number that it is.

    A violation is left to enclosures: one that is too small for them is hardly ever met.
    """
    if error_of(program) or has_real_inputs(program) or not options.compares_exactly:
        return verdict
    settled = None
    with EarlyEnd():
        published = bool(program.real_outputs)
        states = execute(
            program,
            options.merge,
            options.limits,
            compared=not published,
            real_outputs=published,
            inputs=inputs_of(selection),
        )
        pairs = select_pairs(program, selection)
        settled = by_closed_forms.settle(states, claim, eps, eps, pairs, options)
    if settled is None or settled.eps is not None:
        return verdict
    seen = verdict.delta_enclosure
    if seen is None and verdict.witness is not None:
        seen = verdict.witness.delta_enclosure
    least = Fraction(0) if seen is None else max(seen.lower, Fraction(0))
    engine = " + ".join(dict.fromkeys((*verdict.engine.split(" + "), Engine.EXACT.value)))
    return replace(
        verdict,
        answer=Answer.DP,
        run=replace(
            verdict.run,
            pairs=count_selected(program, selection),
            reason=None,
            engine=engine,
            seconds=options.limits.elapsed(),
        ),
        delta_enclosure=Enclosure(least, max(least, most)),
        witness=None,
    )


def _by_bounds(
    program: Program,
    strong: Claim,
    weak: Claim,
    selection: PairSelection,
    options: Options,
    progress: Progress,
) -> Verdict:
    """Decide what lies between two claims: prove the stronger one, or refute the weaker one.

    Irrational scales of the program are replaced by rational ones.
    """
    if error_of(program):
        return _with_rational_scales(program, strong, weak, selection, options, progress)
    verdict = verify(program, strong, selection, options, progress)
    if verdict.answer is Answer.NOT_DP and strong != weak:
        return _confirmed(verdict, program, weak, options)
    return verdict


def _with_rational_scales(
    program: Program,
    strong: Claim,
    weak: Claim,
    selection: PairSelection,
    options: Options,
    progress: Progress,
) -> Verdict:
    error, exact = error_of(program), program.with_rational_scales()
    slack = rounding_slack(program, weak.growth)
    least, most = strong.delta - slack, min(weak.delta + slack, Fraction(1))
    weaker = Claim(weak.eps, most, weak.growth)
    if least >= 0:
        stronger = Claim(strong.eps, least, strong.growth)
        verdict = _by_bounds(exact, stronger, weaker, selection, options, progress)
    else:
        verdict = verify(exact, weaker, selection, options, progress)
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


def _confirmed(verdict: Verdict, program: Program, weak: Claim, options: Options) -> Verdict:
    """Check the violating pair of a stronger claim against a weaker one."""
    assert verdict.witness is not None, "Not_DP has a witness"
    pair = verdict.witness.input, verdict.witness.adjacent
    again = verify(program, weak, OrderedPairs((pair,)), options)
    if again.answer is Answer.NOT_DP:
        run = replace(again.run, pairs=verdict.pairs, scope=verdict.scope)
        return replace(again, run=run)
    reason = again.reason or "critical delta: the pair of the witness is too close to the claim"
    return replace(
        verdict,
        run=replace(verdict.run, reason=reason),
        answer=Answer.UNKNOWN,
        delta_enclosure=None,
        interrupted=again.interrupted,
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
