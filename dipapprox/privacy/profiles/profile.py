"""Program x question -> the tightest guarantees: least delta, least eps_prv, curve, Rényi.

The tightest guarantees of programs with irrational scales, through rational ones.

See `rounded_scales`. With the slack s at an eps_prv of at most E, of which delta(eps_prv) of the
rational program is a falling function: the least eps_prv for delta is at least that of the rational
program for delta + s, and at most that for delta - s, as far as these are at most E.

Where none is enough for the rational program, because outputs that the adjacent input never has are
more likely than delta + s, none is for the other: laws of one family about one mean are possible
at the same places, whatever their scales, so these outputs stay impossible, and have more than
delta.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from typing import assert_never

from dipapprox.arithmetic.enclosure import UNIT, Enclosure
from dipapprox.arithmetic.extended import BY_ENCLOSURES, INFINITE, Extended, GivenBy
from dipapprox.arithmetic.rounding import sound_arithmetic
from dipapprox.data_classes import replace
from dipapprox.errors import BrokenInvariant, LimitReached, SourceError
from dipapprox.limits import at_most, check_limits, silent
from dipapprox.pairs.divergence import Factor, Growth, eps_prv_factor
from dipapprox.pairs.maxima import ListedPairs
from dipapprox.pairs.maximum import FACTOR_BITS, Maximum
from dipapprox.pairs.selections import OrderedPairs, Pair, is_symmetric
from dipapprox.privacy import exact_pairs
from dipapprox.privacy.details import POSSIBLE, PairsBounds
from dipapprox.privacy.profiles import curve as curves
from dipapprox.privacy.profiles import renyi as renyi
from dipapprox.privacy.profiles.curve import ANYTHING, BUDGET, LEAST, least_eps_prv
from dipapprox.privacy.profiles.profile_result import (
    REAL_WIDTH,
    AtDelta,
    AtEpsPrv,
    AtOrders,
    LeastDelta,
    LeastEpsPrv,
    OnCurve,
    Order,
    OrderResult,
    PrivacyCurve,
    ProfileAnswer,
    Question,
    RenyiProfile,
    in_parts,
)
from dipapprox.privacy.published import guarantees as published_guarantees
from dipapprox.privacy.rounded_scales import error_of, slack, widened, widened_witness
from dipapprox.privacy.run import BY_BUDGET, Engine, Run, Setting, Witness, difference_of
from dipapprox.privacy.subjects import Executed, executed_for, open_subject
from dipapprox.semantics.state import FinalStates
from dipapprox.source import Diagnostic

_IMPOSSIBLE = Extended(None, None, POSSIBLE)
_WITNESS_BITS = 80
_NEARLY = 1 - Fraction(1, 2**20)
_STEPS = 50_000  # for closed forms, the last resort
_WIDE = Fraction(1, 10**6)  # when a point of a curve is wider than this, the reason is given


class Profiler:
    """Answers questions about one program at one eps, of which a `budget` D may be known that makes
    it (D ε, 0)-private; `LimitReached` if the adjacency allows too many steps of one cell of a
    product."""

    def __init__(
        self, setting: Setting, eps: Fraction, executed: Executed, budget: Fraction | None = None
    ) -> None:
        if isinstance(setting.selection, OrderedPairs):  # then of real inputs, too
            setting = replace(setting, program=executed.program)
        self._setting = setting
        self._eps, self._sizes = eps, executed.sizes
        self._enough = None if budget is None else budget * eps
        self._subject = open_subject(setting, executed, eps)
        assert self._subject.pairs is not None, "there is no claim"
        self.details, self.maxima = self._subject.details(), self._subject.pairs

    def most(self, question: AtEpsPrv | AtDelta) -> Fraction | None:
        """Return the upper end alone: sets that show lower ones take far longer."""
        if isinstance(question, AtDelta):
            return self._least_eps_prv(question.delta, question.tolerance).told.upper
        return self._largest(question).delta.upper

    def _largest(self, question: AtEpsPrv) -> Maximum:
        with self.maxima.asking(growth=question.growth):
            return self.maxima.sharpened(
                question.growth.bounds, lambda delta: delta.width <= question.tolerance(delta)
            )

    def least_delta(self, question: AtEpsPrv) -> LeastDelta:
        found = self._largest(question)
        wanted = question.tolerance(found.delta)
        if question.width is None and self.maxima.is_coarse:
            wanted = max(wanted, found.delta.upper * REAL_WIDTH)
        reached = found.delta.width <= wanted
        witness = None
        if found.pair is not None and found.delta.upper > 0:
            # Densities are not computed a second time for it.
            bits = _WITNESS_BITS if self._subject.published is None else found.bits
            factor = question.growth.bounds(max(bits, FACTOR_BITS))
            witness = self._witness(found.pair, factor, bits=bits)
        run = self._finished(found.bits, reached, asked=wanted, by=found.by)
        return LeastDelta(run, self._eps, question.eps_prv, found.delta, witness)

    def least_eps_prv(self, question: AtDelta) -> LeastEpsPrv:
        wanted = question.tolerance
        enough, real = self._enough, self._subject.boxes is not None
        if question.width is None and not real and enough is not None and not question.delta:
            # Pairs are very many: likely ones next to the budget will do.
            wanted = max(wanted, REAL_WIDTH * max(enough, Fraction(1)))
        found = self._least_eps_prv(question.delta, wanted, question.claimed)
        upper = found.told.upper
        if question.width is None and self.maxima.is_coarse and upper is not None:
            wanted = REAL_WIDTH * max(upper, Fraction(1))
        witness = None
        if found.pair is not None and (found.outputs is None or found.outputs):
            # The demanding set is the same for every factor that is large enough, without end.
            factors = [Factor(Fraction(1), None)]
            if found.factor is not None:
                # Next to what is demanded sets may be too unlikely to be shown.
                places = found.factor, max(found.factor * _NEARLY, Fraction(1))
                factors = [Factor(place, place) for place in places]
            shown = (self._witness(found.pair, each, found.outputs) for each in factors)
            witness = next(filter(None, shown), None)
        lower, claimed = found.told.lower, question.claimed
        if found.pair is not None and witness is None and lower is None:
            # At every eps_prv it is another set, perhaps.
            witness = Witness(*found.pair, (), UNIT, at_least=1)
        if witness is not None and claimed is not None and (lower is None or lower > claimed):
            factor = eps_prv_factor(claimed, _WITNESS_BITS)
            # Where the factor has no upper end the set stays shown for what it demands.
            witness = witness if factor.upper is None else self._shown_at(witness, factor)
        reached = found.told.is_within(wanted)
        run = self._finished(found.bits, reached, asked=wanted, by=found.told.by)
        return LeastEpsPrv(run, self._eps, question.delta, found.told, witness)

    def _least_eps_prv(
        self, delta: Fraction, width: Fraction, claimed: Fraction | None = None
    ) -> PairsBounds:
        """Bound the least eps_prv; where numbers are too small to tell, by what is possible."""
        pairs, published, boxes = self.maxima, self._subject.published, self._subject.boxes
        if published is not None:
            return published_guarantees.least_published(
                published,
                self.details,
                delta,
                width,
                in_closed_form=self._setting.options.compares_exactly,
            )
        known = Extended.at_most(None if delta else self._enough, BUDGET)
        near = None  # what a budget tells from above need not be found anew
        if known.upper is not None:
            near = Enclosure(Fraction(0), known.upper * (1 - Fraction(1, 2**34)))
        least, shown = None if boxes is None or delta else boxes.pure_budget(near), None
        if least is not None:
            known = least.told.meet(known, LEAST)
            assert known.lower is not None
            factor = eps_prv_factor(known.lower, FACTOR_BITS).lower
            shown = PairsBounds(known, least.pair, 0, (least.output,), factor)
            if known.is_within(width):
                return shown
        with pairs.asking(delta):
            found = least_eps_prv(pairs, self.details, delta, width, known, claimed)
        if shown is not None and shown.pair is not None and found.told.lower == known.lower:
            return replace(shown, told=found.told, bits=found.bits)
        decided = found.told.infinite or found.told.upper is not None
        if decided or not isinstance(pairs, ListedPairs):
            return found
        if not delta:
            possible = exact_pairs.PossibleOutputs(pairs.states, self._eps)
            for pair in self._setting.pairs():
                outputs = possible.only_first(pair)
                if outputs:
                    return PairsBounds(_IMPOSSIBLE, pair, found.bits, outputs)
        return self._exactly(pairs.states, delta, width) or found

    def _exactly(self, states: FinalStates, delta: Fraction, width: Fraction) -> PairsBounds | None:
        """Bound the least eps_prv by closed forms, if these tell more: δ may be attained."""
        options = self._setting.options
        closed = all(sample.family.is_exponential for sample in states.samples)
        if not closed or options.engine is Engine.EXACT or not options.compares_exactly:
            return None
        own = replace(options, engine=Engine.EXACT)
        setting = replace(self._setting, options=own, progress=silent)
        try:
            with at_most(_STEPS):
                exact = Profiler(setting, self._eps, states)
                found = exact._least_eps_prv(delta, width)
        except LimitReached:
            check_limits()
            return None
        if found.told.upper is None:
            return None
        self._subject, self.maxima, self.details = exact._subject, exact.maxima, exact.details
        return found

    def curve(self, question: OnCurve) -> PrivacyCurve:
        envelope = curves.trace(
            self.maxima, self.details, curves.evenly(question.low, question.high, question.count)
        )
        first = envelope.points[0]
        witness = None
        if first.pair is not None and first.delta.upper > 0:
            witness = self._witness(first.pair, first.factor)
        widest = max(point.delta.width for point in envelope.points)
        return PrivacyCurve(self._finished(0, widest <= _WIDE), self._eps, envelope, witness)

    def renyi(self, question: AtOrders) -> RenyiProfile:
        searched = [self._order(order, question.width) for order in question.orders]
        told = [(each.divergence, limit) for each, _, limit in searched]
        wide = any((not d.infinite and d.upper is None) or limit for d, limit in told)
        if "inf" not in question.orders and wide:
            # No order's divergence is larger than that of order infinity.
            with suppress(LimitReached):  # what is known of the others stays known
                searched.append(self._order("inf", question.width))
        results = renyi.clipped([each for each, _, _ in searched])[: len(question.orders)]
        reached = all(each.divergence.is_within(question.width) for each in results)
        bits = max(bits for _, bits, _ in searched)
        # A search that could not climb the ladder does not speak of its precision.
        limit = next((limit for _, _, limit in searched if limit is not None), None)
        program, selection = self._setting.program, self._setting.selection
        rho = renyi.concentrated(results, is_symmetric(program, selection))
        return RenyiProfile(self._finished(bits, reached, limit), self._eps, tuple(results), rho)

    def _order(self, order: Order, width: Fraction) -> tuple[OrderResult, int, str | None]:
        """Search one order; also return the most bits that were asked for, and what limited it."""
        if isinstance(order, str):
            found = self._least_eps_prv(Fraction(0), width)
        elif self._subject.published is not None:
            published = self._subject.published
            found = published_guarantees.largest_published_divergence(published, order)
        else:
            assert isinstance(self.maxima, ListedPairs), "of real inputs order inf alone is asked"
            found = renyi.largest_divergence(self.maxima, order, width)
        witness, one = None, Factor(Fraction(1), Fraction(1))
        if found.pair is not None:
            witness = self._witness(found.pair, one)
        return OrderResult(order, found.told, witness), found.bits, found.limit

    def _witness(
        self,
        pair: Pair,
        factor: Factor,
        outputs: Sequence[int] | None = None,
        bits: int = _WITNESS_BITS,
    ) -> Witness | None:
        try:
            return self.details.witness(pair, factor, outputs, bits)
        except LimitReached:
            return None  # what is proved stays so without a set that shows it

    def _shown_at(self, witness: Witness, factor: Factor) -> Witness | None:
        """Return a pair with its delta at another eps_prv; its outputs, if all are listed."""
        if witness.at_least is not None:
            return self._witness((witness.input, witness.adjacent), factor)
        return replace(witness, delta_enclosure=difference_of(witness.rows, factor))

    def _finished(
        self,
        bits: int,
        reached: bool,
        limit: str | None = None,
        asked: Fraction | None = None,
        by: GivenBy = BY_ENCLOSURES,
    ) -> Run:
        reason, bits = None, max(bits, self._setting.options.precision)
        if not reached:
            obstacle = self.maxima.obstacle
            limit = limit or self.maxima.ended or f"precision limit: {bits} bits"
            wanted = "the width asked for was not reached"
            if self._subject.boxes is not None:
                limit = self._subject.boxes.undecided() or limit
                if asked is not None:
                    wanted = f"the width asked for, {float(asked):.2g}, was not reached"
            stopped = self.maxima.ended is not None or obstacle is None
            reason = limit if stopped else f"no enclosure: {obstacle}"
            reason = f"{wanted}: {reason}"
        engine = self._subject.engine() + (f" + {BY_BUDGET}" if by[1] == BUDGET else "")
        return self._setting.header(
            pairs=None if self._setting.is_real else self.maxima.pairs,
            sizes=self._sizes,
            precision=bits,
            engine=engine,
            reason=reason,
            by=by,
        )


@sound_arithmetic()
def profile(
    setting: Setting,
    eps: Fraction,
    question: Question,
    budget: Fraction | None = None,
    executed: Executed | None = None,
) -> ProfileAnswer:
    """Answer a question about the privacy profile of a program at one eps; see `Profiler`."""
    executed = executed or executed_for(setting, parts=in_parts(question))
    profiler = Profiler(setting, eps, executed, budget)
    match question:
        case AtEpsPrv():
            return profiler.least_delta(question)
        case AtDelta():
            return profiler.least_eps_prv(question)
        case OnCurve():
            return profiler.curve(question)
        case AtOrders():
            return profiler.renyi(question)
        case _:
            assert_never(question)


def nothing_known(
    setting: Setting, eps: Fraction, question: Question, obstacle: LimitReached | None
) -> ProfileAnswer:
    """Return what holds of every program, where a limit came before anything else was known; a
    curve has no such answer, and the limit is raised."""
    if obstacle is None:
        raise BrokenInvariant("no method answered")
    run = setting.header(
        precision=setting.options.precision,
        engine=setting.options.engine.value,
        reason=obstacle.reason,
    )
    match question:
        case AtEpsPrv(eps_prv):
            return LeastDelta(run, eps, eps_prv, UNIT, None)
        case AtDelta(delta):
            return LeastEpsPrv(run, eps, delta, ANYTHING, None)
        case AtOrders(orders):
            unknown = tuple(OrderResult(order, ANYTHING, None) for order in orders)
            return RenyiProfile(run, eps, unknown, ANYTHING)
        case OnCurve():
            raise obstacle
        case _:
            assert_never(question)


_LARGEST = (Fraction(2**20), Fraction(2**100))  # E: the larger it is, the larger is the slack


def profile_rounded(
    setting: Setting, eps: Fraction, question: Question
) -> LeastDelta | LeastEpsPrv:
    """Answer a question about a program that has a `rounding`; a `SourceError` if it is about a
    curve, Rényi divergences or pure privacy."""
    program = setting.program
    error, rational = error_of(program), replace(setting, program=program.with_rational_scales())
    match question:
        case AtEpsPrv(growth=growth):
            found = profile(rational, eps, question)
            assert isinstance(found, LeastDelta)
            by = slack(program, growth)
            return replace(
                found,
                delta_enclosure=widened(found.delta_enclosure, by),
                witness=widened_witness(found.witness, error, by),
            )
        case AtDelta(delta):
            answer: LeastEpsPrv | None = None
            for largest in _LARGEST:
                by = slack(program, Growth(largest))
                if not by < delta < 1 - by:
                    break
                low, high = (
                    profile(rational, eps, asked)
                    for asked in (replace(question, delta=delta + d) for d in (by, -by))
                )
                answer = _between(low, high, delta, error, by, largest)
                least = answer.eps_prv_enclosure
                if least.infinite or least.upper is not None:
                    break
            if answer is not None:
                return answer
            what = "δ = 0" if not delta else f"δ = {delta}"
        case _:
            what = "a curve, or Rényi divergences"
    message = f"an irrational scale: its guarantee for {what} is not known"
    span = None if program.rounding is None else program.rounding.span
    hint = "ask for one ε_prv, or one δ inside (0, 1); or write a rational number"
    raise SourceError([Diagnostic("type error", message, span, hint)])


def _between(
    low: object, high: object, delta: Fraction, error: Fraction, by: Fraction, largest: Fraction
) -> LeastEpsPrv:
    assert isinstance(low, LeastEpsPrv)
    assert isinstance(high, LeastEpsPrv)
    lower, upper = low.eps_prv_enclosure.lower, high.eps_prv_enclosure.upper
    reason = high.run.reason or low.run.reason
    least = INFINITE
    if lower is not None:
        most = None if upper is None or upper > largest else upper
        least = Extended(min(lower, largest), most)
        if most is None:
            reason = reason or "a scale is irrational, and δ is next to what no ε_prv takes away"
    return replace(
        low,
        run=replace(low.run, reason=reason),
        delta=delta,
        eps_prv_enclosure=least,
        witness=widened_witness(low.witness, error, by),
    )
