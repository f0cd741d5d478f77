"""Budgets that fail at one eps, or as eps vanishes: what two inputs publish, and how likely.

Let u and u_1 be adjacent, p and q the probabilities that there is published what a run publishes,
numbers between bounds.

Theorem. If p > e^(B eps) q at one eps, no budget up to B serves every eps. If p / q tends to more
than 1 as eps vanishes, none does; if p / q - 1 = s eps + o(eps), s > 0, none below s does: then
p > e^(B eps) q for B < s and small eps.

A run is a product of the laws of its noise, restricted to its guards (`measures`); runs that
publish the same are disjoint. Closed forms are power series near eps = 0, but for a power of eps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import reduce
from typing import Any

from dipapprox.kernel.balls import precision, to_ball
from dipapprox.kernel.errors import Refuted
from dipapprox.kernel.evaluate import evaluate, most_factors
from dipapprox.kernel.exact import exact_values
from dipapprox.kernel.exponentials import is_likelier_near_zero
from dipapprox.kernel.grid import accuracy
from dipapprox.kernel.integration import forget
from dipapprox.kernel.judgements import Budgets
from dipapprox.kernel.laws import Law
from dipapprox.kernel.measures import Form, Measure, assume, draw
from dipapprox.kernel.nodes import Graph, Node
from dipapprox.kernel.reading import as_integer, as_list, as_number
from dipapprox.kernel.regions import ZERO
from dipapprox.kernel.rounds import Rounds
from dipapprox.kernel.runs import STEPS, Flat, Runs, flat, read_inputs, read_pair
from dipapprox.kernel.signs import Epsilons, Signs


def chances(machine: Rounds, step: Mapping[str, Any]) -> Budgets:
    """What is published is likelier at one input than e^(B eps) times what it is at another one.

    Theorem (`chances`): p > e^(B eps) q at one eps, or at all small ones.

    Step: "paths" of a run, "inputs" as of rays, "shown": bounds of every number that is published,
    "eps", 0 where it vanishes, "bits", "budget": B; null: any.
    """
    runs = Runs(machine)
    run, inputs = runs.along(step["paths"]), read_inputs(machine, step["inputs"], large=True)
    said = [v for turn in run for v in turn.path.said if not isinstance(v, str)]
    random = [value for value in said if isinstance(value, Form)]
    listed = iter(as_list(step["shown"], "bounds", len(random)))
    bounds = [read_pair(next(listed)) if isinstance(v, Form) else (Fraction(v),) * 2 for v in said]
    alike = [flat(each, inputs, integers=False) for each in runs.alike(run, {})]
    graph, eps = Graph(), as_number(step["eps"], "eps")
    p, q = (
        reduce(graph.plus, [_chance(graph, each, at, bounds) for each in alike], graph.zero)
        for at in (0, 1)
    )
    budget = None if step["budget"] is None else Fraction(as_number(step["budget"], "a budget"))
    if eps:
        aim = accuracy(as_integer(step["bits"], "bits"), most_factors(graph, (p, q)))
        values = evaluate(graph, (p, q), Fraction(eps), aim)
        with precision(aim.precision):
            if budget is None or not values[p] > to_ball(budget * eps).exp() * values[q]:
                raise Refuted("what is published is not known to be so much likelier")
        return Budgets(None, budget, at_any=False)
    known = exact_values(graph, (p, q), Signs(Epsilons(ZERO, None)))
    if known[q].numerator.is_zero():
        raise Refuted("what is published is impossible")
    if not is_likelier_near_zero(known[p], known[q], budget):
        raise Refuted("what is published is not so much likelier as eps vanishes")
    return Budgets(None, budget, at_any=False)


def _chance(graph: Graph, run: Flat, at: int, bounds: Sequence[tuple[Fraction, ...]]) -> Node:
    """Return the probability of a run, so many steps along the ray."""
    measure = Measure(graph.one)
    for atom, sample in enumerate(run.samples):
        law = Law(sample.family, ZERO, Fraction(sample.size), -1)
        measure = draw(measure, atom, graph.density(law))
    forms = [guard for own in run.guards for guard in own]
    shown = [form for own in run.said for form in own if form is not None]
    for form, (low, high) in zip(shown, bounds, strict=True):
        forms.append((form.plus(Form(-low)), False))
        forms.append((form.scaled(Fraction(-1)).plus(Form(high)), False))
    for form, strict in forms:
        grown = form.constant + at * dict(form.terms).get(STEPS, ZERO)
        here = Form(grown, tuple([term for term in form.terms if term[0] != STEPS]))
        found = assume(graph, measure, here, ">" if strict else ">=")
        if not found:
            return graph.zero
        (measure,) = found
    return forget(graph, measure, ()).scalar
