"""From the end of a search to a verdict: the answer, its reason and its witness."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, rational, short
from dipapprox.arithmetic.extended import BY_ENCLOSURES, GivenBy
from dipapprox.errors import LimitReached
from dipapprox.language.core import Value
from dipapprox.pairs.divergence import Attempt, certain_outputs, likely_outputs
from dipapprox.pairs.search import Search
from dipapprox.privacy.description import values_text
from dipapprox.privacy.options import LARGEST_PRECISION
from dipapprox.privacy.run import Witness, WitnessRow
from dipapprox.privacy.verdict import Answer


class Conclusion(NamedTuple):
    """What a search established."""

    answer: Answer
    reason: str | None
    delta_enclosure: Enclosure | None
    witness: Witness | None
    by: GivenBy = BY_ENCLOSURES


Describe = Callable[[Attempt, bool], Witness | None]
"""Says what tells a pair apart, None if that is not known; for certain, if so asked."""


def conclude(
    search: Search, total: int | None, stopped: str | None, describe: Describe
) -> Conclusion:
    """Turn the state of a search, whatever ended it, into an answer; `stopped` says what did
    early."""
    told = search.told()
    by = BY_ENCLOSURES if told is None else told.by
    if search.violation is not None:
        witness = _described(describe, search.violation, True)
        return Conclusion(Answer.NOT_DP, None, search.delta_enclosure(), witness, by)
    if stopped is None and search.undecided == 0:
        # The largest of no deltas is 0: without pairs there is nothing to tell apart.
        delta = search.delta_enclosure() or Enclosure.exact(0)
        return Conclusion(Answer.DP, None, delta, None, by)
    nearest = search.nearest()
    reasons = []
    if stopped is not None:
        reasons.append(f"{stopped}; {_progress(search.checked, total)}")
    if nearest is not None:
        reasons.append(_undecided(nearest, search.delta, search.undecided))
    witness = None if nearest is None else _described(describe, nearest, False)
    return Conclusion(Answer.UNKNOWN, "; ".join(reasons), search.delta_enclosure(), witness, by)


def _described(describe: Describe, attempt: Attempt, certain: bool) -> Witness | None:
    """Describe a pair if the limits allow: what is proved stays so without a set that shows it."""
    try:
        return describe(attempt, certain)
    except LimitReached:
        return None


def witness_over(
    outputs: Sequence[Sequence[Value]], delta: Fraction, attempt: Attempt, certain: bool
) -> Witness | None:
    """Return the outputs that tell the pair apart; None if none are known."""
    first, second, factor = attempt.first, attempt.second, attempt.factor
    proof = attempt.proof if certain else None
    if proof is not None:
        first, second = (each or (UNIT,) * len(outputs) for each in (first, second))
        chosen = proof.outputs
    elif not first:
        return None
    else:
        chosen = (certain_outputs if certain else likely_outputs)(first, second, factor)
    if not chosen:
        return None
    rows = tuple(WitnessRow(tuple(outputs[i]), first[i], second[i]) for i in chosen)
    if proof is None:
        return Witness.of(attempt.pair, rows, factor)
    # Over these outputs the difference is at least that of all, or exceeds the claim as that does.
    shown = attempt.delta.lower > delta
    argument = None if shown else proof.argument
    return Witness(*attempt.pair, rows, attempt.delta, argument)


def _progress(checked: int, total: int | None) -> str:
    of = "" if total is None else f" of {total}"
    return f"{checked}{of} pairs checked"


def _undecided(attempt: Attempt, delta: Fraction, undecided: int) -> str:
    where = f"for input {values_text(attempt.pair[0])} and adjacent {values_text(attempt.pair[1])}"
    others = f" (and {undecided - 1} other undecided pairs)" if undecided > 1 else ""
    if attempt.obstacle is not None:
        return f"no enclosure {where}: {attempt.obstacle}{others}"
    lower, upper = short(attempt.delta)
    inside = (
        f"delta = {rational(delta)} lies inside the enclosure [{lower}, {upper}] of delta_(u,u')"
    )
    if undecided == 0:  # a limit came first
        return f"at {attempt.bits} bits {inside} {where}"
    if attempt.delta.width * 2 ** (attempt.bits // 2) > 1:
        return (
            f"precision limit: at {attempt.bits} bits {inside} {where}{others}; "
            f"{_more_bits(attempt.bits)}"
        )
    return (
        f"critical delta, as far as {attempt.bits} bits tell: {inside} {where}{others}; "
        f"{_more_bits(attempt.bits)}"
    )


def _more_bits(bits: int) -> str:
    """Say what more bits could do. Deltas may differ from the claimed one by e^-100000."""
    if bits >= LARGEST_PRECISION:
        return "no larger precision is allowed"
    may = f"a larger maximal precision, up to {LARGEST_PRECISION} bits, may decide"
    return f"{may}, unless delta is critical"
