"""Program x question -> decision: the pipeline from end to end, with every failure an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction

from dipapprox.arithmetic.rounding import sound_arithmetic
from dipapprox.data_classes import Record, field, replace
from dipapprox.errors import NO_MEMORY, EarlyEnd, LimitReached, UserError
from dipapprox.exact.distributions import ExactDistributions
from dipapprox.exact.signs.nonnegative import NegativeRange
from dipapprox.language.ast import Name, Number
from dipapprox.language.cells import is_seen_whole
from dipapprox.language.domains import AllReals
from dipapprox.language.formula import Operation, Operator
from dipapprox.limits import at_most, check_limits, silent
from dipapprox.pairs import walk as pair_walk
from dipapprox.pairs.adjacency import select_pairs
from dipapprox.pairs.products import layout as product_layout
from dipapprox.pairs.products.source import ProductProgram
from dipapprox.pairs.selections import FEW_PAIRS, AllPairs, Orbit, inputs_of, one_by_one
from dipapprox.privacy import products, subjects
from dipapprox.privacy.decisions import by_closed_forms
from dipapprox.privacy.decisions.decision import (
    EXACT,
    Cause,
    Decision,
    DecisionQuestion,
    LeastUniformDelta,
    Violation,
)
from dipapprox.privacy.decisions.search import DecisionSearch
from dipapprox.privacy.decisions.signs import Signs, cause_of, check_delta, check_program, merged
from dipapprox.privacy.description import values_text
from dipapprox.privacy.exact_pairs import Count, Functions, Obstacle
from dipapprox.privacy.intervals import verifier as interval_verifier
from dipapprox.privacy.intervals.verdict import FormulaClaim, IntervalVerdict
from dipapprox.privacy.run import BY_BUDGET, Engine, Setting
from dipapprox.privacy.verdict import Answer, Verdict
from dipapprox.semantics.execution import execute
from dipapprox.semantics.real_inputs import execute_for_declared, with_values
from dipapprox.semantics.state import FinalStates

_COUNTED = "by the sign of an exact form; of the outputs only the number of equal ones is known"


class _Run(Record, frozen=False):
    """One decision; what is set is valid whenever it ends."""

    setting: Setting
    question: DecisionQuestion
    total: int | None
    kept: Callable[[], bool]
    executed: subjects.Executed | None = None
    search: DecisionSearch | None = None
    count: Count = field(default_factory=Count)
    answer: Answer = Answer.UNKNOWN
    cause: Cause | None = None
    detail: str = ""
    violation: Violation | None = None
    violated_on: tuple[NegativeRange, ...] | None = None
    least: LeastUniformDelta | None = None
    engine: str = EXACT

    def stop(self, cause: Cause, detail: str) -> None:
        """End without an answer, unless there is one already."""
        detail = detail.removeprefix(f"{cause.value}: ")
        if self.answer is Answer.UNKNOWN:
            self.cause, self.detail = cause, detail
        else:
            self.detail = "; ".join(part for part in (self.detail, detail) if part)

    def stop_at(self, reason: str) -> None:
        if reason == NO_MEMORY:
            self.stop(Cause.MEMORY_LIMIT, reason)
            return
        told = self.answer is Answer.UNKNOWN or self.question.violations
        detail = f"{reason}; {self.looked_at()}" if told else reason
        self.stop(cause_of(reason, Cause.TIME_LIMIT), detail)

    def looked_at(self) -> str:
        of = "" if self.total is None else f" of {self.total}"
        return f"{self.count.pairs}{of} pairs looked at"

    def pairs(self, states: FinalStates) -> Iterator[Orbit]:
        """Yield the pairs, of many that are alike one; progress is told."""
        setting, total, done = self.setting, self.total, 0
        if total is not None and total <= FEW_PAIRS:
            selected = one_by_one(select_pairs(setting.program, setting.selection))
        else:
            selected = pair_walk.orbits(states, setting.selection, total)
        for pair, number in selected:
            setting.progress(done, total)
            yield pair, number
            done += number

    def conclude(self, search: DecisionSearch) -> None:
        """Take what a search without a violation has found."""
        if search.undecided:
            first = search.open[0].reason
            others = search.undecided - 1
            more = f" (and {others} other inequalities)" if others else ""
            self.stop(search.cause or Cause.PRECISION_BUDGET, f"{first}{more}")
        else:
            self.answer = Answer.DP
            self.violated_on = () if self.question.violations else None

    def decision(self) -> Decision:
        search, executed, unknown = self.search, self.executed, self.cause is not None
        listed = executed.outputs if isinstance(executed, FinalStates) else ()
        return Decision(
            run=self.setting.header(
                pairs=None if self.setting.is_real else self.count.pairs,
                sizes=(0, 0) if executed is None else executed.sizes,
                precision=0,
                engine=self.engine,
                reason=self.detail if unknown else None,
            ),
            listed=tuple(map(tuple, listed)),
            epsilons=self.question.interval,
            budget=self.question.budget,
            delta=self.question.delta,
            answer=self.answer,
            cause=self.cause,
            note="" if unknown else self.detail,
            inequalities=self.count.inequalities,
            distinct=0 if search is None else search.decided,
            open=() if search is None else tuple(search.open),
            violation=self.violation,
            violated_on=self.violated_on,
            least_delta=self.least,
        )


@sound_arithmetic()
def decide(
    setting: Setting, question: DecisionQuestion, kept: Callable[[], bool] = lambda: False
) -> Decision:
    """Decide whether a program is (tε, δ(ε))-DP for every ε of an interval.

    Private and violated are proved. A limit or an interrupt (Ctrl-C) gives unknown with the cause.

    Args:
        setting: What is asked about; the engine of its options checks violations.
        kept: Whether a budget for every ε keeps the claim: asked before enclosures, which take long
            and never tell all ε > 0.

    Raises:
        UserError: If the adjacency does not suit the inputs, or some probability of the program
            or δ makes no sense for some ε of the interval.
    """
    run = _Run(setting, question, setting.count(), kept)
    try:
        with EarlyEnd() as end:
            _decide(run)
        if end.interrupted:
            run.stop(Cause.INTERRUPTED, f"interrupted; {run.looked_at()}")
        elif end.reason is not None:
            run.stop_at(end.reason)
    except RecursionError:
        run.stop(Cause.DEGREE_BUDGET, "degree-budget: an expression is nested too deeply")
    return run.decision()


def _decide(run: _Run) -> None:
    setting, question = run.setting, run.question
    program, selection, merge = setting.program, setting.selection, setting.options.merge
    signs = Signs(question.interval)
    check_delta(question.delta, signs)
    every = question.violations or question.least_delta
    if setting.is_real and not isinstance(selection, AllPairs):
        setting = run.setting = replace(setting, program=with_values(program, selection.pairs))
        program = setting.program
    inputs = inputs_of(selection)
    real = next((cell for cell in program.inputs if isinstance(cell.domain, AllReals)), None)
    if real is not None or (program.real_outputs and not every):
        what = f"input '{real.name}'" if real else f"output '{program.real_outputs[0].variable}'"
        states = run.executed = (
            execute_for_declared(program, merge)
            if real
            else execute(program, merge, real_outputs=True, inputs=inputs)
        )
        check_program(states, question.interval)
        _decide_outside(run, f"outside-fragment: the {what} may be any real number")
        return
    if not question.least_delta and not is_seen_whole(program):
        product = product_layout.select_parts(program, selection, merge)
        if product is not None and _decide_parts(run, product, signs):
            return
    states = run.executed = execute(program, merge, compared=True, inputs=inputs)
    check_program(states, question.interval)
    functions = Functions(ExactDistributions(states, None), question.factor)
    search = run.search = DecisionSearch(question, signs, functions, run.count)
    try:
        search.run(run.pairs(states))
    except Obstacle as obstacle:
        reason = f"{obstacle.reason} (input {values_text(obstacle.input)})"
        if search.violation is None:
            _decide_outside(run, reason)
            return
        run.detail = reason
    finally:
        # Whatever ends the search: what it proved stays proved.
        if search.violation is not None:
            run.answer = Answer.NOT_DP
            run.violation = by_closed_forms.certain_violation(search, states)
            if question.violations:
                run.violated_on = merged(search.violated_on)
    if search.violation is not None and run.violation is not None:
        run.violation = by_closed_forms.described(run.violation, search, states, setting.options)
        left = search.undecided + search.unlocated
        if question.violations and left:
            run.detail = f"there may be more violated ranges: {left} inequalities are open"
    else:
        run.conclude(search)
    if question.least_delta:
        run.least = search.least_delta(run.pairs(states))


def _decide_parts(run: _Run, product: ProductProgram, signs: Signs) -> bool:
    """Decide independent parts by the inequalities of outputs that are counted together.

    The pairs of a product are few kinds (`products.layout`), and the outputs of each kind that have
    equal probabilities are one output (`products`). What is decided about these is decided about
    the program: for δ = 0 an inequality of n equal outputs is n times that of one, and for δ > 0
    some worst set of outputs holds all of n equal ones or none. False if the parts have no closed
    forms, or too many pairs or outputs.
    """
    setting, question = run.setting, run.question
    try:
        for states in product.states:
            check_program(states, question.interval)
        exact = products.ExactProduct(product, None)
        kinds = product_layout.Layout(product, setting.selection)
        candidates = kinds.candidates(exact.kind_of)
        if exact.obstacle is not None:
            return False
        # Names, which are no inputs, stand for all selected pairs, whose numbers are not told.
        names = [exact.name(each.pair) for each in candidates]
        search = DecisionSearch(question, signs, Functions(exact, question.factor))
        search.run(one_by_one(names))
    except Obstacle:
        return False
    except LimitReached:
        check_limits()
        return False
    run.search, run.executed = search, product
    run.count = Count(run.total or 0, search.count.inequalities)
    if search.violation is not None:
        # It stays proved where a limit comes before anything else is told of it.
        pair, eps = exact.pair(search.violation.divergence.pair), search.violation.eps
        run.answer = Answer.NOT_DP
        run.violation = Violation(*pair, (), eps, not_enclosed=_COUNTED)
        if question.violations:
            run.violated_on = merged(search.violated_on)
        about = replace(setting, progress=silent)
        run.violation = by_closed_forms.violation_at(about, question, eps) or run.violation
    else:
        # The outputs are too many to be named.
        search.open[:] = [
            replace(each, pair=exact.pair(each.pair), outputs=()) for each in search.open
        ]
        run.conclude(search)
    return True


_TRIALS = 6  # powers of two on both sides of 1 that are tried
_PROOF_RANGE = Fraction(1, 4), Fraction(4)  # where a proof is tried when the interval is larger


def _decide_outside(run: _Run, reason: str) -> None:
    """Answer as far as budgets and the engines of `verify` go: noise is Gaussian, say, or of
    another scale, or numbers are published.

    A budget proves the claim for all ε; the engines certify a violation at one, or prove the claim
    for a compact range of ε.
    """
    if run.kept():
        run.answer, run.engine, run.count = Answer.DP, BY_BUDGET, Count(run.total or 0)
        return
    setting, question = run.setting, run.question
    engine, epsilons = setting.options.engine, question.interval
    # What rests on enclosures must not be taken for closed forms, whoever computed them.
    run.engine = "enclosures" if engine is Engine.EXACT else engine.value
    run.count = Count()
    facts, tried = [reason], list[Fraction]()
    powers = (Fraction(2) ** (sign * k) for k in range(_TRIALS + 1) for sign in (-1, 1))
    ends = (end for end in (epsilons.lower, epsilons.upper) if end is not None)
    with at_most(by_closed_forms.STEPS):
        for eps in filter(epsilons.__contains__, dict.fromkeys((*powers, *ends))):
            verdict = by_closed_forms.verify_at(replace(setting, progress=silent), question, eps)
            if verdict is not None:
                if _is_answer(run, verdict, eps, eps):
                    return
                tried.append(eps)
    lower, upper = max(epsilons.lower, _PROOF_RANGE[0]), _PROOF_RANGE[1]
    if epsilons.upper is not None:
        lower, upper = epsilons.lower or lower, epsilons.upper
    if lower < upper:
        budget = Operation(Number(question.budget), Operator.MULTIPLY, Name("eps"))
        texts = f"{question.budget} * eps", question.delta.text
        claim = FormulaClaim(budget, question.delta.formula, *texts)
        # Where δ is above 1 somewhere there is no claim for `verify`, but a harmless one here.
        with suppress(UserError), at_most(by_closed_forms.STEPS):
            throughout = interval_verifier.verify_interval(setting, claim, lower, upper)
            if _is_answer(run, throughout, lower, upper):
                return
            if throughout.answer is Answer.DP:
                facts.append(f"proved for all ε in [{lower}, {upper}]")
    if tried:
        facts.append(f"no violation found at ε = {', '.join(map(str, tried))}")
    if setting.is_real:
        facts.append("'prove' bounds the budget for every ε, 'verify' and 'profile' δ at one")
    run.stop(cause_of(reason, Cause.OUTSIDE_FRAGMENT), "; ".join(facts))


def _is_answer(
    run: _Run, verdict: Verdict | IntervalVerdict, lower: Fraction, upper: Fraction
) -> bool:
    """Take what a verdict for all ε between two says; return whether that ends the run."""
    found = verdict if isinstance(verdict, Verdict) else verdict.violation
    if verdict.answer is Answer.NOT_DP and found is not None:
        run.violation = by_closed_forms.certified(found, run.question)
        run.answer, run.count = Answer.NOT_DP, Count(found.pairs or 0)
        return True
    run.count = Count(max(run.count.pairs, verdict.pairs or 0))
    if verdict.interrupted:
        run.stop(Cause.INTERRUPTED, "interrupted")
        return True
    epsilons = run.question.interval
    if verdict.answer is Answer.DP and (lower, upper) == (epsilons.lower, epsilons.upper):
        run.answer = Answer.DP
    return run.answer is Answer.DP
