"""Given unwinding families are checked, as Tschantz, Kaynar and Datta do (section 4, repaired).

A family is relations rel[0..t] on states, rel[i] for pairs that may still lose i steps of δ. For a
pair in rel[i] and every call, the outcomes of the two runs are matched one to one, with equal
replies: *free*, with equal probabilities, into rel[i]; else *paid*, each at most e^δ times as
likely as the other, into rel[i - 1]. A family covers a state and a data call if the state before
and the one after are in rel[t]. If every reachable state and data call is covered, the service is
(t δ, 0)-private (theorem 2). A rejected family proves nothing.

Here a query and its reply are one step: the paper's states in between are not needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from dipapprox.data_classes import dataclass
from dipapprox.language.core import Value
from dipapprox.limits import Limits
from dipapprox.services.model import Call, Outcome, State, Step
from dipapprox.services.publishing import signature
from dipapprox.services.reachable import Examiner, reachable_states
from dipapprox.services.system import System

Relation = frozenset[tuple[State, State]]


@dataclass(frozen=True, slots=True)
class Family:
    """Relations by how many steps may still be paid.

    Attributes:
        levels: rel[0], …, rel[t].
        equal: Whether every state is in all relations with itself.
    """

    levels: tuple[Relation, ...]
    equal: bool

    def has(self, level: int, first: State, second: State) -> bool:
        """Whether two states are in a relation."""
        return (self.equal and first == second) or (first, second) in self.levels[level]


@dataclass(frozen=True, slots=True)
class Families:
    """What a file says.

    Attributes:
        step: δ, in eps.
        steps: t.
        common: For all states and data; None if there is none.
        named: For single states and data.
    """

    step: Fraction
    steps: int
    common: Family | None
    named: Mapping[tuple[State, Value], Family]

    def of(self, state: State, data: Value) -> Family | None:
        """Return the family of a state and the data that arrives in it."""
        return self.named.get((state, data), self.common)


@dataclass(frozen=True, slots=True)
class Rejection:
    """The first thing that is not as it should be.

    Attributes:
        reason: What is missing.
        state: Before the data call whose family it is; None for all.
        data: Of that call.
        pair: The related states.
        level: Of the relation.
        call: That cannot be matched.
        unmatched: Replies of the first run whose matches are too few (a Hall violator).
    """

    reason: str
    state: State | None = None
    data: Value | None = None
    pair: tuple[State, State] | None = None
    level: int | None = None
    call: Call | None = None
    unmatched: tuple[tuple[Value | None, ...], ...] = ()


def check_families(
    system: System, families: Families, examiner: Examiner, limits: Limits
) -> Rejection | None:
    """Check that families cover everything; None if they do.

    Args:
        system: With values for all cells.
        families: As given.
        examiner: Who looks.
        limits: Asked often.

    Raises:
        LimitReached: If a limit is reached.
        SourceError, UserError, Inexpressible: See `System.step`.
    """
    checked: dict[int, Rejection | None] = {}
    data = [call for call in system.calls if call.is_data]
    for state in reachable_states(system, limits):
        for call in data:
            limits.check()
            (value,) = call.values
            family = families.of(state, value)
            if family is None:
                return Rejection("no family", state, value)
            for outcome in system.step(state, call):
                if not family.has(families.steps, state, outcome.state):
                    pair = state, outcome.state
                    return Rejection("the covering pair is missing", state, value, pair)
            if id(family) not in checked:
                check = FamilyCheck(system, family, families.step, examiner, limits)
                checked[id(family)] = check.run()
            found = checked[id(family)]
            if found is not None:
                return Rejection(
                    found.reason, state, value, found.pair, found.level, found.call,
                    found.unmatched,
                )  # fmt: skip
    return None


class FamilyCheck:
    """The check of the pairs of one family.

    Args:
        system: With values for all cells.
        family: The relations.
        step: δ, in eps.
        examiner: Who looks.
        limits: Asked often.
    """

    def __init__(
        self,
        system: System,
        family: Family,
        step: Fraction,
        examiner: Examiner,
        limits: Limits,
    ) -> None:
        self.system = system
        self.family = family
        self.step = step
        self.limits = limits
        self.seen = {call: examiner.sees(system, call) for call in system.calls}

    def run(self) -> Rejection | None:
        """Return what is wrong with the first pair that does not hold; None if all do."""
        for level, relation in enumerate(self.family.levels):
            for pair in sorted(relation, key=str):
                self.limits.check()
                for call in self.system.calls:
                    found = self.call(pair, level, call)
                    if found is not None:
                        return found
        return None

    def call(self, pair: tuple[State, State], level: int, call: Call) -> Rejection | None:
        left, right = (self.system.step(state, call) for state in pair)
        if not self.unmatched(left, right, call, level, Fraction(0)):
            return None
        if not level:
            reason = "at level 0 nothing is left to pay with"
            missing = self.unmatched(left, right, call, 0, Fraction(0))
        else:
            reason = "neither free nor for one step can the replies be matched"
            missing = self.unmatched(left, right, call, level - 1, self.step)
            if not missing:
                return None
        shown = tuple(outcome.reply for outcome in missing)
        return Rejection(reason, pair=pair, level=level, call=call, unmatched=shown)

    def unmatched(
        self, left: Step, right: Step, call: Call, level: int, paid: Fraction
    ) -> Sequence[Outcome]:
        """Return outcomes of the first run with too few matches; none if all are matched."""
        edges = [
            [k for k, other in enumerate(right) if self.fit(one, other, call, level, paid)]
            for one in left
        ]
        if len(left) < len(right):
            return left
        partner: dict[int, int] = {}
        for number in range(len(left)):
            reached: set[int] = set()
            if not _augment(number, edges, partner, reached):
                # Hall: what alternating paths reach has fewer matches than members.
                violators = {number} | {partner[k] for k in reached}
                return [left[k] for k in sorted(violators)]
        return ()

    def fit(self, one: Outcome, other: Outcome, call: Call, level: int, paid: Fraction) -> bool:
        """Whether two outcomes may be matched."""
        if not self.family.has(level, one.state, other.state):
            return False
        cost = Fraction(0)
        if self.seen[call]:
            if one.reply != other.reply or signature(one) != signature(other):
                return False
            for ours, theirs in zip(one.published, other.published, strict=True):
                cost += abs(ours.mean.constant - theirs.mean.constant) / ours.scale
        forth = self.system.gain(one.probability, other.probability).upper
        back = self.system.gain(other.probability, one.probability).upper
        return forth is not None and back is not None and cost + max(forth, back) <= paid


def _augment(
    number: int, edges: Sequence[Sequence[int]], partner: dict[int, int], reached: set[int]
) -> bool:
    """Find a match for one more vertex along an alternating path (Kuhn)."""
    for k in edges[number]:
        if k not in reached:
            reached.add(k)
            if k not in partner or _augment(partner[k], edges, partner, reached):
                partner[k] = number
                return True
    return False
