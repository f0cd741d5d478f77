"""Events of integers and of one-sided samples, by enumeration and by hand."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import partial
from itertools import product

from event_strategies import less
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.events.canonical import canonical
from dipapprox.events.event import Chosen, Event, Impossible, Star, spelled_out
from dipapprox.events.reduce import reduce
from dipapprox.events.solutions import IMPOSSIBLE, Solutions
from dipapprox.events.supports import is_possible
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import DISCRETE_LAPLACE, FAMILIES
from dipapprox.laws.family import Family
from dipapprox.linear.form import LinearForm, Symbol

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
        if contains(event, point):
            pairs = zip(point, event.samples, strict=True)
            found[sum((abs(x - law.mean) / law.scale for x, law in pairs), Fraction(0))] += 1
    return Counter({exponent: count for exponent, count in found.items() if exponent <= 2})


def contains(event: Event, point: tuple[int, ...]) -> bool:
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
        assert not any(contains(event, p) for p in product(WINDOW, repeat=len(event.samples)))
        return
    assert any(contains(event, p) for p in product(WINDOW, repeat=len(event.samples)))
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
