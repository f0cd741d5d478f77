"""Budgets that fail at one eps, or at a limit of it: what two inputs publish, and how likely.

Let u and u_1 be adjacent, p and q the probabilities that there is published what a run publishes,
numbers between bounds. A run is a product of the laws of its noise, restricted to its guards
(`measures`); runs that publish the same are disjoint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import reduce
from typing import Any

from dipapprox.kernel.exact import exact_values
from dipapprox.kernel.integration import chance
from dipapprox.kernel.judgements import Budgets
from dipapprox.kernel.laws import Law
from dipapprox.kernel.likelier import lost
from dipapprox.kernel.measures import Form
from dipapprox.kernel.nodes import Graph, Node
from dipapprox.kernel.paths import over
from dipapprox.kernel.reading import as_list
from dipapprox.kernel.regions import ZERO
from dipapprox.kernel.rounds import Rounds
from dipapprox.kernel.runs import Flat, Runs, flat, read_inputs, read_pair
from dipapprox.kernel.signs import ALL, Signs


def chances(machine: Rounds, step: Mapping[str, Any]) -> Budgets:
    """What is published is e^(b eps) times as likely at one input as at another one.

    Theorem (`likelier`): so no smaller budget serves.

    Step: "paths" of a run, "inputs" as of rays, "shown": bounds of every number that is published,
    "eps", "budget": as of traces.
    """
    runs = Runs(machine)
    run, inputs = runs.along(step["paths"]), read_inputs(machine, step["inputs"], large=True)
    said = [v for turn in run for v in turn.path.said if not isinstance(v, str)]
    random = [value for value in said if isinstance(value, Form)]
    listed = iter(as_list(step["shown"], "bounds", len(random)))
    bounds = [read_pair(next(listed)) if isinstance(v, Form) else (Fraction(v),) * 2 for v in said]
    alike, graph, scalars = list(runs.alike(run, {})), Graph(), list[Node]()
    for at in (0, 1):
        here = {name: [over(v, [Form(Fraction(at))]) for v in own] for name, own in inputs.items()}
        found = [_chance(graph, flat(each, here, integers=False), bounds) for each in alike]
        scalars.append(reduce(graph.plus, found, graph.zero))
    known = exact_values(graph, scalars, Signs(ALL))
    return lost(step, *[known[each] for each in scalars])


def _chance(graph: Graph, run: Flat, bounds: Sequence[tuple[Fraction, ...]]) -> Node:
    """Return the probability of a run."""
    laws = {
        atom: Law(sample.family, ZERO, Fraction(sample.size), -1)
        for atom, sample in enumerate(run.samples)
    }
    forms = [guard for own in run.guards for guard in own]
    shown = [form for own in run.said for form in own if form is not None]
    for form, (low, high) in zip(shown, bounds, strict=True):
        forms.append((form.plus(Form(-low)), False))
        forms.append((form.scaled(Fraction(-1)).plus(Form(high)), False))
    return chance(graph, laws, forms)
