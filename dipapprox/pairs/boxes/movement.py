"""How the probabilities of outputs move with real inputs, read from the guards of final states; and
ends of inputs without bounds beyond which hardly anything changes.

    final states -> inputs moved from guards into means, where that is possible
        -> analytic (`interpolation.analytic`), smooth or only steep (`interpolation.smooth`)
        -> signs of derivatives

An output is a function of those inputs only that a sample it depends on moves with. Guards that
compare a sample with inputs are freed of them by moving them into its mean; a guard that cannot be
freed (a sample between two inputs) still says how steep the probability is. Where samples are only
compared with each other, all may be moved by the same: then noise with a kink need not move.

**Lemma (monotone guards).** A guard is form <= 0. If the forms of all guards of a state fall, or
stay, as an input rises, then the noise that obeys them can only become more. States of one output
have disjoint noise: if each can only grow, so does the whole.

**Lemma (clamping).** Let c move one input to the nearest end of an interval, and let the law of the
outputs at u and at c(u) differ by at most τ in total variation, for all u. Then delta_{u,u'} <=
delta_{c(u),c(u')} + τ + E τ; and clamped pairs of adjacent inputs are adjacent.
Proof. delta = max over S of P_S(u) - E P_S(u'), and each P_S moves by at most τ. Clamping keeps
equal values equal and their order, and brings values no farther apart, so that holds for every
adjacency. Several inputs are clamped one after the other, and their τ add up.

**τ.** Let the same noise be drawn at u and c(u). The final state is determined by which guards are
obeyed. A guard form <= 0 whose form rises with u_i by s > 0 per unit is obeyed at one of them only
if, at an upper end h, the form is <= 0 although its mean there is large. Let that mean be at least
m = Σ |a_k| σ_k t_k, a_k being the coefficients of samples: then some standard noise is farther out
than its t_k, on one side. For Laplace noise, and one-sided one, that has a probability of at most
e^-t, for Gaussian noise at most e^-t²/2. The same holds at a lower end, and for s < 0. Here
e^-7/10 < 1/2 is used. What else is in the form must lie between bounds: other inputs of the guard
have some.

**Lemma (the largest of all).** Let the outputs tell which of u_i + Z_i is the largest, Z being
independent noise, and nothing else. With M = max u_i, let c move up what is below M - h: c(u)_i =
max(u_i, M - h). Then the laws at u and at c(u) differ by at most the probability that Z_i - Z_m >=
h for some i != m, m being where u_m = M; so delta moves by as much as above. If u and u' are
adjacent for `linf`, `increasing`, `decreasing` or `all`, then c(u) and c(u') are.
Proof. Draw the same noise. If no Z_i - Z_m >= h, then no i with u_i < M - h is the largest at c(u),
nor at u, where it is lower; the others have not moved. Clamping: M moves by at most as much as some
u_i, and in the same direction.
Moving all of u and u' by the same number changes nothing: let M = 0, then all c(u)_i lie in [-h, 0]
and those of u' in [-h - r, r] for a radius r. For `all`, u and u' can be moved each on its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import reduce
from operator import add

import numpy as np
from numpy.typing import NDArray

from dipapprox.data_classes import Record, replace
from dipapprox.errors import LimitReached
from dipapprox.events.instantiate import Instantiator, Outline, without_inputs
from dipapprox.language.core import Cell, Everyone, Norm, Within
from dipapprox.language.domains import AllReals
from dipapprox.laws.distribution import cutoff
from dipapprox.laws.family import BOTH_SIDES, Family, RealFamily
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.interpolation.analytic import Row
from dipapprox.numerics.interpolation.analytic import State as Strips
from dipapprox.numerics.interpolation.polynomial import Interval
from dipapprox.numerics.interpolation.smooth import (
    Smoothness,
    smoothness_of_guards,
    smoothness_of_means,
)
from dipapprox.semantics.state import FinalStates, Sample


class OutOfReach(LimitReached):
    """Near forms of probabilities are not known, or would take too much."""


class Movement(Record, eq=False):
    axes: tuple[int, ...]  # the real inputs that it depends on
    # Its states, for bounds at complex ones; None if it is not known to be analytic.
    analytic: tuple[Strips, ...] | None
    smooth: Smoothness  # how steep it is, and how curved, in `axes`
    # For each axis the sign of its derivative, 0 if it is not known from the guards.
    growth: tuple[int, ...]
    still: bool  # whether it stays as it is when all inputs move by the same number


class DerivativeSigns(Record, eq=False):
    """Which derivatives of the P_o, by output and real input, are never negative, or positive."""

    rising: NDArray[np.bool_]
    falling: NDArray[np.bool_]

    def of(self, taken: NDArray[np.bool_]) -> list[int]:
        """Return the signs of P_S for a set S of outputs, 0 where none is known (`together`)."""
        rising, falling = self.rising, self.falling
        up = np.logical_or(rising[taken].all(axis=0), falling[~taken].all(axis=0))
        down = np.logical_or(falling[taken].all(axis=0), rising[~taken].all(axis=0))
        return [1 if a else -1 if b else 0 for a, b in zip(up.tolist(), down.tolist(), strict=True)]


def movements(
    states: FinalStates, eps: Fraction, names: Sequence[str | None]
) -> tuple[Movement, ...]:
    """Find how the outputs move with the real inputs of some names; None: one that stays.

    Raises:
        OutOfReach: If noise around a real input is of integers.
    """
    instantiator = Instantiator(states, eps)
    found: list[list[_State]] = [[] for _ in states.outputs]
    for outline in instantiator.outlines:
        found[outline.output].append(_state(states, instantiator.scales, outline, names))
    return tuple(_joined(each, len(names)) for each in found)


class _State(Record):
    rows: dict[int, Row]  # each sample around real inputs, by number
    shifted: bool  # whether samples were moved, to free guards of inputs or noise with kinks
    # For each real input 1 if the noise that leads here can only become more as it rises, -1 if
    # only less, None if neither is said, 0 if both.
    growth: list[int | None]
    # How it moves where guards keep inputs, in all real inputs; None if none does.
    kept: Smoothness | None
    still: bool  # whether it stays as it is when all inputs move by the same number


def _state(
    states: FinalStates, scales: Sequence[Fraction], outline: Outline, names: Sequence[str | None]
) -> _State:
    def slope(form: LinearForm, name: str | None) -> Fraction:
        return Fraction(0) if name is None else form.coefficient(name)

    freed = without_inputs(len(outline.samples), outline.guards)
    shifts, guards = ({}, outline.guards) if freed is None else freed
    laws = [states.samples[number] for number in outline.samples]
    means = {
        local: laws[local].mean + shifts.get(local, LinearForm.constant_form(0))
        for local in {sample for guard in guards for sample in guard.samples()}
    }
    around = _around_kinks(guards, means, {k: laws[k].family for k in means})
    rows: dict[int, Row] = {}
    for local, mean in around.items():
        number, sample = outline.samples[local], laws[local]
        row = tuple(abs(slope(mean, name)) / scales[number] for name in names)
        if any(row):
            if not isinstance(sample.family, RealFamily):
                raise _discrete(sample)
            rows[number] = sample.family, row
    slopes = [
        tuple(
            slope(guard, name)
            + sum((guard.coefficient(k) * slope(means[k], name) for k in means), Fraction(0))
            for name in names
        )
        for guard in guards
    ]
    kept = None
    if freed is None:
        noise = []
        for guard, own in zip(guards, slopes, strict=True):
            if not any(own):
                continue
            numbers = [(k, outline.samples[k]) for k in guard.samples()]
            sizes = [
                (family, abs(guard.coefficient(k)) * scales[n])
                for k, n in numbers
                if isinstance(family := states.samples[n].family, RealFamily)
            ]
            if not sizes:
                raise _discrete(states.samples[numbers[0][1]])
            noise.append((sizes, own))
        kept = smoothness_of_guards(noise, len(names))
    growth: list[int | None] = []
    for axis in range(len(names)):
        along = [row[axis] for row in slopes]
        grows, falls = max(along, default=0) <= 0, min(along, default=0) >= 0
        growth.append(0 if grows and falls else 1 if grows else -1 if falls else None)
    shifted = bool(shifts) or around != means
    return _State(rows, shifted, growth, kept, not any(map(sum, slopes)))


def _around_kinks(
    guards: Sequence[LinearForm], means: Mapping[int, LinearForm], families: Mapping[int, Family]
) -> dict[int, LinearForm]:
    """Return means that make the guards as likely, for all inputs, such that noise with a kink does
    not move, where that is possible: all that is compared with it moves the other way.

    That is possible where guards are about differences alone, none of integers, and one form of the
    inputs moves all noise with kinks.
    """
    found, waiting = dict(means), list(guards)
    while waiting:
        part, met = [waiting.pop()], set[int]()
        for guard in part:  # which grows
            met.update(guard.samples())
            part += [each for each in waiting if not met.isdisjoint(each.samples())]
            waiting = [each for each in waiting if met.isdisjoint(each.samples())]
        own = {k: family for k in met if isinstance(family := families[k], RealFamily)}
        moves = {
            means[k] - LinearForm.constant_form(means[k].constant)
            for k, family in own.items()
            if family.has_kink
        }
        differences = not any(sum(c for k, c in guard.terms if k in own) for guard in part)
        if len(own) == len(met) and len(moves) == 1 and differences:
            (move,) = moves
            found.update({k: means[k] - move for k in met})
    return found


def _discrete(sample: Sample) -> OutOfReach:
    where = "" if sample.line is None else f"line {sample.line}: "
    return OutOfReach(f"{where}{sample.family.name} noise around real inputs has only integers")


def _joined(states: Sequence[_State], inputs: int) -> Movement:
    """Return one bound for all states of an output, which are disjoint, or one for each."""
    whole: dict[int, Row] = {}
    for each in states:
        whole.update(each.rows)
    axes = tuple(k for k in range(inputs) if any(each.growth[k] != 0 for each in states))

    def own(rows: dict[int, Row]) -> list[Row]:
        return [(family, tuple(row[axis] for axis in axes)) for family, row in rows.values()]

    signs = [{each.growth[axis] for each in states} - {0} for axis in axes]
    growth = tuple((own.pop() if len(own) == 1 else None) or 0 for own in signs)
    # The samples of different states are moved in different ways: their bounds add up.
    apart = any(each.shifted or each.kept is not None for each in states)
    parts = [own(each.rows) for each in states] if apart else [own(whole)][: len(states)]
    found = [
        smoothness_of_means(part, len(axes))
        if each.kept is None
        else Smoothness(tuple(each.kept.steep[axis] for axis in axes), None, None)
        for part, each in zip(parts, states, strict=False)
    ]
    smooth = reduce(add, found) if found else smoothness_of_means([], len(axes))
    analytic = None
    if all(each.kept is None for each in states) and all(
        family.strip != 0 for part in parts for family, _ in part
    ):
        analytic = tuple(map(tuple, parts))
    return Movement(axes, analytic, smooth, growth, all(each.still for each in states))


_BITS = 48  # τ is about 2^-_BITS: less than what a claimed δ is usually wanted to


def with_ends(states: FinalStates, eps: Fraction) -> tuple[FinalStates, Fraction]:
    """Bound the real inputs that have no bounds.

    Returns:
        The same states of a program whose real inputs have bounds, and at most by how much, in
        total variation, the outputs' law at any inputs differs from that at clamped ones.

    Raises:
        OutOfReach: If a guard is about several inputs without bounds, or of noise with no tails
            known here.
    """
    cells = states.program.inputs
    free = {cell.name for cell in cells if is_free(cell)}
    if not free:
        return states, Fraction(0)
    largest = _largest_of(states, eps)
    if largest is not None:
        return largest
    ranges: dict[str, Interval] = {}
    for cell in cells:
        if isinstance(cell.domain, AllReals):
            ranges[cell.name] = cell.domain.bounds or _NOWHERE
        else:  # named values are compared with no sample
            values = [value for value in cell.domain if isinstance(value, Fraction)]
            ranges[cell.name] = (min(values), max(values)) if values else _NOWHERE
    ends: dict[str, Interval] = {}
    moved = Fraction(0)
    for form, samples in _guards(states, eps):
        names = free.intersection(form.inputs())
        if not names:
            continue
        if len(names) > 1:
            two = " and ".join(sorted(names)[:2])
            raise OutOfReach(f"inputs without bounds, {two}, are compared with each other")
        (name,) = names
        slope = form.coefficient(name)
        low, high = form.at({name: Fraction(0)}).extent(lambda cell: ranges[str(cell)])
        enough = sum((abs(size) * _far(family) for family, size in samples), Fraction(0))
        if slope < 0:
            slope, low, high = -slope, -high, -low
        own = (-enough - high) / slope, (enough - low) / slope
        known = ends.get(name, own)
        ends[name] = min(known[0], own[0]), max(known[1], own[1])
        moved += Fraction(len(samples), 2**_BITS)
    return _between(states, {name: ends.get(name, _NOWHERE) for name in free}), moved


def _between(states: FinalStates, ends: Mapping[str, Interval]) -> FinalStates:
    """Return the states of a program with bounds for some real inputs, rounded outward."""

    def rounded(low: Fraction, high: Fraction) -> Interval:
        """Short numbers around two ends: integers, if they are not too near for these."""
        unit = Fraction(1)
        while low < high < low + 16 * unit and high < low + 1:
            unit /= 2
        return (low / unit).__floor__() * unit, (high / unit).__ceil__() * unit

    inputs = tuple(
        replace(cell, domain=AllReals(rounded(*ends[cell.name]))) if cell.name in ends else cell
        for cell in states.program.inputs
    )
    return replace(states, program=replace(states.program, inputs=inputs))


def _largest_of(states: FinalStates, eps: Fraction) -> tuple[FinalStates, Fraction] | None:
    """See `with_ends`, where outputs tell which of all noisy inputs is the largest; else None."""
    cells, adjacency = states.program.inputs, states.program.adjacency
    if isinstance(adjacency, Everyone):
        radius = Fraction(0)
    elif isinstance(adjacency, Within) and adjacency.norm not in (Norm.L0, Norm.L1):
        radius = adjacency.radius
    else:
        return None
    if not all(map(is_free, cells)) or states.choices:
        return None
    instantiator = Instantiator(states, eps)
    outlines, count = instantiator.outlines, len(cells)
    numbers = {number for outline in outlines for number in outline.samples}
    means = {states.samples[number].mean for number in numbers}
    if len(numbers) != count or means != {LinearForm.symbol(cell.name) for cell in cells}:
        return None
    winners = {_winner(outline, count) for outline in outlines}
    if None in winners or len(winners) != count or len(outlines) != count:
        return None
    far = (_far(states.samples[k].family) * instantiator.scales[k] for k in numbers)
    ends = -2 * max(far) - radius, radius
    return _between(states, {cell.name: ends for cell in cells}), Fraction(count, 2**_BITS)


def _winner(outline: Outline, count: int) -> int | None:
    """Return the number of the sample that is above all others in a state; None for no such one."""
    lower, upper = set[int](), set[int]()
    for guard in outline.guards:
        if guard.constant or guard.inputs() or len(guard.terms) != 2:
            return None
        for local in guard.samples():
            # form <= 0: what has a negative coefficient is above.
            (lower if guard.coefficient(local) > 0 else upper).add(outline.samples[local])
        if sum((guard.coefficient(local) for local in guard.samples()), Fraction(0)):
            return None
    alone = len(upper) == 1 and len(lower) == count - 1 == len(outline.guards)
    return upper.pop() if alone else None


_NOWHERE = Fraction(0), Fraction(0)  # for an input that no guard mentions


def is_free(cell: Cell) -> bool:
    """Whether an input is real and has no bounds."""
    return isinstance(cell.domain, AllReals) and cell.domain.bounds is None


_Noise = tuple[tuple[Family, Fraction], ...]
"""The family of every sample, and its coefficient times its scale."""


def _guards(states: FinalStates, eps: Fraction) -> list[tuple[LinearForm, _Noise]]:
    """Return the distinct guards: their means as forms over inputs, and their noise.

    Guards about other samples are other guards, whatever their laws: each has noise that may be far
    out. A guard and the one that holds where it does not are one: the same noise is far out.
    """
    instantiator = Instantiator(states, eps)
    found: dict[tuple[tuple[int, ...], LinearForm, _Noise], None] = {}
    for outline in instantiator.outlines:
        for guard in outline.guards:
            factors = {outline.samples[own]: guard.coefficient(own) for own in guard.samples()}
            numbers = tuple(sorted(factors))
            sign = -1 if numbers and factors[numbers[0]] < 0 else 1
            inputs = tuple(term for term in guard.terms if isinstance(term[0], str))
            mean = LinearForm(inputs, guard.constant)
            for number, factor in factors.items():
                mean = mean + states.samples[number].mean.scaled(factor)
            noise = tuple(
                (states.samples[k].family, sign * factors[k] * instantiator.scales[k])
                for k in numbers
            )
            found[numbers, mean.scaled(Fraction(sign)), noise] = None
    return [(mean, noise) for _, mean, noise in found]


def _far(family: Family) -> Fraction:
    """Return t such that standard noise is beyond, on one side, with at most 2^-_BITS."""
    if not isinstance(family, RealFamily):
        raise OutOfReach(f"{family.name} noise around inputs without bounds")
    return max(cutoff(family, side, _BITS) for side in BOTH_SIDES)
