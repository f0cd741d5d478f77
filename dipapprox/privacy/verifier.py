"""Program x claim -> verdict: the pipeline from end to end, with every failure an answer.

few pairs of few outputs   one by one on the ladder of precisions (`pairs.search`)
many pairs                 whatever is quickest (`pairs.maxima`)

From the end of a search, whatever ended it, comes a verdict: the answer, its reason, its witness.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from dipapprox.arithmetic.enclosure import Enclosure, rational, short
from dipapprox.arithmetic.extended import BY_ENCLOSURES, GivenBy
from dipapprox.arithmetic.rounding import sound_arithmetic
from dipapprox.deferred import Deferred
from dipapprox.errors import BrokenInvariant, EarlyEnd, LimitReached
from dipapprox.language.domains import has_real_inputs
from dipapprox.limits import limited, rare_collections
from dipapprox.numerics.bulk import BulkSource
from dipapprox.pairs.divergence import Attempt
from dipapprox.pairs.likely import FEW_PAIRS, likely_first
from dipapprox.pairs.search import Search, precisions
from dipapprox.pairs.selections import one_by_one
from dipapprox.privacy.description import values_text
from dipapprox.privacy.options import LARGEST_PRECISION, Engine
from dipapprox.privacy.run import Setting, Witness
from dipapprox.privacy.subjects import Executed, Subject, executed_for, open_subject, sizes_of
from dipapprox.privacy.verdict import Answer, Claim, Verdict
from dipapprox.semantics.state import FinalStates

if TYPE_CHECKING:
    from dipapprox.pairs import maxima, maximum
else:
    maxima = Deferred("dipapprox.pairs.maxima")
    maximum = Deferred("dipapprox.pairs.maximum")


class Conclusion(NamedTuple):
    """What a search established."""

    answer: Answer
    reason: str | None
    delta_enclosure: Enclosure | None
    witness: Witness | None
    by: GivenBy = BY_ENCLOSURES


Describe = Callable[[Attempt, Fraction | None], Witness | None]
"""Says what tells a pair apart, None if that is not known; by more than a δ, if one is given."""


def conclude(
    search: Search, total: int | None, stopped: str | None, describe: Describe
) -> Conclusion:
    """Turn the state of a search, whatever ended it, into an answer; `stopped` says what did
    early."""
    told = search.told()
    by = BY_ENCLOSURES if told is None else told.by
    if search.violation is not None:
        witness = _described(describe, search.violation, search.delta)
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
    witness = None if nearest is None else _described(describe, nearest, None)
    return Conclusion(Answer.UNKNOWN, "; ".join(reasons), search.delta_enclosure(), witness, by)


def _described(describe: Describe, attempt: Attempt, delta: Fraction | None) -> Witness | None:
    """Describe a pair if the limits allow: what is proved stays so without a set that shows it."""
    try:
        return describe(attempt, delta)
    except LimitReached:
        return None


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


_FEW_OUTPUTS = 200  # A pair with more of them is summed in doubles before it is summed exactly


def check_pairs(
    search: Search, states: FinalStates, setting: Setting, total: int | None, bulk: BulkSource
) -> None:
    """Check all selected pairs the cheapest way.

    Args:
        search: Fresh; afterwards it holds what was found.
        setting: Which pairs; told about them, or about pairs of counters where those cost time.
        total: How many pairs, if known.

    Raises:
        BrokenInvariant: If enclosures contradict each other, or some pairs were left out.
    """
    selection, progress = setting.selection, setting.progress
    if total is not None and total <= FEW_PAIRS and len(states.outputs) <= _FEW_OUTPUTS:
        pairs = likely_first(states.program, selection, total)
        search.run(one_by_one(pairs), total, progress)
    else:
        maxima.check_many(search, states, selection, total, bulk, progress)
    if search.violation is None and total is not None and search.checked != total:
        # Counted by another route than they are made.
        raise BrokenInvariant(f"{search.checked} pairs were checked, but there are {total}")


@rare_collections()
@sound_arithmetic()
def verify(setting: Setting, claim: Claim) -> Verdict:
    """Decide whether a program satisfies a claim for the selected pairs of inputs.

    DP and Not_DP are proved. A limit or an interrupt (Ctrl-C) gives Unknown with what is known by
    then.

    Raises:
        BrokenInvariant: If two methods contradict each other: there is no verdict then.
    """
    run = _Run(setting, claim)
    with EarlyEnd() as end, limited(setting.limits):
        run.check()
    search, conclusion = run.search, run.conclude(end.reason)
    precision = setting.options.precision
    return Verdict(
        run=setting.header(
            pairs=run.pairs,
            sizes=(0, 0) if run.executed is None else sizes_of(run.executed),
            precision=precision if search is None else search.bits or precision,
            engine=run.engine,
            reason=conclusion.reason,
            by=conclusion.by,
        ),
        claim=claim,
        answer=conclusion.answer,
        delta_enclosure=conclusion.delta_enclosure,
        witness=conclusion.witness,
        interrupted=end.interrupted and conclusion.answer is Answer.UNKNOWN,
    )


class _Run:
    """One verification; what is set is valid whenever it ends."""

    def __init__(self, setting: Setting, claim: Claim) -> None:
        self.setting, self.claim, self.total = setting, claim, setting.count()
        self.executed: Executed | None = None
        self.subject: Subject | None = None
        self.search: Search | None = None

    def check(self) -> None:
        claim, setting, options = self.claim, self.setting, self.setting.options
        executed = self.executed = executed_for(setting)
        subject = self.subject = open_subject(setting, executed, claim.eps, claim)
        ladder = precisions(options.precision, options.max_precision)
        search = self.search = Search(
            subject.source, claim.delta, claim.growth, ladder, options.limits, exact=subject.exact
        )
        if subject.listed is not None:
            states, bulk = subject.listed
            check_pairs(search, states, setting, self.total, bulk)
        elif subject.together is not None:
            with subject.claiming(claim.delta):
                maximum.search_together(search, subject.together, subject.pairs or 0)

    def conclude(self, stopped: str | None) -> Conclusion:
        search, subject = self.search, self.subject
        if search is None or subject is None:
            return Conclusion(Answer.UNKNOWN, stopped, None, None)
        real = subject.boxes
        if real is not None:
            real.cover(search)
        found = conclude(search, self.total, stopped, subject.details.describe)
        if real is None or found.answer is not Answer.UNKNOWN:
            return found
        reasons = dict.fromkeys(filter(None, (stopped, real.undecided())))
        return found._replace(reason="; ".join(reasons))

    @property
    def pairs(self) -> int | None:
        """How many pairs were looked at; None where they were infinitely many."""
        if self.executed is not None and has_real_inputs(self.executed.program):
            return None
        return 0 if self.search is None else self.search.checked

    @property
    def engine(self) -> str:
        """What computed: the engine, and closed forms if they decided some pair."""
        if self.subject is None:
            return self.setting.options.engine.value
        name, exact = self.subject.engine(), Engine.EXACT.value
        exactly = self.search is not None and self.search.exactly > 0
        return f"{name} + {exact}" if exactly and exact not in name.split(" + ") else name
