"""A cheap attempt to refute a claim on an interval: the verifier of one eps, at a few of them.

It stops at the first violating pair and knows programs with astronomically many pairs, where the
subdivision of the interval has to list them all. It proves nothing about the interval but Not_DP.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from dipapprox.data_classes import replace
from dipapprox.errors import UserError
from dipapprox.language.core import Program
from dipapprox.limits import Limits
from dipapprox.pairs.adjacency import PairSelection
from dipapprox.pairs.pair_list import MOST_PAIRS
from dipapprox.privacy.intervals.formula_claim import FormulaClaim
from dipapprox.privacy.intervals.formula_verifier import verify_formula
from dipapprox.privacy.intervals.search import between
from dipapprox.privacy.options import Options
from dipapprox.privacy.verdict import Answer, Verdict

_FEW_PAIRS = 256
"""So few pairs are evaluated at both ends by the subdivision just as fast."""

_SECONDS = 3.0
"""Most for one eps; of a time limit, never more than an eighth of what is left."""


def trial_points(lower: Fraction, upper: Fraction, pairs: int | None) -> tuple[Fraction, ...]:
    """Choose the epsilons to try.

    Args:
        lower: The least eps, > 0.
        upper: The greatest, > `lower`.
        pairs: How many there are; None if that is not known.

    Returns:
        None of them for few pairs, else both ends, and a middle where a trial is all there is.
    """
    if pairs is not None and pairs <= _FEW_PAIRS:
        return ()
    if pairs is None or pairs <= MOST_PAIRS:
        return lower, upper
    return lower, upper, between(lower, upper)


def refute(
    program: Program,
    claim: FormulaClaim,
    epsilons: Iterable[Fraction],
    selection: PairSelection,
    options: Options,
) -> Verdict | None:
    """Return the first Not_DP at some of the epsilons; None if no trial finds one in short time.

    Raises:
        KeyboardInterrupt: If the user stops a trial.
    """
    for eps in epsilons:
        short = replace(options, limits=_share(options.limits))
        try:
            verdict = verify_formula(program, claim, eps, selection, short)
        except UserError:  # a budget of about 0, say: nothing that refutes the claim
            continue
        if verdict.interrupted:
            raise KeyboardInterrupt
        if verdict.answer is Answer.NOT_DP:
            return verdict
    return None


def _share(limits: Limits) -> Limits:
    elapsed = limits.elapsed()
    granted = _SECONDS
    if limits.seconds is not None:
        granted = min(granted, max(limits.seconds - elapsed, 0.0) / 8)
    return replace(limits, seconds=elapsed + granted)
