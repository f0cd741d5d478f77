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
from dipapprox.linear.programme import SIDES, LinearProgramme, Optimum, Side
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
    noises = [in_noise(form, whole).noise for own in whole.guards for form, _ in own]
    rates = {
        number: None if is_light(sample) else _ZERO if number in whole.free else 1 / sample.size
        for number, sample in enumerate(whole.samples)
    }
    sides = {number: _side(sample.family) for number, sample in enumerate(whole.samples)}
    rows = [[(number, -c) for number, c in noise.items()] for noise in noises]
    found = LinearProgramme(rows, rates, sides, limits).solve(rest)
    listed = _listed(whole, found.flow)
    if not isinstance(found, Optimum):
        return Solved(listed, None, ())
    return Solved(listed, found.value, tuple(found.shift.values()))


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
    rows: list[list[tuple[int, Fraction]]] = []
    count = len(whole.samples)
    forms = [form for own in whole.guards for form, _ in own]
    for form, steps, first in zip(forms, ray, rest, strict=True):
        known = in_noise(form, whole).noise | {count: steps, count + 1: first}
        rows.append([(number, -c) for number, c in known.items()])
    sides = dict.fromkeys(range(count + 1), Side.ANY) | {count + 1: Side.AT_LEAST_ZERO}
    found = LinearProgramme(rows, dict.fromkeys(sides, 1), sides, limits).solve([-1] * len(rows))
    if isinstance(found, Optimum):
        return None
    stricts = [strict for own in whole.guards for _, strict in own]
    if integers and not any(y and strict for y, strict in zip(found.flow, stricts, strict=True)):
        return None
    return _listed(whole, found.flow)


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
    side = SIDES.get(tuple(sorted(FAMILIES[family].shifts)))
    if side is None:
        raise NoCertificate(f"{family} noise has no price")
    return side
