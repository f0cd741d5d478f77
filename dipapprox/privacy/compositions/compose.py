"""Pipeline x question -> what it costs: intervals of ε for δ and of δ for ε, curves, verdicts.

    pipeline ─ programs: pairs at their eps (`programs`) ─┐
             └ mechanisms of the catalogue ───────────────┴─ Composition (`accountant`)

Where there is an exact answer it is given: of δ = 0 where all losses are bounded, and for
all ε of few rational outcomes and of discrete Laplace noise (`exact_profiles`); Gaussian runs alone
need no grid (`accountant`). A claim (ε, δ) is decided by ever narrower intervals of the least δ
at ε; it is undecided as long as δ lies in them.

Not_DP means that there are mechanisms as they are described, a pair of adjacent data sets, and a
way to run them, that violate the claim: independently of one another, and for programs with
queries whose answers on the two data sets are the inputs of a pair that was found.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

from dipapprox.arithmetic.enclosure import UNIT, Enclosure
from dipapprox.arithmetic.extended import CLOSED_FORM, INFINITE, Extended, gain
from dipapprox.arithmetic.rounding import sound_arithmetic
from dipapprox.composition.accountant import COST, STUCK, Composition
from dipapprox.composition.accountant import CompositionAnswer as Found
from dipapprox.composition.catalogue import greatest_loss
from dipapprox.composition.exact_profiles import ExactProfile, ProfileLine, exact_profile
from dipapprox.composition.grid import GridStep
from dipapprox.composition.losses import LogMasses, log_masses
from dipapprox.composition.mechanisms import (
    ApproximateStatement,
    Atoms,
    Between,
    Mechanism,
    Subsampled,
)
from dipapprox.data_classes import replace
from dipapprox.errors import INTERRUPTED, BrokenInvariant, EarlyEnd, NoCertificate, UserError
from dipapprox.language.domains import exact_rational
from dipapprox.limits import Progress, at_most, limited, silent
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.compositions.mechanisms import Mechanisms
from dipapprox.privacy.compositions.pipeline import (
    ComposedAnswer,
    ComposedCurve,
    Pipeline,
    PipelineRun,
    ProgramAt,
)
from dipapprox.privacy.compositions.programs import require_symmetric
from dipapprox.privacy.description import Certificate
from dipapprox.privacy.profiles.curve import evenly
from dipapprox.privacy.profiles.profile import profile
from dipapprox.privacy.profiles.profile_result import AtDelta, AtEpsPrv, LeastDelta, LeastEpsPrv
from dipapprox.privacy.run import Options, Setting
from dipapprox.privacy.verdict import Answer

Recorder = Callable[[ComposedAnswer, Options], Certificate]  # what writes certificates
_One = AtDelta | AtEpsPrv  # asks for one number
Number = int | Fraction | Decimal | str  # an exact number: "0.1", "1/10", Fraction(1, 10)
DEFAULT_WIDTH = Fraction(1, 1000)  # of a least eps_prv; of a least delta, as a share of it
_NO, _LEAST_DELTA = Fraction(0), Fraction(1, 10**30)
_SHARES = (Fraction(1, 4), Fraction(1, 2**8), Fraction(1, 2**16), Fraction(1, 2**26))
"""Of claimed deltas: how narrow the interval is to be, one after the other."""

_WIDTHS = tuple(Fraction(1, 2**k) for k in (4, 10, 16, 22))
_FEW_RUNS = 16  # of which the greatest losses may be a narrower bound
_MOST_EXACT_RUNS, _MOST_RATIOS = 128, 1024  # of exact profiles
_FARTHEST = Fraction(10**12)  # losses, beyond which no δ is looked for
_PURE_BITS, _EXACT_BITS = 128, 256
_EXACT_WIDTH = Fraction(1, 2**100)  # of the interval of an exact δ, as a share of it
_SPARE = 2**4  # pairs of programs are so much more accurate than has turned out to be wanted
_LEAST_GAIN = 0.1  # by which an interval with a lower end gets narrower, else a step is vain
_MOST_VAIN = 2  # vain steps in a row after which pairs of programs get no finer
_NEARLY = "{} is nearly the least one: it lies in the narrowest interval"
_UNKNOWN = Extended(UNIT.lower, UNIT.upper)
_DELTA, LOSSES = "the least δ", "greatest losses, added"
_EXPORT_ACCURACY = Fraction(1, 10**12)


class Composed:
    """A pipeline, asked again and again.

    Args:
        options: Their limits' clock runs since they were made.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        options: Options | None = None,
        progress: Progress = silent,
        record: Recorder | None = None,
    ) -> None:
        self.pipeline = pipeline
        self._progress = progress
        self._record = record
        self._options = Options() if options is None else options
        self._mechanisms = Mechanisms(pipeline, self._options)

    @sound_arithmetic()
    def epsilon(self, delta: Number, width: Number = DEFAULT_WIDTH) -> ComposedAnswer:
        """Enclose the least eps_prv for a delta; 0 asks for pure differential privacy.

        Raises:
            UserError: If delta is not in [0, 1), or width <= 0.
        """
        begun = time.monotonic()
        delta, width = exact_rational(delta, "delta"), exact_rational(width, "width")
        if not 0 <= delta < 1:
            raise UserError(f"delta must be in [0, 1), got {delta}")
        if not delta:
            return self._pure(begun, width, self.pipeline.runs)
        budget = None if self._exact is None else self._exact.budget(delta)
        if budget is not None:
            least = Extended.of(budget.enclosed(_EXACT_BITS), CLOSED_FORM)
            told = self._answer(begun)
            return replace(told, delta=delta, eps_prv_enclosure=least, exact=budget)
        accuracy = delta * min(width, Fraction(1))
        found, reason = self._alone(AtDelta(delta, width)) or self._ask(
            accuracy, lambda each, known: each.epsilon(delta, width, self._progress, known)
        )
        least = Extended(Fraction(0), None) if found is None else found.bounds[0]
        open_ = not least.is_within(width) and reason != INTERRUPTED
        runs, lost = self._bounded
        few = not self.pipeline.programs or self.pipeline.times <= _FEW_RUNS
        if (found or not self.pipeline.programs) and open_ and (lost or few) and lost <= delta:
            pure = self._pure(begun, width, runs)
            most = pure.eps_prv_enclosure or Extended(Fraction(0), None)
            if lost < delta:  # else less than the greatest losses is not enough
                most = Extended.at_most(most.upper, LOSSES)
            least = least.meet(most, COST)
            reason = None if least.is_within(width) else reason or pure.reason
        return replace(self._answer(begun, found, reason), delta=delta, eps_prv_enclosure=least)

    @sound_arithmetic()
    def delta(self, eps_prv: Number, width: Number | None = None) -> ComposedAnswer:
        """Enclose the least delta for an eps_prv.

        Args:
            eps_prv: At least 0.
            width: Wanted; None for a thousandth of delta, or for 1e-30.

        Raises:
            UserError: If eps_prv < 0, or width <= 0.
        """
        begun = time.monotonic()
        eps_prv = _budget(eps_prv)
        narrow = None if width is None else exact_rational(width, "width")
        line = None if self._exact is None else self._exact.line(eps_prv)
        if line is not None:
            told = Extended.of(_exactly(line, eps_prv, None), CLOSED_FORM)
            return replace(self._answer(begun, told=told), eps_prv=eps_prv, exact=line)
        if not self.pipeline.programs and (pure := self._beyond_losses(begun, eps_prv)):
            return replace(self._answer(begun, told=pure), eps_prv=eps_prv)
        wanted = (_LEAST_DELTA, DEFAULT_WIDTH) if narrow is None else (narrow, _NO)
        found, reason = self._delta(eps_prv, *wanted)
        told = _unit(found)
        if self.pipeline.programs and ((not told.lower and told.upper) or self._bounded[1]):
            pure = self._beyond_losses(begun, eps_prv)
            told, reason = (told, reason) if pure is None else (pure, None)
        return replace(self._answer(begun, found, reason, told), eps_prv=eps_prv)

    @sound_arithmetic()
    def curve(
        self, low: Number, high: Number, points: int, width: Number = DEFAULT_WIDTH / 1000
    ) -> ComposedAnswer:
        """Enclose the profile at so many eps_prv from `low` to `high`, and between them.

        Raises:
            UserError: If the range is empty or reversed, or numbers are out of range.
        """
        begun = time.monotonic()
        budgets = evenly(exact_rational(low, "low"), exact_rational(high, "high"), points)
        wanted = exact_rational(width, "width")
        if (exact := self._exact) is not None:
            known = [_exactly(exact.line(budget), budget, None) for budget in budgets]
            curve = ComposedCurve.of(budgets, known, exact.pieces())
            return replace(self._answer(begun), curve=curve)
        found, reason = self._ask(
            wanted, lambda each, known: each.delta(budgets, wanted, self._progress, known)
        )
        ends = [UNIT] * len(budgets)
        if found is not None:
            ends = [_unit(replace(found, bounds=(each,))).enclosure() for each in found.bounds]
        return replace(self._answer(begun, found, reason), curve=ComposedCurve.of(budgets, ends))

    @sound_arithmetic()
    def verify(self, eps_prv: Number, delta: Number) -> ComposedAnswer:
        """Decide whether the composition is (eps_prv, delta)-differentially private.

        Raises:
            UserError: If eps_prv < 0, or delta is not in [0, 1].
        """
        begun = time.monotonic()
        eps_prv, delta = _budget(eps_prv), exact_rational(delta, "delta")
        if not 0 <= delta <= 1:
            raise UserError(f"delta must be in [0, 1], got {delta}")
        known = _UNKNOWN
        found, reason = None, None
        line = None if self._exact is None else self._exact.line(eps_prv)
        if line is not None:
            known = Extended.of(_exactly(line, eps_prv, delta), CLOSED_FORM)
        elif not delta:
            pure = self._pure(begun, DEFAULT_WIDTH, self.pipeline.runs)
            least = pure.eps_prv_enclosure
            verdict = Answer.UNKNOWN if least is None else _verdict(least, eps_prv)
            if verdict is Answer.UNKNOWN:
                pure = replace(pure, reason=pure.reason or _NEARLY.format("eps_prv"))
            return replace(pure, eps_prv=eps_prv, answer=verdict)
        elif self._bounded[1] and (beyond := self._beyond_losses(begun, eps_prv)) is not None:
            known = beyond
        else:
            # What is far off is told by intervals that are far wider than the claimed delta.
            wide = [width for width in _WIDTHS if width > delta]
            for width in (*wide, *(delta * share for share in _SHARES)):
                found, reason = self._delta(eps_prv, width, known=found)
                known = known.meet(_unit(found), _DELTA)
                if reason is not None or _verdict(known, delta) is not Answer.UNKNOWN:
                    break
        verdict = _verdict(known, delta)
        reason = reason or _NEARLY.format("delta") if verdict is Answer.UNKNOWN else None
        told = self._answer(begun, found, reason, known)
        return replace(told, eps_prv=eps_prv, delta=delta, answer=verdict, exact=line)

    @sound_arithmetic()
    def to_pld(self, step: Number = DEFAULT_WIDTH) -> tuple[LogMasses, LogMasses]:
        """Return (lower, upper) as dp_accounting takes a pair that dominates the composition.

            lower, upper = composed.to_pld()
            pld = from_two_probability_mass_functions(lower, upper, symmetric=False)
            pld.get_delta_for_epsilon(1)

        For the removal of a record, with `step` between two losses; numbers are logarithms of
        masses, as doubles: what an accountant makes of them is not proved.

        Raises:
            UserError: If step is no number > 0.
        """
        unit = exact_rational(step, "step")
        if unit <= 0:
            raise UserError(f"step must be > 0, got {unit}")
        with limited(self._options.limits):
            composition = self._mechanisms.composition(_EXPORT_ACCURACY)
            losses = composition.dominating(GridStep(unit), _EXPORT_ACCURACY)
        return log_masses(losses)

    def certify(self, answer: ComposedAnswer) -> Certificate:
        """Record an answer of this pipeline, so that `check` can check it.

        Raises:
            UserError: If there is no evidence that could be recorded.
        """
        if not isinstance(answer, ComposedAnswer) or answer.pipeline != self.pipeline:
            raise UserError("answer must be one of this pipeline")
        if self._record is None:
            raise NoCertificate("nothing is known that writes one")
        with limited(self._options.limits):
            return self._record(answer, self._options)

    # --- what the questions share -----------------------------------------------------------------

    @cached_property
    def _bounded(self) -> tuple[tuple[PipelineRun, ...], Fraction]:
        """Return the runs but for statements' outcomes that tell all, and how likely one comes.

        The worst mechanism that is (eps, δ)-private tells all with probability δ, and else has two
        outcomes of losses ±eps (Kairouz, Oh and Viswanath 2015): from the greatest losses on,
        where all are finite, δ is how likely one tells all; below them it is more.
        """
        runs, none = list[PipelineRun](), Fraction(1)
        for run in self.pipeline.runs:
            inner, kept, few = run.what, run, run.times <= _FEW_RUNS  # else δ has many digits
            if isinstance(inner, ApproximateStatement) and run.rate is None and few:
                none *= (1 - inner.delta) ** run.times
                kept = replace(run, what=replace(inner, delta=Fraction(0)))
            runs.append(kept)
        return tuple(runs), 1 - none

    def _beyond_losses(self, begun: float, eps_prv: Fraction) -> Extended | None:
        """Return the δ at an ε that the greatest losses do not exceed; None if it is not known."""
        runs, lost = self._bounded
        pure = self._pure(begun, DEFAULT_WIDTH, runs).eps_prv_enclosure
        if pure is None or pure.upper is None or pure.upper > eps_prv:
            return None
        return Extended.of(Enclosure.exact(lost), LOSSES)

    def _pure(self, begun: float, width: Fraction, runs: tuple[PipelineRun, ...]) -> ComposedAnswer:
        """Answer for delta = 0 about some runs: the greatest losses add up.

        Those of removing a record are the greater ones, sampled or not, as no pair here has one
        direction only.
        """
        least = Extended(Fraction(0), None)
        with EarlyEnd() as end, limited(self._options.limits):
            least = Extended(Fraction(0), Fraction(0), LOSSES, LOSSES)
            for run in runs:
                own = self._greatest_loss(run, width / (2 * self.pipeline.times))
                least = least.plus(own, run.times)
        if end.reason is not None:
            least = Extended(Fraction(0), None)
        told = self._answer(begun, reason=end.reason)
        return replace(told, delta=Fraction(0), eps_prv_enclosure=least)

    def _greatest_loss(self, run: PipelineRun, width: Fraction) -> Extended:
        """Bound the greatest loss of one run; infinite where noise or a statement has none."""
        inner = run.what
        if not isinstance(inner, ProgramAt):
            if isinstance(inner, Atoms | Between):
                return Extended(Fraction(0), None)  # what is known of them may be bounds only
            found = _pure_loss(inner if run.rate is None else Subsampled(inner, run.rate))
            return INFINITE if found is None else found
        known, _ = self._profiled(inner, AtDelta(Fraction(0), width))
        if run.rate is None or known.lower is None:
            return known
        low, high = (
            None if each is None else _pure_loss(Subsampled(ApproximateStatement(each), run.rate))
            for each in (known.lower, known.upper)
        )
        return Extended(
            Fraction(0) if low is None else low.lower, None if high is None else high.upper
        )

    def _profiled(self, run: ProgramAt, question: _One) -> tuple[Extended, str | None]:
        """Ask about one run of a program; also return why that is not narrower."""
        require_symmetric(run.program)
        setting = Setting(run.program, AllPairs(), self._options)
        match profile(setting, run.eps, question):
            case LeastEpsPrv() as answer:
                return answer.eps_prv_enclosure, answer.reason
            case LeastDelta() as answer:
                least = answer.delta_enclosure
                return Extended(least.lower, least.upper, *answer.run.by), answer.reason
        raise BrokenInvariant("a profile was asked for the least of one and told something else")

    def _alone(self, question: _One) -> tuple[Found | None, str | None] | None:
        """Ask one run of a program with numbers, if there is nothing else: its profile has them."""
        run, *others = self.pipeline.runs
        inner = run.what
        if others or run.times > 1 or run.rate is not None or not isinstance(inner, ProgramAt):
            return None
        if not inner.program.real_outputs:
            return None
        with EarlyEnd() as end, limited(self._options.limits):
            told, reason = self._profiled(inner, question)
            return Found((told,), None, 0, None), reason
        return None, end.reason

    def _delta(
        self, eps_prv: Fraction, width: Fraction, share: Fraction = _NO, known: Found | None = None
    ) -> tuple[Found | None, str | None]:
        """Ask so narrow an interval of δ, or one that is such a share of it."""
        alone = self._alone(AtEpsPrv(eps_prv, None if share else width))
        if alone is not None:
            return alone
        near = min(eps_prv, _FARTHEST)
        found, reason = self._ask(
            max(width, share),
            lambda each, known: each.delta([near], width, self._progress, known, share),
            known,
        )
        if found is not None and near < eps_prv:  # farther off δ is at most that
            ends = [Extended.at_most(each.upper, each.most_by) for each in found.bounds]
            found = replace(found, bounds=tuple(ends))
        return found, reason

    def _ask(
        self,
        accuracy: Fraction,
        ask: Callable[[Composition, Found | None], Found],
        known: Found | None = None,
    ) -> tuple[Found | None, str | None]:
        """Ask a composition, of ever finer pairs of programs; also return why it is not narrower.

        None if a limit ends it before anything is known.
        """
        vain = 0  # times in a row
        with EarlyEnd() as end, limited(self._options.limits):
            while True:
                found = ask(self._mechanisms.composition(accuracy), known)
                gained = 1.0 if known is None else gain(known.bounds, found.bounds)
                if found.accuracy is not None:
                    known, accuracy = found, found.accuracy / _SPARE
                    continue
                known, below = found, any(each.lower for each in found.bounds)
                vain = 0 if below and gained >= _LEAST_GAIN else vain + 1
                stuck = found.reason is not None and found.reason.startswith(STUCK)
                if not stuck or vain == _MOST_VAIN or not self._mechanisms.refined():
                    return found, found.reason
        return known, end.reason

    @cached_property
    def _exact(self) -> ExactProfile | None:
        """The exact profile, if few numbers tell it."""
        if not self.pipeline.programs and self.pipeline.times <= _MOST_EXACT_RUNS:
            with EarlyEnd(), limited(self._options.limits):
                composition = self._mechanisms.composition(Fraction(1))
                with at_most(atoms=_MOST_RATIOS):
                    return exact_profile(composition)
        return None

    def _answer(
        self,
        begun: float,
        found: Found | None = None,
        reason: str | None = None,
        told: Extended | None = None,
    ) -> ComposedAnswer:
        """Return what every answer says: on which grid, how long it took, why not more; a δ."""
        answer = ComposedAnswer(self.pipeline, time.monotonic() - begun, reason=reason)
        if told is not None:
            answer = replace(answer, delta_enclosure=told.enclosure(), by=told.by)
        return answer if found is None else replace(answer, grid=found.grid, atoms=found.atoms)


def _budget(eps_prv: Number) -> Fraction:
    value = exact_rational(eps_prv, "eps_prv")
    if value < 0:
        raise UserError(f"eps_prv must be >= 0, got {value}")
    return value


def _pure_loss(mechanism: Mechanism) -> Extended | None:
    found = greatest_loss(mechanism, _PURE_BITS)
    return None if found is None else Extended(found.lower, found.upper)


def _verdict(least: Extended, claimed: Fraction) -> Answer:
    """Whether what is claimed is enough where this is the least that is."""
    if least.lower is None or least.lower > claimed:
        return Answer.NOT_DP
    return Answer.DP if least.upper is not None and least.upper <= claimed else Answer.UNKNOWN


def _exactly(line: ProfileLine, eps_prv: Fraction, claimed: Fraction | None) -> Enclosure:
    """Enclose an exact δ, so that it is told from a claimed one."""
    bits = _EXACT_BITS
    while True:  # ends: a δ that is not rational is no claimed one, and not 0
        found = line.enclosed(eps_prv, bits)
        told = claimed is None or found.upper <= claimed or found.lower > claimed
        if told and found.width <= found.upper * _EXACT_WIDTH:
            return found
        bits *= 2


def _unit(found: Found | None) -> Extended:
    return _UNKNOWN if found is None else _UNKNOWN.meet(found.bounds[0], _DELTA)
