"""Random valid automata, and oracles that know nothing of the graphs of the package."""

import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

from dipapprox.automata.model import Automaton, ControlState, OutputSample, Transition, check
from dipapprox.automata.runs import Run, dependencies, orders
from dipapprox.automata.structures import BadStructure, holds
from dipapprox.errors import SourceError
from dipapprox.language.dipa import AutomatonNoise

_RATES = (Fraction(1), Fraction(2), Fraction(1, 2), Fraction(1, 3))


def random_automaton(
    seed: int, variables: int = 2, states: int = 4, *, shown: float = 0.25, distinct: bool = True
) -> Automaton:
    """Return a valid automaton; its outputs distinguish transitions if `distinct`."""
    chance = random.Random(seed)
    while True:
        found = _attempt(chance, variables, states, shown, distinct)
        try:
            check(found)
        except SourceError:
            continue
        return found


def _attempt(
    chance: random.Random, variables: int, states: int, shown: float, distinct: bool
) -> Automaton:
    control, transitions = [], []
    for state in range(states):
        # The first states assign the variables, so that many automata are initialised.
        reads = chance.random() < (0.3 if state < variables else 0.85)
        fresh = AutomatonNoise(chance.choice(_RATES))
        noise = AutomatonNoise(chance.choice(_RATES), Fraction(chance.randint(-1, 1)))
        control.append(ControlState(f"q{state}", reads, noise, fresh))
        free = state < variables or not reads
        guards = [(0, 0)] if free else _guards(chance, variables)
        for number, (above, below) in enumerate(guards):
            assigned = 1 << state if state < variables else 0
            if chance.random() < 0.3:
                assigned |= 1 << chance.randrange(variables)
            output: str | OutputSample = f"o{number}" if distinct else chance.choice(("oa", "ob"))
            if number == 0 and chance.random() < shown:
                output = chance.choice((OutputSample.COMPARED, OutputSample.FRESH))
            target = state + 1 if state < variables - 1 else chance.randrange(states)
            transitions.append(Transition(state, above, below, target, output, assigned))
    return Automaton(tuple(f"x{i}" for i in range(variables)), tuple(control), tuple(transitions))


def _guards(chance: random.Random, variables: int) -> list[tuple[int, int]]:
    """Disjoint guards: a random part of a random decision tree's leaves."""
    leaves = [(0, 0)]
    for variable in chance.sample(range(variables), chance.randint(1, variables)):
        bit = 1 << variable
        split = []
        for above, below in leaves:
            if chance.random() < 0.8:
                split += [(above | bit, below), (above, below | bit)]
            else:
                split.append((above, below))
        leaves = split
    chance.shuffle(leaves)
    return leaves[: chance.randint(1, min(3, len(leaves)))]


def feasible_runs(automaton: Automaton, length: int) -> Iterator[Run]:
    """Yield all feasible runs of at most `length` steps from the first state."""
    leaving = automaton.leaving()
    waiting: list[tuple[Run, int]] = [((), 0)]
    while waiting:
        run, state = waiting.pop()
        yield run
        if len(run) < length:
            for index in leaving[state]:
                longer = (*run, index)
                if is_acyclic(len(longer), dependencies(automaton, longer)):
                    waiting.append((longer, automaton.transitions[index].target))


def is_acyclic(size: int, arcs: tuple[tuple[int, int], ...]) -> bool:
    left = set(arcs)
    vertices = set(range(size))
    while vertices:
        free = vertices - {head for _, head in left}
        if not free:
            return False
        vertices -= free
        left = {(tail, head) for tail, head in left if tail not in free}
    return True


def structures_in(automaton: Automaton, run: Run) -> Iterator[BadStructure]:
    """Yield disclosing cycles, pairs and paths of a run, by trying everything."""
    arcs = dependencies(automaton, run)
    reach = {(i, i) for i in range(len(run))} | set(arcs)
    for middle, i, j in product(range(len(run)), repeat=3):
        if (i, middle) in reach and (middle, j) in reach:
            reach.add((i, j))
    cycles = [
        range(a, b)
        for a in range(len(run))
        for b in range(a + 1, len(run) + 1)
        if automaton.transitions[run[a]].source == automaton.transitions[run[b - 1]].target
    ]
    for cycle in cycles:
        for position in cycle:
            found = BadStructure(run, (position,), None, cycle)
            if holds(automaton, found):
                yield found
    shown = [
        p for p, t in enumerate(run) if automaton.transitions[t].output is OutputSample.COMPARED
    ]
    downs = [(i, j) for i, j in arcs if j < i]
    ups = [(i, j) for i, j in arcs if i < j]
    for first, second in product(cycles, repeat=2):
        for (k1, k2), (before, last) in product(downs, ups):
            if k1 in first and last in second and (k2, before) in reach:
                pair = BadStructure(run, _path(arcs, k1, k2, before, last), first, second)
                if holds(automaton, pair):
                    yield pair
    for cycle in cycles:
        for place in shown:
            for before, last in ups:
                if last in cycle and (place, before) in reach:
                    path = (*_walk(arcs, place, before), last)
                    violating = BadStructure(run, path, None, cycle)
                    if holds(automaton, violating):
                        yield violating
            for k1, k2 in downs:
                if k1 in cycle and (k2, place) in reach:
                    path = (k1, *_walk(arcs, k2, place))
                    violating = BadStructure(run, path, cycle, None)
                    if holds(automaton, violating):
                        yield violating


def _path(
    arcs: tuple[tuple[int, int], ...], k1: int, k2: int, before: int, last: int
) -> tuple[int, ...]:
    return (k1, *_walk(arcs, k2, before), last)


def _walk(arcs: tuple[tuple[int, int], ...], start: int, goal: int) -> tuple[int, ...]:
    paths = [(start,)]
    for path in paths:
        if path[-1] == goal:
            return path
        paths += [(*path, head) for tail, head in arcs if tail == path[-1]]
    raise AssertionError("there is a path")


def leaks(automaton: Automaton, run: Run) -> bool:
    """Whether a run ends with a leaking cycle that can be repeated for ever, by the definition."""
    states = orders(automaton, run)
    if states is None:
        return False
    for start in range(len(run)):
        part = [automaton.transitions[index] for index in run[start:]]
        if part[0].source != part[-1].target:
            continue
        assigned = used = 0
        for transition in part:
            assigned |= transition.assigned
            used |= transition.used
        if assigned & used and states[start] == states[-1]:
            return True
    return False


def dearest(automaton: Automaton, length: int) -> Fraction:
    """Return the largest least cost of a run of at most `length` steps, by ternary vectors."""
    leaving = automaton.leaving()
    start: dict[tuple[int, ...], Fraction] = {(0,) * len(automaton.variables): Fraction(0)}
    best = Fraction(0)
    # Nothing is stored at first; no guard looks at it before it is assigned.
    waiting = [((), 0, start)]
    while waiting:
        run, state, costs = waiting.pop()
        best = max(best, min(costs.values()))
        if len(run) == length:
            continue
        for index in leaving[state]:
            transition = automaton.transitions[index]
            longer = (*run, index)
            if not is_acyclic(len(longer), dependencies(automaton, longer)):
                continue
            for change in automaton.changes if automaton.reads(transition) else (0,):
                after = _after(automaton, transition, costs, change)
                waiting.append((longer, transition.target, after))
    return best


def _after(
    automaton: Automaton,
    transition: Transition,
    costs: dict[tuple[int, ...], Fraction],
    change: int,
) -> dict[tuple[int, ...], Fraction]:
    found: dict[tuple[int, ...], Fraction] = {}
    for stored, cost in costs.items():
        for shift in (-1, 0, 1):
            if transition.output is OutputSample.COMPARED and shift:
                continue
            fits = all(
                (not transition.above >> x & 1 or shift <= value)
                and (not transition.below >> x & 1 or shift >= value)
                for x, value in enumerate(stored)
            )
            if not fits:
                continue
            price = automaton.rate(transition) * abs(shift - change)
            price += automaton.fresh_cost(transition) * abs(change)
            new = tuple(
                shift if transition.assigned >> x & 1 else value for x, value in enumerate(stored)
            )
            found[new] = min(found.get(new, cost + price), cost + price)
    return found
