"""What a certificate of a budget states, compared with what the check finds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import assert_never

from dipapprox.certificates.budgets import (
    CellFamily,
    CertificateAgainstBudget,
    CertificateOfBudget,
    HiddenStops,
    JoinedCells,
    RecordedAutomaton,
    RecordedRounds,
    RecordedRun,
    RecordedStructure,
    RecordedWord,
    VectorFamily,
    VisibleStops,
    unseen_stops,
)
from dipapprox.certificates.reading import OfBudget
from dipapprox.checking.budgets.cells import machine_of_cells
from dipapprox.checking.budgets.joined import examine_joined
from dipapprox.checking.budgets.knowledge import NOTHING, Place, follow, moves_from, places
from dipapprox.checking.budgets.machine import (
    STOPPED,
    Machine,
    Move,
    is_total,
    machine_of,
    machine_of_rounds,
    reachable,
)
from dipapprox.checking.budgets.rates import examine_word
from dipapprox.checking.budgets.runs import examine_run
from dipapprox.checking.budgets.structures import examine_structure
from dipapprox.checking.budgets.vectors import examine_family
from dipapprox.checking.claims import BudgetClaim
from dipapprox.checking.partial_result import PartialResult
from dipapprox.digits import brief_text
from dipapprox.errors import UserError
from dipapprox.language.dipa import parse_dipa
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import DPG, parse_program
from dipapprox.limits import Limits
from dipapprox.rounds.compiled import compile_program
from dipapprox.rounds.visible import is_told


def claim_of(record: OfBudget) -> BudgetClaim:
    """Return what a certificate states."""
    caveat = None
    if isinstance(record.stops, HiddenStops) and record.stops.states:
        caveat = unseen_stops(record.stops.states)
    bounds = record.least_budget
    unbounded = record.evidence.structure is not None
    return BudgetClaim(record.claim.budget, bounds.lower, bounds.upper, unbounded, caveat)


def examine_budget(record: OfBudget, partial: PartialResult, limits: Limits) -> None:
    """Examine all that a certificate states about its automaton, or program with rounds.

    Raises:
        Stuck: If numbers are too large.
        LimitReached: If `limits` run out.
    """
    try:
        machine = _machine(record, partial, limits)
    except UserError as error:
        partial.differ("program.text", error.message)
        return
    if machine is not None:
        for where, complaint in _complaints(record, machine, limits):
            partial.differ(where, complaint)


def _machine(record: OfBudget, partial: PartialResult, limits: Limits) -> Machine | None:
    """Read the automaton that a certificate is about; None if what is stated of it is false.

    Raises:
        UserError: If there is none.
    """
    source = record.program
    match source:
        case RecordedAutomaton():
            branches = record.stops.branches if isinstance(record.stops, VisibleStops) else ()
            return machine_of(parse_dipa(source.text, source.name), branches)
        case RecordedRounds():
            parsed = parse_program(source.text, DPG, source.name)
            program = elaborate(parsed, source.params, source.name, for_all=source.for_all)
            if program.parameters != source.params:
                partial.differ("program.params", "they are not those of the program")
                return None
            if program.rounds is None:
                raise UserError("the program has no rounds")
            compiled = compile_program(program, limits)
            if not compiled.factor:
                raise UserError("adjacent inputs are equal")
            partial.shared.append(SHARED)
            return machine_of_rounds(compiled)
        case _:
            assert_never(source)


SHARED = "the automaton that the program is was made as in the proof"


def _complaints(record: OfBudget, machine: Machine, limits: Limits) -> Iterator[tuple[str, str]]:
    evidence, bounds, claimed = record.evidence, record.least_budget, record.claim.budget
    is_program = isinstance(record.program, RecordedRounds)  # where one guard always holds
    stops = None if is_program else _examine_stops(record, machine, limits)
    if stops is not None:
        yield "stops", stops
        return  # all else is about another automaton
    if evidence.upper is not None and bounds.upper is not None:
        upper = bounds.upper / machine.factor
        found = _examine_upper(evidence.upper, upper, machine, limits)
        if found is not None:
            yield "evidence.upper", found
    if evidence.lower is not None:
        found = _examine_lower(evidence.lower, bounds.lower / machine.factor, machine, limits)
        if found is not None:
            yield "evidence.lower", found
    if evidence.structure is not None:
        found = _examine_structure(evidence.structure, machine, limits)
        if found is not None:
            yield "evidence.structure", found
    match record:
        case CertificateOfBudget():
            if claimed is not None and (bounds.upper is None or bounds.upper > claimed):
                yield "verdict", f"{brief_text(claimed)} is not shown to be a budget"
        case CertificateAgainstBudget():
            if evidence.structure is None and (claimed is None or claimed >= bounds.lower):
                yield "verdict", f"{brief_text(claimed)} is not below the lower bound"
        case _:
            assert_never(record)


def _examine_upper(
    family: VectorFamily | CellFamily | JoinedCells,
    bound: Fraction,
    machine: Machine,
    limits: Limits,
) -> str | None:
    match family:
        case VectorFamily():
            return examine_family(machine, family, bound, limits)
        case CellFamily():
            return examine_family(machine_of_cells(machine, limits), family, bound, limits)
        case JoinedCells():
            return examine_joined(machine_of_cells(machine, limits), family, bound, limits)
        case _:
            assert_never(family)


def _examine_lower(
    lower: RecordedRun | RecordedWord, bound: Fraction, machine: Machine, limits: Limits
) -> str | None:
    if machine.unproved:
        return machine.unproved[0]
    match lower:
        case RecordedRun():
            found = examine_run(machine, lower, bound, limits)
            run = [step.step for step in lower.steps]
            return found or (None if _is_told(machine, run, ()) else _NOT_TOLD)
        case RecordedWord():
            if not machine.words:
                return "words of this automaton are none of the program"
            return examine_word(machine, lower, bound, limits)
        case _:
            assert_never(lower)


def _examine_structure(
    structure: RecordedStructure, machine: Machine, limits: Limits
) -> str | None:
    if machine.unproved:
        return machine.unproved[0]
    found = examine_structure(machine, structure, limits)
    if found is not None:
        return found
    run, cycles = list[int](), list[range]()
    for part in structure.parts:
        if part.repeated:
            cycles.append(range(len(run), len(run) + len(part.steps)))
        run += part.steps
    return None if _is_told(machine, run, cycles) else _NOT_TOLD


_NOT_TOLD = "other runs may publish the same"


def _is_told(machine: Machine, run: Sequence[int], cycles: Sequence[range]) -> bool:
    """Whether no other run publishes what a run does, however often its cycles are gone round."""
    if machine.seen is None:
        return True
    start: Place = machine.initial, NOTHING
    return is_told(start, lambda place: moves_from(machine, place), machine.seen, run, cycles)


# --- where no guard holds -------------------------------------------------------------------------


def _examine_stops(record: OfBudget, machine: Machine, limits: Limits) -> str | None:
    match record.stops:
        case VisibleStops():
            return next(
                (
                    f"the branches do not fill what the guards of '{state}' leave out"
                    for state in reachable(machine)
                    if not is_total(machine, state)
                ),
                None,
            )
        case HiddenStops(states=states):
            found = sorted(_stopping(machine, limits))
            return None if found == sorted(states) else f"it may stop in {', '.join(found)}"
        case _:
            assert_never(record.stops)


def _stopping(machine: Machine, limits: Limits) -> Iterator[str]:
    """Yield the states where, for some feasible run, it may be that no guard holds."""
    partial = {state for state in reachable(machine) if not is_total(machine, state)}
    if not partial:
        return
    for state, known in places(machine, limits):
        if state in partial:
            moves = [machine.moves[number] for number in machine.leaving[state]]
            for gap in _gaps(moves, frozenset(), frozenset()):
                if follow(machine, known, gap) is not None:
                    partial.discard(state)
                    yield state
                    break
        if not partial:
            return


def _gaps(moves: list[Move], at_least: frozenset[int], less: frozenset[int]) -> Iterator[Move]:
    """Yield guards for all that none of some guards covers."""
    open_ = [m for m in moves if not (m.at_least & less or m.less & at_least)]
    undecided = [m.compared - at_least - less for m in open_]
    if not open_:
        yield Move("", at_least, less, frozenset(), STOPPED, STOPPED)
    elif all(undecided):  # else some guard holds
        value = min(undecided[0])
        yield from _gaps(open_, at_least | {value}, less)
        yield from _gaps(open_, at_least, less | {value})
