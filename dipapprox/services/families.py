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

Families of relations as JSON files: `prove --families`.

    {"step": 2, "steps": 1, "equal": true,
     "families": [{"state": [1, 0, 0], "data": 1, "levels": [[], [[[1, 0, 0], [1, 1, 1]]]]}]}

A state is the values of the cells in the order of their declaration; levels are rel[0], …,
rel[steps], lists of pairs of states. Without "state" and "data" a family is for all others. "equal"
adds every state with itself. Or each pair has a budget of its own, at most that of the whole:

    {"budget": 2, "equal": true, "families": [{"budgets": [[[1, 0, 0], [1, 1, 1], 2]]}]}

What given families prove of a service, or what is wrong with them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated, ClassVar

from msgspec import UNSET, Meta, Struct, UnsetType, ValidationError, convert
from msgspec import field as json_field

from dipapprox.data_classes import Record, field, replace
from dipapprox.errors import EarlyEnd, NoCertificate, UserError, complaint
from dipapprox.flows import Arc, maximum_flow
from dipapprox.language.core import Cell, Value
from dipapprox.language.domains import admits, exact_rational
from dipapprox.language.load import read_text
from dipapprox.language.services import Change, Service
from dipapprox.limits import check_limits
from dipapprox.privacy.description import count
from dipapprox.privacy.run import Replayed
from dipapprox.proofs.budget_answer import budget_text
from dipapprox.services.loss import Loss
from dipapprox.services.model import AskedService, Call, CallOutcome, Replied, State, row_text
from dipapprox.services.service_proof import ServiceProof, fields_of, users_of
from dipapprox.services.system import System


class Budgets(Record):
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


class Families(Record):
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


class Rejection(Record):
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
    checked: dict[int, Rejection | None] = {}
    data = [call for call in system.calls if call.is_data]
    for state in system.reachable():
        for call in data:
            check_limits()
            (value,) = call.values
            family = families.of(state, value)
            if family is None:
                return Rejection("no family", state, value)
            for outcome in system.step(state, call):
                if not family.covers(state, outcome.state, families.total):
                    pair = state, outcome.state
                    return Rejection("the covering pair is missing", state, value, pair)
            if id(family) not in checked:
                checked[id(family)] = check_pairs(system, family)
            found = checked[id(family)]
            if found is not None:
                return replace(found, state=state, data=value)
    return None


def check_pairs(system: System, family: Budgets) -> Rejection | None:
    """Return what is wrong with the first pair of a family that does not hold; None if all do."""
    for pair in sorted(family.values, key=str):
        check_limits()
        for call in system.calls:
            missing = _unmatched(system, family, pair, call)
            if missing:
                replies = tuple(outcome.reply for outcome in missing)
                budget = family.values[pair]
                return Rejection(_TOO_LITTLE, None, None, pair, budget, call, replies)
    return None


def _unmatched(
    system: System, family: Budgets, pair: tuple[State, State], call: Call
) -> Sequence[CallOutcome]:
    """Return outcomes of the first run with too few matches; none if all are matched."""
    left, right = (system.step(state, call) for state in pair)
    budget = family.values[pair]

    def fit(one: CallOutcome, other: CallOutcome) -> bool:
        after = family.of(one.state, other.state)
        share = None if after is None else _share(system, one, other, call)
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


def _share(system: System, one: CallOutcome, other: CallOutcome, call: Call) -> Fraction | None:
    """Return what it costs to match two outcomes, in eps; None if they show other replies."""
    cost = Fraction(0)
    if system.sees(call):
        if one.label != other.label:
            return None
        for ours, theirs in zip(one.samples, other.samples, strict=True):
            cost += abs(ours.mean.constant - theirs.mean.constant) / ours.scale
    forth = system.gain(one.probability, other.probability).upper
    back = system.gain(other.probability, one.probability).upper
    return None if forth is None or back is None else cost + max(forth, back)


_TOO_LITTLE = "the replies cannot be matched within what the pair may lose"


_LARGEST = 50 * 2**20  # bytes
_Row = list[object]


class _Named(Struct, forbid_unknown_fields=True, kw_only=True):
    state: _Row | UnsetType = UNSET
    data: object = UNSET


class _Levels(_Named, kw_only=True):
    levels: list[list[tuple[_Row, _Row]]]


class _Pairs(_Named, kw_only=True):
    budgets: list[tuple[_Row, _Row, object]]


class _InLevels(Struct, forbid_unknown_fields=True):
    step: object
    steps: Annotated[int, Meta(ge=0, le=1000)]
    families: list[_Levels]
    equal: bool = False


class _InPairs(Struct, forbid_unknown_fields=True):
    step: object = json_field(name="budget")
    families: list[_Pairs]
    equal: bool = False
    steps: ClassVar[int] = 1


def read_families(path: Path, service: Service) -> Families:
    """Read a file of families; `UserError` if it is malformed, or does not suit the service."""
    try:
        content = json.loads(read_text(path, _LARGEST), parse_float=str)
        parts = isinstance(content, dict) and "budget" in content
        kind: type[_InPairs | _InLevels] = _InPairs if parts else _InLevels
        return _families(convert(content, kind), service, f"{path}: $")
    except ValidationError as error:
        raise UserError(f"{path}: {complaint(str(error))}") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"'{path}' is not JSON: {error}") from None


def _families(said: _InLevels | _InPairs, service: Service, file: str) -> Families:
    parts, steps = isinstance(said, _InPairs), said.steps
    at = f"{file}.{'budget' if parts else 'step'}"
    step = exact_rational(said.step, at)
    if step < 0 or (step == 0 and not parts):
        raise UserError(f"{at}: expected a number >{'=' if parts else ''} 0")
    common: Budgets | None = None
    named: dict[tuple[State, Value], Budgets] = {}
    cells = [state.cell for state in service.states]
    listed: Sequence[_Levels | _Pairs] = said.families
    for place, each in enumerate(listed):
        where = f"{file}.families[{place}]"
        values: dict[tuple[State, State], Fraction] = {}
        for at, first, second, may_lose in _rows(each, step, steps, where):
            number = exact_rational(may_lose, f"{at}[2]")
            if number < 0:
                raise UserError(f"{at}[2]: expected a number >= 0")
            pair = _state(first, cells, at), _state(second, cells, at)
            if parts and pair in values:
                raise UserError(f"{at}: this pair has a budget already")
            values.setdefault(pair, number)
        family = Budgets(values, said.equal)
        if (each.state is UNSET) != (each.data is UNSET):
            raise UserError(f"{where}: expected both a state and data, or neither")
        if each.state is not UNSET:
            data = _value(each.data, service.data.arguments[0], f"{where}.data")
            named[_state(each.state, cells, f"{where}.state"), data] = family
        elif common is None:
            common = family
        else:
            raise UserError(f"{where}: there is a family for all others already")
    return Families(step, steps, common, named)


def _rows(
    family: _Levels | _Pairs, step: Fraction, steps: int, where: str
) -> Iterator[tuple[str, _Row, _Row, object]]:
    """Yield where pairs stand, and what they may lose: steps as of the least level that they are
    in, which comes first."""
    if isinstance(family, _Pairs):
        for place, row in enumerate(family.budgets):
            yield f"{where}.budgets[{place}]", *row
        return
    if len(family.levels) != steps + 1:
        raise UserError(f"{where}.levels: expected {steps + 1}, got {len(family.levels)}")
    for level, relation in enumerate(family.levels):
        for place, pair in enumerate(relation):
            yield f"{where}.levels[{level}][{place}]", *pair, step * level


def _state(given: _Row, cells: Sequence[Cell], where: str) -> State:
    if len(given) != len(cells):
        raise UserError(f"{where}: expected {len(cells)} values, got {len(given)}")
    return tuple([_value(value, cell, where) for value, cell in zip(given, cells, strict=True)])


def _value(given: object, cell: Cell, where: str) -> Value:
    value: Value
    if isinstance(given, bool):
        value = "true" if given else "false"
    elif isinstance(given, str) and admits(cell.domain, given):
        value = given
    else:
        value = exact_rational(given, where)
    if not admits(cell.domain, value):
        raise UserError(f"{where}: {value} is not in the domain of '{cell.name}'")
    return value


class FamilyProof(ServiceProof, kw_only=True):
    """The answer to: do these families prove that the service is private? Unknown if they do not.

    Its loss is what they prove.
    """

    families: Families = field(repr=False)
    # The first thing that is not as it should be; None if the families were accepted, or not all
    # was checked.
    rejection: Rejection | None

    def replay(self) -> Replayed:
        """Refuse; see `BudgetAnswer.replay`."""
        raise NoCertificate("it has no rules for such answers")

    def _where(self) -> str:
        return f"{self._epsilons()}, by the given families"

    def _facts(self) -> Iterable[tuple[str, str | None]]:
        families, found = self.families, self.rejection
        yield "families", f"{count(families.steps, 'step')} of {budget_text(families.step)}"
        if found is None:
            return
        replies = "; ".join(row_text(reply) for reply in found.unmatched)
        yield "family", f"of {row_text(found.state or ())}, data {found.data}"
        yield "pair", None if found.pair is None else " and ".join(map(row_text, found.pair))
        yield "may lose", None if found.budget is None else budget_text(found.budget)
        yield "call", None if found.call is None else found.call.text()
        yield "replies", f"too few matches for {replies}" if replies else None


def prove_families(
    service: Service,
    families: Families,
    budget: Fraction | None,
    users: tuple[str, ...],
    eps: Fraction | None = None,
) -> FamilyProof:
    """Check families of relations.

    Args:
        users: Whose queries and replies are seen; empty: everybody's.

    Raises:
        UserError: If the service has two data calls that differ in more than one being there.
        SourceError: If a handler does something meaningless in a state that calls lead to.
    """
    begun = time.monotonic()
    asked = AskedService(service, eps, users_of(service, users))
    rejection: Rejection | None = None
    ended = ""
    if service.change is not Change.INSERT:
        ended = "families are about one data call more, 'adjacent insert'"
    else:
        with EarlyEnd() as end:
            rejection = check_families(System(asked), families)
        ended = end.reason or ended
    if rejection is not None:
        ended = f"the families are rejected: {rejection.reason}"
    found = fields_of(
        asked, Loss(upper=None if ended else families.total, reason=ended), budget, begun
    )
    if not ended and budget is not None and budget < families.total:
        found["reason"] = f"the families prove {budget_text(families.total)} only"
    found["quotient_states"] = None  # no pairs are explored for their own sake
    return FamilyProof(families=families, rejection=rejection, **found)
