"""Given unwinding families are checked, as Tschantz, Kaynar and Datta do (section 4, repaired).

A family gives related pairs of states the budget b that they may still lose. For a related pair and
every call, the outcomes of the two runs are matched one to one, with equal replies. Each two that
are matched may spend a share c of their own: neither is more than e^(c eps) times as likely as the
other, and their states may still lose b - c at most. A family covers a state and a data call if the
states before and after may lose all of (B, 0) at most; if every reachable state and data call is
covered, the service is (B, 0)-private (theorem 2). A rejected family proves nothing.

The paper has budgets in *levels* of δ, relations rel[0..t], rel[i] for pairs that may still lose
i steps: a pair of rel[i] goes on into rel[i] *free*, with equal probabilities, or *paid* into
rel[i - 1], each outcome at most e^δ times as likely as the other. A pair may then lose δ times the
least i with the pair in rel[i]. What the paper accepts is accepted so: a free share is 0 and leads
to pairs that may lose i δ at most, a paid one is at most δ and leads to (i - 1) δ. So are calls
that are free for some outcomes and paid for others: the proof of lemma 1 bounds the sum over the
outcomes term by term, and holds for such shares as well.

Here a query and its reply are one step: the paper's states in between are not needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from dipapprox.data_classes import dataclass, replace
from dipapprox.flows import Arc, maximum_flow
from dipapprox.language.core import Value
from dipapprox.services.model import Call, CallOutcome, Replied, State
from dipapprox.services.system import System


@dataclass(frozen=True, slots=True)
class Budgets:
    """What pairs may still lose, in eps; if `equal`, 0 for every state against itself."""

    values: Mapping[tuple[State, State], Fraction]
    equal: bool

    def of(self, first: State, second: State) -> Fraction | None:
        """Return what two states may still lose; None if they are not related."""
        if self.equal and first == second:
            return Fraction(0)
        return self.values.get((first, second))

    def covers(self, first: State, second: State, total: Fraction) -> bool:
        """Whether two states may lose no more than all that may be lost."""
        found = self.of(first, second)
        return found is not None and found <= total


@dataclass(frozen=True, slots=True)
class Families:
    """What a file says."""

    step: Fraction  # δ, in eps; without levels all that may be lost
    steps: int  # t; without levels 1
    common: Budgets | None  # for all states and data; None if there is none
    named: Mapping[tuple[State, Value], Budgets]

    @property
    def total(self) -> Fraction:
        """The budget that they prove if they hold."""
        return self.step * self.steps

    def of(self, state: State, data: Value) -> Budgets | None:
        """Return the family of a state and the data that arrives in it."""
        return self.named.get((state, data), self.common)


@dataclass(frozen=True, slots=True)
class Rejection:
    """The first thing that is not as it should be."""

    reason: str
    state: State | None = None  # before the data call whose family it is; None for all
    data: Value | None = None  # of that call
    pair: tuple[State, State] | None = None
    budget: Fraction | None = None  # what they may still lose, in eps
    call: Call | None = None  # that cannot be matched
    # Replies of the first run whose matches are too few (a Hall violator).
    unmatched: tuple[Replied, ...] = ()


def check_families(system: System, families: Families) -> Rejection | None:
    """Check that families cover everything; None if they do."""
    checked: dict[int, Rejection | None] = {}
    data = [call for call in system.calls if call.is_data]
    for state in system.reachable():
        for call in data:
            system.limits.check()
            (value,) = call.values
            family = families.of(state, value)
            if family is None:
                return Rejection("no family", state, value)
            for outcome in system.step(state, call):
                if not family.covers(state, outcome.state, families.total):
                    pair = state, outcome.state
                    return Rejection("the covering pair is missing", state, value, pair)
            if id(family) not in checked:
                checked[id(family)] = FamilyCheck(system, family).run()
            found = checked[id(family)]
            if found is not None:
                return replace(found, state=state, data=value)
    return None


class FamilyCheck:
    """The check of the pairs of one family."""

    def __init__(self, system: System, family: Budgets) -> None:
        self.system, self.family = system, family

    def run(self) -> Rejection | None:
        """Return what is wrong with the first pair that does not hold; None if all do."""
        for pair in sorted(self.family.values, key=str):
            self.system.limits.check()
            for call in self.system.calls:
                missing = self._unmatched(pair, call)
                if missing:
                    replies = tuple(outcome.reply for outcome in missing)
                    budget = self.family.values[pair]
                    return Rejection(_TOO_LITTLE, None, None, pair, budget, call, replies)
        return None

    def _unmatched(self, pair: tuple[State, State], call: Call) -> Sequence[CallOutcome]:
        """Return outcomes of the first run with too few matches; none if all are matched."""
        left, right = (self.system.step(state, call) for state in pair)
        budget = self.family.values[pair]

        def fit(one: CallOutcome, other: CallOutcome) -> bool:
            after = self.family.of(one.state, other.state)
            share = None if after is None else self.share(one, other, call)
            return after is not None and share is not None and share + after <= budget

        if len(left) < len(right):
            return left
        source, sink = len(left) + len(right), len(left) + len(right) + 1
        arcs: list[Arc] = [(source, place, 1) for place in range(len(left))]
        arcs += [(len(left) + place, sink, 1) for place in range(len(right))]
        arcs += [
            (place, len(left) + there, None)
            for place, one in enumerate(left)
            for there, other in enumerate(right)
            if fit(one, other)
        ]
        # Hall: what a least cut leaves on the side of the source has fewer matches than members.
        flow = maximum_flow(sink + 1, arcs, source, sink)
        return [one for place, one in enumerate(left) if flow.reached[place]]

    def share(self, one: CallOutcome, other: CallOutcome, call: Call) -> Fraction | None:
        """Return what it costs to match two outcomes, in eps; None if they show other replies."""
        cost = Fraction(0)
        if self.system.sees(call):
            if one.label != other.label:
                return None
            for ours, theirs in zip(one.samples, other.samples, strict=True):
                cost += abs(ours.mean.constant - theirs.mean.constant) / ours.scale
        forth = self.system.gain(one.probability, other.probability).upper
        back = self.system.gain(other.probability, one.probability).upper
        return None if forth is None or back is None else cost + max(forth, back)


_TOO_LITTLE = "the replies cannot be matched within what the pair may lose"
