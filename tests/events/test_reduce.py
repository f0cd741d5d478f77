"""Reduction keeps the event: pointwise where samples stay, in law where they are rewritten."""

from __future__ import annotations

from fractions import Fraction

from event_strategies import CONTINUOUS, contains, events, gauss, laplace, law_of_guards, points
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.events.event import Event
from dipapprox.events.reduce import as_comparisons, connected_parts, irredundant, sum_of_squares
from dipapprox.laws.families import EXPONENTIAL, LAPLACE, REFLECTED_EXPONENTIAL
from dipapprox.linear.form import LinearForm
from dipapprox.linear.half_spaces import implies


@given(st.data(), events())
def test_connected_parts_keep_the_event_pointwise(data: st.DataObject, event: Event) -> None:
    parts = connected_parts(event)
    for _ in range(6):
        point = data.draw(points(len(event.samples)))
        inside = parts is not None and all(
            contains(part, tuple(point[s] for s in samples)) for samples, part in parts
        )
        assert contains(event, point) == inside


@given(events())
def test_no_guard_left_is_implied_by_the_others(event: Event) -> None:
    guards = irredundant(event.guards)
    for position, guard in enumerate(guards or ()):
        others = (guards or ())[:position] + (guards or ())[position + 1 :]
        assert not implies(others, guard)


@given(events(families=CONTINUOUS))
def test_rewriting_keeps_the_law_of_the_guards(event: Event) -> None:
    for _, part in connected_parts(event) or ():
        rewritten = as_comparisons(part)
        assert law_of_guards(rewritten) == law_of_guards(part)
        assert len(rewritten.samples) <= len(part.samples)
        assert _exponentials(part) == _exponentials(rewritten)


def _exponentials(event: Event) -> int:
    """Count one-sided samples, a Laplace sample as the difference of two."""
    families = [law.family for law in event.samples]
    return 2 * families.count(LAPLACE) + sum(
        families.count(family) for family in (EXPONENTIAL, REFLECTED_EXPONENTIAL)
    )


@given(st.data(), st.integers(2, 6))
def test_comparisons_that_form_a_tree_become_plain(data: st.DataObject, size: int) -> None:
    """x_i and x_j in any units, whichever of the comparisons comes first."""
    factors = st.sampled_from([-3, -2, -1, 1, 2, 3]).map(Fraction)
    guards = []
    for k in range(1, size):
        terms = {data.draw(st.integers(0, k - 1)): data.draw(factors), k: data.draw(factors)}
        guards.append(LinearForm.of(terms, data.draw(factors)))
    event = Event((laplace(0),) * size, tuple(data.draw(st.permutations(guards))))
    for guard in as_comparisons(event).guards:
        assert guard.constant == 0 and {factor for _, factor in guard.terms} == {-1, 1}


def test_many_gaussians_become_few_squares() -> None:
    # ten standard Gaussians: variance 10 = 3² + 1²
    form = LinearForm.of(dict.fromkeys(range(10), Fraction(1)), Fraction(-1))
    event = as_comparisons(Event((gauss(0),) * 10, (form,)))
    assert sorted(law.scale for law in event.samples) == [1, 3]


@given(st.integers(1, 500), st.integers(1, 40))
def test_sums_of_squares_are_exact_and_lagrange_holds(p: int, q: int) -> None:
    squares = sum_of_squares(Fraction(p, q), 4)
    assert sum(s * s for s in squares) == Fraction(p, q)
    assert all(s > 0 for s in squares)
