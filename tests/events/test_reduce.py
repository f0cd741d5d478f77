"""Reduction and normal forms keep the event: pointwise, in law, and whatever it is called."""

from collections import Counter
from fractions import Fraction
from functools import partial
from itertools import product

from event_strategies import (
    CONTINUOUS,
    SMALL,
    contains,
    events,
    gauss,
    laplace,
    law_of_guards,
    less,
    points,
)
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.events.canonical import canonical
from dipapprox.events.event import Chosen, Event, Impossible, Independent, Star, spelled_out
from dipapprox.events.reduce import (
    as_comparisons,
    connected_parts,
    irredundant,
    reduce,
    sum_of_squares,
)
from dipapprox.events.solutions import IMPOSSIBLE, Solutions
from dipapprox.events.supports import is_possible
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import (
    DISCRETE_LAPLACE,
    EXPONENTIAL,
    FAMILIES,
    LAPLACE,
    REFLECTED_EXPONENTIAL,
)
from dipapprox.laws.family import Family
from dipapprox.linear.form import LinearForm, Symbol
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


HALF = Fraction(1, 2)
WINDOW = range(-6, 7)


def integer(mean: int, scale: int | Fraction = 1) -> Distribution:
    return Distribution(DISCRETE_LAPLACE, Fraction(mean), Fraction(scale))


@st.composite
def guards(draw: st.DrawFn, size: int) -> LinearForm:
    """A bound of an integer or of a difference, with its cut between two integers."""
    cut = draw(st.integers(-2, 1)) + HALF
    sign = Fraction(draw(st.sampled_from([1, -1])))
    first = draw(st.integers(0, size - 1))
    terms: dict[int | str, Fraction] = {first: sign}
    others = [k for k in range(size) if k != first]
    if others and draw(st.booleans()):
        terms[draw(st.sampled_from(others))] = -sign
    return LinearForm.of(terms, cut)


@st.composite
def integer_events(draw: st.DrawFn) -> Event:
    size = draw(st.integers(1, 3))
    laws = st.builds(integer, st.integers(-1, 1), st.sampled_from([1, 2, Fraction(2, 3)]))
    samples = draw(st.lists(laws, min_size=size, max_size=size))
    forms = draw(st.lists(guards(size), min_size=1, max_size=size + 2))
    return Event(tuple(samples), tuple(forms))


def series(event: Event) -> Counter[Fraction]:
    """The integer points by Σ |x - mean| / scale, up to 2: what the probability is a series in."""
    found: Counter[Fraction] = Counter()
    for point in product(WINDOW, repeat=len(event.samples)):
        if has_integers(event, point):
            pairs = zip(point, event.samples, strict=True)
            found[sum((abs(x - law.mean) / law.scale for x, law in pairs), Fraction(0))] += 1
    return Counter({exponent: count for exponent, count in found.items() if exponent <= 2})


def has_integers(event: Event, point: tuple[int, ...]) -> bool:
    values: dict[int | str, Fraction] = {k: Fraction(x) for k, x in enumerate(point)}
    cuts = [guard.at(values).constant for guard in event.guards]
    assert all(cuts), "no integer lies on a boundary"
    return all(cut < 0 for cut in cuts)


def _shifted(start: int, symbol: Symbol) -> Symbol:
    assert isinstance(symbol, int)
    return start + symbol


def product_of(factors: list[Event], free: list[Distribution]) -> Event:
    """Independent events as one; `free` are samples that no guard mentions."""
    samples: list[Distribution] = []
    forms: list[LinearForm] = []
    for factor in factors:
        start = len(samples)
        samples += factor.samples
        forms += [guard.renamed(partial(_shifted, start)) for guard in factor.guards]
    return Event((*samples, *free), tuple(forms))


@given(integer_events())
def test_events_of_integers_keep_their_probabilities(event: Event) -> None:
    reduced = reduce(event)
    if isinstance(reduced, Impossible):
        assert not any(has_integers(event, p) for p in product(WINDOW, repeat=len(event.samples)))
        return
    assert any(has_integers(event, p) for p in product(WINDOW, repeat=len(event.samples)))
    normal: list[Event] = []
    free = Counter(law.scale for law in event.samples)
    for found in map(canonical, reduced.factors):
        assert not isinstance(found, Chosen)
        factor = spelled_out(found)
        normal.append(factor)
        assert all(law.mean.denominator == 1 for law in factor.samples)
        free -= Counter(law.scale for law in factor.samples)
    left = [integer(0, scale) for scale in free.elements()]
    assert series(product_of(normal, left)) == series(event)


@given(
    st.lists(
        st.tuples(st.sampled_from(list(FAMILIES.values())[:4]), st.integers(0, 2), st.booleans()),
        min_size=3,
        max_size=5,
    )
)
def test_stars_are_possible_when_their_events_are(leaves: list[tuple[Family, int, bool]]) -> None:
    laws = [Distribution(family, Fraction(mean), Fraction(1)) for family, mean, _ in leaves]
    sides = [[], []]  # type: list[list[tuple[Distribution, int]]]
    for law, (_, _, upper) in list(zip(laws, leaves, strict=True))[1:]:
        sides[upper].append((law, 1))
    forms = tuple(
        less(0, k) if upper else less(k, 0) for k, (_, _, upper) in enumerate(leaves) if k
    )
    star = Star(laws[0], tuple(sides[0]), tuple(sides[1]))
    assert is_possible(star) == is_possible(Event(tuple(laws), forms))
    solutions = Solutions()
    pairs = list(zip(laws, leaves, strict=True))[1:]
    entries = Counter(2 * solutions.law(law) + upper for law, (_, _, upper) in pairs)
    bag = tuple(sorted(entries.items()))
    assert (solutions.star(solutions.law(laws[0]), bag) != IMPOSSIBLE) == is_possible(star)
