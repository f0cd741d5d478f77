"""Numbers that are clamped, or told by thresholds: pairs that need most for δ = 0.

**Theorem.** Let y = noise + m(u), the noise of a log-concave density > 0, m linear, and let what is
told of y be h(y), such that {h = v} is an interval for every v: y itself, clamped, or where it lies
among thresholds. For m > m' the likelihood ratio of y does not fall as y grows, so that of h, a
mean of it on {h = v}, is largest at the top: where h is the same above some t, it is the quotient
S(t - m) / S(t - m') for the tail S of the noise; else its limit for t → ∞. log S is concave, too
(Prékopa): it does not fall as m grows, nor as m' falls, nor as both fall together. So of the pairs
of an input in [lo, hi] that move m up by at most c, (lo + c, lo) needs most; if m falls as the
input grows, it is (hi - c, hi). For m < m' all is mirrored: these two change places.

Of several inputs in y, each of which may be anywhere whatever the others are, each is to be so, by
the sign of its coefficient. Several numbers of independent noise lose the sum of what each loses;
all are at their largest together if no input is in two of them, or these have no other inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, groupby, pairwise, product
from typing import TypeGuard

from dipapprox.errors import LimitReached, UserError
from dipapprox.events.intervals import EVERYWHERE, Interval, common, mapped
from dipapprox.language.core import Value
from dipapprox.linear.form import LinearForm
from dipapprox.pairs.boxes.cells import pairs_of
from dipapprox.pairs.boxes.polygons import Point, Polygon
from dipapprox.pairs.selections import Pair
from dipapprox.semantics.state import FinalStates, guards_of

_Told = LinearForm | Value  # what a state publishes: a number, or a label


def dearest_pairs(states: FinalStates) -> list[Pair]:
    """Return pairs of real inputs of which one needs the largest pure budget; none if not known."""
    try:
        roots = pairs_of(states.program)
    except (LimitReached, UserError):
        return []  # inputs without bounds, say
    if any(root.is_bound for root in roots) or not _tells_intervals(states):
        return []
    pairs = (
        root.pair(corners) for root in roots for corners in product(*map(_furthest, root.polygons))
    )
    return [pair for pair in dict.fromkeys(pairs) if pair[0] != pair[1]]


def _furthest(polygon: Polygon) -> Iterator[Point]:
    """Yield the largest change up, from the least value, and down, from the greatest."""
    most = max(x - y for x, y in polygon)
    least = min(x - y for x, y in polygon)
    yield min(corner for corner in polygon if corner[0] - corner[1] == most)
    yield max(corner for corner in polygon if corner[0] - corner[1] == least)


def _tells_intervals(states: FinalStates) -> bool:
    """Whether the theorem covers a program."""
    every = states.states
    if states.choices or states.comparisons or any(state.conditions for state in every):
        return False
    guards = [[guard.form for guard in guards_of(state.path)] for state in every]
    forms = [form for own in guards for form in own]
    forms += [form for state in every for form in state.reals if not form.is_constant]
    numbers = list(dict.fromkeys(map(_number, forms)))
    used = [sample for number in numbers for sample in number.samples()]
    if len(used) != len(set(used)) or any(states.samples[k].family.is_discrete for k in used):
        return False
    # Quotients of tails that may both be 0 do not fall.
    if any(all(len(states.samples[k].family.sides) < 2 for k in own.samples()) for own in numbers):
        return False
    means = [set(mean_of(states, number).inputs()) for number in numbers]
    if any(form.inputs() for form in forms) or any(
        one & two and len(one | two) > 1 for one, two in combinations(means, 2)
    ):
        return False
    columns = list(zip(*((*state.outputs, *state.reals) for state in every), strict=True))
    for number in numbers:
        where = [_within(own, number) for own in guards]
        pieces = sorted(set(where), key=lambda own: (own[0] is not None, own[0] or Fraction(0)))
        if not _are_apart(pieces):
            return False
        own = [each for each in columns if _is_told_by(number, where, each)]
        told = [dict(zip(where, each, strict=True)) for each in own]
        if not all(_is_in_intervals(pieces, each) for each in told):
            return False
        columns = [each for each in columns if each not in own]
    return not columns


def _is_told_by(number: LinearForm, where: Sequence[Interval], column: Sequence[_Told]) -> bool:
    """Whether what states publish depends on the interval that a number lies in, and on it."""
    known = dict(zip(where, column, strict=True))
    return all(
        known[own] == told and (not _is_number(told) or _number(told) == number)
        for own, told in zip(where, column, strict=True)
    )


def _is_number(told: _Told) -> TypeGuard[LinearForm]:
    return isinstance(told, LinearForm) and not told.is_constant


def _is_in_intervals(pieces: Sequence[Interval], told: Mapping[Interval, _Told]) -> bool:
    """Whether what is told is the same on intervals only: labels once each, numbers in order."""
    if not any(map(_is_number, told.values())):
        labels = [label for label, _ in groupby(told[each] for each in pieces)]
        return len(labels) == len(set(labels))
    return any(_rises([(each, told[each]) for each in pieces], sign) for sign in (1, -1))


def _rises(pieces: Sequence[tuple[Interval, _Told]], sign: int) -> bool:
    """Whether what is told, times a sign, does not fall as the number grows."""
    ends: list[Interval] = []
    for where, told in pieces:
        assert isinstance(told, LinearForm)
        constant = sign * told.constant
        factor = Fraction(0) if told.is_constant else sign * told.terms[0][1]
        if factor < 0:
            return False
        ends.append(mapped(where, factor, constant) if factor else (constant, constant))
    return _are_apart(ends)


def _are_apart(intervals: Sequence[Interval]) -> bool:
    """Whether each interval ends before the next one begins."""
    ends = [(one[1], two[0]) for one, two in pairwise(intervals)]
    return all(high is not None and low is not None and high <= low for high, low in ends)


def _number(form: LinearForm) -> LinearForm:
    """Return the sum of samples in a form, such that multiples have the same."""
    unit = form - LinearForm.constant_form(form.constant)
    return unit.scaled(1 / unit.terms[0][1])


def mean_of(states: FinalStates, number: LinearForm) -> LinearForm:
    """Return the mean of a sum of samples, which is a form over inputs."""
    found = LinearForm.constant_form(Fraction(0))
    for k in number.samples():
        found = found + states.samples[k].mean.scaled(number.coefficient(k))
    return found


def _within(guards: Sequence[LinearForm], number: LinearForm) -> Interval:
    """Return where a number lies if guards hold."""
    found = EVERYWHERE
    for form in guards:
        if _number(form) == number:
            c = form.terms[0][1]
            end = -form.constant / c
            found = common(found, (None, end) if c > 0 else (end, None))
    return found
