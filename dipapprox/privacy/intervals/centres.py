"""Centres for the samples of a program: points from which its guards look homogeneous.

Wanted are c_i, linear in the inputs, with Σ coefficient_i c_i + (inputs and constant) = 0 for every
guard. Elimination expresses some of them by the others; the free ones are chosen so that the
samples' means lie close to the centres, measured in scales. Any choice is valid, so floating-point
least squares may make it; what is used of it is exact.

A published number y is to be seen from one level κ, the same for all inputs: y - κ is homogeneous
in x - c if its form has the value κ at c. So a level is an unknown like a centre, but a constant;
each number has one for each valuation of the finite outputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from dipapprox.errors import BrokenInvariant
from dipapprox.language.core import Value
from dipapprox.linear.form import LinearForm, Symbol
from dipapprox.linear.span import FormSpan
from dipapprox.pairs.selections import Pair
from dipapprox.semantics.state import FinalStates, Guard, Sample, guard_of, newest

_MOST_GUARDS = 20_000
_MOST_SAMPLES = 300
"""Elimination beyond these sizes would take longer than it saves."""

_ROUNDING = 10**6

Ranges = Mapping[str, tuple[Fraction, Fraction]]
"""Middle and half-width of input cells."""


def velocities(
    states: FinalStates, used: Sequence[int], pair: Pair | None = None
) -> list[Fraction] | None:
    """Bound how far means are from centres, in scales.

    Args:
        states: The final states, inputs symbolic.
        used: Indices of the samples that guards mention, or published numbers.
        pair: The inputs in question; None for all.

    Returns:
        For every used sample a bound of |mean_i - c_i| / a_i over the inputs, a_i / eps being its
        scale; None if there are no centres, or some scale is not a / eps.
    """
    samples = states.samples
    if any(samples[i].scale.power != -1 for i in used) or len(used) > _MOST_SAMPLES:
        return None
    guards = distinct_guards(states)
    forms = [guard.form for guard in guards] + _levelled(states)
    if len(forms) > _MOST_GUARDS:
        return None
    pivots = _solve(forms, len(samples))
    if pivots is None:
        return None
    ranges = _ranges(states, pair)
    distances = [_distance(i, pivots, samples[i]) for i in used]
    if not all(name in ranges for distance in distances for name in distance.inputs()):
        return None
    constants = {name: (middle, Fraction(0)) for name, (middle, _) in ranges.items()}
    bounds = []
    for known in (constants, ranges):
        chosen = _closest(distances, known, len(samples))
        bounds.append([_largest(d.substitute(chosen), ranges) for d in distances])
    return min(bounds, key=lambda speeds: sum(speed * speed for speed in speeds))


def _levelled(states: FinalStates) -> list[LinearForm]:
    """Return published numbers less their levels, which are symbols beyond those of the samples."""
    levels: dict[tuple[tuple[Value, ...], int], int] = {}
    found: dict[LinearForm, None] = {}
    for state in states.states:
        for place, form in enumerate(state.reals):
            if form.samples():
                key = tuple(state.outputs), place
                level = levels.setdefault(key, len(states.samples) + len(levels))
                found[form - LinearForm.symbol(level)] = None
    return list(found)


def distinct_guards(states: FinalStates) -> list[Guard]:
    """Return the guards of all states; states that share a prefix of a path share its guards."""
    seen: set[int] = set()
    found: dict[LinearForm, Guard] = {}
    for state in states.states:
        node = state.path
        while node is not None and id(node) not in seen:
            seen.add(id(node))
            for guard in map(guard_of, newest(node)):
                found.setdefault(guard.form, guard)
            node = node.parent
    return list(found.values())


def _solve(forms: Sequence[LinearForm], levels: int) -> dict[Symbol, LinearForm] | None:
    """Solve form = 0 for all forms: pivots as forms over free samples and inputs; None if none.

    Symbols from `levels` on are constants: they are pivots only where nothing else is left.
    """
    span = FormSpan()
    for number, form in enumerate(forms):
        rest, _ = span.reduced(form)
        mentioned = rest.samples()
        if not mentioned and (rest.terms or rest.constant):
            return None
        if mentioned and mentioned[0] >= levels and rest.inputs():
            return None
        span.put(rest, number)
    return {pivot: LinearForm.symbol(pivot) - row for pivot, (row, _) in span.rows.items()}


def _distance(index: int, pivots: Mapping[Symbol, LinearForm], sample: Sample) -> LinearForm:
    """Return (mean - c) / a as a form over input cells and free centres (sample indices)."""
    centre = pivots.get(index, LinearForm.symbol(index))
    return (sample.mean - centre).scaled(1 / sample.scale.coefficient)


def _ranges(states: FinalStates, pair: Pair | None) -> Ranges:
    """Return middle and half-width of every numeric input cell."""
    ranges: dict[str, tuple[Fraction, Fraction]] = {}
    for place, cell in enumerate(states.program.inputs):
        values = cell.domain if pair is None else [input[place] for input in pair]
        numbers = [value for value in values if isinstance(value, Fraction)]
        if len(numbers) == len(values):
            low, high = min(numbers), max(numbers)
            ranges[cell.name] = (low + high) / 2, (high - low) / 2
    return ranges


def _closest(
    distances: Sequence[LinearForm], ranges: Ranges, levels: int
) -> dict[Symbol, LinearForm]:
    """Choose the free centres: least squares of the distances, one problem per input and constant.

    A cell of half-width 0 is taken at its middle: then the free centres do not depend on it. Nor do
    symbols from `levels` on.
    """
    free = sorted({s for d in distances for s in d.samples()})
    moving = [name for name, (_, half) in ranges.items() if half]
    if not free:
        return {}
    matrix = np.array([[-float(d.coefficient(s)) for s in free] for d in distances])
    wanted = np.empty((len(distances), 1 + len(moving)))
    for row, form in enumerate(distances):
        middle = sum((ranges[n][0] * form.coefficient(n) for n in form.inputs()), form.constant)
        wanted[row, 0] = float(middle)
        for column, name in enumerate(moving):
            wanted[row, 1 + column] = float(form.coefficient(name) * ranges[name][1])
    solution = np.linalg.lstsq(matrix, wanted, rcond=None)[0]
    centres = [place for place, symbol in enumerate(free) if symbol < levels]
    solution[:, 1:] = 0.0
    if centres:
        solution[centres, 1:] = np.linalg.lstsq(matrix[:, centres], wanted[:, 1:], rcond=None)[0]
    chosen: dict[Symbol, LinearForm] = {}
    for place, symbol in enumerate(free):
        constant, *slopes = (
            Fraction(float(x)).limit_denominator(_ROUNDING) for x in solution[place]
        )
        terms: dict[Symbol, Fraction] = {}
        for name, slope in zip(moving, slopes, strict=True):
            middle, half = ranges[name]
            terms[name] = slope / half
            constant -= slope / half * middle
        chosen[symbol] = LinearForm.of(terms, constant)
    return chosen


def _largest(form: LinearForm, ranges: Ranges) -> Fraction:
    """Return the largest |form| over all inputs in their ranges."""
    if form.samples():
        raise BrokenInvariant("a free centre was not chosen")
    centre, radius = form.constant, Fraction(0)
    for name in form.inputs():
        middle, half = ranges[name]
        coefficient = form.coefficient(name)
        centre += coefficient * middle
        radius += abs(coefficient) * half
    return abs(centre) + radius
