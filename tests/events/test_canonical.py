"""The normal form: blind to names, shifts, units and mirror images, and never to more."""

from __future__ import annotations

from fractions import Fraction

from event_strategies import CONTINUOUS, SMALL, events, law_of_guards
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.events.canonical import canonical
from dipapprox.events.event import Event, Independent, spelled_out
from dipapprox.events.reduce import reduce
from dipapprox.laws.distribution import Distribution
from dipapprox.linear.form import LinearForm


def disguised(event: Event, names: list[int], factor: Fraction, shift: Fraction) -> Event:
    """The same event for x' = factor·x + shift under new names, guards reversed."""
    laws: list[Distribution] = list(event.samples)
    for sample, law in enumerate(event.samples):
        laws[names[sample]] = law.affine(factor, shift)
    old = LinearForm.constant_form(-shift)
    guards = [
        g.substitute(
            {s: (LinearForm.symbol(names[s]) + old).scaled(1 / factor) for s in g.samples()}
        )
        for g in event.guards
    ]
    return Event(tuple(laws), tuple(g.scaled(Fraction(2)) for g in reversed(guards)))


def fingerprint(event: Event) -> object:
    means, correlations, leans = law_of_guards(event)
    return sorted(zip(means, map(sorted, correlations), map(sorted, leans), strict=True))


@given(st.data(), events(families=CONTINUOUS), SMALL.filter(bool), SMALL)
def test_disguises_do_not_matter(
    data: st.DataObject, event: Event, factor: Fraction, shift: Fraction
) -> None:
    reduced = reduce(event)
    for factor_event in reduced.factors if isinstance(reduced, Independent) else ():
        size = len(factor_event.samples)
        names = list(data.draw(st.permutations(range(size))))
        normal = canonical(factor_event)
        assert canonical(disguised(factor_event, names, factor, shift)) == normal
        assert canonical(spelled_out(normal)) == normal
        assert fingerprint(spelled_out(normal)) == fingerprint(factor_event)
