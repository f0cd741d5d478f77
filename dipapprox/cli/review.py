"""The pages of commands with --report: an answer to hand to a reviewer, in one HTML file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from dipapprox.cli.output import write_whole
from dipapprox.errors import LimitReached, UserError
from dipapprox.experiments import pictures
from dipapprox.language.core import Program
from dipapprox.pairs.adjacency import count_selected
from dipapprox.privacy.charts import Chart
from dipapprox.privacy.description import ProgramText, known_to_be
from dipapprox.privacy.page import WrittenCertificate, page
from dipapprox.privacy.profiles.profile_result import LeastEpsPrv, PrivacyCurve
from dipapprox.privacy.result import Result
from dipapprox.privacy.run import Options, RunResult
from dipapprox.privacy.verdict import Answer, Verdict
from dipapprox.questions.kinds import Pairs
from dipapprox.questions.profile import Profile
from dipapprox.questions.worst_pair import around_worst_pair
from dipapprox.version import VERSION

FLAG = "--report"
_MOST_PROBABILITIES = 5_000  # outputs times pairs: beyond them no profile is drawn with a verdict
_POINTS = 33
_WIDTH = Fraction(1, 1_000)  # of the budget at which a profile comes down to a claimed δ


def write(
    path: Path,
    found: Result,
    listings: Sequence[ProgramText],
    certificate: Path | None,
    digest: str | None,
    others: Sequence[Chart] = (),
) -> None:
    """Write the page of an answer, about what was read, with its certificate if it has a digest,
    and other pictures besides those of the answer."""
    signed = None
    if certificate is not None and digest is not None:
        signed = WrittenCertificate(certificate.name, digest)
    charts = (*found.charts(), *others)
    write_whole(path, "".join(page(found.describe(), charts, listings, signed, VERSION)), FLAG)


def refuse_changes(before: Sequence[ProgramText], after: Sequence[ProgramText]) -> None:
    """Refuse to show a text that may not be the one the answer is about: that was read before the
    program was loaded, and differs from what is read when there is an answer."""
    if list(before) != list(after):
        raise UserError("no report: the program's file has changed since it was read")


def profile_of(
    program: Program, pairs: Pairs, verdict: Result, options: Options
) -> tuple[Chart, ...]:
    """Draw the privacy profile around a claim, where that takes no longer than the verdict did.

    Every point of a profile uses the same probabilities, so with few pairs and outputs it costs
    about as much as the verdict. Real outputs and too many pairs have none drawn.
    """
    if not isinstance(verdict, Verdict) or verdict.scope.everywhere:
        return ()
    if program.real_outputs or verdict.answer is Answer.UNKNOWN:
        return ()
    # A search ends at the first violation: the verdict has counted fewer pairs than there are.
    count = count_selected(program, pairs.select(program))
    if count is None or count * verdict.run.outputs > _MOST_PROBABILITIES:
        return ()
    claim = verdict.claim
    try:
        least = Profile(eps=claim.eps, delta=claim.delta, width=_WIDTH, pairs=pairs)
        reached = least.answer(program, options)
        # Beyond the claim, and beyond where the profile comes down to its δ.
        ends = [claim.eps_prv]
        if isinstance(reached, LeastEpsPrv) and reached.eps_prv_enclosure.upper is not None:
            ends.append(reached.eps_prv_enclosure.upper)
        last = max(ends) * 5 / 4 or claim.eps
        question = Profile(eps=claim.eps, curve=(claim.eps * 0, last, _POINTS), pairs=pairs)
        found = question.answer(program, options)
    except (LimitReached, UserError):
        return ()
    if not isinstance(found, PrivacyCurve) or found.reason is not None:
        return ()
    mark = claim.eps_prv, claim.delta, "the claim"
    return (found.chart(mark, _of_all_pairs(verdict, found)),)


def _of_all_pairs(verdict: Verdict, curve: PrivacyCurve) -> str | None:
    """Say why the profile lies above the δ of a pair that refutes a claim, if it does."""
    at, shown = curve.envelope.at(verdict.claim.eps_prv), verdict.delta_enclosure
    if shown is None or at.lower <= shown.upper:
        return None
    stated = f"δ {known_to_be(shown)}"
    return (
        f"the profile is the largest δ of all pairs, at the claimed ε_prv {known_to_be(at)}; "
        f"the verdict stopped at the first pair that refutes the claim, with {stated}"
    )


def around(
    program: Program, pairs: Pairs, found: RunResult, options: Options, plot: Path | None
) -> tuple[Chart, ...]:
    """Draw where the pair of an answer lies among real inputs, and say it on standard error; one
    without a pair, or about finite inputs, has no picture."""
    try:
        planes = around_worst_pair(program, found, pairs, options)
    except UserError as error:
        if plot is not None:
            print(f"no picture: {error.message}", file=sys.stderr)
        return ()
    if plot is not None:
        pictures.draw(planes, plot)
    for line in planes.lines():
        print(line, file=sys.stderr)
    return (planes,)
