"""Program x claim x interval of epsilons -> verdict.

First comes a cheap attempt to refute the claim: the verifier of one eps, at a few of them. It stops
at the first violating pair and knows programs with astronomically many pairs, where the
subdivision of the interval has to list them all. It proves nothing about the interval but Not_DP.
Last come closed forms, for claims that are attained and for noise that nothing bounds between two
eps: they know all eps at once, as `decide` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sized
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.arithmetic.rounding import sound_arithmetic
from dipapprox.data_classes import replace
from dipapprox.deferred import Deferred
from dipapprox.errors import EarlyEnd, LimitReached, UserError
from dipapprox.exact.choices.validity import check_choices
from dipapprox.exact.signs.interval import EpsilonInterval
from dipapprox.language.core import Program
from dipapprox.language.domains import has_real_inputs
from dipapprox.limits import Limits, Progress, limited, silent
from dipapprox.pairs.adjacency import count_selected, select_pairs
from dipapprox.pairs.pair_list import MOST_PAIRS, PairList, list_pairs, pair_limit
from dipapprox.pairs.search import precisions
from dipapprox.pairs.selections import AllPairs, OrderedPairs, Pair, PairSelection, inputs_of
from dipapprox.privacy.intervals.formula_claim import FormulaClaim
from dipapprox.privacy.intervals.formula_verifier import verify_formula
from dipapprox.privacy.intervals.search import IntervalSearch, Subdivided, between
from dipapprox.privacy.intervals.tables import SubdividedPairs
from dipapprox.privacy.intervals.verdict import IntervalVerdict
from dipapprox.privacy.options import Engine, Options
from dipapprox.privacy.run import run_of
from dipapprox.privacy.scope import scope_of
from dipapprox.privacy.verdict import Answer, Verdict
from dipapprox.semantics.execution import execute
from dipapprox.semantics.real_inputs import with_values
from dipapprox.semantics.state import FinalStates

if TYPE_CHECKING:
    from dipapprox.privacy.decisions import by_closed_forms
    from dipapprox.privacy.intervals import nested_inputs, published
else:
    by_closed_forms = Deferred("dipapprox.privacy.decisions.by_closed_forms")
    nested_inputs = Deferred("dipapprox.privacy.intervals.nested_inputs")
    published = Deferred("dipapprox.privacy.intervals.published")

_FEW_PAIRS = 256
"""So few pairs are evaluated at both ends by the subdivision just as fast."""

_FEW_POINTS = 256
"""After so many, closed forms are asked before more."""

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


def _open(
    states: FinalStates, pairs: PairList, claim: FormulaClaim, eps: Fraction, options: Options
) -> Subdivided[Any]:
    """Open the pairs for a search."""
    if states.program.real_outputs:
        return published.PublishedOverInterval(states, pairs, claim, eps, options)
    return SubdividedPairs(states, pairs, claim, options)


@sound_arithmetic()
def verify_interval(
    program: Program,
    claim: FormulaClaim,
    lower: Fraction,
    upper: Fraction,
    selection: PairSelection,
    options: Options,
    progress: Progress = silent,
) -> IntervalVerdict:
    """Decide whether a claim holds for every eps in [lower, upper].

    DP and Not_DP are proved; limits or an interrupt (Ctrl-C) give Unknown.

    Args:
        program: The program.
        claim: What is claimed at each eps.
        lower: The least eps, > 0.
        upper: The greatest eps, > `lower`.
        selection: Ordered pairs to check, everywhere.
        options: How to compute; the limits hold for the whole interval.
        progress: Told the decided thousandths of the interval.

    Raises:
        UserError: If the interval is empty, there is no claim at some eps of it, some choice of
            the program is no probability distribution there, or the adjacency does not suit the
            inputs.
    """
    if lower <= 0:
        raise UserError(f"eps must be > 0, but the interval begins at {lower}")
    if lower >= upper:
        raise UserError(
            f"the interval of eps {'is reversed' if lower > upper else 'has one point only'}: "
            f"{lower}..{upper}",
            f"write {upper}..{lower}" if lower > upper else f"write --eps {lower}",
        )
    doubtful = claim.check(lower, upper)
    if has_real_inputs(program):
        if isinstance(selection, AllPairs):
            return nested_inputs.verify_nested(program, claim, lower, upper, options)
        program = with_values(program, selection.pairs)
    pairs = select_pairs(program, selection)
    count = count_selected(program, selection)
    states: FinalStates | None = None
    claimed: Subdivided[Any] | None = None
    search: IntervalSearch[Any] | None = None
    violation: Verdict | None = None
    settled: by_closed_forms.Settled | None = None
    listed: Sized = ()
    tried = trial_points(lower, upper, count)
    asked = False

    def closed_forms() -> by_closed_forms.Settled | None:
        if states is None or not options.compares_exactly:
            return None
        selected = select_pairs(program, selection)
        return by_closed_forms.settle(states, claim, lower, upper, selected, options)

    with EarlyEnd() as end, limited(options.limits):
        inputs = inputs_of(selection)
        states = execute(program, options.merge, options.limits, real_outputs=True, inputs=inputs)
        check_choices(states.laws, EpsilonInterval(lower, upper, True, True), options.limits)
        violation = refute(program, claim, tried, selection, options)
        if violation is None and count is not None and count > MOST_PAIRS:
            where = ", ".join(str(eps) for eps in tried)
            raise LimitReached(f"{pair_limit(str(count))} (not refuted at eps = {where})")
        if violation is None:
            listed = list_pairs(pairs, options.limits)
            try:
                claimed = _open(states, listed, claim, lower, options)
            except LimitReached:
                # Nothing is bounded between two eps: single ones may refute the claim.
                tried = lower, upper
                violation = refute(program, claim, tried, selection, options)
                asked, settled = True, None if violation is not None else closed_forms()
                if violation is None and settled is None:
                    raise
        if claimed is not None:
            ladder = precisions(options.precision, options.max_precision)
            search = IntervalSearch(lower, upper, claimed, ladder, options.limits)
            if len(claimed):
                search.run(progress, _FEW_POINTS)
                if search.exhausted:
                    asked, settled = True, closed_forms()
                    if settled is None:
                        search.run(progress)
            elif doubtful is None:
                search.nothing_to_do()
            else:
                raise LimitReached(
                    f"eps_prv or delta cannot be told from a number below 0 near {doubtful}"
                )
            critical = search.critical()
            is_open = search.violation is None and search.obstacle is None and settled is None
            if is_open and critical is not None:
                # What is beyond doubles is not beyond the verifier of one eps.
                violation = refute(program, claim, (critical.eps,), selection, options)
    stopped = end.reason
    interrupted = end.interrupted
    if violation is None and stopped is None and not asked and _is_open(search):
        with EarlyEnd() as last:
            settled = closed_forms()
        interrupted = last.interrupted
    if settled is not None and settled.eps is not None and settled.pair is not None:
        violation = _witness(program, claim, settled.eps, settled.pair, options)
        if violation.answer is not Answer.NOT_DP:
            settled = violation = None
    answer, reason = Answer.UNKNOWN, stopped
    scope = scope_of(program, selection)
    remaining: tuple[tuple[Fraction, Fraction], ...] = ((lower, upper),)
    delta: Enclosure | None = None
    if violation is None and search is not None:
        remaining = search.remaining()
        delta = Enclosure(search.seen, Fraction(1))
        point = search.violation
        if point is not None and point.pair is not None:
            violation = _witness(program, claim, point.eps, point.pair, options)
            if violation.answer is not Answer.NOT_DP:
                reason, violation = violation.reason, None
        elif stopped is None and not remaining:
            answer = Answer.DP
            delta = Enclosure(search.seen, max(search.proved, search.seen))
        elif stopped is None:
            reason = search.why()
    if settled is not None and violation is None:
        answer, reason, remaining = Answer.DP, None, ()
        seen = Fraction(0) if search is None else search.seen
        delta = Enclosure(seen, max(seen, claim.largest_delta(lower, upper)))
    if violation is not None:
        answer, reason, remaining = Answer.NOT_DP, None, ()
        violation = replace(violation, run=replace(violation.run, scope=scope))
        delta = violation.delta_enclosure
    pairs_checked: int | None = 0
    points, bits, engine = 0, options.precision, options.engine.value
    if search is not None:
        pairs_checked, points, bits = len(listed), search.points, search.bits or bits
    elif violation is not None:
        pairs_checked, bits, engine = violation.pairs, violation.precision, violation.engine
        points = 1 if settled is not None else tried.index(violation.claim.eps) + 1
    elif settled is not None:
        pairs_checked, bits, engine = count, 0, Engine.EXACT.value
    if claimed is not None:
        engine = claimed.name
    exactly = () if settled is None else (Engine.EXACT.value,)
    return IntervalVerdict(
        run=run_of(
            program,
            scope,
            pairs=pairs_checked,
            outputs=0 if states is None else len(states.outputs),
            final_states=0 if states is None else len(states.states),
            precision=bits,
            engine=" + ".join(dict.fromkeys((*engine.split(" + "), *exactly))),
            seconds=options.limits.elapsed(),
            reason=reason,
        ),
        lower=lower,
        upper=upper,
        claim=claim,
        answer=answer,
        points=points,
        delta_enclosure=delta,
        violation=violation,
        remaining=remaining,
        interrupted=interrupted and answer is Answer.UNKNOWN,
    )


def _is_open(search: IntervalSearch[Any] | None) -> bool:
    """Whether the subdivision ended without a proof or a violation."""
    return search is not None and search.violation is None and bool(search.remaining())


def _witness(
    program: Program, claim: FormulaClaim, eps: Fraction, pair: Pair, options: Options
) -> Verdict:
    """Let the verifier of one eps confirm a violation, and lay out its witness."""
    return verify_formula(program, claim, eps, OrderedPairs((pair,)), options)
