"""The least noise with which a run is taken, and the multipliers of its guards that prove it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dipapprox.data_classes import dataclass
from dipapprox.errors import NoCertificate
from dipapprox.kernel.forms import Form
from dipapprox.kernel.laws import FAMILIES
from dipapprox.kernel.paths import Sample
from dipapprox.kernel.runs import STEPS
from dipapprox.limits import Limits
from dipapprox.linear.programme import SIDES, LinearProgramme, Optimum, UnknownSide
from dipapprox.proof_steps.machines import Json, number_json
from dipapprox.proof_steps.whole_runs import Whole

_ZERO = Fraction(0)


@dataclass(frozen=True, slots=True)
class Solved:
    """The least noise with which a run is taken, and multipliers that show it.

    Attributes:
        rows: For every turn, as the step has them.
        cost: What the noise is worth; None if no noise is enough.
        noise: Of all samples; none if there is none.
    """

    rows: Json
    cost: Fraction | None
    noise: tuple[Fraction, ...]


def solved(whole: Whole, limits: Limits, every_step: bool = False) -> Solved:
    """Return the least noise with which all guards of a run are >= 0.

    Or, for `every_step` on a ray, that makes up for what each of them loses.
    """
    forms = whole.forms
    rates = {
        number: None if is_light(sample) else _ZERO if number in whole.free else 1 / sample.size
        for number, sample in enumerate(whole.samples)
    }
    sides = {number: _side(sample.family) for number, sample in enumerate(whole.samples)}
    rows = [[(number, -c) for number, c in whole.noise_of(form)] for form in forms]
    rest = [_grown(form) if every_step else form.constant for form in forms]
    found = LinearProgramme(rows, rates, sides, limits).solve(rest)
    listed = _listed(whole, found.flow)
    if not isinstance(found, Optimum):
        return Solved(listed, None, ())
    return Solved(listed, found.value, tuple(found.shift.values()))


def never(whole: Whole, integers: bool, limits: Limits) -> Json:
    """Return multipliers that show that a run is never taken, whatever its noise.

    Args:
        whole: A run, without what it publishes, and as if numbers were not whole.
        integers: Whether ties of samples are possible.
        limits: Asked again and again.

    Returns:
        As `solved`; None if there are no such multipliers.
    """
    rows: list[list[tuple[int, Fraction]]] = []
    count, forms = len(whole.samples), whole.forms
    for form in forms:
        known = [*whole.noise_of(form), (count, _grown(form)), (count + 1, form.constant)]
        rows.append([(number, -c) for number, c in known])
    sides = dict.fromkeys(range(count + 1), UnknownSide.ANY) | {
        count + 1: UnknownSide.AT_LEAST_ZERO
    }
    found = LinearProgramme(rows, dict.fromkeys(sides, 1), sides, limits).solve([-1] * len(rows))
    if isinstance(found, Optimum):
        return None
    stricts = [strict for own in whole.guards for _, strict in own]
    if integers and not any(y and strict for y, strict in zip(found.flow, stricts, strict=True)):
        return None
    return _listed(whole, found.flow)


def _grown(form: Form) -> Fraction:
    """Return what a form gains by every step on a ray."""
    return dict(form.terms).get(STEPS, _ZERO)


def _listed(whole: Whole, factors: Sequence[Fraction]) -> list[Json]:
    """Return multipliers of guards by turn."""
    listed: list[Json] = []
    left = iter(factors)
    for own in whole.guards:
        chosen: list[Json] = []
        for number, factor in enumerate([next(left) for _ in own]):
            if factor:
                chosen.append([number, number_json(factor)])
        listed.append(chosen)
    return listed


def is_light(sample: Sample) -> bool:
    """Whether noise far out is so unlikely that no multiplier is too large."""
    return FAMILIES[sample.family].is_light


def _side(family: str) -> UnknownSide:
    if FAMILIES[family].is_light:
        return UnknownSide.ANY
    side = SIDES.get(tuple(sorted(FAMILIES[family].shifts)))
    if side is None:
        raise NoCertificate(f"{family} noise has no price")
    return side
