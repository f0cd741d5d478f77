"""Random events and points for property tests; exact rationals throughout."""

from collections.abc import Mapping
from fractions import Fraction
from functools import partial

from hypothesis import strategies as st

from dipapprox.events.event import Event
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import EXPONENTIAL, FAMILIES, GAUSSIAN, LAPLACE, REFLECTED_EXPONENTIAL
from dipapprox.laws.family import Family, RealFamily
from dipapprox.linear.form import LinearForm

SYMMETRIC = (GAUSSIAN, LAPLACE)
CONTINUOUS = (*SYMMETRIC, EXPONENTIAL, REFLECTED_EXPONENTIAL)
REAL_FAMILIES = tuple([each for each in FAMILIES.values() if isinstance(each, RealFamily)])

SMALL = st.builds(Fraction, st.integers(-4, 4), st.sampled_from([1, 2, 3]))


def laws(families: tuple[Family, ...] = SYMMETRIC) -> st.SearchStrategy[Distribution]:
    """A distribution with a small mean and scale; few values, so that coincidences occur."""
    return st.builds(
        Distribution,
        st.sampled_from(families),
        st.sampled_from([Fraction(0), Fraction(1), Fraction(-1, 2)]),
        st.sampled_from([Fraction(1), Fraction(2), Fraction(4, 3)]),
    )


@st.composite
def _guards(draw: st.DrawFn, size: int, general: bool) -> LinearForm:
    kinds = ["order"] * 4 + ["bound", "offset"] + (["linear", "linear"] if general else [])
    kind = draw(st.sampled_from(kinds))
    if kind == "bound" or size == 1:
        sign = Fraction(draw(st.sampled_from([1, -1])))
        return LinearForm.of({draw(st.integers(0, size - 1)): sign}, draw(SMALL))
    if kind == "linear":
        some = draw(st.lists(SMALL, min_size=size, max_size=size).filter(any))
        return LinearForm.of(dict(enumerate(some)), draw(SMALL))
    low, high = draw(st.permutations(range(size)))[:2]
    offset = draw(SMALL) if kind == "offset" else Fraction(0)
    return LinearForm.of({low: Fraction(1), high: Fraction(-1)}, offset)


@st.composite
def events(
    draw: st.DrawFn,
    *,
    most: int = 5,
    general: bool = True,
    families: tuple[Family, ...] = SYMMETRIC,
) -> Event:
    """An event of up to `most` samples: order guards, offsets, bounds, and general forms."""
    size = draw(st.integers(1, most))
    samples = draw(st.lists(laws(families), min_size=size, max_size=size))
    guards = draw(st.lists(_guards(size, general), min_size=1, max_size=size + 1))
    return Event(tuple(samples), tuple(guards))


@st.composite
def difference_events(draw: st.DrawFn, families: tuple[Family, ...]) -> Event:
    """Up to four samples, any difference constraints between them."""
    size = draw(st.integers(2, 4))
    samples = tuple(draw(laws(families)) for _ in range(size))
    offsets = st.builds(Fraction, st.integers(-2, 8), st.sampled_from([1, 2, 3]))
    guards = []
    for _ in range(draw(st.integers(2, size + 2))):
        low, high = draw(st.permutations(range(size)))[:2]
        guards.append(less(low, high, -draw(offsets)))
    return Event(samples, tuple(guards))


@st.composite
def points(draw: st.DrawFn, size: int) -> tuple[Fraction, ...]:
    """A point off every hyperplane that small numbers define: each has a denominator of its own."""
    primes = (101, 103, 107, 109, 113, 127, 131, 137)
    return tuple(
        Fraction(draw(st.integers(-5 * p, 5 * p).filter(lambda n, p=p: n % p)), p)
        for p in primes[:size]
    )


def value(form: LinearForm, point: tuple[Fraction, ...]) -> Fraction:
    """The value of a form at a point."""
    return form.at(dict(enumerate(point))).constant


def contains(event: Event, point: tuple[Fraction, ...]) -> bool:
    return all(value(guard, point) <= 0 for guard in event.guards)


Table = list[list[Fraction]]


def law_of_guards(event: Event) -> tuple[list[Fraction], Table, Table]:
    """Signed squared standardised means, correlations and third moments of the guard forms.

    For Gaussian samples they determine the probability of the event; they do not change when a
    guard is multiplied by a positive number. One-sided samples lean to their side.
    """
    factor = {family: 2 if family is LAPLACE else 1 for family in CONTINUOUS}
    side = {EXPONENTIAL: 1, REFLECTED_EXPONENTIAL: -1}
    lean = [side.get(law.family, 0) * law.scale for law in event.samples]
    variances = [factor[law.family] * law.scale**2 for law in event.samples]

    def covariance(f: LinearForm, g: LinearForm) -> Fraction:
        return sum((c * g.coefficient(s) * variances[s] for s, c in f.terms), Fraction(0))

    def squared(value: Fraction, scale: Fraction) -> Fraction:
        return value * abs(value) / scale

    def third(f: LinearForm, g: LinearForm) -> Fraction:
        return sum((c * c * g.coefficient(s) * 2 * lean[s] ** 3 for s, c in f.terms), Fraction(0))

    centres = [law.mean + shift for law, shift in zip(event.samples, lean, strict=True)]
    means = [sum((c * centres[s] for s, c in g.terms), g.constant) for g in event.guards]
    spread = [covariance(g, g) for g in event.guards]
    return (
        [squared(m, v) for m, v in zip(means, spread, strict=True)],
        [
            [squared(covariance(f, g), v * w) for g, w in zip(event.guards, spread, strict=True)]
            for f, v in zip(event.guards, spread, strict=True)
        ],
        [
            [squared(third(f, g), v * v * w) for g, w in zip(event.guards, spread, strict=True)]
            for f, v in zip(event.guards, spread, strict=True)
        ],
    )


def less(low: int, high: int, offset: Fraction | int = 0) -> LinearForm:
    """x_low + offset <= x_high."""
    return LinearForm.of({low: Fraction(1), high: Fraction(-1)}, Fraction(offset))


def form(terms: Mapping[int, Fraction | int], constant: Fraction | int = 0) -> LinearForm:
    return LinearForm.of({k: Fraction(c) for k, c in terms.items()}, Fraction(constant))


def of_family(family: Family, mean: Fraction | int = 0, scale: Fraction | int = 1) -> Distribution:
    return Distribution(family, Fraction(mean), Fraction(scale))


gauss, laplace = partial(of_family, GAUSSIAN), partial(of_family, LAPLACE)
