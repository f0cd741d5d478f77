"""The least noise with which a run is taken, and the multipliers of its guards that prove it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import lcm

from dipapprox.data_classes import dataclass
from dipapprox.errors import NoCertificate
from dipapprox.kernel.laws import FAMILIES
from dipapprox.kernel.measures import Form
from dipapprox.kernel.paths import Sample
from dipapprox.limits import Limits
from dipapprox.linear.programme import LinearProgramme, Optimum, Side
from dipapprox.proof_steps.machines import Json, number_json
from dipapprox.proof_steps.whole_runs import INPUTS, Growth, Whole, in_noise, value_at

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


def along(whole: Whole, grows: Growth) -> list[Fraction]:
    """Return what every guard gains by every step on a ray."""
    found = []
    for own in whole.guards:
        for form, _ in own:
            grown = _ZERO
            for atom, coefficient in in_noise(form, whole).inputs.items():
                name, number = whole.reads[atom - INPUTS]
                steps = grows.get(name, ())
                grown += coefficient * (steps[number] if number < len(steps) else _ZERO)
            found.append(grown)
    return found


def at_inputs(whole: Whole, reads: Mapping[int, Fraction], integers: bool) -> list[Fraction]:
    """Return what every guard is without noise; of integers a form > 0 is no less than a unit."""
    found = []
    for form, strict in (guard for own in whole.guards for guard in own):
        each = in_noise(form, whole)
        rest = value_at(Form(each.constant, tuple(each.inputs.items())), reads)
        if strict and integers:
            numbers = (form.constant, *(c for _, c in form.terms))
            rest -= Fraction(1, lcm(*(number.denominator for number in numbers)))
        found.append(rest)
    return found


def solved(whole: Whole, rest: Sequence[Fraction], limits: Limits) -> Solved:
    """Return the least noise x with coefficients * x + rest >= 0 for every guard of a run."""
    rows: list[dict[int, int]] = []
    scales: list[int] = []
    forms = [form for own in whole.guards for form, _ in own]
    for form in forms:
        noise = in_noise(form, whole).noise
        scale = lcm(*(c.denominator for c in noise.values()))
        rows.append({number: int(-c * scale) for number, c in noise.items()})
        scales.append(scale)
    right = [value * scale for value, scale in zip(rest, scales, strict=True)]
    unit = lcm(*(sample.size.numerator for sample in whole.samples))
    rates = [
        None if is_light(sample) else 0 if number in whole.free else int(unit / sample.size)
        for number, sample in enumerate(whole.samples)
    ]
    sides = [_side(sample.family) for sample in whole.samples]
    common = lcm(*(value.denominator for value in right))
    found = LinearProgramme(rows, rates, sides, limits).solve([int(v * common) for v in right])
    factors = [y * scale / unit for y, scale in zip(found.flow, scales, strict=True)]
    listed = _listed(whole, factors)
    if not isinstance(found, Optimum):
        return Solved(listed, None, ())
    cost = -sum((y * value for y, value in zip(factors, rest, strict=True)), _ZERO)
    return Solved(listed, cost, tuple([x / common for x in found.shift]))


def never(
    whole: Whole,
    ray: Sequence[Fraction],
    rest: Sequence[Fraction],
    integers: bool,
    limits: Limits,
) -> Json:
    """Return multipliers that show that a run is never taken, whatever its noise.

    Args:
        whole: A run, without what it publishes.
        ray: What every guard gains on a ray, where what it is at first does not matter.
        rest: What it is at first.
        integers: Whether ties of samples are possible.
        limits: Asked again and again.

    Returns:
        As `solved`; None if there are no such multipliers.
    """
    rows: list[dict[int, int]] = []
    scales: list[int] = []
    count = len(whole.samples)
    forms = [form for own in whole.guards for form, _ in own]
    for form, steps, first in zip(forms, ray, rest, strict=True):
        known = in_noise(form, whole).noise | {count: steps, count + 1: first}
        scales.append(lcm(*(c.denominator for c in known.values())))
        rows.append({number: int(-c * scales[-1]) for number, c in known.items() if c})
    sides = [*[Side.ANY] * (count + 1), Side.AT_LEAST_ZERO]
    programme = LinearProgramme(rows, [1] * (count + 2), sides, limits)
    found = programme.solve([-scale for scale in scales])
    if isinstance(found, Optimum):
        return None
    stricts = [strict for own in whole.guards for _, strict in own]
    if integers and not any(y and strict for y, strict in zip(found.flow, stricts, strict=True)):
        return None
    return _listed(whole, [y * scale for y, scale in zip(found.flow, scales, strict=True)])


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


def _side(family: str) -> Side:
    if FAMILIES[family].is_light:
        return Side.ANY
    match FAMILIES[family].shifts:
        case (1, -1) | (-1, 1):
            return Side.ANY
        case (1,):
            return Side.AT_LEAST_ZERO
        case (-1,):
            return Side.AT_MOST_ZERO
        case _:
            raise NoCertificate(f"{family} noise has no price")
