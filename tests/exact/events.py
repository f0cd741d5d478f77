"""Events of Laplace-type and of integer samples, for tests: probabilities, and closed forms."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import prod

from hypothesis import strategies as st

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.events.circuits import Circuit, chances_of
from dipapprox.events.event import Chosen, Event, Star, spelled_out
from dipapprox.exact.laplace.polyhedra import integrate
from dipapprox.exact.methods import LaplaceIntegrals
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio, exponential_sum
from dipapprox.laws.distribution import ChoiceLaw, Distribution, count_outcomes
from dipapprox.laws.families import DISCRETE_LAPLACE, EXPONENTIAL, LAPLACE, REFLECTED_EXPONENTIAL
from dipapprox.linear.form import LinearForm
from dipapprox.semantics.outcomes import ALWAYS, Node, OutcomeSets
from dipapprox.semantics.state import Choice


def dlap(mean: int, scale: Fraction | int = 1) -> Distribution:
    return Distribution(DISCRETE_LAPLACE, Fraction(mean), Fraction(scale))


def at_most(bound: int | Fraction, **coefficients: int) -> LinearForm:
    """Σ a z <= bound for integers, cut between two values: at_most(3, z0=1, z1=-1)."""
    terms = {int(name[1:]): Fraction(a) for name, a in coefficients.items()}
    return LinearForm.of(terms, -Fraction(bound) - Fraction(1, 2))


def value_at(function: ExponentialRatio, steps: int, base: Fraction) -> Fraction:
    """Put a rational number for e^{-ε/steps}."""

    def value(polynomial: ExponentialPolynomial) -> Fraction:
        total = Fraction(0)
        for (power, rate), c in polynomial.terms:
            assert power == 0
            assert (rate * steps).denominator == 1
            total += c * base ** int(-rate * steps)
        return total

    below = prod((value(f) ** e for f, e in function.denominator), start=Fraction(1))
    return value(function.numerator) / below


def enumerated(event: Event, steps: int, base: Fraction, radius: int) -> Enclosure:
    """Add up the points within `radius` of the means; the others have at most the tail mass."""
    weights: list[dict[int, Fraction]] = []
    tail = Fraction(0)
    for law in event.samples:
        q = base ** int(steps / law.scale)
        factor = (1 - q) / (1 + q)
        mean = int(law.mean)
        weights.append(
            {z: factor * q ** abs(z - mean) for z in range(mean - radius, mean + radius + 1)}
        )
        tail += 2 * q ** (radius + 1) / (1 + q)
    total = Fraction(0)
    guards = [
        ([(int(i), a) for i, a in guard.terms if isinstance(i, int)], -guard.constant)
        for guard in event.guards
    ]
    for point in product(*weights):
        if all(sum(a * point[i] for i, a in terms) <= bound for terms, bound in guards):
            total += prod((weights[i][z] for i, z in enumerate(point)), start=Fraction(1))
    return Enclosure(total, total + tail)


def total_of(functions: Iterator[ExponentialRatio] | list[ExponentialRatio]) -> ExponentialRatio:
    total = ExponentialRatio.constant(0)
    for function in functions:
        total = total + function
    return total


def equal(left: ExponentialRatio, right: ExponentialRatio) -> bool:
    """Whether two ratios are the same function."""
    return not (left - right).numerator


SCALES = (Fraction(1), Fraction(1, 2), Fraction(2))
STEPS = 2
"""All rates 1 / scale are multiples of 1 / STEPS."""


@st.composite
def _guards(draw: st.DrawFn, size: int, coefficients: Mapping[str, int]) -> LinearForm:
    bound = draw(st.integers(-3, 3))
    kind = draw(st.sampled_from(["difference"] * 3 + ["bound", "general"]))
    places = draw(st.permutations(range(size)))
    if kind == "bound" or size == 1:
        row = {places[0]: draw(st.sampled_from([1, -1, 2, -3]))}
    elif kind == "difference":
        row = {places[0]: 1, places[1]: -1}
    else:
        most = coefficients["most"]
        some = draw(st.lists(st.integers(-most, most), min_size=size, max_size=size).filter(any))
        row = dict(enumerate(some))
    # Anywhere between two values: the same integers satisfy it.
    cut = draw(st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(2, 3)]))
    scale = draw(st.sampled_from([Fraction(1), Fraction(1, 3)]))
    terms = {place: Fraction(a) for place, a in row.items()}
    return LinearForm.of(terms, -bound - cut).scaled(scale)


@st.composite
def integer_events(draw: st.DrawFn, *, most: int = 4) -> Event:
    """A system of up to `most` samples: differences, bounds, general integer coefficients."""
    size = draw(st.integers(1, most))
    samples = [dlap(draw(st.integers(-2, 2)), draw(st.sampled_from(SCALES))) for _ in range(size)]
    coefficients = {"most": {1: 3, 2: 3, 3: 2}.get(size, 1)}
    guards = draw(st.lists(_guards(size, coefficients), min_size=1, max_size=size + 1))
    return Event(tuple(samples), tuple(guards))


# --- Events of Laplace-type samples and their closed forms, for tests -----------------------------

Q = Fraction
ENGINE = LaplaceIntegrals()  # shared on purpose: what it remembers must not matter
FAMILIES = (LAPLACE, EXPONENTIAL, REFLECTED_EXPONENTIAL)


def form(*terms: tuple[Fraction | int, int, Fraction | int]) -> ExponentialPolynomial:
    """Σ c ε^n e^{qε} from (c, n, q)."""
    return exponential_sum(ExponentialPolynomial.monomial(c, n, q) for c, n, q in terms)


def closed_form(event: Event | Star) -> ExponentialPolynomial:
    """By elimination if it applies, and by the general recursion: they agree exactly."""
    found = ENGINE.closed_form(event)
    assert isinstance(found, ExponentialPolynomial), found
    assert integrate(spelled_out(event)) == found
    return found


# --- Sets of outcomes of one choice, as events ----------------------------------------------------


def chosen(law: ChoiceLaw, outcomes: Iterable[int], eps: Fraction | int = 1) -> Chosen:
    """A choice has one of some outcomes."""
    sets = OutcomeSets()
    single = sets.split(ALWAYS, 0, count_outcomes(law))
    wanted = sets.union(single[outcome] for outcome in outcomes)
    circuit, (root,) = circuit_of([Choice(law, 0, "x")], sets.nodes, [wanted])
    return Chosen(circuit, root, Fraction(eps))


def circuit_of(
    choices: Sequence[Choice], nodes: Sequence[Node], sets: Sequence[int]
) -> tuple[Circuit, tuple[int, ...]]:
    """Return a circuit for the probabilities of sets without readings, and the node of each."""
    chances = chances_of(choices, (), nodes, sets)
    assert chances.diagrams is None
    return chances.circuit, chances.sets
