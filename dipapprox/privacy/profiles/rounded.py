"""The tightest guarantees of programs with irrational scales, through rational ones.

See `rounded_scales`. With the slack s at an eps_prv of at most E, of which delta(eps_prv) of the
rational program is a falling function: the least eps_prv for delta is at least that of the rational
program for delta + s, and at most that for delta - s, as far as these are at most E.

Where none is enough for the rational program, because outputs that the adjacent input never has are
more likely than delta + s, none is for the other: laws of one family about one mean are possible
at the same places, whatever their scales, so these outputs stay impossible, and have more than
delta.
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.arithmetic.extended import INFINITE, Extended
from dipapprox.data_classes import replace
from dipapprox.errors import SourceError
from dipapprox.pairs.divergence import Growth
from dipapprox.privacy.profiles.profile import profile
from dipapprox.privacy.profiles.profile_result import LeastDelta, LeastEpsPrv
from dipapprox.privacy.profiles.question import AtDelta, AtEpsPrv, Question
from dipapprox.privacy.rounded_scales import error_of, slack, widened, widened_witness
from dipapprox.privacy.run import Setting
from dipapprox.source import Diagnostic

_LARGEST = (Fraction(2**20), Fraction(2**100))  # E: the larger it is, the larger is the slack


def profile_rounded(
    setting: Setting, eps: Fraction, question: Question
) -> LeastDelta | LeastEpsPrv:
    """Answer a question about a program that has a `rounding`; see `profile`.

    Raises:
        SourceError: If it is about a curve, Rényi divergences or pure privacy.
    """
    program = setting.program
    error, rational = error_of(program), replace(setting, program=program.with_rational_scales())
    match question:
        case AtEpsPrv(growth=growth):
            found = profile(rational, eps, question)
            assert isinstance(found, LeastDelta)
            by = slack(program, growth)
            return replace(
                found,
                delta_enclosure=widened(found.delta_enclosure, by),
                witness=widened_witness(found.witness, error, by),
            )
        case AtDelta(delta):
            answer: LeastEpsPrv | None = None
            for largest in _LARGEST:
                by = slack(program, Growth(largest))
                if not by < delta < 1 - by:
                    break
                low, high = (
                    profile(rational, eps, asked)
                    for asked in (replace(question, delta=delta + d) for d in (by, -by))
                )
                answer = _between(low, high, delta, error, by, largest)
                least = answer.eps_prv_enclosure
                if least.infinite or least.upper is not None:
                    break
            if answer is not None:
                return answer
            what = "δ = 0" if not delta else f"δ = {delta}"
        case _:
            what = "a curve, or Rényi divergences"
    message = f"an irrational scale: its guarantee for {what} is not known"
    span = None if program.rounding is None else program.rounding.span
    hint = "ask for one ε_prv, or one δ inside (0, 1); or write a rational number"
    raise SourceError([Diagnostic("type error", message, span, hint)])


def _between(
    low: object, high: object, delta: Fraction, error: Fraction, by: Fraction, largest: Fraction
) -> LeastEpsPrv:
    assert isinstance(low, LeastEpsPrv)
    assert isinstance(high, LeastEpsPrv)
    lower, upper = low.eps_prv_enclosure.lower, high.eps_prv_enclosure.upper
    reason = high.run.reason or low.run.reason
    least = INFINITE
    if lower is not None:
        most = None if upper is None or upper > largest else upper
        least = Extended(min(lower, largest), most)
        if most is None:
            reason = reason or "a scale is irrational, and δ is next to what no ε_prv takes away"
    return replace(
        low,
        run=replace(low.run, reason=reason),
        delta=delta,
        eps_prv_enclosure=least,
        witness=widened_witness(low.witness, error, by),
    )
