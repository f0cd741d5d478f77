"""Program x question -> decision: the pipeline from end to end, with every failure an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from dipapprox.arithmetic.rounding import sound_arithmetic
from dipapprox.data_classes import dataclass, field
from dipapprox.deferred import Deferred
from dipapprox.errors import NO_MEMORY, EarlyEnd, LimitReached
from dipapprox.exact.distributions import ExactDistributions
from dipapprox.exact.signs.negative_set import NegativeRange
from dipapprox.language.core import Program
from dipapprox.limits import Progress, limited, silent
from dipapprox.pairs.adjacency import count_selected
from dipapprox.pairs.likely import FEW_PAIRS, likely_first
from dipapprox.pairs.products.source import ProductProgram
from dipapprox.pairs.selections import Orbit, PairSelection, inputs_of, one_by_one
from dipapprox.privacy.decisions.decision import (
    EXACT,
    Cause,
    Decision,
    LeastUniformDelta,
    Violation,
)
from dipapprox.privacy.decisions.divergences import (
    Count,
    Functions,
    Obstacle,
    exponential_factor,
)
from dipapprox.privacy.decisions.pattern_divergences import (
    PatternDivergences,
)
from dipapprox.privacy.decisions.question import DecisionQuestion
from dipapprox.privacy.decisions.search import DecisionSearch
from dipapprox.privacy.decisions.signs import Signs, cause_of, merged
from dipapprox.privacy.decisions.validity import check_delta, check_program
from dipapprox.privacy.description import values_text
from dipapprox.privacy.options import Engine, Options
from dipapprox.privacy.run import run_of
from dipapprox.privacy.scope import scope_of
from dipapprox.privacy.verdict import BY_BUDGET, Answer
from dipapprox.semantics.execution import execute
from dipapprox.semantics.parts import is_seen_whole
from dipapprox.semantics.state import FinalStates

if TYPE_CHECKING:
    from dipapprox.pairs import orbits as pair_orbits
    from dipapprox.pairs.products import layout as product_layout
    from dipapprox.privacy.decisions import least_delta, outside, violation
    from dipapprox.privacy.decisions import parts as part_decisions
else:
    least_delta = Deferred("dipapprox.privacy.decisions.least_delta")
    outside = Deferred("dipapprox.privacy.decisions.outside")
    part_decisions = Deferred("dipapprox.privacy.decisions.parts")
    violation = Deferred("dipapprox.privacy.decisions.violation")
    pair_orbits = Deferred("dipapprox.pairs.orbits")
    product_layout = Deferred("dipapprox.pairs.products.layout")


@dataclass(slots=True)
class _Run:
    """What is known so far; valid whenever the run ends."""

    question: DecisionQuestion
    states: FinalStates | None = None
    product: ProductProgram | None = None
    search: DecisionSearch | None = None
    count: Count = field(default_factory=Count)
    answer: Answer = Answer.UNKNOWN
    cause: Cause | None = None
    detail: str = ""
    violation: Violation | None = None
    violated_on: tuple[NegativeRange, ...] | None = None
    least: LeastUniformDelta | None = None
    engine: str = EXACT

    @property
    def number_of_outputs(self) -> int:
        """How many outputs the program has, as far as it was executed."""
        if self.product is not None:
            return self.product.outputs
        return 0 if self.states is None else len(self.states.outputs)

    @property
    def final_states(self) -> int:
        """How many final states were found."""
        if self.product is not None:
            return self.product.final_states
        return 0 if self.states is None else len(self.states.states)

    def stop(self, cause: Cause, detail: str) -> None:
        """End without an answer, unless there is one already."""
        detail = detail.removeprefix(f"{cause.value}: ")
        if self.answer is Answer.UNKNOWN:
            self.cause, self.detail = cause, detail
        else:
            self.detail = "; ".join(part for part in (self.detail, detail) if part)


@sound_arithmetic()
def decide(
    program: Program,
    question: DecisionQuestion,
    selection: PairSelection,
    options: Options,
    progress: Progress = silent,
    kept: Callable[[], bool] = lambda: False,
) -> Decision:
    """Decide whether `program` is (tε, δ(ε))-DP for every ε of an interval.

    Private and violated are proved. A limit or an interrupt (Ctrl-C) gives unknown with the cause.

    Args:
        program: From `parse` or `load`.
        question: What is asked.
        selection: Which ordered pairs of inputs.
        options: The limits, whether states are merged, and the engine that checks violations.
        progress: Told about pairs.
        kept: Whether a budget for every ε keeps the claim: asked before enclosures, which take long
            and never tell all ε > 0.

    Raises:
        UserError: If the adjacency does not suit the inputs, or some probability of the program
            or δ makes no sense for some ε of the interval.
    """
    total = count_selected(program, selection)
    run = _Run(question)
    try:
        with EarlyEnd() as end, limited(options.limits):
            _decide(run, program, selection, total, options, progress, kept)
        if end.interrupted:
            run.stop(Cause.INTERRUPTED, f"interrupted; {_looked_at(run, total)}")
        elif end.reason is not None:
            _stop_at(end.reason, run, total)
    except RecursionError:
        run.stop(Cause.DEGREE_BUDGET, "degree-budget: an expression is nested too deeply")
    return _decision(run, program, selection, options)


def _decide(
    run: _Run,
    program: Program,
    selection: PairSelection,
    total: int | None,
    options: Options,
    progress: Progress,
    kept: Callable[[], bool],
) -> None:
    limits, question = options.limits, run.question
    signs = Signs(question.epsilons, limits)
    check_delta(question.delta, signs)
    if not question.least_delta and not is_seen_whole(program):
        product = product_layout.select_parts(program, selection, options.merge, options.limits)
        if product is not None and _decide_parts(run, product, signs, selection, total, options):
            return
    inputs = inputs_of(selection)
    states = run.states = execute(program, options.merge, limits, compared=True, inputs=inputs)
    check_program(states, question.epsilons, limits)
    source = ExactDistributions(states, None, limits)
    functions = Functions(source, exponential_factor(question.budget))
    search = run.search = DecisionSearch(question, signs)
    patterns = PatternDivergences(functions, signs, limits)

    few = total is not None and total <= FEW_PAIRS

    def pairs() -> Iterator[Orbit]:
        selected = (
            one_by_one(likely_first(program, selection, total))
            if few
            else pair_orbits.orbits(states, selection, total)
        )
        done = 0
        for pair, number in selected:
            progress(done, total)
            yield pair, number
            done += number

    try:
        search.run(patterns, pairs(), run.count)
    except Obstacle as obstacle:
        if search.violation is None and kept():
            run.answer, run.engine, run.count = Answer.DP, BY_BUDGET, Count(total or 0)
            return
        if search.violation is None:
            _decide_outside(run, program, selection, options, progress, obstacle)
            return
        run.detail = f"{obstacle.reason} (input {values_text(obstacle.input)})"
    finally:
        # Whatever ends the search: what it proved stays proved.
        if search.violation is not None:
            run.answer = Answer.NOT_DP
            run.violation = violation.certain_violation(search.violation, functions, states)
            if question.violations:
                run.violated_on = merged(search.violated_on)
    if search.violation is not None and run.violation is not None:
        run.violation = violation.described(
            run.violation, search.violation, question, signs, states, options
        )
        left = search.undecided + search.unlocated
        if question.violations and left:
            run.detail = f"there may be more violated ranges: {left} inequalities are open"
    elif search.undecided:
        run.stop(search.cause or Cause.PRECISION_BUDGET, _undecided(search))
    else:
        run.answer = Answer.DP
        if question.violations:
            run.violated_on = ()
    if question.least_delta:
        run.least = least_delta.find_least_delta(patterns, pairs(), question.width)


def _decide_parts(
    run: _Run,
    product: ProductProgram,
    signs: Signs,
    selection: PairSelection,
    total: int | None,
    options: Options,
) -> bool:
    """Decide a product; False if its parts have no closed forms, or too many pairs or outputs."""
    limits, question = options.limits, run.question
    search = DecisionSearch(question, signs)
    count = Count()
    try:
        parts = part_decisions.CountedParts(product, question, selection, limits)
        patterns = PatternDivergences(parts.functions, signs, limits)
        search.run(patterns, parts.names, count)
    except Obstacle:
        return False
    except LimitReached:
        limits.check()
        return False
    if search.violation is not None:
        run.answer = Answer.NOT_DP
        run.violation = part_decisions.certified(
            product, parts, search.violation, question, selection, options
        )
        if question.violations:
            run.violated_on = merged(search.violated_on)
    elif search.undecided:
        search.open[:] = [parts.opened(each) for each in search.open]
        run.stop(search.cause or Cause.PRECISION_BUDGET, _undecided(search))
    else:
        run.answer = Answer.DP
        if question.violations:
            run.violated_on = ()
    run.search, run.product = search, product
    run.count.pairs, run.count.inequalities = total or 0, count.inequalities
    return True


def _decide_outside(
    run: _Run,
    program: Program,
    selection: PairSelection,
    options: Options,
    progress: Progress,
    obstacle: Obstacle,
) -> None:
    """Answer as far as the engines for single ε and compact ranges go."""
    cause = cause_of(obstacle.reason, Cause.OUTSIDE_FRAGMENT)
    partial = outside.decide_partially(program, run.question, selection, options, progress)
    # What rests on enclosures must not be taken for closed forms, whoever computed them.
    run.engine = "enclosures" if options.engine is Engine.EXACT else options.engine.value
    run.count = Count(partial.pairs)
    if partial.violation is not None:
        run.answer, run.violation = Answer.NOT_DP, partial.violation
        return
    if partial.proves(run.question.epsilons):
        run.answer = Answer.DP
        return
    if partial.interrupted:
        run.stop(Cause.INTERRUPTED, "interrupted")
        return
    facts = [f"{obstacle.reason} (input {values_text(obstacle.input)})"]
    if partial.proved is not None:
        facts.append(f"proved for all ε in [{partial.proved[0]}, {partial.proved[1]}]")
    if partial.tried:
        facts.append(f"no violation found at ε = {', '.join(map(str, partial.tried))}")
    run.stop(cause, "; ".join(facts))


def _undecided(search: DecisionSearch) -> str:
    first = search.open[0].reason
    more = f" (and {search.undecided - 1} other inequalities)" if search.undecided > 1 else ""
    return f"{first}{more}"


def _stop_at(reason: str, run: _Run, total: int | None) -> None:
    detail, cause = reason, Cause.MEMORY_LIMIT
    if reason != NO_MEMORY:
        cause = cause_of(reason, Cause.TIME_LIMIT)
        if run.answer is Answer.UNKNOWN or run.question.violations:
            detail += f"; {_looked_at(run, total)}"
    run.stop(cause, detail)


def _looked_at(run: _Run, total: int | None) -> str:
    of = "" if total is None else f" of {total}"
    return f"{run.count.pairs}{of} pairs looked at"


def _decision(run: _Run, program: Program, selection: PairSelection, options: Options) -> Decision:
    search = run.search
    unknown = run.cause is not None
    return Decision(
        run=run_of(
            program,
            scope_of(program, selection),
            pairs=run.count.pairs,
            outputs=run.number_of_outputs,
            final_states=run.final_states,
            precision=0,
            engine=run.engine,
            seconds=options.limits.elapsed(),
            reason=run.detail if unknown else None,
        ),
        listed=() if run.states is None else tuple(map(tuple, run.states.outputs)),
        epsilons=run.question.epsilons,
        budget=run.question.budget,
        delta=run.question.delta,
        answer=run.answer,
        cause=run.cause,
        note="" if unknown else run.detail,
        inequalities=run.count.inequalities,
        distinct=0 if search is None else search.decided,
        open=() if search is None else tuple(search.open),
        violation=run.violation,
        violated_on=run.violated_on,
        least_delta=run.least,
    )
