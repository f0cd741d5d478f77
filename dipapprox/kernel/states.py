"""States of runs: a store, and the measure of all runs that lead there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dipapprox.kernel.budget import spend
from dipapprox.kernel.forms import Atom, Form, Stored
from dipapprox.kernel.measures import Component, Measure


@dataclass(slots=True)
class State:
    """All runs with this store. Who splits it copies what it changes."""

    store: dict[str, Stored]
    measure: Measure


def held(state: State) -> set[Atom]:
    """The samples that cells hold."""
    forms = [value for value in state.store.values() if isinstance(value, Form)]
    spend(sum([len(form.terms) for form in forms]) // 4)
    return {atom for form in forms for atom, _ in form.terms}


def canonical(state: State) -> tuple[object, State]:
    """Number the samples by where the store has them; return what alike states have in common."""
    order: dict[int, int] = {}
    found = [(name, form) for name, form in state.store.items() if isinstance(form, Form)]
    forms = sorted(found, key=lambda own: own[0])
    sizes = [len(c.functions) + 4 * len(c.bounds) for c in state.measure.components]
    spend(2 * sum(sizes) + 2 * sum([len(form.terms) for _, form in forms]))
    for _, form in forms:
        for atom, _ in form.terms:
            order.setdefault(atom, len(order))
    for component in state.measure.components:
        for atom, _ in component.functions:
            order.setdefault(atom, len(order))
    store, components = state.store, [*state.measure.components]
    if any(atom != number for atom, number in order.items()):
        store = dict(store)
        for name, form in forms:
            store[name] = Form(form.constant, tuple(sorted((order[a], c) for a, c in form.terms)))
        components = [_renamed(component, order) for component in components]
    components.sort(key=lambda component: component.functions[0])
    shape = tuple(
        (tuple(atom for atom, _ in component.functions), component.bounds)
        for component in components
    )
    measure = Measure(state.measure.scalar, tuple(components))
    return (frozenset(store.items()), shape), State(store, measure)


def _renamed(component: Component, order: Mapping[int, int]) -> Component:
    """A component in the new numbers."""
    functions = [(order[a], f) for a, f in component.functions]
    bounds = [(tuple(sorted([(order[a], c) for a, c in own])), m) for own, m in component.bounds]
    return Component(tuple(sorted(functions)), tuple(sorted(bounds)))
