"""Certificates of compositions are written: what was found, and each run on a grid.

In: an answer about a pipeline. Out: the JSON object that `certificates.compositions` defines. What
is stated are enclosures of the least δ at the budgets that matter, a little wider than they were
found, so that a check need not round as the run did; ends of a least ε are moved outward a little,
for a δ that is surely on the right side there.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from dipapprox.certificates import compositions as records
from dipapprox.certificates.compositions import (
    FORMAT,
    VERSION,
    Atom,
    CertificateAgainstComposition,
    CertificateOfComposition,
    CompositionClaimed,
    Direction,
    EpsPrvEnds,
    Masses,
    PieceOfRun,
    RecordedGrid,
    RecordedRun,
    StatedDelta,
)
from dipapprox.certificates.statement import Computed, Ends
from dipapprox.certificates.writing import UNSIGNED
from dipapprox.composition.accountant import Composition
from dipapprox.composition.catalogue import is_symmetric
from dipapprox.composition.losses import LossDistribution
from dipapprox.composition.mechanisms import (
    ApproximateStatement,
    Between,
    ConcentratedStatement,
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    Laplace,
    RandomisedResponse,
    RenyiStatement,
    Subsampled,
)
from dipapprox.composition.pieces import Run
from dipapprox.composition.products import Factor, Grid, factors_of, product
from dipapprox.composition.reading import deltas as deltas_on
from dipapprox.data_classes import replace
from dipapprox.errors import UserError
from dipapprox.language.domains import has_real_inputs
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import UNIT, Enclosure
from dipapprox.numerics.rounding import sound_arithmetic
from dipapprox.pairs.selections import Pair
from dipapprox.privacy.certificate import (
    Certificate,
    plain_values,
    recorded_program,
    versions,
)
from dipapprox.privacy.compositions.pipeline import PipelineRun, ProgramAt
from dipapprox.privacy.compositions.programs import simple_bounds
from dipapprox.privacy.compositions.real_programs import simple_real_bounds
from dipapprox.privacy.compositions.result import ComposedAnswer
from dipapprox.privacy.options import Options
from dipapprox.privacy.profiles.extended import Extended
from dipapprox.privacy.verdict import Answer

_MOST_ATTEMPTS = 5
_MOVED = Fraction(1, 64), Fraction(1, 4), Fraction(1)
"""Of the width of an interval of ε: how far its ends are moved outward, the least that serves."""

_WIDER = Fraction(1, 256)
"""Of the accuracy of the grid: by how much intervals of δ are widened."""

_NARROW = Fraction(1, 1000)

Interval = tuple[Fraction, Fraction]


def without_evidence(answer: ComposedAnswer) -> str | None:
    """Say why an answer has no evidence that could be recorded; None if it has some."""
    if answer.answer is Answer.UNKNOWN:
        return "the verdict is Unknown"
    if answer.delta == 0:
        return "for δ = 0 the greatest losses are added, which needs none"
    found = answer.eps_prv_enclosure
    if found is not None and found.upper is None:
        return "there is no upper end"
    for run in answer.pipeline.runs:
        if isinstance(run.what, ProgramAt):
            if run.what.text is None:
                return f"the text of '{run.name}' is not known: name its file"
            if run.what.program.real_outputs and has_real_inputs(run.what.program):
                return f"of the real inputs of '{run.name}' no evidence is recorded"
        elif _recorded(run) is None:
            return f"of '{run.name}' no evidence is recorded"
    return None


@sound_arithmetic()
def certify_composition(answer: ComposedAnswer, options: Options) -> Certificate:
    """Record what was found about a pipeline.

    Of a program with several worst pairs less is recorded than was used: one pair that is above all
    of them. So intervals of ε may be wider than those found.

    Args:
        answer: About a claim, or an interval, or a curve.
        options: How to compute: grids may be computed once more, finer.

    Raises:
        UserError: If there is no evidence that could be recorded.
        LimitReached: If the limits run out.
    """
    limits = options.limits
    missing = without_evidence(answer)
    if missing is not None:
        raise UserError(f"no certificate: {missing}")
    pipeline = answer.pipeline
    alone = pipeline.times == 1
    width = _NARROW if answer.delta is None else answer.delta * _NARROW
    bounds = _bounds_of_programs(answer, width / (64 * pipeline.times), options)
    composition = Composition(tuple(_run(run, bounds) for run in pipeline.runs))
    if bounds:
        answer = _asked_again(answer, composition, limits)
    grid = answer.grid
    if grid is None or alone:
        grid = composition.delta(_asked(answer, _MOVED[0])[0], width, limits).grid
    for _ in range(_MOST_ATTEMPTS):
        if grid is None:
            break
        evidence = None if alone else _Evidence(composition, grid, limits)
        for share in _MOVED:
            budgets, ends = _asked(answer, share)
            if evidence is None:
                stated = _alone(composition, budgets, width, limits)
            else:
                stated = evidence.deltas(budgets)
            if _implies(answer, ends, dict(zip(budgets, stated, strict=True))):
                recorded = None if evidence is None else evidence.recorded()
                return Certificate.of(_record(answer, ends, budgets, stated, recorded, bounds))
        finer = grid.step if grid.exact else grid.step.divided(2)
        grid = replace(grid, step=finer, accuracy=grid.accuracy / 16)
        width /= 16
    raise UserError("no certificate: what is claimed is too near to what is the case")


def _asked(answer: ComposedAnswer, share: Fraction) -> tuple[list[Fraction], Interval | None]:
    """The budgets at which the least δ matters, and ends of the least ε, if that was asked."""
    ends = _moved(answer, share)
    if ends is not None:
        return [each for each in ends if each], ends
    if answer.curve is not None:
        return [point.eps_prv for point in answer.curve.points], None
    return [Fraction(0) if answer.eps_prv is None else answer.eps_prv], None


def _moved(answer: ComposedAnswer, share: Fraction) -> Interval | None:
    """Ends of an interval of ε, moved outward to short numbers."""
    found = answer.eps_prv_enclosure
    if found is None or found.upper is None or answer.answer is not None:
        return None
    lower = found.lower or Fraction(0)
    width = _NARROW if answer.grid is None else found.upper - lower
    more = max(width * share, Fraction(1, 10**15))
    unit = 10 ** (len(str(int(1 / more))) + 1)
    low = max(Fraction(int((lower - more) * unit), unit), Fraction(0))
    return low, Fraction(-int(-(found.upper + more) * unit) + 1, unit)


def _implies(
    answer: ComposedAnswer, ends: Interval | None, stated: dict[Fraction, Enclosure]
) -> bool:
    if ends is not None and answer.delta is not None:
        low, high = ends
        known = not low or stated[low].lower > answer.delta
        return known and stated[high].upper <= answer.delta
    if answer.answer is None or answer.eps_prv is None or answer.delta is None:
        return True
    found = stated[answer.eps_prv]
    if answer.answer is Answer.DP:
        return found.upper <= answer.delta
    return found.lower > answer.delta


def _alone(
    composition: Composition, budgets: Sequence[Fraction], width: Fraction, limits: Limits
) -> list[Enclosure]:
    """Bound the least δ of one run."""
    found = composition.delta(budgets, width, limits).bounds
    return [
        _wider(each.lower or Fraction(0), UNIT.upper if each.upper is None else each.upper, width)
        for each in found
    ]


class _Evidence:
    """All runs on one grid, in each direction that matters.

    Args:
        composition: What is run.
        grid: The grid.
        limits: What may be used.
    """

    def __init__(self, composition: Composition, grid: Grid, limits: Limits) -> None:
        runs = composition.runs
        cuts = grid.cuts(runs)
        self._grid = grid
        self._bits = grid.bits(runs)
        self._symmetric = all(is_symmetric(run.mechanism) for run in runs)
        self._factors = [
            factors_of(runs, grid, limits, added=added)
            for added in ((False,) if self._symmetric else (False, True))
        ]
        self._products = [
            [product(side, cuts, limits) for side in (each.below, each.above)]
            for each in self._factors
        ]

    def deltas(self, budgets: Sequence[Fraction]) -> list[Enclosure]:
        """Enclose the least δ at budgets, a little wider than they are known."""
        step = self._grid.step
        bounds = [
            zip(
                deltas_on(below, step, [budget + factors.slip for budget in budgets]),
                deltas_on(above, step, budgets),
                strict=True,
            )
            for factors, (below, above) in zip(self._factors, self._products, strict=True)
        ]
        return [
            _wider(max(low for low, _ in both), max(up for _, up in both), self._grid.accuracy)
            for both in zip(*bounds, strict=True)
        ]

    def recorded(self) -> RecordedGrid:
        """Return it as certificates have it."""
        sides = [Direction(below=_pieces(d.below), above=_pieces(d.above)) for d in self._factors]
        return RecordedGrid(
            unit=self._grid.step.unit,
            base=self._grid.step.base,
            bits=self._bits,
            slip=self._factors[0].slip,
            removed=sides[0],
            added=None if self._symmetric else sides[1],
        )


def _wider(lower: Fraction, upper: Fraction, accuracy: Fraction) -> Enclosure:
    more = accuracy * _WIDER
    return UNIT.intersect(Enclosure(lower - more, max(upper, lower) + more))


def _pieces(factors: Sequence[Factor]) -> tuple[PieceOfRun, ...]:
    found = []
    for factor in factors:
        piece = factor.piece
        if piece is None or piece.run is None:
            raise UserError("no certificate: several runs have one profile")
        masses = _masses(factor.losses)
        found.append(PieceOfRun(run=piece.run, group=piece.group, times=piece.times, masses=masses))
    return tuple(found)


def _masses(losses: LossDistribution) -> Masses:
    atoms = tuple(
        Atom(losses.start + 2 * k, f"{mass:x}") for k, mass in enumerate(losses.masses()) if mass
    )
    return Masses(atoms=atoms, infinite=f"{losses.infinite:x}")


def _record(
    answer: ComposedAnswer,
    ends: Interval | None,
    budgets: Sequence[Fraction],
    stated: Sequence[Enclosure],
    grid: RecordedGrid | None,
    bounds: _Bounds,
) -> CertificateOfComposition | CertificateAgainstComposition:
    runs = []
    for run in answer.pipeline.runs:
        what = _recorded_program(run, bounds) if isinstance(run.what, ProgramAt) else _recorded(run)
        if what is None:
            raise UserError(f"no certificate: of '{run.name}' no evidence is recorded")
        runs.append(RecordedRun(what=what, subsample=run.rate, times=run.times))
    fields: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "adjacency": answer.pipeline.adjacency.value,
        "runs": tuple(runs),
        "claim": CompositionClaimed(eps_prv=answer.eps_prv, delta=answer.delta),
        "eps_prv_enclosure": None if ends is None else EpsPrvEnds(lower=ends[0], upper=ends[1]),
        "deltas": tuple(
            StatedDelta(eps_prv=budget, delta=Ends.of(each))
            for budget, each in zip(budgets, stated, strict=True)
        ),
        "grid": grid,
        "computed": Computed(engine="exact", **versions()),
        "digest": UNSIGNED,
    }
    if answer.answer is Answer.NOT_DP:
        return CertificateAgainstComposition(**fields, verdict="Not_DP")
    return CertificateOfComposition(**fields, verdict="DP")


def _asked_again(
    answer: ComposedAnswer, composition: Composition, limits: Limits
) -> ComposedAnswer:
    """Return an answer about a least ε with what less evidence tells of it."""
    known = answer.eps_prv_enclosure
    if answer.answer is not None or answer.delta is None or known is None or known.upper is None:
        return answer
    lower = known.lower or Fraction(0)
    width = max(known.upper - lower, Fraction(1, 10**9))
    found = composition.epsilon(answer.delta, width, limits)
    (own,) = found.bounds
    if own.upper is None:
        return answer
    wider = Extended(min(own.lower or Fraction(0), lower), max(own.upper, known.upper))
    return replace(answer, eps_prv_enclosure=wider, grid=found.grid)


_Bounds = dict[tuple[ProgramAt, int], tuple[Between, Pair]]
"""Of a program that is run so often, with two inputs that attain the lower one."""


def _bounds_of_programs(answer: ComposedAnswer, accuracy: Fraction, options: Options) -> _Bounds:
    found: _Bounds = {}
    for run in answer.pipeline.runs:
        what, adjacency = run.what, answer.pipeline.adjacency
        if isinstance(what, ProgramAt) and (what, run.times) not in found:
            program, eps = what.program, what.eps
            found[what, run.times] = (
                simple_real_bounds(program, eps, adjacency, accuracy, options)
                if program.real_outputs
                else simple_bounds(program, eps, adjacency, run.times, accuracy, options)
            )
    return found


def _run(run: PipelineRun, bounds: _Bounds) -> Run:
    what = bounds[run.what, run.times][0] if isinstance(run.what, ProgramAt) else run.what
    return Run(what if run.rate is None else Subsampled(what, run.rate), run.times)


def _recorded_program(run: PipelineRun, bounds: _Bounds) -> records.ProgramRun | None:
    what = run.what
    if not isinstance(what, ProgramAt) or what.text is None:
        return None
    between, pair = bounds[what, run.times]
    return records.ProgramRun(
        **recorded_program(what.program, what.text),
        eps=what.eps,
        dominating=tuple(records.Mass(p.lower, q.lower) for p, q in between.above.masses),
        attained=(plain_values(pair[0]), plain_values(pair[1])),
    )


def _recorded(run: PipelineRun) -> records.Mechanism | None:
    match run.what:
        case Gaussian(sensitivity, sigma):
            return records.GaussianRun(sensitivity=sensitivity, sigma=sigma)
        case Laplace(sensitivity, scale):
            return records.LaplaceRun(sensitivity=sensitivity, scale=scale)
        case DiscreteLaplace(sensitivity, scale):
            return records.DiscreteLaplaceRun(sensitivity=sensitivity, scale=scale)
        case DiscreteGaussian(sensitivity, sigma):
            return records.DiscreteGaussianRun(sensitivity=sensitivity, sigma=sigma)
        case RandomisedResponse(probability, values):
            return records.ResponseRun(probability=probability, values=values)
        case ExponentialMechanism(eps):
            return records.ExponentialRun(eps=eps)
        case ApproximateStatement(eps, delta):
            return records.ApproximateRun(eps=eps, delta=delta)
        case RenyiStatement(orders):
            return records.RenyiRun(orders=orders)
        case ConcentratedStatement(rho):
            return records.ConcentratedRun(rho=rho)
        case _:
            return None
