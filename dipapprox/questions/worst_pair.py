"""Where does the worst pair of real inputs lie? Pictures and words for an answer that has a pair.

verdict | least δ | least ε_prv  →  δ over planes through its pair (`Planes`)

A verdict of DP has no pair: then the pair of the largest δ at the claimed ε_prv is asked for, which
takes about as long as the verdict did.
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.arithmetic.enclosure import short
from dipapprox.digits import exact_text
from dipapprox.errors import LimitReached, UserError
from dipapprox.language.core import Program
from dipapprox.language.domains import has_real_inputs
from dipapprox.pairs.divergence import Growth
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.description import known_to_be
from dipapprox.privacy.intervals.verdict import IntervalVerdict
from dipapprox.privacy.options import Options
from dipapprox.privacy.profiles.around_pair import planes
from dipapprox.privacy.profiles.calibration import Calibration, Refuted
from dipapprox.privacy.profiles.planes import Planes, short_number
from dipapprox.privacy.profiles.profile_result import LeastDelta, LeastEpsPrv
from dipapprox.privacy.run import RunResult, Witness
from dipapprox.privacy.verdict import Answer, Verdict
from dipapprox.questions.kinds import Pairs
from dipapprox.questions.profile import Profile

_NOTHING = "there is nothing to draw"
_LONGEST = len("1/1000")


def check_drawable(program: Program) -> None:
    """Refuse programs of which no planes are drawn."""
    if not has_real_inputs(program):
        raise UserError(f"{_NOTHING}: no input may be any real number between bounds")
    if program.real_outputs:
        raise UserError(f"{_NOTHING}: planes are drawn of programs with finite outputs")


def around_worst_pair(program: Program, found: RunResult, pairs: Pairs, options: Options) -> Planes:
    """Compute δ over planes through the pair of an answer.

    Args:
        options: How to compute; a limit that is reached leaves planes out.
    """
    check_drawable(program)
    name = "worst pair" if found.reason is None else "worst pair found"
    proved = ""  # what is certain of all pairs
    witness: Witness | None = None
    rate: object = None
    match found:
        case Verdict(answer=Answer.DP, claim=claim):
            largest = _largest(program, claim, pairs, options)
            return around_worst_pair(program, largest, pairs, options)
        case Verdict(witness=witness, claim=claim, answer=answer):
            name = "violating pair" if answer is Answer.NOT_DP else "closest pair found"
            eps, rate = claim.eps, claim.eps_prv
        case IntervalVerdict(violation=Verdict() as violation):
            return around_worst_pair(program, violation, pairs, options)
        case LeastDelta(eps=eps, eps_prv=rate, witness=witness, delta_enclosure=delta):
            proved = "" if found.scope.listed else f"no pair has a δ above {short(delta)[1]}"
        case LeastEpsPrv(eps=eps, delta=least, eps_prv_enclosure=enclosure, witness=witness):
            proved = f"least ε_prv for δ = {least} in {enclosure}; drawn at its lower end"
            rate = enclosure.lower or Fraction(0)
        case Calibration(eps_prv=rate, refuted=Refuted(eps=eps, witness=witness)):
            name = f"pair that refutes ε = {short_number(eps)}"
        case _:
            raise UserError(f"{_NOTHING}: this answer has no pair of inputs")
    if witness is None:
        raise UserError(f"{_NOTHING}: no pair of inputs is told apart")
    if not isinstance(rate, Fraction):
        raise UserError(f"{_NOTHING}: planes are drawn for an ε_prv that is a rational number")
    pair = (witness.input, witness.adjacent)
    drawn, left_out = planes(program, eps, Growth(rate), pair, options)
    if not drawn:
        raise UserError(f"{_NOTHING}: {left_out or 'no input can move'}")
    budget = exact_text(rate) if len(exact_text(rate)) <= _LONGEST else short_number(rate)
    return Planes(
        f"{found.program} at ε = {eps}, ε_prv = {budget}: δ around the {name}",
        found.about(),
        name,
        " ~ ".join(witness.pair_text(program.inputs)),
        proved or f"δ of this pair {known_to_be(witness.delta_enclosure)}",
        drawn,
        left_out,
    )


def _largest(program: Program, claim: Claim, pairs: Pairs, options: Options) -> RunResult:
    """Find the pair of the largest δ at a claimed eps_prv: a verdict of DP names none."""
    try:
        return Profile(eps=claim.eps, eps_prv=claim.eps_prv, pairs=pairs).answer(program, options)
    except LimitReached as reached:
        raise UserError(f"{_NOTHING}: {reached.reason}") from None
