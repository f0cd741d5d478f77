"""States of runs: a store, and the measure of all runs that lead there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dipapprox.kernel.budget import spend
from dipapprox.kernel.forms import Atom, Form, Stored, copied
from dipapprox.kernel.measures import Component, Measure


@dataclass(slots=True)
class State:
    """All runs with this store, of which `forms` are the forms. Who splits it copies them."""

    store: dict[str, Stored]
    measure: Measure
    forms: dict[str, Form] = field(default_factory=dict)

    def part(self, measure: Measure) -> State:
        """Return part of the runs."""
        return State(copied(self.store), measure, dict(self.forms))


def held(state: State) -> set[Atom]:
    """The samples that cells hold."""
    spend(sum([len(form.terms) for form in state.forms.values()]) // 4)
    return {atom for form in state.forms.values() for atom, _ in form.terms}


def canonical(state: State) -> tuple[object, State]:
    """Number the samples by where the store has them; return what alike states have in common."""
    order: dict[int, int] = {}
    forms = sorted(state.forms.items(), key=lambda own: own[0])
    sizes = [len(c.functions) + 4 * len(c.bounds) for c in state.measure.components]
    spend(2 * sum(sizes) + 2 * sum([len(form.terms) for _, form in forms]))
    for _, form in forms:
        for atom, _ in form.terms:
            order.setdefault(atom, len(order))
    for component in state.measure.components:
        for atom, _ in component.functions:
            order.setdefault(atom, len(order))
    components = [*state.measure.components]
    if any(atom != number for atom, number in order.items()):
        found = {
            name: Form(form.constant, tuple(sorted([(order[a], c) for a, c in form.terms])))
            for name, form in forms
        }
        state = State(state.store | found, state.measure, found)
        components = [_renamed(component, order) for component in components]
    components.sort(key=lambda component: component.functions[0])
    shape = tuple([(tuple([atom for atom, _ in c.functions]), c.bounds) for c in components])
    measure = Measure(state.measure.scalar, tuple(components))
    return (frozenset(state.store.items()), shape), State(state.store, measure, state.forms)


def _renamed(component: Component, order: Mapping[int, int]) -> Component:
    """A component in the new numbers."""
    functions = [(order[a], f) for a, f in component.functions]
    bounds = [(tuple(sorted([(order[a], c) for a, c in own])), m) for own, m in component.bounds]
    return Component(tuple(sorted(functions)), tuple(sorted(bounds)))
