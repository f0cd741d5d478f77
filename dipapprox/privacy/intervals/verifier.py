"""Program x claim x interval of epsilons -> verdict.

First comes a cheap attempt to refute the claim: the verifier of one eps, at a few of them. It stops
at the first violating pair and knows programs with astronomically many pairs, where the
subdivision of the interval has to list them all. It proves nothing about the interval but Not_DP.
Last come closed forms, for claims that are attained and for noise that nothing bounds between two
eps: they know all eps at once, as `decide` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from fractions import Fraction
from typing import Any

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.arithmetic.extended import BY_ENCLOSURES, EXACTLY
from dipapprox.arithmetic.rounding import sound_arithmetic
from dipapprox.data_classes import Record, replace
from dipapprox.errors import EarlyEnd, LimitReached, UserError
from dipapprox.exact.choices.validity import check_choices
from dipapprox.exact.signs.interval import EpsilonInterval
from dipapprox.limits import at_most, check_limits, silent
from dipapprox.pairs.divergence import precisions
from dipapprox.pairs.selections import AllPairs, Pair, inputs_of
from dipapprox.privacy.decisions import by_closed_forms
from dipapprox.privacy.intervals import published
from dipapprox.privacy.intervals.formula_verifier import NestedClaims, obstacles, verify_formula
from dipapprox.privacy.intervals.search import MOST_POINTS, IntervalSearch, Subdivided, between
from dipapprox.privacy.intervals.tables import SubdividedPairs
from dipapprox.privacy.intervals.verdict import FormulaClaim, IntervalVerdict
from dipapprox.privacy.run import Engine, Setting
from dipapprox.privacy.scope import scope_of
from dipapprox.privacy.verdict import Answer, Verdict
from dipapprox.semantics.execution import execute
from dipapprox.semantics.real_inputs import execute_for_declared, with_values
from dipapprox.semantics.state import FinalStates

_FEW_PAIRS = 256  # so few pairs are evaluated at both ends by the subdivision just as fast
_FEW_POINTS = 256  # after so many, closed forms are asked before more
_MOST_PARTS = 200  # of an interval, where closed forms know stronger claims only
_STEPS = 15_000  # most for one eps
MOST_PAIRS = 2**21
"""Pairs are kept as two numbers each, and sums over all of them are formed in doubles: with this
many a run stays far below 500 MB."""


@sound_arithmetic()
def verify_interval(
    setting: Setting, claim: FormulaClaim, lower: Fraction, upper: Fraction
) -> IntervalVerdict:
    """Decide whether a claim holds for every eps in [lower, upper].

    DP and Not_DP are proved; limits or an interrupt (Ctrl-C) give Unknown.

    Args:
        setting: What is asked about, everywhere; told the decided thousandths of the interval.

    Raises:
        UserError: If there is no claim at some eps of the interval, some choice of the program is
            no probability distribution there, or the adjacency does not suit the inputs.
    """
    doubtful = claim.check(lower, upper)
    count, tried = None, tuple[Fraction, ...]()
    if setting.is_real and not isinstance(setting.selection, AllPairs):
        values = with_values(setting.program, setting.selection.pairs)
        setting = replace(setting, program=values)
    if not setting.is_real:
        count = setting.count()
        # The pairs are few, a trial is cheap, or it is all there is.
        if count is None or count > _FEW_PAIRS:
            tried = lower, upper
        if count is not None and count > MOST_PAIRS:
            tried = *tried, between(lower, upper)
    run = _Run(setting, claim, lower, upper, doubtful, count, tried)
    with EarlyEnd() as end:
        run.open()
        for applies, ask in _METHODS:
            if run.is_open and applies(run):
                ask(run)
        if run.is_open and run.unbounded is not None:
            raise run.unbounded
    return run.verdict(end)


class _Run(Record, frozen=False):
    """One verification for every ε of an interval; what is set is valid whenever it ends."""

    setting: Setting
    claim: FormulaClaim
    lower: Fraction
    upper: Fraction
    # Near it the claim cannot be told from none; None if there is no such ε.
    doubtful: Fraction | None
    # How many pairs there are; None if they are infinitely many, or too many to count.
    count: int | None
    tried: tuple[Fraction, ...]  # single ε that were tried, or are to be
    states: FinalStates | None = None
    listed: int | None = None  # how many of them were gone through
    # The subdivision of the interval, if there are bounds between two ε.
    search: IntervalSearch[Any] | None = None
    unbounded: LimitReached | None = None
    violation: Verdict | None = None
    settled: by_closed_forms.Settled | None = None
    asked: bool = False

    @property
    def is_open(self) -> bool:
        if self.violation is not None or self.settled is not None:
            return False
        search = self.search
        return search is None or (search.violation is None and bool(search.remaining()))

    def open(self) -> None:
        setting = self.setting
        program, merge = setting.program, setting.options.merge
        if setting.is_real:
            self.states = execute_for_declared(program, merge)
            return
        inputs = inputs_of(setting.selection)
        self.states = execute(program, merge, real_outputs=True, inputs=inputs)
        everywhere = EpsilonInterval(self.lower, self.upper, True, True)
        check_choices(self.states.laws, everywhere)

    def refute(self) -> None:
        """Look for a violation at single ε: for long where no other answer is to be had."""
        setting = replace(self.setting, progress=silent)
        for eps in self.tried:
            share = nullcontext() if setting.is_real else at_most(_STEPS)
            try:
                with share:
                    found = verify_formula(setting, self.claim, eps)
            except UserError:  # a budget of about 0, say: nothing that refutes the claim
                continue
            if found.interrupted:
                raise KeyboardInterrupt
            if found.answer is Answer.NOT_DP:
                self.violation = found
                return

    def subdivide(self, most: int = MOST_POINTS) -> None:
        """Bound what happens between single ε, up to so many of them."""
        if self.search is None and self.unbounded is None:
            self._begin()
        if self.search is not None and len(self.search.claimed):
            self.search.run(self.setting.progress, most)
            if self.setting.is_real and isinstance(self.search.claimed, NestedClaims):
                self.violation = self.search.claimed.violation

    def _begin(self) -> None:
        if self.count is not None and self.count > MOST_PAIRS and not self._between():
            where = ", ".join(str(eps) for eps in self.tried)
            raise LimitReached(f"{_pair_limit(str(self.count))} (not refuted at eps = {where})")
        try:
            claimed = self._bounds()
        except LimitReached as unbounded:
            middle = between(self.lower, self.upper)
            quarters = between(self.lower, middle), between(middle, self.upper)
            self.unbounded, self.tried = unbounded, (self.lower, self.upper, middle, *quarters)
            return
        ladder = precisions(self.setting.options.precision, self.setting.options.max_precision)
        self.search = IntervalSearch(self.lower, self.upper, claimed, ladder)
        if not len(claimed):
            if self.doubtful is not None:
                near = f"near {self.doubtful}"
                raise LimitReached(f"eps_prv or delta cannot be told from a number below 0 {near}")
            self.search.sorted, self.search.decided = 1, self.upper - self.lower

    def _bounds(self) -> Subdivided[Any]:
        states, claim, options = self.states, self.claim, self.setting.options
        assert states is not None
        if self.setting.is_real:
            obstacle = next(obstacles(states), None)
            if obstacle is not None:
                raise LimitReached(f"every ε of an interval, real inputs: {obstacle}")
            return NestedClaims(self.setting, claim, (self.lower, self.upper))
        if states.program.real_outputs:
            pairs = self._between() or list(self._pairs())
            return published.PublishedOverInterval(states, pairs, claim, self.lower, options)
        return SubdividedPairs(states, self._pairs(), claim, options)

    def _between(self) -> list[Pair]:
        """Return pairs that stand for very many; none if they are few, or it is not known which."""
        states, setting = self.states, self.setting
        if states is None or not states.program.real_outputs or setting.is_real:
            return []
        found = published.pairs_for_many(states, setting.selection, self.count)
        if found:
            self.listed = self.count
        return found

    def _pairs(self) -> Iterator[Pair]:
        self.listed = 0
        for pair in self.setting.pairs():
            if self.listed >= MOST_PAIRS:
                raise LimitReached(_pair_limit(f"more than {MOST_PAIRS}"))
            if self.listed % 1024 == 0:
                check_limits()
            self.listed += 1
            yield pair

    @property
    def is_stuck(self) -> bool:
        """Whether the subdivision needs more points, or can do nothing."""
        return self.unbounded is not None or (self.search is not None and self.search.exhausted)

    @property
    def is_critical(self) -> bool:
        """Whether doubles do not tell whether the claim holds at some ε, which is tried then."""
        point = None if self.search is None else self.search.critical()
        if self.search is None or self.search.obstacle is not None or point is None:
            return False
        self.tried = (point.eps,)
        return True

    def ask_closed_forms(self) -> None:
        """Ask who knows all ε at once; of a violation the verifier of one ε has the last word.

        Of claims that are not of the class of closed forms, stronger ones are asked, part by part.
        """
        self.asked = True
        setting = self.setting
        if self.states is None or setting.is_real or not setting.options.compares_exactly:
            return
        parts = [(self.lower, self.upper)]
        for _ in range(_MOST_PARTS):
            ends = parts.pop()
            claim = by_closed_forms.at_least(self.claim, *ends)
            if claim is None or (claim is not self.claim and self.doubtful is not None):
                return
            told = by_closed_forms.settle(self.states, claim, *ends, setting)
            if told is None:
                return
            if told.eps is not None and told.pair is not None:
                violation = self._witness(told.eps, told.pair)
                if violation.answer is Answer.NOT_DP:
                    self.violation, self.settled = violation, told
                    return
                if claim is self.claim:
                    return
                middle = between(*ends)
                parts += [(middle, ends[1]), (ends[0], middle)]
            if not parts:
                self.settled = told
                return

    def _witness(self, eps: Fraction, pair: Pair) -> Verdict:
        """Let the verifier of one ε confirm a violation, and lay out its witness."""
        return verify_formula(self.setting.about(pair), self.claim, eps)

    def verdict(self, end: EarlyEnd) -> IntervalVerdict:
        search, violation, settled = self.search, self.violation, self.settled
        options, states = self.setting.options, self.states
        answer, reason, by = Answer.UNKNOWN, end.reason, BY_ENCLOSURES
        remaining: tuple[tuple[Fraction, Fraction], ...] = ((self.lower, self.upper),)
        delta: Enclosure | None = None
        pairs: int | None = 0
        points, bits, engine, seen = 0, options.precision, options.engine.value, Fraction(0)
        if search is not None:
            pairs = self.listed
            points, bits, engine = search.points, search.bits or bits, search.claimed.name
            seen = search.seen
        if violation is None and search is not None:
            remaining, delta = search.remaining(), Enclosure(seen, Fraction(1))
            point = search.violation
            if point is not None and point.pair is not None:
                violation = self._witness(point.eps, point.pair)
                if violation.answer is not Answer.NOT_DP:
                    reason, violation = violation.reason, None
            elif end.reason is None and not remaining:
                answer, delta = Answer.DP, Enclosure(seen, max(search.proved, seen))
            elif end.reason is None:
                reason = search.why()
        if violation is not None:
            answer, reason, remaining = Answer.NOT_DP, None, ()
            scope = scope_of(self.setting.program, self.setting.selection)
            violation = replace(violation, run=replace(violation.run, scope=scope))
            delta = violation.delta_enclosure
            if search is None:
                pairs, bits, engine = violation.pairs, violation.precision, violation.engine
                points = 1 if settled else self.tried.index(violation.claim.eps) + 1
        elif settled is not None:
            answer, reason, remaining, by = Answer.DP, None, (), (by[0], EXACTLY)
            delta = Enclosure(seen, max(seen, self.claim.largest_delta(self.lower, self.upper)))
            if search is None:
                pairs, bits, engine = self.count, 0, Engine.EXACT.value
        exactly = () if settled is None else (Engine.EXACT.value,)
        run = self.setting.header(
            pairs=pairs,
            sizes=(0, 0) if states is None else states.sizes,
            precision=bits,
            engine=" + ".join(dict.fromkeys((*engine.split(" + "), *exactly))),
            reason=reason,
            by=by,
        )
        interrupted = end.interrupted and answer is Answer.UNKNOWN
        asked = self.lower, self.upper, self.claim
        return IntervalVerdict(
            run, *asked, answer, points, delta, violation, remaining, interrupted
        )


def _pair_limit(count: str) -> str:
    return f"pair limit: {count} pairs; an interval needs at most {MOST_PAIRS}; use --pairs"


_METHODS: tuple[tuple[Callable[[_Run], bool], Callable[[_Run], None]], ...] = (
    (lambda run: bool(run.tried), _Run.refute),
    (lambda _: True, lambda run: run.subdivide(_FEW_POINTS)),
    (lambda run: run.unbounded is not None, _Run.refute),
    (lambda run: run.is_stuck, _Run.ask_closed_forms),
    (lambda run: not run.setting.is_real, _Run.subdivide),
    (lambda run: run.is_critical, _Run.refute),
    (lambda run: not run.asked, _Run.ask_closed_forms),
)
"""Who is asked, and when, while the claim is open: refuting is cheap, closed forms take long."""
