"""One course of calls and replies, its exact probabilities in two runs, whatever was abstracted.

All cells have values here, and the distribution over states that replies leave open is carried
along. So what a trace shows is a lower bound of the loss, however it was found.

Numbers that Laplace noise shows have densities. What they stand for are the events that such
numbers, up to h, were shown: their probabilities are the densities times h^*order*, as h vanishes,
the order being how many such numbers there are, and a run with ways of several orders is as likely
as those of the least. As densities are continuous, quotients of densities of equal order are
limits of quotients of probabilities of these events, and no smaller budget serves them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import product

from dipapprox.data_classes import Record, replace
from dipapprox.exact.signs.values import sign_at
from dipapprox.exponentials import ExponentialRatio
from dipapprox.language.core import Value
from dipapprox.laws.family import RealFamily
from dipapprox.limits import check_limits
from dipapprox.services.model import (
    Call,
    CallOutcome,
    Published,
    State,
    may_show,
    shown_probability,
)
from dipapprox.services.ratios import Gain
from dipapprox.services.system import System

Reply = tuple[Value | None, ...]  # values of the reply cells
Belief = dict[State, ExponentialRatio]
"""The probability to have got here, for each state; the states of one run."""


class SeenCall(Record):
    """A call and what the examiner sees of it."""

    first: Call | None  # the call in the first run; None if there is none
    second: Call | None
    reply: Reply | None  # what both answer; None if it is not seen


Trace = tuple[SeenCall, ...]  # a course of calls and replies in two runs


class Runs(Record, eq=False):
    """The two runs of a trace, with values for all cells.

    `orders` is how many densities their probabilities have for factors.
    """

    system: System
    first: Belief
    second: Belief
    orders: tuple[int, int] = (0, 0)

    @property
    def are_known(self) -> bool:
        """Whether replies tell in which state each of the two is."""
        return len(self.first) == 1 == len(self.second)

    def after(self, *events: SeenCall) -> Runs:
        """Return the runs when both have answered."""
        first, second, (ours, theirs) = self.first, self.second, self.orders
        for event in events:
            check_limits()
            first, ours = self._after(first, ours, event.first, event.reply)
            second, theirs = self._after(second, theirs, event.second, event.reply)
        return Runs(self.system, first, second, (ours, theirs))

    def _after(
        self, belief: Belief, before: int, call: Call | None, reply: Reply | None
    ) -> tuple[Belief, int]:
        if call is None:
            return belief, before
        found: dict[int, Belief] = {}
        for state, weight in belief.items():
            for outcome in self.system.step(state, call):
                chance = _probability(outcome, reply)
                if chance is None:
                    continue
                order, factor = chance
                total = weight * factor
                there = found.setdefault(order, {})
                known = there.get(outcome.state)
                there[outcome.state] = total if known is None else known + total
        least = min(found, default=0)
        return found.get(least, {}), before + least

    def gain(self) -> Gain | None:
        """Return how much likelier the first run is, which can answer so; None if the second
        cannot."""
        if not self.first:
            raise ValueError("the first run cannot answer so")
        if not self.second or self.orders[0] != self.orders[1]:
            return None
        return self.system.gain(total_of(self.first), total_of(self.second))

    def is_one_sided(self) -> bool:
        """Whether the first run can answer so, and the second cannot."""
        if not self.first or self.second:
            return False
        eps = self.system.eps
        return eps is None or sign_at(total_of(self.first), eps) > 0


def begun(system: System, first: Iterable[State], second: Iterable[State]) -> Runs:
    """Return runs that begin in given states, each as if certain; without any: nowhere."""
    certainly = ExponentialRatio.constant(1)
    return Runs(system, dict.fromkeys(first, certainly), dict.fromkeys(second, certainly))


def from_start(system: System) -> Runs:
    """Return both runs, with no calls yet."""
    return begun(system, [system.initial], [system.initial])


def total_of(belief: Belief) -> ExponentialRatio:
    return sum(belief.values(), ExponentialRatio.constant(0))


def _probability(outcome: CallOutcome, reply: Reply | None) -> tuple[int, ExponentialRatio] | None:
    """Return the order and probability to show a reply in a certain way; None if it cannot."""
    if reply is None:
        return 0, outcome.probability
    order, chance = 0, outcome.probability
    for shown, value in zip(outcome.reply, reply, strict=True):
        if not isinstance(shown, Published):
            if shown != value:
                return None
            continue
        if not isinstance(value, Fraction) or not may_show(shown, value):
            return None
        order += isinstance(shown.family, RealFamily)
        chance = chance * shown_probability(shown, value)
    return order, chance


def with_best_replies(events: Sequence[SeenCall], runs: Runs) -> tuple[tuple[SeenCall, ...], Runs]:
    """Fill in the published numbers, None in replies, that tell the two runs apart best from where
    they are; return the events, and the runs after them."""
    filled = []
    for event in events:
        if event.reply is not None and None in event.reply and event.first is not None:
            event = replace(event, reply=_best_reply(event.reply, event, runs))
        filled.append(event)
        runs = runs.after(event)
    return tuple(filled), runs


def _best_reply(reply: Reply, event: SeenCall, runs: Runs) -> Reply:
    """Choose among the ends, or the means, what tells most."""
    both = (runs.first, event.first), (runs.second, event.second)
    shown = [each for own in both for each in _alike(*own, reply, runs.system)]
    candidates: list[tuple[Value | None, ...]] = []
    for place, value in enumerate(reply):
        if value is not None:
            candidates.append((value,))
            continue
        samples = [each for own in shown if isinstance(each := own.reply[place], Published)]
        ends = {Fraction(end) for each in samples for end in each.ends or ()}
        numbers = ends or {each.mean.constant for each in samples}
        # Without numbers the calls before do not lead here: such a trace shows nothing.
        candidates.append((min(numbers), max(numbers)) if numbers else (None,))
    best, most = reply, None
    for chosen in dict.fromkeys(product(*candidates)):
        after = runs.after(replace(event, reply=chosen))
        gain = after.gain() if after.first else None
        if gain is not None and (most is None or gain.lower > most):
            best, most = chosen, gain.lower
    return best


def _alike(
    belief: Belief, call: Call | None, reply: Reply, system: System
) -> Iterator[CallOutcome]:
    """Yield outcomes with a reply, but for the numbers of samples."""
    for state in belief:
        for outcome in () if call is None else system.step(state, call):
            if outcome.values == reply:
                yield outcome
