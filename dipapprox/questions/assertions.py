"""Assertions for tests: an exception with the whole answer if a claim does not hold."""

from __future__ import annotations

from dipapprox.privacy.intervals.verdict import IntervalVerdict
from dipapprox.privacy.options import Options
from dipapprox.privacy.verdict import Answer, Verdict
from dipapprox.questions.calls import explained
from dipapprox.questions.interface import AnyProgram, Number, Pairs, verify


@explained("assert_private(program, eps=1, delta=0)")
def assert_private(
    program: AnyProgram,
    *,
    eps: Number | tuple[Number, Number],
    delta: Number = 0,
    eps_prv: Number | None = None,
    pairs: Pairs = "all",
    options: Options | None = None,
) -> Verdict | IntervalVerdict:
    """Assert that a program or function is (eps_prv, delta)-differentially private.

    Args:
        program: From `parse`, or a `mechanism`.
        eps: The program's privacy parameter, or an interval, as in `verify`.
        delta: In [0, 1]; or a formula in eps.
        eps_prv: At least 0; or a formula. None for eps itself.
        pairs: As in `verify`.
        options: How to compute.

    Returns:
        The verdict, which is DP.

    Raises:
        AssertionError: If it is not, with the witness, or if that is unknown, with the reason.
        UserError: If an argument is wrong.
    """
    verdict = verify(program, eps=eps, delta=delta, eps_prv=eps_prv, pairs=pairs, options=options)
    if verdict.answer is not Answer.DP:
        raise AssertionError(str(verdict))
    return verdict
