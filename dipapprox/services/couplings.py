"""Outcomes of two runs that show the same, paired.

The order of the outcomes is that in which they come about, so equal choices meet.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from dipapprox.exponentials import ExponentialRatio
from dipapprox.services.model import Outcome, Step
from dipapprox.services.ratios import Gain


def by_label(step: Step) -> dict[tuple[object, ...], Step]:
    """Group outcomes by what they show."""
    found: dict[tuple[object, ...], list[Outcome]] = defaultdict(list)
    for outcome in step:
        found[outcome.label].append(outcome)
    return {label: tuple(outcomes) for label, outcomes in found.items()}


def paired(
    left: Step, right: Step, gain: Callable[[ExponentialRatio, ExponentialRatio], Gain]
) -> Iterator[tuple[Outcome, Outcome, Gain]]:
    """Pair outcomes with equal replies, as the lemma allows."""
    if len(left) == 1 == len(right):
        yield left[0], right[0], gain(left[0].probability, right[0].probability)
        return
    ours = {outcome.state: outcome for outcome in left}
    theirs = {outcome.state: outcome for outcome in right}
    if len(ours) == len(left) and len(theirs) == len(right) and ours.keys() == theirs.keys():
        pairs = [(outcome, theirs[state]) for state, outcome in ours.items()]
    elif len(left) == len(right):
        pairs = list(zip(left, right, strict=True))
    else:
        whole = gain(_total(left), _total(right))
        for one in left:
            for other in right:
                yield one, other, whole
        return
    for one, other in pairs:
        yield one, other, gain(one.probability, other.probability)


def _total(step: Step) -> ExponentialRatio:
    total = ExponentialRatio.constant(0)
    for outcome in step:
        total = total + outcome.probability
    return total
