"""What claims of budgets are about, as JSON that `kernel.rounds` reads: automata, and any."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from dipapprox.automata.model import Automaton, OutputSample, Transition
from dipapprox.automata.unfolding import steps_before_stops
from dipapprox.errors import NoCertificate
from dipapprox.graphs import bits, strong_components
from dipapprox.language import core
from dipapprox.language.dipa import AutomatonNoise
from dipapprox.proof_steps.machines import Json, number_json, rounds_json

STATE = "state"
"""The cell that holds the number of an automaton's state; what it stores is in other cells."""

INPUT = "next input"  # what automata read
_SAMPLE, _FRESH, _SHOWN = "insample", "insampleprime", "shown"


def machines_of(
    subject: core.Program | Automaton, stops_are_seen: bool, claim: Json
) -> Iterator[dict[str, Json]]:
    """Yield the machines that a claim of a subject's budgets may be about: each says enough.

    It is a program, with rounds or for all real inputs; or an automaton, of which it may be seen
    that no guard holds.
    """
    if isinstance(subject, core.Program):
        yield rounds_json(subject)
        return
    yield automaton_json(subject, stops_are_seen, 0)
    first = first_steps(subject)
    if stops_are_seen:
        if first:
            yield automaton_json(subject, True, first)
        return
    # Steps that do not stop are told by those behind them.
    told = steps_before_stops(subject, first)
    if told:
        yield automaton_json(subject, False, told)
    fields = claim if isinstance(claim, dict) else {}
    serves = fields.get("verdict") == "DP" and fields.get("at least") is None
    if first > told and serves:
        # Who sees stops, and nothing before the first steps are done, sees all that others see, and
        # perhaps more: that no budget serves does not follow for these.
        yield automaton_json(subject, True, first)


def automaton_json(automaton: Automaton, ends: bool, first: int) -> dict[str, Json]:
    """Return an automaton.

    Args:
        ends: Whether it is seen that no guard holds.
        first: How many steps are taken before rounds begin, a step each.
    """
    turns: list[list[Json]] = []
    for state, leaving in zip(automaton.states, automaton.leaving(), strict=True):
        steps = [automaton.transitions[index] for index in leaving]
        turn: list[Json] = []
        if steps and state.compared is not None:
            if state.reads:
                turn.append(["set", ["cell", "input"], ["cell", INPUT]])
            turn.append(_drawn(_SAMPLE, state.compared, state.reads))
            if state.fresh is not None:
                turn.append(_drawn(_FRESH, state.fresh, state.reads))
            turn += _tree(automaton, steps, 0)
        turns.append(turn)
    start: Json = ["set", ["cell", STATE], 0]
    states = _turn_of(turns, 0)
    changes = automaton.changes
    if set(changes) != {1, -1}:
        raise NoCertificate("changes of inputs in one direction")
    shown: dict[str, Json] = {"whenever": [_SHOWN], "first": [], "each": []}
    return {
        "inputs": [[INPUT, {"low": None, "high": None}]],
        "whole": False,
        "adjacency": {"norm": "linf", "radius": 1},
        "body": [start, *states * first],
        "round": states,
        "published": {**shown, "ends": ends, "padding": None},
    }


def _turn_of(turns: Sequence[list[Json]], first: int) -> list[Json]:
    """Return conditions that lead to the turn of a state, by halves: some begin with this one."""
    if len(turns) == 1:
        return turns[0]
    middle = len(turns) // 2
    halves = _turn_of(turns[:middle], first), _turn_of(turns[middle:], first + middle)
    return [["if", ["<", ["cell", STATE], first + middle], *halves]]


MOST_FIRST = 5  # steps that are taken before rounds begin


def first_steps(automaton: Automaton) -> int:
    """Return how many steps an automaton takes before it is in a state on a cycle, or halts."""
    targets = [{automaton.transitions[k].target for k in own} for own in automaton.leaving()]
    component = strong_components([[*own] for own in targets])
    cyclic = {k for k, own in enumerate(targets) if any(component[t] == component[k] for t in own)}
    now, steps = {0}, 0
    while steps < MOST_FIRST and all(targets[k] and k not in cyclic for k in now):
        now = {after for state in now for after in targets[state]}
        steps += 1
    return steps


def _drawn(cell: str, noise: AutomatonNoise, reads: bool) -> Json:
    mean = number_json(noise.mean)
    if reads:
        mean = ["+", ["cell", "input"], mean]
    return ["draw", ["cell", cell], "Lap", mean, [number_json(1 / Fraction(noise.rate)), -1]]


def _tree(automaton: Automaton, steps: Sequence[Transition], known: int) -> list[Json]:
    """Return conditions that lead to the one of some transitions whose guard holds, or to an exit.

    Variables that all transitions compare come first: then few of them stand in two places.
    """
    if not steps:
        return [["exit"]]
    asked = [step.used & ~known for step in steps]
    if not asked[0]:
        return _taken(automaton, steps[0])
    counts = {x: sum(mask >> x & 1 for mask in asked) for x in bits(asked[0])}
    variable = max(counts, key=lambda x: counts[x])
    bit = 1 << variable
    above = [step for step in steps if not step.below & bit]
    below = [step for step in steps if not step.above & bit]
    condition: Json = [">=", ["cell", _SAMPLE], ["cell", _stored(automaton, variable)]]
    branches = [_tree(automaton, each, known | bit) for each in (above, below)]
    return [["if", condition, *branches]]


def _taken(automaton: Automaton, step: Transition) -> list[Json]:
    done: list[Json] = []
    match step.output:
        case OutputSample.COMPARED:
            done.append(["set", ["cell", _SHOWN], ["cell", _SAMPLE]])
        case OutputSample.FRESH:
            done.append(["set", ["cell", _SHOWN], ["cell", _FRESH]])
        case symbol:
            done.append(["set", ["cell", _SHOWN], {"name": symbol}])
    for variable in bits(step.assigned):
        done.append(["set", ["cell", _stored(automaton, variable)], ["cell", _SAMPLE]])
    return [*done, ["set", ["cell", STATE], step.target]]


def _stored(automaton: Automaton, variable: int) -> str:
    return f"value {automaton.variables[variable]}"
