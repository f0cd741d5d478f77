"""Whoever encloses the probability of an event agrees: all methods on random events, and scipy."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.polyhedra import by_scipy
from dipapprox import Enclosure
from dipapprox.events.canonical import canonical
from dipapprox.events.event import Connected, Event
from dipapprox.events.reduce import connected_parts
from dipapprox.exact.methods import Exact, LaplaceForms
from dipapprox.integrals.strategy import Strategy
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import EXPONENTIAL, GAUSSIAN, LAPLACE, REFLECTED_EXPONENTIAL
from dipapprox.laws.family import Family
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.closed_form import (
    ClosedForm,
    GuardByGuard,
    has_closed_form,
    has_closed_guards,
)
from dipapprox.numerics.elimination.engine import Eliminated
from dipapprox.numerics.elimination.sum_event import sum_event
from dipapprox.numerics.gaussian_rank.orthants import GaussianRank
from dipapprox.numerics.integers.sums import IntegerSums
from dipapprox.numerics.methods import (
    Method,
    Tier,
    has_density,
    is_discrete,
    is_gaussian,
    is_laplace_type,
)
from dipapprox.numerics.nested.engine import Nested
from tests.cases import examples
from tests.event_strategies import (
    CONTINUOUS,
    REAL_FAMILIES,
    SMALL,
    difference_events,
    events,
    form,
    of_family,
)
from tests.exact.events import integer_events
from tests.numerics.one_by_one import alone

Fits = Callable[[Connected], bool]

METHODS: tuple[tuple[Method, Fits, int], ...] = (
    (Eliminated(Tier.FLOAT64), has_density, 36),
    (Eliminated(Tier.BALLS), has_density, 60),
    (Nested(Strategy.LEAST_NESTING, 4_000), has_density, 20),
    (GaussianRank(), is_gaussian, 12),
    (GuardByGuard(), has_closed_guards, 10),
    (ClosedForm(), has_closed_form, 100),
    (LaplaceForms(sums_only=False), is_laplace_type, 60),
    (LaplaceForms(sums_only=True), is_laplace_type, 60),
    (IntegerSums(), is_discrete, 50),
    (Exact(), lambda event: is_laplace_type(event) or is_discrete(event), 60),
)
"""Who encloses, what, and to how many bits. They are shared on purpose: what one remembers must not
matter."""

LAPLACE_TYPE = (LAPLACE, EXPONENTIAL, REFLECTED_EXPONENTIAL)


def mirrored(event: Event) -> Event:
    """The same event of -x."""
    laws = (Distribution(x.family.mirror, -x.mean, x.scale) for x in event.samples)
    return Event(tuple(laws), tuple(form(dict((-g).terms), g.constant) for g in event.guards))


def enclosures(part: Event) -> list[Enclosure]:
    """What all say of an event and of its mirror image, as narrow as asked."""
    found = []
    for method, fits, bits in METHODS:
        for each in (canonical(part), mirrored(part)):
            answer = alone(method, each, bits) if fits(each) else None
            if isinstance(answer, Enclosure):
                assert 0 <= answer.lower <= answer.upper <= 1, method.name
                assert answer.width <= Fraction(1, 2**bits), method.name
                found.append(answer)
    return found


def random_order(chance: Random, size: int, families: Sequence[Family]) -> Event:
    """A spanning tree of comparisons, a few more of them, a bound of one of odd many samples."""
    samples = tuple(
        of_family(
            chance.choice(families),
            Fraction(chance.randint(-4, 4), chance.choice((1, 2, 3))),
            chance.choice((Fraction(1, 2), Fraction(1), Fraction(4, 3), Fraction(3))),
        )
        for _ in range(size)
    )
    rank = chance.sample(range(size), size)
    pairs = {tuple(sorted((chance.randrange(k), k))) for k in range(1, size)}
    pairs |= {tuple(sorted(chance.sample(range(size), 2))) for _ in range(chance.randint(0, 2))}
    guards = []
    for i, j in sorted(pairs):
        low, high = (i, j) if rank[i] < rank[j] else (j, i)
        guards.append(form({low: 1, high: -1}))
    if size % 2:
        guards.append(form({chance.randrange(size): chance.choice((1, -1))}, chance.randint(-2, 2)))
    return Event(samples, tuple(guards))


COEFFICIENTS = [Fraction(c) for c in (1, 1, -1, -1, 2, -2)] + [Fraction(1, 2)]


def random_sums(chance: Random, size: int, families: Sequence[Family]) -> Event:
    """Join forms to sums, bound and compare them, until one is left."""
    samples = tuple(
        of_family(
            chance.choice(families),
            Fraction(chance.randint(-2, 2), chance.choice((1, 2))),
            chance.choice((Fraction(1), Fraction(3, 2), Fraction(2))),
        )
        for _ in range(size)
    )
    forms = [LinearForm.symbol(k) for k in range(size)]
    guards: list[LinearForm] = []

    def bound(form: LinearForm) -> None:
        sign = Fraction(chance.choice((1, -1)))
        guards.append((form + LinearForm.constant_form(chance.randint(-3, 3))).scaled(sign))

    while len(forms) > 1:
        first = forms.pop(chance.randrange(len(forms)))
        second = forms.pop(chance.randrange(len(forms)))
        if chance.random() < 0.3:
            bound(first)
        both = first + second.scaled(chance.choice(COEFFICIENTS))
        if chance.random() < 0.25:
            bound(both)
            forms.append(first)  # what is compared with it occurs nowhere else
        else:
            forms.append(both)
            if chance.random() < 0.6:
                bound(both)
    bound(forms[0])
    return Event(samples, tuple(guards))


def bands(chance: Random, size: int, families: Sequence[Family]) -> Event:
    """c <= ±(x + y) + a z <= d, where x + y is compared, or in a band, with others as well."""
    both = form({0: 1, 1: 1})
    guards = [both + LinearForm.constant_form(-2)]
    for other in (2, 3):
        factor, sign = chance.choice((1, -1, 2, -2)), Fraction(chance.choice((1, -1)))
        own = both.scaled(sign) + form({other: factor}, chance.randint(-1, 1))
        guards.append(own + LinearForm.constant_form(-1))
        if other == 2 or chance.random() < 0.5:
            guards.append(-own + LinearForm.constant_form(-chance.randint(1, 2)))
    found = Event((of_family(chance.choice(families)),) * 4, tuple(guards))
    assert any(element.bands for element in sum_event(found, 40).elements)
    return found


def half_space(chance: Random, size: int, families: Sequence[Family]) -> Event:
    family = chance.choice(families)
    laws = [
        of_family(family, Fraction(chance.randint(-20, 20), 5), Fraction(chance.randint(1, 16), 4))
        for _ in range(size)
    ]
    terms = {k: Fraction(chance.choice((-4, -3, -1, 1, 2, 4)), 3) for k in range(size)}
    return Event(tuple(laws), (form(terms, Fraction(chance.randint(-8, 8), 3)),))


def drawn(
    make: Callable[[Random, int, Sequence[Family]], Event], families: Sequence[Family], most: int
) -> st.SearchStrategy[Event]:
    return st.builds(
        lambda seed, size: make(Random(seed), size, families),
        st.integers(0, 2**30),
        st.integers(2, most),
    )


KINDS: dict[str, st.SearchStrategy[Event]] = {
    "comparisons and bounds": events(most=4, families=CONTINUOUS, general=False),
    "any forms": events(most=3, families=CONTINUOUS),
    "orders": drawn(random_order, REAL_FAMILIES, 5),
    "Gaussian orders": drawn(random_order, [GAUSSIAN], 8),
    "Laplace differences": difference_events(LAPLACE_TYPE),
    "Gaussian differences": difference_events((GAUSSIAN,)),
    "Laplace sums": drawn(random_sums, LAPLACE_TYPE, 4),
    "Gaussian sums": drawn(random_sums, [GAUSSIAN], 5),
    "bands": drawn(bands, [LAPLACE, EXPONENTIAL, GAUSSIAN], 4),
    "half-spaces": drawn(half_space, CONTINUOUS, 3),
    "integers": integer_events(most=3),
}
MORE = {"any forms": 5, "integers": 5, "comparisons and bounds": 2, "Laplace differences": 2}
"""Events of an example; one of others."""


@pytest.mark.parametrize("kind", KINDS)
@examples(1)
@given(data=st.data())
def test_all_that_enclose_an_event_agree(kind, data) -> None:
    """With each other, with its mirror image, and about with scipy."""
    drawn = [data.draw(KINDS[kind]) for _ in range(MORE.get(kind, 1))]
    for _, part in [each for event in drawn for each in connected_parts(event) or ()]:
        found = enclosures(part)
        assert len(found) >= 2 or kind == "any forms"
        assert all(one.meets(other) for one in found for other in found)
        if found and is_gaussian(part):
            near = by_scipy(part, 1e-5)
            assert all(float(x.lower) - 1e-3 <= near <= float(x.upper) + 1e-3 for x in found)


ROWS = st.lists(
    st.lists(st.integers(-2, 2), min_size=3, max_size=3).filter(any), min_size=2, max_size=3
)


@given(ROWS, st.lists(st.sampled_from([-12, 0, 9]) | SMALL, min_size=3, max_size=3))
def test_bounds_of_guards_hold_whatever_the_dependence(rows, constants) -> None:
    guards = [form(dict(enumerate(row)), c) for row, c in zip(rows, constants, strict=False)]
    event = Event((of_family(GAUSSIAN),) * 3, tuple(guards))
    assert has_closed_guards(event)
    found, true = GuardByGuard().enclose([event], 10)[0], by_scipy(event, 1e-5)
    if isinstance(found, Enclosure):
        assert found.width <= Fraction(1, 2**10)
        assert float(found.lower) - 1e-3 <= true <= float(found.upper) + 1e-3
    else:
        assert 1e-4 < true < 1 - 1e-4 or len(set(constants)) > 1 or 0 in constants
