"""Program x claim -> verdict: the pipeline from end to end, with every failure an answer.

From the end of a search, whatever ended it, comes a verdict: the answer, its reason, its witness.
"""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction

from dipapprox.arithmetic.enclosure import Enclosure, rational, short
from dipapprox.arithmetic.extended import BY_ENCLOSURES
from dipapprox.arithmetic.rounding import sound_arithmetic
from dipapprox.errors import EarlyEnd, LimitReached
from dipapprox.language.domains import has_real_inputs
from dipapprox.limits import rare_collections
from dipapprox.pairs.divergence import Attempt, Search, precisions
from dipapprox.pairs.selections import one_by_one
from dipapprox.privacy.description import values_text
from dipapprox.privacy.run import LARGEST_PRECISION, Engine, Setting, Witness
from dipapprox.privacy.subjects import Executed, Subject, executed_for, open_subject
from dipapprox.privacy.verdict import Answer, Claim, Verdict


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
    told = f"critical delta, as far as {attempt.bits} bits tell:"
    if attempt.delta.width * 2 ** (attempt.bits // 2) > 1:
        told = f"precision limit: at {attempt.bits} bits"
    more = "no larger precision is allowed"
    if attempt.bits < LARGEST_PRECISION:  # deltas may differ from the claimed one by e^-100000
        may = f"a larger maximal precision, up to {LARGEST_PRECISION} bits, may decide"
        more = f"{may}, unless delta is critical"
    return f"{told} {inside} {where}{others}; {more}"


@rare_collections()
@sound_arithmetic()
def verify(setting: Setting, claim: Claim) -> Verdict:
    """Decide whether a program satisfies a claim for the selected pairs of inputs.

    DP and Not_DP are proved. A limit or an interrupt (Ctrl-C) gives Unknown with what is known by
    then.

    Raises:
        BrokenInvariant: If two methods contradict each other: there is no verdict then.
    """
    options, total = setting.options, setting.count()
    executed: Executed | None = None
    opened: tuple[Subject, Search] | None = None
    with EarlyEnd() as end:
        executed = executed_for(setting)
        subject = open_subject(setting, executed, claim.eps, claim)
        ladder = precisions(options.precision, options.max_precision)
        search = Search(subject.source, claim.delta, claim.growth, ladder, exact=subject.exact)
        opened = subject, search
        if subject.pairs is None:
            search.run(one_by_one(setting.pairs()), total, setting.progress)
            search.finish(total)
        else:
            with subject.pairs.asking(claim.delta):
                subject.pairs.decide(search)
    # The state of the search, whatever ended it, becomes an answer.
    answer, reason, by = Answer.UNKNOWN, end.reason, BY_ENCLOSURES
    delta: Enclosure | None = None
    witness: Witness | None = None
    checked: int | None = 0
    bits, engine = 0, options.engine.value
    if opened is not None:
        subject, search = opened
        known, delta, shown = search.told(), search.delta_enclosure(), search.violation
        by = by if known is None else known.by
        claimed: Fraction | None = claim.delta
        if shown is not None:
            answer, reason = Answer.NOT_DP, None
        elif end.reason is None and search.undecided == 0:
            # The largest of no deltas is 0: without pairs there is nothing to tell apart.
            answer, delta = Answer.DP, delta or Enclosure.exact(0)
        else:
            claimed, shown = None, search.nearest()
            of = "" if total is None else f" of {total}"
            reasons = [f"{end.reason}; {search.checked}{of} pairs checked"] if end.reason else []
            if shown is not None:
                reasons.append(_undecided(shown, search.delta, search.undecided))
            told = None if subject.pairs is None else subject.pairs.undecided()
            if told is not None:
                reasons = list(filter(None, (end.reason, told)))
            reason = "; ".join(dict.fromkeys(reasons))
        if shown is not None:
            with suppress(LimitReached):  # what is proved stays so without a set that shows it
                witness = subject.details().describe(shown, claimed)
        if witness is None and shown is not None and answer is Answer.NOT_DP:
            # Delta is that of all outputs of a larger ratio; it is > 0, so there are some.
            by_signs = None if shown.delta.lower > claim.delta else shown.proof
            argument = None if by_signs is None else by_signs.argument
            witness = Witness(*shown.pair, (), shown.delta, argument, at_least=1)
        checked, bits, engine = search.checked, search.bits, subject.engine()
        exact = Engine.EXACT.value  # closed forms, if they decided some pair
        if search.exactly > 0 and exact not in engine.split(" + "):
            engine = f"{engine} + {exact}"
        pairs = subject.pairs
        if answer is not Answer.UNKNOWN and pairs and pairs.at_once and pairs.pairs is None:
            checked = None  # all, which nobody counts
    everywhere = executed is not None and has_real_inputs(executed.program)
    run = setting.header(
        pairs=None if everywhere else checked,
        sizes=(0, 0) if executed is None else executed.sizes,
        precision=bits or options.precision,
        engine=engine,
        reason=reason,
        by=by,
    )
    interrupted = end.interrupted and answer is Answer.UNKNOWN
    return Verdict(run, claim, answer, delta, witness, interrupted)
