"""Outcomes of two runs that show the same, paired.

The order of the outcomes is that in which they come about, so equal choices meet.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import TypeVar

from dipapprox.exponentials import ExponentialRatio
from dipapprox.services.model import CallOutcome, Step
from dipapprox.services.ratios import Gain

T = TypeVar("T")


def by_label(step: Step) -> dict[tuple[object, ...], Step]:
    """Group outcomes by what they show."""
    found: dict[tuple[object, ...], list[CallOutcome]] = defaultdict(list)
    for outcome in step:
        found[outcome.label].append(outcome)
    return {label: tuple(outcomes) for label, outcomes in found.items()}


def matched(
    left: Sequence[T], right: Sequence[T], state: Callable[[T], object]
) -> list[tuple[Sequence[T], Sequence[T]]]:
    """Match ways of two runs to show the same, as the lemma of `pairs` allows: those that lead to
    the same states, those that come about alike, or all with all."""
    ours, theirs = ({state(each): each for each in side} for side in (left, right))
    if len(ours) == len(left) and len(theirs) == len(right) and ours.keys() == theirs.keys():
        return [((each,), (theirs[key],)) for key, each in ours.items()]
    if len(left) == len(right):
        return [((one,), (other,)) for one, other in zip(left, right, strict=True)]
    return [(left, right)]


def paired(
    left: Step, right: Step, gain: Callable[[ExponentialRatio, ExponentialRatio], Gain]
) -> Iterator[tuple[CallOutcome, CallOutcome, Gain]]:
    """Pair outcomes that show the same."""
    if len(left) == 1 == len(right):
        yield left[0], right[0], gain(left[0].probability, right[0].probability)
        return
    for ours, theirs in matched(left, right, lambda outcome: outcome.state):
        found = gain(_total(ours), _total(theirs))
        for one, other in product(ours, theirs):
            yield one, other, found


def _total(outcomes: Sequence[CallOutcome]) -> ExponentialRatio:
    first, *others = outcomes
    total = first.probability
    for outcome in others:
        total = total + outcome.probability
    return total
