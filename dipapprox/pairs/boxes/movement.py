"""How the probabilities of outputs move with real inputs, read from the guards of final states.

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
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import reduce
from operator import add

import numpy as np
from numpy.typing import NDArray

from dipapprox.data_classes import Record
from dipapprox.errors import LimitReached
from dipapprox.events.instantiate import Instantiator, Outline, without_inputs
from dipapprox.laws.family import Family, RealFamily
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.interpolation.analytic import Row
from dipapprox.numerics.interpolation.analytic import State as Strips
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
        """Return the signs of P_S for a set S of outputs, 0 where none is known (`regions`)."""
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
