"""Events of sums, of reals and of integers: identities, points one by one, θ functions, scipy."""

import random
from collections.abc import Mapping
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial
from itertools import product
from math import comb, prod

import numpy as np
import pytest
from flint import acb, arb
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import dipapprox
from bench.polyhedra import by_scipy, partial_sums, tree_of_counters
from dipapprox import Enclosure, Limits, Options
from dipapprox.arithmetic.precision import precision, to_ball, to_enclosure
from dipapprox.events.canonical import canonical
from dipapprox.events.event import Connected, Event
from dipapprox.events.reduce import connected_parts
from dipapprox.exact.methods import Exact
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import DISCRETE_GAUSSIAN, FAMILIES, GAUSSIAN, LAPLACE
from dipapprox.limits import limited
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.elimination.engine import Eliminated, without_certain
from dipapprox.numerics.elimination.planning import OrderEvent, order_event
from dipapprox.numerics.integers.forests import law_masses
from dipapprox.numerics.integers.sums import IntegerSums, sums_in
from dipapprox.numerics.methods import Method, Tier
from dipapprox.privacy.subjects import open_method
from dipapprox.semantics.execution import execute
from tests.cases import text_of
from tests.event_strategies import gauss, laplace, less, of_family
from tests.exact.events import at_most, dlap, integer_events
from tests.numerics.one_by_one import alone, enclosed


def parts_of(event: Event) -> list[Connected]:
    """The canonical parts; none if the event is impossible."""
    return [canonical(part) for _, part in connected_parts(event) or ()]


# --- Events of sums, of reals and of integers: identities, points one by one, θ functions, --------

Q = Fraction
DOUBLES = Eliminated(Tier.FLOAT64)


def of_parts(event: Event, bits: int = 36, method: Method = DOUBLES) -> Enclosure:
    """The product of the parts."""
    lower = upper = Q(1)
    for part in parts_of(event):
        found = alone(method, part, bits)
        lower, upper = lower * found.lower, upper * found.upper
    return Enclosure(lower, upper)


@pytest.mark.parametrize("family", [GAUSSIAN, LAPLACE])
@pytest.mark.parametrize("count", [2, 5])
def test_partial_sums_stay_positive_whatever_the_law(family, count) -> None:
    """Sparre Andersen: C(2n, n) / 4^n for every continuous symmetric law."""
    (event,) = partial_sums(family, count).events()
    found = of_parts(event, 40)
    assert Q(comb(2 * count, count), 4**count) in found
    assert found.width <= Q(1, 10**12)


@pytest.mark.parametrize("family", list(FAMILIES.values()))
def test_all_sums_stay_positive_as_each_of_them_is(family) -> None:
    """Spitzer: n p_n = Σ_k Pr[S_k >= 0] p_(n-k) for every law, here with a mean of its own."""
    method = open_method(Options())
    law = Distribution(family, Q(1 if family.is_discrete else Q(-1, 3)), Q(3, 2))
    cut = Q(-1, 2) if family.is_discrete else Q(0)

    def probability(*forms: LinearForm) -> Enclosure:
        return of_parts(Event((law,) * n, forms), 36, method)

    known = [Enclosure.exact(1)]
    steps = []
    for n in range(1, 4):
        forms = [LinearForm.of({k: Q(-1) for k in range(m)}, cut) for m in range(1, n + 1)]
        steps.append(probability(forms[-1]))
        terms = [(steps[k - 1], known[n - k]) for k in range(1, n + 1)]
        lower = sum((a.lower * b.lower for a, b in terms), Q(0)) / n
        upper = sum((a.upper * b.upper for a, b in terms), Q(0)) / n
        known.append(probability(*forms))
        assert known[-1].meets(Enclosure(lower, upper)), (n, family)
        assert upper - lower < Q(1, 2**28) and known[-1].width < Q(1, 2**30)


def test_trees_of_counters_are_what_scipy_says() -> None:
    (event,) = tree_of_counters(GAUSSIAN, 8).events()
    found = of_parts(event)
    assert float(found.lower) - 2e-4 <= by_scipy(event, 1e-5) <= float(found.upper) + 2e-4
    assert found.width <= Q(1, 2**36)


@pytest.mark.parametrize("law", [gauss(0), laplace(0, 2)])
@pytest.mark.parametrize("size", [3, 5])
def test_the_two_largest_of_equal_samples(law, size) -> None:
    """x_0 is the largest and x_1 the largest of the others, also after x_0 - 1000."""
    others = tuple(less(k, 1) for k in range(2, size))
    event = Event((law,) * size, (less(1, 0), less(0, 1, -1000), *others))
    assert Q(1, size * (size - 1)) in enclosed(Eliminated(), event)
    assert Q(1, size * (size - 1)) in enclosed(Eliminated(), event, 80)


def test_binomials_count_equal_samples_in_a_band() -> None:
    """k of n samples within a band of a threshold, the others below it."""
    found, n = Enclosure.exact(0), 4
    for inside in range(n + 1):
        guards = [g for k in range(1, inside + 1) for g in (less(k, 0, -1), less(0, k))]
        guards += [less(k, 0) for k in range(inside + 1, n + 1)]
        each = enclosed(Eliminated(), Event((gauss(0),) * (n + 1), tuple(guards)), 50)
        for _ in range(comb(n, inside)):
            found = found + each
    # All n are at most 1 above the threshold.
    together = Event((gauss(0),) * (n + 1), tuple(less(k, 0, -1) for k in range(1, n + 1)))
    assert found.meets(enclosed(Eliminated(), together, 50))


@pytest.mark.parametrize("law", [gauss(0), laplace(0)])
@pytest.mark.parametrize("far", [14, 1000])
def test_bounds_that_nearly_always_hold_are_dropped_with_their_error(law, far) -> None:
    """Whatever the precision drops, more precision lies inside."""
    event = Event((law,) * 4, (less(1, 0), less(0, 1, -far), less(2, 1), less(3, 1)))
    order = order_event(event)
    assert isinstance(order, OrderEvent) and order.has_offsets
    precise = enclosed(Eliminated(), event, 200)
    for bits in (10, 40, 90):
        kept, excess = without_certain(order, bits)
        assert excess <= Q(1, 2**bits)
        assert kept.has_offsets == (not excess)
        assert precise.meets(enclosed(Eliminated(), event, bits))


# --- Sums over integer samples against points added up one by one, θ functions, dp_accounting -----


dgauss = partial(of_family, DISCRETE_GAUSSIAN)


def points(law: Distribution, radius: int) -> dict[int, int]:
    """Probabilities near the mean, divided by their sum, in units of 1e-40."""
    with localcontext() as context:
        context.prec = 50
        scale = Decimal(law.scale.numerator) / law.scale.denominator
        weight = {
            d: (
                -(d * d) / (2 * scale * scale) if not law.family.is_exponential else -abs(d) / scale
            ).exp()
            for d in map(Decimal, range(-radius, radius + 1))
        }
        unit = 10**40 / sum(weight.values())
        return {int(law.mean) + int(d): int(w * unit) for d, w in weight.items()}


def added(event: Event, radius: int) -> Fraction:
    weights = [points(law, radius) for law in event.samples]
    guards = [
        ([(int(i), a) for i, a in each.terms], -each.constant)
        for each in (guard.scaled(6) for guard in event.guards)
    ]
    total = 0
    for point in product(*weights):
        if all(sum(int(a) * point[i] for i, a in terms) <= bound for terms, bound in guards):
            total += prod(w[z] for w, z in zip(weights, point, strict=True))
    return Q(total, 10 ** (40 * len(weights)))


@st.composite
def events(draw: st.DrawFn) -> Event:
    """Forests, cycles and sums of up to three samples, of both families."""
    event = draw(integer_events(most=3))
    scales = st.sampled_from([Q(1, 20), Q(1, 3), Q(2, 3), Q(1)])
    laws = tuple(
        dgauss(int(law.mean), draw(scales)) if draw(st.booleans()) else dlap(int(law.mean), Q(1, 4))
        for law in event.samples
    )
    return Event(laws, event.guards)


@given(events())
def test_random_systems_agree_with_enumeration(event) -> None:
    found = enclosed(IntegerSums(), event)
    # Beyond 7 there is less than e^-28 of each law.
    value, error = added(event, 7), Q(1, 10**11)
    assert found.lower - error <= value <= found.upper + error


@pytest.mark.parametrize("sigma", [Q(1, 20), Q(1, 2), Q(3), Q(1000)])
def test_the_norm_is_a_theta_function(sigma) -> None:
    """Pr[z = mean] = 1/θ₃(0, e^(-1/2σ²))."""
    with precision(120):
        period = acb(0, 1 / (2 * arb.pi() * to_ball(sigma * sigma)))
        peak = to_enclosure(1 / acb.modular_theta(acb(0), period)[2].real)
    found = enclosed(
        IntegerSums(), Event((dgauss(5, sigma),), (at_most(5, z0=1), at_most(-5, z0=-1))), 60
    )
    assert peak.width < Q(1, 2**80)
    assert found.meets(peak)
    masses = law_masses(dgauss(0, sigma), 64)
    assert 0 <= masses.missing <= 4 * len(masses.values) + 4


@pytest.mark.parametrize("seed", range(4))
def test_bounded_sums_on_the_way_are_tables(seed) -> None:
    """Σ_{i<=k} a_i z_i between bounds for every k, by adding up paths in units of 1e-40."""
    chance = random.Random(seed)
    laws = [
        dgauss(chance.randint(-1, 1), Q(chance.randint(1, 3), 2))
        if chance.random() < 0.5
        else dlap(chance.randint(-1, 1), Q(1, chance.randint(2, 4)))
        for _ in range(8)
    ]
    factors = [chance.choice((1, 1, -1, 2)) for _ in laws]
    guards = []
    paths = {0: 10**40}
    for k, law in enumerate(laws):
        step: dict[int, int] = {}
        for z, weight in points(law, 25).items():
            for place, known in paths.items():
                at = place + factors[k] * z
                step[at] = step.get(at, 0) + known * weight // 10**40
        high, low = chance.randint(0, 4), -chance.randint(0, 6)
        terms = {f"z{i}": a for i, a in enumerate(factors[: k + 1])}
        guards.append(at_most(high, **terms))
        if chance.random() < 0.5:
            guards.append(at_most(-low, **{name: -a for name, a in terms.items()}))
            step = {at: w for at, w in step.items() if at >= low}
        paths = {at: w for at, w in step.items() if at <= high}
    event = Event(tuple(laws), tuple(guards))
    found = enclosed(IntegerSums(), event, 60)
    assert abs(found.lower - Q(sum(paths.values()), 10**40)) < Q(1, 10**17)
    assert len(sums_in(event)) >= 6  # the last may stay a comparison of two


def test_limits_and_reasons() -> None:
    wide = Event((dgauss(0, 10**7),), (at_most(0, z0=1),))
    found = alone(IntegerSums(), wide, 30)
    assert "more than 1048576 values" in found.reason
    rows: list[Mapping[str, int]] = [{"z0": 3, "z1": 5, "z2": -7}, {"z0": -7, "z1": 3, "z2": 5}]
    system = Event((dgauss(0, 9),) * 3, tuple(at_most(0, **row) for row in rows))
    with limited(Limits(pieces=50)):
        found = alone(IntegerSums(), system, 30)
    assert found.reason == "integration-budget: more than 50 parts of one sum"
    reason = alone(Exact(), wide, 30)
    assert "discrete Gaussian noise has no closed form" in reason.reason


def test_sums_out_of_reach_are_refused_before_they_begin() -> None:
    """Ten dense guards over ten samples: the values of nine of them would take turns."""
    chance = random.Random(3)
    guards = [at_most(0, **{f"z{k}": chance.randint(1, 7) for k in range(10)}) for _ in range(10)]
    laws = (dlap(0, 2), dgauss(1, Q(3))) * 5
    event = Event(laws, tuple(guards))
    found = alone(IntegerSums(), event, 20)
    assert found.reason.startswith("integration-budget: about ")
    assert found.reason.endswith("10 integer samples or sums in a cycle")


REACH = 32
VALUES = np.arange(-REACH, REACH + 1)
Grid = list[NDArray[np.int64]]

TOP_TWO = text_of("numerics/integer_sums-top_two")


def top_two(noise: Grid) -> dict[tuple[str, ...], NDArray[np.bool_]]:
    """Ties go to the first."""
    stack = np.stack(noise)
    first = stack.argmax(axis=0)
    after = stack - 2 * (np.arange(len(noise))[:, None, None, None] == first)
    second = after.argmax(axis=0)
    pairs = product(range(3), repeat=2)
    return {(str(a + 1), str(b + 1)): (first == a) & (second == b) for a, b in pairs}


def band(noise: Grid) -> dict[tuple[str, ...], NDArray[np.bool_]]:
    threshold, *others = noise
    places = [
        {"below": r < threshold - 2, "near": (r >= threshold - 2) & (r <= threshold + 1),
         "above": r > threshold + 1}
        for r in others
    ]  # fmt: skip
    return {pair: places[0][pair[0]] & places[1][pair[1]] for pair in product(places[0], repeat=2)}


@pytest.mark.parametrize(
    ("text", "outcomes", "means"),
    [
        (TOP_TWO, top_two, lambda q: q),
        (text_of("numerics/integer_sums-band"), band, lambda q: (0, *q)),
    ],
    ids=["top two", "band"],
)
def test_probabilities_are_those_of_all_integers(text, outcomes, means) -> None:
    program = dipapprox.parse(text)
    for chosen in ((0, 1, 1), (1, 0, 1)):
        q = chosen[: len(program.inputs)]
        laws = [np.exp(-np.abs(VALUES - mean)) for mean in means(q)]
        laws = [law / law.sum() for law in laws]
        weight = np.einsum("i,j,k->ijk", *laws)
        grid = list(np.meshgrid(*[VALUES] * len(laws), indexing="ij"))
        found = dipapprox.probability(program, eps="1", input=[Fraction(x) for x in q])
        expected = {key: float(weight[where].sum()) for key, where in outcomes(grid).items()}
        for output in found.outputs:
            key = tuple(str(value) for value in output.output)
            about = expected.pop(key)
            assert float(output.probability.lower) - 1e-12 < about
            assert about < float(output.probability.upper) + 1e-12
        assert not any(expected.values())


def test_integers_have_one_state_for_each_output() -> None:
    states = execute(dipapprox.parse(TOP_TWO), True)
    assert len(states.states) <= 12
