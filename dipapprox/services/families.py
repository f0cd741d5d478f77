"""Given unwinding families are checked, as Tschantz, Kaynar and Datta do (section 4, repaired).

A family in *levels* is relations rel[0..t] on states, rel[i] for pairs that may still lose i steps
of δ. For a pair in rel[i] and every call, the outcomes of the two runs are matched one to one, with
equal replies: *free*, with equal probabilities, into rel[i]; else *paid*, each at most e^δ times as
likely as the other, into rel[i - 1]. A family covers a state and a data call if the state before
and the one after are in rel[t]. If every reachable state and data call is covered, the service is
(t δ, 0)-private (theorem 2). A rejected family proves nothing.

A family of *budgets* gives every pair the b that it may still lose, so R_b is the pairs that may
lose at most b. Each two outcomes that are matched may spend a share c of their own: neither is more
than e^(c eps) times as likely as the other, and their states may still lose b - c at most. The
proof of lemma 1 bounds the sum over the outcomes term by term, and holds for such shares as well.

Here a query and its reply are one step: the paper's states in between are not needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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

    def covers(self, first: State, second: State, total: Fraction) -> bool:
        """Whether two states may lose all that may be lost."""
        return self.has(len(self.levels) - 1, first, second)


@dataclass(frozen=True, slots=True)
class Budgets:
    """What pairs may still lose.

    Attributes:
        values: In eps.
        equal: Whether every state may lose nothing against itself.
    """

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
    """What a file says.

    Attributes:
        step: δ, in eps; for budgets all that may be lost.
        steps: t; for budgets 1.
        common: For all states and data; None if there is none.
        named: For single states and data.
    """

    step: Fraction
    steps: int
    common: Family | Budgets | None
    named: Mapping[tuple[State, Value], Family | Budgets]

    @property
    def total(self) -> Fraction:
        """The budget that they prove if they hold."""
        return self.step * self.steps

    def of(self, state: State, data: Value) -> Family | Budgets | None:
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
        level: Of the relation; None for budgets.
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
                if not family.covers(state, outcome.state, families.total):
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
        step: δ, in eps; not used for budgets.
        examiner: Who looks.
        limits: Asked often.
    """

    def __init__(
        self,
        system: System,
        family: Family | Budgets,
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
        found = (
            self.in_levels(self.family)
            if isinstance(self.family, Family)
            else self.in_budgets(self.family)
        )
        return next((each for each in found if each is not None), None)

    def in_levels(self, family: Family) -> Iterator[Rejection | None]:
        for level, relation in enumerate(family.levels):
            for pair in sorted(relation, key=str):
                self.limits.check()
                for call in self.system.calls:
                    yield self.in_level(family, pair, level, call)

    def in_level(
        self, family: Family, pair: tuple[State, State], level: int, call: Call
    ) -> Rejection | None:
        left, right = (self.system.step(state, call) for state in pair)

        def unmatched(level: int, paid: Fraction) -> Sequence[Outcome]:
            def fit(one: Outcome, other: Outcome) -> bool:
                if not family.has(level, one.state, other.state):
                    return False
                share = self.share(one, other, call)
                return share is not None and share <= paid

            return _unmatched(left, right, fit)

        missing = unmatched(level, Fraction(0))
        if not missing:
            return None
        reason = "at level 0 nothing is left to pay with"
        if level:
            reason = "neither free nor for one step can the replies be matched"
            missing = unmatched(level - 1, self.step)
            if not missing:
                return None
        return Rejection(reason, pair=pair, level=level, call=call, unmatched=_shown(missing))

    def in_budgets(self, family: Budgets) -> Iterator[Rejection | None]:
        for pair in sorted(family.values, key=str):
            self.limits.check()
            for call in self.system.calls:
                yield self.in_budget(family, pair, call)

    def in_budget(self, family: Budgets, pair: tuple[State, State], call: Call) -> Rejection | None:
        left, right = (self.system.step(state, call) for state in pair)

        def fit(one: Outcome, other: Outcome) -> bool:
            after = family.of(one.state, other.state)
            share = None if after is None else self.share(one, other, call)
            return after is not None and share is not None and share + after <= family.values[pair]

        missing = _unmatched(left, right, fit)
        if not missing:
            return None
        reason = "the replies cannot be matched within what the pair may lose"
        return Rejection(reason, pair=pair, call=call, unmatched=_shown(missing))

    def share(self, one: Outcome, other: Outcome, call: Call) -> Fraction | None:
        """Return what it costs to match two outcomes, in eps; None if they show other replies."""
        cost = Fraction(0)
        if self.seen[call]:
            if one.reply != other.reply or signature(one) != signature(other):
                return None
            for ours, theirs in zip(one.published, other.published, strict=True):
                cost += abs(ours.mean.constant - theirs.mean.constant) / ours.scale
        forth = self.system.gain(one.probability, other.probability).upper
        back = self.system.gain(other.probability, one.probability).upper
        return None if forth is None or back is None else cost + max(forth, back)


def _unmatched(
    left: Step, right: Step, fit: Callable[[Outcome, Outcome], bool]
) -> Sequence[Outcome]:
    """Return outcomes of the first run with too few matches; none if all are matched."""
    edges = [[k for k, other in enumerate(right) if fit(one, other)] for one in left]
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


def _shown(missing: Sequence[Outcome]) -> tuple[tuple[Value | None, ...], ...]:
    return tuple(outcome.reply for outcome in missing)


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
