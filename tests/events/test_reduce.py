"""Events: normal forms keep them, sums have their laws, and symmetries are true."""

import cmath
import math
from collections import Counter
from fractions import Fraction
from functools import partial
from itertools import combinations, combinations_with_replacement, product
from math import prod
from random import Random

import pytest
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
from pair_programs import UNEVEN_MAX, read
from scipy.special import gamma
from scrambled import Scrambled

from dipapprox.events.canonical import IMPOSSIBLE, Solutions, canonical
from dipapprox.events.event import Chosen, Event, Star, spelled_out
from dipapprox.events.reduce import (
    as_comparisons,
    connected_parts,
    irredundant,
    is_possible,
    law_of,
    reduce,
    sum_of_squares,
)
from dipapprox.events.symmetry import CellSymmetry
from dipapprox.exact.methods import Exact
from dipapprox.language.core import Input, Listed
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
from dipapprox.numerics.integers.sums import IntegerSums
from dipapprox.pairs.counters import plan_counters
from dipapprox.pairs.walk import plan_walk
from dipapprox.semantics.execution import execute
from dipapprox.semantics.state import FinalStates
from tests.cases import part, text_of
from tests.grammars import texts


@given(st.data(), events())
def test_connected_parts_keep_the_event_pointwise(data, event) -> None:
    parts = connected_parts(event)
    for _ in range(6):
        point = data.draw(points(len(event.samples)))
        inside = parts is not None and all(
            contains(part, tuple(point[s] for s in samples)) for samples, part in parts
        )
        assert contains(event, point) == inside


@given(events())
def test_no_guard_left_is_implied_by_the_others(event) -> None:
    guards = irredundant(event.guards)
    for position, guard in enumerate(guards or ()):
        others = (guards or ())[:position] + (guards or ())[position + 1 :]
        assert not implies(others, guard)


@given(events(families=CONTINUOUS))
def test_rewriting_keeps_the_law_of_the_guards(event) -> None:
    for _, connected in connected_parts(event) or ():
        rewritten = as_comparisons(connected)
        assert law_of_guards(rewritten) == law_of_guards(connected)
        assert len(rewritten.samples) <= len(connected.samples)
        assert _exponentials(connected) == _exponentials(rewritten)


def _exponentials(event: Event) -> int:
    """Count one-sided samples, a Laplace sample as the difference of two."""
    families = [law.family for law in event.samples]
    return 2 * families.count(LAPLACE) + sum(
        families.count(family) for family in (EXPONENTIAL, REFLECTED_EXPONENTIAL)
    )


@given(st.data(), st.integers(2, 6))
def test_comparisons_that_form_a_tree_become_plain(data, size) -> None:
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
def test_sums_of_squares_are_exact_and_lagrange_holds(p, q) -> None:
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
def test_disguises_do_not_matter(data, event, factor, shift) -> None:
    for factor_event in reduce(event) or ():
        size = len(factor_event.samples)
        names = list(data.draw(st.permutations(range(size))))
        normal = canonical(factor_event)
        assert canonical(disguised(factor_event, names, factor, shift)) == normal
        assert canonical(spelled_out(normal)) == normal
        assert fingerprint(spelled_out(normal)) == fingerprint(factor_event)


WINDOW = range(-6, 7)


def integer(mean: int, scale: int | Fraction = 1) -> Distribution:
    return Distribution(DISCRETE_LAPLACE, Fraction(mean), Fraction(scale))


@st.composite
def guards(draw: st.DrawFn, size: int) -> LinearForm:
    """A bound of an integer or of a difference, with its cut between two integers."""
    cut = draw(st.integers(-2, 1)) + Fraction(1, 2)
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
def test_events_of_integers_keep_their_probabilities(event) -> None:
    reduced = reduce(event)
    if reduced is None:
        assert not any(has_integers(event, p) for p in product(WINDOW, repeat=len(event.samples)))
        return
    assert any(has_integers(event, p) for p in product(WINDOW, repeat=len(event.samples)))
    normal: list[Event] = []
    free = Counter(law.scale for law in event.samples)
    for found in map(canonical, reduced):
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
def test_stars_are_possible_when_their_events_are(leaves) -> None:
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


# --- Laws of sums against characteristic functions ------------------------------------------------

ONE = Fraction(1)
PAIRS = [*combinations_with_replacement(FAMILIES.values(), 2)]


def characteristic(law: Distribution, t: float) -> complex:
    """E[exp(i t X)], from the literature."""
    b, turned = float(law.scale), cmath.exp(1j * t * float(law.mean))
    match law.family.name:
        case "Gauss":
            value: complex = math.exp(-((b * t) ** 2) / 2)
        case "Lap":
            value = 1 / (1 + (b * t) ** 2)
        case "LapPlus":
            value = 1 / (1 - 1j * b * t)
        case "LapMinus":
            value = 1 / (1 + 1j * b * t)
        case "DLap":
            p = math.exp(-1 / b)
            value = (1 - p) ** 2 / (1 - 2 * p * math.cos(t) + p * p)
        case "Logistic":
            value = math.pi * b * t / math.sinh(math.pi * b * t)
        case "Gumbel" | "GumbelMinus" as name:
            value = complex(gamma(1 - 1j * b * t * (1 if name == "Gumbel" else -1)))
        case "DGauss":
            weights = {k: math.exp(-((k / b) ** 2) / 2) for k in range(-40, 41)}
            total = sum(w * math.cos(k * t) for k, w in weights.items())
            value = total / sum(weights.values())
    return turned * value


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_the_law_of_a_sum_is_that_of_its_terms(first, second) -> None:
    for a, b, c in product((1, 2), (1, -1, -2), (1, -1)):
        laws = (
            Distribution(first, ONE, Fraction(2)),
            Distribution(second, Fraction(-3), ONE),
            Distribution(first, Fraction(4), Fraction(1, 2)),
        )
        form = LinearForm.of({0: Fraction(a), 1: Fraction(b), 2: Fraction(c)})
        law = law_of(form, laws)
        assert len(law.terms) + bool(law.variance) <= 3
        for t in (0.1, 0.7, 2.0):
            wanted = math.prod(
                (characteristic(laws[int(k)], float(x) * t) for k, x in form.terms), start=1 + 0j
            )
            found = cmath.exp(1j * t * float(law.mean) - float(law.variance) * t * t / 2)
            for factor, term in law.terms:
                found *= characteristic(term, float(factor) * t)
            assert cmath.isclose(found, wanted, rel_tol=1e-12)


def law(random: Random, half: bool, family: Family = DISCRETE_LAPLACE) -> Distribution:
    mean = random.randint(-2, 2) + Fraction(half, 2)
    return Distribution(family, mean, Fraction(random.randint(1, 3), random.randint(1, 2)))


def star(random: Random, *families: Family) -> Star:
    def leaves(least: int) -> tuple[tuple[Distribution, int], ...]:
        own = {law(random, True, random.choice(families)) for _ in range(random.randint(least, 2))}
        return tuple((each, random.randint(1, 3)) for each in own)

    return Star(law(random, False, families[0]), leaves(1), leaves(1))


def probability(found: Star) -> float:
    def mass(each: Distribution, value: float) -> float:
        q = 2.718281828459045 ** (-1 / float(each.scale))
        return (1 - q) / (1 + q) * q ** abs(value - float(each.mean))

    def below(each: Distribution, value: int) -> float:
        return sum(mass(each, value - k - 0.5) for k in range(80))

    def above(each: Distribution, value: int) -> float:
        return sum(mass(each, value + k + 0.5) for k in range(80))

    return sum(
        mass(found.centre, c)
        * prod(below(each, c) ** n for each, n in found.below)
        * prod(above(each, c) ** n for each, n in found.above)
        for c in range(-60, 61)
    )


@pytest.mark.parametrize("seed", part(range(8), 2))
def test_sums_and_closed_forms_are_the_sum_over_the_centre(seed) -> None:
    example = star(Random(seed), DISCRETE_LAPLACE)
    (exact,) = Exact().enclose([example], 50)
    (summed,) = IntegerSums().enclose([example], 50)
    assert exact.meets(summed)
    assert summed.width <= Fraction(1, 2**50)
    assert abs(float(summed.lower) - probability(example)) < 1e-9


# --- Swaps of cells -------------------------------------------------------------------------------


def swapped(input: Input, first: int, second: int) -> Input:
    values = list(input)
    values[first], values[second] = values[second], values[first]
    return tuple(values)


@given(texts("alike", 8), st.booleans())
def test_what_is_found_in_random_programs_is_true(text, merge) -> None:
    """Four queries that are treated nearly alike: some swaps hold, some nearly do."""
    check_swaps(execute(read(text), merge))


def check_swaps(states: FinalStates) -> None:
    """Made-up probabilities of events agree only where the events do."""
    cells = states.program.inputs
    source, symmetry = Scrambled(states, 3), CellSymmetry(states)
    law = {input: source.distribution(input, 0) for input in product(*(c.domain for c in cells))}
    for first, second in combinations(range(len(cells)), 2):
        swap = symmetry.swap(first, second)
        if swap is None:
            assert cells[first].domain != cells[second].domain
            continue
        matched = [output for output, found in enumerate(swap.matched) if found]
        before = sorted(tuple(law[input][o].lower for input in law) for o in matched)
        after = sorted(
            tuple(law[swapped(input, first, second)][o].lower for input in law) for o in matched
        )
        assert before == after
        for output in (output for output, found in enumerate(swap.fixed) if found):
            for input in law:
                assert law[input][output] == law[swapped(input, first, second)][output]
    for output, relevant in enumerate(symmetry.relevant):
        for input in law:
            values = [v if k in relevant else cells[k].domain[0] for k, v in enumerate(input)]
            assert law[input][output] == law[tuple(values)][output]


RESPONSES = text_of("pairs/symmetry-5")
"""Randomised response: every state needs choices of three sites."""

INTEGER_VECTOR = text_of("pairs/symmetry-6")
"""Sparse vector with discrete noise."""

MIXED = text_of("events/reduce-mixed")
"""Some swaps hold for some outputs only."""


@pytest.mark.parametrize("source", [RESPONSES, INTEGER_VECTOR, MIXED])
@pytest.mark.parametrize("merge", [True, False])
def test_what_is_found_with_choices_and_integers_is_true(source, merge) -> None:
    check_swaps(execute(read(source), merge))


def test_too_many_counters_are_refused() -> None:
    program = read(UNEVEN_MAX)
    assert not isinstance(program.adjacency, Listed)
    walk = plan_walk(program.inputs, program.adjacency)
    assert walk is not None
    symmetry = CellSymmetry(execute(program, True))
    assert plan_counters(symmetry, program.inputs, walk, 50) is None
    assert plan_counters(symmetry, program.inputs, walk, 80) is not None
