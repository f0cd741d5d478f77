"""The structural columns of the paper's tables, from un-merged final states.

Definitions that reproduce the published numbers (specification section 9): a compound condition is
one guard; depth counts layers, the nodes on a longest path of the dependency graph, averaged over
feasible states; a constant compared with a sample is a node, and such states count one less.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from graphlib import CycleError, TopologicalSorter
from itertools import groupby

from dipapprox.data_classes import Record
from dipapprox.linear.form import LinearForm
from dipapprox.semantics.evaluation import Knowledge
from dipapprox.semantics.order import Points, cone_of
from dipapprox.semantics.state import FinalStates, Guard, guards_of

_Node = int | LinearForm


class Structure(Record):
    """What the tables say about a program; averages are exact."""

    final_states: int  # paths over the decisions that were made, infeasible ones included
    average_guards: Fraction  # guards per final state, as written
    average_depth: Fraction  # layers of the dependency graph, over feasible states
    maximum_depth: int  # the same, largest
    # Samples in the guards, over feasible states: the depth of the integral without optimisation.
    average_variables: Fraction
    maximum_variables: int  # the same, largest


def measure_structure(states: FinalStates) -> Structure:
    """Return the structural columns.

    Args:
        states: Final states that were not merged. States with equal decisions are the disjoint
            pieces of one path with compound conditions: they count as one, as deep as the deepest.

    Raises:
        ValueError: If the states were merged.
    """
    if states.merged:
        raise ValueError("structure is a property of final states that are not merged")
    points = Points(Knowledge.of(states.program.inputs))
    guards: list[int] = []
    depths: list[int] = []
    variables: list[int] = []
    for decisions, group in groupby(states.states, key=lambda state: state.decisions):
        guards.append(len(decisions))
        paths = [guards_of(state.path) for state in group]
        feasible = [path for path in paths if not cone_of(path, points)[1]]
        if feasible:
            depths.append(max(map(_depth, feasible)))
            samples = [{s for each in path for s in each.form.samples()} for path in feasible]
            variables.append(max(map(len, samples)))
    return Structure(
        final_states=len(guards),
        average_guards=_mean(guards),
        average_depth=_mean(depths),
        maximum_depth=max(depths, default=0),
        average_variables=_mean(variables),
        maximum_variables=max(variables, default=0),
    )


def _mean(numbers: list[int]) -> Fraction:
    return Fraction(sum(numbers), len(numbers)) if numbers else Fraction(0)


def _depth(guards: Iterable[Guard]) -> int:
    """Layers of the graph with an edge from the larger to the smaller side of every guard.

    With several samples on a side there is an edge from each; then the graph may have a cycle,
    and its nodes all nest.
    """
    smaller: dict[_Node, set[_Node]] = {}
    for guard in guards:
        low: set[_Node] = {s for s, c in guard.form.terms if c > 0 and isinstance(s, int)}
        high: set[_Node] = {s for s, c in guard.form.terms if c < 0 and isinstance(s, int)}
        terms = tuple((s, c) for s, c in guard.form.terms if isinstance(s, str))
        fixed = LinearForm(terms, guard.form.constant)
        low, high = low or {fixed}, high or {-fixed}
        for node in low | high:
            smaller.setdefault(node, set())
        for node in high:
            smaller[node] |= low
    constants = any(isinstance(node, LinearForm) for node in smaller)
    order, layers = TopologicalSorter(smaller), 0
    try:
        order.prepare()
    except CycleError:
        return len(smaller) - constants
    while order.is_active():
        order.done(*order.get_ready())
        layers += 1
    return layers - constants
